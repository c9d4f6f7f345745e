"""What a page shows of each release: its numbers in a list or a two-way table, its chart, and how good it is."""

import math
from collections import Counter
from dataclasses import dataclass
from itertools import product

import numpy as np

from inbounds._estimates import QUALITIES, Quality, find_places, write_rounded
from inbounds.record import Release
from inbounds.record.show import NOT_AVAILABLE, axis_names, key_names
from inbounds.report import figures, words
from inbounds.report.charts import Chart, draw_chart
from inbounds.report.rows import VERDICTS, Row, Section

# A table of more columns than this is written as a list.
_MOST_COLUMNS = 12
# The shades of a table, from none to the darkest.
_SHADES = 8
# The most numbers of a release that the summary names as not reliable.
_MOST_NAMED = 3
# The most releases of which it does so: the first screen has room for these, and the table below it has all.
MOST_DOUBTFUL = 4


@dataclass(frozen=True, slots=True)
class Cell:
    """A number in a table: the number, its margin or limits, how good it is, and the class of its shade."""

    value: str
    margin: str = ""
    quality: str = ""
    shade: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A two-way table: the names of the axes, the heads of the columns, and the rows with their labels.

    ``totals`` are those of the columns, followed by that of all; empty if there are none.
    """

    row_names: tuple[str, ...]
    column_name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[Cell, ...], str], ...]
    totals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """A release as a page shows it."""

    place: str
    name: str
    title: str
    headline: str
    verdict: str
    worst: Quality | None
    chart: Chart | None
    heads: tuple[str, ...]
    lines: tuple[tuple[str, Cell], ...]
    grid: Grid | None
    rest: str
    notes: tuple[str, ...]
    possible: str


def view_section(number: int, section: Section) -> View:
    """Lay out a release.

    Parameters
    ----------
    number
        Its place on the page, from 1.
    section
        The release with its error and interval.

    Returns
    -------
    View
        Plain texts, and the chart.
    """
    rows = section.distinct_rows()
    grid = _lay_out_grid(section)
    listed = () if grid is not None else rows[: words.MOST_ROWS]
    verdict, worst = judge_rows(rows)
    return View(
        f"release-{number}",
        section.name,
        words.describe_release(section),
        section.write(rows[0]) if len(rows) == 1 else _describe_several(section, rows),
        verdict,
        worst,
        draw_chart(section),
        (words.name_cells(section), "value", "± or range", "how good"),
        tuple((row.cell or section.release.title, _make_cell(section, row)) for row in listed),
        grid,
        words.describe_rest(section) if grid is None else "",
        tuple(words.list_notes(section)),
        _describe_possible(section, rows),
    )


def judge_rows(rows: list[Row]) -> tuple[str, Quality | None]:
    """How good some numbers are, in words, and the worst of it."""
    counts = Counter(row.verdict for row in rows)
    worst = max((verdict for verdict in QUALITIES if counts[verdict]), key=QUALITIES.index, default=None)
    if len(counts) == 1:
        (only,) = counts
        return (only if len(rows) == 1 else f"all {'tell nothing' if only == QUALITIES[-1] else only}"), worst
    parts = [
        f"{counts[verdict]} of {len(rows)} {verdict if counts[verdict] == 1 else verdict.replace('tells', 'tell')}"
        for verdict in QUALITIES[1:]
        if counts[verdict]
    ]
    parts += [f"{counts[verdict]} {verdict}" for verdict in VERDICTS[len(QUALITIES) :] if counts[verdict]]
    return ", ".join(parts), worst


def list_doubtful(sections: list[Section]) -> list[tuple[str, str, list[str], int, Quality]]:
    """The numbers that are not reliable, the worst first.

    For each release and verdict: the place of the release, its name, some cells, how many more there are, the verdict.
    """
    doubtful = []
    for quality in reversed(QUALITIES[1:]):
        for number, section in enumerate(sections, 1):
            rows = section.distinct_rows()
            cells = [row.cell for row in rows if row.estimate.quality == quality]
            if not cells:
                continue
            every = len(cells) == len(rows) > 1
            names = [f"all {len(rows):,}"] if every else [cell for cell in cells[:_MOST_NAMED] if cell]
            more = 0 if every else len(cells) - _MOST_NAMED
            doubtful.append((f"release-{number}", section.name, names, more, quality))
    return doubtful


def _describe_several(section: Section, rows: list[Row]) -> str:
    """How many numbers there are, and the smallest and the largest of them."""
    present = sorted((row for row in rows if row.value is not None), key=lambda row: row.value or 0.0)
    if not present or section.release.clock is not None:
        return f"{len(rows):,} numbers"
    percent = section.release.statistic.traits.shares
    ends = [row.estimate.write_value(percent=percent) for row in (present[0], present[-1])]
    return f"{len(rows):,} numbers, {ends[0]} to {ends[1]}"


def _describe_possible(section: Section, rows: list[Row]) -> str:
    """Which values are possible, if they are the same for all numbers."""
    ranges = {row.possible for row in rows}
    if len(ranges) != 1 or not all(map(math.isfinite, next(iter(ranges)))):
        return ""
    ends = [figures.format_end(section, end) for end in ranges.pop()]
    return f"Possible values: {ends[0]} to {ends[1]}."


def _make_cell(section: Section, row: Row, shade: str = "") -> Cell:
    text, estimate = section.write(row), row.estimate
    if estimate.value is None:
        return Cell(NOT_AVAILABLE)
    for sign in (" ± ", " ("):
        value, separator, rest = text.partition(sign)
        if separator:
            return Cell(value, f"± {rest}" if sign == " ± " else rest.removesuffix(")"), row.mark, shade)
    return Cell(text, "", row.mark, shade)


def _lay_out_grid(section: Section) -> Grid | None:
    """The two-way table of a release: the last axis across, all others down; or the first, if the last is too long.

    None for a list.
    """
    release = section.release
    axes, rows, names, keys = release.axes, section.rows(), _name_axes(release), axis_names(release)
    if len(axes) == 2 and len(axes[0]) <= _MOST_COLUMNS < len(axes[1]):
        rows = [row for i in range(len(axes[1])) for row in rows[i :: len(axes[1])]]
        axes, names, keys = axes[::-1], names[::-1], keys[::-1]
    if len(axes) < 2 or len(axes[-1]) > _MOST_COLUMNS:
        return None
    *outer, across = axes
    labels, wide = list(product(*outer)), len(across)
    if len(labels) * wide > words.MOST_ROWS:
        return None
    shades = _shade(section, rows)
    cells = [_make_cell(section, row, shade) for row, shade in zip(rows, shades, strict=True)]
    lines = [cells[i * wide : (i + 1) * wide] for i in range(len(labels))]
    traits = release.statistic.traits
    if above := section.rows_above_matrix:
        # Below the means each pair is shown once.
        lines = [
            line if i < above else line[: i - above + 1] + [Cell("")] * (wide - (i - above + 1))
            for i, line in enumerate(lines)
        ]
    if traits.matrix:
        return _lay_out_matrix(across, lines, with_diagonal=not release.derivation.unit)
    *row_names, column_name = names
    sums: list[str] = [""] * len(labels)
    totals: tuple[str, ...] = ()
    if traits.counted and traits.whole and len(release.axes) == 2:
        margins = release.margins()
        sums, ends = (_round_sums(margins[name], rows) for name in keys)
        totals = (*ends, figures.format_figure(round(float(margins["total"]))))
    return Grid(
        tuple(row_names),
        column_name,
        across,
        tuple((label, tuple(line), total) for label, line, total in zip(labels, lines, sums, strict=True)),
        totals,
    )


def _name_axes(release: Release) -> list[str]:
    """What the axes of a table are called; nothing where its labels are names themselves."""
    keys, count = key_names(release), len(release.axes)
    # A level that is counted has a column as well, after those of the groups.
    return keys[:count] if len(keys) >= count else axis_names(release) if keys else [""] * count


def _lay_out_matrix(names: tuple[str, ...], lines: list[list[Cell]], *, with_diagonal: bool) -> Grid:
    """A symmetric matrix: each pair once, below the diagonal."""
    least = 0 if with_diagonal else 1
    blank = Cell("")
    rows = tuple(
        ((names[i],), tuple(lines[i][j] if j <= i - least else blank for j in range(len(names) - least)), "")
        for i in range(least, len(names))
    )
    return Grid(("",), "", names[: len(names) - least], rows)


def _round_sums(sums: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]", rows: list[Row]) -> list[str]:
    """Sums of cells, rounded as a sum of so many of them would be."""
    margins = [row.estimate.margin or 0.0 for row in rows]
    places = find_places(math.sqrt(sum(x * x for x in margins) / max(len(sums), 1)))
    return [write_rounded(float(x), places if places is None else min(places, 0)) for x in sums]


def _shade(section: Section, rows: list[Row]) -> list[str]:
    """The class of each cell's shade: by its size, and for correlations by their sign as well."""
    traits = section.release.statistic.traits
    # A number that tells nothing is not shown as large or small.
    values = [None if row.estimate.quality == QUALITIES[-1] else row.value for row in rows]
    present = [abs(x) for x in values if x is not None]
    comparable = len({row.possible for row in rows}) == 1
    if not comparable or not present:
        return [""] * len(rows)
    if section.release.derivation.unit:
        return ["" if x is None else f"{'below' if x < 0 else 'above'}-{_step(abs(x))}" for x in values]
    least = 0.0 if traits.counted else min(present)
    span = max(present) - least or 1.0
    return ["" if x is None else f"above-{_step((abs(x) - least) / span)}" for x in values]


def _step(share: float) -> int:
    return min(round(share * _SHADES), _SHADES)
