"""Posteriors against brute force, and moment inversion against expectations."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

import inbounds as ib
from inbounds.inference import posterior, unbiased
from tests.inference.peers import binomial, released_pmf


def with_count(template, y, n):
    return replace(template, noisy=(Fraction(y, n),))


@pytest.mark.claim("posterior")
@pytest.mark.parametrize("bounding", ["bit", "truncated"])
@pytest.mark.parametrize("prior", [(1, 1), (2, 5), (0.5, 0.5), (900, 1), (1, 3000)])
def test_a_count_under_a_prior(prior, bounding):
    n = 50
    template = ib.proportion([1] * n, epsilon=0.2, bounding=bounding)
    pmf = released_pmf(n, float(template.certificate.spread * n), truncated=bounding == "truncated")
    k = np.arange(n + 1)
    weights = stats.betabinom.pmf(k, n, *prior)
    for y in (0, 3, 25, 50):
        mine = posterior(with_count(template, y, n), prior)
        given = pmf[y] * weights / (pmf[y] @ weights)
        assert mine.mean == pytest.approx(given @ k / n, abs=1e-10)
        assert mine.median == pytest.approx(k[np.searchsorted(np.cumsum(given), 0.5)] / n)
        assert given[(k >= n * mine.lower - 1e-6) & (k <= n * mine.upper + 1e-6)].sum() >= 0.95
        wide = posterior(with_count(template, y, n), prior, kind="population")
        expected = given @ ((k + prior[0]) / (n + sum(prior)))
        assert wide.mean == pytest.approx(expected, abs=1e-10)
        cdf = given @ stats.beta.cdf(wide.median, k + prior[0], n - k + prior[1])
        assert cdf == pytest.approx(0.5, abs=1e-8)


def test_the_posterior_mean_has_a_smaller_error_than_the_release():
    """The average over shares of squared errors, by enumeration at n = 50 and ε = 0.1: 0.226 without, 0.193 with it."""
    n, shares = 50, (np.arange(40) + 0.5) / 40
    template = ib.proportion([1] * n, epsilon=0.1)
    pmf = released_pmf(n, 10.0)
    means = np.array([posterior(with_count(template, y, n), kind="population").mean for y in range(n + 1)])
    released = np.arange(n + 1) / n
    errors = [[binomial(n, p) @ pmf.T @ (guess - p) ** 2 for p in shares] for guess in (released, means)]
    without, with_it = np.sqrt(np.mean(errors, axis=1))
    assert with_it < 0.87 * without


# Every released value under every prior, clamped and truncated in turn.
UNDER_PRIORS = [
    (released, prior, ("bit", "truncated")[(i + j) % 2])
    for i, released in enumerate([0.0, 0.07, 0.5, 1.0])
    for j, prior in enumerate([(2, 3), (700, 700), (40, 2), (0.5, 1)])
]


@pytest.mark.parametrize(("released", "prior", "bounding"), UNDER_PRIORS)
def test_a_number_under_a_prior(released, prior, bounding):
    template = ib.mean([0.5] * 20, bounds=(0, 1), epsilon=0.5, bounding=bounding)
    scale = float(template.certificate.spread)
    mine = posterior(replace(template, noisy=(Fraction(released),)), prior)
    law = ib.Mechanism(ib.Laplace(scale), bounding, bounds=(0, 1))

    def weight(s):
        atoms = law.atoms(at=s)
        at_end = bounding == "bit" and released in (0.0, 1.0)
        likelihood = float(atoms[int(released)]) if at_end else float(law.pdf(released, at=s))
        return likelihood * stats.beta.pdf(s, *prior)

    peaks = sorted({0.0, released, 0.4, 0.48, prior[0] / sum(prior), 0.52, 0.6, 0.9, 1.0, mine.median})

    def integral(f, top=1.0):
        return sum(integrate.quad(f, a, b, limit=200)[0] for a, b in itertools.pairwise(peaks) if b <= top)

    total, mean = integral(weight), integral(lambda s: s * weight(s)) / integral(weight)
    half = integral(weight, mine.median) / total
    assert mine.mean == pytest.approx(mean, abs=1e-6)
    assert half == pytest.approx(0.5, abs=5e-3)
    assert mine.lower <= mine.median <= mine.upper


def test_what_has_no_posterior_says_so():
    table = {"x": [0.1, 0.5], "y": [0.2, 0.9]}
    with pytest.raises(ValueError, match="one noisy number"):
        posterior(ib.covariance(table, bounds={"x": (0, 1), "y": (0, 1)}, epsilon=1))
    with pytest.raises(ValueError, match="no upper bound"):
        posterior(ib.count([1, 2], epsilon=1, neighbours="add-remove"))
    with pytest.raises(ValueError, match="counts and shares"):
        posterior(ib.mean([0.1], bounds=(0, 1), epsilon=1), kind="population")
    for prior in ((1, 0), (1, -1), "uniform", (1,), (1, float("nan")), (1, 1e9)):
        with pytest.raises((TypeError, ValueError), match="prior"):
            posterior(ib.mean([0.1], bounds=(0, 1), epsilon=1), prior)
    assert "posterior mean" in str(posterior(ib.mean([0.1], bounds=(0, 1), epsilon=1)))
    shares = posterior(ib.proportions(list("aab"), levels=list("ab"), epsilon=1))
    counts = posterior(ib.histogram(list("aab"), levels=list("ab"), epsilon=1))
    assert shares.mean.shape == counts.median.shape == (2,)
    assert (counts.median == counts.median.round()).all()


@pytest.mark.claim("unbiased")
@pytest.mark.parametrize("bounding", ["bit", "truncated"])
@pytest.mark.parametrize("true", [2, 11, 25, 44])
def test_what_is_released_on_average_is_turned_back(true, bounding):
    n = 50
    template = ib.count([1] * n, level=1, epsilon=0.3, bounding=bounding)
    pmf = released_pmf(n, float(template.certificate.spread), truncated=bounding == "truncated")
    mean = float(pmf[:, true] @ np.arange(n + 1))
    nearest = replace(template, noisy=(Fraction(round(mean)),))
    slope = pmf[:, true + 1] @ np.arange(n + 1) - mean
    assert unbiased(nearest) == pytest.approx(true + (round(mean) - mean) / slope, abs=0.05)


@pytest.mark.parametrize("bounding", ["bit", "truncated"])
def test_numbers_are_turned_back_too(bounding):
    template = ib.mean([0.5] * 30, bounds=(0, 1), epsilon=0.5, bounding=bounding)
    law = ib.Mechanism(ib.Laplace(float(template.certificate.spread)), bounding, bounds=(0, 1))
    for true in (0.02, 0.3, 0.9):
        released = Fraction(float(law.mean(true)))
        assert unbiased(replace(template, noisy=(released,))) == pytest.approx(true, abs=1e-6)
    assert unbiased(replace(template, noisy=(Fraction(0),))) == 0
    assert unbiased(replace(template, noisy=(Fraction(1),))) == 1


def test_noise_without_bounds_has_no_bias_to_turn_back():
    shares = ib.proportions(list("aabc"), levels=list("abc"), epsilon=1)
    assert unbiased(shares) == pytest.approx([float(x) / 4 for x in shares.noisy])
    with pytest.raises(ValueError, match="several noisy numbers"):
        unbiased(ib.mean([1.0, 2.0], bounds=(0, 3), epsilon=1, neighbours="add-remove"))


@pytest.mark.parametrize("place", [0, 100, 1990, 1e6])
def test_bounds_that_are_narrow_beside_their_place(place):
    """The posterior moves with the bounds; shares next to one are rounded to 0 or 1 there."""
    template = ib.mean([0.4] * 60, bounds=(0, 20), epsilon=1)
    moved = ib.mean([place + 0.4] * 60, bounds=(place, place + 20), epsilon=1)
    one, other = replace(template, noisy=(Fraction(4),)), replace(moved, noisy=(Fraction(place) + 4,))
    here, there = posterior(one), posterior(other)
    for name in ("mean", "median", "lower", "upper"):
        assert getattr(there, name) - place == pytest.approx(getattr(here, name), abs=1e-6)
