"""Ranges of forecasts: over plausible truths, and wide enough for tables that are narrow, skewed and uneven."""

import numpy as np
import pytest

import inbounds as ib
from inbounds.derivations.truths import find_truths
from inbounds.forecasts.forecast import typical_error
from inbounds.forecasts.preview import Wanted, forecast_errors
from inbounds.plan.plan import Plan
from inbounds.road.draw import draw
from inbounds.tables.engine import tally
from inbounds.tables.sources import read

ROWS, RUNS = 3000, 300
BOUNDS = {"delay": (-60, 1440), "distance": (0, 5000)}
LEVELS = ["a", "b", "c", "d"]


def skewed():
    """Delays next to one end of their bounds, distances that go with them, and groups of 30 to 2,500 records."""
    rng = np.random.default_rng(22)
    delay = np.clip(rng.exponential(40, ROWS) - 20, -60, 1440)
    distance = np.clip(1000 + 12 * delay + rng.normal(0, 300, ROWS), 0, 5000)
    return {"delay": delay, "distance": distance, "group": np.repeat(LEVELS, [30, 120, 350, 2500])}


def released(one):
    """RMSE of each number over releases from one draft: the system's noise."""

    def values(wanted, runs):
        draft, table = wanted.draft(), skewed()
        frame = read({rule.name: table[rule.name] for rule in draft.record.columns}, draft.columns)
        counted = tally(frame, draft.requests, most=ROWS)
        return np.array([np.ravel(np.ma.filled(draw(draft, counted).table, 0.0)) for _ in range(runs)])

    return np.sqrt(((values(one, RUNS) - values(one.but(epsilon=10**6), 1)) ** 2).mean(axis=0))


_TERMS = {"rows": ROWS, "epsilon": 1}
# A release, what is true of the table, and what forecasts assumed before: values and groups spread evenly.
CASES = {
    "correlation": (
        Wanted("correlation", {"bounds": BOUNDS, **_TERMS}),
        {"delay": {"sd": (30, 50), "mean": (0, 40)}, "distance": {"sd": (400, 700), "mean": (1000, 1500)}},
        {"delay": {"sd": 433, "mean": 690}, "distance": {"sd": 1443, "mean": 2500}},
    ),
    "mean by group": (
        Wanted("mean", {"column": "delay", "bounds": (-60, 1440), "by": "group", "levels": LEVELS, **_TERMS}),
        {"mean": (0, 40), "size": (25, 2600)},
        {"mean": 690, "size": 750},
    ),
    "standard deviation": (
        Wanted("standard_deviation", {"column": "delay", "bounds": (-60, 1440), **_TERMS}),
        {"sd": (30, 50), "mean": (0, 40)},
        {"sd": 433, "mean": 690},
    ),
}


def _but(one, plausible):
    return Wanted(one.statistic, one.keywords, plausible)


@pytest.mark.claim("forecast-range")
@pytest.mark.parametrize("name", CASES)
def test_releases_are_as_far_off_as_the_range_says_and_not_as_one_even_truth_does(name):
    """300 releases: an RMSE of them is off by 30% less than once in 1e9."""
    one, true, even = CASES[name]
    rmse = released(one)
    for forecast in (forecast_errors(one), forecast_errors(_but(one, true))):
        low, high = (np.ravel(end) for end in forecast.rmse_range)
        assert (rmse >= 0.7 * low).all()
        assert (rmse <= 1.3 * high + 1e-12).all()
    # The negative control: what was forecast before is too rosy by far.
    assert np.sqrt((rmse**2).mean()) > 2 * forecast_errors(_but(one, even)).typical


@pytest.mark.claim("forecast-range")
@pytest.mark.parametrize("name", CASES)
def test_what_is_stated_makes_the_range_narrower(name):
    one, true, _ = CASES[name]
    free, known = forecast_errors(one), forecast_errors(_but(one, true))
    assert known.typical_range[1] / known.typical_range[0] < free.typical_range[1] / free.typical_range[0]
    for forecast in (free, known):
        assert forecast.typical_range[0] <= forecast.typical <= forecast.typical_range[1]
        assert forecast.reach_range[0] <= forecast.reach <= forecast.reach_range[1]
    assert typical_error(one) == pytest.approx(free.typical)


def test_numbers_stated_by_mean_and_sd_are_those_stated_by_themselves():
    keywords = {"bounds": (0, 10), "rows": 500, "epsilon": 1}
    for statistic, named, plain in [
        ("mean", {"mean": (4, 5)}, (4, 5)),
        ("sum", {"mean": (4, 5)}, (2000, 2500)),
        ("mean", {"sd": 1}, None),
    ]:
        assert (
            forecast_errors(Wanted(statistic, keywords, named)).rmse
            == forecast_errors(Wanted(statistic, keywords, plain)).rmse
        )
    direct = {**keywords, "method": "direct"}
    assert (
        forecast_errors(Wanted("variance", direct, {"sd": 2})).rmse
        == forecast_errors(Wanted("variance", direct, 4)).rmse
    )


@pytest.mark.parametrize("statistic", ["mean", "sum", "variance", "median"])
def test_the_only_column_may_be_named(statistic):
    keywords = {"column": "age", "bounds": (0, 10), "rows": 500, "epsilon": 1}
    stated = {"mean": (4, 5), "sd": 1}
    alone, by_name = (forecast_errors(Wanted(statistic, keywords, x)) for x in (stated, {"age": stated}))
    assert by_name.rmse_range == alone.rmse_range
    with pytest.raises(ValueError, match="does not have: 'x'"):
        forecast_errors(Wanted(statistic, keywords, {"x": stated}))


