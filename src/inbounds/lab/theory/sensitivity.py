"""Global sensitivities: the most that one record can change a statistic.

Each docstring has the formula for bounds of width 1; the result is for the given bounds, ``(lower, upper)``. ``n`` is
the number of records. There are two neighbour relations:

``"substitute"``
    One record changes its value; both tables have n records, and n is public (the paper's Def. 1).
``"add-remove"``
    One table has one more record; n is the *larger* number and is protected (Def. 2). A sensitivity that decreases
    with n may then only be used with a public lower limit of n, never with the table's own n: noise scaled by the
    table's own n has unbounded loss. ``n_public=True`` says that n is public and is refused here. Statistics that do
    not need n (`count`, `sum`, `histogram`) or have a fixed public denominator (``fixed_denominator=True``) are safe.

The same holds for the cell sizes of pooled statistics if a record can change them (``"add-remove"``, or
``cell="free"``): give limits that are fixed in advance, or leave ``sizes`` out.

All functions return a float, or a pair of floats for bounds. They raise a TypeError or ValueError if an argument is
not valid, or if arguments cannot be combined.

"Exact" means attained by some pair of tables; "bound" means never exceeded.
"""

import builtins
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np

from inbounds import _check
from inbounds._check import Bounds
from inbounds.privacy.guarantee import NEIGHBOURS, Neighbours

Cell: TypeAlias = Literal["fixed", "free"]


# claim:sensitivity-count
def count(neighbours: Neighbours = "substitute") -> float:
    """Number of records with some property: 1 under both relations. Exact."""
    _check.choice(neighbours, "neighbours", NEIGHBOURS)
    return 1.0


# claim:sensitivity-sum
def sum(bounds: Sequence[float], *, neighbours: Neighbours = "substitute") -> float:  # noqa: A001
    """Sum of a column, exact.

    upper - lower if a record is substituted, max(|lower|, |upper|) if one is added or removed.
    """
    lower, upper = _check.bounds(bounds, bounded=True)
    _check.choice(neighbours, "neighbours", NEIGHBOURS)
    return upper - lower if neighbours == "substitute" else max(abs(lower), abs(upper))


# claim:sensitivity-mean
def mean(
    bounds: Sequence[float],
    n: int,
    neighbours: Neighbours = "substitute",
    *,
    n_public: bool | None = None,
    fixed_denominator: bool = False,
) -> float:
    """Mean: 1/n under both relations. Exact.

    With ``fixed_denominator`` the statistic is the sum divided by a public n that does not depend on the table.

    >>> mean(bounds=(0, 100), n=500)
    0.2
    """
    if fixed_denominator:
        return sum(bounds, neighbours=neighbours) / _check.integer(n, "n", least=1)
    n = _size(n, neighbours, n_public, least=1)
    return _width(bounds) / n


# claim:sensitivity-proportion
def proportion(
    n: int,
    neighbours: Neighbours = "substitute",
    *,
    n_public: bool | None = None,
    fixed_denominator: bool = False,
) -> float:
    """Share of the records with some property: 1/n. Exact."""
    return mean((0, 1), n, neighbours, n_public=n_public, fixed_denominator=fixed_denominator)


# claim:sensitivity-proportions
def proportions(
    n: int,
    neighbours: Neighbours = "substitute",
    *,
    n_public: bool | None = None,
    fixed_denominator: bool = False,
) -> float:
    """Vector of proportions over two or more cells, in L1: 2/n. Exact.

    The paper has 1/n for add-remove, which is right only for a fixed public denominator: a record that is added also
    lowers the other proportions, by 1/n in total if all other records are in one cell.
    """
    if fixed_denominator:
        return histogram(neighbours) / _check.integer(n, "n", least=1)
    n = _size(n, neighbours, n_public, least=1)
    return 2 / n


# claim:sensitivity-histogram
def histogram(neighbours: Neighbours = "substitute", *, n: int | None = None) -> float:
    """Counts of disjoint cells, in L1, for any n. Exact.

    2 if a record may change its cell, 1 if it is added or removed.
    """
    _check.choice(neighbours, "neighbours", NEIGHBOURS)
    if n is not None:
        _check.integer(n, "n", least=1)
    return 2.0 if neighbours == "substitute" else 1.0


