"""What is expected of a release, in figures."""

from dataclasses import dataclass

import numpy as np

from inbounds._check import Figures


# claim:forecast-range
@dataclass(frozen=True, slots=True)
class Forecast:
    """The expected error of a release. Figures are arrays if the release has several numbers.

    The ranges are over plausible true values: those that were stated, or those that ``assumed``
    describes (see `inbounds.derivations.truths`).

    Attributes
    ----------
    rmse, bias, half_width
        Root mean squared error, absolute bias, and the distance from the true value that a release exceeds with
        probability 1 - ``confidence``. For one number they are averaged over the plausible range; for several they are
        those at a plausible value.
    worst_rmse, worst_bias, worst_half_width
        The largest of these over the plausible range, which is that of the bounds if none was stated.
    confidence
        The confidence of the half-widths.
    simulated
        Whether the figures were found by drawing from the certified law.
    rmse_range, half_width_range
        The smallest and the largest figure over the plausible range.
    assumed
        What the ranges assume; empty if nothing.
    """

    rmse: Figures
    bias: Figures
    half_width: Figures
    worst_rmse: Figures
    worst_bias: Figures
    worst_half_width: Figures
    confidence: float
    simulated: bool
    rmse_range: tuple[Figures, Figures]
    half_width_range: tuple[Figures, Figures]
    assumed: str = ""

    @property
    def typical(self) -> float:
        """One figure for all numbers: the root of the mean of their squared errors. The diagonal of a matrix of
        correlations is known, and does not count."""
        return one_figure(self.rmse)

    @property
    def typical_range(self) -> tuple[float, float]:
        """The same figure for the smallest and for the largest errors."""
        return one_figure(self.rmse_range[0]), one_figure(self.rmse_range[1])

    @property
    def reach_range(self) -> tuple[float, float]:
        """The largest half-width of all numbers: its smallest and its largest plausible value."""
        return float(np.max(self.half_width_range[0])), float(np.max(self.half_width_range[1]))

    @property
    def depends(self) -> bool:
        """Whether the error depends on the true value: it can be more than 5% above the typical one."""
        return self.typical_range[1] > 1.05 * self.typical

    @property
    def worst(self) -> float:
        """The same figure as `typical` for the worst case."""
        return one_figure(self.worst_rmse)

    @property
    def reach(self) -> float:
        """The largest half-width of all numbers."""
        return float(np.max(self.half_width))


def one_figure(rmse: Figures) -> float:
    """The root of the mean of squared errors, without the diagonal of a matrix on which none has any."""
    squares = np.square(rmse)
    if squares.ndim > 1 and len(squares) == squares.shape[1] > 1 and not squares.diagonal().any():
        squares = squares[~np.eye(len(squares), dtype=bool)]
    return float(np.sqrt(np.mean(squares)))
