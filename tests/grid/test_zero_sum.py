"""Zero-sum noise by totals: every piece against its definition, then every path of the whole, then counts."""

import functools
import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from inbounds.audit.replay import replay
from inbounds.grid import joint
from inbounds.grid.entropy import SeededEntropy
from inbounds.grid.interval import Interval, as_interval
from inbounds.grid.joint import chance_of_total, draw_composition, draw_subset, zero_sum
from inbounds.grid.scale import Scale
from inbounds.grid.stirling import log_factorial, log_integer
from inbounds.privacy.certified import zero_sum_law
from inbounds.privacy.guarantee import Pure
from inbounds.privacy.terms import Terms, Unit
from inbounds.road import draw
from tests.grid.test_joint import magnitude_of, next_to, zero_sum_masses
from tests.grid.test_sampler import MoreBitsWanted, Numbers, assert_law, coarse, every_path, g_test, wrongly_scaled

__all__ = ["coarse"]


@pytest.fixture
def kept_chances(monkeypatch):
    """The same chances, found once: nothing is secret here."""
    monkeypatch.setattr(joint, "chance_of_total", functools.cache(chance_of_total))


def compositions(total, parts):
    """All vectors of whole numbers ≥ 0 with this sum."""
    return [z for z in itertools.product(range(total + 1), repeat=parts) if sum(z) == total]


@pytest.mark.claim("log-factorial")
@pytest.mark.parametrize("n", [0, 1, 2, 5, 63, 64, 65, 1000, 10**6, 10**12 + 7, 2**60])
def test_factorials_are_enclosed(n):
    with mp.workdps(120):
        true = mp.loggamma(n + 1) - mp.log(2 * mp.pi) / 2
        found = log_factorial(n)
        low, high = (mp.mpf(end.numerator) / end.denominator for end in (found.lower, found.upper))
        assert low < true < high
        assert high - low < mp.mpf(2) ** -240 * max(1, abs(true))
        # The next factorial is not in there.
        assert not low < true + mp.log(n + 2) < high
        whole = log_integer(n + 1)
        assert whole.lower <= mp.log(n + 1) <= whole.upper or n == 0


def weight(total, parts, steps):
    return mp.binomial(total + parts - 1, total) * mp.exp(-mp.mpf(total) / steps)


