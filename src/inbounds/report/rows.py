"""Released numbers as rows, with their intervals and expected errors. CSV files and reports are made from them."""

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from inbounds._estimates import QUALITIES, Estimate
from inbounds._text import csv_cell
from inbounds.expected import Error
from inbounds.inference.result import NORMAL, Interval
from inbounds.record import Release, Releases
from inbounds.record.asked import Asked, find_level
from inbounds.record.notes import describe_kept
from inbounds.record.possible import list_possible
from inbounds.record.shared import list_draws
from inbounds.record.show import NOT_AVAILABLE, describe_draw, write_estimate
from inbounds.tables.times import write_time

# With more cells than this, intervals are left out, because nobody reads them one by one.
MOST_CELLS = 10_000
HEADS = (
    *("release", "statistic", "cell", "value", "lower", "upper", "interval", "rmse", "bias", "epsilon", "note"),
    *("rounded", "quality", "draw"),
)
# The columns that hold numbers.
NUMBERS = ("value", "lower", "upper", "rmse", "bias", "epsilon")
# The columns that hold names from a plan.
_NAMES = (HEADS.index("release"), HEADS.index("cell"))
# The verdict on a number whose error is not known.
NOT_JUDGED = "not judged"
VERDICTS = (*QUALITIES, NOT_JUDGED, NOT_AVAILABLE)
_WHY = "not available: a released variance is 0"


