"""Cells of conditions: which records count, as engines are asked for it."""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from inbounds.tables.schema import MISSING, AnyKey, Condition, Edges, Numeric, Steps

if TYPE_CHECKING:
    import narwhals as nw


def is_presence(key: AnyKey) -> bool:
    """Whether a key only asks for numbers that are there."""
    return isinstance(key, Condition) and key.where is None


def decide(key: Condition, name: str, numbers: Mapping[Numeric, str], duckdb: bool, *, kept: bool) -> "nw.Expr":
    """The cell of each record under a condition, given whether that of its expression holds: 0 where it counts.

    In DuckDB, which groups by truth values for less, it is whether it counts, or null; but not where rows are ``kept``
    by it. ``numbers`` says what columns of numbers are called; in DuckDB missing ones are NaN or null there.
    """
    import narwhals as nw

    held = [] if is_presence(key) else [nw.col(name)]
    for column in key.present:
        number = nw.col(numbers[column])
        held.append(~(number.is_nan() if duckdb else number.is_null()))
    counts = reduce(and_, held) if held else nw.lit(True)
    return counts if duckdb and not kept else _number(counts)


def number_groups(frame: Any, keys: Sequence[AnyKey]) -> Any:
    """DuckDB: groups with the cells of conditions in place of truth values, and of missing numbers in place of null."""
    import narwhals as nw

    names = [f"g{i}" for i, key in enumerate(keys) if isinstance(key, Condition)]
    types = frame.collect_schema() if names else {}
    cells = {name: _number(nw.col(name)) for name in names if types[name] == nw.Boolean}
    numbers = [f"g{i}" for i, key in enumerate(keys) if isinstance(key, Edges | Steps)]
    cells |= {name: nw.col(name).fill_null(float(MISSING)) for name in numbers}
    return frame.with_columns(**cells) if cells else frame


def _number(counts: "nw.Expr") -> "nw.Expr":
    import narwhals as nw

    # A literal double would be a decimal in PostgreSQL.
    return nw.when(counts).then(0).otherwise(1).cast(nw.Float64)
