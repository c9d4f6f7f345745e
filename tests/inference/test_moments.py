"""The law of a combination of moments' noise, and intervals of what is made of moments drawn together."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.grid.entropy import SeededEntropy
from inbounds.grid.polyhedral import polyhedral
from inbounds.grid.scale import Scale
from inbounds.inference.laws import InNorm, SupNorm, noise_of
from inbounds.laws.vectors import combination_sizes, vector_noise
from inbounds.privacy.norms import make_norm
from tests import moments

COMBINATIONS = [
    (1, ((0, 1.0),)),
    (1, ((1, 0.5),)),
    (1, ((0, -1.4), (1, 0.5))),
    (2, ((1, 1.0),)),
    (2, ((0, -0.6), (2, 0.5))),
    (3, ((4, 1.0),)),
]


def furthest(law, drawn):
    """The largest distance between a distribution function and that of a sample (Kolmogorov and Smirnov)."""
    drawn = np.sort(drawn)
    steps = np.arange(len(drawn) + 1) / len(drawn)
    cdf = law.cdf(drawn)
    return max(np.abs(cdf - steps[1:]).max(), np.abs(cdf - steps[:-1]).max())


@pytest.mark.claim("norm-marginal")
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize(("columns", "weights"), COMBINATIONS)
def test_a_combination_follows_its_law(columns, weights, counted):
    """Against noise drawn by other means; its own sample of the ball is good for a percent."""
    norm = make_norm((f"{'counted ' if counted else ''}moments {columns}",))
    weights = tuple((place + counted, weight) for place, weight in weights)
    law = InNorm(2.0, norm.dimension, norm.parts, weights)
    noise = moments.noise(columns, 2.0, np.random.default_rng(2), 40_000, counted=counted)
    drawn = noise[:, [place for place, _ in weights]] @ [weight for _, weight in weights]
    # 0.01 for its sample, and what 40,000 draws are off less than once in 1e9: √(log(2e9)/2n).
    room = 0.01 + math.sqrt(math.log(2e9) / 2 / len(drawn))
    assert furthest(law, drawn) < room
    assert furthest(replace(law, scale=2.4), drawn) > room
    # The density is that of the same law, and the reach leaves nothing.
    points = np.linspace(0, law.reach, 20_001)
    assert np.trapezoid(law.density(points), points) == pytest.approx(0.5, abs=0.003)
    slope = -np.diff(1 - law.cdf(points)) / np.diff(points)
    middle = (points[1:] + points[:-1]) / 2
    assert np.abs(law.density(middle) - slope).max() < 0.02 * law.density(points).max() + 0.1 * law.density(middle)[0]
    assert 1 - law.cdf(law.reach) < 1e-12


@pytest.mark.claim("norm-marginal")
def test_exact_draws_follow_the_law_of_a_combination():
    """Draws of the sampler on a fine lattice, not of a simulation."""
    norm, entropy = make_norm(("moments 1",)), SeededEntropy(11)
    drawn = np.array([polyhedral(Scale(30, 1), norm, entropy) for _ in range(4000)]) / 2**30
    for weights in (((0, 1.0),), ((1, 1.0),), ((0, -1.0), (1, 0.5))):
        law = InNorm(1.0, 2, norm.parts, weights)
        sums = drawn[:, [place for place, _ in weights]] @ [weight for _, weight in weights]
        room = 0.01 + math.sqrt(math.log(2e9) / 2 / len(drawn))
        assert furthest(law, sums) < room
        assert furthest(replace(law, scale=1.6), sums) > room


@pytest.mark.claim("norm-marginal")
def test_without_rows_it_is_the_law_of_the_cube():
    for dimension in (2, 9):
        law, cube = InNorm(3.0, dimension, (), ((1, 1.0),)), SupNorm(3.0, dimension)
        # Not next to 0, where a sample of the ball has hardly any points.
        points = np.concatenate([np.linspace(-30, -0.5, 150), np.linspace(0.5, 30, 150)])
        assert law.cdf(points) == pytest.approx(cube.cdf(points), abs=0.004)
        assert law.density(points) == pytest.approx(cube.density(points), abs=0.12 * cube.density(0.0))
    release = ib.moments({f"c{i}": [0.5] * 9 for i in range(7)}, bounds={f"c{i}": (0, 1) for i in range(7)}, epsilon=1)
    assert isinstance(noise_of(release.parts[0], place=3), SupNorm)


def test_noise_of_vectors_is_that_of_the_ball():
    """Second moments of simulated noise, also of blocks beside each other and of places in any order."""
    norm = make_norm(("box 1", "moments 2", "moments 2"))
    rng = np.random.default_rng(3)
    drawn = vector_noise(norm.dimension, norm.parts, rng, (60_000,), [3, 0, 1, 6])
    inside = moments.noise(2, 1.0, rng, 100_000) / rng.gamma(6, 1.0, (100_000, 1))
    of_ball = (moments.noise(2, 1.0, rng, 100_000) ** 2).mean(axis=0) / (6 * 7)
    radius = (norm.dimension + 1) * (norm.dimension + 2)
    expected = radius * np.array([of_ball[2], 1 / 3, of_ball[0], of_ball[0]])
    assert (drawn**2).mean(axis=0) == pytest.approx(expected, rel=0.05)
    assert inside.shape == (100_000, 5)
    # Blocks of the same kind are independent of each other, given the radius.
    sizes = combination_sizes(norm.parts, [(1, 1.0), (6, 1.0)])
    assert (sizes**2).mean() == pytest.approx(2 * of_ball[0], rel=0.05)


def released(template, columns, bounds, noise):
    """A release like ``template`` of other records, with noise that was drawn apart from it."""
    grid, spread = template.certificate.grid, float(template.certificate.spread)
    noisy = moments.sums_of(columns, bounds) + noise * spread
    return replace(template, noisy=tuple(grid.value(grid.locate(Fraction(float(x)))) for x in noisy))


def normal(rng, rows, rho):
    """Two normal columns, hardly any records of which lie beyond [0, 1]."""
    z = rng.standard_normal((2, rows))
    return np.array([0.5, 0.4])[:, None] + 0.1 * np.array([z[0], rho * z[0] + math.sqrt(1 - rho**2) * z[1]])


def below(level, runs, errors=4.5):
    return level - errors * math.sqrt(level * (1 - level) / runs)


UNIT = [(0, 1), (0, 1)]


@pytest.mark.parametrize("kind", ["noise", "population"])
@pytest.mark.parametrize(("rows", "epsilon"), [(500, 0.5), (5000, 1.0)])
def test_means_of_moments_are_covered(rows, epsilon, kind):
    from inbounds.inference.tables import _limit_by_score, _mean

    find = _mean if kind == "noise" else _limit_by_score
    rng, runs = np.random.default_rng(rows), 200 if kind == "noise" else 60
    template = ib.moments({"x": [0.5] * rows, "y": [0.5] * rows}, bounds={"x": (0, 1), "y": (0, 1)}, epsilon=epsilon)
    noise, covered, widths = moments.noise(2, 1.0, rng, runs), np.zeros(2), np.zeros(2)
    for z in noise:
        x = normal(rng, rows, 0.6)
        made = released(template, x, UNIT, z)
        truth = x.mean(axis=1) if kind == "noise" else np.array([0.5, 0.4])
        ends = np.array([find(made, column, 0.05) for column in range(2)])
        covered += (ends[:, 0] <= truth) & (truth <= ends[:, 1])
        widths += ends[:, 1] - ends[:, 0]
    assert (covered / runs >= below(0.95, runs, errors=2)).all()
    assert (widths / runs < (0.06 if rows == 500 else 0.0065)).all()
    whole = made.interval(kind=kind)
    assert (whole.lower[0], whole.upper[0]) == (pytest.approx(ends[:, 0]), pytest.approx(ends[:, 1]))
    assert whole.lower.shape == (3, 2)


@pytest.mark.parametrize("kind", ["noise", "population"])
@pytest.mark.parametrize(("rows", "epsilon"), [(500, 0.5), (5000, 1.0)])
def test_variances_of_moments_are_covered(rows, epsilon, kind):
    rng, runs = np.random.default_rng(rows + 1), 100
    template = ib.variance([0.5] * rows, bounds=(0, 1), epsilon=epsilon, method="moments")
    covered = 0
    for z in moments.noise(1, 1.0, rng, runs):
        x = normal(rng, rows, 0.0)[1]
        lower, upper = released(template, [x], UNIT[:1], z).interval(kind=kind, method="normal")
        covered += lower <= (x.var(ddof=1) if kind == "noise" else 0.01) <= upper
    assert covered / runs >= below(0.95, runs, errors=2)


@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_correlations_of_moments_are_covered(rho):
    rng, runs, rows = np.random.default_rng(17), 40, 500
    template = ib.correlation({"x": [0.5] * rows, "y": [0.5] * rows}, bounds={"x": (0, 1), "y": (0, 1)}, epsilon=1)
    covered = 0
    for z in moments.noise(2, 1.0, rng, runs):
        made = released(template, normal(rng, rows, rho), UNIT, z).interval(method="normal")
        covered += made.lower[0, 1] <= rho <= made.upper[0, 1]
    assert covered / runs >= below(0.95, runs, errors=2)


def test_a_variance_of_moments_makes_the_interval_of_a_mean_shorter():
    """By the law of what its noise comes to at the released mean; Laplace noise of its own is wider."""
    rows = 2000
    x = np.random.default_rng(4).normal(0.5, 0.1, rows)
    mean = ib.mean(x, bounds=(0, 1), epsilon=1)
    for method in ("moments", "direct"):
        made = mean.interval(variance=ib.variance(x, bounds=(0, 1), epsilon=1, method=method))
        assert made.width < 0.6 * mean.interval(method="worst-case").width
        assert made.method == "normal law with a released variance"


def test_intervals_say_how_they_were_made():
    release = ib.moments({"x": [0.5, 0.6] * 100}, bounds={"x": (0, 1)}, epsilon=1)
    population, noise = release.interval(), release.interval(kind="noise")
    assert population.method.startswith("of means score interval from the noisy sum and sum of squares; of cov")
    assert "coverage was shown for many laws" in population.assumption
    assert "normal" not in population.assumption + noise.assumption
    assert "records are normal" in release.interval(method="normal").assumption
    added = ib.moments({"x": [0.5, 0.6] * 100}, bounds={"x": (0, 1)}, epsilon=1, neighbours="add-remove").interval()
    assert added.method.startswith("of means score interval")
    assert (added.lower <= added.upper).all()
    with pytest.raises(ValueError, match="population interval of a mean"):
        release.interval(variance=ib.variance([0.5, 0.6] * 100, bounds=(0, 1), epsilon=1))
