"""Intervals of variances, covariances and correlations from noisy sums of products."""

import math

import numpy as np
import pytest
import scipy

import inbounds as ib
from inbounds.inference import products
from inbounds.inference.candidates import Draws, Scores
from inbounds.inference.products import Sums


def exact_sums(columns, noise=0.0):
    """Sums of columns of values in [-1, 1] of a public number of records, with Laplace noise that is known."""
    values = np.stack(columns, axis=1)
    rng = np.random.default_rng(3)
    drawn = rng.laplace(0.0, max(noise, 1e-12), (4096, 6))
    drawn[:, 0] = 0.0
    return Sums(float(len(values)), values.sum(axis=0), values.T @ values, lambda *_: drawn)


def random_laws(seed, size=400):
    """Laws of pairs of values in [-1, 1]: a few points each, some of them rare, some at corners."""
    rng = np.random.default_rng(seed)
    for _ in range(size):
        points = rng.uniform(-1, 1, (rng.integers(2, 6), 2))
        points = np.where(rng.random(points.shape) < 0.4, np.sign(points), points)
        chances = rng.dirichlet(np.full(len(points), rng.choice([0.05, 0.5, 3.0])))
        off = points - chances @ points
        variances = chances @ off**2
        if variances.min() > 1e-6:
            yield off, chances, variances, 1 + np.abs(chances @ points)


def variance_of(values, chances):
    return float(chances @ (values - chances @ values) ** 2)


def ratios_to_bounds(laws):
    """The sampling variance of each figure over what its interval takes for the largest one."""
    of_variance, of_covariance, of_correlation = [], [], []
    for off, chances, (v, w), (reach, other) in laws:
        first, second = off[:, 0], off[:, 1]
        of_variance.append(variance_of(first**2, chances) / (v * (reach**2 - v)))
        of_covariance.append(variance_of(first * second, chances) / min(reach**2 * w, other**2 * v))
        rho = float(chances @ (first * second)) / math.sqrt(v * w)
        x, y = first / math.sqrt(v), second / math.sqrt(w)
        most = (1 - rho**2) * (reach / math.sqrt(v) + other / math.sqrt(w)) ** 2 / 4
        if rho**2 < 1 - 1e-6:
            of_correlation.append(variance_of(x * y - rho * (x**2 + y**2) / 2, chances) / most)
    return max(of_variance), max(of_covariance), max(of_correlation, default=0.0)


@pytest.mark.claim("products-interval")
def test_no_law_varies_more_than_the_bounds_allow():
    ratios = ratios_to_bounds(random_laws(0))
    assert max(ratios) <= 1 + 1e-9
    # The bounds are near to what is attained, so that half of them would be broken.
    corner = np.array([[-1.0, -1.0], [1.0, 1.0]]), np.array([0.999, 0.001])
    off = corner[0] - corner[1] @ corner[0]
    attained = ratios_to_bounds([(off, corner[1], corner[1] @ off**2, 1 + np.abs(corner[1] @ corner[0]))])[:1]
    assert min(attained) > 0.99
    opposed = np.array([[-1.0, -1.0], [1.0, 1.0], [1.0, -1.0]]), np.array([0.499, 0.499, 0.002])
    off = opposed[0] - opposed[1] @ opposed[0]
    assert ratios_to_bounds([(off, opposed[1], opposed[1] @ off**2, 1 + np.abs(opposed[1] @ opposed[0]))])[2] > 0.9


def test_limits_without_noise_follow_from_the_bounds():
    rng = np.random.default_rng(1)
    alpha = 0.05
    y = np.clip(rng.normal(0, 0.1, 20_000), -1, 1)
    given = exact_sums([y])
    mean = float(y.mean())
    lower, upper = products.limits_of_variance(given, 0, (mean, mean), alpha)
    z, reach, seen = scipy.stats.norm.ppf(1 - alpha / 2), (1 + abs(mean)) ** 2, y.var()
    expected = scipy.optimize.brentq(
        lambda v: (v - seen) - z * math.sqrt(v * (reach - v) / len(y)), seen, reach / 2, xtol=1e-12
    )
    assert upper == pytest.approx(expected, rel=1e-4)
    assert seen - lower == pytest.approx(z * math.sqrt(seen * (reach - seen) / len(y)), rel=1e-3)


