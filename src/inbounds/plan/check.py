"""What a plan's rules would do with its table, in words: before a release, for the curator's eyes only."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from inbounds._html import render
from inbounds._text import visible
from inbounds.plan.plan import Plan, PlanError
from inbounds.plan.release import find_place
from inbounds.record.selection import list_met
from inbounds.road.inspect import Inspection, inspect_table
from inbounds.tables.census import Census
from inbounds.tables.expressions import Expression
from inbounds.tables.schema import ELSEWHERE, OWN, SKIP, Edges, Levels, Numeric, Ruled, short
from inbounds.tables.strays import Strays

NOTICE = (
    "For the curator's eyes only: these are exact numbers of the table, without noise. Do not pass them on. "
    "Nothing was charged."
)
_AFTER = "would have a release refused, after the charge"


@dataclass(frozen=True, slots=True, repr=False)
class Check:
    """What a plan's rules would do with its table.

    It holds exact numbers of the table, so that it is as confidential as the table itself. Its ``repr`` shows none of
    them; ``str`` and a notebook show them all.
    """

    inspection: Inspection
    # Names of the releases that read a column, by its rule and the records that it meets, in the order of the plan.
    readers: dict[tuple[Ruled, Expression | None], tuple[str, ...]]

    @property
    def passes(self) -> bool:
        """Whether a release would go through, as far as the table is concerned; the budget is not checked."""
        return self.inspection.refusal is None

    @property
    def strays(self) -> list[Strays]:
        """What was counted in each column, in the order of the plan."""
        order = {rule: place for place, rule in enumerate(self.readers)}
        return sorted(self.inspection.strays, key=lambda strays: order.get((strays.column, strays.where), len(order)))

    @property
    def verdict(self) -> str:
        """Whether a release would go through, and if not, why and when it would be refused."""
        inspection = self.inspection
        if inspection.refusal is None:
            counted = [strays for strays in self.strays if inspection.rows]
            empty = [visible(strays.column.name) for strays in counted if strays.met and strays.missing == strays.met]
            but = f". But no value of {', '.join(dict.fromkeys(empty))} would be read: all are missing" if empty else ""
            idle = [visible(strays.where.text) for strays in counted if strays.where is not None and not strays.met]
            but += f". But no row is selected by {' or by '.join(dict.fromkeys(idle))}" if idle else ""
            return f"A release would go through, as far as the table is concerned{but}."
        when = "after the charge" if inspection.charged else "before the charge"
        return f"A release would be refused {when}: {inspection.refusal}"

    def lines(self) -> Iterator[str]:
        """The whole text, line by line."""
        yield NOTICE
        if self.inspection.rows is not None:
            yield f"{self.inspection.rows:,} rows"
        if self.inspection.census is not None:
            yield from describe_census(self.inspection.census)
        for title, irregular in self.inspection.irregular:
            begins = ", ".join(map(str, irregular.lines))
            more = ", ..." if irregular.count > len(irregular.lines) else ""
            share = f"{irregular.count:,} of {irregular.records:,} rows"
            yield f"{visible(title)}: {share} not of the declared form (line {begins}{more})"
            yield from (f"  {rule}" for rule in irregular.rules)
        for title, columns in self.inspection.undecodable:
            yield f"{visible(title)}: fields with bytes that are not characters, which no level or number has"
            yield from (f"  {visible(name)}: {count:,}" for name, count in columns.items())
            yield '  Declare the encoding of the file, as in encoding = "cp1252" under [data], or correct it.'
        for strays in self.strays:
            readers = ", ".join(map(visible, self.readers.get((strays.column, strays.where), ("all",))))
            where = "" if strays.where is None else visible(strays.where.text)
            among = f"; where {where}, true of {strays.met:,} rows; others are not counted" if where else ""
            yield f"{visible(strays.column.name)} ({describe_rule(strays.column)}; for {readers}{among})"
            yield from (f"  {sentence}" for sentence in list_sentences(strays))
        yield visible(self.verdict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        inspection = self.inspection
        return {
            "notice": NOTICE,
            "passes": self.passes,
            "verdict": self.verdict,
            "refused_after_charge": inspection.charged,
            "rows": inspection.rows,
            "persons": None if inspection.census is None else dict(persons_of(inspection.census)),
            "irregular": [
                {"file": title, "rows": file.count, "lines": list(file.lines), "rules": list(file.rules)}
                for title, file in inspection.irregular
            ],
            "undecodable": [{"file": title, "columns": dict(columns)} for title, columns in inspection.undecodable],
            "columns": [
                {
                    "column": strays.column.name,
                    "rule": describe_rule(strays.column),
                    "releases": list(self.readers.get((strays.column, strays.where), ())),
                    "where": None if strays.where is None else strays.where.text,
                    "met": strays.met,
                    "missing": strays.missing,
                    "unreadable": strays.unreadable,
                    "below": strays.below,
                    "above": strays.above,
                    "other": strays.other,
                    "sentences": list(list_sentences(strays)),
                }
                for strays in self.strays
            ],
            "text": list(self.lines()),
        }

    def __repr__(self) -> str:
        return (
            f"<Check: a release would {'go through' if self.passes else 'be refused'}; print() shows what was counted>"
        )

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        heads = ["", "missing", "no number", "below", "above", "no level", "what happens"]
        rows = [
            (
                f"{strays.column.name} ({describe_rule(strays.column)}"
                f"{'' if strays.where is None else f'; where {strays.where}'})",
                [
                    *map(str, (strays.missing, strays.unreadable, strays.below, strays.above, strays.other)),
                    " ".join(list_sentences(strays)),
                ],
            )
            for strays in self.strays
        ]
        rows = rows or [("", [""] * 6)]
        return render("list", caption=f"{NOTICE} {self.verdict}", heads=heads, rows=rows, rest="")


def check(plan: Plan | str | Path, data: Any = None) -> Check:
    """Say what a plan's rules would do with its table, before a release: for the curator's eyes only.

    Reads the table and counts, exactly, which fields are missing, are no numbers or no levels, or lie beyond the
    bounds. Charges nothing, writes nothing, and looks at no ledger.

    Parameters
    ----------
    plan
        A `Plan`, or the file of one.
    data
        A table of any kind, or a path or URL, in place of the plan's source.

    Returns
    -------
    Check
        What was counted, in words; ``passes`` says whether a release would go through. It is as confidential as the
        table.

    Raises
    ------
    PlanError, TypeError, ValueError
        For mistakes in the plan, or data that are no table.

    Examples
    --------
    >>> plan = Plan.of({
    ...     "data": {"rows": 3},
    ...     "budget": {"epsilon": 1},
    ...     "columns": {"age": {"bounds": [18, 100], "missing": 50}},
    ...     "release": [{"name": "age", "statistic": "mean", "columns": ["age"]}],
    ... })
    >>> checks = check(plan, {"age": [17, "unknown", 30]})
    >>> checks.passes
    True
    >>> print(checks)
    For the curator's eyes only: ...
    3 rows
    age (bounds 18 to 100; for age)
      1 is missing and counts as 50; it is no number.
      1 is below 18 and counts as 18.
    A release would go through, as far as the table is concerned.
    """
    plan = plan if isinstance(plan, Plan) else Plan.load(plan)
    place = find_place(plan, data)
    if place is None:
        raise PlanError(["data.source: must be given, or a table as data="])
    drafts = plan.drafts()
    readers: dict[tuple[Ruled, Expression | None], tuple[str, ...]] = {}
    for name, draft in drafts.items():
        for rule in list_met(draft.record.statistic):
            readers[rule] = (*readers.get(rule, ()), name)
    return Check(inspect_table(place, drafts), readers)


def persons_of(census: Census) -> Iterator[tuple[str, Any]]:
    """The numbers of persons and of their rows as plain values."""
    yield "persons", census.persons
    yield "rows", census.rows
    yield "missing", census.missing
    yield "left_out", {str(k): left for k, left in census.left_out}


def describe_census(census: Census) -> Iterator[str]:
    """How many persons there are, and which share of their rows is left out for each number that may be kept."""
    yield f"{census.persons:,} persons with {census.rows:,} rows; {census.missing:,} rows have no id"
    total = max(census.rows, 1)
    shares = [f"{left / total:.1%} where {k} {'is' if k == 1 else 'are'} kept" for k, left in census.left_out if left]
    enough = next((k for k, left in census.left_out if not left), None)
    shares += [] if enough is None else [f"none where {enough} or more are kept"]
    yield f"rows left out by the rows that are kept of each person: {', '.join(shares)}"


def describe_rule(column: Ruled) -> str:
    """A column's rule in a few words."""
    prefix = "" if column.formula is None else f"{column.formula}; "
    if isinstance(column, Levels):
        return f"{prefix}{len(column.levels)} level{'s' * (len(column.levels) > 1)}"
    first, last = _name_ends(column)
    return f"{prefix}{'bounds' if isinstance(column, Numeric) else 'edges'} {first} to {last}"


