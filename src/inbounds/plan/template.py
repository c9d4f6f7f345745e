"""Write the skeleton of a plan for a table: its columns, with bounds and levels left to be filled in."""

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

from inbounds._text import is_unseen
from inbounds.road.run import Place, columns_of
from inbounds.tables.formats import EXCEL, PLAIN, UNTYPED
from inbounds.tables.formats import Format as Format

_RULES = {
    "integer": "bounds = [LOWER, UPPER]",
    "number": "bounds = [LOWER, UPPER]",
    "boolean": "levels = [true, false]",
    "date": "bounds = [LOWER, UPPER]",
    "time": "bounds = [LOWER, UPPER]",
    "text": "levels = [LEVEL, LEVEL]",
}
# What else is often to be said of a file without types.
_MORE = {"decimal": 'decimal = ","', "null_values": 'null_values = ["NA"]', "skip_lines": "skip_lines = 1"}


def skeleton(source: str, *, table: str | None = None, engine: str | None = None, written: Format = PLAIN) -> str:
    """Write an unfinished plan for a table. No bound, level or number of rows is read from the data.

    They must be public, that is known without the data, so a person has to fill them in.
    """
    _refuse_secrets(source)
    if Path(source).is_file() and not Path(source).stat().st_size:
        raise ValueError(f"the file {source!r} is empty: its first line must have the names of the columns")
    columns = columns_of(Place(source, table, engine, written))
    if source.endswith(UNTYPED):
        # A file without types, whose values are not read.
        columns = dict.fromkeys(columns, "")
        if any(_is_number(name) for name in columns):
            # The message does not show the line, because it may be a record.
            raise ValueError(
                "the first line of the file has numbers, so it may be a record and not the names of the columns; add a "
                "first line with the names, say --no-header if there is none, or write the plan by hand if the numbers "
                "are names"
            )
    where = [f"source = {_quote(source)}"]
    where += [f"{name} = {_quote(value)}" for name, value in (("table", table), ("engine", engine)) if value]
    where += [f"{name} = {_write(value)}" for name, value in written.declared.items()]
    if source.endswith(UNTYPED):
        said = {*written.declared, "decimal"} if source.endswith(EXCEL) else {*written.declared}
        more = ", ".join(text for key, text in _MORE.items() if key not in said)
        where += [f"# also: {more}"] if more else []
    name = _name_dataset(source, table)
    first = next(iter(columns), "column")
    lines = [
        "# A plan: what to release from a table. Fill in what is in CAPITALS, from what",
        "# is known without looking at the data (a questionnaire, a code book): bounds",
        "# and levels that are read from the data would reveal them.",
        "# inbounds preview PLAN shows what it would cost; it reads and spends nothing.",
        "# inbounds check PLAN says, for your eyes only, what would be refused.",
        "",
        "[data]",
        *where,
        "rows = ROWS                # public; neighbours = 'add-remove' protects it",
        "contributions = 1          # the most rows that one person may have",
        "",
        "[budget]",
        "epsilon = 1.0              # of all releases below together",
        f"ledger = {_quote(f'{name}.ledger')}",
        f"dataset = {_quote(name)}",
        "# limit = 3.0              # of all that is ever released; epsilon if not given",
        "",
        "# Remove the # from the lines you need. A rule can also say what a missing value",
        "# counts as (missing = 50), that its row is left out (missing = 'skip'), what a",
        "# value counts as that is not a level (other = ...) and that numbers are whole",
        "# (integer = true), and it can have edges for a histogram.",
        "# Without missing, missing values are refused, after the charge.",
        "# Bounds of dates are dates, as in bounds = [2013-01-01, 2013-12-31].",
        "[columns]",
    ]
    for column, kind in columns.items():
        # A CSV file has no types, so there is a line for numbers and one for text.
        kinds = [kind] if kind else ["number", "text"]
        lines += [f"# {_key(column)} = {{ {_RULES[each]} }}   # {each}" for each in kinds]
    lines += [
        "",
        "[[release]]",
        f"name = {_quote(first)}",
        'statistic = "STATISTIC"    # mean, median, sum, count, proportion, variance,',
        "                           # standard_deviation, quantile, histogram, crosstab,",
        "                           # proportions, correlation, moments, regression, ...",
        f"columns = [{_quote(first)}]",
        "",
    ]
    return "\n".join(lines)


def begin(source: str, *, table: str | None = None) -> str:
    """Write the beginning of a plan: valid TOML without columns and releases, for a form that adds them."""
    _refuse_secrets(source)
    name = _name_dataset(source, table)
    lines = [
        "# A plan: what to release from a table. Bounds, levels and the number of rows must be known without",
        "# looking at the data: from a questionnaire, a code book, a law.",
        "",
        "[data]",
        f"source = {_quote(source)}",
        *([f"table = {_quote(table)}"] if table else []),
        'neighbours = "substitute"',
        "contributions = 1",
        "",
        "[budget]",
        "epsilon = 1.0",
        f"ledger = {_quote(f'{name}.ledger')}",
        f"dataset = {_quote(name)}",
        "",
        "[columns]",
        "",
    ]
    return "\n".join(lines)


def _refuse_secrets(source: str) -> None:
    if "://" in source and _holds_secrets(source):
        raise ValueError(
            "the address has a password or options, which should not be in a plan; put the address into an environment "
            "variable and write env:NAME"
        )


def _name_dataset(source: str, table: str | None) -> str:
    """A name for the dataset. Records and reports show it, so it holds nothing of an address or of a variable."""
    elsewhere = "://" in source or source.startswith("env:")
    plain = (table or "").split(".")[-1] if elsewhere else Path(source).name.split(".")[0]
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-") or "data"


def _holds_secrets(address: str) -> bool:
    """Whether an address has a password or options, or cannot be parsed, in which case an error would quote it."""
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
    """Write a string of TOML, with escapes for invisible characters."""
    escaped = json.dumps(text, ensure_ascii=False)
    return "".join(f"\\U{ord(character):08x}" if is_unseen(character) else character for character in escaped)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quote(name)
