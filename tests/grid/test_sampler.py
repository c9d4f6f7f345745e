"""The samplers draw from exactly the law they claim: every word of a shortened size, then ten million draws."""

import hashlib
import math
import sys
from collections import Counter, defaultdict
from contextlib import contextmanager
from fractions import Fraction
from functools import cache

import mpmath as mp
import numpy as np
import pytest
from scipy import special

from inbounds.grid import geometric, joint, sampler, scale, sides, staircase
from inbounds.grid.entropy import SeededEntropy, SystemEntropy, words
from inbounds.grid.geometric import Inverse, geometric_many, laplace_many, laplace_one
from inbounds.grid.interval import as_interval, exp_minus, one_minus_exp
from inbounds.grid.law import Certified, GridMechanism, probability
from inbounds.grid.scale import Scale
from inbounds.grid.sides import Rooms, chances, fold_one


class MoreBitsWanted(Exception):
    """The path of random bits tried so far ends here."""


def every_path(draw, monkeypatch, depth):
    """Run ``draw`` on every string of random bits.

    Returns the probability of each outcome decided within ``depth`` bits, and the probability left undecided.
    """
    decided, undecided = defaultdict(Fraction), Fraction(0)
    pending, given, used = [()], [], []

    def bits(_, count):
        if not given:
            raise MoreBitsWanted(count)
        used.append(count)
        return given.pop()

    for module in (geometric, sides, joint, staircase):
        monkeypatch.setattr(module, "bits", bits)
        # A function of its arguments, and thousands of paths ask for the same few.
        if hasattr(module, "exp_minus"):
            monkeypatch.setattr(module, "exp_minus", cache(exp_minus))
    while pending:
        path = pending.pop()
        given[:], used[:] = reversed(path), ()
        try:
            outcome = draw()
        except MoreBitsWanted as wanted:
            (count,) = wanted.args
            if sum(used) + count > depth:
                undecided += Fraction(1, 1 << sum(used))
            else:
                pending += [(*path, value) for value in range(1 << count)]
        else:
            decided[outcome] += Fraction(1, 1 << sum(used))
    assert sum(decided.values()) + undecided == 1
    return decided, undecided


def assert_law(decided, undecided, law, *, most_undecided):
    """Every outcome's probability lies between what was decided for it and that plus what was not."""
    assert undecided <= most_undecided
    for outcome, mass in decided.items():
        true = law(outcome)
        assert mass <= true.upper, outcome
        assert true.lower <= mass + undecided, outcome


def wrongly_scaled(law, decided, undecided):
    return any(mass > law(o).upper or law(o).lower > mass + undecided for o, mass in decided.items())


DEPTH = 13


@pytest.fixture
def coarse(monkeypatch):
    """The same code with pieces of T/2 in place of T/64 and words of 2 bits, small enough to try every path."""
    for module in (geometric, sides, joint, staircase):
        monkeypatch.setattr(module, "WORD", 2)
    for module in (geometric, scale):
        monkeypatch.setattr(module, "LOG_PIECES", 1)
    monkeypatch.setattr(geometric, "_PIECES", 2)
    monkeypatch.setattr(geometric, "_SURE", 1)
    monkeypatch.setattr(geometric, "PIECES", Inverse(Fraction(2)))
    return monkeypatch


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("steps", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(20)])
def test_inversion_on_every_word(steps, two_sided, monkeypatch):
    monkeypatch.setattr(geometric, "WORD", 6)
    inverse = Inverse(steps, two_sided)
    decided, undecided = every_path(lambda: inverse.one(None), monkeypatch, depth=12)

    def law(g):
        base = exp_minus(g / steps) * one_minus_exp(1 / steps)
        if not two_sided:
            return base
        return (2 if g else 1) * base / (1 + exp_minus(1 / steps))

    assert_law(decided, undecided, law, most_undecided=Fraction(1, 8))
    wrong = Inverse(steps * 2, two_sided)
    assert wrongly_scaled(lambda g: exp_minus(g / wrong.steps) * one_minus_exp(1 / wrong.steps), decided, undecided)


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize(("exponent", "divisor"), [(1, 1), (2, 1), (2, 3), (3, 5)])
def test_laplace_on_every_path(coarse, exponent, divisor):
    size = Scale(exponent, divisor)
    decided, undecided = every_path(lambda: laplace_one(size, None), coarse, depth=DEPTH)
    powers = Certified(size.steps)
    assert_law(
        decided,
        undecided,
        lambda k: probability(powers, "unbounded", None, None, k, 0),
        most_undecided=Fraction(2, 5),
    )
    other = Certified(size.steps * 2)
    assert wrongly_scaled(lambda k: probability(other, "unbounded", None, None, k, 0), decided, undecided)


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize(("below", "above"), [(0, 3), (1, 2), (2, 2), (3, 0), (None, 1), (1, None)])
def test_truncation_on_every_path(coarse, below, above):
    size = Scale(2, 3)
    first, last = None if below is None else -below, above
    decided, undecided = every_path(lambda: fold_one(below, above, size, None), coarse, depth=DEPTH)
    powers = Certified(size.steps)
    assert_law(
        decided,
        undecided,
        lambda k: probability(powers, "truncated", first, last, k, 0),
        most_undecided=Fraction(2, 5),
    )
    assert all((first is None or k >= first) and (last is None or k <= last) for k in decided)


