"""Columns and their public rules: what each record becomes before anything is counted.

A rule looks at one record and at public numbers, never at other records. A missing value (None, null, NaN) gets what
the rule says: a number inside the bounds, a level, or refusal of the table; ``"skip"`` leaves the record out, and
``"level"`` gives missing values a cell of their own. A number outside its bounds counts as the bound next to it; a
value that is none of the levels goes to the level declared as ``other``, is skipped, or the table is refused.

A refusal names the column and the rule. It does not say which record it was, how many there were, or what they held.
"""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from inbounds import _check
from inbounds.errors import DataError as DataError
from inbounds.tables.edges import MOST_UNEQUAL as MOST_UNEQUAL
from inbounds.tables.edges import Edges as Edges
from inbounds.tables.edges import even_spacing as even_spacing
from inbounds.tables.numeric import ELSEWHERE as ELSEWHERE
from inbounds.tables.numeric import LARGEST_COUNT as LARGEST_COUNT
from inbounds.tables.numeric import OWN as OWN
from inbounds.tables.numeric import REFUSED as REFUSED
from inbounds.tables.numeric import SKIP as SKIP
from inbounds.tables.numeric import Numeric as Numeric
from inbounds.tables.numeric import Place as Place
from inbounds.tables.numeric import Quantised as Quantised
from inbounds.tables.numeric import Steps as Steps
from inbounds.tables.numeric import check_name
from inbounds.tables.numeric import quantise_column as quantise_column
from inbounds.tables.numeric import resolution as resolution
from inbounds.tables.numeric import short as short

if TYPE_CHECKING:
    from inbounds.tables.expressions import Expression, Kind

Level: TypeAlias = str | int | bool
# In place of the number of a cell, for values that are no level and for missing ones. Intervals have the second alone.
OTHER, MISSING = -2, -1


@dataclass(frozen=True, slots=True)
class Levels:
    """A column with a few public values, all text, all integers or all booleans.

    ``other`` and ``missing`` say where values go that are none of them, and missing ones: to a level, `ELSEWHERE`, out
    of the statistic (`SKIP`), missing ones to a level of their own (`OWN`), or nowhere (None), which refuses the table.
    Where one of the levels has the name of such a place, it is the level that is meant.
    """

    name: str
    levels: tuple[Level, ...]
    other: Level | Place | None = None
    missing: Level | Place | None = None
    # What the user calls these two rules.
    keywords: tuple[str, str] = ("other", "missing")
    formula: "Expression | None" = None
    # The levels as text: made once, since there may be a million of them.
    texts: tuple[str, ...] = field(init=False, repr=False, compare=False)
    # Those of the cells that are published: the levels, and that of missing values if they have one of their own.
    labels: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        object.__setattr__(self, "levels", _levels(self.name, self.levels))
        texts = (str(level).lower() if isinstance(level, bool) else str(level) for level in self.levels)
        object.__setattr__(self, "texts", tuple(texts))
        for rule, keyword in zip(("other", "missing"), self.keywords, strict=True):
            level = self._find_place(_plain(getattr(self, rule)), rule)
            object.__setattr__(self, rule, level)
            known = type(level) is type(self.levels[0]) and level in self.levels
            if not (known or level is None or isinstance(level, Place)):
                places = "'skip' or 'level'" if rule == "missing" else "'skip'"
                raise ValueError(
                    f"{keyword} of {self.name!r} must be one of its levels, {places}, got {_check.shown(level)}"
                )
        extra = (_unlike("missing", self.texts),) if self.missing is OWN else ()
        object.__setattr__(self, "labels", (*self.texts, *extra))

    def _find_place(self, level: Any, rule: str) -> Any:
        """A place by its name, if no level has that name."""
        if not isinstance(level, str) or isinstance(level, Place) or level in self.levels:
            return level
        places = {"skip": SKIP} | ({"level": OWN} if rule == "missing" else {})
        return places.get(level, level)

    @property
    def cells(self) -> int:
        """Number of cells, those of no level included."""
        return 1 + max([len(self.labels) - 1, *(self._place(place) or 0 for place in self._strayed)])

    @property
    def refused(self) -> int:
        """The cell of what is `REFUSED`."""
        return len(self.labels) + 2

    @property
    def _strayed(self) -> list[Place]:
        return [level for level in (self.other, self.missing) if isinstance(level, Place)]

    @property
    def skips(self) -> bool:
        """Whether records of no level are left out."""
        return SKIP in self._strayed

    @property
    def strays(self) -> tuple[str, str]:
        """Labels for values that are no level and for missing ones, different from every level's."""
        return _unlike("other", self.texts), _unlike("missing", self.texts)

    @property
    def stray_numbers(self) -> tuple[int, int]:
        """The same as numbers, where levels are integers (or booleans)."""
        low = min(int(level) for level in self.levels)
        return low - 2, low - 1

    @property
    def places(self) -> tuple[int | None, int | None]:
        """Cells of values that are no level, and of missing ones; None refuses."""
        return self._place(self.other), self._place(self.missing)

    def _place(self, level: Level | Place | None) -> int | None:
        if isinstance(level, Place):
            size = len(self.labels)
            return {OWN: len(self.levels), ELSEWHERE: size, SKIP: size + 1, REFUSED: self.refused}[level]
        return None if level is None else self.levels.index(level)


