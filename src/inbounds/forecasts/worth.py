"""Say before a release whether its numbers will be worth publishing."""

import math
from typing import Literal, TypeAlias

import numpy as np

from inbounds._check import Array
from inbounds.forecasts.forecast import Forecast, at_plausible_truth
from inbounds.forecasts.wanted import Wanted
from inbounds.record.release import Release

Worth: TypeAlias = Literal["reliable", "rough", "tells nothing"]
# A number is reliable if 95% of releases are off by at most this part of its yardstick.
RELIABLE = 0.1


def judge(wanted: Wanted, record: Release, forecast: Forecast) -> Worth:
    """Judge the expected error of a release.

    The yardstick of a number is half the width of its bounds, or, for counts, shares, totals and spreads, what it is
    at a plausible true value if that is less. A release is reliable if 95% of releases are off by at most a tenth of
    it, rough up to all of it, and tells nothing beyond. For several numbers it is the one in the middle that counts,
    and where the error depends on the true value the largest plausible one.

    Parameters
    ----------
    wanted, record, forecast
        The release, its record without numbers, and its forecast.

    Returns
    -------
    {"reliable", "rough", "tells nothing"}
        The judgement.
    """
    ratio = float(np.median(np.ravel(forecast.half_width_range[1]) / _find_yardsticks(wanted, record)))
    if ratio <= RELIABLE:
        return "reliable"
    return "rough" if ratio <= 1 else "tells nothing"


def _find_yardsticks(wanted: Wanted, record: Release) -> Array:
    size = math.prod(len(axis) for axis in record.axes)
    limits, traits = record.limits(), record.statistic.traits
    halves = np.asarray(limits.upper - limits.lower) / 2
    if traits.unit_diagonal:
        halves = np.ones(size)
    if traits.meaning != "centre" or len(halves) != size:
        typical = np.abs(np.ravel(np.asarray(at_plausible_truth(record, wanted).table, float)))
        # A value that is computed from other numbers has no bounds of its own here.
        halves = halves if len(halves) == size else np.full(size, typical.max())
        halves = np.where(typical > 0, np.minimum(halves, typical), halves)
    return np.maximum(halves, np.finfo(float).tiny)
