"""Noise for whole vectors, exact: sup-norm (K-norm) noise, and noise that keeps a sum.

Sup-norm noise has P(z) ∝ e^(-‖z‖∞/T) on Z^d. One record that moves no coordinate by more than D steps costs D/T for the
whole vector, whatever d is (Hardt & Talwar 2010). A radius R with P(R = r) ∝ e^(-r/T) (2r+1)^d, then a uniform point of
{-R..R}^d: the sum over r ≥ ‖z‖∞ of e^(-r/T) is ∝ e^(-‖z‖∞/T). R is a sum of d + 1 geometric variables, kept with
probability (r+½)^d / ((r+1)···(r+d)).

Zero-sum noise has P(z) ∝ e^(-‖z‖₁/T) on the vectors of Z^K that sum to zero. One substituted record moves a table of
counts by e_i - e_j, which costs 2/T as it does with independent noise of that scale; but the sum stays what it was, and
the error is smaller. It is independent noise, given that its sum is zero: K - 1 elements are drawn, the last is minus
their sum S, and the vector is kept with probability e^(-|S|/T).
"""

from fractions import Fraction

import numpy as np

from inbounds.grid.entropy import Entropy, bits, words
from inbounds.grid.geometric import WORD, Integers, count_reached, geometric_one
from inbounds.grid.interval import as_interval, exp_minus
from inbounds.grid.sampler import laplace
from inbounds.grid.scale import LARGEST_INDEX, Scale


def supnorm(scale: Scale, dimension: int, entropy: Entropy) -> Integers:
    """claim:joint-exact. One noise vector. Work and bytes do not depend on what it will be added to."""
    require_room(scale, dimension)
    radius = _radius(scale, dimension, entropy)
    if not 2 * radius + 1 < LARGEST_INDEX:
        raise OverflowError("a radius beyond 2^59 steps; use a coarser step")
    return uniform_below(2 * radius + 1, dimension, entropy) - radius


def require_room(scale: Scale, dimension: int) -> None:
    """Refuse dimensions for which radii of this scale would hardly ever be kept."""
    if dimension < 1:
        raise ValueError(f"dimension must be >= 1, got {dimension}")
    if 4 * scale.steps < dimension:
        raise ValueError(
            f"a scale of {scale.steps} steps is too small for {dimension} dimensions (radii would hardly "
            "ever be kept); use a finer step"
        )


def zero_sum(scale: Scale, dimension: int, entropy: Entropy) -> Integers:
    """claim:zero-sum-exact. One noise vector whose elements add up to zero.

    It is drawn without looking at what it will be added to. About 1.4 √K tries are made.
    """
    if dimension < 2:
        raise ValueError(f"dimension must be >= 2, got {dimension}")
    while True:
        first = laplace(scale, entropy, dimension - 1)
        # By halves of words: a sum of a few thousand wide ones could pass 64 bits.
        rest = -((int((first >> 32).sum()) << 32) + int((first & 0xFFFFFFFF).sum()))
        kept = exp_minus(abs(rest) / scale.steps)
        if count_reached(bits(entropy, WORD), WORD, [kept], entropy) == 0:
            return np.append(first, np.int64(rest))


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
