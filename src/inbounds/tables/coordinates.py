"""Exact numbers of a table: where each can lie, and how far one unit of privacy moves it.

A `Coordinate` holds public facts and a formula; tables go through it as arguments. With k the integers of a column,
g its step and n records:

    mean        lower + g Σk / n
    covariance  g_x g_y [n Σk_x k_y - Σk_x Σk_y] / (n (n-1))
    Kendall     2 (concordant pairs of records - discordant ones) / (n (n-1))

and so on, in fractions. Sensitivities are those of `inbounds.lab.theory.sensitivity`, as fractions and for the
arithmetic that runs: where products were rounded (`Product.slack`) they are larger by what that rounding can do.

The unit is a record, or a person with up to ``contributions`` records: then a neighbour is a chain of that many
changes, and sensitivities are that many times as large.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement
from math import isqrt

import numpy as np
import numpy.typing as npt

from inbounds.privacy.forms import SQUARE_OF_MEAN
from inbounds.privacy.norms import Block, norm_rounding
from inbounds.privacy.terms import Unit
from inbounds.tables.answers import Cell, Cells, counts_of
from inbounds.tables.request import Product, Request
from inbounds.tables.schema import Quantised


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One number that a table has.

    ``sensitivity`` is the most that the unit moves it. ``step`` is its natural grid, None for a fine one. A value
    beyond [lower, upper] (rounded products can leave it by a hair) counts as the bound next to it, which moves no two
    values further apart.
    """

    name: str
    lower: Fraction | None
    upper: Fraction | None
    sensitivity: Fraction
    formula: Callable[[Cells], Fraction]
    step: Fraction | None = None
    root: bool = False

    def __call__(self, cells: Cells) -> Fraction:
        """Its value, or the square of it for a `root`."""
        value = self.formula(cells)
        lower, upper = self.lower, self.upper
        if self.root:
            lower, upper = (None if bound is None else bound * bound for bound in (lower, upper))
        value = value if lower is None else max(value, lower)
        return value if upper is None else min(value, upper)


def count(place: tuple[int, ...], unit: Unit, rows: int | None) -> Coordinate:
    """Number of records in a cell: 0..n, or without a limit where n is not public."""
    upper = None if rows is None else Fraction(rows)
    move = Fraction(unit.contributions)
    return Coordinate("count", Fraction(0), upper, move, lambda cells: _size(cells, place), step=Fraction(1))


def share(place: tuple[int, ...], unit: Unit, denominator: int) -> Coordinate:
    """Records in a cell over a public number."""
    move = Fraction(unit.contributions, denominator)

    return Coordinate(
        "proportion",
        Fraction(0),
        Fraction(1),
        move,
        lambda cells: _size(cells, place) / denominator,
        step=Fraction(1, denominator),
    )


# claim:statistic-mean
def mean(column: Quantised, unit: Unit, rows: int) -> Coordinate:
    """Mean of n records, n public: moves by at most W/n."""
    bounds, step = column.column, column.step

    def formula(cells: Cells) -> Fraction:
        count, sums, _ = cells[()]
        return bounds.lower + step * Fraction(sums[0], count)

    return Coordinate("mean", bounds.lower, bounds.upper, unit.contributions * bounds.width / rows, formula)


# claim:statistic-centred
def centred_mean(column: Quantised, unit: Unit, denominator: int) -> Coordinate:
    """c + Σ(x - c)/N with c the middle of the bounds and N a public number.

    It is the mean for a table of N records. A record that is added or removed moves it by at most W/(2N), half of what
    it does to a sum over N, and a table of another size is off by (n/N - 1)(mean - c).
    """
    bounds, middle = column.column, (column.column.lower + column.column.upper) / 2
    move = bounds.width / (2 if unit.neighbours == "add-remove" else 1) / denominator

    def formula(cells: Cells) -> Fraction:
        count, sums, _ = cells.get((), _empty(1))
        return middle + (count * (bounds.lower - middle) + column.step * sums[0]) / denominator

    return Coordinate("mean", bounds.lower, bounds.upper, unit.contributions * move, formula)


# claim:statistic-sum
def total(column: Quantised, unit: Unit, rows: int | None) -> Coordinate:
    """Sum: moves by W if a record is replaced, by max(|lower|, |upper|) if one comes or goes.

    In a selection of secret size it moves by the larger of the two. If n is public, its bounds are n times those of the
    column; otherwise a sum of numbers of one sign is bounded by zero.
    """
    bounds = column.column
    lower = Fraction(0) if bounds.lower >= 0 else None
    upper = Fraction(0) if bounds.upper <= 0 else None
    move = max(abs(bounds.lower), abs(bounds.upper), bounds.width if unit.neighbours == "substitute" else Fraction(0))
    if rows is not None:
        lower, upper, move = rows * bounds.lower, rows * bounds.upper, bounds.width

    def formula(cells: Cells) -> Fraction:
        count, sums, _ = cells.get((), _empty(1))
        return count * bounds.lower + column.step * sums[0]

    return Coordinate("sum", lower, upper, unit.contributions * move, formula)


