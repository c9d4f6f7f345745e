"""Inverse questions: answers are re-checked, and shares of a budget against brute force."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from inbounds.forecasts.preview import Wanted, forecast_errors
from inbounds.targets import Target, _best_shares, least_epsilon, least_rows, share_budget
from tests.forecasts.plans import simulated, wanted

ALL = wanted()


@pytest.mark.claim("least-epsilon")
@pytest.mark.parametrize(
    "name", ["mean", "proportion, truncated", "standard deviation", "histogram", "correlation", "mean, add-remove"]
)
@pytest.mark.parametrize("error", ["rmse", "half_width"])
def test_the_least_epsilon_reaches_its_target_and_less_does_not(name, error):
    one = ALL[name]
    at_one = forecast_errors(one.but(epsilon=1))
    target = Target(**{error: 0.7 * (at_one.typical if error == "rmse" else at_one.reach)})
    epsilon = least_epsilon(one, target)
    assert target.reached(one.but(epsilon=epsilon)) <= target.wanted
    assert target.reached(one.but(epsilon=0.97 * epsilon)) > target.wanted
    rmse, half = simulated(one.but(epsilon=epsilon), 1000)
    assert (rmse if error == "rmse" else half) <= 1.35 * target.wanted


@pytest.mark.parametrize("neighbours", ["substitute", "add-remove"])
def test_the_least_epsilon_of_a_correlation_is_not_where_noise_hides_it(neighbours):
    """Noise draws correlations towards 0. About a correlation of 0 any ε would do: that is the negative control."""
    bounds = {"x": (0, 1), "y": (0, 1)}
    size = {"rows": 2000} if neighbours == "substitute" else {"neighbours": neighbours}
    expected = None if neighbours == "substitute" else 2000
    asked = Wanted("correlation", {"bounds": bounds, "epsilon": 1, **size}, expected_rows=expected)
    epsilons = [least_epsilon(asked, Target(rmse=error)) for error in (0.2, 0.05)]
    assert 0.1 < epsilons[0] < epsilons[1]
    errors = [forecast_errors(asked.but(epsilon=epsilon)).typical for epsilon in (0.01, 0.1, 0.5, 2.0)]
    # A half: the diagonal, which is known, does not count.
    assert errors[0] == pytest.approx(0.5, rel=0.1)
    assert errors[0] * 1.02 > errors[1] > errors[2] > errors[3]
    unrelated = np.diag([0.01, 0.01])
    at_zero = Wanted("correlation", asked.keywords, unrelated, expected)
    assert forecast_errors(at_zero.but(epsilon=0.0001)).typical < forecast_errors(at_zero.but(epsilon=0.05)).typical / 2


def test_worst_cases_and_populations_are_targets_too():
    one = Wanted("proportion", {"rows": 1000})
    typical, worst = (least_epsilon(one, Target(rmse=0.01, worst=w)) for w in (False, True))
    assert typical <= worst
    wide = least_epsilon(one, Target(half_width=0.05, kind="population"))
    assert wide < least_epsilon(one, Target(half_width=0.04, kind="population"))
    with pytest.raises(ValueError, match=r"the error is 0\.031\d* even without noise; use more rows"):
        least_epsilon(one, Target(half_width=0.02, kind="population"))
    rows = least_rows(one.but(epsilon=1), Target(half_width=0.02, kind="population"))
    assert 2400 < rows < 2600
    assert Target(half_width=0.02, kind="population").reached(one.but(rows=rows, epsilon=1)) <= 0.02


def test_the_least_number_of_rows():
    one = Wanted("mean", {"bounds": (0, 1), "epsilon": 0.5})
    target = Target(rmse=0.003, worst=True)
    rows = least_rows(one, target)
    assert target.reached(one.but(rows=rows)) <= 0.003 < target.reached(one.but(rows=rows - 1))
    protected = Wanted("mean", {"bounds": (0, 1), "epsilon": 0.5, "neighbours": "add-remove"})
    assert 100 < least_rows(protected, Target(rmse=0.01)) < 1000
    assert least_rows(one, Target(rmse=10)) == 1
    groups = {"bounds": (0, 1), "by": "g", "levels": list("abcdefgh"), "epsilon": 1}
    assert least_rows(Wanted("pooled_variance", groups), Target(rmse=10)) == 9
    with pytest.raises(ValueError, match="sizes= fixes"):
        least_rows(Wanted("pooled_variance", {**groups, "sizes": {}}), Target(rmse=10))
    with pytest.raises(ValueError, match="use a larger epsilon"):
        least_rows(Wanted("count", {"level": 1, "epsilon": 0.5}), Target(rmse=0.1))
    with pytest.raises(ValueError, match="no epsilon up to"):
        least_epsilon(Wanted("mean", {"bounds": (0, 1), "rows": 10}), Target(rmse=1e-30))
    assert least_epsilon(one.but(rows=100), Target(rmse=10)) == 1e-6


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"rmse": 1, "half_width": 1},
        {"rmse": 0},
        {"rmse": -1},
        {"rmse": 1, "kind": "population"},
        {"half_width": 1, "kind": "x"},
    ],
)
def test_targets_are_checked(wrong):
    with pytest.raises((TypeError, ValueError)):
        Target(**wrong)


POOL = [
    Wanted(statistic, keywords, plausible)
    for rows in (40, 1000)
    for statistic, keywords, plausible in [
        ("mean", {"bounds": (0, 100), "rows": rows}, None),
        ("mean", {"bounds": (0, 1), "rows": rows}, 0.05),
        ("proportion", {"rows": rows}, (0.0, 0.2)),
        ("variance", {"bounds": (0, 1), "rows": rows}, 0.02),
        ("standard_deviation", {"bounds": (0, 10), "rows": rows}, 1.5),
        ("histogram", {"levels": ["a", "b"], "rows": rows}, None),
        ("proportion", {"rows": rows, "bounding": "truncated"}, None),
        ("sum", {"bounds": (0, 1), "rows": rows}, None),
    ]
]


@pytest.mark.claim("share-budget")
def test_shares_are_never_worse_than_equal_ones():
    """10 random plans; `bench/forecasts.py` tries 1,000."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        chosen = [POOL[i] for i in rng.integers(0, len(POOL), rng.integers(1, 6))]
        epsilon = Fraction(int(10 ** rng.uniform(1, 4)), 1000)
        weights = None if rng.random() < 0.5 else np.exp(rng.normal(0, 2, len(chosen))).tolist()
        shared = share_budget(chosen, epsilon, weights)
        assert sum(shared.epsilons) == epsilon
        assert min(shared.epsilons) > 0
        assert shared.total <= shared.equal_total * (1 + 1e-12)
        direct = [forecast_errors(one.but(epsilon=e)).typical for one, e in zip(chosen, shared.epsilons, strict=True)]
        assert list(shared.rmse) == direct


