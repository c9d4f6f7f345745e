"""Noise for whole vectors in any polyhedral norm, exact.

A norm N(z) = max |w·z|/l over rows of whole weights w and limits l, and over every coordinate by itself, so that N is
no less than the sup-norm. The law is P(z) ∝ e^(-⌈N(z)⌉/T) on Z^d. A move of at most D steps in N changes ⌈N⌉ by at most
⌈D⌉, which costs ⌈D⌉/T for the whole vector.

A radius R with P(R = r) ∝ e^(-r/T) (2r+1)^d and a uniform point z of {-R..R}^d, as for sup-norm noise, are kept if
N(z) ≤ R, and drawn anew together otherwise. Then P(z) is ∝ the sum of e^(-r/T) over r ≥ N(z), as it should be. All
comparisons are of whole numbers, and nothing is looked at but the noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from inbounds.grid.entropy import Entropy, Words, words
from inbounds.grid.geometric import Integers, count_reached, geometric_many
from inbounds.grid.interval import Interval, as_interval
from inbounds.grid.joint import require_room
from inbounds.grid.scale import Scale

# |weights · z| ≤ limit, for each row.
Rows: TypeAlias = tuple[tuple[tuple[int, ...], int], ...]


@dataclass(frozen=True, slots=True)
class Norm:
    """A norm of vectors: rows of some coordinates that follow each other, with the place of the first of them.

    Every coordinate is bounded by itself, too: |z_i| ≤ 1 where N ≤ 1.
    """

    dimension: int
    parts: tuple[tuple[int, Rows], ...] = ()

    def __post_init__(self) -> None:
        for start, rows in self.parts:
            ends = {start + len(weights) for weights, _ in rows}
            if start < 0 or any(end > self.dimension for end in ends) or len(ends) > 1:
                raise ValueError("rows of a norm have a weight for each of their coordinates, which the norm must have")
            if any(limit <= 0 for _, limit in rows):
                raise ValueError("rows of a norm have limits > 0")

    def measure(self, vector: Sequence[int]) -> int:
        """⌈N⌉ of a vector, one row after another."""
        largest = max(map(abs, vector))
        for start, rows in self.parts:
            for weights, limit in rows:
                largest = max(
                    largest, -(-abs(sum(w * z for w, z in zip(weights, vector[start:], strict=False))) // limit)
                )
        return largest


# How many proposals are drawn at once: few at first, since most norms keep many.
_FIRST, _MOST = 8, 2048
# How many rows are tried first, and how many at a time after that.
_TRIED = 48, 400
# Beyond this, sums of weights times coordinates could pass 63 bits.
_REACH = 1 << 62


# claim:polyhedral-exact
def polyhedral(scale: Scale, norm: Norm, entropy: Entropy) -> Integers:
    """One noise vector. Work and bytes do not depend on what it will be added to."""
    require_room(scale, norm.dimension)
    # A geometric variable is below 256 scales: 256 bits decide it.
    if 256 * (norm.dimension + 1) * scale.steps >= _REACH:
        raise OverflowError("radii of so many dimensions at this scale may take more than 62 bits; use a coarser step")
    stages, largest = _stages(norm)
    count = _FIRST
    while True:
        radii = draw_radii(scale, norm.dimension, count, entropy)
        if radii.size and int(radii.max()) * largest >= _REACH:
            raise OverflowError("a radius that takes more than 62 bits with its weights; use a coarser step")
        points = draw_points(radii, norm.dimension, entropy)
        for start, weights, limits in stages:
            inside = (np.abs(points[:, start : start + len(weights)] @ weights) <= limits * radii[:, None]).all(axis=1)
            points, radii = points[inside], radii[inside]
        if len(points):
            first: Integers = points[0]
            return first
        count = min(2 * count, _MOST)


def _make_stages(norm: Norm) -> tuple[list[tuple[int, Integers, Integers]], int]:
    """Rows in stages, since a few rule out most points; and the most that a vector of ones comes to."""
    stages = []
    for start, rows in norm.parts:
        first, later = _TRIED
        for part in (rows[:first], *(rows[i : i + later] for i in range(first, len(rows), later))):
            if part:
                weights = np.array([weights for weights, _ in part], dtype=np.int64).T.copy()
                stages.append((start, weights, np.array([limit for _, limit in part], dtype=np.int64)))
    sizes = [max(sum(map(abs, weights)), limit) for _, rows in norm.parts for weights, limit in rows]
    largest = max(sizes, default=1)
    return sorted(stages, key=lambda stage: len(stage[2])), largest


_stages = lru_cache(maxsize=64)(_make_stages)


def draw_radii(scale: Scale, dimension: int, count: int, entropy: Entropy) -> Integers:
    """Up to ``count`` radii, independent, with P(r) ∝ e^(-r/T) (2r+1)^d.

    Sums of d + 1 geometric variables, kept with probability Π (r+½)/(r+k), k = 1..d, which is at least 1 - d²/(2r).
    """
    magnitudes, _ = geometric_many(scale, entropy, count * (dimension + 1))
    radii: Integers = magnitudes.reshape(count, dimension + 1).sum(axis=1)
    word = words(entropy, count)
    mask = np.ones(count, dtype=np.bool_)
    for i in np.flatnonzero(~_surely_kept(radii, dimension, word)):
        mask[i] = _is_kept(int(radii[i]), dimension, int(word[i]), entropy)
    return radii[mask]


def _surely_kept(radii: Integers, dimension: int, word: Words) -> npt.NDArray[np.bool_]:
    """Whether the first 32 bits of a uniform show that it lies below 1 - d²/(2r)."""
    rejection = (dimension**2 << 31) // np.maximum(radii, 1) + 1
    return (word >> np.uint64(32)).view(np.int64) + 1 <= (1 << 32) - rejection


def _is_kept(radius: int, dimension: int, word: int, entropy: Entropy) -> bool:
    return count_reached(word, 64, [_find_share(radius, dimension)], entropy) == 0


def _find_share(radius: int, dimension: int) -> Interval:
    """Π (r+½)/(r+k), k = 1..d. It is not cached: a radius is drawn noise."""
    numerator, denominator = (2 * radius + 1) ** dimension, 1 << dimension
    for k in range(1, dimension + 1):
        denominator *= radius + k
    return as_interval(Fraction(numerator, denominator))


def draw_points(radii: Integers, dimension: int, entropy: Entropy) -> Integers:
    """A uniform point of {-r..r}^d for each radius: random bits, drawn anew where they are too large."""
    limits = np.repeat(2 * radii.view(np.uint64) + np.uint64(1), dimension)
    masks = _fill_bits(limits)
    result = words(entropy, limits.size) & masks
    while (again := np.flatnonzero(result >= limits)).size:
        result[again] = words(entropy, again.size) & masks[again]
    return result.view(np.int64).reshape(-1, dimension) - radii[:, None]


def _fill_bits(limits: Words) -> Words:
    """All bits up to the highest one of each limit."""
    masks = limits.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        masks |= masks >> np.uint64(shift)
    return masks
