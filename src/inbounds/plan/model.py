"""The parts of a plan: its keys, their types and their meaning.

The descriptions are shown to users: in the JSON schema, and on the reference page that is made from it.
"""

from dataclasses import fields
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, Strict, StrictBool, StrictInt, StrictStr, field_validator
from pydantic_core import PydanticCustomError

from inbounds.record.asked import Asked, find_level
from inbounds.record.release import Release
from inbounds.repairs.tree import DEEPEST
from inbounds.statistics import registered
from inbounds.tables.formats import ENCODINGS, PLAIN, Format

Number: TypeAlias = Annotated[Decimal, Field(allow_inf_nan=False, max_digits=60)]
# Dates and times as TOML has them.
Moment: TypeAlias = Annotated[datetime, Strict()] | Annotated[date, Strict()]
End: TypeAlias = Number | Moment
Level: TypeAlias = StrictBool | StrictInt | StrictStr
_Fold: TypeAlias = Literal["count", "sum", "mean", "min", "max", "any", "all", "first", "last"]
# The largest number of rows, and of anything that is counted in rows.
_MOST = 2**31


def _names() -> list[Any]:
    return list(registered())


class Part(BaseModel):
    """The base class of the parts. Parts are frozen, and unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class Data(Part):
    """The table, and what is public about it."""

    source: str | None = Field(
        None, repr=False, description="CSV or Parquet (globs, folders), Excel, a DuckDB file, postgresql://, env:NAME"
    )
    table: str | None = Field(None, description="the table of a DuckDB file or a PostgreSQL server")
    engine: str | None = Field(None, description="polars, duckdb, dask, spark, spark://host:port or sc://host:port")
    separator: StrictStr = Field(PLAIN.separator, description="of a CSV file: the character between two fields")
    quote: StrictStr = Field(PLAIN.quote, description="of a CSV file: the character around a field; empty for none")
    decimal: StrictStr = Field(
        PLAIN.decimal, description="of a CSV file: the character before decimals, a point or a comma"
    )
    thousands: StrictStr | None = Field(None, description="of a CSV file: the character between groups of three digits")
    encoding: StrictStr = Field(PLAIN.encoding, description=f"of a CSV file: {', '.join(ENCODINGS)}")
    null_values: list[StrictStr] = Field(
        default_factory=list, description="fields of a CSV or Excel file that are missing values, beside empty ones"
    )
    header: StrictBool = Field(
        True,
        description="whether a CSV or Excel file begins with names; without them columns are column_1, column_2, ...",
    )
    skip_lines: StrictInt = Field(0, description="lines of a CSV file, or rows of a sheet, above the header")
    sheet: StrictStr | None = Field(None, description="the sheet of an Excel file; the only one if not given")
    rows: StrictInt | None = Field(None, ge=1, le=_MOST, description="the public number of rows, under 'substitute'")
    expected_rows: StrictInt | None = Field(
        None, ge=1, le=_MOST, description="about how many rows, under 'add-remove'; for previews"
    )
    neighbours: Literal["substitute", "add-remove"] = Field(
        "substitute", description="how neighbouring tables differ: one record is changed, or one is added or removed"
    )
    where: str | None = Field(None, description="a condition for all releases; see release.where")
    time_zone: StrictStr | None = Field(
        None, description="the zone by whose clock times with a zone are told, such as 'Europe/Berlin' or 'UTC'"
    )
    contributions: StrictInt = Field(1, ge=1, le=_MOST, description="the most rows that one person may have")
    person: StrictStr | None = Field(
        None,
        description="the column that says whose row it is: of each person so many rows are kept, and rows = ... "
        "is the number of persons",
    )
    keep: Literal["random", "first", "last"] = Field("random", description="which rows of a person are kept")
    order: StrictStr | None = Field(None, description="the column that the rows of a person are ordered by")
    groups: dict[str, StrictInt] | None = Field(
        None, description="a column and the most groups of it that a person may be in, with contributions rows in each"
    )
    person_missing: Literal["skip", "own"] = Field(
        "skip", description="rows without an id: 'skip' leaves them out, 'own' makes each a person of its own"
    )
    fold: dict[str, _Fold] | None = Field(
        None, description="how the rows of a person become one record, by column: { visits = 'count', cost = 'sum' }"
    )

    plausible_rows: dict[str, Number] | None = Field(
        None,
        description="about how many rows persons have, for previews: shares of persons by numbers of rows, as in "
        "{ 1 = 0.5, 2 = 0.3, 5 = 0.2 }, or numbers of persons",
    )
    plausible_shift: Number | list[Number] | None = Field(
        None,
        description="what persons with many rows plausibly differ by from others, in standard deviations, for "
        "previews: a number or [low, high]; up to 0.5 if not given",
    )

    @property
    def written(self) -> Format:
        """How the file writes its table; `ValueError` or `TypeError` with the key that is wrong as its first word."""
        keys = {field.name: getattr(self, field.name) for field in fields(Format)}
        return Format(**keys | {"null_values": tuple(self.null_values)})


class Budget(Part):
    """What the plan spends, and the ledger in which that is recorded."""

    epsilon: Number = Field(gt=0, description="the epsilon of all releases of the plan together")
    ledger: str | None = Field(None, description="the file of the ledger; created if it does not exist")
    dataset: str = Field("", description="the account in the ledger; the ledger's name by default")
    joint: StrictBool = Field(
        True, description="draw releases together if that makes none of them worse; false draws each alone"
    )
    limit: Number | None = Field(
        None,
        gt=0,
        description="the limit of the dataset, set with its first charge, by default to the epsilon; later a "
        "smaller one binds",
    )


class Column(Part):
    """The public rule of a column, known without looking at the data."""

    bounds: tuple[End, End] | None = Field(
        None,
        description="the smallest and largest value; values outside are clipped. Or the file of a record in which the "
        "bounds of this column were released",
    )
    released: StrictBool = Field(
        False,
        description="whether the bounds were released before, so that the report says so; of the file of a record they "
        "were",
    )
    edges: list[End] | None = Field(None, description="the ends of the intervals")
    levels: list[Level] | None = Field(None, description="the possible values")
    missing: Level | Moment | Number | None = Field(
        None,
        description="what a missing value counts as; 'skip' leaves the record out, 'level' makes missing values a "
        "level. Without it tables with missing values are refused",
    )
    other: Level | None = Field(
        None, description="the level of values that are none of the levels; 'skip' leaves the record out"
    )
    integer: StrictBool = Field(False, description="whether the values are whole numbers, counted in steps of one")
    values: Literal["amount", "measure"] | None = Field(
        None,
        description="what the column holds, for previews and for the least epsilon: an amount, small beside its bounds "
        "(income, delay, visits), or a measure, in the middle of them (age, score, height)",
    )
    known_from: StrictStr | None = Field(
        None,
        max_length=500,
        description="where the rule is known from without looking at the data, such as a questionnaire; for readers",
    )


class Item(Part):
    """One release. Further keys are keywords of its statistic."""

    model_config = ConfigDict(extra="allow", frozen=True, arbitrary_types_allowed=True)

    name: str = Field(min_length=1, max_length=200, description="the name of the release, which must be unique")
    statistic: str = Field(
        description="the name of a function of inbounds", json_schema_extra=lambda schema: schema.update(enum=_names())
    )
    columns: list[str] = Field(default_factory=list, description="names of columns in [columns]")
    by: str | list[str] | None = Field(None, description="the column of groups, or several of them")
    where: str | None = Field(
        None, description="a condition, as in \"age >= 18 and region <> 'north'\": only records for which it is true"
    )
    fold: dict[str, _Fold] | None = Field(
        None, description="how the rows of a person become one record, for this release in place of data.fold"
    )
    share: Number = Field(Decimal(1), gt=0, description="the share of the budget; equal shares by default")
    bounding: Literal["bit", "truncated"] = Field("bit", description="how noisy values are kept in their bounds")
    level: Level | None = Field(None, description="the level to count, for count and proportion")
    repair: str | None = Field(None, description="how noisy numbers are turned into possible ones")
    method: (
        Literal["joint", "elements", "split", "centred", "robust", "moments", "direct", "together", "halving", "counts"]
        | None
    ) = Field(
        None,
        description="where noise is added, for variances and matrices, or how several quantiles are drawn; by default "
        "the way with the smaller error",
    )
    derived: Level | None = Field(None, description="the level that repair = 'all-but-one' leaves out")
    tree: list[Any] | None = Field(None, description="the levels in nested groups, for repair = 'tree'")
    level_shares: list[Number] | None = Field(
        None, description="shares of epsilon for the depths of the tree, from the top; by default the best for ranges"
    )
    sizes: dict[str, StrictInt] | None = Field(None, description="the public sizes of groups, for pooled statistics")
    denominator: StrictInt | None = Field(
        None, ge=1, le=_MOST, description="a fixed public number to divide by, under 'add-remove'"
    )
    interval: Literal["noise", "population"] | None = Field(
        None,
        description="whether the interval is for the table itself (noise) or for the population that it is a sample "
        "of; by default for the population where there is one",
    )
    confidence: Number | None = Field(
        None, gt=0, lt=1, description="the confidence level of the interval; by default 0.95, or that of cover"
    )
    interval_method: StrictStr | None = Field(
        None, description="how the interval is made, as in method of Release.interval: score, proved, robust, ..."
    )
    simultaneous: StrictBool = Field(False, description="whether the intervals of all numbers hold together")
    joint: StrictBool = Field(True, description="whether it may be drawn together with others; see budget.joint")
    plausible: Any = Field(
        None,
        description="a guess of where the true value lies, for previews: a number, a range, shares, a matrix, or "
        "{ sd = [5, 20], mean = [40, 60], size = [50, 5000] } for columns and groups",
    )

    def ask(self, release: Release) -> Asked:
        """The interval that it asks for of its release: at the confidence that was paid for if no other is given."""
        level = find_level(release) if self.confidence is None else float(self.confidence)
        return Asked(self.interval, level, self.interval_method, self.simultaneous)

    @property
    def groups(self) -> list[str]:
        """The columns of groups."""
        return [self.by] if isinstance(self.by, str) else list(self.by or ())

    @field_validator("statistic")
    @classmethod
    def _check_statistic(cls, statistic: str) -> str:
        if statistic not in _names():
            expected = ", ".join(map(repr, _names()))
            raise PydanticCustomError("literal_error", "must be {expected}", {"expected": f"one of {expected}"})
        return statistic

    @field_validator("tree")
    @classmethod
    def _shallow(cls, tree: Any) -> Any:
        """Check that a tree holds levels and groups, and is not too deep."""
        layer, depth = tree or [], 0
        while layer:
            if depth > DEEPEST:
                raise ValueError(f"groups must not be nested more than {DEEPEST} deep")
            if not all(isinstance(member, str | int | list) for member in layer):
                raise ValueError("tree must hold levels (text, whole numbers, true or false) and lists of them")
            layer, depth = [inner for member in layer if isinstance(member, list) for inner in member], depth + 1
        return tree


PARTS: dict[str, type[BaseModel]] = {"data": Data, "budget": Budget, "columns": Column, "release": Item}
