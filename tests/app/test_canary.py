"""No cell of a table and no password in anything that anybody may see: a canary in both, and every error path we know.

What is searched: the error with everything it carries, its traceback, what was printed, logged and warned of, and every
file that was written. `paths` counts the errors that were provoked.
"""

import gzip
import logging
import os
import subprocess
import sys
import threading
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import inbounds as ib
from inbounds.cli import commands as cli
from inbounds.plan.template import skeleton
from inbounds.road.run import Place
from inbounds.tables.places import open_place
from inbounds.tables.schema import Levels, Numeric
from tests.engines import places

# Letters and digits that stand nowhere else; as a cell's text, a cell's number, and a password.
WORD, NUMBER, PASSWORD = "Qz7canary4", 73185264519, "hunter2Qz7"
CANARIES = (WORD, str(NUMBER), "73185", PASSWORD, "hunter2")
# Characters that parsers of addresses trip over.
PASSWORDS = [PASSWORD + tail for tail in ("", "/x", "#x", "?x", ":x", "@x", "%zz", "[", "℀", " x", "\\", "é", "%00")]


def called(*words):
    """The status that the command ends with."""
    before, sys.argv = sys.argv, ["inbounds", *words]
    try:
        cli.main()
    except SystemExit as left:
        return left.code
    finally:
        sys.argv = before


class Watch:
    """Runs calls, and keeps what could be seen of them."""

    def __init__(self, folder, capfd, caplog):
        self.folder, self.capfd, self.caplog, self.failed, self.ran = folder, capfd, caplog, 0, 0

    def run(self, call, *, fails=None):
        """Run a call; nothing of it may show a canary. ``fails`` says whether it has to."""
        told, error = [], None
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                result = call()
                told += [repr(result), str(result)]
            except Exception as caught:
                error = caught
                told += [str(caught), repr(caught), repr(caught.args), *traceback.format_exception(caught)]
        told += [str(one.message) for one in warned] + list(self.capfd.readouterr())
        told += [record.getMessage() for record in self.caplog.records]
        self.caplog.clear()
        told += [path.read_bytes().decode("utf-8", "replace") for path in self.written()]
        self.ran += 1
        self.failed += error is not None
        for text in told:
            for canary in CANARIES:
                assert canary not in text, f"{canary} in {text[:300]}"
        if fails is not None:
            assert (error is not None) == fails, repr(error)

    def written(self):
        """What a run leaves: records, reports, ledgers."""
        out = self.folder / "out"
        return [*(out.rglob("*") if out.is_dir() else ()), *self.folder.glob("*.ledger*")]


@pytest.fixture
def watch(tmp_path, capfd, caplog):
    caplog.set_level(logging.DEBUG)
    return Watch(tmp_path, capfd, caplog)


def calls(table, column="x"):
    """Releases of a column, most of which refuse what it holds."""
    number, words = {"bounds": (0, 9), "epsilon": 1}, {"levels": ["a", "b"], "epsilon": 1}
    yield lambda: ib.mean(table, column, **number)
    yield lambda: ib.sum(table, column, **number, neighbours="add-remove")
    yield lambda: ib.variance(table, column, **number, rows=3)
    yield lambda: ib.variance(table, column, **number, rows=99)
    yield lambda: ib.standard_deviation(table, column, **number)
    yield lambda: ib.histogram(table, column, **words)
    yield lambda: ib.histogram(table, column, levels=[1, 2], epsilon=1)
    yield lambda: ib.histogram(table, column, levels=[True, False], epsilon=1)
    yield lambda: ib.histogram(table, column, edges=[0, 1, 2], epsilon=1)
    yield lambda: ib.proportion(table, column, epsilon=1)
    yield lambda: ib.proportions(table, column, **words)
    yield lambda: ib.crosstab(table, levels={column: ["a", "b"]}, epsilon=1)
    yield lambda: ib.covariance(table, bounds={column: (0, 9), "y": (0, 9)}, epsilon=1)
    yield lambda: ib.mean(table, "y", bounds=(0, 9), by=column, levels=["a", "b"], epsilon=1)
    yield lambda: ib.pooled_variance(table, "y", bounds=(0, 9), by=column, levels=["a", "b"], epsilon=1)
    yield lambda: ib.mean(table, "z", bounds=(0, 9), epsilon=1)
    yield lambda: ib.mean(table, **number)


