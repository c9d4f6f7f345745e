"""The file of a ledger: one SQLite database, only added to, and a note beside it of how far it has come.

What is read is checked against the chain and the note first; what is written is one transaction that nobody else
writes in, on the disk when it is done.
"""

import getpass
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from inbounds.privacy.chain import FORMAT, Chain, Entry, LedgerError, parsed

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


def present(path: Any) -> Path:
    where = Path(path)
    if not where.is_file():
        raise LedgerError(f"there is no ledger {str(where)!r}")
    return where


def begun(path: Path) -> bool:
    """Whether there is anything in it: a process that died before its first charge leaves an empty file.

    A ledger that is gone while the file beside it says how far it had come was taken away. That file is looked for
    first: it is written after the ledger.
    """
    noted = _head_file(path).exists()
    there = path.exists() and (not path.is_file() or path.stat().st_size > 0)
    if noted and not there:
        raise LedgerError(_put_back(path))
    return there


@contextmanager
def _connected(path: Path, *, create: bool, after: str) -> Iterator[sqlite3.Connection]:
    """A connection; whatever SQLite says becomes one clear error, with what that means for the budget."""
    try:
        # Also to read it is opened for writing: what a crash left half done has to be rolled back first.
        address = f"{path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        with closing(sqlite3.connect(address, timeout=_PATIENCE, isolation_level=None, uri=True)) as connection:
            # Committed is what is on the disk, the name of the journal included.
            connection.execute("PRAGMA synchronous = EXTRA")
            yield connection
    except sqlite3.Error as error:
        raise LedgerError(f"the ledger {str(path)!r} cannot be used ({error}){after}") from None


@contextmanager
def reading(path: Path) -> Iterator[tuple[sqlite3.Connection, Chain]]:
    """The ledger as it was at one moment. What the file beside it says is read first, and so is not newer."""
    head = _noted_head(path)
    with _connected(path, create=False, after="") as connection:
        connection.execute("BEGIN")
        chain = _chain(connection)
        _not_put_back(path, head, chain)
        yield connection, chain


@contextmanager
def writing(path: Path, after: str = "; nothing was spent") -> Iterator[tuple[sqlite3.Connection, Chain]]:
    """One transaction that nobody else writes in; the ledger is made where there is none."""
    if not path.parent.is_dir():
        raise LedgerError(f"there is no folder {str(path.parent)!r} for the ledger")
    with _connected(path, create=True, after=after) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            chain = _opened(connection, path)
            before = chain.last
            yield connection, chain
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        if chain.last is not None and chain.last is not before:
            _note_head(path, chain.last)


def _chain(connection: sqlite3.Connection) -> Chain:
    return parsed(connection.execute("SELECT sequence, kind, body, previous, hash FROM entries ORDER BY sequence"))


def _opened(connection: sqlite3.Connection, path: Path) -> Chain:
    # Within the transaction nobody else commits, so that the file beside it is not ahead of what is seen here.
    head = _noted_head(path)
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        if head is not None:
            raise LedgerError(_put_back(path))
        for statement in _TABLES.strip().split(";\n"):
            connection.execute(statement)
        chain = Chain()
        append(connection, chain, "ledger", {"format": FORMAT, "id": uuid.uuid4().hex}, None)
        return chain
    chain = _chain(connection)
    _not_put_back(path, head, chain)
    return chain


def _head_file(path: Path) -> Path:
    """Beside the file itself, wherever a link to it may be."""
    return Path(f"{path.resolve()}.head")


def _note_head(path: Path, entry: Entry) -> None:
    """How far the chain has come, beside the ledger. An older note than the chain is no harm; a newer one tells."""
    head = _head_file(path)
    fresh = head.with_name(f"{head.name}.{uuid.uuid4().hex}")
    try:
        fresh.write_text(f"{entry.sequence} {entry.hash}\n", "ascii")
        fresh.replace(head)
    except OSError:
        fresh.unlink(missing_ok=True)


def _noted_head(path: Path) -> tuple[int, str] | None:
    head = _head_file(path)
    if not head.exists():
        return None
    try:
        sequence, hash_ = head.read_text("ascii").split()
        return int(sequence), hash_
    except (ValueError, OSError):
        raise LedgerError(f"{str(head)!r} beside the ledger is not what was written there") from None


def _not_put_back(path: Path, head: tuple[int, str] | None, chain: Chain) -> None:
    if head is not None and not (0 <= head[0] < len(chain.entries) and chain.entries[head[0]].hash == head[1]):
        raise LedgerError(_put_back(path))


def _put_back(path: Path) -> str:
    return (
        f"the ledger is older than {str(_head_file(path))!r} beside it says: it was put back, and charges are missing. "
        "Restore the newest copy; nothing was spent"
    )


def append(connection: sqlite3.Connection, chain: Chain, kind: str, body: dict[str, Any], who: str | None) -> Entry:
    when = datetime.now(UTC).isoformat(timespec="seconds")
    entry = Entry.after(chain.last, kind, body | {"when": when, "who": printable(who or _user())})
    chain.add(entry)
    row = (entry.sequence, kind, entry.text, entry.previous, entry.hash)
    connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", row)
    return entry


def printable(text: str) -> str:
    """Text that can be written, whatever the terminal sent."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
