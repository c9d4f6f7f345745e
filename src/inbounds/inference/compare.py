"""Differences and ratios of two releases or groups, and tests of a released share."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from inbounds import _check
from inbounds._check import Array, Figures
from inbounds.inference.counts import Binomial, Sampled
from inbounds.inference.laws import law_of
from inbounds.inference.result import Interval, noisy_counts, require_release
from inbounds.record.possible import list_possible
from inbounds.record.release import Kind, Release

METHODS = ("mover", "guaranteed")
_ADDED = "or added where one of them is the end of what is possible"


@dataclass(frozen=True, slots=True)
class Limited:
    """Values with the limits of their intervals, and the least and most that they can be.

    An interval that ends at the edge of what is possible stops there, although the error goes on. So its distance from
    the value says too little about the error to be squared and added to another one.
    """

    value: Any
    low: Any
    high: Any
    least: Any
    most: Any

    @property
    def width(self) -> Array:
        """The width of what is possible, or 0 if that has no end: the unit for how near limits are to an end."""
        width = np.asarray(self.most, float) - np.asarray(self.least, float)
        return np.where(np.isfinite(width), width, 0.0)

    @property
    def ends_low(self) -> npt.NDArray[np.bool_]:
        """Where the lower limit is the least that is possible."""
        return np.asarray(self.low <= self.least + _NEAR * self.width, bool)

    @property
    def ends_high(self) -> npt.NDArray[np.bool_]:
        """Where the upper limit is the most that is possible."""
        return np.asarray(self.high >= self.most - _NEAR * self.width, bool)


_NEAR = 1e-9


def difference(
    first: Release,
    second: Release | None = None,
    level: float = 0.95,
    *,
    kind: Kind = "population",
    method: str = "mover",
    groups: tuple[str, str] | None = None,
) -> Interval:
    """The interval for the difference of two releases or of two groups of one, the first minus the second.

    Parameters
    ----------
    first, second
        Releases of the same statistic with the same cells and bounds; with ``groups`` only the first.
    level
        The confidence level.
    kind
        ``"population"`` for the populations, ``"noise"`` for the two tables themselves.
    method
        ``"mover"`` adds the squares of the distances from the values to the ends of their intervals (Zou and Donner
        2008), or the distances themselves where an interval ends at the least or most that is possible. It is for two
        tables without common records. ``"guaranteed"`` takes both intervals at the level
        1 - (1 - level)/2, and their largest and smallest difference. It is wider, but also right for two releases from
        one table.
    groups
        Two groups of ``first``, a release by groups whose noise is drawn for each group by itself.

    Returns
    -------
    Interval
        The limits, with the method and what it assumes.

    Raises
    ------
    ValueError
        If the releases differ in statistic, cells or bounds, or have no interval of that kind.

    Examples
    --------
    >>> import inbounds as ib
    >>> first, second = (ib.mean([23, 35, 62, 41] * 500, bounds=(0, 100), epsilon=1) for _ in range(2))
    >>> difference(first, second).kind
    'population'
    """
    pair = _compare(first, second, level, kind, method, groups)
    left, right = pair.sides
    if method == "guaranteed":
        how = "largest and smallest difference of two intervals"
        return pair.make(left.low - right.high, left.high - right.low, "difference of the {}", how)
    lower, upper = mover_difference(left, right)
    how = f"distances to the ends of both intervals, squared and added (MOVER), {_ADDED}"
    return pair.make(lower, upper, "difference of the {}", how)


# claim:ratio-interval
def ratio(
    first: Release,
    second: Release | None = None,
    level: float = 0.95,
    *,
    kind: Kind = "population",
    method: str = "mover",
    groups: tuple[str, str] | None = None,
) -> Interval:
    """The interval for the ratio of two positive numbers, the first over the second.

    Parameters
    ----------
    first, second, level, kind, groups
        As for `difference`.
    method
        ``"mover"`` solves for the ratios r at which the difference of the first and r times the second may be 0, by the
        distances from both values to the ends of their intervals (Donner and Zou 2012). It is for two tables without
        common records. ``"guaranteed"`` takes both intervals at the level 1 - (1 - level)/2, and their largest and
        smallest ratio.

    Returns
    -------
    Interval
        The limits, with the method and what it assumes; the upper one may be infinite.

    Raises
    ------
    ValueError
        If the releases differ in statistic, cells or bounds, have no interval of that kind, or may be negative.

    Examples
    --------
    >>> import inbounds as ib
    >>> first, second = (ib.mean([23, 35, 62, 41] * 500, bounds=(0, 100), epsilon=1) for _ in range(2))
    >>> 1 in ratio(first, second, 0.999)
    True
    """
    pair = _compare(first, second, level, kind, method, groups)
    if any(np.any(np.asarray(side.low) < 0) for side in pair.sides):
        raise ValueError("a ratio needs numbers that are not negative, with intervals that are not either")
    left, right = pair.sides
    with np.errstate(divide="ignore", invalid="ignore"):
        if method == "guaranteed":
            how = "largest and smallest ratio of two intervals"
            lower, upper = left.low / right.high, left.high / right.low
        else:
            how = f"ratios whose difference may be 0, by distances to the ends of both intervals (MOVER), {_ADDED}"
            lower, upper = mover_ratio(left, right)
    # 0 over 0, or anything over a number that can only be 0, says nothing.
    lower, upper = np.where(np.isfinite(lower), lower, 0.0), np.where(np.isnan(upper), np.inf, upper)
    return pair.make(lower, upper, "ratio of the {}", how)


def mover_difference(first: Limited, second: Limited) -> tuple[Array, Array]:
    """Limits of differences from two values and the limits of both."""
    a, b = first.value, second.value
    lower = a - b - np.hypot(a - first.low, second.high - b)
    upper = a - b + np.hypot(first.high - a, b - second.low)
    # For a value that is not available, only the limits are known.
    lower = np.where(np.isnan(a - b) | first.ends_low | second.ends_high, first.low - second.high, lower)
    upper = np.where(np.isnan(a - b) | first.ends_high | second.ends_low, first.high - second.low, upper)
    return lower, upper


def mover_ratio(first: Limited, second: Limited) -> tuple[Array, Array]:
    """Limits of ratios from two values and the limits of both, none of them negative; an upper one may be infinite."""
    a, b = (np.asarray(side.value, float) for side in (first, second))
    lower, upper = _side_of_ratio(a, b, first.low, second.high, -1), _side_of_ratio(a, b, first.high, second.low, 1)
    lower = np.where(first.ends_low | second.ends_high, first.low / second.high, lower)
    return lower, np.where(first.ends_high | second.ends_low, first.high / np.asarray(second.low, float), upper)


def _side_of_ratio(a: Array, b: Array, end: Array, other: Array, side: int) -> Array:
    """The r with (a - r b)² = (a - end)² + r² (b - other)², below a/b or above it; infinite where there is none."""
    # (b² - (b - other)²) r² - 2ab r + (a² - (a - end)²) = 0.
    square, rest = other * (2 * b - other), end * (2 * a - end)
    root = np.sqrt(np.maximum((a * b) ** 2 - square * rest, 0.0))
    if side < 0:
        # Without cancellation: the product of both solutions is rest/square.
        return np.asarray(np.maximum(rest, 0.0) / (a * b + root))
    return np.asarray(np.where(square > 0, (a * b + root) / square, np.inf))


@dataclass(frozen=True, slots=True)
class _Pair:
    """The two sides of a comparison, with what their intervals have in common."""

    sides: tuple[Limited, Limited]
    level: float
    kind: str
    assumption: str
    what: str
    axes: tuple[tuple[str, ...], ...]

    def make(self, lower: Any, upper: Any, what: str, how: str) -> Interval:
        if not self.axes:
            lower, upper = float(lower), float(upper)
        return Interval(lower, upper, self.level, self.kind, how, self.assumption, what.format(self.what), self.axes)


def _compare(
    first: Release,
    second: Release | None,
    level: float,
    kind: Kind,
    method: str,
    groups: tuple[str, str] | None,
) -> _Pair:
    """Check what is compared, and find both intervals, at a higher level for the guaranteed method."""
    require_release(first, "first")
    level = _check.level(level)
    _check.choice(method, "method", METHODS)
    inner = level if method == "mover" else 1 - (1 - level) / 2
    if groups is not None:
        return _compare_groups(first, second, level, inner, kind, groups)
    if second is None:
        raise TypeError("give a second release, or two groups of the first, as in groups=('north', 'south')")
    require_release(second, "second")
    if type(first.statistic) is not type(second.statistic) or first.title != second.title or first.axes != second.axes:
        raise ValueError(
            "only releases of the same statistic with the same cells can be compared: the first is the "
            f"{first.title}, the second is the {second.title}"
        )
    if [(rule.lower, rule.upper) for rule in first.columns] != [(rule.lower, rule.upper) for rule in second.columns]:
        raise ValueError(
            "the two releases have different bounds: their values were clipped differently and cannot be compared"
        )
    if method == "mover" and first is second:
        raise ValueError("method='mover' is for two independent releases, but first and second are the same release")
    first_interval, second_interval = first.interval(inner, kind=kind), second.interval(inner, kind=kind)
    clauses = list(dict.fromkeys([first_interval.assumption, second_interval.assumption]))
    if kind == "population" and method == "mover":
        clauses.append("the two tables have no records in common")
    sides = (_limit(first, first_interval), _limit(second, second_interval))
    return _Pair(sides, level, kind, "; ".join(clauses), first_interval.what, first.axes)


def _limit(release: Release, interval: Interval) -> Limited:
    value = np.array(release.flat_values(), float).reshape(release.shape)
    least, most = (np.reshape(end, release.shape) for end in zip(*list_possible(release), strict=True))
    if release.statistic.traits.meaning in ("spread", "squared spread"):
        # The variance of a sample can be larger than that of the population, by n/(n - 1).
        most = most * (1 - 1 / max(release.rows or 0, 2))
    return Limited(value, np.asarray(interval.lower, float), np.asarray(interval.upper, float), least, most)


def _compare_groups(
    first: Release, second: Release | None, level: float, inner: float, kind: Kind, groups: tuple[str, str]
) -> _Pair:
    if second is not None:
        raise ValueError("groups= compares two groups of one release; leave out the second")
    names = first.axes[0] if len(first.axes) == 1 and first.derivation.of_sums else ()
    if len(set(groups)) != 2 or set(groups) - set(names):
        raise ValueError(
            "groups must be two different groups of a release by one column whose groups have noise of their own, "
            "as means and shares by groups have"
        )
    interval, places = first.interval(inner, kind=kind), [names.index(name) for name in groups]
    whole = _limit(first, interval)
    sides = [
        Limited(*(np.ravel(end)[place] for end in (whole.value, whole.low, whole.high, whole.least, whole.most)))
        for place in places
    ]
    what = f"{interval.what}, {groups[0]} and {groups[1]}"
    return _Pair((sides[0], sides[1]), level, kind, interval.assumption, what, ())


ALTERNATIVES = ("greater", "less", "two-sided")


# claim:p-value
def p_value(release: Release, value: float, alternative: str = "greater") -> Figures:
    """The p-value of a test of a share in the population, from a released share or count.

    Parameters
    ----------
    release
        A released count or share, of a public number of records.
    value
        The share under the null hypothesis.
    alternative
        ``"greater"`` tests "the share is at most ``value``" with P(S ≥ released | share = value), where S is the noisy
        count. It takes noise and sampling into account exactly. ``"less"`` tests "at least ``value``" in the same way.
        ``"two-sided"`` is twice the smaller of the two, at most 1.

    Returns
    -------
    float or array
        The p-value. An array with one for each cell if there are several.

    Raises
    ------
    ValueError
        If the release is not a count or share of a public number of records, or the share was derived from others.

    Examples
    --------
    >>> import inbounds as ib
    >>> share = ib.proportion(["yes", "no"] * 500, level="yes", levels=["yes", "no"], epsilon=1)
    >>> p_value(share, 0.2) < 0.001
    True
    """
    require_release(release, "release")
    _check.choice(alternative, "alternative", ALTERNATIVES)
    value = _check.finite(value, "value")
    if not 0 <= value <= 1:
        raise ValueError(f"value must be a share between 0 and 1, got {value}")
    size = release.size
    if not release.statistic.traits.counted or size is None:
        raise ValueError("p-values are for counts and shares of a public number of records")
    if release.derivation.derived is not None:
        raise ValueError(
            "a share that is derived from the others has no p-value; test the others, or release with another repair="
        )
    p_values = []
    parts, cells = noisy_counts(release)
    for place, y in cells:
        law = law_of(parts[place], (0.0, float(size)), counts=True)
        family = Sampled(Binomial(size), law)
        mirror = Sampled(Binomial(size), law.mirrored(float(size)))
        greater, less = family.at_least_exactly(y, value), mirror.at_least_exactly(size - y, 1 - value)
        tails = {"greater": greater, "less": less, "two-sided": min(1.0, 2 * min(greater, less))}
        p_values.append(min(max(tails[alternative], 0.0), 1.0))
    return np.array(p_values).reshape(release.shape) if release.axes else p_values[0]
