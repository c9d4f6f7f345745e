"""Bounds that are released, and stand where bounds do."""

import datetime as dt
import re
import tomllib
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import inbounds as ib
from inbounds.errors import BudgetRefused
from inbounds.ledger import Account
from inbounds.privacy.terms import Terms
from inbounds.statistics.bounds import list_points
from tests.records import body_of

RNG = np.random.default_rng(0)
INCOME = RNG.lognormal(10, 0.6, 20_000)


@pytest.mark.parametrize(
    ("x", "within"),
    [
        (INCOME, (0, 1e9)),
        (-INCOME, (-1e9, 1e9)),
        (RNG.normal(0, 1e-3, 20_000), (-1e3, 1e3)),
        (np.full(20_000, 37.0), (0, 1e9)),
        (np.zeros(20_000), (-1e6, 1e6)),
    ],
)
def test_most_records_are_inside_and_bounds_are_not_far_off(x, within):
    """At this ε each end is off by more than a hundred ranks less often than once in 1e9."""
    release = ib.bounds(x, within=within, coverage=0.96, epsilon=5)
    lower, upper = release.value
    inside = ((x >= lower) & (x <= upper)).mean()
    assert inside >= 0.95
    # No end is further out than the next point of the grid: those are about a tenth apart.
    low, high = np.quantile(x, [0.01, 0.99])
    assert lower >= min(low * 1.3, low / 1.3) - 1e-3
    assert upper <= max(high * 1.3, high / 1.3) + 1e-3
    assert ib.Release.from_json(release.to_json()) == release


def test_they_stand_where_bounds_do(tmp_path):
    ledger = tmp_path / "x.ledger"
    account = Account(ledger, "incomes", 1)
    table = {"income": INCOME}
    found = ib.bounds(table, "income", within=(0, 1e9), epsilon="0.1", ledger=account)
    mean = ib.mean(table, "income", bounds=found, epsilon="0.9", ledger=account)
    assert mean.statistic.bounds == found.statistic.ends_of(found)
    assert tuple(map(float, mean.statistic.bounds)) == found.value
    clipped = np.clip(INCOME, *found.value).mean()
    assert abs(mean.value - clipped) < 30 * (found.value[1] - found.value[0]) / (0.9 * len(INCOME))
    with pytest.raises(BudgetRefused):
        ib.count(table, epsilon="0.1", where="income > 5", ledger=account)
    both = ib.covariance({**table, "x": INCOME}, bounds={"income": found, "x": (0, 1e6)}, epsilon=1)
    assert both.statistic.bounds["income"] == mean.statistic.bounds
    assert ib.kendall({**table, "x": INCOME}, bounds={"income": found, "x": (0, 1e6)}, epsilon=1).value.shape == (2, 2)
    with pytest.raises(TypeError, match=r"a release of inbounds\.bounds, got another release"):
        ib.mean(INCOME, bounds=mean, epsilon=1)


PLAN = """
[data]
rows = 20000
[budget]
epsilon = 0.9
[columns]
income = { bounds = "found.json" }
[[release]]
name = "mean"
statistic = "mean"
columns = ["income"]
"""


def plan_of(text):
    return tomllib.loads(text)


