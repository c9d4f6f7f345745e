"""Drawings in SVG: lines, bars, circles, areas and text, on axes.

A drawing has only elements and attributes that draw. It takes numbers, text, and colours by their names in the page's
style, so that one drawing serves light, dark and print.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, TypeAlias
from xml.etree import ElementTree

from inbounds._text import visible
from inbounds.report.ticks import Tick

Colour: TypeAlias = Literal["ink", "line", "mark", "page"]
Anchor: TypeAlias = Literal["start", "middle", "end"]
Point: TypeAlias = tuple[float, float]

FONT = 12
# The width of a character of text at that size, on average. Fonts differ, so this is a little more than in most.
_CHARACTER = 7.0
# The distance that labels of an axis keep from each other.
_GAP = 8.0
# From the end of the axis down to the middle of its labels.
_BELOW = 16


def measure(text: str) -> float:
    """About how wide a text is, in pixels."""
    return _CHARACTER * len(text)


@dataclass(frozen=True, slots=True)
class Scale:
    """A line from values to pixels. What lies beyond its ends is drawn at the ends.

    >>> Scale(0, 10, 100, 200).place(2.5)
    125.0
    """

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """Where a value is, in pixels."""
        if not self.low < self.high:
            return (self.start + self.end) / 2
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing of some size, to which shapes are added from the back to the front."""

    width: int
    height: int
    _root: ElementTree.Element = field(init=False, repr=False)

    def __post_init__(self) -> None:
        size = {"width": str(self.width), "height": str(self.height), "viewBox": f"0 0 {self.width} {self.height}"}
        object.__setattr__(self, "_root", ElementTree.Element("svg", size))

    def line(self, start: Point, end: Point, colour: Colour, *, width: float = 1, opacity: float = 1) -> None:
        """Draw a straight line. Wide ones have round ends."""
        ends = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
        looks = {"stroke": _name(colour), "stroke-width": _write(width), **_fade(opacity)}
        self._add("line", ends, looks | ({"stroke-linecap": "round"} if width > 1 else {}))

    def bar(self, start: Point, end: Point, colour: Colour, *, opacity: float = 1) -> None:
        """Fill the rectangle between two corners."""
        (x, width), (y, height) = ((min(a, b), abs(a - b)) for a, b in zip(start, end, strict=True))
        self._add("rect", {"x": x, "y": y, "width": width, "height": height}, {"fill": _name(colour), **_fade(opacity)})

    def circle(self, centre: Point, radius: float, colour: Colour) -> None:
        """Draw an open circle, which hides what is behind it."""
        looks = {"fill": _name("page"), "stroke": _name(colour), "stroke-width": "2"}
        self._add("circle", {"cx": centre[0], "cy": centre[1], "r": radius}, looks)

    def path(self, points: Iterable[Point], colour: Colour, *, width: float = 2) -> None:
        """Draw straight lines from point to point."""
        looks = {"d": _join(points), "fill": "none", "stroke": _name(colour), "stroke-width": _write(width)}
        self._add("path", {}, looks)

    def area(self, points: Iterable[Point], colour: Colour, *, opacity: float = 1) -> None:
        """Fill what lies within points."""
        self._add("path", {}, {"d": _join(points) + "Z", "fill": _name(colour), **_fade(opacity)})

    def text(self, at: Point, words: str, anchor: Anchor = "middle") -> None:
        """Write text whose middle is at the height of a point. It is shown as it is, never as markup."""
        # It is about a third of the size from the middle of small letters to the line that they stand on.
        place = {"x": at[0], "y": at[1] + FONT / 3}
        looks = {"text-anchor": anchor, "font-size": str(FONT), "fill": _name("ink")}
        self._add("text", place, looks).text = visible(words)

    def across(self, scale: Scale, ticks: list[Tick], top: float, bottom: float) -> None:
        """Draw a horizontal axis at the bottom, with a line up to the top at each tick."""
        for tick in ticks:
            x = scale.place(tick.at)
            self.line((x, top), (x, bottom), "line", opacity=0.5)
        self.line((scale.start, bottom), (scale.end, bottom), "line")
        for tick, anchor in _fit(scale, ticks, self.width):
            x = scale.place(tick.at)
            self.line((x, bottom), (x, bottom + 5), "line")
            self.text((x, bottom + _BELOW), tick.label, anchor)

    def upwards(self, scale: Scale, ticks: list[Tick], left: float, right: float) -> None:
        """Draw a vertical axis at the left, with a line to the right at each tick."""
        for tick in ticks:
            y = scale.place(tick.at)
            self.line((left, y), (right, y), "line", opacity=0.5)
            self.text((left - 6, y), tick.label, "end")

    def to_text(self) -> str:
        """The drawing as an ``svg`` element."""
        return ElementTree.tostring(self._root, encoding="unicode")

    def _add(self, shape: str, places: dict[str, float], looks: dict[str, str]) -> ElementTree.Element:
        numbers = {name: _write(value) for name, value in places.items()}
        return ElementTree.SubElement(self._root, shape, numbers | looks)


def _fit(scale: Scale, ticks: list[Tick], width: float) -> list[tuple[Tick, Anchor]]:
    """The ticks whose labels have room, and on which side of the tick a label is: every tick, or every second, ..."""
    for stride in range(1, len(ticks) + 1):
        places = [_put(scale, tick, width) for tick in ticks[::stride]]
        if all(first[1][1] + _GAP <= second[1][0] for first, second in pairwise(places)):
            return [(tick, anchor) for tick, _, anchor in places]
    return []


def _put(scale: Scale, tick: Tick, width: float) -> tuple[Tick, tuple[float, float], Anchor]:
    """A tick, from where to where its label goes, and the anchor that keeps it within the drawing."""
    x, size = scale.place(tick.at), measure(tick.label)
    if x - size / 2 < 0:
        return tick, (x, x + size), "start"
    if x + size / 2 > width:
        return tick, (x - size, x), "end"
    return tick, (x - size / 2, x + size / 2), "middle"


def _name(colour: Colour) -> str:
    return f"var(--{colour})"


def _fade(opacity: float) -> dict[str, str]:
    return {} if opacity == 1 else {"opacity": _write(opacity)}


def _join(points: Iterable[Point]) -> str:
    return "M" + "L".join(f"{_write(x)},{_write(y)}" for x, y in points)


def _write(number: float) -> str:
    return f"{round(float(number), 2) + 0.0:.12g}"
