"""Exact losses, grids and scales: never above ε, hardly below it, and clear about what does not fit."""

from decimal import Decimal
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inbounds import Laplace, Mechanism, _check, privacy_loss
from inbounds.grid.interval import as_interval
from inbounds.grid.scale import Scale
from inbounds.privacy import exact
from inbounds.privacy.exact import Grid, calibrate_scale, choose_grid, exact_loss, grid_mechanism

positive = st.fractions(min_value=Fraction(1, 10**6), max_value=20)


@pytest.mark.claim("grid-loss")
@given(st.integers(1, 10**9), st.integers(1, 10**12), st.integers(6, 40), st.integers(1, 2**20))
def test_the_closed_form_in_forty_digits(move, span, exponent, divisor):
    scale = Scale(exponent, divisor)
    loss = exact_loss("truncated", scale, move, span)
    with mp.workdps(120):
        unit = mp.mpf(divisor) / 2**exponent
        q, d = mp.exp(-unit), min(move, span)
        want = d * unit + mp.log((1 + q - q ** (d + 1) - q ** (span - d + 1)) / (1 - q ** (span + 1)))
        low, high = (mp.mpf(end.numerator) / end.denominator for end in (loss.lower, loss.upper))
        assert low - mp.mpf(10) ** -60 <= want <= high + mp.mpf(10) ** -60
        assert high - low <= want * mp.mpf(2) ** -150
    assert exact_loss("bit", scale, move, span).upper == Fraction(move * divisor, 1 << exponent)


@pytest.mark.claim("grid-loss")
def test_a_fine_grid_is_the_real_line():
    scale = Scale.at_least(Fraction(1 << 30))
    for move, span in ((1 << 28, 1 << 30), (1 << 20, 1 << 40), (1 << 31, None)):
        bounds = (0, float("inf")) if span is None else (0, span)
        continuous = privacy_loss(Mechanism(Laplace(float(1 << 30)), "truncated", bounds), move)
        assert float(exact_loss("truncated", scale, move, span).upper) == pytest.approx(continuous, rel=1e-8)


@pytest.mark.claim("grid-calibrate")
@settings(max_examples=150)
@given(positive, st.integers(1, 10**6), st.integers(1, 10**12), st.sampled_from(["bit", "truncated", "unbounded"]))
def test_calibrated_scales_keep_epsilon_and_waste_little(epsilon, move, span, bounding):
    for room in (span, None):
        if move / epsilon > 1 << 35:
            continue  # beyond the grid: the test below
        scale = calibrate_scale(bounding, move, room, epsilon)
        loss = exact_loss(bounding, scale, move, room).upper
        assert epsilon * (1 - Fraction(1, 1 << 19)) <= loss <= epsilon


@pytest.mark.claim("grid-calibrate")
@pytest.mark.parametrize("power", range(-12, 2))
def test_epsilon_on_a_log_grid(power):
    """From 1e-12 to 20, where elsewhere scales were rounded the wrong way or came out negative."""
    epsilon = Fraction(10) ** power * 2
    for bounding in ("bit", "truncated"):
        if epsilon * (1 << 36) < 1:
            with pytest.raises(ValueError, match="coarser step or a larger epsilon"):
                calibrate_scale(bounding, 1, 1000, epsilon)
        else:
            scale = calibrate_scale(bounding, 1, 1000, epsilon)
            assert scale.steps > 0
            assert exact_loss(bounding, scale, 1, 1000).upper <= epsilon
            # In lowest terms, so that one scale is not written in two ways.
            assert scale.divisor % 2 == 1 or scale.exponent == 6


@pytest.mark.claim("grid-calibrate")
def test_a_move_beyond_the_span_counts_as_the_span_for_truncation_alone():
    one = Fraction(1)
    assert calibrate_scale("truncated", 1000, 10, one) == calibrate_scale("truncated", 10, 10, one)
    assert 1000 <= calibrate_scale("bit", 1000, 10, one).steps < 1001
    # A move over the whole span costs what it costs without truncation.
    for span in (8, 10):
        assert calibrate_scale("truncated", span, span, one) == calibrate_scale("bit", span, span, one)
    mechanism = grid_mechanism("truncated", Grid(one, -50, 50, Fraction(0), 60), one)
    assert 1 - Fraction(1, 1 << 19) <= exact_loss("truncated", mechanism.scale, 60, 100).upper <= 1


