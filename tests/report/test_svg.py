"""Drawings: only what draws, labels that do not overlap, and marks at the places of their numbers."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inbounds.report.svg import Drawing, Scale, _fit, measure
from inbounds.report.ticks import Tick, list_numbers, list_times

HOSTILE = '</text><script>alert(1)</script>" onload="x\u202e\x00'
SHAPES = {"svg", "line", "rect", "circle", "path", "text"}


def test_a_drawing_has_only_what_draws() -> None:
    drawing = Drawing(100, 50)
    drawing.text((1, 2), HOSTILE)
    drawing.line((0, 0), (1, 1), "line", width=3)
    drawing.bar((3, 4), (1, 1), "mark", opacity=0.5)
    drawing.circle((1, 1), 4, "mark")
    drawing.path([(0, 0), (1, 2)], "mark")
    drawing.area([(0, 0), (1, 2), (0, 3)], "mark")
    drawing.across(Scale(0, 1, 0, 100), [Tick(0.5, HOSTILE)], 0, 10)
    root = ElementTree.fromstring(drawing.to_text())
    assert {one.tag for one in root.iter()} == SHAPES
    assert not any(
        name.startswith("on") or name in ("style", "href", "class") for one in root.iter() for name in one.attrib
    )
    assert "\\u202e\\x00" in root.find("text").text
    assert "<script" not in drawing.to_text()
    (bar,) = root.iter("rect")
    assert [bar.get(name) for name in ("x", "y", "width", "height")] == ["1", "1", "2", "3"]


@pytest.mark.parametrize(("value", "place"), [(0, 10), (5, 60), (10, 110), (-3, 10), (float("inf"), 110)])
def test_a_scale_is_a_line_that_ends(value: float, place: float) -> None:
    assert Scale(0, 10, 10, 110).place(value) == place
    assert Scale(0, 10, 110, 10).place(value) == 120 - place
    assert Scale(3, 3, 10, 110).place(value) == 60


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9), st.integers(60, 340), st.booleans())
def test_labels_neither_overlap_nor_leave_the_drawing(low: float, length: float, width: int, dates: bool) -> None:
    scale = Scale(low, low + length, 10, width - 10)
    ticks = list_times(scale.low, scale.high, 3, "datetime") if dates else list_numbers(scale.low, scale.high, 4)
    kept = _fit(scale, ticks, width)
    assert bool(kept) == bool(ticks)
    spans = []
    for tick, anchor in kept:
        left = scale.place(tick.at) - {"start": 0, "middle": 0.5, "end": 1}[anchor] * measure(tick.label)
        spans.append((left, left + measure(tick.label)))
    assert all(a[1] < b[0] for a, b in pairwise(spans))
    if width >= 240:
        assert all(left >= 0 and right <= width for left, right in spans)


def test_labels_that_have_no_room_are_left_out() -> None:
    ticks = [Tick(i, "1,000,000") for i in range(9)]
    assert [tick.at for tick, _ in _fit(Scale(0, 8, 10, 330), ticks, 340)] == [0, 3, 6]
