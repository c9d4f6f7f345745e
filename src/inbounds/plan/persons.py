"""The rule for persons of a plan: its mistakes, and the keywords of its releases."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inbounds.forecasts.rows import RowsPerPerson, read_shift
from inbounds.plan.columns import floats
from inbounds.plan.mistakes import suggest_column
from inbounds.plan.model import Column, Data, Item


def person_keywords(data: Data, item: Item) -> dict[str, Any]:
    """The keywords of the rule for persons of a release."""
    if data.person is None:
        stray = {"keep": None if data.keep == "random" else data.keep, "order": data.order, "groups": data.groups}
        person_missing = None if data.person_missing == "skip" else data.person_missing
        return stray | {"person_missing": person_missing, "fold": item.fold or data.fold}
    fold = item.fold or data.fold
    if fold is None:
        order = data.order if data.keep != "random" else None
        return {
            "person": data.person,
            "keep": data.keep,
            "order": order,
            "groups": data.groups,
            "person_missing": data.person_missing,
        }
    # The record is made from all rows: which rows are kept only matters for other releases.
    order = data.order if set(fold.values()) & {"first", "last"} else None
    keywords = {"person": data.person, "order": order, "person_missing": data.person_missing, "fold": dict(fold)}
    return keywords | {"contributions": 1}


def list_rule(data: Data) -> tuple[Any, ...]:
    """All that the rule for persons depends on."""
    return data.person, data.keep, data.order, data.groups, data.person_missing, data.fold


def list_person_problems(data: Data, items: Sequence[Item], columns: Mapping[str, Column]) -> Iterator[str]:
    """What is wrong with the rule for persons, as far as that is known without a release."""
    try:
        RowsPerPerson.of(floats(data.plausible_rows))
    except (TypeError, ValueError) as error:
        yield f"data.plausible_rows: {str(error).removeprefix('plausible_rows ')}"
    try:
        read_shift(floats(data.plausible_shift))
    except (TypeError, ValueError) as error:
        yield f"data.plausible_shift: {str(error).removeprefix('plausible_shift ')}"
    if data.plausible_shift is not None and data.plausible_rows is None:
        yield "data.plausible_shift: needs plausible_rows, about how many rows persons have"
    if data.plausible_rows is not None and data.person is None:
        yield "data.plausible_rows: needs person, the column that says whose row it is"
    if data.fold is not None and data.contributions != 1:
        yield "data.contributions: cannot be combined with fold, which makes one record of all rows of a person"
    for name, is_set in {"keep": data.keep != "random", "groups": data.groups is not None}.items():
        if data.fold is not None and is_set:
            yield f"data.{name}: cannot be combined with fold, which makes one record of all rows of a person"
    if data.expected_rows is not None and data.contributions > data.expected_rows:
        yield "data.contributions: must not exceed expected_rows, the rows of all persons together"
    if data.order is not None and data.keep == "random":
        folds = [fold for fold in (data.fold, *(item.fold for item in items)) if fold is not None]
        if not any({"first", "last"} & set(fold.values()) for fold in folds):
            yield "data.order: is for keep = 'first', keep = 'last' or a fold by 'first' or 'last'"
    places = [("data.fold", data.fold), *((f"release.{item.name}.fold", item.fold) for item in items)]
    for where, fold in places:
        for name in fold or {}:
            if name not in columns:
                yield f"{where}: columns.{name}: no such column; declare it by the bounds, levels or edges of a record"
    if data.groups is not None:
        for name in data.groups:
            if name not in columns:
                yield f"data.groups: columns.{name}: no such column{suggest_column(name, columns)}"
