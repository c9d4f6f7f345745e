"""Read and append to a ledger, in any kind of store. The chain is checked first."""

import getpass
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from inbounds.ledger.chain import FORMAT, Chain, Entry, LedgerError, parse_rows, read_body
from inbounds.ledger.store import Snapshot, Transaction, open_store


def is_begun(ledger: Path) -> bool:
    """Whether there is a ledger. Raises a `LedgerError` if there was one that was removed."""
    try:
        return open_store(ledger).is_begun()
    except OSError as error:
        raise LedgerError(f"the ledger {str(ledger)!r} cannot be used: {error.strerror}; nothing was spent") from None


def require(ledger: Path) -> None:
    """Raise a `LedgerError` if there is no ledger."""
    if not is_begun(ledger):
        raise LedgerError(f"there is no ledger {str(ledger)!r}")


@contextmanager
def read_chain(ledger: Path) -> Iterator[tuple[Snapshot, Chain]]:
    """A snapshot of the ledger, with its chain, which is checked."""
    with open_store(ledger).read() as snapshot:
        yield snapshot, parse_rows(snapshot.entries())


@contextmanager
def change_chain(ledger: Path, meaning: str = "; nothing was spent") -> Iterator[tuple[Transaction, Chain]]:
    """An exclusive transaction on a ledger, which is created if it does not exist.

    ``meaning`` is what an error says about the budget if the ledger cannot be written.
    """
    with open_store(ledger).write(meaning) as transaction:
        chain = Chain() if transaction.is_new else parse_rows(transaction.entries())
        if transaction.is_new:
            append(transaction, chain, "ledger", {"format": FORMAT, "id": uuid.uuid4().hex}, None)
        yield transaction, chain


def append(transaction: Transaction, chain: Chain, kind: str, body: dict[str, Any], who: str | None) -> Entry:
    """Add an entry to a chain and to its store."""
    when = datetime.now(UTC).isoformat(timespec="seconds")
    entry = Entry.after(chain.last, kind, body | {"when": when, "who": clean_text(who or _find_user())})
    try:
        # An entry that cannot be read again must not be written.
        read_body(entry.text)
    except ValueError as error:
        raise LedgerError(f"the entry cannot be written ({error}); shorten its names and texts") from None
    chain.add(entry)
    transaction.add_entry(entry)
    return entry


def clean_text(text: str) -> str:
    """Replace characters that cannot be written in UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _find_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
