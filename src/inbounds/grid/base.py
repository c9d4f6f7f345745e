"""What every law on a grid has in common: the points of the grid, and what is asked of a law."""

import operator
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds import _check
from inbounds.grid.entropy import Entropy
from inbounds.grid.geometric import Integers
from inbounds.grid.interval import Interval
from inbounds.grid.scale import LARGEST_INDEX
from inbounds.laws.bounding import BOUNDINGS


class GridLaw(ABC):
    """A noise × bounding × grid, whose points are ``origin + index · step`` with ``first ≤ index ≤ last``.

    None is an open side. Its methods take true values as indices (`locate`) and never keep one.
    """

    __slots__ = ()

    bounding: str
    first: int | None
    last: int | None
    step: Fraction
    origin: Fraction

    def check_points(self) -> None:
        """Check the fields of points, and keep exact numbers of them."""
        _check.choice(self.bounding, "bounding", BOUNDINGS)
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

    @property
    def span(self) -> int | None:
        """Steps between the bounds, None with an open side."""
        return None if self.first is None or self.last is None else self.last - self.first

    @property
    def ends(self) -> tuple[int | None, int | None]:
        """The first and the last index that can be released."""
        return (None, None) if self.bounding == "unbounded" else (self.first, self.last)

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

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the noise in certificates."""

    @property
    @abstractmethod
    def spread(self) -> Fraction:
        """The scale of the noise in steps."""

    @abstractmethod
    def probability(self, index: int, at: int) -> Interval:
        """P(released = index | true = at), certified."""

    @abstractmethod
    def cumulative(self, index: int, at: int) -> Interval:
        """P(released ≤ index | true = at), certified."""

    @abstractmethod
    def bias(self, at: int) -> Interval:
        """Expected released value minus true one, in the units of the statistic."""

    @abstractmethod
    def mse(self, at: int) -> Interval:
        """Mean squared error about the true value, in squared units of the statistic."""

    @abstractmethod
    def draw_each(self, at: Integers, entropy: Entropy) -> Integers:
        """A released index for each true one; the bytes drawn do not depend on where those are."""

    @abstractmethod
    def draw_alike(self, at: int, entropy: Entropy, size: int) -> Integers:
        """Many draws for one true index: for studies and audits."""

    def draw(self, at: int, entropy: Entropy) -> int:
        """One released index for one true one."""
        return int(self.draw_each(np.array([within_reach(at)], dtype=np.int64), entropy)[0])

    def epsilon_of(self, move: int) -> Interval:
        """The pure ε that a move by so many steps loses, certified."""
        raise ValueError(f"no pure epsilon is known for this noise, whatever moves by {move} steps")

    def rho_of(self, move: int) -> Fraction:
        """The ρ of zero-concentrated differential privacy that a move by so many steps loses."""
        raise ValueError(f"no rho is known for this noise, whatever moves by {move} steps")


def within_reach(at: int) -> int:
    """A true index as a Python integer of at most 2^61 in size."""
    return min(max(operator.index(at), -2 * LARGEST_INDEX), 2 * LARGEST_INDEX)


def each_within_reach(at: Any) -> Integers:
    """True indices as 64-bit integers of at most 2^61 in size. No grid reaches so far."""
    at = np.asarray(at)
    if at.ndim != 1 or at.dtype.kind not in "iu":
        raise TypeError(f"at must be one row of integers, got {at.ndim} dimensions of {at.dtype}")
    reach = 2 * LARGEST_INDEX
    near = np.minimum(at, at.dtype.type(min(reach, np.iinfo(at.dtype).max))).astype(np.int64)
    return np.asarray(np.maximum(near, -reach))
