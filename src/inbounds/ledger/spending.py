"""Charge requests and store their results; `inbounds.ledger` has the rules."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from inbounds.errors import BudgetRefused as BudgetRefused
from inbounds.errors import LedgerError
from inbounds.errors import Unfinished as Unfinished
from inbounds.ledger.access import (
    append,
    change_chain,
    clean_text,
    is_begun,
    read_chain,
    require,
    require_note,
)
from inbounds.ledger.account import Account
from inbounds.ledger.amounts import spell_amount, write_amount
from inbounds.ledger.chain import Chain
from inbounds.ledger.entry import Entry
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
from inbounds.ledger.standing import Standing
from inbounds.ledger.store import Snapshot
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
    """

    entry: Entry
    left: Guarantee | None
    stored: str | None = None


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
        standing = chain.datasets.get(account.dataset)
        if standing is not None:
            check_promise(standing, request)
        if not new and (before := _find_stored(transaction, chain, account, request)) is not None:
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
    return Receipt(entry, chain.left[entry.sequence])


def find_stored(account: Account, request: Request) -> Receipt | None:
    """Find the stored result of a request that was charged before. Nothing is written.

    Parameters
    ----------
    account, request
        The account and the request.

    Returns
    -------
    Receipt or None
        The charge with its result; None if the request was not charged.

    Raises
    ------
    Unfinished
        If the request was charged but has no result.
    LedgerError
        If the ledger was changed.
    """
    if not is_begun(account.ledger):
        return None
    with read_chain(account.ledger) as (snapshot, chain):
        require_note(snapshot, account.ledger)
        return _find_stored(snapshot, chain, account, request)


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
        with read_chain(account.ledger) as (snapshot, chain):
            require_note(snapshot, account.ledger)
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
    meaning = "; the result could not be kept, and the charge stands"
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


@contextmanager
def standing_charge(account: Account, receipt: Receipt) -> Iterator[None]:
    """A context for the work that was charged. If it fails, the ledger and the error say so, and the charge stands.

    Parameters
    ----------
    account, receipt
        The account that was charged, and the receipt.
    """
    try:
        yield
    except BaseException as error:
        # The original error is shown, not one from writing the ledger.
        with suppress(LedgerError):
            fail(account, receipt, type(error).__name__)
        if isinstance(error, ValueError):
            cost, left = spell_amount(receipt.entry.guarantee.round_up()), spell_amount(receipt.left)
            note = f"the charge of {cost} on {account.dataset!r} stands; {left} is left"
            error.args = (f"{error}. This was found by reading the data, so {note}",)
        raise


def accept(ledger: str | Path, why: str, who: str | None = None) -> Entry:
    """Accept a ledger as it is, although the file beside it is missing. The reason stays in the ledger.

    Without that file, inbounds cannot know whether the ledger is an older copy in which charges are missing. Accept it
    only if you know that none are. The entry of a newer record is missing in an older copy: see `verify`.

    Parameters
    ----------
    ledger
        The file of the ledger.
    why
        The reason.
    who
        Who accepts it. By default the user name.

    Returns
    -------
    Entry
        The entry that has the reason.

    Raises
    ------
    ValueError
        If the reason is missing.
    LedgerError
        If there is no such ledger, it was changed, or the file beside it is not missing.
    """
    _require_reason(why)
    require(Path(ledger))
    with change_chain(Path(ledger), "; it was not accepted", unnoted=True) as (transaction, chain):
        if transaction.is_noted:
            raise LedgerError(f"the ledger {str(ledger)!r} has its file beside it, so there is nothing to accept")
        transaction.renew_note()
        return append(transaction, chain, "accept", {"why": clean_text(why)}, who)


def _require_reason(why: str) -> None:
    if not isinstance(why, str) or not why.strip():
        raise ValueError("why must give the reason for the change; it is kept in the ledger")


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
    _require_reason(why)
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


def _find_stored(snapshot: Snapshot, chain: Chain, account: Account, request: Request) -> Receipt | None:
    """The result of the last charge of a request that has one; None if it was not charged."""
    last = None
    for number in chain.find_charges(account.dataset, request.digest):
        chain.recall(number)
        last = last or chain.charges[number]
        if number in chain.kept:
            stored = unpack(snapshot, chain, number, request.longest)
            return Receipt(chain.charges[number], chain.left[number], stored)
    if last is None:
        return None
    has_failed = last.sequence in chain.failed
    why = "and failed" if has_failed else "but has no result: it is still running elsewhere, or was interrupted"
    raise Unfinished(
        f"this was charged on {last.body['when']} (entry {last.sequence}) {why}. The charge stands, and nothing is "
        "drawn twice for one charge. To charge again, call the function with a slightly different epsilon, or release "
        "a plan with --new or new=True"
    )
