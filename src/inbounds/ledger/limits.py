"""Whether a charge keeps the limit of its dataset, and what is said about it; `inbounds.ledger` has the rules."""

import shlex
import warnings
from itertools import islice

from inbounds._text import visible
from inbounds.errors import BudgetRefused, LedgerError, LookAlike, OtherLimit
from inbounds.ledger.account import Account
from inbounds.ledger.amounts import spell_amount, write_amount
from inbounds.ledger.chain import Chain
from inbounds.ledger.names import describe_look_alikes
from inbounds.ledger.request import Request
from inbounds.ledger.standing import Standing
from inbounds.privacy.guarantee import Guarantee

# The most datasets that a message names.
_FEW = 20


def first_standing(account: Account, request: Request, chain: Chain) -> Standing:
    """The state of a dataset that is new to the ledger."""
    if account.limit is None:
        new = "; a new one needs a limit, as in Account(ledger, dataset, limit)"
        raise LedgerError(describe_missing(account.dataset, chain) + new)
    limit = account.limit.round_down()
    if limit is None:
        raise BudgetRefused(
            f"the limit of {account.dataset!r} is below the smallest amount that a ledger can hold; nothing was spent"
        )
    standing = Standing(account.dataset, limit, None, request.neighbours, request.contributions, 0, request.person)
    check_kind(standing, request.guarantee)
    return standing


def check_limit(account: Account, request: Request, standing: Standing, chain: Chain) -> Standing:
    """The state of the dataset after a charge. Raises `BudgetRefused` if it would exceed the limit, or a smaller one
    that the account states."""
    other_limit = _find_other_limit(account, standing, chain)
    left, limit, cost = map(spell_amount, (standing.left, standing.limit, request.cost))
    try:
        after = standing.after(request.cost)
    except ValueError:
        note = ""
        if other_limit is not None:
            note = f" (a limit of {spell_amount(other_limit)} is stated here, but that of a dataset in a ledger stays)"
        remedy = f"raise the limit, which a plan cannot do: {_raise_with(account)}"
        # A limit that no ledger has yet is still what is stated.
        remedy = remedy if account.dataset in chain.datasets else "state a larger limit"
        raise BudgetRefused(
            f"{account.dataset!r} has {left} of its limit {limit} left{note}, and this costs {cost}; nothing was "
            f"spent. Use a smaller epsilon, or {remedy}"
        ) from None
    if other_limit is not None and after.spent is not None and not other_limit.covers(after.spent):
        raise BudgetRefused(
            f"{account.dataset!r} has {spell_amount(standing.spent)} spent, and this costs {cost}: together more than "
            f"the limit of {spell_amount(other_limit)} that is stated here; nothing was spent. The limit in the ledger "
            f"is {limit}: state that, or use a smaller epsilon"
        )
    return after


def _find_other_limit(account: Account, standing: Standing, chain: Chain) -> Guarantee | None:
    """The limit that an account states, if the dataset has another one now and never had this one before."""
    if account.limit is None or not account.binding:
        return None
    limit = account.limit.round_down()
    if limit is None or limit == standing.limit or limit.kind != standing.limit.kind:
        return None
    return None if chain.has_had(account.dataset, write_amount(limit)) else limit


def _raise_with(account: Account) -> str:
    place, name = shlex.quote(str(account.ledger)), shlex.quote(visible(account.dataset))
    return f"inbounds ledger raise {place} --dataset {name} --limit ... --why ..."


def announce_limit(account: Account, standing: Standing, chain: Chain) -> None:
    """Warn that the stated limit is not the one that the dataset has."""
    other_limit = _find_other_limit(account, standing, chain)
    if other_limit is not None:
        message = (
            f"a limit of {spell_amount(other_limit)} is stated for {account.dataset!r}, but its limit in the ledger is "
            f"{spell_amount(standing.limit)}, which only this changes: {_raise_with(account)}"
        )
        warnings.warn(message, OtherLimit, stacklevel=3)


def announce_name(account: Account, chain: Chain) -> None:
    """Warn that the name of a new dataset looks like another one."""
    message = describe_look_alikes(account.dataset, chain.datasets)
    if message is not None:
        warnings.warn(message, LookAlike, stacklevel=3)


def describe_missing(name: str, chain: Chain) -> str:
    """That there is no such dataset, and which there are."""
    others = ", ".join(map(repr, islice(chain.datasets, _FEW))) or "none yet"
    others += f" and {len(chain.datasets) - _FEW} more" if len(chain.datasets) > _FEW else ""
    return f"the ledger has no dataset {name!r} (it has {others})"


def check_promise(standing: Standing, request: Request) -> None:
    """Refuse a request that protects another unit, or under another relation, than the dataset's earlier charges."""
    for name in ("person", "neighbours", "contributions"):
        before, now = getattr(standing, name), getattr(request, name)
        if before != now:
            clash = f"is charged with {name} {before}, but this release has {name} {now}: their epsilons do not add up"
            raise LedgerError(f"{standing.dataset!r} {clash} to one guarantee. Use the same, or charge another dataset")
    check_kind(standing, request.guarantee)


def check_kind(standing: Standing, other: Guarantee) -> None:
    """Refuse a guarantee of another kind than the limit of a dataset."""
    if other.kind != standing.limit.kind:
        raise LedgerError(
            f"the limit of {standing.dataset!r} is of the kind {standing.limit.kind!r} ({standing.limit}), but {other} "
            f"is of the kind {other.kind!r}, so they do not add up. Use the same kind, or charge another dataset; "
            "nothing was spent"
        )
