"""Several quantiles by recursive halving: the middle one first, then those below among the records below it.

(Kaplan, Schnapp and Stemmer 2022.) Each draw is the exponential mechanism over the points between the two that were
drawn before, or permute and flip where no other draw depends on it. At each depth these ranges do not overlap, so each
record is in one of them.

Records are counted by public point. In a draw that others depend on, each point has `PARTS` places with its records
spread evenly over them, so a cut may go through a point with many records and leave each side its share. The effect of
a record on the score of a place is then an average of its effects on either side.

A score is how many records lie between a place and the one wanted, as a whole number of parts of a record.
In a draw that nothing depends on, it is the distance from the wanted rank to the ranks of the point. For a point that
has this rank it is minus the distance to the nearer end of its ranks, so a point that is the quantile by many records
is more likely than one that just is. The score is multiplied by twice the tilt above the wanted rank and by twice the
rest below it: a substituted record moves ranks one way, and so moves scores up on one side and down on the other, by 2
together.

Where few records lie on one side of a quantile, points beyond all of them are still likely. A draw that leans inward
adds a term to the score of each point, which depends on its distance from the middle of the grid and on no record.
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


# claim:halving-exact
def draw_points(counts: Integers, nodes: Sequence[Node], spreads: Sequence[Fraction], entropy: Entropy) -> list[int]:
    """The point of each quantile, in order, of records that are counted by point.

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
        draw = _Draw(counts, below, parts, low, high, node.share, unit, node.tilt, node.shift, node.inward)
        cuts[node.place] = draw.cut(entropy) if node.inner else draw.point(entropy)
    return [cuts[place].point for place in sorted(cuts)]


# No score is larger than 2^60: counts are of at most 2^31 records, denominators of shares at most 2^20, and twice those
# of tilts at most 2^6.
_MOST = 1 << 60
# The score of a place that cannot be chosen.
_NEVER = (1 << 63) - 1
# How many distances from the middle of the grid are distinguished, on either side.
_RINGS = 128


@dataclass(frozen=True, slots=True, eq=False)
class _Draw:
    """One draw between two cuts that were drawn before. Its work depends on the cuts and on nothing else."""

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
        """The score of the rank that is wanted, counted from the start of the table."""
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
            # The ends stand for all ranks beyond them, so some point has the wanted rank, whatever it is.
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
        # The point that has the wanted rank, and the two at the ends, which lack some of their places.
        crossing = min(int(np.searchsorted(last, 0)), len(counts) - 1)
        special = (0, len(counts) - 1, crossing)
        places = [self._places(point, first, step) for point in special]
        near = np.where(first >= 0, first, -last)
        near[list(special)] = _NEVER
        least = min(int(near.min()), *(int(row.min()) for row in places))

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
        """The scores of all places of a point; a place beyond a cut has a score that weighs nothing."""
        part = np.arange(PARTS)
        scores = np.abs(first[point] + part * step[point])
        if point == 0:
            scores = np.where(part < self.low.part, _NEVER, scores)
        return np.where(part > self.high.part, _NEVER, scores) if point == len(first) - 1 else scores


# claim:inward-free
def lean_inward(points: int, unit: Fraction) -> Integers:
    """Terms that are added to scores, so that a point at the part x of the way from the middle to an
    end weighs e^(-1.4 x²) times as much.

    They depend only on the grid and on the unit of the scores, so a record moves no score by more than without them.

    >>> lean_inward(5, Fraction(1, 10)).tolist()
    [14, 3, 0, 3, 14]
    """
    terms = [min(int(INWARD * Fraction(ring, _RINGS) ** 2 / unit), _MOST >> 1) for ring in range(_RINGS + 1)]
    off = np.abs(2 * np.arange(points) - (points - 1))
    return np.array(terms, dtype=np.int64).take(off * _RINGS // max(points - 1, 1))


def _weigh_points(powers: Powers, near: Integers, step: Integers) -> tuple[Fixed, int]:
    """Σ e^(-unit (near + j step)) / `PARTS` over all parts j: with r = e^(-unit step), the product of (1 + r^(2^i))/2.

    Each factor adds half of its slack, one unit for halving and three for the product.
    """
    weights = powers.weigh(near)
    for doubling in range(_DOUBLINGS):
        weights = powers.multiply(weights, (powers.one() + powers.weigh(step << doubling)) >> 1)
    return weights, powers.slack + _DOUBLINGS * (powers.slack // 2 + 5)
