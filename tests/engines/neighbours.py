"""One record moves one record: tables that differ in one record, whatever it holds, from every source by every engine.

python -m tests.engines.neighbours [--bases N] [--variants N] [SOURCE ...]

A base is a table of ordinary records. One place in it is filled by many records in turn, hostile ones among them, and
once by none. What is counted without it is subtracted from what is counted with it: the difference must be what one
record is, one more in one cell, and no more in its sums than a record may have. Then any two of these tables, which are
neighbours under "substitute", differ by one record that leaves and one that enters, and each differs from the one
without by one that enters ("add-remove"). With V records at a place that is V (V - 1) / 2 + V pairs.

All columns say what missing and other values count as, so that nothing may be refused.
"""

import argparse
import datetime
import enum
import gzip
import itertools
import math
import random
import sys
import tempfile
import weakref
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

from inbounds.tables.engine import Request, tally
from inbounds.tables.formats import Format
from inbounds.tables.places import open_place
from inbounds.tables.schema import DataError, Edges, Levels, Numeric, quantise_column
from inbounds.tables.sources import read

WORDS = ("a", "b", "HIV positive", "1", "true")
COLUMNS = [
    Numeric.of("x", (0, 100), missing=50),
    Numeric.of("w", (-(2**55), 2**60), missing=0),
    Edges.of("x", [0, 10, 20.5, 100], missing=3),
    Levels("t", WORDS, other="b", missing="a"),
    Levels("k", (0, 1, 2, 2**53 - 1), other=2, missing=0),
    Levels("f", (True, False), other=False, missing=False),
]
X, W = (quantise_column(column, resolution=1 << 33) for column in COLUMNS[:2])
REQUESTS = [Request((), (X, W), True), Request(tuple(COLUMNS[3:5]), (X,)), Request((COLUMNS[2], COLUMNS[5]))]


def counted(source, **where):
    """What a table is counted as, or the words of its refusal."""
    try:
        frame = open_place(source, COLUMNS, **where) if isinstance(source, str | Path) else source
        return [
            {place: cell for place, cell in cells.items() if cell[0]} for cells in tally(read(frame, COLUMNS), REQUESTS)
        ]
    except DataError as error:
        return str(error)


def is_one_record(request, with_it, without):
    """Whether two counts of a request differ by one record, in the first."""
    changed = [place for place in with_it.keys() | without.keys() if with_it.get(place) != without.get(place)]
    if len(changed) != 1:
        return False
    nothing = (0, (0,) * len(request.sums), (0,) * len(request.pairs))
    (count, sums, pairs), (count0, sums0, pairs0) = (cells.get(changed[0], nothing) for cells in (with_it, without))
    return (
        count == count0 + 1
        and all(0 <= a - b <= one.count for a, b, one in zip(sums, sums0, request.sums, strict=True))
        and all(0 <= a - b <= pair.largest for a, b, pair in zip(pairs, pairs0, request.pairs, strict=True))
    )


# What a record may hold


class Colour(str, enum.Enum):  # noqa: UP042
    RED = "a"


