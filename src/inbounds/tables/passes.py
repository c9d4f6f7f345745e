"""Which requests are counted in one pass over a table, and what each of them gets of its answer."""

import math
from collections.abc import Sequence

from inbounds.tables.answers import Cell, Cells, add_cells
from inbounds.tables.request import Product, Request
from inbounds.tables.schema import DataError, Quantised

# More cells than this are counted in passes of their own.
_MOST_CELLS = 1 << 16


# Keys of one pass: Dask fails to group by ten.
MOST_KEYS, MOST_DASK_KEYS = 50, 6


def merge(requests: Sequence[Request], most_keys: int = MOST_KEYS) -> list[Request]:
    """Requests that hold all of them, one where that has not too many cells: each is a pass over the table."""
    passes: list[list[Request]] = []
    for request in requests:
        room = next((place for place in passes if _fit([*place, request], most_keys)), None)
        if room is None:
            passes.append([request])
        else:
            room.append(request)
    return [union(place) for place in passes]


def _fit(requests: Sequence[Request], most_keys: int) -> bool:
    """Whether requests can be counted in one pass: with not too many cells, nor keys."""
    keys = dict.fromkeys(key for request in requests for key in request.by)
    return len(keys) <= most_keys and math.prod(key.cells for key in keys) <= _MOST_CELLS


def union(requests: Sequence[Request]) -> Request:
    if len(requests) == 1:
        return requests[0]
    keys = tuple(dict.fromkeys(key for request in requests for key in request.by))
    sums = tuple(dict.fromkeys(quantised for request in requests for quantised in request.sums))
    return Request(keys, sums, some=tuple(dict.fromkeys(pair for request in requests for pair in request.pairs)))


def _holds(whole: Request, part: Request) -> bool:
    return all(set(b) <= set(a) for a, b in ((whole.by, part.by), (whole.sums, part.sums), (whole.pairs, part.pairs)))


def answer_part(queries: Sequence[Request], results: Sequence[Cells], request: Request) -> Cells:
    """A request's own answer, out of what was asked: margins are added up."""
    if request in queries:
        return results[queries.index(request)]
    whole, cells = next((w, c) for w, c in zip(queries, results, strict=True) if _holds(w, request))
    keys = [whole.by.index(key) for key in request.by]
    sums = [whole.sums.index(quantised) for quantised in request.sums]
    number = {pair: i for i, pair in enumerate(whole.pairs)}
    pairs = [number[pair] for pair in request.pairs]
    result: dict[tuple[int, ...], Cell] = {}
    for place, (count, all_sums, all_pairs) in cells.items():
        margin = tuple(place[i] for i in keys)
        cell = count, tuple(all_sums[i] for i in sums), tuple(all_pairs[i] for i in pairs)
        result[margin] = add_cells(result[margin], cell) if margin in result else cell
    return result


# Columns of a block: one query counts their products with another block.
_BLOCK, _GROUPED_BLOCK = 20, 8


def split(request: Request) -> list[Request]:
    """Requests for blocks of the products of a request, which together count all that it does.

    Polars holds digits of all columns while it adds up, and every product as a column while it groups rows.
    """
    size = _GROUPED_BLOCK if request.by else _BLOCK
    if len(request.pairs) <= size**2:
        return [request]
    block = {quantised: i // size for i, quantised in enumerate(request.sums)}
    blocks: dict[tuple[int, int], list[Product]] = {}
    for pair in request.pairs:
        blocks.setdefault((block[pair.first], block[pair.second]), []).append(pair)
    parts = [Request(request.by, _factors(pairs), some=tuple(pairs)) for pairs in blocks.values()]
    counted = {quantised for part in parts for quantised in part.sums}
    others = tuple(quantised for quantised in request.sums if quantised not in counted)
    return [*parts, Request(request.by, others)] if others else parts


def _factors(pairs: Sequence[Product]) -> tuple[Quantised, ...]:
    return tuple(dict.fromkeys(quantised for pair in pairs for quantised in (pair.first, pair.second)))


def join(request: Request, parts: Sequence[Request], results: Sequence[Cells]) -> Cells:
    """The answer to a request from the answers to its `split` parts."""
    if len(parts) == 1:
        return results[0]
    if any(_counts(cells) != _counts(results[0]) for cells in results[1:]):
        raise DataError("the table changed while it was read; release it again when nobody writes to it")
    sums = {quantised: (i, j) for i, part in enumerate(parts) for j, quantised in enumerate(part.sums)}
    pairs = {pair: (i, j) for i, part in enumerate(parts) for j, pair in enumerate(part.pairs)}
    sum_places, pair_places = [sums[one] for one in request.sums], [pairs[one] for one in request.pairs]
    return {
        where: (
            count,
            tuple(results[i][where][1][j] for i, j in sum_places),
            tuple(results[i][where][2][j] for i, j in pair_places),
        )
        for where, count in _counts(results[0]).items()
    }


def _counts(cells: Cells) -> dict[tuple[int, ...], int]:
    return {where: cell[0] for where, cell in cells.items()}
