"""Columns whose type was made from their values: text of a CSV file, NumPy, pandas, lists of objects.

One record can change such a type: a text among integers makes pandas hand over objects, a missing value makes it hand
over doubles. So the type decides nothing here. What becomes of a value follows from the value and the column's rule:

==================  ======================  ==========================  ====================  =======================
value               bounds or edges         integer levels              boolean levels        text levels
==================  ======================  ==========================  ====================  =======================
missing, NaN        missing                 missing                     missing               missing
boolean             0 or 1                  0 or 1                      itself                ``True``, ``False``
number              itself                  itself                      1 and 0 are booleans  as written: ``1``, ``1.5``
text                the number or boolean   the number or boolean it    the number or         itself
                    it is, else missing     is, else no level           boolean it is, else
                                                                        no level
anything else       missing                 no level                    no level              no level
==================  ======================  ==========================  ====================  =======================

If a date or a time is needed, dates and times are themselves, text is read in the form of ISO 8601 (``2013-06-01``,
``2013-06-01 12:30:00``), and anything else is missing; `inbounds.tables.untyped_times` has the rules.

Numbers are doubles: an integer beyond 2^53 is rounded to a double, however it is stored. Text is a number if it has
decimal digits, perhaps with a point, an exponent and spaces around it: ``12``, ``-1.5``, ``1e3``, ``inf``. It is a
boolean if it is ``true``, ``True``, ``TRUE``, or ``false`` in one of these ways. If a number is needed, text that is
blank or ``nan`` is missing. Ids are not rounded, and none of them is refused (`inbounds.tables.identity`).
"""

import math
import numbers
import re
from collections.abc import Container, Sequence
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from inbounds.tables.identity import mark_text, write_id, write_numbers, write_times
from inbounds.tables.schema import Column, DataError, Levels, Numeric, Operand
from inbounds.tables.untyped_times import SPACES, fit_times, text_as_time, to_seconds

if TYPE_CHECKING:
    import polars as pl

Kind: TypeAlias = Literal["number", "integer", "boolean", "text", "time", "id", "order"]
# A number that is no level: those are whole.
_NO_NUMBER = 0.5
_TRUE, _FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
# Texts that are missing if a number is needed.
_NOTHING = ("", "nan", "+nan", "-nan")
# Whole doubles up to here are written without an exponent or a point.
_WHOLE = 1 << 53


def kind_of(column: Column) -> Kind:
    """What a column holds by its rule alone."""
    if isinstance(column, Operand):
        # If only its presence matters, text is enough.
        return "text" if column.kind == "any" else column.kind
    if not isinstance(column, Levels):
        return "number" if column.clock is None else "time"
    kinds: dict[type, Kind] = {str: "text", int: "integer", bool: "boolean"}
    return kinds[type(column.levels[0])]


def typed_name(column: Column) -> str:
    """The name of a column in the type of its rule. By another rule, the same column may have another type and name."""
    return f"{column.name}\0{kind_of(column)}"


def source_name(column: Column, names: Container[str]) -> str:
    """The name of a column in a frame that `inbounds.tables.sources.read` returned, from the names in the frame."""
    name = typed_name(column)
    return name if name in names else column.name


def polars_type(column: Column) -> Any:
    """The type of an untyped column. Booleans are words, so that there can be values other than two."""
    import polars as pl

    return pl.Float64 if kind_of(column) in ("number", "integer", "time", "order") else pl.String


def wrong_type(column: Column) -> DataError:
    """The error for a column whose declared type does not fit its rule. The same for every record and engine."""
    if isinstance(column, Levels):
        if column.other is None and column.keywords[0] == "level":
            return DataError(f"column {column.name!r} must hold 0 and 1, or truths; name the one to count with level=")
        kind = {"text": "text", "integer": "integers", "boolean": "booleans"}[kind_of(column)]
        quotes = "in quotes if it holds text" if kind != "text" else "without quotes if it holds numbers"
        return DataError(
            f"column {column.name!r} must hold {kind}, as its levels are; write the levels {quotes}, or convert it"
        )
    if isinstance(column, Operand):
        if column.kind == "id":
            return DataError(f"column {column.name!r} must hold text, numbers, dates or times, as ids of persons do")
        if column.kind == "order":
            return DataError(f"column {column.name!r} must hold numbers, dates or times, as rows are ordered by it")
        kind = {"text": "text", "number": "numbers", "boolean": "booleans", "time": "dates or times"}[column.kind]
        dates = f", or write days({column.name}) if it holds dates" if column.kind == "number" else ""
        rule = f"column {column.name!r} must hold {kind}, as it is used in an expression"
        return DataError(f"{rule}; convert it first{dates}")
    if column.clock is not None:
        return DataError(f"column {column.name!r} must hold dates or times, as its rule has them; convert it first")
    rule = "bounds" if isinstance(column, Numeric) else "edges"
    return DataError(
        f"column {column.name!r} must hold numbers to have {rule}; convert text or other objects first, or write "
        f"{rule} of dates as 2013-01-31"
    )


