"""The mistakes in a request for a statistic of a declared table: one line with the column, the rule and the remedy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, cast

from inbounds import _check
from inbounds._mistakes import suggest, suggest_level
from inbounds._text import visible
from inbounds._types import Level
from inbounds.plan.columns import WAYS, Rule
from inbounds.plan.declare import ColumnRule
from inbounds.plan.table_statistics import TableRequest, TableStatistics
from inbounds.record.statistic import find_statistic, registered

# If all categories of a column are among these, a count needs no category.
_ZERO_ONE = {(kind, kind(one)) for kind in (int, bool) for one in (0, 1)}
_FEW, _LONGEST_NAME = 8, 100


def list_mistakes(request: TableRequest, columns: Mapping[str, ColumnRule]) -> Iterator[str]:
    """The mistakes in a request, each in one line with the column, the rule and the remedy."""
    names = (*request.columns, *request.groups)
    for name in names:
        if not isinstance(name, str):
            yield f"a column must be a name, got {_check.shown(name)}; {request.statistic} takes names one by one"
        if name not in columns:
            declared = list(columns)
            near = suggest(repr(name), list(map(repr, declared)))
            yield (
                f"column {name_column(name)} is not declared{near or '; the declared columns are ' * bool(declared)}"
                f"{'' if near else ', '.join(map(name_column, declared[:_FEW]))}; "
                "declare it in columns= by ib.number(lower, upper) or ib.category(...)"
            )
        if names.count(name) > 1:
            yield f"column {name_column(name)} is named twice; name each column once"
    needs = WAYS[find_statistic(request.statistic).traits.columns].needs
    for place, name in enumerate(request.columns):
        if not _fits(needs(place), columns[name]):
            yield _explain_misfit(request.statistic, name, columns[name], needs(place))
    for name in request.groups:
        if columns[name].levels is None:
            yield (
                f"by needs categories, and {name_column(name)} is declared as {columns[name]!r}; derive some, as "
                "in table.derive({'old': 'age >= 65'})"
            )
    yield from _list_category_mistakes(request, columns)


def _list_category_mistakes(request: TableRequest, columns: Mapping[str, ColumnRule]) -> Iterator[str]:
    """The mistakes in the category to count."""
    counted = "level" in {each.name for each in fields(cast(Any, find_statistic(request.statistic)))}
    if not counted or len(request.columns) != 1:
        return
    name = request.columns[0]
    levels = columns[name].levels or ()
    typed = {(type(level), level) for level in levels}
    if not isinstance(request.level, str | int | None):
        yield f"category must be text, a whole number or a truth, got {_check.shown(request.level)}"
    if request.level is None and not typed <= _ZERO_ONE:
        yield f"{request.statistic} of {name_column(name)} needs a category: {_list_few(levels)}"
    elif request.level is not None and (type(request.level), request.level) not in typed:
        meant = suggest_level(request.level, levels)
        yield (
            f"column {name_column(name)} has no category {name_column(request.level)}; "
            f"{f'did you mean {meant!r}? ' if meant is not None else ''}Its categories are {_list_few(levels)}"
        )


def _fits(needs: Sequence[str], rule: Rule) -> bool:
    """Whether a column can be at a place that needs one of these parts of a rule. Any number can be if none is."""
    return any(getattr(rule, part) is not None for part in needs) if needs else rule.levels is None


def _explain_misfit(statistic: str, name: str, rule: ColumnRule, needs: Sequence[str]) -> str:
    """Why a statistic cannot take a column, and which statistics can, or how to declare the column."""
    declared = f"{name_column(name)} is declared as {rule!r}"
    methods = {other: kind for other, kind in registered().items() if hasattr(TableStatistics, other)}
    fitting = [other for other, kind in methods.items() if _fits(WAYS[kind.traits.columns].needs(0), rule)]
    if rule.levels is not None:
        return f"{statistic} needs numbers, and {declared}; for categories there are {', '.join(fitting)}"
    if tuple(needs) == ("levels",):
        return (
            f"{statistic} needs categories, and {declared}; derive some, as in table.derive({{'old': 'age >= 65'}}), "
            f"or use {', '.join(fitting)}"
        )
    missing = "bounds" if "bounds" in needs else "edges"
    remedy = "ib.number(lower, upper)" if missing == "bounds" else "ib.number(lower, upper, edges=[...])"
    return f"{statistic} needs {missing}, and {declared}; declare it as {remedy}"


def name_column(name: object) -> str:
    """The name of a column, or a category, as messages have it."""
    plain = isinstance(name, bool | int) or (isinstance(name, str) and len(name) <= _LONGEST_NAME)
    return visible(repr(name)) if plain else _check.shown(name)


def _list_few(levels: Sequence[Level]) -> str:
    more = f", ... {len(levels) - _FEW:,} more" if len(levels) > _FEW else ""
    return visible(", ".join(map(repr, levels[:_FEW]))) + more
