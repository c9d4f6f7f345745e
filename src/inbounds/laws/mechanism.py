"""Mechanisms: noise, bounding and bounds, which give the law of a released value for a true value.

These are laws on the real line, for theory, previews and studies. A release draws from the same law on a grid, in exact
integers.
"""

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

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

if TYPE_CHECKING:
    import altair

_BOUNDING: dict[str, AnyBounding] = {"bit": BIT(), "truncated": Truncated(), "unbounded": Unbounded()}
_N = TypeVar("_N", bound=Any)


class Law(Protocol):
    """What intervals, previews and reports need from a law, on the real line or on a grid."""

    def cdf(self, x: npt.ArrayLike, at: npt.ArrayLike) -> Array: ...
    def quantile(self, u: npt.ArrayLike, at: npt.ArrayLike) -> Array: ...
    def atoms(self, at: npt.ArrayLike) -> tuple[Array, Array]: ...
    def bias(self, s: npt.ArrayLike) -> Array: ...
    def variance(self, s: npt.ArrayLike) -> Array: ...
    def mse(self, s: npt.ArrayLike) -> Array: ...
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
        ``"bit"`` clamps and has atoms at the bounds. ``"truncated"`` renormalises, which is the law of drawing again
        until the value is inside. ``"unbounded"`` does not change the value; ``bounds`` then only say where the true
        value s may be.
    bounds
        ``(lower, upper)``; a side may be infinite.
    note
        What a reader must know about how its scale was found. It changes no law, and two mechanisms that differ in it
        alone are equal.

    Raises
    ------
    TypeError, ValueError
        If an argument is not valid, or staircase noise is truncated.

    Notes
    -----
    All methods broadcast over arrays of s, x and u, and return NumPy scalars for scalar input. The true value may be
    outside the bounds. Results have a relative error of about 1e-12 for scale/width from 1e-9 to 1e9.

    Examples
    --------
    >>> from inbounds import Laplace
    >>> m = Mechanism(Laplace(0.1), "bit", bounds=(0, 1))
    >>> float(m.mse(0.5)), m.atoms(at=0.0)[0] == 0.5
    (0.0191914..., np.True_)
    """

    noise: Noise
    bounding: str
    bounds: Bounds = (-math.inf, math.inf)
    note: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.noise, type) or not hasattr(self.noise, "excess_moment"):
            raise TypeError(f"noise must be a noise such as Laplace(0.1), got {self.noise!r}")
        _check.choice(self.bounding, "bounding", BOUNDINGS)
        if isinstance(self.noise, Staircase) and self.bounding == "truncated":
            raise ValueError("staircase noise cannot be truncated, since its loss is not known; use bounding='bit'")
        object.__setattr__(self, "bounds", _check.bounds(self.bounds))
        sizes = [self.noise.scale, 1 / self.noise.scale, *(abs(b) for b in self.bounds if math.isfinite(b))]
        if max(sizes) > _check.LARGEST:
            raise ValueError(
                "scale must lie between 1e-100 and 1e100 and bounds must not exceed 1e100 in size, got "
                f"scale {self.noise.scale} and bounds {self.bounds}: use other units"
            )

    def __repr__(self) -> str:
        note = f", note={self.note!r}" if self.note else ""
        return f"Mechanism({self.noise!r}, {self.bounding!r}, bounds={self.bounds!r}{note})"

    def plot(self, at: npt.ArrayLike | None = None) -> "altair.LayerChart":
        """Plot the densities for some true values, with atoms at the bounds. Needs the extra ``plot``.

        Parameters
        ----------
        at
            One or a few true values. By default one next to the lower bound and one in the middle.

        Returns
        -------
        altair.LayerChart
            The chart.
        """
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
        """The bounding; none if both sides are open."""
        both_open = self.bounds == (-math.inf, math.inf)
        return _BOUNDING["unbounded" if both_open else self.bounding]

    def _noise_for(self, view: Sight) -> Noise:
        """The noise, with its scale capped.

        If the scale is more than 1e60 times every distance, the law agrees with its limit (uniform, or one half on each
        bound) to sixty digits, and smaller ratios would only underflow.
        """
        if isinstance(self._law, Unbounded):
            return self.noise
        cap = 1e60 * max(self.width, float(view.beyond.max(initial=0.0)))
        return self.noise if self.noise.scale <= cap else _with_scale(self.noise, cap)

    def pdf(self, x: npt.ArrayLike, at: npt.ArrayLike) -> Array:
        """The density of the continuous part at x if the true value is ``at``; 0 outside the bounds.

        BIT also has atoms (`atoms`). The density and the atoms together have mass one.
        """
        x = _check.array(x, "x", infinite=True)
        x, view = self._aligned(x, at)
        inside = (view.lower <= x) & (x <= view.upper) & np.isfinite(x)
        with _quiet():
            if isinstance(self._law, Unbounded):
                return np.asarray(self._law.pdf(self._noise_for(view), view, x))[()]
            density = self._law.pdf(self._noise_for(view), view, np.where(inside, x, inside_point(view)))
        return np.asarray(np.where(inside, density, 0.0))[()]

    def cdf(self, x: npt.ArrayLike, at: npt.ArrayLike) -> Array:
        """P(X ≤ x) if the true value is ``at``, with a small relative error in the lower tail."""
        x = _check.array(x, "x", infinite=True)
        x, view = self._aligned(x, at)
        inside = (view.lower <= x) & (x < view.upper) & np.isfinite(x)
        with _quiet():
            if isinstance(self._law, Unbounded):
                return np.asarray(self._law.cdf(self._noise_for(view), view, x))[()]
            probability = self._law.cdf(self._noise_for(view), view, np.where(inside, x, inside_point(view)))
        return np.asarray(np.where(inside, probability, np.where(x >= view.upper, 1.0, 0.0)))[()]

    def quantile(self, u: npt.ArrayLike, at: npt.ArrayLike) -> Array:
        """The smallest x with P(X ≤ x) ≥ u if the true value is ``at``."""
        u, view = self._aligned(_check.probabilities(u, "u"), at)
        with _quiet():
            return np.asarray(self._law.quantile(self._noise_for(view), view, u))[()]

    def atoms(self, at: npt.ArrayLike) -> tuple[Array, Array]:
        """Probability of exactly the lower and exactly the upper bound."""
        view = sight(*self.bounds, _location(at, "at"))
        with _quiet():
            lower, upper = self._law.atoms(self._noise_for(view), view)
        return np.asarray(lower)[()], np.asarray(upper)[()]

    def moments(self, s: npt.ArrayLike) -> Moments:
        """Mean, bias, variance and MSE about s, together."""
        at = _location(s, "s")
        view = sight(*self.bounds, at.ravel())
        with _quiet():
            moments = self._law.moments(self._noise_for(view), view)
        return Moments(*(moment.reshape(at.shape)[()] for moment in moments))

    def mean(self, s: npt.ArrayLike) -> Array:
        """Expected released value."""
        return self.moments(s).mean

    def bias(self, s: npt.ArrayLike) -> Array:
        """Expected released value minus s."""
        return self.moments(s).bias

    def variance(self, s: npt.ArrayLike) -> Array:
        """Variance of the released value."""
        return self.moments(s).variance

    def mse(self, s: npt.ArrayLike) -> Array:
        """Mean squared error about s."""
        return self.moments(s).mse

    # claim:worst-bias
    def worst_bias(self) -> float:
        """Largest absolute bias over all true values inside the bounds.

        It is the bias at a bound: the bias falls as s rises. For BIT, with any symmetric noise, its
        slope is minus the two atoms; for truncation and log-concave noise it is Cov(X, -(log f)') - 1, and integration
        by parts bounds that covariance by one.
        """
        ends = [bound for bound in self.bounds if math.isfinite(bound)]
        return float(np.abs(self.bias(np.array(ends))).max()) if ends else 0.0

    # claim:worst-mse
    def worst_mse(self) -> float:
        """Largest mean squared error over all true values inside the bounds (a supremum on an open side).

        It is found by evaluating the bounds, the midpoint and a few hundred points between them, and
        refining around the best. The relative error is below 1e-12.
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

    def sample(self, s: npt.ArrayLike, size: Any = None, *, rng: np.random.Generator) -> Array:
        """Draw in floating point, for studies. A release never uses this.

        Parameters
        ----------
        s
            The true values.
        size
            The shape of the draws. By default one draw for each true value.
        rng
            The generator.

        Returns
        -------
        array
            The draws.
        """
        if not isinstance(rng, np.random.Generator):
            raise TypeError(f"rng must be a numpy.random.Generator, got {type(rng).__name__}")
        at = _location(s, "s")
        view = sight(*self.bounds, at if size is None else np.broadcast_to(at, size))
        with _quiet():
            return np.asarray(self._law.sample(self._noise_for(view), view, rng))[()]

    def _aligned(self, values: Array, at: npt.ArrayLike) -> tuple[Array, Sight]:
        values, at = np.broadcast_arrays(values, _location(at, "at"))
        return values, sight(*self.bounds, at)


def _location(value: npt.ArrayLike, name: str) -> Array:
    at = _check.array(value, name)
    if at.size and np.abs(at).max() > _check.LARGEST:
        raise ValueError(f"{name} must not exceed 1e100 in size: use other units")
    return at


def _quiet() -> np.errstate:
    """Ignore overflow and underflow: both mean a probability of zero, which is the right result."""
    return np.errstate(over="ignore", under="ignore")


def _with_scale(noise: _N, scale: float) -> _N:
    """The same family at another scale."""
    return replace(noise, scale=scale)
