"""What is in the folder that was opened: tables, plans, and the columns of a table by name and declared type."""

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
    inner = sorted(one for one in _children(folder) if one.is_dir() and not one.is_symlink())
    files = [one for place in (folder, *inner) for one in _children(place) if one.is_file()]
    tables = [one for one in files if one.name.lower().endswith(_TABLES)]
    # A folder of Parquet files is one table.
    tables += [one for one in inner if any(each.suffix in (".parquet", ".pq") for each in _children(one))]
    plans = [one for one in files if one.suffix == ".toml" and one.parent == folder]
    return {
        "plans": sorted(one.name for one in plans)[:_MOST],
        "tables": sorted(one.relative_to(folder).as_posix() for one in tables)[:_MOST],
    }


def _children(folder: Path) -> list[Path]:
    try:
        return [one for one in folder.iterdir() if not one.name.startswith((".", "_"))]
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
        # A pattern is as deep as the part of it that has no sign of one.
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
    given: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in written.items() if key in keys
    }
    place = source if "://" in source or source.startswith("env:") else str(folder / source)
    found = columns_of(Place(place, table, None, Format(**given)))
    untyped = place.lower().endswith(_TABLES[:5]) or place.lower().endswith(".xlsx")
    return [{"name": name, "type": "" if untyped else kind} for name, kind in found.items()]


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
