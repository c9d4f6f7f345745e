"""Released numbers in tidy rows, with their intervals and expected errors: what CSV files and reports are made of."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from inbounds._text import csv_cell
from inbounds.app.job import Releases
from inbounds.expected import Error
from inbounds.inference.result import Interval
from inbounds.record import Release

LEVEL = 0.95
# Intervals of more cells than this are left out: nobody reads them one by one.
MOST_CELLS = 10_000
HEADS = ("release", "statistic", "cell", "value", "lower", "upper", "interval", "rmse", "bias", "epsilon")


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """A release with what can be said about it: its error, and an interval where there is one."""

    name: str
    release: Release
    error: Error
    interval: Interval | None

    @property
    def cells(self) -> list[str]:
        """Names of its numbers, one after another; empty text for a single one."""
        return [", ".join(labels) for labels in product(*self.release.axes)] if self.release.axes else [""]

    def rows(self) -> Iterator[tuple[str, Any, Any, Any, Any, Any]]:
        """Cell, value, limits of the interval, RMSE and bias."""
        size = len(self.cells)
        values = np.ravel(self.release.value).tolist()
        lower: list[Any] = [None] * size
        upper = lower
        if self.interval is not None:
            lower, upper = (_spread(end, size) for end in self.interval)
        rmse, bias = _spread(self.error.rmse, size), _spread(self.error.bias, size)
        yield from zip(self.cells, values, lower, upper, rmse, bias, strict=True)


def _spread(figure: Any, size: int) -> list[float]:
    found: list[float] = np.broadcast_to(np.ravel(figure), size).tolist()
    return found


def shown(made: Releases) -> list[Shown]:
    """All releases of a plan. A variance of the same column shortens the interval of a mean."""
    variances = {one.columns[0].name: one for one in made.values() if one.statistic.traits.variance}
    found = []
    for name, release in made.items():
        column = release.columns[0].name if release.columns else ""
        found.append(Shown(name, release, release.error, _interval(release, variances.get(column))))
    return found


def _interval(release: Release, variance: Release | None) -> Interval | None:
    """For the population where that can be had, otherwise for the table; None for neither."""
    if len(release.noisy) > MOST_CELLS:
        return None
    if release.statistic.traits.mean and not release.axes and variance is not None:
        try:
            return release.interval(LEVEL, variance=variance)
        except ValueError:
            pass
    for kind in ("population", "noise"):
        try:
            return release.interval(LEVEL, kind=kind)
        except ValueError:
            continue
    return None


def to_csv(made: list[Shown]) -> Iterator[str]:
    """The rows as lines of CSV; numbers are written so that reading them gives the same double.

    Text that a spreadsheet would take for a formula has an apostrophe before it.
    """
    yield ",".join(HEADS) + "\n"
    for one in made:
        kind = "" if one.interval is None else f"{one.interval.level:g} {one.interval.kind}"
        for cell, value, lower, upper, rmse, bias in one.rows():
            line = io.StringIO()
            fields = [
                csv_cell(one.name),
                one.release.statistic.name,
                csv_cell(cell),
                value,
                lower,
                upper,
                kind,
                rmse,
                bias,
                one.release.epsilon,
            ]
            csv.writer(line, lineterminator="\n").writerow(["" if field is None else field for field in fields])
            yield line.getvalue()
