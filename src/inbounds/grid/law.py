"""The laws on a grid: the ones that a release really draws from, without a rounding error anywhere.

A grid has points ``origin + index · step`` with ``first ≤ index ≤ last`` (None is an open side). Noise is discrete
Laplace, P(k) ∝ q^|k| with q = e^(-1/T); BIT clamps it to the grid's ends, truncation renormalises it. Probabilities are
rational functions of q: exact fractions where q is rational (`Rational`), certified intervals for the q of a release
(`Certified`). Staircase noise is in `staircase.py`.
"""

import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from inbounds import _check
from inbounds.grid import sampler
from inbounds.grid.entropy import Entropy
from inbounds.grid.geometric import Integers
from inbounds.grid.interval import Interval, as_interval, exp_minus, one_minus_exp
from inbounds.grid.scale import LARGEST_INDEX, Scale
from inbounds.grid.staircase import StaircaseLaw, Stairs
from inbounds.laws.bounding import BOUNDINGS


class Powers(Protocol):
    """q^k and 1 - q^k for k ≥ 0."""

    def power(self, k: int) -> Any: ...
    def gap(self, k: int) -> Any: ...


@dataclass(frozen=True, slots=True)
class Rational:
    """Powers of a rational q: exact fractions."""

    q: Fraction

    def power(self, k: int) -> Fraction:
        return self.q**k

    def gap(self, k: int) -> Fraction:
        return 1 - self.q**k


@dataclass(frozen=True, slots=True)
class Certified:
    """Powers of q = e^(-1/steps): certified intervals."""

    steps: Fraction

    def power(self, k: int) -> Interval:
        return exp_minus(k / self.steps)

    def gap(self, k: int) -> Interval:
        return one_minus_exp(k / self.steps)


# claim:grid-law
def probability(powers: Powers, bounding: str, first: int | None, last: int | None, index: int, at: int) -> Any:
    """P(released = index | true = at)."""
    below_grid = first is not None and index < first
    above_grid = last is not None and index > last
    if bounding != "unbounded" and (below_grid or above_grid):
        return powers.gap(0)
    if bounding == "truncated":
        at = _clamp(at, first, last)
        return powers.power(abs(index - at)) * powers.gap(1) / _normaliser(powers, first, last, at)
    if bounding == "bit" and index == first:
        return _at_most(powers, index - at)
    if bounding == "bit" and index == last:
        return _at_most(powers, at - index)
    return powers.power(abs(index - at)) * powers.gap(1) / (1 + powers.power(1))


def cumulative(powers: Powers, bounding: str, first: int | None, last: int | None, index: int, at: int) -> Any:
    """P(released ≤ index | true = at)."""
    if bounding == "unbounded":
        return _at_most(powers, index - at)
    if first is not None and index < first:
        return powers.gap(0)
    if last is not None and index >= last:
        return powers.power(0)
    if bounding == "bit":
        return _at_most(powers, index - at)
    at = _clamp(at, first, last)
    total = _normaliser(powers, first, last, at)
    if index < at:
        room = 1 if first is None else powers.gap(index - first + 1)
        return powers.power(at - index) * room / total
    room = 1 if last is None else powers.gap(last - index)
    return 1 - powers.power(index - at + 1) * room / total


# claim:grid-moments
def moments(powers: Powers, bounding: str, first: int | None, last: int | None, at: int) -> tuple[Any, Any]:
    """Bias and mean squared error about ``at``, in steps.

    With Γ(k) = 1 - q^k, room a below and b above, and the sums over 1 ≤ j ≤ m A(m) = Σ q^j = q Γ(m)/Γ(1) and
    B(m) = Σ (2j-1) q^j = q [(1+q) Γ(m) - 2m q^m Γ(1)] / Γ(1)²:

    - BIT: bias [A(b) - A(a)]/(1+q), MSE [B(a) + B(b)]/(1+q), by summing tails;
    - truncated: the same with Σ j q^j and Σ j² q^j, which are (A(m) - m q^(m+1))/Γ(1) and (B(m) - m² q^(m+1))/Γ(1).
    """
    fall, q = powers.gap(1), powers.power(1)
    if bounding == "unbounded":
        first = last = None
    centre = _clamp(at, first, last)
    rooms = None if first is None else centre - first, None if last is None else last - centre

    def sums(room: int | None) -> tuple[Any, Any]:
        if room is None:
            return q / fall, q * (1 + q) / (fall * fall)
        reach = powers.power(room)
        single = q * powers.gap(room) / fall
        return single, q * ((1 + q) * powers.gap(room) - 2 * room * reach * fall) / (fall * fall)

    def weighted(room: int | None) -> tuple[Any, Any]:
        single, double = sums(room)
        if room is None:
            return single / fall, double / fall
        edge = powers.power(room + 1)
        return (single - room * edge) / fall, (double - room * room * edge) / fall

    offset = centre - at
    if bounding == "truncated":
        (left, left_square), (right, right_square) = (weighted(room) for room in rooms)
        total = _normaliser(powers, first, last, centre) / fall
        bias, square = (right - left) / total, (left_square + right_square) / total
    elif offset == 0:
        (left, left_square), (right, right_square) = (sums(room) for room in rooms)
        bias, square = (right - left) / (1 + q), (left_square + right_square) / (1 + q)
    else:
        # Beyond a bound, all of the mass that moves goes inwards, and has to cover the distance first.
        inward = sums(None if first is None or last is None else last - first)
        thinned = powers.power(abs(offset)) / (1 + q)
        bias, square = inward[0] * thinned * (1 if offset > 0 else -1), inward[1] * thinned
    return bias + offset, square + 2 * offset * bias + offset * offset