@pytest.mark.claim("total-chance")
@pytest.mark.parametrize("parts", [2, 3, 50, 1000])
@pytest.mark.parametrize("steps", [Fraction(1, 5), Fraction(2), Fraction(4097, 5)])
def test_chances_of_totals_are_their_weights(parts, steps):
    scale = Scale.at_least(steps)
    with mp.workdps(120):
        unit = mp.mpf(scale.divisor) / (1 << scale.exponent)
        about = int((parts - 1) / mp.expm1(unit))
        near = range(max(0, about - 5), about + 6)
        highest = max(weight(total, parts, 1 / unit) for total in near)
        sure = []
        for total in {*near, 0, 1, about // 2, 2 * about, about + int(3 * math.sqrt(parts) / unit)}:
            chance, true = chance_of_total(total, scale, parts), weight(total, parts, 1 / unit) / highest
            low, high = (mp.mpf(end.numerator) / end.denominator for end in (chance.lower, chance.upper))
            assert low <= true * (1 + mp.mpf(10) ** -70)
            assert true <= high * (1 + mp.mpf(10) ** -70)
            assert high <= 1
            assert high - low <= mp.mpf(2) ** -200
            sure += [total] * (chance.lower == 1)
    assert sure == [total for total in near if total in sure] == sure[:1]


@pytest.mark.claim("zero-sum-exact")
def test_a_total_is_kept_by_its_chance():
    """Word by word: (2, 0, 0) less (0, 0, 2), whose bars are before its stars; what is not kept is drawn anew as 0."""
    scale = Scale(6, 64)
    drawn = [part for size in (128, 0, 0) for part in magnitude_of(size)]
    for word, kept in next_to(chance_of_total(2, scale, 3).lower):
        bars = [1 << 64] if kept else []
        noise = joint._zero_sum_by_totals(scale, 3, Numbers([*drawn, word, *bars]))
        assert noise.tolist() == ([2, 0, -2] if kept else [0, 0, 0])


def every_word(run, limit, depth):
    """Masses of what is drawn, over every sequence of words of as many bits as integers below a limit need."""
    size = limit.bit_length()
    decided, pending, undecided = defaultdict(Fraction), [()], Fraction(0)
    while pending:
        path = pending.pop()
        given = iter(path)

        class Words:
            def take(self, count, given=given):
                values = list(itertools.islice(given, count // 8))
                if len(values) < count // 8:
                    raise MoreBitsWanted
                return np.array(values, dtype="<u8").tobytes()

        try:
            decided[run(Words())] += Fraction(1, 1 << (size * len(path)))
        except MoreBitsWanted:
            if size * (len(path) + 1) > depth:
                undecided += Fraction(1, 1 << (size * len(path)))
            else:
                pending += [(*path, word) for word in range(1 << size)]
    return decided, undecided


@pytest.mark.claim("subset-exact")
@pytest.mark.parametrize("dense", [0, 16])
@pytest.mark.parametrize(("count", "places"), [(1, 3), (2, 5), (3, 6), (4, 6), (2, 3), (3, 3)])
def test_all_subsets_are_alike_on_every_path(monkeypatch, dense, count, places):
    monkeypatch.setattr(joint, "_DENSE", dense)
    decided, undecided = every_word(lambda e: tuple(draw_subset(count, places, e).tolist()), places, 12)
    assert set(decided) == set(itertools.combinations(range(places), count))
    assert len(set(decided.values())) == 1
    assert undecided < 1


@pytest.mark.parametrize("dense", [0, 16])
def test_subsets_of_folded_integers_are_not_alike(monkeypatch, dense):
    monkeypatch.setattr(joint, "_DENSE", dense)

    def folded(limit, size, entropy):
        return (np.frombuffer(entropy.take(8 * size), dtype="<u8") % limit).astype(np.int64)

    monkeypatch.setattr(joint, "uniform_below", folded)
    decided, _ = every_word(lambda e: tuple(draw_subset(2, 5, e).tolist()), 5, 12)
    assert len(set(decided.values())) > 1


@pytest.mark.claim("composition-exact")
@pytest.mark.parametrize(("total", "parts"), [(0, 3), (1, 2), (4, 3), (3, 5), (6, 2)])
def test_each_set_of_bars_is_one_composition(monkeypatch, total, parts):
    found = []
    for bars in itertools.combinations(range(total + parts - 1), parts - 1):
        monkeypatch.setattr(joint, "draw_subset", lambda *_, bars=bars: np.array(bars, dtype=np.int64))
        found.append(tuple(draw_composition(total, parts, None).tolist()))
    assert sorted(found) == sorted(compositions(total, parts))


@pytest.mark.claim("zero-sum-exact")
@pytest.mark.parametrize("parts", [2, 3])
def test_differences_of_two_vectors_of_one_total_have_the_law(parts):
    """Totals r ∝ w(r)², then two uniform vectors: z has the mass q^‖z‖₁ C, with C the same for all z, in fractions.

    The mass of z with totals up to r is compared with that of 0 with totals up to r - ‖z‖₁/2: one is q^‖z‖₁ the other.
    """
    q, most = Fraction(2, 3), 7 if parts == 2 else 5
    mass = defaultdict(Fraction)
    for total in range(most + 1):
        vectors = compositions(total, parts)
        ways = math.comb(total + parts - 1, total)
        assert len(vectors) == ways
        for up, down in itertools.product(vectors, repeat=2):
            z = tuple(a - b for a, b in zip(up, down, strict=True))
            mass[z, total] += (ways * q**total) ** 2 / Fraction(ways) ** 2
    nothing = (0,) * parts
    for z in {z for z, _ in mass}:
        size = sum(map(abs, z)) // 2
        found = sum(mass[z, total] for total in range(most + 1))
        assert found == q ** (2 * size) * sum(mass[nothing, total] for total in range(most - size + 1))


def heads(entropy):
    """A geometric variable with q = ½, by single bits."""
    count = 0
    while joint.bits(entropy, 1):
        count += 1
    return count


def few_below(limit, size, entropy):
    """Uniform integers, by as few bits as `joint.uniform_below` uses of its words."""
    drawn = []
    while len(drawn) < size:
        drawn += [x for x in [joint.bits(entropy, limit.bit_length())] if x < limit]
    return np.array(drawn, dtype=np.int64)


@pytest.mark.claim("zero-sum-exact")
@pytest.mark.parametrize(("dimension", "most_undecided"), [(2, Fraction(1, 2)), (3, Fraction(3, 4))])
def test_vectors_by_totals_on_every_path(coarse, dimension, most_undecided):
    """At q = ½, where a geometric variable takes single bits and chances are fractions."""

    def chance(total, _, parts):
        weights = [Fraction(math.comb(r + parts - 1, r), 1 << r) for r in (total, parts - 1)]
        return as_interval(weights[0] / weights[1])

    coarse.setattr(joint, "geometric", lambda _, e, size: np.array([heads(e) for _ in range(size)], dtype=np.int64))
    coarse.setattr(joint, "uniform_below", few_below)
    coarse.setattr(joint, "chance_of_total", chance)
    drawn = every_path(lambda: tuple(joint._zero_sum_by_totals(None, dimension, None).tolist()), coarse, depth=12)

    def law(q):
        box = itertools.product(range(-60, 61), repeat=dimension - 1)
        total = sum(q ** sum(map(abs, (*z, sum(z)))) for z in box)
        # What lies beyond the box is far less than this.
        return lambda z: Interval(*(Fraction(q ** sum(map(abs, z)) / total * (1 + slack)) for slack in (-1e-9, 1e-9)))

    assert_law(*drawn, law(0.5), most_undecided=most_undecided)
    assert wrongly_scaled(law(0.2 if dimension == 2 else 0.05), *drawn)


@pytest.mark.claim("zero-sum-exact")
@pytest.mark.usefixtures("kept_chances")
@pytest.mark.parametrize("dimension", [2, 3])
def test_vectors_by_totals_follow_the_law(dimension):
    size, entropy, count = Scale.at_least(Fraction(3, 2)), SeededEntropy(dimension), 15_000
    draws = Counter(tuple(joint._zero_sum_by_totals(size, dimension, entropy).tolist()) for _ in range(count))
    assert all(sum(z) == 0 for z in draws)

    def fits(steps):
        masses = zero_sum_masses(steps, dimension, 3)
        counts = [draws[z] for z in masses]
        return g_test([*counts, count - sum(counts)], [*masses.values(), 1 - sum(masses.values())])

    assert fits(1.5) > 1e-9
    assert fits(1.8) < 1e-9


@pytest.mark.claim("zero-sum-exact")
@pytest.mark.parametrize("steps", [Fraction(1, 2), Fraction(1 << 30)])
def test_both_ways_have_one_law_of_the_sum_of_magnitudes(steps):
    """Means of 150 such sums, within 6.5 of their standard errors; those at another scale are not."""
    cells, size, entropy = 60, 150, SeededEntropy(5)

    def magnitudes(way, scale):
        return [float(np.abs(way(scale, cells, entropy)).sum() / steps) for _ in range(size)]

    scale = Scale.at_least(steps)
    tries, totals = (magnitudes(way, scale) for way in (joint._zero_sum_by_tries, joint._zero_sum_by_totals))
    wider = magnitudes(joint._zero_sum_by_totals, Scale.at_least(steps * Fraction(6, 5)))

    def distance(one, other):
        spread = math.sqrt((np.var(one) + np.var(other)) / size)
        return abs(np.mean(one) - np.mean(other)) / spread

    assert distance(tries, totals) < 6.5
    assert distance(wider, totals) > 6.5


def test_the_way_depends_on_public_numbers(monkeypatch):
    taken = []
    for name in ("_zero_sum_by_tries", "_zero_sum_by_totals"):
        monkeypatch.setattr(joint, name, lambda *_, name=name: taken.append(name))
    for scale, dimension in ((Scale(6, 64), 99), (Scale(6, 64), 100), (Scale(50, 1), 100), (Scale(52, 1), 100)):
        zero_sum(scale, dimension, None)
    assert taken == [f"_zero_sum_by_{way}" for way in ("tries", "totals", "totals", "tries")]


def test_wide_vectors_add_up_or_are_refused():
    wide = zero_sum(Scale(50, 1), 200, SeededEntropy(1))
    assert sum(wide.tolist()) == 0
    assert np.abs(wide).max() > 1 << 50
    with pytest.raises(OverflowError, match="a total beyond"):
        draw_composition(1 << 60, 100, SeededEntropy(1))


@pytest.mark.claim("zero-sum-exact")
def test_a_million_cells_add_up():
    """The mean magnitude of 10⁶ elements is that of independent noise, 2q/(1-q²), within six of its deviations."""
    noise = zero_sum(Scale.at_least(Fraction(2)), 10**6, SeededEntropy(1))
    assert noise.sum() == 0
    q = math.exp(-1 / 2)
    mean, square = 2 * q / (1 - q * q), 2 * q / (1 - q) ** 2
    assert abs(np.abs(noise).mean() - mean) < 7e-3 * math.sqrt(square - mean**2)


@pytest.mark.claim("sampler-blind")
def test_bytes_do_not_depend_on_the_counts(monkeypatch):
    law = zero_sum_law("histogram", Terms(Pure(1), Unit("substitute"), "bit", 1000), 150)

    def release(counts, entropy):
        monkeypatch.setattr(draw, "entropy_source", lambda: entropy)
        return draw.draw_zero_sum(counts, law)

    tables = [np.zeros(150, dtype=np.int64), np.arange(150), np.full(150, 10**9)]
    assert replay(release, tables, seeds=range(4))
    assert not replay(lambda counts, entropy: entropy.take(1 + int(counts[-1]) % 7), tables, seeds=range(4))
