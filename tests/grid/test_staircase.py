"""Staircase noise: its law, moments and loss against their definitions, every path of its draws, then a million."""

import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from inbounds.audit.replay import replay
from inbounds.grid import staircase
from inbounds.grid.entropy import SeededEntropy
from inbounds.grid.interval import as_interval, exp_minus
from inbounds.grid.law import GridMechanism
from inbounds.grid.scale import Scale
from inbounds.grid.staircase import StaircaseLaw, Stairs
from tests.grid.exponentials import exp_lower
from tests.grid.test_sampler import Numbers, Scripted, assert_law, coarse, every_path, g_test, wrongly_scaled

__all__ = ["coarse"]
SHAPES = [(1, 1), (2, 1), (3, 3), (5, 2), (7, 4)]
HALF = Scale(6, 128)


def weights(width, core, b, reach):
    """b^level by walking away from 0: ``core`` integers, then ``width`` for every level."""
    side, left, level = [], core, 0
    for _ in range(reach + 1):
        if not left:
            left, level = width, level + 1
        side.append(b**level)
        left -= 1
    return {z: side[abs(z)] for z in range(-reach, reach + 1)}


def masses(width, core, scale, reach=600):
    with mp.workdps(60):
        b = mp.exp(-mp.mpf(scale.divisor) / (1 << scale.exponent))
        found = weights(width, core, b, reach)
        total = mp.fsum(found.values())
        return {z: weight / total for z, weight in found.items()}


def holds(interval, true):
    """Whether a number lies in an interval that is narrower than 1e-50 of it."""
    with mp.workdps(60):
        low, high = (mp.mpf(end.numerator) / end.denominator for end in (interval.lower, interval.upper))
        slack = mp.mpf(10) ** -45
        return low - slack <= true <= high + slack and high - low < slack


@pytest.mark.claim("staircase-law")
@pytest.mark.parametrize(("width", "core"), SHAPES)
def test_probabilities_are_those_of_the_definition(width, core):
    law, true = StaircaseLaw(Stairs(width, core), HALF), masses(width, core, HALF)
    other = StaircaseLaw(Stairs(width + 1, core), HALF)
    for z in range(-25, 26):
        assert holds(law.probability(z), true[z])
        with mp.workdps(60):
            assert holds(law.cumulative(z), mp.fsum(p for k, p in true.items() if k <= z))
    assert not all(holds(other.probability(z), true[z]) for z in range(-25, 26))


@pytest.mark.claim("staircase-law")
def test_a_width_of_one_is_discrete_laplace_noise():
    law, plain = (GridMechanism("bit", HALF, 0, 9, stairs=stairs) for stairs in (Stairs(1, 1), None))
    for at, index in itertools.product((-2, 0, 4, 9, 12), range(-1, 11)):
        for one, other in ((law.probability, plain.probability), (law.cumulative, plain.cumulative)):
            assert abs(one(index, at).lower - other(index, at).lower) < Fraction(1, 1 << 180)
    assert abs(law.mse(3).lower - plain.mse(3).lower) < Fraction(1, 1 << 180)


@pytest.mark.claim("staircase-moments")
@pytest.mark.parametrize(("width", "core"), SHAPES)
@pytest.mark.parametrize(
    ("low", "high"),
    [(None, None), (-3, 7), (0, 7), (-9, 0), (2, 19), (-20, -4), (None, 3), (-1, None), (4, None), (0, 0)],
)
def test_moments_of_clamped_noise(width, core, low, high):
    true = masses(width, core, HALF)
    ends = -math.inf if low is None else low, math.inf if high is None else high
    for order, found in enumerate(StaircaseLaw(Stairs(width, core), HALF).moments(low, high), start=1):
        with mp.workdps(60):
            wanted = mp.fsum(p * mp.mpf(int(min(max(z, ends[0]), ends[1]))) ** order for z, p in true.items())
        assert holds(found, wanted)


@pytest.mark.claim("staircase-moments")
@pytest.mark.parametrize("bounding", ["bit", "unbounded"])
@pytest.mark.parametrize("at", [-4, 0, 3, 11, 15])
def test_errors_on_a_grid_are_sums_over_it(bounding, at):
    law = GridMechanism(bounding, HALF, 0, 11, Fraction(1, 3), stairs=Stairs(4, 2))
    points = range(12) if bounding == "bit" else range(-400, 420)
    chances = [law.probability(k, at) for k in points]
    mass = sum(chances, start=as_interval(0))
    assert mass.lower <= 1 + Fraction(1, 10**60)
    assert mass.upper > 1 - Fraction(1, 10**60)
    for order, found in ((1, law.bias(at)), (2, law.mse(at))):
        wanted = sum((p * (Fraction(k - at, 3) ** order) for k, p in zip(points, chances, strict=True)), as_interval(0))
        assert abs(found.lower - wanted.lower) < Fraction(1, 10**50)
    for k in range(-2, 14):
        up_to = sum((p for j, p in zip(points, chances, strict=True) if j <= k), as_interval(0))
        assert abs(law.cumulative(k, at).lower - up_to.lower) < Fraction(1, 10**50)


