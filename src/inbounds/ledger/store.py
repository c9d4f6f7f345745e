"""Where a ledger is kept: what a ledger needs from such a store, and the one function that opens it.

A store keeps rows and does not know what they mean. Whatever it returns is checked against the chain before it is
used, so a store cannot forge the content of a ledger. It could only lose what it was given, or let two processes write
at once: what it must guarantee against that is in `Store`.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from inbounds.ledger.entry import Entry, Row


class Snapshot(Protocol):
    """Entries and results as they were at one moment, whatever others write meanwhile."""

    @property
    def is_filed(self) -> bool:
        """Whether its entries were filed when they were added. Those of version 0.2 and before were not."""
        ...

    @property
    def is_noted(self) -> bool:
        """Whether there is the note of how far the ledger had come, or this store needs none."""
        ...

    def entries(self, start: int = 0) -> Iterable[Row]:
        """The entries from a number on, by their number."""
        ...

    def find(self, key: str) -> Iterable[tuple[Row, Any]]:
        """The entries that were filed under a key, the last first, each with its note."""
        ...

    def filed(self) -> Iterable[tuple[Any, Any, Any]]:
        """The key, number and note of all that was filed, in the order of keys and numbers."""
        ...

    def sizes(self) -> Iterable[tuple[Any, Any]]:
        """The numbers of the charges that have results, in order, each with the bytes of its result."""
        ...

    def result(self, charge: int) -> Any:
        """The result of a charge, in the bytes that were added; None where there is none."""
        ...

    def draw(self, charge: int) -> Any:
        """The bytes in the room of a charge, as they were last written; None where there is no room."""
        ...


class Transaction(Snapshot, Protocol):
    """A snapshot that can be added to, and that also has what was added to it so far."""

    @property
    def is_new(self) -> bool:
        """Whether nothing was begun in the place before: there are no entries, and none were taken away."""
        ...

    def add_entry(self, entry: Entry) -> None:
        """Add an entry after the last one."""
        ...

    def file_entry(self, key: str, number: int, note: str) -> None:
        """File an entry under a key, with a note."""
        ...

    def renew_note(self) -> None:
        """Write the note of how far the ledger has come, also if it is missing."""
        ...

    def add_result(self, charge: int, content: bytes) -> None:
        """Add the result of a charge that has none. The room of its draw is given back."""
        ...

    def settle(self) -> None:
        """Commit what was added so far. Nobody else writes until the block ends, which commits the rest."""
        ...

    def reserve(self, charge: int, size: int) -> None:
        """Reserve room for the draw of a charge, so that `write_draw` needs no more of the disk."""
        ...

    def write_draw(self, charge: int, content: bytes) -> None:
        """Write to the room of a charge, which has this many bytes."""
        ...


class Store(Protocol):
    """A place that keeps the entries and results of one ledger.

    Notes
    -----
    **Formal guarantees.**

    The ledger cannot be overspent, and nothing is drawn twice for one charge, if an implementation guarantees these:

    - *Atomicity.* All that is added within one `write` is there afterwards, or none of it: none if the block raises, if
      the process is killed, or if the machine stops.
    - *Durability.* When `write` has ended without an error, what was added is on stable storage. A database that
      confirms before that (PostgreSQL with ``synchronous_commit = off``) is not enough.
    - *Serialisation.* Of several `write` blocks, in whatever processes and on whatever machines, one runs at a time,
      from the first row it reads to its end; the next sees all that it added. An isolation level at which two may read
      the same rows and then both add to them is not enough; a lock on the whole ledger, or an isolation level of
      ``SERIALIZABLE``, is.
    - *One moment.* All that is read within one `read` is of one moment between two `write` blocks.
    - Entries and results are only added. Rows are handed out as they were added, byte for byte. The room of a draw is
      written over, and given back with the result.

    These do not depend on what was filed. An entry that is found under a key is checked before it is used, and one that
    is not found costs a second charge, never a second draw for one charge.

    A store that can be set back to an earlier state should keep a note of how far it had come, outside of what is set
    back, and refuse to be read if it has not come as far. If the note is missing, ``is_noted`` is False. The store then
    writes no other one before `Transaction.renew_note` is called. Without such notes, the records of releases take
    their place: see `inbounds.ledger.verify`.

    Any failure of the store itself is raised as a `LedgerError`, which names the store and no confidential value.
    """

    def is_begun(self) -> bool:
        """Whether there is a ledger, so that `read` will find entries. Nothing is written to find out.

        Raises `LedgerError` if there was a ledger and it was removed.
        """
        ...

    def read(self) -> AbstractContextManager[Snapshot]:
        """The ledger as it is at one moment. Raises `LedgerError` where there is none."""
        ...

    def write(self, meaning: str) -> AbstractContextManager[Transaction]:
        """One exclusive transaction, committed when the block ends and undone when it raises.

        A new store is prepared first. ``meaning``, such as ``"; nothing was spent"``, is added to the error if the
        store fails: it says what the failure means for the budget.
        """
        ...


def open_store(ledger: Path) -> Store:
    """The store of a ledger that a user names: a file."""
    # SQLite is only loaded if there is a ledger.
    from inbounds.ledger.sqlite import SQLiteStore

    return SQLiteStore(ledger)
