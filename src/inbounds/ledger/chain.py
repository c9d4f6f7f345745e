"""The entries of a ledger, a chain in which each has the hash of the one before, and the state that follows from them.

A chain is read strictly: every entry has exactly the fields of its kind, its numbers are whole, and it can follow those
before it. So even an entry with a right hash is refused if inbounds could not have written it. Sizes are checked before
anything is computed, so that no entry can fill the memory.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias

from inbounds._text import visible
from inbounds.errors import LedgerError as LedgerError
from inbounds.ledger.amounts import read_amount, spell_amount, write_amount
from inbounds.privacy.guarantee import NEIGHBOURS, Guarantee, parse_guarantee

FORMAT = "inbounds-ledger/1"
START = "0" * 64
# How often the table may be counted for one charge.
MOST_ATTEMPTS = 3
# The most characters of an entry: several times more than a thousand releases with the longest names need.
LONGEST = 2**21
# Any limit that can be given as an argument has fewer digits.
_MOST_DIGITS = 1500
# An entry in a store: number, kind, body, hash of the one before, own hash. When it is read, it may be anything.
Row: TypeAlias = tuple[Any, Any, Any, Any, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the chain.

    Attributes
    ----------
    sequence
        The number of the entry, from 0.
    kind
        ``"ledger"``, ``"dataset"``, ``"limit"``, ``"charge"``, ``"attempt"``, ``"drawing"``, ``"drawn"``, ``"result"`` or
        ``"failure"``.
    body
        The fields of the entry.
    previous, hash
        The hash of the entry before, and its own.
    """

    sequence: int
    kind: str
    body: dict[str, Any]
    previous: str
    hash: str

    @classmethod
    def after(cls, previous: "Entry | None", kind: str, body: dict[str, Any]) -> "Entry":
        """The entry that follows another, or the first."""
        sequence, before = (0, START) if previous is None else (previous.sequence + 1, previous.hash)
        return cls(sequence, kind, body, before, _hash(sequence, kind, _text(body), before))

    @property
    def text(self) -> str:
        """The body as it is stored."""
        return _text(self.body)

    @property
    def row(self) -> Row:
        """The entry as a store keeps it."""
        return self.sequence, self.kind, self.text, self.previous, self.hash

    @property
    def guarantee(self) -> Guarantee:
        """The exact guarantee of a charge. Raises a `ValueError` if the entry has none."""
        return parse_guarantee({name: text for name, text in self.body.items() if name not in _CHARGE})

    @property
    def is_well_formed(self) -> bool:
        """Whether it has exactly the fields of its kind, with the right types."""
        types = _SAYS.get(self.kind)
        if types is None or not set(types) <= set(self.body):
            return False
        if not all(type(self.body[name]) in kinds for name, kinds in types.items()):
            return False
        if self.kind != "charge":
            # Accounts of persons name their column.
            has_person = self.kind == "dataset" and type(self.body.get("person")) is str
            return set(self.body) == {*types, *(("person",) if has_person else ())}
        try:
            _ = self.guarantee
        except ValueError:
            return False
        return all(type(text) is str for text in self.body["what"])

    def to_dict(self) -> dict[str, Any]:
        """The entry as plain values, for a record."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Entry":
        """Read an entry that `to_dict` wrote. Raises a `LedgerError` if it is malformed or its hash is wrong."""
        try:
            entry = cls(**plain)
            expected = _hash(entry.sequence, entry.kind, entry.text, entry.previous)
            good = type(entry.sequence) is int and entry.sequence >= 0 and entry.is_well_formed
        except (TypeError, ValueError, RecursionError):
            good = False
        if not good:
            raise LedgerError("the entry of the ledger is malformed")
        if expected != entry.hash:
            raise LedgerError("the entry of the ledger does not match its hash")
        return entry


_Types: TypeAlias = tuple[type, ...]
_TEXT: _Types = (str,)
_NUMBER: _Types = (int,)
_LIST: _Types = (list,)
_AMOUNT: _Types = (int, dict)
_ACT = {"when": _TEXT, "who": _TEXT}
# The fields of a charge besides its guarantee.
_CHARGE = _ACT | {"dataset": _TEXT, "request": _TEXT, "cost": _AMOUNT, "what": _LIST}
# The fields of each kind of entry, and their types.
_SAYS: dict[str, dict[str, _Types]] = {
    "ledger": _ACT | {"format": _TEXT, "id": _TEXT},
    "dataset": _ACT | {"dataset": _TEXT, "limit": _AMOUNT, "neighbours": _TEXT, "contributions": _NUMBER},
    "limit": _ACT | {"dataset": _TEXT, "limit": _AMOUNT, "before": _AMOUNT, "why": _TEXT},
    "charge": _CHARGE,
    "attempt": _ACT | {"charge": _NUMBER},
    "drawing": _ACT | {"charge": _NUMBER},
    "drawn": _ACT | {"charge": _NUMBER, "digest": _TEXT},
    "result": _ACT | {"charge": _NUMBER, "digest": _TEXT},
    "failure": _ACT | {"charge": _NUMBER, "why": _TEXT},
}


def _text(body: Mapping[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, ensure_ascii=False)


def _hash(sequence: int, kind: str, text: str, previous: str) -> str:
    return hashlib.sha256(json.dumps([sequence, kind, text, previous]).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a dataset: its limit and what was spent.

    Attributes
    ----------
    dataset
        The name of the dataset.
    limit, spent
        The limit, and what was spent; None is nothing.
    neighbours, contributions
        The neighbour relation and the unit of privacy of all charges.
    charges
        The number of charges.
    person
        The column of persons, if they are protected by a rule for their rows; None for rows.
    """

    dataset: str
    limit: Guarantee
    spent: Guarantee | None
    neighbours: str
    contributions: int
    charges: int
    person: str | None = None

    @property
    def left(self) -> Guarantee | None:
        """What may still be spent; None is nothing."""
        return self.limit if self.spent is None else self.limit.minus(self.spent)

    def after(self, cost: Guarantee) -> "Standing":
        """The state after a charge. Raises a `ValueError` if it exceeds the limit or is of another kind."""
        same = cost.kind == self.limit.kind
        total = self.spent.plus(cost) if same and self.spent is not None else cost
        if not same or not self.limit.covers(total):
            raise ValueError("a charge is beyond the limit, or of another kind")
        return replace(self, spent=total, charges=self.charges + 1)

    def with_limit(self, limit: Guarantee) -> "Standing":
        """The state with another limit. Raises a `ValueError` if it is below what was spent or of another kind."""
        if limit.kind != self.limit.kind or (self.spent is not None and not limit.covers(self.spent)):
            raise ValueError("a limit is below what was spent, or of another kind")
        return replace(self, limit=limit)

    def opening(self) -> dict[str, Any]:
        """The fields of the entry that opens the dataset."""
        names = "dataset", "limit", "neighbours", "contributions"
        values = {name: self.to_dict()[name] for name in names}
        return values if self.person is None else values | {"person": self.person}

    def to_dict(self) -> dict[str, Any]:
        """The state as plain values. Amounts are written as in entries; pure ε is in billionths."""
        amounts = {"limit": self.limit, "spent": self.spent, "left": self.left}
        return {
            "dataset": self.dataset,
            **{name: write_amount(amount) for name, amount in amounts.items()},
            "neighbours": self.neighbours,
            "contributions": self.contributions,
            "charges": self.charges,
            "person": self.person,
        }

    def __str__(self) -> str:
        spent, limit, left = map(spell_amount, (self.spent, self.limit, self.left))
        times = "1 charge" if self.charges == 1 else f"{self.charges} charges"
        who = "" if self.person is None else f"; persons by {visible(self.person)}"
        return f"{visible(self.dataset)}: {spent} of {limit} spent, {left} left ({times}; {self.neighbours}{who})"


