"""What a release would meet in a table, counted without noise and without a charge: for the curator's eyes only.

Whoever may see the table may see this; nobody else. It never touches a ledger, and what it returns is no release.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inbounds.record.draft import Draft
from inbounds.record.selection import list_met
from inbounds.road.run import Place, count_exactly, other_size, read_columns
from inbounds.tables.csv_irregular import Irregular
from inbounds.tables.engine import count_rows
from inbounds.tables.places import find_irregular_records
from inbounds.tables.schema import DataError, list_read
from inbounds.tables.sources import check_types
from inbounds.tables.strays import Strays, count_strays, probes


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was found: confidential numbers, and why a release would be refused, if it would.

    ``rows`` is None where the table could not be read. ``charged`` says that the refusal would come after the charge.
    """

    rows: int | None = None
    strays: tuple[Strays, ...] = ()
    irregular: tuple[tuple[str, Irregular], ...] = ()
    refusal: str | None = None
    charged: bool = False


def inspect_table(data: Any, drafts: Mapping[str, Draft]) -> Inspection:
    """claim:inspection. What the rules of drafts would do with a table, and whether a release would go through.

    The table is opened and counted as for a release, up to where the noise would be drawn. Nothing is charged, drawn or
    written.
    """
    columns = list(dict.fromkeys(column for draft in drafts.values() for column in draft.columns))
    rules = list(dict.fromkeys(one for draft in drafts.values() for one in list_met(draft.record.statistic)))
    ruled = [rule for rule, _ in rules]
    try:
        frame = read_columns(data, list(dict.fromkeys([*columns, *list_read(ruled), *probes(ruled)])))
        check_types(frame, columns)
    except DataError as error:
        return Inspection(irregular=_find_irregular(data), refusal=str(error))
    rows, stated = count_rows(frame), next(iter(drafts.values())).terms.rows
    strays = tuple(count_strays(frame, rules))
    if stated not in (None, rows):
        return Inspection(rows, strays, refusal=str(other_size(stated)))
    try:
        count_exactly(frame, drafts)
    except DataError as error:
        return Inspection(rows, strays, refusal=str(error), charged=True)
    return Inspection(rows, strays)


def _find_irregular(data: Any) -> tuple[tuple[str, Irregular], ...]:
    """Where a CSV file is not of its form; nothing of a file that is not there or has no header."""
    try:
        return tuple(find_irregular_records(data.source, data.written)) if isinstance(data, Place) else ()
    except DataError:
        return ()
