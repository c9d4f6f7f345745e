"""Columns of numbers, dates and times in intervals."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds import _check
from inbounds.tables.numeric import OWN as OWN
from inbounds.tables.numeric import SKIP, Numeric, Place, check_name, find_fill, read_end, short, spell
from inbounds.tables.times import Clock, find_clock, write_time

if TYPE_CHECKING:
    from inbounds.tables.expressions import Expression


@dataclass(frozen=True, slots=True)
class Edges:
    """A numeric column in intervals [edge, next edge), the last one closed.

    Numbers below the first edge count in the first cell, above the last one in the last: the ends are bounds.
    ``missing`` is counted in place of a missing value; None refuses, `SKIP` leaves the record out, and `OWN` gives
    missing values a cell of their own.
    """

    name: str
    edges: tuple[Fraction, ...]
    missing: Fraction | Place | None = None
    formula: "Expression | None" = None
    clock: Clock | None = None
    zone: str | None = None
    # The intervals as text: made once, since there may be a million of them.
    labels: tuple[str, ...] = field(init=False, repr=False, compare=False)
    # w where edge number i is first + i w in double precision, as `numpy.linspace` makes them; None where they are few.
    spacing: float | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        many = len(self.edges) > _FEW_EDGES
        ends = np.array([float(edge) for edge in self.edges]) if many else np.zeros(0)
        spacing = even_spacing(ends, self.edges[-1] - self.edges[0]) if many else None
        object.__setattr__(self, "spacing", spacing)
        texts = [short(edge) if self.clock is None else write_time(edge, self.clock) for edge in self.edges]
        last = f"[{texts[-2]}, {texts[-1]}]"
        extra = ("missing",) if self.missing is OWN else ()
        object.__setattr__(self, "labels", (*(f"[{a}, {b})" for a, b in pairwise(texts[:-1])), last, *extra))

    @classmethod
    def of(cls, name: str, edges: Any, missing: Any = None) -> "Edges":
        """The column with edges as a user writes them."""
        check_name(name)
        if isinstance(edges, str | Mapping) or not hasattr(edges, "__getitem__") or len(edges) < 2:
            raise TypeError(f"edges of {name!r} must be a list of two numbers or more")
        clock = find_clock(list(edges))
        exact = tuple(read_end(edge, clock, f"edges of {name!r}") for edge in edges)
        if not all(a < b for a, b in pairwise(map(float, exact))):
            raise ValueError(f"edges of {name!r} must increase")
        fill = find_fill(name, missing, own=True, clock=clock)
        if isinstance(fill, Fraction) and not exact[0] <= fill <= exact[-1]:
            raise ValueError(f"missing of {name!r} must lie between the edges, got {_check.shown(missing)}")
        column = cls(name, exact, fill, clock=clock)
        if len(exact) > MOST_UNEQUAL and column.spacing is None:
            raise ValueError(
                f"edges of {name!r} must be equally spaced where there are more than {MOST_UNEQUAL}, as by "
                "numpy.linspace"
            )
        return column

    @classmethod
    def even(cls, name: str, bounds: Any, bins: int, missing: Any = None) -> "Edges":
        """The column in so many intervals of equal width between its bounds."""
        column = Numeric.of(name, bounds, missing)
        first, width = float(column.lower), float(column.width / bins)
        # As `even_spacing` has them, so that the number of an interval is found by division.
        inner = [first + place * width for place in range(1, bins)]
        if not all(a < b for a, b in pairwise([first, *inner, float(column.upper)])):
            raise ValueError(
                f"bounds of {name!r} are too close together for {bins} intervals in double precision: subtract a "
                "constant from the column and from its bounds first"
            )
        return cls.of(name, (column.lower, *map(Fraction, inner), column.upper), missing)

    @property
    def ends(self) -> tuple[Any, ...]:
        """The edges as a record has them: numbers, or dates and times as text."""
        return tuple(spell(edge, self.clock) for edge in self.edges)

    @property
    def spelled_missing(self) -> Any:
        """What missing values count as, as a record has it."""
        return spell(self.missing, self.clock) if isinstance(self.missing, Fraction) else self.missing

    @property
    def cells(self) -> int:
        """Number of cells: intervals, and that of missing values."""
        return len(self.edges) - 1 + isinstance(self.missing, Place)

    @property
    def refused(self) -> int:
        """The cell of what is `REFUSED`."""
        return len(self.edges) - 1

    @property
    def skips(self) -> bool:
        """Whether records without a value are left out."""
        return self.missing is SKIP


# Fewer edges are compared one by one; more than the second must be equally spaced.
_FEW_EDGES, MOST_UNEQUAL = 32, 10_000


def even_spacing(ends: _check.Array, width: Fraction) -> float | None:
    """The distance of edges that are equally spaced over ``width``; None for others. ``ends`` are their doubles."""
    each = float(width / (len(ends) - 1))
    even_ends = ends[0] + np.arange(len(ends)) * each
    # So near to zero, in widths, that division finds the number of an interval to within one.
    near = abs(ends[0]) / each + len(ends) < 1 << 40
    return each if near and np.array_equal(even_ends[1:-1], ends[1:-1]) else None
