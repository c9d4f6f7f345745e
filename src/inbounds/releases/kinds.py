"""The kinds of release that the functions of this room are made of."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import prod
from typing import Any

import numpy as np

from inbounds import derive
from inbounds.after.tree import Groups, grow
from inbounds.privacy.certificate import Certificate, Composition, compose
from inbounds.record import Bound, Release
from inbounds.releases.draw import (
    Promise,
    counts_law,
    cut_law,
    draw_counts,
    draw_joint,
    draw_single,
    draw_zero_sum,
    joint_law,
    single_law,
    zero_sum_law,
)
from inbounds.releases.opening import Drawn, Opened, drafted, open_table
from inbounds.tables.answers import Cells, counts_of
from inbounds.tables.engine import Request
from inbounds.tables.schema import Column, Key, Quantised
from inbounds.tables.statistics import Moments, Statistic, root_below


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
    bound = (statistic.lower, statistic.upper)

    def draw(cells: Cells) -> Drawn:
        return Drawn((draw_single(statistic, certificate, cells),))

    return table.finish(
        drafted(
            statistic.name,
            derive.DIRECT,
            columns,
            promise,
            table,
            request,
            draw,
            [bound],
            certificate,
            denominator=denominator,
        )
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
    repair: str | None = None,
) -> Release:
    """Whatever can be made of noisy sums and noisy counts: nothing about sizes needs to be public.

    With groups a record is in one of them, so that each group's vector has noise of its own, and what one unit costs is
    counted once for every group it can leave or enter.
    """
    groups = list(product(*(range(len(key.labels)) for key in by)))
    changes = promise.unit.cell_changes
    certificate = joint_law(name, promise, moments.sensitivity, moments.dimension, changes)
    request, columns = Request(tuple(by), moments.columns, moments.products), [*moments.columns, *by]
    units = [Fraction(1)] * (len(groups) * moments.dimension)

    def draw(cells: Cells) -> Drawn:
        return Drawn(draw_joint([moments(cells.get(group)) for group in groups], certificate))

    made = (name, method, columns, promise, table, request, draw, bounds, certificate)
    return table.finish(drafted(*made, units=units, axes=axes, repair=repair))


REPAIRS = ("project", "rescale", "all-but-one", "tree")


def tree_shares(
    data: Any, key: Key, promise: Promise, rows: Any, groups: Groups, *, denominator: int | None = None
) -> Release:
    """Shares of levels from noisy counts of groups and members, made to agree."""
    tree = grow(groups, key.labels)
    table = open_table(data, [key], promise, rows)
    over = table.rows or denominator or 1
    certificate = counts_law("proportions", promise, table.rows, tree.depth)
    nodes = len(tree.leaves)

    def draw(cells: Cells) -> Drawn:
        sizes = counts_of(cells, (len(key.labels),))
        return Drawn(draw_counts(np.array([sizes[list(members)].sum() for members in tree.leaves]), certificate))

    return table.finish(
        drafted(
            "proportions",
            derive.TREE,
            [key],
            promise,
            table,
            Request((key,)),
            draw,
            [(Fraction(0), Fraction(1))] * nodes,
            certificate,
            units=[Fraction(1, over)] * nodes,
            axes=[key.labels],
            denominator=denominator,
            tree=groups,
        )
    )


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
    shape = tuple(len(key.labels) for key in keys)
    drawn = prod(shape) - (derived is not None)
    joint = repair == "project" and table.rows is not None and promise.bounding == "bit" and drawn > 1
    certificate = zero_sum_law(name, promise, drawn) if joint else counts_law(name, promise, table.rows)
    method, over, top = _shared(name, repair, table.rows, denominator)

    def draw(cells: Cells) -> Drawn:
        counts = counts_of(cells, shape)
        counts = counts if derived is None else np.delete(counts, derived)
        return Drawn((draw_zero_sum if joint else draw_counts)(counts, certificate))

    return table.finish(
        drafted(
            name,
            method,
            keys,
            promise,
            table,
            Request(tuple(keys)),
            draw,
            ((Fraction(0), top),) * drawn,
            certificate,
            units=(Fraction(1, over),) * drawn,
            axes=[key.labels for key in keys],
            denominator=denominator,
            derived=None if derived is None else keys[0].labels[derived],
        )
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
    repair: str,
) -> Release:
    """The elements of a matrix, row by row from the diagonal: drawn together, or each on its own with a share of ε.

    Together they are measured in units of their own sensitivities, so that one unit of privacy moves each by at most 1.
    """
    drawn = "covariance" if method == derive.CORRELATION else name
    bounds: list[Bound] = [(one.lower, one.upper) for one in statistics]
    if joint and len(statistics) > 1:
        together = joint_law(drawn, promise, Fraction(1), len(statistics))
        certificate: Certificate | Composition = together
        units = [one.sensitivity for one in statistics]

        def draw(cells: Cells) -> Drawn:
            return Drawn(draw_joint([[one(cells) / one.sensitivity for one in statistics]], together))

    else:
        share, units = promise.epsilon / len(statistics), [Fraction(1)] * len(statistics)
        # Before the data are read: every law that does not wait for a released variance.
        laws = [single_law(one, promise, share, name=drawn) for one in statistics]
        certificate = compose(laws, promise.epsilon)

        def draw(cells: Cells) -> Drawn:
            noisy, parts, within = _one_by_one(statistics, laws, promise, cells)
            return Drawn(noisy, compose(parts, promise.epsilon), within)

    made = (name, method, columns, promise, table, request, draw, bounds, certificate)
    return table.finish(drafted(*made, units=units, axes=axes, repair=repair))


def _one_by_one(
    statistics: Sequence[Statistic],
    laws: Sequence[Certificate],
    promise: Promise,
    cells: Cells,
) -> tuple[tuple[Fraction, ...], list[Certificate], list[Bound]]:
    """Variances first; then, truncated, each covariance within what the released variances allow (the paper's way).

    Clamped ones need no second step: clamping is post-processing and comes with the repair.
    """
    size = derive.triangle_size(len(statistics))
    places = list(combinations_with_replacement(range(size), 2))
    noisy: dict[int, Fraction] = {}
    parts: list[Certificate] = list(laws)
    bounds: list[Bound] = [(one.lower, one.upper) for one in statistics]
    variances: dict[int, Fraction] = {}
    for place, (i, j) in sorted(enumerate(places), key=lambda item: item[1][0] != item[1][1]):
        if i != j and promise.bounding == "truncated":
            parts[place], bounds[place] = within_variances(laws[place], bounds[place], variances[i], variances[j])
        lower, upper = bounds[place]
        statistic = replace(statistics[place], lower=lower, upper=upper)
        noisy[place] = draw_single(statistic, parts[place], cells)
        if i == j:
            variances[i] = noisy[place]
    return tuple(noisy[place] for place in range(len(places))), parts, bounds


def within_variances(law: Certificate, bound: Bound, one: Fraction, other: Fraction) -> tuple[Certificate, Bound]:
    """The truncated law of a covariance, and its bounds, once the two variances are released.

    It lies within plus and minus the root of their product, rounded down; where that is 0, within the bounds it had.
    """
    reach = root_below(one * other)
    return (cut_law(law, (-reach, reach)), (-reach, reach)) if reach > 0 else (law, bound)