@dataclass(slots=True)
class Chain:
    """The entries of a ledger, with the state that follows from them: datasets, charges and results.

    ``stood`` has the state of its dataset right after each charge.
    """

    entries: list[Entry] = field(default_factory=list)
    datasets: dict[str, Standing] = field(default_factory=dict)
    charges: dict[int, Entry] = field(default_factory=dict)
    stood: dict[int, Standing] = field(default_factory=dict)
    kept: dict[int, Entry] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)
    attempts: dict[int, int] = field(default_factory=dict)
    drawing: set[int] = field(default_factory=set)
    drawn: dict[int, Entry] = field(default_factory=dict)

    @property
    def last(self) -> Entry | None:
        """The last entry; None if there is none."""
        return self.entries[-1] if self.entries else None

    @property
    def standings(self) -> list[Standing]:
        """The state of each dataset."""
        return list(self.datasets.values())

    def add(self, entry: Entry) -> None:
        """Add an entry. Raises a `LedgerError` if it cannot follow those before it."""
        try:
            standing = self._follow(entry)
        except ValueError:
            raise LedgerError(f"the ledger was changed: entry {len(self.entries)} is impossible") from None
        if standing is not None:
            self.datasets[standing.dataset] = standing
        if entry.kind == "charge" and standing is not None:
            self.charges[entry.sequence], self.stood[entry.sequence] = entry, standing
        elif entry.kind == "result":
            self.kept[entry.body["charge"]] = entry
        elif entry.kind == "failure":
            self.failed.add(entry.body["charge"])
        elif entry.kind == "attempt":
            self.attempts[entry.body["charge"]] = self.attempts.get(entry.body["charge"], 0) + 1
        elif entry.kind == "drawing":
            self.drawing.add(entry.body["charge"])
        elif entry.kind == "drawn":
            self.drawn[entry.body["charge"]] = entry
        self.entries.append(entry)

    def _follow(self, entry: Entry) -> Standing | None:
        """The state of an entry's dataset after it; None if it has none. Raises a `ValueError` if it cannot follow."""
        body, first = entry.body, not self.entries
        _require(entry.is_well_formed and entry.sequence == len(self.entries) and (entry.kind == "ledger") == first)
        if first:
            _require(body["format"] == FORMAT)
            return None
        if "charge" in body:
            _require(body["charge"] in self.charges and self._can_follow(entry.kind, body["charge"]))
            return None
        standing = self.datasets.get(body["dataset"])
        if entry.kind == "dataset":
            _require(standing is None and body["neighbours"] in NEIGHBOURS and body["contributions"] >= 1)
            limit, promise = read_amount(body["limit"]), (body["neighbours"], body["contributions"])
            return Standing(body["dataset"], limit, None, *promise, 0, person=body.get("person"))
        if standing is None:
            raise ValueError("there is no such dataset")
        if entry.kind == "limit":
            _require(body["before"] == write_amount(standing.limit) and bool(body["why"].strip()))
            return standing.with_limit(read_amount(body["limit"]))
        cost = read_amount(body["cost"])
        _require(cost == entry.guarantee.round_up())
        return standing.after(cost)

    def _can_follow(self, kind: str, charge: int) -> bool:
        """Whether an entry about a charge can follow the others about it.

        A charge has at most one draw. One that is drawn step by step has a result only when its draw is stored.
        """
        attempts, drawing, drawn = self.attempts.get(charge, 0), charge in self.drawing, charge in self.drawn
        ended = charge in self.kept or charge in self.failed
        follows = {
            "attempt": not ended and not drawing and attempts < MOST_ATTEMPTS,
            "drawing": not ended and not drawing and attempts > 0,
            "drawn": not ended and drawing and not drawn,
            "result": charge not in self.kept and (drawn or not attempts),
            "failure": not ended and not drawn,
        }
        return follows[kind]