NUMBERS = [0.0, -0.0, 1.0, 50.0, 100.0, 99.99999999999999, 0.5, 2.0, math.nan, math.inf, -math.inf, 1e308, -1e308]
NUMBERS += [5e-324, 1e-320, -1e-320, 2.2250738585072014e-308, 1e22, 2.0**53, 2.0**53 + 2, 2.0**63, -(2.0**63), None]
INTEGERS = [0, 1, 2, 3, -1, 2**31, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**60 + 1, 2**63 - 1, -(2**63), None]
TEXTS = ["a", "A", "á", "á", "a ", " a", "b", "B", "hiv positive", "HIV POSITIVE", "HIV positive", "1", "01", "1.0"]
TEXTS += [
    "true",
    "TRUE",
    "",
    " ",
    "'",
    '"',
    '""',
    ",",
    ";",
    "\t",
    "|",
    "\n",
    "\r\n",
    "a,b\n1,2\n3,4",
    "a;b",
    "\"a\",'1'",
]
TEXTS += [
    "NA",
    "NaN",
    "null",
    "None",
    "\\N",
    "\\",
    "=1+1",
    "#",
    "ﬁ",
    "ß",
    "SS",
    "İ",
    "ı",
    "K",
    "\u200b",
    "\u202e",
    "\ufeff",
    "😀",
]
TEXTS += ["x" * 100_000, "\n" * 1000, "other", "missing", "other_", "\x1b[31m", "日本", None]
BOOLEANS = [True, False, None]
BYTES = [
    b"",
    b"\xff\xfe",
    b"\x00",
    b"a\x00b",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\xc3",
    b"1e400",
    b"-1e400",
    b"0x10",
    b" 7 ",
]
BYTES += [
    b"1_000",
    b"1,5",
    b"\xd9\xa3",
    b"inf",
    b"nan",
    b"-",
    b"+",
    b".",
    b"9007199254740993",
    b"1" * 400,
    b'"',
    b'""',
    b"\r",
]
BYTES += [b"\n", b'"\n"', b",,,,,,", b"\x85", b"\xe2\x80\xa8", b"a\rb", b"True", b"FALSE", b"1", b"0", b"x" * 3_000_000]
OBJECTS = [
    *NUMBERS,
    *INTEGERS,
    *TEXTS,
    *BOOLEANS,
    10**400,
    -(10**400),
    2**64,
    Decimal("1.5"),
    Decimal("NaN"),
    Decimal("1e400"),
]
OBJECTS += [Fraction(1, 3), 1j, b"a", bytearray(b"a"), [1], {"a": 1}, (1, 2), {1}, object, Colour.RED, "\udcff"]
OBJECTS += [
    datetime.date(2020, 1, 1),
    datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
    datetime.timedelta(1),
    slice(1),
]
OBJECTS += [
    np.float32(1.5),
    np.int8(1),
    np.uint64(2**64 - 1),
    np.bool_(True),
    np.datetime64("2020-01-01"),
    np.str_("a"),
]
OBJECTS += [np.timedelta64(5, "D"), np.float16("nan"), np.array([1, 2]), "9007199254740993", " 7 ", "1e3", "inf"]
NAMES = ["x", "w", "t", "k", "f", "remark"]


def ordinary(rng):
    """A record as there are many."""
    return {
        "x": rng.choice([None, round(rng.uniform(-5, 105), 3)]),
        "w": rng.choice([None, rng.randrange(-(2**56), 2**61)]),
        "t": rng.choice([None, "a", "b", "A", "HIV positive", "other"]),
        "k": rng.choice([None, 0, 1, 2, 7, 2**53 - 1]),
        "f": rng.choice([None, True, False]),
        "remark": "none",
    }


def typed(rng):
    """A record whose columns have types, with anything those can hold."""
    kinds = {"x": NUMBERS, "w": INTEGERS, "t": TEXTS, "k": INTEGERS, "f": BOOLEANS, "remark": TEXTS}
    return {name: rng.choice(values) for name, values in kinds.items()}


def untyped(rng):
    """A record of anything."""
    return {name: rng.choice(OBJECTS) for name in NAMES}


def of_bytes(rng):
    """A record of a file: fields of any bytes."""
    texts = [text.encode("utf-8", "surrogatepass") for text in TEXTS if text is not None]
    numbers = [str(number).encode() for number in (*NUMBERS, *INTEGERS) if number is not None]
    return {name: rng.choice([*texts, *numbers, *BYTES]) for name in NAMES}


# Sources: from records to a table


def to_polars(records, names=NAMES):
    types = dict(zip(NAMES, (pl.Float64, pl.Int64, pl.String, pl.Int64, pl.Boolean, pl.String), strict=True))
    return pl.DataFrame({name: pl.Series([record[name] for record in records], dtype=types[name]) for name in names})


class Files:
    """A folder that is emptied between tables: what is lazy has been read by then."""

    def __init__(self):
        self.home = tempfile.TemporaryDirectory()
        self.number = itertools.count()

    def new(self, suffix):
        return Path(self.home.name) / f"{next(self.number)}{suffix}"


FILES = Files()


def write_csv(records, rng):
    """A file as RFC 4180 has it: fields in quotes where they must be, and elsewhere as it comes."""
    ending = rng.choice([b"\n", b"\r\n"])
    lines = [b",".join(name.encode() for name in NAMES)]
    lines += [b",".join(_field(record[name], rng) for name in NAMES) for record in records]
    content = rng.choice([b"", b"\xef\xbb\xbf"]) + ending.join(lines) + rng.choice([b"", ending])
    path = FILES.new(rng.choice([".csv", ".csv", ".csv.gz"]))
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)
    return path


