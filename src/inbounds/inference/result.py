"""The interval, and functions that all of inference uses to read a record."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from inbounds import _check
from inbounds._check import Figures
from inbounds._html import render
from inbounds._text import lay_out, visible
from inbounds.privacy.certificate import Certificate
from inbounds.record.notes import describe_kept
from inbounds.record.release import ColumnRule, Release
from inbounds.record.selection import list_rules
from inbounds.record.show import to_times
from inbounds.tables.schema import Levels
from inbounds.tables.times import Clock, write_time

KINDS = ("population", "noise")
# The most rows of a table that a notebook shows.
_MOST_ROWS = 50
NORMAL = "records are normal, and hardly any lie beyond the bounds"
_PLACES = {"population": "in the population", "noise": "of this table"}


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """A confidence interval. It unpacks as ``lower, upper``, and ``x in interval`` is whether x is between them.

    Attributes
    ----------
    lower, upper
        The limits. Arrays in the shape of the value if there are several, each at ``level`` by itself.
    level
        The confidence level.
    kind
        ``"population"`` for the population, ``"noise"`` for the table itself.
    method
        How the interval was made.
    assumption
        What has to hold for it to cover.
    what
        The statistic.
    axes
        The labels of the cells, along each axis.
    simultaneous
        Whether all intervals hold together at ``level``.
    clock
        ``"date"`` or ``"datetime"`` where limits are days or seconds since 1970; `ends` has them as dates and times.
    """

    lower: Figures
    upper: Figures
    level: float
    kind: str
    method: str
    assumption: str
    what: str = "value"
    axes: tuple[tuple[str, ...], ...] = ()
    clock: Clock | None = None
    simultaneous: bool = False

    @property
    def ends(self) -> tuple[Any, Any]:
        """The limits as dates or times, for a statistic that is one; otherwise `lower` and `upper`."""
        if self.clock is None:
            return self.lower, self.upper
        return to_times(self.lower, self.clock), to_times(self.upper, self.clock)

    @property
    def if_normal(self) -> bool:
        """Whether it covers only if records are normal, which has to be said beside the number."""
        return NORMAL in self.assumption

    def __iter__(self) -> Iterator[Figures]:
        return iter((self.lower, self.upper))

    def __contains__(self, x: npt.ArrayLike) -> bool:
        return bool(np.all((self.lower <= np.asarray(x)) & (np.asarray(x) <= self.upper)))

    @property
    def width(self) -> Figures:
        """The upper minus the lower limit."""
        return self.upper - self.lower

    def to_dict(self) -> dict[str, Any]:
        """The interval as plain values, for JSON. An end that is infinite is None."""
        names = ("lower", "upper", "level", "kind", "method", "assumption", "what", "axes")
        values: dict[str, Any] = {name: getattr(self, name) for name in names}
        for end in ("lower", "upper"):
            plain = np.array(values[end], dtype=object)
            plain[~np.isfinite(values[end])] = None
            values[end] = plain.tolist()
        return values

    def __str__(self) -> str:
        ends = zip(np.ravel(self.lower), np.ravel(self.upper), strict=True)
        texts = [" to ".join(self._write_ends(low, high)) or "no interval" for low, high in ends]
        each = "each " if self.axes and not self.simultaneous else ""
        head = f"{each}{_check.percent(self.level)} for the {self.what} {_PLACES[self.kind]}"
        if self.axes:
            head += ", all together" if self.simultaneous else ", each by itself, not all together"
        head, notes = visible(head), visible(f"  {self.method}; assumes {self.assumption}")
        if not self.axes:
            return f"{texts[0]}: {head}\n{notes}"
        return f"{head}:{lay_out(texts, self.axes)}\n{notes}"

    def _write_ends(self, lower: float, upper: float) -> list[str]:
        """Both ends as text; none where noise leaves no interval."""
        return [] if lower == -math.inf and upper == math.inf else [self._write(lower), self._write(upper)]

    def _write(self, end: float) -> str:
        return f"{end:.6g}" if self.clock is None else write_time(end, self.clock)

    def _repr_html_(self) -> str:
        labels = [", ".join(cell) for cell in product(*self.axes)] if self.axes else [self.what]
        ends = zip(np.ravel(self.lower), np.ravel(self.upper), strict=True)
        rows = [
            (label, self._write_ends(*pair) or ["no interval", ""]) for label, pair in zip(labels, ends, strict=True)
        ]
        more = len(rows) - _MOST_ROWS
        each = f"each {_check.percent(self.level)}" if self.axes else _check.percent(self.level)
        caption = f"{each} for the {self.what} {_PLACES[self.kind]}; {self.method}; assumes {self.assumption}"
        rest = f"and {more:,} more" if more > 0 else ""
        return render("list", caption=caption, heads=["", "lower", "upper"], rows=rows[:_MOST_ROWS], rest=rest)


def describe_statistic(release: Release) -> str:
    """The statistic and how records were counted: the limits are for records as they were counted."""
    rows = describe_kept(release.terms.unit)
    notes = [rows] if rows else []
    # A level that is counted is 1 and all others are 0, which clips nothing.
    with_level = {rule.name for rule in release.columns if rule.other is not None}
    for rule in release.columns:
        ends = describe_ends(release, rule)
        if rule.step is not None and rule.name not in with_level:
            notes.append(f"{rule.name} clipped to {ends}")
        elif rule.lower is not None and release.statistic.traits.matrix:
            notes.append(f"{rule.name} in {len(rule.cells)} intervals, {ends}")
        if rule.missing is not None:
            notes.append(describe_missing(rule))
    return release.title + (f" ({', '.join(notes)})" if notes else "")


def describe_ends(release: Release, rule: ColumnRule, write: Callable[[float], str] = "{:g}".format) -> str:
    """The ends to which a column was clipped or cut: numbers, dates or times."""
    clocks = {other.name: other.clock for other in list_rules(release.statistic) if not isinstance(other, Levels)}
    clock = clocks.get(rule.name)
    ends = float(rule.lower or 0), float(rule.upper or 0)
    return " to ".join(write(end) if clock is None else write_time(end, clock) for end in ends)


def describe_missing(rule: ColumnRule) -> str:
    """What became of missing values of a column."""
    places = {"skip": "left out", "level": "counted as a level of their own"}
    place = places.get(rule.missing or "") if rule.missing not in rule.cells else None
    return f"missing {rule.name} {place or f'counted as {rule.missing}'}"


def require_release(value: Any, name: str) -> Release:
    """Refuse a value that is not a release with numbers. A text gets a hint how to read it."""
    if not isinstance(value, Release):
        hint = "; read its text with Release.from_json" if isinstance(value, str) else ""
        raise TypeError(f"{name} must be a Release, got {_check.shown(value)}{hint}")
    if not value.released:
        raise ValueError(f"{name} is the record of a preview; nothing has been released yet")
    return value


def noisy_counts(release: Release) -> tuple[list[Certificate], list[tuple[int, float]]]:
    """The different laws of cells, and for each cell the index of its law and its noisy count.

    Counts are clamped to 0 and the number of records. The cells of a tree are its leaves.
    """
    parts, noisy = release.parts, release.noisy
    leaves = release.derivation.leaves
    if leaves is not None:
        parts, noisy = tuple(parts[node] for node in leaves), tuple(noisy[node] for node in leaves)
    top = math.inf if release.size is None else float(release.size)
    laws = list({id(part): part for part in parts}.values())
    place = {id(part): i for i, part in enumerate(laws)}
    cells = [
        (place[id(part)], min(max(float((x - part.origin) / part.step), 0.0), top))
        for part, x in zip(parts, noisy, strict=True)
    ]
    return laws, cells
