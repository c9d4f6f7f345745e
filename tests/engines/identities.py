"""Ids stay apart and meet as they should, and a person moves few rows: for every source by every engine.

python -m tests.engines.identities [--tables N] [--bases N] [--variants N] [SOURCE ...]

A table has many ids, unpleasant ones among them, some of them twice or more often, in another spelling where a source
has one. What each id is equal to is decided here, by Python's own comparison or by the bytes that were written. Then
three questions are put to the table: which rows are folded into one record, which rows are kept if one of each person
is, and how many persons there are. Every pair of rows is a pair of ids that must meet or stay apart.

For neighbours, rows of one person are added to the rows of ordinary persons. The rows that are kept of the others must
be the same ones, and at most k of that person's. Any two tables with one person more, or none, are neighbours: with V
persons in one place these are V (V - 1) / 2 + V pairs.
"""

import argparse
import datetime
import enum
import random
import sys
import uuid
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from inbounds.privacy.persons import Persons
from inbounds.tables.census import count_persons
from inbounds.tables.engine import tally
from inbounds.tables.folding import fold_records
from inbounds.tables.formats import PLAIN, Format
from inbounds.tables.persons import Keeping, add_columns
from inbounds.tables.places import open_place
from inbounds.tables.request import Request
from inbounds.tables.schema import DataError, Levels, Numeric, quantise_column
from inbounds.tables.sources import read
from tests.engines import places
from tests.engines.neighbours import FILES

# Names of the columns: the id, and the number of the row, twice.
NAMES = ("id", "low", "high")
FOLD = {"low": "min", "high": "max", "n": "count"}


# Ids: what a source is given, and what it is equal to (None for a missing one)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Word(str, enum.Enum):  # noqa: UP042
    A = "a"


class Alone:
    """An object that is equal to itself alone."""


def double_key(value):
    return None if value is None or value != value else value + 0.0


TEXTS = ["a", "A", "á", "á", "a ", " a", "1", "01", "1.0", "True", "\0", "\0\0", "\0n1", "\0x4d", "n1", "\ufffd"]
TEXTS += ["\uf7ff", "\U0010ffff", "İ", "i", "ß", "SS", "ﬁ", "\u200b", "x" * 48 + "1", "x" * 48 + "2", "é" * 30_000]
TEXTS += [
    "é" * 30_000 + "x",
    "Müller",
    "Mu\u0308ller",
    "日本",
    "😀",
    "None",
    "nan",
    "2020-01-01",
    "\x1b",
    "\n",
    '"',
    ",",
]
LONGS = [0, 1, -1, 2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, -(2**53) - 1, 2**60, 2**60 + 1, 2**62, 2**62 + 1]
LONGS += [2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1]
DOUBLES = [0.0, -0.0, 1.0, 0.5, 0.1, 0.30000000000000004, 0.3, 5e-324, -5e-324, 2.0**53, 2.0**53 + 2, 2.0**63, 1e300]
DOUBLES += [float("inf"), float("-inf"), float("nan"), None, 1.0000000000000002, 2.0**62, 2.0**62 + 1024]
OCTETS = [b"", b"\0", b"a", b"\xff", b"\xfe", b"\xff\xfe", b"M\xfcller", b"M\xf6ller", b"\xc3\xbc", b"\xed\xa0\xbd"]
OCTETS += [bytes(60), bytes(61), b"\x00" * 59 + b"\x01", None]
DECIMALS = ["0", "-0.0", "1", "1.00", "0.1", "0.10000000000000000001", "0.10000000000000000002", "123456789012345678.9"]
DECIMALS += ["123456789012345678.8", "-1.5", "1.5", "9007199254740993", "9007199254740992"]
MOMENTS = [0, 1, 999, 1000, 1001, 10**9, 1_577_836_800_000_000_000, 1_577_836_800_000_000_001, -1, -(10**18), None]
INSTANT = datetime.datetime(2020, 10, 25, 1, 30, tzinfo=datetime.UTC)
BERLIN = ZoneInfo("Europe/Berlin")
AUTUMN = datetime.datetime(2020, 10, 25, 2, 30)
ALONE = [Alone(), Alone()]
UUIDS = [uuid.UUID(int=5), uuid.UUID(int=6)]


