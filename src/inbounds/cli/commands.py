"""The command ``inbounds``.

Results are written to files and, with ``--json``, to standard output. Messages and progress are written to standard
error, progress only on a terminal. Exit status: 0 success, 1 an audit found a fault in a mechanism or a check found
that a release would be refused, 2 bad input (with one clear message), 3 refused by the budget, 130 or 143 interrupted.
"""

import gc
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from inbounds import __version__
from inbounds._charts import NEEDED, can_draw
from inbounds._check import choice
from inbounds._mistakes import FileError
from inbounds._text import to_json, visible
from inbounds.audit.command import audit
from inbounds.cli.check import check
from inbounds.cli.export import export
from inbounds.cli.studio import studio
from inbounds.cli.study import study
from inbounds.cli.terminal import (
    announce_look_alikes,
    progress_bar,
    say,
    say_prose,
    show,
    show_steps,
    show_values,
    wrap_lines,
)

_INTERRUPTED, _REFUSED = 130, 3

app = typer.Typer(
    name="inbounds",
    help="Differentially private statistics that stay in their bounds, and say what staying there costs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
plans = typer.Typer(
    help="Start a plan, or print the JSON schema of plans.", no_args_is_help=True, rich_markup_mode=None
)
ledger = typer.Typer(help="Show, check and export what was spent.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(plans, name="plan")
app.add_typer(ledger, name="ledger")

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="the plan, a TOML file")]
LedgerFile = Annotated[Path, typer.Argument(metavar="LEDGER", help="the ledger")]
Json = Annotated[bool, typer.Option("--json", help="machine-readable output on standard output")]


def _version(show: bool) -> None:
    if show:
        print(f"inbounds {__version__}")
        raise typer.Exit


