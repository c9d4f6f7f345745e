"""What is kept of persons, and what their rows are folded into, is the same wherever a table lives."""

import random
from datetime import date
from fractions import Fraction

import polars as pl
import pytest

from inbounds.errors import DataError
from inbounds.privacy.persons import Persons
from inbounds.tables.census import Census, count_persons, take_census
from inbounds.tables.engine import Request, tally
from inbounds.tables.folding import fold_records
from inbounds.tables.persons import Keeping, add_columns
from inbounds.tables.schema import Edges, Levels, Numeric, quantise_column
from inbounds.tables.sources import read
from tests.engines import places
from tests.engines.test_same_integers import QUICK, made
from tests.tables.panel import REGION, Y, kept_by_hand, panel
from tests.tables.test_persons import CASES, INTEGERS, REQUESTS, count

S = quantise_column(Numeric.of("x", (0, 30), integer=True), resolution=1)
FOLD = {"n": "count", "x": "sum", "y": "mean", "kind": "any", "region": "first", "number": "max"}
FOLDED = [
    Request((), (S, Y), True),
    Request((REGION, Levels("kind", (0, 1)), Edges.of("n", [1, 2, 5, 100]))),
    Request((), (quantise_column(Numeric.of("number", (0, 10**16), missing=0), resolution=10**6),)),
]
SLOW = ("Spark", "Dask, two workers", "SQLFrame on DuckDB")


@pytest.mark.claim("kept")
@pytest.mark.parametrize("engine", places.ENGINES)
def test_the_same_rows_are_kept_on_every_engine(engine):
    table = panel()
    frame = made(engine, table.sample(fraction=1, shuffle=True, seed=2), 3)
    for case in ("own", "last", "groups") if engine in SLOW else CASES:
        rule, how = CASES[case]
        kept = kept_by_hand(table, rule, INTEGERS, **how, untyped=engine == "pandas")
        columns = [column for request in REQUESTS for column in request.columns]
        assert count(frame, rule) == tally(read(kept, columns), REQUESTS), case


REFUSED = quantise_column(Numeric.of("x", (0, 10)), resolution=100)
FILLED = quantise_column(Numeric.of("z", (0, 10), missing=0), resolution=100)
BINS = Edges.of("y", [0, 3, 6, 10], "level")


def with_gaps(seed):
    """A few rows of two persons, with numbers that are missing in three columns: one of them refuses that."""
    rng, columns = random.Random(seed), {"x": [5.0, 5.0, 5.0, 1.0, None, float("nan")], "y": [None, 1.0, 5.0]}
    columns |= {"z": [None, 1.0, 5.0], "who": ["p", "q"]}
    size = rng.choice([3, 6, 9])
    types = {name: pl.String if name == "who" else pl.Float64 for name in columns}
    return pl.DataFrame({name: rng.choices(values, k=size) for name, values in columns.items()}, schema=types)


@pytest.mark.claim("kept")
@pytest.mark.parametrize("engine", [name for name in QUICK if name != "Polars"])
def test_rows_with_missing_numbers_are_kept_or_refused_alike(engine):
    """What is missing is counted in the choice of rows as well, and refused only in one that is kept."""
    rule, asked, outcomes = Persons.of("who"), [Request((BINS,), (REFUSED, FILLED), True)], set()

    def count_rows_kept(table, seed):
        columns = add_columns([REFUSED.column, BINS, FILLED.column], rule)
        try:
            return tally(read(table, columns), asked, keeping=Keeping(rule, 1, bytes([seed] * 16)))
        except DataError as error:
            return str(error)

    for seed in range(12):
        table = with_gaps(seed)
        found = count_rows_kept(table, seed)
        assert count_rows_kept(made(engine, table, 2), seed) == found
        outcomes.add((isinstance(found, str), table["x"].fill_nan(None).null_count() > 0))
    # Some are refused, and in some all that is missing was left out.
    assert {(True, True), (False, True)} <= outcomes


@pytest.mark.parametrize("engine", places.ENGINES)
@pytest.mark.parametrize("name", ["text", "number"])
def test_persons_and_their_rows_are_counted_on_every_engine(engine, name):
    """For the curator: how many rows each limit leaves out, in an empty table too."""
    for table in (panel(), panel()[:0]):
        sizes = table.drop_nulls(name)[name].value_counts()["count"].cast(pl.Int64)
        left = tuple((k, int((sizes - k).clip(0).sum())) for k in (1, 2, 5))
        counted = Census(len(sizes), int(sizes.sum()), table[name].null_count(), left)
        frame = made(engine, table, 3 if len(table) else 1)
        assert take_census(read(frame, add_columns([], Persons.of(name))), Persons.of(name), (1, 2, 5)) == counted


def fold_by_hand(table, own):
    """One record for each person, in Python."""
    people, alone = {}, 0
    for row in table.iter_rows(named=True):
        alone += row["text"] is None
        people.setdefault(row["text"] or alone, []).append(row)
    records = []
    for who, rows in people.items():
        if isinstance(who, int) and not own:
            continue
        first = min((row["visit"] is None, row["visit"] or date.max) for row in rows)
        there = [row for row in rows if (row["visit"] is None, row["visit"] or date.max) == first]
        levels = ["nsew".find(row["region"]) % 5 for row in there]
        numbers = [row["number"] for row in rows if row["number"] is not None]
        records.append(
            {
                "n": float(len(rows)),
                "x": sum(row["x"] for row in rows),
                "y": float(Fraction(sum(row["y"] for row in rows), len(rows))),
                "kind": float(any(row["kind"] for row in rows)),
                "region": "nsewq"[min(levels)],
                "number": float(max(numbers)) if numbers else None,
            }
        )
    return pl.DataFrame(records)


@pytest.mark.claim("folded")
@pytest.mark.parametrize("engine", places.ENGINES)
def test_rows_are_folded_to_the_same_records_on_every_engine(engine):
    table = panel()
    frame = made(engine, table.sample(fraction=1, shuffle=True, seed=2), 3)
    columns = [column for request in FOLDED for column in request.columns]
    for own in (True,) if engine in SLOW else (False, True):
        rule = Persons.of("text", order="visit", person_missing="own" if own else "skip", fold=FOLD)
        found = tally(fold_records(read(frame, add_columns(columns, rule)), FOLDED, rule), FOLDED)
        assert found == tally(read(fold_by_hand(table, own), columns), FOLDED), own


@pytest.mark.claim("collation")
@pytest.mark.parametrize("engine", ["DuckDB", "SQLFrame on DuckDB"])
def test_ids_that_a_collation_takes_for_one_are_told_apart(engine):
    """By the database `a` and `A` are equal; by their bytes they are two persons."""
    name = f"visits_{len(engine)}"
    places.duck().execute(f"CREATE TABLE {name} (id VARCHAR COLLATE NOCASE, x DOUBLE)")
    places.duck().execute(f"INSERT INTO {name} VALUES ('a', 1), ('A', 1), ('b', 1), ('b', 1)")
    table = places.duck().table(name)
    if engine != "DuckDB":
        from sqlframe.duckdb import DuckDBSession

        table = DuckDBSession(conn=places.duck()).table(name)
    persons = Persons.of("id")
    columns = add_columns([S.column], persons)
    (kept,) = tally(read(table, columns), [Request((), (S,))], keeping=Keeping(persons, 1, bytes(16)))
    folded = fold_records(read(table, columns), [Request((), (S,))], Persons.of("id", fold={"x": "max"}))
    (whole,) = tally(folded, [Request((), (S,))])
    assert kept[()][0] == whole[()][0] == count_persons(read(table, columns), persons) == 3
