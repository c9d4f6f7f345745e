"""Intervals of variances around a noisy centre.

The drawn number is the sum of the scatter, a²/n and (1 + |c|)² z, where z is the noise that was drawn last and a the
noise of the centre. Since a²/n is not negative, the upper limit is the one without it. The lower limit is that of the
drawn number minus what a²/n adds to the quantile of the noise.

If fourth powers were drawn as well, t = ((u - c)/(1 + |c|))² is a value in [0, 1] whose sum and sum of squares are
known, and its mean has a score interval (`inbounds.inference.score`). That is an interval of E(u - c)² = σ² + (m - c)²,
with m the mean. The variance is at most that, times n/(n - 1) because squares around the mean of the sample are
smaller. It is at least that minus (m - c)², which is bounded by a quantile of the errors from sampling and from the
noise of the centre.
"""

import math

import numpy as np
import scipy

from inbounds.derivations import CentredSpread
from inbounds.inference import score
from inbounds.inference.counts import Averaged, Binomial, Sampled, without_cut
from inbounds.inference.inversion import Family
from inbounds.inference.inversion import interval as inverted
from inbounds.inference.laws import Law, Noise, noise_of
from inbounds.inference.means import of_public_number
from inbounds.inference.numbers import ChiSquare, Integrated, noise_only
from inbounds.record.release import Release

# How many values of a are used, at even steps of probability; and at how many values its law is tabulated.
_POINTS, _TABLE = 2000, 20_001


def _read(release: Release) -> CentredSpread:
    way = release.derivation.as_centred
    assert way is not None
    return way


# claim:centred-interval
def centred_limits(release: Release, alpha: float, population: bool, *, normal: bool) -> tuple[float, float]:
    """Limits of a variance around a noisy centre, or of the root of one."""
    way, (worth,) = _read(release), release.numeric_ends()
    if population and not normal:
        return _bound(release, alpha)
    width, rows = float(worth[1] - worth[0]), way.rows
    squares, weight = (float(x) for x in way.squares(release.worth()))
    unit = (width / 2) ** 2 / (rows - 1)
    noise = noise_of(release.parts[1], way.worth_of_squares(float(release.units[1])) * weight * unit)
    offset = _offset(noise, noise_of(release.parts[0], float(release.units[0])), unit / rows, alpha)
    top = width**2 * (rows * rows // 4) / (rows * (rows - 1))
    ends = []
    for place, y in enumerate((squares * unit - offset, squares * unit)):
        ends.append(_limits(y, noise, top, rows, alpha, population)[place])
    lower, upper = ends
    return (math.sqrt(max(lower, 0.0)), math.sqrt(upper)) if way.root else (lower, upper)


# claim:centred-bound
def _bound(release: Release, alpha: float) -> tuple[float, float]:
    """Limits of a variance as if every (u - c)² were 0 or the largest that it can be.

    That is the law with the largest variance for the mean of (u - c)² of so many records. The mean is σ² + (m - c)²,
    and its second part is bounded in the same way as with fourth powers.
    """
    way, (ends,) = _read(release), release.numeric_ends()
    rows, half = way.rows, float(ends[1] - ends[0]) / 2
    squares, weight = (float(x) for x in way.squares(release.worth()))
    noise, sampling = noise_of(release.parts[1], way.worth_of_squares(float(release.units[1]))), Binomial(rows)
    y = min(max(squares / weight, 0.0), float(rows))
    law = without_cut(Law(noise, 0.0, float(rows)), y, 10 * sampling.deviation(y))
    low, high = (weight * end for end in inverted(Averaged(Sampled(sampling, law, step=0)), y, alpha))
    return _from_centre(release, low, high, alpha, half)


def _from_centre(release: Release, low: float, high: float, alpha: float, half: float) -> tuple[float, float]:
    """Limits of the variance, or its root, from those of E(u - c)²."""
    way = _read(release)
    rows = way.rows
    first = float(release.parts[0].spread * release.units[0]) / rows
    off = _error_of_centre(math.sqrt(high / rows), first, alpha)
    # No variance of values within the bounds is more than 1.
    lower, upper = half**2 * max(low - off**2, 0.0), half**2 * min(high * rows / (rows - 1), 1.0)
    return (math.sqrt(lower), math.sqrt(upper)) if way.root else (lower, upper)


# claim:robust-interval
def robust_limits(release: Release, alpha: float) -> tuple[float, float]:
    """Limits of a variance whose fourth powers were drawn with it, or of the root of one."""
    way, (ends,) = _read(release), release.numeric_ends()
    rows, half, worth = way.rows, float(ends[1] - ends[0]) / 2, release.worth()
    _, weight = (float(x) for x in way.squares(worth))
    units = np.array([float(unit) for unit in release.units[1:]])
    cell = of_public_number(release.parts[1], rows, (float(worth[1]), float(worth[2])), units, (0, 1))
    low, high = ((1 + end) / 2 * weight for end in score.limits(cell, alpha))
    return _from_centre(release, low, high, alpha, half)


def _error_of_centre(deviation: float, scale: float, alpha: float) -> float:
    """How far a centre is from the mean, except with a probability of alpha/5: a normal error plus a Laplace error."""

    def beyond(x: float) -> float:
        return score.normal_laplace_tail(x, deviation, scale) - alpha / 10

    most = 12 * deviation + scale * math.log(20 / alpha) * 2
    return float(scipy.optimize.brentq(beyond, 0.0, most))


def _limits(y: float, noise: Noise, top: float, rows: int, alpha: float, population: bool) -> tuple[float, float]:
    """Limits of a noisy variance, for normal records or for the table itself."""
    law, at = Law(noise, 0.0, top), min(max(y, 0.0), top)
    family: Family = Integrated(ChiSquare(rows - 1), law, 0.0, top) if population else noise_only(law, at, 0.0, top)
    return inverted(family, at, alpha)


def _offset(noise: Noise, first: Noise, unit: float, alpha: float) -> float:
    """How much the squares of the first noise, times ``unit``, add to the upper quantile of the second."""
    alone = _quantile(noise, alpha / 2)
    # The upper half of the first noise: its squares have the same law.
    table = np.linspace(0.0, first.reach, _TABLE)
    squares = np.interp(0.5 + (np.arange(_POINTS) + 0.5) / _POINTS / 2, first.cdf(table), table) ** 2 * unit

    def beyond(x: float) -> float:
        return float((1 - noise.cdf(x - squares)).mean()) - alpha / 2

    high = alone + float(squares.max()) + noise.reach
    return float(scipy.optimize.brentq(beyond, 0.0, high, xtol=1e-9 * high)) - alone


def _quantile(noise: Noise, tail: float) -> float:
    """The value that the noise exceeds with probability ``tail``, below a half."""
    quantile: float = scipy.optimize.brentq(lambda x: float(1 - noise.cdf(x)) - tail, 0.0, noise.reach)
    return quantile
