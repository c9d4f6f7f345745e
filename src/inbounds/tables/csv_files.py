"""CSV files: what a record is, and one reader for all engines that turns one of them into one record of the count.

A file is a header and records as RFC 4180 has them. Fields are separated by commas and may be in double quotes; within
those a quote is written twice, and commas and line breaks are part of the field. A record ends with a line feed, with
or without a carriage return before it. Every record has as many fields as the header. Text is UTF-8, a byte order mark
at the start is skipped, and bytes that are no UTF-8 become U+FFFD, field by field.

Nothing of this is guessed from values. Whether a file is of this form is found out by one pass over its bytes before
anything is charged (`check_structure`): a record in another form could move the limits of those after it. So the domain
of a release is the files of this form, and two of them are neighbours if one record differs, whatever its fields hold.
"""

import csv
import gzip
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from inbounds.tables.files import find_files
from inbounds.tables.schema import Column, DataError
from inbounds.tables.sources import guard
from inbounds.tables.untyped import text_as, typed_name

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = (".csv", ".csv.gz", ".csv.zst")
_SEPARATOR, _QUOTE, _FEED, _RETURN = b',"\n\r'
_MARK = b"\xef\xbb\xbf"
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_BLOCK = 1 << 20
# Polars takes these for a compressed file.
_LIKE_ZLIB = (b"x\x01", b"x^", b"x\x9c", b"x\xda")
# No header is longer: a file without a line break is no table.
_LONGEST_HEADER = 1 << 24


def scan(text: str, columns: Sequence[Column], *, secret: bool = False) -> "pl.LazyFrame":
    """claim:csv. The records of a file, a folder or a pattern of files, lazily, in the types that ``columns`` ask for.

    With columns to read, the structure of every file is checked first; without any only the header is read, and all
    columns are text. ``secret`` keeps names of files out of messages. Raises `DataError` for a file that is not of this
    form, or whose header is not the first one's.

    Formal guarantees
    -----------------
    One record of a file is one record of the frame, whatever bytes its fields hold. Each value depends on its own field
    and on the rule of its column alone: a field that is no number where one is asked for is missing, one that is no
    level is some other value.
    """
    import polars as pl

    files = _files(text, secret=secret)
    names = read_header(files[0])
    if any(read_header(file) != names for file in files[1:]):
        raise DataError("the CSV files do not have the same columns in the same order")
    _require_once(names, columns)
    frame = pl.scan_csv(
        [file.path for file in files],
        has_header=False,
        skip_rows=1,
        schema=dict.fromkeys(_tell_apart(names), pl.String),
        separator=chr(_SEPARATOR),
        quote_char=chr(_QUOTE),
        encoding="utf8-lossy",
        glob=False,
    )
    if columns:
        rows = sum(check_structure(file, len(names)) for file in files)
        if guard(lambda: frame.select(pl.len()).collect(engine="streaming").item()) != rows:
            raise DataError("the CSV files changed while they were read, or are compressed in a way that is not known")
    typed = {typed_name(column): text_as(pl.col(column.name), column) for column in columns if column.name in names}
    return frame.with_columns(**typed)


@dataclass(frozen=True, slots=True)
class File:
    """A file, and what messages call it."""

    path: Path
    title: str


def _files(text: str, *, secret: bool) -> list[File]:
    return [File(path, "the file" if secret else f"the file {path.name!r}") for path in find_files(text, SUFFIXES)]


def _require_once(names: Sequence[str], columns: Sequence[Column]) -> None:
    for column in columns:
        if list(names).count(column.name) > 1:
            raise DataError(f"the table has two columns named {column.name!r}; rename one")


def _tell_apart(names: Sequence[str]) -> list[str]:
    """Names of which no two are the same: columns that nobody asks for may share one."""
    made: dict[str, None] = {}
    seen = Counter[str]()
    for name in names:
        own = name
        while own in made:
            own = f"{name}_duplicated_{seen[name]}"
            seen[name] += 1
        made[own] = None
    return list(made)


def _decompress(raw: BinaryIO) -> Any:
    """The bytes of a file, decompressed as its first bytes say, which is how Polars decides it, too."""
    start = raw.read(4)
    raw.seek(0)
    if start.startswith(_GZIP):
        return gzip.GzipFile(fileobj=raw)
    if start != _ZSTD:
        return nullcontext(raw)
    try:
        from pyarrow import CompressedInputStream
    except ImportError:
        raise ImportError("a .csv.zst file needs pyarrow: pip install pyarrow, or decompress the file") from None
    return CompressedInputStream(raw, "zstd")


def _blocks(file: File) -> Iterator[bytes]:
    """The bytes of a file without its byte order mark."""
    try:
        with file.path.open("rb") as raw, _decompress(raw) as stream:
            start = stream.read(_BLOCK)
            if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
                raise DataError(f"{file.title} is in UTF-16; save it as UTF-8")
            block = start.removeprefix(_MARK)
            while block:
                yield bytes(block)
                block = stream.read(_BLOCK)
    except (OSError, EOFError) as error:
        failure = type(error).__name__
    else:
        return
    raise DataError(f"{file.title} cannot be read ({failure}): it is missing, cut off, or you may not read it")


