"""From a table to exact sufficient statistics: one Narwhals function for every engine.

Each record becomes whole numbers by public rules (`schema`), and only those are added up. They are held as
double-precision numbers, whose sums are exact below 2^53 in any order, partition or engine; a number whose sum could
pass that is first split into digits small enough (`exact_sums`), so that overflow is excluded before anything runs. No
engine is trusted with a cast to integers, an integer overflow or a rounding mode, in all of which they differ.

With k_i in 0..M_i the integer of a record, products are taken as they are while M_i M_j ≤ 2^53, and otherwise rounded
to r = ⌊k_i (k_j / M_j) + ½⌋: a product is a number like any other, and is quantised like any other. Then
|M_j r - k_i k_j| ≤ (5/8) M_j, which sensitivities take into account (`Product.slack`): a half for rounding, and an
eighth for four roundings of a number below 2^48 to double precision.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np

from inbounds.errors import DataError
from inbounds.errors import TooManyRows as TooManyRows
from inbounds.tables import persons, rules
from inbounds.tables.answers import (
    Cell,
    Cells,
    Counts,
    add_cells,
    find_refusal,
    make_refusal,
    places_of,
    records,
    require,
    to_whole,
)
from inbounds.tables.dask_parts import count_parts
from inbounds.tables.dialects import prepare, write_groups, write_ids
from inbounds.tables.doubles import clip_settled, integers, settle
from inbounds.tables.exact_sums import HUGE, INTEGERS, Term, list_terms, write_terms
from inbounds.tables.expressions.pairs import tame_column
from inbounds.tables.kept import query_kept
from inbounds.tables.names import find_prefix
from inbounds.tables.passes import MOST_DASK_KEYS, MOST_KEYS, answer_part, join, merge, split, union
from inbounds.tables.request import EXACT, MOST_ROWS, Request
from inbounds.tables.request import Product as Product
from inbounds.tables.schema import Column, Condition, Edges, Levels, Operand, Steps, to_hexadecimal
from inbounds.tables.selected import decide, is_presence, number_groups
from inbounds.tables.sources import Frame, check_types, guard, is_told
from inbounds.tables.untyped import kind_of, source_name


def count_rows(frame: Frame) -> int:
    """Number of rows."""
    import narwhals as nw

    return int(collect(lambda: [frame.select(nw.len().alias("rows"))])[0]["rows"][0])


# claim:tally
def tally(
    frame: Frame, requests: Sequence[Request], *, most: int = MOST_ROWS, keeping: persons.Keeping | None = None
) -> list[Cells]:
    """Exact counts and sums for a whole set of requests, in one pass over the table.

    ``most`` is a public limit on the rows; a table with more is refused. Cells without records are left out. With
    ``keeping`` only some rows of each person are counted, the same for all requests.

    Formal guarantees
    -----------------
    The result is a function of the multiset of records: the same for any order, partition and engine. One record more
    adds one to the count of one cell, and at most `Quantised.count` and `Product.largest` to its sums. Refusals do
    not say which record or value caused them.
    """
    return require(count_cells(frame, requests, most=most, keeping=keeping))


def count_cells(
    frame: Frame, requests: Sequence[Request], *, most: int = MOST_ROWS, keeping: persons.Keeping | None = None
) -> list[Cells] | DataError:
    """The cells of `tally`, or the refusal of their table, to be raised where they are no variable."""
    import narwhals as nw

    columns = list(dict.fromkeys(column for request in requests for column in request.columns))
    check_types(frame, columns if keeping is None else [*columns, *keeping.columns])
    polars = frame.implementation.is_polars()
    at_most = min(most, max(len(frame), 1)) if isinstance(frame, nw.DataFrame) else most
    # Polars runs several queries over a table in memory at once; elsewhere one query is one pass.
    queries = (
        list(requests)
        if polars and isinstance(frame, nw.DataFrame)
        else merge(requests, MOST_DASK_KEYS if frame.implementation.is_dask() else MOST_KEYS)
    )
    engine = frame.implementation
    integers = polars or engine.is_duckdb() or engine.is_pyspark() or engine.is_pyspark_connect()
    plans = [Plan(query, at_most, integers=integers, huge=engine.is_duckdb(), blocks=polars) for query in queries]
    parts: list[Cells] = []
    for part, answer in _ask(frame.lazy() if polars else frame, plans, union(requests), keeping):
        cells = part.cells(answer)
        if isinstance(cells, DataError):
            return cells
        parts.append(cells)
    left = iter(parts)
    results = [join(plan.request, plan.asked, list(islice(left, len(plan.asked)))) for plan in plans]
    if any(records(result) > most for result in results):
        return TooManyRows(f"the table has more than {most} rows, the limit here; release it in parts")
    return [answer_part(queries, results, request) for request in requests]


def _ask(
    frame: Frame, plans: Sequence["Plan"], whole: Request, keeping: persons.Keeping | None
) -> list[tuple["Plan", Any]]:
    """The parts of plans, each with the engine's answer. ``whole`` is all that is asked."""
    parts = [part for plan in plans for part in plan.parts]
    if keeping is not None:
        rows = Plan(whole, plans[0].most)
        return list(zip(parts, collect(lambda: query_kept(rows, frame, keeping, parts)), strict=True))
    if frame.implementation.is_dask():
        # Polars counts the parts of such a table.
        polars_plans = [replace(plan, integers=True) for plan in plans]
        if answers := guard(lambda: count_parts(frame, polars_plans)):
            return list(zip(polars_plans, answers, strict=True))
    return list(zip(parts, collect(lambda: [query for plan in plans for query in plan.queries(frame)]), strict=True))


