"""Intervals of a release, from its record alone.

Two kinds, kept apart. ``"noise"``: for the statistic of the table that was read; noise is all that is uncertain.
``"population"``: for what the table is a sample of; sampling error and noise together. Each says how it was made and
what it assumes.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds import _check, derive
from inbounds._check import Array
from inbounds.inference import simulated
from inbounds.inference.counts import Binomial, Poisson, Sampled, sampled
from inbounds.inference.inversion import Family
from inbounds.inference.inversion import interval as inverted
from inbounds.inference.laws import Law, law_of, noise_of
from inbounds.inference.numbers import ChiSquare, Integrated, NormalMixture, noise_only
from inbounds.laws.noise import unit_legendre
from inbounds.privacy.certificate import Certificate

if TYPE_CHECKING:
    from inbounds.record import Release

KINDS = ("population", "noise")
# How variances next to a correlation or covariance are varied: ends and middle of an interval of this level.
_PLAUSIBLE = 0.9

_INDEPENDENT = "records are independent draws from the population"
_SIZE = "the table has as many records as its denominator"
_NORMAL = "records are normal, and hardly any lie beyond the bounds"
_POISSON = "records come independently of each other"
_NONE = "none: the noise has the certified law"
_SUMS = "sums of records are near to normal; every value may lie at a bound, the largest variance that the mean allows"


@dataclass(frozen=True, slots=True)
class Interval:
    """Lower and upper limits; arrays of the shape of the value where there are several, each at ``level`` on its own.

    ``kind`` says for what (``"population"`` or ``"noise"``), ``method`` how, and ``assumption`` what has to hold.
    Unpacks as ``lower, upper``.
    """

    lower: Any
    upper: Any
    level: float
    kind: str
    method: str
    assumption: str

    def __iter__(self) -> Any:
        return iter((self.lower, self.upper))

    @property
    def width(self) -> Any:
        """Upper minus lower limit."""
        return self.upper - self.lower

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {name: x.tolist() if isinstance(x, np.ndarray) else x for name, x in asdict(self).items()}

    def __str__(self) -> str:
        what = "the population's value" if self.kind == "population" else "the value of this table"
        if isinstance(self.lower, np.ndarray):
            shown = f"{self.lower.size} intervals, {np.min(self.width):.4g} to {np.max(self.width):.4g} wide"
        else:
            shown = f"{self.lower:.6g} to {self.upper:.6g}"
        return f"{shown}: {self.level:.0%} for {what} ({self.method}; assumes: {self.assumption})"


def interval(
    release: "Release", level: float = 0.95, *, kind: str = "population", variance: "Release | None" = None
) -> Interval:
    """The interval of a release; ``variance`` is one of the same column and table, which makes that of a mean shorter.

    claim:interval-record. Post-processing of public records: it costs nothing, needs no data and can be done anywhere.
    """
    level = _check.finite(level, "level")
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    _check.choice(kind, "kind", KINDS)
    if variance is not None:
        return _mean_with_variance(release, variance, level, kind)
    make = _MAKERS.get(release.method, _direct)
    lower, upper, method, assumption = make(release, 1 - level, kind == "population")
    if release.contributions > 1 and kind == "population":
        assumption += ", also those of one person"
    flat = np.ravel(np.asarray(release.value, float))
    # What is published lies in its own interval, which can only make it cover more.
    low, high = np.minimum(np.ravel(lower), flat), np.maximum(np.ravel(upper), flat)
    if not release.axes:
        return Interval(float(low[0]), float(high[0]), level, kind, method, assumption)
    shape = [len(axis) for axis in release.axes]
    return Interval(low.reshape(shape), high.reshape(shape), level, kind, method, assumption)


_Made = tuple[Any, Any, str, str]
_INVERTED = "inversion of the exact law"
_SIMULATED = "inversion of simulated releases"


def certified_parts(release: "Release") -> list[Certificate]:
    """The certificate of each noisy coordinate."""
    certificate = release.certificate
    return [certificate] * len(release.noisy) if isinstance(certificate, Certificate) else list(certificate.parts)


def _direct(release: "Release", alpha: float, population: bool) -> _Made:
    if release.statistic in ("count", "proportion", "histogram", "crosstab", "proportions"):
        return _counted(release, alpha, population)
    if release.statistic in ("mean", "sum"):
        return _averaged(release, alpha, population)
    return _spread(release, alpha, population)


# Counts and shares


def _counted(release: "Release", alpha: float, population: bool) -> _Made:
    """Every cell from its own noisy count, whatever the repair made of it: then the law is exact."""
    part = certified_parts(release)[0]
    size = public_size(release)
    top = math.inf if size is None else float(size)
    law = law_of(part, (0.0, top), counts=True)
    shares = release.statistic in ("proportion", "proportions")
    counts = noisy_counts(release)
    if population:
        sampling: Binomial | Poisson = Poisson() if size is None else Binomial(size)
        worth = 1.0 if shares or size is None else top
        assumption = _POISSON if size is None else _INDEPENDENT
        assumption += f"; {_SIZE}" if release.denominator is not None else ""
        found = {y: _population_count(sampling, law, y, alpha) for y in set(counts)}
    else:
        worth, assumption = (1 / top if shares else 1.0), _NONE
        found = {y: _true_count(law, y, top, alpha) for y in set(counts)}
    limits = np.array([found[y] for y in counts]).T * worth
    if release.method == derive.ALL_BUT_ONE and release.derived is not None:
        place = release.axes[0].index(release.derived)
        noise = noise_of(part, counts=True)
        ends = simulated.share_limits(np.array(counts), None, noise, size, alpha, sampled=population)
        limits = np.insert(limits, place, ends, axis=1)
    return limits[0], limits[1], _INVERTED, assumption


def public_size(release: "Release") -> int | None:
    """The number of records, or what stands for it; None where it is protected."""
    return release.rows if release.rows is not None else release.denominator


def noisy_counts(release: "Release") -> list[float]:
    """The noisy counts of the cells, within 0 and the number of records; in a tree those of its leaves."""
    part, size = certified_parts(release)[0], public_size(release)
    noisy, tree = release.noisy, release.recipe.tree
    if tree is not None:
        own = {leaves[0]: i for i, leaves in enumerate(tree.leaves) if len(leaves) == 1}
        noisy = tuple(release.noisy[own[i]] for i in range(len(tree.order)))
    top = math.inf if size is None else float(size)
    return [min(max(float((x - part.origin) / part.step), 0.0), top) for x in noisy]


def _population_count(sampling: Binomial | Poisson, law: Law, y: float, alpha: float) -> tuple[float, float]:
    return inverted(sampled(sampling, law, y), y, alpha)


def _true_count(law: Law, y: float, top: float, alpha: float) -> tuple[float, float]:
    low, high = inverted(noise_only(law, y, 0.0, top), y, alpha)
    return math.ceil(low - 1e-9), math.floor(high + 1e-9)


def _shares_of_sum(release: "Release", alpha: float, population: bool) -> _Made:
    noise = noise_of(certified_parts(release)[0], counts=True)
    counts = np.array([float(x) for x in release.noisy])
    ends = [simulated.share_limits(counts, i, noise, None, alpha, sampled=population) for i in range(len(counts))]
    assumption = f"{_INDEPENDENT}; their number is about the sum of the noisy counts"
    return *np.array(ends).T, _SIMULATED, assumption if population else "the other counts are about those released"


# Means


def _averaged(release: "Release", alpha: float, population: bool) -> _Made:
    (bound,) = release.limits_of_coordinates()
    released, part = float(release.noisy[0]), certified_parts(release)[0]
    if not population:
        law = law_of(part, bound)
        return *inverted(noise_only(law, released, *bound), released, alpha), _INVERTED, _NONE
    size = public_size(release)
    if size is None:
        raise ValueError(
            f"a {release.statistic} without a public number of records has no interval for the population; "
            "ask for kind='noise', or release the mean"
        )
    # In records that lie at the upper bound, as if all of them lay at one or the other.
    worth = (bound[1] - bound[0]) / size
    law = Law(noise_of(part, 1 / worth), 0.0, float(size), truncated=part.bounding == "truncated")
    y = (released - bound[0]) / worth
    limits = np.array(inverted(Sampled(Binomial(size), law, step=0), y, alpha))
    assumption = f"{_INDEPENDENT}; each may lie at a bound, the largest variance that the mean allows"
    assumption += f"; {_SIZE}" if release.denominator is not None else ""
    return *(bound[0] + limits * (bound[1] - bound[0])), _INVERTED, assumption


def _mean_with_variance(release: "Release", variance: "Release", level: float, kind: str) -> Interval:
    """The mean's interval by the normal law, with the variance that was released with it.

    A released variance is uncertain too: the standard error is averaged over what it may be, given the noise.
    """
    if kind != "population" or release.statistic != "mean" or release.method != derive.DIRECT:
        raise ValueError("variance= shortens the population interval of a mean over a public number of records")
    same = variance.statistic == "variance" and variance.method == derive.DIRECT and variance.rows == release.rows
    if not same or [c.name for c in variance.columns] != [c.name for c in release.columns] or release.rows is None:
        raise ValueError("variance= must be a released variance of the same column of the same table")
    (bound,), (reach,) = release.limits_of_coordinates(), variance.limits_of_coordinates()
    noise = law_of(certified_parts(variance)[0], reach)
    law = law_of(certified_parts(release)[0], bound)
    deviations, weights = _standard_errors(noise, float(variance.noisy[0]), release.rows, law.noise.scale)
    family = Integrated(NormalMixture(deviations, weights), law, *bound)
    value = float(release.noisy[0])
    lower, upper = inverted(family, value, 1 - level)
    assumption = f"{_INDEPENDENT}; the mean of {release.rows} of them is near to normal"
    return Interval(
        min(lower, value), max(upper, value), level, kind, "normal law with a released variance", assumption
    )


def _standard_errors(law: Law, released: float, rows: int, scale: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Standard errors of a mean and their weights, over the variances that a released one may stand for."""
    ends = np.unique(
        np.clip(released + law.noise.scale * np.array([-12, -4, -1.5, 0, 1.5, 4, 12]), law.lower, law.upper)
    )
    ends = ends if len(ends) > 1 else np.array([law.lower, law.upper])
    nodes, node_weights = unit_legendre(6)
    variances = (ends[:-1, None] + np.diff(ends)[:, None] * nodes).ravel()
    weights = (np.diff(ends)[:, None] * node_weights).ravel() * law.likelihood(released, variances)
    # Errors far below that of the noise do not show, and would only need finer panels.
    deviations = np.maximum(np.sqrt(variances / rows), 0.05 * scale)
    return tuple(map(float, deviations)), tuple(map(float, weights / weights.sum()))


