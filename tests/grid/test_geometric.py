"""The parts of a geometric draw: what more bits decide, what cannot be certified, and tables that lack precision."""

import itertools
from fractions import Fraction

import mpmath as mp
import pytest

from inbounds.grid import geometric, joint
from inbounds.grid.entropy import SeededEntropy
from inbounds.grid.geometric import Inverse, count_reached
from inbounds.grid.interval import Interval, as_interval
from inbounds.grid.scale import Scale

AGREES = r"^a uniform number agrees with a threshold in 192 bits$"


class Bits:
    """Entropy that repeats one 64-bit word, and counts how often it was asked."""

    def __init__(self, word):
        self.word, self.asked = word, 0

    def take(self, count):
        assert count == 8
        self.asked += 1
        return self.word.to_bytes(8, "little")


@pytest.mark.claim("sampler-exact")
def test_a_number_reaches_what_all_numbers_with_its_bits_reach():
    """Every word of four bits and thresholds with ends of their own: what is told is so for the whole of the word."""
    ends = [Fraction(k, 64) for k in (0, 7, 16, 21, 40, 41, 63, 64)]
    decided = 0
    for (low, high), word in itertools.product(itertools.combinations_with_replacement(ends, 2), range(16)):
        source = Bits(1 << 63)
        try:
            told = count_reached(word, 4, [Interval(low, high), as_interval(Fraction(1, 32))], source)
        except ArithmeticError:
            # The same bits over and over lead to a number within the ends.
            continue
        u = Fraction(word, 16)
        last = u + Fraction(1, 16)
        if source.asked == 0:
            decided += 1
            assert all(u >= t or last <= t for t in (low, high, Fraction(1, 32)))
        else:
            u += Fraction(1, 32)
            assert all(u >= t or u < t for t in (low, high))
        assert told == (u >= high) + (u >= Fraction(1, 32))
        assert (u >= high) == (u >= low)
    assert decided > 200


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize(("size", "asked"), [(64, 3), (128, 2), (192, 1)])
def test_agreement_in_192_bits_is_an_error(size, asked):
    third = int("01" * 32, 2)
    word = int("01" * (size // 2), 2)
    source = Bits(third)
    with pytest.raises(ArithmeticError, match=AGREES):
        count_reached(word, size, [as_interval(Fraction(1, 3))], source)
    assert source.asked == asked


@pytest.mark.claim("sampler-exact")
def test_more_bits_are_taken_until_both_ends_agree(monkeypatch):
    inverse, ends = Inverse(Fraction(7)), []
    places = iter([3, 4, None, None, 5, 5])

    def place(_inverse, u):
        ends.append(u)
        return next(places)

    monkeypatch.setattr(Inverse, "_place", place)
    source = Bits(5)
    assert inverse._exact(9, 64, source) == 5
    word = 9
    for turn, (low, high) in enumerate(zip(ends[::2], ends[1::2], strict=True)):
        word, size = (word << 64) | 5, 128 + 64 * turn
        assert (low, high) == (Fraction(word, 1 << size), Fraction(word + 1, 1 << size))
    assert source.asked == 3
    monkeypatch.setattr(Inverse, "_place", lambda _inverse, _u: None)
    with pytest.raises(ArithmeticError, match=AGREES):
        inverse._exact(9, 64, Bits(5))


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize("inverse", [Inverse(Fraction(7)), Inverse(Fraction(7, 2), True), geometric.PIECES])
@pytest.mark.parametrize("g", [1, 2, 3, 8, 21])
def test_a_place_is_certified(inverse, g):
    """Within the ends of P(G ≥ g), and at them, nothing is told; outside of them it is."""
    tail, tiny = inverse._tail(g), Fraction(1, 1 << 400)
    assert tail.lower < tail.upper
    for inside in (tail.lower, (tail.lower + tail.upper) / 2, tail.upper):
        assert inverse._place(1 - inside) is None
    assert inverse._place(1 - tail.upper - tiny) == g - 1
    assert inverse._place(1 - tail.lower + tiny) == g


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize("inverse", [Inverse(Fraction(7)), Inverse(Fraction(5, 2), True), Inverse(Fraction(40), True)])
@pytest.mark.parametrize("size", [3, 4, 9])
def test_tables_have_every_threshold_up_to_the_last(inverse, size):
    table = geometric._make_table(inverse, size)
    with mp.workdps(60):
        q = mp.exp(-mp.mpf(inverse.steps.denominator) / inverse.steps.numerator)
        factor = 2 / (1 + q) if inverse.two_sided else 1
        floors = [int(mp.floor((1 - factor * q ** (g + 1)) * 2**size)) for g in range(len(table))]
    assert table == floors
    assert table[-1] == (1 << size) - 1
    assert table[-2] < (1 << size) - 1


def test_a_table_that_lacks_precision_is_refused(monkeypatch):
    monkeypatch.setattr(geometric, "exp_minus", lambda _x: Interval(Fraction(1, 2), Fraction(1, 2) + Fraction(1, 9)))
    with pytest.raises(ArithmeticError, match=r"^the table needs more precision$"):
        geometric._make_table(Inverse(Fraction(7)), 8)


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize("dimension", [3, 40])
def test_ties_of_joint_draws_take_more_bits_of_the_same_source(dimension, monkeypatch):
    """Whoever compares a word with a chance has the source at hand."""
    source, sources, real = SeededEntropy(7), [], joint.count_reached

    def compare(word, size, thresholds, entropy):
        sources.append(entropy)
        return real(word, size, thresholds, entropy)

    monkeypatch.setattr(joint, "count_reached", compare)
    scale = Scale(12, 5)
    for _ in range(20):
        for draw in (joint._zero_sum_by_tries, joint._zero_sum_by_totals, joint._radius):
            draw(scale, dimension, source)
    assert len(sources) >= 60
    assert all(one is source for one in sources)
