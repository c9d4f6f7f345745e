"""Compiled expressions have the reference's values, bit for bit, on the engines of this process."""

import datetime
import math
import random

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from inbounds.errors import ExpressionError
from inbounds.tables.expressions import compiler, pairs, parse
from inbounds.tables.expressions.compiler import is_true, to_narwhals
from inbounds.tables.expressions.dates import PARTS, find_seconds, seconds_from_parts
from inbounds.tables.schema import to_hexadecimal as to_digits
from tests.tables.expressions import samples
from tests.tables.expressions.reference import evaluate


def on_nullable(table):
    return table.to_pandas().convert_dtypes(dtype_backend="numpy_nullable")


def on_arrow_backed(table):
    return table.to_pandas(use_pyarrow_extension_array=True)


def on_duckdb(table):
    import duckdb

    return duckdb.from_arrow(table.to_arrow())


def on_ibis(table):
    import ibis

    return ibis.memtable(table.to_arrow())


ENGINES = {
    "Polars": (lambda table: table, 150),
    "Polars, lazy": (lambda table: table.lazy(), 60),
    "pandas": (lambda table: table.to_pandas(), 30),
    "pandas, nullable": (on_nullable, 20),
    "pandas, Arrow": (on_arrow_backed, 20),
    "PyArrow": (lambda table: table.to_arrow(), 50),
    "DuckDB": (on_duckdb, 25),
    "DuckDB, tamed": (on_duckdb, 25),
    "Ibis on DuckDB": (on_ibis, 10),
}
READY = {name: nw.col(name) for name in samples.KINDS}


@pytest.mark.claim("expressions")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.filterwarnings("ignore")
def test_random_expressions_on_random_rows(engine):
    make, count = ENGINES[engine]
    table, expressions = samples.sample(20, 50, count, most=150)
    tamed = engine.endswith("tamed")
    expressions += map(parse, COMPARED) if tamed else []
    assert samples.check(make(samples.rename(table)), expressions, table, tamed=tamed) == []


# Shortcuts of DuckDB, by twos: the second of them is asked whether it is true and whether it is false.
COMPARED = [
    "x > 0",
    "x > 0",
    "not x <= 1e-100",
    "x >= -1e-100",
    "x = 0 or y <> 0",
    "x = 0",
    "-x > y",
]


@pytest.mark.claim("expressions")
def test_sums_without_null_in_duckdb():
    """What is handed to steps: NaN where a number is missing, and otherwise the sum before it is tamed."""
    table, _ = samples.sample(20, 400, 0)
    names = {name: f"{name}_tamed" for name in ("x", "y")}
    frame = nw.from_native(on_duckdb(table.select("row", "x", "y")))
    frame = frame.with_columns(**{made: nw.col(name).fill_null(math.nan) for name, made in names.items()})
    frame = frame.with_columns(**{made: pairs.tame_column(nw.col(made)) for made in names.values()})
    given = {name: nw.col(made) for name, made in names.items()}
    for text in ("x", "x - y", "x + y - 2.5 + x"):
        found = frame.select("row", r=compiler.add_plainly(parse(text), given)).collect()
        expected = {row["row"]: evaluate(parse(text), row) for row in table.iter_rows(named=True)}
        for row, value in found.iter_rows():
            same = expected[row]
            assert (
                math.isnan(value)
                if same is None
                else math.isclose(value, same, rel_tol=0, abs_tol=1e-99) or abs(same) == 1e100
            )
    assert compiler.add_plainly(parse("x * y"), given) is None
    assert compiler.add_plainly(parse("-x"), given) is None


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("x * y > 1e59 * 1e59", ("tame", lambda value: value)),
        ("x < 1 or y < 1", ("join", lambda _, conditions: conditions[0])),
        ("x = y", ("keep_known", lambda holds, fails, _: pairs.Condition(holds, fails))),
    ],
)
def test_the_comparison_sees_what_is_wrong(monkeypatch, text, changed):
    """The control: a planted fault in what is compiled is found."""
    table, _ = samples.sample(3, 400, 0)
    one = [parse(text)]
    assert samples.check(samples.rename(table), one, table) == []
    monkeypatch.setattr(compiler, *changed)
    assert samples.check(samples.rename(table), one, table)


