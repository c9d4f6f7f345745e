"""Running a study from the command line: tables, figures, and the claims page."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inbounds.studies import file, keep, paper
from inbounds.studies.engine import Setting, require_repetitions

if TYPE_CHECKING:
    import polars

REPETITIONS = 10_000
_PAPER = ("covariance", "proportions")


@dataclass(frozen=True, slots=True)
class Order:
    """Where a study goes, and how it is run; None leaves a choice to the study."""

    folder: Path
    repetitions: int | None = None
    seed: int | None = None
    workers: int | None = None
    undefined: str = "omit"
    figures: bool = True


Say = Callable[[str], None]


def _silent(text: str) -> None:
    """Nobody listens."""


def conduct(what: str, order: Order, *, progress: Any = None, say: Say = _silent) -> dict[str, Any]:
    """Run a study of the paper (or both), or one from a file; what was written comes back as a dictionary."""
    if what in (*_PAPER, "paper"):
        return _paper(_PAPER if what == "paper" else (what,), order, progress, say)
    if not what.endswith(".toml"):
        raise ValueError(f"{what!r} is not a study; use covariance, proportions, paper, or a file that ends in .toml")
    found = file.load(Path(what))
    repetitions = order.repetitions or found.repetitions or REPETITIONS
    seed = order.seed if order.seed is not None else found.seed
    table = _simulated(found.name, found.settings, repetitions, 1 if seed is None else seed, order, progress, say)
    return {"table": str(order.folder / f"{found.name}.csv"), "rows": len(table)}


def _paper(names: tuple[str, ...], order: Order, progress: Any, say: Say) -> dict[str, Any]:
    repetitions = REPETITIONS if order.repetitions is None else order.repetitions
    seed = 1 if order.seed is None else order.seed
    written: dict[str, Any] = {}
    for name in names:
        settings = paper.covariance(undefined=order.undefined) if name == "covariance" else paper.proportions()
        _simulated(name, settings, repetitions, seed, order, progress, say)
    return written


def _simulated(
    name: str, settings: Any, repetitions: int, seed: int, order: Order, progress: Any, say: Say
) -> "polars.DataFrame":
    settings = list[Setting](settings)
    repetitions = require_repetitions(repetitions)
    table = keep.conduct(
        name,
        settings,
        repetitions,
        seed=seed,
        workers=order.workers,
        folder=order.folder,
        progress=progress,
        resumed=lambda count: say(f"{name}: {count} settings taken over from an interrupted run"),
    )
    say(f"{name}: {len(settings):,} settings, {repetitions:,} repetitions, {len(table):,} rows in {order.folder}")
    return table
