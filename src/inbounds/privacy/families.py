"""Families of noise on a grid: laws that differ only in the amount of noise, and how much of it each guarantee needs.

`Guarantee.calibrate` takes a family and a move, and returns the law of that family that keeps the guarantee.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from inbounds.grid.gaussian import GaussianMechanism, round_variance
from inbounds.grid.law import GridMechanism
from inbounds.privacy.exact import Grid, calibrate_scale
from inbounds.privacy.guarantee import ZCDP, Guarantee


@dataclass(frozen=True, slots=True)
class Family:
    """Laws on a grid with one bounding."""

    bounding: str
    grid: Grid

    @property
    def span(self) -> int | None:
        """Steps between the bounds, None with an open side."""
        return None if self.grid.first is None or self.grid.last is None else self.grid.last - self.grid.first

    @property
    def _points(self) -> tuple[int | None, int | None, Fraction, Fraction]:
        return self.grid.first, self.grid.last, self.grid.step, self.grid.origin


@dataclass(frozen=True, slots=True)
class LaplaceFamily(Family):
    """Discrete Laplace noise."""

    def keep_epsilon(self, epsilon: Fraction, move: int) -> GridMechanism:
        """The least noise that keeps a pure ε."""
        return GridMechanism(self.bounding, calibrate_scale(self.bounding, move, self.span, epsilon), *self._points)


@dataclass(frozen=True, slots=True)
class GaussianFamily(Family):
    """Discrete Gaussian noise, clamped or unbounded."""

    # claim:gaussian-calibrate
    def keep_rho(self, rho: Fraction, move: int) -> GaussianMechanism:
        """The least noise that keeps ρ: σ² = move²/(2ρ), rounded up."""
        return GaussianMechanism(self.bounding, round_variance(Fraction(move * move) / (2 * rho)), *self._points)


# Other guarantees have Laplace noise, calibrated to the pure ε that implies them.
_FAMILIES: dict[type[Any], type[Any]] = {ZCDP: GaussianFamily}


def family_of(guarantee: Guarantee, bounding: str, grid: Grid) -> Any:
    """The family of noise that whole numbers get under a guarantee."""
    return _FAMILIES.get(type(guarantee), LaplaceFamily)(bounding, grid)
