"""A ledger in a file: an append-only SQLite database, with a note beside it that says how far it has come.

Before anything is read, the note is checked. Everything is written in one exclusive transaction, which is on the disk
when it ends.

The file may have been written by somebody else. Nothing in it is run: it must have our tables and triggers, and no
other object, before a row of it is read, and SQLite works within limits that are just enough for them.
"""

import os
import re
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from inbounds.errors import LedgerError
from inbounds.ledger.entry import LONGEST, START, Entry, Row

# A commit is done when everything is on the disk, the name of the journal included.
_DURABILITY = "EXTRA"
# Seconds to wait while others write.
_PATIENCE = 60.0

_TABLES = """
CREATE TABLE entries (
    sequence INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE results (charge INTEGER PRIMARY KEY REFERENCES entries, content BLOB NOT NULL) STRICT;
CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are only added'); END;
CREATE TRIGGER entries_remain BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are only added'); END;
CREATE TRIGGER results_stay BEFORE UPDATE ON results BEGIN SELECT RAISE(ABORT, 'results are only added'); END;
CREATE TRIGGER results_remain BEFORE DELETE ON results BEGIN SELECT RAISE(ABORT, 'results are only added'); END;
"""
# What later versions added, and the next version may add to. Earlier versions refuse a file that has it.
_ADDED = """
CREATE TABLE filed (
    key TEXT NOT NULL,
    entry INTEGER NOT NULL REFERENCES entries,
    note TEXT NOT NULL,
    PRIMARY KEY (key, entry)
) STRICT, WITHOUT ROWID;
CREATE TABLE draws (charge INTEGER PRIMARY KEY REFERENCES entries, content BLOB NOT NULL) STRICT;
CREATE TRIGGER filed_stay BEFORE UPDATE ON filed BEGIN SELECT RAISE(ABORT, 'entries are only filed'); END;
CREATE TRIGGER filed_remain BEFORE DELETE ON filed BEGIN SELECT RAISE(ABORT, 'entries are only filed'); END;
"""
_NONE, _FORMER, _ALL = "", _TABLES, _TABLES + _ADDED
_ROWS = "SELECT sequence, kind, body, previous, hash"
# The note beside a ledger of which nothing was committed yet.
_BEGUN = (0, START)

