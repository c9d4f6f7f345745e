"""The expected error of a release, from public numbers: at worst over the bounds, and at the released value.

The error at the true value is as secret as the value, so it is never given. If the released number has its own law,
errors are exact. Values that are derived from several noisy numbers are simulated from the released ones, with noise of
the certified law and a fixed seed, so that everyone who has the record gets the same figures.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from inbounds._check import Array
from inbounds.expected.noise import (
    COARSE as COARSE,
)
from inbounds.expected.noise import (
    DRAWS as DRAWS,
)
from inbounds.expected.noise import (
    MANY_CELLS as MANY_CELLS,
)
from inbounds.expected.noise import (
    Doubles as Doubles,
)
from inbounds.expected.noise import (
    affordable_counts as affordable_counts,
)
from inbounds.expected.noise import (
    affordable_draws as affordable_draws,
)
from inbounds.expected.noise import (
    affordable_matrices as affordable_matrices,
)
from inbounds.expected.noise import (
    continuous as continuous,
)
from inbounds.expected.noise import (
    discrete_variance as discrete_variance,
)
from inbounds.expected.noise import (
    draw_noise as draw_noise,
)
from inbounds.expected.noise import (
    draw_zero_sum as draw_zero_sum,
)
from inbounds.expected.noise import (
    is_coarse as is_coarse,
)
from inbounds.expected.noise import (
    norm_parts as norm_parts,
)
from inbounds.expected.noise import (
    seeded_zero_sum as seeded_zero_sum,
)
from inbounds.expected.noise import (
    simulate as simulate,
)
from inbounds.expected.noise import (
    staircase_of as staircase_of,
)
from inbounds.expected.noise import (
    truncated_in_turn as truncated_in_turn,
)
from inbounds.expected.noise import (
    truncated_laplace as truncated_laplace,
)
from inbounds.grid.law import moments
from inbounds.laws import Laplace, Mechanism, Staircase
from inbounds.laws.noise import unit_legendre
from inbounds.privacy.certificate import Certificate
from inbounds.repairs.moments import triangle_size


@dataclass(frozen=True, slots=True)
class Error:
    """Root mean squared error and bias.

    ``worst_*`` are the largest over all true values within the bounds; the others hold if the true value is the
    released one. They are arrays for several numbers. For values that are derived from several noisy numbers the worst
    case is the width of the bounds: a group may be empty, a variance almost 0. For the elements of a matrix it is that
    of their noise, before the repair, or the error that is expected here if that is larger. ``simulated`` marks errors
    that were found by drawing from the certified law.
    """

    rmse: Any
    bias: Any
    worst_rmse: Any
    worst_bias: Any
    simulated: bool = False

    def shaped(self, shape: list[int]) -> "Error":
        """The same, with arrays of the shape of the value."""
        figures = (self.rmse, self.bias, self.worst_rmse, self.worst_bias)
        shaped = [np.broadcast_to(figure, math.prod(shape)).reshape(shape) for figure in figures]
        return Error(shaped[0], shaped[1], shaped[2], shaped[3], self.simulated)

    def without(self, hidden: Any) -> "Error":
        """The same, masked where no value is available."""
        rmse, bias = (np.ma.masked_invalid(np.where(hidden, np.nan, figure)) for figure in (self.rmse, self.bias))
        return replace(self, rmse=rmse, bias=bias)

    def __str__(self) -> str:
        least, most = (f"{end(self.rmse):.3g}" for end in (np.min, np.max))
        span = least if least == most else f"{least} to {most}"
        how = " (simulated)" if self.simulated else ""
        how += ", of what is available" if np.ma.is_masked(self.rmse) else ""
        return f"expected RMSE {span}{how}"


def exact_error(part: Certificate, noisy: Fraction, unit: Fraction) -> Error:
    """The error of one number with its own law."""
    law, scale = part.mechanism, float(unit)
    at = law.locate(noisy)
    return Error(
        math.sqrt(law.mse(at).upper) * scale,
        float(law.bias(at).upper) * scale,
        math.sqrt(law.worst_mse().upper) * scale,
        float(law.worst_bias().upper) * scale,
    )


def exact_errors(part: Certificate, noisy: tuple[Fraction, ...], unit: float) -> Error:
    """The errors of many counts with one law: in double precision, which is faster, if that gives nine digits."""
    law = part.mechanism
    if law.scale.steps < COARSE:
        powers, step = Doubles(float(law.scale.steps)), float(law.step)
        biases = {x: moments(powers, law.bounding, law.first, law.last, law.locate(x)) for x in set(noisy)}
        each = {x: (math.sqrt(mse) * step, bias * step) for x, (bias, mse) in biases.items()}
    else:
        places = {x: law.locate(x) for x in set(noisy)}
        each = {x: (math.sqrt(law.mse(at).upper), float(law.bias(at).upper)) for x, at in places.items()}
    rmse, bias = np.array([each[x] for x in noisy]).T * unit
    return Error(rmse, bias, math.sqrt(law.worst_mse().upper) * unit, float(law.worst_bias().upper) * unit)


def simulated_error(errors: Array, worst: tuple[Array, Array]) -> Error:
    """The error that follows from simulated errors and worst cases."""
    rmse, bias = np.sqrt((errors**2).mean(axis=0)), errors.mean(axis=0)
    if len(rmse) == 1:
        return Error(float(rmse[0]), float(bias[0]), float(worst[0][0]), float(worst[1][0]), simulated=True)
    return Error(rmse, bias, *worst, simulated=True)


def worst_elements(parts: tuple[Certificate, ...], units: tuple[Fraction, ...], upper: Array) -> tuple[Array, Array]:
    """Worst RMSE and bias of a matrix's elements on and above its diagonal, before any repair."""
    dimension = parts[0].dimension
    if dimension > 1:
        # z = R u with E R² = (d+1)(d+2) T² and E R = (d+1) T; clamped at a bound, half of E|z| remains as bias.
        scales = np.array([float(part.spread * unit) for part, unit in zip(parts, units, strict=True)])
        return scales * math.sqrt((dimension + 1) * (dimension + 2) / 3), scales * (dimension + 1) / 4
    laws = [continuous(part, unit) for part, unit in zip(parts, units, strict=True)]
    rmse, bias = np.array([math.sqrt(_worst_mse(law)) for law in laws]), np.array([law.worst_bias() for law in laws])
    if parts[0].bounding == "truncated":
        beyond = _beyond_the_cut(upper)
        return np.maximum(rmse, beyond), np.maximum(bias, beyond)
    return rmse, bias


