"""Differences of two releases, and tests of a released share."""

from typing import Any

import numpy as np

from inbounds import _check
from inbounds.derivations import AllButOne
from inbounds.inference.counts import Binomial, Sampled
from inbounds.inference.laws import law_of
from inbounds.inference.result import Interval, noisy_counts, require_release
from inbounds.record.release import Kind, Release

METHODS = ("mover", "guaranteed")


def difference(
    first: Release, second: Release, level: float = 0.95, *, kind: Kind = "population", method: str = "mover"
) -> Interval:
    """The interval of the first value minus the second.

    ``"mover"`` squares and adds the distances from values to the ends of their own intervals (Zou and Donner 2008); it
    is for two tables without records in common. ``"guaranteed"`` takes each interval at the level 1 - (1 - level)/2 and
    the largest and smallest difference of them: wider, and good for two releases of one table, too.
    """
    require_release(first, "first")
    require_release(second, "second")
    level = _check.level(level)
    _check.choice(method, "method", METHODS)
    if type(first.statistic) is not type(second.statistic) or first.title != second.title or first.axes != second.axes:
        raise ValueError(
            "only releases of the same statistic with the same cells can be compared: the first is the "
            f"{first.title}, the second the {second.title}"
        )
    if [(rule.lower, rule.upper) for rule in first.columns] != [(rule.lower, rule.upper) for rule in second.columns]:
        raise ValueError(
            "the two releases have different bounds: their values were clipped differently and cannot be compared"
        )
    if method == "mover" and first is second:
        raise ValueError("method='mover' is for two independent releases; these are one and the same")
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
    # Of what is not available nothing is known but the ends.
    lower = np.where(np.isnan(a - b), one.lower - two.upper, lower)
    upper = np.where(np.isnan(a - b), one.upper - two.lower, upper)
    if not first.axes:
        lower, upper = float(lower), float(upper)
    if kind == "population":
        clauses.append("the two tables have no records in common")
    how = "distances to the ends of both intervals, squared and added (MOVER)"
    return Interval(lower, upper, level, kind, how, "; ".join(clauses), what, first.axes)


ALTERNATIVES = ("greater", "less", "two-sided")


def p_value(release: Release, value: float, alternative: str = "greater") -> Any:
    """claim:p-value. How far a released share, or count, speaks against a share in the population of ``value``.

    ``"greater"``: P(released ≥ what was | share = value), which no share below ``value`` exceeds: a test of "at most
    ``value``", exact in noise and sampling. ``"less"`` is its mirror; ``"two-sided"`` twice the smaller of both. One
    for each cell where there are several.
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
            "a share that is derived from the others has no law of its own; test the others, or use repair="
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
