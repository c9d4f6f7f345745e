"""Several quantiles in one draw: the joint exponential mechanism, drawn exactly.

(Gillenwater, Joseph and Kulesza 2021.) Increasing places are drawn together with probability ∝ e^(-score/T), where the
score is half of the sum, over the gaps between them, of how far the number of records in a gap is from the wanted one.

Each point has 2^L places, more than there are records. The records of a point fill some of them in a public order that
stays even (the van der Corput sequence: a half, a quarter, three quarters, an eighth, ...). So no two records are tied,
and a cut may go through a point with many records. A record that is added or removed moves the ranks of the places on
one side of it by one, whatever the others are.

Places of the same rank weigh the same, so the work is done by rank: the weights of the first j quantiles with the j-th
at some rank follow from those of the first j - 1 by two running sums. Then ranks are drawn from the last to the first,
and places within them. Every weight is enclosed between two integers, which are rounded outwards. A long uniform number
is compared with their sums; where that would leave a choice open, less often than once in 2^150, nothing is drawn.
Ranks so far off that all tuples with them weigh less than 2^-192 are skipped. The numbers of operations and of random
bits depend on public numbers and on the number of records, not on where the records are; the length of the numbers that
are multiplied does depend on that a little.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TypeAlias

import numpy as np

from inbounds.grid.entropy import Entropy, bits
from inbounds.grid.geometric import Integers
from inbounds.grid.interval import exp_minus

# Lower and upper ends of numbers, in fixed point.
Ends: TypeAlias = tuple[list[int], list[int]]
Pair: TypeAlias = tuple[int, int]

# Bits of a uniform number, and bits of precision that sums have beyond the weights of tuples.
WORD = 192
_GUARD = 192
# A little above log 2.
_LOG_2 = Fraction(6932, 10_000)


def _floor(x: Fraction) -> int:
    return x.numerator // x.denominator


def _ceil(x: Fraction) -> int:
    return -(-x.numerator // x.denominator)


def _count_sets(size: int, count: int) -> int:
    """The number of sets of ``count`` elements out of ``size``."""
    ways = 1
    for k in range(count):
        ways = ways * max(size - k, 0) // (k + 1)
    return ways


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the work depends on: the numbers of quantiles and points, the scale, and the largest number of records."""

    quantiles: int
    points: int
    spread: Fraction
    most: int

    @property
    def doublings(self) -> int:
        """L: a point has 2^L places."""
        return self.most.bit_length()

    @property
    def _tuples(self) -> int:
        """Bits of the number of tuples of places."""
        return self.quantiles * (self.points.bit_length() + self.doublings)

    @property
    def digits(self) -> int:
        """Bits after the point."""
        return _GUARD + self._tuples + 16

    @property
    def window(self) -> int:
        """Ranks on either side of the wanted one beyond which all tuples together weigh less than 2^-192."""
        return min(self.most, _ceil((_GUARD + self._tuples) * _LOG_2 * self.spread))

    @property
    def work(self) -> int:
        """Steps of a draw, about."""
        return (2 * self.window + 1) * self.quantiles * (4 + self.quantiles // 2)


# claim:together-exact
def draw_together(
    counts: Integers, shares: Sequence[Fraction], spread: Fraction, most: int, entropy: Entropy
) -> list[int]:
    """The points of increasing shares, in order, of records that are counted by point.

    ``spread`` is the scale of the score, in records, and ``most`` a public bound of their number.
    """
    sizes = Sizes(len(shares), len(counts), spread, most)
    words = [bits(entropy, WORD) for _ in range(3 * len(shares))]
    places = _Draw(_Ranks(counts, sizes.doublings), shares, sizes).draw(words)
    return [place >> sizes.doublings for place in places]


@dataclass(frozen=True, slots=True, eq=False)
class _Ranks:
    """The places of records in order."""

    counts: Integers
    doublings: int

    def places(self, first: int, count: int) -> list[int]:
        """The places of ``count`` records, from a rank on: before all places, or at the last, where there is none."""
        totals = np.cumsum(self.counts)
        records, ranks = int(totals[-1]), np.arange(first, first + count)
        # The point of each record, and which of its records it is.
        point = np.minimum(np.searchsorted(totals, ranks, side="right"), len(totals) - 1)
        size = self.counts[point]
        rank = np.clip(ranks - (totals[point] - size), 0, np.maximum(size - 1, 0))
        place, number = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        # Of the numbers 1 to n with the same last bits, those with a further bit of 0 lie first.
        for bit in range(self.doublings):
            below = (size - number) // (1 << (bit + 1)) + (number > 0)
            right = rank >= below
            rank = rank - np.where(right, below, 0)
            number = number + (right.astype(np.int64) << bit)
            place = place + (right.astype(np.int64) << (self.doublings - 1 - bit))
        places = (point << self.doublings) + place
        places = np.where(ranks < 0, -1, np.where(ranks >= records, (len(totals) << self.doublings) - 1, places))
        return [int(index) for index in places]


def _fixed(x: Fraction, digits: int) -> Pair:
    """e^-x in fixed point, between two whole numbers. It is not cached: x may be a rate times a secret number."""
    ends = exp_minus(x)
    return _floor(ends.lower * (1 << digits)), _ceil(ends.upper * (1 << digits))


# Of public numbers only: the rate, and the width of the window.
@lru_cache(maxsize=16)
def _powers(x: Fraction, digits: int, count: int) -> Ends:
    """e^(-x j) for j < count."""
    (low, high), powers = _fixed(x, digits), ([1 << digits], [1 << digits])
    for _ in range(count - 1):
        powers[0].append(powers[0][-1] * low >> digits)
        powers[1].append(-(-powers[1][-1] * high >> digits))
    return powers


class _Draw:
    """One draw. Quantile j has the ranks from ``starts[j]`` on, and ``sizes[j]`` places of each."""

    def __init__(self, ranks: _Ranks, shares: Sequence[Fraction], sizes: Sizes) -> None:
        self.digits, self.count, self.width = sizes.digits, len(shares), 2 * sizes.window + 1
        self.rate = 1 / (2 * sizes.spread)
        records = int(ranks.counts.sum())
        self.targets = [share * records for share in shares]
        self.gaps = [b - a for a, b in pairwise([Fraction(0), *self.targets])]
        self.starts = [_floor(target) - sizes.window for target in self.targets]
        self.records = [ranks.places(start - 1, self.width + 1) for start in self.starts]
        self.sizes = [[b - a for a, b in pairwise(row)] for row in self.records]
        self.powers = _powers(self.rate, self.digits, self.width + 2)
        # The weight of all tuples that are skipped.
        self.lost = 1 << (self.digits - _GUARD)
        # The weights of no record between two quantiles. They follow from the number of records, and die with the draw.
        self.empty = {
            (first, last): _fixed(self.rate * (self.targets[last] - self.targets[first]), self.digits)
            for last in range(self.count)
            for first in range(last + 1)
        }
        self.entering: list[Ends] = []
        self.ending: list[Ends] = []
        for j in range(self.count):
            self.entering.append(self._around(self.targets[0], 0) if j == 0 else self._pass_on(j))
            self.ending.append(self._stay(j))

    def _down(self, x: int) -> int:
        return x >> self.digits

    def _up(self, x: int) -> int:
        return -(-x >> self.digits)

    def _around(self, middle: Fraction, j: int) -> Ends:
        """e^(-rate |rank - middle|) for the ranks of a quantile; the middle is one of them, or next to one."""
        ceiling = _ceil(middle)
        above = ceiling - self.starts[j]
        (a, b), (c, d) = (_fixed(self.rate * x, self.digits) for x in (ceiling - middle, 1 - ceiling + middle))
        low, high = self.powers
        return (
            [self._down(low[k - above] * a if k >= above else low[above - 1 - k] * c) for k in self.places],
            [self._up(high[k - above] * b if k >= above else high[above - 1 - k] * d) for k in self.places],
        )

    @property
    def places(self) -> range:
        return range(self.width)

    def _pass_on(self, j: int) -> Ends:
        """Weights of the first quantiles with the j-th at each rank and the one before it at a lower one."""
        (lows, highs), gap, low, high = self.ending[j - 1], self.gaps[j], *self.powers
        # A lower rank is one less at least.
        whole = max(_ceil(gap), 1)
        (a, b), (c, d) = (_fixed(self.rate * x, self.digits) for x in (whole - gap, 1 - whole + gap))
        # What lies at or below each rank, and what lies at or above it, each with its distance.
        below = self._fold(lows, low[1], up=False), self._fold(highs, high[1], up=True)
        above = tuple(
            self._fold(weights[::-1], ends[1], up=up)[::-1]
            for weights, ends, up in ((lows, low, False), (highs, high, True))
        )
        offset = self.starts[j] - self.starts[j - 1]
        # The sums include ranks from the j-th on, which do not count: their part is subtracted.
        far = _fixed(self.rate * (whole - 1), self.digits)
        totals: Ends = [], []
        for k in self.places:
            last, same = k + offset - whole, k + offset
            near = [self._at(weights, last) for weights in below]
            rest = [self._at(weights, last + 1) for weights in above]
            beyond = [self._at(weights, same) for weights in above]
            totals[0].append(self._down(near[0] * a + max(rest[0] - self._up(beyond[1] * far[1]), 0) * c))
            totals[1].append(self._up(near[1] * b + max(rest[1] - self._down(beyond[0] * far[0]), 0) * d))
        return totals

    def _fold(self, numbers: list[int], ratio: int, *, up: bool) -> list[int]:
        """Running sums whose earlier numbers shrink by a ratio at each step."""
        if up:
            return list(accumulate(numbers, lambda total, number: self._up(total * ratio) + number))
        return list(accumulate(numbers, lambda total, number: self._down(total * ratio) + number))

    @staticmethod
    def _at(numbers: list[int], place: int) -> int:
        return numbers[place] if 0 <= place < len(numbers) else 0

    def _stay(self, j: int) -> Ends:
        """Weights of the first quantiles with the j-th at each rank, and perhaps some before it at the same rank."""
        ways, lows, highs = [1] * self.width, [0] * self.width, [0] * self.width
        for run in range(1, j + 2):
            ways = [way * (size - run + 1) // run if way else 0 for way, size in zip(ways, self.sizes[j], strict=True)]
            (low, high), (a, b) = self._shift(j - run + 1, j), self.empty[j - run + 1, j]
            lows = [total + self._down(x * a) * way for total, x, way in zip(lows, low, ways, strict=True)]
            highs = [total + self._up(x * b) * way for total, x, way in zip(highs, high, ways, strict=True)]
        return lows, highs

    def _shift(self, first: int, j: int) -> Ends:
        """What enters a rank at an earlier quantile, aligned with the ranks of a later one."""
        lows, highs = self.entering[first]
        off = min(self.starts[j] - self.starts[first], self.width)
        return [*lows[off:], *[0] * off], [*highs[off:], *[0] * off]

    def _runs(self, j: int, k: int) -> list[Pair]:
        """The weights at one rank, by how many quantiles share it: one, two, ..."""
        runs = []
        for run in range(1, j + 2):
            first, ways = j - run + 1, _count_sets(self.sizes[j][k], run)
            weight, place = self.empty[first, j], k + self.starts[j] - self.starts[first]
            low, high = (self._at(ends, place) for ends in self.entering[first])
            runs.append((self._down(low * weight[0]) * ways, self._up(high * weight[1]) * ways))
        return runs

    def draw(self, words: Sequence[int]) -> list[int]:
        """The places, by uniform numbers: three for each quantile."""
        j, places = self.count - 1, list[int]()
        inside = list(words[2 * self.count :])
        onward = self._around(self.targets[-1], j)
        k = pick(self._times(self.ending[j], onward), words[0], self.lost)
        # The least weight of what was drawn so far.
        behind = onward[0][k]
        for turn in range(self.count):
            if j < 0:
                # Some quantiles shared a rank: the same work is done as if they had not.
                self._around(self.targets[0], 0)
                self._times(self.ending[0], onward)
                continue
            ways = self._runs(j, k)
            run = 1 + pick(([a for a, _ in ways], [b for _, b in ways]), words[self.count + turn], self._share(behind))
            places += _choose_some(self.sizes[j][k], run, inside[:run], self.records[j][k] + 1)
            inside = inside[run:]
            first = j - run + 1
            behind = self._down(behind * self.empty[first, j][0]) * _count_sets(self.sizes[j][k], run)
            rank, j = self.starts[j] + k, first - 1
            if j >= 0:
                onward = self._before(rank, j)
                k = pick(self._times(self.ending[j], onward), words[turn + 1], self._share(behind))
                behind = self._down(behind * onward[0][k])
        return sorted(places)

    def _before(self, rank: int, j: int) -> Ends:
        """The weight of the step from each rank of a quantile to that of the next one, which is above it."""
        low, high = self._around(rank - self.gaps[j + 1], j)
        fits = rank - self.starts[j]
        return [x if k < fits else 0 for k, x in enumerate(low)], [x if k < fits else 0 for k, x in enumerate(high)]

    def _times(self, a: Ends, b: Ends) -> Ends:
        return (
            [self._down(x * y) for x, y in zip(a[0], b[0], strict=True)],
            [self._up(x * y) for x, y in zip(a[1], b[1], strict=True)],
        )

    def _share(self, behind: int) -> int:
        """The weight of what is skipped, next to weights that leave out those of what was drawn."""
        if not behind:
            raise ArithmeticError(_OPEN)
        return -(-(self.lost << self.digits) // behind)


_OPEN = "a uniform number leaves the choice open, which happens less often than once in 2^150"


def pick(weights: Ends, word: int, lost: int) -> int:
    """The place, by weights, of a uniform number that starts with this word."""
    lower, upper = ([0, *accumulate(ends)] for ends in weights)
    # The uniform number times the sum of all weights lies between these two.
    least, most = word * lower[-1], (word + 1) * (upper[-1] + lost)
    # The last place before which no more can lie than that. Places that weigh nothing have the same sum as the next.
    place = bisect_right(upper, least >> WORD) - 1
    if not 0 <= place < len(weights[0]) or most > lower[place + 1] << WORD:
        raise ArithmeticError(_OPEN)
    return place


def _choose_some(size: int, count: int, words: Sequence[int], first: int) -> list[int]:
    """Some of the places, all different and all sets alike (Floyd's way)."""
    places: list[int] = []
    for last, word in zip(range(size - count, size), words, strict=True):
        choice = word * (last + 1) >> WORD
        if (word + 1) * (last + 1) - 1 >> WORD != choice:
            raise ArithmeticError(_OPEN)
        places.append(last if choice in places else choice)
    return [first + choice for choice in places]
