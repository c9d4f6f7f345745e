"""Side by side with the field: error, impossible values, intervals, audits, times and sizes of six libraries.

    make compare                                    # docs/compare.json and docs/compare.md
    python bench/compare.py --quick --out build     # a tenth of the releases, for trying out
    python bench/compare.py --statistic correlation # the errors of correlations again; all else stays as it was

Every library runs in an environment of its own (``--environments``, made by `make compare` from locks with hashes), and
answers the same tasks: the same tables, bounds, neighbours and ε. What does not install or does not run is listed with
the reason. `bench/peers/page.py` makes the page out of the figures: nothing in it is typed.
"""

import sys
from pathlib import Path

# As a script its own folder would hide the standard library's `statistics`.
ROOT = Path(__file__).parents[1]
sys.path[0] = str(ROOT)

import argparse
import json
import math
import os
import platform
import subprocess
import time
from collections.abc import Sequence
from datetime import date
from itertools import product
from typing import Any

import numpy as np
from bench.peers import Task, cases, page
from bench.timing import median_time

from inbounds.audit.events import audit

LIBRARIES = {
    "inbounds": "inbounds",
    "diffprivlib": "diffprivlib",
    "OpenDP": "opendp",
    "PyDP": "pydp",
    "SmartNoise SQL": "smartnoise",
    "Tumult Analytics": "tumult",
}
STATISTICS = page.STATISTICS
RELEASES, MANY, INTERVALS, ROWS = 200, 500, 200, 1_000_000
PACKAGES = ("numpy", "polars", "pandas", "scikit-learn", "opendp", "pyspark", "tmlt.core")


