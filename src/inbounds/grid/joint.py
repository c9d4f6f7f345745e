"""Discrete sup-norm (K-norm) noise for vectors: P(z) ∝ e^(-‖z‖∞/T) on Z^d, exact.

One record that moves no coordinate by more than D steps costs D/T for the whole vector, whatever d is (Hardt & Talwar
2010). A radius R with P(R = r) ∝ e^(-r/T) (2r+1)^d, then a uniform point of {-R..R}^d: the sum over r ≥ ‖z‖∞ of
e^(-r/T) is ∝ e^(-‖z‖∞/T). R is a sum of d + 1 geometric variables, kept with probability (r+½)^d / ((r+1)···(r+d)).
"""

from fractions import Fraction

import numpy as np

from inbounds.grid.entropy import Entropy, bits, words
from inbounds.grid.geometric import WORD, Integers, count_reached, geometric_one
from inbounds.grid.interval import as_interval
from inbounds.grid.scale import LARGEST_INDEX, Scale


def supnorm(scale: Scale, dimension: int, entropy: Entropy) -> Integers:
    """claim:joint-exact. One noise vector. Work and bytes do not depend on what it will be added to."""
    if dimension < 1:
        raise ValueError(f"dimension must be >= 1, got {dimension}")
    if 4 * scale.steps < dimension:
        raise ValueError(
            f"a scale of {scale.steps} steps is too small for {dimension} dimensions (radii would hardly "
            "ever be kept); use a finer step"
        )
    radius = _radius(scale, dimension, entropy)
    if not 2 * radius + 1 < LARGEST_INDEX:
        raise OverflowError("a radius beyond 2^59 steps; use a coarser step")
    return uniform_below(2 * radius + 1, dimension, entropy) - radius


def _radius(scale: Scale, dimension: int, entropy: Entropy) -> int:
    while True:
        radius = sum(geometric_one(scale, entropy) for _ in range(dimension + 1))
        kept, of = (2 * radius + 1) ** dimension, 1 << dimension
        for k in range(1, dimension + 1):
            of *= radius + k
        if count_reached(bits(entropy, WORD), WORD, [as_interval(Fraction(kept, of))], entropy) == 0:
            return radius


def uniform_below(limit: int, size: int, entropy: Entropy) -> Integers:
    """Uniform integers in 0..limit-1: random bits, drawn anew where they are too large."""
    mask = np.uint64((1 << limit.bit_length()) - 1)
    result = words(entropy, size) & mask
    while (again := np.flatnonzero(result >= np.uint64(limit))).size:
        result[again] = words(entropy, again.size) & mask
    return result.view(np.int64)
