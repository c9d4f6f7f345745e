"""Truncation without re-drawing: choose a side, then fold a geometric variable into the room on it.

With room a below and b above the centre and Γ(k) = 1 - q^k, the truncated law gives the weights Γ(a+1) - Γ(1) to the
left, Γ(1) to the centre and Γ(b+1) - Γ(1) to the right. On a side with room m the distance from the centre is
1 + (G mod m): a geometric variable folded into m places is exactly a truncated one (memorylessness). One uniform word
chooses the side, whatever a and b are, so the work does not tell them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from inbounds.grid.entropy import Entropy, Words, bits, words
from inbounds.grid.geometric import WORD, Integers, count_reached, geometric_many, geometric_one
from inbounds.grid.interval import Interval, exp_minus, one_minus_exp
from inbounds.grid.scale import Scale

_NEVER, _ALWAYS = Interval(Fraction(0), Fraction(0)), Interval(Fraction(1), Fraction(1))


def chances(below: int | None, above: int | None, scale: Scale) -> list[Interval]:
    """P(left of the centre) and P(not right of it); None is an open side.

    With no room on a side the first is exactly 0, the second exactly 1.
    """
    unit = 1 / scale.steps
    left, right = (1 if room is None else one_minus_exp((room + 1) * unit) for room in (below, above))
    centre = one_minus_exp(unit)
    total = left + right - centre
    return [_NEVER if below == 0 else (left - centre) / total, _ALWAYS if above == 0 else left / total]


def fold_one(below: int | None, above: int | None, scale: Scale, entropy: Entropy) -> int:
    """A move away from the centre."""
    word = bits(entropy, WORD)
    side = _quick_side(word, below, above, scale)
    if side is None:
        side = count_reached(word, WORD, chances(below, above, scale), entropy) - 1
    magnitude = geometric_one(scale, entropy)
    room = above if side > 0 else below
    return side * (1 + (magnitude if room is None else magnitude % max(room, 1)))


# Beyond 64 scales, a room differs from an open side by less than 2^-92; all distances take the same arithmetic.
_REACH = 64
_HALVINGS = 16
_TERMS = 26


def _gap_bounds(k: int, scale: Scale, size: int) -> tuple[int, int]:
    """Integers that enclose 2^size Γ(k), with the same operations whatever k is: it is secret.

    e^-x for x = k/T ≤ 64 is (e^-y)^(2^16), y < 2^-9, by a fixed number of terms and squarings in fixed point.
    """
    far = _REACH * (1 << scale.exponent) // scale.divisor
    extra = 2 * _HALVINGS + 16
    digits = size + extra
    one = 1 << digits
    y = (min(k, far) * scale.divisor << digits) >> (scale.exponent + _HALVINGS)
    term = total = one
    for n in range(1, _TERMS):
        term = (term * y >> digits) // n
        total += term if n % 2 == 0 else -term
    # Each term and y itself are off by less than two units, what is left out by less than one.
    low, high = total - 2 * _TERMS - 4, total + 2 * _TERMS + 4
    for _ in range(_HALVINGS):
        low, high = low * low >> digits, -(-high * high >> digits)
    lower, upper = (one - high) >> extra, -((low - one) >> extra)
    return (lower, 1 << size) if k > far else (lower, upper)


def _quick_side(word: int, below: int | None, above: int | None, scale: Scale) -> int | None:
    """The side by a word alone, from Γ in fixed point; None where that leaves it open, which is next to never."""
    size = 64 + WORD + scale.exponent
    whole = 1 << size
    (left_low, left_high), (right_low, right_high) = (
        (whole, whole) if room is None else _gap_bounds(room + 1, scale, size) for room in (below, above)
    )
    low, high = _gap_bounds(1, scale, size)
    # Uniform u in [word, word + 1): compare u · total with the weight of the left, and of the left and the centre.
    least, most = word * (left_low + right_low - high), (word + 1) * (left_high + right_high - low)
    edges = ((left_low - high, left_high - low), (left_low, left_high))
    reached = [least >= edge[1] << WORD for edge in edges]
    missed = [most <= edge[0] << WORD for edge in edges]
    # With no room on a side its weight is exactly zero.
    reached[0], missed[0] = reached[0] or below == 0, missed[0] and below != 0
    reached[1], missed[1] = reached[1] and above != 0, missed[1] or above == 0
    return sum(reached) - 1 if all(r or m for r, m in zip(reached, missed, strict=True)) else None


def fold_alike(below: int | None, above: int | None, scale: Scale) -> Callable[[Entropy, int], Integers]:
    """A function that draws moves away from one centre, whose two chances are computed once.

    The function holds the centre's rooms, so it is only for studies and audits, where nothing is secret.
    """
    exact = chances(below, above, scale)
    floors = [np.uint64(min(int(chance.lower * (1 << 64)), (1 << 64) - 1)) for chance in exact]

    def fold(entropy: Entropy, count: int) -> Integers:
        word = words(entropy, count)
        magnitude, _ = geometric_many(scale, entropy, count)
        side = (word >= floors[0]).astype(np.int64) + (word >= floors[1]) - 1
        for i in np.flatnonzero((word == floors[0]) | (word == floors[1])):
            side[i] = count_reached(int(word[i]), 64, exact, entropy) - 1
        return _move(side, magnitude, below, above)

    return fold


def _move(side: Integers, magnitude: Integers, below: Any, above: Any) -> Integers:
    """One step and the folded magnitude to the chosen side; an open side has room for all of it."""
    no_limit = (1 << 63) - 1
    room = np.where(side > 0, no_limit if above is None else above, no_limit if below is None else below)
    return np.asarray(side * (magnitude % np.maximum(room, 1) + 1))


_DIGIT = 13


@dataclass(frozen=True, slots=True, eq=False)
class Rooms:
    """Γ for any number of rooms at once, in 32-bit fixed point.

    k is read in digits of 13 bits: Γ(j + k) = Γ(j) + q^j Γ(k). Values are lower ends in units of 2^-(32 + shift), the
    shift making the largest of them fill 32 bits; each is too small by less than ``error`` units.
    """

    scale: Scale
    gaps: tuple[Words, ...]
    powers: tuple[Words, ...]
    largest: int
    error: int

    @staticmethod
    def of(scale: Scale, span: int | None) -> "Rooms":
        """Tables for a scale and the (public) number of steps between the bounds."""
        return _rooms(scale, span)

    def gap(self, room: Integers | None, count: int) -> Integers:
        """Lower ends of Γ(room + 1); of 1 for an open side."""
        k = np.full(count, self.largest) if room is None else np.minimum(room + 1, self.largest)
        mask = (1 << _DIGIT) - 1
        total: Words = self.gaps[0].take(k & mask, mode="wrap")
        for gap, power in zip(self.gaps[1:], self.powers[1:], strict=True):
            k = k >> _DIGIT
            digit = k & mask
            total *= power.take(digit, mode="wrap")
            total >>= np.uint64(32)
            total += gap.take(digit, mode="wrap")
        return total.view(np.int64)

    def fold(self, below: Integers | None, above: Integers | None, entropy: Entropy, count: int) -> Integers:
        """A move away from each centre."""
        word = words(entropy, count)
        magnitude, _ = geometric_many(self.scale, entropy, count)
        left, right, centre = self.gap(below, count), self.gap(above, count), int(self.gaps[0][1])
        # Left if u (left + right - centre) < left - centre, not right if < left, where u is in [lead, lead + 1) 2^-30.
        # All numbers are below 2^33 units and off by at most 2 error, so the products are off by less than the margin.
        lead = (word >> np.uint64(34)).view(np.int64)
        to_left = lead * (left + right - centre) - ((left - centre) << 30)
        to_right = to_left - (centre << 30)
        side = 1 + (to_left >> 63) + (to_right >> 63)
        margin = (1 << 34) + (self.error << 33)
        for i in np.flatnonzero((np.abs(to_left) < margin) | (np.abs(to_right) < margin)):
            rooms = [None if room is None else int(room[i]) for room in (below, above)]
            side[i] = count_reached(int(word[i]), 64, chances(rooms[0], rooms[1], self.scale), entropy) - 1
        return _move(side, magnitude, below, above)


def _make_rooms(scale: Scale, span: int | None) -> Rooms:
    unit = 1 / scale.steps
    # e^-48 is below one unit: more room than that makes no difference.
    enough = int(48 * scale.steps) + 1
    largest = enough if span is None else min(span + 1, enough)
    top = one_minus_exp(largest * unit).upper
    shift = max(0, top.denominator.bit_length() - top.numerator.bit_length() - 1)
    gaps, powers = [], []
    for digit in range(-(-largest.bit_length() // _DIGIT)):
        count = min(1 << _DIGIT, (largest >> (_DIGIT * digit)) + 1)
        gap, power = _multiples(unit * (1 << (_DIGIT * digit)), count, 32 + shift)
        gaps.append(gap)
        powers.append(power)
    return Rooms(scale, tuple(gaps), tuple(powers), largest, 3 * len(gaps))


_rooms = lru_cache(maxsize=64)(_make_rooms)


def _multiples(unit: Fraction, count: int, bits_after: int) -> tuple[Words, Words]:
    """⌊2^b (1 - e^(-k unit))⌋ and ⌊2^32 e^(-k unit)⌋ for k = 0 .. count - 1, by repeated multiplication."""
    one = 1 << 256
    step, first_gap = int(exp_minus(unit).lower * one), int(one_minus_exp(unit).lower * one)
    power, gap = one, 0
    gaps, powers = [], []
    for _ in range(count):
        gaps.append(gap >> (256 - bits_after))
        powers.append(power >> 224)
        gap += power * first_gap >> 256
        power = power * step >> 256
    return np.array(gaps, dtype=np.uint64), np.array(powers, dtype=np.uint64)
