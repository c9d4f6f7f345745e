"""Regressions as releases: of their levels, in plans and reports, and what the noise hides."""

import csv
import json
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import inbounds as ib
from inbounds.errors import RecordError
from inbounds.inference import regression
from inbounds.report.lines import list_lines
from inbounds.report.rows import collect_sections, to_csv
from inbounds.report.view import view_section
from inbounds.tables.engine import tally
from inbounds.tables.indicators import Indicators
from inbounds.tables.request import Request
from inbounds.tables.schema import Levels, Numeric, quantise_column
from inbounds.tables.sources import read
from tests.soundness import is_sound

HUGE = 10**6
BOUNDS = {"y": (-50, 150), "age": (0, 100)}
LEVELS = {"region": ["north", "o'x", "south"], "grade": [3, 1], "late": [False, True]}
RULES = {"bounds": BOUNDS, "levels": LEVELS}


def table(rows=2000, seed=1):
    """A linear law with levels of text, with a quote in one, of integers and of truth values."""
    rng = np.random.default_rng(seed)
    t = {"age": rng.uniform(0, 100, rows), "region": rng.choice(LEVELS["region"], rows)}
    t |= {"grade": rng.choice([1, 3], rows), "late": rng.random(rows) < 0.4}
    slopes = 0.5 * t["age"] + 8 * (t["region"] == "o'x") - 6 * (t["region"] == "south")
    return t | {"y": 10 + slopes + 5 * (t["grade"] == 1) + 7 * t["late"] + rng.normal(0, 5, rows)}


def design(t):
    columns = [t["age"], t["region"] == "o'x", t["region"] == "south", t["grade"] == 1, t["late"]]
    return np.column_stack([np.ones(len(t["age"])), *columns])


def least_squares(t):
    return np.linalg.lstsq(design(t), t["y"], rcond=None)[0]


def test_levels_are_columns_of_zero_and_one():
    t = table()
    made = ib.regression(t, "y", **RULES, epsilon=HUGE)
    assert made.axes == (("intercept", "age", "region = o'x", "region = south", "grade = 1", "late"),)
    assert made.value == pytest.approx(least_squares(t), abs=1e-3)
    # A negative control: without the levels the coefficients are others.
    assert ib.regression(t, "y", bounds=BOUNDS, epsilon=HUGE).value[0] > least_squares(t)[0] + 1
    # R² is that of ordinary least squares, and so are the limits of slopes if residuals have one variance.
    off = t["y"] - design(t) @ least_squares(t)
    fit = made.statistic.fit(made)
    assert fit.r_squared == pytest.approx(1 - (off**2).sum() / ((t["y"] - t["y"].mean()) ** 2).sum(), abs=1e-5)
    deviations = np.sqrt(np.diag(np.linalg.inv(design(t).T @ design(t))) * (off**2).sum() / (len(off) - 6))
    alike = ib.inference.regression(made.statistic.moments(made), "y", made.axes[0][1:], method="equal-variance")
    assert (alike.upper - alike.lower) / 2 == pytest.approx(1.96 * deviations[1:], rel=0.01)
    # Without that they are wider, those of the intercept, too.
    interval = made.interval()
    assert ((interval.upper - interval.lower) / 2 > 1.01 * 1.96 * deviations).all()
    assert (made.interval(kind="noise").width < interval.width / 10).all()


def test_missing_and_unknown_levels():
    t = table(300)
    holes = t | {"region": [None if i % 3 == 0 else x for i, x in enumerate(t["region"])]}
    filled = t | {"region": np.array(["south" if x is None else x for x in holes["region"]])}
    made = ib.regression(holes, "y", **RULES, missing={"region": "south"}, epsilon=HUGE)
    assert made.value == pytest.approx(least_squares(filled), abs=0.01)
    with pytest.raises(ib.errors.DataError, match="missing"):
        ib.regression(holes, "y", **RULES, epsilon=1)
    strange = t | {"region": np.array(["?" if x == "north" else x for x in t["region"]])}
    with pytest.raises(ib.errors.DataError, match="column 'region' holds values that are none of its levels"):
        ib.regression(strange, "y", **RULES, epsilon=1)
    made = ib.regression(strange, "y", **RULES, other={"region": "north"}, epsilon=HUGE)
    assert made.value == pytest.approx(least_squares(t), abs=0.01)
    assert made.columns[2].other == "north"
    assert ib.Release.from_json(made.to_json()) == made
    # To another level than the first, and beside one that is missing.
    moved = holes | {"region": np.array([None if x is None else "?" if x == "o'x" else x for x in holes["region"]])}
    counted = np.array(["south" if x is None else "o'x" if x == "?" else x for x in moved["region"]])
    made = ib.regression(moved, "y", **RULES, other={"region": "o'x"}, missing={"region": "south"}, epsilon=HUGE)
    assert made.value == pytest.approx(least_squares(t | {"region": counted}), abs=0.01)


