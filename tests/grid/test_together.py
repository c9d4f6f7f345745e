"""Quantiles that are drawn together: their law, by enumeration, and what a record can do to it."""

import itertools
from collections import Counter, defaultdict
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from inbounds.grid import together
from inbounds.grid.entropy import SeededEntropy
from inbounds.grid.together import Sizes, draw_together, pick
from tests.grid.test_sampler import g_test

WORD = together.WORD


def shares(*tenths):
    return [Fraction(k, 10) for k in tenths]


def reversed_bits(number, count):
    return int(f"{number:0{count}b}"[::-1], 2)


def lay_out(counts, doublings):
    """The places of all records, in order, by the definition."""
    return sorted((k << doublings) + reversed_bits(i + 1, doublings) for k, n in enumerate(counts) for i in range(n))


def score_of(places, records, asked):
    """Half of the sum over gaps, by counting records."""
    n = len(records)
    found = [sum(a <= record < b for record in records) for a, b in itertools.pairwise([0, *places, 1 << 62])]
    parts = [b - a for a, b in itertools.pairwise([Fraction(0), *asked, Fraction(1)])]
    return sum((abs(k - part * n) for k, part in zip(found, parts, strict=True)), start=Fraction(0)) / 2


def reference(counts, asked, spread, doublings, score=score_of):
    """P of each tuple of points, over all tuples of increasing places."""
    records, found = lay_out(counts, doublings), defaultdict(lambda: mp.mpf(0))
    for places in itertools.combinations(range(len(counts) << doublings), len(asked)):
        scaled = Fraction(score(places, records, asked)) / spread
        found[tuple(place >> doublings for place in places)] += mp.exp(-mp.mpf(scaled.numerator) / scaled.denominator)
    total = mp.fsum(found.values())
    return {key: mass / total for key, mass in found.items()}


def law_of(counts, asked, spread, most):
    """What the code draws: every place of all choices, by the weights that it compares uniform numbers with."""
    found, waiting = defaultdict(lambda: mp.mpf(0)), [()]
    sizes = Sizes(len(asked), len(counts), spread, most)
    ranks = together._Ranks(np.array(counts), sizes.doublings)
    draft = together._Draw(ranks, asked, sizes)

    class Branch(Exception):
        pass

    while waiting:
        path = waiting.pop()
        state = {"at": 0, "chance": mp.mpf(1)}

        def choose(weights, state=state, path=path):
            if state["at"] == len(path):
                raise Branch([place for place, weight in enumerate(weights) if weight])
            place = path[state["at"]]
            state["at"] += 1
            state["chance"] *= mp.mpf(weights[place]) / sum(weights)
            return place

        def picked(weights, _word, _lost, choose=choose):
            for low, high in zip(*weights, strict=True):
                assert 0 <= high - low <= 1 << (sizes.digits - 180)
            return choose(weights[0])

        def some(size, count, _words, first, choose=choose):
            # All sets are alike.
            sets = list(itertools.combinations(range(size), count))
            return [first + place for place in sets[choose([1] * len(sets))]]

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(together, "pick", picked)
            patched.setattr(together, "_choose_some", some)
            try:
                places = draft.draw([0] * 3 * len(asked))
            except Branch as branch:
                waiting += [(*path, place) for place in branch.args[0]]
            else:
                found[tuple(place >> sizes.doublings for place in places)] += state["chance"]
    return dict(found)


LAWS = [
    ((1, 0, 2), shares(5), Fraction(2), 3),
    ((1, 0, 2), shares(3, 5), Fraction(2), 3),
    ((0, 3), shares(2, 5, 9), Fraction(1, 2), 3),
    ((0, 0), shares(2, 5), Fraction(1), 3),
    ((2, 1), shares(1, 4, 7), Fraction(3, 2), 3),
    ((0, 5), shares(1, 4), Fraction(1), 7),
]


