"""Calibration: the smallest scale whose privacy loss is at most the target.

Every search ends on the private side: the returned scale was checked to meet the target, and the next smaller one that
was tried does not. Margins make sure that rounding in the loss cannot reverse the inequality.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Literal

import scipy

from inbounds import _check
from inbounds.lab.theory.loss import as_moves, log_density_ratio, log_tail_ratio, privacy_loss
from inbounds.laws import Gaussian, GeneralizedGaussian, Laplace, Mechanism, Noise
from inbounds.laws.bounding import BOUNDINGS

FAMILIES = ("laplace", "gaussian", "generalized-gaussian")

# For a scale that is private, though a smaller one would be as well.
UNION_BOUND = (
    "not the least noise: the scale is that of a union bound over the coordinates; with 2 to 20 of them and powers of "
    "2 to 4, its variance is 1.9 to 37 times the least"
)
_OF_PURE = "not known to be the least noise: the scale is that of pure epsilon, with delta = 0"
# The closed form of the truncated loss is accurate to a few units in the last place.
_MARGIN = 1e-13


# claim:calibrate-pure, claim:calibrate-approximate, claim:calibrate-probabilistic
def calibrate(
    noise: str,
    bounding: str,
    *,
    bounds: Sequence[float] = (-math.inf, math.inf),
    sensitivity: float | None = None,
    epsilon: float,
    delta: float = 0.0,
    kind: Literal["approximate", "probabilistic"] = "approximate",
    calibration: Literal["exact", "paper"] = "exact",
    power: int | None = None,
    moves: Sequence[float] | None = None,
) -> Mechanism:
    """The mechanism with the least noise that has the guarantee; for some vectors one with more noise than needed.

    A vector of two or more statistics with ``delta > 0`` gets a scale that is safe, but not the least, with
    ``kind="probabilistic"`` and for noise of power 3 or more. The ``note`` of the mechanism says so.

    Parameters
    ----------
    noise
        ``"laplace"``, ``"gaussian"`` or ``"generalized-gaussian"`` (which needs ``power``).
    bounding, bounds
        As in `Mechanism`.
    sensitivity, moves
        How much one record can change one statistic, or each coordinate of a vector. Give exactly one of the two.
    epsilon, delta, kind
        With ``delta=0`` the guarantee is pure ε. With ``delta > 0`` it is (ε, δ) of the approximate or the
        probabilistic kind, for noise of power ≥ 2, unbounded or BIT.
    calibration
        ``"exact"``, or ``"paper"`` for λ = δ₁/ε with any bounding. The latter is *not* ε-DP for truncated noise; it is
        for the studies. `privacy_loss` says what it really costs.
    power
        The order of generalized Gaussian noise.

    Returns
    -------
    Mechanism
        The calibrated mechanism.

    Raises
    ------
    TypeError, ValueError
        If an argument is not valid, or no scale has the guarantee. Truncated noise with ``delta > 0`` is refused: its
        normaliser depends on the true value, so the (ε, δ) of the noise does not carry over.

    Notes
    -----
    **Formal guarantees.**

    - ``privacy_loss(result, ...) <= epsilon``, and within 1e-9 relative of it.
    - One statistic, or power 2: the exact trade-off of the noise, P(L > ε) -
      e^ε P(L' > ε) ≤ δ; for power 2 the analytic Gaussian mechanism (Balle & Wang 2018, Thm 8) at the Euclidean length
      of the move. BIT inherits it as post-processing. Other vectors: the probabilistic bound, which implies it.
    - Pr(Σ_j a_j > b^p ε - Σ_j δ_j^p) ≤ δ with
      a_j = Σ_{i=1}^{p-1} C(p,i) |Z_j|^{p-i} δ_j^i: the paper's condition with its sign and bracket mended. For one
      unbounded statistic that is exactly the probability of an output whose loss exceeds ε against some neighbour,
      above or below. For vectors it is a union bound over coordinates: with 2 to 20 of them, powers of 2 to 4, ε = 1
      and δ = .01, the variance is 1.9 to 37 times the least that meets the condition. Clamping can make an atom of
      harmless outputs harmful, so BIT is calibrated on its atoms, not on the noise alone.

    Examples
    --------
    >>> calibrate("laplace", "bit", bounds=(0, 1), sensitivity=0.01, epsilon=0.5)
    Mechanism(Laplace(scale=0.02), 'bit', bounds=(0.0, 1.0))
    >>> calibrate("laplace", "truncated", bounds=(0, 1), sensitivity=0.01, epsilon=1.0).noise.scale
    0.01612...
    """
    make = _family(noise, power)
    _check.choice(bounding, "bounding", BOUNDINGS)
    _check.choice(kind, "kind", ("approximate", "probabilistic"))
    _check.choice(calibration, "calibration", ("exact", "paper"))
    limits = _check.bounds(bounds)
    epsilon = _check.positive(epsilon, "epsilon")
    lengths = as_moves(sensitivity, moves)
    delta = _check.real(delta, "delta")
    if not 0 <= delta < 1:
        raise ValueError(f"delta must lie in [0, 1), got {delta}")

    def at(scale: float) -> Mechanism:
        return Mechanism(make(scale), bounding, limits)

    if calibration == "paper":
        if noise != "laplace" or delta:
            raise ValueError("calibration='paper' (λ = δ₁/ε) needs noise='laplace' and delta=0")
        return at(math.fsum(lengths) / epsilon)
    # The true value lies within the bounds, so nothing moves it further than their width.
    lengths = [min(length, limits[1] - limits[0]) for length in lengths]
    if not delta:
        return at(_pure_scale(at, lengths, epsilon))
    scale = _scale_with_delta(make, bounding, lengths, epsilon, delta, kind)
    note = "" if _knows_least(make, lengths, kind) else UNION_BOUND
    if math.isfinite(privacy_loss(at(scale), moves=lengths)) and (pure := _pure_scale(at, lengths, epsilon)) <= scale:
        # Pure ε is more than was asked for, and takes no more noise.
        scale, note = pure, _OF_PURE if note else ""
    return replace(at(scale), note=note)


def _family(name: str, power: int | None) -> Callable[[float], Noise]:
    _check.choice(name, "noise", FAMILIES)
    if name == "generalized-gaussian":
        if power is None:
            raise TypeError("power must be given for noise='generalized-gaussian'")
        return partial(GeneralizedGaussian, power=power)
    if power is not None:
        raise TypeError(f"power is only for noise='generalized-gaussian', not for {name!r}")
    return Laplace if name == "laplace" else Gaussian


def _pure_scale(at: Callable[[float], Mechanism], lengths: list[float], epsilon: float) -> float:
    guess = math.fsum(lengths) / epsilon
    if not guess < _check.LARGEST:
        raise ValueError(f"epsilon is too small for a sensitivity of {math.fsum(lengths)}: got {epsilon}")
    # A loss that is infinite at one scale is infinite at every scale.
    trial = at(1.0)
    if trial.noise.power == 1 and (trial.bounding != "truncated" or trial.bounds == (-math.inf, math.inf)):
        return _least_ratio(lengths, epsilon)
    if math.isinf(privacy_loss(trial, moves=lengths)):
        raise ValueError(
            f"{trial.bounding} noise of power {trial.noise.power} with bounds {trial.bounds} has no pure epsilon at "
            "any scale; use bounds on both sides, or delta > 0 with 'bit' or 'unbounded', or noise='laplace'"
        )

    def private(scale: float) -> bool:
        return privacy_loss(at(scale), moves=lengths) <= epsilon * (1 - _MARGIN)

    return least_scale(private, guess)


def _least_ratio(lengths: list[float], epsilon: float) -> float:
    """The smallest float λ with λ ε ≥ Σ δ_j in exact fractions, and Σ δ_j / λ ≤ ε in floats."""
    total = sum((Fraction(length) for length in lengths), start=Fraction(0))
    scale = float(total) / epsilon
    while Fraction(scale) * Fraction(epsilon) < total or math.fsum(lengths) / scale > epsilon:
        scale = math.nextafter(scale, math.inf)
    return scale


def least_scale(private: Callable[[float], bool], guess: float) -> float:
    """The smallest scale at which ``private`` holds, to fifteen digits, rounded up.

    ``private`` must be false below some scale and true above it.
    """
    high = guess
    while not private(high):
        high *= 2
    low = high / 2
    while private(low):
        low, high = low / 2, low
    while high > low * (1 + 1e-15):
        middle = low + (high - low) / 2
        low, high = (low, middle) if private(middle) else (middle, high)
    return high


def _scale_with_delta(
    make: Callable[[float], Noise],
    bounding: str,
    lengths: list[float],
    epsilon: float,
    delta: float,
    kind: str,
) -> float:
    power = make(1.0).power
    if bounding == "truncated":
        raise ValueError(
            "delta > 0 cannot be combined with 'truncated': truncation is not post-processing (its normaliser depends "
            "on the true value), so the (epsilon, delta) of the noise does not carry over. Use 'bit', or delta=0"
        )
    if power == 1:
        raise ValueError("noise of power 1 (Laplace) is only calibrated to pure epsilon; use delta=0")
    length = math.hypot(*lengths)
    if kind == "approximate" and _knows_least(make, lengths, kind):

        def private(scale: float) -> bool:
            # excess_probability is a difference of two numbers up to one, each with an error of a few last digits.
            return excess_probability(make(scale), length, epsilon) + 1e-15 <= delta * (1 - 1e-9)
    else:
        per_coordinate = delta / len(lengths)
        clamped = bounding == "bit" and kind == "probabilistic"

        def private(scale: float) -> bool:
            return _loss_at_tail(make(scale), clamped, lengths, per_coordinate) <= epsilon * (1 - 1e-12)

    return least_scale(private, length / epsilon)


def _knows_least(make: Callable[[float], Noise], lengths: list[float], kind: str) -> bool:
    """Whether the least scale with delta > 0 is known: for one statistic, and for Gaussian noise of a vector."""
    return len(lengths) == 1 or (kind == "approximate" and make(1.0).power == 2)


def excess_probability(noise: Noise, move: float, epsilon: float) -> float:
    """The smallest δ for which unbounded noise is (ε, δ)-approximately private for a move of this length.

    The loss g(z + move) - g(z) exceeds ε on a half-line z > z*, so δ = Q(z*) - e^ε Q(z* + move).
    """
    if noise.power == 2:
        ratio = move / (noise.efold / math.sqrt(2))
        first = scipy.special.ndtr(ratio / 2 - epsilon / ratio)
        second = math.exp(epsilon + scipy.special.log_ndtr(-ratio / 2 - epsilon / ratio))
        return float(first - second)
    threshold = _threshold(noise, move, epsilon)
    beyond = float(noise.cdf(-threshold - move))
    return float(noise.cdf(-threshold)) - (math.exp(epsilon + math.log(beyond)) if beyond else 0.0)


def _threshold(noise: Noise, move: float, epsilon: float) -> float:
    """The z at which g(z + move) - g(z) = ε, by bisection. The difference increases with z."""

    def loss(z: float) -> float:
        if z >= 0:
            return log_density_ratio(noise, z, move)
        return log_density_ratio(noise, 0.0, abs(z + move)) - log_density_ratio(noise, 0.0, abs(z))

    low = -move / 2  # by symmetry the loss is zero there
    high = max(move, noise.efold)
    while loss(high) < epsilon:
        high *= 2
    for _ in range(200):
        middle = low + (high - low) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if loss(middle) < epsilon else (low, middle)
    return low


def _loss_at_tail(noise: Noise, clamped: bool, lengths: list[float], probability: float) -> float:
    """The sum of the losses at the distances that |Z_j| exceed with this probability."""
    distance = -float(noise.quantile(probability / 2))
    loss = log_tail_ratio if clamped else log_density_ratio
    return math.fsum(loss(noise, distance, length) for length in lengths)
