"""Variances and standard deviations from squares around a noisy centre, of a public number of records.

Coordinates are those of `inbounds.tables.coordinates.CentredSquares`: Σu with the noise a, which gives the centre c,
and Σ((u - c)/(1 + |c|))² with the noise z, drawn after it. Since Σ(u - c)² is the scatter around the mean and a²/n, a
scatter is off by (1 + |c|)² z + a²/n. The average of a²/n is subtracted. With fourth powers there is Σ(2t - 1) in place
of Σt, t = ((u - c)/(1 + |c|))², and Σ(2(2t - 1)² - 1) after it, which only intervals need.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from inbounds._check import Array
from inbounds.derivations.base import Coordinates, Limits, Simulated, Situation, Tail, halves_of
from inbounds.derivations.truths import Truths, find_truths
from inbounds.expected import continuous

_DRAWS = 4000


@dataclass(frozen=True, slots=True)
class CentredSpread(Simulated):
    """A variance, or with ``root`` a standard deviation; ``surplus`` is the average of a²/n.

    With ``fourth`` its fourth powers were drawn with its squares.
    """

    rows: int = field()
    surplus: float
    root: bool = False
    fourth: bool = False

    tail: ClassVar[Tail] = "chebyshev"

    @property
    def as_centred(self) -> "CentredSpread":
        return self

    @property
    def text(self) -> str:
        powers = ", with fourth powers" if self.fourth else ""
        return f"{'standard deviation' if self.root else 'variance'} around a noisy centre{powers}"

    @property
    def depths(self) -> tuple[int, ...]:
        """Which draw each number belongs to: that of the centre, or the one around it."""
        return (0, 1, 1) if self.fourth else (0, 1)

    def worth_of_squares(self, unit: float) -> float:
        """How much Σt changes with one unit of the number that is drawn for it."""
        return unit / 2 if self.fourth else unit

    def turn(self, squares: Array) -> Array:
        """The number that is drawn for Σt."""
        return np.asarray(2 * squares - self.rows if self.fourth else squares)

    def turn_back(self, number: Array) -> Array:
        """Σt from the number that was drawn for it."""
        return np.asarray((number + self.rows) / 2 if self.fourth else number)

    def squares(self, noisy: Array) -> tuple[Array, Array]:
        """The noisy Σ(u - c)², and the (1 + |c|)² in it."""
        weight = (1 + np.abs(np.clip(noisy[..., 0] / self.rows, -1.0, 1.0))) ** 2
        return np.asarray(self.turn_back(noisy[..., 1]) * weight), np.asarray(weight)

    def values(self, noisy: Array, limits: Limits) -> Array:
        squares, _ = self.squares(noisy)
        scaled = (squares - self.surplus) * _half(limits) ** 2 / (self.rows - 1)
        variances = np.clip(scaled[..., None], 0.0, limits.upper**2 if self.root else limits.upper)
        return np.asarray(np.sqrt(variances) if self.root else variances)

    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        first, second = self._draw(coordinates, _DRAWS)
        errors = self._errors(coordinates.worth, coordinates, first, second)
        rmse, bias = self._worst(first, second, coordinates.limits)
        return errors, (np.maximum(rmse, np.sqrt((errors**2).mean(axis=0))), bias)

    def errors_at(self, coordinates: Coordinates, truths: Sequence[Array], draws: int) -> list[Array]:
        """Simulated errors at several truths, with the law of ``coordinates``; noise is drawn once."""
        noise = self._draw(coordinates, min(draws, _DRAWS))
        return [self._errors(worth, coordinates, *noise) for worth in truths]

    def _draw(self, coordinates: Coordinates, draws: int) -> tuple[Array, Array]:
        """The noise of both draws."""
        rng = np.random.default_rng(0)
        first = continuous(coordinates.parts[0], coordinates.units[0]).sample(0.0, draws, rng=rng)
        if self.fourth:
            # Drawn with its fourth powers, Σt has Laplace noise of its own.
            return first, rng.laplace(0.0, float(coordinates.parts[1].spread * coordinates.units[1]) / 2, draws)
        return first, continuous(coordinates.parts[1], coordinates.units[1]).sample(0.0, draws, rng=rng)

    def _errors(self, worth: Array, coordinates: Coordinates, first: Array, second: Array) -> Array:
        """Errors at one truth: what is drawn second depends on what was drawn first."""
        rows = self.rows
        value = self.values(worth, coordinates.limits)
        scatter = float(value[0] ** 2 if self.root else value[0]) * (rows - 1) / _half(coordinates.limits) ** 2
        mean = float(np.clip(worth[0] / rows, -1.0, 1.0))
        sums = rows * mean + first
        centre = np.clip(sums / rows, -1.0, 1.0)
        second_sums = (scatter + rows * (centre - mean) ** 2) / (1 + np.abs(centre)) ** 2 + second
        return self.values(np.stack([sums, self.turn(second_sums)], axis=-1), coordinates.limits) - value

    def unbiased(self, coordinates: Coordinates) -> Array | None:
        if self.root:
            return None
        squares = self.squares(coordinates.worth)[0] - self.surplus
        return np.asarray(squares * halves_of(coordinates.limits) ** 2 / (self.rows - 1))

    def _worst(self, first: Array, second: Array, limits: Limits) -> tuple[Array, Array]:
        """RMSE and bias at worst: all records at a bound, where (1 + |c|)² is 4 and half of the noise is clamped."""
        unit, offset = _half(limits) ** 2 / (self.rows - 1), first**2 / self.rows
        rmse = np.sqrt(16 * (second**2).mean() + (offset**2).mean()) * unit
        bias = (2 * np.abs(second).mean() + offset.mean()) * unit
        if self.root:
            # √a - √b is at most √|a - b|, so that its mean square is at most the mean size.
            rmse = bias = np.sqrt(rmse)
        return np.minimum(rmse, limits.upper), np.minimum(bias, limits.upper)

    def room(self, values: Array) -> Array | None:
        return np.asarray(1e-9 * np.abs(values))

    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        truth, half = self.find_truths(situation).typical, _half(situation)
        mean = (float(truth.means[0]) - float(situation.columns[0].mean())) / half
        scatter = (self.rows - 1) * float(truth.matrix[0, 0]) / half**2
        squares = (scatter + self.surplus) / (1 + abs(mean)) ** 2
        vector = [self.rows * mean, float(self.turn(np.array(squares)))]
        if self.fourth:
            # As if records were normal, with a fourth moment of three times the square of the second.
            vector.append(8 * min(3 * squares**2 / self.rows, squares) - 8 * squares + self.rows)
        return tuple(Fraction(x) / unit for x, unit in zip(vector, situation.units, strict=True))

    def find_truths(self, situation: Situation) -> Truths:
        return find_truths(situation, "spread" if self.root else "squared spread")


def _half(limits: Limits | Situation) -> float:
    """Half of the width of the column's bounds."""
    return float(limits.columns[0, 1] - limits.columns[0, 0]) / 2
