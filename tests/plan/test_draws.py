"""Who is drawn with whom: everybody who gains by it, and nobody who would lose."""

import time
import tomllib
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from inbounds.grid.entropy import SeededEntropy
from inbounds.plan import draws
from inbounds.plan.plan import Plan, PlanError
from inbounds.road import draw
from tests import health as demo
from tests.plan.joint import MIXED, groups_of, mean, noise_of, plan_of, proportion, scalars

DRAWS = 20_000


def demonstration(**budget):
    content = tomllib.loads(demo.PLAN, parse_float=Decimal)
    return Plan.of(content | {"budget": content["budget"] | budget})


def worth(draft):
    """What the noise of a joint number must be multiplied by, to be in the units of the same release by itself."""
    if draft.record.method != "mean from noisy moments":
        return 1.0
    ((low, high),) = draft.record.numeric_ends().tolist()
    return (high - low) / 2 / draft.record.rows


def variances_of(plan):
    """For each joint release the variance of its numbers' noise over that by itself, by simulation."""
    separate = plan.model_copy(update={"budget": plan.budget.model_copy(update={"joint": False})}).drafts()
    rng, found = np.random.default_rng(7), {}
    for name, draft in plan.drafts().items():
        if draft.record.group is not None:
            own, alone = (noise_of(one, rng, DRAWS).var(axis=0) * worth(one) ** 2 for one in (draft, separate[name]))
            # A mean may come with the square of its column, whose noise is not of interest here.
            found[name] = (own / alone[: len(own)])[:1] if draft.record.statistic.name == "mean" else own / alone
    return found


@pytest.mark.claim("joint-arrangement")
def test_equal_numbers_are_all_drawn_together():
    plan = plan_of(scalars(20))
    assert groups_of(plan) == [{f"r{i}" for i in range(20)}]
    (certificate,) = {draft.record.certificate for draft in plan.drafts().values()}
    assert (certificate.epsilon, certificate.dimension, certificate.draws) == (1, 20, 1)
    assert sorted(draft.record.places for draft in plan.drafts().values()) == [(i,) for i in range(20)]


@pytest.mark.claim("joint-arrangement")
def test_the_demonstration():
    together = {"age", "blood pressure", "variance of blood pressure", "correlations"}
    groups = groups_of(demonstration())
    assert together in groups
    assert {"smokers"} in groups
    assert len(groups) == 5


@pytest.mark.claim("joint-arrangement")
@pytest.mark.parametrize("make", [demonstration, lambda: plan_of(scalars(6)), lambda: plan_of(dict(MIXED))])
def test_nobody_has_more_noise_than_by_itself(make):
    """By simulation from the certificates; a standard error of the variances is about 1%."""
    ratios = variances_of(make())
    assert len(ratios) > 3
    # 3% for what the second moments of balls are rounded to, and four standard errors.
    assert max(ratio.max() for ratio in ratios.values()) <= 1.03 + 0.06
    assert min(ratio.min() for ratio in ratios.values()) < 0.97


def test_one_who_would_lose_is_noticed(monkeypatch):
    """The control: drawn with everybody, whoever loses by it, one release has far more noise than by itself."""
    monkeypatch.setattr(draws, "_keep_those_who_gain", lambda candidates: (candidates, []))
    plan = plan_of({"large": mean("x0", share=20), "small": mean("x1"), "other": proportion("g0")})
    ratios = variances_of(plan)
    assert ratios["small"] < 0.5
    assert ratios["large"] > 2


@pytest.mark.claim("joint-arrangement")
def test_unequal_shares():
    """One with most of the budget would pay for the others; they gain without it."""
    items = scalars(5)
    items["r0"]["share"] = 30
    assert {frozenset(group) for group in groups_of(plan_of(items))} == {
        frozenset({"r0"}),
        frozenset({"r1", "r2", "r3", "r4"}),
    }
    # Twice as much is not too much to share.
    items["r0"]["share"] = 1.2
    assert groups_of(plan_of(items)) == [set(items)]


def test_joint_can_be_turned_off():
    assert groups_of(plan_of(scalars(4), joint=False)) == [{f"r{i}"} for i in range(4)]
    items = scalars(4)
    items["r2"]["joint"] = False
    assert {"r2"} in groups_of(plan_of(items))
    assert {"r0", "r1", "r3"} in groups_of(plan_of(items))
    with pytest.raises(PlanError, match="joint"):
        plan_of(scalars(2), joint="no")


