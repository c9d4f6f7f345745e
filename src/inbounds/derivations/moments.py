"""Means, variances and matrices from noisy sums of columns and of their products, of a public number of records.

Coordinates are those of `inbounds.tables.coordinates.MomentSums` without a count: Σu of each column, then Σ(2u² - 1) or
Σ u_i u_j of each pair, with u in [-1, 1]. With h the half-widths, m = Σu/n and z the noise, a covariance is off by
about h_i h_j (z_ij - m_i z_j - m_j z_i)/n, most where means lie at the bounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from inbounds._check import Array
from inbounds.derivations import plausible
from inbounds.derivations.base import Coordinates, Limits, Simulated, Situation, Tail, halves_of
from inbounds.derivations.matrices import at_least, matrix_room, with_coordinates, zero_variances
from inbounds.derivations.truths import Truths, find_truths, of_one_number
from inbounds.expected import Error, affordable_matrices, draw_noise, simulated_error
from inbounds.expected.variances import noise_variances
from inbounds.laws import Laplace, Mechanism
from inbounds.privacy.certificate import Certificate, Composition
from inbounds.repairs.likely import correlations_of, posterior_deviations, settle
from inbounds.repairs.moments import possible, scatter, symmetric

_DRAWS = 4000
# The norm of a mean and its square by themselves; see `inbounds.privacy.norms`.
_OF_MEAN = "mean moments 1"


def _covariances(noisy: Array, limits: Limits, rows: int) -> Array:
    """Upper triangles of sample covariances, each computed from its own noisy numbers."""
    halves = (limits.columns[:, 1] - limits.columns[:, 0]) / 2
    _, centred = scatter(_counted(noisy, rows), halves)
    return np.asarray(centred / (rows - 1))


def _counted(noisy: Array, rows: int) -> Array:
    """Coordinates with the public number of records before them."""
    return np.concatenate([np.full((*noisy.shape[:-1], 1), float(rows)), noisy], axis=-1)


def _means(noisy: Array, limits: Limits, rows: int) -> Array:
    ends = limits.columns
    shares = np.clip(noisy[..., : len(ends)] / rows, -1.0, 1.0)
    return np.asarray(ends.mean(axis=1) + (ends[:, 1] - ends[:, 0]) / 2 * shares)


def _unbiased_covariances(coordinates: Coordinates, rows: int) -> Array:
    """Upper triangles of covariances before they are clamped, without what the noise of means adds to variances."""
    worth, halves = coordinates.worth, halves_of(coordinates.limits)
    size, noise = len(halves), noise_variances(coordinates.parts, coordinates.units, coordinates.places)
    i, j = np.triu_indices(size)
    seconds = np.where(i == j, (worth[size:] + rows) / 2, worth[size:])
    products = worth[i] * worth[j] - np.where(i == j, noise[i], 0.0)
    return np.asarray((seconds - products / rows) * halves[i] * halves[j] / (rows - 1))


def _worst_covariances(coordinates: Coordinates, rows: int, draws: int) -> tuple[Array, Array]:
    """RMSE and bias of upper triangles at worst: all records at one corner of the bounds.

    Signs of columns change neither the noise nor the size of the errors. Clamping brings values nearer to the truth,
    but for a number at its bound (a variance is 0 there) one half of the errors remains, which is bias.
    """
    ends = coordinates.limits.columns
    size, halves = len(ends), (ends[:, 1] - ends[:, 0]) / 2
    noise = draw_noise(coordinates.parts, coordinates.units, np.random.default_rng(0), draws, coordinates.places) / rows
    i, j = np.triu_indices(size)
    second = np.where(i == j, noise[:, size:] / 2, noise[:, size:])
    errors = second - noise[:, i] - noise[:, j] - noise[:, i] * noise[:, j]
    errors = errors * halves[i] * halves[j] * rows / (rows - 1)
    return np.sqrt((errors**2).mean(axis=0)), (np.abs(errors).mean(axis=0) + np.abs(errors.mean(axis=0))) / 2


@dataclass(frozen=True, slots=True)
class SpreadOfMoments(Simulated):
    """A variance, or with ``root`` a standard deviation, of a public number of records."""

    rows: int = field()
    root: bool = False

    of_sums = True
    tail: ClassVar[Tail] = "chebyshev"

    @property
    def text(self) -> str:
        return f"{'standard deviation' if self.root else 'variance'} from noisy moments"

    def values(self, noisy: Array, limits: Limits) -> Array:
        variances = np.clip(_covariances(noisy, limits, self.rows), 0.0, limits.upper**2 if self.root else limits.upper)
        return np.asarray(np.sqrt(variances) if self.root else variances)

    def unbiased(self, coordinates: Coordinates) -> Array | None:
        return None if self.root else _unbiased_covariances(coordinates, self.rows)

    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        errors = coordinates.simulate_errors(self.values)
        rmse, bias = _worst_covariances(coordinates, self.rows, len(errors))
        if self.root:
            # √a - √b is at most √|a - b|, so that its mean square is at most the mean size.
            rmse = bias = np.sqrt(rmse)
        return errors, (np.minimum(rmse, coordinates.limits.upper), np.minimum(bias, coordinates.limits.upper))

    def room(self, values: Array) -> Array | None:
        return np.asarray(1e-9 * np.abs(values))

    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        truth = self.find_truths(situation).typical
        return plausible.moments(situation, truth.means, truth.matrix, float(truth.sizes[0]))

    def find_truths(self, situation: Situation) -> Truths:
        return find_truths(situation, "spread" if self.root else "squared spread")


@dataclass(frozen=True, slots=True)
class MatrixOfMoments(Simulated):
    """A covariance matrix, or with ``unit`` the correlation matrix, of a public number of records."""

    rows: int = field()
    repair: str = field()
    unit: bool = False

    of_sums = True

    @property
    def text(self) -> str:
        return f"{'correlations' if self.unit else 'covariances'} from noisy moments"

    @property
    def tail(self) -> Tail:
        return "bounds" if self.unit else "chebyshev"

    def values(self, noisy: Array, limits: Limits) -> Array:
        if self.unit:
            noise = None if limits.noise is None else np.insert(limits.noise, 0, 0.0)
            return correlations_of(_counted(noisy, self.rows), noise, self.repair)
        full = symmetric(_covariances(noisy, limits, self.rows))
        return possible(np.clip(full, limits.lower, limits.upper), self.repair)

    @property
    def weighs_noise(self) -> bool:
        return self.unit

    def error(self, coordinates: Coordinates) -> Error:
        if coordinates.limits.noise is None:
            return Simulated.error(self, coordinates)
        # The truth is taken to be what was released, and not the noisy correlation behind it. The error is at least the
        # uncertainty, since a number that noise decided is near 0 wherever the truth lies.
        cells, noise = _counted(coordinates.worth, self.rows), np.insert(coordinates.limits.noise, 0, 0.0)
        truth = settle(cells, noise, self.values(coordinates.worth, coordinates.limits))
        error = Simulated.error(self, with_coordinates(coordinates, truth[1:]))
        return at_least(error, posterior_deviations(cells, noise))

    def unbiased(self, coordinates: Coordinates) -> Array | None:
        return None if self.unit else symmetric(_unbiased_covariances(coordinates, self.rows))

    def covariances(self) -> "MatrixOfMoments":
        """The same moments as covariances. No repair changes variances; this one takes no time."""
        return MatrixOfMoments(self.rows, "clip")

    def undetermined(self, noisy: Array, limits: Limits) -> list[bool] | None:
        return zero_variances(self.covariances().values(noisy, limits)) if self.unit else None

    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        draws = affordable_matrices(len(coordinates.noisy), len(coordinates.limits.columns), self.repair)
        errors = coordinates.simulate_errors(self.values, draws)
        if self.unit:
            width = 2 * (1 - np.eye(len(coordinates.limits.columns))).ravel()
            return errors, (width, width)
        rmse, bias = (symmetric(x) for x in _worst_covariances(coordinates, self.rows, draws))
        # A repair may move one element away from the truth while it moves the matrix towards it.
        simulated = np.sqrt((errors**2).mean(axis=0)), np.abs(errors.mean(axis=0))
        return errors, (np.maximum(rmse, simulated[0]), np.maximum(bias, simulated[1]))

    def room(self, values: Array) -> Array | None:
        return matrix_room(values, self.repair) if values.ndim == 2 else np.asarray(1e-9 * np.abs(values))

    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        truth = self.find_truths(situation).typical
        return plausible.moments(situation, truth.means, truth.matrix, float(truth.sizes[0]))

    def find_truths(self, situation: Situation) -> Truths:
        return find_truths(situation, "matrix", of_correlations=self.unit)


@dataclass(frozen=True, slots=True)
class TableOfMoments(Simulated):
    """Means, and below them the covariance matrix: a table of one row more than it has columns.

    Where records may be added and removed (``rows`` is None), a noisy count comes before the sums.
    """

    rows: int | None = field()
    repair: str = field()

    text = "means and covariances from noisy moments"
    means_above = True
    of_sums = True

    @property
    def tail(self) -> Tail:
        return "bounds" if self.rows is None else "chebyshev"

    def values(self, noisy: Array, limits: Limits) -> Array:
        size = len(limits.columns)
        lower, upper = limits.lower[size:], limits.upper[size:]
        if self.rows is None:
            halves = (limits.columns[:, 1] - limits.columns[:, 0]) / 2
            counts, centred = scatter(noisy, halves)
            means = limits.columns.mean(axis=1) + halves * np.clip(noisy[..., 1 : 1 + size] / counts, -1.0, 1.0)
            full = symmetric(centred / (counts - 1))
        else:
            means = _means(noisy, limits, self.rows)
            full = symmetric(_covariances(noisy, limits, self.rows))
        return np.concatenate([means, possible(np.clip(full, lower, upper), self.repair)], axis=-1)

    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        size = len(coordinates.limits.columns)
        draws = affordable_matrices(len(coordinates.noisy), size, self.repair)
        errors = coordinates.simulate_errors(self.values, draws)
        if self.rows is None:
            width = coordinates.limits.upper - coordinates.limits.lower
            return errors, (width, width)
        halves = (coordinates.limits.columns[:, 1] - coordinates.limits.columns[:, 0]) / 2
        noise = draw_noise(coordinates.parts, coordinates.units, np.random.default_rng(0), draws, coordinates.places)
        noise = noise[:, :size] * halves / self.rows
        rmse, bias = (symmetric(x) for x in _worst_covariances(coordinates, self.rows, draws))
        simulated = np.sqrt((errors**2).mean(axis=0)), np.abs(errors.mean(axis=0))
        # For a mean at its bound, half of the noise is clamped away, and the other half is bias.
        worst_means = np.sqrt((noise**2).mean(axis=0)), np.abs(noise).mean(axis=0) / 2
        worst = [np.concatenate(pair) for pair in zip(worst_means, (rmse, bias), strict=True)]
        return errors, (np.maximum(worst[0], simulated[0]), np.maximum(worst[1], simulated[1]))

    def room(self, values: Array) -> Array | None:
        return np.vstack([1e-9 * np.abs(values[:1]), matrix_room(values[1:], self.repair)])

    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        truth = self.find_truths(situation).typical
        return plausible.moments(situation, truth.means, truth.matrix, float(truth.sizes[0]), counted=self.rows is None)

    def find_truths(self, situation: Situation) -> Truths:
        return find_truths(situation, "matrix")


@dataclass(frozen=True, slots=True)
class MeanOfMoments(Simulated):
    """The mean of a column whose sum was drawn with that of its squares, of a public number of records."""

    rows: int = field()

    text = "mean from noisy moments"
    square = True
    tail: ClassVar[Tail] = "chebyshev"

    def values(self, noisy: Array, limits: Limits) -> Array:
        return _means(noisy, limits, self.rows)

    def error(self, coordinates: Coordinates) -> Error:
        """See `Derivation.error`. Drawn with its square alone, the sum has Laplace noise, so that errors are exact."""
        if not self.knows_error(coordinates.certificate):
            return simulated_error(*self.simulate(coordinates))
        law = self.law(coordinates)
        assert law is not None
        at = float(self.values(coordinates.worth, coordinates.limits)[0])
        worst = float(law.worst_mse()) ** 0.5, float(law.worst_bias())
        return Error(float(law.mse(at)) ** 0.5, float(law.bias(at)), *worst)

    def knows_error(self, certificate: Certificate | Composition) -> bool:
        return isinstance(certificate, Certificate) and certificate.blocks == (_OF_MEAN,)

    def mean_of_sum(self, columns: Array, unit: float) -> tuple[float, float]:
        ((low, high),) = columns.tolist()
        return (low + high) / 2, unit * (high - low) / 2 / self.rows

    def unbiased(self, coordinates: Coordinates) -> Array:
        middle, each = self.mean_of_sum(coordinates.limits.columns, float(coordinates.units[0]))
        return np.array([middle + float(coordinates.noisy[0]) * each])

    def law(self, coordinates: Coordinates) -> Mechanism | None:
        """The law of a mean that was drawn with its square alone: Laplace noise, clamped to the bounds."""
        if not self.knows_error(coordinates.certificate):
            return None
        ((low, high),) = coordinates.limits.columns.tolist()
        scale = float(coordinates.parts[0].spread * coordinates.units[0]) * (high - low) / 2 / self.rows
        return Mechanism(Laplace(scale), "bit", bounds=(low, high))

    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        errors = coordinates.simulate_errors(self.values)
        half = float(coordinates.limits.columns[0, 1] - coordinates.limits.columns[0, 0]) / 2
        return errors, _worst_of_clamped(coordinates, half / self.rows)

    def room(self, values: Array) -> Array | None:
        return np.asarray(1e-9 * np.abs(values))

    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        truth = self.find_truths(situation).typical
        return plausible.moments(situation, truth.means, truth.matrix, float(self.rows))

    def find_truths(self, situation: Situation) -> Truths:
        return find_truths(situation, "centre")


@dataclass(frozen=True, slots=True)
class Clamped(Simulated):
    """One number that was drawn together with others, within its bounds."""

    text = "drawn with others"
    tail: ClassVar[Tail] = "chebyshev"

    def values(self, noisy: Array, limits: Limits) -> Array:
        return np.asarray(np.clip(noisy, limits.lower, limits.upper))

    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        errors = coordinates.simulate_errors(self.values)
        return errors, _worst_of_clamped(coordinates, 1.0)

    def room(self, values: Array) -> Array | None:
        return np.asarray(1e-9 * np.abs(values))

    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        low, high = self._span(situation)
        return (Fraction((low + high) / 2) / situation.units[0],)

    def assume(self, situation: Situation) -> tuple[Sequence[Any], str]:
        return self._span(situation), ""

    def _span(self, situation: Situation) -> tuple[float, float]:
        return plausible.span(
            of_one_number(situation), float(situation.limits.lower[0]), float(situation.limits.upper[0])
        )


def _worst_of_clamped(coordinates: Coordinates, worth: float) -> tuple[Array, Array]:
    """RMSE of the noise that nothing clamps, and bias at a bound, which clamps half of it."""
    noise = (
        draw_noise(coordinates.parts, coordinates.units, np.random.default_rng(0), _DRAWS, coordinates.places)[:, :1]
        * worth
    )
    return np.sqrt((noise**2).mean(axis=0)), np.abs(noise).mean(axis=0) / 2
