"""One record moves one record: the readers that broke it, each as it was found, and a share of generated neighbours."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import inbounds as ib
from inbounds.tables.engine import Request, tally
from inbounds.tables.places import open_place
from inbounds.tables.schema import DataError, Levels, Numeric, quantise_column
from inbounds.tables.sources import read
from tests.engines import neighbours, places

HIV = Levels("hiv", ("HIV positive", "negative"), other="negative", missing="negative")
SOURCES = [source for source in neighbours.SOURCES if "PostgreSQL" not in source]


def cells(table, *columns):
    frame = table if not isinstance(table, str | Path) else open_place(table, columns)
    (found,) = tally(read(frame, columns), [Request(tuple(columns))])
    return {place: cell[0] for place, cell in found.items()}


@pytest.mark.claim("csv")
@pytest.mark.claim("parquet-types")
@pytest.mark.claim("collation")
@pytest.mark.parametrize("source", SOURCES)
def test_neighbours_of_every_source(source):
    """A small share of what `python -m tests.engines.neighbours` tries; Spark 4 has a test of its own."""
    if source.startswith("Spark"):
        places.spark()
    # Dask plans a table for three seconds, whatever is in it.
    slow, slower = source.startswith(("DuckDB", "Ibis")), source.startswith(("Spark", "Dask", "SQLFrame"))
    bases, variants = (1, 3) if slower else (1, 12) if slow else (2, 20)
    pairs, faults = neighbours.attack(source, bases=bases, variants=variants, seed=1)
    assert not faults
    assert pairs >= 6


@pytest.mark.claim("collation")
@pytest.mark.parametrize("source", ["PostgreSQL", "Ibis on PostgreSQL"])
def test_neighbours_on_postgresql(source):
    if places.postgres() is None:
        pytest.skip("SKIPPED LOUDLY: no PostgreSQL binaries (initdb) on this machine; install postgresql to test it")
    _, faults = neighbours.attack(source, bases=1, variants=8, seed=1)
    assert not faults


@pytest.mark.claim("collation")
def test_neighbours_on_spark_4():
    """In its own environment, with collations, which Spark has from there on."""
    python = Path(__file__).parents[2] / ".venv-spark4" / "bin" / "python"
    if not python.exists():
        pytest.skip("SKIPPED LOUDLY: no environment of Spark 4; `make test` makes it")
    command = [str(python), str(Path(__file__).with_name("spark4_neighbours.py")), "1", "3"]
    environment = os.environ | {"JAVA_TOOL_OPTIONS": places.QUICK_JAVA}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "0 faults" in done.stdout


def test_the_attack_sees_what_moves():
    """The control: a reader that takes text for a type, one that splits a field, one that drops rows."""
    request = Request((HIV,))
    one, two = {(0,): (1, (), ())}, {(0,): (1, (), ()), (1,): (1, (), ())}
    assert neighbours.is_one_record(request, two, one)
    for more in ({(0,): (3, (), ())}, {(1,): (2, (), ())}, one, {}):
        assert not neighbours.is_one_record(request, more, one)
    number = quantise_column(Numeric.of("x", (0, 100)), resolution=1 << 12)
    sums = Request((), (number,), True)
    empty, top = {(): (1, (0,), (0,))}, {(): (2, (number.count,), (number.count**2,))}
    assert neighbours.is_one_record(sums, top, empty)
    for sum_, product in ((number.count + 1, 0), (-1, 0), (0, number.count**2 + 1), (0, -1)):
        assert not neighbours.is_one_record(sums, {(): (2, (sum_,), (product,))}, empty)


def test_the_attack_sees_a_reader_that_breaks_records(monkeypatch):
    """The control: lines taken for records, as some engines do by default."""
    lines = pl.scan_csv

    def broken(files, **how):
        return lines(files, **{**how, "quote_char": None, "truncate_ragged_lines": True})

    monkeypatch.setattr(pl, "scan_csv", broken)
    monkeypatch.setattr("inbounds.tables.csv_files.check_structure", lambda *_: 0)
    monkeypatch.setattr("inbounds.tables.csv_files.guard", lambda _: 0)
    _, faults = neighbours.attack("CSV", bases=2, variants=30)
    assert faults


# What was found


@pytest.mark.parametrize("engine", ["spark", "duckdb", "dask"])
def test_no_engine_reads_csv_its_own_way(tmp_path, engine):
    """Spark took lines of a quoted field for rows, DuckDB guessed quotes from values, Dask an index from a comma."""
    path = tmp_path / "t.csv"
    for record in (b"yes,x", b'"a","\'1\'"', b'yes,"1\nyes,1\nyes,1"'):
        path.write_bytes(b"smoker,remark\n" + b"yes,x\n" * 500 + record + b"\n")
        with pytest.raises(ValueError, match="a CSV file is read by one reader"):
            open_place(path, [HIV], engine=engine)


def test_quotes_separators_and_breaks_in_a_csv_file(tmp_path):
    path, smoker = tmp_path / "t.csv", Levels("smoker", ("yes", "no"), other="no", missing="no")
    for record in (b"yes,x", b'"a","\'1\'"', b"a;b,c", b'no,"1\nyes,1\nyes,1"', b'"yes\r\nyes",","', b"\xff\xfe,\x00"):
        path.write_bytes(b"smoker,remark\n" + b"yes,x\n" * 500 + record + b"\n")
        found = cells(path, smoker)
        assert sum(found.values()) == 501
        assert found[(0,)] in (500, 501)
    path.write_bytes(b"smoker,remark\nyes,x,\n" + b"yes,x\n" * 500)
    with pytest.raises(DataError, match="more or fewer fields than the header"):
        cells(path, smoker)


def test_text_among_integers_in_pandas(tmp_path):
    """pandas reads by chunks of 262,144 rows, and the chunk that holds a text is all text."""
    path, column = tmp_path / "t.csv", Levels("k", (1, 2), other=2, missing=2)
    for last in ("1", "x"):
        path.write_text("k\n" + "1\n" * 599_999 + last + "\n")
        frame = pd.read_csv(path, dtype_backend="numpy_nullable") if last == "1" else pd.read_csv(path)
        found = cells(frame, column)
        assert found[(0,)] in (599_999, 600_000)
        assert sum(found.values()) == 600_000


@pytest.mark.parametrize("last", [None, 2**64 - 1, 2**63, 0.5, "x", 2**70])
def test_integers_beyond_two_to_the_53(last):
    """One record more turned integers to doubles, and all of them were rounded by it: a variance moved by six times as
    much as was claimed. Where that would be felt, bounds and levels are refused, whatever the table holds."""
    with pytest.raises(ValueError, match="subtract a constant"):
        ib.variance([*range(2**53, 2**53 + 2000), last], bounds=(2**53, 2**53 + 2000), missing=2**53, epsilon=1)
    with pytest.raises(ValueError, match="must be below 2"):
        ib.histogram([2**53 + 1] * 2000 + [last], levels=[2**53, 5], other=5, missing=5, epsilon=1)
    wide = quantise_column(Numeric.of("x", (2**54, 2**60), missing=2**54), resolution=1 << 12)
    request = Request((), (wide,), True)
    others = [2**53 + 1 + 2 * i for i in range(1000)] + [2**59 + 1] * 1000
    histogram = Levels("x", (2**53 - 1, 5), other=5, missing=5)
    for make in (pd.Series, list, lambda values: pd.Series(values, dtype=object)):
        plain, flipped = make([*others, 7]), make([*others, last])
        ((n, sums, products),) = (c[()] for c in tally(read({"x": plain}, [wide.column]), [request]))
        ((m, others_, products_),) = (c[()] for c in tally(read({"x": flipped}, [wide.column]), [request]))
        assert n == m
        assert abs(sums[0] - others_[0]) <= wide.count
        assert abs(products[0] - products_[0]) <= request.pairs[0].largest
        assert cells({"x": plain}, histogram) == cells({"x": flipped}, histogram)


@pytest.mark.claim("collation")
def test_collations_of_duckdb():
    """The query grouped raw text: one spelling of many became the name of all."""
    import duckdb

    for setting, kind in (("", "VARCHAR COLLATE NOCASE"), ("nocase", "VARCHAR"), ("", "VARCHAR COLLATE NOACCENT")):
        made = duckdb.connect()
        made.execute(f"SET default_collation = '{setting}'")
        made.execute(f"CREATE TABLE t (hiv {kind})")
        made.execute("INSERT INTO t SELECT 'HIV positive' FROM range(999)")
        for first in ("hiv POSITIVE", "HIV positivé", "HIV positive"):
            made.execute("CREATE OR REPLACE TABLE u AS SELECT * FROM t LIMIT 0")
            made.execute("INSERT INTO u VALUES (?)", [first])
            made.execute("INSERT INTO u SELECT * FROM t")
            assert cells(made.table("u"), HIV).get((0,), 0) == 999 + (first == "HIV positive")


@pytest.mark.claim("collation")
def test_collations_of_postgresql():
    if places.postgres() is None:
        pytest.skip("SKIPPED LOUDLY: no PostgreSQL binaries (initdb) on this machine; install postgresql to test it")
    import psycopg

    with psycopg.connect(places.postgres(), autocommit=True) as server:
        server.execute(neighbours.POSTGRES)
        for kind in ("citext", 'text COLLATE "loose"', "text"):
            server.execute("DROP TABLE IF EXISTS tests_of_blood")
            server.execute(f"CREATE TABLE tests_of_blood (hiv {kind})")
            server.execute("INSERT INTO tests_of_blood VALUES ('hiv POSITIVE')")
            server.execute("INSERT INTO tests_of_blood SELECT 'HIV positive' FROM generate_series(1, 999)")
            frame = open_place(places.postgres(), [HIV], table="tests_of_blood")
            assert cells(frame, HIV) == {(0,): 999, (1,): 1}


def test_numbers_that_postgresql_would_refuse():
    """Overflow and underflow are errors there, and told that a record holds such a number, after the charge."""
    if places.postgres() is None:
        pytest.skip("SKIPPED LOUDLY: no PostgreSQL binaries (initdb) on this machine; install postgresql to test it")
    import psycopg

    column = quantise_column(Numeric.of("x", (0, 10**20), missing=0), resolution=1 << 30)
    for kind, values in (
        ("double precision", ["1e308", "-1e308", "1e-320", "5e-324", "NaN", "Infinity", "-Infinity"]),
        ("numeric", ["1e400", "-1e400", "1e-400", "NaN", "1e20", "Infinity"]),
    ):
        with psycopg.connect(places.postgres(), autocommit=True) as server:
            server.execute("DROP TABLE IF EXISTS odd")
            server.execute(f"CREATE TABLE odd (x {kind})")
            for value in values:
                server.execute(f"INSERT INTO odd VALUES ('{value}')")
        frame = open_place(places.postgres(), [column.column], table="odd")
        ((rows, sums, _),) = (c[()] for c in tally(read(frame, [column.column]), [Request((), (column,), True)]))
        assert rows == len(values)
        assert sums[0] == column.count * (2 if kind == "double precision" else 3)


def test_a_name_that_is_a_file_is_no_table_of_duckdb(tmp_path, monkeypatch):
    import duckdb

    monkeypatch.chdir(tmp_path)
    Path("secret.csv").write_text("hiv\nHIV positive\n")
    with duckdb.connect("t.duckdb") as made:
        made.execute('CREATE TABLE "odd ""name" (hiv VARCHAR)')
        made.execute("CREATE SCHEMA ward")
        made.execute("CREATE TABLE ward.patients (hiv VARCHAR)")
    for name in ("secret.csv", "'secret.csv'", "read_csv('secret.csv')", "ward.secret", "patients"):
        with pytest.raises(DataError, match="the DuckDB file has no table or view"):
            open_place("t.duckdb", [HIV], table=name)
    for name in ('odd "name', "ward.patients", 'main.odd "name'):
        assert cells(open_place("t.duckdb", [HIV], table=name), HIV) == {}


# What an attacker found after that


@pytest.mark.claim("parquet-types")
@pytest.mark.parametrize("engine", ["polars", "duckdb", "dask"])
def test_the_files_of_a_folder_do_not_depend_on_values(tmp_path, engine):
    """Files that systems leave there were counted or not, as one record changed a type in another file."""
    for rows, name in ((3, "1.parquet"), (500, "._2.parquet"), (70, "_3.parquet"), (5, "5.pq")):
        pl.DataFrame({"x": [1] * rows}).write_parquet(tmp_path / name)
    number = Numeric.of("x", (0, 100), missing=50)
    for last in (1, None):
        pd.DataFrame({"x": [1, last]}).to_parquet(tmp_path / "4.parquet")
        (found,) = tally(read(open_place(tmp_path, [number], engine=engine), [number]), [Request()])
        assert found[()][0] == 10


@pytest.mark.parametrize("engine", ["polars", "duckdb", "dask"])
def test_a_name_with_brackets_is_that_file(tmp_path, engine):
    pl.DataFrame({"hiv": ["negative"] * 3}).write_parquet(tmp_path / "s[1].parquet")
    pl.DataFrame({"hiv": ["negative"] * 50}).write_parquet(tmp_path / "s1.parquet")
    if engine == "polars":
        assert cells(tmp_path / "s[1].parquet", HIV) == {(1,): 3}
    else:
        with pytest.raises(ValueError, match="which this engine reads as a pattern; rename it"):
            open_place(tmp_path / "s[1].parquet", [HIV], engine=engine)


def test_a_file_is_counted_once_whatever_ways_lead_to_it(tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path)
    for name in ("2", "s/1"):
        (tmp_path / f"{name}.csv").write_text("hiv\nnegative\n")
        pl.DataFrame({"hiv": ["negative"]}).write_parquet(tmp_path / f"{name}.parquet")
    for pattern in ("**/*", "**/**/*"):
        for kind in ("csv", "parquet"):
            assert cells(f"{tmp_path}/{pattern}.{kind}", HIV) == {(1,): 2}
    assert cells(f"file://{tmp_path}/{pattern}.csv", HIV) == {(1,): 2}


def test_one_column_of_text_under_two_rules():
    """DuckDB failed after the charge; a stray of one rule was a level of the other."""
    import duckdb

    first = Levels("t", ("a", "b"), other="b", missing="b")
    second = Levels("t", ("other", "a"), other="a", missing="a")
    table = pl.DataFrame({"t": ["a"] * 4 + ["b"] * 2 + ["other"]})
    for frame in (duckdb.from_arrow(table.to_arrow()), table, table.to_dict(as_series=False), table.to_pandas()):
        found = tally(read(frame, [first, second]), [Request((first,)), Request((second,))])
        assert [{place: cell[0] for place, cell in one.items()} for one in found] == [
            {(0,): 4, (1,): 3},
            {(0,): 1, (1,): 6},
        ]
    for order in ([first, second], [second, first]):
        found = tally(read({"t": ["a", b"x", b"y"]}, order), [Request((second,))])
        assert {place: cell[0] for place, cell in found[0].items()} == {(1,): 3}


def test_arrays_with_named_fields_are_tables():
    records = np.array([(30.0, b"x")] * 1000, dtype=[("age", "f8"), ("word", "S1")])
    assert ib.mean(records, "age", bounds=(0, 100), missing=90, epsilon=10**6).value == pytest.approx(30, abs=0.01)
    word = Levels("word", ("x", "y"), other="y", missing="y")
    assert cells(records, word) == {(0,): 1000}


def test_levels_of_many_digits_need_declared_text():
    """pandas makes integers or text of them, by one record; Polars and a file keep them."""
    long = Levels(
        "t", ("10000000000000000", "12345678901234567"), other="10000000000000000", missing="10000000000000000"
    )
    values = ["12345678901234567"] * 5
    for table in (pd.DataFrame({"t": values}), pd.DataFrame({"t": [int(x) for x in values]}), {"t": values}):
        with pytest.raises(DataError, match="has levels of 16 digits or more"):
            read(table, [long])
    assert cells(pl.DataFrame({"t": values}), long) == {(1,): 5}


@pytest.mark.parametrize("last", [b"x", "x", None, 2.5, 1j])
def test_arrays_that_numpy_makes_of_mixed_values(last):
    number = Numeric.of("x", (0, 100), missing=50)
    step = quantise_column(number, resolution=100)
    ones, mixed = np.array([1] * 300), np.array([1] * 300 + [last])
    ((_, before, _),) = (c[()] for c in tally(read({"x": ones}, [number]), [Request((), (step,))]))
    ((_, after, _),) = (c[()] for c in tally(read({"x": mixed}, [number]), [Request((), (step,))]))
    assert 0 <= after[0] - before[0] <= step.count


def test_periods_of_pandas_are_no_numbers():
    number = Numeric.of("x", (0, 100), missing=50)
    periods = [pd.Period("2020-01-01", "D")] * 30
    request = [Request((), (quantise_column(number, resolution=100),))]
    for last in (periods[0], "x"):
        ((rows, sums, _),) = (c[()] for c in tally(read({"x": pd.Series([*periods, last])}, [number]), request))
        assert (rows, sums[0]) == (31, 31 * quantise_column(number, resolution=100).count // 2)


@pytest.mark.parametrize("last", [5, 2**63, 2**64 - 1])
def test_large_unsigned_integers_beside_negative_levels(last):
    key = Levels("k", (-1, 1, 2), other=2, missing=2)
    for table in (
        pd.DataFrame({"k": [1, 1, last]}),
        pl.DataFrame({"k": pl.Series([1, 1, last], dtype=pl.UInt64)}),
        pl.LazyFrame({"k": pl.Series([1, 1, last], dtype=pl.UInt64)}),
        pa.table({"k": pa.array([1, 1, last], pa.uint64())}),
    ):
        assert cells(table, key) == {(1,): 2, (2,): 1}


def test_columns_without_a_type():
    truth = Levels("f", (True, False), other=False, missing=False)
    for values in ([None, None], [None, True]):
        assert sum(cells(pl.LazyFrame({"f": values}), truth).values()) == 2
        assert sum(cells(pl.DataFrame({"f": values}), truth).values()) == 2
    wide = pa.table({"x": pa.array([1, 2], pa.decimal256(50))})
    number = Numeric.of("x", (0, 100))
    assert tally(read(wide, [number]), [Request((), (quantise_column(number, resolution=100),))])[0][()][0] == 2


class Hostile(str):
    """Text whose methods fail, with the text in the error."""

    __slots__ = ()

    def strip(self, *_):
        raise RuntimeError(self)

    def __float__(self):
        raise RuntimeError(self)


class Number(float):
    __slots__ = ()

    def __float__(self):
        raise RuntimeError("secret")


@pytest.mark.parametrize("hostile", [Hostile("secret"), Number(2.0)])
def test_objects_whose_methods_fail(hostile):
    for column in (Numeric.of("x", (0, 9), missing=0), Levels("x", (1, 2), other=2, missing=2)):
        for table in ({"x": [1, hostile]}, pd.DataFrame({"x": pd.Series([1, hostile], dtype=object)})):
            asked = Request((column,)) if isinstance(column, Levels) else Request()
            assert sum(cell[0] for cell in tally(read(table, [column]), [asked])[0].values()) == 2


def test_padded_text_of_postgresql():
    if places.postgres() is None:
        pytest.skip("SKIPPED LOUDLY: no PostgreSQL binaries (initdb) on this machine; install postgresql to test it")
    import psycopg

    with psycopg.connect(places.postgres(), autocommit=True) as server:
        server.execute("DROP TABLE IF EXISTS padded")
        server.execute("DROP TYPE IF EXISTS outcome")
        server.execute("CREATE TYPE outcome AS ENUM ('HIV positive', 'negative')")
        server.execute("CREATE TABLE padded (hiv char(20), same outcome)")
        server.execute("INSERT INTO padded VALUES ('HIV positive', 'negative'), ('negative', 'HIV positive')")
    same = Levels("same", HIV.levels, other="negative", missing="negative")
    frame = open_place(places.postgres(), [HIV, same], table="padded")
    assert cells(frame, HIV, same) == {(0, 1): 1, (1, 0): 1}


def test_headers_that_take_long(tmp_path):
    """A stray quote in the header, a thousand names that are all the same: work that grows with the bytes alone."""
    path = tmp_path / "t.csv"
    path.write_bytes(b'"a,t\n' + b"1,a\n" * 1_000_000)
    with pytest.raises(DataError, match="has no header"):
        open_place(path, [HIV])
    path.write_bytes(b"hiv" + b"," * 20_000 + b"\n" + b"negative" + b"," * 20_000 + b"\n")
    assert cells(path, HIV) == {(1,): 1}
    path.write_bytes(b"x^2,hiv\n1,negative\n")
    with pytest.raises(DataError, match="put its first name in quotes"):
        open_place(path, [HIV])


def test_an_error_of_the_header_carries_nothing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'"t,u\nsecret,1\n"\xff,2\n')
    with pytest.raises(DataError) as caught:
        open_place(path, [HIV])
    assert caught.value.__context__ is None
    for source, engine in (
        ("az://c/x.txt?sv=1&sig=secret", None),
        ("s3://KEY:secret/x", None),
        ("x.parquet", "sc:/h;token=secret"),
    ):
        with pytest.raises(ValueError) as caught:
            open_place(source, [HIV], engine=engine)
        assert "secret" not in str(caught.value)


def test_a_release_reads_csv_before_it_charges(tmp_path):
    """A malformed file is found out by its form, and costs nothing."""
    path = tmp_path / "t.csv"
    path.write_text("age\n1\n2,3\n")
    plan = ib.Plan.of(
        {
            "data": {"source": str(path), "rows": 2},
            "budget": {"epsilon": 1, "ledger": str(tmp_path / "t.ledger"), "dataset": "t"},
            "columns": {"age": {"bounds": [0, 9]}},
            "release": [{"name": "age", "statistic": "mean", "columns": ["age"]}],
        }
    )
    with pytest.raises(DataError, match="nothing was spent"):
        ib.release(plan)
    assert not (tmp_path / "t.ledger").exists()


def test_the_script_counts_pairs():
    done = subprocess.run(
        [sys.executable, "-m", "tests.engines.neighbours", "--bases", "1", "--variants", "3", "Polars"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout.splitlines()[-1] == "6 pairs"
