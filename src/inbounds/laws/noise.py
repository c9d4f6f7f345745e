"""Noise: symmetric families around zero with density ∝ exp(-(|z|/efold)^power).

A family has a log density, a cdf, a quantile function and *excess moments*, from which everything else is computed:

    R_k(t, w) = ∫_0^w v^k f(t+v)/f(t) dv,        k = 0, 1, 2,   t ≥ 0,   0 ≤ w ≤ ∞.

Excess moments are partial moments about their starting point, relative to the density there. Every quantity of every
bounding is a sum of positive multiples of them (`bounding.py`), so nothing cancels, at any ratio of scale to range.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np

# SciPy loads its submodules on first use. scipy.special alone takes 0.15 s.
import scipy

from inbounds import _check
from inbounds._check import Array

# exp(-45) is 3e-20, so anything beyond 45 units of exponent is negligible in double precision.
_DEEP = 45.0


class Noise(Protocol):
    """The role of a noise family. ``power`` and ``efold`` fix the law: f(z) ∝ exp(-(|z|/efold)^power)."""

    @property
    def scale(self) -> float:
        """The scale parameter."""

    @property
    def power(self) -> int:
        """Order of the exponent: 1 Laplace, 2 Gaussian."""

    @property
    def efold(self) -> float:
        """Distance at which the density has fallen to 1/e of its peak."""

    @property
    def variance(self) -> float:
        """Variance of the noise itself."""

    def log_density(self, z: Any) -> Array:
        """Logarithm of the density at z."""

    def log_ratio(self, start: Any, excess: Any) -> Array:
        """log f(start + excess) - log f(start) for start, excess ≥ 0, without forming either."""

    def cdf(self, z: Any) -> Array:
        """P(Z ≤ z), relatively accurate in the left tail; use ``cdf(-z)`` for the right one."""

    def quantile(self, u: Any) -> Array:
        """The z with ``cdf(z) == u``; ∓inf at 0 and 1."""

    def excess_moment(self, order: int, start: Any, width: Any) -> Array:
        """R_k(start, width) as in the module's docstring, for order k in 0, 1, 2 and start ≥ 0."""

    def excess_quantile(self, u: Any, start: Any, width: Any) -> Array:
        """The v in [0, width] with R_0(start, v) = u R_0(start, width)."""

    def sample(self, rng: np.random.Generator, size: Any = None) -> Array:
        """Draw in floating point, for studies. A release never uses this."""


def partial_moment(noise: Noise, order: int, lower: Any, upper: Any) -> Array:
    """Partial moment M_k = ∫_lower^upper z^k f(z) dz of a noise, for k = 0, 1, 2.

    The relative error is small for any lower ≤ upper, also infinite ones: it is a sum of positive terms.

    >>> float(partial_moment(Laplace(1.0), 0, 0, math.inf))
    0.5
    """
    order = _check.integer(order, "order", least=0)
    if order > 2:
        raise ValueError(f"order must be 0, 1 or 2, got {order}")
    low, high = np.broadcast_arrays(
        _check.array(lower, "lower", infinite=True), _check.array(upper, "upper", infinite=True)
    )
    if not (low <= high).all():
        raise ValueError("lower must not exceed upper")
    straddles = (low < 0) & (high > 0)
    near, far = np.minimum(np.abs(low), np.abs(high)), np.maximum(np.abs(low), np.abs(high))
    with np.errstate(invalid="ignore"):
        beyond = _one_sided(noise, order, near, np.where(far == near, 0.0, far - near))
    sign = np.where(np.abs(low) > np.abs(high), (-1.0) ** order, 1.0)
    if order == 1:
        return np.asarray(sign * beyond)[()]
    zero = np.zeros_like(near)
    both = _one_sided(noise, order, zero, near) + _one_sided(noise, order, zero, far)
    return np.asarray(np.where(straddles, both, beyond))[()]


def _one_sided(noise: Noise, order: int, start: Array, width: Array) -> Array:
    """∫_start^{start+width} z^k f(z) dz by the binomial expansion of (start + v)^k: all terms are ≥ 0."""
    density = np.exp(noise.log_density(start))
    finite_start = np.where(density > 0, start, 0.0)
    terms = [
        math.comb(order, j) * finite_start ** (order - j) * noise.excess_moment(j, finite_start, width)
        for j in range(order + 1)
    ]
    return np.asarray(density * sum(terms[1:], start=terms[0]))


