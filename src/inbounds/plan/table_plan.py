"""A table and a plan are two spellings of the same facts: turn each into the other, and compare them."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import date
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inbounds import _check
from inbounds.errors import PlanError
from inbounds.ledger import Account
from inbounds.plan.columns import exact, floats
from inbounds.plan.declare import ColumnRule, Person
from inbounds.plan.model import Column
from inbounds.plan.plan import Plan
from inbounds.plan.release import release
from inbounds.record.record import Releases
from inbounds.tables.formats import PLAIN
from inbounds.tables.times import read_time

if TYPE_CHECKING:
    from inbounds.forecasts.outlook import Outlook
    from inbounds.plan.table import Table

# Parts of the rule of a column that a table and a plan have by the same name.
_PARTS = ("bounds", "edges", "levels", "missing", "other", "integer", "values")
# Facts that a table and a plan must not disagree about.
_FACTS = ("rows", "neighbours", "contributions", "time_zone")
_DIGITS = 60


def facts_of(plan: Plan | str | Path) -> dict[str, Any]:
    """The keywords of the table that a plan describes."""
    plan = plan if isinstance(plan, Plan) else Plan.load(plan)
    data, account = plan.data, plan.account
    facts = {name: getattr(data, name) for name in (*_FACTS, "expected_rows", "table", "engine")}
    if data.person is not None:
        person: dict[str, Any] = {
            "column": data.person,
            "rows": data.contributions,
            "keep": data.keep,
            "order": data.order,
        }
        person |= {"max_groups": data.groups, "missing": data.person_missing, "fold": data.fold}
        person |= {"plausible_rows": floats(data.plausible_rows), "plausible_shift": floats(data.plausible_shift)}
        # A fold reads all rows of a person; what is kept of them matters for other releases of the plan.
        if data.fold is not None and not set(data.fold.values()) & {"first", "last"}:
            person["order"] = None
        facts |= {"person": Person(**person), "contributions": 1}
    written = {each.name: getattr(data.written, each.name) for each in fields(PLAIN)}
    facts["written"] = {name: value for name, value in written.items() if value != getattr(PLAIN, name)}
    facts |= {"data": data.source, "condition": data.where, "formulas": dict(plan.derive)}
    facts["columns"] = {name: _rule_of(rule) for name, rule in plan.columns.items()}
    return facts | ({"dataset": plan.budget.dataset} if account is None else {"ledger": account})


def _rule_of(rule: Column) -> ColumnRule:
    parts = {name: exact(getattr(rule, name)) for name in _PARTS}
    lists = {name: tuple(value) for name, value in parts.items() if isinstance(value, list)}
    return ColumnRule(**parts | lists)


def release_plan(table: "Table", plan: Any, *, new: bool) -> Releases:
    """Release a plan from a table."""
    return release(_complete(table, plan), table.place, table.account, new=new)


def preview_plan(table: "Table", plan: Any) -> "Outlook":
    """Preview a plan with the facts of a table."""
    return _complete(table, plan).preview()


def _complete(table: "Table", plan: Any) -> Plan:
    """A plan with the facts that it leaves to the table. A plan that disagrees with the table is refused."""

    def fill(content: Mapping[str, Any]) -> Mapping[str, Any]:
        return _fill(table, content)

    if isinstance(plan, Plan):
        made = plan
    else:
        made = Plan.of(fill(plan)) if isinstance(plan, Mapping) else Plan.load_with(plan, fill)
    if problems := list(_list_differences(table, made)):
        raise PlanError(problems)
    return made


def _fill(table: "Table", content: Mapping[str, Any]) -> Mapping[str, Any]:
    """The content of a plan with the parts that it does not have."""
    parts = {name: content.get(name, {}) for name in ("columns", "derive", "budget")}
    if not all(isinstance(part, Mapping) for part in parts.values()):
        return content
    rules = {name: rule for name, rule in table.columns.items() if name not in table.formulas}
    rules |= {name: rule for name, rule in table.columns.items() if name not in rules and rule.levels is None}
    account = table.account
    dataset = account.dataset if isinstance(account, Account) else table.dataset
    return {
        **content,
        "data": content.get("data", _data_of(table)),
        "columns": {name: _column_of(rule) for name, rule in rules.items()} | dict(parts["columns"]),
        "derive": dict(table.formulas) | dict(parts["derive"]),
        "budget": ({} if dataset is None else {"dataset": dataset}) | dict(parts["budget"]),
    }


def _data_of(table: "Table") -> dict[str, Any]:
    """The part ``[data]`` of a plan, without its source."""
    data = {name: getattr(table, name) for name in (*_FACTS, "expected_rows")} | {"where": table.condition}
    if (person := table.person) is not None:
        data |= {name: dict(part) if isinstance(part, Mapping) else part for name, part in person.keywords.items()}
        data |= {"plausible_rows": person.plausible_rows, "plausible_shift": person.plausible_shift}
        if data["plausible_rows"] is not None:
            data["plausible_rows"] = {str(number): share for number, share in data["plausible_rows"].items()}
    return {name: value for name, value in data.items() if value is not None}


def _column_of(rule: ColumnRule) -> dict[str, Any]:
    """The rule of a column as a plan has it: numbers are decimals, and dates are dates."""
    parts = {name: getattr(rule, name) for name in _PARTS}
    # Categories that look like numbers or dates are text.
    kept = ("levels", "other", "values", *(["missing"] if rule.levels is not None else []))
    return {
        name: list(value) if name == "levels" else value if name in kept else _as_toml(value)
        for name, value in parts.items()
        if value is not None
    }


def _as_toml(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_as_toml(each) for each in value]
    if isinstance(value, bool | date) or value in ("skip", "level"):
        return value
    if isinstance(value, str) and (moment := read_time(value)) is not None:
        return moment
    number = _check.fraction(value, "a number of the table")
    with localcontext() as context:
        context.prec = _DIGITS
        decimal = Decimal(number.numerator) / Decimal(number.denominator)
    if Fraction(decimal) != number:
        raise ValueError(f"a plan has decimal numbers of at most {_DIGITS} digits, got {_check.shown(value)}")
    return decimal


def _list_differences(table: "Table", plan: Plan) -> list[str]:
    """Facts that the plan declares otherwise than the table."""
    theirs = type(table)(**facts_of(plan) | {"data": None, "table": None, "engine": None, "written": {}})
    persons = [None if one.person is None else one.person.keywords for one in (theirs, table)]
    pairs = {f"data.{name}": (getattr(theirs, name), getattr(table, name)) for name in _FACTS}
    pairs["data.person"] = persons[0], persons[1]
    if table.condition is not None:
        pairs["data.where"] = theirs.condition, table.condition
    for name in theirs.columns.keys() & table.columns.keys():
        pairs[f"columns.{name}"] = _column_of(theirs.columns[name]), _column_of(table.columns[name])
    for name in theirs.formulas.keys() & table.formulas.keys():
        pairs[f"derive.{name}"] = theirs.formulas[name], table.formulas[name]
    remedy = "leave it out of the plan, or declare the same in both"
    return [f"{place}: the table declares it differently; {remedy}" for place, (a, b) in pairs.items() if a != b]