def _mean_of_sums(release: "Release", alpha: float, population: bool) -> _Made:
    noise = noise_of(certified_parts(release)[0])
    numeric = next(rule for rule in release.columns if rule.step is not None)
    low, high = float(numeric.lower or 0), float(numeric.upper or 0)
    cells = np.array([float(x) for x in release.noisy]).reshape(-1, 2)
    ends = np.array([simulated.mean_limits(n, s, noise, alpha, sampled=population) for n, s in cells])
    limits = (low + high) / 2 + (high - low) / 2 * ends.T
    return *limits, "Fieller's, with simulated noise", _SUMS if population else _NONE


# Variances, covariances, correlations


def _freedom(release: "Release") -> int:
    """Degrees of freedom of the scatter: records less groups."""
    groups = [len(rule.cells) for rule in release.columns if rule.cells]
    return max((release.rows or 0) - (groups[-1] if groups else 1), 1)


def _spread(release: "Release", alpha: float, population: bool) -> _Made:
    (bound,) = release.limits_of_coordinates()
    root = release.statistic == "standard_deviation" and release.method == derive.DIRECT
    limits = np.array(_one_spread(release, 0, bound, alpha, population, root=root))
    limits = np.sqrt(limits) if release.method == derive.ROOT else limits
    return *limits, _INVERTED, _NORMAL if population else _NONE


