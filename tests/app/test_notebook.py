"""Objects as a notebook shows them: tables that say what they are, and charts of the same numbers."""

import json

import numpy as np
import pytest

import inbounds as ib
from inbounds.app import example


def drawn(chart):
    """The rows that a chart is made of, and its marks."""
    body = json.loads(chart.to_json())
    return [row for rows in body["datasets"].values() for row in rows], json.dumps(body)


def test_releases_show_themselves():
    table = example.survey(500)
    one = ib.mean(table, "age", bounds=(18, 100), epsilon=1)
    page = one._repr_html_()
    assert f"<td>{one.value:.6g}</td>" in page
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
