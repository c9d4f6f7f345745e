"""Counting in Dask part by part: each is a table in memory, which Polars counts, and only its sums are sent back.

The same query, written for Dask itself, is some hundred tasks for every part, and takes seconds to plan. This way is
one task. It needs this package where Dask's workers run; where that is not so, and for columns of Python objects,
nothing is counted here, and the query is put to Dask as to any other engine.
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
        found = compute(*tasks)  # type: ignore[no-untyped-call]
    except (DataError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:
        # Its words might quote a value. The query that follows fails for reasons of its own, if it does.
        return None
    if not found:
        return None
    return [nw.from_native(pl.concat([one[i] for one in found])) for i in range(len(plans))]


def _count(part: Any, plans: Sequence["Plan"], kinds: dict[str, Any]) -> list[Any]:
    """The answers of one part."""
    import narwhals as nw
    import polars as pl

    if dict(part.dtypes) != kinds:
        raise TypeError("a part has columns of other types")
    table = nw.from_native(pl.from_pandas(part)).lazy()
    queries: list[Any] = [plan.query(table).to_native() for plan in plans]
    return list(pl.collect_all(queries))
