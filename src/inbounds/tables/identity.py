"""Ids of persons as text: equal ids become equal texts, different ids different texts, and no id is refused.

Where the type of a column is made from its values (lists, NumPy, pandas, Excel), or where fields are bytes (CSV), each
id becomes a text that follows from this id alone:

================================  =====================================================================================
id                                its text
================================  =====================================================================================
text                              itself; one more NUL in front if it begins with NUL
text with half a surrogate pair   its code points
bytes that are not characters     these bytes, from a CSV file; bytes elsewhere are ids of another kind
number                            its exact value: 1, 1.0, True and Decimal("1.00") are one id, 0.1 and Decimal("0.1")
                                  are two
date, time, difference of times   its exact value, to the last digit that its type has; ``fold`` is part of a time
                                  without a zone, and a time with a zone is an instant
UUID, tuple, list, set, dict      its parts, and what it is
another object                    the parts that it is copied by; itself, if no other object is equal to it
================================  =====================================================================================

All but text begin with NUL and a letter. So the text ``1`` and the number 1 are two ids. The map is one to one: it
hashes nothing. NaN and missing values are no ids, nor is an object whose own methods fail.
"""

import datetime
import enum
import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl

# Whole numbers of more bits are written by their digits in base 16: Python writes no decimal ones of any length.
_SHORT = 2000
# Decimals of more digits before the point than any of those.
_LONG = 700
_DAY = 86_400
_FIRST_DAY = datetime.date(1970, 1, 1).toordinal()
_FINE, _PER_SECOND = 10**9, 10**18
_UNITS = {"W": 7 * _DAY * _PER_SECOND, "D": _DAY * _PER_SECOND, "h": 3600 * _PER_SECOND, "m": 60 * _PER_SECOND}
_UNITS |= {unit: 10 ** (18 - 3 * place) for place, unit in enumerate(("s", "ms", "us", "ns", "ps", "fs", "as"))}


# claim:identity
def write_id(value: Any) -> str | None:
    """The text of an id; None for a masked value. Raises whatever the methods of an object raise.

    >>> write_id("1"), write_id(1), write_id(True), write_id(Decimal("1.00"))
    ('1', '\\x00n1', '\\x00n1', '\\x00n1')
    >>> write_id(0.1) == write_id(Decimal("0.1"))
    False
    """
    return None if type(value).__name__ == "MaskedConstant" else _write(value)


def _write(value: Any) -> str:
    for kinds, write in _WRITERS:
        if isinstance(value, kinds):
            return write(value)
    return _write_object(value)


# Text


def write_text(text: str) -> str:
    """The text of an id that is text."""
    if text.isascii():
        return "\0" + text if text.startswith("\0") else text
    try:
        text.encode()
    except UnicodeEncodeError:
        return "\0s" + text.encode("utf-8", "surrogatepass").hex()
    return "\0" + text if text.startswith("\0") else text


def mark_text(text: "pl.Expr") -> "pl.Expr":
    """A column of text as ids."""
    import polars as pl

    return pl.when(text.str.starts_with("\0")).then(pl.lit("\0") + text).otherwise(text)


def write_field(field: bytes) -> str:
    """The text of an id that is a field of a file: its characters, or its bytes if they are not characters."""
    try:
        return write_text(field.decode())
    except UnicodeDecodeError:
        return "\0x" + field.hex()


# Numbers


def _write_integer(number: int) -> str:
    if number.bit_length() <= _SHORT:
        return f"\0n{number}"
    return _write_scaled(*_strip_tens(number))


def _write_scaled(number: int, exponent: int) -> str:
    """number · 10^exponent, for a number that 10 does not divide."""
    return f"\0e{number:x}e{exponent}"


def _strip_tens(number: int) -> tuple[int, int]:
    """A whole number without its factors of 10, and their number."""
    powers = [10]
    while powers[-1].bit_length() * 2 <= number.bit_length():
        powers.append(powers[-1] ** 2)
    exponent = 0
    for place, power in reversed(list(enumerate(powers))):
        while number % power == 0:
            number, exponent = number // power, exponent + (1 << place)
    return number, exponent


def _write_double(number: float) -> str:
    if math.isnan(number):
        return "\0fnan"
    if math.isinf(number) or not number.is_integer():
        return f"\0f{number.hex()}"
    return _write_integer(int(number))


