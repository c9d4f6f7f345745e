"""Intervals of means and covariances that were drawn together."""

import numpy as np

from inbounds.expected import norm_parts
from inbounds.inference import simulated, spreads
from inbounds.inference.intervals import standard_errors
from inbounds.inference.inversion import interval as inverted
from inbounds.inference.laws import InNorm, Law, noise_of
from inbounds.inference.numbers import Integrated, NormalMixture, noise_only
from inbounds.inference.spreads import SIMULATED, Made
from inbounds.record.release import Release


def moments_table(release: Release, alpha: float, population: bool) -> Made:
    """Limits of means from the law of their noise and the released variances, and of the matrix by simulation."""
    lower, upper, _, clauses = spreads.of_sums(release, alpha, population)
    find = _mean_over_count if release.rows is None else _mean
    means = np.array([find(release, column, alpha, population) for column in range(len(release.axes[1]))]).T
    how = "Fieller's method, with simulated noise" if release.rows is None else "normal law with a released variance"
    method = f"of means {how}; of covariances {SIMULATED}" if population or release.rows is None else SIMULATED
    near = ("means are near to normal",) if population else ()
    return np.concatenate([means[0], lower]), np.concatenate([means[1], upper]), method, (*clauses, *near)


def _mean(release: Release, column: int, alpha: float, population: bool) -> tuple[float, float]:
    assert release.rows is not None
    part, rows = release.parts[column], release.rows
    low, high = release.numeric_ends()[column]
    worth = float(release.units[column]) * (high - low) / 2 / rows
    places = release.places or tuple(range(len(release.noisy)))
    law = Law(noise_of(part, worth, place=places[column]), low, high)
    released = float(np.clip((low + high) / 2 + float(release.noisy[column]) * worth, low, high))
    if not population:
        return inverted(noise_only(law, released, low, high), released, alpha)
    size, half = len(release.axes[1]), (high - low) / 2
    share = float(np.clip((released - (low + high) / 2) / half, -1, 1))
    # The index of the diagonal element: after the columns, and the rows of the matrix above it.
    place = size + sum(size - i for i in range(column))
    weights = ((places[column], -2 * share), (places[place], 0.5))
    scale = float(part.spread) * float(release.units[column]) * half**2 / (rows - 1)
    top = float(release.bounds[size + column * (size + 1)][1] or 0)
    noise = InNorm(scale, part.dimension, norm_parts(part), weights)
    variance = float(release.table[1 + column, column])
    deviations = standard_errors(Law(noise, 0.0, top), variance, rows, law.noise.scale)
    return inverted(Integrated(NormalMixture(*deviations), law, low, high), released, alpha)


def _mean_over_count(release: Release, column: int, alpha: float, population: bool) -> tuple[float, float]:
    low, high = release.numeric_ends()[column]
    count, total = (float(release.noisy[place] * release.units[place]) for place in (0, 1 + column))
    noise, unit = noise_of(release.parts[0]), float(release.units[1 + column])
    ends = simulated.mean_limits(count, total, noise, alpha, sampled=population, place=1 + column, worth=unit)
    return (low + high) / 2 + (high - low) / 2 * ends[0], (low + high) / 2 + (high - low) / 2 * ends[1]
