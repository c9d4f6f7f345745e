"""The noise families alone: partial moments, quantiles and excess moments against quadrature."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import mpmath as mp
import numpy as np
import pytest

from inbounds import GeneralizedGaussian, Laplace
from inbounds.laws import least_variance, partial_moment
from inbounds.privacy.terms import Terms
from inbounds.statistics import Mean
from tests.laws.reference import NOISES, exact_density


def exact_partial_moment(noise, order, low, high):
    efold, power, peak = exact_density(noise)
    points = sorted({mp.mpf(low), mp.mpf(high), *(k * efold for k in range(-12, 13) if low < k * efold < high)})
    return mp.quad(lambda z: z**order * peak * mp.exp(-((abs(z) / efold) ** power)), points)


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize(
    ("low", "high"),
    [(-1, 2), (-2, 1), (-1.5, 1.5), (0, 1e-3), (0.4, 0.400001), (-0.4, -0.3), (2, 3), (-3, -2), (-1e-9, 1e-9)],
)
def test_partial_moments(name, order, low, high):
    noise = NOISES[name](0.7)
    with mp.workdps(40):
        want = exact_partial_moment(noise, order, low, high)
        assert abs(partial_moment(noise, order, low, high) - want) <= 1e-12 * abs(want) + 1e-25 * 0.7**order


@pytest.mark.parametrize("name", NOISES)
def test_partial_moments_of_the_whole_line(name):
    noise = NOISES[name](0.7)
    whole = [float(partial_moment(noise, k, -math.inf, math.inf)) for k in range(3)]
    assert whole == pytest.approx([1, 0, noise.variance], rel=1e-13)
    assert partial_moment(noise, 0, 5.0, 5.0) == 0


@pytest.mark.parametrize("name", [*NOISES, "gg40"])
def test_quantile_and_cdf_undo_each_other(name):
    noise = GeneralizedGaussian(0.7, 40) if name == "gg40" else NOISES[name](0.7)
    u = np.concatenate([10.0 ** np.arange(-300, 0, 7), np.linspace(0.01, 0.99, 99), 1 - 10.0 ** np.arange(-9, -1)])
    np.testing.assert_allclose(noise.cdf(noise.quantile(u)), u, rtol=1e-11)
    assert noise.quantile(0.0) == -math.inf
    assert noise.quantile(1.0) == math.inf
    assert noise.quantile(0.5) == 0


@pytest.mark.parametrize("power", [1, 2, 3, 7, 20, 60])
def test_excess_moments(power):
    """Against quadrature in forty digits, from starts on both sides of the efold and into the far tail."""
    noise = GeneralizedGaussian(1.0, power)
    for start in (1e-6, 0.3, 0.97, 1.0, 1.2, 3.0):
        for width in (1e-9, 0.05, 1.0, 50.0, math.inf):
            with mp.workdps(60):
                # In units of the local e-folding, so that mpmath's absolute stopping rule means something.
                t = mp.mpf(start)
                unit = min(mp.mpf(width), 1 / (power * t ** (power - 1)), 1)
                cuts = [min(mp.mpf(width) / unit, k) for k in (0, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128)]
                # All orders are asked for at the same points.
                density = cache(lambda y, t=t, unit=unit: mp.exp(t**power - (t + unit * y) ** power))
                for order in range(3):

                    def integrand(y, order=order, density=density):
                        return y**order * density(y)

                    want = unit ** (order + 1) * mp.quad(integrand, sorted(set(cuts)), method="gauss-legendre")
                    got = noise.excess_moment(order, start, width)
                    assert abs(got - want) <= 3e-12 * want, (start, width, order)


@pytest.mark.parametrize("noise", [Laplace(2.0), GeneralizedGaussian(2.0, 2), GeneralizedGaussian(2.0, 5)])
def test_excess_quantiles(noise):
    u = np.array([0.0, 1e-12, 0.2, 0.5, 0.9, 1 - 1e-9, 1.0])
    for start in (0.0, 0.5, 4.0, 30.0):
        for width in (1e-3, 1.0, 40.0):
            v = noise.excess_quantile(u, start, width)
            share = noise.excess_moment(0, start, v) / noise.excess_moment(0, start, width)
            np.testing.assert_allclose(share, u, rtol=1e-11)
            assert (np.diff(v) >= 0).all()
            assert v[-1] <= width


def test_bad_partial_moments_are_named():
    with pytest.raises(ValueError, match="order must be 0, 1 or 2"):
        partial_moment(Laplace(1), 3, 0, 1)
    with pytest.raises(ValueError, match="lower must not exceed upper"):
        partial_moment(Laplace(1), 0, 1, 0)


@pytest.mark.claim("least-variance")
def test_the_least_variance_of_one_number_is_that_of_its_release():
    """Against the noise that a release of a mean really has, with and without levels; a little less is not had."""
    for epsilon in (0.1, 1, 1.5, 1.6, 2, 4, 8):
        draft = Mean("x", (0, 1), method="direct").draft(Terms.of(epsilon, rows=1000)).record.certificate
        law = replace(draft.grid, bounding="unbounded")
        moved = float(draft.sensitivity)
        measured = float(law.mse(law.locate(Fraction(1, 2))).upper) / moved**2
        assert least_variance(epsilon) == pytest.approx(measured, rel=2e-3)
    assert least_variance(4) < 0.6 * 2 / 4**2
