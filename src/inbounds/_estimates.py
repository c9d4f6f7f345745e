"""How released numbers are written, and how good they are: one rule each, for the terminal, notebooks and reports.

A number is rounded to its error, so that no digit is shown that noise or sampling decides. `QUALITY_RULE` says how
numbers are judged.
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

Quality: TypeAlias = Literal["reliable", "rough", "tells nothing"]
QUALITIES: tuple[Quality, ...] = ("reliable", "rough", "tells nothing")
# A margin of a tenth is a coefficient of variation of 5%, up to which the Office for National Statistics calls an
# estimate precise.
RELIABLE = 0.1
NOTHING = 0.8
QUALITY_RULE = (
    "A number is reliable if its interval reaches at most a tenth of the way from the number to the nearer end of its"
    " possible values: for a small count or share, a tenth of itself. A mean or sum of numbers of both signs is also "
    "measured from 0. It tells nothing if the interval covers four fifths or more of all possible values, or if noise"
    " leaves no interval. Between the two it is rough. It is not judged if nothing is known of its error: so are "
    "released bounds, and quantiles whose interval was not paid for."
)
# With an end nearer to the value than this share of the other end's distance, an interval is not written with ±.
_EVEN = 0.75
# Beyond this many decimals, digits are those of floating point.
_MOST_DECIMALS = 15
# Numbers beyond these are written with an exponent, and a zero with no more decimals than this.
_SMALLEST, _LARGEST = 1e-6, 1e15
_MOST_ZEROS = 6


@dataclass(frozen=True, slots=True)
class Estimate:
    """A released number, with what is known about its error.

    Attributes
    ----------
    value
        The number; None if it is not available.
    lower, upper
        The limits of its interval; None without one.
    rmse
        Its expected error; None if that is not known.
    possible
        The smallest and the largest possible value. They may be infinite.
    from_zero
        Whether the number is also measured from 0, where that lies between them.
    is_point
        Whether it is a point of a grid, such as a quantile. It is then written as it is, and not judged by an interval
        that holds all possible values, which says that nothing is known of its error.
    """

    value: float | None
    lower: float | None = None
    upper: float | None = None
    rmse: float | None = None
    possible: tuple[float, float] = (-math.inf, math.inf)
    from_zero: bool = False
    is_point: bool = False

    @property
    def unlimited(self) -> bool:
        """Whether noise leaves no interval: neither end is finite."""
        return self.lower == -math.inf and self.upper == math.inf

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval, which for a point holds less than all possible values."""
        if self.lower is None or self.upper is None or self.unlimited:
            return False
        return not (self.is_point and self.lower <= self.possible[0] and self.upper >= self.possible[1])

    @property
    def margin(self) -> float | None:
        """How far the interval reaches from the value, on its longer side. Without an interval, twice the error."""
        if self.value is None:
            return None
        if not self.has_interval or self.lower is None or self.upper is None:
            return None if self.rmse is None or self.is_point else 2 * self.rmse
        return max(abs(self.value - self.lower), abs(self.upper - self.value))

    @property
    def is_even(self) -> bool:
        """Whether both ends of the interval are about as far from the value, so that ± says where it lies."""
        if self.value is None or self.lower is None or self.upper is None or self.unlimited:
            return True
        if self.margin != 0 and (self.lower <= self.possible[0] or self.upper >= self.possible[1]):
            # It was cut there, and ± would go beyond what is possible.
            return False
        below, above = self.value - self.lower, self.upper - self.value
        return min(below, above) >= _EVEN * max(below, above)

    @property
    def quality(self) -> Quality | None:
        """How good the number is, by `QUALITY_RULE`. None if it is not available or its error is not known."""
        if self.value is not None and self.unlimited:
            return "tells nothing"
        if self.value is None or self.margin is None:
            return None
        first, last = self.possible
        lower, upper = self.value - self.margin, self.value + self.margin
        if self.lower is not None and self.upper is not None:
            lower, upper = self.lower, self.upper
        width = last - first
        if math.isfinite(width) and 0 < width * NOTHING <= min(upper, last) - max(lower, first):
            return "tells nothing"
        ends = [end for end in self.possible if math.isfinite(end)]
        ends += [0.0] if not ends or (self.from_zero and first < 0 < last) else []
        return "reliable" if self.margin <= RELIABLE * min(abs(self.value - end) for end in ends) else "rough"

    def write(self, *, percent: bool = False) -> str:
        """The number rounded to its error: ``"21.3 % ± 0.6"``, or with both ends if they are not alike.

        >>> Estimate(0.21345, 0.2074, 0.2196).write(percent=True), Estimate(3, 0, 10.2).write()
        ('21.3 % ± 0.6', '3 (0 to 11)')
        """
        value = self.write_value(percent=percent)
        if self.value is not None and self.unlimited:
            return f"{value} (no interval)"
        if not self.has_interval or self.value is None or self.margin == 0:
            return value
        if self.is_point and self.lower is not None and self.upper is not None and not percent:
            return self._write_point(self.value, self.lower, self.upper)
        if self.is_even:
            return f"{value} ± {self.write_margin(percent=percent)}"
        first, last = self.write_ends(percent=percent) or ("", "")
        if self.upper == math.inf:
            return f"{value} (at least {first})"
        return f"{value} (at most {last})" if self.lower == -math.inf else f"{value} ({first} to {last})"

    def _write_point(self, value: float, lower: float, upper: float) -> str:
        """A point with its interval, whose ends are points as well, all with as many decimals."""
        if not self.is_even:
            first, low, high = _align([f"{x:,.15g}" for x in (value, lower, upper)])
            return f"{first} ({low} to {high})"
        return " ± ".join(_align([f"{value:,.15g}", f"{max(value - lower, upper - value):,.6g}"]))

    def write_value(self, *, percent: bool = False) -> str:
        """The number alone, rounded to its error, with a sign of percent if it is one."""
        if self.value is None:
            return "not available"
        return self._write(self.value, 100 if percent else 1, round) + " %" * percent

    def write_margin(self, *, percent: bool = False) -> str:
        """The margin, rounded as the number is. Empty if it is not known."""
        scale = 100 if percent else 1
        if self.is_point and self.margin is not None:
            return f"{self.margin * scale:,.6g}"
        # Beside a number with an exponent, as in 4.03e16 ± 6e14.
        power = self.value is not None and abs(self.value * scale) >= _LARGEST
        return "" if self.margin is None else write_rounded(self.margin * scale, self._places(scale), power=power)

    def write_ends(self, *, percent: bool = False) -> tuple[str, str] | None:
        """The limits, rounded outwards so that the interval still covers. None without an interval."""
        if self.lower is None or self.upper is None or self.unlimited:
            return None
        scale = 100 if percent else 1
        return self._write(self.lower, scale, math.floor), self._write(self.upper, scale, math.ceil)

    def _write(self, x: float, scale: float, way: object) -> str:
        """Round a number, unless that would make an impossible one of it."""
        if self.is_point:
            return f"{x * scale:,.15g}"
        text = write_rounded(x * scale, self._places(scale), way)
        first, last = (end * scale for end in self.possible)
        slack = 1e-9 * abs(x * scale)
        if first - slack <= float(text.replace(",", "")) <= last + slack:
            return text
        return f"{min(max(x * scale, first), last):,.6g}"

    def _places(self, scale: float) -> int | None:
        margin = self.margin
        if self.lower is not None and self.upper is not None and not (self.value is not None and self.is_even):
            margin = (self.upper - self.lower) / 2
        return None if margin is None else find_places(margin * scale)


