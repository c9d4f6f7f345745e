"""Any table as a Narwhals frame of just the columns wanted.

Lists, arrays, Series, dictionaries of them, pandas and Arrow tables are handed to Polars, without a copy where the
memory allows it: it runs the same query faster than they do. Lazy, distributed and database frames stay what they are.

Names and types of columns are public; nothing here may depend on values. So a type that records can change (a missing
value turns pandas integers to floats) is not relied on.
"""

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from inbounds.tables.schema import Column, DataError, Levels, Numeric, unknown_column

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

Frame: TypeAlias = "nw.DataFrame[Any] | nw.LazyFrame[Any]"


def read(data: Any, columns: Sequence[Column]) -> tuple[Frame, frozenset[str]]:
    """The columns of a table, and which of them are of an integer type whatever records they hold."""
    import narwhals as nw

    if not columns and (isinstance(data, Mapping) or _is_column(data)):
        return _rows_only(next(iter(data.values()), []) if isinstance(data, Mapping) else data), frozenset()
    if isinstance(data, Mapping):
        return _from_parts({column.name: _part(data, column.name) for column in columns}, columns)
    if _is_column(data):
        if len(columns) != 1:
            raise DataError("a single column of values was given where a table is needed")
        return _from_parts({columns[0].name: data}, columns)
    try:
        frame = nw.from_native(data)
    except TypeError:
        frame = None
    except ValueError:
        # Narwhals refuses repeated names.
        raise DataError("the table has two columns of the same name; rename one") from None
    if frame is None or isinstance(frame, nw.Series):
        raise TypeError(f"data must be a table, a column of values or a dictionary of columns, got {_kind(data)}")
    names = frame.collect_schema().names()
    for column in columns:
        if column.name not in names:
            raise unknown_column(column.name, names)
    if columns:
        frame = frame.select(*dict.fromkeys(column.name for column in columns))
    integers = _integers(frame, columns)
    if frame.implementation.is_polars():
        frame = _all_typed(frame, columns)
    elif isinstance(frame, nw.DataFrame):
        frame = _in_polars(frame, columns)
    return frame, integers


def _rows_only(values: Any) -> Frame:
    """A table with as many rows, where nothing but their number is asked for."""
    import narwhals as nw
    import polars as pl

    return nw.from_native(pl.DataFrame({"row": np.zeros(len(values))}))


def _kind(data: Any) -> str:
    return f"{type(data).__module__}.{type(data).__qualname__}".removeprefix("builtins.")


def _part(data: Mapping[Any, Any], name: str) -> Any:
    if name not in data:
        raise unknown_column(name, data)
    return data[name]


def _is_column(data: Any) -> bool:
    import narwhals.dependencies as known

    return isinstance(data, list | tuple | range | np.ndarray) or known.is_into_series(data) or _is_arrow_array(data)


