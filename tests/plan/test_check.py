"""The curator's check: what it counts and says, and that it charges, writes and shows nothing else."""

import json

import polars as pl
import pytest

import inbounds as ib
from inbounds import service
from inbounds.plan.check import NOTICE, describe_census
from inbounds.tables.census import Census
from tests import health as demo
from tests.app.test_cli import called

PLAN = """
[data]
source = "t.csv"
rows = 8
separator = ";"
decimal = ","
null_values = ["NA"]
[budget]
epsilon = 1
ledger = "l"
[columns]
age = { bounds = [18, 100], missing = 50, edges = [18, 60, 100] }
region = { levels = ["north", "south"], other = "south", missing = "north" }
smoker = { levels = ["yes", "no"] }
[[release]]
name = "age"
statistic = "mean"
columns = ["age"]
[[release]]
name = "ages"
statistic = "histogram"
columns = ["age"]
[[release]]
name = "by region"
statistic = "count"
by = "region"
[[release]]
name = "smokers"
statistic = "proportion"
columns = ["smoker"]
level = "yes"
"""
ROWS = [
    "20;north;yes",
    "NA;south;no",
    "17,5;east;yes",
    "101;;no",
    "abc;North;yes",
    "30;north;Yes",
    ";NA;no",
    "40;south;no",
]


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    write(tmp_path, ROWS)
    return tmp_path / "plan.toml"


def write(folder, rows):
    (folder / "t.csv").write_text("\n".join(["age;region;smoker", *rows, ""]))


def unwrap(said):
    """What was said, without the line breaks that fit it to a terminal."""
    return " ".join(said.split())


def snapshot(folder):
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.claim("inspection")
def test_what_it_says(plan, monkeypatch, capsys):
    before = snapshot(plan.parent)
    status, said, err = called(monkeypatch, capsys, "check", plan)
    assert (status, err) == (0, "")
    expected = [
        NOTICE,
        "8 rows",
        "age (bounds 18 to 100; for age)",
        "  3 are missing and count as 50; 1 of them is no number.",
        "  1 is below 18 and counts as 18.",
        "  1 is above 100 and counts as 100.",
        "age (edges 18 to 100; for ages)",
        "  3 are missing and count as 50; 1 of them is no number.",
        "  1 is below 18 and counts in the first interval.",
        "  1 is above 100 and counts in the last interval.",
        "region (2 levels; for by region)",
        "  2 are missing and count as 'north'.",
        "  2 are no level and count as 'south'.",
        "smoker (1 level; for smokers)",
        "  5 are not the level that is counted.",
        "A release would go through, as far as the table is concerned.",
    ]
    assert unwrap(said) == unwrap(" ".join(expected))
    # Sentences at both ends are not indented as a list is.
    assert said.splitlines()[1].startswith("noise. Do not")
    assert snapshot(plan.parent) == before
    assert ib.release(plan).epsilon == 1


@pytest.mark.claim("inspection")
def test_what_would_be_refused(plan, monkeypatch, capsys):
    """After the charge, for what only values show; before it, for what structure and size show. A release agrees."""
    folder = plan.parent
    plan.write_text(PLAN.replace("missing = 50, ", ""))
    status, said, _ = called(monkeypatch, capsys, "check", plan)
    assert status == 1
    assert not said.splitlines()[-1].startswith(" ")
    said = unwrap(said)
    assert "3 are missing and would have a release refused, after the charge: declare missing = ... for 'age'" in said
    assert "A release would be refused after the charge: column 'age' has missing values" in unwrap(said)
    # To declare what all of them count as would release that value.
    plan.write_text(PLAN.replace("missing = 50, ", ""))
    write(folder, ["12.5;north;yes"] * 7 + ["NA;north;yes"])
    said = unwrap(called(monkeypatch, capsys, "check", plan)[1])
    assert "8 are missing and would have a release refused, after the charge; 7 of them are no numbers: say how" in said
    assert "by decimal = ... and thousands = ... under [data]" in said
    dates = "[2013-01-01, 2013-12-31], edges = [2013-01-01, 2013-12-31]"
    plan.write_text(PLAN.replace("[18, 100], missing = 50, edges = [18, 60, 100]", dates))
    said = unwrap(called(monkeypatch, capsys, "check", plan)[1])
    assert "7 of them are no dates: write them in the table as 1970-01-31." in said
    write(folder, ROWS)
    plan.write_text(PLAN.replace('other = "south", ', ""))
    status, said, _ = called(monkeypatch, capsys, "check", plan)
    assert status == 1
    assert "2 are no level and would have a release refused, after the charge: declare other = ..." in unwrap(said)
    plan.write_text(PLAN)
    write(folder, [*ROWS[:-1], "1;2", "1;2;3;4"])
    status, said, _ = called(monkeypatch, capsys, "check", plan, "--json")
    made = json.loads(said)
    assert (status, made["passes"], made["refused_after_charge"], made["rows"]) == (1, False, False, None)
    assert made["irregular"][0]["lines"] == [9, 10]
    assert made["notice"] == NOTICE
    write(folder, ROWS[:-1])
    status, said, _ = called(monkeypatch, capsys, "check", plan)
    assert status == 1
    assert "7 rows" in unwrap(said)
    assert "refused before the charge: rows=8 was given" in unwrap(said)
    assert not (folder / "l").exists()
    with pytest.raises(ib.errors.DataError, match="rows=8 was given"):
        ib.release(plan)
    assert not (folder / "l").exists()
    (folder / "t.csv").unlink()
    status, said, _ = called(monkeypatch, capsys, "check", plan)
    assert status == 1
    assert "refused before the charge: there is no file" in unwrap(said)


