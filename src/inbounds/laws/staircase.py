"""Staircase noise on the real line: a density that is constant on stairs, with a factor e^-drop between them."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from inbounds import _check
from inbounds._check import Array

# Levels that can be seen in double precision: e^-45 is 3e-20.
_DEEP = 45.0


@dataclass(frozen=True, slots=True)
class Staircase:
    """Noise with f(z) ∝ e^(-drop level(|z|)), level 0 on [0, core · width), then one more for every width.

    Parameters
    ----------
    scale
        The distance over which the density falls by a factor e on average: width / drop.
    drop
        The fall of the log density from one stair to the next. It is the loss of a sensitivity of one width.
    core
        The half-width of the first stair as a share of the width, in (0, 1].

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Notes
    -----
    Geng, Kairouz, Oh and Viswanath (2015) show that no noise of the same loss at a sensitivity of one width has a
    smaller variance than the best of these. It is symmetric, but not log-concave, so it is clamped or unbounded: what
    truncation would cost is not known in closed form. A move of d costs drop · ⌈d/width⌉.

    >>> round(Staircase(scale=0.5, drop=2.0, core=0.33513).variance, 4), 2 * 0.5**2
    (0.4227, 0.5)
    """

    scale: float
    drop: float
    core: float

    def __post_init__(self) -> None:
        for name in ("scale", "drop", "core"):
            object.__setattr__(self, name, _check.positive(getattr(self, name), name))
        if not self.core <= 1:
            raise ValueError(f"core must be > 0 and at most 1, got {self.core}")
        if not self.drop >= 1 / 16:
            raise ValueError(f"drop must be at least 1/16, got {self.drop}; use Laplace noise for smaller ones")

    @property
    def power(self) -> int:
        return 1

    @property
    def efold(self) -> float:
        return self.scale

    @property
    def step(self) -> int:
        """0, since the noise is continuous."""
        return 0

    @property
    def width(self) -> float:
        """Width of a level."""
        return self.scale * self.drop

    @property
    def reach(self) -> float:
        """The distance beyond which the probability is below 1e-17."""
        return self.width * (self.core + 1 - math.log(1e-17) / self.drop)

    @property
    def breaks(self) -> Array:
        """Where the density falls on the positive side, up to where it is negligible."""
        return np.asarray(self.width * (self.core + np.arange(self._levels)), float)

    @property
    def _levels(self) -> int:
        return math.ceil(_DEEP / self.drop) + 1

    @property
    def _beyond(self) -> float:
        """Mass of one side beyond the core, in widths at the density of the core: b/(1-b)."""
        return 1 / math.expm1(min(self.drop, 700.0))

    @property
    def _peak(self) -> float:
        """Density in the core, of a width of 1."""
        return 1 / (2 * (self.core + self._beyond))

    @property
    def variance(self) -> float:
        b, c = math.exp(-self.drop), self.core
        none = self._beyond
        single, double = none * none, none * none * (1 + b) / (1 - b)
        levels = (c * c * none + 2 * c * single + double) + (c * none + single) + none / 3
        return self.width**2 * 2 * self._peak * (c**3 / 3 + levels)

    def _level(self, t: Array) -> Array:
        """The level at a distance t ≥ 0, in widths."""
        with np.errstate(invalid="ignore"):
            return np.asarray(np.maximum(np.floor(t - self.core) + 1, 0.0))

    def log_density(self, z: Any) -> Array:
        level = self._level(np.abs(np.asarray(z, float)) / self.width)
        return np.asarray(math.log(self._peak / self.width) - self.drop * level)[()]

    def density(self, z: Any) -> Array:
        """The density."""
        with np.errstate(under="ignore"):
            return np.asarray(np.exp(self.log_density(z)))[()]

    def log_ratio(self, start: Any, excess: Any) -> Array:
        start = np.asarray(start, float) / self.width
        past = start + np.asarray(excess, float) / self.width
        return np.asarray(self.drop * (self._level(start) - self._level(past)))[()]

    def cdf(self, z: Any) -> Array:
        z = np.asarray(z, float)
        t = np.minimum(np.abs(z) / self.width, self.core + 800 / self.drop + 2)
        level = self._level(t)
        with np.errstate(under="ignore"):
            tail = self._peak * np.exp(-self.drop * level) * (self.core + level - t + self._beyond)
        return np.asarray(np.where(np.isinf(z), z > 0, np.where(z < 0, tail, 1 - tail)))[()]

    def quantile(self, u: Any) -> Array:
        u = _check.probabilities(u, "u")
        tail = np.minimum(u, 1 - u)
        outer = self._peak * self._beyond
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            level = np.maximum(np.floor(np.log(outer / tail) / self.drop), 0.0)
            # How much of its level is used up: none of it is left at the start of the next one.
            into = (outer * np.exp(-self.drop * level) - tail) / (self._peak * np.exp(-self.drop * (level + 1)))
            distance = self.core + level + np.clip(into, 0.0, 1.0)
        distance = np.where(tail >= outer, self.core - (tail - outer) / self._peak, distance)
        distance = np.where(tail == 0, np.inf, np.maximum(distance, 0.0))
        return np.asarray(np.where(u < 0.5, -1.0, 1.0) * distance * self.width)[()]

    def _pieces(self, start: Any, width: Any) -> tuple[Array, Array, Array]:
        """Ends of levels past ``start``, cut at ``width``, and densities relative to that at the start; in widths."""
        start, width = np.broadcast_arrays(np.asarray(start, float) / self.width, np.asarray(width, float) / self.width)
        first = np.maximum(self.core + self._level(start) - start, 0.0)
        ends = first[..., None] + np.arange(self._levels + 1)
        ends = np.minimum(np.concatenate([np.zeros((*first.shape, 1)), ends], axis=-1), width[..., None])
        return ends[..., :-1], ends[..., 1:], np.exp(-self.drop * np.arange(self._levels + 1))

    def excess_moment(self, order: int, start: Any, width: Any) -> Array:
        low, high, density = self._pieces(start, width)
        parts = (high ** (order + 1) - low ** (order + 1)) / (order + 1)
        return np.asarray(self.width ** (order + 1) * (parts @ density))[()]

    def excess_quantile(self, u: Any, start: Any, width: Any) -> Array:
        low, high, density = self._pieces(start, width)
        mass = (high - low) * density
        target = np.asarray(u, float)[..., None] * mass.sum(axis=-1, keepdims=True)
        before = np.cumsum(mass, axis=-1) - mass
        return np.asarray(self.width * np.clip((target - before) / density, 0.0, high - low).sum(axis=-1))[()]

    def sample(self, rng: np.random.Generator, size: Any = None) -> Array:
        return np.asarray(self.quantile(rng.random(size)))[()]


# claim:least-variance
def least_variance(epsilon: float) -> float:
    """The variance of noise of loss ε on one number of sensitivity 1: Laplace or staircase.

    With b = e^-ε the best staircase has the variance (2^(-2/3) b^(2/3) (1+b)^(2/3) + b)/(1-b)², and Laplace noise 2/ε².
    The staircase is used if Laplace noise has at least 1.1 times as much.

    Parameters
    ----------
    epsilon
        The loss, > 0.

    Returns
    -------
    float
        The variance.

    Examples
    --------
    >>> least_variance(1.0), round(least_variance(2.0), 4)
    (2.0, 0.4227)
    """
    # Laplace noise is used below 0.01. There e^-ε may be rounded to 1, and ε² to 0.
    if epsilon < 0.01:
        return 2 / max(epsilon, 1e-150) ** 2
    b = math.exp(-epsilon)
    laplace, stairs = 2 / epsilon**2, ((b * (1 + b) / 2) ** (2 / 3) + b) / math.expm1(-epsilon) ** 2
    # For a huge ε, e^-ε underflows to 0.
    return max(stairs, 1e-300) if laplace >= 1.1 * stairs else laplace
