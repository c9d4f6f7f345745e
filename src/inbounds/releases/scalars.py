"""One number at a time: count, sum, mean, proportion, variance, standard deviation.

Every function takes a table and the name of a column, or the column itself: a list, an array, a Series. Under
``neighbours="substitute"`` (one record takes another value) the number of rows is public; with ``"add-remove"`` (one
record comes or goes) it is protected, and means are made of a noisy sum and a noisy count.
"""

import builtins
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds import _check, derive
from inbounds.expected import continuous, deviation_is_better
from inbounds.privacy.certificate import Certificate
from inbounds.record import Bound, Release
from inbounds.releases.draw import Promise, draw_joint, draw_single, joint_law, single_law
from inbounds.releases.keywords import explained
from inbounds.releases.kinds import of_sums, single, table_counts
from inbounds.releases.opening import (
    Drawn,
    Opened,
    column_name,
    drafted,
    fixed_denominator,
    groups_of,
    not_together,
    open_table,
)
from inbounds.tables import statistics
from inbounds.tables.answers import Cells
from inbounds.tables.engine import Request
from inbounds.tables.schema import ELSEWHERE, Column, Key, Level, Levels, Numeric, Quantised
from inbounds.tables.statistics import Moments

UNIT_INTERVAL: Bound = (Fraction(0), Fraction(1))


