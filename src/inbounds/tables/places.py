"""Where a table lives: files, a DuckDB file, a PostgreSQL server, opened by the engine that reads them.

Only names and types of columns are read here, and whether a CSV file has the right form. A CSV file has no types, and
types made from its values could be flipped by one record: they are taken from the columns' public rules instead.

========================== ====================================================================================
``data.csv``                 also .tsv and .txt, globs, folders, and compressed ones (gz, zst); by one reader for all,
                             on this machine (`inbounds.tables.csv_files`); ``written`` says how they are written
``data.xlsx``                one sheet (`inbounds.tables.excel_files`)
``data.parquet``             also globs and folders; by Polars, streaming, unless ``engine`` says ``"duckdb"``,
                             ``"dask"``, ``"spark"``, ``"spark://host:port"`` or, by Spark Connect, ``"sc://host:port"``
``data.duckdb``              with ``table``; opened for reading only
``postgresql://...``         with ``table``; the transaction is read-only and sums are made by the server
``env:NAME``                 what the environment variable NAME holds, so that no plan or record has a password
========================== ====================================================================================
"""

import os
from collections.abc import Callable, Sequence
from functools import reduce
from glob import has_magic
from importlib import import_module
from pathlib import Path
from typing import Any
from weakref import finalize

from inbounds import _check
from inbounds.tables import csv_files, excel_files
from inbounds.tables.csv_irregular import Irregular, find_irregular
from inbounds.tables.files import read_start
from inbounds.tables.formats import CSV, EXCEL, PLAIN, Format
from inbounds.tables.parquet_files import Group, group_files
from inbounds.tables.schema import Column, DataError
from inbounds.tables.sources import guard

ENGINES = ("polars", "duckdb", "dask", "spark")
DUCKDB = (".duckdb", ".ddb")
_CONNECT = "sc://"
_MASTERS = ("spark://", "local", "yarn", "k8s://", _CONNECT)


# claim:located
def open_place(
    source: Any,
    columns: Sequence[Column] | None,
    *,
    table: str | None = None,
    engine: str | None = None,
    written: Format = PLAIN,
) -> Any:
    """The table at a place, as a lazy frame of the engine that reads it.

    With None for the columns, only their names and types are read, and no record of a CSV file.
    Errors name the file or the variable, never what a URL holds.
    """
    if not isinstance(source, str | Path) or not str(source):
        raise TypeError(f"source must be a path or a URL, got {_check.shown(source)}")
    text = read_address(source)
    master = engine if isinstance(engine, str) and engine.startswith(_MASTERS) else None
    if engine is not None and master is None and engine not in ENGINES:
        # Not shown: the address of a server may hold a token.
        raise ValueError(f"engine must be one of {', '.join(map(repr, ENGINES))}, or the address of a Spark server")
    if text.startswith(("postgresql://", "postgres://")):
        _only(engine, (), "a PostgreSQL server")
        _require_takes(written, (), "a PostgreSQL server")
        return _postgres(text, table)
    if "://" in text and not text.startswith(("s3://", "gs://", "az://", "hdfs://")):
        raise ValueError("source must be a path, or a URL that begins with postgresql:// or the name of a file store")
    if text.endswith(DUCKDB):
        _only(engine, ("duckdb",), "a DuckDB file")
        _require_takes(written, (), "a DuckDB file")
        return _duckdb_file(text, table, str(source))
    if table is not None:
        raise ValueError("table= is only for a DuckDB file or a PostgreSQL server; leave it out for files")
    kind, secret = _kind(text, str(source)), str(source).startswith("env:")
    if kind in ("csv", "excel"):
        called = {"csv": "a CSV file", "excel": "an Excel file"}[kind]
        if engine not in (None, "polars") or "://" in text:
            raise ValueError(
                f"{called} is read by one reader, on this machine, so that one of its records is one record on every "
                "engine: leave engine= out and copy the file here, or convert it to Parquet"
            )
        _require_takes(written, _KEYS[kind], called)
        scan = csv_files.scan if kind == "csv" else excel_files.scan
        return scan(text, columns, written=written, secret=secret)
    _require_takes(written, (), "a Parquet file")
    columns = columns or ()
    if master is not None:
        return _spark(text, columns, master)
    return _READERS[engine or "polars"](text, columns)


def find_irregular_records(source: Any, written: Format) -> list[tuple[str, Irregular]]:
    """Where CSV files break their declared form, file by file; empty for other places. For their curator alone."""
    text = read_address(source)
    if "://" in text or text.endswith(DUCKDB) or _kind(text, str(source)) != "csv":
        return []
    files = csv_files.list_files(text, written, secret=False)
    records = [(file.title, find_irregular(file, len(csv_files.read_header(file)))) for file in files]
    return [(title, irregular) for title, irregular in records if irregular.count]