def number_key(value):
    """The exact value of a number."""
    if isinstance(value, np.floating):
        value = float(value) if not np.isfinite(value) or value.dtype.itemsize <= 8 else Fraction(*_ratio(value))
    value = int(value) if isinstance(value, np.integer | np.bool_) else value
    return None if value != value else ("number", value)


def _ratio(value):
    return map(int, value.as_integer_ratio())


def clock_key(value):
    return ("clock", value.replace(fold=0), value.fold)


def kinds_of_objects():
    """Objects of Python, each with what it is equal to: numbers are by their values."""
    numbers = [*LONGS, *DOUBLES[:-4], 2**64, 10**400, 10**400 + 1, 10**5000, 10**5000 + 1, -(10**700), True, False]
    numbers += [Decimal(text) for text in (*DECIMALS, "1e400", "10e399", "1e-400", "1e5000", "1e999999999", "0.1")]
    numbers += [Fraction(1, 3), Fraction(2, 3), Fraction(1, 10), Fraction(1, 2), Fraction(10**400, 3), complex(1, 0)]
    numbers += [complex(0, 1), complex(1, 1), np.float32(0.1), np.int8(1), np.uint64(2**64 - 1), np.bool_(True)]
    numbers += [np.longdouble(1) / 3, np.longdouble(2) ** 64 + 1, np.longdouble(0.1), np.float16(0.1)]
    found = [(value, number_key(value)) for value in numbers if value is not None]
    found += [(text, ("text", text)) for text in [*TEXTS, "\ud800", "\udc00", "\udcff", "\ud83d\ude00", ""]]
    found += [(Word.A, ("text", "a")), (np.str_("a"), ("text", "a"))]
    found += [(octets, ("octets", octets)) for octets in OCTETS if octets is not None]
    found += [(bytearray(b"a"), ("octets", b"a")), (memoryview(b"a"), ("octets", b"a"))]
    found += [(one, ("uuid", one)) for one in UUIDS] + [(str(UUIDS[0]), ("text", str(UUIDS[0])))]
    found += [(datetime.date(2020, 1, day), ("day", day)) for day in (1, 2)]
    clocks = [datetime.datetime(2020, 1, 1), AUTUMN, AUTUMN.replace(fold=1), AUTUMN.replace(microsecond=1)]
    found += [(clock, clock_key(clock)) for clock in clocks]
    found += [
        (np.datetime64("2020-01-01"), clock_key(clocks[0])),
        (np.datetime64("2020-01", "M"), clock_key(clocks[0])),
    ]
    found += [(np.datetime64(count, "ns"), ("fine", count)) for count in (1, 2)]
    found += [(np.datetime64(1, "ps"), ("finer", 1)), (np.datetime64(2**60, "Y"), ("year", 2**60))]
    instants = [INSTANT, AUTUMN.replace(tzinfo=BERLIN), AUTUMN.replace(tzinfo=BERLIN, fold=1)]
    found += [(instant, ("instant", instant.timestamp())) for instant in instants]
    found += [(datetime.time(1, 2, 3), ("time", 1)), (datetime.time(1, 2, 3, fold=1), ("time", 2))]
    found += [(datetime.timedelta(microseconds=1), ("span", 1000)), (np.timedelta64(1000, "ns"), ("span", 1000))]
    found += [(np.timedelta64(1001, "ns"), ("span", 1001)), (np.timedelta64(1, "M"), ("months", 1))]
    found += [(one, ("tuple", one)) for one in ((), ("a",), ("a", "b"), (1, 2), (12,), (("a",), "b"), (None,))]
    found += [([1, 2], ("list", 1)), ({1, 2}, ("set", 1)), (frozenset((2, 1)), ("set", 1)), ({"a": 1}, ("dict", 1))]
    found += [(Colour.RED, ("enum", 1)), (Colour.BLUE, ("enum", 2)), (object, ("type", 1)), (int, ("type", 2))]
    found += [(one, ("alone", place)) for place, one in enumerate(ALONE)]
    found += [(IPv4Address(place), ("address", place)) for place in (1, 2)]
    found += [(slice(1), ("slice", 1)), (slice(2), ("slice", 2)), (np.array([1, 2]), ("array", 1)), (..., ("dots", 1))]
    found += [(None, None), (float("nan"), None), (Decimal("NaN"), None), (np.datetime64("NaT"), None)]
    return found


