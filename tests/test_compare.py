"""The comparison with other libraries: its page is made of its figures, and its figures of what was released."""

import importlib.util
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bench import compare
from bench.peers import Task, cases, centred, covariances, matrices, moved_back, of_a_sample, page

ROOT = Path(__file__).parents[1]
FOUND = json.loads((ROOT / "docs" / "compare.json").read_text("utf-8"))


def test_the_page_shows_the_figures_and_nothing_else():
    assert (ROOT / "docs" / "compare.md").read_text("utf-8") == page.page(FOUND)
    assert page.short(FOUND) in page.page(FOUND)


def test_every_library_is_there_or_says_why_not():
    assert list(FOUND["libraries"]) == list(compare.LIBRARIES)
    for one in FOUND["libraries"].values():
        assert one.get("missing") or one["versions"][one["package"]]


def test_our_promises_hold_in_the_figures():
    assert page.kept(FOUND), page.promises(FOUND)
    assert len(page.promises(FOUND)) == 3


@pytest.mark.parametrize(
    "spoil",
    [
        lambda ours: ours["errors"][0].update(impossible=1),
        lambda ours: ours["audits"][0].update(certified=1.01),
        lambda ours: next(row for row in ours["errors"] if row["statistic"] == "variance").update(rmse_by_law=1e9),
    ],
)
def test_a_promise_that_does_not_hold_is_seen(spoil):
    found = json.loads(json.dumps(FOUND))
    spoil(found["libraries"]["inbounds"])
    assert not page.kept(found)


def test_what_was_drawn_is_what_the_laws_say():
    """Errors as drawn, beside those that the libraries compute from their laws: within five standard errors."""
    known = 0
    for name, library in FOUND["libraries"].items():
        for row in library.get("errors", ()):
            if "rmse_by_law" in row:
                known += 1
                assert abs(row["rmse"] - row["rmse_by_law"]) < 5 * row["rmse_se"], (name, row)
    # Our means and variances are made of two numbers, which have no law of one.
    assert known >= 24


def test_a_peer_that_is_better_is_listed():
    found = json.loads(json.dumps(FOUND))
    before = page.wins(found)
    ours = next(row for row in found["libraries"]["inbounds"]["errors"] if row["statistic"] == "mean")
    ours["rmse"] *= 100
    gained = [row for row in page.wins(found) if row not in before]
    assert gained
    assert all(row[0] == "RMSE" and row[1].startswith("mean of") for row in gained)


def test_a_bias_is_mended_by_an_estimate_that_has_none_and_no_more_error():
    found = json.loads(json.dumps(FOUND))
    ours = next(row for row in found["libraries"]["inbounds"]["errors"] if row["statistic"] == "mean")
    theirs = page.error(found, "diffprivlib", ours)
    ours.update(bias=theirs["rmse"], bias_se=0.0, rmse=theirs["rmse"], rmse_se=0.0)
    theirs.update(bias=0.0, bias_se=0.0, rmse_se=0.0)
    ours["unbiased"] = {"bias": 0.0, "bias_se": 0.0, "rmse": theirs["rmse"], "rmse_se": 0.0}

    def listed():
        return [row for row in page.wins(found) if row[0] == "bias" and row[2] == "diffprivlib" and "mean of" in row[1]]

    before = listed()
    ours["unbiased"]["rmse"] *= 2
    assert len(listed()) == len(before) + 1
    del ours["unbiased"]
    assert len(listed()) == len(before) + 1


def test_a_correlation_is_judged_with_its_mirror():
    row = {"rmse": 3.0, "bias": -1.0, "rmse_mirrored": 4.0, "bias_mirrored": 7.0}
    assert page._of_both_signs(row)["rmse"] == pytest.approx(math.sqrt(12.5))
    assert page._of_both_signs(row)["bias"] == pytest.approx(5)
    assert page._of_both_signs({"rmse": 3.0, "bias": -1.0}) == {"rmse": 3.0, "bias": -1.0}