def count_undecodable_fields(source: Any, written: Format) -> list[tuple[str, dict[str, int]]]:
    """How many fields of CSV files have bytes that are not characters, file by file and by column; empty for other
    places, and for files that a release refuses. For their curator alone."""
    text = read_address(source)
    if "://" in text or text.endswith(DUCKDB) or _kind(text, str(source)) != "csv":
        return []
    files = csv_files.list_files(text, written, secret=False)
    counts = [(file.title, csv_files.count_undecodable(file)) for file in files]
    return [(title, columns) for title, columns in counts if columns]


def read_address(source: Any) -> str:
    """The path or the URL of a source."""
    return _from_environment(str(source)).removeprefix("file://")


def _from_environment(text: str) -> str:
    if not text.startswith("env:"):
        return text
    name = text.removeprefix("env:")
    value = os.environ.get(name)
    if not value:
        raise ValueError(f"source is the environment variable {name!r}, which is not set")
    return value


def _only(engine: str | None, engines: Sequence[str], what: str) -> None:
    if engine is not None and engine not in engines:
        raise ValueError(f"engine= cannot be combined with {what}, which is its own engine")


# The keys of a format that a kind of file takes.
_KEYS = {
    "csv": ("separator", "quote", "decimal", "thousands", "encoding", "null_values", "header", "skip_lines"),
    "excel": ("sheet", "null_values", "header", "skip_lines"),
}


def _require_takes(written: Format, keys: Sequence[str], what: str) -> None:
    """Refuse keys that say nothing about a place of this kind."""
    if idle := [key for key in written.declared if key not in keys]:
        owner = "an Excel file" if idle[0] == "sheet" else "a CSV file"
        raise ValueError(f"{idle[0]} belongs to {owner}, and the source is {what}: leave {idle[0]} out")


def _check_table_name(table: Any, what: str, list_tables: Callable[[], Sequence[str]]) -> str:
    """The name of the table to read; without one, an error with the names of all tables, which are public."""
    if isinstance(table, str) and table:
        return table
    try:
        names = list(list_tables())
    except Exception:
        # A server that cannot be reached: its message may quote its address.
        names = []
    there = _list_tables(names)
    raise ValueError(
        f"{what} needs table=, the name of the table or view to read, under [data] of a plan, or --table for plan init"
        f"{there}"
    )


def _list_tables(names: Sequence[str]) -> str:
    """The names of tables that there are, as the end of a message."""
    return f"; it has {', '.join(map(repr, names[:_FEW]))}{', ...' * (len(names) > _FEW)}" if names else ""


# Names of tables in a message.
_FEW = 20


def _kind(text: str, source: str) -> str:
    """Whether files are CSV, Parquet or Excel: by their names, or by those in a folder.

    Messages show the source as it was given, because the content of a variable may be secret. An address is not shown.
    """
    source = "that the source names" if any(mark in source for mark in ("@", "://", "?", ";")) else repr(source)
    path = Path(text)
    names = [text]
    if path.is_dir():
        children = [child for child in path.iterdir() if not child.name.startswith((".", "_"))]
        if any(child.is_dir() for child in children):
            raise ValueError(
                f"{source} has folders in it: name the files by a pattern, as in FOLDER/*/*.parquet, or one folder; "
                "what only the names of folders say, as in region=north, is no column"
            )
        names = sorted(child.name for child in children)
    elif not has_magic(text) and "://" not in text and not path.exists():
        raise DataError(f"there is no file {source}")
    kinds = {_suffix(name) for name in names}
    if kinds not in ({"csv"}, {"parquet"}, {"excel"}) or (kinds == {"excel"} and not path.is_file()):
        raise ValueError(f"source must be Parquet or CSV files of one kind, or one Excel file (.xlsx), got {source}")
    return kinds.pop()


def _suffix(name: str) -> str:
    if name.endswith(CSV):
        return "csv"
    if name.endswith(EXCEL):
        return "excel"
    return "parquet" if name.endswith((".parquet", ".pq")) else ""


