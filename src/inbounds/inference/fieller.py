"""Intervals of the means of many groups from noisy numbers and sums alone, by Fieller's method.

They are the intervals of `inbounds.inference.simulated.mean_limits`, found together. The error of a score there is the
noise of one draw and a normal number times the standard deviation of sampling. Its quantile is a function of the mean
and of that deviation, as in `inbounds.inference.critical`, but it jumps from draw to draw. So a table of it only shows
about where a limit is: limits by entries a little larger and a little smaller lie on either side of it. Between these
two, few of the drawn errors are near the quantile, and the others need not be computed.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from inbounds._check import Array
from inbounds.inference import simulated
from inbounds.inference.critical import Table, find_centres, find_limits, variance_at, variance_of
from inbounds.inference.laws import Noise
from inbounds.inference.roots import bracket_roots

# Fewer groups than this are done one by one: a table takes as long as about so many of them.
MANY = 3000
# The number of steps of the table between the means -1 and 1, and between the angles 0 and π/2.
_MEANS, _ANGLES = 128, 64
# How far an interpolated quantile may be from the true one.
_OFF = 0.02
# A limit is found alone if its two neighbours are farther apart than this, as a part of the distance to the centre.
_FLAT = 0.06
# How far a quantile may be from that of the nearest entry, and how many groups are done at a time.
_NEAR, _BLOCK = 0.05, 512


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Noisy numbers of records and sums of many groups. ``sizes`` are the numbers that decide the sampling error."""

    counts: Array
    totals: Array
    sizes: Array

    def __len__(self) -> int:
        return len(self.counts)

    def some(self, places: Any) -> "Sums":
        """Some of the groups."""
        return Sums(self.counts[places], self.totals[places], self.sizes[places])

    def centres(self) -> Array:
        """The released mean of each group, or 0 without records."""
        return find_centres(self.counts, self.totals)

    def scores(self, means: Array) -> tuple[Array, Array]:
        """How far the score of each mean is from 0, and the standard deviation of its sampling error."""
        deviation = np.sqrt(self.sizes * np.maximum(1 - means**2, 0.0))
        return np.abs(self.totals - means * self.counts), deviation


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """Drawn errors of scores: draws of the noise of the number and of Σu, and normal numbers, if records are sampled.

    ``above`` is how many of the errors lie above the quantile.
    """

    noise: Array
    sampling: Array
    above: int

    def at(self, means: Array, deviations: Array) -> Array:
        """The size of each error, at each mean."""
        noise = self.noise[:, 1] - means[:, None] * self.noise[:, 0]
        return np.abs(noise + deviations[:, None] * self.sampling)

    def quantiles(self, means: Array, deviations: Array) -> Array:
        """The quantile of the size of errors, at each mean."""
        place = len(self.noise) - 1 - self.above
        return np.asarray(np.partition(self.at(means, deviations), place, axis=1)[:, place])

    def near(self, table: Table, means: Array, deviations: Array) -> "Errors":
        """The errors that may be the quantile at any of these means."""
        mean, angle = float(means.mean()), float(table.angles(means, deviations).mean()) * table.step
        unit = float(np.sqrt(variance_at(table.variance, mean)))
        deviation = unit * np.tan(angle)
        away = float(np.abs(means - mean).max()), float(np.abs(deviations - deviation).max())
        middle = np.array([mean]), np.array([deviation])
        distance = self.at(*middle)[0] - self.quantiles(*middle)
        reach = away[0] * np.abs(self.noise[:, 0]) + away[1] * np.abs(self.sampling) + _NEAR * np.hypot(unit, deviation)
        places = np.abs(distance) <= reach
        return Errors(self.noise[places], self.sampling[places], self.above - int(np.sum(distance[~places] > 0)))