def _one_spread(
    release: "Release", place: int, bound: tuple[float, float], alpha: float, population: bool, *, root: bool = False
) -> tuple[float, float]:
    """Limits of one variance among the coordinates."""
    part, unit = certified_parts(release)[place], float(release.units[place])
    law = law_of(part, bound, unit)
    y = min(max(float(release.noisy[place]) * unit, bound[0]), bound[1])
    if not population:
        return inverted(noise_only(law, y, *bound), y, alpha)
    family: Family = Integrated(ChiSquare(_freedom(release), root), law, *bound)
    return inverted(family, y, alpha)


def _matrix(release: "Release", alpha: float, population: bool) -> _Made:
    """Variances by the exact law; covariances by simulation, or by the exact law of their noise."""
    correlation = release.method == derive.CORRELATION
    size = derive.triangle_size(len(release.noisy))
    bounds = release.limits_of_coordinates()
    rows, columns = np.triu_indices(size)
    diagonal = [int(i) for i in np.flatnonzero(rows == columns)]
    limits = np.ones((2, size, size))
    for place, (i, j) in enumerate(zip(rows, columns, strict=True)):
        if i == j:
            ends = (1.0, 1.0) if correlation else _one_spread(release, place, bounds[place], alpha, population)
        elif correlation or population:
            ends = _pair(release, (diagonal[i], place, diagonal[j]), bounds, alpha, population, correlation=correlation)
        else:
            ends = _one_spread(release, place, bounds[place], alpha, population=False)
        limits[:, i, j] = limits[:, j, i] = ends
    simulated_ones = (correlation or population) and size > 1
    return (
        limits[0].ravel(),
        limits[1].ravel(),
        _SIMULATED if simulated_ones else _INVERTED,
        _assumed(population, correlation),
    )


