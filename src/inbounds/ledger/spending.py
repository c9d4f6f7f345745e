"""Charge requests, or find what was stored for them; `inbounds.ledger` has the rules."""

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
from inbounds.ledger.draws import begin_attempt, describe_end, may_repeat, read_draw
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
from inbounds.ledger.request import Receipt
from inbounds.ledger.request import Request as Request
from inbounds.ledger.results import unpack
from inbounds.ledger.standing import Standing
from inbounds.ledger.store import Snapshot
from inbounds.privacy.guarantee import Guarantee


# claim:ledger
def charge(account: Account, request: Request, *, new: bool = False, who: str | None = None) -> Receipt:
    """Charge a request before any data are read, or find what was stored for it.

    A request that was charged and interrupted before its draw is attempted again, without a second charge.

    The ledger is created if it does not exist. If the dataset is new and its name looks like another one, there is a
    warning, `LookAlike`, before the charge. If the account states another limit than the dataset has, there is a
    warning, `OtherLimit`; a smaller one binds this charge.

    Parameters
    ----------
    account, request
        The account to charge, and the request.
    new
        Charge the request again, for a new draw, unless one was paid for and interrupted.
    who
        Who asks. By default the user name.

    Returns
    -------
    Receipt
        The charge, with the stored result or draw if the request was charged before.

    Raises
    ------
    BudgetRefused
        If the charge would exceed the limit. Nothing is spent.
    Unfinished
        If the request was charged before, has no result, and cannot have one. Nothing is spent.
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
        if (before := _find_stored(transaction, chain, account, request, new=new)) is not None:
            return before if before.is_drawn else begin_attempt(transaction, chain, before.entry, request)
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
        return begin_attempt(transaction, chain, entry, request)


def find_stored(account: Account, request: Request, *, new: bool = False) -> Receipt | None:
    """Find what was stored for a request that was charged before. Nothing is written.

    Parameters
    ----------
    account, request
        The account and the request.
    new
        Whether results do not count, but only a draw from which no result was made yet.

    Returns
    -------
    Receipt or None
        The charge, with its result or its draw, or with neither if the same request again costs nothing. None if the
        request was not charged.

    Raises
    ------
    Unfinished
        If the request was charged, has no result, and cannot have one.
    LedgerError
        If the ledger was changed.
    """
    if not is_begun(account.ledger):
        return None
    with read_chain(account.ledger) as (snapshot, chain):
        require_note(snapshot, account.ledger)
        return _find_stored(snapshot, chain, account, request, new=new)


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


def _find_stored(snapshot: Snapshot, chain: Chain, account: Account, request: Request, *, new: bool) -> Receipt | None:
    """The last result of a request, or its last charge if that can still have one.

    None if the request was not charged. With ``new`` results do not count.
    """
    last, unfinished = None, None
    for number in chain.find_charges(account.dataset, request.digest):
        chain.recall(number)
        if last is None:
            last, unfinished = number, _find_unfinished(snapshot, chain, number)
            if new:
                return unfinished
        if number in chain.kept:
            stored = unpack(snapshot, chain, number, request.longest)
            return Receipt(chain.charges[number], chain.left[number], stored)
    if last is None or unfinished is not None:
        return unfinished
    when = chain.charges[last].body["when"]
    raise Unfinished(f"this was charged on {when} (entry {last}) {describe_end(chain, last)}")


def _find_unfinished(snapshot: Snapshot, chain: Chain, charge: int) -> Receipt | None:
    """A charge without a result that can still have one, with its draw if that is stored."""
    drawn = read_draw(snapshot, chain, charge)
    if drawn is None and not may_repeat(chain, charge):
        return None
    return Receipt(chain.charges[charge], chain.left[charge], drawn=drawn)