COLUMNS = {
    "text": [WORD, "b", "a"],
    "mixed": [WORD, 2, None],
    "number": [NUMBER, 1, None],
    "float": [float(NUMBER), float("nan"), 1.0],
    "huge": [NUMBER * 10**300, 1, 2],
    "bytes": [WORD.encode(), b"a", b"b"],
    "nested": [[WORD], [NUMBER], None],
    "objects": [{WORD: NUMBER}, 1, 2],
    "surrogates": [WORD + "\udcff", "a", "b"],
    "ragged": [WORD, NUMBER],
}
FRAMES = {
    "lists": lambda table: table,
    "arrays": lambda table: {name: np.array(values, dtype=object) for name, values in table.items()},
    "pandas": pd.DataFrame,
    "pandas, best types": lambda table: pd.DataFrame(table).convert_dtypes(),
    "Polars": lambda table: pl.DataFrame(table, strict=False),
    "Polars, lazy": lambda table: pl.DataFrame(table, strict=False).lazy(),
    "PyArrow": pa.table,
}


@pytest.mark.parametrize("frame", FRAMES)
def test_cells_of_frames(watch, frame):
    for values in COLUMNS.values():
        try:
            table = FRAMES[frame]({"x": values, "y": [1.0, 2.0, 3.0]})
        except Exception:
            # No such frame can be made.
            continue
        for call in calls(table):
            watch.run(call)
    assert watch.failed > 40


def calls_of_persons(table):
    """Releases in which a column says whose row it is, or orders the rows of persons."""
    number = {"bounds": (0, 9), "epsilon": 1}
    for neighbours in ("substitute", "add-remove"):
        rule = {"person": "x", "neighbours": neighbours}
        yield lambda r=rule: ib.mean(table, "y", **number, **r)
        yield lambda r=rule: ib.mean(table, "y", **number, **r, contributions=2, person_missing="own")
        yield lambda r=rule: ib.mean(table, "y", **number, **r, fold={"y": "sum"})
        yield lambda r=rule: ib.median(table, "y", **number, **r, keep="last", order="y")
    yield lambda: ib.mean(table, "y", **number, person="x", rows=99)
    yield lambda: ib.histogram(table, "x", levels=["a", "b"], epsilon=1, person="x")
    yield lambda: ib.mean(table, "y", **number, person="y", keep="first", order="x")
    yield lambda: ib.histogram(table, "x", levels=["a", "b"], epsilon=1, person="y", fold={"x": "max"})
    yield lambda: ib.histogram(table, "x", levels=["a", "b"], epsilon=1, person="y", groups={"x": 1})
    yield lambda: ib.mean(table, "x", **number, person="y", fold={"x": "mean"})


@pytest.mark.parametrize("frame", ["lists", "pandas", "Polars, lazy", "PyArrow"])
def test_ids_of_persons(watch, frame):
    """Nothing of an id, or of what rows are ordered by, is in a record, a message or a warning."""
    for values in COLUMNS.values():
        try:
            table = FRAMES[frame]({"x": values, "y": [1.0, 2.0, 3.0]})
        except Exception:
            # No such frame can be made.
            continue
        for call in calls_of_persons(table):
            watch.run(call)
    assert watch.failed > 20
    assert watch.ran - watch.failed > 10


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_cells_of_engines(watch):
    """The same by engines that have words of their own for what they refuse."""
    import dask.dataframe as dd
    import duckdb
    import ibis

    for name in ("text", "number", "float"):
        table = pl.DataFrame({"x": COLUMNS[name], "y": [1.0, 2.0, 3.0]}, strict=False)
        connection = duckdb.connect()
        connection.register("t", table.to_arrow())
        watched = [connection.table("t"), ibis.duckdb.from_connection(connection).table("t")]
        watched.append(dd.from_pandas(table.to_pandas(use_pyarrow_extension_array=True), npartitions=2))
        for frame in watched:
            for call in calls(frame):
                watch.run(call)
    assert watch.failed > 60


