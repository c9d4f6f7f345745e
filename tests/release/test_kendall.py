"""Releases of Kendall's tau: errors by the formula, plans, previews, and what is refused before anything is spent."""

import json
import math

import numpy as np
import polars as pl
import pytest

import inbounds as ib
from inbounds.derivations import PairMatrix
from inbounds.forecasts.preview import Wanted
from inbounds.laws import least_variance
from inbounds.ledger import Account
from inbounds.privacy.terms import Terms
from inbounds.report.markdown import to_markdown
from inbounds.report.rows import collect_sections
from inbounds.road.draw import draw
from inbounds.tables.engine import tally
from inbounds.tables.sources import read
from tests.release.cases import BOTH, taus


def normal(rows, columns, seed=0):
    """Normal columns that all go together alike."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(rows, 1))
    values = (rng.normal(size=(rows, columns)) + shared) / math.sqrt(2)
    return {f"c{i}": values[:, i] for i in range(columns)}


def within(columns):
    return {f"c{i}": (-5, 5) for i in range(columns)}


def drafted(table, bounds, epsilon):
    """A draft and its tables, counted once, to draw from many times."""
    rows = len(next(iter(table.values())))
    draft = ib.Kendall(bounds=bounds, bins=24).draft(Terms.of(epsilon, rows=rows))
    tables = tally(read(pl.DataFrame(table), draft.columns), draft.requests)
    return draft, tables


@pytest.mark.claim("statistic-kendall")
@pytest.mark.parametrize(("rows", "epsilon"), [(500, 3), (2000, 2), (20_000, 0.2)])
@pytest.mark.parametrize("columns", [2, 4])
def test_errors_are_those_of_the_formula(rows, epsilon, columns):
    """√2 δ/ε of one pair or a staircase's, √((m+1)(m+2)/3) δ/ε of m in one draw, δ = 4/n; half would be seen.

    A mean of 800 squares has a standard error of 8% (Laplace) or 10% (a staircase at ε = 3, more beyond, where few
    draws leave its first step): five to seven of them below, where squares have no tail, and eight or more above.
    """
    draft, tables = drafted(normal(rows, columns, seed=rows), within(columns), epsilon)
    pairs = columns * (columns - 1) // 2
    assert len(draft.requests) == len(tables) == pairs
    (true,) = draft.exact(*tables)
    upper = np.triu_indices(columns, 1)
    exact = np.array([float(x * unit) for x, unit in zip(true, draft.record.units, strict=True)])
    released = np.array([draw(draft, tables).value[upper] for _ in range(800)])
    found = math.sqrt(((released - exact) ** 2).mean())
    delta = 4 / rows / epsilon
    expected = math.sqrt((pairs + 1) * (pairs + 2) / 3) * delta
    if pairs == 1:
        expected = math.sqrt(least_variance(epsilon)) * 4 / rows
    assert found == pytest.approx(expected, rel=0.35)
    assert found != pytest.approx(expected / 2, rel=0.35)
    error = draw(draft, tables).error
    assert error.rmse[upper] == pytest.approx(np.full(pairs, expected), rel=0.1)
    assert (error.rmse.diagonal() == 0).all()


def test_a_matrix_that_is_possible_whatever_the_noise():
    table = normal(60, 5)
    for repair in (None, "clip", "nearest", "newton"):
        for _ in range(6):
            made = ib.kendall(table, bounds=within(5), epsilon=0.5, repair=repair, bins=9)
            assert (made.value.diagonal() == 1).all()
            assert (made.value == made.value.T).all()
            assert (np.abs(made.value) <= 1).all()
            assert np.linalg.eigvalsh(made.value).min() > -1e-12
    assert ib.Kendall(bounds=within(19)).repair == "clip"
    assert ib.Kendall(bounds=within(20)).repair == "newton"


@pytest.mark.claim("statistic-kendall")
def test_the_matrix_of_a_table_is_positive_semidefinite():
    """A Gram matrix of signs, with a diagonal that ties made smaller raised to one."""
    rng = np.random.default_rng(3)
    for levels in (2, 3, 9):
        columns = rng.integers(0, levels, (6, 40))
        columns[3] = levels - 1 - columns[2]
        assert np.linalg.eigvalsh(taus(*columns)).min() > -1e-12


def test_one_pair_has_the_ordinary_law():
    table = normal(300, 2)
    made = ib.kendall(table, bounds=within(2), epsilon=1)
    assert made.certificate.dimension == 1
    assert made.certificate.bounding == "bit"
    assert not made.error.simulated
    cut = ib.kendall(table, bounds=within(2), epsilon=1, bounding="truncated")
    assert cut.certificate.bounding == "truncated"
    assert ib.Release.from_json(cut.to_json()) == cut
    with pytest.raises(ValueError, match="not offered for a kendall released jointly"):
        ib.kendall(normal(300, 3), bounds=within(3), epsilon=1, bounding="truncated")


def test_it_is_called_by_its_name_and_says_how_columns_were_cut():
    table = {"age": [20, 30, 40, 55] * 50, "grade": ["b", "a", "c", "c"] * 50}
    made = ib.kendall(table, bounds={"age": (0, 100)}, levels={"grade": ["a", "b", "c"]}, epsilon=1)
    assert made.title == "Kendall's tau of age, grade"
    assert made.interval().what == "Kendall's tau of age, grade (age in 256 intervals, 0 to 100)"
    assert "correlation" not in str(made)
    assert made.to_polars().columns == ["row", "column", "value"]
    assert "pearson" not in str(made.interval()).lower()
    assert made.axes == (("age", "grade"), ("age", "grade"))


def test_bins_by_the_number_of_columns():
    """As many as keep all two-way tables together below ten million cells."""
    assert [ib.Kendall(bounds=within(d)).bins for d in (2, 17, 18, 35, 36, 200)] == [256, 256, 128, 128, 64, 16]
    assert ib.Kendall(bounds=within(3), bins=1500).bins == 1500
    assert ib.Kendall(edges={"x": [0, 1, 2], "y": [0, 1, 2]}).bins is None


def plan_with(**item):
    return {
        "data": {"rows": 200},
        "budget": {"epsilon": 1},
        "columns": {
            "age": {"bounds": [0, 100], "missing": 40},
            "income": {"edges": [0, 10, 20, 50], "bounds": [0, 50]},
            "grade": {"levels": ["a", "b", "c"], "other": "a", "missing": "b"},
            "text": {},
        },
        "release": [{"name": "order", "statistic": "kendall", "columns": ["age", "income", "grade"], **item}],
    }


def table_of_plan(rows=200):
    rng = np.random.default_rng(1)
    return {
        "age": [None, *rng.integers(0, 101, rows - 1).tolist()],
        "income": rng.uniform(0, 60, rows),
        "grade": rng.choice(["a", "b", "c", "d"], rows),
    }


def test_a_plan_has_it(tmp_path):
    plan = ib.Plan.of(plan_with(bins=40, repair="newton"))
    made = ib.release(plan, table_of_plan(), Account(tmp_path / "l.ledger", "data", 1))
    order = made["order"]
    assert order.statistic == ib.Kendall(
        bounds={"age": (0, 100)},
        edges={"income": [0, 10, 20, 50]},
        levels={"grade": ["a", "b", "c"]},
        bins=40,
        repair="newton",
        missing={"age": 40, "grade": "b"},
        other={"grade": "a"},
    )
    assert ib.Releases.from_json(made.to_json())["order"] == order
    assert plan.preview().prospects[0].name == "order"
    text = to_markdown(made, collect_sections(made))
    assert "Kendall's tau of age, income, grade" in text
    assert "age in 40 intervals, 0 to 100; income in 3 intervals, 0 to 50" in text


WRONG = {
    "one column": ({"columns": ["age"]}, "kendall needs two or more columns"),
    "no order": (
        {"columns": ["age", "text"]},
        r"columns.text: release.* needs bounds = \[lower, upper\], edges = \[...\] or levels",
    ),
    "denominator": ({"denominator": 100}, "denominator: cannot be combined with kendall"),
    "method": ({"method": "joint"}, "method: cannot be combined with kendall"),
    "by": ({"by": "grade", "columns": ["age", "income"]}, "by: cannot be combined with kendall"),
    "bins": ({"bins": 1}, "bins must be >= 2, got 1"),
    "truncated": ({"bounding": "truncated"}, "bounding='truncated' is not offered for a kendall released jointly"),
}


@pytest.mark.parametrize("name", WRONG)
def test_plans_that_are_wrong(name):
    item, words = WRONG[name]
    with pytest.raises(ib.errors.PlanError, match=words):
        ib.Plan.of(plan_with(**item))


def test_add_remove_is_refused_before_a_charge(tmp_path):
    account = Account(tmp_path / "l.ledger", "d", 1)
    words = "kendall needs a public number of rows, because a record is part of as many pairs.* or correlation"
    with pytest.raises(ValueError, match=words):
        ib.kendall(normal(50, 2), bounds=within(2), epsilon=1, neighbours="add-remove", ledger=account)
    with pytest.raises(ValueError, match=words):
        ib.preview("kendall", bounds=within(2), epsilon=1, neighbours="add-remove", expected_rows=50)
    wrong = plan_with() | {"data": {"neighbours": "add-remove"}}
    with pytest.raises(ib.errors.PlanError, match=words):
        ib.Plan.of(wrong)
    assert not (tmp_path / "l.ledger").exists()


@pytest.mark.parametrize("keywords", [{"missing": {"x0": "skip"}}, {"where": "x1 > 0"}])
def test_a_selection_is_refused_before_a_charge(keywords, tmp_path):
    account = Account(tmp_path / "l.ledger", "d", 1)
    words = "kendall cannot leave records out.* or use correlation, which can be released of a selection"
    names = dict(zip(["x0", "x1"], within(2).values(), strict=True))
    table = dict(zip(names, np.zeros((2, 9)), strict=True))
    with pytest.raises(ValueError, match=words):
        ib.kendall(table, bounds=names, epsilon=1, ledger=account, **keywords)
    assert not (tmp_path / "l.ledger").exists()
    assert ib.correlation(table, bounds=names, epsilon=1, **keywords).value.shape == (2, 2)


def test_several_rows_of_a_person_are_refused_in_words_of_their_own(tmp_path):
    account = Account(tmp_path / "l.ledger", "d", 1)
    names = dict(zip(["x0", "x1"], within(2).values(), strict=True))
    table = dict(zip(names, np.zeros((2, 9)), strict=True)) | {"id": list("aabbccdde")}
    given = {"bounds": names, "epsilon": 1, "person": "id"}
    with pytest.raises(ValueError, match=r"kendall needs one record of each person.* contributions=1 or fold=") as seen:
        ib.kendall(table, **given, contributions=2, ledger=account)
    assert "where" not in str(seen.value)
    assert not (tmp_path / "l.ledger").exists()
    assert ib.kendall(table, **given).value.shape == (2, 2)
    assert ib.kendall(table, **given, fold={"x0": "max", "x1": "max"}).value.shape == (2, 2)
    assert ib.correlation(table, **given, contributions=2).value.shape == (2, 2)


BAD = {
    "none": ({}, ValueError, "kendall needs two or more columns"),
    "one": ({"bounds": {"x": (0, 1)}}, ValueError, "kendall needs two or more columns"),
    "twice": ({"bounds": BOTH, "edges": {"age": [0, 1, 2]}}, TypeError, "only one of bounds, edges and levels"),
    "no width": ({"bounds": {"x": (1, 1), "y": (0, 1)}}, ValueError, "bounds of 'x' must satisfy lower < upper"),
    "one interval": ({"edges": {"x": [0, 1], "y": [0, 1, 2]}}, ValueError, "'x' needs two or more intervals"),
    "one level": ({"levels": {"x": ["a"], "y": ["a", "b"]}}, ValueError, "'x' needs two or more levels"),
    "a list": ({"bounds": [(0, 1), (0, 1)]}, TypeError, "bounds must be a dictionary by column"),
    "too many bins": ({"bounds": BOTH, "bins": 4000}, ValueError, "more than 10,000,000 cells; use fewer columns or"),
    "too many edges": (
        {"edges": {"x": np.linspace(0, 1, 4001), "y": np.linspace(0, 1, 4001)}},
        ValueError,
        "more than 10,000,000 cells",
    ),
    "too many columns": ({"bounds": within(201)}, ValueError, "kendall takes at most 200 columns, got 201"),
    "half a bin": ({"bounds": BOTH, "bins": 2.5}, TypeError, "bins must be an integer, got 2.5"),
    "bins of edges": (
        {"edges": {"x": [0, 1, 2], "y": [0, 1, 2]}, "bins": 9},
        TypeError,
        "bins= is only for columns with bounds",
    ),
    "missing": (
        {"bounds": BOTH, "missing": {"z": 1}},
        ValueError,
        "missing has the column 'z', which has no bounds, edges or levels",
    ),
    "missing beyond": ({"bounds": BOTH, "missing": {"age": 101}}, ValueError, "missing of 'age' must lie within"),
    "other": ({"bounds": BOTH, "other": {"age": 1}}, ValueError, "other has the column 'age', which has no levels"),
    "repair": ({"bounds": BOTH, "repair": "project"}, ValueError, "repair must be"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_named(name):
    keywords, error, words = BAD[name]
    with pytest.raises(error, match=words):
        ib.Kendall(**keywords)


def test_bad_tables_are_refused():
    with pytest.raises(ib.errors.DataError, match="fewer rows than the 2"):
        ib.kendall({"age": [1], "weight": [2]}, bounds=BOTH, epsilon=1)
    with pytest.raises(ib.errors.DataError, match="column 'age' has missing values"):
        ib.kendall({"age": [1, None], "weight": [2, 50]}, bounds=BOTH, epsilon=1)
    with pytest.raises(TypeError, match="denominator"):
        ib.kendall({"age": [1, 2], "weight": [2, 50]}, bounds=BOTH, epsilon=1, denominator=5)


def test_persons_pay_for_the_pairs_they_are_in():
    """k(2n-k-1) of n(n-1)/2 pairs, twice: a little less than k times what a record does, and never more than 2."""
    one, three, all_ = (
        ib.Kendall(bounds=BOTH).draft(Terms.of(1, contributions=k, rows=100)).record.certificate.sensitivity
        for k in (1, 3, 500)
    )
    assert (float(one), float(three), float(all_)) == pytest.approx((4 / 100, 2 * 3 * 196 / 9900, 2))


@pytest.mark.parametrize("columns", [2, 3])
def test_previews_are_what_is_released(columns):
    table = normal(400, columns)
    keywords = {"bounds": within(columns), "epsilon": 1, "rows": 400}
    seen = ib.preview("kendall", **keywords, plausible=taus(*table.values()))
    made = ib.kendall(table, bounds=within(columns), epsilon=1)
    upper = np.triu_indices(columns, 1)
    assert seen.forecast.rmse[upper] == pytest.approx(made.error.rmse[upper], rel=0.15)
    assert (seen.forecast.worst_half_width[upper] >= 0.8 * seen.forecast.half_width[upper]).all()
    assert len(seen.options) == (2 if columns == 2 else 1)
    assert seen.asked.record == made.without_numbers()
    assert "method" not in str(seen).splitlines()[1]


def test_what_is_plausible():
    there = Wanted("kendall", {"bounds": BOTH, "epsilon": 1, "rows": 100}, plausible=0.5).draft().record
    assert [float(x) for x in there.derivation.plausible(there.situation(0.5, 100))] == [0.5]
    for wrong in (2, [[1, 0.5], [0.4, 1]], [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]], [[0.5, 0.2], [0.2, 0.5]]):
        with pytest.raises(ValueError, match="plausible must be a symmetric matrix of 2 columns, within -1 and 1"):
            ib.preview("kendall", bounds=BOTH, epsilon=1, rows=100, plausible=wrong)


def test_targets_and_posteriors():
    wanted = Wanted("kendall", {"bounds": BOTH, "rows": 1000})
    # The two elements beside the diagonal, which is known, have an error of √2 · 4/(1000 ε) each.
    assert ib.targets.least_epsilon(wanted, ib.targets.Target(rmse=0.01)) == pytest.approx(0.566, rel=0.05)
    made = ib.kendall(normal(50, 2), bounds=within(2), epsilon=1)
    with pytest.raises(ValueError, match="has no posterior"):
        ib.inference.posterior(made)


def test_the_record_proves_itself():
    made = ib.kendall(normal(100, 3), bounds=within(3), epsilon=1)
    body = json.loads(made.to_json())
    (record,) = body["releases"].values()
    assert record["method"] == "matrix of pairs" == PairMatrix("clip").text
    record["statistic"]["bins"] = 255
    with pytest.raises(ib.errors.RecordError):
        ib.Release.from_json(json.dumps(body))
