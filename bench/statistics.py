"""Time and memory of exact sufficient statistics, as ratios against the same engine's own float query.

    python bench/statistics.py [--rows 10000000] [--repeats 7] [--engines polars pandas numpy] [--peers]

Four numeric columns with all their cross-products, and a two-way table of two text columns, in Polars, pandas and
NumPy. Targets: at most 1.5 × the engine's float query for both together, 2 × for the cross-products alone. Each cell
runs in a process of its own; memory is the peak above what the table itself takes. With ``--peers`` also mean, variance
and histogram of one column by diffprivlib and OpenDP.
"""

import sys
from pathlib import Path

# As a script this file would hide the standard library's module of its name.
sys.path[0] = str(Path(__file__).parents[1])

import argparse
import importlib.util
import json
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
from bench.timing import median_time

from inbounds.privacy.terms import Terms
from inbounds.statistics.base import quantise
from inbounds.tables.engine import count_rows, tally
from inbounds.tables.request import Request
from inbounds.tables.schema import Levels, Numeric
from inbounds.tables.sources import read

NUMBERS = ["age", "income", "weight", "hours"]
REGIONS, ANSWERS = ["north", "south", "east", "west"], ["yes", "no", "unknown"]
PAIRS = [(i, j) for i in range(4) for j in range(i, 4)]


def arrays(rows: int) -> dict[str, Any]:
    """Normal numbers, some beyond their bounds, and two columns of text."""
    rng = np.random.default_rng(1)
    table: dict[str, Any] = {name: rng.normal(50, 20, rows) for name in NUMBERS}
    return table | {"region": rng.choice(REGIONS, rows), "answer": rng.choice(ANSWERS, rows)}


def ours(data: Any, *, covariance: bool, crosstab: bool) -> Callable[[], object]:
    """The exact pass of a covariance matrix and a crosstab, at ε = 1."""
    numbers = [Numeric.of(name, (0, 100)) for name in NUMBERS] if covariance else []
    keys = [Levels("region", tuple(REGIONS)), Levels("answer", tuple(ANSWERS))] if crosstab else []

    def run() -> object:
        frame = read(data, [*numbers, *keys])
        rows = count_rows(frame)
        steps = tuple(quantise(column, Terms.of(1, rows=rows)) for column in numbers)
        requests = [Request((), steps, True)] * covariance + [Request(tuple(keys))] * crosstab
        return tally(frame, requests, most=rows)

    return run


def polars_query(table: dict[str, Any]) -> tuple[Any, dict[str, Callable[[], object]]]:
    import polars as pl

    frame = pl.DataFrame(table)

    def covariance() -> Any:
        clipped = frame.lazy().with_columns(pl.col(NUMBERS).clip(0, 100))
        sums = [pl.col(name).sum() for name in NUMBERS]
        products = [(pl.col(NUMBERS[i]) * pl.col(NUMBERS[j])).sum().alias(f"{i}{j}") for i, j in PAIRS]
        return clipped.select(*sums, *products)

    def crosstab() -> Any:
        return frame.lazy().group_by("region", "answer").agg(pl.len())

    return frame, {
        "covariance": lambda: covariance().collect(),
        "both": lambda: pl.collect_all([covariance(), crosstab()]),
    }


def pandas_query(table: dict[str, Any]) -> tuple[Any, dict[str, Callable[[], object]]]:
    import pandas as pd

    frame = pd.DataFrame(table)

    def covariance() -> object:
        clipped = frame[NUMBERS].clip(0, 100)
        return clipped.sum(), [(clipped[NUMBERS[i]] * clipped[NUMBERS[j]]).sum() for i, j in PAIRS]

    return frame, {
        "covariance": covariance,
        "both": lambda: (covariance(), frame.groupby(["region", "answer"]).size()),
    }


def numpy_query(table: dict[str, Any]) -> tuple[Any, dict[str, Callable[[], object]]]:
    matrix = np.column_stack([table[name] for name in NUMBERS])
    columns = {name: matrix[:, i] for i, name in enumerate(NUMBERS)} | {
        "region": table["region"],
        "answer": table["answer"],
    }

    def covariance() -> object:
        clipped = np.clip(matrix, 0, 100)
        return clipped.sum(axis=0), clipped.T @ clipped

    def crosstab() -> object:
        codes = [np.unique(columns[name], return_inverse=True)[1] for name in ("region", "answer")]
        return np.bincount(codes[0] * len(ANSWERS) + codes[1])

    return columns, {"covariance": covariance, "both": lambda: (covariance(), crosstab())}


ENGINES = {"polars": polars_query, "pandas": pandas_query, "numpy": numpy_query}


