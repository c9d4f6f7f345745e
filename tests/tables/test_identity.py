"""Ids as text: one to one, by what Python calls equal, by the bytes of a field, and in a column as one by one."""

import copy
import datetime
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inbounds.tables import text_files
from inbounds.tables.csv_files import count_undecodable, scan
from inbounds.tables.formats import Format
from inbounds.tables.identity import mark_text, write_field, write_id, write_numbers, write_times
from inbounds.tables.schema import Levels, Operand
from inbounds.tables.text_files import File, Letters, is_text
from inbounds.tables.untyped import from_objects

ID = Operand("id", "id")
DOUBLES = st.floats(allow_nan=False)
NUMBERS = st.one_of(
    st.integers(),
    st.integers(-(2**70), 2**70),
    DOUBLES,
    st.booleans(),
    st.fractions(),
    st.decimals(allow_nan=False),
    st.integers(0, 3000).map(lambda places: 10**places),
    st.integers(-5000, 5000).map(lambda places: Decimal(f"1e{places}")),
    st.builds(lambda a, b: a * Fraction(1, b), st.integers(-9, 9), st.sampled_from([1, 2, 4, 5, 10, 3, 2**60, 10**20])),
    st.builds(complex, st.integers(-2, 2), st.integers(-1, 1)),
)
TEXTS = st.text(st.characters(codec=None, categories=None), max_size=4) | st.sampled_from(
    ["", "\0", "\0\0", "\0n1", "1"]
)
PLAIN = NUMBERS | TEXTS | st.binary(max_size=3) | st.dates() | st.uuids() | st.none()
NESTED = st.recursive(
    PLAIN, lambda parts: st.tuples(parts) | st.tuples(parts, parts) | st.frozensets(parts, max_size=2)
)


def same(a, b):
    """Whether Python calls two ids equal; `==` of a complex number and an integer rounds, and its parts do not."""
    if isinstance(a, complex) and isinstance(b, complex):
        return a == b
    if isinstance(a, complex) or isinstance(b, complex):
        one, other = (a, b) if isinstance(a, complex) else (b, a)
        return not one.imag and same(one.real, other)
    return bool(a == b)


@pytest.mark.claim("identity")
@given(NESTED, NESTED)
def test_texts_are_equal_where_ids_are(a, b):
    assert (write_id(a) == write_id(b)) == same(a, b)
    write_id(a).encode()


@pytest.mark.claim("identity")
@given(NUMBERS, NUMBERS)
def test_numbers_are_compared_by_all_their_digits(a, b):
    assert (write_id(a) == write_id(b)) == same(a, b)


@pytest.mark.claim("identity")
@given(st.fractions() | st.integers(-(10**700), 10**700) | st.decimals(allow_nan=False, allow_infinity=False))
def test_a_number_in_every_spelling_is_one_id(number):
    exact = Fraction(number)
    spellings = [number, exact]
    if exact.denominator == 1:
        spellings += [int(exact), Decimal(int(exact))]
    if abs(exact) < 2**1000 and Fraction(float(exact)) == exact:
        spellings += [float(exact), np.float64(float(exact)), Decimal(float(exact))]
    assert len({write_id(spelling) for spelling in spellings}) == 1


@pytest.mark.claim("identity")
@given(st.binary(max_size=8), st.binary(max_size=8))
def test_fields_are_equal_where_their_bytes_are(a, b):
    assert (write_field(a) == write_field(b)) == (a == b)
    if is_text(a):
        assert write_field(a) == write_id(a.decode())


@pytest.mark.claim("identity")
@given(st.lists(st.none() | DOUBLES | st.just(math.nan)), st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)))
def test_columns_are_written_as_their_values(doubles, longs):
    for values, dtype in ((doubles, pl.Float64), (longs, pl.Int64)):
        expected = [None if value is None or value != value else write_id(value) for value in values]
        assert write_numbers(pl.Series("id", values, dtype=dtype)).to_list() == expected
    texts = pl.Series("id", ["", "a", "\0", "\0n1", None])
    marked = pl.DataFrame([texts]).select(mark_text(pl.col("id"))).to_series().to_list()
    assert marked == [None if text is None else write_id(text) for text in texts]


