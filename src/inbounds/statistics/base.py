"""What statistics share: columns as users write them, and the few ways in which a release is drafted."""

from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import prod
from typing import Any

import numpy as np

from inbounds import _check
from inbounds._frozen import FrozenMap
from inbounds.derivations import Derivation, Direct
from inbounds.privacy.certificate import Certificate, Composition, compose
from inbounds.privacy.certified import Bound, counts_law, joint_law, norm_law, single_law, zero_sum_law
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft, Exact
from inbounds.record.release import ColumnRule, Release
from inbounds.record.statistic import Statistic
from inbounds.tables.answers import Cells, counts_of
from inbounds.tables.coordinates import Coordinate, MomentSums
from inbounds.tables.request import MOST_ROWS, Request
from inbounds.tables.schema import (
    ELSEWHERE,
    Column,
    Edges,
    Key,
    Levels,
    Numeric,
    Place,
    Quantised,
    quantise_column,
    resolution,
)

UNIT_INTERVAL: Bound = (Fraction(0), Fraction(1))
# Columns of one matrix, and digits of a bound's numerator and denominator.
MOST_COLUMNS, _MOST_DIGITS = 200, 100
# Cells of one table.
MOST_CELLS = 10**7


def keep(statistic: Any, **values: Any) -> None:
    """Set fields of a frozen statistic while it is made."""
    for name, value in values.items():
        object.__setattr__(statistic, name, value)


# Columns


def numeric(name: str, bounds: Any, missing: Any, integer: Any) -> Numeric:
    """A column of numbers, as a user writes its rule."""
    return Numeric.of(name, bounds, missing, integer=integer)


def several(bounds: Any, missing: Any, integer: Any) -> tuple[Numeric, ...]:
    """Columns of numbers, as a user writes their rules."""
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
    columns = tuple(numeric(name, pair, fills.get(name), name in whole) for name, pair in bounds.items())
    for column in columns:
        # Each of thousands of elements has the digits of both of its columns.
        if any(max(abs(end.numerator), end.denominator) >= 10**_MOST_DIGITS for end in (column.lower, column.upper)):
            raise ValueError(f"bounds of {column.name!r} must have at most {_MOST_DIGITS} digits in a matrix")
    return columns


def fields_of_several(columns: Sequence[Numeric]) -> dict[str, Any]:
    """The rules of several columns as frozen fields."""
    return {
        "bounds": FrozenMap({column.name: (column.lower, column.upper) for column in columns}),
        "missing": FrozenMap({column.name: column.missing for column in columns if column.missing is not None}) or None,
        "integer": tuple(column.name for column in columns if column.integer),
    }


def key_of(name: str, levels: Any, edges: Any, missing: Any, other: Any) -> Key:
    """A column of levels or intervals, whichever was given."""
    if (levels is None) == (edges is None):
        raise TypeError(f"column {name!r} needs either levels=[...] or edges=[...], known without looking at the data")
    if levels is not None:
        return Levels(name, levels, other, missing)
    if other is not None:
        raise TypeError("other= belongs to levels: a number beyond the edges counts in the cell next to it")
    return Edges.of(name, edges, missing)


def fields_of_key(key: Key) -> dict[str, Any]:
    """The rule of a column of levels or intervals as frozen fields."""
    if isinstance(key, Levels):
        return {"levels": key.levels, "edges": None, "missing": key.missing, "other": key.other}
    return {"levels": None, "edges": key.edges, "missing": key.missing, "other": None}


def groups_of(by: Any, levels: Any, missing: Any, other: Any) -> Levels:
    """The column that makes the groups."""
    if levels is None:
        raise TypeError(f"by={_check.shown(by)} needs levels=[...], the groups, known without looking at the data")
    return Levels(by, levels, other, missing, keywords=("other", "by_missing"))


def indicator(name: str, level: Any, missing: Any) -> Levels:
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


def refuse_with(what: str, **given: Any) -> None:
    """Refuse arguments that would be ignored."""
    if names := [name for name, value in given.items() if value is not None]:
        raise TypeError(f"{', '.join(names)} cannot be combined with {what}")


def fixed_denominator(denominator: Any) -> int | None:
    """A fixed public number to divide by."""
    if denominator is None:
        return None
    if _check.integer(denominator, "denominator", least=1) > MOST_ROWS:
        raise ValueError("denominator must not exceed 2^31, the most rows that a table may have")
    return int(denominator)


def refuse_denominator(denominator: int | None, terms: Terms) -> None:
    """A denominator is needless where n is public."""
    if denominator is not None and not terms.protects_rows:
        raise ValueError(
            "denominator= belongs to neighbours='add-remove': under 'substitute' the number of rows is public, and is "
            "what is divided by"
        )


def quantise(column: Numeric, terms: Terms, *, root: bool = False) -> Quantised:
    """A column in steps that are fine enough for this ε and number of rows."""
    # Where n is protected, steps must be fine enough for any number of rows.
    return quantise_column(column, resolution=resolution(terms.rows or MOST_ROWS, terms.epsilon, root=root))


def list_names(columns: Sequence[Column]) -> str:
    """Names of columns, for a title."""
    return ", ".join(column.name for column in columns)


# Drafts