def fit(series: "pl.Series", column: Column) -> "pl.Series":
    """A column of Polars in the type of its rule, by the table above, under its `typed_name`."""
    import polars as pl

    _require_short_numbers(column)
    kind, value = kind_of(column), pl.col(typed_name(column))
    series = series.alias(typed_name(column))
    if series.dtype == pl.Null:
        return series.cast(polars_type(column))
    if series.dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    if kind == "time":
        times = fit_times(series, column.zone)  # type: ignore[union-attr]
        return from_objects(series.to_list(), column) if times is None else times
    if kind in ("id", "order"):
        return _fit_persons(series, column)
    if series.dtype == pl.String:
        expression = text_as(value, column, blank=False)
    elif series.dtype == pl.Boolean:
        expression = _booleans_as(value, kind)
    elif series.dtype.is_numeric():
        if kind in ("number", "integer") and not series.dtype.is_decimal():
            return series
        expression = _numbers_as(value.cast(pl.Float64, strict=False).fill_nan(None), kind)
    else:
        return from_objects(series.to_list(), column)
    return series.to_frame().select(expression.alias(series.name)).to_series()


def text_as(text: "pl.Expr", column: Column, *, blank: bool = True) -> "pl.Expr":
    """Text in the type of a column's rule. ``blank``: an empty text is missing, as in a file."""
    import polars as pl

    kind = kind_of(column)
    if kind in ("number", "integer", "boolean"):
        # With or without ``blank``, empty text is no number, and missing where levels are asked for.
        read = partial(_read_block, kind=kind)
        return text.map_batches(read, return_dtype=polars_type(column), is_elementwise=True)
    text = pl.when(text != "").then(text) if blank else text
    if kind in ("text", "id"):
        return text
    if kind == "time":
        return text_as_time(text, column.zone)  # type: ignore[union-attr]
    trimmed = text.str.strip_chars(SPACES)
    return pl.coalesce(trimmed.cast(pl.Float64, strict=False).fill_nan(None), text_as_time(text, None))


def _read_block(text: "pl.Series", *, kind: Kind) -> "pl.Series":
    """Texts as numbers or booleans, in one step where all are numbers: words and spaces cost more than these.

    Text that is a number as it stands is the same number without the spaces around it, and no word.
    """
    import polars as pl

    # Polars reads some names as patterns.
    name, text = text.name, text.alias("text")
    numbers = text.cast(pl.Float64, strict=False).fill_nan(None)
    if numbers.null_count() > text.null_count():
        unread = numbers.is_null() & text.is_not_null()
        words = text.filter(unread).to_frame().select(_read_words(pl.col("text"), kind)).to_series()
        numbers = numbers.scatter(unread.arg_true(), words)
    return numbers.to_frame().select(_numbers_as(pl.col("text"), kind).alias("text")).to_series().alias(name)


def _read_words(text: "pl.Expr", kind: Kind) -> "pl.Expr":
    """Texts that may have spaces around them, or be words. For integers, a text that is no level is not missing."""
    import polars as pl

    trimmed = text.str.strip_chars(SPACES)
    truth = pl.when(trimmed.is_in(_TRUE)).then(pl.lit(1.0)).when(trimmed.is_in(_FALSE)).then(pl.lit(0.0))
    number = truth.otherwise(trimmed.cast(pl.Float64, strict=False).fill_nan(None))
    if kind == "number":
        return number
    no_level = number.is_null() & trimmed.is_not_null() & ~trimmed.str.to_lowercase().is_in(_NOTHING)
    return pl.when(no_level).then(pl.lit(_NO_NUMBER)).otherwise(number)


def _fit_persons(series: "pl.Series", column: Column) -> "pl.Series":
    """Ids, and what rows are ordered by. Numbers to order by are doubles, however they are stored. Ids are text, since
    one record could decide whether they are stored as text."""
    import polars as pl

    if kind_of(column) == "id":
        return _fit_ids(series, column)
    if series.dtype.is_numeric():
        return series.cast(pl.Float64, strict=False).fill_nan(None).alias(series.name)
    if series.dtype == pl.String:
        text = text_as(pl.col(series.name), column, blank=False)
        return series.to_frame().select(text.alias(series.name)).to_series()
    if series.dtype in (pl.Date, pl.Datetime):
        times = fit_times(series, None)
        return from_objects(series.to_list(), column) if times is None else times
    return from_objects(series.to_list(), column)


def _fit_ids(series: "pl.Series", column: Column) -> "pl.Series":
    import polars as pl

    if series.dtype == pl.String:
        return series.to_frame().select(mark_text(pl.col(series.name)).alias(series.name)).to_series()
    if series.dtype.is_numeric() or series.dtype == pl.Boolean:
        return write_numbers(series)
    return write_times(series) if series.dtype.is_temporal() else from_objects(series.to_list(), column)


