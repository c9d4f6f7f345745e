"""The discrete laws as exact fractions, and their privacy by enumeration in integers."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inbounds import Laplace, Mechanism
from inbounds.grid.entropy import SeededEntropy, SystemEntropy
from inbounds.grid.interval import as_interval
from inbounds.grid.law import Certified, GridMechanism, Rational, cumulative, moments, probability, within_reach
from inbounds.grid.scale import Scale
from inbounds.grid.staircase import Stairs
from inbounds.privacy.exact import calibrate_scale, exact_loss
from tests.grid.exponentials import exp_lower

Q = Fraction(3, 5)
CASES = list(itertools.product(["bit", "truncated"], [1, 2, 7, 30], range(-3, 34, 3)))


@pytest.mark.claim("grid-law")
@pytest.mark.parametrize(("bounding", "last", "at"), CASES)
def test_probabilities_sum_to_one_as_fractions(bounding, last, at):
    masses = [probability(Rational(Q), bounding, 0, last, k, at) for k in range(last + 1)]
    assert all(isinstance(mass, Fraction) for mass in masses)
    assert sum(masses) == 1
    running = list(itertools.accumulate(masses))
    assert running == [cumulative(Rational(Q), bounding, 0, last, k, at) for k in range(last + 1)]
    for outside in (-1, last + 1):
        assert probability(Rational(Q), bounding, 0, last, outside, at) == 0


@pytest.mark.claim("grid-law")
@pytest.mark.parametrize(("bounding", "last", "at"), CASES)
def test_probabilities_follow_the_definition(bounding, last, at):
    """Truncation: q^|k - clamped at| renormalised. BIT: the noise's own mass, everything beyond on the ends."""
    masses = [probability(Rational(Q), bounding, 0, last, k, at) for k in range(last + 1)]
    if bounding == "truncated":
        centre = min(max(at, 0), last)
        weights = [Q ** abs(k - centre) for k in range(last + 1)]
        assert masses == [weight / sum(weights) for weight in weights]
    else:
        noise = lambda k: Q ** abs(k) * (1 - Q) / (1 + Q)  # noqa: E731
        far = 400  # beyond it the tails are below (3/5)^400 < 1e-88
        clamped = [Fraction(0)] * (last + 1)
        for k in range(-far, far + 1):
            clamped[min(max(at + k, 0), last)] += noise(k)
        assert all(abs(mine - theirs) < Fraction(1, 10**80) for mine, theirs in zip(masses, clamped, strict=True))


@pytest.mark.claim("grid-moments")
@pytest.mark.parametrize(("bounding", "last", "at"), CASES)
def test_moments_by_summing_the_probabilities(bounding, last, at):
    bias, mse = moments(Rational(Q), bounding, 0, last, at)
    masses = [probability(Rational(Q), bounding, 0, last, k, at) for k in range(last + 1)]
    assert bias == sum(mass * (k - at) for k, mass in enumerate(masses))
    assert mse == sum(mass * (k - at) ** 2 for k, mass in enumerate(masses))


@pytest.mark.claim("grid-moments")
@pytest.mark.parametrize("bounding", ["bit", "truncated", "unbounded"])
@pytest.mark.parametrize("ends", [(0, None), (None, 0), (None, None)])
@pytest.mark.parametrize("at", [-3, 0, 4])
def test_moments_with_open_sides(bounding, ends, at):
    first, last = (None, None) if bounding == "unbounded" else ends
    bias, mse = moments(Rational(Q), bounding, *ends, at)
    run = range(-300 if first is None else 0, 301 if last is None else 1)
    masses = {k: probability(Rational(Q), bounding, first, last, k, at) for k in run}
    assert abs(bias - sum(m * (k - at) for k, m in masses.items())) < Fraction(1, 10**40)
    assert abs(mse - sum(m * (k - at) ** 2 for k, m in masses.items())) < Fraction(1, 10**40)


