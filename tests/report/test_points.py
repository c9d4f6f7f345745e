"""Quantiles in reports: points of a grid, written as they are, and not judged where nothing is known of their error."""

import csv
import io

import numpy as np
import pytest

import inbounds as ib
from inbounds._estimates import Estimate
from inbounds.report.charts import _datum
from inbounds.report.exports import export
from inbounds.report.lines import list_lines
from inbounds.report.rows import Section, collect_sections, to_csv
from inbounds.report.words import describe_release, list_notes

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
    advice = [line.text for line in lines if line.text.startswith("not judged: ")]
    assert advice == [
        "not judged: no interval was paid for; cover = 0.95 of a quantile pays for one",
        "not judged: no interval is known; one q at a time with cover = 0.95 has one",
    ]
    assert not [line for line in list_lines(sections[3:]) if "not judged" in line.text]
    assert sum(line.text.endswith("  not judged") for line in lines) == 5
    assert all(len(line.text) <= 80 for line in lines)


def test_an_interval_that_was_paid_for_and_is_the_bounds_is_explained() -> None:
    table = {"x": [30.0] * 900 + [40.0], "g": ["many"] * 900 + ["one"]}
    made = ib.median(table, "x", bounds=(0, 80), by="g", levels=["many", "one"], cover=0.95, epsilon=1)
    (section,) = collect_sections(ib.Releases({"r": made}))
    assert [row.verdict == "not judged" for row in section.rows()] == [False, True]
    why = "the interval that was paid for is the bounds; with a larger epsilon it may be shorter"
    assert f"Not judged: one: {why}." in list_notes(section)
    assert " ".join(line.text for line in list_lines([section]) if "not judged" in line.text).count(why) <= 1
    assert why in " ".join(" ".join(line.text for line in list_lines([section])).split())


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


def test_a_number_without_an_interval_has_none_in_words(sections: list[Section]) -> None:
    for section in sections[:3]:
        notes = " ".join(list_notes(section))
        assert "interval" not in describe_release(section)
        assert "intervals cover all possible values" not in notes
        assert "Interval for" not in notes
        assert "Not judged, without an interval: it would be the bounds, since" in notes
    assert "cover = 0.95 of a quantile pays for one" in " ".join(list_notes(sections[0]))
    # It is refused for several at a time.
    assert "one q at a time with cover = 0.95" in " ".join(list_notes(sections[1]))
    assert "95% interval for the population" in describe_release(sections[3])
    alone = ib.Releases({"alone": sections[2].release})
    for form in ("html", "markdown"):
        text = export(alone, form).decode()
        assert "It is not judged if nothing is known of its error" in text
        assert "95% interval" not in text
    assert not [line for line in list_lines(sections[:3]) if "intervals" in line.text]


@pytest.mark.parametrize(
    ("value", "lower", "upper", "text"),
    [
        (3.0, 2.7705, 3.352, "3.0000 (2.7705 to 3.3520)"),
        (3.0, 2.75, 3.25, "3.00 ± 0.25"),
        (3.0, 1.0, 20.0, "3 (1 to 20)"),
        (1234.5, 1000.0, 1300.0, "1,234.5 (1,000.0 to 1,300.0)"),
        (1e20, 1.0, 3e20, "1e+20 (1 to 3e+20)"),
        (3.5, 3.5, 3.5, "3.5"),
    ],
)
def test_a_point_and_its_limits_have_as_many_decimals(value: float, lower: float, upper: float, text: str) -> None:
    assert Estimate(value, lower, upper, possible=(0, 1e21), is_point=True).write() == text


def test_what_errors_take_for_granted_is_said(sections: list[Section]) -> None:
    said = [" ".join(list_notes(section)) for section in sections]
    even = "records that lie evenly between the released points and the bounds"
    assert f"Expected errors are those of groups of {len(DELAYS) // 8:,} {even}." in said[0]
    # Nothing is known of the number of selected records, and so no error is stated.
    assert even not in said[1]
    assert f"Expected errors are those of {even}." in said[2]
