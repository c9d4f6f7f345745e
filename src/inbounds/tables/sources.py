"""Any table as a Narwhals frame with only the columns that are needed.

Lists, arrays, Series, dictionaries of them, pandas and Arrow tables are passed to Polars, without a copy if their
memory allows it: Polars runs the same query faster. Lazy, distributed and database frames stay what they are.

Frames whose columns have declared types (Polars, PyArrow, databases) are refused where a type does not fit its rule:
types are public there. Where types are made from values (lists, NumPy, pandas, CSV files) nothing depends on them: each
value is taken by itself (`inbounds.tables.untyped`).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from inbounds.errors import EngineError
from inbounds.tables.dialects import tells_instants
from inbounds.tables.identity import list_objects, write_moments
from inbounds.tables.schema import Column, DataError, Levels, Operand, is_written, unknown_column
from inbounds.tables.times import is_instant
from inbounds.tables.typed_ids import has_polars_type, is_loose, list_octets, write_lazy_ids, write_octets
from inbounds.tables.untyped import fit, from_objects, kind_of, polars_type, source_name, typed_name, wrong_type

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

Frame: TypeAlias = "nw.DataFrame[Any] | nw.LazyFrame[Any]"
_Result = TypeVar("_Result")


def guard(action: Callable[[], _Result]) -> _Result:
    """The result of an engine. The messages of its errors are not shown, because they might quote a value."""
    try:
        return action()
    except DataError:
        raise
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # Polars panics by a class of its own
        failure = type(error).__name__
    # Raised outside of the handler, it carries no context.
    message = f"the table's engine failed with {failure}; its message is not shown, since it might quote data"
    raise EngineError(message, failure)


def read(data: Any, columns: Sequence[Column]) -> Frame:
    """The columns of a table."""
    import narwhals as nw

    if isinstance(data, np.ndarray) and data.dtype.names:
        data = {name: data[name] for name in data.dtype.names}
    if isinstance(data, list | tuple):
        _refuse_rows(data)
    if not columns and (isinstance(data, Mapping) or is_column(data)):
        return _rows_only(list(data.values()) if isinstance(data, Mapping) else [data])
    if isinstance(data, Mapping):
        return _from_parts({column.name: _part(data, column) for column in columns}, columns)
    if is_column(data):
        if len({column.name for column in columns}) != 1:
            raise DataError("data must be a table with named columns, got a single column of values")
        return _from_parts({columns[0].name: data}, columns)
    frame = _frame(data)
    if frame is None:
        raise TypeError(
            f"data must be a table, a column of values or a dictionary of columns, got {_kind(data)}{_remedy(data)}"
        )
    names = guard(lambda: frame.collect_schema().names())
    if len(set(names)) < len(names):
        raise _repeated(names)
    if frame.implementation.is_pyspark() or frame.implementation.is_pyspark_connect():
        _require_plain(names, columns)
    for column in columns:
        if column.name not in names:
            raise unknown_column(column.name, names, written=is_written(column))
    if not columns:
        return frame
    selection = guard(lambda: frame.select(*dict.fromkeys(source_name(column, names) for column in columns)))
    if selection.implementation.is_polars():
        return guard(lambda: write_octets(_all_typed(selection, columns), list_octets(selection, columns)))
    if not isinstance(selection, nw.DataFrame):
        return guard(lambda: write_lazy_ids(selection, columns, _write_part))
    if selection.implementation.is_pandas():
        return guard(lambda: _from_pandas(selection, columns))
    return guard(lambda: _from_arrow(selection, columns))


def _refuse_rows(data: Sequence[Any]) -> None:
    """Refuse a list of rows, of which every element would count as a missing value or as another level.

    One element that is no row is enough for a column of values: no record decides this for others.
    """
    for kind, word, way, fields in (
        (Mapping, "dictionaries", "", "row['age']"),
        (list | tuple, "rows", ", orient='row'", "row[0]"),
    ):
        if len(data) > 1 and all(isinstance(row, kind) for row in data):
            raise TypeError(
                f"data must be a table or a column of values, got a list of {word}; make a table of it, as in "
                f"polars.DataFrame(data{way}) or {{'age': [{fields} for row in data]}}"
            )


def _frame(data: Any) -> "Frame | None":
    """A frame that Narwhals knows, or None."""
    import narwhals as nw

    if type(data).__name__ == "RecordBatch" and hasattr(data, "to_pydict"):
        import pyarrow as pa

        data = pa.Table.from_batches([data])
    try:
        frame = nw.from_native(data)
    except TypeError:
        return None
    except Exception:
        # pandas with repeated names, which have been seen to be refused here.
        raise _repeated(list(getattr(data, "columns", ()))) from None
    return None if isinstance(frame, nw.Series) else frame


def _repeated(names: Sequence[Any]) -> DataError:
    """The error for a table with two columns of one name, which is public."""
    twice = [name for i, name in enumerate(names) if name in names[:i] and isinstance(name, str)]
    return DataError(f"the table has two columns of the same name{f', {twice[0]!r}' if twice else ''}; rename one")


def _require_plain(names: Sequence[str], columns: Sequence[Column]) -> None:
    """Refuse columns that Spark does not find by their names: it reads dots as parts of them, and ignores cases."""
    for column in columns:
        if {".", "`"} & set(column.name):
            raise DataError(
                f"column {column.name!r} has a dot or a backtick in its name, which Spark reads otherwise; rename it"
            )
        alike = [name for name in names if name.casefold() == column.name.casefold()]
        if len(alike) > 1:
            raise DataError(
                f"the table has the columns {', '.join(map(repr, alike))}, which Spark takes for one; rename one"
            )


def _rows_only(values: Sequence[Any]) -> Frame:
    """A table with as many rows, if only their number is needed."""
    import narwhals as nw
    import polars as pl

    sizes = {len(column) for column in values if is_column(column)}
    if not all(is_column(column) for column in values):
        raise TypeError("the columns of a dictionary must be lists, arrays or Series")
    if len(sizes) > 1:
        raise DataError("the columns of the table differ in length")
    return nw.from_native(pl.DataFrame({"row": np.zeros(max(sizes, default=0))}))


def _kind(data: Any) -> str:
    return f"{type(data).__module__}.{type(data).__qualname__}".removeprefix("builtins.")


def _remedy(data: Any) -> str:
    """What to pass instead."""
    kind, (package, *_) = type(data), type(data).__module__.split(".")
    if "group" in kind.__name__.lower():
        return "; hand over the table itself, and name the column of groups with by="
    if package in ("dask", "ibis", "pyspark") and kind.__name__.endswith(("Column", "Series")):
        return "; hand over the table itself, and name the column"
    if way := next((way for way in ("to_table", "read_all") if hasattr(kind, way)), None):
        return f"; hand over the table that its {way}() gives"
    if hasattr(kind, "sql") and hasattr(kind, "table"):
        return "; hand over one of its tables, as in connection.table('survey')"
    return "" if data is None else "; use list(...) to make a column"


def _part(data: Mapping[Any, Any], column: Column) -> Any:
    if column.name not in data:
        raise unknown_column(column.name, data, written=is_written(column))
    return data[column.name]


def is_column(data: Any) -> bool:
    """Whether data are the values of one column."""
    import narwhals.dependencies as known

    return isinstance(data, list | tuple | range | np.ndarray) or known.is_into_series(data) or _is_arrow_array(data)


def is_table(data: Any) -> bool:
    """Whether data are a table that can be read."""
    return isinstance(data, Mapping) or (not is_column(data) and _frame(data) is not None)


def _is_arrow_array(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "pyarrow" and hasattr(data, "to_pylist") and hasattr(data, "type")


def _from_parts(parts: Mapping[str, Any], columns: Sequence[Column]) -> Frame:
    import narwhals as nw
    import polars as pl

    series = [_series(parts[column.name], column) for column in dict.fromkeys(columns)]
    if len({each.len() for each in series}) > 1:
        raise DataError("the columns of the table differ in length")
    return nw.from_native(pl.DataFrame({each.name: each for each in series}))


def _write_part(part: Any, column: Column) -> Any:
    """The ids of a partition of pandas as text."""
    texts = _from_pandas_series(part, column).to_list()
    return type(part)(texts, index=part.index, name=typed_name(column), dtype=object)


def _series(values: Any, column: Column) -> "pl.Series":
    """A column of values in Polars: under its own name where its type is declared, otherwise in that of its rule."""
    import narwhals as nw
    import narwhals.dependencies as known
    import polars as pl

    if isinstance(values, pl.Series):
        return guard(lambda: _apply_type(values.alias(column.name), column))
    if _is_arrow_array(values):
        return guard(lambda: _from_arrow_array(values, column))
    if known.is_pandas_series(values):
        return guard(lambda: _from_pandas_series(values, column))
    if known.is_into_series(values):
        return guard(lambda: from_objects(nw.from_native(values, series_only=True).to_list(), column))
    if isinstance(values, np.ndarray) and values.dtype.kind in _list_unfit(column):
        raise wrong_type(column)
    if isinstance(values, np.ndarray) and not np.ma.isMaskedArray(values):
        return guard(lambda: _from_array(values, column))
    if isinstance(values, np.ma.MaskedArray):
        values = list(values) if kind_of(column) == "id" else values.tolist()
    if not isinstance(values, list | tuple | range):
        raise TypeError(f"column {column.name!r} must be a list, an array or a Series, got {_kind(values)}")
    return guard(lambda: from_objects(values, column))


def _list_unfit(column: Column) -> str:
    """The kinds of NumPy's types that do not fit the rule of a column: times, spans of time and records."""
    if isinstance(column, Operand) and column.kind in ("any", "id"):
        # Only whether a value is missing matters, or whether two are equal, and every type can say that.
        return ""
    return "mV" if kind_of(column) in ("time", "order") else "mMV"


