"""The law of a noisy mean or variance of a sample.

P(S ≤ y | θ) = ∫ g(s; θ) F(y; s) ds, where g is the density of the sample's statistic and F the law of its release. g is
narrow if the sample is large, and F is steep if the noise is small, so the panels of the quadrature follow both.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import scipy

from inbounds._check import Array
from inbounds.inference.laws import Law, bends_of
from inbounds.laws.noise import unit_legendre

# Ends of panels around a released value, in scales of the noise, and around a mean, in standard deviations.
_NEAR_NOISE = np.array([-36.0, -12.0, -4.0, -1.5, -0.5, 0.0, 0.5, 1.5, 4.0, 12.0, 36.0])
_NEAR_MEAN = np.array([-9.0, -6.0, -4.0, -2.5, -1.25, 0.0, 1.25, 2.5, 4.0, 6.0, 9.0])
_NODES = 12


@dataclass(frozen=True, slots=True)
class NoiseOnly:
    """The released value of one table, as a family in the statistic of the table."""

    law: Law
    lowest: float
    highest: float

    @property
    def first(self) -> float:
        return self.law.lower

    @property
    def last(self) -> float:
        return self.law.upper

    @property
    def step(self) -> int:
        return self.law.noise.step if self.law.noise.scale < 1e3 else 0

    def at_most(self, y: float, theta: float) -> float:
        return float(self.law.at_most(y, theta))

    def below(self, y: float, theta: float) -> float:
        return float(self.law.below(y, theta))

    @property
    def truncated(self) -> bool:
        return self.law.cut is not None

    def atoms(self, theta: float) -> tuple[float, float]:
        return self.at_most(self.law.lower, theta), 1 - self.below(self.law.upper, theta)

    def centre(self, theta: float) -> float:
        return theta


def noise_only(law: Law, y: float, lowest: float, highest: float) -> NoiseOnly:
    """The family for a released y. An open side ends where the noise no longer reaches y."""
    reach = law.noise.reach
    return NoiseOnly(law, max(lowest, y - reach), min(highest, y + reach))


class Sampling(Protocol):
    """The law of a sample's statistic, as a function of θ > 0, in a coordinate v in which it is smooth."""

    def panels(self, theta: float) -> Array:
        """The ends of panels in v that cover the whole law."""

    def density(self, v: Array, theta: float) -> Array: ...
    def value(self, v: Array) -> Array: ...
    def place(self, s: Array) -> Array:
        """The coordinates v of values s."""


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """A variance of normal records, s = θ χ²/df; or with ``root`` a standard deviation, s = θ √(χ²/df). v = log s."""

    freedom: int
    root: bool = False

    @property
    def _power(self) -> int:
        return 2 if self.root else 1

    def panels(self, theta: float) -> Array:
        spread = math.sqrt(2 / self.freedom)
        # The logarithm of χ²/df has a long lower tail if df is small: e^(v df/2) is negligible below -80/df.
        low = -max(9 * spread, 80 / self.freedom)
        ends = np.concatenate([[low, low / 2], np.clip(_NEAR_MEAN * spread, low, math.log1p(12 * spread) + 3 * spread)])
        return np.asarray(math.log(theta) + ends / self._power)

    def density(self, v: Array, theta: float) -> Array:
        relative = self._power * (v - math.log(theta))
        half = self.freedom / 2
        log = half * (relative - np.expm1(relative) - 1) + half * math.log(half) - scipy.special.gammaln(half)
        return np.asarray(self._power * np.exp(log))

    def value(self, v: Array) -> Array:
        return np.exp(v)

    def place(self, s: Array) -> Array:
        return np.log(np.maximum(s, 1e-300))


@dataclass(frozen=True, slots=True)
class NormalMixture:
    """A mean, normal about θ with one of several standard deviations; v = s."""

    deviations: tuple[float, ...]
    weights: tuple[float, ...]

    def panels(self, theta: float) -> Array:
        low, high = min(self.deviations), max(self.deviations)
        return theta + np.unique(np.concatenate([_NEAR_MEAN * low, _NEAR_MEAN * high]))

    def density(self, v: Array, theta: float) -> Array:
        spread = np.array(self.deviations)[:, None]
        each = np.exp(-(((v - theta) / spread) ** 2) / 2) / (spread * math.sqrt(2 * math.pi))
        return np.asarray(np.array(self.weights) @ each)

    def value(self, v: Array) -> Array:
        return v

    def place(self, s: Array) -> Array:
        return s


@dataclass(frozen=True, slots=True)
class Integrated:
    """The released statistic of a sample, as a family in the statistic of the population."""

    sampling: ChiSquare | NormalMixture
    law: Law
    lowest: float
    highest: float
    step: int = 0

    @property
    def first(self) -> float:
        return self.law.lower

    @property
    def last(self) -> float:
        return self.law.upper

    def at_most(self, y: float, theta: float) -> float:
        if y >= self.law.upper:
            return 1.0
        return 0.0 if y < self.law.lower else self._integrate(y, theta)

    def below(self, y: float, theta: float) -> float:
        if y > self.law.upper:
            return 1.0
        return 0.0 if y <= self.law.lower else self._integrate(y, theta)

    @property
    def truncated(self) -> bool:
        return self.law.cut is not None

    def atoms(self, theta: float) -> tuple[float, float]:
        return self.at_most(self.law.lower, theta), 1 - self.below(self.law.upper, theta)

    def centre(self, theta: float) -> float:
        return theta

    def _integrate(self, y: float, theta: float) -> float:
        law = self.law
        if theta <= 0 and isinstance(self.sampling, ChiSquare):
            return float(law.inside(y, 0.0))
        ends = self.sampling.panels(theta)
        kinks = self.sampling.place(y + bends_of(law.noise, _NEAR_NOISE))
        v, weights = _quadrature(np.unique(np.concatenate([ends, np.clip(kinks, ends.min(), ends.max())])))
        density = self.sampling.density(v, theta) * weights
        return float(np.clip(density @ law.inside(y, self.sampling.value(v)) / density.sum(), 0.0, 1.0))


def _quadrature(ends: Array) -> tuple[Array, Array]:
    nodes, weights = _legendre()
    width = np.diff(ends)[:, None]
    return (ends[:-1, None] + width * nodes).ravel(), (width * weights).ravel()


@lru_cache(maxsize=1)
def _legendre() -> tuple[Array, Array]:
    return unit_legendre(_NODES)
