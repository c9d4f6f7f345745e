"""Spending: a charge before the data are read, its result before anybody sees it.

A charge is committed before any data are read, and a result before anybody sees it. A crash in between leaves the
charge standing. The same request gets its stored result, never a second draw; a new draw is a new charge. Refusals
depend on public numbers alone.
"""

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
from inbounds.errors import Unfinished as Unfinished
from inbounds.ledger.access import append, change_chain, clean_text, is_begun, read_chain, require
from inbounds.ledger.account import Account
from inbounds.ledger.amounts import spell_amount, write_amount
from inbounds.ledger.chain import Chain, Entry, LedgerError, Standing
from inbounds.ledger.names import describe_look_alikes
from inbounds.ledger.results import pack, unpack
from inbounds.ledger.store import Snapshot
from inbounds.privacy.guarantee import NEIGHBOURS, Guarantee, parse_guarantee

# Datasets that a message names.
_FEW = 20


@dataclass(frozen=True, slots=True)
class Request:
    """What is charged: a guarantee for a whole set of releases, under one promise.

    Parameters
    ----------
    digest
        Says what was asked for. The same digest is the same request, which gets its stored result.
    guarantee
        What the releases promise together, of a kind that `inbounds.privacy.guarantee.register_guarantee` knows.
    neighbours, contributions
        Which tables are neighbours, and how many records a person may have. A dataset is charged for one such promise.
    what
        What is released, in words, for whoever reads the ledger.
    longest
        What its result may have at most, in bytes; a stored one that is longer is not read.
    """

    digest: str
    guarantee: Guarantee
    neighbours: str
    contributions: int
    what: tuple[str, ...] = ()
    longest: int | None = None

    def __post_init__(self) -> None:
        _check.choice(self.neighbours, "neighbours", NEIGHBOURS)
        if not isinstance(self.guarantee, Guarantee):
            raise TypeError(f"guarantee must be a guarantee such as Pure(1), got {_check.shown(self.guarantee)}")
        # What could not be read again must not be written.
        if parse_guarantee(self.guarantee.to_dict()) != self.guarantee:
            raise ValueError(f"the guarantee of kind {self.guarantee.kind!r} is not the one that its fields say")

    @property
    def cost(self) -> Guarantee:
        """What a ledger takes for it: the guarantee, rounded up to its units."""
        return self.guarantee.round_up()

    def to_dict(self) -> dict[str, Any]:
        """What the entry of its charge says of it."""
        plain = {"request": self.digest, "cost": write_amount(self.cost), "what": list(self.what)}
        return plain | self.guarantee.to_dict()


@dataclass(frozen=True, slots=True)
class Receipt:
    """A charge that was made: its entry in the chain, and what was left of the limit after it (None is nothing).

    ``find_stored`` is the result, where the request had been charged before.
    """

    entry: Entry
    left: Guarantee | None
    stored: str | None = None


def charge(account: Account, request: Request, *, new: bool = False, who: str | None = None) -> Receipt:
    """claim:ledger. Charge a request before any data are read; the stored result where it was charged before.

    ``new`` charges a request again, for a new draw. The ledger is made where there is none. A dataset that is new to it
    and looks like one that it has is announced by a warning, `LookAlike`, before the charge.

    Raises `BudgetRefused` beyond the limit, `Unfinished` for a request that was charged but has no result, and
    `LedgerError` for a ledger that cannot be used, or a guarantee of another kind than the limit; in all these cases
    nothing is spent.
    """
    if not is_begun(account.ledger):
        # No file is made for a charge that will be refused.
        _check_limit(account, request, _first_standing(account, request, Chain()))
    with change_chain(account.ledger) as (transaction, chain):
        asked = _charges(chain, account, request)
        standing = chain.datasets.get(account.dataset)
        if standing is not None:
            _check_promise(standing, request)
        if asked and not new:
            return _find_stored(transaction, chain, asked, request.longest)
        if standing is None:
            standing = _first_standing(account, request, chain)
            # Before anything is charged: whoever makes an error of it has spent nothing.
            _announce(account, chain)
            names = "dataset", "limit", "neighbours", "contributions"
            append(transaction, chain, "dataset", {name: standing.to_dict()[name] for name in names}, who)
        _check_limit(account, request, standing)
        entry = append(transaction, chain, "charge", {"dataset": account.dataset} | request.to_dict(), who)
    return Receipt(entry, chain.stood[entry.sequence].left)


