"""The file of a ledger and the note beside it: what is opened, what it may do, and what is said of it."""

import os
import re
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from inbounds import ledger
from inbounds.ledger import Account, Entry, LedgerError, Pure, Request, sqlite
from inbounds.ledger.sqlite import SQLiteRows, SQLiteStore

OLDER = (
    "the ledger is older than {!r} beside it says: it was set back, and charges are missing. Restore the newest copy; "
    "nothing was spent"
)
HASH = "0123456789abcdef" * 4
MAGIC = bytes.fromhex("d9d505f920a163d7")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "survey.ledger"


@pytest.fixture
def head(path):
    return path.with_name("survey.ledger.head")


@pytest.fixture
def begun(path):
    account = Account(path, "survey", 1)
    ledger.keep(account, ledger.charge(account, Request("a", Pure("1/10"), "substitute", 1)), "{}")
    return path


@pytest.fixture
def memory():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        yield connection


def test_a_ledger_begins_with_its_first_byte(path, head):
    store = SQLiteStore(path)
    assert not store.is_begun()
    path.touch()
    assert not store.is_begun()
    # Whatever it is that is there: that it is none is said by whoever opens it.
    path.write_bytes(b"x")
    assert store.is_begun()
    head.write_text(f"1 {HASH}\n")
    assert store.is_begun()
    for gone in (lambda: path.write_bytes(b""), path.unlink):
        gone()
        with pytest.raises(LedgerError) as refused:
            store.is_begun()
        assert str(refused.value) == OLDER.format(str(head))
    path.mkdir()
    assert store.is_begun()
    # A note that leads nowhere is one, too.
    path.rmdir()
    head.unlink()
    head.symlink_to("nowhere")
    with pytest.raises(LedgerError, match="beside the ledger is not what was written there"):
        store.is_begun()
    # A process that died before its first commit leaves a note that nothing is there yet.
    head.unlink()
    sqlite._write_head(path, *sqlite._BEGUN)
    assert head.read_text() == f"0 {'0' * 64}\n"
    assert not store.is_begun()
    path.touch()
    assert not store.is_begun()


def test_the_note_is_beside_the_file_that_a_link_leads_to(tmp_path, path, head):
    assert sqlite._head_file(path) == head
    (tmp_path / "other").mkdir()
    link = tmp_path / "other" / "link"
    link.symlink_to(path)
    assert sqlite._head_file(link) == head


def test_how_far_a_chain_has_come_is_written_in_one_way(path, head):
    sqlite._write_head(path, 7, HASH)
    assert head.read_bytes() == f"7 {HASH}\n".encode()
    assert sqlite._read_head(path) == (7, HASH)
    sqlite._write_head(path, 8, HASH[::-1])
    assert sqlite._read_head(path) == (8, HASH[::-1])
    assert [one.name for one in path.parent.iterdir()] == [head.name]
    # What a kill left behind is replaced, and no link is followed.
    for leave in (lambda file: file.write_text("half"), lambda file: file.symlink_to(path)):
        leave(head.with_name(f"{head.name}.new"))
        sqlite._write_head(path, 9, HASH)
        assert sqlite._read_head(path) == (9, HASH)
        assert [one.name for one in path.parent.iterdir()] == [head.name]
    # If it cannot be written, nothing is left behind.
    head.unlink()
    head.mkdir()
    with pytest.raises(OSError):
        sqlite._write_head(path, 7, HASH)
    assert [one.name for one in path.parent.iterdir()] == [head.name]


def test_the_note_has_the_last_entry_and_may_lag_behind(begun, head):
    last = ledger.read(begun)[-1]
    assert sqlite._read_head(begun) == (last.sequence, last.hash)
    head.unlink()
    with closing(sqlite3.connect(begun, isolation_level=None)) as connection:
        sqlite._note_head(connection, begun)
        assert sqlite._read_head(begun) == (last.sequence, last.hash)
        head.unlink()
        head.mkdir()
        sqlite._note_head(connection, begun)
    assert head.is_dir()


def test_a_note_is_read_strictly(path, head):
    assert sqlite._read_head(path) is None
    for text, found in (
        (f"0 {HASH}\n", (0, HASH)),
        (f"12 {HASH}\r\n", (12, HASH)),
        (f"{'9' * 18} {HASH}\n", (10**18 - 1, HASH)),
    ):
        head.write_bytes(text.encode())
        assert sqlite._read_head(path) == found
    wrong = [
        "",
        "\n",
        f"1 {HASH}",
        f"1 {HASH}\n\n",
        f"1  {HASH}\n",
        f"1 {HASH[1:]}\n",
        f"1 {HASH}0\n",
        f"-1 {HASH}\n",
        f" 1 {HASH}\n",
        f"1 {HASH.upper()}\n",
        f"{'9' * 19} {HASH}\n",
        f"1 {HASH}\n{'x' * 200}",
        f"١ {HASH}\n",
    ]
    for text in wrong:
        head.write_bytes(text.encode())
        refuse_note(path, head)
    head.unlink()
    head.mkdir()
    refuse_note(path, head)
    head.rmdir()
    # Neither a link nor a pipe is followed.
    true = head.with_name("true")
    true.write_text(f"1 {HASH}\n")
    head.symlink_to(true)
    refuse_note(path, head)
    head.unlink()
    if hasattr(os, "mkfifo"):
        os.mkfifo(head)
        refuse_note(path, head)


