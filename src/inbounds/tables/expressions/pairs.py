"""Numbers and conditions as pairs of expressions without null, of which `compiler` makes expressions.

See there for why.
"""

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from inbounds.tables.expressions.tokens import HUGE, TINY

if TYPE_CHECKING:
    import narwhals as nw


class Value(NamedTuple):
    """A number without null, and whether it is missing; None means that it never is."""

    value: "nw.Expr"
    missing: "nw.Expr | None"


class Condition(NamedTuple):
    """Whether a condition is true, and whether it is false."""

    holds: "nw.Expr"
    fails: "nw.Expr"


def make_double(value: float) -> "nw.Expr":
    """A literal that is this very double on every engine.

    A decimal of at most 15 digits is a quotient of two whole numbers below 2^53, which is rounded once; other doubles
    are m 2^k with a whole m below 2^53, made by products with powers of two, which are exact.
    """
    import narwhals as nw

    def whole(number: int) -> nw.Expr:
        return nw.lit(number).cast(nw.Float64)

    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    assert isinstance(exponent, int)
    scaled = int(Decimal(repr(value)).scaleb(-exponent)) if -15 <= exponent < 0 else int(value)
    if -15 <= exponent < 0 and abs(scaled) < 2**53:
        return whole(scaled) / whole(10**-exponent)
    if abs(value) < 2**53 and value.is_integer():
        return whole(int(value))
    numerator, denominator = value.as_integer_ratio()
    shift = (numerator & -numerator).bit_length() - 1
    power_of_two = whole(numerator >> shift)
    for _ in range(shift // 50):
        power_of_two = power_of_two * whole(2**50)
    power_of_two = power_of_two * whole(2 ** (shift % 50))
    power = denominator.bit_length() - 1
    for _ in range(power // 50):
        power_of_two = power_of_two / whole(2**50)
    return power_of_two / whole(2 ** (power % 50))


def is_power(value: float) -> bool:
    """Whether a number is a power of two, or one with a minus: its reciprocal is exact."""
    return value != 0.0 and abs(math.frexp(value)[0]) == 0.5


def tame(value: "nw.Expr") -> "nw.Expr":
    """A number without null, brought into ±1e100, and 0 if it is below 1e-100 in size."""
    import narwhals as nw

    return nw.when(value.abs() < TINY).then(make_double(0.0)).otherwise(value.clip(-HUGE, HUGE))


def tame_column(value: "nw.Expr") -> "nw.Expr":
    """A column of numbers with NaN for what is missing, brought into ±1e100: by one arm for most records.

    For DuckDB alone, which computes no arm that is not taken, and where NaN is the largest number.
    """
    import narwhals as nw

    ends = nw.when(value > 0.0).then(nw.lit(HUGE)).otherwise(nw.lit(-HUGE))
    others = nw.when(value.is_nan()).then(value).otherwise(ends)
    return nw.when(value.abs() <= HUGE).then(value).otherwise(others)


def either(conditions: "Sequence[nw.Expr | None]") -> "nw.Expr | None":
    """Whether any of some conditions without null is true; None is one that never is."""
    known_conditions = [condition for condition in conditions if condition is not None]
    return _halve(known_conditions, "or") if known_conditions else None


def _halve(conditions: "Sequence[nw.Expr]", word: str) -> "nw.Expr":
    """Conditions without null joined, by halves: a chain of many would be too deep for some engines."""
    if len(conditions) == 1:
        return conditions[0]
    half = len(conditions) // 2
    first, second = _halve(conditions[:half], word), _halve(conditions[half:], word)
    return first & second if word == "and" else first | second


def join(word: str, conditions: Sequence[Condition]) -> Condition:
    """Conditions joined by ``and`` or ``or``: a conjunction is true where all are, and false where any is false."""
    other = "or" if word == "and" else "and"
    holds, fails = ([condition[place] for condition in conditions] for place in (0, 1))
    return Condition(_halve(holds, word), _halve(fails, other))


def turn(condition: Condition, opposite: bool = True) -> Condition:
    """The opposite of a condition, if it is to be turned."""
    return Condition(condition.fails, condition.holds) if opposite else condition


def keep_known(holds: "nw.Expr", fails: "nw.Expr", missing: "nw.Expr | None") -> Condition:
    """A comparison that is unknown where one of its sides is missing."""
    return Condition(holds, fails) if missing is None else Condition(holds & ~missing, fails & ~missing)