def undeclared(rng):
    """Fields of a file that nobody declared an encoding of."""
    texts = [text.encode() for text in TEXTS]
    surnames = [name.encode("cp1251") for name in ("Иванов", "Петров", "Сидоров")]
    halves = [
        b"\xed\xa0\xbd",
        b"\xed\xa0\xbd\xed\xb8\x80",
        b"\xed\xb0\x80",
        b"\xf0\x9f\x98",
        b"\xf0\x9f\x98\x81",
        b"\x80",
    ]
    drawn = [
        bytes(rng.choices([0x61, 0xFC, 0xF6, 0xC3, 0xEF, 0x9E, 0x80, 0xED], k=rng.randrange(1, 5))) for _ in range(40)
    ]
    return [(field, field or None) for field in [*texts, *OCTETS[:-1], *surnames, *halves, *drawn]]


def of_one_byte(rng):
    """Fields of a file in which a byte is a character, or none."""
    drawn = [bytes(rng.choices(range(0x20, 0x100), k=rng.randrange(1, 4))) for _ in range(40)]
    fields = [bytes([byte]) for byte in range(0x80, 0x100)] + [
        b"a\x81",
        b"a\x8d",
        b"a\x81\x8d",
        b"\x8d\x81",
        b"",
        *drawn,
    ]
    return [(field, field or None) for field in fields]


def of_two_bytes(rng):
    """Fields in which two bytes are a character, or half of one."""
    letters = ["a", "ü", "\ud83d", "\ude00", "\udcff", "\ufeff", "\uf4ff", "日"]
    drawn = ["".join(rng.choices(letters, k=rng.randrange(1, 4))) for _ in range(40)]
    fields = [text.encode("utf-16-le", "surrogatepass") for text in [*TEXTS, *letters, "", *drawn]]
    # A mark at the start of a file alone is none.
    return [(field, field or None) for field in fields]


# Columns with declared types: values for Polars with the type, and what they are equal to
TYPED = {
    "long": (pl.Int64, [(value, value) for value in [*LONGS, None]]),
    "unsigned": (pl.UInt64, [(value, value) for value in (0, 1, 2**53, 2**53 + 1, 2**63, 2**64 - 1, 2**64 - 2, None)]),
    "short": (pl.Int8, [(value, value) for value in (0, 1, -1, 127, -128, None)]),
    "double": (pl.Float64, [(value, double_key(value)) for value in DOUBLES]),
    "single": (pl.Float32, [(value, value) for value in (0.5, 0.25, 1.0, 2.0**24, None)]),
    "text": (pl.String, [(text, text) for text in [*TEXTS, "", None]]),
    "octets": (pl.Binary, [(octets, octets) for octets in OCTETS]),
    "decimal": (pl.Decimal(38, 20), [(Decimal(text), Decimal(text)) for text in DECIMALS]),
    "fine": (pl.Datetime("ns"), [(value, value) for value in MOMENTS]),
    "moment": (pl.Datetime("us"), [(value, value) for value in MOMENTS[:-2]]),
    "instant": (pl.Datetime("us", "UTC"), [(value, value) for value in MOMENTS[:-2]]),
    "day": (pl.Date, [(value, value) for value in (0, 1, -1, 18_000, 18_001, None)]),
    "truth": (pl.Boolean, [(value, value) for value in (True, False, None)]),
}


def typed(kind):
    return lambda _: TYPED[kind][1]


def to_polars(kind, records):
    dtype = TYPED[kind][0]
    ids = [record[0] for record in records]
    physical = pl.Int64 if isinstance(dtype, pl.Datetime) else pl.Int32 if dtype == pl.Date else dtype
    numbers = pl.Series([record[1] for record in records], dtype=pl.Float64)
    return pl.DataFrame({"id": pl.Series(ids, dtype=physical).cast(dtype), "low": numbers, "high": numbers})