def test_limits_of_pairs_without_noise_follow_from_the_bounds():
    """Both ends of a covariance and of a correlation lie where the score is z times its largest standard deviation."""
    rng = np.random.default_rng(2)
    x = np.clip(rng.normal(0.2, 0.1, 20_000), -1, 1)
    y = np.clip(0.5 * x + rng.normal(0, 0.1, 20_000), -1, 1)
    rows, alpha, z = len(x), 0.05, scipy.stats.norm.ppf(0.975)
    given, means = exact_sums([x, y]), [(float(values.mean()),) * 2 for values in (x, y)]
    (reach, other), (v, w) = [1 + abs(mean) for mean, _ in means], (float(x.var()), float(y.var()))
    covariance = float(((x - x.mean()) * (y - y.mean())).mean())
    rare = (math.log(2 / alpha) / z) ** 2
    lower, upper = products.limits_of_covariance(given, (0, 1), (means[0], means[1]), alpha)
    for end in (lower, upper):
        unseen = rare * (reach * other + abs(end)) ** 2
        most = min(reach**2 * w, other**2 * v)
        assert abs(end - covariance) == pytest.approx(z * math.sqrt(rows * most + unseen) / rows, rel=1e-3)
    seen = covariance / math.sqrt(v * w)
    lower, upper = products.limits_of_correlation(given, (0, 1), (means[0], means[1]), ((v, v), (w, w)), alpha)
    for end in (lower, upper):
        most = (1 - min(end**2, seen**2)) * (reach / math.sqrt(v) + other / math.sqrt(w)) ** 2 / 4
        assert abs(end - seen) == pytest.approx(z * math.sqrt(most / rows), rel=1e-3)


def simulate_coverage(runs=200):
    """How often the variance of rare values at the other bound is in its interval, and in one half as wide."""
    rng, rows, share, scale = np.random.default_rng(5), 2000, 0.01, 2.0
    truth, held = 4 * share * (1 - share), np.zeros(2)
    drawn = np.zeros((2048, 6))
    drawn[:, [1, 3]] = np.random.default_rng(6).laplace(0, scale, (2048, 2))
    for having in rng.binomial(rows, share, runs):
        noise = rng.laplace(0, scale, 2)
        total, squares = 2.0 * having - rows + noise[0], rows + noise[1]
        given = Sums(float(rows), np.array([total]), np.array([[squares]]), lambda *_: drawn)
        means = products.limits_of_mean(given, 0, 0.0025)
        lower, upper = products.limits_of_variance(given, 0, means, 0.0475)
        middle = squares / rows - (total / rows) ** 2
        held += lower <= truth <= upper, (lower + middle) / 2 <= truth <= (upper + middle) / 2
    return held / runs


def test_rare_values_are_covered():
    whole, half = simulate_coverage()
    assert whole >= 0.93
    assert half < 0.9


TABLE = {
    "x": [float(x) for x in np.random.default_rng(8).normal(50, 12, 6000).clip(0, 100)],
    "g": ["a", "b"] * 3000,
}
TABLE["y"] = [(0.6 * x + y) for x, y in zip(TABLE["x"], np.random.default_rng(9).normal(20, 8, 6000), strict=True)]
BOUNDS = {"x": (0, 100), "y": (0, 100)}


@pytest.mark.parametrize("terms", [{}, {"where": "x > 20"}, {"neighbours": "add-remove"}])
def test_every_matrix_has_an_interval(terms):
    release = ib.correlation(TABLE, bounds=BOUNDS, epsilon=2, **terms)
    limits = release.interval()
    assert limits.method == products.METHOD
    assert limits.lower[0, 0] == limits.upper[0, 0] == 1
    assert -1 < limits.lower[0, 1] < release.value[0, 1] < limits.upper[0, 1] < 1
    assert limits.upper[0, 1] - limits.lower[0, 1] < 0.5
    assert (limits.lower == limits.lower.T).all()
    wide = ib.covariance(TABLE, bounds=BOUNDS, epsilon=2, **terms).interval()
    assert wide.lower[0, 1] > 20
    assert wide.upper[0, 1] < 180


def test_groups_and_moments_have_one():
    limits = ib.variance(TABLE, "x", bounds=(0, 100), by="g", levels=["a", "b"], epsilon=2).interval()
    assert limits.lower.shape == (2,)
    assert (limits.lower > 90).all()
    assert (limits.upper < 210).all()
    record = ib.moments(TABLE, bounds=BOUNDS, epsilon=2)
    both = record.interval()
    assert both.lower.shape == (3, 2)
    assert both.lower[2, 0] > 20
    # The narrower one takes records for normal, which these are.
    normal = record.interval(method="normal")
    assert normal.upper[1, 0] - normal.lower[1, 0] < both.upper[1, 0] - both.lower[1, 0]