@app.callback()
def _inbounds(
    version: Annotated[
        bool, typer.Option("--version", help="show the version", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """With a callback, Typer keeps the names of commands even if there is only one."""


@plans.command("init", short_help="skeleton of a plan for a table")
def plan_init(
    source: Annotated[
        str, typer.Argument(metavar="DATA", help="CSV, Parquet, Excel, a DuckDB file or a PostgreSQL URL")
    ],
    out: Annotated[Path, typer.Option(help="the plan to write; - for standard output")] = Path("plan.toml"),
    table: Annotated[str | None, typer.Option(help="the table of a DuckDB file or a PostgreSQL server")] = None,
    engine: Annotated[str | None, typer.Option(help="polars, duckdb, dask or spark")] = None,
    separator: Annotated[str, typer.Option(help="of a CSV file: the character between two fields")] = ",",
    decimal: Annotated[str, typer.Option(help="of a CSV file: the character before decimals")] = ".",
    encoding: Annotated[str, typer.Option(help="of a CSV file")] = "utf-8",
    header: Annotated[bool, typer.Option(help="of a CSV or Excel file: whether it has names of columns")] = True,
    skip_lines: Annotated[int, typer.Option(help="of a CSV or Excel file: lines above the names")] = 0,
    sheet: Annotated[str | None, typer.Option(help="of an Excel file")] = None,
) -> None:
    """Write the skeleton of a plan for a table.

    It has the columns, but no bounds, levels or number of rows: those must be known without looking at the data, and
    are left for you to fill in. An existing file is not overwritten.

    Example: inbounds plan init survey.csv
    """
    from inbounds.plan.template import Format, skeleton

    if str(out) != "-" and out.exists():
        raise ValueError(f"{str(out)!r} exists already; name another file with --out")
    separator = "\t" if separator == "\\t" else separator
    form = Format(separator, decimal=decimal, encoding=encoding, header=header, skip_lines=skip_lines, sheet=sheet)
    text = skeleton(source, table=table, engine=engine, written=form)
    if str(out) == "-":
        print(text, end="")
        return
    with out.open("x", encoding="utf-8") as file:
        file.write(text)
    # The command has a line of its own, so that it can be copied.
    name = visible(str(out))
    say(f"{name} has the columns; fill in what is in CAPITALS, then:\n  inbounds preview {name}")


@plans.command("schema", short_help="JSON schema of plans, for editors")
def plan_schema() -> None:
    """Print the JSON schema of plans, for editors that complete and check TOML."""
    from inbounds.plan.plan import Plan

    show(to_json(Plan.model_json_schema(), indent=1))


@app.command(short_help="cost and expected error of a plan; reads no data")
def preview(
    plan: PlanFile,
    picture: Annotated[Path | None, typer.Option(help="plot the errors over the budget, as a PNG or SVG file")] = None,
    as_json: Json = False,
) -> None:
    """Show the cost and the expected error of each release of a plan. Reads no data and spends nothing.

    For each release: its share of epsilon, the expected error (RMSE), the error that 95% of releases stay below, and
    the expected error at half and at twice the budget.

    Example: inbounds preview plan.toml --picture errors.svg
    """
    from inbounds import service

    if picture is not None and picture.suffix not in (".png", ".svg"):
        raise ValueError("--picture must end in .png or .svg")
    if picture is not None and not can_draw():
        raise ImportError(NEEDED)
    with progress_bar("looking ahead") as progress:
        forecast = service.preview_plan(plan, progress)
    if picture is not None:
        forecast.plot().save(str(picture))
        say(f"the plot is in {picture}")
    show(to_json(forecast.to_dict()) if as_json else forecast)


@app.command(short_help="release a plan: charge, read the data once, write the record and a report")
def release(
    plan: PlanFile,
    out: Annotated[Path, typer.Option(metavar="DIR", help="folder for release.json, values.csv and the report")],
    new: Annotated[bool, typer.Option("--new", help="charge and draw again, even if this was released before")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="check everything, then stop before charging")] = False,
    by: Annotated[str | None, typer.Option(metavar="NAME", help="who releases; your user name by default")] = None,
    as_json: Json = False,
) -> None:
    """Release what a plan says: charge the ledger, read the data once, add noise, write the record and a report.

    The charge is made before the data are read. It stands if the table is refused. A release that was interrupted is
    finished by the same command, at no further cost. Releasing the same plan again returns the stored result and costs
    nothing. The files in DIR are release.json (the record, which can be verified), values.csv, report.html and
    report.md.

    Example: inbounds release plan.toml --out results
    """
    from inbounds import service
    from inbounds.plan.plan import Plan
    from inbounds.report.files import FILES

    loaded = Plan.load(plan)
    if dry_run:
        with announce_look_alikes():
            text = service.rehearse_plan(loaded, out, new=new, argument="--out")
        show(to_json({"dry_run": text})) if as_json else say(text)
        return
    with announce_look_alikes(), show_steps() as tell:
        releases = service.release_plan(loaded, out, new=new, who=by, say=tell, argument="--out")
    if releases.stored and releases.entry is not None:
        say_prose(
            f"this was released on {releases.entry.body['when'][:10]} (entry {releases.entry.sequence}); this is the "
            "stored result, and it costs nothing. The table was not read: if it has other data now, change "
            "budget.dataset. Use --new to draw again"
        )
    left = service.find_left(loaded.account) if releases.stored and loaded.account is not None else releases.left
    if as_json:
        show(to_json(service.summarize(releases) | {"left": left, "files": [str(out / name) for name in FILES]}))
        return
    show_values(service.describe_values(releases))
    cost = "nothing spent" if releases.stored else f"{releases.guarantee.calibrated.shorten()} spent"
    cost += ", and there is no ledger" if releases.entry is None else "" if left is None else f", {left} left"
    say(f"{cost}; the report is {out / 'report.html'}")


@app.command(short_help="prove a record again, from the record alone")
def verify(
    record: Annotated[Path, typer.Argument(metavar="RECORD", help="a release.json")],
    against: Annotated[
        Path | None,
        typer.Option("--ledger", metavar="LEDGER", help="also check that this ledger has the charge and the result"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Prove a record again: every certificate, every value, and the sum of all ε. Only the record is needed.

    Example: inbounds verify results/release.json --ledger survey.ledger
    """
    from inbounds import service

    releases = service.verify_record(record, against)
    many = len(releases) > 1
    text = f"{len(releases)} release{'s hold' if many else ' holds'}: {releases.guarantee.calibrated.shorten()}"
    text += f"{' in all' if many else ''}, {releases.terms.neighbours}"
    payment = "; there is no ledger" if releases.entry is None else ""
    payment = payment if against is None else "; the ledger has the charge"
    show(to_json(service.summarize(releases)) if as_json else text + payment)


@ledger.command("show", short_help="what is spent and left, and every entry")
def ledger_show(path: LedgerFile, as_json: Json = False) -> None:
    """Show what was spent and what is left for every dataset, then every entry.

    Example: inbounds ledger show survey.ledger
    """
    from inbounds import ledger as ledgers

    for warning in ledgers.similar(ledgers.read(path)):
        say(f"inbounds: {visible(warning)}")
    show(to_json(ledgers.summarize(path)) if as_json else wrap_lines(ledgers.show(path)))


@ledger.command("verify", short_help="check whether it was changed or set back")
def ledger_verify(
    path: LedgerFile,
    records: Annotated[
        list[Path] | None,
        typer.Option(
            "--record", metavar="FILE", help="a release.json that was charged to it; can be given several times"
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check whether a ledger was changed: entries edited, removed or added, results changed, or all of it set back.

    A record knows its entry in the ledger. Give some records to detect a ledger that was set back together with the
    file beside it, or replaced by another copy.

    Example: inbounds ledger verify survey.ledger --record results/release.json
    """
    from inbounds import ledger as ledgers
    from inbounds import service

    chain = ledgers.verify(path)
    for record in records or []:
        service.verify_record(record, path)
    text = f"{len(chain)} entries are unchanged" + (
        f", with {len(records)} record{'s' * (len(records) > 1)}" if records else ""
    )
    show(to_json({"entries": len(chain), "head": chain[-1].hash}) if as_json else text)


@ledger.command("raise", short_help="set another limit for a dataset")
def ledger_raise(
    path: LedgerFile,
    dataset: Annotated[str, typer.Option(help="the account")],
    limit: Annotated[str, typer.Option(metavar="EPSILON", help="the new limit")],
    why: Annotated[str, typer.Option(help="the reason, which is kept in the ledger")],
    by: Annotated[str | None, typer.Option(metavar="NAME", help="who does it; your user name by default")] = None,
) -> None:
    """Set another limit for a dataset. The ledger keeps who did it, and why.

    Example: inbounds ledger raise survey.ledger --dataset survey-2026 --limit 4 --why "second wave, board of 3 May"
    """
    from inbounds import _check
    from inbounds.ledger import Account, raise_limit

    show(raise_limit(Account(path, dataset, _check.fraction(limit, "--limit")), why, by))


@ledger.command("accept", short_help="accept it as it is when the file beside it is missing")
def ledger_accept(
    path: LedgerFile,
    why: Annotated[str, typer.Option(help="the reason, which is kept in the ledger")],
    by: Annotated[str | None, typer.Option(metavar="NAME", help="who does it; your user name by default")] = None,
) -> None:
    """Accept a ledger whose .head file is missing, so that it can be charged. The ledger keeps who did it, and why.

    Without that file, the ledger may be an older copy in which charges are missing. Look for the file in your backups
    first. To detect an older copy, run inbounds ledger verify with the newest records.

    Example: inbounds ledger accept survey.ledger --why "moved to the new server, 31 charges as in the minutes"
    """
    from inbounds.ledger import accept

    entry = accept(path, why, by)
    show(f"accepted with its {entry.sequence} entries; the reason is entry {entry.sequence}")


@ledger.command("export", short_help="write it as CSV, or as records for the registry")
def ledger_export(
    path: LedgerFile,
    kind: Annotated[
        str, typer.Option("--as", metavar="csv|registry", help="every entry, or a record for each dataset")
    ] = "csv",
    out: Annotated[
        Path | None, typer.Option(help="the file to write, which must be new; standard output by default")
    ] = None,
) -> None:
    """Write the ledger as CSV, or as records for the Differential Privacy Deployments Registry.

    The records are drafts, one for each dataset, in a list of JSON. State who publishes the numbers, what for and of
    which region, and hand in each record as a separate file.

    Example: inbounds ledger export survey.ledger --as registry --out registry.json
    """
    from inbounds.ledger import export

    text = export(path, choice(kind, "--as", ("csv", "registry")))
    if out is None:
        print(text, end="" if text.endswith("\n") else "\n")
        return
    if out.exists():
        raise ValueError(f"{str(out)!r} exists already; name another file with --out")
    with out.open("x", encoding="utf-8") as file:
        file.write(text)


@app.command(short_help="release a plan of a generated survey")
def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="folder for the survey, the plan and the results")] = Path(
        "inbounds-demo"
    ),
    as_json: Json = False,
) -> None:
    """Generate a health survey of 20,000 people and release a plan of it. Nothing has to be prepared.

    The files in DIR are survey.csv, plan.toml, survey.ledger and results/. A second run returns the stored result.
    """
    from inbounds import demo as example

    plan = example.write(out)
    release(plan, out / "results", as_json=as_json)
    if not as_json:
        say(f"next, change {plan} and run:\n  inbounds preview {plan}\n  inbounds release {plan} --out {out / 'own'}")


app.command(short_help="for the curator: what a plan's rules would do with its table")(check)
app.command(short_help="numbers of a record for Excel, LaTeX and others")(export)
app.command(short_help="a page to work with, on this machine only")(studio)
app.command(short_help="test the library's own mechanisms")(audit)
app.command(short_help="the paper's studies, or your own")(study)


def main() -> None:
    """Run the command. A mistake is reported in one line, without a traceback."""
    # A request to terminate is handled like Ctrl-C, so that finished work is kept.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        # The exit status, if a command ended early; 130 if it was interrupted.
        status = app(standalone_mode=False)
        if status == _INTERRUPTED:
            again = ": run the same command again to continue" if sys.argv[1:2] != ["studio"] else ""
            say(f"interrupted; finished work is kept{again}")
        sys.exit(status if isinstance(status, int) else 0)
    except (ValueError, TypeError, OSError, ArithmeticError, RecursionError, ImportError, MemoryError) as error:
        from inbounds.ledger import BudgetRefused

        # The mistakes in a file have one line each. Any other error is one line, whatever names are in it.
        say(f"inbounds: {error if isinstance(error, FileError) else visible(str(error))}")
        sys.exit(_REFUSED if isinstance(error, BudgetRefused) else 2)
    except Exception as error:
        # Click's usage errors have an exit status and a method that formats them.
        if not hasattr(error, "exit_code") or not hasattr(error, "format_message"):
            raise
        text = error.format_message()
        say(text if text.startswith("Usage") else f"inbounds: {text}")
        sys.exit(error.exit_code)


def run() -> None:
    """Run the command as its own process.

    Most objects are modules and classes, which are never freed. So the garbage collector runs rarely, and not at exit:
    a last run would take a fifth of the time of a small release.
    """
    gc.set_threshold(200_000)
    try:
        main()
    finally:
        # DuckDB counts what it finds alive at exit, and complains of it on standard error.
        if "duckdb" not in sys.modules:
            gc.freeze()


if __name__ == "__main__":
    run()
