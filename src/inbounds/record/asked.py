"""What was asked of an interval: its kind, its level, how it is made, and whether all hold together."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from inbounds import _check
from inbounds.record.selection import plain_statistic

if TYPE_CHECKING:
    from inbounds.inference.result import Interval
    from inbounds.record.release import Release


@dataclass(frozen=True, slots=True)
class Asked:
    """The interval of a release that a plan asks for. Without a kind it is for the population where there is one."""

    kind: Literal["noise", "population"] | None = None
    level: float = 0.95
    method: str | None = None
    simultaneous: bool = False

    def find(self, release: "Release") -> "Interval | None":
        """The interval; None if the release has none of that kind."""
        for kind in ("population", "noise") if self.kind is None else (self.kind,):
            method = self.method if kind == "population" else None
            try:
                return release.interval(self.level, kind=kind, method=method, simultaneous=self.simultaneous)
            except ValueError:
                continue
        return None


def find_interval(
    release: "Release", level: float, kind: str, variance: "Release | None", method: str | None, *, simultaneous: bool
) -> "Interval":
    """The interval of a release; see `inbounds.Release.interval`.

    A statistic with several methods has ``interval_methods``, their names, and a method ``interval_with(release, level,
    kind, method)``. Simultaneous intervals share what may be missed among all numbers (Bonferroni).
    """
    if simultaneous and release.axes:
        cells = math.prod(release.shape)
        own = find_interval(release, 1 - (1 - _check.level(level)) / cells, kind, variance, method, simultaneous=False)
        return replace(own, level=level, simultaneous=True, method=f"{own.method}; Bonferroni over {cells} numbers")
    if method is None:
        return release.statistic.interval(release, level, kind, variance)
    statistic: Any = plain_statistic(release.statistic)
    offered: tuple[str, ...] = getattr(statistic, "interval_methods", ())
    if not offered:
        raise ValueError(f"a {statistic.name} has one kind of interval; leave out the method")
    _check.choice(method, "method", offered)
    if variance is not None:
        raise ValueError("variance= cannot be combined with a method of an interval")
    made: Interval = statistic.interval_with(release, level, kind, method)
    return made
