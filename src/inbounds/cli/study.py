"""The command ``inbounds study``."""

from pathlib import Path
from typing import Annotated

import typer

from inbounds._check import choice
from inbounds._text import to_json
from inbounds.cli.terminal import parse_whole, progress_bar, say, show


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
        typer.Option(metavar="N", help="repetitions of every setting; by default the file's, or 10000"),
    ] = None,
    seed: Annotated[
        str | None, typer.Option(metavar="S", help="seed of all random numbers; by default the file's, or 1")
    ] = None,
    workers: Annotated[
        str | None,
        typer.Option(metavar="N", help="number of threads, by default one per core; results do not depend on it"),
    ] = None,
    undefined: Annotated[
        str | None,
        typer.Option(
            metavar="omit|zero",
            help="covariance studies: correlations with a released variance of zero are left out, or count as 0",
        ),
    ] = None,
    figures: Annotated[bool, typer.Option(help="draw the figures (PNG and SVG)")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="list on standard output what was written")] = False,
) -> None:
    """Run simulations in which the true values are known: the paper's studies, or your own.

    Writes a tidy table (CSV and Parquet) and figures, which need pip install 'inbounds[plot]'. For the paper's studies
    it also writes all 32 findings of the paper, each with a verdict that is computed from the tables (claims.csv,
    claims.html). To resume an interrupted run, give the same command again. See docs/studies.md.

    Examples: inbounds study paper --out results; inbounds study my-study.toml --out results --reps 2000
    """
    from inbounds.lab.studies import laboratory
    from inbounds.lab.studies.covariance import UNDEFINED

    if undefined is not None:
        choice(undefined, "--undefined", UNDEFINED)
    count, start, threads = parse_whole(reps, "--reps"), parse_whole(seed, "--seed"), parse_whole(workers, "--workers")
    with progress_bar("simulating") as progress:
        order = laboratory.Order(out, count, start, threads, undefined, figures)
        report = laboratory.conduct(what, order, progress=progress, say=say)
    if as_json:
        show(to_json(report))
