"""Several releases from one table, in one pass: what a plan comes down to.

`open_source` looks at what is public (names and types of columns, and the number of rows where that is), so that a
mistake is found before anything is spent; `Source.release` reads the data.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from inbounds.record import Release
from inbounds.releases.opening import Blank, Draft, complete, other_size
from inbounds.tables.engine import count_rows
from inbounds.tables.located import located
from inbounds.tables.schema import Column, DataError
from inbounds.tables.sources import Frame, check_types, read


@dataclass(frozen=True, slots=True)
class Place:
    """Where a table lives; see `inbounds.tables.located`."""

    # It may be an address with a password.
    source: str = field(repr=False)
    table: str | None = None
    engine: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A table that has the columns and the rows that some drafts state. It holds a handle, no numbers."""

    frame: Frame
    drafts: tuple[Draft, ...]

    def __repr__(self) -> str:
        return f"Source({len(self.drafts)} drafts)"

    def release(self) -> list[Release]:
        """Read the data, once, and draw."""
        return complete(self.frame, self.drafts)


def open_source(data: Any, drafts: Sequence[Draft]) -> Source:
    """claim:open-source. The table at a `Place`, or one that the caller has, checked as far as that is public.

    Every mistake that shows without the values of records is raised here: a missing file or column, a column of another
    type, another number of rows than stated. Nothing is spent by looking: under ``neighbours="substitute"`` the number
    of rows is public, and under ``"add-remove"`` it is not looked at.
    """
    columns = list(dict.fromkeys(column for draft in drafts for column in draft.request.columns))
    if isinstance(data, Blank):
        raise TypeError("data must be a table")
    table = located(data.source, columns, table=data.table, engine=data.engine) if isinstance(data, Place) else data
    if isinstance(data, Place):
        _require_columns(table, columns)
    frame = read(table, columns)
    check_types(frame, columns)
    stated = drafts[0].record.rows
    if stated is not None and count_rows(frame) != stated:
        raise other_size(stated)
    return Source(frame, tuple(drafts))


def _require_columns(table: Any, columns: Sequence[Column]) -> None:
    """All columns that are missing, at once. What is there is not named: the first line of a file may be a record."""
    names = read(table, []).collect_schema().names()
    # As Polars names the second of two columns that have one name.
    if twice := [repr(column.name) for column in columns if f"{column.name}_duplicated_0" in names]:
        raise DataError(f"the table has two columns of the name {twice[0]}; rename one")
    if missing := list(dict.fromkeys(repr(column.name) for column in columns if column.name not in names)):
        what = f"column{'s' * (len(missing) > 1)} {', '.join(missing)}"
        raise DataError(f"the table has no {what}; the first line of a CSV file must be its header")


def columns_of(place: Place) -> dict[str, str]:
    """Names and kinds of a table's columns; no value is looked at, so that those of a CSV file have no kind."""
    columns: list[Column] = []
    frame = read(located(place.source, columns, table=place.table, engine=place.engine), columns)
    names = frame.collect_schema()
    if len(names) == 1 and any(mark in next(iter(names)) for mark in ";\t|"):
        raise DataError("the file has one column, named by a whole line: save it with commas between columns")
    return {name: _kind(dtype) for name, dtype in names.items()}


def _kind(dtype: Any) -> str:
    if dtype.is_numeric():
        return "integer" if dtype.is_integer() else "number"
    return "boolean" if str(dtype) == "Boolean" else "text"