# Literals of databases
SQL = {
    "bigint": [(str(value), value) for value in LONGS],
    "double precision": [
        ("0", 0),
        ("-0", 0),
        ("0.1", 1),
        ("0.30000000000000004", 2),
        ("0.3", 3),
        ("1e300", 4),
        ("NaN", None),
    ],
    "decimal(38, 20)": [(text, Decimal(text)) for text in (*DECIMALS, "123456789012345678.90")],
    "text": [(text, text) for text in TEXTS if "\0" not in text],
    "uuid": [(str(one), one) for one in UUIDS] + [(str(UUIDS[0]).upper(), UUIDS[0])],
    "boolean": [("true", 1), ("false", 0)],
    "date": [("2020-01-01", 1), ("2020-01-02", 2), ("infinity", 3), ("-infinity", 4), ("0044-03-15 (BC)", 5)],
    "timestamp": [
        ("2020-01-01", 1),
        ("2020-01-01 00:00:00.000001", 2),
        ("infinity", 3),
        ("-infinity", 4),
        ("1970-01-01", 5),
    ],
    "timestamptz": [
        ("2020-01-01 00:00:00+00", 1),
        ("2020-01-01 01:00:00+01", 1),
        ("2020-01-01 00:00:01+00", 2),
        ("infinity", 3),
    ],
}
BLOBS = [(octets, octets) for octets in OCTETS[:-1]]
DUCKDB = SQL | {
    "hugeint": [(str(value), value) for value in (*LONGS, 2**70, 2**70 + 1)],
    "uhugeint": [(str(value), value) for value in (0, 2**127, 2**127 + 1, 2**128 - 1)],
    "timestamp_ns": [(f"2020-01-01 00:00:00.00000000{digit}", digit) for digit in (1, 2, 3)],
    "varchar collate nocase": SQL["text"],
    "blob": [("".join(f"\\x{byte:02X}" for byte in octets), octets) for octets, _ in BLOBS],
    "bit": [("1", 1), ("01", 2), ("10", 3)],
}
POSTGRES = SQL | {
    "numeric": [(text, Decimal(text)) for text in (*DECIMALS, "1e400", "10e399", "1e-400", "1e-401", "Infinity")]
    + [("NaN", None)],
    "citext": SQL["text"],
    'text collate "loose"': SQL["text"],
    "bytea": [(f"\\x{octets.hex()}", octets) for octets, _ in BLOBS],
    "real": [("0.1", 1), ("0.10000001", 2), ("NaN", None), ("-0", 0), ("0", 0)],
}
# As the two databases write a year before the first one.
DUCKDB["date"] = SQL["date"]
POSTGRES["date"] = [(text.replace("(BC)", "BC"), key) for text, key in SQL["date"]]


# Sources: from ids and numbers of rows to a table


def write_csv(records, rng, written=PLAIN, encoding="latin-1"):
    """A file whose fields hold these bytes, in quotes where they must be."""
    separator, quote, feed = (mark.encode(encoding) for mark in (written.separator, '"', rng.choice(["\n", "\r\n"])))
    marks = [mark.encode(encoding) for mark in (written.separator, '"', "\r", "\n")]

    def field(octets):
        units = [octets[place : place + len(quote)] for place in range(0, len(octets), len(quote))]
        if not set(units) & set(marks) and rng.random() < 0.8:
            return octets
        return quote + b"".join(unit * 2 if unit == quote else unit for unit in units) + quote

    lines = [separator.join(name.encode(encoding) for name in NAMES)]
    for octets, number in records:
        lines.append(separator.join([field(octets), *[str(number).encode(encoding)] * 2]))
    path = FILES.new(".csv")
    path.write_bytes(feed.join(lines) + feed)
    return path


def declared(encoding, separator=";"):
    written = Format(encoding=encoding, separator=separator)
    unit = "utf-16-le" if "16" in encoding else "latin-1"
    return lambda records, rng: write_csv(records, rng, written, unit), {"written": written}


def write_excel(records, _):
    import xlsxwriter

    path = FILES.new(".xlsx")
    with xlsxwriter.Workbook(path) as book:
        sheet, form = book.add_worksheet(), book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        sheet.write_row(0, 0, NAMES)
        for row, (value, number) in enumerate(records, 1):
            if isinstance(value, datetime.datetime):
                sheet.write_datetime(row, 0, value, form)
            elif isinstance(value, str):
                sheet.write_string(row, 0, value)
            elif value is not None:
                sheet.write_number(row, 0, value)
            sheet.write_row(row, 1, [number, number])
    return path


