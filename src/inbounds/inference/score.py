"""Intervals of means from noisy sums of values and of their squares, whatever the law of the records.

Values are u in [-1, 1], A is the noisy Σu, B the noisy Σu² and C the number of records, public or noisy. For the mean m
of the population the score A - mC has mean 0, and its sampling variance is about V = B - 2mA + m²C, the sum of squares
about m. An m is kept if the score is no farther out than noise of the certified law and a normal error of variance V
are in a tail of α/2. Two things are added to V:

- K (1 + m)² where the score is above 0, and K (1 - m)² where it is below, for records at the far end of the bounds that
  happen not to be in the sample. If np such records are expected, all are missing with probability e^(-np). A tail of
  α/2 has np = log(2/α), and the score is then off by np (1 ± m). With K = (log(2/α)/z)², where z is the normal
  quantile, such an m is kept: 3.54 for 95%.
- A third of the standard deviation of the noise of B, since critical values are concave in V.

Coverage is shown by simulation, not proved: `bench/intervals.py` has the laws that were tried.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from inbounds._check import Array
from inbounds.expected import norm_parts
from inbounds.inference.laws import Laplace
from inbounds.inference.roots import bracket_root
from inbounds.inference.simulated import enough_draws
from inbounds.laws.vectors import vector_noise
from inbounds.privacy.certificate import Certificate

METHOD = "score interval from the noisy sum and sum of squares"
ASSUMPTION = "coverage was shown for many laws on the bounds, and is not proved for all"
# How many draws are used for noise without a closed form, and how many means are tried before limits are bracketed.
DRAWS, GRID = 16_384, 24
# The width of a bracket, as a part of the distance between two of these means.
WIDTH = 2**-22
OF_SQUARES = 1 / 3


@dataclass(frozen=True, slots=True, eq=False)
class Noisy:
    """Noisy sums of one group: the number of records, Σu and Σu², each as drawn.

    ``noise`` are draws of the noise of the number and of Σu, or Laplace noise of Σu where the number is public.
    ``off`` is the standard deviation of the noise of Σu².
    """

    count: float
    total: float
    squares: float
    noise: Array | Laplace
    off: float


def rare(alpha: float) -> float:
    """The K for records that are not in the sample; see above.

    >>> round(rare(0.05), 2), round(rare(0.1), 2)
    (3.54, 3.32)
    """
    return float((math.log(2 / alpha) / scipy.special.ndtri(1 - alpha / 2)) ** 2)


# claim:score-interval
def limits(cell: Noisy, alpha: float) -> tuple[float, float]:
    """The smallest and the largest mean in [-1, 1] that is kept."""
    if not isinstance(cell.noise, Laplace):
        enough_draws(alpha, DRAWS)
    return limits_of_draws(cell, alpha)


def limits_of_draws(cell: Noisy, alpha: float) -> tuple[float, float]:
    """The same for tails of any size, also with fewer draws than an exact tail needs."""
    count, total = cell.count, cell.total
    centre = float(np.clip(total / count, -1.0, 1.0)) if count > 0 else 0.0

    # No draw of the noise is farther out than this.
    widest = (0.0, 0.0) if isinstance(cell.noise, Laplace) else tuple(np.abs(cell.noise).max(axis=0).tolist())

    def excess(mean: float) -> float:
        score, deviation = _score(cell, mean, alpha)
        if not isinstance(cell.noise, Laplace) and deviation > 0:
            # Far out, the largest tail of any draw decides, and the others are not needed.
            most = float(scipy.special.ndtr((widest[1] + abs(mean) * widest[0] - score) / deviation))
            if most < alpha / 4:
                return in_deviations(most) - in_deviations(alpha / 2)
        return in_deviations(upper_tail(cell, mean, score, deviation)) - in_deviations(alpha / 2)

    if excess(centre) < 0:
        # Without records, or with a larger sum than they can have, only the nearest mean is left.
        return (centre, centre) if count > 0 else (-1.0, 1.0)
    return _outermost(excess, -1.0, centre), _outermost(excess, 1.0, centre)


def p_value(cell: Noisy, mean: float, alpha: float = 0.05) -> float:
    """Twice the probability of a score as far from 0 as the one of this mean, or farther to that side."""
    return 2 * upper_tail(cell, mean, *_score(cell, mean, alpha))


def _score(cell: Noisy, mean: float, alpha: float) -> tuple[float, float]:
    """How far the score of a mean is from 0, and the standard deviation of its sampling error."""
    score = cell.total - mean * cell.count
    spread = cell.squares - 2 * mean * cell.total + mean**2 * cell.count
    reach = 1 + mean if score > 0 else 1 - mean
    spread = max(spread, 0.0) + OF_SQUARES * cell.off + rare(alpha) * reach**2
    return abs(score), math.sqrt(spread)


def upper_tail(cell: Noisy, mean: float, score: float, deviation: float) -> float:
    """P(noise of the score + normal error ≥ score), at a mean."""
    if isinstance(cell.noise, Laplace):
        return normal_laplace_tail(score, deviation, cell.noise.scale)
    noise = cell.noise[:, 1] - mean * cell.noise[:, 0]
    if deviation <= 0:
        return float(np.mean(noise >= score))
    # The noise is symmetric, so both of its signs count.
    both = scipy.special.ndtr((noise - score) / deviation) + scipy.special.ndtr((-noise - score) / deviation)
    return float(both.mean()) / 2


# claim:normal-laplace
def normal_laplace_tail(x: float, deviation: float, scale: float) -> float:
    """P(N + L ≥ x) for a normal N and a Laplace L, without overflow."""
    if scale <= 1e-6 * deviation:
        return float(scipy.special.ndtr(-x / deviation))
    if deviation <= 1e-9 * scale:
        tail = math.exp(-abs(x) / scale) / 2
        return tail if x >= 0 else 1 - tail
    log_ndtr, ratio, place = scipy.special.log_ndtr, deviation / scale, x / deviation
    # Where the exponent is large and log_ndtr cancels it, both terms are at most the normal tail.
    above = math.exp(min(ratio**2 / 2 - x / scale + float(log_ndtr(place - ratio)), 0.0))
    below = math.exp(min(ratio**2 / 2 + x / scale + float(log_ndtr(-place - ratio)), 0.0))
    return float(scipy.special.ndtr(-place)) + (above - below) / 2


def in_deviations(tail: float) -> float:
    """The point of a normal law with this probability below it, finite also for 0 and 1.

    Far out, tails are flat as functions of the mean. These numbers are almost linear, so roots are found in fewer
    steps.
    """
    return float(scipy.special.ndtri(min(max(tail, 1e-300), 1 - 1e-16)))


def _outermost(excess: Callable[[float], float], end: float, centre: float) -> float:
    """The mean nearest to an end of the bounds that has an excess of 0 or more, rounded outwards."""
    points = [float(x) for x in np.linspace(end, centre, GRID)]
    first = next(i for i, mean in enumerate(points) if mean == centre or excess(mean) >= 0)
    if first == 0:
        return end
    low, high = sorted(points[first - 1 : first + 1])
    below, above = bracket_root(excess, low, high, WIDTH * (high - low))
    return below if end < centre else above


@lru_cache(maxsize=8)
def draw_joint(part: Certificate, places: tuple[int, ...], draws: int = DRAWS) -> Array:
    """Draws of some coordinates of joint noise, with a fixed seed, the same for everyone.

    Radii are quantiles of their law, in random order, so that tails have the right number of draws.
    """
    rng = np.random.default_rng(6)
    radii = _radii(part.dimension, draws)[rng.permutation(draws)]
    vectors = vector_noise(part.dimension, norm_parts(part), rng, (draws,), places, radii)
    return np.asarray(vectors * float(part.spread))


@lru_cache(maxsize=8)
def _radii(dimension: int, draws: int) -> Array:
    """Quantiles of the radius of a vector of so many coordinates."""
    return np.asarray(scipy.special.gammaincinv(dimension + 1, (np.arange(draws) + 0.5) / draws))
