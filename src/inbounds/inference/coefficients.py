"""Intervals of the coefficients of a released regression, by the fit to the moments that it was computed from."""

import numpy as np
import scipy

from inbounds._check import Array
from inbounds.inference.regression import Regression, regression
from inbounds.inference.score import draw_joint
from inbounds.inference.spreads import SIMULATED, Made
from inbounds.record.release import Release

_NOT_IDENTIFIED = "none: coefficients are not identified"


def fit_moments(moments: Release, level: float = 0.95) -> Regression:
    """The regression of the first column of released moments on the others."""
    outcome, *regressors = moments.axes[1]
    return regression(moments, outcome, regressors, level=level)


def limit_coefficients(release: Release, moments: Release, alpha: float, population: bool) -> Made:
    """Limits of the intercept and the slopes; none where the noise hides them.

    For the population slopes have those of `regression`. The intercept, and all of them for the table itself, have
    simulated noise about the released numbers, widened by as much as theirs.
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
    # Noise moves the truth to what was released, so that its errors are taken off.
    off = release.derivation.values(release.worth() - noise, limits) - values
    deviations = np.zeros(len(values))
    if population:
        deviations[0] = _deviation_of_intercept(moments, fit)
    reach = np.array([_reach(off[:, k], deviations[k], alpha) for k in range(len(values))]) / (1 - fit.noise_ratio)
    lower, upper = values - reach, values + reach
    if not population:
        return lower, upper, SIMULATED, ()
    lower[1:], upper[1:] = fit.lower, fit.upper
    return lower, upper, SIMULATED, (fit.assumption.partition("; ")[2],)


def _deviation_of_intercept(moments: Release, fit: Regression) -> float:
    """The sampling error of the intercept: s √(1/n + m'S⁻¹m/(n - 1))."""
    assert moments.rows is not None
    ends, matrix = moments.numeric_ends(), moments.value.covariance
    halves = (ends[1:, 1] - ends[1:, 0]) / 2
    means = fit.means / halves
    spread = means @ np.linalg.solve(matrix[1:, 1:] / np.outer(halves, halves), means)
    return fit.residual_deviation * float(np.sqrt(1 / moments.rows + spread / (moments.rows - 1)))


def _reach(noise: Array, deviation: float, alpha: float) -> float:
    """How far a normal error and noise go together, but for a probability of alpha."""
    if deviation == 0.0:
        return float(np.quantile(np.abs(noise), 1 - alpha))
    low, high = 0.0, 10 * deviation + float(np.abs(noise).max())
    for _ in range(50):
        middle = (low + high) / 2
        inside = scipy.special.ndtr((middle - noise) / deviation) - scipy.special.ndtr((-middle - noise) / deviation)
        low, high = (low, middle) if float(inside.mean()) >= 1 - alpha else (middle, high)
    return high
