"""The parts of a draw of several quantiles at once: what is enclosed, which random words decide what, and what is done
whatever the records are."""

import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from inbounds.grid import together
from inbounds.grid.entropy import SeededEntropy, bits
from inbounds.grid.together import Sizes, draw_together, pick

OPEN = r"^a uniform number leaves the choice open, which happens less often than once in 2\^150$"


def shares(*tenths):
    return [Fraction(k, 10) for k in tenths]


# Counts, shares, scale, and a public bound of the number of records.
TABLES = [
    ((1, 0, 2), shares(3, 5), Fraction(2), 3),
    ((0, 3), shares(2, 5, 9), Fraction(1, 2), 3),
    ((2, 1, 4), shares(1, 4, 7), Fraction(3, 2), 7),
    ((0, 0), shares(2, 5), Fraction(1), 3),
    ((6, 0, 1), [Fraction(1, 7), Fraction(3, 7), Fraction(4, 7)], Fraction(5, 3), 7),
]


def draft_of(counts, asked, spread, most):
    sizes = Sizes(len(asked), len(counts), spread, most)
    return together._Draw(together._Ranks(np.array(counts), sizes.doublings), asked, sizes)


def power(x):
    """e^-x of a fraction."""
    x = Fraction(x)
    return mp.exp(-mp.mpf(x.numerator) / x.denominator)


@pytest.mark.claim("together-exact")
def test_sizes_follow_from_public_numbers():
    sizes = Sizes(3, 100, Fraction(5, 2), 1000)
    # 10 bits of places and 7 of points, for each of three.
    assert (sizes.doublings, sizes.digits) == (10, 192 + 3 * 17 + 16)
    assert sizes.window == math.ceil((192 + 51) * Fraction(6932, 10_000) * Fraction(5, 2)) == 422
    assert Sizes(3, 100, Fraction(5, 2), 400).window == 400
    assert sizes.work == (2 * 422 + 1) * 3 * 5
    assert together.WORD == 192
    # Beyond the window less is lost than was said: e^(-ranks / spread) for all tuples.
    with mp.workdps(100):
        assert power(sizes.window / sizes.spread) * mp.mpf(2) ** (3 * 17) < mp.mpf(2) ** -192


def test_sets_are_counted():
    for size, count in itertools.product(range(8), range(6)):
        assert together._count_sets(size, count) == math.comb(size, count)
    assert [together._floor(Fraction(k, 3)) for k in (-4, -3, 0, 4, 6)] == [-2, -1, 0, 1, 2]
    assert [together._ceil(Fraction(k, 3)) for k in (-4, -3, 0, 4, 6)] == [-1, -1, 0, 2, 2]


@pytest.mark.claim("together-exact")
@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 3), Fraction(5), Fraction(70, 3)])
def test_powers_are_enclosed(x):
    digits = 230
    with mp.workdps(120):
        unit = mp.mpf(2) ** digits
        low, high = together._fixed(x, digits)
        assert low <= power(x) * unit <= high <= low + 1
        lows, highs = together._powers(x, digits, 40)
        assert (len(lows), len(highs)) == (40, 40)
        for j, (one, other) in enumerate(zip(lows, highs, strict=True)):
            assert one <= power(j * x) * unit <= other <= one + 3 * j + 1


def definition(weights, word, lost):
    """The place that is right for all true weights within their ends, whatever was left out, and for each number that
    begins with the word; None where there is none."""
    lower, upper = weights
    # The largest running sums before a place are compared with the smallest that the number times all may be.
    for place in range(len(lower)):
        first, last = Fraction(word, 1 << together.WORD), Fraction(word + 1, 1 << together.WORD)
        if sum(upper[:place]) <= first * sum(lower) and last * (sum(upper) + lost) <= sum(lower[: place + 1]):
            return place
    return None


