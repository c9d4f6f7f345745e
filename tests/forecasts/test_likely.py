"""The least ε for nine of ten plausible columns: kept by real releases of columns that nobody chose it for."""

import json
import math
import pickle

import numpy as np
import pytest

from inbounds.derivations.likely_truths import list_likely
from inbounds.derivations.truths import find_truths
from inbounds.forecasts.likely import MOST, find_errors
from inbounds.forecasts.preview import Wanted, forecast_errors
from inbounds.forecasts.search import Search
from inbounds.road.draw import draw
from inbounds.tables.engine import tally
from inbounds.tables.sources import read
from inbounds.targets import Target, least_epsilon, least_rows

ROWS, RUNS = 3000, 120
RNG = np.random.default_rng(36)


def generated():
    """Columns at bounds of an office: amounts, measures, skewed and heaped ones. Name -> values, bounds."""
    normal, ages = RNG.normal, np.clip(RNG.normal(44, 15, ROWS), 18, 95)
    return {
        "income": (RNG.lognormal(10.2, 0.75, ROWS), (0, 1_000_000)),
        "wage": (RNG.gamma(3.0, 5.0, ROWS), (0, 200)),
        "rent": (RNG.lognormal(6.5, 0.4, ROWS), (0, 10_000)),
        "visits": (RNG.poisson(RNG.gamma(0.7, 4.0, ROWS)), (0, 100)),
        "gift": (np.where(RNG.random(ROWS) < 0.6, 0, RNG.choice([5, 10, 20, 25, 50], ROWS)), (0, 500)),
        "delay": (np.clip(RNG.exponential(40, ROWS) - 20, -60, 1440), (-60, 1440)),
        "price": (RNG.lognormal(12.0, 0.5, ROWS), (0, 2_000_000)),
        "smoked": (np.where(RNG.random(ROWS) < 0.7, 0, 5 * RNG.integers(1, 9, ROWS)), (0, 100)),
        "age": (np.round(ages), (18, 100)),
        "age of five": (5 * np.round(ages / 5), (15, 100)),
        "years of school": (RNG.choice([8, 10, 12, 14, 16, 18], ROWS, p=[0.05, 0.1, 0.45, 0.1, 0.2, 0.1]), (0, 20)),
        "score": (np.clip(normal(72, 13, ROWS), 0, 100), (0, 100)),
        "share of right answers": (RNG.beta(5, 2, ROWS), (0, 1)),
        "temperature": (normal(12, 9, ROWS), (-30, 50)),
        "height": (normal(171, 9.5, ROWS), (100, 230)),
        "weight": (RNG.gamma(25, 3.1, ROWS), (30, 250)),
        "hours": (np.where(RNG.random(ROWS) < 0.5, 40, np.clip(normal(33, 12, ROWS), 0, 80)), (0, 100)),
        "blood pressure": (normal(125, 17, ROWS), (50, 250)),
        "satisfaction": (RNG.integers(0, 11, ROWS), (0, 10)),
        "sleep": (normal(7.2, 1.1, ROWS), (0, 24)),
    }


COLUMNS = {name: (np.clip(values, *bounds).astype(float), bounds) for name, (values, bounds) in generated().items()}


def kept(one, data, truth, half_width):
    """The share of releases that are so near to the truth: the system's noise, from one draft."""
    draft = one.draft()
    counted = tally(read(data, draft.columns), draft.requests, most=ROWS)
    released = np.array([np.ravel(np.ma.filled(draw(draft, counted).table, 0.0)) for _ in range(RUNS)])
    return float((np.abs(released - truth) <= half_width * (1 + 1e-9)).mean(axis=0).min())


def spreads():
    """Standard deviations to a twentieth of themselves."""
    for name, (values, bounds) in COLUMNS.items():
        sd = values.std(ddof=1)
        one = Wanted("standard_deviation", {"column": "x", "bounds": bounds, "rows": ROWS, "epsilon": 1})
        yield name, one, {"x": values}, sd, 0.05 * sd


