"""Persons: which rows belong together, and what becomes of them before anything is counted.

All rows with the same value in a column are one person's. A public rule, which looks only at the rows of one person,
keeps a few of them, or folds all of them into one record; see docs/persons.md for what follows from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from inbounds import _check
from inbounds._frozen import FrozenMap

Keep: TypeAlias = Literal["random", "first", "last"]
MissingPerson: TypeAlias = Literal["skip", "own"]
Fold: TypeAlias = Literal["count", "sum", "mean", "min", "max", "any", "all", "first", "last"]
KEEPS = ("random", "first", "last")
MISSING_PERSONS = ("skip", "own")
FOLDS = ("count", "sum", "mean", "min", "max", "any", "all", "first", "last")
# A larger limit for the rows of one person would limit nobody.
MOST_RECORDS = 1 << 31


@dataclass(frozen=True, slots=True)
class Persons:
    """The rule for the rows of persons: public facts, which name columns and hold no data.

    Attributes
    ----------
    column
        The column that says whose row it is.
    keep, order
        Which rows are kept: at random, or the first or last by the column ``order``.
    groups
        A column, and the most of its groups that one person may be in; None for no such limit.
    missing
        What becomes of rows without an id: ``"skip"`` leaves them out, ``"own"`` counts each as a separate person.
    fold
        How all rows of a person become one record: for each column of the record, how its values are combined.
    """

    column: str
    keep: Keep = "random"
    order: str | None = None
    groups: tuple[str, int] | None = None
    missing: MissingPerson = "skip"
    fold: FrozenMap[Fold] | None = None

    @classmethod
    def of(
        cls,
        person: Any = None,
        keep: Any = "random",
        order: Any = None,
        groups: Any = None,
        person_missing: Any = "skip",
        fold: Any = None,
    ) -> "Persons | None":
        """Make the rule from the arguments of a user; None without ``person``. Raises for what cannot be combined."""
        if person is None:
            settings = {"keep": keep != "random", "person_missing": person_missing != "skip"}
            settings |= {"order": order is not None, "groups": groups is not None, "fold": fold is not None}
            if wrong := [name for name, is_set in settings.items() if is_set]:
                raise TypeError(f"{wrong[0]}= needs person=, the column that says whose row it is")
            return None
        column = _name(person, "person")
        _check.choice(keep, "keep", KEEPS)
        _check.choice(person_missing, "person_missing", MISSING_PERSONS)
        order_column = None if order is None else _name(order, "order")
        group_limit, folds = _groups(groups, column), _fold(fold, column)
        if folds is not None and (group_limit is not None or keep != "random"):
            raise ValueError(
                "fold= makes one record of all rows of a person: keep= and groups= cannot be combined with it"
            )
        ways = set((folds or {}).values())
        if {"first", "last"} <= ways:
            raise ValueError("fold= has both 'first' and 'last': use one of them, and 'min' or 'max' of the order")
        needs_order = keep != "random" or bool(ways & {"first", "last"})
        if needs_order and order_column is None:
            raise TypeError("the first or last row of a person needs order=, a column of numbers, dates or times")
        if order_column is not None and not needs_order:
            raise TypeError("order= is for keep='first', keep='last' or a fold by 'first' or 'last'")
        return cls(column, keep, order_column, group_limit, person_missing, folds)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table that it reads, besides those that are folded or counted."""
        return (self.column,) if self.order is None else (self.column, self.order)

    @property
    def new_columns(self) -> frozenset[str]:
        """The columns that folding makes from the number of rows alone."""
        return frozenset(name for name, how in (self.fold or {}).items() if how == "count")

    @property
    def keyed(self) -> bool:
        """Whether a key, which is drawn with the release and recorded, decides between rows."""
        return self.fold is None

    def describe(self, contributions: int) -> str:
        """The unit of privacy in words, as records, reports and ledgers have them."""
        if self.fold is not None:
            return f"one person, all rows folded into one record, column {self.column}"
        if self.groups is None:
            rows = "1 row" if contributions == 1 else f"{contributions:,} rows"
            return f"one person, at most {rows}, column {self.column}"
        name, most = self.groups
        rows = "1 row" if contributions == most else f"{contributions // most:,} rows"
        groups = f"{most:,} group{'s' * (most > 1)} of {name}"
        return f"one person, at most {rows} in each of at most {groups}, column {self.column}"

    def to_dict(self) -> dict[str, Any]:
        """The rule as plain values, for JSON."""
        return {
            "column": self.column,
            "keep": self.keep,
            "order": self.order,
            "groups": None if self.groups is None else {self.groups[0]: self.groups[1]},
            "missing": self.missing,
            "fold": None if self.fold is None else dict(self.fold),
        }

    @classmethod
    def from_dict(cls, body: Any) -> "Persons":
        """Read what `to_dict` wrote. Raises a `ValueError` or `TypeError` for anything else."""
        names = ("column", "keep", "order", "groups", "missing", "fold")
        if not isinstance(body, dict) or set(body) != set(names):
            raise TypeError("a rule for persons has the fields " + ", ".join(names))
        persons = cls.of(*(body[name] for name in names))
        if persons is None or persons.to_dict() != body:
            raise ValueError("the rule for persons is not written the way inbounds writes it")
        return persons


def _name(value: Any, keyword: str) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise TypeError(f"{keyword} must be the name of a column, got {_check.shown(value)}")
    return str(value)


def _groups(groups: Any, person: str) -> tuple[str, int] | None:
    if groups is None:
        return None
    if not isinstance(groups, Mapping) or len(groups) != 1:
        raise TypeError("groups must be a dictionary of one column and a number, as in groups={'month': 3}")
    ((name, most),) = groups.items()
    if _name(name, "groups") == person:
        raise ValueError("groups must name another column than person")
    return str(name), _check.integer(most, "groups", least=1)


def _fold(fold: Any, person: str) -> "FrozenMap[Fold] | None":
    if fold is None:
        return None
    if not isinstance(fold, Mapping) or not fold:
        raise TypeError("fold must be a dictionary by column, as in fold={'visits': 'count', 'cost': 'sum'}")
    for name, how in fold.items():
        if _name(name, "fold") == person:
            raise ValueError("fold must not name the column of persons")
        _check.choice(how, f"fold of {name!r}", FOLDS)
    return FrozenMap({str(name): how for name, how in fold.items()})