def _from_array(values: "np.ndarray[Any, Any]", column: Column) -> "pl.Series":
    import polars as pl

    if values.ndim != 1:
        raise DataError(f"column {column.name!r} must have one dimension, got {values.ndim}")
    kind = values.dtype.kind
    if kind_of(column) == "id" and (kind not in "biuf" or values.dtype.itemsize > 8):
        texts = write_moments(values)
        return from_objects(list_objects(values), column) if texts is None else texts.alias(typed_name(column))
    if kind == "S":
        # NumPy turns numbers in a list with bytes into bytes.
        return from_objects([value.decode("latin-1") for value in values.tolist()], column)
    if kind not in "biuf":
        # Not `tolist` for times, which would turn them into integers.
        return from_objects(list(values) if kind in "mM" else values.tolist(), column)
    if kind == "f" and values.dtype.itemsize not in (4, 8):
        with np.errstate(over="ignore"):
            values = values.astype(np.float64)
    return fit(pl.Series(column.name, values.astype(values.dtype.newbyteorder("="), copy=False)), column)


def _from_pandas(frame: "nw.DataFrame[Any]", columns: Sequence[Column]) -> "nw.DataFrame[Any]":
    import narwhals as nw
    import polars as pl

    native = frame.to_native()
    series = [_from_pandas_series(native[column.name], column) for column in dict.fromkeys(columns)]
    return nw.from_native(pl.DataFrame({each.name: each for each in series}))


