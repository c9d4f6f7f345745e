"""Running a study from the command line: tables, figures, and the claims page."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inbounds import __version__
from inbounds._charts import NEEDED, can_draw
from inbounds._files import write_atomically
from inbounds.lab.studies import file, keep, paper
from inbounds.lab.studies.engine import Setting, require_repetitions

if TYPE_CHECKING:
    import polars

REPETITIONS = 10_000
# Fewer can leave a correlation undefined in every one of them.
LEAST = 20
STUDIES = ("covariance", "proportions")
# A study file with long lists would have hundreds; its table has all their numbers.
_MOST_FIGURES = 24

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Order:
    """Where a study goes, and how it is run; None leaves a choice to the study."""

    folder: Path
    repetitions: int | None = None
    seed: int | None = None
    workers: int | None = None
    undefined: str | None = None
    figures: bool = True


def conduct(what: str, order: Order, *, progress: Any = None, say: Say = keep.ignore) -> dict[str, Any]:
    """Run a study of the paper (or both), or one from a file, and return what was written as a dictionary."""
    if str(order.folder) in ("", ".") and not order.folder.name:
        raise ValueError("the results need the name of a folder")
    if order.folder.exists() and not order.folder.is_dir():
        raise ValueError(f"the results need a folder, and {order.folder} is a file")
    if order.figures and not can_draw():
        say(NEEDED)
        order = replace(order, figures=False)
    if what in (*STUDIES, "paper"):
        return _paper(STUDIES if what == "paper" else (what,), order, progress, say)
    if not what.endswith(".toml"):
        raise ValueError(f"{what!r} is not a study; use covariance, proportions, paper, or a file that ends in .toml")
    study = file.load(Path(what), undefined=order.undefined)
    table = _simulate(study.name, study.settings, study, order, progress, say)
    _forget(order.folder, f"{study.name}-*")
    paths = []
    if order.figures:
        from inbounds.lab.studies import figures

        charts = figures.of_own(study.kind, table, study.name)
        if len(charts) > _MOST_FIGURES:
            say(f"{study.name}: {_MOST_FIGURES} of {len(charts)} figures are drawn; shorter lists show all of them")
        paths = _draw_charts(charts[:_MOST_FIGURES], order, progress, say)
    return _list_files(order, [study.name], paths)


# Names of the figures of each study.
_FIGURES = {"covariance": ("fig1-*", "ours-covariance*"), "proportions": ("fig[2-5S]*", "ours-proportions*")}


def _paper(names: Sequence[str], order: Order, progress: Any, say: Say) -> dict[str, Any]:
    if order.undefined is not None and "covariance" not in names:
        raise ValueError("undefined is for studies of covariance matrices")
    paths = []
    for name in names:
        rule = order.undefined or "omit"
        settings = paper.covariance(undefined=rule) if name == "covariance" else paper.proportions()
        table = _simulate(name, settings, None, order, progress, say)
        _forget(order.folder, *_FIGURES[name])
        if order.figures:
            from inbounds.lab.studies import figures

            paths += _draw_charts(list(figures.of_paper(name, table)), order, progress, say)
    verdicts = write_claims(order.folder)
    say("findings of the paper: " + ", ".join(f"{count} {word}" for word, count in verdicts.items()))
    return _list_files(order, names, paths) | {"claims": str(order.folder / "claims.html"), "verdicts": verdicts}


def _simulate(
    name: str, settings: Sequence[Setting], study: file.StudyFile | None, order: Order, progress: Any, say: Say
) -> "polars.DataFrame":
    """Run and keep the table, and a note of how it was made."""
    repetitions = _first(order.repetitions, study and study.repetitions, REPETITIONS)
    seed = _first(order.seed, study and study.seed, 1)
    repetitions = require_repetitions(repetitions)
    if study is None and repetitions < LEAST:
        raise ValueError(f"repetitions of the paper's studies must be at least {LEAST}, got {repetitions}")
    kind = name if study is None else study.kind
    rules = {getattr(setting.simulate, "undefined", None) for setting in settings} if kind == "covariance" else set()
    table = keep.conduct(
        name,
        settings,
        repetitions,
        seed=seed,
        workers=order.workers,
        folder=order.folder,
        progress=progress,
        resumed=say,
        how={"undefined": rules.pop()} if rules else None,
    )
    say(f"{name}: {_many(len(settings), 'setting')}, {repetitions:,} repetitions, {_many(len(table), 'row')}")
    return table


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _first(*choices: Any) -> Any:
    """The first of the choices that is not None."""
    return next(choice for choice in choices if choice is not None)


def _forget(folder: Path, *patterns: str) -> None:
    """Remove the figures of an earlier table."""
    for pattern in patterns:
        for suffix in ("svg", "png"):
            for path in (folder / "figures").glob(f"{pattern}.{suffix}"):
                path.unlink()


def _draw_charts(charts: Sequence[Any], order: Order, progress: Any, say: Say) -> list[str]:
    from inbounds.lab.studies import figures

    paths = []
    for place, figure in enumerate(charts):
        if progress:
            progress(place, len(charts), "drawing")
        paths += [str(path) for path in figures.save(figure, order.folder / "figures")]
    say(f"{_many(len(charts), 'figure')} in {order.folder / 'figures'}")
    return paths


def _list_files(order: Order, names: Sequence[str], paths: list[str]) -> dict[str, Any]:
    return {"tables": [str(order.folder / f"{name}.csv") for name in names], "figures": paths}


def write_claims(folder: Path) -> dict[str, int]:
    """Judge all findings from the tables in a folder, write claims.csv and claims.html, and count each verdict."""
    from inbounds.lab.studies import claims, page

    tables = {name: keep.read(folder, name) for name in STUDIES}
    rows = claims.rows(claims.judge_all(tables))
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(folder / "claims.csv", text.getvalue())
    page.write(rows, _figures_of(folder), _how(folder), folder / "claims.html")
    verdicts: dict[str, int] = {}
    for row in rows:
        verdicts[row["verdict"]] = verdicts.get(row["verdict"], 0) + 1
    return verdicts


def _figures_of(folder: Path) -> list[tuple[str, str]]:
    """Figures of the paper's studies that are in the folder, the paper's scale first."""
    paths = [
        path
        for pattern in ("fig*-paper.svg", "fig*-honest.svg", "ours-*.svg")
        for path in sorted((folder / "figures").glob(pattern))
    ]
    return [(path.stem.replace("-", " "), path.relative_to(folder).as_posix()) for path in paths]


def _how(folder: Path) -> str:
    """Describe how the tables in a folder were made."""
    texts = []
    for name in STUDIES:
        try:
            how = json.loads((folder / f"{name}.json").read_text("utf-8"))
            rule = f", undefined r: {how['undefined']}" if "undefined" in how else ""
            texts.append(f"{name}: {how['repetitions']:,} repetitions, seed {how['seed']}{rule}")
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return f"Simulated by inbounds {__version__} ({'; '.join(texts)})." if texts else ""
