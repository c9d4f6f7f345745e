"""Charge requests and store their results; `inbounds.ledger` has the rules."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from inbounds.errors import BudgetRefused as BudgetRefused
from inbounds.errors import EngineError
from inbounds.errors import Unfinished as Unfinished
from inbounds.ledger.access import append, change_chain, clean_text, is_begun, read_chain, require
from inbounds.ledger.account import Account
from inbounds.ledger.amounts import spell_amount, write_amount
from inbounds.ledger.chain import MOST_ATTEMPTS, Chain, Entry, LedgerError, Standing
from inbounds.ledger.draws import begin_attempt, begin_draw, may_repeat, read_draw, write_draw
from inbounds.ledger.limits import (
    announce_limit,
    announce_name,
    check_kind,
    check_limit,
    check_promise,
    describe_missing,
    first_standing,
)
from inbounds.ledger.request import Request as Request
from inbounds.ledger.results import pack, unpack
from inbounds.ledger.store import Snapshot, Transaction
from inbounds.privacy.guarantee import Guarantee


@dataclass(frozen=True, slots=True)
class Receipt:
    """A charge that was made.

    Attributes
    ----------
    entry
        Its entry in the chain.
    left
        What was left of the limit after it; None is nothing.
    stored
        The stored result, if the request was charged before.
    drawn
        The stored draw, if there is one and the result was not made from it yet.
    attempt, room
        The number of this attempt to count, and the bytes of its draw; None for requests without ``room``.
    """

    entry: Entry
    left: Guarantee | None
    stored: str | None = None
    drawn: bytes | None = field(default=None, repr=False)
    attempt: int | None = None
    room: int | None = None

    @property
    def is_drawn(self) -> bool:
        """Whether nothing is to be drawn for it any more."""
        return self.stored is not None or self.drawn is not None


def charge(account: Account, request: Request, *, new: bool = False, who: str | None = None) -> Receipt:
    """claim:ledger. Charge a request before any data are read, or find its stored result.

    The ledger is created if it does not exist. If the dataset is new and its name looks like another one, there is a
    warning, `LookAlike`, before the charge. If the account states another limit than the dataset has, there is a
    warning, `OtherLimit`; a smaller one binds this charge.

    Parameters
    ----------
    account, request
        The account to charge, and the request.
    new
        Charge the request again, for a new draw.
    who
        Who asks. By default the user name.

    Returns
    -------
    Receipt
        The charge, with the stored result if the request was charged before.

    Raises
    ------
    BudgetRefused
        If the charge would exceed the limit. Nothing is spent.
    Unfinished
        If the request was charged before but has no result. Nothing is spent.
    LedgerError
        If the ledger cannot be used, or the guarantee is of another kind than the limit. Nothing is spent.
    """
    if not is_begun(account.ledger):
        # No file is created for a charge that will be refused.
        check_limit(account, request, first_standing(account, request, Chain()), Chain())
    with change_chain(account.ledger) as (transaction, chain):
        charges = _charges(chain, account, request)
        standing = chain.datasets.get(account.dataset)
        if standing is not None:
            check_promise(standing, request)
        if charges and may_repeat(chain, charges[-1].sequence):
            # It was paid for. Nothing was drawn for it, so that this is no second draw.
            return _attempt(transaction, chain, charges[-1], request)
        if charges and (before := _find_stored(transaction, chain, charges, request, new=new)) is not None:
            return before
        is_new = standing is None
        if standing is None:
            standing = first_standing(account, request, chain)
            announce_name(account, chain)
        check_limit(account, request, standing, chain)
        if is_new:
            append(transaction, chain, "dataset", standing.opening(), who)
        # Warnings come before the charge, so that nothing is spent if they are turned into errors.
        announce_limit(account, standing, chain)
        entry = append(transaction, chain, "charge", {"dataset": account.dataset} | request.to_dict(), who)
        return _attempt(transaction, chain, entry, request)


def _attempt(transaction: Transaction, chain: Chain, entry: Entry, request: Request) -> Receipt:
    """Begin to count for a charge. It is an entry of its own, which is on the disk before the table is read."""
    attempt = begin_attempt(transaction, chain, entry.sequence, request)
    return Receipt(entry, chain.stood[entry.sequence].left, attempt=attempt, room=request.room)


def find_stored(account: Account, request: Request, *, new: bool = False) -> Receipt | None:
    """Find the stored result of a request that was charged before, or its stored draw. Nothing is written.

    Parameters
    ----------
    account, request
        The account and the request.
    new
        Whether to look for a draw without a result alone.

    Returns
    -------
    Receipt or None
        The charge with its result or draw; None if the request was not charged, or if its table has yet to be counted.

    Raises
    ------
    Unfinished
        If the request was charged, has no result, and cannot have one any more.
    LedgerError
        If the ledger was changed.
    """
    if not is_begun(account.ledger):
        return None
    with read_chain(account.ledger) as (snapshot, chain):
        charges = _charges(chain, account, request)
        return _find_stored(snapshot, chain, charges, request, new=new) if charges else None


def affordable(account: Account, request: Request) -> Guarantee | None:
    """What would be left after a charge. Nothing is written.

    There is a warning, `LookAlike`, if the dataset is new and its name looks like another one, and `OtherLimit`, if the
    account states another limit than the dataset has.

    Parameters
    ----------
    account, request
        The account and the request.

    Returns
    -------
    Guarantee or None
        What would be left; None is nothing.

    Raises
    ------
    BudgetRefused
        If the charge would exceed the limit.
    LedgerError
        If the ledger cannot be used, or the guarantee is of another kind than the limit.
    """
    chain = Chain()
    if is_begun(account.ledger):
        with read_chain(account.ledger) as (_, chain):
            pass
    standing = chain.datasets.get(account.dataset) or first_standing(account, request, chain)
    check_promise(standing, request)
    after = check_limit(account, request, standing, chain)
    announce_limit(account, standing, chain)
    if account.dataset not in chain.datasets:
        announce_name(account, chain)
    return after.left


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
    with change_chain(account.ledger, "; the result could not be kept, and the charge stands") as (transaction, chain):
        number = receipt.entry.sequence
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
    with change_chain(account.ledger, "; the charge stands") as (transaction, chain):
        if receipt.entry.sequence not in chain.failed:
            append(transaction, chain, "failure", {"charge": receipt.entry.sequence, "why": why}, None)


@contextmanager
def standing_charge(account: Account, receipt: Receipt) -> Iterator[None]:
    """A context for the work between a charge and its draw.

    A `ValueError` is a refusal that was found by reading the data. The ledger has it before anyone sees it, and the
    charge stands. After anything else, such as an interruption, a request with ``room`` may be repeated without a
    second charge; for others the charge stands.

    Parameters
    ----------
    account, receipt
        The account that was charged, and the receipt.
    """
    try:
        yield
        return
    except BaseException as error:
        repeats = receipt.attempt is not None and (isinstance(error, EngineError) or not isinstance(error, ValueError))
        unwritten = None if repeats else _note_failure(account, receipt, error)
        if unwritten is None:
            if isinstance(error, ValueError):
                error.args = (f"{error}. {_describe_charge(account, receipt, repeats=repeats)}",)
            raise
    # A refusal that the ledger does not have is not shown: it could be asked for again.
    raise unwritten


def _note_failure(account: Account, receipt: Receipt, error: BaseException) -> LedgerError | None:
    """Write a failure to the ledger. The error of the ledger where that is not possible."""
    try:
        fail(account, receipt, type(error).__name__)
    except LedgerError as unwritten:
        return unwritten
    return None


def _describe_charge(account: Account, receipt: Receipt, *, repeats: bool) -> str:
    cost, left = spell_amount(receipt.entry.guarantee.round_up()), spell_amount(receipt.left)
    if repeats and (receipt.attempt or 0) < MOST_ATTEMPTS:
        return f"Nothing was drawn: the charge of {cost} on {account.dataset!r} is kept, and the same request is not charged again"
    why = "This was the last attempt" if repeats else "This was found by reading the data"
    return f"{why}, so the charge of {cost} on {account.dataset!r} stands; {left} is left"


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
    charge, size = receipt.entry.sequence, receipt.room or 0
    with change_chain(account.ledger, "; nothing was drawn, and the charge is kept") as (transaction, chain):
        begin_draw(transaction, chain, charge, size)
    try:
        with change_chain(account.ledger, "; the draw could not be stored") as (transaction, chain):
            # What the disk may refuse is refused here, before the draw.
            transaction.write_draw(charge, bytes(size))

            def store(content: bytes) -> Receipt:
                if len(content) != size:
                    raise ArithmeticError("a draw has another length than was reserved; please report this bug")
                write_draw(transaction, chain, charge, content)
                return replace(receipt, drawn=content)

            yield store
        return
    except BaseException as error:
        failure = type(error).__name__
    # Nothing is drawn again, whether or not this can be written.
    with suppress(LedgerError):
        fail(account, receipt, failure)
    cost = spell_amount(receipt.entry.guarantee.round_up())
    raise LedgerError(
        f"the draw could not be stored ({failure}). Nothing is drawn twice, so the charge of {cost} on "
        f"{account.dataset!r} stands"
    )


def raise_limit(account: Account, why: str, who: str | None = None) -> Standing:
    """Set another limit for a dataset. The change and its reason stay in the ledger.

    Parameters
    ----------
    account
        The dataset, with its new limit.
    why
        The reason.
    who
        Who changes the limit. By default the user name.

    Returns
    -------
    Standing
        The state of the dataset.

    Raises
    ------
    TypeError, ValueError
        If the limit or the reason is missing.
    LedgerError
        If there is no such ledger or dataset, or the limit is below what was spent.
    """
    if not isinstance(why, str) or not why.strip():
        raise ValueError("why must give the reason for the change; it is kept in the ledger")
    if account.limit is None:
        raise TypeError("the new limit must be given, as in Account(ledger, dataset, limit=2)")
    limit = account.limit.round_down()
    require(account.ledger)
    with change_chain(account.ledger, "; the limit is as it was") as (transaction, chain):
        standing = chain.datasets.get(account.dataset)
        if standing is None:
            raise LedgerError(describe_missing(account.dataset, chain))
        check_kind(standing, account.limit)
        if limit is None or (standing.spent is not None and not limit.covers(standing.spent)):
            raise LedgerError(f"the limit cannot be below {spell_amount(standing.spent)}, which is already spent")
        change = {"limit": write_amount(limit), "before": write_amount(standing.limit), "why": clean_text(why)}
        append(transaction, chain, "limit", {"dataset": account.dataset} | change, who)
        return chain.datasets[account.dataset]


def _charges(chain: Chain, account: Account, request: Request) -> list[Entry]:
    """The charges of a request."""
    key = account.dataset, request.digest
    return [entry for entry in chain.charges.values() if (entry.body["dataset"], entry.body["request"]) == key]


def _find_stored(
    snapshot: Snapshot, chain: Chain, charges: Sequence[Entry], request: Request, *, new: bool
) -> Receipt | None:
    """The last charge of a request that has a result, or the stored draw of the last one.

    None if the table has yet to be counted for the last one. With ``new`` results do not count.
    """
    last = charges[-1]
    for charge in reversed(charges):
        left = chain.stood[charge.sequence].left
        if charge.sequence in chain.kept and not new:
            return Receipt(charge, left, unpack(snapshot, chain, charge.sequence, request.longest))
        if charge is last and charge.sequence not in chain.kept:
            if (drawn := read_draw(snapshot, chain, charge.sequence)) is not None:
                return Receipt(charge, left, drawn=drawn)
    if new or may_repeat(chain, last.sequence):
        return None
    raise Unfinished(
        f"this was charged on {last.body['when']} (entry {last.sequence}) {_describe_end(chain, last.sequence)}"
    )


def _describe_end(chain: Chain, charge: int) -> str:
    """Why a charge has no result, and cannot have one any more."""
    if charge in chain.failed:
        why = "and failed"
    elif charge in chain.drawing:
        why = "but has no result: it is still running elsewhere, or was interrupted in the moment of the draw"
    elif charge in chain.attempts:
        why = f"but has no result: the table was counted {MOST_ATTEMPTS} times in vain"
    else:
        why = "but has no result: it is still running elsewhere, or was interrupted"
    return (
        f"{why}. The charge stands, and nothing is drawn twice for one charge. To charge again, call the function with "
        "a slightly different epsilon, or release a plan with --new or new=True"
    )