@dataclass(frozen=True, slots=True)
class Plan:
    """How one request is put to an engine, and how its answer is read. ``most`` limits the rows.

    ``integers`` says that the engine's own 64-bit integers can be relied on (Polars, DuckDB, Spark): then a sum that
    would pass 2^53 is taken in them, if it cannot pass 2^62, and digits are not needed. Whole doubles below 2^48 become
    integers without rounding, whichever way an engine rounds. ``huge`` says that the engine adds them up in 128 bits
    (DuckDB): then digits are never needed. ``blocks``: many products are counted by several queries.

    Names of its columns: ``k`` a record's integer, ``p`` a product, ``m`` the number of values that are there, ``g`` a
    key, ``h`` one in hexadecimal digits; the number after it is the place in the request. The table's own names are
    left behind at the first step.
    """

    request: Request
    most: int
    integers: bool = False
    huge: bool = False
    blocks: bool = False

    @property
    def asked(self) -> list[Request]:
        """What its queries count."""
        return split(self.request) if self.blocks else [self.request]

    @property
    def parts(self) -> list["Plan"]:
        """A plan for each of its queries."""
        return [replace(self, request=part, blocks=False) for part in self.asked]

    @property
    def terms(self) -> list[Term]:
        """What is added up, sums of columns first."""
        limit = HUGE if self.huge else INTEGERS if self.integers else EXACT
        return list_terms(self.request, self.most, limit)

    @property
    def refusing(self) -> list[int]:
        """Places of the columns that refuse missing values."""
        return [i for i, quantised in enumerate(self.request.sums) if quantised.column.missing is None]

    def queries(self, frame: Frame) -> list[Frame]:
        """A query for each part. Records become integers only once."""
        import narwhals as nw

        parts = self.parts
        if len(parts) == 1:
            return [self.query(frame)]
        rows, levels, text = self.records(frame)
        # Polars then reads the table once, and passes each block of records to all queries.
        shared = nw.from_native(rows.to_native().cache())
        return [part.count(part.pick(shared, self.request), levels, text) for part in parts]

    def pick(self, rows: Frame, whole: Request) -> Frame:
        """The columns of this request in the records of a whole one, under its own names."""
        import narwhals as nw

        sources = {f"k{i}": f"k{whole.sums.index(quantised)}" for i, quantised in enumerate(self.request.sums)}
        sources |= {f"c{i}": f"c{whole.sums.index(self.request.sums[i])}" for i in self.refusing}
        sources |= {f"g{i}": f"g{whole.by.index(key)}" for i, key in enumerate(self.request.by)}
        return rows.select(**{name: nw.col(source) for name, source in sources.items()})

    def query(self, frame: Frame) -> Frame:
        """The table reduced to one row for each cell, by sums alone."""
        import narwhals as nw

        if not self.request.columns:
            return frame.select(nw.len().alias("one"))
        return self.count(*self.records(frame))

    def records(self, frame: Frame, others: Sequence[Operand] = ()) -> tuple[Frame, list[tuple[str, Levels, Any]], str]:
        """Each record as its integers, except for levels, which are found later; and how text is compared.

        ``others`` are the columns of the rule for persons, which are not counted.
        """
        import narwhals as nw

        request = self.request
        flat = frame.implementation.is_polars()
        sums, keys = list(enumerate(request.sums)), list(enumerate(request.by))
        frame, types, text = self._prepare(frame, others)
        values = rules.Values(types, to_hexadecimal if text == "hexadecimal" else str)
        frame, values = self._read_operands(frame, values)
        # DuckDB spends most of its time on what is free elsewhere, so it gets the same integers in another way.
        duckdb = frame.implementation.is_duckdb()
        frame = frame.select(
            **{
                f"c{i}": values.rounded(quantised) if duckdb else values.numbers(quantised.column)
                for i, quantised in sums
            },
            **{
                f"g{i}": values.rounded(key.quantised) if duckdb and isinstance(key, Steps) else values.keys(key)
                for i, key in keys
                if not is_presence(key)
            },
            **{name: values.operand(column) for name, column in zip((persons.ID, persons.AT), others, strict=False)},
        )
        levels = [(f"g{i}", key, values.type_of(key)) for i, key in keys if isinstance(key, Levels)]
        numbers = {quantised.column: f"c{i}" for i, quantised in sums}
        frame = self._settle(frame) if duckdb else frame
        columns = {
            **{
                f"k{i}": clip_settled(nw.col(f"k{i}"), quantised)
                if duckdb
                else integers(nw.col(f"c{i}"), quantised, flat=flat)
                for i, quantised in sums
            },
            **{
                f"g{i}": rules.interval_numbers(key, nw.col(f"g{i}"), duckdb=duckdb)
                for i, key in keys
                if isinstance(key, Edges)
            },
            **{
                f"g{i}": rules.step_numbers(key, nw.col(f"g{i}"), flat=flat, duckdb=duckdb)
                for i, key in keys
                if isinstance(key, Steps)
            },
            **{
                f"g{i}": decide(key, f"g{i}", numbers, duckdb, kept=bool(others))
                for i, key in keys
                if isinstance(key, Condition)
            },
        }
        if duckdb:
            # A missing value that is refused is null.
            columns |= {f"c{i}": nw.col(f"k{i}") for i in self.refusing}
        if text == "collated":
            numbered = {name: rules.level_numbers(key, nw.col(name)) for name, key, dtype in levels if _is_text(dtype)}
            columns |= numbered
            levels = [level for level in levels if level[0] not in numbered]
        return frame.with_columns(**columns) if columns else frame, levels, text

    def _settle(self, frame: Frame) -> Frame:
        """DuckDB: the frame with columns that `clip_settled` takes."""
        import narwhals as nw

        sums = enumerate(self.request.sums)
        columns = {
            f"k{i}": settle(nw.col(f"c{i}"), quantised, null=quantised.column.missing is None) for i, quantised in sums
        }
        steps = [(f"g{i}", key) for i, key in enumerate(self.request.by) if isinstance(key, Steps)]
        columns |= {
            name: settle(nw.col(name), key.quantised, null=not isinstance(key.missing, Fraction)) for name, key in steps
        }
        return frame.with_columns(**columns) if columns else frame

    def _read_operands(self, frame: Frame, values: rules.Values) -> tuple[Frame, rules.Values]:
        """The frame with the operands of expressions, and with conditions: each is prepared once and read many times.

        Their names begin like no column of the table.
        """
        import narwhals as nw

        columns = [column for column in self.request.columns if isinstance(column, Operand)]
        if not columns:
            return frame, values
        start = find_prefix(values.types)
        operands = {column: f"{start}o{i}" for i, column in enumerate(columns)}
        frame = frame.with_columns(**{name: values.operand(column) for column, name in operands.items()})
        values = replace(values, operands=operands)
        if frame.implementation.is_duckdb():
            # The database leaves out what is not read.
            numbers = [column for column in columns if column.kind == "number"]
            tamed_names = {column: f"{start}t{i}" for i, column in enumerate(numbers)}
            if doubles := {name: values.operand_or_nan(column) for column, name in tamed_names.items()}:
                frame = frame.with_columns(**doubles)
                frame = frame.with_columns(**{name: tame_column(nw.col(name)) for name in doubles})
            values = replace(values, tamed=tamed_names)
        wheres = dict.fromkeys(key.where for key in self.request.by if isinstance(key, Condition) and key.where)
        conditions = {where: f"{start}w{i}" for i, where in enumerate(wheres)}
        selections = {name: values.select(where) for where, name in conditions.items()}
        return frame.with_columns(**selections) if selections else frame, replace(values, conditions=conditions)

    def count(self, frame: Frame, levels: Sequence[tuple[str, Levels, Any]], text: str) -> Frame:
        """Records reduced to one row for each cell."""
        import narwhals as nw

        polars = frame.implementation.is_polars()
        keys = list(enumerate(self.request.by))
        frame, terms = write_terms(frame, self.request, self.terms)
        # Rows, and how many of them hold a value where a missing one would be refused.
        counts = [nw.len().alias("one"), *(nw.col(f"c{i}").count().alias(f"m{i}") for i in self.refusing)]
        if not keys:
            return frame.select(*counts, *(term.sum().alias(name) for name, term in terms.items()))
        frame = frame.with_columns(**terms) if terms else frame
        # Grouped by raw values first: labels are then made for the few groups, not for every record.
        groups = [f"g{i}" for i, _ in keys]
        frame = frame.group_by(*groups).agg(*counts, *(nw.col(name).sum() for name in terms))
        frame = number_groups(frame, self.request.by) if frame.implementation.is_duckdb() else frame
        if not levels:
            return frame
        joins = polars or frame.implementation.is_duckdb()
        joined = {name for name, key, dtype in levels if joins and rules.are_many(key) and not dtype.is_numeric()}
        octets = [name for name, _, dtype in levels if dtype == nw.Binary and name not in joined]
        frame = write_groups(frame, octets) if octets else frame
        for name, key, dtype in levels:
            if name in joined:
                write = to_hexadecimal if text == "hexadecimal" and dtype != nw.Binary else str
                frame = rules.place_levels(frame, name, key, write, octets=dtype == nw.Binary)
                continue
            hexadecimal = text == "hexadecimal" and (_is_text(dtype) or name in octets) and key.formula is None
            new_name = name.replace("g", "h") if hexadecimal else name
            frame = frame.with_columns(**{new_name: rules.label(key, nw.col(name), dtype, hexadecimal=hexadecimal)})
            groups[groups.index(name)] = new_name
        totals = ["one", *(f"m{i}" for i in self.refusing), *terms]
        return frame.group_by(*groups).agg(*(nw.col(name).sum() for name in totals))

    def _prepare(self, frame: Frame, others: Sequence[Operand] = ()) -> tuple[Frame, Any, str]:
        """The frame with columns that can be compared and added up, its former types, and how text is compared."""
        import narwhals as nw

        types = frame.collect_schema()
        columns = [(column, source_name(column, types)) for column in (*self.request.columns, *others)]
        numbers = [name for column, name in columns if kind_of(column) == "number"]
        numbers += [name for column, name in columns if kind_of(column) == "order" and types[name].is_numeric()]
        text = [name for column, name in columns if _holds_text(column) and _is_text(types[name])]
        instants = dict.fromkeys(name for column, name in columns if is_told(column, types[name]))
        numbers = [name for name in dict.fromkeys(numbers) if name in types]
        read_names = {name for column, name in columns if not isinstance(column, Levels)}
        # With rules for persons, levels are found record by record.
        groups_only = frame.implementation.is_duckdb() and not others
        grouped = [name for name in text if name not in read_names] if groups_only else []
        prepared = prepare(frame, list(dict.fromkeys(text)), numbers, list(instants), grouped)
        types = nw.Schema({**types, **dict.fromkeys(grouped, nw.Binary())})
        ids = [name for column, name in columns if kind_of(column) == "id" and _is_text(types[name])]
        if ids and prepared.text == "collated" and text.count(ids[0]) > 1:
            raise DataError("ids of text cannot be counted as levels as well on this engine; use another one")
        return write_ids(prepared, ids[0]) if ids else prepared.frame, types, prepared.text

    def cells(self, answer: Any) -> Cells | DataError:
        """The engine's answer in integers, one entry for each cell; or the refusal of what a rule does not take."""
        request = self.request
        counts = to_whole(answer["one"])
        for i in self.refusing:
            if np.any(to_whole(answer[f"m{i}"]) != counts):
                return make_refusal(request.sums[i].column, "missing")
        names = set(answer.columns)
        in_hexadecimal = [f"h{i}" in names for i in range(len(request.by))]
        places = [
            places_of(key, answer[f"{'h' if hexadecimal else 'g'}{i}"], hexadecimal=hexadecimal)
            for i, (key, hexadecimal) in enumerate(zip(request.by, in_hexadecimal, strict=True))
        ]
        refusals = map(find_refusal, request.by, places)
        if refusal := next((refusal for refusal in refusals if refusal is not None), None):
            return refusal
        if places and not request.sums:
            table = np.zeros([key.cells for key in request.by], dtype=np.int64)
            np.add.at(table, tuple(places), counts)
            return Counts(table)
        result: dict[tuple[int, ...], Cell] = {}
        parts = self.terms
        for row, (count, *place) in zip(answer.iter_rows(named=True), np.array([counts, *places]).T, strict=True):
            terms = [term.compose(row) for term in parts]
            cell = int(count), tuple(terms[: len(request.sums)]), tuple(terms[len(request.sums) :])
            where = tuple(int(i) for i in place)
            result[where] = add_cells(result[where], cell) if where in result else cell
        return result


def _is_text(dtype: Any) -> bool:
    import narwhals as nw

    return dtype in (nw.String, nw.Categorical, nw.Enum)


def _holds_text(column: Column) -> bool:
    return isinstance(column, Levels) or (isinstance(column, Operand) and column.kind in ("text", "any", "id"))


def collect(make: Callable[[], Sequence[Any]]) -> list[Any]:
    """The answer to each query, a small table."""
    import narwhals as nw

    def run() -> list[Any]:
        queries = make()
        if all(isinstance(query, nw.LazyFrame) and query.implementation.is_polars() for query in queries):
            import polars as pl

            # It takes the memory of a few blocks, whatever the size of the files.
            answers = pl.collect_all([query.to_native() for query in queries], engine="streaming")
            return [nw.from_native(answer) for answer in answers]
        return [query.collect() if isinstance(query, nw.LazyFrame) else query for query in queries]

    return guard(run)
