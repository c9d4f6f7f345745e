"""The statistics of an `inbounds.Table`, one method each: what is left to say when the table is declared."""

# With this import signatures show types by their names. The help describes them in words.
from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from inbounds import _keywords
from inbounds._keywords import describe_release, explain_call
from inbounds._types import (
    Bounding,
    By,
    CountRepair,
    Edges,
    HistogramRepair,
    Level,
    MatrixRepair,
    MeanMethod,
    Method,
    Number,
    PlausibleSpread,
    PooledMethod,
    QuantileMethod,
    ShareRepair,
    Side,
    SpreadMethod,
    Tree,
)
from inbounds.record.release import Release

_Table = TypeVar("_Table", bound="TableStatistics")
_Given = ParamSpec("_Given")

# Keywords that mean something else here than in a release function.
_MEANINGS = {
    "column": "The name of a declared column.",
    "columns": "The names of declared columns.",
    "category": "The category to count. A column with the categories False and True, or 0 and 1, needs none.",
    "on": "The names of the declared columns that explain the first one.",
    "by": "The column of categories that makes the groups, or a list of such columns.",
}
# A keyword of a release function -> where a table has it.
_DECLARED = {
    **dict.fromkeys(("bounds", "edges", "integer"), "in columns=, as in {{'age': ib.number(18, 100)}}"),
    **dict.fromkeys(
        ("levels", "missing", "other", "by_missing"), "in columns=, as in {{'smoker': ib.category('yes', 'no')}}"
    ),
    **dict.fromkeys(
        ("person", "keep", "order", "groups", "person_missing", "fold"), "as person=ib.Person('id', rows=2)"
    ),
    **dict.fromkeys(("rows", "neighbours", "contributions", "ledger", "time_zone"), "as {keyword}="),
}
_METHODS = {
    "where": "write table.where('age >= 18').{name}(...)",
    "derive": "write table.derive({{'late': 'delay > 15'}}).{name}(...)",
    "level": "it is category= here",
}
# The table of all examples.
_EXAMPLE_TABLE = """
>>> import inbounds as ib
>>> columns = {"age": ib.number(18, 100), "bmi": ib.number(12, 60), "smoker": ib.category("yes", "no")}
>>> data = {"age": [23, 35, 62, 41] * 500, "bmi": [21, 30, 27, 24] * 500, "smoker": ["no", "no", "yes", "no"] * 500}
>>> survey = ib.Table(data, columns=columns)
""".strip()


@dataclass(frozen=True, slots=True)
class TableRequest:
    """A statistic of a declared table: its columns, its groups, the counted category, and its own keywords."""

    statistic: str
    columns: tuple[str, ...]
    groups: tuple[str, ...]
    level: Level | None
    sizes: Mapping[Any, int] | None
    own: Mapping[str, Any]


def ask(
    statistic: str,
    columns: Sequence[str],
    *,
    by: By | None = None,
    category: Level | None = None,
    sizes: Mapping[Any, int] | None = None,
    **own: Any,
) -> TableRequest:
    """A request for a statistic. Keywords that are None are not given."""
    groups = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    given = {name: value for name, value in own.items() if value is not None}
    return TableRequest(statistic, tuple(columns), groups, category, sizes, given)


def releases(
    method: Callable[Concatenate[_Table, _Given], TableRequest],
) -> Callable[Concatenate[_Table, _Given], Release]:
    """A method of a table that releases what ``method`` asks for, with its parameters in its docstring."""
    signature = inspect.signature(method)
    parameters = [each for each in signature.parameters.values() if each.name != "self"]

    @wraps(method)
    def release(self: _Table, /, *args: _Given.args, **keywords: _Given.kwargs) -> Release:
        return self._release(request(self, *args, **keywords))

    @wraps(method)
    def request(self: _Table, /, *args: _Given.args, **keywords: _Given.kwargs) -> TableRequest:
        try:
            return method(self, *args, **keywords)
        except TypeError:
            if (mistake := _explain(method.__get__(self), args, keywords)) is None:
                raise
        # Raised outside of the handler, it does not repeat the message of Python.
        raise TypeError(mistake)

    summary, _, example = inspect.cleandoc(method.__doc__ or "").partition("\n>>> ")
    example = f"{_EXAMPLE_TABLE}\n>>> {example}"
    text = describe_release(summary, parameters, example, _MEANINGS)
    release.__doc__ = text.replace("see above", f"see `inbounds.{method.__name__}`")
    release.__annotations__ = method.__annotations__ | {"return": "Release"}
    release.__signature__ = signature.replace(return_annotation="Release")  # type: ignore[attr-defined]
    release.request = request  # type: ignore[attr-defined]
    return release


