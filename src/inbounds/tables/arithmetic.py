"""Arithmetic that every engine does in the same way."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import narwhals as nw


def floor(value: "nw.Expr") -> "nw.Expr":
    """The floor as a double: some engines return an integer, which gives other products."""
    import narwhals as nw

    return value.floor().cast(nw.Float64)


def zero_one(condition: "nw.Expr") -> "nw.Expr":
    """1 where a condition without missing values holds, and 0 elsewhere."""
    import narwhals as nw

    # Integers first: to PostgreSQL 1.0 is a decimal number.
    return nw.when(condition).then(1).otherwise(0).cast(nw.Float64)
