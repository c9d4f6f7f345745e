"""Noise for whole vectors, exact: sup-norm (K-norm) noise, and noise that keeps a sum.

Sup-norm noise has P(z) ∝ e^(-‖z‖∞/T) on Z^d. One record that moves no coordinate by more than D steps costs D/T for the
whole vector, whatever d is (Hardt & Talwar 2010). A radius R with P(R = r) ∝ e^(-r/T) (2r+1)^d, then a uniform point of
{-R..R}^d: the sum over r ≥ ‖z‖∞ of e^(-r/T) is ∝ e^(-‖z‖∞/T). R is a sum of d + 1 geometric variables, kept with
probability (r+½)^d / ((r+1)···(r+d)).

Zero-sum noise has P(z) ∝ e^(-‖z‖₁/T) on the vectors of Z^K that sum to zero. One substituted record moves a table of
counts by e_i - e_j, which costs 2/T as it does with independent noise of that scale; but the sum stays what it was, and
the error is smaller. It is independent noise, given that its sum is zero. Two ways to draw it:

- For few elements: K - 1 of them are drawn, the last is minus their sum S, and the vector is kept with probability
  e^(-|S|/T). About 1.4 √K tries.
- For many: the difference of two vectors of K geometric variables, given that both add up to the same R. Independent
  discrete Laplace variables are such differences, since Σ over h of q^(z+h) q^h is ∝ q^|z|, so this is the law. R then
  has P(R = r) ∝ w(r)², w(r) = C(r+K-1, r) q^r, which is ∝ P(K geometric variables add up to r). So K are drawn, and
  kept with probability w(R)/max w, which takes about √2 tries whatever K is. Given its sum a vector of geometric
  variables is uniform among all that have it, for its probability is q^R (1-q)^K; and so is the other, drawn as K - 1
  bars among R stars.
"""

from fractions import Fraction
from functools import lru_cache

import numpy as np

from inbounds.grid.entropy import Entropy, bits, words
from inbounds.grid.geometric import WORD, Integers, count_reached, geometric_one
from inbounds.grid.interval import Interval, as_interval, exp_minus, one_minus_exp
from inbounds.grid.sampler import geometric, laplace
from inbounds.grid.scale import LARGEST_INDEX, Scale
from inbounds.grid.stirling import log_factorial

# From this many elements on, two vectors with the same total are faster than tries.
_MANY = 100
# Up to this many places for each one chosen, marking every place is faster than sorting.
_DENSE = 16


# claim:joint-exact
def supnorm(scale: Scale, dimension: int, entropy: Entropy) -> Integers:
    """One noise vector. Work and bytes do not depend on what it will be added to."""
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


# claim:zero-sum-exact
def zero_sum(scale: Scale, dimension: int, entropy: Entropy) -> Integers:
    """One noise vector whose elements add up to zero.

    It is drawn without looking at what it will be added to: which of the two ways is taken depends on K and T alone.
    """
    if dimension < 2:
        raise ValueError(f"dimension must be >= 2, got {dimension}")
    # Totals are about K T; a wider one than this could not be counted in 60 bits.
    if dimension < _MANY or dimension * scale.steps > LARGEST_INDEX >> 2:
        return _zero_sum_by_tries(scale, dimension, entropy)
    return _zero_sum_by_totals(scale, dimension, entropy)


def _zero_sum_by_tries(scale: Scale, dimension: int, entropy: Entropy) -> Integers:
    while True:
        first = laplace(scale, entropy, dimension - 1)
        rest = -_add_up(first)
        chance = exp_minus(abs(rest) / scale.steps)
        if count_reached(bits(entropy, WORD), WORD, [chance], entropy) == 0:
            return np.append(first, np.int64(rest))


def _zero_sum_by_totals(scale: Scale, dimension: int, entropy: Entropy) -> Integers:
    while True:
        up = geometric(scale, entropy, dimension)
        total = _add_up(up)
        chance = chance_of_total(total, scale, dimension)
        if count_reached(bits(entropy, WORD), WORD, [chance], entropy) == 0:
            return up - draw_composition(total, dimension, entropy)


