"""Intervals of means that are proved: each step against enumeration, with controls that must fail."""

import numpy as np
import pytest
from scipy import stats

import inbounds as ib
from inbounds.inference import proved
from inbounds.inference.laws import Laplace, SupNorm
from inbounds.laws import Staircase

NOISE = Laplace(2.0)


@pytest.mark.claim("binomial-squares")
@pytest.mark.parametrize("rows", [1, 2, 7, 400])
def test_squares_above_a_bend_are_those_of_all_outcomes(rows):
    for most, variance in ((1.3, 0.4), (0.2, 0.01), (1.9, 0.001)):
        k = np.arange(rows + 1)
        values = k * (most + variance / most) - rows * variance / most
        chances = stats.binom.pmf(k, rows, variance / (variance + most**2))
        assert chances @ values == pytest.approx(0, abs=1e-9)
        for bend in (-50.0, -1.0, 0.0, 0.3, 2.0, 40.0):
            found = proved.expect_squares(rows, np.array(bend), np.array(most), np.array(variance))
            assert found == pytest.approx(chances @ np.maximum(values - bend, 0) ** 2, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("noise", [NOISE, SupNorm(1.0, 4), Staircase(2.0, 3.0, 0.4)])
@pytest.mark.parametrize("rows", [30, 5000])
def test_a_majorant_is_nowhere_below_the_tail_of_the_noise(noise, rows):
    made = proved.find_majorant(noise, rows, 2.5 * (0.02 * rows) ** 0.5 + 4, 1.1, 0.02)
    y = np.random.default_rng(0).uniform(-noise.reach, noise.reach, 50_000)
    assert np.all(made(y) >= noise.cdf(y))
    # The control: one that is a tenth lower is below it somewhere.
    assert np.any(0.9 * made(y) < noise.cdf(y))
    assert np.all(np.append(made.weights, made.constant) >= 0)


def exact_tail(points, chances, rows, scores):
    """P(Σ(m - u) + noise ≥ score) of a law on a lattice, by convolution of all its outcomes."""
    mean = float(points @ chances)
    steps = np.rint((points + 1) * 20).astype(int)
    one = np.bincount(steps, chances, 41)
    law = np.array([1.0])
    for _ in range(rows):
        law = np.convolve(law, one)
    sums = rows * mean - (np.arange(len(law)) / 20 - rows)
    return np.array([law @ NOISE.cdf(sums - x) for x in scores])


@pytest.mark.claim("proved-interval")
def test_the_bound_is_above_the_exact_tail_of_any_law():
    rng, rows, controls = np.random.default_rng(1), 40, 0
    for _ in range(25):
        size = rng.integers(2, 5)
        points = np.sort(rng.choice(np.arange(-20, 21), size, replace=False)) / 20
        chances = rng.dirichlet(np.full(size, 0.5))
        mean, variance = float(points @ chances), float(points**2 @ chances - (points @ chances) ** 2)
        scores = np.array([1.0, 4.0, 9.0, 15.0])
        exact = exact_tail(points, chances, rows, scores)
        for score, tail in zip(scores, exact, strict=True):
            made = proved.find_majorant(NOISE, rows, score, 1 + mean, variance)
            bound = made.expect(rows, np.array([score]), np.array([1 + mean]), np.array([variance]))[0]
            assert bound >= tail * (1 - 1e-9)
            # The control: with a quarter of the variance it is not a bound.
            made = proved.find_majorant(NOISE, rows, score, 1 + mean, variance / 4)
            controls += made.expect(rows, np.array([score]), np.array([1 + mean]), np.array([variance / 4]))[0] < tail
    assert controls > 8


def test_widths_and_that_more_records_and_squares_narrow_them():
    rng, found = np.random.default_rng(3), {}
    for rows in (500, 5000, 20_000):
        u = np.clip(rng.normal(0, 0.2, rows), -1, 1)
        total, squares = float(u.sum()), float((u**2).sum())
        low, high = proved.limits(proved.Sums(rows, total, NOISE, (squares, Laplace(4.0))), 0.05)
        alone = proved.limits(proved.Sums(rows, total, NOISE), 0.05)
        assert low < total / rows < high
        assert high - low < 0.7 * (alone[1] - alone[0])
        found[rows] = (high - low) / (2 * 1.96 * u.std() / rows**0.5)
    assert found[500] < 1.95
    assert found[5000] < 1.4
    assert found[20_000] < 1.32


def test_the_ends_of_the_bounds_are_never_left():
    for total in (-700.0, -500.0, 500.0, 700.0):
        low, high = proved.limits(proved.Sums(500, total, NOISE, (500.0, Laplace(4.0))), 0.05)
        assert -1 <= low <= high <= 1
        assert (high == 1) if total > 0 else (low == -1)


def test_it_is_offered_for_means_by_themselves():
    values = [20.0, 35.0, 50.0, 65.0] * 250
    for method in ("moments", "direct"):
        made = ib.mean(values, bounds=(0, 100), epsilon=1, method=method)
        wide, narrow = made.interval(method="proved"), made.interval(method="score" if method == "moments" else None)
        assert made.value in wide
        assert wide.method == proved.METHOD
        assert wide.assumption == "records are independent draws from the population"
        assert method == "direct" or wide.width > narrow.width
        assert made.interval(kind="noise", method="proved").lower == made.interval(kind="noise").lower
    for other in (
        ib.mean(values, bounds=(0, 100), epsilon=1, bounding="truncated"),
        ib.mean(values, bounds=(0, 100), epsilon=1, neighbours="add-remove"),
    ):
        with pytest.raises(ValueError, match="drawn by itself"):
            other.interval(method="proved")


def test_a_plan_may_ask_for_it():
    plan = ib.Plan.of(
        {
            "data": {"rows": 1000},
            "budget": {"epsilon": 1},
            "columns": {"age": {"bounds": [0, 100]}},
            "release": [
                {"name": "age", "statistic": "mean", "columns": ["age"], "interval_method": "proved", "joint": False}
            ],
        }
    )
    made = ib.release(plan, {"age": [20.0, 35.0, 50.0, 65.0] * 250})
    text = made.to_json()
    assert "proved" in text
    assert ib.Releases.from_json(text)["age"].interval(method="proved").method == proved.METHOD