def correlations():
    """Correlations of neighbouring columns to a twentieth."""
    names = list(COLUMNS)
    for first, second in zip(names[::2], names[1::2], strict=True):
        (x, of_x), (y, of_y) = COLUMNS[first], COLUMNS[second]
        # Half of the rows in the order of the values, so that they are correlated.
        order = np.arange(ROWS) < ROWS // 2
        x, y = (np.concatenate([np.sort(z[order]), z[~order]]) for z in (x, y))
        one = Wanted("correlation", {"bounds": {"x": of_x, "y": of_y}, "rows": ROWS, "epsilon": 1})
        yield f"{first}, {second}", one, {"x": x, "y": y}, np.corrcoef(x, y).ravel(), 0.1


def means():
    """Means to a tenth of a standard deviation."""
    for name, (values, bounds) in COLUMNS.items():
        one = Wanted("mean", {"column": "x", "bounds": bounds, "rows": ROWS, "epsilon": 1})
        yield name, one, {"x": values}, values.mean(), 0.1 * values.std()


CASES = {"standard deviation": spreads, "correlation": correlations, "mean": means}


@pytest.mark.claim("errors-of-most")
@pytest.mark.parametrize("name", CASES)
def test_nine_of_ten_columns_keep_the_target_at_the_least_epsilon_and_not_at_a_third(name):
    """A share of 120 releases that is 95% in truth is below 85% less than once in 100,000 columns."""
    shares = {}
    for column, one, data, truth, half_width in CASES[name]():
        found = least_epsilon(one, Target(half_width=half_width))
        shares[column] = [kept(one.but(epsilon=x), data, truth, half_width) for x in (float(found), float(found) / 3)]
    at_found, at_third = np.array(list(shares.values())).T
    assert (at_found >= 0.85).mean() >= 0.9, shares
    # Of 2,400 releases, or 1,200: at 95% in truth it is below this less than once in 10,000,000.
    assert at_found.mean() >= 0.917, shares
    # The negative control, in the columns that need their ε.
    needed = at_found < 0.999
    assert at_third.mean() < at_found.mean() - 0.02, shares
    assert at_third[needed].mean() < 0.8, shares


def laplace_sd(mean, sd, rows, half_width):
    """The ε for a spread around a centre, to first order: (1 + |m|)² (W/2)² ln 20/(2 n sd h), on bounds 0 to 100."""
    far = abs(mean - 50) / 50
    return (1 + far) ** 2 * 50**2 * math.log(20) / (2 * rows * sd * half_width)


@pytest.mark.parametrize(("mean", "sd"), [(20, 5), (35, 10), (80, 15)])
def test_the_epsilon_at_one_truth_is_that_of_the_formula(mean, sd):
    """Beside the 8% of ε that finds the centre. Other truths have other formulas: the negative control."""
    rows, half_width = 40_000, 0.05 * sd
    one = Wanted("standard_deviation", {"bounds": (0, 100), "rows": rows, "epsilon": 1}, {"mean": mean, "sd": sd})
    found = least_epsilon(one, Target(half_width=half_width))
    assert found == pytest.approx(laplace_sd(mean, sd, rows, half_width) / 0.92, rel=0.12)
    assert found.middle == found
    assert found != pytest.approx(laplace_sd(50, sd, rows, half_width) / 0.92, rel=0.12)


