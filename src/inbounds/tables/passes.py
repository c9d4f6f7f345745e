"""Which requests are counted in one pass over a table, and what each of them gets of its answer."""

import math
from collections.abc import Sequence

from inbounds.tables.answers import Cell, Cells, add_cells
from inbounds.tables.request import Request

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
