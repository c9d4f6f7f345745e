"""Where the axis of a chart has ticks, and what they are called: numbers, shares in percent, dates and times."""

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from fractions import Fraction
from typing import NamedTuple

from inbounds.tables.times import Clock

_START = datetime(1970, 1, 1)
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_WEEK, _MONTH, _YEAR = 7 * _DAY, 30 * _DAY, 365 * _DAY
# Steps of up to a week, in seconds. Longer ones follow the calendar.
_CLOCK_STEPS = (
    *(1, 5, 15, 30, _MINUTE, 5 * _MINUTE, 15 * _MINUTE, 30 * _MINUTE),
    *(_HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY, 2 * _DAY, _WEEK),
)
# The first Monday of the count of seconds.
_MONDAY = 4 * _DAY
# Numbers outside of these powers of ten are written with an exponent.
_LEAST_POWER, _LARGEST_POWER = -6, 9
# How often an axis is made wider, and how far beyond its end a tick may be, in steps: ends are rounded numbers.
_ROUNDS, _HAIR = 4, Fraction(1, 10**9)


class Tick(NamedTuple):
    """A place on an axis, and what is written there."""

    at: float
    label: str


class Step(NamedTuple):
    """The distance of ticks, ``factor`` · 10^``power``, where the factor is 1, 2 or 5."""

    factor: int
    power: int

    @property
    def size(self) -> Fraction:
        """The distance as an exact number."""
        return self.factor * Fraction(10) ** self.power


def choose_step(low: float, high: float, count: int) -> Step:
    """Choose the distance of ticks for an axis.

    The rule is that of d3-scale: of the numbers 1, 2 and 5 times a power of ten, take the one whose ratio to
    ``(high - low) / count`` is nearest to 1.

    Parameters
    ----------
    low, high
        The ends of the axis, ``low`` below ``high``.
    count
        About how many steps to have.

    Returns
    -------
    Step
        The distance.

    Examples
    --------
    >>> choose_step(0, 10, 4)
    Step(factor=2, power=0)
    """
    target = (high - low) / count
    power = math.floor(math.log10(target))
    rest = target / 10.0**power
    # The limits are the geometric means of neighbours among 1, 2, 5 and 10.
    factor = next((f for f, limit in ((1, 2), (2, 10), (5, 50)) if rest * rest < limit), 10)
    return Step(1, power + 1) if factor == 10 else Step(factor, power)


def extend(low: float, high: float, count: int) -> tuple[float, float]:
    """Move the ends of an axis outwards to ticks.

    Parameters
    ----------
    low, high
        The ends of what is drawn. If they are the same, the axis becomes wider than a point.
    count
        About how many steps to have.

    Returns
    -------
    tuple of float
        The ends of the axis.

    Examples
    --------
    >>> extend(0.3, 9.7, 4)
    (0.0, 10.0)
    """
    if not low < high:
        room = abs(low) / 20 or 1.0
        low, high = low - room, high + room
    first, last = Fraction(low), Fraction(high)
    # A wider axis may have a longer step, for which it is not yet wide enough. With few steps that need not end.
    for _ in range(_ROUNDS):
        step = choose_step(float(first), float(last), count).size
        first, last = math.floor(first / step) * step, math.ceil(last / step) * step
    return float(first), float(last)


def list_numbers(low: float, high: float, count: int, *, percent: bool = False) -> list[Tick]:
    """Ticks at round numbers.

    Parameters
    ----------
    low, high
        The ends of the axis.
    count
        About how many steps to have.
    percent
        Whether numbers are shares, to be written in percent.

    Returns
    -------
    list of Tick
        All multiples of the step that are on the axis, the least first.

    Examples
    --------
    >>> [tick.label for tick in list_numbers(0, 0.02, 4, percent=True)]
    ['0.0%', '0.5%', '1.0%', '1.5%', '2.0%']
    """
    if not low < high:
        return [Tick(low, _write(Fraction(low), -2 if percent else 0, percent=percent))]
    step = choose_step(low, high, count)
    first, last = math.ceil(Fraction(low) / step.size - _HAIR), math.floor(Fraction(high) / step.size + _HAIR)
    numbers = [i * step.size for i in range(first, last + 1)]
    return [Tick(float(x), _write(x, step.power, percent=percent)) for x in numbers]


def list_times(low: float, high: float, count: int, clock: Clock) -> list[Tick]:
    """Ticks at round dates or times.

    Parameters
    ----------
    low, high
        The ends of the axis, in days or seconds since 1970.
    count
        About how many steps to have.
    clock
        Whether the numbers are days or seconds.

    Returns
    -------
    list of Tick
        Dates and times in the form of ISO 8601, without what is the same at all of them by the length of the step.

    Examples
    --------
    >>> [tick.label for tick in list_times(0, 365, 4, "date")]
    ['1970-01', '1970-04', '1970-07', '1970-10', '1971-01']
    """
    unit = _DAY if clock == "date" else 1
    first, last = low * unit, high * unit
    target = max(last - first, 1.0) / count
    if target > math.sqrt(_WEEK * _MONTH):
        return [Tick(at / unit, label) for at, label in _follow_calendar(first, last, target)]
    steps = [step for step in _CLOCK_STEPS if step >= unit]
    step = min(steps, key=lambda size: abs(math.log(size / target)))
    origin = _MONDAY if step == _WEEK else 0
    places = range(math.ceil((first - origin) / step), math.floor((last - origin) / step) + 1)
    form = "%Y-%m-%d" if step >= _DAY else "%m-%d %H:%M" if step >= _MINUTE else "%H:%M:%S"
    return [Tick((origin + i * step) / unit, _name_time(origin + i * step, form)) for i in places]


def _follow_calendar(first: float, last: float, target: float) -> Iterator[tuple[int, str]]:
    """The first days of months or years, a round number of them apart, in seconds."""
    if target < math.sqrt(3 * _MONTH * _YEAR):
        months = 1 if target < math.sqrt(3) * _MONTH else 3
    else:
        months = 12 * max(1, int(choose_step(0, target / _YEAR, 1).size))
    begin, end = (_START + timedelta(seconds=at) for at in (math.ceil(first), math.floor(last)))
    index = -(-(begin.year * 12 + begin.month - 1) // months) * months
    while index // 12 <= end.year:
        # There is no year 0 in the calendar of Python.
        moment = datetime(index // 12, index % 12 + 1, 1) if index >= 12 else None
        if moment is not None and begin <= moment <= end:
            yield (moment - _START) // timedelta(seconds=1), f"{moment.year:04}" + f"-{moment.month:02}" * (months < 12)
        index += months


def _name_time(seconds: int, form: str) -> str:
    moment = _START + timedelta(seconds=seconds)
    # Years before 1000 have fewer digits on some systems.
    return moment.strftime(form.replace("%Y", f"{moment.year:04}"))


def _write(number: Fraction, power: int, *, percent: bool) -> str:
    """A multiple of a power of ten with as many digits as that takes."""
    if percent:
        return _write(100 * number, power + 2, percent=False) + "%"
    if number and not Fraction(10) ** _LEAST_POWER <= abs(number) < 10**_LARGEST_POWER:
        mantissa, _, exponent = f"{float(number):.11e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}".replace("-", "−")
    places = max(-power, 0) if number or power >= _LEAST_POWER else 0
    return f"{float(number):,.{places}f}".replace("-", "−")
