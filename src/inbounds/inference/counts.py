"""The law of a noisy count of sampled records.

P(S ≤ y | θ) = Σ_k P(K = k | θ) F(y; k), where K is binomial (n records, each with the level with probability θ) or
Poisson (θ records are expected), and F is the law of the noisy count. It is computed as

    P(K ≤ y | θ) + Σ_k P(K = k | θ) [F(y; k) - 1{k ≤ y}]

The brackets vanish beyond the reach of the noise, so this is a sum over a window around y, whatever n is. Laplace noise
that is wide compared to the sampling error needs no sum: each side of it is an exponential, and a binomial law times an
exponential is another binomial law.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import scipy

from inbounds._check import Array
from inbounds.inference.laws import DiscreteLaplace, Laplace, Law
from inbounds.laws import Staircase
from inbounds.laws.noise import unit_legendre

# Above this standard deviation, in records, taking steps of one record into account shortens an interval by < 0.3%.
_SMOOTH = 50.0
# Up to this many standard deviations the tail of a tilted law loses no digits.
_MILD = 8.0


class Sampling(Protocol):
    """The law of the number of records that have a level, as a function of θ."""

    def cdf(self, k: float, theta: float) -> float: ...
    def above(self, k: float, theta: float) -> float: ...
    def log_base(self, k: Array) -> Array: ...
    def log_pmf(self, base: Array, k: Array, theta: float) -> Array: ...
    def deviation(self, k: float) -> float: ...
    def mean(self, theta: float) -> float: ...
    def tilted(self, tilt: float, theta: float) -> tuple[float, float]: ...


@dataclass(frozen=True, slots=True)
class Binomial:
    """n independent records; θ is the probability of the level."""

    size: int

    def cdf(self, k: float, theta: float) -> float:
        if k < 0:
            return 0.0
        return 1.0 if k >= self.size else float(scipy.special.betainc(self.size - k, k + 1, 1 - theta))

    def above(self, k: float, theta: float) -> float:
        if k < 0:
            return 1.0
        return 0.0 if k >= self.size else float(scipy.special.betainc(k + 1, self.size - k, theta))

    def log_base(self, k: Array) -> Array:
        gammaln = scipy.special.gammaln
        return np.asarray(gammaln(self.size + 1.0) - gammaln(k + 1) - gammaln(self.size - k + 1))

    def log_pmf(self, base: Array, k: Array, theta: float) -> Array:
        if theta <= 0 or theta >= 1:
            return np.where(k == self.size * theta, 0.0, -np.inf)
        return base + k * math.log(theta) + (self.size - k) * math.log1p(-theta)

    def deviation(self, k: float) -> float:
        return math.sqrt(max(k, 0.0) * max(self.size - k, 0.0) / self.size)

    def mean(self, theta: float) -> float:
        return self.size * theta

    def tilted(self, tilt: float, theta: float) -> tuple[float, float]:
        """log E e^(tilt K), and the θ of the law ∝ e^(tilt k) P(k)."""
        growth = theta * math.expm1(tilt)
        return self.size * math.log1p(growth), min(theta * math.exp(tilt) / (1 + growth), 1.0)


@dataclass(frozen=True, slots=True)
class Poisson:
    """Independent records without a fixed number; θ is the expected number."""

    def cdf(self, k: float, theta: float) -> float:
        return 0.0 if k < 0 else float(scipy.special.gammaincc(k + 1, theta))

    def above(self, k: float, theta: float) -> float:
        return 1.0 if k < 0 else float(scipy.special.gammainc(k + 1, theta))

    def log_base(self, k: Array) -> Array:
        return np.asarray(-scipy.special.gammaln(k + 1))

    def log_pmf(self, base: Array, k: Array, theta: float) -> Array:
        return np.where(k == 0, 0.0, -np.inf) if theta <= 0 else base + k * math.log(theta) - theta

    def deviation(self, k: float) -> float:
        return math.sqrt(max(k, 0.0))

    def mean(self, theta: float) -> float:
        return theta

    def tilted(self, tilt: float, theta: float) -> tuple[float, float]:
        """log E e^(tilt K), and the θ of the law ∝ e^(tilt k) P(k)."""
        return theta * math.expm1(tilt), theta * math.exp(tilt)


# claim:sampled-count
@dataclass(frozen=True, slots=True)
class Sampled:
    """The noisy count of sampled records, as a family in θ. All figures are in records."""

    sampling: Binomial | Poisson
    law: Law
    step: int = 1
    highest: float = 1.0

    @property
    def lowest(self) -> float:
        return 0.0

    @property
    def first(self) -> float:
        return self.law.lower

    @property
    def last(self) -> float:
        return self.law.upper

    def at_most(self, y: float, theta: float) -> float:
        if y >= self.law.upper:
            return 1.0
        return 0.0 if y < self.law.lower else self.inside(y, theta)

    def below(self, y: float, theta: float) -> float:
        if self.law.noise.step:
            return self.at_most(y - 1, theta)
        if y > self.law.upper:
            return 1.0
        return 0.0 if y <= self.law.lower else self.inside(y, theta)

    @property
    def truncated(self) -> bool:
        return self.law.cut is not None

    def atoms(self, theta: float) -> tuple[float, float]:
        return self.at_most(self.law.lower, theta), 1 - self.below(self.law.upper, theta)

    def centre(self, theta: float) -> float:
        return self.sampling.mean(theta)

    def at_least_exactly(self, y: float, theta: float) -> float:
        """P(S ≥ y) as a sum of positive terms, so that small values lose no digits. For clamped binomial counts."""
        if y <= self.law.lower or self.law.cut is not None or not isinstance(self.sampling, Binomial):
            return 1 - self.below(y, theta)
        if self.sampling.size > _MANY:
            return 1 - self.below(y, theta)
        k = np.arange(self.sampling.size + 1.0)
        with np.errstate(under="ignore"):
            return float(np.exp(self.sampling.log_pmf(self.sampling.log_base(k), k, theta)) @ self.law.noise.cdf(k - y))

    def inside(self, y: float, theta: float) -> float:
        """P(S ≤ y) for a y between the bounds, without the atom at the upper bound."""
        floor = math.floor(y)
        below = self.sampling.cdf(floor, theta)
        if self._wide(y):
            return min(max(below + self._add_tails(y, floor, theta), 0.0), 1.0)
        k, base, gain = _window(self.sampling, self.law, y)
        # A binomial or Poisson count is farther away than this with probability below 1e-15.
        centre = self.sampling.mean(theta)
        far = 9.5 * self.sampling.deviation(centre) + 45
        near = slice(max(0, int(centre - far - k[0])), max(0, int(centre + far - k[0]) + 2))
        with np.errstate(under="ignore"):
            correction = float(np.exp(self.sampling.log_pmf(base[near], k[near], theta)) @ gain[near])
        return min(max(below + correction, 0.0), 1.0)

    def _wide(self, y: float) -> bool:
        noise = self.law.noise
        if not isinstance(noise, Laplace | DiscreteLaplace) or noise.scale < 4:
            return False
        # The formula ignores truncation, so y must be so far from the cut that it does not matter.
        if self.law.cut is not None and min(y - self.law.cut[0], self.law.cut[1] - y) < 2 * noise.reach:
            return False
        return self.sampling.deviation(max(y, 1.0)) < _MILD * noise.scale

    def _add_tails(self, y: float, floor: int, theta: float) -> float:
        """The change of P(K ≤ y) by noise: counts above y that it moves down, minus counts below that it moves up."""
        rate = 1 / self.law.noise.scale
        share = 1 / (1 + math.exp(-rate)) if self.law.noise.step else 0.5
        up, down = self.sampling.tilted(rate, theta), self.sampling.tilted(-rate, theta)
        from_above = down[0] + rate * y
        from_below = up[0] - rate * (y + self.law.noise.step)
        gain = _product(from_above, self.sampling.above(floor, down[1]))
        loss = _product(from_below, self.sampling.cdf(floor, up[1]))
        return share * (gain - loss)


def _product(exponent: float, probability: float) -> float:
    """e^exponent · probability, which is at most 1. Where the first factor overflows, the second is zero."""
    return 0.0 if probability <= 0 else math.exp(min(exponent + math.log(probability), 0.0))


# With more records than this, a sum over all counts takes too much memory.
_MANY = 10**7


@lru_cache(maxsize=256)
def _window(sampling: Binomial | Poisson, law: Law, y: float) -> tuple[Array, Array, Array]:
    """The counts within reach of y, the part of log P(K = k) that does not depend on θ, and F(y; k) - 1{k ≤ y}."""
    reach = math.ceil(law.noise.reach)
    top = sampling.size if isinstance(sampling, Binomial) else math.inf
    k = np.arange(max(0, math.floor(y) - reach), min(top, math.floor(y) + reach + 1) + 1, dtype=float)
    return k, sampling.log_base(k), law.inside(y, k) - (k <= y)


def without_cut(law: Law, y: float, sampling: float) -> Law:
    """The law without truncation, if y is so far within the cut that truncation does not change the tails of y."""
    if law.cut is None or min(y - law.cut[0], law.cut[1] - y) < 2 * law.noise.reach + sampling:
        return law
    return Law(law.noise, law.lower, law.upper)


def choose_family(sampling: Binomial | Poisson, law: Law, y: float) -> Sampled:
    """The family for a released y. Steps of one record are taken into account where they matter."""
    law = without_cut(law, y, 10 * sampling.deviation(y))
    spread = math.hypot(sampling.deviation(y), math.sqrt(2) * law.noise.scale)
    step = 1 if law.noise.step and spread < _SMOOTH else 0
    if isinstance(sampling, Binomial):
        return Sampled(sampling, law, step)
    # For a larger θ, neither noise nor sampling would have brought the count down to y.
    far = y + law.noise.reach
    return Sampled(sampling, law, step, highest=far + 10 * math.sqrt(far) + 60)


# claim:largest-variance
@dataclass(frozen=True, slots=True)
class Averaged:
    """A noisy mean of values within bounds, whatever their law, as a family in the mean of the population.

    The unit is one record at the upper bound, and 0 is the lower bound. Of all laws with one
    mean, the one on the two bounds has the largest variance; then the sum is binomial. Between whole records its tails
    are interpolated linearly. No other law of the values was found to exceed that noticeably. Without it, if there is
    little noise, the jump at the next record would exclude means that are right.
    """

    records: Sampled

    @property
    def lowest(self) -> float:
        return 0.0

    @property
    def highest(self) -> float:
        return 1.0

    @property
    def first(self) -> float:
        return self.records.first

    @property
    def last(self) -> float:
        return self.records.last

    @property
    def step(self) -> int:
        return 0

    @property
    def truncated(self) -> bool:
        return self.records.truncated

    def at_most(self, y: float, theta: float) -> float:
        return self._line(y, theta, -1.0) if self.first <= y < self.last else self.records.at_most(y, theta)

    def below(self, y: float, theta: float) -> float:
        if y > self.last:
            return 1.0
        return 0.0 if y <= self.first else self._line(y, theta, 1.0)

    def atoms(self, theta: float) -> tuple[float, float]:
        return self._line(self.first, theta, 1.0), 1 - self._line(self.last, theta, -1.0)

    def centre(self, theta: float) -> float:
        return self.records.centre(theta)

    def _line(self, y: float, theta: float, sign: float) -> float:
        """P(records + sign · uniform(0, 1) + noise ≤ y)."""
        noise = self.records.law.noise
        if isinstance(noise, Staircase):
            nodes, weights = _between_kinks(noise, y, sign)
        else:
            # With little noise the integrand has a step, which needs more nodes.
            nodes, weights = _unit_nodes(3 if noise.scale >= 2 else 6 if noise.scale >= 0.5 else 48)
        return float(np.dot(weights, [self.records.inside(y - sign * u, theta) for u in nodes]))


@lru_cache(maxsize=4)
def _unit_nodes(count: int) -> tuple[list[float], Array]:
    nodes, weights = unit_legendre(count)
    return nodes.tolist(), weights


@lru_cache(maxsize=64)
def _between_kinks(noise: Staircase, y: float, sign: float) -> tuple[list[float], Array]:
    """Nodes in [0, 1] for P(records + sign · u + noise ≤ y), which is linear in u between the ends of stairs."""
    levels = noise.breaks[:16]
    kinks = np.round(sign * (y - np.concatenate([-levels, levels])) % 1.0, 12)
    ends = np.unique(np.concatenate([[0.0, 1.0], kinks]))
    nodes, weights = unit_legendre(2)
    wide = np.diff(ends)[:, None]
    return (ends[:-1, None] + wide * nodes).ravel().tolist(), (wide * weights).ravel()