# claim:sensitivity-variance
def variance(
    bounds: Sequence[float], n: int, neighbours: Neighbours = "substitute", *, n_public: bool | None = None
) -> float:
    """Sample variance (denominator n - 1): 1/n (add-remove from n = 3). Exact."""
    n = _size(n, neighbours, n_public, least=2)
    return _width(bounds) ** 2 / n


# claim:sensitivity-standard-deviation
def standard_deviation(
    bounds: Sequence[float], n: int, neighbours: Neighbours = "substitute", *, n_public: bool | None = None
) -> float:
    """Sample standard deviation: 1/√n (add-remove from n = 3). Exact.

    √ is concave, so √a - √b ≤ √(a - b), with equality at b = 0, where the variance attains its own sensitivity. So it
    is `variance` through `SQUARE_ROOT`.
    """
    n = _size(n, neighbours, n_public, least=2)
    return _width(bounds) / math.sqrt(n)


# claim:sensitivity-covariance
def covariance(
    bounds_x: Sequence[float],
    bounds_y: Sequence[float],
    n: int,
    neighbours: Neighbours = "substitute",
    *,
    n_public: bool | None = None,
) -> float:
    """Sample covariance (denominator n - 1): 1/n (add-remove from n = 3). Exact."""
    n = _size(n, neighbours, n_public, least=2)
    return _width(bounds_x, "bounds_x") * _width(bounds_y, "bounds_y") / n


# claim:sensitivity-pooled-variance
def pooled_variance(
    bounds: Sequence[float],
    sizes: Sequence[int] | None = None,
    *,
    n: int | None = None,
    cells: int | None = None,
    neighbours: Neighbours = "substitute",
    cell: Cell = "fixed",
    n_public: bool | None = None,
) -> float:
    """Pooled within-cell variance over J cells, denominator n - J.

    Give ``sizes`` if the cell sizes are public, or ``n`` and ``cells`` if only their sum and their number are.

    ================================  ==========================  ================================
    record                            sizes public                sizes secret
    ================================  ==========================  ================================
    substituted, keeps its cell       (1 - 1/n_max)/(n-J), exact  1/(n-J), bound
    substituted, may change cell      n_max/(n_max+1)/(n-J), ex.  1/(n-J), bound
    comes or goes                     as the first; at n = 2J:    1/(n-J), bound (n > 2J);
                                      1/n                         2/n (n = 2J)
    ================================  ==========================  ================================

    ``cell="free"`` (a record may change its cell) needs at least two cells and ``neighbours="substitute"``.
    """
    width = _width(bounds) ** 2
    n, cells, public_sizes = _cells(sizes, n, cells, neighbours, cell, n_public)
    if public_sizes is None:
        return width / (n - cells)
    largest = max(public_sizes)
    if cell == "free":
        return width * largest / (largest + 1) / (n - cells)
    return width * (1 - 1 / largest) / (n - cells)


# claim:sensitivity-pooled-covariance
def pooled_covariance(
    bounds_x: Sequence[float],
    bounds_y: Sequence[float],
    sizes: Sequence[int] | None = None,
    *,
    n: int | None = None,
    cells: int | None = None,
    neighbours: Neighbours = "substitute",
    cell: Cell = "fixed",
    n_public: bool | None = None,
) -> float:
    """Pooled within-cell covariance over J cells, denominator n - J.

    =============================  ============================================  ================================
    record                         sizes public                                  sizes secret
    =============================  ============================================  ================================
    substituted, keeps its cell    (1 - 1/n_max)/(n-J), exact                    1/(n-J), bound
    substituted, may change cell   max_{a≠b} (2 - 1/(n_b+1) - 1/n_a)/(n-J), ex.  2/(n-J), bound
    comes or goes                  max_j [(1 - 1/n_j) + Σ_{k≠j} ⌊n_k²/4⌋/n_k     (1 + (n-2)/(4(n-1-J)))/(n-J),
                                   /(n-1-J)] / (n-J), bound                      bound
    =============================  ============================================  ================================

    A covariance can decrease in one cell and increase in another, so a record that changes its cell counts twice. The
    paper's 1/(n-J) is too small for this case.
    """
    width = _width(bounds_x, "bounds_x") * _width(bounds_y, "bounds_y")
    n, cells, public_sizes = _cells(sizes, n, cells, neighbours, cell, n_public)
    free = n - cells
    if neighbours == "add-remove":
        if public_sizes is None:
            return width * (1 + (n - 2) / (4 * (free - 1))) / free
        scatters = [_largest_scatter(size) for size in public_sizes]
        total = math.fsum(scatters)
        worst = max(
            1 - 1 / m + (total - scatter) / (free - 1) for m, scatter in zip(public_sizes, scatters, strict=True)
        )
        return width * worst / free
    if cell == "fixed":
        return width * (1 - 1 / max(public_sizes)) / free if public_sizes else width / free
    if public_sizes is None:
        return width * 2 / free
    pairs = ((a, b) for i, a in enumerate(public_sizes) for j, b in enumerate(public_sizes) if i != j)
    return width * max(2 - 1 / (b + 1) - 1 / a for a, b in pairs) / free


