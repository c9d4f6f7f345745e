"""Answer the tasks of `bench/persons.py` with Tumult Analytics: a line of JSON for each line of JSON.

Many releases come from one query: every replicate has the whole table with ids of its own, and is a group. So Tumult
chooses rows anew for each, and each has noise of its own, as in a release of one table.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[2])

import json

from bench.peers.with_tumult import _spark
from pyspark.sql.functions import col, concat_ws
from tmlt.analytics import AddRowsWithID, KeySet, MaxRowsPerID, PureDPBudget, QueryBuilder, Session


def answer(task: dict) -> list:
    spark = _spark()
    frame = spark.read.parquet(task["file"]).crossJoin(spark.range(task["releases"]).withColumnRenamed("id", "release"))
    frame = frame.withColumn("who", concat_ws("-", col("release"), col("person")))
    columns = ["release", "x", *(["g"] if task["groups"] else [])]
    frame = frame.select("who", *columns)
    budget = PureDPBudget(task["epsilon"])
    session = Session.from_dataframe(budget, "t", frame, protected_change=AddRowsWithID("who"))
    query = QueryBuilder("t")
    if task["fold"]:
        kinds = {"release": "INTEGER", "x": "DECIMAL"}
        query = query.flat_map_by_id(_largest, new_column_types=kinds)
    keys = {"release": list(range(task["releases"]))} | ({"g": task["groups"]} if task["groups"] else {})
    query = query.replace_null_and_nan().enforce(MaxRowsPerID(task["contributions"]))
    low, high = task["bounds"]
    grouped = query.groupby(KeySet.from_dict(keys))
    made = session.evaluate(grouped.average("x", low=low, high=high, name="a"), budget).toPandas()
    made = made.sort_values(list(keys))["a"].to_numpy().reshape(task["releases"], -1)
    return made.tolist()


def _largest(rows):
    return [{"release": rows[0]["release"], "x": max(row["x"] for row in rows)}]


def main() -> None:
    out, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()
