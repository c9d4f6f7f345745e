"""Cells of conditions: which records count, as expressions for engines."""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from inbounds.tables.schema import MISSING, AnyKey, Condition, Edges, Numeric, Steps

if TYPE_CHECKING:
    import narwhals as nw


def is_presence(key: AnyKey) -> bool:
    """Whether a key only asks that numbers are there."""
    return isinstance(key, Condition) and key.where is None


def decide(key: Condition, name: str, numbers: Mapping[Numeric, str], duckdb: bool, *, kept: bool) -> "nw.Expr":
    """The cell of each record under a condition, given whether its expression holds: 0 if the record counts.

    In DuckDB, where grouping by truth values costs less, it is whether the record counts, or null; but not if rows are
    ``kept`` by it. ``numbers`` has the names of columns of numbers; in DuckDB missing numbers are NaN or null there.
    """
    import narwhals as nw

    conditions = [] if is_presence(key) else [nw.col(name)]
    for column in key.present:
        number = nw.col(numbers[column])
        conditions.append(~(number.is_nan() if duckdb else number.is_null()))
    counts = reduce(and_, conditions) if conditions else nw.lit(True)
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
