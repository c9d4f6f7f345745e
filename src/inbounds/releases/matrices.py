"""Covariance and correlation matrices, plain and pooled within cells; pooled variances."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from inbounds import _check, derive
from inbounds.after import matrix
from inbounds.record import Bound, Release
from inbounds.releases.draw import Promise
from inbounds.releases.keywords import explained
from inbounds.releases.kinds import elements, of_sums, single
from inbounds.releases.opening import Opened, column_name, groups_of, open_table
from inbounds.tables import statistics
from inbounds.tables.engine import Request
from inbounds.tables.schema import DataError, Key, Level, Levels, Numeric
from inbounds.tables.statistics import Moments


@explained
def covariance(
    data: Any,
    *,
    bounds: Mapping[str, Any],
    epsilon: Any,
    method: str = "joint",
    repair: str | None = None,
    missing: Mapping[str, Any] | None = None,
    integer: Collection[str] = (),
    bounding: str = "bit",
    neighbours: str = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Any = None,
) -> Release:
    """The sample covariance matrix (denominator n - 1) of the columns that have bounds.

    ``method="joint"`` draws all elements together with sup-norm noise, which is better than ``"split"``, each with a
    share of ε: variances first, then each covariance within what they allow. ``bounding="truncated"`` needs the latter.

    ``repair`` makes the matrix positive semidefinite: ``"clip"`` its eigenvalues and keep the variances (the default
    below 20 columns), or the nearest correlations, ``"nearest"`` (Higham) or ``"newton"`` (Qi and Sun; the default from
    20 columns on, where it is nearer to the truth).
    """
    promise = Promise.of(epsilon, neighbours, contributions, bounding, ledger)
    return _matrix("covariance", data, _columns(bounds, missing, integer), promise, method, repair, rows)


@explained
def correlation(
    data: Any,
    *,
    bounds: Mapping[str, Any],
    epsilon: Any,
    method: str = "joint",
    repair: str | None = None,
    missing: Mapping[str, Any] | None = None,
    integer: Collection[str] = (),
    bounding: str = "bit",
    neighbours: str = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Any = None,
) -> Release:
    """The correlation matrix, from released covariances: within [-1, 1], and 0 next to a released variance of 0."""
    promise = Promise.of(epsilon, neighbours, contributions, bounding, ledger)
    return _matrix("correlation", data, _columns(bounds, missing, integer), promise, method, repair, rows)


def _matrix(
    name: str, data: Any, columns: Sequence[Numeric], promise: Promise, method: Any, repair: Any, rows: Any
) -> Release:
    joint = _jointly(method, promise)
    repair = _check.choice(repair or matrix.default(len(columns)), "repair", matrix.REPAIRS)
    table = open_table(data, columns, promise, rows, least=2)
    quantised = [table.quantised(column, promise) for column in columns]
    axes = [[column.name for column in columns]] * 2
    if table.rows is None:
        derived = derive.MATRIX_OF_SUMS if name == "covariance" else derive.CORRELATION_OF_SUMS
        limits = _limits_of_sums(columns) if name == "covariance" else [(Fraction(-1), Fraction(1))] * len(columns) ** 2
        moments = Moments(tuple(quantised), products=True)
        return of_sums(name, derived, table, moments, promise, limits, axes=axes, repair=repair)
    found = statistics.covariances(quantised, promise.unit, table.rows)
    request = Request((), tuple(quantised), True)
    derived = derive.MATRIX if name == "covariance" else derive.CORRELATION
    return elements(name, derived, found, table, request, promise, quantised, axes, joint=joint, repair=repair)


@explained
def pooled_variance(
    data: Any,
    column: str | None = None,
    *,
    by: str,
    levels: Sequence[Level],
    bounds: Any,
    epsilon: Any,
    sizes: Mapping[Level, int] | None = None,
    missing: Any = None,
    integer: bool = False,
    by_missing: Level | None = None,
    other: Level | None = None,
    bounding: str = "bit",
    neighbours: str = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Any = None,
) -> Release:
    """The variance within groups, pooled: Σ_j Σ (x - mean_j)² / (n - J).

    Sizes of groups are secret and a record may be in any. ``sizes={level: n_j}`` says that they are public and that no
    record changes its group (a design, not an answer); it is checked. With add-remove noisy sums and counts are used.
    """
    promise = Promise.of(epsilon, neighbours, contributions, bounding, ledger)
    numeric = Numeric.of(column_name(column, data), bounds, missing, integer=integer)
    key = groups_of(by, levels, by_missing, other)
    table, public = _grouped(data, [numeric], key, promise, rows, sizes)
    if table.rows is None:
        return _pooled_of_sums("pooled_variance", table, [numeric], key, promise, [], None)
    quantised = table.quantised(numeric, promise)
    cells = len(key.labels)
    (statistic,) = statistics.pooled([quantised], promise.unit, table.rows, cells, sizes=public)
    request = Request((key,), (quantised,), True)
    return single(statistic, table, request, promise, [quantised, key])


@explained
def pooled_covariance(
    data: Any,
    *,
    by: str,
    levels: Sequence[Level],
    bounds: Mapping[str, Any],
    epsilon: Any,
    method: str = "joint",
    repair: str | None = None,
    sizes: Mapping[Level, int] | None = None,
    missing: Mapping[str, Any] | None = None,
    integer: Collection[str] = (),
    by_missing: Level | None = None,
    other: Level | None = None,
    bounding: str = "bit",
    neighbours: str = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Any = None,
) -> Release:
    """The covariance matrix within groups, pooled; see `pooled_variance` and `covariance`."""
    promise = Promise.of(epsilon, neighbours, contributions, bounding, ledger)
    columns, joint = _columns(bounds, missing, integer), _jointly(method, promise)
    repair = _check.choice(repair or matrix.default(len(columns)), "repair", matrix.REPAIRS)
    key = groups_of(by, levels, by_missing, other)
    table, public = _grouped(data, columns, key, promise, rows, sizes)
    axes = [[column.name for column in columns]] * 2
    if table.rows is None:
        return _pooled_of_sums("pooled_covariance", table, columns, key, promise, axes, repair)
    quantised = [table.quantised(column, promise) for column in columns]
    cells = len(key.labels)
    found = statistics.pooled(quantised, promise.unit, table.rows, cells, sizes=public)
    return elements(
        "pooled_covariance",
        derive.MATRIX,
        found,
        table,
        Request((key,), tuple(quantised), True),
        promise,
        [*quantised, key],
        axes,
        joint=joint,
        repair=repair,
    )


def _columns(bounds: Any, missing: Any, integer: Any) -> list[Numeric]:
    if not isinstance(bounds, Mapping) or not bounds:
        raise TypeError("bounds must be a dictionary from columns, as in bounds={'age': (0, 100), 'bmi': (10, 60)}")
    if missing is not None and not isinstance(missing, Mapping):
        raise TypeError("missing must be a dictionary from columns, as in missing={'age': 40}")
    if isinstance(integer, str | bool) or not isinstance(integer, Collection):
        raise TypeError("integer must be a list of columns, as in integer=['age']")
    if len(bounds) > MOST_COLUMNS:
        raise ValueError(f"bounds must be of at most {MOST_COLUMNS} columns, got {len(bounds)}")
    fills = missing or {}
    for word, names in (("missing", fills), ("integer", integer)):
        for name in names:
            if name not in bounds:
                raise ValueError(f"{word} names {name!r}, which has no bounds")
    whole = set(integer)
    columns = [Numeric.of(name, pair, fills.get(name), integer=name in whole) for name, pair in bounds.items()]
    for column in columns:
        # Each of thousands of elements has the digits of both of its columns.
        if any(max(abs(end.numerator), end.denominator) >= 10**_MOST_DIGITS for end in (column.lower, column.upper)):
            raise ValueError(f"bounds of {column.name!r} must have at most {_MOST_DIGITS} digits in a matrix")
    return columns


# Columns of one matrix, and digits of a bound's numerator and denominator.
MOST_COLUMNS, _MOST_DIGITS = 200, 100


def _jointly(method: Any, promise: Promise) -> bool:
    _check.choice(method, "method", ("joint", "split"))
    if promise.unit.neighbours == "add-remove" and (method == "split" or promise.bounding == "truncated"):
        raise ValueError(
            "neighbours='add-remove' draws all sums and the count together; use method='joint' and bounding='bit'"
        )
    if promise.bounding == "truncated" and method == "joint":
        raise ValueError(
            "bounding='truncated' needs method='split': numbers drawn together are clamped, which costs no privacy"
        )
    return bool(method == "joint")


def _grouped(
    data: Any, columns: Sequence[Numeric], key: Key, promise: Promise, rows: Any, sizes: Any
) -> tuple[Opened, list[int] | None]:
    """The table with its groups, and their sizes where they are public."""
    groups = len(key.labels)
    if sizes is None:
        return open_table(data, [*columns, key], promise, rows, least=groups + 1), None
    if promise.unit.neighbours == "add-remove":
        raise ValueError("sizes= does not go with neighbours='add-remove': there the sizes of groups are protected")
    if not isinstance(sizes, Mapping) or not isinstance(key, Levels) or set(sizes) != set(key.levels):
        raise TypeError("sizes must be a dictionary with the number of rows of every level")
    public = [_check.integer(sizes[level], f"sizes[{level!r}]", least=1) for level in key.levels]
    table = open_table(data, [*columns, key], promise, rows, least=groups + 1)
    if sum(public) != table.rows:
        raise DataError("the sizes stated do not add up to the number of rows")
    return replace(table, sizes=tuple(public)), public


def _pooled_of_sums(
    name: str,
    table: Opened,
    columns: Sequence[Numeric],
    key: Key,
    promise: Promise,
    axes: Sequence[Sequence[str]],
    repair: str | None,
) -> Release:
    moments = Moments(tuple(table.quantised(column, promise) for column in columns), products=True)
    bounds = _limits_of_sums(columns)
    return of_sums(name, derive.POOLED_OF_SUMS, table, moments, promise, bounds, by=[key], axes=axes, repair=repair)


def _limits_of_sums(columns: Sequence[Numeric]) -> list[Bound]:
    """Bounds of covariances whatever the size: W_x W_y / 2, which two records attain."""
    return [
        (Fraction(0) if a is b else -a.width * b.width / 2, a.width * b.width / 2) for a in columns for b in columns
    ]
