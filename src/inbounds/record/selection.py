"""Statistics of some records of a table: those for which a condition holds, or which have the values that are needed.

How many records are selected is secret under both neighbour relations, since one record may enter the selection or
leave it. So a statistic of a selection is drafted as if the number of rows were protected: from noisy sums and a noisy
count. How much one record can move these under substitution is the third case of `inbounds.privacy.forms`.

The same holds where several rows of each person are kept: a person who is replaced may have had more or fewer of them.

A selection looks at one record at a time: at a condition (``where``), and at columns whose rule is to skip missing
values. Columns may be derived from others by an expression, which is public and part of the record.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from inbounds import _check
from inbounds._frozen import FrozenMap
from inbounds.errors import DataError
from inbounds.privacy.terms import Terms
from inbounds.record.statistic import Statistic, Traits
from inbounds.tables.answers import Cells, make_refusal
from inbounds.tables.expressions import Expression, parse, write_out
from inbounds.tables.request import Product, Request
from inbounds.tables.schema import (
    REFUSED,
    AnyKey,
    Column,
    Condition,
    Edges,
    Levels,
    Numeric,
    Operand,
    Quantised,
    Ruled,
    Steps,
    list_read,
)
from inbounds.tables.zones import check_zone

if TYPE_CHECKING:
    from inbounds.inference.result import Interval
    from inbounds.record.draft import Draft
    from inbounds.record.release import Release
    from inbounds.statistics.share import Share


# The keywords that say which records a statistic is of, and how they are read; those of `select`, in their order.
SELECTION = ("where", "derive", "time_zone")


@dataclass(frozen=True, slots=True)
class Selected:
    """A statistic of the records for which ``where`` is true, with columns that are derived from others.

    ``derive`` has an expression for each derived column; those that nothing reads are left out. ``time_zone`` is the
    zone whose clock is used for instants; it is left out if no dates or times are read.
    """

    inner: Statistic
    where: str | None = None
    derive: Mapping[str, str] | None = None
    time_zone: str | None = None
    _where: Expression | None = field(init=False, repr=False, compare=False)
    _derived: Mapping[str, Expression] = field(init=False, repr=False, compare=False)

    # The methods of a statistic of a secret number of records are not compared.
    compares_methods: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if isinstance(self.inner, Selected):
            raise TypeError("a selection is made once: combine conditions with `and`")
        rules = [column for column in self.inner.inputs if not isinstance(column, Operand)]
        declared = {column.name: _kind_of(column) for column in rules}
        derived = _parse_derived(self.derive, declared, rules)
        where = None if self.where is None else _parse_condition(self.where, self.derive or {}, declared)
        texts = FrozenMap({name: formula.text for name, formula in derived.items()}) if derived else None
        zone = None if self.time_zone is None else check_zone(self.time_zone)
        formulas = [*derived.values(), *([] if where is None else [where])]
        has_times = any(getattr(rule, "clock", None) and rule.name not in derived for rule in rules)
        zone = zone if has_times or any("time" in formula.columns.values() for formula in formulas) else None
        where = None if where is None else replace(where, zone=zone)
        derived = {name: replace(formula, zone=zone) for name, formula in derived.items()}
        for name, value in {"derive": texts, "time_zone": zone, "_where": where, "_derived": derived}.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "where", None if where is None else where.text)

    @property
    def name(self) -> str:
        """The name of the statistic."""
        return self.inner.name

    @property
    def traits(self) -> Traits:
        """What kind of number it is."""
        return self.inner.traits

    @property
    def inputs(self) -> tuple[Column, ...]:
        """The columns of the table that it reads."""
        rules = [self.complete(column) for column in self.inner.inputs]
        return list_read([*rules, Condition(self._where)])

    @property
    def title(self) -> str:
        """What is released, and of which records."""
        return self.inner.title if self.where is None else f"{self.inner.title} where {self.where}"

    @property
    def least_rows(self) -> int:
        """The fewest rows that the table has."""
        return 1 if self.where is not None else self.inner.least_rows

    @property
    def expression(self) -> Expression | None:
        """The condition."""
        return self._where

    @property
    def derived(self) -> Mapping[str, Expression]:
        """The derived columns."""
        return self._derived

    def complete(self, rule: Any) -> Any:
        """The rule of a column with its formula, if it is derived, and with the zone of its times."""
        formula = self._derived.get(rule.name)
        if formula is not None:
            return replace(rule, formula=formula)
        return replace(rule, zone=self.time_zone) if self.time_zone and getattr(rule, "clock", None) else rule

    def numbers(self, terms: Terms) -> int:
        """How many noisy numbers it is made of."""
        return self.inner.numbers(terms)

    def draft(self, terms: Terms) -> "Draft":
        """The release before the data."""
        return draft_statistic(cast(Statistic, self), terms)

    def share(self, terms: Terms) -> "Share | None":
        """A selection is drawn alone."""
        return None

    def interval(self, release: "Release", level: float, kind: str, variance: "Release | None") -> "Interval":
        """Where the truth lies."""
        return self.inner.interval(release, level, kind, variance)


def select(statistic: Statistic, where: Any = None, derive: Any = None, time_zone: Any = None) -> Statistic:
    """A statistic of the records for which ``where`` is true; the statistic itself where nothing is selected."""
    if where is None and not derive and time_zone is None:
        return statistic
    selection = Selected(statistic, where, derive, time_zone)
    plain = selection.where is None and not selection.derived and selection.time_zone is None
    # It does all that a statistic does, although its name is that of the inner one.
    return statistic if plain else cast(Statistic, selection)


def list_rules(statistic: Statistic) -> tuple[Ruled, ...]:
    """The columns of a statistic with their rules as the user gave them; derived ones have their formula."""
    rules = [column for column in plain_statistic(statistic).inputs if not isinstance(column, Operand)]
    return tuple(statistic.complete(rule) for rule in rules) if isinstance(statistic, Selected) else tuple(rules)


def list_met(statistic: Statistic) -> tuple[tuple[Ruled, Expression | None], ...]:
    """The same, each with the condition on the records that it applies to. Other records may hold anything."""
    where = statistic.expression if isinstance(statistic, Selected) else None
    return tuple((rule, where) for rule in list_rules(statistic))


def plain_statistic(statistic: Statistic) -> Statistic:
    """The statistic without its selection."""
    return statistic.inner if isinstance(statistic, Selected) else statistic


def find_zone(statistic: Statistic) -> str | None:
    """The zone whose clock is used for times, if one was declared."""
    return statistic.time_zone if isinstance(statistic, Selected) else None


def is_selection(statistic: Statistic) -> bool:
    """Whether a statistic is of a secret number of the table's records."""
    if isinstance(statistic, Selected) and statistic.where is not None:
        return True
    return any(column.skips for column in plain_statistic(statistic).inputs if not isinstance(column, Operand))


