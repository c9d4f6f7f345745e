"""The rules of `schema` as expressions that every engine understands in the same way.

Where engines differ, and what is done about it: NaN is made missing before anything else (a clipped NaN is the upper
bound in five of them); numbers are cast to double precision before arithmetic (small integers wrap); rounding is
floor(x + ½), since `round` has two meanings; nothing is cast from a double to an integer by an engine; booleans become
numbers by when/then.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds.tables.arithmetic import floor, zero_one
from inbounds.tables.doubles import clip_settled, integers, number, number_as_it_is, round_scaled
from inbounds.tables.expressions import Expression
from inbounds.tables.expressions.compiler import add_plainly, is_false, is_true, to_narwhals
from inbounds.tables.expressions.dates import END_SECOND, FIRST_SECOND, seconds_of
from inbounds.tables.schema import (
    MISSING,
    OTHER,
    AnyKey,
    Condition,
    DataError,
    Edges,
    Key,
    Levels,
    Numeric,
    Operand,
    Quantised,
    Steps,
    list_operands,
    to_hexadecimal,
)
from inbounds.tables.times import is_instant
from inbounds.tables.untyped import source_name
from inbounds.tables.zones import find_offsets

if TYPE_CHECKING:
    import narwhals as nw


def key_values(key: Key, name: str, dtype: "nw.dtypes.DType") -> "nw.Expr":
    """The values that records are grouped by, with null for what is missing."""
    import narwhals as nw

    column = nw.col(name)
    if isinstance(key, Edges):
        return number(name, dtype)
    if dtype == nw.Boolean:
        words = ("true", "false") if isinstance(key.levels[0], bool) else ("1", "0")
        other = nw.when(column.fill_null(False)).then(nw.lit(words[0])).otherwise(nw.lit(words[1]))
        return nw.when(column.is_null()).then(nw.lit(None, dtype=nw.String)).otherwise(other)
    if dtype.is_float():
        return column.cast(nw.Float64).fill_nan(None)
    if dtype.is_integer():
        # Unsigned and larger ones cannot be compared with every level; doubles can, and levels are below 2^53.
        return column if dtype == nw.Int64 else column.cast(nw.Float64)
    # Bytes of text are compared as they are (`inbounds.tables.dialects`).
    return column if dtype == nw.Binary else column.cast(nw.String)


@dataclass(frozen=True, slots=True)
class Values:
    """Columns of a frame as their rules read them, by their types. ``write`` is how text is written in the frame.

    A column with a formula is computed from others, which were prepared before.
    """

    types: Mapping[str, Any]
    write: Callable[[str], str] = str
    # Columns that were prepared for expressions, and their names.
    operands: Mapping[Operand, str] = field(default_factory=dict)
    # Conditions that were decided for every record, and the names of their columns.
    conditions: Mapping[Expression, str] = field(default_factory=dict)
    # Columns of numbers once more, within ±1e100, with NaN for what is missing: in DuckDB.
    tamed: Mapping[Operand, str] | None = None

    def numbers(self, column: Numeric | Edges) -> "nw.Expr":
        """A column of numbers in double precision, with null for what is missing."""
        if column.formula is not None:
            if column.formula.kind == "boolean":
                return self._choose(column.formula, 1.0, 0.0)
            return self._compile(to_narwhals, column.formula)
        name = source_name(column, self.types)
        if column.clock is None:
            return number(name, self.types[name])
        seconds = _as_seconds(name, self.types[name], column.zone)
        # Half a second keeps midnight from being rounded to the day before.
        return seconds if column.clock == "datetime" else floor((seconds + 0.5) * (1 / 86_400))

    def rounded(self, quantised: Quantised) -> "nw.Expr":
        """A column of numbers in DuckDB, in steps and not clipped, with null or NaN for what is missing."""
        import narwhals as nw

        # What is rounded to steps within bounds is the same, tamed or not.
        column, value = quantised.column, None
        if column.formula is not None:
            value = add_plainly(column.formula, self._name_tamed(column.formula))
        elif column.clock is None:
            name, tamed = source_name(column, self.types), (self.tamed or {}).get(Operand(column.name, "number"))
            value = number_as_it_is(name, self.types[name]) if tamed is None else nw.col(tamed)
        return round_scaled(self.numbers(column) if value is None else value, quantised)

    def keys(self, key: AnyKey) -> "nw.Expr":
        """The values that records are grouped by; for a condition 0 where it holds and 1 elsewhere."""
        import narwhals as nw

        if isinstance(key, Condition):
            assert key.where is not None
            return nw.col(self.conditions[key.where])
        if isinstance(key, Edges):
            return self.numbers(key)
        if isinstance(key, Steps):
            return self.numbers(key.column)
        if key.formula is not None:
            if key.formula.kind == "number":
                return self._compile(to_narwhals, key.formula)
            return self._choose(key.formula, *(("true", "false") if isinstance(key.levels[0], bool) else ("1", "0")))
        name = source_name(key, self.types)
        return key_values(key, name, self.types[name])

    def select(self, where: Expression) -> "nw.Expr":
        """Whether a condition holds; with ``tamed`` it may be null where it does not."""
        return self._compile(is_true, where)

    def type_of(self, key: Levels) -> Any:
        """The type in which a key is compared with its levels."""
        import narwhals as nw

        if key.formula is not None:
            return nw.Float64() if key.formula.kind == "number" else nw.String()
        dtype = self.types[source_name(key, self.types)]
        return nw.Float64() if dtype.is_integer() and dtype != nw.Int64 else dtype

    def _choose(self, condition: Expression, true: Any, false: Any) -> "nw.Expr":
        """One value where a condition is true, another where it is false, and null where it is missing."""
        import narwhals as nw

        kind = nw.String() if isinstance(true, str) else nw.Float64()
        other = nw.when(self._compile(is_false, condition)).then(nw.lit(false, dtype=kind))
        rest = other.otherwise(nw.lit(None, dtype=kind))
        return nw.when(self._compile(is_true, condition)).then(nw.lit(true, dtype=kind)).otherwise(rest)

    def _compile(self, how: "Callable[..., nw.Expr]", formula: Expression) -> "nw.Expr":
        """An expression in the columns that were prepared for it."""
        import narwhals as nw

        columns = {column.name: nw.col(self.operands[column]) for column in list_operands(formula)}
        if self.tamed is None:
            return how(formula, columns, self.write)
        return how(formula, columns, self.write, tamed=self._name_tamed(formula))

    def _name_tamed(self, formula: Expression) -> "dict[str, nw.Expr]":
        import narwhals as nw

        tamed = self.tamed or {}
        return {column.name: nw.col(tamed[column]) for column in list_operands(formula) if column in tamed}

    def operand_or_nan(self, column: Operand) -> "nw.Expr":
        """A column of numbers in DuckDB, with NaN for what is missing."""
        name = source_name(column, self.types)
        return number_as_it_is(name, self.types[name]).fill_null(math.nan)

    def operand(self, column: Operand) -> "nw.Expr":
        """A column as an expression takes it: doubles, text, truth values or seconds, with null for what is missing."""
        import narwhals as nw

        name = source_name(column, self.types)
        dtype, value = self.types[name], nw.col(name)
        if column.kind == "number":
            return number(name, dtype)
        if column.kind == "time":
            return _as_seconds(name, dtype, column.zone)
        if column.kind == "text":
            return value.cast(nw.String)
        if column.kind == "any":
            return value.cast(nw.Float64).fill_nan(None) if dtype.is_float() else value
        if column.kind == "order":
            return _as_seconds(name, dtype, None) if isinstance(dtype, nw.Date | nw.Datetime) else number(name, dtype)
        if column.kind == "id":
            if dtype.is_float():
                # Only some engines treat -0 as 0.
                return value.cast(nw.Float64).fill_nan(None) + 0.0
            plain = dtype.is_numeric() or dtype == nw.Boolean or isinstance(dtype, nw.Date | nw.Datetime)
            return value if plain else value.cast(nw.String)
        if dtype == nw.Boolean:
            return value
        # Booleans that came as words.
        false_or_null = nw.when(value == "false").then(nw.lit(False)).otherwise(nw.lit(None, dtype=nw.Boolean))
        return nw.when(value == "true").then(nw.lit(True)).otherwise(false_or_null)


def _as_seconds(name: str, dtype: "nw.dtypes.DType", zone: str | None) -> "nw.Expr":
    """A column of dates or times as seconds; untyped columns already are numbers.

    Instants are already seconds in UTC (`inbounds.tables.dialects`), and become seconds of the clock of their zone.
    """
    import narwhals as nw

    if zone is not None and is_instant(dtype):
        return tell_time(nw.col(name), zone)
    return nw.col(name) if dtype.is_float() else seconds_of(nw.col(name), date=not isinstance(dtype, nw.Datetime))


# claim:zones
def tell_time(utc: "nw.Expr", zone: str) -> "nw.Expr":
    """The time of a zone's clock at an instant of the years 1 to 9999, in seconds; null for others."""
    import narwhals as nw

    is_in_range = (utc >= FIRST_SECOND).fill_null(False) & (utc < END_SECOND).fill_null(False)
    offset = find_offsets(zone).choose(
        lambda offset: nw.lit(offset), lambda change, before, after: nw.when(utc < change).then(before).otherwise(after)
    )
    return nw.when(is_in_range).then(utc + offset).otherwise(nw.lit(None, dtype=nw.Float64))


