"""Noise of studies against the laws that theory and releases use, each with a scale that must be rejected."""

import itertools
import math

import numpy as np
import pytest

import inbounds as ib
from inbounds.grid.entropy import SeededEntropy
from inbounds.grid.joint import zero_sum as exact_zero_sum
from inbounds.grid.scale import Scale
from inbounds.inference.laws import DiscreteLaplace, Law, SupNorm
from inbounds.lab.studies import noise
from inbounds.lab.studies.scales import share_scale, truncated_scale

DRAWS = 200_000


def rng(seed=1):
    return np.random.default_rng(seed)


def distance(sample, cdf, points):
    """The largest gap between a sample's distribution function and a law's, in units where 3.2 happens once in 1e9."""
    found = np.searchsorted(np.sort(sample), points, side="right") / len(sample)
    return float(np.abs(found - cdf).max()) * math.sqrt(len(sample))


@pytest.mark.claim("study-noise")
@pytest.mark.parametrize("bounding", ["truncated", "bit", "unbounded"])
@pytest.mark.parametrize("at", [-0.4, 0.0, 0.1, 0.5, 1.0, 1.3])
@pytest.mark.parametrize("scale", [0.02, 0.2, 5.0])
def test_bounded_noise_has_the_law(bounding, at, scale):
    points = np.linspace(-0.5, 1.5, 401)
    law = ib.Mechanism(ib.Laplace(scale), bounding, (0, 1))
    drawn = noise.draw_bounded(bounding, np.full(DRAWS, at), scale, 0.0, 1.0, rng())
    assert distance(drawn, law.cdf(points, at=at), points) < 3.3


@pytest.mark.parametrize("bounding", ["truncated", "bit", "unbounded"])
def test_a_scale_a_tenth_off_is_seen(bounding):
    points = np.linspace(-0.5, 1.5, 401)
    law = ib.Mechanism(ib.Laplace(0.22), bounding, (0, 1))
    drawn = noise.draw_bounded(bounding, np.full(DRAWS, 0.3), 0.2, 0.0, 1.0, rng())
    assert distance(drawn, law.cdf(points, at=0.3), points) > 3.3


def test_bounds_and_scales_may_differ_from_element_to_element():
    """Covariances are kept within bounds of their own; a point is a possible bound."""
    upper = np.array([0.0, 0.5, 2.0])
    drawn = noise.draw_bounded("truncated", np.full(3, 1.0), np.array([1.0, 2.0, 3.0]), -upper, upper, rng())
    assert (np.abs(drawn) <= upper).all()
    assert drawn[0] == 0


def lattice(mechanism, counts, scale, most):
    law = Law(DiscreteLaplace(scale), 0.0, float(most), (0.0, float(most)) if mechanism == "truncated" else None)
    if mechanism == "unbounded":
        law = Law(DiscreteLaplace(scale))
    return np.array([float(law.at_most(y, counts)) for y in range(-20, most + 20)])


@pytest.mark.claim("study-whole")
@pytest.mark.parametrize("mechanism", ["truncated", "bit", "unbounded"])
@pytest.mark.parametrize("count", [0, 1, 7, 12])
@pytest.mark.parametrize("scale", [0.3, 3.0, 40.0])
def test_noisy_counts_have_the_law(mechanism, count, scale):
    drawn = noise.draw_whole_bounded(mechanism, np.full(DRAWS, float(count)), scale, 12, rng())
    points = np.arange(-20, 32)
    assert distance(drawn, lattice(mechanism, count, scale, 12), points) < 3.3
    # Noise much wider than the bounds is flat, whatever its scale.
    assert scale == 40.0 or distance(drawn, lattice(mechanism, count, scale * 1.3, 12), points) > 3.3


@pytest.mark.claim("study-zero-sum")
def test_noise_that_keeps_the_sum():
    """Three cells against the masses e^(-‖z‖₁/T), and against the sampler of releases."""
    scale = 1.5
    drawn = noise.zero_sum(scale, 3, DRAWS, rng())
    assert (drawn.sum(axis=1) == 0).all()
    assert drawn.shape == (DRAWS, 3)
    vectors = [(a, b, -a - b) for a, b in itertools.product(range(-40, 41), repeat=2)]
    weights = np.array([math.exp(-sum(map(abs, z)) / scale) for z in vectors])
    weights /= weights.sum()
    for z, weight in sorted(zip(vectors, weights, strict=True), key=lambda pair: -pair[1])[:20]:
        share = (drawn == z).all(axis=1).mean()
        assert abs(share - weight) < 6 * math.sqrt(weight / DRAWS)
    entropy, steps = SeededEntropy(3), Scale(6, 64)
    released = np.array([exact_zero_sum(steps, 4, entropy) for _ in range(3000)])
    alike = noise.zero_sum(float(steps.steps), 4, 100_000, rng())
    # Both have the same mean square, to what 3,000 vectors can tell.
    ratio = (released.astype(float) ** 2).mean() / (alike**2).mean()
    assert abs(ratio - 1) < 0.15


def test_sup_norm_noise_has_its_marginal():
    drawn = noise.supnorm(3, DRAWS, rng())
    points = np.linspace(-12, 12, 301)
    assert distance(drawn[:, 1], SupNorm(1.0, 3).cdf(points), points) < 3.3
    assert distance(drawn[:, 1], SupNorm(1.1, 3).cdf(points), points) > 3.3


@pytest.mark.claim("study-truncated-scale")
@pytest.mark.parametrize("epsilon", [0.05, 1 / 3, 2.0])
def test_truncated_scales_are_the_calibrated_ones(epsilon):
    widths = np.array([0.01, 0.5, 1.0, 3.0, 40.0])
    found = truncated_scale(0.5, widths, epsilon)
    for width, scale in zip(widths, found, strict=True):
        made = ib.calibrate("laplace", "truncated", bounds=(0, width), sensitivity=min(0.5, width), epsilon=epsilon)
        assert scale == pytest.approx(made.noise.scale, rel=1e-8)
        law = ib.Mechanism(ib.Laplace(scale * 0.99), "truncated", (0, width))
        assert ib.privacy_loss(law, min(0.5, width)) > epsilon
    assert truncated_scale(0.5, 0.0, epsilon) > 0


def test_scales_of_shares():
    """The paper's is moves/(nε); the honest one of truncation is larger, the others are the same."""
    assert share_scale("bit", "honest", 50, 0.1, 2) == share_scale("bit", "paper", 50, 0.1, 2) == 2 / (50 * 0.1)
    assert share_scale("truncated", "paper", 50, 0.1, 1) == 0.2
    honest = share_scale("truncated", "honest", 50, 0.1, 1)
    law = ib.Mechanism(ib.Laplace(honest), "truncated", (0, 1))
    assert 0.1 * (1 - 1e-6) < ib.privacy_loss(law, 1 / 50) <= 0.1