def find_stored(account: Account, request: Request) -> Receipt | None:
    """The result of a request that was charged before, None where it was not. Nothing is written."""
    if not is_begun(account.ledger):
        return None
    with read_chain(account.ledger) as (snapshot, chain):
        asked = _charges(chain, account, request)
        return _find_stored(snapshot, chain, asked, request.longest) if asked else None


def affordable(account: Account, request: Request) -> Guarantee | None:
    """What would be left after a charge, None for nothing; `BudgetRefused` where it does not fit. Nothing is written.

    Warns of a dataset that would be new and looks like another one.
    """
    chain = Chain()
    if is_begun(account.ledger):
        with read_chain(account.ledger) as (_, chain):
            pass
    standing = chain.datasets.get(account.dataset) or _first_standing(account, request, chain)
    _check_promise(standing, request)
    after = _check_limit(account, request, standing)
    if account.dataset not in chain.datasets:
        _announce(account, chain)
    return after.left


def keep(account: Account, receipt: Receipt, result: str) -> Entry:
    """Store the result of a charge, before anybody sees it."""
    packed = pack(result)
    with change_chain(account.ledger, "; the result could not be kept, and the charge stands") as (transaction, chain):
        paid = receipt.entry.sequence
        if chain.charges.get(paid) != receipt.entry:
            raise LedgerError("the ledger no longer has the charge of this release; it was changed meanwhile")
        if paid in chain.kept:
            raise LedgerError("this charge has a result already")
        transaction.add_result(paid, packed)
        digest = hashlib.sha256(result.encode()).hexdigest()
        return append(transaction, chain, "result", {"charge": paid, "digest": digest}, None)


def fail(account: Account, receipt: Receipt, why: str) -> None:
    """Note that a charge came to nothing; it stands all the same."""
    with change_chain(account.ledger, "; the charge stands") as (transaction, chain):
        append(transaction, chain, "failure", {"charge": receipt.entry.sequence, "why": why}, None)


@contextmanager
def standing_charge(account: Account, receipt: Receipt) -> Iterator[None]:
    """What is done with a charge: if it fails, the ledger and the error say so, and the charge stands."""
    try:
        yield
    except BaseException as error:
        # The first error is the one to be seen.
        with suppress(LedgerError):
            fail(account, receipt, type(error).__name__)
        if isinstance(error, ValueError):
            cost, left = spell_amount(receipt.entry.guarantee.round_up()), spell_amount(receipt.left)
            spent = f"the charge of {cost} on {account.dataset!r} stands; {left} is left"
            error.args = (f"{error}. This was found by reading the data, so {spent}",)
        raise


def raise_limit(account: Account, why: str, who: str | None = None) -> Standing:
    """Another limit for a dataset: an act of its own, with a reason, that stays in the chain.

    Below what was spent no limit can be set.
    """
    if not isinstance(why, str) or not why.strip():
        raise ValueError("why must say why the limit changes; the reason is kept in the ledger")
    if account.limit is None:
        raise TypeError("state the new limit, as in Account(ledger, dataset, limit=2)")
    limit = account.limit.round_down()
    require(account.ledger)
    with change_chain(account.ledger, "; the limit is as it was") as (transaction, chain):
        standing = chain.datasets.get(account.dataset)
        if standing is None:
            raise LedgerError(_describe_missing(account.dataset, chain))
        _check_kind(standing, account.limit)
        if limit is None or (standing.spent is not None and not limit.covers(standing.spent)):
            raise LedgerError(f"{spell_amount(standing.spent)} is spent already; a limit cannot be below it")
        change = {"limit": write_amount(limit), "before": write_amount(standing.limit), "why": clean_text(why)}
        append(transaction, chain, "limit", {"dataset": account.dataset} | change, who)
        return chain.datasets[account.dataset]


