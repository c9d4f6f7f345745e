"""Errors of the exponential mechanism for records whose distribution is known: simulated, in double precision.

This is for many points: for few points, permute and flip has less error than these figures say.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds._check import Array
from inbounds.grid.nodes import INWARD, Node, find_rate, list_parts


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """A distribution function that is linear between some points."""

    points: Array
    ranks: Array

    @classmethod
    def through(cls, points: Array, ranks: Array) -> "Spread":
        """The function through points that do not decrease."""
        return cls(np.asarray(points, float), np.maximum.accumulate(np.asarray(ranks, float)))

    def at(self, shares: Array) -> Array:
        """The quantiles of some shares."""
        # Equal ranks would leave the point open: the first one counts. What is above begins at the last one.
        last = np.clip(np.searchsorted(self.ranks, shares), 1, len(self.ranks) - 1)
        low, high = self.ranks[last - 1], self.ranks[last]
        part = np.where(high > low, (shares - low) / np.where(high > low, high - low, 1.0), 1.0)
        return np.asarray(self.points[last - 1] + np.clip(part, 0.0, 1.0) * (self.points[last] - self.points[last - 1]))

    def rank(self, points: Array) -> Array:
        """The ranks of some points."""
        return np.asarray(np.interp(points, self.points, self.ranks))


# Places around each quantile, in scales of its rank.
_AROUND = np.concatenate([-np.geomspace(40, 0.02, 24), [0.0], np.geomspace(0.02, 40, 24)])
_EVEN = 300


def simulate_choices(
    law: Spread, nodes: Sequence[Node], spreads: Sequence[Fraction], size: int, step: float, draws: int
) -> Array:
    """Errors of the points that are chosen for ``size`` records with that law: a row for each draw, a column for each.

    The records are assumed to lie as their law says. ``step`` is that of the grid, to which points are rounded.
    """
    rng = np.random.default_rng(0)
    order = sorted(nodes, key=lambda node: node.place)
    shares = _global_shares(nodes)
    rates = {node.place: float(find_rate(node, spreads)) * size for node in nodes}
    around = [
        shares[node.place] + _AROUND[:: 1 if len(nodes) < 20 else 4] / max(rates[node.place], 1e-9) for node in order
    ]
    places = law.at(np.clip(np.concatenate([*around, np.linspace(0, 1, _EVEN)]), 0, 1))
    points = np.unique(np.concatenate([places, np.linspace(law.points[0], law.points[-1], _EVEN)]))
    ranks = law.rank(points)
    # Every point stands for all points that are nearest to it.
    edges = np.concatenate([points[:1], (points[1:] + points[:-1]) / 2, points[-1:]])
    widths = np.diff(edges)
    if nodes[0].together:
        indices = _simulate_together(ranks, widths, np.array([shares[node.place] for node in order]), rates[0], draws)
        truth = law.at(np.array([shares[node.place] for node in order]))
        errors = np.asarray(points[indices] - truth, dtype=np.float64)
        return errors + rng.uniform(-step / 2, step / 2, errors.shape)
    places_of: dict[int, Array] = {}
    for node in nodes:
        low = np.zeros(draws, int) if node.below is None else places_of[node.below]
        high = np.full(draws, len(points) - 1) if node.above is None else places_of[node.above]
        # Draws within the same places have the same weights.
        pairs, which = np.unique(low * len(points) + high, return_inverse=True)
        low, high = np.divmod(pairs, len(points))
        first = np.zeros(len(pairs)) if node.below is None else ranks[low]
        last = np.ones(len(pairs)) if node.above is None else ranks[high]
        target = first + float(node.share) * (last - first) + node.shift / max(size, 1)
        off, tilt = ranks - target[:, None], float(node.tilt)
        scores = 2 * np.maximum(tilt * off, (tilt - 1) * off) * rates[node.place]
        place = np.arange(len(points))
        inside = (place >= low[:, None]) & (place <= high[:, None])
        if node.inward:
            scores = scores + float(INWARD) * (2 * (points - points[0]) / max(points[-1] - points[0], 1e-300) - 1) ** 2
        scores = np.where(inside, scores, np.inf)
        weights = np.where(inside, widths, 0.0) * np.exp(-(scores - scores.min(axis=1, keepdims=True)))
        sums = weights.cumsum(axis=1)
        empty = sums[:, -1] <= 0
        sums[empty] = np.where(place >= low[empty][:, None], 1.0, 0.0)
        indices = _find_places(sums, which, rng.random(draws) * sums[which, -1])
        places_of[node.place] = np.clip(indices, low[which], high[which])
    truth = law.at(np.array([shares[node.place] for node in order]))
    differences = np.stack([points[places_of[node.place]] for node in order], axis=1) - truth
    return differences + rng.uniform(-step / 2, step / 2, differences.shape)


def _find_places(sums: Array, which: Any, targets: Array) -> Any:
    """The place of each target among the sums of its row: how many of them are smaller."""
    places = np.empty(len(targets), int)
    order = np.argsort(which, kind="stable")
    starts = np.searchsorted(which[order], np.arange(len(sums) + 1))
    for row, start, end in zip(sums, starts[:-1], starts[1:], strict=True):
        places[order[start:end]] = np.searchsorted(row, targets[order[start:end]])
    return places


def _simulate_together(ranks: Array, widths: Array, shares: Array, rate: float, draws: int) -> Array:
    """Places of quantiles that are drawn together: forward sums of weights, then draws from the last to the first."""
    rng = np.random.default_rng(0)
    gaps = np.diff(np.concatenate([[0.0], shares]))
    # Steps from one place to another that is not below it.
    upward = np.tril(np.ones((len(ranks), len(ranks))))
    steps = [
        np.exp(-np.minimum(rate / 2 * np.abs(ranks[:, None] - ranks - gap), 700.0)) * upward * widths
        for gap in gaps[1:]
    ]
    sums = [np.exp(-np.minimum(rate / 2 * np.abs(ranks - gaps[0]), 700.0))]
    for step in steps:
        following = step @ sums[-1]
        sums.append(following / max(following.max(), 1e-300))
    onward = np.tile(np.exp(-np.minimum(rate / 2 * np.abs(ranks - shares[-1]), 700.0)) * widths, (draws, 1))
    indices: list[Array] = []
    for place in reversed(range(len(shares))):
        weights = (onward * sums[place]).cumsum(axis=1)
        indices.append((weights < rng.random((draws, 1)) * weights[:, -1:]).sum(axis=1).clip(0, len(ranks) - 1))
        if place:
            onward = steps[place - 1][indices[-1]]
    return np.stack(indices[::-1], axis=1)


# Tilts are multiples of one over this. A tilt other than a half must reduce the error by at least a twentieth.
_TILTS = 20
_WORTH = 0.95


def find_tilt(share: Fraction, rows: int, rate: float, spread: float) -> Fraction:
    """The best steepness of scores above the wanted rank, if records lie evenly in the middle of the points.

    Where few records lie on one side of a quantile, points beyond all of them are still likely: scores that are steeper
    on that side, and less steep on the other, make them rarer. ``rate`` is the mean of both, and ``spread`` the part of
    the points that records take.

    >>> find_tilt(Fraction(9, 10), 500, 0.05, 0.5), find_tilt(Fraction(9, 10), 5000, 0.05, 0.5)
    (Fraction(3, 4), Fraction(1, 2))
    """
    even = _expected_square(share, rows, rate, spread, 0.5)
    squares = {k: _expected_square(share, rows, rate, spread, k / _TILTS) for k in range(2, _TILTS - 1)}
    best = min(squares, key=lambda k: squares[k])
    return Fraction(best, _TILTS) if squares[best] < _WORTH**2 * even else Fraction(1, 2)


def _expected_square(share: Fraction | float, rows: int, rate: float, spread: float, tilt: float) -> float:
    """The mean squared error of a point, if all points together have the length one."""
    mass = square = 0.0
    gap, beyond = spread / rows, (1 - spread) / 2
    for part, steep in ((float(share), 2 * rate * (1 - tilt)), (1 - float(share), 2 * rate * tilt)):
        count = part * rows
        left = math.exp(-min(steep * count, 700.0))
        mass += gap * (1 - left) / steep + beyond * left
        inside = 2 / steep**3 - left * (count**2 / steep + 2 * count / steep**2 + 2 / steep**3)
        first, last = part * spread, part * spread + beyond
        square += gap**3 * max(inside, 0.0) + left * (last**3 - first**3) / 3
    return square / mass


def expected_square_of_draws(nodes: Sequence[Node], spreads: Sequence[Fraction], rows: int, spread: float) -> float:
    """The mean squared error of several points that are drawn, if records lie evenly in the middle of all points.

    All points together have the length one. If points are drawn together, the rank of the k-th of m has the variance
    8 k (m+1-k)/(m+1) - 2 in T², about as between m+1 gaps that have the variance 8 T² each and add up to zero. In a
    halving, the errors of draws that others depend on add up.
    """
    shares, count = _global_shares(nodes), len(nodes)
    if nodes[0].together:
        gaps = [8 * (node.place + 1) * (count - node.place) / (count + 1) - 2 for node in nodes]
        rates = [math.sqrt(2 / gap) / float(spreads[0]) for gap in gaps]
    else:
        rates = [float(find_rate(node, spreads)) for node in nodes]
    squares = {
        node.place: _expected_square(shares[node.place], rows, rate, spread, 0.5)
        for node, rate in zip(nodes, rates, strict=True)
    }
    if nodes[0].together:
        return math.fsum(squares.values()) / count
    parts = list_parts(nodes).values()
    return math.fsum(float(part) ** 2 * squares[place] for each in parts for place, part in each.items()) / count


def expected_square_of_counts(
    shares: Sequence[Fraction], rows: int, scale: float, cells: int, points: int, spread: float
) -> float:
    """The mean squared error of points that are read from noisy counts of cells, if records lie evenly in the middle.

    All points together have the length one. The cells that have records have noise of that scale, which adds up to
    zero; and records may lie anywhere on the points of their cell.
    """
    between = math.fsum(float(share * (1 - share)) for share in shares) / len(shares)
    noise = 2 * scale**2 * max(spread * cells, 1.0) * between * (spread / rows) ** 2
    return noise + max(1 / cells**2 - 1 / points**2, 0.0) / 12


def _global_shares(nodes: Sequence[Node]) -> dict[int, float]:
    """The share of all records for each draw."""
    shares: dict[int, float] = {}
    for node in nodes:
        low = 0.0 if node.below is None else shares[node.below]
        high = 1.0 if node.above is None else shares[node.above]
        shares[node.place] = low + float(node.share) * (high - low)
    return shares
