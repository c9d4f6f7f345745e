"""Quantiles in reports: points of a grid, written as they are, and not judged where nothing is known of their error."""

import csv
import io

import numpy as np
import pytest

import inbounds as ib
from inbounds._estimates import Estimate
from inbounds.report.charts import _datum
from inbounds.report.lines import list_lines
from inbounds.report.rows import Section, collect_sections, to_csv
from inbounds.report.words import list_notes

DELAYS = np.repeat(np.arange(-40, 60), 200)


@pytest.fixture(scope="module")
def sections() -> list[Section]:
    plan = ib.Plan.of(
        {
            "data": {"rows": len(DELAYS)},
            "budget": {"epsilon": 20},
            "columns": {
                "delay": {"bounds": [-60, 1440], "integer": True, "missing": "skip"},
                "minutes": {"bounds": [-60, 1440], "integer": True},
                "carrier": {"levels": ["AA", "UA"]},
            },
            "release": [
                {"name": "by carrier", "statistic": "median", "columns": ["minutes"], "by": "carrier"},
                {"name": "selected", "statistic": "quantile", "q": [0.1, 0.9], "columns": ["delay"]},
                {"name": "alone", "statistic": "median", "columns": ["minutes"]},
                {"name": "covered", "statistic": "median", "columns": ["minutes"], "cover": 0.95},
            ],
        }
    )
    carrier = np.where(np.arange(len(DELAYS)) % 2, "AA", "UA")
    table = {"delay": DELAYS, "minutes": DELAYS, "carrier": carrier}
    return collect_sections(ib.release(plan, table))


def test_points_are_written_as_they_are(sections: list[Section]) -> None:
    for section in sections:
        for row in section.rows():
            assert float(section.write(row).split(" (")[0].split(" ±")[0].replace(",", "")) == row.value
    # Rounded to an interval that is the bounds, they would all be the same.
    first, last = sections[1].rows()
    assert (sections[1].write(first), sections[1].write(last)) == (f"{first.value:g}", f"{last.value:g}")
    assert first.value < -20 < 40 < last.value


def test_points_of_which_the_error_is_not_known_are_not_judged(sections: list[Section]) -> None:
    marks = {section.name: {row.mark for row in section.rows()} for section in sections}
    assert marks["by carrier"] == marks["selected"] == marks["alone"] == {"not judged"}
    assert "not judged" not in marks["covered"]
    read = [row for row in csv.DictReader(io.StringIO("".join(to_csv(sections)))) if row["release"] == "selected"]
    assert {(row["quality"], row["rmse"]) for row in read} == {("not judged", "")}
    lines = list_lines(sections)
    assert lines[-1].text.endswith("5 not judged")
    assert lines[-2].text.startswith("not judged: no interval was paid for; cover = 0.95")
    assert not [line for line in list_lines(sections[3:]) if "not judged" in line.text]
    assert sum(line.text.endswith("  not judged") for line in lines) == 5
    assert all(len(line.text) <= 80 for line in lines)


def test_charts_leave_out_what_is_not_known(sections: list[Section]) -> None:
    drawn = {section.name: [_datum(row) for row in section.rows()] for section in sections}
    assert all(one.lower == one.value == one.upper for one in (*drawn["by carrier"], *drawn["selected"]))
    assert all(one.lower < one.upper for one in drawn["covered"])


def test_points_have_no_price_of_bounds(sections: list[Section]) -> None:
    assert not any("Price of staying" in note for section in sections for note in list_notes(section))


def test_a_number_that_is_no_point_is_judged_by_the_same_interval() -> None:
    ends = {"lower": -60, "upper": 1440, "possible": (-60, 1440)}
    assert (Estimate(-2, **ends).quality, Estimate(-2, **ends).write()) == ("tells nothing", "0 (-60 to 1,440)")
    assert (Estimate(-2, **ends, is_point=True).quality, Estimate(-2, **ends, is_point=True).write()) == (None, "-2")