def rule_of(column: Column | Quantised, sizes: tuple[int, ...] | None = None) -> ColumnRule:
    """A column's rule as the record shows it; ``sizes`` are those of its cells where they are public."""
    if isinstance(column, Quantised):
        number = column.column
        fill = None if number.missing is None else str(number.missing)
        return ColumnRule(number.name, number.lower, number.upper, column.step, missing=fill)
    if isinstance(column, Edges):
        fill = None if column.missing is None else str(column.missing)
        return ColumnRule(column.name, column.edges[0], column.edges[-1], cells=column.labels, missing=fill)
    if isinstance(column, Levels):
        places = [_place(level, column) for level in (column.missing, column.other)]
        return ColumnRule(column.name, cells=column.labels, missing=places[0], other=places[1], sizes=sizes or ())
    raise TypeError("a numeric column has a rule once it has a step")


def _place(level: Any, column: Levels) -> str | None:
    if level is None or isinstance(level, Place):
        return f"not {' or '.join(column.labels)}" if level is ELSEWHERE else None
    return str(level)


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
) -> Draft:
    """All that is public of a release, before the data are read.

    ``exact`` is handed the cells of the request, or of each where there are several.
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
    return Draft(record, requests, exact, squared)


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
    """One number with noise of its own."""
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
    """The certified law of one number at ε, or a share of it."""
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
) -> Draft:
    """Whatever can be made of noisy sums and noisy counts: nothing about sizes needs to be public.

    With groups a record is in one of them, so that each group's vector has noise of its own, and what one unit costs is
    counted once for every group it can leave or enter.
    """
    groups = list(product(*(range(len(key.labels)) for key in by)))
    changes, name, moved = terms.unit.cell_changes, statistic.name, moments.sensitivity
    if moments.products:
        certificate = norm_law(name, terms, moved, (moments.block,), changes)
    else:
        certificate = joint_law(name, terms, moved, moments.dimension, changes)
    return make_draft(
        statistic,
        terms,
        derivation,
        certificate,
        Request(tuple(by), moments.columns, moments.products),
        lambda cells: [moments(cells.get(group)) for group in groups],
        bounds=bounds,
        columns=[*moments.columns, *by],
        units=[Fraction(1)] * (len(groups) * moments.dimension),
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
) -> Draft:
    """Whatever follows from sums of columns and of their products, drawn together, where n is public.

    Numbers are in halves: one unit is worth 2.
    """
    moments = MomentSums(tuple(columns), products=True, counted=False)
    moved = terms.unit.contributions * moments.sensitivity
    return make_draft(
        statistic,
        terms,
        derivation,
        norm_law(statistic.name, terms, moved, (moments.block,)),
        moments.request,
        lambda cells: [moments(cells[()])],
        bounds=bounds,
        columns=moments.columns,
        units=[Fraction(2)] * moments.dimension,
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
    """The count of every cell of a table, or its share ``over`` a public number.

    With ``keeps_sum`` noise is drawn that keeps the public sum; otherwise each cell has its own. The cell ``left_out``
    is not released.
    """
    shape = tuple(len(key.labels) for key in keys)
    drawn = prod(shape) - (left_out is not None)
    joint = keeps_sum and terms.rows is not None and terms.bounding == "bit" and drawn > 1
    name = statistic.name

    def exact(cells: Cells) -> Exact:
        counts = counts_of(cells, shape)
        return counts if left_out is None else np.delete(counts, left_out)

    return make_draft(
        statistic,
        terms,
        derivation,
        zero_sum_law(name, terms, drawn) if joint else counts_law(name, terms),
        Request(tuple(keys)),
        exact,
        bounds=((Fraction(0), top),) * drawn,
        columns=keys,
        units=(Fraction(1, over),) * drawn,
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
    """The elements of a matrix, row by row from the diagonal: drawn together, or each on its own with a share of ε.

    Together they are measured in units of their own sensitivities, so that one unit of privacy moves each by at most 1.
    ``name`` is what the noise is added to.
    """
    together = joint and len(numbers) > 1
    certificate: Certificate | Composition
    if together:
        certificate = joint_law(name, terms, Fraction(1), len(numbers))
        units = [one.sensitivity for one in numbers]
    else:
        share, units = terms.epsilon / len(numbers), [Fraction(1)] * len(numbers)
        # Before the data are read: every law that does not wait for a released variance.
        certificate = compose([law_of_number(one, terms, name, share) for one in numbers], terms.epsilon)

    def exact(cells: Cells) -> Exact:
        return [[one(cells) / unit for one, unit in zip(numbers, units, strict=True)]]

    return make_draft(
        statistic,
        terms,
        derivation,
        certificate,
        request,
        exact,
        bounds=[(one.lower, one.upper) for one in numbers],
        columns=columns,
        units=units,
        axes=axes,
        sizes=sizes,
    )


def triangle(columns: int) -> int:
    """Elements on and above the diagonal of a matrix."""
    return columns * (columns + 1) // 2


def limits_of_sums(columns: Sequence[Numeric]) -> list[Bound]:
    """Bounds of covariances whatever the size: W_x W_y / 2, which two records attain."""
    return [
        (Fraction(0) if a is b else -a.width * b.width / 2, a.width * b.width / 2) for a in columns for b in columns
    ]


def pairs_of(columns: Sequence[Any]) -> list[tuple[Any, Any]]:
    """All pairs of columns, each with itself first."""
    return list(combinations_with_replacement(columns, 2))
