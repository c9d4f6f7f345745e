"""Intervals by simulation, for values that are computed from several noisy numbers.

A parameter is kept if the released figure is not in a tail of simulated releases: normal records (a Wishart scatter),
then noise of the certified law, then the bounds, so that clamping is part of the test. Other parameters of the law (the
variances of a correlation, the other shares of a share) are set to the released values. Variances, which noise may have
changed a lot, are set to several values within its reach, and a parameter is kept if one of them keeps it (repro
samples, Awan and Wang 2024). Draws have a fixed seed, so that everybody gets the same interval from the same record.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product

import numpy as np
import scipy

from inbounds._check import Array
from inbounds.expected import truncated_laplace
from inbounds.inference.laws import InNorm, Law, Noise, SupNorm
from inbounds.inference.roots import bracket_root
from inbounds.laws import Staircase
from inbounds.laws.vectors import vector_noise
from inbounds.repairs.moments import pooled_scatter, scatter

DRAWS = 4000
# The width of a bracket around a limit, as a part of the range.
WIDTH = 2**-18
# It replaces 0, so that such a parameter is kept: clamped figures are equal for many parameters.
_HAIR = 1e-300


def enough_draws(alpha: float, draws: int = DRAWS) -> None:
    """Refuse levels whose tails have fewer than ten draws."""
    if alpha / 2 * draws < 10 * (1 - 1e-9):
        raise ValueError(
            f"intervals of this release are simulated, for levels up to {1 - 20 / draws:.4g}; use a lower level"
        )


def limits(
    simulate: Callable[[float], Array], observed: float, lowest: float, highest: float, alpha: float
) -> tuple[float, float]:
    """The θ for which P(simulated ≥ observed) and P(simulated ≤ observed) exceed alpha/2. Figures increase with θ."""

    def upper(theta: float) -> float:
        return _excess(simulate(theta), observed, alpha / 2)

    def lower(theta: float) -> float:
        return _excess(-simulate(theta), -observed, alpha / 2)

    ends = _boundary(upper, lowest, highest), _boundary(lower, highest, lowest)
    return min(ends), max(ends)


def _excess(figures: Array, observed: float, tail: float) -> float:
    """How far figures reach beyond the observed one: above 0 if a larger share than ``tail`` is at least as large."""
    place = quantile_place(len(figures), tail)
    return float(np.partition(figures, place)[place]) - observed or _HAIR


def quantile_place(draws: int, tail: float) -> int:
    """The place, from 0 in increasing order, of the draw that a share of ``tail`` exceeds."""
    return draws - 1 - math.floor(tail * draws)


def _boundary(excess: Callable[[float], float], outside: float, inside: float) -> float:
    """The limit between parameters that are kept, with an excess above 0, and those that are not, rounded outwards."""
    if (at_outside := excess(outside)) > 0:
        return outside
    if (at_inside := excess(inside)) <= 0:
        return inside
    (low, at_low), (high, at_high) = sorted([(outside, at_outside), (inside, at_inside)])
    below, above = bracket_root(excess, low, high, WIDTH * (high - low), ends=(at_low, at_high))
    return below if outside < inside else above


# claim:bartlett
@dataclass(frozen=True, slots=True)
class Scatter:
    """Draws of the scatter of two standard normal columns (Bartlett), divided by the degrees of freedom.

    With a² and b² chi-squared with ν and ν - 1 degrees and c normal, [[a, 0], [c, b]] is a root of a
    Wishart matrix. Scatters with other correlations and variances follow from it by a linear map.
    """

    first: Array
    cross: Array
    second: Array

    @classmethod
    def draw(cls, freedom: Sequence[int] | int, rng: np.random.Generator, *, sampled: bool) -> "Scatter":
        """One column of draws for each number of degrees of freedom. Without sampling, the expected scatter, once."""
        shape = (DRAWS if sampled else 1, *np.shape(freedom))
        degrees = np.maximum(np.asarray(freedom, float), 1.0)
        if not sampled:
            return cls(np.ones(shape), np.zeros(shape), np.ones(shape))
        first = np.sqrt(rng.chisquare(degrees, shape) / degrees)
        second = np.sqrt(2 * rng.standard_gamma(np.maximum(degrees - 1, 0.0) / 2, shape) / degrees)
        return cls(first, rng.standard_normal(shape) / np.sqrt(degrees), second)

    def at(self, variances: tuple[float, float], correlation: float) -> tuple[Array, Array, Array]:
        """Sample variances and the covariance between them, for the given variances of the population."""
        rest = math.sqrt(max(1 - correlation**2, 0.0))
        along = correlation * self.first + rest * self.cross
        across = along**2 + (rest * self.second) ** 2
        area = math.sqrt(variances[0] * variances[1])
        return variances[0] * self.first**2, area * self.first * along, variances[1] * across


@dataclass(frozen=True, slots=True)
class Released:
    """The release of the three matrix elements of a pair of columns: noise, then bounds.

    ``scales`` are the scales of the noise, in the units of the elements. Truncated covariances are within the limits
    that the released variances imply.
    """

    scales: tuple[float, float, float]
    bounds: tuple[tuple[float, float], ...]
    draws: Array
    truncated: bool

    def noisy(self, elements: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        first, cross, second = elements
        if not self.truncated:
            values = [
                np.clip(x + s * z, *b)
                for x, s, z, b in zip(elements, self.scales, self.draws, self.bounds, strict=True)
            ]
            return values[0], values[1], values[2]
        noisy_first = truncated_laplace(self.draws[0], first, self.scales[0], *self.bounds[0])
        noisy_second = truncated_laplace(self.draws[2], second, self.scales[2], *self.bounds[2])
        reach = np.sqrt(noisy_first * noisy_second)
        return noisy_first, truncated_laplace(self.draws[1], cross, self.scales[1], -reach, reach), noisy_second


def pair_noise(noises: Sequence[Noise], bounds: Sequence[tuple[float, float]], *, truncated: bool) -> Released:
    """The release of a pair's elements, with draws of its noise."""
    rng = np.random.default_rng(1)
    scales = (noises[0].scale, noises[1].scale, noises[2].scale)
    if truncated:
        return Released(scales, tuple(bounds), rng.random((3, DRAWS)), truncated=True)
    return Released(scales, tuple(bounds), unit_noise(noises[0], range(3), rng).T, truncated=False)


