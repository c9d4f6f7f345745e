"""Intervals of variances, covariances and correlations from noisy sums, whatever the law of the records.

Values are u in [-1, 1]. C is the number of records, public or noisy, and A_i and P_ij are the noisy Σu_i and Σu_i u_j.
With the means m of the population, the score of a covariance γ

    S = P_ij - m_i A_j - m_j A_i + (m_i m_j - γ) C

has mean 0, and its noise is the same sum of certified noise. Its sampling variance is that of
w = (u_i - m_i)(u_j - m_j) over all records, a fourth moment, which the record does not have. The record has bounds on
it, with R = 1 + |m| the farthest that a value can be from its mean and v its variance:

- for a variance γ(R² - γ), the largest that a value in [0, R²] with that mean can have (Bhatia and Davis 2000);
- for a covariance the smaller of R_i² v_j and R_j² v_i;
- for a correlation ρ, whose w is xy - ρ(x² + y²)/2 in standard units, (1 - ρ²)(R_i/√v_i + R_j/√v_j)²/4, since
  w is ((1 - ρ)(x + y)² - (1 + ρ)(x - y)²)/4 and |x ± y| is at most the sum of the R/√v.

When a γ or ρ is tried, the larger of it and the released value counts, because rare records that were in the sample are
in one of them, and rare records that were not are in the other. To the bound of a covariance, whose v are released
ones, unseen records are added as for means (`inbounds.inference.score`). Means, and for correlations variances, are
tried at the ends of separate intervals, for each of which a twentieth of α is set aside.

Coverage is shown by simulation, not proved: `bench/products.py` has the laws that were tried.

For the table itself m are its means and γ its covariance, with the denominator C - 1. Then

    P_ij - m_i A_j - m_j A_i + m_i m_j C - γ (C - 1)

is noise alone, whatever the records are, and a γ is kept if that much noise is not in a tail.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from inbounds._check import Array
from inbounds.inference import score
from inbounds.inference.candidates import Draws, Ends, Scores, find_limits
from inbounds.inference.simulated import enough_draws
from inbounds.inference.spreads import noisy_cells
from inbounds.record.release import Release

METHOD = "score interval from noisy sums of products, with the largest sampling error that means and variances allow"
TABLE = "score interval from noisy sums of products, whose noise is known"
# How many draws of noise are used; more if tails are thin, but not for all pairs of many columns.
_DRAWS, _MORE_DRAWS, _THIN, _MANY = 4096, 16_384, 0.02, 20
# What is set aside for each mean and variance, as a part of α.
_APART = 1 / 20


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Noisy sums of one group: its number of records, Σu of each column, and Σu_i u_j of each pair.

    ``draw`` has draws of the noise of some of these: of the number, of the sums of two columns, of their squares and
    of their product.
    """

    count: float
    totals: Array
    products: Array
    draw: Callable[[int, int], Array]


