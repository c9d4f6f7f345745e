"""Posteriors of released numbers, and estimates without bias. This is post-processing and costs nothing.

The law of the noise is known, so the released number has a likelihood. With a prior on the bounds (uniform, or another
beta law) it gives a posterior for the statistic of the table, or for the share in the population.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from inbounds import _check
from inbounds._check import Array, Figures
from inbounds.expected import Doubles, continuous, is_coarse, lattice_moments, lattice_of
from inbounds.grid.law import moments
from inbounds.inference.laws import Law, bends_of, law_of, noise_of
from inbounds.inference.result import KINDS, noisy_counts, require_release
from inbounds.inference.roots import bracket_root
from inbounds.laws.noise import unit_legendre
from inbounds.privacy.certificate import Certificate
from inbounds.record.release import Release


@dataclass(frozen=True, slots=True)
class Posterior:
    """The posterior of a released number. Figures are arrays if there are several numbers.

    Attributes
    ----------
    mean, median
        The mean and the median of the posterior.
    lower, upper
        The limits of the equal-tailed credible interval.
    level
        The probability of that interval.
    kind
        ``"noise"`` for the table itself, ``"population"`` for the population.
    prior
        The exponents of the beta prior.
    """

    mean: Figures
    median: Figures
    lower: Figures
    upper: Figures
    level: float
    kind: str
    prior: tuple[float, float]

    def __str__(self) -> str:
        place = "in the population" if self.kind == "population" else "of this table"
        if isinstance(self.mean, np.ndarray):
            means = ", ".join(f"{x:.6g}" for x in np.ravel(self.mean))
            return f"posterior means {place}: {means}; beta({self.prior[0]:g}, {self.prior[1]:g}) prior for each"
        text = f"posterior mean {self.mean:.6g}, median {self.median:.6g}, {_check.percent(self.level)} within"
        return f"{text} {self.lower:.6g} to {self.upper:.6g}, {place}; beta({self.prior[0]:g}, {self.prior[1]:g}) prior"


# claim:posterior
def posterior(
    release: Release, prior: tuple[float, float] = (1.0, 1.0), *, kind: str = "noise", level: float = 0.95
) -> Posterior:
    """The posterior of a released number under a beta prior on its bounds.

    Parameters
    ----------
    release
        The release. If it has several numbers, each has its own posterior.
    prior
        The exponents (a, b) of the beta law; (1, 1) is uniform. Each is from 0.001 to 1e6.
    kind
        ``"noise"`` for the statistic of the table, ``"population"`` for the share in the population (counts and shares
        only). In the latter case the prior is that of the share.
    level
        The probability of the credible interval.

    Returns
    -------
    Posterior
        Mean, median and credible interval.

    Raises
    ------
    TypeError, ValueError
        If an argument is not valid, or the release is neither one noisy number with two bounds nor a count or share of
        a public number of records.

    Examples
    --------
    >>> import inbounds as ib
    >>> release = ib.mean([23, 35, 62, 41] * 500, bounds=(0, 100), epsilon=1)
    >>> result = posterior(release)
    >>> 0 <= result.lower <= result.mean <= result.upper <= 100
    True
    """
    require_release(release, "release")
    a, b = (_exponent(x) for x in _pair(prior))
    _check.choice(kind, "kind", KINDS)
    level = _check.level(level)
    if _is_counted(release):
        rows = _of_counts(release, a, b, kind == "population", level)
    else:
        if kind == "population":
            raise ValueError(
                "kind='population' is only for counts and shares, whose sampling law is known; use 'noise'"
            )
        rows = [_of_number(release, a, b, level)]
    columns = np.array(rows).T
    if not release.axes:
        figures: list[Any] = [float(column[0]) for column in columns]
    else:
        figures = [column.reshape([len(axis) for axis in release.axes]) for column in columns]
    return Posterior(figures[0], figures[1], figures[2], figures[3], level, kind, (a, b))


def _pair(prior: Any) -> tuple[Any, Any]:
    if not isinstance(prior, tuple | list) or len(prior) != 2:
        raise TypeError("prior must be a pair (a, b) of exponents of a beta law on the bounds; (1, 1) is uniform")
    return prior[0], prior[1]


def _exponent(value: Any) -> float:
    number = _check.positive(value, "prior")
    if not 1e-3 <= number <= 1e6:
        raise ValueError(f"prior must have exponents between 0.001 and 1e6, got {number:g}")
    return number


def _is_counted(release: Release) -> bool:
    way, is_count = release.derivation, release.statistic.traits.counted
    if is_count and not (way.of_sums or way.derived is not None or way.over_sum):
        if release.size is None:
            raise ValueError("a count without a public number of records has no upper bound, so it has no prior here")
        return True
    if not is_count and way.single and way.plain and None not in release.bounds[0]:
        return False
    if way.mean_of_sum(release.numeric_ends(), 1.0) is not None:
        return False
    raise ValueError(
        f"{release.title}, by {release.method!r}, has no posterior: only one noisy number with bounds on both sides, "
        "or counts and shares of a public number of records, have one"
    )


def _of_counts(release: Release, a: float, b: float, population: bool, level: float) -> list[tuple[float, ...]]:
    size = release.size or 1
    shares, (parts, cells) = release.statistic.traits.shares, noisy_counts(release)
    laws = [law_of(part, (0.0, float(size)), counts=True) for part in parts]
    worth = (1.0 if population else 1 / size) if shares else (float(size) if population else 1.0)
    posteriors = {cell: _count_posterior(laws[cell[0]], cell[1], size, a, b, population, level) for cell in set(cells)}
    return [tuple(worth * x for x in posteriors[cell]) for cell in cells]


def _count_posterior(
    law: Law, y: float, size: int, a: float, b: float, population: bool, level: float
) -> tuple[float, ...]:
    gammaln = scipy.special.gammaln

    def log_prior(k: Array) -> Array:
        return np.asarray(gammaln(k + a) - gammaln(k + 1) + gammaln(size - k + b) - gammaln(size - k + 1))

    reach = math.ceil(law.noise.reach)
    k = np.arange(max(0, int(y) - reach), min(size, int(y) + reach) + 1, dtype=float)
    logs = log_prior(k) + law.log_likelihood(y, k)
    if max(logs[0] if k[0] > 0 else -math.inf, logs[-1] if k[-1] < size else -math.inf) > logs.max() - 40:
        # The prior disagrees with the released count, so no count can be left out.
        k = np.arange(size + 1, dtype=float)
        logs = log_prior(k) + law.log_likelihood(y, k)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    tails = ((1 - level) / 2, 0.5, (1 + level) / 2)
    if not population:
        low, middle, high = k[np.minimum(np.searchsorted(np.cumsum(weights), tails), len(k) - 1)]
        return float(weights @ k), float(middle), float(low), float(high)
    # Given the count, the share has a beta law. So the posterior is a mixture of beta laws.
    is_likely = weights > 1e-15
    first, second, mixed = k[is_likely] + a, size - k[is_likely] + b, weights[is_likely]

    def quantile(tail: float) -> float:
        ends = bracket_root(lambda p: float(mixed @ scipy.special.betainc(first, second, p)) - tail, 0.0, 1.0, 1e-12)
        return sum(ends) / 2

    low, middle, high = (quantile(tail) for tail in tails)
    return float(mixed @ (first / (size + a + b))), middle, low, high


def _of_number(release: Release, a: float, b: float, level: float) -> tuple[float, ...]:
    (bound,) = release.limits_of_coordinates()
    law, y, width = law_of(release.parts[0], bound), float(release.noisy[0]), bound[1] - bound[0]
    if (mean := unclamped_mean(release)) is not None:
        y, unit, place = mean
        law = Law(noise_of(release.parts[0], unit, place=place))
    near = y + bends_of(law.noise, np.array([-40, -20, -10, -5, -2, -0.7, 0, 0.7, 2, 5, 10, 20, 40]))
    prior = scipy.special.betaincinv(a, b, np.array([1e-12, 1e-6, 1e-3, 0.05, 0.3, 0.7, 0.95, 0.999, 1 - 1e-6]))
    places = [near, bound[0] + width * prior, np.linspace(*bound, 9), np.linspace(y, bound[0] + width * prior[4], 17)]
    ends = np.unique(np.clip(np.concatenate(places), *bound))
    nodes, node_weights = unit_legendre(16)
    if min(a, b) < 1:
        # A prior whose density is unbounded at a bound is smooth as a function of its quantiles.
        ends = np.unique(np.concatenate([scipy.special.betainc(a, b, (ends - bound[0]) / width), _TAILS, 1 - _TAILS]))
        quantiles = (ends[:-1, None] + np.diff(ends)[:, None] * nodes).ravel()
        s = bound[0] + width * scipy.special.betaincinv(a, b, quantiles)
        logs = law.log_likelihood(y, s)
    else:
        s = (ends[:-1, None] + np.diff(ends)[:, None] * nodes).ravel()
        share = (s - bound[0]) / width
        # If the bounds are narrow compared to their size, shares close to 0 or 1 are rounded to them.
        prior_logs = scipy.special.xlogy(a - 1, share) + scipy.special.xlog1py(b - 1, -share)
        logs = prior_logs + law.log_likelihood(y, s)
    weights = (np.diff(ends)[:, None] * node_weights).ravel() * np.exp(logs - logs.max())
    weights /= weights.sum()
    low, middle, high = np.interp([(1 - level) / 2, 0.5, (1 + level) / 2], np.cumsum(weights) - weights / 2, s)
    return float(weights @ s), float(middle), float(low), float(high)


def unclamped_mean(release: Release) -> tuple[float, float, int] | None:
    """A mean from its noisy sum before clamping, which has no bias; with the worth of a unit, and its place.

    None for a release that is no mean of a noisy sum.
    """
    line = release.derivation.mean_of_sum(release.numeric_ends(), float(release.units[0]))
    if line is None:
        return None
    middle, unit = line
    return middle + float(release.noisy[0]) * unit, unit, release.places[0] if release.places else 0


_TAILS = np.array([0.0, 1e-6, 1e-4, 1e-2, 0.1])


# claim:unbiased
def unbiased(release: Release) -> Figures:
    """The true value for which the expected release is the released value (moment inversion).

    Clamping and truncation move values towards the middle of the bounds on average. This corrects for it, at the price
    of more variance. The result is within the bounds. If the noise was drawn without bounds, it is the noisy number.

    Parameters
    ----------
    release
        A release each of whose values has its own noisy number.

    Returns
    -------
    float or array
        The estimate. An array in the shape of the value if there are several.

    Raises
    ------
    ValueError
        If the values are computed from several noisy numbers each.

    Examples
    --------
    >>> import inbounds as ib
    >>> release = ib.mean([23, 35, 62, 41] * 500, bounds=(0, 100), epsilon=1)
    >>> abs(unbiased(release) - release.value) < 1
    True
    """
    require_release(release, "release")
    parts = release.parts
    if (mean := unclamped_mean(release)) is not None:
        return mean[0]
    if not release.derivation.keeps_numbers:
        raise ValueError(
            f"a {release.statistic.name} by {release.method!r} is computed from several noisy numbers, so its bias "
            "cannot be inverted"
        )
    values = [
        float(x) * float(unit) if part.bounding == "unbounded" else _invert_mean(part, float(x), float(unit))
        for part, x, unit in zip(parts, release.noisy, release.units, strict=True)
    ]
    return np.array(values).reshape([len(axis) for axis in release.axes]) if release.axes else values[0]


def _invert_mean(part: Certificate, released: float, unit: float) -> float:
    law = part.mechanism
    if not is_coarse(part) or law.first is None:
        wide = continuous(part)
        low, high = wide.bounds
        low, high = (max(low, released - 60 * wide.noise.scale), min(high, released + 60 * wide.noise.scale))
        return unit * _root(lambda s: float(wide.mean(s)) - released, low, high)
    target, last = (released - float(law.origin)) / float(law.step), law.last
    noise = lattice_of(part)

    def mean(k: int) -> float:
        if noise is not None:
            return k + float(lattice_moments(noise, law, [law.value(k)])[1][0]) / float(law.step)
        return k + float(moments(Doubles(float(part.grid.scale.steps)), law.bounding, law.first, last, k)[0])

    low_k, high_k = law.first, law.first + 1
    while (last is None or high_k < last) and mean(high_k) < target:
        low_k, high_k = high_k, 2 * high_k - law.first if last is None else min(last, 2 * high_k - law.first)
    while high_k - low_k > 1:
        middle = (low_k + high_k) // 2
        low_k, high_k = (middle, high_k) if mean(middle) < target else (low_k, middle)
    below, above = mean(low_k), mean(high_k)
    part_way = min(max((target - below) / (above - below), 0.0), 1.0)
    return unit * (float(law.origin) + float(law.step) * (low_k + part_way * (high_k - low_k)))


def _root(function: Any, low: float, high: float) -> float:
    if function(low) >= 0:
        return low
    return high if function(high) <= 0 else sum(bracket_root(function, low, high, 2e-12, relative=1e-13)) / 2