def test_a_file_is_written_where_one_is_named(plan, monkeypatch, capsys):
    out = plan.parent / "check.txt"
    before = snapshot(plan.parent)
    assert called(monkeypatch, capsys, "check", plan, "--out", out) == (0, "", "")
    assert unwrap(out.read_text()).startswith(NOTICE)
    assert out.stat().st_mode & 0o077 == 0
    text = out.read_text()
    status, _, err = called(monkeypatch, capsys, "check", plan, "--out", out)
    assert (status, out.read_text()) == (2, text)
    assert "exists already" in err
    out.unlink()
    assert snapshot(plan.parent) == before


def test_other_data_and_plain_values(plan, monkeypatch, capsys):
    other = plan.parent / "other.csv"
    other.write_text("age;region;smoker\n" + "30;north;yes\n" * 8)
    status, said, _ = called(monkeypatch, capsys, "check", plan, "--data", other)
    assert status == 0
    assert "All are taken as they are, rounded to the step." in unwrap(said)
    plain = service.check_plan(plan, str(other))
    assert json.loads(json.dumps(plain)) == plain
    table = pl.DataFrame({"age": [30.0, 17.0] * 4, "region": ["north"] * 8, "smoker": ["no"] * 8})
    made = ib.check(plan, table)
    assert made.passes
    assert "4 are below 18" in str(made)
    assert "4" not in repr(made)
    page = made._repr_html_()
    assert "curator" in page
    assert "4 are below 18 and count as 18." in page
    with pytest.raises(ib.errors.PlanError, match=r"data\.source"):
        ib.check(
            ib.Plan.load(plan).model_copy(update={"data": ib.Plan.load(plan).data.model_copy(update={"source": None})})
        )


def test_public_sizes_of_groups():
    plan = ib.Plan.of(
        {
            "data": {"rows": 6},
            "budget": {"epsilon": 1},
            "columns": {"x": {"bounds": [0, 1]}, "g": {"levels": ["a", "b"]}},
            "release": [
                {"name": "x", "statistic": "pooled_variance", "columns": ["x"], "by": "g", "sizes": {"a": 3, "b": 3}}
            ],
        }
    )
    good, bad = ({"x": [0.5] * 6, "g": ["a"] * n + ["b"] * (6 - n)} for n in (3, 4))
    assert ib.check(plan, good).passes
    assert "the groups of the table do not have the sizes given as sizes=" in ib.check(plan, bad).verdict


def test_the_demonstration_goes_through(tmp_path):
    made = ib.check(demo.write(tmp_path))
    assert made.passes
    assert not (tmp_path / "survey.ledger").exists()


def test_nothing_is_logged_or_warned(plan, caplog, recwarn):
    ib.check(plan)
    assert not caplog.records
    assert not recwarn.list


