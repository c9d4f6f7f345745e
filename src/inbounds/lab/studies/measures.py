"""What is measured of estimates and intervals over repetitions, each with its Monte-Carlo standard error.

============ ==================================================================================== ====================
mean, bias   of the estimates; bias is against the true value                                     σ/√R
sd, rmse     spread about the mean, and error about the true value                                delta method
q2.5..q97.5  percentiles: the least estimate with so many at or below it                          order statistics
at_lower     share of estimates that are exactly the least (largest) value that is possible       binomial
undefined    share of repetitions without an estimate; the other measures leave them out          binomial
coverage     share of intervals with the true value in them                                       binomial
width        mean width of the intervals                                                          σ/√R
============ ==================================================================================== ====================

Binomial standard errors are √(p(1-p)/R) at p = (x + ½)/(R + 1), so that none is zero.
"""

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from inbounds._check import Array

PERCENTILES = (2.5, 25.0, 50.0, 75.0, 97.5)
MEASURES = (
    "mean",
    "bias",
    "sd",
    "rmse",
    *(f"q{percentile:g}" for percentile in PERCENTILES),
    "at_lower",
    "at_upper",
    "undefined",
    "coverage",
    "width",
)
# Sums of shares and ends of intervals may be off by this much; values that differ by less are the same.
_ROUNDING = 1e-12
# For each of `MEASURES` its values and their standard errors, one for each quantity; NaN where there is none.
Summary: TypeAlias = tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]


# claim:study-measures
def summarise(estimates: Array, lower: Array | None, upper: Array | None, truths: Array, limits: Array) -> Summary:
    """All measures of repetitions × quantities."""
    # Sums run along memory.
    by_quantity = np.ascontiguousarray(estimates.T)
    count = by_quantity.shape[1]
    undefined = np.isnan(by_quantity)
    missing = undefined.any(axis=1)
    figures = _of_estimates(by_quantity, truths, limits)
    for place in np.flatnonzero(missing):
        # Few quantities are ever undefined. These are summarised one by one, without their undefined repetitions.
        rest = by_quantity[[place]][:, ~undefined[place]]
        enough = rest.shape[1] > 1
        figures[:, :, place] = _of_estimates(rest, truths[[place]], limits[[place]])[:, :, 0] if enough else np.nan
    lacking = undefined.sum(axis=1) if missing.any() else np.zeros(len(truths))
    shares = np.array(_share(lacking, count))
    of_intervals = _of_intervals(lower, upper, truths)
    values, errors = np.concatenate([figures, shares[:, None], of_intervals], axis=1)
    return tuple(zip(map(tuple, values.tolist()), map(tuple, errors.tolist()), strict=True))


def _of_intervals(lower: Array | None, upper: Array | None, truths: Array) -> Array:
    """Coverage and width, of the intervals that there are: values and standard errors × measures × quantities."""
    figures = np.full((2, 2, len(truths)), np.nan)
    if lower is None or upper is None:
        return figures
    slack = _ROUNDING * np.maximum(np.abs(truths), 1.0)
    hits = ((lower - slack <= truths) & (truths <= upper + slack)).T
    width = np.ascontiguousarray((upper - lower).T)
    exists = ~np.isnan(width)
    for place, count in enumerate(exists.sum(axis=1).tolist()):
        if count > 1:
            every = count == width.shape[1]
            widths = width[[place]] if every else width[[place]][:, exists[place]]
            figures[:, 0, place] = _share(np.count_nonzero(hits[place]), count)
            figures[:, 1, place] = np.ravel(_mean(widths))
    return figures


def _mean(values: Array) -> tuple[Array, Array]:
    """Means along the last axis, with their standard errors."""
    mean = values.mean(axis=1)
    about = values - mean[:, None]
    return mean, np.sqrt(_dot(about, about)) / values.shape[1]


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("qr,qr->q", a, b))


def _of_estimates(estimates: Array, truths: Array, limits: Array) -> Array:
    """Everything up to at_upper, of quantities × repetitions: values and standard errors × measures × quantities."""
    count = estimates.shape[1]
    off = estimates - truths[:, None]
    bias = off.mean(axis=1)
    about = off - bias[:, None]
    sd, of_sd = _root_mean_square(about)
    rmse, of_rmse = _root_mean_square(off)
    of_mean = sd / np.sqrt(count)
    percentiles, of_percentiles = _percentiles(estimates)
    values = [bias + truths, bias, sd, rmse, *percentiles]
    errors = [of_mean, of_mean, of_sd, of_rmse, *of_percentiles]
    for side in (0, 1):
        limit = limits[:, [side]]
        at_limit = np.abs(estimates - limit) <= _ROUNDING * np.maximum(np.abs(limit), 1.0)
        share, deviation = _share(np.count_nonzero(at_limit, axis=1), count)
        some = ~np.isnan(limits[:, side])
        values.append(np.where(some, share, np.nan))
        errors.append(np.where(some, deviation, np.nan))
    return np.array([values, errors])


def _root_mean_square(values: Array) -> tuple[Array, Array]:
    """The root of the mean square, with its standard error by the delta method."""
    squares = values * values
    mean, error = _mean(squares)
    root = np.sqrt(mean)
    return root, np.divide(error, 2 * root, out=np.zeros_like(root), where=root > 0)


def _percentiles(estimates: Array) -> tuple[Array, Array]:
    """Percentiles and their standard errors: half the distance between the order statistics a deviation away."""
    places, indices = _places(estimates.shape[1])
    # A copy: partitioning must not reorder the caller's array.
    columns = estimates.copy()
    columns.partition(indices, axis=1)
    low, at, high = (columns[:, place].T for place in places)
    return at, (high - low) / 2


@lru_cache(maxsize=64)
def _places(count: int) -> tuple[Any, Any]:
    """The places of percentiles among sorted repetitions, of those a standard deviation below and above, and all."""
    levels = np.array(PERCENTILES) / 100
    middle = np.ceil(levels * count - 1e-9).astype(int) - 1
    away = np.maximum(np.rint(np.sqrt(count * levels * (1 - levels))).astype(int), 1)
    places = np.clip([middle - away, middle, middle + away], 0, count - 1)
    return places, np.unique(places)


def _share(count: Any, of: int) -> tuple[Array, Array]:
    """A share and its standard error."""
    smooth = (count + 0.5) / (of + 1)
    return count / of, np.sqrt(smooth * (1 - smooth) / of)
