"""Vectors that sum to one: four ways to repair noisy shares, and the same for counts with a public total.

All of it is post-processing: functions of released numbers. Arrays are handled along their last axis.

========== ==================================================================================================
rescale     negatives to 0, then divided by the sum; where all are 0, equal shares
all-but-one one share is 1 minus the others; where that is negative it is 0, and the others are rescaled
project     the nearest vector of the simplex (Euclidean)
tree        shares of groups, split among their members (`inbounds.repairs.tree`)
========== ==================================================================================================
"""

import numpy as np

from inbounds import _check
from inbounds._check import Array
from inbounds.grid.geometric import Integers


# claim:simplex-rescale
def rescale(shares: Array) -> Array:
    """Shares divided by their sum; equal shares if all are 0 (without drawing again).

    >>> rescale(np.array([0.3, -0.1, 0.3])).tolist()
    [0.5, 0.0, 0.5]
    """
    positive = np.maximum(_vectors(shares), 0.0)
    total = positive.sum(axis=-1, keepdims=True)
    return np.where(total > 0, positive / np.where(total > 0, total, 1.0), 1.0 / positive.shape[-1])


# claim:simplex-all-but-one
def all_but_one(shares: Array, derived: int) -> Array:
    """The share ``derived`` is 1 minus the others.

    The others are clipped to [0, 1]. If their sum exceeds 1, ``derived`` is 0 and they are divided by their sum.
    """
    clipped = np.clip(_vectors(shares), 0.0, 1.0)
    place = _check.integer(derived, "derived", least=0)
    if place >= clipped.shape[-1]:
        raise ValueError(f"derived must be the place of a share, below {clipped.shape[-1]}, got {place}")
    clipped[..., place] = 0.0
    total = clipped.sum(axis=-1, keepdims=True)
    result: Array = clipped / np.maximum(total, 1.0)
    result[..., place] = np.maximum(1.0 - total[..., 0], 0.0)
    return result


# claim:simplex-project
def project(shares: Array, total: float = 1.0) -> Array:
    """The nearest vector with no negative element and the given sum (Held et al. 1974).

    This is max(x - θ, 0) with the θ that gives the right sum, which is found from the sorted elements.

    >>> project(np.array([0.9, 0.5, -0.2])).round(6).tolist()
    [0.7, 0.3, 0.0]
    """
    x = _vectors(shares)
    # Shifting all of them by the same amount changes nothing, and the largest one keeps its digits next to the total.
    x = x - x.max(axis=-1, keepdims=True)
    falling = -np.sort(-x, axis=-1)
    excess = np.cumsum(falling, axis=-1) - total
    counts = np.arange(1, x.shape[-1] + 1)
    positive = (falling * counts > excess).sum(axis=-1, keepdims=True)
    threshold = np.take_along_axis(excess, positive - 1, axis=-1) / positive
    result = np.maximum(x - threshold, 0.0)
    # Correct the rounding error by a factor, which is too close to 1 to break a bound.
    return np.asarray(result * (total / result.sum(axis=-1, keepdims=True)))