def measure(engine: str, what: str, whose: str, rows: int, repeats: int) -> dict[str, float]:
    """Seconds, and peak memory above the table's own, of one query in this process."""
    data, queries = ENGINES[engine](arrays(rows))
    query = queries[what] if whose == "own" else ours(data, covariance=True, crosstab=what == "both")
    before = memory("VmRSS")
    # Forget the peak of making the table (Linux).
    Path("/proc/self/clear_refs").write_text("5")
    seconds = median_time(query, repeats if engine == "polars" else max(2, repeats // 3))
    return {"seconds": seconds, "peak": memory("VmHWM") - before}


def memory(what: str) -> float:
    """A line of the kernel's account of this process, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(what))


def in_process(engine: str, what: str, whose: str, rows: int, repeats: int) -> dict[str, float]:
    words = ["--cell", engine, what, whose, "--rows", str(rows), "--repeats", str(repeats)]
    run = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)  # type: ignore[no-any-return]


def engines(names: list[str], rows: int, repeats: int) -> bool:
    """Our pass against each engine's own float query."""
    print(f"{rows:,} rows: 4 columns with their cross-products (and a 4 × 3 table of text columns)\n")
    print(f"{'engine':10s} {'query':12s} {'float':>9s} {'exact':>9s} {'ratio':>7s} {'target':>7s}   peak memory, MB")
    good = True
    for engine in names:
        for what, target in (("covariance", 2.0), ("both", 1.5)):
            own, exact = (in_process(engine, what, whose, rows, repeats) for whose in ("own", "exact"))
            ratio = exact["seconds"] / own["seconds"]
            good = good and ratio <= target
            print(
                f"{engine:10s} {what:12s} {own['seconds'] * 1e3:6.0f} ms {exact['seconds'] * 1e3:6.0f} ms {ratio:7.2f} "
                f"{target:7.1f}   {own['peak']:.0f} and {exact['peak']:.0f}"
            )
    return good


def peers(rows: int) -> None:
    """Whole releases of one column: ours (exact, certified), diffprivlib's and OpenDP's."""
    import inbounds as ib

    column = np.clip(arrays(rows)["age"], 0, 100)
    edges = [0, 20, 40, 60, 80, 100]
    print(f"\nOne column of {rows:,} rows, whole release, milliseconds:\n")
    print(f"{'library':12s} {'mean':>9s} {'variance':>9s} {'histogram':>10s}")
    rivals: dict[str, list[Callable[[], object]]] = {
        "inbounds": [
            lambda: ib.mean(column, bounds=(0, 100), epsilon=1),
            lambda: ib.variance(column, bounds=(0, 100), epsilon=1),
            lambda: ib.histogram(column, edges=edges, epsilon=1),
        ]
    }
    if importlib.util.find_spec("diffprivlib"):
        from diffprivlib import tools

        rivals["diffprivlib"] = [
            lambda: tools.mean(column, epsilon=1, bounds=(0, 100)),
            lambda: tools.var(column, epsilon=1, bounds=(0, 100)),
            lambda: tools.histogram(column, epsilon=1, bins=edges, range=(0, 100)),
        ]
    if importlib.util.find_spec("opendp"):
        rivals["OpenDP"] = opendp_queries(column, edges)
    for name, queries in rivals.items():
        times = [median_time(query, 3) * 1e3 for query in queries]
        print(f"{name:12s} {times[0]:9.1f} {times[1]:9.1f} {times[2]:10.1f}")


def opendp_queries(column: Any, edges: list[int]) -> list[Callable[[], object]]:
    """Mean, variance and histogram as its documentation builds them, at ε = 1."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "idealized-numerics")
    size = len(column)
    vector = dp.vector_domain(dp.atom_domain(bounds=(0.0, 100.0), nan=False), size=size), dp.symmetric_distance()
    mean = vector >> dp.t.then_mean() >> dp.m.then_laplace(scale=100 / size)
    variance = vector >> dp.t.then_variance() >> dp.m.then_laplace(scale=100.0**2 / size)
    whole = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    inner = [float(edge) for edge in edges[1:-1]]
    binned = (
        whole
        >> dp.t.then_find_bin(edges=inner)
        >> dp.t.then_count_by_categories(categories=list(range(len(inner) + 1)), null_category=False)
        >> dp.m.then_laplace(scale=2.0)
    )
    return [lambda: mean(column), lambda: variance(column), lambda: binned(column)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--engines", nargs="*", choices=list(ENGINES), default=list(ENGINES))
    parser.add_argument("--peers", action="store_true", help="also diffprivlib and OpenDP, where they are installed")
    parser.add_argument("--cell", nargs=3, metavar=("ENGINE", "QUERY", "WHOSE"), help="one query, as JSON")
    arguments = parser.parse_args()
    if arguments.cell:
        print(json.dumps(measure(*arguments.cell, arguments.rows, arguments.repeats)))
        return 0
    good = engines(arguments.engines, arguments.rows, arguments.repeats)
    if arguments.peers:
        peers(arguments.rows)
    print("\nall targets met" if good else "\na target was missed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