@pytest.mark.claim("together-exact")
@pytest.mark.parametrize("lost", [0, 1, 7])
def test_a_place_is_sure_whatever_is_not_known(monkeypatch, lost):
    """Every word of six bits, also where sums meet it exactly."""
    monkeypatch.setattr(together, "WORD", 6)
    rng, seen = random.Random(4), Counter()
    tables = [([16, 16, 32], [16, 16, 32]), ([8, 0, 24, 32], [8, 0, 24, 32]), ([0, 64], [0, 64]), ([64], [64])]
    tables += [([64 * x for x in own], [64 * x for x in own]) for own in ([1, 2, 1], [0, 3, 0, 1, 0], [5])]
    for _ in range(60):
        lower = [rng.choice([0, 1, 20, 300]) * rng.randrange(5) for _ in range(rng.randrange(1, 6))]
        tables.append((lower, [x + rng.randrange(3) for x in lower]))
    for weights in tables:
        for word in range(1 << 6):
            right = definition(weights, word, lost)
            if not sum(weights[0]):
                right = None if right is None or not sum(weights[1]) + lost else right
            try:
                found = pick(weights, word, lost)
            except ArithmeticError as error:
                assert str(error).startswith("a uniform number leaves the choice open")  # noqa: PT017
                found = None
            if sum(weights[0]):
                assert found == right
                seen[found is None] += 1
    assert min(seen.values()) > 300
    with pytest.raises(ArithmeticError, match=OPEN):
        pick(([0, 1], [1, 2]), 0, 1)


@pytest.mark.claim("together-exact")
def test_a_set_is_sure_word_by_word(monkeypatch):
    """Each word of four bits: taken where all numbers that begin with it agree, and refused where they do not."""
    monkeypatch.setattr(together, "WORD", 4)
    for size, word in itertools.product(range(1, 20), range(16)):
        places = {math.floor(Fraction(word * 4 + k, 64) * size) for k in (0, 1, 2, 3)}
        places.add(math.ceil(Fraction(word + 1, 16) * size) - 1)
        own = [size, 1, [word], 7]
        if len(places) == 1:
            assert together._choose_some(*own) == [7 + places.pop()]
        else:
            with pytest.raises(ArithmeticError, match=OPEN):
                together._choose_some(*own)
    # One that was taken gives way to the last: of ten places none twice.
    assert together._choose_some(10, 3, [0, 0, 0], 3) == [3, 11, 12]
    with pytest.raises(ValueError):
        together._choose_some(5, 2, [0], 0)


@pytest.mark.claim("together-exact")
@pytest.mark.parametrize("table", TABLES)
def test_weights_of_every_step_are_enclosed(table):
    """Around what is asked for, at each rank with those before it, and at one rank together."""
    draft = draft_of(*table)
    counts, asked, spread, _ = table
    n, rate = sum(counts), 1 / (2 * spread)
    targets = [share * n for share in asked]
    assert (draft.rate, draft.targets, draft.lost) == (rate, targets, 1 << draft.digits - 192)
    with mp.workdps(150):
        unit = mp.mpf(2) ** draft.digits
        slack = mp.mpf(2) ** -180 * unit

        def enclosed(ends, exact):
            low, high = ends
            assert low <= exact * unit <= high
            assert high - low < slack

        for j, target in enumerate(targets):
            start = draft.starts[j]
            assert start <= target < start + draft.width
            for k, ends in enumerate(zip(*draft._around(target, j), strict=True)):
                enclosed(ends, power(rate * abs(start + k - target)))
            assert draft.empty[0, j][0] <= power(rate * (target - targets[0])) * unit <= draft.empty[0, j][1]
            if j:
                gap = target - targets[j - 1]
                for rank in range(start, start + draft.width):
                    for k, ends in enumerate(zip(*draft._before(rank, j - 1), strict=True)):
                        own = draft.starts[j - 1] + k
                        if own >= rank:
                            assert ends == (0, 0)
                        else:
                            enclosed(ends, power(rate * abs(rank - own - gap)))
        # All at a rank, by the definition: sums over all lower ranks of the quantile before.
        entering, ending = [], []
        for j, target in enumerate(targets):
            start = draft.starts[j]
            ranks = range(start, start + draft.width)
            if j == 0:
                entering.append({rank: power(rate * abs(rank - target)) for rank in ranks})
            else:
                gap, before = target - targets[j - 1], ending[j - 1]
                entering.append(
                    {
                        rank: mp.fsum(
                            w * power(rate * abs(rank - own - gap)) for own, w in before.items() if own < rank
                        )
                        for rank in ranks
                    }
                )
            runs = {
                rank: [
                    entering[j - run + 1].get(rank, mp.mpf(0))
                    * power(rate * (target - targets[j - run + 1]))
                    * math.comb(draft.sizes[j][k], run)
                    for run in range(1, j + 2)
                ]
                for k, rank in enumerate(ranks)
            }
            ending.append({rank: mp.fsum(ways) for rank, ways in runs.items()})
            for k, rank in enumerate(ranks):
                enclosed((draft.entering[j][0][k], draft.entering[j][1][k]), entering[j][rank])
                enclosed((draft.ending[j][0][k], draft.ending[j][1][k]), ending[j][rank])
                for ends, exact in zip(draft._runs(j, k), runs[rank], strict=True):
                    enclosed(ends, exact)