def _field(value, rng):
    content = b"" if value is None else value if isinstance(value, bytes) else str(value).encode()
    must = any(mark in content for mark in b',"\r\n')
    return b'"' + content.replace(b'"', b'""') + b'"' if must or rng.random() < 0.2 else content


def write_declared(written):
    """Files in another form than RFC 4180 has: other marks, an encoding of one or two bytes, lines above the header."""
    separator, quote = written.separator, written.quote
    wide = written.encoding.startswith("utf-16")

    def field(value, rng):
        text = "" if value is None else value.decode("latin-1") if isinstance(value, bytes) else str(value)
        # Half of a pair, which is no character.
        text = text.replace("\xff", "\ud83d") if wide else text
        must = any(mark in text for mark in (separator, quote, "\r", "\n"))
        return quote + text.replace(quote, quote * 2) + quote if must or rng.random() < 0.2 else text

    def make(records, rng):
        ending = rng.choice(["\n", "\r\n"])
        lines = ['a "title'] * written.skip_lines + ([separator.join(NAMES)] if written.header else [])
        lines += [separator.join(field(record[name], rng) for name in NAMES) for record in records]
        text = ending.join(lines) + ending
        path = FILES.new(".csv")
        path.write_bytes(text.encode("utf-16-le", "surrogatepass") if wide else text.encode("latin-1", "replace"))
        return path

    return make


LATIN = Format(separator=";", quote="'", decimal=",", encoding="cp1252", skip_lines=2, null_values=("NA",))
WIDE = Format(separator="\t", encoding="utf-16-le", thousands=",")


def in_parts(records, make, rng):
    """The records in two or three parts."""
    cuts = sorted(rng.choices(range(len(records) + 1), k=2))
    return [make(part) for part in (records[: cuts[0]], records[cuts[0] : cuts[1]], records[cuts[1] :])]


def parquet(records, rng, *, inferred=False):
    """Files with the types that are declared, or with those that a writer makes of the values of each."""
    folder = FILES.new("")
    folder.mkdir()
    for number, part in enumerate(in_parts(records, to_polars, rng)):
        if inferred and part["w"].null_count():
            part = part.with_columns(pl.col("w", "k").cast(pl.Float64))
        if inferred and part["t"].null_count() == len(part):
            part = part.with_columns(pl.lit(None).alias("t"))
        part.write_parquet(folder / f"{number}.parquet")
    return folder


def pandas_frame(records, rng):
    """Columns with the types that pandas makes of their values, or objects, or the best types there are."""
    import pandas as pd

    made = {}
    for name in NAMES:
        values = [record[name] for record in records]
        how = rng.choice(["objects", "inferred", "best"])
        try:
            series = pd.Series(values, dtype=object)
            series = series.infer_objects() if how == "inferred" else series
            made[name] = series.convert_dtypes() if how == "best" else series
        except (TypeError, ValueError, OverflowError):
            made[name] = pd.Series(values, dtype=object)
    return pd.DataFrame(made)


def pandas_typed(records, rng):
    """Nullable, Arrow, categorical and classic types."""
    import pandas as pd

    table = to_polars(records)
    arrow = table.to_pandas(use_pyarrow_extension_array=True)
    kinds = {
        "arrow": lambda: arrow,
        "nullable": lambda: arrow.astype({"w": "Int64", "k": "Int64", "f": "boolean", "t": "string"}),
        "categorical": lambda: arrow.astype({"t": "category"}).assign(k=pd.Categorical(table["k"].to_list())),
        "classic": lambda: pd.DataFrame(table.to_dict(as_series=False)),
    }
    return kinds[rng.choice(sorted(kinds))]()


def lists(records, rng):
    """Lists, object arrays and masked ones."""
    made = {}
    for name in NAMES:
        values = [record[name] for record in records]
        if rng.random() < 0.5:
            array = np.empty(len(values), dtype=object)
            array[:] = values
            made[name] = array
        else:
            made[name] = values
    return made


def arrow_table(records, rng):
    """Chunks, dictionaries, large and small strings."""
    import pyarrow as pa

    table = pa.concat_tables(in_parts(records, lambda part: to_polars(part).to_arrow(), rng))
    text = table["t"].cast(rng.choice([pa.string(), pa.large_string()]))
    text = text.dictionary_encode() if rng.random() < 0.5 else text
    return table.set_column(table.column_names.index("t"), "t", text)


