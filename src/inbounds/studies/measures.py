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

from typing import TypeAlias

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
# For each of `MEASURES` its values and their standard errors, one for each quantity; NaN where there is none.
Summary: TypeAlias = tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]


def summarise(estimates: Array, lower: Array | None, upper: Array | None, truths: Array, limits: Array) -> Summary:
    """claim:study-measures. All measures of repetitions × quantities."""
    undefined = np.isnan(estimates)
    missing = undefined.any(axis=0)
    found = _of_estimates(estimates, truths, limits)
    for place in np.flatnonzero(missing):
        # Few quantities are ever undefined; these are done one by one without the repetitions that are.
        kept = estimates[~undefined[:, place], place][:, None]
        alone = _of_estimates(kept, truths[[place]], limits[[place]]) if len(kept) > 1 else np.full((2, 11, 1), np.nan)
        found[:, :, place] = alone[:, :, 0]
    shares = np.stack(_share(undefined.sum(axis=0), len(estimates)))
    covered = np.full((2, 2, len(truths)), np.nan)
    if lower is not None and upper is not None:
        covered[:, 0] = _share(((lower <= truths) & (truths <= upper)).sum(axis=0), len(estimates))
        width = upper - lower
        covered[:, 1] = width.mean(axis=0), width.std(axis=0) / np.sqrt(len(width))
        covered[:, :, np.isnan(covered[0, 1])] = np.nan
    values, errors = np.concatenate([found, shares[:, None], covered], axis=1)
    return tuple((tuple(v.tolist()), tuple(e.tolist())) for v, e in zip(values, errors, strict=True))


def _of_estimates(estimates: Array, truths: Array, limits: Array) -> Array:
    """Everything up to at_upper: values and standard errors × measures × quantities."""
    count = len(estimates)
    off = estimates - truths
    bias = off.mean(axis=0)
    about = off - bias
    squares = about * about
    variance = squares.mean(axis=0)
    sd, error = np.sqrt(variance), off * off
    rmse = np.sqrt(error.mean(axis=0))
    of_mean = sd / np.sqrt(count)
    with np.errstate(invalid="ignore", divide="ignore"):
        of_sd, of_rmse = (
            np.where(root > 0, square.std(axis=0) / (2 * root), 0.0) / np.sqrt(count)
            for root, square in ((sd, squares), (rmse, error))
        )
    percentiles, of_percentiles = _percentiles(estimates)
    ends = [_share((estimates == limits[:, side]).sum(axis=0), count, limits[:, side]) for side in (0, 1)]
    values = [bias + truths, bias, sd, rmse, *percentiles, *(share for share, _ in ends)]
    errors = [of_mean, of_mean, of_sd, of_rmse, *of_percentiles, *(deviation for _, deviation in ends)]
    return np.array([values, errors])


def _percentiles(estimates: Array) -> tuple[Array, Array]:
    """Percentiles and their standard errors: half the distance between the order statistics a deviation away."""
    count = len(estimates)
    levels = np.array(PERCENTILES) / 100
    middle = np.ceil(levels * count - 1e-9).astype(int) - 1
    away = np.maximum(np.rint(np.sqrt(count * levels * (1 - levels))).astype(int), 1)
    places = np.clip([middle - away, middle, middle + away], 0, count - 1)
    columns = np.ascontiguousarray(estimates.T)
    columns.partition(np.unique(places), axis=1)
    low, at, high = (columns[:, place].T for place in places)
    return at, (high - low) / 2


def _share(count: Array, of: int, limit: Array | None = None) -> tuple[Array, Array]:
    """A share and its standard error; NaN where there is no limit to be at."""
    smooth = (count + 0.5) / (of + 1)
    share, error = count / of, np.sqrt(smooth * (1 - smooth) / of)
    if limit is None:
        return share, error
    return np.where(np.isnan(limit), np.nan, share), np.where(np.isnan(limit), np.nan, error)
