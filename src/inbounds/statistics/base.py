"""What statistics share: checks of their arguments, and the columns that these describe."""

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds import _check
from inbounds._frozen import FrozenMap
from inbounds.privacy.certified import Bound
from inbounds.privacy.terms import Terms
from inbounds.tables.request import MOST_ROWS
from inbounds.tables.schema import (
    ELSEWHERE,
    Column,
    Edges,
    Key,
    Levels,
    Numeric,
    Quantised,
    quantise_column,
    resolution,
)

UNIT_INTERVAL: Bound = (Fraction(0), Fraction(1))
# The most columns of a matrix, and the most digits of the numerator and denominator of a bound.
MOST_COLUMNS, _MOST_DIGITS = 200, 100
# The most cells of a table.
MOST_CELLS = 10**7


def keep(statistic: Any, **values: Any) -> None:
    """Set fields of a frozen statistic in its ``__post_init__``."""
    for name, value in values.items():
        object.__setattr__(statistic, name, value)


# Columns


def numeric(name: str, bounds: Any, missing: Any, integer: Any) -> Numeric:
    """A column of numbers, from the arguments of a user."""
    return Numeric.of(name, bounds, missing, integer=integer)


def several(bounds: Any, missing: Any, integer: Any) -> tuple[Numeric, ...]:
    """Columns of numbers, from the arguments of a user."""
    if not isinstance(bounds, Mapping) or not bounds:
        raise TypeError("bounds must be a dictionary by column, as in bounds={'age': (0, 100), 'bmi': (10, 60)}")
    if missing is not None and not isinstance(missing, Mapping):
        raise TypeError("missing must be a dictionary by column, as in missing={'age': 40}")
    if isinstance(integer, str | bool) or not isinstance(integer, Collection):
        raise TypeError("integer must be a list of columns, as in integer=['age']")
    if len(bounds) > MOST_COLUMNS:
        raise ValueError(f"bounds must have at most {MOST_COLUMNS} columns, got {len(bounds)}")
    fills = missing or {}
    for word, names in (("missing", fills), ("integer", integer)):
        for name in names:
            if name not in bounds:
                raise ValueError(f"{word} has the column {name!r}, which has no bounds")
    whole = set(integer)
    columns = tuple(numeric(name, pair, fills.get(name), name in whole) for name, pair in bounds.items())
    for column in columns:
        # A matrix has thousands of elements, each with the digits of both of its columns.
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
        raise TypeError("other= is only for levels: a number beyond the edges counts in the nearest interval")
    return Edges.of(name, edges, missing)


def fields_of_key(key: Key) -> dict[str, Any]:
    """The rule of a column of levels or intervals as frozen fields."""
    if isinstance(key, Levels):
        return {"levels": key.levels, "edges": None, "missing": key.missing, "other": key.other}
    return {"levels": None, "edges": key.edges, "missing": key.missing, "other": None}


def groups_of(by: Any, levels: Any, missing: Any, other: Any) -> Levels:
    """The column that has the groups."""
    if levels is None:
        raise TypeError(f"by={_check.shown(by)} needs levels=[...], the groups, known without looking at the data")
    return Levels(by, levels, other, missing, keywords=("other", "by_missing"))


def indicator(name: str, level: Any, missing: Any) -> Levels:
    """A column whose last level is counted: the one that is named, or 1 (true) of a column of 0 and 1."""
    if missing is not None and not isinstance(missing, bool):
        raise TypeError(
            "missing must be True (missing values have the level), False (they do not) or None (they are refused)"
        )
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
    """Refuse a denominator if the number of rows is public."""
    if denominator is not None and not terms.protects_rows:
        raise ValueError(
            "denominator= is only for neighbours='add-remove': with 'substitute' the denominator is the public number "
            "of rows"
        )


def quantise(column: Numeric, terms: Terms, *, root: bool = False) -> Quantised:
    """A column in steps that are fine enough for this ε and number of rows."""
    # If n is protected, steps must be fine enough for any number of rows.
    return quantise_column(column, resolution=resolution(terms.rows or MOST_ROWS, terms.epsilon, root=root))


def list_names(columns: Sequence[Column]) -> str:
    """Names of columns, for a title."""
    return ", ".join(column.name for column in columns)