def _from_pandas_series(values: Any, column: Column) -> "pl.Series":
    import polars as pl

    if isinstance(values.dtype, np.dtype):
        return _from_array(values.to_numpy(), column)
    if kind_of(column) == "id" and (exact := _from_exact_series(values, column)) is not None:
        return exact
    categories = getattr(values.dtype, "categories", ())
    if _KEPT.fullmatch(type(values.dtype).__name__) and all(isinstance(category, str) for category in categories):
        try:
            return fit(pl.Series(pl.from_pandas(values)), column)
        except Exception:
            # A type that Polars lacks, or no pyarrow. The engine's message might quote a value.
            pass
    return from_objects(values.tolist(), column)


def _from_exact_series(values: Any, column: Column) -> "pl.Series | None":
    """Ids of pandas whose type Polars lacks, or would round; None for others."""
    import polars as pl

    if (categories := getattr(values.dtype, "categories", None)) is not None:
        # A missing one would make doubles of integers.
        texts = _from_pandas_series(categories.to_series(), column)
        codes = pl.Series(values.cat.codes.to_numpy()).cast(pl.Int64)
        return texts.gather(codes.set(codes < 0, None)).alias(texts.name)
    # Polars has no decimals of 256 bits.
    return from_objects(values.tolist(), column) if str(values.dtype).startswith("decimal256") else None


# Types of pandas whose values Polars takes as they are.
_KEPT = re.compile(r"(U?Int|Float)(8|16|32|64)Dtype|BooleanDtype|StringDtype|ArrowDtype|CategoricalDtype")


def _to_polars_type(values: Any) -> Any:
    """An Arrow array in a type that Polars has: decimals of 256 bits do not even raise an ordinary error there."""
    import pyarrow as pa

    return values.cast(pa.float64()) if pa.types.is_decimal256(values.type) else values


def _from_arrow_array(values: Any, column: Column) -> "pl.Series":
    import polars as pl

    if kind_of(column) == "id" and not has_polars_type(values):
        return from_objects(values.to_pylist(), column)
    return _apply_type(pl.Series(column.name, _to_polars_type(values)), column)


