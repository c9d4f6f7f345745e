"""Keep a few rows of each person, by a rule that looks at that person's rows alone.

First every row becomes the integers that are counted of it, by the same public rules as without persons. Then the rows
of each person are put in an order that follows from these integers and a key, and the first few are kept:

1. Rows of a person that are equal in all integers (and in what they are ordered by) are numbered. They are equal in
   everything that is counted, so that it does not matter which is which.
2. A row's integers, its number and the id are hashed with the key, which is drawn afresh for every release,
   independently of the data: each row is as likely to be kept as any other, and what is kept of one person says nothing
   about another. Hashes that are equal by chance are told apart by the integers themselves, so that every engine has
   the same order.
3. With ``keep="first"`` or ``"last"`` a column comes before the hash, which then only decides between equal values.

The hash is of doubles that hold whole numbers below 2^53, which every engine multiplies without rounding: limbs x_i of
24 bits, factors a_i of 24 bits, p = 2^25 - 39 (a prime with p - 1 not divisible by 3, so that cubing is one to one):

    s = Σ a_i x_i + c mod p        h = (s + d)^3 mod p

A product or sum v becomes v - ⌊v/p⌋ p. The quotient is at most v 2^-52/p off, less than 1/p, so that the floor is right
but where p divides v; then h may be p in place of 0, on all engines alike.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inbounds.errors import DataError
from inbounds.privacy.persons import Persons
from inbounds.tables.arithmetic import floor, zero_one
from inbounds.tables.dialects import hold, read_decimals
from inbounds.tables.digits import BITS, PARTS, add_digits
from inbounds.tables.expressions.dates import seconds_of
from inbounds.tables.schema import MISSING, OTHER, Column, Condition, Edges, Levels, Operand, Steps

if TYPE_CHECKING:
    import narwhals as nw

    from inbounds.tables.sources import Frame

PRIME = (1 << 25) - 39
LIMB = 24
# As many products of a limb and a factor stay below 2^53 in sum.
_MOST_TERMS = 30
# Names of the columns that the rule adds to a record's integers.
ID, AT = "id", "at"
NUMBER, HASH, _RANK, _GROUP, _PLACE = "occurrence", "hash", "rank", "group_hash", "place"
_DIGIT = "digit"
# Bits of the number of a row among equal ones: there are at most 2^31 rows.
NUMBERED = 31


@dataclass(frozen=True, slots=True)
class Keeping:
    """What is kept of each person: the rule, the number of rows in all groups together, and the key of this release."""

    persons: Persons
    contributions: int
    key: bytes
    # Whether ids are text that was already written in hexadecimal digits.
    written: bool = False

    @property
    def columns(self) -> tuple[Operand, ...]:
        """The columns that the rule itself reads."""
        return list_columns(self.persons)

    @property
    def rows(self) -> int:
        """The rows that are kept of a person, or of a person in one group."""
        return self.contributions // (1 if self.persons.groups is None else self.persons.groups[1])


@dataclass(frozen=True, slots=True)
class Integer:
    """A column of whole numbers from ``low`` to ``high``."""

    name: str
    low: int
    high: int

    @property
    def limbs(self) -> int:
        """Digits of 24 bits that it has, counted from ``low``."""
        return max(1, -(-(self.high - self.low).bit_length() // LIMB))


def list_columns(persons: Persons) -> tuple[Operand, ...]:
    """The columns of a table that the rule for persons reads: the ids, and what rows are ordered by."""
    order = () if persons.order is None else (Operand(persons.order, "order"),)
    return Operand(persons.column, "id"), *order


def add_columns(columns: Sequence[Column], persons: Persons | None) -> tuple[Column, ...]:
    """All columns of a table that are read: those of statistics, except what folding makes, and those of the rule."""
    if persons is None:
        return tuple(columns)
    return *(column for column in columns if column.name not in persons.new_columns), *list_columns(persons)


def range_of(key: Levels | Edges | Steps | Condition, name: str) -> Integer:
    """The whole numbers that the cells of a key are written as; see `number_levels`."""
    if isinstance(key, Condition):
        return Integer(name, 0, 1)
    if isinstance(key, Steps):
        return Integer(name, MISSING, key.cells)
    if isinstance(key, Edges):
        return Integer(name, MISSING, len(key.edges))
    if isinstance(key.levels[0], str):
        return Integer(name, OTHER, len(key.levels))
    return Integer(name, key.stray_numbers[0], max(int(level) for level in key.levels))


# As many conditions as an expression has.
_ARMS = 60


def number_levels(key: Levels, value: "nw.Expr", write: Any) -> "nw.Expr":
    """The level of each record's text as a whole number: its place among levels of text, or the integer that it is."""
    import narwhals as nw

    is_text = isinstance(key.levels[0], str)
    numbers = range(len(key.levels)) if is_text else [int(level) for level in key.levels]
    other, missing = (OTHER, MISSING) if is_text else key.stray_numbers
    pairs = list(zip(key.texts, numbers, strict=True))
    # What is no level stays 0 in every part.
    parts = []
    for start in range(0, len(pairs), _ARMS):
        part: Any = nw.lit(0)
        for text, number in pairs[start : start + _ARMS]:
            part = nw.when(value == nw.lit(write(text))).then(nw.lit(number - other)).otherwise(part)
        parts.append(part.cast(nw.Float64))
    level_number = _add(parts) + float(other)
    return nw.when(value.is_null()).then(nw.lit(float(missing))).otherwise(level_number)