@pytest.mark.parametrize("kind", ["south", 1, True])
def test_what_is_missing_is_named_by_its_column(kind):
    name = {str: "region", int: "grade", bool: "late"}[type(kind)]
    holes = table(50)
    holes[name] = [None, *holes[name][1:].tolist()]
    with pytest.raises(ib.errors.DataError, match=f"column '{name}' has missing values"):
        ib.regression(holes, "y", **RULES, epsilon=1)


def test_a_field_that_is_no_number_is_no_level():
    t = table(400)
    strange = t | {"grade": ["none" if x == 3 else x for x in t["grade"].tolist()]}
    with pytest.raises(ib.errors.DataError, match="column 'grade' holds values that are none"):
        ib.regression(strange, "y", **RULES, missing={"grade": 1}, epsilon=1)
    made = ib.regression(strange, "y", **RULES, missing={"grade": 1}, other={"grade": 3}, epsilon=HUGE)
    assert made.value == pytest.approx(least_squares(t), abs=0.01)


def test_many_columns_with_levels():
    """Many columns are counted in blocks; composed they are the sums of columns of 0 and 1."""
    rng = np.random.default_rng(2)
    sizes = [2, 2, 2, 3, 2, 7, 2, 40, 3]
    t = {f"c{i}": rng.integers(0, size, 3000) for i, size in enumerate(sizes)}
    t |= {"y": rng.normal(50, 10, 3000) + 3 * t["c5"], "z": t["c7"] * 2.5}
    keys = tuple(Levels(f"c{i}", tuple(range(size))) for i, size in enumerate(sizes))
    ones = {f"c{i}_{level}": t[f"c{i}"] == level for i, size in enumerate(sizes) for level in range(1, size)}
    numbers = tuple(quantise_column(Numeric.of(name, (0, 100)), resolution=64) for name in ("y", "z"))
    plain = tuple(quantise_column(Numeric.of(name, (0, 1), integer=True), resolution=64) for name in ones)
    sums = Indicators(numbers, keys)
    assert len(sums.blocks) == 4
    frame = read(pl.DataFrame({**t, **ones}), [*Request(keys, (*numbers, *plain)).columns])
    *tables, whole = tally(frame, [*sums.requests, Request((), (*numbers, *plain), True)])
    assert sums.compose(*tables) == whole[()]


def test_a_plan_checks_the_levels_and_says_what_others_count_as():
    t = table(20_000)
    t["region"] = np.where(t["region"] == "south", "suoth", t["region"])
    made = ib.check(ib.Plan.of(PLAN), t)
    assert not made.passes
    assert "are no level and would have a release refused, after the charge" in str(made)
    assert "column 'region' holds values that are none of its levels" in made.verdict
    columns = PLAN["columns"] | {"region": PLAN["columns"]["region"] | {"other": "south"}}
    plan = ib.Plan.of(PLAN | {"columns": columns})
    assert "are no level and count as 'south'" in str(ib.check(plan, t))
    releases = ib.release(plan, t)
    notes = view_section(1, collect_sections(releases)[0]).notes
    assert any("other values of region counted as south" in note for note in notes)
    assert not any("region = south clipped" in note for note in notes)


def test_a_derived_column_has_levels():
    t = table(2000)
    made = ib.regression(t, "y", bounds=BOUNDS, levels={"twice": [2, 6]}, derive={"twice": "grade * 2"}, epsilon=HUGE)
    same = ib.regression(t, "y", bounds=BOUNDS, levels={"grade": [1, 3]}, epsilon=HUGE)
    assert made.axes[0][-1] == "twice = 6"
    assert made.value == pytest.approx(same.value, abs=0.01)


def test_the_record_proves_itself():
    made = ib.regression(table(), "y", **RULES, missing={"region": "south", "age": 40}, epsilon=1)
    assert ib.Release.from_json(made.to_json()) == made
    assert is_sound(made)
    # The law of fewer columns is not enough for these.
    fewer = ib.regression(table(), "y", bounds=BOUNDS, epsilon=1)
    assert not is_sound(replace(fewer, statistic=made.statistic))
    record = json.loads(made.to_json())
    (own,) = record["releases"].values() if "releases" in record else (record,)
    own["statistic"]["levels"]["region"] = ["north", "south"]
    with pytest.raises(RecordError):
        ib.Release.from_json(json.dumps(record))


def test_its_moments_are_a_record_for_other_fits():
    made = ib.regression(table(20_000), "y", **RULES, epsilon=2)
    moments = made.statistic.moments(made)
    assert moments.noisy == made.noisy
    whole = regression(moments, "y", list(made.axes[0][1:]))
    assert whole.identified
    assert made.value == pytest.approx([whole.intercept, *whole.coefficients], rel=1e-6)
    assert moments.value.mean[1] == pytest.approx(table()["age"].mean(), abs=5)
    assert regression(moments, "y", ["age"]).regressors == ("age",)


