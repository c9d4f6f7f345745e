"""What some engines need before the rules of `inbounds.tables.rules` mean the same on them.

Text. Databases compare text by a collation, which may ignore case or accents: then grouping would put records together
that hold different text, and one of them would decide what all are called. So text is compared by its bytes, written in
hexadecimal digits, which no collation takes for one another.

Numbers. PostgreSQL raises an error if a number overflows or underflows, which would reveal that a record holds such a
number. So numbers there are clipped to ±1e100, and those below 1e-150 in size become 0, before anything else: bounds
are below 1e60 and steps above 1e-75, so no record becomes another integer by this.

Times with a zone. Databases read their hours by the session's clock, which may be any. So such columns become seconds
in UTC, by a short formula: PostgreSQL writes it out wherever the column is named.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from inbounds.tables.expressions.dates import seconds_of
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


# claim:collation
def prepare(
    frame: "Frame",
    text: Sequence[str],
    numbers: Sequence[str],
    instants: Sequence[str] = (),
    grouped: Sequence[str] = (),
) -> Prepared:
    """The frame with these columns of text, numbers and times with a zone made comparable.

    Columns of text in ``grouped`` are only grouped by. In DuckDB they become bytes, which are written in digits for the
    few groups (`write_groups`) and not for every record.
    """
    engine = frame.implementation
    frame = _to_utc(frame, instants) if instants else frame
    if engine.is_duckdb():
        return _duckdb(frame, text, numbers, grouped)
    if engine.is_pyspark() or engine.is_pyspark_connect():
        return _spark(frame, text)
    if engine.is_ibis():
        return _ibis(frame, text, numbers)
    return Prepared(frame, "collated" if engine.is_sqlframe() else "bytes")


# claim:collation
def write_ids(prepared: Prepared, name: str) -> "Frame":
    """The frame with ids of text that are compared by their bytes, whatever the engine calls equal."""
    if prepared.text != "collated":
        return prepared.frame
    native = prepared.frame.to_native()
    if not prepared.frame.implementation.is_sqlframe() or "duckdb" not in type(native).__module__:
        raise DataError("ids of text cannot be told apart reliably on this database; use ids that are numbers")
    from sqlframe.duckdb import functions

    column = name.replace("`", "``")
    return _native(native.withColumn(name, functions.expr(f"hex(`{column}`)")))


def read_decimals(frame: "Frame", name: str, new_name: str) -> "Frame":
    """PostgreSQL: the frame with a column of decimals as doubles, none of which overflow; elsewhere as it is."""
    native: Any = frame.to_native()
    if not frame.implementation.is_ibis() or native.get_backend().name != "postgres":
        return frame
    return _native(native.mutate(**{new_name: _moderate(native[name])}))


def _native(native: Any) -> "Frame":
    import narwhals as nw

    frame: Frame = nw.from_native(native)
    return frame


def tells_instants(frame: "Frame") -> bool:
    """Whether times with a zone can be brought to UTC there."""
    engine = frame.implementation
    if engine.is_ibis():
        return frame.to_native().get_backend().name in ("duckdb", "postgres")
    return not engine.is_sqlframe()


# claim:zones
def _to_utc(frame: "Frame", names: Sequence[str]) -> "Frame":
    """The frame with seconds since 1970 in UTC in place of instants."""
    import narwhals as nw

    engine = frame.implementation
    if engine.is_duckdb():
        how = "CASE WHEN isfinite({0}) THEN floor(CAST(epoch_us({0}) AS DOUBLE) / 1000000) END"
        return _replace_duckdb(frame, [(name, how) for name in names])
    if engine.is_pyspark() or engine.is_pyspark_connect():
        native = frame.to_native()
        return _native(native.withColumns({name: native[name].cast("long").cast("double") for name in names}))
    if engine.is_ibis():
        native = frame.to_native()
        tell = _tell_postgres if native.get_backend().name == "postgres" else _tell_duckdb
        return _native(native.mutate(**{name: tell(native[name]).floor().cast("float64") for name in names}))
    clock = {name: nw.col(name).dt.convert_time_zone("UTC") for name in names}
    return frame.with_columns(**{name: seconds_of(value) for name, value in clock.items()})


def _tell_postgres(value: Any) -> Any:
    return call("date_part", "epoch", value, kinds=("string", value.type()), result="float64")


def _tell_duckdb(value: Any) -> Any:
    import ibis

    micros = call("epoch_us", value, kinds=(value.type(),), result="int64")
    finite = call("isfinite", value, kinds=(value.type(),), result="boolean")
    return ibis.ifelse(finite, micros.cast("float64") / 1_000_000.0, ibis.null("float64"))


def _replace_duckdb(frame: "Frame", formulas: Sequence[tuple[str, str]]) -> "Frame":
    """The frame with some columns replaced by SQL, in which {0} is the column."""
    columns = [('"' + name.replace('"', '""') + '"', how) for name, how in formulas]
    text = ", ".join(f"{how.format(name)} AS {name}" for name, how in columns)
    return _native(frame.to_native().project(f"* REPLACE ({text})"))


def write_groups(frame: "Frame", names: Sequence[str]) -> "Frame":
    """DuckDB: groups by bytes, with those written in hexadecimal digits."""
    return _replace_duckdb(frame, [(name, "hex({0})") for name in names])


def _duckdb(frame: "Frame", text: Sequence[str], numbers: Sequence[str], grouped: Sequence[str]) -> Prepared:
    native = frame.to_native()
    kinds = dict(zip(native.columns, map(str, native.types), strict=True))
    formulas = [(name, f"{'encode' if name in grouped else 'hex'}(CAST({{0}} AS VARCHAR))") for name in text]
    # DuckDB cannot read the largest of these as doubles; then they are missing.
    formulas += [(name, "TRY_CAST({0} AS DOUBLE)") for name in numbers if kinds[name] == "UHUGEINT"]
    if not formulas:
        return Prepared(frame)
    return Prepared(_replace_duckdb(frame, formulas), "hexadecimal" if text else "bytes")


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
        columns = {name: call("hex", native[name].cast("string")) for name in text}
    elif backend == "postgres":
        if text:
            _require_encoding(native.get_backend())
        columns = {name: write_hexadecimal(native[name]) for name in text}
        columns |= {name: _moderate(native[name]) for name in numbers}
    else:
        return Prepared(frame, "collated")
    return Prepared(_native(native.mutate(**columns)) if columns else frame, "hexadecimal")


def _require_encoding(backend: Any) -> None:
    """Refuse a database whose text cannot always be written in UTF-8: some of it would raise an error."""
    if backend.con.info.parameter_status("server_encoding") not in ("UTF8", "LATIN1"):
        raise DataError("the database's encoding is neither UTF8 nor LATIN1: text in it cannot be compared reliably")


def call(name: str, *arguments: Any, kinds: Sequence[Any] = (), result: str = "string") -> Any:
    """A function of the database that Ibis does not know. It takes text, unless ``kinds`` are given."""
    import ibis
    from ibis.expr import datatypes

    types = kinds or ["string"] * len(arguments)
    signature = (tuple(map(datatypes.dtype, types)), datatypes.dtype(result))
    body = (lambda a: a) if len(arguments) == 1 else (lambda a, b: (a, b))
    return ibis.udf.scalar.builtin(body, name=name, signature=signature)(*arguments)


def write_hexadecimal(value: Any) -> Any:
    """PostgreSQL: `format` makes text of enumerations and of citext as well."""
    import ibis

    # Concatenated, a padded char(n) loses its padding.
    digits = call("encode", call("convert_to", call("format", "%s", value + ""), "UTF8"), "hex")
    return ibis.ifelse(value.isnull(), ibis.null("string"), digits.upper())


def hold(frame: "Frame") -> "Frame":
    """PostgreSQL: the frame with columns that are computed before they are named again; elsewhere as it is.

    Its planner writes a column out wherever it is named. With a hash of digits of a text in the hash of a group, that
    took all memory before a row was read. A limit that no table reaches keeps it from that.
    """
    native: Any = frame.to_native()
    if not frame.implementation.is_ibis() or native.get_backend().name != "postgres":
        return frame
    return _native(native.limit(2**62))


def _moderate(value: Any) -> Any:
    """PostgreSQL: a number as a double that cannot overflow; NaN is missing."""
    import ibis
    from ibis.expr import datatypes

    kind = value.type()
    if kind.is_integer() or kind.is_boolean():
        return value
    dtype = datatypes.Decimal() if kind.is_decimal() else datatypes.float64
    value = value if kind.is_decimal() else value.cast("float64")
    huge, tiny = (ibis.literal(Decimal(x) if kind.is_decimal() else float(x), type=dtype) for x in (_HUGE, _TINY))
    return ibis.cases(
        (value.cast("string") == "NaN", ibis.null("float64")),
        (value > huge, ibis.literal(float(_HUGE))),
        (value < -huge, ibis.literal(-float(_HUGE))),
        (value.abs() < tiny, ibis.literal(0.0)),
        else_=value.cast("float64"),
    )
