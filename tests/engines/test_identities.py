"""A share of the ids and persons that `tools/identity.py` tries, on every engine, and readers that merge ids."""

import pytest

from inbounds.tables import csv_files, persons, untyped
from tests.engines import identities, places

SLOW = ("Spark", "Dask", "Parquet by Spark", "Parquet by Dask", "SQLFrame")
KEPT = ("Spark, octets", "Parquet by Spark, decimal", "Dask, objects", "Dask, octets", "SQLFrame on DuckDB, text")
QUICK = [name for name in identities.SOURCES if not name.startswith((*SLOW, "PostgreSQL"))]


def attack(source, *, rows, variants):
    pairs, faults = identities.attack_ids(source, tables=1, rows=rows, seed=1)
    more_pairs, more_faults = identities.attack_persons(source, bases=1, variants=variants, seed=1)
    return pairs + more_pairs, faults + more_faults


@pytest.mark.claim("identity")
@pytest.mark.claim("kept")
@pytest.mark.parametrize("source", QUICK)
def test_ids_stay_apart_and_meet(source):
    pairs, faults = attack(source, rows=70, variants=3)
    assert not faults
    assert pairs >= 70 * 69 // 2


@pytest.mark.claim("identity")
@pytest.mark.parametrize("source", KEPT)
def test_ids_of_slower_engines(source):
    _, faults = attack(source, rows=60, variants=1)
    assert not faults


@pytest.mark.claim("identity")
@pytest.mark.parametrize("source", [name for name in identities.SOURCES if name.startswith("PostgreSQL")])
def test_ids_of_postgresql(source):
    if places.postgres() is None:
        pytest.skip("SKIPPED LOUDLY: no PostgreSQL binaries (initdb) on this machine; install postgresql to test it")
    _, faults = attack(source, rows=60, variants=2)
    assert not faults


@pytest.mark.claim("identity")
def test_types_whose_text_is_loose_are_refused_as_types():
    """A union writes the number 1 and the text 1 alike; a `UUID` and bits are written exactly."""
    import duckdb

    made = duckdb.connect()
    made.execute("CREATE TABLE t (id UNION(number INT, word VARCHAR))")
    made.execute("INSERT INTO t VALUES (1), ('1')")
    with pytest.raises(untyped.DataError, match="must hold text, numbers, dates or times"):
        identities.count_all(made.table("t"), {})


# Controls: readers as they were, or could be


def lossy(field):
    return field.decode("utf-8", "replace")


def rounded(value):
    number = untyped._number(value)
    return str(value) if number is None else str(number)


@pytest.mark.parametrize(
    ("source", "module", "name", "instead"),
    [
        ("CSV", csv_files, "write_field", lossy),
        ("CSV, cp1252", csv_files, "write_field", lossy),
        ("dict", untyped, "write_id", rounded),
        ("pandas, Arrow decimals", untyped, "write_numbers", lambda series: series.cast(float).cast(str)),
    ],
)
def test_ids_that_are_merged_are_found(source, module, name, instead, monkeypatch):
    monkeypatch.setattr(module, name, instead)
    _, faults = identities.attack_ids(source, tables=1, rows=250, seed=1)
    assert faults


@pytest.mark.parametrize("source", ["Parquet by DuckDB, text", "Polars, text"])
def test_a_rule_that_keeps_one_row_more_is_found(source, monkeypatch):
    rows = persons.Keeping.rows.fget
    monkeypatch.setattr(persons.Keeping, "rows", property(lambda self: rows(self) + 1))
    _, faults = identities.attack_persons(source, bases=3, variants=6)
    assert faults


def test_a_refusal_by_a_value_is_found(monkeypatch):
    def refuse(value):
        raise untyped.DataError("an id") if value == b"\xff" else ValueError

    monkeypatch.setattr(untyped, "write_id", lambda value: refuse(value) if isinstance(value, bytes) else "one")
    _, faults = identities.attack_ids("dict", tables=1, rows=100)
    assert faults
