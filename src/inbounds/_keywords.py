"""Keywords that release functions share. They are explained once, here, and shown in the help of each function."""

import difflib
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import wraps
from typing import Any, TypeVar, get_args

from inbounds import _types
from inbounds._text import shorten
from inbounds.errors import LONGEST, FileError

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type)

_MEANINGS = {
    "data": "A table (pandas, Polars, PyArrow, DuckDB, Spark, Dask, Ibis, a dictionary of columns), the path of a CSV, "
    "Parquet or Excel file or, for a statistic of one column, a list, an array or a Series.",
    "column": "The name of the column in the table.",
    "bounds": "The smallest and the largest value that a record may have, known without looking at the data. Values "
    "outside are clipped.",
    "level": "The level to count.",
    "levels": "The values that a column may have, known without looking at the data. With `by`, the groups.",
    "edges": "The ends of the intervals, in increasing order, known without looking at the data.",
    "bins": "The number of intervals of equal width between the bounds of a column.",
    "by": "The column that says which group a record belongs to, or a list of columns, whose levels are then given in "
    "a dictionary.",
    "where": "A condition in the spelling of SQL, as in `\"age >= 18 and region <> 'north'\"`. Only records for which "
    "it is true count. How many those are is secret.",
    "derive": 'Columns that are computed from other columns of the record, as in `{"late": "delay > 15"}`: '
    "conditions, with the levels true and false, or numbers.",
    "time_zone": 'The zone by whose clock times with a zone are told, as in `"Europe/Berlin"`. Times without a zone '
    "are taken as they are.",
    "epsilon": "The privacy budget to spend. Decimals are taken as written: 0.1 is 1/10.",
    "missing": 'What a missing value counts as. `"skip"` leaves the record out, `"level"` makes missing values a level '
    "of their own. Without it, a table with missing values is refused.",
    "other": 'The level that values count as which are not a level, or `"skip"` to leave the record out. Without it, '
    "a table with such values is refused.",
    "by_missing": 'The group of records whose group is missing, or `"skip"` to leave them out.',
    "integer": "Whether the values are whole numbers, which are then counted in steps of one. The type of the column "
    "does not decide this, because a single record can change it.",
    "q": "The share of records below the quantile, between 0 and 1, or several of them in increasing order.",
    "step": "The distance of the points that may be released, as 0.01 for money. It must divide the width of the "
    "bounds into at most 65,535 parts. By default 1 for whole numbers, a day for dates, and otherwise the finest round "
    "number.",
    "within": "The widest bounds that are possible at all, known without looking at the data.",
    "coverage": "The share of records that are to lie within the released bounds. By default all but 30/ε records at "
    "either end, of a public number of records; 0.98 where that is secret.",
    "margin": "By how much of their width the released bounds are moved out, each to the next point of the grid. It "
    "costs nothing. 0.5, which doubles the width, is the default unless `coverage` or `edges` are given."
    " 0 leaves them.",
    "side": '`"both"`, or `"upper"` or `"lower"` to release that bound alone; the other one is then that of `within`.',
    "cover": "The confidence of an interval to pay for: two more points are drawn around the quantile, with six tenths "
    "of epsilon.",
    "repair": "How noisy numbers are turned into possible ones; see above.",
    "method": "Where the noise is added, or how several points are drawn; see above.",
    "plausible": "A guess of where the true value may lie, made without looking at the data. It only chooses the "
    "method.",
    "derived": "The level whose share is one minus the sum of the others.",
    "tree": 'The levels in nested groups, for `repair="tree"`. By default groups of neighbouring levels.',
    "level_shares": "How the depths of the tree share epsilon, from the top, in proportion: (43, 57). By default "
    "equally or, if no tree is given, as is best for sums over ranges.",
    "sizes": "The number of rows of each group, if it is public and no record can change its group.",
    "bounding": '`"bit"` clamps noisy values to the bounds. `"truncated"` renormalises the noise within them, at the '
    "larger scale that this needs.",
    "neighbours": '`"substitute"`: one record changes its value, and the number of rows is public. `"add-remove"`: '
    "one record is added or removed, and the number of rows is protected.",
    "contributions": "The largest number of records that one person may have. The guarantee is for persons.",
    "person": "The column that says whose row it is. Of each person at most `contributions` rows are kept, whatever "
    "the table holds; see docs/persons.md.",
    "keep": "Which rows of a person are kept: at random, or the first or the last by `order`.",
    "order": "The column of numbers, dates or times that the rows of a person are ordered by.",
    "groups": "A column with levels or edges and the most groups of it that a person may be in, as in "
    '`{"month": 3}`; `contributions` rows are then kept in each of them.',
    "person_missing": 'What becomes of rows without an id: `"skip"` leaves them out, `"own"` makes each a person of '
    "its own.",
    "fold": "How the rows of a person become one record, by column, as in "
    '`{"visits": "count", "cost": "sum", "age": "max"}`. Bounds and levels are those of the record.',
    "rows": "The public number of rows, or of persons with `person`. A table of another size is refused.",
    "ledger": "Where the release is charged: the file of a ledger, or an `inbounds.ledger.Account`, which names the "
    "dataset. The charge is made before the data are read. Asking again for the same release returns the stored one "
    "and costs nothing.",
    "denominator": 'A fixed public number to divide by, for `neighbours="add-remove"`.',
}
# Types as they are written in signatures -> the same in words.
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
    "By": "str or list of str",
    "GroupLevels": "list of levels, or dict of them by column",
    "GroupPlace": "level, or dict of levels by column",
    "Missing": "number or 'skip'",
    "Mapping[str, Missing]": "dict of numbers or 'skip' by column",
    "MissingOfAll": "dict of numbers or 'skip' by column, or 'skip'",
    "bool | Literal['skip']": "bool or 'skip'",
    'bool | Literal["skip"]': "bool or 'skip'",
    "Mapping[str, str]": "dict of expressions by column",
    "Sequence[Number]": "list of numbers",
    "Number | Sequence[Number]": "number, or list of numbers",
    "Mapping[str, Edges]": "dict of lists of numbers by column",
    "Tree": "nested lists of levels",
    "Collection[str]": "names of columns",
    "Ledger": "path or Account",
    "Mapping[str, int]": "dict of one number by column",
    "Mapping[str, Fold]": "dict of ways to combine values by column",
    "PlausibleSpread": "dict of mean and sd, each a number or (low, high)",
    **{
        name: "{" + ", ".join(map(repr, get_args(choices))) + "}"
        for name, choices in {
            "Bounding": _types.Bounding,
            "Side": _types.Side,
            "Keep": _types.Keep,
            "MissingPerson": _types.MissingPerson,
            "CountRepair": _types.CountRepair,
            "HistogramRepair": _types.HistogramRepair,
            "MatrixRepair": _types.MatrixRepair,
            "MeanMethod": _types.MeanMethod,
            "SpreadMethod": _types.SpreadMethod,
            "Method": _types.Method,
            "QuantileMethod": _types.QuantileMethod,
            "Neighbours": _types.Neighbours,
            "ShareRepair": _types.ShareRepair,
        }.items()
    },
}
# Types of keywords whose keys are the columns of a statistic.
_KEYED = ("Mapping[str, Bounds]", "Mapping[str, Edges]", "Mapping[str, Levels]")
_ENDING = """
Returns
-------
Release
    The released value with its certificate, its error and its intervals.

Raises
------
TypeError, ValueError
    If an argument is missing, has the wrong type or value, or cannot be combined with another. Nothing is spent.
DataError
    If the table breaks the rules of its columns. The message shows no data.
BudgetRefused
    If the charge would exceed the limit in the ledger. Nothing is spent.
"""


