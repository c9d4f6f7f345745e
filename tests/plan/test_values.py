"""What a column of a plan holds: it reaches previews and targets, and nothing that is released."""

import pytest

from inbounds.errors import PlanError
from inbounds.plan.plan import Plan
from inbounds.service.ahead import Ahead
from inbounds.targets import Target, least_epsilon


def plan(values, **item):
    columns = {
        "x": {"bounds": [0, 1000], **({} if values is None else {"values": values})},
        "y": {"bounds": [0, 100], "values": "measure"},
        "g": {"levels": ["a", "b"]},
    }
    release = [{"name": "it", "statistic": "standard_deviation", "columns": ["x"], **item}]
    return Plan.of({"data": {"rows": 5000}, "budget": {"epsilon": 1}, "columns": columns, "release": release})


def test_the_hint_of_a_column_reaches_its_previews_and_targets():
    found = {}
    for values in (None, "amount", "measure"):
        wanted = plan(values).wanted()["it"]
        assert wanted.plausible == (None if values is None else {"x": {"values": values}})
        found[values] = least_epsilon(wanted, Target(half_width=5))
    assert found["measure"] * 1.5 < found[None] < found["amount"]
    typical = [plan(values).preview().prospects[0].forecast.typical for values in ("measure", None, "amount")]
    assert typical[0] < typical[1] < typical[2]


def test_the_hint_and_what_a_release_states_are_joined():
    flat = plan("amount", plausible={"sd": [60, 90]}).wanted()["it"]
    assert flat.plausible == {"sd": [60, 90], "x": {"values": "amount"}}
    named = plan("amount", plausible={"x": {"sd": [60, 90]}}).wanted()["it"]
    assert named.plausible == {"x": {"values": "amount", "sd": [60, 90]}}
    epsilons = [least_epsilon(one, Target(half_width=1)) for one in (flat, named)]
    assert epsilons[0] == epsilons[1]
    assert epsilons[0] < least_epsilon(plan("amount").wanted()["it"], Target(half_width=1))
    # A number is the statistic itself: it stays as it is.
    assert plan("amount", plausible=25).wanted()["it"].plausible == 25


@pytest.mark.parametrize(
    ("statistic", "columns", "more"),
    [
        ("mean", ["x"], {}),
        ("mean", ["x"], {"by": "g"}),
        ("sum", ["x"], {}),
        ("median", ["x"], {}),
        ("variance", ["x"], {}),
        ("covariance", ["x", "y"], {}),
        ("correlation", ["x", "y"], {}),
        ("moments", ["x", "y"], {}),
        ("regression", ["y", "x", "g"], {}),
        ("kendall", ["x", "y"], {}),
        ("histogram", ["g"], {}),
    ],
)
def test_every_statistic_takes_columns_with_hints(statistic, columns, more):
    made = plan("amount", statistic=statistic, columns=columns, **more)
    (prospect,) = made.preview().prospects
    assert prospect.forecast.typical > 0
    assert least_epsilon(made.wanted()["it"], Target(half_width=prospect.forecast.reach)) > 0


def test_another_word_is_refused_before_anything_is_spent():
    with pytest.raises(PlanError, match=r"columns\.x\.values: must be 'amount' or 'measure'"):
        plan("money")


def test_the_page_finds_the_epsilon_for_nine_of_ten_columns():
    ahead = Ahead(plan(None))
    found = float(ahead.least_epsilon("it", 5.0))
    exact = least_epsilon(plan(None).wanted()["it"], Target(half_width=5))
    assert exact <= found <= 1.3 * exact
    # A typical column needs less: what the page said before.
    assert next(item["half_width"] for item in ahead.at(f"{found:g}")["items"]) < 0.6 * 5
