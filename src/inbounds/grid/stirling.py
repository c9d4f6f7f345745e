"""Factorials of any size, enclosed: by Stirling's series with a certified rest, in integers alone."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import comb, prod

from inbounds.grid.interval import PRECISION, Interval, as_interval, log1p_interval

# From here on the series is exact to more than `PRECISION` bits before its terms grow again.
_LARGE = 64
# What is left of the series once its next term is this small.
_REST = Fraction(1, 1 << (PRECISION + 8))


# claim:log-factorial
def log_factorial(n: int) -> Interval:
    """log n! - ½ log 2π for n ≥ 0, to about `PRECISION` significant bits.

    Stirling's series is (n + ½) log n - n + Σ B_2k / (2k (2k-1) n^(2k-1)), k = 1, 2, ...; what a sum leaves out is of
    the sign of its next term, and smaller (DLMF 5.11.1, 5.11(ii)). A small n is shifted, n! = (n+64)!/((n+1)···(n+64)).
    The constant is left out: it cancels in a quotient with as many factorials above as below.
    """
    if n < _LARGE:
        return log_factorial(n + _LARGE) - log_integer(prod(range(n + 1, n + _LARGE + 1)))
    total = (n + Fraction(1, 2)) * log_integer(n) - n
    power, square, coefficients = Fraction(1, n), Fraction(1, n * n), iter(_coefficients(_REST))
    while abs(term := next(coefficients) * power) > _REST:
        total += term
        power *= square
    return total + Interval(min(term, Fraction(0)), max(term, Fraction(0)))


def log_integer(n: int) -> Interval:
    """log n for n ≥ 1: the logarithms of a power of two and of a number from 1 to 2."""
    size = n.bit_length() - 1
    return size * log1p_interval(as_interval(1)) + log1p_interval(as_interval(Fraction(n - (1 << size), 1 << size)))


@cache
def _coefficients(rest: Fraction) -> tuple[Fraction, ...]:
    """B_2k / (2k (2k-1)), k = 1, 2, ...: as many as the smallest n needs.

    All at once, since n may be drawn noise: how many were needed so far would tell how small it was.
    """
    numbers, coefficients, power = [Fraction(1), Fraction(-1, 2)], list[Fraction](), Fraction(1, _LARGE)
    while not coefficients or abs(coefficients[-1] * power) * _LARGE**2 > rest:
        n = len(numbers)
        numbers += [_bernoulli(n, numbers), Fraction(0)]
        coefficients.append(numbers[n] / (n * (n - 1)))
        power /= _LARGE**2
    return tuple(coefficients)


def _bernoulli(n: int, before: Sequence[Fraction]) -> Fraction:
    """B_n, with B_1 = -½, by their recursion."""
    return -sum((comb(n + 1, k) * number for k, number in enumerate(before)), Fraction(0)) / (n + 1)
