"""Statistics of one column that are a number, or one number for each group."""

# With this import signatures show types by their names. The help describes them in words.
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from inbounds import _check
from inbounds._frames import warn_caller
from inbounds._keywords import explain
from inbounds._mistakes import suggest_level
from inbounds._types import (
    Bounding,
    Bounds,
    By,
    Data,
    GroupLevels,
    GroupPlace,
    Ledger,
    Level,
    MeanMethod,
    Missing,
    Neighbours,
    Number,
    PlausibleSpread,
    SpreadMethod,
)
from inbounds.errors import UnlistedLevel
from inbounds.privacy.persons import Fold, Keep, MissingPerson, Persons
from inbounds.privacy.terms import Terms
from inbounds.record.release import Release
from inbounds.record.selection import select
from inbounds.road.run import column_name, count_in_memory, release_one
from inbounds.statistics.counts import Count, Proportion
from inbounds.statistics.means import Mean, Sum
from inbounds.statistics.spreads import StandardDeviation, Variance, choose_method


@explain
def mean(
    data: Data,
    column: str | None = None,
    *,
    bounds: Bounds,
    epsilon: Number,
    method: MeanMethod | None = None,
    missing: Missing | None = None,
    integer: bool = False,
    by: By | None = None,
    levels: GroupLevels | None = None,
    by_missing: GroupPlace | None = None,
    other: GroupPlace | None = None,
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
    persons = Persons.of(person, keep, order, groups, person_missing, fold)
    terms = Terms.of(epsilon, neighbours, contributions, bounding, persons=persons)
    return release_one(data, select(statistic, where, derive, time_zone), terms, rows, ledger)


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
    persons = Persons.of(person, keep, order, groups, person_missing, fold)
    terms = Terms.of(epsilon, neighbours, contributions, bounding, persons=persons)
    return release_one(data, select(statistic, where, derive, time_zone), terms, rows, ledger)


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
    """The number of records that have a level, or, with ``by``, the number of records in each group.

    Without ``level`` and ``by`` it counts all records, which is useful if their number is protected
    (``neighbours="add-remove"``). ``missing=True`` counts missing values as having the level, ``missing=False`` as not
    having it.

    Values that are not ``level`` count as not having it, misspelt ones included. ``levels`` lists the values that the
    column may have, and a ``level`` that is not in the list is refused. Without it, a warning shows
    (`inbounds.errors.UnlistedLevel`). An `inbounds.Table` declares them once.

    >>> count(["yes", "no", "yes"], level="yes", levels=["yes", "no"], epsilon=1).value in range(4)
    True
    """
    name = None if level is None and column is None else column_name(column, data)
    if by is None:
        levels = check_level(name, level, by, levels)
    statistic = Count(
        name,
        level=level,
        missing=missing,
        by=by,
        levels=levels,
        by_missing=by_missing,
        other=other,
    )
    persons = Persons.of(person, keep, order, groups, person_missing, fold)
    terms = Terms.of(epsilon, neighbours, contributions, bounding, persons=persons)
    return release_one(data, select(statistic, where, derive, time_zone), terms, rows, ledger)


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
    """The share of records that have a level. Without ``level`` the column must be boolean, or hold 0 and 1.

    ``missing=True`` counts missing values as having the level, ``missing=False`` as not having it. With
    ``neighbours="add-remove"`` the count can be divided by a fixed public ``denominator``.

    Values that are not ``level`` count as not having it, misspelt ones included. ``levels`` lists the values that the
    column may have, and a ``level`` that is not in the list is refused. With ``by`` it is a dictionary that has the
    groups as well: ``levels={"region": [...], "smoker": ["yes", "no"]}``. Without it, a warning shows
    (`inbounds.errors.UnlistedLevel`). An `inbounds.Table` declares them once.

    >>> 0 <= proportion(["yes", "no", "yes"], level="yes", levels=["yes", "no"], epsilon=1).value <= 1
    True
    """
    name = column_name(column, data)
    levels = check_level(name, level, by, levels)
    statistic = Proportion(
        name,
        level=level,
        missing=missing,
        denominator=denominator,
        by=by,
        levels=levels,
        by_missing=by_missing,
        other=other,
    )
    persons = Persons.of(person, keep, order, groups, person_missing, fold)
    terms = Terms.of(epsilon, neighbours, contributions, bounding, persons=persons)
    return release_one(data, select(statistic, where, derive, time_zone), terms, rows, ledger)


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
    """The sample variance (denominator n - 1), between 0 and the largest variance of n numbers within the bounds.

    ``method="moments"`` adds noise to the sum of the column and to the sum of its squares, in one draw.
    ``method="direct"`` adds noise to the variance itself. If the number of rows is public, the squared error of
    ``"moments"`` is a ninth of that of ``"direct"`` if the mean is in the middle of the bounds, and 1.6 times as much
    if the mean is close to one of them. ``method="centred"`` draws the sum first, with a small part of ε, and then the
    squares around the centre that follows from it. For many records its squared error is a twelfth in the middle of the
    bounds and as large as that of ``"direct"`` close to them. ``method="robust"`` does the same and draws fourth powers
    with the squares, for an interval that does not take records for normal; the noise is about the same. Without
    ``method``, ``plausible`` chooses, for instance ``{"mean": (10, 20)}``. Without both, the method is ``"direct"`` for
    truncated noise, ``"centred"`` if the number of rows is public and at least 500/ε, and ``"moments"``
    otherwise.

    >>> variance([23, 35, 62, 41], bounds=(0, 100), epsilon=1).value >= 0
    True
    """
    persons = Persons.of(person, keep, order, groups, person_missing, fold)
    terms = Terms.of(epsilon, neighbours, contributions, bounding, persons=persons)
    some = by is not None or where is not None or missing == "skip"
    method = method or _choose_method(data, bounds, plausible, terms, rows, some=some)
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
    return release_one(data, select(statistic, where, derive, time_zone), terms, rows, ledger)


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
    """The sample standard deviation, by the way that has the smaller error on average over the bounds.

    One way adds noise to the standard deviation itself, whose sensitivity is W/√n (W is the width of the bounds). The
    other takes the root of a noisy variance. It is better unless ε is very large or the standard deviation is close to
    zero. ``method`` and ``plausible`` say how that variance is made, as for `variance`. The choice depends on public
    numbers only, and the record says which way was taken (``method``).

    >>> standard_deviation([23, 35, 62, 41], bounds=(0, 100), epsilon=1).value >= 0
    True
    """
    persons = Persons.of(person, keep, order, groups, person_missing, fold)
    terms = Terms.of(epsilon, neighbours, contributions, bounding, persons=persons)
    some = by is not None or where is not None or missing == "skip"
    method = method or _choose_method(data, bounds, plausible, terms, rows, some=some)
    statistic = StandardDeviation(
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
    return release_one(data, select(statistic, where, derive, time_zone), terms, rows, ledger)


def check_level(
    column: str | None, level: Level | None, by: By | None, levels: GroupLevels | None
) -> GroupLevels | None:
    """Check that a level is one of those declared for its column, and return the levels of the groups alone.

    A level of text for which no levels are declared may be misspelt: a warning says how other values count.
    """
    if level is None:
        return levels
    groups = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    declared, rest = (levels, None) if by is None else (None, levels)
    if isinstance(rest, Mapping) and column is not None and column in rest and column not in groups:
        declared, rest = rest[column], {name: each for name, each in rest.items() if name != column}
        rest = rest.get(by) if isinstance(by, str) else rest
    if declared is not None:
        _require_level(column, level, declared)
    elif isinstance(level, str):
        warn_caller(
            f"all values of {column!r} but {level!r} count as not having it, misspelt ones included; list the values "
            "that it may have: levels=[...], or ib.category(...) of an ib.Table",
            UnlistedLevel,
        )
    return rest


def _require_level(column: str | None, level: Level, declared: object) -> None:
    if isinstance(declared, str | Mapping) or not isinstance(declared, Sequence):
        raise TypeError(f"levels of {column!r} must be a list, got {_check.shown(declared)}")
    level = level.item() if isinstance(level, np.generic) else level
    if (type(level), level) in {(type(each), each) for each in declared}:
        return
    meant = suggest_level(level, declared)
    near = "" if meant is None else f"; did you mean {meant!r}?"
    raise ValueError(f"level of {column!r} must be one of its levels, got {_check.shown(level)}{near}")


def _choose_method(
    data: Data, bounds: Bounds, plausible: PlausibleSpread | None, terms: Terms, rows: int | None, *, some: bool
) -> SpreadMethod | None:
    """The method of a spread that a plausible mean chooses. None for the default, which may be a centred one.

    There is one way only of ``some`` records or groups, where the number of records is secret, and for truncated noise.
    """
    one_way = some or terms.protects_rows or terms.bounding == "truncated"
    public = None if one_way else rows if isinstance(rows, int) else count_in_memory(data)
    method = choose_method(bounds, plausible, terms.epsilon, public, terms.contributions)
    return None if one_way or method == "centred" else method
