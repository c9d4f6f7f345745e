"""How long the commands take: help, preview, and what a release adds to the pass over the data.

    python bench/cli.py [--repeats 5] [--against PATH] [--preview]

Ten statistics of the generated survey, a whole process each. Targets: ``--help`` within 0.6 s; a release at most 0.3 s
beyond the pass over the data and what it takes to import (ours and the libraries'). The pass is timed inside the
process; imports in processes that do nothing else.

With ``--preview`` the demonstration's plan and one of eight items are previewed and released in turns. The target is a
ratio of processor time of at most 1: a preview is no dearer than its release.

With ``--against`` only the demonstration is released: by this version and by the one whose ``src`` is in that folder,
in turns, in processes of the same Python. Bytecode is written for both before anything is timed. The target is a ratio
of processor time of at most 0.6 to version 0.1.0, and `import inbounds` within 0.15 s.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

TEN = """
[[release]]
name = "sleep"
statistic = "standard_deviation"
columns = ["sleep"]

[[release]]
name = "regions"
statistic = "histogram"
columns = ["region"]
"""
IMPORTS = "import polars, narwhals, numpy, scipy.optimize, scipy.special, pydantic, typer, sqlite3"
OURS = f"{IMPORTS}, inbounds.cli.commands, inbounds.service, inbounds.inference.intervals, inbounds.inference.inversion"
OLD = "from inbounds.app.cli import main as run"
RELEASE = """
import sys, time
from inbounds.cli import commands as cli
from inbounds.road import run as opening
spent, real = [], opening.count_cells
def timed(*args, **kwargs):
    start = time.perf_counter()
    try:
        return real(*args, **kwargs)
    finally:
        spent.append(time.perf_counter() - start)
opening.count_cells = timed
sys.argv = ["inbounds", "release", sys.argv[1], "--out", sys.argv[2]]
try:
    cli.run()
finally:
    print("pass", sum(spent), file=sys.stderr)
"""


def timed(*words: str) -> tuple[float, str]:
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
    return time.perf_counter() - start, done.stderr


def best(repeats: int, *words: str) -> float:
    return min(timed(*words)[0] for _ in range(repeats))


def spend() -> float:
    """Processor time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def release_demo(source: Path, folder: Path) -> tuple[float, float]:
    """Processor time and time of releasing the demonstration anew, by the version in a folder."""
    for book in folder.glob("survey.ledger*"):
        book.unlink()
    shutil.rmtree(folder / "out", ignore_errors=True)
    # The command had another place in version 0.1.0.
    start = "from inbounds.cli.commands import run" if (source / "inbounds" / "cli").exists() else OLD
    words = [
        sys.executable,
        "-c",
        f"{start}; run()",
        "release",
        str(folder / "plan.toml"),
        "--out",
        str(folder / "out"),
    ]
    before, begun = spend(), time.perf_counter()
    subprocess.run(words, capture_output=True, check=True, env=environment(source, folder))
    return spend() - before, time.perf_counter() - begun


