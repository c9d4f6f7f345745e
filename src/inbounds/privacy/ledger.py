"""What has been spent: an append-only account in one SQLite file, which cannot be overspent.

- Amounts are integers, billionths of ε: costs are rounded up, limits down.
- A charge is committed before any data are read, and a result before anybody sees it. A crash in between leaves the
  charge standing.
- The same request gets its stored result, never a second draw; a new draw is a new charge.
- The hash of every entry covers the one before it, so that an entry that was edited, removed or slipped in is found.
  How far the chain had come is also noted in a file beside the ledger and in every record that was released: a ledger
  that was put back to an earlier state is found by them. Nothing is keyed: who rewrites ledger, file and records alike
  is not found out.

Refusals depend on public numbers alone.
"""

import hashlib
import shlex
import sqlite3
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

from inbounds import _check
from inbounds._text import visible
from inbounds.privacy.chain import UNIT, Chain, cost_of
from inbounds.privacy.chain import Entry as Entry
from inbounds.privacy.chain import LedgerError as LedgerError
from inbounds.privacy.chain import Standing as Standing
from inbounds.privacy.chain import shown as shown
from inbounds.privacy.guarantee import NEIGHBOURS
from inbounds.privacy.ledger_file import append, begun, present, printable, reading, writing
from inbounds.privacy.names import clean_name, describe_all, describe_look_alikes
from inbounds.privacy.results import check_results, pack, read_result, read_results

# Datasets that a message names.
_FEW = 20


class BudgetRefused(LedgerError):
    """A charge beyond the limit of its dataset. Nothing was spent."""


class Unfinished(LedgerError):
    """A request that was charged and has no result."""


class LookAlike(UserWarning):
    """A dataset that is new to its ledger and looks like one that is there."""


@dataclass(frozen=True, slots=True)
class Account:
    """Where a dataset's spending is written down. ``limit`` is for a dataset that the ledger has not heard of.

    The name of the dataset is composed (NFC) and without spaces around it; characters that are not seen are refused. A
    name that the ledger has from before, written otherwise, stays as it is.
    """

    ledger: Path
    dataset: str
    limit: Fraction | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "ledger", Path(self.ledger))
        if "\0" in str(self.ledger):
            raise ValueError("ledger must be the name of a file")
        object.__setattr__(self, "dataset", name_in(self.ledger, self.dataset))
        if self.limit is not None:
            exact = _check.fraction(self.limit, "limit")
            if not exact > 0:
                raise ValueError(f"limit must be > 0, got {_check.shown(self.limit)}")
            object.__setattr__(self, "limit", exact)


@dataclass(frozen=True, slots=True)
class Request:
    """What is charged: ε for a whole set of releases, under one promise. ``digest`` says what was asked for.

    ``longest`` is what its result may have at most, in bytes; a stored one that is longer is not read.
    """

    digest: str
    epsilon: Fraction
    neighbours: str
    contributions: int
    what: tuple[str, ...] = ()
    longest: int | None = None

    def __post_init__(self) -> None:
        _check.choice(self.neighbours, "neighbours", NEIGHBOURS)
        if not self.epsilon > 0:
            raise ValueError("epsilon must be > 0")

    @property
    def cost(self) -> int:
        """In billionths of ε, rounded up."""
        return cost_of(self.epsilon)


@dataclass(frozen=True, slots=True)
class Receipt:
    """A charge that was made: its entry in the chain, and what was left of the limit after it.

    ``stored`` is the result, where the request had been charged before.
    """

    entry: Entry
    left: int
    stored: str | None = None


def charge(account: Account, request: Request, *, new: bool = False, who: str | None = None) -> Receipt:
    """claim:ledger. Charge a request before any data are read; the stored result where it was charged before.

    ``new`` charges a request again, for a new draw. The ledger is made where there is none. A dataset that is new to it
    and looks like one that it has is announced by a warning, `LookAlike`, before the charge.

    Raises `BudgetRefused` beyond the limit, `Unfinished` for a request that was charged but has no result, and
    `LedgerError` for a ledger that cannot be used; in all these cases nothing is spent.
    """
    if not account.ledger.exists():
        # No file is made for a charge that will be refused.
        _affordable(account, request, _first_standing(account, request, Chain()))
    with writing(account.ledger) as (connection, chain):
        asked = _charges(chain, account, request)
        standing = chain.datasets.get(account.dataset)
        if standing is not None:
            _one_promise(standing, request)
        if asked and not new:
            return _stored(connection, chain, asked, request.longest)
        if standing is None:
            standing = _first_standing(account, request, chain)
            # Before anything is charged: whoever makes an error of it has spent nothing.
            _announce(account, chain)
            body = {name: getattr(standing, name) for name in ("dataset", "limit", "neighbours", "contributions")}
            append(connection, chain, "dataset", body, who)
        _affordable(account, request, standing)
        body = {
            "dataset": account.dataset,
            "request": request.digest,
            "cost": request.cost,
            "epsilon": str(request.epsilon),
            "what": list(request.what),
        }
        made = append(connection, chain, "charge", body, who)
    return Receipt(made, standing.left - request.cost)


