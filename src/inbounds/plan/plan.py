"""A plan: a file that says what to release. All of it is checked before anything is read or spent.

docs/plans.md explains the file, and docs/plan-reference.md lists its keys.
All mistakes are reported at once. Each message has the place, the rule and what to write instead.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from glob import has_magic
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, PrivateAttr, StrictStr, ValidationError

from inbounds import _check
from inbounds._text import visible
from inbounds.forecasts.guesses import check_guess
from inbounds.forecasts.wanted import Wanted
from inbounds.ledger import Account, name_in
from inbounds.plan.columns import WAYS, add_derived, add_values, combine_conditions, exact, floats, group_keywords
from inbounds.plan.draws import arrange, make_group
from inbounds.plan.items import OWN_KEYS, list_item_problems
from inbounds.plan.mistakes import PlanError as PlanError
from inbounds.plan.mistakes import explain_plan, find_unfilled, hint_at_form
from inbounds.plan.model import PARTS, Budget, Column, Data, Item, Part
from inbounds.plan.persons import list_person_problems, list_rule, person_keywords
from inbounds.plan.references import settle_references
from inbounds.privacy.terms import Terms
from inbounds.record.charges import digest_of
from inbounds.record.codec import MOST_RELEASES
from inbounds.record.draft import Draft
from inbounds.record.selection import draft_statistic
from inbounds.record.statistic import Statistic, find_statistic
from inbounds.road.run import Place
from inbounds.tables.zones import check_zone

if TYPE_CHECKING:
    from inbounds.forecasts.outlook import Outlook


# How many rows a preview assumes where their number is protected and the plan states none. A note says so.
ASSUMED_ROWS = 1000


class Plan(Part):
    """What to release from which table, and at what cost. Made by `load` or `of`.

    Attributes
    ----------
    data
        The table, and what is public about it.
    budget
        What the plan spends, and the ledger in which that is recorded.
    columns
        The public rule of each column, by name.
    release
        The releases, in order.

    Examples
    --------
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
    derive: dict[str, StrictStr] = Field(
        default_factory=dict, description="columns that are computed from others of the record: conditions or numbers"
    )
    columns: dict[str, Column] = Field(default_factory=dict)
    release: list[Item] = Field(min_length=1, max_length=MOST_RELEASES)
    _drafts: dict[str, tuple[Any, dict[str, Draft]]] = PrivateAttr(default_factory=dict)

    @classmethod
    def load(cls, path: str | Path) -> "Plan":
        """Read a plan from a TOML file.

        Parameters
        ----------
        path
            The file. Relative paths in it start from its folder.

        Returns
        -------
        Plan
            The plan, checked.

        Raises
        ------
        PlanError
            If the file cannot be read or has mistakes. It lists all of them.
        """
        return cls.load_with(path, lambda content: content)

    @classmethod
    def load_with(cls, path: str | Path, complete: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> "Plan":
        """Read a plan from a TOML file whose content is completed first; see `load`."""
        if not isinstance(path, str | PathLike):
            raise TypeError(f"a plan must be a Plan or its file, got {_check.shown(path)}; Plan.of takes a dictionary")
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
            mistakes = find_unfilled(text) or [f"is not TOML: {error}{hint_at_form(text, error)}"]
            raise PlanError(mistakes, str(path)) from None
        if 'statistic = "STATISTIC"' in text:
            raise PlanError(find_unfilled(text), str(path))
        plan = cls._parse(settle_references(complete(content), path.parent, str(path)), str(path))
        data, budget = plan.data, plan.budget
        if data.source is not None and "://" not in data.source and not data.source.startswith("env:"):
            if has_magic(str(path.parent)) and not Path(data.source).is_absolute():
                rule = "the name of the plan's folder has *, ? or [, which would be read as a file pattern; rename it"
                raise PlanError([f"data.source: {rule}"], str(path))
            data = data.model_copy(update={"source": str(path.parent / data.source)})
        if budget.ledger is not None:
            budget = budget.model_copy(update={"ledger": str(path.parent / budget.ledger)})
        return plan.model_copy(update={"data": data, "budget": budget})._with_charged_name(str(path))

    @classmethod
    def of(cls, content: Mapping[str, Any], name: str = "the plan") -> "Plan":
        """Make a plan from a dictionary with the content of a plan's file.

        Parameters
        ----------
        content
            The content, by key.
        name
            A name for the plan, for messages.

        Returns
        -------
        Plan
            The plan, checked.

        Raises
        ------
        PlanError
            If there are mistakes. It lists all of them.
        """
        if not isinstance(content, Mapping):
            raise TypeError(f"content must be a dictionary, got {_check.shown(content)}; Plan.load reads a file")
        return cls._parse(settle_references(content, Path(), name), name)._with_charged_name(name)

    def _with_charged_name(self, name: str) -> "Plan":
        """The same plan, with the name under which its dataset is charged."""
        place = None if self.budget.ledger is None else Path(self.budget.ledger)
        try:
            dataset = name_in(place, self.budget.dataset)
        except ValueError as error:
            raise PlanError([f"budget.dataset: {error}"], name) from None
        if dataset == self.budget.dataset:
            return self
        return self.model_copy(update={"budget": self.budget.model_copy(update={"dataset": dataset})})

    @classmethod
    def _parse(cls, content: Mapping[str, Any], name: str) -> "Plan":
        """Parse a plan and draft its releases. Raises a `PlanError` with all mistakes."""
        try:
            plan = cls.model_validate(content)._with_dataset()
        except ValidationError as error:
            raise PlanError(explain_plan(error, content, cls, PARTS), name) from None
        columns, wrong = add_derived(
            plan.columns, plan.derive, lambda levels: Column.model_validate({"levels": levels})
        )
        if wrong:
            raise PlanError(wrong, name)
        plan = plan.model_copy(update={"columns": columns})
        problems = list(plan._problems())
        if not any(where == "data" for where, _ in problems):
            # A release that is known to be wrong is not drafted.
            problems += plan._make_drafts({where for where, _ in problems})
        if problems:
            raise PlanError([text for _, text in problems], name)
        return plan

    def _with_dataset(self) -> "Plan":
        """The same plan, with a name for its dataset."""
        if self.budget.dataset.strip():
            return self
        name = Path(self.budget.ledger or "data").name.split(".")[0] or "data"
        return self.model_copy(update={"budget": self.budget.model_copy(update={"dataset": name})})

    def _problems(self) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with names and rules: the name of the release, or "data", and the message."""
        if self.data.neighbours == "substitute" and self.data.rows is None:
            yield "data", "data.rows: needed with neighbours = 'substitute', where the number of rows is public"
        if self.data.neighbours == "add-remove" and self.data.rows is not None:
            yield (
                "data",
                "data.rows: cannot be given with neighbours = 'add-remove', where the number of rows is protected; "
                "give expected_rows, about how many there are",
            )
        for problem in list_person_problems(self.data, self.release, self.columns):
            yield "data", problem
        try:
            _ = self.data.written
            _ = self.data.time_zone is None or check_zone(self.data.time_zone)
        except (ValueError, TypeError) as error:
            key, _, rule = str(error).partition(" ")
            yield "data", f"data.{key}: {rule}"
        names = set()
        # Levels with their types, because 1 == True.
        levels = {name: {(type(level), level) for level in rule.levels or ()} for name, rule in self.columns.items()}
        for item in self.release:
            if item.name in names:
                yield item.name, f"release.{item.name}: the name is taken; names must be different"
            names.add(item.name)
            for problem in list_item_problems(item, self.columns, levels):
                yield item.name, problem

    def _make_drafts(self, wrong: set[str]) -> Iterator[tuple[str, str]]:
        """Draft each release once and keep the drafts. Yields the errors of releases that cannot be drafted."""
        requests: dict[str, tuple[Statistic, Terms]] = {}
        epsilons = self.epsilons
        for item in self.release:
            if item.name not in wrong:
                try:
                    requests[item.name] = self.wanted_of(item, epsilons[item.name]).ask()
                except (ValueError, TypeError) as error:
                    yield item.name, f"release.{item.name}: {error}"
        drafts: dict[str, Draft] = {}
        for names in self._arrange(requests):
            try:
                drafts |= _draft_together(names, requests)
            except (ValueError, TypeError) as error:
                yield names[0], f"release.{names[0]}: {error}"
        yield from self._check_guesses(drafts)
        # In the order of the plan.
        self._drafts["of"] = self._identity(), {name: drafts[name] for name in requests if name in drafts}

    def _check_guesses(self, drafts: Mapping[str, Draft]) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with the plausible truths that are stated: of each release as it is drawn, and alone."""
        epsilons = self.epsilons
        for item in self.release:
            if item.plausible is None or item.name not in drafts:
                continue
            record, wanted = drafts[item.name].record, self.wanted_of(item, epsilons[item.name])
            try:
                check_guess(wanted, record)
                if record.group is not None:
                    check_guess(wanted, wanted.draft().record)
            except (ValueError, TypeError, ArithmeticError) as error:
                yield item.name, f"release.{item.name}.plausible: {str(error).removeprefix('plausible ')}"

    def _arrange(self, requests: Mapping[str, tuple[Statistic, Terms]]) -> list[list[str]]:
        """Group the releases that are drawn together. Each of the others is a group of one."""
        joint = {item.name for item in self.release if self.budget.joint and item.joint}
        groups = arrange({name: request for name, request in requests.items() if name in joint})
        grouped = {name for names in groups for name in names}
        return [*groups, *([name] for name in requests if name not in grouped)]

    def _identity(self) -> tuple[Any, ...]:
        """All that the drafts depend on."""
        data, budget = self.data, self.budget
        terms = data.rows, data.expected_rows, data.neighbours, data.contributions, budget.epsilon, budget.joint
        rest = data.where, data.time_zone, dict(self.derive), dict(self.columns), tuple(self.release)
        return *terms, *list_rule(data), *rest

    @property
    def unprovided(self) -> dict[str, list[str]]:
        """Columns without a rule for missing values (``"missing"``), or for values that are no level (``"other"``)."""
        names = (name for item in self.release for name in (*item.columns, *item.groups))
        columns = dict.fromkeys(name for name in names if name in self.columns)
        with_levels = {
            name
            for item in self.release
            for name in (*(item.columns if _has_cells(item) else ()), *item.groups)
            if name in self.columns and self.columns[name].levels is not None
        }
        return {
            "missing": [name for name in columns if self.columns[name].missing is None],
            "other": [name for name in columns if name in with_levels and self.columns[name].other is None],
        }

    def __repr__(self) -> str:
        return f"<Plan: {', '.join(visible(item.name) for item in self.release)}; epsilon {self.budget.epsilon:g}>"

    def __str__(self) -> str:
        return repr(self)

    @property
    def epsilons(self) -> dict[str, Fraction]:
        """The ε of each release: its share of the budget. The shares add up to the budget exactly."""
        total = sum(Fraction(item.share) for item in self.release)
        return {item.name: Fraction(self.budget.epsilon) * Fraction(item.share) / total for item in self.release}

    def with_epsilon(self, epsilon: Decimal) -> "Plan":
        """The same plan with another budget, which is drafted again."""
        plan = self.model_copy(update={"budget": self.budget.model_copy(update={"epsilon": epsilon})})
        plan._drafts = dict(self._drafts)
        return plan

    def with_contributions(self, contributions: int) -> "Plan":
        """The same plan with another number of rows of each person, which is drafted again."""
        plan = self.model_copy(update={"data": self.data.model_copy(update={"contributions": contributions})})
        plan._drafts = dict(self._drafts)
        return plan

    def wanted(self) -> dict[str, Wanted]:
        """The statistic and keywords of each release, by name."""
        epsilons = self.epsilons
        return {item.name: self.wanted_of(item, epsilons[item.name]) for item in self.release}

    def wanted_of(self, item: Item, epsilon: Fraction) -> Wanted:
        """The statistic and keywords of one release."""
        keywords = self._keywords(item, epsilon)
        expected, rows = self.expected_rows, floats(self.data.plausible_rows)
        shift = floats(self.data.plausible_shift)
        guesses = {"plausible_rows": rows, "plausible_shift": shift}
        plausible = add_values(floats(item.plausible), item, self.columns)
        return Wanted(item.statistic, keywords, plausible, expected, **guesses)

    @property
    def expected_rows(self) -> int | None:
        """About how many rows there are, if that is protected; a thousand if the plan does not say."""
        stated = self.data.expected_rows
        return ASSUMED_ROWS if stated is None and self.data.neighbours == "add-remove" else stated

    @property
    def notes_on_rows(self) -> list[str]:
        """A note for previews where the plan does not state how many rows there are; otherwise an empty list."""
        if self.expected_rows == self.data.expected_rows:
            return []
        return [
            "The plan does not state how many rows there are. Errors are as if there were "
            f"{self.expected_rows:,}: write expected_rows = ... under [data]."
        ]

    def drafts(self) -> dict[str, Draft]:
        """The drafts of all releases, by name. They are made when the plan is checked, and again for a changed copy."""
        if self._drafts["of"][0] != self._identity() and (problems := list(self._make_drafts(set()))):
            # What was refused once must be refused again.
            self._drafts["of"] = None, {}
            raise PlanError([text for _, text in problems])
        drafts: dict[str, Draft] = self._drafts["of"][1]
        return drafts

    def preview(self) -> "Outlook":
        """Show the cost and the expected error of each release. Reads no data and spends nothing."""
        from inbounds.forecasts.outlook import outlook

        return outlook(self)

    @property
    def place(self) -> Place | None:
        """Where the table is, or None if the plan does not say."""
        if self.data.source is None:
            return None
        return self.place_of(self.data.source)

    def place_of(self, source: str) -> Place:
        """A table at another place, in the same format as that of the plan."""
        return Place(source, self.data.table, self.data.engine, self.data.written)

    @property
    def account(self) -> Account | None:
        """The account that is charged, or None if the plan has no ledger."""
        if self.budget.ledger is None:
            return None
        budget = self.budget
        limit = Fraction(budget.epsilon if budget.limit is None else budget.limit)
        return Account(Path(self.budget.ledger), budget.dataset, limit, binding=budget.limit is not None)

    @property
    def digest(self) -> str:
        """A hash that is the same for the same releases of the same dataset."""
        return digest_of(self.budget.dataset, {name: draft.record for name, draft in self.drafts().items()})

    def _keywords(self, item: Item, epsilon: Fraction) -> dict[str, Any]:
        """The keywords of the release function."""
        rules = {name: self.columns[name] for name in item.columns}
        keywords: dict[str, Any] = {
            "epsilon": epsilon,
            "neighbours": self.data.neighbours,
            "contributions": self.data.contributions,
            "rows": self.data.rows,
            "bounding": item.bounding,
            **person_keywords(self.data, item),
            **WAYS[find_statistic(item.statistic).traits.columns].keywords(item, rules),
        }
        keywords |= group_keywords(item, self.columns)
        keywords |= {"where": combine_conditions(self.data.where, item.where), "derive": dict(self.derive) or None}
        keywords |= {"time_zone": self.data.time_zone, **{name: getattr(item, name) for name in OWN_KEYS}}
        keywords |= {name: exact(value) for name, value in (item.model_extra or {}).items()}
        return {name: value for name, value in keywords.items() if value is not None}


def _draft_together(names: list[str], requests: Mapping[str, tuple[Statistic, Terms]]) -> dict[str, Draft]:
    if len(names) == 1:
        statistic, terms = requests[names[0]]
        return {names[0]: draft_statistic(statistic, terms)}
    return dict(zip(names, make_group(names, requests).draft(), strict=True))


def _has_cells(item: Item) -> bool:
    return find_statistic(item.statistic).traits.columns in ("cells", "table", "ordered", "outcome")