def test_nothing_is_known_of_hardly_any_records():
    limits = ib.correlation({"x": [1.0, 2.0, 3.0], "y": [3.0, 1.0, 2.0]}, bounds=BOUNDS, epsilon=0.1).interval()
    assert (limits.lower[0, 1], limits.upper[0, 1]) == (-1, 1)


@pytest.mark.parametrize("neighbours", ["substitute", "add-remove"])
def test_noise_is_that_of_releases(neighbours):
    """Sums of releases of one table vary as the draws that everybody knows; those of another size would not."""
    table = {"x": [20.0, 70.0, 40.0] * 20, "y": [10.0, 90.0, 50.0] * 20}
    rows = []
    for _ in range(300):
        release = ib.moments(table, bounds=BOUNDS, epsilon=1, neighbours=neighbours)
        (sums,) = products.list_sums(release, 0.05)
        squares = sums.products
        rows.append([sums.count, *sums.totals, squares[0, 0], squares[1, 1], squares[0, 1]])
    seen, known = np.std(rows, axis=0), sums.draw(0, 1).std(axis=0)
    # Each is off by about a twentieth of itself.
    assert seen == pytest.approx(known, rel=0.4)
    assert seen[1:] != pytest.approx(2 * known[1:], rel=0.4)


@pytest.mark.claim("products-interval")
@pytest.mark.parametrize("side", [-1, 1])
def test_a_tail_that_is_not_worked_out_is_below_what_is_enough(side):
    """Without a look at every draw: an upper bound of the tail then, and elsewhere the tail itself."""
    rng, skipped, enough = np.random.default_rng(12), 0, 0.05
    for _ in range(300):
        noise, slopes = rng.laplace(0, 10 ** rng.uniform(-1, 1), (2, 500))
        (start, slope), theta, spread = rng.normal(0, 20, 2), rng.normal(), 10 ** rng.uniform(-2, 1)
        draws = Draws.of(np.stack([noise, slopes], axis=1))
        one = Scores(start, slope, draws, np.array([1.0, 0.0]), np.array([0.0, 1.0]), lambda _, spread=spread: spread)
        off = side * (noise - theta * slopes - (start - theta * slope)) / math.sqrt(spread)
        exact, found = float(scipy.special.ndtr(off).mean()), one.tail(theta, side, enough)
        assert found == pytest.approx(exact, rel=1e-12, abs=1e-300) or exact <= found < enough
        skipped += found > exact * (1 + 1e-9)
    assert 30 < skipped < 200


@pytest.mark.claim("products-of-table")
@pytest.mark.parametrize("rows", [2, 3, 50])
def test_limits_of_the_table_without_noise_are_its_covariances(rows):
    columns = list(np.random.default_rng(rows).uniform(-1, 1, (3, rows)))
    given = exact_sums(columns)
    lower, upper = products.table_limits(given, 0.05)
    assert np.abs(np.stack([lower, upper]) - np.cov(columns)).max() < 1e-4
    assert (lower <= upper).all()


@pytest.mark.claim("products-of-table")
def test_limits_of_the_table_cover_where_means_are_hardly_known():
    """Few records next to a bound, and noise of a third of their number: less than 723 of 800 runs would be rarer than
    once in 1e9. The negative control takes the noisy mean for the true one."""
    rng, scale, runs = np.random.default_rng(8), 20.0, 800
    columns = np.clip(rng.normal([[0.95], [-0.6]], [[0.02], [0.2]], (2, 100)), -1, 1)
    truth = np.cov(columns)
    law = rng.laplace(0, scale, (4096, 6))
    # Of one column the product is the square.
    law_of_one = law[:, [0, 1, 2, 3, 4, 3]]
    held, known = np.zeros((2, 2)), 0
    for _ in range(runs):
        count, *totals = np.array([100, *columns.sum(axis=1)]) + rng.laplace(0, scale, 3)
        noise = rng.laplace(0, scale, 3)
        products_of_both = columns @ columns.T + noise[[[0, 1], [1, 2]]]
        given = Sums(count, np.array(totals), products_of_both, lambda i, j: law_of_one if i == j else law)
        lower, upper = products.table_limits(given, 0.05)
        held += (lower <= truth) & (truth <= upper)
        mean = (float(np.clip(totals[0] / count, -1, 1)),) * 2
        low, high = products._covariance_of_table(given, (0, 0), (mean, mean), 0.05)
        known += low <= truth[0, 0] <= high
    assert (held >= 723).all()
    assert known < 723
