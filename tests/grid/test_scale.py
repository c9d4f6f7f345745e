"""Scales: the least one of its form that is no smaller than what was asked for, and clear words about the others."""

from fractions import Fraction

import pytest

from inbounds.grid.scale import LARGEST_EXPONENT, LARGEST_INDEX, Scale


@pytest.mark.parametrize("steps", [Fraction(5, 9), Fraction(1), Fraction(10), Fraction(2**30 + 1, 7), Fraction(3**20)])
def test_the_least_scale_of_its_form(steps):
    """No smaller; and smaller with one more in its divisor, written with 33 bits or so."""
    made = Scale.at_least(steps)
    assert made.steps >= steps
    finer = min(max(32 + steps.numerator.bit_length() - steps.denominator.bit_length(), 32), LARGEST_EXPONENT)
    assert made.exponent <= finer
    assert Fraction(1 << finer, (made.divisor << (finer - made.exponent)) + 1) < steps
    # In lowest terms, as far as the exponent allows.
    assert made.divisor % 2 or made.exponent == 6


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: Scale.at_least("1"), TypeError, "^steps must be"),
        (lambda: Scale.at_least(Fraction(0)), ValueError, "scale must be > 0 steps, got 0"),
        (
            lambda: Scale.at_least(Fraction(1 << 37)),
            ValueError,
            r"2\^37 steps is beyond 2\^36: .* so fine a grid; use a",
        ),
        (lambda: Scale.at_least(Fraction(1, 1 << 28)), ValueError, r"about 2\^-28 steps is too small; use a finer"),
        (lambda: Scale(5, 1), ValueError, r"6 <= a <= 56 and 0 < d < 2\^60, got 2\^5/1"),
        (lambda: Scale(57, 1), ValueError, r"got 2\^57/1"),
        (lambda: Scale(6, 0), ValueError, r"got 2\^6/0"),
        (lambda: Scale(6, LARGEST_INDEX), ValueError, "scale must be"),
        (lambda: Scale(-1, 1), ValueError, "exponent must be >= 0"),
        (lambda: Scale(6, -1), ValueError, "divisor must be >= 0"),
    ],
)
def test_other_scales_are_named(make, kind, words):
    with pytest.raises(kind, match=words):
        make()


def test_the_smallest_and_the_largest_are_scales():
    for exponent, divisor in ((6, 1), (56, 1), (6, LARGEST_INDEX - 1)):
        assert Scale(exponent, divisor).steps == Fraction(1 << exponent, divisor)
    assert Scale.at_least(Fraction(1 << 36)) == Scale(36, 1)