def terms_of(statistic: Statistic, terms: Terms) -> Terms:
    """The terms by which a statistic is drafted: without a public number of rows if it is of a selection, or of several
    rows of each person."""
    return terms.with_rows(None) if is_selection(statistic) or terms.counts_persons else terms


def check_persons(statistic: Statistic, terms: Terms) -> None:
    """Refuse a statistic that the rule for persons does not fit."""
    persons = terms.unit.persons
    if persons is None:
        return
    names = list(dict.fromkeys(column.name for column in list_read(statistic.inputs)))
    if persons.fold is not None:
        for name in names:
            if name not in persons.fold and name != persons.column:
                raise ValueError(
                    f"fold= does not say how the rows of a person are combined in column {name!r}, as in "
                    f"fold={{{name!r}: 'max'}}"
                )
        for rule in list_rules(statistic):
            if persons.fold.get(rule.name) in ("min", "max") and _is_one_word(rule):
                raise ValueError(
                    f"fold= by {persons.fold[rule.name]!r} needs the order of all levels of column {rule.name!r}, of "
                    "which only one is counted here: release its proportions or its histogram, with levels=[...]"
                )
        if persons.column in names:
            raise ValueError(f"column {persons.column!r} says whose row it is; a folded record does not hold it")
    elif plain_statistic(statistic).sizes is not None:
        raise ValueError("sizes= cannot be combined with person=: which rows of a person are kept changes the sizes")
    if persons.groups is not None:
        name = persons.groups[0]
        keys = [column for column in list_rules(statistic) if not isinstance(column, Numeric)]
        if name not in [key.name for key in keys]:
            raise ValueError(f"groups names {name!r}, which is no column with levels or edges of {statistic.title}")


