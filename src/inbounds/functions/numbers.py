"""Statistics of one column that are a number, or one for each group."""

# Signatures show types by their names; the help has them in words.
from __future__ import annotations

from collections.abc import Mapping

from inbounds._keywords import explain
from inbounds._types import (
    Bounding,
    Bounds,
    Data,
    Ledger,
    Level,
    Levels,
    Neighbours,
    Number,
    PlausibleSpread,
    SpreadMethod,
)
from inbounds.privacy.terms import Terms
from inbounds.record.release import Release
from inbounds.road.run import column_name, release_one
from inbounds.statistics.counts import Count, Proportion
from inbounds.statistics.means import Mean, Sum
from inbounds.statistics.pooled import PooledVariance
from inbounds.statistics.spreads import StandardDeviation, Variance, choose_method


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
    """The sum of a column, within n times its bounds where n is public.

    >>> r = sum([2, 5, 3], bounds=(0, 10), epsilon=1)
    >>> 0 <= r.value <= 30
    True
    """
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

    >>> count(["yes", "no", "yes"], level="yes", epsilon=1).value in range(4)
    True
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
    method: SpreadMethod | None = None,
    plausible: PlausibleSpread | None = None,
    missing: Number | None = None,
    integer: bool = False,
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """The sample variance (denominator n - 1), never below 0 nor above what n numbers within the bounds can have.

    Of a public number of records ``method="moments"`` draws the sum of the column and that of its squares together:
    a ninth of the squared error of ``"direct"``, noise on the variance itself, where the mean lies in the middle of
    the bounds, and 1.6 times as much where it lies next to one of them. Without a method ``plausible`` chooses, for
    instance ``{"mean": (10, 20)}``; without that it is the moments, or for truncated noise the direct way.

    >>> variance([23, 35, 62, 41], bounds=(0, 100), epsilon=1).value >= 0
    True
    """
    method = method or choose_method(bounds, plausible, epsilon)
    statistic = Variance(column_name(column, data), bounds=bounds, method=method, missing=missing, integer=integer)
    return release_one(data, statistic, Terms.of(epsilon, neighbours, contributions, bounding), rows, ledger)


@explain
def standard_deviation(
    data: Data,
    column: str | None = None,
    *,
    bounds: Bounds,
    epsilon: Number,
    method: SpreadMethod | None = None,
    plausible: PlausibleSpread | None = None,
    missing: Number | None = None,
    integer: bool = False,
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """The sample standard deviation, by whichever way has the smaller error, averaged over the bounds.

    Noise on the standard deviation itself, whose sensitivity is W/√n; or the root of a variance, which is better but
    for a very large ε or standard deviations next to nothing. ``method`` and ``plausible`` say how that variance is
    made, as for `variance`. The choice depends on public numbers alone, and the record names it (``method``).

    >>> standard_deviation([23, 35, 62, 41], bounds=(0, 100), epsilon=1).value >= 0
    True
    """
    method, name = method or choose_method(bounds, plausible, epsilon), column_name(column, data)
    statistic = StandardDeviation(name, bounds=bounds, method=method, missing=missing, integer=integer)
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

    >>> table = {"age": [23, 35, 62, 41], "arm": ["a", "b", "a", "b"]}
    >>> pooled_variance(table, "age", by="arm", levels=["a", "b"], bounds=(0, 100), epsilon=1).value >= 0
    True
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
