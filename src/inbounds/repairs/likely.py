"""Correlations from noisy covariances whose noise is known: those with the least error on average over a prior.

Where noise is as large as the variances, a noisy covariance over the root of two noisy variances lies at ±1 or anywhere
between, and 0 would be nearer to most correlations. So each correlation is the mean of its posterior, with noise taken
as normal. The prior of a variance is uniform. That of a correlation is uniform on [-1, 1] except for a weight at the
ends, without which strong correlations would be shrunk too much. The weight is a fifth where noise decides, and goes to
0 with the noise.
"""

import math

import numpy as np
import scipy

from inbounds._check import Array
from inbounds.repairs.moments import possible, scatter, symmetric

# The weight of the ends is _ENDS s/(s + _NOISE), where s is the deviation of the noise of a correlation.
_ENDS, _NOISE = 0.2, 0.1


# claim:likely-correlation
def likely_correlations(covariances: Array, deviations: Array, largest: Array) -> tuple[Array, Array]:
    """Correlations, 1 on the diagonal, from noisy covariances in the last two axes.

    It also returns the standard deviations of their posteriors.

    ``deviations`` are those of the noise of each, and ``largest`` has the largest variances. A column with a variance
    of 0 or less has correlations of 0. The matrix need not be positive semidefinite.
    """
    variances = np.diagonal(covariances, axis1=-2, axis2=-1)
    deviations_of_variances = np.diagonal(deviations, axis1=-2, axis2=-1)
    roots = np.sqrt(np.maximum(_mean_within(variances, deviations_of_variances, 0.0, largest), 1e-12 * largest))
    area = roots[..., :, None] * roots[..., None, :]
    is_positive = variances > 0
    # A matrix has each pair twice, and its diagonal is known.
    i, j = np.triu_indices(variances.shape[-1], 1)
    pairs = area[..., i, j]
    found = _posterior(covariances[..., i, j] / pairs, np.maximum(deviations[..., i, j] / pairs, 1e-12))
    means, spread = np.zeros_like(area), np.zeros_like(area)
    means[..., i, j] = means[..., j, i] = np.where(is_positive[..., i] & is_positive[..., j], found[0], 0.0)
    spread[..., i, j] = spread[..., j, i] = found[1]
    diagonal = np.arange(variances.shape[-1])
    means[..., diagonal, diagonal] = 1.0
    return means, spread


def _mean_within(x: Array, deviation: Array, low: float, high: Array) -> Array:
    """The mean of a normal law that is truncated to [low, high]."""
    # Flipped so that the nearer end is the lower one, beyond which tails keep their digits.
    is_flipped = x > (low + high) / 2
    near = np.where(is_flipped, x - high, low - x) / deviation
    far = np.where(is_flipped, x - low, high - x) / deviation
    with np.errstate(under="ignore", over="ignore"):
        # φ(near)/Q(near), by the scaled function where both vanish.
        mills = math.sqrt(2 / math.pi) / scipy.special.erfcx(near / math.sqrt(2))
        # The probability beyond the far end, relative to that beyond the near end.
        log_tail = scipy.special.log_ndtr
        beyond = np.exp(np.minimum(log_tail(-far) - log_tail(-near), 0.0))
        at_far = np.exp((near**2 - far**2) / 2)
        shift = mills * (1 - at_far) / np.maximum(1 - beyond, 1e-12)
    mean = x + deviation * np.where(is_flipped, -shift, shift)
    return np.asarray(np.clip(mean, low, high))


