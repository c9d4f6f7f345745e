"""A symmetric matrix from the noisy elements above its diagonal, and from those on it if they are not known."""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from inbounds._check import Array
from inbounds.derivations import plausible
from inbounds.derivations.base import Coordinates, Limits, Simulated, Situation, Tail
from inbounds.derivations.truths import Truths, find_truths
from inbounds.expected import (
    Error,
    affordable_matrices,
    exact_error,
    simulate,
    truncated_in_turn,
    worst_elements,
)
from inbounds.privacy.certificate import Certificate
from inbounds.repairs.moments import beside_diagonal, possible, symmetric, triangle_size

# If a correlation has at least this deviation, noise decides its value.
_LARGE = 0.2


@dataclass(frozen=True, slots=True)
class Matrix(Simulated):
    """A covariance matrix, made possible by ``repair``; with ``unit`` the correlation matrix that follows from it."""

    repair: str = field()
    unit: bool = False

    of_elements = True

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

    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        draws = affordable_matrices(len(coordinates.noisy), len(coordinates.limits.columns), self.repair)
        noise = self.draw_in_turn(coordinates.parts)
        errors = simulate(
            self.values, coordinates.worth, coordinates.parts, coordinates.units, coordinates.limits, draws, noise
        )
        if self.unit:
            size = len(coordinates.limits.columns)
            width = 2 * (1 - np.eye(size)).ravel()
            return errors, (width, width)
        rmse, bias = worst_elements(coordinates.parts, coordinates.units, coordinates.limits.upper)
        # A repair may move one element away from the truth while it moves the matrix towards it.
        simulated = np.sqrt((errors**2).mean(axis=0)), np.abs(errors.mean(axis=0))
        return errors, (np.maximum(symmetric(rmse), simulated[0]), np.maximum(symmetric(bias), simulated[1]))

    def draw_in_turn(self, parts: tuple[Certificate, ...]) -> Any:
        return truncated_in_turn if parts[0].bounding == "truncated" else None

    def room(self, values: Array) -> Array | None:
        return matrix_room(values, self.repair)

    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        matrix = self.find_truths(situation).typical.matrix
        triangle = matrix[np.triu_indices(len(matrix))]
        return tuple(Fraction(float(x)) / unit for x, unit in zip(triangle, situation.units, strict=True))

    def find_truths(self, situation: Situation) -> Truths:
        return find_truths(situation, "matrix", depends_on_means=False, of_correlations=self.unit)


@dataclass(frozen=True, slots=True)
class PairMatrix(Simulated):
    """A matrix with ones on its diagonal and, for each pair of columns, a noisy number in [-1, 1] beside it.

    For one pair the error is exact. ``repair`` makes it positive semidefinite, as the matrix of the table is.
    """

    repair: str = field()

    plain = True
    unit = True
    text = "matrix of pairs"
    tail: ClassVar[Tail] = "noise"

    def values(self, noisy: Array, limits: Limits) -> Array:
        clipped = np.clip(noisy, limits.lower, limits.upper)
        return possible(beside_diagonal(clipped, 1.0), self.repair, unit=True)

    def error(self, coordinates: Coordinates) -> Error:
        if len(coordinates.noisy) > 1:
            return Simulated.error(self, coordinates)
        error = exact_error(coordinates.parts[0], coordinates.noisy[0], coordinates.units[0])
        figures = np.array([[error.rmse], [error.bias], [error.worst_rmse], [error.worst_bias]])
        rmse, bias, worst_rmse, worst_bias = beside_diagonal(figures, 0.0)
        return Error(rmse, bias, worst_rmse, worst_bias)

    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        # As many pairs as a matrix of one column less has elements.
        draws = affordable_matrices(len(coordinates.noisy), 1 + triangle_size(len(coordinates.noisy)), self.repair)
        errors = simulate(
            self.values, coordinates.worth, coordinates.parts, coordinates.units, coordinates.limits, draws
        )
        worst = worst_elements(coordinates.parts, coordinates.units, coordinates.limits.upper)
        rmse, bias = (beside_diagonal(figure, 0.0) for figure in worst)
        # A repair may move one element away from the truth while it moves the matrix towards it.
        simulated = np.sqrt((errors**2).mean(axis=0)), np.abs(errors.mean(axis=0))
        return errors, (np.maximum(rmse, simulated[0]), np.maximum(bias, simulated[1]))

    def room(self, values: Array) -> Array | None:
        return matrix_room(values, self.repair)

    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        matrix = plausible.associations(situation)
        elements = matrix[np.triu_indices(len(matrix), 1)]
        return tuple(Fraction(float(x)) / unit for x, unit in zip(elements, situation.units, strict=True))


def zero_variances(covariances: Array) -> list[bool] | None:
    """Which variances of a flat covariance matrix are 0; None if none is."""
    zero = [x <= 0 for x in np.diagonal(covariances.reshape(math.isqrt(covariances.size), -1)).tolist()]
    return zero if any(zero) else None


def with_coordinates(coordinates: Coordinates, worth: Array) -> Coordinates:
    """The same with coordinates of this worth."""
    return replace(
        coordinates, noisy=tuple(Fraction(x) / unit for x, unit in zip(worth.tolist(), coordinates.units, strict=True))
    )


def at_least(error: Error, uncertain: Array) -> Error:
    """An error of correlations whose RMSE is at least the uncertainty of each, where that is large.

    Small noise changes variances and covariances together, which makes the error smaller: that was simulated.
    """
    return replace(error, rmse=np.where(uncertain > _LARGE, np.maximum(error.rmse, uncertain), error.rmse))


def matrix_room(values: Array, repair: str) -> Array:
    """A billionth of each element; beside the diagonal, digits of the root of the two variances.

    Elements there are differences of larger numbers. Clipped eigenvalues keep twelve digits of these, a repair by steps
    keeps six. A variance only has its own room, and next to a variance of 0 everything is 0.
    """
    roots = np.sqrt(np.diagonal(values))
    room_beside = (1e-12 if repair == "clip" else 1e-6) * roots[:, None] * roots
    return np.asarray(1e-9 * np.abs(values) + np.where(np.eye(len(roots), dtype=bool), 0.0, room_beside))