def step_numbers(key: Steps, value: "nw.Expr", *, flat: bool, duckdb: bool = False) -> "nw.Expr":
    """The number of the step of a value, -1 for a missing one that counts as no number; in DuckDB it is still null."""
    import narwhals as nw

    if duckdb:
        return clip_settled(value, key.quantised)
    numbers = integers(value, key.quantised, flat=flat)
    if isinstance(key.missing, Fraction):
        return numbers
    return nw.when(value.is_null()).then(nw.lit(float(MISSING))).otherwise(numbers)


def interval_numbers(key: Edges, value: "nw.Expr", *, duckdb: bool = False) -> "nw.Expr":
    """The number of the interval that a value is in, -1 for a missing one that counts as no number, or null in DuckDB.

    This takes DuckDB less than half of the time that it takes to add up integers, which it checks for overflow.
    """
    import narwhals as nw

    values = value.fill_null(float(key.missing)) if isinstance(key.missing, Fraction) else value
    if key.spacing is not None:
        number = _find_interval(values.fill_null(float(key.edges[0])), key, key.spacing)
        return nw.when(values.is_null()).then(nw.lit(float(MISSING))).otherwise(number)
    if duckdb and len(key.edges) > 2:
        return _add([(values >= float(edge)).cast(nw.Float64) for edge in key.edges[1:-1]])
    steps = [nw.when(values >= float(edge)).then(1).otherwise(0) for edge in key.edges[1:-1]]
    # A missing value reaches no edge.
    return _add([*steps, nw.when(values.is_null()).then(MISSING).otherwise(0)])


