"""Forecasts of a panel: waves do not divide its persons, since most persons are in several waves."""

import numpy as np
import pytest

import inbounds as ib
from inbounds.forecasts.wanted import Wanted
from inbounds.service.ahead import Ahead

PERSONS, WAVES = 545, 8
YEARS = list(range(1980, 1980 + WAVES))
TIMES = 40


@pytest.fixture(scope="module")
def panel():
    """As large as the panel of young men of Vella and Verbeek (1998), which has as many persons in as many years."""
    draws = np.random.default_rng(5)
    own, year = draws.normal(1.6, 0.4, PERSONS), np.tile(YEARS, PERSONS)
    return {
        "id": np.repeat(np.arange(PERSONS), WAVES).tolist(),
        "year": year.tolist(),
        "wage": (np.repeat(own, WAVES) + draws.normal(0, 0.35, PERSONS * WAVES)).tolist(),
        "union": (draws.random(PERSONS * WAVES) < 0.25).astype(int).tolist(),
        "sex": np.repeat(np.where(np.arange(PERSONS) % 2 == 0, "f", "m"), WAVES).tolist(),
    }


def terms(neighbours, most=WAVES):
    rule = {"person": "id", "groups": {"year": most}, "contributions": 1, "epsilon": 2, "neighbours": neighbours}
    return rule if neighbours == "add-remove" else rule | {"rows": PERSONS}


def forecast(statistic, neighbours, most=WAVES, **keywords):
    rows = {"expected_rows": PERSONS * most} if neighbours == "add-remove" else {}
    return ib.preview(statistic, by="year", levels=YEARS, **terms(neighbours, most), **keywords, **rows).forecast


def find_truth(panel, column):
    values, years = np.array(panel[column]), np.array(panel["year"])
    return np.array([values[years == year].mean() for year in YEARS])


@pytest.mark.claim("waves")
@pytest.mark.parametrize("neighbours", ["substitute", "add-remove"])
@pytest.mark.parametrize(
    ("statistic", "column", "keywords"), [("mean", "wage", {"bounds": (-4, 5)}), ("proportion", "union", {})]
)
def test_the_forecast_of_every_wave_is_kept_by_releases(panel, statistic, column, keywords, neighbours):
    """Of 320 numbers the RMSE has a standard deviation of 6%: a factor of 1.4 is five of them, one of 4 is today's."""
    release, truth = getattr(ib, statistic), find_truth(panel, column)
    errors = [
        release(panel, column, by="year", levels=YEARS, **terms(neighbours), **keywords).value - truth
        for _ in range(TIMES)
    ]
    measured = float(np.sqrt(np.mean(np.square(errors))))
    expected = forecast(statistic, neighbours, column=column, **keywords)
    assert 1 / 1.4 < measured / expected.typical < 1.4
    assert expected.typical_range[0] * 0.7 < measured < expected.typical_range[1]


@pytest.mark.parametrize(("neighbours", "factor"), [("substitute", 2.15), ("add-remove", 1.08)])
@pytest.mark.parametrize("most", [1, 2, 5, 8])
def test_the_forecast_follows_the_formula_of_a_wave(neighbours, factor, most):
    """The noise of a mean is κ W g/(n ε), where a wave has n = N g/J of the N persons, and at most all of them."""
    size, width = PERSONS * most / WAVES, 9
    expected = factor * width * most / (size * 2)
    assert forecast("mean", neighbours, most, bounds=(-4, 5)).typical == pytest.approx(expected, rel=0.06)


def test_no_wave_has_more_rows_than_there_are_persons():
    """With more waves for each person than there are, and four times an even share beyond the number of persons."""
    for most in (WAVES, 3 * WAVES):
        wanted = Wanted("mean", {"by": "year", "levels": YEARS, "bounds": (-4, 5), **terms("substitute", most)})
        record = wanted.draft().record
        sizes = {float(truth.sizes[0]) for truth in record.derivation.assume(record.situation(None, wanted.size))[0]}
        assert max(sizes) == PERSONS
        assert min(sizes) == PERSONS / 4


def test_cells_of_a_wave_do_divide_it():
    keywords = {"bounds": (-4, 5), "by": ["year", "sex"], "levels": {"year": YEARS, "sex": ["f", "m"]}}
    wanted = Wanted("mean", {**keywords, **terms("substitute")})
    record = wanted.draft().record
    truths, _ = record.derivation.assume(record.situation(None, wanted.size))
    assert {float(truth.sizes[0]) for truth in truths} == {10.0, PERSONS}
    (typical,) = {
        float(size)
        for size in np.ravel(
            wanted.draft().record.derivation.find_truths(record.situation(None, wanted.size)).typical.sizes
        )
    }
    assert typical == PERSONS / 2 / 4


def test_stated_rows_of_persons_give_the_same_full_panel():
    stated = forecast("mean", "substitute", bounds=(-4, 5), plausible_rows={WAVES: 1})
    assert stated.typical == pytest.approx(forecast("mean", "substitute", bounds=(-4, 5)).typical, rel=1e-9)


def test_groups_that_divide_rows_are_as_before():
    whole = Wanted("mean", {"by": "year", "levels": YEARS, "bounds": (-4, 5), "rows": PERSONS, "epsilon": 2})
    record = whole.draft().record
    assert record.situation(None, whole.size).waves is None
    truths, words = record.derivation.assume(record.situation(None, whole.size))
    assert "groups of 10 to 272 records (typically 17)" in words
    assert truths


PLAN = {
    "data": {"rows": PERSONS, "person": "id", "groups": {"year": WAVES}},
    "budget": {"epsilon": 2},
    "columns": {"wage": {"bounds": [-4, 5]}, "year": {"levels": YEARS}},
    "release": [{"name": "wages", "statistic": "mean", "columns": ["wage"], "by": "year"}],
}


def test_the_preview_of_a_plan_says_what_it_assumes():
    seen = ib.Plan.of(PLAN).preview()
    assert any(
        note.startswith("Errors are as if each person had one row in each of 8 groups of year.") for note in seen.notes
    )
    assert seen.prospects[0].forecast.typical == pytest.approx(0.142, rel=0.06)


HEAPED = "it held in 36% of the cases that were tried"


def test_forecasts_of_quantiles_warn_of_heaped_columns():
    keywords = {"column": "age", "bounds": (0, 100), "epsilon": 1, "rows": 1000}
    quantile = ib.preview("median", **keywords)
    for text in (str(quantile), quantile._repr_html_()):
        assert HEAPED in " ".join(text.split())
    stated = ib.preview("median", **keywords, plausible={"sd": 10, "mean": 50})
    assert HEAPED in " ".join(str(stated).split())
    assert HEAPED not in " ".join(str(ib.preview("mean", **keywords)).split())


def test_a_plan_names_the_quantiles_whose_forecast_may_fail():
    release = [
        {"name": "middle", "statistic": "median", "columns": ["age"]},
        {"name": "average", "statistic": "mean", "columns": ["age"]},
    ]
    plan = ib.Plan.of(
        {"data": {"rows": 1000}, "budget": {"epsilon": 1}, "columns": {"age": {"bounds": [0, 100]}}, "release": release}
    )
    (note,) = [note for note in plan.preview().notes if HEAPED in note]
    assert note.startswith("middle: ")
    items = {item["name"]: item["warning"] for item in Ahead(plan).at("1")["items"]}
    assert HEAPED in items["middle"]
    assert HEAPED not in items["average"]
