"""Bounding: what keeps a noisy value inside [lower, upper], over any noise.

With s the true value, both boundings are seen from s. ``near`` is the distance to the nearer bound (negative
when s lies beyond it), ``far`` the distance to the other one, ``gap = far - near``; by the symmetry of the noise
a bias points away from the nearer bound. Written in excess moments R_k (`noise.py`), f the density and Q the
upper tail of the noise, for s inside the bounds:

    truncated   bias  f(near) [R_1(near, gap) + near R_0(near, gap)] / M_0,   MSE  M_2 / M_0,
                M_k = f(0) [R_k(0, near) + R_k(0, far)]
    BIT         bias  f(near) R_1(near, gap) + gap Q(far)
                MSE   M_2 + near² Q(near) + far² Q(far)

and for s beyond the nearer bound, with moments about that bound, e = -near and W the width:

    truncated   mean - bound  R_1(e, W) / R_0(e, W)
    BIT         mean - bound  f(e) R_1(e, W) + W Q(far)

For Laplace noise these are the closed forms P1, P2, P3 of the paper's Propositions 1 and 2. Each is a sum of
positive terms; that, not series expansion, is why they hold from scale/width 1e-9 to 1e9.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from inbounds._check import Array
from inbounds.laws.noise import Laplace, Noise

BOUNDINGS = ("bit", "truncated", "unbounded")


class Moments(NamedTuple):
    """Mean, bias, variance and mean squared error about the true value."""

    mean: Array
    bias: Array
    variance: Array
    mse: Array


@dataclass(frozen=True, slots=True)
class Sight:
    """The bounds as seen from the true value: signed distances, exact to the last bit that matters."""

    lower: Array
    upper: Array
    at: Array
    near: Array
    far: Array
    gap: Array
    width: Array
    sign: Array

    @property
    def beyond(self) -> Array:
        """How far s lies outside the bounds; 0 inside."""
        return np.maximum(-self.near, 0.0)

    @property
    def inner(self) -> Array:
        """Distance to the nearer bound; 0 when s lies beyond it."""
        return np.maximum(self.near, 0.0)


def sight(lower: Any, upper: Any, at: Array) -> Sight:
    """Look at the bounds from each location.

    ``gap`` is lower + upper - 2 at, formed with the rounding error of lower + upper put back: the bias near
    the midpoint is proportional to it and would otherwise lose all its digits there.
    """
    lower, upper, at = np.broadcast_arrays(np.asarray(lower, float), np.asarray(upper, float), at)
    below, above = at - lower, upper - at
    with np.errstate(invalid="ignore"):
        total = lower + upper
        virtual = total - lower
        remainder = (lower - (total - virtual)) + (upper - virtual)
        remainder = np.where(np.isfinite(remainder), remainder, 0.0)
        gap = (total - 2 * at) + remainder
    return Sight(
        lower,
        upper,
        at,
        near=np.minimum(below, above),
        far=np.maximum(below, above),
        gap=np.abs(gap),
        width=upper - lower,
        sign=np.where(gap < 0, -1.0, 1.0),
    )


class Bounding(Protocol):
    """The role of a bounding: the law of the released value, given where the bounds are."""

    def pdf(self, noise: Noise, view: Sight, x: Array) -> Array:
        """Density of the continuous part."""

    def cdf(self, noise: Noise, view: Sight, x: Array) -> Array:
        """P(X ≤ x), for x in [lower, upper]."""

    def quantile(self, noise: Noise, view: Sight, u: Array) -> Array:
        """The least x with P(X ≤ x) ≥ u."""

    def atoms(self, noise: Noise, view: Sight) -> tuple[Array, Array]:
        """Probability of exactly the lower and exactly the upper bound."""

    def moments(self, noise: Noise, view: Sight) -> Moments:
        """Mean, bias, variance and MSE."""

    def sample(self, noise: Noise, view: Sight, rng: np.random.Generator) -> Array:
        """One draw for each location."""


@dataclass(frozen=True, slots=True)
class Unbounded:
    """The noise as it is: nothing keeps the value inside."""

    def pdf(self, noise: Noise, view: Sight, x: Array) -> Array:
        return np.exp(noise.log_density(x - view.at))

    def cdf(self, noise: Noise, view: Sight, x: Array) -> Array:
        return noise.cdf(x - view.at)

    def quantile(self, noise: Noise, view: Sight, u: Array) -> Array:
        return view.at + noise.quantile(u)

    def atoms(self, noise: Noise, view: Sight) -> tuple[Array, Array]:  # noqa: ARG002
        return np.zeros_like(view.at), np.zeros_like(view.at)

    def moments(self, noise: Noise, view: Sight) -> Moments:
        spread = np.full_like(view.at, noise.variance)
        return Moments(view.at, np.zeros_like(view.at), spread, spread)

    def sample(self, noise: Noise, view: Sight, rng: np.random.Generator) -> Array:
        return view.at + noise.sample(rng, view.at.shape)


@dataclass(frozen=True, slots=True)
class BIT:
    """Boundary-inflated truncation: clamp. The mass outside goes onto the bounds (paper, Def. 2(b))."""

    def pdf(self, noise: Noise, view: Sight, x: Array) -> Array:
        return np.exp(noise.log_density(x - view.at))

    def cdf(self, noise: Noise, view: Sight, x: Array) -> Array:
        return np.where(x >= view.upper, 1.0, noise.cdf(x - view.at))

    def quantile(self, noise: Noise, view: Sight, u: Array) -> Array:
        return np.clip(view.at + noise.quantile(u), view.lower, view.upper)

    def atoms(self, noise: Noise, view: Sight) -> tuple[Array, Array]:
        return noise.cdf(view.lower - view.at), noise.cdf(view.at - view.upper)

    def moments(self, noise: Noise, view: Sight) -> Moments:
        near, far = view.inner, view.far
        density = np.exp(noise.log_density(near))
        bias = density * noise.excess_moment(1, near, view.gap) + _weighted(view.gap, 1, noise, far)
        mse = sum(
            np.exp(noise.log_density(0.0)) * noise.excess_moment(2, 0.0, t) + _weighted(t, 2, noise, t)
            for t in (near, far)
        )
        return _assemble(noise, view, bias, np.asarray(mse), self._about_bound)

    @staticmethod
    def _about_bound(noise: Noise, start: Array, width: Array) -> tuple[Array, Array]:
        density, end = np.exp(noise.log_density(start)), start + width
        first = density * noise.excess_moment(1, start, width) + _weighted(width, 1, noise, end)
        second = density * noise.excess_moment(2, start, width) + _weighted(width, 2, noise, end)
        return first, second - first**2

    def sample(self, noise: Noise, view: Sight, rng: np.random.Generator) -> Array:
        return np.clip(view.at + noise.sample(rng, view.at.shape), view.lower, view.upper)


@dataclass(frozen=True, slots=True)
class Truncated:
    """Truncation: renormalise to the bounds, the law of re-drawing until inside (paper, Def. 2(a))."""

    def _log_mass(self, noise: Noise, view: Sight) -> tuple[Array, Array]:
        """Reference distance r (0 inside, else how far beyond) and log of the mass between the bounds / f(r)."""
        reference = view.beyond
        inside = noise.excess_moment(0, 0.0, view.inner) + noise.excess_moment(0, 0.0, view.far)
        if not reference.any():
            return reference, np.log(inside)
        outside = noise.excess_moment(0, reference, view.width)
        return reference, np.log(np.where(reference > 0, outside, inside))

    def pdf(self, noise: Noise, view: Sight, x: Array) -> Array:
        reference, log_mass = self._log_mass(noise, view)
        return np.exp(noise.log_ratio(reference, self._past(view, x)) - log_mass)

    @staticmethod
    def _past(view: Sight, x: Array) -> Array:
        """How far x lies past the reference, seen from s: past s itself, or past the bound that s lies beyond."""
        bound = np.where(view.sign > 0, view.lower, view.upper)
        return np.abs(x - np.where(view.near < 0, bound, view.at))

    def cdf(self, noise: Noise, view: Sight, x: Array) -> Array:
        reference, log_mass = self._log_mass(noise, view)
        z, from_lower = x - view.at, x - view.lower
        distance = np.abs(z)
        # Up to s count from x backwards to the lower bound; past s go forwards, so that every piece is positive.
        to_left = np.exp(noise.log_ratio(reference, self._past(view, x)))
        left = to_left * noise.excess_moment(0, distance, from_lower)
        start = np.where(view.at < view.lower, reference, 0.0)
        head = noise.excess_moment(0, 0.0, np.maximum(view.at - view.lower, 0.0))
        right = head + noise.excess_moment(0, start, np.where(start > 0, from_lower, distance))
        return np.minimum(np.where(z <= 0, left, right) / np.exp(log_mass), 1.0)

    def quantile(self, noise: Noise, view: Sight, u: Array) -> Array:
        x = self._invert(noise, view, u)
        return x if isinstance(noise, Laplace) else self._polish(noise, view, u, x)

    def _polish(self, noise: Noise, view: Sight, u: Array, x: Array) -> Array:
        """Newton steps on the cdf, kept inside a shrinking bracket, until none helps.

        The starting point is accurate next to s, the cdf is so everywhere. Where a step leaves the bracket, halve it.
        """
        inner = np.isfinite(x) & (u > 0) & (u < 1)
        x = np.where(inner, x, inside_point(view))
        low, high = np.array(view.lower), np.array(view.upper)
        error = self.cdf(noise, view, x) - u
        best, least = x, np.abs(error)
        for _ in range(120):
            low, high = np.where(error < 0, x, low), np.where(error > 0, x, high)
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                trial = x - error / self.pdf(noise, view, x)
                middle = low / 2 + high / 2
            astray = ~((low <= trial) & (trial <= high) & np.isfinite(trial))
            trial = np.where(astray & np.isfinite(middle), middle, np.where(astray, x, trial))
            x, changes = trial, trial != x
            error = self.cdf(noise, view, x) - u
            better = np.abs(error) < least
            best, least = np.where(better, x, best), np.where(better, np.abs(error), least)
            if not (changes & (least > 1e-15 * u)).any():
                break
        return np.where(inner, best, np.where(u > 0.5, view.upper, view.lower))

    def _invert(self, noise: Noise, view: Sight, u: Array) -> Array:
        """The quantile from the tail of the noise that it lies in; s beyond a bound counts from that bound."""
        if isinstance(noise, Laplace):
            return self._invert_laplace(noise, view, u)
        beyond = view.beyond
        with np.errstate(invalid="ignore"):
            reference, log_mass = self._log_mass(noise, view)
            mass = np.exp(log_mass + noise.log_density(reference))
            below, above = noise.cdf(view.lower - view.at), noise.cdf(view.at - view.upper)
            left, right = below + u * mass, above + (1 - u) * mass
            from_left = noise.quantile(np.clip(left, 0.0, 1.0))
            x = view.at + np.where(left < 0.5, from_left, -noise.quantile(np.clip(right, 0.0, 1.0)))
            if beyond.any():
                is_below = view.at < view.lower
                excess = noise.excess_quantile(np.where(is_below, u, 1 - u), beyond, view.width)
                x = np.where(beyond > 0, np.where(is_below, view.lower + excess, view.upper - excess), x)
        return np.clip(x, view.lower, view.upper)

    @staticmethod
    def _invert_laplace(noise: Laplace, view: Sight, u: Array) -> Array:
        """Closed form with s clamped first, by reflection always on the side of s where the value falls.

        With v the probability from the bound of that side to the value, D the normaliser and γ the distance of the
        bound from s in scales, e^-distance = e^-γ + D v; distances are taken from s or from the bound, whichever
        leaves more digits in the result.
        """
        s = np.clip(view.at, view.lower, view.upper)
        alpha, beta = (s - view.lower) / noise.scale, (view.upper - s) / noise.scale
        total = -np.expm1(-alpha) - np.expm1(-beta)
        passed = total * u + np.expm1(-alpha)
        is_left = passed < 0
        bound, gamma = np.where(is_left, view.lower, view.upper), np.where(is_left, alpha, beta)
        outward = np.where(is_left, -1.0, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_mass = np.log(total * np.where(is_left, u, 1 - u))
            far = -np.logaddexp(-gamma, log_mass)
            from_s = noise.scale * np.where(np.abs(passed) < 0.5, -np.log1p(-np.abs(passed)), far)
            from_bound = noise.scale * np.logaddexp(0.0, gamma + log_mass)
            nearer_s = np.isinf(bound) | (np.abs(s) + from_s <= np.abs(bound) + from_bound)
            x = np.where(nearer_s, s + outward * from_s, bound - outward * from_bound)
        return np.clip(x, view.lower, view.upper)

    def atoms(self, noise: Noise, view: Sight) -> tuple[Array, Array]:  # noqa: ARG002
        return np.zeros_like(view.at), np.zeros_like(view.at)

    def moments(self, noise: Noise, view: Sight) -> Moments:
        near, far, gap = view.inner, view.far, view.gap
        mass = noise.excess_moment(0, 0.0, near) + noise.excess_moment(0, 0.0, far)
        density = np.exp(noise.log_ratio(0.0, near))
        first = density * (noise.excess_moment(1, near, gap) + near * noise.excess_moment(0, near, gap))
        second = noise.excess_moment(2, 0.0, near) + noise.excess_moment(2, 0.0, far)
        return _assemble(noise, view, first / mass, second / mass, self._about_bound)

    @staticmethod
    def _about_bound(noise: Noise, start: Array, width: Array) -> tuple[Array, Array]:
        mass, first, second = (noise.excess_moment(k, start, width) for k in (0, 1, 2))
        return first / mass, second / mass - (first / mass) ** 2

    def sample(self, noise: Noise, view: Sight, rng: np.random.Generator) -> Array:
        return self._invert(noise, view, rng.random(view.at.shape))


AnyBounding: TypeAlias = BIT | Truncated | Unbounded


def inside_point(view: Sight) -> Array:
    """A point inside the bounds, to evaluate a formula at where its result is not wanted."""
    return np.clip(view.at, view.lower, view.upper)


def _weighted(distance: Array, order: int, noise: Noise, at: Array) -> Array:
    """distance^order · Q(at), with 0 where the bound is open."""
    open_side = np.isinf(distance)
    return np.where(open_side, 0.0, np.where(open_side, 0.0, distance) ** order * noise.cdf(-at))


def _assemble(noise: Noise, view: Sight, bias: Array, mse: Array, about_bound: Any) -> Moments:
    """Moments of the inside formulas, and of those about the nearer bound where s lies beyond it."""
    bias = view.sign * bias
    mean, variance = view.at + bias, np.maximum(mse - bias**2, 0.0)
    beyond = view.beyond
    if beyond.any():
        out = beyond > 0
        excess, spread = about_bound(noise, beyond[out], view.width[out])
        sign = view.sign[out]
        bound = np.where(sign > 0, view.lower[out], view.upper[out])
        offset = beyond[out] + excess
        bias[out], mean[out] = sign * offset, bound + sign * excess
        variance[out], mse[out] = np.maximum(spread, 0.0), spread + offset**2
    return Moments(np.clip(mean, view.lower, view.upper), bias, variance, mse)
