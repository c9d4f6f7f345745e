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


def number_or_nan(name: str, dtype: "nw.dtypes.DType") -> "nw.Expr":
    """A column of numbers in double precision, with NaN for what is missing: for DuckDB."""
    import narwhals as nw

    column = nw.col(name)
    return (_as_number(column) if dtype == nw.Boolean else column.cast(nw.Float64)).fill_null(math.nan)


def _as_number(condition: "nw.Expr") -> "nw.Expr":
    """1 and 0 for true and false, with null for what is missing, which is no condition to all engines."""
    import narwhals as nw

    known = zero_one(condition.fill_null(False))
    return nw.when(condition.is_null()).then(nw.lit(None, dtype=nw.Float64)).otherwise(known)


def integers(value: "nw.Expr", quantised: Quantised, *, flat: bool) -> "nw.Expr":
    """claim:records. Records as integers 0..count, held in doubles: ⌊(x - lower)/step + ½⌋, clipped.

    Clipping comes last but for the floor: whatever arithmetic does to 1e300 or infinity, the result is in range.

    Every number is a double first, an integer beyond 2^53 included: where types are made from values, one record more
    turns integers to doubles, and exact ones would be moved by it.
    """
    import narwhals as nw

    column = quantised.column
    # Of null and 0 both of the flat engines take 0 for the larger, which is the integer of the lower bound.
    filled = value if flat and column.fill == column.lower else value.fill_null(float(column.fill))
    scaled, top = scale(filled, quantised), quantised.count + 0.5
    if not flat:
        return floor(scaled.clip(0.0, top))
    # The same, at less than half of the cost in Polars and DuckDB.
    return nw.min_horizontal(nw.max_horizontal(scaled, nw.lit(0.0)), nw.lit(top)).floor()


def scale(value: "nw.Expr", quantised: Quantised) -> "nw.Expr":
    """(x - lower)/step + ½."""
    column = quantised.column
    return (value - float(column.lower) if column.lower else value) * float(1 / quantised.step) + 0.5


def integers_of_scaled(scaled: "nw.Expr", quantised: Quantised) -> "nw.Expr":
    """`integers` in DuckDB, of numbers that were scaled before, with NaN for those that are left out: 0 for these."""
    import narwhals as nw

    top = nw.lit(quantised.count + 0.5)
    beyond = nw.when(scaled.is_nan()).then(nw.lit(0.0)).otherwise(top)
    return nw.when(scaled <= top).then(nw.max_horizontal(scaled, nw.lit(0.0))).otherwise(beyond).floor()
