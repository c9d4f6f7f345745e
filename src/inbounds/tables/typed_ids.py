"""Ids in columns with declared types: what each engine needs to compare them by all that they hold.

Such a column keeps its type. Bytes become their hexadecimal digits, since not every engine groups by bytes.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds.tables.dialects import call, write_groups
from inbounds.tables.schema import Column
from inbounds.tables.untyped import kind_of, typed_name

if TYPE_CHECKING:
    from inbounds.tables.sources import Frame


def _native(native: Any) -> "Frame":
    import narwhals as nw

    frame: Frame = nw.from_native(native)
    return frame


# claim:identity
def write_lazy_ids(frame: "Frame", columns: Sequence[Column], write: Callable[[Any, Column], Any]) -> "Frame":
    """A lazy frame with ids that its engine compares by all that they hold.

    Dask leaves objects of Python as they are, whatever Narwhals calls their type: ``write`` makes text of a partition.
    """
    ids = [rule for rule in columns if kind_of(rule) == "id"]
    frame = drop_nan(write_octets(frame, list_octets(frame, columns)), [rule.name for rule in ids])
    if not frame.implementation.is_dask():
        return frame
    native = frame.to_native()
    rules = {typed_name(rule): rule for rule in ids if isinstance(native.dtypes[rule.name], np.dtypes.ObjectDType)}
    texts = {name: native[rule.name].map_partitions(write, rule, meta=(name, object)) for name, rule in rules.items()}
    return _native(native.assign(**texts)) if texts else frame


def list_octets(frame: "Frame", columns: Sequence[Column]) -> list[str]:
    """Columns of bytes that are ids, and that no other rule reads: those refuse them by their type."""
    import narwhals as nw

    types = frame.collect_schema()
    octets = {name for name, dtype in types.items() if dtype == nw.Binary}
    if frame.implementation.is_dask():
        # Narwhals knows one of the two types of Arrow for bytes.
        octets = {name for name, dtype in frame.to_native().dtypes.items() if "binary" in str(dtype)}
    names = {rule.name for rule in columns if kind_of(rule) == "id" and rule.name in octets}
    return sorted(names - {rule.name for rule in columns if kind_of(rule) != "id"})


# claim:identity
def write_octets(frame: "Frame", names: Sequence[str]) -> "Frame":
    """The frame with the hexadecimal digits of bytes in place of these columns."""
    engine = frame.implementation
    if not names:
        return frame
    native: Any = frame.to_native()
    if engine.is_polars():
        import polars as pl

        return _native(native.with_columns(pl.col(names).bin.encode("hex")))
    if engine.is_duckdb():
        return write_groups(frame, names)
    if engine.is_pyspark() or engine.is_pyspark_connect():
        from pyspark.sql import functions

        return _native(native.withColumns({name: functions.hex(native[name]) for name in names}))
    if engine.is_ibis() and native.get_backend().name in ("duckdb", "postgres"):
        return _native(native.mutate(**{name: _write_blob(native[name], native.get_backend().name) for name in names}))
    if engine.is_dask():
        import pandas as pd
        import pyarrow as pa

        kind = pd.ArrowDtype(pa.string())
        return _native(
            native.assign(**{name: native[name].map_partitions(_write_digits, meta=(name, kind)) for name in names})
        )
    # Another engine refuses them by their type.
    return frame


def _write_blob(value: Any, backend: str) -> Any:
    if backend == "duckdb":
        return call("hex", value, kinds=("binary",))
    return call("encode", value, "hex", kinds=("binary", "string"))


def _write_digits(part: Any) -> Any:
    """Dask: the bytes of a partition in digits."""
    import pandas as pd
    import pyarrow as pa

    digits = [None if value is None else value.hex() for value in pa.array(part).to_pylist()]
    return pd.Series(digits, index=part.index, name=part.name, dtype=pd.ArrowDtype(pa.string()))


def drop_nan(frame: "Frame", names: Sequence[str]) -> "Frame":
    """PostgreSQL: the frame in which decimals that are NaN are missing, as NaN is elsewhere."""
    native: Any = frame.to_native()
    if not frame.implementation.is_ibis() or native.get_backend().name != "postgres":
        return frame
    import ibis

    values = {name: native[name] for name in names if native.schema()[name].is_decimal()}
    kept = {
        name: ibis.ifelse(each.cast("string") == "NaN", ibis.null(each.type()), each) for name, each in values.items()
    }
    return _native(native.mutate(**kept)) if kept else frame


# Types whose text may be the same for two values.
_LOOSE = re.compile(r"union|variant|map|interval|struct|\[\]", re.IGNORECASE)


def is_loose(frame: "Frame", name: str) -> bool:
    """Whether a type that Narwhals does not know is one whose values cannot be compared as text."""
    native: Any = frame.to_native()
    if frame.implementation.is_duckdb():
        return _LOOSE.search(str(native.types[native.columns.index(name)])) is not None
    if frame.implementation.is_pyspark() or frame.implementation.is_pyspark_connect():
        return _LOOSE.search(native.schema[name].dataType.simpleString()) is not None
    return False


def has_polars_type(values: Any) -> bool:
    """Whether Polars has the type of an Arrow array, with all its digits."""
    import pyarrow as pa

    kind, types = values.type, pa.types
    if types.is_dictionary(kind):
        return bool(types.is_string(kind.value_type) or types.is_large_string(kind.value_type))
    return not (types.is_decimal256(kind) or isinstance(kind, pa.BaseExtensionType))
