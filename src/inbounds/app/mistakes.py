"""Mistakes in plans, in words: where, which rule, and what to write instead."""

import difflib
import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from inbounds._text import visible


class PlanError(ValueError):
    """A plan with mistakes; ``problems`` has them all."""

    def __init__(self, problems: list[str], name: str = "the plan") -> None:
        problems, name = [visible(problem) for problem in problems], visible(name)
        self.problems = tuple(problems)
        lines = [f"{name}: {len(problems)} mistakes:", *(f"  {problem}" for problem in problems)]
        super().__init__(f"{name}: {problems[0]}" if len(problems) == 1 else "\n".join(lines))


_FEW = 100


def near(name: str, names: Any) -> str:
    # Looking for a near name among thousands would take longer than reading them.
    near = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5) if len(names) <= _FEW else []
    known = ", ".join(list(names)[:_FEW]) or "none"
    return f"; did you mean {near[0]}?" if near else f"; [columns] has {known}"


# What `inbounds plan init` leaves to fill in.
_OPEN = re.compile(r"(?<!\w)(ROWS|LOWER|UPPER|LEVEL|STATISTIC)(?!\w)")


def unfilled(text: str) -> list[str]:
    lines = [(number, line.split("#")[0]) for number, line in enumerate(text.splitlines(), 1)]
    found = [(number, _OPEN.search(line)) for number, line in lines]
    return [f"line {number}: {word[1]} is still to be filled in" for number, word in found if word]


def hint(text: str) -> str:
    return '; names with spaces or umlauts are quoted, as in "Größe" = {...}' if "after a key" in text else ""


# What pydantic adds to a place to say which type of several it tried.
_ALTERNATIVES = ("bool", "int", "str", "decimal", "function-plain[dumps()]")
_LISTS = {"release": "write [[release]] above each release", "columns": 'write a list, as in columns = ["age"]'}


def explained(error: Any, content: Any, whole: type[BaseModel], parts: Mapping[str, type[BaseModel]]) -> str:
    """One of pydantic's errors in our words; ``parts`` are the models of the tables of ``whole``."""
    place = [str(part) for part in error["loc"]]
    place = [*place[:2], *(part for part in place[2:] if part not in _ALTERNATIVES)]
    kind, context, text = error["type"], error.get("ctx", {}), str(error["msg"])
    field = place[-1] if place else ""
    where = ".".join(_named(place, content)) or "the plan"
    got = f", got {str(error['input'])[:40]!r}" if not isinstance(error["input"], dict | list) else ""
    if kind == "missing":
        return f"{where}: must be given"
    if kind == "extra_forbidden":
        known = (parts[place[0]] if len(place) > 1 and place[0] in parts else whole).model_fields
        near = difflib.get_close_matches(field, list(known), n=1, cutoff=0.6)
        return f"{where}: no such key" + (f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}")
    if kind == "literal_error":
        near = difflib.get_close_matches(
            str(error["input"]), re.findall(r"'([^']*)'", context["expected"]), n=1, cutoff=0.7
        )
        hint = f"; did you mean {near[0]}?" if near else ""
        return f"{where}: must be {context['expected']}{got}{hint}"
    if kind == "list_type" and field in _LISTS:
        return f"{where}: must be a list: {_LISTS[field]}"
    if kind in ("int_type", "int_parsing", "int_from_float"):
        return f"{where}: must be a whole number, as in 20000{got}"
    said = text.removeprefix("Input should be ").removeprefix("Value error, ").replace("a valid ", "a ")
    return f"{where}: must be {said}{got}" if text.startswith("Input") else f"{where}: {said}{got}"


def _named(place: list[str], content: Any) -> list[str]:
    """A place with releases by their names; counted from one where they have none."""
    if len(place) < 2 or place[0] != "release" or not place[1].isdigit():
        return place
    try:
        return ["release", str(content["release"][int(place[1])]["name"]), *place[2:]]
    except (KeyError, TypeError, IndexError):
        return [f"release {int(place[1]) + 1}", *place[2:]]
