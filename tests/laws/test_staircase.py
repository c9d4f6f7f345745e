"""Staircase noise on the real line: quadrature between its levels, and the loss over all moves."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest

from inbounds import privacy_loss
from inbounds.laws import Laplace, Mechanism, Staircase, partial_moment

SHAPES = [(0.5, 2.0, 0.335), (1.0, 0.5, 0.46), (0.01, 4.0, 0.196), (3.0, 10.0, 1.0)]


def density(noise, z):
    """From its definition."""
    t, level = abs(z), 0
    edge = mp.mpf(noise.core) * noise.scale * noise.drop
    while t >= edge:
        level, edge = level + 1, edge + noise.scale * noise.drop
    return mp.exp(-mp.mpf(noise.drop) * level)


def integral(noise, order, low, high):
    width = noise.scale * noise.drop
    ends = {low, high, *(s * (noise.core + k) * width for k in range(100) for s in (-1, 1))}
    ends = sorted(x for x in ends if low <= x <= high)
    return mp.fsum(
        (mp.mpf(b) ** (order + 1) - mp.mpf(a) ** (order + 1)) / (order + 1) * density(noise, (a + b) / 2)
        for a, b in itertools.pairwise(ends)
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_cdf_quantile_and_moments(shape):
    noise = Staircase(*shape)
    far = 90 * noise.width
    total = integral(noise, 0, -far, far)
    places = noise.width * np.array([-30.3, -2.0, -0.9, -noise.core, -0.1, 0.0, 0.05, 0.4, noise.core, 1.7, 5.2])
    for z in places:
        assert float(noise.cdf(z)) == pytest.approx(float(integral(noise, 0, -far, z) / total), rel=1e-12)
    # Next to 1 a probability has no digits left to tell where it is.
    near = places[(-10 * noise.width < places) & (places < noise.width)]
    assert noise.quantile(noise.cdf(near)) == pytest.approx(near, rel=1e-6, abs=1e-9 * noise.width)
    assert noise.quantile([0.0, 0.5, 1.0]).tolist() == [-math.inf, 0.0, math.inf]
    assert noise.cdf([-math.inf, math.inf]).tolist() == [0.0, 1.0]
    assert noise.variance == pytest.approx(float(integral(noise, 2, -far, far) / total), rel=1e-12)
    for order, (low, high) in itertools.product((0, 1, 2), ((-0.2, 0.9), (0.3, 4.1), (-7.7, -0.4), (2.2, 50.0))):
        low, high = low * noise.width, high * noise.width
        wanted = float(integral(noise, order, low, high) / total)
        assert float(partial_moment(noise, order, low, high)) == pytest.approx(wanted, rel=1e-11)
    for start, width in itertools.product((0.0, 0.2, 1.9, 30.3), (0.1, 1.3, 20.0)):
        parts = noise.excess_quantile(np.array([0.1, 0.5, 0.9]), start * noise.width, width * noise.width)
        shares = noise.excess_moment(0, start * noise.width, parts) / noise.excess_moment(
            0, start * noise.width, width * noise.width
        )
        assert shares == pytest.approx([0.1, 0.5, 0.9], rel=1e-11)


@pytest.mark.parametrize("shape", SHAPES)
def test_draws_have_its_law(shape):
    noise = Staircase(*shape)
    drawn = noise.sample(np.random.default_rng(1), 200_000)
    assert np.abs(noise.cdf(np.sort(drawn)) - (np.arange(200_000) + 0.5) / 200_000).max() < 3.5 / math.sqrt(200_000)
    other = Laplace(noise.scale)
    assert np.abs(other.cdf(np.sort(drawn)) - (np.arange(200_000) + 0.5) / 200_000).max() > 3.5 / math.sqrt(200_000)


@pytest.mark.parametrize("at", [0.0, 0.4, 1.5, -0.7, 3.6])
def test_clamped_moments_are_those_of_draws(at):
    law = Mechanism(Staircase(0.5, 2.0, 0.335), "bit", bounds=(0, 3))
    drawn = law.sample(at, 10**6, rng=np.random.default_rng(2))
    error = drawn - at
    assert float(law.bias(at)) == pytest.approx(error.mean(), abs=6 * error.std() / 1e3)
    assert float(law.mse(at)) == pytest.approx((error**2).mean(), abs=6 * (error**2).std() / 1e3)
    assert float(law.atoms(at)[0]) == pytest.approx((drawn == 0).mean(), abs=3e-3)


@pytest.mark.claim("loss-staircase")
@pytest.mark.parametrize("bounding", ["bit", "unbounded"])
def test_the_loss_is_the_largest_ratio(bounding):
    noise = Staircase(0.5, 2.0, 0.335)
    law = Mechanism(noise, bounding, bounds=(-50, 50))
    x = np.linspace(-9, 9, 7211)
    for move in (0.3, 1.0, 1.2, 2.0, 2.9):
        ratio = max(np.abs(noise.log_density(x) - noise.log_density(x - d)).max() for d in np.linspace(0, move, 60))
        assert privacy_loss(law, move) == pytest.approx(ratio, rel=1e-12)
    assert privacy_loss(law, moves=[0.5, 1.5]) == pytest.approx(6.0)


def test_bad_input_is_named():
    for arguments, words in (
        ((0.0, 1.0, 0.5), "scale must be finite and > 0"),
        ((1.0, 0.01, 0.5), "drop must be at least 1/16"),
        ((1.0, 1.0, 1.5), "core must be > 0 and at most 1"),
    ):
        with pytest.raises(ValueError, match=words):
            Staircase(*arguments)
    with pytest.raises(ValueError, match="staircase noise cannot be truncated"):
        Mechanism(Staircase(1.0, 1.0, 0.4), "truncated", bounds=(0, 1))