def test_errors_of_some_statistics_replace_their_own_rows_alone():
    old = FOUND["libraries"]["inbounds"]["errors"]
    new = [row | {"rmse": 7.0} for row in old if row["statistic"] == "correlation"]
    made = compare.replace_errors(old, new, ["correlation"])
    assert [row | {"rmse": 0} for row in made] == [row | {"rmse": 0} for row in old]
    assert {row["rmse"] for row in made if row["statistic"] == "correlation"} == {7.0}
    assert [row for row in made if row["statistic"] != "correlation"] == [
        row for row in old if row["statistic"] != "correlation"
    ]
    found = json.loads(json.dumps(FOUND))
    found["libraries"]["inbounds"]["again"] = {"correlation": {"date": "2030-01-02", "version": "9"}}
    assert (
        "The errors of a correlation were measured again, in more releases, on 2030-01-02, with inbounds 9."
        in page.page(found)
    )


def test_a_mirrored_table_has_the_correlation_with_the_other_sign():
    task = two_columns()
    x, y = (np.corrcoef(list(one.columns.values()))[0, 1] for one in (task, cases.mirrored(task)))
    assert y == pytest.approx(-x)


def two_columns(rows: int = 50) -> Task:
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 10, rows)
    columns = {"x": x.tolist(), "y": (3 * x + rng.uniform(0, 5, rows)).tolist()}
    return Task("covariance", "substitute", columns, {"x": (0, 10), "y": (0, 40)}, 1.0, 2)


def test_covariances_are_built_of_variances():
    task = two_columns()
    asked = []

    def variances(task, column, bounds, epsilon):
        asked.append((min(column) >= bounds[0], max(column) <= bounds[1], sum(bounds), epsilon))
        return [float(np.var(column, ddof=1))] * task.releases

    truth = np.cov(list(task.columns.values()))
    np.testing.assert_allclose(covariances(task, variances), [truth[0, 1]] * 2, rtol=1e-12)
    assert asked == [(True, True, 0, 1 / 2)] * 2
    asked.clear()
    np.testing.assert_allclose(matrices(task, variances), [truth] * 2, rtol=1e-12)
    assert asked == [(True, True, 0, 1 / 3)] * 3


def test_columns_are_centred_and_means_moved_back():
    task = Task("mean", "add-remove", {"x": [10.0, 14.0]}, {"x": (10, 20)}, 1.0, 1)
    assert centred(task.column, task.ends) == ([-5.0, -1.0], (-5.0, 5.0), 15.0)

    def means(task, column, bounds, epsilon):
        assert (bounds, epsilon) == ((-5.0, 5.0), 1.0)
        return [sum(column) / 2] * task.releases

    assert moved_back(task, means) == [12.0]


def test_neighbours_in_an_audit_are_treated_alike():
    """Nothing may depend on a secret number of rows but the release itself."""
    tasks = cases.neighbouring("variance", "add-remove", 1)
    assert [task.rows for task in tasks] == [99, 100]
    assert of_a_sample(tasks[0], [1.0]) == of_a_sample(tasks[1], [1.0]) == [100 / 99]


def test_intervals_are_cut_to_what_is_possible():
    count, share = cases.Population("histogram", None, (0, 3), levels=4), cases.Population("proportion", 0.05, (0, 1))
    ends = np.array([-2.5, 3.2]), np.array([1.7, 250.0])
    assert [one.tolist() for one in count.possible("substitute", *ends)] == [[0, 4], [1, 200]]
    assert [one.tolist() for one in count.possible("add-remove", *ends)] == [[0, 4], [1, 250]]
    assert [one.tolist() for one in share.possible("substitute", np.array([-0.1]), np.array([0.2]))] == [[0], [0.2]]