def _beyond_the_cut(upper: Array) -> Array:
    """How far truncated covariances may be off; 0 for variances.

    They are cut to what released variances allow, and the true covariance need not lie there: at worst it lies at the
    far end of what true variances allow.
    """
    pairs = list(combinations_with_replacement(range(triangle_size(len(upper))), 2))
    most = {i: upper[place] for place, (i, j) in enumerate(pairs) if i == j}
    return np.array(
        [0.0 if i == j else upper[place] + math.sqrt(most[i] * most[j]) for place, (i, j) in enumerate(pairs)]
    )


@lru_cache(maxsize=1024)
def _worst_mse(law: Mechanism) -> float:
    return law.worst_mse()


def noise_length(parts: tuple[Certificate, ...], units: tuple[Fraction, ...]) -> float:
    """The root of the noise's mean squared length, at worst over the bounds."""
    if parts[0].noise == "zero-sum":
        scale = float(parts[0].spread)
        if len(units) > MANY_CELLS:
            # Independent noise minus its mean, which is a little longer.
            return math.sqrt((len(units) - 1) * discrete_variance(scale)) * float(units[0])
        noise = seeded_zero_sum(len(units), scale, DRAWS)
        return math.sqrt((noise**2).sum(axis=1).mean()) * float(units[0])
    return math.sqrt(len(units) * _worst_mse_on_grid(parts[0])) * float(units[0])


@lru_cache(maxsize=1024)
def _worst_mse_on_grid(part: Certificate) -> float:
    return float(part.mechanism.worst_mse().upper)


def root_error(law: Mechanism, variance: float) -> tuple[float, float]:
    """RMSE and bias of the root of a noisy variance about the root of the true one."""
    rmse, bias = root_errors(law, np.array([variance]))
    return float(rmse[0]), float(bias[0])


@lru_cache(maxsize=1024)
def deviation_is_better(bounding: str, of_deviation: Laplace | Staircase, of_variance: Laplace | Staircase) -> bool:
    """Whether noise on a standard deviation has a smaller MSE than the root of a noisy variance, on average over them.

    Scales are in units of the upper bounds of a deviation and of a variance.
    """
    direct, squared = (Mechanism(noise, bounding, bounds=(0, 1)) for noise in (of_deviation, of_variance))
    # With cubes, many of them are close to 0, where the error of the root rises.
    t = (np.arange(12) + 0.5) / 12
    deviations, weights = t**3, 3 * t**2
    # Few points are enough for a comparison.
    return bool(weights @ direct.mse(deviations) <= weights @ root_errors(squared, deviations**2, 6)[0] ** 2)


def root_errors(law: Mechanism, variances: Array, points: int = 32) -> tuple[Array, Array]:
    """RMSE and bias of `root_error` for several variances at once, with so many points in each piece.

    With y = √x the density of y is 2y f(y²), smooth on both sides of √variance, or between the ends of a staircase's
    levels: Gauss-Legendre on pieces of it.
    """
    top, roots = math.sqrt(law.bounds[1]), np.sqrt(variances)
    reach = 45 * law.noise.scale
    below, above = np.sqrt(np.maximum(variances - reach, 0.0)), np.sqrt(np.minimum(variances + reach, law.bounds[1]))
    edges = np.concatenate([np.linspace(below, roots, 9), np.linspace(roots, above, 9)[1:]]).T
    if isinstance(law.noise, Staircase):
        levels = np.concatenate([-law.noise.breaks, law.noise.breaks])
        ends = np.sqrt(np.clip(variances[:, None] + levels, 0.0, law.bounds[1]))
        edges = np.sort(np.concatenate([edges, np.clip(ends, below[:, None], above[:, None])], axis=1), axis=1)
    nodes, node_weights = unit_legendre(points)
    wide = np.diff(edges)[..., None]
    y = (edges[:, :-1, None] + wide * nodes).reshape(len(variances), -1)
    weights = (wide * node_weights).reshape(y.shape) * 2 * y * law.pdf(y * y, at=variances[:, None])
    at_zero, at_top = (np.asarray(atom) for atom in law.atoms(at=variances))
    off = y - roots[:, None]
    squares = (weights * off**2).sum(axis=1) + at_zero * roots**2 + at_top * (top - roots) ** 2
    return np.sqrt(squares), (weights * off).sum(axis=1) - at_zero * roots + at_top * (top - roots)


# claim:worst-root
@lru_cache(maxsize=256)
def worst_root_error(law: Mechanism) -> tuple[float, float]:
    """Largest RMSE and absolute bias of `root_error` over all variances within the bounds."""
    top, scale = law.bounds[1], law.noise.scale
    inside = np.geomspace(1e-4 * min(scale, top), top, 97)
    rmse, bias = root_errors(law, np.array([0.0, *inside]))
    return float(rmse.max()), float(np.abs(bias).max())
