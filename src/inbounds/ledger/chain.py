"""The chain of entries of a ledger, each with the hash of the one before, and the state that follows from them.

A chain is read strictly: every entry can follow those before it. So even an entry with a right hash is refused if
inbounds could not have written it.

All that a kind of entry does is in `Chain`: `_follow` has what it requires, and `add` what it changes. What the next
entries need of the state is in each checkpoint, so a chain can be resumed there without the entries before it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from inbounds.errors import LedgerError
from inbounds.ledger.amounts import Plain, read_amount, write_amount
from inbounds.ledger.entry import (
    CHECKPOINTS,
    FORMAT,
    START,
    Entry,
    Row,
    key_of_limit,
    key_of_outcome,
    key_of_request,
    read_body,
    read_row,
    write_text,
)
from inbounds.ledger.standing import Standing
from inbounds.privacy.guarantee import NEIGHBOURS, Guarantee

# A checkpoint comes after so many entries, or after as many as there are datasets, if they are more.
EVERY = 32
# So many charges without an outcome are in the state, the latest ones.
MOST_OPEN = 256
# How often a table may be counted for one charge.
MOST_ATTEMPTS = 3
# The stages of a charge. Until its draw begins, its stage is the number of attempts to count.
CHARGED, DRAWING, DRAWN = 0, MOST_ATTEMPTS + 1, MOST_ATTEMPTS + 2


class Earlier(Protocol):
    """Where entries are found that a chain does not hold."""

    def entries(self, start: int = 0) -> Iterable[Row]:
        """The entries from a number on."""
        ...

    def find(self, key: str) -> Iterable[tuple[Row, Any]]:
        """The entries under a key, the last first, each with the note that was filed with it."""
        ...


@dataclass(slots=True)
class Chain:
    """The entries of a ledger from the first or from a checkpoint on, with the state that follows from them.

    ``left`` has what was left of the limit right after each charge, and ``stages`` how far each has come. ``open`` has
    the stages of the latest charges with neither a result nor a failure. ``charges``, ``left``, ``stages``, ``drawn``,
    ``kept`` and ``failed`` have the charges of the entries that are held, and earlier ones once they were looked up.
    """

    entries: list[Entry] = field(default_factory=list)
    datasets: dict[str, Standing] = field(default_factory=dict)
    open: dict[int, int] = field(default_factory=dict)
    charges: dict[int, Entry] = field(default_factory=dict)
    left: dict[int, Guarantee | None] = field(default_factory=dict)
    stages: dict[int, int] = field(default_factory=dict)
    drawn: dict[int, Entry] = field(default_factory=dict)
    kept: dict[int, Entry] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)
    keys: dict[str, list[int]] = field(default_factory=dict)
    start: int = 0
    checkpoint: int = 0
    earlier: Earlier | None = None

    @classmethod
    def resume(cls, checkpoint: Entry, earlier: Earlier) -> "Chain":
        """The chain from a checkpoint on. Raises a `LedgerError` if it is none, or has an impossible state."""
        number = checkpoint.sequence
        chain = cls(start=number, checkpoint=number, earlier=earlier)
        try:
            _require(checkpoint.kind == "checkpoint" and checkpoint.is_well_formed)
            for plain in checkpoint.body["datasets"]:
                standing = Standing.from_dict(plain)
                chain.datasets[standing.dataset] = standing
            chain.open = dict(checkpoint.body["open"])
            _require(chain._has_state(checkpoint))
        except (TypeError, ValueError, KeyError, AttributeError):
            raise LedgerError(f"the ledger was changed: entry {number} is impossible") from None
        chain.entries.append(checkpoint)
        return chain

    @property
    def last(self) -> Entry | None:
        """The last entry; None if there is none."""
        return self.entries[-1] if self.entries else None

    @property
    def length(self) -> int:
        """The number of entries, with those that are not held."""
        return self.start + len(self.entries)

    @property
    def standings(self) -> list[Standing]:
        """The state of each dataset."""
        return list(self.datasets.values())

    @property
    def state(self) -> dict[str, Any]:
        """All that the next entries need to know, as plain values: the fields of a checkpoint."""
        standings = (standing.to_dict() for standing in self.datasets.values())
        plain = [{name: value for name, value in one.items() if name != "left"} for one in standings]
        return {"datasets": plain, "open": [list(pair) for pair in sorted(self.open.items())]}

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether there are as many entries after the last checkpoint as there may be."""
        return self.length - self.checkpoint > max(EVERY, len(self.datasets))

    def add(self, entry: Entry) -> None:
        """Add an entry. Raises a `LedgerError` if it cannot follow those before it."""
        try:
            standing = self._follow(entry)
        except ValueError:
            raise LedgerError(f"the ledger was changed: entry {self.length} is impossible") from None
        if standing is not None:
            self.datasets[standing.dataset] = standing
        if entry.kind == "charge" and standing is not None:
            self.charges[entry.sequence], self.left[entry.sequence] = entry, standing.left
            self.stages[entry.sequence] = CHARGED
            self._open(entry.sequence)
        elif entry.kind == "checkpoint":
            self.checkpoint = entry.sequence
        elif "charge" in entry.body:
            self._note_step(entry)
            self._note_open(entry.body["charge"])
        if (key := entry.key) is not None:
            self.keys.setdefault(key, []).append(entry.sequence)
        self.entries.append(entry)

    def _open(self, charge: int) -> None:
        self.open[charge] = CHARGED
        if len(self.open) > MOST_OPEN:
            del self.open[min(self.open)]

    def _note_open(self, charge: int) -> None:
        if charge in self.kept or charge in self.failed:
            self.open.pop(charge, None)
        elif charge in self.open:
            self.open[charge] = self.stages[charge]

    def _note_step(self, entry: Entry) -> None:
        """How far a charge has come, by an entry that is added or looked up."""
        charge = entry.body["charge"]
        match entry.kind:
            case "attempt":
                self.stages[charge] += 1
            case "drawing":
                self.stages[charge] = DRAWING
            case "drawn":
                self.stages[charge], self.drawn[charge] = DRAWN, entry
            case "result":
                self.kept[charge] = entry
            case "failure":
                self.failed.add(charge)

    def _follow(self, entry: Entry) -> Standing | None:
        """The state of an entry's dataset after it; None if it has none. Raises a `ValueError` if it cannot follow."""
        body, first = entry.body, self.length == 0
        _require(entry.is_well_formed and entry.sequence == self.length and (entry.kind == "ledger") == first)
        match entry.kind:
            case "ledger":
                _require(body["format"] == FORMAT)
            case "checkpoint":
                _require(self._has_state(entry))
            case "accept":
                _require(bool(body["why"].strip()))
            case "attempt" | "drawing" | "drawn" | "result" | "failure":
                self.recall(body["charge"])
                _require(body["charge"] in self.charges and self._has_step(entry.kind, body["charge"]))
            case _:
                return self._follow_dataset(entry)
        return None

    def _has_state(self, checkpoint: Entry) -> bool:
        """Whether a checkpoint has the state that follows from the entries before it."""
        state = {name: checkpoint.body[name] for name in ("datasets", "open")}
        return write_text(state) == write_text(self.state)

    def _has_step(self, kind: str, charge: int) -> bool:
        """Whether a step of a charge may come next. A charge has at most one draw, and its result is made from that.

        The first attempt comes with the charge: charges of version 0.2 have none, and their draw may have been lost.
        """
        stage, is_open, kept = self.stages[charge], charge in self.open, charge in self.kept
        match kind:
            case "attempt":
                first = stage == CHARGED and self.length == charge + 1
                return is_open and (first or CHARGED < stage < MOST_ATTEMPTS)
            case "drawing":
                return is_open and CHARGED < stage <= MOST_ATTEMPTS
            case "drawn":
                return is_open and stage == DRAWING
            case "result":
                return not kept and stage in (CHARGED, DRAWN)
        return not kept and charge not in self.failed and stage != DRAWN

    def _follow_dataset(self, entry: Entry) -> Standing:
        body = entry.body
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

    # Entries from before those that are held

    def find_charges(self, dataset: str, request: str) -> Iterator[int]:
        """The numbers of the charges of a request, the last first. Each is in ``charges`` when its number comes."""
        key = key_of_request(dataset, request)
        yield from reversed(self.keys.get(key, ()))
        for entry, note in self._find_earlier(key):
            self.charges[entry.sequence], self.left[entry.sequence] = entry, _read_note(note, entry)
            yield entry.sequence

    def recall(self, charge: int) -> None:
        """Look up an earlier charge and its steps, so that they are in ``charges``, ``stages``, ``kept`` and so on."""
        if self.earlier is None or charge in self.stages or not 0 <= charge < self.start:
            return
        entry = _read_alone(next(iter(self.earlier.entries(charge))))
        if entry.sequence != charge or entry.kind != "charge":
            return
        self.charges[charge], self.stages[charge] = entry, CHARGED
        for step, _ in reversed(list(self._find_earlier(key_of_outcome(charge)))):
            self._note_step(step)
        ended = charge in self.kept or charge in self.failed
        if charge in self.open and (ended or self.open[charge] != self.stages[charge]):
            raise LedgerError(f"the ledger was changed: its index does not have the steps of entry {charge}")

    def has_had(self, dataset: str, limit: Plain) -> bool:
        """Whether a dataset has, or once had, this limit."""
        key = key_of_limit(dataset, limit)
        return key in self.keys or any(True for _ in self._find_earlier(key))

    def _find_earlier(self, key: str) -> Iterator[tuple[Entry, Any]]:
        """The entries under a key that are not held, the last first, with their notes."""
        found = () if self.earlier is None else _look_up(self.earlier, key)
        return ((entry, note) for entry, note in found if entry.sequence < self.start)

    def note_of(self, entry: Entry) -> str:
        """The note that is filed with an entry: what was left after a charge, and nothing for others."""
        return write_text({"left": write_amount(self.left[entry.sequence])}) if entry.kind == "charge" else ""