def cells(_):
    """Cells of a sheet: numbers are doubles, of which the writer keeps 16 digits."""
    numbers = [0, 1, 0.5, 0.1, 0.3000000000000001, 0.3, 2.0**53, 2.0**53 + 2, 1e300, -1]
    texts = [text for text in TEXTS if text.isprintable()]
    days = [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, 0, 0, 1), datetime.datetime(2020, 1, 2)]
    found = [(value, ("number", value)) for value in numbers] + [(text, ("text", text)) for text in texts]
    return [*found, *((day, ("clock", day)) for day in days), (None, None)]


def as_dictionary(records, rng):
    ids = [record[0] for record in records]
    numbers = [record[1] for record in records]
    if rng.random() < 0.5:
        array = np.empty(len(ids), dtype=object)
        array[:] = ids
        ids = array
    return {"id": ids, "low": numbers, "high": numbers}


def as_pandas(records, _):
    import pandas as pd

    table = as_dictionary(records, random.Random(0))
    return pd.DataFrame(
        {name: pd.Series(list(values), dtype=object if name == "id" else None) for name, values in table.items()}
    )


def array_of(dtype, values):
    """Arrays of NumPy that a dictionary or pandas holds, of a type of their own."""

    def make(records, rng):
        import pandas as pd

        numbers = [record[1] for record in records]
        ids = np.array([record[0] for record in records], dtype=dtype)
        is_short = ids.dtype.kind in "iuM" or ids.dtype.itemsize <= 8
        table = {"id": ids, "low": numbers, "high": numbers}
        return pd.DataFrame(table) if is_short and ids.dtype.kind != "m" and rng.random() < 0.5 else table

    return lambda _: values, make, {}


def extension(dtype):
    """Types of pandas beyond those of NumPy."""

    def make(records, _):
        import pandas as pd

        numbers = [record[1] for record in records]
        kind = dtype() if callable(dtype) else dtype
        return pd.DataFrame(
            {"id": pd.Series([record[0] for record in records], dtype=kind), "low": numbers, "high": numbers}
        )

    return make


def arrow_dtype(name, *given):
    def make():
        import pandas as pd
        import pyarrow as pa

        return pd.ArrowDtype(getattr(pa, name)(*given))

    return make


def arrow_wide(records, rng):
    """Decimals of 256 bits, which Polars lacks."""
    import pyarrow as pa

    numbers = [record[1] for record in records]
    ids = pa.array([record[0] for record in records], pa.decimal256(60, 40))
    table = {"id": ids, "low": numbers, "high": numbers}
    return pa.table(table) if rng.random() < 0.5 else table


def arrow_dictionary(records, _):
    import pyarrow as pa

    numbers = [record[1] for record in records]
    return pa.table(
        {"id": pa.array([r[0] for r in records], pa.int64()).dictionary_encode(), "low": numbers, "high": numbers}
    )


def parquet_of(kind):
    def make(records, rng, spark=False):
        if spark:
            # The session that `engine="spark"` finds.
            places.spark()
        folder = FILES.new("")
        folder.mkdir()
        cut = rng.randrange(len(records) + 1)
        for number, part in enumerate((records[:cut], records[cut:])):
            to_polars(kind, part).write_parquet(folder / f"{number}.parquet")
        return folder

    return make


def polars_of(kind):
    def make(records, rng):
        table = to_polars(kind, records)
        table = (
            table.with_columns(pl.col("id").cast(pl.Categorical)) if kind == "text" and rng.random() < 0.3 else table
        )
        return table.lazy() if rng.random() < 0.5 else table

    return make


def arrow_of(kind):
    return lambda records, _: to_polars(kind, records).to_arrow()


def dask_of(kind):
    def make(records, rng):
        import dask
        import dask.dataframe as dd

        dask.config.set(scheduler="synchronous")
        frame = to_polars(kind, records).to_pandas(use_pyarrow_extension_array=True)
        return dd.from_pandas(frame, npartitions=rng.choice([1, 2, 3]), sort=False)

    return make


def dask_objects(records, rng):
    """Objects of Python, which Dask leaves as they are if it is told to."""
    import dask
    import dask.dataframe as dd

    dask.config.set({"scheduler": "synchronous", "dataframe.convert-string": False})
    return dd.from_pandas(as_pandas(records, rng), npartitions=2, sort=False)


def insert_all(kind, records):
    return f"INSERT INTO ids SELECT CAST(? AS {kind.partition(' collate')[0]}), ?, ?", [[i, n, n] for i, n in records]


