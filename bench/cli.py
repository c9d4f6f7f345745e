"""How long the commands take: help, preview, and what a release adds to the pass over the data.

    python bench/cli.py [--repeats 5]

Ten statistics of the generated survey, a whole process each. Targets: ``--help`` within 0.6 s; a release at most 0.3 s
beyond the pass over the data and what it takes to import (ours and the libraries'). The pass is timed inside the
process; imports in processes that do nothing else.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])

import argparse
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
RELEASE = """
import sys, time
from inbounds.cli import commands as cli
from inbounds.road import run as opening
spent, real = [], opening.tally
def timed(*args, **kwargs):
    start = time.perf_counter()
    try:
        return real(*args, **kwargs)
    finally:
        spent.append(time.perf_counter() - start)
opening.tally = timed
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
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
