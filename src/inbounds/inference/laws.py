"""The law of one released coordinate, in double precision, for intervals, tests and posteriors.

A noise has a distribution function on the real line; a `Law` puts it between bounds. Counts are measured in records and
are integers (``step`` 1). Everything else is on a grid so fine that it is treated as continuous (``step`` 0).
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import scipy

from inbounds._check import Array
from inbounds.expected import norm_parts, staircase_of
from inbounds.laws import Staircase
from inbounds.laws.vectors import Part, combination_sizes
from inbounds.privacy.certificate import Certificate

# The norm of a mean and its square by themselves; see `inbounds.privacy.norms`.
OF_MEAN = ("mean moments 1",)
# The tail beyond the reach of a noise is smaller than this.
_NEGLIGIBLE = 1e-17
# A discrete noise that is wider than this many steps is tabulated on a coarser lattice.
_FINEST = 2000.0


class Noise(Protocol):
    """Symmetric noise: ``cdf(t)`` is P(noise ≤ t), for integer t if ``step`` is 1.

    ``density`` is the density, or the probability of an integer. Beyond ``reach`` the probability is negligible.
    """

    @property
    def scale(self) -> float: ...
    @property
    def step(self) -> int: ...
    @property
    def reach(self) -> float: ...
    def cdf(self, t: Any) -> Array: ...
    def density(self, t: Any) -> Array: ...


@dataclass(frozen=True, slots=True)
class Laplace:
    """Density ∝ e^(-|t|/scale)."""

    scale: float
    step: int = 0

    @property
    def reach(self) -> float:
        return self.scale * -math.log(_NEGLIGIBLE)

    def cdf(self, t: Any) -> Array:
        t = np.asarray(t, float)
        tail = np.exp(-np.abs(t) / self.scale) / 2
        return np.asarray(np.where(t < 0, tail, 1 - tail))

    def density(self, t: Any) -> Array:
        return np.asarray(np.exp(-np.abs(t) / self.scale) / (2 * self.scale))


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """P(k) ∝ q^|k| on the integers, q = e^(-1/scale).

    The formulas also hold between integers, without jumps, so that a noisy count has a law for every real true count,
    and equations in it can be solved.
    """

    scale: float
    step: int = 1

    @property
    def reach(self) -> float:
        return self.scale * -math.log(_NEGLIGIBLE) + 1

    def cdf(self, t: Any) -> Array:
        t = np.asarray(t, float)
        tail = np.exp(-np.where(t < 0, -t, t + 1) / self.scale) / (1 + math.exp(-1 / self.scale))
        return np.asarray(np.where(t < 0, tail, 1 - tail))

    def density(self, t: Any) -> Array:
        return np.asarray(np.exp(-np.abs(t) / self.scale) * math.tanh(0.5 / self.scale))


# claim:sup-norm-marginal
@dataclass(frozen=True, slots=True)
class SupNorm:
    """One coordinate of noise with density ∝ e^(-‖t‖∞/scale) in d dimensions.

    The radius is gamma distributed with shape d + 1, and the coordinate is uniform given the radius. So its density is
    Q(d, |t|)/(2d) and its upper tail [d Q(d+1, t) - t Q(d, t)]/(2d), where Q is the regularised upper gamma function.
    """

    scale: float
    dimension: int
    step: int = 0

    @property
    def reach(self) -> float:
        return float(self.scale * scipy.special.gammainccinv(self.dimension + 1, _NEGLIGIBLE))

    def cdf(self, t: Any) -> Array:
        size, upper = np.abs(np.asarray(t, float)) / self.scale, scipy.special.gammaincc
        tail = (self.dimension * upper(self.dimension + 1, size) - size * upper(self.dimension, size)) / (
            2 * self.dimension
        )
        tail = np.clip(tail, 0.0, 0.5)
        return np.asarray(np.where(np.asarray(t) < 0, tail, 1 - tail))

    def density(self, t: Any) -> Array:
        size = np.abs(np.asarray(t, float)) / self.scale
        return np.asarray(scipy.special.gammaincc(self.dimension, size) / (2 * self.dimension * self.scale))


# claim:norm-marginal
@dataclass(frozen=True, slots=True)
class InNorm:
    """A combination Σ w t of coordinates of noise with density ∝ e^(-N(t)/scale) in d dimensions.

    It is R c, where R is gamma distributed (shape d + 1) and c is that combination of a uniform point of the unit ball.
    So its upper tail is the mean of Q(d + 1, t/|c|)/2. ``weights`` are pairs of the index of a coordinate and w.
    """

    scale: float
    dimension: int
    parts: tuple[Part, ...]
    weights: tuple[tuple[int, float], ...]
    step: int = 0

    @property
    def reach(self) -> float:
        points, _, _ = _norm_table(self.dimension, self.parts, self.weights)
        return float(self.scale * points[-1])

    def cdf(self, t: Any) -> Array:
        points, tails, _ = _norm_table(self.dimension, self.parts, self.weights)
        tail = np.interp(np.abs(np.asarray(t, float)) / self.scale, points, tails, right=0.0)
        return np.asarray(np.where(np.asarray(t) < 0, tail, 1 - tail))

    def density(self, t: Any) -> Array:
        points, _, densities = _norm_table(self.dimension, self.parts, self.weights)
        return np.asarray(np.interp(np.abs(np.asarray(t, float)) / self.scale, points, densities, right=0) / self.scale)


@lru_cache(maxsize=256)
def _norm_table(
    dimension: int, parts: tuple[Part, ...], weights: tuple[tuple[int, float], ...]
) -> tuple[Array, Array, Array]:
    """Points, and the upper tails and densities at them, at unit scale. Points are dense where most of the noise is.

    |c| is taken as uniform between neighbouring quantiles a < b of a sample. Then its part of the density is [Q(d, t/b)
    - Q(d, t/a)]/(2d(b - a)), and that of the tail follows by integration by parts. For the cube, where |c| is uniform
    from 0 to 1, these are the formulas of `SupNorm`.
    """
    ends = np.quantile(combination_sizes(parts, weights), np.linspace(0, 1, _QUANTILES + 1))
    # The first end is 0, and no two ends are equal.
    ends = np.concatenate([[0.0], ends[1:]]) + np.arange(_QUANTILES + 1) * 1e-12 * max(float(ends[-1]), 1e-300)
    last = float(scipy.special.gammainccinv(dimension + 1, _NEGLIGIBLE))
    points = np.concatenate([[1e-12], np.linspace(0, last / 4, 800)[1:], np.linspace(last / 4, last, 201)[1:]])
    points *= ends[-1]
    with np.errstate(divide="ignore"):
        ratios = points[:, None] / ends
    upper = scipy.special.gammaincc(dimension, ratios)
    logs = dimension * np.log(ratios[:, 1:]) - ratios[:, 1:] - scipy.special.gammaln(dimension + 1)
    # c Q(d + 1, t/c), which is 0 at c = 0.
    whole = np.pad(ends[1:] * (upper[:, 1:] + np.exp(logs)), ((0, 0), (1, 0)))
    gaps, differences = np.diff(ends), np.diff(upper, axis=1) / dimension
    tails = ((np.diff(whole, axis=1) - points[:, None] * differences) / gaps).mean(axis=1) / 2
    return points, np.clip(tails, 0.0, 0.5), (differences / gaps).mean(axis=1) / 2


# The number of quantiles by which the sizes of a combination are summarised.
_QUANTILES = 128


# claim:zero-sum-marginal
@dataclass(frozen=True, slots=True)
class ZeroSum:
    """One of ``cells`` discrete Laplace variables, given that they add up to zero.

    P(z) ∝ q^|z| P(sum of the others = -z). The law of the sum is computed from its characteristic function.
    """

    scale: float
    cells: int
    step: int = 1

    @property
    def reach(self) -> float:
        return self.scale * -math.log(_NEGLIGIBLE) + 1

    def cdf(self, t: Any) -> Array:
        coarse = max(1.0, self.scale / _FINEST)
        points, cumulative = _zero_sum_table(self.scale / coarse, self.cells)
        # On a coarser lattice the end of the step t is at (t + ½)/coarse - ½.
        return np.interp((np.asarray(t, float) + 0.5) / coarse - 0.5, points, cumulative, left=0.0, right=1.0)

    def density(self, t: Any) -> Array:
        return self.cdf(t) - self.cdf(np.asarray(t, float) - 1)


@lru_cache(maxsize=32)
def _zero_sum_table(scale: float, cells: int) -> tuple[Array, Array]:
    reach = math.ceil(-scale * math.log(_NEGLIGIBLE)) + 2
    size = 1 << math.ceil(math.log2(2 * (reach + 12 * scale * math.sqrt(2.0 * cells)) + 1))
    q = math.exp(-1 / scale)
    turn = 2 * np.pi * np.arange(size // 2 + 1) / size
    # (1-q)²/(1 - 2q cos t + q²), without cancellation.
    characteristic = 1 / (1 + 4 * q * np.sin(turn / 2) ** 2 / (1 - q) ** 2)
    others = np.maximum(np.fft.irfft(characteristic ** (cells - 1), size), 0.0)
    points = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(points) / scale) * others[points % size]
    cumulative = np.cumsum(weights / weights.sum())
    return points.astype(float), np.minimum(cumulative, 1.0)


@dataclass(frozen=True, slots=True)
class Law:
    """The law of a released value within bounds (±inf if open), given the true value ``at``.

    Truncated noise is renormalised within ``cut``. Then values outside [lower, upper] are clamped.
    """

    noise: Noise
    lower: float = -math.inf
    upper: float = math.inf
    cut: tuple[float, float] | None = None

    def at_most(self, y: float, at: Any) -> Array:
        """P(released ≤ y)."""
        at = np.asarray(at, float)
        if y >= self.upper:
            return np.ones_like(at)
        return np.zeros_like(at) if y < self.lower else self.inside(y, at)

    def below(self, y: float, at: Any) -> Array:
        """P(released < y)."""
        if self.noise.step:
            return self.at_most(y - self.noise.step, at)
        at = np.asarray(at, float)
        if y > self.upper:
            return np.ones_like(at)
        return np.zeros_like(at) if y <= self.lower else self.inside(y, at)

    def inside(self, y: Any, at: Any) -> Array:
        """P(released ≤ y) for y between the bounds, without the atom at the upper bound."""
        at = np.asarray(at, float)
        if self.cut is None:
            return self.noise.cdf(y - at)
        start, total, at = self._renormalise(at)
        return np.clip((self.noise.cdf(y - at) - start) / total, 0.0, 1.0)

    def _renormalise(self, at: Array) -> tuple[Array, Array, Array]:
        """For truncation: the probability below the cut and within it, and the true value clipped to it."""
        low, high = self.cut or (-math.inf, math.inf)
        at = np.clip(at, low, high)
        start = self.noise.cdf(low - self.noise.step - at) if math.isfinite(low) else np.zeros_like(at)
        end = self.noise.cdf(high - at) if math.isfinite(high) else np.ones_like(at)
        return start, end - start, at

    def mirrored(self, about: float) -> "Law":
        """The law of ``about`` minus the released value."""
        cut = None if self.cut is None else (about - self.cut[1], about - self.cut[0])
        return Law(self.noise, about - self.upper, about - self.lower, cut)

    def likelihood(self, y: float, at: Any) -> Array:
        """The density of y, or its probability if it is an integer or an atom."""
        at = np.asarray(at, float)
        low, high = self.cut or (-math.inf, math.inf)
        if y <= self.lower and (self.noise.step or low < self.lower):
            return self.at_most(self.lower, at)
        if y >= self.upper and (self.noise.step or high > self.upper):
            return 1 - self.below(self.upper, at)
        if self.cut is None:
            return self.noise.density(y - at)
        _, total, at = self._renormalise(at)
        return np.asarray(self.noise.density(y - at) / total)

    def log_likelihood(self, y: float, at: Any) -> Array:
        """The logarithm of `likelihood`. Where that underflows, it decreases linearly, by the noise's scale."""
        at = np.asarray(at, float)
        likelihood = np.maximum(self.likelihood(y, at), 0.0)
        with np.errstate(divide="ignore"):
            logs = np.log(likelihood)
        distance = np.abs(y - at) / self.noise.scale
        is_visible = likelihood > 1e-280
        edge = np.min(logs[is_visible] + distance[is_visible]) if is_visible.any() else 0.0
        return np.asarray(np.where(is_visible, logs, edge - distance))


