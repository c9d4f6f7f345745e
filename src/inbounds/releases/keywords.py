"""Keywords that the functions of this room share, explained once and shown in the help of each."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

_MEANINGS = {
    "data": "A table (pandas, Polars, PyArrow, a dictionary of columns), or one column: a list, an array, a Series.",
    "column": "The column of the table.",
    "bounds": "Smallest and largest value that a record may hold, known without looking at the data; others are "
    "clipped. For several columns a dictionary: {'age': (0, 100), 'bmi': (10, 60)}.",
    "levels": "The values that a column may hold, known without looking at the data.",
    "edges": "Ends of intervals, known without looking at the data.",
    "epsilon": "What is spent; written decimals are taken as such (0.1 is 1/10).",
    "missing": "What a missing value counts as; without it a table with missing values is refused.",
    "other": "The level of values that are none of the levels; without it a table that has some is refused.",
    "by_missing": "The group of records whose group is missing.",
    "integer": "Declares whole numbers, which are then counted in steps of one. The type of a column decides nothing: "
    "one record may change it.",
    "bounding": "'bit' (clamp) or 'truncated' (renormalise, at the scale that it really needs).",
    "neighbours": "'substitute': a record takes another value, and the number of rows is public. 'add-remove': a "
    "record comes or goes, and the number of rows is protected.",
    "contributions": "How many records one person may have; then the guarantee is for persons.",
    "rows": "States the public number of rows; a table of another size is refused.",
    "ledger": "Where it is accounted for: a ledger's file, or inbounds.ledger.Account to name the dataset. "
    "The charge is made before the data are read; the same release again is the stored one, free of charge.",
    "denominator": "A fixed public number to divide by, for 'add-remove'.",
}


def explained(function: _Function) -> _Function:
    """The function, with its shared keywords explained in its help."""
    lines = []
    for name in inspect.signature(function).parameters:
        if name in _MEANINGS:
            lines += [f"    {name}", *(f"        {line}" for line in _wrapped(_MEANINGS[name]))]
    head = (function.__doc__ or "").rstrip()
    function.__doc__ = "\n".join([head, "", "    Parameters", "    ----------", *lines, "    "])
    return function


def _wrapped(text: str) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > 100:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines
