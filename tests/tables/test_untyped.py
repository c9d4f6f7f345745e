"""Values of columns whose type was made from values: the same by every way, as the module's table has it."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inbounds.tables import untyped
from inbounds.tables.engine import Request, tally
from inbounds.tables.schema import Levels, Numeric, Quantised, quantise_column
from inbounds.tables.sources import read
from inbounds.tables.untyped import from_objects, text_as

NUMBER = Numeric.of("x", (0, 100), missing=50)
INTEGERS = Levels("x", (0, 1, 2, 7), other=7, missing=2)
BOOLEANS = Levels("x", (True, False), other=True, missing=False)
TEXTS = Levels("x", ("1", "1.5", "True", "a"), other="a", missing="1")
# Value -> what each rule makes of it; None is missing.
STRAY = "\0"
TABLE = [
    (None, None, None, None, None),
    (math.nan, None, None, None, None),
    (True, 1.0, 1.0, "true", "True"),
    (False, 0.0, 0.0, "false", "False"),
    (1, 1.0, 1.0, "true", "1"),
    (1.5, 1.5, 1.5, "no", "1.5"),
    (-0.0, 0.0, 0.0, "false", "0"),
    (2**53 + 1, 2.0**53, 2.0**53, "no", "9007199254740992.0"),
    (10**400, math.inf, math.inf, "no", "inf"),
    (Decimal("1.5"), 1.5, 1.5, "no", "1.5"),
    ("1", 1.0, 1.0, "true", "1"),
    (" 1e0\t", 1.0, 1.0, "true", " 1e0\t"),
    ("9007199254740993", 2.0**53, 2.0**53, "no", "9007199254740993"),
    ("-Infinity", -math.inf, -math.inf, "no", "-Infinity"),
    ("nan", None, None, None, "nan"),
    ("", None, None, None, ""),
    ("TRUE", 1.0, 1.0, "true", "TRUE"),
    ("False ", 0.0, 0.0, "false", "False "),
    ("tRuE", None, 0.5, "no", "tRuE"),
    ("١", None, 0.5, "no", "١"),
    ("0x1", None, 0.5, "no", "0x1"),
    ("1_000", None, 0.5, "no", "1_000"),
    (b"1", None, 0.5, "no", STRAY),
    ([1], None, 0.5, "no", STRAY),
    (np.datetime64("2020-01-01"), None, 0.5, "no", STRAY),
    (np.timedelta64(1, "D"), None, 0.5, "no", STRAY),
    (1j, None, 0.5, "no", STRAY),
    (np.datetime64("NaT"), None, None, None, None),
    (np.timedelta64("NaT"), None, None, None, None),
    (1 + 0j, 1.0, 1.0, "true", "1"),
    (complex("nan"), None, None, None, None),
]
RULES = [NUMBER, INTEGERS, BOOLEANS, TEXTS]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: repr(row[0])[:20])
def test_what_becomes_of_a_value(row):
    value, *expected = row
    assert [from_objects([value], column)[0] for column in RULES] == expected


@pytest.mark.parametrize("row", [row for row in TABLE if isinstance(row[0], str)], ids=lambda row: repr(row[0]))
def test_text_by_expression_is_as_by_object(row):
    value, *expected = row
    made = [text_as(pl.col("x"), column, blank=False) for column in RULES]
    assert [pl.DataFrame({"x": [value]}).select(one).to_series()[0] for one in made] == expected


WORDS = """true True TRUE false False FALSE tRue inf Inf -inf infinity -Infinity nan NaN +nan -nan nan(1) 1e400 -1e400
1e-400 1.7976931348623159e308 2.4e-324 0x10 0b1 1_000 1,000 1'000 1e 1e+ 1E5 .5 5. . + - +1 --1 +-1 007 9007199254740993
1d5 1f null None NA yes ٣ １ ½ 1.2.3 1e1e1 $1 1% infinit +true 1true""".split()  # noqa: SIM905
SPACES = st.sampled_from(["", "", " ", "\t", " \t ", "\n", "\r", "\v", "\0", "\u00a0", "\u3000", "\ufeff"])
NUMBERS = st.one_of(st.floats(), st.integers(-(10**30), 10**30), st.decimals(allow_nan=False)).map(str)
TOKENS = st.one_of(st.sampled_from(WORDS), NUMBERS, st.text("0159+-.eEinfat \t", max_size=6), st.text(max_size=3))
FIELDS = st.tuples(SPACES, TOKENS, SPACES).map("".join)


def as_blocks(fields, column):
    """Fields as a rule has them: in one block, and each in a block of its own."""
    expression = text_as(pl.col("x"), column, blank=False).alias("x")
    frame = pl.DataFrame({"x": fields}, schema={"x": pl.String})
    streamed = frame.lazy().select(expression).collect(engine="streaming")["x"].to_list()
    alone = [frame[i : i + 1].select(expression)["x"][0] for i in range(len(fields))]
    return [frame.select(expression)["x"].to_list(), streamed, alone]


@given(st.lists(st.one_of(st.none(), FIELDS), min_size=1, max_size=8))
@settings(max_examples=100, deadline=None)
def test_the_fields_of_a_block_do_not_change_each_other(fields):
    """A block of numbers is read in one step, and others field by field: the same as by objects, one by one."""
    for column in RULES:
        expected = from_objects(fields, column).to_list()
        for found in as_blocks(fields, column):
            assert [repr(one) for one in found] == [repr(one) for one in expected]


def test_words_are_looked_for_only_in_blocks_that_may_have_them(monkeypatch):
    """Words and spaces take four times as long as numbers."""
    blocks = []

    def read_words(text, kind, *, as_it_is=untyped._read_words):
        blocks.append(kind)
        return as_it_is(text, kind)

    monkeypatch.setattr(untyped, "_read_words", read_words)
    for column in RULES[:3]:
        assert as_blocks(["1", "0", None, "1e0"], column)[0] == as_blocks([" 1", "False", None, "1"], column)[0]
    as_blocks(["1", "-2.5e3", None], NUMBER)
    assert blocks == [kind for kind in ("number", "integer", "boolean") for _ in range(4)]


def cells(values, column):
    request = Request((column,)) if isinstance(column, Levels) else Request((), (Quantised(column, 100),))
    return tally(read({"x": values}, [column]), [request])


@pytest.mark.parametrize("column", RULES, ids=["number", "integers", "booleans", "texts"])
@pytest.mark.parametrize(
    "values", [[1, 0, 1], [1.0, 1.5, math.nan], [True, False], [1, 2**53 - 1], ["1", "a"]], ids=repr
)
def test_one_text_among_others_moves_them_nowhere(values, column):
    """In whatever a library makes of the values: integers, doubles, booleans, text, objects, chunks of both."""
    expected = cells([*values, object()], column)
    objects = pd.Series([*values, object()], dtype=object)
    assert cells(objects, column) == expected
    assert cells(pd.Series([*values, None], dtype=object), column) == cells([*values, None], column)
    # pandas reads a file by chunks: the one that holds a text is all text.
    written = [str(int(one)) if isinstance(one, float) and one.is_integer() else str(one) for one in values]
    chunk = [None if text == "nan" else text for text in written]
    assert cells(pd.Series([*chunk, object()], dtype=object), column) == expected
    assert cells(np.array([*values, object()], dtype=object), column) == expected


@pytest.mark.parametrize("kind", ["int64", "Int64", "uint64", "float64", "object", "int64[pyarrow]", "category"])
def test_integers_beyond_two_to_the_53_are_the_same_in_every_type(kind):
    """A histogram, and sums between bounds far from 0: never by type."""
    values = [2**53 - 1, 2**53 + 1, 2**60 + 1, 2**61 - 1]
    levels = Levels("x", (2**53 - 1, 7), other=7, missing=7)
    wide = Numeric.of("x", (0, 2**62), missing=0)
    doubles = [float(value) for value in values]
    for column in (levels, wide):
        assert cells(pd.Series(values, dtype=kind), column) == cells(doubles, column)
    with pytest.raises(ValueError, match="subtract a constant from the column and from its bounds"):
        quantise_column(Numeric.of("x", (2**60, 2**60 + 1000)), resolution=1000)
