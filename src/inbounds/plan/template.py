"""The skeleton of a plan for a table: its columns, with bounds and levels left for a person to fill in."""

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

from inbounds._text import is_unseen
from inbounds.road.run import Place, columns_of
from inbounds.tables.formats import PLAIN, UNTYPED
from inbounds.tables.formats import Format as Format

_RULES = {
    "integer": "bounds = [LOWER, UPPER]",
    "number": "bounds = [LOWER, UPPER]",
    "boolean": "levels = [true, false]",
    "text": "levels = [LEVEL, LEVEL]",
}


def skeleton(source: str, *, table: str | None = None, engine: str | None = None, written: Format = PLAIN) -> str:
    """The text of a plan that is not finished: no bound, level or number of rows is read from the data.

    They are public by being known without the data, and whoever fills them in says so.
    """
    if "://" in source and _holds_secrets(source):
        raise ValueError(
            "the address has a password or options, which a plan should not show; put it into an environment variable "
            "and name that: env:NAME"
        )
    if Path(source).is_file() and not Path(source).stat().st_size:
        raise ValueError(f"the file {source!r} is empty: there is no line with the names of its columns")
    columns = columns_of(Place(source, table, engine, written))
    if source.endswith(UNTYPED):
        # A file without types, whose values are not looked at.
        columns = dict.fromkeys(columns, "")
        if any(_is_number(name) for name in columns):
            # Not shown: they may be somebody's.
            raise ValueError(
                "the first line of the file has numbers where names of columns should be, so that it may be a record; "
                "put a line with the names first, or write the plan by hand if they are names"
            )
    where = [f"source = {_quote(source)}"]
    where += [f"{name} = {_quote(value)}" for name, value in (("table", table), ("engine", engine)) if value]
    where += [f"{name} = {_write(value)}" for name, value in written.declared.items()]
    # Of a server or a variable nothing goes into the name, which records and reports show.
    elsewhere = "://" in source or source.startswith("env:")
    plain = (table or "").split(".")[-1] if elsewhere else Path(source).name.split(".")[0]
    name = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-") or "data"
    first = next(iter(columns), "column")
    lines = [
        "# A plan: what to release of a table. Fill in what is in CAPITALS, from what is known without looking at the",
        "# data (a questionnaire, a code book): bounds and levels that are read from the data would give them away.",
        "# inbounds preview PLAN says what it would cost; it reads no data and spends nothing.",
        "",
        "[data]",
        *where,
        "rows = ROWS                       # the public number of rows; neighbours = 'add-remove' protects it",
        "contributions = 1                 # rows that one person may hold",
        "",
        "[budget]",
        "epsilon = 1.0                     # of all releases below together",
        f"ledger = {_quote(f'{name}.ledger')}",
        f"dataset = {_quote(name)}",
        "",
        "# Take the # from the lines you need. A rule may also say what a missing value counts as (missing = 50),",
        "# where values go that are no level (other = ...), that numbers are whole (integer = true), and have edges",
        "# for a histogram of numbers. Without missing, a table with missing values is refused, after the charge.",
        "[columns]",
    ]
    for column, kind in columns.items():
        # A CSV file does not say what its columns hold: one line or the other.
        kinds = [kind] if kind else ["number", "text"]
        lines += [f"# {_key(column)} = {{ {_RULES[one]} }}   # {one}" for one in kinds]
    lines += [
        "",
        "[[release]]",
        f"name = {_quote(first)}",
        'statistic = "STATISTIC"           # mean, sum, count, proportion, variance, standard_deviation, histogram,',
        "                                  # proportions, crosstab, covariance, correlation, pooled_variance, ...",
        f"columns = [{_quote(first)}]",
        "",
    ]
    return "\n".join(lines)


def _holds_secrets(address: str) -> bool:
    """Whether an address has a password or options; also where it cannot be read, which an error would quote."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return True
    return bool(parts.password or parts.query)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _write(value: object) -> str:
    """Text, a list of texts, a whole number or a truth in TOML."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_quote, value))}]"
    return _quote(value) if isinstance(value, str) else str(value).lower()


def _quote(text: str) -> str:
    """A string of TOML; in it, too, what is not seen is written as an escape."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(f"\\U{ord(one):08x}" if is_unseen(one) else one for one in quoted)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quote(name)
