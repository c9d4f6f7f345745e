"""What the commands do: plans, releases, records and ledgers. The command line itself is `inbounds.app.cli`."""

from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from inbounds._text import csv_cell, to_json, visible
from inbounds.app.job import Releases, release
from inbounds.app.plan import Plan
from inbounds.privacy import ledger as ledgers
from inbounds.record import RecordError
from inbounds.report.files import FILES, make_folders, prepare_folder, remove_empty, write_files
from inbounds.road.run import open_source, request_of

Say = Callable[[str], None]
# The folder of these files, as the command line calls it.
_OUT = "--out"


def apart(plan: Plan, folder: Path, argument: str) -> None:
    """Refuse a folder in which a file of the release would take the place of the plan's table or ledger.

    ``argument`` is what whoever gave the folder calls it, for messages.
    """
    files = [folder.resolve() / name for name in FILES]
    taken = [] if plan.budget.ledger is None else [Path(plan.budget.ledger).resolve()]
    source = plan.data.source
    if source is not None and "://" not in source and not source.startswith("env:"):
        table = Path(source).resolve()
        taken += [file for file in files if table in (file, file.parent) or fnmatch(str(file), str(table))]
    for file in files:
        if file in taken:
            raise ValueError(
                f"{argument} {str(folder)!r}: {file.name} there is, or would be read as, the plan's own table or "
                "ledger; choose another folder. Nothing was spent"
            )


def run(plan: Plan, folder: Path, *, new: bool = False, who: str | None = None, say: Say | None = None) -> Releases:
    """The main job, with its files."""
    apart(plan, folder, _OUT)
    with prepare_folder(folder, _OUT):
        made = release(plan, new=new, who=who, say=say)
        if say is not None:
            say("writing the report")
        write_files(made, folder)
    return made


def dry_run(plan: Plan, folder: Path, *, new: bool = False) -> str:
    """All that a release checks before it charges, the budget included."""
    apart(plan, folder, _OUT)
    remove_empty(make_folders(folder, _OUT))
    drafts = plan.drafts()
    account, asked = plan.account, request_of(drafts, plan.budget.dataset)
    if account is not None and not new and (before := ledgers.stored(account, asked)) is not None:
        return f"this was released on {before.entry.body['when'][:10]} and would be shown again, free of charge"
    if plan.place is None:
        raise ValueError("data.source: must be given")
    open_source(plan.place, list(drafts.values()))
    left = "no ledger accounts for it"
    if account is not None:
        left = f"{ledgers.shown(ledgers.affordable(account, asked))} would be left"
    count = f"{len(plan.release)} release{'s' * (len(plan.release) != 1)}"
    return f"{count} would cost {float(plan.budget.epsilon):g} ({left}); nothing was charged or released"


def verified(path: Path, ledger: Path | None = None) -> Releases:
    """A record that was proved again; with a ledger, also that the ledger has the charge and this very result."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise RecordError(f"{str(path)!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise RecordError(f"{str(path)!r} is not text in UTF-8") from None
    made = Releases.from_json(text)
    if ledger is None:
        return made
    if made.entry is None:
        raise RecordError("the record names no entry of a ledger")
    ledgers.verify(ledger, [(made.entry.sequence, made.entry.hash)])
    # The last digits of a value may be others; its text is about as long.
    kept = ledgers.result(ledger, made.entry.sequence, longest=2 * len(text.encode()) + 10_000)
    if kept is None or not made.is_same(Releases.from_json(kept)):
        raise RecordError("the ledger has another result for this charge")
    return made


# Ledgers


def account_lines(path: Path) -> list[str]:
    """How every dataset stands, then every entry."""
    chain = ledgers.verify(path)
    lines = [str(one) for one in ledgers.standings(chain)] or ["no dataset yet"]
    for one in chain:
        lines += [visible(f"{one.sequence:>4d}  {one.body['when']}  {one.kind:8s} {_told(one)}  ({one.body['who']})")]
    return lines


def _told(entry: ledgers.Entry) -> str:
    body = entry.body
    texts = {
        "ledger": lambda: f"made, {body['format']}",
        "dataset": lambda: f"{body['dataset']}: limit {ledgers.shown(body['limit'])}, {body['neighbours']}",
        "limit": lambda: (
            f"{body['dataset']}: {ledgers.shown(body['before'])} to {ledgers.shown(body['limit'])}; {body['why']}"
        ),
        "charge": lambda: (
            f"{body['dataset']}: {ledgers.shown(body['cost'])} for {'; '.join(body['what']) or 'a release'}"
        ),
        "result": lambda: f"of entry {body['charge']}, kept",
        "failure": lambda: f"of entry {body['charge']} ({body['why']}); the charge stands",
    }
    return texts.get(entry.kind, lambda: "")()


def account_json(path: Path) -> dict[str, Any]:
    """The same in plain values."""
    chain = ledgers.verify(path)
    names = ("dataset", "limit", "spent", "left", "neighbours", "contributions", "charges")
    return {
        "unit": "billionths of epsilon",
        "datasets": [{name: getattr(one, name) for name in names} for one in ledgers.standings(chain)],
        "entries": [entry.to_dict() for entry in chain],
    }


CSV_HEADS = ("sequence", "when", "who", "kind", "dataset", "epsilon", "limit", "what", "hash")


def exported(path: Path, kind: str) -> str:
    """The ledger for others: ``csv`` has every entry, ``registry`` the fields of the Deployments Registry, as JSON."""
    import csv
    import io

    chain = ledgers.verify(path)
    if kind == "registry":
        return to_json([_registered(one, chain) for one in ledgers.standings(chain)], indent=1, ensure_ascii=False)
    if kind != "csv":
        raise ValueError(f"--as must be csv or registry, got {kind!r}")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_HEADS)
    for entry in chain:
        body = entry.body
        cost = ledgers.shown(body["cost"]) if "cost" in body else ""
        limit = ledgers.shown(body["limit"]) if "limit" in body else ""
        what = "; ".join(body["what"]) if "what" in body else body.get("why", "")
        texts = [csv_cell(text) for text in (body["when"], body["who"], entry.kind, body.get("dataset", ""))]
        writer.writerow([entry.sequence, *texts, cost, limit, csv_cell(what), entry.hash])
    return text.getvalue()


def _registered(one: ledgers.Standing, chain: list[ledgers.Entry]) -> dict[str, Any]:
    """A dataset by the columns of the Differential Privacy Deployments Registry (registry.opendp.org)."""
    charges = [entry for entry in chain if entry.kind == "charge" and entry.body["dataset"] == one.dataset]
    dates = sorted({entry.body["when"][:10] for entry in charges})
    unit = "record" if one.contributions == 1 else f"person, up to {one.contributions} records"
    relation = "replace one" if one.neighbours == "substitute" else "add or remove one"
    return {
        "product": one.dataset,
        "description": [text for entry in charges for text in entry.body["what"]],
        "year": dates[0][:4] if dates else None,
        "flavor": "Pure DP",
        "privacy_loss": {"unit": unit, "relation": relation, "epsilon": ledgers.shown(one.spent)},
        "model": "Central",
        "accounting": {"composition": "sequential", "limit": ledgers.shown(one.limit), "dates": dates},
        "implementation": "inbounds: discrete Laplace on a grid, clamped or truncated, with exact certificates",
    }
