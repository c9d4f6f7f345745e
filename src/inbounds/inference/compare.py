"""Differences of two releases, and tests of a released share."""

import numpy as np

from inbounds import _check
from inbounds._check import Figures
from inbounds.derivations import AllButOne
from inbounds.inference.counts import Binomial, Sampled
from inbounds.inference.laws import law_of
from inbounds.inference.result import Interval, noisy_counts, require_release
from inbounds.record.release import Kind, Release

METHODS = ("mover", "guaranteed")


def difference(
    first: Release, second: Release, level: float = 0.95, *, kind: Kind = "population", method: str = "mover"
) -> Interval:
    """The interval for the difference of two releases, the first minus the second.

    Parameters
    ----------
    first, second
        Releases of the same statistic with the same cells and bounds.
    level
        The confidence level.
    kind
        ``"population"`` for the populations, ``"noise"`` for the two tables themselves.
    method
        ``"mover"`` adds the squares of the distances from the values to the ends of their intervals (Zou and Donner
        2008). It is for two tables without common records. ``"guaranteed"`` takes both intervals at the level
        1 - (1 - level)/2, and their largest and smallest difference. It is wider, but also right for two releases from
        one table.

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
    require_release(first, "first")
    require_release(second, "second")
    level = _check.level(level)
    _check.choice(method, "method", METHODS)
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
    inner = level if method == "mover" else 1 - (1 - level) / 2
    one, two = first.interval(inner, kind=kind), second.interval(inner, kind=kind)
    clauses = list(dict.fromkeys([one.assumption, two.assumption]))
    what = f"difference of the {one.what}"
    if method == "guaranteed":
        ends = (one.lower - two.upper, one.upper - two.lower)
        how = "largest and smallest difference of two intervals"
        return Interval(*ends, level, kind, how, "; ".join(clauses), what, first.axes)
    a, b = (np.array(release.flat_values(), float).reshape(release.shape) for release in (first, second))
    lower = a - b - np.hypot(a - one.lower, two.upper - b)
    upper = a - b + np.hypot(one.upper - a, b - two.lower)
    # For a value that is not available, only the limits are known.
    lower = np.where(np.isnan(a - b), one.lower - two.upper, lower)
    upper = np.where(np.isnan(a - b), one.upper - two.lower, upper)
    if not first.axes:
        lower, upper = float(lower), float(upper)
    if kind == "population":
        clauses.append("the two tables have no records in common")
    how = "distances to the ends of both intervals, squared and added (MOVER)"
    return Interval(lower, upper, level, kind, how, "; ".join(clauses), what, first.axes)


ALTERNATIVES = ("greater", "less", "two-sided")


def p_value(release: Release, value: float, alternative: str = "greater") -> Figures:
    """claim:p-value. The p-value of a test of a share in the population, from a released share or count.

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
    >>> share = ib.proportion(["yes", "no"] * 500, level="yes", epsilon=1)
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
    if isinstance(release.derivation, AllButOne):
        raise ValueError(
            "a share that is derived from the others has no p-value; test the others, or release with another repair="
        )
    found = []
    parts, cells = noisy_counts(release)
    for place, y in cells:
        law = law_of(parts[place], (0.0, float(size)), counts=True)
        family = Sampled(Binomial(size), law)
        mirror = Sampled(Binomial(size), law.mirrored(float(size)))
        greater, less = family.at_least_exactly(y, value), mirror.at_least_exactly(size - y, 1 - value)
        tails = {"greater": greater, "less": less, "two-sided": min(1.0, 2 * min(greater, less))}
        found.append(min(max(tails[alternative], 0.0), 1.0))
    return np.array(found).reshape(release.shape) if release.axes else found[0]
