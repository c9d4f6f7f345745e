"""Where noise leaves no interval, every page says so: no infinite ends, and no digits that nothing is known of."""

import io
import math

import numpy as np
import pytest

import inbounds as ib
from inbounds._estimates import Estimate
from inbounds.report.exports import export
from inbounds.report.lines import list_lines
from inbounds.report.rows import collect_sections
from inbounds.report.view import view_section
from inbounds.report.words import name_cells

ROWS = 400


def make(epsilon):
    draws = np.random.default_rng(3)
    x = draws.uniform(0, 100, ROWS)
    table = {
        "y": (x / 2 + draws.normal(25, 5, ROWS)).tolist(),
        "x": x.tolist(),
        "g": draws.choice(["s", "t"], ROWS).tolist(),
    }
    plan = {
        "data": {"rows": ROWS},
        "budget": {"epsilon": epsilon},
        "columns": {"y": {"bounds": [0, 100]}, "x": {"bounds": [0, 100]}, "g": {"levels": ["s", "t"]}},
        "release": [{"name": "fit", "statistic": "regression", "columns": ["y", "x", "g"]}],
    }
    return ib.release(ib.Plan.of(plan), table)


@pytest.fixture(scope="module")
def hidden():
    releases = make(0.01)
    assert np.isinf(releases["fit"].interval().lower).all()
    return releases


@pytest.mark.parametrize("form", ["markdown", "html", "latex", "csv"])
def test_no_form_prints_infinite_ends(hidden, form):
    text = export(hidden, form).decode()
    assert " inf" not in text
    assert "-inf" not in text
    assert ",inf" not in text
    assert text.count("no interval") >= 3
    assert "no interval: coefficients are not identified" in text


def test_a_workbook_prints_no_infinite_ends(hidden):
    from python_calamine import CalamineWorkbook

    book = CalamineWorkbook.from_filelike(io.BytesIO(export(hidden, "xlsx")))
    cells = [
        str(cell) for sheet in book.sheet_names for row in book.get_sheet_by_name(sheet).to_python() for cell in row
    ]
    assert not {"inf", "-inf"} & set(cells)
    assert any("no interval: coefficients are not identified" in cell for cell in cells)


def test_the_terminal_the_page_and_the_interval_say_it(hidden):
    (section,) = collect_sections(hidden)
    for text in (
        "\n".join(line.text for line in list_lines([section])),
        str(hidden["fit"].interval()),
        hidden["fit"].interval()._repr_html_(),
    ):
        assert "no interval" in text
        assert "inf" not in text.replace("information", "")
    view = view_section(1, section)
    assert {cell.margin for _, cell in view.lines} == {"no interval"}
    assert {cell.quality for _, cell in view.lines} == {"tells nothing"}
    assert view.chart is None
    assert "No interval: coefficients are not identified." in view.notes


def test_values_have_no_ends_and_the_reason(hidden):
    frame = hidden.to_pandas()
    assert frame[["lower", "upper"]].isna().all(axis=None)
    assert set(frame["note"]) == {"no interval: coefficients are not identified"}
    assert set(frame["interval"]) == {""}


@pytest.mark.parametrize("epsilon", [0.01, 100])
def test_coefficients_are_headed_as_such(epsilon):
    releases = make(epsilon)
    (section,) = collect_sections(releases)
    assert name_cells(section) == "coefficient"
    assert "| coefficient | value |" in export(releases, "markdown").decode()
    assert next(iter(releases["fit"].to_polars().columns)) == "coefficient"


def test_identified_coefficients_have_intervals():
    releases = make(100)
    assert "(no interval)" not in export(releases, "markdown").decode()
    assert np.isfinite(releases.to_pandas()["lower"]).all()


def test_an_estimate_without_an_interval_is_rounded_to_its_error():
    estimate = Estimate(-2.21114, -math.inf, math.inf, 0.7)
    assert estimate.write() == "-2.2 (no interval)"
    assert estimate.quality == "tells nothing"
    assert Estimate(-2.21114, -math.inf, math.inf).quality == "tells nothing"
    assert Estimate(None, -math.inf, math.inf).quality is None
    # A single infinite end is still an interval.
    assert Estimate(3.2, 0.5, math.inf, 1).write() == "3.2 (at least 0.5)"
    assert Estimate(3.2, -math.inf, 7.5, 1).write() == "3.2 (at most 7.5)"
