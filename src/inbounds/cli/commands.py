"""The command ``inbounds``.

Results go to files and, with ``--json``, to standard output; messages and progress go to standard error, progress only
on a terminal. Exit status: 0 done, 1 an audit caught a mechanism of ours or a check found that a release would be
refused, 2 bad input (one clear message), 3 refused by the budget, 130 or 143 interrupted.
"""

import gc
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from inbounds import __version__
from inbounds._check import choice
from inbounds._mistakes import FileError
from inbounds._text import to_json, visible
from inbounds.audit.command import audit
from inbounds.cli.check import check
from inbounds.cli.terminal import announce_look_alikes, parse_whole, progress_bar, say, show, show_steps

_INTERRUPTED, _REFUSED = 130, 3

app = typer.Typer(
    name="inbounds",
    help="Differentially private statistics that stay in their bounds, and say what staying there costs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
plans = typer.Typer(help="Begin a plan, or have its rules for an editor.", no_args_is_help=True, rich_markup_mode=None)
ledger = typer.Typer(help="What has been spent, and proof of it.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(plans, name="plan")
app.add_typer(ledger, name="ledger")

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="the plan, a TOML file")]
LedgerFile = Annotated[Path, typer.Argument(metavar="LEDGER", help="the ledger")]
Json = Annotated[bool, typer.Option("--json", help="machine-readable output on standard output")]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"inbounds {__version__}")
        raise typer.Exit


