"""Columns of numbers, dates and times: bounds, steps, and what missing values count as."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds import _check
from inbounds.tables.times import Clock, count_time, find_clock, write_time

if TYPE_CHECKING:
    from inbounds.tables.expressions import Expression

# Counts stay below 2^48, so that a product of doubles is known to an eighth of a step (see `engine`).
LARGEST_COUNT = 1 << 47
# Fourth powers of bounds fit a double.
_LARGEST = 10**60


class Place(StrEnum):
    """Where a record goes that belongs to no level.

    It goes to a cell that no level names, as when one level is counted; out of the statistic; to its own level; or to a
    cell in which no record that counts may be, while others may.
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
    # How it is computed from other columns of the record, if the table does not have it.
    formula: "Expression | None" = None
    # What its numbers stand for, if it is a column of dates (in days) or times (in seconds).
    clock: Clock | None = None
    # The zone whose clock is used for instants; None if its values have no zone.
    zone: str | None = None

    @classmethod
    def of(cls, name: str, bounds: Any, missing: Any = None, *, integer: Any = False) -> "Numeric":
        """The column with bounds and fill value as a user writes them."""
        if bounds is None:
            raise ValueError(
                f"column {name!r} needs bounds=(lower, upper), known without looking at the data: the smallest and "
                "largest value that a record may have"
            )
        check_name(name)
        if isinstance(bounds, str) or not isinstance(bounds, Sequence | np.ndarray) or len(bounds) != 2:
            raise TypeError(f"bounds of {name!r} must be a pair (lower, upper), got {_check.shown(bounds)}")
        clock = find_clock(list(bounds))
        lower, upper = (read_end(bound, clock, f"bounds of {name!r}") for bound in bounds)
        if not lower < upper:
            raise ValueError(
                f"bounds of {name!r} must satisfy lower < upper, got ({spell(lower, clock)}, {spell(upper, clock)})"
            )
        if max(abs(lower), abs(upper)) > _LARGEST or (upper - lower) * _LARGEST < 1:
            raise ValueError(f"bounds of {name!r} must be below 1e60 in size and 1e-60 apart: use other units")
        fill = find_fill(name, missing, own=False, clock=clock)
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
        return spell(self.lower, self.clock), spell(self.upper, self.clock)

    @property
    def spelled_missing(self) -> Any:
        """What missing values count as, as a record has it."""
        return spell(self.missing, self.clock) if isinstance(self.missing, Fraction) else self.missing

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


@dataclass(frozen=True, slots=True)
class Steps:
    """A column of numbers as a key of a table: each of the integers 0..count that its records become is a cell.

    Records without a value, where they are neither filled in nor refused, are in a cell after these.
    """

    quantised: Quantised

    @property
    def column(self) -> Numeric:
        """The column."""
        return self.quantised.column

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column.name

    @property
    def missing(self) -> Fraction | Place | None:
        """What missing values count as."""
        return self.column.missing

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.quantised.count + 1 + isinstance(self.missing, Place)

    @property
    def refused(self) -> int:
        """The cell of records without a value."""
        return self.quantised.count + 1


def quantise_column(column: Numeric, *, resolution: int) -> Quantised:
    """A column in at least ``resolution`` steps, or in steps of one where whole numbers were declared.

    With whole bounds the step is 1 over a power of two, so that whole numbers are exact. The type of the column does
    not matter: where types are made from values, one record can change the type, and would so move all others. For the
    same reason integers beyond 2^53 are rounded to doubles whatever their type, and bounds between which that would
    matter are refused.
    """
    if column.integer:
        quantised = Quantised(column, int(column.width))
    elif column.whole and column.width <= LARGEST_COUNT:
        quantised = Quantised(column, int(column.width) << (math.ceil(resolution / column.width) - 1).bit_length())
    else:
        quantised = Quantised(column, 1 << (resolution - 1).bit_length())
    far = max(abs(column.lower), abs(column.upper))
    if far > 1 << 53 and Fraction(math.ulp(float(far))) > quantised.step:
        raise ValueError(
            f"bounds of {column.name!r} are so far from 0 that floats are only exact to {math.ulp(float(far)):g}; "
            "subtract a constant from the column and from its bounds"
        )
    return quantised


# claim:quantisation
def resolution(rows: int, epsilon: Fraction, *, root: bool = False) -> int:
    """Steps between the bounds that make rounding the records harmless: at least 52 n ε.

    Rounding moves a mean by at most W/(2M), a variance or covariance by at most W²/M (half of it from the records and
    half from products, see `engine`). With M ≥ 52 n ε that is at most λ/52, where λ = W/(nε) or W²/(nε) is the scale of
    BIT. Its RMSE is smallest at a bound, λ, where the bias is λ/2: there a shift of xλ makes √(1 + x + x²) of it, less
    than 1% more. Truncated noise is larger.

    A root (``root=True``: standard deviations) magnifies what happens near zero, to √(W²/2M): then 2000 n max(ε, ε²).

    More than 2^47 steps are not made: double-precision records have hardly more digits.
    """
    steps = 2000 * rows * max(epsilon, epsilon**2) if root else 52 * rows * epsilon
    return min(max(1 << 12, math.ceil(steps)), LARGEST_COUNT)


def read_end(end: Any, clock: Clock | None, name: str) -> Fraction:
    """A number, or that of a date or time, as a user writes it."""
    if clock is None:
        return _check.fraction(end, name)
    try:
        return count_time(end, clock)
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None


def spell(number: Fraction, clock: Clock | None) -> Any:
    return number if clock is None else write_time(number, clock)


def find_fill(name: str, missing: Any, *, own: bool, clock: Clock | None) -> Fraction | Place | None:
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
    if isinstance(missing, str) and missing.isalpha() and clock is None:
        raise ValueError(f"missing of {name!r} must be a number, or 'skip', got {_check.shown(missing)}")
    return read_end(missing, clock, f"missing of {name!r}")


def short(number: Fraction) -> str:
    """An edge as labels write it."""
    return str(number.numerator) if number.denominator == 1 else repr(float(number))


def check_name(name: Any) -> None:
    """Refuse names that cannot be used: engines know columns by text, and Polars reads some texts as patterns."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a column must be text, got {type(name).__name__}; rename the column")
    if name == "*" or (name.startswith("^") and name.endswith("$")):
        raise ValueError(f"the column name {name!r} is a pattern to some engines; rename the column")
