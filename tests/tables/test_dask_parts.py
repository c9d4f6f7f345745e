"""Dask is counted part by part where that is possible, and as any other engine where it is not: the same integers."""

import polars as pl
import pytest

from inbounds.tables import dask_parts, engine
from inbounds.tables.engine import Request, tally
from inbounds.tables.schema import Levels, Numeric, quantise_column
from inbounds.tables.sources import read

dd = pytest.importorskip("dask.dataframe")

TABLE = pl.DataFrame({"x": [1.0, None, 9.5, float("nan"), 4.0] * 5, "g": ["a", "b", None, "a", "c"] * 5})
X = quantise_column(Numeric.of("x", (0, 8), missing=2), resolution=1000)
G = Levels("g", ("a", "b"), other="a", missing="b")
REQUESTS = [Request((G,), (X,), True), Request((), (X,))]


def count(monkeypatch, frame, counting=dask_parts.count_parts):
    """What is counted, and whether it was by parts."""
    by_parts = []

    def see(*given):
        by_parts.append(counting(*given))
        return by_parts[-1]

    monkeypatch.setattr(engine, "count_parts", see)
    found = tally(read(frame, [X.column, G]), REQUESTS)
    return found, [one is not None for one in by_parts]


@pytest.mark.claim("tally")
def test_parts_of_dask_are_counted_by_themselves(monkeypatch):
    frame = dd.from_pandas(TABLE.to_pandas(), npartitions=4)
    expected = tally(read(TABLE, [X.column, G]), REQUESTS)
    assert count(monkeypatch, frame) == (expected, [True])


@pytest.mark.claim("tally")
def test_where_parts_cannot_be_counted_dask_is_asked(monkeypatch):
    """As where a worker cannot import this package: the task fails, and nothing of it is heard of."""
    frame = dd.from_pandas(TABLE.to_pandas(), npartitions=2)
    expected = tally(read(TABLE, [X.column, G]), REQUESTS)

    def fail(*_):
        raise ModuleNotFoundError("c")

    monkeypatch.setattr(dask_parts, "_count", fail)
    assert count(monkeypatch, frame) == (expected, [False])


def test_a_part_with_other_types_is_not_counted():
    part = TABLE.to_pandas()
    with pytest.raises(TypeError, match="other types"):
        dask_parts._count(part, [], {**dict(part.dtypes), "x": "int64"})