# claim:statistic-covariance
def covariances(columns: Sequence[Quantised], unit: Unit, rows: int) -> list[Coordinate]:
    """Sample variances and covariances of all pairs, row by row from the diagonal.

    Each moves by at most W_x W_y / n. Variances lie in [0, W² ⌊n²/4⌋/(n(n-1))], covariances within ± the like.
    """
    pairs = list(combinations_with_replacement(range(len(columns)), 2))
    largest = Fraction(rows * rows // 4, rows * (rows - 1))
    widths, steps = _widths_and_steps(columns)

    def element(place: int, i: int, j: int) -> Coordinate:
        pair = Product(columns[i], columns[j])
        area = widths[i] * widths[j]

        def formula(cells: Cells) -> Fraction:
            count, sums, products = cells[()]
            scatter = count * products[place] * pair.unit - sums[i] * sums[j]
            return steps[i] * steps[j] * Fraction(scatter, count * (count - 1))

        move = area / rows
        if pair.slack:
            move += 2 * pair.slack * steps[i] * steps[j] / (rows - 1)
        bound = area * largest
        name = "variance" if i == j else "covariance"
        return Coordinate(name, Fraction(0) if i == j else -bound, bound, unit.contributions * move, formula)

    return [element(place, i, j) for place, (i, j) in enumerate(pairs)]


# claim:statistic-root
def standard_deviation(variance: Coordinate) -> Coordinate:
    """The root of a variance: moves by at most the root of what the variance moves by.

    √a - √b ≤ √(a - b). Bounds and sensitivity are irrational: the first is rounded down and the second up, by less than
    2^-60 of itself. The formula stays that of the variance; its root is taken on the grid (`root`).
    """
    assert variance.upper is not None
    return replace(
        variance,
        name="standard_deviation",
        upper=_root(variance.upper, up=False),
        sensitivity=_root(variance.sensitivity, up=True),
        root=True,
    )


# claim:statistic-pooled
def pooled(
    columns: Sequence[Quantised], unit: Unit, rows: int, cells: int, *, sizes: Sequence[int] | None = None
) -> list[Coordinate]:
    """Variances and covariances within cells, pooled: Σ_j scatter_j / (n - J), all pairs.

    Cells of one record or none have no scatter. Without ``sizes`` they are secret and a record may change its cell: a
    variance moves by at most W²/(n-J), a covariance by twice W_x W_y/(n-J), since it can fall in one cell and rise in
    another. With public ``sizes`` a record keeps its cell, and both move by at most (1 - 1/n_max)/(n-J).
    """
    pairs = list(combinations_with_replacement(range(len(columns)), 2))
    free = rows - cells
    largest = Fraction(rows, 4) if sizes is None else sum((Fraction(m * m // 4, m) for m in sizes), start=Fraction(0))
    factor = 1 if sizes is None else 1 - Fraction(1, max(sizes))
    widths, steps = _widths_and_steps(columns)

    def element(place: int, i: int, j: int) -> Coordinate:
        pair = Product(columns[i], columns[j])
        area, unit_area = widths[i] * widths[j], steps[i] * steps[j]

        def formula(table: Cells) -> Fraction:
            scatter = sum(
                (p[place] * pair.unit - Fraction(s[i] * s[j], n) for n, s, p in table.values() if n > 1),
                start=Fraction(0),
            )
            return unit_area * scatter / free

        times = (1 if i == j else 2) if sizes is None else factor
        # A record that leaves a pair takes the rounding of both products away.
        move = (times * area + 4 * pair.slack * unit_area) / free
        bound = area * largest / free
        name = "pooled_variance" if i == j else "pooled_covariance"
        return Coordinate(name, Fraction(0) if i == j else -bound, bound, unit.contributions * move, formula)

    return [element(place, i, j) for place, (i, j) in enumerate(pairs)]


# claim:statistic-kendall
def kendall(shape: tuple[int, int], unit: Unit, rows: int) -> Coordinate:
    """Kendall's tau-a of two columns in ordered cells: Σ sgn(x - x') sgn(y - y') / (n(n-1)/2).

    The sum S is over all pairs of records, and a pair that is tied in one of the columns adds nothing. A substituted
    record is in n - 1 pairs, each of which adds -1, 0 or 1: S moves by at most 2(n-1), and tau by 4/n. With k records
    of a person k(n-k) + k(k-1)/2 pairs are touched, so that S moves by at most k(2n-k-1), which is less than k times as
    much. Both are attained, for k < n; ties only take pairs away.
    """
    pairs, k = Fraction(rows * (rows - 1), 2), min(unit.contributions, rows - 1)

    def formula(cells: Cells) -> Fraction:
        return excess_of_concordance(counts_of(cells, shape).reshape(shape)) / pairs

    return Coordinate("kendall", Fraction(-1), Fraction(1), k * (2 * rows - k - 1) / pairs, formula)


def excess_of_concordance(table: npt.NDArray[np.int64]) -> int:
    """Concordant minus discordant pairs of records, from the counts of a two-way table with its cells in order.

    Either number is at most n²/2, so that 64-bit integers hold them up to 2^31 records.
    """
    return _pairs_above(table) - _pairs_above(table[:, ::-1])


def _pairs_above(table: npt.NDArray[np.int64]) -> int:
    """Pairs of records in which one is in a later row and a later column than the other."""
    later = table[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
    return int((table[:-1, :-1] * later[1:, 1:]).sum())


# claim:statistic-moments
@dataclass(frozen=True, slots=True)
class MomentSums:
    """Sums of a cell that one record moves by at most 1 each.

    With u = (x - middle)/(W/2) in [-1, 1]: the number of records, Σu of each column and, if
    asked for, of each pair Σ(2u² - 1) or Σ u_x u_y. Centring at the middle is what makes the moves that small, and no
    size needs to be public. If it is, and a record is substituted (not ``counted``), there is no count among them, and
    the others are in halves. They also are if a record is substituted and only some are ``selected``. Beside a mean
    (``of_mean``) the square is in eighths, so that the sum has no more noise than alone.
    """

    columns: tuple[Quantised, ...]
    products: bool = False
    counted: bool = True
    selected: bool = False
    of_mean: bool = False

    @property
    def request(self) -> Request:
        """What the engine counts for it."""
        return Request((), self.columns, self.products)

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.counted + len(self.columns) + len(self.request.pairs)

    @property
    def block(self) -> str:
        """The block of a norm that bounds their joint move; see `inbounds.privacy.norms`."""
        if self.selected:
            kind = "selected moments" if self.products else "selected sums"
        elif self.of_mean:
            kind = "mean moments"
        else:
            kind = "counted moments" if self.counted else "moments"
        return str(Block(kind, len(self.columns)))

    @property
    def units(self) -> list[Fraction]:
        """The worth of one unit of each coordinate."""
        if self.of_mean:
            return [Fraction(2), Fraction(SQUARE_OF_MEAN)]
        whole = self.counted and not self.selected
        return [Fraction(1)] * self.counted + [Fraction(1 if whole else 2)] * (self.dimension - self.counted)

    @property
    def sensitivity(self) -> Fraction:
        """The most that one record moves them in that norm: 1, and a hair more where products were rounded.

        A hair h of each product is at most h times what rounding by one step is in the norm.
        """
        hairs = [8 * pair.slack / (pair.first.count * pair.second.count) for pair in self.request.pairs]
        hair = max(hairs, default=Fraction(0))
        return 1 + hair * (norm_rounding((self.block,)) if hair else 1)

    def __call__(self, cell: Cell | None) -> list[Fraction]:
        """The coordinates of a cell; None is an empty one."""
        count, sums, products = cell or _empty(len(self.columns), len(self.request.pairs))
        result = [Fraction(2 * k, q.count) - count for q, k in zip(self.columns, sums, strict=True)]
        place = {column: i for i, column in enumerate(self.columns)}
        for pair, product in zip(self.request.pairs, products, strict=True):
            i, j = place[pair.first], place[pair.second]
            # u_i u_j = (2k_i/M_i - 1)(2k_j/M_j - 1)
            u = 4 * Fraction(product * pair.unit, pair.first.count * pair.second.count) + count
            u -= 2 * (Fraction(sums[i], pair.first.count) + Fraction(sums[j], pair.second.count))
            result.append(2 * u - count if i == j else u)
        units = self.units[self.counted :]
        scaled = (x / unit for x, unit in zip(result, units, strict=True))
        return [*([Fraction(count)] if self.counted else []), *scaled]


def _empty(sums: int, products: int = 0) -> Cell:
    return 0, (0,) * sums, (0,) * products


def _size(cells: Cells, place: tuple[int, ...]) -> Fraction:
    return Fraction(cells[place][0] if place in cells else 0)


def _widths_and_steps(columns: Sequence[Quantised]) -> tuple[list[Fraction], list[Fraction]]:
    """The widths and steps of columns: computed once, since there are many more pairs than columns."""
    return [column.column.width for column in columns], [column.step for column in columns]


def root_below(square: Fraction) -> Fraction:
    """√square, rounded down by less than 2^-60 of it."""
    return _root(square, up=False)


def _root(square: Fraction, *, up: bool) -> Fraction:
    """√square, rounded by less than 2^-60 of it."""
    bits = 64 + max(0, square.denominator.bit_length() - square.numerator.bit_length())
    scaled = (square.numerator << (2 * bits)) // square.denominator
    return Fraction(isqrt(scaled) + up, 1 << bits)
