"""The steps of every release: draft, charge, count, draw, keep.

The order makes it safe. Everything public is checked first, which costs nothing. The charge is on the disk before a
value of the table is read, the beginning of the draw before anything is drawn, and the noisy numbers before they are
used. So a charge is drawn at most once, and a run that was interrupted at another moment can be finished.
"""

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from inbounds import ledger as ledgers
from inbounds._frames import confine, warn_caller
from inbounds.errors import EngineError, PublicSize
from inbounds.ledger import Account, LedgerError, Receipt
from inbounds.ledger.draws import drawing
from inbounds.ledger.turns import hold_turn
from inbounds.privacy.terms import Terms, Unit
from inbounds.record import charges
from inbounds.record.codec import longest_text
from inbounds.record.draft import UNNAMED, Draft, Unnamed, check_rows, size_terms
from inbounds.record.group import Group
from inbounds.record.notes import PUBLIC_SIZE
from inbounds.record.record import Releases
from inbounds.record.release import Release
from inbounds.record.selection import check_persons, draft_statistic
from inbounds.record.spelling import describe, parse_statistic
from inbounds.record.statistic import Statistic
from inbounds.road.draw import draw, draw_key, take
from inbounds.road.drawn import draw_length, read_draws, write_draws
from inbounds.road.signals import hold_signals
from inbounds.tables.answers import Cells, records, require
from inbounds.tables.census import count_persons
from inbounds.tables.engine import TooManyRows, count_cells, count_rows
from inbounds.tables.folding import fold_records
from inbounds.tables.formats import PLAIN, Format
from inbounds.tables.names import find_separator, require_names
from inbounds.tables.persons import Keeping, add_columns
from inbounds.tables.places import open_place
from inbounds.tables.request import MOST_ROWS
from inbounds.tables.schema import Column, DataError, list_read
from inbounds.tables.sources import Frame, check_types, guard, is_column, is_table, read
from inbounds.tables.versions import Versions, find_change, take_versions

# The exact cells of releases, one set for each request of their drafts.
_Tables: TypeAlias = dict[str, list[Cells]]
# Memory that is set aside before a draw, for each byte of what is drawn and in any case.
_SPARE, _LEAST_SPARE = 8, 2**23


@dataclass(frozen=True, slots=True)
class Place:
    """Where a table is; see `inbounds.tables.places`."""

    # The source may be an address with a password, so it is not shown.
    source: str = field(repr=False)
    table: str | None = None
    engine: str | None = None
    written: Format = PLAIN


@dataclass(frozen=True, slots=True)
class Opened:
    """A table that was opened, and the versions of its files when it was."""

    # It may be in memory, so it is not shown.
    frame: Frame = field(repr=False)
    versions: Versions = ()


def release_one(data: Any, statistic: Statistic, terms: Terms, rows: Any = None, ledger: Any = None) -> Release:
    """Release one statistic of a table.

    With ``"substitute"`` the number of rows is public: it is counted, or given as ``rows`` and checked. With
    ``"add-remove"`` it is protected, and ``rows`` is refused.
    """
    if not terms.protects_rows:
        # Mistakes that do not depend on the number of rows are found before a file is opened.
        check_persons(statistic, terms)
    table, terms = open_table(data, statistic, terms, rows)
    draft = draft_statistic(statistic, terms)
    _warn_of_ids([statistic], terms)
    drafts = {draft.record.title: draft}
    if ledger is None:
        (release,) = count_and_draw(table, drafts).values()
        return release
    if any(isinstance(column.name, Unnamed) for column in draft.columns):
        raise TypeError("with ledger=, a column of plain values needs a name, as in mean(ages, 'age', ...)")

    def source() -> Opened:
        check_columns(table, columns_of_drafts([draft]), terms, sized=rows is None or hasattr(table.frame, "shape"))
        return table

    account = ledgers.find_account(ledger)
    (release,) = walk(drafts, source, account=account, dataset=account.dataset, title=draft.record.title).values()
    return release


