"""Quantiles of a column."""

# With this import signatures show types by their names. The help describes them in words.
from __future__ import annotations

from collections.abc import Mapping, Sequence

from inbounds._keywords import explain
from inbounds._types import (
    Bounds,
    By,
    Data,
    Edges,
    GroupLevels,
    GroupPlace,
    Ledger,
    Missing,
    Neighbours,
    Number,
    QuantileMethod,
    Side,
)
from inbounds.privacy.persons import Fold, Keep, MissingPerson, Persons
from inbounds.privacy.terms import Terms
from inbounds.record.release import Release
from inbounds.record.selection import select
from inbounds.road.run import column_name, release_one
from inbounds.statistics.bounds import Bounds as Found
from inbounds.statistics.quantiles import Median, Quantile


@explain
def quantile(
    data: Data,
    column: str | None = None,
    *,
    q: Number | Sequence[Number],
    bounds: Bounds,
    epsilon: Number,
    step: Number | None = None,
    cover: Number | None = None,
    missing: Missing | None = None,
    integer: bool = False,
    by: By | None = None,
    levels: GroupLevels | None = None,
    by_missing: GroupPlace | None = None,
    other: GroupPlace | None = None,
    method: QuantileMethod | None = None,
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
    """One or several quantiles: a point of a public grid, chosen by the number of records below and above it.

    Records are counted at the nearest of up to 65,536 points between the bounds, and a point is drawn with a
    probability that falls with the distance of its rank from the one asked for (by permute and flip). So it is
    always a possible value, and wide bounds cost little.

    Several quantiles are drawn in one go, and never cross. ``method="together"`` draws up to 16 by the joint
    exponential mechanism, ``"halving"`` draws the middle one first, and ``"counts"`` reads all from noisy counts of
    cells of equal width, for a public number of records. By default it is the way whose error is expected to be
    smaller, as far as public numbers say: counts only where points that are drawn would be off by more than a cell.

    >>> release = quantile(list(range(100)) * 50, q=[0.25, 0.5, 0.75], bounds=(0, 100), integer=True, epsilon=1)
    >>> release.value.shape, bool((release.value[1:] >= release.value[:-1]).all())
    ((3,), True)
    """
    statistic = Quantile(
        column_name(column, data),
        q=q,
        bounds=bounds,
        step=step,
        cover=cover,
        missing=missing,
        integer=integer,
        by=by,
        levels=levels,
        by_missing=by_missing,
        other=other,
        method=method,
    )
    persons = Persons.of(person, keep, order, groups, person_missing, fold)
    terms = Terms.of(epsilon, neighbours, contributions, persons=persons)
    return release_one(data, select(statistic, where, derive, time_zone), terms, rows, ledger)


@explain
def median(
    data: Data,
    column: str | None = None,
    *,
    bounds: Bounds,
    epsilon: Number,
    step: Number | None = None,
    cover: Number | None = None,
    missing: Missing | None = None,
    integer: bool = False,
    by: By | None = None,
    levels: GroupLevels | None = None,
    by_missing: GroupPlace | None = None,
    other: GroupPlace | None = None,
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
    """The median: the quantile with half of the records on either side; see `quantile`.

    >>> 0 <= median([23, 35, 62, 41], bounds=(0, 100), integer=True, epsilon=1).value <= 100
    True
    """
    statistic = Median(
        column_name(column, data),
        bounds=bounds,
        step=step,
        cover=cover,
        missing=missing,
        integer=integer,
        by=by,
        levels=levels,
        by_missing=by_missing,
        other=other,
    )
    persons = Persons.of(person, keep, order, groups, person_missing, fold)
    terms = Terms.of(epsilon, neighbours, contributions, persons=persons)
    return release_one(data, select(statistic, where, derive, time_zone), terms, rows, ledger)


@explain
def bounds(
    data: Data,
    column: str | None = None,
    *,
    within: Sequence[Number] | None = None,
    coverage: Number | None = None,
    epsilon: Number,
    side: Side = "both",
    margin: Number | None = None,
    edges: Edges | None = None,
    missing: Missing | None = None,
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
    """Bounds between which about a share of the records lies, for columns whose range nobody knows.

    They are two quantiles on a coarse grid: preferred numbers about a tenth apart, of either sign, over twelve powers
    of ten, or the ``edges`` given. The release may stand where a statistic takes ``bounds``, as in
    ``mean(x, bounds=bounds(x, within=(0, 1e9), epsilon=0.1), epsilon=0.9)``; both are charged. Records beyond the
    bounds are then clipped, which is a bias that narrow bounds make larger, and noise smaller. By default 30/ε records
    are to lie beyond each bound, with which they hardly ever fly off, and both are then moved out by half of their
    width, with which means of most columns are best. With a ``coverage`` they are the bounds of that share.

    >>> lower, upper = bounds([20.0, 31.5, 44.0, 52.5] * 500, within=(0, 1e6), epsilon=1).value
    >>> 0 <= lower < upper <= 1e6
    True
    """
    statistic = Found(
        column_name(column, data),
        within=within,
        coverage=coverage,
        side=side,
        margin=margin,
        edges=edges,
        missing=missing,
    )
    persons = Persons.of(person, keep, order, groups, person_missing, fold)
    terms = Terms.of(epsilon, neighbours, contributions, persons=persons)
    return release_one(data, select(statistic, where, derive, time_zone), terms, rows, ledger)
