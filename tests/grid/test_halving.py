"""One draw of recursive halving between two cuts: every place has the weight of its definition, and tables of points
that are weighed in one go are known to their slack."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from inbounds.grid import halving
from inbounds.grid.exponential import Powers
from inbounds.grid.halving import PARTS

WHOLE = 2 * PARTS


def cut_at(counts, point, part):
    """A cut through a point, with the parts of records below it."""
    return halving._Cut(point, part, WHOLE * sum(counts[:point]) + (2 * part + 1) * counts[point])


def law_of_cut(counts, low, high, share, unit, monkeypatch):
    """The chance of each place, by the weights that choices are made with, and what is made of the place."""
    table = np.array(counts)
    one = halving._Draw(table, np.cumsum(table) - table, WHOLE, low, high, share, unit, tilt=Fraction(1, 2), shift=0)
    found, chosen = {}, {}

    def choose_by(weigh, unit, most, _):
        chosen["points"] = [int(one) for one in weigh(Powers(unit, most, 192))[0]]
        return chosen["point"]

    def choose(scores, unit, most, _):
        chosen["parts"] = [int(one) for one in Powers(unit, most, 192).weigh(scores - scores.min())]
        return chosen["part"]

    monkeypatch.setattr(halving, "choose_by", choose_by)
    monkeypatch.setattr(halving, "choose", choose)
    for point in range(high.point - low.point + 1):
        chosen |= {"point": point, "part": 0}
        one.cut(None)
        whole, parts = sum(chosen["points"]), chosen["parts"]
        if not chosen["points"][point]:
            continue
        chance = mp.mpf(chosen["points"][point]) / whole / sum(parts)
        found |= {(low.point + point, part): chance * weight for part, weight in enumerate(parts) if weight}
        chosen["part"] = 5
        assert one.cut(None) == cut_at(counts, low.point + point, 5)
    return found


def reference(counts, low, high, share, unit):
    """The same by the definition: how many parts of records lie between a place and what is asked for."""
    ends = (low.point, low.part), (high.point, high.part)
    places = [(k, j) for k in range(len(counts)) for j in range(PARTS) if ends[0] <= (k, j) <= ends[1]]
    target = low.mass + share * (high.mass - low.mass)
    weights = {}
    for place in places:
        scaled = unit * share.denominator * abs(cut_at(counts, *place).mass - target)
        weights[place] = mp.exp(-mp.mpf(scaled.numerator) / scaled.denominator)
    whole = mp.fsum(weights.values())
    return {place: weight / whole for place, weight in weights.items()}


START = halving._Cut(0, 0, 0)


def end(counts):
    return halving._Cut(len(counts) - 1, PARTS - 1, WHOLE * sum(counts))


MANY = (1, 2, 0, 3, 1, 4, 2, 0)
CUTS = {
    "the whole table": (MANY, START, end(MANY), Fraction(2, 5)),
    "above a cut": (MANY, cut_at(MANY, 1, 200), end(MANY), Fraction(1, 2)),
    "below a cut": (MANY, START, cut_at(MANY, 6, 30), Fraction(3, 7)),
    "between two": (MANY, cut_at(MANY, 1, 200), cut_at(MANY, 6, 30), Fraction(1, 3)),
    "between two of one point": (MANY, cut_at(MANY, 3, 20), cut_at(MANY, 3, 150), Fraction(3, 4)),
    "between neighbours": (MANY, cut_at(MANY, 3, 255), cut_at(MANY, 4, 0), Fraction(1, 2)),
    # What is asked for is between two points, nearer to the one that it has passed.
    "between places": ((2, 3, 90, 1), START, end((2, 3, 90, 1)), Fraction(251, 4800)),
    # And beyond the last place of all.
    "beyond the last": ((0, 0, 5), START, end((0, 0, 5)), Fraction(9999, 10_000)),
    "before the first": ((5, 0, 0), START, end((5, 0, 0)), Fraction(1, 10_000)),
    "at a place": ((1, 1, 1, 1, 1), START, end((1, 1, 1, 1, 1)), Fraction(1, 2)),
    "nobody": ((0, 0, 0), START, end((0, 0, 0)), Fraction(1, 3)),
    "a single point": ((7,), START, end((7,)), Fraction(1, 3)),
}


@pytest.mark.claim("halving-exact")
@pytest.mark.parametrize("what", CUTS)
@pytest.mark.parametrize("records", [Fraction(1, 10), Fraction(2), Fraction(10**6)])
def test_every_place_between_two_cuts_has_its_weight(what, records, monkeypatch):
    counts, low, high, share = CUTS[what]
    unit = 1 / records / (WHOLE * share.denominator)
    own = law_of_cut(counts, low, high, share, unit, monkeypatch)
    other = reference(counts, low, high, share, unit)
    assert {place for place, chance in other.items() if chance > mp.mpf(2) ** -180} <= set(own) <= set(other)
    assert all(abs(own.get(place, 0) - chance) < mp.mpf(10) ** -14 for place, chance in other.items())


def scores_of_points(counts, low, high, share, monkeypatch, tilt=Fraction(1, 2), shift=0, parts=WHOLE):
    """What coins are thrown with for each point of a draw that nothing depends on, in records."""
    table, given = np.array(counts), {}
    unit = Fraction(1, 7) / (parts * share.denominator)
    one = halving._Draw(table, np.cumsum(table) - table, parts, low, high, share, unit, tilt, shift)

    def flip(scores, unit, most, entropy):
        given.update(scores=[7 * unit * int(score) for score in scores], most=most, entropy=entropy)
        return len(scores) - 1

    monkeypatch.setattr(halving, "flip", flip)
    assert one.point("words") == halving._Cut(high.point, 0, 0)
    assert given["entropy"] == "words"
    assert max(given["scores"]) < given["most"]
    return given["scores"]


@pytest.mark.claim("halving-exact")
@pytest.mark.parametrize("tilt", [Fraction(1, 2), Fraction(1, 10), Fraction(17, 20)])
@pytest.mark.parametrize("what", CUTS)
def test_every_point_between_two_cuts_has_the_distance_of_its_ranks(what, tilt, monkeypatch):
    counts, low, high, share = CUTS[what]
    own = scores_of_points(counts, low, high, share, monkeypatch, tilt)
    first, last = Fraction(low.mass, WHOLE), Fraction(high.mass, WHOLE)
    target, expected = first + share * (last - first), []
    for k in range(low.point, high.point + 1):
        a, b = max(Fraction(sum(counts[:k])), first), min(Fraction(sum(counts[: k + 1])), last)
        expected.append(max(2 * tilt * (a - target), 2 * (1 - tilt) * (target - b)))
    assert own == expected


@pytest.mark.claim("halving-exact")
@pytest.mark.parametrize("shift", [-9, -1, 1, 2, 30])
@pytest.mark.parametrize("counts", [MANY, (0, 2, 3, 0), (4, 1), (0, 0, 0)])
def test_ends_have_all_ranks_beyond_them(counts, shift, monkeypatch):
    """Of a draw with a shift, so that some point has the rank that is asked for, whatever it is."""
    share, last = Fraction(2, 7), len(counts) - 1
    high = halving._Cut(last, PARTS - 1, sum(counts))
    own = scores_of_points(counts, START, high, share, monkeypatch, shift=shift, parts=1)
    target, expected = share * sum(counts) + shift, []
    for k in range(len(counts)):
        over, under = sum(counts[:k]) - target, target - sum(counts[: k + 1])
        expected.append(under if k == 0 else over if k == last else max(over, under))
    assert own == expected
    assert min(own) <= 0


@pytest.mark.claim("halving-exact")
@pytest.mark.parametrize("unit", [Fraction(1, 10**9), Fraction(1, 3000), Fraction(2, 7)])
@pytest.mark.parametrize("digits", [62, 192])
def test_points_are_weighed_to_their_slack(unit, digits):
    """Each sum of 256 weights, against one power after another."""
    near, step = np.array([0, 0, 3, 40, 1000]), np.array([0, 1, 2, 700, 5])
    powers = Powers(unit, 1 << 60, digits)
    weights, slack = halving._weigh_points(powers, near, step)
    assert slack < 200
    with mp.workdps(100):
        rate = mp.mpf(unit.numerator) / unit.denominator
        for weight, first, more in zip(weights, near.tolist(), step.tolist(), strict=True):
            exact = mp.fsum(mp.exp(-rate * (first + j * more)) for j in range(PARTS)) / PARTS * mp.mpf(2) ** digits
            assert int(weight) <= exact < int(weight) + slack


class Worst(Powers):
    """Powers that are as much too small as they may be: by nearly their slack, and products by nearly three units."""

    def weigh(self, scores):
        exact = [mp.exp(-mp.mpf(self.unit.numerator) * int(one) / self.unit.denominator) for one in scores]
        return np.array([int(mp.ceil(one * mp.mpf(2) ** self.digits)) - self.slack for one in exact], object)

    def multiply(self, a, b):
        return np.array([-(-(x * y) >> self.digits) - 3 for x, y in zip(a, b, strict=True)], object)


@pytest.mark.claim("halving-exact")
@pytest.mark.parametrize("exponent", [12, 15, 40])
def test_the_slack_covers_the_worst_of_each_step(exponent):
    unit, digits = Fraction(1, 1 << exponent), 100
    powers = Worst(unit, 1 << 60, digits)
    near, step = np.array([0, 0, 1]), np.array([0, 1, 2])
    with mp.workdps(80):
        weights, slack = halving._weigh_points(powers, near, step)
        rate, lost = mp.mpf(2) ** -exponent, []
        for weight, first, more in zip(weights, near.tolist(), step.tolist(), strict=True):
            exact = mp.fsum(mp.exp(-rate * (first + j * more)) for j in range(PARTS)) / PARTS * mp.mpf(2) ** digits
            lost.append(exact - weight)
    assert all(0 < one < slack for one in lost)