# claim:total-chance
def chance_of_total(total: int, scale: Scale, parts: int) -> Interval:
    """w(total) / max w, enclosed, for w(r) = C(r+K-1, r) q^r and q = e^(-1/T).

    w(r+1) ≥ w(r) as long as (r+K) q ≥ r+1, so w is largest at ⌊(K-1) q/(1-q)⌋, where the chance is exactly 1.
    """
    mode, highest = _likeliest_total(scale, parts)
    if total == mode:
        return as_interval(1)
    fall = highest - _log_ways(total, parts) + (total - mode) / scale.steps
    return Interval(exp_minus(fall.upper).lower, exp_minus(max(fall.lower, Fraction(0))).upper)


def _find_likeliest_total(scale: Scale, parts: int) -> tuple[int, Interval]:
    """Where w is largest, and the logarithm of the number of ways to add up to it."""
    unit = 1 / scale.steps
    highest = (parts - 1) * exp_minus(unit) / one_minus_exp(unit)
    mode = int(highest.lower)
    if mode != int(highest.upper):
        raise ArithmeticError("the likeliest total needs more precision")
    return mode, _log_ways(mode, parts)


# Caches functions of public numbers only. What follows from a drawn total would reveal noise, and is not cached.
_likeliest_total = lru_cache(maxsize=64)(_find_likeliest_total)


def _log_ways(total: int, parts: int) -> Interval:
    """log C(total + parts - 1, total), but for a constant."""
    return log_factorial(total + parts - 1) - log_factorial(total)


# claim:composition-exact
def draw_composition(total: int, parts: int, entropy: Entropy) -> Integers:
    """K whole numbers ≥ 0 that add up to a total, each such vector as likely as any other.

    K - 1 bars among ``total`` stars, at places all sets of which are alike: the numbers are those of stars in between.
    """
    places = total + parts - 1
    if not places < LARGEST_INDEX:
        raise OverflowError("a total beyond 2^60 steps; use a coarser step")
    bars = draw_subset(parts - 1, places, entropy)
    return np.diff(bars, prepend=-1, append=places) - 1


# claim:subset-exact
def draw_subset(count: int, places: int, entropy: Entropy) -> Integers:
    """``count`` different integers of 0..places-1 in ascending order, all sets alike.

    As many are drawn as are missing, repeats are dropped, and so on until none is missing. How many are drawn next
    depends on how many there are, not on which they are, so the law is the same for any naming of the places.
    """
    if 2 * count > places:
        left_out = draw_subset(places - count, places, entropy)
        return np.delete(np.arange(places), left_out)
    if places <= _DENSE * count:
        marks = np.zeros(places, dtype=np.bool_)
        while missing := count - int(np.count_nonzero(marks)):
            marks[uniform_below(places, missing, entropy)] = True
        return np.flatnonzero(marks)
    subset = np.empty(0, dtype=np.int64)
    while missing := count - subset.size:
        places_drawn = np.sort(np.concatenate([subset, uniform_below(places, missing, entropy)]))
        subset = places_drawn[np.diff(places_drawn, prepend=-1) > 0]
    return subset


def _add_up(values: Integers) -> int:
    """The sum, by halves of words: a few thousand large values could add up to more than 64 bits."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def _radius(scale: Scale, dimension: int, entropy: Entropy) -> int:
    while True:
        radius = sum(geometric_one(scale, entropy) for _ in range(dimension + 1))
        numerator, denominator = (2 * radius + 1) ** dimension, 1 << dimension
        for k in range(1, dimension + 1):
            denominator *= radius + k
        if count_reached(bits(entropy, WORD), WORD, [as_interval(Fraction(numerator, denominator))], entropy) == 0:
            return radius


def uniform_below(limit: int, size: int, entropy: Entropy) -> Integers:
    """Uniform integers in 0..limit-1: random bits, drawn anew where they are too large."""
    mask = np.uint64((1 << limit.bit_length()) - 1)
    result = words(entropy, size) & mask
    while (again := np.flatnonzero(result >= np.uint64(limit))).size:
        result[again] = words(entropy, again.size) & mask
    return result.view(np.int64)
