"""A file that is swapped between its check and its count is not counted, whatever it holds."""

import gzip
import os
from pathlib import Path

import polars as pl
import pytest

import inbounds as ib
from inbounds import ledger
from inbounds.errors import DataError
from inbounds.road import run
from inbounds.tables.versions import find_change, take_versions

ROWS, FEW = 1000, 1
CHANGED = "changed after it was checked"


def table_of(rows):
    return pl.DataFrame({"x": [float(i % 7) for i in range(rows)], "g": ["a"] * rows})


def write_csv(path, rows, **how):
    path.write_bytes(table_of(rows).write_csv(**how).encode())


def write_gzip(path, rows):
    path.write_bytes(gzip.compress(table_of(rows).write_csv().encode()))


def write_duckdb(path, rows):
    import duckdb

    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"create table t as select i % 7.0 as x, 'a' as g from range({rows}) r(i)")


def write_parquet(path, rows):
    table_of(rows).write_parquet(path)


def write_excel(path, rows):
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for i, row in enumerate([("x", "g"), *table_of(rows).iter_rows()]):
            sheet.write_row(i, 0, row)


# The file, how it is written, and what the plan says about it.
SOURCES = {
    "CSV": ("t.csv", write_csv, {}),
    "CSV of a declared form": ("t.csv", lambda path, n: write_csv(path, n, separator=";"), {"separator": ";"}),
    "CSV in blocks": ("t.csv", lambda path, n: write_csv(path, n), {"encoding": "latin-1"}),
    "compressed CSV": ("t.csv.gz", write_gzip, {}),
    "a folder of CSV files": ("folder/t.csv", write_csv, {"source": "folder"}),
    "a pattern of CSV files": ("t1.csv", write_csv, {"source": "t?.csv"}),
    "Parquet": ("t.parquet", write_parquet, {}),
    "Parquet in DuckDB": ("t.parquet", write_parquet, {"engine": "duckdb"}),
    "Parquet in Dask": ("t.parquet", write_parquet, {"engine": "dask"}),
    "a pattern of Parquet files": ("t1.parquet", write_parquet, {"source": "t*.parquet"}),
    "DuckDB": ("t.duckdb", write_duckdb, {"table": "t"}),
}
EVERY = pytest.mark.parametrize(("name", "write", "more"), SOURCES.values(), ids=SOURCES)


def plan_of(folder, name, more, *, charged=True):
    source = more.get("source", name)
    data = {"source": str(folder / source)} | {key: value for key, value in more.items() if key != "source"}
    budget = {"epsilon": 1000}
    if charged:
        budget |= {"ledger": str(folder / "ledger"), "dataset": "d", "limit": 1500}
    return ib.Plan.of(
        {
            "data": data | {"neighbours": "add-remove"},
            "budget": budget,
            "columns": {"g": {"levels": ["a"], "other": "a", "missing": "a"}},
            "release": [{"name": "rows", "statistic": "histogram", "columns": ["g"]}],
        }
    )


def at(moment, action):
    """A function that is called at each step of a release, and acts once, at one of them."""
    waiting = [moment]

    def say(text):
        if waiting and text == waiting[0]:
            waiting.clear()
            action()

    return say


def replace(path, write):
    """Another file takes the name, as most programs save."""
    other = path.with_name(f"_{path.name}")
    write(other, FEW)
    other.replace(path)


def write_over(path, write):
    """The same file with other content of the same size, and with the time that it had before."""
    content, times = path.read_bytes(), path.stat()
    other = path.with_name(f"_{path.name}")
    write(other, FEW)
    with path.open("r+b") as stream:
        stream.write(other.read_bytes().ljust(len(content))[: len(content)])
    other.unlink()
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (times.st_size, times.st_mtime_ns)


@pytest.mark.claim("versions")
@pytest.mark.filterwarnings("ignore")
@EVERY
@pytest.mark.parametrize("swap", [replace, write_over])
@pytest.mark.parametrize("charged", [True, False])
def test_a_file_that_is_swapped_after_its_check_is_not_counted(tmp_path, name, write, more, swap, charged):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    write(path, ROWS)
    plan = plan_of(tmp_path, name, more, charged=charged)
    assert ib.release(plan_of(tmp_path, name, more, charged=False))["rows"].value[0] == ROWS
    with pytest.raises(DataError, match=CHANGED):
        ib.release(plan, say=at("reading the data, once", lambda: swap(path, write)))


