"""Workers that die, connections that drop, files that are cut: the right integers, or one clear error, no release."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import polars as pl
import pytest

import inbounds as ib
from inbounds.errors import PublicSize
from inbounds.ledger import Account
from inbounds.tables.engine import Request, tally
from inbounds.tables.places import open_place
from inbounds.tables.schema import DataError, Numeric, quantise_column
from inbounds.tables.sources import read
from tests.engines import places

AGE = Numeric.of("age", (0, 100), missing=40)
ASKED = [Request((), (quantise_column(AGE, resolution=1 << 30),), True)]
READERS = ["polars", "duckdb", "dask", "spark"]


def ages(rows=4000):
    return pl.DataFrame({"age": [float(i * 37 % 101) for i in range(rows)]})


def wait_until(happened):
    """The first answer that is not empty. What it waits for comes sooner or later: nothing is killed by the clock."""
    while not (answer := happened()):
        time.sleep(0.01)
    return answer


def expected(table):
    return tally(read(table, [AGE]), ASKED)


@pytest.mark.parametrize("engine", READERS)
@pytest.mark.parametrize("kept", [0.5, 0.98])
def test_a_file_that_is_cut_off(tmp_path, engine, kept):
    """One part of three ends in the middle: no sum is better than a wrong one."""
    for i, piece in enumerate(places.pieces(ages(), 3)):
        piece.write_parquet(tmp_path / f"{i}.parquet")
    broken = tmp_path / "1.parquet"
    content = broken.read_bytes()
    broken.write_bytes(content[: int(len(content) * kept)])
    if engine == "spark":
        places.spark()
    with pytest.raises(DataError) as caught:
        tally(read(open_place(tmp_path, [AGE], engine=engine), [AGE]), ASKED)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("engine", READERS)
def test_a_file_that_changes_between_opening_and_the_pass(tmp_path, engine):
    """A table of another size than stated is refused; nothing was released before."""
    path = tmp_path / "ages.parquet"
    ages().write_parquet(path)
    if engine == "spark":
        places.spark()
    frame = open_place(path, [AGE], engine=engine)
    fewer = tmp_path / "fewer"
    ages(3000).write_parquet(fewer)
    fewer.replace(path)
    with pytest.raises(DataError):
        ib.mean(frame, "age", bounds=(0, 100), epsilon=1, rows=4000)


@pytest.mark.parametrize("engine", READERS)
def test_a_column_whose_type_differs_between_parts(tmp_path, engine):
    """Integers in one part and numbers in another: the same integers, or a refusal; words are always refused."""
    table = ages(600)
    first, second, third = places.pieces(table, 3)
    first.write_parquet(tmp_path / "0.parquet")
    second.cast(pl.Int32).write_parquet(tmp_path / "1.parquet")
    third.write_parquet(tmp_path / "2.parquet")
    if engine == "spark":
        places.spark()
    try:
        found = tally(read(open_place(tmp_path, [AGE], engine=engine), [AGE]), ASKED)
    except DataError:
        found = expected(table)
    assert found == expected(table)
    pl.DataFrame({"age": ["many", "few"]}).write_parquet(tmp_path / "1.parquet")
    with pytest.raises(DataError):
        tally(read(open_place(tmp_path, [AGE], engine=engine), [AGE]), ASKED)


def test_a_dask_worker_that_is_killed(tmp_path):
    """In the middle of the pass; the cluster does its part again."""
    import dask
    import dask.dataframe as dd
    import pandas as pd

    client = places.cluster()
    table = ages(800)

    def slowly(part):
        (tmp_path / str(os.getpid())).touch()
        time.sleep(0.2)
        return part

    frame = dd.from_pandas(pd.DataFrame({"age": table["age"].to_numpy()}), npartitions=16).map_partitions(slowly)
    workers, killed = client.cluster.workers, []

    def kill():
        """Kill the first of the workers that has begun with a part of the frame."""
        pids = {worker.pid for worker in workers.values()}
        killed.append(wait_until(lambda: pids & {int(path.name) for path in tmp_path.iterdir()}).pop())
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with dask.config.set(scheduler=client):
        found = tally(read(frame, [AGE]), ASKED)
    killer.join()
    assert found == expected(table)
    wait_until(lambda: killed[0] not in [worker.pid for worker in workers.values()])


def test_a_postgresql_connection_that_is_dropped():
    """The server ends the session in the middle of the sum."""
    if places.postgres() is None:
        pytest.skip("SKIPPED LOUDLY: no PostgreSQL binaries (initdb) on this machine; install postgresql to test it")
    import psycopg

    places.put(ages(50), "slow_ages")
    with psycopg.connect(places.postgres(), autocommit=True) as connection:
        connection.execute("drop view if exists slow")
        connection.execute("create view slow as select age + 0 * length(pg_sleep(0.2)::text) as age from slow_ages")

    def drop():
        """End the session that is in the middle of a query of the view."""
        with psycopg.connect(places.postgres(), autocommit=True) as other:
            end = (
                "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' "
                "and pid <> pg_backend_pid() and wait_event = 'PgSleep'"
            )
            wait_until(lambda: other.execute(end).fetchall())

    frame = open_place(places.postgres(), [AGE], table="slow")
    dropper = threading.Thread(target=drop)
    dropper.start()
    with pytest.raises(DataError, match="the table's engine failed"):
        ib.mean(frame, "age", bounds=(0, 100), epsilon=1, rows=50)
    dropper.join()


@pytest.mark.parametrize("neighbours", ["substitute", "add-remove"])
def test_what_a_server_does_not_hand_out_is_refused_before_the_charge(neighbours, tmp_path):
    """A column that the user may not read, and a table that is gone: the server says so without reading a row."""
    if places.postgres() is None:
        pytest.skip("SKIPPED LOUDLY: no PostgreSQL binaries (initdb) on this machine; install postgresql to test it")
    import ibis
    import psycopg

    places.put(ages(50).with_columns(income=pl.lit(1.0)), "partly")
    with psycopg.connect(places.postgres(), autocommit=True) as connection:
        connection.execute("drop owned by clerk" if clerk_is_there(connection) else "create role clerk login")
        connection.execute("grant select (age) on partly to clerk")
    server = ibis.connect(places.postgres().replace("postgres@", "clerk@"))
    table, account = server.table("partly"), Account(tmp_path / "a.ledger", "survey", 9)

    def release(column):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PublicSize)
            return ib.mean(table, column, bounds=(0, 100), epsilon=1, neighbours=neighbours, ledger=account)

    with pytest.raises(DataError, match=r"InsufficientPrivilege; its message is not shown, since it might quote data$"):
        release("income")
    assert not account.ledger.exists()
    assert release("age").epsilon == 1
    with psycopg.connect(places.postgres(), autocommit=True) as connection:
        connection.execute("drop table partly")
    with pytest.raises(DataError, match=r"UndefinedTable; its message is not shown, since it might quote data$"):
        release("income")
    server.disconnect()


def clerk_is_there(connection):
    return connection.execute("select 1 from pg_roles where rolname = 'clerk'").fetchone() is not None


def test_no_room_for_temporary_files():
    """A query that must spill, and may not."""
    import duckdb

    made = duckdb.connect()
    made.execute("set memory_limit = '20MB'; set max_temp_directory_size = '1KB'; set threads = 1")
    sorted_ages = made.sql("select (hash(i) % 101)::double as age from range(3000000) t(i) order by hash(i)")
    crowded = made.sql(
        "select age from (select age, row_number() over (order by age) as n from sorted_ages) where n > 0"
    )
    with pytest.raises(DataError, match="the table's engine failed"):
        tally(read(crowded, [AGE]), ASKED)
    assert sorted_ages is not None


SPARK = textwrap.dedent(
    """
    import contextlib, os, signal, sys, threading, time
    from pathlib import Path
    os.environ["PYSPARK_PYTHON"] = sys.executable
    import pyspark
    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    from pyspark.sql import SparkSession, functions as F
    from inbounds.tables.engine import tally
    from inbounds.tables.sources import read
    from tests.engines.places import QUICK_JAVA
    from tests.engines.test_faults import AGE, ASKED, wait_until

    spark = (
        SparkSession.builder.master("local-cluster[2,1,600]")
        .config("spark.executor.memory", "512m").config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1").config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.driver.extraJavaOptions", QUICK_JAVA).config("spark.executor.extraJavaOptions", QUICK_JAVA)
        # The parts that were lost are asked for once more, not for a quarter of a minute.
        .config("spark.shuffle.io.maxRetries", "1").config("spark.shuffle.io.retryWait", "100ms").getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    spark.range(10, numPartitions=2).count()
    begun = Path(sys.argv[1])
    slow = spark.range(0, 1600, 1, 16).selectExpr("cast(id * 37 % 101 as double) as age", "id")

    def nap(i):
        begun.touch()
        time.sleep(0.004)
        return 0.0

    napping = F.udf(nap, "double")
    slow = slow.select((F.col("age") + napping("id")).alias("age"))

    def executors():
        words = b"CoarseGrainedExecutorBackend", spark.sparkContext.applicationId.encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                line = path.read_bytes()
                found += [int(path.parent.name)] * all(word in line for word in words)
        return found

    def kill():
        wait_until(begun.exists)
        victim = executors()[0]
        os.kill(victim, signal.SIGKILL)
        print("killed", flush=True)

    killer = threading.Thread(target=kill)
    killer.start()
    found = tally(read(slow, [AGE]), ASKED)
    killer.join()
    print(found, flush=True)
    spark.stop()
    """
)


def test_a_spark_executor_that_is_killed(tmp_path):
    """Two executors, processes of their own; one is killed in the middle, and the other does its part again."""
    places.spark()  # Java, and which Python
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SPARK, str(tmp_path / "begun")],
        capture_output=True,
        text=True,
        # Only for what hangs: beside thirty busy processes it took more than four minutes.
        timeout=1200,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    lines = done.stdout.strip().splitlines()
    assert lines, done.stderr[-2000:]
    assert lines[0] == "killed"
    assert lines[-1] == str(expected(ages(1600)))
