"""The content of the folder that was opened: tables, plans, and the columns of a table by name and declared type."""

import os
from dataclasses import fields
from glob import has_magic
from pathlib import Path
from typing import Any

from inbounds.errors import DataError
from inbounds.plan.template import Format, begin
from inbounds.road.run import Place, columns_of

_TABLES = (".csv", ".tsv", ".txt", ".csv.gz", ".csv.zst", ".parquet", ".pq", ".xlsx", ".duckdb", ".ddb")
_STORES = ("postgresql://", "postgres://", "s3://", "gs://", "az://", "hdfs://")
_MOST = 500


def list_files(folder: Path) -> dict[str, list[str]]:
    """The plans and the tables of a folder, by their names relative to it. Hidden files are left out.

    Parameters
    ----------
    folder
        The folder. Tables are also looked for in the folders in it, but not deeper.

    Returns
    -------
    dict
        With the keys ``plans`` and ``tables``, sorted.
    """
    inner = sorted(path for path in _children(folder) if path.is_dir() and not path.is_symlink())
    files = [path for place in (folder, *inner) for path in _children(place) if path.is_file()]
    tables = [path for path in files if path.name.lower().endswith(_TABLES)]
    # A folder of Parquet files is one table.
    tables += [path for path in inner if any(each.suffix in (".parquet", ".pq") for each in _children(path))]
    plans = [path for path in files if path.suffix == ".toml" and path.parent == folder]
    return {
        "plans": sorted(path.name for path in plans)[:_MOST],
        "tables": sorted(path.relative_to(folder).as_posix() for path in tables)[:_MOST],
    }


def _children(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if not path.name.startswith((".", "_"))]
    except OSError:
        return []


def require_inside(folder: Path, source: str | None, ledger: str | None = None) -> None:
    """Refuse a table or a ledger outside a folder.

    Parameters
    ----------
    folder
        The folder that was opened.
    source
        The path of a table, relative to the folder, or an address, or ``env:NAME``.
    ledger
        The path of a ledger.

    Raises
    ------
    DataError
        If one of them is outside. Links are followed.
    """
    for key, path in (("data.source", source), ("budget.ledger", ledger)):
        if path is None:
            continue
        name = path
        if key == "data.source" and path.startswith("env:"):
            name = os.environ.get(path.removeprefix("env:"), "")
        if key == "data.source" and name.startswith(_STORES):
            continue
        if not _is_inside(folder, name.removeprefix("file://")):
            raise DataError(
                f"{key}: it is not in the folder that was opened; move it there, or open its folder with: "
                "inbounds studio FOLDER/plan.toml"
            )


def _is_inside(folder: Path, name: str) -> bool:
    try:
        root, path = folder.resolve(), (folder / name).resolve()
        # A pattern without .. is inside if the part before its first sign is.
        return path.is_relative_to(root) and not (has_magic(name) and ".." in Path(name).parts)
    except (OSError, ValueError, RuntimeError):
        return False


def list_columns(folder: Path, source: str, table: str | None, written: dict[str, Any]) -> list[dict[str, str]]:
    """The columns of a table by name and declared type. No value is read; columns of CSV and Excel files have no type.

    Parameters
    ----------
    folder
        The folder that was opened, which the path of a table starts from.
    source, table
        The table, as a plan writes it.
    written
        How a file is written: keys of `inbounds.tables.formats.Format`.

    Returns
    -------
    list of dict
        Each with ``name`` and ``type``: number, integer, boolean, text, or empty.

    Raises
    ------
    DataError, ValueError, TypeError
        If there is no such table, or it is outside the folder.
    """
    require_inside(folder, source)
    keys = {field.name for field in fields(Format)}
    keys_of_file: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in written.items() if key in keys
    }
    place = source if "://" in source or source.startswith("env:") else str(folder / source)
    columns = columns_of(Place(place, table, None, Format(**keys_of_file)))
    untyped = place.lower().endswith(_TABLES[:5]) or place.lower().endswith(".xlsx")
    return [{"name": name, "type": "" if untyped else kind} for name, kind in columns.items()]


def start_plan(folder: Path, source: str, table: str | None = None) -> str:
    """The text of a plan for a table that has no rules and no releases yet.

    Parameters
    ----------
    folder
        The folder that was opened.
    source, table
        The table, as a plan writes it.

    Returns
    -------
    str
        The text. Bounds, levels and the number of rows are left open: they must be known without the data.

    Raises
    ------
    DataError, ValueError, TypeError
        If there is no such table, or it is outside the folder.
    """
    list_columns(folder, source, table, {})
    return begin(source, table=table)
