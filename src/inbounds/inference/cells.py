"""Intervals of quantiles that are read from noisy counts of cells, and of the distribution function between these.

The first k of K cells have F records, and their noisy counts add up to F + S. Noise z of the law ∝ e^(-Σ|z|/T), on
whole numbers that add up to nothing, makes S = s with a probability ∝ P(A = s) P(B = s), where A and B are the sums of
k and of K - k independent numbers with that law. So S is known exactly. It is also nowhere wider than A or B: as P(B =
s) falls with |s|, P(|S| ≥ d) ≤ P(|A| ≥ d), which Chernoff's inequality bounds where the numbers are too many to list.

A quantile lies above the first k cells if they have fewer records than its rank. This is tested from the first cell on,
up to the first test that fails. So only the test of the cell in which the quantile lies can go wrong, and each test may
have all of α. The rank of the population's quantile is binomial, or beyond it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np
import scipy

from inbounds._check import Array
from inbounds.derivations import PointsOfCounts
from inbounds.inference.spreads import RawInterval
from inbounds.privacy.certificate import Certificate
from inbounds.record.release import Release

METHOD = "noisy counts of cells, whose law is known"
# Up to this many sums of noise are listed, and what is left out or rounded off has no larger probability than this.
_MOST_SUMS, _REST = 1 << 17, 1e-9
# What no list of sums holds has the probability e to the power of minus this.
_FAR = 42.0
# Exponents of Chernoff's inequality, as parts of the largest.
_EXPONENTS = np.geomspace(1e-4, 0.999, 80)


# claim:prefix-noise
@dataclass(frozen=True, slots=True)
class PrefixNoise:
    """The noise in the sum of the first ``first`` of so many cells."""

    cells: int
    first: int
    scale: float

    def exceeds(self, distance: int) -> float:
        """A bound on the probability that the noise is at least ``distance``, for distances of 1 or more."""
        fewest = min(self.first, self.cells - self.first)
        tilts = _EXPONENTS / self.scale
        bound = math.exp(min(0.0, float((fewest * _log_moment(tilts, self.scale) - tilts * distance).min())))
        law = _list_sums(self.cells, fewest, self.scale)
        if law is None:
            return bound
        sums, chances = law
        return min(bound, float(chances[sums >= distance].sum()) + _REST)

    def falls_to(self, count: int, rows: int, share: float) -> float:
        """A bound on the probability that the sum is at most ``count``, if each record is in these cells with a
        probability of at least ``share``."""
        fewest = min(self.first, self.cells - self.first)
        tilts = _EXPONENTS / self.scale
        records = rows * np.log1p(share * np.expm1(-tilts))
        bound = float((tilts * count + records + fewest * _log_moment(tilts, self.scale)).min())
        bound = math.exp(min(0.0, bound))
        law = _list_sums(self.cells, fewest, self.scale)
        if law is None or bound < _REST:
            return bound
        sums, chances = law
        most = np.minimum(count - sums, rows)
        below = np.where(most < 0, 0.0, scipy.special.bdtr(np.maximum(most, 0), rows, share))
        return min(bound, float(chances @ below) + _REST)


def _log_moment(tilts: Array, scale: float) -> Array:
    """log E e^(t z) of one number of discrete Laplace noise, for t < 1/T."""
    rate = 1 / scale
    return np.asarray(2 * np.log(-np.expm1(-rate)) - np.log(-np.expm1(tilts - rate)) - np.log(-np.expm1(-tilts - rate)))


# Caches functions of public numbers only.
@lru_cache(maxsize=32)
def _list_sums(cells: int, fewest: int, scale: float) -> tuple[Array, Array] | None:
    """Sums of noise with their probabilities, up to what is left out; None if there are too many."""
    tilts = _EXPONENTS / scale
    reach = float(((_FAR + cells * _log_moment(tilts, scale)) / tilts).min())
    if 2 * reach + 2 > _MOST_SUMS:
        return None
    size = 1 << math.ceil(math.log2(2 * reach + 2))
    # The transform of the law of one number; those of sums are its powers.
    angles, rate = np.pi * np.arange(size // 2 + 1) / size, 1 / scale
    wide = np.log1p(4 * math.exp(-rate) * np.sin(angles) ** 2 / math.expm1(-rate) ** 2)
    first, rest = (np.maximum(np.fft.irfft(np.exp(-count * wide), size), 0.0) for count in (fewest, cells - fewest))
    chances = np.fft.fftshift(first * rest)
    sums = np.arange(-(size // 2), size // 2)
    is_likely = chances > 1e-16 * chances.max()
    return sums[is_likely], chances[is_likely] / chances.sum()


def _read(release: Release) -> tuple[PointsOfCounts, list[int], float]:
    """The derivation, the noisy numbers of records in the first cells, and the scale of the noise."""
    way, certificate = release.derivation.as_counted, release.certificate
    assert way is not None
    assert isinstance(certificate, Certificate)
    sums = [int(x) for x in accumulate(release.noisy)]
    return way, sums[:-1], float(certificate.grid.scale.steps)


# claim:interval-of-counts
def read_between_cells(release: Release, alpha: float, population: bool) -> RawInterval:
    """The points between the cells that surely lie on either side, or else the bounds.

    Each side is missed with a probability of at most α/2, over all draws and, for the population, all samples.
    """
    way, sums, scale = _read(release)
    mirrored = [way.rows - count for count in reversed(sums)]
    asked = way.rows, scale, alpha / 2
    below = _count_outside(sums, way.shares, *asked, population=population)
    above = _count_outside(mirrored, [1 - share for share in reversed(way.shares)], *asked, population=population)
    last = len(way.firsts) - 1
    lower, upper = [way.firsts[count] for count in below], [way.firsts[last - count] - 1 for count in reversed(above)]
    ends = way.values_of(np.array([lower, upper], np.int64))
    return ends[0], ends[1], METHOD, ()


def _count_outside(
    sums: Sequence[int], shares: Sequence[Fraction], rows: int, scale: float, alpha: float, *, population: bool
) -> list[int]:
    """How many of the first cells the quantiles of increasing shares lie beyond, each except with a probability of α.

    One of a larger share lies beyond what one of a smaller share lies beyond, so that this is not tested again.
    """
    beyond, outside = [], 0
    for share in shares:
        rank = math.ceil(share * rows)
        while outside < len(sums):
            noise, count = PrefixNoise(len(sums) + 1, outside + 1, scale), sums[outside]
            if population:
                chance = noise.falls_to(count, rows, float(share))
            else:
                chance = noise.exceeds(rank - count) if count < rank else 1.0
            if chance > alpha:
                break
            outside += 1
        beyond.append(outside)
    return beyond


# claim:band-of-counts
def bound_shares(release: Release, alpha: float) -> tuple[Array, Array, Array, Array]:
    """The last points of all cells but one; the shares of records up to them, and their limits.

    All limits hold together, except with a probability of α, for the table.
    """
    way, sums, scale = _read(release)
    cells, counts = len(sums) + 1, np.array(sums)
    each = alpha / (2 * max(len(sums), 1))
    off = np.array([_find_distance(PrefixNoise(cells, first, scale), each) for first in range(1, cells)])
    # A larger share has larger limits.
    lower = np.maximum.accumulate(np.clip(counts - off, 0, way.rows))
    upper = np.minimum.accumulate(np.clip(counts + off, 0, way.rows)[::-1])[::-1]
    # Of noisy counts that contradict each other, which is as rare as a miss, limits would cross.
    lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
    records = np.cumsum(way.repair_counts(release.worth()))[:-1]
    points = way.values_of(np.array(way.firsts[1:-1], np.int64) - 1)
    return points, records / way.rows, lower / way.rows, upper / way.rows


def _find_distance(noise: PrefixNoise, alpha: float) -> int:
    """The least distance that is exceeded with a probability of at most α.

    It may be far larger than the number of records: noisy counts are then as far from all that are possible.
    """
    low, high = 0, 1
    while noise.exceeds(high + 1) > alpha:
        low, high = high + 1, 2 * high
    while high - low > 0:
        middle = (low + high) // 2
        low, high = (low, middle) if noise.exceeds(middle + 1) <= alpha else (middle + 1, high)
    return low
