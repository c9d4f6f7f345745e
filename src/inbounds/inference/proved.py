"""Intervals of means that are proved to hold for every law of the records on the bounds.

Values are u in [-1, 1] with mean m and variance at most v. For the sum S of n independent values m - u, none above
b = 1 + m, and every function g(s) = w_0 + Σ w_j (s - h_j)²₊ with w ≥ 0,

    E g(S) ≤ E g(T),    T the sum of n independent values b and -v/b with mean 0 and variance v

(Bentkus 2004). T is a binomial number on a scale, so that E g(T) is a sum of binomial tails. The noise a is independent
of S, so that P(S + a ≥ x) = E f(S) with f(s) = P(a ≥ x - s), and any g ≥ f gives a bound of that tail. A linear
programme finds a good g. Which one it is does not matter for the proof, since each is compared with f.

A mean is left out if its tail is at most (1 - r) α/2, with r = 1/10, on either side, at the variance v = q - m². Here q
is an upper limit of E u² at the level 1 - rα, found from the noisy sum of squares in the same way: squares lie in
[0, 1], so their variance is at most q(1 - q). Without squares q = 1 and r = 0. All means of a cell from m to m' are
left out at once, by the smallest x and the largest b and v in it, so that no mean in between is overlooked.

V. Bentkus, On Hoeffding's inequalities, Ann. Probab. 32 (2004), 1650-1673.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy

from inbounds._check import Array
from inbounds.inference.laws import Noise

METHOD = "bounds of the tails that are proved for every law of the records (Bentkus)"
# The part of α for the sum of squares; and how many cells of means are tried at once.
_OF_SQUARES, _CELLS = 0.1, 200
# Where the cells begin in each round, and how little a round may gain to be the last, as shares of the distance.
_NEAREST, _SETTLED = (1e-4, 0.1, 0.6, 0.6, 0.6), 0.995
# Where g may bend below the score, in scales of the noise and in standard deviations of the sum; and the points at
# which the linear programme compares it with f, in scales of the noise.
_NEAR, _FAR = np.append(0.0, np.geomspace(0.05, 30.0, 24)), np.geomspace(0.05, 6.0, 24)
_POINTS = np.concatenate([-np.geomspace(39.0, 0.01, 100), [0.0], np.geomspace(0.01, 39.0, 50)])
# How many points are used for the final comparison of g with f. Both are nondecreasing, so these stand for all points.
_FINE, _SMALL = 8001, 1e-3

# For each cell of means, from one to another: the smallest score, the largest value, and the largest variance.
Cells: TypeAlias = Callable[[Array, Array], tuple[Array, Array, Array]]


@dataclass(frozen=True, slots=True)
class Sums:
    """The noisy sums of a column: of u, and of u² if it was drawn with it, each with its noise.

    ``step`` is that of the grid of Σu. Numbers are rounded to their grid, and noise on it is treated as continuous: two
    steps make up for both.
    """

    rows: int
    total: float
    noise: Noise
    squares: tuple[float, Noise] | None = None
    step: float = 0.0


# claim:proved-interval
def limits(sums: Sums, alpha: float) -> tuple[float, float]:
    """Limits of the mean in [-1, 1] at the level 1 - alpha, for every law."""
    most, rest = 1.0, alpha
    if sums.squares is not None:
        most, rest = _limit_of_squares(sums.rows, *sums.squares, _OF_SQUARES * alpha), (1 - _OF_SQUARES) * alpha
    upper = _upper_mean(sums.rows, sums.total + 2 * sums.step, sums.noise, most, rest / 2)
    lower = -_upper_mean(sums.rows, 2 * sums.step - sums.total, sums.noise, most, rest / 2)
    return lower, upper


def _upper_mean(rows: int, total: float, noise: Noise, most: float, alpha: float) -> float:
    """The upper limit of a mean: for any larger mean, the sum is this small with a probability of at most alpha."""

    def cells(low: Array, high: Array) -> tuple[Array, Array, Array]:
        nearest = np.where((low < 0) & (high > 0), 0.0, np.minimum(low**2, high**2))
        return rows * low - total, 1 + high, np.maximum(most - nearest, 0.0)

    return _outermost(cells, rows, noise, min(max(total / rows, -1.0), 1.0), alpha)


def _limit_of_squares(rows: int, noisy: float, noise: Noise, alpha: float) -> float:
    """The upper limit of a mean of values in [0, 1]."""

    def cells(low: Array, high: Array) -> tuple[Array, Array, Array]:
        largest = np.where((low < 0.5) & (high > 0.5), 0.25, np.maximum(low * (1 - low), high * (1 - high)))
        return rows * low - noisy, high, largest

    return _outermost(cells, rows, noise, min(max(noisy / rows, 0.0), 1.0), alpha)


def _outermost(cells: Cells, rows: int, noise: Noise, estimate: float, alpha: float) -> float:
    """The upper end of the last cell of means that is not left out, between the estimate and 1."""
    end = 1.0
    for nearest in _NEAREST:
        if not end > estimate:
            break
        edges = estimate + (end - estimate) * np.append(0.0, np.geomspace(nearest, 1.0, _CELLS))
        score, most, variance = cells(edges[:-1], edges[1:])
        before = end
        # Any g is valid. Those for a mean near the limit are good.
        about = np.searchsorted(score, 2.3 * np.sqrt(rows * variance[0]) + 3 * noise.scale)
        for guess in (float(edges[min(int(about), _CELLS - 1)]), None):
            place = max(int(np.searchsorted(edges, end if guess is None else guess)) - 1, 0)
            majorant = find_majorant(noise, rows, float(score[place]), float(most[place]), float(variance[place]))
            cells_kept = np.flatnonzero(majorant.expect(rows, score, most, variance) > alpha)
            end = min(end, float(edges[cells_kept[-1] + 1]) if len(cells_kept) else estimate)
        if end - estimate > _SETTLED * (before - estimate):
            break
    return end


@dataclass(frozen=True, slots=True, eq=False)
class Majorant:
    """The function g(y) = constant + Σ weights (y - bends)²₊ of the distance y from the score."""

    constant: float
    weights: Array
    bends: Array

    def __call__(self, y: Array) -> Array:
        above = np.maximum(np.asarray(y)[..., None] - self.bends, 0.0)
        return np.asarray(self.constant + above**2 @ self.weights)

    def expect(self, rows: int, score: Array, most: Array, variance: Array) -> Array:
        """E g(T - score), for each cell."""
        squares = expect_squares(rows, score[:, None] + self.bends, most[:, None], variance[:, None])
        return np.asarray(self.constant + squares @ self.weights)


# claim:binomial-squares
def expect_squares(rows: int, bends: Array, most: Array, variance: Array) -> Array:
    """E (T - h)²₊ for sums T of values ``most`` and -variance/most with mean 0.

    With k binomial, T = β(k - np) and c = h/β + np, it is β² E (k - c)²₊, and the moments of k from an integer on are
    binomial tails of one and of two records less.
    """
    most, variance = np.maximum(most, 1e-12), np.maximum(variance, 1e-12)
    share, unit = variance / (variance + most**2), most + variance / most
    place = bends / unit + rows * share
    first = np.maximum(np.ceil(place), 0.0)
    tails = [_binomial_tail(first - less, rows - less, share) for less in (0, 1, 2)]
    mean = rows * share
    of_two, of_one = mean * (rows - 1) * share * tails[2], mean * tails[1]
    return np.asarray(unit**2 * np.maximum(of_two + of_one - 2 * place * of_one + place**2 * tails[0], 0.0))


def _binomial_tail(least: Array, size: int, share: Array) -> Array:
    """P(k ≥ least)."""
    inside = np.clip(least, 1.0, max(size, 1))
    tail = scipy.special.betainc(inside, np.maximum(size - inside, 0.0) + 1, share)
    return np.where(least <= 0, 1.0, np.where(least > size, 0.0, tail))


def find_majorant(noise: Noise, rows: int, score: float, most: float, variance: float) -> Majorant:
    """A function of the class that is nowhere below P(noise ≥ -y), and small on average for T - score."""
    deviation, scale = np.sqrt(rows * variance), noise.scale
    bends = -np.unique(np.concatenate([_NEAR * scale, _FAR * max(deviation, scale)]))
    squares = expect_squares(rows, np.array(score) + bends, np.array(most), np.array(variance))
    points = np.unique(np.concatenate([_POINTS * scale, bends]))
    # In units of the bends, so that weights are of about one size.
    sizes = (np.abs(bends) + scale) ** 2
    inside = np.maximum(points[:, None] - bends, 0.0) ** 2 / sizes
    solution = scipy.optimize.linprog(
        np.append(squares / sizes, 1.0),
        A_ub=-np.column_stack([inside, np.ones(len(points))]),
        b_ub=-noise.cdf(points),
        bounds=(0, None),
        method="highs",
    )
    weights = np.maximum(solution.x, 0.0) if solution.x is not None else np.append(np.zeros(len(bends)), 1.0)
    return _raise_above(Majorant(float(weights[-1]), weights[:-1] / sizes, bends), noise)


def _raise_above(majorant: Majorant, noise: Noise) -> Majorant:
    """Raise a function until it is nowhere below that of the noise: each point is compared with the next one.

    Where the function of the noise is small it is raised by a constant, elsewhere by a factor.
    """
    fine = np.linspace(-noise.reach, noise.reach, _FINE)
    least = np.append(noise.cdf(fine[1:]), 1.0)
    values = majorant(fine)
    large = least > _SMALL
    factor = max(1.0, float(np.max(least[large] / values[large])))
    constant = majorant.constant * factor + max(float(np.max(least - factor * values)), 0.0) + float(noise.cdf(fine[0]))
    return Majorant(constant, majorant.weights * factor, majorant.bends)