def test_strays_are_counted_among_the_records_that_a_rule_meets():
    """Outside of `where` a column may hold anything: those records are neither counted nor refused."""
    items = [
        {"name": "all", "statistic": "mean", "columns": ["age"]},
        {"name": "here", "statistic": "mean", "columns": ["age"], "where": "place = 'here'"},
        {"name": "kind", "statistic": "count", "by": "kind", "where": "place = 'here'"},
    ]
    columns = {"age": {"bounds": [18, 100], "missing": 50}, "kind": {"levels": ["a", "b"]}}
    body = {"data": {"rows": 6}, "budget": {"epsilon": 1}, "columns": columns, "release": items}
    table = {
        "age": [17, None, "unknown", 200, 30, 16],
        "place": ["here", "there", "here", "there", None, "here"],
        "kind": ["a", "c", "b", None, "d", "a"],
    }
    for data in (table, pl.DataFrame(table, strict=False, schema_overrides={"age": pl.Float64}).lazy()):
        made = ib.check(ib.Plan.of(body), data)
        assert made.passes
        everyone, here, kind = made.to_dict()["columns"]
        found = [
            [one[key] for key in ("missing", "unreadable", "below", "above", "other")] for one in (everyone, here, kind)
        ]
        unread = 1 if data is table else 0
        assert found == [[2, unread, 2, 1, 0], [1, unread, 2, 0, 0], [0, 0, 0, 0, 0]]
        assert everyone["where"] is None
        assert here["where"] == "place = 'here'"
        said = "age (bounds 18 to 100; for here; where place = 'here', true of 3 rows; others are not counted)"
        assert said in str(made)
        assert [one["met"] for one in made.to_dict()["columns"]] == [6, 3, 3]
    # A level that is none, in a record that counts, is refused and said to be.
    refused = ib.check(ib.Plan.of(body), table | {"kind": ["z", *table["kind"][1:]]})
    assert not refused.passes
    assert refused.to_dict()["columns"][2]["other"] == 1


def test_a_condition_that_selects_nobody_is_said():
    item = {"name": "x", "statistic": "mean", "columns": ["age"], "where": "cylinders"}
    content = {
        "data": {"rows": 2},
        "budget": {"epsilon": 1},
        "columns": {"age": {"bounds": [0, 9], "missing": 5}},
        "release": [item],
    }
    made = ib.check(ib.Plan.of(content), {"age": [1, 2], "cylinders": [4, 8]})
    assert "No row is selected." in str(made)
    assert made.verdict.endswith("But no row is selected by cylinders.")
    assert "all are missing" not in made.verdict
    dated = content | {"release": [item | {"where": "month(day) = 7"}]}
    said = str(ib.check(ib.Plan.of(dated), {"age": [1, 2], "day": ["2013/07/01", "2013/07/02"]}))
    assert "No row is selected. What is not written in 'day' as 1970-01-31 or 1970-01-31 12:30:00, or has a" in said


def test_rows_that_are_left_out_are_said_up_to_where_there_are_none():
    counted = Census(900, 1600, 0, ((1, 700), (2, 240), (5, 8), (10, 0), (20, 0), (50, 0)))
    assert [*describe_census(counted)][1] == (
        "rows left out by the rows that are kept of each person: 43.8% where 1 is kept, 15.0% where 2 are kept, "
        "0.5% where 5 are kept, none where 10 or more are kept"
    )


@pytest.mark.claim("inspection")
def test_fields_with_bytes_that_are_no_characters_are_counted(tmp_path):
    """They look like any other level that is none; the check names the cause."""
    path = tmp_path / "survey.csv"
    path.write_bytes("region,who\nnord,Müller\nsüd,Möller\nnord,Meier\n".encode("latin-1"))
    plan = {
        "data": {"source": str(path), "rows": 3, "person": "who"},
        "budget": {"epsilon": 1},
        "columns": {"region": {"levels": ["nord", "süd"], "other": "nord"}},
        "release": [{"name": "regions", "statistic": "histogram", "columns": ["region"]}],
    }
    checks = ib.check(ib.Plan.of(plan))
    assert checks.inspection.census.persons == 3
    assert checks.to_dict()["undecodable"] == [{"file": "the file 'survey.csv'", "columns": {"region": 1, "who": 2}}]
    assert "  who: 2\n" in str(checks)
    assert 'as in encoding = "cp1252" under [data]' in str(checks)
    plan["data"]["encoding"] = "cp1252"
    checks = ib.check(ib.Plan.of(plan))
    assert checks.to_dict()["undecodable"] == []
    assert checks.strays[0].other == 0
