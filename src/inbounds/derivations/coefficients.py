"""Least squares from noisy moments: the coefficients of the first column on the others.

With S the covariance matrix in half-widths of the bounds, slopes are S_xx⁻¹ S_xy. Where the noise of S_xx is not small
beside one of its eigenvalues, this would invert the noise, so eigenvalues below twice its size are raised to that.
Where all are larger, nothing is changed.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from inbounds._check import Array
from inbounds.derivations.base import Coordinates, Limits, Simulated, Situation, Tail
from inbounds.derivations.moments import TableOfMoments
from inbounds.derivations.truths import Truths
from inbounds.expected import affordable_matrices

# The least eigenvalue of regressors whose moments are known exactly.
_LEAST = 1e-12


@dataclass(frozen=True, slots=True)
class Coefficients(Simulated):
    """The intercept and the slopes of the first column on the others, of a public number of records."""

    rows: int = field()
    repair: str = field()

    text = "least squares from noisy moments"
    of_sums = True
    tail: ClassVar[Tail] = "bounds"

    @property
    def weighs_noise(self) -> bool:
        """See `Derivation`. The size of the noise says which eigenvalues are large enough."""
        return True

    @property
    def table(self) -> TableOfMoments:
        """The moments that it is computed from."""
        return TableOfMoments(self.rows, self.repair)

    def values(self, noisy: Array, limits: Limits) -> Array:
        ends = limits.columns
        size, halves = len(ends), (ends[:, 1] - ends[:, 0]) / 2
        flat = self.table.values(noisy, limits)
        means = (flat[..., :size] - ends.mean(axis=1)) / halves
        matrix = flat[..., size:].reshape(*flat.shape[:-1], size, size) / np.outer(halves, halves)
        eigenvalues, vectors = np.linalg.eigh(matrix[..., 1:, 1:])
        eigenvalues = np.maximum(eigenvalues, self._least(means, limits)[..., None])
        rotated = np.einsum("...ji,...j->...i", vectors, matrix[..., 1:, 0]) / eigenvalues
        slopes = np.einsum("...ij,...j->...i", vectors, rotated) * halves[0] / halves[1:]
        intercept = flat[..., 0] - (slopes * flat[..., 1:size]).sum(axis=-1)
        return np.concatenate([intercept[..., None], slopes], axis=-1)

    def _least(self, means: Array, limits: Limits) -> Array:
        """Twice the size of the noise of the regressors' matrix, in half-widths: about the 95% point of its norm."""
        if limits.noise is None:
            return np.full(means.shape[:-1], _LEAST)
        size = len(limits.columns)
        i, j = np.triu_indices(size)
        first, second = limits.noise[:size], np.where(i == j, limits.noise[size:] / 4, limits.noise[size:])
        each = np.zeros((*means.shape[:-1], size, size))
        each[..., i, j] = second + means[..., i] ** 2 * first[j] + means[..., j] ** 2 * first[i]
        each[..., j, i] = each[..., i, j]
        # The norm of a symmetric matrix of independent elements is about twice the root of their sum by rows.
        total = np.sqrt(each[..., 1:, 1:].sum(axis=(-2, -1)) / (size - 1))
        return np.asarray(np.maximum(4 * total / (self.rows - 1), _LEAST))

    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        size = len(coordinates.limits.columns)
        draws = affordable_matrices(len(coordinates.noisy), size, self.repair)
        errors = coordinates.simulate_errors(self.values, draws)
        # Regressors that hardly vary may have any slopes.
        worst = np.full(size, np.inf)
        return errors, (worst, worst)

    def room(self, values: Array) -> Array | None:
        # Sums of products that cancel.
        return np.asarray(1e-8 * np.abs(values) + 1e-12 * np.abs(values).max())

    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        return self.table.plausible(situation)

    def find_truths(self, situation: Situation) -> Truths:
        return self.table.find_truths(situation)