@pytest.mark.claim("grid-moments")
@pytest.mark.parametrize("bounding", ["bit", "truncated"])
def test_moments_of_a_fine_grid_are_those_of_the_real_line(bounding):
    grid = GridMechanism(bounding, Scale.at_least(Fraction(1 << 24)), 0, 5 << 24, Fraction(1, 5 << 24))
    line = Mechanism(Laplace(0.2), bounding, (0, 1))
    for at in (0, 1 << 20, 1 << 24, 5 << 23, (5 << 24) + 10**6, -(10**6)):
        s = float(grid.value(at))
        assert float(grid.bias(at).lower) == pytest.approx(float(line.bias(s)), rel=1e-6, abs=1e-9)
        assert float(grid.mse(at).upper) == pytest.approx(float(line.mse(s)), rel=1e-6)
        for mine, theirs in zip(grid.atoms(at), line.atoms(at=s), strict=True):
            assert float(mine.lower) == pytest.approx(float(theirs), abs=1e-6)


@pytest.mark.claim("grid-law")
def test_open_sides():
    for bounding in ("bit", "truncated", "unbounded"):
        for first, last in ((None, None),) if bounding == "unbounded" else ((0, None), (None, 0)):
            for at in (-4, 0, 3):
                run = range(-300 if first is None else 0, 301 if last is None else 1)
                total = sum(probability(Rational(Q), bounding, first, last, k, at) for k in run)
                assert 0 <= 1 - total < Fraction(1, 10**50)
                for end in (-5, -1, 0, 3, 8):
                    part = sum(probability(Rational(Q), bounding, first, last, k, at) for k in run if k <= end)
                    want = cumulative(Rational(Q), bounding, first, last, end, at)
                    assert 0 <= want - part < Fraction(1, 10**50)


@pytest.mark.claim("grid-law")
@pytest.mark.claim("grid-moments")
@pytest.mark.parametrize("bounding", ["bit", "truncated", "unbounded"])
@pytest.mark.parametrize("shift", [-7, 5, 40])
def test_a_law_moves_with_its_grid(bounding, shift):
    for at, index in itertools.product((-2, -1, 3, 7, 9), range(-2, 9)):
        for formula in (probability, cumulative):
            there = formula(Rational(Q), bounding, shift, 6 + shift, index + shift, at + shift)
            assert there == formula(Rational(Q), bounding, 0, 6, index, at)
            if bounding == "unbounded":
                assert there == formula(Rational(Q), bounding, None, None, index, at) > 0
        assert moments(Rational(Q), bounding, shift, 6 + shift, at + shift) == moments(Rational(Q), bounding, 0, 6, at)
    here, there = (GridMechanism(bounding, Scale(8, 3), 0 + by, 6 + by) for by in (0, shift))
    assert there.span == 6
    assert (there.worst_bias(), there.worst_mse()) == (here.worst_bias(), here.worst_mse())


@pytest.mark.claim("grid-worst-mse")
@pytest.mark.parametrize("bounding", ["bit", "truncated"])
@pytest.mark.parametrize("end", [0, 5])
def test_the_worst_of_a_law_is_that_of_its_mirror_image(bounding, end):
    for scale in (Scale(8, 3), Scale(6, 640)):
        above, below = (GridMechanism(bounding, scale, *ends) for ends in ((-end, None), (None, end)))
        assert above.worst_bias() == above.bias(-end)
        assert 0 < float(above.worst_bias().upper) == pytest.approx(float(below.worst_bias().upper), rel=1e-15)
        assert float(above.worst_mse().upper) == pytest.approx(float(below.worst_mse().upper), rel=1e-15)


