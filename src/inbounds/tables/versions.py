"""Which version of its files a table is read from, so that the file that was checked is the file that is counted.

A CSV file is checked before the charge and counted after it, and types and numbers of rows are looked at before, too.
The version of a file is what its system knows without its content: its place on the disk, its size, and when its
content and its entry last changed. Nobody needs a value of the file to compare two versions, so a refusal says no more
than that a program wrote to it. An Excel file is read once, and remote files and servers have no versions here.
"""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

from inbounds.errors import EngineError
from inbounds.tables.files import find_files
from inbounds.tables.formats import CSV, EXCEL
from inbounds.tables.parquet_files import SUFFIXES
from inbounds.tables.places import DUCKDB, read_address
from inbounds.tables.schema import DataError

# Files and what their system knows of each; None where there is none.
Versions: TypeAlias = tuple[tuple[Path, tuple[int, ...] | None], ...]

# Times of files move in steps of up to 10 ms on Linux: two changes within one may look alike.
_STEP = 20_000_000


# claim:versions
def take_versions(source: Any) -> Versions:
    """The versions of all files at a place, before it is opened.

    If a file was changed a moment ago, this waits until a further change would show, 20 ms at most.
    """
    files = _list_files(source)
    changed = max((max(facts[-2:]) for _, facts in _look_at(files) if facts), default=0)
    if 0 <= (age := time.time_ns() - changed) < _STEP:
        time.sleep((_STEP - age) / 1e9)
    return _look_at(files)


def find_change(versions: Versions) -> EngineError | None:
    """The error for files that are no longer what they were."""
    if _look_at(path for path, _ in versions) == versions:
        return None
    return EngineError(
        "a file of the table changed after it was checked, so that it was not counted: release it again when no other "
        "program writes to it"
    )


def _list_files(source: Any) -> list[Path]:
    """The files of this machine at a place, with the one that a DuckDB file has its last changes in."""
    text = read_address(source)
    if text.endswith(DUCKDB):
        return [Path(text), Path(f"{text}.wal")]
    if "://" in text or text.endswith(EXCEL):
        return []
    try:
        return find_files(text, (*CSV, *SUFFIXES))
    except (DataError, OSError):
        # Whoever opens it finds out why.
        return []


def _look_at(files: Iterable[Path]) -> Versions:
    return tuple((path, _find_facts(path)) for path in files)


def _find_facts(path: Path) -> tuple[int, ...] | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