def test_the_worst_case_is_within_what_is_plausible():
    """Of a standard deviation it is the least one, with the farthest mean; of a correlation, the least two."""
    rows, target = 40_000, Target(half_width=0.25, worst=True)
    keywords = {"bounds": (0, 100), "rows": rows, "epsilon": 1}
    one = Wanted("standard_deviation", keywords, {"sd": (5, 20), "mean": (10, 60)})
    worst = least_epsilon(one, target)
    assert worst == pytest.approx(laplace_sd(10, 5, rows, 0.25) / 0.92, rel=0.12)
    most = least_epsilon(one, Target(half_width=0.25))
    assert most.middle < most < worst
    narrower = Wanted("standard_deviation", keywords, {"sd": (10, 20), "mean": (10, 60)})
    assert least_epsilon(narrower, target) == pytest.approx(worst / 2, rel=0.15)
    pair = {"bounds": {"x": (0, 100), "y": (0, 100)}, "rows": rows, "epsilon": 1}
    found = [
        least_epsilon(Wanted("correlation", pair, {"sd": (low, 25)}), Target(half_width=0.1, worst=True))
        for low in (5, 10)
    ]
    assert found[1] == pytest.approx(found[0] / 4, rel=0.3)


def test_what_a_column_holds_makes_the_answer_its_own():
    bounds = {"bounds": (0, 100), "rows": 5000, "epsilon": 1}
    none, amount, measure = (
        Wanted("standard_deviation", bounds, None if kind is None else {"values": kind})
        for kind in (None, "amount", "measure")
    )
    target = Target(half_width=0.5)
    epsilons = [least_epsilon(one, target) for one in (measure, none, amount)]
    assert 1.5 * epsilons[0] < epsilons[1] < epsilons[2]
    # Typical errors follow: amounts are narrow, and lie near the bound.
    assert forecast_errors(amount).typical > 3 * forecast_errors(measure).typical
    by_name = Wanted("standard_deviation", {"column": "x", **bounds}, {"x": {"values": "amount"}})
    assert least_epsilon(by_name, target) == epsilons[2]
    with pytest.raises(ValueError, match="values of plausible must be one of 'amount', 'measure'"):
        least_epsilon(Wanted("standard_deviation", bounds, {"values": "income"}), target)


@pytest.mark.parametrize(
    ("statistic", "keywords", "before"),
    [
        ("mean", {"bounds": (0, 100), "rows": 2000}, 0.15),
        ("proportion", {"rows": 1000}, 0.285),
        ("histogram", {"levels": list("abcd"), "rows": 1000}, 0.211),
        ("kendall", {"bounds": {"x": (0, 1), "y": (0, 1)}, "rows": 2000}, 0.122),
    ],
)
def test_where_the_error_does_not_depend_on_the_truth_the_answer_is_that_of_before(statistic, keywords, before):
    half_width = {"mean": 1, "proportion": 0.01, "histogram": 20, "kendall": 0.05}[statistic]
    found = least_epsilon(Wanted(statistic, keywords), Target(half_width=half_width))
    assert found == pytest.approx(before, rel=0.01)
    assert found.middle == found
    assert found.text.endswith("for all plausible columns")


def test_the_answer_is_a_number_that_says_what_it_holds_for():
    one = Wanted("standard_deviation", {"bounds": (0, 100), "rows": 5000})
    found = least_epsilon(one, Target(half_width=0.5))
    assert found.middle < found < 6 * found.middle
    assert f"{float(found):g} keeps ±0.5 in 95% of releases for 9 of 10 plausible columns" in found.text
    assert f"{found.middle:g} for the middle one" in found.text
    assert json.loads(json.dumps({"epsilon": found})) == {"epsilon": float(found)}
    again = pickle.loads(pickle.dumps(found))
    assert (again, again.middle, again.text) == (found, found.middle, found.text)
    assert f"{found}" == repr(float(found))
    assert "an RMSE of 0.5 for" in least_epsilon(one, Target(rmse=0.5)).text
    assert least_epsilon(one, Target(half_width=0.5, worst=True)).text.endswith("for all plausible columns")


