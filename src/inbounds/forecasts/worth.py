"""Say before a release how good its numbers will be, by the rule that judges them afterwards."""

import math

import numpy as np

from inbounds._estimates import QUALITIES, Estimate, Quality
from inbounds.forecasts.forecast import Forecast, at_plausible_truth
from inbounds.forecasts.wanted import Wanted
from inbounds.record.release import Release


def judge(wanted: Wanted, record: Release, forecast: Forecast) -> Quality:
    """Judge the expected error of a release by `inbounds._estimates.QUALITY_RULE`.

    Each number is judged at a plausible true value, with the range of 95% of releases as its interval. Of several
    numbers, the middle one counts. If the error may be so large for another plausible value that the release would tell
    nothing, it is not called reliable.

    Parameters
    ----------
    wanted, record, forecast
        The release, its record without numbers, and its forecast.

    Returns
    -------
    {"reliable", "rough", "tells nothing"}
        The judgement.
    """
    size = math.prod(len(axis) for axis in record.axes)
    limits = record.limits()
    ends = np.column_stack([limits.lower, limits.upper])
    # A value that is computed from other numbers has bounds of its own only if it is a correlation.
    if len(ends) != size:
        ends = np.tile([-1.0, 1.0] if record.derivation.unit else [-math.inf, math.inf], (size, 1))
    values = np.ravel(np.asarray(at_plausible_truth(record, wanted).table, float))
    typical, worst = (
        sorted(map(_judge_one, values, np.ravel(half), ends), key=QUALITIES.index)[size // 2]
        for half in (forecast.half_width, forecast.half_width_range[1])
    )
    return "rough" if typical == "reliable" and worst == "tells nothing" else typical


def _judge_one(value: float, half: float, ends: "tuple[float, float]") -> Quality:
    low, high = float(ends[0]), float(ends[1])
    estimate = Estimate(value, max(low, value - half), min(high, value + half), possible=(low, high))
    return estimate.quality or "tells nothing"
