"""Fold all rows of each person into one record, by public rules, before anything is counted.

Every engine folds to the same numbers, in any order and partition of rows: smallest and largest values are exact, and
sums are of whole numbers. For a sum or a mean a row's number is first rounded to a multiple of g, a power of two about
2^-36 of the largest bound of its column (2^-10 where it has none), and brought within ±2^40 g, about 16 times that
bound; then a sum is exact up to 2^53 g, and rounded once beyond. Bounds and levels of columns apply to what comes out.

Missing values are left out; if all values are missing, so is the result. Text is folded by the places of its levels.
The first and last values are those of the rows that come first or last by the column of the order; if there are several
such rows, the smallest value counts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import frexp
from typing import TYPE_CHECKING, Any

from inbounds.errors import DataError
from inbounds.privacy.persons import Persons
from inbounds.tables.arithmetic import floor, zero_one
from inbounds.tables.dialects import prepare, write_ids
from inbounds.tables.doubles import number
from inbounds.tables.persons import ID, list_columns, number_levels
from inbounds.tables.request import Request
from inbounds.tables.rules import Values
from inbounds.tables.schema import Column, Edges, Levels, Numeric, to_hexadecimal
from inbounds.tables.sources import Frame, check_types, guard
from inbounds.tables.untyped import kind_of, source_name

if TYPE_CHECKING:
    import narwhals as nw

_ROWS, _AT, _FIRST = "rows", "at", "first"
# What comes after every value that rows are ordered by.
_LATE = 1e308
_PRECISE, _ROOM, _LIMB = 36, 40, 20
_COARSE = -10
# As many conditions as an expression has.
_ARMS = 60


@dataclass(frozen=True, slots=True)
class Folded:
    """How a column is folded: the terms of each row, how they are combined over a person's rows, and the result."""

    terms: Mapping[str, "nw.Expr"]
    ways: Mapping[str, str]
    made: "nw.Expr"


# claim:folded
def fold_records(frame: Frame, requests: Sequence[Request], persons: Persons) -> Frame:
    """One record for each person, with the columns that requests read.

    The record of a person follows from the rows of that person alone.
    """
    columns = list(dict.fromkeys(column for request in requests for column in request.columns))
    check_types(
        frame, [*(column for column in columns if column.name not in persons.new_columns), *list_columns(persons)]
    )
    return guard(lambda: _fold(frame, columns, persons))


def _fold(frame: Frame, columns: Sequence[Column], persons: Persons) -> Frame:
    import narwhals as nw

    assert persons.fold is not None
    types = frame.collect_schema()
    id_column, *order = list_columns(persons)
    rules: dict[str, list[Column]] = {}
    for column in columns:
        if column.name not in persons.new_columns:
            rules.setdefault(source_name(column, types), []).append(column)
    text = [name for name in dict.fromkeys([*rules, source_name(id_column, types)]) if _is_text(types[name])]
    numbers = [name for name in rules if types[name].is_numeric()]
    prepared = prepare(frame, text, numbers)
    if _is_text(types[source_name(id_column, types)]):
        prepared = replace(prepared, frame=write_ids(prepared, source_name(id_column, types)))
    values = Values(types, to_hexadecimal if prepared.text == "hexadecimal" else str)
    operands = {f"v{i}": _read(name, types[name]) for i, name in enumerate(rules)}
    lead = {ID: values.operand(id_column), _ROWS: nw.lit(1.0)}
    sign = -1.0 if "last" in persons.fold.values() else 1.0
    if order:
        lead[_AT] = (values.operand(order[0]) * sign).fill_null(_LATE)
    table: Any = prepared.frame.lazy() if prepared.frame.implementation.is_polars() else prepared.frame
    table = table.select(**lead, **operands)
    folded = {
        name: _fold_column(f"v{i}", persons.fold[members[0].name], members, types[name], values.write)
        for i, (name, members) in enumerate(rules.items())
    }
    results = {name: folding.made for name, folding in folded.items()}
    results |= {column.name: nw.col(_ROWS) for column in columns if column.name in persons.new_columns}
    terms = {name: term for folding in folded.values() for name, term in folding.terms.items()}
    ways = {_ROWS: "sum"} | {name: way for folding in folded.values() for name, way in folding.ways.items()}

    def fold(rows: Any, *, alone: bool) -> Any:
        if order:
            rows = rows.with_columns(**{_FIRST: nw.col(_AT) if alone else nw.col(_AT).min().over(ID)})
        rows = rows.with_columns(**terms) if terms else rows
        if not alone:
            rows = rows.group_by(ID).agg(*(getattr(nw.col(name), way)() for name, way in ways.items()))
        return rows.select(**{_ROWS: nw.col(_ROWS), **results})

    def fold_all(rows: Any) -> Any:
        missing = nw.col(ID).is_null()
        whole = fold(rows.filter(~missing), alone=False)
        if persons.missing == "skip":
            return whole
        # Each of them is a person of one row.
        return nw.concat([whole, fold(rows.filter(missing), alone=True)], how="vertical")

    result: Frame = _fold_parts(table, fold_all) if table.implementation.is_dask() else fold_all(table)
    return result


def _fold_parts(table: Any, fold: Callable[[Any], Any]) -> Any:
    """Dask: all rows of a person in one partition, which Polars folds."""
    import narwhals as nw
    import polars as pl

    def fold_part(part: Any) -> Any:
        folded = fold(nw.from_native(pl.from_pandas(part)))
        return folded.to_native().to_pandas(use_pyarrow_extension_array=True)

    native = table.to_native()
    return nw.from_native(native.shuffle(on=ID).map_partitions(fold_part, meta=fold_part(native._meta)))