# claim:fieller-of-groups
def mean_limits(
    counts: Array, totals: Array, noise: Noise, alpha: float, *, sampled: bool, worth: float
) -> tuple[Array, Array]:
    """Limits for the mean of each group in [-1, 1]."""
    simulated.enough_draws(alpha)
    drawn, sampling = simulated.draw_errors(noise, sampled=sampled, worth=worth)
    errors = Errors(drawn, sampling, math.floor(alpha * len(drawn)))
    sizes = np.maximum(counts, 1.0) + float(np.std(drawn[:, 0])) if sampled else np.zeros(len(counts))
    sums, table = Sums(counts, totals, sizes), _make_table(errors)
    larger, smaller = (replace(table, entries=table.entries * factor) for factor in (1 + _OFF, 1 - _OFF))
    wide, narrow = (find_limits(some, sums, 2, simulated.WIDTH) for some in (larger, smaller))
    # Where both are the same, a limit is an end of the bounds, or there is only one mean.
    lower, upper = (np.array(limits) for limits in wide)
    unclear = np.zeros(len(sums), bool)
    for limits, outer, inner, end in zip((lower, upper), wide, narrow, (-1.0, 1.0), strict=True):
        is_between = outer != inner
        unclear |= is_between & _is_unclear(outer, inner, end, sums.centres())
        places = np.flatnonzero(is_between & ~unclear)
        limits[places] = _find_between(errors, table, sums.some(places), outer[places], inner[places])
    for place in np.flatnonzero(unclear):
        given = float(counts[place]), float(totals[place])
        lower[place], upper[place] = simulated.limits_of_errors(*given, (drawn, sampling), alpha)
    return lower, upper


def _is_unclear(outer: Array, inner: Array, end: float, centres: Array) -> Array:
    """Whether a limit may be an end, or there may be only one mean, or scores are almost the quantile for many."""
    is_flat = np.abs(inner - outer) > _FLAT * np.abs(outer - centres)
    return np.asarray((outer == end) | (inner == centres) | is_flat)


def _make_table(errors: Errors) -> Table:
    """The table of quantiles of the drawn errors."""
    variance = variance_of(errors.noise)
    angles = np.arange(_ANGLES + 1) * (np.pi / 2 / _ANGLES)
    entries = np.empty((_MEANS + 1, len(angles)))
    for row, mean in zip(entries, np.linspace(-1.0, 1.0, _MEANS + 1), strict=True):
        unit = np.sqrt(variance_at(variance, mean))
        noise = errors.noise / unit
        row[:] = np.array(
            [
                Errors(noise * np.cos(angle), errors.sampling * np.sin(angle), errors.above).quantiles(
                    np.array([mean]), np.ones(1)
                )[0]
                for angle in angles
            ]
        )
    return Table(entries, variance)


def _find_between(errors: Errors, table: Table, sums: Sums, outer: Array, inner: Array) -> Array:
    """The limit of each group between two means, rounded outwards: groups with nearly the same errors together."""
    if not len(sums):
        return outer
    limits, middle = np.empty(len(sums)), (outer + inner) / 2
    angles = table.angles(middle, sums.scores(middle)[1])
    boxes = np.rint((middle + 1) / 2 * _MEANS) * (_ANGLES + 1) + np.rint(angles)
    order = np.argsort(boxes, kind="stable")
    changes = np.flatnonzero(np.diff(boxes[order])) + 1
    for box in np.split(order, changes):
        for places in np.split(box, range(_BLOCK, len(box), _BLOCK)):
            limits[places] = _find_near(errors, table, sums.some(places), outer[places], inner[places])
    return limits


def _find_near(errors: Errors, table: Table, sums: Sums, outer: Array, inner: Array) -> Array:
    ends = np.concatenate([outer, inner])
    twice = np.tile(np.arange(len(sums)), 2)
    few = errors.near(table, ends, sums.some(twice).scores(ends)[1])

    def excess(means: Array, places: Array) -> Array:
        score, deviation = sums.some(places).scores(means)
        return few.quantiles(means, deviation) - score

    centres = sums.centres()
    width = simulated.WIDTH * np.abs(np.sign(inner - outer) - centres)
    low, high = np.minimum(outer, inner), np.maximum(outer, inner)
    below, above = bracket_roots(excess, low, high, width)
    return np.where(outer < inner, below, above)
