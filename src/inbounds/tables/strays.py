"""How many records of a column its rule does not take as they are: exact and confidential, for the curator alone.

They are counted by the same road as a release (`inbounds.tables.engine.tally`), with rules that send what is looked for
to a cell of its own. So they are the numbers that a release would meet, on every engine.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from inbounds.tables.answers import Cells
from inbounds.tables.engine import count_rows, tally
from inbounds.tables.request import Request
from inbounds.tables.schema import ELSEWHERE, Edges, Key, Levels, Numeric, Ruled
from inbounds.tables.sources import Frame, guard
from inbounds.tables.untyped import typed_name


@dataclass(frozen=True, slots=True)
class Strays:
    """Records of one column by what its rule does with them.

    ``missing`` has ``unreadable`` ones among them: fields that are there, and are no numbers. ``below`` and ``above``
    are clipped, ``other`` are none of the levels. The numbers are exact and confidential.
    """

    column: Ruled
    missing: int
    unreadable: int = 0
    below: int = 0
    above: int = 0
    other: int = 0


def probes(columns: Sequence[Ruled]) -> list[Levels]:
    """Columns to read beside those of numbers, which tell fields that are no numbers from empty ones."""
    return [_as_text(column) for column in columns if not isinstance(column, Levels) and column.formula is None]


def _as_text(column: Ruled) -> Levels:
    return Levels(column.name, ("1",), other=ELSEWHERE, missing=ELSEWHERE)


def count_strays(frame: Frame, columns: Sequence[Ruled]) -> list[Strays]:
    """claim:strays. What the rules of some columns do with the records of a table, column by column.

    ``frame`` holds the columns, and `probes` of them where it has no types of its own.
    """
    found = iter(_tally_each(frame, [key for column in columns for key in _two_keys(column)]))
    empty = _count_empty(frame, columns)
    made = []
    for column in columns:
        first, second = next(found), next(found)
        if isinstance(column, Levels):
            made.append(Strays(column, missing=_at(second, len(column.levels)), other=_at(first, len(column.levels))))
            continue
        below, above = _at(first, 0), _at(first, 2)
        missing = _at(second, 0) - below
        unreadable = missing - empty.get(column.name, missing)
        made.append(Strays(column, missing, unreadable, below, above))
    return made


# Keys of one pass: Dask does not group by ten.
_MOST_KEYS = 6


def _tally_each(frame: Frame, keys: Sequence[Key]) -> list[Cells]:
    """The records in the cells of each key; Polars reads the table once for all of them."""
    size = max(len(keys), 1) if frame.implementation.is_polars() else _MOST_KEYS
    batches = [keys[start : start + size] for start in range(0, len(keys), size)]
    return [cells for batch in batches for cells in tally(frame, [Request((key,)) for key in batch])]


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
    made = [Edges(column.name, edges, fill, column.formula, column.clock) for fill in (edges[1], edges[0])]
    return made[0], made[1]


def _at(cells: Cells, place: int) -> int:
    return cells[(place,)][0] if (place,) in cells else 0


def _count_empty(frame: Frame, columns: Sequence[Ruled]) -> dict[str, int]:
    """By the name of a column of numbers, how many fields are empty; columns with types of their own are left out."""
    import narwhals as nw

    known = guard(lambda: frame.collect_schema().names())
    names = {one.name: typed_name(one) for one in probes(columns) if typed_name(one) in known}
    if not names or not count_rows(frame):
        return {}
    sums = [nw.col(name).is_null().sum().alias(f"n{place}") for place, name in enumerate(names.values())]
    answer = guard(lambda: frame.lazy().select(*sums).collect())
    return {name: int(answer[f"n{place}"][0]) for place, name in enumerate(names)}
