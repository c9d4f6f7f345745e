"""Matrices of several columns."""

# With this import signatures show types by their names. The help describes them in words.
from __future__ import annotations

from collections.abc import Collection, Mapping

from inbounds._keywords import explain
from inbounds._types import (
    Bounding,
    Bounds,
    Edges,
    Ledger,
    Level,
    Levels,
    MatrixRepair,
    Method,
    MissingOfAll,
    Neighbours,
    Number,
    Table,
)
from inbounds.privacy.persons import Fold, Keep, MissingPerson, Persons
from inbounds.privacy.terms import Terms
from inbounds.record.release import Release
from inbounds.record.selection import select
from inbounds.road.run import release_one
from inbounds.statistics.matrices import Correlation, Covariance
from inbounds.statistics.moments import Moments
from inbounds.statistics.ranks import Kendall
from inbounds.statistics.regression import Regression


@explain
def covariance(
    data: Table,
    *,
    bounds: Mapping[str, Bounds],
    epsilon: Number,
    method: Method = "joint",
    repair: MatrixRepair | None = None,
    missing: MissingOfAll | None = None,
    integer: Collection[str] = (),
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
    """The sample covariance matrix (denominator n - 1) of the columns that have bounds.

    ``method`` says where the noise is added:

    - ``"joint"``: to the sums of the columns and of their products, in one draw. For up to six columns the noise has
      the shape of what one record can change (its norm ball), for more columns that of a cube.
    - ``"elements"``: to the elements of the matrix, in one draw.
    - ``"split"``: to each element with a share of ε, the variances first, then each covariance within the bounds that
      the variances imply. ``bounding="truncated"`` needs this method.

    ``repair`` says how the matrix is made positive semidefinite:

    - ``"clip"`` (the default below 20 columns): set negative eigenvalues to zero and keep the variances.
    - ``"nearest"``: take the nearest correlation matrix, by Higham's method.
    - ``"newton"`` (the default from 20 columns on, where it is closer to the truth): the same by the method of Qi and
      Sun.

    >>> table = {"age": [23, 35, 62, 41], "bmi": [21.5, 30.1, 27.0, 24.8]}
    >>> covariance(table, bounds={"age": (0, 100), "bmi": (10, 60)}, epsilon=1).value.shape
    (2, 2)
    """
    statistic = Covariance(bounds=bounds, method=method, repair=repair, missing=missing, integer=integer)
    persons = Persons.of(person, keep, order, groups, person_missing, fold)
    terms = Terms.of(epsilon, neighbours, contributions, bounding, persons=persons)
    return release_one(data, select(statistic, where, derive, time_zone), terms, rows, ledger)


@explain
def correlation(
    data: Table,
    *,
    bounds: Mapping[str, Bounds],
    epsilon: Number,
    method: Method = "joint",
    repair: MatrixRepair | None = None,
    missing: MissingOfAll | None = None,
    integer: Collection[str] = (),
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
    """The correlation matrix, computed from released covariances; see `covariance`.

    Correlations are in [-1, 1]. Those with a column whose released variance is 0 are not available (masked).

    >>> table = {"age": [23, 35, 62, 41], "bmi": [21.5, 30.1, 27.0, 24.8]}
    >>> correlation(table, bounds={"age": (0, 100), "bmi": (10, 60)}, epsilon=1).value.diagonal().tolist()
    [1.0, 1.0]
    """
    statistic = Correlation(bounds=bounds, method=method, repair=repair, missing=missing, integer=integer)
    persons = Persons.of(person, keep, order, groups, person_missing, fold)
    terms = Terms.of(epsilon, neighbours, contributions, bounding, persons=persons)
    return release_one(data, select(statistic, where, derive, time_zone), terms, rows, ledger)


@explain
def moments(
    data: Table,
    *,
    bounds: Mapping[str, Bounds],
    epsilon: Number,
    repair: MatrixRepair | None = None,
    missing: MissingOfAll | None = None,
    integer: Collection[str] = (),
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
    """Means and the covariance matrix of the columns that have bounds, and all that follows from them, in one draw.

    The value has ``mean``, ``covariance``, ``correlation``, ``variance`` and ``standard_deviation``. Noise is added to
    the sums of the columns and of their products in one draw, as for `covariance` with ``method="joint"``, so that
    everything together costs ε once.

    >>> table = {"age": [23, 35, 62, 41] * 500, "bmi": [21, 24, 29, 26] * 500}
    >>> r = moments(table, bounds={"age": (18, 100), "bmi": (12, 60)}, epsilon=1)
    >>> r.value.mean.shape, r.value.correlation.shape
    ((2,), (2, 2))
    """
    statistic = Moments(bounds=bounds, repair=repair, missing=missing, integer=integer)
    persons = Persons.of(person, keep, order, groups, person_missing, fold)
    terms = Terms.of(epsilon, neighbours, contributions, persons=persons)
    return release_one(data, select(statistic, where, derive, time_zone), terms, rows, ledger)


@explain
def regression(
    data: Table,
    column: str,
    *,
    bounds: Mapping[str, Bounds],
    levels: Mapping[str, Levels] | None = None,
    epsilon: Number,
    missing: Mapping[str, Level | Number] | None = None,
    other: Mapping[str, Level] | None = None,
    integer: Collection[str] = (),
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    person: str | None = None,
    keep: Keep = "random",
    order: str | None = None,
    groups: Mapping[str, int] | None = None,
    person_missing: MissingPerson = "skip",
    fold: Mapping[str, Fold] | None = None,
    rows: int | None = None,
    derive: Mapping[str, str] | None = None,
    time_zone: str | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """The linear regression of a column on all others that are named in ``bounds`` and ``levels``, by least squares.

    The value has the intercept, then the slope of each regressor: those with bounds, then those with levels. A column
    with levels has a slope for each level but the first, the difference from it. A value that is none of the levels is
    refused, unless ``other={"region": "north"}`` says which level it counts as; missing ones count as the level in
    ``missing``. A column of truth values has the levels ``[False, True]``.

    Noise is added to the sums of the columns and of their products in one draw, as for `moments`. The number of records
    must be public. Where noise hides the coefficients, their intervals have no ends.

    >>> table = {"y": [2.1, 3.9, 6.1, 7.9] * 2000, "x": [1, 2, 3, 4] * 2000, "group": ["a", "b", "b", "a"] * 2000}
    >>> r = regression(table, "y", bounds={"y": (0, 10), "x": (0, 5)}, levels={"group": ["a", "b"]}, epsilon=1)
    >>> r.axes[0], bool(abs(r.value[1] - 1.96) < 0.5)
    (('intercept', 'x', 'group = b'), True)
    >>> r.statistic.fit(r).r_squared > 0.9
    True
    """
    statistic = Regression(column=column, bounds=bounds, levels=levels, missing=missing, other=other, integer=integer)
    persons = Persons.of(person, keep, order, groups, person_missing, fold)
    terms = Terms.of(epsilon, neighbours, contributions, persons=persons)
    return release_one(data, select(statistic, None, derive, time_zone), terms, rows, ledger)


@explain
def kendall(
    data: Table,
    *,
    bounds: Mapping[str, Bounds] | None = None,
    edges: Mapping[str, Edges] | None = None,
    levels: Mapping[str, Levels] | None = None,
    bins: int | None = None,
    epsilon: Number,
    repair: MatrixRepair | None = None,
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
    """The matrix of Kendall's tau (tau-a) of columns whose values have an order.

    For each pair of columns, tau is the share of pairs of records that have the same order in both columns, minus the
    share that have the opposite order. A pair that is tied in a column counts as neither.

    The values of each column are grouped first. ``bounds={"age": (0, 100)}`` makes ``bins`` intervals of equal width
    (256, or fewer if there are more than 17 columns), ``edges={"income": [...]}`` gives the intervals, and
    ``levels={"grade": ["low", "middle", "high"]}`` gives levels from the lowest to the highest. What is released is
    the tau of the grouped values. The columns of the matrix are in the order given: those with bounds, then those with
    edges, then those with levels.

    One record changes each tau by at most 4/n. A single tau gets noise of its own, several get theirs in one draw.
    ``neighbours="add-remove"`` is refused, because the number of pairs that a record is part of is then protected.

    Tau is not Pearson's correlation coefficient. Only for a Gaussian copula is the latter sin(πτ/2).

    ``repair`` makes the matrix positive semidefinite, as in `covariance`.

    >>> table = {"age": [23, 35, 41, 62] * 500, "grade": ["low", "high", "low", "high"] * 500}
    >>> tau = kendall(table, bounds={"age": (0, 100)}, levels={"grade": ["low", "high"]}, epsilon=1)
    >>> tau.title, tau.value.shape
    ("Kendall's tau of age, grade", (2, 2))
    """
    statistic = Kendall(
        bounds=bounds, edges=edges, levels=levels, bins=bins, repair=repair, missing=missing, other=other
    )
    persons = Persons.of(person, keep, order, groups, person_missing, fold)
    terms = Terms.of(epsilon, neighbours, contributions, bounding, persons=persons)
    return release_one(data, select(statistic, where, derive, time_zone), terms, rows, ledger)