def _align(texts: list[str]) -> list[str]:
    """Numbers with as many decimals as that of them which has most. Those with an exponent are left as they are."""
    most = max(len(text.partition(".")[2]) for text in texts)
    if not most or any("e" in text for text in texts):
        return texts
    pairs = [text.partition(".") for text in texts]
    return [f"{whole}.{decimals.ljust(most, '0')}" for whole, _, decimals in pairs]


def find_places(error: float) -> int | None:
    """The number of decimals that a number with this error is rounded to. Negative for tens, hundreds and so on.

    The error has one digit, or two if the first one is 1 or 2. None if the error is 0 or not finite.

    >>> [find_places(x) for x in (0.6, 0.14, 42.0, 2500.0)]
    [1, 2, -1, -2]
    """
    if not (math.isfinite(error) and error > 0):
        return None
    first = math.floor(math.log10(error))
    return 1 - first if error < 2.95 * 10.0**first else -first


def write_rounded(x: float, places: int | None, way: object = round, *, power: bool = False) -> str:
    """Write a number with so many decimals, rounded by ``round``, ``math.floor`` or ``math.ceil``.

    Very large and very small numbers are written with an exponent, and with ``power`` all but 0.

    >>> write_rounded(1412, -1), write_rounded(-0.04, 1), write_rounded(20.71, 1, math.ceil)
    ('1,410', '0.0', '20.8')
    >>> write_rounded(163399999999999999997902848, -21), write_rounded(1.5021e-9, 12)
    ('1.63400e26', '1.502e-9')
    """
    if places is None or not math.isfinite(x):
        return f"{x:,}" if isinstance(x, int) else f"{x:.6g}"
    if way is not round and places <= 300:
        # A number that has no further digits stays: 0.3 / 0.1 is a little less than 3.
        near = round(x, places)
        unit = 10.0**-places
        if abs(near - x) > 1e-9 * unit:
            near = (math.floor(x / unit) if way is math.floor else math.ceil(x / unit)) * unit
        x = near
    figure = round(float(x), places) + 0.0
    if figure and (power or not _SMALLEST <= abs(figure) < _LARGEST):
        digits = max(min(math.floor(math.log10(abs(figure))) + places, _MOST_DECIMALS), 0)
        mantissa, _, exponent = f"{figure:.{digits}e}".partition("e")
        return f"{mantissa}e{int(exponent)}"
    if places > _MOST_DECIMALS:
        return f"{x:,.15g}"
    # A zero that is known to many decimals is one.
    return f"{figure:,.{max(places, 0)}f}" if figure or places <= _MOST_ZEROS else "0"
