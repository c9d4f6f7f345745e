"""The command ``inbounds``.

Results go to files and, with ``--json``, to standard output; messages and progress go to standard error, progress only
on a terminal. Exit status: 0 done, 2 bad input (one clear line), 130 interrupted.
"""

import json
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from inbounds._check import choice

_INTERRUPTED = 130

app = typer.Typer(
    name="inbounds",
    help="Differentially private statistics that stay in their bounds, and say what staying there costs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def _inbounds() -> None:
    """Keeps commands as words of their own."""


@app.command()
def study(
    what: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="covariance or proportions (the paper's studies), paper (both), or FILE.toml (your own)",
        ),
    ],
    out: Annotated[Path, typer.Option(help="folder for tables, figures and claims")],
    reps: Annotated[
        str | None,
        typer.Option(metavar="N", help="repetitions of every setting; 10000, or the file's, if not given"),
    ] = None,
    seed: Annotated[
        str | None, typer.Option(metavar="S", help="of all random numbers; 1, or the file's, if not given")
    ] = None,
    workers: Annotated[
        str | None,
        typer.Option(metavar="N", help="threads, as many as there are cores if not given; the table is the same"),
    ] = None,
    undefined: Annotated[
        str | None,
        typer.Option(
            metavar="omit|zero",
            help="covariance studies: correlations next to a released variance of zero are left out, or count as 0",
        ),
    ] = None,
    figures: Annotated[bool, typer.Option(help="draw the figures (PNG and SVG)")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="say on standard output what was written")] = False,
) -> None:
    """Simulate with known truth: the paper's studies, or your own.

    Writes a tidy table (CSV and Parquet) and figures; for the paper's studies also all 32 findings of the paper, each
    with a verdict that is computed from the tables (claims.csv, claims.html). An interrupted run is taken up where it
    ended when the same command is given again. See docs/studies.md.

    Examples: inbounds study paper --out results; inbounds study my-study.toml --out results --reps 2000
    """
    from inbounds.app import laboratory
    from inbounds.studies.covariance import UNDEFINED

    if undefined is not None:
        choice(undefined, "--undefined", UNDEFINED)
    count, start, threads = _whole(reps, "--reps"), _whole(seed, "--seed"), _whole(workers, "--workers")
    with _progress("simulating") as progress:
        order = laboratory.Order(out, count, start, threads, undefined, figures)
        report = laboratory.conduct(what, order, progress=progress, say=_say)
    if as_json:
        print(json.dumps(report))


def _whole(text: str | None, name: str) -> int | None:
    """A whole number as it is typed: 10000 or 10_000."""
    if text is None:
        return None
    if not re.fullmatch(r"-?[0-9_]{1,18}", text):
        raise ValueError(f"{name} must be a whole number such as 10000, got {text[:40]!r}")
    return int(text)


def _say(text: str) -> None:
    """To standard error, if anybody listens there."""
    if sys.stderr is not None:
        with suppress(BrokenPipeError):
            print(text, file=sys.stderr)


@contextmanager
def _progress(what: str) -> Iterator[Any]:
    """A bar on a terminal; nothing elsewhere."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def show(done: int, of: int, description: str | None = None) -> None:
            bar.update(task, completed=done, total=of, description=description or what)

        yield show


def main() -> None:
    """Run the command; a mistake is one line, never a traceback."""
    # Asked to end, it ends as with Ctrl-C: what was finished is kept.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        # The exit status, where a command left early; an interrupt is 130.
        status = app(standalone_mode=False)
        if status == _INTERRUPTED:
            _say("interrupted; what was finished is kept: run the same command again to go on")
        sys.exit(status if isinstance(status, int) else 0)
    except (ValueError, TypeError, OSError) as error:
        _say(f"inbounds: {error}")
        sys.exit(2)
    except Exception as error:
        # Click's own usage errors know their exit status and how to show themselves.
        if not hasattr(error, "exit_code") or not hasattr(error, "format_message"):
            raise
        text = error.format_message()
        _say(text if text.startswith("Usage") else f"inbounds: {text}")
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
