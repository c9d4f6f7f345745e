"""Discrete Gaussian noise on a grid, P(k) ∝ e^(-k²/(2σ²)) for a rational σ², drawn and certified exactly.

A draw is a discrete Laplace number Y of scale t, which is kept with probability e^(-(|Y| - σ²/t)²/(2σ²)), because

    e^(-|y|/t) e^(-(|y| - σ²/t)²/(2σ²)) = e^(-y²/(2σ²)) e^(-σ²/(2t²))

(Canonne, Kamath and Steinke 2020, Algorithm 3; here t is a power of two next to σ). The chance of keeping Y is compared
with a uniform number bit by bit, in integers alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from math import isqrt
from typing import ClassVar

import numpy as np

from inbounds import _check
from inbounds.grid.base import GridLaw, each_within_reach, within_reach
from inbounds.grid.entropy import Entropy, Words, bits, words
from inbounds.grid.geometric import FEW, WORD, Integers, count_reached, laplace_many, laplace_one
from inbounds.grid.interval import Interval, as_interval, exp_minus
from inbounds.grid.scale import Scale

# Binary digits after the point of a weight in fixed point.
_DIGITS = 240
# Weights are summed up to so many σ, where they are below 2^-233.
_REACH = 18
# Variances for which sums are certified, and for which noise is drawn.
_WIDEST_TABLE, _WIDEST, _NARROWEST = 1 << 24, 1 << 80, Fraction(1, 1 << 40)
# The most entries of a table of chances, and how many of them one draw is worth.
_MOST_ENTRIES, _WORTH = 1 << 20, 64
# Elements worked on at a time.
_CHUNK = 65536


def round_variance(variance: Fraction) -> Fraction:
    """A variance of at most 64 significant bits that is at least as large, for certificates of few digits.

    >>> round_variance(Fraction(5, 2)), round_variance(Fraction(5, 3)) - Fraction(5, 3) < Fraction(1, 1 << 62)
    (Fraction(5, 2), True)
    """
    shift = 63 - variance.numerator.bit_length() + variance.denominator.bit_length()
    scaled = variance * (Fraction(2) ** shift)
    return Fraction(-(-scaled.numerator // scaled.denominator)) / Fraction(2) ** shift


def _walk(start: Fraction, first: Fraction, rise: Fraction) -> Iterator[tuple[int, int]]:
    """e^-x in fixed point, rounded down, for x = start + k first + k(k-1)/2 rise and k = 0, 1, ..., with its slack.

    The number is less than 2(k+1)² units too small: a ratio loses three units a step, and a product one more.
    """
    weight, ratio, factor = (_fixed(x) for x in (start, first, rise))
    k = 0
    while True:
        k += 1
        yield weight, 2 * (k + 1) * (k + 1)
        weight, ratio = weight * ratio >> _DIGITS, ratio * factor >> _DIGITS


def _fixed(x: Fraction) -> int:
    """⌊2^240 e^-x⌋, or one less."""
    lower = exp_minus(x).lower
    return (lower.numerator << _DIGITS) // lower.denominator


@dataclass(frozen=True, slots=True)
class _Sums:
    """Σ k^order e^(-k²/(2σ²)) over 1 ≤ k ≤ m, for orders 0, 1 and 2, in fixed point."""

    lower: tuple[tuple[int, ...], ...]
    tail: Fraction

    def up_to(self, order: int, m: int | None) -> Interval:
        """The sum up to m ≥ 0; over all k for None."""
        sums = self.lower[order]
        last = len(sums) - 1
        place = last if m is None else min(max(m, 0), last)
        # The weight of k is less than 2(k+1)² units too small.
        slack = Fraction(2 * (place + 2) ** (3 + order), 1 << _DIGITS) if place else Fraction(0)
        if m is None or m > last:
            slack += self.tail
        total = Fraction(sums[place], 1 << _DIGITS)
        return Interval(total, total + slack)


@lru_cache(maxsize=8)
def _sums_of(variance: Fraction) -> _Sums:
    """The sums of one variance."""
    if variance > _WIDEST_TABLE:
        raise ValueError("the probabilities of noise with a variance above 2^24 steps are not certified")
    count = _REACH * (isqrt(int(variance)) + 1) + 1
    weights = [weight for weight, _ in islice(_walk(Fraction(0), 1 / (2 * variance), 1 / variance), count + 1)]
    sums: list[list[int]] = [[0], [0], [0]]
    for k, weight in enumerate(weights[1:], start=1):
        for order, running in enumerate(sums):
            running.append(running[-1] + k**order * weight)
    # From M ≥ 18σ on, k² e^(-k²/(2σ²)) falls by a factor of at most e^(-.99 M/σ²): a geometric series.
    tail = (variance + 2) * (count + 1) ** 2 * exp_minus(Fraction(count * count) / (2 * variance)).upper
    return _Sums(tuple(tuple(running) for running in sums), tail)


@dataclass(frozen=True, slots=True)
class GaussianNoise:
    """Discrete Gaussian noise on the integers, with the parameter σ²: its variance is that, or a little less."""

    variance: Fraction

    @property
    def total(self) -> Interval:
        """The weight of all integers."""
        return 1 + 2 * _sums_of(self.variance).up_to(0, None)

    # claim:gaussian-law
    def probability(self, z: int) -> Interval:
        """P(noise = z)."""
        return exp_minus(Fraction(z * z) / (2 * self.variance)) / self.total

    def cumulative(self, z: int) -> Interval:
        """P(noise ≤ z)."""
        return 1 - self.above(z) if z >= 0 else self.above(-z - 1)

    def above(self, m: int) -> Interval:
        """P(noise > m), m ≥ 0."""
        sums = _sums_of(self.variance)
        tail = sums.up_to(0, None) - sums.up_to(0, m)
        return Interval(max(tail.lower, Fraction(0)), tail.upper) / self.total

    # claim:gaussian-moments
    def moments(self, low: int | None, high: int | None) -> tuple[Interval, Interval]:
        """E c and E c² for c the noise clamped to [low, high]; None is an open side."""
        moments = []
        for order in (1, 2):
            inner = self._between(order, low, high)
            below = as_interval(0) if low is None else low**order * self.cumulative(low - 1)
            above = as_interval(0) if high is None else high**order * (1 - self.cumulative(high))
            moments.append(inner / self.total + below + above)
        return moments[0], moments[1]

    def _between(self, order: int, low: int | None, high: int | None) -> Interval:
        """Σ z^order e^(-z²/(2σ²)) over low ≤ z ≤ high, for order 1 or 2."""
        sums = _sums_of(self.variance)

        def side(start: int | None, end: int | None) -> Interval:
            # Over 1 ≤ z with start ≤ z ≤ end.
            if end is not None and end <= 0:
                return as_interval(0)
            return sums.up_to(order, end) - sums.up_to(order, 0 if start is None else max(start - 1, 0))

        down = side(None if high is None else -high, None if low is None else -low)
        return side(low, high) + (-down if order == 1 else down)


@dataclass(frozen=True, slots=True)
class GaussianMechanism(GridLaw):
    """Discrete Gaussian noise × clamping × grid.

    Parameters
    ----------
    bounding
        ``"bit"`` or ``"unbounded"``.
    variance
        σ², in squared steps.
    first, last
        Indices of the ends; None for an open side.
    step, origin
        The value of index k is ``origin + k · step``.

    Its methods take true values as indices (`locate`) and never keep one.
    """

    name: ClassVar[str] = "gaussian"

    bounding: str
    variance: Fraction
    first: int | None
    last: int | None
    step: Fraction = Fraction(1)
    origin: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        self.check_points()
        if self.bounding == "truncated":
            raise ValueError("discrete Gaussian noise is clamped or unbounded: truncated it has no known loss")
        variance = _check.rational(self.variance, "variance")
        if not _NARROWEST <= variance <= _WIDEST:
            raise ValueError("variance must lie between 2^-40 and 2^80 squared steps; use another step")
        object.__setattr__(self, "variance", variance)

    @property
    def noise(self) -> GaussianNoise:
        """The noise without the grid."""
        return GaussianNoise(self.variance)

    @property
    def spread(self) -> Fraction:
        """σ in steps, to 60 bits or so."""
        return Fraction(isqrt(int(self.variance * (1 << 160))), 1 << 80)

    def probability(self, index: int, at: int) -> Interval:
        """P(released = index | true = at), certified."""
        (first, last), law = self.ends, self.noise
        if (first is not None and index < first) or (last is not None and index > last):
            return as_interval(0)
        if index == first:
            return law.cumulative(index - at)
        return law.cumulative(at - index) if index == last else law.probability(index - at)

    def cumulative(self, index: int, at: int) -> Interval:
        """P(released ≤ index | true = at), certified."""
        first, last = self.ends
        if first is not None and index < first:
            return as_interval(0)
        return as_interval(1) if last is not None and index >= last else self.noise.cumulative(index - at)

    def bias(self, at: int) -> Interval:
        """Expected released value minus true one, in the units of the statistic."""
        return self._moments(at)[0] * self.step

    def mse(self, at: int) -> Interval:
        """Mean squared error about the true value, in squared units of the statistic."""
        return self._moments(at)[1] * self.step**2

    def _moments(self, at: int) -> tuple[Interval, Interval]:
        low, high = (None if end is None else end - at for end in self.ends)
        return self.noise.moments(low, high)

    def draw_each(self, at: Integers, entropy: Entropy) -> Integers:
        """A released index for each true one; the bytes drawn do not depend on where those are."""
        near = each_within_reach(at)
        near += draw_gaussian(self.variance, entropy, near.size)
        first, last = self.ends
        near = near if first is None else np.maximum(near, first)
        return near if last is None else np.minimum(near, last)

    def draw_alike(self, at: int, entropy: Entropy, size: int) -> Integers:
        """Many draws for one true index: for studies and audits."""
        return self.draw_each(np.full(size, within_reach(at), dtype=np.int64), entropy)

    # claim:gaussian-rho
    def rho_of(self, move: int) -> Fraction:
        """ρ = move²/(2σ²) (Canonne, Kamath and Steinke 2020, Theorem 4). Clamping adds nothing.

        The Rényi divergence of order α between the noise and the noise moved by an integer is at most α times that.
        """
        return Fraction(move * move) / (2 * self.variance)


# claim:gaussian-exact
def draw_gaussian(variance: Fraction, entropy: Entropy, size: int) -> Integers:
    """Draws with exactly P(k) ∝ e^(-k²/(2 variance))."""
    if size < FEW:
        return np.array([_draw_one(variance, entropy) for _ in range(size)], dtype=np.int64)
    result = np.empty(size, dtype=np.int64)
    for start in range(0, size, _CHUNK):
        result[start : start + _CHUNK] = _draw_many(variance, entropy, min(_CHUNK, size - start))
    return result


def _proposal(variance: Fraction) -> Scale:
    """A discrete Laplace law whose scale is a power of two, within a factor of √2 of σ, or 1/8 for very small σ."""
    double = (variance * variance).numerator.bit_length() - (variance * variance).denominator.bit_length()
    power = max(-3, (double + 1) // 4)
    return Scale(6 + power, 64) if power >= 0 else Scale(6, 64 << -power)


def _exponent(variance: Fraction, size: int) -> Fraction:
    """A Laplace number of this size is kept with probability e^-x, x = (size - σ²/t)²/(2σ²)."""
    off = size - variance / _proposal(variance).steps
    return off * off / (2 * variance)


def _keep(variance: Fraction, word: int, size: int, entropy: Entropy) -> bool:
    """Whether a Laplace number of this size is kept, for a uniform number that starts with a word."""
    return count_reached(word, WORD, [exp_minus(_exponent(variance, size))], entropy) == 0


def _draw_one(variance: Fraction, entropy: Entropy) -> int:
    scale = _proposal(variance)
    while True:
        number, word = laplace_one(scale, entropy), bits(entropy, WORD)
        if _keep(variance, word, abs(number), entropy):
            return number


def _draw_many(variance: Fraction, entropy: Entropy, count: int) -> Integers:
    """The same law by words of 64 bits and a table of chances, where that is worth its entries."""
    scale = _proposal(variance)
    entries = _count_entries(variance)
    if entries > min(_MOST_ENTRIES, _WORTH * count):
        return np.array([_draw_one(variance, entropy) for _ in range(count)], dtype=np.int64)
    chances = _chances(variance)
    number, word = laplace_many(scale, entropy, count), words(entropy, count)
    threshold = chances.take(np.minimum(np.abs(number), entries))
    kept = word < threshold
    for i in np.flatnonzero(word == threshold):
        kept[i] = _keep(variance, int(word[i]), abs(int(number[i])), entropy)
    again = np.flatnonzero(~kept)
    if again.size:
        number[again] = draw_gaussian(variance, entropy, again.size)
    return number


def _count_entries(variance: Fraction) -> int:
    """From this size on the chance of keeping a number is below 2^-64: (size - σ²/t)² ≥ 100 σ²."""
    return int(variance / _proposal(variance).steps) + 10 * (isqrt(int(variance)) + 1) + 1


@lru_cache(maxsize=16)
def _chances(variance: Fraction) -> Words:
    """⌊2^64 P(kept)⌋ for each size, and 0 beyond; 2^64 - 1 for a chance of 1."""
    count, centre = _count_entries(variance), variance / _proposal(variance).steps
    middle = int(centre)

    def side(start: int, sign: int) -> Iterator[tuple[int, int]]:
        # (off ± 1)² - off² = 1 ± 2 off, and it rises by two with every step.
        off = start - centre
        return _walk(off * off / (2 * variance), (1 + 2 * sign * off) / (2 * variance), 1 / variance)

    up = _floors(variance, islice(side(middle + 1, 1), count - middle - 1), range(middle + 1, count))
    down = _floors(variance, islice(side(middle, -1), middle + 1), range(middle, -1, -1))
    return np.array([*reversed(down), *up, 0], dtype=np.uint64)


def _floors(variance: Fraction, walk: Iterator[tuple[int, int]], sizes: range) -> list[int]:
    floors = []
    for size, (weight, slack) in zip(sizes, walk, strict=True):
        low, high = weight >> (_DIGITS - WORD), (weight + slack) >> (_DIGITS - WORD)
        if low != high:
            chance = exp_minus(_exponent(variance, size))
            low, high = (int(end * (1 << WORD)) for end in (chance.lower, chance.upper))
        if low != high:
            raise ArithmeticError("the table needs more precision")
        floors.append(min(low, (1 << WORD) - 1))
    return floors
