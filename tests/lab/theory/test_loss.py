"""The exact loss against brute force over pairs of true values and outputs."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inbounds import Gaussian, GeneralizedGaussian, Laplace, Mechanism, calibrate, privacy_loss

inf = math.inf
HIGHER = [Gaussian, lambda b: GeneralizedGaussian(b, 3), lambda b: GeneralizedGaussian(b, 8)]


def brute_force(mechanism: Mechanism, sensitivity: float) -> float:
    """Largest |log ratio| over a grid of (s, s', output) that holds the ends of everything, atoms included."""
    lower, upper = mechanism.bounds
    move = min(sensitivity, upper - lower)
    first = np.linspace(lower, upper - move, 201)
    second = np.minimum(first + move, upper)
    x = np.linspace(lower, upper, 151)[:, None]
    with np.errstate(divide="ignore"):
        worst = np.abs(np.log(mechanism.pdf(x, at=first)) - np.log(mechanism.pdf(x, at=second))).max()
        for one, other in zip(mechanism.atoms(at=first), mechanism.atoms(at=second), strict=True):
            if one.any():
                worst = max(worst, np.abs(np.log(one) - np.log(other)).max())
    return float(worst)


@pytest.mark.claim("loss-bit")
@pytest.mark.claim("loss-truncated")
@pytest.mark.parametrize("name", ["bit", "truncated", "unbounded"])
@pytest.mark.parametrize("scale", [0.02, 0.1, 0.7, 20.0])
@pytest.mark.parametrize("move", [0.001, 0.03, 0.4, 0.97, 1.0, 2.5])
def test_laplace_loss_is_the_brute_force_one(name, scale, move):
    mechanism = Mechanism(Laplace(scale), name, (-0.25, 0.75))
    assert privacy_loss(mechanism, move) == pytest.approx(brute_force(mechanism, move), rel=1e-9, abs=1e-12)
    # A negative control: the paper's value for truncation is seen to be wrong wherever it is.
    if name == "truncated" and move < 0.97 and scale < 1:
        assert privacy_loss(mechanism, move) > move / scale * 1.001


@pytest.mark.claim("loss-bit-higher-order")
@pytest.mark.claim("loss-truncated-higher-order")
@pytest.mark.parametrize("name", ["bit", "truncated"])
@pytest.mark.parametrize("make", HIGHER)
@pytest.mark.parametrize("scale", [0.5, 1.1, 3.0])
@pytest.mark.parametrize("move", [0.01, 0.3, 0.9, 1.0])
def test_higher_order_loss_is_the_brute_force_one_and_never_below(name, make, scale, move):
    mechanism = Mechanism(make(scale), name, (0, 1))
    want, got = brute_force(mechanism, move), privacy_loss(mechanism, move)
    # Brute force subtracts logarithms: 1e-13 is its own rounding.
    assert want - 1e-13 <= got <= want * (1 + 1e-9) + 1e-13


@pytest.mark.claim("loss-truncated-higher-order")
@given(st.integers(2, 9), st.floats(0.6, 5), st.floats(0.01, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_no_pair_beats_the_higher_order_loss(power, scale, move, where, distance, x):
    mechanism = Mechanism(GeneralizedGaussian(scale, power), "truncated", (0, 1))
    first = where * (1 - move)
    second = first + distance * move
    ratio = abs(math.log(mechanism.pdf(x, at=first)) - math.log(mechanism.pdf(x, at=second)))
    assert ratio <= privacy_loss(mechanism, move) + 1e-12


@pytest.mark.claim("loss-truncated")
@given(st.floats(1e-6, 50), st.floats(1e-6, 50))
def test_truncated_loss_lies_between_once_and_twice(move, scale):
    mechanism = Mechanism(Laplace(scale), "truncated", (0, 60))
    assert move / scale * (1 - 1e-12) <= privacy_loss(mechanism, move) <= 2 * move / scale * (1 + 1e-12)


def test_the_paper_calibration_shows_what_it_costs():
    """Truncation at λ = δ/ε, n = 1000: 0.191, 0.832, 1.490 in place of 0.1, 0.5, 1."""
    real = []
    for epsilon in (0.1, 0.5, 1.0):
        kwargs = {"bounds": (0, 1), "sensitivity": 1e-3, "epsilon": epsilon}
        real.append(privacy_loss(calibrate("laplace", "truncated", calibration="paper", **kwargs), 1e-3))
        # and BIT at the paper's scale is what it says
        bit = calibrate("laplace", "bit", calibration="paper", **kwargs)
        assert privacy_loss(bit, 1e-3) == pytest.approx(epsilon, rel=1e-15)
    assert [round(loss, 3) for loss in real] == [0.191, 0.832, 1.490]


def test_one_sided_truncation_has_its_closed_form():
    for epsilon in (0.1, 1.0, 3.0):
        mechanism = Mechanism(Laplace(0.2 / epsilon), "truncated", (0, inf))
        assert privacy_loss(mechanism, 0.2) == pytest.approx(epsilon + math.log(2 - math.exp(-epsilon)), rel=1e-14)


@pytest.mark.parametrize(
    "mechanism",
    [
        Mechanism(Gaussian(1), "unbounded", (0, 1)),
        Mechanism(Gaussian(1), "unbounded"),
        Mechanism(Gaussian(1), "bit", (0, inf)),
        Mechanism(Gaussian(1), "truncated", (0, inf)),
        Mechanism(GeneralizedGaussian(1, 3), "truncated", (-inf, 2)),
    ],
)
def test_no_pure_epsilon(mechanism):
    assert privacy_loss(mechanism, 0.1) == inf


def test_a_location_beyond_the_bounds():
    """Covariances are bounded by released variances and may lie outside: the range no longer caps the move."""
    bit = Mechanism(Laplace(1.0), "bit", (0, 1))
    assert privacy_loss(bit, 3.0) == 1.0
    assert privacy_loss(bit, 3.0, location="anywhere") == 3.0
    one, other = (bit.atoms(at=s)[1] for s in (-3.0, 0.0))
    assert math.log(other / one) == pytest.approx(3.0)
    truncated = Mechanism(Laplace(1.0), "truncated", (0, 1))
    assert privacy_loss(truncated, 3.0, location="anywhere") == privacy_loss(truncated, 3.0)
    assert privacy_loss(Mechanism(Gaussian(1), "bit", (0, 1)), 0.1, location="anywhere") == inf
    # and indeed without limit: the atom's ratio grows as the location moves out
    gaussian = Mechanism(Gaussian(1), "bit", (0, 1))
    ratios = [math.log(gaussian.atoms(at=s)[1] / gaussian.atoms(at=s - 0.1)[1]) for s in (0, -10, -20)]
    assert ratios[0] < 0.2 < 1 < ratios[1] < 2 < ratios[2]


@pytest.mark.parametrize("distance", [0.0, 3.0, 60.0])
@pytest.mark.parametrize("width", [1.0, 3.0])
def test_truncated_gaussian_anywhere(width, distance):
    mechanism = Mechanism(Gaussian(1.0), "truncated", (0, width))
    limit = privacy_loss(mechanism, 0.5, location="anywhere")
    assert limit == pytest.approx(0.5 * width)
    x = np.array([0.0, width])
    ratio = np.log(mechanism.pdf(x, at=-distance)) - np.log(mechanism.pdf(x, at=-distance - 0.5))
    assert np.abs(ratio).max() <= limit
    assert distance < 60 or np.abs(ratio).max() > 0.97 * limit


def test_truncation_with_both_sides_open_is_none():
    assert privacy_loss(Mechanism(Laplace(1.0), "truncated"), 1) == 1.0
    assert calibrate("laplace", "truncated", sensitivity=1, epsilon=1) == Mechanism(Laplace(1.0), "truncated")


def assert_the_closed_form(power, scale, width, move):
    """Against forty digits of the closed form at the lower bound."""
    got = privacy_loss(Mechanism(GeneralizedGaussian(scale, power), "truncated", (0, width)), move)
    with mp.workdps(40):
        b, w, d = mp.mpf(scale), mp.mpf(width), mp.mpf(move)
        mass = lambda t: mp.gammainc(mp.mpf(1) / power, 0, (t / b) ** power)  # noqa: E731
        want = (w / b) ** power - ((w - d) / b) ** power + mp.log(mass(w) / (mass(d) + mass(w - d)))
        assert want <= got <= want * (1 + mp.mpf("3e-11"))


@pytest.mark.claim("loss-truncated-higher-order")
@pytest.mark.parametrize("move", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("scale", [0.3, 0.8876])
@pytest.mark.parametrize("power", [2, 3])
def test_tiny_moves_keep_their_digits(power, scale, move):
    assert_the_closed_form(power, scale, 1, move)


@pytest.mark.claim("loss-truncated-higher-order")
@pytest.mark.parametrize(("power", "scale", "width", "move"), [(2, 1, 100, 60), (3, 1, 30, 20), (60, 1.5, 1, 0.9)])
def test_long_moves_and_high_orders_keep_theirs(power, scale, width, move):
    assert_the_closed_form(power, scale, width, move)


@pytest.mark.claim("loss-bit-higher-order")
@pytest.mark.parametrize(("width", "move"), [(1, 1e-6), (1, 1e-9), (3, 1e-12), (12, 12), (100, 60)])
def test_the_loss_of_an_atom_keeps_its_digits(width, move):
    """Against forty digits of the tail of the noise."""
    got = privacy_loss(Mechanism(Gaussian(1.0), "bit", (0, width)), move)
    with mp.workdps(40):
        tail = lambda z: mp.erfc(z / mp.sqrt(2))  # noqa: E731
        want = mp.log(tail(width - mp.mpf(move))) - mp.log(tail(mp.mpf(width)))
        assert want <= got <= want * (1 + mp.mpf("3e-11"))


def test_no_overflow():
    assert privacy_loss(Mechanism(GeneralizedGaussian(1.0, 60), "truncated", (0, 2e5)), 0.01) > 1e200
    assert calibrate(
        "generalized-gaussian", "truncated", power=60, bounds=(0, 1e6), sensitivity=1, epsilon=1
    ).noise.scale == pytest.approx(6e5, rel=0.5)


def test_losses_add_up_along_a_move():
    mechanism = Mechanism(Laplace(0.01), "truncated", (0, 1))
    one = privacy_loss(mechanism, 0.01)
    assert privacy_loss(mechanism, moves=[0.01, -0.01, 0]) == pytest.approx(2 * one, rel=1e-15)
    assert privacy_loss(mechanism, moves=np.array([0.01])) == one


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda m: privacy_loss(m), TypeError, "either sensitivity"),
        (lambda m: privacy_loss(m, 1, moves=[1]), TypeError, "either sensitivity"),
        (lambda m: privacy_loss(m, 0), ValueError, "sensitivity must be finite and > 0, got 0.0"),
        (lambda m: privacy_loss(m, -1), ValueError, "sensitivity must be finite and > 0"),
        (lambda m: privacy_loss(m, math.nan), ValueError, "sensitivity must be a number, got nan"),
        (lambda m: privacy_loss(m, inf), ValueError, "sensitivity must be finite"),
        (lambda m: privacy_loss(m, "1"), TypeError, "sensitivity must be a real number"),
        (lambda m: privacy_loss(m, moves=[]), ValueError, "moves must have at least one"),
        (lambda m: privacy_loss(m, moves=[0, 0]), ValueError, "moves must have at least one"),
        (lambda m: privacy_loss(m, moves=[1, math.nan]), ValueError, r"moves\[1\] must be a number"),
        (lambda m: privacy_loss(m, moves="12"), TypeError, "moves must be a sequence"),
        (lambda m: privacy_loss(m, moves=3), TypeError, "moves must be a sequence"),
        (lambda m: privacy_loss(m.noise, 1), TypeError, "mechanism must be a Mechanism"),
        (lambda m: privacy_loss(m, 1, location="outside"), ValueError, "location must be one of"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call(Mechanism(Laplace(1), "bit", (0, 1)))
