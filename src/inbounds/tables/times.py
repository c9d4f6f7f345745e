"""Dates and times as numbers: a date as days, a time as whole seconds, both since 1970-01-01 and by their own clock."""

import re
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import narwhals as nw

Clock: TypeAlias = Literal["date", "datetime"]
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(_DATE.pattern + r"[ T][0-9]{2}:[0-9]{2}(:[0-9]{2})?")
_START = datetime(1970, 1, 1)
_DAY = 86_400


def read_time(value: Any) -> datetime | date | None:
    """A date or a time as a user writes it: as an object, or as text in the form of ISO 8601; None for anything else.

    >>> read_time("2013-06-01"), read_time("1/2")
    (datetime.date(2013, 6, 1), None)
    """
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[D]" if value.dtype == "datetime64[D]" else "datetime64[s]").item()
    if isinstance(value, str):
        try:
            if _DATE.fullmatch(value):
                return date.fromisoformat(value)
            return datetime.fromisoformat(value) if _TIME.fullmatch(value) else None
        except ValueError:
            return None
    return value if isinstance(value, date) else None


def find_clock(values: list[Any]) -> Clock | None:
    """Whether values are dates or times; None if one of them is neither."""
    moments = [read_time(value) for value in values]
    if not moments or any(moment is None for moment in moments):
        return None
    return "datetime" if any(isinstance(moment, datetime) for moment in moments) else "date"


def count_time(value: Any, clock: Clock) -> Fraction:
    """The number of a date or a time; `ValueError` for what is none, or has a zone."""
    moment = read_time(value)
    if moment is None:
        raise ValueError("must be a date or a time, as in 2013-06-01 or 2013-06-01 12:30:00")
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        raise ValueError("must have no time zone of its own: it is by the clock of time_zone")
    whole = moment if isinstance(moment, datetime) else datetime(moment.year, moment.month, moment.day)
    seconds = (whole - _START) // timedelta(seconds=1)
    return Fraction(seconds // _DAY if clock == "date" else seconds)


def is_instant(dtype: "nw.dtypes.DType") -> bool:
    """Whether a type is that of times with a zone. These are instants: a zone says what a clock shows at them."""
    return getattr(dtype, "time_zone", None) is not None


def make_time(number: float, clock: Clock) -> date | datetime:
    """The date or the time of a number, to the nearest day or second."""
    seconds = round(number) * (_DAY if clock == "date" else 1)
    moment = _START + timedelta(seconds=seconds)
    return moment.date() if clock == "date" else moment


def write_time(number: Fraction | float, clock: Clock) -> str:
    """The text of a number's date or time.

    >>> write_time(15857, "date"), write_time(1370089800, "datetime")
    ('2013-06-01', '2013-06-01 12:30:00')
    """
    return str(make_time(float(number), clock))
