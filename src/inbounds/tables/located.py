"""Where a table lives: files, a DuckDB file, a PostgreSQL server, opened by the engine that reads them.

Nothing is read here but names and types of columns. A CSV file has no types of its own, and types made from its values
could be flipped by one record: they are taken from the columns' public rules instead.

========================== ====================================================================================
``data.parquet``, ``*.csv``  also globs, folders of either kind, and compressed CSV; by Polars, streaming, unless
                             ``engine`` says ``"duckdb"``, ``"dask"``, ``"spark"``, ``"spark://host:port"`` or, by
                             Spark Connect, ``"sc://host:port"``
``data.duckdb``              with ``table``; opened for reading only
``postgresql://...``         with ``table``; the transaction is read-only and sums are made by the server
``env:NAME``                 what the environment variable NAME holds, so that no plan or record has a password
========================== ====================================================================================
"""

import os
from collections.abc import Callable, Sequence
from glob import has_magic
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from inbounds import _check
from inbounds.tables.schema import Column, DataError, Levels
from inbounds.tables.sources import guarded

ENGINES = ("polars", "duckdb", "dask", "spark")
_CSV = (".csv", ".csv.gz", ".csv.zst", ".csv.bz2")
_DUCKDB = (".duckdb", ".ddb")
_CONNECT = "sc://"
_MASTERS = ("spark://", "local", "yarn", "k8s://", _CONNECT)


def located(source: Any, columns: Sequence[Column], *, table: str | None = None, engine: str | None = None) -> Any:
    """claim:located. The table at a place, as a lazy frame of the engine that reads it.

    Errors name the file or the variable, never what a URL holds.
    """
    if not isinstance(source, str | Path) or not str(source):
        raise TypeError(f"source must be a path or a URL, got {_check.shown(source)}")
    text = _from_environment(str(source))
    master = engine if isinstance(engine, str) and engine.startswith(_MASTERS) else None
    if engine is not None and master is None:
        _check.choice(engine, "engine", ENGINES)
    if text.startswith(("postgresql://", "postgres://")):
        _only(engine, (), "a PostgreSQL server")
        return _postgres(text, _named_table(table, "a PostgreSQL server"))
    if "://" in text and not text.startswith(("s3://", "gs://", "az://", "hdfs://", "file://")):
        raise ValueError("source must be a path, or a URL that begins with postgresql:// or the name of a file store")
    if text.endswith(_DUCKDB):
        _only(engine, ("duckdb",), "a DuckDB file")
        return _duckdb_file(text, _named_table(table, "a DuckDB file"), str(source))
    if table is not None:
        raise ValueError("table= belongs to a DuckDB file or a PostgreSQL server; a path says which files there are")
    kind = _kind(text, str(source))
    if master is not None:
        return _spark(text, kind, columns, master)
    return _READERS[engine or "polars"](text, kind, columns)


def _from_environment(text: str) -> str:
    if not text.startswith("env:"):
        return text
    name = text.removeprefix("env:")
    found = os.environ.get(name)
    if not found:
        raise ValueError(f"source names the environment variable {name!r}, which is not set")
    return found


def _only(engine: str | None, engines: Sequence[str], what: str) -> None:
    if engine is not None and engine not in engines:
        raise ValueError(f"{what} does its own work: leave engine= out")


def _named_table(table: Any, what: str) -> str:
    if not isinstance(table, str) or not table:
        raise ValueError(f"{what} needs table=, the name of the table or view to read")
    return table


def _kind(text: str, shown: str) -> str:
    """Whether files are CSV or Parquet: by their names, or by those in a folder.

    Messages show the source as it was given: what a variable holds may be secret.
    """
    path = Path(text)
    names = [text]
    if path.is_dir():
        names = sorted(one.name for one in path.iterdir() if not one.name.startswith((".", "_")))
    elif not has_magic(text) and "://" not in text and not path.exists():
        raise DataError(f"there is no file {shown!r}")
    kinds = {_suffix(name) for name in names}
    if kinds not in ({"csv"}, {"parquet"}):
        raise ValueError(f"source must be Parquet or CSV files of one kind, got {shown!r}")
    return kinds.pop()


def _suffix(name: str) -> str:
    if name.endswith(_CSV):
        return "csv"
    return "parquet" if name.endswith((".parquet", ".pq")) else ""


