"""Intervals by a method that was asked for."""

from typing import TYPE_CHECKING, Any

from inbounds import _check
from inbounds.record.selection import plain_statistic

if TYPE_CHECKING:
    from inbounds.inference.result import Interval
    from inbounds.record.release import Release


def interval_with(release: "Release", level: float, kind: str, variance: "Release | None", method: str) -> "Interval":
    """The interval of a release by a method, where its statistic has several.

    Such a statistic has ``interval_methods``, their names, and ``interval_with(release, level, kind, method)``.
    """
    statistic: Any = plain_statistic(release.statistic)
    offered = list_methods(release)
    if not offered:
        raise ValueError(f"a {statistic.name} has one kind of interval; leave out the method")
    _check.choice(method, "method", offered)
    if variance is not None:
        raise ValueError("variance= cannot be combined with a method of an interval")
    made: Interval = statistic.interval_with(release, level, kind, method)
    return made


def list_methods(release: "Release") -> tuple[str, ...]:
    """The methods of intervals that the statistic of a release has."""
    offered: tuple[str, ...] = getattr(plain_statistic(release.statistic), "interval_methods", ())
    return offered
