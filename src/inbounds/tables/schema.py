"""Columns and their public rules: what each record becomes before anything is counted.

A rule looks at one record and at public numbers, never at other records. A missing value (None, null, NaN) gets what
the rule says: a number inside the bounds, a level, or refusal of the table; ``"skip"`` leaves the record out, and
``"level"`` gives missing values a cell of their own. A number outside its bounds counts as the bound next to it; a
value that is none of the levels goes to the level declared as ``other``, is skipped, or the table is refused.

A refusal names the column and the rule. It does not say which record it was, how many there were, or what they held.
"""

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from inbounds import _check
from inbounds.errors import DataError as DataError
from inbounds.tables.times import Clock, count_time, find_clock, write_time

if TYPE_CHECKING:
    from inbounds.tables.expressions import Expression, Kind

Level: TypeAlias = str | int | bool
# Counts stay below 2^48, so that a product of doubles is known to an eighth of a step (see `engine`).
LARGEST_COUNT = 1 << 47
# Fourth powers of bounds fit a double.
_LARGEST = 10**60


# In place of the number of a cell, for values that are no level and for missing ones. Intervals have the second alone.
OTHER, MISSING = -2, -1


class Place(StrEnum):
    """Where a record goes that belongs to no level.

    To a cell that no level names, as when one level is counted; out of the statistic; to a level of its own; or to a
    cell that must be empty of the records that count, where others may be in it.
    """

    ELSEWHERE = "elsewhere"
    SKIP = "skip"
    OWN = "level"
    REFUSED = "refused"


ELSEWHERE, SKIP, OWN, REFUSED = Place.ELSEWHERE, Place.SKIP, Place.OWN, Place.REFUSED


@dataclass(frozen=True, slots=True)
class Numeric:
    """A column of numbers in [lower, upper].

    ``missing`` is counted in place of a missing value; None refuses, `SKIP` leaves the record out.

    ``integer`` declares whole numbers; others are rounded to the next one.
    """

    name: str
    lower: Fraction
    upper: Fraction
    missing: Fraction | Place | None = None
    integer: bool = False
    # How it follows from other columns of the record, for one that the table does not have.
    formula: "Expression | None" = None
    # What its numbers are, of a column of dates (in days) or times (in seconds).
    clock: Clock | None = None

    @classmethod
    def of(cls, name: str, bounds: Any, missing: Any = None, *, integer: Any = False) -> "Numeric":
        """The column with bounds and fill value as a user writes them."""
        if bounds is None:
            raise ValueError(
                f"column {name!r} needs bounds=(lower, upper), known without looking at the data: the smallest and "
                "largest value that a record may have"
            )
        _check_name(name)
        if isinstance(bounds, str) or not isinstance(bounds, Sequence | np.ndarray) or len(bounds) != 2:
            raise TypeError(f"bounds of {name!r} must be a pair (lower, upper), got {_check.shown(bounds)}")
        clock = find_clock(list(bounds))
        lower, upper = (_read_end(bound, clock, f"bounds of {name!r}") for bound in bounds)
        if not lower < upper:
            raise ValueError(f"bounds of {name!r} must satisfy lower < upper, got ({lower}, {upper})")
        if max(abs(lower), abs(upper)) > _LARGEST or (upper - lower) * _LARGEST < 1:
            raise ValueError(f"bounds of {name!r} must be below 1e60 in size and 1e-60 apart: use other units")
        fill = _fill_of(name, missing, own=False, clock=clock)
        if isinstance(fill, Fraction) and not lower <= fill <= upper:
            raise ValueError(f"missing of {name!r} must lie within the bounds, got {_check.shown(missing)}")
        if not isinstance(integer, bool):
            raise TypeError(f"integer of {name!r} must be True or False, got {type(integer).__name__}")
        # Dates are whole days.
        column = cls(name, lower, upper, fill, integer or clock == "date", clock=clock)
        if integer and not (column.whole and column.width <= LARGEST_COUNT):
            raise ValueError(
                f"integer=True for {name!r} needs whole bounds at most 2^47 apart, and a whole number for missing"
            )
        return column

    @property
    def ends(self) -> tuple[Any, Any]:
        """The bounds as a record has them: numbers, or dates and times as text."""
        return _spell(self.lower, self.clock), _spell(self.upper, self.clock)

    @property
    def spelled_missing(self) -> Any:
        """What missing values count as, as a record has it."""
        return _spell(self.missing, self.clock) if isinstance(self.missing, Fraction) else self.missing

    @property
    def width(self) -> Fraction:
        """upper - lower."""
        return self.upper - self.lower

    @property
    def whole(self) -> bool:
        """Whether bounds and fill value are integers, so that integer records need no rounding."""
        return all(bound.denominator == 1 for bound in (self.lower, self.upper, self.fill))

    @property
    def fill(self) -> Fraction:
        """What stands in the sum for a missing value; where those are refused or skipped it does not matter."""
        return self.missing if isinstance(self.missing, Fraction) else self.lower

    @property
    def skips(self) -> bool:
        """Whether records without a value are left out."""
        return self.missing is SKIP


