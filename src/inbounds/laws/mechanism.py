"""Mechanism: noise × bounding × bounds, the law of a released value given the true one.

These are laws on the real line, for theory, previews and studies. What a release draws from is the same law on
a grid, in exact integers.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from inbounds import _check
from inbounds._check import Array, Bounds
from inbounds._html import render
from inbounds.laws import picture
from inbounds.laws.bounding import (
    BIT,
    BOUNDINGS,
    AnyBounding,
    Moments,
    Sight,
    Truncated,
    Unbounded,
    inside_point,
    sight,
)
from inbounds.laws.noise import Noise
from inbounds.laws.staircase import Staircase

_BOUNDING: dict[str, AnyBounding] = {"bit": BIT(), "truncated": Truncated(), "unbounded": Unbounded()}
_N = TypeVar("_N", bound=Any)


class Law(Protocol):
    """What intervals, previews and reports need of a law, be it on the real line or on a grid."""

    def cdf(self, x: Any, at: Any) -> Array: ...
    def quantile(self, u: Any, at: Any) -> Array: ...
    def atoms(self, at: Any) -> tuple[Array, Array]: ...
    def bias(self, s: Any) -> Array: ...
    def variance(self, s: Any) -> Array: ...
    def mse(self, s: Any) -> Array: ...
    def worst_bias(self) -> float: ...
    def worst_mse(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Mechanism:
    """The law of a released value: ``noise`` added to the true value and kept inside ``bounds``.

    Parameters
    ----------
    noise
        ``Laplace``, ``Gaussian`` or ``GeneralizedGaussian``, or any dataclass with the role ``Noise``; or
        ``inbounds.laws.Staircase``, which is not truncated.
    bounding
        ``"bit"`` clamps and has atoms at the bounds; ``"truncated"`` renormalises, as if re-drawing until
        inside; ``"unbounded"`` leaves the value as it falls, and ``bounds`` then only say where s may lie.
    bounds
        ``(lower, upper)``; a side may be infinite.

    All methods broadcast over arrays of s, x and u and return NumPy scalars for scalar input. The true value
    may lie outside the bounds. Results hold to about 1e-12 relative for scale/width from 1e-9 to 1e9.

    >>> from inbounds import Laplace
    >>> m = Mechanism(Laplace(0.1), "bit", bounds=(0, 1))
    >>> float(m.mse(0.5)), m.atoms(at=0.0)[0] == 0.5
    (0.0191914..., np.True_)
    """

    noise: Noise
    bounding: str
    bounds: Bounds = (-math.inf, math.inf)

    def __post_init__(self) -> None:
        if isinstance(self.noise, type) or not hasattr(self.noise, "excess_moment"):
            raise TypeError(f"noise must be a noise such as Laplace(0.1), got {self.noise!r}")
        _check.choice(self.bounding, "bounding", BOUNDINGS)
        if isinstance(self.noise, Staircase) and self.bounding == "truncated":
            raise ValueError("staircase noise is not truncated, which has no known loss; use bounding='bit'")
        object.__setattr__(self, "bounds", _check.bounds(self.bounds))
        sizes = [self.noise.scale, 1 / self.noise.scale, *(abs(b) for b in self.bounds if math.isfinite(b))]
        if max(sizes) > _check.LARGEST:
            raise ValueError(
                "scale must lie between 1e-100 and 1e100 and bounds must not exceed 1e100 in size, got "
                f"scale {self.noise.scale} and bounds {self.bounds}: use other units"
            )

    def __repr__(self) -> str:
        return f"Mechanism({self.noise!r}, {self.bounding!r}, bounds={self.bounds!r})"

    def plot(self, at: Any = None) -> Any:
        """Its densities for some true values, with atoms at the bounds, as an Altair chart."""
        return picture.plot(self, at)

    def _repr_html_(self) -> str:
        figures = {"largest bias": self.worst_bias(), "largest RMSE": math.sqrt(self.worst_mse())}
        rows = [(name, [f"{x:.6g}"]) for name, x in figures.items()]
        return render("list", caption=repr(self), heads=[], rows=rows, rest="")

    @property
    def width(self) -> float:
        """upper - lower."""
        return self.bounds[1] - self.bounds[0]

    @property
    def _law(self) -> AnyBounding:
        """With both sides open there is nothing to bound."""
        both_open = self.bounds == (-math.inf, math.inf)
        return _BOUNDING["unbounded" if both_open else self.bounding]

    def _noise_for(self, view: Sight) -> Noise:
        """The noise, its scale capped where more of it can no longer be told apart.

        Beyond 1e60 times every distance there is, the law has reached its limit (uniform, or a half on each bound) to
        sixty digits, and smaller ratios would only underflow.
        """
        if isinstance(self._law, Unbounded):
            return self.noise
        cap = 1e60 * max(self.width, float(view.beyond.max(initial=0.0)))
        return self.noise if self.noise.scale <= cap else _with_scale(self.noise, cap)

    def pdf(self, x: Any, at: Any) -> Array:
        """Density of the continuous part at x when the true value is ``at``; 0 outside the bounds.

        BIT has atoms beside it (`atoms`); density and atoms together have mass one.
        """
        x = _check.array(x, "x", infinite=True)
        x, view = self._aligned(x, at)
        inside = (view.lower <= x) & (x <= view.upper) & np.isfinite(x)
        with _quiet():
            if isinstance(self._law, Unbounded):
                return np.asarray(self._law.pdf(self._noise_for(view), view, x))[()]
            density = self._law.pdf(self._noise_for(view), view, np.where(inside, x, inside_point(view)))
        return np.asarray(np.where(inside, density, 0.0))[()]

    def cdf(self, x: Any, at: Any) -> Array:
        """P(X ≤ x) when the true value is ``at``; relatively accurate in the lower tail."""
        x = _check.array(x, "x", infinite=True)
        x, view = self._aligned(x, at)
        inside = (view.lower <= x) & (x < view.upper) & np.isfinite(x)
        with _quiet():
            if isinstance(self._law, Unbounded):
                return np.asarray(self._law.cdf(self._noise_for(view), view, x))[()]
            probability = self._law.cdf(self._noise_for(view), view, np.where(inside, x, inside_point(view)))
        return np.asarray(np.where(inside, probability, np.where(x >= view.upper, 1.0, 0.0)))[()]

    def quantile(self, u: Any, at: Any) -> Array:
        """The least x with P(X ≤ x) ≥ u when the true value is ``at``."""
        u, view = self._aligned(_check.probabilities(u, "u"), at)
        with _quiet():
            return np.asarray(self._law.quantile(self._noise_for(view), view, u))[()]

    def atoms(self, at: Any) -> tuple[Array, Array]:
        """Probability of exactly the lower and exactly the upper bound."""
        view = sight(*self.bounds, _location(at, "at"))
        with _quiet():
            lower, upper = self._law.atoms(self._noise_for(view), view)
        return np.asarray(lower)[()], np.asarray(upper)[()]

    def moments(self, s: Any) -> Moments:
        """Mean, bias, variance and MSE about s, together."""
        at = _location(s, "s")
        view = sight(*self.bounds, at.ravel())
        with _quiet():
            moments = self._law.moments(self._noise_for(view), view)
        return Moments(*(moment.reshape(at.shape)[()] for moment in moments))

    def mean(self, s: Any) -> Array:
        """Expected released value."""
        return self.moments(s).mean

    def bias(self, s: Any) -> Array:
        """Expected released value minus s."""
        return self.moments(s).bias

    def variance(self, s: Any) -> Array:
        """Variance of the released value."""
        return self.moments(s).variance

    def mse(self, s: Any) -> Array:
        """Mean squared error about s."""
        return self.moments(s).mse

    def worst_bias(self) -> float:
        """Largest absolute bias over all true values inside the bounds.

        claim:worst-bias. It is the bias at a bound: the bias falls as s rises. For BIT, with any symmetric noise, its
        slope is minus the two atoms; for truncation and log-concave noise it is Cov(X, -(log f)') - 1, and integration
        by parts bounds that covariance by one.
        """
        ends = [bound for bound in self.bounds if math.isfinite(bound)]
        return float(np.abs(self.bias(np.array(ends))).max()) if ends else 0.0

    def worst_mse(self) -> float:
        """Largest mean squared error over all true values inside the bounds (a supremum on an open side).

        claim:worst-mse. Found by looking at the bounds, the midpoint and a few hundred points between, spaced
        evenly and by powers of the scale, then refining around the best: error below 1e-12 relative.
        """
        if isinstance(self._law, Unbounded):
            return self.noise.variance
        lower, upper = self.bounds
        one_sided = not math.isfinite(self.width)
        # By symmetry half of the range is enough; on an open side 60 e-foldings reach the limit.
        reach = 60 * self.noise.efold if one_sided else self.width / 2
        smallest = min(reach, self.noise.efold) * 1e-3
        depths = np.unique(np.concatenate([[0.0], np.geomspace(smallest, reach, 257), np.linspace(0, reach, 257)]))

        def mse(depth: Array) -> Array:
            return self.mse(lower + depth if math.isfinite(lower) else upper - depth)

        for _ in range(6):
            values = mse(depths)
            best = int(values.argmax())
            depths = np.linspace(depths[max(best - 1, 0)], depths[min(best + 1, len(depths) - 1)], 17)
        limit = self.noise.variance if one_sided else 0.0
        return max(float(mse(depths).max()), limit)

    def sample(self, s: Any, size: Any = None, *, rng: np.random.Generator) -> Array:
        """Draws in floating point with the given generator: for studies; a release never uses it."""
        if not isinstance(rng, np.random.Generator):
            raise TypeError(f"rng must be a numpy.random.Generator, got {type(rng).__name__}")
        at = _location(s, "s")
        view = sight(*self.bounds, at if size is None else np.broadcast_to(at, size))
        with _quiet():
            return np.asarray(self._law.sample(self._noise_for(view), view, rng))[()]

    def _aligned(self, values: Array, at: Any) -> tuple[Array, Sight]:
        values, at = np.broadcast_arrays(values, _location(at, "at"))
        return values, sight(*self.bounds, at)


def _location(value: Any, name: str) -> Array:
    at = _check.array(value, name)
    if at.size and np.abs(at).max() > _check.LARGEST:
        raise ValueError(f"{name} must not exceed 1e100 in size: use other units")
    return at


def _quiet() -> np.errstate:
    """Exponents may overflow and densities underflow; both mean zero probability, which is what comes out."""
    return np.errstate(over="ignore", under="ignore")


def _with_scale(noise: _N, scale: float) -> _N:
    """The same family at another scale."""
    return replace(noise, scale=scale)
