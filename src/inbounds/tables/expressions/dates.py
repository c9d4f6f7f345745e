"""Days, months and hours in floor arithmetic on doubles, so that no engine's date functions matter.

A time is a number of seconds since 1970-01-01 00:00:00, without a zone; a date is its midnight. Years are those of the
Gregorian calendar from 1 to 9999, also before it was in use, as in Python's `datetime`. The formulas are those of Neri
and Schneider, "Euclidean affine functions and their application to calendar algorithms" (2023), sections 4 and 5, with
years that begin in March. Every number in them is whole and below 2^50, and so is exact in a double. Nothing is
divided: Polars takes a division by a constant for a product with its reciprocal, which may be off in the last digit.
⌊a/b⌋ is ⌊(a + ½)/b⌋, and (a + ½)/b lies at least 1/(2b) from a whole number, so that a reciprocal will do (`_divide`).

Each function takes Python's floats or Narwhals' expressions: `floor` is the one operation that differs.
"""

import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import narwhals as nw

# The seconds of the years 1 to 9999: the first of them, and the first one after them.
FIRST_SECOND, END_SECOND = -62_135_596_800.0, 253_402_300_800.0
# From 0000-03-01 to 1970-01-01.
_SHIFT = 719_468.0
_DAY = 86_400.0


def _floor(value: Any) -> Any:
    if isinstance(value, float):
        return float(math.floor(value))
    import narwhals as nw

    # Some engines make the floor an integer, whose quotients are then others.
    return value.floor().cast(nw.Float64)


def _divide(whole: Any, divisor: float) -> Any:
    """⌊a/b⌋ for whole numbers a below 2^50."""
    return _floor((whole + 0.5) * (1.0 / divisor))


# claim:civil
def days_from_civil(year: Any, month: Any, day: Any) -> Any:
    """Days since 1970-01-01 of a date of the years 1 to 9999.

    With j = 1 in January and February and 0 otherwise, y = year - j, m = month + 12 j and c = ⌊y/100⌋ they are
    ⌊1461 y/4⌋ - c + ⌊c/4⌋ + ⌊(153 m - 457)/5⌋ + day - 719469.

    >>> days_from_civil(1970.0, 1.0, 2.0), days_from_civil(2000.0, 3.0, 1.0)
    (1.0, 11017.0)
    """
    before_march = 1.0 - _divide(month + 9.0, 12.0)
    year, month = year - before_march, month + before_march * 12.0
    century = _divide(year, 100.0)
    days = _divide(year * 1461.0, 4.0) - century + _divide(century, 4.0)
    return days + _divide(month * 153.0 - 457.0, 5.0) + day - (_SHIFT + 1.0)


def year_of(seconds: Any) -> Any:
    """The year of a time: that of its March, and one more in January and February."""
    century, in_century = _century_days(seconds)
    _, months = _march_months(seconds)
    return century * 100.0 + _divide(in_century * 4.0 + 3.0, 1461.0) + _divide(months, 13.0)


def month_of(seconds: Any) -> Any:
    """The month of a time, from 1 to 12."""
    _, months = _march_months(seconds)
    return months - _divide(months, 13.0) * 12.0


def day_of(seconds: Any) -> Any:
    """The day of the month of a time, from 1 to 31."""
    scaled, months = _march_months(seconds)
    return _divide(scaled - months * 153.0, 5.0) + 1.0


def weekday_of(seconds: Any) -> Any:
    """The day of the week of a time, from 1 for Monday to 7 for Sunday, as in ISO 8601."""
    # 0000-03-01 was a Wednesday.
    days = _whole_days(seconds) + _SHIFT + 2.0
    return days - _divide(days, 7.0) * 7.0 + 1.0


def hour_of(seconds: Any) -> Any:
    """The hour of a time, from 0 to 23."""
    return _divide(_floor(seconds) - _whole_days(seconds) * _DAY, 3600.0)


def days_of(seconds: Any) -> Any:
    """The number of days from 1970-01-01 to the day of a time."""
    return _whole_days(seconds)


PARTS = {
    "year": year_of,
    "month": month_of,
    "day": day_of,
    "weekday": weekday_of,
    "hour": hour_of,
    "days": days_of,
}


def _whole_days(seconds: Any) -> Any:
    """Days since 1970-01-01. Seconds are made whole first: those just before midnight would be rounded to it."""
    return _divide(_floor(seconds), _DAY)


