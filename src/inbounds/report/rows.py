"""Released numbers as flat rows, with their intervals and expected errors: what CSV files and reports are made of."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from inbounds._text import csv_cell
from inbounds.expected import Error
from inbounds.inference.result import Interval
from inbounds.record import Release, Releases

LEVEL = 0.95
# Intervals of more cells than this are left out: nobody reads them one by one.
MOST_CELLS = 10_000
HEADS = ("release", "statistic", "cell", "value", "lower", "upper", "interval", "rmse", "bias", "epsilon", "note")
_WHY = "not available: a released variance is 0"


class Row(NamedTuple):
    """One released number: its cell, the limits of its interval (None where there is none), and its expected error.

    A value that is not available is None, and so is its error.
    """

    cell: str
    value: float | None
    lower: float | None
    upper: float | None
    rmse: float | None
    bias: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A release with what can be said about it: its error, and an interval where there is one."""

    name: str
    release: Release
    error: Error
    interval: Interval | None

    @property
    def cells(self) -> list[str]:
        """Names of its numbers, one after another; empty text for a single one."""
        return [", ".join(labels) for labels in product(*self.release.axes)] if self.release.axes else [""]

    def rows(self) -> list[Row]:
        """A row for each of its numbers, in the order of `cells`."""
        size = len(self.cells)
        values = self.release.flat_values()
        lower: list[Any] = [None] * size
        upper = lower
        if self.interval is not None:
            lower, upper = (_repeat(end, size) for end in self.interval)
        rmse, bias = _repeat(self.error.rmse, size), _repeat(self.error.bias, size)
        return [Row(*fields) for fields in zip(self.cells, values, lower, upper, rmse, bias, strict=True)]

    def distinct_rows(self) -> list[Row]:
        """Its rows without those that say nothing new.

        Of a symmetric matrix that is each pair once, and no correlation of a column with itself.
        """
        rows, axes = self.rows(), self.release.axes
        if not self.release.statistic.traits.matrix:
            return rows
        size, least = len(axes[0]), 1 if self.release.statistic.traits.unit_diagonal else 0
        return [rows[i * size + j] for i in range(size) for j in range(i + least, size)]


def _repeat(figure: Any, size: int) -> list[float | None]:
    """One figure for each cell, whether there is one for all of them or one for each; None where it is masked."""
    figures: list[float | None] = np.ma.ravel(figure).tolist()
    return figures * size if len(figures) < size else figures


def collect_sections(releases: Releases) -> list[Section]:
    """Work out the error and the interval of every release of a plan.

    A variance of the same column makes the interval of a mean shorter.

    Parameters
    ----------
    releases
        What came of a plan.

    Returns
    -------
    list of Section
        One for each release, in the order of the plan.
    """
    variances = {one.columns[0].name: one for one in releases.values() if one.statistic.traits.variance}
    sections = []
    for name, release in releases.items():
        column = release.columns[0].name if release.columns else ""
        sections.append(Section(name, release, release.error, _find_interval(release, variances.get(column))))
    return sections


def _find_interval(release: Release, variance: Release | None) -> Interval | None:
    """The interval for the population if there is one, otherwise for the table; None if there is neither."""
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


def to_csv(sections: list[Section]) -> Iterator[str]:
    """Write the rows as lines of CSV.

    Numbers are written so that reading them gives the same double. Text that a spreadsheet would take for a formula has
    an apostrophe before it.

    Parameters
    ----------
    sections
        What `collect_sections` returned.

    Yields
    ------
    str
        A line with its line end; the first one has the names in `HEADS`.
    """
    yield ",".join(HEADS) + "\n"
    for section in sections:
        kind = "" if section.interval is None else f"{section.interval.level:g} {section.interval.kind}"
        for cell, value, lower, upper, rmse, bias in section.rows():
            line = io.StringIO()
            fields = [
                csv_cell(section.name),
                section.release.statistic.name,
                csv_cell(cell),
                value,
                lower,
                upper,
                kind,
                rmse,
                bias,
                section.release.epsilon,
                _WHY if value is None else "",
            ]
            csv.writer(line, lineterminator="\n").writerow(["" if field is None else field for field in fields])
            yield line.getvalue()