def duckdb_of(kind, *, ibis=False):
    def make(records, _):
        import duckdb

        made = duckdb.connect()
        made.execute(f"CREATE TABLE ids (id {kind}, low DOUBLE, high DOUBLE)")
        made.executemany(*insert_all(kind, records))
        if not ibis:
            return made.table("ids")
        import ibis as api

        return api.duckdb.from_connection(made).table("ids")

    return make


def sqlframe_of(kind):
    def make(records, _):
        from sqlframe.duckdb import DuckDBSession

        places.duck().execute(f"CREATE OR REPLACE TABLE ids (id {kind}, low DOUBLE, high DOUBLE)")
        places.duck().executemany(*insert_all(kind, records))
        return DuckDBSession(conn=places.duck()).table("ids")

    return make


def spark_of(kind):
    make = parquet_of(kind)

    def run(records, rng):
        return places.spark().read.parquet(*(str(path) for path in make(records, rng).iterdir()))

    return run


PREPARE = """
CREATE EXTENSION IF NOT EXISTS citext;
DROP TABLE IF EXISTS ids;
CREATE COLLATION IF NOT EXISTS loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
"""


def postgres_of(kind):
    def make(records, _):
        import psycopg

        with psycopg.connect(places.postgres()) as connection, connection.cursor() as cursor:
            cursor.execute(PREPARE)
            cursor.execute(f"CREATE TABLE ids (id {kind}, low double precision, high double precision)")
            with cursor.copy("COPY ids FROM STDIN") as copy:
                for value, number in records:
                    copy.write_row([value, number, number])
        return places.postgres()

    return make


def sources():
    """For each name: the ids it is tried with, how a table is made of them, and where it is found."""
    latin, wide, single = declared("cp1252"), declared("utf-16-le"), declared("latin-1")
    objects = kinds_of_objects()
    found = {
        "CSV": (undeclared, write_csv, {}),
        "CSV, cp1252": (of_one_byte, *latin),
        "CSV, utf-16": (of_two_bytes, *wide),
        "CSV, latin-1": (of_one_byte, *single),
        "Excel": (cells, write_excel, {}),
        "dict": (lambda _: objects, as_dictionary, {}),
        "pandas": (lambda _: objects, as_pandas, {}),
    }
    fine = [(np.datetime64(value, "ns"), value) for value in MOMENTS[:-1]] + [(np.datetime64("NaT"), None)]
    found["arrays, nanoseconds"] = array_of("M8[ns]", fine)
    found["arrays, longs"] = array_of("i8", [(value, value) for value in LONGS])
    found["arrays, unsigned"] = array_of(
        "u8", [(value, value) for value, key in TYPED["unsigned"][1] if key is not None]
    )
    found["arrays, doubles"] = array_of("f8", [(value, double_key(value)) for value in DOUBLES if value is not None])
    steps = [(1 + place * np.finfo(np.longdouble).eps, place) for place in range(4)]
    found["arrays, long doubles"] = array_of(np.longdouble, steps)
    found["arrays, bytes"] = array_of("S60", [(octets, octets) for octets in OCTETS[:-4] if octets and octets[-1]])
    found["arrays, differences"] = array_of(
        "m8[ns]", [(np.timedelta64(count, "ns"), count) for count in (0, 1, 10**18)]
    )
    numbers = TYPED["long"][1]
    found |= {
        "pandas, Int64": (lambda _: numbers, extension("Int64"), {}),
        "pandas, categories": (lambda _: numbers, extension("category"), {}),
        "pandas, text": (typed("text"), extension("string"), {}),
        "pandas, Arrow decimals": (
            typed("decimal"),
            extension(arrow_dtype("decimal128", 38, 20)),
            {},
        ),
        "pandas, wide decimals": (typed("decimal"), extension(arrow_dtype("decimal256", 60, 40)), {}),
        "pandas, Arrow instants": (typed("instant"), extension(arrow_dtype("timestamp", "us", "UTC")), {}),
        "pandas, Arrow text": (typed("text"), extension(arrow_dtype("string")), {}),
        "pandas, Arrow bytes": (typed("octets"), extension(arrow_dtype("binary")), {}),
        "Arrow, wide decimals": (typed("decimal"), arrow_wide, {}),
        "Arrow, dictionary": (lambda _: numbers, arrow_dictionary, {}),
        "Dask, objects": (lambda _: objects, dask_objects, {}),
    }
    for kind in TYPED:
        found[f"Polars, {kind}"] = (typed(kind), polars_of(kind), {})
        found[f"Arrow, {kind}"] = (typed(kind), arrow_of(kind), {})
        found[f"Parquet, {kind}"] = (typed(kind), parquet_of(kind), {})
        found[f"Parquet by DuckDB, {kind}"] = (typed(kind), parquet_of(kind), {"engine": "duckdb"})
        found[f"Dask, {kind}"] = (typed(kind), dask_of(kind), {})
    for kind in ("long", "text", "octets", "fine"):
        found[f"Parquet by Dask, {kind}"] = (typed(kind), parquet_of(kind), {"engine": "dask"})
    for kind in ("long", "double", "text", "octets", "decimal", "moment", "day", "truth"):
        found[f"Spark, {kind}"] = (typed(kind), spark_of(kind), {})
        found[f"Parquet by Spark, {kind}"] = (typed(kind), partial(parquet_of(kind), spark=True), {"engine": "spark"})
    for kind, values in DUCKDB.items():
        given = (lambda ids: lambda _: ids)(values)
        found[f"DuckDB, {kind}"] = (given, duckdb_of(kind), {})
        if kind not in ("uhugeint", "bit"):
            found[f"Ibis on DuckDB, {kind}"] = (given, duckdb_of(kind, ibis=True), {})
    for kind in ("bigint", "text", "varchar collate nocase"):
        given = (lambda ids: lambda _: ids)(DUCKDB[kind])
        found[f"SQLFrame on DuckDB, {kind}"] = (given, sqlframe_of(kind), {})
    for kind, values in POSTGRES.items():
        found[f"PostgreSQL, {kind}"] = ((lambda ids: lambda _: ids)(values), postgres_of(kind), {"table": "ids"})
    return found