# claim:spaced-edges
def _find_interval(value: "nw.Expr", key: Edges, width: float) -> "nw.Expr":
    """The number of an interval by division, which may be one off, then set right by comparing with
    the edges on both sides: the same as a comparison with every edge."""
    first, last = float(key.edges[0]), float(len(key.edges) - 2)
    guess = floor(((value - first) * (1 / width)).clip(0.0, last))
    below, above = guess * width + first, (guess + 1.0) * width + first
    return (guess + zero_one(value >= above) - zero_one(value < below)).clip(0.0, last)


def _add(terms: "list[nw.Expr]") -> "nw.Expr":
    """A sum, by halves: a chain of hundreds would be too deep for some engines.

    It does not use `sum_horizontal`, which mixes rows of different partitions on Dask.
    """
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return _add(terms[:half]) + _add(terms[half:])


def label(key: Levels, value: "nw.Expr", dtype: "nw.dtypes.DType", *, hexadecimal: bool = False) -> "nw.Expr":
    """For each group its level, as a number where both are numbers and as text otherwise; or what stands for others
    and for missing ones (`Levels.strays`, `Levels.stray_numbers`). Text may be given in hexadecimal digits."""
    import narwhals as nw

    write = to_hexadecimal if hexadecimal else str
    strays: tuple[Any, Any] = (write(key.strays[0]), write(key.strays[1]))
    if dtype.is_integer() or dtype.is_float():
        kind, strays = float if dtype.is_float() else int, key.stray_numbers
        first = kind(key.levels[0])
        value, absent = value.fill_null(first), value.is_null()
        is_known = _is_level(value, key.levels, kind)
        # Only levels are cast to integers.
        level = nw.when(is_known).then(value).otherwise(nw.lit(first)).cast(nw.Int64)
    else:
        is_known, level, absent = value.is_in([write(text) for text in key.texts]), value, value.is_null()
    other, missing = (nw.lit(stray) for stray in strays)
    return nw.when(absent).then(missing).otherwise(nw.when(is_known).then(level).otherwise(other))