@pytest.mark.claim("together-exact")
@pytest.mark.parametrize(("counts", "asked", "spread", "most"), LAWS)
def test_the_law_is_that_of_the_definition(counts, asked, spread, most):
    own, other = law_of(counts, asked, spread, most), reference(counts, asked, spread, most.bit_length())
    assert {key for key, mass in own.items() if mass} == set(other)
    assert all(abs(own[key] - other[key]) < mp.mpf(10) ** -14 for key in other)
    assert all(list(key) == sorted(key) for key in own), "results never cross"
    wrong = reference(counts, asked, spread * Fraction(11, 10), most.bit_length())
    assert sum(counts) == 0 or any(abs(own[key] - wrong[key]) > 1e-4 for key in other)


@pytest.mark.claim("together-exact")
def test_every_word_of_random_bits(monkeypatch):
    """With short words all uniform numbers there are: those that decide are shares of the law, and the rest is open."""
    monkeypatch.setattr(together, "WORD", 6)
    weights = [3, 0, 5, 1, 7]
    for lost in (0, 1):
        decided, left = Counter(), 0
        for word in range(1 << 6):
            try:
                decided[pick(([*weights], [one + lost for one in weights]), word, lost)] += 1
            except ArithmeticError:
                left += 1
        assert left <= (5 if not lost else 64)
        for place, weight in enumerate(weights):
            share = Fraction(weight, sum(weights))
            assert decided[place] <= share * 64 <= decided[place] + left
    made = Counter()
    for words in itertools.product(range(1 << 6), repeat=2):
        try:
            made[tuple(sorted(together._choose_some(4, 2, words, 10)))] += 1
        except ArithmeticError:
            made[None] += 1
    assert set(made) == {None, *itertools.combinations(range(10, 14), 2)}
    assert all(abs(made[key] - (4096 - made[None]) / 6) < 30 for key in made if key)


@pytest.mark.claim("together-exact")
def test_draws_follow_the_law():
    counts, asked, spread, most, entropy = (1, 0, 3, 2), shares(3, 5, 8), Fraction(2), 7, SeededEntropy(3)
    draws = Counter(tuple(draw_together(np.array(counts), asked, spread, most, entropy)) for _ in range(600))
    law = reference(counts, asked, spread, 3)
    assert g_test([draws[key] for key in law], [float(law[key]) for key in law]) > 1e-9
    wrong = reference(counts, asked, Fraction(1, 2), 3)
    assert g_test([draws[key] for key in law], [float(wrong[key]) for key in law]) < 1e-9


def test_records_of_a_point_are_where_the_sequence_says():
    rng = np.random.default_rng(0)
    for counts in [(0, 0, 0), (7, 0, 1), (0, 100, 27), rng.integers(0, 9, 30)]:
        ranks = together._Ranks(np.array(counts), 7)
        records, n = lay_out(counts, 7), int(sum(counts))
        assert ranks.places(-2, n + 4) == [-1, -1, *records, *[(len(counts) << 7) - 1] * 2]


def neighbours(points, rows, relation):
    """Pairs of tables of so many records, or one less, that differ in one."""
    fewer = [c for c in itertools.product(range(rows), repeat=points) if sum(c) == rows - 1]
    for table in fewer:
        more = [tuple(n + (i == k) for i, n in enumerate(table)) for k in range(points)]
        if relation != "substitute":
            yield from ((table, one) for one in more)
        if relation != "add-remove":
            yield from itertools.permutations(more, 2)


def most_lost(pairs, asked, spread, doublings, score=score_of):
    """The largest |log ratio| over outputs and pairs."""
    pairs = list(pairs)
    laws = {table: reference(table, asked, spread, doublings, score) for table in {*itertools.chain(*pairs)}}
    return max(abs(mp.log(laws[a][key] / laws[b][key])) for a, b in pairs for key in laws[a])


def most_moved(pairs, asked, doublings):
    """The most that the score of any tuple of places moves, exactly."""
    made = {}
    for table in {*itertools.chain(*pairs)}:
        records = lay_out(table, doublings)
        tuples = itertools.combinations(range(len(table) << doublings), len(asked))
        made[table] = [score_of(places, records, asked) for places in tuples]
    return max(abs(a - b) for one, other in pairs for a, b in zip(made[one], made[other], strict=True))


CASES = [
    (shares(5), 2, 3, "substitute", Fraction(1)),
    (shares(3, 5), 2, 3, "substitute", Fraction(1)),
    (shares(3, 5), 2, 4, "selection", Fraction(1)),
    (shares(3, 5), 2, 3, "add-remove", Fraction(8, 10)),
    (shares(2, 5, 9), 2, 3, "add-remove", Fraction(9, 10)),
]


