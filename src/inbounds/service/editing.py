"""Change a plan's text: one key at a time, with its comments and its layout kept."""

import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from inbounds.errors import PlanError

_MOST_EDITS, _DEEPEST = 100, 6
_AS_IT_WAS = "the plan is as it was; change its text instead"


def edit_text(text: str, edits: Sequence[Mapping[str, Any]]) -> str:
    """Change some keys of a plan's text. Comments and everything else stay as they are. Needs tomlkit.

    Parameters
    ----------
    text
        The text of the plan, which must be TOML.
    edits
        What to change, in order. ``path`` are keys and, for releases, their number from 0. ``value`` is a plain value,
        ``toml`` a value as it is written in TOML, ``levels`` text with one level in a line. With ``value`` None
        the key is removed. A release is added by the number that the next one would have.

    Returns
    -------
    str
        The new text.

    Raises
    ------
    PlanError
        If the text is not TOML, or an edit has no place in it.

    Examples
    --------
    >>> print(edit_text("[data]\\nrows = 3  # of 2026\\n", [{"path": ["data", "rows"], "value": 4}]), end="")
    [data]
    rows = 4  # of 2026
    """
    import tomlkit

    if len(edits) > _MOST_EDITS:
        raise PlanError([f"more than {_MOST_EDITS} changes at once; {_AS_IT_WAS}"])
    try:
        document = tomlkit.parse(text)
        for edit in edits:
            _apply(document, _read_path(edit.get("path")), _read_value(edit))
        new_text = tomlkit.dumps(document)
        # The new text must be readable.
        if tomllib.loads(new_text, parse_float=Decimal) is None:
            raise ValueError
    except PlanError:
        raise
    except Exception:
        # tomlkit has many classes of errors for a text that it cannot change.
        raise PlanError([f"the change has no place in the text; {_AS_IT_WAS}"]) from None
    return new_text


def _read_path(path: Any) -> list[str | int]:
    if not isinstance(path, list) or not 1 <= len(path) <= _DEEPEST:
        raise PlanError([f"a change needs the keys of its place; {_AS_IT_WAS}"])
    if not all(isinstance(key, str | int) and not isinstance(key, bool) for key in path):
        raise PlanError([f"a place has keys and numbers; {_AS_IT_WAS}"])
    return path


def _read_value(edit: Mapping[str, Any]) -> Any:
    if isinstance(toml := edit.get("toml"), str):
        try:
            (value,) = tomllib.loads(f"value = {toml}").values()
        except (ValueError, RecursionError):
            name = toml if len(toml) < 40 else "it"
            raise PlanError([f"{name!r} is not a value of TOML, such as 5, [0, 100] or 2026-01-31"]) from None
        return value
    if isinstance(lines := edit.get("levels"), str):
        return _read_levels(lines)
    return edit.get("value")


def _read_levels(text: str) -> list[Any]:
    """Read levels, one in a line. If all of them look like whole numbers, or like true and false, they become these.

    A single level would say nothing, so a single line is read as several levels with commas between them.
    """
    levels = [line.strip() for line in text.splitlines() if line.strip()]
    levels = levels if len(levels) != 1 else [part.strip() for part in levels[0].split(",") if part.strip()]
    if levels and all(line in ("true", "false") for line in levels):
        return [line == "true" for line in levels]
    if levels and all(line.removeprefix("-").isdecimal() and str(int(line)) == line for line in levels):
        return [int(line) for line in levels]
    return levels


def _apply(document: Any, path: list[str | int], value: Any) -> None:
    import tomlkit

    if len(path) == 2 and path[0] == "release" and value is not None:
        _put_release(document, path[1], value)
        return
    place = document
    for depth, key in enumerate(path[:-1]):
        if isinstance(key, str) and key not in place:
            if value is None:
                return
            # A column's rule is in one line, as people write it.
            place[key] = tomlkit.inline_table() if depth else tomlkit.table()
        place = place[key]
    last = path[-1]
    if value is None:
        if isinstance(last, int) or last in place:
            del place[last]
    elif isinstance(value, Mapping):
        place[last] = tomlkit.inline_table()
        place[last].update(value)
    else:
        place[last] = value


def _put_release(document: Any, number: str | int, keys: Any) -> None:
    """Add a release, or replace one."""
    import tomlkit

    item = tomlkit.table()
    item.update(keys)
    if "release" not in document:
        document["release"] = tomlkit.aot()
    releases = document["release"]
    if number == len(releases):
        item.trivia.indent = "\n"
        releases.append(item)
    else:
        releases[number] = item