def _import_engine(module: str, extra: str, what: str) -> Any:
    """An engine, or the line that installs it."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(f"{what} needs {module.partition('.')[0]}: pip install 'inbounds[{extra}]'") from None


def _plain(files: Sequence[str]) -> list[str]:
    """The files, after checking that no engine would read their names as patterns."""
    if any(has_magic(file) and "://" not in file for file in files):
        raise DataError("a file or folder has *, ? or [ in its name, which this engine reads as a pattern; rename it")
    return list(files)


def _polars(text: str, columns: Sequence[Column]) -> Any:
    import polars as pl

    types: dict[str | None, Any] = {"number": pl.Float64, "text": pl.String, "boolean": pl.Boolean}

    def read(group: Group) -> Any:
        frame = pl.scan_parquet(list(group.files), glob="://" in text)
        values = [pl.lit(None).alias(n) if n in group.empty else pl.col(n) for n, _ in group.columns]
        casts: dict[Any, Any] = {name: types[kind] for name, kind in group.columns if kind is not None}
        return frame.select(values).cast(casts) if group.columns else frame

    return guard(lambda: pl.concat([read(group) for group in group_files(text, columns)]))


def _duckdb(text: str, columns: Sequence[Column]) -> Any:
    duckdb = _import_engine("duckdb", "duckdb", "engine='duckdb'")
    types = {"number": "DOUBLE", "text": "VARCHAR", "boolean": "BOOLEAN"}
    connection = guard(duckdb.connect)

    def read(group: Group) -> Any:
        frame = connection.read_parquet(_plain(group.files))
        casts = []
        for name, kind in group.columns:
            column = '"' + name.replace('"', '""') + '"'
            value = "NULL" if name in group.empty else column
            casts.append(f"{value if kind is None else f'CAST({value} AS {types[kind]})'} AS {column}")
        return frame.project(", ".join(casts)) if casts else frame

    return guard(lambda: reduce(lambda a, b: a.union(b), map(read, group_files(text, columns))))


def _dask(text: str, columns: Sequence[Column]) -> Any:
    frames = _import_engine("dask.dataframe", "dask", "engine='dask'")
    # Not Arrow's doubles, since it refuses to cast integers beyond 2^53 to them.
    types = {"number": "float64", "text": "string[pyarrow]", "boolean": "bool[pyarrow]"}

    def read(group: Group) -> Any:
        frame = frames.read_parquet(_plain(group.files), dtype_backend="pyarrow")
        casts = {name: types[kind] for name, kind in group.columns if kind is not None}
        return frame[[name for name, _ in group.columns]].astype(casts) if group.columns else frame

    return guard(lambda: _combine([read(group) for group in group_files(text, columns)], frames.concat))


def _combine(frames: Sequence[Any], concat: Callable[[Sequence[Any]], Any]) -> Any:
    return frames[0] if len(frames) == 1 else concat(frames)


def _spark(text: str, columns: Sequence[Column], master: str | None = None) -> Any:
    """The caller's session if there is one; otherwise a session on the named master, or a local one."""
    sql = _import_engine("pyspark.sql", "spark", "engine='spark'")
    types = {"number": "double", "text": "string", "boolean": "boolean"}

    def start() -> Any:
        builder = sql.SparkSession.builder.appName("inbounds")
        if master is None:
            return builder.getOrCreate()
        return (builder.remote(master) if master.startswith(_CONNECT) else builder.master(master)).getOrCreate()

    session = guard(start)

    def read(group: Group) -> Any:
        frame, functions = session.read.parquet(*_plain(group.files)), sql.functions
        for name, kind in group.columns:
            if kind is not None:
                value = functions.lit(None) if name in group.empty else frame[name]
                frame = frame.withColumn(name, value.cast(types[kind]))
        return frame.select(*(name for name, _ in group.columns)) if group.columns else frame

    return guard(lambda: reduce(lambda a, b: a.union(b), map(read, group_files(text, columns))))


_READERS: dict[str, Callable[[str, Sequence[Column]], Any]] = {
    "polars": _polars,
    "duckdb": _duckdb,
    "dask": _dask,
    "spark": _spark,
}


