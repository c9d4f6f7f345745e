"""Counting in Dask part by part: each part is a table in memory, which Polars counts; only its sums are sent back.

The same query, written for Dask itself, takes about a hundred tasks for every part, and seconds to plan. Here it is one
task. It needs this package where Dask's workers run. Without it, and for columns of Python objects, nothing is counted
here, and the query goes to Dask as to any other engine.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from inbounds.errors import DataError

if TYPE_CHECKING:
    from inbounds.tables.engine import Plan
    from inbounds.tables.sources import Frame


def count_parts(frame: "Frame", plans: Sequence["Plan"]) -> list[Any] | None:
    """The answers to some queries, a row for each cell of each part; None where parts cannot be counted."""
    import narwhals as nw
    import polars as pl

    native: Any = frame.to_native()
    kinds = dict(native.dtypes)
    if any(kind == object for kind in kinds.values()):  # noqa: E721
        return None
    from dask.base import compute
    from dask.delayed import delayed

    try:
        tasks = [delayed(_count, pure=False)(part, plans, kinds) for part in native.to_delayed()]
        answers = compute(*tasks)  # type: ignore[no-untyped-call]
    except (DataError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:
        # Its message might quote a value. If the query that follows fails, it does so for its own reasons.
        return None
    if not answers:
        return None
    return [nw.from_native(pl.concat([answer[i] for answer in answers])) for i in range(len(plans))]


def _count(part: Any, plans: Sequence["Plan"], kinds: dict[str, Any]) -> list[Any]:
    """The answers of one part."""
    import narwhals as nw
    import polars as pl

    if dict(part.dtypes) != kinds:
        raise TypeError("a part has columns of other types")
    table = nw.from_native(pl.from_pandas(part)).lazy()
    queries: list[Any] = [plan.query(table).to_native() for plan in plans]
    return list(pl.collect_all(queries))
