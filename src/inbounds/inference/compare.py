"""Differences of two releases, and tests of a released share."""

from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds import _check
from inbounds.inference.counts import Binomial, Sampled
from inbounds.inference.intervals import Interval, certified_parts, noisy_counts, public_size
from inbounds.inference.laws import law_of

if TYPE_CHECKING:
    from inbounds.record import Release

METHODS = ("mover", "guaranteed")


def difference(
    first: "Release", second: "Release", level: float = 0.95, *, kind: str = "population", method: str = "mover"
) -> Interval:
    """The interval of the first value minus the second.

    ``"mover"`` squares and adds the distances from values to the ends of their own intervals (Zou and Donner 2008); it
    is for two tables without records in common. ``"guaranteed"`` takes each interval at the level 1 - (1 - level)/2 and
    the largest and smallest difference of them: wider, and good for two releases of one table, too.
    """
    _check.choice(method, "method", METHODS)
    if np.shape(first.value) != np.shape(second.value) or first.axes != second.axes:
        raise ValueError("two releases are compared number by number: both must have the same cells")
    if first.statistic != second.statistic:
        raise ValueError(f"a {first.statistic} is not compared with a {second.statistic}")
    inner = level if method == "mover" else 1 - (1 - _check.finite(level, "level")) / 2
    one, two = first.interval(inner, kind=kind), second.interval(inner, kind=kind)
    assumption = one.assumption if one.assumption == two.assumption else f"{one.assumption}; {two.assumption}"
    if method == "guaranteed":
        return Interval(one.lower - two.upper, one.upper - two.lower, level, kind, "guaranteed", assumption)
    a, b = (np.asarray(release.value, float) for release in (first, second))
    lower = a - b - np.hypot(a - one.lower, two.upper - b)
    upper = a - b + np.hypot(one.upper - a, b - two.lower)
    if not first.axes:
        lower, upper = float(lower), float(upper)
    return Interval(lower, upper, level, kind, "mover", f"{assumption}; the two tables have no records in common")


ALTERNATIVES = ("greater", "less", "two-sided")


def p_value(release: "Release", value: float, alternative: str = "greater") -> Any:
    """claim:p-value. How far a released share, or count, speaks against a share in the population of ``value``.

    ``"greater"``: P(released ≥ what was | share = value), which no share below ``value`` exceeds: a test of "at most
    ``value``", exact in noise and sampling. ``"less"`` is its mirror; ``"two-sided"`` twice the smaller of both. One
    for each cell where there are several.
    """
    _check.choice(alternative, "alternative", ALTERNATIVES)
    value = _check.finite(value, "value")
    if not 0 <= value <= 1:
        raise ValueError(f"value must be a share between 0 and 1, got {value}")
    size = public_size(release)
    if release.statistic not in ("proportion", "proportions", "count", "histogram", "crosstab") or size is None:
        raise ValueError("p-values are for counts and shares of a public number of records")
    law = law_of(certified_parts(release)[0], (0.0, float(size)), counts=True)
    family = Sampled(Binomial(size), law)
    found = []
    for y in noisy_counts(release):
        greater, less = 1 - family.below(y, value), family.at_most(y, value)
        tails = {"greater": greater, "less": less, "two-sided": min(1.0, 2 * min(greater, less))}
        found.append(min(max(tails[alternative], 0.0), 1.0))
    return np.array(found).reshape([len(axis) for axis in release.axes]) if release.axes else found[0]