def stored(account: Account, request: Request) -> Receipt | None:
    """The result of a request that was charged before, None where it was not. Nothing is written."""
    if not begun(account.ledger):
        return None
    with reading(account.ledger) as (connection, chain):
        asked = _charges(chain, account, request)
        return _stored(connection, chain, asked, request.longest) if asked else None


def affordable(account: Account, request: Request) -> int:
    """What would be left after a charge, in billionths; `BudgetRefused` where it does not fit. Nothing is written.

    Warns of a dataset that would be new and looks like another one.
    """
    chain = Chain()
    if begun(account.ledger):
        with reading(account.ledger) as (_, chain):
            pass
    standing = chain.datasets.get(account.dataset) or _first_standing(account, request, chain)
    _one_promise(standing, request)
    _affordable(account, request, standing)
    if account.dataset not in chain.datasets:
        _announce(account, chain)
    return standing.left - request.cost


def keep(account: Account, receipt: Receipt, result: str) -> Entry:
    """Store the result of a charge, before anybody sees it."""
    packed = pack(result)
    with writing(account.ledger, "; the result could not be kept, and the charge stands") as (connection, chain):
        paid = receipt.entry.sequence
        if chain.charges.get(paid) != receipt.entry:
            raise LedgerError("the ledger no longer has the charge of this release; it was changed meanwhile")
        if paid in chain.kept:
            raise LedgerError("this charge has a result already")
        connection.execute("INSERT INTO results VALUES (?, ?)", (paid, packed))
        digest = hashlib.sha256(result.encode()).hexdigest()
        return append(connection, chain, "result", {"charge": paid, "digest": digest}, None)


def fail(account: Account, receipt: Receipt, why: str) -> None:
    """Note that a charge came to nothing; it stands all the same."""
    with writing(account.ledger, "; the charge stands") as (connection, chain):
        append(connection, chain, "failure", {"charge": receipt.entry.sequence, "why": why}, None)


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
            spent = f"the charge of {shown(receipt.entry.body['cost'])} on {account.dataset!r} stands"
            error.args = (f"{error}. This was found by reading the data, so {spent}; {shown(receipt.left)} is left",)
        raise


def raise_limit(account: Account, why: str, who: str | None = None) -> Standing:
    """Another limit for a dataset: an act of its own, with a reason, that stays in the chain.

    Below what was spent no limit can be set.
    """
    if not isinstance(why, str) or not why.strip():
        raise ValueError("why must say why the limit changes; the reason is kept in the ledger")
    if account.limit is None:
        raise TypeError("state the new limit, as in Account(ledger, dataset, limit=2)")
    limit = account.limit * UNIT // 1
    present(account.ledger)
    with writing(account.ledger, "; the limit is as it was") as (connection, chain):
        standing = chain.datasets.get(account.dataset)
        if standing is None:
            raise LedgerError(_no_dataset(account.dataset, chain))
        if limit < standing.spent:
            raise LedgerError(f"{shown(standing.spent)} is spent already; a limit cannot be below it")
        body = {"dataset": account.dataset, "limit": limit, "before": standing.limit, "why": printable(why)}
        append(connection, chain, "limit", body, who)
        return chain.datasets[account.dataset]


def account(place: Any) -> Account:
    """The account that a user names: an `Account`, or the file of a ledger that has one dataset."""
    if isinstance(place, Account):
        return place
    if not isinstance(place, str | Path):
        raise TypeError(f"ledger must be a file or an Account, got {_check.shown(place)}")
    found = standings(read(place)) if Path(place).exists() else []
    if len(found) != 1:
        names = ", ".join(repr(one.dataset) for one in found) or "none"
        raise LedgerError(
            f"the ledger {str(place)!r} has not one dataset ({names}); name it, and for a new one its limit, with "
            "inbounds.privacy.ledger.Account(ledger, dataset, limit)"
        )
    return Account(Path(place), found[0].dataset)


def standings(entries: Sequence[Entry]) -> list[Standing]:
    """How each dataset stands, from the entries alone."""
    chain = Chain()
    for entry in entries:
        chain.add(entry)
    return chain.standings


def read(path: Any) -> list[Entry]:
    """All entries, verified."""
    with reading(present(path)) as (_, chain):
        return chain.entries


def results(path: Any) -> dict[int, str]:
    """Stored results by the number of their charge; refuses one that is not what was stored."""
    with reading(present(path)) as (connection, chain):
        return read_results(connection, chain)


def result(path: Any, charge: int, longest: int | None = None) -> str | None:
    """The stored result of a charge, None where there is none; refuses one of more than ``longest`` bytes."""
    with reading(present(path)) as (connection, chain):
        return read_result(connection, chain, charge, longest) if charge in chain.kept else None