# claim:sensitivity-variance-bounds
def variance_bounds(bounds: Sequence[float], n: int) -> Bounds:
    """The range of a sample variance of n values: [0, W² ⌊n²/4⌋ / (n (n-1))].

    For even n the upper end is n W²/(4(n-1)), as in the paper for all n. For odd n it is (n+1) W²/(4n), slightly less.
    Both are attained, with half of the values at either bound.
    """
    n = _check.integer(n, "n", least=2)
    return 0.0, _width(bounds) ** 2 * _largest_scatter(n) / (n - 1)


# claim:sensitivity-standard-deviation-bounds
def standard_deviation_bounds(bounds: Sequence[float], n: int) -> Bounds:
    """The range of a standard deviation: roots of `variance_bounds`."""
    return 0.0, math.sqrt(variance_bounds(bounds, n)[1])


# claim:sensitivity-covariance-bounds
def covariance_bounds(bounds_x: Sequence[float], bounds_y: Sequence[float], n: int) -> Bounds:
    """The range of a sample covariance: ± W_x W_y ⌊n²/4⌋ / (n (n-1)).

    Attained at perfect correlation.
    """
    n = _check.integer(n, "n", least=2)
    widths = _width(bounds_x, "bounds_x") * _width(bounds_y, "bounds_y")
    largest = widths * _largest_scatter(n) / (n - 1)
    return -largest, largest


# claim:sensitivity-kendall
def kendall(n: int, neighbours: Neighbours = "substitute", *, n_public: bool | None = None) -> float:
    """Kendall's tau-a of two columns, ties included: 4/n (add-remove from n = 3). Exact.

    One record is in n - 1 of the n(n-1)/2 pairs, and each adds -1, 0 or 1. One more record makes (1 - 2/n) τ + (2/n) m
    of τ, with m in [-1, 1] its mean over the pairs that it is in.
    """
    return 4 / _size(n, neighbours, n_public, least=2)


@dataclass(frozen=True, slots=True)
class Transformation:
    """A monotone function t = f(s). t is released in place of s and mapped back (the paper's s* = f⁻¹(t*)).

    ``shape`` says whether f is ``"concave"`` or ``"convex"`` on the bounds. Then the largest change of t for a change δ
    of s is at an end of the bounds, and follows from two values of f.
    """

    forward: Callable[[float], float]
    inverse: Callable[[float], float]
    shape: Literal["concave", "convex"]

    def __post_init__(self) -> None:
        _check.choice(self.shape, "shape", ("concave", "convex"))

    def bounds(self, bounds: Sequence[float]) -> Bounds:
        """The bounds of t."""
        lower, upper = self._check_bounds(bounds)
        first, last = self.forward(lower), self.forward(upper)
        return (first, last) if first < last else (last, first)

    # claim:sensitivity-transformation
    def sensitivity(self, sensitivity: float, bounds: Sequence[float]) -> float:
        """Largest |f(s) - f(s')| over s, s' with |s - s'| ≤ sensitivity. Exact.

        >>> SQUARE_ROOT.sensitivity(variance((0, 1), n=25), variance_bounds((0, 1), n=25))
        0.2
        """
        lower, upper = self._check_bounds(bounds)
        move = min(_check.positive(sensitivity, "sensitivity"), upper - lower)
        f = self.forward
        return max(abs(f(lower + move) - f(lower)), abs(f(upper) - f(upper - move)))

    def _check_bounds(self, bounds: Sequence[float]) -> Bounds:
        """The bounds, after checking that f is monotone, has its shape, and is undone by its inverse on them."""
        lower, upper = _check.bounds(bounds, bounded=True)
        points = [lower + (upper - lower) * k / 16 for k in range(16)] + [upper]
        try:
            values = [_check.finite(self.forward(point), "forward(s)") for point in points]
        except (ArithmeticError, ValueError):
            raise ValueError(f"forward must be finite on the bounds ({lower}, {upper})") from None
        steps = [b - a for a, b in pairwise(values)]
        slack = 1e-9 * max(abs(value) for value in values) or 1e-300
        if not (min(steps) > -slack or max(steps) < slack) or not any(steps):
            raise ValueError("forward must be monotone on the bounds")
        bend = [(b - a) * (1 if self.shape == "concave" else -1) for a, b in pairwise(steps)]
        if max(bend) > slack:
            raise ValueError(f"forward must be {self.shape} on the bounds")
        back = max(abs(self.inverse(t) - s) for s, t in zip(points, values, strict=True))
        if back > 1e-6 * (upper - lower):
            raise ValueError("inverse must undo forward on the bounds")
        return lower, upper