@pytest.mark.parametrize("bounding", ["bit", "truncated"])
@pytest.mark.parametrize("ends", [(0, None), (None, 0), (-1, 1)])
def test_draws_stay_in_their_bounds(bounding, ends):
    """One, a few and many, alike or each, from inside and outside."""
    law = GridMechanism(bounding, Scale(8, 3), *ends)
    low, high = ((-math.inf, math.inf)[i] if end is None else end for i, end in enumerate(ends))
    for at in (-500, 0, 500):
        some = [law.draw_each(np.full(count, at), SystemEntropy()) for count in (3, 40)]
        some += [law.draw_alike(at, SystemEntropy(), count) for count in (3, 40)]
        drawn = np.concatenate([*some, [law.draw(at, SystemEntropy())]])
        assert low <= drawn.min()
        assert drawn.max() <= high


def test_more_draws_than_are_made_at_a_time():
    at = np.arange(150_000) % 50
    for bounding in ("bit", "truncated", "unbounded"):
        law = GridMechanism(bounding, Scale(10, 1), 0, 49)
        drawn = law.draw_each(at, SeededEntropy(1))
        assert drawn.shape == at.shape
        assert len({drawn[part : part + 50_000].tobytes() for part in range(0, 150_000, 50_000)}) == 3
    assert sampler.laplace(Scale(10, 1), SeededEntropy(1), 150_000).shape == at.shape


def g_test(counts, masses):
    """P-value of the G statistic (χ² with one degree of freedom a cell less one), cells expecting below 25 merged."""
    order = np.argsort(masses)
    counts, masses = np.asarray(counts)[order], np.asarray(masses)[order]
    expected = masses * counts.sum()
    small = expected < 25
    counts = np.append(counts[~small], counts[small].sum())
    expected = np.append(expected[~small], expected[small].sum())
    seen = counts > 0
    statistic = 2 * (counts[seen] * np.log(counts[seen] / expected[seen])).sum() - 2 * (counts.sum() - expected.sum())
    return special.gammaincc((len(counts) - 1) / 2, max(statistic, 0) / 2)


def cell_masses(mechanism, at, edges):
    """P(released in (edges[i-1], edges[i]]) from the certified distribution function."""
    upper = [float(mechanism.cumulative(int(e), at).lower) for e in edges]
    return np.diff(np.array([0.0, *upper, 1.0]))


DRAWS = 10_000_000
LAWS = [
    ("unbounded", Fraction(3), None, None, 0),
    ("unbounded", Fraction(1 << 20), None, None, 5),
    ("unbounded", Fraction(1000001, 7), None, None, -3),
    ("bit", Fraction(40), 0, 100, 3),
    ("bit", Fraction(1 << 33), 0, 1 << 37, 1 << 35),
    ("truncated", Fraction(5, 3), 0, 20, 19),
    ("truncated", Fraction(1 << 20), 0, 1 << 23, 1000),
    ("truncated", Fraction(1 << 20), 0, None, 1000),
    ("truncated", Fraction(1 << 30), 0, 500, 77),
]


