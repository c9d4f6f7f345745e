"""What somebody may have meant by a call, a name or a table that does not fit: one line, before a charge."""

import datetime
import inspect
import re
from pathlib import Path

import duckdb
import ibis
import pandas as pd
import polars as pl
import pytest

import inbounds as ib
from inbounds._keywords import _MEANINGS
from inbounds.errors import DataError, PlanError, RecordError
from inbounds.statistics import registered

COLUMNS = {"health": [1.0, 2.0, 3.0], "b": [2.0, 3.0, 4.0]}
TABLE = pl.DataFrame(COLUMNS)
PAIR = {"bounds": (0, 5), "epsilon": 1}
UNNAMED = pd.DataFrame([[1, 2], [3, 4]])
PLAN = {
    "data": {"rows": 3},
    "budget": {"epsilon": 1},
    "columns": {"b": {"bounds": [0, 5]}},
    "release": [{"name": "m", "statistic": "mean", "columns": ["b"]}],
}

CALLS = {
    "position": (
        lambda: ib.correlation(TABLE, "health", "b", epsilon=1),
        TypeError,
        "correlation takes data by position, and all others by name, as in bounds=... or epsilon=...; its columns are "
        "the keys of bounds=",
    ),
    "bounds": (
        lambda: ib.mean(TABLE, "b", epsilon=1),
        TypeError,
        "mean needs bounds=, the smallest and the largest value that a record may have, known without",
    ),
    "epsilon": (lambda: ib.mean(TABLE, "b", bounds=(0, 5)), TypeError, "mean needs epsilon=, the privacy budget"),
    "explained": (lambda: ib.regression(TABLE, bounds={}, epsilon=1), TypeError, "regression needs column, the name"),
    "bins": (lambda: ib.histogram(TABLE, "b", bins=10, epsilon=1), TypeError, "keyword bins=; did you mean edges=?"),
    "no condition": (
        lambda: ib.regression(TABLE, "b", bounds={"b": (0, 5), "health": (0, 5)}, epsilon=1, where="b > 1"),
        TypeError,
        "regression has no keyword where=; it needs a public number of records, which those that a condition",
    ),
    "name of a preview": (
        lambda: ib.preview("average", bounds=(0, 5), rows=3, epsilon=1),
        ValueError,
        "got 'average' of type str; did you mean 'mean'?",
    ),
    "table for a plan": (
        lambda: ib.release(TABLE),
        TypeError,
        "a plan must be a Plan or its file, got a DataFrame; Plan.of takes a dictionary",
    ),
    "file for a dictionary": (
        lambda: ib.Plan.of("plan.toml"),
        TypeError,
        "content must be a dictionary, got 'plan.toml' of type str; Plan.load reads a file",
    ),
    "group": (lambda: ib.mean(TABLE, "b", **PAIR, group="x"), TypeError, "no keyword group=; did you mean by=?"),
    "numbers for dates": (
        lambda: ib.mean(pl.DataFrame({"b": [datetime.date(2013, 1, 1)]}), "b", **PAIR),
        DataError,
        "must hold numbers to have bounds; convert text or other objects first, or write bounds of dates as 2013-01-31",
    ),
    "no level": (
        lambda: ib.proportion(pl.DataFrame({"b": ["x", "y"]}), "b", epsilon=1),
        DataError,
        "column 'b' must hold 0 and 1, or truths; name the one to count with level=",
    ),
    "two by position": (
        lambda: ib.mean(TABLE, "b", (0, 5), 1),
        TypeError,
        "mean takes data and column by position, and all others by name, as in bounds=... or epsilon=...",
    ),
    "regressors by position": (
        lambda: ib.regression(TABLE, "b", ["health"], bounds={"b": (0, 5)}, levels={"health": [1, 2]}, epsilon=1),
        TypeError,
        "its columns are the keys of bounds= and levels=",
    ),
    "one rule for all columns": (
        lambda: ib.moments(TABLE, bounds={"b": (0, 5)}, epsilon=1, missing=0),
        TypeError,
        "missing must be 'skip', or a dictionary by column",
    ),
    "a list of dictionaries": (
        lambda: ib.histogram(TABLE.to_dicts(), "b", levels=["x", "y"], other="x", missing="x", epsilon=1),
        TypeError,
        "got a list of dictionaries; make a table of it, as in polars.DataFrame(data) or {'age': [row['age'] for",
    ),
    "a list of rows": (
        lambda: ib.mean(TABLE.rows(), "b", **PAIR, missing=1),
        TypeError,
        "got a list of rows; make a table of it, as in polars.DataFrame(data, orient='row')",
    ),
    "batches": (
        lambda: ib.mean(TABLE.to_arrow().to_reader(), "b", **PAIR),
        TypeError,
        "got pyarrow.lib.RecordBatchReader; hand over the table that its read_all() gives",
    ),
    "a connection": (
        lambda: ib.mean(duckdb.connect(), "b", **PAIR),
        TypeError,
        "got _duckdb.DuckDBPyConnection; hand over one of its tables, as in connection.table('survey')",
    ),
    "a column of a query": (
        lambda: ib.mean(ibis.table({"b": "float64"}, name="t").b, **PAIR),
        TypeError,
        "FloatingColumn; hand over the table itself, and name the column",
    ),
    "keyword of a statistic": (lambda: ib.Mean("b", bound=(0, 5)), TypeError, "Mean has no keyword bound=; did you"),
    "keyword of a release": (
        lambda: ib.Mean("b", (0, 5), where="b > 1"),
        TypeError,
        "Mean has no keyword where=; it belongs to a release, which is inbounds.mean(...)",
    ),
    "a statistic without its bounds": (lambda: ib.Mean("b"), TypeError, "Mean needs bounds, the smallest and the"),
    "a statistic by position": (lambda: ib.Kendall(*[None] * 9), TypeError, "Kendall takes bounds and "),
    "preview by position": (
        lambda: ib.preview("mean", "b", **PAIR),
        TypeError,
        "preview takes statistic by position, and all others by name, as in preview('mean', column='age', ",
    ),
    "preview of nothing": (lambda: ib.preview(**PAIR), TypeError, "preview needs statistic, as in preview('mean'"),
    "keyword of a target": (
        lambda: ib.targets.least_epsilon("mean", half_width=1),
        TypeError,
        "least_epsilon has no keyword half_width=; write least_epsilon(Wanted('mean', {'bounds': (0, 100), 'rows': ",
    ),
    "no target": (
        lambda: ib.targets.least_rows("mean"),
        TypeError,
        "least_rows needs target, as in least_rows(Wanted(",
    ),
    "keyword of Target": (lambda: ib.targets.Target(width=1), TypeError, "Target has no keyword width=; write Target("),
    "keyword of Wanted": (
        lambda: ib.targets.Wanted("mean", bounds=(0, 5)),
        TypeError,
        "Wanted has no keyword bounds=; write Wanted('mean', {'bounds': ",
    ),
    "keyword": (
        lambda: ib.mean(TABLE, "b", bounds=(0, 5), eps=1),
        TypeError,
        "no keyword eps=; did you mean epsilon=?",
    ),
    "delta": (lambda: ib.mean(TABLE, "b", **PAIR, delta=1e-6), TypeError, "no keyword delta=; there is no delta"),
    "name": (lambda: ib.std, AttributeError, "no attribute 'std'; did you mean 'standard_deviation'?"),
    "misspelt name": (lambda: ib.medain, AttributeError, "did you mean 'median'?"),
    "groups": (lambda: ib.mean(pd.DataFrame(COLUMNS).groupby("health"), "b", **PAIR), TypeError, "of groups with by="),
    "no data": (lambda: ib.mean(None, "b", **PAIR), TypeError, "got NoneType"),
    "numbered columns": (lambda: ib.mean(UNNAMED, "b", **PAIR), DataError, "as in df.columns = ['age', 'sex']"),
    "number of a column": (lambda: ib.mean(UNNAMED, 0, **PAIR), TypeError, "columns that have no names get them by"),
    "repeated columns": (
        lambda: ib.mean(UNNAMED.set_axis(["a", "a"], axis=1), "a", **PAIR),
        DataError,
        "two columns of the same name, 'a'; rename one",
    ),
    "repeated levels": (
        lambda: ib.histogram(TABLE, "b", levels=["x", "y", "x"], epsilon=1),
        ValueError,
        "levels of 'b' must be different, and 'x' of type str is there twice",
    ),
    "dates": (
        lambda: ib.mean(TABLE, "b", bounds=("01.01.1970", "31.12.1980"), epsilon=1),
        ValueError,
        "got '01.01.1970'; write a date as 1970-01-31",
    ),
    "commas": (lambda: ib.mean(TABLE, "b", bounds=("0,5", "6"), epsilon=1), ValueError, "decimals with a point"),
    "percent": (lambda: ib.mean(TABLE, "b", bounds=(0, 5), epsilon="5%"), ValueError, "write 5% as 0.05"),
    "near name": (lambda: ib.count(TABLE, where="helth = 1", epsilon=1), DataError, "did you mean 'health'?"),
    "a name in another case": (
        lambda: ib.count(TABLE, where="HEALTH = 1", epsilon=1),
        DataError,
        "no column 'HEALTH'; did you mean 'health'?",
    ),
    "no near name": (
        lambda: ib.mean(TABLE, "x", derive={"x": "HP * 2"}, **PAIR),
        DataError,
        "the table has no column 'HP'; if it is meant as text, write it in single quotes",
    ),
    "one correlation": (
        lambda: ib.correlation(TABLE, bounds={"b": (0, 5)}, epsilon=1),
        ValueError,
        "a correlation needs two or more columns",
    ),
    "path": (lambda: ib.Release.from_json(Path("release.json")), TypeError, "read a file with Path(...).read_text()"),
    "text of a path": (
        lambda: ib.Release.from_json("release.json"),
        RecordError,
        "give its text: Path(...).read_text()",
    ),
    "decimal comma": (
        lambda: ib.Plan.of(PLAN | {"columns": {"b": {"bounds": [0, 5, 60, 5]}}}),
        PlanError,
        "at most 2 entries, got 4; write decimals with a point, as in 0.5",
    ),
    "release": (lambda: ib.release(ib.Plan.of(PLAN), TABLE)["visit"], KeyError, "no release 'visit'; there are 'm'"),
}


