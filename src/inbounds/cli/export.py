"""The command ``inbounds export``."""

from pathlib import Path
from typing import Annotated

import typer

from inbounds._check import choice
from inbounds._files import write_atomically
from inbounds.cli.terminal import say


def export(
    record: Annotated[Path, typer.Argument(metavar="RECORD", help="a release.json")],
    form: Annotated[str, typer.Option("--as", metavar="xlsx|latex|csv|html|markdown", help="the form to write")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="the file to write, which must be new")],
) -> None:
    """Write the numbers of a record for other programs. The record is verified first; nothing is spent.

    xlsx is a workbook with the numbers rounded to their error and, on a second sheet, all digits (it needs the extra
    excel). latex is a table for each release. csv, html and markdown are the files that a release writes.

    Example: inbounds export results/release.json --as xlsx --out survey.xlsx
    """
    from inbounds import service

    choice(form, "--as", tuple(service.FORMS))
    if out.exists():
        raise ValueError(f"{str(out)!r} exists already; name another file with --out")
    write_atomically(out, service.export_record(record, form))
    say(f"{out} is written")
