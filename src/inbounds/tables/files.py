"""Which files a source means: a file, a folder of them, or a pattern. Decided once, for all engines."""

from glob import glob, has_magic
from pathlib import Path

from inbounds.tables.schema import DataError
from inbounds.tables.sources import guard


def find_files(text: str, suffixes: tuple[str, ...]) -> list[Path]:
    """The files at a place of this machine, in order, each of them once, however many paths lead to it.

    A name that exists is that file, even if it has brackets. In a folder, names that begin with a dot or an underscore
    are left out, because systems create such files.
    """
    where = Path(text)
    if where.is_dir():
        children = [path for path in where.iterdir() if path.name.endswith(suffixes)]
        paths = [path for path in children if not path.name.startswith((".", "_"))]
    elif has_magic(text) and not where.exists():
        paths = [Path(path) for path in glob(text, recursive=True)]  # noqa: PTH207
    else:
        paths = [where]
    if not paths:
        raise DataError("no file matches the source's pattern")
    return list({path.resolve(): path for path in sorted(paths, reverse=True)}.values())[::-1]


def read_start(file: Path, count: int) -> bytes:
    """The first bytes of a file, by which its kind is told."""

    def read() -> bytes:
        with file.open("rb") as stream:
            return stream.read(count)

    return guard(read)
