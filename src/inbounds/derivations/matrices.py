"""A symmetric matrix from the noisy elements on and above its diagonal."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from inbounds._check import Array
from inbounds.derivations import plausible
from inbounds.derivations.base import Coordinates, Limits, Simulated, Situation, Tail
from inbounds.expected import (
    affordable_matrices,
    simulate,
    truncated_in_turn,
    worst_elements,
)
from inbounds.repairs.moments import possible, symmetric


@dataclass(frozen=True, slots=True)
class Matrix(Simulated):
    """A covariance matrix, made possible by ``repair``; with ``unit`` the correlation matrix that follows from it."""

    repair: str
    unit: bool = False

    of_sums = False

    @property
    def text(self) -> str:
        return "correlation from released covariances" if self.unit else "matrix"

    @property
    def plain(self) -> bool:
        return not self.unit

    @property
    def tail(self) -> Tail:
        return "bounds" if self.unit else "noise"

    def values(self, noisy: Array, limits: Limits) -> Array:
        return possible(symmetric(np.clip(noisy, limits.lower, limits.upper)), self.repair, unit=self.unit)

    def covariances(self) -> "Matrix":
        """The same elements as covariances. No repair changes variances; this one takes no time."""
        return Matrix("clip")

    def undetermined(self, noisy: Array, limits: Limits) -> list[bool] | None:
        return zero_variances(self.covariances().values(noisy, limits)) if self.unit else None

    def simulate(self, given: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        draws = affordable_matrices(len(given.noisy), len(given.limits.columns), self.repair)
        in_turn = given.parts[0].bounding == "truncated"
        noise = truncated_in_turn if in_turn else None
        errors = simulate(self.values, given.worth, given.parts, given.units, given.limits, draws, noise)
        if self.unit:
            size = len(given.limits.columns)
            width = 2 * (1 - np.eye(size)).ravel()
            return errors, (width, width)
        rmse, bias = worst_elements(given.parts, given.units, given.limits.upper)
        # A repair may move one element away from the truth while it moves the matrix towards it.
        here = np.sqrt((errors**2).mean(axis=0)), np.abs(errors.mean(axis=0))
        return errors, (np.maximum(symmetric(rmse), here[0]), np.maximum(symmetric(bias), here[1]))

    def room(self, values: Array) -> Array | None:
        return matrix_room(values, self.repair)

    def plausible(self, seen: Situation) -> tuple[Fraction, ...]:
        matrix = plausible.covariances(seen)
        triangle = matrix[np.triu_indices(len(matrix))]
        return tuple(Fraction(float(x)) / unit for x, unit in zip(triangle, seen.units, strict=True))


def zero_variances(covariances: Array) -> list[bool] | None:
    """Which variances of a flat covariance matrix are 0; None where none is."""
    zero = [x <= 0 for x in np.diagonal(covariances.reshape(math.isqrt(covariances.size), -1)).tolist()]
    return zero if any(zero) else None


def matrix_room(values: Array, repair: str) -> Array:
    """A billionth of each element; beside the diagonal, digits of the root of the two variances.

    Elements there are what is left when others are taken away. Clipped eigenvalues have twelve digits of that, a repair
    by steps six. A variance has no room but its own, and next to a variance of 0 all is 0.
    """
    roots = np.sqrt(np.diagonal(values))
    beside = (1e-12 if repair == "clip" else 1e-6) * roots[:, None] * roots
    return np.asarray(1e-9 * np.abs(values) + np.where(np.eye(len(roots), dtype=bool), 0.0, beside))
