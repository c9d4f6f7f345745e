"""The bytes of a text as numbers, the same on every engine: for hashes of ids, which decide between rows of a person.

The first 48 bytes in UTF-8, padded with zeros, become eight numbers of six bytes each. Texts that only differ after
these bytes get the same numbers.
"""

from typing import Any

from inbounds.errors import DataError
from inbounds.tables.dialects import call, write_hexadecimal

PARTS, _DIGITS = 8, 12
# Bits of each number.
BITS = 48


def add_digits(frame: Any, name: str, prefix: str, *, written: bool, parts: int = PARTS) -> Any:
    """The frame with the numbers of a column of text. ``written``: its bytes are already hexadecimal digits.

    Polars may be asked for only the first ``parts`` of them, if the others are known to be 0.
    """
    import narwhals as nw

    engine = frame.implementation
    if engine.is_polars():
        new = _polars(frame.to_native(), name, prefix, parts, written=written)
    elif engine.is_duckdb():
        new = _duckdb(frame.to_native(), name, prefix, written=written)
    elif engine.is_pyspark() or engine.is_pyspark_connect():
        new = _spark(frame.to_native(), name, prefix, written=written)
    elif engine.is_ibis():
        new = _ibis(frame.to_native(), name, prefix, written=written)
    elif engine.is_sqlframe():
        new = _sqlframe(frame.to_native(), name, prefix, written=written)
    else:
        raise DataError("ids of text cannot be read as numbers on this engine; use ids that are numbers")
    return nw.from_native(new)


def count_parts(longest: int, *, written: bool) -> int:
    """How many of the numbers may differ from 0, for texts of at most ``longest`` bytes."""
    return min(PARTS, -(-longest // (_DIGITS if written else _DIGITS // 2)))


def _polars(table: Any, name: str, prefix: str, count: int, *, written: bool) -> Any:
    import polars as pl

    text = pl.col(name) if written else pl.col(name).cast(pl.Binary).bin.encode("hex")
    text = text.str.pad_end(count * _DIGITS, "0")
    parts = [
        text.str.slice(_DIGITS * i, _DIGITS).str.to_integer(base=16, dtype=pl.Int64, strict=False) for i in range(count)
    ]
    return table.with_columns(**{f"{prefix}{i}": part.fill_null(0).cast(pl.Float64) for i, part in enumerate(parts)})


def _sql(name: str, *, written: bool) -> list[str]:
    """The numbers in the SQL of DuckDB."""
    text = f"rpad({name if written else f'hex({name})'}, {PARTS * _DIGITS}, '0')"
    parts = [f"substr({text}, {1 + _DIGITS * i}, {_DIGITS})" for i in range(PARTS)]
    return [f"CAST(coalesce(TRY_CAST('0x' || {part} AS BIGINT), 0) AS DOUBLE)" for part in parts]


def _duckdb(table: Any, name: str, prefix: str, *, written: bool) -> Any:
    parts = _sql(f'"{name}"', written=written)
    return table.project(", ".join(["*", *(f'{part} AS "{prefix}{i}"' for i, part in enumerate(parts))]))


def _spark(table: Any, name: str, prefix: str, *, written: bool) -> Any:
    from pyspark.sql import functions

    text = table[name] if written else functions.hex(table[name])
    text = functions.rpad(text, PARTS * _DIGITS, "0")
    parts = [functions.conv(functions.substring(text, 1 + _DIGITS * i, _DIGITS), 16, 10) for i in range(PARTS)]
    numbers = [functions.coalesce(part.cast("double"), functions.lit(0.0)) for part in parts]
    return table.select("*", *(part.alias(f"{prefix}{i}") for i, part in enumerate(numbers)))


def _sqlframe(table: Any, name: str, prefix: str, *, written: bool) -> Any:
    from sqlframe.duckdb import functions

    for i, part in enumerate(_sql(f"`{name}`", written=written)):
        table = table.withColumn(f"{prefix}{i}", functions.expr(part))
    return table


def _ibis(table: Any, name: str, prefix: str, *, written: bool) -> Any:
    import ibis

    value, backend = table[name], table.get_backend().name
    if backend == "duckdb":
        text = value if written else call("hex", value)
        text = text.rpad(PARTS * _DIGITS, "0")
        parts = [(ibis.literal("0x") + text.substr(_DIGITS * i, _DIGITS)).try_cast("int64") for i in range(PARTS)]
    elif backend == "postgres":
        text = value if written else write_hexadecimal(value)
        octets = _decode(text.fill_null("").rpad(PARTS * _DIGITS, "0"))
        size = _DIGITS // 2
        parts = [
            sum(
                (_byte(octets, i * size + j).cast("int64") * 256 ** (size - 1 - j) for j in range(size)),
                start=ibis.literal(0),
            )
            for i in range(PARTS)
        ]
    else:
        raise DataError("ids of text cannot be read as numbers on this database; use ids that are numbers")
    return table.mutate(**{f"{prefix}{i}": part.fill_null(0).cast("float64") for i, part in enumerate(parts)})


def _decode(text: Any) -> Any:
    """PostgreSQL: bytes of hexadecimal digits."""
    import ibis
    from ibis.expr import datatypes

    signature = ((datatypes.string, datatypes.string), datatypes.binary)
    return ibis.udf.scalar.builtin(lambda a, b: (a, b), name="decode", signature=signature)(text, "hex")


def _byte(octets: Any, place: int) -> Any:
    """PostgreSQL: one byte, as a number."""
    import ibis
    from ibis.expr import datatypes

    signature = ((datatypes.binary, datatypes.int32), datatypes.int32)
    return ibis.udf.scalar.builtin(lambda a, b: (a, b), name="get_byte", signature=signature)(octets, place)
