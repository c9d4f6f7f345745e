"""Intervals of the means of many groups at once, from a table of critical values of their score.

All groups of a release have noise of one law. Whether a mean m is kept then depends on m, on the score and on the
standard deviation σ of its sampling error, and on nothing else of the group (`inbounds.inference.score`). So the
critical value, the largest score that is kept, is a function of m and σ. It is computed at the points of a table and
interpolated between them, which takes a thousandth of the time of a critical value.

The table has one row for each of many means, and one column for each of many angles arctan(σ/√v), with v the variance
of the noise of the score at that mean. Its entries are critical values in units of √(σ² + v): numbers near 2 for
intervals of 95%, which change slowly. Draws of the noise are put on a lattice that keeps the first three moments of
each. Every entry is raised by more than interpolation errs, so that no interval is shorter than the one of its group
alone, and none is noticeably longer.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
import scipy

from inbounds._check import Array
from inbounds.inference.roots import bracket_roots
from inbounds.inference.score import GRID, OF_SQUARES, WIDTH, Noisy, limits_of_draws, rare

# Fewer groups than this are done one by one: a table takes as long as about so many of them.
MANY = 32
# The number of steps of the table between the means -1 and 1, and between the angles 0 and π/2.
_MEANS, _ANGLES = 64, 32
# The lattice of the noise: the number of its points.
_LATTICE = 512
# The smallest angle in the table, in steps. With less sampling error than this, the draws of the noise show one by one.
_FIRST = 2
# How much entries are raised: this over the part of the variance that is due to sampling.
_RAISED = 4e-6
# Newton's steps: from the critical value of a normal law, and from those of the mean before.
_FAR, _NEAR = 12, 2


class Cells(Protocol):
    """Many groups, each with its score of every mean."""

    @property
    def counts(self) -> Array: ...
    def __len__(self) -> int: ...
    def some(self, places: Any) -> Self:
        """Some of the groups."""

    def centres(self) -> Array:
        """The mean in [-1, 1] that is kept if any is, for each group."""

    def scores(self, means: Array) -> tuple[Array, Array]:
        """How far the score of each mean is from 0, and the standard deviation of its sampling error."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Noisy sums of many groups with the same noise, as `Noisy` has them of one."""

    counts: Array
    totals: Array
    squares: Array
    noise: Array
    off: float
    alpha: float

    def __len__(self) -> int:
        return len(self.counts)

    def one(self, place: int) -> Noisy:
        """The noisy sums of one of the groups."""
        count, total, squares = (float(x[place]) for x in (self.counts, self.totals, self.squares))
        return Noisy(count, total, squares, self.noise, self.off)

    def some(self, places: Any) -> "Groups":
        """Some of the groups."""
        return replace(self, counts=self.counts[places], totals=self.totals[places], squares=self.squares[places])

    def centres(self) -> Array:
        """The released mean of each group, or 0 without records."""
        return find_centres(self.counts, self.totals)

    def scores(self, means: Array) -> tuple[Array, Array]:
        """How far the score of each mean is from 0, and the standard deviation of its sampling error."""
        score = self.totals - means * self.counts
        spread = self.squares - 2 * means * self.totals + means**2 * self.counts
        reach = np.where(score > 0, 1 + means, 1 - means)
        spread = np.maximum(spread, 0.0) + OF_SQUARES * self.off + rare(self.alpha) * reach**2
        return np.abs(score), np.sqrt(spread)


