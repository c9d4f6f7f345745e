"""What has been spent: an append-only account in one SQLite file, which cannot be overspent.

- Amounts are integers, billionths of ε: costs are rounded up, limits down.
- A charge is committed before any data are read, and a result before anybody sees it. A crash in between leaves the
  charge standing.
- The same request gets its stored result, never a second draw; a new draw is a new charge.
- The hash of every entry covers the one before it, so that an entry that was edited, removed or slipped in is found.
  How far the chain had come is also noted in a file beside the ledger and in every record that was released: a ledger
  that was put back to an earlier state is found by them.

Refusals depend on public numbers alone.
"""

import getpass
import hashlib
import json
import sqlite3
import uuid
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from inbounds import _check
from inbounds.privacy.guarantee import NEIGHBOURS

FORMAT = "inbounds-ledger/1"
# One ε.
UNIT = 10**9
# Seconds to wait while others write.
_PATIENCE = 60.0
_START = "0" * 64

_TABLES = """
CREATE TABLE entries (
    sequence INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE results (charge INTEGER PRIMARY KEY REFERENCES entries, content BLOB NOT NULL) STRICT;
CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are only added'); END;
CREATE TRIGGER entries_remain BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are only added'); END;
CREATE TRIGGER results_stay BEFORE UPDATE ON results BEGIN SELECT RAISE(ABORT, 'results are only added'); END;
CREATE TRIGGER results_remain BEFORE DELETE ON results BEGIN SELECT RAISE(ABORT, 'results are only added'); END;
"""


class LedgerError(ValueError):
    """A ledger that cannot be used: not one, not writable, or not what it was."""


class BudgetRefused(LedgerError):
    """A charge beyond the limit of its dataset. Nothing was spent."""


class Unfinished(LedgerError):
    """A request that was charged and has no result."""


@dataclass(frozen=True, slots=True)
class Account:
    """Where a dataset's spending is written down. ``limit`` is for a dataset that the ledger has not heard of."""

    ledger: Path
    dataset: str
    limit: Fraction | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "ledger", Path(self.ledger))
        if not isinstance(self.dataset, str) or not self.dataset.strip():
            raise ValueError("dataset must be a name: the ledger keeps one account for each")
        if self.limit is not None:
            exact = _check.fraction(self.limit, "limit")
            if not exact > 0:
                raise ValueError(f"limit must be > 0, got {_check.shown(self.limit)}")
            object.__setattr__(self, "limit", exact)


