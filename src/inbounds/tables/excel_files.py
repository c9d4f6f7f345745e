"""Excel files: one sheet, read cell by cell, so that no type is made from values.

The first row has the names of the columns. A record is a row below it in which some cell is not empty. A row of empty
cells is none, wherever it stands, so each row shows by itself whether it is a record. A cell holds a number, a text, a
truth value or a date, and becomes what the rule of its column says, like any value of an untyped column
(`inbounds.tables.untyped`). Empty cells and errors such as ``#N/A`` are missing; formulas count as their last results.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inbounds.tables.formats import PLAIN, Format
from inbounds.tables.names import ABOVE, require_names
from inbounds.tables.schema import Column, DataError
from inbounds.tables.sources import guard
from inbounds.tables.untyped import from_objects

if TYPE_CHECKING:
    import polars as pl


# claim:excel
def scan(
    text: str, columns: Sequence[Column] | None, *, written: Format = PLAIN, secret: bool = False
) -> "pl.DataFrame":
    """The records of a sheet, in the types that ``columns`` ask for.

    With None for the columns only their names are given, and no record. ``secret`` keeps the name of the file out of
    messages. Raises `DataError` for a file that is no Excel file, a sheet that is not there, or a cell beyond the last
    column that has a name.
    """
    import polars as pl

    title = "the file" if secret else f"the file {Path(text).name!r}"
    rows = _read_rows(Path(text), title, written.sheet)[written.skip_lines :]
    names, records = _split(rows, title, header=written.header)
    if columns is None:
        return pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    require_names(names, columns)
    if any(not _is_empty(cell) for row in records for cell in row[len(names) :]):
        raise DataError(
            f"{title} has a cell to the right of its last column that has a name; name it, or empty the cell"
        )
    missing = ("", *written.null_values)
    place = {name: number for number, name in enumerate(names)}

    def read(column: Column) -> "pl.Series":
        cells = (row[place[column.name]] for row in records)
        return from_objects([None if isinstance(cell, str) and cell in missing else cell for cell in cells], column)

    series = [read(column) for column in dict.fromkeys(columns)]
    placeholders = [pl.repeat(None, len(records), dtype=pl.String, eager=True).alias(name) for name in place]
    return pl.DataFrame([*placeholders, *{values.name: values for values in series}.values()])


def _read_rows(path: Path, title: str, sheet: str | None) -> list[list[Any]]:
    """The cells of a sheet from its first row and column on."""
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise ImportError("an Excel file needs python_calamine: pip install 'inbounds[excel]'") from None
    try:
        book = CalamineWorkbook.from_path(str(path))
    except Exception:
        # The message of the reader may quote a cell.
        raise DataError(f"{title} cannot be read: it is no Excel file (.xlsx), is damaged or has a password") from None
    names = ", ".join(map(repr, book.sheet_names))
    if sheet is None and len(book.sheet_names) != 1:
        raise DataError(
            f"{title} has several sheets: {names}; name one, as in sheet = ... under [data] of a plan, or --sheet for "
            "plan init"
        )
    if sheet is not None and sheet not in book.sheet_names:
        raise DataError(f"{title} has no sheet {sheet!r}; it has {names}")
    name = book.sheet_names[0] if sheet is None else sheet
    rows: list[list[Any]] = guard(lambda: book.get_sheet_by_name(name).to_python(skip_empty_area=False))
    return rows


def _split(rows: Sequence[list[Any]], title: str, *, header: bool) -> tuple[list[str], list[list[Any]]]:
    """Names of columns, and records. Columns after the last one with a name have none."""
    if not header:
        width = max(map(len, rows), default=0)
        return [f"column_{number + 1}" for number in range(width)], [row for row in rows if not _is_blank(row)]
    if not rows or _is_blank(rows[0]):
        raise DataError(f"{title} has no header: the first row of the sheet must have the names of its columns{ABOVE}")
    names = [str(cell) for cell in rows[0]]
    while names and not names[-1]:
        names.pop()
    return names, [row for row in rows[1:] if not _is_blank(row)]


def _is_empty(cell: Any) -> bool:
    return cell is None or cell == ""


def _is_blank(row: Sequence[Any]) -> bool:
    return all(map(_is_empty, row))
