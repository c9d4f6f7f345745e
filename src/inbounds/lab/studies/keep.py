"""What a study leaves in a folder: its table as CSV and Parquet, and a journal while it runs.

The journal has one line for every finished setting. An interrupted run is resumed where it ended when the same study is
run into the same folder again, and gives the same table, byte for byte.
"""

import hashlib
import io
import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inbounds import __version__
from inbounds._files import write_atomically
from inbounds.lab.studies.engine import Progress, Setting, columns, require_order, run
from inbounds.lab.studies.measures import MEASURES, Summary

if TYPE_CHECKING:
    import polars

# Raised when the same settings and seed would give other numbers.
_REVISION = 1
# A run that is killed loses at most the work of this many seconds.
_MOMENT = 1.0


class Journal:
    """Summaries of finished settings, one JSON line each, below a line that says which run they come from.

    Lines that are not complete are ignored: a run may be cut off in the middle of one. The file is locked while it is
    open, so that no two runs write to it (where the system has such locks).
    """

    def __init__(self, path: Path, header: Mapping[str, Any], identities: Collection[str]) -> None:
        self.path, self.known, self.replaced = path, dict[str, Summary](), False
        self._waiting: list[tuple[str, Summary]] = []
        self._written = time.monotonic()
        self._file = path.open("a+b")
        _lock(self._file, path)
        self._file.seek(0)
        *lines, _ = self._file.read().split(b"\n")
        if lines and _parse(lines[0]) == header:
            for entry in map(_parse, lines[1:]):
                if (summary := _summary(entry)) and entry["setting"] in identities:
                    self.known[entry["setting"]] = summary
        else:
            self.replaced = len(lines) > 1
        # Start again: lines that were not complete are dropped, and so are those of another run.
        self._file.truncate(0)
        self._file.write(json.dumps(header).encode() + b"\n")
        self._waiting += self.known.items()
        self.flush()

    def note(self, setting: Setting, summary: Summary) -> None:
        """Note a finished setting. It is on the disk after a moment, or after `flush`."""
        self._waiting.append((setting.identity, summary))
        if time.monotonic() > self._written + _MOMENT:
            self.flush()

    def flush(self) -> None:
        """Write everything to the disk."""
        lines = [json.dumps({"setting": identity, "summary": summary}) + "\n" for identity, summary in self._waiting]
        self._file.write("".join(lines).encode())
        self._file.flush()
        self._waiting.clear()
        self._written = time.monotonic()

    def close(self, *, complete: bool) -> None:
        """Close the journal, because the run is complete or will be continued later."""
        self.flush()
        if complete:
            self.path.unlink(missing_ok=True)
        self._file.close()


def _lock(file: Any, path: Path) -> None:
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise ValueError(
            f"{path.parent} is in use by another run of this study; wait for it, or take another folder"
        ) from None


def _parse(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _summary(entry: Any) -> Summary | None:
    """The summary of a line, if it is one."""
    try:
        summary = tuple((tuple(map(float, values)), tuple(map(float, errors))) for values, errors in entry["summary"])
    except (TypeError, KeyError, ValueError):
        return None
    return summary if len(summary) == len(MEASURES) else None


# claim:study-resumed
def conduct(
    name: str,
    settings: Sequence[Setting],
    repetitions: int,
    *,
    seed: int = 1,
    workers: int | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
    resumed: Callable[[str], None] | None = None,
    how: Mapping[str, Any] | None = None,
) -> "polars.DataFrame":
    """Run a study; with a folder, resume an interrupted run and leave NAME.csv and NAME.parquet.

    NAME.json says how they were made, with what ``how`` adds; if it says the same already, nothing is simulated.
    ``resumed`` is called with what was taken over from an earlier run, in words, if anything was.
    """
    if folder is None:
        summaries = run(settings, repetitions, seed=seed, workers=workers, progress=progress)
        return frame(settings, summaries, repetitions)
    require_order(settings, repetitions, seed, workers)
    folder.mkdir(parents=True, exist_ok=True)
    header: dict[str, Any] = {"study": name, "repetitions": repetitions, "seed": seed, "measures": list(MEASURES)}
    header |= {"inbounds": __version__, "revision": _REVISION}
    identities = [setting.identity for setting in settings]
    labels = [setting.labels for setting in settings]
    digest = hashlib.blake2b(repr((identities, labels)).encode(), digest_size=12).hexdigest()
    say = resumed or ignore
    journal = Journal(folder / f"{name}.unfinished", header, set(identities))
    description = dict(header) | {"settings": len(settings), "digest": digest} | dict(how or {})
    if journal.replaced:
        say(f"{name}: an interrupted run with another seed or number of repetitions is replaced")
    if not journal.known and (finished := _read_finished(folder, name, description)) is not None:
        journal.close(complete=True)
        say(f"{name}: the table is there already")
        return finished
    if journal.known:
        count = len(journal.known)
        say(f"{name}: {count} setting{'s' * (count != 1)} taken over from an interrupted run")
    (folder / f"{name}.json").unlink(missing_ok=True)
    try:
        summaries = run(
            settings,
            repetitions,
            seed=seed,
            workers=workers,
            known=journal.known,
            finished=journal.note,
            progress=progress,
        )
    except BaseException:
        journal.close(complete=False)
        raise
    table = frame(settings, summaries, repetitions)
    write(table, folder, name)
    write_atomically(folder / f"{name}.json", json.dumps(description, indent=1) + "\n")
    journal.close(complete=True)
    return table


def ignore(text: str) -> None:
    """Do nothing with a message."""


def _read_finished(folder: Path, name: str, description: Mapping[str, Any]) -> "polars.DataFrame | None":
    """The table of an earlier run with the same settings."""
    earlier = _parse(path.read_bytes()) if (path := folder / f"{name}.json").exists() else None
    return read(folder, name) if earlier == description and (folder / f"{name}.csv").exists() else None


def frame(settings: Sequence[Setting], summaries: Sequence[Summary], repetitions: int) -> "polars.DataFrame":
    """The tidy table."""
    import polars as pl

    return pl.DataFrame(columns(settings, summaries, repetitions), strict=False)


def write(table: "polars.DataFrame", folder: Path, name: str) -> None:
    """Write NAME.csv and NAME.parquet. Each file is written completely or not at all."""
    write_atomically(folder / f"{name}.csv", table.write_csv())
    parquet = io.BytesIO()
    table.write_parquet(parquet)
    write_atomically(folder / f"{name}.parquet", parquet.getvalue())


def read(folder: Path, name: str) -> "polars.DataFrame | None":
    """The table of a study that was run into this folder, if one was."""
    import polars as pl

    path = folder / f"{name}.parquet"
    try:
        return pl.read_parquet(path) if path.exists() else None
    except (pl.exceptions.PolarsError, OSError):
        raise ValueError(f"{path} cannot be read; remove it, or run that study again") from None