def noise_of(part: Certificate, unit: float = 1.0, *, counts: bool = False, place: int = 0) -> Noise:
    """The noise of one coordinate of a certified draw, multiplied by ``unit``.

    With ``counts`` it is in steps of the certificate's grid. ``place`` is the index of the coordinate in its vector,
    for noise whose coordinates differ.
    """
    scale = float(part.spread / part.step) if counts else float(part.spread) * unit
    if part.noise == "zero-sum":
        return ZeroSum(scale, part.dimension)
    if part.noise == "polyhedral" and part.blocks == OF_MEAN:
        # The norm is |s| + |q|, so that the sum and the square have independent Laplace noise.
        return Laplace(scale)
    if part.noise == "polyhedral":
        return InNorm(scale, part.dimension, norm_parts(part), ((place, 1.0),))
    if part.noise == "sup-norm":
        return SupNorm(scale, part.dimension)
    if part.noise == "staircase":
        return staircase_of(part, scale)
    return DiscreteLaplace(scale) if counts else Laplace(scale)


def bends_of(noise: Noise, near: Array) -> Array:
    """Distances from a released value at which to split an integral: multiples of the scale, and the ends of stairs."""
    bends = near * noise.scale
    if not isinstance(noise, Staircase):
        return np.asarray(bends)
    # The probability beyond sixteen stairs is at most e^-24.
    ends = noise.breaks[:16]
    return np.unique(np.concatenate([-ends, bends, ends]))


def law_of(part: Certificate, bounds: tuple[float, float], unit: float = 1.0, *, counts: bool = False) -> Law:
    """The law of one released coordinate within its bounds.

    Noise is truncated at the ends of the certificate's grid. If the bounds are narrower, the released value is clamped.
    """
    noise = noise_of(part, unit, counts=counts)
    if part.bounding != "truncated":
        return Law(noise, *bounds)
    ends = (-math.inf if part.first is None else part.first, math.inf if part.last is None else part.last)
    if not counts:
        ends = tuple((float(part.origin) + end * float(part.step)) * unit for end in ends)  # type: ignore[assignment]
    return Law(noise, *bounds, cut=ends)