def environment(source: Path, folder: Path) -> dict[str, str]:
    """That of a process which imports a version from its folder, and keeps its bytecode apart."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPATH": str(source), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


def compare(against: Path, repeats: int) -> int:
    """Release the demonstration of 0.1.0 by both versions in turns, and import ours."""
    # Its plan holds what both have.
    from tests import health as example

    ours = Path(__file__).parents[1] / "src"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        example.write(folder)
        for source in (ours, against):
            release_demo(source, folder)
        found = [[release_demo(source, folder) for source in (ours, against)] for _ in range(repeats)]
        imports = []
        for _ in range(repeats):
            before = spend()
            words = [sys.executable, "-c", "import inbounds"]
            subprocess.run(words, check=True, env=environment(ours, folder))
            imports.append(spend() - before)
    ratios = []
    for place, what in enumerate(("processor time", "time")):
        new, old = (statistics.median(run[side][place] for run in found) for side in (0, 1))
        ratios.append(new / old)
        print(f"inbounds release, demonstration, {what}: {new:.2f} s, before {old:.2f} s, ratio {new / old:.2f}")
    print(f"import inbounds {statistics.median(imports):.2f} s (target 0.15), with Python itself")
    good = ratios[0] <= 0.6 and statistics.median(imports) <= 0.15
    print("all targets met" if good else "a target was missed: the ratio of processor time is to be 0.6")
    return 0 if good else 1


def eight_items(plan: str) -> str:
    """A plan with the columns of the demonstration and eight releases."""
    chosen = [
        *(("mean", "age"), ("mean", "bmi"), ("variance", "pressure"), ("standard_deviation", "sleep")),
        *(("histogram", "region"), ("median", "bmi"), ("covariance", "age", "bmi"), ("crosstab", "region", "smoker")),
    ]
    items = [
        f'[[release]]\nname = "item {i}"\nstatistic = "{statistic}"\ncolumns = {list(columns)}\n'.replace("'", '"')
        for i, (statistic, *columns) in enumerate(chosen)
    ]
    return plan[: plan.index("[[release]]")] + "\n".join(items)


def compare_preview(repeats: int) -> int:
    """Preview and release two plans in turns."""
    from inbounds import demo as example

    source, good = Path(__file__).parents[1] / "src", True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan = example.write(folder)
        first = plan.read_text("utf-8")
        for what, text in (("demonstration", first), ("eight items", eight_items(first))):
            plan.write_text(text, "utf-8")
            found = []
            for _ in range(repeats + 1):
                words = [sys.executable, "-m", "inbounds.cli.commands", "preview", str(plan)]
                before = spend()
                subprocess.run(words, capture_output=True, check=True, env=environment(source, folder))
                found.append((spend() - before, release_demo(source, folder)[0]))
            # The first run writes bytecode.
            looked, released = (statistics.median(run[place] for run in found[1:]) for place in (0, 1))
            ratio = looked / released
            print(f"{what}: preview {looked:.2f} s, release {released:.2f} s of processor time, ratio {ratio:.2f}")
            good &= ratio <= 1
    print("all targets met" if good else "a target was missed: a preview is to cost no more than the release")
    return 0 if good else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--against", type=Path, help="the src folder of another version")
    parser.add_argument("--preview", action="store_true", help="compare previews with releases")
    given = parser.parse_args()
    repeats = given.repeats
    if given.against is not None:
        return compare(given.against.resolve(), repeats)
    if given.preview:
        return compare_preview(repeats)
    from inbounds import demo as example

    empty, polars = best(repeats, "-c", ""), best(repeats, "-c", "import polars")
    libraries, ours = best(repeats, "-c", IMPORTS), best(repeats, "-c", OURS)
    about = best(repeats, "-m", "inbounds.cli.commands", "--help")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan = example.write(folder)
        plan.write_text(plan.read_text("utf-8") + TEN, "utf-8")
        looked = best(repeats, "-m", "inbounds.cli.commands", "preview", str(plan))
        found = []
        for i in range(repeats):
            for book in folder.glob("survey.ledger*"):
                book.unlink()
            spent, said = timed("-c", RELEASE, str(plan), str(folder / f"out{i}"))
            found.append((spent, float(said.split("pass")[1])))
    whole, read = min(found)
    beyond = whole - read - ours
    print(f"python {empty:.2f} s, import polars {polars:.2f} s")
    print(f"all libraries of a release {libraries:.2f} s, with ours {ours:.2f} s")
    print(f"inbounds --help {about:.2f} s (target 0.6)")
    print(f"inbounds preview, ten statistics {looked:.2f} s")
    print(f"inbounds release, ten statistics {whole:.2f} s, of which the pass over the data {read:.2f} s")
    print(f"beyond the pass and imports {beyond:.2f} s (target 0.3)")
    good = about <= 0.6 and beyond <= 0.3
    print("all targets met" if good else "a target was missed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
