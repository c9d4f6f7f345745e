"""One contract for every noise × bounding pair, against quadrature, and what is special about a few."""

import math
from collections.abc import Iterator
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inbounds import Gaussian, GeneralizedGaussian, Laplace, Mechanism
from inbounds.laws import bounding
from tests.laws.reference import NOISES, Reference, random_case

QUANTITIES = ("mean", "bias", "variance", "mse")
CASES = 240


def disagreements(seed: int, count: int, tolerance: float = 1e-10) -> Iterator[str]:
    """Cases in which a moment differs from quadrature by more than the tolerance, relative to itself.

    Below 1e-18 of the noise's own size the reference, a difference of integrals, has no digits left.
    """
    rng = np.random.default_rng(seed)
    for _ in range(count):
        mechanism, s = random_case(rng)
        reference = Reference(mechanism, s).moments()
        for name in QUANTITIES:
            got, want = float(getattr(mechanism, name)(s)), reference[name]
            floor = 1e-18 * mechanism.noise.efold ** (1 if name in ("mean", "bias") else 2)
            if not abs(got - want) <= tolerance * abs(want) + floor:
                yield f"{name} of {mechanism} at {s!r}: {got} but {mp.nstr(want, 20)}"


@pytest.mark.parametrize("seed", range(8))
def test_moments_against_quadrature(seed):
    assert list(disagreements(seed, CASES // 8)) == []


@pytest.mark.parametrize("factor", [1 + 1e-9, 1 - 1e-9])
def test_the_comparison_sees_an_error_of_1e_9(factor, monkeypatch):
    original = Laplace.excess_moment
    monkeypatch.setattr(Laplace, "excess_moment", lambda self, k, t, w: original(self, k, t, w) * factor ** (k + 1))
    assert any(disagreements(0, 60))


def test_the_comparison_sees_the_misprinted_atom(monkeypatch):
    monkeypatch.setattr(bounding, "_weighted", lambda d, k, noise, at: np.where(np.isinf(d), 0, d**k * noise.cdf(at)))
    with np.errstate(invalid="ignore"):
        assert any(disagreements(1, 60))


@pytest.mark.parametrize("seed", range(4))
def test_cdf_against_quadrature_and_quantile_by_round_trip(seed):
    rng = np.random.default_rng(1000 + seed)
    for _ in range(60):
        mechanism, s = random_case(rng)
        u = float(rng.choice([rng.random(), 10 ** rng.uniform(-14, 0), 1 - 10 ** rng.uniform(-10, 0)]))
        x = float(mechanism.quantile(u, at=s))
        lower, upper = mechanism.bounds
        want = Reference(mechanism, s).cdf(x)
        got = float(mechanism.cdf(x, at=s))
        assert abs(got - want) <= 1e-10 * want + 1e-290
        # x is rounded to a double; what that can do to the cdf is the only slack.
        slack = 1e-10 * u + 4 * np.spacing(max(abs(x), abs(s))) * float(mechanism.pdf(x, at=s))
        if mechanism.bounding == "unbounded" or lower < x < upper:
            assert abs(got - u) <= slack, (mechanism, s, u, x)
        elif x == lower:
            assert got >= u - slack
        else:
            assert mechanism.cdf(np.nextafter(upper, lower), at=s) <= u + slack


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", ["bit", "truncated"])
def test_density_and_atoms_have_mass_one(noise, name):
    mechanism = Mechanism(NOISES[noise](0.3), name, (-1, 1))
    for s in (-1.2, -1.0, -0.2, 0.0, 0.9, 1.3):
        edges = np.unique(np.clip([s, *np.linspace(-1, 1, 201)], -1, 1))
        nodes, weights = np.polynomial.legendre.leggauss(20)
        mass = sum(
            (b - a) / 2 * weights @ mechanism.pdf((a + b) / 2 + (b - a) / 2 * nodes, at=s) for a, b in pairwise(edges)
        )
        assert mass + sum(mechanism.atoms(at=s)) == pytest.approx(1, rel=1e-10)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", ["bit", "truncated", "unbounded"])
def test_samples_follow_the_cdf(noise, name):
    """Kolmogorov distance of 40,000 draws below the 1e-10 quantile, and above it for a scale 10% off."""
    rng = np.random.default_rng(5)
    limit = math.sqrt(math.log(2 / 1e-10) / (2 * 40_000))
    law = Mechanism(NOISES[noise](0.5), name, (0, 1))
    wrong = Mechanism(NOISES[noise](0.3), name, (0, 1))
    for s in (0.0, 0.3, 1.2):
        draws = np.sort(law.sample(s, size=40_000, rng=rng))
        grid = np.linspace(-1, 2, 301)
        empirical = np.searchsorted(draws, grid, side="right") / draws.size
        assert np.abs(empirical - law.cdf(grid, at=s)).max() < limit
        assert np.abs(empirical - wrong.cdf(grid, at=s)).max() > limit
        assert name == "unbounded" or (draws.min() >= 0 and draws.max() <= 1)


@pytest.mark.parametrize("name", ["bit", "truncated"])
@pytest.mark.parametrize("scale", [1e-9, 1e-4, 0.1, 3.0, 1e9])
def test_the_closed_forms_of_laplace_are_the_general_path(name, scale):
    """GeneralizedGaussian of order one takes the quadrature path; Laplace its closed forms."""
    s = np.array([-0.7, 0.0, 1e-9, 0.2, 0.5, 0.5 + 1e-10, 1.0, 1.3])
    fast, general = (Mechanism(n, name, (0, 1)) for n in (Laplace(scale), GeneralizedGaussian(scale, 1)))
    for quantity in QUANTITIES:
        np.testing.assert_allclose(getattr(fast, quantity)(s), getattr(general, quantity)(s), rtol=1e-11, atol=1e-300)
    x = np.linspace(0, 1, 9)[:, None]
    np.testing.assert_allclose(fast.cdf(x, at=s), general.cdf(x, at=s), rtol=1e-11, atol=1e-300)


def test_gaussian_is_the_general_noise_of_order_two():
    z = np.linspace(-30, 30, 601)
    pair = Gaussian(1.7), GeneralizedGaussian(1.7 * math.sqrt(2), 2)
    for method in ("log_density", "cdf"):
        np.testing.assert_allclose(*(getattr(noise, method)(z) for noise in pair), rtol=1e-12)
    u = np.linspace(0.001, 0.999, 99)
    np.testing.assert_allclose(*(noise.quantile(u) for noise in pair), rtol=1e-11, atol=1e-15)
    assert pair[0].variance == pytest.approx(pair[1].variance, rel=1e-15)


def test_the_figures_of_the_text():
    """λ = 1e6, W = 1: textbook forms give an MSE of 299."""
    assert Mechanism(Laplace(1e6), "truncated", (0, 1)).mse(0.3) == pytest.approx(0.123333, abs=1e-6)


@pytest.mark.claim("worst-bias")
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", ["bit", "truncated", "unbounded"])
@pytest.mark.parametrize("scale", [1e-3, 0.1, 0.7, 30.0])
def test_worst_bias(noise, name, scale):
    mechanism = Mechanism(NOISES[noise](scale), name, (0, 1))
    bias = mechanism.bias(np.linspace(0, 1, 2001))
    assert mechanism.worst_bias() == pytest.approx(np.abs(bias).max(), rel=1e-12)
    assert (np.diff(bias) <= 1e-14).all()


@pytest.mark.claim("worst-mse")
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", ["bit", "truncated", "unbounded"])
@pytest.mark.parametrize("scale", [1e-3, 0.1, 0.3, 0.49, 0.7, 30.0])
def test_worst_mse(noise, name, scale):
    mechanism = Mechanism(NOISES[noise](scale), name, (0, 1))
    seen = mechanism.mse(np.linspace(0, 1, 20_001)).max()
    assert seen * (1 - 1e-13) <= mechanism.worst_mse() <= seen * (1 + 1e-5)


@pytest.mark.claim("worst-mse")
def test_worst_mse_of_bit_laplace_is_at_a_bound_or_in_the_middle():
    for scale in (0.05, 0.2, 0.4, 0.45, 0.5, 2.0):
        mechanism = Mechanism(Laplace(scale), "bit", (0, 1))
        assert mechanism.worst_mse() == pytest.approx(max(mechanism.mse(0.0), mechanism.mse(0.5)), rel=1e-12)
    assert Mechanism(Laplace(0.2), "bit", (0, math.inf)).worst_mse() == pytest.approx(2 * 0.2**2)


@settings(max_examples=300)
@given(
    st.sampled_from(sorted(NOISES)),
    st.sampled_from(["bit", "truncated", "unbounded"]),
    st.floats(-100, 100),
    st.floats(-1e100, 1e100),
    st.sampled_from(
        [(0.0, 1.0), (-1e-100, 1e100), (1.0, 1.0 + 1e-15), (0.0, math.inf), (-math.inf, 7.0), (-math.inf, math.inf)]
    ),
)
def test_nothing_valid_gives_nan(noise, name, log_scale, s, bounds):
    mechanism = Mechanism(NOISES[noise](10.0**log_scale), name, bounds)
    for quantity in QUANTITIES:
        assert not np.isnan(getattr(mechanism, quantity)(s))
    x = np.array([-math.inf, -1.0, 0.5, s, math.inf])
    assert not np.isnan(mechanism.quantile(np.array([0, 1e-300, 0.3, 1]), at=s)).any()
    assert not np.isnan(mechanism.cdf(x, at=s)).any()
    assert not np.isnan(mechanism.pdf(x, at=s)).any()
    assert not np.isnan(mechanism.atoms(at=s)).any()


def test_quantiles_far_in_the_tails():
    """u below 1e-16, 1 - u of one unit in the last place, mixed locations: found by an independent reading."""
    for bounds in ((0.0, 1.0), (-math.inf, 1.0)):
        mechanism = Mechanism(Gaussian(0.01), "truncated", bounds)
        for u in (1e-17, 1e-100, 1e-300):
            assert mechanism.quantile(u, at=0.5) == pytest.approx(0.5 + Gaussian(0.01).quantile(u), rel=1e-9)
    upper = Mechanism(Gaussian(1.0), "truncated", (0, math.inf)).quantile(1 - 2**-53, at=3.0)
    assert upper == pytest.approx(3 - Gaussian(1.0).quantile(2**-53), rel=1e-3)
    outside = Mechanism(Gaussian(0.1), "truncated", (0, 1))
    for u in (1e-17, 1e-60):
        x = outside.quantile(u, at=1.3)
        assert outside.cdf(x, at=1.3) == pytest.approx(u, rel=1e-9)
    mixed = Mechanism(GeneralizedGaussian(1.0, 4), "truncated", (0, math.inf)).quantile(0, [1, -1])
    assert mixed.tolist() == [0, 0]


def test_a_location_far_beyond_narrow_bounds():
    """The law does not reach its limit as long as the location is a scale away."""
    for scale, bounds, at in ((1.0, (0, 1e-31), 1.0), (1e35, (0, 1), 1e35)):
        atoms = Mechanism(Laplace(scale), "bit", bounds).atoms(at=at)
        assert atoms == pytest.approx((math.exp(-1) / 2, 1 - math.exp(-1) / 2), rel=1e-12)


def test_high_orders_do_not_underflow_next_to_the_centre():
    noise = GeneralizedGaussian(1.0, 60)
    density = 60 / (2 * math.gamma(1 / 60))
    assert noise.cdf(1.98e-6) - 0.5 == pytest.approx(1.98e-6 * density, rel=1e-9)
    assert noise.quantile(0.500001) == pytest.approx(1e-6 / density, rel=1e-9)
    mechanism = Mechanism(GeneralizedGaussian(661767.57, 60), "bit", (0, 1))
    tail = 0.5 - density / 661767.57
    assert mechanism.mse(0.0) == pytest.approx(density / 661767.57 / 3 + tail, rel=1e-12)


def test_everything_broadcasts():
    mechanism = Mechanism(Gaussian(0.2), "truncated", (0, 1))
    s, x = np.linspace(-0.5, 1.5, 5), np.linspace(0, 1, 3)[:, None]
    assert mechanism.cdf(x, at=s).shape == mechanism.pdf(x, at=s).shape == mechanism.quantile(x, at=s).shape == (3, 5)
    assert mechanism.sample(s, size=(4, 5), rng=np.random.default_rng(1)).shape == (4, 5)
    assert mechanism.bias(np.zeros((2, 0))).shape == (2, 0)
    assert isinstance(mechanism.mse(0), float)
    for i, j in np.ndindex(3, 5):
        assert mechanism.cdf(x, at=s)[i, j] == pytest.approx(mechanism.cdf(x[i, 0], at=s[j]), rel=1e-14)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: Laplace(0), ValueError, "scale must be finite and > 0, got 0.0"),
        (lambda: Laplace(math.nan), ValueError, "scale must be a number, got nan"),
        (lambda: Laplace(math.inf), ValueError, "scale must be finite"),
        (lambda: Gaussian(-1), ValueError, "scale must be finite and > 0, got -1.0"),
        (lambda: Laplace("1"), TypeError, "scale must be a real number, got '1'"),
        (lambda: Laplace(True), TypeError, "scale must be a real number"),
        (lambda: GeneralizedGaussian(1, 0), ValueError, "power must be >= 1, got 0"),
        (lambda: GeneralizedGaussian(1, 2.5), TypeError, "power must be an integer"),
        (lambda: Mechanism(Laplace(1), "clamp", (0, 1)), ValueError, "bounding must be one of 'bit'"),
        (lambda: Mechanism(0.1, "bit", (0, 1)), TypeError, "noise must be a noise"),
        (lambda: Mechanism(Laplace, "bit", (0, 1)), TypeError, "noise must be a noise"),
        (lambda: Mechanism(Laplace(1), "bit", (1, 0)), ValueError, "bounds must satisfy lower < upper"),
        (lambda: Mechanism(Laplace(1), "bit", (1, 1)), ValueError, "bounds must satisfy lower < upper"),
        (lambda: Mechanism(Laplace(1), "bit", (math.nan, 1)), ValueError, r"bounds\[0\] must be a number, got nan"),
        (lambda: Mechanism(Laplace(1), "bit", (math.inf, math.inf)), ValueError, "lower < upper"),
        (lambda: Mechanism(Laplace(1), "bit", (-1e308, 1e308)), ValueError, "finite distance apart"),
        (lambda: Mechanism(Laplace(1), "bit", (0, 1e200)), ValueError, "scale must lie between 1e-100 and 1e100"),
        (lambda: Mechanism(Laplace(1e-200), "bit", (0, 1)), ValueError, "scale must lie between 1e-100 and 1e100"),
        (lambda: LAW.mse(1e200), ValueError, "s must not exceed 1e100"),
        (lambda: Mechanism(Laplace(1), "bit", 3), TypeError, "bounds must be a pair"),
        (lambda: Mechanism(Laplace(1), "bit", (0, 1, 2)), TypeError, "bounds must be a pair"),
        (lambda: Mechanism(Laplace(1), "bit", "01"), TypeError, "bounds must be a pair"),
        (lambda: LAW.bias(math.nan), ValueError, "s must not hold nan"),
        (lambda: LAW.bias(math.inf), ValueError, "s must be finite"),
        (lambda: LAW.mse("a"), TypeError, "s must hold real numbers"),
        (lambda: LAW.mse([1, None]), TypeError, "s must hold real numbers"),
        (lambda: LAW.quantile(1.1, at=0), ValueError, r"u must lie in \[0, 1\]"),
        (lambda: LAW.quantile(-1e-9, at=0), ValueError, r"u must lie in \[0, 1\]"),
        (lambda: LAW.cdf(math.nan, at=0), ValueError, "x must not hold nan"),
        (lambda: LAW.cdf(0, at=math.inf), ValueError, "at must be finite"),
        (lambda: LAW.sample(0, rng=None), TypeError, "rng must be a numpy.random.Generator"),
        (lambda: Laplace(1).quantile(2), ValueError, r"u must lie in \[0, 1\]"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


LAW = Mechanism(Laplace(1), "bit", (0, 1))