@dataclass(frozen=True, slots=True)
class Laplace:
    """Laplace noise, density exp(-|z|/scale) / (2 scale).

    Its excess moments R_k = k! scale^(k+1) P(k+1, width/scale), P the regularised gamma function, have no ``start``.

    Parameters
    ----------
    scale
        The scale, > 0. The variance is 2 scale².

    Examples
    --------
    >>> Laplace(0.1).variance
    0.020000000000000004
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _check.positive(self.scale, "scale"))

    @property
    def power(self) -> int:
        return 1

    @property
    def efold(self) -> float:
        return self.scale

    @property
    def variance(self) -> float:
        return 2 * self.scale * self.scale

    def log_density(self, z: Any) -> Array:
        return np.asarray(-np.abs(z) / self.scale - math.log(2 * self.scale))[()]

    def log_ratio(self, start: Any, excess: Any) -> Array:
        ratio = -np.asarray(excess) / self.scale
        return np.asarray(np.broadcast_to(ratio, np.broadcast_shapes(np.shape(start), ratio.shape)))[()]

    def cdf(self, z: Any) -> Array:
        t = np.asarray(z) / self.scale
        tail = np.exp(-np.abs(t)) / 2
        return np.asarray(np.where(t < 0, tail, 1 - tail))[()]

    def quantile(self, u: Any) -> Array:
        u = _check.probabilities(u, "u")
        with np.errstate(divide="ignore"):
            distance = -self.scale * np.log(2 * np.minimum(u, 1 - u))
        return np.asarray(np.where(u < 0.5, -distance, distance))[()]

    def excess_moment(self, order: int, start: Any, width: Any) -> Array:
        w = np.asarray(width) / self.scale
        # P(1, w) by expm1, which is several times as fast as the general routine.
        share = -np.expm1(-w) if order == 0 else scipy.special.gammainc(order + 1, w)
        moment = math.factorial(order) * self.scale ** (order + 1) * share
        return np.asarray(np.broadcast_to(moment, np.broadcast_shapes(np.shape(start), np.shape(width))))[()]

    def excess_quantile(self, u: Any, start: Any, width: Any) -> Array:
        mass = np.asarray(u) * -np.expm1(-np.asarray(width) / self.scale)
        with np.errstate(divide="ignore"):
            v = np.minimum(-self.scale * np.log1p(-mass), width)
        return np.asarray(np.broadcast_to(v, np.broadcast_shapes(np.shape(start), v.shape)))[()]

    def sample(self, rng: np.random.Generator, size: Any = None) -> Array:
        return np.asarray(rng.laplace(0.0, self.scale, size))[()]


@dataclass(frozen=True, slots=True)
class GeneralizedGaussian:
    """Generalised Gaussian noise of integer order, density ∝ exp(-(|z|/scale)^power).

    Excess moments away from zero are Gauss–Legendre integrals (relative error about 1e-13).

    Parameters
    ----------
    scale
        The scale, > 0.
    power
        The order: 1 is Laplace noise of the same scale, 2 Gaussian noise with standard deviation scale/√2.
    """

    scale: float
    power: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _check.positive(self.scale, "scale"))
        object.__setattr__(self, "power", _check.integer(self.power, "power", least=1))

    @property
    def efold(self) -> float:
        return self.scale

    @property
    def variance(self) -> float:
        return self.scale**2 * math.exp(math.lgamma(3 / self.power) - math.lgamma(1 / self.power))

    def log_density(self, z: Any) -> Array:
        peak = math.log(self.power / (2 * self.scale)) - math.lgamma(1 / self.power)
        return np.asarray(peak - _exponent(z, self.scale, self.power))[()]

    def log_ratio(self, start: Any, excess: Any) -> Array:
        return -_exponent_change(_units(start, self.scale), _units(excess, self.scale), self.power)[()]

    def cdf(self, z: Any) -> Array:
        z = np.asarray(z)
        t, a = _units(np.abs(z), self.scale), 1 / self.power
        centre = self.power / (2 * math.gamma(a)) * _from_zero(0, t, self.power)
        tail = np.where(centre < 0.25, 0.5 - centre, scipy.special.gammaincc(a, _exponent(t, 1.0, self.power)) / 2)
        return np.asarray(np.where(z < 0, tail, 0.5 + centre))[()]

    def quantile(self, u: Any) -> Array:
        u = _check.probabilities(u, "u")
        a, tail = 1 / self.power, np.minimum(u, 1 - u)
        # Invert whichever of the central and the outer probability is the smaller one.
        inner = np.abs(1 - 2 * u)
        x = np.where(tail > 0.25, scipy.special.gammaincinv(a, inner), scipy.special.gammainccinv(a, 2 * tail))
        # Next to zero the density is flat, and x = t^p would underflow.
        distance = np.where(x < 1e-18, inner * math.gamma(a) / self.power, x**a)
        return np.asarray(np.copysign(self.scale * distance, u - 0.5))[()]

    def excess_moment(self, order: int, start: Any, width: Any) -> Array:
        moment = _excess_moment(order, _units(start, self.scale), _units(width, self.scale), self.power)
        return np.asarray(self.scale ** (order + 1) * moment)[()]

    def excess_quantile(self, u: Any, start: Any, width: Any) -> Array:
        v = _excess_quantile(np.asarray(u), _units(start, self.scale), _units(width, self.scale), self.power)
        return np.asarray(np.minimum(self.scale * v, width))[()]

    def sample(self, rng: np.random.Generator, size: Any = None) -> Array:
        radius = rng.standard_gamma(1 / self.power, size) ** (1 / self.power)
        return np.asarray(self.scale * np.where(rng.random(size) < 0.5, -radius, radius))[()]


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Gaussian noise. The same law as ``GeneralizedGaussian(scale * sqrt(2), 2)``, computed with the error function.

    Parameters
    ----------
    scale
        The standard deviation, > 0.
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _check.positive(self.scale, "scale"))

    @property
    def power(self) -> int:
        return 2

    @property
    def efold(self) -> float:
        return self.scale * math.sqrt(2)

    @property
    def variance(self) -> float:
        return self.scale**2

    def _general(self) -> GeneralizedGaussian:
        return GeneralizedGaussian(self.efold, 2)

    def log_density(self, z: Any) -> Array:
        return np.asarray(-_exponent(z, self.efold, 2) - math.log(self.scale * math.sqrt(2 * math.pi)))[()]

    def log_ratio(self, start: Any, excess: Any) -> Array:
        return self._general().log_ratio(start, excess)

    def cdf(self, z: Any) -> Array:
        return np.asarray(scipy.special.ndtr(np.asarray(z) / self.scale))[()]

    def quantile(self, u: Any) -> Array:
        return np.asarray(self.scale * scipy.special.ndtri(_check.probabilities(u, "u")))[()]

    def excess_moment(self, order: int, start: Any, width: Any) -> Array:
        return self._general().excess_moment(order, start, width)

    def excess_quantile(self, u: Any, start: Any, width: Any) -> Array:
        return self._general().excess_quantile(u, start, width)

    def sample(self, rng: np.random.Generator, size: Any = None) -> Array:
        return np.asarray(rng.normal(0.0, self.scale, size))[()]


def _units(value: Any, scale: float) -> Array:
    """Lengths in units of the scale. 1e250 replaces lengths that overflow, whose density is zero anyway."""
    with np.errstate(over="ignore"):
        units = np.asarray(value) / scale
    return np.asarray(np.where(np.isinf(value), np.inf, np.minimum(units, 1e250)))


def _exponent(z: Any, scale: float, power: int) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray((np.abs(z) / scale) ** power)


def _exponent_change(start: Array, excess: Array, power: int) -> Array:
    """(start + excess)^p - start^p without cancellation; 1e280 stands for exponents that overflow."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        close = np.minimum(start**power, 1e280) * np.expm1(power * np.log1p(excess / start))
        apart = np.minimum((start + excess) ** power, 1e280) - np.minimum(start**power, 1e280)
        return np.asarray(np.where(excess < start, close, apart))


