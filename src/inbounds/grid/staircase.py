"""Staircase noise on the integers: P(z) ∝ b^level(|z|), b = e^(-1/T), with levels of D steps each.

T is the scale in levels. The level of m ≥ 0 is ⌊(m + D - r)/D⌋: 0 for the r integers from 0 on, then one more for every
D of them. D is the sensitivity in steps (``width``), r the ``core``; D = r = 1 is discrete Laplace noise.

claim:staircase-loss. Locations at most D steps apart change |z| by at most D, and the level of m + D is that of m plus
one; levels rise with m. So no probability changes by more than the factor b: the loss is 1/T. The geometric law spends
it evenly on every step, a staircase all at once at the end of a level, and has the least error of all noise with that
loss where D is large (Geng, Kairouz, Oh and Viswanath 2015). Clamping is post-processing. Truncation is not, and is
refused: its normaliser depends on the location, and without log-concavity no pair of neighbours is known to be the
worst.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from inbounds import _check
from inbounds.grid.entropy import Entropy, bits, words
from inbounds.grid.geometric import FEW, WORD, Integers, count_reached, geometric_many, geometric_one
from inbounds.grid.interval import Interval, as_interval, exp_minus, one_minus_exp
from inbounds.grid.joint import uniform_below
from inbounds.grid.scale import LARGEST_INDEX, Scale


@dataclass(frozen=True, slots=True)
class Stairs:
    """The shape of staircase noise: ``width`` D and ``core`` r, in steps, 1 ≤ r ≤ D."""

    width: int
    core: int

    def __post_init__(self) -> None:
        for name in ("width", "core"):
            object.__setattr__(self, name, _check.integer(getattr(self, name), name, least=1))
        if not self.core <= self.width < LARGEST_INDEX:
            raise ValueError(f"core must not exceed width, nor width 2^60, got {self.core} and {self.width}")

    def level(self, distance: int) -> int:
        """How often the probability has fallen by b at a distance ≥ 0."""
        return (distance + self.width - self.core) // self.width


@dataclass(frozen=True, slots=True)
class StaircaseLaw:
    """Probabilities and moments of staircase noise, certified."""

    stairs: Stairs
    scale: Scale

    def _power(self, level: int) -> Interval:
        return exp_minus(level / self.scale.steps)

    @property
    def _fall(self) -> Interval:
        """1 - b."""
        return one_minus_exp(1 / self.scale.steps)

    @property
    def _side(self) -> Interval:
        """Weight of all z > 0."""
        return self.stairs.core - 1 + self.stairs.width * self._power(1) / self._fall

    @property
    def total(self) -> Interval:
        """Weight of all z: 2r - 1 + 2D b/(1-b)."""
        return 1 + 2 * self._side

    # claim:staircase-law
    def probability(self, z: int) -> Interval:
        """P(noise = z)."""
        return self._power(self.stairs.level(abs(z))) / self.total

    def cumulative(self, z: int) -> Interval:
        """P(noise ≤ z)."""
        return 1 - self._above(z) if z >= 0 else self._above(-z - 1)

    def _above(self, m: int) -> Interval:
        """P(noise > m), m ≥ 0: what is left of the level of m + 1, and all levels after it."""
        level = self.stairs.level(m + 1)
        left = self.stairs.core + level * self.stairs.width - (m + 1)
        return self._power(level) * (left + self.stairs.width * self._power(1) / self._fall) / self.total

    # claim:staircase-moments
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
        """Σ z^order b^level over low ≤ z ≤ high, for order 1 or 2."""
        up = self._up_to(order, high) - self._up_to(order, max(low - 1, 0) if low is not None else 0)
        down = self._up_to(order, None if low is None else -low)
        down = down - self._up_to(order, max(-high - 1, 0) if high is not None else 0)
        up = up if high is None or high > 0 else as_interval(0)
        down = down if low is None or low < 0 else as_interval(0)
        return up + (-down if order == 1 else down)

    def _up_to(self, order: int, m: int | None) -> Interval:
        """Σ z^order b^level over 1 ≤ z ≤ m; of all z ≥ 1 for None.

        The core, then K whole levels, of which number j begins at c = r + jD and has Σ (c + u)^order over 0 ≤ u < D, a
        polynomial in j; then what is left.
        """
        core, width = self.stairs.core, self.stairs.width
        if m is not None and m < core:
            return as_interval(_power_sum(order, max(m, 0)))
        whole = None if m is None else (m + 1 - core) // width
        first, second = Fraction(width - 1, 2), Fraction((width - 1) * (2 * width - 1), 6)
        if order == 1:
            polynomial = [core + first, Fraction(width), Fraction(0)]
        else:
            polynomial = [core * core + 2 * core * first + second, 2 * width * (core + first), Fraction(width * width)]
        sums = self._level_sums(whole)
        total = as_interval(_power_sum(order, core - 1))
        for factor, levels in zip(polynomial, sums, strict=True):
            total = total + width * factor * self._power(1) * levels
        if m is None or whole is None:
            return total
        rest = _power_sum(order, m) - _power_sum(order, core + whole * width - 1)
        return total + rest * self._power(whole + 1)

    def _level_sums(self, whole: int | None) -> tuple[Interval, Interval, Interval]:
        """Σ b^j j^i over 0 ≤ j < K for i = 0, 1, 2; over all j for None."""
        b, fall = self._power(1), self._fall
        if whole is None:
            return 1 / fall, b / (fall * fall), b * (1 + b) / (fall * fall * fall)
        none, single, double = self._level_sums(None)
        # What is beyond K: the same sums from there on, with (j + K)^i multiplied out.
        beyond, k = self._power(whole), whole
        return (
            none - beyond * none,
            single - beyond * (single + k * none),
            double - beyond * (double + 2 * k * single + k * k * none),
        )

    def chance_of_core(self) -> Interval:
        """P(|noise| < r)."""
        return _chance_of_core(self)

    # claim:staircase-exact
    def one(self, entropy: Entropy) -> int:
        """One draw: in the core or not, then a place in it, or a level, a place and a sign.

        What lies beyond the core is 1 + G levels away, G geometric; within a level all places are alike. Everything is
        drawn, whether it is used or not, so the work does not reveal how large the noise is.
        """
        core, width = self.stairs.core, self.stairs.width
        outside = count_reached(bits(entropy, WORD), WORD, [self.chance_of_core()], entropy)
        level, sign = geometric_one(self.scale, entropy), 1 - 2 * bits(entropy, 1)
        inner, outer = _one_below(2 * core - 1, entropy), _one_below(width, entropy)
        return sign * (core + level * width + outer) if outside else inner - core + 1

    def many(self, entropy: Entropy, count: int) -> Integers:
        """Draws, the same law by words of 64 bits."""
        core, width = self.stairs.core, self.stairs.width
        if count < FEW:
            return np.array([self.one(entropy) for _ in range(count)], dtype=np.int64)
        chance, word = self.chance_of_core(), words(entropy, count)
        floor = min(int(chance.lower * (1 << 64)), (1 << 64) - 1)
        outside = word > np.uint64(floor)
        for i in np.flatnonzero(word == np.uint64(floor)):
            outside[i] = bool(count_reached(floor, 64, [chance], entropy))
        level, negative = geometric_many(self.scale, entropy, count)
        inner, outer = uniform_below(2 * core - 1, count, entropy), uniform_below(width, count, entropy)
        if int(level.max()) >= LARGEST_INDEX // width:
            raise OverflowError("noise beyond 2^60 steps; use a coarser step")
        return np.where(outside, (1 - 2 * negative) * (core + level * width + outer), inner - core + 1)


# A law is public, so results may be cached.
@lru_cache(maxsize=256)
def _chance_of_core(law: StaircaseLaw) -> Interval:
    return (2 * law.stairs.core - 1) / law.total


def _power_sum(order: int, m: int) -> int:
    """Σ z^order over 1 ≤ z ≤ m."""
    return m * (m + 1) // 2 if order == 1 else m * (m + 1) * (2 * m + 1) // 6


def _one_below(limit: int, entropy: Entropy) -> int:
    """A uniform integer in 0..limit-1: random bits, drawn anew where they are too large."""
    size = limit.bit_length()
    while (number := bits(entropy, size)) >= limit:
        pass
    return number
