"""Validators. Each returns the value in the type that the library works with, or raises an error.

The error names the argument, the rule and the value. It may show the value because only public numbers are checked
here (scales, bounds, ε, sizes). Data are checked elsewhere. Comparisons are written so that NaN fails them.
"""

import math
import numbers
import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
Bounds: TypeAlias = tuple[float, float]
# One figure, or an array of them in the shape of a value.
Figures: TypeAlias = float | Array


# Python does not write numbers of thousands of digits, and nobody reads them.
_MANY_DIGITS, _LONGEST = 10**40, 120


def shown(value: object) -> str:
    """Write a value for a message. Anything but a number or a short text may be data, so only its type is shown."""
    kind = type(value).__name__
    if isinstance(value, int) and not -_MANY_DIGITS < value < _MANY_DIGITS:
        return "a whole number of more than 40 digits"
    scalar = value is None or isinstance(value, bool | int | float | complex | np.generic | Fraction | Decimal)
    if isinstance(value, Fraction):
        return _cut(str(value))
    return (
        f"{_cut(repr(value))} of type {kind}"
        if scalar or (isinstance(value, str) and len(value) < 100)
        else f"a {kind}"
    )


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def real(value: object, name: str) -> float:
    """A real number as a float; NaN is refused, infinities are not."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a real number, got {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name} must fit in a double-precision number, got one that overflows") from None
    if math.isnan(number):
        raise ValueError(f"{name} must be a number, got nan")
    return number


# The cube of any number up to this one fits in a double.
LARGEST = 1e100


def finite(value: object, name: str) -> float:
    """A finite real number."""
    number = real(value, name)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}")
    return number


def positive(value: object, name: str) -> float:
    """A finite real number greater than zero."""
    number = real(value, name)
    if not 0 < number < math.inf:
        raise ValueError(f"{name} must be finite and > 0, got {number}")
    return number


def level(value: object, name: str = "level") -> float:
    """A probability strictly between 0 and 1."""
    number = finite(value, name)
    if not 0 < number < 1:
        hint = f"; for {number:g}% write {number / 100:g}" if 1 < number < 100 else ""
        raise ValueError(f"{name} must lie between 0 and 1, got {number:g}{hint}")
    return number


def percent(value: float) -> str:
    """Write a level as a percentage, with all its digits: 99.5%, not 100%."""
    return f"{100 * value:.10g}%"


def integer(value: object, name: str, *, least: int) -> int:
    """A whole number of at least ``least``. ``3.0`` is refused, because it is more likely a slip than meant."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, got {shown(value)}")
    number = int(value)
    if number < least:
        raise ValueError(f"{name} must be >= {least}, got {number if number > -_MANY_DIGITS else shown(number)}")
    return number


def rational(value: object, name: str) -> Fraction:
    """A Fraction or an integer, as a Fraction of Python integers.

    A Fraction may hold NumPy integers, whose arithmetic wraps around at 64 bits without an error. They are converted.
    The value may be confidential, so no message shows it.
    """
    if type(value) is Fraction and type(value.numerator) is type(value.denominator) is int:
        return value
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Rational):
        raise TypeError(f"{name} must be a Fraction or an integer, got {type(value).__name__}")
    return Fraction(int(value.numerator), int(value.denominator))


def fraction(value: object, name: str) -> Fraction:
    """A public number as an exact fraction of its shortest decimal form: 0.1 is 1/10, not the double nearest to it.

    >>> fraction(0.1, "epsilon"), fraction("1/3", "epsilon")
    (Fraction(1, 10), Fraction(1, 3))
    """
    if isinstance(value, Fraction):
        return rational(value, name)
    if isinstance(value, str | Decimal):
        # Fraction("1e999999999") would fill the memory, so exponents have at most three digits.
        if len(str(value)) > 400 or re.search(r"[eE][+-]?\d{4,}", str(value)):
            raise ValueError(f"{name} must have at most 400 characters and an exponent below 1000")
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError, OverflowError):
            raise ValueError(f"{name} must be a finite number, got {value!r}{_hint_at_form(str(value))}") from None
    number = finite(value, name)
    return Fraction(int(value)) if isinstance(value, int | np.integer) else Fraction(repr(number))


def _hint_at_form(text: str) -> str:
    """What may have been meant by a text that is no number."""
    if re.fullmatch(r"\s*\d{1,4}([./-])\s*\d{1,2}\1\s*\d{1,4}\b.*", text):
        return "; write a date as 1970-01-31"
    if "," in text:
        return "; write decimals with a point, as in 0.5"
    return "; write 5% as 0.05" if "%" in text else ""


def bounds(value: object, name: str = "bounds", *, bounded: bool = False) -> Bounds:
    """A pair ``(lower, upper)`` with ``lower < upper``.

    A side may be infinite unless ``bounded`` is set. Two finite sides must be a finite distance apart.
    """
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray) or len(value) != 2:
        raise TypeError(f"{name} must be a pair (lower, upper), got {shown(value)}")
    lower, upper = real(value[0], f"{name}[0]"), real(value[1], f"{name}[1]")
    if not lower < upper:
        raise ValueError(f"{name} must satisfy lower < upper, got ({lower}, {upper})")
    if lower == math.inf or upper == -math.inf:
        raise ValueError(f"{name} must contain a finite number, got ({lower}, {upper})")
    if bounded and not (math.isfinite(lower) and math.isfinite(upper)):
        raise ValueError(f"{name} must be finite on both sides, got ({lower}, {upper})")
    if math.isfinite(lower) and math.isfinite(upper) and not math.isfinite(upper - lower):
        raise ValueError(f"{name} must be a finite distance apart, got ({lower}, {upper})")
    return lower, upper


def choice(value: object, name: str, options: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in options:
        words = ", ".join(repr(option) for option in options)
        raise ValueError(f"{name} must be one of {words}; got {shown(value)}")
    return value


def array(value: Any, name: str, *, infinite: bool = False) -> Array:
    """Real numbers as a float64 array, without NaN and, unless ``infinite``, without infinities."""
    raw = np.asarray(value)
    if raw.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold real numbers, got {type(value).__name__} of dtype {raw.dtype}")
    numbers_ = raw.astype(np.float64)
    if np.isnan(numbers_).any():
        raise ValueError(f"{name} must not hold nan")
    if not infinite and not np.isfinite(numbers_).all():
        raise ValueError(f"{name} must be finite, got an infinite value")
    return numbers_


def probabilities(value: Any, name: str) -> Array:
    """Numbers in [0, 1]."""
    numbers_ = array(value, name)
    if numbers_.size and not (numbers_.min() >= 0 and numbers_.max() <= 1):
        raise ValueError(f"{name} must lie in [0, 1], got values from {numbers_.min()} to {numbers_.max()}")
    return numbers_
