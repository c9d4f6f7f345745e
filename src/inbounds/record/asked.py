"""The interval that a plan asks for: its kind, its level, its method, and whether all intervals hold together.

It also names the columns whose bounds were released before, which a reader has to know.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from inbounds import _check
from inbounds.errors import RecordError
from inbounds.record.selection import plain_statistic

if TYPE_CHECKING:
    from inbounds.inference.result import Interval
    from inbounds.record.release import Release


LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Asked:
    """The interval of a release that a plan asks for. Without a kind, the one for the population is preferred.

    ``released`` are columns whose bounds the plan took from an earlier record.
    """

    kind: Literal["noise", "population"] | None = None
    level: float = LEVEL
    method: str | None = None
    simultaneous: bool = False
    released: tuple[str, ...] = ()

    def find(self, release: "Release") -> "Interval | None":
        """The interval; None if the release has none of that kind."""
        for kind in ("population", "noise") if self.kind is None else (self.kind,):
            method = self.method if kind == "population" else None
            try:
                return release.interval(self.level, kind=kind, method=method, simultaneous=self.simultaneous)
            except ValueError:
                continue
        return None

    @classmethod
    def from_dict(cls, plain: Any, release: "Release") -> "Asked":
        """Read what `write_asked` wrote of a release. Raises a `RecordError` if no plan could ask for it."""
        names = {"kind", "level", "method", "simultaneous"}
        if not isinstance(plain, dict) or set(plain) - {"released"} != names:
            raise RecordError("an interval has missing or unknown fields")
        released = plain.get("released", [])
        columns = [rule.name for rule in release.columns if rule.step is not None]
        if not isinstance(released, list) or released != [name for name in columns if name in released]:
            raise RecordError("released bounds are not those of the columns of a release")
        level, method = plain["level"], plain["method"]
        offered = plain_statistic(release.statistic).interval_methods
        checks = (
            plain["kind"] in (None, "noise", "population"),
            isinstance(level, float) and 0 < level < 1,
            method is None or method in offered,
            isinstance(plain["simultaneous"], bool),
        )
        if not all(checks):
            raise RecordError("an interval is none that a plan can ask for")
        return cls(**{**plain, "released": tuple(released)})


def find_level(release: "Release") -> float:
    """The level of the interval of a release if no other is asked for: the one that was paid for (``cover``), or 0.95.

    Parameters
    ----------
    release
        The release.

    Returns
    -------
    float
        The level.
    """
    cover = plain_statistic(release.statistic).cover
    return LEVEL if cover is None else float(cover)


def write_asked(asked: Mapping[str, Asked], releases: "Mapping[str, Release]") -> dict[str, Any]:
    """The intervals that are not the default, as plain values by the name of their release."""
    return {
        name: _to_dict(interval)
        for name, interval in asked.items()
        if interval != Asked() or (name in releases and interval.level != find_level(releases[name]))
    }


def _to_dict(asked: Asked) -> dict[str, Any]:
    plain = asdict(asked)
    released = list(plain.pop("released"))
    return plain | ({"released": released} if released else {})


def read_asked(plain: Any, releases: "Mapping[str, Release]") -> dict[str, Asked]:
    """The intervals that the plan of a record asked for.

    They only decide how the numbers are shown, so neither the digest nor the charge depends on them. They must be
    intervals that a plan of these releases can ask for, as `write_asked` writes them.

    Raises
    ------
    RecordError
        If they are not.
    """
    if not isinstance(plain, dict) or not plain or set(plain) - set(releases):
        raise RecordError("the record's intervals are not by the names of its releases")
    asked = {name: Asked.from_dict(plain[name], release) for name, release in releases.items() if name in plain}
    # Texts are compared, because 1 == 1.0 == True.
    if json.dumps(write_asked(asked, releases), sort_keys=True) != json.dumps(plain, sort_keys=True):
        raise RecordError("the record's intervals are not as inbounds writes them")
    return asked


def find_interval(
    release: "Release",
    level: float | None,
    kind: str,
    variance: "Release | None",
    method: str | None,
    *,
    simultaneous: bool,
) -> "Interval":
    """The interval of a release; see `inbounds.Release.interval`.

    A statistic with several methods has ``interval_methods``, their names, and makes an interval by each of them in
    ``interval_with``. Simultaneous intervals share the chance of a miss among all numbers (Bonferroni).
    """
    level = find_level(release) if level is None else level
    if simultaneous and release.axes:
        cells = math.prod(release.shape)
        each = find_interval(release, 1 - (1 - _check.level(level)) / cells, kind, variance, method, simultaneous=False)
        return replace(each, level=level, simultaneous=True, method=f"{each.method}; Bonferroni over {cells} numbers")
    if method is None:
        return release.statistic.interval(release, level, kind, variance)
    statistic = plain_statistic(release.statistic)
    offered = statistic.interval_methods
    if not offered:
        raise ValueError(f"a {statistic.name} has one kind of interval; leave out the method")
    _check.choice(method, "method", offered)
    if variance is not None:
        raise ValueError("variance= cannot be combined with a method of an interval")
    return statistic.interval_with(release, level, kind, method)