def _posterior(x: Array, s: Array) -> tuple[Array, Array]:
    """Mean and deviation of the posterior of a number in [-1, 1], given x, which has noise with the deviation s."""
    ends = _ENDS * s / (s + _NOISE)
    high, low = (1 - x) / s, (-1 - x) / s
    is_flipped = x > 0
    near, far = np.where(is_flipped, -high, low), np.where(is_flipped, -low, high)
    log_tail, log_root = scipy.special.log_ndtr, math.log(math.sqrt(2 * math.pi))
    with np.errstate(under="ignore"):
        between = log_tail(-near) + np.log1p(-np.exp(np.minimum(log_tail(-far) - log_tail(-near), -1e-12)))
        logs = np.stack(
            [
                between + np.log((1 - ends) / 2),
                -(high**2) / 2 - log_root - np.log(s) + np.log(ends / 2),
                -(low**2) / 2 - log_root - np.log(s) + np.log(ends / 2),
            ]
        )
        weights = np.exp(logs - logs.max(axis=0))
        # φ at the ends, over the probability between them.
        edges = np.exp(-(high**2) / 2 - log_root - between) + np.exp(-(low**2) / 2 - log_root - between)
    inside = _mean_within(x, s, -1.0, np.ones_like(x))
    squares = np.clip(s**2 + x * inside - s * edges, inside**2, 1.0)
    total = weights.sum(axis=0)
    mean = np.clip((weights[0] * inside + weights[1] - weights[2]) / total, -1.0, 1.0)
    square = (weights[0] * squares + weights[1] + weights[2]) / total
    return mean, np.sqrt(np.maximum(square - mean**2, 0.0))


def correlations_of(cells: Array, noise: Array | None, repair: str) -> Array:
    """Flat correlation matrices from counts, Σu and Σ(2u² - 1) or Σ u_i u_j, whose noise has these variances.

    Without noise they are those of the cells.
    """
    covariances = _covariances(cells)
    if noise is not None:
        covariances, _ = likely_correlations(covariances, _deviations(cells, noise), _largest(cells))
    flat = covariances.reshape(*cells.shape[:-1], -1)
    return possible(flat, repair, unit=True)


def posterior_deviations(cells: Array, noise: Array) -> Array:
    """The deviation of each correlation of cells with such noise, before a repair: flat matrices."""
    _, deviations = likely_correlations(_covariances(cells), _deviations(cells, noise), _largest(cells))
    return deviations.reshape(*cells.shape[:-1], -1)


def settle(cells: Array, noise: Array, correlations: Array) -> Array:
    """Cells like these whose correlations, without noise, are the given ones, and whose variances are likely."""
    counts, means = _counts(cells), _means(cells)
    size = means.shape[-1]
    deviations, most = np.diagonal(_deviations(cells, noise), axis1=-2, axis2=-1), _largest(cells)
    variances = np.diagonal(_covariances(cells), axis1=-2, axis2=-1)
    roots = np.sqrt(np.maximum(_mean_within(variances, deviations, 0.0, most), 1e-12 * most))
    i, j = np.triu_indices(size)
    seconds = correlations.reshape(*cells.shape[:-1], size, size)[..., i, j] * roots[..., i] * roots[..., j]
    seconds = seconds + counts * means[..., i] * means[..., j]
    seconds = np.where(i == j, 2 * seconds - counts, seconds)
    return np.concatenate([counts, counts * means, seconds], axis=-1)


def _columns(cells: Array) -> int:
    """Columns of cells, which have a count, d sums and d(d+1)/2 products."""
    return (math.isqrt(8 * cells.shape[-1] + 1) - 3) // 2


def _counts(cells: Array) -> Array:
    return np.maximum(cells[..., :1], 2.0)


def _means(cells: Array) -> Array:
    return np.clip(cells[..., 1 : 1 + _columns(cells)] / _counts(cells), -1.0, 1.0)


def _covariances(cells: Array) -> Array:
    """Full matrices of Σ(u - mean)(v - mean)."""
    size = _columns(cells)
    return symmetric(scatter(cells, np.ones(size))[1]).reshape(*cells.shape[:-1], size, size)


def _largest(cells: Array) -> Array:
    """The largest Σ(u - mean)² for these counts and means."""
    return np.asarray(_counts(cells) * np.maximum(1 - _means(cells) ** 2, 1e-3))


def _deviations(cells: Array, noise: Array) -> Array:
    """The deviations of the noise of the elements: of z_ij - m_i z_j - m_j z_i and m_i m_j times that of a count."""
    means, size = _means(cells) ** 2, _columns(cells)
    i, j = np.triu_indices(size)
    count, sums, products = noise[0], noise[1 : 1 + size], noise[1 + size :]
    off_diagonal = products + means[..., i] * sums[j] + means[..., j] * sums[i] + means[..., i] * means[..., j] * count
    diagonal = products / 4 + 4 * means[..., i] * sums[i] + (means[..., i] + 0.5) ** 2 * count
    return symmetric(np.sqrt(np.where(i == j, diagonal, off_diagonal))).reshape(*cells.shape[:-1], size, size)