@explained
def mean(
    data: Any,
    column: str | None = None,
    *,
    bounds: Any,
    epsilon: Any,
    missing: Any = None,
    integer: bool = False,
    by: str | None = None,
    levels: Sequence[Level] | None = None,
    by_missing: Level | None = None,
    other: Level | None = None,
    bounding: str = "bit",
    neighbours: str = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Any = None,
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
    promise = Promise.of(epsilon, neighbours, contributions, bounding, ledger)
    name = column_name(column, data)
    numeric = Numeric.of(name, bounds, missing, integer=integer)
    if by is not None:
        not_together("by=", denominator=denominator)
        key = groups_of(by, levels, by_missing, other)
        table = open_table(data, [numeric, key], promise, rows)
        return _grouped_mean(table, table.quantised(numeric, promise), key, promise)
    not_together("a single mean: name the groups with by=", levels=levels, other=other, by_missing=by_missing)
    fixed = fixed_denominator(denominator, promise)
    table = open_table(data, [numeric], promise, rows)
    quantised = table.quantised(numeric, promise)
    if table.rows is None and fixed is None:
        return of_sums("mean", derive.MEAN_OF_SUMS, table, Moments((quantised,)), promise, [_bound(numeric)])
    statistic = (
        statistics.centred_mean(quantised, promise.unit, fixed)
        if table.rows is None and fixed is not None
        else statistics.mean(quantised, promise.unit, table.rows or 1)
    )
    return single(statistic, table, Request((), (quantised,)), promise, [quantised], fixed)


@explained
def sum(  # noqa: A001
    data: Any,
    column: str | None = None,
    *,
    bounds: Any,
    epsilon: Any,
    missing: Any = None,
    integer: bool = False,
    bounding: str = "bit",
    neighbours: str = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Any = None,
) -> Release:
    """The sum of a column, within n times its bounds where n is public."""
    promise = Promise.of(epsilon, neighbours, contributions, bounding, ledger)
    numeric = Numeric.of(column_name(column, data), bounds, missing, integer=integer)
    table = open_table(data, [numeric], promise, rows)
    quantised = table.quantised(numeric, promise)
    statistic = statistics.total(quantised, promise.unit, table.rows)
    return single(statistic, table, Request((), (quantised,)), promise, [quantised])


@explained
def count(
    data: Any,
    column: str | None = None,
    *,
    level: Level | None = None,
    epsilon: Any,
    missing: bool | None = None,
    by: str | None = None,
    levels: Sequence[Level] | None = None,
    by_missing: Level | None = None,
    other: Level | None = None,
    bounding: str = "bit",
    neighbours: str = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Any = None,
) -> Release:
    """How many records have a level, or, with ``by``, how many each group has.

    Without a level or groups it counts all records, which makes sense where their number is protected
    (``neighbours="add-remove"``). ``missing=True`` counts missing values as having the level, False as not having it.
    """
    promise = Promise.of(epsilon, neighbours, contributions, bounding, ledger)
    if by is not None:
        not_together("by=: use crosstab for levels by groups", column=column, level=level, missing=missing)
        return table_counts("count", data, [groups_of(by, levels, by_missing, other)], promise, rows)
    not_together("a single count: name the groups with by=", levels=levels, other=other, by_missing=by_missing)
    if level is None:
        if promise.unit.neighbours == "substitute":
            raise TypeError(
                "under neighbours='substitute' the number of rows is public; name a level to count, or use "
                "neighbours='add-remove'"
            )
        if column is not None:
            raise TypeError("name the level to count in the column, as in count(table, 'smoker', level='yes', ...)")
        table = open_table(data, [], promise, rows)
        statistic = statistics.count((), promise.unit, None)
        return single(statistic, table, Request(), promise, [])
    key = _indicator(column_name(column, data), level, missing)
    table = open_table(data, [key], promise, rows)
    statistic = statistics.count((0,), promise.unit, table.rows)
    return single(statistic, table, Request((key,)), promise, [key])


@explained
def proportion(
    data: Any,
    column: str | None = None,
    *,
    level: Level | None = None,
    epsilon: Any,
    missing: bool | None = None,
    bounding: str = "bit",
    neighbours: str = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Any = None,
    denominator: int | None = None,
) -> Release:
    """The share of the records that have a level; without one, of a column of booleans or of 0 and 1.

    ``missing=True`` counts missing values as having it, False as not having it; without it they are refused.
    ``denominator`` divides by a fixed public number (``neighbours="add-remove"``).

    >>> 0 <= proportion(["yes", "no", "yes"], level="yes", epsilon=1).value <= 1
    True
    """
    promise = Promise.of(epsilon, neighbours, contributions, bounding, ledger)
    key = _indicator(column_name(column, data), level, missing)
    place = len(key.levels) - 1
    fixed = fixed_denominator(denominator, promise)
    table = open_table(data, [key], promise, rows)
    over = table.rows if fixed is None else fixed
    if over is not None:
        share = statistics.share((place,), promise.unit, over)
        return single(share, table, Request((key,)), promise, [key], fixed)
    # Where n is protected: the mean of a column of 0 and 1.
    zero_one = Quantised(Numeric.of(key.name, (0, 1), integer=True), 1)
    moments = Moments((zero_one,))
    certificate = joint_law("proportion", promise, moments.sensitivity, moments.dimension, promise.unit.cell_changes)
    columns: list[Column | Quantised] = [key, zero_one]

    def draw(cells: Cells) -> Drawn:
        sizes = {cell: size for cell, (size, _, _) in cells.items()}
        having = builtins.sum(sizes.values()), (sizes.get((place,), 0),), ()
        return Drawn(draw_joint([moments(having)], certificate))

    made = (columns, promise, table, Request((key,)), draw, [UNIT_INTERVAL], certificate)
    return table.finish(drafted("proportion", derive.MEAN_OF_SUMS, *made, units=[Fraction(1)] * moments.dimension))


@explained
def variance(
    data: Any,
    column: str | None = None,
    *,
    bounds: Any,
    epsilon: Any,
    missing: Any = None,
    integer: bool = False,
    bounding: str = "bit",
    neighbours: str = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Any = None,
) -> Release:
    """The sample variance (denominator n - 1), never below 0 nor above what n numbers within the bounds can have."""
    promise = Promise.of(epsilon, neighbours, contributions, bounding, ledger)
    numeric = Numeric.of(column_name(column, data), bounds, missing, integer=integer)
    table = open_table(data, [numeric], promise, rows, least=2)
    quantised = table.quantised(numeric, promise)
    if table.rows is None:
        largest: Bound = (Fraction(0), numeric.width**2 / 2)
        moments = Moments((quantised,), products=True)
        return of_sums("variance", derive.VARIANCE_OF_SUMS, table, moments, promise, [largest])
    (statistic,) = statistics.covariances([quantised], promise.unit, table.rows)
    return single(statistic, table, Request((), (quantised,), True), promise, [quantised])


@explained
def standard_deviation(
    data: Any,
    column: str | None = None,
    *,
    bounds: Any,
    epsilon: Any,
    missing: Any = None,
    integer: bool = False,
    bounding: str = "bit",
    neighbours: str = "substitute",
    contributions: int = 1,
    rows: int | None = None,
    ledger: Any = None,
) -> Release:
    """The sample standard deviation, by whichever of two ways has the smaller error, averaged over the bounds.

    Noise on the standard deviation itself, whose sensitivity is W/√n; or the root of a released variance, which is
    better but for a very large ε or standard deviations next to nothing. The choice depends on public numbers alone,
    and the record names it (``method``).
    """
    promise = Promise.of(epsilon, neighbours, contributions, bounding, ledger)
    numeric = Numeric.of(column_name(column, data), bounds, missing, integer=integer)
    table = open_table(data, [numeric], promise, rows, least=2)
    quantised = table.quantised(numeric, promise, root=True)
    if table.rows is None:
        # Two numbers attain W/√2, a little less than which is 70/99 W.
        largest: Bound = (Fraction(0), numeric.width * Fraction(70, 99))
        moments = Moments((quantised,), products=True)
        return of_sums("standard_deviation", derive.ROOT_OF_SUMS, table, moments, promise, [largest])
    (of_variance,) = statistics.covariances([quantised], promise.unit, table.rows)
    itself = statistics.standard_deviation(of_variance)
    own, root = single_law(itself, promise), single_law(of_variance, promise)
    request = Request((), (quantised,), True)
    if _own_is_better(own, root):
        return single(itself, table, request, promise, [quantised])
    bound = (of_variance.lower, of_variance.upper)

    def draw(cells: Cells) -> Drawn:
        return Drawn((draw_single(of_variance, root, cells),))

    made = ([quantised], promise, table, request, draw, [bound], root)
    return table.finish(drafted("standard_deviation", derive.ROOT, *made))


def _own_is_better(own: Certificate, root: Certificate) -> bool:
    """Whether noise on a standard deviation has a smaller MSE than the root of a noisy variance, over the bounds.

    In units of the bounds, so that columns of any width have one answer.
    """
    scales = (law.noise.scale / law.bounds[1] for law in (continuous(own), continuous(root)))
    return deviation_is_better(own.bounding, *(float(f"{scale:.9g}") for scale in scales))


def _bound(numeric: Numeric) -> Bound:
    return numeric.lower, numeric.upper


def _indicator(name: str, level: Any, missing: Any) -> Levels:
    """A column of which the last level counts: the one named, or 1 (true) of a column of 0 and 1."""
    if missing is not None and not isinstance(missing, bool):
        raise TypeError("missing must be True (counts as having it), False (as not having it) or None (refused)")
    if level is None:
        return Levels(name, (0, 1), None, None if missing is None else int(missing), keywords=("level", "missing"))
    level = level.item() if isinstance(level, np.generic) else level
    if not isinstance(level, str | bool | int):
        raise TypeError(f"level must be text, an integer or a boolean, got {_check.shown(level)}")
    place = None if missing is None else level if missing else ELSEWHERE
    return Levels(name, (level,), ELSEWHERE, place)


def _grouped_mean(table: Opened, quantised: Quantised, key: Key, promise: Promise) -> Release:
    bounds = [_bound(quantised.column)] * len(key.labels)
    moments = Moments((quantised,))
    return of_sums("mean", derive.MEAN_OF_SUMS, table, moments, promise, bounds, by=[key], axes=[key.labels])