def paths(draft, count):
    """All ways of choices, with the words that each is made by and what is said of what was drawn before."""
    waiting, made = [()], []
    words = [f"word {k}" for k in range(3 * count)]
    while waiting:
        path, used, shown, places = waiting.pop(), [], [], []

        class Branch(Exception):
            pass

        def choose(weights, path=path, places=places, branch=Branch):
            if len(places) == len(path):
                raise branch([k for k, weight in enumerate(weights) if weight])
            places.append(path[len(places)])
            return places[-1]

        def picked(weights, word, lost, used=used, shown=shown, choose=choose):
            used.append(word)
            shown.append(lost)
            return choose(weights[0])

        def some(size, count, words, first, used=used, shown=shown):
            used.extend(words)
            shown.append((size, count, first))
            return [first] * count

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(together, "pick", picked)
            patched.setattr(together, "_choose_some", some)
            try:
                draft.draw(words)
            except Branch as branch:
                waiting += [(*path, place) for place in branch.args[0]]
            else:
                made.append((path, used, shown))
    return made


@pytest.mark.claim("together-exact")
@pytest.mark.parametrize("table", TABLES)
def test_no_word_decides_twice(table):
    """Of all choices of a draw each has words of its own, whatever was chosen before."""
    draft, count = draft_of(*table), len(table[1])
    found = paths(draft, count)
    assert len(found) >= 4 or not sum(table[0])
    for _, used, _ in found:
        assert len(set(used)) == len(used)
        assert used[0] == "word 0"
        # As many words for places as there are quantiles, which no rank and no number is drawn by.
        inside = [word for word in used if int(word[5:]) >= 2 * count]
        assert sorted(inside) == sorted(f"word {k}" for k in range(2 * count, 3 * count))


@pytest.fixture(params=[0, 20])
def loose(request, monkeypatch):
    """Upper ends of powers that are a million times what they should be, if they are taken where lower ones should."""
    real = together._fixed

    def fixed(x, digits):
        low, high = real(x, digits)
        return low, high << request.param

    monkeypatch.setattr(together, "_fixed", fixed)
    monkeypatch.setattr(together, "_powers", together._powers.__wrapped__)


@pytest.mark.claim("together-exact")
@pytest.mark.usefixtures("loose")
@pytest.mark.parametrize("table", TABLES[:3])
def test_what_is_not_looked_at_is_compared_with_what_was_drawn(table):
    """Weights are without those of the choices made, so that what was left out is divided by these, rounded up."""
    draft = draft_of(*table)
    asked, rate, n = table[1], draft.rate, sum(table[0])
    targets = [share * n for share in asked]
    with mp.workdps(150):
        for path, _, shown in paths(draft, len(asked)):
            j, steps = len(asked) - 1, iter(path)
            k = next(steps)
            said = [lost for lost in shown if not isinstance(lost, tuple)]
            assert said.pop(0) == draft.lost
            behind = power(rate * abs(draft.starts[j] + k - targets[j]))
            while j >= 0:
                run = 1 + next(steps)
                needed = mp.mpf(draft.lost) / behind
                lost = said.pop(0)
                assert needed <= lost < needed * (1 + mp.mpf(2) ** -150) + 1
                behind *= power(rate * (targets[j] - targets[j - run + 1])) * math.comb(draft.sizes[j][k], run)
                rank, j = draft.starts[j] + k, j - run
                if j >= 0:
                    k = next(steps)
                    needed = mp.mpf(draft.lost) / behind
                    lost = said.pop(0)
                    assert needed <= lost < needed * (1 + mp.mpf(2) ** -150) + 1
                    behind *= power(rate * abs(rank - draft.starts[j] - k - (targets[j + 1] - targets[j])))
            assert not said
            assert next(steps, None) is None


