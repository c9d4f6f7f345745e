"""CSV files: what a record is, and one reader for all engines, which counts each record of a file as one record.

A file is a header and records as RFC 4180 has them. Fields are separated by commas and may be in double quotes; within
those a quote is written twice, and commas and line breaks are part of the field. A record ends with a line feed, with
or without a carriage return before it. Every record has as many fields as the header. Text is UTF-8, a byte order mark
at the start is skipped, and bytes that are not UTF-8 become U+FFFD, field by field. An id is compared by all its bytes,
also by those (`inbounds.tables.identity`). Other characters and encodings are declared (`inbounds.tables.formats`), and
then take the place of these.

Nothing of this is guessed from values. One pass over the bytes of a file checks that it has this form, before anything
is charged (`inbounds.tables.csv_structure`): a record in another form could move the limits of those after it. So the
domain of a release is the files of this form, and two of them are neighbours if one record differs, whatever its fields
hold.
"""

import csv
import io
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from inbounds.tables.csv_structure import check_structure, count_fields, split_records
from inbounds.tables.files import find_files
from inbounds.tables.formats import CSV, PLAIN, UTF_8, Format
from inbounds.tables.identity import mark_text, write_field, write_text
from inbounds.tables.names import ABOVE, require_names
from inbounds.tables.numerals import to_point
from inbounds.tables.schema import Column, DataError
from inbounds.tables.sources import guard
from inbounds.tables.text_files import File, Letters, is_text, read_first_record, show_text
from inbounds.tables.untyped import kind_of, text_as, typed_name

if TYPE_CHECKING:
    import polars as pl

# Polars takes these for a compressed file.
_LIKE_ZLIB = (b"x\x01", b"x^", b"x\x9c", b"x\xda")


# claim:csv
def scan(
    text: str, columns: Sequence[Column] | None, *, written: Format = PLAIN, secret: bool = False
) -> "pl.LazyFrame":
    """The records of a file, a folder or a pattern of files, lazily, in the types that ``columns`` ask for.

    The structure of every file is checked first. With None for the columns only the header is read, and no record is in
    the frame. ``secret`` keeps names of files out of messages. Raises `DataError` for a file that is not of the form
    that ``written`` declares, or whose header is not the first one's.

    Formal guarantees
    -----------------
    One record of a file is one record of the frame, whatever bytes its fields hold. Each value depends on its own field
    and on the rule of its column alone: a field that is empty or one of ``null_values`` is missing, one that is no
    number where one is asked for is missing, one that is no level is some other value.
    """
    import polars as pl

    files = list_files(text, written, secret=secret)
    names = read_header(files[0])
    if any(read_header(file) != names for file in files[1:]):
        raise DataError("the CSV files do not have the same columns in the same order")
    if columns is None:
        return pl.LazyFrame(schema=dict.fromkeys(_tell_apart(names), pl.String))
    require_names(names, columns, separator=written.separator)
    letters = Letters()
    rows = [check_structure(file, len(names), letters) for file in files]
    ids = tuple(dict.fromkeys(column.name for column in columns if kind_of(column) == "id"))
    if written.is_plain and letters.valid:
        frame = _scan_whole(files, names).with_columns(**{_id_name(name): mark_text(pl.col(name)) for name in ids})
        if guard(lambda: _count(frame)) != sum(rows):
            raise _changed()
    else:
        frame = _scan_blocks(files, names, rows, ids)
    types = {typed_name(column): _read_as(column, written) for column in columns}
    return frame.with_columns(**types)


def list_files(text: str, written: Format, *, secret: bool) -> list[File]:
    """The files of a source, each with what messages call it."""
    paths = find_files(text, CSV)
    return [File(path, "the file" if secret else f"the file {path.name!r}", written) for path in paths]


def read_header(file: File) -> tuple[str, ...]:
    """The names in the first record, which are public; nothing after them is looked at.

    Without a header they are made from the number of its fields: column_1, column_2 and so on.
    """
    start = read_first_record(file)
    if not file.format.header:
        if not start:
            raise DataError(f"{file.title} has no records, or a first one in which a quote is never closed")
        return tuple(f"column_{number + 1}" for number in range(count_fields(start, file.format)))
    if not start.strip():
        raise DataError(
            f"{file.title} has no header: its first line must have the names of its columns{ABOVE if start else ''}"
        )
    if start[:2] in _LIKE_ZLIB and file.format.is_plain:
        raise DataError(f"the header of {file.title} begins like a compressed file; put its first name in quotes")
    quoting: Any = {"quotechar": file.format.quote} if file.format.quote else {"quoting": csv.QUOTE_NONE}
    try:
        # What a declared encoding has no character for is shown as such; UTF-8 is not what the file is in.
        text = show_text(start, file.format.encoding) if file.format.encoding not in UTF_8 else start.decode("utf-8")
        lines = io.StringIO(text, newline="")
        return tuple(next(csv.reader(lines, strict=True, delimiter=file.format.separator, **quoting)))
    except UnicodeDecodeError:
        wrong = 'is not text in UTF-8; say what it is under [data], as in encoding = "latin-1"'
    except csv.Error:
        wrong = "has a quote where none belongs"
    # Out here the error, which may quote what follows the header, is no context of this one.
    raise DataError(f"the header of {file.title} {wrong}")


