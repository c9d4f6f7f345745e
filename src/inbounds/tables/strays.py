"""How many records of a column its rule refuses or changes: exact and confidential, for the curator alone.

They are counted in the same way as for a release (`inbounds.tables.engine.tally`), with rules that send what is looked
for to a separate cell. So they are the numbers that a release would meet, on every engine.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from inbounds.tables.answers import Cells
from inbounds.tables.engine import tally
from inbounds.tables.expressions import Expression
from inbounds.tables.request import Request
from inbounds.tables.schema import ELSEWHERE, Condition, Edges, Key, Levels, Numeric, Ruled
from inbounds.tables.sources import Frame, guard
from inbounds.tables.untyped import typed_name

# The rule of a column, alone or with the condition of the records that it is for.
Rule: TypeAlias = Ruled | tuple[Ruled, Expression | None]


@dataclass(frozen=True, slots=True)
class Strays:
    """Records of one column by what its rule does with them.

    ``missing`` has ``unreadable`` ones among them: fields that are there, and are no numbers. ``below`` and ``above``
    are clipped, ``other`` are none of the levels. ``met`` are all of them. The numbers are exact and confidential.
    """

    column: Ruled
    missing: int
    unreadable: int = 0
    below: int = 0
    above: int = 0
    other: int = 0
    # The condition of the records that were counted; None for all.
    where: Expression | None = None
    met: int = 0


def probes(columns: Sequence[Ruled]) -> list[Levels]:
    """Columns to read beside those of numbers, to distinguish fields that are no numbers from empty fields."""
    return [_as_text(column) for column in columns if not isinstance(column, Levels) and column.formula is None]


def _as_text(column: Ruled) -> Levels:
    return Levels(column.name, ("1",), other=ELSEWHERE, missing=ELSEWHERE)


# claim:strays
def count_strays(frame: Frame, columns: Sequence[Rule]) -> list[Strays]:
    """What the rules of some columns do with the records of a table, column by column.

    A rule with a condition only meets the records for which the condition is true. ``frame`` holds the columns, and
    their `probes` if it has no types.
    """
    rules = [rule if isinstance(rule, tuple) else (rule, None) for rule in columns]
    names = guard(lambda: frame.collect_schema().names())
    keys = [(key, where) for column, where in rules for key in _list_keys(column, names)]
    tables = iter(_tally_each(frame, keys))
    strays = []
    for column, where in rules:
        first, second = next(tables), next(tables)
        if isinstance(column, Levels):
            counts = {"missing": _at(second, len(column.levels)), "other": _at(first, len(column.levels))}
        else:
            below, missing = _at(first, 0), _at(second, 0) - _at(first, 0)
            unreadable = missing - _at(next(tables), 1) if _has_probe(column, names) else 0
            counts = {"missing": missing, "unreadable": unreadable, "below": below, "above": _at(first, 2)}
        strays.append(Strays(column, **counts, where=where, met=sum(cell[0] for cell in first.values())))
    return strays


# Keys of one pass: Dask does not group by ten.
_MOST_KEYS = 6


def _tally_each(frame: Frame, keys: Sequence[tuple[Key, Expression | None]]) -> list[Cells]:
    """The records in the cells of each key, among those that its condition selects. Polars reads the table once for all
    keys."""
    size = max(len(keys), 1) if frame.implementation.is_polars() else _MOST_KEYS
    batches = [keys[start : start + size] for start in range(0, len(keys), size)]
    tables: list[Cells] = []
    for batch in batches:
        requests = [Request((key,) if where is None else (Condition(where), key)) for key, where in batch]
        for (_, where), cells in zip(batch, tally(frame, requests), strict=True):
            inside = {place[1:]: cell for place, cell in cells.items() if place[0] == 0} if where is not None else cells
            tables.append(inside)
    return tables


def _list_keys(column: Ruled, names: Sequence[str]) -> list[Key]:
    """What is counted for a column: its two keys, and its empty fields if they can be distinguished from others."""
    empty = [replace(_as_text(column), other="1")] if _has_probe(column, names) else []
    return [*_two_keys(column), *empty]


def _has_probe(column: Ruled, names: Sequence[str]) -> bool:
    return any(typed_name(probe) in names for probe in probes([column]))


def _two_keys(column: Ruled) -> tuple[Key, Key]:
    """Cells for other levels and for missing ones; or for numbers below, within and above, with missing ones in the
    second and in the first."""
    if isinstance(column, Levels):
        plain = column.levels[0]
        return replace(column, other=ELSEWHERE, missing=plain), replace(column, other=plain, missing=ELSEWHERE)
    lower, upper = (column.lower, column.upper) if isinstance(column, Numeric) else (column.edges[0], column.edges[-1])
    low, high = float(lower), math.nextafter(float(upper), math.inf)
    ends = math.nextafter(low, -math.inf), low, high, math.nextafter(high, math.inf)
    edges = tuple(map(Fraction, ends))
    keys = [Edges(column.name, edges, fill, column.formula, column.clock, column.zone) for fill in (edges[1], edges[0])]
    return keys[0], keys[1]


def _at(cells: Cells, place: int) -> int:
    return cells[(place,)][0] if (place,) in cells else 0
