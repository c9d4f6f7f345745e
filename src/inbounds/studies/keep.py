"""What a study leaves in a folder: its table as CSV and Parquet, and a journal while it runs.

The journal has one line for every finished setting. A run that was interrupted, by whatever, is taken up where it ended
when the same study is run into the same folder again, and gives the same table, byte for byte.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inbounds.studies.engine import Progress, Setting, columns, require_order, run
from inbounds.studies.measures import MEASURES, Summary

if TYPE_CHECKING:
    import polars

# Raised when the same settings and seed would give other numbers.
_REVISION = 1
# A run that is killed loses no more than what it did in so many seconds.
_MOMENT = 1.0


@dataclass(slots=True)
class Journal:
    """Summaries of finished settings, one JSON line each, below a line that says which run they are of.

    Lines are complete or ignored: a run may be cut off in the middle of one.
    """

    path: Path
    header: dict[str, Any]
    known: dict[str, Summary] = field(default_factory=dict)
    _waiting: list[tuple[str, Summary]] = field(default_factory=list)
    _written: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        lines = self.path.read_text("utf-8", errors="replace").split("\n")[:-1] if self.path.exists() else []
        if lines and _parsed(lines[0]) == self.header:
            for entry in map(_parsed, lines[1:]):
                if isinstance(entry, dict) and set(entry) == {"setting", "summary"}:
                    self.known[entry["setting"]] = tuple((tuple(v), tuple(e)) for v, e in entry["summary"])
        kept = [json.dumps(self.header)]
        kept += [_line(identity, summary) for identity, summary in self.known.items()]
        _replace(self.path, ("\n".join(kept) + "\n").encode())

    def note(self, setting: Setting, summary: Summary) -> None:
        """One more finished setting: on the disk within a moment, or with `flush`."""
        self._waiting.append((setting.identity, summary))
        if time.monotonic() > self._written + _MOMENT:
            self.flush()

    def flush(self) -> None:
        """Everything on the disk."""
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(_line(identity, summary) + "\n" for identity, summary in self._waiting)
        self._waiting.clear()
        self._written = time.monotonic()

    def close(self) -> None:
        """All is done and written elsewhere."""
        self.path.unlink(missing_ok=True)


def _line(identity: str, summary: Summary) -> str:
    return json.dumps({"setting": identity, "summary": summary})


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _replace(path: Path, content: bytes) -> None:
    """The whole file or nothing."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    part.replace(path)


def conduct(
    name: str,
    settings: Sequence[Setting],
    repetitions: int,
    *,
    seed: int = 1,
    workers: int | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
    resumed: Callable[[int], None] | None = None,
) -> "polars.DataFrame":
    """claim:study-resumed. Run a study; with a folder, take up an interrupted run and leave NAME.csv and NAME.parquet.

    ``resumed`` hears how many settings were taken over from an interrupted run, if any were.
    """
    if folder is None:
        summaries = run(settings, repetitions, seed=seed, workers=workers, progress=progress)
        return frame(settings, summaries, repetitions)
    require_order(settings, repetitions, seed, workers)
    folder.mkdir(parents=True, exist_ok=True)
    header = {"study": name, "repetitions": repetitions, "seed": seed, "measures": list(MEASURES)}
    header |= {"inbounds": version("inbounds"), "revision": _REVISION}
    journal = Journal(folder / f"{name}.unfinished", header)
    if journal.known and resumed:
        resumed(len(journal.known))
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
        journal.flush()
        raise
    table = frame(settings, summaries, repetitions)
    write(table, folder, name)
    journal.close()
    return table


def frame(settings: Sequence[Setting], summaries: Sequence[Summary], repetitions: int) -> "polars.DataFrame":
    """The tidy table."""
    import polars as pl

    return pl.DataFrame(columns(settings, summaries, repetitions), strict=False)


def write(table: "polars.DataFrame", folder: Path, name: str) -> None:
    """NAME.csv and NAME.parquet; no file is ever seen half written."""
    for suffix, save in (("csv", table.write_csv), ("parquet", table.write_parquet)):
        part = folder / f"{name}.{suffix}.part"
        save(part)
        part.replace(folder / f"{name}.{suffix}")


def read(folder: Path, name: str) -> "polars.DataFrame | None":
    """The table of a study that was run into this folder, if one was."""
    import polars as pl

    path = folder / f"{name}.parquet"
    return pl.read_parquet(path) if path.exists() else None
