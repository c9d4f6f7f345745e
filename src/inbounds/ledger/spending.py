"""Charge requests and store their results; `inbounds.ledger` has the rules."""

import hashlib
import shlex
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from inbounds import _check
from inbounds._text import visible
from inbounds.errors import BudgetRefused as BudgetRefused
from inbounds.errors import LookAlike as LookAlike
from inbounds.errors import OtherLimit as OtherLimit
from inbounds.errors import Unfinished as Unfinished
from inbounds.ledger.access import append, change_chain, clean_text, is_begun, read_chain, require
from inbounds.ledger.account import Account
from inbounds.ledger.amounts import spell_amount, write_amount
from inbounds.ledger.chain import Chain, Entry, LedgerError, Standing
from inbounds.ledger.names import describe_look_alikes
from inbounds.ledger.results import pack, unpack
from inbounds.ledger.store import Snapshot
from inbounds.privacy.guarantee import NEIGHBOURS, Guarantee, parse_guarantee

# The most datasets that a message names.
_FEW = 20


@dataclass(frozen=True, slots=True)
class Request:
    """What is charged: the guarantee of one or more releases.

    Parameters
    ----------
    digest
        Identifies what was asked for. The same digest is the same request, which gets its stored result.
    guarantee
        The guarantee of all releases together, of a kind that is registered with
        `inbounds.privacy.guarantee.register_guarantee`.
    neighbours, contributions
        The neighbour relation, and how many records a person may have. All charges of a dataset have the same.
    person
        The column of persons, if a rule bounds the rows of each; ``contributions`` is 1 then.
    what
        What is released, in words, for readers of the ledger.
    longest
        The most bytes that the result may have. A longer stored result is not read.

    Raises
    ------
    TypeError, ValueError
        If an argument is not valid.
    """

    digest: str
    guarantee: Guarantee
    neighbours: str
    contributions: int
    what: tuple[str, ...] = ()
    longest: int | None = None
    person: str | None = None

    def __post_init__(self) -> None:
        _check.choice(self.neighbours, "neighbours", NEIGHBOURS)
        if not isinstance(self.guarantee, Guarantee):
            raise TypeError(f"guarantee must be a guarantee such as Pure(1), got {_check.shown(self.guarantee)}")
        # A guarantee that cannot be read again must not be written.
        if parse_guarantee(self.guarantee.to_dict()) != self.guarantee:
            raise ValueError(f"the guarantee of kind {self.guarantee.kind!r} does not match its fields")

    @property
    def cost(self) -> Guarantee:
        """What is charged: the guarantee, rounded up to the units of a ledger."""
        return self.guarantee.round_up()

    def to_dict(self) -> dict[str, Any]:
        """The fields of the entry of its charge."""
        plain = {"request": self.digest, "cost": write_amount(self.cost), "what": list(self.what)}
        return plain | self.guarantee.to_dict()


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
        _check_limit(account, request, _first_standing(account, request, Chain()), Chain())
    with change_chain(account.ledger) as (transaction, chain):
        asked = _charges(chain, account, request)
        standing = chain.datasets.get(account.dataset)
        if standing is not None:
            _check_promise(standing, request)
        if asked and not new:
            return _find_stored(transaction, chain, asked, request.longest)
        if standing is None:
            standing = _first_standing(account, request, chain)
            _announce(account, chain)
            append(transaction, chain, "dataset", standing.opening(), who)
        _check_limit(account, request, standing, chain)
        # Warnings come before the charge, so that nothing is spent if they are turned into errors.
        _announce_limit(account, standing, chain)
        entry = append(transaction, chain, "charge", {"dataset": account.dataset} | request.to_dict(), who)
    return Receipt(entry, chain.stood[entry.sequence].left)


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
        asked = _charges(chain, account, request)
        return _find_stored(snapshot, chain, asked, request.longest) if asked else None


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
    standing = chain.datasets.get(account.dataset) or _first_standing(account, request, chain)
    _check_promise(standing, request)
    after = _check_limit(account, request, standing, chain)
    _announce_limit(account, standing, chain)
    if account.dataset not in chain.datasets:
        _announce(account, chain)
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
        paid = receipt.entry.sequence
        if chain.charges.get(paid) != receipt.entry:
            raise LedgerError("the ledger no longer has the charge of this release; it was changed meanwhile")
        if paid in chain.kept:
            raise LedgerError("this charge already has a result")
        transaction.add_result(paid, packed)
        digest = hashlib.sha256(result.encode()).hexdigest()
        return append(transaction, chain, "result", {"charge": paid, "digest": digest}, None)


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
            spent = f"the charge of {cost} on {account.dataset!r} stands; {left} is left"
            error.args = (f"{error}. This was found by reading the data, so {spent}",)
        raise


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
            raise LedgerError(_describe_missing(account.dataset, chain))
        _check_kind(standing, account.limit)
        if limit is None or (standing.spent is not None and not limit.covers(standing.spent)):
            raise LedgerError(f"the limit cannot be below {spell_amount(standing.spent)}, which is already spent")
        change = {"limit": write_amount(limit), "before": write_amount(standing.limit), "why": clean_text(why)}
        append(transaction, chain, "limit", {"dataset": account.dataset} | change, who)
        return chain.datasets[account.dataset]


