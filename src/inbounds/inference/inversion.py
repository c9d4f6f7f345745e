"""Intervals by inverting exact tests.

A family is the law of a released number as a function of one parameter θ, and moves up with it. For a released y write
L(θ) = P(S ≤ y | θ) and U(θ) = P(S ≥ y | θ). The equal-tailed interval (Clopper and Pearson) is where both exceed α/2.
Blaker (2000) adds to the smaller tail the largest *attainable* opposite tail that does not exceed it, and keeps θ where
the sum exceeds α. That set covers with probability at least 1 - α for every θ too, lies inside the other, and is much
shorter where bounds hold atoms: there the opposite tail cannot be attained, so that all of α goes to one side.

Truncation has no atoms. Near a bound equal tails would speak against every θ once a released value is close to it, and
leave nothing. There a θ is kept where L(θ) > α τ(θ) and U(θ) > α (1 - τ(θ)), with a share τ that rises from 0 at the
lowest θ over ½ away from the bounds to 1 at the highest: it covers as well, and is never empty.

H. Blaker, Confidence curves and improved exact confidence intervals for discrete distributions,
Can. J. Stat. 28 (2000).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import scipy


class Family(Protocol):
    """Laws that move up with θ in [lowest, highest], both finite.

    ``first`` is the least value that can be released (-inf if there is none), ``last`` the largest. ``step`` is 1 for
    integers and 0 for numbers without gaps; a family of integers may say 0 where its steps are too small to matter:
    then its intervals are a little wider, never too short.
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
    def at_most(self, y: float, theta: float) -> float: ...
    def below(self, y: float, theta: float) -> float: ...
    def beyond(self, theta: float) -> tuple[float, float] | None:
        """For truncation: what the noise alone would put below and above the bounds. None for other laws."""


@dataclass(frozen=True, slots=True)
class _Mirrored:
    """A family seen from the other side."""

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

    def beyond(self, theta: float) -> tuple[float, float] | None:
        masses = self.family.beyond(-theta)
        return None if masses is None else (masses[1], masses[0])


def interval(family: Family, y: float, alpha: float) -> tuple[float, float]:
    """claim:exact-inversion. The parameters that y does not speak against, at level 1 - alpha.

    Covers with at least that probability at every θ; ends are moved outwards by about 1e-12 of the range searched.
    """
    limit = _lower_limit if family.beyond(family.lowest) is None else _shared_limit
    lower = limit(family, y, alpha)
    upper = -limit(_Mirrored(family), -y, alpha)
    return lower, max(lower, upper)


def lower_bound(family: Family, y: float, alpha: float) -> float:
    """The one-sided limit: θ below it have P(S ≥ y | θ) ≤ alpha."""
    return _tail_root(family, y, alpha)


def upper_bound(family: Family, y: float, alpha: float) -> float:
    """The one-sided limit: θ above it have P(S ≤ y | θ) ≤ alpha."""
    return -_tail_root(_Mirrored(family), -y, alpha)


def _tail_root(family: Family, y: float, tail: float) -> float:
    """The least θ with P(S ≥ y | θ) ≥ tail."""
    return _crossing(lambda theta: 1 - family.below(y, theta) - tail, family.lowest, family.highest)


def _shared_limit(family: Family, y: float, alpha: float) -> float:
    """The lower limit with a share of alpha for each tail that depends on θ."""

    def excess(theta: float) -> float:
        return 1 - family.below(y, theta) - alpha * (1 - _share_below(family, theta, alpha))

    return _crossing(excess, family.lowest, family.highest)


def _share_below(family: Family, theta: float, alpha: float) -> float:
    """The share τ of alpha for the lower tail: next to nothing where alpha of the noise would fall below the bounds."""
    below, above = family.beyond(theta) or (0.0, 0.0)
    room_below, room_above = max(1 - below / alpha, 0.0), max(1 - above / alpha, 0.0)
    place = (theta - family.lowest) / (family.highest - family.lowest)
    # Where noise reaches over both bounds from anywhere, the share goes by the place of θ alone.
    return (room_below + 1e-3 * place) / (room_below + room_above + 1e-3)


def _lower_limit(family: Family, y: float, alpha: float) -> float:
    def upper_tail(theta: float) -> float:
        return 1 - family.below(y, theta)

    start = _tail_root(family, y, alpha / 2)
    if start >= family.highest or (tail := upper_tail(start)) >= alpha:
        return start
    stop = _crossing(lambda theta: upper_tail(theta) - alpha, start, family.highest)
    if not family.step:
        # Any opposite tail can be attained but those smaller than an atom at the lower bound.
        if not math.isfinite(family.first):
            return start
        return _crossing(lambda theta: upper_tail(theta) - family.at_most(family.first, theta), start, stop)
    smaller = _last_not_above(family, start, tail)
    if smaller is not None and family.at_most(smaller, start) + tail > alpha:
        return start
    # The next value joins the opposite tail where this is no larger than the tail of y; both exceed alpha/2 then.
    following = family.first if smaller is None else smaller + 1
    joined = _crossing(lambda theta: upper_tail(theta) - family.at_most(following, theta), start, stop)
    if smaller is None:
        return joined
    last = smaller

    # Until then the sum of both tails is convex and not above alpha at the start: it exceeds it at the end or never.
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
    """A hair below where a function becomes positive; ``low`` if it is so everywhere, ``high`` if nowhere."""
    if function(low) > 0:
        return low
    if function(high) <= 0:
        return high
    hair = 1e-12 * max(high - low, 1e-12 * abs(high))
    root = scipy.optimize.brentq(function, low, high, xtol=hair, rtol=1e-15)
    return max(low, float(root) - 2 * hair)
