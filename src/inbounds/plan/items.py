"""The rules that a release of a plan must keep, beside those of its own fields."""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from math import prod
from typing import Any

from inbounds._mistakes import suggest
from inbounds.plan.columns import WAYS
from inbounds.plan.mistakes import suggest_column
from inbounds.plan.model import Column, Item
from inbounds.record.statistic import Statistic, find_statistic, registered
from inbounds.statistics.base import MOST_CELLS, MOST_COLUMNS

# Keywords of statistics that a plan has in the rules of its columns, not in its releases.
NOT_KEYS = ("column", "bounds", "levels", "edges", "missing", "other", "by_missing", "integer")
# Keys of a release that are keywords of its statistic.
OWN_KEYS = ("level", "repair", "method", "derived", "tree", "level_shares", "denominator")
# If all levels of a column are among these, a count needs no level.
_ZERO_ONE = {(kind, kind(one)) for kind in (int, bool) for one in (0, 1)}


def list_item_problems(item: Item, columns: Mapping[str, Column], levels: Mapping[str, set[Any]]) -> Iterator[str]:
    """Yield what is wrong with a release. ``levels`` are those of each column with their types, because 1 == True."""
    where, statistic = f"release.{item.name}", find_statistic(item.statistic)
    for column in dict.fromkeys([*item.columns, *item.groups]):
        if column not in columns:
            yield f"{where}: columns.{column}: no such column{suggest_column(column, columns)}"
    if len({*item.columns, *item.groups}) < len(item.columns) + len(item.groups):
        yield f"{where}.columns: name each column once"
    if len(item.columns) > MOST_COLUMNS:
        yield f"{where}.columns: more than {MOST_COLUMNS} columns"
        return
    rules = {name: columns[name] for name in item.columns if name in columns}
    if statistic.traits.columns in ("cells", "table") and prod(map(_cells, rules.values())) > MOST_CELLS:
        yield f"{where}.columns: the table would have more than {MOST_CELLS:,} cells"
    extra = item.model_extra or {}
    for key in (*(key for key in (*OWN_KEYS, "sizes", "by") if getattr(item, key) is not None), *extra):
        others = [name for name, other in registered().items() if key in _keys(other)]
        if key in NOT_KEYS and key in Column.model_fields:
            yield f"{where}.{key}: is a key of its column; write it under [columns]"
        elif not others or key in NOT_KEYS:
            yield f"{where}.{key}: is not a known key{suggest(key, list(Item.model_fields), otherwise='there are')}"
        elif item.statistic not in others:
            rather = "; give edges = [...] of its column under [columns]" if key == "bins" else ""
            yield f"{where}.{key}: cannot be combined with {item.statistic}; it is for {', '.join(others)}{rather}"
    offered = statistic.interval_methods
    if item.interval_method is not None and item.interval_method not in offered:
        remedy = f"one of {', '.join(map(repr, offered))}" if offered else f"left out: a {item.statistic} has none"
        yield f"{where}.interval_method: must be {remedy}, got {item.interval_method!r}"
    needed = statistic.interval_needs.get(item.interval_method or "")
    if needed is not None and item.method != needed:
        yield f"{where}.interval_method: {item.interval_method!r} needs method = {needed!r}"
    present = {*extra, *(key for key in (*OWN_KEYS, "sizes", "by") if getattr(item, key) is not None)}
    for key in _needed(statistic) - present - {*NOT_KEYS, "columns"}:
        yield f"{where}.{key}: must be given"
    yield from _list_level_problems(item, columns, levels)
    yield from WAYS[statistic.traits.columns].problems(item, rules)
    for group in item.groups:
        if group in columns and columns[group].levels is None:
            yield f"columns.{group}: release.{item.name} needs levels = [...], its groups"


def _list_level_problems(item: Item, columns: Mapping[str, Column], levels: Mapping[str, set[Any]]) -> Iterator[str]:
    """Check that the level to count is one of the column's levels, if the column has any."""
    if "level" not in _keys(find_statistic(item.statistic)) or len(item.columns) != 1:
        return
    rule = columns.get(item.columns[0])
    if rule is None or rule.levels is None:
        return
    typed_levels = levels[item.columns[0]]
    if item.level is None and not typed_levels <= _ZERO_ONE:
        yield f"release.{item.name}.level: must be given, one of {_list_levels(rule.levels)}"
    elif item.level is not None and (type(item.level), item.level) not in typed_levels:
        yield f"release.{item.name}.level: must be one of {_list_levels(rule.levels)}, got {item.level!r}"


def _cells(rule: Column) -> int:
    return len(rule.levels) if rule.levels is not None else max(len(rule.edges or []) - 1, 0)


def _list_levels(levels: list[Any]) -> str:
    return ", ".join(map(repr, levels))


def _needed(statistic: type[Statistic]) -> set[str]:
    """The keywords of a statistic that have no default."""
    return {field.name for field in fields(statistic) if field.init and _has_none(field)}  # type: ignore[arg-type]


def _has_none(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _keys(statistic: type[Statistic]) -> set[str]:
    """The keywords of a statistic."""
    return {field.name for field in fields(statistic) if field.init}  # type: ignore[arg-type]
