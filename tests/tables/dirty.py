"""Files as people have them: encodings, separators, decimal commas, spellings of missing values, quotes, broken rows.

Each file is made from its number alone, with the keys that declare how it is written. `read_independently` reads it
with Python's csv module and rules written once more here; `count_independently` makes the integers that a release
counts.

python -m tests.tables.dirty 448      # compare so many files on all engines below, and say what came of it
"""

import csv
import math
import random
import re
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from inbounds.tables.engine import tally
from inbounds.tables.formats import Format
from inbounds.tables.places import open_place
from inbounds.tables.request import Request
from inbounds.tables.schema import DataError, Levels, Numeric, quantise_column
from inbounds.tables.sources import read

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252")
SEPARATORS = (",", ";", "\t", "|", ":")
NULLS = ((), ("NA",), ("NA", "-"), ("", "k. A."), ("null", "NULL", "999"))
CITIES = ("Köln", "a,b", 'say "x"', "x;y\tz|:", "two\nlines", "O'Hara", "NA")
NAMES = ("amount", "city", "grade", "flag")
CITY = Levels("city", CITIES, other="NA", missing="Köln")
GRADE = Levels("grade", (1, 2, 3), other=3, missing=1)
FLAG = Levels("flag", (True, False), other=False, missing=True)
AMOUNT = quantise_column(Numeric.of("amount", (0, 1000), missing=7), resolution=1 << 12)
REQUESTS = (Request((CITY,)), Request((GRADE, FLAG)), Request((), (AMOUNT,)))
COLUMNS = [CITY, GRADE, FLAG, AMOUNT.column]
# Stands for bytes that are no character.
BAD = "\ue000"
DEFECTS = ("fields", "more fields", "stray quote", "after quote", "open quote", "lone return", "blank line")


@dataclass(frozen=True)
class Dirty:
    """A file, and the keys that declare how it is written."""

    content: bytes
    keys: dict
    defect: str | None

    @property
    def written(self):
        return Format(**self.keys)


