"""Computations with the numbers of a record, of which many may be equal."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from inbounds.privacy.certified import Bound


def clip(x: Fraction, bound: Bound) -> Fraction:
    """Clip a number to its bounds. A bound that is None is open."""
    lower, upper = bound
    x = x if lower is None else max(x, lower)
    return x if upper is None else min(x, upper)


def for_each(make: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
    """Call ``make`` for each row of some columns, but only once for rows of the same objects: often few rows differ."""
    made: dict[tuple[int, ...], Any] = {}
    result = []
    for row in zip(*columns, strict=True):
        # The columns keep their objects alive, so an id is unique here.
        same = tuple(map(id, row))
        if same not in made:
            made[same] = make(*row)
        result.append(made[same])
    return result