def duckdb_relation(records, rng):
    """Columns with a collation or of an enumeration, and plain ones."""
    import duckdb

    made = duckdb.connect()
    if rng.random() < 0.3:
        made.execute("SET default_collation = 'nocase'")
    made.register("given", to_polars(records).to_arrow())
    collation = rng.choice(["", "COLLATE NOCASE", "COLLATE NOACCENT", "COLLATE NOCASE.NOACCENT"])
    made.execute(
        f"CREATE TABLE t (x DOUBLE, w {rng.choice(['BIGINT', 'HUGEINT'])}, t VARCHAR {collation}, k BIGINT, f BOOLEAN, "
        "remark VARCHAR)"
    )
    made.execute("INSERT INTO t SELECT * FROM given")
    if rng.random() < 0.3:
        texts = sorted({record["t"] for record in records} - {None})
        values = ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
        made.execute(f"CREATE TYPE kinds AS ENUM ({values or chr(39) * 2})")
        return made.sql("SELECT * REPLACE (CAST(CAST(t AS VARCHAR) AS kinds) AS t) FROM t")
    return made.table("t")


def duckdb_file(records, rng):
    relation = duckdb_relation(records, rng)
    import duckdb

    path = FILES.new(".duckdb")
    with duckdb.connect(str(path)) as made:
        made.register(
            "given", relation.arrow().read_all() if hasattr(relation.arrow(), "read_all") else relation.arrow()
        )
        made.execute(
            "CREATE TABLE t (x DOUBLE, w BIGINT, t VARCHAR COLLATE NOCASE, k BIGINT, f BOOLEAN, remark VARCHAR)"
        )
        made.execute("INSERT INTO t SELECT * FROM given")
    return path


def ibis_duckdb(records, rng):
    import ibis

    table = to_polars(records)
    made = ibis.duckdb.connect()
    made.raw_sql(
        f"CREATE TABLE t (x DOUBLE, w BIGINT, t VARCHAR {rng.choice(['', 'COLLATE NOCASE'])}, k BIGINT, f BOOLEAN)"
    )
    made.con.register("given", table.drop("remark").to_arrow())
    made.raw_sql("INSERT INTO t SELECT * FROM given")
    return made.table("t")


def sqlframe_duckdb(records, _):
    from sqlframe.duckdb import DuckDBSession

    from tests.engines import places

    places.duck().execute(
        "CREATE OR REPLACE TABLE neighbours (x DOUBLE, w BIGINT, t VARCHAR COLLATE NOCASE, k BIGINT, f BOOLEAN)"
    )
    places.duck().register("given", to_polars(records).drop("remark").to_arrow())
    places.duck().execute("INSERT INTO neighbours SELECT * FROM given")
    return DuckDBSession(conn=places.duck()).table("neighbours")


def dask_frame(records, rng):
    """Partitions of Arrow's types, or of classic ones."""
    import dask
    import dask.dataframe as dd

    dask.config.set(scheduler="synchronous")
    frame = to_polars(records).to_pandas(use_pyarrow_extension_array=True)
    if rng.random() < 0.3:
        frame = frame.astype({"w": "Int64", "k": "Int64", "x": "float64"})
    return dd.from_pandas(frame, npartitions=rng.choice([1, 2, 3]), sort=False)


def spark_frame(records, rng):
    """The session that is there; from Spark 4 on also columns that have a collation."""
    import pyspark
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    frame = session.read.parquet(*(str(path) for path in parquet(records, rng).iterdir()))
    if rng.random() < 0.3:
        frame = frame.withColumn("remark", f.create_map(f.lit("a"), f.col("remark")))
    if int(pyspark.__version__.split(".")[0]) >= 4 and rng.random() < 0.7:
        frame = frame.withColumn("t", f.collate(f.col("t"), rng.choice(["UTF8_LCASE", "UNICODE_CI", "UNICODE_AI"])))
    return frame


POSTGRES = """
CREATE EXTENSION IF NOT EXISTS citext;
DROP TABLE IF EXISTS neighbours;
DROP DOMAIN IF EXISTS amount;
DROP DOMAIN IF EXISTS word;
DROP COLLATION IF EXISTS loose;
CREATE DOMAIN amount AS numeric;
CREATE DOMAIN word AS text;
CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
"""


