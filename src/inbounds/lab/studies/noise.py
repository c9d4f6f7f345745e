"""Noise for studies: vectorised, seeded, in floating point, and never used by a release.

Scales and bounds may differ from element to element (a covariance is kept within what the variances released before it
allow), which the laws of `inbounds.laws` do not offer; tests compare the two where both apply.
"""

from typing import Any

import numpy as np

from inbounds._check import Array

MECHANISMS = ("truncated", "bit", "unbounded", "joint")


# claim:study-noise
def draw_bounded(mechanism: str, at: Array, scale: Any, lower: Any, upper: Any, rng: np.random.Generator) -> Array:
    """Laplace noise around ``at``: clamped, renormalised to the bounds, or as it falls.

    Values outside the bounds are allowed: truncation then has the law of the nearest bound (memorylessness).
    """
    if mechanism == "truncated":
        return _draw_truncated(np.clip(at, lower, upper), scale, lower, upper, rng)
    noisy = at + scale * rng.laplace(size=np.shape(at))
    return np.asarray(np.clip(noisy, lower, upper) if mechanism == "bit" else noisy)


def _draw_truncated(at: Array, scale: Any, lower: Any, upper: Any, rng: np.random.Generator) -> Array:
    """By the inverse of the distribution function: u P1(α) + (1-u) P1(β) decides the side and how far."""
    left, right = -np.expm1((lower - at) / scale), -np.expm1((at - upper) / scale)
    # Uniform on (-left, right): how much of the mass on its side lies between s and the value.
    mass = rng.random(np.shape(at)) * (left + right) - left
    return np.asarray(np.clip(at - np.copysign(scale, mass) * np.log1p(-np.abs(mass)), lower, upper))


def supnorm(dimension: int, size: int, rng: np.random.Generator) -> Array:
    """Vectors with density ∝ e^(-‖z‖∞): a gamma radius, then uniform in the cube."""
    return np.asarray(rng.gamma(dimension + 1.0, 1.0, (size, 1)) * rng.uniform(-1, 1, (size, dimension)))


def draw_whole(scale: float, shape: Any, rng: np.random.Generator) -> Array:
    """Integers with P(k) ∝ e^(-|k|/scale): the difference of two geometric variables."""
    stop = -np.expm1(-1 / scale)
    return np.asarray(rng.geometric(stop, shape) - rng.geometric(stop, shape), float)


# claim:study-zero-sum
def zero_sum(scale: float, cells: int, size: int, rng: np.random.Generator) -> Array:
    """Integer vectors with P(z) ∝ e^(-‖z‖₁/scale) that add up to zero.

    All elements but one are drawn, the last makes the sum zero; the vector is kept with probability e^(-|last|/scale).
    """
    draws: list[Array] = []
    lacking = size
    while lacking > 0:
        first = draw_whole(scale, (2 * lacking + 64, cells - 1), rng)
        last = -first.sum(axis=1)
        good = rng.random(len(last)) < np.exp(-np.abs(last) / scale)
        draws.append(np.column_stack([first[good], last[good]])[:lacking])
        lacking -= len(draws[-1])
    return np.concatenate(draws)


# claim:study-whole
def draw_whole_bounded(mechanism: str, counts: Array, scale: float, most: int, rng: np.random.Generator) -> Array:
    """Noisy counts in 0..most: clamped, or renormalised to them."""
    if mechanism != "truncated":
        noisy = counts + draw_whole(scale, np.shape(counts), rng)
        return np.clip(noisy, 0, most) if mechanism == "bit" else noisy
    # Weights of below : at : above are q(1-q^k)/(1-q) : 1 : q(1-q^(most-k))/(1-q); the distance is geometric, modulo
    # the room that there is (memorylessness).
    ratio, stop = np.exp(-1 / scale), -np.expm1(-1 / scale)
    below, above = (-ratio * np.expm1(-room / scale) / stop for room in (counts, most - counts))
    place = rng.random(np.shape(counts)) * (1 + below + above)
    room = np.where(place < below, counts, most - counts)
    away = 1 + np.mod(rng.geometric(stop, np.shape(counts)) - 1, np.maximum(room, 1))
    return np.asarray(counts + np.where(place < below, -away, np.where(place < below + 1, 0, away)))
