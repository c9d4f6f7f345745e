"""Errors at many plausible truths that are equally likely: what holds for most columns, and not for a typical one."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from inbounds._check import Array
from inbounds.derivations.likely_truths import list_likely
from inbounds.expected import affordable_matrices
from inbounds.forecasts.choices import figures_of_truth
from inbounds.forecasts.figures import one_figure
from inbounds.forecasts.forecast import at_plausible_truth, errors_at, errors_over_span, forecast_errors, is_one_number
from inbounds.forecasts.wanted import Wanted
from inbounds.record.release import Release

# The share of plausible truths for which an error must hold.
MOST = 0.9
# The number of truths: fewer where each takes long, fewest for quantiles, whose error follows the spread alone.
_TRUTHS, _FEW, _FEWEST = 50, 10, 5
# How often noise is drawn at each of few truths, and at all of them; how many numbers are drawn together.
_DRAWS, _LEAST_DRAWS, _NUMBERS = 4000, 50, 400_000
_ROUGHLY = 10
_OF_POINTS = 200
# Quantiles are simulated for nearly normal records. In flat, heaped and two-peaked columns few records lie around some
# quantile: errors are taken to be twice as large, which holds for nine of ten public columns (without it for eight).
_THIN = 2.0
# Shares of cells are plausibly even, or fall as powers of their rank up to this one.
_STEEPEST = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """The error of a release at plausible truths, in one figure for all its numbers.

    Attributes
    ----------
    figures, weights
        The error at each truth, and the weight of the truth.
    find_again
        Simulates the errors at some of the truths with more draws; None if figures are as exact as they can be.
    """

    figures: Array
    weights: Array | None = None
    find_again: Callable[[Any], Array] | None = None

    @property
    def depend(self) -> bool:
        """Whether the error depends on the truth."""
        return bool(self.figures.max() > 1.05 * self.figures.min())

    def of_share(self, share: float) -> float:
        """The least error that this share of the truths keeps."""
        order, place = self._find(share)
        return float(self.figures[order[place]])

    def of_share_exactly(self, share: float) -> float:
        """The same with more draws, at the truths whose errors are nearest."""
        if self.find_again is None:
            return self.of_share(share)
        order, place = self._find(share)
        first = max(place - _FEW // 2, 0)
        return float(np.sort(self.find_again(order[first : first + _FEW]))[place - first])

    def _find(self, share: float) -> tuple[Any, int]:
        """The order of the truths by their errors, and the place in it up to which there is this share of them."""
        order = np.argsort(self.figures, kind="stable")
        sums = np.cumsum((np.ones(len(order)) if self.weights is None else self.weights)[order])
        return order, int(np.searchsorted(sums, share * sums[-1] * (1 - 1e-9)))


# claim:errors-of-most
def find_errors(
    wanted: Wanted, record: Release | None = None, *, half_width: bool = True, corners: bool = False
) -> Errors:
    """The half-width of a release, or its RMSE, at plausible truths that are equally likely.

    With ``corners`` the truths at the ends of what is plausible are among them, for the worst case.
    """
    record = wanted.draft().record if record is None else record
    if is_one_number(record):
        return _of_one_number(wanted, record, half_width=half_width, corners=corners)
    slow = _is_slow(record)
    count = _FEWEST if record.derivation.as_points is not None else _FEW if slow else _TRUTHS
    truths = _list_truths(wanted, record, count, corners=corners)
    if not truths:
        return _of_typical(wanted, record, half_width=half_width)
    simulate = partial(_simulate, wanted, record, half_width=half_width)
    draws = _count_draws(record)
    if slow:
        return Errors(simulate(truths, draws))
    rough = simulate(truths, max(draws // _ROUGHLY, _LEAST_DRAWS))
    return Errors(rough, find_again=lambda places: simulate([truths[place] for place in places], draws))


def _is_slow(record: Release) -> bool:
    """Whether errors at one truth take long: quantiles, counts that add up, and repairs in steps."""
    way = record.derivation
    return way.as_points is not None or way.on_simplex or way.repair != "clip"


def _list_truths(wanted: Wanted, record: Release, count: int, *, corners: bool) -> list[Any]:
    """Plausible truths; none if the error does not depend on them, or the one truth is stated."""
    way, situation = record.derivation, record.situation(wanted.guess, wanted.size)
    if way.on_simplex and wanted.plausible is None:
        return _list_shares(math.prod(map(len, situation.labels)))
    truths = way.find_truths(situation)
    if truths is None:
        return []
    return [*list_likely(truths, count), *(truths.corners if corners else ())]


def _simulate(wanted: Wanted, record: Release, truths: Sequence[Any], draws: int, *, half_width: bool) -> Array:
    """One figure of the error at each truth."""
    way, level = record.derivation.as_points, wanted.confidence
    if way is not None:
        situation = record.situation(wanted.guess, wanted.size)
        each = [_THIN * figures_of_truth(way, record, situation, truth, level, draws)[[0, 2]] for truth in truths]
    else:
        each = [_summarise(errors, level) for errors in errors_at(wanted, record, truths, draws)]
    return np.array([_one_figure(rows, record, half_width=half_width) for rows in each])


def _of_one_number(wanted: Wanted, record: Release, *, half_width: bool, corners: bool) -> Errors:
    """Errors of one number with a law of its own, over its plausible range; of a root, at plausible spreads."""
    roots = None
    if record.derivation.single:
        spreads = [truth.matrix[0, 0] for truth in _list_truths(wanted, record, _TRUTHS, corners=corners)]
        roots = np.sqrt(spreads) if spreads else None
    rmse, _, half, weights = errors_over_span(wanted, record, roots)
    return Errors(half if half_width else rmse, weights)


def find_population_errors(wanted: Wanted) -> Errors:
    """Half of the width of the population interval, if noisy numbers equal a plausible truth; at some of them."""
    record = wanted.draft().record
    truths = record.derivation.find_truths(record.situation(wanted.guess, wanted.size))
    likely = [wanted.guess] if truths is None else list_likely(truths, _FEW)
    return Errors(np.array([_half_width(record, replace(wanted, plausible=truth)) for truth in likely]))


def _half_width(record: Release, wanted: Wanted) -> float:
    """The largest half-width of the population intervals of all numbers."""
    return float(np.max(at_plausible_truth(record, wanted).interval(wanted.confidence).width / 2))


def _of_typical(wanted: Wanted, record: Release, *, half_width: bool) -> Errors:
    """The error of a statistic that does not depend on the truth, or whose truth is stated.

    Counts with independent noise have a range: any cell may have any number of records, which changes errors little.
    """
    forecast = forecast_errors(wanted, record)
    ends = (forecast.reach, *forecast.reach_range) if half_width else (forecast.typical, *forecast.typical_range)
    return Errors(np.array([ends[0], ends[2]] if record.derivation.single else ends[:1]))


def _list_shares(cells: int) -> list[Array]:
    """Shares of cells, from even ones to steep ones."""
    powers = [np.arange(1.0, cells + 1) ** -steepness for steepness in np.linspace(0.0, _STEEPEST, _FEW)]
    return [power / power.sum() for power in powers]


def _count_draws(record: Release) -> int:
    """How often to draw noise at each of few truths."""
    if record.derivation.as_points is not None:
        return _OF_POINTS
    numbers, columns = len(record.units), max(len(record.numeric_ends()), 1)
    affordable = affordable_matrices(numbers, columns, record.derivation.repair)
    return max(_LEAST_DRAWS, min(_DRAWS, affordable, _NUMBERS // numbers))


def _summarise(errors: Array, level: float) -> Array:
    """The RMSE of each number, and its half-width."""
    return np.stack([np.sqrt((errors**2).mean(axis=0)), np.quantile(np.abs(errors), level, axis=0)])


def _one_figure(rows: Array, record: Release, *, half_width: bool) -> float:
    """One figure for all numbers: the largest half-width, or the root of the mean of squared errors."""
    shape = [len(axis) for axis in record.axes]
    return float(rows[1].max()) if half_width else one_figure(rows[0].reshape(shape) if shape else rows[0])