def _at_most(powers: Powers, k: int) -> Any:
    """P(noise ≤ k)."""
    tail = powers.power(-k if k < 0 else k + 1) / (1 + powers.power(1))
    return tail if k < 0 else 1 - tail


def _normaliser(powers: Powers, first: int | None, last: int | None, at: int) -> Any:
    """(1 - q) Σ q^|k - at| over the grid = Γ(a+1) + q Γ(b), with Γ(k) = 1 - q^k and 1 on an open side."""
    left = 1 if first is None else powers.gap(at - first + 1)
    right = 1 if last is None else powers.gap(last - at)
    return left + powers.power(1) * right


def _clamp(at: int, first: int | None, last: int | None) -> int:
    at = at if first is None else max(at, first)
    return at if last is None else min(at, last)


@dataclass(frozen=True, slots=True)
class GridMechanism:
    """Discrete Laplace noise, or staircase noise, × bounding × grid.

    Parameters
    ----------
    bounding
        ``"bit"``, ``"truncated"`` or ``"unbounded"``.
    scale
        T, in steps; with ``stairs`` in levels of as many steps as those are wide.
    first, last
        Indices of the ends; None for an open side.
    step, origin
        The value of index k is ``origin + k · step``.
    stairs
        The shape of staircase noise, which is clamped or unbounded; None for discrete Laplace noise.

    Its methods take true values as indices (`locate`) and never keep one.
    """

    bounding: str
    scale: Scale
    first: int | None
    last: int | None
    step: Fraction = Fraction(1)
    origin: Fraction = Fraction(0)
    stairs: Stairs | None = None

    def __post_init__(self) -> None:
        _check.choice(self.bounding, "bounding", BOUNDINGS)
        if not isinstance(self.scale, Scale):
            raise TypeError(f"scale must be a Scale, got {type(self.scale).__name__}")
        for name in ("first", "last"):
            if getattr(self, name) is not None:
                end = _check.integer(getattr(self, name), name, least=-LARGEST_INDEX)
                if end > LARGEST_INDEX:
                    raise ValueError(f"{name} must not exceed 2^60 in size: use a coarser step")
                object.__setattr__(self, name, end)
        if self.first is not None and self.last is not None and not self.first < self.last:
            raise ValueError(f"first must be below last, got {self.first} and {self.last}")
        for name in ("step", "origin"):
            object.__setattr__(self, name, _check.rational(getattr(self, name), name))
        if not self.step > 0:
            raise ValueError(f"step must be > 0, got {self.step}")
        if self.stairs is not None and (not isinstance(self.stairs, Stairs) or self.bounding == "truncated"):
            raise ValueError("staircase noise has Stairs, and is clamped or unbounded: truncated it has no known loss")

    @property
    def spread(self) -> Fraction:
        """Steps over which probabilities fall by a factor of e; for a staircase, on average over its levels."""
        return self.scale.steps * (1 if self.stairs is None else self.stairs.width)

    @property
    def span(self) -> int | None:
        """Steps between the bounds, None with an open side."""
        return None if self.first is None or self.last is None else self.last - self.first

    def locate(self, x: Fraction | int) -> int:
        """The index next to a rational: ⌊(x - origin)/step + ½⌋.

        Two rationals at most D steps apart (D an integer) land at most D indices apart; rounding half to even would
        not keep that. The result may lie beyond the grid: the law takes care of it.
        """
        shifted = (_check.rational(x, "x") - self.origin) / self.step + Fraction(1, 2)
        return shifted.numerator // shifted.denominator

    def value(self, index: int) -> Fraction:
        """The value of an index."""
        return self.origin + int(index) * self.step

    def probability(self, index: int, at: int) -> Interval:
        """P(released = index | true = at), certified."""
        if self.stairs is not None:
            return self._staircase_probability(index, at)
        return self._certify(probability, index, at)

    def cumulative(self, index: int, at: int) -> Interval:
        """P(released ≤ index | true = at), certified."""
        if self.stairs is not None:
            first, last = self._ends
            if first is not None and index < first:
                return as_interval(0)
            return as_interval(1) if last is not None and index >= last else self._staircase.cumulative(index - at)
        return self._certify(cumulative, index, at)

    @property
    def _ends(self) -> tuple[int | None, int | None]:
        return (None, None) if self.bounding == "unbounded" else (self.first, self.last)

    @property
    def _staircase(self) -> StaircaseLaw:
        assert self.stairs is not None
        return StaircaseLaw(self.stairs, self.scale)

    def _staircase_probability(self, index: int, at: int) -> Interval:
        (first, last), law = self._ends, self._staircase
        if (first is not None and index < first) or (last is not None and index > last):
            return as_interval(0)
        if index == first:
            return law.cumulative(index - at)
        return law.cumulative(at - index) if index == last else law.probability(index - at)

    def atoms(self, at: int) -> tuple[Interval, Interval]:
        """P(released = first) and P(released = last), 0 on an open side: a point of the grid, or an atom of BIT."""
        ends = (self.first, self.last)
        return tuple(as_interval(0) if end is None else self.probability(end, at) for end in ends)  # type: ignore[return-value]

    def bias(self, at: int) -> Interval:
        """Expected released value minus true one, in the units of the statistic."""
        return as_interval(self._moments(at)[0]) * self.step

    def mse(self, at: int) -> Interval:
        """Mean squared error about the true value, in squared units of the statistic."""
        return as_interval(self._moments(at)[1]) * self.step**2

    def worst_bias(self) -> Interval:
        """Largest absolute bias over all true values within the bounds: it is the one at a bound.

        Clamped noise of any symmetric law has a bias that falls as the true value rises, by the chance of a bound.
        """
        if self.bounding == "unbounded" or (self.first is None and self.last is None):
            return as_interval(0)
        return self.bias(self.first) if self.first is not None else -self.bias(self.last or 0)

    # claim:grid-worst-mse
    def worst_mse(self) -> Interval:
        """Largest mean squared error over all true values within the bounds.

        It is that at a bound or that at the middle. For BIT: going up from a bound by one step changes the MSE by
        h(a+1) - h(N-a), h(m) ∝ (2m-1) q^m, and since log h is concave this changes sign once before the middle, from
        minus to plus. For truncation brute force shows the same. With an open side, the middle is unbounded noise,
        and worse than the bound, where E k² is q(1+q)/(1-q)² truncated, and half of 2q/(1-q)² clamped.
        A clamped staircase has several such places, but no clamped error is larger than the noise: the upper end of the
        interval is the variance of the noise, and nothing sharper is proved.
        """
        anywhere = GridMechanism("unbounded", self.scale, None, None, self.step, self.origin, self.stairs).mse(0)
        if self.first is None or self.last is None:
            return anywhere
        end, middle = self.mse(self.first), self.mse((self.first + self.last) // 2)
        worst = end if end.upper > middle.upper else middle
        return worst if self.stairs is None else Interval(worst.lower, max(anywhere.upper, worst.lower))

    def _moments(self, at: int) -> tuple[Any, Any]:
        if self.stairs is not None:
            return self._staircase.moments(*(None if end is None else end - at for end in self._ends))
        return moments(Certified(self.scale.steps), self.bounding, self.first, self.last, at)

    def _certify(self, formula: Any, index: int, at: int) -> Interval:
        return as_interval(formula(Certified(self.scale.steps), self.bounding, self.first, self.last, index, at))

    def draw(self, at: int, entropy: Entropy) -> int:
        """One released index for one true one."""
        return int(self.draw_each(np.array([_within_reach(at)], dtype=np.int64), entropy)[0])

    def draw_each(self, at: Integers, entropy: Entropy) -> Integers:
        """A released index for each true one; the bytes drawn do not depend on where those are.

        Locations beyond ±2^61 count as ±2^61 (no grid reaches so far, so only unbounded noise could tell).
        """
        at = np.asarray(at)
        if at.ndim != 1 or at.dtype.kind not in "iu":
            raise TypeError(f"at must be one row of integers, got {at.ndim} dimensions of {at.dtype}")
        reach = 2 * LARGEST_INDEX
        near = np.minimum(at, at.dtype.type(min(reach, np.iinfo(at.dtype).max))).astype(np.int64)
        near = np.maximum(near, -reach)
        if self.bounding == "truncated":
            return sampler.truncated(near, self.first, self.last, self.scale, entropy)
        first, last = self._ends
        if self.stairs is not None:
            return sampler.clamp(near + self._staircase.many(entropy, near.size), first, last)
        return sampler.bit(near, first, last, self.scale, entropy)

    def draw_alike(self, at: int, entropy: Entropy, size: int) -> Integers:
        """Many draws for one true index: for studies and audits."""
        if self.bounding == "truncated":
            return sampler.truncated_alike(_within_reach(at), self.first, self.last, self.scale, entropy, size)
        return self.draw_each(np.full(size, _within_reach(at), dtype=np.int64), entropy)


def _within_reach(at: int) -> int:
    """A true index as a Python integer of at most 2^61 in size."""
    return min(max(operator.index(at), -2 * LARGEST_INDEX), 2 * LARGEST_INDEX)