def _is_one_word(rule: Ruled) -> bool:
    """Whether one level of text is distinguished from all others, which have no order."""
    return isinstance(rule, Levels) and len(rule.levels) == 1 and isinstance(rule.levels[0], str)


# claim:selection
def draft_statistic(statistic: Statistic, terms: Terms) -> "Draft":
    """The draft of a statistic of all records, or of those that it selects.

    Every request gets a key with two cells: one for records that count, and one for all others, which is ignored. So
    one record changes the counted cells by what it adds to them, or takes away, or both.
    """
    inner = plain_statistic(statistic)
    check_persons(statistic, terms)
    if not is_selection(statistic):
        draft = inner.draft(terms_of(statistic, terms))
        if not isinstance(statistic, Selected):
            return replace(draft, record=replace(draft.record, terms=terms)) if terms.counts_persons else draft
        requests = tuple(_map_request(request, statistic.complete) for request in draft.requests)
        return replace(draft, record=replace(draft.record, statistic=statistic, terms=terms), requests=requests)
    draft = inner.draft(terms_of(statistic, terms))
    where = statistic.expression if isinstance(statistic, Selected) else None
    complete = statistic.complete if isinstance(statistic, Selected) else (lambda rule: rule)
    views = [_select_request(request, where, complete) for request in draft.requests]

    def find_refusal(*tables: Cells) -> DataError | None:
        refusals = (view.find_refusal(cells) for view, cells in zip(views, tables, strict=True))
        return next((refusal for refusal in refusals if refusal is not None), None)

    def exact(*tables: Cells) -> Any:
        return draft.exact(*(view.inside(cells) for view, cells in zip(views, tables, strict=True)))

    return replace(
        draft,
        record=replace(draft.record, statistic=statistic, terms=terms),
        requests=tuple(view.request for view in views),
        exact=exact,
        find_refusal=find_refusal,
    )


@dataclass(frozen=True, slots=True)
class _View:
    """A request for selected records: first the selection, then whether all numbers are there, then its own keys."""

    request: Request
    # Columns whose missing values are refused, in records that count.
    required: tuple[Numeric, ...]

    @property
    def _before(self) -> int:
        return 2 if self.required else 1

    def inside(self, cells: Cells) -> Cells:
        """The cells of the records that count."""
        return {place[self._before :]: cell for place, cell in cells.items() if place[0] == 0}

    def find_refusal(self, cells: Cells) -> DataError | None:
        """The refusal of a table in which a record that counts holds what a rule does not take."""
        keys = self.request.by[self._before :]
        for place in cells:
            if place[0] != 0:
                continue
            if self.required and place[1] != 0:
                return _missing_numbers(self.required)
            for key, number in zip(keys, place[self._before :], strict=True):
                assert not isinstance(key, Condition)
                if REFUSED in (key.missing, getattr(key, "other", None)) and number == key.refused:
                    return _unknown_level(key)
        return None


def _unknown_level(key: Levels | Edges | Steps) -> DataError:
    if isinstance(key, Levels) and key.other is REFUSED and key.missing is REFUSED:
        other, missing = key.keywords
        return DataError(
            f"column {key.name!r} has missing values or values that are none of its levels; say where they belong with "
            f"{missing}= and {other}=, or leave them out with 'skip'"
        )
    return make_refusal(key, "missing" if key.missing is REFUSED else "other")


def _missing_numbers(columns: Sequence[Numeric]) -> DataError:
    if len(columns) == 1:
        return make_refusal(columns[0], "missing")
    names = ", ".join(repr(column.name) for column in columns)
    return DataError(
        f"one of the columns {names} has missing values, or values that are no numbers; say what they count as with "
        "missing=, or leave them out with missing='skip'"
    )