def read_header(file: File) -> tuple[str, ...]:
    """The names in the first record. They are public; nothing after them is looked at."""
    start = _first_record(file)
    if not start.strip():
        raise DataError(f"{file.title} has no header: its first line must have the names of its columns")
    if start[:2] in _LIKE_ZLIB:
        raise DataError(f"the header of {file.title} begins like a compressed file; put its first name in quotes")
    try:
        return tuple(next(csv.reader(io.StringIO(start.decode("utf-8"), newline=""), strict=True)))
    except UnicodeDecodeError:
        wrong = "is not text in UTF-8"
    except csv.Error:
        wrong = "has a quote where none belongs"
    # Out here the error, which may quote what follows the header, is no context of this one.
    raise DataError(f"the header of {file.title} {wrong}")


def _first_record(file: File) -> bytes:
    """The bytes up to the first line break that is not in quotes: an even number of them stands before it."""
    start, inside = bytearray(), False
    for block in _blocks(file):
        for line in io.BytesIO(block):
            start += line
            inside ^= line.count(b'"') % 2 == 1
            if line.endswith(b"\n") and not inside:
                return bytes(start)
        if len(start) > _LONGEST_HEADER:
            break
    return b"" if inside or len(start) > _LONGEST_HEADER else bytes(start)


@dataclass(slots=True)
class _State:
    """Where a pass over a file stands between two blocks: public facts of its form, no byte of a field."""

    inside: bool = False
    separators: int = 0
    previous: int = _FEED
    records: int = 0


def check_structure(file: File, fields: int) -> int:
    """claim:csv-structure. The number of records of a file, its header left out; `DataError` if one is malformed.

    Malformed is: a quote that opens elsewhere than at the start of a field, or closes elsewhere than at its end; one
    that is never closed; a carriage return outside quotes that no line feed follows; a record with more or fewer fields
    than the header. A blank line is a record with one empty field.
    """
    state = _State()
    for block in _blocks(file):
        _pass_block(np.frombuffer(block, dtype=np.uint8), fields, state, file)
    _require(not state.inside, file, "a field in quotes is never closed")
    _require(state.previous != _RETURN, file, _ALONE)
    # The last record may lack its line break.
    unended = state.previous != _FEED
    _require(not unended or state.separators == fields - 1, file, _RAGGED)
    return state.records + unended - 1


def _pass_block(block: npt.NDArray[np.uint8], fields: int, state: _State, file: File) -> None:
    feeds, separators, returns, quotes = (
        np.flatnonzero(block == byte) for byte in (_FEED, _SEPARATOR, _RETURN, _QUOTE)
    )
    if not state.inside:
        _require(state.previous != _QUOTE or block[0] in _AFTER_QUOTE, file, _AFTER)
        _require(state.previous != _RETURN or block[0] == _FEED, file, _ALONE)
    if quotes.size or state.inside:
        feeds, separators, returns = (_outside(places, quotes, state.inside) for places in (feeds, separators, returns))
        opens, closes = quotes[state.inside :: 2], quotes[not state.inside :: 2]
        before = np.where(opens > 0, block[opens - 1], state.previous)
        _require(np.isin(before, _BEFORE_QUOTE).all(), file, "a quote stands within a field that has none around it")
        _require(np.isin(block[closes[closes < block.size - 1] + 1], _AFTER_QUOTE).all(), file, _AFTER)
    _require((block[returns[returns < block.size - 1] + 1] == _FEED).all(), file, _ALONE)
    counts = np.diff(np.searchsorted(separators, feeds), prepend=0)
    counts[:1] += state.separators
    _require((counts == fields - 1).all(), file, _RAGGED)
    state.records += feeds.size
    state.separators = separators.size - counts.sum() + state.separators
    state.inside = bool((quotes.size + state.inside) % 2)
    state.previous = int(block[-1])


_BEFORE_QUOTE, _AFTER_QUOTE = (_SEPARATOR, _FEED, _QUOTE), (_SEPARATOR, _FEED, _QUOTE, _RETURN)
_AFTER = "something follows the quote that ends a field"
_ALONE = "a carriage return has no line feed after it; line breaks within a field belong in quotes"
_RAGGED = "a row has more or fewer fields than the header (a blank line is a row, too)"


def _outside(places: npt.NDArray[np.intp], quotes: npt.NDArray[np.intp], inside: bool) -> npt.NDArray[np.intp]:
    """Those of some places that are not within quotes: before them stands an even number of quotes."""
    kept: npt.NDArray[np.intp] = places[(np.searchsorted(quotes, places) + inside) % 2 == 0]
    return kept


def _require(holds: object, file: File, rule: str) -> None:
    if not holds:
        raise DataError(f"{file.title} is not CSV by RFC 4180: {rule}. Correct the file; nothing was spent")
