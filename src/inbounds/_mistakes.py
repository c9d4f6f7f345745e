"""Explain mistakes in plans and studies: where they are, which rule is broken, and what to write instead.

Pydantic finds the mistakes. Its errors are turned into plain sentences here, by their documented codes
(``error["type"]``). For a code that is not listed here, pydantic's own message is shown.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from inbounds.errors import FileError as FileError

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

Place: TypeAlias = tuple[str | int, ...]

# Error code -> what the value must be. If a value has several of these errors, any of the types is accepted.
KINDS = {
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "decimal_type": "a number",
    "decimal_parsing": "a number",
    "string_type": "text",
    "string_unicode": "text",
    "date_type": "a date",
    "datetime_type": "a date",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a table of keys",
    "model_type": "a table of keys",
    "none_required": "left out",
}
# Error code -> the rule, with figures from the error's context.
RULES = {
    "missing": "must be given",
    "finite_number": "must be a finite number",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be greater than or equal to {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be less than or equal to {le}",
    "decimal_max_digits": "must have at most {max_digits} digits",
    "string_too_short": "must have {min_length} or more characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have {min_length} or more entries",
    "too_long": "must have at most {max_length} entries, got {actual_length}",
    "literal_error": "must be {expected}",
    "invalid_key": "must have text as its keys",
    "value_error": "{error}",
    "extra_forbidden": "is not a known key",
}
# Errors whose message does not show the value.
_WITHOUT_VALUE = ("missing", "extra_forbidden", "value_error", "too_short", "too_long", "string_too_short")
# Errors after which an example of the right form is shown.
_WITH_REMEDY = ("missing", "list_type", "tuple_type", "too_short")
# What others call a statistic -> its name here.
_OTHER_NAMES = {
    **dict.fromkeys(("std", "stdev", "sd"), "standard_deviation"),
    **dict.fromkeys(("avg", "average"), "mean"),
    **dict.fromkeys(("hist", "value_counts"), "histogram"),
    **dict.fromkeys(("corr", "pearson"), "correlation"),
    **dict.fromkeys(("ols", "linear_regression", "lm"), "regression"),
    "var": "variance",
    "cov": "covariance",
    "total": "sum",
    "size": "count",
    "tau": "kendall",
    "percentile": "quantile",
    "share": "proportion",
}
# What others call a key -> its name here.
_OTHER_KEYS = {
    **dict.fromkeys(("delimiter", "sep"), "separator"),
    **dict.fromkeys(("file", "path"), "source"),
    **dict.fromkeys(("na", "na_values", "nulls"), "null_values"),
    **dict.fromkeys(("skip", "skiprows"), "skip_lines"),
    **dict.fromkeys(("sheet_name", "worksheet"), "sheet"),
    **dict.fromkeys(("n", "nrows"), "rows"),
    **dict.fromkeys(("range", "min", "max"), "bounds"),
    **dict.fromkeys(("categories", "values"), "levels"),
    "eps": "epsilon",
}
_LONGEST_NAME, _LONGEST_VALUE = 60, 40
# What is shown of a date in quotes, with or without a time of day.
_QUOTED_DATE = re.compile(r", got '\d{4}-\d\d-\d\d.*'")


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake: its place in the file, as keys and indices, and the rule that is broken."""

    place: Place
    rule: str


def explain(
    error: "ValidationError",
    content: Any,
    whole: "type[BaseModel]",
    parts: "Mapping[str, type[BaseModel]]",
    remedies: Mapping[str, str],
) -> list[Mistake]:
    """Turn pydantic's errors into plain sentences.

    Parameters
    ----------
    error
        What ``whole.model_validate(content)`` raised.
    content
        The content of the file.
    whole
        The model of the file.
    parts
        The models of its tables, by their keys.
    remedies
        What to write instead, for keys that are missing or are not a list.

    Returns
    -------
    list of Mistake
        One for each place that is wrong, in the order of the file. If a value may have several types and has none of
        them, that is one mistake.
    """
    kinds: dict[Place, dict[str, str]] = {}
    rules: dict[Place, list[str]] = {}
    errors = [(fault, _locate(fault, content)) for fault in error.errors(include_url=False)]
    for fault, place in errors:
        code = fault["type"]
        if code == "too_short" and any(len(other) > len(place) == _count_shared(place, other) for _, other in errors):
            # Pydantic does not count wrong entries, so the list only seems too short: the wrong entries are reported.
            continue
        if place and code == "missing" and isinstance(place[-1], int):
            place = place[:-1]
            rules[place] = ["has too few entries"]
        elif code in KINDS:
            kinds.setdefault(place, {})[KINDS[code]] = _show(fault["input"])
        else:
            rules.setdefault(place, []).append(_state(fault, place, whole, parts))
        if place and code in _WITH_REMEDY and (remedy := remedies.get(str(place[-1]))):
            # One message is enough for a list that is missing or is not a list.
            rules[place] = [f"{(rules.get(place) or [_state_kinds(kinds[place])])[0]}; {remedy}"]
        kinds.setdefault(place, {})
    return [
        Mistake(place, rule) for place, names in kinds.items() for rule in rules.get(place) or [_state_kinds(names)]
    ]


def _state_kinds(kinds: Mapping[str, str]) -> str:
    """State which types a value may have. ``kinds`` maps each type to the text about the value that was given."""
    *others, last = kinds
    names = f"{', '.join(others)} or {last}" if others else last
    example = ", as in 20000" if names == "a whole number" else ""
    hint = "; write a date without quotes" if "a date" in kinds and _QUOTED_DATE.fullmatch(kinds[last]) else ""
    return f"must be {names}{example}{kinds[last]}{hint}"