def refuse_note(path, head):
    with pytest.raises(LedgerError) as refused:
        sqlite._read_head(path)
    assert str(refused.value) == f"{str(head)!r} beside the ledger is not what was written there"


def test_the_entry_that_was_noted_is_in_the_ledger(begun, head):
    entries = ledger.read(begun)
    with closing(sqlite3.connect(begun)) as connection:
        for good in (None, *((entry.sequence, entry.hash) for entry in entries)):
            assert sqlite._check_head(connection, begun, good) is None
        last = entries[-1]
        for wrong in ((last.sequence + 1, last.hash), (last.sequence, entries[0].hash), (99, HASH)):
            with pytest.raises(LedgerError) as refused:
                sqlite._check_head(connection, begun, wrong)
            assert str(refused.value) == OLDER.format(str(head))
    assert sqlite._read_head(begun) == (last.sequence, last.hash)


def test_what_should_not_even_be_opened(tmp_path, path):
    assert sqlite._find_fault(path) is None
    assert sqlite._find_fault(tmp_path) == "not a regular file"
    path.write_bytes(b"x")
    assert sqlite._find_fault(path) is None
    assert sqlite._find_fault(path / "within a file") == "Not a directory"
    with pytest.raises(LedgerError) as refused:
        ledger.charge(Account(tmp_path, "survey", 1), Request("a", Pure("1/10"), "substitute", 1))
    assert str(refused.value) == (
        f"the ledger {str(tmp_path)!r} cannot be used (not a regular file); nothing was spent"
    )


def test_an_error_without_words(path, monkeypatch):
    def stat_of(_):
        raise OSError

    monkeypatch.setattr(Path, "stat", stat_of)
    assert sqlite._find_fault(path) == "cannot be read"


def test_a_journal_of_several_files_is_not_rolled_back(tmp_path, path):
    path.touch()
    link, journal = tmp_path / "link", path.with_name("survey.ledger-journal")
    link.symlink_to(path)
    several = "the journal beside it is of several files"
    for content, fault in (
        (b"", None),
        (b"x", None),
        (MAGIC, None),
        (bytes(503) + MAGIC, None),
        (bytes(504) + MAGIC, several),
        (bytes(5000) + MAGIC, several),
        (bytes(504) + MAGIC[::-1], None),
        (MAGIC + bytes(504), None),
        (bytes(504) + MAGIC + b"x", None),
    ):
        journal.write_bytes(content)
        assert sqlite._find_fault(path) == sqlite._find_fault(link) == fault
    journal.unlink()
    for make in (journal.mkdir, lambda: journal.symlink_to("nowhere")):
        make()
        assert sqlite._find_fault(path) == "the journal beside it is not a regular file"
        journal.rmdir() if stat.S_ISDIR(journal.lstat().st_mode) else journal.unlink()


def test_a_journal_that_is_gone_when_it_is_opened(path, monkeypatch):
    """Whoever wrote it was done meanwhile."""
    path.touch()
    path.with_name("survey.ledger-journal").touch()

    def gone(*_):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "open", gone)
    assert sqlite._find_fault(path) is None


LIMITS = {
    "SQL_LENGTH": 2000,
    "COLUMN": 16,
    "EXPR_DEPTH": 16,
    "COMPOUND_SELECT": 2,
    "VDBE_OP": 1000,
    "FUNCTION_ARG": 8,
    "ATTACHED": 0,
    "VARIABLE_NUMBER": 8,
    "TRIGGER_DEPTH": 1,
    "WORKER_THREADS": 0,
    "LENGTH": 4 * 2**21 + 4096,
}
COUNT = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT max(i) FROM n"


def test_a_connection_is_confined_before_it_reads(memory):
    sqlite._confine(memory)
    assert {name: memory.getlimit(getattr(sqlite3, f"SQLITE_LIMIT_{name}")) for name in LIMITS} == LIMITS
    assert memory.execute("PRAGMA trusted_schema").fetchone() == (0,)
    assert memory.execute("PRAGMA cell_size_check").fetchone() == (1,)
    assert memory.execute(COUNT.format(20)).fetchone() == (20,)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        memory.execute(COUNT.format(10**6)).fetchone()
    # Of what has our tables, statements may be as long as they are.
    for statement in sqlite._TABLES.strip().split(";\n"):
        memory.execute(statement)
    assert sqlite._find_tables(memory) == sqlite._FORMER
    for statement in sqlite._ADDED.strip().split(";\n"):
        memory.execute(statement)
    assert sqlite._find_tables(memory) == sqlite._ALL
    assert memory.execute(COUNT.format(10**4)).fetchone() == (10**4,)


