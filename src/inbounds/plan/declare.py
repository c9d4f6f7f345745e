"""What is public about a table, as Python says it: the rule of each column, and the rule for the rows of persons."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from inbounds import _check
from inbounds._frozen import FrozenMap
from inbounds._text import shorten, visible
from inbounds._types import Edges, Fold, Keep, Level, MissingPerson, Number
from inbounds.privacy.persons import Persons
from inbounds.privacy.terms import Unit
from inbounds.record.release import Release
from inbounds.statistics.base import numeric, settle_bounds
from inbounds.tables import schema

_LONGEST_TEXT, _FEW = 200, 8


@dataclass(frozen=True, slots=True, repr=False)
class ColumnRule:
    """The public rule of a column of an `inbounds.Table`. Made by `inbounds.number` or `inbounds.category`.

    Attributes
    ----------
    bounds, edges
        The smallest and the largest value of a number, and the ends of its intervals.
    levels
        The categories; None for a number.
    missing, other
        How missing values are counted, and values that are not in the categories.
    integer
        Whether all values are whole numbers.
    values
        What a number is: an amount or a measure.
    label, unit
        The words for readers.
    """

    bounds: Any = None
    edges: Any = None
    levels: tuple[Level, ...] | None = None
    missing: Any = None
    other: Level | None = None
    integer: bool = False
    values: Literal["amount", "measure"] | None = None
    label: str | None = None
    unit: str | None = None

    def __repr__(self) -> str:
        shown = [show_value(level) for level in (self.levels or ())[:_FEW]]
        shown += [f"... {len(self.levels or ()) - _FEW:,} more"] * (len(self.levels or ()) > _FEW)
        shown += [] if isinstance(self.bounds, Release) else [show_value(end) for end in self.bounds or ()]
        words = {"edges": self.edges, "missing": self.missing, "other": self.other, "integer": self.integer or None}
        words |= {"values": self.values, "label": self.label, "unit": self.unit}
        shown += [f"{word}={show_value(value)}" for word, value in words.items() if value is not None]
        return shorten(f"{'number' if self.levels is None else 'category'}({', '.join(shown)})", 400)

    def checked(self, name: str) -> "ColumnRule":
        """The same rule with bounds in numbers. An impossible rule raises an error that names the column."""
        if self.levels is not None:
            schema.Levels(name, self.levels, self.other, self.missing)
            return self
        bounds = None if self.bounds is None else tuple(settle_bounds(self.bounds, name))
        if self.edges is not None:
            schema.Edges.of(name, self.edges, self.missing)
        if bounds is not None:
            own = self.edges is not None and self.missing == "level"
            numeric(name, bounds, None if own else self.missing, self.integer)
        return replace(self, bounds=bounds)


def show_value(value: Any) -> str:
    """A public value as a call has it. Fractions are shown as numbers and dates as text."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(show_value, value))}]"
    if isinstance(value, Fraction | Decimal) and value == Fraction(repr(plain := float(value))):
        return repr(int(plain) if plain.is_integer() else plain)
    return visible(repr(str(value) if isinstance(value, date) else value))


def number(
    lower: Number | Release | None = None,
    upper: Number | None = None,
    *,
    edges: Edges | None = None,
    missing: Number | str | None = None,
    integer: bool = False,
    values: Literal["amount", "measure"] | None = None,
    label: str | None = None,
    unit: str | None = None,
) -> ColumnRule:
    """Declare a column of numbers, dates or times of an `inbounds.Table`.

    Parameters
    ----------
    lower, upper
        The smallest and the largest value, known without looking at the data. Values outside are clipped. A release of
        `inbounds.bounds` may be given for both. A column without bounds is enough for the statistic ``bounds``.
    edges
        The ends of the intervals in which a histogram or a cross-tabulation counts values.
    missing
        The number that missing values count as. ``"skip"`` leaves those rows out. ``"level"`` counts missing values in
        a cell of their own, for intervals. Without it, a table with missing values is refused.
    integer
        Whether all values are whole numbers. They are then counted in steps of one.
    values
        What the column holds, for previews: ``"amount"`` for values that are small compared with their bounds, such as
        income, ``"measure"`` for values in the middle of their bounds, such as age.
    label, unit
        Words for readers, such as ``"Age"`` and ``"years"``. Printing the table shows them.

    Returns
    -------
    ColumnRule
        The rule.

    Raises
    ------
    TypeError
        If one bound is given without the other.

    Examples
    --------
    >>> number(18, 100, missing="skip", unit="years")
    number(18, 100, missing='skip', unit='years')
    """
    is_release = isinstance(lower, Release)
    if is_release == (upper is not None) and lower is not None:
        raise TypeError("number needs both bounds, as in number(18, 100), or a release of inbounds.bounds alone")
    if lower is None and upper is not None:
        raise TypeError("number needs both bounds, as in number(18, 100)")
    bounds = None if lower is None else lower if is_release else (lower, upper)
    ends = None if edges is None else tuple(edges)
    _require_text(label=label, unit=unit)
    if values is not None:
        _check.choice(values, "values", ("amount", "measure"))
    return ColumnRule(bounds, ends, None, missing, None, integer, values, label, unit)