def test_a_literal_is_the_nearest_double():
    rng = random.Random(5)
    texts = ["0.1", "0.30000000000000004", "9007199254740993", "1e59", "1e-99", "123456789.123456789", "5e-101", "2.5"]
    texts += [f"{rng.uniform(1, 10)!r}e{rng.randint(-98, 58)}" for _ in range(300)]
    frames = [nw.from_native(make(pl.DataFrame({"x": [0.0]}))) for make in (lambda t: t, on_duckdb, on_ibis)]
    for frame in frames:
        made = frame.with_columns(**{f"r{i}": pairs.make_double(float(text)) for i, text in enumerate(texts)})
        (row,) = (made.collect() if isinstance(made, nw.LazyFrame) else made).iter_rows(named=True)
        assert [row[f"r{i}"] for i in range(len(texts))] == [float(text) for text in texts]
    assert evaluate(parse("x + 5e-101"), {"x": 0.0}) == 0.0


def test_texts_may_be_written_in_another_form():
    table = pl.DataFrame({"t": ["it's", "Ä", None, "x"]})
    digits = nw.from_native(table.with_columns(pl.col("t").map_elements(to_digits, return_dtype=pl.String)))
    for text in ("t = 'it''s'", "t <> 'Ä'", "t in ('x', 'Ä')", "t not in ('x')", "'x' = t"):
        one = parse(text)
        found = digits.select(r=to_narwhals(one, {"t": nw.col("t")}, to_digits))["r"].to_list()
        assert found == [evaluate(one, row) for row in table.iter_rows(named=True)]


def test_divisions_are_rounded_once():
    """Polars takes x / c for x * (1 / c), which differs in the last digit; also where c is a column of one value."""
    x, c = np.random.default_rng(1).uniform(1, 2, 2000), 0.12345678901234568
    assert np.any(pl.DataFrame({"x": x}).select(pl.col("x") / c)["x"].to_numpy() != x / c)
    frame = nw.from_native(pl.DataFrame({"x": x}).with_columns(y=pl.lit(c)))
    for text in (f"x / {c}", "x / y"):
        found = frame.select(r=to_narwhals(parse(text), READY))["r"].to_numpy()
        assert np.array_equal(found, x / c)
    for number in x[:50]:
        one = nw.from_native(pl.DataFrame({"x": [number], "y": [c]}))
        assert one.select(r=to_narwhals(parse("x / y"), READY))["r"].to_list() == [number / c]


def test_constants_stand_beside_columns():
    frame = nw.from_native(pl.DataFrame({"x": [1.0, None]}))
    for text, values in (
        ("x > 5 or true", [True, True]),
        ("x > 5 and 1 > 2", [False, False]),
        ("x + 1 / 0", [None, None]),
        ("x = 1 or 'a' = 'b'", [True, None]),
        ("x = 1 and 1 / 0 is null", [True, None]),
    ):
        assert frame.select(r=to_narwhals(parse(text), READY))["r"].to_list() == values
        if parse(text).kind == "boolean":
            assert frame.filter(is_true(parse(text), READY)).shape[0] == values.count(True)
    with pytest.raises(ExpressionError, match="a condition is needed here"):
        is_true(parse("x + 1"), READY)


# Limits, at which engines must not fail


AT_THE_LIMITS = [
    " and ".join(f"x <> {i}" for i in range(1, 50)),
    " or ".join(["b"] * 199),
    "+".join(["x"] * 30) + " > 0",
    "(" * 49 + "x" + " + 1)" * 49 + " > 0",
    "not " * 50 + "b",
    "".join(f"(x > {i} {'and' if i % 2 else 'or'} " for i in range(45)) + "b" + ")" * 45,
    f"n in ({', '.join(map(str, range(190)))})",
    f"t in ({', '.join(map(repr, map(str, range(190))))})",
    "*".join("xyxyx") + " > 0",
    "x / (y / (x / y)) > 0",
]


