"""The ways to draft a release: one number, elements of a matrix, sums, moments, counts."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import prod
from typing import Any

import numpy as np

from inbounds.derivations import Derivation, Direct
from inbounds.privacy.certificate import Certificate, Composition, compose
from inbounds.privacy.certified import Bound, counts_law, joint_law, norm_law, single_law, zero_sum_law
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft, Exact
from inbounds.record.release import ColumnRule, Release
from inbounds.record.statistic import Statistic
from inbounds.tables.answers import Cell, Cells, counts_of
from inbounds.tables.coordinates import Coordinate, MomentSums
from inbounds.tables.indicators import Indicators
from inbounds.tables.request import Request
from inbounds.tables.schema import (
    ELSEWHERE,
    Column,
    Edges,
    Key,
    Levels,
    Numeric,
    Quantised,
)


def rule_of(column: Column | Quantised, sizes: tuple[int, ...] | None = None) -> ColumnRule:
    """The rule of a column as it is in the record. ``sizes`` are the sizes of its cells, if they are public."""
    if isinstance(column, Quantised):
        number = column.column
        fill = None if number.missing is None else str(number.spelled_missing)
        return ColumnRule(number.name, number.lower, number.upper, column.step, missing=fill)
    if isinstance(column, Edges):
        fill = None if column.missing is None else str(column.spelled_missing)
        return ColumnRule(column.name, column.edges[0], column.edges[-1], cells=column.labels, missing=fill)
    if isinstance(column, Levels):
        places = [_place(level, column) for level in (column.missing, column.other)]
        return ColumnRule(column.name, cells=column.labels, missing=places[0], other=places[1], sizes=sizes or ())
    raise TypeError("a numeric column needs a step before it has a rule")


def _place(level: Any, column: Levels) -> str | None:
    if level is ELSEWHERE:
        return f"not {' or '.join(column.texts)}"
    return None if level is None else str(level)


def make_draft(
    statistic: Statistic,
    terms: Terms,
    derivation: Derivation,
    certificate: Certificate | Composition,
    request: Request | Sequence[Request],
    exact: Callable[..., Exact],
    *,
    bounds: Sequence[Bound],
    columns: Sequence[Column | Quantised],
    units: Sequence[Fraction] = (Fraction(1),),
    axes: Sequence[Sequence[str]] = (),
    sizes: tuple[int, ...] | None = None,
    squared: bool = False,
    second: Callable[[Cells, Fraction], list[Fraction]] | None = None,
) -> Draft:
    """Draft a release: everything about it that is known before the data are read.

    ``exact`` is called with the cells of each request.
    """
    record = Release(
        statistic=statistic,
        terms=terms,
        derivation=derivation,
        columns=tuple(rule_of(column, sizes) for column in columns),
        axes=tuple(tuple(axis) for axis in axes),
        noisy=(),
        units=tuple(units),
        bounds=tuple(bounds),
        certificate=certificate,
    )
    requests = (request,) if isinstance(request, Request) else tuple(request)
    return Draft(record, requests, exact, squared, second=second)


def draft_single(
    statistic: Statistic,
    terms: Terms,
    number: Coordinate,
    request: Request,
    columns: Sequence[Column | Quantised],
    *,
    derivation: Derivation | None = None,
    certificate: Certificate | None = None,
    sizes: tuple[int, ...] | None = None,
) -> Draft:
    """Draft the release of one number."""
    law = law_of_number(number, terms, statistic.name) if certificate is None else certificate
    return make_draft(
        statistic,
        terms,
        Direct() if derivation is None else derivation,
        law,
        request,
        lambda cells: [[number(cells)]],
        bounds=[(number.lower, number.upper)],
        columns=columns,
        sizes=sizes,
        squared=number.root,
    )


def law_of_number(number: Coordinate, terms: Terms, name: str, epsilon: Fraction | None = None) -> Certificate:
    """The certified law of one number at the ε of the terms, or at ``epsilon``."""
    bounds = number.lower, number.upper
    return single_law(name, terms, bounds, number.sensitivity, step=number.step, epsilon=epsilon)


def draft_of_sums(
    statistic: Statistic,
    terms: Terms,
    derivation: Derivation,
    moments: MomentSums,
    bounds: Sequence[Bound],
    *,
    by: Sequence[Key] = (),
    axes: Sequence[Sequence[str]] = (),
    request: Request | None = None,
    columns: Sequence[Column | Quantised] | None = None,
    find: Callable[[Cells, tuple[int, ...]], Cell | None] = lambda cells, group: cells.get(group),
) -> Draft:
    """Draft a release of noisy sums and noisy counts. No size needs to be public.

    ``find`` computes the sums of a group from what ``request`` counted, where these are not the same.

    With groups a record is in one of them, so each group's vector has its own noise, and the cost of one unit is
    counted once for every group that it can leave or enter. Without groups, and with a substituted record (in a
    selection of the table's records), one vector moves, by the most that a record can do that takes another value, is
    added or is removed.
    """
    groups = list(product(*(range(len(key.labels)) for key in by)))
    changes, name = terms.unit.cell_changes, statistic.name
    if not by and terms.neighbours == "substitute":
        moments, changes = replace(moments, selected=True), 1
    move = moments.sensitivity * (terms.contributions if moments.selected else 1)
    if moments.products or moments.selected:
        certificate = norm_law(name, terms, move, (moments.block,), changes)
    else:
        certificate = joint_law(name, terms, move, moments.dimension, changes)
    return make_draft(
        statistic,
        terms,
        derivation,
        certificate,
        Request(tuple(by), moments.columns, moments.products) if request is None else request,
        lambda cells: [moments(find(cells, group)) for group in groups],
        bounds=bounds,
        columns=[*moments.columns, *by] if columns is None else columns,
        units=moments.units * len(groups),
        axes=axes,
    )


def draft_moments(
    statistic: Statistic,
    terms: Terms,
    derivation: Derivation,
    columns: Sequence[Quantised],
    bounds: Sequence[Bound],
    *,
    axes: Sequence[Sequence[str]] = (),
    of_mean: bool = False,
    indicators: Indicators | None = None,
) -> Draft:
    """Draft a release of the sums of columns and of their products, in one draw, for a public number of rows.

    Numbers are in halves, so that one unit is worth 2. With ``of_mean`` the square of the one column has more noise,
    and its sum no more than alone. ``indicators`` say which columns are 0 and 1 for the levels of others.
    """
    moments = MomentSums(tuple(columns), products=True, counted=False, of_mean=of_mean)
    move = terms.unit.contributions * moments.sensitivity
    return make_draft(
        statistic,
        terms,
        derivation,
        norm_law(statistic.name, terms, move, (moments.block,)),
        moments.request if indicators is None else indicators.requests,
        lambda *cells: [moments(cells[0][()] if indicators is None else indicators.compose(*cells))],
        bounds=bounds,
        columns=moments.columns if indicators is None else (*indicators.numbers, *indicators.keys),
        units=moments.units,
        axes=axes,
    )


def draft_counts(
    statistic: Statistic,
    terms: Terms,
    derivation: Derivation,
    keys: Sequence[Key],
    *,
    over: int = 1,
    top: Fraction | None,
    keeps_sum: bool = False,
    left_out: int | None = None,
) -> Draft:
    """Draft a release of the count of every cell of a table, divided by the public number ``over``.

    With ``keeps_sum`` the noise keeps the public sum; otherwise each cell has independent noise. The cell ``left_out``
    is not released.
    """
    shape = tuple(len(key.labels) for key in keys)
    count = prod(shape) - (left_out is not None)
    joint = keeps_sum and terms.rows is not None and terms.bounding == "bit" and count > 1
    name = statistic.name

    def exact(cells: Cells) -> Exact:
        counts = counts_of(cells, shape)
        return counts if left_out is None else np.delete(counts, left_out)

    return make_draft(
        statistic,
        terms,
        derivation,
        zero_sum_law(name, terms, count) if joint else counts_law(name, terms),
        Request(tuple(keys)),
        exact,
        bounds=((Fraction(0), top),) * count,
        columns=keys,
        units=(Fraction(1, over),) * count,
        axes=[key.labels for key in keys],
    )


def draft_elements(
    statistic: Statistic,
    terms: Terms,
    derivation: Derivation,
    numbers: Sequence[Coordinate],
    request: Request,
    columns: Sequence[Column | Quantised],
    axes: Sequence[Sequence[str]],
    *,
    name: str,
    joint: bool,
    sizes: tuple[int, ...] | None = None,
) -> Draft:
    """Draft the elements of a matrix, row by row from the diagonal: in one draw, or each with a share of ε.

    In one draw they are measured in units of their sensitivities, so that one unit of privacy moves each by at most 1.
    ``name`` is the statistic that noise is added to.
    """
    together = joint and len(numbers) > 1
    certificate: Certificate | Composition
    if together:
        certificate = joint_law(name, terms, Fraction(1), len(numbers))
        units = [number.sensitivity for number in numbers]
    else:
        share, units = terms.epsilon / len(numbers), [Fraction(1)] * len(numbers)
        # These laws are certified before the data are read. Those that need a released variance are narrowed later.
        certificate = compose([law_of_number(number, terms, name, share) for number in numbers], terms.epsilon)

    def exact(cells: Cells) -> Exact:
        return [[number(cells) / unit for number, unit in zip(numbers, units, strict=True)]]

    return make_draft(
        statistic,
        terms,
        derivation,
        certificate,
        request,
        exact,
        bounds=[(number.lower, number.upper) for number in numbers],
        columns=columns,
        units=units,
        axes=axes,
        sizes=sizes,
    )


def triangle(columns: int) -> int:
    """The number of elements on and above the diagonal of a matrix."""
    return columns * (columns + 1) // 2


def limits_of_sums(columns: Sequence[Numeric]) -> list[Bound]:
    """Bounds of covariances for any number of records: W_x W_y / 2, which two records attain."""
    return [
        (Fraction(0) if a is b else -a.width * b.width / 2, a.width * b.width / 2) for a in columns for b in columns
    ]


def pairs_of(columns: Sequence[Any]) -> list[tuple[Any, Any]]:
    """All pairs of columns, including each with itself."""
    return list(combinations_with_replacement(columns, 2))
