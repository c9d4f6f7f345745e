"""What the commands do: plans, releases, records and ledgers. The command line itself is `inbounds.app.cli`."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

from inbounds import ledger as ledgers
from inbounds.app import report, tidy
from inbounds.app.job import Releases, release, request_of
from inbounds.app.plan import Plan
from inbounds.record import RecordError

Say = Callable[[str], None]
FILES = ("release.json", "values.csv", "report.html", "report.md")


@contextmanager
def ready(folder: Path) -> Iterator[None]:
    """A folder that can be written to, found out before anything is spent; as it was if nothing comes of it."""
    made = _made(folder)
    try:
        yield
    except BaseException:
        _unmade(made)
        raise


def _made(folder: Path) -> list[Path]:
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
        _unmade(made)
        why = getattr(error, "strerror", None) or "no name of a folder"
        raise ValueError(f"--out {str(folder)!r} cannot be written to: {why}; nothing was spent") from None
    return made


def apart(plan: Plan, folder: Path) -> None:
    """Refuse a folder in which a file of the release would take the place of the plan's table or ledger."""
    files = [folder.resolve() / name for name in FILES]
    taken = [] if plan.budget.ledger is None else [Path(plan.budget.ledger).resolve()]
    source = plan.data.source
    if source is not None and "://" not in source and not source.startswith("env:"):
        table = Path(source).resolve()
        taken += [file for file in files if table in (file, file.parent) or fnmatch(str(file), str(table))]
    for file in files:
        if file in taken:
            raise ValueError(
                f"--out {str(folder)!r}: {file.name} there is, or would be read as, the plan's own table or ledger; "
                "choose another folder. Nothing was spent"
            )


def _unmade(made: list[Path]) -> None:
    for one in reversed(made):
        # Only what is empty can be removed.
        with suppress(OSError):
            one.rmdir()


def run(plan: Plan, folder: Path, *, new: bool = False, who: str | None = None, say: Say | None = None) -> Releases:
    """The main job, with its files."""
    apart(plan, folder)
    with ready(folder):
        made = release(plan, new=new, who=who, say=say)
        # A stored result knows the request; where the table and the ledger are is in the plan at hand.
        made = replace(made, plan=plan) if made.stored else made
        if say is not None:
            say("writing the report")
        write(made, folder)
    return made


def write(made: Releases, folder: Path) -> None:
    """Record, values and reports; each file is there whole or as it was."""
    rows = tidy.shown(made)
    folder.mkdir(parents=True, exist_ok=True)
    _replaced(folder / "release.json", made.json_pieces())
    _replaced(folder / "values.csv", tidy.to_csv(rows))
    _replaced(folder / "report.html", [report.to_html(made, rows)])
    _replaced(folder / "report.md", [report.to_markdown(made, rows)])


def _replaced(path: Path, pieces: Iterable[str]) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
            file.writelines(pieces)
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def dry_run(plan: Plan, folder: Path, *, new: bool = False) -> str:
    """All that a release checks before it charges, the budget included."""
    from inbounds.releases.together import open_source

    apart(plan, folder)
    _unmade(_made(folder))
    drafts = plan.drafts()
    account, asked = plan.account, request_of(plan, drafts)
    if account is not None and not new and (before := ledgers.stored(account, asked)) is not None:
        return f"this was released on {before.entry.body['when'][:10]} and would be shown again, free of charge"
    if plan.place is None:
        raise ValueError("data.source: must be given")
    open_source(plan.place, list(drafts.values()))
    left = "no ledger accounts for it"
    if account is not None:
        left = f"{ledgers.spell_amount(ledgers.affordable(account, asked))} would be left"
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
    kept = ledgers.read_result(ledger, made.entry.sequence, longest=2 * len(text.encode()) + 10_000)
    if kept is None or not made.is_same(Releases.from_json(kept)):
        raise RecordError("the ledger has another result for this charge")
    return made