def unit_noise(noise: Noise, places: Sequence[int], rng: np.random.Generator, groups: int = 1) -> Array:
    """Draws of unit scale for some coordinates of a vector. Each group has its own vector."""
    if isinstance(noise, SupNorm | InNorm):
        parts = noise.parts if isinstance(noise, InNorm) else ()
        draws = vector_noise(noise.dimension, parts, rng, (DRAWS, groups), places)
    elif isinstance(noise, Staircase):
        draws = replace(noise, scale=1.0).sample(rng, (DRAWS, groups, len(places)))
    else:
        draws = rng.laplace(0.0, 1.0, (DRAWS, groups, len(places)))
    return np.asarray(draws[:, 0] if groups == 1 else draws)


def correlation_of(first: Array, cross: Array, second: Array) -> Array:
    """The correlation, clipped to [-1, 1]; 0 if a variance is 0."""
    area = np.sqrt(np.maximum(first, 0.0) * np.maximum(second, 0.0))
    return np.asarray(np.clip(np.divide(cross, area, out=np.zeros_like(cross), where=area > 0), -1.0, 1.0))


def pair_limits(
    figure: Callable[[tuple[float, float], float], Array],
    observed: float,
    plausible: tuple[Sequence[float], Sequence[float]],
    alpha: float,
    *,
    covariance: bool,
) -> tuple[float, float]:
    """The widest limits over plausible variances. ``figure(variances, correlation)`` are simulated releases.

    After the first pair of variances, the others are only tried for parameters beyond the limits found so far.
    """
    low, high = math.inf, -math.inf
    for variances in product(*plausible):
        area = math.sqrt(variances[0] * variances[1]) if covariance else 1.0
        at = partial(figure, variances)
        if low > high:
            low, high = (end * area for end in limits(at, observed, -1.0, 1.0, alpha))
            continue

        @cache
        def below(rho: float, at: Callable[[float], Array] = at) -> float:
            return _excess(at(rho), observed, alpha / 2)

        @cache
        def above(rho: float, at: Callable[[float], Array] = at) -> float:
            return _excess(-at(rho), -observed, alpha / 2)

        if -area < low and below(min(low / area, 1.0)) > 0:
            low = area * _boundary(below, -1.0, min(low / area, 1.0))
        if area > high and above(max(high / area, -1.0)) > 0:
            high = area * _boundary(above, 1.0, max(high / area, -1.0))
    return low, high