def _write_ratio(numerator: int, denominator: int) -> str:
    """A fraction in lowest terms: as a double if it is one, by its decimals if they end."""
    if denominator == 1:
        return _write_integer(numerator)
    try:
        double = numerator / denominator
        if double.as_integer_ratio() == (numerator, denominator):
            return _write_double(double)
    except OverflowError:
        pass
    twos = (denominator & -denominator).bit_length() - 1
    rest, fives = denominator >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest > 1:
        return f"\0q{numerator:x}/{denominator:x}"
    places = max(twos, fives)
    return _write_scaled(numerator * 10**places // denominator, -places)


def _write_decimal(number: Decimal) -> str:
    """A decimal, whose exponent may be too large for all its digits to be written."""
    if not number.is_finite():
        return _write_double(float(number))
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    kept = len(digits)
    while kept > 1 and digits[kept - 1] == 0:
        kept -= 1
    exponent += len(digits) - kept
    if not number or (exponent >= 0 and number.adjusted() < _LONG):
        return _write_integer(int(number))
    if exponent < 0 and math.isfinite(double := float(number)) and number == Decimal.from_float(double):
        return _write_double(double)
    return _write_scaled(int(Decimal((sign, digits[:kept], 0))), exponent)


def _write_floating(number: Any) -> str:
    """A number of NumPy, of any size."""
    return _write_ratio(*map(int, number.as_integer_ratio())) if np.isfinite(number) else _write_double(float(number))


def _write_complex(number: Any) -> str:
    # NumPy makes all numbers complex next to one of them.
    real, imaginary = _write(number.real), _write(number.imag)
    return real if imaginary == "\0n0" else _join("c", [real, imaginary])


def write_numbers(series: "pl.Series") -> "pl.Series":
    """A column of numbers or booleans of Polars as ids."""
    import polars as pl

    if series.dtype.is_decimal():
        return _write_each(series)
    if not series.dtype.is_float():
        whole = series.cast(pl.Int8) if series.dtype == pl.Boolean else series
        return ("\0n" + whole.cast(pl.String)).alias(series.name)
    doubles = series.cast(pl.Float64).fill_nan(None)
    is_short = ((doubles.floor() == doubles) & (doubles.abs() < 2.0**63)).fill_null(True)
    texts = write_numbers(doubles.set(~is_short, None).cast(pl.Int64))
    others = (~is_short).arg_true()
    return texts.scatter(others, _write_each(doubles.gather(others))) if others.len() else texts


def _write_each(series: "pl.Series") -> "pl.Series":
    import polars as pl

    texts = [None if value is None else write_id(value) for value in series.to_list()]
    return pl.Series(series.name, texts, dtype=pl.String)


# Dates and times


def _write_moment(kind: str, attoseconds: int) -> str:
    fine, rest = divmod(attoseconds, _FINE)
    return f"\0{kind}{fine}" + (f"+{rest}" if rest else "")


def _write_date(day: datetime.date) -> str:
    return f"\0d{day.toordinal() - _FIRST_DAY}"


def _write_datetime(moment: Any) -> str:
    """A time of a clock, or an instant if it has a zone. pandas has finer ones."""
    ahead, fold = moment.utcoffset(), "f" if moment.fold and moment.tzinfo is None else ""
    if hasattr(moment, "to_datetime64"):
        attoseconds = _count_attoseconds(moment.to_datetime64())
    else:
        seconds = (moment.toordinal() - _FIRST_DAY) * _DAY + _count_seconds(moment)
        attoseconds = seconds * _PER_SECOND + moment.microsecond * 10**12 - _measure(ahead)
    return _write_moment("t" if ahead is None else "z", attoseconds) + fold


def _count_seconds(clock: Any) -> int:
    return int((clock.hour * 60 + clock.minute) * 60 + clock.second)


def _measure(difference: datetime.timedelta | None) -> int:
    return 0 if difference is None else difference // datetime.timedelta(microseconds=1) * 10**12


def _write_clock(clock: datetime.time) -> str:
    ahead, attoseconds = clock.utcoffset(), _count_seconds(clock) * _PER_SECOND + clock.microsecond * 10**12
    zone = "" if ahead is None else f"z{_measure(ahead)}"
    return _write_moment("h", attoseconds) + "f" * clock.fold + zone


def _write_difference(difference: Any) -> str:
    if hasattr(difference, "to_timedelta64"):
        return _write_numpy_difference(difference.to_timedelta64())
    return _write_moment("p", _measure(difference))


def _count_attoseconds(moment: Any) -> int:
    """A time or a difference of times of NumPy, in any unit of a fixed length, or a time in months."""
    unit, step = np.datetime_data(moment.dtype)
    count = int(moment.astype(np.int64)) * step
    if unit in ("Y", "M"):
        return _find_month(count * (12 if unit == "Y" else 1)) * _UNITS["D"]
    return count * _UNITS[unit]


def _find_month(month: int) -> int:
    """The days from 1970-01-01 to the first day of a month, counted from January 1970, of any year."""
    cycle, place = divmod(month + 1969 * 12, 4800)
    return cycle * 146_097 + datetime.date(place // 12 + 1, place % 12 + 1, 1).toordinal() - _FIRST_DAY


def _write_numpy_moment(moment: Any) -> str:
    return _write_moment("t", _count_attoseconds(moment))


def _write_numpy_difference(difference: Any) -> str:
    unit, step = np.datetime_data(difference.dtype)
    if unit not in _UNITS:
        # Months have no fixed length.
        months = int(difference.astype(np.int64)) * step * (12 if unit == "Y" else 1)
        return f"\0p{'?' if unit == 'generic' else 'm'}{months}"
    return _write_moment("p", _count_attoseconds(difference))


# What a column of Polars or NumPy counts: the letter of its ids, and attoseconds.
_POLARS_UNITS = {"ms": 10**15, "us": 10**12, "ns": 10**9}


def write_times(series: "pl.Series") -> "pl.Series":
    """A column of dates, times or differences of times of Polars as ids, to the nanosecond."""
    import polars as pl

    dtype = series.dtype
    if dtype == pl.Date:
        kind, unit = "d", _FINE
    elif dtype == pl.Time:
        kind, unit = "h", _FINE
    else:
        zone = getattr(dtype, "time_zone", None)
        kind, unit = ("p" if dtype == pl.Duration else "t" if zone is None else "z"), _POLARS_UNITS[dtype.time_unit]  # type: ignore[attr-defined]
    counts = series.to_physical().to_list()
    return pl.Series(series.name, _write_counts(kind, counts, unit), dtype=pl.String)


def _write_counts(kind: str, counts: Iterable[int | None], unit: int) -> list[str | None]:
    return [None if count is None else _write_moment(kind, count * unit) for count in counts]


def write_moments(values: "npt.NDArray[Any]") -> "pl.Series | None":
    """An array of times of NumPy as ids; None for another array, and for months."""
    import polars as pl

    if values.dtype.kind != "M" or (unit := np.datetime_data(values.dtype))[0] not in _UNITS:
        return None
    counts = pl.Series(values.astype(np.int64)).set(pl.Series(np.isnat(values)), None).to_list()
    return pl.Series(_write_counts("t", counts, _UNITS[unit[0]] * unit[1]), dtype=pl.String)


def list_objects(values: "npt.NDArray[Any]") -> list[Any]:
    """The elements of an array, none of them changed: `tolist` makes integers of times, and doubles of long ones."""
    is_exact = values.dtype.kind in "OSUbiu" or values.dtype.itemsize <= 8
    return values.tolist() if is_exact and values.dtype.kind not in "mMV" else list(values)


# Other objects


def _join(kind: str, parts: Iterable[str]) -> str:
    """Texts one after another, each with its length."""
    return f"\0{kind}" + "".join(f"{len(part)}:{part}" for part in parts)


def _write_bytes(value: Any) -> str:
    return f"\0b{bytes(value).hex()}"


def _write_void(value: Any) -> str:
    return _join("v", [value.dtype.str, _write(value.item())])


def _write_parts(kind: str) -> Callable[[Iterable[Any]], str]:
    return lambda values: _join(kind, map(_write, values))


def _write_set(values: Iterable[Any]) -> str:
    return _join("{", sorted(map(_write, values)))


def _write_map(values: dict[Any, Any]) -> str:
    return _join("m", sorted(_join(":", map(_write, pair)) for pair in values.items()))


def _write_member(value: enum.Enum) -> str:
    """A member of an enumeration by its names, which are the same in every process."""
    kind = type(value)
    return (
        _write_object(value)
        if "<" in kind.__qualname__
        else _join("g", [kind.__module__, f"{kind.__qualname__}.{value.name}"])
    )


def _write_object(value: Any) -> str:
    """An object by what `copy` would make it of, or by where it is if it is only equal to itself."""
    if value is None:
        return "\0-"
    name = getattr(value, "__qualname__", "<locals>")
    if isinstance(value, type | _FUNCTION) and "<" not in name:
        return _join("g", [value.__module__ or "", name])
    if type(value).__eq__ is _BY_PLACE:
        return f"\0o{id(value)}"
    reduced = value.__reduce_ex__(4)
    if isinstance(reduced, str):
        return _join("g", [type(value).__module__, reduced])
    made, given, *rest = reduced
    parts = [part if part is None or place == 0 else list(part) for place, part in enumerate(rest[:3])]
    return _join("r", map(_write, (type(value), made, given, *parts)))


_FUNCTION = type(_join) | type(len)
_BY_PLACE: Any = object.__eq__
_TEXT: tuple[Any, Callable[[Any], str]] = (str, lambda value: write_text(str.__str__(value)))
# The first that fits. Methods of the type itself, since those of a subclass may do anything.
_WRITERS: Sequence[tuple[Any, Callable[[Any], str]]] = (
    _TEXT,
    (int, lambda value: _write_integer(int.__int__(value))),
    (np.timedelta64, _write_numpy_difference),
    (np.datetime64, _write_numpy_moment),
    (np.integer | np.bool_, lambda value: _write_integer(int(value))),
    (float, lambda value: _write_double(float.__float__(value))),
    (np.floating, _write_floating),
    (complex | np.complexfloating, _write_complex),
    (Decimal, _write_decimal),
    (Fraction, lambda value: _write_ratio(value.numerator, value.denominator)),
    (datetime.datetime, _write_datetime),
    (datetime.date, _write_date),
    (datetime.time, _write_clock),
    (datetime.timedelta, _write_difference),
    (bytes | bytearray | memoryview, _write_bytes),
    (UUID, lambda value: f"\0u{value.hex}"),
    (np.void, _write_void),
    (enum.Enum, _write_member),
    (tuple, _write_parts("(")),
    (list, _write_parts("[")),
    (set | frozenset, _write_set),
    (dict, _write_map),
)
