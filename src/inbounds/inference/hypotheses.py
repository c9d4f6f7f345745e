"""Tests of hypotheses from records, whose sizes hold under the noise: means, shares and tables.

Tests of means use the scores of `inbounds.inference.score`. Tests of shares and tables compare the statistic that
follows from noisy counts with those of simulated releases under the null hypothesis: counts of as many records with the
released margins, and noise of the certified law (Gaboardi, Lim, Rogers and Vadhan 2016). Draws have a fixed seed.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from inbounds import _check
from inbounds._check import Array
from inbounds.expected import draw_zero_sum, lattice_of
from inbounds.inference import score
from inbounds.inference.laws import Laplace
from inbounds.inference.means import list_noisy
from inbounds.inference.result import require_release
from inbounds.inference.score import Noisy
from inbounds.privacy.certificate import Certificate
from inbounds.record.release import Release

# A level of .05 is met up to .002, the standard deviation that comes from their fixed seed.
_DRAWS = 10_000
# Smaller p-values are not distinguished: the assumptions about the tails do not hold so far out.
_LEAST_SHOWN = 1e-6


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a test.

    Attributes
    ----------
    p_value
        The probability of a statistic at least as far from the null hypothesis, if that holds: noise and sampling.
    statistic
        The statistic: a difference, or Pearson's χ² of the noisy counts.
    null
        The null hypothesis, in words.
    method
        How the p-value was found.
    """

    p_value: float
    statistic: float
    null: str
    method: str

    def __str__(self) -> str:
        text = f"p = {self.p_value:.3g}" if self.p_value >= _LEAST_SHOWN else f"p < {_LEAST_SHOWN:g}"
        return f"{text} if {self.null}; statistic {self.statistic:.6g}, by {self.method}"


# claim:t-test
def t_test(first: Release, second: Release | float = 0.0, *, groups: tuple[str, str] | None = None) -> Outcome:
    """Test a released mean against a number, or two means for equality.

    Parameters
    ----------
    first
        A released mean that was drawn with its second moment, which is the default.
    second
        Another released mean, of a table with other records, or the number that the mean is tested against.
    groups
        Two groups of ``first``, a release by groups, whose means are compared.

    Returns
    -------
    Outcome
        The two-sided p-value and the difference.

    Raises
    ------
    ValueError
        If a mean was not drawn with its second moment, or the groups are not those of the release.

    Examples
    --------
    >>> import inbounds as ib
    >>> release = ib.mean([23, 35, 62, 41] * 500, bounds=(0, 100), epsilon=1)
    >>> t_test(release, 50).p_value < 0.01
    True
    """
    cells = _noisy_means(first, "first")
    if groups is not None:
        if len(first.axes) != 1 or set(groups) - set(first.axes[0]) or len(set(groups)) != 2:
            raise ValueError("groups must be two different groups of a mean by one column")
        pair = [cells[first.axes[0].index(name)] for name in groups]
        return _two_means(pair, [first, first], f"{groups[0]} and {groups[1]} have the same mean")
    if first.axes:
        raise ValueError("name the two groups to compare, as in groups=('north', 'south')")
    if isinstance(second, Release):
        return _two_means([cells[0], _noisy_means(second, "second")[0]], [first, second], "both have the same mean")
    value = _check.finite(second, "second")
    ((low, high),) = first.numeric_ends().tolist()
    if not low <= value <= high:
        raise ValueError("second must lie within the bounds of the column")
    p = min(1.0, score.p_value(cells[0], (value - (low + high) / 2) / ((high - low) / 2)))
    return Outcome(p, float(first.table) - value, f"the mean is {value:g}", score.METHOD)


def _noisy_means(release: Release, name: str) -> list[Noisy]:
    way = require_release(release, name).derivation
    if not way.square:
        raise ValueError(f"{name} must be a mean that was drawn with its second moment: method='moments'")
    return list_noisy(release)


def _two_means(pair: list[Noisy], releases: list[Release], null: str) -> Outcome:
    """The difference of two means over its standard error: from sampling, from rare records, and from the noise."""
    rng = np.random.default_rng(7)
    means, variance, noise = [], 0.0, np.zeros(_DRAWS)
    for cell, release in zip(pair, releases, strict=True):
        ends = release.numeric_ends()[0]
        half, count = (ends[1] - ends[0]) / 2, max(cell.count, 1.0)
        mean = float(np.clip(cell.total / count, -1.0, 1.0))
        means.append(float(ends.mean()) + half * mean)
        spread = max(cell.squares - 2 * mean * cell.total + mean**2 * cell.count, 0.0) + cell.off / 3
        spread += score.rare(0.05) * (1 + abs(mean)) ** 2
        variance += spread * (half / count) ** 2
        if isinstance(cell.noise, Laplace):
            errors = rng.laplace(0, cell.noise.scale, _DRAWS)
        else:
            rows = cell.noise[rng.integers(len(cell.noise), size=_DRAWS)]
            errors = rows[:, 1] - mean * rows[:, 0]
        noise = noise + errors * half / count
    difference, deviation = means[0] - means[1], math.sqrt(variance)
    tail = scipy.special.ndtr((noise - abs(difference)) / deviation)
    tail = tail + scipy.special.ndtr((-noise - abs(difference)) / deviation)
    return Outcome(min(1.0, float(tail.mean())), difference, null, "scores of both means, with simulated noise")


