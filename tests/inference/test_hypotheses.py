"""Tests from records: their sizes hold under the noise, and a test that ignores it is too large."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import inbounds as ib
from inbounds.inference import chi_square, compare_shares, difference, ratio, t_test
from inbounds.inference.compare import Limited, mover_difference, mover_ratio
from inbounds.inference.hypotheses import draw_counts

RUNS = 300
# At 5%, more than so many of 300 are rejected by chance less than once in a million.
MOST = 37
assert stats.binom.sf(MOST - 1, RUNS, 0.05) < 1e-6


@pytest.mark.claim("chi-square")
def test_tables_of_independent_columns():
    levels = {"a": ["x", "y", "z"], "b": ["u", "v"]}
    template = ib.crosstab({"a": ["x"] * 300, "b": ["u"] * 300}, levels=levels, epsilon=0.2)
    rng = np.random.default_rng(1)
    chances = np.outer([0.6, 0.3, 0.1], [0.8, 0.2]).ravel()
    found, ignored = 0, 0
    for noise in draw_counts(template.parts[0], 6, rng, RUNS):
        counts = rng.multinomial(300, chances) + noise
        made = replace(template, noisy=tuple(Fraction(int(x)) for x in counts))
        found += chi_square(made).p_value <= 0.05
        ignored += stats.chi2.sf(chi_square(made).statistic, 2) <= 0.05
    assert found < MOST
    # The control: the law of χ² without noise rejects most tables.
    assert ignored > 3 * MOST


@pytest.mark.claim("compare-shares")
def test_equal_shares():
    first, second = (ib.proportion([1, 0] * half, epsilon=0.2) for half in (100, 300))
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(RUNS):
        pair = []
        for one in (first, second):
            count = int(rng.binomial(one.size, 0.1) + draw_counts(one.parts[0], 1, rng, 1)[0, 0])
            pair.append(replace(one, noisy=(Fraction(min(max(count, 0), one.size), one.size),)))
        found += compare_shares(*pair).p_value <= 0.05
    assert found < MOST
    more = ib.proportion([1, 1, 1, 0] * 150, epsilon=1)
    assert compare_shares(more, ib.proportion([1, 0, 0, 0] * 150, epsilon=1)).p_value < 0.001


@pytest.mark.claim("t-test")
def test_equal_means():
    table = {"x": [0.5] * 400, "g": ["a", "b"] * 200}
    template = ib.mean(table, "x", bounds=(0, 1), by="g", levels=["a", "b"], epsilon=2)
    rng, found = np.random.default_rng(3), 0
    for _ in range(100):
        cells = []
        for _ in range(2):
            u = np.minimum(rng.exponential(0.2, 200), 2) - 1
            # Independent noise of the largest variance that a coordinate has.
            noise = rng.laplace(0, float(template.parts[0].spread) * 2, 3) * [1, 0.7, 1]
            cells += [200 + noise[0], u.sum() + noise[1], (2 * u**2 - 1).sum() + noise[2]]
        made = replace(template, noisy=tuple(Fraction(float(x)) for x in cells))
        found += t_test(made, groups=("a", "b")).p_value <= 0.05
    assert found <= 22
    assert stats.binom.sf(22, 100, 0.05) < 1e-6


def test_what_differs_is_found():
    rng = np.random.default_rng(4)
    table = {"x": np.concatenate([rng.normal(40, 8, 2000), rng.normal(43, 8, 2000)]), "g": ["a"] * 2000 + ["b"] * 2000}
    options = {"bounds": (0, 100), "epsilon": 1}
    made = ib.mean(table, "x", by="g", levels=["a", "b"], **options)
    assert t_test(made, groups=("a", "b")).p_value < 0.001
    one, two = (ib.mean(table["x"][half], **options) for half in (slice(0, 2000), slice(2000, 4000)))
    assert t_test(one, two).p_value < 0.001
    assert t_test(one, 40).p_value > 1e-4 > t_test(one, 50).p_value
    assert "both have the same mean" in str(t_test(one, two))
    crossed = ib.crosstab(
        {"a": ["x", "y"] * 500, "b": ["u", "v"] * 500}, levels={"a": ["x", "y"], "b": ["u", "v"]}, epsilon=1
    )
    assert chi_square(crossed).p_value < 0.001


def test_tests_that_cannot_be_made():
    x = [0.2, 0.7] * 200
    direct = ib.mean(x, bounds=(0, 1), epsilon=1, method="direct")
    good = ib.mean(x, bounds=(0, 1), epsilon=1)
    for call, said in (
        (lambda: t_test(direct, 0.5), "drawn with its second moment"),
        (lambda: t_test(good, 2), "within the bounds"),
        (lambda: t_test(good, groups=("a", "b")), "two different groups"),
        (lambda: chi_square(good), "a released crosstab of two columns"),
        (lambda: compare_shares(good, good), "a share or a count"),
    ):
        with pytest.raises(ValueError, match=said):
            call()


def by_region(epsilon=1):
    rng = np.random.default_rng(5)
    region = np.repeat(["north", "south"], 3000)
    values = np.clip(np.where(region == "north", 60, 40) + rng.normal(0, 8, 6000), 0, 100)
    table = {"x": values, "region": region}
    return ib.mean(table, "x", bounds=(0, 100), by="region", levels=["north", "south"], epsilon=epsilon)


def test_groups_of_one_release_have_differences_and_ratios():
    made = by_region()
    for find, truth in ((difference, 20.0), (ratio, 1.5)):
        for method in ("mover", "guaranteed"):
            found = find(made, groups=("north", "south"), level=0.997, method=method)
            assert truth in found
            assert "north and south" in found.what
    narrow, wide = (difference(made, groups=("north", "south"), method=one) for one in ("mover", "guaranteed"))
    assert 0 < narrow.width < wide.width
    with pytest.raises(ValueError, match="two different groups"):
        difference(made, groups=("north", "west"))
    with pytest.raises(ValueError, match="leave out the second"):
        difference(made, made, groups=("north", "south"))
    with pytest.raises(TypeError, match="give a second release"):
        ratio(made)


@pytest.mark.claim("ratio-interval")
def test_a_ratio_is_kept_where_the_difference_may_be_0():
    """The ends solve the equation of both distances. Of normal errors they cover, and half as wide ones do not."""
    rng, runs = np.random.default_rng(6), 4000
    a, b = rng.normal(6, 0.5, runs), rng.normal(4, 0.4, runs)
    one, other = (Limited(x, x - 1.96 * sd, x + 1.96 * sd, 0, np.inf) for x, sd in ((a, 0.5), (b, 0.4)))
    low, high = mover_ratio(one, other)
    assert np.allclose((a - low * b) ** 2, (1.96 * 0.5) ** 2 + (low * 1.96 * 0.4) ** 2)
    assert np.allclose((a - high * b) ** 2, (1.96 * 0.5) ** 2 + (high * 1.96 * 0.4) ** 2)
    hits, middle = np.mean((low <= 1.5) & (high >= 1.5)), (low + high) / 2
    short = np.mean(np.abs(middle - 1.5) <= (high - low) / 4)
    assert 0.93 < hits < 0.97
    assert short < 0.8


def test_distances_are_added_where_an_interval_ends_at_what_is_possible():
    """At an end an interval reaches no farther though the error does: squared and added, the difference is missed."""
    rng, runs, scale = np.random.default_rng(8), 20_000, 0.6
    # The variance of the second is as large as can be, that of the first is near to it, and noise hides both.
    sides, missed = [], []
    for truth in (0.36, 1.0):
        value = np.clip(truth + rng.laplace(0, 3 * scale, runs), 0, 1)
        low, high = np.clip(value - 9 * scale, 0, 1), np.clip(value + 9 * scale, 0, 1)
        sides.append(Limited(value, low, high, 0, 1))
        missed.append(Limited(value, low, high, -1, 2))
    for given, holds in ((sides, True), (missed, False)):
        lower, upper = mover_difference(*given)
        assert (np.mean((lower <= -0.64) & (upper >= -0.64)) >= 0.945) == holds


@pytest.mark.parametrize("method", ["mover", "guaranteed"])
def test_a_ratio_of_what_may_be_0_has_limits(method):
    """Where both may be 0, all ratios are kept. Where the first is large and the second small, small ratios are not."""
    made = ib.mean([1.0] * 400, bounds=(0, 2), epsilon=1, method="moments")
    # Noisy sums of values from -1 to 1, and of twice their squares less 1, in units of their noise.
    none, low, high = (
        replace(made, noisy=tuple(Fraction(x) / unit for x, unit in zip(sums, made.units, strict=True)))
        for sums in ((-500, 400), (-390, 380), (0, -400))
    )
    for pair in ((none, replace(none)), (low, none)):
        found = ratio(*pair, method=method)
        assert (found.lower, found.upper) == (0.0, np.inf)
    clear = ratio(high, low, method=method)
    assert clear.lower > 5


def test_a_ratio_of_what_may_be_negative_is_refused():
    first, second = (ib.mean([-1.0, 1.0] * 300, bounds=(-5, 5), epsilon=1) for _ in range(2))
    with pytest.raises(ValueError, match="not negative"):
        ratio(first, second)
