"""The text of a record: fractions written as such, long lists in pieces, and how both are read again."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from inbounds import _check
from inbounds.after.tree import DEEPEST
from inbounds.privacy.certificate import parse_fraction, verify

Bound: TypeAlias = tuple[Fraction | None, Fraction | None]


class RecordError(ValueError):
    """A record whose parts do not agree."""


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """What was done to each record of a column before counting.

    Numbers: clipped to [lower, upper] and rounded to multiples of ``step`` from lower. Cells: ``cells`` names them.
    ``missing`` and ``other`` say what was counted in place of such values; None means that they were refused. ``sizes``
    are those of the cells where they were declared public: then ε is for neighbours who keep their cell.
    """

    name: str
    lower: Fraction | None = None
    upper: Fraction | None = None
    step: Fraction | None = None
    cells: tuple[str, ...] = ()
    missing: str | None = None
    other: str | None = None
    sizes: tuple[int, ...] = ()


# Fields of which one entry is written for all of a long list, where they are equal.
SHARED = ("units", "bounds")
_LONG = 100


def shortened(values: tuple[Any, ...]) -> Any:
    alike = len(values) > _LONG and all(value == values[0] for value in values)
    return {"all": _plain(values[0]), "count": len(values)} if alike else values


def _lengthened(values: Any, most: int) -> Any:
    if not isinstance(values, dict):
        return values
    if not _check.integer(values["count"], "count", least=1) <= most:
        raise RecordError("the record's units or bounds are more than its numbers")
    return [values["all"]] * values["count"]


def same_rows(given: tuple[Any, ...], own: tuple[Any, ...]) -> bool:
    """Whether two tuples are equal; the same two objects are compared once, however often they come."""
    equal = set()
    for both in zip(given, own, strict=False):
        # The tuples hold their elements, so that an id belongs to one of them.
        pair = id(both[0]), id(both[1])
        if pair not in equal:
            if both[0] != both[1]:
                return False
            equal.add(pair)
    return len(given) == len(own)


# Elements of a list that are made text at a time.
_BLOCK = 10_000


def written(value: Any) -> Iterator[str]:
    """JSON of a value in pieces."""
    value = value.tolist() if isinstance(value, np.ndarray) and value.ndim == 1 else value
    if not isinstance(value, tuple | list | np.ndarray):
        yield json.dumps(_plain(value), ensure_ascii=False)
    elif len(value) and isinstance(value[0], tuple | list | np.ndarray):
        for i, one in enumerate(value):
            yield "[" if i == 0 else ", "
            yield from written(one)
        yield "]"
    else:
        yield "["
        for start in range(0, len(value), _BLOCK):
            block = [_plain(one) for one in value[start : start + _BLOCK]]
            yield (", " if start else "") + json.dumps(block, ensure_ascii=False)[1:-1]
        yield "]"


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, ColumnRule):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def parsed(body: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    # One object for all that are equal, as in the release that was written.
    @cache
    def fraction(text: Any) -> Fraction | None:
        return None if text is None else parse_fraction(text, "number")

    @cache
    def bound(lower: Any, upper: Any) -> Bound:
        return fraction(lower), fraction(upper)

    values = {name: body[name] for name in names}
    parts = values["certificate"].get("parts", ())
    if len(parts) > len(values["noisy"]):
        raise RecordError("the record's certificate has more parts than there are numbers")
    for name in SHARED:
        # A symmetric matrix has up to twice as many elements as numbers were drawn for it.
        values[name] = _lengthened(values[name], 2 * len(values["noisy"]))
    rules = [
        rule
        | {name: fraction(rule[name]) for name in ("lower", "upper", "step")}
        | {"cells": tuple(str(cell) for cell in rule["cells"]), "sizes": tuple(rule["sizes"])}
        for rule in values["columns"]
    ]
    return values | {
        "columns": tuple(ColumnRule(**rule) for rule in rules),
        "axes": tuple(tuple(str(label) for label in axis) for axis in values["axes"]),
        "noisy": tuple(fraction(x) for x in values["noisy"]),
        "units": tuple(fraction(x) for x in values["units"]),
        "bounds": tuple(bound(low, up) for low, up in values["bounds"]),
        "certificate": verify(values["certificate"]),
        "tree": None if values["tree"] is None else _nested(values["tree"], DEEPEST),
        "notes": tuple(str(note) for note in values["notes"]),
    }


def _nested(groups: Any, depth: int) -> Any:
    if not isinstance(groups, list):
        return str(groups)
    if depth < 0:
        raise RecordError(f"the record's tree is nested more than {DEEPEST} deep")
    return tuple(_nested(member, depth - 1) for member in groups)
