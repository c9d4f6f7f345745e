"""What the exponential mechanism makes of records whose distribution is known: simulated, in double precision."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from inbounds._check import Array
from inbounds.grid.nodes import Node, find_rate


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
        # Ranks that are equal would leave the point open: the first is meant.
        keep = np.concatenate([[True], np.diff(self.ranks) > 0])
        return np.asarray(np.interp(shares, self.ranks[keep], self.points[keep]))

    def rank(self, points: Array) -> Array:
        """The ranks of some points."""
        return np.asarray(np.interp(points, self.points, self.ranks))


# Places around each quantile, in scales of its rank.
_AROUND = np.concatenate([-np.geomspace(40, 0.02, 24), [0.0], np.geomspace(0.02, 40, 24)])
_EVEN = 300


def simulate_choices(
    law: Spread, nodes: Sequence[Node], spreads: Sequence[Fraction], size: int, step: float, draws: int
) -> Array:
    """Errors of the points that are chosen of ``size`` records with that law: a row for each draw, a column each.

    The records are taken to lie as their law says. ``step`` is that of the grid, to which points are rounded.
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
    # Every point stands for those that are nearer to it than to another.
    edges = np.concatenate([points[:1], (points[1:] + points[:-1]) / 2, points[-1:]])
    widths = np.diff(edges)
    chosen: dict[int, Array] = {}
    for node in nodes:
        low = np.zeros(draws, int) if node.below is None else chosen[node.below]
        high = np.full(draws, len(points) - 1) if node.above is None else chosen[node.above]
        first = np.zeros(draws) if node.below is None else ranks[low]
        last = np.ones(draws) if node.above is None else ranks[high]
        target = first + float(node.share) * (last - first)
        scores = np.abs(ranks - target[:, None]) * rates[node.place]
        place = np.arange(len(points))
        inside = (place >= low[:, None]) & (place <= high[:, None])
        scores = np.where(inside, scores, np.inf)
        weights = np.where(inside, widths, 0.0) * np.exp(-(scores - scores.min(axis=1, keepdims=True)))
        sums = weights.cumsum(axis=1)
        empty = sums[:, -1] <= 0
        sums[empty] = np.where(place >= low[empty][:, None], 1.0, 0.0)
        drawn = (sums < rng.random((draws, 1)) * sums[:, -1:]).sum(axis=1)
        chosen[node.place] = np.clip(drawn, low, high)
    truth = law.at(np.array([shares[node.place] for node in order]))
    made = np.stack([points[chosen[node.place]] for node in order], axis=1) - truth
    return made + rng.uniform(-step / 2, step / 2, made.shape)


def _global_shares(nodes: Sequence[Node]) -> dict[int, float]:
    """The share of all records of each draw."""
    found: dict[int, float] = {}
    for node in nodes:
        low = 0.0 if node.below is None else found[node.below]
        high = 1.0 if node.above is None else found[node.above]
        found[node.place] = low + float(node.share) * (high - low)
    return found
