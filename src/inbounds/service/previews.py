"""Look at a plan before it is released: its expected errors, and what its rules would do with its table."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from inbounds.forecasts.outlook import Outlook, outlook
from inbounds.plan.check import check
from inbounds.plan.plan import Plan

# A callback that receives the number of steps that are done, and the number of all steps.
Progress = Callable[[int, int], None]


def preview_plan(path: Path, progress: Progress | None = None) -> Outlook:
    """Show the cost and the expected error of each release of a plan. Reads no data and spends nothing."""
    return outlook(Plan.load(path), progress)


def check_plan(path: Path, data: str | None = None) -> dict[str, Any]:
    """What a plan's rules would do with its table, in plain values: exact numbers, for the curator's eyes only.

    ``data`` is a path or URL in place of the plan's source. Charges nothing, writes nothing and looks at no ledger.
    """
    return check(path, data).to_dict()
