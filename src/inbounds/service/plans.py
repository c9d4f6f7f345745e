"""The main job: release a plan and verify its record."""

import json
from collections.abc import Callable
from datetime import date
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from inbounds import ledger as ledgers
from inbounds._files import read_regular
from inbounds.plan.plan import Plan
from inbounds.plan.release import Releases as Releases
from inbounds.plan.release import release
from inbounds.record import RecordError
from inbounds.record.release import Release
from inbounds.report.files import FILES, make_folders, prepare_folder, remove_empty, write_files
from inbounds.report.lines import Line, list_lines
from inbounds.report.rows import collect_sections
from inbounds.road.run import open_source, request_of

# A callback that receives the name of the current step.
Say = Callable[[str], None]
# The names of the steps, in order. The data are read, and the charge stands, after the second.
STAGES = (
    "looking at the table",
    "charging the ledger",
    "reading the data, once",
    "keeping the result",
    "writing the report",
)


def _check_apart(plan: Plan, folder: Path, argument: str) -> None:
    """Refuse a folder in which a file of the release would replace the plan's table or ledger.

    ``argument`` is the caller's name for the folder, for messages.
    """
    files = [folder.resolve() / name for name in FILES]
    inputs = [] if plan.budget.ledger is None else [Path(plan.budget.ledger).resolve()]
    source = plan.data.source
    if source is not None and "://" not in source and not source.startswith("env:"):
        table = Path(source).resolve()
        inputs += [file for file in files if table in (file, file.parent) or fnmatch(str(file), str(table))]
    for file in files:
        if file in inputs:
            raise ValueError(
                f"{argument} {str(folder)!r}: its {file.name} is the plan's table or ledger, or would be read as part "
                "of the table; choose another folder. Nothing was spent"
            )


def _check_unclaimed(plan: Plan, folder: Path, argument: str) -> None:
    """Refuse a folder that holds the record of another request: another plan's, or of another dataset."""
    place = folder / "release.json"
    if not place.exists():
        return
    try:
        record = json.loads(read_regular(place))
        digest, dataset = record["digest"], record["dataset"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        digest, dataset = None, None
    if digest == plan.digest:
        return
    whose = f"the release of another plan or dataset ({dataset!r})" if digest else "a release.json that is no record"
    raise ValueError(
        f"{argument} {str(folder)!r} holds {whose}, which would be overwritten; choose another folder, or move its "
        "files. Nothing was spent"
    )


def release_plan(
    plan: Plan,
    folder: Path,
    *,
    new: bool = False,
    who: str | None = None,
    say: Say | None = None,
    argument: str = "folder",
) -> Releases:
    """Release a plan and write its files to a folder. ``argument`` is the caller's name for it, for messages."""
    _check_apart(plan, folder, argument)
    _check_unclaimed(plan, folder, argument)
    with prepare_folder(folder, argument):
        releases = release(plan, new=new, who=who, say=say)
        if say is not None:
            say("writing the report")
        write_files(releases, folder)
    return releases


def rehearse_plan(plan: Plan, folder: Path, *, new: bool = False, argument: str = "folder") -> str:
    """Make all checks that a release makes before the charge, including the budget, and say what it would do."""
    _check_apart(plan, folder, argument)
    _check_unclaimed(plan, folder, argument)
    remove_empty(make_folders(folder, argument))
    drafts = plan.drafts()
    account, request = plan.account, request_of(drafts, plan.budget.dataset)
    if account is not None and (before := ledgers.find_stored(account, request, new=new)) is not None:
        when = before.entry.body["when"][:10]
        if before.stored is None:
            return f"this was charged on {when} and did not finish; it would be finished and cost nothing"
        return f"this was released on {when}; it would be shown again and cost nothing"
    if plan.place is None:
        raise ValueError("data.source: must be given")
    open_source(plan.place, list(drafts.values()))
    left = "there is no ledger"
    if account is not None:
        left = f"{ledgers.spell_amount(ledgers.affordable(account, request))} would be left"
    count = f"{len(plan.release)} release{'s' * (len(plan.release) != 1)}"
    return f"{count} would cost {float(plan.budget.epsilon):g} ({left}); nothing was charged or released"


def verify_record(path: Path, ledger: Path | None = None) -> Releases:
    """Read a record and verify it. With a ledger, also check that it has the charge and the same result."""
    try:
        text = read_regular(path)
    except OSError as error:
        raise RecordError(f"{str(path)!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise RecordError(f"{str(path)!r} is not text in UTF-8") from None
    releases = Releases.from_json(text)
    if ledger is None:
        return releases
    if releases.entry is None:
        raise RecordError("the record names no entry of a ledger")
    ledgers.verify(ledger, [(releases.entry.sequence, releases.entry.hash)])
    # The last digits of a value may differ, so the lengths are only about the same.
    result = ledgers.read_result(ledger, releases.entry.sequence, longest=2 * len(text.encode()) + 10_000)
    if result is None or not releases.is_same(Releases.from_json(result)):
        raise RecordError("the ledger has another result for this charge")
    return releases


def describe_values(releases: Releases) -> list[Line]:
    """The released numbers as lines for a terminal, with intervals and how good each number is."""
    return list_lines(collect_sections(releases))


def summarize(releases: Releases) -> dict[str, Any]:
    """The main figures of a record, as plain values."""
    return {
        "releases": list(releases),
        "values": {name: _list_values(each) for name, each in releases.items()},
        "epsilon": str(releases.epsilon),
        "neighbours": releases.terms.neighbours,
        "entry": None if releases.entry is None else releases.entry.sequence,
        "left": releases.left,
        "stored": releases.stored,
    }


def _list_values(release: Release) -> Any:
    """The value of a release as JSON has it: several numbers in lists, dates and times as text."""
    # The values of moments and bounds have names, which their table has as axes.
    value = release.table if release.clock is None else release.value
    return _spell_times(value.tolist() if release.axes else value)


def _spell_times(value: Any) -> Any:
    if isinstance(value, list):
        return [_spell_times(one) for one in value]
    return value.isoformat() if isinstance(value, date) else value
