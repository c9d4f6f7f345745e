"""Intervals by inverting exact tests.

A family is the law of a released number S as a function of one parameter θ, and increases with it. For a released y
let L(θ) = P(S ≤ y | θ) and U(θ) = P(S ≥ y | θ). The equal-tailed interval (Clopper and Pearson) has the θ for which
both exceed α/2. Blaker (2000) adds to the smaller tail the largest *attainable* opposite tail that does not exceed it,
and keeps the θ for which the sum exceeds α. This set also covers with probability at least 1 - α for every θ, lies
inside the other, and is much shorter if there are atoms at the bounds: there the opposite tail cannot be attained, so
all of α goes to one side.

Truncated noise has no atoms. If a released value is close to a bound, equal tails would exclude every θ and leave an
empty set. So for truncated noise θ is kept if P(|S - centre(θ)| ≥ |y - centre(θ)| | θ) > α, that is, if the released
value is not among the α farthest from θ. This covers as well, has the same tails away from the bounds, and is never
empty, because the distance of y from its own θ is zero (Awan and Slavković 2020 use it for unbounded noise).

H. Blaker, Confidence curves and improved exact confidence intervals for discrete distributions,
Can. J. Stat. 28 (2000).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from inbounds.inference.roots import bracket_root


class Family(Protocol):
    """Laws that increase with θ in [lowest, highest], both finite.

    ``first`` is the smallest value that can be released (-inf if there is none), ``last`` the largest. ``step`` is 1
    for integers and 0 for real numbers. A family of integers may also have step 0 if its steps are too small to matter.
    Then its intervals are slightly wider, never too short.
    """

    @property
    def lowest(self) -> float: ...
    @property
    def highest(self) -> float: ...
    @property
    def first(self) -> float: ...
    @property
    def last(self) -> float: ...
    @property
    def step(self) -> int: ...
    @property
    def truncated(self) -> bool: ...
    def at_most(self, y: float, theta: float) -> float: ...
    def below(self, y: float, theta: float) -> float: ...
    def atoms(self, theta: float) -> tuple[float, float]:
        """Lower bounds of P(S = first) and P(S = last)."""

    def centre(self, theta: float) -> float:
        """The value of S that corresponds to θ."""


@dataclass(frozen=True, slots=True)
class _Mirrored:
    """The family of -S as a function of -θ."""

    family: Family

    @property
    def lowest(self) -> float:
        return -self.family.highest

    @property
    def highest(self) -> float:
        return -self.family.lowest

    @property
    def first(self) -> float:
        return -self.family.last

    @property
    def last(self) -> float:
        return -self.family.first

    @property
    def step(self) -> int:
        return self.family.step

    def at_most(self, y: float, theta: float) -> float:
        return 1 - self.family.below(-y, -theta)

    def below(self, y: float, theta: float) -> float:
        return 1 - self.family.at_most(-y, -theta)

    @property
    def truncated(self) -> bool:
        return self.family.truncated

    def atoms(self, theta: float) -> tuple[float, float]:
        first, last = self.family.atoms(-theta)
        return last, first

    def centre(self, theta: float) -> float:
        return -self.family.centre(-theta)


# claim:exact-inversion
def interval(family: Family, y: float, alpha: float) -> tuple[float, float]:
    """The interval of θ that is consistent with y at level 1 - alpha.

    It covers every θ with at least that probability. The ends are moved outwards by about 1e-12 of the searched range.
    """
    limit = _nearest_limit if family.truncated else _lower_limit
    lower = limit(family, y, alpha)
    upper = -limit(_Mirrored(family), -y, alpha)
    return lower, max(lower, upper)


def lower_bound(family: Family, y: float, alpha: float) -> float:
    """The one-sided limit below which P(S ≥ y | θ) ≤ alpha."""
    return _tail_root(family, y, alpha)


def upper_bound(family: Family, y: float, alpha: float) -> float:
    """The one-sided limit above which P(S ≤ y | θ) ≤ alpha."""
    return -_tail_root(_Mirrored(family), -y, alpha)


def _tail_root(family: Family, y: float, tail: float) -> float:
    """The smallest θ with P(S ≥ y | θ) ≥ tail."""
    return _crossing(lambda theta: 1 - family.below(y, theta) - tail, family.lowest, family.highest)


def _nearest_limit(family: Family, y: float, alpha: float) -> float:
    """The smallest θ for which y is not among the alpha farthest values."""

    def excess(theta: float) -> float:
        opposite = 2 * family.centre(theta) - y
        return 1 - family.below(y, theta) + _between(family, opposite, theta) - alpha

    at = _crossing(lambda theta: family.centre(theta) - y, family.lowest, family.highest)
    return _crossing(excess, family.lowest, at)


def _between(family: Family, x: float, theta: float) -> float:
    """P(S ≤ x), interpolated linearly between integers. It has no jumps and is never smaller."""
    if not family.step:
        return family.at_most(x, theta)
    floor = math.floor(x)
    below, above = family.at_most(floor, theta), family.at_most(floor + 1, theta)
    return below + (x - floor) * (above - below)


def _lower_limit(family: Family, y: float, alpha: float) -> float:
    @cache
    def upper_tail(theta: float) -> float:
        return 1 - family.below(y, theta)

    start = _crossing(lambda theta: upper_tail(theta) - alpha / 2, family.lowest, family.highest)
    if start >= family.highest or (tail := upper_tail(start)) >= alpha:
        return start
    if not family.step:
        # Any opposite tail can be attained, except those smaller than an atom at the lower bound.
        if not math.isfinite(family.first):
            return start
        return _crossing(lambda theta: upper_tail(theta) - min(family.atoms(theta)[0], alpha), start, family.highest)
    smaller = _last_not_above(family, start, tail)
    if smaller is not None and family.at_most(smaller, start) + tail > alpha:
        return start
    # The next value joins the opposite tail once that tail is at most the tail of y, or the tail of y is alpha itself.
    following = family.first if smaller is None else smaller + 1

    def joining(theta: float) -> float:
        return upper_tail(theta) - min(family.at_most(following, theta), alpha)

    joined = _crossing(joining, start, family.highest)
    if smaller is None:
        return joined
    last = smaller

    # Until then the sum of both tails is convex, and at most alpha at the start: it exceeds alpha at the end or never.
    def excess(theta: float) -> float:
        return upper_tail(theta) + family.at_most(last, theta) - alpha

    return _crossing(excess, start, joined)


def _last_not_above(family: Family, theta: float, tail: float) -> float | None:
    """The largest integer j with P(S ≤ j | θ) ≤ tail; None if there is none."""
    if math.isfinite(family.first) and family.at_most(family.first, theta) > tail:
        return None
    low, width = family.first if math.isfinite(family.first) else -1.0, 1.0
    while family.at_most(low, theta) > tail:
        low -= width
        width *= 2
    width = 1.0
    while family.at_most(low + width, theta) <= tail:
        low += width
        width *= 2
    high = low + width
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if family.at_most(middle, theta) <= tail else (low, middle)
    return low


def _crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """A point just below where a function becomes positive: ``low`` if it always is, ``high`` if it never is."""
    if (at_low := function(low)) > 0:
        return low
    if (at_high := function(high)) <= 0:
        return high
    hair = 1e-12 * max(high - low, 1e-12 * abs(high))
    below, _ = bracket_root(function, low, high, hair, ends=(at_low, at_high))
    return max(low, below - hair)