def verify(path: Any, anchors: Sequence[tuple[int, str]] = ()) -> list[Entry]:
    """claim:ledger-verify. Check the whole ledger, and that it has come at least as far as the anchors say.

    An anchor is the number and hash of an entry, as the records of releases have them. Raises `LedgerError` at the
    first thing that is wrong: an edited, missing or inserted entry, a lost or edited result, spending beyond a limit, a
    ledger that was put back or forked.
    """
    with reading(present(path)) as (connection, chain):
        check_results(connection, chain)
    for sequence, hash_ in anchors:
        if not 0 <= sequence < len(chain.entries) or chain.entries[sequence].hash != hash_:
            raise LedgerError(
                f"entry {sequence} of the ledger is not the one that a record names: this is another ledger or another "
                "copy of it, or it was put back to an earlier state"
            )
    return chain.entries


def _first_standing(account: Account, request: Request, chain: Chain) -> Standing:
    """How a dataset stands that is new to the ledger."""
    if account.limit is None:
        new = "; a new one needs a limit, as in Account(ledger, dataset, limit)"
        raise LedgerError(_no_dataset(account.dataset, chain) + new)
    return Standing(account.dataset, account.limit * UNIT // 1, 0, request.neighbours, request.contributions, 0)


def _affordable(account: Account, request: Request, standing: Standing) -> None:
    if request.cost > standing.left:
        place, name = shlex.quote(str(account.ledger)), shlex.quote(visible(account.dataset))
        raise BudgetRefused(
            f"{account.dataset!r} has {shown(standing.left)} of its limit {shown(standing.limit)} left, and this costs "
            f"{shown(request.cost)}; nothing was spent. Ask for less, or have the limit raised, which no plan can do: "
            f"inbounds ledger raise {place} --dataset {name} --limit ... --why ..."
        )


def name_in(ledger: Path | None, dataset: object) -> str:
    """The name of a dataset as it is charged: clean, or as the ledger has it from before.

    The ledger is read for names that are not clean alone.
    """
    try:
        clean = clean_name(dataset)
    except ValueError:
        if not isinstance(dataset, str) or not _has(ledger, dataset):
            raise
        return dataset
    return clean if clean == dataset or not _has(ledger, str(dataset)) else str(dataset)


def _has(ledger: Path | None, dataset: str) -> bool:
    if ledger is None or not ledger.is_file() or not begun(ledger):
        return False
    with reading(ledger) as (_, chain):
        return dataset in chain.datasets


def similar(entries: Sequence[Entry]) -> list[str]:
    """A sentence for each dataset that looks like one before it."""
    return describe_all(one.dataset for one in standings(entries))


def _announce(account: Account, chain: Chain) -> None:
    told = describe_look_alikes(account.dataset, chain.datasets)
    if told is not None:
        warnings.warn(told, LookAlike, stacklevel=3)


def _no_dataset(name: str, chain: Chain) -> str:
    others = ", ".join(map(repr, islice(chain.datasets, _FEW))) or "none yet"
    others += f" and {len(chain.datasets) - _FEW} more" if len(chain.datasets) > _FEW else ""
    return f"the ledger has no dataset {name!r} (it has {others})"


def _one_promise(standing: Standing, request: Request) -> None:
    for name in ("neighbours", "contributions"):
        own, asked = getattr(standing, name), getattr(request, name)
        if own != asked:
            raise LedgerError(
                f"{standing.dataset!r} is charged for {name} {own}, and this is for {asked}: such epsilons do not add "
                "up to one guarantee. Ask for the same, or account for it as a dataset of its own"
            )


def _charges(chain: Chain, account: Account, request: Request) -> list[Entry]:
    """The charges of a request."""
    mine = account.dataset, request.digest
    return [one for one in chain.charges.values() if (one.body["dataset"], one.body["request"]) == mine]


def _left_after(chain: Chain, paid: Entry) -> int:
    """What was left of the limit right after a charge, whatever came later."""
    limit = spent = 0
    for entry in chain.entries[: paid.sequence + 1]:
        if entry.body.get("dataset") == paid.body["dataset"]:
            limit, spent = entry.body.get("limit", limit), spent + entry.body.get("cost", 0)
    return int(limit - spent)


def _stored(
    connection: sqlite3.Connection, chain: Chain, asked: Sequence[Entry], longest: int | None = None
) -> Receipt:
    """What the last charge of a request got that got anything."""
    for paid in reversed(asked):
        if paid.sequence in chain.kept:
            return Receipt(paid, _left_after(chain, paid), read_result(connection, chain, paid.sequence, longest))
    last = asked[-1]
    failed = last.sequence in chain.failed
    why = "and failed" if failed else "but has no result: it is still at work elsewhere, or was broken off"
    raise Unfinished(
        f"this was charged on {last.body['when']} (entry {last.sequence}) {why}. The charge stands, and nothing is "
        "drawn twice for one charge. A new charge is made by a plan, with --new or new=True; by a function, "
        "with another epsilon"
    )
