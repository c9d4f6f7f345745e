"""Tables by their place: the same integers from CSV, Parquet, DuckDB and PostgreSQL, whoever reads them."""

import gzip
import sys

import polars as pl
import pyarrow as pa
import pytest

import inbounds as ib
from inbounds.tables.engine import Request, tally
from inbounds.tables.places import open_place
from inbounds.tables.schema import DataError, Edges, Levels, Numeric, quantise_column
from inbounds.tables.sources import read
from tests.engines import places
from tests.tables.test_engine import by_hand

COLUMNS = [
    Numeric.of("age", (0, 100), missing=40),
    Numeric.of("income", (0, 5000.5), missing=0),
    Levels("region", ("north", "south"), other="south", missing="north"),
    Levels("visits", (0, 1, 2), other=2, missing=0),
    Levels("smoker", (True, False), missing=False),
    Edges.of("income", [0, 100, 2000, 5000], missing=50),
]
NUMBERS = tuple(quantise_column(column, resolution=1 << 30) for column in COLUMNS[:2])
REQUESTS = [Request((), NUMBERS, True), Request(tuple(COLUMNS[2:5]), NUMBERS[:1]), Request((COLUMNS[5],))]


def survey(rows=300):
    return pl.DataFrame(
        {
            "age": [None if i % 17 == 0 else float(i * 7 % 110) for i in range(rows)],
            "income": [None if i % 19 == 0 else i * 31.25 % 6000 for i in range(rows)],
            "region": [None if i % 23 == 0 else ("north", "south", "na", "NaN")[i % 4] for i in range(rows)],
            "visits": [None if i % 29 == 0 else i % 5 for i in range(rows)],
            "smoker": [None if i % 31 == 0 else i % 3 == 0 for i in range(rows)],
            "remark": ["007"] * rows,
        }
    )


EXPECTED = [by_hand(survey(), request) for request in REQUESTS]
READERS = ["polars", "duckdb", "dask", "spark"]


def counted(source, **how):
    return tally(read(open_place(source, COLUMNS, **how), COLUMNS), REQUESTS)


@pytest.fixture
def files(tmp_path):
    """One file and a folder of three, of both kinds."""
    table = survey()
    table.write_csv(tmp_path / "one.csv")
    table.write_parquet(tmp_path / "one.parquet")
    (tmp_path / "one.csv.gz").write_bytes(gzip.compress((tmp_path / "one.csv").read_bytes()))
    with pa.CompressedOutputStream(str(tmp_path / "one.csv.zst"), "zstd") as packed:
        packed.write((tmp_path / "one.csv").read_bytes())
    for kind in ("csv", "parquet"):
        (tmp_path / kind).mkdir()
        for i, piece in enumerate(places.pieces(table, 3)):
            getattr(piece, f"write_{kind}")(tmp_path / kind / f"{i}.{kind}")
    return tmp_path


@pytest.mark.claim("located")
@pytest.mark.parametrize("engine", READERS)
@pytest.mark.parametrize("name", ["one.parquet", "parquet", "parquet/*.parquet"])
def test_files_by_every_reader(files, engine, name):
    if engine == "spark":
        places.spark()
    assert counted(files / name, engine=engine) == EXPECTED


@pytest.mark.claim("located")
@pytest.mark.parametrize("name", ["one.csv", "one.csv.gz", "one.csv.zst", "csv", "csv/*.csv"])
def test_csv_files_by_one_reader(files, name):
    """Text such as NA stays text; empty fields are missing; types come from the rules. No engine reads its own way."""
    assert counted(files / name) == counted(files / name, engine="polars") == EXPECTED
    for engine in (*READERS[1:], "spark://host:7077"):
        with pytest.raises(ValueError, match="a CSV file is read by one reader"):
            open_place(files / name, COLUMNS, engine=engine)


@pytest.mark.claim("located")
def test_polars_reads_where_nothing_is_said(files):
    assert isinstance(open_place(files / "one.csv", COLUMNS), pl.LazyFrame)
    assert counted(str(files / "one.parquet")) == EXPECTED


