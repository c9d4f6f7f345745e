"""The exponential mechanism on a finite set, drawn exactly, for scores K_i that are whole numbers and a rational u.

`choose` has P(i) ∝ e^(-u K_i): one uniform number is compared with running sums of weights. `flip` has less error for
the same loss (permute and flip, McKenna and Sheldon 2020): each place has a coin that shows heads with probability
e^(-u (K_i - min K)), and one of the heads is taken, all alike. That is the largest of -u K_i with exponential noise.

Weights come from tables of e^(-u j 2^10k), j < 1024, in fixed point and rounded down, so that each is known to a few
units. Where this precision, or the bits of a uniform number, leave a choice open, it is made again with 192 bits and
more random bits. The scores are secret and u is public. The operations depend only on u and on the number of scores,
and so do the bits drawn, except at such ties (less than once in 10^7 draws).
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from inbounds.grid.entropy import Entropy, Words, bits, words
from inbounds.grid.geometric import Integers
from inbounds.grid.interval import exp_minus

# Weights in fixed point: 64-bit words, or whole numbers of Python's.
Fixed: TypeAlias = npt.NDArray[Any]

# Bits of the first comparison; tests shorten it to try every word there is.
WORD = 64
_MOST_BITS = 192
# Powers of rationals are known to 256 bits, of which 64 go into repeated multiplication.
_QUICK, _EXACT = 62, 192
_DIGIT = 10


@dataclass(frozen=True, slots=True)
class Powers:
    """e^(-unit K) in fixed point, with ``digits`` bits after the point: 62 in machine words, or more in long ones.

    ``most`` is a bound of all K. Numbers are rounded down, by less than `slack` units.
    """

    unit: Fraction
    most: int
    digits: int

    @property
    def top(self) -> int:
        """Scores from here on weigh less than a unit, and count as nothing."""
        return min(self.most + 1, int(-(-self.digits // self.unit)))

    @property
    def _tables(self) -> list[Fixed]:
        return _tables_of(self.unit, self.digits, -(-self.top.bit_length() // _DIGIT))

    @property
    def slack(self) -> int:
        """Units by which a power may be too small: two for each table, three for each product."""
        return 5 * len(self._tables)

    def weigh(self, scores: Integers) -> Fixed:
        """The powers of scores ≥ 0."""
        first, *others = self._tables
        mask = (1 << _DIGIT) - 1
        rest = np.minimum(scores, self.top)
        weights = first.take(rest & mask)
        for table in others:
            rest = rest >> _DIGIT
            weights = self.multiply(weights, table.take(rest & mask))
        # What lies beyond the top, and would not fit the tables either.
        weights[scores >= self.top] = 0
        return weights

    def multiply(self, a: Fixed, b: Fixed) -> Fixed:
        """Products of numbers ≤ 1, too small by less than three units."""
        if self.digits > _QUICK:
            return np.asarray(a * b >> self.digits)
        half, low = np.uint64(31), np.uint64((1 << 31) - 1)
        a_high, b_high = a >> half, b >> half
        product = a_high * (b & low)
        product += b_high * (a & low)
        product >>= half
        product += a_high * b_high
        return product

    def one(self) -> Any:
        """The number 1."""
        return np.uint64(1 << self.digits) if self.digits == _QUICK else 1 << self.digits


@lru_cache(maxsize=64)
def _tables_of(unit: Fraction, digits: int, count: int) -> list[Fixed]:
    return [_table_of(unit * (1 << (_DIGIT * place)), digits) for place in range(max(count, 1))]


def _table_of(unit: Fraction, digits: int) -> Fixed:
    """⌊2^digits e^(-unit j)⌋ for j < 1024, or one less, by repeated multiplication."""
    size = digits + 64
    step = exp_minus(unit).lower
    ratio, power, entries = (step.numerator << size) // step.denominator, 1 << size, []
    for _ in range(1 << _DIGIT):
        entries.append(power >> 64)
        power = power * ratio >> size
    return np.array(entries, dtype=np.uint64 if digits == _QUICK else object)


# claim:exponential-exact
def choose(scores: Integers, unit: Fraction, most: int, entropy: Entropy) -> int:
    """Choose the place of a score, with probability ∝ e^(-unit · score).

    ``most`` is a public bound on their differences.
    """

    def weigh(powers: Powers) -> tuple[Fixed, int]:
        return powers.weigh(scores - scores.min()), powers.slack

    return choose_by(weigh, unit, most, entropy)


# claim:flip-exact
def flip(scores: Integers, unit: Fraction, most: int, entropy: Entropy) -> int:
    """Flip a coin for each score, and choose the place of one of the heads, all alike.

    A coin shows heads with probability e^(-unit (score - least)). ``most`` is a public bound on the differences between
    scores.
    """
    gaps, uniform = scores - scores.min(), _coins(entropy, len(scores))
    weights, slack = Powers(unit, most, _QUICK).weigh(gaps), np.uint64(Powers(unit, most, _QUICK).slack)
    # A coin's number lies between its word and the next; its weight is too small by less than the slack.
    heads = uniform < weights
    for place in np.flatnonzero(heads != (uniform < weights + slack)).tolist():
        heads[place] = _flip_again(int(uniform[place]), int(gaps[place]), Powers(unit, most, _EXACT), entropy)
    return int(np.flatnonzero(heads)[_choose_even(int(heads.sum()), entropy)])


def _coins(entropy: Entropy, count: int) -> Words:
    """Uniform words of as many bits as the weights have."""
    return words(entropy, count) >> np.uint64(WORD - _QUICK)


def _flip_again(word: int, gap: int, powers: Powers, entropy: Entropy) -> bool:
    """Whether a coin whose number starts with a word shows heads."""
    more = powers.digits - _QUICK
    word = (word << more) | bits(entropy, more)
    weight = int(powers.weigh(np.array([gap]))[0])
    if weight <= word < weight + powers.slack:
        raise ArithmeticError(f"a uniform number agrees with a threshold in {powers.digits} bits")
    return word < weight


def _choose_even(count: int, entropy: Entropy) -> int:
    """A uniform integer below ``count``."""
    word, size = bits(entropy, WORD), WORD
    while (word * count >> size) != ((word + 1) * count - 1 >> size):
        word, size = (word << WORD) | bits(entropy, WORD), size + WORD
    return word * count >> size


def choose_by(weigh: Callable[[Powers], tuple[Fixed, int]], unit: Fraction, most: int, entropy: Entropy) -> int:
    """Choose a place with probability ∝ the weights that ``weigh`` returns, each too small by less than its slack.

    The largest weight is about 1, so the slack of all of them is small beside their sum.
    """
    word, size = bits(entropy, WORD), WORD
    place = _place(weigh, Powers(unit, most, _QUICK), word, size)
    while place is None:
        if size >= _MOST_BITS:
            raise ArithmeticError(f"a uniform number agrees with a threshold in {_MOST_BITS} bits")
        word, size = (word << WORD) | bits(entropy, WORD), size + WORD
        place = _place(weigh, Powers(unit, most, _EXACT), word, size)
    return place


def _place(weigh: Callable[[Powers], tuple[Fixed, int]], powers: Powers, word: int, size: int) -> int | None:
    """The place of a uniform number that starts with this word; None where that is not certain.

    Place i is right if the sum of the weights before it, over that of all, is at most u, and with its own above u.
    """
    weights, slack = weigh(powers)
    sums = _Sums.of(weights)
    count, whole = len(weights), sums.at(len(weights))
    if not whole:
        return None
    # The uniform number times the sum of all weights lies between these two.
    low, high = word * whole, (word + 1) * (whole + slack * count)
    # The number of places whose running sum is at most low.
    place = bisect_left(range(count - 1), low + 1, key=lambda i: sums.at(i + 1) << size)
    before = sums.at(place) + slack * place if place else 0
    last = place == count - 1
    sure = (before << size) <= low and (last or high <= sums.at(place + 1) << size)
    return place if sure else None


@dataclass(frozen=True, slots=True)
class _Sums:
    """Running sums of weights: of words in two halves, which cannot overflow."""

    high: Fixed
    low: Fixed | None

    @classmethod
    def of(cls, weights: Fixed) -> "_Sums":
        if weights.dtype == object:
            return cls(np.add.accumulate(weights), None)
        half = np.uint64(31)
        return cls(np.cumsum(weights >> half), np.cumsum(weights & np.uint64((1 << 31) - 1)))

    def at(self, count: int) -> int:
        """The sum of the first ``count`` weights."""
        if not count:
            return 0
        return (
            int(self.high[count - 1])
            if self.low is None
            else (int(self.high[count - 1]) << 31) + int(self.low[count - 1])
        )
