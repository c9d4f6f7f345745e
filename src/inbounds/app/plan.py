"""A plan: the file that says what to release, checked whole before anything is read or spent.

.. code-block:: toml

    [data]
    source = "survey.parquet"          # see inbounds.tables.located
    rows = 20000                       # public under "substitute"

    [budget]
    epsilon = 1.0
    ledger = "survey.ledger"
    dataset = "survey-2026"

    [columns]
    age = { bounds = [0, 100] }
    region = { levels = ["north", "south", "east", "west"] }

    [[release]]
    name = "age"
    statistic = "mean"
    columns = ["age"]

All mistakes are found at once, and each names its place, the rule and what to write instead.
"""

import hashlib
import inspect
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from glob import has_magic
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, ValidationError

from inbounds._text import visible
from inbounds.app.mistakes import PlanError as PlanError
from inbounds.app.mistakes import explained, hint, near, unfilled
from inbounds.app.parts import PARTS, Budget, Column, Data, Item, Part
from inbounds.app.wanted import STATISTICS, Wanted
from inbounds.ledger import Account, name_in
from inbounds.releases.matrices import MOST_COLUMNS
from inbounds.releases.opening import Draft
from inbounds.releases.together import Place

if TYPE_CHECKING:
    from inbounds.app.outlook import Outlook

# Of which columns a statistic is: one, one or none, or any number.
_ONE = ("mean", "sum", "proportion", "variance", "standard_deviation", "histogram", "proportions", "pooled_variance")
_MATRIX = ("covariance", "correlation", "pooled_covariance")
_BOUNDED = ("mean", "sum", "variance", "standard_deviation", "pooled_variance", *_MATRIX)
_CELLS = ("histogram", "proportions", "crosstab")
# Keys of a release that are keywords of its function.
_OWN = ("level", "repair", "method", "derived", "tree", "denominator")
# Cells of one table.
_MOST_CELLS = 10**7
# Levels of a column of which no level need be named.
_ZERO_ONE = {(kind, kind(one)) for kind in (int, bool) for one in (0, 1)}
# More releases than this are a slip of the pen, and each costs time to verify.
_MOST_RELEASES = 500


