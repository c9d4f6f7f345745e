"""Matrices of several columns."""

# Signatures show types by their names; the help has them in words.
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
    Neighbours,
    Number,
    PooledMethod,
    Table,
)
from inbounds.privacy.terms import Terms
from inbounds.record.release import Release
from inbounds.road.run import release_one
from inbounds.statistics.matrices import Correlation, Covariance
from inbounds.statistics.moments import Moments
from inbounds.statistics.pooled import PooledCovariance
from inbounds.statistics.ranks import Kendall


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

    ``method="joint"`` makes it of sums of the columns and of their products, drawn together: for up to six columns in
    the norm of what one record can move all of them by, for more in a cube. ``"elements"`` draws the elements
    themselves together, ``"split"`` each with a share of ε: variances first, then each covariance within what they
    allow. ``bounding="truncated"`` needs the last.

    ``repair`` makes the matrix positive semidefinite: ``"clip"`` its eigenvalues and keep the variances (the default
    below 20 columns), or the nearest correlations, ``"nearest"`` (Higham) or ``"newton"`` (Qi and Sun; the default from
    20 columns on, where it is nearer to the truth).

    >>> table = {"age": [23, 35, 62, 41], "bmi": [21.5, 30.1, 27.0, 24.8]}
    >>> covariance(table, bounds={"age": (0, 100), "bmi": (10, 60)}, epsilon=1).value.shape
    (2, 2)
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
    """The correlation matrix, from released covariances: within [-1, 1]; none next to a released variance of 0.

    >>> table = {"age": [23, 35, 62, 41], "bmi": [21.5, 30.1, 27.0, 24.8]}
    >>> correlation(table, bounds={"age": (0, 100), "bmi": (10, 60)}, epsilon=1).value.diagonal().tolist()
    [1.0, 1.0]
    """
    statistic = Correlation(bounds=bounds, method=method, repair=repair, missing=missing, integer=integer)
    return release_one(data, statistic, Terms.of(epsilon, neighbours, contributions, bounding), rows, ledger)


@explain
def moments(
    data: Table,
    *,
    bounds: Mapping[str, Bounds],
    epsilon: Number,
    repair: MatrixRepair | None = None,
    missing: Mapping[str, Number] | None = None,
    integer: Collection[str] = (),
    neighbours: Neighbours = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """Means and the covariance matrix of the columns that have bounds, and whatever follows from them, in one draw.

    The value has ``mean``, ``covariance``, ``correlation``, ``variance`` and ``standard_deviation``. The sums of the
    columns and of their products have noise that is drawn together, in the norm of what one record can move all of
    them by (for up to six columns; for more in a cube), so that everything costs ε once.

    >>> table = {"age": [23, 35, 62, 41] * 500, "bmi": [21, 24, 29, 26] * 500}
    >>> r = moments(table, bounds={"age": (18, 100), "bmi": (12, 60)}, epsilon=1)
    >>> r.value.mean.shape, r.value.correlation.shape
    ((2,), (2, 2))
    """
    statistic = Moments(bounds=bounds, repair=repair, missing=missing, integer=integer)
    return release_one(data, statistic, Terms.of(epsilon, neighbours, contributions), rows, ledger)


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
    rows: int | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """The matrix of Kendall's tau (tau-a) of columns whose records can be put in order.

    For each pair of columns it is the share of pairs of records that are in the same order in both, less the share in
    opposite order; a pair that is tied in a column counts as neither. Columns are cut first, each in its own way:
    ``bounds={"age": (0, 100)}`` into ``bins`` intervals of equal width (256; fewer where there are more than 17
    columns), ``edges={"income": [...]}`` into these, and ``levels={"grade": ["low", "middle", "high"]}`` are taken in
    the order given. What is published is the tau of the columns as they were cut. The matrix has them in the order
    given: those with bounds, with edges, with levels.

    Noise is added to each tau, which one record moves by at most 4/n: to one by the ordinary law, to several in one
    draw. Under ``neighbours="add-remove"`` it is refused, since there a record is in an unknown number of pairs.

    It is no correlation coefficient of Pearson's: sin(πτ/2) is one for a Gaussian copula alone.

    ``repair`` makes the matrix positive semidefinite, as in `covariance`.

    >>> table = {"age": [23, 35, 41, 62] * 500, "grade": ["low", "high", "low", "high"] * 500}
    >>> tau = kendall(table, bounds={"age": (0, 100)}, levels={"grade": ["low", "high"]}, epsilon=1)
    >>> tau.title, tau.value.shape
    ("Kendall's tau of age, grade", (2, 2))
    """
    statistic = Kendall(
        bounds=bounds, edges=edges, levels=levels, bins=bins, repair=repair, missing=missing, other=other
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
    method: PooledMethod = "joint",
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
    """The covariance matrix within groups, pooled; see `pooled_variance` and `covariance`.

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
    return release_one(data, statistic, Terms.of(epsilon, neighbours, contributions, bounding), rows, ledger)