@pytest.mark.claim("located")
def test_types_do_not_follow_the_values(tmp_path):
    """One record more, and numbers would be taken for text; by its rule the column is what it is."""
    column = [Levels("code", ("1", "2", "x"), other="x", missing="x")]
    for rows in (["1", "2", "1"], ["1", "2", "x"]):
        path = tmp_path / "codes.csv"
        path.write_text("code\n" + "\n".join(rows) + "\n")
        (cells,) = tally(read(open_place(path, column), column), [Request(tuple(column))])
        assert sum(cell[0] for cell in cells.values()) == 3


def test_text_in_a_column_of_numbers_is_missing(tmp_path):
    path = tmp_path / "ages.csv"
    path.write_text("age\n1\nsecret\n3\n")
    (with_text,) = tally(read(open_place(path, COLUMNS[:1]), COLUMNS[:1]), [Request((), NUMBERS[:1])])
    path.write_text("age\n1\n40\n3\n")
    assert tally(read(open_place(path, COLUMNS[:1]), COLUMNS[:1]), [Request((), NUMBERS[:1])]) == [with_text]
    path.write_text("age\n1\nsecret\n3\n")
    refusing = Numeric.of("age", (0, 100))
    with pytest.raises(DataError, match="column 'age' has missing values, or values that are no numbers") as caught:
        tally(
            read(open_place(path, [refusing]), [refusing]),
            [Request((), (quantise_column(refusing, resolution=1 << 30),))],
        )
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.claim("located")
def test_a_duckdb_file(tmp_path):
    import duckdb

    path = tmp_path / "survey.duckdb"
    with duckdb.connect(str(path)) as made:
        made.register("given", survey().to_arrow())
        made.execute("create table answers as select * from given")
        made.execute("create view seen as select * from answers")
    assert counted(path, table="answers") == counted(path, table="seen") == EXPECTED
    with pytest.raises(ValueError, match="a DuckDB file needs table="):
        open_place(path, COLUMNS)
    with pytest.raises(DataError, match="the DuckDB file has no table or view 'none'"):
        counted(path, table="none")
    with pytest.raises(ValueError, match="engine= cannot be combined with a DuckDB file"):
        open_place(path, COLUMNS, table="answers", engine="spark")


@pytest.mark.claim("located")
def test_a_postgresql_server(monkeypatch):
    """Sums by the server, for reading only, with the URL from the environment."""
    if places.postgres() is None:
        pytest.skip("SKIPPED LOUDLY: no PostgreSQL binaries (initdb) on this machine; install postgresql to test it")
    places.put(survey(), "answers")
    monkeypatch.setenv("SURVEY", places.postgres())
    assert counted("env:SURVEY", table="answers") == EXPECTED
    assert counted(places.postgres(), table="public.answers") == EXPECTED
    frame = open_place("env:SURVEY", COLUMNS, table="answers")
    with pytest.raises(Exception, match="read-only transaction"):
        frame.get_backend().raw_sql("delete from answers")
    wrong = places.postgres().replace("postgres@", "nobody:hunter2@")
    with pytest.raises(DataError) as caught:
        counted(wrong, table="answers")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__context__ is None
    for url in (places.postgres().replace("/postgres", "/nothing"), "postgresql://u:hunter2@127.0.0.1:1/d"):
        with pytest.raises(DataError, match="the PostgreSQL server cannot be reached, or lets nobody in") as caught:
            counted(url, table="answers")
        assert caught.value.__context__ is None
    for table in ("Answers", "public.none"):
        with pytest.raises(DataError, match=rf"has no table or view '{table}'; it has .*'answers'"):
            counted("env:SURVEY", table=table)


