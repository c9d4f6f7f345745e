"""Estimates from records, against enumeration of everything that could have been released."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.inference import posterior, unbiased
from inbounds.privacy.terms import Terms
from inbounds.road.draw import draw
from inbounds.tables.engine import tally
from inbounds.tables.sources import read


def chances(top, size, scale):
    """P(clamped to 0..top | k) for k = 0..size, from sums over the noise."""
    a, far = np.exp(-1 / scale), 400
    made = np.zeros((size + 1, top + 1))
    for k in range(size + 1):
        for j in range(-far, far + 1):
            made[k, min(max(k + j, 0), top)] += (1 - a) / (1 + a) * a ** abs(j)
    return made


@pytest.mark.claim("unbiased-estimate")
@pytest.mark.parametrize("epsilon", [0.5, 2])
def test_a_clamped_share_has_an_exactly_unbiased_estimate(epsilon):
    made, size = ib.proportion([1, 0] * 10, epsilon=epsilon), 20
    law = chances(size, size, 1 / epsilon)
    every = [replace(made, noisy=(Fraction(y, size),)) for y in range(size + 1)]
    truths = np.arange(size + 1) / size
    assert np.abs(law @ [one.estimate() for one in every] - truths).max() < 1e-12
    # The released value and the inversion have a bias.
    assert abs(law @ [one.value for one in every] - truths).max() > 1e-3
    assert abs(law @ [one.estimate("inversion") for one in every] - truths).max() > 1e-3


def test_a_count_with_one_bound_has_one():
    made = ib.count([1] * 5, epsilon=0.5, neighbours="add-remove")
    law = chances(450, 8, 2.0)
    every = [replace(made, noisy=(Fraction(y),)).estimate() for y in range(451)]
    assert np.abs(law @ every - np.arange(9)).max() < 1e-9


def test_noise_without_bounds_averages_out():
    made = ib.mean([1.0] * 500, bounds=(0, 10), epsilon=1, method="moments")
    unit = made.estimate() - replace(made, noisy=(made.noisy[0] - 1, made.noisy[1])).estimate()
    sides = [replace(made, noisy=(made.noisy[0] + z, made.noisy[1])).estimate() for z in (-10_000, 10_000)]
    assert np.mean(sides) == pytest.approx(made.estimate(), abs=1e-9 * abs(unit) + 1e-9)
    assert min(sides) < 0 or max(sides) > 10
    shares = ib.proportions([0, 1, 1] * 50, levels=[0, 1], epsilon=1)
    assert shares.estimate() == pytest.approx([float(x) / 150 for x in shares.noisy])


def test_the_posterior_mean_is_that_of_an_enumeration_and_has_the_least_error():
    made, size = ib.proportion([1, 0] * 10, epsilon=0.5), 20
    law, truths = chances(size, size, 2.0), np.arange(size + 1) / size
    every = [replace(made, noisy=(Fraction(y, size),)) for y in range(size + 1)]
    found = np.array([one.estimate("posterior") for one in every])
    assert found == pytest.approx(law.T @ truths / law.sum(axis=0), abs=1e-9)
    errors = {
        kind: (law * (np.array(given)[None] - truths[:, None]) ** 2).sum()
        for kind, given in {
            "posterior": found,
            "released": [one.value for one in every],
            "unbiased": [one.estimate() for one in every],
        }.items()
    }
    assert errors["posterior"] < errors["released"] < errors["unbiased"]
    assert every[3].estimate("posterior", (2, 5)) == posterior(every[3], (2, 5)).mean
    assert every[3].estimate("inversion") == unbiased(every[3])


def test_what_has_none_says_so():
    x = [1, 2, 3] * 50
    for made in (
        ib.proportion([1, 0] * 10, epsilon=1, bounding="truncated"),
        ib.mean(x, bounds=(0, 10), epsilon=4, method="direct"),
        ib.standard_deviation(x, bounds=(0, 10), epsilon=1),
    ):
        with pytest.raises(ValueError, match="unbiased estimate"):
            made.estimate()
    with pytest.raises(ValueError, match="kind must be"):
        ib.proportion([1, 0], epsilon=1).estimate("best")


@pytest.mark.parametrize("method", ["moments", "centred"])
def test_a_variance_is_estimated_without_the_bias_of_clamping(method):
    """Records next to a bound, so that half of the noisy variances are clamped: the value has a bias."""
    rows, rng = 400, np.random.default_rng(3)
    x = np.clip(rng.normal(0.1, 0.02, rows), 0, 1)
    draft = ib.Variance("x", (0, 1), method=method).draft(Terms.of("0.3", rows=rows))
    counted = tally(read({"x": x}, draft.columns), draft.requests)
    made = [draw(draft, counted) for _ in range(1500)]
    off = np.array([[one.value, one.estimate()] for one in made]) - x.var(ddof=1)
    bias, error = off.mean(axis=0), off.std(axis=0) / np.sqrt(len(off))
    assert abs(bias[1]) < 6.5 * error[1]
    assert bias[0] > 6.5 * error[0]


def test_covariances_are_estimated_without_the_bias_of_a_repair():
    rows, rng = 300, np.random.default_rng(4)
    x = np.clip(rng.normal(0.5, 0.1, rows), 0, 1)
    table = {"x": x, "y": np.clip(x + rng.normal(0, 0.01, rows), 0, 1)}
    draft = ib.Covariance({"x": (0, 1), "y": (0, 1)}).draft(Terms.of("0.5", rows=rows))
    counted = tally(read(table, draft.columns), draft.requests)
    made = [draw(draft, counted) for _ in range(1500)]
    truth = np.cov(list(table.values()))
    found = np.array([one.estimate() for one in made]) - truth
    assert (np.abs(found.mean(axis=0)) < 6.5 * found.std(axis=0) / np.sqrt(len(found))).all()
    released = np.array([one.value for one in made])[:, 0, 1] - truth[0, 1]
    assert released.mean() < -6.5 * released.std() / np.sqrt(len(released))


def test_a_correlation_has_no_unbiased_estimate():
    table = {"x": [0.1, 0.4, 0.8] * 100, "y": [0.2, 0.4, 0.7] * 100}
    release = ib.correlation(table, bounds={"x": (0, 1), "y": (0, 1)}, epsilon=1)
    with pytest.raises(ValueError, match="no unbiased estimate"):
        release.estimate()