@given(st.integers(2, 10**7), positive, st.sampled_from([(0, 1), (-3, 3), (10, 60)]))
def test_a_grid_for_means_and_variances_costs_nothing(n, epsilon, bounds):
    lower, upper = map(Fraction, bounds)
    width = upper - lower
    spread = width**2 * (n * n // 4) / (n * (n - 1))
    for low, high, sensitivity in ((lower, upper, width / n), (Fraction(0), spread, width**2 / n)):
        grid = choose_grid(low, high, sensitivity, epsilon)
        assert grid.origin == low
        assert grid.origin + grid.last * grid.step == high
        exact = min(sensitivity, high - low)
        # Tiny promises on awkward ratios get a coarser grid, for their scale to fit.
        slack = Fraction(1, 1 << 19) if epsilon > Fraction(1, 1 << 14) else Fraction(1, 1 << 10)
        assert exact <= grid.move * grid.step <= exact * (1 + slack)


def test_a_grid_is_as_fine_as_it_needs_to_be():
    """A scale of a million steps, and no rounding where the sensitivity can be a number of steps."""
    half, one = Fraction(1, 2), Fraction(1)
    grid = choose_grid(Fraction(0), one, Fraction(1, 1000), half)
    assert grid.move * grid.step == Fraction(1, 1000)
    assert 1 << 20 <= grid.move / half < 1 << 21
    assert choose_grid(Fraction(0), None, one, one).step == Fraction(1, 1 << 20)
    third = choose_grid(None, None, one, Fraction(1, 3))
    assert (third.origin, third.move * third.step) == (0, 1)
    assert choose_grid(Fraction(0), None, one, Fraction(1000)).step == Fraction(1, 1 << 28)
    assert choose_grid(Fraction(0), Fraction(1 << 60), one, one, step=one).last == 1 << 60
    # Rounded up to a 2^20th of the sensitivity, or more for a tiny promise.
    awkward = Fraction(1234567890123, 10**13)
    assert choose_grid(Fraction(0), one, awkward, one).last == -(-(1 << 20) // awkward)
    assert choose_grid(Fraction(0), one, awkward, Fraction(1, 1 << 25)).last == -(-(1 << 10) // awkward)
    with pytest.raises(ValueError, match="too small for any grid"):
        choose_grid(Fraction(0), one, awkward, Fraction(1, (1 << 25) + 1))


def test_counts_live_on_the_integers():
    grid = choose_grid(Fraction(0), None, Fraction(2), Fraction(1), step=Fraction(1))
    assert (grid.step, grid.first, grid.last, grid.move) == (1, 0, None, 2)
    mechanism = grid_mechanism("bit", grid, Fraction(1))
    assert mechanism.scale.steps == 2
    assert mechanism.value(7) == 7
    upper_only = choose_grid(None, Fraction(5), Fraction(1), Fraction(1), step=Fraction(1))
    assert (upper_only.first, upper_only.last, upper_only.origin) == (None, 0, 5)


def test_a_sensitivity_above_the_range_is_capped_only_for_a_location_inside():
    inside = choose_grid(Fraction(0), Fraction(1), Fraction(5), Fraction(1))
    assert inside.move == inside.last
    anywhere = choose_grid(Fraction(0), Fraction(1), Fraction(5), Fraction(1), location="anywhere")
    assert anywhere.move == 5 * anywhere.last


def test_numpy_integers_inside_fractions_do_not_wrap():
    """Fraction keeps NumPy's integers, whose products wrap at 64 bits: every entrance replaces them."""
    plain = Fraction(9824697, 901900)
    numpy = Fraction(np.int64(9824697), np.int64(901900))
    upper = Fraction(9824697, 100)
    grid = choose_grid(Fraction(0), upper, numpy, Fraction(2))
    assert grid == choose_grid(Fraction(0), upper, plain, Fraction(2))
    mechanism = grid_mechanism("bit", grid, Fraction(np.int64(2), np.int64(1)))
    assert mechanism.locate(Fraction(np.int64(2230912193661), np.int64(237584)) / 100) == mechanism.locate(
        Fraction(2230912193661, 23758400)
    )
    assert Scale(np.int64(20), np.int64(3)).steps.numerator.__class__ is int


def test_awkward_numbers_still_get_a_grid():
    grid = choose_grid(Fraction(0), Fraction(1), Fraction(1234567890123, 10**13), Fraction(1, 10**5))
    mechanism = grid_mechanism("truncated", grid, Fraction(1, 10**5))
    assert exact_loss("truncated", mechanism.scale, grid.move, mechanism.span).upper <= Fraction(1, 10**5)


def test_numbers_are_read_as_they_are_written():
    assert _check.fraction(0.1, "epsilon") == Fraction(1, 10)
    assert _check.fraction(np.float64(0.3), "epsilon") == Fraction(3, 10)
    assert _check.fraction(2, "epsilon") == 2
    assert _check.fraction(np.int64(3), "epsilon") == 3
    assert _check.fraction(Decimal("0.25"), "epsilon") == _check.fraction("1/4", "epsilon") == Fraction(1, 4)
    assert _check.fraction(Fraction(np.int64(1), np.int64(3)), "epsilon").denominator.__class__ is int
    for bad in (float("nan"), float("inf"), "a", "1/0", Decimal("inf"), "1e30000000", Decimal("1E+3000000"), "9" * 500):
        with pytest.raises(ValueError, match=r"epsilon must (be|have)"):
            _check.fraction(bad, "epsilon")
    with pytest.raises(TypeError, match="epsilon must be a real number"):
        _check.fraction(None, "epsilon")


F = Fraction


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: choose_grid(F(0), F(1), F(0), F(1)), "sensitivity must be > 0"),
        (lambda: choose_grid(F(0), F(1), F(-1), F(1)), "sensitivity must be > 0"),
        (lambda: choose_grid(F(1), F(0), F(1), F(1)), "bounds must satisfy lower < upper"),
        (lambda: choose_grid(F(1), F(1), F(1), F(1)), "bounds must satisfy lower < upper"),
        (lambda: choose_grid(F(0), F(1), F(1), F(0)), "epsilon must be > 0"),
        (lambda: choose_grid(F(0), F(1), F(1), F(1), step=F(0)), "step must be > 0"),
        (lambda: choose_grid(F(0), F(1), F(1), F(1), step=F(2, 7)), "does not divide"),
        (lambda: choose_grid(F(0), F(2**70), F(1), F(1), step=F(1)), r"more than 2\^60"),
        (lambda: choose_grid(F(0), F(2**70), F(1), F(1)), r"no grid of at most 2\^60 steps.*; use narrower bounds"),
        (lambda: calibrate_scale("bit", 1, 10, F(0)), "epsilon must be > 0"),
        (lambda: calibrate_scale("bit", 1, 10, F(1, 10**12)), "epsilon is too small for so fine a grid"),
        (lambda: calibrate_scale("bit", 0, 10, F(1)), "sensitivity in steps must be >= 1"),
        (lambda: exact_loss("clip", Scale(20, 1), 1, 10), "bounding must be one of"),
        (lambda: exact_loss("truncated", Scale(20, 1), 1, 0), "span must be >= 1"),
        (lambda: calibrate_scale("Truncated", 1, 10, F(1)), "bounding must be one of"),
        (
            lambda: choose_grid(F(0), F(1), F(1234567890123, 10**13), F(1, 10**9)),
            "^epsilon is too small for any grid here: use a larger one, or .* to the sensitivity is a simpler fraction",
        ),
        (lambda: choose_grid(F(0), F(1), F(1), F(1), location="here"), "location must be one of"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: exact_loss("bit", Scale(20, 1), 1.5, 10), "sensitivity in steps"),
        (lambda: exact_loss("bit", Scale(20, 1), 1, 1.5), "span"),
        (lambda: calibrate_scale("bit", 1.5, 10, F(1)), "sensitivity in steps"),
        (lambda: calibrate_scale("bit", 1, 1.5, F(1)), "span"),
        (lambda: calibrate_scale("bit", 1, 10, 0.5), "epsilon"),
        (lambda: choose_grid(0.5, F(1), F(1), F(1)), "lower"),
        (lambda: choose_grid(F(0), 0.5, F(1), F(1)), "upper"),
        (lambda: choose_grid(F(0), F(1), 0.5, F(1)), "sensitivity"),
        (lambda: choose_grid(F(0), F(1), F(1), 0.5), "epsilon"),
        (lambda: choose_grid(F(0), F(1), F(1), F(1), step=0.5), "step"),
    ],
)
def test_doubles_are_refused_by_name(call, name):
    with pytest.raises(TypeError, match=f"^{name} must be"):
        call()


