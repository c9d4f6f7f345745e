"""Limits of a parameter that at least one of several scores keeps.

A score of a parameter θ is a noisy number that has mean 0 at the true θ: ``start`` - θ ``slope``. Its noise is a
combination of drawn noise, and its sampling error is normal. Means and variances that are not known exactly give
several scores (`inbounds.inference.products`), and the limit is the θ farthest out that one of them keeps.

The tail of a score is a mean over thousands of draws. The number of standard deviations at which a tail is α/2 hardly
differs between scores of one parameter. So one score that was worked out shows which of the others keep the same θ, and
about where their limits lie; only those for which it is close are worked out as well.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy

from inbounds._check import Array
from inbounds.inference.roots import bracket_root
from inbounds.inference.score import in_deviations

# How many parameters are tried first; and the width of a bracket, as a part of the distance between two of them.
_GRID, _WIDTH = 8, 2**-18
_TINY = 1e-12
# How far the distances of two scores with the same tail may be apart, as a part of them: this, and parts of how
# far their noise is from a multiple of each other, and of how far its share of the variance differs.
_APART, _APART_OF_NOISE, _APART_OF_SHARES = 1e-4, 0.15, 0.3
# How far a limit is looked for from where another score puts it, or the fourth moment of its own, as a part of its
# distance from the centre.
_NEAR, _ABOUT = 0.003, 0.08
# The most steps towards such a place, and how near the distance must have been for the last one.
_STEPS, _CLOSE = 4, 0.05

Ends = tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Draws of noise, one column for each number, with their moments and the size of the largest."""

    values: Array
    means: Array
    covariances: Array
    largest: Array

    @classmethod
    def of(cls, values: Array) -> "Draws":
        """The draws with their moments."""
        means = values.mean(axis=0)
        covariances = values.T @ values / len(values) - np.outer(means, means)
        # Products of all draws are faster with the draws of one number side by side.
        return cls(np.asfortranarray(values), means, covariances, np.abs(values).max(axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores ``start`` - θ ``slope`` of all θ at some means, their noise, and a bound on their sampling variance.

    The noise is that of the draws with ``weights`` - θ ``weights_of_slope``.
    """

    start: float
    slope: float
    draws: Draws
    weights: Array
    weights_of_slope: Array
    spread: Callable[[float], float]

    def tail(self, theta: float, side: int, enough: float) -> float:
        """P(noise + normal error is as far to one side as the score of θ, or farther).

        If no draw of the noise makes that as likely as ``enough``, it is an upper bound below ``enough``.
        """
        score, weights = self.start - theta * self.slope, self.weights - theta * self.weights_of_slope
        deviation = math.sqrt(max(self.spread(theta), _TINY))
        nearest = float(self.draws.largest @ np.abs(weights)) - side * score
        if (most := float(scipy.special.ndtr(nearest / deviation))) < enough:
            return most
        distance = self.draws.values @ (weights * (side / deviation)) - side * score / deviation
        return float(scipy.special.ndtr(distance).mean())

    def distance(self, theta: float, side: int) -> tuple[float, float]:
        """How many standard deviations the score of θ is to one side, and the standard deviation."""
        weights = self.weights - theta * self.weights_of_slope
        score = self.start - theta * self.slope - float(weights @ self.draws.means)
        noise = float(weights @ self.draws.covariances @ weights)
        deviation = math.sqrt(max(self.spread(theta), _TINY) + max(noise, 0.0))
        return side * score / deviation, deviation

    def expect_distance(self, theta: float, z: float) -> float:
        """About the distance with the tail of a normal law at z, by the fourth moment (Cornish and Fisher)."""
        noise = self.draws.values @ (self.weights - theta * self.weights_of_slope)
        squares = (noise - noise.mean()) ** 2
        spread = max(self.spread(theta), _TINY) + float(squares.mean())
        excess = (float((squares**2).mean()) - 3 * float(squares.mean()) ** 2) / spread**2
        return float(np.clip(z + excess / 24 * (z**3 - 3 * z), 0.8 * z, 1.2 * z))


def find_distances(scores: Sequence[Scores], theta: float, side: int) -> Array:
    """How many standard deviations the score of θ is to one side, for several scores with the same draws; and in the
    other rows how far this may be from that of the first one where both have the same tail.
    """
    draws = scores[0].draws
    weights = np.array([one.weights - theta * one.weights_of_slope for one in scores])
    score = np.array([one.start - theta * one.slope for one in scores]) - weights @ draws.means
    spread = np.array([max(one.spread(theta), _TINY) for one in scores])
    products = weights @ draws.covariances
    noise = np.maximum((products * weights).sum(axis=1), 0.0)
    alike = (products @ weights[0]) ** 2 / np.maximum(noise * noise[0], 1e-300)
    shares = noise / (spread + noise)
    apart = _APART + _APART_OF_NOISE * np.sqrt(np.maximum(1 - alike, 0.0)) * shares
    return np.stack([side * score / np.sqrt(spread + noise), apart + _APART_OF_SHARES * np.abs(shares - shares[0])])


def find_limits(scores: Sequence[Scores], lowest: float, highest: float, alpha: float) -> Ends:
    """The smallest and the largest θ that at least one of the scores keeps."""
    first = scores[0]
    centre = min(max(first.start / first.slope, lowest), highest) if first.slope > 0 else (lowest + highest) / 2
    return _find_limit(scores, centre, lowest, 1, alpha), _find_limit(scores, centre, highest, -1, alpha)


def _find_limit(scores: Sequence[Scores], centre: float, end: float, side: int, alpha: float) -> float:
    """The limit towards an end. The score that keeps most at the present limit moves it on, as long as there is one."""
    enough, level = alpha / 4, in_deviations(alpha / 2)

    def excess(theta: float, candidate: Scores) -> float:
        return in_deviations(candidate.tail(theta, side, enough)) - level

    present, left = scores[0], list(scores[1:])
    known = present.expect_distance(centre, -level)
    limit = _move(partial(excess, candidate=present), present, (centre, centre, end), known, side, _ABOUT)
    if limit == centre:
        # The first score keeps nothing there. Others may keep a θ farther out.
        limits = [_outermost(partial(excess, candidate=candidate), end, centre) for candidate in left]
        return max(limits, key=lambda x: abs(x - centre), default=centre)
    while limit != end and left:
        (known, *others), (_, *apart) = find_distances([present, *left], limit, side).tolist()
        if not known > -level / 2:
            # The tail of the present score is not α/2 there: it jumps between draws.
            apart = [math.inf] * len(left)
        ratios = [other / known if known > 0 else 1.0 for other in others]
        kept = [
            (ratio, candidate)
            for ratio, off, candidate in zip(ratios, apart, left, strict=True)
            if ratio < 1 - off or (ratio <= 1 + off and excess(limit, candidate) >= 0)
        ]
        if not kept:
            break
        _, present = min(kept, key=lambda pair: pair[0])
        left = [candidate for _, candidate in kept if candidate is not present]
        limit = _move(partial(excess, candidate=present), present, (centre, limit, end), known, side, _NEAR)
    return limit


def _move(
    excess: Callable[[float], float],
    candidate: Scores,
    places: tuple[float, float, float],
    known: float,
    side: int,
    near: float,
) -> float:
    """The limit of a candidate between a limit and the end, where that and the centre have these places.

    It is looked for near the place at which the score has the known distance, and elsewhere if it is not there.
    """
    centre, limit, end = places
    guess = _guess(candidate, limit, known, side)
    if guess is None or abs(guess - centre) >= abs(end - centre) or (guess - centre) * (end - centre) <= 0:
        return _outermost(excess, end, limit)
    guess = max(limit, guess, key=lambda x: abs(x - centre))
    outer, inner = guess + near * (guess - centre), guess - near * (guess - centre)
    inner = max(limit, inner, key=lambda x: abs(x - centre))
    if abs(outer - centre) < abs(end - centre) and (at_outer := excess(outer)) < 0 <= (at_inner := excess(inner)):
        return _round_outwards(excess, outer, inner, abs(end - limit) / (_GRID - 1), (at_outer, at_inner))
    return _outermost(excess, end, limit)


def _guess(candidate: Scores, theta: float, known: float, side: int) -> float | None:
    """About where the score has the known distance, from a θ nearby or in some steps; None if it depends on no θ."""
    for _ in range(_STEPS):
        distance, deviation = candidate.distance(theta, side)
        if not candidate.slope > 0:
            return None
        step = side * (distance - known) * deviation / candidate.slope
        theta += step
        if abs(distance / known - 1) < _CLOSE:
            break
    return theta


def _outermost(excess: Callable[[float], float], end: float, centre: float) -> float:
    """The parameter nearest to an end that has an excess of 0 or more, rounded outwards."""
    before = (end, -math.inf)
    for x in np.linspace(end, centre, _GRID).tolist():
        if (found := excess(x)) >= 0:
            outer, at_outer = before
            unit = abs(outer - x)
            return end if x == end else _round_outwards(excess, outer, x, unit, (at_outer, found))
        before = (x, found)
    return centre


def _round_outwards(
    excess: Callable[[float], float], outer: float, inner: float, unit: float, ends: tuple[float, float]
) -> float:
    """The root between two parameters, from the outer side. Between close ones an excess is almost a line."""
    width, (at_outer, at_inner) = _WIDTH * unit, ends
    if abs(outer - inner) > width:
        middle = outer + (inner - outer) * at_outer / (at_outer - at_inner)
        step = math.copysign(0.45 * width, outer - inner)
        for x in (middle + step, middle - step):
            if not min(outer, inner) < x < max(outer, inner):
                continue
            if (found := excess(x)) >= 0:
                inner, at_inner = x, found
            else:
                outer, at_outer = x, found
    if abs(outer - inner) <= width:
        return outer
    (low, at_low), (high, at_high) = sorted(zip((outer, inner), (at_outer, at_inner), strict=True))
    below, above = bracket_root(excess, low, high, width, ends=(at_low, at_high))
    return below if outer < inner else above
