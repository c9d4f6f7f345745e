"""Parquet files of one table whose columns have different types from file to file.

Writers that make types from values (pandas among them) write integers in one file, doubles in the next because a value
is missing there, and no type at all where all are. Engines then take the types of the first file for all, refuse the
others, or round them, and so one record would move the rest. Here the types in all footers are compared first, and the
files are read in groups of one type each, cast to a common one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from inbounds.tables.files import find_files, read_start
from inbounds.tables.schema import Column, DataError
from inbounds.tables.sources import guard
from inbounds.tables.untyped import kind_of

SUFFIXES = (".parquet", ".pq")


@dataclass(frozen=True, slots=True)
class Group:
    """Files with the same types. ``columns`` are those to read, with the type to cast to ("number", "text", "boolean"),
    None where all files agree; those in ``empty`` have no type in these files, and no value."""

    files: tuple[str, ...]
    columns: tuple[tuple[str, str | None], ...] = ()
    empty: frozenset[str] = frozenset()


# claim:parquet-types
def group_files(text: str, columns: Sequence[Column]) -> list[Group]:
    """The files at a place in groups that can be read at once; one if all types agree.

    Only footers are read, which hold names and types. Raises `DataError` for a column that is a number in one file and
    text in another, or that only some files have. If no file has a type, the rule of the column gives it. Which files
    there are is decided here, once: no engine gets a pattern or a folder, in which it might see other files. A place
    that is not on this machine is one group, which is left to its engine.
    """
    if "://" in text:
        return [Group((text,))]
    files = find_files(text, SUFFIXES)
    # Those with an encrypted footer end, and begin, in another way.
    if any(read_start(file, 4) not in (b"PAR1", b"PARE") for file in files):
        raise DataError("the source is, or has, a file that is no Parquet file, whatever its name says")
    schemas = {str(file): _types(str(file)) for file in files} if columns else {}
    rules = {column.name: column for column in columns}
    shared = [name for name in rules if schemas and all(name in schema for schema in schemas.values())]
    for name in rules:
        if name not in shared and any(name in schema for schema in schemas.values()):
            raise DataError(
                f"column {name!r} is in some of the Parquet files and not in others; write the files again with the "
                "same columns, or name those that have it by a pattern"
            )
    kinds = {name: {schema[name] for schema in schemas.values()} for name in shared}
    if all(len(dtypes) == 1 and dtypes != {"Null"} for dtypes in kinds.values()):
        return [Group(tuple(map(str, files)))]
    casts = tuple((name, _common(rules[name], dtypes)) for name, dtypes in kinds.items())
    groups: dict[tuple[str, ...], list[str]] = {}
    for file, schema in schemas.items():
        groups.setdefault(tuple(schema[name] for name in shared), []).append(file)
    return [
        Group(
            tuple(paths), casts, frozenset(name for name, dtype in zip(shared, types, strict=True) if dtype == "Null")
        )
        for types, paths in groups.items()
    ]


def _types(file: str) -> dict[str, str]:
    import polars as pl

    return {name: str(dtype) for name, dtype in guard(lambda: pl.read_parquet_schema(file)).items()}


_NUMBERS = ("Int", "UInt", "Float", "Decimal", "Boolean")
_TEXTS = ("String", "Categorical", "Enum")
# Numbers that doubles do not hold.
_LONG = ("Int64", "UInt64", "Int128", "UInt128", "Decimal")


def _common(column: Column, types: set[str]) -> str | None:
    """The type to cast a column to; that of its rule where no file has a value."""
    dtypes = types - {"Null"}
    if len(types) == 1 and dtypes:
        return None
    if not dtypes:
        kind = kind_of(column)
        return {"integer": "number", "order": "number", "id": "text"}.get(kind, kind)
    if dtypes == {"Boolean"}:
        return "boolean"
    # Numbers of several types become doubles, which may turn two long ids into one.
    merging = kind_of(column) == "id" and any(dtype.startswith(_LONG) for dtype in dtypes)
    for kind, starts in (("number", _NUMBERS), ("text", _TEXTS)):
        if all(dtype.startswith(starts) for dtype in dtypes) and not merging:
            return kind
    raise DataError(
        f"column {column.name!r} has different types in different Parquet files; write the files again with one type"
    )
