"""Forecast the error of quantiles: simulated for nearly normal records, with plausible means and spreads."""

from typing import Any

import numpy as np

from inbounds._check import Array
from inbounds.derivations import Points, Situation
from inbounds.derivations.truths import Truth
from inbounds.forecasts.figures import Forecast, one_figure
from inbounds.record.release import Release

_DRAWS = 100
# Measured on heaped columns of public tables, at the 95% error of a preview.
HEAPED = (
    "Where many rows share a value, such as rounded ages or amounts, do not rely on the forecast of a quantile: it "
    "held in 36% of the cases that were tried"
)


def warn_of_heaps(record: Release) -> list[str]:
    """A warning for the forecast of a quantile, which assumes that values are spread out; otherwise an empty list."""
    return [f"{HEAPED}."] if record.derivation.as_points is not None else []


# claim:forecast-quantile
def forecast_choices(record: Release, situation: Situation, confidence: float) -> Forecast:
    """Errors at a typical truth, and their ranges over plausible ones."""
    way = _read(record)
    truths = way.find_truths(situation)
    typical = figures_of_truth(way, record, situation, truths.typical, confidence)
    others = [figures_of_truth(way, record, situation, truth, confidence, _DRAWS) for truth in truths.corners]
    least, most = (pick([typical, *others], axis=0) for pick in (np.min, np.max))
    lower, upper = way.ends(situation.columns)
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
        assumed=truths.assumed,
    )


def typical_choice_error(record: Release, situation: Situation) -> float:
    """The typical RMSE of `forecast_choices`, without the figures at other plausible truths."""
    way = _read(record)
    (rmse, _, _) = figures_of_truth(way, record, situation, way.find_truths(situation).typical, 0.5)
    return one_figure(rmse.reshape([len(axis) for axis in record.axes]))


def _read(record: Release) -> Points:
    points = record.derivation.as_points
    assert points is not None
    return points


def figures_of_truth(
    way: Points, record: Release, situation: Situation, truth: Truth, confidence: float, draws: int | None = None
) -> Array:
    """Rows of RMSE, bias and half-width of each number. Groups of one size are simulated once."""
    law, figures = way.spread_of(truth, situation), {}
    for size in dict.fromkeys(map(int, truth.sizes)):
        errors = way.errors_for(law, record.certificate, size, draws)
        half = np.quantile(np.abs(errors), confidence, axis=0)
        figures[size] = np.array([np.sqrt((errors**2).mean(axis=0)), np.abs(errors.mean(axis=0)), half])
    return np.concatenate([figures[int(size)] for size in truth.sizes], axis=1)
