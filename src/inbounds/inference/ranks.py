"""Intervals of Kendall's tau, whatever the law of the records.

The tau-a of n records is the mean of h(x, x') in {-1, 0, 1} over all pairs of records, a U-statistic whose expectation
is the population's τ. It is also an average of means over ⌊n/2⌋ pairs without common records, which are independent
(Hoeffding 1963, section 5). So for every convex function its expectation is at most that of a mean of ⌊n/2⌋ independent
values in [-1, 1], which is largest if they are ±1. Its variance is at most 2(1 - τ²)/n for an even n (Daniels and
Kendall 1947), also with ties. So the interval is that of the share (1 + τ)/2 of ⌊n/2⌋ records.

W. Hoeffding, Probability inequalities for sums of bounded random variables, J. Amer. Stat. Assoc. 58 (1963).
H. E. Daniels and M. G. Kendall, The significance of rank correlations where parental correlation exists,
Biometrika 34 (1947).
"""

import numpy as np

from inbounds.inference.counts import Averaged, Binomial, Sampled, without_cut
from inbounds.inference.inversion import interval as inverted
from inbounds.inference.laws import Law, law_of, noise_of
from inbounds.inference.numbers import noise_only
from inbounds.inference.spreads import INVERTED, RawInterval
from inbounds.privacy.certificate import Certificate
from inbounds.record.release import Release
from inbounds.repairs.moments import beside_diagonal

_LARGEST = "tau may vary as much from sample to sample as any law of the records allows"


# claim:interval-kendall
def limit_taus(release: Release, alpha: float, population: bool) -> RawInterval:
    """The limits of the tau of each pair, from its noisy number before the repair."""
    assert release.rows is not None
    limits = []
    for number, unit, part in zip(release.noisy, release.units, release.parts, strict=True):
        worth = float(unit)
        released = min(max(float(number * unit), -1.0), 1.0)
        ends = (
            _sampled(released, worth, part, release.rows, alpha) if population else _true(released, worth, part, alpha)
        )
        limits.append(ends)
    lower, upper = (beside_diagonal(np.array(ends), 1.0) for ends in zip(*limits, strict=True))
    return lower, upper, INVERTED, (_LARGEST,) if population else ()


def _true(released: float, worth: float, part: Certificate, alpha: float) -> tuple[float, float]:
    """Limits of the tau of the table."""
    return inverted(noise_only(law_of(part, (-1.0, 1.0), worth), released, -1.0, 1.0), released, alpha)


def _sampled(released: float, worth: float, part: Certificate, rows: int, alpha: float) -> tuple[float, float]:
    """Limits of the tau of the population, computed in pairs of records that are in the same order."""
    sampling = Binomial(rows // 2)
    top, y = float(sampling.size), (1 + released) / 2 * sampling.size
    cut = (0.0, top) if part.bounding == "truncated" else None
    law = Law(noise_of(part, worth * sampling.size / 2), 0.0, top, cut)
    family = Averaged(Sampled(sampling, without_cut(law, y, 10 * sampling.deviation(y)), step=0))
    low, high = inverted(family, y, alpha)
    return 2 * low - 1, 2 * high - 1
