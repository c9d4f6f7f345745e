"""Read a plan's file for a page: its text, its content, and its mistakes with the lines they are in."""

import hashlib
import re
import tomllib
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from inbounds._mistakes import write_place
from inbounds.plan.mistakes import PlanError
from inbounds.plan.plan import Plan
from inbounds.report.promise import state_promise

# A plan is written by people; a longer file is not one.
LONGEST = 1_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """A plan's file as it is now.

    Attributes
    ----------
    text
        The text of the file.
    revision
        A hash of the text, which changes when anybody changes the file.
    content
        What the text says, as plain values; None if it is not TOML.
    mistakes
        Each with ``text`` and ``line``, which is None if it is not known.
    plan
        The plan; None if there are mistakes.
    """

    text: str
    revision: str
    content: dict[str, Any] | None
    mistakes: tuple[dict[str, Any], ...]
    plan: Plan | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plan = self.plan
        return {
            "text": self.text,
            "revision": self.revision,
            "content": self.content,
            "mistakes": list(self.mistakes),
            "epsilons": None if plan is None else {name: f"{float(x):.3g}" for name, x in plan.epsilons.items()},
            "promise": None if plan is None else _promise(plan),
        }


def read_plan(path: Path) -> Reading:
    """Read a plan's file. Mistakes do not raise an error: they are part of what is returned.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    Reading
        What it says.

    Raises
    ------
    PlanError
        If the file cannot be read, is not text in UTF-8, or is too long for a plan.
    """
    try:
        raw = path.read_bytes()
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise PlanError([f"cannot be read: {error.strerror or 'no such file'}"], path.name) from None
    except UnicodeDecodeError:
        raise PlanError(["is not text in UTF-8"], path.name) from None
    if len(raw) > LONGEST:
        raise PlanError([f"has more than {LONGEST:,} bytes"], path.name)
    revision = hashlib.sha256(raw).hexdigest()
    try:
        content = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError):
        content = None
    plan, problems = None, tuple[str, ...]()
    try:
        plan = Plan.load(path)
    except PlanError as error:
        problems = error.problems
    mistakes = tuple(_locate(problem, text) for problem in problems)
    return Reading(text, revision, None if content is None else to_plain(content), mistakes, plan)


def to_plain(value: Any) -> Any:
    """Values of TOML as values of JSON: dates as they are written, and numbers that JSON would change as text."""
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [to_plain(item) for item in value]
    if isinstance(value, Decimal):
        number = float(value)
        return number if value.is_finite() and Decimal(repr(number)) == value else str(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, int) and abs(value) > 2**53:
        # Python does not write numbers of thousands of digits in decimals.
        return str(value) if abs(value) < 10**1000 else hex(value)
    return value


def _promise(plan: Plan) -> dict[str, Any]:
    data = plan.data
    unit = next(iter(plan.drafts().values())).terms.unit
    return {
        "words": state_promise(unit, float(plan.budget.epsilon), "everything that is released"),
        "neighbours": data.neighbours,
        "contributions": data.contributions,
        "rows": data.rows,
        "epsilon": f"{plan.budget.epsilon.normalize():f}",
        "dataset": plan.budget.dataset,
        "ledger": plan.budget.ledger is not None,
        "unprovided": plan.unprovided,
    }


_AT = re.compile(r"\(at line (\d+), column \d+\)")
_LINE = re.compile(r"line (\d+): ")


def _locate(problem: str, text: str) -> dict[str, Any]:
    """Find the line of a mistake: the one that its message names, or that of the longest key that it begins with."""
    if match := _AT.search(problem) or _LINE.match(problem):
        return {"text": problem, "line": int(match[1])}
    best, line = "", None
    for place, number in list_places(text):
        if len(place) > len(best) and problem.startswith(place) and problem[len(place) :][:1] in (".", ":", "["):
            best, line = place, number
    # A message about a column of a release names the release first.
    return {"text": problem, "line": line}


_PART = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_HEAD = re.compile(rf"\s*(\[\[?)\s*({_PART}(?:\s*\.\s*{_PART})*)\s*\]\]?")
_KEY = re.compile(rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*=")


def list_places(text: str) -> list[tuple[str, int]]:
    """The keys of a plan's text as messages write them, each with the number of its line.

    >>> list_places('[data]\\nrows = 3\\n[[release]]\\nname = "a"')
    [('data', 1), ('data.rows', 2), ('release 1', 3), ('release 1.name', 4), ('release.a', 3), ('release.a.name', 4)]
    """
    places: list[tuple[str, int]] = []
    table: tuple[str, ...] = ()
    releases: list[list[tuple[str, int]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if head := _HEAD.match(line):
            table = _split(head[2])
            if head[1] == "[[" and table == ("release",):
                releases.append([("", number)])
                places.append((f"release {len(releases)}", number))
            else:
                places.append((write_place(table), number))
        elif key := _KEY.match(line):
            place = (*table, *_split(key[1]))
            if place[0] == "release" and releases:
                releases[-1].append((write_place(place[1:]), number))
                places.append((write_place((f"release {len(releases)}", *place[1:])), number))
            else:
                places.append((write_place(place), number))
    return [*places, *_name_releases(text, releases)]


def _name_releases(text: str, releases: list[list[tuple[str, int]]]) -> list[tuple[str, int]]:
    """The same keys under the names of the releases, where the text is TOML."""
    try:
        items = tomllib.loads(text).get("release", [])
        names = [item.get("name") for item in items]
    except (ValueError, ArithmeticError, RecursionError, AttributeError, TypeError):
        return []
    return [
        (f"{write_place(('release', str(name)))}{f'.{key}' if key else ''}", number)
        for name, keys in zip(names, releases, strict=False)
        if name
        for key, number in keys
    ]


def _split(key: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_PART, key))
