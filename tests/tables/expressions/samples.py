"""Random expressions and rows, and what an engine makes of them."""

import math
import random

import narwhals as nw
import pandas as pd
import polars as pl

from inbounds.errors import ExpressionError
from inbounds.tables.expressions import parse
from inbounds.tables.expressions.compiler import is_false, is_true, to_narwhals
from inbounds.tables.expressions.pairs import tame_column
from tests.tables.expressions.reference import evaluate

KINDS = {
    "x": "number",
    "y": "number",
    "n": "number",
    "t": "text",
    "long name": "text",
    "b": "boolean",
    "c": "boolean",
    "when": "time",
    "until": "time",
}
TEXTS = ["north", "south", "it's", "", " ", "Ä", "ä", "NULL", "null", "1"]
NUMBERS = [
    0.0,
    1.0,
    -1.0,
    2.5,
    0.1,
    0.30000000000000004,
    15.0,
    1e-101,
    1e-99,
    1e50,
    -1e99,
    1e100,
    1e101,
    -1e300,
    5e-324,
]
NUMBERS += [-0.0, math.inf, -math.inf, math.nan, 1 / 3, 2.0**53, 123456.78, 6.0, 2013.0]
LITERALS = [
    "0",
    "1",
    "-1",
    "2.5",
    "0.1",
    "0.30000000000000004",
    "1e-101",
    "1e-99",
    "1e50",
    "15",
    "6",
    "7",
    "1e59",
    "2013",
]
LITERALS += ["123456789012345678", "1.7976931348623157e-50", "0.1234567890123456789"]
SECONDS = [
    0.0,
    -1.0,
    86399.999,
    -86400.0,
    1370089800.0,
    1.5e9,
    -62135596800.0,
    -62135596801.0,
    253402300799.5,
    253402300800.0,
]
SECONDS += [951782400.0, 951868800.0, -2208988800.0, 4107542400.0 - 1e-5, 1e30, -1e30]
MOMENTS = [
    "date '2013-06-01'",
    "timestamp '2013-06-01 12:30:00'",
    "date '1970-01-01'",
    "timestamp '1969-12-31 23:59:59.25'",
]


def make_rows(rng, count):
    """Rows as a Polars table, with missing values, infinities, NaN and times of no calendar."""

    def some(values, often=0.15):
        return [None if rng.random() < often else rng.choice(values) for _ in range(count)]

    return pl.DataFrame(
        {
            "x": pl.Series(some([*NUMBERS, rng.gauss(0, 1), rng.gauss(0, 1e6)]), dtype=pl.Float64),
            "y": pl.Series(some([*NUMBERS, rng.gauss(0, 1)]), dtype=pl.Float64),
            "n": pl.Series(some(list(range(-3, 20))), dtype=pl.Int64),
            "t": pl.Series(some(TEXTS), dtype=pl.String),
            "long name": pl.Series(some(TEXTS), dtype=pl.String),
            "b": pl.Series(some([True, False]), dtype=pl.Boolean),
            "c": pl.Series(some([True, False]), dtype=pl.Boolean),
            "when": pl.Series(some([*SECONDS, rng.uniform(-6e10, 2.5e11)]), dtype=pl.Float64),
            "until": pl.Series(some(SECONDS), dtype=pl.Float64),
        }
    )


class Writer:
    """Writes random expressions."""

    def __init__(self, rng):
        self.rng = rng

    def pick(self, *choices):
        return self.rng.choice(choices)

    def number(self, depth):
        if depth <= 0 or self.rng.random() < 0.25:
            return self.pick("x", "y", "n", self.rng.choice(LITERALS))
        match self.rng.randrange(6):
            case 0:
                return f"- {self.atom(depth - 1)}"
            case 1:
                return f"ABS({self.number(depth - 1)})"
            case 2:
                return f"{self.pick('year', 'Month', 'day', 'weekday', 'hour', 'days')}({self.pick('when', 'until')})"
            case _:
                parts = [self.atom(depth - 1) for _ in range(self.rng.randint(2, 4))]
                signs = self.pick("+-", "*/")
                return "".join(f"{part} {self.rng.choice(signs)} " for part in parts[:-1]) + parts[-1]

    def atom(self, depth):
        if depth <= 0:
            return self.number(0)
        return f"({self.number(depth)})"

    def text(self):
        return self.pick("t", '"long name"')

    def quoted(self):
        return "'" + self.rng.choice(TEXTS).replace("'", "''") + "'"

    def condition(self, depth):
        if depth <= 0 or self.rng.random() < 0.3:
            return self.leaf(depth)
        match self.rng.randrange(4):
            case 0:
                return f"not ({self.condition(depth - 1)})"
            case 1:
                return f"({self.condition(depth - 1)}) {self.pick('=', '<>')} {self.pick('true', 'false')}"
            case _:
                parts = [f"({self.condition(depth - 1)})" for _ in range(self.rng.randint(2, 4))]
                return f" {self.pick('and', 'OR')} ".join(parts)

    def leaf(self, depth):
        compared = self.pick("=", "<>", "!=", "<", "<=", ">", ">=")
        negated = self.pick("", "not ")
        match self.rng.randrange(12):
            case 0:
                return self.pick("b", "c", "not b", "true", "false", "b = c", "b <> c", "c = true", "false = b")
            case 1:
                return f"{self.text()} {self.pick('=', '<>')} {self.quoted()}"
            case 2:
                return f"{self.text()} {negated}in ({', '.join(self.quoted() for _ in range(self.rng.randint(1, 4)))})"
            case 3:
                return self.pick('t = "long name"', 't <> "long name"', "'a' = t", "'a' = 'a'", "'a' in ('b')")
            case 4:
                return f"{self.pick('when', 'until')} {compared} {self.pick(*MOMENTS, 'until')}"
            case 5:
                return f"{self.pick('x', 't', 'b', 'when', self.number(depth))} is {negated}null"
            case 6:
                items = ", ".join(self.rng.choice(LITERALS) for _ in range(self.rng.randint(1, 4)))
                return f"{self.number(depth)} {negated}in ({items})"
            case 7:
                return f"{self.number(depth)} {negated}between {self.number(0)} and {self.number(depth)}"
            case 8:
                return f"when {negated}between {self.pick(*MOMENTS)} and {self.pick(*MOMENTS)}"
            case _:
                return f"{self.number(depth)} {compared} {self.number(depth - 1)}"

    def expression(self):
        depth = self.rng.randint(0, 3)
        return self.condition(depth) if self.rng.random() < 0.7 else self.number(depth)


