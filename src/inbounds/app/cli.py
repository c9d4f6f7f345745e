"""The command ``inbounds``.

Results go to files and, with ``--json``, to standard output; messages and progress go to standard error, progress only
on a terminal. Exit status: 0 done, 2 bad input (one clear line), 130 interrupted.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
            metavar="covariance|proportions|paper|FILE.toml",
            help="one of the paper's studies, both of them, or a study file of your own",
        ),
    ],
    out: Annotated[Path, typer.Option(help="folder for tables, figures and claims")],
    reps: Annotated[
        int | None, typer.Option(help="repetitions of every setting [default: 10000, or the file's; the paper has 500]")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="of all random numbers [default: 1, or the file's]")] = None,
    workers: Annotated[int | None, typer.Option(help="threads; the table is the same for any number")] = None,
    undefined: Annotated[
        str, typer.Option(help="correlations next to a released variance of zero: omit, or count as zero")
    ] = "omit",
    figures: Annotated[bool, typer.Option(help="draw the figures (PNG and SVG)")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="say on standard output what was written")] = False,
) -> None:
    """Simulate with known truth: the paper's studies, or your own.

    Writes a tidy table (CSV and Parquet), figures, and for the paper's studies every finding of it with a verdict that
    is computed from the tables (claims.csv, claims.html). An interrupted run is taken up where it ended.
    """
    from inbounds.app import laboratory
    from inbounds.studies.covariance import UNDEFINED

    choice(undefined, "--undefined", UNDEFINED)
    with _progress("simulating") as progress:
        order = laboratory.Order(out, reps, seed, workers, undefined, figures)
        report = laboratory.conduct(what, order, progress=progress, say=_say)
    if as_json:
        print(json.dumps(report))


def _say(text: str) -> None:
    print(text, file=sys.stderr)


@contextmanager
def _progress(what: str) -> Iterator[Any]:
    """A bar on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
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
