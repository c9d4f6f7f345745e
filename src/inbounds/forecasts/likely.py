"""Errors at many plausible truths that are equally likely: what holds for most columns, and not for a typical one."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from inbounds._check import Array
from inbounds.derivations import Direct, OnSimplex, Points
from inbounds.derivations.likely_truths import list_likely
from inbounds.expected import affordable_matrices
from inbounds.forecasts.choices import figures_of_truth
from inbounds.forecasts.figures import one_figure
from inbounds.forecasts.forecast import at_plausible_truth, errors_at, errors_over_span, forecast_errors, is_one_number
from inbounds.forecasts.wanted import Wanted
from inbounds.record.release import Release

# The share of plausible truths for which an error must hold.
MOST = 0.9
# The number of truths; fewer where each takes long.
_TRUTHS, _FEW = 50, 10
# How often noise is drawn at each of few truths, and at all of them; how many numbers are drawn together.
_DRAWS, _LEAST_DRAWS, _NUMBERS = 4000, 50, 400_000
_ROUGHLY = 10
_OF_POINTS = 400
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
    find_again: Callable[[Array], Array] | None = None

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

    def _find(self, share: float) -> tuple[Array, int]:
        """The order of the truths by their errors, and the place in it up to which there is this share of them."""
        order = np.argsort(self.figures, kind="stable")
        sums = np.cumsum((np.ones(len(order)) if self.weights is None else self.weights)[order])
        return order, int(np.searchsorted(sums, share * sums[-1] * (1 - 1e-9)))


def find_errors(
    wanted: Wanted, record: Release | None = None, *, half_width: bool = True, corners: bool = False
) -> Errors:
    """claim:errors-of-most. The half-width of a release, or its RMSE, at plausible truths that are equally likely.

    With ``corners`` the truths at the ends of what is plausible are among them, for the worst case.
    """
    record = wanted.draft().record if record is None else record
    way, situation = record.derivation, record.situation(wanted.guess, wanted.size)
    if isinstance(way, Direct) and record.axes:
        return _of_alike(wanted, record, half_width=half_width)
    truths = way.find_truths(situation)
    slow = isinstance(way, Points | OnSimplex) or getattr(way, "repair", "clip") != "clip"
    likely: list[Any] = [] if truths is None else list(list_likely(truths, _FEW if slow else _TRUTHS))
    if is_one_number(record):
        roots = (
            np.array([truth.matrix[0, 0] for truth in likely]) ** 0.5 if isinstance(way, Direct) and likely else None
        )
        rmse, _, half, weights = errors_over_span(wanted, record, roots)
        return Errors(half if half_width else rmse, weights)
    if isinstance(way, OnSimplex) and wanted.plausible is None:
        likely = _list_shares(math.prod(map(len, situation.labels)))
    if not likely:
        return _of_typical(wanted, record, half_width=half_width)
    if corners and truths is not None:
        likely += truths.corners

    def simulate(places: Array, draws: int) -> Array:
        some = [likely[place] for place in places]
        if isinstance(way, Points):
            each = [figures_of_truth(way, record, situation, truth, wanted.confidence, draws)[[0, 2]] for truth in some]
        else:
            each = [_summarise(errors, wanted.confidence) for errors in errors_at(wanted, record, some, draws)]
        return np.array([_one_figure(rows, record, half_width=half_width) for rows in each])

    draws = _OF_POINTS if isinstance(way, Points) else _count_draws(record)
    if slow:
        return Errors(simulate(np.arange(len(likely)), draws))
    figures = simulate(np.arange(len(likely)), max(draws // _ROUGHLY, _LEAST_DRAWS))
    return Errors(figures, find_again=lambda places: simulate(places, draws))


def find_population_errors(wanted: Wanted) -> Errors:
    """Half of the width of the population interval, if noisy numbers equal a plausible truth; at some of them."""
    record = wanted.draft().record
    truths = record.derivation.find_truths(record.situation(wanted.guess, wanted.size))
    likely = [wanted.guess] if truths is None else list_likely(truths, _FEW)
    return Errors(np.array([_half_width(record, replace(wanted, plausible=truth)) for truth in likely]))


def _half_width(record: Release, wanted: Wanted) -> float:
    """The largest half-width of the population intervals of all numbers."""
    return float(np.max(at_plausible_truth(record, wanted).interval(wanted.confidence).width / 2))


def _of_alike(wanted: Wanted, record: Release, *, half_width: bool) -> Errors:
    """Counts with independent noise: any cell may have any number of records, which changes errors little."""
    forecast = forecast_errors(wanted, record)
    ends = (forecast.reach, forecast.reach_range[1]) if half_width else (forecast.typical, forecast.typical_range[1])
    return Errors(np.array(ends))


def _of_typical(wanted: Wanted, record: Release, *, half_width: bool) -> Errors:
    """The one error of a statistic that does not depend on the truth, or whose truth is stated."""
    forecast = forecast_errors(wanted, record)
    return Errors(np.array([forecast.reach if half_width else forecast.typical]))


def _list_shares(cells: int) -> list[Array]:
    """Shares of cells, from even ones to steep ones."""
    powers = [np.arange(1.0, cells + 1) ** -steepness for steepness in np.linspace(0.0, _STEEPEST, _FEW)]
    return [power / power.sum() for power in powers]


def _count_draws(record: Release) -> int:
    """How often to draw noise at each of few truths."""
    numbers, columns = len(record.units), max(len(record.numeric_ends()), 1)
    affordable = affordable_matrices(numbers, columns, getattr(record.derivation, "repair", "clip"))
    return max(_LEAST_DRAWS, min(_DRAWS, affordable, _NUMBERS // numbers))


def _summarise(errors: Array, level: float) -> Array:
    """The RMSE of each number, and its half-width."""
    return np.stack([np.sqrt((errors**2).mean(axis=0)), np.quantile(np.abs(errors), level, axis=0)])


def _one_figure(rows: Array, record: Release, *, half_width: bool) -> float:
    """One figure for all numbers: the largest half-width, or the root of the mean of squared errors."""
    shape = [len(axis) for axis in record.axes]
    return float(rows[1].max()) if half_width else one_figure(rows[0].reshape(shape) if shape else rows[0])
