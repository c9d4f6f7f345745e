"""What comes after a charge: one draw, stored before anything else is done with it, and the result made from it.

The entries of a charge tell how far it has come:

- ``attempt``: the table is counted. Nothing was drawn, so a run that ends here may be repeated without another charge,
  up to `MOST_ATTEMPTS` attempts in all: how a count ends may depend on the table.
- ``drawing``: the draw begins. From here on there is no other draw for this charge, whatever happens.
- ``drawn``: the numbers are on the disk. The result is made from them, as often as it takes.
- ``result``: the result is on the disk, and may be shown.
- ``failure``: the table breaks a rule, or the draw was lost. The charge stands.

A run that ends between ``drawing`` and ``drawn`` has lost its draw, and the charge stands. To draw again would be
wrong: how long a draw takes depends a little on what is drawn, so a second draw after a lost one would favour some
values.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from inbounds.errors import EngineError, LedgerError, Unfinished
from inbounds.ledger.access import append, change_chain, read_chain
from inbounds.ledger.account import Account
from inbounds.ledger.amounts import spell_amount
from inbounds.ledger.chain import CHARGED, DRAWING, MOST_ATTEMPTS, Chain
from inbounds.ledger.entry import Entry
from inbounds.ledger.request import Receipt, Request
from inbounds.ledger.results import CHANGED, pack
from inbounds.ledger.store import Snapshot, Transaction

# How far a charge has come


def begin_attempt(transaction: Transaction, chain: Chain, entry: Entry, request: Request) -> Receipt:
    """Begin to count for a charge, by an entry that is on the disk before the table is read."""
    charge = entry.sequence
    if request.room is not None:
        if chain.stages[charge] == CHARGED:
            transaction.reserve(charge, request.room)
        append(transaction, chain, "attempt", {"charge": charge}, None)
    attempt = None if request.room is None else chain.stages[charge]
    return Receipt(entry, chain.left[charge], attempt=attempt, room=request.room)


def may_repeat(chain: Chain, charge: int) -> bool:
    """Whether the table may be counted again for a charge. Its stage must be in the state, and not only looked up."""
    return charge in chain.open and CHARGED < chain.stages[charge] < MOST_ATTEMPTS


def read_draw(snapshot: Snapshot, chain: Chain, charge: int) -> bytes | None:
    """The stored draw of a charge without a result, checked. None where there is none."""
    if charge not in chain.drawn or charge in chain.kept:
        return None
    content = snapshot.draw(charge)
    if not isinstance(content, bytes) or hashlib.sha256(content).hexdigest() != chain.drawn[charge].body["digest"]:
        raise LedgerError(f"{CHANGED}the draw of entry {charge} is not what was stored")
    return content


def describe_end(chain: Chain, charge: int) -> str:
    """Why a charge has no result and cannot have one, and what to do."""
    if charge in chain.failed:
        why = "and failed"
    elif chain.stages[charge] == DRAWING:
        why = "but has no result: its draw is under way elsewhere, or was interrupted"
    elif chain.stages[charge] == MOST_ATTEMPTS:
        why = f"but has no result: the table was counted {MOST_ATTEMPTS} times, and none of the runs came to an end"
    else:
        why = "but has no result: it is still running elsewhere, or was interrupted"
    return (
        f"{why}. The charge stands, and nothing is drawn twice for one charge. To charge again, call the function with "
        "a slightly different epsilon, or release a plan with --new or new=True"
    )


# The steps of a release


@contextmanager
def standing_charge(account: Account, receipt: Receipt) -> Iterator[None]:
    """A context for the work between a charge and its draw.

    A `ValueError` is a refusal that was found by reading the data. The ledger has it before it is shown, and the charge
    stands. After anything else, such as an interruption, the same request may be repeated without a second charge if it
    has ``room``; otherwise the charge stands.

    Parameters
    ----------
    account, receipt
        The account that was charged, and the receipt.
    """
    try:
        yield
        return
    except BaseException as error:
        refuses = isinstance(error, ValueError) and not isinstance(error, EngineError)
        repeats = receipt.attempt is not None and not refuses
        unwritten = None if repeats else _note_failure(account, receipt, error)
        if unwritten is None:
            if isinstance(error, ValueError):
                error.args = (f"{error}. {_describe_charge(account, receipt, repeats=repeats)}",)
            raise
    # A refusal that the ledger does not have is not shown: the run could be repeated.
    raise unwritten


def _note_failure(account: Account, receipt: Receipt, error: BaseException) -> LedgerError | None:
    """Write a failure to the ledger. The ledger's own error where it cannot be written."""
    try:
        with read_chain(account.ledger) as (_, chain):
            chain.recall(receipt.entry.sequence)
        if receipt.entry.sequence not in chain.failed:
            fail(account, receipt, type(error).__name__)
    except LedgerError as unwritten:
        return unwritten
    return None


