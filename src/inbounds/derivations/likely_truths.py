"""Many plausible truths, each as likely as the others: those of the columns that offices publish.

Errors often depend on the spread of a column relative to its bounds, on where its mean lies and on sizes of groups.
So a promise about errors is made for most of these truths. With W the width of the bounds, and nothing stated:

- half of the columns hold amounts (incomes, delays, counts of things). Their standard deviations are log-even from W/60
  to W/6, and their means lie 1.5 standard deviations above the lower bound;
- half hold measures (ages, scores, sizes). Their standard deviations are log-even from W/20 to W/4, and their means are
  even over the inner 70% of the bounds;
- correlations are even from 0 to 0.9;
- the sizes of J groups are a geometric sequence that adds up to all records. The largest is 1 to 16^√(J-1) times the
  smallest (but at most 20,000 times), log-even: the more groups there are, the rarer is the rarest;
- selections are log-even from a hundredth of the records to all of them.

`bench/least_epsilon.py` compares these with 76 columns of public tables. What is stated takes the place of each:
standard deviations and sizes are then log-even over their ranges, means even.
"""

import math

import numpy as np

from inbounds._check import Array
from inbounds.derivations.base import Situation
from inbounds.derivations.truths import CORRELATED, FROM_BOUND, FROM_MIDDLE, SPREADS, Known, Truth, Truths, correlate

# How many times as large as the smallest the largest of two groups is at most, and that of any number of groups.
_UNEVEN, _MOST_UNEVEN = 16.0, 20_000.0


def list_likely(truths: Truths, count: int) -> tuple[Truth, ...]:
    """So many truths that are equally likely; the one that there is if nothing else is plausible."""
    known = truths.known
    if known is None:
        return (truths.typical,)
    rng = np.random.default_rng(0)
    columns = [_draw_column(known, place, count, rng) for place in range(len(known.ranges))]
    spreads, means = (np.array([column[k] for column in columns]).T.reshape(count, -1) for k in (0, 1))
    several = len(columns) > 1 and known.matrix is None
    correlations = CORRELATED * _strata(count, rng) if several else np.zeros(count)
    sizes = _list_sizes(known, _strata(count, rng))
    return tuple(
        Truth(means[k], correlate(spreads[k], correlations[k]) if known.matrix is None else known.matrix, sizes[k])
        for k in range(count)
    )


def _strata(count: int, rng: np.random.Generator) -> Array:
    """The middles of equal parts of [0, 1], in a random order, so that several columns are combined at random."""
    return np.asarray((rng.permutation(count) + 0.5) / count)


def _draw_column(known: Known, place: int, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Standard deviations and means of one column."""
    lower, upper = known.situation.columns[place].tolist()
    ranges, kind, half = known.ranges[place], known.kinds[place], (upper - lower) / 2
    parts = _strata(count, rng)
    amounts = np.full(count, kind == "amount") if kind is not None else parts < 0.5
    # Within each kind, parts go from 0 to 1 again.
    within = parts if kind is not None else 2 * parts % 1.0
    ends = [np.where(amounts, *(SPREADS[name][k] for name in ("amount", "measure"))) * 2 * half for k in (0, 1)]
    low, high = ranges.get("sd", ends)
    spreads = _between(low, high, within)
    if known.matrix is not None:
        spreads = np.full(count, np.sqrt(known.matrix[place, place]))
    even = _strata(count, rng)
    around = (lower + upper) / 2 + FROM_MIDDLE * half * (2 * even - 1)
    means = np.where(amounts, np.minimum(lower + FROM_BOUND * spreads, (lower + upper) / 2), around)
    if "mean" in ranges:
        means = ranges["mean"][0] + even * (ranges["mean"][1] - ranges["mean"][0])
        if "sd" not in ranges and known.matrix is None:
            spreads = np.minimum(spreads, _room(means - (lower + upper) / 2, half))
    far = _room(spreads, half)
    return spreads, np.clip(means, (lower + upper) / 2 - far, (lower + upper) / 2 + far)


def _between(low: Array | float, high: Array | float, parts: Array) -> Array:
    """Log-even between two ends; even if one of them is 0."""
    if np.min(low) > 0:
        return np.asarray(low * (np.asarray(high) / low) ** parts)
    return np.asarray(low + (np.asarray(high) - low) * parts)


def _room(part: Array, half: float) -> Array:
    """Values in [-1, 1] with mean m have a variance of at most 1 - m²: the largest mean of a spread, or the reverse."""
    return np.asarray(half * np.sqrt(np.maximum(1 - (part / half) ** 2, 0.0)))


def _list_sizes(known: Known, parts: Array) -> list[Array]:
    """The sizes of groups of each truth, or the size of its selection."""
    situation: Situation = known.situation
    # Waves of a panel do not divide its persons, and a selection is any part of a table.
    if situation.groups == 1 or situation.waves is not None:
        low, high = known.sizes[0], known.sizes[-1]
        return [np.asarray(low * (high / low) ** part) for part in parts]
    if any("size" in column for column in known.ranges):
        return [known.sizes[1 % len(known.sizes)]] * len(parts)
    uneven = min(_UNEVEN ** math.sqrt(situation.groups - 1), _MOST_UNEVEN)
    shares = [np.geomspace(1.0, uneven**part, situation.groups) for part in parts]
    return [np.maximum(share / share.sum() * situation.known_size(), 1.0) for share in shares]