def _explain(method: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any]) -> str | None:
    """The mistake in a call that does not fit the method; None if the call fits."""
    name, names = method.__name__, inspect.signature(method).parameters
    for keyword in keywords:
        if keyword not in names and keyword in _METHODS:
            return f"{name} of a table has no keyword {keyword}=; {_METHODS[keyword].format(name=name)}"
        if keyword not in names and keyword in _DECLARED:
            where = _DECLARED[keyword].format(keyword=keyword)
            return f"{name} of a table has no keyword {keyword}=; declare it once, in ib.Table, {where}"
    return explain_call(method, args, keywords, meanings=_keywords._MEANINGS | _MEANINGS)


class TableStatistics(ABC):
    """The statistics of a table, as methods. The release functions of the same names explain each statistic."""

    __slots__ = ()

    @abstractmethod
    def _release(self, request: TableRequest) -> Release:
        """Release what a method asks for."""

    @releases
    def mean(
        self,
        column: str,
        *,
        epsilon: Number,
        by: By | None = None,
        method: MeanMethod | None = None,
        bounding: Bounding = "bit",
        denominator: int | None = None,
    ) -> TableRequest:
        """The mean of a column, or of each group; see `inbounds.mean`.

        >>> 18 <= survey.mean("age", epsilon=1).value <= 100
        True
        """
        return ask("mean", [column], by=by, epsilon=epsilon, method=method, bounding=bounding, denominator=denominator)

    @releases
    def sum(self, column: str, *, epsilon: Number, by: By | None = None, bounding: Bounding = "bit") -> TableRequest:
        """The sum of a column, or of each group; see `inbounds.sum`.

        >>> survey.sum("age", by="smoker", epsilon=1).value.shape
        (2,)
        """
        return ask("sum", [column], by=by, epsilon=epsilon, bounding=bounding)

    @releases
    def count(
        self,
        column: str | None = None,
        category: Level | None = None,
        *,
        epsilon: Number,
        by: By | None = None,
        bounding: Bounding = "bit",
    ) -> TableRequest:
        """The number of rows in a category, in each group, or in the table; see `inbounds.count`.

        >>> 0 <= survey.count("smoker", "yes", epsilon=1).value <= 2000
        True
        """
        columns = [] if column is None else [column]
        return ask("count", columns, by=by, category=category, epsilon=epsilon, bounding=bounding)

    @releases
    def proportion(
        self,
        column: str,
        category: Level | None = None,
        *,
        epsilon: Number,
        by: By | None = None,
        bounding: Bounding = "bit",
        denominator: int | None = None,
    ) -> TableRequest:
        """The proportion of rows in a category; see `inbounds.proportion`.

        >>> 0 <= survey.proportion("smoker", "yes", epsilon=1).value <= 1
        True
        """
        own: dict[str, Any] = {"epsilon": epsilon, "bounding": bounding, "denominator": denominator}
        return ask("proportion", [column], by=by, category=category, **own)

    @releases
    def variance(
        self,
        column: str,
        *,
        epsilon: Number,
        by: By | None = None,
        method: SpreadMethod | None = None,
        plausible: PlausibleSpread | None = None,
        bounding: Bounding = "bit",
    ) -> TableRequest:
        """The sample variance of a column, or of each group; see `inbounds.variance`.

        >>> survey.variance("age", epsilon=1).value >= 0
        True
        """
        own: dict[str, Any] = {"epsilon": epsilon, "method": method, "plausible": plausible, "bounding": bounding}
        return ask("variance", [column], by=by, **own)

    @releases
    def standard_deviation(
        self,
        column: str,
        *,
        epsilon: Number,
        by: By | None = None,
        method: SpreadMethod | None = None,
        plausible: PlausibleSpread | None = None,
        bounding: Bounding = "bit",
    ) -> TableRequest:
        """The sample standard deviation of a column, or of each group; see `inbounds.standard_deviation`.

        >>> survey.standard_deviation("age", epsilon=1).value >= 0
        True
        """
        own: dict[str, Any] = {"epsilon": epsilon, "method": method, "plausible": plausible, "bounding": bounding}
        return ask("standard_deviation", [column], by=by, **own)

    @releases
    def quantile(
        self,
        column: str,
        q: Number | Sequence[Number],
        *,
        epsilon: Number,
        by: By | None = None,
        step: Number | None = None,
        cover: Number | None = None,
        method: QuantileMethod | None = None,
    ) -> TableRequest:
        """One or several quantiles of a column; see `inbounds.quantile`.

        >>> survey.quantile("age", [0.25, 0.5, 0.75], epsilon=1).value.shape
        (3,)
        """
        own: dict[str, Any] = {"q": q, "epsilon": epsilon, "step": step, "cover": cover, "method": method}
        return ask("quantile", [column], by=by, **own)

    @releases
    def median(
        self,
        column: str,
        *,
        epsilon: Number,
        by: By | None = None,
        step: Number | None = None,
        cover: Number | None = None,
    ) -> TableRequest:
        """The median of a column, or of each group; see `inbounds.median`.

        >>> 18 <= survey.median("age", epsilon=1).value <= 100
        True
        """
        return ask("median", [column], by=by, epsilon=epsilon, step=step, cover=cover)

    @releases
    def bounds(
        self,
        column: str,
        *,
        epsilon: Number,
        within: Sequence[Number] | None = None,
        coverage: Number | None = None,
        side: Side = "both",
        margin: Number | None = None,
        edges: Edges | None = None,
    ) -> TableRequest:
        """Bounds that hold about a given part of the values of a column; see `inbounds.bounds`.

        >>> lower, upper = survey.bounds("age", within=(0, 1000), epsilon=1).value
        >>> 0 <= lower < upper <= 1000
        True
        """
        own: dict[str, Any] = {"within": within, "coverage": coverage, "side": side, "margin": margin, "edges": edges}
        return ask("bounds", [column], epsilon=epsilon, **own)

    @releases
    def histogram(
        self,
        column: str,
        *,
        epsilon: Number,
        repair: HistogramRepair | None = None,
        tree: Tree | None = None,
        level_shares: Sequence[Number] | None = None,
        bounding: Bounding = "bit",
    ) -> TableRequest:
        """The number of rows in each category or interval of a column; see `inbounds.histogram`.

        >>> int(survey.histogram("smoker", epsilon=1).value.sum())
        2000
        """
        own: dict[str, Any] = {"repair": repair, "tree": tree, "level_shares": level_shares, "bounding": bounding}
        return ask("histogram", [column], epsilon=epsilon, **own)

    @releases
    def proportions(
        self,
        column: str,
        *,
        epsilon: Number,
        repair: ShareRepair | None = None,
        derived: Level | None = None,
        tree: Tree | None = None,
        level_shares: Sequence[Number] | None = None,
        bounding: Bounding = "bit",
        denominator: int | None = None,
    ) -> TableRequest:
        """The proportion of rows in each category or interval of a column; see `inbounds.proportions`.

        >>> survey.proportions("smoker", epsilon=1).value.shape
        (2,)
        """
        own: dict[str, Any] = {"repair": repair, "derived": derived, "tree": tree, "level_shares": level_shares}
        return ask("proportions", [column], epsilon=epsilon, bounding=bounding, denominator=denominator, **own)

    @releases
    def crosstab(
        self, *columns: str, epsilon: Number, repair: CountRepair | None = None, bounding: Bounding = "bit"
    ) -> TableRequest:
        """The number of rows in each combination of categories or intervals; see `inbounds.crosstab`.

        >>> survey.derive({"old": "age >= 60"}).crosstab("smoker", "old", epsilon=1).value.shape
        (2, 2)
        """
        return ask("crosstab", columns, epsilon=epsilon, repair=repair, bounding=bounding)

    @releases
    def covariance(
        self,
        *columns: str,
        epsilon: Number,
        method: Method = "joint",
        repair: MatrixRepair | None = None,
        bounding: Bounding = "bit",
    ) -> TableRequest:
        """The sample covariance matrix of columns; see `inbounds.covariance`.

        >>> survey.covariance("age", "bmi", epsilon=1).value.shape
        (2, 2)
        """
        return ask("covariance", columns, epsilon=epsilon, method=method, repair=repair, bounding=bounding)

    @releases
    def correlation(
        self,
        *columns: str,
        epsilon: Number,
        method: Method = "joint",
        repair: MatrixRepair | None = None,
        bounding: Bounding = "bit",
    ) -> TableRequest:
        """The correlation matrix of columns; see `inbounds.correlation`.

        >>> survey.correlation("age", "bmi", epsilon=1).value.diagonal().tolist()
        [1.0, 1.0]
        """
        return ask("correlation", columns, epsilon=epsilon, method=method, repair=repair, bounding=bounding)

    @releases
    def moments(self, *columns: str, epsilon: Number, repair: MatrixRepair | None = None) -> TableRequest:
        """Means and the covariance matrix of columns, in one draw; see `inbounds.moments`.

        >>> survey.moments("age", "bmi", epsilon=1).value.mean.shape
        (2,)
        """
        return ask("moments", columns, epsilon=epsilon, repair=repair)

    @releases
    def regression(self, column: str, *on: str, epsilon: Number) -> TableRequest:
        """The linear regression of a column on others; see `inbounds.regression`.

        >>> survey.regression("bmi", "age", "smoker", epsilon=1).axes[0]
        ('intercept', 'age', 'smoker = no')
        """
        return ask("regression", [column, *on], epsilon=epsilon)

    @releases
    def kendall(
        self,
        *columns: str,
        epsilon: Number,
        bins: int | None = None,
        repair: MatrixRepair | None = None,
        bounding: Bounding = "bit",
    ) -> TableRequest:
        """The matrix of Kendall's tau of columns; see `inbounds.kendall`.

        >>> survey.kendall("age", "bmi", epsilon=1).value.shape
        (2, 2)
        """
        return ask("kendall", columns, epsilon=epsilon, bins=bins, repair=repair, bounding=bounding)

    @releases
    def pooled_variance(
        self,
        column: str,
        *,
        by: str,
        epsilon: Number,
        sizes: Mapping[Level, int] | None = None,
        bounding: Bounding = "bit",
    ) -> TableRequest:
        """The pooled variance within groups; see `inbounds.pooled_variance`.

        >>> survey.pooled_variance("age", by="smoker", epsilon=1).value >= 0
        True
        """
        return ask("pooled_variance", [column], by=by, sizes=sizes, epsilon=epsilon, bounding=bounding)

    @releases
    def pooled_covariance(
        self,
        *columns: str,
        by: str,
        epsilon: Number,
        method: PooledMethod = "joint",
        repair: MatrixRepair | None = None,
        sizes: Mapping[Level, int] | None = None,
        bounding: Bounding = "bit",
    ) -> TableRequest:
        """The pooled covariance matrix within groups; see `inbounds.pooled_covariance`.

        >>> survey.pooled_covariance("age", "bmi", by="smoker", epsilon=1).value.shape
        (2, 2)
        """
        own: dict[str, Any] = {"epsilon": epsilon, "method": method, "repair": repair, "bounding": bounding}
        return ask("pooled_covariance", columns, by=by, sizes=sizes, **own)