def _describe_charge(account: Account, receipt: Receipt, *, repeats: bool) -> str:
    cost, left = spell_amount(receipt.entry.guarantee.round_up()), spell_amount(receipt.left)
    if repeats and (receipt.attempt or 0) < MOST_ATTEMPTS:
        kept = f"the charge of {cost} on {account.dataset!r} is kept"
        return f"Nothing was drawn, and {kept}: the same request again costs nothing"
    why = "This was the last attempt" if repeats else "This was found by reading the data"
    return f"{why}, so the charge of {cost} on {account.dataset!r} stands; {left} is left"


# claim:drawn-once
@contextmanager
def drawing(account: Account, receipt: Receipt) -> Iterator[Callable[[bytes], Receipt]]:
    """A context for the one draw of a charge. It hands over the function that stores the draw.

    Parameters
    ----------
    account, receipt
        The account that was charged, and the receipt of an attempt.

    Raises
    ------
    Unfinished
        If another process has begun to draw. Nothing is drawn.
    LedgerError
        If the ledger cannot be written.
    """
    charge, begun = receipt.entry.sequence, False
    try:
        meaning = "; nothing was drawn, and the charge is kept"
        with change_chain(account.ledger, meaning, unnoted=True) as (transaction, chain):
            chain.recall(charge)
            if charge in chain.failed or not CHARGED < chain.stages[charge] <= MOST_ATTEMPTS:
                raise Unfinished(f"the draw of entry {charge} is under way elsewhere; ask for its result again")
            # The room becomes smaller, and so there is room for the entries that follow.
            transaction.write_draw(charge, bytes(receipt.room or 0))
            append(transaction, chain, "drawing", {"charge": charge}, None)
            transaction.settle()
            begun = True
            yield _make_writer(transaction, chain, receipt)
        return
    except BaseException as error:
        if not begun:
            raise
        failure = type(error).__name__
    # Nothing is drawn again, whether or not this can be written.
    with suppress(LedgerError):
        fail(account, receipt, failure)
    cost = spell_amount(receipt.entry.guarantee.round_up())
    raise LedgerError(
        f"the draw could not be stored ({failure}). Nothing is drawn twice, so the charge of {cost} on "
        f"{account.dataset!r} stands"
    )


def _make_writer(transaction: Transaction, chain: Chain, receipt: Receipt) -> Callable[[bytes], Receipt]:
    def store(content: bytes) -> Receipt:
        """Store what was drawn. It has exactly the bytes that were reserved."""
        if len(content) != receipt.room:
            raise ArithmeticError("a draw has another length than was reserved; please report this bug")
        charge, digest = receipt.entry.sequence, hashlib.sha256(content).hexdigest()
        transaction.write_draw(charge, content)
        append(transaction, chain, "drawn", {"charge": charge, "digest": digest}, None)
        return replace(receipt, drawn=content)

    return store


def keep(account: Account, receipt: Receipt, result: str) -> Entry:
    """Store the result of a charge, before it is returned to anybody.

    Parameters
    ----------
    account, receipt
        The account that was charged, and the receipt.
    result
        The result.

    Returns
    -------
    Entry
        The entry of the result.

    Raises
    ------
    LedgerError
        If the ledger cannot be written, no longer has the charge, or already has a result for it.
    """
    packed = pack(result)
    then = "the charge stands" if receipt.drawn is None else "the draw is stored, and the same request costs nothing"
    meaning = f"; the result could not be kept, and {then}"
    with change_chain(account.ledger, meaning, unnoted=True) as (transaction, chain):
        number = receipt.entry.sequence
        chain.recall(number)
        if chain.charges.get(number) != receipt.entry:
            raise LedgerError("the ledger no longer has the charge of this release; it was changed meanwhile")
        if number in chain.kept:
            raise LedgerError("this charge already has a result")
        transaction.add_result(number, packed)
        digest = hashlib.sha256(result.encode()).hexdigest()
        return append(transaction, chain, "result", {"charge": number, "digest": digest}, None)


def fail(account: Account, receipt: Receipt, why: str) -> None:
    """Record that a charge has no result because of a failure. The charge stands.

    Parameters
    ----------
    account, receipt
        The account that was charged, and the receipt.
    why
        What failed.
    """
    with change_chain(account.ledger, "; the charge stands", unnoted=True) as (transaction, chain):
        append(transaction, chain, "failure", {"charge": receipt.entry.sequence, "why": why}, None)
