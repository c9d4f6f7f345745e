"""Exact geometric variables: the magnitude of discrete Laplace noise.

A uniform real number is compared with irrational thresholds, by as many of its bits as it takes: 16 by a guide table,
then 64, then more. There are two ways to the same law, P(G = g) ∝ e^(-g/T) with T = 2^a/d:

- for T ≤ 64, by one table of thresholds for T itself;
- for any T, as G = ⌊(U + 2^(a-6) V) / d⌋, where V is geometric with ratio e^(-1/64), by one table for all scales,
  and U < 2^(a-6) are plain random bits kept with probability e^(-U/2^a) > 63/64 (Canonne, Kamath & Steinke 2020 take
  the quotient by d; the split of the numerator is ours).
"""

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from inbounds.grid.entropy import Entropy, Words, bits, words
from inbounds.grid.interval import Interval, as_interval, exp_minus
from inbounds.grid.scale import LOG_PIECES, Scale

Integers: TypeAlias = npt.NDArray[np.int64]

# Below this many values NumPy's fixed costs exceed those of plain integers.
FEW = 12
# From this many values on, a small scale is worth a table of its own.
_MANY = 2048
# Bits of the words that the scalar path compares; tests shorten it to try every word there is.
WORD = 64
_PIECES = 1 << LOG_PIECES
# e^(-U/2^a) > 63/64: a uniform below that keeps its U at once.
_SURE = _PIECES - 1


def count_reached(word: int, size: int, thresholds: list[Interval], entropy: Entropy) -> int:
    """How many thresholds are reached by a uniform real number that starts with these bits.

    All are compared each time, and more bits are taken until all comparisons are certain. A threshold is irrational,
    0 or 1; agreement in 192 bits has a probability below 2^-128 and is an error, not a guess.
    """
    while size <= 192:
        low, high = Fraction(word, 1 << size), Fraction(word + 1, 1 << size)
        reached = [low >= threshold.upper for threshold in thresholds]
        missed = [high <= threshold.lower for threshold in thresholds]
        if all(yes or no for yes, no in zip(reached, missed, strict=True)):
            return sum(reached)
        word, size = (word << WORD) | bits(entropy, WORD), size + WORD
    raise ArithmeticError("a uniform number agrees with a threshold in 192 bits")


@dataclass(frozen=True, slots=True)
class Inverse:
    """Inversion of a law with P(G ≤ g) = 1 - c q^(g+1), q = e^(-1/T), by a table of its thresholds.

    c = 1 is the geometric law. With ``two_sided`` c = 2/(1+q), the law of |k| for discrete Laplace k: a random sign
    makes it k, with no zero to be drawn again.
    """

    steps: Fraction
    two_sided: bool = False

    def _tail(self, g: int) -> Interval:
        """P(G ≥ g), g ≥ 1."""
        tail = exp_minus(g / self.steps)
        return 2 * tail / (1 + exp_minus(1 / self.steps)) if self.two_sided else tail

    def thresholds(self, size: int) -> list[int]:
        """⌊2^size P(G ≤ g)⌋ for g = 0, 1, ... until the floor is 2^size - 1."""
        return _table(self, size)

    def one(self, entropy: Entropy) -> int:
        """One draw."""
        table = _table(self, WORD)
        word = bits(entropy, WORD)
        place = bisect_left(table, word)
        return place if table[place] != word else self._exact(word, WORD, entropy)

    def many(self, start: Words, entropy: Entropy) -> Integers:
        """Draws from words of which only the first 16 bits count; where those do not decide, more bits are drawn."""
        table, guide = _guide(self)
        draws = guide.take(start.view(np.int64), mode="wrap").astype(np.int64)
        hard = np.flatnonzero(draws < 0)
        if hard.size:
            full = (start[hard] << np.uint64(48)) | (words(entropy, hard.size) >> np.uint64(16))
            places = np.searchsorted(table, full, side="left")
            for i in np.flatnonzero(table[places] == full):
                places[i] = self._exact(int(full[i]), 64, entropy)
            draws[hard] = places
        return draws

    def _exact(self, word: int, size: int, entropy: Entropy) -> int:
        """The draw for a word that does not decide it: more bits until both ends of the uniform agree."""
        while size <= 192:
            word, size = (word << WORD) | bits(entropy, WORD), size + WORD
            low, high = (self._place(Fraction(end, 1 << size)) for end in (word, word + 1))
            if low is not None and low == high:
                return low
        raise ArithmeticError("a uniform number agrees with a threshold in 192 bits")

    def _place(self, u: Fraction) -> int | None:
        """The number of g ≥ 1 with P(G ≥ g) > 1 - u, None where that cannot be certified."""
        if u >= 1:
            return None
        low, high = 0, 1
        while self._tail(high).lower > 1 - u:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._tail(middle).lower > 1 - u else (low, middle)
        return low if self._tail(high).upper < 1 - u else None