# claim:paid
def walk(
    drafts: Mapping[str, Draft],
    source: Callable[[], Opened],
    *,
    dataset: str | None,
    account: Account | None = None,
    new: bool = False,
    who: str | None = None,
    title: str | None = None,
    say: Callable[[str], None] | None = None,
) -> Releases:
    """Release drafts: charge them before the data are read, and store the result before returning it.

    ``source`` opens the table and checks what is public about it. If the same request was charged before, the table is
    not read and the stored result is returned, with ``stored`` set. If the caller handed over a table, a warning says
    that it was not read, and names the request by ``title``, unless that is None. ``new`` charges and draws again.
    """
    tell = say or (lambda _: None)
    if account is None:
        table = source()
        tell("reading the data, once")
        return Releases(count_and_draw(table, drafts), dataset)
    request = request_of(drafts, account.dataset)
    if not new and (before := ledgers.find_stored(account, request)) is not None and before.stored is not None:
        return _show_again(before, request, account, title)
    with hold_turn(account, request, tell):
        # Another process may have finished it meanwhile.
        receipt = ledgers.find_stored(account, request, new=new)
        if receipt is None or not receipt.is_drawn:
            tell("looking at the table")
            table = source()
            try_queries(table.frame, drafts)
            tell("charging the ledger")
            receipt = ledgers.charge(account, request, new=new, who=who)
            if not receipt.is_drawn:
                receipt = confine(partial(draw_paid, table, drafts, account, receipt, tell))
        if receipt.stored is not None:
            return _show_again(receipt, request, account, title)
        tell("keeping the result")
        return _finish(drafts, account, receipt)


# claim:drawn-once
def draw_paid(
    table: Opened, drafts: Mapping[str, Draft], account: Account, receipt: Receipt, tell: Callable[[str], None]
) -> Receipt:
    """Count for a charge, draw, and store what was drawn before anything else is done with it.

    Nothing that can be foreseen fails between the beginning of the draw and its end on the disk: the room is there, in
    memory as in the ledger, and signals wait.
    """
    first = list_draws(drafts)
    with ledgers.standing_charge(account, receipt):
        tell("reading the data, once")
        key = draw_key() if any(_is_keyed(draft) for draft in drafts.values()) else b""
        tables = count_exactly(table, first, key)
    spare = bytearray(_SPARE * draw_length(first) + _LEAST_SPARE)
    with hold_signals(), drawing(account, receipt) as store:
        del spare
        content = write_draws({name: draw(draft, tables[name]) for name, draft in first.items()}, key)
        return store(content)


def _finish(drafts: Mapping[str, Draft], account: Account, receipt: Receipt) -> Releases:
    """The releases of a stored draw, stored as the result of its charge. No table is read."""
    draws, key = read_draws(receipt.drawn or b"", list_draws(drafts))
    releases = Releases(
        _share_draws(drafts, draws, key), account.dataset, receipt.entry, ledgers.spell_amount(receipt.left)
    )
    ledgers.keep(account, receipt, releases.to_json())
    return releases


def request_of(drafts: Mapping[str, Draft], dataset: str) -> ledgers.Request:
    """The request that is charged for drafts, with the largest length of its result."""
    releases = {name: draft.record for name, draft in drafts.items()}
    for release in releases.values():
        # If the statistic were not read back as it is now, a paid result could not be verified.
        if parse_statistic(describe(release.statistic)) != release.statistic:
            raise ValueError(f"{release.title} changes when it is written and read again; please report this bug")
    longest = 10_000 + sum(longest_text(release) + 4 * len(name) for name, release in releases.items())
    room = draw_length(list_draws(drafts))
    return replace(charges.request_of(dataset, releases), longest=longest, room=room)


def _show_again(receipt: Receipt, request: ledgers.Request, account: Account, title: str | None) -> Releases:
    """Return the stored result, after checking that it is one of this request."""
    if title is not None:
        message = f"{title} was released from {account.dataset!r} before; this is the stored result, no table was read"
        warn_caller(message)
    releases = Releases.from_json(receipt.stored or "")
    if releases.digest != request.digest:
        raise LedgerError("the ledger has another result for this request; it was changed")
    return replace(releases, left=ledgers.spell_amount(receipt.left), stored=True)


def count_and_draw(table: Opened, drafts: Mapping[str, Draft]) -> dict[str, Release]:
    """Read the data of several drafts in one pass, and draw. All drafts have the same number of rows.

    Nothing is drawn before all of them are checked, and no exception keeps an exact number.
    """
    return confine(partial(_count_and_draw, table, drafts))