class Plan(Part):
    """What to release of which table, at what cost.

    >>> plan = Plan.of({
    ...     "data": {"rows": 1000},
    ...     "budget": {"epsilon": 1},
    ...     "columns": {"age": {"bounds": [0, 100]}},
    ...     "release": [{"name": "age", "statistic": "mean", "columns": ["age"]}],
    ... })
    >>> plan.epsilons
    {'age': Fraction(1, 1)}
    """

    data: Data
    budget: Budget
    columns: dict[str, Column] = Field(default_factory=dict)
    release: list[Item] = Field(min_length=1, max_length=_MOST_RELEASES)

    @classmethod
    def load(cls, path: str | Path) -> "Plan":
        """The plan in a TOML file; `PlanError` with all its mistakes. Paths in it are seen from its folder."""
        path = Path(path)
        try:
            text = path.read_text("utf-8-sig")
        except OSError as error:
            raise PlanError([f"cannot be read: {error.strerror or 'no such file'}"], str(path)) from None
        except UnicodeDecodeError:
            raise PlanError(["is not text in UTF-8"], str(path)) from None
        try:
            content = tomllib.loads(text, parse_float=Decimal)
        except (ValueError, ArithmeticError, RecursionError) as error:
            raise PlanError(unfilled(text) or [f"is not TOML: {error}{hint(str(error))}"], str(path)) from None
        if 'statistic = "STATISTIC"' in text:
            raise PlanError(unfilled(text), str(path))
        plan = cls.recorded(content, name=str(path))
        data, budget = plan.data, plan.budget
        if data.source is not None and "://" not in data.source and not data.source.startswith("env:"):
            if has_magic(str(path.parent)) and not Path(data.source).is_absolute():
                said = (
                    "the plan's folder has *, ? or [ in its name, which would be read as a pattern of files; rename it"
                )
                raise PlanError([f"data.source: {said}"], str(path))
            data = data.model_copy(update={"source": str(path.parent / data.source)})
        if budget.ledger is not None:
            budget = budget.model_copy(update={"ledger": str(path.parent / budget.ledger)})
        return plan.model_copy(update={"data": data, "budget": budget})._charged(str(path))

    @classmethod
    def of(cls, content: Mapping[str, Any], name: str = "the plan") -> "Plan":
        """The plan in a dictionary, checked."""
        return cls.recorded(content, name)._charged(name)

    def _charged(self, name: str) -> "Plan":
        """The same plan with its dataset's name as it is charged."""
        place = None if self.budget.ledger is None else Path(self.budget.ledger)
        try:
            dataset = name_in(place, self.budget.dataset)
        except ValueError as error:
            raise PlanError([f"budget.dataset: {error}"], name) from None
        if dataset == self.budget.dataset:
            return self
        return self.model_copy(update={"budget": self.budget.model_copy(update={"dataset": dataset})})

    @classmethod
    def recorded(cls, content: Mapping[str, Any], name: str = "the plan") -> "Plan":
        """The plan as a record has it, checked; the name of its dataset is left as it was charged."""
        try:
            plan = cls.model_validate(content)._with_dataset()
        except ValidationError as error:
            raise PlanError([explained(one, content, cls, PARTS) for one in error.errors()], name) from None
        problems = list(plan._problems())
        # Releases that are wrong already are not asked what else there is.
        said = "\n".join(problems)
        wrong = {item.name for item in plan.release if re.search(rf"release\.{re.escape(item.name)}(\W|$)", said)}
        if not any(one.startswith("data.") for one in problems):
            problems += plan._undrafted(wrong)
        if problems:
            raise PlanError(problems, name)
        return plan

    @classmethod
    def of_record(cls, content: Any) -> "Plan":
        """The request of a record, which anybody may have written: refused at its first mistake, and not drafted.

        What it asks for may be far more than the record holds, so that drafting is left until that is known.
        """
        if _is_crowded(content):
            raise PlanError(["has more values, or longer lists of them, than a plan can have"])
        try:
            plan = cls.model_validate(content)._with_dataset()
        except ValidationError:
            raise PlanError(["is not one by its keys and values"]) from None
        if (problem := next(plan._problems(), None)) is not None:
            raise PlanError([problem])
        return plan

    def _with_dataset(self) -> "Plan":
        """With a name for its dataset."""
        if self.budget.dataset.strip():
            return self
        name = Path(self.budget.ledger or "data").name.split(".")[0] or "data"
        return self.model_copy(update={"budget": self.budget.model_copy(update={"dataset": name})})

    def sizes(self, item: Item) -> tuple[int, ...]:
        """Cells of each column that a release counts in, and the number of its columns: what its draft takes."""
        tables = item.columns if item.statistic in _CELLS else ()
        cells = [_cells(self.columns[name]) for name in (*tables, *([] if item.by is None else [item.by]))]
        return (*cells, len(item.columns) if item.statistic in _BOUNDED else 0)

    def _problems(self) -> Iterator[str]:
        """What is wrong with names and rules."""
        if self.data.neighbours == "substitute" and self.data.rows is None:
            yield "data.rows: needed under neighbours = 'substitute', where the number of rows is public"
        if self.data.neighbours == "add-remove" and self.data.rows is not None:
            yield "data.rows: is protected under neighbours = 'add-remove'; say about how many with expected_rows"
        seen = set()
        # Each level with its type, once for all releases: 1 is not True.
        levels = {name: {(type(one), one) for one in rule.levels or ()} for name, rule in self.columns.items()}
        for item in self.release:
            if item.name in seen:
                yield f"release.{item.name}: the name is taken; names must be different"
            seen.add(item.name)
            yield from self._problems_of(item, levels)

    def _problems_of(self, item: Item, levels: Mapping[str, set[Any]]) -> Iterator[str]:
        where = f"release.{item.name}"
        for column in dict.fromkeys([*item.columns, *([item.by] if item.by is not None else [])]):
            if column not in self.columns:
                yield f"{where}: columns.{column}: no such column{near(column, self.columns)}"
        if len(set(item.columns)) < len(item.columns) or item.by in item.columns:
            yield f"{where}.columns: name each column once"
        if len(item.columns) > MOST_COLUMNS:
            yield f"{where}.columns: more than {MOST_COLUMNS} columns"
            return
        sizes = [_cells(self.columns[name]) for name in item.columns if name in self.columns]
        if item.statistic in _CELLS and prod(sizes) > _MOST_CELLS:
            yield f"{where}.columns: the table would have more than {_MOST_CELLS:,} cells"
        known = inspect.signature(STATISTICS[item.statistic]).parameters
        for key in (*_OWN, "sizes", "by"):
            if getattr(item, key) is not None and key not in known:
                others = [name for name, one in STATISTICS.items() if key in inspect.signature(one).parameters]
                yield f"{where}.{key}: does not go with {item.statistic}; it goes with {', '.join(others)}"
        yield from self._problems_of_level(item, levels)
        if item.statistic in _ONE and len(item.columns) != 1:
            yield f"{where}.columns: {item.statistic} is of one column, as in columns = ['age']"
        if item.statistic in _MATRIX and len(item.columns) < 2:
            yield f"{where}.columns: {item.statistic} is of two columns or more"
        if item.statistic == "crosstab" and not item.columns:
            yield f"{where}.columns: name the columns of the table"
        if item.statistic == "count" and len(item.columns) > 1:
            yield f"{where}.columns: count is of one column, or of all records"
        if item.by is not None and item.by in self.columns and self.columns[item.by].levels is None:
            yield f"columns.{item.by}: levels = [...] are needed, the groups of release.{item.name}"
        for column in item.columns:
            rule = self.columns.get(column)
            if rule is None:
                continue
            if item.statistic in _BOUNDED and rule.bounds is None:
                yield f"columns.{column}: bounds = [lower, upper] are needed for release.{item.name}"
            if item.statistic in _CELLS and rule.levels is None and rule.edges is None:
                yield f"columns.{column}: levels = [...] or edges = [...] are needed for release.{item.name}"

    def _problems_of_level(self, item: Item, levels: Mapping[str, set[Any]]) -> Iterator[str]:
        """What is counted must be one of the column's levels, where those are known."""
        if item.statistic not in ("count", "proportion") or len(item.columns) != 1:
            return
        rule = self.columns.get(item.columns[0])
        if rule is None or rule.levels is None:
            return
        known = levels[item.columns[0]]
        if item.level is None and not known <= _ZERO_ONE:
            yield f"release.{item.name}.level: needed, one of {_listed(rule.levels)}"
        elif item.level is not None and (type(item.level), item.level) not in known:
            yield f"release.{item.name}.level: must be one of {_listed(rule.levels)}, got {item.level!r}"

    def _undrafted(self, wrong: set[str]) -> Iterator[str]:
        """What the releases themselves would refuse."""
        epsilons = self.epsilons
        for item in self.release:
            if item.name in wrong:
                continue
            try:
                self.wanted_of(item, epsilons[item.name]).draft()
            except (ValueError, TypeError) as error:
                yield f"release.{item.name}: {error}"

    @property
    def unprovided(self) -> dict[str, list[str]]:
        """Columns whose rule does not say what a missing value, or one that is no level, counts as: by those words."""
        used = dict.fromkeys(name for item in self.release for name in (*item.columns, item.by) if name in self.columns)
        sorted_out = {
            name
            for item in self.release
            for name in (*(item.columns if item.statistic in _CELLS else ()), item.by)
            if name in self.columns and self.columns[name].levels is not None
        }
        return {
            "missing": [name for name in used if self.columns[name].missing is None],
            "other": [name for name in used if name in sorted_out and self.columns[name].other is None],
        }

    def __repr__(self) -> str:
        return f"<Plan: {', '.join(visible(item.name) for item in self.release)}; epsilon {self.budget.epsilon:g}>"

    def __str__(self) -> str:
        return repr(self)

    @property
    def epsilons(self) -> dict[str, Fraction]:
        """ε of each release: its share of the budget. They add up to it exactly."""
        total = sum(Fraction(item.share) for item in self.release)
        return {item.name: Fraction(self.budget.epsilon) * Fraction(item.share) / total for item in self.release}

    def wanted(self) -> dict[str, Wanted]:
        """Each release as its function is asked for it."""
        epsilons = self.epsilons
        return {item.name: self.wanted_of(item, epsilons[item.name]) for item in self.release}

    def wanted_of(self, item: Item, epsilon: Fraction) -> Wanted:
        """One release as its function is asked for it."""
        keywords = self._keywords(item, epsilon)
        return Wanted(item.statistic, keywords, _floats(item.plausible), expected_rows=self.data.expected_rows)

    def drafts(self) -> dict[str, Draft]:
        """Each release before the data."""
        return {name: wanted.draft() for name, wanted in self.wanted().items()}

    def preview(self) -> "Outlook":
        """What each release would cost and how far off it would be. Reads no data and spends nothing."""
        from inbounds.app.outlook import outlook

        return outlook(self)

    @property
    def place(self) -> Place | None:
        """Where the table lives."""
        if self.data.source is None:
            return None
        return Place(self.data.source, self.data.table, self.data.engine)

    @property
    def account(self) -> Account | None:
        """Where spending is written down."""
        if self.budget.ledger is None:
            return None
        limit = Fraction(self.budget.epsilon if self.budget.limit is None else self.budget.limit)
        return Account(Path(self.budget.ledger), self.budget.dataset, limit)

    def request(self) -> dict[str, Any]:
        """What is asked for, in plain values: all that decides what is drawn, and nothing that says where."""
        used = {name for item in self.release for name in (*item.columns, item.by)}
        body: dict[str, Any] = _plainly(self.model_dump(exclude_none=True, exclude_defaults=True))
        body["data"] = {name: value for name, value in body["data"].items() if name not in _WHERE}
        body["budget"] = {"epsilon": _plainly(self.budget.epsilon), "dataset": self.budget.dataset}
        body["columns"] = {name: rule for name, rule in body.get("columns", {}).items() if name in used}
        for item in body["release"]:
            item.pop("plausible", None)
        return body

    @property
    def digest(self) -> str:
        """The identity of the request: the same for the same releases of the same dataset."""
        return digest(self.request())

    def _keywords(self, item: Item, epsilon: Fraction) -> dict[str, Any]:
        """The keywords of the release function."""
        rules = {name: self.columns[name] for name in item.columns}
        made: dict[str, Any] = {
            "epsilon": epsilon,
            "neighbours": self.data.neighbours,
            "contributions": self.data.contributions,
            "rows": self.data.rows,
            "bounding": item.bounding,
            **self._of_columns(item, rules),
        }
        if item.by is not None:
            groups = self.columns[item.by]
            made |= {"by": item.by, "levels": groups.levels, "by_missing": groups.missing, "other": groups.other}
            if item.sizes is not None:
                # Keys of TOML are text, whatever the levels are.
                levels = {
                    str(level).lower() if isinstance(level, bool) else str(level): level
                    for level in groups.levels or ()
                }
                made["sizes"] = {levels.get(name, name): size for name, size in item.sizes.items()}
        made |= {name: getattr(item, name) for name in _OWN}
        return {name: value for name, value in made.items() if value is not None}

    def _of_columns(self, item: Item, rules: Mapping[str, Column]) -> dict[str, Any]:
        if item.statistic in ("covariance", "correlation", "pooled_covariance"):
            made: dict[str, Any] = {"bounds": {name: _exact(rule.bounds) for name, rule in rules.items()}}
            made["missing"] = {name: _exact(rule.missing) for name, rule in rules.items() if rule.missing is not None}
            made["integer"] = [name for name, rule in rules.items() if rule.integer]
            return {name: value for name, value in made.items() if value}
        if item.statistic == "crosstab":
            made = {
                word: {
                    name: _exact(getattr(rule, word)) for name, rule in rules.items() if getattr(rule, word) is not None
                }
                for word in ("levels", "edges", "missing", "other")
            }
            # A column with both has intervals only where it has no levels.
            made["edges"] = {name: edges for name, edges in made["edges"].items() if name not in made["levels"]}
            return {name: value for name, value in made.items() if value}
        if not rules:
            return {}
        ((name, rule),) = rules.items()
        made = {"column": name}
        if item.statistic in _BOUNDED:
            made |= {"bounds": _exact(rule.bounds), "missing": _exact(rule.missing), "integer": rule.integer or None}
        elif item.statistic in _CELLS:
            which = "levels" if rule.levels is not None else "edges"
            made |= {which: _exact(getattr(rule, which)), "missing": _exact(rule.missing), "other": rule.other}
        elif rule.missing is not None:
            # count and proportion: whether a missing value counts as the level.
            made["missing"] = rule.missing == (1 if item.level is None else item.level)
        return made


