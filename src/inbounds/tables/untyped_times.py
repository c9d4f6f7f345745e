"""Dates and times in columns whose type was made from their values, as whole seconds of a clock.

A value without a zone is the time of a clock, and counts as it is. A value with a zone, or text that ends with ``Z`` or
an offset such as ``+02:00``, is an instant: it counts as the time that the clock of the declared zone shows, and as
missing if no zone is declared.
"""

import re
from datetime import date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds.tables.expressions.dates import END_SECOND, FIRST_SECOND
from inbounds.tables.zones import find_offsets

if TYPE_CHECKING:
    import polars as pl

SPACES = " \t"
_DATE_FORM = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_CLOCK_FORM = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
_OFFSET_FORM = r"(Z|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)"
_WRITTEN = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]{1,9})?)?"
    rf"({_OFFSET_FORM})?)?"
)
_START, _FIRST_DAY, _SECOND = datetime(1970, 1, 1), date(1970, 1, 1).toordinal(), timedelta(seconds=1)


# Columns of Polars


def fit_times(series: "pl.Series", zone: str | None) -> "pl.Series | None":
    """A column of dates, times or text as seconds; None for one of other objects."""
    import polars as pl

    if series.dtype == pl.String:
        seconds = text_as_time(pl.col(series.name), zone)
    elif series.dtype == pl.Date:
        seconds = _seconds_of(pl.col(series.name).cast(pl.Datetime("ms")))
    elif isinstance(series.dtype, pl.Datetime):
        seconds = _fit_clock(pl.col(series.name), zone, instants=series.dtype.time_zone is not None)
    elif series.dtype.is_numeric() or series.dtype == pl.Boolean:
        seconds = pl.lit(None, dtype=pl.Float64)
    else:
        return None
    return series.to_frame().with_columns(seconds.alias(series.name)).to_series()


def _fit_clock(value: "pl.Expr", zone: str | None, *, instants: bool) -> "pl.Expr":
    import polars as pl

    if not instants:
        return _seconds_of(value)
    if zone is None:
        return pl.lit(None, dtype=pl.Float64)
    return _tell(_seconds_of(value.dt.convert_time_zone("UTC")), zone)


def _seconds_of(value: "pl.Expr") -> "pl.Expr":
    """Whole seconds since 1970 by the clock of the column; null outside the years 1 to 9999."""
    import polars as pl

    days = value.dt.date().cast(pl.Int32).cast(pl.Float64)
    clock = pl.sum_horizontal(
        value.dt.hour().cast(pl.Float64) * 3600.0, value.dt.minute() * 60.0, value.dt.second().cast(pl.Float64)
    )
    year = value.dt.year()
    return pl.when((year >= 1) & (year <= 9999)).then(days * 86_400.0 + clock)


def _tell(utc: "pl.Expr", zone: str) -> "pl.Expr":
    """The time of a zone's clock at an instant, by a search in the changes of the zone.

    Nested choices would name the instant, with all that reads it from text, once for each change.
    """
    import polars as pl

    offsets = find_offsets(zone)
    changes, values = (pl.lit(pl.Series(numbers, dtype=pl.Float64)) for numbers in (offsets.changes, offsets.values))
    return utc + values.gather(changes.search_sorted(utc, side="right"))


def text_as_time(text: "pl.Expr", zone: str | None) -> "pl.Expr":
    """Text in the form of ISO 8601 as seconds; anything else is missing."""
    import polars as pl

    trimmed = text.str.strip_chars(SPACES)
    date = pl.when(trimmed.str.contains(_DATE_FORM)).then(trimmed.str.slice(0, 10))
    plain = pl.when(trimmed.str.contains(f"^{_CLOCK_FORM}$")).then(trimmed)
    clock_seconds = _read_clock(pl.coalesce(date, plain))
    if zone is None:
        return clock_seconds
    with_offset = pl.when(trimmed.str.contains(f"^{_CLOCK_FORM}{_OFFSET_FORM}$")).then(trimmed)
    utc = _read_clock(with_offset) - _read_offset(with_offset)
    is_in_range = (utc >= FIRST_SECOND) & (utc < END_SECOND)
    return pl.coalesce(clock_seconds, _tell(pl.when(is_in_range).then(utc), zone))


def _read_clock(text: "pl.Expr") -> "pl.Expr":
    """A date, or a time with whatever stands behind its seconds, as seconds; null for days and hours that are none."""
    import polars as pl

    day = text.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    hour, minute = (text.str.slice(start, 2).cast(pl.Float64, strict=False).fill_null(0.0) for start in (11, 14))
    second = text.str.extract(r"^.{16}:([0-9]{2})").cast(pl.Float64, strict=False).fill_null(0.0)
    is_time = (hour <= 23) & (minute <= 59) & (second <= 59)
    days = day.cast(pl.Int32).cast(pl.Float64)
    return pl.when(is_time & (day.dt.year() >= 1)).then(days * 86_400.0 + hour * 3600.0 + minute * 60.0 + second)


def _read_offset(text: "pl.Expr") -> "pl.Expr":
    """The seconds of an offset such as +02:00 at the end of a time; 0 for Z."""
    import polars as pl

    # What follows the minutes, without the minus signs of the date.
    behind = text.str.slice(16)
    sign = pl.when(behind.str.contains("-", literal=True)).then(pl.lit(-1.0)).otherwise(pl.lit(1.0))
    hours, minutes = (
        behind.str.extract(form).cast(pl.Float64, strict=False).fill_null(0.0)
        for form in (r"[+-]([0-9]{2})", r"[+-][0-9]{2}:?([0-9]{2})$")
    )
    return sign * (hours * 3600.0 + minutes * 60.0)


# Objects of Python


def to_seconds(value: Any, zone: str | None) -> float | None:
    """A date or a time as whole seconds since 1970, by the clock of the zone; None for anything else."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[s]").item()
    if isinstance(value, str):
        value = _parse(value)
    if not isinstance(value, date):
        return None
    if not isinstance(value, datetime):
        return (value.toordinal() - _FIRST_DAY) * 86_400.0
    ahead = value.utcoffset()
    clock_time = value.replace(tzinfo=None) - _START
    if ahead is None:
        return float(clock_time // _SECOND)
    utc = float((clock_time - ahead) // _SECOND)
    if zone is None or not FIRST_SECOND <= utc < END_SECOND:
        return None
    return utc + find_offsets(zone).at(utc)


def _parse(text: str) -> datetime | None:
    match = _WRITTEN.fullmatch(str.strip(text, SPACES))
    if match is None or not text.isascii():
        return None
    moment, offset = datetime(*(int(part or 0) for part in match.groups()[:6])), match[7]  # type: ignore[arg-type]
    if offset is None:
        return moment
    digits = offset[1:].replace(":", "").ljust(4, "0")
    ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return moment.replace(tzinfo=timezone(-ahead if offset[0] == "-" else ahead))
