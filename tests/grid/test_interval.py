"""Certified intervals really contain the number, and hardly anything else."""

from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inbounds.grid import interval
from inbounds.grid.interval import Interval, as_interval, exp_minus, log1p_interval, one_minus_exp
from tests.grid.exponentials import exp_lower

rationals = st.fractions(min_value=0, max_value=2000, max_denominator=10**12)


def contains(made: Interval, number: mp.mpf, tightness: int = 240) -> bool:
    low, high = (mp.mpf(end.numerator) / end.denominator for end in (made.lower, made.upper))
    return low <= number <= high and high - low <= abs(number) * mp.mpf(2) ** -tightness


def as_mp(x: Fraction) -> mp.mpf:
    return mp.mpf(x.numerator) / x.denominator


@given(rationals)
def test_exponentials(x):
    with mp.workdps(1200):
        assert contains(exp_minus(x), mp.exp(-as_mp(x)))
        assert contains(one_minus_exp(x), -mp.expm1(-as_mp(x)))


@given(st.integers(1, 200), st.integers(1, 10**6))
def test_one_minus_exp_of_tiny_numbers(shift, numerator):
    x = Fraction(numerator, 1 << (20 + shift))
    with mp.workdps(200):
        assert contains(one_minus_exp(x), -mp.expm1(-as_mp(x)))


@given(st.fractions(min_value=0, max_value=1, max_denominator=10**15))
def test_logarithms(x):
    with mp.workdps(150):
        assert contains(log1p_interval(as_interval(x)), mp.log1p(as_mp(x)))


@given(st.fractions(min_value=-50, max_value=50, max_denominator=10**6))
def test_a_lower_bound_of_an_exponential_is_one(x):
    with mp.workdps(150):
        assert mp.exp(as_mp(x)) * (1 - mp.mpf(2) ** -180) <= as_mp(exp_lower(x)) <= mp.exp(as_mp(x))


def test_a_slack_of_nothing_would_be_seen():
    """The check rejects an interval that is one part in 2^230 off."""
    with mp.workdps(150):
        right = exp_minus(Fraction(1, 3))
        shifted = Interval(right.lower * (1 + Fraction(1, 1 << 230)), right.upper * (1 + Fraction(1, 1 << 230)))
        assert contains(right, mp.exp(-mp.mpf(1) / 3))
        assert not contains(shifted, mp.exp(-mp.mpf(1) / 3))


@given(rationals, rationals, st.sampled_from("+-*/"))
def test_arithmetic_encloses(x, y, sign):
    a, b = exp_minus(x), exp_minus(y)
    with mp.workdps(1200):
        p, q = mp.exp(-as_mp(x)), mp.exp(-as_mp(y))
        result, want = {
            "+": (lambda: (a + b, p + q)),
            "-": (lambda: (a - b, p - q)),
            "*": (lambda: (a * b, p * q)),
            "/": (lambda: (a / b, p / q)),
        }[sign]()
        assert as_mp(result.lower) <= want <= as_mp(result.upper)


def test_products_of_both_signs():
    """The least and the largest product of two numbers, at ends that are exact."""
    ends = [Fraction(k, 4) for k in (-9, -2, 0, 3, 8)]
    intervals = [Interval(a, b) for a in ends for b in ends if a <= b]
    for one in intervals:
        for other in intervals:
            products = [a * b for a in (one.lower, one.upper) for b in (other.lower, other.upper)]
            assert one * other == Interval(min(products), max(products))


def test_what_is_exact_stays_so_and_what_is_huge_is_enclosed():
    assert exp_minus(Fraction(0)) == as_interval(1)
    assert one_minus_exp(Fraction(0)) == as_interval(0)
    assert log1p_interval(as_interval(0)) == as_interval(0)
    for huge in (Fraction(3**300), Fraction(-(3**300)), Fraction(3**400, 7)):
        total = as_interval(huge) + 1
        assert total.lower <= huge + 1 <= total.upper
        assert total.upper - total.lower <= abs(huge) / 2**250


@pytest.mark.parametrize("bits", [3, 8, 20])
def test_series_enclose_where_units_are_coarse(bits):
    """Few bits after the point: rounding that is counted too small would show."""
    with mp.workdps(40):
        for k in range(1, 200):
            x = Fraction(k, 128 * 200)
            low, high = interval._exp_series(x, bits)
            assert low <= mp.exp(-mp.mpf(k) / (128 * 200)) * 2**bits <= high
            lower, upper = interval._log_series(Fraction(k, 199), bits)
            exact = mp.log1p(mp.mpf(k) / 199)
            assert as_mp(lower) <= exact <= as_mp(upper)


def test_functions_enclose_with_little_precision(monkeypatch):
    monkeypatch.setattr(interval, "PRECISION", 4)
    functions = ((exp_minus, lambda x: mp.exp(-x)), (one_minus_exp, lambda x: -mp.expm1(-x)))
    functions += ((lambda x: log1p_interval(as_interval(x)), mp.log1p),)
    with mp.workdps(40):
        for ours, exact in functions:
            for k in range(1, 120):
                made, truth = ours(Fraction(k, 120)), exact(mp.mpf(k) / 120)
                assert as_mp(made.lower) <= truth <= as_mp(made.upper)


def test_what_vanishes_is_below_one_bound():
    assert exp_minus(Fraction(2840)) == exp_minus(Fraction(10**9)) == Interval(Fraction(0), Fraction(1, 1 << 4096))
    assert exp_minus(Fraction(28399, 10)).lower > 0


def test_refusals():
    with pytest.raises(ValueError, match="x must be >= 0"):
        exp_minus(Fraction(-1))
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        log1p_interval(as_interval(2))
    with pytest.raises(ZeroDivisionError, match="not certified"):
        as_interval(1) / Interval(Fraction(-1), Fraction(1))
    with pytest.raises(ValueError, match="lower must not exceed"):
        Interval(Fraction(1), Fraction(0))


def test_quotients_of_exact_ends():
    assert as_interval(6) / 3 == 6 / as_interval(3) == as_interval(2)
    assert 1 / Interval(Fraction(2), Fraction(4)) == Interval(Fraction(1, 4), Fraction(1, 2))
    assert Interval(Fraction(-8), Fraction(4)) / Interval(Fraction(2), Fraction(4)) == Interval(
        Fraction(-4), Fraction(2)
    )
    for lower in (-1, 0):
        with pytest.raises(ZeroDivisionError, match=r"^the divisor is not certified to be positive$"):
            as_interval(1) / Interval(Fraction(lower), Fraction(1))
    with pytest.raises(ValueError, match=r"^lower must not exceed upper$"):
        Interval(Fraction(1), Fraction(0))


@pytest.mark.parametrize("x", [199, 200, Fraction(2001, 10), 201, 5000])
def test_what_is_nearly_one_is_enclosed(x):
    """From 200 on one enclosure serves all, which e^-200 just fits into."""
    found = one_minus_exp(Fraction(x))
    with mp.workdps(3000):
        exact = 1 - mp.exp(-as_mp(Fraction(x)))
        assert as_mp(found.lower) <= exact <= as_mp(found.upper) <= 1
        assert as_mp(found.upper - found.lower) <= mp.mpf(2) ** -250