# Enough for our own statements and for the text of our own tables.
_LIMITS = {
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 2000,
    sqlite3.SQLITE_LIMIT_COLUMN: 16,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 16,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 2,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 1000,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 8,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 8,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
# Bytes of a row of entries, every character of which may take four; and of a result.
_ENTRY_BYTES, _RESULT_BYTES = 4 * LONGEST + 4096, 10**9
# Room for the entries of a draw, in the pages that its own room gives back.
_SPARE_BYTES = 2**15
# Steps of SQLite's machine for one statement before the tables are known to be ours. Those of ours take 150.
_STEPS = 3000
# What SQLite writes at the end of a journal that names further files, which it would delete. Ours names none.
_FURTHER_FILES = bytes.fromhex("d9d505f920a163d7")


@dataclass(frozen=True, slots=True)
class SQLiteStore:
    """The store of one file; see `inbounds.ledger.store.Store` for what it promises."""

    path: Path

    def is_begun(self) -> bool:
        """Whether there is anything in it: a process that died before its first charge leaves an empty file.

        A ledger that is missing, although the file beside it says how far it had come, was removed. That file is looked
        for first, because it is written after the ledger.
        """
        has_note = os.path.lexists(_head_file(self.path))
        is_there = self.path.exists() and (not self.path.is_file() or self.path.stat().st_size > 0)
        if has_note and not is_there and _read_head(self.path) != _BEGUN:
            raise LedgerError(_describe_older(self.path))
        return is_there

    @contextmanager
    def read(self) -> Iterator["SQLiteRows"]:
        """The ledger as it was at one moment. The file beside it is read first, so it is not newer than the ledger."""
        head = _read_head(self.path)
        with _connect(self.path, create=False, meaning="") as connection:
            connection.execute("BEGIN")
            tables = _find_tables(connection)
            if tables == _NONE:
                raise sqlite3.DatabaseError("no ledger was begun in it")
            _check_head(connection, self.path, head)
            yield SQLiteRows(connection, is_filed=tables == _ALL, is_noted=head is not None)

    @contextmanager
    def write(self, meaning: str) -> Iterator["SQLiteRows"]:
        """One exclusive transaction; the file is created if it does not exist."""
        if not self.path.parent.is_dir():
            raise LedgerError(f"there is no folder {str(self.path.parent)!r} for the ledger")
        with _connect(self.path, create=True, meaning=meaning) as connection:
            with _exclude(connection):
                # Nobody else commits during the transaction, so the file beside it cannot be ahead of it.
                rows = self._prepare(connection, meaning)
                yield rows
                if rows.is_new:
                    self._begin_head(meaning)
            if rows.last is not None and rows.is_noted:
                _note_head(connection, self.path)

    def _prepare(self, connection: sqlite3.Connection, meaning: str) -> "SQLiteRows":
        """Create the tables that are not there, and compare the ledger with the file beside it."""
        head, tables = _read_head(self.path, meaning), _find_tables(connection)
        for statement in {_NONE: _split(_TABLES) + _split(_ADDED), _FORMER: _split(_ADDED)}.get(tables, ()):
            connection.execute(statement)
        if tables == _FORMER:
            _remove_former_notes(self.path)
        _check_head(connection, self.path, head)
        is_noted = head is not None or tables == _NONE
        return SQLiteRows(connection, is_new=tables == _NONE, is_filed=tables != _FORMER, is_noted=is_noted)

    def _begin_head(self, meaning: str) -> None:
        """Write that a ledger is begun here, before it is: from its first entry on, none may be without a note."""
        try:
            _write_head(self.path, *_BEGUN)
        except OSError as error:
            why = f"{str(_head_file(self.path))!r} beside it cannot be written: {_spell(error)}"
            raise LedgerError(f"the ledger {str(self.path)!r} cannot be used ({why}){meaning}") from None


@dataclass(slots=True)
class SQLiteRows:
    """What is in the file, within one transaction; ``last`` is the entry that was added last in it."""

    connection: sqlite3.Connection
    is_new: bool = False
    last: Entry | None = None
    is_filed: bool = True
    is_noted: bool = True

    def entries(self, start: int = 0) -> Iterable[Row]:
        """The entries from a number on, by their number."""
        self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _ENTRY_BYTES)
        return self.connection.execute(f"{_ROWS} FROM entries WHERE sequence >= ? ORDER BY sequence", (start,))

    def find(self, key: str) -> Iterator[tuple[Row, Any]]:
        """The entries that were filed under a key, the last first, each with its note."""
        self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _ENTRY_BYTES)
        join = "FROM filed JOIN entries ON sequence = entry WHERE key = ? ORDER BY entry DESC"
        return ((row[:5], row[5]) for row in self.connection.execute(f"{_ROWS}, note {join}", (key,)))

    def filed(self) -> Iterable[tuple[Any, Any, Any]]:
        """The key, number and note of all that was filed, in the order of keys and numbers."""
        self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _ENTRY_BYTES)
        return self.connection.execute("SELECT key, entry, note FROM filed ORDER BY key, entry")

    def sizes(self) -> Iterator[tuple[Any, Any]]:
        """The charges that have results, by number, and the bytes of each; refused beyond what the file can have.

        Pages of a file that was tampered with may be parts of many results at once.
        """
        self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _RESULT_BYTES)
        (pages,), (size,) = (self.connection.execute(f"PRAGMA page_{what}").fetchone() for what in ("count", "size"))
        room = pages * size
        for charge, length in self.connection.execute("SELECT charge, length(content) FROM results ORDER BY charge"):
            room -= length
            if room < 0:
                raise LedgerError("the ledger was changed: its results are larger than the file")
            yield charge, length

    def result(self, charge: int) -> Any:
        """The stored result of a charge, None where there is none."""
        self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _RESULT_BYTES)
        row = self.connection.execute("SELECT content FROM results WHERE charge = ?", (charge,)).fetchone()
        return None if row is None else row[0]

    def add_entry(self, entry: Entry) -> None:
        """Add an entry after the last one."""
        self.connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", entry.row)
        self.last = entry

    def file_entry(self, key: str, number: int, note: str) -> None:
        """File an entry under a key, with a note."""
        self.connection.execute("INSERT INTO filed VALUES (?, ?, ?)", (key, number, note))

    def renew_note(self) -> None:
        """Write the note of how far the ledger has come, also if it is missing."""
        self.is_noted = True

    def add_result(self, charge: int, content: bytes) -> None:
        """Add the result of a charge."""
        self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _RESULT_BYTES)
        self.connection.execute("DELETE FROM draws WHERE charge = ?", (charge,))
        self.connection.execute("INSERT INTO results VALUES (?, ?)", (charge, content))

    def settle(self) -> None:
        """Commit what was added so far, and begin again. The lock is not given back in between."""
        self.connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        self.connection.execute("COMMIT")
        self.connection.execute("BEGIN IMMEDIATE")

    def draw(self, charge: int) -> Any:
        """What was last written to the room of a charge, None where there is no room."""
        self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _RESULT_BYTES)
        row = self.connection.execute("SELECT content FROM draws WHERE charge = ?", (charge,)).fetchone()
        return None if row is None else row[0]

    def reserve(self, charge: int, size: int) -> None:
        """Reserve room for a draw, and for the entries that follow it: they take the pages that it does not need."""
        self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _RESULT_BYTES)
        self.connection.execute("INSERT INTO draws VALUES (?, zeroblob(?))", (charge, size + _SPARE_BYTES))

    def write_draw(self, charge: int, content: bytes) -> None:
        """Write to the room of a charge."""
        self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _RESULT_BYTES)
        self.connection.execute("UPDATE draws SET content = ? WHERE charge = ?", (content, charge))


