"""Intervals of the coefficients of a released regression, by the fit to the moments that it was computed from."""

import numpy as np
import scipy

from inbounds._check import Array
from inbounds.inference.regression import Regression, regression
from inbounds.inference.score import draw_joint, rare
from inbounds.inference.spreads import SIMULATED, RawInterval
from inbounds.record.release import Release

_NOT_IDENTIFIED = "none: coefficients are not identified"


def fit_moments(moments: Release, level: float = 0.95) -> Regression:
    """The regression of the first column of released moments on the others."""
    outcome, *regressors = moments.axes[1]
    return regression(moments, outcome, regressors, level=level)


def limit_coefficients(release: Release, moments: Release, alpha: float, population: bool) -> RawInterval:
    """Limits of the intercept and the slopes; none where the noise hides them.

    For the population, slopes have the limits of `regression`, which hold whatever the variances of the residuals are.
    For the intercept, and for all coefficients of the table itself, noise is simulated around the released numbers, and
    limits are widened as much as theirs.
    """
    fit = fit_moments(moments, 1 - alpha)
    values = np.array(release.flat_values(), float)
    if not fit.identified:
        nowhere = np.full(len(values), np.inf)
        return -nowhere, nowhere, _NOT_IDENTIFIED, ()
    places = release.places or tuple(range(len(release.noisy)))
    units = np.array([float(unit) for unit in release.units])
    noise = draw_joint(release.parts[0], places) * units
    limits = release.limits()
    # Noise moves the truth to what was released, so its errors are subtracted.
    off = release.derivation.values(release.worth() - noise, limits) - values
    deviations = np.zeros(len(values))
    if population:
        deviations[0] = _deviation_of_intercept(moments, fit, alpha)
    reach = np.array([_reach(off[:, k], deviations[k], alpha) for k in range(len(values))]) / (1 - fit.noise_ratio)
    lower, upper = values - reach, values + reach
    if not population:
        return lower, upper, SIMULATED, ()
    lower[1:], upper[1:] = fit.lower, fit.upper
    return lower, upper, SIMULATED, (fit.assumption.partition("; ")[2],)


def _deviation_of_intercept(moments: Release, fit: Regression, alpha: float) -> float:
    """The largest sampling error of the intercept, whatever the variances of the residuals are.

    It is the mean of v e, with e the residual and v = 1 - m'S⁻¹(x - m). E v²e² is at most max v² E e² and max e² E v²;
    records that nobody saw are added, as for slopes.
    """
    assert moments.rows is not None
    ends, means = moments.numeric_ends(), np.asarray(moments.value.mean)
    halves = (ends[:, 1] - ends[:, 0]) / 2
    places = (means - ends.mean(axis=1)) / halves
    inner = moments.value.covariance[1:, 1:] / np.outer(halves[1:], halves[1:])
    weights = np.linalg.solve(inner, means[1:] / halves[1:])
    slopes = fit.coefficients * halves[1:] / halves[0]
    farthest = (abs(1 + weights @ places[1:]) + np.abs(weights).sum()) ** 2
    reach = (halves[0] * (1 + np.abs(slopes).sum() + abs(places[0] - slopes @ places[1:]))) ** 2
    largest = min(fit.residual_deviation**2 * farthest, reach * (1 + weights @ inner @ weights))
    largest += rare(alpha) / moments.rows * farthest * reach
    return float(np.sqrt(largest / max(moments.rows - len(slopes) - 1, 1)))


def _reach(noise: Array, deviation: float, alpha: float) -> float:
    """How far a normal error and noise reach together, except with a probability of alpha."""
    if deviation == 0.0:
        return float(np.quantile(np.abs(noise), 1 - alpha))
    low, high = 0.0, 10 * deviation + float(np.abs(noise).max())
    for _ in range(50):
        middle = (low + high) / 2
        inside = scipy.special.ndtr((middle - noise) / deviation) - scipy.special.ndtr((-middle - noise) / deviation)
        low, high = (low, middle) if float(inside.mean()) >= 1 - alpha else (middle, high)
    return high