@pytest.mark.claim("grid-loss")
@pytest.mark.parametrize(("move", "levels"), [(1, 1), (3, 1), (4, 2), (7, 3)])
def test_a_staircase_costs_whole_levels(move, levels):
    assert exact_loss("bit", Scale(10, 3), move, None, width=3).upper == levels * Fraction(3, 1 << 10)


@pytest.mark.claim("grid-calibrate")
@pytest.mark.parametrize("span", [None, 20])
@pytest.mark.parametrize("epsilon", [F(1, 3), F(1, 2), F(1), F(5, 7), F(9, 5), F(3), F(17, 3)])
def test_a_truncated_scale_is_the_least_of_its_form(epsilon, span):
    """Of divisors with as many bits as BIT's scale has at 33 bits; the next one would cost more than ε."""
    made, bit = calibrate_scale("truncated", 3, span, epsilon), Scale.at_least(3 / epsilon)
    exponent = bit.exponent + max(0, 33 - bit.divisor.bit_length())
    assert made.exponent <= exponent
    divisor = made.divisor << (exponent - made.exponent)
    assert exact_loss("truncated", Scale(exponent, divisor), 3, span).upper <= epsilon
    assert exact_loss("truncated", Scale(exponent, divisor + 1), 3, span).upper > epsilon