def make_expressions(rng, count, most=600):
    """Random expressions, none of which takes an engine long."""
    from inbounds.tables.expressions.weight import weigh

    writer, made = Writer(rng), []
    while len(made) < count:
        try:
            expression = parse(writer.expression(), KINDS)
        except ExpressionError as error:
            if not any(word in str(error) for word in ("parts", "nested", "too many products", "must use a column")):
                raise
            continue
        if weigh(expression.tree) <= most:
            made.append(expression)
    return made


def rename(table):
    """The table with plain names, as an engine is handed it: not every one takes every name."""
    return table.rename(COLUMN_NAMES)


COLUMN_NAMES = {name: f"v{i}" for i, name in enumerate(KINDS)}
VALUES = {name: nw.col(column) for name, column in COLUMN_NAMES.items()}


def prepare(name):
    """A column as an engine would prepare it."""
    column = VALUES[name]
    return column.cast(nw.Float64).fill_nan(None) if KINDS[name] in ("number", "time") else column


def show(found):
    """A value with all of its bits; NaN and NA are how pandas says missing."""
    if found is None or found is pd.NA or found != found:
        return None
    return float(found).hex() if isinstance(found, float) else bool(found)


def check(native, expressions, table, *, tamed=False):
    """An engine's answers, for all expressions at once, next to the reference's. ``native`` is a renamed table.

    With ``tamed`` columns of numbers are there once more, as tables are read in DuckDB.
    """
    frame = nw.from_native(native).with_columns(*(prepare(name) for name in KINDS if KINDS[name] in ("number", "time")))
    values, more = VALUES, {}
    if tamed:
        names = {name: f"{column}_tamed" for name, column in COLUMN_NAMES.items() if KINDS[name] == "number"}
        doubles = {made: VALUES[name].fill_null(math.nan) for name, made in names.items()}
        frame = frame.with_columns(**doubles).with_columns(**{made: tame_column(nw.col(made)) for made in doubles})
        more = {"tamed": {name: nw.col(made) for name, made in names.items()}}
    columns = {}
    for i, one in enumerate(expressions):
        if one.kind == "boolean" and i % 2:
            conditions = is_true(one, values, **more), is_false(one, values, **more)
            # What is null is false there.
            columns[f"t{i}"], columns[f"f{i}"] = (one.fill_null(False) for one in conditions)
        else:
            columns[f"r{i}"] = to_narwhals(one, values, **more)
    frame = frame.with_columns(**columns).select("row", *columns)
    found = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    answers = {int(row["row"]): row for row in found.iter_rows(named=True)}
    assert len(answers) == len(table)
    rows = {row["row"]: row for row in table.iter_rows(named=True)}
    return [
        f"{one.text} | {rows[number]} | expected {want}, found {got}"
        for i, one in enumerate(expressions)
        for number, answer in answers.items()
        if (got := _read(answer, i)) != (want := show(evaluate(one, rows[number])))
    ]


def _read(answer, i):
    if f"r{i}" in answer:
        return show(answer[f"r{i}"])
    true, false = answer[f"t{i}"], answer[f"f{i}"]
    assert {true, false} <= {True, False}
    return "both" if true and false else True if true else False if false else None


def sample(seed, rows, count, most=600):
    """Rows with their numbers, and expressions."""
    rng = random.Random(seed)
    return make_rows(rng, rows).with_row_index("row").cast({"row": pl.Int64}), make_expressions(rng, count, most)