@pytest.mark.claim("errors-of-most")
def test_of_all_truths_nine_of_ten_keep_the_target_and_half_keep_it_at_the_middle():
    one = Wanted("standard_deviation", {"bounds": (0, 100), "rows": 5000})
    found = least_epsilon(one, Target(half_width=0.5))
    for epsilon, share in ((float(found), MOST), (found.middle, 0.5)):
        figures = find_errors(one.but(epsilon=epsilon)).figures
        assert (figures <= 0.5 * 1.05).mean() == pytest.approx(share, abs=0.05)


@pytest.mark.claim("errors-of-most")
@pytest.mark.parametrize("groups", [2, 3, 8, 40])
def test_likely_truths_are_possible_and_add_up(groups):
    levels = [f"g{i}" for i in range(groups)]
    keywords = {"column": "x", "bounds": (0, 100), "by": "g", "levels": levels, "rows": 20_000, "epsilon": 1}
    situation = Wanted("standard_deviation", keywords).draft().record.situation(None, 20_000)
    truths = list_likely(find_truths(situation, "spread"), 50)
    spreads = np.array([truth.matrix[0, 0] for truth in truths]) ** 0.5
    means = np.array([truth.means[0] for truth in truths])
    assert ((spreads / 50) ** 2 + ((means - 50) / 50) ** 2 <= 1 + 1e-9).all()
    assert spreads.min() == pytest.approx(100 / 60, rel=0.1)
    assert spreads.max() == pytest.approx(25, rel=0.1)
    near = np.isclose(means, np.minimum(1.5 * spreads, 50))
    assert near.sum() == 25
    for truth in truths:
        assert len(truth.sizes) == groups
        assert truth.sizes.min() >= 1
        assert truth.sizes.sum() == pytest.approx(20_000, rel=0.01)
    uneven = np.array([truth.sizes.max() / truth.sizes.min() for truth in truths])
    assert uneven.min() < 2 < 10 < uneven.max() <= 20_000 * 1.01


def test_stated_ranges_take_the_place_of_what_is_likely():
    keywords = {"bounds": (0, 100), "rows": 20_000, "epsilon": 1}
    record = Wanted("variance", keywords).draft().record
    stated = {"sd": (5, 20), "mean": (40, 60)}
    truths = list_likely(find_truths(record.situation(stated, 20_000), "squared spread"), 50)
    spreads, means = (
        [read(truth) for truth in truths] for read in (lambda t: t.matrix[0, 0] ** 0.5, lambda t: t.means[0])
    )
    assert 5 <= min(spreads) < 5.2 < 19 < max(spreads) <= 20
    assert np.median(spreads) == pytest.approx(10, rel=0.05)
    assert 40 <= min(means) < 41 < 59 < max(means) <= 60


@pytest.mark.parametrize(
    "error",
    [
        lambda x: 7 / x,
        lambda x: 7 / x**2 + 0.2,
        lambda x: math.ceil(70 / x) / 10,
        lambda x: math.inf if x < 40 else 1.0 if x < 700 else 0.0,
        lambda x: min(7 / x, 2.0),
        lambda x: 0.3 + 0 * x,
    ],
)
@pytest.mark.parametrize("goal", [0.01, 0.25, 0.5, 1, 2])
@pytest.mark.parametrize("start", [1, 30, 5000])
def test_the_search_finds_what_trying_all_places_finds(error, goal, start):
    asked = []

    def error_of(place):
        asked.append(place)
        return error(place)

    found = Search(error_of, float, round, (1, 5000)).find(goal, start)
    assert found == next((x for x in range(1, 5001) if error(x) <= goal), None)
    assert len(asked) == len(set(asked)) <= 40


def test_the_least_rows_keep_the_target_for_nine_of_ten():
    one = Wanted("standard_deviation", {"bounds": (0, 100), "epsilon": 1})
    target = Target(half_width=1)
    rows = least_rows(one, target)
    assert target.reached(one.but(rows=rows)) <= 1 < target.reached(one.but(rows=round(0.97 * rows)))
    assert rows > 1.5 * least_rows(Wanted(one.statistic, one.keywords, {"values": "measure"}), target)
