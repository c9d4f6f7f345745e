"""From records and a rule for persons to counts of the rows that are kept of each person."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inbounds.tables import persons, rules
from inbounds.tables.arithmetic import zero_one
from inbounds.tables.ranking import can_rank, collect_rows, count_parts, keep_ranked
from inbounds.tables.schema import Condition, to_hexadecimal
from inbounds.tables.selected import number_groups
from inbounds.tables.untyped import source_name

if TYPE_CHECKING:
    from inbounds.tables.engine import Plan
    from inbounds.tables.sources import Frame


def query_kept(whole: "Plan", frame: "Frame", keeping: persons.Keeping, plans: Sequence["Plan"]) -> "list[Frame]":
    """The tables of parts of a request, of the rows that are kept of each person.

    Which rows these are follows from all that the whole request counts, so that they are the same for its parts.
    """
    import narwhals as nw

    types = frame.collect_schema()
    frame, levels, text = whole.records(frame, keeping.columns)
    ids = types[source_name(keeping.columns[0], types)]
    keeping = replace(keeping, written=text in ("hexadecimal", "collated") and _is_text(ids))
    for name, key, dtype in levels:
        if frame.implementation.is_polars() and rules.are_many(key) and not dtype.is_numeric():
            frame = rules.place_levels(frame, name, key)
            continue
        write = to_hexadecimal if text == "hexadecimal" and _is_text(dtype) and key.formula is None else str
        number = rules.label(key, nw.col(name), dtype) if dtype.is_numeric() else None
        number = persons.number_levels(key, nw.col(name), write) if number is None else number
        frame = frame.with_columns(**{name: number.cast(nw.Float64)})
    # A missing value that will be refused is counted as well.
    gone = {f"z{i}": zero_one(nw.col(f"c{i}").is_null()) for i in whole.refusing}
    # DuckDB has null for these and for missing keys.
    gone |= {f"k{i}": nw.col(f"k{i}").fill_null(0.0) for i in whole.refusing}
    frame = frame.with_columns(**gone) if gone else frame
    frame = number_groups(frame, whole.request.by) if frame.implementation.is_duckdb() else frame
    integers = [persons.Integer(f"k{i}", 0, quantised.count) for i, quantised in enumerate(whole.request.sums)]
    integers += [persons.Integer(f"z{i}", 0, 1) for i in whole.refusing]
    cells = {key: persons.range_of(key, f"g{i}") for i, key in enumerate(whole.request.by)}
    integers += cells.values()
    if not can_rank(frame, keeping):
        return _count(whole, persons.keep(frame, keeping, integers, _capped(keeping, cells)), plans)
    answers = [_run(_count(whole, part, plans)) for part in _rank_parts(frame, keeping, integers)]
    return [nw.concat([answer[i] for answer in answers], how="vertical") for i in range(len(plans))]


def _rank_parts(
    frame: "Frame", keeping: persons.Keeping, integers: Sequence[persons.Integer]
) -> "Iterator[Frame]":  # fmt: skip
    """The rows that are kept, of some persons after others."""
    import narwhals as nw

    parts = count_parts(frame)
    for part in range(parts):
        rows = keep_ranked(collect_rows(frame, keeping, integers, part, parts), keeping, integers)
        table: Any = nw.from_native(rows.lazy())
        # Only whether a number was there is left of it.
        presence = {
            integer.name.replace("z", "c"): nw.when(nw.col(integer.name) == 0.0).then(nw.lit(0.0))
            for integer in integers
            if integer.name.startswith("z")
        }
        yield table.with_columns(**presence) if presence else table


def _count(whole: "Plan", rows: "Frame", plans: Sequence["Plan"]) -> "list[Frame]":
    """The tables of parts of a request, of these rows."""
    import narwhals as nw

    tables: list[Frame] = []
    for plan in plans:
        if not plan.request.columns:
            tables.append(rows.select(nw.len().alias("one")))
            continue
        tables.append(plan.count(plan.pick(rows, whole.request), [], ""))
    return tables


def _run(queries: "Sequence[Any]") -> list[Any]:
    """The answers of Polars."""
    import narwhals as nw
    import polars as pl

    answers = pl.collect_all([query.to_native() for query in queries], engine="streaming")
    return [nw.from_native(answer) for answer in answers]


def _capped(keeping: persons.Keeping, cells: Mapping[Any, persons.Integer]) -> persons.Integer | None:
    """The column that limits a person to a few groups."""
    if keeping.persons.groups is None:
        return None
    name = keeping.persons.groups[0]
    return next(cells[key] for key in cells if not isinstance(key, Condition) and key.name == name)


def _is_text(dtype: Any) -> bool:
    import narwhals as nw

    return dtype in (nw.String, nw.Categorical, nw.Enum)
