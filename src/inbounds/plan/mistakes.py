"""Explain mistakes in plans: where they are, which rule is broken, and what to write instead."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from inbounds._mistakes import Place, explain, suggest, write_place
from inbounds.errors import PlanError as PlanError

_FEW = 100


def suggest_column(name: str, names: Collection[str]) -> str:
    """Suggest which column may have been meant, as the end of a message."""
    # Comparing with thousands of names would take too long.
    if len(names) <= _FEW and (meant := suggest(name, list(names), cutoff=0.5)):
        return meant
    return f"; [columns] has {', '.join(list(names)[:_FEW]) or 'none'}"


# The words that `inbounds plan init` leaves to be filled in.
_OPEN = re.compile(r"(?<!\w)(ROWS|LOWER|UPPER|LEVEL|STATISTIC)(?!\w)")


def find_unfilled(text: str) -> list[str]:
    """List the lines of a plan in which something is still to be filled in."""
    lines = [(number, line.split("#")[0]) for number, line in enumerate(text.splitlines(), 1)]
    matches = [(number, _OPEN.search(line)) for number, line in lines]
    return [f"line {number}: {word[1]} is still to be filled in" for number, word in matches if word]


# A valid key of TOML, up to the equals sign.
_PART = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_KEY = re.compile(rf"\s*{_PART}(?:\s*\.\s*{_PART})*\s*=")


# What a number and a text look like that are not written as TOML has them.
_COMMA, _BARE = re.compile(r"=\s*[-+]?\d[\d_]*,\d"), re.compile(r"=\s*(?!(?:true|false|inf|nan)\b)[^\W\d_]")


def hint_at_form(text: str, error: Exception) -> str:
    """Suggest what to write, as the end of the message that a plan is not valid TOML."""
    found = re.search(r"at line (\d+)", str(error))
    line = text.splitlines()[int(found[1]) - 1 : int(found[1])] if found else []
    if any(map(_COMMA.search, line)):
        return "; write numbers with a point and without separators of thousands, as in 0.5 and 20000"
    if re.search(r"^\s*\[\s*release\s*\]", text, flags=re.MULTILINE):
        return "; write [[release]] above each release"
    return hint_at_key(text) or ("; write text in quotes" if any(map(_BARE.search, line)) else "")


def hint_at_key(text: str) -> str:
    """Suggest quotes, if a plan is not valid TOML and some key would have to be quoted."""
    lines = [line for line in text.splitlines() if "=" in line and re.match(r"\s*\w", line)]
    bare = any(not _KEY.match(line) for line in lines)
    return '; names with spaces or umlauts must be quoted, as in "Größe" = {...}' if bare else ""


_REMEDIES = {
    "release": "write [[release]] above each release",
    "columns": 'write a list, as in columns = ["age"]',
    "bounds": "write both ends, as in bounds = [0, 100]",
}


def explain_plan(
    error: ValidationError, content: Any, whole: type[BaseModel], parts: Mapping[str, type[BaseModel]]
) -> list[str]:
    """Explain what is wrong with the form of a plan, one line per mistake. ``parts`` are the models of its tables."""
    mistakes = explain(error, content, whole, parts, _REMEDIES)
    return [f"{write_place(_name_release(each.place, content)) or 'the plan'}: {each.rule}" for each in mistakes]


def _name_release(place: Place, content: Any) -> Place:
    """Replace the index of a release in a place by its name, or by its number from one if it has no name."""
    if len(place) < 2 or place[0] != "release" or not isinstance(place[1], int):
        return place
    try:
        name = str(content["release"][place[1]]["name"])
    except (KeyError, TypeError, IndexError):
        name = ""
    return ("release", name, *place[2:]) if name else (f"release {place[1] + 1}", *place[2:])
