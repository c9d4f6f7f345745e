"""Limits that the best of several scores decides, against a search that works out every score."""

import numpy as np
import pytest
import scipy

import inbounds as ib
from inbounds.inference import candidates, products
from inbounds.inference.candidates import Draws, Scores


def draw_scores(rng, count, apart):
    """Scores of one parameter, with noise of six numbers and means that are not exactly known."""
    draws = Draws.of(rng.laplace(0, 10 ** rng.uniform(0, 1.5), (4096, 6)) * rng.uniform(0.2, 2, 6))
    start, slope, weights = rng.normal(0, 40), rng.uniform(200, 400), rng.normal(0, 1, 6)
    made = []
    for _ in range(count):
        spread = 10 ** rng.uniform(1, 3.5)
        off = weights + apart * rng.normal(0, 1, 6)
        beside = (start + apart * rng.normal(0, 30), slope * (1 + apart * rng.normal(0, 0.1)))
        made.append(Scores(*beside, draws, off, 0.1 * rng.normal(0, 1, 6), lambda _, spread=spread: spread))
    return made


def keeps(one, theta, side, alpha):
    """Whether a score keeps a parameter, by every draw."""
    noise = one.draws.values @ (one.weights - theta * one.weights_of_slope)
    score = one.start - theta * one.slope
    return scipy.special.ndtr(side * (noise - score) / np.sqrt(one.spread(theta))).mean() >= alpha / 2


def limit_of(one, side, alpha):
    """The limit of one score, by halving between its centre and an end; None if its centre is not kept."""
    inside, outside = one.start / one.slope, -float(side)
    if keeps(one, outside, side, alpha):
        return outside
    for _ in range(40):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if keeps(one, middle, side, alpha) else (inside, middle)
    return inside


@pytest.mark.claim("products-interval")
@pytest.mark.parametrize("alpha", [0.3, 0.05, 0.005])
@pytest.mark.parametrize("apart", [0.0, 1e-3, 0.1, 0.5])
def test_limits_are_those_of_the_score_that_keeps_most(alpha, apart):
    """As near as they are bracketed, which is 2⁻¹⁸ of a seventh of the range."""
    rng = np.random.default_rng(int(1000 * alpha + 7 * apart))
    for _ in range(12):
        scores = draw_scores(rng, 9, apart)
        lower, upper = candidates.find_limits(scores, -1.0, 1.0, alpha)
        width = upper - lower
        assert lower == pytest.approx(min(limit_of(one, 1, alpha) for one in scores), abs=1e-5 + 1e-3 * apart * width)
        assert upper == pytest.approx(max(limit_of(one, -1, alpha) for one in scores), abs=1e-5 + 1e-3 * apart * width)


def test_limits_of_the_first_score_alone_are_shorter():
    """The negative control: the others matter."""
    scores = draw_scores(np.random.default_rng(5), 9, 0.5)
    (lower, upper), (low, high) = (candidates.find_limits(some, -1.0, 1.0, 0.05) for some in (scores, scores[:1]))
    assert upper - lower > 1.01 * (high - low)


def test_few_tails_of_a_correlation_are_worked_out(monkeypatch):
    """Twenty-one scores on two sides, of which most need no look at the draws."""
    asked = []
    real = Scores.tail
    monkeypatch.setattr(Scores, "tail", lambda self, *given: asked.append(given) or real(self, *given))
    rng = np.random.default_rng(0)
    x, y = rng.normal(0, 1, (2, 20_000)).clip(-4, 4)
    bounds = {"x": (-4, 4), "y": (-4, 4)}
    release = ib.correlation({"x": x, "y": y + x / 2}, bounds=bounds, epsilon=5)
    (sums,) = products.list_sums(release, 0.05)
    means, spans = ((-0.01, 0.01),) * 2, ((0.055, 0.07), (0.07, 0.085))
    products.limits_of_correlation(sums, (0, 1), means, spans, 0.05)
    assert 0 < len(asked) <= 40