@pytest.mark.claim("together-exact")
def test_products_are_rounded_outwards():
    draft = draft_of(*TABLES[0])
    draft.digits = 2
    assert draft._times(([3, 4], [5, 4]), ([7, 1], [11, 1])) == ([21 // 4, 1], [-(-55 // 4), 1])
    assert draft._times(([0, 3], [1, 3]), ([0, 3], [1, 3])) == ([0, 2], [1, 3])
    with pytest.raises(ValueError):
        draft._times(([1], [1]), ([1, 1], [1]))
    with pytest.raises(ValueError):
        draft._times(([1], [1]), ([1], [1, 1]))


@pytest.mark.claim("together-exact")
def test_running_sums_are_rounded_outwards(monkeypatch):
    draft = draft_of(*TABLES[0])
    assert draft.width == 2 * Sizes(2, 3, Fraction(2), 3).window + 1 == 7
    low, high = draft.powers
    monkeypatch.setattr(draft, "powers", (low, [low[0], low[1] + 9, *high[2:]]))
    folded, real = [], draft._fold

    def fold(numbers, ratio, *, up):
        folded.append((ratio - low[1], up))
        return real(numbers, ratio, up=up)

    monkeypatch.setattr(draft, "_fold", fold)
    draft._pass_on(1)
    assert folded == [(0, False), (9, True), (0, False), (9, True)]
    draft.digits = 3
    assert real([5, 7, 1], 3, up=False) == [5, 8, 4]
    assert real([5, 7, 1], 3, up=True) == [5, 9, 5]


def test_beyond_the_ranks_that_are_looked_at_there_is_nothing():
    draft = draft_of(*TABLES[0])
    assert [draft._at([4, 5, 6], place) for place in range(-2, 5)] == [0, 0, 4, 5, 6, 0, 0]
    draft.entering[0] = [1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14]
    for off, ends in (
        (0, draft.entering[0]),
        (3, ([4, 5, 6, 7, 0, 0, 0], [11, 12, 13, 14, 0, 0, 0])),
        (7, ([0] * 7, [0] * 7)),
        (50, ([0] * 7, [0] * 7)),
    ):
        draft.starts = [2, 2 + off]
        assert draft._shift(0, 1) == (list(ends[0]), list(ends[1]))


def test_what_is_left_out_is_shared_rounding_up():
    draft = draft_of(*TABLES[0])
    for behind in (1, 3, 1 << draft.digits, (1 << draft.digits) - 1, (1 << draft.digits) // 3):
        assert draft._share(behind) == math.ceil(Fraction(draft.lost << draft.digits, behind))
        assert type(draft._share(behind)) is int
    with pytest.raises(ArithmeticError, match=OPEN):
        draft._share(0)


@pytest.mark.claim("together-exact")
@pytest.mark.parametrize(
    ("counts", "asked"), [((7, 0, 1, 3), shares(2, 5, 9)), ((0, 0, 11, 0), shares(1, 4, 5, 6)), ((5, 6), shares(5))]
)
def test_as_much_is_done_whatever_was_drawn(counts, asked, monkeypatch):
    done = set()
    for seed in range(25):
        entropy, calls = SeededEntropy(seed), Counter()
        with monkeypatch.context() as patched:
            for name in ("_around", "_times"):
                patched.setattr(together._Draw, name, counted(getattr(together._Draw, name), name, calls))
            draw_together(np.array(counts), asked, Fraction(1), 15, entropy)
        done.add((calls["_around"], calls["_times"], entropy.handed_out))
    # One for each rank that may be drawn, and one for the weights of the first.
    assert done == {(len(asked) + 1, len(asked), 3 * len(asked) * 24)}


def counted(method, name, calls):
    """A method that counts how often it is called."""

    def count(*words):
        calls[name] += 1
        return method(*words)

    return count


@pytest.mark.claim("together-exact")
def test_points_are_those_of_the_places_that_words_choose():
    """The whole of it from the same bytes: 192 bits for each choice, in their order, and points without their parts."""
    counts, asked, spread, most = np.array([3, 0, 5, 2]), shares(3, 5, 8), Fraction(2), 15
    for seed in range(20):
        source, sizes = SeededEntropy(seed), Sizes(3, 4, spread, most)
        words = [bits(source, 192) for _ in range(9)]
        places = together._Draw(together._Ranks(counts, sizes.doublings), asked, sizes).draw(words)
        assert places == sorted(set(places))
        points = draw_together(counts, asked, spread, most, SeededEntropy(seed))
        assert points == [place // 16 for place in places]
        # No other word of the same kind gives more than that.
        assert len(points) == 3
        assert all(0 <= point < 4 for point in points)
