"""Sup-norm noise: exact on every path of a tiny instance, by counting on a larger one."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from inbounds.grid import joint
from inbounds.grid.entropy import SeededEntropy, SystemEntropy
from inbounds.grid.geometric import PIECES, geometric_one
from inbounds.grid.interval import exp_minus
from inbounds.grid.joint import supnorm, uniform_below, zero_sum
from inbounds.grid.scale import Scale
from tests.grid.test_sampler import Numbers, coarse, every_path, g_test

__all__ = ["coarse"]

# As many as it takes to see a scale of 1.6 steps where 1.5 are right, in up to three dimensions.
DRAWN = 25_000


@pytest.mark.claim("joint-exact")
def test_the_radius_on_every_path(coarse):
    """P(R = r) ∝ e^(-r/T) (2r+1)^d, in ratios to r = 0, for d = 1 with the geometric variables exact themselves."""
    size = Scale(1, 1)
    decided, undecided = every_path(lambda: joint._radius(size, 1, None), coarse, depth=12)
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
    draws = Counter(tuple(supnorm(size, dimension, entropy).tolist()) for _ in range(DRAWN))
    masses = box_masses(1.5, dimension, 3)
    counts = [draws[z] for z in masses]
    inside, rest = sum(counts), 1 - sum(masses.values())
    assert g_test([*counts, DRAWN - inside], [*masses.values(), rest]) > 1e-9
    wrong = box_masses(1.6, dimension, 3)
    assert g_test([*counts, DRAWN - inside], [*wrong.values(), 1 - sum(wrong.values())]) < 1e-9


@pytest.mark.claim("joint-exact")
@pytest.mark.parametrize(("dimension", "mse"), [(3, 20.0), (10, 440.0)])
def test_total_mse_is_that_of_the_k_norm(dimension, mse):
    """d(d+1)(d+2)/3 at unit scale, against 2 d³ for Laplace noise at ε/d each."""
    size = Scale.at_least(Fraction(1 << 20))
    draws = np.array([supnorm(size, dimension, SystemEntropy()) for _ in range(6000)]) / 2**20
    assert (draws**2).sum(axis=1).mean() == pytest.approx(mse, rel=0.12)
    assert mse < 2 * dimension**3 / 2.5


def zero_sum_masses(steps, dimension, reach):
    """P(z) for all z of the box that sum to zero, by its definition, normalised over a much larger box."""
    beta = math.exp(-1 / steps)

    def points(size):
        for z in itertools.product(range(-size, size + 1), repeat=dimension - 1):
            yield *z, -sum(z)

    total = math.fsum(beta ** sum(map(abs, z)) for z in points(14 * reach if dimension == 3 else 60 * reach))
    return {z: beta ** sum(map(abs, z)) / total for z in points(reach)}


@pytest.mark.claim("joint-exact")
@pytest.mark.claim("zero-sum-exact")
@pytest.mark.parametrize(("draw", "law", "dimension"), [(supnorm, box_masses, 2), (zero_sum, zero_sum_masses, 3)])
def test_a_few_points_follow_the_law(draw, law, dimension):
    """A small share of what the tests of every point draw."""
    size, entropy = Scale.at_least(Fraction(3, 2)), SeededEntropy(dimension)
    draws = Counter(tuple(draw(size, dimension, entropy).tolist()) for _ in range(2000))
    for steps, right in ((1.5, True), (2.5, False)):
        masses = law(steps, dimension, 2)
        counts = [draws[z] for z in masses]
        found = g_test([*counts, 2000 - sum(counts)], [*masses.values(), 1 - sum(masses.values())])
        assert (found > 1e-9) == right


@pytest.mark.claim("zero-sum-exact")
@pytest.mark.parametrize("dimension", [2, 3])
def test_zero_sum_points_follow_the_law(dimension):
    size, entropy = Scale.at_least(Fraction(3, 2)), SeededEntropy(dimension)
    draws = Counter(tuple(zero_sum(size, dimension, entropy)) for _ in range(DRAWN))
    assert all(sum(z) == 0 for z in draws)

    def fits(steps):
        masses = zero_sum_masses(steps, dimension, 3)
        counts = [draws[z] for z in masses]
        return g_test([*counts, DRAWN - sum(counts)], [*masses.values(), 1 - sum(masses.values())])

    assert fits(1.5) > 1e-9
    assert fits(1.6) < 1e-9


@pytest.mark.claim("zero-sum-exact")
def test_zero_sum_noise_on_every_path(coarse):
    """K = 2: the kept element is z with P ∝ e^(-2|z|/T); ratios to z = 0 on all paths of random bits that decide."""
    size = Scale(1, 1)
    decided, undecided = every_path(lambda: zero_sum(size, 2, None)[0], coarse, depth=12)
    alpha = exp_minus(2 / size.steps)
    total = (1 + alpha) / (1 - alpha)
    for z, mass in decided.items():
        true = exp_minus(2 * abs(z) / size.steps) / total
        assert mass <= true.upper
        assert true.lower <= mass + undecided
    assert undecided < Fraction(9, 10)


@pytest.mark.claim("zero-sum-exact")
@pytest.mark.parametrize(("dimension", "mse"), [(3, 10.0), (4, 16.7), (5, 24.0), (10, 61.8)])
def test_total_mse_of_zero_sum_noise(dimension, mse):
    """In units of 1/ε² at T = 2/ε, against 8 (K-1) for independent noise projected onto the sum."""
    size = Scale.at_least(Fraction(2 << 16))
    draws = np.array([zero_sum(size, dimension, SystemEntropy()) for _ in range(4000)]) / 2**16
    assert (draws**2).sum(axis=1).mean() == pytest.approx(mse, rel=0.14)
    assert mse < 8 * (dimension - 1)


def next_to(chance):
    """Two words of 64 bits: a uniform number that lies below a chance, and one that does not."""
    word = int(chance * 2**64)
    return (word - 1, True), (word + 1, False)


def magnitude_of(size):
    """Words for a geometric variable of this size at a scale of 64 steps."""
    return [PIECES.thresholds(64)[size - 1] + 1 if size else 0, 0]


@pytest.mark.claim("joint-exact")
@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("radius", [1, 2, 7])
def test_a_radius_is_kept_by_the_share_of_its_box(dimension, radius):
    """(2r+1)^d of 2^d (r+1)...(r+d), word by word; what is not kept is drawn anew as zero."""
    boxes = 2**dimension * math.prod(range(radius + 1, radius + dimension + 1))
    share = Fraction((2 * radius + 1) ** dimension, boxes)
    for word, kept in next_to(share):
        drawn = [*magnitude_of(radius), *[0] * 2 * dimension, word]
        noise = supnorm(Scale(6, 1), dimension, Numbers(drawn))
        assert noise.tolist() == [-radius if kept else 0] * dimension


@pytest.mark.claim("zero-sum-exact")
@pytest.mark.parametrize(("first", "second"), [(1, 0), (3, 4), (5, -2), (0, -9)])
def test_what_is_left_is_kept_by_its_own_probability(first, second):
    """e^(-|rest|/T), word by word."""
    with mp.workdps(40):
        for word, kept in next_to(mp.exp(-mp.mpf(abs(first + second)) / 64)):
            drawn = [part for z in (first, second) for part in (128 * (z < 0), *magnitude_of(abs(z)))]
            noise = zero_sum(Scale(6, 1), 3, Numbers([*drawn, word]))
            assert noise.tolist() == ([first, second, -first - second] if kept else [0, 0, 0])


def test_wide_noise_adds_up_or_is_refused():
    assert sum(zero_sum(Scale(50, 1), 5, SeededEntropy(1)).tolist()) == 0
    assert np.abs(zero_sum(Scale(50, 1), 5, SeededEntropy(1))).max() > 1 << 40
    with pytest.raises(OverflowError, match="a radius beyond"):
        supnorm(Scale(56, 1), 40, SeededEntropy(1))
    # The most dimensions for a scale of one step, and the fewest for any.
    assert supnorm(Scale(6, 64), 4, SeededEntropy(1)).shape == (4,)
    assert supnorm(Scale(6, 64), 1, SeededEntropy(1)).shape == (1,)
    with pytest.raises(ValueError, match="a scale of 1 steps is too small for 5 dimensions"):
        supnorm(Scale(6, 64), 5, SeededEntropy(1))


def test_the_largest_radius(monkeypatch):
    monkeypatch.setattr(joint, "_radius", lambda *_: (1 << 59) - 1)
    assert np.abs(supnorm(Scale(20, 1), 9, SeededEntropy(1))).max() > 1 << 57
    monkeypatch.setattr(joint, "_radius", lambda *_: 1 << 59)
    with pytest.raises(OverflowError, match=r"^a radius beyond 2\^59 steps; use a coarser step$"):
        supnorm(Scale(20, 1), 9, SeededEntropy(1))


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
        (lambda: zero_sum(Scale.at_least(Fraction(1)), 1, SystemEntropy()), "dimension must be >= 2"),
        (
            lambda: supnorm(Scale.at_least(Fraction(1)), 50, SystemEntropy()),
            "a scale of 1 steps is too small for 50",
        ),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