SOURCES = sources()


# What a table is counted as


def open_table(source, columns, where):
    return read(open_place(source, columns, **where) if isinstance(source, str | Path) else source, columns)


def find_rows(source, rows, where, persons, contributions, key=bytes(16)):
    """The numbers of the rows that are kept."""
    numbers = Levels("low", tuple(range(rows)))
    columns = add_columns([numbers], persons)
    (found,) = tally(
        open_table(source, columns, where), [Request((numbers,))], keeping=Keeping(persons, contributions, key)
    )
    return {place[0] for place, cell in found.items() if cell[0]}


def find_classes(source, rows, where):
    """The first row, the last row and the number of rows of each person."""
    persons = Persons.of("id", fold=FOLD)
    low, high = (Levels(name, tuple(range(rows))) for name in ("low", "high"))
    n = quantise_column(Numeric.of("n", (0, rows), integer=True), resolution=1)
    requests = [Request((low, high), (n,))]
    columns = add_columns([low, high, n.column], persons)
    (found,) = tally(fold_records(open_table(source, columns, where), requests, persons), requests)
    return sorted((*place, cell[1][0]) for place, cell in found.items() for _ in range(cell[0]))


def count_all(source, where):
    persons = Persons.of("id")
    return count_persons(open_table(source, add_columns([], persons), where), persons)


def expected(keys):
    """Rows by what their ids are equal to."""
    classes = {}
    for row, key in enumerate(keys):
        if key is not None:
            classes.setdefault(key, []).append(row)
    return list(classes.values())


def judge(source, keys, where):
    """What is wrong with how a table's ids are read; None if nothing is."""
    classes, rows = expected(keys), len(keys)
    try:
        found = find_classes(source, rows, where)
        if found != sorted((min(one), max(one), len(one)) for one in classes):
            return describe(found, classes)
        kept = find_rows(source, rows, where, Persons.of("id", person_missing="own"), 1)
        persons = count_all(source, where)
    except DataError as error:
        return f"refused: {error}"
    alone = {row for row, key in enumerate(keys) if key is None}
    if (
        any(len(kept & set(one)) != 1 for one in classes)
        or kept & alone != alone
        or len(kept) != len(classes) + len(alone)
    ):
        return "kept other rows than one of each person"
    return None if persons == len(classes) else "counted another number of persons"


def describe(found, classes):
    truth = {(min(one), max(one), len(one)) for one in classes}
    wrong, right = sorted(set(found) - truth)[:3], sorted(truth - set(found))[:3]
    return f"{len(found)} persons, not {len(classes)}: {wrong} for {right}"