# claim:simplex-whole
def whole(counts: Array, total: int) -> Array:
    """The nearest vector of whole numbers ≥ 0 with the given sum.

    It is the projection, rounded down, with one more for the largest remainders until the sum is right. Whole counts
    all have the same remainder: then everything is computed in integers, so that it is the same on every machine, and
    `_choose_alike` decides which counts get one more.
    """
    total = _check.integer(total, "total", least=0)
    x = _vectors(counts)
    if total == 0:
        return np.zeros_like(x)
    if not (x == np.rint(x)).all():
        return _round_projection(x, total)
    rows, size = x.reshape(-1, x.shape[-1]), max(1, _BLOCK // x.shape[-1])
    blocks = [_nearest_integers(rows[i : i + size].astype(np.int64), total) for i in range(0, len(rows), size)]
    return np.concatenate(blocks).astype(np.float64).reshape(x.shape)


# How many numbers are projected at once.
_BLOCK = 1 << 20


def _round_projection(x: Array, total: int) -> Array:
    near = project(x, float(total))
    down = np.floor(near + 1e-9)
    lacking = np.rint(total - down.sum(axis=-1)).astype(int)
    order = np.argsort(-(near - down), axis=-1, kind="stable")
    rank = np.argsort(order, axis=-1, kind="stable")
    return np.asarray(down + (rank < lacking[..., None]))


def _nearest_integers(x: Integers, total: int) -> Integers:
    """Rows of whole numbers: max(x - t, 0) with the least whole t whose sum is not too large, plus what is missing."""
    # A count that is further below the largest becomes 0. Clipped like this, sums of ten million counts fit 64 bits.
    top = x.max(axis=-1, keepdims=True)
    falling = -np.sort(-np.maximum(x, top - (total + 1)), axis=-1)
    excess = np.cumsum(falling - top, axis=-1) - total
    counts = np.arange(1, x.shape[-1] + 1)
    positive = ((falling - top) * counts > excess).sum(axis=-1, keepdims=True)
    threshold = top - (-np.take_along_axis(excess, positive - 1, axis=-1) // positive)
    below = np.maximum(x - threshold, 0)
    return np.asarray(below + _choose_alike(x, falling, threshold, total - below.sum(axis=-1, keepdims=True)))


def _choose_alike(x: Integers, falling: Integers, threshold: Integers, lacking: Integers) -> Integers:
    """Which counts that are not below the threshold t get one more: all choices are equally near.

    Noise is symmetric, so among the counts at t as many belong to empty cells as there are counts at -t. If these are
    more than half of them, the largest counts are chosen, and counts close to 0 become 0; otherwise the smallest are
    chosen. Among equal counts the choices are spread evenly, so that no part of a table gets more than its share.
    """
    able = (x >= threshold).sum(axis=-1, keepdims=True)
    at, mirrored = ((x == place).sum(axis=-1, keepdims=True) for place in (threshold, -threshold))
    largest = 2 * mirrored > at
    place = np.clip(np.where(largest, lacking - 1, able - lacking), 0, x.shape[-1] - 1)
    border = np.take_along_axis(falling, place, axis=-1)
    mask = np.where(largest, x > border, (x < border) & (x >= threshold)) & (lacking > 0)
    equal = (x == border) & (lacking > 0)
    rest = lacking - mask.sum(axis=-1, keepdims=True)
    rank, of = np.cumsum(equal, axis=-1), np.maximum(equal.sum(axis=-1, keepdims=True), 1)
    spread = rank * rest // of > (rank - 1) * rest // of
    return np.asarray(mask | (equal & spread), dtype=np.int64)


# claim:simplex-likeliest
def likeliest(counts: Array, total: int) -> Array:
    """The likeliest whole numbers ≥ 0 with the given sum under noise ∝ e^(-Σ|z|/T).

    Negative counts become 0, and what they lacked is taken from the smallest of the others. All choices are equally
    likely under the noise, and small counts may be noise alone. Among equal counts the outermost come first. Everything
    is computed in integers, so that it is the same on every machine.

    >>> likeliest(np.array([7.0, -3.0, 1.0, 5.0]), 10).tolist()
    [7.0, 0.0, 0.0, 3.0]
    """
    total = _check.integer(total, "total", least=0)
    rows = _vectors(counts)
    x = np.maximum(np.rint(rows.reshape(-1, rows.shape[-1])), 0.0).astype(np.int64)
    count, place = x.shape[-1], np.arange(x.shape[-1])
    outermost = np.argsort(np.minimum(place, count - 1 - place), kind="stable")
    order = outermost[np.argsort(x[:, outermost], axis=-1, kind="stable")]
    rising = np.take_along_axis(x, order, axis=-1)
    below = np.cumsum(rising, axis=-1) - rising
    excess = rising.sum(axis=-1, keepdims=True) - total
    rising = rising - np.clip(excess - below, 0, rising)
    # After rounding, counts may add up to too little.
    rising[:, -1:] += np.maximum(-excess, 0)
    result = np.empty_like(x)
    np.put_along_axis(result, order, rising, axis=-1)
    return np.asarray(result.reshape(rows.shape), dtype=np.float64)


# claim:simplex-round-sums
def round_sums(counts: Array, total: int) -> Array:
    """Whole numbers ≥ 0 whose sums over ranges from the first on are those of ``counts``,
    rounded, so that the sum over any range is off by less than one; all of them add up to ``total``.

    >>> round_sums(np.array([0.4, 0.4, 0.4, 1.8]), 3).tolist()
    [0.0, 1.0, 0.0, 2.0]
    """
    # Numbers halfway between two whole numbers are common. Their last digits must not decide how they are rounded.
    ends = np.floor(np.cumsum(_vectors(counts), axis=-1) + 0.5 + 1e-9)
    ends[..., -1] = total
    return np.asarray(np.diff(ends, axis=-1, prepend=0.0))


def _vectors(values: Array) -> Array:
    array = np.array(values, dtype=np.float64)
    if array.ndim < 1 or array.shape[-1] < 1:
        raise ValueError("shares must be a vector with an element or more")
    if not np.isfinite(array).all():
        raise ValueError("shares must be finite")
    return array
