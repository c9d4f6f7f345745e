"""Intervals of quantiles: bounds of ranks against exact laws, and coverage over laws of all kinds."""

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import inbounds as ib
from inbounds.grid.entropy import SeededEntropy
from inbounds.inference import distribution, quantiles
from inbounds.privacy.terms import Terms
from inbounds.road import draw as road_draw
from tests.grid.test_exponential import chances_of_many


def law_of_point(counts, share, spread):
    """P of each point, by the definition: its score with exponential noise is the largest."""
    below, total = np.cumsum(counts) - counts, counts.sum()
    scores = np.maximum(below - share * total, share * total - below - counts)
    return law_of_scores(scores / spread)


def law_of_scores(scores):
    kinds, place, sizes = np.unique(np.exp(scores.min() - scores), return_inverse=True, return_counts=True)
    return np.array(chances_of_many(kinds, sizes))[place]


def worst_tables(points, rows):
    """Constants, jumps next to the quantile, even ones, and some at random."""
    rng = np.random.default_rng(0)
    for k in range(rows // 2):
        # Where k is the rank that is asked for, two points just have it, and none has more.
        counts = np.zeros(points, int)
        counts[3], counts[4], counts[-1] = k, rows // 2 - k, rows - rows // 2
        yield counts
    for k in (0, 1, rows // 4, rows // 2 - 2, rows // 2, rows // 2 + 3):
        counts = np.zeros(points, int)
        counts[3], counts[-1] = k, rows - k
        yield counts
        counts = np.zeros(points, int)
        counts[0], counts[7], counts[-1] = k, 1, rows - k - 1
        yield counts
    for _ in range(10):
        yield np.bincount(rng.choice(points, rows, p=rng.dirichlet(np.full(points, 0.05))), minlength=points)


@pytest.mark.claim("flank-chance")
@pytest.mark.parametrize("drawn", [0.1, 0.3, 0.42])
def test_the_chance_of_a_point_on_the_wrong_side(drawn):
    """Over tables that are bad for it, P(point > quantile) is at most what is said; for some over a tenth of that."""
    points, rows, spread, asked = 60, 40, 1.5, 0.5
    said = quantiles.bound_miss(drawn, asked, spread, float(np.log(points)), rows, population=False)
    found = []
    for counts in worst_tables(points, rows):
        table = np.repeat(np.arange(points), counts)
        quantile = np.quantile(table, asked, method="inverted_cdf")
        found.append(law_of_point(counts, drawn, spread)[int(quantile) + 1 :].sum())
    assert max(found) <= said
    assert said > 0.9 or max(found) > said / 10


@pytest.mark.claim("flank-chance")
@pytest.mark.parametrize("share", [0.001, 0.2, 0.5])
def test_the_chance_in_a_population(share):
    """Records of two values, of which the first has a share a little above what is asked for."""
    points, rows, spread, asked = 40, 60, 2.0, 0.5
    drawn = 0.15
    said = quantiles.bound_miss(drawn, asked, spread, float(np.log(points)), rows, population=True)
    reached = asked + share * (1 - asked)
    found = 0.0
    for k, chance in enumerate(stats.binom(rows, reached).pmf(np.arange(rows + 1))):
        counts = np.zeros(points, int)
        counts[5], counts[-1] = k, rows - k
        found += chance * law_of_point(counts, drawn, spread)[6:].sum()
    assert found <= said
    blocks = quantiles._MOST_RANKS
    quantiles._MOST_RANKS = 10
    try:
        assert quantiles.bound_miss(drawn, asked, spread, float(np.log(points)), rows, population=True) >= said - 1e-9
    finally:
        quantiles._MOST_RANKS = blocks


LAWS = {
    "normal": lambda rng, n: rng.normal(50, 10, n),
    "uniform": lambda rng, n: rng.uniform(0, 100, n),
    "lognormal": lambda rng, n: rng.lognormal(3, 1, n),
    "cauchy": lambda rng, n: 50 + rng.standard_cauchy(n),
    "exponential": lambda rng, n: rng.exponential(10, n),
    "two points": lambda rng, n: rng.choice([10.0, 80.0], n, p=[0.51, 0.49]),
    "five points": lambda rng, n: rng.choice([0.0, 20, 40, 60, 100], n, p=[0.1, 0.2, 0.15, 0.35, 0.2]),
    "mostly zero": lambda rng, n: np.where(rng.random(n) < 0.45, 0.0, rng.gamma(2, 15, n)),
    "constant": lambda _, n: np.full(n, 33.0),
    "gap": lambda rng, n: np.where(rng.random(n) < 0.5, rng.uniform(5, 6, n), rng.uniform(90, 91, n)),
}
TRUTH = {
    "normal": 50.0,
    "uniform": 50.0,
    "lognormal": np.exp(3),
    "cauchy": 50.0,
    "exponential": 10 * np.log(2),
    "two points": 10.0,
    "five points": 60.0,
    "mostly zero": stats.gamma(2, scale=15).ppf(0.05 / 0.55),
    "constant": 33.0,
    "gap": 6.0,
}


@pytest.mark.claim("interval-quantile")
@pytest.mark.parametrize("law", LAWS)
def test_intervals_cover(law, monkeypatch):
    """Of 25 samples and releases, with fixed seeds, all but a few; more of them are in bench/quantiles.py."""
    rng, held, inside = np.random.default_rng(1), 0, 0
    entropy = SeededEntropy(4)
    monkeypatch.setattr(road_draw, "entropy_source", lambda: entropy)
    for _ in range(25):
        x = LAWS[law](rng, 800)
        release = ib.median(x, bounds=(-20, 120), epsilon=2, cover=0.95, step="0.01")
        held += TRUTH[law] in release.interval(0.95)
        own = np.quantile(np.clip(np.round(x, 2), -20, 120), 0.5, method="inverted_cdf")
        inside += own in release.interval(0.95, kind="noise")
    assert held >= 22
    assert inside >= 22


@pytest.mark.claim("interval-quantile")
def test_intervals_of_one_point_are_the_bounds_and_flanks_close_on_it():
    x = np.random.default_rng(0).normal(50, 10, 20_000)
    alone = ib.median(x, bounds=(0, 100), epsilon=1)
    assert tuple(alone.interval()) == (0, 100)
    assert "no point was drawn that is surely on one side" in alone.interval().method
    with_flanks = ib.median(x, bounds=(0, 100), epsilon=1, cover=0.95)
    plain = 2 * 1.96 * 0.5 / np.sqrt(20_000) / stats.norm(50, 10).pdf(50)
    assert plain < with_flanks.interval().width < 3 * plain
    assert len(with_flanks.noisy) == 3
    assert with_flanks.noisy == tuple(sorted(with_flanks.noisy)) or with_flanks.derivation.apart
    # A flank that would lie outside of (0, 1) is the bound.
    few = ib.quantile(x[:100], q=0.05, bounds=(0, 100), epsilon=0.5, cover=0.95)
    assert few.interval().lower == 0
    with pytest.raises(ValueError, match="cover= is for one quantile"):
        ib.quantile(x, q=[0.1, 0.2], bounds=(0, 100), epsilon=1, cover=0.9)


def test_flanks_are_where_the_chance_is_just_small_enough():
    terms = Terms.of(1, rows=5000)
    low, own, high = quantiles.add_flanks((Fraction(1, 2),), Fraction(19, 20), terms, 65_536)
    assert (own, low + high) == (Fraction(1, 2), 1)
    scale, reach = 2 / 0.3, float(np.log(65_536))
    at = quantiles.bound_miss(float(low), 0.5, scale, reach, 5000, population=True)
    above = quantiles.bound_miss(float(low) + 1e-4, 0.5, scale, reach, 5000, population=True)
    assert at <= 0.025 < above


@pytest.mark.claim("distribution-band")
@pytest.mark.parametrize("law", ["normal", "two points", "mostly zero", "constant"])
def test_the_band_holds_everywhere(law, monkeypatch):
    rng, entropy = np.random.default_rng(5), SeededEntropy(9)
    monkeypatch.setattr(road_draw, "entropy_source", lambda: entropy)
    at = np.linspace(-20, 120, 281)
    missed, widths = 0, []
    for _ in range(12):
        x = np.clip(LAWS[law](rng, 4000), -20, 120)
        release = ib.quantile(x, q=[k / 10 for k in range(1, 10)], bounds=(-20, 120), epsilon=2, step="0.01")
        band = distribution(release, 0.9, kind="noise")
        low, high = band.at(at)
        share = np.searchsorted(np.sort(np.round(x, 2)), at, side="right") / len(x)
        missed += bool(((share < low - 1e-9) | (share > high + 1e-9)).any())
        widths.append((band.upper - band.lower).mean())
        wide = distribution(release, 0.9)
        assert (wide.lower <= band.lower).all()
    assert missed <= 6
    assert np.mean(widths) < 0.5
    with pytest.raises(ValueError, match="ranks cannot be told"):
        distribution(ib.median(x, bounds=(0, 100), epsilon=1, neighbours="add-remove"))
    with pytest.raises(TypeError, match="must be of quantiles"):
        distribution(ib.mean(x, bounds=(0, 100), epsilon=1))


@pytest.mark.claim("forecast-quantile")
@pytest.mark.parametrize("q", [0.5, [0.1, 0.5, 0.9]])
def test_forecasts_are_what_releases_do(q, monkeypatch):
    """Normal records as stated: simulated errors against those of 80 releases, to a third."""
    x = stats.norm(50, 10).ppf((np.arange(3000) + 0.5) / 3000)
    keywords = {"q": q, "bounds": (0, 100), "epsilon": 1}
    seen = ib.preview("quantile", rows=3000, plausible={"mean": 50, "sd": 10}, **keywords).forecast
    entropy = SeededEntropy(11)
    monkeypatch.setattr(road_draw, "entropy_source", lambda: entropy)
    values = np.array([np.asarray(ib.quantile(x, **keywords)) for _ in range(80)])
    rmse = np.sqrt(((values - stats.norm(50, 10).ppf(q)) ** 2).mean(axis=0))
    assert np.all(np.abs(np.log(rmse / seen.rmse)) < np.log(1.5))
    assert np.all(seen.rmse_range[0] <= seen.rmse)
    assert np.all(seen.rmse <= seen.rmse_range[1])


@pytest.mark.claim("forecast-quantile")
@pytest.mark.parametrize("q", [0.5, [0.3, 0.5, 0.8]])
def test_forecasts_say_that_they_are_for_values_without_gaps_or_ties(q, monkeypatch):
    """Ranges do not hold with a gap at the median, nor for one value: its quantiles are exact."""
    keywords = {"q": q, "bounds": (0, 100), "epsilon": "0.1"}
    seen = ib.preview("quantile", rows=1000, **keywords)
    assert seen.forecast.assumed.startswith("nearly normal values without gaps or ties, standard deviations of ")
    assert "ranges are over nearly normal values without gaps" in " ".join(str(seen).split())
    assert "normal" not in ib.preview("variance", bounds=(0, 100), rows=1000, epsilon=1).forecast.assumed
    entropy, place = SeededEntropy(3), np.ravel(q).tolist().index(0.5)
    monkeypatch.setattr(road_draw, "entropy_source", lambda: entropy)
    gap = np.concatenate([np.linspace(0, 20, 500), np.linspace(80, 100, 500)])
    medians = [np.ravel(np.asarray(ib.quantile(gap, **keywords)))[place] for _ in range(40)]
    assert np.std(medians) > 2 * np.ravel(seen.forecast.rmse_range[1])[place]
    same = ib.quantile(np.full(1000, 37.0), **keywords | {"epsilon": 1})
    assert np.asarray(same) == pytest.approx(37, abs=0.01)


# Where the number of records is secret


@pytest.mark.claim("flank-chance-secret")
@pytest.mark.parametrize("rows", [0, 1, 5, 40, 400])
@pytest.mark.parametrize("population", [False, True])
def test_the_chance_for_any_number_of_records(rows, population):
    """Of two values, of which the first has what is asked for: by exact sums over samples and points."""
    points, spread, drawn, asked = 60, 2.0, 0.35, 0.5
    reach = float(np.log(points))
    for shift in (0, 9, 14, 20):
        said = quantiles.bound_miss_of_any(drawn, asked, spread, reach, shift, population=population)
        found = 0.0
        law = stats.binom(rows, asked)
        each = {int(np.ceil(asked * rows)): 1.0} if not population else {k: law.pmf(k) for k in range(rows + 1)}
        for k, chance in each.items():
            counts = np.zeros(points, int)
            counts[5], counts[-1] = k, rows - k
            below, target = np.cumsum(counts) - counts, drawn * rows - shift
            over, under = below - target, target - below - counts
            over[0], under[-1] = under[0], over[-1]
            found += chance * law_of_scores(np.maximum(over, under) / spread)[6:].sum()
        assert found <= said + 1e-12
    assert said < 0.05
    # Nearer to what is asked for the exponent is smaller, and it is the largest that there is.
    theta = quantiles.find_exponent(drawn, asked)
    assert quantiles.find_exponent(0.45, asked) < theta
    at = [np.exp(t * drawn) * (1 - asked + asked * np.exp(-t)) for t in (theta * 0.999, theta * 1.001)]
    assert at[0] < 1 < at[1]


@pytest.mark.claim("interval-quantile-secret")
@pytest.mark.parametrize("case", ["groups", "selection", "add-remove"])
def test_intervals_of_secret_numbers_cover(case, monkeypatch):
    """Also of a group with ten records, whose interval is nearly the bounds."""
    rng, entropy, held, own, runs = np.random.default_rng(2), SeededEntropy(6), 0, 0, 20
    monkeypatch.setattr(road_draw, "entropy_source", lambda: entropy)
    keywords = {
        "groups": {"by": "g", "levels": ["a", "b"]},
        "selection": {"where": "g = 'a'"},
        "add-remove": {"neighbours": "add-remove"},
    }[case]
    for _ in range(runs):
        group = np.where(np.arange(1500) < 1490, "a", "b")
        x = rng.exponential(10, 1500)
        release = ib.quantile(
            {"x": x, "g": group}, "x", q=0.4, bounds=(0, 100), step="0.1", epsilon=2, cover=0.95, **keywords
        )
        lower, upper = map(np.atleast_1d, release.interval(0.95))
        held += (lower <= -10 * np.log(0.6)) & (-10 * np.log(0.6) <= upper)
        lower, upper = map(np.atleast_1d, release.interval(0.95, kind="noise"))
        rows = [x[group == "a"], x[group == "b"]] if case == "groups" else [x] if case == "add-remove" else [x[:1490]]
        truth = np.array([np.quantile(np.round(one, 1), 0.4, method="inverted_cdf") for one in rows])
        own += (lower - 1e-9 <= truth) & (truth <= upper + 1e-9)
    assert (held >= runs - 2).all()
    assert (own >= runs - 2).all()
    # Of more than a thousand records it is an interval and not the bounds.
    assert upper[0] - lower[0] < 20
    # One of less confidence holds as well; one of more cannot be had from the same draws.
    assert release.interval(0.9).upper is not None
    assert (np.atleast_1d(release.interval(0.999).width) == 100).all()
    assert [release.interval(level).method for level in (0.9, 0.999)] == [quantiles.METHOD, quantiles.NONE]


@pytest.mark.parametrize("rows", [1, 2, 50, 20_000, 1_000_000])
def test_binomial_quantiles_are_those_of_scipy(rows):
    for share in (0.001, 0.1, 0.5, 0.93, 0.999):
        law = stats.binom(rows, share)
        for chance in (1e-12, 0.0125, 0.025, 0.5, 0.975, 1 - 1e-12):
            assert quantiles.binomial_quantile(chance, rows, share) == law.ppf(chance)


def test_a_release_loads_no_laws_of_scipy():
    code = """
import sys, inbounds as ib
r = ib.median([1.0, 2.0, 3.0] * 200, bounds=(0, 5), epsilon=1)
r.interval(0.95)
print(r, "scipy.stats" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("False\n")
