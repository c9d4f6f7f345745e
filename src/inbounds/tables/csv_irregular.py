"""Where a CSV file breaks its declared form: for its curator, who may see the file, and for nobody else.

A release refuses such a file in words that say nothing about a record. Here records are checked one by one, more
slowly, so that whoever has the file can correct it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

from inbounds.tables.csv_structure import AFTER, ALONE, OPEN, RAGGED, WITHIN
from inbounds.tables.formats import Format
from inbounds.tables.text_files import File, read_blocks


@dataclass(frozen=True, slots=True)
class Irregular:
    """Records that break the declared form: how many, the lines in which the first of them begin, and the rules that
    they break. This is about single records, and only for those who may see the file."""

    records: int
    count: int
    lines: tuple[int, ...]
    rules: tuple[str, ...]


_FEW = 5


def find_irregular(file: File, fields: int) -> Irregular:
    """The records of a file that `check_structure` refuses, found one by one."""
    field = re.compile(_field_pattern(file.format))
    records, count, lines, rules = 0, 0, [], dict[str, None]()
    for line, record in _read_records(file):
        records += 1
        rule = _judge(record, field, fields, file.format)
        if rule is not None:
            count += 1
            rules[rule] = None
            lines += [line] if count <= _FEW else []
    return Irregular(records - file.format.header, count, tuple(lines), tuple(rules))


def _field_pattern(written: Format) -> bytes:
    separator, quote = (re.escape(mark.encode()) for mark in (written.separator, written.quote))
    bare = rb"[^\r\n" + separator + quote + rb"]*"
    if not quote:
        return bare
    return rb"(?:" + quote + rb"(?:[^" + quote + rb"]|" + quote * 2 + rb")*" + quote + rb"|" + bare + rb")"


def _read_records(file: File) -> Iterator[tuple[int, bytes]]:
    """Each record with the number of the line that it begins in, without its line break."""
    quote, inside, pending = file.format.quote.encode(), False, list[bytes]()
    first = file.format.skip_lines + 1
    for line in _read_lines(file):
        pending.append(line)
        inside ^= bool(quote) and line.count(quote) % 2 == 1
        if not inside:
            yield first, _without_break(b"".join(pending))
            first += len(pending)
            pending = []
    if pending:
        yield first, b"".join(pending)


def _without_break(record: bytes) -> bytes:
    return record[:-1].removesuffix(b"\r") if record.endswith(b"\n") else record


def _read_lines(file: File) -> Iterator[bytes]:
    rest = b""
    for block in read_blocks(file):
        *whole, rest = BytesIO(rest + block).readlines()
        yield from whole
        if rest.endswith(b"\n"):
            yield rest
            rest = b""
    if rest:
        yield rest


def _judge(record: bytes, field: "re.Pattern[bytes]", fields: int, written: Format) -> str | None:
    """The rule that a record breaks, or None."""
    separator, place, count = written.separator.encode(), 0, 1
    while True:
        match = field.match(record, place)
        place = match.end() if match else place
        if place == len(record):
            return None if count == fields else RAGGED
        if record[place : place + 1] != separator:
            break
        place, count = place + 1, count + 1
    quote = written.quote.encode()
    if record[place : place + 1] == b"\r":
        return ALONE
    if quote and record[:place].rpartition(separator)[2].startswith(quote):
        return AFTER
    return OPEN if quote and record.count(quote) % 2 else WITHIN