@pytest.mark.parametrize(
    ("statistic", "good", "bad"),
    [
        ("mean", [0.0, 10.0], [-1e-12, 10.1, math.nan]),
        ("proportion", [0.0, 1.0], [1.01, math.inf]),
        # Half of four records at either end: 25 · 4/3.
        ("variance", [0.0, 100 / 3], [-0.1, 33.4]),
        ("histogram", [[0, 4]], [[-1, 5], [0.5, 3.5], [0, 3]]),
        ("covariance", [[[1, 1], [1, 1]], [[1, -0.5], [-0.5, 1]]], [[[1, 1.1], [1.1, 1]], [[-1, 0], [0, 1]]]),
    ],
)
def test_what_is_impossible(statistic, good, bad):
    bounds = (0, 1) if statistic == "proportion" else (0, 10)
    task = Task(statistic, "substitute", {"x": [0.0] * 4}, {"x": bounds}, 1.0, 1)
    values = np.array(good + bad, dtype=float)
    assert cases.impossible(statistic, values, task).tolist() == [False] * len(good) + [True] * len(bad)


def test_what_else_is_impossible():
    protected = Task("histogram", "add-remove", {"x": [0.0] * 4}, {"x": (0, 1)}, 1.0, 1)
    assert cases.impossible("histogram", np.array([[0, 3], [-1, 5]]), protected).tolist() == [False, True]
    # Four records, half of them at either end of both columns: 25 · 4/3 = 33.3.
    alone = Task("covariance", "substitute", {"x": [0.0] * 4}, {"x": (0, 10), "y": (0, 10)}, 1.0, 1)
    assert cases.impossible("covariance", np.array([-33.3, 33.4]), alone).tolist() == [False, True]


def test_error_of_values_that_were_released():
    column = np.array([0.0, 0.0, 1.0, 1.0])
    table = cases.Table("t", "made", ("x", column, (0, 1)), ("a", column), ("l", column.astype(int), 2), {}, {})
    found = compare.error(table, table.task("mean", "substitute", 1.0, 4), np.array([0.4, 0.6, 0.9, 0.9]))
    assert found["rmse"] == pytest.approx(math.sqrt((0.01 + 0.01 + 0.16 + 0.16) / 4))
    assert found["bias"] == pytest.approx(0.2)
    assert (found["releases"], found["impossible"]) == (4, 0)


def test_correlations_are_mended_before_they_are_judged():
    matrices = np.array([[[1.0, 2.0], [2.0, 1.0]], [[-1.0, 0.5], [0.5, 1.0]], [[4.0, 1.0], [1.0, 1.0]]])
    assert cases.off_diagonal("correlation", matrices).tolist() == [1.0, 0.0, 0.5]


@pytest.mark.skipif(importlib.util.find_spec("statsmodels") is None, reason="real tables come with statsmodels")
def test_bounds_hold_the_real_tables():
    for table in cases.tables():
        for statistic in compare.STATISTICS:
            task = table.task(statistic, "substitute", 1.0, 1)
            for name, column in task.columns.items():
                lower, upper = task.bounds[name]
                assert lower <= min(column) <= max(column) <= upper


def test_our_side_of_the_comparison_answers():
    from bench.peers import run, with_inbounds

    for statistic, neighbours in with_inbounds.STATISTICS:
        if statistic in (*cases.PAIRS, "means"):
            task = two_columns()
            if statistic == "means":
                task = replace(
                    task, columns={"x": task.columns["x"], "z": task.columns["x"]}, bounds={"x": (0, 10), "z": (0, 10)}
                )
        else:
            bounds = {"x": (0, 1) if statistic == "proportion" else (0, 3)}
            task = Task(statistic, neighbours, {"x": [0, 1, 1, 0] * 10}, bounds, 1.0, 2, levels=4)
        said = run.answer(
            with_inbounds, cases.as_json(task, "values") | {"statistic": statistic, "neighbours": neighbours}
        )
        assert not cases.impossible(statistic, np.array(said["values"], dtype=float), task).any()
