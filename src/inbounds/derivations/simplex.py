"""Shares that sum to one, and counts that sum to the public number of rows; see `inbounds.repairs.simplex`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from inbounds._check import Array
from inbounds.derivations import plausible
from inbounds.derivations.base import Coordinates, Limits, Simulated, Situation, Tail
from inbounds.expected import Error, affordable_counts, noise_length, simulate, simulated_error
from inbounds.repairs import simplex
from inbounds.repairs import tree as trees


class OnSimplex(Simulated):
    """A base class for vectors with a given sum, whose errors are simulated and limited by the bounds."""

    __slots__ = ()

    tail: ClassVar[Tail] = "bounds"
    on_simplex: ClassVar[bool] = True

    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        return self._simulate_within(coordinates, math.inf)

    def _simulate_within(
        self, coordinates: Coordinates, farthest: float, draws: int | None = None
    ) -> tuple[Array, tuple[Array, Array]]:
        """Simulated errors; at worst no larger than the bounds are wide, nor than ``farthest``."""
        errors = simulate(
            self.values, self.released(coordinates), coordinates.parts, coordinates.units, coordinates.limits, draws
        )
        width = float(coordinates.limits.upper[0] - coordinates.limits.lower[0])
        worst = np.full(errors.shape[-1], min(width, farthest))
        return errors, (worst, worst)

    def released(self, coordinates: Coordinates) -> Array:
        """Where the truth is assumed to lie: at the coordinates as they were drawn."""
        return coordinates.worth

    def room(self, values: Array) -> Array | None:
        """Shares are what the others leave of one, so rounding is relative to one."""
        return np.asarray(1e-9 * np.abs(values) + 1e-12)

    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        return plausible.counts(plausible.shares(situation) * situation.known_size())


@dataclass(frozen=True, slots=True)
class Rescaled(OnSimplex):
    """Noisy shares divided by their sum, or counts divided by theirs if the number of records is protected."""

    counts: bool = False

    @property
    def over_sum(self) -> bool:
        return self.counts

    @property
    def keeps_numbers(self) -> bool:
        return not self.counts

    @property
    def text(self) -> str:
        return "noisy counts over their sum" if self.counts else "rescaled to sum to one"

    def values(self, noisy: Array, limits: Limits) -> Array:
        return simplex.rescale(noisy)


@dataclass(frozen=True, slots=True)
class Projected(OnSimplex):
    """The nearest vector that sums to one."""

    text = "projected onto the simplex"
    keeps_numbers = True
    tail: ClassVar[Tail] = "chebyshev"

    def values(self, noisy: Array, limits: Limits) -> Array:
        return simplex.project(noisy)

    def released(self, coordinates: Coordinates) -> Array:
        # Apart from noise, coordinates are what is published, and the truth is a possible value, as that is.
        return self.values(coordinates.worth, coordinates.limits)

    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        # The truth lies on the simplex too: the projection is no further from it than the noise was.
        return self._simulate_within(coordinates, noise_length(coordinates.parts, coordinates.units))


@dataclass(frozen=True, slots=True)
class NearestCounts(OnSimplex):
    """The nearest whole numbers that add up to the public number of rows."""

    text = "nearest counts with the public sum"
    keeps_numbers = True
    tail: ClassVar[Tail] = "chebyshev"

    def values(self, noisy: Array, limits: Limits) -> Array:
        return simplex.whole(noisy, int(limits.upper[0]))

    def released(self, coordinates: Coordinates) -> Array:
        # Apart from noise, coordinates are what is published, and the truth is a possible value, as that is.
        return self.values(coordinates.worth, coordinates.limits)

    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        # The projection is no further from the truth than the noise was. Whole counts all have the same remainder f, so
        # rounding moves K of them by at most √(K f(1 - f)) ≤ √K/2; and the nearest counts are at most twice as far.
        length = noise_length(coordinates.parts, coordinates.units)
        cells = len(coordinates.noisy)
        return self._simulate_within(
            coordinates, min(2 * length, length + math.sqrt(cells) / 2), affordable_counts(cells)
        )

    def error(self, coordinates: Coordinates) -> Error:
        error = simulated_error(*self.simulate(coordinates))
        if len(coordinates.noisy) == 1:
            return error
        # Cells with the same count have the same law, and so do all cells that noise does not bring close to 0: their
        # draws are combined.
        far = 20 * float(coordinates.parts[0].spread)
        cells = np.unique(np.minimum(self.released(coordinates), far), return_inverse=True)[1].ravel()
        sizes = np.bincount(cells)
        squares, bias = (np.bincount(cells, x) / sizes for x in (np.square(error.rmse), error.bias))
        return replace(error, rmse=np.sqrt(squares)[cells], bias=bias[cells])

    def room(self, values: Array) -> Array | None:
        return None


@dataclass(frozen=True, slots=True)
class AllButOne(OnSimplex):
    """The share at ``place`` is 1 minus the others."""

    place: int

    text = "one share is what the others leave of one"

    @property
    def derived(self) -> int:
        return self.place

    def values(self, noisy: Array, limits: Limits) -> Array:
        return simplex.all_but_one(np.insert(noisy, self.place, 0.0, axis=-1), self.place)

    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        return plausible.counts(np.delete(plausible.shares(situation) * situation.known_size(), self.place))


@dataclass(frozen=True, slots=True)
class FromTree(OnSimplex):
    """Shares of groups and of their members, made to agree; or, with ``whole``, counts.

    ``variances`` are those of the noise of each level of the tree; empty if they are equal.
    """

    tree: trees.Tree
    variances: tuple[float, ...] = ()
    whole: bool = False

    @property
    def depths(self) -> tuple[int, ...]:
        return self.tree.depths

    @property
    def leaves(self) -> Sequence[int]:
        return trees.leaf_nodes(self.tree)

    @property
    def text(self) -> str:
        return f"{'counts' if self.whole else 'shares'} of groups and members made to agree"

    def values(self, noisy: Array, limits: Limits) -> Array:
        leaves = trees.leaves_of(self.tree, self._reconcile(noisy, limits))
        return simplex.round_sums(leaves, int(limits.upper[0])) if self.whole else leaves

    def _reconcile(self, noisy: Array, limits: Limits) -> Array:
        return trees.consistent(self.tree, noisy, float(limits.upper[0]), variances=self.variances)

    def released(self, coordinates: Coordinates) -> Array:
        # Coordinates that agree, as the true ones do.
        return self._reconcile(coordinates.worth, coordinates.limits)

    def room(self, values: Array) -> Array | None:
        return None if self.whole else OnSimplex.room(self, values)

    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        counts = plausible.shares(situation) * situation.known_size()
        return plausible.counts(np.array([counts[list(leaves)].sum() for leaves in self.tree.leaves]))
