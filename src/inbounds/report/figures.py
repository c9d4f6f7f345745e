"""Write numbers of a report: values, errors and ends."""

from fractions import Fraction

from inbounds._estimates import find_places, write_rounded
from inbounds.record import Release
from inbounds.record.show import NOT_AVAILABLE, choose_unit
from inbounds.report.rows import Section
from inbounds.tables.times import write_time


def format_figure(x: float) -> str:
    """Write a number for people: whole numbers in full, others with five digits or more, and few exponents.

    >>> format_figure(20000), format_figure(20000.0), format_figure(0.123456)
    ('20,000', '20,000.0', '0.12346')
    """
    if isinstance(x, int):
        return f"{x:,}"
    if 1000 <= abs(x) < 1e15:
        return f"{x:,.0f}" if abs(x) >= 1e5 else f"{x:,.1f}"
    return f"{x:.5g}"


def format_bound(x: float) -> str:
    """Write a bound or an edge, which is whole if it was stated so.

    >>> format_bound(2500.0), format_bound(0.05)
    ('2,500', '0.05')
    """
    return format_figure(int(x) if x.is_integer() else x)


def format_value(section: Section, x: float | None) -> str:
    """A value of a release or a limit of it: a number, or the date or time that it is."""
    clock = section.release.clock
    return _format_any(x) if clock is None or x is None else write_time(x, clock)


def _write_alone(error: float) -> str:
    """An error, with as many digits as a number with this error would have."""
    return write_rounded(error, find_places(error))


def write_error(release: Release, error: float) -> str:
    """An error of a release by itself; for dates and times, with its unit."""
    if release.clock is None:
        return _write_alone(error)
    name, seconds = choose_unit(error, release.clock)
    return f"{_write_alone(error / seconds)} {name}"


def format_end(section: Section, x: float) -> str:
    """An end of what is possible: a share in percent, a date as such."""
    if section.release.clock is None and section.release.statistic.traits.shares:
        return f"{100 * x:g} %"
    if section.release.clock is not None:
        return format_value(section, x)
    return f"{x:,.0f}" if x.is_integer() and abs(x) < 1e15 else f"{x:,.6g}"


def _format_any(x: float | None) -> str:
    return NOT_AVAILABLE if x is None else format_figure(x)


def format_exact(x: Fraction) -> str:
    return str(x) if len(str(x)) <= 12 else f"{float(x):.6g}"