def _count_and_draw(table: Opened, drafts: Mapping[str, Draft]) -> dict[str, Release]:
    first = list_draws(drafts)
    key = draw_key() if any(_is_keyed(draft) for draft in drafts.values()) else b""
    tables = count_exactly(table, first, key)
    return _share_draws(drafts, {name: draw(draft, tables[name]) for name, draft in first.items()}, key)


def list_draws(drafts: Mapping[str, Draft]) -> dict[str, Draft]:
    """The drafts that are counted and drawn: of those that share a draw, the first."""
    first = {_draw_of(name, draft): name for name, draft in reversed(list(drafts.items()))}
    return {name: draft for name, draft in drafts.items() if first[_draw_of(name, draft)] == name}


def _share_draws(drafts: Mapping[str, Draft], draws: Mapping[str, Release], key: bytes) -> dict[str, Release]:
    """The release of every draft, from the draws of `list_draws`."""
    by_draw = {_draw_of(name, drafts[name]): release for name, release in draws.items()}
    releases = {name: take(by_draw[_draw_of(name, draft)], draft) for name, draft in drafts.items()}
    return {
        name: replace(release, key=key.hex()) if _is_keyed(drafts[name]) else release
        for name, release in releases.items()
    }


def _is_keyed(draft: Draft) -> bool:
    persons = draft.terms.unit.persons
    return persons is not None and persons.keyed


def count_exactly(table: Opened, drafts: Mapping[str, Draft], key: bytes = bytes(16)) -> dict[str, list[Cells]]:
    """The exact cells of several drafts, in one pass; `DataError` for a table that one of them refuses.

    With persons, each rule for their rows takes a pass of its own. ``key`` decides between rows of one person. Files
    that changed since they were opened are refused, whatever they hold.
    """
    return require(find_change(table.versions) or _count_unchanged(table, drafts, key))


def _count_unchanged(table: Opened, drafts: Mapping[str, Draft], key: bytes) -> _Tables | DataError:
    """The cells of files that nobody changes meanwhile. A mixture of two files may be refused for any reason."""
    try:
        tables = _count_units_of(table.frame, drafts, key)
    except DataError:
        if find_change(table.versions) is None:
            raise
        tables = {}
    return find_change(table.versions) or tables


def _count_units_of(frame: Frame, drafts: Mapping[str, Draft], key: bytes) -> _Tables | DataError:
    tables: _Tables = {}
    for unit, unit_drafts in _list_units(drafts):
        unit_tables = _count_unit(frame, unit_drafts, unit, key)
        if isinstance(unit_tables, DataError):
            return unit_tables
        tables |= unit_tables
    return {name: tables[name] for name in drafts}


def _count_unit(frame: Frame, drafts: Mapping[str, Draft], unit: Unit, key: bytes) -> _Tables | DataError:
    """The exact cells of drafts that have one unit of privacy, checked against what is public about them.

    Here cells are variables, so a refusal is returned.
    """
    terms = next(iter(drafts.values())).terms
    # The number of records, where it follows from what is public.
    rows = None if terms.counts_persons else terms.rows
    tables = _query_unit(frame, drafts, unit, key, rows)
    if isinstance(tables, DataError):
        return other_size(terms) if isinstance(tables, TooManyRows) and rows is not None else tables
    for name, draft in drafts.items():
        if rows is not None and any(records(cells) != rows for cells in tables[name]):
            return other_size(terms)
        sizes = next((rule.sizes for rule in draft.record.columns if rule.sizes), ())
        if any(cells.get((i,), (0,))[0] != size for cells in tables[name] for i, size in enumerate(sizes)):
            return DataError("the groups of the table do not have the sizes given as sizes=")
        if draft.find_refusal is not None and (refusal := draft.find_refusal(*tables[name])) is not None:
            return refusal
    return tables


def _query_unit(
    frame: Frame, drafts: Mapping[str, Draft], unit: Unit, key: bytes, rows: int | None
) -> _Tables | DataError:
    requests = [request for draft in drafts.values() for request in draft.requests]
    keeping = None
    if unit.persons is not None and unit.persons.fold is not None:
        frame = fold_records(frame, requests, unit.persons)
    elif unit.persons is not None:
        keeping = Keeping(unit.persons, unit.contributions, key)
    most = MOST_ROWS if unit.persons is not None else rows or MOST_ROWS
    cells = count_cells(frame, requests, most=most, keeping=keeping)
    if isinstance(cells, DataError):
        return cells
    answers = iter(cells)
    return {name: [next(answers) for _ in draft.requests] for name, draft in drafts.items()}


