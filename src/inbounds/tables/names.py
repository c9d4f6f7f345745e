"""Names of columns that a table does not have, and what the user may have meant.

The first line of a file may be a record, if somebody forgot the header. So the only names that messages show from a
file are those that differ from the wanted name in case and spaces alone.
"""

import difflib
from collections.abc import Collection, Iterable, Sequence

from inbounds.tables.schema import IN_QUOTES, Column, DataError, is_written, unknown_column

_SEPARATORS = (";", "\t", "|", ",")
# What to do about a file whose names come later, as the end of a message.
ABOVE = "; skip_lines = ... under [data] leaves out what is above it"


def require_names(
    names: Sequence[str], columns: Sequence[Column], *, separator: str = "", public: bool = False
) -> None:
    """Refuse a table that lacks columns, all of them at once, or has two of one name.

    Parameters
    ----------
    names
        The names that the table has.
    columns
        The columns that are asked for.
    separator
        What separates the fields of a CSV file; empty for other tables.
    public
        Whether names are declared apart from the rows, so that a message may show them.
    """
    for column in columns:
        # As Polars names the second of two columns that have one name.
        if list(names).count(column.name) > 1 or f"{column.name}_duplicated_0" in names:
            raise DataError(f"the table has two columns of the name {column.name!r}; rename one")
    missing = list(dict.fromkeys(column.name for column in columns if column.name not in names))
    if not missing:
        return
    if separator and (declared := find_separator(names, separator)):
        raise DataError(
            f"the header is one name with {declared!r} in it, and no {separator!r}: write separator = "
            f"{_in_toml(declared)} under [data]"
        )
    if public:
        first = next(column for column in columns if column.name == missing[0])
        raise unknown_column(missing[0], names, written=is_written(first))
    what = f"column{'s' * (len(missing) > 1)} {', '.join(map(repr, missing))}"
    written = all(is_written(column) for column in columns if column.name in missing)
    start = "line of a CSV file" if separator else "row of a sheet"
    hint = _find_meant(missing, names) or (IN_QUOTES if written else f"; the first {start} must be its header{ABOVE}")
    raise DataError(f"the table has no {what}{hint}")


def find_separator(names: Sequence[str], separator: str) -> str:
    """The character that seems to separate the names of a header that was read as one name; empty if none does."""
    marks = [mark for mark in _SEPARATORS if len(names) == 1 and mark in names[0] and mark != separator]
    return max(marks, key=names[0].count, default="")


def find_prefix(names: Iterable[str]) -> str:
    """A prefix that no name of a table has, in any case: for columns that are added to it."""
    start = "inbounds_"
    while any(name.lower().startswith(start) for name in names):
        start += "_"
    return start


def _find_meant(missing: Sequence[str], names: Collection[str]) -> str:
    """What may have been meant, as the end of a message; empty if no name is like it."""
    alike = {name.strip().casefold(): name for name in names}
    candidates = [alike[name.strip().casefold()] for name in missing if name.strip().casefold() in alike]
    if candidates:
        return f"; it has {', '.join(map(repr, candidates))}: names differ by case and spaces"
    if any(difflib.get_close_matches(name, names, n=1, cutoff=0.6) for name in missing):
        return "; one of its names is nearly the same: look for a slip of the pen"
    return ""


def _in_toml(mark: str) -> str:
    return '"\\t"' if mark == "\t" else f'"{mark}"'
