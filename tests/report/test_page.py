"""The page of a report, read by a parser: what is where, what it loads, what hostile names become; and its charts."""

from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

import inbounds as ib
from inbounds.report import charts
from inbounds.report.html import to_html
from inbounds.report.rows import Section, collect_sections
from inbounds.report.view import _shade, view_section

EVIL = "<img src=x onerror=alert(1)>\"'&{{7*7}}\u202e"
VOID = {"meta", "br", "img", "link"}


class Page(HTMLParser):
    """The elements of a page with their attributes and texts; fails on an element that is closed in the wrong place."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((tuple(self.open), data))

    def find(self, tag, **wanted):
        return [at for name, at in self.elements if name == tag and wanted.items() <= at.items()]

    def said(self):
        return " ".join(" ".join(text for where, text in self.texts if "style" not in where).split())


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(5)
    table = {
        "x": rng.random(400) * 10,
        EVIL: rng.random(400),
        "g": rng.choice([EVIL, "b", "c"], 400).tolist(),
        "h": rng.choice(["yes", "no"], 400).tolist(),
    }
    groups = [EVIL, "b", "c"]
    releases = {
        "number": ib.mean(table, "x", bounds=(0, 10), epsilon=5),
        "share": ib.proportion(table, "h", level="yes", epsilon=5),
        "groups": ib.mean(table, "x", bounds=(0, 10), by="g", levels=groups, epsilon=5),
        "levels": ib.proportions(table, "g", levels=groups, epsilon=5),
        "histogram": ib.histogram(table, "x", edges=[0, 2, 4, 6, 8, 10], epsilon=5),
        "uneven": ib.histogram(table, "x", edges=[0, 1, 10], epsilon=5),
        EVIL: ib.crosstab(table, levels={"g": groups, "h": ["yes", "no"]}, epsilon=5),
        "matrix": ib.correlation(table, bounds={"x": (0, 10), EVIL: (0, 1)}, epsilon=5),
        "hidden": ib.mean(table, "x", bounds=(0, 10), epsilon=0.0005),
    }
    return ib.Releases(releases, dataset=EVIL)


@pytest.fixture(scope="module")
def page(made):
    return Page(to_html(made, collect_sections(made)))


def test_the_page_is_whole(made, page):
    ids = [at["id"] for _, at in page.elements if "id" in at]
    assert len(ids) == len(set(ids))
    for _, at in page.elements:
        for name in at.get("aria-labelledby", "").split():
            assert name in ids
        if "href" in at:
            assert at["href"].removeprefix("#") in ids
    assert len(page.find("h1")) == 1
    assert page.find("html", lang="en")
    assert len(page.find("details")) == len(made) + 2
    for tag, at in page.elements:
        assert not {"style", "src", "onload", "onerror", "onclick", "xlink:href"} & set(at)
        assert tag not in {"script", "img", "link", "iframe", "object", "embed", "a:href", "image", "use"}
    # Every table has heads, and every place to scroll can be reached by the keyboard.
    assert all(at.get("scope") in ("col", "row", "colgroup") for at in page.find("th"))
    assert all(at["tabindex"] == "0" and at["aria-label"] for at in page.find("div", role="region"))


def test_the_summary_answers_first(page):
    said = page.said()
    first = said[: said.index("How to read the numbers")]
    # Which number is too rough?
    assert "tells nothing hidden" in first
    # What was promised, and what is left?
    assert "would change by a factor of at most" in first
    assert "No ledger was kept" in first
    for name in ("number", "groups", "matrix"):
        assert name in first


def test_hostile_names_are_text(page):
    assert "{{7*7}}\\u202e" in page.said()
    assert "\u202e" not in page.said()
    assert not any("onerror" in at for _, at in page.elements)


def draw(made, name):
    (section,) = [one for one in collect_sections(made) if one.name == name]
    return section, charts.draw_chart(section)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("number", "on possible values"),
        ("groups", "circles, largest first"),
        ("levels", "bars, largest first"),
        ("histogram", "counts as bars"),
        ("uneven", "bars, in their order"),
        (EVIL, None),
        ("matrix", None),
    ],
)
def test_the_chart_follows_from_the_shape_of_the_record(made, name, words):
    _, chart = draw(made, name)
    assert (chart is None) == (words is None)
    if chart is not None:
        assert words in chart.description
        drawn = ElementTree.fromstring(chart.svg)
        assert float(drawn.get("width")) <= 340
        looks = {value for one in drawn.iter() for key, value in one.attrib.items() if key in ("fill", "stroke")}
        # Colours are the page's, so that they follow light and dark.
        assert looks - {"none", "transparent"} <= {"var(--ink)", "var(--mark)", "var(--line)", "var(--page)"}


def test_groups_are_sorted_and_on_one_axis(made):
    section, chart = draw(made, "groups")
    labels = [one.text for one in ElementTree.fromstring(chart.svg).iter("text")]
    order = [row.cell for row in sorted(section.rows(), key=lambda row: -row.value)]
    shown = [charts._shorten(cell) for cell in order]
    assert [label for label in labels if label in shown] == shown
    assert len([label for label in labels if label.replace(".", "").isdigit()]) >= 2


def test_quantiles_are_a_curve(made, monkeypatch):
    """Whatever has an axis that no column has, with rising shares for labels, is drawn as one."""
    section, _ = draw(made, "levels")
    release = section.release
    monkeypatch.setattr(charts, "key_names", lambda _: [])

    class Record:
        statistic, clock, axes = release.statistic, None, (("0.1", "0.5", "0.9"),)

    class Shown:
        name, release = "quantiles", Record
        cells, distinct_rows = section.cells, section.distinct_rows

    chart = charts.draw_chart(Shown)
    assert "curve" in chart.description
    Record.axes = (("0.9", "0.5", "0.1"),)
    assert "curve" not in charts.draw_chart(Shown).description


def test_two_way_tables_have_margins(made):
    crosstab = ib.Releases({"t": made[EVIL]})
    page = Page(to_html(crosstab, collect_sections(crosstab)))
    total = int(made[EVIL].value.sum())
    cells = [text for where, text in page.texts if where[-2:] == ("tr", "td")]
    assert f"{total:,}" in cells
    assert isinstance(collect_sections(crosstab)[0], Section)


LONG = [f"carrier {i}" for i in range(16)]


@pytest.fixture(scope="module")
def crowd():
    """Many groups, and tables whose last column is the long one."""
    rng = np.random.default_rng(6)
    table = {
        "x": rng.normal(10, 5, 20_000).clip(-60, 600),
        "carrier": rng.choice(LONG, 20_000).tolist(),
        "origin": rng.choice(["EWR", "JFK", "LGA"], 20_000).tolist(),
        "late": rng.choice(["yes", "no"], 20_000).tolist(),
    }
    by = {"origin": ["EWR", "JFK", "LGA"], "carrier": LONG}
    releases = {
        "delays": ib.mean(table, "x", bounds=(-60, 600), by="carrier", levels=LONG, epsilon=5),
        "late": ib.proportion(table, "late", level="yes", by=["origin", "carrier"], levels=by, epsilon=5),
        "flights": ib.crosstab(table, levels=by, epsilon=5),
    }
    return ib.Releases(releases)


def test_the_longer_of_two_axes_runs_down(crowd):
    late, flights = (view_section(1, one).grid for one in collect_sections(crowd)[1:])
    for grid in (late, flights):
        assert (grid.row_names, grid.column_name, grid.columns) == (("carrier",), "origin", ("EWR", "JFK", "LGA"))
        assert [labels for labels, _, _ in grid.rows] == [(one,) for one in LONG]
    # Every number is where its labels say, and every total is that of its own line.
    counts, rows = crowd["flights"].value, {row.cell: row for row in collect_sections(crowd)[2].rows()}
    for j, ((name,), cells, total) in enumerate(flights.rows):
        for place, cell in zip(flights.columns, cells, strict=True):
            assert cell.value == rows[f"{place}, {name}"].estimate.write_value(percent=False)
        assert abs(float(total.replace(",", "")) - counts[:, j].sum()) <= 10
    for said, count in zip(flights.totals[:3], counts.sum(axis=1), strict=True):
        assert abs(float(said.replace(",", "")) - count) <= 100


def test_what_tells_nothing_neither_fills_the_axis_nor_is_shaded(crowd):
    delays, late, _ = collect_sections(crowd)
    rows = delays.rows()
    rows[3] = rows[3]._replace(value=600.0, lower=-60.0, upper=600.0)
    drawing, words = charts._groups(delays, rows)
    assert "those that tell nothing are faint lines" in words
    root = ElementTree.fromstring(drawing.to_text())
    assert max(float(one.text) for one in root.iter("text") if "carrier" not in one.text) <= 100
    assert len(list(root.iter("circle"))) == 15
    cells = late.rows()
    assert all(_shade(late, cells))
    cells[3] = cells[3]._replace(value=1.0, lower=0.0, upper=1.0)
    assert [i for i, shade in enumerate(_shade(late, cells)) if not shade] == [3]


def test_long_labels_keep_what_tells_them_apart():
    names = [f"carrier with a long name {i}" for i in range(16)]
    shown = [charts._shorten(name) for name in names]
    assert len(set(shown)) == 16
    assert shown[12] == "carrier w… name 12"
    assert charts._shorten("a label of 18 char") == "a label of 18 char"
