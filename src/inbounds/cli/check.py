"""The command ``inbounds check``."""

import os
from pathlib import Path
from typing import Annotated

import typer

from inbounds._text import to_json, visible, wrap
from inbounds.cli.terminal import show, show_steps, wrap_lines


def check(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="the plan, a TOML file")],
    data: Annotated[
        str | None, typer.Option(metavar="DATA", help="a path or URL in place of the plan's source")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="write to a new file that only you may read")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="machine-readable output")] = False,
) -> None:
    """For the curator's eyes only: say what a plan's rules would do with its table. Charges nothing.

    It reads the table and counts, exactly and without noise, which fields are missing, are no numbers or no levels, or
    lie beyond the bounds, and which rows of a CSV file are not of its form. What it says is as confidential as the
    table. Exit status 1: a release would be refused.

    Example: inbounds check plan.toml
    """
    from inbounds import service

    if out is not None and out.exists():
        raise ValueError(f"{str(out)!r} exists already; name another file with --out")
    with show_steps() as tell:
        if tell is not None:
            tell("reading the table")
        report = service.check_plan(plan, data)
    text = to_json(report, indent=1) if as_json else _wrap(list(map(visible, report["text"])))
    if out is None:
        show(text)
    else:
        handle = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{text}\n")
    if not report["passes"]:
        raise typer.Exit(1)


def _wrap(lines: list[str]) -> str:
    """The lines of a check for a terminal: what it begins and ends with are sentences, what is between is a list."""
    first, *between, last = lines
    return "\n".join([wrap(first), *([wrap_lines(between)] if between else []), wrap(last)])
