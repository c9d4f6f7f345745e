"""What rules do with records, counted for the curator: the same numbers on every engine, against counting by hand."""

import polars as pl
import pytest

from inbounds.tables.schema import Edges, Levels, Numeric
from inbounds.tables.sources import read
from inbounds.tables.strays import Strays, count_strays, probes
from tests.engines import places
from tests.engines.test_same_integers import made

TABLE = pl.DataFrame(
    {
        "x": [1.0, None, float("nan"), -5.0, 10.0, 10.5, float("inf"), float("-inf"), 0.0, 5.0],
        "k": [1, 2, None, 3, 9, 1, 1, 2, -4, None],
        "city": ["a", "b", None, "A", "c ", "a", "b", "", None, "a"],
    }
)
COLUMNS = [
    Numeric.of("x", (0, 10)),
    Edges.of("x", [0, 5, 10], missing=5),
    Levels("k", (1, 2), other=2),
    Levels("city", ("a", "b")),
    Numeric.of("k", (1, 3), integer=True),
]
EXPECTED = [(2, 0, 2, 2, 0), (2, 0, 2, 2, 0), (2, 0, 0, 0, 3), (2, 0, 0, 0, 3), (2, 0, 1, 1, 0)]


def figures(strays):
    return [(one.missing, one.unreadable, one.below, one.above, one.other) for one in strays]


@pytest.mark.claim("strays")
@pytest.mark.parametrize("engine", places.ENGINES)
def test_strays_on_every_engine(engine):
    frame = read(made(engine, TABLE, 3), [*COLUMNS, *probes(COLUMNS)])
    found = count_strays(frame, COLUMNS)
    assert figures(found) == EXPECTED
    assert {one.met for one in found} == {len(TABLE)}


@pytest.mark.claim("strays")
def test_strays_of_columns_without_types():
    """Texts that are no numbers are told from missing values."""
    data = {"x": ["1", None, "", "nan", "x", "11", -2, b"3", " 4 ", "TRUE"]}
    columns = [Numeric.of("x", (0, 10)), Levels("x", (1, 4), missing=1)]
    (number, level) = count_strays(read(data, [*columns, *probes(columns)]), columns)
    assert number == Strays(columns[0], missing=5, unreadable=4, below=1, above=1, met=10)
    assert (level.missing, level.other) == (3, 4)
    none = count_strays(read({"x": []}, [*columns, *probes(columns)]), columns)
    assert figures(none) == [(0, 0, 0, 0, 0)] * 2
    assert [one.met for one in none] == [0, 0]