@dataclass(frozen=True, slots=True)
class Sums:
    """Simulated noisy counts and sums of groups (`inbounds.tables.coordinates.MomentSums`) of one or two columns.

    ``sizes`` and ``means`` (groups × columns, in half-widths from the middle of the bounds) are the released ones.
    """

    of: Callable[[Array, Array], Array]
    sizes: Array
    means: Array
    scatter: Scatter
    shift: Array
    noise: Array
    half_widths: Array

    def figure(self, variances: tuple[float, ...], correlation: float = 0.0) -> Array:
        """Simulated variance, covariance or correlation; ``variances`` are those of the population."""
        columns = len(self.half_widths)
        scaled = tuple(v / h**2 for v, h in zip(variances, self.half_widths, strict=True))
        pair = (scaled[0], scaled[-1])
        first, cross, second = self.scatter.at(pair, correlation if columns == 2 else 0.0)
        elements = [first] if columns == 1 else [first, cross, second]
        free = np.maximum(self.sizes - 1, 1.0)
        means = self._shift_means(pair, correlation)
        coordinates = [np.broadcast_to(self.sizes, first.shape)]
        coordinates += [self.sizes * mean for mean in means]
        for element, (i, j) in zip(elements, [(0, 0), (0, 1), (1, 1)], strict=False):
            total = free * element + self.sizes * means[i] * means[j if columns == 2 else 0]
            coordinates.append(2 * total - self.sizes if i == j else total)
        noisy = np.stack(coordinates, axis=-1) + self.noise
        return self.of(noisy, self.half_widths)

    def _shift_means(self, variances: tuple[float, float], correlation: float) -> list[Array]:
        """Sample means: the means of the groups plus a sampling error."""
        root = np.sqrt(np.maximum(self.sizes, 1.0))
        first = self.means[:, 0] + math.sqrt(variances[0]) * self.shift[..., 0] / root
        if len(self.half_widths) == 1:
            return [np.clip(first, -1, 1)]
        along = correlation * self.shift[..., 0] + math.sqrt(max(1 - correlation**2, 0.0)) * self.shift[..., 1]
        second = self.means[:, 1] + math.sqrt(variances[1]) * along / root
        return [np.clip(first, -1, 1), np.clip(second, -1, 1)]


def sums_figure(cells: Array, half_widths: Array, *, pooled: bool, correlation: bool) -> Array:
    """The figure of one or two columns from noisy counts and sums, with groups along the last axis but one."""
    if pooled:
        centred, free = pooled_scatter(cells, half_widths)
    else:
        counts, centred = scatter(cells[..., 0, :], half_widths)
        free = counts - 1
    elements = centred / free
    if elements.shape[-1] == 1:
        return np.maximum(elements[..., 0], 0.0)
    if correlation:
        return correlation_of(elements[..., 0], elements[..., 1], elements[..., 2])
    return elements[..., 1]


# claim:fieller
def mean_limits(
    count: float, total: float, noise: Noise, alpha: float, *, sampled: bool, place: int = 1, worth: float = 1.0
) -> tuple[float, float]:
    """Limits for a mean in [-1, 1] of records from a noisy count and a noisy sum drawn together.

    For the true mean m the difference D = total - m · count has mean 0 whatever the number of records is: noise
    z_total - m z_count and, if the records are a sample, at most variance count · (1 - m²). An m is kept where |D| is
    no larger than the 1 - alpha quantile of that (Fieller 1954). ``place`` is that of the sum in its vector, which
    begins with the count, and ``worth`` is the worth of one unit of its coordinate.
    """
    enough_draws(alpha)
    return limits_of_errors(count, total, draw_errors(noise, sampled=sampled, place=place, worth=worth), alpha)


def limits_of_errors(count: float, total: float, errors: tuple[Array, Array], alpha: float) -> tuple[float, float]:
    """The same from draws of the noise and of the sampling error, which are those of all groups."""
    z, sampling = errors
    # Noise may have made the count, and so the sampling error, too small. Add one standard deviation.
    size = max(count, 1.0) + float(np.std(z[:, 0]))

    def excess(mean: float) -> float:
        error = z[:, 1] - mean * z[:, 0] + math.sqrt(size * max(1 - mean**2, 0.0)) * sampling
        return _excess(np.abs(error), abs(total - mean * count), alpha)

    centre = float(np.clip(total / count, -1, 1)) if count > 0 else 0.0
    if excess(centre) <= 0:
        # At a low level even the best mean may be excluded. Without a count nothing is known.
        return (centre, centre) if count > 0 else (-1.0, 1.0)
    return _boundary(excess, -1.0, centre), _boundary(excess, 1.0, centre)


