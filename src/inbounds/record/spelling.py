"""How a statistic is written in a record, and read from it."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from fractions import Fraction
from typing import Any

from inbounds.record.selection import SELECTION, Selected, plain_statistic, select
from inbounds.record.statistic import Statistic, find_statistic


def describe(statistic: Statistic) -> dict[str, Any]:
    """A statistic as JSON values: its name, the fields that are not at their defaults, and what it selects."""
    body: dict[str, Any] = {"name": statistic.name}
    inner = plain_statistic(statistic)
    for field in fields(inner):  # type: ignore[arg-type]
        value = getattr(inner, field.name)
        if field.init and (field.default is MISSING or value != field.default):
            body[field.name] = _plain(value)
    if isinstance(statistic, Selected):
        body |= {"where": statistic.where} if statistic.where is not None else {}
        body |= {"derive": dict(statistic.derive)} if statistic.derive else {}
        body |= {"time_zone": statistic.time_zone} if statistic.time_zone else {}
    return body


def parse_statistic(body: object) -> Statistic:
    """What `describe` wrote; `ValueError` or `TypeError` for anything else."""
    if not isinstance(body, dict):
        raise TypeError("a statistic is written as its name and fields")
    keywords = {key: value for key, value in body.items() if key not in ("name", *SELECTION)}
    statistic = select(find_statistic(body.get("name"))(**keywords), *(body.get(key) for key in SELECTION))
    if describe(statistic) != body:
        raise ValueError("the statistic is not written the way inbounds writes it")
    return statistic


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
