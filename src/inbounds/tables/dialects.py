"""What some engines need before the rules of `inbounds.tables.rules` mean the same on them.

Text. Databases compare text by a collation, which may ignore case or accents: then grouping would put records together
that hold different text, and one of them would decide what all are called. So text is compared by its bytes, written in
hexadecimal digits, which no collation takes for one another.

Numbers. PostgreSQL raises an error where a number overflows or underflows, and so would say that a record holds one. So
numbers there are brought into ±1e100, and those below 1e-150 in size to 0, before anything else: bounds are below 1e60
and steps above 1e-75, so that no record becomes another integer by it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from inbounds.tables.schema import DataError

if TYPE_CHECKING:
    from inbounds.tables.sources import Frame

_HUGE, _TINY = "1E+100", "1E-150"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A frame that rules can be applied to. ``text`` says how columns of text are to be compared there.

    ``"bytes"``: as they are. ``"hexadecimal"``: they hold hexadecimal digits. ``"collated"``: equality is the engine's
    own, so that levels have to be told record by record, before anything is grouped.
    """

    frame: "Frame"
    text: str = "bytes"


def prepare(frame: "Frame", text: Sequence[str], numbers: Sequence[str]) -> Prepared:
    """claim:collation. The frame with these columns of text and numbers made comparable."""
    made = frame.implementation
    if made.is_duckdb():
        return _duckdb(frame, text, numbers)
    if made.is_pyspark() or made.is_pyspark_connect():
        return _spark(frame, text)
    if made.is_ibis():
        return _ibis(frame, text, numbers)
    return Prepared(frame, "collated" if made.is_sqlframe() else "bytes")


def _native(native: Any) -> "Frame":
    import narwhals as nw

    made: Frame = nw.from_native(native)
    return made


def _duckdb(frame: "Frame", text: Sequence[str], numbers: Sequence[str]) -> Prepared:
    native = frame.to_native()
    kinds = dict(zip(native.columns, map(str, native.types), strict=True))
    made = [(name, "hex(CAST({0} AS VARCHAR))") for name in text]
    # The largest of these are no doubles to DuckDB; they are missing then.
    made += [(name, "TRY_CAST({0} AS DOUBLE)") for name in numbers if kinds[name] == "UHUGEINT"]
    if not made:
        return Prepared(frame)
    quoted = [('"' + name.replace('"', '""') + '"', how) for name, how in made]
    replaced = ", ".join(f"{how.format(name)} AS {name}" for name, how in quoted)
    return Prepared(_native(native.project(f"* REPLACE ({replaced})")), "hexadecimal" if text else "bytes")


def _spark(frame: "Frame", text: Sequence[str]) -> Prepared:
    native = frame.to_native()
    kinds: Mapping[str, Any] = {field.name: field.dataType for field in native.schema}
    # Spark 3 has no collations.
    if all(getattr(kinds[name], "collation", "UTF8_BINARY") == "UTF8_BINARY" for name in text):
        return Prepared(frame)
    from pyspark.sql import functions

    for name in text:
        native = native.withColumn(name, functions.hex(native[name]))
    return Prepared(_native(native), "hexadecimal")


def _ibis(frame: "Frame", text: Sequence[str], numbers: Sequence[str]) -> Prepared:
    native = frame.to_native()
    backend = native.get_backend().name
    if backend == "duckdb":
        made = {name: _function("hex", native[name].cast("string")) for name in text}
    elif backend == "postgres":
        if text:
            _require_encoding(native.get_backend())
        made = {name: _hexadecimal(native[name]) for name in text}
        made |= {name: _moderate(native[name]) for name in numbers}
    else:
        return Prepared(frame, "collated")
    return Prepared(_native(native.mutate(**made)) if made else frame, "hexadecimal")


def _require_encoding(backend: Any) -> None:
    """Refuse a database whose text cannot always be written in UTF-8: some of it would raise an error."""
    if backend.con.info.parameter_status("server_encoding") not in ("UTF8", "LATIN1"):
        raise DataError("the database's encoding is neither UTF8 nor LATIN1: text in it cannot be compared reliably")


def _function(name: str, *arguments: Any) -> Any:
    """A function of the database, which Ibis does not know, of text; its result is text."""
    import ibis
    from ibis.expr import datatypes

    signature = (tuple(datatypes.string for _ in arguments), datatypes.string)
    body = (lambda a: a) if len(arguments) == 1 else (lambda a, b: (a, b))
    return ibis.udf.scalar.builtin(body, name=name, signature=signature)(*arguments)


def _hexadecimal(value: Any) -> Any:
    """PostgreSQL: `format` makes text of enumerations and of citext as well."""
    import ibis

    # Concatenated, a padded char(n) loses its padding.
    written = _function("encode", _function("convert_to", _function("format", "%s", value + ""), "UTF8"), "hex")
    return ibis.ifelse(value.isnull(), ibis.null("string"), written.upper())


def _moderate(value: Any) -> Any:
    """PostgreSQL: a number as a double that nothing overflows with; NaN is missing."""
    import ibis
    from ibis.expr import datatypes

    kind = value.type()
    if kind.is_integer() or kind.is_boolean():
        return value
    own = datatypes.Decimal() if kind.is_decimal() else datatypes.float64
    value = value if kind.is_decimal() else value.cast("float64")
    huge, tiny = (ibis.literal(Decimal(x) if kind.is_decimal() else float(x), type=own) for x in (_HUGE, _TINY))
    return ibis.cases(
        (value.cast("string") == "NaN", ibis.null("float64")),
        (value > huge, ibis.literal(float(_HUGE))),
        (value < -huge, ibis.literal(-float(_HUGE))),
        (value.abs() < tiny, ibis.literal(0.0)),
        else_=value.cast("float64"),
    )