def _needed(module: str, extra: str, what: str) -> Any:
    """An engine, or the line that installs it."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(f"{what} needs {module.partition('.')[0]}: pip install 'inbounds[{extra}]'") from None


def _rule_type(column: Column) -> str:
    """What a column of a CSV file is read as, by its rule alone."""
    if not isinstance(column, Levels):
        return "number"
    return {str: "text", int: "integer", bool: "boolean"}[type(column.levels[0])]


def _types(columns: Sequence[Column], words: dict[str, Any]) -> dict[str, Any]:
    return {column.name: words[_rule_type(column)] for column in columns}


def _within(text: str, kind: str) -> str:
    """The files of a folder as a pattern."""
    return f"{text.rstrip('/')}/*.{kind}*" if Path(text).is_dir() else text


def _polars(text: str, kind: str, columns: Sequence[Column]) -> Any:
    import polars as pl

    where = _within(text, kind)
    if kind == "parquet":
        return guarded(lambda: pl.scan_parquet(where))
    words = {"number": pl.Float64, "text": pl.String, "integer": pl.Int64, "boolean": pl.Boolean}
    types = _types(columns, words)
    # Columns that nobody asked for stay text: no value decides a type.
    return guarded(lambda: pl.scan_csv(where, schema_overrides=types, infer_schema=False))


def _duckdb(text: str, kind: str, columns: Sequence[Column]) -> Any:
    duckdb = _needed("duckdb", "duckdb", "engine='duckdb'")
    where = _within(text, kind)
    if kind == "parquet":
        return guarded(lambda: duckdb.connect().read_parquet(where))
    types = _types(columns, {"number": "DOUBLE", "text": "VARCHAR", "integer": "BIGINT", "boolean": "BOOLEAN"})
    return guarded(lambda: duckdb.connect().read_csv(where, header=True, all_varchar=not types, dtype=types or None))


def _dask(text: str, kind: str, columns: Sequence[Column]) -> Any:
    frames = _needed("dask.dataframe", "dask", "engine='dask'")
    where = _within(text, kind)
    if kind == "parquet":
        return guarded(lambda: frames.read_parquet(where, dtype_backend="pyarrow"))
    names = {"number": "double[pyarrow]", "text": "string[pyarrow]", "integer": "int64[pyarrow]"}
    types = _types(columns, names | {"boolean": "bool[pyarrow]"})
    return guarded(
        lambda: frames.read_csv(
            where, usecols=list(types), dtype=types, keep_default_na=False, na_values=[""], blocksize=None
        )
    )


def _spark(text: str, kind: str, columns: Sequence[Column], master: str | None = None) -> Any:
    """The caller's own session where there is one; otherwise one on the master that was named, or a local one."""
    sql = _needed("pyspark.sql", "spark", "engine='spark'")

    def start() -> Any:
        builder = sql.SparkSession.builder.appName("inbounds")
        if master is None:
            return builder.getOrCreate()
        return (builder.remote(master) if master.startswith(_CONNECT) else builder.master(master)).getOrCreate()

    session = guarded(start)
    if kind == "parquet":
        return guarded(lambda: session.read.parquet(text))
    names = {"number": "double", "text": "string", "integer": "bigint", "boolean": "boolean"}
    types = _types(columns, names)
    header = guarded(lambda: session.read.csv(text, header=True, inferSchema=False).columns)
    schema = ", ".join(f"`{name}` {types.get(name, 'string')}" for name in header)
    # A value that is no number fails the pass, as it does on other engines.
    return guarded(lambda: session.read.csv(text, header=True, schema=schema, mode="FAILFAST"))


_READERS: dict[str, Callable[[str, str, Sequence[Column]], Any]] = {
    "polars": _polars,
    "duckdb": _duckdb,
    "dask": _dask,
    "spark": _spark,
}


def _duckdb_file(text: str, table: str, shown: str) -> Any:
    duckdb = _needed("duckdb", "duckdb", "a DuckDB file")
    if not Path(text).exists():
        raise DataError(f"there is no file {shown!r}")
    return guarded(lambda: duckdb.connect(text, read_only=True).table(table))


def _postgres(url: str, table: str) -> Any:
    """Through Ibis, which lets the server add up; psycopg carries it. No part of the URL is ever shown."""
    ibis = _needed("ibis", "postgres", "a PostgreSQL server")
    _needed("psycopg", "postgres", "a PostgreSQL server")
    parts = urlsplit(url)
    schema, _, name = table.rpartition(".")

    def connect() -> Any:
        return ibis.postgres.connect(
            host=parts.hostname,
            port=parts.port or 5432,
            user=unquote(parts.username or "") or None,
            password=unquote(parts.password or "") or None,
            database=parts.path.lstrip("/") or None,
            options="-c default_transaction_read_only=on",
        ).table(name, database=schema or None)

    return guarded(connect)