@pytest.mark.parametrize("engine", ["Polars", "PyArrow", "DuckDB", "Ibis on DuckDB"])
@pytest.mark.filterwarnings("ignore")
def test_expressions_at_the_limits(engine):
    """All of them in one query, which is more than a plan may ask of an engine."""
    table, _ = samples.sample(4, 20, 0)
    expressions = [parse(text, samples.KINDS) for text in AT_THE_LIMITS]
    assert samples.check(ENGINES[engine][0](samples.rename(table)), expressions, table) == []


# The calendar


@pytest.mark.claim("civil")
def test_every_day_of_the_calendar():
    """All days of the years 1 to 9999 next to NumPy's calendar and, for a share of them, to Python's."""
    days = np.arange(np.datetime64("0001-01-01"), np.datetime64("10000-01-01"))
    number = days.astype(np.int64)
    year, month = (days.astype(f"M8[{unit}]").astype(np.int64) for unit in "YM")
    day = (days - days.astype("M8[M]")).astype(np.int64) + 1
    expected = {"year": year + 1970, "month": month % 12 + 1, "day": day, "weekday": (number + 3) % 7 + 1}
    expected["days"] = number
    for seconds, hour in ((0.0, 0), (86399.9999, 23)):
        frame = nw.from_native(pl.LazyFrame({"when": number * 86400.0 + seconds}))
        # The last moment of a day is the harder one; its first is looked at for the day alone.
        names = list(PARTS) if hour else ["day", "hour"]
        found = frame.select(**{name: PARTS[name](nw.col("when")) for name in names}).collect()
        assert all(np.array_equal(found[name].to_numpy(), expected[name]) for name in names if name != "hour")
        assert set(found["hour"].unique().to_list()) == {float(hour)}
    table = {**{name: expected[name] for name in ("year", "month", "day")}, "h": 23, "n": 59, "s": 59.25}
    made = nw.from_native(pl.DataFrame(table)).select(r=seconds_from_parts(*map(nw.col, table)))
    assert np.array_equal(made["r"].to_numpy(), number * 86400.0 + 86399.25)
    for ordinal in range(1, datetime.date.max.toordinal() + 1, 97):
        date, seconds = datetime.date.fromordinal(ordinal), (ordinal - 719163) * 86400.0
        assert find_seconds(date.year, date.month, date.day) == seconds
        parts = [date.year, date.month, date.day, date.isoweekday(), 0, ordinal - 719163]
        assert [part(seconds) for part in PARTS.values()] == parts


@pytest.mark.claim("civil")
def test_times_outside_the_calendar_are_missing():
    frame = nw.from_native(pl.DataFrame({"y": [0, 1, 9999, 10000, None], "o": [1, 1, 12, 1, 1], "z": [0] * 5}))
    one, zero = nw.col("o"), nw.col("z")
    made = frame.select(r=seconds_from_parts(nw.col("y"), one, one, zero, zero, zero))["r"].to_list()
    assert made == [None, -62135596800.0, find_seconds(9999, 12, 12), None, None]
    assert find_seconds(0, 1, 1) is None
    ends = pl.DataFrame({"when": [-62135596801.0, -62135596800.0, 253402300799.0, 253402300800.0]})
    found = nw.from_native(ends).select(r=to_narwhals(parse("year(when)"), READY))["r"].to_list()
    assert found == [None, 1.0, 9999.0, None]


def test_parts_of_a_pandas_column():
    """Dates as an engine would take them apart."""
    when = pd.Series(pd.to_datetime(["2013-06-01 12:30:00", None, "1969-12-31 23:59:59"]))
    frame = nw.from_native(pd.DataFrame({"when": when}))
    date = nw.col("when").dt
    parts = [date.year(), date.month(), date.day(), date.hour(), date.minute(), date.second()]
    found = frame.select(r=seconds_from_parts(*parts))["r"].to_list()
    assert [samples.show(value) for value in found] == [(1370089800.0).hex(), None, (-1.0).hex()]