def _count_shared(place: Place, other: Place) -> int:
    """Count the parts that two places have in common from the start."""
    return next((i for i, (a, b) in enumerate(zip(place, other, strict=False)) if a != b), min(len(place), len(other)))


def _locate(error: Any, content: Any) -> Place:
    """Find the place of an error in the content. Pydantic's location also has the types it tried; they are dropped."""
    place: list[str | int] = []
    value = content
    for number, part in enumerate(error["loc"], 1):
        if (isinstance(value, Mapping) and part in value) or (
            isinstance(value, list | tuple) and isinstance(part, int) and 0 <= part < len(value)
        ):
            value = value[part]
        elif error["type"] != "missing" or number < len(error["loc"]):
            continue
        place.append(part)
    return tuple(place)


def _state(error: Any, place: Place, whole: "type[BaseModel]", parts: "Mapping[str, type[BaseModel]]") -> str:
    """State the rule that is broken, what was given, and what may have been meant."""
    code = error["type"]
    try:
        rule = RULES[code].format(**error.get("ctx", {}))
    except KeyError:
        return f"is not valid: {error['msg']}"
    if code == "extra_forbidden":
        model = parts[str(place[0])] if len(place) > 1 and place[0] in parts else whole
        name = str(place[-1])
        if homes := [part for part, each in parts.items() if each is not model and name in each.model_fields]:
            return f"{rule} here; it is one of {' and '.join(map(_write_part, homes))}"
        other = _OTHER_KEYS.get(name, name)
        return rule + suggest(
            other if other in model.model_fields else name, list(model.model_fields), otherwise="there are"
        )
    ending = "" if code in _WITHOUT_VALUE else _show(error["input"])
    if code == "literal_error":
        words = re.findall(r"'([^']*)'", rule)
        meant = find_name(str(error["input"]), words)
        return f"{rule}{ending}{f'; did you mean {meant}?' if meant else ''}"
    decimal = "; write decimals with a point, as in 0.5" if code == "too_long" and place[-1:] == ("bounds",) else ""
    return f"{rule}{ending}{decimal}"


def _write_part(name: str) -> str:
    return f"[[{name}]]" if name in ("release", "scenario") else f"[{name}]"


def find_name(word: str, names: Sequence[str]) -> str:
    """The name that may have been meant by another word for it, or by a misspelt one. Empty if there is none.

    >>> find_name("average", ["mean", "median"]), find_name("medain", ["mean", "median"]), find_name("x", ["mean"])
    ('mean', 'median', '')
    """
    other = _OTHER_NAMES.get(word, "")
    return other if other in names else next(iter(difflib.get_close_matches(word, names, n=1, cutoff=0.7)), "")


def suggest(name: str, names: Sequence[str], *, cutoff: float = 0.6, otherwise: str = "") -> str:
    """Suggest what may have been meant, as the end of a message.

    Parameters
    ----------
    name
        The name that was written.
    names
        The names that are allowed.
    cutoff
        How similar a name must be, from 0 to 1.
    otherwise
        Words before the list of all names if none is similar. If empty, nothing is suggested then.

    Returns
    -------
    str
        The suggestion, with a semicolon before it; empty if there is none.

    Examples
    --------
    >>> suggest("epsilons", ["n", "epsilon"])
    '; did you mean epsilon?'
    >>> suggest("wibble", ["n", "epsilon"], otherwise="there are")
    '; there are n, epsilon'
    """
    if near := difflib.get_close_matches(name, names, n=1, cutoff=cutoff):
        return f"; did you mean {near[0]}?"
    return f"; {otherwise} {', '.join(names)}" if otherwise else ""


def suggest_level(level: Any, levels: Sequence[Any]) -> Any:
    """The level that may have been meant by one that is not in the list; None if no level is similar.

    >>> suggest_level("Yes", ["yes", "no"]), suggest_level("2", [1, 2]), suggest_level("maybe", ["yes", "no"])
    ('yes', 2, None)
    """
    written = {str(each).strip().casefold(): each for each in reversed(levels)}
    text = str(level).strip().casefold()
    near = [text] if text in written else difflib.get_close_matches(text, list(written), n=1, cutoff=0.6)
    return written[near[0]] if near else None


def write_place(place: Place) -> str:
    """Write a place as a dotted path: ``release.age.columns[0]``.

    >>> write_place(("scenario", 0, "shares", 1))
    'scenario[0].shares[1]'
    """
    text = ""
    for part in place:
        name = str(part) if len(str(part)) <= _LONGEST_NAME else f"{str(part)[: _LONGEST_NAME - 1]}…"
        text += f"[{part}]" if isinstance(part, int) else f".{name}" if text else name
    return text


def _show(value: Any) -> str:
    """Write a value for the end of a message. Lists and tables are too long to show."""
    if isinstance(value, bool):
        return f", got {str(value).lower()}"
    if isinstance(value, str):
        return f", got {value[:_LONGEST_VALUE]!r}"
    if isinstance(value, int) and abs(value) >= 10**_LONGEST_VALUE:
        return f", got one of more than {_LONGEST_VALUE} digits"
    return f", got {value}" if isinstance(value, int | float | Decimal) and len(str(value)) <= _LONGEST_VALUE else ""
