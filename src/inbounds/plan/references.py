"""Bounds in a plan that come from an earlier release: the plan names the file of its record in their place."""

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from inbounds._files import read_regular
from inbounds.errors import CertificateError, PlanError, RecordError
from inbounds.record.record import Releases
from inbounds.record.selection import plain_statistic


def settle_references(content: Mapping[str, Any], folder: Path, name: str) -> Mapping[str, Any]:
    """The content of a plan with numbers for bounds that name a record. The record is verified; no data are read."""
    columns = content.get("columns")
    if not isinstance(columns, Mapping):
        return content
    rules, problems = {}, []
    for column, rule in columns.items():
        rules[column] = rule
        if isinstance(rule, Mapping) and isinstance(rule.get("bounds"), str):
            try:
                bounds = _find_bounds(folder / rule["bounds"], str(column))
                rules[column] = {**rule, "bounds": bounds, "released": True}
            except (OSError, UnicodeDecodeError) as error:
                fault = getattr(error, "strerror", None) if not isinstance(error, FileNotFoundError) else None
                problems.append(
                    f"columns.{column}.bounds: must be [lower, upper] or the file of a record; "
                    f"{fault or 'no such file'}"
                )
            except (RecordError, CertificateError, ValueError) as error:
                problems.append(f"columns.{column}.bounds: {error}")
    if problems:
        raise PlanError(problems, name)
    return {**content, "columns": rules}


def _find_bounds(file: Path, column: str) -> list[Any]:
    """The bounds of a column in a record."""
    for release in Releases.from_json(read_regular(file)).values():
        ends = plain_statistic(release.statistic).ends_of(release)
        if ends is not None and release.columns[0].name == column:
            return [_as_toml(end) for end in ends]
    raise ValueError("the record has no released bounds of this column; release them with statistic = 'bounds'")


def _as_toml(end: Any) -> Any:
    """A bound as a plan has it: a number, a date or a time."""
    if isinstance(end, Fraction):
        return Decimal(end.numerator) / Decimal(end.denominator)
    return datetime.fromisoformat(end) if ":" in end else date.fromisoformat(end)