@contextmanager
def _exclude(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction during which nobody else writes, committed when the block ends and undone when it raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _connect(path: Path, *, create: bool, meaning: str) -> Iterator[sqlite3.Connection]:
    """A connection. Any error of SQLite becomes one clear error, which says what it means for the budget."""
    if (wrong := _find_fault(path)) is not None:
        raise LedgerError(f"the ledger {str(path)!r} cannot be used ({wrong}){meaning}")
    try:
        # It is opened for writing even to read: what a crash left half done has to be rolled back first.
        address = f"{path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        with closing(sqlite3.connect(address, timeout=_PATIENCE, isolation_level=None, uri=True)) as connection:
            _confine(connection)
            connection.execute(f"PRAGMA synchronous = {_DURABILITY}")
            yield connection
    except sqlite3.Error as error:
        raise LedgerError(f"the ledger {str(path)!r} cannot be used ({error}){meaning}") from None


def _find_fault(path: Path) -> str | None:
    """Why SQLite should not even open it. The file itself is not opened, because closing it would release our locks."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return "not a regular file"
    except FileNotFoundError:
        return None
    except OSError as error:
        return _spell(error)
    journal = Path(f"{path.resolve()}-journal")
    try:
        if not stat.S_ISREG(journal.lstat().st_mode):
            return "the journal beside it is not a regular file"
        with journal.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - len(_FURTHER_FILES), 0))
            if size >= 512 and file.read() == _FURTHER_FILES:
                return "the journal beside it is of several files"
    except FileNotFoundError:
        # There is no journal, or it is gone by now.
        return None
    except OSError as error:
        return f"the journal beside it cannot be read: {_spell(error)}"
    return None


def _spell(error: OSError) -> str:
    return error.strerror or "cannot be read"


def _confine(connection: sqlite3.Connection) -> None:
    """Let SQLite run nothing that comes with the file. This is done before anything in the file is read."""
    for limit, most in _LIMITS.items():
        connection.setlimit(limit, most)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _ENTRY_BYTES)
    connection.set_progress_handler(lambda: 1, _STEPS)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")


def _objects(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    # In a file that was tampered with, these values may be of any type.
    return sorted(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master LIMIT 20"), key=repr)


@cache
def _ledger_objects(tables: str) -> list[tuple[Any, ...]]:
    """The tables, index and triggers of a ledger, as SQLite writes them down."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(tables)
        return _objects(connection)


def _find_tables(connection: sqlite3.Connection) -> str:
    """The tables that are there, as one of `_NONE`, `_FORMER` and `_ALL`. After this, rows may be read.

    Raises a `LedgerError` for any others.
    """
    objects = _objects(connection)
    found = next((tables for tables in (_ALL, _FORMER, _NONE) if objects == _ledger_objects(tables)), None)
    if found is None or (objects and connection.execute("PRAGMA encoding").fetchone() != ("UTF-8",)):
        raise LedgerError(
            "the file has other tables, views, triggers or guards than a ledger has: it is none, or was changed"
        )
    connection.set_progress_handler(None, 0)
    return found


def _split(statements: str) -> list[str]:
    return statements.strip().split(";\n")


# The file beside a ledger


def _head_file(path: Path) -> Path:
    """The note beside the file itself, even if the path is a link to it."""
    return Path(f"{path.resolve()}.head")


def _note_head(connection: sqlite3.Connection, path: Path) -> None:
    """Note beside the ledger how far the chain has come. A note may lag behind the chain, but never be ahead of it.

    Nobody else writes meanwhile, so one temporary name is enough, and the next note replaces what a kill left there.
    """
    with suppress(OSError, sqlite3.Error), _exclude(connection):
        last = connection.execute("SELECT sequence, hash FROM entries ORDER BY sequence DESC LIMIT 1").fetchone()
        _write_head(path, *last)


def _write_head(path: Path, sequence: int, hash_: str) -> None:
    head = _head_file(path)
    fresh = head.with_name(f"{head.name}.new")
    fresh.unlink(missing_ok=True)
    try:
        with fresh.open("xb") as file:
            file.write(f"{sequence} {hash_}\n".encode("ascii"))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(head)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


def _remove_former_notes(path: Path) -> None:
    """Remove the temporary files that kills left behind in version 0.2 and before. Nobody else writes meanwhile."""
    name = re.compile(re.escape(_head_file(path).name) + r"\.[0-9a-f]{32}")
    with suppress(OSError):
        for file in _head_file(path).parent.iterdir():
            if name.fullmatch(file.name):
                file.unlink(missing_ok=True)


def _read_head(path: Path, meaning: str = "") -> tuple[int, str] | None:
    """The number and the hash in the note; None if there is none. ``meaning`` is added to an error of the system."""
    head = _head_file(path)
    try:
        # Neither a link, which may lead to a device, nor a pipe, which may never end.
        handle = os.open(head, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        try:
            content = os.read(handle, 100) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
        finally:
            os.close(handle)
    except FileNotFoundError:
        return None
    except OSError as error:
        if not head.is_symlink():
            raise LedgerError(f"{str(head)!r} beside the ledger cannot be read: {_spell(error)}{meaning}") from None
        content = b""
    match = re.fullmatch(rb"([0-9]{1,18}) ([0-9a-f]{64})\r?\n", content)
    if match is None:
        raise LedgerError(f"{str(head)!r} beside the ledger is not what was written there")
    return int(match[1]), match[2].decode("ascii")


def _check_head(connection: sqlite3.Connection, path: Path, head: tuple[int, str] | None) -> None:
    """Refuse a ledger that does not have the entry that was noted beside it."""
    if head is None or head == _BEGUN:
        return
    if connection.execute("SELECT hash FROM entries WHERE sequence = ?", head[:1]).fetchone() != head[1:]:
        raise LedgerError(_describe_older(path))


def _describe_older(path: Path) -> str:
    return (
        f"the ledger is older than {str(_head_file(path))!r} beside it says: it was set back, and charges are missing. "
        "Restore the newest copy; nothing was spent"
    )
