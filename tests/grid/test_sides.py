"""The parts of a truncated draw: tables of rooms, the choice of a side by one word, and laws without a limit."""

import itertools
import random
from collections import Counter
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from inbounds.grid import sampler, sides
from inbounds.grid.entropy import SeededEntropy
from inbounds.grid.interval import one_minus_exp
from inbounds.grid.sampler import bit, laplace, truncated, truncated_alike
from inbounds.grid.scale import Scale
from inbounds.grid.sides import Rooms

COARSE, FINE = Scale(6, 5), Scale(20, 3)


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize("unit", [Fraction(1, 7), Fraction(1, 5000), Fraction(3, 2)])
@pytest.mark.parametrize("bits", [32, 41])
def test_multiples_are_rounded_down(unit, bits):
    gaps, powers = sides._multiples(unit, 200, bits)
    assert (gaps.dtype, powers.dtype) == (np.uint64, np.uint64)
    with mp.workdps(80):
        for k in range(200):
            power = mp.exp(-mp.mpf(k * unit.numerator) / unit.denominator)
            assert 0 <= mp.mpf(2) ** bits * (1 - power) - int(gaps[k]) <= 1 + mp.mpf(2) ** -150
            assert 0 <= mp.mpf(2) ** 32 * power - int(powers[k]) <= 1 + mp.mpf(2) ** -150


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize("scale", [COARSE, FINE, Scale(30, 1)])
@pytest.mark.parametrize("span", [3, 70_000, None])
def test_gaps_of_rooms_are_too_small_by_less_than_their_error(scale, span):
    """Γ(room + 1) of rooms of one, two and three digits, up to the largest and beyond it."""
    rooms = Rooms.of(scale, span)
    some = {0, 1, 2, 8190, 8191, 8192, 8193, 65_535, 70_000, 1 << 26, (1 << 26) + 8191, rooms.largest - 1}
    rank = np.array(sorted(room for room in some if room < rooms.largest))
    top = one_minus_exp(rooms.largest / scale.steps).upper
    shift = max(0, top.denominator.bit_length() - top.numerator.bit_length() - 1)
    assert 0 < rooms.error <= 12
    for room, gap in zip(rank.tolist(), rooms.gap(rank, len(rank)).tolist(), strict=True):
        exact = one_minus_exp((room + 1) / scale.steps)
        assert exact.upper * (1 << (32 + shift)) - gap >= 0
        assert exact.lower * (1 << (32 + shift)) - gap < rooms.error
    assert rooms.gap(None, 2).tolist() == rooms.gap(np.array([rooms.largest + 5] * 2), 2).tolist()


@pytest.mark.claim("sampler-exact")
def test_a_side_is_sure_whatever_is_not_known(monkeypatch):
    """Every word of five bits: a side is told only if all weights within their ends, and all numbers that begin with
    the word, have it."""
    rng, seen = random.Random(3), Counter()
    monkeypatch.setattr(sides, "WORD", 5)
    for _ in range(150):
        centre = rng.randrange(20, 200)
        ends = {1: (centre, centre + rng.randrange(4))}
        for k in (4, 5):
            low = centre + rng.randrange(4, 400)
            ends[k] = low, low + rng.choice([0, 1, 5, 40])
        monkeypatch.setattr(sides, "_gap_bounds", lambda k, _scale, _size, ends=ends: ends[k])
        for word in range(32):
            quick = sides._quick_side(word, 3, 4, COARSE)
            right = set()
            for left, above, middle in itertools.product(ends[4], ends[5], ends[1]):
                total, edges = left + above - middle, (left - middle << 5, left << 5)
                # At the word itself, and just below the next one.
                right.add(sum(word * total >= edge for edge in edges) - 1)
                right.add(sum((word + 1) * total > edge for edge in edges) - 1)
            assert quick is None or right == {quick}
            seen[quick] += 1
    assert min(seen[side] for side in (-1, 0, 1, None)) > 100


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize("count", [5, 200])
def test_without_limits_nothing_is_folded(count):
    """Noise that is not truncated on either side is that of BIT without bounds, from the same bytes."""
    at = np.arange(count) * 7 - 300
    drawn = truncated(at, None, None, COARSE, SeededEntropy(4))
    assert drawn.tolist() == bit(at, None, None, COARSE, SeededEntropy(4)).tolist()
    assert drawn.dtype == np.int64
    alike = truncated_alike(-11, None, None, COARSE, SeededEntropy(4), count)
    assert alike.tolist() == (-11 + laplace(COARSE, SeededEntropy(4), count)).tolist()


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize(("first", "last", "span"), [(-40, 90, 130), (5, 12, 7), (None, 12, None), (3, None, None)])
def test_rooms_are_those_between_the_bounds(first, last, span, monkeypatch):
    asked, real = [], Rooms.of

    def tables(scale, room):
        asked.append((scale, room))
        return real(scale, room)

    monkeypatch.setattr(sampler.Rooms, "of", staticmethod(tables))
    at = np.full(100, 8)
    drawn = truncated(at, first, last, COARSE, SeededEntropy(1))
    assert asked == [(COARSE, span)]
    assert drawn.min() >= (-(10**9) if first is None else first)
    assert drawn.max() <= (10**9 if last is None else last)
    assert at.tolist() == [8] * 100


@pytest.mark.claim("sampler-exact")
def test_chunks_are_as_long_as_what_is_left(monkeypatch):
    monkeypatch.setattr(sampler, "_CHUNK", 64)
    for size in (63, 64, 65, 200):
        assert sampler.geometric(COARSE, SeededEntropy(2), size).shape == (size,)
        assert (sampler.geometric(COARSE, SeededEntropy(2), size) >= 0).all()
        at = np.arange(size)
        assert np.abs(bit(at, None, None, Scale(6, 64), SeededEntropy(2)) - at).max() < 60
