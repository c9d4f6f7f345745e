"""Columns of Python objects: lists, and whatever frames call objects. One rule for all, object by object."""

import math
import numbers
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds.tables.schema import Column, DataError, Levels, Numeric

if TYPE_CHECKING:
    import polars as pl


def polars_type(column: Column) -> Any:
    """The type of a column that has none of its own."""
    import polars as pl

    if not isinstance(column, Levels):
        return pl.Float64
    return {str: pl.String, int: pl.Float64, bool: pl.Boolean}[type(column.levels[0])]


def wrong_type(column: Column) -> DataError:
    """The error for a column whose type does not fit its rule. The same for every record and engine."""
    if isinstance(column, Levels):
        kind = {str: "text", int: "integers", bool: "booleans"}[type(column.levels[0])]
        return DataError(
            f"column {column.name!r} must hold {kind}, as its levels are; convert it, or give other levels"
        )
    rule = "bounds" if isinstance(column, Numeric) else "edges"
    return DataError(f"column {column.name!r} must hold numbers to have {rule}; convert text or other objects first")


def converted(values: Sequence[Any], column: Column, *, text: bool = False) -> "pl.Series":
    """A column of objects in Polars.

    Objects of the wrong kind are values that are none of the levels, where ``other`` is declared; otherwise they are
    refused. ``text=True`` says that all of them are strings.
    """
    import polars as pl

    kind = polars_type(column)
    made: list[Any] | None = None
    if text and kind == pl.String:
        made = _encodable(values, column)
    elif not text:
        convert: Callable[[Any], Any] = {pl.String: _text, pl.Boolean: _boolean, pl.Float64: _number}[kind]
        made = [None if _is_missing(value) else convert(value) for value in values]
        if any(value is _UNFIT for value in made):
            stray = _stray(column)
            made = None if stray is None else [stray if value is _UNFIT else value for value in made]
        elif kind == pl.String:
            made = _encodable(made, column)
    if made is None:
        raise wrong_type(column)
    return pl.Series(column.name, made, dtype=kind)


# Stands for an object of the wrong kind.
_UNFIT = object()


def _stray(column: Column) -> Any:
    """A value of the column's type that is none of its levels (or is the level that they go to); None refuses."""
    if not isinstance(column, Levels) or column.other is None:
        return None
    if isinstance(column.levels[0], str):
        return column.strays[0]
    if isinstance(column.levels[0], bool):
        return next((value for value in (False, True) if value not in column.levels), column.other)
    return 0.5


def _encodable(values: Sequence[Any], column: Column) -> list[Any]:
    """Text that cannot be written as UTF-8 is no level; an engine would quote it in its complaint."""
    assert isinstance(column, Levels)
    stray = column.strays[0]
    return [value if value is None or _is_utf8(value) else stray for value in values]


def _is_utf8(value: str) -> bool:
    return value.isascii() or not any(0xD800 <= ord(letter) <= 0xDFFF for letter in value)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, numbers.Real) and not isinstance(value, numbers.Rational) and bool(value != value)


def _text(value: Any) -> Any:
    # Not str(value): an enumeration of text has a text of its own.
    return str.__str__(value) if isinstance(value, str) else _UNFIT


def _boolean(value: Any) -> Any:
    return bool(value) if isinstance(value, bool | np.bool_) else _UNFIT


def _number(value: Any) -> Any:
    if isinstance(value, np.timedelta64) or not isinstance(value, numbers.Real | Decimal | np.bool_):
        return _UNFIT
    try:
        return float(value)
    except OverflowError:
        # An integer or fraction beyond all doubles: its sign is enough to clip it.
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
