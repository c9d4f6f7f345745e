"""Variances and covariances within groups, pooled."""

# With this import signatures show types by their names. The help describes them in words.
from __future__ import annotations

from collections.abc import Collection, Mapping

from inbounds._keywords import explain
from inbounds._types import (
    Bounding,
    Bounds,
    Data,
    Ledger,
    Level,
    Levels,
    MatrixRepair,
    Missing,
    Neighbours,
    Number,
    PooledMethod,
    Table,
)
from inbounds.privacy.persons import Fold, Keep, MissingPerson, Persons
from inbounds.privacy.terms import Terms
from inbounds.record.release import Release
from inbounds.record.selection import select
from inbounds.road.run import column_name, release_one
from inbounds.statistics.pooled import PooledCovariance, PooledVariance


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
    persons = Persons.of(person, keep, order, groups, person_missing, fold)
    terms = Terms.of(epsilon, neighbours, contributions, bounding, persons=persons)
    return release_one(data, select(statistic, where, derive, time_zone), terms, rows, ledger)


@explain
def pooled_covariance(
    data: Table,
    *,
    by: str,
    levels: Levels,
    bounds: Mapping[str, Bounds],
    epsilon: Number,
    method: PooledMethod = "joint",
    repair: MatrixRepair | None = None,
    sizes: Mapping[Level, int] | None = None,
    missing: Mapping[str, Missing] | None = None,
    integer: Collection[str] = (),
    by_missing: Level | None = None,
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
    """The pooled covariance matrix within groups; see `pooled_variance` and `covariance`.

    >>> table = {"age": [23, 35, 62, 41], "bmi": [21.5, 30.1, 27.0, 24.8], "arm": ["a", "b", "a", "b"]}
    >>> bounds = {"age": (0, 100), "bmi": (10, 60)}
    >>> pooled_covariance(table, by="arm", levels=["a", "b"], bounds=bounds, epsilon=1).value.shape
    (2, 2)
    """
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
    persons = Persons.of(person, keep, order, groups, person_missing, fold)
    terms = Terms.of(epsilon, neighbours, contributions, bounding, persons=persons)
    return release_one(data, select(statistic, where, derive, time_zone), terms, rows, ledger)
