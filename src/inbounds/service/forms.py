"""The content of forms: the statistics with their keywords, and every key of a plan, read from the library itself."""

from dataclasses import MISSING, Field, fields
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from inbounds._keywords import _MEANINGS
from inbounds.plan.items import NOT_KEYS
from inbounds.plan.model import Budget, Column, Data, Item
from inbounds.record.statistic import registered

# The parts of a plan, and what they are made of.
_PARTS: dict[str, type[BaseModel]] = {"data": Data, "budget": Budget, "columns": Column, "release": Item}
# What a value of a schema is written as: text in quotes, or as in TOML.
_KINDS = {"string": "text", "boolean": "flag", "object": "table", "array": "list"}


def list_statistics() -> list[dict[str, Any]]:
    """All statistics with what they take, for a form: read from their classes.

    Returns
    -------
    list of dict
        Each with ``name``, ``help`` (one sentence), ``columns`` (which ones it takes), and ``keys``: the keys of a
        release that it has beside those of every release, each with its ``help``, whether it is ``needed``, and its
        ``choices`` if there are only some.
    """
    return [
        {
            "name": name,
            "help": (statistic.__doc__ or "").strip().partition("\n")[0],
            "columns": statistic.traits.columns,
            "by": "by" in _list_fields(statistic),
            "keys": [
                {"name": key, "help": _describe(key), "needed": _is_needed(field), "choices": _list_choices(field.type)}
                for key, field in _list_fields(statistic).items()
                if key not in (*NOT_KEYS, "by")
            ],
        }
        for name, statistic in registered().items()
    ]


def list_keys() -> dict[str, list[dict[str, Any]]]:
    """Every key of a plan by its part, for a form: read from the schema that checks plans.

    Returns
    -------
    dict
        For ``data``, ``budget``, ``columns`` (one column's rule) and ``release`` (one release, without the keys of
        single statistics): each key with its ``name``, ``help``, ``kind`` (text, number, flag, choice, list, table or
        any), ``choices`` and ``default``.

    Examples
    --------
    >>> [one["choices"] for one in list_keys()["data"] if one["name"] == "keep"]
    [['random', 'first', 'last']]
    """
    statistic_keys = {key for each in registered().values() for key in _list_fields(each)}
    return {
        part: [
            {"name": key, "help": rule.get("description", ""), "default": rule.get("default"), **_classify(rule)}
            for key, rule in each.model_json_schema()["properties"].items()
            if part != "release" or key not in statistic_keys
        ]
        for part, each in _PARTS.items()
    }


def _classify(rule: dict[str, Any]) -> dict[str, Any]:
    """The kind of a key's value, and its choices."""
    options = [option for option in rule.get("anyOf", [rule]) if option.get("type") != "null"]
    choices: list[str] = next((option["enum"] for option in options if "enum" in option), [])
    types = {option.get("type") for option in options}
    if choices:
        kind = "choice"
    elif types & {"number", "integer"} and not types - {"number", "integer", "string"}:
        # Decimals may also be written as text.
        kind = "number"
    else:
        kind = _KINDS.get(str(*types), "any") if len(types) == 1 else "any"
    return {"kind": kind, "choices": choices}


def _list_fields(statistic: Any) -> dict[str, Field[Any]]:
    """The keywords of a statistic."""
    return {field.name: field for field in fields(statistic) if field.init}


def _is_needed(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _list_choices(annotation: Any) -> list[str]:
    """The values of a type that has only some."""
    options = [option for option in get_args(annotation) if option is not NoneType]
    if get_origin(annotation) is Literal:
        return list(options)
    return _list_choices(options[0]) if len(options) == 1 else []


def _describe(key: str) -> str:
    field = Item.model_fields.get(key)
    return _MEANINGS.get(key, "") if field is None else field.description or ""
