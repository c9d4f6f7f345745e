"""Intervals of means and covariances that were drawn together."""

import numpy as np

from inbounds.inference import bounded, score, simulated, spreads
from inbounds.inference.inversion import interval as inverted
from inbounds.inference.laws import Law, noise_of
from inbounds.inference.means import of_noisy_number, of_public_number
from inbounds.inference.numbers import noise_only
from inbounds.inference.score import Noisy
from inbounds.inference.spreads import SIMULATED, Made
from inbounds.record.release import Release


def moments_table(release: Release, alpha: float, population: bool) -> Made:
    """Limits of means by their scores, and of covariances by theirs; of the table itself by the noise."""
    columns = range(len(release.axes[1]))
    clauses: tuple[str, ...]
    if population:
        means = np.array([_scored(release, column, alpha) for column in columns]).T
        lower, upper, rest, clauses = bounded.product_limits(release, alpha)
        method = f"of means {score.METHOD}; of covariances {rest}"
    else:
        lower, upper, _, clauses = spreads.of_sums(release, alpha, population)
        find = _mean_over_count if release.rows is None else _mean
        means = np.array([find(release, column, alpha) for column in columns]).T
        method = SIMULATED
        if release.rows is None:
            method = f"of means Fieller's method, with simulated noise; of covariances {SIMULATED}"
    return np.concatenate([means[0], lower]), np.concatenate([means[1], upper]), method, clauses


def normal_table(release: Release, alpha: float, population: bool) -> Made:
    """The same, with limits of covariances for normal records."""
    if not population:
        return moments_table(release, alpha, population)
    lower, upper, _, clauses = spreads.of_sums(release, alpha, population)
    means = np.array([_scored(release, column, alpha) for column in range(len(release.axes[1]))]).T
    method = f"of means {score.METHOD}; of covariances {SIMULATED}"
    return np.concatenate([means[0], lower]), np.concatenate([means[1], upper]), method, clauses


def noisy_column(release: Release, column: int) -> Noisy:
    """The noisy sums of one column of a table of moments."""
    size, counted = len(release.axes[1]), release.rows is None
    worth = np.array([float(x * unit) for x, unit in zip(release.noisy, release.units, strict=True)])
    units = np.array([float(unit) for unit in release.units])
    # The index of the diagonal element: after the columns, and the rows of the matrix above it.
    own = [counted + column, counted + size + sum(size - i for i in range(column))]
    drawn = release.places or tuple(range(len(release.noisy)))
    if release.rows is None:
        own = [0, *own]
        return of_noisy_number(release, worth[own], units[own], (0, own[1], own[2]))
    pair = float(worth[own[0]]), float(worth[own[1]])
    return of_public_number(release.parts[0], release.rows, pair, units[own], (drawn[own[0]], drawn[own[1]]))


def _scored(release: Release, column: int, alpha: float) -> tuple[float, float]:
    low, high = release.numeric_ends()[column]
    ends = score.limits(noisy_column(release, column), alpha)
    return (low + high) / 2 + (high - low) / 2 * ends[0], (low + high) / 2 + (high - low) / 2 * ends[1]


def _mean(release: Release, column: int, alpha: float) -> tuple[float, float]:
    assert release.rows is not None
    part, rows = release.parts[column], release.rows
    low, high = release.numeric_ends()[column]
    worth = float(release.units[column]) * (high - low) / 2 / rows
    places = release.places or tuple(range(len(release.noisy)))
    law = Law(noise_of(part, worth, place=places[column]), low, high)
    released = float(np.clip((low + high) / 2 + float(release.noisy[column]) * worth, low, high))
    return inverted(noise_only(law, released, low, high), released, alpha)


def _mean_over_count(release: Release, column: int, alpha: float) -> tuple[float, float]:
    low, high = release.numeric_ends()[column]
    count, total = (float(release.noisy[place] * release.units[place]) for place in (0, 1 + column))
    noise, unit = noise_of(release.parts[0]), float(release.units[1 + column])
    ends = simulated.mean_limits(count, total, noise, alpha, sampled=False, place=1 + column, worth=unit)
    return (low + high) / 2 + (high - low) / 2 * ends[0], (low + high) / 2 + (high - low) / 2 * ends[1]