def attack_ids(source, *, tables, rows=100, seed=0):
    """Pairs of ids that were compared, and faults."""
    list_ids, make, where = SOURCES[source]
    rng = random.Random(f"{source} {seed}")
    pairs, faults = 0, []
    for table in range(tables):
        ids = list_ids(rng)
        given = rng.choices(ids, k=rows) if len(ids) >= rows else [*ids, *rng.choices(ids, k=rows - len(ids))]
        rng.shuffle(given)
        records = [(value, row) for row, (value, _) in enumerate(given)]
        why = judge(make(records, rng), [key for _, key in given], where)
        pairs += rows * (rows - 1) // 2
        if why is not None:
            faults.append((source, table, why))
    return pairs, faults


# Neighbours: one person more, one fewer, or another one

RULES = {
    "random": ({}, 2),
    "own": ({"person_missing": "own"}, 1),
    "first": ({"keep": "first", "order": "high"}, 2),
    "groups": ({"groups": {"low": 2}}, 2),
}


def attack_persons(source, *, bases, variants, seed=0):
    """Pairs of neighbours, and those in which more than k rows moved, or a row of another person."""
    list_ids, make, where = SOURCES[source]
    rng = random.Random(f"persons {source} {seed}")
    pairs, faults = 0, []
    for base in range(bases):
        ids = list_ids(rng)
        ordinary = [one for one in rng.sample(ids, k=max(1, len(ids) // 3)) if one[1] is not None]
        taken = {key for _, key in ordinary}
        rest = [one for one in ids if one[1] not in taken]
        others = [one for one in ordinary for _ in range(rng.choice([1, 1, 3]))]
        name, (rule, k) = rng.choice(list(RULES.items()))
        persons, most = Persons.of("id", **rule), len(others) + 5

        def kept(extra, persons=persons, k=k, most=most, others=others):
            # Rows of the person come last, in the order of their numbers, and anywhere in the table.
            given = [(value, row) for row, (value, _) in enumerate([*others, *extra])]
            rng.shuffle(given)
            return find_rows(make(given, rng), most, where, persons, k)

        try:
            without = kept([])
        except DataError as error:
            faults.append((source, base, name, f"refused: {error}"))
            continue
        for one in rng.choices(rest, k=variants) if rest else []:
            rows = rng.choice([1, 2, 5])
            limit = k if one[1] is not None else rows if persons.missing == "own" else 0
            try:
                found = kept([one] * rows)
            except DataError as error:
                faults.append((source, base, name, repr(one[0])[:40], f"refused: {error}"))
                continue
            own = {row for row in found if row >= len(others)}
            if found - own != without or len(own) != min(rows, limit):
                faults.append((source, base, name, repr(one[0])[:40], f"moved {len((found - own) ^ without)} rows"))
        pairs += variants * (variants - 1) // 2 + variants if rest else 0
    return pairs, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="*", metavar="SOURCE", help="names of sources, or how they begin")
    parser.add_argument("--tables", type=int, default=1, help="tables of ids for each source")
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--bases", type=int, default=1, help="tables of ordinary persons for each source")
    parser.add_argument("--variants", type=int, default=24, help="persons that are added to each of them")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    ids, persons, wrong = Counter(), Counter(), 0
    for source in SOURCES:
        if given.sources and not source.startswith(tuple(given.sources)):
            continue
        if "PostgreSQL" in source and places.postgres() is None:
            print(f"{source}: NOT TRIED, there is no PostgreSQL (initdb) on this machine")
            continue
        ids[source], faults = attack_ids(source, tables=given.tables, rows=given.rows, seed=given.seed)
        # A query of Spark takes seconds, whatever is in the table.
        variants = max(1, given.variants // 4) if "Spark" in source else given.variants
        persons[source], more = attack_persons(source, bases=given.bases, variants=variants, seed=given.seed)
        wrong += (count := len(faults) + len(more))
        line = f"{source}: {ids[source]:,} pairs of ids, {persons[source]:,} of neighbours, {count} faults"
        print(line, flush=True)
        for fault in (*faults[:3], *more[:3]):
            print("  ", *fault)
    places.stop()
    print(f"{ids.total():,} pairs of ids and {persons.total():,} of neighbours: {wrong} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
