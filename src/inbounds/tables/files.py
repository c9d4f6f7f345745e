"""Which files a source means: a file, a folder of them, or a pattern. Decided once, for all engines."""

from glob import glob, has_magic
from pathlib import Path

from inbounds.tables.schema import DataError
from inbounds.tables.sources import guard


def find_files(text: str, suffixes: tuple[str, ...]) -> list[Path]:
    """The files at a place of this machine, in order, each of them once, whatever ways there are to it.

    A name that exists is that file, also where it has brackets. In a folder names that begin with a dot or an
    underscore are left out: they are what systems leave there.
    """
    where = Path(text)
    if where.is_dir():
        found = [one for one in where.iterdir() if one.name.endswith(suffixes) and not one.name.startswith((".", "_"))]
    elif has_magic(text) and not where.exists():
        found = [Path(one) for one in glob(text, recursive=True)]  # noqa: PTH207
    else:
        found = [where]
    if not found:
        raise DataError("no file matches the source's pattern")
    return list({one.resolve(): one for one in sorted(found, reverse=True)}.values())[::-1]


def read_start(file: Path, count: int) -> bytes:
    """The first bytes of a file, by which its kind is told."""

    def read() -> bytes:
        with file.open("rb") as stream:
            return stream.read(count)

    return guard(read)
