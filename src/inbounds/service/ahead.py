"""Expected errors of a plan at other budgets; each is computed once and kept."""

import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from inbounds._estimates import find_places, write_rounded
from inbounds.forecasts.choices import warn_of_heaps
from inbounds.forecasts.forecast import Forecast, forecast_errors
from inbounds.forecasts.likely import MOST, find_errors
from inbounds.forecasts.worth import judge
from inbounds.plan.plan import Plan
from inbounds.record.release import Release
from inbounds.service.budget import parse_epsilon

# Twelve values in a decade, each about a fifth larger than the one before: the E12 series.
_SERIES = ("1", "1.2", "1.5", "1.8", "2.2", "2.7", "3.3", "3.9", "4.7", "5.6", "6.8", "8.2")
_SMALLEST, _LARGEST = Decimal("0.05"), Decimal(10)
_POINTS = "percentage points"


class Ahead:
    """The expected errors of a plan's releases at several budgets. Reads no data and spends nothing.

    What was computed is kept, so that moving ε back and forth costs nothing. It may be used by several threads.

    Parameters
    ----------
    plan
        The plan.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._found: dict[Decimal, dict[str, Any]] = {}
        self._lock = threading.Lock()
        self._own = Decimal(plan.budget.epsilon)

    @property
    def grid(self) -> list[str]:
        """The budgets that are compared: that of the plan, and twelve in a decade."""
        steps = {
            Decimal(step).scaleb(power).normalize()
            for power in range(-2, 2)
            for step in _SERIES
            if _SMALLEST <= Decimal(step).scaleb(power) <= _LARGEST
        }
        return [f"{step:f}" for step in sorted(steps | {parse_epsilon(str(self._own), self._own)})]

    def at(self, epsilon: str) -> dict[str, Any]:
        """The expected errors of all releases if the plan had this ε.

        Parameters
        ----------
        epsilon
            The ε of the whole plan, as it is written.

        Returns
        -------
        dict
            With ``epsilon`` and ``items``, one for each release. Errors are in the ``unit`` that a page shows them
            in: shares in percentage points.

        Raises
        ------
        ValueError
            If it is not a number, or out of range.
        """
        exact = parse_epsilon(epsilon, self._own)
        if exact not in self._found:
            with self._lock:
                if exact not in self._found:
                    self._found[exact] = self._look(exact)
        return self._found[exact]

    def known(self) -> list[dict[str, Any]]:
        """What has been computed so far, in the order of ε."""
        return [self._found[epsilon] for epsilon in sorted(self._found.copy())]

    def fill(self, tell: Callable[[], bool]) -> None:
        """Compute the whole grid, the nearest to the plan's ε first, until ``tell`` returns False."""
        for epsilon in sorted(self.grid, key=lambda step: abs(Decimal(step).ln() - self._own.ln())):
            if not tell():
                return
            self.at(epsilon)

    def least_epsilon(self, name: str, error: float) -> str:
        """The smallest ε of the grid that keeps an error of one item for nine of ten plausible columns.

        For each of these, 95% of releases are off by at most ``error``.

        Parameters
        ----------
        name
            The name of the release.
        error
            The error that is wanted, in the unit of `at`.

        Returns
        -------
        str
            The ε of the whole plan.

        Raises
        ------
        ValueError
            If there is no such release, the error is not greater than zero, or no ε of the grid is enough.
        """
        if name not in self._plan.epsilons:
            raise ValueError(f"the plan has no release {name[:80]!r}")
        if not error > 0:
            raise ValueError("the error must be greater than zero")
        # The largest ε first: if it is not enough, none is.
        grid = self.grid
        low, high = 0, len(grid) - 1
        if self._error(name, grid[high]) > error:
            raise ValueError(
                f"even epsilon {grid[high]} is not enough for {name[:80]!r}; fewer releases or cells would be"
            )
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._error(name, grid[middle]) <= error else (middle + 1, high)
        return grid[high]

    def _error(self, name: str, epsilon: str) -> float:
        plan = self._plan.with_epsilon(parse_epsilon(epsilon, self._own))
        record = plan.drafts()[name].record
        scale = 100 if _name_unit(record) == _POINTS else 1
        return scale * find_errors(plan.wanted()[name], record).of_share_exactly(MOST)

    def _look(self, exact: Decimal) -> dict[str, Any]:
        plan = self._plan.with_epsilon(exact)
        drafts = plan.drafts()
        items = []
        for name, wanted in plan.wanted().items():
            record = drafts[name].record
            unit = _name_unit(record)
            forecast = forecast_errors(wanted, record)
            alone = None if record.group is None else forecast_errors(wanted)
            items.append(
                {
                    "name": name,
                    "title": record.title,
                    "share": _spell(float(wanted.keywords["epsilon"])),
                    "unit": unit,
                    **_figures(forecast, unit),
                    "alone": None if alone is None else _figures(alone, unit),
                    "worth": judge(wanted, record, forecast),
                    "assumed": forecast.assumed if forecast.depends else "",
                    "warning": " ".join([*warn_of_heaps(record), *plan.notes_on_rows]),
                }
            )
        return {"epsilon": f"{exact:f}", "at": float(exact), "items": items}


def _name_unit(record: Release) -> str:
    """The unit of errors, if it is not that of a column."""
    if record.clock is not None:
        return "days" if record.clock == "date" else "seconds"
    return _POINTS if record.statistic.traits.shares else ""


def _figures(forecast: Forecast, unit: str) -> dict[str, Any]:
    scale = 100 if unit == _POINTS else 1
    reach, low, high = (scale * x for x in (forecast.reach, *forecast.reach_range))
    return {
        "rmse": scale * forecast.typical,
        "half_width": reach,
        "half_widths": [low, high],
        "said": _write(reach),
        "span": f"{_write(low)} to {_write(high)}" if forecast.depends else "",
    }


def _write(error: float) -> str:
    """An error as a report writes it: with one digit, or two if the first is 1 or 2."""
    return write_rounded(error, find_places(error))


def _spell(x: float) -> str:
    return f"{x:.3g}" if x < 100 else f"{x:,.0f}"


def make_ahead(path: Path) -> Ahead:
    """The expected errors of the plan in a file. Raises a `PlanError` if it has mistakes."""
    return Ahead(Plan.load(path))
