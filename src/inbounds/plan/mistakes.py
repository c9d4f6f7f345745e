"""Mistakes in plans, in words: where, which rule, and what to write instead."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from inbounds._mistakes import Place, explain, suggest, write_place
from inbounds.errors import PlanError as PlanError

_FEW = 100


def suggest_column(name: str, names: Collection[str]) -> str:
    """Which column somebody may have meant, to be put after a message."""
    # Looking for a near name among thousands would take longer than reading them.
    if len(names) <= _FEW and (meant := suggest(name, list(names), cutoff=0.5)):
        return meant
    return f"; [columns] has {', '.join(list(names)[:_FEW]) or 'none'}"


# What `inbounds plan init` leaves to fill in.
_OPEN = re.compile(r"(?<!\w)(ROWS|LOWER|UPPER|LEVEL|STATISTIC)(?!\w)")


def find_unfilled(text: str) -> list[str]:
    lines = [(number, line.split("#")[0]) for number, line in enumerate(text.splitlines(), 1)]
    found = [(number, _OPEN.search(line)) for number, line in lines]
    return [f"line {number}: {word[1]} is still to be filled in" for number, word in found if word]


# A key as TOML takes it, and what follows it.
_PART = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_KEY = re.compile(rf"\s*{_PART}(?:\s*\.\s*{_PART})*\s*=")


def hint_at_key(text: str) -> str:
    """A remedy for a plan that is not TOML, where the key of a line would have to be quoted."""
    lines = [line for line in text.splitlines() if "=" in line and re.match(r"\s*\w", line)]
    bare = any(not _KEY.match(line) for line in lines)
    return '; names with spaces or umlauts are quoted, as in "Größe" = {...}' if bare else ""


_REMEDIES = {"release": "write [[release]] above each release", "columns": 'write a list, as in columns = ["age"]'}


def explain_plan(
    error: ValidationError, content: Any, whole: type[BaseModel], parts: Mapping[str, type[BaseModel]]
) -> list[str]:
    """What is wrong with the form of a plan, a line for each mistake; ``parts`` are the models of its tables."""
    mistakes = explain(error, content, whole, parts, _REMEDIES)
    return [f"{write_place(_name_release(one.place, content)) or 'the plan'}: {one.rule}" for one in mistakes]


def _name_release(place: Place, content: Any) -> Place:
    """A place with releases by their names; counted from one where they have none."""
    if len(place) < 2 or place[0] != "release" or not isinstance(place[1], int):
        return place
    try:
        name = str(content["release"][place[1]]["name"])
    except (KeyError, TypeError, IndexError):
        name = ""
    return ("release", name, *place[2:]) if name else (f"release {place[1] + 1}", *place[2:])