@pytest.mark.claim("together-sensitivity")
@pytest.mark.parametrize(("asked", "points", "rows", "relation", "moved"), CASES)
def test_scores_move_by_no_more_and_by_as_much(asked, points, rows, relation, moved):
    pairs = list(neighbours(points, rows, relation))
    assert most_moved(pairs, asked, 2) == moved
    epsilon = Fraction(2)
    spread = 2 * moved / epsilon
    assert most_lost(pairs, asked, spread, 2) <= epsilon
    # Small tables have not the worst of it: with a quarter of the noise more is lost.
    assert most_lost(pairs, asked, spread / 4, 2) > epsilon


@pytest.mark.claim("together-sensitivity")
def test_planted_errors_lose_more():
    """A score that is off by the records of a place, one that is not halved (a sensitivity of half of what it is), and
    ties that are not spread."""
    pairs, asked, epsilon = list(neighbours(2, 3, "substitute")), shares(3, 5), Fraction(2)

    def twice(places, records, asked):
        return 4 * score_of(places, records, asked)

    assert most_lost(pairs, asked, Fraction(1), 2, twice) > epsilon

    def tied(places, records, asked):
        """Records lie on the first place of their point, so that those of one point cannot be cut."""
        return score_of(places, [record & ~3 for record in records], asked)

    constant = reference((0, 3), shares(2, 5, 8), Fraction(1, 4), 2, tied)
    spread = reference((0, 3), shares(2, 5, 8), Fraction(1, 4), 2)
    assert spread[(1, 1, 1)] > constant[(1, 1, 1)] + 0.2


@pytest.mark.claim("together-sensitivity")
def test_the_loss_is_attained():
    """Both quantiles are in a wide gap between points with many records, whose rank moves towards what is asked for,
    or beyond all of that: no promise that is smaller by a millionth would hold."""
    points, asked, most, spread = 60_000, [Fraction(501, 1000), Fraction(502, 1000)], 2001, Fraction(2)
    one, other = np.zeros(points, int), np.zeros(points, int)
    one[[0, -2, -1]], other[[0, -2]] = (1000, 1000, 1), (1001, 1000)
    sizes, logs = Sizes(2, points, spread, most), []
    for table in (one, other):
        draft = together._Draw(together._Ranks(table, sizes.doublings), asked, sizes)
        weights = draft._times(draft.ending[1], draft._around(draft.targets[1], 1))
        places = [(points - 1) << sizes.doublings, ((points - 1) << sizes.doublings) + 1]
        score = score_of(places, lay_out(table, sizes.doublings), asked) / spread
        with mp.workdps(40):
            total = mp.mpf(sum(weights[0])) / mp.mpf(2) ** sizes.digits
            logs.append(-mp.mpf(score.numerator) / score.denominator - mp.log(total))
    assert 2 / spread - mp.mpf("1e-6") < abs(logs[0] - logs[1]) <= 2 / spread


def test_constants_and_atoms_are_found():
    entropy, asked = SeededEntropy(2), shares(*range(1, 10))
    counts = np.zeros(300, int)
    counts[70] = 20_000
    assert set(draw_together(counts, asked, Fraction(2), 20_000, entropy)) == {70}
    counts[:] = 0
    counts[0], counts[100:200] = 9000, 110
    made = draw_together(counts, asked, Fraction(2), 20_000, entropy)
    ranks = (np.cumsum(counts)[made] - counts[made]) / 20_000, np.cumsum(counts)[made] / 20_000
    assert all(low - 0.02 < float(q) < high + 0.02 for low, high, q in zip(*ranks, asked, strict=True))


def test_randomness_does_not_depend_on_the_records():
    taken = []
    for counts in (np.full(50, 4), np.array([200, *[0] * 49]), np.array([100, *[0] * 48, 100])):
        entropy = SeededEntropy(1)
        draw_together(counts, shares(2, 5, 8), Fraction(4), 200, entropy)
        taken.append(entropy.handed_out)
    assert set(taken) == {3 * 3 * WORD // 8}