def _is_arrow_array(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "pyarrow" and hasattr(data, "to_pylist") and hasattr(data, "type")


def _integers(frame: Frame, columns: Sequence[Column]) -> frozenset[str]:
    """Columns of integers or booleans.

    NumPy's types, which pandas and Dask may use, hold no missing value: a column that gets one changes its type. Where
    a missing value is allowed they say whether there is one, and do not count.
    """
    import narwhals as nw

    schema = frame.collect_schema()
    by_numpy = frame.implementation.is_pandas_like() or frame.implementation.is_dask()
    types = frame.to_native().dtypes if by_numpy else {}
    return frozenset(
        column.name
        for column in columns
        if (schema[column.name].is_integer() or schema[column.name] == nw.Boolean)
        and not (column.missing is not None and by_numpy and isinstance(types[column.name], np.dtype))
    )


def _from_parts(parts: Mapping[str, Any], columns: Sequence[Column]) -> tuple[Frame, frozenset[str]]:
    import narwhals as nw
    import polars as pl

    series = {column.name: _series(parts[column.name], column) for column in columns}
    if len({one.len() for one in series.values()}) > 1:
        raise DataError("the columns of the table differ in length")
    fixed = {column.name for column in columns if column.missing is None or hasattr(parts[column.name], "null_count")}
    typed = {name for name, values in parts.items() if not isinstance(values, list | tuple)}
    whole = {name for name, one in series.items() if one.dtype.is_integer() or one.dtype == pl.Boolean}
    return nw.from_native(pl.DataFrame(series)), frozenset(whole & fixed & typed)


def _series(values: Any, column: Column) -> "pl.Series":
    """A column of values in Polars."""
    import narwhals as nw
    import narwhals.dependencies as known
    import polars as pl

    if isinstance(values, pl.Series):
        return _typed(values.alias(column.name), column)
    if _is_arrow_array(values):
        return _typed(pl.Series(column.name, values), column)
    if known.is_into_series(values):
        frame = nw.from_native(values, series_only=True).alias(column.name).to_frame()
        return _in_polars(frame, [column]).to_native()[column.name]  # type: ignore[no-any-return]
    if isinstance(values, np.ndarray) and not np.ma.isMaskedArray(values):
        return _from_array(values, column)
    if isinstance(values, np.ma.MaskedArray):
        values = values.tolist()
    if not isinstance(values, list | tuple | range):
        raise TypeError(f"column {column.name!r} must be a list, an array or a Series, got {_kind(values)}")
    return _converted(values, column)


def _from_array(values: "np.ndarray[Any, Any]", column: Column) -> "pl.Series":
    import polars as pl

    if values.ndim != 1:
        raise DataError(f"column {column.name!r} must have one dimension, got {values.ndim}")
    if values.dtype.kind in "UT" and isinstance(column, Levels) and isinstance(column.levels[0], str):
        return pl.Series(column.name, values.tolist(), dtype=pl.String)
    if values.dtype.kind in "OUT":
        return _converted(values.tolist(), column)
    if values.dtype.kind not in "biuf":
        raise _wrong_type(column)
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        values = values.astype(np.float64)
    return pl.Series(column.name, values.astype(values.dtype.newbyteorder("="), copy=False))


def _in_polars(frame: "nw.DataFrame[Any]", columns: Sequence[Column]) -> "nw.DataFrame[Any]":
    """An eager pandas or Arrow frame in Polars; as it is where Polars cannot take it."""
    import narwhals as nw
    import polars as pl

    native = frame.to_native()
    wanted = {column.name: column for column in columns}
    try:
        if frame.implementation.is_pandas():
            made = pl.DataFrame({name: _from_pandas(native[name], wanted[name]) for name in frame.columns})
        else:
            made = pl.DataFrame(pl.from_arrow(native))
    except DataError:
        raise
    except Exception:
        # Without pyarrow, or with a type that Polars lacks. The engine's message might quote a value.
        return frame
    return nw.from_native(made.with_columns(_typed(made[name], column) for name, column in wanted.items()))


def _from_pandas(values: Any, column: Column) -> "pl.Series":
    import polars as pl

    if isinstance(values.dtype, np.dtype):
        return _from_array(values.to_numpy(), column)
    return pl.Series(column.name, pl.from_pandas(values))


def _all_typed(frame: Frame, columns: Sequence[Column]) -> Frame:
    """A Polars frame with a type for every column; in a lazy one only missing columns can lack it."""
    import narwhals as nw
    import polars as pl

    native, wanted = frame.to_native(), {column.name: column for column in columns}
    untyped = [name for name, dtype in native.collect_schema().items() if dtype in (pl.Null, pl.Object)]
    if isinstance(native, pl.DataFrame):
        return nw.from_native(native.with_columns(_typed(native[name], wanted[name]) for name in untyped))
    made: Frame = nw.from_native(native.with_columns(pl.col(name).cast(_kind_of(wanted[name])) for name in untyped))
    return made


def _typed(series: "pl.Series", column: Column) -> "pl.Series":
    """Columns without any type, because every record is missing or an object."""
    import polars as pl

    if series.dtype == pl.Null:
        return series.cast(_kind_of(column))
    return _converted(series.to_list(), column) if series.dtype == pl.Object else series


def _kind_of(column: Column) -> Any:
    import polars as pl

    if isinstance(column, Levels) and not isinstance(column.levels[0], int):
        return pl.String
    return pl.Boolean if isinstance(column, Levels) and isinstance(column.levels[0], bool) else pl.Float64


def _converted(values: Sequence[Any], column: Column) -> "pl.Series":
    """Python objects, one by one, by the same rule for all of them."""
    import polars as pl

    if isinstance(column, Levels) and isinstance(column.levels[0], str):
        convert: Callable[[Any], Any] = _text
    elif isinstance(column, Levels) and isinstance(column.levels[0], bool):
        convert = _boolean
    else:
        convert = _number
    try:
        converted = [None if _is_missing(value) else convert(value) for value in values]
    except _Unfit:
        converted = None
    if converted is None:
        raise _wrong_type(column)
    return pl.Series(column.name, converted, dtype=_kind_of(column))


class _Unfit(Exception):
    """An object of the wrong kind; holds nothing."""


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, numbers.Real) and not isinstance(value, numbers.Rational) and bool(value != value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Unfit
    return str(value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise _Unfit
    return bool(value)


def _number(value: Any) -> float:
    if isinstance(value, np.bool_):
        return float(value)
    if not isinstance(value, numbers.Real | Decimal):
        raise _Unfit
    try:
        return float(value)
    except OverflowError:
        # An integer or fraction beyond all doubles: its sign is enough to clip it.
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    except ValueError:
        raise _Unfit from None


def _wrong_type(column: Column) -> DataError:
    """The error for a column whose type does not fit its rule. The same for every record and engine."""
    if isinstance(column, Levels):
        kind = {str: "text", int: "integers", bool: "booleans"}[type(column.levels[0])]
        return DataError(
            f"column {column.name!r} must hold {kind}, as its levels are; convert it, or give other levels"
        )
    rule = "bounds" if isinstance(column, Numeric) else "edges"
    return DataError(f"column {column.name!r} must hold numbers to have {rule}; convert text or other objects first")


def check_types(frame: Frame, columns: Sequence[Column]) -> None:
    """Refuse a column whose type does not fit its rule."""
    import narwhals as nw

    schema = frame.collect_schema()
    for column in columns:
        dtype = schema[column.name]
        if not isinstance(column, Levels):
            fits = dtype.is_numeric() or dtype == nw.Boolean
        elif isinstance(column.levels[0], bool):
            fits = dtype == nw.Boolean
        elif isinstance(column.levels[0], int):
            fits = dtype.is_integer() or dtype.is_float()
        else:
            fits = dtype in (nw.String, nw.Categorical, nw.Enum)
        if not fits:
            raise _wrong_type(column)