SQUARE_ROOT = Transformation(math.sqrt, lambda t: t * t, "concave")


def _width(bounds: Sequence[float], name: str = "bounds") -> float:
    lower, upper = _check.bounds(bounds, name, bounded=True)
    return upper - lower


def _largest_scatter(n: int) -> float:
    """Largest Σ(x - x̄)² of n values in [0, 1]: ⌊n²/4⌋ / n."""
    return (n * n // 4) / n


def _size(n: int, neighbours: Neighbours, n_public: bool | None, *, least: int) -> int:
    """A size that fits the relation: with add-remove the smaller table must still have ``least`` records."""
    _coherent(neighbours, n_public)
    return _check.integer(n, "n", least=least + (neighbours == "add-remove"))


def _coherent(neighbours: Neighbours, n_public: bool | None) -> None:
    _check.choice(neighbours, "neighbours", NEIGHBOURS)
    if n_public and neighbours == "add-remove":
        raise ValueError(
            "n_public=True cannot be combined with neighbours='add-remove': neighbouring tables then differ in n, so a "
            "scale computed from the table's own n reveals it (unbounded loss). Use neighbours='substitute', or "
            "release sum and count, or divide by a fixed public denominator (fixed_denominator=True)"
        )
    if n_public is False and neighbours == "substitute":
        raise ValueError(
            "n_public=False cannot be combined with neighbours='substitute': neighbouring tables have the same n, "
            "which this relation does not protect. Use neighbours='add-remove'"
        )


def _cells(
    sizes: Sequence[int] | None,
    n: int | None,
    cells: int | None,
    neighbours: Neighbours,
    cell: Cell,
    n_public: bool | None,
) -> tuple[int, int, list[int] | None]:
    """The total size, the number of cells and, if they are public, their sizes."""
    _coherent(neighbours, n_public)
    _check.choice(cell, "cell", ("fixed", "free"))
    if cell == "free" and neighbours == "add-remove":
        raise ValueError("cell='free' is only for neighbours='substitute'; an added or removed record has one cell")
    if (sizes is None) == (n is None and cells is None) or (n is None) != (cells is None):
        raise TypeError("give either sizes (public cell sizes) or n and cells (secret ones)")
    public_sizes = None
    if sizes is not None:
        if isinstance(sizes, str) or not isinstance(sizes, Sequence | np.ndarray):
            raise TypeError(f"sizes must be a sequence of integers, got {type(sizes).__name__}")
        public_sizes = [_check.integer(size, f"sizes[{j}]", least=2) for j, size in enumerate(sizes)]
        if not public_sizes:
            raise ValueError("sizes must not be empty")
        n, cells = builtins.sum(public_sizes), len(public_sizes)
    assert n is not None
    assert cells is not None
    cells = _check.integer(cells, "cells", least=1)
    n = _check.integer(n, "n", least=2 * cells)
    if cell == "free" and cells < 2:
        raise ValueError("cell='free' needs at least two cells")
    if neighbours == "add-remove" and n - 1 - cells < 1:
        raise ValueError(f"n must be at least cells + 2 under add-remove, got n={n}, cells={cells}")
    return n, cells, public_sizes
