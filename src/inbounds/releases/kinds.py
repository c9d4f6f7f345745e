"""The kinds of release that the functions of this room are made of."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from inbounds import derive
from inbounds.privacy.certificate import compose
from inbounds.record import Bound, Release
from inbounds.releases.draw import (
    Promise,
    counts_law,
    draw_counts,
    draw_joint,
    draw_single,
    draw_zero_sum,
    joint_law,
    single_law,
    zero_sum_law,
)
from inbounds.releases.opening import Opened, open_table, release
from inbounds.tables.engine import Request
from inbounds.tables.schema import Column, Key, Quantised
from inbounds.tables.statistics import Moments, Statistic


def single(
    statistic: Statistic,
    table: Opened,
    request: Request,
    promise: Promise,
    columns: Sequence[Column | Quantised],
    denominator: int | None = None,
) -> Release:
    """One number with noise of its own."""
    certificate = single_law(statistic, promise)
    (cells,) = table.tally(request)
    noisy = draw_single(statistic, certificate, cells)
    bound = (statistic.lower, statistic.upper)
    return release(
        statistic.name, derive.DIRECT, columns, promise, table, (noisy,), [bound], certificate, denominator=denominator
    )


def of_sums(
    name: str,
    method: str,
    table: Opened,
    moments: Moments,
    promise: Promise,
    bounds: Sequence[Bound],
    *,
    by: Sequence[Key] = (),
    axes: Sequence[Sequence[str]] = (),
) -> Release:
    """Whatever can be made of noisy sums and noisy counts: nothing about sizes needs to be public.

    With groups a record is in one of them, so that each group's vector has noise of its own, and what one unit costs is
    counted once for every group it can leave or enter.
    """
    groups = list(product(*(range(len(key.labels)) for key in by)))
    changes = promise.unit.cell_changes
    certificate = joint_law(name, promise, moments.sensitivity, moments.dimension, changes)
    (cells,) = table.tally(Request(tuple(by), moments.columns, moments.products))
    noisy = draw_joint([moments(cells.get(group)) for group in groups], certificate)
    columns = [*moments.columns, *by]
    return release(name, method, columns, promise, table, noisy, bounds, certificate, axes=axes)


REPAIRS = ("project", "rescale", "all-but-one")


def table_counts(
    name: str,
    data: Any,
    keys: Sequence[Key],
    promise: Promise,
    rows: Any,
    *,
    repair: str | None = None,
    denominator: int | None = None,
    derived: int | None = None,
) -> Release:
    """The count of every cell of a table, or its share.

    Where they are to be projected onto a public sum, noise is drawn that keeps it; otherwise each cell has its own.
    """
    table = open_table(data, keys, promise, rows)
    places = list(product(*(range(len(key.labels)) for key in keys)))
    kept = [place for i, place in enumerate(places) if i != derived]
    joint = repair == "project" and table.rows is not None and promise.bounding == "bit" and len(kept) > 1
    certificate = zero_sum_law(name, promise, len(kept)) if joint else counts_law(name, promise, table.rows)
    (cells,) = table.tally(Request(tuple(keys)))
    counts = [cells[place][0] if place in cells else 0 for place in kept]
    noisy = (draw_zero_sum if joint else draw_counts)(counts, certificate)
    method, over, top = _shared(name, repair, table.rows, denominator)
    return release(
        name,
        method,
        keys,
        promise,
        table,
        noisy,
        [(Fraction(0), top)] * len(kept),
        certificate,
        units=[Fraction(1, over)] * len(kept),
        axes=[key.labels for key in keys],
        denominator=denominator,
        derived=None if derived is None else keys[0].labels[derived],
    )


def _shared(
    name: str, repair: str | None, rows: int | None, denominator: int | None
) -> tuple[str, int, Fraction | None]:
    """Method, what counts are divided by, and the upper bound of each number."""
    if name != "proportions":
        method = derive.WHOLE if repair == "project" else derive.DIRECT
        return method, 1, None if rows is None else Fraction(rows)
    over = rows or denominator
    if over is None:
        return derive.SHARES, 1, Fraction(1)
    methods = {"project": derive.PROJECTED, "rescale": derive.RESCALED, "all-but-one": derive.ALL_BUT_ONE}
    return methods[repair] if repair else derive.DIRECT, over, Fraction(1)


def elements(
    name: str,
    method: str,
    statistics: Sequence[Statistic],
    table: Opened,
    request: Request,
    promise: Promise,
    columns: Sequence[Column | Quantised],
    axes: Sequence[Sequence[str]],
    *,
    joint: bool,
    notes: Sequence[str] = (),
) -> Release:
    """The elements of a matrix: drawn together with sup-norm noise, or each on its own with a share of ε.

    Together they are measured in units of their own sensitivities, so that one unit of privacy moves each by at most 1.
    """
    bounds: list[Bound] = [(one.lower, one.upper) for one in statistics]
    drawn = "covariance" if method == derive.CORRELATION else name
    if joint:
        whole = joint_law(drawn, promise, Fraction(1), len(statistics))
        (cells,) = table.tally(request)
        noisy = draw_joint([[one(cells) / one.sensitivity for one in statistics]], whole)
        units = [one.sensitivity for one in statistics]
        return release(name, method, columns, promise, table, noisy, bounds, whole, units=units, axes=axes, notes=notes)
    share = promise.epsilon / len(statistics)
    parts = [single_law(one, promise, share, name=drawn) for one in statistics]
    certificate = compose(parts, promise.epsilon)
    (cells,) = table.tally(request)
    noisy = tuple(draw_single(one, part, cells) for one, part in zip(statistics, parts, strict=True))
    return release(name, method, columns, promise, table, noisy, bounds, certificate, axes=axes, notes=notes)
