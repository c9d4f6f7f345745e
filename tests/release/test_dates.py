"""Dates and times as bounds, edges and values: the same numbers wherever they come from, and dates again in the end."""

from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest

import inbounds as ib
from inbounds.errors import DataError
from inbounds.plan.plan import Plan
from inbounds.plan.release import release
from inbounds.privacy.terms import Terms
from inbounds.tables.engine import tally
from inbounds.tables.sources import read
from inbounds.tables.times import count_time, make_time, read_time, write_time

YEAR = (date(2013, 1, 1), date(2013, 12, 31))


def days(size=300, seed=2):
    rng = np.random.default_rng(seed)
    return [YEAR[0] + timedelta(int(day)) for day in rng.integers(-20, 400, size)]


def tables():
    """The same dates as dates, as text, as objects, as NumPy's and as times of the same days."""
    own = days()
    frame = pl.DataFrame({"day": own})
    noon = [datetime(day.year, day.month, day.day, 12, 30, 7) for day in own]
    return {
        "polars": frame,
        "lazy": frame.lazy(),
        "times": pl.DataFrame({"day": noon}),
        "pandas": frame.to_pandas(),
        "arrow": frame.to_arrow(),
        "objects": {"day": own},
        "text": {"day": [str(day) for day in own]},
        "numpy": {"day": np.array(own, dtype="datetime64[D]")},
        "text of times": {"day": [str(time) for time in noon]},
    }


@pytest.mark.claim("records")
@pytest.mark.parametrize("name", tables())
def test_dates_are_days_wherever_they_come_from(name):
    statistic = ib.Mean("day", YEAR)
    draft = statistic.draft(Terms.of(1, rows=300))
    (cells,) = tally(read(tables()[name], draft.columns), list(draft.requests))
    clipped = [(min(max(day, YEAR[0]), YEAR[1]) - YEAR[0]).days for day in days()]
    assert cells == {(): (300, (sum(clipped),), (sum(day * day for day in clipped),))}


def test_every_day_and_second_is_itself():
    start = datetime(1583, 1, 1)
    for offset in range(0, 900_000, 977):
        moment = start + timedelta(days=offset, seconds=offset * 31 % 86400)
        assert make_time(float(count_time(moment, "datetime")), "datetime") == moment
        assert make_time(float(count_time(moment, "date")), "date") == moment.date()
        assert read_time(write_time(count_time(moment, "date"), "date")) == moment.date()


def test_a_mean_of_dates_is_a_date():
    made = ib.mean({"day": days()}, "day", bounds=YEAR, epsilon=10**5)
    clipped = [min(max(day, YEAR[0]), YEAR[1]) for day in days()]
    truth = YEAR[0] + timedelta(round(np.mean([(day - YEAR[0]).days for day in clipped])))
    assert made.value == truth
    assert str(truth) in str(made)
    assert str(truth) in made._repr_html_()
    low, high = made.interval(kind="noise").ends
    assert low <= truth <= high
    assert "clipped to 2013-01-01 to 2013-12-31" in str(made.interval())
    again = ib.Release.from_json(made.to_json())
    assert again == made
    assert again.value == truth
    assert float(made) == pytest.approx(float(count_time(truth, "date")), abs=0.5)


def test_times_by_group_and_edges_of_dates():
    rng = np.random.default_rng(5)
    times = [datetime(2020, 3, 1) + timedelta(seconds=int(x)) for x in rng.integers(0, 86400 * 30, 400)]
    table = {"at": times, "g": rng.choice(["a", "b"], 400).tolist()}
    bounds = ("2020-03-01 00:00:00", "2020-03-31 00:00:00")
    made = ib.mean(table, "at", bounds=bounds, by="g", levels=["a", "b"], epsilon=10**5)
    truth = np.mean([(t - times[0]).total_seconds() for t, g in zip(times, table["g"], strict=True) if g == "a"])
    assert made.value.dtype == np.dtype("datetime64[s]")
    assert abs((made.value[0].item() - times[0]).total_seconds() - truth) < 60
    cut = ib.histogram(table, "at", edges=["2020-03-01", "2020-03-11", "2020-03-31"], epsilon=10**5)
    assert cut.axes == (("[2020-03-01, 2020-03-11)", "[2020-03-11, 2020-03-31]"),)
    assert cut.value[0] == sum(t < datetime(2020, 3, 11) for t in times)
    assert ib.Release.from_json(cut.to_json()) == cut


