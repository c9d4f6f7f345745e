"""The exact privacy loss of a mechanism: the largest |log ratio| over all outputs, all true values inside the
bounds, and all neighbours that differ by at most the sensitivity.

For Laplace noise it has a closed form. For noise of higher order it is finite on a bounded support, and is computed
numerically, with the stated error on the safe side.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np

from inbounds import _check
from inbounds._check import Array
from inbounds.laws import Mechanism, Noise, Staircase
from inbounds.laws.noise import unit_legendre
from inbounds.privacy.guarantee import LOCATIONS

# The relative error of quadrature. The computed loss is increased by it.
NUMERICAL_ERROR = 1e-11


# claim:loss-bit, claim:loss-truncated, claim:loss-staircase
# claim:loss-bit-higher-order, claim:loss-truncated-higher-order
def privacy_loss(
    mechanism: Mechanism,
    sensitivity: float | None = None,
    *,
    moves: Sequence[float] | None = None,
    location: Literal["inside", "anywhere"] = "inside",
) -> float:
    """The exact pure ε of a mechanism; ``inf`` if it has none.

    Parameters
    ----------
    mechanism
        Noise, bounding and bounds.
    sensitivity
        The most that one record can change the (scalar) true value. It counts as at most the width of the bounds.
    moves
        For a vector whose coordinates are all released with this mechanism: the most that one record can change each.
        The losses add up, so calibrating each coordinate alone is not enough.
    location
        ``"inside"`` if the true value is within the bounds. ``"anywhere"`` if it may be outside, as a covariance may be
        outside of bounds that were computed from released variances.

    Returns
    -------
    float
        The loss.

    Raises
    ------
    TypeError, ValueError
        If an argument is not valid, or not exactly one of ``sensitivity`` and ``moves`` is given.

    Notes
    -----
    **Formal guarantees.**

    With d = min(sensitivity, W) and u = 1/λ, for Laplace noise:

    - BIT and unbounded: d u. BIT is post-processing; outputs beyond both locations are the worst.
    - Truncated: d u + log[(P1(du) + P1((W-d)u)) / P1(Wu)], between d u and 2 d u. The
      normaliser depends on the true value, which is why truncation at λ = δ/ε is *not* ε-DP.

    - Staircase noise, BIT or unbounded: drop · ⌈d/width⌉.

    For power ≥ 2 and bounds on both sides, with Q the tail of the noise:

    - BIT: log Q(W-d) - log Q(W), attained at a bound's atom;
    - Truncated: the largest log ratio at the far bound over all pairs, at most
      `NUMERICAL_ERROR` (relative) above the truth.

    With an open side, without bounding, or with the location anywhere, such noise has no pure ε. The exception is
    truncated noise of power 2, which loses at most δW/σ² wherever the location is.

    **Edge cases.**

    A zero in ``moves`` costs nothing. With ``location="anywhere"`` the sensitivity is not capped at the width,
    except for truncated Laplace, whose law is that of the location clamped into the bounds.

    Examples
    --------
    >>> from inbounds import Laplace, Mechanism
    >>> privacy_loss(Mechanism(Laplace(0.01), "bit", bounds=(0, 1)), 0.01)
    1.0
    >>> round(privacy_loss(Mechanism(Laplace(0.01), "truncated", bounds=(0, 1)), 0.01), 3)
    1.49
    """
    if not isinstance(mechanism, Mechanism):
        raise TypeError(f"mechanism must be a Mechanism, got {type(mechanism).__name__}")
    _check.choice(location, "location", LOCATIONS)
    anywhere = location == "anywhere"
    lengths = as_moves(sensitivity, moves)
    if isinstance(mechanism.noise, Staircase):
        levels = (math.ceil((x if anywhere else min(x, mechanism.width)) / mechanism.noise.width) for x in lengths)
        return mechanism.noise.drop * sum(levels)
    if mechanism.noise.power == 1 and not _renormalises(mechanism):
        return math.fsum(lengths if anywhere else (min(x, mechanism.width) for x in lengths)) / mechanism.noise.efold
    return math.fsum(_scalar_loss(mechanism, move, anywhere) for move in lengths)


def as_moves(sensitivity: float | None, moves: Sequence[float] | None) -> list[float]:
    """How much one record moves each coordinate, as positive numbers, from exactly one of the two arguments."""
    if (sensitivity is None) == (moves is None):
        raise TypeError("give either sensitivity (one statistic) or moves (a vector), not both or neither")
    if moves is None:
        return [_check.positive(sensitivity, "sensitivity")]
    if isinstance(moves, str) or not isinstance(moves, Sequence | np.ndarray):
        raise TypeError(f"moves must be a sequence of numbers, got {type(moves).__name__}")
    lengths = [abs(_check.finite(move, f"moves[{i}]")) for i, move in enumerate(moves)]
    if not any(lengths):
        raise ValueError("moves must have at least one number other than zero")
    return [length for length in lengths if length]


def _scalar_loss(mechanism: Mechanism, sensitivity: float, anywhere: bool) -> float:
    noise, width = mechanism.noise, mechanism.width
    capped = min(sensitivity, width)
    if noise.power == 1:
        return _truncated_laplace(capped / noise.efold, (width - capped) / noise.efold)
    if anywhere and noise.power == 2 and _renormalises(mechanism):
        # log f_s/f_s' is (s - s') x/σ² up to a constant, wherever s is: it spans at most δ W/σ².
        return 2 * sensitivity * width / noise.efold**2
    if anywhere or mechanism.bounding == "unbounded" or math.isinf(width):
        return math.inf
    if mechanism.bounding == "bit":
        return log_tail_ratio(noise, width - capped, capped) * (1 + NUMERICAL_ERROR)
    return _truncated_higher_order(noise, width, capped) * (1 + NUMERICAL_ERROR)


def _renormalises(mechanism: Mechanism) -> bool:
    """Truncation with both sides open is no truncation."""
    return mechanism.bounding == "truncated" and mechanism.bounds != (-math.inf, math.inf)


def _truncated_laplace(move: float, rest: float) -> float:
    """d u + log(1 + P1(du) P1((W-d)u) / P1(Wu)); the product form has no cancellation.

    >>> _truncated_laplace(1.0, math.inf) == 1 + math.log(2 - math.exp(-1))
    True
    """
    inflation = math.expm1(-move) * math.expm1(-rest) / -math.expm1(-(move + rest)) if rest > 0 else 0.0
    return move + math.log1p(inflation)


def log_density_ratio(noise: Noise, start: float, move: float) -> float:
    """log f(start) - log f(start + move) for start, move ≥ 0."""
    return -float(noise.log_ratio(start, move))


def log_tail_ratio(noise: Noise, start: float, move: float) -> float:
    """log Q(start) - log Q(start + move), Q the upper tail: the integral of the hazard in between."""
    integral = _window_integral(lambda z: 1 / noise.excess_moment(0, z, math.inf), start, move, noise.power)
    if integral < 1:
        return integral
    # Over many e-foldings the difference of the tails loses nothing, and one panel would not do.
    first, last = noise.excess_moment(0, np.array([start, start + move]), math.inf)
    return log_density_ratio(noise, start, move) + math.log(first) - math.log(last)


def _truncated_higher_order(noise: Noise, width: float, move: float) -> float:
    """Largest log ratio of two truncated laws a move apart.

    With s > s' the ratio f_s/f_s' rises with the output (the noise is log-concave), so the far bound is the
    worst output and the loss is ∫ K over a window of length ``move``, where K(t) = d/dt log f_t(upper). K falls
    and may rise again (for power 2 it is (upper - mean)/variance, falling), so the worst window lies at an end;
    windows in between are checked, too.
    """
    starts = np.linspace(0.0, width - move, 33) if move < width else np.zeros(1)
    if width < noise.efold or move < noise.efold / 10:
        # Short windows: the difference of two logarithms would lose its digits.
        slope = partial(_slope, noise, width)
        return max(_window_integral(slope, t, move, noise.power) for t in starts)
    change = -noise.log_ratio(np.maximum(width - starts - move, 0.0), move)
    mass = [
        noise.excess_moment(0, 0.0, np.maximum(t, 0.0)) + noise.excess_moment(0, 0.0, np.maximum(width - t, 0.0))
        for t in (starts, starts + move)
    ]
    return float(np.max(change + np.log(mass[0] / mass[1])))


def _slope(noise: Noise, width: float, t: Array) -> Array:
    """K(t) = g'(W-t) - E g'(X-t), with E g' = [e^-g(t) - e^-g(W-t)] / mass, the true value t above the lower bound."""
    below, above = t / noise.efold, (width - t) / noise.efold
    mass = noise.excess_moment(0, 0.0, t) + noise.excess_moment(0, 0.0, width - t)
    with np.errstate(over="ignore"):
        # Exponents are capped where their exponential has long vanished, so that none is infinite.
        g_below, g_above = np.minimum(below**noise.power, 1e4), np.minimum(above**noise.power, 2e4)
        drop = np.exp(-np.minimum(g_below, g_above)) * np.sign(g_above - g_below)
        drop *= -np.expm1(-np.abs(g_above - g_below))
        return np.asarray(noise.power / noise.efold * above ** (noise.power - 1) - drop / mass)


def _window_integral(function: Callable[[Array], Array], start: float, move: float, power: int) -> float:
    """∫ over [start, start + move] of a function as smooth as z^power, by Gauss–Legendre."""
    nodes, weights = unit_legendre(32 + power // 2)
    return float(move * (function(start + move * nodes) @ weights))