@pytest.mark.parametrize(
    ("source", "how", "words"),
    [
        ("none.parquet", {}, "there is no file 'none.parquet'"),
        ("none.duckdb", {"table": "t"}, "there is no file 'none.duckdb'"),
        (".", {}, "source must be Parquet or CSV files of one kind"),
        ("notes.txt", {}, "there is no file"),
        ("mysql://u:p@h/d", {}, "source must be a path, or a URL that begins with postgresql://"),
        ("postgresql://u:p@h/d", {}, "a PostgreSQL server needs table="),
        ("postgresql://u:p@h/d", {"table": "t", "engine": "spark"}, "engine= cannot be combined with"),
        ("env:NO_SUCH_PLACE", {}, "the environment variable 'NO_SUCH_PLACE', which is not set"),
        ("x.csv", {"engine": "excel"}, "engine must be one of 'polars', 'duckdb', 'dask', 'spark'"),
        ("", {}, "source must be a path or a URL"),
        (3, {}, "source must be a path or a URL"),
    ],
)
def test_bad_places(tmp_path, monkeypatch, source, how, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mixed.doc").write_text("")
    with pytest.raises((ValueError, TypeError)) as caught:
        open_place(source, COLUMNS, **how)
    assert words in str(caught.value)
    assert "u:p" not in str(caught.value)


def test_a_folder_of_folders_is_named_by_a_pattern(tmp_path):
    """As Spark and others write them: what only a name says is no column."""
    for region in ("north", "south"):
        where = tmp_path / "survey" / f"region={region}"
        where.mkdir(parents=True)
        pl.DataFrame({"age": [30.0, 40.0]}).write_parquet(where / "part-0.parquet")
    column = Numeric.of("age", (0, 100))
    with pytest.raises(ValueError, match=r"has folders in it: name the files by a pattern, as in FOLDER/\*/\*.parquet"):
        open_place(tmp_path / "survey", [column])
    frame = read(open_place(tmp_path / "survey" / "*" / "*.parquet", [column]), [column])
    assert tally(frame, [Request()])[0][()][0] == 4


@pytest.mark.parametrize("engine", ["polars", "duckdb", "dask", "spark"])
@pytest.mark.parametrize("lacking", ["1", "3"])
def test_a_column_that_only_some_files_have(tmp_path, engine, lacking):
    """Engines fail on it while they count, do not see it, or take it for missing values."""
    for name in "123":
        columns = {"age": [30.0]} | ({} if name == lacking else {"sex": ["m"]})
        pl.DataFrame(columns).write_parquet(tmp_path / f"{name}.parquet")
    with pytest.raises(DataError, match="column 'sex' is in some of the Parquet files and not in others"):
        open_place(tmp_path, [Levels("sex", ("m", "f"), missing="m")], engine=engine)


@pytest.mark.parametrize(
    ("names", "wanted", "words"),
    [
        (["a.b"], "a.b", "'a.b' has a dot or a backtick in its name"),
        (["a`b"], "a`b", "has a dot or a backtick in its name"),
        (["Age", "age"], "age", "the table has the columns 'Age', 'age', which Spark takes for one"),
    ],
)
def test_names_that_spark_reads_otherwise(names, wanted, words):
    table = places.spark().range(3).toDF("n").selectExpr(*(f"n as `{name.replace('`', '``')}`" for name in names))
    with pytest.raises(DataError, match=words):
        ib.mean(table, wanted, bounds=(0, 3), epsilon=1, rows=3)


def test_a_secret_place_is_not_shown(monkeypatch):
    monkeypatch.setenv("PLACE", "postgres//u:hunter2@h/d")
    with pytest.raises(DataError, match="there is no file 'env:PLACE'"):
        open_place("env:PLACE", COLUMNS)


def test_table_belongs_to_databases(files):
    with pytest.raises(ValueError, match="table= is only for a DuckDB file"):
        open_place(files / "one.csv", COLUMNS, table="t")


@pytest.mark.parametrize(
    ("module", "source", "how", "line"),
    [
        ("duckdb", "one.parquet", {"engine": "duckdb"}, "pip install 'inbounds[duckdb]'"),
        ("dask.dataframe", "one.parquet", {"engine": "dask"}, "pip install 'inbounds[dask]'"),
        ("pyspark.sql", "one.parquet", {"engine": "spark"}, "pip install 'inbounds[spark]'"),
        ("ibis", "postgresql://h/d", {"table": "t"}, "pip install 'inbounds[postgres]'"),
    ],
)
def test_a_missing_engine_gives_the_line_that_installs_it(files, monkeypatch, module, source, how, line):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError) as caught:
        open_place(files / source if source.endswith("parquet") else source, COLUMNS, **how)
    assert line in str(caught.value)


def test_tables_of_a_server_are_listed():
    """Where no table is named; names of tables are public, the address is not."""
    if places.postgres() is None:
        pytest.skip("SKIPPED LOUDLY: no PostgreSQL binaries (initdb) on this machine; install postgresql to test it")
    places.put(pl.DataFrame({"x": [1.0]}), "visits")
    with pytest.raises(ValueError, match=r"a PostgreSQL server needs table=.*it has .*'visits'") as caught:
        open_place(places.postgres(), [])
    assert "127.0.0.1" not in str(caught.value)
