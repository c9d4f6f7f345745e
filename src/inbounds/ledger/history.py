"""What a ledger says, checked: entries, results, how datasets stand, and that nothing was changed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from inbounds.ledger import results
from inbounds.ledger.access import read_chain, require
from inbounds.ledger.chain import Chain, Entry, LedgerError, Standing
from inbounds.ledger.names import describe_all
from inbounds.ledger.store import Snapshot


def read(ledger: str | Path) -> list[Entry]:
    """All entries, their chain checked. Results are not looked at."""
    with _read_existing(ledger) as (_, chain):
        return chain.entries


def read_results(ledger: str | Path) -> dict[int, str]:
    """Stored results by the number of their charge; refuses one that is not what was stored."""
    with _read_existing(ledger) as (snapshot, chain):
        return results.unpack_all(snapshot, chain)


def read_result(ledger: str | Path, charge: int, longest: int | None = None) -> str | None:
    """The stored result of a charge, None where there is none; refuses one of more than ``longest`` bytes."""
    with _read_existing(ledger) as (snapshot, chain):
        return results.unpack(snapshot, chain, charge, longest) if charge in chain.kept else None


def verify(ledger: str | Path, anchors: Sequence[tuple[int, str]] = ()) -> list[Entry]:
    """claim:ledger-verify. Check the whole ledger, and that it has come at least as far as the anchors say.

    Parameters
    ----------
    ledger
        Its file.
    anchors
        Numbers and hashes of entries, as the records of releases have them.

    Returns
    -------
    list of Entry
        All entries.

    Raises
    ------
    LedgerError
        At the first thing that is wrong: an edited, missing or inserted entry, a lost or edited result, spending beyond
        a limit, a ledger that was put back or forked.
    """
    with _read_existing(ledger) as (snapshot, chain):
        results.check_all(snapshot, chain)
    for sequence, hash_ in anchors:
        if not 0 <= sequence < len(chain.entries) or chain.entries[sequence].hash != hash_:
            raise LedgerError(
                f"entry {sequence} of the ledger is not the one that a record names: this is another ledger or another "
                "copy of it, or it was put back to an earlier state"
            )
    return chain.entries


def standings(entries: Sequence[Entry]) -> list[Standing]:
    """How each dataset stands, from the entries alone."""
    chain = Chain()
    for entry in entries:
        chain.add(entry)
    return chain.standings


def similar(entries: Sequence[Entry]) -> list[str]:
    """A sentence for each dataset that looks like one before it."""
    return describe_all(one.dataset for one in standings(entries))


@contextmanager
def _read_existing(ledger: str | Path) -> Iterator[tuple[Snapshot, Chain]]:
    require(Path(ledger))
    with read_chain(Path(ledger)) as read_:
        yield read_
