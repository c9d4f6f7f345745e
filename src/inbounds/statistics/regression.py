"""The regression of one column on others: least squares from moments that are drawn together."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from inbounds import _check
from inbounds._frozen import FrozenMap
from inbounds._keywords import explain_fields
from inbounds._types import Bounds, Level, Levels, Number
from inbounds.derivations import Coefficients
from inbounds.inference import intervals
from inbounds.inference.coefficients import fit_moments, limit_coefficients
from inbounds.inference.regression import Regression as Fit
from inbounds.inference.result import Interval
from inbounds.inference.spreads import RawInterval
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft
from inbounds.record.release import Release
from inbounds.record.statistic import Statistic, Traits, register
from inbounds.statistics.base import MOST_COLUMNS, fields_of_several, keep, list_names, quantise, several
from inbounds.statistics.drafts import draft_moments, rule_of
from inbounds.statistics.matrices import check_method, choose_repair, count_elements, of_elements
from inbounds.statistics.moments import Moments
from inbounds.tables.indicators import Indicators
from inbounds.tables.schema import Column, Numeric, Place, Ruled
from inbounds.tables.schema import Levels as LevelsRule


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Regression(Statistic):
    """The linear regression of a column on all others that have bounds or levels; see `inbounds.regression`.

    >>> Regression("income", bounds={"income": (0, 200), "age": (0, 100)}, levels={"region": ["n", "s"]}).title
    'regression of income on age, region = s'
    """

    column: str
    bounds: Mapping[str, Bounds]
    levels: Mapping[str, Levels] | None = None
    missing: Mapping[str, Level | Number] | None = None
    other: Mapping[str, Level] | None = None
    integer: Collection[str] = ()
    _rules: tuple[Ruled, ...] = field(init=False, repr=False, compare=False)
    _columns: tuple[Numeric, ...] = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "regression"
    traits: ClassVar[Traits] = Traits(columns="outcome")
    least_rows: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if self.levels is not None and not isinstance(self.levels, Mapping):
            raise TypeError("levels must be a dictionary by column, as in levels={'region': ['north', 'south']}")
        if self.missing is not None and not isinstance(self.missing, Mapping):
            raise TypeError("missing must be a dictionary by column, as in missing={'age': 40, 'region': 'north'}")
        if self.other is not None and not isinstance(self.other, Mapping):
            raise TypeError("other must be a dictionary by column, as in other={'region': 'north'}")
        fills: Mapping[str, Any] = self.missing or {}
        levels: Mapping[str, Any] = self.levels or {}
        others = self.other or {}
        for name in others:
            if name not in levels:
                raise ValueError(f"other has the column {name!r}, which has no levels")
        numbers = several(self.bounds, {name: x for name, x in fills.items() if name not in levels}, self.integer)
        if not isinstance(self.column, str) or self.column not in self.bounds:
            raise ValueError(f"bounds has no column {_name(self.column)}, which is to be explained")
        if both := [name for name in levels if name in self.bounds]:
            raise ValueError(f"column {both[0]!r} has bounds and levels; give one of them")
        rules = [LevelsRule(name, texts, others.get(name), fills.get(name)) for name, texts in levels.items()]
        every: list[Any] = [*numbers, *rules]
        for word, kind in (("missing", "missing ones count"), ("other", "others count")):
            for name, place in [(column.name, getattr(column, word, None)) for column in every]:
                if isinstance(place, Place):
                    raise ValueError(
                        f"{word} of {name!r} must be a value that {kind} as: a regression needs a public number of "
                        "records, so that none are left out"
                    )
        indicators = [column for rule in rules for column in _indicators(rule)]
        first = [column for column in numbers if column.name == self.column]
        columns = (*first, *(column for column in numbers if column.name != self.column), *indicators)
        names = [column.name for column in columns]
        if len(columns) < 2:
            raise ValueError("a regression needs a regressor: another column with bounds or levels")
        if len(columns) > MOST_COLUMNS:
            raise ValueError(f"a regression has at most {MOST_COLUMNS} columns and levels, got {len(columns)}")
        if len(set(names)) < len(names):
            raise ValueError("two regressors have the same name; rename a column of the table")
        fields = fields_of_several(numbers)
        places = {rule.name: rule.missing for rule in rules if rule.missing is not None}
        fields["missing"] = FrozenMap({**(fields["missing"] or {}), **places}) or None
        fields["other"] = FrozenMap({rule.name: rule.other for rule in rules if rule.other is not None}) or None
        fields["levels"] = FrozenMap({rule.name: rule.levels for rule in rules}) or None
        keep(self, **fields, _columns=columns, _rules=(*columns[: len(numbers)], *rules))

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self._rules

    @property
    def title(self) -> str:
        return f"regression of {self.column} on {list_names(self._columns[1:])}"

    @property
    def axis_names(self) -> tuple[str, ...]:
        return ("coefficient",)

    def numbers(self, terms: Terms) -> int:
        return count_elements(len(self._columns), "joint", terms)

    def draft(self, terms: Terms) -> Draft:
        if terms.rows is None:
            raise ValueError(
                "a regression needs a public number of records: neighbours='substitute', without where= and without "
                "several rows of a person"
            )
        check_method("joint", terms)
        columns = [quantise(column, terms) for column in self._columns]
        keys = tuple(rule for rule in self._rules if isinstance(rule, LevelsRule))
        indicators = Indicators(tuple(columns[: len(self._rules) - len(keys)]), keys)
        repair = choose_repair(None, len(columns))
        limits = [(column.lower, column.upper) for column in self._columns]
        axes = [["intercept", *(column.name for column in self._columns[1:])]]
        bounds = [*limits, *of_elements(self._columns, terms)]
        way = Coefficients(terms.rows, repair)
        return draft_moments(self, terms, way, columns, bounds, axes=axes, indicators=indicators)

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        def limit(fit: Release, alpha: float, population: bool) -> RawInterval:
            return limit_coefficients(fit, self.moments(fit), alpha, population)

        return intervals.interval_by(limit, release, level, kind, variance)

    def moments(self, release: Release) -> Release:
        """The moments of all its columns, which the coefficients are computed from: as a release of `inbounds.moments`.

        It costs nothing more, and `inbounds.inference.regression` fits other regressors to it. The record that proves
        itself is that of the regression.
        """
        names = tuple(column.name for column in self._columns)
        whole = tuple(column.name for column in self._columns if column.integer)
        table = release.derivation.table
        assert table is not None
        bounds = {column.name: column.ends for column in self._columns}
        statistic = Moments(bounds=bounds, repair=choose_repair(None, len(names)), integer=whole)
        columns = tuple(rule_of(quantise(column, release.terms)) for column in self._columns)
        return replace(release, statistic=statistic, derivation=table, axes=(("mean", *names), names), columns=columns)

    def fit(self, release: Release, level: float = 0.95) -> Fit:
        """The fit with R², predictions and what the noise does to it; see `inbounds.inference.regression`."""
        return fit_moments(self.moments(release), level)

    def describe_hidden(self, find_typical: Callable[[], Release]) -> str:
        fit = self.fit(find_typical())
        drawn = ". Hidden coefficients are drawn towards 0, and their intervals have no ends"
        return "" if fit.identified else f"if the truth is typical, {fit.diagnosis}{drawn}"

    def describe_fit(self, release: Release) -> str:
        """How well the regressors explain the column, and what the noise does to the coefficients."""
        fit = self.fit(release)
        if not fit.identified:
            return f"{fit.diagnosis[:1].upper()}{fit.diagnosis[1:]}."
        return f"R² {fit.r_squared:.3g}, residual standard deviation {fit.residual_deviation:.3g}; {fit.diagnosis}."


def _name(column: object) -> str:
    return repr(column) if isinstance(column, str) else _check.shown(column)


def _indicators(rule: LevelsRule) -> Iterator[Numeric]:
    """Columns of 0 and 1 for all levels but the first; that of the levels false and true has the name of its column."""
    for level, text in zip(rule.levels[1:], rule.texts[1:], strict=True):
        yield Numeric.of(rule.name if level is True else f"{rule.name} = {text}", (0, 1), integer=True)
