"""Intervals of a release, from its record alone.

There are two kinds. ``"noise"`` is for the statistic of the table that was read, where only the noise is uncertain.
``"population"`` is for the population that the table is a sample of, and takes sampling error and noise into account.
Each interval says how it was made and what it assumes.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from inbounds import _check
from inbounds.expected import norm_parts
from inbounds.inference import fieller, simulated
from inbounds.inference.counts import Averaged, Binomial, Poisson, Sampled, choose_family, without_cut
from inbounds.inference.inversion import interval as inverted
from inbounds.inference.laws import InNorm, Law, bends_of, law_of, noise_of
from inbounds.inference.numbers import Integrated, NormalMixture, noise_only
from inbounds.inference.result import (
    KINDS,
    Interval,
    describe_statistic,
    noisy_counts,
    require_release,
)
from inbounds.inference.spreads import INVERTED, SIMULATED, RawInterval
from inbounds.laws.noise import unit_legendre
from inbounds.record.release import ColumnRule, Kind, Release

_SIZE = "the table has as many records as its denominator"
_POISSON = "records come at a rate, independently of each other"
_NOTHING = "nothing beyond the certified law of the noise"
_AT_THE_BOUNDS = "values may all lie at the bounds, the largest variance that the mean allows"
_SUMS = ("sums of records are near to normal", _AT_THE_BOUNDS)


def interval(
    release: Release,
    level: float | None = None,
    *,
    kind: Kind = "population",
    variance: Release | None = None,
    method: str | None = None,
) -> Interval:
    """The confidence interval of a release; see `inbounds.Release.interval`.

    Parameters
    ----------
    release
        The release.
    level
        The confidence level. By default the one that was paid for with ``cover``, and 0.95 for all others.
    kind
        ``"population"`` for the population, ``"noise"`` for the table itself.
    variance
        A released variance of the same column, for a shorter interval of a mean.
    method
        How to make the interval, where a statistic has several ways.

    Returns
    -------
    Interval
        The limits, with the method and what it assumes.

    Raises
    ------
    ValueError
        If the release has no interval of that kind, or ``variance`` does not fit.

    Examples
    --------
    >>> import inbounds as ib
    >>> release = ib.mean([23, 35, 62, 41] * 500, bounds=(0, 100), epsilon=1)
    >>> release.value in interval(release)
    True
    """
    return require_release(release, "release").interval(level, kind=kind, variance=variance, method=method)


# claim:interval-record
def interval_by(
    maker: Callable[[Release, float, bool], RawInterval],
    release: Release,
    level: float,
    kind: str,
    variance: Release | None = None,
) -> Interval:
    """The interval of a release, made by ``maker``.

    This is post-processing of a public record. It costs nothing and needs no data.
    """
    level, population = _check_asked(release, level, kind)
    if variance is not None:
        raise ValueError(_FOR_MEANS)
    return _finish(release, level, kind, maker(release, 1 - level, population))


def interval_with_variance(release: Release, level: float, kind: str, variance: Release) -> Interval:
    """The interval of a mean with a released variance of the same column and table, which makes it shorter."""
    level, population = _check_asked(release, level, kind)
    require_release(variance, "variance")
    return _finish(release, level, kind, _mean_with_variance(release, variance, 1 - level, population))


def _check_asked(release: Release, level: float, kind: str) -> tuple[float, bool]:
    require_release(release, "release")
    level = _check.level(level)
    return level, _check.choice(kind, "kind", KINDS) == "population"


def _finish(release: Release, level: float, kind: str, raw: RawInterval) -> Interval:
    lower, upper, method, clauses = raw
    if kind == "population" and _POISSON not in clauses:
        clauses = (_independent(release), *clauses)
    flat = np.array(release.flat_values(), float)
    # The released value is always in the interval. This can only widen it.
    low, high = np.fmin(np.ravel(lower), flat), np.fmax(np.ravel(upper), flat)
    # A correlation that is not available may be anything.
    hidden = np.isnan(flat)
    low, high = np.where(hidden, -1.0, low), np.where(hidden, 1.0, high)
    shape = release.shape
    ends: tuple[Any, Any] = (low.reshape(shape), high.reshape(shape)) if shape else (float(low[0]), float(high[0]))
    assumption = "; ".join(clauses) or _NOTHING
    return Interval(
        ends[0], ends[1], level, kind, method, assumption, describe_statistic(release), release.axes, release.clock
    )


_FOR_MEANS = "variance= shortens the population interval of a mean over a public number of records"


def _independent(release: Release) -> str:
    persons = ", also those of one person," if release.contributions > 1 else ""
    return f"records{persons} are independent draws from the population"


def _state_size(release: Release) -> tuple[str, ...]:
    return () if release.denominator is None else (_SIZE,)


# Counts and shares


def limit_counts(release: Release, alpha: float, population: bool) -> RawInterval:
    """The limits of each cell from its noisy count before the repair, whose law is known exactly."""
    size = release.size
    top = math.inf if size is None else float(size)
    shares = release.statistic.traits.shares
    parts, cells = noisy_counts(release)
    laws = [law_of(part, (0.0, top), counts=True) for part in parts]
    clauses: tuple[str, ...] = ()
    if population:
        sampling: Binomial | Poisson = Poisson() if size is None else Binomial(size)
        worth = 1.0 if shares or size is None else top
        clauses = _state_size(release) if size is not None else (_POISSON,)
        ends_of = {(i, y): _population_count(sampling, laws[i], y, alpha) for i, y in set(cells)}
    else:
        worth = 1 / top if shares else 1.0
        ends_of = {(i, y): _true_count(laws[i], y, top, alpha) for i, y in set(cells)}
    limits = np.array([ends_of[cell] for cell in cells]).T * worth
    if (place := release.derivation.derived) is not None:
        counts = np.array([y for _, y in cells])
        ends = simulated.share_limits(counts, None, laws[0], size, alpha, sampled=population)
        limits = np.insert(limits, place, ends, axis=1)
        clauses = (*clauses, "the other shares are to each other as released, for the derived one")
        return limits[0], limits[1], f"{INVERTED}; of the derived share {SIMULATED}", clauses
    return limits[0], limits[1], INVERTED, clauses


def _population_count(sampling: Binomial | Poisson, law: Law, y: float, alpha: float) -> tuple[float, float]:
    return inverted(choose_family(sampling, law, y), y, alpha)


def _true_count(law: Law, y: float, top: float, alpha: float) -> tuple[float, float]:
    low, high = inverted(noise_only(law, y, 0.0, top), y, alpha)
    return math.ceil(low - 1e-9), math.floor(high + 1e-9)


def limit_shares(release: Release, alpha: float, population: bool) -> RawInterval:
    """The limits of noisy counts divided by their sum."""
    law = law_of(release.parts[0], (0.0, math.inf), counts=True)
    counts = np.array([float(x) for x in release.noisy])
    if len(counts) == 1:
        # A single cell has the share one.
        return np.ones(1), np.ones(1), INVERTED, ()
    ends = [simulated.share_limits(counts, i, law, None, alpha, sampled=population) for i in range(len(counts))]
    return *np.array(ends).T, SIMULATED, ("the other counts are to each other as released",)


# Means


def limit_mean(release: Release, alpha: float, population: bool) -> RawInterval:
    """The limits of a mean or a sum of values within bounds."""
    (bound,) = release.limits_of_coordinates()
    part = release.parts[0]
    released, unit, place = number_in_draw(release)
    if not population:
        law = law_of(part, bound) if part.dimension == 1 else Law(noise_of(part, unit, place=place), *bound)
        return *inverted(noise_only(law, released, *bound), released, alpha), INVERTED, ()
    size = release.size
    if size is None:
        raise ValueError(
            f"a {release.statistic.name} without a public number of records has no interval for the population; "
            "use kind='noise', or release the mean"
        )
    # The unit is one record at the upper bound, as if all records were at one of the bounds.
    worth = (bound[1] - bound[0]) / size
    cut = (0.0, float(size)) if part.bounding == "truncated" else None
    y, sampling = (released - bound[0]) / worth, Binomial(size)
    noise = noise_of(part, unit / worth, place=place)
    law = without_cut(Law(noise, 0.0, float(size), cut), y, 10 * sampling.deviation(y))
    limits = np.array(inverted(Averaged(Sampled(sampling, law, step=0)), y, alpha))
    return *(bound[0] + limits * (bound[1] - bound[0])), INVERTED, (*_state_size(release), _AT_THE_BOUNDS)


def limit_sums(release: Release, alpha: float, population: bool) -> RawInterval:
    """The limits of sums of groups, each from its own noisy number."""
    if population:
        raise ValueError(
            "a sum of groups has no interval for the population, since their sizes are secret; ask for kind='noise', "
            "or release the mean"
        )
    part = release.parts[0]
    ends = []
    for number, unit, bound in zip(release.noisy, release.units, release.limits_of_coordinates(), strict=True):
        released = min(max(float(number * unit), bound[0]), bound[1])
        law = Law(noise_of(part, float(unit)), *bound)
        ends.append(inverted(noise_only(law, released, *bound), released, alpha))
    lower, upper = np.array(ends).T
    return lower, upper, INVERTED, ()


def number_in_draw(release: Release) -> tuple[float, float, int]:
    """The released number, the value of one unit of its coordinate, and the index of the coordinate in its vector."""
    unit = float(release.units[0])
    line = release.derivation.mean_of_sum(release.numeric_ends(), unit)
    if line is None and release.group is None:
        return float(release.noisy[0]), 1.0, 0
    middle, unit = line or (0.0, unit)
    # A number that was drawn together with others is clamped afterwards.
    ((lowest, highest),) = release.limits_of_coordinates()
    place = release.places[0] if release.places else 0
    return min(max(middle + float(release.noisy[0]) * unit, lowest), highest), unit, place


def _mean_with_variance(release: Release, variance: Release, alpha: float, population: bool) -> RawInterval:
    """The interval of a mean by the normal law, with a released variance.

    The released variance is noisy too, so the standard error is averaged over the variances that are possible given the
    noise.
    """
    if not population or release.derivation.of_sums or release.rows is None:
        raise ValueError(_FOR_MEANS)
    alike = [_treatment(rule) for rule in variance.columns] == [_treatment(rule) for rule in release.columns]
    if variance.statistic.traits.meaning != "squared spread" or variance.rows != release.rows or not alike:
        raise ValueError(
            "variance= must be a released variance of the same column of the same table, with the same bounds"
        )
    (bound,), (reach,) = release.limits_of_coordinates(), variance.limits_of_coordinates()
    noise = _law_of_variance(variance, reach)
    released, unit, place = number_in_draw(release)
    law = law_of(release.parts[0], bound)
    law = law if release.parts[0].dimension == 1 else Law(noise_of(release.parts[0], unit, place=place), *bound)
    deviations, weights = standard_errors(noise, float(variance.value), release.rows, law.noise.scale)
    family = Integrated(NormalMixture(deviations, weights), law, *bound)
    ends = inverted(family, released, alpha)
    return *ends, "normal law with a released variance", (f"the mean of {release.rows} of them is near to normal",)


def _law_of_variance(variance: Release, reach: tuple[float, float]) -> Law:
    """The law of a released variance. If it was computed from moments, its noise is about h² (z_2/2 - 2m z_1)/n."""
    part, rows = variance.parts[0], variance.derivation.rows
    if rows is None:
        return law_of(part, reach)
    (ends,) = variance.numeric_ends()
    worth = float(variance.units[0])
    mean = min(max(float(variance.noisy[0]) * worth / rows, -1.0), 1.0)
    first, second = variance.places or (0, 1)
    scale = float(part.spread) * worth * ((ends[1] - ends[0]) / 2) ** 2 / (rows - 1)
    return Law(InNorm(scale, part.dimension, norm_parts(part), ((first, -2 * mean), (second, 0.5))), *reach)


def _treatment(rule: ColumnRule) -> tuple[Any, ...]:
    """The rule of a column without its step, which depends on ε."""
    return rule.name, rule.lower, rule.upper, rule.missing


def standard_errors(law: Law, released: float, rows: int, scale: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Standard errors of a mean and their weights, given a noisy variance.

    They are spread over the sample variances that are possible given the noise, and over the population variances that
    are possible given the sample variance (chi-squared, which turns a normal law into Student's).
    """
    ends = np.unique(np.clip(released + bends_of(law.noise, _AROUND), law.lower, law.upper))
    ends = ends if len(ends) > 1 else np.array([law.lower, law.upper])
    nodes, node_weights = unit_legendre(6)
    variances = (ends[:-1, None] + np.diff(ends)[:, None] * nodes).ravel()
    weights = (np.diff(ends)[:, None] * node_weights).ravel() * law.likelihood(released, variances)
    levels, level_weights = unit_legendre(24)
    inflated = (rows - 1) / (2 * scipy.special.gammaincinv((rows - 1) / 2, levels))
    squares = np.outer(variances, inflated).ravel() / rows
    weights = np.outer(weights / weights.sum(), level_weights).ravel()
    # Standard errors far below the scale of the noise make no difference, but would need finer panels. The others are
    # summarised by parts of equal weight.
    deviations = np.maximum(np.sqrt(squares), 0.05 * scale)
    order = np.argsort(deviations)
    part = np.minimum((np.cumsum(weights[order]) * _PARTS).astype(int), _PARTS - 1)
    mass = np.bincount(part, weights[order], _PARTS)
    mean_square = np.bincount(part, weights[order] * deviations[order] ** 2, _PARTS) / np.maximum(mass, 1e-300)
    is_used = mass > 0
    return tuple(np.sqrt(mean_square[is_used]).tolist()), tuple((mass[is_used] / mass.sum()).tolist())


_AROUND = np.array([-12.0, -4.0, -1.5, 0.0, 1.5, 4.0, 12.0])
_PARTS = 32


def limit_means(release: Release, alpha: float, population: bool) -> RawInterval:
    """The limits of noisy sums divided by noisy counts."""
    noise = noise_of(release.parts[0])
    numeric = next(rule for rule in release.columns if rule.step is not None)
    low, high = float(numeric.lower or 0), float(numeric.upper or 0)
    cells = release.worth().reshape(-1, release.parts[0].dimension)[:, :2]
    worth = float(release.units[1])
    if len(cells) >= fieller.MANY:
        ends = np.array(fieller.mean_limits(cells[:, 0], cells[:, 1], noise, alpha, sampled=population, worth=worth))
    else:
        simulated.enough_draws(alpha)
        errors = simulated.draw_errors(noise, sampled=population, worth=worth)
        found = [simulated.limits_of_errors(n, s, errors, alpha) for n, s in cells.tolist()]
        ends = np.array(found).T
    limits = (low + high) / 2 + (high - low) / 2 * ends
    return *limits, "Fieller's method, with simulated noise", _SUMS if population else ()