def category(
    *categories: Level, missing: Level | None = None, other: Level | None = None, label: str | None = None
) -> ColumnRule:
    """Declare a column of categories of an `inbounds.Table`.

    Parameters
    ----------
    *categories
        The values that the column may have, known without looking at the data: all text, all whole numbers, or
        ``False, True``.
    missing
        The category that missing values count as. ``"skip"`` leaves those rows out. ``"level"`` makes missing values a
        category. Without it, a table with missing values is refused.
    other
        The category for values that are not in the list. ``"skip"`` leaves those rows out. Without it, a statistic of
        all categories refuses a table with such values.
    label
        Words for readers. Printing the table shows them.

    Returns
    -------
    ColumnRule
        The rule.

    Raises
    ------
    TypeError
        If there are no categories, or a list of them is given as one.

    Examples
    --------
    >>> category("yes", "no", missing="no")
    category('yes', 'no', missing='no')
    """
    if not categories or any(isinstance(each, list | tuple | set | Mapping) for each in categories):
        raise TypeError(
            "category needs each category as an argument, as in category('yes', 'no') or category(*regions)"
        )
    _require_text(label=label)
    return ColumnRule(levels=categories, missing=missing, other=other, label=label)


def _require_text(**words: object) -> None:
    for name, text in words.items():
        if text is not None and not (isinstance(text, str) and len(text.strip()) > 0 and len(text) <= _LONGEST_TEXT):
            raise TypeError(f"{name} must be a text of 1 to {_LONGEST_TEXT} characters, got {_check.shown(text)}")


@dataclass(frozen=True, slots=True, repr=False)
class Person:
    """Protect persons in an `inbounds.Table`, where one person may have several rows.

    Parameters
    ----------
    column
        The column that identifies the person each row belongs to.
    rows
        The largest number of rows that are kept of each person.
    keep, order
        Which rows are kept: at random, or the first or the last by the column ``order``.
    max_groups
        A column and the most of its groups that one person may be in, as in ``{"month": 3}``. In each of these groups
        ``rows`` rows are kept.
    missing
        How to treat rows without an id: ``"skip"`` leaves them out, ``"own"`` treats each as a separate person.
    fold
        How all rows of a person become one, by column, as in ``{"visits": "count", "cost": "sum"}``.
    plausible_rows, plausible_shift
        How many rows persons plausibly have, and how much persons with many rows differ, for previews; see
        `inbounds.preview`.

    Raises
    ------
    TypeError, ValueError
        If a rule is impossible, or cannot be combined with another.

    Examples
    --------
    >>> Person("id", rows=2, keep="first", order="date")
    Person('id', rows=2, keep='first', order='date')
    """

    column: str
    rows: int = 1
    keep: Keep = "random"
    order: str | None = None
    max_groups: Mapping[str, int] | None = None
    missing: MissingPerson = "skip"
    fold: Mapping[str, Fold] | None = None
    plausible_rows: Any = None
    plausible_shift: Any = None

    def __post_init__(self) -> None:
        if self.column is None:
            raise TypeError("column must be the name of the column that identifies persons")
        rule = {name: value for name, value in self.keywords.items() if name != "contributions"}
        mistake: TypeError | ValueError
        try:
            Unit.of("substitute", self.rows, Persons.of(**rule))
            self._freeze()
            return
        except (TypeError, ValueError) as error:
            mistake = error
        # The release functions have other names for the same.
        text = str(mistake)
        for name, own in {"contributions": "rows", "groups": "max_groups", "person_missing": "missing"}.items():
            text = text.replace(f"{name}=", f"{own}=").replace(f"{name} must", f"{own} must")
        raise type(mistake)(text.replace("person must", "column must"))

    def _freeze(self) -> None:
        for name in ("max_groups", "fold"):
            rule = getattr(self, name)
            object.__setattr__(self, name, None if rule is None else FrozenMap(rule))

    def __repr__(self) -> str:
        others = [each for each in fields(self)[1:] if getattr(self, each.name) != each.default]
        shown = [f"{each.name}={show_value(getattr(self, each.name))}" for each in others]
        return f"Person({', '.join([show_value(self.column), *shown])})"

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords of a release function that have the same meaning."""
        return {
            "person": self.column,
            "contributions": self.rows,
            "keep": self.keep,
            "order": self.order,
            "groups": self.max_groups,
            "person_missing": self.missing,
            "fold": self.fold,
        }