# Only truncated noise has another way for many draws at one place.
WAYS = [(*law, way) for law in LAWS for way in ("each", "alike") if way == "each" or law[0] == "truncated"]


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize(("bounding", "steps", "first", "last", "at", "way"), WAYS)
def test_ten_million_draws(bounding, steps, first, last, at, way):
    right = GridMechanism(bounding, Scale.at_least(steps), first, last)
    entropy = SeededEntropy(int(steps) + at + 17)
    if way == "each":
        draws = right.draw_each(np.full(DRAWS, at, dtype=np.int64), entropy)
    else:
        draws = right.draw_alike(at, entropy, DRAWS)
    assert first is None or bounding == "unbounded" or draws.min() >= first
    assert last is None or bounding == "unbounded" or draws.max() <= last
    # Cells by quantiles of the draws of a pilot, fixed before the counts are looked at.
    pilot = right.draw_alike(at, SeededEntropy(1), 100_000)
    edges = np.unique(np.quantile(pilot, np.linspace(0.002, 0.998, 250)).astype(np.int64))
    counts = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=len(edges) + 1)
    assert g_test(counts, cell_masses(right, at, edges)) > 1e-9
    # Negative control: the same draws against a scale half a percent off. With T far above the range the law is flat
    # and knows no scale; there the location is moved instead.
    flat = last is not None and first is not None and steps > 1000 * (last - first)
    wrong = right if flat else GridMechanism(bounding, Scale.at_least(steps * Fraction(1005, 1000)), first, last)
    if flat:
        skewed = cell_masses(right, at, edges) * np.linspace(0.99, 1.01, len(edges) + 1)
        assert g_test(counts, skewed / skewed.sum()) < 1e-9
    else:
        assert g_test(counts, cell_masses(wrong, at, edges)) < 1e-9


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize(
    ("bounding", "size", "first", "last", "at"),
    [
        ("unbounded", Scale(6, 2), None, None, 4),
        ("unbounded", Scale(20, 3), None, None, 0),
        ("truncated", Scale(8, 3), -10, 300, 4),
        ("truncated", Scale(20, 3), None, 9, 0),
    ],
)
def test_a_few_draws_in_every_way(bounding, size, first, last, at):
    """One by one, some at a time and all alike: the same law."""
    law = GridMechanism(bounding, size, first, last)
    one = np.array([law.draw(at, SeededEntropy(i)) for i in range(800)])
    some = np.concatenate([law.draw_each(np.full(1000, at), SeededEntropy(i)) for i in range(20)])
    alike = law.draw_alike(at, SeededEntropy(3), 20_000)
    edges = np.unique(np.quantile(alike, np.linspace(0.05, 0.95, 10)).astype(np.int64))
    wrong = GridMechanism(bounding, Scale(size.exponent, 2 * size.divisor), first, last)
    for draws in (one, some, alike):
        counts = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=len(edges) + 1)
        assert g_test(counts, cell_masses(law, at, edges)) > 1e-9
        assert g_test(counts, cell_masses(wrong, at, edges)) < 1e-9


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize(("size", "count"), [(Scale(20, 1), 500), (Scale(10, 1), 500), (Scale(6, 5), 4096)])
def test_every_bit_of_a_word_has_one_use(size, count):
    """16 bits find V, one is given away, 15 decide whether U is kept, and the last ones are U."""
    drawn = [int(word) for word in words(SeededEntropy(5), count)]

    def draws(change):
        return geometric_many(size, Scripted([word ^ change for word in drawn], 0), count)

    magnitude, spare = draws(0)
    assert 0.4 < spare.mean() < 0.6
    again, other = draws(1 << 47)
    assert (again == magnitude).all()
    assert (other == 1 - spare).all()
    if size.divisor == 1:
        again, other = draws(1)
        sure = (np.abs(again - magnitude) == 1).mean()
        assert sure > 0.95
        assert (other == spare).all()


@pytest.mark.claim("sampler-exact")
def test_bulk_choice_of_sides_agrees_with_the_exact_one():
    """The fixed-point Γ of `Rooms` is below the certified one by less than its stated error, at random rooms."""
    rng = np.random.default_rng(4)
    for steps, span in ((10, 50), (1 << 20, 1 << 24), (1 << 34, 1 << 24), (2, None)):
        size = Scale.at_least(Fraction(steps))
        rooms = Rooms.of(size, span)
        top = rooms.largest - 1 if span is None else span
        k = np.unique(np.concatenate([[0, 1, 2, top], rng.integers(0, top + 1, 40)]))
        shift = round(math.log2(int(rooms.gaps[0][1]) / float(one_minus_exp(1 / size.steps).lower)))
        for value, room in zip(rooms.gap(k, k.size), k, strict=True):
            exact = one_minus_exp((int(room) + 1) / size.steps) * (1 << shift)
            assert exact.upper - int(value) >= 0
            assert exact.lower - int(value) < rooms.error
            assert value < 1 << 32


