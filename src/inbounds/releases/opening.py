"""What all releases share: opening a table, public sizes, steps of columns, and writing the record."""

import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from inbounds import _check
from inbounds.privacy.certificate import Certificate, Composition
from inbounds.record import Bound, ColumnRule, Release
from inbounds.releases.draw import Promise
from inbounds.tables.answers import Cells, records
from inbounds.tables.engine import MOST_ROWS as MOST_ROWS
from inbounds.tables.engine import Request, TooManyRows, count_rows, tally
from inbounds.tables.schema import (
    ELSEWHERE,
    Column,
    Edges,
    Key,
    Levels,
    Numeric,
    Place,
    Quantised,
    quantised,
    resolution,
)
from inbounds.tables.schema import DataError as DataError
from inbounds.tables.sources import Frame, check_types, is_column, is_table, read


class _Unnamed(str):
    """The name of a column that nobody named."""

    __slots__ = ()


# Name of the column where a plain list of values is given.
UNNAMED = _Unnamed("x")
# Where n is protected, steps must be fine enough for any number of rows.
_ANY_ROWS = MOST_ROWS


@dataclass(frozen=True, slots=True)
class Blank:
    """In place of a table: no data, only the public number of rows (None where it is protected)."""

    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """Noisy numbers; with certificate and bounds where the law of some depended on others that were released first."""

    noisy: tuple[Fraction, ...]
    certificate: Certificate | Composition | None = None
    bounds: Sequence[Bound] | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A release before any data are read: its record but for the noisy numbers, and how those will be drawn."""

    record: Release
    request: Request
    draw: Callable[[Cells], Drawn]
    ledger: Any = None


class Drafted(Exception):
    """What finishing a draft without data gives: the draft. It is how a preview gets the very law of a release."""

    def __init__(self, draft: Draft) -> None:
        super().__init__("there are no data here, so nothing can be released")
        self.draft = draft


@dataclass(frozen=True, slots=True)
class Opened:
    """A table ready to be counted. It holds a handle of the data, never a number from them.

    ``rows`` is the public number of rows, None where it is protected; ``sizes`` those of groups where they are public.
    ``frame`` is None for a `Blank`.
    """

    frame: "Frame | None"
    rows: int | None
    sizes: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        return f"Opened(rows={self.rows})"

    def quantised(self, column: Numeric, promise: Promise, *, root: bool = False) -> Quantised:
        """A column in steps that are fine enough for this ε and number of rows."""
        steps = resolution(self.rows or _ANY_ROWS, promise.epsilon, root=root)
        return quantised(column, resolution=steps)

    def finish(self, draft: Draft) -> Release:
        """Read the data, once, and draw: the release."""
        if self.frame is None:
            raise Drafted(draft)
        if draft.ledger is not None:
            return _paid(self.frame, draft)
        (made,) = complete(self.frame, [draft])
        return made


def complete(frame: Frame, drafts: Sequence[Draft]) -> list[Release]:
    """Read the data of several drafts in one pass, and draw: their releases. All state the same number of rows.

    Nothing is drawn before all of them are known to be possible.
    """
    rows = drafts[0].record.rows
    try:
        tables = tally(frame, [draft.request for draft in drafts], most=rows or MOST_ROWS)
    except TooManyRows:
        if rows is None:
            raise
        raise other_size(rows) from None
    for draft, cells in zip(drafts, tables, strict=True):
        if rows is not None and records(cells) != rows:
            raise other_size(rows)
        sizes = next((rule.sizes for rule in draft.record.columns if rule.sizes), ())
        if any(cells.get((i,), (0,))[0] != size for i, size in enumerate(sizes)):
            raise DataError("the groups do not have the sizes stated")
    return [_drawn(draft, cells) for draft, cells in zip(drafts, tables, strict=True)]


def _paid(frame: Frame, draft: Draft) -> Release:
    """claim:paid. A release that is accounted for: charged before the data are read, kept before it is shown."""
    # SQLite is loaded where there is a ledger.
    from inbounds import ledger

    record, columns = draft.record, draft.request.columns
    if any(isinstance(column.name, _Unnamed) for column in columns):
        raise TypeError("where a ledger accounts for it, name the column of plain values, as in mean(ages, 'age', ...)")
    account = ledger.find_account(draft.ledger)
    # What is public is found out before it costs anything.
    check_types(frame, columns)
    if record.rows is not None and count_rows(frame) != record.rows:
        raise other_size(record.rows)
    # Levels with their types, and where others go, which the record has as text.
    digest = hashlib.sha256(f"{record.request_digest()} {draft.request!r}".encode()).hexdigest()
    promise = ledger.Pure(record.certificate.epsilon), record.neighbours, record.contributions
    receipt = ledger.charge(account, ledger.Request(digest, *promise, (record.title,), record.longest_text()))
    if receipt.stored is not None:
        told = f"{record.title} was released from {account.dataset!r} before and is shown again; the table was not read"
        warnings.warn(told, stacklevel=2)
        return Release.from_json(receipt.stored)
    with ledger.standing_charge(account, receipt):
        (made,) = complete(frame, [draft])
    ledger.keep(account, receipt, made.to_json())
    return made


def _drawn(draft: Draft, cells: Cells) -> Release:
    drawn = draft.draw(cells)
    made = replace(
        draft.record,
        noisy=drawn.noisy,
        certificate=drawn.certificate or draft.record.certificate,
        bounds=draft.record.bounds if drawn.bounds is None else tuple(drawn.bounds),
    )
    return replace(made, notes=made.own_notes())


def open_table(data: Any, columns: Sequence[Column], promise: Promise, rows: Any, *, least: int = 1) -> Opened:
    """The table and its public size.

    Under substitution n is public: taken from the table, or stated by the user and checked. With add-remove it is
    protected, and stating it is refused.
    """
    if promise.unit.neighbours == "add-remove":
        if rows is not None:
            raise ValueError(
                "rows= does not go with neighbours='add-remove': there neighbouring tables differ in size, which is "
                "protected. Use neighbours='substitute', or denominator= for a fixed public number to divide by"
            )
        return Opened(None if isinstance(data, Blank) else read(data, columns), None)
    stated = None if rows is None else _check.integer(rows, "rows", least=1)
    if isinstance(data, Blank):
        return _sized(None, data.rows if stated is None else stated, least)
    frame = read(data, columns)
    size = count_rows(frame) if stated is None or hasattr(frame, "shape") else stated
    if stated is not None and size != stated:
        raise other_size(stated)
    return _sized(frame, size, least)


def _sized(frame: "Frame | None", size: int | None, least: int) -> Opened:
    if size is None:
        raise TypeError("under neighbours='substitute' the number of rows is public: state it, as in rows=1000")
    if size < least:
        needs = "no rows" if least == 1 else f"fewer rows than the {least} that this statistic needs"
        raise DataError(f"the table has {needs}")
    if size > MOST_ROWS:
        raise DataError("the table has more than 2^31 rows, the limit here; release it in parts")
    return Opened(frame, size)


def other_size(stated: int) -> DataError:
    """The error for a table that has not the rows it is said to have."""
    return DataError(
        f"rows={stated} was stated, but the table has another number of rows; correct it, or have the number protected "
        "by neighbours='add-remove'"
    )


def column_name(column: Any, data: Any) -> str:
    """The column to read; values of a single one go by its own name or the one given."""
    if isinstance(data, Blank) and column is None:
        return UNNAMED
    own = getattr(data, "name", None) if is_column(data) else None
    own = own if isinstance(own, str) and own else None
    if column is None:
        if is_table(data):
            raise TypeError("name the column to use, as in mean(table, 'age', ...)")
        return own or UNNAMED
    if not isinstance(column, str):
        raise TypeError(f"column must be a name, got {type(column).__name__}")
    if own is not None and own != column:
        raise TypeError(f"a column called {own!r} was given, where {column!r} is asked for; pass the table")
    return column


def not_together(what: str, **given: Any) -> None:
    """Refuse arguments that would be ignored."""
    if names := [name for name, value in given.items() if value is not None]:
        raise TypeError(f"{', '.join(names)} {'goes' if len(names) == 1 else 'go'} not with {what}")


def fixed_denominator(denominator: Any, promise: Promise) -> int | None:
    """A fixed public number to divide by; needless where n is public."""
    if denominator is None:
        return None
    if promise.unit.neighbours == "substitute":
        raise ValueError(
            "denominator= belongs to neighbours='add-remove': under 'substitute' the number of rows is public, and is "
            "what is divided by"
        )
    if _check.integer(denominator, "denominator", least=1) > MOST_ROWS:
        raise ValueError("denominator must not exceed 2^31, the most rows that a table may have")
    return int(denominator)


def rule(column: Column | Quantised, sizes: tuple[int, ...] | None = None) -> ColumnRule:
    """A column's rule as the record shows it; ``sizes`` are those of its cells where they are public."""
    if isinstance(column, Quantised):
        numeric = column.column
        fill = None if numeric.missing is None else str(numeric.missing)
        return ColumnRule(numeric.name, numeric.lower, numeric.upper, column.step, missing=fill)
    if isinstance(column, Edges):
        fill = None if column.missing is None else str(column.missing)
        return ColumnRule(column.name, column.edges[0], column.edges[-1], cells=column.labels, missing=fill)
    if isinstance(column, Levels):
        places = [_place(level, column) for level in (column.missing, column.other)]
        return ColumnRule(column.name, cells=column.labels, missing=places[0], other=places[1], sizes=sizes or ())
    raise TypeError("a numeric column has a rule once it has a step")