def _name_ends(column: Numeric | Edges) -> tuple[str, str]:
    first, *_, last = column.ends
    return tuple(end if isinstance(end, str) else short(end) for end in (first, last))  # type: ignore[return-value]


def list_sentences(strays: Strays) -> Iterator[str]:
    """What happens to the records that a rule refuses or changes, in a sentence for each kind."""
    column, quiet = strays.column, True
    if strays.where is not None and not strays.met:
        yield f"No row is selected.{_hint_at_times(strays.where)}"
        return
    for sentence in (*_of_missing(strays), *_of_others(strays), *_of_clipped(strays)):
        quiet = False
        yield sentence
    if quiet:
        yield f"All are taken as they are{'' if isinstance(column, Levels) else ', rounded to the step'}."


def _hint_at_times(where: Expression) -> str:
    """Why a condition on times may be true of no row of a file."""
    times = [name for name, kind in where.columns.items() if kind == "time"]
    form = "1970-01-31 or 1970-01-31 12:30:00, or has a zone without time_zone = ..., is missing"
    return f" What is not written in {', '.join(map(repr, times))} as {form}." if times else ""


def _of_missing(strays: Strays) -> Iterator[str]:
    count, column = strays.missing, strays.column
    if not count:
        return
    many = count > 1
    verb = "are" if many else "is"
    start, unread = f"{count:,} {verb} missing and", strays.unreadable
    kind = {"date": "date", "datetime": "time"}.get(getattr(column, "clock", None) or "", "number")
    some = (
        f"{'all' if unread == count else f'{unread:,}'} of them {f'are no {kind}s' if unread > 1 else f'is no {kind}'}"
    )
    which = f"; {some if many else f'it is no {kind}'}" if unread else ""
    if column.missing is None and 2 * unread > strays.met:
        # Most of what is there cannot be read: to fill that in would release what was filled in.
        way = "say how a CSV file writes numbers, by decimal = ... and thousands = ... under [data], or convert them"
        form = "1970-01-31 12:30:00, with time_zone = ... if they have a zone" if kind == "time" else "1970-01-31"
        way = way if kind == "number" else f"write them in the table as {form}"
        yield f"{start} {_AFTER}{which}: {way}."
    elif column.missing is None:
        yield f"{start} {_AFTER}: declare missing = ... for {column.name!r} under [columns]{which}."
    elif column.missing in (ELSEWHERE, SKIP):
        yield f"{start} {verb} {'left out' if column.missing is SKIP else 'not counted'}{which}."
    elif column.missing is OWN:
        yield f"{start} {'have a level of their' if many else 'has a level of its'} own{which}."
    else:
        yield f"{start} count{'' if many else 's'} as {_show(column.missing)}{which}."