def test_a_plan_refers_to_their_record(tmp_path):
    found = ib.bounds({"income": INCOME}, "income", within=(0, 1e9), epsilon="0.1")
    (tmp_path / "found.json").write_text(found.to_json())
    (tmp_path / "plan.toml").write_text(PLAN)
    plan = ib.Plan.load(tmp_path / "plan.toml")
    assert plan.drafts()["mean"].record.statistic.bounds == found.statistic.ends_of(found)
    made = ib.release(plan, {"income": INCOME})
    made.write(tmp_path / "out")
    said = "Bounds of income were released before and paid for. Records beyond them are clipped"
    assert said in (tmp_path / "out" / "report.md").read_text()
    again = ib.Releases.from_json(made.to_json())
    assert again.asked["mean"].released == ("income",)
    with pytest.raises(ib.errors.RecordError, match="released bounds are not those"):
        ib.Releases.from_json(re.sub(r'("released": \[\s*)"income"', r'\1"other"', made.to_json()))
    known = ib.Plan.of({**plan_of(PLAN), "columns": {"income": {"bounds": [0, 10**6]}}})
    ib.release(known, {"income": INCOME}).write(tmp_path / "known")
    assert said not in (tmp_path / "known" / "report.md").read_text()
    (tmp_path / "plan.toml").write_text(PLAN.replace("found.json", "lost.json"))
    with pytest.raises(ib.errors.PlanError, match=r"columns.income.bounds: must be \[lower, upper\] or the file"):
        ib.Plan.load(tmp_path / "plan.toml")
    (tmp_path / "lost.json").write_text(found.to_json().replace('"within"', '"width"'))
    with pytest.raises(ib.errors.PlanError, match=r"columns.income.bounds: release"):
        ib.Plan.load(tmp_path / "plan.toml")
    (tmp_path / "lost.json").write_text(ib.mean(INCOME, bounds=(0, 1e6), epsilon=1).to_json())
    with pytest.raises(ib.errors.PlanError, match="the record has no released bounds of this column"):
        ib.Plan.load(tmp_path / "plan.toml")


def test_bounds_in_a_plan():
    plan = ib.Plan.of(
        {
            "data": {"rows": 20_000},
            "budget": {"epsilon": 1},
            "columns": {"income": {"missing": "skip"}},
            "release": [
                {"name": "b", "statistic": "bounds", "columns": ["income"], "within": [0, 10**9], "coverage": 0.9}
            ],
        }
    )
    lower, upper = ib.release(plan, {"income": INCOME})["b"].value
    assert 0 < lower < upper < 1e6
    assert plan.preview()


def test_edges_and_dates():
    days = np.array(["2020-01-01"], dtype="datetime64[D]") + RNG.integers(0, 300, 5000)
    edges = [dt.date(2019, 1, 1), dt.date(2020, 1, 1), dt.date(2020, 6, 1), dt.date(2021, 1, 1), dt.date(2022, 1, 1)]
    release = ib.bounds({"day": days}, "day", edges=edges, epsilon=5)
    assert [str(one) for one in release.value] == ["2020-01-01", "2021-01-01"]
    assert str(ib.median({"day": days}, "day", bounds=release, epsilon=5).value).startswith("2020-05")


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({}, "bounds need within="),
        ({"within": (0, 9), "edges": [0, 1, 2]}, "bounds need within="),
        ({"within": (0, 9), "coverage": 1}, "coverage must be at least 0.5 and below 1"),
        ({"within": (0, 9), "side": "left"}, "side must be"),
        ({"edges": [0, 1]}, "three edges or more"),
        ({"within": ("2020-01-01", "2021-01-01")}, "give dates and times to choose from as edges"),
        ({"within": (0, 9), "missing": "level"}, "missing = 'level' belongs to levels"),
    ],
)
def test_mistakes(keywords, message):
    with pytest.raises((TypeError, ValueError), match=message):
        ib.bounds([1.0, 2.0], epsilon=1, **keywords)


def test_the_grid():
    points = list_points(Fraction(-1000), Fraction(1000))
    assert points == sorted(points)
    assert points == [-point for point in reversed(points)]
    assert {Fraction(-1000), Fraction(0), Fraction(91), Fraction("0.1"), Fraction(1000)} <= set(points)
    sizes = [point for point in points if point > 0]
    assert all(b <= a * Fraction(6, 5) for a, b in pairwise(sizes))
    assert len(points) < 700
    body = body_of(ib.bounds([1.0], within=(0, 5), epsilon=1))
    assert body["statistic"]["within"] == ["0", "5"]