def test_a_plan_with_dates(tmp_path):
    pl.DataFrame({"day": [*days()[:-1], None]}).write_csv(tmp_path / "days.csv")
    (tmp_path / "plan.toml").write_text(
        """
[data]
source = "days.csv"
rows = 300
[budget]
epsilon = 1e5
[columns]
day = { bounds = [2013-01-01, 2013-12-31], edges = [2013-01-01, 2013-07-01, 2013-12-31], missing = 2013-03-01 }
[[release]]
name = "day"
statistic = "mean"
columns = ["day"]
[[release]]
name = "halves"
statistic = "histogram"
columns = ["day"]
[[release]]
name = "summer"
statistic = "count"
columns = []
where = "month(day) in (6, 7, 8)"
""",
        "utf-8",
    )
    made = release(Plan.load(tmp_path / "plan.toml"))
    made.write(tmp_path / "out")
    assert isinstance(made["day"].value, date)
    assert made["summer"].value == sum(day.month in (6, 7, 8) for day in days()[:-1])
    assert str(made["day"].value) in (tmp_path / "out" / "report.html").read_text("utf-8")
    assert f",{made['day'].value}," in (tmp_path / "out" / "values.csv").read_text("utf-8")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ib.sum(days(), bounds=YEAR, epsilon=1), "a sum of dates or times means nothing"),
        (lambda: ib.mean(days(), bounds=(YEAR[1], YEAR[0]), epsilon=1), "lower < upper"),
        (lambda: ib.mean(days(), bounds=(YEAR[0], 5), epsilon=1), "bounds of 'x'"),
        (lambda: ib.mean(days(), bounds=("2013-02-30", "2013-03-01"), epsilon=1), "bounds of 'x'"),
        (lambda: ib.mean(days(), bounds=YEAR, missing=3, epsilon=1), "missing of 'x' must be a date"),
        (lambda: ib.mean(pl.Series("x", [1.0]), bounds=YEAR, epsilon=1), "must hold dates or times"),
        (lambda: ib.mean(["2013-01-05", "soon"], bounds=YEAR, epsilon=1), "column 'x' has missing values"),
        (lambda: ib.mean(pl.Series("x", days()), bounds=(0, 1), epsilon=1), "must hold numbers"),
    ],
)
def test_mistakes_with_dates(call, words):
    with pytest.raises((ValueError, TypeError, DataError), match=words):
        call()


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns", "M"])
@pytest.mark.parametrize("span", [False, True])
def test_whether_a_time_of_numpy_is_missing(unit, span):
    """Also spans of time, and times that are dates elsewhere in the condition."""
    times = np.array(["2020-01-01", "NaT", "2021-06-01", "NaT", "2022-01-01"] * 200, f"datetime64[{unit}]")
    table = {"at": times - times[0] if span else times}
    ask = {"epsilon": 100, "neighbours": "add-remove"}
    assert abs(ib.count(table, where="at is null", **ask).value - 400) < 5
    assert abs(ib.count(table, where="at is not null", **ask).value - 600) < 5
    if not span:
        both = "at is null or at < date '2021-01-01'"
        assert abs(ib.count(table, where=both, **ask).value - 600) < 5


def test_days_between_two_dates(tmp_path):
    """The same from every kind of table; where a number is needed, dates are refused before anything is charged."""
    lines = [f"2020-01-{day % 28 + 1:02d},2020-03-{day % 28 + 1:02d}" for day in range(1_000)]
    path = tmp_path / "stays.csv"
    path.write_text("\n".join(["start,end", *lines]))
    typed = pl.read_csv(path, try_parse_dates=True)
    # February had 29 days.
    for table in (path, pd.read_csv(path), typed, typed.to_dict(as_series=False), typed.to_arrow()):
        stay = ib.mean(table, "stay", bounds=(0, 400), derive={"stay": "days(end) - days(start)"}, epsilon=100)
        assert abs(stay.value - 60) < 1
        long = ib.count(table, where="days(end) - days(start) > 59", epsilon=100, neighbours="add-remove")
        assert abs(long.value - 1_000) < 5
    with pytest.raises(ib.errors.DataError, match=r"must hold numbers, .* or write days\(end\) if it holds dates"):
        ib.mean(typed, "stay", bounds=(0, 400), derive={"stay": "end - start"}, epsilon=1)


@pytest.mark.parametrize("formula", ["end - start", "start * 2", "end - date '2020-01-01'", "datediff(end, start)"])
def test_arithmetic_of_dates_is_refused_with_the_remedy(formula, tmp_path):
    """In a plan whose columns are dates, before a file is opened: the message has the function that counts days."""
    dates = {"bounds": [date(2020, 1, 1), date(2021, 1, 1)]}
    plan = {
        "data": {"rows": 10, "source": str(tmp_path / "none.csv")},
        "budget": {"epsilon": 1},
        "derive": {"stay": formula},
        "columns": {
            "start": dates,
            "end": dates,
            "stay": {"bounds": [0, 400], "missing": "skip"},
        },
        "release": [{"name": "stay", "statistic": "mean", "columns": ["stay"]}],
    }
    with pytest.raises(ib.errors.PlanError, match=r"the days between two dates are days\(later\) - days\(earlier\)"):
        ib.Plan.of(plan)
