"""One entry of a ledger: the fields of each kind, its hash, and what it is found by.

An entry is read strictly: it has exactly the fields of its kind, and its numbers are whole. Sizes are checked before
anything is computed, so that no entry can fill the memory.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from inbounds.errors import LedgerError
from inbounds.ledger.amounts import Plain
from inbounds.privacy.guarantee import Guarantee, parse_guarantee

FORMAT = "inbounds-ledger/1"
START = "0" * 64
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
        ``"ledger"``, ``"dataset"``, ``"limit"``, ``"charge"``, ``"attempt"``, ``"drawing"``, ``"drawn"``, ``"result"``,
        ``"failure"``, ``"checkpoint"`` or ``"accept"``.
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
        return cls(sequence, kind, body, before, _hash(sequence, kind, write_text(body), before))

    @property
    def text(self) -> str:
        """The body as it is stored."""
        return write_text(self.body)

    @property
    def row(self) -> Row:
        """The entry as a store keeps it."""
        return self.sequence, self.kind, self.text, self.previous, self.hash

    @property
    def key(self) -> str | None:
        """The key under which a store files the entry, so that it is found without the others; None for no key."""
        body = self.body
        if self.kind == "checkpoint":
            return CHECKPOINTS
        if self.kind == "charge":
            return key_of_request(body["dataset"], body["request"])
        if "limit" in body:
            return key_of_limit(body["dataset"], body["limit"])
        return key_of_outcome(body["charge"]) if "charge" in body else None

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
    # The steps of a charge; see `inbounds.ledger.draws`.
    "attempt": _ACT | {"charge": _NUMBER},
    "drawing": _ACT | {"charge": _NUMBER},
    "drawn": _ACT | {"charge": _NUMBER, "digest": _TEXT},
    "result": _ACT | {"charge": _NUMBER, "digest": _TEXT},
    "failure": _ACT | {"charge": _NUMBER, "why": _TEXT},
    # The state of all datasets, and the charges without an outcome, so that nothing before it needs to be read.
    "checkpoint": _ACT | {"datasets": _LIST, "open": _LIST},
    # The owner's word for a ledger whose note was missing.
    "accept": _ACT | {"why": _TEXT},
}


def key_of_request(dataset: str, request: str) -> str:
    """The key of the charges of a request."""
    return _digest(["request", dataset, request])


def key_of_limit(dataset: str, limit: Plain) -> str:
    """The key of the entries that gave a dataset this limit."""
    return _digest(["limit", dataset, limit])


def key_of_outcome(charge: int) -> str:
    """The key of the entries about a charge: its steps, its result or its failure."""
    return _digest(["outcome", charge])


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


CHECKPOINTS = _digest(["checkpoint"])


def write_text(body: Mapping[str, Any]) -> str:
    """The fields of an entry as a store keeps them."""
    return json.dumps(body, sort_keys=True, ensure_ascii=False)


def _hash(sequence: int, kind: str, text: str, previous: str) -> str:
    return hashlib.sha256(json.dumps([sequence, kind, text, previous]).encode()).hexdigest()


def read_row(row: Row) -> Entry:
    """Read an entry. Raises a `ValueError` or `TypeError` unless its hash and the form of its body are right."""
    sequence, kind, text, previous, hash_ = row
    good = type(sequence) is int and len(kind) + len(text) <= LONGEST
    if not good or hash_ != _hash(sequence, kind, text, previous):
        raise ValueError("it does not match its hash")
    return Entry(sequence, kind, read_body(text), previous, hash_)


def read_body(text: str) -> dict[str, Any]:
    """Read the body of an entry. Raises a `ValueError` if the text is not exactly as inbounds writes it.

    There is only one way to write a body, and its numbers are whole.
    """
    if len(text) > LONGEST:
        raise ValueError(f"it has more than {LONGEST:,} characters")
    try:
        body = json.loads(text, parse_int=_parse_whole, parse_float=_refuse, parse_constant=_refuse)
        same = isinstance(body, dict) and write_text(body) == text
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
