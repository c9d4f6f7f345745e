"""What statistics share: checks of their arguments, and the columns that these describe."""

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from inbounds import _check
from inbounds._frozen import FrozenMap
from inbounds.privacy.certified import Bound
from inbounds.privacy.terms import Terms
from inbounds.record.draft import UNNAMED
from inbounds.record.release import Release
from inbounds.record.selection import plain_statistic
from inbounds.tables.request import MOST_ROWS
from inbounds.tables.schema import (
    ELSEWHERE,
    SKIP,
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
# How noise is added to a mean, and to a spread.
METHODS = ("moments", "direct")
SPREAD_METHODS = ("centred", "robust", *METHODS)
# The boundings and methods of a matrix that a preview compares.
MATRIX_WAYS = (("bit", "joint"), ("bit", "split"), ("truncated", "split"))
# The most cells of a table.
MOST_CELLS = 10**7


def keep(statistic: Any, **values: Any) -> None:
    """Set fields of a frozen statistic in its ``__post_init__``."""
    for name, value in values.items():
        object.__setattr__(statistic, name, value)


# Columns


def numeric(name: str, bounds: Any, missing: Any, integer: Any) -> Numeric:
    """A column of numbers, from the arguments of a user."""
    return Numeric.of(name, settle_bounds(bounds, name), missing, integer=integer)


def settle_bounds(bounds: Any, name: str) -> Any:
    """Bounds of a column as they are, or those of a release of its bounds, in exact numbers."""
    if not isinstance(bounds, Release):
        return bounds
    ends = plain_statistic(bounds.statistic).ends_of(bounds)
    if ends is None:
        raise TypeError("bounds must be a pair (lower, upper) or a release of inbounds.bounds, got another release")
    other: Any = bounds.columns[0].name
    if name != other and UNNAMED not in (name, other):
        raise ValueError(
            f"bounds are those of column {other!r}, not of {name!r}; if they hold for both, give their numbers: "
            "bounds=tuple(release.value)"
        )
    return ends


def several(bounds: Any, missing: Any, integer: Any) -> tuple[Numeric, ...]:
    """Columns of numbers, from the arguments of a user."""
    if not isinstance(bounds, Mapping) or not bounds:
        raise TypeError("bounds must be a dictionary by column, as in bounds={'age': (0, 100), 'bmi': (10, 60)}")
    if isinstance(missing, str) and missing == "skip":
        missing = dict.fromkeys(bounds, missing)
    if missing is not None and not isinstance(missing, Mapping):
        raise TypeError("missing must be 'skip', or a dictionary by column, as in missing={'age': 40, 'bmi': 'skip'}")
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
        "bounds": FrozenMap({column.name: column.ends for column in columns}),
        "missing": FrozenMap({rule.name: rule.spelled_missing for rule in columns if rule.missing is not None}) or None,
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
    return {"levels": None, "edges": key.ends, "missing": key.spelled_missing, "other": None}


def groups_of(by: Any, levels: Any, missing: Any, other: Any) -> Levels:
    """The column that has the groups."""
    if levels is None:
        raise TypeError(f"by={_check.shown(by)} needs levels=[...], the groups, known without looking at the data")
    return Levels(by, levels, other, missing, keywords=("other", "by_missing"))


def keys_of(by: Any, levels: Any, missing: Any, other: Any) -> tuple[Levels, ...]:
    """The columns that make the groups: one, with its levels, or several, with a dictionary of theirs."""
    if by is None:
        refuse_with("a single number; name the groups with by=", levels=levels, other=other, by_missing=missing)
        return ()
    if isinstance(by, str):
        return (groups_of(by, levels, missing, other),)
    if not isinstance(by, Sequence) or not by or not all(isinstance(name, str) for name in by):
        raise TypeError(f"by must be a column or a list of columns, got {_check.shown(by)}")
    if len(set(by)) < len(by):
        raise ValueError("by names a column twice")
    if not isinstance(levels, Mapping):
        raise TypeError(
            "by of several columns needs levels={column: [...]} for each of them, known without looking at the data"
        )
    rules = {"levels": levels, "by_missing": missing or {}, "other": other or {}}
    for word, rule in rules.items():
        if not isinstance(rule, Mapping):
            raise TypeError(f"{word} must be a dictionary from columns where by has several, as in {{'region': ...}}")
        for name in rule:
            if name not in by:
                raise ValueError(f"{word} names {_check.shown(name)}, which is none of the columns of by")
    words = ("levels", "by_missing", "other")
    keys = tuple(groups_of(name, *(rules[word].get(name) for word in words)) for name in by)
    if prod(len(key.labels) for key in keys) > MOST_CELLS:
        raise ValueError(f"by makes more than {MOST_CELLS:,} groups")
    return keys


def fields_of_groups(keys: Sequence[Levels]) -> dict[str, Any]:
    """The rules of groups as frozen fields."""
    if not keys:
        return {"by": None, "levels": None, "by_missing": None, "other": None}
    if len(keys) == 1:
        (key,) = keys
        return {"by": key.name, "levels": key.levels, "by_missing": key.missing, "other": key.other}

    def each(word: str) -> Any:
        return FrozenMap({key.name: value for key in keys if (value := getattr(key, word)) is not None}) or None

    names = tuple(key.name for key in keys)
    return {"by": names, "levels": each("levels"), "by_missing": each("missing"), "other": each("other")}


def count_groups(keys: Sequence[Levels]) -> int:
    """The number of groups; one if all records are in it."""
    return prod(len(key.labels) for key in keys)


def labels_of(keys: Sequence[Levels]) -> list[tuple[str, ...]]:
    """The groups along each axis."""
    return [key.labels for key in keys]


def title_of(what: str, keys: Sequence[Levels]) -> str:
    """What is released, and by which groups."""
    return f"{what} by {list_names(keys)}" if keys else what


def indicator(name: str, level: Any, missing: Any) -> Levels:
    """A column whose last level is counted: the named level, or 1 (true) for a column of 0 and 1."""
    skip = isinstance(missing, str) and missing == "skip"
    if not (missing is None or isinstance(missing, bool) or skip):
        raise TypeError(
            "missing must be True (counts as having it), False (as not having it), 'skip' (left out) or None (refused)"
        )
    if level is None:
        fill = missing if missing is None or skip else int(missing)
        return Levels(name, (0, 1), None, fill, keywords=("level", "missing"))
    level = level.item() if isinstance(level, np.generic) else level
    if not isinstance(level, str | bool | int):
        raise TypeError(f"level must be text, an integer or a boolean, got {_check.shown(level)}")
    place = None if missing is None else SKIP if skip else level if missing else ELSEWHERE
    return Levels(name, (level,), ELSEWHERE, place)


def refuse_with(what: str, **arguments: Any) -> None:
    """Refuse arguments that would be ignored."""
    if names := [name for name, value in arguments.items() if value is not None]:
        raise TypeError(f"{', '.join(names)} cannot be combined with {what}")


def check_method(method: Any, methods: tuple[str, ...] = METHODS) -> None:
    """Refuse an unknown method of a mean or a spread."""
    if method is not None:
        _check.choice(method, "method", methods)


def fixed_denominator(denominator: Any) -> int | None:
    """A fixed public number to divide by."""
    if denominator is None:
        return None
    if _check.integer(denominator, "denominator", least=1) > MOST_ROWS:
        raise ValueError("denominator must not exceed 2^31, the most rows that a table may have")
    return int(denominator)


def refuse_denominator(denominator: int | None, terms: Terms) -> None:
    """Refuse a denominator where n is public, since it is not needed there."""
    if denominator is not None and terms.rows is not None:
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
