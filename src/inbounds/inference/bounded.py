"""Wide intervals of variances and covariances that do not assume normal records.

A sample covariance is the mean of (x - x')(y - y')/2 over all pairs of records, a U-statistic. It is also an average of
means over ⌊n/2⌋ pairs without common records, which are independent (Hoeffding 1963, section 5). So for every convex
function its expectation is at most that of a mean of ⌊n/2⌋ independent values, which is largest if these lie at the
ends of what is possible: 0 and W²/2 for a variance, ±W_x W_y/2 for a covariance. The interval is that of the share of
values at the upper end among ⌊n/2⌋. It is three to nine times as wide as that of normal records.

The argument is about convex functions, such as the variance. That it carries over to the tails, so that the interval
covers as often as it says, was tested on some laws, and is not proved.

W. Hoeffding, Probability inequalities for sums of bounded random variables, J. Amer. Stat. Assoc. 58 (1963).
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from inbounds._check import Array
from inbounds.inference import products, score, spreads
from inbounds.inference.centred import centred_limits, robust_limits
from inbounds.inference.counts import Averaged, Binomial, Sampled, without_cut
from inbounds.inference.intervals import interval_by
from inbounds.inference.inversion import interval as inverted
from inbounds.inference.laws import Law, Noise, noise_of
from inbounds.inference.result import Interval
from inbounds.inference.spreads import RawInterval
from inbounds.record.release import Release
from inbounds.repairs.moments import symmetric

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


# claim:pairs-bound
def spread_limits(release: Release, alpha: float, population: bool) -> RawInterval:
    """Limits of variances, standard deviations and covariances, of a public number of records."""
    way = release.derivation
    if not population:
        return normal_limits(release, alpha, population)
    if way.as_centred is not None:
        return *centred_limits(release, alpha, population, normal=False), METHOD, (TRIED,)
    if way.of_sums and not way.pooled:
        return product_limits(release, alpha)
    if not _has_bound(release):
        raise ValueError(UNAVAILABLE.format(release.statistic.name.replace("_", " ")))
    ends = np.array(element_limits(release, alpha)).T
    lower, upper = symmetric(ends) if release.axes else ends
    if way.root:
        lower, upper = np.sqrt(np.maximum((lower, upper), 0.0))
    return lower, upper, METHOD, (TRIED,)


def product_limits(release: Release, alpha: float) -> RawInterval:
    """Limits of variances, covariances and correlations that are computed from noisy sums, also of groups."""
    unit = release.derivation.unit
    limits = [products.matrix_limits(sums, alpha, correlation=unit) for sums in products.list_sums(release, alpha)]
    return *_in_units(release, limits), products.METHOD, (score.ASSUMPTION,)


def table_limits(release: Release, alpha: float) -> RawInterval:
    """The same for the table itself. Correlations and pooled figures are simulated."""
    if release.derivation.unit or release.derivation.pooled:
        return spreads.of_sums(release, alpha, population=False)
    limits = [products.table_limits(sums, alpha) for sums in products.list_sums(release, alpha, table=True)]
    return *_in_units(release, limits), products.TABLE, ()


def _in_units(release: Release, limits: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Limits of one matrix of covariances of u for each group, in units of the columns, or the roots of variances."""
    columns = release.numeric_ends()
    halves = (columns[:, 1] - columns[:, 0]) / 2
    worth = 1.0 if release.derivation.unit else np.outer(halves, halves)
    lower, upper = (np.concatenate([np.ravel(ends[side] * worth) for ends in limits]) for side in (0, 1))
    return (np.sqrt(lower), np.sqrt(upper)) if release.derivation.root else (lower, upper)


def interval_of_spread(
    release: Release, level: float, kind: str, variance: Release | None = None, method: str | None = None
) -> Interval:
    """The interval of a variance, a standard deviation or a matrix of them: the robust one if fourth powers were drawn,
    otherwise the wide one; or that of normal records.
    """
    way = release.derivation
    if method == "robust" and not way.fourth:
        raise ValueError(
            "the robust interval needs fourth powers, which were not drawn; release it with method='robust'"
        )
    maker = normal_limits if method == "normal" else spread_limits
    if way.fourth and method in (None, "robust"):
        maker = robust_spread
    return interval_by(maker, release, level, kind, variance)


def robust_spread(release: Release, alpha: float, population: bool) -> RawInterval:
    """Limits of a variance or standard deviation from its noisy squares and fourth powers."""
    if not population:
        return normal_limits(release, alpha, population)
    return *robust_limits(release, alpha), ROBUST, (score.ASSUMPTION,)


def _has_bound(release: Release) -> bool:
    """Whether noise was added to a mean over all pairs of a public number of records.

    This excludes a scatter within groups, a correlation, and a standard deviation to which noise was added directly.
    """
    way, traits = release.derivation, release.statistic.traits
    if (release.rows or 0) < 2 or release.bounding == "truncated" or any(rule.cells for rule in release.columns):
        return False
    if way.unit:
        return False
    return way.of_elements or (way.single and (not way.plain or traits.meaning == "squared spread"))


def normal_limits(release: Release, alpha: float, population: bool) -> RawInterval:
    """Limits for normal records, or for the table itself."""
    way, traits = release.derivation, release.statistic.traits
    if way.as_centred is not None:
        clauses = (*spreads.NORMAL, ABOUT) if population else (ABOUT,)
        return *centred_limits(release, alpha, population, normal=True), spreads.INVERTED, clauses
    if way.of_sums:
        return spreads.of_sums(release, alpha, population) if population else table_limits(release, alpha)
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
    values = [float(x * unit) for x, unit in zip(release.noisy, release.units, strict=True)]
    limits = []
    for place, (i, j) in enumerate(zip(*np.triu_indices(len(widths)), strict=True)):
        noise, high = _noise_of_element(release, place), float(widths[i] * widths[j]) / 2
        limits.append(_limits(values[place], noise, 0.0 if i == j else -high, high, release.rows // 2, alpha))
    return limits


def _limits(value: float, noise: _Scaled, low: float, high: float, pairs: int, alpha: float) -> tuple[float, float]:
    """Limits of a noisy mean of values from low to high, over so many pairs."""
    record, sampling = (high - low) / pairs, Binomial(pairs)
    y = min(max((value - low) / record, 0.0), float(pairs))
    law = without_cut(Law(noise(1 / record), 0.0, float(pairs)), y, 10 * sampling.deviation(y))
    lower, upper = inverted(Averaged(Sampled(sampling, law, step=0)), y, alpha)
    return low + lower * (high - low), low + upper * (high - low)


def _noise_of_element(release: Release, place: int) -> _Scaled:
    part, worth = release.parts[place], float(release.units[place])
    return lambda unit: noise_of(part, worth * unit)
