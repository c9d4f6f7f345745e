"""The entries of a ledger: a chain in which each has the hash of the one before, and what follows from them.

A chain is read strictly: every entry says what its kind says and nothing else, its numbers are whole, and it can follow
those before it. So whoever appends an entry with a true hash still cannot make it say what no ledger of ours would say.
Sizes are checked before anything is computed, so that no entry can fill the memory.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any

from inbounds._text import visible
from inbounds.privacy.guarantee import NEIGHBOURS

FORMAT = "inbounds-ledger/1"
# One ε.
UNIT = 10**9
START = "0" * 64
# Characters of an entry: a thousand releases with the longest names fit several times.
LONGEST = 2**21
# A limit as large as any argument can state has fewer digits.
_MOST_DIGITS = 1500
# ε as `str(Fraction)` writes it, with no more digits than Python reads.
_EPSILON = re.compile(r"([1-9][0-9]{0,4299})(?:/([1-9][0-9]{0,4299}))?", re.ASCII)


class LedgerError(ValueError):
    """A ledger that cannot be used: not one, not writable, or not what it was."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the chain."""

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
    def well_formed(self) -> bool:
        """Whether it says what its kind says, and no more."""
        says = _SAYS.get(self.kind, {}) | {"when": str, "who": str}
        if self.kind not in _SAYS or set(self.body) != set(says):
            return False
        if not all(type(self.body[name]) is kind for name, kind in says.items()):
            return False
        return all(type(text) is str for text in self.body.get("what", ()))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a record."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Entry":
        """The entry that `to_dict` gave; refuses one whose hash is not its own."""
        try:
            entry = cls(**plain)
            own = _hash(entry.sequence, entry.kind, entry.text, entry.previous)
            good = type(entry.sequence) is int and entry.sequence >= 0 and entry.well_formed
        except (TypeError, ValueError, RecursionError):
            good = False
        if not good:
            raise LedgerError("the entry of the ledger is malformed")
        if own != entry.hash:
            raise LedgerError("the entry of the ledger does not have the hash it names")
        return entry


# What each kind of entry says, besides when and who, and its type.
_SAYS: dict[str, dict[str, type]] = {
    "ledger": {"format": str, "id": str},
    "dataset": {"dataset": str, "limit": int, "neighbours": str, "contributions": int},
    "limit": {"dataset": str, "limit": int, "before": int, "why": str},
    "charge": {"dataset": str, "request": str, "cost": int, "epsilon": str, "what": list},
    "result": {"charge": int, "digest": str},
    "failure": {"charge": int, "why": str},
}


def _text(body: Mapping[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, ensure_ascii=False)


def _hash(sequence: int, kind: str, text: str, previous: str) -> str:
    return hashlib.sha256(json.dumps([sequence, kind, text, previous]).encode()).hexdigest()


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
        times = "1 charge" if self.charges == 1 else f"{self.charges} charges"
        return f"{visible(self.dataset)}: {share} ({times}; {self.neighbours})"


def shown(amount: int) -> str:
    """Billionths as a decimal number."""
    whole, rest = divmod(abs(amount), UNIT)
    digits = f"{rest:09d}".rstrip("0")
    return f"{'-' if amount < 0 else ''}{whole}{'.' if digits else ''}{digits}"


def cost_of(epsilon: Fraction) -> int:
    """ε in billionths, rounded up."""
    return -(-epsilon * UNIT // 1)


@dataclass(slots=True)
class Chain:
    """Entries one after another, with what follows from them: how datasets stand, what was charged, what came of it."""

    entries: list[Entry] = field(default_factory=list)
    datasets: dict[str, Standing] = field(default_factory=dict)
    charges: dict[int, Entry] = field(default_factory=dict)
    kept: dict[int, Entry] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)

    @property
    def last(self) -> Entry | None:
        return self.entries[-1] if self.entries else None

    @property
    def standings(self) -> list[Standing]:
        """How each dataset stands."""
        return list(self.datasets.values())

    def add(self, entry: Entry) -> None:
        """Take an entry in; `LedgerError` for one that cannot follow those that are there."""
        if not self._fits(entry):
            raise LedgerError(f"the ledger was changed: entry {len(self.entries)} says what cannot be")
        body, standing = entry.body, self.datasets.get(entry.body.get("dataset", ""))
        if entry.kind == "dataset":
            promise = body["neighbours"], body["contributions"]
            self.datasets[body["dataset"]] = Standing(body["dataset"], body["limit"], 0, *promise, 0)
        elif entry.kind == "limit" and standing is not None:
            self.datasets[standing.dataset] = replace(standing, limit=body["limit"])
        elif entry.kind == "charge" and standing is not None:
            spent, times = standing.spent + body["cost"], standing.charges + 1
            self.datasets[standing.dataset] = replace(standing, spent=spent, charges=times)
            self.charges[entry.sequence] = entry
        elif entry.kind == "result":
            self.kept[body["charge"]] = entry
        elif entry.kind == "failure":
            self.failed.add(body["charge"])
        self.entries.append(entry)

    def _fits(self, entry: Entry) -> bool:
        body, first = entry.body, not self.entries
        if not entry.well_formed or entry.sequence != len(self.entries) or (entry.kind == "ledger") != first:
            return False
        if first:
            return bool(body["format"] == FORMAT)
        if entry.kind in ("result", "failure"):
            paid = body["charge"]
            return (
                paid in self.charges and paid not in self.kept and (entry.kind == "result" or paid not in self.failed)
            )
        standing = self.datasets.get(body["dataset"])
        if entry.kind == "dataset":
            known = body["neighbours"] in NEIGHBOURS and body["contributions"] >= 1
            return standing is None and known and body["limit"] >= 0
        if standing is None:
            return False
        if entry.kind == "limit":
            return bool(body["before"] == standing.limit and body["limit"] >= standing.spent and body["why"].strip())
        return bool(_least_cost(body["epsilon"]) == body["cost"] <= standing.left)


def _least_cost(epsilon: str) -> int | None:
    """What an ε of a charge costs, in billionths; None for text that is no ε as it is written here.

    It is not made a `Fraction`, which would take ``"1e-999999999"`` and fill the memory with it.
    """
    found = _EPSILON.fullmatch(epsilon)
    try:
        return None if found is None else -(-int(found[1]) * UNIT // int(found[2] or 1))
    except ValueError:
        return None


def parsed(rows: Iterable[tuple[Any, Any, Any, Any, Any]]) -> Chain:
    """The chain in the rows of a ledger: number, kind, body, hash of the one before, own hash."""
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
        raise LedgerError(f"the file is no ledger of the format {FORMAT}")
    return chain


def read_body(text: str) -> dict[str, Any]:
    """The body of an entry; `ValueError` for text that is not written as we write it.

    There is one way to write it, so that a body cannot be read in two, and it has no numbers but whole ones.
    """
    if len(text) > LONGEST:
        raise ValueError(f"it has more than {LONGEST:,} characters")
    try:
        body = json.loads(text, parse_int=_whole, parse_float=_refuse, parse_constant=_refuse)
        same = isinstance(body, dict) and _text(body) == text
    except RecursionError:
        same = False
    if not same:
        raise ValueError("it is not written as entries are")
    return body  # type: ignore[no-any-return]


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a number has more than {_MOST_DIGITS:,} digits")
    return int(text)


def _refuse(text: str) -> None:
    raise ValueError(text)
