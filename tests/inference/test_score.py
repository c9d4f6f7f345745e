"""Intervals of means from noisy moments, and wide ones of variances: they cover, and controls do not."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import scipy
from scipy import stats

import inbounds as ib
from inbounds.inference import bounded, posterior, score, unbiased
from inbounds.inference.laws import Laplace
from inbounds.inference.means import list_noisy
from inbounds.inference.score import Noisy
from inbounds.privacy.norms import make_norm
from inbounds.privacy.terms import Terms
from inbounds.statistics.means import find_method

RUNS = 3000
# Points in [-1, 1] and their probabilities.
LAWS = {
    "even": (np.linspace(-1, 1, 21), np.full(21, 1 / 21)),
    "rare": (np.array([-1.0, 1.0]), np.array([0.99, 0.01])),
    "middle": (np.array([0.0, 1.0]), np.array([0.9, 0.1])),
    "narrow": (stats.norm.ppf((np.arange(50) + 0.5) / 50) * 0.05, np.full(50, 0.02)),
    "skew": (np.minimum(-1 + np.exp(stats.norm.ppf((np.arange(200) + 0.5) / 200)) / 10, 1), np.full(200, 0.005)),
}


@pytest.mark.claim("normal-laplace")
@pytest.mark.parametrize("ratio", [0.01, 0.7, 30.0])
def test_the_tail_of_a_normal_and_a_laplace_error(ratio):
    def density(y):
        return stats.norm.pdf(y / ratio) / ratio

    def density_above(y, x):
        return density(y) * stats.laplace.sf(x - y)

    for x in (-3.0, 0.0, 0.4, 5.0, 3 * ratio):
        ends = sorted({-9 * ratio, min(max(x, -9 * ratio), 9 * ratio), 9 * ratio})
        inner = sum(scipy.integrate.quad(density_above, *pair, args=(x,), limit=400)[0] for pair in pairwise(ends))
        assert score.normal_laplace_tail(x, ratio, 1.0) == pytest.approx(inner, rel=1e-6, abs=1e-12)
    assert score.normal_laplace_tail(2.0, 0.0, 1.0) == pytest.approx(math.exp(-2) / 2)


def coverage(name, rows, epsilon, seed, *, noise=True):
    """How often the true mean is kept; without ``noise`` by an interval that knows of none."""
    points, chances = LAWS[name]
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(rows, chances, size=RUNS)
    mean = float(points @ chances)
    totals = counts @ points + rng.laplace(0, 2 / epsilon, RUNS)
    squares = counts @ points**2 + rng.laplace(0, 4 / epsilon, RUNS)
    law = Laplace(2 / epsilon if noise else 1e-9)
    off = 4 / epsilon * math.sqrt(2)
    given = [Noisy(rows, float(a), float(b), law, off) for a, b in zip(totals, squares, strict=True)]
    return np.mean([score.p_value(one, mean) >= 0.05 for one in given])


@pytest.mark.claim("score-interval")
@pytest.mark.parametrize("name", LAWS)
def test_means_are_covered_whatever_the_law(name):
    """Fewer than 93% of 3,000 by chance less than once in a million, at 95%; the bench has many more laws and runs."""
    for rows, epsilon in ((50, 1), (500, 0.1), (500, 3), (5000, 1)):
        assert coverage(name, rows, epsilon, rows) >= 0.93


def test_an_interval_without_the_noise_is_rejected():
    assert coverage("narrow", 500, 0.3, 1, noise=False) < 0.8 < 0.93 < coverage("narrow", 500, 0.3, 1)


def test_limits_are_where_the_test_ends():
    given = Noisy(500, 20.0, 30.0, Laplace(2.0), 5.6)
    low, high = score.limits(given, 0.05)
    assert score.p_value(given, low + 1e-6) > 0.05 > score.p_value(given, low - 1e-6)
    assert score.p_value(given, high - 1e-6) > 0.05 > score.p_value(given, high + 1e-6)
    wider = score.limits(given, 0.01)
    assert wider[0] < low < high < wider[1]
    # Sums that no records have leave the nearest mean, and no records leave everything.
    assert score.limits(Noisy(500, 600.0, 500.0, Laplace(2.0), 5.6), 0.05) == (1.0, 1.0)
    nothing = np.random.default_rng(0).laplace(0, 5, (2000, 2))
    assert score.limits(Noisy(-3.0, 100.0, 0.0, nothing, 5.0), 0.05) == (-1.0, 1.0)


def test_no_record_moves_a_mean_and_its_square_by_more_than_one():
    """|Δu|/2 + |Δu²|/4 ≤ 1 for all pairs, attained; with the square in units half as large it would not hold."""
    ((start, rows),) = make_norm(("mean moments 1",)).parts
    assert (start, set(rows)) == (0, {((1, 1), 1), ((1, -1), 1)})
    u, w = np.meshgrid(np.linspace(-1, 1, 401), np.linspace(-1, 1, 401))
    moved = np.abs(u - w) / 2 + np.abs(u**2 - w**2) / 4
    assert moved.max() == pytest.approx(1, abs=1e-12)
    assert (np.abs(u - w) / 2 + np.abs(u**2 - w**2) / 2).max() > 1.1


@pytest.mark.claim("mean-method")
def test_the_square_is_drawn_where_it_pays():
    def method(rows, epsilon, groups=0, **more):
        terms = Terms.of(epsilon, "substitute" if rows else "add-remove", 1, more.get("bounding", "bit"))
        return find_method(more.get("method"), terms.with_rows(rows), groups)

    assert [method(n, 1) for n in (50, 99, 100, 10**6)] == ["direct", "direct", "moments", "moments"]
    assert (method(5000, 0.01), method(5000, 0.1), method(None, 1)) == ("direct", "moments", "moments")
    assert (method(1000, 1, groups=5), method(1000, 1, groups=50)) == ("moments", "direct")
    assert method(10**6, 1, bounding="truncated") == "direct"
    with pytest.raises(ValueError, match="needs method='direct'"):
        method(1000, 1, bounding="truncated", method="moments")


def test_a_mean_has_the_noise_that_it_has_alone():
    x = np.random.default_rng(0).normal(50, 10, 2000)
    made = ib.mean(x, bounds=(0, 100), epsilon=0.5)
    assert (made.method, made.certificate.noise) == ("mean from noisy moments", "polyhedral")
    # Laplace noise of scale W/(nε), and a little for the rounding to a lattice.
    assert made.error.rmse == pytest.approx(math.sqrt(2) * 100 / 2000 / 0.5, rel=1e-3)
    assert ib.Release.from_json(made.to_json()) == made
    assert made.units == (Fraction(2), Fraction(8))
    plain = 2 * 1.96 * 10 / math.sqrt(2000)
    assert made.interval().width < 1.6 * plain < made.interval(method="worst-case").width / 2
    assert "not proved for all" in made.interval().assumption


def test_groups_have_short_intervals():
    rng = np.random.default_rng(0)
    group = np.array(["a", "b"])[rng.integers(0, 2, 4000)]
    x = rng.normal(np.where(group == "a", 40, 45), 10)
    options = {"bounds": (0, 100), "by": "g", "levels": ["a", "b"], "epsilon": 1}
    made = ib.mean({"x": x, "g": group}, "x", **options)
    seen = made.interval()
    assert len(list_noisy(made)) == 2
    assert (seen.width < 1.4 * 2 * 1.96 * 10 / math.sqrt(2000)).all()
    assert seen.upper[0] < seen.lower[1]
    direct = ib.mean({"x": x, "g": group}, "x", **options, method="direct")
    assert (direct.interval().width > 3 * seen.width).all()
    with pytest.raises(ValueError, match="release it with method='moments'"):
        direct.interval(method="score")


@pytest.mark.claim("pairs-bound")
@pytest.mark.parametrize("name", ["rare", "skew", "even"])
def test_variances_are_covered_whatever_the_law(name):
    """At 95% fewer than 90% of 300 by chance less than once in ten thousand; it covers nearly always."""
    points, chances = LAWS[name]
    rng, rows, covered, normal = np.random.default_rng(2), 400, 0, 0
    truth = float(points**2 @ chances - (points @ chances) ** 2)
    freedom = np.array([stats.chi2.ppf(level, rows - 1) for level in (0.975, 0.025)])
    runs = 300
    for _ in range(runs):
        sample = rng.choice(points, rows, p=chances)
        spread = float(sample.var(ddof=1))
        noisy = spread + float(rng.laplace(0, 4 / rows))
        low, high = bounded._limits(noisy, lambda unit: Laplace(4 / rows * unit), 0.0, 2.0, rows // 2, 0.05)
        covered += low <= truth <= high
        ends = spread * (rows - 1) / freedom
        normal += ends[0] <= truth <= ends[1]
    assert covered / runs >= 0.94
    if name == "rare":
        # The control: normal theory, even without noise, covers far less.
        assert normal / runs < 0.85


def test_what_holds_for_no_law_is_not_available():
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(50, 10, 500), "y": rng.normal(50, 10, 500), "g": ["a"] * 500}
    bounds = {"x": (0, 100), "y": (0, 100)}
    for made in (
        ib.correlation(table, bounds=bounds, epsilon=1, method="split"),
        ib.pooled_variance(table, "x", bounds=(0, 100), by="g", levels=["a"], epsilon=1),
    ):
        with pytest.raises(ValueError, match="has no interval for the population without an assumption"):
            made.interval()
        assert "records are normal" in made.interval(method="normal").assumption
    covariance = ib.covariance(table, bounds=bounds, epsilon=1)
    assert (covariance.interval().width > covariance.interval(method="normal").width).all()
    with pytest.raises(ValueError, match="method must be one of"):
        covariance.interval(method="score")


def test_simultaneous_intervals_share_what_may_be_missed():
    made = ib.mean(
        {"x": [0.2, 0.7] * 300, "g": ["a", "b", "c"] * 200},
        "x",
        bounds=(0, 1),
        by="g",
        levels=["a", "b", "c"],
        epsilon=1,
    )
    each, together = made.interval(0.9), made.interval(0.9, simultaneous=True)
    assert together.lower == pytest.approx(made.interval(1 - 0.1 / 3).lower)
    assert (together.width > each.width).all()
    assert (together.level, together.simultaneous) == (0.9, True)
    assert "all together" in str(together)
    assert "not all together" in str(each)


def test_means_with_squares_have_posteriors_and_unbiased_estimates():
    made = ib.mean([0.0] * 1000, bounds=(0, 1), epsilon=1)
    low, high = (replace(made, noisy=(Fraction(x), made.noisy[1])) for x in (-510, -490))
    # What was clamped is known before it was: the estimate may lie beyond the bounds, the posterior may not.
    assert (low.value, unbiased(low)) == (0.0, pytest.approx(-0.01))
    assert (high.value, unbiased(high)) == (pytest.approx(0.01), pytest.approx(0.01))
    assert 0 < posterior(low).mean < posterior(high).mean < 0.02
