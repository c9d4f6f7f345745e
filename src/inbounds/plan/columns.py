"""Turn declared columns into the keywords of a statistic, for each way of taking columns: for plans and for tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from inbounds.errors import ExpressionError
from inbounds.record.statistic import find_statistic
from inbounds.tables.expressions import parse
from inbounds.tables.expressions.tree import Kind

if TYPE_CHECKING:
    from inbounds.plan.model import Column, Item


class Rule(Protocol):
    """The public rule of a column, from a plan or from a table in Python."""

    @property
    def bounds(self) -> Any: ...
    @property
    def edges(self) -> Any: ...
    @property
    def levels(self) -> Any: ...
    @property
    def missing(self) -> Any: ...
    @property
    def other(self) -> Any: ...
    @property
    def integer(self) -> bool: ...
    @property
    def values(self) -> Literal["amount", "measure"] | None: ...


class ColumnChoice(Protocol):
    """A statistic with the columns that it reads, its groups, and the level that is counted."""

    @property
    def statistic(self) -> str: ...
    @property
    def columns(self) -> Sequence[str]: ...
    @property
    def groups(self) -> Sequence[str]: ...
    @property
    def level(self) -> Any: ...
    @property
    def sizes(self) -> Mapping[Any, int] | None: ...


_Rule = TypeVar("_Rule", bound=Rule)


class Taking(Protocol):
    """One way of taking columns: what they must declare, how they are checked, and which keywords they become."""

    def needs(self, place: int) -> tuple[str, ...]:
        """What a column at this place must declare: one of these parts of its rule, or nothing if there are none."""
        ...

    def problems(self, item: "Item", rules: "Mapping[str, Column]") -> Iterator[str]: ...
    def keywords(self, item: ColumnChoice, rules: Mapping[str, Rule]) -> dict[str, Any]: ...


class _Number:
    """One column of numbers."""

    def needs(self, place: int) -> tuple[str, ...]:
        return ("bounds",)

    def problems(self, item: "Item", rules: "Mapping[str, Column]") -> Iterator[str]:
        yield from _one_column(item)
        yield from _need_bounds(item, rules)

    def keywords(self, item: ColumnChoice, rules: Mapping[str, Rule]) -> dict[str, Any]:
        ((name, rule),) = rules.items()
        keywords = {"column": name, "bounds": exact(rule.bounds), "missing": exact(rule.missing)}
        return keywords | {"integer": rule.integer or None}


class _Free:
    """One column, whose range is said in the release."""

    def needs(self, place: int) -> tuple[str, ...]:
        return ()

    def problems(self, item: "Item", rules: "Mapping[str, Column]") -> Iterator[str]:
        yield from _one_column(item)

    def keywords(self, item: ColumnChoice, rules: Mapping[str, Rule]) -> dict[str, Any]:
        ((name, rule),) = rules.items()
        return {"column": name, "missing": exact(rule.missing)}


class _Numbers:
    """Several columns of numbers."""

    def needs(self, place: int) -> tuple[str, ...]:
        return ("bounds",)

    def problems(self, item: "Item", rules: "Mapping[str, Column]") -> Iterator[str]:
        if len(item.columns) < 2:
            yield f"release.{item.name}.columns: {item.statistic} needs two or more columns"
        yield from _need_bounds(item, rules)

    def keywords(self, item: ColumnChoice, rules: Mapping[str, Rule]) -> dict[str, Any]:
        keywords: dict[str, Any] = {"bounds": {name: exact(rule.bounds) for name, rule in rules.items()}}
        keywords["missing"] = {name: exact(rule.missing) for name, rule in rules.items() if rule.missing is not None}
        keywords["integer"] = [name for name, rule in rules.items() if rule.integer]
        return {name: value for name, value in keywords.items() if value}


class _Ordered:
    """Several columns whose values have an order. Levels come before edges, and edges before bounds."""

    def needs(self, place: int) -> tuple[str, ...]:
        return ("levels", "edges", "bounds")

    def problems(self, item: "Item", rules: "Mapping[str, Column]") -> Iterator[str]:
        if len(item.columns) < 2:
            yield f"release.{item.name}.columns: {item.statistic} needs two or more columns"
        for column, rule in rules.items():
            if self._rule(rule) is None:
                yield (
                    f"columns.{column}: release.{item.name} needs bounds = [lower, upper], edges = [...] or "
                    "levels = [...]"
                )

    def keywords(self, item: ColumnChoice, rules: Mapping[str, Rule]) -> dict[str, Any]:
        keywords: dict[str, dict[str, Any]] = {word: {} for word in ("bounds", "edges", "levels", "missing", "other")}
        for name, rule in rules.items():
            if (way := self._rule(rule)) is not None:
                keywords[way][name] = exact(getattr(rule, way))
            if rule.missing is not None:
                keywords["missing"][name] = exact(rule.missing)
            if rule.other is not None and way == "levels":
                keywords["other"][name] = rule.other
        return {word: value for word, value in keywords.items() if value}

    def _rule(self, rule: Rule) -> str | None:
        return next((word for word in self.needs(0) if getattr(rule, word) is not None), None)


class _Outcome:
    """One column of numbers, and others that explain it: by their levels, or as numbers."""

    def needs(self, place: int) -> tuple[str, ...]:
        return ("levels", "bounds") if place else ("bounds",)

    def problems(self, item: "Item", rules: "Mapping[str, Column]") -> Iterator[str]:
        if len(item.columns) < 2:
            yield f"release.{item.name}.columns: {item.statistic} needs a column and at least one that explains it"
        yield from _need_bounds(item, {name: rule for name, rule in rules.items() if name in item.columns[:1]})
        for column, rule in rules.items():
            if column not in item.columns[:1] and rule.levels is None and rule.bounds is None:
                yield f"columns.{column}: release.{item.name} needs bounds = [lower, upper] or levels = [...]"

    def keywords(self, item: ColumnChoice, rules: Mapping[str, Rule]) -> dict[str, Any]:
        levels = {name: rule for name, rule in rules.items() if rule.levels is not None and name != item.columns[0]}
        keywords = _Numbers().keywords(item, {name: rule for name, rule in rules.items() if name not in levels})
        missing = {name: rule.missing for name, rule in levels.items() if rule.missing is not None}
        keywords["missing"] = {**keywords.get("missing", {}), **missing} or None
        keywords["levels"] = {name: rule.levels for name, rule in levels.items()} or None
        keywords["other"] = {name: rule.other for name, rule in levels.items() if rule.other is not None} or None
        return {"column": item.columns[0], **keywords}


class _Cells:
    """One column with levels or intervals."""

    def needs(self, place: int) -> tuple[str, ...]:
        return ("levels", "edges")

    def problems(self, item: "Item", rules: "Mapping[str, Column]") -> Iterator[str]:
        yield from _one_column(item)
        yield from _need_cells(item, rules)

    def keywords(self, item: ColumnChoice, rules: Mapping[str, Rule]) -> dict[str, Any]:
        ((name, rule),) = rules.items()
        which = "levels" if rule.levels is not None else "edges"
        keywords = {"column": name, which: exact(getattr(rule, which))}
        return keywords | {"missing": exact(rule.missing), "other": rule.other}


class _Table:
    """Several columns with levels or intervals."""

    def needs(self, place: int) -> tuple[str, ...]:
        return ("levels", "edges")

    def problems(self, item: "Item", rules: "Mapping[str, Column]") -> Iterator[str]:
        if not item.columns:
            yield f"release.{item.name}.columns: name the columns of the table"
        yield from _need_cells(item, rules)

    def keywords(self, item: ColumnChoice, rules: Mapping[str, Rule]) -> dict[str, Any]:
        keywords = {
            word: {name: exact(getattr(rule, word)) for name, rule in rules.items() if getattr(rule, word) is not None}
            for word in ("levels", "edges", "missing", "other")
        }
        # If a column has both, its levels are used.
        keywords["edges"] = {name: edges for name, edges in keywords["edges"].items() if name not in keywords["levels"]}
        return {name: value for name, value in keywords.items() if value}


class _Level:
    """One column, of which one level is counted."""

    def needs(self, place: int) -> tuple[str, ...]:
        return ("levels",)

    def problems(self, item: "Item", rules: "Mapping[str, Column]") -> Iterator[str]:
        yield from _one_column(item)

    def keywords(self, item: ColumnChoice, rules: Mapping[str, Rule]) -> dict[str, Any]:
        ((name, rule),) = rules.items()
        if rule.missing is None:
            return {"column": name}
        if rule.missing == "skip" and "skip" not in (rule.levels or ()):
            return {"column": name, "missing": "skip"}
        # Whether a missing value counts as the level.
        return {"column": name, "missing": rule.missing == (1 if item.level is None else item.level)}


class _LevelOrNone:
    """One column, of which one level is counted, or no column at all, to count all records."""

    def needs(self, place: int) -> tuple[str, ...]:
        return ("levels",)

    def problems(self, item: "Item", rules: "Mapping[str, Column]") -> Iterator[str]:
        if len(item.columns) > 1:
            yield f"release.{item.name}.columns: {item.statistic} takes one column, or none to count all records"

    def keywords(self, item: ColumnChoice, rules: Mapping[str, Rule]) -> dict[str, Any]:
        return _Level().keywords(item, rules) if rules else {}


WAYS: Mapping[str, Taking] = {
    "number": _Number(),
    "free": _Free(),
    "numbers": _Numbers(),
    "ordered": _Ordered(),
    "outcome": _Outcome(),
    "cells": _Cells(),
    "table": _Table(),
    "level": _Level(),
    "level or none": _LevelOrNone(),
}


# The ways of statistics whose errors may depend on what their columns hold.
_NUMERIC = ("number", "numbers", "outcome")


def _one_column(item: "Item") -> Iterator[str]:
    if len(item.columns) != 1:
        yield f"release.{item.name}.columns: {item.statistic} takes one column, as in columns = ['age']"


def _need_bounds(item: "Item", rules: "Mapping[str, Column]") -> Iterator[str]:
    for column, rule in rules.items():
        if rule.bounds is None:
            yield f"columns.{column}: release.{item.name} needs bounds = [lower, upper]"


def _need_cells(item: "Item", rules: "Mapping[str, Column]") -> Iterator[str]:
    for column, rule in rules.items():
        if rule.levels is None and rule.edges is None:
            yield f"columns.{column}: release.{item.name} needs levels = [...] or edges = [...]"


def exact(value: Any) -> Any:
    """Turn decimal numbers into fractions, also inside lists. Infinity and NaN stay, so that a check can name them."""
    if isinstance(value, Decimal):
        return Fraction(value) if value.is_finite() else float(value)
    return [exact(item) for item in value] if isinstance(value, list | tuple) else value


def group_keywords(item: ColumnChoice, rules: Mapping[str, Rule]) -> dict[str, Any]:
    """The keywords that say which groups a release has: a rule, or a dictionary of rules by column."""
    names = item.groups
    if not names:
        return {}
    each = {"levels": "levels", "by_missing": "missing", "other": "other"}
    if len(names) == 1:
        keywords: dict[str, Any] = {word: getattr(rules[names[0]], key) for word, key in each.items()}
    else:
        keywords = {
            word: {name: value for name in names if (value := getattr(rules[name], key)) is not None} or None
            for word, key in each.items()
        }
    keywords["by"] = names[0] if len(names) == 1 else names
    if item.sizes is not None:
        # In TOML all keys are text, but levels may be numbers or booleans.
        levels = {
            str(level).lower() if isinstance(level, bool) else str(level): level
            for level in rules[names[0]].levels or ()
        }
        keywords["sizes"] = {levels.get(name, name): size for name, size in item.sizes.items()}
    return keywords


def add_derived(
    columns: Mapping[str, _Rule], derive: Mapping[str, str], make: Callable[[list[bool]], _Rule]
) -> tuple[dict[str, _Rule], list[str]]:
    """The rules of columns with those of derived conditions, and a list of problems.

    ``make`` makes the rule of a condition from its levels, true and false. A derived number needs its own bounds, edges
    or levels.
    """
    rules, problems = dict(columns), []
    times: dict[str, Kind] = {name: "time" for name, rule in columns.items() if _has_dates(rule)}
    for name, text in derive.items():
        try:
            kind = parse(text, times).kind
        except ExpressionError as error:
            problems.append(f"derive.{name}: {error}")
            continue
        if kind == "boolean":
            rules.setdefault(name, make([False, True]))
        elif name not in rules:
            problems.append(f"columns.{name}: the derived column is a number; declare bounds, edges or levels for it")
    return rules, problems


def _has_dates(rule: Rule) -> bool:
    """Whether the rule of a column has dates or times for its bounds or edges."""
    return any(isinstance(end, date) for end in (*(rule.bounds or ()), *(rule.edges or ())))


def add_values(plausible: Any, item: ColumnChoice, rules: Mapping[str, Rule]) -> Any:
    """What is plausible for a release, with what its columns hold, where errors may depend on it."""
    kinds = {name: rules[name].values for name in item.columns if name in rules}
    stated = {} if plausible is None else plausible
    numeric = find_statistic(item.statistic).traits.columns in _NUMERIC
    if not (numeric and any(kinds.values()) and isinstance(stated, Mapping)):
        return plausible
    values = {name: {"values": kind} | stated.get(name, {}) for name, kind in kinds.items() if kind is not None}
    return {**stated, **values}


def combine_conditions(*conditions: str | None) -> str | None:
    """Join the conditions that are given by ``and``."""
    texts = [text for text in conditions if text is not None]
    return texts[0] if len(texts) == 1 else " and ".join(f"({text})" for text in texts) or None


def floats(value: Any) -> Any:
    """Turn decimal numbers into floats, also inside lists and tables. Only for values that only previews use."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return {key: floats(item) for key, item in value.items()}
    return [floats(item) for item in value] if isinstance(value, list | tuple) else value