def _require(good: bool) -> None:
    if not good:
        raise ValueError("an entry cannot follow those before it")


def parse_rows(rows: Iterable[Row]) -> Chain:
    """Read a chain from the rows of a store. Raises a `LedgerError` at the first row that is wrong."""
    chain, before = Chain(), START
    for sequence, kind, text, previous, hash_ in rows:
        broken = LedgerError(f"the ledger was changed: entry {len(chain.entries)} does not follow from those before it")
        try:
            good = sequence == len(chain.entries) and previous == before and len(kind) + len(text) <= LONGEST
            if not good or hash_ != _hash(sequence, kind, text, previous):
                raise broken
            entry = Entry(sequence, kind, read_body(text), previous, hash_)
        except (ValueError, TypeError):
            raise broken from None
        before = hash_
        chain.add(entry)
    if not chain.entries:
        raise LedgerError(f"the file is not a ledger of the format {FORMAT}")
    return chain


def read_body(text: str) -> dict[str, Any]:
    """Read the body of an entry. Raises a `ValueError` if the text is not exactly as inbounds writes it.

    There is only one way to write a body, and its numbers are whole.
    """
    if len(text) > LONGEST:
        raise ValueError(f"it has more than {LONGEST:,} characters")
    try:
        body = json.loads(text, parse_int=_parse_whole, parse_float=_refuse, parse_constant=_refuse)
        same = isinstance(body, dict) and _text(body) == text
    except RecursionError:
        same = False
    if not same:
        raise ValueError("it is not in the form that inbounds writes")
    return body  # type: ignore[no-any-return]


def _parse_whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a number has more than {_MOST_DIGITS:,} digits")
    return int(text)


def _refuse(text: str) -> None:
    raise ValueError(text)
