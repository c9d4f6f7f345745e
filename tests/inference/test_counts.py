"""Counts and shares: laws against brute force, and coverage by enumeration."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from inbounds.inference.counts import Averaged, Binomial, Poisson, Sampled, choose_family
from inbounds.inference.inversion import interval, lower_bound, upper_bound
from inbounds.inference.laws import DiscreteLaplace, Laplace, Law, ZeroSum
from tests.inference.peers import binomial, released_pmf, tulap_width

SHARES = np.unique(np.concatenate([[0, 0.001, 0.005, 0.01, 0.99, 1], np.linspace(0.02, 0.98, 34)]))


def scale_of(epsilon, *, truncated):
    """Scale of a noisy count at ε; for truncation that of an open side, which is enough for any n."""
    return 1 / math.log((1 + math.exp(epsilon)) / 2) if truncated else 1 / epsilon


def all_intervals(n, scale, alpha=0.05, *, truncated=False):
    law = Law(DiscreteLaplace(scale), 0, n, (0, n) if truncated else None)
    return np.array([interval(choose_family(Binomial(n), law, y), y, alpha) for y in range(n + 1)])


@pytest.mark.claim("sampled-count")
@pytest.mark.parametrize("truncated", [False, True])
@pytest.mark.parametrize(
    ("n", "epsilon"), [(1, 1.0), (7, 0.3), (50, 0.1), (200, 0.5), (2000, 1.0), (100, 3.0), (400, 0.01)]
)
def test_the_law_of_a_sampled_noisy_count_is_that_of_brute_force(n, epsilon, truncated):
    scale = scale_of(epsilon, truncated=truncated)
    cdf = np.cumsum(released_pmf(n, scale, truncated=truncated), axis=0)
    family = Sampled(Binomial(n), Law(DiscreteLaplace(scale), 0, n, (0, n) if truncated else None))
    for p in (0.0, 1e-4, 0.1, 0.35, 0.9, 1.0):
        for y in {0, 1, n // 3, n - 1, n}:
            expected = cdf[y] @ binomial(n, p)
            assert family.at_most(y, p) == pytest.approx(expected, abs=1e-11)
            assert family.below(y, p) == pytest.approx(
                expected - (cdf[y] - (cdf[y - 1] if y else 0)) @ binomial(n, p), abs=1e-11
            )


@pytest.mark.parametrize("scale", [0.3, 5.0, 300.0])
def test_noise_on_a_line_and_records_that_come_at_a_rate(scale):
    k = np.arange(400)
    noise = stats.laplace(scale=scale)
    line = Sampled(Binomial(60), Law(Laplace(scale), 0, 60))
    rate = Sampled(Poisson(), Law(DiscreteLaplace(scale), 0), highest=1e9)
    q = math.exp(-1 / scale)
    for theta in (0.02, 0.4):
        for y in (0.0, 7.3, 59.9):
            assert line.at_most(y, theta) == pytest.approx(stats.binom.pmf(k, 60, theta) @ noise.cdf(y - k), abs=1e-11)
        for y in (0, 9):
            cdf = np.where(y < k, q ** np.maximum(k - y, 0.0), 1 + q - q ** (np.maximum(y - k, 0.0) + 1)) / (1 + q)
            assert rate.at_most(y, 50 * theta) == pytest.approx(stats.poisson.pmf(k, 50 * theta) @ cdf, abs=1e-11)


def test_both_ways_to_sum_agree_where_they_meet():
    """Tilted laws and the sum over a window, with noise as wide as the sampling error or eight times less."""
    for scale, n in ((60.0, 10**6), (500.0, 10**6), (8.0, 10**4)):
        law = Law(DiscreteLaplace(scale), 0, n)
        family = Sampled(Binomial(n), law)
        for y in (n // 50, n // 3):
            assert family._wide(y) == (family.sampling.deviation(y) < 8 * scale)
            for p in (y / n, y / n * 1.004, y / n * 0.99):
                direct = family.sampling.cdf(y, p) + _windowed(family, y, p)
                assert family.at_most(y, p) == pytest.approx(direct, abs=3e-9)


def _windowed(family, y, p):
    from inbounds.inference.counts import _window

    k, base, gain = _window(family.sampling, family.law, y)
    return np.exp(family.sampling.log_pmf(base, k, p)) @ gain


EPSILONS = [0.05, 0.1, 0.5, 1.0, 3.0]
ENUMERATED = [
    (n, epsilon, truncated) for n in (20, 50, 100, 200) for epsilon in EPSILONS for truncated in (False, True)
]
# An interval takes longer the larger n is, and there are n + 1 of them, so that larger n have a part of these. All ways
# to a law are among them: tilted (0.1, clamped), by a window (1.0), smooth (0.05, truncated) and so far from the bounds
# that truncation makes no difference (1.0 and 3.0, truncated).
ENUMERATED += [(500, epsilon, place % 2 == 0) for place, epsilon in enumerate(EPSILONS)]
ENUMERATED += [(2000, 0.1, False), (2000, 1.0, True)]


@pytest.mark.claim("exact-inversion")
@pytest.mark.parametrize(("n", "epsilon", "truncated"), ENUMERATED)
def test_coverage_by_enumeration(n, epsilon, truncated):
    """At 40 shares including 0 and 1 the probability of all released counts whose interval has the share."""
    scale = scale_of(epsilon, truncated=truncated)
    pmf = released_pmf(n, scale, truncated=truncated)
    lower, upper = all_intervals(n, scale, truncated=truncated).T
    assert len(SHARES) == 40
    assert (lower >= 0).all()
    assert (upper <= 1).all()
    assert (lower <= upper).all()
    covered = [binomial(n, p) @ pmf.T @ ((lower <= p) & (p <= upper)) for p in SHARES]
    assert min(covered) >= 0.95


def test_enumeration_sees_an_interval_that_ignores_the_noise():
    n, pmf = 100, released_pmf(100, 2.0)
    lower, upper = all_intervals(n, 1e-3).T
    covered = [binomial(n, p) @ pmf.T @ ((lower <= p) & (p <= upper)) for p in SHARES]
    assert min(covered) < 0.9


@pytest.mark.parametrize(
    ("n", "epsilon"), [(20, 0.5), (20, 3.0), (50, 0.1), (50, 1.0), (100, 0.5), (100, 3.0), (200, 0.1), (200, 1.0)]
)
def test_mean_width_against_the_optimal_interval(n, epsilon):
    shares = np.linspace(0.02, 0.98, 9)
    lower, upper = all_intervals(n, 1 / epsilon).T
    pmf = released_pmf(n, 1 / epsilon)
    ours = np.array([binomial(n, p) @ pmf.T @ (upper - lower) for p in shares])
    optimal, filled = tulap_width(n, epsilon, 0.05, shares, points=61)
    assert ours.mean() <= 1.04 * (optimal / filled).mean()


@pytest.mark.parametrize("truncated", [False, True])
def test_a_share_of_a_public_number_lies_within_clopper_and_pearson(truncated):
    n, scale = 40, 1.5
    law = Law(DiscreteLaplace(scale), 0, n, (0, n) if truncated else None)
    family = Sampled(Binomial(n), law)
    for y in range(n + 1):
        lower, upper = interval(family, y, 0.05)
        if not truncated:
            assert lower >= lower_bound(family, y, 0.025) - 1e-9
            assert upper <= upper_bound(family, y, 0.025) + 1e-9
        narrower = interval(family, y, 0.2)
        assert narrower[0] >= lower - 1e-9
        assert narrower[1] <= upper + 1e-9
        wider = interval(family, y, 0.01)
        assert wider[0] <= lower + 1e-9
        assert wider[1] >= upper - 1e-9


def test_almost_no_noise_gives_blakers_interval():
    """Published limits of Blaker (2000) for 95%, n = 10 (BlakerCI, R): the noise is next to nothing."""
    law = Law(DiscreteLaplace(0.02), 0, 10)
    known = {0: (0, 0.2831), 1: (0.0051, 0.4443), 2: (0.0368, 0.5560), 3: (0.0873, 0.6194), 5: (0.2224, 0.7776)}
    for y, limits in known.items():
        assert interval(Sampled(Binomial(10), law), y, 0.05) == pytest.approx(limits, abs=6e-4)


@pytest.mark.parametrize("y", [0, 3, 250_000, 10**6])
@pytest.mark.parametrize("epsilon", [1e-5, 1e-3, 0.1, 3.0, 50.0])
def test_a_million_records_at_any_epsilon(y, epsilon):
    law = Law(DiscreteLaplace(1 / epsilon), 0, 10**6)
    lower, upper = interval(choose_family(Binomial(10**6), law, y), y, 0.05)
    assert 0 <= lower <= y / 1e6 <= upper <= 1
    spread = math.hypot(math.sqrt(y * (1 - y / 1e6)), math.sqrt(2) / epsilon) / 1e6
    assert upper - lower <= 5 * spread + 4e-6


@pytest.mark.claim("zero-sum-marginal")
@pytest.mark.parametrize(("scale", "cells"), [(0.7, 2), (1.3, 3), (2.0, 4)])
def test_the_law_of_one_of_several_that_add_up_to_nothing(scale, cells):
    q, reach = math.exp(-1 / scale), 200
    line = q ** np.abs(np.arange(-reach, reach + 1.0))
    rest = np.array([1.0])
    for _ in range(cells - 1):
        rest = np.convolve(rest, line)
    middle = len(rest) // 2
    z = np.arange(-90, 91)
    weights = q ** np.abs(z) * rest[middle - z]
    expected = np.cumsum(weights / weights.sum())
    assert ZeroSum(scale, cells).cdf(z) == pytest.approx(expected, abs=1e-9)
    assert ZeroSum(scale, cells).density(z) == pytest.approx(weights / weights.sum(), abs=1e-9)


def test_a_wide_zero_sum_noise_is_looked_up_on_a_coarser_lattice():
    fine, scale = ZeroSum(1999.0, 5), 40_000.0
    t = np.arange(-3, 4)
    assert ZeroSum(scale, 5).cdf(t * scale) == pytest.approx(fine.cdf(t * 1999.0), abs=3e-4)


def test_the_smallest_tails_keep_their_digits():
    n, scale = 1000, 1.0
    family = Sampled(Binomial(n), Law(DiscreteLaplace(scale), 0, n))
    q = math.exp(-1 / scale)
    k = np.arange(n + 1)
    tail = np.where(k >= 200, 1 - q ** (k - 200 + 1.0) / (1 + q), q ** np.maximum(200 - k, 0.0) / (1 + q))
    assert family.at_least_exactly(200, 0.1) == pytest.approx(binomial(n, 0.1) @ tail, rel=1e-9)
    assert 0 < family.at_least_exactly(200, 0.1) < 1e-19


@pytest.mark.claim("largest-variance")
@pytest.mark.parametrize("truncated", [False, True])
@pytest.mark.parametrize(("n", "epsilon", "p"), [(50, 0.5, 0.1), (50, 0.1, 0.01), (100, 1.0, 0.5), (20, 30.0, 0.3)])
def test_noisy_means_of_records_at_the_bounds_are_covered_exactly(n, epsilon, p, truncated):
    """The released means whose interval has p lie between two ends, where a limit is p; their exact probability."""
    law = Law(Laplace(scale_of(epsilon, truncated=truncated)), 0.0, float(n), (0.0, float(n)) if truncated else None)
    plain = Sampled(Binomial(n), law, step=0)

    def over(y, side):
        """How far a limit of the interval of y lies beyond p."""
        return (1 - 2 * side) * (interval(Averaged(plain), y, 0.05)[side] - p)

    def end(outside, side):
        if over(outside, side) <= 0:
            return outside
        return optimize.brentq(over, n * p, outside, args=(side,), xtol=1e-10)

    low, high = end(0.0, 1), end(float(n), 0)
    assert high - low < n
    covered = plain.at_most(high, p) - plain.below(low, p)
    assert 0.95 - 1e-8 <= covered < 0.99
