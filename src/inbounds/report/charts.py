"""Charts of a release as SVG. The shape of the record decides which chart it is.

Colours are variables of the page's style, so that one drawing serves light, dark and print.
"""

import math
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import NamedTuple

from inbounds._estimates import QUALITIES
from inbounds._text import visible
from inbounds.record.selection import list_rules
from inbounds.record.show import key_names
from inbounds.report.rows import Row, Section
from inbounds.report.svg import FONT, Drawing, Scale, measure
from inbounds.report.ticks import Tick, extend, list_numbers, list_times
from inbounds.tables.schema import Edges
from inbounds.tables.times import Clock

# The width of the smallest screen that a chart fits on, less the margins of the page.
_WIDTH = 340
# The height of an axis below a chart, and the room at its sides for circles and round ends.
_AXIS, _SIDE = 26, 10
# The largest width of the labels of groups, and the height of a group.
_LABELS, _ROW = 126, 24
# With more groups than this, their rows are as low as their labels allow.
_AIRY, _DENSE_ROW = 25, 16
# About how many steps an axis has. Dates are longer than numbers.
_STEPS, _DATES = 4, 3
_RADIUS = 4
# A chart of more numbers than this would be as long as the table below it.
_MOST_DRAWN = 60
_LONGEST_LABEL = 18


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart: its SVG, and what it shows in words."""

    svg: str
    title: str
    description: str


class Datum(NamedTuple):
    """A number with the limits of its interval."""

    value: float
    lower: float
    upper: float


def draw_chart(section: Section) -> Chart | None:
    """Draw the chart of a release.

    A single number is shown on its possible values, groups and levels sorted with their intervals, intervals of numbers
    as a histogram, and quantiles as a curve. Tables of two or more columns and matrices are tables with shades.

    Parameters
    ----------
    section
        A release with its interval.

    Returns
    -------
    Chart or None
        None if a table says it better, or if there is nothing to draw.
    """
    rows = [row for row in section.distinct_rows() if row.value is not None and row.lower is not None]
    nothing = all(row.estimate.unlimited for row in rows)
    choice = _choose(section, rows) if 0 < len(rows) <= _MOST_DRAWN and not nothing else None
    if choice is None:
        return None
    drawing, description = choice
    return Chart(drawing.to_text(), section.name, description)


def _choose(section: Section, rows: list[Row]) -> tuple[Drawing, str] | None:
    release = section.release
    if not release.axes:
        return _number(section, rows[0])
    if len(release.axes) > 1:
        return None
    if (shares := _shares_of(section)) is not None:
        return _curve(section, rows, shares)
    keys = [rule for rule in list_rules(release.statistic) if isinstance(rule, Edges)]
    if keys and release.statistic.traits.counted and len(rows) == len(keys[0].edges) - 1:
        return _histogram(section, rows, [float(edge) for edge in keys[0].edges])
    return _groups(section, rows)


def _shares_of(section: Section) -> list[float] | None:
    """The shares that numbers are quantiles at: the labels of an axis that belongs to no column. None for others."""
    (labels,) = section.release.axes
    if key_names(section.release) or len(labels) < 2:
        return None
    if not _are_rising(list(labels)):
        return None
    shares = [float(label) for label in labels]
    return shares if shares[0] >= 0 and shares[-1] <= 1 else None


def _number(section: Section, row: Row) -> tuple[Drawing, str] | None:
    """A number and its interval on the line of possible values."""
    if not all(map(math.isfinite, row.possible)):
        return None
    drawing, datum, height = Drawing(_WIDTH, 28 + _AXIS), _datum(row), 28
    scale = Scale(*row.possible, _SIDE, _WIDTH - _SIDE)
    drawing.across(scale, _list_ticks(section, scale), 0, height)
    _draw_interval(drawing, datum, scale, height / 2)
    drawing.circle((scale.place(datum.value), height / 2), _RADIUS, "mark")
    with_interval = " with its interval" if datum.lower < datum.upper else ""
    return drawing, f"the released number{with_interval}, on possible values"


def _groups(section: Section, rows: list[Row]) -> tuple[Drawing, str]:
    """Groups or levels with intervals on a common axis: sorted by their numbers, or in an order of their own."""
    counted = section.release.statistic.traits.counted
    rising = any(isinstance(rule, Edges) for rule in list_rules(section.release.statistic)) or _are_rising(
        section.cells
    )
    in_order = rows if rising else sorted(rows, key=lambda row: -(row.value or 0.0))
    data = [_datum(row) for row in in_order]
    # Numbers that tell nothing would leave no room for the others. Each is drawn as a faint line from end to end.
    idle = [row.estimate.quality == QUALITIES[-1] and not counted for row in in_order]
    idle = [False] * len(data) if all(idle) else idle
    telling = [datum for datum, is_idle in zip(data, idle, strict=True) if not is_idle]
    step = _ROW if len(data) <= _AIRY else _DENSE_ROW
    height, names = step * len(data), [_shorten(row.cell) for row in in_order]
    drawing = Drawing(_WIDTH, height + _AXIS)
    left = min(_LABELS, max(map(measure, names)) + _SIDE)
    scale = Scale(*_find_ends(section, telling, zero=counted), left + _SIDE, _WIDTH - _SIDE)
    drawing.across(scale, _list_ticks(section, scale), 0, height)
    for i, datum in enumerate(data):
        top, middle = i * step, (i + 0.5) * step
        drawing.text((left, middle), names[i], "end")
        if idle[i]:
            drawing.line((scale.start, middle), (scale.end, middle), "mark", width=3, opacity=0.25)
            continue
        if counted:
            ends = (scale.place(0.0), top + step / 6), (scale.place(datum.value), top + 5 * step / 6)
            drawing.bar(*ends, "mark", opacity=0.35)
        _draw_interval(drawing, datum, scale, middle)
        # A circle would hide a short interval at the end of a bar.
        if not counted:
            drawing.circle((scale.place(datum.value), middle), _RADIUS, "mark")
    shape = "bars" if counted else "circles"
    order = "in their order" if rising else "largest first"
    sentence = f"released numbers as {shape}, {order}, with their intervals as lines"
    return drawing, f"{sentence}; those that tell nothing are faint lines" if any(idle) else sentence


def _are_rising(labels: list[str]) -> bool:
    """Whether labels are rising numbers, such as months or years, which nobody wants sorted by their values."""
    try:
        return all(float(a) < float(b) for a, b in pairwise(labels))
    except ValueError:
        return False


def _histogram(section: Section, rows: list[Row], edges: list[float]) -> tuple[Drawing, str]:
    """Intervals of numbers in their order: a bar for each, as wide as the interval is."""
    widths = [b - a for a, b in pairwise(edges)]
    if max(widths) > 1.001 * min(widths):
        # Heights would have to be densities, which nobody released.
        return _groups(section, rows)
    clock = next(rule.clock for rule in list_rules(section.release.statistic) if isinstance(rule, Edges))
    data, height = [_datum(row) for row in rows], 150
    drawing, upwards = _start_plane(section, data, height, zero=True)
    across = Scale(edges[0], edges[-1], upwards[1], _WIDTH - _SIDE)
    drawing.across(across, _list_along(across, clock), height, height)
    scale = upwards[0]
    for datum, (a, b) in zip(data, pairwise(edges), strict=True):
        left, right = across.place(a), across.place(b)
        # A narrow gap between bars that are wide enough for it.
        gap = 0.5 if right - left > 4 else 0.0
        ends = (left + gap, scale.place(0.0)), (right - gap, scale.place(datum.value))
        drawing.bar(*ends, "mark", opacity=0.35)
        middle = (left + right) / 2
        drawing.line((middle, scale.place(datum.lower)), (middle, scale.place(datum.upper)), "mark", width=3)
    return drawing, "released counts as bars, with their intervals as lines"


def _curve(section: Section, rows: list[Row], shares: list[float]) -> tuple[Drawing, str]:
    """Quantiles over the share of records below them, with a band of intervals."""
    data, height = [_datum(row) for row in rows], 180
    # Intervals that tell nothing run beyond the axis.
    telling = [datum for datum, row in zip(data, rows, strict=True) if row.estimate.quality != QUALITIES[-1]]
    drawing, (scale, left) = _start_plane(section, telling or data, height, zero=False, title=True)
    across = Scale(0.0, 1.0, left, _WIDTH - _SIDE)
    drawing.across(across, list_numbers(0.0, 1.0, 5, percent=True), _SIDE, height)
    drawing.text(((across.start + across.end) / 2, height + _AXIS + FONT / 2), "share of records below")
    places = [across.place(share) for share, _ in zip(shares, data, strict=False)]
    lower, value, upper = (
        [(x, scale.place(getattr(datum, name))) for x, datum in zip(places, data, strict=True)]
        for name in ("lower", "value", "upper")
    )
    drawing.area([*lower, *reversed(upper)], "mark", opacity=0.2)
    drawing.path(value, "mark")
    for low, middle, high in zip(lower, value, upper, strict=True):
        drawing.line(low, high, "mark", width=3)
        drawing.circle(middle, _RADIUS, "mark")
    return drawing, "quantiles as a curve over the share of records below, with their intervals as a band"


def _start_plane(
    section: Section, data: list[Datum], height: int, *, zero: bool, title: bool = False
) -> tuple[Drawing, tuple[Scale, float]]:
    """A drawing with an axis of values at the left, its scale, and where the axis across begins."""
    drawing = Drawing(_WIDTH, height + _AXIS + (FONT + 4 if title else 0))
    scale = Scale(*_find_ends(section, data, zero=zero), height, _SIDE)
    ticks = _list_ticks(section, scale)
    left = max((measure(tick.label) for tick in ticks), default=0.0) + _SIDE
    drawing.upwards(scale, ticks, left, _WIDTH - _SIDE)
    return drawing, (scale, left)


def _draw_interval(drawing: Drawing, datum: Datum, scale: Scale, height: float) -> None:
    drawing.line((scale.place(datum.lower), height), (scale.place(datum.upper), height), "mark", width=3)


def _find_ends(section: Section, data: list[Datum], *, zero: bool) -> tuple[float, float]:
    """The ends of an axis that holds all numbers and those of their limits that are finite."""
    figures = [x for x in chain.from_iterable(data) if math.isfinite(x)] + [0.0] * zero
    low, high = min(figures, default=0.0), max(figures, default=1.0)
    if section.release.clock is None:
        return extend(low, high, _STEPS)
    return (low, high) if low < high else (low - 1, high + 1)


def _list_ticks(section: Section, scale: Scale) -> list[Tick]:
    """The ticks of an axis of values: a share in percent, a date as such."""
    return _list_along(scale, section.release.clock, percent=section.release.statistic.traits.shares)


def _list_along(scale: Scale, clock: Clock | None, *, percent: bool = False) -> list[Tick]:
    if clock is not None:
        return list_times(scale.low, scale.high, _DATES, clock)
    return list_numbers(scale.low, scale.high, _STEPS, percent=percent)


def _datum(row: Row) -> Datum:
    # An interval of all possible values would leave no room to see the numbers.
    ends = (row.lower, row.upper) if row.estimate.has_interval else (row.value, row.value)
    value, lower, upper = (math.nan if x is None else float(x) for x in (row.value, *ends))
    return Datum(value, lower, upper)


def _shorten(label: str) -> str:
    # An escape is longer than the character that it stands for, so the label is made visible first.
    label = visible(label)
    # Names of one kind often begin alike, and end differently.
    half = _LONGEST_LABEL // 2
    return label if len(label) <= _LONGEST_LABEL else f"{label[:half]}…{label[1 - half :]}"
