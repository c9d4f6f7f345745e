"""Charts of a release, as Vega-Lite drawn to SVG by vl-convert: which one it is follows from the shape of the record.

Colours are variables of the page's style, so that one drawing serves light, dark and print. The SVG is taken apart and
put together again from elements and attributes that only draw.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

from inbounds._text import visible
from inbounds.record.selection import list_rules
from inbounds.record.show import key_names
from inbounds.report.rows import Row, Section
from inbounds.tables.schema import Edges

# The width of the smallest screen that a chart fits on, less the margins of the page.
_WIDTH = 340
_LABELS = 110
# A chart of more numbers than this would be as long as the table below it.
_MOST_DRAWN = 40
_LONGEST_LABEL = 18
_DAY, _SECOND = 86_400_000, 1_000
_SHAPES = frozenset({"svg", "g", "path", "line", "rect", "text"})
_LOOKS = frozenset(
    {"d", "fill", "fill-opacity", "font-size", "height", "opacity", "stroke", "stroke-dasharray", "stroke-linecap"}
    | {"stroke-width", "text-anchor", "transform", "viewBox", "width", "x", "x1", "x2", "y", "y1", "y2"}
)


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart: its SVG, and what it shows in words."""

    svg: str
    title: str
    description: str


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
    found = _choose(section, rows) if rows and len(rows) <= _MOST_DRAWN else None
    if found is None:
        return None
    spec, description = found
    return Chart(_draw(spec), section.name, description)


def _choose(section: Section, rows: list[Row]) -> tuple[dict[str, Any], str] | None:
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
    """The shares that numbers are quantiles of: the labels of an axis that no column has. None for anything else."""
    (labels,) = section.release.axes
    if key_names(section.release) or len(labels) < 2:
        return None
    if not _are_rising(list(labels)):
        return None
    shares = [float(label) for label in labels]
    return shares if shares[0] >= 0 and shares[-1] <= 1 else None


def _number(section: Section, row: Row) -> tuple[dict[str, Any], str] | None:
    """A number and its interval on the line of possible values."""
    if not all(map(math.isfinite, row.possible)):
        return None
    first, last = (_scale(section, end) for end in row.possible)
    x = _axis(section, domain=[first, last])
    layers = [_interval("x", x), _point("x", x)]
    return _spec([_datum(section, row)], layers, height=26), "the released number with its interval, on possible values"


def _groups(section: Section, rows: list[Row]) -> tuple[dict[str, Any], str]:
    """Groups or levels with intervals on a common axis: sorted by their numbers, or in an order of their own."""
    counted = section.release.statistic.traits.counted
    own = any(isinstance(rule, Edges) for rule in list_rules(section.release.statistic)) or _are_rising(section.cells)
    ordered = rows if own else sorted(rows, key=lambda row: -(row.value or 0.0))
    data = [_datum(section, row) | {"cell": _shorten(row.cell), "place": i} for i, row in enumerate(ordered)]
    # Labels need not differ once they are cut, so that places are the axis and labels are text beside it.
    y = {"field": "place", "type": "ordinal", "axis": None}
    x = _axis(section, zero=counted)
    label = {
        "mark": {"type": "text", "align": "right", "x": -8, "fill": "var(--ink)", "fontSize": 12},
        "encoding": {"text": {"field": "cell", "type": "nominal"}},
    }
    bars = [
        {
            "mark": {"type": "bar", "fill": "var(--mark)", "opacity": 0.35, "height": {"band": 0.7}},
            "encoding": {"x": x | {"field": "value"}},
        }
    ]
    # A circle would hide a short interval at the end of a bar.
    layers = [*(bars if counted else []), _interval("x", x), *([] if counted else [_point("x", x)]), label]
    spec = _spec(data, layers, height={"step": 24}, width=_WIDTH - _LABELS - 20, encoding={"y": y})
    shape = "bars" if counted else "circles"
    order = "in their order" if own else "largest first"
    return spec, f"released numbers as {shape}, {order}, with their intervals as lines"


def _are_rising(labels: list[str]) -> bool:
    """Whether labels are numbers that rise, such as months or years, which nobody wants sorted by what they have."""
    try:
        return all(float(a) < float(b) for a, b in pairwise(labels))
    except ValueError:
        return False


def _histogram(section: Section, rows: list[Row], edges: list[float]) -> tuple[dict[str, Any], str]:
    """Intervals of numbers in their order: a bar for each, as wide as the interval is."""
    widths = [b - a for a, b in pairwise(edges)]
    if max(widths) > 1.001 * min(widths):
        # Heights would have to be densities, which nobody released.
        return _groups(section, rows)
    clock = next(rule.clock for rule in list_rules(section.release.statistic) if isinstance(rule, Edges))
    unit = {"date": _DAY, "datetime": _SECOND}.get(clock or "", 1)
    data = [
        _datum(section, row) | {"from": a * unit, "to": b * unit, "middle": (a + b) / 2 * unit}
        for row, (a, b) in zip(rows, pairwise(edges), strict=True)
    ]
    y = _axis(section, zero=True)
    kind = "quantitative" if clock is None else "temporal"
    x = {"type": kind, "scale": {"nice": False, "zero": False} | ({"type": "utc"} if clock else {}), "title": None}
    bar = {
        "mark": {"type": "bar", "fill": "var(--mark)", "opacity": 0.35, "stroke": "var(--page)", "strokeWidth": 1},
        "encoding": {
            "x": x | {"field": "from"},
            "x2": {"field": "to"},
            "y": y | {"field": "value"},
            "y2": {"datum": 0},
        },
    }
    middle = {"x": x | {"field": "middle"}}
    layers = [bar, _interval("y", y, middle)]
    return _spec(data, layers, height=150, width=_WIDTH - 60), "released counts as bars, with their intervals as lines"