# claim:null-values
def _read_as(column: Column, written: Format) -> "pl.Expr":
    """A column of text in the type of its rule."""
    import polars as pl

    if kind_of(column) == "id":
        text = pl.col(_id_name(column.name))
        return pl.when(~text.is_in(["", *map(write_text, written.null_values)])).then(text)
    text = pl.col(column.name)
    if written.null_values:
        text = pl.when(~text.is_in(list(written.null_values))).then(text)
    return text_as(text if kind_of(column) == "text" else to_point(text, written), column)


def _id_name(name: str) -> str:
    """The column of a frame in which the fields of another one are ids."""
    return f"{name}\0field"


def _scan_whole(files: Sequence[File], names: Sequence[str]) -> "pl.LazyFrame":
    """Files as Polars reads them by itself, many threads at once."""
    import polars as pl

    return pl.scan_csv([file.path for file in files], glob=False, **_options(names, files[0].format))


def _options(names: Sequence[str], written: Format) -> dict[str, Any]:
    import polars as pl

    return {
        "has_header": False,
        "skip_rows": 1,
        "schema": dict.fromkeys(_tell_apart(names), pl.String),
        "separator": written.separator,
        "quote_char": written.quote or None,
        "encoding": "utf8-lossy",
    }


def _scan_blocks(
    files: Sequence[File], names: Sequence[str], rows: Sequence[int], ids: Sequence[str]
) -> "pl.LazyFrame":  # fmt: skip
    """Files that Polars does not read by itself, which are passed to it in blocks of whole records."""
    import polars as pl
    from polars.io.plugins import register_io_source

    options = _options(names, files[0].format)
    schema = {**options["schema"], **{_id_name(name): pl.String for name in ids}}

    def read(with_columns: Any, predicate: Any, n_rows: int | None, _: int | None) -> Iterator["pl.DataFrame"]:
        wanted = set(with_columns if with_columns and predicate is None else schema)
        for file, expected in zip(files, rows, strict=True):
            total = 0
            for records, count in split_records(file):
                frame = _read_block(records, options, file.format, wanted)
                if frame.height != count:
                    raise _changed()
                total += count
                if n_rows is not None:
                    frame, n_rows = frame.head(n_rows), max(0, n_rows - frame.height)
                frame = frame if predicate is None else frame.filter(predicate)
                yield frame.select(with_columns) if with_columns else frame
            if total != expected:
                raise _changed()

    return register_io_source(read, schema=schema)


def _read_block(records: bytes, options: Mapping[str, Any], written: Format, wanted: Collection[str]) -> "pl.DataFrame":
    """Whole records as text, and as ids where they are ``wanted``."""
    import polars as pl

    # A line to skip, so that no record is taken for a mark or for the beginning of a compressed file.
    line = b"-" + written.separator.encode() * (len(options["schema"]) - 1) + b"\n"
    valid = is_text(records)
    # A byte for a character: the fields are the same, since what limits them is ASCII.
    octets = line + (records if valid else records.decode("latin-1").encode())
    frame = pl.read_csv(io.BytesIO(octets), **options)
    ids = [name for name in frame.columns if _id_name(name) in wanted]
    marked = frame.select(mark_text(pl.col(name)).alias(_id_name(name)) for name in ids)
    if valid:
        return frame.with_columns(marked)
    show = partial(show_text, encoding=written.encoding)
    texts = [_rewrite(frame[name], frame[name], show) for name in frame.columns if name in wanted]
    return frame.with_columns(*texts, *(_rewrite(frame[name], marked[_id_name(name)], write_field) for name in ids))


def _rewrite(octets: "pl.Series", texts: "pl.Series", write: Callable[[bytes], str]) -> "pl.Series":
    """``texts``, with fields that are not ASCII written from their bytes; ``octets`` has a character for each byte."""
    places = (octets.str.len_bytes() != octets.str.len_chars()).arg_true()
    if not places.len():
        return texts
    values = octets.gather(places).to_list()
    return texts.clone().scatter(places, [write(value.encode("latin-1")) for value in values])


def count_undecodable(file: File) -> dict[str, int]:
    """How many fields of each column have bytes that are not characters: for the curator of a file of checked form."""
    names = read_header(file)
    options, counts = _options(names, file.format), Counter[str]()
    for records, _ in split_records(file):
        if not is_text(records):
            frame = _read_block(records, options, file.format, {_id_name(name) for name in options["schema"]})
            for name in options["schema"]:
                counts[name] += int(frame[_id_name(name)].str.starts_with("\0x").sum())
    return {name: count for name, count in counts.items() if count}


def _changed() -> DataError:
    return DataError("the CSV files changed while they were read, or are compressed in a way that is not known")


def _count(frame: "pl.LazyFrame") -> int:
    import polars as pl

    return int(frame.select(pl.len()).collect(engine="streaming").item())


def _tell_apart(names: Sequence[str]) -> list[str]:
    """The names without repeats: columns that nobody asks for may share a name."""
    unique: dict[str, None] = {}
    repeats = Counter[str]()
    for name in names:
        new_name = name
        while new_name in unique:
            new_name = f"{name}_duplicated_{repeats[name]}"
            repeats[name] += 1
        unique[new_name] = None
    return list(unique)
