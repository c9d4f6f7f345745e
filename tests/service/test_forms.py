"""What forms ask for, against the schema and the classes; and the paper's figures, against formulas."""

import math

import pytest

from inbounds import service
from inbounds.plan.plan import Plan
from inbounds.statistics import registered


def test_every_key_of_the_schema_is_there_with_its_kind():
    schema, keys = Plan.model_json_schema()["$defs"], service.list_keys()
    for part, name in (("data", "Data"), ("budget", "Budget"), ("columns", "Column")):
        assert [one["name"] for one in keys[part]] == list(schema[name]["properties"])
    kinds = {(part, one["name"]): one["kind"] for part, some in keys.items() for one in some}
    assert kinds["data", "null_values"] == "list"
    assert kinds["data", "fold"] == "table"
    assert kinds["data", "keep"] == "choice"
    assert kinds["budget", "epsilon"] == "number"
    assert kinds["budget", "joint"] == "flag"
    assert kinds["columns", "missing"] == "any"
    assert kinds["release", "where"] == "text"
    # A key of one statistic is asked for with that statistic, and nowhere else.
    own = {one["name"] for made in service.list_statistics() for one in made["keys"]}
    assert {"q", "level", "repair", "within", "side"} <= own
    assert not own & {one["name"] for one in keys["release"]}
    every = set(schema["Item"]["properties"])
    assert every <= own | {"by"} | {one["name"] for one in keys["release"]}


def test_keys_of_statistics_are_explained_and_have_their_choices():
    made = {one["name"]: {key["name"]: key for key in one["keys"]} for one in service.list_statistics()}
    assert set(made) == set(registered())
    assert all(key["help"] for keys in made.values() for key in keys.values())
    assert made["bounds"]["side"]["choices"] == ["both", "upper", "lower"]
    assert made["mean"]["method"]["choices"] == ["moments", "direct"]
    assert made["quantile"]["q"] == made["quantile"]["q"] | {"needed": True, "choices": []}
    assert not made["median"]["step"]["needed"]


@pytest.mark.parametrize(("name", "case"), [(one["name"], one["cases"][-1]) for one in service.list_figures()])
def test_every_figure_has_points_for_all_sizes(name, case):
    got = service.simulate_figure(name, case)
    assert got["quantities"]
    assert len(got["lines"]) == (3 if name == "1" else 4)
    for line in got["lines"]:
        for measures in line["points"].values():
            assert all(len(measures[key]) >= 9 for key in got["measures"] if key != "coverage" or measures[key])


def test_the_sample_itself_has_the_error_of_a_sample():
    """Against the binomial law. The random numbers are always the same; 5 standard errors are far."""
    got = service.simulate_figure("2", "ε = 1")
    sample, noisy = got["lines"][-1], service.simulate_figure("2", "ε = 0.1")["lines"][0]
    assert "without noise" in sample["title"]
    for quantity, p in got["quantities"].items():
        for n, value, error in sample["points"][quantity]["rmse"]:
            assert abs(value - math.sqrt(p * (1 - p) / n)) < 5 * error
        # The control: what has noise does not fit.
        n, value, error = noisy["points"][quantity]["rmse"][0]
        assert abs(value - math.sqrt(p * (1 - p) / n)) > 5 * error


def test_an_unknown_figure_is_refused():
    with pytest.raises(ValueError, match="figure must be one of"):
        service.simulate_figure("9", "ε = 1")
    with pytest.raises(ValueError, match="case must be one of"):
        service.simulate_figure("2", "r = 0")
