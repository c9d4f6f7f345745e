"""Forecast the error of quantiles: simulated for records that are near to normal, with plausible means and spreads."""

from typing import Any

import numpy as np

from inbounds._check import Array
from inbounds.derivations import Points, Situation
from inbounds.derivations.truths import Truth
from inbounds.forecasts.figures import Forecast
from inbounds.record.release import Release

_DRAWS = 100


def forecast_choices(record: Release, seen: Situation, confidence: float) -> Forecast:
    """claim:forecast-quantile. Errors at a typical truth, and their ranges over plausible ones."""
    way = record.derivation
    assert isinstance(way, Points)
    found = way.find_truths(seen)
    typical = _figures(way, record, seen, found.typical, confidence)
    others = [_figures(way, record, seen, truth, confidence, _DRAWS) for truth in found.corners]
    least, most = (pick([typical, *others], axis=0) for pick in (np.min, np.max))
    lower, upper = way.ends(seen.columns)
    shape = [len(axis) for axis in record.axes]

    def shaped(figure: Array) -> Any:
        return figure.reshape(shape) if shape else float(figure[0])

    width = shaped(np.full(typical.shape[1], upper - lower))
    rmse, bias, half = map(shaped, typical)
    return Forecast(
        rmse,
        bias,
        half,
        width,
        width,
        width,
        confidence,
        simulated=True,
        rmse_range=(shaped(least[0]), shaped(most[0])),
        half_width_range=(shaped(least[2]), shaped(most[2])),
        assumed=found.assumed,
    )


def _figures(
    way: Points, record: Release, seen: Situation, truth: Truth, confidence: float, draws: int | None = None
) -> Array:
    """Rows of RMSE, bias and half-width of each number. Groups of one size are simulated once."""
    law, made = way.spread_of(truth, seen), {}
    for size in dict.fromkeys(map(int, truth.sizes)):
        errors = way.errors_for(law, record.certificate, size, *(() if draws is None else (draws,)))
        half = np.quantile(np.abs(errors), confidence, axis=0)
        made[size] = np.array([np.sqrt((errors**2).mean(axis=0)), np.abs(errors.mean(axis=0)), half])
    return np.concatenate([made[int(size)] for size in truth.sizes], axis=1)
