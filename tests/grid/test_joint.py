"""Sup-norm noise: exact on every path of a tiny instance, by counting on a larger one."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from inbounds.grid import joint
from inbounds.grid.entropy import SeededEntropy, SystemEntropy
from inbounds.grid.geometric import geometric_one
from inbounds.grid.interval import exp_minus
from inbounds.grid.joint import supnorm, uniform_below
from inbounds.grid.scale import Scale
from tests.grid.test_sampler import coarse, every_path, g_test

__all__ = ["coarse"]


@pytest.mark.claim("joint-exact")
def test_the_radius_on_every_path(coarse):
    """P(R = r) ∝ e^(-r/T) (2r+1)^d, in ratios to r = 0, for d = 1 with the geometric variables exact themselves."""
    size = Scale(1, 1)
    decided, undecided = every_path(lambda: joint._radius(size, 1, None), coarse, depth=13)
    # The weights' sum: Σ α^r (2r+1) = (1+α)/(1-α)².
    alpha = exp_minus(1 / size.steps)
    total = (1 + alpha) / ((1 - alpha) * (1 - alpha))
    for radius, mass in decided.items():
        true = exp_minus(radius / size.steps) * (2 * radius + 1) / total
        assert mass <= true.upper
        assert true.lower <= mass + undecided
    assert undecided < Fraction(9, 10)


def box_masses(steps, dimension, reach):
    """P(z) for all z in the box, by its definition, normalised by Σ_r e^(-r/T) ((2r+1)^d - (2r-1)^d)."""
    alpha = math.exp(-1 / steps)
    shells = [(2 * r + 1) ** dimension - ((2 * r - 1) ** dimension if r else 0) for r in range(4000)]
    total = math.fsum(alpha**r * shell for r, shell in enumerate(shells))
    box = itertools.product(range(-reach, reach + 1), repeat=dimension)
    return {z: alpha ** max(map(abs, z)) / total for z in box}


@pytest.mark.claim("joint-exact")
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_points_follow_the_law(dimension):
    size = Scale.at_least(Fraction(3, 2))
    entropy = SeededEntropy(dimension)
    draws = Counter(tuple(supnorm(size, dimension, entropy).tolist()) for _ in range(60_000))
    masses = box_masses(1.5, dimension, 3)
    counts = [draws[z] for z in masses]
    inside, rest = sum(counts), 1 - sum(masses.values())
    assert g_test([*counts, 60_000 - inside], [*masses.values(), rest]) > 1e-9
    wrong = box_masses(1.6, dimension, 3)
    assert g_test([*counts, 60_000 - inside], [*wrong.values(), 1 - sum(wrong.values())]) < 1e-9


@pytest.mark.claim("joint-exact")
@pytest.mark.parametrize(("dimension", "mse"), [(3, 20.0), (10, 440.0)])
def test_total_mse_is_that_of_the_k_norm(dimension, mse):
    """d(d+1)(d+2)/3 at unit scale, against 2 d³ for Laplace noise at ε/d each."""
    size = Scale.at_least(Fraction(1 << 20))
    draws = np.array([supnorm(size, dimension, SystemEntropy()) for _ in range(6000)]) / 2**20
    assert (draws**2).sum(axis=1).mean() == pytest.approx(mse, rel=0.12)
    assert mse < 2 * dimension**3 / 2.5


def test_uniform_integers():
    draws = uniform_below(10, 100_000, SeededEntropy(3))
    assert g_test(np.bincount(draws, minlength=10), np.full(10, 0.1)) > 1e-9
    assert uniform_below(1, 5, SeededEntropy(1)).tolist() == [0] * 5
    assert uniform_below(2**59, 1000, SeededEntropy(1)).max() < 2**59


def test_a_geometric_variable_of_the_smallest_scale_is_mostly_zero():
    assert geometric_one(Scale(6, 6400), SeededEntropy(1)) == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: supnorm(Scale.at_least(Fraction(1)), 0, SystemEntropy()), "dimension must be >= 1"),
        (
            lambda: supnorm(Scale.at_least(Fraction(1)), 50, SystemEntropy()),
            "a scale of 1 steps is too small for 50",
        ),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