def to_hexadecimal(text: str) -> str:
    """The bytes of a text as `inbounds.tables.dialects` has a database write them."""
    return text.encode().hex().upper()


def _unlike(word: str, labels: Sequence[str]) -> str:
    while word in labels:
        word += "_"
    return word


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _levels(name: str, levels: Any) -> tuple[Level, ...]:
    is_ordered = hasattr(levels, "__len__") and hasattr(levels, "__getitem__")
    if not is_ordered or isinstance(levels, str | Mapping):
        raise TypeError(
            f"column {name!r} needs levels=[...], a list of its possible values, known without looking at the data"
        )
    plain = [_plain(level) for level in levels]
    if not plain:
        raise ValueError(f"levels of {name!r} must not be empty")
    kinds = {type(level) for level in plain}
    if len(kinds) != 1 or not kinds <= {str, int, bool}:
        raise TypeError(f"levels of {name!r} must be all text, all integers or all booleans")
    if len(set(plain)) < len(plain):
        twice = max(plain, key=Counter(plain).__getitem__)
        raise ValueError(f"levels of {name!r} must be different, and {_check.shown(twice)} is there twice")
    if kinds == {str} and any("\0" in level for level in plain):
        raise ValueError(f"levels of {name!r} must not hold the character NUL")
    if kinds == {int} and max(abs(level) for level in plain) >= 1 << 53:
        # From 2^53 on a double stands for more than one integer.
        raise ValueError(f"levels of {name!r} must be below 2^53 in size; use text")
    return tuple(plain)


@dataclass(frozen=True, slots=True)
class Operand:
    """A column as an expression reads it: numbers, text, truth values or times, with missing values where it has
    others. Or as the rule for persons reads it: as an id, which is only compared, or as what rows are ordered by."""

    name: str
    kind: 'Kind | Literal["id", "order"]'
    # For times: the zone whose clock is used for instants.
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """Which records count: those for which ``where`` is true, and which have a number in every column of ``present``.

    As a key of a table it has two cells, that of the records that count and that of the others.
    """

    where: "Expression | None" = None
    present: tuple[Numeric, ...] = ()

    @property
    def cells(self) -> int:
        """Number of cells."""
        return 2

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the cells that are published."""
        return ("selected",)


Key: TypeAlias = Levels | Edges
AnyKey: TypeAlias = Key | Steps | Condition
Ruled: TypeAlias = Numeric | Levels | Edges
Column: TypeAlias = Ruled | Operand


def is_written(column: Column) -> bool:
    """Whether a column is one that an expression names."""
    return isinstance(column, Operand) and column.kind not in ("id", "order")


def list_read(rules: Iterable[Ruled | Condition | Steps | Operand]) -> tuple[Column, ...]:
    """The columns of a table that some rules read, each once. A formula reads its operands."""
    columns: dict[Column, None] = {}
    for entry in rules:
        rule = entry.column if isinstance(entry, Steps) else entry
        formula = rule.where if isinstance(rule, Condition) else getattr(rule, "formula", None)
        if formula is not None:
            columns |= dict.fromkeys(list_operands(formula))
        elif not isinstance(rule, Condition):
            columns[rule] = None
    return tuple(columns)


def list_operands(formula: "Expression") -> list[Operand]:
    """The columns that an expression reads, as it reads them."""
    return [Operand(name, kind, formula.zone if kind == "time" else None) for name, kind in formula.columns.items()]


# A hint for an expression that names a column which does not exist.
IN_QUOTES = "; if it is meant as text, write it in single quotes"


def unknown_column(name: str, names: Iterable[Any], *, written: bool = False) -> DataError:
    """The error for a column that is not there, with the nearest name that is. Names of columns are public.

    ``written`` says that it is one of an expression, where text may have been meant.
    """
    names = list(names)
    texts = [each for each in names if isinstance(each, str) and "\0" not in each]
    near = [each for each in texts if each.casefold() == name.casefold()]
    near = near or difflib.get_close_matches(name, texts, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else IN_QUOTES * written
    if not all(isinstance(each, str) for each in names):
        hint = "; its columns have names that are not text: name them first, as in df.columns = ['age', 'sex']"
    return DataError(f"the table has no column {name!r}{hint}")
