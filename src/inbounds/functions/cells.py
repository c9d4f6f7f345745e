"""Counts and shares of levels, of intervals, and of their combinations."""

# With this import signatures show types by their names. The help describes them in words.
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
from inbounds.privacy.persons import Fold, Keep, MissingPerson, Persons
from inbounds.privacy.terms import Terms
from inbounds.record.release import Release
from inbounds.record.selection import select
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
    person: str | None = None,
    keep: Keep = "random",
    order: str | None = None,
    groups: Mapping[str, int] | None = None,
    person_missing: MissingPerson = "skip",
    fold: Mapping[str, Fold] | None = None,
    rows: int | None = None,
    where: str | None = None,
    derive: Mapping[str, str] | None = None,
    time_zone: str | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """The number of records with each level, or in each interval between two edges.

    An interval contains its lower edge but not its upper one, except for the last, which contains both. Numbers beyond
    the outer edges are counted in the first or last interval. ``missing`` is the level, or a number between the edges,
    that missing values count as. ``other`` is the level that all other values count as.

    ``repair`` says how the counts are made to add up:

    - ``"project"`` (the default if the number of rows is public): the noise keeps the sum, and the result is rounded
      to the nearest whole numbers that add up to the number of rows.
    - ``"none"`` (the default if that number is protected, and for truncated noise): each count has independent noise.
    - ``"tree"``: groups of levels are counted too, and all counts are made to agree. This is better for sums over
      ranges of many levels; see `proportions`.

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
    persons = Persons.of(person, keep, order, groups, person_missing, fold)
    terms = Terms.of(epsilon, neighbours, contributions, bounding, persons=persons)
    return release_one(data, select(statistic, where, derive, time_zone), terms, rows, ledger)


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
    person: str | None = None,
    keep: Keep = "random",
    order: str | None = None,
    groups: Mapping[str, int] | None = None,
    person_missing: MissingPerson = "skip",
    fold: Mapping[str, Fold] | None = None,
    rows: int | None = None,
    where: str | None = None,
    derive: Mapping[str, str] | None = None,
    time_zone: str | None = None,
    ledger: Ledger | None = None,
    denominator: int | None = None,
) -> Release:
    """The share of records with each level, or in each interval between two edges; see `histogram`.

    ``repair`` says how the shares are made to sum to one:

    - ``"project"`` (the default): take the nearest vector of shares. If the number of rows is public, the noise keeps
      the sum and is smaller for it; otherwise each share has independent noise.
    - ``"rescale"``: divide by their sum. This is the default for ``"add-remove"`` without a ``denominator``.
    - ``"all-but-one"``: the share of the level ``derived`` is one minus the sum of the others.
    - ``"tree"``: groups of levels are counted too, and all counts are made to agree (a universal histogram). ``tree``
      has the levels in nested groups, ``(("a", "b"), ("c", "d"))``. The depths of the tree share epsilon equally, or
      as ``level_shares`` says. Without ``tree`` there are about √K groups of √K neighbouring levels, with the split of
      epsilon that is best for sums over ranges. From about 100 levels on such sums are more accurate than with the
      other repairs; single shares are less accurate.

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
    persons = Persons.of(person, keep, order, groups, person_missing, fold)
    terms = Terms.of(epsilon, neighbours, contributions, bounding, persons=persons)
    return release_one(data, select(statistic, where, derive, time_zone), terms, rows, ledger)


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
    person: str | None = None,
    keep: Keep = "random",
    order: str | None = None,
    groups: Mapping[str, int] | None = None,
    person_missing: MissingPerson = "skip",
    fold: Mapping[str, Fold] | None = None,
    rows: int | None = None,
    where: str | None = None,
    derive: Mapping[str, str] | None = None,
    time_zone: str | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """The number of records with each combination of levels of several columns.

    Columns have levels, ``levels={"region": [...], "smoker": [...]}``, or intervals of numbers,
    ``edges={"age": [...]}``. ``missing`` and ``other`` are also given by column. The axes are in the order given,
    columns with levels first. The counts are whole numbers that add up to the public number of rows, and so do all
    margins. ``repair="none"`` leaves the counts as they were drawn; see `histogram`.

    >>> table = {"region": ["n", "s", "n"], "smoker": [True, False, False]}
    >>> counts = crosstab(table, levels={"region": ["n", "s"], "smoker": [True, False]}, epsilon=1).value
    >>> counts.shape, int(counts.sum())
    ((2, 2), 3)
    """
    statistic = Crosstab(levels=levels, edges=edges, repair=repair, missing=missing, other=other)
    persons = Persons.of(person, keep, order, groups, person_missing, fold)
    terms = Terms.of(epsilon, neighbours, contributions, bounding, persons=persons)
    return release_one(data, select(statistic, where, derive, time_zone), terms, rows, ledger)