def _list_units(drafts: Mapping[str, Draft]) -> list[tuple[Unit, dict[str, Draft]]]:
    """The drafts of each unit of privacy."""
    units = dict.fromkeys(draft.terms.unit for draft in drafts.values())
    return [(unit, {name: draft for name, draft in drafts.items() if draft.terms.unit == unit}) for unit in units]


def try_queries(frame: Frame, drafts: Mapping[str, Draft]) -> None:
    """Run every query on no rows, so that an engine that cannot run one is found before the charge."""
    nothing = frame.head(0)
    try:
        for unit, unit_drafts in _list_units(list_draws(drafts)):
            require(_query_unit(nothing, unit_drafts, unit, bytes(16), None))
    except EngineError as error:
        engine = frame.implementation.name.replace("_", " ").capitalize()
        raise EngineError(
            f"{engine} cannot run the query of this release ({error.failure}); nothing was spent. Hand over the table "
            "in another form, such as Polars or Arrow",
            error.failure,
        ) from None


def _draw_of(name: str, draft: Draft) -> str | Group:
    """The identity of a draw: the group that shares it, or the name of a release that is drawn alone."""
    return name if draft.record.group is None else draft.record.group


# Opening tables


def open_table(data: Any, statistic: Statistic, terms: Terms, rows: Any) -> tuple[Opened, Terms]:
    """A table ready to be counted, and the terms with its public size."""
    columns = add_columns(list_read(statistic.inputs), terms.unit.persons)
    public_rows = check_rows(rows, terms)
    # Whoever names a file sees its size; a query may have been filtered.
    place = Place(str(data)) if isinstance(data, str | Path) else data
    is_path = isinstance(place, Place)
    versions = take_versions(place.source) if is_path else ()
    data = _open(place, columns) if is_path else data
    frame = confine(partial(read, data, columns), counts=False)
    table = Opened(frame, versions)
    if terms.protects_rows:
        return table, terms
    if public_rows is None and not hasattr(frame, "shape") and not is_path:
        warn_caller(PUBLIC_SIZE, PublicSize)
        terms = replace(terms, counted=True)
    if public_rows is None:
        return table, size_terms(statistic, terms, _count_units(frame, terms))
    if hasattr(frame, "shape") and _has_other_size(frame, terms.with_rows(public_rows)):
        raise other_size(terms.with_rows(public_rows))
    return table, size_terms(statistic, terms, public_rows)


def _has_other_size(frame: Frame, terms: Terms) -> bool:
    return _count_units(frame, terms) != terms.rows


def _count_units(frame: Frame, terms: Terms) -> int:
    """The number that is public under substitution: of rows, or of persons."""
    persons = terms.unit.persons
    return count_rows(frame) if persons is None else count_persons(frame, persons)


def _warn_of_ids(statistics: Sequence[Statistic], terms: Terms) -> None:
    persons = terms.unit.persons
    names = {column.name for statistic in statistics for column in list_read(statistic.inputs)}
    if persons is not None and persons.column in names:
        warn_caller(
            f"column {persons.column!r} says whose row it is, and is counted as well: its levels or bounds are public"
        )


# claim:open-source
def open_source(data: Any, drafts: Sequence[Draft]) -> Opened:
    """Open the table at a `Place`, or take the caller's table, and check what is public about it.

    Every mistake that can be found without the values of records is raised here: a missing file or column, a column of
    another type, another number of rows than given. This spends nothing: with ``neighbours="substitute"`` the number of
    rows is public, and with ``"add-remove"`` it is not looked at.
    """
    columns, terms = columns_of_drafts(drafts), drafts[0].terms
    _warn_of_ids([draft.record.statistic for draft in drafts], terms)
    table = read_columns(data, columns)
    check_columns(table, columns, terms)
    return table


def _ask_for_nothing(frame: Frame) -> None:
    """Refuse a table that its database does not hand out, by a query without rows: what it refuses is public.

    Where the number of rows is counted, that query shows it.
    """
    if frame.implementation.is_ibis() or frame.implementation.is_duckdb():
        guard(lambda: frame.head(0).lazy().collect())


