"""A million cells: time and memory of a whole release, beside NumPy's own noise for the same table.

    python bench/cells.py [--cells 1000000] [--rows 1000000] [--engines polars duckdb]

Three tables: a histogram of whole numbers, one of text, and a crosstab of two columns, at ε = 1. Target: at most 200 MB
above the data, by which the table and the levels are meant; the record is then written to a file in pieces. NumPy's own
way is `bincount`, Laplace noise in floating point, rounding and clipping: no privacy is claimed for it, and it reads
integers where we read labels. Noise that keeps the sum of a million counts has a target of one second. Each line is a
process of its own; memory is its peak above what it held with the data.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])

import argparse
import json
import math
import subprocess
import tempfile
import time
from typing import Any

TABLES = ("whole numbers", "text", "crosstab")
TARGET = 200
ZERO_SUM_TARGET = 1.0


def memory(what: str) -> float:
    """VmRSS or VmHWM of this process, in MB."""
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(what))
    return int(line.split()[1]) / 1024


def table(kind: str, cells: int, rows: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns, and the keywords of the release."""
    import numpy as np

    rng = np.random.default_rng(1)
    if kind == "crosstab":
        side = math.isqrt(cells)
        levels = {"a": list(range(side)), "b": list(range(side))}
        return {name: rng.integers(0, side, rows) for name in levels}, {"levels": levels}
    drawn = rng.integers(0, cells, rows)
    if kind == "text":
        import polars as pl

        words = pl.Series([f"code {i}" for i in range(cells)])
        return {"a": words[drawn]}, {"levels": words.to_list()}
    return {"a": drawn}, {"levels": list(range(cells))}


def frame(columns: dict[str, Any], engine: str) -> Any:
    import polars as pl

    made = pl.DataFrame(columns)
    if engine == "duckdb":
        import duckdb

        connection = duckdb.connect()
        connection.register("t", made.to_arrow())
        return connection.table("t")
    return made


def ours(kind: str, engine: str, cells: int, rows: int) -> dict[str, float]:
    import inbounds as ib

    columns, keywords = table(kind, cells, rows)
    data = frame(columns, engine)
    name = ib.crosstab if kind == "crosstab" else ib.histogram
    where = () if kind == "crosstab" else ("a",)
    # Code and threads of the engine are no part of what a million cells take.
    small = {"levels": {"a": [1], "b": [1]}} if kind == "crosstab" else {"levels": [1]}
    name(frame({"a": [1], "b": [1]}, engine), *where, epsilon=1, **small)  # type: ignore[operator]
    Path("/proc/self/clear_refs").write_text("5")
    before, start = memory("VmRSS"), time.perf_counter()
    release = name(data, *where, epsilon=1, **keywords)  # type: ignore[operator]
    spent = time.perf_counter() - start
    with tempfile.TemporaryFile("w") as file:
        start = time.perf_counter()
        file.writelines(release.json_pieces())
        written = time.perf_counter() - start
        size = file.tell() / 1e6
    return {"seconds": spent, "write": written, "size": size, "megabytes": memory("VmHWM") - before}


def numpys(cells: int, rows: int) -> dict[str, float]:
    import numpy as np

    drawn = np.random.default_rng(1).integers(0, cells, rows)
    rng = np.random.default_rng(2)
    Path("/proc/self/clear_refs").write_text("5")
    before, start = memory("VmRSS"), time.perf_counter()
    counts = np.bincount(drawn, minlength=cells)
    counted = time.perf_counter() - start
    np.clip(np.rint(counts + rng.laplace(0, 2, cells)), 0, rows)
    spent = time.perf_counter() - start
    return {"seconds": spent, "noise": spent - counted, "megabytes": memory("VmHWM") - before}


def exact_noise(cells: int) -> dict[str, float]:
    """Our noise alone: of each count by itself, and noise that keeps their sum."""
    from fractions import Fraction

    import numpy as np

    from inbounds.grid.entropy import SYSTEM
    from inbounds.grid.joint import zero_sum
    from inbounds.grid.scale import Scale
    from inbounds.privacy.certified import counts_law
    from inbounds.privacy.terms import Terms

    law = counts_law("histogram", Terms.of(1, rows=10**6)).mechanism
    law.draw_each(np.zeros(5000, dtype=np.int64), SYSTEM)
    start = time.perf_counter()
    law.draw_each(np.zeros(cells, dtype=np.int64), SYSTEM)
    spent = time.perf_counter() - start
    keeps_sum = Scale.at_least(Fraction(2))
    zero_sum(keeps_sum, 5000, SYSTEM)
    start = time.perf_counter()
    zero_sum(keeps_sum, cells, SYSTEM)
    return {"seconds": spent, "zero_sum": time.perf_counter() - start}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=10**6)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--engines", nargs="*", choices=["polars", "duckdb"], default=["polars", "duckdb"])
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    size = options.cells, options.rows
    if options.one:
        kind, whose = options.one
        made = {"numpy": lambda: numpys(*size), "noise": lambda: exact_noise(size[0])}
        print(json.dumps(made[whose]() if whose in made else ours(kind, whose, *size)))
        return 0

    def measured(*words: str) -> dict[str, float]:
        sizes = ["--cells", str(size[0]), "--rows", str(size[1])]
        command = [sys.executable, "-W", "ignore", __file__, *sizes, "--one", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return dict(json.loads(done.stdout.strip().splitlines()[-1]))

    base, noise = measured("", "numpy"), measured("", "noise")
    print(f"{size[0]:,} cells, {size[1]:,} rows")
    print(f"NumPy: counts and noise {base['seconds']:.3f} s, its noise alone {base['noise']:.3f} s", end="")
    print(f" (our exact noise alone {noise['seconds']:.3f} s, {noise['seconds'] / base['noise']:.1f} x;", end="")
    print(f" noise that keeps the sum {noise['zero_sum']:.3f} s, {noise['zero_sum'] / base['noise']:.1f} x)")
    print(f"{'table':14s} {'engine':8s} {'release':>9s} {'peak':>8s} {'write':>8s} {'record':>8s}", flush=True)
    good = noise["zero_sum"] <= ZERO_SUM_TARGET
    for kind in TABLES:
        for engine in options.engines:
            found = measured(kind, engine)
            good = good and (engine != "polars" or found["megabytes"] <= TARGET)
            line = f"{kind:14s} {engine:8s} {found['seconds']:7.2f} s {found['megabytes']:5.0f} MB"
            print(f"{line} {found['write']:6.2f} s {found['size']:5.0f} MB", flush=True)
    print("all targets met" if good else "a target was missed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
