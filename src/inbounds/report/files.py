"""Write the files of a release to a folder: the record, its values and the reports."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from inbounds._files import write_atomically
from inbounds.record import Releases
from inbounds.report.html import to_html
from inbounds.report.markdown import to_markdown
from inbounds.report.rows import NUMBERS as NUMBERS
from inbounds.report.rows import collect_sections, to_csv
from inbounds.report.rows import to_columns as to_columns

FILES = ("release.json", "values.csv", "report.html", "report.md")


def write_files(releases: Releases, folder: Path) -> None:
    """Write the record, the values and the reports. Each file is written completely or not at all."""
    sections = collect_sections(releases)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "release.json", releases.json_pieces())
    write_atomically(folder / "values.csv", to_csv(sections))
    write_atomically(folder / "report.html", to_html(releases, sections))
    write_atomically(folder / "report.md", to_markdown(releases, sections))


@contextmanager
def prepare_folder(folder: Path, argument: str) -> Iterator[None]:
    """Make a folder and check, before anything is spent, that it can be written to. It is removed if the work fails.

    ``argument`` is the caller's name for the folder, for messages.
    """
    folders = make_folders(folder, argument)
    try:
        yield
    except BaseException:
        remove_empty(folders)
        raise


def make_folders(folder: Path, argument: str) -> list[Path]:
    """Make a folder with its parents, check that it can be written to, and return the folders that are new."""
    folders: list[Path] = []
    try:
        for path in reversed([folder, *folder.parents]):
            with suppress(FileExistsError):
                path.mkdir()
                folders.append(path)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:
        remove_empty(folders)
        why = getattr(error, "strerror", None) or "it is not a valid path"
        raise ValueError(f"{argument} {str(folder)!r} cannot be written to: {why}; nothing was spent") from None
    return folders


def remove_empty(folders: list[Path]) -> None:
    """Remove those folders that are empty."""
    for folder in reversed(folders):
        # rmdir fails if a folder is not empty.
        with suppress(OSError):
            folder.rmdir()
