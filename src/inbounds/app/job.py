"""The main job: a plan is checked, charged, read once, drawn, kept, and only then shown.

The order is what makes it safe. Whatever is public is checked first, and costs nothing. The charge is on the disk
before a value of the table is read, and the result before anybody sees it; a crash anywhere leaves the charge standing.
"""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from inbounds import ledger as ledgers
from inbounds._text import visible
from inbounds.app.parts import Item
from inbounds.app.plan import Plan, PlanError, digest
from inbounds.ledger import Account, Entry, LedgerError
from inbounds.privacy.certificate import CertificateError, without_repeats
from inbounds.privacy.guarantee import Pure
from inbounds.record import RecordError, Release
from inbounds.releases.opening import Draft
from inbounds.releases.proof import difference
from inbounds.releases.together import open_source

FORMAT = "inbounds-releases/1"


@dataclass(frozen=True, slots=True, eq=False)
class Releases(Mapping[str, Release]):
    """What came of a plan: its releases by name, what was asked for, and the ledger's entry that paid for them.

    ``left`` is what was left of the limit after it, in words; ``stored`` says that they were drawn before and are shown
    again.
    """

    plan: Plan
    records: Mapping[str, Release]
    entry: Entry | None = None
    left: str | None = None
    stored: bool = False

    def __getitem__(self, name: str) -> Release:
        return self.records[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        again = ", released before" if self.stored else ""
        return f"<Releases: {', '.join(map(visible, self.records))}; epsilon {float(self.epsilon):g}{again}>"

    def __str__(self) -> str:
        return "\n".join(f"{visible(name)}\n{release}" for name, release in self.records.items())

    @property
    def epsilon(self) -> Fraction:
        """ε of all of them together: certificates compose by addition."""
        return sum((release.certificate.epsilon for release in self.records.values()), start=Fraction(0))

    def write(self, folder: str | Path) -> None:
        """The files of the command: release.json, values.csv, report.html and report.md."""
        from inbounds.app import commands

        commands.apart(self.plan, Path(folder))
        with commands.ready(Path(folder)):
            commands.write(self, Path(folder))

    def is_same(self, other: "Releases") -> bool:
        """Whether both are the same draws of the same request, paid for by the same entry."""
        return (self.plan.digest, dict(self), self.entry) == (other.plan.digest, dict(other), other.entry)

    def to_json(self) -> str:
        """All records with what was asked for, as text."""
        return "".join(self.json_pieces())

    def json_pieces(self) -> Iterator[str]:
        """The text of `to_json` in pieces."""
        request = self.plan.request()
        entry = None if self.entry is None else self.entry.to_dict()
        head = {"format": FORMAT, "request": request, "digest": digest(request), "entry": entry}
        start = "{"
        for name, value in head.items():
            yield f"{start}\n{json.dumps(name)}: {json.dumps(value, indent=1, ensure_ascii=False)}"
            start = ","
        yield ',\n"releases": '
        start = "{"
        for name, release in self.records.items():
            yield f"{start}\n{json.dumps(name, ensure_ascii=False)}: "
            yield from release.json_pieces()
            start = ","
        yield "\n}\n}\n"

    @classmethod
    def from_json(cls, text: str) -> "Releases":
        """claim:verify. What `to_json` wrote, with everything in it proved again; `RecordError` where it does not hold.

        Every certificate is recomputed, every value derived anew from its noisy coordinates. The releases are those of
        the plan, with its rules and shares; their ε add up to what it states and to what the ledger's entry says, and
        the entry has the hash it names.
        """
        try:
            body = json.loads(text, object_pairs_hook=without_repeats)
        except (ValueError, RecursionError):
            raise RecordError("the file is not JSON, or names a field twice") from None
        if not isinstance(body, dict) or body.get("format") != FORMAT:
            raise RecordError(f"the format is not {FORMAT}")
        if set(body) != {"format", "request", "digest", "entry", "releases"} or not isinstance(body["releases"], dict):
            raise RecordError("the file has missing or unknown fields")
        try:
            plan = Plan.of_record(body["request"])
            if (request := plan.request()) != body["request"] or digest(request) != body["digest"]:
                raise RecordError("the request is not the one that the digest is of")
            if [item.name for item in plan.release] != list(body["releases"]):
                raise RecordError("the releases are not those of the request")
        except RecordError:
            raise
        except (ValueError, TypeError, RecursionError, ArithmeticError) as error:
            raise RecordError(f"the request is no plan ({type(error).__name__})") from None
        records, epsilons = {}, plan.epsilons
        for item in plan.release:
            try:
                records[item.name] = _read(body["releases"][item.name], plan, item, epsilons[item.name])
            except (RecordError, CertificateError) as error:
                raise RecordError(f"release {item.name!r}: {error}") from None
        made = cls(plan, records)
        if made.epsilon != Fraction(plan.budget.epsilon):
            raise RecordError("the epsilons of the releases do not add up to that of the request")
        return replace(made, entry=_proved(body["entry"], made))


def _read(record: Any, plan: Plan, item: Item, epsilon: Fraction) -> Release:
    """A record, proved by the draft of what the request asks for, once it is known to hold as many numbers as that."""

    def draft_of(made: Release) -> Release:
        *cells, columns = plan.sizes(item)
        drawn = [len(rule.cells) for rule in made.columns if rule.cells]
        numbers = [rule for rule in made.columns if rule.step is not None]
        if made.statistic != item.statistic or (cells and cells != drawn) or (columns and columns != len(numbers)):
            raise RecordError("it is not what the request asks for")
        try:
            return plan.wanted_of(item, epsilon).draft().record
        except (ValueError, TypeError, ArithmeticError) as error:
            raise RecordError(f"the request cannot be met ({error})") from None

    return Release.from_dict(record, draft_of)


def _proved(plain: Any, made: Releases) -> Entry | None:
    if plain is None:
        return None
    try:
        entry = Entry.from_dict(plain)
    except (LedgerError, TypeError) as error:
        raise RecordError(f"the ledger's entry: {error}") from None
    own = {"dataset": made.plan.budget.dataset} | request_of(made.plan).to_dict()
    if entry.kind != "charge" or {name: entry.body.get(name) for name in own} != own:
        raise RecordError("the ledger's entry is not the charge of these releases")
    return entry


def request_of(plan: Plan, drafts: Mapping[str, Draft] | None = None) -> ledgers.Request:
    """What a plan is charged for; with its drafts it is also known how long a result may be."""
    data = plan.data
    what = tuple(f"{item.name}: {item.statistic}" for item in plan.release)
    longest = None
    if drafts is not None:
        longest = sum(draft.record.longest_text() for draft in drafts.values())
        longest += 10_000 + 8 * len(json.dumps(plan.request(), indent=1))
    promise = Pure(plan.budget.epsilon), data.neighbours, data.contributions
    return ledgers.Request(plan.digest, *promise, what, longest)


def release(
    plan: Plan | str | Path,
    data: Any = None,
    ledger: Any = None,
    *,
    new: bool = False,
    who: str | None = None,
    say: Callable[[str], None] | None = None,
) -> Releases:
    """claim:job. Release everything in a plan: charge the ledger, read the data once, draw, keep, and return.

    The same plan again gives what was released before, with ``stored`` set; ``new=True`` makes a new charge and a new
    draw. ``data`` is a table of any kind in place of the plan's source, ``ledger`` a file in place of the plan's, or an
    `Account` of the plan's dataset.

    Raises `PlanError` and `DataError` for mistakes, `BudgetRefused` beyond the limit; nothing is spent then, unless the
    data themselves had to be read to find out (a missing value that the plan does not provide for): such a charge
    stands.
    """
    plan = plan if isinstance(plan, Plan) else Plan.load(plan)
    tell = say or (lambda _: None)
    account = _account(plan, ledger)
    if account is not None and account.dataset != plan.budget.dataset:
        # A ledger in place of the plan's own may have another name for it.
        plan = plan.model_copy(update={"budget": plan.budget.model_copy(update={"dataset": account.dataset})})
    drafts = plan.drafts()
    request = request_of(plan, drafts)
    # What will be read back must be what is asked for now, or a paid result could not be proved.
    if {name: one.record for name, one in Plan.recorded(plan.request()).drafts().items()} != {
        name: one.record for name, one in drafts.items()
    }:
        raise PlanError(["the plan does not survive being written down; please report this"])
    if account is not None and not new and (before := ledgers.stored(account, request)) is not None:
        if data is not None:
            told = f"the plan was released from {account.dataset!r} before and is shown again; the table was not read"
            warnings.warn(told, stacklevel=2)
        return _again(before, drafts)
    place = plan.place if data is None else data
    if place is None:
        raise PlanError(["data.source: must be given, or a table as data="])
    tell("looking at the table")
    source = open_source(place, list(drafts.values()))
    receipt = None
    if account is not None:
        tell("charging the ledger")
        receipt = ledgers.charge(account, request, new=new, who=who)
        if receipt.stored is not None:
            return _again(receipt, drafts)
    tell("reading the data, once")
    if account is None or receipt is None:
        return Releases(plan, dict(zip(drafts, source.release(), strict=True)))
    with ledgers.standing_charge(account, receipt):
        records = dict(zip(drafts, source.release(), strict=True))
    made = Releases(plan, records, receipt.entry, ledgers.spell_amount(receipt.left))
    tell("keeping the result")
    ledgers.keep(account, receipt, made.to_json())
    return made


def _account(plan: Plan, ledger: Any) -> Account | None:
    if ledger is None:
        return plan.account
    given = ledger if isinstance(ledger, Account) else None
    if given is None and not isinstance(ledger, str | Path):
        raise TypeError(f"ledger must be a file's name or an Account, got {type(ledger).__name__}")
    if given is not None and given.dataset != plan.budget.dataset:
        raise ValueError(
            f"ledger is an account of {given.dataset!r}, and the plan is for {plan.budget.dataset!r}: budget.dataset "
            "must be the same"
        )
    budget = plan.budget.model_copy(update={"ledger": str(ledger if given is None else given.ledger)})
    own = plan.model_copy(update={"budget": budget}).account
    return own if own is None or given is None or given.limit is None else replace(own, limit=given.limit)


def _again(receipt: ledgers.Receipt, drafts: Mapping[str, Draft]) -> Releases:
    """The stored result, if it is one of what is asked for now."""
    made = Releases.from_json(receipt.stored or "")
    if any(difference(made[name], draft.record) for name, draft in drafts.items()):
        raise LedgerError("the ledger has another result for this request; it was changed")
    return replace(made, left=ledgers.spell_amount(receipt.left), stored=True)
