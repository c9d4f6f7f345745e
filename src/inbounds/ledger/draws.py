"""A charge is drawn once, and what was drawn is stored before anything else is done with it.

The entries of a charge tell how far it has come:

- ``attempt``: the table is counted. Nothing was drawn, so a run that ends here may be repeated without another charge,
  `MOST_ATTEMPTS` times in all: how a count ends may depend on the table.
- ``drawing``: the draw begins. From here on there is no other draw for this charge, whatever happens.
- ``drawn``: the numbers are on the disk. The result is made from them, as often as it takes.
- ``result``: the result is on the disk, and may be shown.

A run that ends between ``drawing`` and ``drawn`` has lost its draw, and the charge stands. To draw again would be
wrong: the time that a draw takes depends a little on what is drawn, so a draw that survived is not distributed as one
that was not interrupted.
"""

import hashlib

from inbounds.errors import LedgerError, Unfinished
from inbounds.ledger.access import append
from inbounds.ledger.chain import MOST_ATTEMPTS, Chain
from inbounds.ledger.request import Request
from inbounds.ledger.results import CHANGED
from inbounds.ledger.store import Snapshot, Transaction


def begin_attempt(transaction: Transaction, chain: Chain, charge: int, request: Request) -> int | None:
    """Begin to count for a charge, in the transaction of the charge or in a later one. The number of the attempt."""
    if request.room is None:
        return None
    if charge not in chain.attempts:
        transaction.reserve(charge, request.room)
    append(transaction, chain, "attempt", {"charge": charge}, None)
    return chain.attempts[charge]


def begin_draw(transaction: Transaction, chain: Chain, charge: int, size: int) -> None:
    """Begin the one draw of a charge. Its room gives back pages for the entries that follow."""
    if charge in chain.drawing or charge in chain.failed or charge not in chain.attempts:
        raise Unfinished(f"the draw of entry {charge} is under way elsewhere; ask again for its result")
    transaction.write_draw(charge, bytes(size))
    append(transaction, chain, "drawing", {"charge": charge}, None)


def write_draw(transaction: Transaction, chain: Chain, charge: int, content: bytes) -> None:
    """Store what was drawn."""
    transaction.write_draw(charge, content)
    append(transaction, chain, "drawn", {"charge": charge, "digest": hashlib.sha256(content).hexdigest()}, None)


def may_repeat(chain: Chain, charge: int) -> bool:
    """Whether the table may be counted again for a charge."""
    ended = charge in chain.kept or charge in chain.failed or charge in chain.drawing
    return not ended and 0 < chain.attempts.get(charge, 0) < MOST_ATTEMPTS


def read_draw(snapshot: Snapshot, chain: Chain, charge: int) -> bytes | None:
    """The stored draw of a charge, checked. None where there is none."""
    if charge not in chain.drawn:
        return None
    content = snapshot.draw(charge)
    if not isinstance(content, bytes) or hashlib.sha256(content).hexdigest() != chain.drawn[charge].body["digest"]:
        raise LedgerError(f"{CHANGED}the draw of entry {charge} is not what was stored")
    return content