_REFUSED = """
Raises
------
TypeError, ValueError
    If a parameter is missing, has the wrong type or value, or cannot be combined with another.
"""


def explain(function: _Function) -> _Function:
    """Add the parameters, the result and the errors to the docstring of a release function, and explain calls that do
    not fit it."""
    parameters = inspect.signature(function).parameters
    for name in parameters:
        _FUNCTIONS.setdefault(name, []).append(function.__name__)
    summary, _, example = inspect.cleandoc(function.__doc__ or "").partition("\n>>> ")
    function.__doc__ = describe_release(summary, list(parameters.values()), example and f">>> {example}", {})
    return _explain_calls(function)


def describe_release(
    summary: str, parameters: Sequence[inspect.Parameter], example: str, meanings: Mapping[str, str]
) -> str:
    """The docstring of a function or method that releases. ``meanings`` explains keywords that mean something else."""
    lines = ["Parameters", "----------"]
    for keyword in parameters:
        meaning = {**_MEANINGS, **meanings}[keyword.name]
        text = textwrap.wrap(meaning, 112, initial_indent="    ", subsequent_indent="    ")
        stars = "*" * (keyword.kind is inspect.Parameter.VAR_POSITIONAL)
        lines += [f"{stars}{keyword.name} : {_describe_type(keyword)}", *text]
    parts = [summary.rstrip(), "\n".join(lines), _ENDING.strip()]
    if example:
        parts.append(f"Examples\n--------\n{example}")
    return "\n\n".join(parts) + "\n"


