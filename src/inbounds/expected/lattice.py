"""Noise on the integers in double precision, for laws that are not discrete Laplace noise: its law and its errors."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from inbounds._check import Array
from inbounds.grid.base import GridLaw
from inbounds.grid.gaussian import GaussianMechanism
from inbounds.privacy.certificate import Certificate

# The tail beyond the reach is smaller than 1e-17; wider noise than this does not show its steps.
_REACH, _WIDEST = 8.6, 2000.0


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """P(k) ∝ e^(-k²/(2 scale²)) on the integers.

    Between integers the logarithm of a tail is interpolated, so that a noisy count has a law for every real true count.
    """

    scale: float
    step: int = 1

    @property
    def reach(self) -> float:
        return _REACH * self.scale + 1

    # claim:gaussian-doubles
    def cdf(self, t: Any) -> Array:
        t = np.asarray(t, float)
        # P(noise ≤ t) is P(noise > -t - 1), and a half in the middle between -1 and 0.
        below = t < -0.5
        tail = self._above(np.where(below, -t - 1, t))
        return np.asarray(np.where(below, tail, 1 - tail))

    def density(self, t: Any) -> Array:
        total = math.sqrt(2 * math.pi) * self.scale if self.scale > _WIDEST else _tails(self.scale)[2]
        return np.asarray(np.exp(-((np.asarray(t, float) / self.scale) ** 2) / 2) / total)

    def sample(self, rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        """Draws, for simulations."""
        if self.scale > _WIDEST:
            return np.rint(rng.normal(0.0, self.scale, shape))
        k = np.arange(-math.ceil(self.reach), math.ceil(self.reach) + 1.0)
        return np.asarray(k[np.minimum(np.searchsorted(self.cdf(k), rng.random(shape)), len(k) - 1)])

    def _above(self, m: Array) -> Array:
        """P(noise > m) for m ≥ -½."""
        if self.scale > _WIDEST:
            return np.asarray(scipy.special.ndtr(-(m + 0.5) / self.scale))
        places, logs, _ = _tails(self.scale)
        return np.asarray(np.exp(np.interp(m, places, logs, right=-np.inf)))

    def clamped(self, at: Array, low: float, high: float) -> tuple[Array, Array]:
        """RMSE and bias of noise on each true count, clamped to [low, high]."""
        coarse = max(1.0, self.scale / _WIDEST)
        unit = DiscreteGaussian(self.scale / coarse)
        k = np.arange(-math.ceil(unit.reach), math.ceil(unit.reach) + 1.0)
        chances = unit.density(k)
        chances = chances / chances.sum()
        errors = [np.clip(x + k * coarse, low, high) - x for x in np.asarray(at, float).ravel()]
        # The noise has the mean 0, so the bias is what clamping changes.
        moments = np.array([(chances @ error**2, chances @ (error - k * coarse)) for error in errors])
        return np.sqrt(moments[:, 0]), moments[:, 1]


@lru_cache(maxsize=32)
def _tails(scale: float) -> tuple[Array, Array, float]:
    """Places from -½ on, the logarithms of P(noise > place), and the sum of all weights."""
    k = np.arange(0.0, math.ceil((_REACH + 4) * scale) + 6)
    weights = np.exp(-((k / scale) ** 2) / 2)
    above = np.cumsum(weights[:0:-1])[::-1]
    total = 1 + 2 * float(above[0])
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(above / total, 1e-300))
    return np.concatenate([[-0.5], k[:-1]]), np.concatenate([[math.log(0.5)], logs]), total


_LATTICES: dict[type[GridLaw], Callable[[Any], DiscreteGaussian]] = {
    GaussianMechanism: lambda law: DiscreteGaussian(math.sqrt(law.variance)),
}


def lattice_of(part: Certificate) -> DiscreteGaussian | None:
    """The noise of a certificate in steps of its grid; None for Laplace noise and what is made of it."""
    make = _LATTICES.get(type(part.law))
    return None if make is None else make(part.law)


def lattice_moments(noise: DiscreteGaussian, law: GridLaw, values: Sequence[Fraction]) -> tuple[Array, Array]:
    """RMSE and bias at each of several true values, in the units of the coordinate."""
    low, high = (
        math.copysign(math.inf, sign) if end is None else float(end)
        for sign, end in zip((-1, 1), law.ends, strict=True)
    )
    at = np.array([float(law.locate(value)) for value in values])
    # Far from the bounds all errors are alike, and counts beyond 2^53 would lose their last digits.
    rmse, bias = noise.clamped(at, low, high)
    return rmse * float(law.step), bias * float(law.step)


def worst_moments(noise: DiscreteGaussian, law: GridLaw) -> tuple[float, float]:
    """The largest RMSE and absolute bias over all true values within the bounds.

    The bias is largest at a bound. The error is largest at a bound or in the middle, as for any noise whose tails are
    log-concave; see `GridMechanism.worst_mse`. Without bounds on both sides it is that of the noise.
    """
    first, last = law.ends
    ends = [law.value(end) for end in (first, last) if end is not None]
    if first is None or last is None:
        bias = lattice_moments(noise, law, ends)[1] if ends else np.zeros(1)
        return float(noise.clamped(np.zeros(1), -math.inf, math.inf)[0][0]) * float(law.step), float(np.abs(bias).max())
    rmse, bias = lattice_moments(noise, law, [*ends, law.value((first + last) // 2)])
    return float(rmse.max()), float(np.abs(bias).max())