# Keys of [data] that say where the table is and not what is asked.
_WHERE = ("source", "table", "engine", "expected_rows")


def _cells(rule: Column) -> int:
    return len(rule.levels) if rule.levels is not None else max(len(rule.edges or []) - 1, 0)


def _listed(levels: list[Any]) -> str:
    return ", ".join(map(repr, levels))


def _is_crowded(content: Any) -> bool:
    """Whether lists hold what no list of a plan holds, each of which would be a mistake to be told."""
    seen, kinds = [content], (str, int, bool, list, dict)
    for one in seen:
        values = list(one.values()) if isinstance(one, dict) else one
        if isinstance(one, list) and not all(type(value) in kinds for value in values):
            return True
        seen += [value for value in values if isinstance(value, list | dict)]
    return False


def digest(body: Mapping[str, Any]) -> str:
    """SHA-256 of plain values in one canonical form."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _plainly(value: Any) -> Any:
    """Plain values, in which 1, 1.0 and 1.00 are the same number, and no number is text."""
    if isinstance(value, dict):
        return {str(name): _plainly(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plainly(one) for one in value]
    if not isinstance(value, Decimal):
        return value
    # Not `normalize`, which rounds to the digits of the context.
    whole, over = value.as_integer_ratio()
    return whole if over == 1 else {"number": format(value, "f").rstrip("0")}


def _floats(value: Any) -> Any:
    """Decimal numbers as doubles, also inside lists: for what only previews use."""
    if isinstance(value, Decimal):
        return float(value)
    return [_floats(one) for one in value] if isinstance(value, list | tuple) else value


def _exact(value: Any) -> Any:
    """Decimal numbers as fractions, also inside lists."""
    if isinstance(value, Decimal):
        return Fraction(value)
    return [_exact(one) for one in value] if isinstance(value, list | tuple) else value