def make_file(number):
    """File number so and so, the same every time."""
    rng = random.Random(f"dirty {number}")
    keys = {"encoding": ENCODINGS[number % 7], "separator": SEPARATORS[number // 7 % 5]}
    keys["quote"] = rng.choice(['"', '"', "'", ""])
    choices = [mark for mark in (".", ",", ",") if mark != keys["separator"]]
    keys["decimal"] = rng.choice(choices)
    marks = [mark for mark in (".", ",", " ", "'") if mark not in (keys["separator"], keys["quote"], keys["decimal"])]
    keys["thousands"] = rng.choice([None, None, *marks])
    keys["null_values"] = rng.choice(NULLS)
    keys["header"], keys["skip_lines"] = rng.random() < 0.75, rng.choice([0, 0, 0, 1, 3])
    records = [_make_record(rng, keys) for _ in range(rng.choice([0, 1, 2, 7, 30]))]
    defect = rng.choice(DEFECTS) if rng.random() < 0.35 and records else None
    names = [NAMES] if keys["header"] else []
    feed = rng.choice(["\n", "\r\n"])
    lines = [_write(rng, record, keys) for record in [*names, *records]]
    if defect:
        place = rng.randrange(len(names), len(lines))
        lines[place] = _break(rng, lines[place], keys, defect)
    above = [f'Überschrift{keys["separator"]}"{line}' for line in range(keys["skip_lines"])]
    text = feed.join([*above, *lines]) + rng.choice([feed, feed, ""])
    return Dirty(_encode(rng, text, keys["encoding"]), keys, defect)


def _make_record(rng, keys):
    decimal, thousands = keys["decimal"], keys["thousands"] or "."
    null = rng.choice([*keys["null_values"], ""])
    whole, part = rng.randrange(1100), rng.choice(["", "5", "25", "125", "3"])
    number = f"{whole}{decimal}{part}" if part else str(whole)
    grouped = f"1{thousands}{whole % 1000:03d}{decimal}{part}"
    odd = [
        "12%",
        "€ 5",
        "1e2",
        " 12 ",
        "-3",
        "inf",
        "nan",
        "x",
        "TRUE",
        "1,2,3",
        "1.5",
        "1,5",
        "1_000",
        "NA",
        "-",
        "1 0",
    ]
    amount = rng.choice([number, number, number, number, grouped, null, rng.choice(odd), f"1{thousands}00", "+7"])
    city = rng.choice([*CITIES, null, "nowhere", "köln", " Köln", f"K{BAD}ln", "ä" * 300, "Köln\r", "-"])
    grade = rng.choice(["1", "2", "3", "3.0", f"2{decimal}0", "4", null, "one", " 2 ", "TRUE"])
    flag = rng.choice(["true", "False", "1", "0", "TRUE", "yes", null, f"1{decimal}0"])
    return [amount, city, grade, flag]


def _write(rng, record, keys):
    return keys["separator"].join(_write_field(rng, field, keys) for field in record)


def _write_field(rng, field, keys):
    quote, separator = keys["quote"], keys["separator"]
    if not quote:
        # Without quotes there is no way to write these.
        return re.sub(rf"[\r\n{re.escape(separator)}]", "_", field)
    if any(mark in field for mark in (quote, separator, "\n", "\r")) or rng.random() < 0.2:
        return quote + field.replace(quote, quote * 2) + quote
    return field


def _break(rng, line, keys, defect):
    quote, separator = keys["quote"], keys["separator"]
    broken = {
        "fields": "1",
        "more fields": line + separator * rng.choice([1, 2]),
        "stray quote": f"1{separator}a{quote}b{separator}1{separator}1",
        "after quote": f"1{separator}{quote}a{quote}b{separator}1{separator}1",
        "open quote": f"1{separator}{quote}a{separator}1{separator}1",
        "lone return": f"1{separator}a\rb{separator}1{separator}1",
        "blank line": "",
    }
    return broken[defect]


def _encode(rng, text, encoding):
    plain = {"utf-16": rng.choice(["utf-16-le", "utf-16-be"]), "utf-8-sig": "utf-8"}.get(encoding, encoding)
    bad = {"utf-8": b"\xff\xfe\x80", "utf-16-le": b"\x3d\xd8", "utf-16-be": b"\xd8\x3d", "latin-1": b"\x81"}
    parts = [part.encode(plain, "replace") for part in text.split(BAD)]
    marked = encoding in ("utf-16", "utf-8-sig") or (encoding in ("utf-8", "utf-16-le") and rng.random() < 0.3)
    mark = "\ufeff".encode(plain) if marked else b""
    return mark + bad.get(plain, b"\x81").join(parts)


# The same file by another reader


def read_independently(file):
    """The records of a file by the csv module, as lists of text; None where it is not of the declared form."""
    keys = file.keys
    if keys["encoding"] in ("utf-8", "utf-8-sig"):
        text = file.content.decode("utf-8-sig", "surrogateescape")
    else:
        text = file.content.decode(keys["encoding"], "replace").removeprefix("\ufeff")
    for _ in range(keys["skip_lines"]):
        text = text.partition("\n")[2]
    if not text or _breaks_rules(text, keys):
        return None
    quoting = {"quotechar": keys["quote"]} if keys["quote"] else {"quoting": csv.QUOTE_NONE}
    try:
        lines = re.findall(r"[^\n]*\n|[^\n]+", text)
        found = list(csv.reader(lines, delimiter=keys["separator"], strict=True, **quoting))
    except csv.Error:
        return None
    # A blank line is a row with one empty field.
    found = [record or [""] for record in found]
    if len({len(record) for record in found}) > 1:
        return None
    if keys["header"] and tuple(found[0]) != NAMES:
        return None
    records = found[1:] if keys["header"] else found
    # Without a header the first record says how many fields there are, and the first four are read.
    return None if len(found[0]) < len(NAMES) else [record[: len(NAMES)] for record in records]


def _breaks_rules(text, keys):
    """What the csv module lets pass: a quote within a field that has none around it, and a lone carriage return."""
    quote, separator = keys["quote"], keys["separator"]
    outside = text
    if quote:
        mark = re.escape(quote)
        spans = list(re.finditer(f"{mark}(?:[^{mark}]|{mark}{mark})*{mark}", text))
        if any(one.start() and text[one.start() - 1] not in (separator, "\n") for one in spans):
            return True
        outside = re.sub(f"{mark}(?:[^{mark}]|{mark}{mark})*{mark}", "", text)
        if quote in outside:
            return True
    return re.search("\r(?!\n)", outside) is not None


def to_number(field, keys):
    """The number that a field is, or None."""
    text = field.strip(" \t")
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return float(text.lower() == "true")
    thousands, decimal = keys["thousands"], keys["decimal"]
    groups = rf"[+-]?[0-9]{{1,3}}(?:{re.escape(thousands or '')}[0-9]{{3}})+(?:{re.escape(decimal)}[0-9]*)?"
    if thousands and re.fullmatch(groups, text):
        text = text.replace(thousands, "")
    if decimal == ",":
        if "." in text:
            return None
        text = text.replace(",", ".")
    if not re.fullmatch(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity)", text, re.IGNORECASE):
        return None
    return float(text)


def to_values(record, keys):
    """The four values of a record as rules have them: a number or None, and three levels."""
    fields = [None if field == "" or field in keys["null_values"] else field for field in record]
    amount, city, grade, flag = fields
    amount = None if amount is None else to_number(amount, keys)
    city = CITY.missing if city is None else city if city in CITIES else CITY.other
    values = []
    for field, column, known in ((grade, GRADE, {1.0: 1, 2.0: 2, 3.0: 3}), (flag, FLAG, {1.0: True, 0.0: False})):
        blank = field is None or field.strip(" \t").lower() in ("", "nan", "+nan", "-nan")
        values.append(column.missing if blank else known.get(to_number(field, keys), column.other))
    return amount, city, *values


def count_independently(records, keys):
    """What is counted: the cells of the three requests."""
    values = [to_values(record, keys) for record in records]
    cities = Counter((CITIES.index(city),) for _, city, _, _ in values)
    pairs = Counter((GRADE.levels.index(grade), FLAG.levels.index(flag)) for _, _, grade, flag in values)
    steps = AMOUNT.count // 1000
    whole = [math.floor(min(max((7.0 if x is None else x) * steps + 0.5, 0.0), AMOUNT.count + 0.5)) for x, *_ in values]
    return dict(cities), dict(pairs), (len(values), sum(whole))


def count(table, *, named=True):
    """The same from a table that inbounds reads; without names its columns are column_1 and so on."""
    columns, requests = (COLUMNS, REQUESTS) if named else (NUMBERED, NUMBERED_REQUESTS)
    cities, pairs, totals = tally(read(table, columns), requests)
    rows, sums, _ = totals.get((), (0, (0,), ()))
    return {k: cell[0] for k, cell in cities.items()}, {k: cell[0] for k, cell in pairs.items()}, (rows, sums[0])


def _number(column):
    return replace(column, name=f"column_{NAMES.index(column.name) + 1}")


NUMBERED = [_number(column) for column in COLUMNS]
NUMBERED_REQUESTS = (
    Request((NUMBERED[0],)),
    Request((NUMBERED[1], NUMBERED[2])),
    Request((), (replace(AMOUNT, column=NUMBERED[3]),)),
)


def count_file(path, file):
    """What inbounds counts in a file; None where it refuses it, with its words."""
    named = file.keys["header"]
    try:
        table = open_place(path, COLUMNS if named else NUMBERED, written=file.written)
    except DataError as error:
        return None, str(error)
    return count(table, named=named), ""


def tables(records, keys):
    """The same records as tables of other libraries, with types that are declared."""
    import duckdb
    import pandas as pd
    import pyarrow as pa

    values = [to_values(record, keys) for record in records]
    columns = list(zip(*values, strict=True)) if values else [(), (), (), ()]
    types = dict(zip(NAMES, (pa.float64(), pa.string(), pa.int64(), pa.bool_()), strict=True))
    table = pa.table({name: pa.array(list(column), types[name]) for name, column in zip(NAMES, columns, strict=True)})
    connection = duckdb.connect()
    connection.register("arrow", table)
    connection.execute("create table t as select * from arrow")
    objects = {name: pd.Series(list(column), dtype=object) for name, column in zip(NAMES, columns, strict=True)}
    return {"pyarrow": table, "duckdb": connection.table("t"), "pandas": pd.DataFrame(objects)}


def compare(number, folder, *, engines=True):
    """One file by both readers and, where it is well formed, on other engines: what came of it, and faults."""
    file = make_file(number)
    path = Path(folder) / f"{number}.csv"
    path.write_bytes(file.content)
    records = read_independently(file)
    found, words = count_file(path, file)
    if records is None or found is None:
        same = (records is None) == (found is None)
        return ("refused", []) if same else ("", [f"{number}: {'refused' if found is None else 'read'} alone: {words}"])
    expected = count_independently(records, file.keys)
    faults = [] if found == expected else [f"{number}: {found} is not {expected}"]
    for name, table in tables(records, file.keys).items() if engines else ():
        if count(table) != expected:
            faults.append(f"{number} on {name}: another count")
    return "read", faults


def main(files):
    kinds, faults = Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(files):
            kind, found = compare(number, folder)
            kinds[kind] += 1
            faults += found
    print(dict(kinds), f"{len(faults)} faults", *faults[:20], sep="\n")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
