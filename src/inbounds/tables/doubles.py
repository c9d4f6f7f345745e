"""Numbers of records in double precision, and as whole numbers of steps, for every engine."""

import math
from typing import TYPE_CHECKING

from inbounds.tables.arithmetic import floor, zero_one
from inbounds.tables.schema import Quantised

if TYPE_CHECKING:
    import narwhals as nw


def number(name: str, dtype: "nw.dtypes.DType") -> "nw.Expr":
    """A column of numbers in double precision, with null for what is missing."""
    import narwhals as nw

    column = nw.col(name)
    return _as_number(column) if dtype == nw.Boolean else column.cast(nw.Float64).fill_nan(None)


def number_as_it_is(name: str, dtype: "nw.dtypes.DType") -> "nw.Expr":
    """A column of numbers in double precision, with null or NaN for what is missing: for DuckDB."""
    import narwhals as nw

    column = nw.col(name)
    return _as_number(column) if dtype == nw.Boolean else column.cast(nw.Float64)


def _as_number(condition: "nw.Expr") -> "nw.Expr":
    """1 and 0 for true and false, with null for what is missing, which not every engine takes for a condition."""
    import narwhals as nw

    number = zero_one(condition.fill_null(False))
    return nw.when(condition.is_null()).then(nw.lit(None, dtype=nw.Float64)).otherwise(number)


# claim:records
def integers(value: "nw.Expr", quantised: Quantised, *, flat: bool) -> "nw.Expr":
    """Records as integers 0..count, held in doubles: ⌊(x - lower)/step + ½⌋, clipped.

    Clipping comes last, before the floor: whatever arithmetic does to 1e300 or infinity, the result is in range.

    Every number becomes a double first, even an integer beyond 2^53: where types are made from values, one more record
    can turn integers into doubles, which would move exact ones.
    """
    import narwhals as nw

    column = quantised.column
    # Polars takes 0 as larger than null, and 0 is the integer of the lower bound.
    filled = value if flat and column.fill == column.lower else value.fill_null(float(column.fill))
    scaled, top = scale(filled, quantised), quantised.count + 0.5
    if not flat:
        return floor(scaled.clip(0.0, top))
    # The same at less than half of the cost, in Polars.
    return nw.min_horizontal(nw.max_horizontal(scaled, nw.lit(0.0)), nw.lit(top)).floor()


def scale(value: "nw.Expr", quantised: Quantised) -> "nw.Expr":
    """(x - lower)/step + ½."""
    column = quantised.column
    return (value - float(column.lower) if column.lower else value) * float(1 / quantised.step) + 0.5


# Whole numbers up to this size stay exact when counts are added or subtracted.
_FAR = 2.0**51


def round_scaled(value: "nw.Expr", quantised: Quantised) -> "nw.Expr":
    """⌊(x - lower)/step + ½⌋ in DuckDB, not clipped, with null or NaN for what is missing."""
    return scale(value, quantised).floor()


def settle(rounded: "nw.Expr", quantised: Quantised, *, null: bool) -> "nw.Expr":
    """The result of `round_scaled` within ±2^51, with missing numbers as the integer that they count as, or as null.

    Most records take one arm: an arm that only a few records take costs as much as ten steps of arithmetic.
    """
    import narwhals as nw

    column = quantised.column
    fill = math.floor((float(column.fill) - float(column.lower)) * float(1 / quantised.step) + 0.5)
    missing = nw.lit(None, dtype=nw.Float64) if null else nw.lit(float(fill))
    end = nw.when(rounded > 0.0).then(nw.lit(_FAR)).otherwise(nw.lit(-_FAR))
    other = nw.when(rounded.is_null() | rounded.is_nan()).then(missing).otherwise(end)
    return nw.when(rounded.abs() <= _FAR).then(rounded).otherwise(other)


def clip_settled(whole: "nw.Expr", quantised: Quantised) -> "nw.Expr":
    """`integers` in DuckDB, from the result of `settle`: (|k| - |k - M| + M)/2 is k clipped to 0..M.

    Every term is a whole number below 2^53. `greatest` and `least` cost DuckDB three times as much.
    """
    most = float(quantised.count)
    return (whole.abs() - (whole - most).abs() + most) * 0.5
