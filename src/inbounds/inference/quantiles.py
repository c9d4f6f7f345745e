"""Intervals of quantiles, and of the distribution function, whatever the law of the records.

A released point says where its rank is, not what lies around it. So the interval of a quantile is made of other points
that were drawn: one whose rank is surely below what is asked for, and one whose rank is surely above. A point of N that
is chosen with probability ∝ e^(-score/T) has a score of d or more with a probability of at most (N - 1) e^(-d/T), since
one of the points has score 0 or less. In recursive halving the cuts on either side were drawn before and are off as
well, by their own ranks; a cut through a point with many records has 256 places, one of which is right to n/512. Of m
quantiles that are drawn together no rank is off by more than their score. There are at most (N 2^L)^m/m! tuples of
places, with 2^L > n, and one of them has ranks that are off by no more than a half, so that its score is at most m/2,
if there is a record for every gap.

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
from inbounds.derivations import Chosen, PointsOfCounts
from inbounds.grid.nodes import Node, find_rate
from inbounds.inference.cells import bound_shares, read_between_cells
from inbounds.inference.result import KINDS, require_release
from inbounds.inference.spreads import Made
from inbounds.privacy.certificate import Certificate
from inbounds.privacy.terms import Terms
from inbounds.record.release import Kind, Release

SECRET = "the bounds, since the number of records is secret and ranks cannot be told from the record"
METHOD = "points drawn on either side, whose ranks are bounded"
NONE = "the bounds, since no point was drawn that is surely on one side at this confidence"
# Places of a point that is cut.
_PARTS = 256
# The share of ε of the quantile itself, where points on either side are drawn for its interval.
OWN_SHARE = Fraction(2, 5)
# Flanks are shares with so many decimals.
_DECIMALS = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class _Ranks:
    """How far the ranks of drawn points may be off, by the chance α that one is off further: Σ scale (reach + log 1/α).

    A row for each point in order: a chance for each draw that it depends on.
    """

    scales: list[Array]
    reaches: list[Array]
    fixed: list[float]

    def off(self, place: int, alpha: float) -> float:
        """The distance in records that the rank of a point exceeds with a chance of at most α, on one side."""
        scales = self.scales[place]
        far = scales * (self.reaches[place] + np.log(len(scales) / alpha))
        return float(far.sum()) + self.fixed[place]


def _ranks_of(nodes: Sequence[Node], spreads: Sequence[Fraction], points: int, rows: int) -> _Ranks:
    made: dict[int, tuple[list[float], list[float], float]] = {}
    for node in nodes:
        # On the side on which scores are less steep.
        scale = 1 / float(2 * min(node.tilt, 1 - node.tilt) * find_rate(node, spreads))
        reach = np.log(points * (_PARTS if node.inner else 1))
        if node.together:
            reach = _reach_together([one.share for one in nodes], points, rows, scale)
        scales, reaches, fixed = [scale], [reach], rows / (2 * _PARTS) if node.inner else 0.0
        # What the cuts on either side are off by moves the rank that is asked for between them.
        for other, weight in ((node.below, 1 - float(node.share)), (node.above, float(node.share))):
            if other is not None and weight:
                scales += [weight * one for one in made[other][0]]
                reaches += made[other][1]
                fixed += weight * made[other][2]
        made[node.place] = scales, reaches, fixed
    order = sorted(made)
    return _Ranks(
        [np.array(made[k][0]) for k in order], [np.array(made[k][1]) for k in order], [made[k][2] for k in order]
    )


def _reach_together(shares: Sequence[Fraction], points: int, rows: int, scale: float) -> float:
    """The logarithm of how many tuples there are for each one that is right."""
    if rows * min(b - a for a, b in pairwise((Fraction(0), *shares, Fraction(1)))) < 1:
        return math.inf
    places = math.log(points) + rows.bit_length() * math.log(2)
    return len(shares) * (places + 1 / (2 * scale)) - math.lgamma(len(shares) + 1)


def _read(release: Release) -> tuple[Chosen, _Ranks, int]:
    way, rows = release.derivation, release.rows
    if not isinstance(way, Chosen):
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


def ranked(release: Release, alpha: float, population: bool) -> Made:
    """claim:interval-quantile. The nearest drawn points that are surely on either side; otherwise the bounds.

    Each side is missed with a probability of at most α/2, over all draws and, for the population, all samples.
    """
    way = release.derivation
    if isinstance(way, PointsOfCounts):
        return read_between_cells(release, alpha, population)
    assert isinstance(way, Chosen)
    low_end, high_end = way.ends(release.numeric_ends())
    if way.shifts:
        return _ranked_of_any(release, way, (low_end, high_end), alpha, population)
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
        mirrored = [1 - one for one in shares]
        above = [
            k for k in range(len(shares)) if _is_below(mirrored[k], 1 - share, ranks, k, rows, alpha / 2, population)
        ]
        lower.append(max([points[k] for k in below], default=low_end))
        upper.append(min([points[k] for k in above], default=high_end))
        sure = sure or bool(below or above)
    return np.array(lower), np.array(upper), METHOD if sure else NONE, ()


def _ranked_of_any(release: Release, way: Chosen, ends: tuple[float, float], alpha: float, population: bool) -> Made:
    """claim:interval-quantile-secret. The same for numbers of records that nobody knows: by draws with a shift."""
    certificate = release.certificate
    parts = (certificate,) if isinstance(certificate, Certificate) else certificate.parts
    reach = math.log(int(parts[0].move) + 1)
    scales = [float(part.grid.scale.steps) for part in parts]
    low, own, high = (float(share) for share in way.shares)
    below = missed_of_any(low, own, scales[0], reach, -way.shifts[0], population=population)
    above = missed_of_any(1 - high, 1 - own, scales[2], reach, way.shifts[2], population=population)
    points = np.array(way.all_values(release.noisy)).reshape(way.groups, 3)
    lower = points[:, 0] if below <= alpha / 2 else np.full(way.groups, ends[0])
    upper = points[:, 2] if above <= alpha / 2 else np.full(way.groups, ends[1])
    return lower, upper, METHOD if min(below, above) <= alpha / 2 else NONE, ()


def _is_below(drawn: float, asked: float, ranks: _Ranks, place: int, rows: int, alpha: float, population: bool) -> bool:
    """Whether a point drawn for one share is below the quantile of a larger one, but for a chance of α."""
    if drawn >= asked:
        return False
    scales = ranks.scales[place]
    if len(scales) == 1 and not ranks.fixed[place]:
        scale, reach = float(scales[0]), float(ranks.reaches[place][0])
        return missed(drawn, asked, scale, reach, rows, population=population) <= alpha
    if not population:
        return drawn * rows + ranks.off(place, alpha) < asked * rows
    least = binomial_quantile(alpha / 2, rows, asked) - 1
    return drawn * rows + ranks.off(place, alpha / 2) < least


def binomial_quantile(chance: float, rows: int, share: float) -> float:
    """The least number of successes that is not exceeded with at least this chance.

    As ``scipy.stats.binom.ppf``, which takes longer to load than a release does.
    """
    least = float(np.ceil(np.clip(np.nan_to_num(scipy.special.bdtrik(chance, rows, share)), 0, rows)))
    while least > 0 and _binomial_cdf(least - 1, rows, share) >= chance:
        least -= 1
    while least < rows and _binomial_cdf(least, rows, share) < chance:
        least += 1
    return least


def _binomial_cdf(successes: Any, rows: int, share: float) -> Any:
    return np.where(np.asarray(successes) < 0, 0.0, scipy.special.bdtr(np.maximum(successes, 0), rows, share))


# Ranks of a sample that are looked at one by one; where there are more, some at a time.
_MOST_RANKS = 4000


def missed(drawn: float, asked: float, scale: float, reach: float, rows: int, *, population: bool) -> float:
    """claim:flank-chance. A bound of the chance that a point drawn for one share is above the quantile of a larger one.

    Its rank would have to be off by d = B - drawn · n, with B the rank of the quantile: of which the chance is at most
    e^(reach - d/T). For the population B is binomial, or larger.
    """
    if not population:
        return float(np.exp(min(0.0, reach - (asked - drawn) * rows / scale)))
    low, high = (binomial_quantile(chance, rows, asked) for chance in (1e-12, 1 - 1e-12))
    edges = np.unique(np.floor(np.linspace(low - 1, high, min(_MOST_RANKS, int(high - low) + 2))))
    chances = np.diff(_binomial_cdf(edges, rows, asked))
    # Every rank of a step counts as its first one.
    tails = np.exp(np.minimum(0.0, reach - (edges[:-1] + 1 - drawn * rows) / scale))
    return float(chances @ tails) + 2e-12


def missed_of_any(drawn: float, asked: float, scale: float, reach: float, shift: int, *, population: bool) -> float:
    """claim:flank-chance-secret. A bound of the chance that a point drawn for a smaller share, and so many records
    below, is above the quantile, for every number n of records.

    Its rank would have to be off by B - drawn · n + shift, with B the rank of the quantile, asked · n in the table. The
    chance is at most E e^(θ(reach T - that)) for every θ ≤ 1/T, and for the population, where B is binomial or larger,
    E e^(-θ(B - drawn n)) ≤ 1 for all n up to some θ.
    """
    rate = min(1 / scale, find_exponent(drawn, asked)) if population else 1 / scale
    return math.exp(min(0.0, -rate * (shift - scale * reach)))


def find_exponent(drawn: float, asked: float) -> float:
    """The largest θ with e^(θ drawn) (1 - asked + asked e^-θ) ≤ 1, or a little less."""
    low, high = 0.0, -math.log1p(-asked) / drawn
    for _ in range(60):
        middle = (low + high) / 2
        fits = middle * drawn + math.log1p(asked * math.expm1(-middle)) <= 0
        low, high = (middle, high) if fits else (low, middle)
    return low


def find_secret_flank(
    share: float, scale: Callable[[float], float], reach: float, size: int, alpha: float
) -> tuple[Fraction, int]:
    """The share and the shift of a point below a quantile, but for a chance of α, that is nearest for so many records.

    Of public numbers alone.
    """
    found: list[tuple[float, Fraction, int]] = []
    for part in range(1, 100):
        drawn = Fraction(round(share * part * _DECIMALS / 100), _DECIMALS)
        if not 0 < drawn < share:
            continue
        wide = scale(float(drawn))
        rate = min(1 / wide, find_exponent(float(drawn), share))
        shift = math.ceil(wide * reach + math.log(1 / alpha) / rate + 1e-6)
        found.append(((share - float(drawn)) * size + shift, drawn, shift))
    if not found:
        raise ValueError("q is too near to 0 or 1 for an interval; leave out cover=")
    return min(found)[1:]


def add_flanks(shares: tuple[Fraction, ...], cover: Fraction | None, terms: Terms, points: int) -> tuple[Fraction, ...]:
    """The share that was asked for with one on either side, as near as an interval of that confidence for the
    population allows; without one where there is none in (0, 1)."""
    if cover is None or terms.rows is None:
        return shares
    (share,) = shares
    scale = 2 * terms.contributions / float(terms.epsilon * (1 - OWN_SHARE) / 2)
    alpha, reach = float(1 - cover) / 2, float(np.log(points))
    below = _find_flank(share, scale, reach, terms.rows, alpha)
    above = _find_flank(1 - share, scale, reach, terms.rows, alpha)
    return (*((below,) if below else ()), share, *((1 - above,) if above else ()))


# Of public numbers alone.
@lru_cache(maxsize=256)
def _find_flank(share: Fraction, scale: float, reach: float, rows: int, alpha: float) -> Fraction | None:
    """The largest share with a few decimals whose point is below the quantile but for a chance of α; None for none."""
    low, high = 0, int(share * _DECIMALS)
    asked = float(share)
    if missed(1 / _DECIMALS, asked, scale, reach, rows, population=True) > alpha or high < 2:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        fits = missed(middle / _DECIMALS, asked, scale, reach, rows, population=True) <= alpha
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


def distribution(release: Release, level: float = 0.95, *, kind: Kind = "population") -> Distribution:
    """claim:distribution-band. The distribution function of a column within a band, from its released quantiles.

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
    >>> made = ib.quantile(list(range(1000)) * 20, q=[0.25, 0.5, 0.75], bounds=(0, 1000), epsilon=1)
    >>> band = distribution(made, kind="noise")
    >>> bool((band.lower <= band.shares).all() and (band.shares <= band.upper).all())
    True
    """
    require_release(release, "release")
    level, population = _check.level(level), _check.choice(kind, "kind", KINDS) == "population"
    way, alpha, sampled = release.derivation, 1 - level, 0.0
    if population and release.rows is not None:
        # Half for the noise, half for the sample (Dvoretzky, Kiefer and Wolfowitz 1956, Massart 1990).
        alpha, sampled = alpha / 2, float(np.sqrt(np.log(4 / alpha) / (2 * release.rows)))
    if isinstance(way, PointsOfCounts):
        points, shares, lower, upper = bound_shares(release, alpha)
        return Distribution(points, shares, np.maximum(lower - sampled, 0), np.minimum(upper + sampled, 1), level, kind)
    way, ranks, rows = _read(release)
    shares = np.array([float(share) for share in way.shares])
    each = alpha / (2 * len(shares))
    off = np.array([ranks.off(place, each) for place in range(len(shares))]) / rows + sampled
    points = np.array(way.all_values(release.noisy))
    return Distribution(points, shares, np.maximum(shares - off, 0), np.minimum(shares + off, 1), level, kind)
