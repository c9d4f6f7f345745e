"""One pass over a table for a whole plan, whatever the number of statistics: counted by Spark itself."""

import polars as pl
import pytest

import inbounds as ib
from inbounds.tables.engine import Request, tally
from inbounds.tables.schema import Edges, Levels, Numeric, quantise_column
from inbounds.tables.sources import read
from tests.engines import places
from tests.tables.samples import messy
from tests.tables.test_engine import by_hand

TINY = quantise_column(Numeric.of("tiny", (-100, 100), integer=True), resolution=1 << 12)
MONEY = [quantise_column(Numeric.of("money", (0, 80)), resolution=1 << bits) for bits in (12, 20, 30)]
REGION = Levels("region", ("n", "s", "e", "w"), other="w", missing="n")
NUMBER = Edges.of("number", [0, 10, 20.5, 100], missing=3)
PLAN = [
    Request((), (TINY, MONEY[0]), True),
    *(Request((), (one,)) for one in (TINY, *MONEY)),
    *(Request((REGION,), (one,)) for one in (TINY, *MONEY)),
    Request((REGION,)),
    Request((NUMBER,)),
    Request((REGION, NUMBER)),
]
COLUMNS = [TINY.column, MONEY[0].column, REGION, NUMBER]


def jobs(requests, frame):
    """How many jobs Spark ran for these, by its status API."""
    context = places.spark().sparkContext
    jobs.count = getattr(jobs, "count", 0) + 1
    group = f"pass {jobs.count}"
    context.setJobGroup(group, "counted")
    answers = tally(frame, requests)
    return len(context.statusTracker().getJobIdsForGroup(group)), answers


@pytest.mark.claim("tally")
def test_twelve_statistics_are_one_spark_job():
    """Exactly one without adaptive execution, which makes a job of every stage; with it as many as for one of them."""
    table = messy()
    frame = read(places.on_spark(table, 4), COLUMNS)
    spark = places.spark()
    before = spark.conf.get("spark.sql.adaptive.enabled")
    try:
        spark.conf.set("spark.sql.adaptive.enabled", "false")
        alone, found = jobs(PLAN, frame)
        assert alone == 1
        assert found == [by_hand(table, request) for request in PLAN]
        spark.conf.set("spark.sql.adaptive.enabled", "true")
        assert jobs(PLAN, frame)[0] == jobs(PLAN[-1:], frame)[0]
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", before)


def test_nothing_is_kept_in_memory_behind_the_users_back():
    frame = read(places.on_spark(messy(), 4), COLUMNS)
    tally(frame, PLAN)
    assert places.spark().sparkContext._jsc.getPersistentRDDs().size() == 0


@pytest.mark.claim("tally")
def test_plans_with_too_many_cells_take_a_few_passes(monkeypatch):
    """Requests share passes as far as their cells allow, and each answer is what it would be alone."""
    from inbounds.tables import passes

    table = messy()
    frame = read(places.on_duckdb(table, 2), COLUMNS)
    expected = [by_hand(table, request) for request in PLAN]
    for most, limit in ((1 << 16, 1), (4, 3), (1, len(PLAN))):
        monkeypatch.setattr(passes, "_MOST_CELLS", most)
        merged = passes.merge(PLAN)
        assert len(merged) <= limit
        assert tally(frame, PLAN) == expected
    # Only products that were asked for are made.
    monkeypatch.setattr(passes, "_MOST_CELLS", 1 << 16)
    (whole,) = passes.merge(PLAN)
    assert len(whole.pairs) == 3


RULES = {
    "rows of persons": {"contributions": 2},
    "first rows": {"contributions": 1, "keep": "first", "order": "money"},
    "folded": {"fold": {"money": "mean"}},
}


@pytest.mark.claim("kept")
@pytest.mark.parametrize("rule", RULES)
def test_persons_are_one_spark_job_and_one_to_count_them(rule, tmp_path):
    rows = {"id": [i % 7 for i in range(60)], "money": [float(i % 9) for i in range(60)]}
    pl.DataFrame(rows).write_parquet(tmp_path / "visits.parquet")
    spark = places.spark()
    frame, context = spark.read.parquet(str(tmp_path)), spark.sparkContext
    before = spark.conf.get("spark.sql.adaptive.enabled")
    try:
        spark.conf.set("spark.sql.adaptive.enabled", "false")
        for neighbours, most in (("add-remove", 1), ("substitute", 2)):
            group = f"{rule}, {neighbours}"
            context.setJobGroup(group, "counted")
            stated = {} if neighbours == "add-remove" else {"rows": 7}
            ib.mean(
                *(frame, "money"),
                **({"bounds": (0, 9), "epsilon": 1, "person": "id", "neighbours": neighbours} | stated | RULES[rule]),
            )
            assert 1 <= len(context.statusTracker().getJobIdsForGroup(group)) <= most
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", before)
