"""Intervals of quantiles, and of the distribution function, whatever the law of the records.

A released point says where its rank is, not what lies around it. So the interval of a quantile ends at other points
that were drawn: one whose rank is surely below the wanted rank, and one whose rank is surely above. If one of N points
is chosen with probability ∝ e^(-score/T), its score is d or more with a probability of at most (N - 1) e^(-d/T), since
one of the points has a score of 0 or less. In recursive halving the cuts on either side were drawn before, and their
ranks are off, too; a cut through a point with many records has 256 places, one of which is right to n/512. If m
quantiles are drawn together, no rank is off by more than their score. There are at most (N 2^L)^m/m! tuples of places,
with 2^L > n, and one of them has ranks that are off by at most a half, so that its score is at most m/2, if there is a
record for every gap.

The rank of the population's quantile in a table of n records is binomial, or beyond it where records are equal to it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import scipy

from inbounds import _check
from inbounds._check import Array
from inbounds.derivations import Chosen
from inbounds.grid.nodes import Node, find_rate
from inbounds.inference.cells import bound_shares, read_between_cells
from inbounds.inference.result import KINDS, require_release
from inbounds.inference.spreads import RawInterval
from inbounds.privacy.certificate import Certificate
from inbounds.privacy.terms import Terms
from inbounds.record.release import Kind, Release

SECRET = "the bounds, since the number of records is secret and ranks cannot be told from the record"
METHOD = "points drawn on either side, whose ranks are bounded"
NONE = "the bounds, since no point was drawn that is surely on one side at this confidence"
# How many places a point has that is cut.
_PARTS = 256
# The share of ε of the quantile itself, where points on either side are drawn for its interval.
OWN_SHARE = Fraction(2, 5)
# Flanks are multiples of one over this.
_DECIMALS = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class _Ranks:
    """How far the ranks of drawn points may be off, except with probability α: Σ scale (reach + log 1/α).

    There is a row for each point in order, with an entry for each draw that it depends on.
    """

    scales: list[Array]
    reaches: list[Array]
    fixed: list[float]

    def off(self, place: int, alpha: float) -> float:
        """The distance in records that the error of a rank exceeds with a probability of at most α, on one side."""
        scales = self.scales[place]
        far = scales * (self.reaches[place] + np.log(len(scales) / alpha))
        return float(far.sum()) + self.fixed[place]


def _ranks_of(nodes: Sequence[Node], spreads: Sequence[Fraction], points: int, rows: int) -> _Ranks:
    terms: dict[int, tuple[list[float], list[float], float]] = {}
    for node in nodes:
        # On the side where scores are less steep.
        scale = 1 / float(2 * min(node.tilt, 1 - node.tilt) * find_rate(node, spreads))
        reach = np.log(points * (_PARTS if node.inner else 1))
        if node.together:
            reach = _reach_together([each.share for each in nodes], points, rows, scale)
        scales, reaches, fixed = [scale], [reach], rows / (2 * _PARTS) if node.inner else 0.0
        # Errors of the cuts on either side move the wanted rank between them.
        for other, weight in ((node.below, 1 - float(node.share)), (node.above, float(node.share))):
            if other is not None and weight:
                scales += [weight * each for each in terms[other][0]]
                reaches += terms[other][1]
                fixed += weight * terms[other][2]
        terms[node.place] = scales, reaches, fixed
    order = sorted(terms)
    return _Ranks(
        [np.array(terms[k][0]) for k in order], [np.array(terms[k][1]) for k in order], [terms[k][2] for k in order]
    )


def _reach_together(shares: Sequence[Fraction], points: int, rows: int, scale: float) -> float:
    """The logarithm of the number of tuples for each right one."""
    if rows * min(b - a for a, b in pairwise((Fraction(0), *shares, Fraction(1)))) < 1:
        return math.inf
    places = math.log(points) + rows.bit_length() * math.log(2)
    return len(shares) * (places + 1 / (2 * scale)) - math.lgamma(len(shares) + 1)


def _read(release: Release) -> tuple[Chosen, _Ranks, int]:
    way, rows = release.derivation.as_chosen, release.rows
    if way is None:
        raise TypeError("release must be of quantiles")
    if rows is None or way.groups > 1:
        raise ValueError(
            "the number of records is protected here, so that ranks cannot be told from the record; use "
            "neighbours='substitute' and all records, or release counts of intervals with histogram"
        )
    certificate = release.certificate
    parts = (certificate,) if isinstance(certificate, Certificate) else certificate.parts
    points = way.points
    count = int(parts[0].move) + 1 if points is None else len(points)
    return way, _ranks_of(way.nodes, [part.grid.scale.steps for part in parts], count, rows), rows


# claim:interval-quantile
def limit_quantiles(release: Release, alpha: float, population: bool) -> RawInterval:
    """The nearest drawn points that are surely on either side, or else the bounds.

    Each side is missed with a probability of at most α/2, over all draws and, for the population, all samples.
    """
    if release.derivation.as_counted is not None:
        return read_between_cells(release, alpha, population)
    way = release.derivation.as_chosen
    assert way is not None
    low_end, high_end = way.ends(release.numeric_ends())
    if way.shifts:
        return _limit_without_size(release, way, (low_end, high_end), alpha, population)
    if release.rows is None or way.groups > 1:
        count = len(way.shown) * way.groups
        return np.full(count, low_end), np.full(count, high_end), SECRET, ()
    _, ranks, rows = _read(release)
    points = way.all_values(release.noisy)
    shares = [float(share) for share in way.shares]
    lower, upper, sure = [], [], False
    for place in way.shown:
        share = shares[place]
        below = [k for k in range(len(shares)) if _is_below(shares[k], share, ranks, k, rows, alpha / 2, population)]
        mirrored = [1 - other for other in shares]
        above = [
            k for k in range(len(shares)) if _is_below(mirrored[k], 1 - share, ranks, k, rows, alpha / 2, population)
        ]
        lower.append(max([points[k] for k in below], default=low_end))
        upper.append(min([points[k] for k in above], default=high_end))
        sure = sure or bool(below or above)
    return np.array(lower), np.array(upper), METHOD if sure else NONE, ()


# claim:interval-quantile-secret
def _limit_without_size(
    release: Release, way: Chosen, ends: tuple[float, float], alpha: float, population: bool
) -> RawInterval:
    """The same for a secret number of records, by draws with a shift."""
    certificate = release.certificate
    parts = (certificate,) if isinstance(certificate, Certificate) else certificate.parts
    reach = math.log(int(parts[0].move) + 1)
    scales = [float(part.grid.scale.steps) for part in parts]
    low, middle, high = (float(share) for share in way.shares)
    below = bound_miss_of_any(low, middle, scales[0], reach, -way.shifts[0], population=population)
    above = bound_miss_of_any(1 - high, 1 - middle, scales[2], reach, way.shifts[2], population=population)
    points = np.array(way.all_values(release.noisy)).reshape(way.groups, 3)
    lower = points[:, 0] if below <= alpha / 2 else np.full(way.groups, ends[0])
    upper = points[:, 2] if above <= alpha / 2 else np.full(way.groups, ends[1])
    return lower, upper, METHOD if min(below, above) <= alpha / 2 else NONE, ()


def _is_below(flank: float, share: float, ranks: _Ranks, place: int, rows: int, alpha: float, population: bool) -> bool:
    """Whether a point drawn for one share is below the quantile of a larger share, except with a probability of α."""
    if flank >= share:
        return False
    scales = ranks.scales[place]
    if len(scales) == 1 and not ranks.fixed[place]:
        scale, reach = float(scales[0]), float(ranks.reaches[place][0])
        return bound_miss(flank, share, scale, reach, rows, population=population) <= alpha
    if not population:
        return flank * rows + ranks.off(place, alpha) < share * rows
    least = binomial_quantile(alpha / 2, rows, share) - 1
    return flank * rows + ranks.off(place, alpha / 2) < least


def binomial_quantile(chance: float, rows: int, share: float) -> float:
    """The least number of successes that is not exceeded with at least this probability.

    It is ``scipy.stats.binom.ppf``, whose module takes longer to load than a release does.
    """
    least = float(np.ceil(np.clip(np.nan_to_num(scipy.special.bdtrik(chance, rows, share)), 0, rows)))
    while least > 0 and _binomial_cdf(least - 1, rows, share) >= chance:
        least -= 1
    while least < rows and _binomial_cdf(least, rows, share) < chance:
        least += 1
    return least


def _binomial_cdf(successes: Any, rows: int, share: float) -> Any:
    return np.where(np.asarray(successes) < 0, 0.0, scipy.special.bdtr(np.maximum(successes, 0), rows, share))


# How many ranks of a sample are computed one by one; if there are more, some at a time.
_MOST_RANKS = 4000


# claim:flank-chance
def bound_miss(flank: float, share: float, scale: float, reach: float, rows: int, *, population: bool) -> float:
    """Bound the probability that a point drawn for a ``flank`` is above the quantile of ``share``.

    Its rank would have to be off by d = B - flank · n, with B the rank of the quantile, and the probability of that is
    at most e^(reach - d/T). For the population B is binomial, or larger.
    """
    if not population:
        return float(np.exp(min(0.0, reach - (share - flank) * rows / scale)))
    low, high = (binomial_quantile(chance, rows, share) for chance in (1e-12, 1 - 1e-12))
    edges = np.unique(np.floor(np.linspace(low - 1, high, min(_MOST_RANKS, int(high - low) + 2))))
    chances = np.diff(_binomial_cdf(edges, rows, share))
    # Every rank of a step counts as its first one.
    tails = np.exp(np.minimum(0.0, reach - (edges[:-1] + 1 - flank * rows) / scale))
    return float(chances @ tails) + 2e-12


# claim:flank-chance-secret
def bound_miss_of_any(flank: float, share: float, scale: float, reach: float, shift: int, *, population: bool) -> float:
    """Bound the probability that a point drawn for a smaller share, and ``shift`` records
    below, is above the quantile, for every number n of records.

    Its rank would have to be off by B - flank · n + shift, with B the rank of the quantile, share · n in the table. The
    probability is at most E e^(θ(reach T - that)) for every θ ≤ 1/T, and for the population, where B is binomial or
    larger, E e^(-θ(B - flank n)) ≤ 1 for all n up to some θ.
    """
    rate = min(1 / scale, find_exponent(flank, share)) if population else 1 / scale
    return math.exp(min(0.0, -rate * (shift - scale * reach)))


def find_exponent(flank: float, share: float) -> float:
    """The largest θ with e^(θ flank) (1 - share + share e^-θ) ≤ 1, or a little less."""
    low, high = 0.0, -math.log1p(-share) / flank
    for _ in range(60):
        middle = (low + high) / 2
        fits = middle * flank + math.log1p(share * math.expm1(-middle)) <= 0
        low, high = (middle, high) if fits else (low, middle)
    return low


def find_secret_flank(
    share: float, scale: Callable[[float], float], reach: float, size: int, alpha: float
) -> tuple[Fraction, int]:
    """The share and the shift of a point below a quantile, except with probability α, that is nearest for ``size``.

    They follow from public numbers alone.
    """
    candidates: list[tuple[float, Fraction, int]] = []
    for part in range(1, 100):
        flank = Fraction(round(share * part * _DECIMALS / 100), _DECIMALS)
        if not 0 < flank < share:
            continue
        wide = scale(float(flank))
        rate = min(1 / wide, find_exponent(float(flank), share))
        shift = math.ceil(wide * reach + math.log(1 / alpha) / rate + 1e-6)
        candidates.append(((share - float(flank)) * size + shift, flank, shift))
    if not candidates:
        raise ValueError("q is too near to 0 or 1 for an interval; leave out cover=")
    return min(candidates)[1:]


def add_flanks(shares: tuple[Fraction, ...], cover: Fraction | None, terms: Terms, points: int) -> tuple[Fraction, ...]:
    """The share with one more on either side, as near as an interval of that confidence for the population allows;
    a side is left out if it has no share in (0, 1)."""
    if cover is None or terms.rows is None:
        return shares
    (share,) = shares
    scale = 2 * terms.contributions / float(terms.epsilon * (1 - OWN_SHARE) / 2)
    alpha, reach = float(1 - cover) / 2, float(np.log(points))
    below = _find_flank(share, scale, reach, terms.rows, alpha)
    above = _find_flank(1 - share, scale, reach, terms.rows, alpha)
    return (*((below,) if below else ()), share, *((1 - above,) if above else ()))


# Caches a function of public numbers only.
@lru_cache(maxsize=256)
def _find_flank(share: Fraction, scale: float, reach: float, rows: int, alpha: float) -> Fraction | None:
    """The largest share with a few decimals whose point is below the quantile, except with probability α; or None."""
    low, high = 0, int(share * _DECIMALS)
    quantile = float(share)
    if bound_miss(1 / _DECIMALS, quantile, scale, reach, rows, population=True) > alpha or high < 2:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        fits = bound_miss(middle / _DECIMALS, quantile, scale, reach, rows, population=True) <= alpha
        low, high = (middle, high) if fits else (low, middle)
    return Fraction(low, _DECIMALS) if low else None


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """A distribution function between limits, made of released quantiles; see `distribution`.

    Attributes
    ----------
    points
        The released points, in increasing order; of quantiles that are read from noisy counts, the last point of each
        cell.
    shares
        The shares of records below them that were asked for, or those by the noisy counts.
    lower, upper
        Limits of the share of records at or below each point, and of that below it.
    level
        The confidence of all limits together.
    kind
        ``"population"`` or ``"noise"``, as for intervals.
    """

    points: Array
    shares: Array
    lower: Array
    upper: Array
    level: float
    kind: str

    def at(self, x: Any) -> tuple[Array, Array]:
        """Limits of the share of records at or below numbers."""
        x = np.asarray(x, float)
        lower = np.concatenate([[0.0], self.lower])[np.searchsorted(self.points, x, side="right")]
        upper = np.concatenate([self.upper, [1.0]])[np.searchsorted(self.points, x, side="right")]
        return lower, upper


# claim:distribution-band
def distribution(release: Release, level: float = 0.95, *, kind: Kind = "population") -> Distribution:
    """The distribution function of a column within a band, from its released quantiles.

    The band holds for all points at once, whatever the law of the records. It costs nothing.

    Parameters
    ----------
    release
        A release of quantiles of a public number of records.
    level
        The confidence of the whole band.
    kind
        ``"population"`` for the population that the table is a sample of, ``"noise"`` for the table itself.

    Returns
    -------
    Distribution
        The points with their limits.

    Raises
    ------
    TypeError, ValueError
        If the release is not of quantiles, or the number of records is protected.

    Examples
    --------
    >>> import inbounds as ib
    >>> release = ib.quantile(list(range(1000)) * 20, q=[0.25, 0.5, 0.75], bounds=(0, 1000), epsilon=1)
    >>> band = distribution(release, kind="noise")
    >>> bool((band.lower <= band.shares).all() and (band.shares <= band.upper).all())
    True
    """
    require_release(release, "release")
    level, population = _check.level(level), _check.choice(kind, "kind", KINDS) == "population"
    alpha, margin = 1 - level, 0.0
    if population and release.rows is not None:
        # Half for the noise, half for the sample (Dvoretzky, Kiefer and Wolfowitz 1956, Massart 1990).
        alpha, margin = alpha / 2, float(np.sqrt(np.log(4 / alpha) / (2 * release.rows)))
    if release.derivation.as_counted is not None:
        points, shares, lower, upper = bound_shares(release, alpha)
        return Distribution(points, shares, np.maximum(lower - margin, 0), np.minimum(upper + margin, 1), level, kind)
    way, ranks, rows = _read(release)
    shares = np.array([float(share) for share in way.shares])
    each = alpha / (2 * len(shares))
    off = np.array([ranks.off(place, each) for place in range(len(shares))]) / rows + margin
    points = np.array(way.all_values(release.noisy))
    return Distribution(points, shares, np.maximum(shares - off, 0), np.minimum(shares + off, 1), level, kind)