@pytest.mark.claim("versions")
def test_nothing_is_spent_twice_on_a_file_that_was_swapped(tmp_path):
    """The refusal depends on no value, so the next run counts the new file for the same charge."""
    path = tmp_path / "t.csv"
    write_csv(path, ROWS)
    plan = plan_of(tmp_path, "t.csv", {})
    with pytest.raises(DataError, match=CHANGED):
        ib.release(plan, say=at("charging the ledger", lambda: replace(path, write_csv)))
    assert ib.release(plan)["rows"].value[0] == FEW
    assert [entry.kind for entry in ledger.verify(plan.account.ledger)].count("charge") == 1


@pytest.mark.claim("versions")
@pytest.mark.parametrize("when", ["before", "while"])
def test_a_call_with_a_path(tmp_path, monkeypatch, when):
    """Without a plan; and a file that is swapped while it is counted."""
    path, real = tmp_path / "t.csv", run.count_cells
    write_csv(path, ROWS)

    def count(*args, **kwargs):
        cells = real(*args, **kwargs)
        replace(path, write_csv)
        return cells

    def opened(*args, real=run.open_table, **kwargs):
        found = real(*args, **kwargs)
        replace(path, write_csv)
        return found

    if when == "while":
        monkeypatch.setattr(run, "count_cells", count)
    else:
        monkeypatch.setattr(run, "open_table", opened)
    with pytest.raises(DataError, match=CHANGED):
        ib.histogram(path, "g", levels=["a"], epsilon=1000, neighbours="add-remove")


@pytest.mark.claim("versions")
def test_a_file_that_is_swapped_while_it_is_checked_costs_nothing(tmp_path, monkeypatch):
    path, real = tmp_path / "t.csv", run.open_place
    write_csv(path, ROWS)

    def open_place(*args, **kwargs):
        found = real(*args, **kwargs)
        replace(path, write_csv)
        return found

    monkeypatch.setattr(run, "open_place", open_place)
    plan = plan_of(tmp_path, "t.csv", {})
    with pytest.raises(DataError, match=CHANGED):
        ib.release(plan)
    assert not plan.account.ledger.exists()


@pytest.mark.claim("versions")
def test_an_excel_file_is_counted_as_it_was_checked(tmp_path):
    """It is read once, so that nobody can come between."""
    path = tmp_path / "t.xlsx"
    write_excel(path, ROWS)
    made = ib.release(
        plan_of(tmp_path, "t.xlsx", {}), say=at("charging the ledger", lambda: replace(path, write_excel))
    )
    assert made["rows"].value[0] == ROWS


@pytest.mark.claim("versions")
def test_a_file_that_comes_into_a_folder_later_is_left_out(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    write_csv(folder / "a.csv", ROWS)
    plan = plan_of(tmp_path, "", {"source": "folder"})
    made = ib.release(plan, say=at("charging the ledger", lambda: write_csv(folder / "b.csv", FEW)))
    assert made["rows"].value[0] == ROWS


@pytest.mark.claim("versions")
def test_versions_of_places(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    assert take_versions(path) == ((path, None),)
    write_csv(path, ROWS)
    versions = take_versions(path)
    assert find_change(versions) is None
    assert take_versions(f"file://{path}") == versions
    monkeypatch.setenv("TABLE", str(path))
    assert take_versions("env:TABLE") == versions
    # To read a file changes nothing.
    assert len(path.read_bytes()) > 0
    assert find_change(versions) is None
    path.unlink()
    assert CHANGED in str(find_change(versions))
    for other in ("postgresql://host/db", "s3://bucket/t.parquet", tmp_path / "t.xlsx", tmp_path / "none*.csv"):
        assert take_versions(other) == ()
    assert [Path(one).name for one, _ in take_versions(tmp_path / "t.duckdb")] == ["t.duckdb", "t.duckdb.wal"]


@pytest.mark.claim("versions")
def test_a_change_right_after_another_shows(tmp_path):
    """Times of files move in steps; two changes within one would look alike."""
    path = tmp_path / "t.csv"
    for turn in range(40):
        path.write_bytes(bytes([48 + turn]))
        versions = take_versions(path)
        path.write_bytes(bytes([49 + turn]))
        assert find_change(versions) is not None