def _first_standing(account: Account, request: Request, chain: Chain) -> Standing:
    """The state of a dataset that is new to the ledger."""
    if account.limit is None:
        new = "; a new one needs a limit, as in Account(ledger, dataset, limit)"
        raise LedgerError(_describe_missing(account.dataset, chain) + new)
    limit = account.limit.round_down()
    if limit is None:
        raise BudgetRefused(
            f"the limit of {account.dataset!r} is below the smallest amount that a ledger can hold; nothing was spent"
        )
    standing = Standing(account.dataset, limit, None, request.neighbours, request.contributions, 0, request.person)
    _check_kind(standing, request.guarantee)
    return standing


def _check_limit(account: Account, request: Request, standing: Standing, chain: Chain) -> Standing:
    """The state of the dataset after a charge. Raises `BudgetRefused` if it would exceed the limit, or a smaller one
    that the account states."""
    stated = _find_other_limit(account, standing, chain)
    left, limit, cost = map(spell_amount, (standing.left, standing.limit, request.cost))
    try:
        after = standing.after(request.cost)
    except ValueError:
        ignored = ""
        if stated is not None:
            ignored = f" (a limit of {spell_amount(stated)} is stated here, but that of a dataset in a ledger stays)"
        raise BudgetRefused(
            f"{account.dataset!r} has {left} of its limit {limit} left{ignored}, and this costs {cost}; nothing was "
            f"spent. Use a smaller epsilon, or raise the limit, which a plan cannot do: {_raise_with(account)}"
        ) from None
    if stated is not None and after.spent is not None and not stated.covers(after.spent):
        raise BudgetRefused(
            f"{account.dataset!r} has {spell_amount(standing.spent)} spent, and this costs {cost}: together more than "
            f"the limit of {spell_amount(stated)} that is stated here; nothing was spent. The limit in the ledger is "
            f"{limit}: state that, or use a smaller epsilon"
        )
    return after


def _find_other_limit(account: Account, standing: Standing, chain: Chain) -> Guarantee | None:
    """The limit that an account states, where the dataset has another: not one that it had before `raise_limit`."""
    if account.limit is None or not account.binding:
        return None
    stated = account.limit.round_down()
    if stated is None or stated == standing.limit or stated.kind != standing.limit.kind:
        return None
    acts = (one.body for one in chain.entries if one.kind in ("dataset", "limit"))
    former = [body["limit"] for body in acts if body["dataset"] == account.dataset]
    return None if write_amount(stated) in former else stated


def _raise_with(account: Account) -> str:
    place, name = shlex.quote(str(account.ledger)), shlex.quote(visible(account.dataset))
    return f"inbounds ledger raise {place} --dataset {name} --limit ... --why ..."


def _announce_limit(account: Account, standing: Standing, chain: Chain) -> None:
    """Say that another limit is stated than the dataset has."""
    stated = _find_other_limit(account, standing, chain)
    if stated is not None:
        told = (
            f"a limit of {spell_amount(stated)} is stated for {account.dataset!r}, but its limit in the ledger is "
            f"{spell_amount(standing.limit)}, which only this changes: {_raise_with(account)}"
        )
        warnings.warn(told, OtherLimit, stacklevel=3)


def _announce(account: Account, chain: Chain) -> None:
    told = describe_look_alikes(account.dataset, chain.datasets)
    if told is not None:
        warnings.warn(told, LookAlike, stacklevel=3)


def _describe_missing(name: str, chain: Chain) -> str:
    others = ", ".join(map(repr, islice(chain.datasets, _FEW))) or "none yet"
    others += f" and {len(chain.datasets) - _FEW} more" if len(chain.datasets) > _FEW else ""
    return f"the ledger has no dataset {name!r} (it has {others})"


def _check_promise(standing: Standing, request: Request) -> None:
    for name in ("person", "neighbours", "contributions"):
        own, asked = getattr(standing, name), getattr(request, name)
        if own != asked:
            said = f"is charged with {name} {own}, but this release has {name} {asked}: their epsilons do not add up"
            raise LedgerError(f"{standing.dataset!r} {said} to one guarantee. Use the same, or charge another dataset")
    _check_kind(standing, request.guarantee)


def _check_kind(standing: Standing, other: Guarantee) -> None:
    if other.kind != standing.limit.kind:
        raise LedgerError(
            f"the limit of {standing.dataset!r} is of the kind {standing.limit.kind!r} ({standing.limit}), but {other} "
            f"is of the kind {other.kind!r}, so they do not add up. Use the same kind, or charge another dataset; "
            "nothing was spent"
        )


def _charges(chain: Chain, account: Account, request: Request) -> list[Entry]:
    """The charges of a request."""
    mine = account.dataset, request.digest
    return [one for one in chain.charges.values() if (one.body["dataset"], one.body["request"]) == mine]


def _find_stored(snapshot: Snapshot, chain: Chain, asked: Sequence[Entry], longest: int | None) -> Receipt:
    """The result of the last charge of a request that has one."""
    for paid in reversed(asked):
        if paid.sequence in chain.kept:
            left = chain.stood[paid.sequence].left
            return Receipt(paid, left, unpack(snapshot, chain, paid.sequence, longest))
    last = asked[-1]
    failed = last.sequence in chain.failed
    why = "and failed" if failed else "but has no result: it is still running elsewhere, or was interrupted"
    raise Unfinished(
        f"this was charged on {last.body['when']} (entry {last.sequence}) {why}. The charge stands, and nothing is "
        "drawn twice for one charge. To charge again, call the function with a slightly different epsilon, or release "
        "a plan with --new or new=True"
    )
