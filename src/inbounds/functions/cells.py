"""Counts and shares of levels, of intervals, and of their combinations."""

# Signatures show types by their names; the help has them in words.
from __future__ import annotations

from collections.abc import Mapping, Sequence

from inbounds._keywords import explain
from inbounds._types import (
    Bounding,
    CountRepair,
    Data,
    Edges,
    HistogramRepair,
    Ledger,
    Level,
    Levels,
    Neighbours,
    Number,
    ShareRepair,
    Table,
    Tree,
)
from inbounds.privacy.terms import Terms
from inbounds.record.release import Release
from inbounds.road.run import column_name, release_one
from inbounds.statistics.tables import Crosstab, Histogram, Proportions


@explain
def histogram(
    data: Data,
    column: str | None = None,
    *,
    levels: Levels | None = None,
    edges: Edges | None = None,
    epsilon: Number,
    repair: HistogramRepair | None = None,
    tree: Tree | None = None,
    level_shares: Sequence[Number] | None = None,
    missing: Level | Number | None = None,
    other: Level | None = None,
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """How many records have each level, or fall between each two edges.

    Intervals are [edge, next edge), the last one closed; numbers beyond the ends count in the first or last interval.
    ``missing`` names a level, or a number between the edges; ``other`` the level of all values that are none of them.

    ``repair`` is how counts are made to add up:

    - ``"project"`` (the default for a public number of rows): noise that keeps the sum, then the nearest whole numbers
      that add up to the number of rows.
    - ``"none"`` (the default where that number is protected, and with truncation): each count has noise of its own.
    - ``"tree"``: counts of groups, too, made to agree, for sums over ranges of many levels; see `proportions`.

    >>> r = histogram(["a", "b", "a"], levels=["a", "b", "c"], epsilon=1)
    >>> r.value.shape, int(r.value.sum())
    ((3,), 3)
    """
    statistic = Histogram(
        column_name(column, data),
        levels=levels,
        edges=edges,
        repair=repair,
        tree=tree,
        level_shares=level_shares,
        missing=missing,
        other=other,
    )
    return release_one(data, statistic, Terms.of(epsilon, neighbours, contributions, bounding), rows, ledger)


@explain
def proportions(
    data: Data,
    column: str | None = None,
    *,
    levels: Levels | None = None,
    edges: Edges | None = None,
    epsilon: Number,
    repair: ShareRepair | None = None,
    derived: Level | None = None,
    tree: Tree | None = None,
    level_shares: Sequence[Number] | None = None,
    missing: Level | Number | None = None,
    other: Level | None = None,
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Ledger | None = None,
    denominator: int | None = None,
) -> Release:
    """The share of the records that have each level, or fall between each two edges; see `histogram`.

    They sum to one, by ``repair``:

    - ``"project"`` (the default): the nearest vector that does. With a public number of rows the noise keeps the sum,
      which makes it smaller; otherwise each share has noise of its own.
    - ``"rescale"``: over their sum. With add-remove and no ``denominator`` this is what is done.
    - ``"all-but-one"``: the share of the level ``derived`` is what the others leave of one.
    - ``"tree"``: counts of groups, too, made to agree (a universal histogram). ``tree`` has the levels in nested
      groups, ``(("a", "b"), ("c", "d"))``, each level of which has an equal share of epsilon, or its share of
      ``level_shares``. Without a tree there are about √K groups of √K neighbours, and the shares that are best for
      sums over ranges. Such sums are better from about 100 levels on, single shares worse.

    >>> round(float(proportions(["a", "b", "b"], levels=["a", "b", "c"], epsilon=1).value.sum()), 12)
    1.0
    """
    statistic = Proportions(
        column_name(column, data),
        levels=levels,
        edges=edges,
        repair=repair,
        derived=derived,
        tree=tree,
        level_shares=level_shares,
        missing=missing,
        other=other,
        denominator=denominator,
    )
    return release_one(data, statistic, Terms.of(epsilon, neighbours, contributions, bounding), rows, ledger)


@explain
def crosstab(
    data: Table,
    *,
    levels: Mapping[str, Levels] | None = None,
    edges: Mapping[str, Edges] | None = None,
    epsilon: Number,
    repair: CountRepair | None = None,
    missing: Mapping[str, Level | Number] | None = None,
    other: Mapping[str, Level] | None = None,
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """How many records have each combination of levels of several columns.

    ``levels={"region": [...], "smoker": [...]}`` and, for intervals of numbers, ``edges={"age": [...]}``; ``missing``
    and ``other`` by column, too. Axes are in the order given, levels first. Counts are whole numbers that add
    up to the public number of rows, and so do all margins; ``repair="none"``: as they were drawn, see `histogram`.

    >>> table = {"region": ["n", "s", "n"], "smoker": [True, False, False]}
    >>> counts = crosstab(table, levels={"region": ["n", "s"], "smoker": [True, False]}, epsilon=1).value
    >>> counts.shape, int(counts.sum())
    ((2, 2), 3)
    """
    statistic = Crosstab(levels=levels, edges=edges, repair=repair, missing=missing, other=other)
    return release_one(data, statistic, Terms.of(epsilon, neighbours, contributions, bounding), rows, ledger)