# claim:chi-square
def chi_square(release: Release) -> Outcome:
    """Test whether the two columns of a released crosstab are independent.

    Parameters
    ----------
    release
        A released crosstab of two columns.

    Returns
    -------
    Outcome
        The p-value, and Pearson's χ² of the noisy counts.

    Raises
    ------
    ValueError
        If the release is not a table of counts of two columns with noise that is not truncated.

    Examples
    --------
    >>> import inbounds as ib
    >>> table = {"a": ["x", "y"] * 500, "b": ["u", "v"] * 500}
    >>> release = ib.crosstab(table, levels={"a": ["x", "y"], "b": ["u", "v"]}, epsilon=1)
    >>> chi_square(release).p_value < 0.01
    True
    """
    require_release(release, "release")
    traits, part = release.statistic.traits, release.parts[0]
    if not traits.counted or len(release.axes) != 2 or part.bounding == "truncated":
        raise ValueError("a chi-squared test needs a released crosstab of two columns with bounding='bit'")
    if len({id(law) for law in release.parts}) > 1:
        raise ValueError("a chi-squared test needs counts that all have the same noise")
    noisy = np.array([float(x) for x in release.noisy]).reshape(release.shape)
    rng = np.random.default_rng(8)
    rows, columns = (np.maximum(noisy.sum(axis=axis), 0.5) for axis in (1, 0))
    size = release.size if release.size is not None else max(round(float(noisy.sum())), 1)
    chances = np.outer(rows / rows.sum(), columns / columns.sum())
    counts = rng.multinomial(size, chances.ravel(), size=_DRAWS) + _noise_of_table(part, noisy.size, _DRAWS)
    statistics = _pearson(counts.reshape(_DRAWS, *release.shape))
    statistic = float(_pearson(noisy[None])[0])
    p = (1 + int(np.sum(statistics >= statistic * (1 - 1e-12)))) / (_DRAWS + 1)
    names = " and ".join(rule.name for rule in release.columns)
    return Outcome(p, statistic, f"{names} are independent", "simulated releases of independent columns")


def _pearson(noisy: Array) -> Array:
    """Pearson's χ² of tables of noisy counts, with margins of at least half a record."""
    rows, columns = (np.maximum(noisy.sum(axis=axis, keepdims=True), 0.5) for axis in (2, 1))
    expected = rows * columns / np.maximum(rows.sum(axis=1, keepdims=True), 0.5)
    return np.asarray(((noisy - expected) ** 2 / np.maximum(expected, 0.5)).sum(axis=(1, 2)))


@lru_cache(maxsize=8)
def _noise_of_table(part: Certificate, cells: int, draws: int) -> Array:
    """Draws of the noise of a table: a fixed seed, other than that of its counts."""
    return draw_counts(part, cells, np.random.default_rng(10), draws)


def draw_counts(part: Certificate, cells: int, rng: np.random.Generator, draws: int) -> Array:
    """Draws of the noise of counts, as certified: discrete Laplace noise, or noise that keeps their sum."""
    scale = float(part.spread / part.step)
    if (lattice := lattice_of(part)) is not None:
        return lattice.sample(rng, (draws, cells))
    if part.noise == "zero-sum":
        return draw_zero_sum(cells, scale, rng, draws)
    chance = -math.expm1(-1 / scale)
    return np.asarray(rng.geometric(chance, (draws, cells)) - rng.geometric(chance, (draws, cells)), float)


# claim:compare-shares
def compare_shares(first: Release, second: Release) -> Outcome:
    """Test whether two released shares, of tables with different records, are equal.

    Parameters
    ----------
    first, second
        Two released shares or counts, each of a public number of records.

    Returns
    -------
    Outcome
        The two-sided p-value and the difference.

    Raises
    ------
    ValueError
        If a release is not one share of a public number of records, with noise that is not truncated.

    Examples
    --------
    >>> import inbounds as ib
    >>> many, few = (ib.proportion([1, 0, 0, 0] * 200 + more, epsilon=1) for more in ([1] * 300, [0] * 300))
    >>> compare_shares(many, few).p_value < 0.01
    True
    """
    pair = [require_release(first, "first"), require_release(second, "second")]
    counts, sizes = [], []
    for each in pair:
        if not each.statistic.traits.counted or each.axes or each.size is None or each.parts[0].bounding == "truncated":
            raise ValueError("both must be a share or a count of a public number of records, with bounding='bit'")
        part = each.parts[0]
        counts.append(float((each.noisy[0] - part.origin) / part.step))
        sizes.append(each.size)
    share = float(np.clip(sum(counts) / sum(sizes), 0.5 / sum(sizes), 1 - 0.5 / sum(sizes)))
    rng = np.random.default_rng(9)
    shares = [
        (rng.binomial(size, share, _DRAWS) + draw_counts(each.parts[0], 1, rng, _DRAWS)[:, 0]) / size
        for each, size in zip(pair, sizes, strict=True)
    ]
    difference = counts[0] / sizes[0] - counts[1] / sizes[1]
    farther = np.sum(np.abs(shares[0] - shares[1]) >= abs(difference) * (1 - 1e-12))
    p = (1 + int(farther)) / (_DRAWS + 1)
    return Outcome(p, difference, "both shares are equal", "simulated releases of equal shares")