def _place(level: Any, column: Levels) -> str | None:
    if level is None or isinstance(level, Place):
        return f"not {' or '.join(column.labels)}" if level is ELSEWHERE else None
    return str(level)


def drafted(
    statistic: str,
    method: str,
    columns: Sequence[Column | Quantised],
    promise: Promise,
    table: Opened,
    request: Request,
    draw: Callable[[Cells], Drawn],
    bounds: Sequence[Bound],
    certificate: Certificate | Composition,
    *,
    units: Sequence[Fraction] = (Fraction(1),),
    axes: Sequence[Sequence[str]] = (),
    denominator: int | None = None,
    derived: str | None = None,
    repair: str | None = None,
    tree: Any = None,
) -> Draft:
    """All that is public of a release, before the data are read."""
    record = Release(
        statistic=statistic,
        method=method,
        columns=tuple(rule(column, table.sizes) for column in columns),
        rows=table.rows,
        unit=promise.unit.name,
        contributions=promise.unit.contributions,
        axes=tuple(tuple(axis) for axis in axes),
        noisy=(),
        units=tuple(units),
        bounds=tuple(bounds),
        certificate=certificate,
        denominator=denominator,
        derived=derived,
        repair=repair,
        tree=tree,
    )
    return Draft(record, request, draw, promise.ledger)


def key_of(name: str, levels: Any, edges: Any, missing: Any, other: Any) -> Key:
    """A column of levels or intervals, whichever was given."""
    if (levels is None) == (edges is None):
        raise TypeError(f"column {name!r} needs either levels=[...] or edges=[...], known without looking at the data")
    if levels is not None:
        return Levels(name, levels, other, missing)
    if other is not None:
        raise TypeError("other= belongs to levels: a number beyond the edges counts in the cell next to it")
    return Edges.of(name, edges, missing)


def groups_of(by: Any, levels: Any, missing: Any, other: Any) -> Levels:
    """The column that makes the groups."""
    if levels is None:
        raise TypeError(f"by={_check.shown(by)} needs levels=[...], the groups, known without looking at the data")
    return Levels(by, levels, other, missing, keywords=("other", "by_missing"))
