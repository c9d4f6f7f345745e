"""Objects as a notebook shows them: tables that say what they are, and charts of the same numbers."""

import json
import re

import numpy as np
import pytest

import inbounds as ib
from inbounds import demo as example


def drawn(chart):
    """The rows that a chart is made of, and its marks."""
    body = json.loads(chart.to_json())
    return [row for rows in body["datasets"].values() for row in rows], json.dumps(body)


def test_releases_show_themselves():
    table = example.survey(500)
    one = ib.mean(table, "age", bounds=(18, 100), epsilon=1)
    page = one._repr_html_()
    assert f"<td>{one.value:.1f}</td>" in page
    assert "ε = 1 per record, substitute; expected RMSE" in page
    rows, _ = drawn(one.plot())
    lower, upper = one.interval()
    assert (rows[0]["from"], rows[0]["value"], rows[0]["to"]) == (lower, one.value, upper)
    shares = ib.proportions(table, "health", levels=list(example.HEALTH), epsilon=1)
    rows, _ = drawn(shares.plot(0.9, kind="noise"))
    assert [row["cell"] for row in rows] == list(example.HEALTH)
    assert [row["value"] for row in rows] == shares.value.tolist()
    matrix = ib.covariance(table, bounds={"age": (18, 100), "sleep": (0, 16)}, epsilon=1)
    rows, text = drawn(matrix.plot())
    assert [row["value"] for row in rows] == matrix.value.ravel().tolist()
    assert '"type": "rect"' in text
    many = ib.histogram([1], levels=list(range(60)), epsilon=1)._repr_html_()
    assert "and 10 more" in many
    evil = ib.histogram(["<b>"], levels=["<b>", "x"], epsilon=1)._repr_html_()
    assert "<b>" not in evil
    blank = ib.preview("mean", bounds=(0, 1), epsilon=1, rows=10).asked.record
    assert blank._repr_html_() == "<p>mean of x: not released</p>"


def read_table(page):
    """The cells of a table, line by line, and its heads with the room that they take."""
    lines = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in re.findall(r"<tr>(.*?)</tr>", page)]
    return lines, re.findall(r'<th scope="(\w+)" (?:row|col)span="(\d+)">(.*?)</th>', page)


def test_tables_of_two_columns_are_shown_in_two_ways():
    table = {"region": ["north", "south", "south"], "smoker": ["no", "yes", "no"], "age": ["<b>", "old", "old"]}
    levels = {"region": ["north", "south"], "smoker": ["yes", "no"]}
    two = ib.crosstab(table, levels=levels, epsilon=1)
    lines, heads = read_table(two._repr_html_())
    assert heads == [("col", "2", "region"), ("colgroup", "2", "smoker")]
    counts = [[str(x) for x in row] for row in two.value.tolist()]
    assert lines == [["region", "smoker"], ["yes", "no"], ["north", *counts[0]], ["south", *counts[1]]]
    three = ib.crosstab(table, levels=levels | {"age": ["<b>", "old"]}, epsilon=1)
    lines, heads = read_table(three._repr_html_())
    assert heads == [("col", "2", "region"), ("col", "2", "smoker"), ("colgroup", "2", "age")]
    assert lines[1] == ["&lt;b&gt;", "old"]
    assert [line[:2] for line in lines[2:]] == [["north", "yes"], ["north", "no"], ["south", "yes"], ["south", "no"]]
    assert [int(x) for line in lines[2:] for x in line[2:]] == three.value.ravel().tolist()


def test_matrices_are_shown_as_matrices():
    bounds = {"x": (0, 1), "y": (0, 10)}
    # So large an epsilon that no variance comes out at 0.
    matrix = ib.correlation({"x": [0.1, 0.4, 0.8], "y": [1.0, 6.0, 2.0]}, bounds=bounds, epsilon=1000)
    lines, heads = read_table(matrix._repr_html_())
    values = [[f"{x:.6g}" for x in row] for row in matrix.value.tolist()]
    assert (lines, heads) == ([["", "x", "y"], ["x", *values[0]], ["y", *values[1]]], [])


def test_of_large_tables_a_part_is_shown():
    levels = {"a": list(range(52)), "b": list(range(21))}
    page = ib.crosstab({"a": [1], "b": [1]}, levels=levels, epsilon=1)._repr_html_()
    lines, _ = read_table(page)
    assert [len(line) for line in lines] == [2, 20, *[21] * 50, 1]
    assert lines[-1] == ["and 2 more rows and 1 more column"]
    assert '<td colspan="21">and 2 more' in page


@pytest.mark.parametrize(
    "bounds", [(0, 1), (0, float("inf")), (float("-inf"), 2), (float("-inf"), float("inf"))], ids=str
)
@pytest.mark.parametrize("bounding", ["bit", "truncated", "unbounded"])
def test_mechanisms_show_themselves(bounding, bounds):
    law = ib.Mechanism(ib.Laplace(0.2), bounding, bounds=bounds)
    assert f"<td>{law.worst_bias():.6g}</td>" in law._repr_html_()
    rows, _ = drawn(law.plot([0.5]))
    heights = [(row["released"], row["density"]) for row in rows if "density" in row]
    assert len(heights) == 400
    x, density = np.array(heights).T
    assert density == pytest.approx(law.pdf(x, at=0.5))
    chances = [row["probability"] for row in rows if "probability" in row]
    assert chances == [p for p in map(float, law.atoms(at=0.5)) if p > 0]
    assert law.plot() is not None


def test_previews_intervals_and_results_of_plans_show_themselves():
    seen = ib.preview("covariance", bounds={"a": (0, 1), "b": (0, 2)}, rows=100, epsilon=1)
    lines, _ = read_table(seen._repr_html_())
    assert len(lines) == 2 + len(seen.options)
    assert sum(line[0].endswith(" *") for line in lines) == 1
    counts = ib.histogram(list("aab") * 50, levels=list("ab"), epsilon=1)
    interval = counts.interval(kind="noise")
    lines, _ = read_table(interval._repr_html_())
    assert lines[1:] == [
        [label, f"{low:.6g}", f"{high:.6g}"]
        for label, low, high in zip("ab", interval.lower, interval.upper, strict=True)
    ]
    both = ib.Releases({"<first>": counts, "second": ib.mean([1.0], bounds=(0, 2), epsilon=1)})
    page = both._repr_html_()
    assert page.count("<table>") == 2
    assert "<h4>&lt;first&gt;</h4>" in page