# claim:kept
def keep(frame: "Frame", keeping: Keeping, integers: Sequence[Integer], group: Integer | None) -> "Frame":
    """The rows that are kept of each person, by their integers, `ID` and `AT`.

    Of each person at most ``keeping.rows`` rows in each of at most so many groups as the rule says, or in all. What is
    kept of a person is a function of that person's rows and the key.
    """
    import narwhals as nw

    missing = nw.col(ID).is_null()
    if keeping.persons.missing == "skip":
        frame = frame.filter(~missing)
    if not frame.implementation.is_dask():
        rows: Frame = rank(frame, keeping, integers, group)
        return rows
    # All rows of a person in one partition, which is then a table of its own.
    with_id = frame.filter(~missing).to_native()
    rows_of_persons = with_id.shuffle(on=ID).map_partitions(_rank_part, keeping, integers, group, meta=with_id._meta)
    if keeping.persons.missing == "skip":
        return nw.from_native(rows_of_persons)  # type: ignore[no-any-return]
    from dask.dataframe import concat

    both: Any = concat([rows_of_persons, frame.filter(missing).to_native()])  # type: ignore[no-untyped-call]
    return nw.from_native(both)  # type: ignore[no-any-return]


def _rank_part(part: Any, keeping: Keeping, integers: Sequence[Integer], group: Integer | None) -> Any:
    """The rows of a partition of pandas that are kept. Polars finds them: windows that are ordered by several columns
    gave other rows in pandas under Narwhals 2.28."""
    import narwhals as nw
    import polars as pl

    if not len(part):
        return part
    numbered = pl.from_pandas(part).with_row_index(_PLACE)
    ranked = rank(nw.from_native(numbered), keeping, integers, group)
    return part.iloc[ranked[_PLACE].to_numpy()]


def rank(frame: Any, keeping: Keeping, integers: Sequence[Integer], group: Integer | None) -> Any:
    import narwhals as nw

    persons, columns = keeping.persons, frame.collect_schema().names()
    key, names = Key(keeping.key), [integer.name for integer in integers]
    without_id = nw.col(ID).is_null()
    frame, digits = read_ids(frame, keeping)
    if group is not None:
        frame = _permute_groups(frame, key, [*digits, group])
        most = persons.groups[1] if persons.groups is not None else 0
        frame = frame.with_columns(**{_RANK: nw.col(_GROUP).rank("dense").over(ID)})
        frame = frame.filter((nw.col(_RANK) <= most) | without_id)
    first = []
    if persons.keep != "random":
        at = nw.col(AT).fill_null(0.0) * (1.0 if persons.keep == "first" else -1.0)
        # Rows without a value come last.
        frame = frame.with_columns(**{AT: at, f"{AT}_missing": zero_one(nw.col(AT).is_null())})
        first = [f"{AT}_missing", AT]
    # Rows that are equal in all that decides get different numbers, and so different hashes.
    frame = _add_numbers(frame, [*first, *names])
    frame = _hash(frame, key, [*digits, *integers, Integer(NUMBER, 0, (1 << NUMBERED) - 1)])
    order = [*first, HASH, *names, NUMBER]
    within = [ID] if group is None else [ID, group.name]
    frame = frame.with_columns(**{_RANK: nw.col(HASH).cum_count().over(*within, order_by=order)})
    return frame.filter((nw.col(_RANK) <= keeping.rows) | without_id).select(*columns)


# Larger ids have the same hash as this one, but are still distinguished.
_LARGEST_ID = 62


def read_ids(frame: Any, keeping: Keeping, parts: int = PARTS) -> tuple[Any, list[Integer]]:
    """The ids as whole numbers, for hashes only: no two ids are merged by this.

    If all texts fit into ``parts`` numbers, in Polars, the other numbers are left out of the frame: they are 0.
    """
    import narwhals as nw

    dtype, value = frame.collect_schema()[ID], nw.col(ID)
    if dtype == nw.String:
        frame = add_digits(frame, ID, _DIGIT, written=keeping.written, parts=parts)
        return frame, [Integer(f"{_DIGIT}{i}", 0, (1 << BITS) - 1) for i in range(PARTS)]
    if isinstance(dtype, nw.Decimal):
        frame = read_decimals(frame, ID, f"{_DIGIT}0")
        value = nw.col(f"{_DIGIT}0" if f"{_DIGIT}0" in frame.collect_schema().names() else ID)
    if isinstance(dtype, nw.Date | nw.Datetime):
        value = seconds_of(value, date=not isinstance(dtype, nw.Datetime))
    value = zero_one(value.fill_null(False)) if dtype == nw.Boolean else value.cast(nw.Float64)
    largest = float(1 << _LARGEST_ID)
    whole = floor(value.fill_null(0.0).clip(-largest, largest))
    return frame.with_columns(**{f"{_DIGIT}0": whole}), [Integer(f"{_DIGIT}0", 0, 1 << _LARGEST_ID)]


