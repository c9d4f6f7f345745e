"""The paper's statements about the laws, over many parameters, each with something it must reject."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inbounds import Laplace, Mechanism
from inbounds.lab.theory import statements as claims
from inbounds.lab.theory.statements import CLAIMS

RNG = np.random.default_rng(20)
BOUNDS = [(0.0, 1.0), (-3.0, 4.5), (10.0, 11.0)]
SCALES = [1e-3, 0.05, 0.4, 1.0, 7.0, 1e4]


def points(bounds):
    lower, upper = bounds
    return np.concatenate([RNG.uniform(lower, upper, 50), [lower, upper, (lower + upper) / 2]])


def everywhere(name):
    return [CLAIMS[name](scale, bounds, points(bounds)).all() for scale in SCALES for bounds in BOUNDS]


@pytest.mark.claim("bias-a")
def test_bias_a():
    assert all(everywhere("bias-a"))


@pytest.mark.claim("bias-b")
def test_bias_b():
    assert all(everywhere("bias-b"))


@pytest.mark.claim("bias-c")
def test_bias_c():
    assert all(everywhere("bias-c"))


@pytest.mark.claim("bias-one-sided")
@given(st.floats(1e-3, 1e3), st.floats(0, 20))
def test_bias_one_sided(scale, alpha):
    assert CLAIMS["bias-one-sided"](scale, 2.0, 2.0 + alpha * scale).all()


@pytest.mark.claim("mse-bound")
def test_mse_bound():
    assert all(everywhere("mse-bound"))
    # Attained, so the paper's strict inequality is not to be had; and void outside the bounds.
    assert Mechanism(Laplace(0.3), "truncated", (0, math.inf)).mse(0.0) == pytest.approx(2 * 0.3**2, rel=1e-15)
    assert not CLAIMS["mse-bound"](0.3, (0.0, 1.0), -5.0)


@pytest.mark.claim("mse-sharper")
@settings(max_examples=200)
@given(st.floats(1e-6, 1e6), st.floats(0, 1))
def test_mse_sharper(scale, s):
    assert CLAIMS["mse-sharper"](scale, (0.0, 1.0), s)
    # The limit is sharp: at a scale of 1e9 nothing is left of the difference.
    truncated = Mechanism(Laplace(1e9), "truncated", (0, 1))
    assert truncated.mse(s) == pytest.approx((s**3 + (1 - s) ** 3) / 3, rel=1e-8)


@pytest.mark.claim("limit-zero")
def test_limit_zero():
    assert CLAIMS["limit-zero"]((0.0, 1.0), np.linspace(0.1, 0.9, 17)).all()


@pytest.mark.claim("limit-infinity")
def test_limit_infinity():
    assert CLAIMS["limit-infinity"]((-3.0, 4.5), np.linspace(-3, 4.5, 17)).all()


@pytest.mark.claim("rate")
@pytest.mark.parametrize("k", [0.5, 1.0, 2.0])
def test_rate(k):
    n = 10 ** np.arange(1, 7)
    assert CLAIMS["rate"](1.0, k, 0.5, n, (0.0, 1.0), np.linspace(0, 1, 21)).all()
    # The rate is not better than stated: inside the bounds n^2k MSE reaches the limit.
    scale = 1e6**-k / 0.5
    limit = 2 / 0.5**2
    assert 1e6 ** (2 * k) * Mechanism(Laplace(scale), "bit", (0, 1)).mse(0.5) == pytest.approx(limit, rel=1e-6)


@pytest.mark.claim("consistency")
@pytest.mark.parametrize("theta", [0.02, 0.3, 0.5])
def test_consistency(theta):
    assert all(CLAIMS["consistency"](n, theta, 0.5).all() for n in (10, 100, 1000))


@pytest.mark.parametrize("name", ["bias-c", "mse-bound", "bias-b"])
def test_a_wrong_law_is_rejected(name, monkeypatch):
    """The misprinted upper atom of Def. 2(b), 1 - e^{-β}/2, must not pass for BIT."""

    def misprinted(scale, bounds):
        truncated = Mechanism(Laplace(scale), "truncated", bounds)

        class Misprinted:
            def bias(self, s):
                lower, upper = bounds
                bit = Mechanism(Laplace(scale), "bit", bounds)
                extra = 1 - np.exp(-(upper - s) / scale)
                return bit.bias(s) + extra * (upper - s) - 0 * lower

            def mse(self, s):
                extra = 1 - np.exp(-(bounds[1] - s) / scale)
                return Mechanism(Laplace(scale), "bit", bounds).mse(s) + extra * (bounds[1] - s) ** 2

        return truncated, Misprinted()

    monkeypatch.setattr(claims, "_pair", misprinted)
    assert not all(everywhere(name))