def _require(good: bool) -> None:
    if not good:
        raise ValueError("an entry cannot follow those before it")


def _read_alone(row: Row) -> Entry:
    """Read an entry that was looked up. Raises a `LedgerError` if it is not one that inbounds could have written."""
    try:
        entry = read_row(row)
        good = entry.is_well_formed
    except (ValueError, TypeError):
        good = False
    if not good:
        raise LedgerError("the ledger was changed: an entry that was looked up does not match its hash")
    return entry


def _look_up(earlier: Earlier, key: str) -> Iterator[tuple[Entry, Any]]:
    """The entries that a store has under a key, each checked to be one of this key, and each once."""
    before = None
    for row, note in earlier.find(key):
        entry = _read_alone(row)
        if entry.key != key or (before is not None and entry.sequence >= before):
            raise LedgerError(f"the ledger was changed: its index has entry {entry.sequence} in a wrong place")
        before = entry.sequence
        yield entry, note


def _read_note(note: Any, charge: Entry) -> Guarantee | None:
    """What was left after a charge, from the note that was filed with it."""
    try:
        plain = read_body(note)["left"]
        return None if plain == 0 else read_amount(plain)
    except (ValueError, TypeError, KeyError):
        raise LedgerError(f"the ledger was changed: its index has a wrong note for entry {charge.sequence}") from None