def _curve(section: Section, rows: list[Row], shares: list[float]) -> tuple[dict[str, Any], str]:
    """Quantiles over the share of records below them, with a band of intervals."""
    data = [_datum(section, row) | {"share": share} for row, share in zip(rows, shares, strict=False)]
    x = {
        "field": "share",
        "type": "quantitative",
        "scale": {"domain": [0, 1]},
        "title": "share of records below",
        "axis": {"format": ".0%", "tickCount": 5},
    }
    y = _axis(section, zero=False)
    band = {
        "mark": {"type": "area", "fill": "var(--mark)", "opacity": 0.2},
        "encoding": {"y": y | {"field": "lower"}, "y2": {"field": "upper"}},
    }
    line = {
        "mark": {"type": "line", "stroke": "var(--mark)", "strokeWidth": 2},
        "encoding": {"y": y | {"field": "value"}},
    }
    layers = [band, line, _interval("y", y), _point("y", y)]
    spec = _spec(data, layers, height=180, width=_WIDTH - 60, encoding={"x": x})
    return spec, "quantiles as a curve over the share of records below, with their intervals as a band"


def _axis(section: Section, *, domain: list[float] | None = None, zero: bool = False) -> dict[str, Any]:
    """The axis of values: a share in percent, a date as such."""
    axis: dict[str, Any] = {"tickCount": 4, "labelFlush": True}
    scale: dict[str, Any] = {"zero": zero, "nice": domain is None}
    if domain is not None:
        scale["domain"] = domain
    if section.release.clock is not None:
        return {"type": "temporal", "scale": scale | {"type": "utc"}, "title": None, "axis": axis}
    if section.release.statistic.traits.shares:
        axis["format"] = "~%"
    return {"type": "quantitative", "scale": scale, "title": None, "axis": axis}


def _interval(along: str, axis: dict[str, Any], other: dict[str, Any] | None = None) -> dict[str, Any]:
    mark = {"type": "rule", "stroke": "var(--mark)", "strokeWidth": 3, "strokeCap": "round"}
    return {
        "mark": mark,
        "encoding": {along: axis | {"field": "lower"}, f"{along}2": {"field": "upper"}, **(other or {})},
    }


def _point(along: str, axis: dict[str, Any]) -> dict[str, Any]:
    mark = {"type": "point", "fill": "var(--page)", "stroke": "var(--mark)", "strokeWidth": 2, "size": 60, "opacity": 1}
    return {"mark": mark, "encoding": {along: axis | {"field": "value"}}}


def _datum(section: Section, row: Row) -> dict[str, Any]:
    # All possible values as an interval would leave nothing to see of the numbers.
    lower, upper = (row.lower, row.upper) if row.estimate.has_interval else (row.value, row.value)
    figures = {"value": row.value, "lower": lower, "upper": upper}
    return {name: None if x is None else _scale(section, float(x)) for name, x in figures.items()}


def _scale(section: Section, x: float) -> float:
    """A number, or the milliseconds of a date or time."""
    return x * {"date": _DAY, "datetime": _SECOND}.get(section.release.clock or "", 1)


def _shorten(label: str) -> str:
    # An escape is longer than the character that it stands for, so the label is made visible first.
    label = visible(label)
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"


def _spec(
    data: list[dict[str, Any]],
    layers: list[dict[str, Any]],
    *,
    height: Any,
    width: int = _WIDTH - 24,
    encoding: dict[str, Any] | None = None,
) -> dict[str, Any]:
    ink = "var(--ink)"
    axis = {"labelColor": ink, "titleColor": ink, "tickColor": "var(--line)", "domainColor": "var(--line)"}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": width,
        "height": height,
        "data": {"values": data},
        "layer": layers,
        "encoding": encoding or {},
        "config": {
            "aria": False,
            "background": None,
            "view": {"stroke": None},
            "axis": axis | {"gridColor": "var(--line)", "gridOpacity": 0.5, "labelFontSize": 12, "titleFontSize": 12},
        },
    }


def _draw(spec: dict[str, Any]) -> str:
    import vl_convert

    drawn = ElementTree.fromstring(vl_convert.vegalite_to_svg(spec, vl_version="6.4"))
    return ElementTree.tostring(_rebuild(drawn), encoding="unicode")


def _rebuild(drawn: ElementTree.Element) -> ElementTree.Element:
    """The same drawing, of elements and attributes that only draw: no names, styles, links or scripts."""
    name = drawn.tag.rpartition("}")[2]
    looks = {key: value for key, value in drawn.attrib.items() if key in _LOOKS}
    made = ElementTree.Element(name, looks)
    made.text = drawn.text if name == "text" else None
    for inner in drawn:
        kind = inner.tag.rpartition("}")[2]
        # Backgrounds and foregrounds of groups are empty paths.
        if kind in _SHAPES and inner.get("class") not in ("background", "foreground"):
            made.append(_rebuild(inner))
    return made