# As many conditions as a database accepts in one expression.
_MOST_COLLATED = 500


def level_numbers(key: Levels, value: "nw.Expr") -> "nw.Expr":
    """For each record the number of the first level that its text is equal to, by whatever the engine calls equal; -2
    for other values, -1 for missing ones."""
    import narwhals as nw

    if len(key.texts) > _MOST_COLLATED:
        raise DataError(
            f"column {key.name!r} has more than {_MOST_COLLATED} levels, the limit for text in this database; use "
            "another engine"
        )
    number = nw.lit(OTHER)
    for place, text in reversed(list(enumerate(key.texts))):
        number = nw.when(value == nw.lit(text)).then(nw.lit(place)).otherwise(number)
    return nw.when(value.is_null()).then(nw.lit(MISSING)).otherwise(number)


# More levels than this are joined, if the engine can join a table of this process.
MANY_TEXTS = 1000


def are_many(key: Levels) -> bool:
    """Whether a key has so many levels that they are joined."""
    return len(key.levels) > MANY_TEXTS


def place_levels(frame: Any, name: str, key: Levels, write: Callable[[str], str] = str, *, octets: bool = False) -> Any:
    """Groups by text in Polars or DuckDB, with the number of its level for each text; -2 for other values, -1 for
    missing ones. ``write`` is how text is written there, or ``octets`` says that it is bytes.

    A join: as a list to compare with, a million levels take several times their memory.
    """
    import narwhals as nw
    import polars as pl

    number = f"{name}_number"
    texts = pl.Series(name, key.texts if write is str else list(map(write, key.texts)), dtype=pl.String)
    texts = texts.cast(pl.Binary) if octets else texts
    levels = pl.DataFrame([texts, pl.Series(number, np.arange(len(key.texts)))])
    if frame.implementation.is_duckdb():
        frame = _join_duckdb(frame, name, levels.to_arrow())
    else:
        frame = frame.join(nw.from_native(levels.lazy()), on=name, how="left")
    places = nw.col(number).fill_null(OTHER)
    return frame.with_columns(**{name: nw.when(nw.col(name).is_null()).then(nw.lit(MISSING)).otherwise(places)})


def _join_duckdb(frame: Any, name: str, inbounds_levels_by_text: Any) -> Any:
    """A relation of DuckDB with a table of this process, which it knows by the name of the variable.

    Both names of columns are ours, and have no quotes in them.
    """
    import narwhals as nw

    places = frame.to_native().query(
        "inbounds_groups_by_text",
        f"SELECT * FROM inbounds_groups_by_text LEFT JOIN inbounds_levels_by_text USING ({name})",
    )
    # The relation reads the table when it is run.
    assert inbounds_levels_by_text is not None
    return nw.from_native(places)


# Runs of integers are compared with their ends rather than with each of them.
_MANY_LEVELS, _FEW_RUNS = 100, 20


def _is_level(value: "nw.Expr", levels: Sequence[Any], kind: type) -> "nw.Expr":
    """Whether a number is one of the levels."""
    ends = _runs(levels) if len(levels) > _MANY_LEVELS else []
    if not 0 < len(ends) <= _FEW_RUNS:
        return value.is_in([kind(level) for level in levels])
    (low, high), *others = [(kind(low), kind(high)) for low, high in ends]
    inside: nw.Expr = (value >= low) & (value <= high)
    for low, high in others:
        inside = inside | ((value >= low) & (value <= high))
    return inside & (value.floor() == value) if kind is float else inside


def _runs(levels: Sequence[Any]) -> list[tuple[int, int]]:
    """First and last of each run of consecutive integers."""
    ordered = np.sort(np.array(levels, dtype=np.int64))
    breaks = np.flatnonzero(np.diff(ordered) != 1)
    firsts, lasts = ordered[np.append(0, breaks + 1)], ordered[np.append(breaks, ordered.size - 1)]
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))