def _select_request(request: Request, where: Expression | None, complete: Callable[[Any], Any]) -> _View:
    def treat(rule: Ruled) -> Ruled:
        return _refuse_later(complete(rule))

    request = _map_request(request, treat)
    columns = tuple(dict.fromkeys(quantised.column for quantised in request.sums))
    required = tuple(column for column in columns if column.missing is REFUSED)
    condition = Condition(where, tuple(column for column in columns if column.skips))
    keys = (condition, Condition(None, required)) if required else (condition,)
    return _View(replace(request, by=(*keys, *request.by)), required)


def _refuse_later(rule: Ruled) -> Ruled:
    """A rule that sets aside what it refuses: records that do not count may hold anything."""
    if isinstance(rule, Levels):
        other = REFUSED if rule.other is None else rule.other
        return replace(rule, other=other, missing=REFUSED if rule.missing is None else rule.missing)
    return replace(rule, missing=REFUSED) if rule.missing is None else rule


def _map_request(request: Request, treat: Any) -> Request:
    """A request with other rules for its columns."""

    def column(quantised: Quantised) -> Quantised:
        return replace(quantised, column=treat(quantised.column))

    some = request.some

    def key(rule: AnyKey) -> AnyKey:
        if isinstance(rule, Condition):
            return rule
        return replace(rule, quantised=column(rule.quantised)) if isinstance(rule, Steps) else treat(rule)

    return Request(
        tuple(map(key, request.by)),
        tuple(column(quantised) for quantised in request.sums),
        request.products,
        None if some is None else tuple(Product(column(pair.first), column(pair.second)) for pair in some),
    )


# Expressions as users write them


def _kind_of(rule: Ruled) -> Any:
    """What the values of a column are, by its rule."""
    if not isinstance(rule, Levels):
        return "number"
    return {str: "text", int: "number", bool: "boolean"}[type(rule.levels[0])]


def _parse_condition(where: Any, derive: Mapping[str, str], declared: Mapping[str, Any]) -> Expression:
    """A condition, with the expressions of derived columns in their places."""
    if not isinstance(where, str):
        raise TypeError(f"where must be a condition as text, as in where='age >= 18', got {_check.shown(where)}")
    kinds = {**declared, **{name: parse(text).kind for name, text in derive.items()}}
    condition = parse(write_out(where, derive, kinds) if derive else where, declared, condition=True)
    if condition.kind != "boolean":
        raise ValueError("where must be a condition that is true or false, as in where='age >= 18'")
    return condition


def _parse_derived(derive: Any, declared: Mapping[str, Any], rules: Sequence[Ruled]) -> dict[str, Expression]:
    """The expressions of the columns that are read, checked against their rules."""
    if derive is None:
        return {}
    if not isinstance(derive, Mapping) or not all(isinstance(text, str) for text in derive.values()):
        raise TypeError(
            "derive must be a dictionary from new columns to expressions, as in derive={'late': 'delay > 15'}"
        )
    others = {name: kind for name, kind in declared.items() if name not in derive}
    formulas: dict[str, Expression] = {}
    for rule in rules:
        if rule.name not in derive:
            continue
        formula = parse(derive[rule.name], others)
        if names := [name for name in formula.columns if name in derive]:
            if names[0] == rule.name:
                raise ValueError(f"derive[{rule.name!r}] has the name of a column that it reads; give it another name")
            raise ValueError(
                f"derive[{rule.name!r}] names {names[0]!r}, which is derived itself; write its expression out"
            )
        _check_formula(rule, formula)
        formulas[rule.name] = formula
    return formulas


def _check_formula(rule: Ruled, formula: Expression) -> None:
    if not isinstance(rule, Levels):
        return
    kind = type(rule.levels[0])
    if kind is str or (kind is bool and formula.kind == "number"):
        value, levels = ("true or false", "true and false") if formula.kind == "boolean" else ("a number", "integers")
        raise ValueError(f"the derived column {rule.name!r} is {value}: its levels must be {levels}")