PIECES = Inverse(Fraction(_PIECES))


def _make_table(inverse: Inverse, size: int) -> list[int]:
    one = 1 << 320
    ratio = exp_minus(1 / inverse.steps)
    factor = 2 / (1 + ratio) if inverse.two_sided else as_interval(1)
    low, high = int(ratio.lower * one), int(ratio.upper * one) + 1
    lower, upper = int(factor.lower * one), int(factor.upper * one) + 1
    thresholds: list[int] = []
    while not thresholds or thresholds[-1] < (1 << size) - 1:
        lower, upper = lower * low // one, upper * high // one + 1
        # A threshold is below one, also where its distance from it is below 2^-320.
        floors = {min(((one - end) << size) // one, (1 << size) - 1) for end in (lower, upper)}
        if len(floors) > 1:
            raise ArithmeticError("the table needs more precision")
        thresholds.append(floors.pop())
    return thresholds


_table = lru_cache(maxsize=256)(_make_table)


def _make_guide(inverse: Inverse) -> tuple[Words, npt.NDArray[np.int16]]:
    """The table as an array, and the draw by the first 16 bits of its word, -1 where those do not decide it."""
    table = np.array(_table(inverse, 64), dtype=np.uint64)
    start = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    first = np.searchsorted(table, start, side="left")
    last = np.searchsorted(table, start | np.uint64((1 << 48) - 1), side="right")
    return table, np.where(first == last, first, -1).astype(np.int16)


_guide = lru_cache(maxsize=64)(_make_guide)


def geometric_one(scale: Scale, entropy: Entropy) -> int:
    """One draw."""
    low = scale.exponent - LOG_PIECES
    return ((PIECES.one(entropy) << low) + _draw_kept_one(low, scale, entropy)) // scale.divisor


def geometric_many(scale: Scale, entropy: Entropy, count: int) -> tuple[Integers, Integers]:
    """Draws, and one random bit for each.

    The first 16 bits of a 64-bit word find V, the next is returned, 15 decide whether U is kept, and the last 32 are U
    where 32 bits are enough.
    """
    word = words(entropy, count)
    spare = ((word >> np.uint64(47)) & np.uint64(1)).view(np.int64)
    start = word >> np.uint64(48)
    if table := _small_table(scale, count, two_sided=False):
        return table.many(start, entropy), spare
    low = scale.exponent - LOG_PIECES
    magnitude = (PIECES.many(start, entropy) << low) + _draw_kept(word, low, scale, entropy)
    if scale.divisor != 1:
        magnitude //= scale.divisor
    return magnitude, spare


def laplace_many(scale: Scale, entropy: Entropy, count: int) -> Integers:
    """Draws of discrete Laplace noise: a magnitude and a sign."""
    if table := _small_table(scale, count, two_sided=True):
        word = words(entropy, count)
        negative = ((word >> np.uint64(47)) & np.uint64(1)).view(np.int64)
        magnitude = table.many(word >> np.uint64(48), entropy)
    else:
        magnitude, negative = geometric_many(scale, entropy, count)
        again = np.flatnonzero((magnitude == 0) & (negative == 1))  # zero counts once, not once for each sign
        if again.size < FEW:
            magnitude[again] = [laplace_one(scale, entropy) for _ in again]
        else:
            magnitude[again] = laplace_many(scale, entropy, again.size)
        negative[again] = 0
    return (magnitude ^ -negative) + negative


def laplace_one(scale: Scale, entropy: Entropy) -> int:
    """One draw of discrete Laplace noise."""
    while True:
        negative = bits(entropy, 1)
        magnitude = geometric_one(scale, entropy)
        if magnitude or not negative:
            return -magnitude if negative else magnitude


@cache
def _small(scale: Scale) -> bool:
    return scale.steps <= _PIECES


def _small_table(scale: Scale, count: int, *, two_sided: bool) -> Inverse | None:
    return Inverse(scale.steps, two_sided) if count >= _MANY and _small(scale) else None


def _draw_kept_one(low: int, scale: Scale, entropy: Entropy) -> int:
    """U: ``low`` random bits, drawn anew until kept with probability e^(-U/2^a)."""
    while True:
        rest = bits(entropy, low) if low else 0
        word = bits(entropy, WORD)
        if word < _SURE << (WORD - LOG_PIECES) or _below_exp(word, WORD, rest, scale.exponent, entropy):
            return rest


def _below_exp(word: int, size: int, rest: int, exponent: int, entropy: Entropy) -> bool:
    """Whether a uniform that starts with these bits lies below e^(-rest/2^exponent)."""
    return count_reached(word, size, [exp_minus(Fraction(rest, 1 << exponent))], entropy) == 0


def _draw_kept(word: Words, low: int, scale: Scale, entropy: Entropy) -> Integers:
    """U for each word."""
    fresh = words(entropy, word.size) if low > 32 else word
    rest = fresh & np.uint64((1 << low) - 1)
    lead = (word >> np.uint64(32)) & np.uint64(0x7FFF)
    unsure = np.flatnonzero(lead >= np.uint64(_SURE << 9))
    if unsure.size:
        again = unsure[~_accept(lead[unsure], rest[unsure], scale.exponent, entropy)]
        if again.size < FEW:
            rest[again] = [_draw_kept_one(low, scale, entropy) for _ in again]
        else:
            rest[again] = _draw_kept(words(entropy, again.size), low, scale, entropy).view(np.uint64)
    return rest.view(np.int64)


def _accept(lead: Words, rest: Words, exponent: int, entropy: Entropy) -> npt.NDArray[np.bool_]:
    """Whether a uniform that starts with these 15 bits lies below e^-y, y = rest/2^exponent < 1/64.

    e^-y by Horner's rule in fixed point, its error below 2^-35; what 47 bits leave open is decided exactly.
    """
    shift = exponent - 37
    y37 = rest >> np.uint64(shift) if shift >= 0 else rest << np.uint64(-shift)
    y31 = y37 >> np.uint64(6)
    one = np.uint64(1 << 31)
    inner = np.full_like(y31, one)
    for k in (5, 4, 3, 2):
        inner = one - ((y31 * inner) >> np.uint64(31)) // np.uint64(k)
    threshold = np.uint64(1 << 47) - ((y37 * inner) >> np.uint64(21))
    uniform = (lead << np.uint64(32)) | (words(entropy, lead.size) >> np.uint64(32))
    kept = uniform < threshold
    slack = np.uint64(1 << 12)
    for i in np.flatnonzero((uniform + slack >= threshold) & (uniform <= threshold + slack)):
        kept[i] = _below_exp(int(uniform[i]), 47, int(rest[i]), exponent, entropy)
    return kept