def test_coverage_follows_the_number_of_records_and_epsilon():
    """Without one, 30/ε records are to lie beyond each end; next to a secret number it is 0.98."""
    statistic = ib.Bounds("x", within=(0, 1e9))
    assert statistic.find_coverage(Terms.of("0.5", rows=20_000)) == 1 - Fraction(120, 20_000)
    assert statistic.find_coverage(Terms.of(1, rows=20_000)) == 1 - Fraction(60, 20_000)
    assert statistic.find_coverage(Terms.of(1, rows=50)) == Fraction(1, 2)
    assert statistic.find_coverage(Terms.of(1, "add-remove")) == Fraction(49, 50)
    assert ib.Bounds("x", within=(0, 1e9), coverage=0.9).find_coverage(Terms.of(1, rows=50)) == Fraction(9, 10)
    upper = ib.Bounds("x", within=(0, 1e9), side="upper")
    assert upper.find_coverage(Terms.of(1, rows=20_000)) == 1 - Fraction(15, 20_000)
    # So they do not fly off to the ends of what is possible: less often than once in 1e9, with so many more records.
    found = ib.bounds(INCOME, within=(0, 1e9), epsilon=1, coverage=0.98).value
    assert 1000 < found[0] < found[1] < 1e6


def test_a_margin_moves_both_ends_out_to_the_grid():
    statistic = ib.Bounds("income", within=(0, 1e9), coverage=0.96, margin=0.5)
    found = ib.bounds({"income": INCOME}, "income", within=(0, 1e9), coverage=0.96, margin=0.5, epsilon=5)
    lower, upper = found.value
    drawn = [float(end) for end in found.derivation.ends_of(sorted(found.noisy))]
    width = drawn[1] - drawn[0]
    points = [float(point) for point in list_points(Fraction(0), Fraction(10**9))]
    assert lower == max([point for point in points if point <= drawn[0] - width / 2], default=0)
    assert upper == min(point for point in points if point >= drawn[1] + width / 2)
    assert tuple(map(float, found.statistic.ends_of(found))) == (lower, upper)
    # What is printed is what stands where bounds do.
    assert found.to_polars()["value"].to_list() == [lower, upper]
    assert f"{upper:.0f}" in str(found)
    assert ib.Release.from_json(found.to_json()) == found
    assert found.statistic.margin == statistic.margin == Fraction(1, 2)
    one = ib.bounds(INCOME, within=(0, 1e9), coverage=0.96, margin=1, side="upper", epsilon=5)
    assert one.value[0] == 0
    with pytest.raises(ValueError, match="margin must be between 0 and 100"):
        ib.Bounds("x", within=(0, 9), margin=-1)
    with pytest.raises(ValueError, match="margin= is for numbers"):
        ib.Bounds("x", edges=[dt.date(2020, 1, 1), dt.date(2021, 1, 1), dt.date(2022, 1, 1)], margin=1)


def test_bounds_are_moved_out_unless_something_else_is_asked_for():
    """A record states the margin that it has, so that it is the same whatever the default is."""
    rules = {"epsilon": 5, "within": (0, 1e9)}
    plain, moved = ib.bounds(INCOME, margin=0, **rules), ib.bounds(INCOME, **rules)
    for release, margin in ((plain, 0), (moved, Fraction(1, 2))):
        again = ib.Release.from_json(release.to_json())
        assert again.statistic.margin == margin
        assert again.value == release.value
    drawn = [float(end) for end in moved.derivation.ends_of(sorted(moved.noisy))]
    assert moved.value[1] > 1.4 * drawn[1]
    assert plain.value[1] < moved.value[1]
    assert ib.Bounds("x", within=(0, 9), coverage=0.9).margin is None
    assert ib.Bounds("x", edges=[0, 1, 2, 9]).margin is None


def test_the_report_says_that_bounds_were_released(tmp_path):
    columns = {"income": {"missing": "skip"}}
    items = [{"name": "b", "statistic": "bounds", "columns": ["income"], "within": [0, 10**9], "margin": 0.5}]
    plan = ib.Plan.of({"data": {"rows": 20_000}, "budget": {"epsilon": 1}, "columns": columns, "release": items})
    ib.release(plan, {"income": INCOME}).write(tmp_path)
    said = (tmp_path / "report.md").read_text()
    assert "These bounds were released, not known: about 0.01 of the records lie beyond either end" in said
    assert "a mean is moved by their share times how far they lie beyond" in said