def _century_days(seconds: Any) -> tuple[Any, Any]:
    """The century of a year that begins in March, and the days since its first."""
    scaled = (_whole_days(seconds) + _SHIFT) * 4.0 + 3.0
    century = _divide(scaled, 146_097.0)
    return century, _divide(scaled - century * 146_097.0, 4.0)


def _march_months(seconds: Any) -> tuple[Any, Any]:
    """5 d + 461 for the days d since the first of March, and the month, from 3 for March to 14 for February."""
    _, in_century = _century_days(seconds)
    scaled = in_century * 4.0 + 3.0
    days = _divide(scaled - _divide(scaled, 1461.0) * 1461.0, 4.0)
    return days * 5.0 + 461.0, _divide(days * 5.0 + 461.0, 153.0)


# claim:civil
def seconds_from_parts(
    year: "nw.Expr", month: "nw.Expr", day: "nw.Expr", hour: "nw.Expr", minute: "nw.Expr", second: "nw.Expr"
) -> "nw.Expr":
    """Seconds since 1970-01-01 00:00:00, for a date or time that is given by its parts.

    Parameters
    ----------
    year, month, day, hour, minute
        Expressions of Narwhals of whole numbers, of any type of numbers.
    second
        The same; it may have a fraction.

    Returns
    -------
    narwhals.Expr
        Doubles, null where a part is missing or the year is not in 1 to 9999. Whole seconds are exact; a fraction is
        rounded once, as it is added.
    """
    import narwhals as nw

    y, m, d, h, minutes, s = (part.cast(nw.Float64) for part in (year, month, day, hour, minute, second))
    is_known = ((y >= 1.0).fill_null(False)) & ((y <= 9999.0).fill_null(False))
    return nw.when(is_known).then(_add_parts(y, m, d, h, minutes, s)).otherwise(nw.lit(None, dtype=nw.Float64))


def seconds_of(value: "nw.Expr", *, date: bool = False) -> "nw.Expr":
    """A date or a time as seconds since 1970, by the numbers that a calendar has for it: engines agree on those."""
    import narwhals as nw

    day = value.dt.year(), value.dt.month(), value.dt.day()
    midnight = nw.lit(0.0)
    clock = (midnight,) * 3 if date else (value.dt.hour(), value.dt.minute(), value.dt.second())
    return seconds_from_parts(*day, *clock)


def _add_parts(year: Any, month: Any, day: Any, hour: Any, minute: Any, second: Any) -> Any:
    return days_from_civil(year, month, day) * _DAY + hour * 3600.0 + minute * 60.0 + second


def find_seconds(
    year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: float = 0.0
) -> float | None:  # fmt: skip
    """The same as `seconds_from_parts` in Python; None outside the years 1 to 9999.

    >>> find_seconds(1970, 1, 2), find_seconds(10000, 1, 1)
    (86400.0, None)
    """
    if not 1 <= year <= 9999:
        return None
    return float(_add_parts(*map(float, (year, month, day, hour, minute, second))))


_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(_DATE.pattern + r"[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(\.[0-9]{1,9})?)?")


def read_moment(word: str, text: str) -> tuple[str, float] | None:
    """A literal date (``date``) or time (``timestamp``) in its one spelling, with its seconds; None if it is none.

    >>> read_moment("timestamp", "2013-06-01T12:30")
    ("timestamp '2013-06-01 12:30:00'", 1370089800.0)
    >>> read_moment("date", "2013-02-29")
    """
    match = (_DATE if word == "date" else _TIME).fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in (*match.groups(), *"000")[:6])
    fraction = (match[7] or "").rstrip("0").rstrip(".") if word == "timestamp" else ""
    seconds = find_seconds(year, month, day, hour, minute, float(f"{second}{fraction}"))
    if seconds is None or not (1 <= month <= 12 and hour <= 23 and minute <= 59 and second <= 59):
        return None
    # A day that the month does not have is one of the next.
    if (month_of(seconds), day_of(seconds)) != (month, day):
        return None
    date = f"{year:04d}-{month:02d}-{day:02d}"
    clock = f" {hour:02d}:{minute:02d}:{second:02d}{fraction}" if word == "timestamp" else ""
    return f"{word} '{date}{clock}'", seconds
