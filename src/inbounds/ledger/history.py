"""Read and verify a ledger: its entries, its results and the state of its datasets."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path

from inbounds.errors import LedgerError
from inbounds.ledger import results
from inbounds.ledger.access import is_begun, read_chain, read_whole_chain, require
from inbounds.ledger.account import Account
from inbounds.ledger.chain import Chain
from inbounds.ledger.entry import Entry
from inbounds.ledger.names import describe_all
from inbounds.ledger.standing import Standing
from inbounds.ledger.store import Snapshot


def read(ledger: str | Path) -> list[Entry]:
    """Read all entries of a ledger and check their chain. Results are not checked.

    Parameters
    ----------
    ledger
        The file of the ledger.

    Returns
    -------
    list of Entry
        All entries.

    Raises
    ------
    LedgerError
        If there is no ledger, or it was changed.
    """
    with _read_existing(ledger) as (_, chain):
        return chain.entries


def read_results(ledger: str | Path) -> dict[int, str]:
    """Read all stored results.

    Parameters
    ----------
    ledger
        The file of the ledger.

    Returns
    -------
    dict
        The results, by the number of their charge.

    Raises
    ------
    LedgerError
        If there is no ledger, or an entry or a result was changed.
    """
    with _read_existing(ledger) as (snapshot, chain):
        return results.unpack_all(snapshot, chain)


def read_result(ledger: str | Path, charge: int, longest: int | None = None) -> str | None:
    """Read the stored result of a charge.

    Parameters
    ----------
    ledger
        The file of the ledger.
    charge
        The number of the charge's entry.
    longest
        The most bytes that the result may have. By default there is no limit.

    Returns
    -------
    str or None
        The result; None if the charge has none.

    Raises
    ------
    LedgerError
        If there is no ledger, it was changed, or the result is too long.
    """
    require(Path(ledger))
    with read_chain(Path(ledger)) as (snapshot, chain):
        chain.recall(charge)
        return results.unpack(snapshot, chain, charge, longest) if charge in chain.kept else None


# claim:ledger-verify
def verify(ledger: str | Path, anchors: Sequence[tuple[int, str]] = ()) -> list[Entry]:
    """Check the whole ledger, and that it has the entries that records name.

    Parameters
    ----------
    ledger
        The file of the ledger.
    anchors
        Numbers and hashes of entries, from the records of releases.

    Returns
    -------
    list of Entry
        All entries.

    Raises
    ------
    LedgerError
        If an entry was edited, removed or inserted, a result was lost or edited, a limit was exceeded, or the ledger
        was set back or copied.
    """
    with _read_existing(ledger) as (snapshot, chain):
        results.check_all(snapshot, chain)
        _check_filed(snapshot, chain)
    for sequence, hash_ in anchors:
        if not 0 <= sequence < len(chain.entries) or chain.entries[sequence].hash != hash_:
            raise LedgerError(
                f"entry {sequence} of the ledger is not the one in the record: this is another ledger or another copy "
                "of it, or it was set back to an earlier state"
            )
    return chain.entries


def standings(entries: Sequence[Entry]) -> list[Standing]:
    """The state of each dataset, computed from the entries.

    Parameters
    ----------
    entries
        All entries of a ledger.

    Returns
    -------
    list of Standing
        The limit of each dataset and what was spent.

    Raises
    ------
    LedgerError
        If an entry cannot follow those before it.
    """
    chain = Chain()
    for entry in entries:
        chain.add(entry)
    return chain.standings


def find_standing(account: Account) -> Standing | None:
    """Find the state of a dataset. Only the last entries are checked.

    Parameters
    ----------
    account
        The ledger and the dataset.

    Returns
    -------
    Standing or None
        The state; None if there is no such ledger or dataset.

    Raises
    ------
    LedgerError
        If the ledger was changed.
    """
    if not is_begun(account.ledger):
        return None
    with read_chain(account.ledger) as (_, chain):
        return chain.datasets.get(account.dataset)


def similar(entries: Sequence[Entry]) -> list[str]:
    """Warnings about datasets whose names look alike.

    Parameters
    ----------
    entries
        All entries of a ledger.

    Returns
    -------
    list of str
        A sentence for each dataset whose name looks like an earlier one.
    """
    return describe_all(standing.dataset for standing in standings(entries))


@contextmanager
def _read_existing(ledger: str | Path) -> Iterator[tuple[Snapshot, Chain]]:
    require(Path(ledger))
    with read_whole_chain(Path(ledger)) as read_:
        yield read_


def _check_filed(snapshot: Snapshot, chain: Chain) -> None:
    """Raise a `LedgerError` unless exactly the entries of the chain are filed, each under its key and with its note."""
    if not snapshot.is_filed:
        return
    filed = ((key, n, chain.note_of(chain.entries[n])) for key, found in sorted(chain.keys.items()) for n in found)
    if any(one != other for one, other in zip_longest(filed, snapshot.filed())):
        raise LedgerError("the ledger was changed: its index is not what follows from its entries")
