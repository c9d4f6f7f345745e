"""Correlations with the least error on average: against integrals of the posterior, and against clipping."""

import math

import numpy as np
import pytest
from scipy import integrate

from inbounds.expected.variances import noise_variances
from inbounds.laws.vectors import vector_noise
from inbounds.privacy.certified import norm_law
from inbounds.privacy.norms import Block, make_norm
from inbounds.privacy.terms import Terms
from inbounds.repairs.likely import correlations_of, likely_correlations, posterior_deviations, settle


def moments_of(x, s, low, high):
    """∫ t^k N(t; x, s) over an interval for k = 0, 1, 2, all over the density at the nearest point of it."""
    least = (x - min(max(x, low), high)) ** 2
    near = [p for p in (x - 3 * s, x, x + 3 * s, low + s**2 / 10, high - s**2 / 10) if low < p < high]

    def density(t, power):
        return t**power * math.exp((least - (x - t) ** 2) / (2 * s * s))

    found = [integrate.quad(density, low, high, (k,), points=near, limit=400)[0] for k in (0, 1, 2)]
    return found, least


def by_integrals(covariance, deviation, variances, own, largest):
    """Mean and deviation of the posterior, by quadrature of its own definition."""
    roots = []
    for x, s in zip(variances, own, strict=True):
        (mass, mean, _), _ = moments_of(x, s, 0, largest)
        roots.append(math.sqrt(mean / mass))
    area = roots[0] * roots[1]
    x, s = covariance / area, deviation / area
    ends = 0.2 * s / (s + 0.1)
    inside, least = moments_of(x, s, -1, 1)
    inside = [(1 - ends) / 2 * one for one in inside]
    atoms = [ends / 2 * math.exp((least - (x - end) ** 2) / (2 * s * s)) for end in (1, -1)]
    total = inside[0] + sum(atoms)
    mean = (inside[1] + atoms[0] - atoms[1]) / total
    return mean, math.sqrt(max((inside[2] + sum(atoms)) / total - mean**2, 0))


@pytest.mark.claim("likely-correlation")
@pytest.mark.parametrize("covariance", [-30.0, 0.0, 2.0, 8.0, 40.0])
@pytest.mark.parametrize("deviation", [1.0, 5.0, 20.0])
@pytest.mark.parametrize("variances", [(10.0, 12.0), (3.0, 60.0), (0.5, 20.0)])
def test_the_posterior_is_the_integral_of_its_definition(covariance, deviation, variances):
    own, largest = (4.0, 6.0), 100.0
    matrix = np.array([[variances[0], covariance], [covariance, variances[1]]])
    spread = np.array([[own[0], deviation], [deviation, own[1]]])
    mean, uncertain = likely_correlations(matrix, spread, np.full(2, largest))
    assert (mean[0, 1], uncertain[0, 1]) == pytest.approx(
        by_integrals(covariance, deviation, variances, own, largest), abs=2e-6
    )
    assert mean[0, 0] == mean[1, 1] == 1
    # The mirrored table has the other sign, and a tenfold unit changes nothing.
    turned, _ = likely_correlations(matrix * np.array([[1, -1], [-1, 1]]), spread, np.full(2, largest))
    scaled, _ = likely_correlations(100 * matrix, 100 * spread, np.full(2, 100 * largest))
    assert turned[0, 1] == pytest.approx(-mean[0, 1], abs=1e-12)
    assert scaled[0, 1] == pytest.approx(mean[0, 1], abs=1e-12)


def cells_of(n, mean, deviation, correlation):
    """A count, Σu, Σ(2u² - 1) and Σ u v of two columns."""
    square, product = deviation**2 + mean**2, correlation * deviation**2 + mean**2
    return n * np.array([1, mean, mean, 2 * square - 1, product, 2 * square - 1])


def noise_of(epsilon, draws=4000):
    norm = make_norm(("moments 2",))
    made = 2 / epsilon * vector_noise(5, norm.parts, np.random.default_rng(1), (draws,), range(5))
    law = norm_law("moments", Terms.of(epsilon, rows=1000), 1, ("moments 2",))
    return np.insert(made, 0, 0.0, axis=1), np.insert(noise_variances((law,) * 5, (2,) * 5), 0, 0.0)


@pytest.mark.parametrize("n", [200, 500, 2000, 20_000])
def test_less_error_than_clipping_on_average_and_never_much_more(n):
    """On average over correlations, for two spreads and two means; in the worst case a third more RMSE, next to ±1."""
    noise, variances = noise_of(1)
    better, worse = [], []
    for deviation in (0.1, 0.3):
        for mean in (0.0, 0.5):
            squares = []
            for r in np.linspace(-0.99, 0.99, 13):
                noisy = cells_of(n, mean, deviation, r) + noise
                found = (correlations_of(noisy, one, "clip").reshape(-1, 2, 2)[:, 0, 1] for one in (variances, None))
                squares.append([((one - r) ** 2).mean() for one in found])
            likely, clipped = np.array(squares).T
            better.append(likely.mean() / clipped.mean())
            worse.append(math.sqrt((likely / clipped).max()))
    assert max(better) < 1.02
    assert max(worse) < 1.33
    if n <= 500:
        assert min(better) < 0.65


def test_without_noise_it_is_the_correlation_and_next_to_no_variance_it_is_nothing():
    cells = cells_of(1000, 0.2, 0.3, 0.7)
    assert correlations_of(cells, None, "clip")[1] == pytest.approx(0.7)
    assert correlations_of(cells, np.full(6, 1e-6), "clip")[1] == pytest.approx(0.7, abs=1e-6)
    empty = cells_of(1000, 0.2, 0.3, 0.7) - np.array([0, 0, 0, 400, 0, 0])
    assert correlations_of(empty, np.full(6, 25.0), "clip")[1] == 0


def test_settled_cells_have_the_released_correlation():
    cells, noise = cells_of(300, -0.3, 0.2, 0.6), np.array([0, 40, 40, 40, 30, 40.0])
    released = correlations_of(cells, noise, "clip")
    assert abs(released[1]) < 0.6
    assert correlations_of(settle(cells, noise, released), None, "clip") == pytest.approx(released)
    # Where noise decides, a number near to 0 is not taken for a sure one.
    assert posterior_deviations(cells, 1e4 * noise)[1] == pytest.approx(0.68, abs=0.05)


@pytest.mark.parametrize("block", ["moments 1", "moments 3", "moments 7", "counted moments 2", "selected moments 2"])
def test_variances_of_noise_are_those_of_draws(block):
    size, norm = Block.parse(block).dimension, make_norm((block,))
    law = norm_law("moments", Terms.of(1, rows=1000), 1, (block,))
    drawn = vector_noise(size, norm.parts, np.random.default_rng(2), (200_000,), range(size)) * float(law.spread)
    known = noise_variances((law,) * size, (1,) * size)
    assert (known / drawn.var(axis=0)).tolist() == pytest.approx([1] * size, abs=0.06)
    # Two blocks in one draw have more noise each, by the number of coordinates.
    both = norm_law("moments", Terms.of(1, rows=1000), 1, (block, "box 3"))
    places = tuple(range(size))
    more = noise_variances((both,) * size, (1,) * size, places)
    grown = (size + 4) * (size + 5) / (size + 1) / (size + 2) * float(both.spread / law.spread) ** 2
    assert (more / known).tolist() == pytest.approx([grown] * size)