@pytest.mark.parametrize("case", CALLS)
def test_what_may_have_been_meant(case):
    call, kind, words = CALLS[case]
    with pytest.raises(kind) as told:
        call()
    assert words in str(told.value)
    assert "\n" not in str(told.value)


def test_what_python_says_well_is_left_to_it():
    with pytest.raises(TypeError, match="multiple values for argument 'column'"):
        ib.mean(TABLE, "b", column="b", **PAIR)


@pytest.mark.parametrize(
    ("suffix", "words"), [("csv", "one of its names is nearly the same"), ("parquet", "'health'?")]
)
def test_a_misspelt_column_of_a_plan(tmp_path, suffix, words):
    """The first line of a CSV file may be a record, so that no name of it is shown."""
    path = tmp_path / f"t.{suffix}"
    getattr(TABLE, f"write_{suffix}")(path)
    columns = {"helth": {"bounds": [0, 5]}}
    item = {"name": "m", "statistic": "mean", "columns": ["helth"]}
    plan = ib.Plan.of(PLAN | {"data": {"rows": 3, "source": str(path)}, "columns": columns, "release": [item]})
    with pytest.raises(DataError) as told:
        ib.release(plan)
    assert words in str(told.value)
    assert ("health" in str(told.value)) == (suffix == "parquet")


