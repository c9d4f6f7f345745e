"""Statistics of one column that are a number, or one number for each group."""

# With this import signatures show types by their names. The help describes them in words.
from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from inbounds._keywords import explain
from inbounds._types import (
    Bounding,
    Bounds,
    By,
    Data,
    GroupLevels,
    GroupPlace,
    Ledger,
    Level,
    Levels,
    Missing,
    Neighbours,
    Number,
    PlausibleSpread,
    SpreadMethod,
)
from inbounds.privacy.terms import Terms
from inbounds.record.release import Release
from inbounds.record.selection import select
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
    method: SpreadMethod | None = None,
    missing: Missing | None = None,
    integer: bool = False,
    by: By | None = None,
    levels: GroupLevels | None = None,
    by_missing: GroupPlace | None = None,
    other: GroupPlace | None = None,
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    where: str | None = None,
    derive: Mapping[str, str] | None = None,
    time_zone: str | None = None,
    ledger: Ledger | None = None,
    denominator: int | None = None,
) -> Release:
    """The mean of a column, within the bounds of the column.

    ``method="moments"`` draws the sum of the column together with the sum of its squares, for an interval that is
    hardly wider than that of a mean without noise. The mean has the same Laplace noise as by ``method="direct"``, which
    has somewhat less for an ``epsilon`` above 1. Of groups, and where the number of rows is protected, its noise is 8
    to 17% larger. By default ``"moments"`` is used unless there are so few rows that the squares would tell little.

    With ``neighbours="add-remove"`` it is a noisy sum divided by a noisy count, both from one draw. With a fixed public
    ``denominator`` N it is c + Σ(x - c)/N, where c is the middle of the bounds (the mean if the table has N rows).

    ``by="region", levels=[...]`` releases the mean of each group. The sizes of groups are protected under both
    relations, so each mean is a noisy sum divided by a noisy count. ``other`` and ``by_missing`` name the group for
    values that are not a level and for missing values.

    >>> r = mean([23, 35, 62, 41], bounds=(0, 100), epsilon=1)
    >>> 0 <= r.value <= 100
    True
    """
    statistic = Mean(
        column_name(column, data),
        bounds=bounds,
        method=method,
        missing=missing,
        integer=integer,
        by=by,
        levels=levels,
        by_missing=by_missing,
        other=other,
        denominator=denominator,
    )
    return release_one(
        data,
        select(statistic, where, derive, time_zone),
        Terms.of(epsilon, neighbours, contributions, bounding),
        rows,
        ledger,
    )