def _booleans_as(value: "pl.Expr", kind: Kind) -> "pl.Expr":
    import polars as pl

    if kind in ("number", "integer"):
        return value.cast(pl.Float64)
    words = ("true", "false") if kind == "boolean" else ("True", "False")
    return pl.when(value).then(pl.lit(words[0])).when(~value).then(pl.lit(words[1]))


def _numbers_as(value: "pl.Expr", kind: Kind) -> "pl.Expr":
    import polars as pl

    if kind in ("number", "integer"):
        return value
    if kind == "boolean":
        words = pl.when(value == 1).then(pl.lit("true")).when(value == 0).then(pl.lit("false"))
        return words.when(value.is_not_null()).then(pl.lit("no"))
    whole = (value.floor() == value) & (value.abs() < _WHOLE)
    text = value.cast(pl.String)
    return pl.when(whole).then(pl.when(whole).then(value).cast(pl.Int64).cast(pl.String)).otherwise(text)


def from_objects(values: Sequence[Any], column: Column) -> "pl.Series":
    """A column of Python objects, one by one."""
    import polars as pl

    _require_short_numbers(column)
    kinds = {"number": _number, "integer": _integer, "boolean": _boolean, "text": _text}
    convert: Any = (kinds | {"id": write_id, "order": _rank}).get(
        kind_of(column),
        lambda value: to_seconds(value, column.zone),  # type: ignore[union-attr]
    )
    # An object that cannot be read is no id.
    unfit = None if kind_of(column) == "id" else convert(None)

    def one(value: Any) -> Any:
        try:
            return None if _is_missing(value) else convert(value)
        except Exception:
            # An object whose own methods fail: it is no number and no level.
            return unfit

    converted = [one(value) for value in values]
    return pl.Series(typed_name(column), converted, dtype=polars_type(column))


def _require_short_numbers(column: Column) -> None:
    """Refuse text levels that are integers from 2^53 on: one record could decide whether they are stored as text, as
    integers or as doubles."""
    long = re.compile(r"-?[0-9]{16,}")
    if kind_of(column) == "text" and any(long.fullmatch(label) for label in getattr(column, "labels", ())):
        raise DataError(
            f"column {column.name!r} has levels of 16 digits or more, which its type does not keep: let a plan read "
            "the file, or hand over a column of text that Polars or PyArrow made"
        )


# A text that is no level: levels have no NUL.
_NO_LEVEL = "\0"


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, complex | np.complexfloating | np.datetime64 | np.timedelta64):
        return bool(value != value)
    return isinstance(value, numbers.Real) and not isinstance(value, numbers.Rational) and bool(value != value)


_IS_NUMBER = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*([eE][+-]?[0-9]+)?|\.[0-9]+([eE][+-]?[0-9]+)?|inf|infinity)", re.IGNORECASE
)


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        text = str.strip(value, SPACES)
        if text in (*_TRUE, *_FALSE):
            return float(text in _TRUE)
        return float(text) if _IS_NUMBER.fullmatch(text) and text.isascii() else None
    if isinstance(value, complex | np.complexfloating) and not value.imag:
        # NumPy turns all numbers in an array with a complex one into complex numbers.
        value = value.real
    if isinstance(value, np.timedelta64) or not isinstance(value, numbers.Real | Decimal | np.bool_):
        return None
    try:
        return float(value)
    except OverflowError:
        # An integer or fraction beyond all doubles: its sign is enough to clip it.
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    except (ValueError, TypeError, ArithmeticError):
        return None


def _integer(value: Any) -> float | None:
    number = _number(value)
    if number is None and isinstance(value, str) and str.strip(value, SPACES).lower() in _NOTHING:
        return None
    return _NO_NUMBER if number is None else number


def _boolean(value: Any) -> str | None:
    words = {0.0: "false", 1.0: "true"}
    number = _integer(value)
    return None if number is None else words.get(number, "no")


def _text(value: Any) -> Any:
    if isinstance(value, str):
        # Not str(value): an enumeration of text has a text of its own.
        text = str.__str__(value)
        return text if _is_utf8(text) else _NO_LEVEL
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    number = _number(value)
    if number is None:
        return _NO_LEVEL
    return str(int(number)) if abs(number) < _WHOLE and number == int(number) else _write_double(number)


def _rank(value: Any) -> float | None:
    """A number, or a date or time in seconds."""
    number = _number(value)
    return to_seconds(value, None) if number is None else number


def _write_double(number: float) -> str:
    """A double as Polars writes it."""
    import polars as pl

    return str(pl.Series([number]).cast(pl.String)[0])


def _is_utf8(value: str) -> bool:
    """Text that cannot be written as UTF-8 is no level; an engine would quote it in its error."""
    return value.isascii() or not any(0xD800 <= ord(letter) <= 0xDFFF for letter in value)