def test_a_check_says_where_all_values_are_lost():
    bounds = [datetime.date(1970, 1, 1), datetime.date(1990, 1, 1)]
    plan = ib.Plan.of(PLAN | {"columns": {"b": {"bounds": bounds, "missing": "skip"}}})
    made = ib.check(plan, {"b": ["17-08-1984"] * 3})
    assert "3 are missing and are left out; all of them are no dates." in str(made)
    assert made.verdict.endswith("But no value of b would be read: all are missing.")
    made = ib.check(plan, {"b": ["17-08-1984", "1984-08-17", None]})
    assert "2 are missing and are left out; 1 of them is no date." in str(made)
    assert made.verdict.endswith("as far as the table is concerned.")


def test_a_preview_of_a_large_epsilon_says_so():
    text = str(ib.preview("mean", bounds=(0, 5), rows=100, epsilon=50))
    assert "An epsilon above 5 promises little" in text
    assert "It is no percentage" in " ".join(text.split())
    assert "promises little" not in str(ib.preview("mean", bounds=(0, 5), rows=100, epsilon=1))


@pytest.mark.parametrize("kind", [ib.Covariance, ib.Correlation, ib.Moments])
def test_one_word_leaves_missing_values_of_all_columns_out(kind):
    bounds = {"b": (0, 5), "c": (0, 1)}
    assert kind(bounds, missing="skip") == kind(bounds, missing={"b": "skip", "c": "skip"})
    assert kind(bounds, missing="skip") != kind(bounds, missing={"b": "skip"})


@pytest.mark.parametrize("name", registered())
def test_keywords_of_other_statistics_are_explained(name):
    """Every keyword that some statistic has: the message names statistics that take it, and guesses no other word."""
    function = getattr(ib, name)
    takes = {each: inspect.signature(getattr(ib, each)).parameters for each in registered()}
    for keyword in {key for keys in takes.values() for key in keys} - {*takes[name], "where", "bins"}:
        with pytest.raises(TypeError, match=f"^{name} has no keyword {keyword}=") as caught:
            function(TABLE, **{keyword: 1})
        _, _, named = str(caught.value).partition("; it is a keyword of ")
        others = re.findall(r"\w+", named.removesuffix(" and others"))
        assert others, str(caught.value)
        assert all(keyword in takes[other] for other in others)


MANY = [f"level {number}" for number in range(5_000)]
HUGE = ["x" * 5_000, 10**5_000, MANY, {"x" * 5_000: (0, 1)}, "1e-400000"]
NEEDED = {
    "column": "b", "bounds": (0, 5), "epsilon": 1, "levels": ["a", "b"], "level": "a", "q": 0.5, "within": (0, 9),
    "edges": {"b": [0, 1, 2], "health": [0, 1, 2]}, "by": "health",
}  # fmt: skip


@pytest.mark.parametrize("name", registered())
def test_messages_are_short_whatever_was_passed(name):
    """Each keyword of each function with a value of absurd size: an error of ours, of a few lines, or a release."""
    function = getattr(ib, name)
    parameters = inspect.signature(function).parameters
    given = {key: value for key, value in NEEDED.items() if key in parameters and key not in ("levels", "by")}
    for keyword in set(parameters) - {"data"}:
        for value in HUGE:
            try:
                function(TABLE, **given | {keyword: value})
            except (TypeError, ValueError) as error:
                message = str(error)
                assert len(message) <= 2_000
                assert message.count("\n") <= 20
                assert "set_int_max_str_digits" not in message
    assert set(parameters) <= {*_MEANINGS}
