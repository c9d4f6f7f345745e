"""Points that are read from noisy counts of the cells of a grid: several quantiles of a public number of records."""

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from inbounds._check import Array
from inbounds.derivations.base import Coordinates, Limits, Situation
from inbounds.derivations.columns import Points
from inbounds.expected import affordable_counts
from inbounds.expected.noise import draw_zero_sum
from inbounds.expected.quantiles import Spread
from inbounds.grid.geometric import Integers
from inbounds.privacy.certificate import Certificate
from inbounds.repairs import simplex

# Whole numbers up to here are exact in double precision.
_EXACT = 1 << 53


@dataclass(frozen=True, slots=True)
class PointsOfCounts(Points):
    """The points that have the ranks of some increasing ``shares``, from noisy counts of cells that cover a grid.

    The grid has points at distances of ``step`` from ``origin`` on. Cell i has those from ``firsts[i]`` up to, and
    without, ``firsts[i+1]``. Negative counts are replaced by the likeliest ones that add up to ``rows``, and the
    records of a cell are assumed to lie evenly on its points.
    """

    shares: tuple[Fraction, ...]
    rows: int = field()
    firsts: tuple[int, ...]
    origin: Fraction
    step: Fraction

    text = "points read from noisy counts"

    @property
    def as_counted(self) -> "PointsOfCounts":
        return self

    @property
    def ranks(self) -> tuple[int, ...]:
        """The rank of each quantile: it is the least point with so many records at or below it."""
        return tuple(ceil(share * self.rows) for share in self.shares)

    @property
    def edges(self) -> Array:
        """The ends of the cells, halfway between two points, in the column's own numbers; the bounds at the ends."""
        return np.array([float(self.origin + self.step * x) for x in self._halfway()])

    def _halfway(self) -> list[Fraction]:
        last = self.firsts[-1] - 1
        return [Fraction(0), *(Fraction(2 * first - 1, 2) for first in self.firsts[1:-1]), Fraction(last)]

    def values(self, noisy: Array, limits: Limits) -> Array:
        return self.values_of(self.read_points(self.repair_counts(noisy)))

    def repair_counts(self, noisy: Array) -> Array:
        """The likeliest counts that add up to the number of records."""
        return simplex.likeliest(noisy, self.rows)

    # claim:points-of-counts
    def read_points(self, counts: Array) -> Integers:
        """The point of each share, from whole counts that add up to the number of records.

        Record r of the c records of a cell lies on the point at the part (2r-1)/(2c) of its points. Everything is
        computed in integers, so it is the same on every machine; a larger rank never has a smaller point.
        """
        whole = counts.astype(np.int64).reshape(-1, counts.shape[-1])
        sums = np.cumsum(whole, axis=1)
        sizes, points = np.diff(self.firsts), np.empty((len(whole), len(self.shares)), np.int64)
        row = np.arange(len(whole))
        for place, rank in enumerate(self.ranks):
            cell = (sums < rank).sum(axis=1)
            inside = whole[row, cell]
            rank_inside = rank - (sums[row, cell] - inside)
            points[:, place] = np.array(self.firsts)[cell] + (2 * rank_inside - 1) * sizes[cell] // (2 * inside)
        return points.reshape(*counts.shape[:-1], -1)

    def values_of(self, points: Integers) -> Array:
        """Points in the column's own numbers, rounded once."""
        under = self.origin.denominator * self.step.denominator
        first, each = int(self.origin * under), int(self.step * under)
        if max(abs(first), abs(first + each * self.firsts[-1]), under) < _EXACT:
            return np.asarray((first + each * points) / under, np.float64)
        distinct = np.unique(points)
        exact = np.array([float(self.origin + self.step * int(point)) for point in distinct])
        return np.asarray(exact[np.searchsorted(distinct, points)])

    def values_of_all(self, coordinates: Coordinates) -> Array:
        """The points of all shares."""
        return self.values(coordinates.worth, coordinates.limits)

    def ends(self, columns: Array) -> tuple[float, float]:
        return float(columns[0][0]), float(columns[0][-1])

    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        """Errors if the records of each cell are spread evenly over it; at worst, the width of the bounds."""
        sums = np.concatenate([[0.0], np.cumsum(self.repair_counts(coordinates.worth))]) / self.rows
        errors = self.errors_for(Spread.through(self.edges, sums), coordinates.certificate, self.rows)
        width = np.full(errors.shape[1], self.edges[-1] - self.edges[0])
        return errors, (width, width)

    def errors_for(self, law: Spread, certificate: Any, size: int | None, draws: int | None = None) -> Array:
        """Simulated errors of the points of records with that law; a row for each draw.

        The records in a cell are a sample: with c records, the rank at its part p is off by √(c p (1 - p)).
        """
        assert isinstance(certificate, Certificate)
        cells, rng = len(self.firsts) - 1, np.random.default_rng(0)
        counts = np.diff(np.concatenate([[0.0], law.rank(self.edges[1:-1]), [1.0]])) * self.rows
        noise = draw_zero_sum(cells, float(certificate.spread), rng, draws or affordable_counts(cells))
        shares = np.array([float(share) for share in self.shares])
        sums = np.cumsum(counts) / self.rows
        cell = np.minimum(np.searchsorted(sums, shares), cells - 1)
        inside = np.maximum(counts[cell], 1.0)
        part = np.clip(1 - (sums[cell] - shares) * self.rows / inside, 0.0, 1.0)
        widths = (np.diff(self.firsts) - 1)[cell] * float(self.step)
        uneven = np.sqrt(part * (1 - part) / inside) * widths * rng.standard_normal((len(noise), len(shares)))
        points = self.values_of(self.read_points(self.repair_counts(counts + noise)))
        return np.asarray(points - law.at(shares) + uneven)

    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        """The counts of nearly normal records."""
        law = self.spread_of(self.find_truths(situation).typical, situation)
        sums = np.concatenate([[0.0], law.rank(self.edges[1:-1]), [1.0]]) * self.rows
        return tuple(Fraction(int(count)) for count in np.diff(np.rint(sums)))
