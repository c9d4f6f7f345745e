"""How errors fall and rise with the rows that are kept of each person, against tables of which rows were kept."""

import math

import numpy as np
import polars as pl
import pytest

import inbounds as ib
from inbounds.forecasts.rows import RowsPerPerson
from inbounds.plan.plan import PlanError
from inbounds.privacy.persons import Persons
from inbounds.privacy.terms import Terms
from inbounds.record.selection import draft_statistic
from inbounds.road import run
from inbounds.tables.persons import add_columns
from inbounds.tables.sources import read

ROWS = {1: 0.5, 2: 0.3, 5: 0.2}
PERSONS, TABLES = 200, 300
GIVEN = {"epsilon": 1, "person": "id", "plausible_rows": ROWS}


def many_tables(seed):
    """Tables of persons with rows as stated, side by side; those with five differ by a quarter of a deviation."""
    rng = np.random.default_rng(seed)
    each = np.repeat(list(ROWS), [round(share * PERSONS) for share in ROWS.values()])
    rows = np.tile(each, TABLES)
    person = np.repeat(np.arange(rows.size), rows)
    many = np.repeat(rows == 5, rows)
    x = rng.normal(50, 5, person.size) + many * 1.25
    table = np.repeat(np.repeat(np.arange(TABLES), PERSONS), rows)
    return pl.DataFrame({"id": person, "x": x, "table": table.astype(str)})


def means_of_kept(table, contributions):
    """The exact mean of the kept rows of each table, by the engine; no noise."""
    statistic = ib.Mean("x", bounds=(0, 100), by="table", levels=[str(i) for i in range(TABLES)])
    draft = draft_statistic(statistic, Terms.of(1, "add-remove", contributions, persons=Persons.of("id")))
    frame = read(table, add_columns(draft.columns, draft.terms.unit.persons))
    ((cells,),) = run._count_unit(frame, {"one": draft}, draft.terms.unit, bytes(range(16))).values()
    (column,) = draft.requests[0].sums
    width = 100 / column.count
    counts = np.array([cells[place,][0] for place in range(TABLES)])
    return counts, np.array([cells[place,][1][0] for place in range(TABLES)]) * width / counts


@pytest.mark.claim("forecast-kept")
def test_what_is_left_out_is_what_the_engine_leaves_out():
    """The mean of kept rows less that of all, in 300 tables: within a quarter, six standard errors of such an RMSE."""
    table = many_tables(4)
    truth = table.group_by("table").agg(pl.col("x").mean()).sort(pl.col("table").cast(int))["x"].to_numpy()
    seen = ib.preview("mean", bounds=(0, 100), rows=PERSONS, plausible={"sd": 5}, contributions=2, **GIVEN)
    assert [one.contributions for one in seen.kept] == [1, 2, 5]
    for one in seen.kept:
        counts, means = means_of_kept(table, one.contributions)
        whole = PERSONS * 2.1
        assert counts.sum() == pytest.approx(TABLES * whole * (1 - one.left_out), rel=1e-9)
        errors = means - truth
        if one.contributions == 5:
            assert one.choice == one.shift == one.left_out == 0
            assert np.abs(errors).max() < 1e-3
            continue
        assert abs(errors.mean()) == pytest.approx(one.shift, rel=0.1)
        assert errors.std() == pytest.approx(one.choice, rel=0.25)
        # The control: the figures of one row more or less are not what is seen.
        (other,) = [two for two in seen.kept if two.contributions == 3 - one.contributions]
        assert errors.std() != pytest.approx(other.choice, rel=0.25)
        assert one.rmse == pytest.approx(math.hypot(one.noise, one.choice, one.shift))


@pytest.mark.claim("forecast-kept")
def test_counts_and_sums_miss_what_is_left_out():
    secret = {"neighbours": "add-remove", "expected_rows": 2100}
    seen = ib.preview("count", contributions=2, **secret, **GIVEN)
    assert [one.shift for one in seen.kept] == pytest.approx([1100, 600, 0])
    assert min(seen.kept, key=lambda one: one.rmse).contributions == 5
    total = ib.preview("sum", bounds=(0, 10), plausible={"mean": 3}, **secret, **GIVEN)
    assert [one.shift for one in total.kept] == pytest.approx([3300, 1800, 0])


@pytest.mark.claim("forecast-kept")
def test_noise_is_for_the_rows_that_are_kept():
    """The noise of a mean is that of k rows over the number of rows that are kept: 1,500 of 1,000 persons at k = 2."""
    seen = ib.preview("mean", bounds=(0, 10), neighbours="add-remove", expected_rows=2100, contributions=2, **GIVEN)
    assert seen.wanted.size == 1500
    alone = ib.preview(
        "mean", bounds=(0, 10), neighbours="add-remove", expected_rows=1500, contributions=2, epsilon=1, person="id"
    )
    assert seen.forecast.typical == alone.forecast.typical
    assert alone.kept == ()
    assert "as if each person had one row" in " ".join(str(alone).split())
    folded = ib.preview("mean", bounds=(0, 10), rows=1000, fold={"x": "max"}, **GIVEN)
    assert (folded.wanted.size, folded.kept) == (1000, ())