def test_unbounded_noise_knows_no_ends_but_those_of_its_integers():
    law = GridMechanism("unbounded", Scale(6, 64), 0, 1)
    for at in (10**6, -(10**6)):
        assert abs(law.draw(at, SystemEntropy()) - at) < 10**3
        assert np.abs(law.draw_alike(at, SystemEntropy(), 3) - at).max() < 10**3
    for far in (1 << 62, -(1 << 62)):
        near = law.draw_each(np.array([far]), SystemEntropy())
        assert abs(int(near[0]) - far // 2) < 10**3


@given(
    st.sampled_from(["bit", "truncated", "unbounded"]), st.integers(1, 10**6), st.integers(-5, 70), st.integers(0, 60)
)
def test_certified_probabilities_enclose_the_rational_ones(bounding, denominator, at, index):
    """Certified with T steps agrees with Rational at a rational next to e^(-1/T)."""
    steps = Fraction(denominator, 1000)
    certified = probability(Certified(steps), bounding, 0, 60, index, at)
    q = exp_lower(-1 / steps)
    if q < Fraction(1, 10**60):
        return
    rational = probability(Rational(q), bounding, 0, 60, index, at)
    slack = Fraction(1, 1 << 150)
    assert certified.lower - slack <= rational <= certified.upper + slack
    assert certified.upper - certified.lower <= Fraction(1, 1 << 180)


def _in_units(mass):
    """A probability in units of 2^-700, rounded down."""
    return (mass.numerator << 700) // mass.denominator


def worst_ratio_holds(masses, last, move, epsilon, *, all_moves):
    """Whether P(k | s) ≤ e^ε P(k | s') for all s, s' at most ``move`` apart and all k, decided in integers.

    ``masses[s][k]`` are intervals; e^ε is replaced by a rational below it, after 2^-120 is added to ε: where the loss
    is ε exactly, as for BIT, no interval can tell.
    """
    limit = exp_lower(epsilon + Fraction(1, 1 << 120))
    # Common denominators: comparisons of integers.
    low = [[_in_units(m.lower) for m in row] for row in masses]
    high = [[_in_units(m.upper) + 1 for m in row] for row in masses]
    top, bottom = limit.numerator, limit.denominator
    for distance in range(1, move + 1) if all_moves else [move]:
        for s in range(last + 1 - distance):
            for one, other in ((s, s + distance), (s + distance, s)):
                if any(high[one][k] * bottom > top * low[other][k] for k in range(last + 1)):
                    return False
    return True


def table(bounding, scale, last):
    """P(k | s) for all s and k."""
    powers = Certified(scale.steps)

    class Cached:
        power = staticmethod(lambda k, memory={}: memory.get(k) or memory.setdefault(k, powers.power(k)))
        gap = staticmethod(lambda k, memory={}: memory.get(k) or memory.setdefault(k, powers.gap(k)))

    return [[probability(Cached, bounding, 0, last, k, s) for k in range(last + 1)] for s in range(last + 1)]


SETTINGS = [
    (last, move, epsilon, bounding)
    for last in (1, 2, 3, 5, 8, 13, 20)
    for move in sorted({1, 2, max(1, last // 2), last})
    if move <= last
    for epsilon in (Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(3), Fraction(20))
    for bounding in ("bit", "truncated")
]


@pytest.mark.claim("grid-loss")
@pytest.mark.claim("grid-calibrate")
def test_calibrated_mechanisms_keep_epsilon_by_enumeration():
    assert len(SETTINGS) >= 250
    for last, move, epsilon, bounding in SETTINGS:
        scale = calibrate_scale(bounding, move, last, epsilon)
        masses = table(bounding, scale, last)
        assert worst_ratio_holds(masses, last, move, epsilon, all_moves=True), (last, move, epsilon, bounding)
        # Not by chance: a promise one part in a million smaller is already broken by this enumeration.
        tight = epsilon * (1 - Fraction(1, 10**6))
        assert not worst_ratio_holds(masses, last, move, tight, all_moves=False), (last, move, epsilon, bounding)


@pytest.mark.claim("grid-loss")
@pytest.mark.parametrize("bounding", ["bit", "truncated"])
@pytest.mark.parametrize(("last", "move"), [(100, 1), (200, 17), (99, 50)])
def test_enumeration_of_larger_grids(bounding, last, move):
    epsilon = Fraction(1, 2)
    masses = table(bounding, calibrate_scale(bounding, move, last, epsilon), last)
    assert worst_ratio_holds(masses, last, move, epsilon, all_moves=False)


def test_enumeration_rejects_planted_defects():
    last, move, epsilon = 40, 3, Fraction(1)
    right = {b: calibrate_scale(b, move, last, epsilon) for b in ("bit", "truncated")}
    for bounding, scale in right.items():
        assert worst_ratio_holds(table(bounding, scale, last), last, move, epsilon, all_moves=True)
        # A scale 0.1% too small.
        small = Scale.at_least(scale.steps * Fraction(999, 1000))
        assert not worst_ratio_holds(table(bounding, small, last), last, move, epsilon, all_moves=False)
        # A sensitivity one step too small.
        short = calibrate_scale(bounding, move - 1, last, epsilon)
        assert not worst_ratio_holds(table(bounding, short, last), last, move, epsilon, all_moves=False)
    # Naive truncation: the renormalised law at BIT's scale.
    assert not worst_ratio_holds(table("truncated", right["bit"], last), last, move, epsilon, all_moves=False)
    # A wrong edge mass: what lies beyond the grid is dropped from its ends.
    masses = table("bit", right["bit"], last)
    plain = Certified(right["bit"].steps)
    for s, row in enumerate(masses):
        row[0] = probability(plain, "unbounded", None, None, 0, s)
        row[last] = probability(plain, "unbounded", None, None, last, s)
    total = sum(m.upper for m in masses[0])
    assert total < Fraction(9, 10)  # and it does not sum to one
    scaled = [[m / sum(row[1:], start=row[0]) for m in row] for row in masses]
    assert not worst_ratio_holds(scaled, last, move, epsilon, all_moves=False)


@pytest.mark.claim("grid-loss")
@pytest.mark.parametrize("bounding", ["bit", "truncated"])
def test_the_closed_form_is_the_enumerated_loss(bounding):
    for last, move, steps in (
        (12, 1, Fraction(5, 2)),
        (12, 5, Fraction(40)),
        (3, 3, Fraction(1, 3)),
        (30, 4, Fraction(7)),
    ):
        scale = Scale.at_least(steps)
        loss = exact_loss(bounding, scale, move, last)
        masses = table(bounding, scale, last)
        assert worst_ratio_holds(masses, last, move, loss.upper + Fraction(1, 1 << 100), all_moves=True)
        assert not worst_ratio_holds(masses, last, move, loss.lower - Fraction(1, 1 << 40), all_moves=False)


@pytest.mark.claim("grid-worst-mse")
@pytest.mark.parametrize("bounding", ["bit", "truncated"])
@pytest.mark.parametrize("steps", [Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(3), Fraction(20)])
@pytest.mark.parametrize("last", [1, 2, 3, 5, 8, 21])
def test_the_worst_errors_are_those_of_the_worst_location(bounding, steps, last):
    law = GridMechanism(bounding, Scale.at_least(steps), 0, last, Fraction(1, 7))
    every = range(last + 1)
    worst = max(law.mse(at).upper for at in every)
    assert abs(law.worst_mse().upper - worst) < worst / (1 << 60)
    biases = [max(abs(law.bias(at).lower), abs(law.bias(at).upper)) for at in every]
    assert abs(law.worst_bias().upper - max(biases)) < Fraction(1, 1 << 60)


@pytest.mark.claim("grid-worst-mse")
@pytest.mark.parametrize("bounding", ["bit", "truncated", "unbounded"])
def test_the_worst_errors_with_an_open_side(bounding):
    scale = Scale.at_least(Fraction(3))
    for first, last in ((0, None), (None, 5), (None, None)):
        law = GridMechanism(bounding, scale, first, last)
        seen = [law.mse((first or 0) + k if last is None else last - k) for k in (0, 1, 3, 10, 200)]
        assert max(mse.upper for mse in seen) <= law.worst_mse().upper * (1 + Fraction(1, 1 << 60))
        assert law.worst_mse().lower <= max(mse.upper for mse in seen) * (1 + Fraction(1, 1 << 60))
        assert law.worst_bias().upper >= max(law.bias(first or last or 0).lower, 0)
    assert (GridMechanism("unbounded", scale, 0, 9).worst_bias().upper) == 0


def test_locating():
    grid = GridMechanism("bit", Scale(20, 1), 0, 100, Fraction(1, 100), Fraction(2))
    assert grid.locate(Fraction(2)) == 0
    assert grid.locate(3) == 100
    assert grid.locate(Fraction(2005, 1000)) == 1  # half goes up, always
    assert grid.locate(Fraction(2015, 1000)) == 2
    assert grid.locate(Fraction(-5)) == -700  # beyond the grid is legal
    assert grid.value(50) == Fraction(5, 2)
    assert grid.span == 100


@given(st.fractions(-10, 10), st.fractions(0, 3), st.integers(1, 10**6))
def test_locating_never_adds_a_step(x, distance, parts):
    """|x - y| ≤ D steps gives indices at most D apart; half-to-even rounding would not."""
    grid = GridMechanism("unbounded", Scale(20, 1), None, None, Fraction(1, parts))
    move = -(-distance // grid.step)
    assert abs(grid.locate(x + distance) - grid.locate(x)) <= move


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: GridMechanism("clip", Scale(20, 1), 0, 9), ValueError, "bounding must be one of"),
        (lambda: GridMechanism("bit", 3, 0, 9), TypeError, "scale must be a Scale"),
        (lambda: GridMechanism("bit", Scale(20, 1), 9, 0), ValueError, "first must be below last"),
        (lambda: GridMechanism("bit", Scale(20, 1), 0, 2**61), ValueError, r"last must not exceed 2\^60"),
        (lambda: GridMechanism("bit", Scale(20, 1), 0, 9, Fraction(0)), ValueError, "step must be > 0"),
        (lambda: Scale(5, 1), ValueError, "scale must be"),
        (lambda: Scale(57, 1), ValueError, "scale must be"),
        (lambda: Scale(20, 0), ValueError, "scale must be"),
        (lambda: Scale(20, 1.5), TypeError, "divisor must be an integer"),
        (lambda: Scale(20, True), TypeError, "divisor must be an integer"),
        (lambda: Scale.at_least(Fraction(0)), ValueError, "scale must be > 0 steps"),
        (lambda: Scale.at_least(Fraction(1 << 40)), ValueError, "epsilon is too small for so fine a grid"),
        (lambda: Scale.at_least(Fraction(1, 1 << 40)), ValueError, "use a finer step"),
        (lambda: Scale.at_least(Fraction(1, 1 << 28)), ValueError, "use a finer step"),
        (lambda: Scale(56, 1 << 60), ValueError, "scale must be"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_the_least_and_the_largest_scale():
    assert Scale(56, (1 << 60) - 1).steps < Fraction(1, 8)
    assert Scale.at_least(Fraction(1 << 36)).steps == 1 << 36
    assert Scale.at_least(Fraction(1, (1 << 28) - 1)).steps >= Fraction(1, (1 << 28) - 1)


@pytest.mark.parametrize("bounding", ["bit", "truncated", "unbounded"])
def test_locations_are_rows_of_integers_of_any_size(bounding):
    law = GridMechanism(bounding, Scale(20, 1), np.int64(0), np.int8(100))
    assert law.span == 100
    for wrong in (np.zeros((3, 1), dtype=np.int64), np.array([0.5]), np.array(3), np.array([True])):
        with pytest.raises(TypeError, match="at must be one row of integers"):
            law.draw_each(wrong, SystemEntropy())
    with pytest.raises(TypeError):
        law.draw(Fraction(1, 2), SystemEntropy())
    huge = np.array([2**64 - 1], dtype=np.uint64)
    assert law.draw_each(huge, SystemEntropy()).dtype == np.int64
    for at in (2**63, -(2**63) - 1, 10**40):
        for value in (law.draw(at, SystemEntropy()), *law.draw_alike(at, SystemEntropy(), 3).tolist()):
            assert bounding == "unbounded" or 0 <= value <= 100
    one_sided = GridMechanism("truncated", Scale(20, 1), 0, None)
    assert one_sided.draw_alike(2**63 - 1, SystemEntropy(), 6).min() > 2**60


def test_scales_below_a_hundredth_of_a_step():
    law = GridMechanism("bit", Scale.at_least(Fraction(1, 222)), 0, 10)
    assert set(law.draw_each(np.full(5000, 3), SystemEntropy())) == {3}


@given(st.fractions(min_value=Fraction(1, 1000), max_value=10**9))
def test_scales_are_rounded_to_more_noise(steps):
    scale = Scale.at_least(steps)
    assert steps <= scale.steps <= steps * (1 + Fraction(1, 1 << 20))


@pytest.mark.claim("grid-moments")
@pytest.mark.parametrize("at", [-2, -1, 0, 7, 8, 9])
def test_moments_next_to_the_bounds(at):
    for bounding in ("bit", "truncated"):
        masses = [probability(Rational(Q), bounding, 0, 7, k, at) for k in range(8)]
        assert moments(Rational(Q), bounding, 0, 7, at)[0] == sum(mass * (k - at) for k, mass in enumerate(masses))


def test_an_open_side_has_no_atom_and_indices_are_integers():
    law = GridMechanism("bit", Scale(8, 3), 0, None)
    assert law.value(7) == 7
    atom, none = law.atoms(0)
    assert (atom.lower > Fraction(1, 2), none) == (True, as_interval(0))
    assert GridMechanism("bit", Scale(8, 3), None, 0).atoms(0)[0] == as_interval(0)
    assert GridMechanism("bit", Scale(8, 3), -(1 << 60), 1 << 60).span == 1 << 61
    with pytest.raises(ValueError, match="first must be below last"):
        GridMechanism("bit", Scale(8, 3), 4, 4)


def test_scales_end_where_they_say():
    assert Scale.at_least(Fraction(1 << 36)).steps == 1 << 36
    with pytest.raises(ValueError, match="epsilon is too small for so fine a grid"):
        Scale.at_least(Fraction((1 << 36) + 1))
    assert Scale.at_least(Fraction(1 << 32, (1 << 60) - 1)).steps == Fraction(1 << 32, (1 << 60) - 1)
    with pytest.raises(ValueError, match="is too small; use a finer step"):
        Scale.at_least(Fraction(1, 1 << 28))
    for wrong in ((5, 1), (57, 1), (6, 0), (6, 1 << 60)):
        with pytest.raises(ValueError, match="scale must be 2"):
            Scale(*wrong)


@pytest.mark.claim("grid-law")
def test_each_bounding_draws_its_own_law():
    """From far below: truncated noise is anywhere within the bounds, clamped at the lower one, other far below."""
    entropy, far = SeededEntropy(1), -(1 << 40)
    laws = {bounding: GridMechanism(bounding, Scale(20, 1), 0, 3) for bounding in ("truncated", "bit", "unbounded")}
    seen = {bounding: set(law.draw_each(np.full(60, far), entropy).tolist()) for bounding, law in laws.items()}
    alike = {bounding: set(law.draw_alike(far, entropy, 60).tolist()) for bounding, law in laws.items()}
    for drawn in (seen, alike):
        assert (drawn["truncated"], drawn["bit"]) == ({0, 1, 2, 3}, {0})
        assert max(drawn["unbounded"]) < far // 2
    stairs = GridMechanism("bit", Scale(20, 1), 0, 1, stairs=Stairs(9, 4))
    assert set(stairs.draw_each(np.zeros(60, dtype=np.int64), entropy).tolist()) == {0, 1}


def test_true_indices_are_integers_within_reach():
    assert [within_reach(at) for at in (10**30, -(10**30), 7)] == [1 << 61, -(1 << 61), 7]
    law = GridMechanism("bit", Scale(8, 3), 0, 5)
    with pytest.raises(TypeError, match=r"^x must be a Fraction"):
        law.locate(0.5)
    for at in (np.zeros((2, 2), dtype=np.int64), np.zeros(2), np.zeros(2, dtype=bool)):
        with pytest.raises(TypeError, match="at must be one row of integers"):
            law.draw_each(at, SystemEntropy())


@pytest.mark.claim("grid-moments")
@pytest.mark.claim("grid-worst-mse")
@pytest.mark.parametrize("ends", [(0, 4), (0, None), (None, 4)])
def test_errors_of_a_small_staircase(ends):
    """Bias, squared error and distribution as sums over the grid; the worst is at least that of each location."""
    law = GridMechanism("bit", Scale(6, 128), *ends, Fraction(1, 3), Fraction(2), Stairs(2, 1))
    points = range(ends[0] if ends[0] is not None else -90, 1 + (ends[1] if ends[1] is not None else 90))
    worst_bias, worst_mse = law.worst_bias(), law.worst_mse()
    hair = Fraction(1, 10**30)
    for at in (0, 1, 4):
        chances = [law.probability(index, at).lower for index in points]
        running = itertools.accumulate(chances)
        assert all(abs(law.cumulative(k, at).lower - total) < hair for k, total in zip(points, running, strict=True))
        moments_ = [
            sum(p * Fraction(k - at, 3) ** order for k, p in zip(points, chances, strict=True)) for order in (1, 2)
        ]
        assert abs(law.bias(at).lower - moments_[0]) < hair
        assert abs(law.mse(at).lower - moments_[1]) < hair
        assert abs(moments_[0]) <= worst_bias.upper + hair
        assert moments_[1] <= worst_mse.upper + hair
    open_ = GridMechanism("unbounded", Scale(6, 128), *ends, Fraction(1, 3), Fraction(2), Stairs(2, 1))
    assert worst_mse.upper == open_.mse(3).upper == open_.worst_mse().upper
    for outside in (-1, 5):
        beyond = (ends[0] is not None and outside < 0) or (ends[1] is not None and outside > 4)
        assert (law.probability(outside, 2) == as_interval(0)) == beyond
        assert open_.probability(outside, 2) == open_.probability(outside + 3, 5)
        assert open_.cumulative(outside, 2) == open_.cumulative(outside + 3, 5)


F = Fraction


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: GridMechanism("clip", Scale(8, 3), 0, 5), ValueError, "^bounding must be one of"),
        (lambda: GridMechanism("bit", 3.0, 0, 5), TypeError, "^scale must be a Scale, got float$"),
        (lambda: GridMechanism("bit", Scale(8, 3), 0.5, 5), TypeError, "^first must be an integer"),
        (lambda: GridMechanism("bit", Scale(8, 3), 0, 0.5), TypeError, "^last must be an integer"),
        (
            lambda: GridMechanism("bit", Scale(8, 3), 0, (1 << 60) + 1),
            ValueError,
            r"^last must not exceed 2\^60 in size",
        ),
        (lambda: GridMechanism("bit", Scale(8, 3), -(1 << 60) - 1, 0), ValueError, "^first must be >= -"),
        (lambda: GridMechanism("bit", Scale(8, 3), 5, 5), ValueError, "^first must be below last, got 5 and 5$"),
        (lambda: GridMechanism("bit", Scale(8, 3), 0, 5, 0.5), TypeError, "^step must be a Fraction"),
        (lambda: GridMechanism("bit", Scale(8, 3), 0, 5, F(0)), ValueError, "^step must be > 0, got 0$"),
        (lambda: GridMechanism("bit", Scale(8, 3), 0, 5, F(1), 0.5), TypeError, "^origin must be a Fraction"),
        (
            lambda: GridMechanism("bit", Scale(8, 3), 0, 5, stairs=3),
            ValueError,
            "^staircase noise has Stairs, and is clamped or unbounded: truncated it has no known loss$",
        ),
        (
            lambda: GridMechanism("truncated", Scale(8, 3), 0, 5, stairs=Stairs(2, 1)),
            ValueError,
            "^staircase noise has",
        ),
    ],
)
def test_grids_that_are_none(make, kind, words):
    with pytest.raises(kind, match=words):
        make()


def test_the_widest_grid_is_one():
    law = GridMechanism("bit", Scale(8, 3), np.int64(-(1 << 60)), np.int64(1 << 60), np.int64(2), F(np.int64(1), 3))
    assert law == GridMechanism("bit", Scale(8, 3), -(1 << 60), 1 << 60, F(2), F(1, 3))
    assert {type(end) for end in (law.first, law.last, law.step.numerator, law.origin.numerator)} == {int}
    assert law.span == 1 << 61
    assert law.spread == Fraction(256, 3)
    assert replace(law, stairs=Stairs(5, 2)).spread == 5 * Fraction(256, 3)
