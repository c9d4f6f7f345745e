"""A table with everything that engines disagree about, in all in-memory engines."""

from decimal import Decimal
from itertools import pairwise

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from inbounds.tables.schema import ELSEWHERE, Edges, Levels, Numeric

ROWS = 600


def messy(rows=ROWS, seed=0):
    """Nulls, NaN, ±inf, 1e300, int8, unsigned, float32, decimals, booleans, text, integers as levels."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(50, 40, rows).tolist()
    numbers[:9] = [float("nan"), float("inf"), -float("inf"), 1e300, -1e300, None, -0.0, 5e-324, 100.0]
    text = [None if i % 13 == 0 else "nsewq"[i % 5] for i in range(rows)]
    cents = [Decimal(int(x)).scaleb(-2) for x in rng.integers(0, 10_000, rows)]
    return pl.DataFrame(
        {
            "number": pl.Series(numbers, dtype=pl.Float64),
            "tiny": pl.Series(rng.integers(-128, 128, rows), dtype=pl.Int8),
            "large": pl.Series((rng.integers(0, 7, rows) + 2**53 - 3).tolist(), dtype=pl.Int64),
            "unsigned": pl.Series(rng.integers(0, 2**32, rows), dtype=pl.UInt32),
            "single": pl.Series(rng.normal(0, 1, rows), dtype=pl.Float32),
            "money": pl.Series(cents, dtype=pl.Decimal(10, 2)),
            "yes": pl.Series([None if i % 11 == 0 else bool(i % 3) for i in range(rows)]),
            "region": pl.Series(text),
            "kind": pl.Series([None if i % 17 == 0 else i % 4 for i in range(rows)], dtype=pl.Int64),
        }
    )


NUMBERS = [
    Numeric.of("number", (0, 100), missing=50),
    Numeric.of("tiny", (-100, 100), integer=True),
    Numeric.of("large", (2**53 - 6, 2**53)),
    Numeric.of("unsigned", (0, 2**31), integer=True),
    Numeric.of("single", (-0.7, 1.5)),
    Numeric.of("money", (0, 80)),
    Numeric.of("yes", (0, 1), missing=0),
]
KEYS = [
    Levels("region", ("n", "s", "e", "w"), other="w", missing="n"),
    Levels("kind", (0, 1, 2), other=ELSEWHERE, missing=ELSEWHERE),
    Edges.of("number", [0, 10, 20.5, 100], missing=3),
    Levels("yes", (True, False), missing=True),
]


def classic_pandas(table):
    """NumPy types: integers with a missing value become floats, booleans objects, decimals floats."""
    return pd.DataFrame(
        {name: pd.Series(table[name].to_list(), dtype=_numpy_type(table[name])) for name in table.columns}
    )


def _numpy_type(series):
    if series.dtype == pl.Decimal:
        return "float64"
    if series.dtype == pl.String or series.has_nulls():
        return "float64" if series.dtype.is_numeric() else object
    return str(series.dtype).lower().replace("boolean", "bool")


def engines(table):
    """The table as users of each engine have it."""
    return {
        "polars": table,
        "polars lazy": table.lazy(),
        "pandas": classic_pandas(table),
        "pandas on arrow": table.to_pandas(use_pyarrow_extension_array=True),
        "pyarrow": table.to_arrow(),
        "dictionary of lists": table.to_dict(as_series=False),
        "dictionary of series": table.to_dict(),
    }


def natively(table):
    """Frames that are left to their own engine, as distributed ones are."""
    # PyArrow refuses to cast an integer beyond 2^53; none of the frames that are read by name is left to it.
    table = table.with_columns(pl.col("^large$").clip(upper_bound=2**53))
    nullable = table.to_pandas(use_pyarrow_extension_array=True)
    return {"pandas on arrow": nw.from_native(nullable), "pyarrow": nw.from_native(table.to_arrow())}


def partitioned(table, parts):
    """The rows in so many chunks."""
    edges = np.linspace(0, len(table), parts + 1).astype(int)
    pieces = [table[int(a) : int(b)] for a, b in pairwise(edges)]
    return {
        "polars": pl.concat(pieces, rechunk=False),
        "polars lazy": pl.concat([piece.lazy() for piece in pieces], rechunk=False),
        "pyarrow": pa.concat_tables([piece.to_arrow() for piece in pieces]),
    }
