"""The same statistics of the same table by libraries of the field: time and memory in one run.

    python bench/scale_peers.py [--rows 10000000] [--folder build/scale] [--peers .venv-peers/bin/python]
                                [--tumult .venv-compare/tumult/bin/python]

Parquet files of `bench/scale.py`. Four means with bounds 0 and 100, and a 4 × 3 table of counts, each at ε = 1, from
files to released numbers; what a library does not read itself (diffprivlib takes NumPy arrays) is read by Polars. Each
line is a process of its own: imports are not counted, memory is its peak, of Spark with its Java. A library that does
not run, or not within ``--patience`` seconds, is listed with the reason.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])

import argparse
import json
import os
import subprocess
import time
from typing import Any

from bench.scale import ANSWERS, NUMBERS, REGIONS, files, spark_session


def inbounds(where: Path, rows: int) -> Any:
    """As a user writes it: five one-liners, each a pass."""
    import polars as pl

    import inbounds as ib

    table = pl.scan_parquet(where / "*.parquet")

    def run() -> None:
        for name in NUMBERS:
            print(ib.mean(table, name, bounds=(0, 100), epsilon=1, rows=rows).value, file=sys.stderr)
        print(ib.crosstab(table, levels={"region": REGIONS, "answer": ANSWERS}, epsilon=1, rows=rows).value.sum())

    return run


def one_pass(where: Path, rows: int) -> Any:
    """As a plan: all sums in one pass, then the noise."""
    from fractions import Fraction

    import polars as pl

    from inbounds.privacy.certified import counts_law
    from inbounds.privacy.terms import Terms
    from inbounds.road.draw import draw_counts, draw_single
    from inbounds.statistics.drafts import law_of_number
    from inbounds.tables.answers import counts_of
    from inbounds.tables.coordinates import mean
    from inbounds.tables.engine import Request, tally
    from inbounds.tables.schema import Levels, Numeric, quantise_column, resolution
    from inbounds.tables.sources import read

    steps = [quantise_column(Numeric.of(name, (0, 100)), resolution=resolution(rows, Fraction(1))) for name in NUMBERS]
    keys = (Levels("region", tuple(REGIONS)), Levels("answer", tuple(ANSWERS)))
    table = pl.scan_parquet(where / "*.parquet")
    terms = Terms.of(1, rows=rows)

    def run() -> None:
        frame = read(table, [*(one.column for one in steps), *keys])
        asked = [*(Request((), (one,)) for one in steps), Request(keys)]
        *sums, counts = tally(frame, asked, most=rows)
        for one, cells in zip(steps, sums, strict=True):
            number = mean(one, terms.unit, rows)
            print(float(draw_single(number(cells), law_of_number(number, terms, "mean"))), file=sys.stderr)
        draw_counts(counts_of(counts, (4, 3)), counts_law("crosstab", terms))

    return run


def opendp(where: Path, rows: int) -> Any:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    table = pl.scan_parquet(where / "*.parquet")
    levels = pl.LazyFrame({"region": REGIONS}).join(pl.LazyFrame({"answer": ANSWERS}), how="cross")

    def run() -> None:
        context = dp.Context.compositor(
            data=table,
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(epsilon=5.0),
            split_by_weights=[4, 1],
            margins=[dp.polars.Margin(by=(), max_length=rows, invariant="lengths")],
        )
        means = [pl.col(name).fill_nan(0.0).fill_null(0.0).dp.mean((0.0, 100.0)) for name in NUMBERS]
        print(context.query().select(*means).release().collect(), file=sys.stderr)
        context.query().group_by("region", "answer").agg(dp.len()).with_keys(levels).release().collect()

    return run


def diffprivlib(where: Path, rows: int) -> Any:  # noqa: ARG001
    import numpy as np
    import polars as pl
    from diffprivlib import tools

    def run() -> None:
        table = pl.read_parquet(where / "*.parquet")
        for name in NUMBERS:
            print(tools.mean(table[name].to_numpy(), epsilon=1, bounds=(0, 100)), file=sys.stderr)
        codes = [
            table[name].cast(pl.Enum(levels)).to_physical().to_numpy()
            for name, levels in (("region", REGIONS), ("answer", ANSWERS))
        ]
        tools.histogram2d(*codes, epsilon=1, bins=(4, 3), range=((-0.5, 3.5), (-0.5, 2.5)))
        assert np.isfinite(codes[0][0])

    return run


def tumult(where: Path, rows: int) -> Any:  # noqa: ARG001
    from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

    table = spark_session().read.parquet(f"{where}/*.parquet")

    def run() -> None:
        session = Session.from_dataframe(PureDPBudget(5), "t", table, protected_change=AddOneRow())
        for name in NUMBERS:
            query = QueryBuilder("t").replace_null_and_nan({name: 0.0}).average(name, low=0.0, high=100.0)
            print(session.evaluate(query, PureDPBudget(1)).collect(), file=sys.stderr)
        keys = KeySet.from_dict({"region": REGIONS, "answer": ANSWERS})
        session.evaluate(QueryBuilder("t").groupby(keys).count(), PureDPBudget(1)).collect()

    return run


LIBRARIES = {
    "inbounds": inbounds,
    "inbounds, one pass": one_pass,
    "OpenDP": opendp,
    "diffprivlib": diffprivlib,
    "Tumult Analytics": tumult,
}


def peak() -> float:
    """Memory of this process and, at its own peak, of each it has started, in MB."""
    total = 0.0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            lines = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line)
        except OSError:
            continue
        if folder.name == str(os.getpid()) or lines["PPid"].strip() == str(os.getpid()):
            total += int(lines.get("VmHWM", "0 kB").split()[0]) / 1024
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--folder", type=Path, default=Path("build/scale"))
    parser.add_argument("--peers", default=sys.executable, help="Python with OpenDP and diffprivlib")
    parser.add_argument("--tumult", default=sys.executable, help="Python with Tumult Analytics")
    parser.add_argument("--patience", type=float, default=600, help="seconds that a library may take")
    parser.add_argument("--one", choices=LIBRARIES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    where = options.folder / str(options.rows)
    if options.one:
        run = LIBRARIES[options.one](where, options.rows)
        start = time.perf_counter()
        run()
        print(json.dumps({"seconds": time.perf_counter() - start, "megabytes": peak()}))
        return 0
    files(options.folder, options.rows)
    pythons = {"OpenDP": options.peers, "diffprivlib": options.peers, "Tumult Analytics": options.tumult}
    print(f"four means and a 4 x 3 table of {options.rows:,} rows")
    ours = None
    for library in LIBRARIES:
        words = ["--rows", str(options.rows), "--folder", str(options.folder), "--one", library]
        command = [pythons.get(library, sys.executable), "-W", "ignore", __file__, *words]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=options.patience)
        except subprocess.TimeoutExpired:
            print(f"{library:20s} broken off after {options.patience:.0f} s", flush=True)
            continue
        if done.returncode:
            print(f"{library:20s} does not run: {done.stderr.strip().splitlines()[-1][:90]}", flush=True)
            continue
        found = json.loads(done.stdout.strip().splitlines()[-1])
        ours = ours or found["seconds"]
        ratio = found["seconds"] / ours
        print(f"{library:20s} {found['seconds']:8.2f} s {ratio:7.2f} x {found['megabytes']:7.0f} MB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
