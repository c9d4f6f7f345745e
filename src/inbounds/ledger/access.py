"""Read and append to a ledger, in any kind of store. The chain is checked first."""

import getpass
import shlex
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from inbounds.errors import LedgerError
from inbounds.ledger.chain import Chain, parse_end, parse_rows
from inbounds.ledger.entry import FORMAT, LONGEST, Entry, read_body, write_text
from inbounds.ledger.store import Snapshot, Transaction, open_store

# Characters of a checkpoint besides the state: its kind, its time and the name of a user.
_SPARE = 10_000


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
    """A snapshot of the ledger, with its chain from a checkpoint on. Those entries are checked."""
    with open_store(ledger).read() as snapshot:
        yield snapshot, _parse(snapshot)


@contextmanager
def read_whole_chain(ledger: Path) -> Iterator[tuple[Snapshot, Chain]]:
    """A snapshot of the ledger, with its whole chain, which is checked."""
    with open_store(ledger).read() as snapshot:
        yield snapshot, parse_rows(snapshot.entries())


def _parse(snapshot: Snapshot) -> Chain:
    return parse_end(snapshot) if snapshot.is_filed else parse_rows(snapshot.entries())


def require_note(snapshot: Snapshot, ledger: Path) -> None:
    """Raise a `LedgerError` if the note is missing that would show whether the ledger is an older copy."""
    if not snapshot.is_noted:
        raise LedgerError(
            f"the ledger {str(ledger)!r} has no file {ledger.name + '.head'!r} beside it, so it may be an older copy "
            "in which charges are missing; nothing was spent. Restore that file, or accept the ledger as it is: "
            f"inbounds ledger accept {shlex.quote(str(ledger))} --why ..."
        )


@contextmanager
def change_chain(
    ledger: Path, meaning: str = "; nothing was spent", *, unnoted: bool = False
) -> Iterator[tuple[Transaction, Chain]]:
    """An exclusive transaction on a ledger, which is created if it does not exist.

    ``meaning`` is what an error says about the budget if the ledger cannot be written. A ledger without its note is
    refused, unless ``unnoted``. A ledger of an earlier version is filed first. A checkpoint follows if it is due.
    """
    with open_store(ledger).write(meaning) as transaction:
        if not unnoted:
            require_note(transaction, ledger)
        chain = Chain() if transaction.is_new else _parse(transaction)
        if transaction.is_new:
            append(transaction, chain, "ledger", {"format": FORMAT, "id": uuid.uuid4().hex}, None)
        elif not transaction.is_filed:
            for entry in chain.entries:
                _file(transaction, chain, entry)
        yield transaction, chain
        append_checkpoint(transaction, chain)


def append_checkpoint(transaction: Transaction, chain: Chain) -> None:
    """Add a checkpoint if one is due, unless there are more datasets than an entry can hold."""
    if chain.is_checkpoint_due and len(write_text(state := chain.state)) < LONGEST - _SPARE:
        append(transaction, chain, "checkpoint", state, None)


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
    _file(transaction, chain, entry)
    return entry


def _file(transaction: Transaction, chain: Chain, entry: Entry) -> None:
    if (key := entry.key) is not None:
        transaction.file_entry(key, entry.sequence, chain.note_of(entry))


def clean_text(text: str) -> str:
    """Replace characters that cannot be written in UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _find_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
