"""Intervals of variances, covariances and correlations of normal records."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from inbounds._check import Array
from inbounds.inference import result, simulated
from inbounds.inference.inversion import Family
from inbounds.inference.inversion import interval as inverted
from inbounds.inference.laws import law_of, noise_of
from inbounds.inference.numbers import ChiSquare, Integrated, noise_only
from inbounds.record.release import Release
from inbounds.repairs.moments import triangle_size

# Lower and upper limits, the method, and what it assumes.
RawInterval: TypeAlias = tuple[Any, Any, str, tuple[str, ...]]
INVERTED = "inversion of the exact law"
SIMULATED = "inversion of simulated releases"
NORMAL = (result.NORMAL,)
# For a correlation or covariance, variances are set to the ends and the middle of an interval of this level.
_PLAUSIBLE = 0.9


def _freedom(release: Release) -> int:
    """The degrees of freedom of the scatter: records minus groups."""
    groups = [len(rule.cells) for rule in release.columns if rule.cells]
    return max((release.rows or 0) - (groups[-1] if groups else 1), 1)


def one_variance(release: Release, alpha: float, population: bool) -> RawInterval:
    """Limits of a variance."""
    return _one_number(release, alpha, population, root=False)


def one_deviation(release: Release, alpha: float, population: bool) -> RawInterval:
    """Limits of a standard deviation that noise was added to directly."""
    return _one_number(release, alpha, population, root=True)


def root_of_variance(release: Release, alpha: float, population: bool) -> RawInterval:
    """Limits of a standard deviation that is the root of a released variance."""
    lower, upper, method, clauses = one_variance(release, alpha, population)
    return np.sqrt(lower), np.sqrt(upper), method, clauses


def _one_number(release: Release, alpha: float, population: bool, *, root: bool) -> RawInterval:
    (bound,) = release.limits_of_coordinates()
    lower, upper = _one_spread(release, 0, bound, alpha, population, root=root)
    return lower, upper, INVERTED, NORMAL if population else ()


def _one_spread(
    release: Release, place: int, bound: tuple[float, float], alpha: float, population: bool, *, root: bool = False
) -> tuple[float, float]:
    """Limits of one variance among the coordinates."""
    part, unit = release.parts[place], float(release.units[place])
    law = law_of(part, bound, unit)
    y = min(max(float(release.noisy[place]) * unit, bound[0]), bound[1])
    if not population:
        return inverted(noise_only(law, y, *bound), y, alpha)
    family: Family = Integrated(ChiSquare(_freedom(release), root), law, *bound)
    return inverted(family, y, alpha)


def matrix(release: Release, alpha: float, population: bool) -> RawInterval:
    """Variances by the exact law; covariances by simulation, or by the exact law of their noise."""
    correlation = release.derivation.unit
    size = triangle_size(len(release.noisy))
    bounds = release.limits_of_coordinates()
    rows, columns = np.triu_indices(size)
    diagonal = [int(i) for i in np.flatnonzero(rows == columns)]
    # These are needed for every pair, so they are computed once.
    spans = [
        _plausible(release, i, bounds[i], population) for i in diagonal if correlation or (population and size > 1)
    ]
    limits = np.ones((2, size, size))
    for place, (i, j) in enumerate(zip(rows, columns, strict=True)):
        if i == j:
            ends = (1.0, 1.0) if correlation else _one_spread(release, place, bounds[place], alpha, population)
        elif correlation or population:
            places, both = (diagonal[i], place, diagonal[j]), (spans[i], spans[j])
            ends = _pair(release, places, both, bounds, alpha, population, correlation=correlation)
        else:
            ends = _one_spread(release, place, bounds[place], alpha, population=False)
            if release.parts[place].bounding == "truncated":
                ends = _beyond_the_cut(ends, bounds[place], _largest(release, int(i), int(j)))
        limits[:, i, j] = limits[:, j, i] = ends
    by_simulation = (correlation or population) and size > 1
    clauses = NORMAL if population else ("the variances are about those released",) if correlation else ()
    return limits[0].ravel(), limits[1].ravel(), SIMULATED if by_simulation else INVERTED, clauses


def _largest(release: Release, i: int, j: int) -> float:
    """The largest covariance that two columns of this many records can have."""
    widths = [float((rule.upper or 0) - (rule.lower or 0)) for rule in release.columns if rule.step is not None]
    return widths[i] * widths[j] * (release.rows or 0) / (4 * _freedom(release))


def _beyond_the_cut(ends: tuple[float, float], cut: tuple[float, float], largest: float) -> tuple[float, float]:
    """Extend limits at the cut to all covariances beyond it, which have the same law as one at the cut."""
    near = 1e-6 * (cut[1] - cut[0])
    return -largest if ends[0] <= cut[0] + near else ends[0], largest if ends[1] >= cut[1] - near else ends[1]


def _pair(
    release: Release,
    places: tuple[int, int, int],
    plausible: tuple[list[float], list[float]],
    bounds: Sequence[tuple[float, float]],
    alpha: float,
    population: bool,
    *,
    correlation: bool,
) -> tuple[float, float]:
    """Limits of one element off the diagonal. ``plausible`` has the variances of its row and column to try."""
    parts = release.parts
    units = [float(release.units[place]) for place in places]
    noises = [noise_of(parts[place], unit) for place, unit in zip(places, units, strict=True)]
    truncated = parts[0].bounding == "truncated"
    reach = [bounds[place] for place in places]
    simulated.enough_draws(alpha)
    how = simulated.pair_noise(noises, reach, truncated=truncated)
    freedom = _freedom(release)
    scatter = simulated.Scatter.draw(freedom, np.random.default_rng(4), sampled=population)
    values = [float(release.noisy[place]) * unit for place, unit in zip(places, units, strict=True)]
    clipped = [float(np.clip(y, *bound)) for y, bound in zip(values, reach, strict=True)]

    def figure(variances: tuple[float, float], rho: float) -> Array:
        noisy = how.noisy(scatter.at(variances, rho))
        return simulated.correlation_of(*noisy) if correlation else noisy[1]

    elements = [np.array([x]) for x in clipped]
    observed = float(simulated.correlation_of(elements[0], elements[1], elements[2])[0]) if correlation else clipped[1]
    return simulated.pair_limits(figure, observed, plausible, alpha, covariance=not correlation)


def _plausible(release: Release, place: int, bound: tuple[float, float], population: bool) -> list[float]:
    """Variances that are plausible given a released one: the middle and the ends of its interval, none of them 0."""
    low, high = _one_spread(release, place, bound, 1 - _PLAUSIBLE, population)
    middle = min(max(float(release.noisy[place] * release.units[place]), low), high)
    least = 1e-6 * max(bound[1], 1e-300)
    return sorted({max(x, least) for x in (low, middle, high)})


def of_sums(release: Release, alpha: float, population: bool) -> RawInterval:
    """Variances, covariances and correlations from noisy counts and sums."""
    simulated.enough_draws(alpha)
    numeric = [rule for rule in release.columns if rule.step is not None]
    halves = np.array([float((rule.upper or 0) - (rule.lower or 0)) / 2 for rule in numeric])
    size = len(halves)
    way = release.derivation
    cells, noise = noisy_cells(release, size), noise_of(release.parts[0], float(release.units[0]))
    public = way.rows is not None
    places = release.places or tuple(range(len(release.noisy)))
    worth = np.array([float(unit / release.units[0]) for unit in release.units[: cells.shape[1] - public]])
    worth = np.concatenate([[1.0], worth]) if public else worth
    sums = places if public else ()
    # Pooled groups have one figure together; other groups have one each.
    tables = [cells] if way.pooled else [cells[[group]] for group in range(len(cells))]
    models = [_SumsModel(way.pooled, way.unit, table, halves, noise, population, worth, sums) for table in tables]
    limits = np.concatenate([_limits_of(model, size, alpha) for model in models], axis=1)
    limits = np.sqrt(limits) if way.root else limits
    about = "means are about those released" if public else "groups have about the sizes and means released"
    return limits[0].ravel(), limits[1].ravel(), SIMULATED, (*NORMAL, about) if population else (about,)


def _limits_of(model: "_SumsModel", size: int, alpha: float) -> Array:
    """Limits of the elements of one matrix, row by row: a row of lower ones, and one of upper ones."""
    limits = np.ones((2, size, size))
    # These are needed for every pair, so they are computed once.
    spans = [model.plausible(i) for i in range(size) if size > 1]
    for i in range(size):
        for j in range(i, size):
            if i == j and model.correlation:
                continue
            ends = model.variance(i, alpha) if i == j else model.pair(i, j, (spans[i], spans[j]), alpha)
            limits[:, i, j] = limits[:, j, i] = ends
    return limits.reshape(2, -1)


def noisy_cells(release: Release, columns: int) -> Array:
    """Counts, sums and sums of products of each group. A public count is put first."""
    worth = [float(x * unit) for x, unit in zip(release.noisy, release.units, strict=True)]
    rows = release.derivation.rows
    return np.array(worth if rows is None else [float(rows), *worth]).reshape(
        -1, 1 + columns + columns * (columns + 1) // 2
    )


@dataclass(frozen=True, slots=True)
class _SumsModel:
    """Simulated releases of sums and counts. ``drawn`` has the places of the sums if the count is public."""

    pooled: bool
    correlation: bool
    cells: Array
    halves: Array
    noise: Any
    population: bool
    # The worth of one unit of each coordinate, in units of the noise.
    worth: Array
    # The places of the sums in their vector, if the count is public.
    drawn: tuple[int, ...] = ()

    def figure(self, cells: Array, half_widths: Array) -> Array:
        """The figure of one or two columns from (simulated) noisy counts and sums."""
        return simulated.sums_figure(cells, half_widths, pooled=self.pooled, correlation=self.correlation)

    def _sums(self, columns: list[int]) -> tuple[simulated.Sums, Array]:
        """The simulation for one or two columns, and their noisy coordinates."""
        size, groups = len(self.halves), len(self.cells)
        triangle = np.zeros((size, size), dtype=int)
        triangle[np.triu_indices(size)] = np.arange(size * (size + 1) // 2)
        pairs = [(a, b) for x, a in enumerate(columns) for b in columns[x:]]
        places = [0, *(1 + c for c in columns), *(1 + size + triangle[a, b] for a, b in pairs)]
        cells = self.cells[:, places]
        rng = np.random.default_rng(5)
        sizes = np.maximum(np.rint(cells[:, 0]), 2.0)
        means = np.clip(cells[:, 1 : 1 + len(columns)] / sizes[:, None], -1, 1)
        scatter = simulated.Scatter.draw([int(n) - 1 for n in sizes], rng, sampled=self.population)
        shift = rng.standard_normal((simulated.DRAWS, groups, len(columns)))
        shift = shift if self.population else np.zeros((1, groups, len(columns)))
        noise = self._noise(places, rng, groups) * self.worth[places]
        sums = simulated.Sums(self.figure, sizes, means, scatter, shift, noise * self.noise.scale, self.halves[columns])
        return sums, cells

    def _noise(self, places: list[int], rng: np.random.Generator, groups: int) -> Array:
        """Draws of unit noise for each of these places. A public count has none."""
        if not self.drawn:
            return simulated.unit_noise(self.noise, places, rng, groups).reshape(simulated.DRAWS, groups, len(places))
        noise = simulated.unit_noise(self.noise, [self.drawn[place - 1] for place in places[1:]], rng)
        return np.concatenate([np.zeros((simulated.DRAWS, 1)), noise], axis=1)[:, None, :]

    def variance(self, column: int, alpha: float) -> tuple[float, float]:
        """Limits of one variance."""
        model, cells = self._sums([column])
        observed = float(self.figure(cells, self.halves[[column]]))
        # The variance of a sample can be larger than that of a population: twice as large for two records.
        largest = float(self.halves[column] ** 2) * (1 if self.population else 2)
        return simulated.limits(lambda v: model.figure((v,)), observed, 0.0, largest, alpha)

    def plausible(self, column: int) -> list[float]:
        """Variances that are plausible: the ends and the middle of their interval, none of them 0."""
        low, high = self.variance(column, 1 - _PLAUSIBLE)
        least = 1e-6 * float(self.halves[column] ** 2)
        return sorted({max(x, least) for x in (low, (low + high) / 2, high)})

    def pair(self, i: int, j: int, plausible: tuple[list[float], list[float]], alpha: float) -> tuple[float, float]:
        """Limits of one covariance or correlation. ``plausible`` has the variances of both columns to try."""
        model, cells = self._sums([i, j])
        observed = float(self.figure(cells, self.halves[[i, j]]))
        return simulated.pair_limits(model.figure, observed, plausible, alpha, covariance=not self.correlation)
