"""Certified intervals: exponentials and logarithms of rationals, enclosed between rationals, in integers alone.

An `Interval` is a pair of dyadic rationals, numerators over 2^`PRECISION`-ish denominators, that is known to contain a
real number. Each operation rounds outwards. Nothing here uses floating point, so a comparison that
holds for the ends holds for the number.
"""

from dataclasses import dataclass
from fractions import Fraction

# Significant bits kept by each operation; results need far fewer.
PRECISION = 256


@dataclass(frozen=True, slots=True)
class Interval:
    """A real number known to lie in [lower, upper]."""

    lower: Fraction
    upper: Fraction

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise ValueError("lower must not exceed upper")

    def __add__(self, other: "Interval | Fraction | int") -> "Interval":
        other = as_interval(other)
        return _outward(self.lower + other.lower, self.upper + other.upper)

    __radd__ = __add__

    def __neg__(self) -> "Interval":
        return Interval(-self.upper, -self.lower)

    def __sub__(self, other: "Interval | Fraction | int") -> "Interval":
        return self + -as_interval(other)

    def __rsub__(self, other: "Fraction | int") -> "Interval":
        return as_interval(other) + -self

    def __mul__(self, other: "Interval | Fraction | int") -> "Interval":
        other = as_interval(other)
        if self.lower >= 0 and other.lower >= 0:
            return _outward(self.lower * other.lower, self.upper * other.upper)
        ends = [a * b for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return _outward(min(ends), max(ends))

    __rmul__ = __mul__

    def __truediv__(self, other: "Interval | Fraction | int") -> "Interval":
        other = as_interval(other)
        if other.lower <= 0:
            raise ZeroDivisionError("the divisor is not certified to be positive")
        return self * Interval(1 / other.upper, 1 / other.lower)

    def __rtruediv__(self, other: "Fraction | int") -> "Interval":
        return as_interval(other) / self


def as_interval(value: "Interval | Fraction | int") -> Interval:
    """A rational as the interval that holds only it."""
    return value if isinstance(value, Interval) else Interval(Fraction(value), Fraction(value))


def exp_minus(x: Fraction) -> Interval:
    """e^-x for a rational x ≥ 0, to about `PRECISION` significant bits (0 as lower end once below 2^-4096).

    e^-x = (e^-y)^(2^j) with y = x/2^j < 2^-8: a series, then j squarings.
    """
    if x < 0:
        raise ValueError("x must be >= 0")
    if x == 0:
        return as_interval(1)
    if x >= 2840:  # e^-2840 < 2^-4096
        return Interval(Fraction(0), Fraction(1, 1 << 4096))
    # Fixed point: as many bits more as the result has leading zeros (at most 1.5 x).
    bits = PRECISION + 3 * int(x) // 2
    halvings = max(0, _magnitude(x) + 9)
    bits += 2 * halvings + 16  # each squaring doubles the relative error
    low, high = _exp_series(x / (1 << halvings), bits)
    for _ in range(halvings):
        low, high = low * low >> bits, -(-high * high >> bits)
    return _outward(Fraction(low, 1 << bits), Fraction(high, 1 << bits))


def one_minus_exp(x: Fraction) -> Interval:
    """1 - e^-x for a rational x ≥ 0, to about `PRECISION` significant bits, also for the smallest x."""
    if x == 0:
        return as_interval(0)
    if x >= 200:  # e^-200 < 2^-288: more digits of it would not show
        return Interval(1 - Fraction(1, 1 << 288), Fraction(1))
    if x * 256 > 1:
        return 1 - exp_minus(x)
    # 1 - e^-x is about x: that many leading bits cancel and are added beforehand.
    bits = PRECISION + 16 - _magnitude(x)
    low, high = _exp_series(x, bits)
    return _outward(Fraction((1 << bits) - high, 1 << bits), Fraction((1 << bits) - low, 1 << bits))


def _exp_series(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers that enclose 2^bits e^-x for 0 ≤ x < 2^-7, by Taylor's series in fixed point."""
    reduced = (x.numerator << bits) // x.denominator
    term = total = 1 << bits
    k = 0
    while term:
        k += 1
        term = (term * reduced >> bits) // k
        total += term if k % 2 == 0 else -term
    # The argument and each of the k terms are off by less than two units, what is left out by less than one.
    slack = 2 * k + 4
    return max(total - slack, 0), total + slack


def _magnitude(x: Fraction) -> int:
    """An integer m with 2^(m-1) < x < 2^(m+1)."""
    return x.numerator.bit_length() - x.denominator.bit_length()


def log1p_interval(x: Interval) -> Interval:
    """log(1 + x) for 0 ≤ x ≤ 1: 2 artanh(x/(2+x)), a series of positive terms with a geometric remainder."""
    if x.lower < 0 or x.upper > 1:
        raise ValueError("x must lie in [0, 1]")
    if x.upper == 0:
        return x
    bits = PRECISION + 16 + max(0, -_magnitude(x.upper))
    return _outward(_log_series(x.lower, bits)[0], _log_series(x.upper, bits)[1])


def _log_series(x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """log(1 + x) enclosed, for a rational 0 ≤ x ≤ 1, in fixed point with ``bits`` bits after the point."""
    z = (x.numerator << bits) // (2 * x.denominator + x.numerator)
    square = z * z >> bits
    power, total, k = z, z, 1
    while power:
        power, k = power * square >> bits, k + 2
        total += power // k
    # z and each of the k/2 terms are rounded down, by less than three units together with what is carried on.
    return Fraction(2 * total, 1 << bits), Fraction(2 * (total + 3 * k), 1 << bits)


def _outward(lower: Fraction, upper: Fraction, bits: int = PRECISION) -> Interval:
    return Interval(_round(lower, bits, up=False), _round(upper, bits, up=True))


def _round(value: Fraction, bits: int, *, up: bool) -> Fraction:
    """Round to ``bits`` significant bits, up or down, so that numbers stay small."""
    numerator, denominator = value.numerator, value.denominator
    shift = bits - _magnitude(value)
    if shift >= 0:
        numerator <<= shift
    else:
        denominator <<= -shift
    whole = -(-numerator // denominator) if up else numerator // denominator
    return Fraction(whole, 1 << shift) if shift >= 0 else Fraction(whole << -shift)
