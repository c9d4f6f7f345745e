"""Expressions on engines that have to be started: the reference's values, bit for bit."""

import narwhals as nw
import polars as pl
import pytest

from inbounds.tables.expressions import parse
from inbounds.tables.expressions.compiler import is_true
from inbounds.tables.expressions.dates import PARTS, seconds_from_parts
from tests.engines import places
from tests.tables.expressions import samples

ENGINES = {
    "Dask": (places.on_dask, 12),
    "Spark": (places.on_spark, 2),
    "SQLFrame on DuckDB": (places.on_sqlframe, 8),
    "Ibis on PostgreSQL": (places.on_postgres, 12),
}
# What PostgreSQL raises errors at, each of them in a table with such numbers.
RISKY = [
    "x * y > 1",
    "x / y > 1",
    "x * y / n > 0",
    "x * x * x * y * y * y",
    "(x + y) * (x - y)",
    "1 / (x - y)",
    "-x / 7",
]
RISKY += ["x = 1e59", "x > 0", "month(when) in (6, 7) or t = 'it''s'", "b is null or not b", "x / 0.30000000000000004"]


def require(engine):
    if "PostgreSQL" in engine and places.postgres() is None:
        pytest.skip("SKIPPED LOUDLY: no PostgreSQL binaries (initdb) on this machine; install postgresql to test it")


@pytest.mark.claim("expressions")
@pytest.mark.parametrize("engine", ENGINES)
def test_expressions_on_every_engine(engine):
    require(engine)
    make, count = ENGINES[engine]
    table, expressions = samples.sample(30, 40, count, most=60)
    # Spark compiles each of them to Java, which takes seconds.
    expressions += [parse(text, samples.KINDS) for text in (RISKY[:5] if engine == "Spark" else RISKY)]
    assert samples.check(make(samples.rename(table), 3), expressions, table) == []


@pytest.mark.claim("civil")
@pytest.mark.parametrize("engine", ENGINES)
def test_the_calendar_on_every_engine(engine):
    """The years around leap days, there and back."""
    require(engine)
    days = pl.date_range(pl.date(1, 1, 1), pl.date(9999, 12, 31), interval="601d", eager=True).alias("day")
    table = pl.DataFrame({"s": days.cast(pl.Int64).cast(pl.Float64) * 86400.0 + 86399.0})
    frame = nw.from_native(ENGINES[engine][0](table, 3))
    frame = frame.with_columns(**{name: part(nw.col("s")) for name, part in PARTS.items()})
    zero = nw.col("s") * 0.0
    parts = [nw.col("year"), nw.col("month"), nw.col("day"), nw.col("hour"), zero + 59.0, zero + 59.0]
    frame = frame.with_columns(back=seconds_from_parts(*parts))
    found = frame.select("s", "year", "month", "day", "weekday", "hour", "back").collect()
    rows = sorted(tuple(map(float, row)) for row in found.iter_rows())
    expected = zip(table["s"], days.dt.year(), days.dt.month(), days.dt.day(), days.dt.weekday(), strict=True)
    assert rows == [(s, *map(float, (y, m, d, w)), 23.0, s) for s, y, m, d, w in expected]


@pytest.mark.parametrize("engine", ENGINES)
def test_records_are_kept_on_every_engine(engine):
    require(engine)
    table = pl.DataFrame({"x": [1.0, None, 20.0, 30.0], "t": ["JFK", "JFK", None, "JFK"]})
    frame = nw.from_native(ENGINES[engine][0](table, 2))
    kept = frame.filter(is_true(parse("t = 'JFK' and x > 15"), {name: nw.col(name) for name in "xt"}))
    (row,) = kept.select("x").collect().iter_rows()
    assert row == (30.0,)