@pytest.mark.claim("grid-worst-mse")
@pytest.mark.parametrize(("width", "core"), SHAPES)
@pytest.mark.parametrize("last", [3, 8, 30])
def test_worst_errors_are_not_exceeded(width, core, last):
    law = GridMechanism("bit", HALF, 0, last, stairs=Stairs(width, core))
    worst = max(law.mse(at).lower for at in range(last + 1))
    assert law.worst_mse().lower - Fraction(1, 10**40) <= worst <= law.worst_mse().upper
    assert max(abs(law.bias(at).lower) for at in range(last + 1)) <= law.worst_bias().upper


@pytest.mark.claim("staircase-loss")
@pytest.mark.parametrize(("width", "core"), [(w, c) for w in range(1, 7) for c in range(1, w + 1)])
def test_no_level_changes_by_more_than_one(width, core):
    """Over all moves up to D and all outputs; a move by one more changes some level by two, but in wide levels."""
    level = Stairs(width, core).level
    reach = range(-5 * width, 5 * width + 1)

    def most(move):
        return max(abs(level(abs(z)) - level(abs(z - d))) for z in reach for d in range(-move, move + 1))

    assert most(width) == 1
    assert most(width + 1) == 2
    assert most(2 * width) == 2


@pytest.mark.claim("staircase-loss")
@pytest.mark.parametrize("bounding", ["bit", "unbounded"])
@pytest.mark.parametrize(("width", "core"), [(3, 1), (4, 3)])
def test_the_loss_is_the_worst_over_neighbours_and_outputs(bounding, width, core):
    """Certified: no ratio exceeds e^(1/T), and one exceeds e^((1 - 1e-6)/T); with levels that are narrower, e^(1/T)."""

    def worst(stairs):
        law = GridMechanism(bounding, HALF, 0, 9, stairs=stairs)
        places, outputs = range(-2, 12), range(10) if bounding == "bit" else range(-5, 15)
        chances = {at: [law.probability(index, at).lower for index in outputs] for at in places}
        pairs = [(a, b) for a, b in itertools.product(places, repeat=2) if abs(a - b) <= width]
        return max(p / q for a, b in pairs for p, q in zip(chances[a], chances[b], strict=True))

    promise = 1 / HALF.steps
    hair = Fraction(1, 10**40)
    assert worst(Stairs(width, core)) <= exp_lower(promise) * (1 + hair)
    assert worst(Stairs(width, core)) > exp_lower(promise * (1 - Fraction(1, 10**6)))
    assert worst(Stairs(width - 1, 1)) > exp_lower(promise) * (1 + hair)


@pytest.mark.claim("staircase-exact")
@pytest.mark.parametrize(("width", "core"), [(2, 1), (2, 2), (3, 2)])
def test_draws_on_every_path(coarse, width, core):
    """At b = ½, where a geometric variable takes single bits and the chance of the core is a fraction."""

    def heads(_, entropy):
        count = 0
        while staircase.bits(entropy, 1):
            count += 1
        return count

    def law(width, core):
        found = weights(width, core, Fraction(1, 2), 40 * width)
        # All levels together weigh 2D b/(1-b), b/(1-b) being 1.
        return lambda z: as_interval(found[z] / (2 * core - 1 + 2 * width))

    coarse.setattr(staircase, "geometric_one", heads)
    chance = as_interval(Fraction(2 * core - 1, 2 * core - 1 + 2 * width))
    coarse.setattr(StaircaseLaw, "chance_of_core", lambda _: chance)
    drawn = every_path(lambda: StaircaseLaw(Stairs(width, core), None).one(None), coarse, depth=14)
    assert_law(*drawn, law(width, core), most_undecided=Fraction(1, 4))
    for wrong in (law(width + 4, core), law(width, 1 if core > 1 else 2)):
        assert wrongly_scaled(wrong, *drawn)