def _of_others(strays: Strays) -> Iterator[str]:
    count, column = strays.other, strays.column
    if not count or not isinstance(column, Levels):
        return
    verb = "are" if count > 1 else "is"
    if column.other is None:
        way = f"declare other = ... for {column.name!r} under [columns], or add levels"
        way = "name the one to count with level = ..." if column.keywords[0] == "level" else way
        yield f"{count:,} {verb} no level and {_AFTER}: {way}."
    elif column.other is ELSEWHERE:
        yield f"{count:,} {verb} not the level that is counted."
    elif column.other is SKIP:
        yield f"{count:,} {verb} no level and {verb} left out."
    else:
        yield f"{count:,} {verb} no level and count{'' if count > 1 else 's'} as {_show(column.other)}."


def _of_clipped(strays: Strays) -> Iterator[str]:
    column = strays.column
    if isinstance(column, Levels):
        return
    ends = _name_ends(column)
    for count, side, end, cell in (
        (strays.below, "below", ends[0], "first"),
        (strays.above, "above", ends[1], "last"),
    ):
        if count:
            verb, counts = ("are", "count") if count > 1 else ("is", "counts")
            into = f"as {end}" if isinstance(column, Numeric) else f"in the {cell} interval"
            yield f"{count:,} {verb} {side} {end} and {counts} {into}."


def _show(value: Any) -> str:
    return short(value) if isinstance(value, Fraction) else visible(repr(value))