def parse_rows(rows: Iterable[Row]) -> Chain:
    """Read a whole chain from the rows of a store. Raises a `LedgerError` at the first row that is wrong."""
    return _continue(Chain(), START, rows)


def parse_end(earlier: Earlier) -> Chain:
    """Read a chain from the last checkpoint but one, so that the last one is checked. Others are looked up."""
    found = [entry for entry, _ in islice(_look_up(earlier, CHECKPOINTS), 2)]
    # The only one is checked, too, unless an earlier version wrote many entries before it.
    if not found or (len(found) == 1 and found[0].sequence <= 4 * EVERY):
        return parse_rows(earlier.entries())
    chain = Chain.resume(found[-1], earlier)
    return _continue(chain, found[-1].hash, earlier.entries(chain.length))


def _continue(chain: Chain, before: str, rows: Iterable[Row]) -> Chain:
    for row in rows:
        try:
            good = row[0] == chain.length and row[3] == before
            entry = read_row(row) if good else None
        except (ValueError, TypeError):
            entry = None
        if entry is None:
            raise LedgerError(f"the ledger was changed: entry {chain.length} does not follow from those before it")
        before = entry.hash
        chain.add(entry)
    if not chain.entries:
        raise LedgerError(f"the file is not a ledger of the format {FORMAT}")
    return chain
