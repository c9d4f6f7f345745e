"""Factorials of any size, enclosed: by Stirling's series with a certified rest, in integers alone."""

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
    power, square, k = Fraction(1, n), Fraction(1, n * n), 1
    while abs(term := _bernoulli(2 * k) * power / (2 * k * (2 * k - 1))) > _REST:
        total += term
        power, k = power * square, k + 1
    return total + Interval(min(term, Fraction(0)), max(term, Fraction(0)))


def log_integer(n: int) -> Interval:
    """log n for n ≥ 1: the logarithms of a power of two and of a number from 1 to 2."""
    size = n.bit_length() - 1
    return size * log1p_interval(as_interval(1)) + log1p_interval(as_interval(Fraction(n - (1 << size), 1 << size)))


@cache
def _bernoulli(n: int) -> Fraction:
    """B_n, with B_1 = -½, by their recursion."""
    if n == 0:
        return Fraction(1)
    return -sum((comb(n + 1, k) * _bernoulli(k) for k in range(n)), Fraction(0)) / (n + 1)