BAD_FILES = {
    "ragged.csv": f"x,y\n{WORD},{NUMBER},1\n".encode(),
    "short.csv": f"x,y\n{WORD}\n".encode(),
    "quote.csv": f'x,y\n{WORD}"x,{NUMBER}\n'.encode(),
    "open.csv": f'x,y\n"{WORD},{NUMBER}\n'.encode(),
    "return.csv": f"x,y\n{WORD}\r{NUMBER},1\n".encode(),
    "bytes.csv": f"x,y\n{WORD},".encode() + b"\xff\xfe\x00\n",
    "words.csv": f"x,y\n{WORD},{NUMBER}\na,b\n".encode(),
    "utf16.csv": f"x,y\n{WORD},{NUMBER}\n".encode("utf-16"),
    "cut.csv.gz": gzip.compress(f"x,y\n{WORD},{NUMBER}\n".encode() * 99)[:60],
    "none.csv": b"",
    "not.parquet": f"PAR1{WORD}{NUMBER}PAR1".encode(),
    "not.duckdb": f"{WORD}{NUMBER}".encode() * 99,
}


def plan_of(source, folder, **data):
    lines = "\n".join(f"{name} = {value!r}" for name, value in data.items())
    path = folder / "plan.toml"
    path.write_text(
        f"[data]\nsource = {source!r}\nrows = 2\n{lines}\n"
        '[budget]\nepsilon = 1.0\nledger = "t.ledger"\ndataset = "t"\nlimit = 50\n'
        '[columns]\nx = { levels = ["a", "b"] }\ny = { bounds = [0, 9] }\n'
        '[[release]]\nname = "x"\nstatistic = "histogram"\ncolumns = ["x"]\n'
        '[[release]]\nname = "y"\nstatistic = "mean"\ncolumns = ["y"]\n',
        "utf-8",
    )
    return str(path)