def _assumed(population: bool, correlation: bool) -> str:
    return _NORMAL if population else "the variances are about those released" if correlation else _NONE


def _pair(
    release: "Release",
    places: tuple[int, int, int],
    bounds: Sequence[tuple[float, float]],
    alpha: float,
    population: bool,
    *,
    correlation: bool,
) -> tuple[float, float]:
    parts = certified_parts(release)
    units = [float(release.units[place]) for place in places]
    noises = [noise_of(parts[place], unit) for place, unit in zip(places, units, strict=True)]
    truncated = parts[0].bounding == "truncated"
    reach = [bounds[place] for place in places]
    how = simulated.pair_noise(noises, reach, truncated=truncated)
    freedom = _freedom(release)
    scatter = simulated.Scatter.drawn(freedom, np.random.default_rng(4), sampled=population)
    values = [float(release.noisy[place]) * unit for place, unit in zip(places, units, strict=True)]
    clipped = [float(np.clip(y, *bound)) for y, bound in zip(values, reach, strict=True)]

    def figure(variances: tuple[float, float], rho: float) -> Array:
        noisy = how.noisy(scatter.at(variances, rho))
        return simulated.correlation_of(*noisy) if correlation else noisy[1]

    seen = [np.array([x]) for x in clipped]
    observed = float(simulated.correlation_of(seen[0], seen[1], seen[2])[0]) if correlation else clipped[1]
    plausible = [_plausible(release, places[k], bounds[places[k]], population) for k in (0, 2)]
    return simulated.pair_limits(figure, observed, (plausible[0], plausible[1]), alpha, covariance=not correlation)


def _plausible(release: "Release", place: int, bound: tuple[float, float], population: bool) -> list[float]:
    """Variances that a released one may stand for: the middle and the ends of a short interval, none of them 0."""
    low, high = _one_spread(release, place, bound, 1 - _PLAUSIBLE, population)
    middle = min(max(float(release.noisy[place] * release.units[place]), low), high)
    least = 1e-6 * max(bound[1], 1e-300)
    return sorted({max(x, least) for x in (low, middle, high)})