def test_truncated_and_grouped_releases_stay_alone():
    items = scalars(4) | {"t": mean("x9", bounding="truncated"), "u": mean("x8", bounding="truncated")}
    items |= {"by": mean("x7", by="g7"), "table": {"statistic": "histogram", "columns": ["g6"]}}
    columns = {"g7": {"levels": ["a", "b"]}}
    groups = groups_of(plan_of(items, columns=columns))
    assert {"r0", "r1", "r2", "r3"} in groups
    assert all({name} in groups for name in ("t", "u", "by", "table"))


def test_protected_numbers_of_rows_stay_alone():
    items = [{"name": f"m{i}", "statistic": "mean", "columns": ["x"]} for i in range(3)]
    plan = Plan.of(
        {
            "data": {"neighbours": "add-remove", "expected_rows": 100},
            "budget": {"epsilon": 1},
            "columns": {"x": {"bounds": [0, 1]}},
            "release": items,
        }
    )
    assert len(groups_of(plan)) == 3


def test_a_mistake_of_a_release_is_told_as_one_of_the_plan():
    """What cannot be released at all is not drawn with others either."""
    with pytest.raises(PlanError, match=r"release\.m: denominator"):
        plan_of({"m": mean("x0", denominator=50), "n": mean("x1")})
    with pytest.raises(PlanError, match=r"release\.p: denominator"):
        plan_of({"p": proportion("g0", denominator=50), "n": mean("x1")})


def test_a_hundred_are_arranged_in_less_than_a_second():
    plan = plan_of(scalars(100))
    asked = {name: one.ask() for name, one in plan.wanted().items()}
    start = time.process_time()
    (names,) = draws.arrange(asked)
    assert len(names) == 100
    assert time.process_time() - start < 1


def test_large_matrices_stay_alone_and_draws_stay_small():
    """What would have more numbers than a draw may have is left in several."""
    columns = [f"x{i}" for i in range(50)]
    items = scalars(4) | {"large": {"statistic": "covariance", "columns": columns}}
    assert {"large"} in groups_of(plan_of(items, rows=10**6))
    items = {
        f"c{k}": {"statistic": "covariance", "columns": [f"x{i}" for i in range(40 * k, 40 * k + 40)]} for k in range(4)
    }
    drafts = plan_of(items, rows=10**6).drafts().values()
    assert max(draft.record.certificate.dimension for draft in drafts) <= 2000


def test_a_copy_of_a_plan_drafts_anew_only_for_what_matters():
    plan = plan_of(scalars(3))
    moved = plan.model_copy(update={"data": plan.data.model_copy(update={"source": "elsewhere.csv"})})
    assert moved.drafts() is plan.drafts()
    more = plan.model_copy(update={"budget": plan.budget.model_copy(update={"epsilon": Decimal(2)})})
    assert more.drafts()["r0"].record.epsilon == 2


def test_twenty_numbers_have_far_less_error_together(monkeypatch):
    """One draw of all instead of twenty at a twentieth each: 2·20²/((21·22)/3) = 5.19 times less MSE.

    Drawn as a release draws, on a grid, with seeds; a standard error of the ratio is about 2%.
    """
    entropy = SeededEntropy(22)
    monkeypatch.setattr(draw, "entropy_source", lambda: entropy)
    together, separate = plan_of(scalars(20)).drafts(), plan_of(scalars(20), joint=False).drafts()
    law = together["r0"].record.certificate
    vectors = np.array([list(map(float, draw.draw_joint([[Fraction(0)] * 20], law))) for _ in range(1000)])
    gains = []
    for name, draft in together.items():
        (place,), (unit,) = draft.record.places, draft.record.units
        own = separate[name].record.certificate
        alone = replace(own, law=replace(own.law, bounding="unbounded", first=None, last=None))
        # Proportions by themselves are counts on a grid of their own.
        single = np.array([float(draw.draw_single(Fraction(0), alone)) for _ in range(1000)])
        gains.append((single**2).mean() / ((vectors[:, place] * float(unit)) ** 2).mean())
    gain = np.mean(gains)
    print(f"MSE one by one over that of one draw: {gain:.2f}")
    assert gain >= 4.5
    assert abs(gain / (2 * 20**2 / (21 * 22 / 3)) - 1) < 0.12


def test_the_gain_is_that_of_the_draw():
    """The same from the certificates; and the control: one by one there is nothing to gain."""
    gains = [1 / ratio[0] for ratio in variances_of(plan_of(scalars(20))).values()]
    assert abs(np.mean(gains) / (2 * 20**2 / (21 * 22 / 3)) - 1) < 0.05
    assert variances_of(plan_of(scalars(20), joint=False)) == {}