def _first_standing(account: Account, request: Request, chain: Chain) -> Standing:
    """How a dataset stands that is new to the ledger."""
    if account.limit is None:
        new = "; a new one needs a limit, as in Account(ledger, dataset, limit)"
        raise LedgerError(_describe_missing(account.dataset, chain) + new)
    limit = account.limit.round_down()
    if limit is None:
        raise BudgetRefused(
            f"the limit of {account.dataset!r} is smaller than the least amount that a ledger counts; nothing was spent"
        )
    standing = Standing(account.dataset, limit, None, request.neighbours, request.contributions, 0)
    _check_kind(standing, request.guarantee)
    return standing


def _check_limit(account: Account, request: Request, standing: Standing) -> Standing:
    """How the dataset stands after a charge; `BudgetRefused` where it does not fit."""
    try:
        return standing.after(request.cost)
    except ValueError:
        place, name = shlex.quote(str(account.ledger)), shlex.quote(visible(account.dataset))
        left, limit, cost = map(spell_amount, (standing.left, standing.limit, request.cost))
        raise BudgetRefused(
            f"{account.dataset!r} has {left} of its limit {limit} left, and this costs {cost}; nothing was spent. Ask "
            "for less, or have the limit raised, which no plan can do: "
            f"inbounds ledger raise {place} --dataset {name} --limit ... --why ..."
        ) from None


def _announce(account: Account, chain: Chain) -> None:
    told = describe_look_alikes(account.dataset, chain.datasets)
    if told is not None:
        warnings.warn(told, LookAlike, stacklevel=3)


def _describe_missing(name: str, chain: Chain) -> str:
    others = ", ".join(map(repr, islice(chain.datasets, _FEW))) or "none yet"
    others += f" and {len(chain.datasets) - _FEW} more" if len(chain.datasets) > _FEW else ""
    return f"the ledger has no dataset {name!r} (it has {others})"


def _check_promise(standing: Standing, request: Request) -> None:
    for name in ("neighbours", "contributions"):
        own, asked = getattr(standing, name), getattr(request, name)
        if own != asked:
            raise LedgerError(
                f"{standing.dataset!r} is charged for {name} {own}, and this is for {asked}: such epsilons do not add "
                "up to one guarantee. Ask for the same, or account for it as a dataset of its own"
            )
    _check_kind(standing, request.guarantee)


def _check_kind(standing: Standing, other: Guarantee) -> None:
    if other.kind != standing.limit.kind:
        raise LedgerError(
            f"the limit of {standing.dataset!r} is of the kind {standing.limit.kind!r} ({standing.limit}), and {other} "
            f"is of the kind {other.kind!r}: they do not add up. Ask for the same kind, or account for it as a dataset "
            "of its own; nothing was spent"
        )


def _charges(chain: Chain, account: Account, request: Request) -> list[Entry]:
    """The charges of a request."""
    mine = account.dataset, request.digest
    return [one for one in chain.charges.values() if (one.body["dataset"], one.body["request"]) == mine]


def _find_stored(snapshot: Snapshot, chain: Chain, asked: Sequence[Entry], longest: int | None) -> Receipt:
    """What the last charge of a request got that got anything."""
    for paid in reversed(asked):
        if paid.sequence in chain.kept:
            left = chain.stood[paid.sequence].left
            return Receipt(paid, left, unpack(snapshot, chain, paid.sequence, longest))
    last = asked[-1]
    failed = last.sequence in chain.failed
    why = "and failed" if failed else "but has no result: it is still at work elsewhere, or was broken off"
    raise Unfinished(
        f"this was charged on {last.body['when']} (entry {last.sequence}) {why}. The charge stands, and nothing is "
        "drawn twice for one charge. A new charge is made by a plan, with --new or new=True; by a function, "
        "with another epsilon"
    )
