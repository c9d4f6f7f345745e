"""The files of a record: the record itself, its values, and reports; and the folder that they go to."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from inbounds._files import write_atomically
from inbounds.record import Releases
from inbounds.report.html import to_html
from inbounds.report.markdown import to_markdown
from inbounds.report.rows import collect_sections, to_csv

FILES = ("release.json", "values.csv", "report.html", "report.md")


def write_files(made: Releases, folder: Path) -> None:
    """Record, values and reports; each file is there whole or as it was."""
    sections = collect_sections(made)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "release.json", made.json_pieces())
    write_atomically(folder / "values.csv", to_csv(sections))
    write_atomically(folder / "report.html", to_html(made, sections))
    write_atomically(folder / "report.md", to_markdown(made, sections))


@contextmanager
def prepare_folder(folder: Path, argument: str) -> Iterator[None]:
    """A folder that can be written to, found out before anything is spent; as it was if nothing comes of it.

    ``argument`` is what whoever gave the folder calls it, for messages.
    """
    made = make_folders(folder, argument)
    try:
        yield
    except BaseException:
        remove_empty(made)
        raise


def make_folders(folder: Path, argument: str) -> list[Path]:
    """The folders that had to be made for it, once it can be written to."""
    made: list[Path] = []
    try:
        for one in reversed([folder, *folder.parents]):
            with suppress(FileExistsError):
                one.mkdir()
                made.append(one)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:
        remove_empty(made)
        why = getattr(error, "strerror", None) or "no name of a folder"
        raise ValueError(f"{argument} {str(folder)!r} cannot be written to: {why}; nothing was spent") from None
    return made


def remove_empty(made: list[Path]) -> None:
    for one in reversed(made):
        # Only what is empty can be removed.
        with suppress(OSError):
            one.rmdir()