class Peer:
    """A library at work in its own environment, asked by lines of JSON."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.python = folder / "bin" / "python"
        self.process: subprocess.Popen[str] | None = None

    def why_not(self) -> str | None:
        """Why it cannot be asked at all."""
        reason = self.folder / "missing"
        if reason.exists() and reason.read_text().strip():
            return f"does not install: {reason.read_text().strip().splitlines()[-1][:200]}"
        if not self.python.exists():
            return "has no environment here"
        said = self.ask({"kind": "versions", "packages": PACKAGES})
        return None if "versions" in said else f"does not run: {said['missing']}"

    def ask(self, task: dict[str, Any]) -> dict[str, Any]:
        if self.process is None or self.process.poll() is not None:
            script = ROOT / "bench" / "peers" / "run.py"
            self.process = subprocess.Popen(
                [str(self.python), "-W", "ignore", str(script), self.name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(task) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"missing": "its process ended"}  # type: ignore[no-any-return]

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


def error(table: cases.Table, task: Task, values: np.ndarray) -> dict[str, float]:
    """Bias and RMSE with their standard errors, and how many values are impossible."""
    bad = cases.impossible(task.statistic, values, task)
    if task.statistic in ("covariance", "correlation"):
        values = cases.off_diagonal(task.statistic, values)
    off = (values - table.truth(task.statistic)).reshape(len(values), -1)
    finite = np.isfinite(off).all(axis=1)
    off = off[finite]
    squares = (off**2).mean(axis=1)
    rmse = math.sqrt(squares.mean())
    # Of a histogram the bias of the worst cell.
    worst = int(np.abs(off.mean(axis=0)).argmax())
    return {
        "rmse": rmse,
        "rmse_se": squares.std() / math.sqrt(len(squares)) / (2 * rmse) if rmse > 0 else 0.0,
        "bias": off.mean(axis=0)[worst],
        "bias_se": off[:, worst].std() / math.sqrt(len(off)),
        "releases": len(bad),
        "impossible": int(bad.sum()),
    }


def releases(peer: Peer, table: cases.Table, epsilon: float) -> int:
    """How many of each: where bounds bite, enough to see what is rare; fewer of long tables and of large queries."""
    often = MANY if table.name == "skewed" and epsilon < 1 else RELEASES
    often = often // 2 if table.rows > 1000 else often
    if peer.name in ("smartnoise", "tumult"):
        return often // 4 if often == MANY or table.rows > 1000 else often // 2
    return often


def errors(
    peer: Peer, tables: list[cases.Table], fraction: float, statistics: Sequence[str] = STATISTICS
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for table, neighbours, epsilon in product(tables, cases.NEIGHBOURS, cases.EPSILONS):
        count = int(releases(peer, table, epsilon) * fraction)
        for statistic in statistics:
            # Medians have long tails, and so have means, whose noise is the same in several libraries.
            often = 5 * count if statistic in ("mean", "median") and peer.name != "tumult" else count
            task = table.task(statistic, neighbours, epsilon, often)
            place = {"table": table.name, "neighbours": neighbours, "epsilon": epsilon, "statistic": statistic}
            ways = [place | row for way in ("values", "built") if (row := judged(peer, table, task, way))]
            # The better one of a library's own way and one that is built of its other releases.
            found += sorted(ways, key=lambda row: row.get("rmse", math.inf))[:1]
    return found


def judged(peer: Peer, table: cases.Table, task: Task, way: str) -> dict[str, Any] | None:
    """Error of a statistic released one way, why there is none, or None where the library does not offer it."""
    said = peer.ask(cases.as_json(task, way))
    if "missing" in said:
        return None if said["missing"] == "not offered" else {"missing": said["missing"]}
    place = f"{table.name}, {task.statistic}, {task.neighbours}, {task.epsilon}, {way}"
    tell(f"{peer.name}: {place}: {said['seconds']:.1f} s")
    row: dict[str, Any] = error(table, task, np.array(said["values"], dtype=float))
    if way == "values":
        said = peer.ask(cases.as_json(task, "unbiased"))
        if "values" in said:
            row["unbiased"] = error(table, task, np.array(said["values"], dtype=float))
    stated = peer.ask(cases.as_json(task, "exact")) if way == "values" else {}
    if "exact" in stated:
        row["rmse_by_law"] = math.sqrt(stated["exact"])
    if task.statistic == "correlation":
        said = peer.ask(cases.as_json(cases.mirrored(task), way))
        made = -cases.off_diagonal(task.statistic, np.array(said["values"], dtype=float))
        off = made - table.truth(task.statistic)
        row |= {"rmse_mirrored": math.sqrt(np.mean(off**2)), "bias_mirrored": float(np.mean(off))}
    return row | {"built": way == "built"}


def intervals(peer: Peer, count: int) -> list[dict[str, Any]]:
    """How often intervals of 95% hold the statistic of the table, and of the population, and how wide they are."""
    found = []
    for population in cases.populations():
        samples = population.samples(count)
        for neighbours in cases.NEIGHBOURS:
            for purpose in ("noise", "population"):
                columns = {"x": samples[0].tolist()}
                task = Task(
                    population.statistic, neighbours, columns, {"x": population.bounds}, 1.0, 0, population.levels
                )
                if purpose == "population" and population.truth is None:
                    continue
                said = peer.ask(cases.as_json(task, "intervals", tables=samples.tolist(), purpose=purpose))
                if "intervals" not in said:
                    continue
                _, lower, upper = np.array(said["intervals"], dtype=float).T
                lower, upper = population.possible(neighbours, lower, upper)
                truth, held = population.of_table(samples), population.truth
                row = {
                    "statistic": population.statistic,
                    "neighbours": neighbours,
                    "purpose": purpose,
                    "tables": len(lower),
                    "table": float(((lower <= truth) & (truth <= upper)).mean()),
                    "population": None if held is None else float(((lower <= held) & (held <= upper)).mean()),
                    "width": float((upper - lower).mean()),
                }
                found.append(row)
                tell(f"{peer.name}: interval of a {population.statistic}, {neighbours}: {said['seconds']:.1f} s")
    return found


def audits(peer: Peer, draws: int) -> list[dict[str, Any]]:
    """Whole releases of neighbouring tables told apart: what ε is certified where 1 is claimed."""
    found = []
    for statistic in ("mean", "variance"):
        for neighbours in cases.NEIGHBOURS:
            said = [peer.ask(cases.as_json(t, "values")) for t in cases.neighbouring(statistic, neighbours, draws)]
            if any("values" not in one for one in said):
                continue
            first, second = (np.array(one["values"], dtype=float) for one in said)
            finding = audit(lambda _, v=first: v, lambda _, v=second: v, draws=draws)
            found.append(
                {
                    "statistic": statistic,
                    "neighbours": neighbours,
                    "certified": finding.epsilon,
                    "event": finding.event,
                    "draws": draws,
                }
            )
            tell(f"{peer.name}: audit of a {statistic}, {neighbours}: {finding}")
    return found


def installed(folder: Path) -> dict[str, float]:
    """Megabytes of an environment, without pip and compiled copies."""
    tools = ("pip", "setuptools", "wheel", "pkg_resources", "_distutils_hack", "__pycache__")
    (site,) = (folder / "lib").glob("python3*/site-packages")
    total = 0
    for child in site.iterdir():
        if child.name.split("-")[0] not in tools:
            paths = [child] if child.is_file() else [p for p in child.rglob("*") if "__pycache__" not in p.parts]
            total += sum(path.stat().st_size for path in paths if path.is_file() and not path.is_symlink())
    return {"megabytes": total / 1e6}


def import_seconds(python: Path, module: str) -> float:
    """Beyond a bare start."""

    def run(code: str) -> float:
        return median_time(lambda: subprocess.run([str(python), "-W", "ignore", "-c", code], check=True), 5)

    return run(f"import {module}") - run("pass")


def tell(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def measured(title: str, name: str, options: argparse.Namespace, tables: list[cases.Table]) -> dict[str, Any]:
    """All figures of one library."""
    fraction = 0.1 if options.quick else 1.0
    column = (100 * np.random.default_rng(12).beta(2, 3, int(ROWS * fraction))).tolist()
    peer = Peer(name, options.environments / name)
    why = peer.why_not()
    if why:
        tell(f"{title} {why}")
        return {"missing": why}
    about = peer.ask({"kind": "versions", "packages": PACKAGES})
    tell(f"{title} {about['versions'][about['package']]}")
    found = {
        "date": date.today().isoformat(),
        "package": about["package"],
        "versions": about["versions"],
        "rows": len(column),
        "times": peer.ask({"kind": "times", "column": column, "count": 10_000}),
        "import": import_seconds(peer.python, about["module"]),
        **installed(peer.folder),
        "errors": errors(peer, tables, fraction),
        "intervals": intervals(peer, int(INTERVALS * fraction)),
        "audits": audits(peer, int(options.draws * fraction)),
    }
    peer.close()
    return found


def compare(options: argparse.Namespace) -> None:
    """Measure library by library, each into a file of its own: what was measured is not lost with what fails."""
    tables = cases.tables()
    options.work.mkdir(parents=True, exist_ok=True)
    about = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "tables": [one.about() for one in tables],
    }
    (options.work / "about.json").write_text(json.dumps(about), "utf-8")
    for title, name in LIBRARIES.items():
        if not options.only or name in options.only:
            found = rounded(measured(title, name, options, tables))
            (options.work / f"{name}.json").write_text(json.dumps(found), "utf-8")


def together(work: Path, before: dict[str, Any]) -> dict[str, Any]:
    """The figures of all libraries; those of a run before for libraries that were not measured now."""

    def read(name: str) -> Any:
        path = work / f"{name}.json"
        return json.loads(path.read_text("utf-8")) if path.exists() else {"missing": "was not measured"}

    libraries = {title: read(name) for title, name in LIBRARIES.items()}
    for title, one in libraries.items():
        if "missing" in one and title in before.get("libraries", {}):
            libraries[title] = before["libraries"][title]
    dates = sorted(one["date"] for one in libraries.values() if "date" in one)
    return {"date": dates[-1], **read("about"), "rows": libraries["inbounds"]["rows"], "libraries": libraries}


def compare_again(options: argparse.Namespace, found: dict[str, Any]) -> dict[str, Any]:
    """The figures with the errors of some statistics measured again; the date and the versions of that are kept."""
    tables, fraction = cases.tables(), 0.1 if options.quick else 1.0
    for title, name in LIBRARIES.items():
        if options.only and name not in options.only:
            continue
        peer = Peer(name, options.environments / name)
        why = peer.why_not()
        if why:
            tell(f"{title} {why}")
            continue
        about = peer.ask({"kind": "versions", "packages": PACKAGES})
        made = rounded(errors(peer, tables, fraction, options.statistic))
        peer.close()
        library = found["libraries"][title]
        library["errors"] = replace_errors(library["errors"], made, options.statistic)
        again = {"date": date.today().isoformat(), "version": about["versions"][about["package"]]}
        library["again"] = library.get("again", {}) | dict.fromkeys(options.statistic, again)
    return found


def replace_errors(
    old: list[dict[str, Any]], new: list[dict[str, Any]], statistics: Sequence[str]
) -> list[dict[str, Any]]:
    """All errors, in their order, with those of some statistics replaced."""

    def place(row: dict[str, Any]) -> tuple[int, int, int, int]:
        tables = list(dict.fromkeys(one["table"] for one in [*old, *new]))
        return (
            tables.index(row["table"]),
            cases.NEIGHBOURS.index(row["neighbours"]),
            cases.EPSILONS.index(row["epsilon"]),
            STATISTICS.index(row["statistic"]),
        )

    return sorted([*(row for row in old if row["statistic"] not in statistics), *new], key=place)


def rounded(found: Any) -> Any:
    """Six digits are enough for figures that differ from run to run."""
    if isinstance(found, float):
        return float(f"{found:.6g}")
    if isinstance(found, dict):
        return {key: rounded(value) for key, value in found.items()}
    return [rounded(value) for value in found] if isinstance(found, list) else found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environments", type=Path, default=ROOT / ".venv-compare", help="folder of environments")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "compare", help="folder of figures by library")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="folder of compare.json and compare.md")
    parser.add_argument("--draws", type=int, default=3_000, help="releases of each table of an audit")
    parser.add_argument("--only", nargs="+", choices=LIBRARIES.values(), help="some libraries")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--statistic", nargs="+", choices=STATISTICS, help="only the errors of these, again")
    parser.add_argument("--gather", action="store_true", help="no measuring: put together what runs left in --work")
    parser.add_argument("--page", action="store_true", help="no measuring: the page again, from compare.json")
    options = parser.parse_args()
    store = options.out / "compare.json"
    if not options.page:
        if options.statistic:
            measured_now = compare_again(options, json.loads(store.read_text("utf-8")))
        else:
            if not options.gather:
                compare(options)
            before = json.loads(store.read_text("utf-8")) if store.exists() else {}
            measured_now = together(options.work, before)
        options.out.mkdir(parents=True, exist_ok=True)
        store.write_text(json.dumps(measured_now, indent=1, ensure_ascii=False) + "\n", "utf-8")
    found = json.loads(store.read_text("utf-8"))
    (options.out / "compare.md").write_text(page.page(found), "utf-8")
    for line in page.promises(found):
        print(line)
    return 0 if page.kept(found) else 1


if __name__ == "__main__":
    sys.exit(main())
