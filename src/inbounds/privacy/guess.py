"""A first guess in double precision at what `inbounds.privacy.exact` then proves in exact arithmetic.

A guess only decides how long the search takes; the search finds the same scale from any guess.
"""

from collections.abc import Callable
from fractions import Fraction
from math import exp, expm1, log1p


def guess_divisor(low: int, high: int, exponent: int, move: int, span: int | None, epsilon: Fraction) -> int:
    """About the largest divisor d from ``low`` on, below ``high``, whose truncated loss at the scale 2^exponent/d is at
    most ε."""
    most = float(epsilon)
    return last_that_holds(low, high, lambda divisor: _loss(divisor / (1 << exponent), move, span) <= most)


def _loss(unit: float, move: int, span: int | None) -> float:
    rest, whole = (1.0, 1.0) if span is None else (-expm1((move - span) * unit), -expm1(-(span + 1) * unit))
    return move * unit + log1p(exp(-unit) * -expm1(-move * unit) * rest / whole)


def last_that_holds(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The last number from ``low`` on, below ``high``, up to which something holds, by bisection."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
