"""The picture of a preview: its data, and that it can be drawn."""

import itertools
import json

import pytest

import inbounds as ib
from inbounds.forecasts.picture import curves


@pytest.mark.parametrize(
    ("statistic", "keywords", "options", "overs"),
    [
        ("proportion", {"rows": 100}, {"bit", "truncated"}, {"epsilon", "rows"}),
        (
            "correlation",
            {"rows": 3000, "bounds": {"x": (0, 1), "y": (0, 1)}},
            {"bit, joint", "bit, split", "truncated, split"},
            {"epsilon", "rows"},
        ),
        ("count", {"neighbours": "add-remove"}, {"bit", "truncated"}, {"epsilon"}),
        ("mean", {"neighbours": "add-remove", "bounds": (0, 1), "expected_rows": 50}, {"bit"}, {"epsilon", "rows"}),
    ],
)
def test_errors_fall_along_the_curves(statistic, keywords, options, overs):
    seen = ib.preview(statistic, epsilon=0.5, **keywords)
    data = curves(seen, epsilons=[0.1, 0.5, 3.0], rows=[60, 3000, 100_000] if "rows" in overs else None)
    assert {row["option"] for row in data} == options
    assert {row["over"] for row in data} == overs
    for option in options:
        for over in overs:
            line = [row["rmse"] for row in data if (row["option"], row["over"]) == (option, over)]
            assert len(line) == 3
            # Where noise fills the bounds, simulated errors are flat and waver.
            assert all(later <= 1.05 * earlier for earlier, later in itertools.pairwise(line))
            assert line[-1] < 0.8 * line[0]
    at = next(row for row in data if row["over"] == "epsilon" and row["value"] == 0.5)
    assert at["rmse"] == pytest.approx(seen.forecast.typical)


def test_it_can_be_drawn(tmp_path):
    chart = ib.preview("variance", bounds=(0, 1), rows=3, epsilon=0.5).plot(epsilons=[0.1, 1.0], rows=[1, 2, 30])
    drawn = json.loads(chart.to_json())
    assert len(drawn["hconcat"]) == 2
    chart.save(tmp_path / "preview.svg")
    assert "number of records" in (tmp_path / "preview.svg").read_text("utf-8")


@pytest.mark.parametrize(
    "wrong", [{"epsilons": ["x"]}, {"epsilons": [0]}, {"epsilons": "0.1"}, {"rows": [0]}, {"rows": 5}]
)
def test_wrong_points_are_refused(wrong):
    with pytest.raises((TypeError, ValueError), match=next(iter(wrong))):
        curves(ib.preview("proportion", rows=100, epsilon=1), **wrong)