def columns_of_drafts(drafts: Sequence[Draft]) -> tuple[Column, ...]:
    """All columns that drafts read, each once, those of their rules for persons included."""
    lists = (add_columns(draft.columns, draft.terms.unit.persons) for draft in drafts)
    return tuple(dict.fromkeys(column for columns in lists for column in columns))


def check_columns(table: Opened, columns: Sequence[Column], terms: Terms, *, sized: bool = False) -> None:
    """Refuse a table that does not have the types and the public number of rows that were given.

    If it is ``sized``, its rows were counted already. A file that changed meanwhile is refused as well.
    """
    frame = table.frame
    folded = set() if terms.unit.persons is None else terms.unit.persons.new_columns
    check_types(frame, [column for column in columns if column.name not in folded])
    if terms.rows is None:
        _ask_for_nothing(frame)
    elif not sized:
        require(_find_other_size(frame, terms))
    require(find_change(table.versions))


def _find_other_size(frame: Frame, terms: Terms) -> DataError | None:
    """The refusal of a table with another public number of rows."""
    size = _count_units(frame, terms)
    if not size:
        return DataError(f"the table has no rows, but rows={terms.rows} was given; is it the right file?")
    return None if size == terms.rows else other_size(terms)


def read_columns(data: Any, columns: Sequence[Column]) -> Opened:
    """The columns of the table at a `Place`, or of one that the caller has."""
    if not isinstance(data, Place):
        return Opened(confine(partial(read, data, columns), counts=False))
    versions, table = take_versions(data.source), _open(data, columns)
    require_names(read(table, []).collect_schema().names(), columns, public=True)
    return Opened(confine(partial(read, table, columns), counts=False), versions)


def _open(place: Place, columns: Sequence[Column] | None) -> Any:
    """The table at a place. An Excel file is in memory then, so an exception keeps none of its cells."""
    return confine(
        partial(open_place, place.source, columns, table=place.table, engine=place.engine, written=place.written),
        counts=False,
    )


def columns_of(place: Place) -> dict[str, str]:
    """Names and kinds of a table's columns. No value is read, so every column of a CSV file is text."""
    table = _open(place, None)
    names = read(table, []).collect_schema()
    if mark := find_separator(list(names), place.written.separator):
        raise DataError(
            f"the file has one column, and its name is the whole first line: say that {mark!r} separates the columns "
            "(separator = ... under [data] of a plan, or --separator for plan init)"
        )
    return {name: _kind(dtype) for name, dtype in names.items()}


def _kind(dtype: Any) -> str:
    if dtype.is_numeric():
        return "integer" if dtype.is_integer() else "number"
    return {"Boolean": "boolean", "Date": "date", "Datetime": "time"}.get(str(dtype).split("(")[0], "text")


def other_size(terms: Terms) -> DataError:
    """The error for a table whose number of rows, or of persons, is not the one that was given."""
    noun = "rows" if terms.unit.persons is None else "persons"
    return DataError(
        f"rows={terms.rows} was given, but the table has another number of {noun}; correct it, hand over the whole "
        "table with where= if it was filtered, or protect the number with neighbours='add-remove'"
    )


def column_name(column: Any, data: Any) -> str:
    """The name of the column to read. If the data are a single column, its own name or the given one."""
    own_name = getattr(data, "name", None) if is_column(data) else None
    own_name = own_name if isinstance(own_name, str) and own_name else None
    if column is None:
        if isinstance(data, str | Path) or is_table(data):
            raise TypeError("column must be given for a table, as in mean(table, 'age', ...)")
        return own_name or UNNAMED
    if not isinstance(column, str):
        raise TypeError(
            f"column must be a name, got {type(column).__name__}; columns that have no names get them by "
            "df.columns = ['age', 'sex']"
        )
    if own_name is not None and own_name != column:
        raise TypeError(f"the data are a column named {own_name!r}, but column is {column!r}; pass the table instead")
    return column


def count_in_memory(data: Any) -> int | None:
    """The number of rows of data in memory, if that takes no time to find; None for files and other places."""
    column = next(iter(data.values()), None) if isinstance(data, Mapping) else data
    library = type(column).__module__.partition(".")[0]
    if not isinstance(column, list | tuple | np.ndarray) and library not in ("pandas", "polars", "pyarrow"):
        return None
    return len(column) if isinstance(column, Sized) and getattr(column, "ndim", 1) > 0 else None
