"""How many persons a table has, and how many rows they have: public under substitution, or for the curator alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inbounds.privacy.persons import Persons
from inbounds.tables.arithmetic import zero_one
from inbounds.tables.dialects import prepare, write_ids
from inbounds.tables.engine import collect
from inbounds.tables.persons import ID, list_columns
from inbounds.tables.rules import Values
from inbounds.tables.sources import Frame, check_types
from inbounds.tables.untyped import source_name


@dataclass(frozen=True, slots=True)
class Census:
    """Exact numbers of a table: as confidential as the table itself.

    ``left_out`` has, for each limit on the rows that are kept of a person, how many rows it leaves out.
    """

    persons: int
    rows: int
    missing: int
    left_out: tuple[tuple[int, int], ...] = ()


def count_persons(frame: Frame, persons: Persons) -> int:
    """The number of persons: different ids, and rows without an id if each of them counts as a person."""
    import narwhals as nw

    table = _ids(frame, persons)
    with_id = table.filter(~nw.col(ID).is_null()).unique().select(nw.len().alias("n"))
    without_id = table.filter(nw.col(ID).is_null()).select(nw.len().alias("n"))
    answers = collect(lambda: [with_id, without_id] if persons.missing == "own" else [with_id])
    return sum(int(answer["n"][0]) for answer in answers)


def take_census(frame: Frame, persons: Persons, limits: Sequence[int]) -> Census:
    """How many persons and rows there are, and how many rows each limit on the rows of a person leaves out."""
    import narwhals as nw

    table = _ids(frame, persons).with_columns(one=nw.lit(1.0))
    each = table.filter(~nw.col(ID).is_null()).group_by(ID).agg(nw.col("one").sum())
    above = {f"k{k}": (nw.col("one") - float(k)) * zero_one(nw.col("one") > float(k)) for k in limits}
    # PostgreSQL adds these numbers up as decimals, which Ibis takes for doubles.
    sums = {name: nw.col(name).sum().cast(nw.Int64) for name in ("one", *above)}
    totals = each.with_columns(**above).select(nw.len().alias("persons"), **sums)
    without_id = table.filter(nw.col(ID).is_null()).select(nw.len().alias("n"))
    answer, missing = collect(lambda: [totals, without_id])

    def read(column: Any) -> int:
        return int(column[0] or 0)

    left = tuple((k, read(answer[f"k{k}"])) for k in limits)
    return Census(read(answer["persons"]), read(answer["one"]), read(missing["n"]), left)


def _ids(frame: Frame, persons: Persons) -> Any:
    """The ids of all rows, comparable by their values."""
    import narwhals as nw

    (column, *_) = list_columns(persons)
    check_types(frame, [column])
    types = frame.collect_schema()
    name = source_name(column, types)
    text = [name] if types[name] in (nw.String, nw.Categorical, nw.Enum) else []
    prepared = prepare(frame, text, [])
    table = write_ids(prepared, name) if text else prepared.frame
    table = table.lazy() if table.implementation.is_polars() else table
    return table.select(**{ID: Values(types).operand(column)})