def _read(name: str, dtype: Any) -> "nw.Expr":
    """A column as it is folded: doubles, text or dates, with null for what is missing."""
    import narwhals as nw

    if dtype.is_numeric() or dtype == nw.Boolean:
        return number(name, dtype)
    return nw.col(name).cast(nw.String) if _is_text(dtype) else nw.col(name)


def _fold_column(v: str, how: str, rules: Sequence[Column], dtype: Any, write: Any) -> Folded:
    """How one column is folded, by its type."""
    import narwhals as nw

    name, value, term = rules[0].name, nw.col(v), f"{v}_folded"
    if how in ("sum", "mean") and (dtype.is_numeric() or dtype == nw.Boolean):
        return _add_up(v, how, rules)
    finish: Callable[[Any], Any] = _as_boolean if dtype == nw.Boolean else _as_it_is
    if _is_text(dtype):
        texts = _list_texts(rules)
        if not texts:
            raise DataError(f"column {name!r} holds text: give its levels to fold it")
        value, finish = _number_texts(texts, value, write), partial(_write_texts, texts)
    if how in ("any", "all") and (dtype.is_numeric() or dtype == nw.Boolean):
        truth = nw.when(value.is_null()).then(nw.lit(None, dtype=nw.Float64)).otherwise(zero_one(value != 0.0))
        return Folded({term: truth}, {term: "max" if how == "any" else "min"}, finish(nw.col(term)))
    if how in ("any", "all") and set(_list_texts(rules)) == {"true", "false"}:
        # Booleans that came as words: the places of true and false are 1 and 0.
        return Folded({term: value}, {term: "max" if how == "any" else "min"}, finish(nw.col(term)))
    if how in ("min", "max"):
        return Folded({term: value}, {term: how}, finish(nw.col(term)))
    if how in ("first", "last"):
        first = nw.when(nw.col(_AT) == nw.col(_FIRST)).then(value)
        return Folded({term: first}, {term: "min"}, finish(nw.col(term)))
    raise DataError(f"column {name!r} cannot be folded by {how!r}: its type does not allow it")


def _add_up(v: str, how: str, rules: Sequence[Column]) -> Folded:
    """The sum or the mean of numbers, exactly: as multiples of a step, in two limbs."""
    import narwhals as nw

    step, value = find_step(rules), nw.col(v)
    high, low, present = f"{v}_high", f"{v}_low", f"{v}_there"
    most = float(1 << _ROOM)
    whole = floor((value.fill_null(0.0) * (1 / step) + 0.5).clip(-most, most))
    above = floor(whole * 2.0**-_LIMB)
    terms = {high: above, low: whole - above * 2.0**_LIMB, present: zero_one(~value.is_null())}
    total = nw.col(high) * 2.0**_LIMB + nw.col(low)
    if how == "mean":
        total = total / nw.col(present).clip(1.0, 2.0**53)
    result = nw.when(nw.col(present) > 0.0).then(total * step)
    return Folded(terms, dict.fromkeys(terms, "sum"), result)


def find_step(rules: Iterable[Column]) -> float:
    """The step that the numbers of a column are rounded to before they are added up: a power of two."""
    ends: list[float] = []
    for rule in rules:
        if isinstance(rule, Numeric):
            ends += [abs(float(rule.lower)), abs(float(rule.upper))]
        elif isinstance(rule, Edges):
            ends += [abs(float(rule.edges[0])), abs(float(rule.edges[-1]))]
        elif isinstance(rule, Levels):
            ends += [abs(float(level)) for level in rule.levels if not isinstance(level, str)]
    largest = max(ends, default=0.0)
    return 2.0**_COARSE if not largest else 2.0 ** (frexp(largest)[1] - _PRECISE)


def _list_texts(rules: Sequence[Column]) -> list[str]:
    """The texts of all levels of a column; false before true."""
    texts = dict.fromkeys(text for rule in rules if isinstance(rule, Levels) for text in rule.texts)
    words = [word for word in ("false", "true") if any(kind_of(rule) == "boolean" for rule in rules)]
    return words or list(texts)


def _number_texts(texts: Sequence[str], value: "nw.Expr", write: Any) -> "nw.Expr":
    """The place of each text among levels; after them for others, null for missing ones."""
    import narwhals as nw

    places = number_levels(Levels("text", tuple(texts)), value, write) if len(texts) else value
    numbers = nw.when(places < 0.0).then(nw.lit(float(len(texts)))).otherwise(places)
    return nw.when(value.is_null()).then(nw.lit(None, dtype=nw.Float64)).otherwise(numbers)


def _write_texts(texts: Sequence[str], place: "nw.Expr") -> "nw.Expr":
    """The text of each place; one that is no level for the last."""
    import narwhals as nw

    other = "other"
    while other in texts:
        other += "_"
    parts = []
    every = [*texts, other]
    for start in range(0, len(every), _ARMS):
        part: Any = nw.lit(None, dtype=nw.String)
        for i, text in enumerate(every[start : start + _ARMS], start):
            part = nw.when(place == float(i)).then(nw.lit(text)).otherwise(part)
        parts.append(part)
    return parts[0] if len(parts) == 1 else nw.coalesce(*parts)


def _as_it_is(value: Any) -> Any:
    return value


def _as_boolean(value: Any) -> Any:
    """True for 1, false for 0, null for what is missing."""
    import narwhals as nw

    false = nw.when(value == 0.0).then(nw.lit(False)).otherwise(nw.lit(None, dtype=nw.Boolean))
    return nw.when(value == 1.0).then(nw.lit(True)).otherwise(false)


def _is_text(dtype: Any) -> bool:
    import narwhals as nw

    return dtype in (nw.String, nw.Categorical, nw.Enum)