def postgres_table(records, rng, domains=("amount", "word")):
    import psycopg

    from tests.engines import places

    number, word = domains
    kinds = rng.choice(["double precision", "numeric", number]), rng.choice(["bigint", "numeric"])
    text = rng.choice(["text", "citext", 'text COLLATE "loose"', word, "varchar(200000)"])
    with psycopg.connect(places.postgres()) as connection, connection.cursor() as cursor:
        cursor.execute(POSTGRES)
        cursor.execute(
            f"CREATE TABLE neighbours (x {kinds[0]}, w {kinds[1]}, t {text}, k bigint, f boolean, remark text)"
        )
        with cursor.copy("COPY neighbours FROM STDIN") as copy:
            for record in records:
                copy.write_row([record[name] for name in NAMES])
    return places.postgres()


def ibis_postgres(records, rng):
    import ibis

    # Ibis alone does not know domains, and refuses them.
    made = ibis.connect(postgres_table(records, rng, domains=("numeric", "varchar(200000)")))
    weakref.finalize(made, made.con.close)
    return made.table("neighbours")


# Source: how a hostile record is made, how a table is, and where it is found.
SOURCES = {
    "CSV": (of_bytes, write_csv, {}),
    "CSV, of one byte": (of_bytes, write_declared(LATIN), {"written": LATIN}),
    "CSV, of two bytes": (of_bytes, write_declared(WIDE), {"written": WIDE}),
    "lists": (untyped, lists, {}),
    "pandas, of anything": (untyped, pandas_frame, {}),
    "pandas": (typed, pandas_typed, {}),
    "Polars": (typed, lambda records, _: to_polars(records), {}),
    "Polars, Parquet": (typed, parquet, {}),
    "Polars, Parquet of other types": (typed, lambda records, rng: parquet(records, rng, inferred=True), {}),
    "PyArrow": (typed, arrow_table, {}),
    "DuckDB": (typed, duckdb_relation, {}),
    "DuckDB, a file": (typed, duckdb_file, {"table": "t"}),
    "DuckDB, Parquet of other types": (
        typed,
        lambda records, rng: parquet(records, rng, inferred=True),
        {"engine": "duckdb"},
    ),
    "Ibis on DuckDB": (typed, ibis_duckdb, {}),
    "SQLFrame on DuckDB": (typed, sqlframe_duckdb, {}),
    "Dask": (typed, dask_frame, {}),
    "Dask, Parquet of other types": (
        typed,
        lambda records, rng: parquet(records, rng, inferred=True),
        {"engine": "dask"},
    ),
    "Spark": (typed, spark_frame, {}),
    "Spark, Parquet of other types": (
        typed,
        lambda records, rng: parquet(records, rng, inferred=True),
        {"engine": "spark"},
    ),
    "PostgreSQL": (typed, postgres_table, {"table": "neighbours"}),
    "Ibis on PostgreSQL": (typed, ibis_postgres, {}),
}


def attack(source, *, bases, variants, seed=0):
    """Pairs of neighbours that were counted, and what moved more than one record or was refused."""
    hostile, make, where = SOURCES[source]
    # The same tables for one source whatever others are tried.
    rng = random.Random(f"{source} {seed}")
    pairs, faults = 0, []
    for base in range(bases):
        others = [ordinary(rng) for _ in range(rng.choice([0, 1, 2, 5, 12]))]
        place = rng.randrange(len(others) + 1)
        records = [hostile(rng) if rng.random() < 0.9 else ordinary(rng) for _ in range(variants)]
        if "PostgreSQL" in source:
            # It has no text with a NUL, and the others are the same.
            records = [{n: v.replace("\0", "") if isinstance(v, str) else v for n, v in r.items()} for r in records]
        tables = [others[:place] + one + others[place:] for one in ([], *([record] for record in records))]
        without, *results = (counted(make(table, rng), **where) for table in tables)
        for record, result in zip(records, results, strict=True):
            refused = isinstance(result, str) or isinstance(without, str)
            if refused or not all(map(is_one_record, REQUESTS, result, without)):
                faults.append((source, base, record, result if refused else "moved more than one record"))
        pairs += variants * (variants - 1) // 2 + variants
    return pairs, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="*", metavar="SOURCE")
    parser.add_argument("--bases", type=int, default=3)
    parser.add_argument("--variants", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found = Counter()
    for source in given.sources or SOURCES:
        found[source], faults = attack(source, bases=given.bases, variants=given.variants, seed=given.seed)
        print(f"{source}: {found[source]:,} pairs, {len(faults)} faults", flush=True)
        for _, base, record, why in faults[:3]:
            print(f"  base {base}: {why}: { {n: repr(v)[:40] for n, v in record.items()} }")
    print(f"{found.total():,} pairs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