def list_sums(release: Release, alpha: float, *, table: bool = False) -> list[Sums]:
    """The noisy sums of each group of a release that is computed from them; one entry for all records.

    For the ``table`` itself noise is all that there is, so that more draws of it are used.
    """
    part = release.parts[0]
    size = len(release.numeric_ends())
    public = release.derivation.rows is not None
    cells = noisy_cells(release, size)
    start = 0 if public else 1
    length = cells.shape[1] - public
    units = np.array([float(unit) for unit in release.units[:length]])
    places = release.places or tuple(range(length))
    place = np.zeros((size, size), dtype=int)
    place[np.triu_indices(size)] = np.arange(size * (size + 1) // 2)
    place = np.maximum(place, place.T) + start + size
    draws = _MORE_DRAWS if (table or alpha < _THIN) and size <= _MANY else _DRAWS

    def draw(i: int, j: int) -> Array:
        """Noise of the number, of Σu_i and Σu_j, of Σu_i² and Σu_j², and of Σu_i u_j."""
        indices = [start + i, start + j, int(place[i, i]), int(place[j, j]), int(place[i, j])]
        indices = indices if public else [0, *indices]
        noise = score.draw_joint(part, tuple(places[k] for k in indices), draws) * units[indices]
        noise = noise if not public else np.concatenate([np.zeros((len(noise), 1)), noise], axis=1)
        for column in (3, 4, *((5,) if i == j else ())):
            noise[:, column] = (noise[:, column] + noise[:, 0]) / 2
        return noise

    groups = []
    rows, columns = np.triu_indices(size)
    for cell in cells:
        count, totals = float(cell[0]), cell[1 : 1 + size]
        squares = np.where(rows == columns, (cell[1 + size :] + count) / 2, cell[1 + size :])
        matrix = np.zeros((size, size))
        matrix[rows, columns] = matrix[columns, rows] = squares
        groups.append(Sums(count, totals, matrix, lru_cache(maxsize=2)(draw)))
    return groups


# claim:products-interval
def matrix_limits(sums: Sums, alpha: float, *, correlation: bool) -> tuple[Array, Array]:
    """Limits of a whole matrix of covariances of u, or of correlations."""
    size, apart = len(sums.totals), _APART * alpha
    enough_draws(alpha, len(sums.draw(0, 0)))
    lower, upper = np.ones((size, size)), np.ones((size, size))
    means = [limits_of_mean(sums, i, apart) for i in range(size)]
    spans = [limits_of_variance(sums, i, means[i], apart) for i in range(size)] if correlation else []
    for i in range(size):
        for j in range(i, size):
            if i == j and correlation:
                continue
            if i == j:
                ends = limits_of_variance(sums, i, means[i], alpha - apart)
            elif correlation:
                ends = limits_of_correlation(
                    sums, (i, j), (means[i], means[j]), (spans[i], spans[j]), alpha - 4 * apart
                )
            else:
                ends = limits_of_covariance(sums, (i, j), (means[i], means[j]), alpha - 2 * apart)
            (lower[i, j], upper[i, j]) = (lower[j, i], upper[j, i]) = ends
    return lower, upper


# claim:products-of-table
def table_limits(sums: Sums, alpha: float) -> tuple[Array, Array]:
    """Limits of the covariances of u in the table itself, where only noise is uncertain."""
    size, apart = len(sums.totals), _APART * alpha
    enough_draws(alpha, len(sums.draw(0, 0)))
    lower, upper = np.empty((size, size)), np.empty((size, size))
    means = [_mean_of_table(sums, i, apart) for i in range(size)]
    for i in range(size):
        for j in range(i, size):
            asked = alpha - (1 if i == j else 2) * apart
            ends = _covariance_of_table(sums, (i, j), (means[i], means[j]), asked)
            (lower[i, j], upper[i, j]) = (lower[j, i], upper[j, i]) = ends
    return lower, upper


def _mean_of_table(sums: Sums, column: int, alpha: float) -> Ends:
    if sums.count <= 1:
        return -1.0, 1.0
    draws = Draws.of(sums.draw(column, column))
    scores = Scores(float(sums.totals[column]), sums.count, draws, _weigh(first=1.0), _weigh(number=1.0), _no_spread)
    return find_limits([scores], -1.0, 1.0, alpha)


def _weigh(
    *, number: float = 0.0, first: float = 0.0, second: float = 0.0, squares: Ends = (0.0, 0.0), product: float = 0.0
) -> Array:
    """The weights of the noise of the number, of the sums of two columns, of their squares and of their product."""
    return np.array([number, first, second, *squares, product])


def _covariance_of_table(sums: Sums, columns: tuple[int, int], means: tuple[Ends, Ends], alpha: float) -> Ends:
    """Limits of a covariance of the table, or of a variance, whose two means are the same."""
    noise, count, (i, j) = sums.draw(*columns), sums.count, columns
    largest = _find_largest(count) if not noise[:, 0].any() else _find_largest(2)
    lowest = 0.0 if i == j else -largest
    if count <= 1:
        return lowest, largest
    pairs, draws = _among_pairs(sums, columns, means), Draws.of(noise)
    scores = []
    for pair in [pair for pair in pairs if i != j or pair[0] == pair[1]]:
        start, weights = _centre(sums, columns, pair)
        scores.append(Scores(start, count - 1, draws, weights, _weigh(number=1.0), _no_spread))
    return find_limits(scores, lowest, largest, alpha)


def _find_largest(count: float) -> float:
    """The largest sample variance of so many records: half of them at either end of [-1, 1], the most of it for two."""
    rows = round(count)
    return 4 * (rows**2 // 4) / (rows * (rows - 1))


def _no_spread(_: float) -> float:
    return 0.0


def limits_of_mean(sums: Sums, column: int, alpha: float) -> Ends:
    """The interval of a mean by its score. Here draws are never too few, because it is one of several intervals."""
    noise = sums.draw(column, column)
    off = float(noise[:, 3].std())
    cell = score.Noisy(sums.count, float(sums.totals[column]), float(sums.products[column, column]), noise, off)
    return score.limits_of_draws(cell, alpha)


def limits_of_variance(sums: Sums, column: int, means: Ends, alpha: float) -> Ends:
    """Limits of a variance, whose mean is within ``means``."""
    total, squares = float(sums.totals[column]), float(sums.products[column, column])
    noise, count = sums.draw(column, column), sums.count
    if count <= 1:
        return 0.0, 1.0

    draws = Draws.of(noise)

    def scores(mean: float) -> Scores:
        start = squares - 2 * mean * total + mean**2 * count
        noisy_variance, reach = max(start / count, 0.0), (1 + abs(mean)) ** 2

        def spread(variance: float) -> float:
            most = max(variance, noisy_variance)
            return count * (most * (reach - most) if most < reach / 2 else reach**2 / 4)

        weights = _weigh(number=mean**2, first=-2 * mean, squares=(1.0, 0.0))
        return Scores(start, count, draws, weights, _weigh(number=1.0), spread)

    return find_limits([scores(mean) for mean in _among(means, total / count)], 0.0, 1.0, alpha)


def limits_of_covariance(sums: Sums, columns: tuple[int, int], means: tuple[Ends, Ends], alpha: float) -> Ends:
    """Limits of a covariance between two columns, whose means are within ``means``."""
    noise, count = sums.draw(*columns), sums.count
    if count <= 1:
        return -1.0, 1.0
    rare = score.rare(alpha)
    # The released variances are noisy, and the bound is concave in them.
    off, draws = noise[:, 3:5].std(axis=0) / 3 / count, Draws.of(noise)

    def scores(pair: Ends) -> Scores:
        first, second = 1 + abs(pair[0]), 1 + abs(pair[1])
        start, weights = _centre(sums, columns, pair)
        noisy_variances = [_see_variance(sums, columns[k], pair[k]) + float(off[k]) for k in (0, 1)]
        most = min(first**2 * noisy_variances[1], second**2 * noisy_variances[0])

        def spread(covariance: float) -> float:
            unseen = rare * (first * second + abs(covariance)) ** 2
            return count * max(most, covariance**2) + unseen

        return Scores(start, count, draws, weights, _weigh(number=1.0), spread)

    return find_limits([scores(pair) for pair in _among_pairs(sums, columns, means)], -1.0, 1.0, alpha)


def limits_of_correlation(
    sums: Sums, columns: tuple[int, int], means: tuple[Ends, Ends], variances: tuple[Ends, Ends], alpha: float
) -> Ends:
    """Limits of a correlation, with means and variances within their intervals."""
    draws, count = Draws.of(sums.draw(*columns)), sums.count
    if count <= 1 or min(variances[0][0], variances[1][0]) <= 0:
        return -1.0, 1.0
    pairs = _among_pairs(sums, columns, means)
    centre = (_see_variance(sums, columns[0], pairs[0][0]), _see_variance(sums, columns[1], pairs[0][1]))
    middle = tuple(min(max(x, low), high) for x, (low, high) in zip(centre, variances, strict=True))

    def scores(pair: Ends, spans: Ends) -> Scores:
        deviations = math.sqrt(spans[0]), math.sqrt(spans[1])
        area = deviations[0] * deviations[1]
        start, weights = _centre(sums, columns, pair)
        parts = [1 / span / 2 for span in spans]
        seen = [_see_variance(sums, columns[k], pair[k], least=-math.inf) for k in (0, 1)]
        slope = sum(count * variance * part for variance, part in zip(seen, parts, strict=True))
        slopes = _weigh(
            number=sum(mean**2 * part for mean, part in zip(pair, parts, strict=True)),
            first=-2 * pair[0] * parts[0],
            second=-2 * pair[1] * parts[1],
            squares=(parts[0], parts[1]),
        )
        reach = sum((1 + abs(mean)) / deviation for mean, deviation in zip(pair, deviations, strict=True))
        noisy_correlation = max(min(start / area / slope, 1.0), -1.0) if slope > 0 else 0.0

        def spread(rho: float) -> float:
            return count * (1 - min(rho**2, noisy_correlation**2)) * reach**2 / 4

        return Scores(start / area, slope, draws, weights / area, slopes, spread)

    first = scores(pairs[0], (middle[0], middle[1]))
    others = [scores(pair, (x, y)) for pair in pairs for x, y in product(*variances)]
    return find_limits([first, *others], -1.0, 1.0, alpha)


def _see_variance(sums: Sums, column: int, mean: float, least: float = 0.0) -> float:
    """The noisy mean square about a mean."""
    total, squares = float(sums.totals[column]), float(sums.products[column, column])
    return max((squares - 2 * mean * total) / sums.count + mean**2, least)


def _centre(sums: Sums, columns: tuple[int, int], means: Ends) -> tuple[float, Array]:
    """The noisy sum of products about means, and the weights of its noise without the part of γ."""
    (i, j), (x, y) = columns, means
    start = sums.products[i, j] - x * sums.totals[j] - y * sums.totals[i] + x * y * sums.count
    return float(start), _weigh(number=x * y, first=-y, second=-x, product=1.0)


def _among(ends: Ends, centre: float) -> list[float]:
    """The middle, where scores are nearest to 0, and the ends."""
    return [min(max(centre, ends[0]), ends[1]), *ends]


def _among_pairs(sums: Sums, columns: tuple[int, int], means: tuple[Ends, Ends]) -> list[Ends]:
    """Pairs of means: the middle, and the corners."""
    middle = [_among(ends, float(sums.totals[k]) / sums.count)[0] for k, ends in zip(columns, means, strict=True)]
    return [(middle[0], middle[1]), *product(*means)]