@pytest.mark.claim("identity")
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_times_of_columns_are_those_of_objects(unit):
    counts = [0, 1, -1, 10**12, None]
    moments = [None if count is None else np.datetime64(count, unit) for count in counts]
    expected = from_objects(moments, ID).to_list()
    assert write_times(pl.Series("id", counts, dtype=pl.Int64).cast(pl.Datetime(unit))).to_list() == expected
    days = [datetime.date(1, 1, 1), datetime.date(2020, 2, 29)]
    assert write_times(pl.Series("id", days)).to_list() == [write_id(day) for day in days]
    # The first of a month as months, as days and as seconds.
    for month in (-30_000, -1, 0, 1, 700):
        first = np.datetime64(month, "M")
        assert len({write_id(first.astype(f"M8[{one}]")) for one in ("M", "D", "s", "ms")}) == 1


class Unreadable:
    """An object that fails, and quotes itself."""

    def __eq__(self, other):
        raise RuntimeError("secret")

    __hash__ = None

    def __reduce_ex__(self, _):
        raise RuntimeError("secret")


class Point:
    """An object that is equal to others with the same parts."""

    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return type(self) is type(other) and self.x == other.x

    __hash__ = None


@pytest.mark.claim("identity")
def test_objects_are_compared_by_their_parts_or_by_themselves():
    one, circle = object(), []
    circle.append(circle)
    assert write_id(one) == write_id(one) != write_id(object())
    assert write_id(Point([1, 2])) == write_id(copy.deepcopy(Point([1, 2]))) != write_id(Point([1, 3]))
    # Nothing fails, and a row whose id cannot be read is a row without an id.
    found = from_objects([Unreadable(), circle, None, np.ma.masked, Decimal("sNaN"), "a"], ID)
    assert found.to_list() == [None] * 5 + ["a"]


# Files


@pytest.mark.claim("encodings")
@given(st.lists(st.binary(max_size=5), max_size=6))
def test_characters_are_found_wherever_blocks_end(blocks):
    letters = Letters()
    for block in blocks:
        letters.read(block)
    letters.end()
    try:
        b"".join(blocks).decode()
        valid = True
    except UnicodeDecodeError:
        valid = False
    assert letters.valid is valid


BAD = "city,x\nKöln,1\nK\udcf6ln,2\nK\udcfcln,3\n\udcf6,\udcf6\n"


@pytest.mark.claim("csv")
@pytest.mark.claim("identity")
@pytest.mark.parametrize("block", [7, 1 << 20])
def test_bytes_that_are_no_characters_are_ids_and_no_level(tmp_path, monkeypatch, block):
    """The other columns are what they were: text with U+FFFD, and numbers."""
    monkeypatch.setattr(text_files, "BLOCK", block)
    path = tmp_path / "t.csv"
    path.write_bytes(BAD.encode("utf-8", "surrogateescape"))
    columns = [Operand("city", "id"), Levels("city", ("Köln",), other="Köln"), Operand("x", "number")]
    rows = scan(str(path), columns).collect()
    assert rows["city\0id"].to_list() == ["Köln", "\0x4bf66c6e", "\0x4bfc6c6e", "\0xf6"]
    assert rows["city\0text"].to_list() == ["Köln", "K\ufffdln", "K\ufffdln", "\ufffd"]
    assert rows["x\0number"].to_list() == [1.0, 2.0, 3.0, None]
    assert count_undecodable(File(path, "the file")) == {"city": 3, "x": 1}


@pytest.mark.claim("identity")
def test_an_id_does_not_depend_on_the_bytes_of_another(tmp_path):
    """A file with a byte that is no character is read in another way, and its other ids are the same."""
    path, ids = tmp_path / "t.csv", ["a", "", "\0", "\0x00", "ü", "\uf6ff", "\U0010ffff", '"a,b"', "NA", "\0NA"]
    for more in (b"", b"\xff\n", b"\xed\xa0\x80\n"):
        path.write_bytes(b"id\n" + "".join(f"{one}\n" for one in ids).encode() + more)
        found = scan(str(path), [ID], written=Format(null_values=("NA", "\0"))).collect()["id\0id"].to_list()
        assert found[: len(ids)] == ["a", None, None, "\0\0x00", "ü", "\uf6ff", "\U0010ffff", "a,b", None, "\0\0NA"]
        assert len(set(found)) == len(ids) - 2 + bool(more)
