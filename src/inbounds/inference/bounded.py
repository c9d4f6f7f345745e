"""Wide intervals of variances and covariances that do not take records for normal.

A sample covariance is the mean of (x - x')(y - y')/2 over all pairs of records, a U-statistic. It is also an average of
means over ⌊n/2⌋ pairs without common records, which are independent (Hoeffding 1963, section 5). So for every convex
function its expectation is at most that of a mean of ⌊n/2⌋ independent values, which is largest if these lie at the
ends of what is possible: 0 and W²/2 for a variance, ±W_x W_y/2 for a covariance. The interval is that of the share of
values at the upper end among ⌊n/2⌋. It is three to nine times as wide as that of normal records.

The argument is about convex functions, such as the variance. That it carries over to the tails, so that the interval
covers as often as it says, was tried on laws of the tests and is not proved.

W. Hoeffding, Probability inequalities for sums of bounded random variables, J. Amer. Stat. Assoc. 58 (1963).
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from inbounds._check import Array
from inbounds.derivations import CentredSpread, Matrix, MatrixOfMoments, SpreadOfMoments, TableOfMoments
from inbounds.expected import norm_parts
from inbounds.inference import score, spreads
from inbounds.inference.centred import centred_limits, robust_limits
from inbounds.inference.counts import Averaged, Binomial, Sampled, without_cut
from inbounds.inference.intervals import interval_by
from inbounds.inference.inversion import interval as inverted
from inbounds.inference.laws import InNorm, Law, Noise, noise_of
from inbounds.inference.result import Interval
from inbounds.inference.spreads import Made
from inbounds.record.release import Release
from inbounds.repairs.moments import scatter, symmetric, triangle_size

METHOD = "pairs of records as if all were at the ends of the bounds, and the law of the noise"
ROBUST = "score interval from the noisy squares and fourth powers"
UNAVAILABLE = (
    "a {} has no interval for the population without an assumption about the law of the records; method='normal' "
    "assumes that they are normal, and kind='noise' is for the table itself"
)
# The noise of one element, in any unit.
_Scaled: TypeAlias = Callable[[float], Noise]
TRIED = "that it covers was tried on some laws of the records, and is not proved for all"
METHODS = ("bound", "normal")
SPREAD_METHODS = (*METHODS, "robust")
ABOUT = "the mean is about the released centre"
_OF_MOMENTS = SpreadOfMoments | MatrixOfMoments | TableOfMoments


def spread_limits(release: Release, alpha: float, population: bool) -> Made:
    """claim:pairs-bound. Limits of variances, standard deviations and covariances, of a public number of records."""
    way = release.derivation
    if not population:
        return normal_limits(release, alpha, population)
    if isinstance(way, CentredSpread):
        return *centred_limits(release, alpha, population, normal=False), METHOD, (TRIED,)
    if not _has_bound(release):
        raise ValueError(UNAVAILABLE.format(release.statistic.name.replace("_", " ")))
    root = getattr(way, "root", False)
    ends = np.array(element_limits(release, alpha)).T
    made = symmetric(ends) if release.axes else ends
    lower, upper = np.sqrt(np.maximum(made, 0.0)) if root else made
    return lower, upper, METHOD, (TRIED,)


def interval_of_spread(
    release: Release, level: float, kind: str, variance: Release | None = None, method: str | None = None
) -> Interval:
    """The interval of a variance, a standard deviation or a matrix of them: the robust one if fourth powers were drawn,
    otherwise the wide one; or that of normal records.
    """
    way = release.derivation
    has_powers = isinstance(way, CentredSpread) and way.fourth
    if method == "robust" and not has_powers:
        raise ValueError(
            "the robust interval needs fourth powers, which were not drawn; release it with method='robust'"
        )
    maker = normal_limits if method == "normal" else spread_limits
    if has_powers and method in (None, "robust"):
        maker = robust_spread
    return interval_by(maker, release, level, kind, variance)


def robust_spread(release: Release, alpha: float, population: bool) -> Made:
    """Limits of a variance or standard deviation from its noisy squares and fourth powers."""
    if not population:
        return normal_limits(release, alpha, population)
    return *robust_limits(release, alpha), ROBUST, (score.ASSUMPTION,)


def _has_bound(release: Release) -> bool:
    """Whether a release is a mean over all pairs of a public number of records, with noise that does not depend on it.

    Not so are a scatter within groups, a correlation, and a standard deviation that noise was added to.
    """
    way, traits = release.derivation, release.statistic.traits
    if (release.rows or 0) < 2 or release.bounding == "truncated" or any(rule.cells for rule in release.columns):
        return False
    if traits.unit_diagonal:
        return False
    return isinstance(way, _OF_MOMENTS | Matrix) or (
        way.single and (not way.plain or traits.meaning == "squared spread")
    )


def normal_limits(release: Release, alpha: float, population: bool) -> Made:
    """Limits for normal records, or of the table itself."""
    way, traits = release.derivation, release.statistic.traits
    if isinstance(way, CentredSpread):
        clauses = (*spreads.NORMAL, ABOUT) if population else (ABOUT,)
        return *centred_limits(release, alpha, population, normal=True), spreads.INVERTED, clauses
    if way.of_sums:
        return spreads.of_sums(release, alpha, population)
    if traits.matrix:
        return spreads.matrix(release, alpha, population)
    if traits.meaning == "squared spread":
        return spreads.one_variance(release, alpha, population)
    return (spreads.one_deviation if way.plain else spreads.root_of_variance)(release, alpha, population)


def element_limits(release: Release, alpha: float) -> list[tuple[float, float]]:
    """Limits of the elements on and above the diagonal, row by row."""
    assert release.rows is not None
    columns = release.numeric_ends()
    widths = columns[:, 1] - columns[:, 0]
    size, moments = len(widths), isinstance(release.derivation, _OF_MOMENTS)
    worth = np.array([float(x * unit) for x, unit in zip(release.noisy, release.units, strict=True)])
    values = worth if not moments else scatter(np.concatenate([[float(release.rows)], worth]), widths / 2)[1]
    values = values / (release.rows - 1) if moments else values
    assert moments or triangle_size(len(worth)) == size
    found = []
    for place, (i, j) in enumerate(zip(*np.triu_indices(size), strict=True)):
        noise = _noise_of_moment(release, worth, int(i), int(j)) if moments else _noise_of_element(release, place)
        high = float(widths[i] * widths[j]) / 2
        found.append(_limits(float(values[place]), noise, 0.0 if i == j else -high, high, release.rows // 2, alpha))
    return found


def _limits(value: float, noise: _Scaled, low: float, high: float, pairs: int, alpha: float) -> tuple[float, float]:
    """Limits of a mean of values from low to high, of so many pairs, that has some noise."""
    one, sampling = (high - low) / pairs, Binomial(pairs)
    y = min(max((value - low) / one, 0.0), float(pairs))
    law = without_cut(Law(noise(1 / one), 0.0, float(pairs)), y, 10 * sampling.deviation(y))
    lower, upper = inverted(Averaged(Sampled(sampling, law, step=0)), y, alpha)
    return low + lower * (high - low), low + upper * (high - low)


def _noise_of_element(release: Release, place: int) -> _Scaled:
    part, worth = release.parts[place], float(release.units[place])
    return lambda unit: noise_of(part, worth * unit)


def _noise_of_moment(release: Release, worth: Array, i: int, j: int) -> _Scaled:
    """The noise of h_i h_j (z_ij - m_i z_j - m_j z_i)/(n - 1), or half of z_ii on the diagonal."""
    assert release.rows is not None
    part, columns = release.parts[0], release.numeric_ends()
    size, halves = len(columns), (columns[:, 1] - columns[:, 0]) / 2
    places = release.places or tuple(range(len(release.noisy)))
    means = np.clip(worth[:size] / release.rows, -1.0, 1.0)
    place = size + i * size - i * (i - 1) // 2 + j - i
    weights: tuple[tuple[int, float], ...]
    if i == j:
        weights = ((places[i], -2 * float(means[i])), (places[place], 0.5))
    else:
        weights = ((places[i], -float(means[j])), (places[j], -float(means[i])), (places[place], 1.0))
    scale = float(part.spread * release.units[0]) * float(halves[i] * halves[j]) / (release.rows - 1)
    parts = norm_parts(part)
    return lambda unit: InNorm(scale * unit, part.dimension, parts, weights)
