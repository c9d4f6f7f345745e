"""The clock of a time zone: what it shows at an instant.

Engines have different time zone databases, in different versions. So an instant is converted to a time of the clock
here, by adding an offset that is looked up in the changes of the zone, and engines only compare numbers. Offsets are
those of Python's `zoneinfo` from 1970 to 2037, the years for which the tz database vouches; before and after these
years the first and the last offset hold.
"""

import difflib
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar
from zoneinfo import ZoneInfo, available_timezones

_START, _END = 0, int(datetime(2038, 1, 1, tzinfo=UTC).timestamp())
_DAY = 86_400
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Offsets:
    """Seconds by which a clock is ahead of UTC: ``values[i]`` from ``changes[i - 1]`` on, until ``changes[i]``."""

    changes: tuple[float, ...]
    values: tuple[float, ...]

    def at(self, seconds: float) -> float:
        """The offset at an instant, in seconds since 1970-01-01 00:00:00 UTC."""
        return self.values[bisect_right(self.changes, seconds)]

    def choose(self, literal: Callable[[float], _Value], choice: Callable[[float, _Value, _Value], _Value]) -> _Value:
        """The offset as nested choices, as deep as the logarithm of their number.

        ``choice(change, before, after)`` is one value before a change and another from then on.
        """

        def between(first: int, last: int) -> _Value:
            if first == last:
                return literal(self.values[first])
            middle = (first + last) // 2
            return choice(self.changes[middle], between(first, middle), between(middle + 1, last))

        return between(0, len(self.values) - 1)


def check_zone(name: Any) -> str:
    """The name of a time zone; for any other text, an error with the nearest name."""
    if not isinstance(name, str):
        raise TypeError(f"time_zone must be a name such as 'Europe/Berlin' or 'UTC', got {type(name).__name__}")
    if name == "UTC":
        return name
    # Names that begin in lower case, such as localtime, mean something else on each machine.
    zones = [zone for zone in available_timezones() if zone[0].isupper()]
    if not zones:
        raise ValueError("time_zone cannot be looked up, this machine has no time zones: pip install tzdata")
    if name not in zones:
        near = difflib.get_close_matches(name, zones, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ", as in 'Europe/Berlin' or 'UTC'"
        raise ValueError(f"time_zone must be the name of a time zone{hint}")
    return name


# claim:zones
@cache
def find_offsets(name: str) -> Offsets:
    """The offsets of a zone from 1970 to 2037.

    >>> find_offsets("Asia/Kolkata")
    Offsets(changes=(), values=(19800.0,))
    """
    zone = UTC if name == "UTC" else ZoneInfo(name)

    def offset(seconds: int) -> float:
        delta = datetime.fromtimestamp(seconds, zone).utcoffset()
        assert delta is not None
        return delta.total_seconds()

    changes, values = [], [offset(_START)]
    for day in range(_START, _END, _DAY):
        if offset(day + _DAY) != values[-1]:
            low, high = day, day + _DAY
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(middle) == values[-1] else (low, middle)
            changes.append(float(high))
            values.append(offset(high))
    return Offsets(tuple(changes), tuple(values))