def explain_use(example: str) -> Callable[[_Function], _Function]:
    """Explain calls that do not fit a function without data by an example of one that does."""
    return lambda function: _explain_calls(function, example)


def _explain_calls(function: _Function, example: str = "") -> _Function:
    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except (TypeError, ValueError) as error:
            if (mistake := _explain_error(error, function, args, keywords, example)) is None:
                raise
        # Raised outside of the handler, it does not repeat what Python says.
        raise TypeError(mistake)

    return call  # type: ignore[return-value]


def _explain_error(
    error: TypeError | ValueError,
    function: Callable[..., Any],
    args: Sequence[Any],
    keywords: Mapping[str, Any],
    example: str,
) -> str | None:
    """What is wrong with the arguments of a call that failed. None if the error says it, which is then shortened."""
    if isinstance(error, TypeError) and (mistake := explain_call(function, args, keywords, example)) is not None:
        return mistake
    if error.args and isinstance(error.args[0], str) and not isinstance(error, FileError):
        error.args = (shorten(error.args[0], LONGEST), *error.args[1:])
    return None


def explain_call(
    function: Callable[..., Any],
    args: Sequence[Any],
    keywords: Mapping[str, Any],
    example: str = "",
    meanings: Mapping[str, str] = _MEANINGS,
) -> str | None:
    """What is wrong with the arguments of a call; None if they fit, or if Python says it well. ``example`` is a call
    that fits, for what is no release function, and ``meanings`` explains its keywords."""
    parameters = inspect.signature(function).parameters
    name, as_in = function.__name__, f", as in {example}"
    kinds = {each: parameter.kind for each, parameter in parameters.items()}
    unknown = [keyword for keyword in keywords if keyword not in kinds]
    if unknown and inspect.Parameter.VAR_KEYWORD not in kinds.values():
        mistake = f"{name} has no keyword {unknown[0]}="
        if isinstance(function, type) and not example and unknown[0] in _MEANINGS.keys() - _TAKERS.keys():
            return f"{mistake}; it belongs to a release, which is inbounds.{function.name}(...)"  # type: ignore[attr-defined]
        return mistake + (f"; write {example}" if example else suggest_keyword(unknown[0], list(kinds)))
    by_name = [each for each, kind in kinds.items() if kind is inspect.Parameter.KEYWORD_ONLY]
    by_place = [each for each, kind in kinds.items() if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    if len(args) > len(by_place) and inspect.Parameter.VAR_POSITIONAL not in kinds.values():
        first = " and ".join(by_place)
        if example:
            return f"{name} takes {first} by position{', and all others by name' * bool(by_name)}{as_in}"
        rule = f"{name} takes {first} by position"
        if not by_name:
            return rule
        rule += f", and all others by name, as in {by_name[0]}=... or {by_name[1]}=..."
        keyed = [f"{each}=" for each in by_name if str(parameters[each].annotation).startswith(_KEYED)]
        return rule + (f"; its columns are the keys of {' and '.join(keyed)}" if keyed else "")
    for each in (*by_place[len(args) :], *by_name):
        if each not in keywords and parameters[each].default is inspect.Parameter.empty:
            if example:
                return f"{name} needs {each}{as_in}"
            meaning = meanings[each].split(". ")[0].removesuffix(".")
            return f"{name} needs {each}{'=' * (each in by_name)}, {meaning[:1].lower()}{meaning[1:]}"
    return None


# What others call a keyword -> what it may be here.
_MEANT = {
    **dict.fromkeys(("bins", "breaks"), ("edges",)),
    **dict.fromkeys(("y", "target", "outcome"), ("column",)),
    **dict.fromkeys(("x", "columns", "cols", "features"), ("column", "bounds", "levels")),
    **dict.fromkeys(("range", "lower", "upper", "clip"), ("bounds",)),
    **dict.fromkeys(("group", "groupby", "group_by"), ("by",)),
    **dict.fromkeys(("filter", "query", "condition"), ("where",)),
    **dict.fromkeys(("n", "nrows", "size"), ("rows",)),
    **dict.fromkeys(("p", "probs", "quantiles"), ("q",)),
    **dict.fromkeys(("categories", "values"), ("levels",)),
    **dict.fromkeys(("df", "table", "frame"), ("data",)),
    **dict.fromkeys(("eps", "budget"), ("epsilon",)),
}
# Keyword -> the statistics that have it, and the functions that take it. Each notes its own.
_TAKERS: dict[str, list[str]] = {}
_FUNCTIONS: dict[str, list[str]] = {}


def suggest_keyword(name: str, names: Sequence[str]) -> str:
    """What may have been meant by an unknown keyword, as the end of a message."""
    if name == "delta":
        return "; there is no delta, since every release is pure epsilon-differentially private"
    if name == "where":
        return "; it needs a public number of records, which those that a condition selects have not"
    if near := [keyword for keyword in _MEANT.get(name, ()) if keyword in names]:
        return f"; did you mean {near[0]}=?"
    if takers := list(dict.fromkeys([*_TAKERS.get(name, []), *_FUNCTIONS.get(name, [])])):
        return f"; it is a keyword of {', '.join(takers[:_FEW])}{' and others' * (len(takers) > _FEW)}"
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
    return f"; did you mean {near[0]}=?" if near else f"; it takes {', '.join(names)}"


_FEW = 5


def explain_making(example: str = "") -> Callable[[_Class], _Class]:
    """Explain calls of a class that do not fit it."""

    def explained(kind: _Class) -> _Class:
        make: Callable[..., None] = kind.__init__  # type: ignore[misc]

        @wraps(make)
        def init(self: Any, *args: Any, **keywords: Any) -> None:
            try:
                make(self, *args, **keywords)
                return
            except (TypeError, ValueError) as error:
                if (mistake := _explain_error(error, kind, args, keywords, example)) is None:
                    raise
            raise TypeError(mistake)

        kind.__init__ = init  # type: ignore[misc]
        return kind

    return explained


def explain_fields(kind: _Class) -> _Class:
    """Add the parameters and the errors to the docstring of a statistic, which has the name of its release function,
    and explain calls that do not fit it."""
    lines = ["Parameters", "----------"]
    for field in fields(kind):
        if field.init:
            _TAKERS.setdefault(field.name, []).append(kind.name)  # type: ignore[attr-defined]
            meaning = _MEANINGS[field.name].replace("see above", f"see `inbounds.{kind.name}`")  # type: ignore[attr-defined]
            lines += [field.name, *textwrap.wrap(meaning, 112, initial_indent="    ", subsequent_indent="    ")]
    summary, _, example = inspect.cleandoc(kind.__doc__ or "").partition("\n>>> ")
    parts = [summary.rstrip(), "\n".join(lines), _REFUSED.strip()]
    if example:
        parts.append(f"Examples\n--------\n>>> {example}")
    kind.__doc__ = "\n\n".join(parts) + "\n"
    return explain_making()(kind)


def _describe_type(keyword: inspect.Parameter) -> str:
    """Describe the type of a keyword, and its default, in words."""
    kind = str(keyword.annotation).removesuffix(" | None")
    words = _TYPES.get(kind, kind)
    if keyword.default is inspect.Parameter.empty:
        return words
    return f"{words}, optional" if keyword.default in (None, ()) else f"{words}, default {keyword.default!r}"