@dataclass(frozen=True, slots=True)
class Quantised:
    """A numeric column whose records become integers 0..count, at distances of ``step``."""

    column: Numeric
    count: int

    @property
    def step(self) -> Fraction:
        """Width of the bounds over ``count``."""
        return self.column.width / self.count

    @property
    def filled(self) -> int:
        """The integer of a missing value."""
        return int((self.column.fill - self.column.lower) / self.step + Fraction(1, 2))


def quantise_column(column: Numeric, *, resolution: int) -> Quantised:
    """A column in at least ``resolution`` steps, or in steps of one where whole numbers were declared.

    With whole bounds the step is 1 over a power of two, so that whole numbers are exact. The type of the column has no
    part in it: where types are made from values, one record can change the type, and so would move all others. For the
    same reason integers beyond 2^53 are rounded to doubles whatever their type, and bounds between which that would be
    felt are refused.
    """
    if column.integer:
        made = Quantised(column, int(column.width))
    elif column.whole and column.width <= LARGEST_COUNT:
        made = Quantised(column, int(column.width) << (math.ceil(resolution / column.width) - 1).bit_length())
    else:
        made = Quantised(column, 1 << (resolution - 1).bit_length())
    far = max(abs(column.lower), abs(column.upper))
    if far > 1 << 53 and Fraction(math.ulp(float(far))) > made.step:
        raise ValueError(
            f"bounds of {column.name!r} are so far from 0 that floats are only exact to {math.ulp(float(far)):g}; "
            "subtract a constant from the column and from its bounds"
        )
    return made


@dataclass(frozen=True, slots=True)
class Levels:
    """A column with a few public values, all text, all integers or all booleans.

    ``other`` and ``missing`` say where values go that are none of them, and missing ones: to a level, `ELSEWHERE`, out
    of the statistic (`SKIP`), missing ones to a level of their own (`OWN`), or nowhere (None), which refuses the table.
    Where one of the levels has the name of such a place, it is the level that is meant.
    """

    name: str
    levels: tuple[Level, ...]
    other: Level | Place | None = None
    missing: Level | Place | None = None
    # What the user calls these two rules.
    keywords: tuple[str, str] = ("other", "missing")
    formula: "Expression | None" = None
    # The levels as text: made once, since there may be a million of them.
    texts: tuple[str, ...] = field(init=False, repr=False, compare=False)
    # Those of the cells that are published: the levels, and that of missing values if they have one of their own.
    labels: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_name(self.name)
        object.__setattr__(self, "levels", _levels(self.name, self.levels))
        texts = (str(level).lower() if isinstance(level, bool) else str(level) for level in self.levels)
        object.__setattr__(self, "texts", tuple(texts))
        for rule, keyword in zip(("other", "missing"), self.keywords, strict=True):
            level = self._find_place(_plain(getattr(self, rule)), rule)
            object.__setattr__(self, rule, level)
            known = type(level) is type(self.levels[0]) and level in self.levels
            if not (known or level is None or isinstance(level, Place)):
                places = "'skip' or 'level'" if rule == "missing" else "'skip'"
                raise ValueError(
                    f"{keyword} of {self.name!r} must be one of its levels, {places}, got {_check.shown(level)}"
                )
        own = (_unlike("missing", self.texts),) if self.missing is OWN else ()
        object.__setattr__(self, "labels", (*self.texts, *own))

    def _find_place(self, level: Any, rule: str) -> Any:
        """A place by its name, where no level has that."""
        if not isinstance(level, str) or isinstance(level, Place) or level in self.levels:
            return level
        places = {"skip": SKIP} | ({"level": OWN} if rule == "missing" else {})
        return places.get(level, level)

    @property
    def cells(self) -> int:
        """Number of cells, those of no level included."""
        return 1 + max([len(self.labels) - 1, *(self._place(place) or 0 for place in self._strayed)])

    @property
    def refused(self) -> int:
        """The cell of what is `REFUSED`."""
        return len(self.labels) + 2

    @property
    def _strayed(self) -> list[Place]:
        return [level for level in (self.other, self.missing) if isinstance(level, Place)]

    @property
    def skips(self) -> bool:
        """Whether records of no level are left out."""
        return SKIP in self._strayed

    @property
    def strays(self) -> tuple[str, str]:
        """Labels for values that are no level and for missing ones, different from every level's."""
        return _unlike("other", self.texts), _unlike("missing", self.texts)

    @property
    def stray_numbers(self) -> tuple[int, int]:
        """The same as numbers, where levels are integers (or booleans)."""
        low = min(int(level) for level in self.levels)
        return low - 2, low - 1

    @property
    def places(self) -> tuple[int | None, int | None]:
        """Cells of values that are no level, and of missing ones; None refuses."""
        return self._place(self.other), self._place(self.missing)

    def _place(self, level: Level | Place | None) -> int | None:
        if isinstance(level, Place):
            size = len(self.labels)
            return {OWN: len(self.levels), ELSEWHERE: size, SKIP: size + 1, REFUSED: self.refused}[level]
        return None if level is None else self.levels.index(level)


