"""Numbers of a record, one by one or many alike."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from inbounds.privacy.certified import Bound


def clip(x: Fraction, bound: Bound) -> Fraction:
    lower, upper = bound
    x = x if lower is None else max(x, lower)
    return x if upper is None else min(x, upper)


def for_each(make: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
    """``make`` of each row of some columns, worked out once for rows of the same objects: of a million, few differ."""
    made: dict[tuple[int, ...], Any] = {}
    result = []
    for row in zip(*columns, strict=True):
        # Objects of the columns outlive this function, so that an id belongs to one of them.
        same = tuple(map(id, row))
        if same not in made:
            made[same] = make(*row)
        result.append(made[same])
    return result
