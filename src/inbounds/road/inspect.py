"""What a release would meet in a table, counted without noise and without a charge: for the curator's eyes only.

Whoever may see the table may see this; nobody else. It never touches a ledger, and what it returns is no release.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from inbounds._frames import confine
from inbounds.privacy.persons import Persons
from inbounds.record.draft import Draft
from inbounds.record.selection import list_met
from inbounds.road.run import Place, columns_of_drafts, count_exactly, other_size, read_columns
from inbounds.tables.census import Census, take_census
from inbounds.tables.csv_irregular import Irregular
from inbounds.tables.engine import count_rows
from inbounds.tables.places import count_undecodable_fields, find_irregular_records
from inbounds.tables.schema import DataError, list_read
from inbounds.tables.sources import check_types
from inbounds.tables.strays import Strays, count_strays, probes


@dataclass(frozen=True, slots=True)
class Inspection:
    """What an inspection found: confidential numbers, and why a release would be refused, if it would be.

    ``rows`` is None where the table could not be read. ``charged`` says that the refusal would come after the charge.
    """

    rows: int | None = None
    strays: tuple[Strays, ...] = ()
    irregular: tuple[tuple[str, Irregular], ...] = ()
    refusal: str | None = None
    charged: bool = False
    census: Census | None = None
    # For each file, how many fields of a column have bytes that are not characters.
    undecodable: tuple[tuple[str, dict[str, int]], ...] = ()


# claim:inspection
def inspect_table(data: Any, drafts: Mapping[str, Draft]) -> Inspection:
    """What the rules of drafts would do with a table, and whether a release would go through.

    The table is opened and counted as for a release, up to where the noise would be drawn. Nothing is charged, drawn or
    written.
    """
    return confine(partial(_inspect, data, drafts), counts=False)


def _inspect(data: Any, drafts: Mapping[str, Draft]) -> Inspection:
    columns, terms = list(columns_of_drafts(list(drafts.values()))), next(iter(drafts.values())).terms
    persons = terms.unit.persons
    rules = list(dict.fromkeys(pair for draft in drafts.values() for pair in _list_met(draft)))
    ruled = [rule for rule, _ in rules]
    try:
        table = read_columns(data, list(dict.fromkeys([*columns, *list_read(ruled), *probes(ruled)])))
        check_types(table.frame, columns)
    except DataError as error:
        return Inspection(irregular=_find_irregular(data), refusal=str(error))
    frame = table.frame
    rows = count_rows(frame)
    strays = tuple(count_strays(frame, rules))
    census = None if persons is None else take_census(frame, persons, list_limits(terms.unit.contributions))
    inspection = Inspection(rows, strays, census=census, undecodable=_count_undecodable(data))
    units = rows if census is None else census.persons + (census.missing if persons_of_own(persons) else 0)
    if terms.rows not in (None, units):
        return replace(inspection, refusal=str(other_size(terms)))
    try:
        count_exactly(table, drafts)
    except DataError as error:
        return replace(inspection, refusal=str(error), charged=True)
    return inspection


def _list_met(draft: Draft) -> list[Any]:
    """The rules of the columns that the table has, and when they apply: not of those that folding makes."""
    persons = draft.terms.unit.persons
    folded = frozenset() if persons is None else persons.new_columns
    return [pair for pair in list_met(draft.record.statistic) if pair[0].name not in folded]


def list_limits(contributions: int) -> tuple[int, ...]:
    """Limits on the rows of a person; a curator may want to know how many rows each of them leaves out."""
    return tuple(sorted({1, 2, 5, 10, 20, 50, 100, contributions}))


def persons_of_own(persons: Persons | None) -> bool:
    """Whether rows without an id are persons of their own."""
    return persons is not None and persons.missing == "own"


def _count_undecodable(data: Any) -> tuple[tuple[str, dict[str, int]], ...]:
    return tuple(count_undecodable_fields(data.source, data.written)) if isinstance(data, Place) else ()


def _find_irregular(data: Any) -> tuple[tuple[str, Irregular], ...]:
    """Where a CSV file breaks its format; nothing for a file that is missing or has no header."""
    try:
        return tuple(find_irregular_records(data.source, data.written)) if isinstance(data, Place) else ()
    except DataError:
        return ()