def test_cells_of_files(watch):
    """By functions and by the command, which writes a ledger with what failed."""
    rules = [Levels("x", ("a", "b")), Numeric.of("y", (0, 9))]
    good = pl.DataFrame({"x": [WORD, "a"], "y": [float(NUMBER), 1.0]})
    good.write_parquet(watch.folder / "good.parquet")
    content = (watch.folder / "good.parquet").read_bytes()
    bad = BAD_FILES | {"cut.parquet": content[: len(content) // 2], "good.parquet": content}
    for name, body in bad.items():
        (watch.folder / name).write_bytes(body)
        where = {"table": WORD[:2]} if name.endswith("duckdb") else {}
        watch.run(lambda name=name, where=where: open_place(watch.folder / name, rules, **where))
        for command in ("release", "preview", "release --dry-run"):
            plan = plan_of(name, watch.folder, **where)
            out = ["--out", str(watch.folder / "out")] if "release" in command else []
            words = [*command.split(), plan, *out]
            watch.run(lambda words=words: called(*words), fails=False)
        words = ["plan", "init", str(watch.folder / name), "--out", str(watch.folder / "n")]
        watch.run(lambda words=words: called(*words), fails=False)
        (watch.folder / "n").unlink(missing_ok=True)
    watch.run(lambda: called("ledger", "show", str(watch.folder / "t.ledger")))
    assert watch.ran > 60


def addresses(password):
    yield f"postgresql://user:{password}@localhost:1/db"
    yield f"postgres://user:{password}@[::1/db?sslmode=verify-full"
    yield f"postgresql://user:{password}@localhost:port/db"
    yield f"postgresql://user:{password}@localhost/db?nonsense=1"
    yield f"postgresql://localhost/db?user=u&password={password}&sslmode=none"
    yield f"postgresl://user:{password}@localhost/db"
    yield f"postgresql:/user:{password}@localhost/db"
    yield f"mysql://user:{password}@localhost/db"


@pytest.mark.parametrize("password", PASSWORDS)
def test_passwords_of_addresses(watch, monkeypatch, password):
    """In whatever parses or shows an address, given by name, by a variable or in a plan."""
    for address in addresses(password):
        if "\0" not in address:
            monkeypatch.setenv("SURVEY", address)
        for source in (address, "env:SURVEY"):
            watch.run(lambda s=source: open_place(s, [Numeric.of("y", (0, 9))], table="t"), fails=True)
            watch.run(lambda s=source: skeleton(s, table="t"), fails=True)
            watch.run(lambda s=source: called("plan", "init", s, "--table", "t", "--out", "-"), fails=False)
            watch.run(lambda s=source: Place(s, "t"), fails=False)
            watch.run(lambda s=source: ib.Plan.load(plan_of(s, watch.folder, table="t")).data)
            watch.run(lambda s=source: ib.release(plan_of(s, watch.folder, table="t")), fails=True)
            plan = plan_of(source, watch.folder, table="t")
            watch.run(lambda p=plan: called("release", p, "--out", str(watch.folder / "out")), fails=False)
    assert watch.failed > 40


def test_a_server_that_refuses(watch, monkeypatch):
    """A wrong password, an unknown table, parameters of the address that the server cannot keep."""
    if places.postgres() is None:
        pytest.skip("SKIPPED LOUDLY: no PostgreSQL binaries (initdb) on this machine; install postgresql to test it")
    places.put(pl.DataFrame({"x": [WORD, "a"], "y": [float(NUMBER), 1.0]}), "canary")
    plain = places.postgres()
    rules = [Numeric.of("y", (0, 9))]
    with_password = plain.replace("postgres@", f"postgres:{PASSWORD}@")
    for address, table, fails in (
        (with_password, "canary", False),
        (f"{with_password}?sslmode=disable", "canary", False),
        (f"{with_password}?sslmode=verify-full&sslrootcert=/none/{PASSWORD}", "canary", True),
        (f"{with_password}?sslmode=require", "canary", True),
        (f"{with_password}?channel_binding=require&gssencmode=disable", "canary", True),
        (f"{with_password}?options=-c%20nonsense%3D{PASSWORD}", "canary", True),
        (with_password, WORD, True),
        (plain.replace("postgres@", f"{WORD}:{PASSWORD}@"), "canary", True),
    ):
        monkeypatch.setenv("SURVEY", address)
        for source in (address, "env:SURVEY"):
            # The name of the table is the caller's own.
            shown = table.replace(WORD, "none")
            watch.run(lambda s=source, t=shown: open_place(s, rules, table=t), fails=fails)
            plan = plan_of(source, watch.folder, table=shown)
            watch.run(lambda p=plan: called("release", p, "--out", str(watch.folder / "out")))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="there is no list of processes to look at")
def test_a_password_is_in_no_list_of_processes(tmp_path):
    """While the command connects, its own arguments and those of what it starts are looked at."""
    address = f"postgresql://user:{PASSWORD}@127.0.0.1:1/db"
    plan = plan_of("env:SURVEY", tmp_path, table="t")
    command = [sys.executable, "-m", "inbounds.cli.commands", "release", plan, "--out", str(tmp_path / "out")]
    started = subprocess.Popen(
        command, env=os.environ | {"SURVEY": address}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    seen, done = [], threading.Event()

    def look():
        while not done.is_set():
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    seen.append(path.read_bytes())
                except OSError:
                    continue

    watcher = threading.Thread(target=look)
    watcher.start()
    out, err = started.communicate()
    done.set()
    watcher.join()
    assert started.returncode == 2
    assert seen
    assert all(PASSWORD.encode() not in one for one in [*seen, out, err])