@cache
def unit_legendre(count: int) -> tuple[Array, Array]:
    """Gauss–Legendre nodes and weights on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def _from_zero(order: int, width: Array, power: int) -> Array:
    """∫_0^w z^k exp(-z^p) dz = Γ(a)/p P(a, w^p), a = (k+1)/p; w^(k+1)/(k+1) where w^p is below rounding."""
    a, x = (order + 1) / power, _exponent(width, 1.0, power)
    flat = np.minimum(width, 1.0) ** (order + 1) / (order + 1)
    return np.asarray(np.where(x < 1e-18, flat, math.gamma(a) / power * scipy.special.gammainc(a, x)))


def _excess_moment(order: int, start: Array, width: Array, power: int) -> Array:
    """R_k in units of the scale, in chunks of bounded memory."""
    start, width = np.broadcast_arrays(start, width)
    moment = _from_zero(order, width, power)
    inside = start > 0
    if inside.any():
        t, w = start[inside], width[inside]
        pieces = [_quadrature(order, t[i : i + 4096], w[i : i + 4096], power) for i in range(0, t.size, 4096)]
        moment[inside] = np.concatenate(pieces)
    return moment


def _quadrature(order: int, start: Array, width: Array, power: int) -> Array:
    """R_k for start > 0 by two Gauss–Legendre panels that meet at z = 1.

    Up to z = 1 the exponent z^p is at most one and z itself is the variable; beyond, u = z^p is, in which the
    weight is a plain exponential. In both the integrand is positive and the excess v is formed
    without a subtraction, so the relative error is that of the exponential function.
    """
    # exp(-z^p) is bounded by e^20 on a Bernstein ellipse of radius 1 + 2√(3/p), so about 10√p nodes give 1e-16.
    nodes, weights = unit_legendre(64 + 10 * math.isqrt(power))
    start, width = start[:, None], width[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        low = np.minimum(start, 1.0)
        inner = np.minimum(width, 1 - low)
        v = inner * nodes
        below = inner * (v**order * np.exp(low**power - np.minimum(low + v, 1.0) ** power) @ weights)[:, None]

        base = np.maximum(start, 1.0)
        x = np.minimum(base**power, 1e280)
        rest = np.where(width > inner, width - inner, 0.0)
        length = np.minimum(x * np.expm1(power * np.log1p(rest / base)), _DEEP)
        y = length * nodes
        v = (base - start) + base * np.expm1(np.log1p(y / x) / power)
        jacobian = base / (power * x) * (1 + y / x) ** (1 / power - 1)
        above = length * (v**order * jacobian * np.exp(low**power - 1 - y) @ weights)[:, None]
    return np.asarray(below + above)[:, 0]


def _excess_quantile(u: Array, start: Array, width: Array, power: int) -> Array:
    """Solve R_0(start, v) = u R_0(start, width) for v.

    R_0 is increasing and concave in v, so Newton's method from the left never overshoots; from start 0 the
    inverse incomplete gamma function gives the answer at once.
    """
    u, start, width = np.broadcast_arrays(u, start, width)
    a = 1 / power
    whole = _exponent(width, 1.0, power)
    inner = u * scipy.special.gammainc(a, whole)
    outer = (1 - u) + u * scipy.special.gammaincc(a, whole)
    x = np.where(inner < 0.5, scipy.special.gammaincinv(a, inner), scipy.special.gammainccinv(a, outer))
    v = np.where(whole < 1e-18, u * np.minimum(width, 1.0), x**a)
    shifted = start > 0
    if shifted.any():
        v[shifted] = _newton_from_left(u[shifted], start[shifted], width[shifted], power)
    return np.minimum(v, width)


def _newton_from_left(u: Array, start: Array, width: Array, power: int) -> Array:
    target = u * _excess_moment(0, start, width, power)
    v = np.zeros_like(target)
    active = np.flatnonzero(target > 0)
    for _ in range(200):
        t, w = start[active], v[active]
        missing = target[active] - _excess_moment(0, t, w, power)
        slope = np.exp(-np.minimum(_exponent_change(t, w, power), 700.0))
        step = np.maximum(missing, 0.0) / slope
        v[active] = np.minimum(w + step, width[active])
        active = active[step > 4e-16 * v[active]]
        if not active.size:
            break
    return v