@pytest.mark.claim("sampler-exact")
def test_open_questions_are_settled_exactly(monkeypatch):
    """With a margin blown up until a fifth of all elements are in doubt, the draws stay the same."""
    size = Scale.at_least(Fraction(1 << 20))
    at = np.random.default_rng(2).integers(0, 1 << 22, 3000)
    usual = sampler.truncated(at, 0, 1 << 22, size, SeededEntropy(3))
    rooms = Rooms.of(size, 1 << 22)
    doubtful = Rooms(rooms.scale, rooms.gaps, rooms.powers, rooms.largest, 1 << 26)
    monkeypatch.setattr(sampler.Rooms, "of", lambda *_: doubtful)
    asked = []
    monkeypatch.setattr(sides, "chances", lambda *a: asked.append(1) or chances(*a))
    assert (sampler.truncated(at, 0, 1 << 22, size, SeededEntropy(3)) == usual).all()
    assert len(asked) > 200


class Scripted:
    """Entropy that hands out prepared 64-bit words, then one byte value for ever."""

    def __init__(self, prepared, then):
        self.prepared, self.then, self.handed_out = list(prepared), bytes([then]), 0

    def take(self, count):
        ready = b"".join(self.prepared.pop(0).to_bytes(8, "little") for _ in range(min(count // 8, len(self.prepared))))
        return ready + self.then * (count - len(ready))


class Numbers:
    """Entropy that hands out prepared numbers, one for each request, then zeros."""

    def __init__(self, prepared):
        self.prepared, self.handed_out = iter(prepared), 0

    def take(self, count):
        return next(self.prepared, 0).to_bytes(count, "little")


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize("exponent", [20, 37, 38, 39, 45])
def test_what_lies_below_the_exponential_is_kept(exponent):
    """U with probability e^(-U/2^a), word by word: V is zero, and what is not kept is drawn anew as zero."""
    low = exponent - 6
    pairs = [(lead, (1 << low) * k // 40) for lead in range(32_000, 1 << 15, 7) for k in range(40)]
    lead, rest = (np.array(part, dtype=np.int64) for part in zip(*pairs, strict=True))
    prepared = [(a << 32) + (b if low <= 32 else 0) for a, b in pairs] + [b for _, b in pairs if low > 32]
    magnitude, _ = geometric_many(Scale(exponent, 1), Scripted(prepared, 0), len(pairs))
    kept = lead / 2**15 < np.exp(-rest / 2**exponent)
    assert 0.1 < kept.mean() < 0.9
    assert (magnitude == np.where(kept, rest, 0)).all()
    # One by one: V, U, and 64 bits that keep it or not; then zeros.
    for a, b in pairs[::401]:
        one = geometric.geometric_one(Scale(exponent, 1), Numbers([0, b << (-low % 8), a << 49]))
        assert one == (b if a / 2**15 < math.exp(-b / 2**exponent) else 0)


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize("exponent", [30, 37, 45])
@pytest.mark.parametrize("off", [33, 42])
def test_uniform_numbers_next_to_the_exponential(exponent, off):
    """Further from e^(-U/2^a) than its fixed-point value is, and nearer to it: decided exactly either way."""
    low = exponent - 6
    pairs = [((1 << low) * k // 60 - 1, side) for k in range(1, 61) for side in (-1, 1)]
    with mp.workdps(40):
        uniform = [int((mp.exp(-mp.mpf(u) / 2**exponent) + side * mp.mpf(2) ** -off) * 2**47) for u, side in pairs]
    rest, above = (np.array(part, dtype=np.int64) for part in zip(*pairs, strict=True))
    prepared = [((x >> 32) << 32) + (u if low <= 32 else 0) for x, (u, _) in zip(uniform, pairs, strict=True)]
    prepared += [u for u, _ in pairs if low > 32] + [(x & 0xFFFFFFFF) << 32 for x in uniform]
    magnitude, _ = geometric_many(Scale(exponent, 1), Scripted(prepared, 0), len(pairs))
    assert (magnitude == np.where(above < 0, rest, 0)).all()


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize(("steps", "last"), [(10, 50), (1 << 20, 1 << 21), (1 << 30, 500), (3, None)])
@pytest.mark.parametrize("off", [1 << 12, 1 << 36])
def test_words_next_to_the_chances_of_the_sides(steps, last, off):
    """Left, centre or right as exact fractions say, one by one, each and all alike."""
    size = Scale.at_least(Fraction(steps))
    law = GridMechanism("truncated", size, 0, last)
    places = [(last or 60) * k // 9 for k in range(10)]
    at, script, wanted = [], [], []
    for place in places:
        edges = [float_free(chance) for chance in chances(place, None if last is None else last - place, size)]
        for edge in edges:
            for word in (edge - off, edge + off):
                if 0 <= word < 1 << 64:
                    at.append(place)
                    script.append(word)
                    wanted.append(place - 1 + sum(word >= other for other in edges))
    assert len(set(wanted)) > 10
    assert law.draw_each(np.array(at), Scripted(script, 0)).tolist() == wanted
    for place, word, want in zip(at, script, wanted, strict=True):
        assert law.draw(place, Numbers([word])) == want
        assert law.draw_alike(place, Scripted([word], 0), 1).tolist() == [want]


def float_free(chance):
    """⌊2^64 p⌋ for a chance that is certified to far more."""
    return int(chance.lower * (1 << 64))


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize("room", [1, 7, None])
def test_no_room_on_a_side_is_exactly_no_chance(room):
    size = Scale.at_least(Fraction(10))
    assert chances(0, room, size)[0] == as_interval(0)
    assert chances(room, 0, size)[1] == as_interval(1)


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize("size", [Scale(6, 5), Scale(20, 3), Scale(30, 1)])
def test_the_gap_of_a_room_is_enclosed_up_to_64_scales(size):
    """2^bits Γ(k), by integers; beyond 64 scales its upper end is no limit at all."""
    bits, far = 128, 64 * (1 << size.exponent) // size.divisor
    for k in (1, 2, far // 3, far - 1, far, far + 1, 5 * far):
        low, high = sides._gap_bounds(k, size, bits)
        exact = one_minus_exp(k / size.steps) * (1 << bits)
        assert low <= exact.lower
        assert exact.upper <= high
        assert (high == 1 << bits) is (k > far)
        assert high - low <= (2 if k <= far else 1 << (bits - 92))


@pytest.mark.parametrize(
    ("size", "span", "largest"),
    [
        (Scale(6, 5), 50, 51),
        (Scale(6, 64), 1000, 49),
        (Scale(6, 64), None, 49),
        (Scale(20, 1), 1 << 20, (1 << 20) + 1),
        (Scale(20, 1), None, (48 << 20) + 1),
    ],
)
def test_tables_of_rooms_have_what_is_needed(size, span, largest):
    """Up to the room between the bounds, or to 48 scales, in digits of 13 bits."""
    rooms = Rooms.of(size, span)
    assert rooms.largest == largest
    digits = -(-largest.bit_length() // 13)
    wanted = [max(2, min(1 << 13, (largest >> (13 * digit)) + 1)) for digit in range(digits)]
    assert [table.size for table in rooms.gaps] == [table.size for table in rooms.powers] == wanted


@pytest.mark.claim("sampler-exact")
def test_the_largest_word_stays_at_the_last_index():
    law = GridMechanism("truncated", Scale(8, 3), 0, 5)
    assert law.draw_alike(5, Scripted([(1 << 64) - 1] * 3, 0), 3).tolist() == [5, 5, 5]
    assert law.draw_each(np.full(20, 5), Scripted([(1 << 64) - 1] * 20, 0)).tolist() == [5] * 20


@pytest.mark.claim("sampler-exact")
def test_a_sign_has_a_bit_of_its_own():
    drawn = [int(word) for word in words(SeededEntropy(5), 4096)]
    one, other = (laplace_many(Scale(6, 5), Scripted([w ^ change for w in drawn], 0), 4096) for change in (0, 1 << 47))
    assert (one == -other).all()
    assert 0.4 < (one > 0).mean() < 0.6


@pytest.mark.claim("sampler-exact")
def test_one_draw_is_put_together_of_its_parts():
    """⌊(U + 2^(a-6) V) / d⌋ from words for V = 5, for the largest U, and for a uniform that keeps it."""
    fifth = geometric.PIECES.thresholds(64)[4] + 1
    for exponent, divisor, want in ((20, 1, (6 << 14) - 1), (20, 3, ((6 << 14) - 1) // 3), (6, 1, 5), (7, 1, 11)):
        assert geometric.geometric_one(Scale(exponent, divisor), Scripted([fifth, 0], 255)) == want


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize("index", [0, 5, 200, 2000])
@pytest.mark.parametrize(("then", "moved"), [(0x00, 0), (0xFF, 1)])
def test_a_tie_takes_more_bits(index, then, moved):
    """A word equal to a threshold's floor: zeros after it stay below the threshold, ones reach it; in both paths."""
    inverse = geometric.PIECES
    threshold = inverse.thresholds(64)[index]
    entropy = Scripted([(threshold & ((1 << 48) - 1)) << 16], then)
    start = np.array([threshold >> 48], dtype=np.uint64)
    assert inverse.many(start, entropy).tolist() == [index + moved]
    assert inverse.one(Scripted([threshold], then)) == index + moved


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize("index", [0, 1, 4, 20])
@pytest.mark.parametrize(
    "inverse", [Inverse(Fraction(7), True), Inverse(Fraction(1, 3), True), Inverse(Fraction(7, 2))]
)
def test_what_is_drawn_by_more_bits_has_the_same_law(inverse, index):
    """128 bits next to P(G ≤ index), which is 1 - c q^(index + 1)."""
    with mp.workdps(60):
        q = mp.exp(-mp.mpf(inverse.steps.denominator) / inverse.steps.numerator)
        below = int((1 - (2 / (1 + q) if inverse.two_sided else 1) * q ** (index + 1)) * mp.mpf(2) ** 128)
    for word, drawn in ((below - 9, index), (below + 9, index + 1)):
        assert inverse._exact(word >> 64, 64, Numbers([word & ((1 << 64) - 1)])) == drawn
    assert inverse._place(Fraction(1)) is None
    assert inverse._place(Fraction(2)) is None
    assert inverse._place(Fraction(0)) == 0


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize(("more", "drawn"), [(0, 1 << 13), ((1 << 64) - 1, 0)])
def test_a_tie_with_the_exponential_takes_more_bits(more, drawn):
    """V is zero and U is 2^13 of 2^20; 64 bits are those of e^-U, and what follows keeps it or not."""
    word = float_free(exp_minus(Fraction(1, 1 << 7)))
    assert geometric.geometric_one(Scale(20, 1), Numbers([0, 1 << 15, word, more])) == drawn


def test_the_guide_leaves_open_what_the_first_bits_do(monkeypatch):
    """Also where a threshold is the first or the last word that begins with them."""
    monkeypatch.setattr(geometric, "_table", lambda *_: [(5 << 48) | ((1 << 48) - 1), 7 << 48, (1 << 64) - 1])
    table, guide = geometric._make_guide(None)
    assert table.dtype == np.uint64
    assert guide[[0, 4, 5, 6, 7, 8, 65_534, 65_535]].tolist() == [0, 0, -1, 1, -1, 2, 2, -1]


def test_the_thresholds_of_the_smallest_scale():
    for two_sided in (False, True):
        assert Inverse(Fraction(1, 1000), two_sided).thresholds(64) == [(1 << 64) - 1]
    assert geometric_many(Scale(6, 64_000), SeededEntropy(1), 3000)[0].max() == 0


@pytest.mark.claim("sampler-exact")
@pytest.mark.parametrize(("more", "side"), [(0, -1), ((1 << 64) - 1, 0)])
def test_a_tie_between_sides_takes_more_bits(more, side):
    size = Scale.at_least(Fraction(10))
    floor, plain = int(chances(4, 9, size)[0].lower * (1 << 64)), 1 << 62
    assert np.sign(sides.fold_alike(4, 9, size)(Scripted([floor, plain, more], 0), 1)[0]) == side
    assert np.sign(fold_one(4, 9, size, Scripted([floor, more, plain, plain, plain], 0))) == side
    # Some at a time: their words, as many for magnitudes, and then more for the one that is open.
    law = GridMechanism("truncated", size, 0, 13)
    drawn = law.draw_each(np.full(12, 4), Scripted([floor, *[plain] * 23, more], 0))
    assert np.sign(drawn[0] - 4) == side


def test_doubtful_acceptances_are_settled_exactly():
    """`_accept` against certified exponentials on random and extreme U."""
    rng = np.random.default_rng(6)
    for exponent in (8, 20, 37, 50, 56):
        rest = rng.integers(0, 1 << (exponent - 6), 400).astype(np.uint64)
        rest[:2] = 0, (1 << (exponent - 6)) - 1
        lead = np.full(rest.size, (1 << 15) - 1, dtype=np.uint64)
        lead[::2] = (1 << 15) - (1 << 8)
        kept = geometric._accept(lead, rest, exponent, SeededEntropy(9))
        uniform = (lead << np.uint64(32)) | (words(SeededEntropy(9), rest.size) >> np.uint64(32))
        for k, u, r in zip(kept, uniform, rest, strict=True):
            threshold = exp_minus(Fraction(int(r), 1 << exponent))
            assert k == (Fraction(int(u) + 1, 1 << 47) <= threshold.lower)


LOCATIONS = range(101)


@pytest.mark.claim("sampler-blind")
@pytest.mark.parametrize("bounding", ["bit", "truncated", "unbounded"])
@pytest.mark.parametrize("size", [1, 5, 40, 3000])
@pytest.mark.parametrize("steps", [Fraction(2), Fraction(30), Fraction(1 << 20)])
def test_bytes_drawn_do_not_depend_on_the_location(bounding, size, steps):
    mechanism = GridMechanism(bounding, Scale.at_least(steps), 0, 100)
    used = set()
    for at in LOCATIONS:
        entropy = SeededEntropy(11)
        mechanism.draw_each(np.full(size, at), entropy)
        used.add(entropy.handed_out)
    ramp = SeededEntropy(11)
    mechanism.draw_each(np.arange(size) % 101, ramp)
    assert used == {ramp.handed_out}


@pytest.mark.claim("sampler-blind")
def test_comparisons_do_not_depend_on_the_location(monkeypatch):
    """Exact comparisons, counted over 300 draws of the same bytes at each location."""
    counted = []
    original = geometric.count_reached
    for module in (geometric, sides):
        monkeypatch.setattr(module, "count_reached", lambda *a: counted.append(len(a[2])) or original(*a))
    mechanism = GridMechanism("truncated", Scale.at_least(Fraction(1 << 20)), 0, 100)
    seen = set()
    for at in (0, 1, 50, 99, 100):
        counted.clear()
        entropy = SeededEntropy(12)
        for _ in range(300):
            mechanism.draw(at, entropy)
        assert counted
        seen.add(tuple(counted))
    assert len(seen) == 1


def test_a_location_beyond_the_grid_is_legal_and_silent():
    for bounding, atom in (("bit", 0.95), ("truncated", 0.09)):
        mechanism = GridMechanism(bounding, Scale.at_least(Fraction(10)), 0, 100)
        draws = mechanism.draw_each(np.full(20_000, -25), SystemEntropy())
        assert draws.min() == 0
        assert (draws == 0).mean() == pytest.approx(atom, abs=0.03)
        assert 0 <= mechanism.draw(2**61, SystemEntropy()) <= 100


@pytest.mark.claim("sampler-exact")
def test_the_quick_choice_of_a_side_agrees_with_the_certified_one():
    rng = np.random.default_rng(7)
    for _ in range(1500):
        size = Scale.at_least(Fraction(int(rng.integers(1, 1 << int(rng.integers(1, 35)))), int(rng.integers(1, 9))))
        below, above = (
            [None, 0, 1, 2, int(rng.integers(0, 1 << 40)), int(70 * size.steps)][rng.integers(6)] for _ in range(2)
        )
        word = [0, 1, (1 << 64) - 1, int(rng.integers(0, 1 << 62)) * 4][rng.integers(4)]
        quick = sides._quick_side(word, below, above, size)
        assert quick == geometric.count_reached(word, 64, chances(below, above, size), SystemEntropy()) - 1


@pytest.mark.claim("sampler-blind")
def test_the_quick_choice_takes_the_same_steps_for_every_room():
    """Lines run, counted: the same for all rooms; a series that stops early would show."""
    size = Scale(20, 1)
    steps = set()
    for k in (1, 2, 1000, 1 << 20, 63 << 20, 65 << 20, 1 << 50):
        with counting_lines() as counts:
            low, high = sides._gap_bounds(k, size, 148)
        exact = one_minus_exp(k / size.steps) * (1 << 148)
        assert low <= exact.lower
        assert exact.upper <= high
        steps.add(counts["_gap_bounds"])
    assert len(steps) == 1
    early = set()
    for k in (1, 1 << 20):
        with counting_lines() as counts:
            exp_minus(k / size.steps)
        early.add(counts["_exp_series"])
    assert len(early) == 2


@contextmanager
def counting_lines():
    """Lines run in each function, by its name."""
    counts = Counter()

    def count(frame, event, _):
        counts[frame.f_code.co_name] += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        yield counts
    finally:
        sys.settrace(before)


def test_few_and_many_have_the_same_law():
    """The scalar path, the bulk path with its own table, and the bulk path without: equal means of |k|."""
    size = Scale.at_least(Fraction(9))
    few = np.array([laplace_one(size, SystemEntropy()) for _ in range(20_000)])
    own = laplace_many(size, SystemEntropy(), 20_000)
    pieces = np.concatenate([laplace_many(size, SystemEntropy(), 1000) for _ in range(20)])
    q = math.exp(-1 / float(size.steps))
    want = 2 * q / (1 - q * q)
    for draws in (few, own, pieces):
        assert np.abs(draws).mean() == pytest.approx(want, rel=0.06)
    magnitudes, coins = geometric_many(size, SystemEntropy(), 20_000)
    assert magnitudes.mean() == pytest.approx(q / (1 - q), rel=0.06)
    assert coins.mean() == pytest.approx(0.5, abs=0.03)


SCALES = (Scale(6, 1), Scale(6, 5), Scale(10, 3), Scale(38, 1), Scale(39, 5), Scale(45, 1))


@pytest.mark.parametrize(
    ("bounding", "first", "last", "known"),
    [
        ("unbounded", None, None, "f4d70d267a09 22609a4cafde 6c7db88e3661 75d3fdf43bbe 1c37cc77578e 1359fb1c8ecb"),
        ("bit", 0, 100, "06e3fc88b0ac a6b00e878b7f 5469408f63cf dbe23891c3b0 495c624c3e6d ed762f9e617f"),
        ("bit", 0, None, "e8fcfd5a63af 4202ca62a0b5 c56a02bdad12 9f25eb27e25c 6293683a0140 ecafdc6a81e7"),
        ("truncated", 0, 100, "595803475920 8587ee063010 fd5a1d002d18 36ef16d3f0bc 8c3a3021b6ce f1a5f649a5bf"),
        ("truncated", None, 100, "c1dd0fce9747 42fe854bc771 1927b5753fc1 3a819a08df07 989d63324bc7 cc2d4f99b250"),
    ],
)
def test_a_seed_gives_the_draws_it_has_always_given(bounding, first, last, known):
    """What a study has reported can be drawn again: for each scale a digest of all ways to draw, few and many.

    A change here is no error by itself, but it makes every figure of a seeded study another one: say so in CHANGELOG.
    """
    found = []
    for size in SCALES:
        law, entropy, seen = GridMechanism(bounding, size, first, last), SeededEntropy(20), hashlib.sha256()
        for count in (1, 11, 12, 13, 100, 2047, 2048, 2049, 65_536, 65_537, 131_073):
            for drawn in (law.draw_each(np.arange(count) % 101, entropy), law.draw_alike(40, entropy, count)):
                seen.update(drawn.astype("<i8").tobytes())
        found.append(seen.hexdigest()[:12])
    assert " ".join(found) == known


@pytest.mark.parametrize("count", [3, 40])
def test_draws_are_integers_of_64_bits(count):
    """Also those that a double could not hold."""
    size, wide = Scale(50, 1), np.full(count, (1 << 58) + 1)
    entropy = SeededEntropy(1)
    drawn = [sampler.laplace(size, entropy, count), sampler.geometric(size, entropy, count)]
    drawn += [sampler.bit(wide, None, 1 << 59, size, entropy), sampler.truncated(wide, 0, None, size, entropy)]
    drawn += [sampler.truncated_alike((1 << 58) + 1, 0, 1 << 59, size, entropy, count)]
    for numbers in drawn:
        assert numbers.dtype == np.int64
        assert numbers.shape == (count,)
        assert {int(number) % 2 for number in numbers} == {0, 1}
    assert (drawn[1] >= 0).all()
    assert len(set(drawn[1].tolist())) == count