def to_hexadecimal(text: str) -> str:
    """The bytes of a text as `inbounds.tables.dialects` has a database write them."""
    return text.encode().hex().upper()


def _unlike(word: str, labels: Sequence[str]) -> str:
    while word in labels:
        word += "_"
    return word


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _levels(name: str, levels: Any) -> tuple[Level, ...]:
    ordered = hasattr(levels, "__len__") and hasattr(levels, "__getitem__")
    if not ordered or isinstance(levels, str | Mapping):
        raise TypeError(
            f"column {name!r} needs levels=[...], a list of its possible values, known without looking at the data"
        )
    plain = [_plain(level) for level in levels]
    if not plain:
        raise ValueError(f"levels of {name!r} must not be empty")
    kinds = {type(level) for level in plain}
    if len(kinds) != 1 or not kinds <= {str, int, bool}:
        raise TypeError(f"levels of {name!r} must be all text, all integers or all booleans")
    if len(set(plain)) < len(plain):
        raise ValueError(f"levels of {name!r} must be different")
    if kinds == {str} and any("\0" in level for level in plain):
        raise ValueError(f"levels of {name!r} must not hold the character NUL")
    if kinds == {int} and max(abs(level) for level in plain) >= 1 << 53:
        # From 2^53 on a double stands for more than one integer.
        raise ValueError(f"levels of {name!r} must be below 2^53 in size; use text")
    return tuple(plain)


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
        own = ("missing",) if self.missing is OWN else ()
        object.__setattr__(self, "labels", (*(f"[{a}, {b})" for a, b in pairwise(texts[:-1])), last, *own))

    @classmethod
    def of(cls, name: str, edges: Any, missing: Any = None) -> "Edges":
        """The column with edges as a user writes them."""
        _check_name(name)
        if isinstance(edges, str | Mapping) or not hasattr(edges, "__getitem__") or len(edges) < 2:
            raise TypeError(f"edges of {name!r} must be a list of two numbers or more")
        clock = find_clock(list(edges))
        exact = tuple(_read_end(edge, clock, f"edges of {name!r}") for edge in edges)
        if not all(a < b for a, b in pairwise(map(float, exact))):
            raise ValueError(f"edges of {name!r} must increase")
        fill = _fill_of(name, missing, own=True, clock=clock)
        if isinstance(fill, Fraction) and not exact[0] <= fill <= exact[-1]:
            raise ValueError(f"missing of {name!r} must lie between the edges, got {_check.shown(missing)}")
        made = cls(name, exact, fill, clock=clock)
        if len(exact) > MOST_UNEQUAL and made.spacing is None:
            raise ValueError(
                f"edges of {name!r} must be equally spaced where there are more than {MOST_UNEQUAL}, as by "
                "numpy.linspace"
            )
        return made

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
        return tuple(_spell(edge, self.clock) for edge in self.edges)

    @property
    def spelled_missing(self) -> Any:
        """What missing values count as, as a record has it."""
        return _spell(self.missing, self.clock) if isinstance(self.missing, Fraction) else self.missing

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


def _read_end(end: Any, clock: Clock | None, name: str) -> Fraction:
    """A number, or that of a date or time, as a user writes it."""
    if clock is None:
        return _check.fraction(end, name)
    try:
        return count_time(end, clock)
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None