@pytest.mark.claim("staircase-exact")
@pytest.mark.parametrize(("width", "core", "scale"), [(5, 2, HALF), (9, 9, Scale(6, 21)), (4, 1, Scale(6, 300))])
def test_a_million_draws(width, core, scale):
    law, count = StaircaseLaw(Stairs(width, core), scale), 10**6
    drawn = Counter(law.many(SeededEntropy(width), count).tolist())

    def fits(width, core, scale):
        true = masses(width, core, scale)
        near = range(-6 * width, 6 * width + 1)
        found = [drawn[z] for z in near]
        chances = [float(true[z]) for z in near]
        return g_test([*found, count - sum(found)], [*chances, max(1 - sum(chances), 1e-12)])

    assert fits(width, core, scale) > 1e-9
    assert fits(width, core, Scale(6, scale.divisor + max(scale.divisor // 40, 1))) < 1e-9
    assert fits(width, core + 1 if core < width else core - 1, scale) < 1e-9


@pytest.mark.claim("staircase-exact")
def test_few_draws_have_the_law_of_many():
    law, count = StaircaseLaw(Stairs(5, 2), HALF), 8_000
    entropy = SeededEntropy(3)
    drawn = Counter(law.one(entropy) for _ in range(count))
    true = masses(5, 2, HALF)
    near = range(-12, 13)
    chances = [float(true[z]) for z in near]
    assert g_test([drawn[z] for z in near], [p / sum(chances) for p in chances]) > 1e-9
    wrong = [float(masses(5, 3, HALF)[z]) for z in near]
    assert g_test([drawn[z] for z in near], [p / sum(wrong) for p in wrong]) < 1e-9


@pytest.mark.claim("sampler-blind")
@pytest.mark.parametrize("size", [1, 40])
def test_bytes_do_not_depend_on_the_location(size):
    law = GridMechanism("bit", Scale(6, 128), 0, 1 << 40, stairs=Stairs(1 << 20, 1 << 18))
    places = [np.full(size, at, dtype=np.int64) for at in (0, 1, 1 << 39, 1 << 40, 1 << 50)]
    assert replay(lambda at, entropy: law.draw_each(at, entropy), places)
    drawn = law.draw_each(places[2], SeededEntropy(1))
    assert ((drawn >= 0) & (drawn <= 1 << 40)).all()


@pytest.mark.claim("staircase-exact")
def test_the_error_of_draws_is_the_variance():
    """Within six standard errors; a hundredth more is not."""
    law, count = StaircaseLaw(Stairs(1 << 20, 351_410), HALF), 10**6
    squares = (law.many(SeededEntropy(4), count) / 2.0**20) ** 2
    wanted = float(law.moments(None, None)[1].upper) / 2.0**40
    error = squares.std() / math.sqrt(count)
    assert abs(squares.mean() - wanted) < 6 * error
    assert abs(squares.mean() - 1.02 * wanted) > 6 * error


def test_bad_shapes_are_named():
    for width, core in ((0, 1), (3, 0), (3, 4), (1 << 61, 1)):
        with pytest.raises(ValueError, match=r"width|core"):
            Stairs(width, core)
    with pytest.raises(ValueError, match="staircase noise has Stairs, and is clamped or unbounded"):
        GridMechanism("truncated", HALF, 0, 9, stairs=Stairs(3, 2))
    law = GridMechanism("bit", HALF, 0, 9, stairs=Stairs(3, 2))
    assert law.spread == Fraction(3, 2)
    assert replace(law, stairs=None).spread == Fraction(1, 2)
    assert exp_minus(Fraction(2)).upper < law.probability(0, 0).upper
    with pytest.raises(OverflowError, match="beyond 2\\^60 steps"):
        StaircaseLaw(Stairs(1 << 59, 1), Scale(30, 1)).many(SeededEntropy(1), 40)


@pytest.mark.claim("staircase-exact")
@pytest.mark.parametrize(("more", "drawn"), [(0, -1), ((1 << 64) - 1, 2)])
def test_a_tie_with_the_chance_of_the_core_takes_more_bits(more, drawn):
    """One by one and among several: below it is the first place of the core, above the first of the next level."""
    law = StaircaseLaw(Stairs(5, 2), HALF)
    floor = int(law.chance_of_core().lower * (1 << 64))
    assert law.many(Scripted([floor, *[0] * 11, more], 0), 12).tolist() == [drawn, *[-1] * 11]
    assert law.one(Numbers([floor, more])) == drawn


def test_sums_of_powers_are_whole():
    for m in (0, 1, 7, (1 << 60) + 1):
        assert staircase._power_sum(1, m) * 2 == m * (m + 1)
        assert staircase._power_sum(2, m) * 6 == m * (m + 1) * (2 * m + 1)
        assert type(staircase._power_sum(1, m)) is type(staircase._power_sum(2, m)) is int
