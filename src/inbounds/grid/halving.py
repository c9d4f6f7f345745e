"""Several quantiles by recursive halving: the middle one first, then those below among the records below it.

(Kaplan, Schnapp and Stemmer 2022.) Each draw is the exponential mechanism over the points between the two that were
drawn before, or permute and flip where no other draw depends on it. At each depth these ranges do not overlap, so that
a record is in one of them.

Records come as counts of public points. Of a draw that others depend on, each point has `PARTS` places, and the records
of a point are spread evenly over them: a cut may go through a point with many records, and each side has its share of
them. What a record does to the score of a place is then an average of what it would do on either side.

A score is how many records lie between a place and the one that is asked for, as a whole number of parts of a record.
Of a draw that nothing depends on, it is the distance from the rank asked for to those that the point has, and for a
point that has this rank the negative distance to the nearer end of its ranks: a quantile that is one by many records is
more likely than one that just is. It is taken twice the tilt above the rank asked for and twice the rest below it: a
record that is substituted moves ranks one way, and so scores on one side up and on the other down, by 2 together.

Where few records lie on one side of a quantile, points beyond all of them are still likely. A draw that leans inward
adds to the score of a point what follows from its distance to the middle of the grid.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from inbounds.grid.entropy import Entropy
from inbounds.grid.exponential import Fixed, Powers, choose, choose_by, flip
from inbounds.grid.geometric import Integers
from inbounds.grid.nodes import INWARD, Node, find_rate

# Places of a point, as a power of two.
_DOUBLINGS = 8
PARTS = 1 << _DOUBLINGS


@dataclass(frozen=True, slots=True)
class _Cut:
    """A place: a point and a part of it, and how many parts of records lie below."""

    point: int
    part: int
    mass: int


def draw_points(counts: Integers, nodes: Sequence[Node], spreads: Sequence[Fraction], entropy: Entropy) -> list[int]:
    """claim:halving-exact. The point of each quantile, in order, of records that are counted by point.

    ``spreads`` has the scale of the scores at each depth, in records.
    """
    below = np.cumsum(counts) - counts
    # Parts of a record: two for each part of a point, since a place is in the middle of its part.
    parts = 2 * PARTS if any(node.inner for node in nodes) else 1
    records = int(counts.sum())
    start, end = _Cut(0, 0, 0), _Cut(len(counts) - 1, PARTS - 1, parts * records)
    cuts: dict[int, _Cut] = {}
    for node in nodes:
        low = start if node.below is None else cuts[node.below]
        high = end if node.above is None else cuts[node.above]
        unit = find_rate(node, spreads) / (parts * node.share.denominator)
        one = _Draw(counts, below, parts, low, high, node.share, unit, node.tilt, node.shift, node.inward)
        cuts[node.place] = one.cut(entropy) if node.inner else one.point(entropy)
    return [cuts[place].point for place in sorted(cuts)]


# No score is larger than 2^60: counts are of at most 2^31 records, denominators of shares at most 2^20, and twice those
# of tilts at most 2^6.
_MOST = 1 << 60
# The score of what cannot be chosen.
_NEVER = (1 << 63) - 1
# Distances to the middle of the grid that are told apart, on either side.
_RINGS = 128


@dataclass(frozen=True, slots=True, eq=False)
class _Draw:
    """One draw between two cuts. Its work depends on them, which were drawn before, and on nothing else."""

    counts: Integers
    below: Integers
    parts: int
    low: _Cut
    high: _Cut
    share: Fraction
    unit: Fraction
    tilt: Fraction
    shift: int
    inward: bool = False

    @property
    def _points(self) -> slice:
        return slice(self.low.point, self.high.point + 1)

    @property
    def _target(self) -> int:
        """The score of what is asked for, from the beginning of the table."""
        inside = self.high.mass - self.low.mass
        shifted = self.share.denominator * self.parts * self.shift
        return self.share.numerator * inside + self.share.denominator * self.low.mass + shifted

    def point(self, entropy: Entropy) -> _Cut:
        """A point, by the signed distance to its ranks."""
        first = self.parts * self.below[self._points]
        last = first + self.parts * self.counts[self._points]
        over = self.share.denominator * np.maximum(first, self.low.mass) - self._target
        under = self._target - self.share.denominator * np.minimum(last, self.high.mass)
        if self.shift:
            # The ends have all ranks beyond them, so that there is one for whatever is asked for.
            over[0], under[-1] = under[0], over[-1]
        above, whole = 2 * self.tilt.numerator, 2 * self.tilt.denominator
        scores, unit = np.maximum(above * over, (whole - above) * under), 2 * self.unit / whole
        if self.inward:
            scores = scores + lean_inward(len(scores), unit)
        return _Cut(self.low.point + flip(scores, unit, _MOST, entropy), 0, 0)

    def cut(self, entropy: Entropy) -> _Cut:
        """A place: first its point, by the sum of the weights of its places, then one of these."""
        b, counts = self.share.denominator, self.counts[self._points]
        first = b * (self.parts * self.below[self._points] + counts) - self._target
        step = 2 * b * counts
        last = first + (PARTS - 1) * step
        # The point at which what is asked for is reached, and the two at the ends, of which some places are missing.
        reached = min(int(np.searchsorted(last, 0)), len(counts) - 1)
        special = (0, len(counts) - 1, reached)
        places = [self._places(point, first, step) for point in special]
        near = np.where(first >= 0, first, -last)
        near[list(special)] = _NEVER
        least = min(int(near.min()), *(int(one.min()) for one in places))

        def weigh(powers: Powers) -> tuple[Fixed, int]:
            weights, slack = _weigh_points(powers, near - least, step)
            for point, scores in zip(special, places, strict=True):
                weights[point] = sum(powers.weigh(scores - least).tolist()) >> _DOUBLINGS
            return weights, slack

        point = choose_by(weigh, self.unit, _MOST, entropy)
        scores = self._places(point, first, step)
        part = choose(scores, self.unit, _MOST, entropy)
        mass = self.parts * int(self.below[self._points][point]) + (2 * part + 1) * int(counts[point])
        return _Cut(self.low.point + point, part, mass)

    def _places(self, point: int, first: Integers, step: Integers) -> Integers:
        """The scores of all places of a point; of those that are beyond a cut, one that weighs nothing."""
        part = np.arange(PARTS)
        scores = np.abs(first[point] + part * step[point])
        if point == 0:
            scores = np.where(part < self.low.part, _NEVER, scores)
        return np.where(part > self.high.part, _NEVER, scores) if point == len(first) - 1 else scores


def lean_inward(points: int, unit: Fraction) -> Integers:
    """claim:inward-free. What is added to scores so that a point at the part x of the way from the middle to an end
    weighs e^(-1.4 x²) times as much.

    It depends on the grid and the unit of the scores alone, so that a record moves no score by more than without it.

    >>> lean_inward(5, Fraction(1, 10)).tolist()
    [14, 3, 0, 3, 14]
    """
    added = [min(int(INWARD * Fraction(ring, _RINGS) ** 2 / unit), _MOST >> 1) for ring in range(_RINGS + 1)]
    off = np.abs(2 * np.arange(points) - (points - 1))
    return np.array(added, dtype=np.int64).take(off * _RINGS // max(points - 1, 1))


def _weigh_points(powers: Powers, near: Integers, step: Integers) -> tuple[Fixed, int]:
    """Σ e^(-unit (near + j step)) / `PARTS` over all parts j: with r = e^(-unit step), the product of (1 + r^(2^i))/2.

    Each factor adds half of its slack, one unit for halving and three for the product.
    """
    weights = powers.weigh(near)
    for doubling in range(_DOUBLINGS):
        weights = powers.multiply(weights, (powers.one() + powers.weigh(step << doubling)) >> 1)
    return weights, powers.slack + _DOUBLINGS * (powers.slack // 2 + 5)
