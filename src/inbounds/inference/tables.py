"""Intervals of means and covariances that were drawn together."""

import numpy as np

from inbounds.inference import bounded, score, simulated, spreads
from inbounds.inference.inversion import interval as inverted
from inbounds.inference.laws import Law, noise_of
from inbounds.inference.means import of_noisy_number, of_public_number
from inbounds.inference.numbers import noise_only
from inbounds.inference.score import Noisy
from inbounds.inference.spreads import INVERTED, SIMULATED, RawInterval
from inbounds.record.release import Release


def moments_table(release: Release, alpha: float, population: bool) -> RawInterval:
    """Limits of means and of covariances by their scores; for the table itself, by the noise."""
    columns = range(len(release.axes[1]))
    clauses: tuple[str, ...]
    if population:
        means = np.array([_limit_by_score(release, column, alpha) for column in columns]).T
        lower, upper, rest, clauses = bounded.product_limits(release, alpha)
        method = f"of means {score.METHOD}; of covariances {rest}"
    else:
        lower, upper, rest, clauses = bounded.table_limits(release, alpha)
        find = _mean_over_count if release.rows is None else _mean
        means = np.array([find(release, column, alpha) for column in columns]).T
        way = "Fieller's method, with simulated noise" if release.rows is None else INVERTED
        method = f"of means {way}; of covariances {rest}"
    return np.concatenate([means[0], lower]), np.concatenate([means[1], upper]), method, clauses


def normal_table(release: Release, alpha: float, population: bool) -> RawInterval:
    """The same, with limits of covariances for normal records."""
    if not population:
        return moments_table(release, alpha, population)
    lower, upper, _, clauses = spreads.of_sums(release, alpha, population)
    means = np.array([_limit_by_score(release, column, alpha) for column in range(len(release.axes[1]))]).T
    method = f"of means {score.METHOD}; of covariances {SIMULATED}"
    return np.concatenate([means[0], lower]), np.concatenate([means[1], upper]), method, clauses


def noisy_column(release: Release, column: int) -> Noisy:
    """The noisy sums of one column of a table of moments."""
    size, start = len(release.axes[1]), release.rows is None
    worth = np.array([float(x * unit) for x, unit in zip(release.noisy, release.units, strict=True)])
    units = np.array([float(unit) for unit in release.units])
    # The index of the diagonal element: after the columns, and the rows of the matrix above it.
    rows = [start + column, start + size + sum(size - i for i in range(column))]
    in_draw = release.places or tuple(range(len(release.noisy)))
    if release.rows is None:
        rows = [0, *rows]
        return of_noisy_number(release, worth[rows], units[rows], (0, rows[1], rows[2]))
    pair = float(worth[rows[0]]), float(worth[rows[1]])
    return of_public_number(release.parts[0], release.rows, pair, units[rows], (in_draw[rows[0]], in_draw[rows[1]]))


def _limit_by_score(release: Release, column: int, alpha: float) -> tuple[float, float]:
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