@explain
def sum(  # noqa: A001
    data: Data,
    column: str | None = None,
    *,
    bounds: Bounds,
    epsilon: Number,
    missing: Missing | None = None,
    integer: bool = False,
    by: By | None = None,
    levels: GroupLevels | None = None,
    by_missing: GroupPlace | None = None,
    other: GroupPlace | None = None,
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    where: str | None = None,
    derive: Mapping[str, str] | None = None,
    time_zone: str | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """The sum of a column. If the number of rows n is public, it lies within n times the bounds.

    >>> r = sum([2, 5, 3], bounds=(0, 10), epsilon=1)
    >>> 0 <= r.value <= 30
    True
    """
    statistic = Sum(
        column_name(column, data),
        bounds=bounds,
        missing=missing,
        integer=integer,
        by=by,
        levels=levels,
        by_missing=by_missing,
        other=other,
    )
    return release_one(
        data,
        select(statistic, where, derive, time_zone),
        Terms.of(epsilon, neighbours, contributions, bounding),
        rows,
        ledger,
    )


@explain
def count(
    data: Data,
    column: str | None = None,
    *,
    level: Level | None = None,
    epsilon: Number,
    missing: bool | Literal["skip"] | None = None,
    by: By | None = None,
    levels: GroupLevels | None = None,
    by_missing: GroupPlace | None = None,
    other: GroupPlace | None = None,
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    where: str | None = None,
    derive: Mapping[str, str] | None = None,
    time_zone: str | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """The number of records that have a level, or, with ``by``, the number of records in each group.

    Without ``level`` and ``by`` it counts all records, which is useful if their number is protected
    (``neighbours="add-remove"``). ``missing=True`` counts missing values as having the level, ``missing=False`` as not
    having it.

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
    return release_one(
        data,
        select(statistic, where, derive, time_zone),
        Terms.of(epsilon, neighbours, contributions, bounding),
        rows,
        ledger,
    )


@explain
def proportion(
    data: Data,
    column: str | None = None,
    *,
    level: Level | None = None,
    epsilon: Number,
    missing: bool | Literal["skip"] | None = None,
    by: By | None = None,
    levels: GroupLevels | None = None,
    by_missing: GroupPlace | None = None,
    other: GroupPlace | None = None,
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    where: str | None = None,
    derive: Mapping[str, str] | None = None,
    time_zone: str | None = None,
    ledger: Ledger | None = None,
    denominator: int | None = None,
) -> Release:
    """The share of records that have a level. Without ``level`` the column must be boolean, or hold 0 and 1.

    ``missing=True`` counts missing values as having the level, ``missing=False`` as not having it. With
    ``neighbours="add-remove"`` the count can be divided by a fixed public ``denominator``.

    >>> 0 <= proportion(["yes", "no", "yes"], level="yes", epsilon=1).value <= 1
    True
    """
    statistic = Proportion(
        column_name(column, data),
        level=level,
        missing=missing,
        denominator=denominator,
        by=by,
        levels=levels,
        by_missing=by_missing,
        other=other,
    )
    return release_one(
        data,
        select(statistic, where, derive, time_zone),
        Terms.of(epsilon, neighbours, contributions, bounding),
        rows,
        ledger,
    )


@explain
def variance(
    data: Data,
    column: str | None = None,
    *,
    bounds: Bounds,
    epsilon: Number,
    method: SpreadMethod | None = None,
    plausible: PlausibleSpread | None = None,
    missing: Missing | None = None,
    integer: bool = False,
    by: By | None = None,
    levels: GroupLevels | None = None,
    by_missing: GroupPlace | None = None,
    other: GroupPlace | None = None,
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    where: str | None = None,
    derive: Mapping[str, str] | None = None,
    time_zone: str | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """The sample variance (denominator n - 1), between 0 and the largest variance of n numbers within the bounds.

    ``method="moments"`` adds noise to the sum of the column and to the sum of its squares, in one draw.
    ``method="direct"`` adds noise to the variance itself. If the number of rows is public, the squared error of
    ``"moments"`` is a ninth of that of ``"direct"`` if the mean is in the middle of the bounds, and 1.6 times as much
    if the mean is close to one of them. Without ``method``, ``plausible`` chooses, for instance
    ``{"mean": (10, 20)}``. Without both, the method is ``"moments"``, or ``"direct"`` for truncated noise.

    >>> variance([23, 35, 62, 41], bounds=(0, 100), epsilon=1).value >= 0
    True
    """
    method = method or choose_method(bounds, plausible, epsilon)
    statistic = Variance(
        column_name(column, data),
        bounds=bounds,
        method=method,
        missing=missing,
        integer=integer,
        by=by,
        levels=levels,
        by_missing=by_missing,
        other=other,
    )
    return release_one(
        data,
        select(statistic, where, derive, time_zone),
        Terms.of(epsilon, neighbours, contributions, bounding),
        rows,
        ledger,
    )


@explain
def standard_deviation(
    data: Data,
    column: str | None = None,
    *,
    bounds: Bounds,
    epsilon: Number,
    method: SpreadMethod | None = None,
    plausible: PlausibleSpread | None = None,
    missing: Missing | None = None,
    integer: bool = False,
    by: By | None = None,
    levels: GroupLevels | None = None,
    by_missing: GroupPlace | None = None,
    other: GroupPlace | None = None,
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    where: str | None = None,
    derive: Mapping[str, str] | None = None,
    time_zone: str | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """The sample standard deviation, by the way that has the smaller error on average over the bounds.

    One way adds noise to the standard deviation itself, whose sensitivity is W/√n (W is the width of the bounds). The
    other takes the root of a noisy variance. It is better unless ε is very large or the standard deviation is close to
    zero. ``method`` and ``plausible`` say how that variance is made, as for `variance`. The choice depends on public
    numbers only, and the record says which way was taken (``method``).

    >>> standard_deviation([23, 35, 62, 41], bounds=(0, 100), epsilon=1).value >= 0
    True
    """
    method, name = method or choose_method(bounds, plausible, epsilon), column_name(column, data)
    statistic = StandardDeviation(
        name,
        bounds=bounds,
        method=method,
        missing=missing,
        integer=integer,
        by=by,
        levels=levels,
        by_missing=by_missing,
        other=other,
    )
    return release_one(
        data,
        select(statistic, where, derive, time_zone),
        Terms.of(epsilon, neighbours, contributions, bounding),
        rows,
        ledger,
    )


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
    missing: Missing | None = None,
    integer: bool = False,
    by_missing: Level | None = None,
    other: Level | None = None,
    bounding: Bounding = "bit",
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    where: str | None = None,
    derive: Mapping[str, str] | None = None,
    time_zone: str | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """The pooled variance within J groups: Σ_j Σ (x - mean_j)² / (n - J).

    By default the sizes of groups are protected, and a record may change its group. ``sizes={level: n_j}`` says that
    they are public and that no record can change its group, as in a designed experiment; the table must have these
    sizes. With ``neighbours="add-remove"`` the variance is computed from noisy sums and counts.

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
    return release_one(
        data,
        select(statistic, where, derive, time_zone),
        Terms.of(epsilon, neighbours, contributions, bounding),
        rows,
        ledger,
    )