def _spell(number: Fraction, clock: Clock | None) -> Any:
    return number if clock is None else write_time(number, clock)


def _fill_of(name: str, missing: Any, *, own: bool, clock: Clock | None) -> Fraction | Place | None:
    """What missing values of a column of numbers count as, as a user writes it."""
    if missing is None or (isinstance(missing, str) and missing == "skip"):
        return None if missing is None else SKIP
    if isinstance(missing, str) and missing == "level":
        if own:
            return OWN
        raise ValueError(
            f"missing = 'level' of {name!r} belongs to levels or edges, where it is one more cell; numbers need a "
            "value to count, or 'skip'"
        )
    return _read_end(missing, clock, f"missing of {name!r}")


# Fewer edges are compared one by one; more than the second must be equally spaced.
_FEW_EDGES, MOST_UNEQUAL = 32, 10_000


def even_spacing(ends: _check.Array, width: Fraction) -> float | None:
    """The distance of edges that are equally spaced over ``width``; None for others. ``ends`` are their doubles."""
    each = float(width / (len(ends) - 1))
    made = ends[0] + np.arange(len(ends)) * each
    # So near to zero, in widths, that division finds the number of an interval to one.
    near = abs(ends[0]) / each + len(ends) < 1 << 40
    return each if near and np.array_equal(made[1:-1], ends[1:-1]) else None


@dataclass(frozen=True, slots=True)
class Operand:
    """A column as an expression reads it: numbers, text, truth values or times, with missing values where it has
    others."""

    name: str
    kind: "Kind"


@dataclass(frozen=True, slots=True)
class Condition:
    """Which records count: those for which ``where`` is true, and which have a number in every column of ``present``.

    As a key of a table it has two cells, that of the records that count and that of the others.
    """

    where: "Expression | None" = None
    present: tuple[Numeric, ...] = ()

    @property
    def cells(self) -> int:
        """Number of cells."""
        return 2

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the cells that are published."""
        return ("selected",)


Key: TypeAlias = Levels | Edges
Ruled: TypeAlias = Numeric | Levels | Edges
Column: TypeAlias = Ruled | Operand


def list_read(rules: Iterable[Ruled | Condition]) -> tuple[Column, ...]:
    """The columns of a table that some rules read, each once: a formula reads its operands."""
    found: dict[Column, None] = {}
    for rule in rules:
        formula = rule.where if isinstance(rule, Condition) else rule.formula
        if formula is not None:
            found |= dict.fromkeys(Operand(name, kind) for name, kind in formula.columns.items())
        elif not isinstance(rule, Condition):
            found[rule] = None
    return tuple(found)


def short(number: Fraction) -> str:
    """An edge as labels write it."""
    return str(number.numerator) if number.denominator == 1 else repr(float(number))


def _check_name(name: Any) -> None:
    """Refuse what is no name: engines know columns by text, and Polars takes some of it for a pattern."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a column must be text, got {type(name).__name__}; rename the column")
    if name == "*" or (name.startswith("^") and name.endswith("$")):
        raise ValueError(f"the column name {name!r} is a pattern to some engines; rename the column")


def unknown_column(name: str, names: Iterable[Any]) -> DataError:
    """The error for a column that is not there, with the nearest name that is. Names of columns are public."""
    known = [one for one in names if isinstance(one, str) and "\0" not in one]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return DataError(f"the table has no column {name!r}{hint}")


def resolution(rows: int, epsilon: Fraction, *, root: bool = False) -> int:
    """claim:quantisation. Steps between the bounds that make rounding the records harmless: at least 52 n ε.

    Rounding moves a mean by at most W/(2M), a variance or covariance by at most W²/M (half of it from the records and
    half from products, see `engine`). With M ≥ 52 n ε that is at most λ/52, where λ = W/(nε) or W²/(nε) is the scale of
    BIT. Its RMSE is smallest at a bound, λ, where the bias is λ/2: there a shift of xλ makes √(1 + x + x²) of it, less
    than 1% more. Truncated noise is larger.

    A root (``root=True``: standard deviations) magnifies what happens near zero, to √(W²/2M): then 2000 n max(ε, ε²).

    More than 2^47 steps are not made: double-precision records have hardly more digits.
    """
    wanted = 2000 * rows * max(epsilon, epsilon**2) if root else 52 * rows * epsilon
    return min(max(1 << 12, math.ceil(wanted)), LARGEST_COUNT)
