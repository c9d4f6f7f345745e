"""Keywords that release functions share, explained once and shown in the help of each."""

import inspect
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar, get_args

from inbounds import _types

_Function = TypeVar("_Function", bound=Callable[..., Any])

_MEANINGS = {
    "data": "A table (pandas, Polars, PyArrow, DuckDB, Spark, Dask, Ibis, a dictionary of columns), the path of a CSV, "
    "Parquet or Excel file or, where one column is enough, a list, an array or a Series.",
    "column": "The column of the table.",
    "bounds": "Smallest and largest value that a record may hold, known without looking at the data; others are "
    "clipped.",
    "level": "The level to count.",
    "levels": "The values that a column may hold, known without looking at the data; with `by`, the groups.",
    "edges": "Ends of intervals, known without looking at the data.",
    "bins": "How many intervals of equal width there are between the bounds of a column.",
    "by": "The column of the groups.",
    "epsilon": "What is spent; decimals are taken as written (0.1 is 1/10).",
    "missing": "What a missing value counts as; without it a table with missing values is refused.",
    "other": "The level of values that are none of the levels; without it a table that has some is refused.",
    "by_missing": "The group of records whose group is missing.",
    "integer": "Declares whole numbers, which are then counted in steps of one. The type of a column decides nothing: "
    "one record may change it.",
    "repair": "How noisy numbers are made possible ones; see above.",
    "method": "How the noise is drawn; see above.",
    "plausible": "Where the truth may lie, as far as that is known without looking at the data; it chooses the method.",
    "derived": "The level whose share is what the others leave of one.",
    "tree": "The levels in nested groups, for a repair by a tree; without it two levels of neighbours.",
    "level_shares": "The shares of epsilon that the levels of the tree have, from the top, as numbers in proportion: "
    "(43, 57). Without them equal ones, and those that are best for ranges if no tree is given.",
    "sizes": "The number of rows of each group, where that is public and no record changes its group.",
    "bounding": '`"bit"` (clamp) or `"truncated"` (renormalise, at the scale that it really needs).',
    "neighbours": '`"substitute"`: a record takes another value, and the number of rows is public. `"add-remove"`: '
    "a record comes or goes, and the number of rows is protected.",
    "contributions": "How many records one person may have; then the guarantee is for persons.",
    "rows": "States the public number of rows; a table of another size is refused.",
    "ledger": "Where it is accounted for: a ledger's file, or an `inbounds.ledger.Account`, which names the dataset. "
    "The charge is made before the data are read; the same release again is the stored one, free of charge.",
    "denominator": 'A fixed public number to divide by, for `"add-remove"`.',
}
# Types as they stand in signatures -> the same in words.
_TYPES = {
    "Data": "table, or the values of one column",
    "Table": "table",
    "Number": "number",
    "Bounds": "(number, number)",
    "Mapping[str, Bounds]": "dict of (number, number) by column",
    "Mapping[str, Number]": "dict of numbers by column",
    "Level": "str, int or bool",
    "Levels": "list of levels",
    "Mapping[str, Levels]": "dict of lists of levels by column",
    "Mapping[str, Level]": "dict of levels by column",
    "Level | Number": "level or number",
    "Mapping[str, Level | Number]": "dict of levels or numbers by column",
    "Mapping[Level, int]": "dict of numbers of rows by level",
    "Edges": "list of numbers",
    "Sequence[Number]": "list of numbers",
    "Mapping[str, Edges]": "dict of lists of numbers by column",
    "Tree": "nested lists of levels",
    "Collection[str]": "names of columns",
    "Ledger": "path or Account",
    "PlausibleSpread": "dict of mean and sd, each a number or (low, high)",
    **{
        name: "{" + ", ".join(map(repr, get_args(choices))) + "}"
        for name, choices in {
            "Bounding": _types.Bounding,
            "CountRepair": _types.CountRepair,
            "HistogramRepair": _types.HistogramRepair,
            "MatrixRepair": _types.MatrixRepair,
            "SpreadMethod": _types.SpreadMethod,
            "Method": _types.Method,
            "Neighbours": _types.Neighbours,
            "ShareRepair": _types.ShareRepair,
        }.items()
    },
}
_ENDING = """
Returns
-------
Release
    The value with its certificate, error and intervals.

Raises
------
TypeError, ValueError
    For arguments that are missing, of another kind or cannot be combined; nothing is spent.
DataError
    For a table that its rules refuse; the message holds no data.
BudgetRefused
    Where the ledger's limit would be exceeded; nothing is spent.
"""


def explain(function: _Function) -> _Function:
    """The function, with its keywords, result and errors in its help."""
    lines = ["Parameters", "----------"]
    for name, keyword in inspect.signature(function).parameters.items():
        meaning = textwrap.wrap(_MEANINGS[name], 112, initial_indent="    ", subsequent_indent="    ")
        lines += [f"{name} : {_describe_type(keyword)}", *meaning]
    summary, _, example = inspect.cleandoc(function.__doc__ or "").partition("\n>>> ")
    parts = [summary.rstrip(), "\n".join(lines), _ENDING.strip()]
    if example:
        parts.append(f"Examples\n--------\n>>> {example}")
    function.__doc__ = "\n\n".join(parts) + "\n"
    return function


def _describe_type(keyword: inspect.Parameter) -> str:
    """What may be given for a keyword, in words, and what it is without."""
    kind = str(keyword.annotation).removesuffix(" | None")
    words = _TYPES.get(kind, kind)
    if keyword.default is inspect.Parameter.empty:
        return words
    return f"{words}, optional" if keyword.default in (None, ()) else f"{words}, default {keyword.default!r}"
