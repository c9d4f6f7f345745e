"""Where a ledger is kept: what it asks of such a place, and the one function that opens it.

A store keeps rows and knows nothing of what they say. Whatever it hands out is checked against the chain before it is
believed, so that a store cannot make a ledger say what it never said. It could only lose what it was given, or let two
write at a time: what it must promise against that is in `Store`.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from inbounds.ledger.chain import Entry, Row


class Snapshot(Protocol):
    """Entries and results as they were at one moment, whatever others write meanwhile."""

    def entries(self) -> Iterable[Row]:
        """All entries, by their number."""
        ...

    def sizes(self) -> Iterable[tuple[Any, Any]]:
        """The numbers of the charges that have results, in order, each with the bytes of its result."""
        ...

    def result(self, charge: int) -> Any:
        """The result of a charge, in the bytes that were added; None where there is none."""
        ...


class Transaction(Snapshot, Protocol):
    """The same for the one who writes, who also sees what was added in it so far."""

    @property
    def is_new(self) -> bool:
        """Whether nothing was begun in the place before: there are no entries, and none were taken away."""
        ...

    def add_entry(self, entry: Entry) -> None:
        """Add an entry after the last one."""
        ...

    def add_result(self, charge: int, content: bytes) -> None:
        """Add the result of a charge that has none."""
        ...


class Store(Protocol):
    """A place that keeps the entries and results of one ledger.

    Notes
    -----
    **Formal guarantees.**

    The ledger cannot be overspent, and nothing is drawn twice for one charge, if an implementation keeps these.

    - *Atomicity.* All that is added within one `write` is there afterwards, or none of it: none if the block raises, if
      the process is killed, or if the machine stops.
    - *Durability.* When `write` has ended without an error, what was added is on stable storage. A database that
      confirms before that (PostgreSQL with ``synchronous_commit = off``) does not do.
    - *Serialisation.* Of several `write` blocks, in whatever processes and on whatever machines, one runs at a time,
      from the first row it reads to its end; the next sees all that it added. An isolation level at which two may read
      the same rows and then both add to them does not do; a lock on the whole ledger, or an isolation level of
      ``SERIALIZABLE``, does.
    - *One moment.* All that is read within one `read` is of one moment between two `write` blocks.
    - Entries and results are only added. Rows are handed out as they were added, byte for byte.

    A place that can be put back to an earlier state should keep a note of how far it had come outside of what is put
    back, and refuse to be read if it has not come as far. Where it has none, the records of releases are that note: see
    `inbounds.ledger.verify`.

    Whatever goes wrong in the place itself is raised as a `LedgerError`, which names the place and no confidential
    value.
    """

    def is_begun(self) -> bool:
        """Whether there is a ledger, so that `read` will find entries. Nothing is written to find out.

        Raises `LedgerError` where there was one that was taken away.
        """
        ...

    def read(self) -> AbstractContextManager[Snapshot]:
        """The ledger as it is at one moment. Raises `LedgerError` where there is none."""
        ...

    def write(self, meaning: str) -> AbstractContextManager[Transaction]:
        """One exclusive transaction, committed when the block ends and undone when it raises.

        The place is made ready where nothing was begun. ``meaning`` is added to the error where the place fails, such
        as ``"; nothing was spent"``: it says what the failure means for the budget.
        """
        ...


def open_store(ledger: Path) -> Store:
    """The store of a ledger that a user names: a file."""
    # SQLite is loaded where there is a ledger.
    from inbounds.ledger.sqlite import SQLiteStore

    return SQLiteStore(ledger)
