"""Means, variances and matrices from noisy counts and sums, where no number of records is public.

Coordinates are those of `inbounds.tables.coordinates.MomentSums`, cell after cell: a count, Σu of each column and, for
second moments, Σ(2u² - 1) or Σ u_i u_j of each pair, with u in [-1, 1].
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from inbounds._check import Array
from inbounds.derivations import plausible
from inbounds.derivations.base import Coordinates, Limits, Simulated, Situation, Tail
from inbounds.derivations.matrices import at_least, matrix_room, with_coordinates, zero_variances
from inbounds.derivations.truths import Truths, find_truths
from inbounds.expected import Error, affordable_draws, affordable_matrices, simulate
from inbounds.repairs.likely import correlations_of, posterior_deviations, settle
from inbounds.repairs.moments import dimension, pooled_scatter, possible, scatter, symmetric


def _halves(limits: Limits) -> Array:
    return (limits.columns[:, 1] - limits.columns[:, 0]) / 2


def _cells(noisy: Array, columns: int, *, products: bool) -> Array:
    return noisy.reshape(*noisy.shape[:-1], -1, dimension(columns, products=products))


@dataclass(frozen=True, slots=True)
class MeanOfSums(Simulated):
    """The mean of each cell: its noisy sum divided by its noisy count. With ``square``, squares were drawn too."""

    square: bool = False

    of_sums = True
    tail: ClassVar[Tail] = "bounds"

    @property
    def text(self) -> str:
        return "noisy sum over noisy count" + (", drawn with squares" if self.square else "")

    def values(self, noisy: Array, limits: Limits) -> Array:
        cells = _cells(noisy, len(limits.columns), products=self.square)
        # An empty group has no mean; a count stands for at least one record.
        means = limits.columns.mean(axis=1) + _halves(limits) * cells[..., 1] / np.maximum(cells[..., 0], 1.0)
        return np.asarray(np.clip(means, limits.lower, limits.upper))

    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        draws = affordable_draws(len(coordinates.noisy), len(coordinates.limits.columns))
        errors = simulate(
            self.values, coordinates.worth, coordinates.parts, coordinates.units, coordinates.limits, draws
        )
        return errors, _widths(coordinates)

    def room(self, values: Array) -> Array | None:
        return np.asarray(1e-9 * np.abs(values))

    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        truth = self.find_truths(situation).typical
        return plausible.sums(situation, truth.means, truth.matrix if self.square else None, truth.sizes)

    def find_truths(self, situation: Situation) -> Truths:
        return find_truths(situation, "centre")


@dataclass(frozen=True, slots=True)
class SumOfGroup(Simulated):
    """The sum of each group: its noisy sum, clipped to what is possible for the group."""

    text = "noisy sums"
    tail: ClassVar[Tail] = "chebyshev"

    def values(self, noisy: Array, limits: Limits) -> Array:
        return np.asarray(np.clip(noisy, limits.lower, limits.upper))

    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        draws = affordable_draws(len(coordinates.noisy), 1)
        errors = simulate(
            self.values, coordinates.worth, coordinates.parts, coordinates.units, coordinates.limits, draws
        )
        # Noise that nothing clamps has the variance 2 λ²; at a bound half of it is clamped away.
        scale = float(coordinates.parts[0].spread * coordinates.units[0])
        alike = np.ones(len(coordinates.noisy))
        return errors, (math.sqrt(2) * scale * alike, scale / 2 * alike)

    def room(self, values: Array) -> Array | None:
        return np.asarray(1e-9 * np.abs(values))

    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        cells = len(situation.units)
        ((low, high),) = situation.columns.tolist()
        span = plausible.span(situation.plausible if not isinstance(situation.plausible, Mapping) else None, low, high)
        each = situation.known_size() / cells * (span[0] + span[1]) / 2
        return tuple(Fraction(each) / unit for unit in situation.units)


@dataclass(frozen=True, slots=True)
class SpreadOfSums(Simulated):
    """The variance of each cell, or with ``root`` the standard deviation."""

    root: bool = False

    of_sums = True
    tail: ClassVar[Tail] = "bounds"

    @property
    def text(self) -> str:
        return f"{'standard deviation' if self.root else 'variance'} from noisy sums and count"

    def values(self, noisy: Array, limits: Limits) -> Array:
        cells = _cells(noisy, len(limits.columns), products=True)
        counts, centred = scatter(cells, _halves(limits))
        raw = (centred / (counts - 1))[..., 0]
        variances = np.clip(raw, 0.0, limits.upper**2 if self.root else limits.upper)
        return np.asarray(np.sqrt(variances) if self.root else variances)

    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        draws = affordable_draws(len(coordinates.noisy), len(coordinates.limits.columns))
        errors = simulate(
            self.values, coordinates.worth, coordinates.parts, coordinates.units, coordinates.limits, draws
        )
        return errors, _widths(coordinates)

    def room(self, values: Array) -> Array | None:
        return np.asarray(1e-9 * np.abs(values))

    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        truth = self.find_truths(situation).typical
        return plausible.sums(situation, truth.means, truth.matrix, truth.sizes)

    def find_truths(self, situation: Situation) -> Truths:
        return find_truths(situation, "spread" if self.root else "squared spread")


@dataclass(frozen=True, slots=True)
class MatrixOfSums(Simulated):
    """A covariance matrix; ``pooled`` within groups, with ``unit`` the correlation matrix."""

    repair: str = field()
    unit: bool = False
    pooled: bool = False

    of_sums = True
    tail: ClassVar[Tail] = "bounds"

    @property
    def text(self) -> str:
        what = "correlations" if self.unit else "covariances"
        return f"pooled {what} from noisy sums and counts" if self.pooled else f"{what} from noisy sums and count"

    def values(self, noisy: Array, limits: Limits) -> Array:
        cells = _cells(noisy, len(limits.columns), products=True)
        if self.weighs_noise:
            return correlations_of(cells[..., 0, :], limits.noise, self.repair)
        if self.pooled:
            centred, free = pooled_scatter(cells, _halves(limits))
        else:
            counts, centred = scatter(cells[..., 0, :], _halves(limits))
            free = counts - 1
        full = symmetric(centred / free)
        if self.unit:
            return possible(full, self.repair, unit=True)
        return possible(np.clip(full, limits.lower, limits.upper), self.repair)

    @property
    def weighs_noise(self) -> bool:
        return self.unit and not self.pooled

    def error(self, coordinates: Coordinates) -> Error:
        if coordinates.limits.noise is None:
            return Simulated.error(self, coordinates)
        # The truth is taken to be what was released, and not the noisy correlation behind it. The error is at least the
        # uncertainty, since a number that noise decided is near 0 wherever the truth lies.
        truth = settle(coordinates.worth, coordinates.limits.noise, self.values(coordinates.worth, coordinates.limits))
        error = Simulated.error(self, with_coordinates(coordinates, truth))
        return at_least(error, posterior_deviations(coordinates.worth, coordinates.limits.noise))

    def covariances(self) -> "MatrixOfSums":
        """The same sums as covariances. No repair changes variances; this one takes no time."""
        return MatrixOfSums("clip", pooled=self.pooled)

    def undetermined(self, noisy: Array, limits: Limits) -> list[bool] | None:
        return zero_variances(self.covariances().values(noisy, limits)) if self.unit else None

    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        draws = affordable_matrices(len(coordinates.noisy), len(coordinates.limits.columns), self.repair)
        errors = simulate(
            self.values, coordinates.worth, coordinates.parts, coordinates.units, coordinates.limits, draws
        )
        if not self.unit:
            return errors, _widths(coordinates)
        width = 2 * (1 - np.eye(len(coordinates.limits.columns))).ravel()
        return errors, (width, width)

    def room(self, values: Array) -> Array | None:
        return matrix_room(values, self.repair) if values.ndim == 2 else np.asarray(1e-9 * np.abs(values))

    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        truth = self.find_truths(situation).typical
        return plausible.sums(situation, truth.means, truth.matrix, truth.sizes)

    def find_truths(self, situation: Situation) -> Truths:
        return find_truths(situation, "matrix", pooled=self.pooled, of_correlations=self.unit)


def _widths(coordinates: Coordinates) -> tuple[Array, Array]:
    """At worst, values are off by the width of their bounds: a group may be empty, and a variance almost 0."""
    width = coordinates.limits.upper - coordinates.limits.lower
    return width, width
