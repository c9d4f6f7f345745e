"""Exact numbers of a table around a centre that was drawn before them; see `inbounds.tables.coordinates`."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from inbounds.privacy.forms import SQUARE_OF_MEAN
from inbounds.tables.answers import Cells, counts_of
from inbounds.tables.request import Request
from inbounds.tables.schema import Quantised, Steps


# claim:statistic-centred-squares, claim:statistic-fourth-powers
@dataclass(frozen=True, slots=True)
class CentredSquares:
    """The two numbers of a variance around a noisy centre, which one record moves by at most 1 each.

    With u = (x - middle)/(W/2) in [-1, 1] and n records, n public, the first is Σu/2.
    It is drawn first, and gives a public centre c: what was drawn, times 2/n, within [-1, 1]. The second is
    Σ((u - c)/(1 + |c|))². Each of its terms is between 0 and 1, so that a substituted record moves it by at most 1,
    whatever c is; and a hair more where squares were rounded, since their coefficient is at most 1.

    With ``fourth`` the records of each step of the column are counted. Then t are the
    terms of the second number, w = 2t - 1 is in [-1, 1], and two numbers are drawn together: Σw/2 and Σ(2w² - 1)/8. One
    record moves them by at most 1 in |s| + |q|, as it does a mean and its square (`moment_rows`).
    """

    column: Quantised
    rows: int
    fourth: bool = False

    @property
    def request(self) -> Request:
        """What the engine counts for these numbers."""
        return Request((Steps(self.column),)) if self.fourth else Request((), (self.column,), True)

    @property
    def units(self) -> tuple[Fraction, ...]:
        """The worth of one unit of each number."""
        return (Fraction(2), Fraction(2), Fraction(SQUARE_OF_MEAN)) if self.fourth else (Fraction(2), Fraction(1))

    @property
    def sensitivities(self) -> tuple[Fraction, Fraction]:
        """The most that one record moves each of them, the last two in their norm where they are drawn together."""
        if self.fourth:
            return Fraction(1), Fraction(1)
        (pair,) = self.request.pairs
        return Fraction(1), 1 + 8 * Fraction(pair.slack) / self.column.count**2

    def first(self, cells: Cells) -> Fraction:
        """The first number."""
        if self.fourth:
            count, total = (sum(k**power * n for k, n in self._steps(cells)) for power in (0, 1))
            return Fraction(total, self.column.count) - Fraction(count, 2)
        count, sums, _ = cells[()]
        return Fraction(sums[0], self.column.count) - Fraction(count, 2)

    def second(self, cells: Cells, first: Fraction) -> list[Fraction]:
        """The numbers that are drawn after the first, given what was drawn for it."""
        return self._powers(cells, first) if self.fourth else [self._squares(cells, first)]

    def _steps(self, cells: Cells) -> list[tuple[int, int]]:
        """The integers that records became, each with its number of records."""
        counts = counts_of(cells, (self.column.count + 1,))
        return [(int(k), int(counts[k])) for k in np.flatnonzero(counts)]

    def _powers(self, cells: Cells, first: Fraction) -> list[Fraction]:
        # With whole numbers b and d, t is (2kd - b)²/e.
        centre, steps = find_centre(first, self.rows), self.column.count
        d, b = centre.denominator, (centre.denominator + centre.numerator) * steps
        e = ((centre.denominator + abs(centre.numerator)) * steps) ** 2
        squares = [((2 * k * d - b) ** 2, n) for k, n in self._steps(cells)]
        count, total, fourth = (sum(square**power * n for square, n in squares) for power in (0, 1, 2))
        second = Fraction(total, e)
        # Σ(2w² - 1) with w² = 4t² - 4t + 1.
        return [second - Fraction(count, 2), (8 * Fraction(fourth, e**2) - 8 * second + count) / SQUARE_OF_MEAN]

    def _squares(self, cells: Cells, first: Fraction) -> Fraction:
        count, sums, products = cells[()]
        (pair,), steps = self.request.pairs, self.column.count
        centre = find_centre(first, self.rows)
        # Σ(2k/M - 1 - c)²
        squares = 4 * Fraction(products[0] * pair.unit, steps**2)
        squares -= 4 * (1 + centre) * Fraction(sums[0], steps)
        return (squares + count * (1 + centre) ** 2) / (1 + abs(centre)) ** 2


def find_centre(first: Fraction, rows: int) -> Fraction:
    """The public centre that follows from the first number of a centred variance, in half-widths from the middle."""
    return max(Fraction(-1), min(Fraction(1), 2 * first / rows))
