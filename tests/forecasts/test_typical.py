"""Previews simulate no more than their figures need, and the figures are the same."""

import numpy as np
import pytest

from inbounds.derivations import chosen
from inbounds.expected import noise, quantiles
from inbounds.forecasts import forecast
from inbounds.forecasts.wanted import Wanted
from inbounds.repairs import likely

MEDIANS = [
    {"epsilon": 0.5, "rows": 500, "bounds": (0, 100)},
    {"epsilon": 1, "rows": 5000, "bounds": (0, 100), "cover": 0.95},
    {"epsilon": 2, "rows": 200, "bounds": (0, 10), "step": 1},
]


@pytest.mark.parametrize("keywords", MEDIANS)
def test_the_typical_error_of_a_quantile_takes_one_simulation(keywords, monkeypatch):
    asked = []
    real = chosen.simulate_choices
    monkeypatch.setattr(chosen, "simulate_choices", lambda *given: asked.append(given) or real(*given))
    wanted = Wanted("median", keywords)
    expected = forecast.forecast_errors(wanted).typical
    whole = len(asked)
    asked.clear()
    assert forecast.typical_error(wanted) == expected
    assert len(asked) == 1 < whole


def test_places_are_the_first_sums_that_are_no_smaller():
    rng = np.random.default_rng(0)
    sums, which = rng.random((5, 40)).cumsum(axis=1), rng.integers(0, 5, 300)
    targets = rng.random(300) * sums[which, -1]
    assert (quantiles._find_places(sums, which, targets) == (sums[which] < targets[:, None]).sum(axis=1)).all()


def test_noise_that_keeps_a_sum_is_drawn_once_for_both_figures(monkeypatch):
    """For the error, and for the largest that it can be."""
    asked = []
    real = noise.draw_zero_sum
    monkeypatch.setattr(noise, "draw_zero_sum", lambda *given: asked.append(given) or real(*given))
    noise.seeded_zero_sum.cache_clear()
    levels = ["a", "b", "c", "d"]
    forecast.typical_error(Wanted("proportions", {"epsilon": 0.37, "rows": 1000, "levels": levels}))
    assert len(asked) == 1
    assert not noise.seeded_zero_sum(4, 2.0, 50).flags.writeable


def test_each_correlation_is_expected_once(monkeypatch):
    """A matrix has each of its pairs twice; the posterior of each is that of the pair alone."""
    shapes = []
    real = likely._posterior
    monkeypatch.setattr(likely, "_posterior", lambda x, s: shapes.append(x.shape) or real(x, s))
    rng = np.random.default_rng(1)
    columns = rng.normal(0, 1, (200, 4, 30))
    covariances = columns @ columns.swapaxes(1, 2)
    deviations = np.full((200, 4, 4), 8.0)
    means, spread = likely.likely_correlations(covariances, deviations, np.full((200, 4), 200.0))
    assert shapes == [(200, 6)]
    pair = np.ix_(range(200), [1, 3], [1, 3])
    alone = likely.likely_correlations(covariances[pair], deviations[pair], np.full((200, 2), 200.0))
    assert (means[pair] == alone[0]).all()
    assert (spread[pair] == alone[1]).all()
    assert (means == means.swapaxes(1, 2)).all()
