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

from dataclasses import dataclass

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
_LEAST = 2
# How much entries are raised: this over the part of the variance that is due to sampling.
_RAISED = 4e-6
# Newton's steps: from the critical value of a normal law, and from those of the mean before.
_FAR, _NEAR = 12, 2


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Noisy sums of many groups with the same noise, as `Noisy` has them of one."""

    counts: Array
    totals: Array
    squares: Array
    noise: Array
    off: float

    def __len__(self) -> int:
        return len(self.counts)

    def one(self, place: int) -> Noisy:
        """The noisy sums of one of the groups."""
        return Noisy(
            float(self.counts[place]), float(self.totals[place]), float(self.squares[place]), self.noise, self.off
        )

    def some(self, places: Array) -> "Groups":
        """The noisy sums of some of the groups."""
        return Groups(self.counts[places], self.totals[places], self.squares[places], self.noise, self.off)

    def centres(self) -> Array:
        """The mean of each group, or 0 without records."""
        means = np.divide(self.totals, self.counts, out=np.zeros(len(self)), where=self.counts > 0)
        return np.clip(means, -1.0, 1.0)

    def scores(self, means: Array, alpha: float) -> tuple[Array, Array]:
        """How far the score of each mean is from 0, and the standard deviation of its sampling error."""
        score = self.totals - means * self.counts
        spread = self.squares - 2 * means * self.totals + means**2 * self.counts
        reach = np.where(score > 0, 1 + means, 1 - means)
        spread = np.maximum(spread, 0.0) + OF_SQUARES * self.off + rare(alpha) * reach**2
        return np.abs(score), np.sqrt(spread)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Critical values in units of √(σ² + v): a row for each mean, a column for each angle from the smallest on."""

    entries: Array
    # The variance of the noise of the score is a + b m + c m².
    variance: tuple[float, float, float]

    @classmethod
    def of(cls, noise: Array, alpha: float) -> "Table":
        """The table for draws of the noise of the number and of Σu."""
        products = noise.T @ noise / len(noise)
        variance = float(products[1, 1]), -2 * float(products[0, 1]), float(products[0, 0])
        angles = np.arange(_LEAST, _ANGLES + 1) * (np.pi / 2 / _ANGLES)
        values, rows = np.full(len(angles), scipy.special.ndtri(1 - alpha / 2)), []
        for mean in np.linspace(-1.0, 1.0, _MEANS + 1):
            sizes = np.abs(noise[:, 1] - mean * noise[:, 0]) / np.sqrt(_at(variance, mean))
            values = _find_critical(*_put_on_lattice(sizes), angles, alpha / 2, values, _NEAR if rows else _FAR)
            rows.append(values)
        return cls(np.array(rows) * (1 + _RAISED / np.sin(angles) ** 2), variance)

    def angles(self, means: Array, deviations: Array) -> Array:
        """The angle of each mean and standard deviation, in steps."""
        steps = np.arctan2(deviations, np.sqrt(_at(self.variance, means))) / (np.pi / 2 / _ANGLES)
        return np.asarray(steps)

    def units(self, means: Array, deviations: Array) -> Array:
        """The units of the entries."""
        return np.asarray(np.sqrt(deviations**2 + _at(self.variance, means)))

    def critical(self, means: Array, deviations: Array) -> Array:
        """The largest score that is kept, at each mean."""
        across, across_weights = _interpolate((means + 1) * (_MEANS / 2), self.entries.shape[0])
        along, along_weights = _interpolate(self.angles(means, deviations) - _LEAST, self.entries.shape[1])
        flat, width = self.entries.ravel(), self.entries.shape[1]
        found = np.zeros(len(means))
        for i in range(4):
            line = flat[(across + i) * width + along] * along_weights[0]
            for j in range(1, 4):
                line += flat[(across + i) * width + along + j] * along_weights[j]
            found += across_weights[i] * line
        return found * self.units(means, deviations)


def _at(variance: tuple[float, float, float], mean: Array) -> Array:
    return variance[0] + mean * (variance[1] + mean * variance[2])


def _cubic(t: Array) -> tuple[Array, Array, Array, Array]:
    """The weights of the points 0, 1, 2 and 3 in the cubic through them, at t."""
    a, b, c = t - 1, t - 2, t - 3
    return -a * b * c / 6, t * b * c / 2, -t * a * c / 2, t * a * b / 6


def _interpolate(places: Array, size: int) -> tuple[Array, tuple[Array, Array, Array, Array]]:
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
    return (np.arange(_LATTICE) - 1.0) * step, np.asarray(mass) / len(sizes)


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


def limits_of_groups(groups: Groups, alpha: float) -> tuple[Array, Array]:
    """claim:score-of-groups. The smallest and the largest mean in [-1, 1] that is kept, for each group."""
    table, centres = Table.of(groups.noise, alpha), groups.centres()
    kept = _excess(table, groups, centres, alpha) >= 0
    # Without records, or with a larger sum than they can have, only the nearest mean is left.
    lower, upper = (np.where(groups.counts > 0, centres, end) for end in (-1.0, 1.0))
    places = np.flatnonzero(kept)
    inner = groups.some(places)
    lower[places] = _outermost(table, inner, -1.0, centres[places], alpha)
    upper[places] = _outermost(table, inner, 1.0, centres[places], alpha)
    for place in np.flatnonzero(_is_rough(table, groups, (lower, centres, upper), alpha)):
        lower[place], upper[place] = limits_of_draws(groups.one(int(place)), alpha)
    return lower, upper


def _is_rough(table: Table, groups: Groups, means: tuple[Array, ...], alpha: float) -> Array:
    """Whether a group has less sampling error than the table, at any of some means."""
    angles = [table.angles(some, groups.scores(some, alpha)[1]) for some in means]
    return np.min(angles, axis=0) < _LEAST


def _excess(table: Table, groups: Groups, means: Array, alpha: float) -> Array:
    """How far the critical value is above the score, where that decides; otherwise a number of the same sign."""
    score, deviation = groups.scores(means, alpha)
    return table.critical(means, deviation) - score


def _outermost(table: Table, groups: Groups, end: float, centres: Array, alpha: float) -> Array:
    """The mean nearest to an end of the bounds that is kept, rounded outwards: the first of some, then a root."""
    least, most = float(table.entries.min()), float(table.entries.max())
    first, steps = np.full(len(groups), GRID - 1), (centres - end) / (GRID - 1)
    left = np.arange(len(groups))
    for i in range(GRID - 1):
        some, means = groups.some(left), end + i * steps[left]
        score, deviation = some.scores(means, alpha)
        unit = table.units(means, deviation)
        kept = score <= least * unit
        close = np.flatnonzero(~kept & (score <= most * unit))
        kept[close] = table.critical(means[close], deviation[close]) >= score[close]
        first[left[kept]] = i
        left = left[~kept]
    limits = np.full(len(groups), end)
    inside = np.flatnonzero(first > 0)
    some, outer = groups.some(inside), end + (first[inside] - 1) * steps[inside]
    inner = np.where(first[inside] == GRID - 1, centres[inside], outer + steps[inside])
    low, high = np.minimum(outer, inner), np.maximum(outer, inner)
    below, above = bracket_roots(
        lambda means, places: _excess(table, some.some(places), means, alpha), low, high, WIDTH * (high - low)
    )
    limits[inside] = below if end < 0 else above
    return limits
