"""Intervals that a plan asks for are in its record: what is exported or made again from it is what the plan showed."""

import json

import pytest

import inbounds as ib
from inbounds.errors import RecordError
from inbounds.record.asked import Asked
from inbounds.report.exports import export
from inbounds.report.rows import collect_sections

PLAN = {
    "data": {"rows": 400},
    "budget": {"epsilon": 2},
    "columns": {"age": {"bounds": [0, 100]}, "sex": {"levels": ["f", "m"]}},
    "release": [
        {"name": "age", "statistic": "mean", "columns": ["age"], "interval_method": "worst-case", "confidence": 0.9},
        {"name": "shares", "statistic": "proportions", "columns": ["sex"], "interval": "noise", "simultaneous": True},
        {"name": "plain", "statistic": "mean", "columns": ["age"]},
    ],
}


@pytest.fixture(scope="module")
def made():
    return ib.release(ib.Plan.of(PLAN), {"age": [20, 30, 40, 70] * 100, "sex": ["f", "m"] * 200})


def test_a_record_keeps_what_its_plan_asks_of_intervals(made):
    again = ib.Releases.from_json(made.to_json())
    assert dict(again.asked) == {
        "age": Asked(None, 0.9, "worst-case"),
        "shares": Asked("noise", simultaneous=True),
    }
    assert export(again, "csv") == export(made, "csv")
    assert b"0.9 population" in export(again, "csv")
    assert again.to_json() == made.to_json()
    # Only how numbers are shown depends on them.
    assert again.digest == made.digest


def test_records_without_them_read_as_before(made):
    text = ib.Releases(dict(made), made.dataset, made.entry).to_json()
    assert "intervals" not in json.loads(text)
    assert not ib.Releases.from_json(text).asked


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("other", {}),
        ("age", {"kind": "certain"}),
        ("age", {"level": 1.0}),
        ("age", {"level": 1}),
        ("age", {"level": True}),
        ("age", {"method": "normal"}),
        ("age", {"method": ["score"]}),
        ("age", {"simultaneous": 0}),
        ("age", {"kind": {}}),
        ("age", {"more": None}),
        ("plain", {"level": 0.95, "method": None}),
    ],
)
def test_what_no_plan_can_ask_for_is_refused(made, name, changed):
    body = json.loads(made.to_json())
    body["intervals"][name] = body["intervals"]["age"] | changed
    with pytest.raises(RecordError, match="interval"):
        ib.Releases.from_json(json.dumps(body))


def test_the_form_is_that_of_inbounds(made):
    body = json.loads(made.to_json())
    for wrong in ({}, [], None, {"age": None}):
        with pytest.raises(RecordError, match="interval"):
            ib.Releases.from_json(json.dumps(body | {"intervals": wrong}))


def test_an_interval_that_was_paid_for_has_its_level():
    """Of ``cover``, unless another level is asked for; in Python, in a plan's report, and in a record read again."""
    table = {"age": list(range(20, 90)) * 20}
    paid = ib.median(table, "age", bounds=(0, 100), cover=0.9, epsilon=2)
    assert paid.interval().level == paid.interval(kind="noise").level == ib.inference.interval(paid).level == 0.9
    assert paid.interval(0.8).level == 0.8
    assert paid.interval(0.9).width == paid.interval().width < 100
    assert ib.mean(table, "age", bounds=(0, 100), epsilon=2).interval().level == 0.95
    items = [
        {"name": "paid", "statistic": "median", "columns": ["age"], "cover": 0.9},
        {"name": "asked", "statistic": "median", "columns": ["age"], "cover": 0.9, "confidence": 0.95},
        {"name": "both", "statistic": "median", "columns": ["age"], "cover": 0.9, "confidence": 0.9},
        {"name": "where", "statistic": "median", "columns": ["age"], "cover": 0.9, "where": "age > 30"},
    ]
    made = ib.release(ib.Plan.of(PLAN | {"data": {"rows": 1400}, "budget": {"epsilon": 40}, "release": items}), table)
    again = ib.Releases.from_json(made.to_json())
    assert again.to_json() == made.to_json()
    for one in (made, again):
        found = {section.name: section.interval.level for section in collect_sections(one)}
        assert found == {"paid": 0.9, "asked": 0.95, "both": 0.9, "where": 0.9}
    assert export(again, "csv") == export(made, "csv")
    assert "90% interval for the population" in export(made, "markdown").decode()
    # Records that were made without a plan show it as well.
    assert "90% interval" in export(ib.Releases({"paid": paid}), "html").decode()