def test_columns_of_a_regression_are_named_and_not_its_coefficients():
    """The slope of a column that is stated to vary little is far off, and there is no column named intercept."""
    keywords = {"column": "y", "bounds": {"a": (0, 1), "y": (0, 100)}, "rows": 50_000, "epsilon": 1}
    keywords["levels"] = {"region": ["north", "south"]}
    names = ("y", "a", "region = south")
    stated = {
        name: {"sd": sd, "mean": mean} for name, sd, mean in zip(names, (10, 0.1, 0.5), (50, 0.5, 0.5), strict=True)
    }
    usual = forecast_errors(Wanted("regression", keywords, stated)).rmse
    for place, name in enumerate(names[1:], 1):
        narrow = forecast_errors(Wanted("regression", keywords, stated | {name: {"sd": 0.04, "mean": 0.5}})).rmse
        other = 3 - place
        assert narrow[place] > 2 * usual[place]
        assert narrow[other] < 2 * usual[other]
    for wrong in ("intercept", "region"):
        with pytest.raises(ValueError, match="names a column"):
            forecast_errors(Wanted("regression", keywords, stated | {wrong: {"sd": 0.1}}))


@pytest.mark.parametrize("method", ["centred", "robust"])
@pytest.mark.parametrize(("mean", "sd"), [(0.5, 0.3), (0.2, 0.1)])
def test_ranges_around_a_centre_follow_what_was_drawn_first(method, mean, sd):
    """Of one stated truth all ends are the same error: 2(1 + |m|)⁴/(1 - ρ)² + 320/(ρ⁴N²), over (4n)²."""
    rows, share = 6000, 0.08
    asked = {"column": "x", "bounds": (0, 1), "epsilon": 1, "rows": rows, "method": method}
    found = forecast_errors(Wanted("variance", asked, {"mean": mean, "sd": sd}))
    far = abs(2 * mean - 1)
    noise = 2 * (1 + far) ** 4 / (1 - share) ** 2 + 320 / share**4 / rows**2
    assert found.rmse == pytest.approx(np.sqrt(noise) / 4 / rows, rel=0.1)
    assert found.typical_range == pytest.approx((found.rmse, found.rmse), rel=0.1)


def test_truths_are_possible_and_the_typical_one_is_between():
    record = CASES["correlation"][0].draft().record
    found = find_truths(record.situation(None, ROWS), "matrix")
    widths = np.array([1500, 5000])
    assert np.sqrt(found.typical.matrix.diagonal()) == pytest.approx(widths / 10)
    for truth in found.corners:
        sds = np.sqrt(truth.matrix.diagonal())
        assert (sds >= widths / 50 - 1e-9).all()
        # A variance of values in [-1, 1] with mean m is at most 1 - m².
        far = (truth.means - [690, 2500]) / (widths / 2)
        assert ((2 * sds / widths) ** 2 + far**2 <= 1 + 1e-9).all()


@pytest.mark.parametrize(
    ("statistic", "plausible", "message"),
    [
        ("mean", {"spread": 1}, "plausible must say where sd and mean"),
        ("mean", {}, "plausible is empty"),
        ("mean", {"mean": (5, 4)}, "mean of plausible must be a pair"),
        ("mean", {"mean": 11}, "mean of plausible must lie within the bounds"),
        ("variance", {"sd": 8}, "sd of plausible must lie within"),
        ("variance", {"size": 8}, "has no groups"),
        ("variance", {"y": {"sd": 1}}, "names a column"),
        ("mean", {"y": {"mean": 1}}, "names a column"),
    ],
)
def test_bad_statements_say_what_is_wrong(statistic, plausible, message):
    with pytest.raises(ValueError, match=message):
        ib.preview(statistic, bounds=(0, 10), rows=100, epsilon=1, plausible=plausible)


def test_counts_are_stated_by_themselves():
    with pytest.raises(TypeError, match="plausible must be a number or a pair"):
        ib.preview("count", level=1, rows=100, epsilon=1, plausible={"mean": 3})


def test_a_plan_shows_ranges_and_says_what_it_assumes():
    column, groups = {"bounds": [0, 100]}, {"levels": LEVELS}
    item = {"statistic": "mean", "columns": ["x"], "by": "g"}
    plan = {"data": {"rows": 40_000}, "budget": {"epsilon": 1}, "columns": {"x": column, "g": groups}}
    plan["release"] = [
        {"name": "free", **item},
        {"name": "known", **item, "plausible": {"size": [50, 5000]}},
        {"name": "all", "statistic": "mean", "columns": ["x"]},
    ]
    seen = Plan.of(plan).preview()
    free, known, single = (one.to_dict() for one in seen.prospects)
    assert free["rmse_range"][1] > known["rmse_range"][1] > known["rmse"] > known["rmse_range"][0]
    assert known["assumed"] == "means anywhere within the bounds, groups of 50 to 5,000 records"
    assert "groups of 10 to 40,000 records (typically 2,500)" in str(seen)
    assert seen.heads[-1] == "RMSE range"
    assert " to " in seen.rows()[0][-1]
    assert seen.rows()[2][-1] == ""
    assert "range" not in str(Plan.of(plan | {"release": plan["release"][2:]}).preview())
    assert single["rmse_range"][1] == pytest.approx(single["rmse"], rel=0.01)