def panel(differ, alike, persons=1000, seed=7):
    """Persons with rows as stated; those with five differ by so many deviations, and rows of a person are alike."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(list(ROWS), [round(share * persons) for share in ROWS.values()])
    own = rng.normal(0, 5 * math.sqrt(alike), persons) + differ * 5 * (rows == 5)
    x = np.repeat(own, rows) + rng.normal(50, 5 * math.sqrt(1 - alike), rows.sum())
    return pl.DataFrame({"id": np.repeat(np.arange(persons), rows), "x": x})


def see_error(table, contributions):
    """The RMSE of releases for the mean of all rows. With 60 of them it is within a half of what is expected of it."""
    given = {"bounds": (0, 100), "epsilon": 10, "neighbours": "add-remove", "person": "id"}
    made = [ib.mean(table, "x", contributions=contributions, **given).value for _ in range(60)]
    return math.sqrt(((np.array(made) - table["x"].mean()) ** 2).mean())


def find_range(contributions, **stated):
    """What is forecast of the same."""
    given = GIVEN | {
        "epsilon": 10,
        "neighbours": "add-remove",
        "expected_rows": 2100,
        "plausible": {"sd": 5, "mean": 50},
    }
    seen = ib.preview("mean", bounds=(0, 100), contributions=contributions, **given, **stated)
    (one,) = [one for one in seen.kept if one.contributions == contributions]
    assert one.rmse_range[0] <= one.rmse <= one.rmse_range[1]
    return one.rmse_range


@pytest.mark.claim("forecast-kept")
@pytest.mark.parametrize("contributions", [1, 2])
@pytest.mark.parametrize(("differ", "alike"), [(0, 0), (0.4, 0), (0.4, 0.8), (0.25, 0.3)])
def test_errors_that_are_seen_lie_in_the_range(differ, alike, contributions):
    low, high = find_range(contributions)
    assert low < see_error(panel(differ, alike), contributions) < high


@pytest.mark.claim("forecast-kept")
def test_ranges_can_be_left():
    """The controls: persons who differ by more than was assumed, or than was stated, are outside."""
    assert see_error(panel(1, 0), 1) > find_range(1)[1]
    seen = see_error(panel(0.4, 0), 1)
    assert seen > find_range(1, plausible_shift=(0, 0.1))[1]
    low, high = find_range(1, plausible_shift=0.4)
    assert low < seen < high
    assert see_error(panel(0, 0), 1) < low
    assert see_error(panel(0, 0), 1) < find_range(1, plausible_shift=(0, 0.1))[1]


@pytest.mark.claim("forecast-kept")
@pytest.mark.parametrize("contributions", [1, 5])
def test_errors_of_uneven_groups_are_those_of_the_small_ones(contributions):
    """Groups of 100 to 10,000 rows: sizes are of all rows, and the typical error is of groups of all such sizes."""
    sizes, rng = [20, 63, 200, 632, 2000], np.random.default_rng(3)
    person = np.repeat(np.arange(sum(sizes)), 5)
    group = np.repeat(np.repeat(list("abcde"), sizes), 5)
    table = pl.DataFrame({"id": person, "g": group, "x": rng.normal(50, 10, person.size)})
    truth = table.group_by("g").agg(pl.col("x").mean()).sort("g")["x"].to_numpy()
    terms = {"bounds": (0, 100), "by": "g", "levels": list("abcde"), "epsilon": 10, "neighbours": "add-remove"}
    terms |= {"person": "id", "contributions": contributions}
    made = np.array([ib.mean(table, "x", **terms).value for _ in range(100)])
    seen = math.sqrt(((made - truth) ** 2).mean())

    def forecast(size):
        stated = {"expected_rows": len(table), "plausible_rows": {5: 1}}
        shown = ib.preview("mean", column="x", **terms, **stated, plausible={"sd": 10, "mean": 50, "size": size})
        (one,) = [one for one in shown.kept if one.contributions == contributions]
        return one

    one = forecast((100, 10_000))
    assert one.rmse_range[0] < seen < one.rmse_range[1]
    assert one.rmse == pytest.approx(seen, rel=0.6)
    # The control: as if all groups had the middle size, and that many rows of each were kept.
    assert forecast(1000 * 5 // contributions).rmse != pytest.approx(seen, rel=0.6)


PLAN = {
    "data": {"rows": 1000, "person": "id", "contributions": 2, "plausible_rows": {"1": 0.5, "2": 0.3, "5": 0.2}},
    "budget": {"epsilon": 1},
    "columns": {"x": {"bounds": [0, 10]}, "n": {"edges": [1, 2, 10]}},
    "release": [
        {"name": "level", "statistic": "mean", "columns": ["x"]},
        {"name": "spread", "statistic": "variance", "columns": ["x"]},
        {"name": "rows per person", "statistic": "histogram", "columns": ["n"], "fold": {"n": "count"}},
    ],
}


def test_a_plan_shows_errors_by_contributions():
    plan = ib.Plan.of(PLAN)
    seen = plan.preview()
    assert list(seen.kept) == ["level", "spread"]
    assert {name: [one.contributions for one in kept] for name, kept in seen.kept.items()} == {
        "level": [1, 2, 5],
        "spread": [1, 2, 5],
    }
    # Drawn as in the plan: at its own contributions the noise is that of the plan.
    for one in seen.prospects[:2]:
        assert seen.kept[one.name][1].noise == pytest.approx(one.forecast.typical)
    text = str(seen)
    assert "rows left out" in text
    assert "52.4%" in text
    assert seen.to_dict()["by_contributions"]["level"][0]["left_out"] == pytest.approx(11 / 21)
    assert "rows left out" in seen._repr_html_()
    # A guess changes neither law nor digest.
    other = ib.Plan.of(PLAN | {"data": PLAN["data"] | {"plausible_rows": None}})
    assert other.digest == plan.digest


def test_a_picture_has_a_panel_for_contributions():
    seen = ib.preview("mean", bounds=(0, 10), rows=1000, contributions=2, **GIVEN)
    made = seen.plot(epsilons=[1.0], rows=[1000]).to_dict()
    assert "rows kept of each person" in str(made["hconcat"][-1])
    assert "left out" in seen._repr_html_()


WRONG = [
    ({}, "shares of persons by numbers of rows"),
    ({1: 0.5, 2: 0.3}, "shares that sum to one"),
    ({0: 1.0}, "must be >= 1"),
    ({"x": 1.0}, "must be an integer"),
    ({1: -1, 2: 2}, "one share >= 0"),
    ({1: 0.5, "1": 0.5}, "one share >= 0"),
    ({1: float("nan"), 2: 1}, "must be a number"),
    (5, "shares of persons by numbers of rows"),
]
WRONG_SHIFTS = [(-0.1, "number >= 0"), ([0.2, 0.1], "0 <= low <= high"), ([0.1], "pair"), ("much", "real number")]


@pytest.mark.parametrize(("given", "message"), WRONG)
def test_mistakes_are_named(given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        RowsPerPerson.of(given)


@pytest.mark.parametrize(("given", "message"), WRONG_SHIFTS)
def test_mistakes_of_shifts_are_named(given, message):
    with pytest.raises((TypeError, ValueError), match=f"plausible_shift.*{message}"):
        ib.preview("mean", bounds=(0, 10), rows=1000, **GIVEN, plausible_shift=given)


def test_a_plan_states_the_shift():
    plain = ib.Plan.of(PLAN)
    stated = ib.Plan.of(PLAN | {"data": PLAN["data"] | {"plausible_shift": [0, 0.1]}})
    assert stated.digest == plain.digest
    ends = [plan.preview().to_dict()["by_contributions"]["level"][0]["rmse_range"] for plan in (plain, stated)]
    assert ends[0][0] == ends[1][0] < ends[1][1] < ends[0][1]
    assert "0 to 0.1 standard deviations (as stated)" in " ".join(str(stated.preview()).split())
    assert "RMSE range" in str(plain.preview()).split("rows left out")[1]


def test_mistakes_of_plans_are_named():
    with pytest.raises(PlanError, match=r"data\.plausible_shift: must be a number >= 0"):
        ib.Plan.of(PLAN | {"data": PLAN["data"] | {"plausible_shift": -1}})
    with pytest.raises(PlanError, match=r"data\.plausible_shift: needs plausible_rows"):
        ib.Plan.of(PLAN | {"data": PLAN["data"] | {"plausible_rows": None, "plausible_shift": 1}})
    with pytest.raises(TypeError, match="plausible_shift= needs plausible_rows="):
        ib.preview("mean", bounds=(0, 10), rows=10, epsilon=1, person="id", plausible_shift=0.1)
    with pytest.raises(PlanError, match=r"data\.plausible_rows: must be shares that sum to one"):
        ib.Plan.of(PLAN | {"data": PLAN["data"] | {"plausible_rows": {"1": 0.5}}})
    with pytest.raises(PlanError, match=r"data\.plausible_rows: needs person"):
        ib.Plan.of({**PLAN, "data": {"rows": 1000, "plausible_rows": {"1": 1}}, "release": PLAN["release"][:2]})
    with pytest.raises(TypeError, match="plausible_rows= needs person="):
        ib.preview("mean", bounds=(0, 10), rows=10, epsilon=1, plausible_rows=ROWS)