def find_centres(counts: Array, totals: Array) -> Array:
    """The mean of each group within [-1, 1], or 0 without records."""
    means = np.divide(totals, counts, out=np.zeros(len(counts)), where=counts > 0)
    return np.clip(means, -1.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Critical values in units of √(σ² + v): a row for each mean, a column for each angle from the smallest on.

    ``first`` is the smallest angle, in steps. Below it the entries of the smallest are used.
    """

    entries: Array
    # The variance of the noise of the score is a + b m + c m².
    variance: tuple[float, float, float]
    first: int = 0

    @property
    def step(self) -> float:
        """The distance between two angles."""
        return math.pi / 2 / float(self.entries.shape[1] - 1 + self.first)

    def angles(self, means: Array, deviations: Array) -> Array:
        """The angle of each mean and standard deviation, in steps from the smallest one."""
        angles = np.arctan2(deviations, np.sqrt(variance_at(self.variance, means)))
        return np.asarray(angles / self.step - self.first)

    def units(self, means: Array, deviations: Array) -> Array:
        """The units of the entries."""
        return np.asarray(np.sqrt(deviations**2 + variance_at(self.variance, means)))

    def critical(self, means: Array, deviations: Array) -> Array:
        """The largest score that is kept, at each mean."""
        size, width = self.entries.shape
        across, across_weights = _interpolate((means + 1) / 2 * (size - 1), size)
        along, along_weights = _interpolate(self.angles(means, deviations), width)
        flat, found = self.entries.ravel(), np.zeros(len(means))
        for i, weight in enumerate(across_weights):
            start = (across + i) * width + along
            found += weight * sum(flat[start + j] * along_weights[j] for j in range(4))
        return found * self.units(means, deviations)

    def excess(self, cells: Cells, means: Array) -> Array:
        """How far the critical value is above the score."""
        score, deviation = cells.scores(means)
        return self.critical(means, deviation) - score


def variance_of(noise: Array) -> tuple[float, float, float]:
    """The variance of the noise of the score, from draws of the noise of the number and of Σu."""
    products = noise.T @ noise / len(noise)
    return float(products[1, 1]), -2 * float(products[0, 1]), float(products[0, 0])


def make_table(noise: Array, alpha: float) -> Table:
    """The table of a score with a normal error of sampling, for draws of the noise of the number and of Σu."""
    variance, angles = variance_of(noise), np.arange(_FIRST, _ANGLES + 1.0) * (math.pi / 2 / _ANGLES)
    values, rows = np.full(len(angles), float(scipy.special.ndtri(1 - alpha / 2))), list[Array]()
    for mean in np.linspace(-1.0, 1.0, _MEANS + 1):
        sizes = np.abs(noise[:, 1] - mean * noise[:, 0]) / math.sqrt(variance_at(variance, mean))
        steps = _NEAR if rows else _FAR
        values = _find_critical(*_put_on_lattice(sizes), angles, alpha / 2, values, steps)
        rows.append(values)
    return Table(np.array(rows) * (1 + _RAISED / np.sin(angles) ** 2), variance, _FIRST)


def variance_at(variance: tuple[float, float, float], mean: Any) -> Any:
    """The variance of the noise of the score at a mean."""
    return variance[0] + mean * (variance[1] + mean * variance[2])


def _cubic(t: Array) -> tuple[Array, Array, Array, Array]:
    """The weights of the points 0, 1, 2 and 3 in the cubic through them, at t."""
    a, b, c = t - 1, t - 2, t - 3
    return -a * b * c / 6, t * b * c / 2, -t * a * c / 2, t * a * b / 6


def _interpolate(places: Array, size: int) -> tuple[Any, tuple[Array, Array, Array, Array]]:
    """The first of four points about each place, and their weights. Places beyond the ends are put there."""
    places = np.clip(places, 0.0, size - 1.0)
    first = np.clip(places.astype(np.intp) - 1, 0, size - 4)
    return first, _cubic(places - first)


def _put_on_lattice(sizes: Array) -> tuple[Array, Array]:
    """Points, the first of them below 0, and the weight of the draws at each, which add up to 1."""
    step = float(sizes.max()) / (_LATTICE - 4)
    places = sizes / step
    first = places.astype(np.intp)
    weights = _cubic(places - first + 1)
    mass = sum(np.bincount(first + i, weight, _LATTICE) for i, weight in enumerate(weights))
    return np.arange(-1.0, _LATTICE - 1.0) * step, np.asarray(mass) / len(sizes)


def _find_critical(points: Array, mass: Array, angles: Array, tail: float, start: Array, steps: int) -> Array:
    """The critical value at each angle, by Newton's method for the logarithm of the tail."""
    ndtr, sine, values = scipy.special.ndtr, np.sin(angles), start
    # Noise is symmetric, so both of its signs count.
    noise = np.concatenate([points, -points]) * (np.cos(angles) / sine)[:, None]
    halves = np.tile(mass, 2) / 2
    for _ in range(steps):
        place = noise - (values / sine)[:, None]
        found = ndtr(place) @ halves
        density = np.exp(-(place**2) / 2) @ halves / (np.sqrt(2 * np.pi) * sine)
        values = values + np.log(found / tail) * found / density
    return values


# claim:score-of-groups
def limits_of_groups(groups: Groups) -> tuple[Array, Array]:
    """The smallest and the largest mean in [-1, 1] that is kept, for each group."""
    table = make_table(groups.noise, groups.alpha)
    lower, upper = find_limits(table, groups, GRID, WIDTH)
    means = lower, groups.centres(), upper
    least = np.min([table.angles(some, groups.scores(some)[1]) for some in means], axis=0)
    for place in np.flatnonzero(least < 0):
        lower[place], upper[place] = limits_of_draws(groups.one(int(place)), groups.alpha)
    return lower, upper


def find_limits(table: Table, cells: Cells, grid: int, width: float) -> tuple[Array, Array]:
    """The outermost means that a table keeps. So many means are tried before a root is bracketed this closely."""
    centres = cells.centres()
    places = np.flatnonzero(table.excess(cells, centres) >= 0)
    # Without records, or with a larger sum than they can have, only the nearest mean is left.
    lower, upper = (np.where(cells.counts > 0, centres, end) for end in (-1.0, 1.0))
    for limits, end in ((lower, -1.0), (upper, 1.0)):
        limits[places] = _outermost(table, cells.some(places), end, centres[places], grid, width)
    return lower, upper


def _outermost(table: Table, cells: Cells, end: float, centres: Array, grid: int, width: float) -> Array:
    """The mean nearest to an end of the bounds that is kept, rounded outwards."""
    steps = (centres - end) / (grid - 1)
    first = _find_first(table, cells, end, steps, grid)
    limits, inside = np.full(len(cells), end), np.flatnonzero(first > 0)
    outer = end + (first[inside] - 1) * steps[inside]
    inner = np.where(first[inside] == grid - 1, centres[inside], outer + steps[inside])
    low, high = np.minimum(outer, inner), np.maximum(outer, inner)
    some = cells.some(inside)
    below, above = bracket_roots(
        lambda means, places: table.excess(some.some(places), means), low, high, width * (high - low)
    )
    limits[inside] = below if end < 0 else above
    return limits


def _find_first(table: Table, cells: Cells, end: float, steps: Array, grid: int) -> Any:
    """The first of some means from an end to the centre that is kept. The centre, which is the last one, always is."""
    least, most = float(table.entries.min()), float(table.entries.max())
    first, left = np.full(len(cells), grid - 1), np.arange(len(cells))
    for i in range(grid - 1):
        means = end + i * steps[left]
        score, deviation = cells.some(left).scores(means)
        unit = table.units(means, deviation)
        # Far out and far inside, no critical value has to be interpolated.
        kept = score <= 0.99 * least * unit
        close = np.flatnonzero(~kept & (score <= 1.01 * most * unit))
        kept[close] = table.critical(means[close], deviation[close]) >= score[close]
        first[left[kept]] = i
        left = left[~kept]
    return first