@app.callback()
def _inbounds(
    version: Annotated[
        bool, typer.Option("--version", help="say which version this is", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Keeps commands as words of their own."""


@plans.command("init", short_help="skeleton of a plan for a table")
def plan_init(
    source: Annotated[
        str, typer.Argument(metavar="DATA", help="CSV, Parquet, Excel, a DuckDB file or a PostgreSQL URL")
    ],
    out: Annotated[Path, typer.Option(help="the plan to write; - for standard output")] = Path("plan.toml"),
    table: Annotated[str | None, typer.Option(help="the table of a DuckDB file or a PostgreSQL server")] = None,
    engine: Annotated[str | None, typer.Option(help="polars, duckdb, dask or spark")] = None,
    separator: Annotated[str, typer.Option(help="of a CSV file: the character between two fields")] = ",",
    encoding: Annotated[str, typer.Option(help="of a CSV file")] = "utf-8",
    sheet: Annotated[str | None, typer.Option(help="of an Excel file")] = None,
) -> None:
    """Write the skeleton of a plan for a table.

    It has the columns, but no bounds, levels or number of rows: those must be known without looking at the data, and
    are left for you to fill in. A file that is there is not overwritten.

    Example: inbounds plan init survey.csv
    """
    from inbounds.plan.template import Format, skeleton

    if str(out) != "-" and out.exists():
        raise ValueError(f"{str(out)!r} exists already; name another file with --out")
    written = Format(separator="\t" if separator == "\\t" else separator, encoding=encoding, sheet=sheet)
    text = skeleton(source, table=table, engine=engine, written=written)
    if str(out) == "-":
        print(text, end="")
        return
    with out.open("x", encoding="utf-8") as file:
        file.write(text)
    say(f"{out} has the columns; fill in what is in CAPITALS, then: inbounds preview {out}")


@plans.command("schema", short_help="JSON schema of plans, for editors")
def plan_schema() -> None:
    """Print the JSON schema of plans, for editors that complete and check TOML."""
    from inbounds.plan.plan import Plan

    show(to_json(Plan.model_json_schema(), indent=1))


@app.command(short_help="cost and expected error of a plan; reads no data")
def preview(
    plan: PlanFile,
    picture: Annotated[Path | None, typer.Option(help="draw errors over the budget: a PNG or SVG file")] = None,
    as_json: Json = False,
) -> None:
    """Say what each release of a plan would cost and how far off it will be. Reads no data and spends nothing.

    For each release: its share of epsilon, the expected error (RMSE), what 95% of releases keep within, the worst case,
    and the error at half and at twice the budget.

    Example: inbounds preview plan.toml --picture errors.svg
    """
    from inbounds import service

    if picture is not None and picture.suffix not in (".png", ".svg"):
        raise ValueError("--picture must end in .png or .svg")
    with progress_bar("looking ahead") as progress:
        made = service.preview_plan(plan, progress)
    if picture is not None:
        made.plot().save(str(picture))
        say(f"{picture} is drawn")
    show(to_json(made.to_dict()) if as_json else made)


@app.command(short_help="the main job: charge, read once, write record and report")
def release(
    plan: PlanFile,
    out: Annotated[Path, typer.Option(metavar="DIR", help="folder for release.json, values.csv and the report")],
    new: Annotated[bool, typer.Option("--new", help="draw anew, at a new charge, what was released before")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="check everything, then stop before charging")] = False,
    by: Annotated[str | None, typer.Option(metavar="NAME", help="who releases; your user name if not given")] = None,
    as_json: Json = False,
) -> None:
    """Release what a plan says: charge the ledger, read the data once, add noise, write the record and a report.

    The charge is made before the data are read and stands whatever happens then. The same plan again gives the stored
    result, free of charge. DIR gets release.json (the record, which proves itself), values.csv, report.html, report.md.

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
        made = service.release_plan(loaded, out, new=new, who=by, say=tell, argument="--out")
    if made.stored and made.entry is not None:
        say(
            f"released on {made.entry.body['when'][:10]} (entry {made.entry.sequence}); here it is again, free of "
            "charge. The table was not read: if it holds other data, give it another dataset; --new draws anew"
        )
    if as_json:
        show(to_json(service.summarize(made) | {"files": [str(out / name) for name in FILES]}))
        return
    show(made)
    spent = "nothing spent" if made.stored else f"epsilon {float(made.epsilon):g} spent"
    spent += "" if made.entry is not None else ", and no ledger accounts for it"
    say(f"{spent}; the report is {out / 'report.html'}")


@app.command(short_help="prove a record again, from the record alone")
def verify(
    record: Annotated[Path, typer.Argument(metavar="RECORD", help="a release.json")],
    against: Annotated[
        Path | None, typer.Option("--ledger", metavar="LEDGER", help="also check that this ledger paid for it")
    ] = None,
    as_json: Json = False,
) -> None:
    """Prove a record again: every certificate, every value, and that all ε add up. Needs nothing but the record.

    Example: inbounds verify results/release.json --ledger survey.ledger
    """
    from inbounds import service

    made = service.verify_record(record, against)
    many = len(made) > 1
    text = f"{len(made)} release{'s hold' if many else ' holds'}: epsilon {float(made.epsilon):g}"
    text += f"{' in all' if many else ''}, {made.terms.neighbours}"
    paid = "; no ledger accounts for it" if made.entry is None else ""
    paid = paid if against is None else "; the ledger has the charge"
    show(to_json(service.summarize(made)) if as_json else text + paid)


@ledger.command("show", short_help="what is spent and left, and every entry")
def ledger_show(path: LedgerFile, as_json: Json = False) -> None:
    """What was spent and what is left of every dataset, then every entry.

    Example: inbounds ledger show survey.ledger
    """
    from inbounds import ledger as ledgers

    for told in ledgers.similar(ledgers.read(path)):
        say(f"inbounds: {visible(told)}")
    show(to_json(ledgers.summarize(path)) if as_json else "\n".join(ledgers.show(path)))


@ledger.command("verify", short_help="whether it was changed or put back")
def ledger_verify(
    path: LedgerFile,
    records: Annotated[
        list[Path] | None,
        typer.Option("--record", metavar="FILE", help="a release.json that it should know; may be given again"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Find out whether a ledger was changed: entries edited, taken out or put in, results changed, all put back.

    Records of releases remember how far the ledger had come; give some to find a ledger that was put back together with
    the file beside it, or another copy of it.

    Example: inbounds ledger verify survey.ledger --record results/release.json
    """
    from inbounds import ledger as ledgers
    from inbounds import service

    chain = ledgers.verify(path)
    for record in records or []:
        service.verify_record(record, path)
    text = f"{len(chain)} entries hold together" + (
        f", with {len(records)} record{'s' * (len(records) > 1)}" if records else ""
    )
    show(to_json({"entries": len(chain), "head": chain[-1].hash}) if as_json else text)


@ledger.command("raise", short_help="another limit for a dataset")
def ledger_raise(
    path: LedgerFile,
    dataset: Annotated[str, typer.Option(help="the account")],
    limit: Annotated[str, typer.Option(metavar="EPSILON", help="the new limit")],
    why: Annotated[str, typer.Option(help="the reason, which is kept")],
    by: Annotated[str | None, typer.Option(metavar="NAME", help="who does it; your user name if not given")] = None,
) -> None:
    """Give a dataset another limit: an act of its own, with a reason, that stays in the ledger.

    Example: inbounds ledger raise survey.ledger --dataset survey-2026 --limit 4 --why "second wave, board of 3 May"
    """
    from inbounds import _check
    from inbounds.ledger import Account, raise_limit

    show(raise_limit(Account(path, dataset, _check.fraction(limit, "--limit")), why, by))


@ledger.command("export", short_help="CSV, or the columns of the registry")
def ledger_export(
    path: LedgerFile,
    kind: Annotated[
        str, typer.Option("--as", metavar="csv|registry", help="every entry, or a registry's fields")
    ] = "csv",
    out: Annotated[Path | None, typer.Option(help="file to write, a new one; standard output if not given")] = None,
) -> None:
    """Write the ledger for others: as CSV, or with the fields of the Differential Privacy Deployments Registry.

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


@app.command(short_help="the main job on a generated survey")
def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="folder for the survey, the plan and the results")] = Path(
        "inbounds-demo"
    ),
    as_json: Json = False,
) -> None:
    """Do the main job on a generated health survey of 20,000 people; nothing to prepare.

    DIR gets survey.csv, plan.toml, survey.ledger and results/. Run it again, and the stored result comes back.
    """
    from inbounds import demo as example

    plan = example.write(out)
    release(plan, out / "results", as_json=as_json)
    if not as_json:
        say(f"look at {plan}, change it, and: inbounds preview {plan}; inbounds release {plan} --out {out / 'own'}")


app.command(short_help="for the curator: what a plan's rules would do with its table")(check)
app.command(short_help="try to catch the library")(audit)


@app.command(short_help="the paper's studies, or your own")
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
    from inbounds.studies import laboratory
    from inbounds.studies.covariance import UNDEFINED

    if undefined is not None:
        choice(undefined, "--undefined", UNDEFINED)
    count, start, threads = parse_whole(reps, "--reps"), parse_whole(seed, "--seed"), parse_whole(workers, "--workers")
    with progress_bar("simulating") as progress:
        order = laboratory.Order(out, count, start, threads, undefined, figures)
        report = laboratory.conduct(what, order, progress=progress, say=say)
    if as_json:
        show(to_json(report))


def main() -> None:
    """Run the command; a mistake is one line, never a traceback."""
    # Asked to end, it ends as with Ctrl-C: what was finished is kept.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        # The exit status, where a command left early; an interrupt is 130.
        status = app(standalone_mode=False)
        if status == _INTERRUPTED:
            say("interrupted; what was finished is kept: run the same command again to go on")
        sys.exit(status if isinstance(status, int) else 0)
    except (ValueError, TypeError, OSError, ArithmeticError, RecursionError, ImportError, MemoryError) as error:
        from inbounds.ledger import BudgetRefused

        # The mistakes of a file are a line each; anything else is one line, whatever names are in it.
        say(f"inbounds: {error if isinstance(error, FileError) else visible(str(error))}")
        sys.exit(_REFUSED if isinstance(error, BudgetRefused) else 2)
    except Exception as error:
        # Click's own usage errors know their exit status and how to show themselves.
        if not hasattr(error, "exit_code") or not hasattr(error, "format_message"):
            raise
        text = error.format_message()
        say(text if text.startswith("Usage") else f"inbounds: {text}")
        sys.exit(error.exit_code)


def run() -> None:
    """The command as a process of its own.

    Most of its objects are modules and classes, which stay to the end. So the garbage collector seldom looks, and does
    not look at them once more on leaving: that takes a fifth of the time of a small release.
    """
    gc.set_threshold(20_000)
    try:
        main()
    finally:
        gc.freeze()


if __name__ == "__main__":
    run()
