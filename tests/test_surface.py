"""What a release looks like to those who use it: its help, its conversions, and what showing it costs."""

import inspect
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import inbounds as ib
from inbounds import expected
from inbounds.repairs import matrix
from inbounds.report.rows import HEADS
from inbounds.statistics import registered

FUNCTIONS = sorted(registered())


def sections(text):
    """The sections of a numpydoc docstring: title and lines."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}$", inspect.cleandoc(text), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def named(section):
    """The names that a section explains."""
    return [line.partition(" : ")[0] for line in section.splitlines() if line and not line.startswith(" ")]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_of_a_release_function_is_complete(name):
    function = getattr(ib, name)
    found = sections(function.__doc__)
    assert named(found["Parameters"]) == list(inspect.signature(function).parameters)
    assert named(found["Returns"]) == ["Release"]
    assert named(found["Raises"]) == ["TypeError, ValueError", "DataError", "BudgetRefused"]
    assert found["Examples"].strip().startswith(">>> ")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_types_of_release_functions_are_told(name):
    function = getattr(ib, name)
    kinds = [keyword.annotation for keyword in inspect.signature(function).parameters.values()]
    assert all("Any" not in kind for kind in kinds)
    lines = [line for line in sections(function.__doc__)["Parameters"].splitlines() if " : " in line]
    # In words, and not as the names of types that nobody has seen.
    assert all(not re.search(r"Mapping|Sequence|Data|Table|Bounds|Levels|Number|Ledger|Tree", line) for line in lines)


def test_single_numbers_are_numbers():
    one = ib.mean([1.0, 2.0, 4.0], bounds=(0, 5), epsilon=1)
    assert float(one) == one.value
    assert np.asarray(one).shape == ()
    assert np.asarray(one, dtype=np.float32) == np.float32(one.value)
    assert one.to_polars().rows() == [("mean", one.value)]
    assert one.to_pandas()["value"].tolist() == [one.value]


def test_single_numbers_have_a_format():
    one = ib.mean([1.0, 2.0, 4.0], bounds=(0, 5), epsilon=1)
    assert f"{one:.2f}" == f"{one.value:.2f}"
    assert f"{one}" == str(one)
    days = ib.mean({"d": ["2020-01-01", "2020-12-31"] * 50}, "d", bounds=("2019-01-01", "2021-12-31"), epsilon=9)
    assert f"{days:%d.%m.%Y}" == days.value.strftime("%d.%m.%Y")
    two = ib.histogram(["a", "b"], levels=["a", "b"], epsilon=1)
    with pytest.raises(TypeError, match="several numbers"):
        f"{two:.2f}"


def test_releases_are_one_frame():
    table = {"x": [1.0, 2.0, 3.0, 4.0] * 50, "d": ["2020-01-01", "2020-12-31"] * 100, "g": ["a", "b"] * 100}
    made = ib.Releases(
        {
            "mean": ib.mean(table, "x", bounds=(0, 9), epsilon=3),
            "days": ib.mean(table, "d", bounds=("2019-01-01", "2021-12-31"), epsilon=9),
            "median": ib.median(table, "x", bounds=(0, 9), epsilon=3),
            "groups": ib.count(table, by="g", levels=["a", "b"], epsilon=3),
        }
    )
    frame, other = made.to_polars(), made.to_pandas()
    assert tuple(frame.columns) == tuple(other.columns) == HEADS
    assert frame["release"].to_list() == other["release"].tolist() == ["mean", "days", "median", "groups", "groups"]
    assert frame["cell"].to_list()[3:] == ["a", "b"]
    lower, upper = made["mean"].interval()
    (first,) = frame.filter(release="mean").select("value", "lower", "upper", "rmse").rows()
    assert first == (made["mean"].value, lower, upper, made["mean"].error.rmse)
    numbers = ["value", "lower", "upper", "rmse", "bias", "epsilon"]
    assert {frame.schema[name] for name in numbers} == {pl.Float64}
    assert np.array_equal(other[numbers].to_numpy(), frame.select(numbers).to_numpy(), equal_nan=True)
    # Dates are days, as their errors are; their text is beside them.
    (day,) = frame.filter(release="days").select("value", "rounded").rows()
    assert np.datetime64(round(day[0]), "D") == np.datetime64(made["days"].value)
    assert day[1].startswith(str(made["days"].value))
    assert frame["rmse"].null_count() == 0 or frame.filter(release="median")["rmse"].null_count() == 1


def test_tables_are_arrays_and_frames():
    table = {"region": ["n", "s", "n"], "smoker": [True, False, False]}
    two = ib.crosstab(table, levels={"region": ["n", "s"], "smoker": [True, False]}, epsilon=1)
    assert np.array_equal(np.asarray(two), two.value)
    frame = two.to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == ["region", "smoker", "value"]
    assert frame["region"].to_list() == ["n", "n", "s", "s"]
    assert frame["value"].to_list() == two.value.ravel().tolist()
    other = two.to_pandas()
    assert isinstance(other, pd.DataFrame)
    assert other.to_dict("list") == frame.to_dict(as_series=False)
    with pytest.raises(TypeError, match="several numbers"):
        float(two)
    with pytest.raises(ValueError, match="copy=True"):
        np.asarray(two, copy=False)


def test_showing_a_large_matrix_simulates_nothing_and_repairs_it_once(monkeypatch):
    """Not repr, not text and not the notebook's view; the error takes a bounded number of repairs, once."""
    repairs, simulations = [], []
    solve, simulate = matrix.newton_correlation, expected.simulate

    def count_repair(*given):
        repairs.append(1)
        return solve(*given)

    def count_simulation(*given, **named):
        simulations.append(1)
        return simulate(*given, **named)

    monkeypatch.setattr(matrix, "newton_correlation", count_repair)
    monkeypatch.setattr("inbounds.derivations.base.simulate", count_simulation)
    rng = np.random.default_rng(1)
    table = {f"x{i}": rng.normal(50, 10, 3_000) for i in range(40)}
    made = ib.covariance(table, bounds=dict.fromkeys(table, (0, 100)), epsilon=1)
    for _ in range(2):
        repr(made), str(made), made._repr_html_(), made.value
    assert (len(repairs), simulations) == (1, [])
    assert made.error is made.error
    assert simulations == [1]
    assert len(repairs) <= 1 + 100 + 1


def test_errors_of_large_matrices_take_fewer_draws():
    assert [expected.affordable_matrices(k * (k + 1) // 2, k, "newton") for k in (20, 50, 100, 500)] == [
        100,
        100,
        60,
        20,
    ]