def _from_arrow(frame: "nw.DataFrame[Any]", columns: Sequence[Column]) -> Frame:
    """A PyArrow table in Polars, or as it is if Polars lacks one of its types."""
    import narwhals as nw
    import polars as pl

    native = frame.to_native()
    rules = [rule for rule in columns if kind_of(rule) == "id" and not has_polars_type(native[rule.name])]
    names = {rule.name for rule in rules} - {rule.name for rule in columns if kind_of(rule) != "id"}
    try:
        table = [pl.Series(name, _to_polars_type(native[name])) for name in frame.columns if name not in names]
    except Exception:
        return frame
    ids = [_from_arrow_array(native[rule.name], rule) for rule in rules]
    typed = _all_typed(nw.from_native(pl.DataFrame([*table, *ids])), columns)
    return write_octets(typed, list_octets(typed, columns))


def _all_typed(frame: Frame, columns: Sequence[Column]) -> Frame:
    """A Polars frame with a type for every column; in a lazy one only missing columns can lack it."""
    import narwhals as nw
    import polars as pl

    native = frame.to_native()
    untyped = [name for name, dtype in native.collect_schema().items() if dtype in (pl.Null, pl.Object)]
    if isinstance(native, pl.DataFrame):
        series = [_apply_type(native[column.name], column) for column in columns if column.name in untyped]
        return nw.from_native(native.with_columns(series))
    casts = {typed_name(rule): pl.col(rule.name).cast(polars_type(rule)) for rule in columns if rule.name in untyped}
    result: Frame = nw.from_native(native.with_columns(**casts))
    return result


def _apply_type(series: "pl.Series", column: Column) -> "pl.Series":
    """A column with a type stays as it is. One without a type, because every record is missing or an object, is read
    value by value, and so are ids that are bytes."""
    import polars as pl

    is_read = series.dtype in (pl.Null, pl.Object) or (kind_of(column) == "id" and series.dtype == pl.Binary)
    return fit(series, column) if is_read else series


def check_types(frame: Frame, columns: Sequence[Column]) -> None:
    """Refuse a column whose type does not fit its rule."""
    import narwhals as nw

    schema = guard(frame.collect_schema)
    for column in columns:
        name = source_name(column, schema)
        dtype = schema[name]
        if name == typed_name(column):
            fits = True
        elif isinstance(column, Operand):
            fits = _fits_operand(column, dtype) and not (dtype == nw.Unknown and is_loose(frame, name))
        elif not isinstance(column, Levels):
            dated = column.clock is not None
            fits = isinstance(dtype, nw.Date | nw.Datetime) if dated else dtype.is_numeric() or dtype == nw.Boolean
        elif isinstance(column.levels[0], bool):
            fits = dtype == nw.Boolean
        elif isinstance(column.levels[0], int):
            fits = dtype.is_integer() or dtype.is_float() or dtype == nw.Boolean
        else:
            fits = dtype in (nw.String, nw.Categorical, nw.Enum)
        if not fits:
            raise wrong_type(column)
        if is_told(column, dtype):
            _require_zone(frame, column)


def is_told(column: Column, dtype: Any) -> bool:
    """Whether a column holds instants that are read by a clock."""
    return kind_of(column) == "time" and is_instant(dtype)


def _require_zone(frame: Frame, column: Any) -> None:
    """Refuse instants whose clock is not declared, or on an engine that cannot convert them."""
    if column.zone is None:
        raise DataError(
            f"column {column.name!r} holds times with a zone: declare whose clock counts, as in "
            "time_zone='Europe/Berlin' or time_zone='UTC' (under [data] of a plan)"
        )
    if not tells_instants(frame):
        raise DataError(f"column {column.name!r} holds times with a zone; on this engine, convert it to UTC first")


def _fits_operand(column: Operand, dtype: Any) -> bool:
    import narwhals as nw

    if column.kind == "text":
        return dtype in (nw.String, nw.Categorical, nw.Enum)
    if column.kind == "time":
        return isinstance(dtype, nw.Date | nw.Datetime)
    if column.kind in ("id", "order"):
        known = dtype.is_numeric() or dtype == nw.Boolean or isinstance(dtype, nw.Date | nw.Datetime)
        return known or (column.kind == "id" and dtype in (nw.String, nw.Categorical, nw.Enum, nw.Unknown))
    return column.kind == "any" or dtype == nw.Boolean or (column.kind == "number" and bool(dtype.is_numeric()))