def draw_errors(noise: Noise, *, sampled: bool, place: int = 1, worth: float = 1.0) -> tuple[Array, Array]:
    """Draws of the noise of a number and of a sum, and of the normal error of sampling, 0 without it."""
    rng = np.random.default_rng(2)
    z = unit_noise(noise, [0, place], rng) * noise.scale * [1.0, worth]
    return z, rng.standard_normal(DRAWS) if sampled else np.zeros(DRAWS)


def share_limits(
    counts: Array, place: int | None, law: Law, size: int | None, alpha: float, *, sampled: bool
) -> tuple[float, float]:
    """Limits for a share of counts that have independent noise and are at least 0.

    With a ``place``, it is that count divided by the sum of all. Without, it is what the counts leave of ``size``.
    Bounding moves small counts up, so the other counts matter. For every share that is tried they add up to the rest,
    in the released proportions. If the number of records is protected, it is the one that explains the released sum.
    """
    enough_draws(alpha)
    rng = np.random.default_rng(3)
    others = counts if place is None else np.delete(counts, place)
    weights = others / others.sum() if others.sum() > 0 else np.full(len(others), 1 / len(others))
    u = rng.random((DRAWS, len(others) + 1))
    records = rng.random(DRAWS)
    observed_sum = float(counts.sum())
    left = (size or 0) - observed_sum if place is None else float(counts[place])
    observed = max(left, 0.0) / (float(size or 1) if place is None else max(observed_sum, 1e-12))

    def simulate(share: float) -> Array:
        total = float(size) if size is not None else _find_size(share, weights, observed_sum, law)
        having = _binomial(records, max(round(total), 1), share) if sampled else np.full(DRAWS, round(total * share))
        rest = np.rint((total - having)[:, None] * weights)
        noisy = _release_counts(u[:, 1:], rest, law).sum(axis=1)
        if place is None:
            return np.asarray(np.maximum(total - noisy, 0.0) / total)
        noisy_count = _release_counts(u[:, :1], having[:, None], law)[:, 0]
        return np.asarray(noisy_count / np.maximum(noisy_count + noisy, 1e-12))

    return limits(simulate, min(observed, 1.0), 0.0, 1.0, alpha)


def _release_counts(u: Array, at: Array, law: Law) -> Array:
    """Noisy counts of 0 or more from uniform variables: integers, clamped or truncated like the law."""
    scale = law.noise.scale
    if law.cut is not None:
        return np.rint(truncated_laplace(u, at, scale, law.cut[0] - 0.499, law.cut[1] + 0.499))
    q = math.exp(-1 / scale)
    # P(noise ≥ j) = q^j/(1 + q) on either side: the largest j that the uniform variable allows.
    tail = np.maximum(np.where(u < 0.5, u, 1 - u) * (1 + q), 1e-300)
    noise = np.where(u < 0.5, -1.0, 1.0) * np.maximum(np.floor(-scale * np.log(tail)), 0.0)
    return np.asarray(np.maximum(at + noise, 0.0))


def _find_size(share: float, weights: Array, observed: float, law: Law) -> float:
    """The number of records for which the noisy counts add up to the released sum on average."""
    total = max(observed, 1.0)
    for _ in range(6):
        true = np.concatenate([[share * total], (1 - share) * total * weights])
        far = true / law.noise.scale
        # The bias at a distance from the one bound there is, clamped or truncated.
        bias = np.exp(-far) / 2 if law.cut is None else (1 + far) * np.exp(-far) / (2 - np.exp(-far))
        excess = law.noise.scale * bias
        total = max(observed - float(excess.sum()), 1.0)
    return total


def _binomial(u: Array, size: int, share: float) -> Array:
    """Binomial numbers that increase with the share: from the exact law if it is narrow, else by Cornish and Fisher."""
    deviation = math.sqrt(max(size * share * (1 - share), 0.0))
    if deviation < 12:
        centre = size * share
        k = np.arange(max(0, int(centre - 10 * deviation - 40)), min(size, int(centre + 10 * deviation + 40)) + 1.0)
        upper = scipy.special.betainc(np.maximum(size - k, 1e-300), k + 1, 1 - share)
        return np.asarray(k[np.minimum(np.searchsorted(np.where(k >= size, 1.0, upper), u), len(k) - 1)])
    z = scipy.special.ndtri(u)
    skew = (1 - 2 * share) / (6 * deviation)
    return np.clip(np.rint(size * share + deviation * (z + skew * (z**2 - 1))), 0, size)