@dataclass(frozen=True, slots=True)
class Request:
    """What is charged: ε for a whole set of releases, under one promise. ``digest`` says what was asked for."""

    digest: str
    epsilon: Fraction
    neighbours: str
    contributions: int
    what: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check.choice(self.neighbours, "neighbours", NEIGHBOURS)

    @property
    def cost(self) -> int:
        """In billionths of ε, rounded up."""
        return -(-self.epsilon * UNIT // 1)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the chain."""

    sequence: int
    kind: str
    body: dict[str, Any]
    previous: str
    hash: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a record."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Entry":
        """The entry that `to_dict` gave; refuses one whose hash is not its own."""
        try:
            entry = cls(**plain)
            own = _hash(entry.sequence, entry.kind, _text(entry.body), entry.previous)
        except (TypeError, ValueError):
            raise LedgerError("the entry of the ledger is malformed") from None
        if own != entry.hash:
            raise LedgerError("the entry of the ledger does not have the hash it names")
        return entry


@dataclass(frozen=True, slots=True)
class Receipt:
    """A charge that was made: its entry in the chain, and what was left of the limit after it.

    ``stored`` is the result, where the request had been charged before.
    """

    entry: Entry
    left: int
    stored: str | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """How a dataset stands: limit and spending in billionths of ε, under one promise."""

    dataset: str
    limit: int
    spent: int
    neighbours: str
    contributions: int
    charges: int

    @property
    def left(self) -> int:
        return self.limit - self.spent

    def __str__(self) -> str:
        share = f"{shown(self.spent)} of {shown(self.limit)} spent, {shown(self.left)} left"
        return f"{self.dataset}: {share} ({self.charges} charges; {self.neighbours})"


def shown(amount: int) -> str:
    """Billionths as a decimal number."""
    whole, rest = divmod(abs(amount), UNIT)
    digits = f"{rest:09d}".rstrip("0")
    return f"{'-' if amount < 0 else ''}{whole}{'.' if digits else ''}{digits}"


def charge(account: Account, request: Request, *, new: bool = False, who: str | None = None) -> Receipt:
    """claim:ledger. Charge a request before any data are read; the stored result where it was charged before.

    ``new`` charges a request again, for a new draw. The ledger is made where there is none.

    Raises `BudgetRefused` beyond the limit, `Unfinished` for a request that was charged but has no result, and
    `LedgerError` for a ledger that cannot be used; in all these cases nothing is spent.
    """
    if not account.ledger.exists():
        # No file is made for a charge that will be refused.
        _affordable(account, request, _first_standing(account, request, ()))
    with _writing(account.ledger) as (connection, chain):
        standing = _known(standings(chain), account.dataset)
        if standing is not None:
            _one_promise(standing, request)
        asked = _charges(chain, account, request)
        if asked and not new:
            return _stored(connection, chain, asked, standings(chain))
        if standing is None:
            standing = _first_standing(account, request, standings(chain))
            body = {name: getattr(standing, name) for name in ("dataset", "limit", "neighbours", "contributions")}
            _append(connection, chain, "dataset", body, who)
        _affordable(account, request, standing)
        body = {
            "dataset": account.dataset,
            "request": request.digest,
            "cost": request.cost,
            "epsilon": str(request.epsilon),
            "what": list(request.what),
        }
        made = _append(connection, chain, "charge", body, who)
        left = standing.left - request.cost
    return Receipt(made, left)


def stored(account: Account, request: Request) -> Receipt | None:
    """The result of a request that was charged before, None where it was not. Nothing is written."""
    if not account.ledger.exists():
        return None
    with _connected(account.ledger, read_only=True) as connection:
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return None
        chain = _chain(connection)
        asked = _charges(chain, account, request)
        return _stored(connection, chain, asked, standings(chain)) if asked else None


def keep(account: Account, receipt: Receipt, result: str) -> Entry:
    """Store the result of a charge, before anybody sees it."""
    packed = zlib.compress(result.encode(), 6)
    with _writing(account.ledger) as (connection, chain):
        paid = next((entry for entry in chain if entry.hash == receipt.entry.hash), None)
        if paid is None:
            raise LedgerError("the ledger no longer has the charge of this release; it was changed meanwhile")
        if any(entry.kind == "result" and entry.body["charge"] == paid.sequence for entry in chain):
            raise LedgerError("this charge has a result already")
        connection.execute("INSERT INTO results VALUES (?, ?)", (paid.sequence, packed))
        digest = hashlib.sha256(result.encode()).hexdigest()
        return _append(connection, chain, "result", {"charge": paid.sequence, "digest": digest}, None)


def fail(account: Account, receipt: Receipt, why: str) -> None:
    """Note that a charge came to nothing; it stands all the same."""
    with _writing(account.ledger) as (connection, chain):
        _append(connection, chain, "failure", {"charge": receipt.entry.sequence, "why": why}, None)


@contextmanager
def standing_charge(account: Account, receipt: Receipt) -> Iterator[None]:
    """What is done with a charge: if it fails, the ledger says so, and the charge stands."""
    try:
        yield
    except BaseException as error:
        # The first error is the one to be seen.
        with suppress(LedgerError):
            fail(account, receipt, type(error).__name__)
        raise


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


def raise_limit(account: Account, why: str, who: str | None = None) -> Standing:
    """Another limit for a dataset: an act of its own, with a reason, that stays in the chain.

    A dataset that the ledger has not heard of gets it with the first charge. Below what was spent no limit can be set.
    """
    if not isinstance(why, str) or not why.strip():
        raise ValueError("why must say why the limit changes; the reason is kept in the ledger")
    if account.limit is None:
        raise TypeError("state the new limit, as in Account(ledger, dataset, limit=2)")
    limit = account.limit * UNIT // 1
    _present(account.ledger)
    with _writing(account.ledger) as (connection, chain):
        standing = _known(standings(chain), account.dataset)
        if standing is None:
            raise LedgerError(_no_dataset(account.dataset, standings(chain)))
        if limit < standing.spent:
            raise LedgerError(f"{shown(standing.spent)} is spent already; a limit cannot be below it")
        body = {"dataset": account.dataset, "limit": limit, "before": standing.limit, "why": why}
        _append(connection, chain, "limit", body, who)
        return next(one for one in standings(chain) if one.dataset == account.dataset)


def standings(chain: Sequence[Entry]) -> list[Standing]:
    """How each dataset stands, from the entries alone."""
    found: dict[str, dict[str, Any]] = {}
    for entry in chain:
        body = entry.body
        if entry.kind == "dataset":
            promise = {name: body[name] for name in ("dataset", "limit", "neighbours", "contributions")}
            found[body["dataset"]] = promise | {"spent": 0, "charges": 0}
        elif entry.kind == "limit":
            found[body["dataset"]]["limit"] = body["limit"]
        elif entry.kind == "charge":
            found[body["dataset"]]["spent"] += body["cost"]
            found[body["dataset"]]["charges"] += 1
    return [Standing(**one) for one in found.values()]


def read(path: Any) -> list[Entry]:
    """All entries, verified."""
    path = _present(path)
    with _connected(path, read_only=True) as connection:
        return _chain(connection)


def results(path: Any) -> dict[int, str]:
    """Stored results by the number of their charge; refuses one that is not what was stored."""
    path = _present(path)
    with _connected(path, read_only=True) as connection:
        chain = _chain(connection)
        numbers = [number for (number,) in connection.execute("SELECT charge FROM results ORDER BY charge")]
        noted = [entry.body["charge"] for entry in chain if entry.kind == "result"]
        if sorted(noted) != numbers:
            raise LedgerError("the ledger was changed: its results are not those that its entries name")
        return {number: _result(connection, chain, number) for number in numbers}


def verify(path: Any, anchors: Sequence[tuple[int, str]] = ()) -> list[Entry]:
    """claim:ledger-verify. Check the whole ledger, and that it has come at least as far as the anchors say.

    An anchor is the number and hash of an entry, as the records of releases have them. Raises `LedgerError` at the
    first thing that is wrong: an edited, missing or inserted entry, a lost or edited result, spending beyond a limit, a
    ledger that was put back or forked.
    """
    path = _present(path)
    chain = read(path)
    results(path)
    _not_put_back(path, chain)
    for sequence, hash_ in anchors:
        if sequence >= len(chain) or chain[sequence].hash != hash_:
            raise LedgerError(
                f"entry {sequence} of the ledger is not the one that a record names: the ledger was put back to an "
                "earlier state, or is another copy of it"
            )
    return chain


# The chain


def _chain(connection: sqlite3.Connection) -> list[Entry]:
    """All entries; refuses a chain that does not hold together, and spending beyond a limit."""
    chain: list[Entry] = []
    before, broken = _START, "the ledger was changed: entry {} does not follow from those before it"
    for sequence, kind, text, previous, hash_ in connection.execute("SELECT * FROM entries ORDER BY sequence"):
        if sequence != len(chain) or previous != before or hash_ != _hash(sequence, kind, text, previous):
            raise LedgerError(broken.format(len(chain)))
        before = hash_
        try:
            chain.append(Entry(sequence, kind, json.loads(text), previous, hash_))
        except ValueError:
            raise LedgerError(broken.format(sequence)) from None
    if not chain or chain[0].kind != "ledger" or chain[0].body.get("format") != FORMAT:
        raise LedgerError(f"the file is no ledger of the format {FORMAT}")
    try:
        over = [one for one in standings(chain) if one.spent > one.limit]
    except (KeyError, TypeError):
        raise LedgerError("the ledger was changed: an entry lacks what it must have") from None
    if over:
        raise LedgerError(f"{over[0].dataset!r} is charged beyond its limit: the ledger was changed")
    return chain


def _text(body: Mapping[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, ensure_ascii=False)


def _hash(sequence: int, kind: str, text: str, previous: str) -> str:
    return hashlib.sha256(json.dumps([sequence, kind, text, previous]).encode()).hexdigest()


def _append(
    connection: sqlite3.Connection, chain: list[Entry], kind: str, body: dict[str, Any], who: str | None
) -> Entry:
    body = body | {"when": datetime.now(UTC).isoformat(timespec="seconds"), "who": who or _user()}
    previous = chain[-1].hash if chain else _START
    text = _text(body)
    entry = Entry(len(chain), kind, body, previous, _hash(len(chain), kind, text, previous))
    connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", (entry.sequence, kind, text, previous, entry.hash))
    chain.append(entry)
    return entry


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def _known(found: Sequence[Standing], dataset: str) -> Standing | None:
    return next((one for one in found if one.dataset == dataset), None)


def _first_standing(account: Account, request: Request, others: Sequence[Standing]) -> Standing:
    """How a dataset stands that is new to the ledger."""
    if account.limit is None:
        raise LedgerError(_no_dataset(account.dataset, others) + "; a new one needs a limit")
    return Standing(account.dataset, account.limit * UNIT // 1, 0, request.neighbours, request.contributions, 0)


def _affordable(account: Account, request: Request, standing: Standing) -> None:
    if request.cost > standing.left:
        raise BudgetRefused(
            f"{account.dataset!r} has {shown(standing.left)} of its limit {shown(standing.limit)} left, and this costs "
            f"{shown(request.cost)}; nothing was spent. Ask for less, or have the limit raised: inbounds ledger raise"
        )


def _no_dataset(name: str, found: Sequence[Standing]) -> str:
    others = ", ".join(repr(one.dataset) for one in found) or "none yet"
    return f"the ledger has no dataset {name!r} (it has {others})"


def _one_promise(standing: Standing, request: Request) -> None:
    for name in ("neighbours", "contributions"):
        own, asked = getattr(standing, name), getattr(request, name)
        if own != asked:
            raise LedgerError(
                f"{standing.dataset!r} is charged for {name} {own}, and this is for {asked}: such epsilons do not add "
                "up to one guarantee. Ask for the same, or account for it as a dataset of its own"
            )


def _charges(chain: Sequence[Entry], account: Account, request: Request) -> list[Entry]:
    """The charges of a request."""
    mine = account.dataset, request.digest
    charges = [entry for entry in chain if entry.kind == "charge"]
    return [entry for entry in charges if (entry.body["dataset"], entry.body["request"]) == mine]


def _stored(
    connection: sqlite3.Connection, chain: Sequence[Entry], asked: Sequence[Entry], found: Sequence[Standing]
) -> Receipt:
    """What the last charge of a request got."""
    last = asked[-1]
    if any(entry.kind == "result" and entry.body["charge"] == last.sequence for entry in chain):
        left = next(one.left for one in found if one.dataset == last.body["dataset"])
        return Receipt(last, left, _result(connection, chain, last.sequence))
    failed = any(entry.kind == "failure" and entry.body["charge"] == last.sequence for entry in chain)
    why = "and failed" if failed else "but has no result: it is still at work elsewhere, or was broken off"
    raise Unfinished(
        f"this was charged on {last.body['when']} (entry {last.sequence}) {why}. The charge stands, and nothing is "
        "drawn twice for one charge; a new one is made with --new (new=True)"
    )


def _result(connection: sqlite3.Connection, chain: Sequence[Entry], number: int) -> str:
    noted = next(entry for entry in chain if entry.kind == "result" and entry.body["charge"] == number)
    found = connection.execute("SELECT content FROM results WHERE charge = ?", (number,)).fetchone()
    try:
        text = zlib.decompress(found[0]).decode()
        if hashlib.sha256(text.encode()).hexdigest() == noted.body["digest"]:
            return text
    except (TypeError, ValueError, zlib.error):
        pass
    raise LedgerError(f"the ledger was changed: the result of entry {number} is not what was stored")


# The file


def _present(path: Any) -> Path:
    where = Path(path)
    if not where.is_file():
        raise LedgerError(f"there is no ledger {str(where)!r}")
    return where


@contextmanager
def _connected(path: Path, *, read_only: bool = False) -> Iterator[sqlite3.Connection]:
    """A connection; whatever SQLite says becomes one clear error."""
    try:
        mode = "ro" if read_only else "rwc"
        address = f"{path.absolute().as_uri()}?mode={mode}"
        with closing(sqlite3.connect(address, timeout=_PATIENCE, isolation_level=None, uri=True)) as connection:
            # Committed is what is on the disk, the name of the journal included.
            connection.execute("PRAGMA synchronous = EXTRA")
            yield connection
    except sqlite3.DatabaseError as error:
        raise LedgerError(f"the ledger {str(path)!r} cannot be used ({error}); nothing was spent") from None


@contextmanager
def _writing(path: Path) -> Iterator[tuple[sqlite3.Connection, list[Entry]]]:
    """One transaction that nobody else writes in; the ledger is made where there is none."""
    if not path.parent.is_dir():
        raise LedgerError(f"there is no folder {str(path.parent)!r} for the ledger")
    with _connected(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            chain = _opened(connection, path)
            before = len(chain)
            yield connection, chain
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        if len(chain) > before:
            _note_head(path, chain[-1])


def _opened(connection: sqlite3.Connection, path: Path) -> list[Entry]:
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        if _head_file(path).exists():
            raise LedgerError(_put_back(path))
        for statement in _TABLES.strip().split(";\n"):
            connection.execute(statement)
        chain: list[Entry] = []
        _append(connection, chain, "ledger", {"format": FORMAT, "id": uuid.uuid4().hex}, None)
        return chain
    chain = _chain(connection)
    _not_put_back(path, chain)
    return chain


def _head_file(path: Path) -> Path:
    return Path(f"{path}.head")


def _note_head(path: Path, entry: Entry) -> None:
    """How far the chain has come, beside the ledger. An older note than the chain is no harm; a newer one tells."""
    head = _head_file(path)
    fresh = head.with_name(f"{head.name}.{uuid.uuid4().hex}")
    try:
        fresh.write_text(f"{entry.sequence} {entry.hash}\n", "ascii")
        fresh.replace(head)
    except OSError:
        fresh.unlink(missing_ok=True)


def _not_put_back(path: Path, chain: Sequence[Entry]) -> None:
    head = _head_file(path)
    if not head.exists():
        return
    try:
        sequence, hash_ = head.read_text("ascii").split()
        number = int(sequence)
    except (ValueError, OSError):
        raise LedgerError(f"{str(head)!r} beside the ledger is not what was written there") from None
    if number >= len(chain) or chain[number].hash != hash_:
        raise LedgerError(_put_back(path))


def _put_back(path: Path) -> str:
    return (
        f"the ledger is older than {str(_head_file(path))!r} beside it says: it was put back, and charges are missing. "
        "Restore the newest copy; nothing was spent"
    )
