"""Scales of noise for studies: as the paper has them, and the least ones that keep the promise."""

from collections.abc import Sequence

import numpy as np

from inbounds import _check
from inbounds._check import Array
from inbounds.lab.theory.calibrate import calibrate

CALIBRATIONS = ("paper", "honest")
_MOST_RECORDS = 10_000_000
_EPSILONS = 1e-9, 1e6


def require_sizes(sizes: Sequence[int], epsilons: Sequence[float], *, least: int) -> None:
    """Refuse numbers of records and values of ε that cannot be simulated."""
    for i, n in enumerate(sizes):
        if _check.integer(n, f"n[{i}]", least=least) > _MOST_RECORDS:
            raise ValueError(f"n[{i}] must be at most {_MOST_RECORDS:,}")
    for i, epsilon in enumerate(epsilons):
        if not _EPSILONS[0] <= _check.positive(epsilon, f"epsilon[{i}]") <= _EPSILONS[1]:
            raise ValueError(f"epsilon[{i}] must lie between 1e-9 and 1e6, got {epsilon:g}")


def share_scale(mechanism: str, calibration: str, n: int, epsilon: float, moves: int) -> float:
    """Scale for shares of n records when one record moves ``moves`` of them by 1/n each.

    The paper's is moves/(nε) for either bounding. It is honest except for truncation, whose normaliser depends on the
    data (erratum 2): the scale that keeps the promise is up to twice as large.
    """
    if mechanism == "truncated" and calibration == "honest":
        return _least(n, epsilon, moves)
    return moves / (n * epsilon)


def _least(n: int, epsilon: float, moves: int) -> float:
    mechanism = calibrate("laplace", "truncated", bounds=(0, 1), moves=[1 / n] * moves, epsilon=epsilon)
    return float(mechanism.noise.scale)


# claim:study-truncated-scale
def truncated_scale(sensitivity: float, width: Array | float, epsilon: float) -> Array:
    """The least scales of truncated Laplace noise, for many widths W of bounds at once.

    With d = min(δ, W) the loss at u = 1/λ is du + log[(P1(du) + P1((W-d)u))/P1(Wu)], P1(t) = 1 - e^-t. It rises with u
    and lies between du and 2du; 60 bisections end on the private side. For W = 0 there is nothing to protect.
    """
    width = np.asarray(width, float)
    wide = np.where(width > 0, width, 1.0)
    move = np.minimum(sensitivity, wide)
    low, high = epsilon / (2 * move), epsilon / move
    for _ in range(60):
        u = (low + high) / 2
        inflation = np.log((np.expm1(-move * u) + np.expm1((move - wide) * u)) / np.expm1(-wide * u))
        private = move * u + inflation <= epsilon
        low, high = np.where(private, u, low), np.where(private, high, u)
    return np.asarray(1 / low)
