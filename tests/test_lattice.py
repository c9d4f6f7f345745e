"""Discrete Gaussian noise in doubles, against its certified law."""

from fractions import Fraction

import numpy as np
import pytest

from inbounds.expected import DiscreteGaussian
from inbounds.expected.lattice import lattice_moments, worst_moments
from inbounds.grid.gaussian import GaussianMechanism


@pytest.mark.claim("gaussian-doubles")
@pytest.mark.parametrize("variance", [Fraction(1, 50), Fraction(1, 4), Fraction(1), Fraction(77, 3), Fraction(10**6)])
def test_doubles_agree_with_the_certified_law(variance):
    law, noise = GaussianMechanism("unbounded", variance, None, None), DiscreteGaussian(float(variance) ** 0.5)
    other = DiscreteGaussian(float(variance) ** 0.5 * 1.01)
    places = sorted({round(x * float(variance) ** 0.5) for x in np.linspace(-6, 6, 25)})
    exact = [float(law.cumulative(k, 0).upper) for k in places]
    assert noise.cdf(places) == pytest.approx(exact, rel=1e-9, abs=1e-15)
    assert noise.density(places) == pytest.approx([float(law.probability(k, 0).upper) for k in places], rel=1e-9)
    assert other.cdf(places) != pytest.approx(exact, rel=1e-9, abs=1e-15) or variance == Fraction(1, 50)
    assert noise.cdf(-noise.reach) < 1e-16
    between = noise.cdf(np.linspace(-3, 3, 61))
    assert (np.diff(between) >= 0).all()
    assert between + noise.cdf(-np.linspace(-3, 3, 61) - 1) == pytest.approx(np.ones(61))


@pytest.mark.claim("gaussian-doubles")
@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(2), Fraction(77, 3)])
@pytest.mark.parametrize("ends", [(0, 9), (0, None), (None, 4), (None, None)])
def test_errors_agree_with_the_certified_moments(variance, ends):
    law = GaussianMechanism("bit", variance, *ends, Fraction(1, 10))
    noise = DiscreteGaussian(float(variance) ** 0.5)
    at = [k for k in range(-1, 11) if (ends[0] is None or k >= ends[0]) and (ends[1] is None or k <= ends[1])]
    rmse, bias = lattice_moments(noise, law, [law.value(k) for k in at])
    assert rmse**2 == pytest.approx([float(law.mse(k).upper) for k in at], rel=1e-9)
    assert bias == pytest.approx([float(law.bias(k).upper) for k in at], abs=1e-9)
    worst_rmse, worst_bias = worst_moments(noise, law)
    assert worst_rmse >= rmse.max() * (1 - 1e-12)
    assert worst_bias >= np.abs(bias).max() - 1e-15
    if None not in ends:
        assert worst_rmse == pytest.approx(rmse.max())


@pytest.mark.parametrize("scale", [0.3, 2.0, 5000.0])
def test_samples_have_the_right_spread(scale):
    drawn = DiscreteGaussian(scale).sample(np.random.default_rng(1), (20_000, 2))
    assert (drawn == np.rint(drawn)).all()
    true = (
        float(GaussianMechanism("unbounded", Fraction(scale) ** 2, None, None).mse(0).upper) if scale < 9 else scale**2
    )
    assert drawn.var() == pytest.approx(true, rel=0.1)
    rmse, _ = DiscreteGaussian(scale).clamped(np.zeros(1), -np.inf, np.inf)
    assert rmse[0] ** 2 == pytest.approx(true, rel=1e-3)