def test_an_empty_file_has_no_tables_and_others_are_refused(memory):
    sqlite._confine(memory)
    assert sqlite._find_tables(memory) == sqlite._NONE
    assert memory.execute(COUNT.format(10**4)).fetchone() == (10**4,)
    memory.execute("CREATE TABLE t (x)")
    with pytest.raises(LedgerError) as refused:
        sqlite._find_tables(memory)
    assert str(refused.value) == (
        "the file has other tables, views, triggers or guards than a ledger has: it is none, or was changed"
    )


def test_our_tables_in_another_encoding_are_refused(memory):
    memory.execute("PRAGMA encoding = 'UTF-16le'")
    for tables in (sqlite._TABLES, sqlite._ADDED):
        memory.executescript(tables)
        with pytest.raises(LedgerError, match="it is none, or was changed"):
            sqlite._find_tables(memory)


def test_objects_are_compared_in_order_and_not_all_are_read(memory):
    for name in ("b", "a", "c"):
        memory.execute(f"CREATE TABLE {name} (x)")
    sql = "CREATE TABLE {} (x)"
    assert sqlite._objects(memory) == [("table", name, name, sql.format(name)) for name in "abc"]
    for number in range(30):
        memory.execute(f"CREATE TABLE t{number} (x)")
    assert len(sqlite._objects(memory)) == 20


def test_rows_have_the_room_that_they_need(memory):
    """Entries that of an entry, results that of a result; whichever was read before."""
    memory.executescript(sqlite._ALL)
    rows, large, small = SQLiteRows(memory), 10**9, 4 * 2**21 + 4096
    entry = Entry.after(None, "ledger", {"format": "x"})
    acts = [
        (lambda: rows.add_entry(entry), None),
        (lambda: rows.add_result(0, b"content"), large),
        (lambda: list(rows.entries()), small),
        (lambda: rows.result(0), large),
        (lambda: list(rows.entries()), small),
        (lambda: list(rows.sizes()), large),
    ]
    assert rows.last is None
    for act, most in acts:
        before = memory.getlimit(sqlite3.SQLITE_LIMIT_LENGTH)
        act()
        assert memory.getlimit(sqlite3.SQLITE_LIMIT_LENGTH) == (before if most is None else most)
    assert rows.last == entry
    assert list(rows.entries()) == [entry.row]
    assert (rows.result(0), rows.result(1), list(rows.sizes())) == (b"content", None, [(0, 7)])
    second = Entry.after(entry, "dataset", {})
    rows.add_entry(second)
    rows.add_result(1, bytes(9_000_000))
    assert [row[0] for row in rows.entries()] == [0, 1]
    assert list(rows.sizes()) == [(0, 7), (1, 9_000_000)]
    with pytest.raises(sqlite3.IntegrityError):
        rows.add_result(1, b"again")


def test_results_may_be_as_large_as_the_file():
    class Answers:
        def __init__(self, sizes):
            self.sizes = sizes

        def setlimit(self, *_):
            pass

        def execute(self, statement):
            pages = {"PRAGMA page_count": Rows([(3,)]), "PRAGMA page_size": Rows([(1000,)])}
            return pages.get(statement) or enumerate(self.sizes)

    class Rows(list):
        def fetchone(self):
            return self[0]

    assert list(SQLiteRows(Answers([1000, 0, 2000])).sizes()) == [(0, 1000), (1, 0), (2, 2000)]
    sizes = SQLiteRows(Answers([1000, 1999, 2])).sizes()
    assert [next(sizes), next(sizes)] == [(0, 1000), (1, 1999)]
    with pytest.raises(LedgerError, match=r"^the ledger was changed: its results are larger than the file$"):
        next(sizes)


def test_our_ledger_objects_are_those_that_the_file_says(begun):
    kinds = [one[:2] for one in sqlite._ledger_objects(sqlite._ALL)]
    assert kinds == sorted(kinds)
    assert re.findall(r"CREATE (?:TABLE|TRIGGER) (\w+)", sqlite._ALL) == [
        "entries",
        "results",
        "entries_stay",
        "entries_remain",
        "results_stay",
        "results_remain",
        "filed",
        "draws",
        "filed_stay",
        "filed_remain",
    ]
    with closing(sqlite3.connect(begun)) as connection:
        assert sqlite._objects(connection) == sqlite._ledger_objects(sqlite._ALL)
        assert [kind for kind, _ in kinds] == ["index", *["table"] * 4, *["trigger"] * 6]