def _of_sums(release: "Release", alpha: float, population: bool) -> _Made:
    """Variances, covariances and correlations from noisy counts and sums."""
    numeric = [rule for rule in release.columns if rule.step is not None]
    halves = np.array([float((rule.upper or 0) - (rule.lower or 0)) / 2 for rule in numeric])
    size = len(halves)
    cells = np.array([float(x) for x in release.noisy]).reshape(-1, 1 + size + size * (size + 1) // 2)
    model = _SumsModel(release.method, cells, halves, noise_of(certified_parts(release)[0]), population)
    limits = np.ones((2, size, size))
    for i in range(size):
        for j in range(i, size):
            if i == j and release.method == derive.CORRELATION_OF_SUMS:
                continue
            limits[:, i, j] = limits[:, j, i] = model.variance(i, alpha) if i == j else model.pair(i, j, alpha)
    limits = np.sqrt(limits) if release.method == derive.ROOT_OF_SUMS else limits
    assumption = f"{_NORMAL}; groups have about the sizes and means released"
    return (
        limits[0].ravel(),
        limits[1].ravel(),
        _SIMULATED,
        assumption if population else "sizes and means are about those released",
    )


@dataclass(frozen=True, slots=True)
class _SumsModel:
    method: str
    cells: Array
    halves: Array
    noise: Any
    population: bool

    def _sums(self, columns: list[int]) -> tuple[simulated.Sums, Array]:
        """The simulation for one or two columns, and their own noisy coordinates."""
        size, groups = len(self.halves), len(self.cells)
        triangle = np.zeros((size, size), dtype=int)
        triangle[np.triu_indices(size)] = np.arange(size * (size + 1) // 2)
        pairs = [(a, b) for x, a in enumerate(columns) for b in columns[x:]]
        places = [0, *(1 + c for c in columns), *(1 + size + triangle[a, b] for a, b in pairs)]
        chosen = self.cells[:, places]
        rng = np.random.default_rng(5)
        sizes = np.maximum(np.rint(chosen[:, 0]), 2.0)
        means = np.clip(chosen[:, 1 : 1 + len(columns)] / sizes[:, None], -1, 1)
        scatter = simulated.Scatter.drawn([int(n) - 1 for n in sizes], rng, sampled=self.population)
        shift = rng.standard_normal((simulated.DRAWS, groups, len(columns))) * self.population
        noise = simulated.unit_noise(self.noise, len(places), rng, groups).reshape(simulated.DRAWS, groups, len(places))
        made = simulated.Sums(self.method, sizes, means, scatter, shift, noise * self.noise.scale, self.halves[columns])
        return made, chosen

    def variance(self, column: int, alpha: float) -> tuple[float, float]:
        """Limits of one variance."""
        model, chosen = self._sums([column])
        observed = float(simulated.sums_figure(self.method, chosen, self.halves[[column]]))
        largest = float(self.halves[column] ** 2)
        return simulated.limits(lambda v: model.figure((v,)), observed, 0.0, largest, alpha)

    def pair(self, i: int, j: int, alpha: float) -> tuple[float, float]:
        """Limits of one covariance or correlation, over plausible variances."""
        model, chosen = self._sums([i, j])
        observed = float(simulated.sums_figure(self.method, chosen, self.halves[[i, j]]))
        plausible = []
        for column in (i, j):
            low, high = self.variance(column, 1 - _PLAUSIBLE)
            least = 1e-6 * float(self.halves[column] ** 2)
            plausible.append(sorted({max(x, least) for x in (low, (low + high) / 2, high)}))
        covariance = self.method != derive.CORRELATION_OF_SUMS
        return simulated.pair_limits(model.figure, observed, (plausible[0], plausible[1]), alpha, covariance=covariance)


_MAKERS = {
    derive.ROOT: _spread,
    derive.MATRIX: _matrix,
    derive.CORRELATION: _matrix,
    derive.MEAN_OF_SUMS: _mean_of_sums,
    derive.SHARES: _shares_of_sum,
    **dict.fromkeys((derive.PROJECTED, derive.RESCALED, derive.ALL_BUT_ONE, derive.WHOLE, derive.TREE), _counted),
    **dict.fromkeys(
        (
            derive.VARIANCE_OF_SUMS,
            derive.ROOT_OF_SUMS,
            derive.MATRIX_OF_SUMS,
            derive.CORRELATION_OF_SUMS,
            derive.POOLED_OF_SUMS,
        ),
        _of_sums,
    ),
}