class Row(NamedTuple):
    """One released number: its cell, the limits of its interval, its expected error, and its possible values.

    The limits are None if there is no interval. The value and its error are None if they are not available.
    """

    cell: str
    value: float | None
    lower: float | None
    upper: float | None
    rmse: float | None
    bias: float | None
    possible: tuple[float, float]
    from_zero: bool
    is_point: bool = False

    @property
    def estimate(self) -> Estimate:
        """The number with its error, to write and judge it."""
        return Estimate(self.value, self.lower, self.upper, self.rmse, self.possible, self.from_zero, self.is_point)

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """The limits of its interval; None where noise leaves no interval."""
        return (None, None) if self.estimate.unlimited else (self.lower, self.upper)

    @property
    def verdict(self) -> str:
        """How good the number is, or why that is not said."""
        return NOT_AVAILABLE if self.value is None else self.mark

    @property
    def mark(self) -> str:
        """How good the number is, to be written beside it. Empty if it is not available."""
        return self.estimate.quality or ("" if self.value is None else NOT_JUDGED)


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A release with its expected error and, if there is one, its interval.

    ``draw`` is the number of its draw, from 1, and ``together`` has the names of all releases of that draw.
    """

    name: str
    release: Release
    error: Error
    interval: Interval | None
    released: tuple[str, ...] = ()
    draw: int = 1
    together: tuple[str, ...] = ()
    _rows: list[Row] = field(default_factory=list, init=False, repr=False)

    @property
    def cells(self) -> list[str]:
        """The names of its numbers. A single number has an empty name."""
        return [", ".join(labels) for labels in product(*self.release.axes)] if self.release.axes else [""]

    @property
    def shown_interval(self) -> Interval | None:
        """The interval, if it says something about any number. That of a quantile may be no shorter than its bounds."""
        if self.interval is None or not any(row.estimate.has_interval for row in self.rows()):
            return None
        return self.interval

    @property
    def no_interval(self) -> str:
        """Why noise leaves no interval of any number. Empty if there is one, or if none was computed."""
        if self.interval is None or not all(row.estimate.unlimited for row in self.rows()):
            return ""
        return self.interval.method.removeprefix("none: ")

    def rows(self) -> list[Row]:
        """One row for each number, in the order of `cells`. They are made once."""
        if not self._rows:
            self._rows.extend(self._make_rows())
        return self._rows

    def _make_rows(self) -> list[Row]:
        size = len(self.cells)
        values = self.release.flat_values()
        lower: list[Any] = [None] * size
        upper = lower
        if self.interval is not None:
            lower, upper = (_repeat(end, size) for end in self.interval)
        rmse, bias = _repeat(self.error.rmse, size), _repeat(self.error.bias, size)
        derivation, possible = self.release.derivation, list_possible(self.release)
        if (span := derivation.find_range()) is not None:
            possible = [span] * size
        # Dates have no zero, and a correlation of nearly 0 is known well if its interval is short.
        from_zero = self.release.statistic.traits.meaning in ("centre", "total") and self.release.clock is None
        points = derivation.as_points
        if points is not None and points.size is None:
            # Without a number of records nothing is known about the error.
            rmse = bias = [None] * size
        columns = (
            self.cells,
            values,
            lower,
            upper,
            rmse,
            bias,
            possible,
            [from_zero] * size,
            [points is not None] * size,
        )
        return [Row(*fields) for fields in zip(*columns, strict=True)]

    def write(self, row: Row) -> str:
        """A number rounded to its error, with its margin or limits."""
        return write_estimate(self.release, row.estimate)

    def distinct_rows(self) -> list[Row]:
        """The rows without repetitions.

        For a symmetric matrix this is each pair once, without the correlation of a column with itself; a covariance of
        a column with itself is called its variance. The table of moments has means above such a matrix.
        """
        rows, axes = self.rows(), self.release.axes
        above = self.rows_above_matrix
        if above is None:
            return rows
        names, size = axes[-1], len(axes[-1])
        least = 1 if self.release.derivation.unit else 0
        distinct = rows[: above * size]
        for i in range(size):
            for j in range(i + least, size):
                row = rows[(above + i) * size + j]
                cell = f"variance, {names[i]}" if i == j else f"covariance, {row.cell}" if above else row.cell
                distinct.append(row if cell == row.cell else row._replace(cell=cell))
        return distinct

    @property
    def rows_above_matrix(self) -> int | None:
        """How many lines are above the symmetric matrix of a table: for moments one, of means. None without one."""
        above = self.release.derivation.means_above
        return int(above) if above or self.release.statistic.traits.matrix else None


def _repeat(figure: Any, size: int) -> list[float | None]:
    """Turn one figure, or one figure per cell, into a list with one figure per cell. Masked figures are None."""
    # `numpy.ma` takes time to load, and few figures are masked.
    flat = figure.ravel() if isinstance(figure, np.ndarray) else np.ravel(figure)
    figures: list[float | None] = flat.tolist()
    return figures * size if len(figures) < size else figures


def collect_sections(releases: Releases) -> list[Section]:
    """Compute the error and the interval of every release of a plan. They are kept for the next call.

    Intervals are those that the plan asks for. Otherwise they are for the population where such intervals exist, at the
    confidence that was paid for (``cover``) or else at 95%.

    Parameters
    ----------
    releases
        The releases of a plan.

    Returns
    -------
    list of Section
        One for each release, in the order of the plan.
    """
    if releases._sections is not None:
        earlier: list[Section] = releases._sections
        return earlier
    sections, draws = [], list_draws(releases)
    numbers = {name: number for number, names in enumerate(draws, 1) for name in names}
    for name, release in releases.items():
        request = releases.asked.get(name, Asked(level=find_level(release)))
        interval, number = None if len(release.noisy) > MOST_CELLS else request.find(release), numbers[name]
        sections.append(Section(name, release, release.error, interval, request.released, number, draws[number - 1]))
    object.__setattr__(releases, "_sections", sections)
    return sections


def to_csv(sections: list[Section]) -> Iterator[str]:
    """Write the rows as lines of CSV.

    Numbers are written so that reading them gives the same float. Text that a spreadsheet would take as a formula has
    an apostrophe before it.

    Parameters
    ----------
    sections
        The result of `collect_sections`.

    Yields
    ------
    str
        A line with its line end. The first line has the names in `HEADS`.
    """
    yield ",".join(HEADS) + "\n"
    for section in sections:
        for fields in list_fields(section):
            line = io.StringIO()
            cells = [csv_cell(field) if i in _NAMES else field for i, field in enumerate(fields)]
            csv.writer(line, lineterminator="\n").writerow(["" if cell is None else cell for cell in cells])
            yield line.getvalue()


def to_columns(releases: Releases) -> dict[str, list[Any]]:
    """The rows of all releases as columns under `HEADS`, for a frame. Dates and times are numbers there, as errors are.

    Parameters
    ----------
    releases
        The releases of a plan.

    Returns
    -------
    dict of list
        A value for each released number; None where there is none.
    """
    sections = collect_sections(releases)
    lines = [fields for section in sections for fields in list_fields(section)]
    columns = {name: [fields[i] for fields in lines] for i, name in enumerate(HEADS)}
    numbers = [(row.value, *row.ends) for section in sections for row in section.rows()]
    for place, name in enumerate(("value", "lower", "upper")):
        columns[name] = [None if x is None else float(x) for x in (figures[place] for figures in numbers)]
    return columns


def list_fields(section: Section) -> Iterator[list[Any]]:
    """The fields under `HEADS` of each number of a release, as plain values. Names are as they are in the record."""
    interval = section.interval
    kind = "" if interval is None or section.no_interval else f"{interval.level:g} {interval.kind}"
    release, clock = section.release, section.release.clock
    which = describe_kept(release.terms.unit)
    notes = [f"of {which}"] if which else []
    notes += [f"the interval holds if {NORMAL}"] if interval is not None and interval.if_normal else []
    notes += [f"no interval: {section.no_interval}"] if section.no_interval else []
    notes += [f"epsilon is {describe_draw(release)}"] if release.group is not None else []
    paid = release.certificate.guarantee
    notes += [] if math.isfinite(release.epsilon) else [f"the cost is {paid.shorten()}"]
    epsilon = release.epsilon if math.isfinite(release.epsilon) else None
    note = "; ".join(notes)
    for row in section.rows():
        # Dates and times are written as such, errors in days or seconds.
        figures = (row.value, *row.ends)
        value, lower, upper = (x if clock is None or x is None else write_time(x, clock) for x in figures)
        yield [
            *(section.name, release.statistic.name, row.cell, value, lower, upper, kind, row.rmse, row.bias),
            *(epsilon, _WHY if value is None else note, section.write(row), row.mark, section.draw),
        ]