def _add_numbers(frame: Any, names: Sequence[str]) -> Any:
    """Number the rows of a person that are equal in all of these, from 0."""
    import narwhals as nw

    frame = frame.with_columns(**{NUMBER: nw.lit(1.0)})
    count = nw.col(NUMBER).cum_count().over(ID, *names, order_by=NUMBER).cast(nw.Float64)
    return frame.with_columns(**{NUMBER: count - 1.0})


class Key:
    """Public random numbers from the key of a release, one after another."""

    def __init__(self, key: bytes) -> None:
        self._key, self._drawn = key, 0

    def below(self, limit: int) -> float:
        """A whole number below a limit, as a double; its distribution is uniform to 2^-200."""
        text = self._key + self._drawn.to_bytes(8, "big")
        self._drawn += 1
        return float(int.from_bytes(hashlib.sha256(text).digest(), "big") % limit)


def _hash(frame: Any, key: Key, integers: Sequence[Integer]) -> Any:
    """The frame with the hash of some integers of each row."""
    factors = Factors.draw(key, sum(integer.limbs for integer in integers))
    return cube(mix(frame, factors, integers), HASH, factors.added)


@dataclass(frozen=True, slots=True)
class Factors:
    """The factors of the limbs in a hash, its start, and what is added before the cube."""

    limbs: tuple[float, ...]
    start: float
    added: float

    @classmethod
    def draw(cls, key: Key, limbs: int) -> "Factors":
        """The next ones of a key, in an order that is the same on every engine."""
        first = min(limbs, _MOST_TERMS)
        factors = [1.0 + key.below((1 << LIMB) - 1) for _ in range(first)]
        start = key.below(PRIME)
        factors += [1.0 + key.below((1 << LIMB) - 1) for _ in range(limbs - first)]
        return cls(tuple(factors), start, key.below(PRIME))


def mix(frame: Any, factors: Factors, integers: Sequence[Integer], zeros: frozenset[str] = frozenset()) -> Any:
    """The frame with Σ a_i x_i + c modulo p of each row; integers in ``zeros`` are known to be 0."""
    import narwhals as nw

    limbs = [limb for each in integers for limb in ([None] * each.limbs if each.name in zeros else _limbs(each))]
    for start in range(0, len(limbs), _MOST_TERMS):
        pairs = list(zip(limbs, factors.limbs, strict=True))[start : start + _MOST_TERMS]
        terms = [limb * factor for limb, factor in pairs if limb is not None]
        before = [nw.lit(factors.start)] if start == 0 else [nw.col(HASH)]
        frame = _reduce(frame.with_columns(**{HASH: _add([*before, *terms])}))
    return frame


def _limbs(integer: Integer) -> "Iterator[nw.Expr]":
    """The digits of 24 bits of an integer, lowest first."""
    import narwhals as nw

    value = nw.col(integer.name) - float(integer.low) if integer.low else nw.col(integer.name)
    for place in range(integer.limbs):
        above = value if place == 0 else floor(value * 2.0 ** (-LIMB * place))
        last = place == integer.limbs - 1
        yield above if last else above - floor(value * 2.0 ** (-LIMB * (place + 1))) * 2.0**LIMB


def _permute_groups(frame: Any, key: Key, integers: Sequence[Integer]) -> Any:
    """The frame with the groups of each person in a random order: another number for each of them, below p.

    The cube of (group + hash of the id) modulo p is one to one for the groups of a person, so no two groups have the
    same number.
    """
    import narwhals as nw

    *digits, group = integers
    if group.high - group.low >= PRIME:
        raise DataError("the levels of the column in groups= must be less than 2^25 apart; use fewer, or text")
    frame = hold(_hash(hold(frame), key, digits))
    frame = frame.with_columns(**{_GROUP: nw.col(group.name) - float(group.low) + nw.col(HASH)})
    return hold(cube(_reduce(frame, _GROUP), _GROUP, key.below(PRIME)))


def _reduce(frame: Any, name: str = HASH) -> Any:
    """A column modulo p."""
    import narwhals as nw

    value = nw.col(name)
    return frame.with_columns(**{name: value - floor(value * (1 / PRIME)) * float(PRIME)})


def cube(frame: Any, name: str, shift: float) -> Any:
    """A column below p, as (x + added)^3 modulo p: step by step, since each step reads the one before it twice."""
    import narwhals as nw

    base, square = nw.col(name) + shift, nw.col(f"{name}_square")
    frame = frame.with_columns(**{f"{name}_square": base * base})
    reduced = square - floor(square * (1 / PRIME)) * float(PRIME)
    return _reduce(frame.with_columns(**{name: reduced * base}), name)


def _add(terms: Sequence[Any]) -> Any:
    """A sum, by halves: a chain of hundreds would be too deep for some engines."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return _add(terms[:half]) + _add(terms[half:])