PLAN = {
    "data": {"rows": 20_000},
    "budget": {"epsilon": 4},
    "derive": {"old": "age > 60"},
    "columns": {
        "y": {"bounds": [-50, 150], "missing": 0},
        "age": {"bounds": [0, 100], "integer": True},
        "region": {"levels": LEVELS["region"], "missing": "north"},
    },
    "release": [{"name": "fit", "statistic": "regression", "columns": ["y", "region", "age", "old"]}],
}


def test_a_plan_spends_on_it_and_shows_the_fit():
    t = table(20_000)
    plan = ib.Plan.of(PLAN)
    assert "fit" in str(plan.preview())
    releases = ib.release(plan, t)
    made = releases["fit"]
    assert made.epsilon == 4
    assert made.axes == (("intercept", "age", "region = o'x", "region = south", "old"),)
    assert ib.Releases.from_json(releases.to_json())["fit"] == made
    sections = collect_sections(releases)
    rows = list(csv.DictReader(to_csv(sections)))
    assert [row["cell"] for row in rows] == list(made.axes[0])
    interval = made.interval()
    assert [float(row["value"]) for row in rows] == made.value.tolist()
    assert [float(row["lower"]) for row in rows] == pytest.approx(interval.lower)
    assert any("region = south" in line.text for line in list_lines(sections))
    notes = view_section(1, sections[0]).notes
    fit = made.statistic.inner.fit(made)
    assert fit.identified
    assert any(note.startswith(f"R² {fit.r_squared:.3g}, ") for note in notes)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"columns": ["y"]}, "needs a column and at least one that explains it"),
        ({"columns": ["region", "age"]}, "columns.region: release.fit needs bounds"),
        ({"columns": ["y", "other"]}, "columns.other: release.fit needs bounds = \\[lower, upper\\] or levels"),
        ({"columns": ["y", "age"], "where": "age > 3"}, "needs a public number of records"),
    ],
)
def test_a_plan_is_refused(change, problem):
    item = PLAN["release"][0] | change
    with pytest.raises(ValueError, match=problem):
        ib.Plan.of(PLAN | {"columns": PLAN["columns"] | {"other": {}}, "release": [item]}).preview()


def test_coefficients_that_the_noise_hides_are_not_identified():
    made = ib.regression(table(300), "y", **RULES, epsilon=0.01)
    assert np.isfinite(made.value).all()
    for kind in ("population", "noise"):
        interval = made.interval(kind=kind)
        assert np.isneginf(interval.lower).all()
        assert np.isposinf(interval.upper).all()
        assert set(interval.to_dict()["upper"]) == {None}
    assert "not identified" in made.statistic.describe_fit(made)
    plan = ib.Plan.of(PLAN | {"budget": {"epsilon": 0.001}})
    (section,) = collect_sections(ib.release(plan, table(20_000)))
    assert {row.verdict for row in section.rows()} == {"tells nothing"}
    assert any("not identified" in note for note in view_section(1, section).notes)


def test_the_preview_is_of_coefficients():
    rules = {"column": "y", **RULES, "rows": 50_000}
    first, second = (ib.preview("regression", **rules, epsilon=epsilon).forecast.rmse for epsilon in (1, 2))
    assert all(math.isfinite(x) for x in np.ravel(first))
    assert (np.asarray(first) > np.asarray(second)).all()


@pytest.mark.parametrize(
    ("change", "error", "problem"),
    [
        ({"column": "weight"}, ValueError, "bounds has no column 'weight'"),
        ({"bounds": {"y": (0, 1)}, "levels": None}, ValueError, "needs a regressor"),
        ({"levels": ["north"]}, TypeError, "levels must be a dictionary"),
        ({"missing": 3}, TypeError, "missing must be a dictionary"),
        ({"levels": {"age": [1, 2]}}, ValueError, "column 'age' has bounds and levels"),
        ({"missing": {"age": "skip"}}, ValueError, "missing of 'age' must be a value"),
        ({"missing": {"region": "skip"}}, ValueError, "missing of 'region' must be a value"),
        ({"missing": {"region": "west"}}, ValueError, "must be one of its levels"),
        ({"other": "north"}, TypeError, "other must be a dictionary"),
        ({"other": {"age": 3}}, ValueError, "other has the column 'age', which has no levels"),
        ({"other": {"region": "west"}}, ValueError, "must be one of its levels"),
        ({"other": {"region": "skip"}}, ValueError, "other of 'region' must be a value that others count as"),
        ({"missing": {"height": 3}}, ValueError, "missing has the column 'height'"),
        ({"bounds": BOUNDS | {"region = south": (0, 1)}}, ValueError, "same name"),
    ],
)
def test_refused(change, error, problem):
    with pytest.raises(error, match=problem):
        ib.Regression(**({"column": "y", **RULES} | change))


def test_the_number_of_records_must_be_public():
    for how in ({"neighbours": "add-remove"}, {"person": "grade", "contributions": 2}):
        with pytest.raises(ValueError, match="needs a public number of records"):
            ib.regression(table(50), "y", **RULES, epsilon=1, **how)
