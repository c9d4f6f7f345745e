"""A table, declared once: the public rules of its columns, what is protected, and where releases are charged.

It is the Python twin of the parts ``[data]`` and ``[columns]`` of a plan. Its methods call the release functions.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from inbounds import _check, functions
from inbounds._frozen import FrozenMap
from inbounds._keywords import explain_making
from inbounds._types import Data, Ledger, Neighbours, Number
from inbounds.forecasts.preview import Preview, preview_wanted
from inbounds.forecasts.wanted import Wanted
from inbounds.ledger import Account
from inbounds.plan.columns import WAYS, Rule, add_derived, add_values, combine_conditions, group_keywords
from inbounds.plan.declare import ColumnRule, Person, show_value
from inbounds.plan.preview import names_plan, require_alone
from inbounds.plan.table_mistakes import list_mistakes, name_column
from inbounds.plan.table_statistics import TableRequest, TableStatistics
from inbounds.record.release import Release
from inbounds.record.statistic import find_statistic
from inbounds.road.run import Place
from inbounds.tables.formats import Format

if TYPE_CHECKING:
    from inbounds.forecasts.outlook import Outlook
    from inbounds.plan.plan import Plan
    from inbounds.record.record import Releases


@explain_making("Table('survey.csv', rows=20_000, columns={'age': ib.number(18, 100)})")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table(TableStatistics):
    """A table with everything that is public about it, declared once.

    Statistics are methods with few keywords: ``survey.mean("age", epsilon=0.2)`` is the same release as `inbounds.mean`
    with all rules written out. Mistakes in names, columns and categories raise an error before anything is spent.
    Printing the table shows its rules. It never shows data.

    Parameters
    ----------
    data
        The table: a frame (pandas, Polars, PyArrow, DuckDB, Spark, Dask, Ibis), a dictionary of columns, or a path or
        URL of CSV, Parquet, Excel, DuckDB or PostgreSQL. It may be left out for previews.
    columns
        The public rule of each column that is used, from `inbounds.number` or `inbounds.category`.
    rows
        The public number of rows, or of persons with ``person``. A table of another size is refused.
    expected_rows
        About how many rows there are, for previews, with ``neighbours="add-remove"``.
    neighbours
        ``"substitute"``: one row changes its values, and the number of rows is public. ``"add-remove"``: one row is
        added or removed, and the number of rows is protected.
    contributions
        The largest number of rows that one person may have, if no column identifies persons.
    person
        The column that identifies persons, with its rules: an `inbounds.Person`.
    ledger, dataset, limit
        Where releases are charged: the file of a ledger or an `inbounds.ledger.Account`, the name of the dataset, and
        the limit that a new dataset gets.
    time_zone
        The time zone for timestamps that have one, such as ``"Europe/Berlin"``.
    table, engine
        The table of a DuckDB file or a PostgreSQL server, and the engine that reads a Parquet file.
    written
        How a CSV or Excel file is written, by the keys of a plan, as in ``{"separator": ";", "decimal": ","}``.
    condition, formulas
        The condition of all statistics and the formulas of derived columns. `where` and `derive` set them.

    Raises
    ------
    TypeError, ValueError
        If a rule is impossible, or cannot be combined with another. The message names the column.

    Examples
    --------
    >>> import inbounds as ib
    >>> data = {"age": [23, 35, 62, 41] * 500, "smoker": ["no", "no", "yes", "no"] * 500}
    >>> survey = Table(data, columns={"age": ib.number(18, 100, missing="skip"), "smoker": ib.category("yes", "no")})
    >>> survey
    Table(columns={'age': number(18, 100, missing='skip'), 'smoker': category('yes', 'no')})
    >>> survey.mean("age", by="smoker", epsilon=0.5).value.shape
    (2,)
    >>> 0 <= survey.where("age >= 30").proportion("smoker", "yes", epsilon=0.5).value <= 1
    True
    >>> survey.proportion("smoker", "Yes", epsilon=0.5)
    Traceback (most recent call last):
    ...
    ValueError: column 'smoker' has no category 'Yes'; did you mean 'yes'? Its categories are 'yes', 'no'
    """

    data: Data | None = None
    _: KW_ONLY
    columns: Mapping[str, ColumnRule] = field(default_factory=dict)
    rows: int | None = None
    expected_rows: int | None = None
    neighbours: Neighbours = "substitute"
    contributions: int = 1
    person: Person | None = None
    ledger: Ledger | None = None
    dataset: str | None = None
    limit: Number | None = None
    time_zone: str | None = None
    table: str | None = None
    engine: str | None = None
    written: Mapping[str, Any] = field(default_factory=dict)
    condition: str | None = None
    formulas: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping):
            raise TypeError("columns must be a dictionary of rules, as in {'age': ib.number(18, 100)}")
        for name, rule in self.columns.items():
            if not isinstance(rule, ColumnRule):
                raise TypeError(
                    f"column {name_column(name)} must be ib.number(lower, upper) or ib.category('yes', 'no'), "
                    f"got {_check.shown(rule)}"
                )
        rules = {name: rule.checked(name) for name, rule in self.columns.items()}
        rules, problems = add_derived(rules, self.formulas, lambda levels: ColumnRule(levels=tuple(levels)))
        if problems:
            raise ValueError(problems[0])
        for name, facts in {"columns": rules, "formulas": self.formulas, "written": self.written}.items():
            object.__setattr__(self, name, FrozenMap(facts))
        self._check_facts()
        _ = self._source

    def _check_facts(self) -> None:
        if self.person is not None and not isinstance(self.person, Person):
            raise TypeError(f"person must be ib.Person('id', rows=2), got {_check.shown(self.person)}")
        if self.person is not None and self.contributions != 1:
            raise TypeError("contributions= cannot be combined with person=; write ib.Person(..., rows=2)")
        if self.rows is not None and self.neighbours == "add-remove":
            raise ValueError("rows= cannot be combined with neighbours='add-remove'; write expected_rows= for previews")
        if self.expected_rows is not None and self.neighbours != "add-remove":
            raise ValueError("expected_rows= is for neighbours='add-remove'; write rows=, the public number of rows")
        if self.ledger is None and self.limit is not None:
            raise TypeError("limit= needs ledger=, the file where releases are charged")
        if isinstance(self.ledger, Account) and (self.dataset, self.limit) != (None, None):
            raise TypeError("dataset= and limit= are parts of the Account that is given as ledger=; leave them out")
        if self.limit is not None and self.dataset is None:
            raise TypeError("limit= needs dataset=, the name of the dataset in the ledger")

    def __repr__(self) -> str:
        names = ["columns", "rows", "expected_rows", "neighbours", "contributions", "person", "ledger", "dataset"]
        names += ["limit", "time_zone", "condition", "formulas"]
        defaults = {each.name: each.default for each in fields(self)}
        shown = [
            f"{name}={show_value(value)}"
            for name in names
            if (value := getattr(self, name)) not in (None, {}) and value != defaults[name]
        ]
        return f"Table({', '.join(shown)})"

    @classmethod
    def of(cls, plan: "Plan | str | Path", data: Data | None = None) -> "Table":
        """Make the table of a plan, from its parts ``[data]``, ``[columns]`` and ``[derive]`` and its ledger.

        Parameters
        ----------
        plan
            A plan, or the file of one.
        data
            A table to use instead of the plan's source.

        Returns
        -------
        Table
            The table.

        Raises
        ------
        PlanError
            If the plan has mistakes.

        Examples
        --------
        >>> import inbounds as ib
        >>> plan = ib.Plan.of({
        ...     "data": {"rows": 4},
        ...     "budget": {"epsilon": 1},
        ...     "columns": {"age": {"bounds": [0, 100]}},
        ...     "release": [{"name": "age", "statistic": "mean", "columns": ["age"]}],
        ... })
        >>> Table.of(plan)
        Table(columns={'age': number(0, 100)}, rows=4, dataset='data')
        """
        from inbounds.plan import table_plan

        facts = table_plan.facts_of(plan)
        return cls(**facts if data is None else facts | {"data": data, "table": None, "engine": None, "written": {}})

    def where(self, condition: str) -> "Table":
        """Select the rows for which a condition is true, for all statistics. The number of these rows is secret.

        Parameters
        ----------
        condition
            A condition in the spelling of SQL, as in ``"age >= 18 and region <> 'north'"``.

        Returns
        -------
        Table
            The same table, with the condition added to its others.

        Examples
        --------
        >>> Table(rows=500).where("age >= 18").where("age < 65").condition
        '(age >= 18) and (age < 65)'
        """
        if not isinstance(condition, str) or not condition.strip():
            raise TypeError(f"condition must be text, as in 'age >= 18', got {_check.shown(condition)}")
        return replace(self, condition=combine_conditions(self.condition, condition))

    def derive(self, formulas: Mapping[str, str], columns: Mapping[str, ColumnRule] | None = None) -> "Table":
        """Add columns that are computed from other columns of the same row.

        Parameters
        ----------
        formulas
            The formula of each new column, as in ``{"late": "delay > 15"}``. Conditions have the categories false and
            true.
        columns
            The rules of derived numbers, as in ``{"bmi": ib.number(12, 60)}``.

        Returns
        -------
        Table
            The same table with these columns.

        Raises
        ------
        ValueError
            If a formula cannot be read, or a derived number has no rule.

        Examples
        --------
        >>> Table(rows=500).derive({"late": "delay > 15"}).columns
        {'late': category(False, True)}
        """
        if not isinstance(formulas, Mapping):
            raise TypeError("formulas must be a dictionary of formulas by column, as in {'late': 'delay > 15'}")
        if taken := [name for name in formulas if name in self.columns]:
            raise ValueError(f"column {name_column(taken[0])} is declared already; choose another name for the formula")
        rules = {**self.columns, **(columns or {})}
        return replace(self, columns=rules, formulas={**self.formulas, **formulas})

    def release(self, plan: "Plan | str | Path | Mapping[str, Any]", *, new: bool = False) -> "Releases":
        """Release everything in a plan from this table, in one pass; see `inbounds.release`.

        Parameters
        ----------
        plan
            A plan, the file of one, or its content. A file or content without ``[data]`` or without the rule of a
            column takes them from this table. If a plan and the table declare different facts, it is refused.
        new
            Charge and draw again, even if the same plan was released before.

        Returns
        -------
        Releases
            The releases by name.

        Raises
        ------
        PlanError
            If the plan has mistakes, or differs from the table. Nothing is spent.
        DataError
            If the table breaks the rules of its columns.
        BudgetRefused
            If the charge would exceed the limit. Nothing is spent.

        Examples
        --------
        >>> import inbounds as ib
        >>> survey = Table({"age": [23, 35, 62, 41]}, rows=4, columns={"age": ib.number(0, 100)})
        >>> item = {"name": "age", "statistic": "mean", "columns": ["age"]}
        >>> 0 <= survey.release({"budget": {"epsilon": 1}, "release": [item]})["age"].value <= 100
        True
        """
        from inbounds.plan import table_plan

        return table_plan.release_plan(self, plan, new=new)

    def preview(
        self,
        statistic: "str | Path | Plan",
        *arguments: Any,
        plausible: Any = None,
        confidence: float = 0.95,
        **keywords: Any,
    ) -> "Preview | Outlook":
        """Show the cost and the expected error of a statistic or of a plan. Reads no data and spends nothing.

        Parameters
        ----------
        statistic
            The name of a statistic, such as ``"mean"``. Or a plan, or the file of one.
        *arguments
            The columns, as for the method of that name.
        plausible
            A guess of the true values, made without looking at the data; see `inbounds.preview`.
        confidence
            The confidence of half-widths.
        **keywords
            The keywords of the method, such as ``epsilon`` and ``by``.

        Returns
        -------
        Preview or Outlook
            The ways to release the statistic with their errors, or the errors of all releases of the plan.

        Raises
        ------
        TypeError, ValueError
            If the release would raise this error.

        Examples
        --------
        >>> import inbounds as ib
        >>> survey = Table(rows=200, columns={"smoker": ib.category("yes", "no")})
        >>> print(survey.preview("proportion", "smoker", "yes", epsilon=0.5, plausible=(0.05, 0.3)))
        proportion of smoker = yes: epsilon 0.5 per record, substitute, 200 rows
            bounding         RMSE       bias      95% ± worst RMSE    worst ±
          * bit             0.014    <0.0001       0.03      0.014       0.03
            truncated      0.0219    <0.0001     0.0449     0.0221      0.045
          * smallest typical error
        """
        if names_plan(statistic):
            from inbounds.plan import table_plan

            require_alone({**{str(argument): argument for argument in arguments}, **keywords})
            return table_plan.preview_plan(self, statistic)
        name = find_statistic(statistic).name
        method = getattr(TableStatistics, name, None)
        if method is None:
            raise TypeError(
                f"{name} is not a method of a table; write inbounds.preview({name!r}, ...) with all keywords"
            )
        request = method.request(self, *arguments, **keywords)
        person = self.person
        guesses = {} if person is None else {"plausible_rows": person.plausible_rows}
        guesses |= {} if person is None else {"plausible_shift": person.plausible_shift}
        asked = self._keywords_of(request)
        plausible = add_values(plausible, request, self.columns)
        return preview_wanted(Wanted(name, asked, plausible, self.expected_rows, confidence, **guesses))

    def _release(self, request: TableRequest) -> Release:
        keywords = self._keywords_of(request)
        if self.data is None:
            raise TypeError(f"data must be given to release a {request.statistic}, as in Table('survey.csv', ...)")
        if isinstance(request.level, str):
            keywords["levels"] = self._list_levels(request)
        release = getattr(functions, request.statistic)
        return cast(Release, release(self._source, ledger=self.account, **keywords))

    def _list_levels(self, request: TableRequest) -> Any:
        """The categories of the counted column, with those of the groups."""
        names = (*request.columns, *request.groups)
        if not request.groups:
            return self.columns[names[0]].levels
        return {name: self.columns[name].levels for name in names}

    def _keywords_of(self, request: TableRequest) -> dict[str, Any]:
        """The keywords of the release function. Raises an error for the first mistake."""
        for mistake in list_mistakes(request, self.columns):
            raise ValueError(mistake)
        statistic = find_statistic(request.statistic)
        rules: dict[str, Rule] = {name: self.columns[name] for name in request.columns}
        person = {"contributions": self.contributions} if self.person is None else self.person.keywords
        keywords = {
            **request.own,
            "neighbours": self.neighbours,
            "rows": self.rows,
            **person,
            **WAYS[statistic.traits.columns].keywords(request, rules),
            **group_keywords(request, self.columns),
            "level": request.level,
            "where": self.condition,
            "derive": dict(self.formulas) or None,
            "time_zone": self.time_zone,
        }
        return {name: value for name, value in keywords.items() if value is not None}

    @property
    def account(self) -> Any:
        """The account where releases are charged, as the release functions take it; None without a ledger."""
        if self.ledger is None or isinstance(self.ledger, Account) or self.dataset is None:
            return self.ledger
        return Account(Path(self.ledger), self.dataset, cast(Any, self.limit))

    @property
    def _source(self) -> Any:
        """The table as the release functions take it."""
        if not isinstance(self.data, str | Path):
            idle = {"table": self.table, "engine": self.engine, "written": self.written or None}
            for name, value in idle.items():
                if value is not None:
                    raise TypeError(f"{name}= is for a file or a server, and data is a {type(self.data).__name__}")
            return self.data
        plain = self.table is None and self.engine is None and not self.written
        return self.data if plain else self.place

    @property
    def place(self) -> Any:
        """The table as a plan takes it: a place for a path or URL, otherwise the table that was given."""
        if not isinstance(self.data, str | Path):
            return self._source
        known = [each.name for each in fields(Format)]
        if unknown := [key for key in self.written if key not in known]:
            raise TypeError(f"written has no key {unknown[0]!r}; its keys are {', '.join(known)}")
        return Place(str(self.data), self.table, self.engine, Format(**self.written))