def _duckdb_file(text: str, table: str | None, source: str) -> Any:
    """A table or view of the file by its name: DuckDB itself would also accept the name of another file."""
    duckdb = _import_engine("duckdb", "duckdb", "a DuckDB file")
    if not Path(text).exists():
        raise DataError(f"there is no file {source!r}")
    if read_start(Path(text), 12)[8:] != b"DUCK":
        raise DataError(f"the file {source!r} is no DuckDB file, whatever its name says")
    try:
        connection = guard(lambda: duckdb.connect(text, read_only=True))
    except DataError as error:
        cause = "it may be open in another program, or of a newer DuckDB"
        raise DataError(f"the DuckDB file {source!r} cannot be opened; {cause} ({error})") from None
    query = "SELECT table_schema, table_name, current_schema() FROM information_schema.tables"
    tables = guard(lambda: connection.execute(f"{query} WHERE table_catalog = current_database()").fetchall())
    names = {f"{schema}.{name}": (schema, name) for schema, name, _ in tables}
    names |= {name: (schema, name) for schema, name, current in tables if schema == current}
    table = _check_table_name(table, "a DuckDB file", lambda: _shortest(names))
    if table not in names:
        raise DataError(f"the DuckDB file has no table or view {table!r}{_list_tables(_shortest(names))}")
    address = ".".join('"' + part.replace('"', '""') + '"' for part in names[table])
    return guard(lambda: connection.sql(f"SELECT * FROM {address}"))


def _shortest(names: dict[str, tuple[str, str]]) -> list[str]:
    """One name for each table: without its schema, if that is enough."""
    short = {place: name for name, place in sorted(names.items(), key=lambda item: -len(item[0]))}
    return sorted(short.values())


def _postgres(url: str, table: str | None) -> Any:
    """Through Ibis, which lets the server add up; psycopg carries it. No part of the URL is ever shown.

    The address is read by libpq itself, which accepts and refuses the same addresses as psql.
    """
    ibis = _import_engine("ibis", "postgres", "a PostgreSQL server")
    conninfo = _import_engine("psycopg.conninfo", "postgres", "a PostgreSQL server")
    parameters = _parameters(conninfo.conninfo_to_dict, url)

    def enter() -> Any:
        connection = ibis.postgres.connect(**parameters)
        # The connection is closed when nobody holds the table any more.
        finalize(connection, connection.con.close)
        return connection

    table = _check_table_name(table, "a PostgreSQL server", lambda: sorted(enter().list_tables()))
    schema, _, name = table.rpartition(".")

    def connect() -> Any:
        try:
            connection = enter()
        except Exception:
            connection = None
        if connection is None:
            # Out here the error that quotes the address is no longer the context of this one.
            raise DataError(
                "the PostgreSQL server cannot be reached, or lets nobody in by this address; psql with the same "
                "address says why"
            )
        try:
            relation = connection.table(name, database=schema or None)
        except Exception as error:
            if type(error).__name__ != "TableNotFound":
                raise
            relation = None
        if relation is None:
            there = _list_tables(sorted(connection.list_tables(database=schema or None)))
            raise DataError(f"the PostgreSQL server has no table or view {table!r}{there}")
        casts = _domains(connection, schema, name, relation)
        return relation.cast(casts) if casts else relation

    return guard(connect)


def _parameters(parse: Callable[[str], dict[str, Any]], url: str) -> dict[str, Any]:
    """The parameters of an address, every one of them; its transactions are for reading only."""
    try:
        parameters = parse(url)
    except Exception:
        parameters = None
    if parameters is None:
        # Out here the error that quotes the address is no longer the context of this one.
        raise ValueError(
            "the PostgreSQL address cannot be read: it has a parameter that libpq does not know, or characters that "
            "must be written as %XX; psql says which"
        )
    options = f"{parameters.pop('options', '')} -c default_transaction_read_only=on".strip()
    return parameters | {
        "database": parameters.pop("dbname", None),
        "port": parameters.pop("port", 5432),
        "options": options,
    }


# The type below each domain, and below domains of domains.
_BASE_TYPES = """
WITH RECURSIVE base(name, kind) AS (
    SELECT a.attname, a.atttypid FROM pg_attribute a
    WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT base.name, t.typbasetype FROM base JOIN pg_type t ON t.oid = base.kind WHERE t.typtype = 'd'
)
SELECT name, format_type(kind, NULL) FROM base JOIN pg_type t ON t.oid = kind WHERE t.typtype <> 'd'
"""
_NUMBERS = {
    "smallint": "int16",
    "integer": "int32",
    "bigint": "int64",
    "numeric": "decimal",
    "real": "float32",
    "double precision": "float64",
    "boolean": "boolean",
}


def _domains(connection: Any, schema: str, name: str, relation: Any) -> dict[str, str]:
    """The types of columns that are domains, which Ibis does not know: by what they are made of."""
    unknown = [column for column, dtype in relation.schema().items() if dtype.is_unknown()]
    if not unknown:
        return {}
    title = ".".join('"' + part.replace('"', '""') + '"' for part in (schema, name) if part)
    base = dict(connection.con.execute(_BASE_TYPES, (title,)).fetchall())
    return {column: _NUMBERS.get(base[column], "string") for column in unknown if column in base}
