"""Tables of counts and shares: histogram, proportions, crosstab."""

from collections.abc import Mapping, Sequence
from typing import Any

from inbounds.record import Release
from inbounds.releases.draw import Promise
from inbounds.releases.keywords import explained
from inbounds.releases.kinds import table_counts
from inbounds.releases.opening import column_name, fixed_denominator, key_of
from inbounds.tables.schema import Level


@explained
def histogram(
    data: Any,
    column: str | None = None,
    *,
    levels: Sequence[Level] | None = None,
    edges: Sequence[Any] | None = None,
    epsilon: Any,
    missing: Any = None,
    other: Level | None = None,
    bounding: str = "bit",
    neighbours: str = "substitute",
    contributions: int = 1,
    rows: int | None = None,
) -> Release:
    """How many records have each level, or fall between each two edges.

    Intervals are [edge, next edge), the last one closed; numbers beyond the ends count in the first or last interval.
    ``missing`` names a level, or a number between the edges; ``other`` the level of all values that are none of them.

    >>> r = histogram(["a", "b", "a"], levels=["a", "b", "c"], epsilon=1)
    >>> r.value.shape
    (3,)
    """
    promise = Promise.of(epsilon, neighbours, contributions, bounding)
    key = key_of(column_name(column, data), levels, edges, missing, other)
    return table_counts("histogram", data, [key], promise, rows)


@explained
def proportions(
    data: Any,
    column: str | None = None,
    *,
    levels: Sequence[Level] | None = None,
    edges: Sequence[Any] | None = None,
    epsilon: Any,
    missing: Any = None,
    other: Level | None = None,
    bounding: str = "bit",
    neighbours: str = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    denominator: int | None = None,
) -> Release:
    """The share of the records that have each level, or fall between each two edges; see `histogram`.

    Each share lies in [0, 1]. With add-remove they are noisy counts over their own sum, or over a fixed public
    ``denominator``.
    """
    promise = Promise.of(epsilon, neighbours, contributions, bounding)
    key = key_of(column_name(column, data), levels, edges, missing, other)
    fixed = fixed_denominator(denominator, promise)
    return table_counts("proportions", data, [key], promise, rows, denominator=fixed)


@explained
def crosstab(
    data: Any,
    *,
    levels: Mapping[str, Sequence[Level]] | None = None,
    edges: Mapping[str, Sequence[Any]] | None = None,
    epsilon: Any,
    missing: Mapping[str, Any] | None = None,
    other: Mapping[str, Level] | None = None,
    bounding: str = "bit",
    neighbours: str = "substitute",
    contributions: int = 1,
    rows: int | None = None,
) -> Release:
    """How many records have each combination of levels of several columns.

    ``levels={"region": [...], "smoker": [...]}`` and, for intervals of numbers, ``edges={"age": [...]}``; ``missing``
    and ``other`` by column, too. Axes are in the order given, levels first.

    >>> table = {"region": ["n", "s", "n"], "smoker": [True, False, False]}
    >>> crosstab(table, levels={"region": ["n", "s"], "smoker": [True, False]}, epsilon=1).value.shape
    (2, 2)
    """
    promise = Promise.of(epsilon, neighbours, contributions, bounding)
    by_level, by_edge = _by_column(levels, "levels"), _by_column(edges, "edges")
    fills, others = _by_column(missing, "missing"), _by_column(other, "other")
    names = [*by_level, *by_edge]
    if not names or len(set(names)) < len(names):
        raise TypeError("crosstab needs levels={column: [...]} or edges={column: [...]}, one of them for each column")
    for rules, word in ((fills, "missing"), (others, "other")):
        for name in rules:
            if name not in names:
                raise ValueError(f"{word} names {name!r}, which is none of the columns of the table asked for")
    keys = [key_of(n, by_level.get(n), by_edge.get(n), fills.get(n), others.get(n)) for n in names]
    return table_counts("crosstab", data, keys, promise, rows)


def _by_column(rules: Mapping[str, Any] | None, word: str) -> Mapping[str, Any]:
    if rules is not None and not isinstance(rules, Mapping):
        raise TypeError(f"{word} must be a dictionary from columns, as in {word}={{'region': ...}}")
    return rules or {}
