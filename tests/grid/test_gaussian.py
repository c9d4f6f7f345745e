"""Discrete Gaussian noise: probabilities at 50 digits, tables of chances, draws by either path, and wrong variances."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from inbounds.grid import gaussian
from inbounds.grid.entropy import SeededEntropy, SystemEntropy
from inbounds.grid.gaussian import GaussianMechanism, GaussianNoise, draw_gaussian, round_variance
from tests.grid.test_sampler import cell_masses, g_test

VARIANCES = [Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(77, 3), Fraction(400)]


def true_masses(variance):
    """P(k) at 60 digits, up to where it is below 1e-70."""
    with mp.workdps(60):
        twice = 2 * mp.mpf(variance.numerator) / variance.denominator
        reach = int(18 * math.sqrt(variance)) + 6
        weights = {k: mp.exp(-mp.mpf(k * k) / twice) for k in range(-reach, reach + 1)}
        total = mp.fsum(weights.values())
        return {k: weight / total for k, weight in weights.items()}


def holds(interval, true, digits=50):
    """Whether a number lies in an interval that is narrower than its last digit."""
    with mp.workdps(60):
        low, high = (mp.mpf(end.numerator) / end.denominator for end in (interval.lower, interval.upper))
        slack = mp.mpf(10) ** -digits
        return low - slack <= true <= high + slack and high - low < slack


@pytest.mark.claim("gaussian-law")
@pytest.mark.parametrize("variance", VARIANCES)
def test_probabilities_are_those_of_the_definition(variance):
    noise, other, true = GaussianNoise(variance), GaussianNoise(variance * 51 / 50), true_masses(variance)
    for z in range(-20, 21):
        assert holds(noise.probability(z), true.get(z, mp.mpf(0)))
        with mp.workdps(60):
            assert holds(noise.cumulative(z), mp.fsum(p for k, p in true.items() if k <= z))
    assert not all(holds(other.probability(z), true.get(z, mp.mpf(0))) for z in range(-20, 21))


@pytest.mark.claim("gaussian-moments")
@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize(
    ("low", "high"), [(None, None), (-3, 7), (0, 7), (-9, 0), (2, 19), (-20, -4), (None, 3), (-1, None), (4, None)]
)
def test_moments_of_clamped_noise(variance, low, high):
    true = true_masses(variance)
    ends = -math.inf if low is None else low, math.inf if high is None else high
    for order, found in enumerate(GaussianNoise(variance).moments(low, high), start=1):
        with mp.workdps(60):
            wanted = mp.fsum(p * mp.mpf(int(min(max(z, ends[0]), ends[1]))) ** order for z, p in true.items())
        assert holds(found, wanted, 45)


def test_a_grid_clamps_the_noise():
    law = GaussianMechanism("bit", Fraction(9, 4), 0, 5, Fraction(1, 10), Fraction(1))
    free = GaussianMechanism("unbounded", Fraction(9, 4), 0, 5)
    for at in (-2, 0, 3, 7):
        masses = [law.probability(index, at) for index in range(-1, 7)]
        assert (masses[0].upper, masses[-1].upper) == (0, 0)
        assert abs(sum(float(mass.lower) for mass in masses) - 1) < 1e-15
        assert float(masses[1].lower) == pytest.approx(float(free.cumulative(0, at).lower))
        assert float(law.cumulative(4, at).upper) == pytest.approx(1 - float(masses[-2].lower))
        bias = sum(float(mass.lower) * (index - at) / 10 for index, mass in enumerate(masses[1:-1]))
        assert float(law.bias(at).lower) == pytest.approx(bias, abs=1e-14)
        square = sum(float(mass.lower) * (index - at) ** 2 / 100 for index, mass in enumerate(masses[1:-1]))
        assert float(law.mse(at).upper) == pytest.approx(square)
    assert (law.span, law.value(3), law.locate(Fraction(13, 10))) == (5, Fraction(13, 10), 3)
    assert float(law.spread) == 1.5


@pytest.mark.claim("gaussian-exact")
@pytest.mark.parametrize("variance", [*VARIANCES, Fraction(1 << 62, 10**15)])
def test_chances_are_those_of_the_rejection(variance):
    """Every entry of the table is the floor of 2^64 e^(-(m - σ²/t)²/(2σ²)), t a power of two near σ."""
    table = gaussian._chances(variance)
    scale = gaussian._proposal(variance).steps
    assert math.log2(scale) == int(math.log2(scale))
    assert scale == Fraction(1, 8) or 0.6 < scale / math.sqrt(variance) < 1.6
    assert table[-1] == 0
    with mp.workdps(60):
        true = mp.mpf(variance.numerator) / variance.denominator
        t = mp.mpf(scale.numerator) / scale.denominator
        for size in {*range(min(len(table) - 1, 300)), *range(0, len(table) - 1, 61)}:
            chance = mp.exp(-((size - true / t) ** 2) / (2 * true))
            assert int(table[size]) == min(int(mp.floor(chance * 2**64)), 2**64 - 1)
        # Beyond the table nothing is kept, unless 64 bits are all zero.
        assert mp.exp(-((len(table) - 1 - true / t) ** 2) / (2 * true)) < mp.mpf(2) ** -64


@pytest.mark.claim("gaussian-exact")
def test_a_word_next_to_the_chance_takes_more_bits():
    variance = Fraction(5, 2)
    table = gaussian._chances(variance)
    for size in (0, 2, 5):
        floor = int(table[size])
        source = SeededEntropy(1)
        assert gaussian._keep(variance, floor - 1, size, source)
        assert not gaussian._keep(variance, floor + 1, size, source)
        assert source.handed_out == 0
        gaussian._keep(variance, floor, size, source)
        assert source.handed_out >= 8


DRAWS = 1_000_000


@pytest.mark.claim("gaussian-exact")
@pytest.mark.parametrize(
    ("variance", "bounding", "ends", "at"),
    [
        (Fraction(1, 4), "unbounded", (None, None), 0),
        (Fraction(1), "unbounded", (None, None), 0),
        (Fraction(7, 3), "bit", (0, 10), 1),
        (Fraction(300), "unbounded", (None, None), -5),
        (Fraction(10**4), "bit", (0, 400), 30),
    ],
)
def test_a_million_draws_follow_the_law_and_not_a_wider_one(variance, bounding, ends, at):
    """A variance that is 2% off is rejected at this number of draws, and the right one is not."""
    law = GaussianMechanism(bounding, variance, *ends)
    reach = 5 * math.isqrt(int(variance) + 1)
    step = max(1, math.isqrt(int(variance)) // 8)
    edges = np.arange(at - reach, at + reach + 1, step)
    edges = edges[(edges >= (ends[0] if ends[0] is not None else -math.inf))]
    edges = edges[edges < (ends[1] if ends[1] is not None else math.inf)]
    drawn = law.draw_alike(at, SeededEntropy(37), DRAWS)
    counts = np.bincount(np.searchsorted(edges, drawn, side="left"), minlength=len(edges) + 1)
    assert g_test(counts, cell_masses(law, at, edges)) > 1e-9
    for wrong in (variance * 51 / 50, variance * 49 / 50):
        other = GaussianMechanism(bounding, wrong, *ends)
        assert g_test(counts, cell_masses(other, at, edges)) < 1e-9


@pytest.mark.claim("gaussian-exact")
def test_single_draws_follow_the_same_law():
    variance, source = Fraction(7, 3), SeededEntropy(5)
    drawn = np.array([int(draw_gaussian(variance, source, 1)[0]) for _ in range(30_000)])
    edges = np.arange(-6, 7)
    counts = np.bincount(np.searchsorted(edges, drawn, side="left"), minlength=len(edges) + 1)
    right, wrong = (GaussianMechanism("unbounded", v, None, None) for v in (variance, variance * 6 / 5))
    assert g_test(counts, cell_masses(right, 0, edges)) > 1e-9
    assert g_test(counts, cell_masses(wrong, 0, edges)) < 1e-9


@pytest.mark.claim("sampler-blind")
@pytest.mark.parametrize("count", [1, 5, 3000])
def test_bytes_do_not_depend_on_the_location(count):
    law = GaussianMechanism("bit", Fraction(50), 0, 1000)
    sources = [SeededEntropy(9) for _ in range(4)]
    places = (0, 500, 1000, -(10**12))
    drawn = [law.draw_each(np.full(count, at), source) for at, source in zip(places, sources, strict=True)]
    assert len({source.handed_out for source in sources}) == 1
    # The same noise is added to each of them.
    assert ((drawn[1] - 500 == np.clip(drawn[1] - 500, -500, 500)) & (drawn[3] == 0)).all()
    inside = (drawn[0] > 0) & (drawn[1] < 1000)
    assert (drawn[0][inside] == drawn[1][inside] - 500).all()


def test_wide_noise_is_drawn_without_a_table():
    variance = Fraction(10**14)
    gaussian._chances.cache_clear()
    drawn = draw_gaussian(variance, SystemEntropy(), 200)
    assert gaussian._chances.cache_info().currsize == 0
    assert 0.6 < drawn.std() / 10**7 < 1.6
    with pytest.raises(ValueError, match=r"above 2\^24 steps are not certified"):
        GaussianNoise(variance).probability(0)


def test_variances_are_rounded_to_more_noise():
    for variance in (Fraction(1), Fraction(1, 3), Fraction(10**30 + 1, 7), Fraction(1, 3 * 10**9)):
        rounded = round_variance(variance)
        assert 0 <= rounded / variance - 1 < Fraction(1, 1 << 61)
        assert rounded.numerator.bit_length() <= 65 or rounded.denominator == 1
        assert round_variance(rounded) == rounded


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bounding": "truncated"}, "clamped or unbounded: truncated it has no known loss"),
        ({"variance": Fraction(0)}, "variance must lie between"),
        ({"variance": Fraction(1 << 81)}, "variance must lie between"),
        ({"first": 5, "last": 5}, "first must be below last"),
        ({"step": Fraction(0)}, "step must be > 0"),
    ],
)
def test_bad_mechanisms_are_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        GaussianMechanism(**({"bounding": "bit", "variance": Fraction(1), "first": 0, "last": 9} | changes))