@pytest.mark.claim("share-budget")
@pytest.mark.parametrize("epsilon", ["0.02", "0.3", "3"])
@pytest.mark.parametrize("pick", [(0, 3), (1, 2, 5), (10, 11, 4)])
def test_shares_are_the_best_of_a_grid(pick, epsilon):
    """All ways to deal out 24 pieces: none is better by more than interpolation may lose.

    From ε = 1.51 on noise may be a staircase, where the curves have a step.
    """
    chosen, pieces = [POOL[i] for i in pick], 24
    shared = share_budget(chosen, epsilon)
    costs = [
        [weight * forecast_errors(one.but(epsilon=Fraction(epsilon) * k / pieces)).typical for k in range(1, pieces)]
        for one, weight in zip(chosen, shared.weights, strict=True)
    ]
    ways = [w for w in itertools.product(range(1, pieces), repeat=len(pick)) if sum(w) == pieces]
    best = min(sum(costs[i][k - 1] for i, k in enumerate(way)) for way in ways)
    assert shared.total <= best * (1.003 if Fraction(epsilon) < 1 else 1.015)


def test_the_best_shares_of_plain_costs_are_known():
    """Costs c/ε have the best shares ∝ √c; equal shares would be found to be worse."""
    grid = np.geomspace(1e-4, 1, 33)
    rates = np.array([1.0, 4.0, 25.0])
    assert _best_shares(rates[:, None] / grid, grid) == pytest.approx(np.sqrt(rates) / 8, abs=0.003)


def test_budgets_are_checked_and_shown():
    with pytest.raises(ValueError, match="one statistic or more"):
        share_budget([], 1)
    with pytest.raises(ValueError, match="weights must be 1 numbers"):
        share_budget(POOL[:1], 1, [1, 2])
    with pytest.raises(ValueError, match="weights must be"):
        share_budget(POOL[:1], 1, [0])
    with pytest.raises(ValueError, match="epsilon must be > 0"):
        share_budget(POOL[:1], 0)
    for wrong in (POOL[0], "mean", 3):
        with pytest.raises(TypeError, match="list of Wanted"):
            share_budget(wrong, 1)
    with pytest.raises(TypeError, match=r"wanted\[1\] must be Wanted"):
        share_budget([POOL[0], "mean"], 1)
    with pytest.raises(TypeError, match="target must be Target"):
        least_epsilon(POOL[0], 0.1)
    text = str(share_budget(POOL[:2], 1))
    assert "weighted total" in text
    assert text.count("\n") == 3
    assert "mean of x" in text


def test_a_budget_is_of_one_guarantee():
    with pytest.raises(ValueError, match="differ in neighbours="):
        share_budget([ALL["mean"], ALL["mean, add-remove"]], 1)
    with pytest.raises(ValueError, match="differ in contributions="):
        share_budget([ALL["mean"], ALL["mean"].but(contributions=3)], 1)
    protected = [ALL[f"{name}, add-remove"] for name in ("proportions", "standard deviation", "count")]
    assert share_budget(protected, 1).total > 0
    assert share_budget([ALL["correlation"], ALL["standard deviation"], ALL["histogram"]], 1).total > 0


def test_a_budget_that_leaves_no_noise():
    made = share_budget([POOL[2], POOL[5]], 3000)
    assert made.total <= made.equal_total
    assert "weighted total" in str(made)
