"""The release functions: each takes a table and keywords, makes the statistic that they describe, and releases it.

Every function takes a table and the name of a column, or the column itself: a list, an array, a Series. Under
``neighbours="substitute"`` (one record takes another value) the number of rows is public; with ``"add-remove"`` (one
record comes or goes) it is protected, and means are made of a noisy sum and a noisy count.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from inbounds._keywords import explain
from inbounds._types import (
    Bounding,
    Bounds,
    CountRepair,
    Data,
    Edges,
    Ledger,
    Level,
    Levels,
    MatrixRepair,
    Method,
    Neighbours,
    Number,
    ShareRepair,
    Table,
)
from inbounds.privacy.terms import Terms
from inbounds.record.release import Release
from inbounds.road.run import column_name, release_one
from inbounds.statistics.counts import Count, Proportion
from inbounds.statistics.matrices import Correlation, Covariance
from inbounds.statistics.means import Mean, Sum
from inbounds.statistics.pooled import PooledCovariance, PooledVariance
from inbounds.statistics.spreads import StandardDeviation, Variance
from inbounds.statistics.tables import Crosstab, Histogram, Proportions


@explain
def mean(
    data: Data,
    column: str | None = None,
    *,
    bounds: Bounds,
    epsilon: Number,
    missing: Number | None = None,
    integer: bool = False,
    by: str | None = None,
    levels: Levels | None = None,
    by_missing: Level | None = None,
    other: Level | None = None,
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Ledger | None = None,
    denominator: int | None = None,
) -> Release:
    """The mean of a column within its bounds.

    ``neighbours="add-remove"``: a noisy sum over a noisy count, drawn together; or, with a fixed public
    ``denominator`` N, c + Σ(x - c)/N with c the middle of the bounds (the mean of a table of N rows).

    ``by="region", levels=[...]``: the mean of each group. Sizes of groups are secret under both relations, so each is a
    noisy sum over a noisy count. ``other`` and ``by_missing`` name the group of other and of missing levels.

    >>> r = mean([23, 35, 62, 41], bounds=(0, 100), epsilon=1)
    >>> 0 <= r.value <= 100
    True
    """
    statistic = Mean(
        column_name(column, data),
        bounds=bounds,
        missing=missing,
        integer=integer,
        by=by,
        levels=levels,
        by_missing=by_missing,
        other=other,
        denominator=denominator,
    )
    return release_one(data, statistic, Terms.of(epsilon, neighbours, contributions, bounding), rows, ledger)


@explain
def sum(  # noqa: A001
    data: Data,
    column: str | None = None,
    *,
    bounds: Bounds,
    epsilon: Number,
    missing: Number | None = None,
    integer: bool = False,
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """The sum of a column, within n times its bounds where n is public."""
    statistic = Sum(column_name(column, data), bounds=bounds, missing=missing, integer=integer)
    return release_one(data, statistic, Terms.of(epsilon, neighbours, contributions, bounding), rows, ledger)


@explain
def count(
    data: Data,
    column: str | None = None,
    *,
    level: Level | None = None,
    epsilon: Number,
    missing: bool | None = None,
    by: str | None = None,
    levels: Levels | None = None,
    by_missing: Level | None = None,
    other: Level | None = None,
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """How many records have a level, or, with ``by``, how many each group has.

    Without a level or groups it counts all records, which makes sense where their number is protected
    (``neighbours="add-remove"``). ``missing=True`` counts missing values as having the level, False as not having it.
    """
    statistic = Count(
        None if level is None and column is None else column_name(column, data),
        level=level,
        missing=missing,
        by=by,
        levels=levels,
        by_missing=by_missing,
        other=other,
    )
    return release_one(data, statistic, Terms.of(epsilon, neighbours, contributions, bounding), rows, ledger)


@explain
def proportion(
    data: Data,
    column: str | None = None,
    *,
    level: Level | None = None,
    epsilon: Number,
    missing: bool | None = None,
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Ledger | None = None,
    denominator: int | None = None,
) -> Release:
    """The share of the records that have a level; without one, of a column of booleans or of 0 and 1.

    ``missing=True`` counts missing values as having it, False as not having it; without it they are refused.
    ``denominator`` divides by a fixed public number (``neighbours="add-remove"``).

    >>> 0 <= proportion(["yes", "no", "yes"], level="yes", epsilon=1).value <= 1
    True
    """
    statistic = Proportion(column_name(column, data), level=level, missing=missing, denominator=denominator)
    return release_one(data, statistic, Terms.of(epsilon, neighbours, contributions, bounding), rows, ledger)


@explain
def variance(
    data: Data,
    column: str | None = None,
    *,
    bounds: Bounds,
    epsilon: Number,
    missing: Number | None = None,
    integer: bool = False,
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """The sample variance (denominator n - 1), never below 0 nor above what n numbers within the bounds can have."""
    statistic = Variance(column_name(column, data), bounds=bounds, missing=missing, integer=integer)
    return release_one(data, statistic, Terms.of(epsilon, neighbours, contributions, bounding), rows, ledger)


@explain
def standard_deviation(
    data: Data,
    column: str | None = None,
    *,
    bounds: Bounds,
    epsilon: Number,
    missing: Number | None = None,
    integer: bool = False,
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """The sample standard deviation, by whichever of two ways has the smaller error, averaged over the bounds.

    Noise on the standard deviation itself, whose sensitivity is W/√n; or the root of a released variance, which is
    better but for a large ε or standard deviations next to nothing. The choice depends on public numbers alone,
    and the record names it (``method``).
    """
    statistic = StandardDeviation(column_name(column, data), bounds=bounds, missing=missing, integer=integer)
    return release_one(data, statistic, Terms.of(epsilon, neighbours, contributions, bounding), rows, ledger)


@explain
def histogram(
    data: Data,
    column: str | None = None,
    *,
    levels: Levels | None = None,
    edges: Edges | None = None,
    epsilon: Number,
    repair: CountRepair | None = None,
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

    Each count has noise of its own, so that they need not add up to a public number of rows. ``repair="project"``:
    whole numbers that do, from noise that keeps the sum.

    >>> r = histogram(["a", "b", "a"], levels=["a", "b", "c"], epsilon=1)
    >>> r.value.shape
    (3,)
    """
    statistic = Histogram(
        column_name(column, data), levels=levels, edges=edges, repair=repair, missing=missing, other=other
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
    tree: Sequence[Any] | None = None,
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
      groups, ``(("a", "b"), ("c", "d"))``; without it neighbours are paired. Sums over many levels are better for it,
      single shares worse.

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
    and ``other`` by column, too. Axes are in the order given, levels first. ``repair="project"``: whole numbers that
    add up to the public number of rows, and so do all margins.

    >>> table = {"region": ["n", "s", "n"], "smoker": [True, False, False]}
    >>> crosstab(table, levels={"region": ["n", "s"], "smoker": [True, False]}, epsilon=1).value.shape
    (2, 2)
    """
    statistic = Crosstab(levels=levels, edges=edges, repair=repair, missing=missing, other=other)
    return release_one(data, statistic, Terms.of(epsilon, neighbours, contributions, bounding), rows, ledger)


@explain
def covariance(
    data: Table,
    *,
    bounds: Mapping[str, Bounds],
    epsilon: Number,
    method: Method = "joint",
    repair: MatrixRepair | None = None,
    missing: Mapping[str, Number] | None = None,
    integer: Collection[str] = (),
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """The sample covariance matrix (denominator n - 1) of the columns that have bounds.

    ``method="joint"`` draws all elements together with sup-norm noise, which is better than ``"split"``, each with a
    share of ε: variances first, then each covariance within what they allow. ``bounding="truncated"`` needs the latter.

    ``repair`` makes the matrix positive semidefinite: ``"clip"`` its eigenvalues and keep the variances (the default
    below 20 columns), or the nearest correlations, ``"nearest"`` (Higham) or ``"newton"`` (Qi and Sun; the default from
    20 columns on, where it is nearer to the truth).
    """
    statistic = Covariance(bounds=bounds, method=method, repair=repair, missing=missing, integer=integer)
    return release_one(data, statistic, Terms.of(epsilon, neighbours, contributions, bounding), rows, ledger)


@explain
def correlation(
    data: Table,
    *,
    bounds: Mapping[str, Bounds],
    epsilon: Number,
    method: Method = "joint",
    repair: MatrixRepair | None = None,
    missing: Mapping[str, Number] | None = None,
    integer: Collection[str] = (),
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """The correlation matrix, from released covariances: within [-1, 1], and 0 next to a released variance of 0."""
    statistic = Correlation(bounds=bounds, method=method, repair=repair, missing=missing, integer=integer)
    return release_one(data, statistic, Terms.of(epsilon, neighbours, contributions, bounding), rows, ledger)


@explain
def pooled_variance(
    data: Data,
    column: str | None = None,
    *,
    by: str,
    levels: Levels,
    bounds: Bounds,
    epsilon: Number,
    sizes: Mapping[Level, int] | None = None,
    missing: Number | None = None,
    integer: bool = False,
    by_missing: Level | None = None,
    other: Level | None = None,
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """The variance within groups, pooled: Σ_j Σ (x - mean_j)² / (n - J).

    Sizes of groups are secret and a record may be in any. ``sizes={level: n_j}`` says that they are public and that no
    record changes its group (a design, not an answer); it is checked. With add-remove noisy sums and counts are used.
    """
    statistic = PooledVariance(
        column_name(column, data),
        by=by,
        levels=levels,
        bounds=bounds,
        sizes=sizes,
        missing=missing,
        integer=integer,
        by_missing=by_missing,
        other=other,
    )
    return release_one(data, statistic, Terms.of(epsilon, neighbours, contributions, bounding), rows, ledger)


@explain
def pooled_covariance(
    data: Table,
    *,
    by: str,
    levels: Levels,
    bounds: Mapping[str, Bounds],
    epsilon: Number,
    method: Method = "joint",
    repair: MatrixRepair | None = None,
    sizes: Mapping[Level, int] | None = None,
    missing: Mapping[str, Number] | None = None,
    integer: Collection[str] = (),
    by_missing: Level | None = None,
    other: Level | None = None,
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """The covariance matrix within groups, pooled; see `pooled_variance` and `covariance`."""
    statistic = PooledCovariance(
        by=by,
        levels=levels,
        bounds=bounds,
        method=method,
        repair=repair,
        sizes=sizes,
        missing=missing,
        integer=integer,
        by_missing=by_missing,
        other=other,
    )
    return release_one(data, statistic, Terms.of(epsilon, neighbours, contributions, bounding), rows, ledger)