def test_a_grid_fits_as_far_as_indices_and_scales_do():
    """No rounding up to 2^60 steps between the bounds, and to a scale of 2^36 steps; beyond either, to 2^-20."""
    grid = choose_grid(F(0), F(1), F(3, 1 << 41), F(3, 2))
    assert (grid.last, grid.move) == (1 << 60, 3 << 19)
    assert choose_grid(F(0), F(1), F(1, 1 << 40), F(2)).last == 1 << 60
    for move in ((1 << 35) + 1, (1 << 36) - 1):
        grid = choose_grid(F(0), F(1), F(move, move + 2), F(1))
        assert (grid.last, grid.move) == (move + 2, move)
    for move in (1 << 36, (1 << 36) + 1, (1 << 37) - 1):
        assert choose_grid(F(0), F(1), F(move, move + 1), F(1)).last == (1 << 20) + 1
    # Of a location anywhere the sensitivity may be far above the width.
    far = choose_grid(F(0), F(1), F((1 << 37) + 3, 3), F(1), location="anywhere")
    assert (far.last, far.move) == (1, -(-((1 << 37) + 3) // 3))


def test_a_mechanism_is_on_its_grid():
    made = grid_mechanism("bit", Grid(F(1, 2), -3, 5, F(7), 2), F(1))
    assert (made.bounding, made.first, made.last, made.step, made.origin) == ("bit", -3, 5, F(1, 2), 7)
    assert made.scale.steps == 2


@pytest.mark.claim("grid-calibrate")
@pytest.mark.parametrize(
    "guess", [lambda low, *_: low, lambda _, high, *__: high - 1, lambda low, high, *_: (low + high) // 3 * 2]
)
def test_a_guess_decides_nothing(monkeypatch, guess):
    """Whatever doubles say, the scale is the same: two exact losses prove it, or it is searched for by them."""
    cases = [(move, span, Fraction(epsilon)) for move in (1, 7) for span in (None, 1000) for epsilon in ("1/3", "2")]
    exact._find_scale.cache_clear()
    expected = [calibrate_scale("truncated", *case) for case in cases]
    monkeypatch.setattr(exact, "guess_divisor", guess)
    exact._find_scale.cache_clear()
    assert [calibrate_scale("truncated", *case) for case in cases] == expected
    exact._find_scale.cache_clear()
    for (move, span, epsilon), scale in zip(cases, expected, strict=True):
        # The next divisor, at the fineness of the search, would cost more than ε.
        finer = Scale(
            scale.exponent + 40 - scale.divisor.bit_length(),
            (scale.divisor << (40 - scale.divisor.bit_length())) + (1 << 10),
        )
        assert (
            exact_loss("truncated", scale, move, span).upper
            <= epsilon
            < exact_loss("truncated", finer, move, span).upper
        )


@pytest.fixture
def own_loss(monkeypatch):
    """Another loss in place of the true one: so many times that of BIT."""

    def replace(times):
        monkeypatch.setattr(exact, "exact_loss", lambda _, scale, move, __: as_interval(times * F(move) / scale.steps))
        exact._find_scale.cache_clear()

    yield replace
    exact._find_scale.cache_clear()


@pytest.mark.claim("grid-calibrate")
def test_no_scale_is_returned_whose_loss_was_not_seen_to_hold(own_loss):
    """Truncation costs at most twice what BIT costs. If it cost more, there would be an error, not a scale."""
    own_loss(2)
    assert calibrate_scale("truncated", 1, None, F(1)) == Scale(6, 32)
    own_loss(F(17, 16))
    made = calibrate_scale("truncated", 1, None, F(1))
    assert made.steps >= F(17, 16) > made.steps * (1 - F(1, 1 << 31))
    own_loss(3)
    with pytest.raises(
        ValueError, match=r"^epsilon is too small for so fine a grid; use a coarser step or a larger ep"
    ):
        calibrate_scale("truncated", 1, None, F(1))
