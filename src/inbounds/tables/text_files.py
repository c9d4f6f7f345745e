"""The bytes of a text file: decompressed, in UTF-8, without a byte order mark and the lines above its header.

They come in blocks, so that a file of any size is read in a little memory, and nothing is written to a disk. Bytes that
are not characters stay apart from each other, and move no other. In a file of UTF-8 they stay what they are. In a
declared encoding a byte without a character, or half of a surrogate pair, becomes the three bytes that UTF-8 would have
for a code point of its own, U+D800 to U+DFFF, which no character has (`is_text` is false for both).
"""

import codecs
import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from inbounds.tables.formats import PLAIN, UTF_8, Format
from inbounds.tables.schema import DataError

BLOCK = 1 << 20
_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
# No header is longer: a file without a line break is no table.
_LONGEST_HEADER = 1 << 24


@dataclass(frozen=True, slots=True)
class File:
    """A file, what messages call it, and how it is written."""

    path: Path
    title: str
    format: Format = PLAIN


# claim:encodings
def read_blocks(file: File) -> Iterator[bytes]:
    """The bytes of a file in UTF-8, from its header on; `DataError` if it cannot be read.

    Formal guarantees
    -----------------
    Nothing is guessed. A character depends on its own bytes alone, so that a change in one field changes no other: in
    UTF-8 sequences end at the next character of ASCII, in UTF-16 at the next unit, and otherwise a byte is a character.
    """
    try:
        with file.path.open("rb") as raw, _decompress(raw) as stream:
            yield from _drop_lines(_to_utf_8(stream, file), file.format.skip_lines)
    except (OSError, EOFError, zlib.error) as error:
        failure = type(error).__name__
    else:
        return
    raise DataError(f"{file.title} cannot be read ({failure}): it is missing, cut off, or you may not read it")


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


def _to_utf_8(stream: Any, file: File) -> Iterator[bytes]:
    block, encoding = bytes(stream.read(BLOCK)), file.format.encoding
    # Longer than a mark, even if blocks have one byte, as in tests.
    block += bytes(stream.read(4)) if len(block) < 4 else b""
    marked = block[:2] in _UTF_16_MARKS
    if encoding not in UTF_8:
        yield from _transcode(block, stream, file, marked=marked)
        return
    if marked:
        raise DataError(
            f'{file.title} is in UTF-16; write encoding = "utf-16" under [data] of a plan, or --encoding utf-16 for '
            "plan init, or save it as UTF-8"
        )
    block = block.removeprefix(_MARK)
    while block:
        yield block
        block = bytes(stream.read(BLOCK))


def _transcode(block: bytes, stream: Any, file: File, *, marked: bool) -> Iterator[bytes]:
    encoding = file.format.encoding
    if encoding == "utf-16" and block and not marked:
        raise DataError(
            f"{file.title} has no byte order mark, so that UTF-16 may be one of two; write encoding = "
            '"utf-16-le" (Windows) or "utf-16-be" under [data]'
        )
    decoder = codecs.getincrementaldecoder(encoding)("surrogatepass" if "16" in encoding else "surrogateescape")
    size, first = 0, True
    while block:
        size += len(block)
        if text := decoder.decode(block):
            # For the two encodings that name their byte order; "utf-16" removes its mark itself.
            text = text.removeprefix("\ufeff") if first else text
            first = False
            yield text.encode("utf-8", "surrogatepass")
        block = bytes(stream.read(BLOCK))
    if encoding.startswith("utf-16") and size % 2:
        raise DataError(f"{file.title} has an odd number of bytes: it is cut off, or not in {encoding.upper()}")
    if text := decoder.decode(b"", final=True):
        yield text.encode("utf-8", "surrogatepass")


class Letters:
    """Whether the bytes of a file, block after block, are characters of UTF-8."""

    __slots__ = ("_rest", "valid")

    def __init__(self) -> None:
        self.valid, self._rest = True, b""

    def read(self, block: bytes) -> None:
        """Go on with a block, which may end within a character."""
        if not self.valid or (not self._rest and block.isascii()):
            return
        data = self._rest + block
        try:
            _, used = codecs.utf_8_decode(data, "strict", False)
            self._rest = data[used:]
        except UnicodeDecodeError:
            self.valid = False

    def end(self) -> None:
        """Go on with the end of a file."""
        self.valid, self._rest = self.valid and not self._rest, b""


def is_text(octets: bytes) -> bool:
    """Whether bytes are characters of UTF-8."""
    letters = Letters()
    letters.read(octets)
    letters.end()
    return letters.valid


def show_text(octets: bytes, encoding: str) -> str:
    """Bytes as text, with U+FFFD for those that are not characters."""
    if encoding in UTF_8:
        return octets.decode("utf-8", "replace")
    return re.sub("[\ud800-\udfff]", "\ufffd", octets.decode("utf-8", "surrogatepass"))


def _drop_lines(blocks: Iterator[bytes], lines: int) -> Iterator[bytes]:
    """The bytes after so many line feeds, whatever the lines hold."""
    for block in blocks:
        while lines and block:
            _, feed, block = block.partition(b"\n")
            lines -= len(feed)
        if block:
            yield block


def read_first_record(file: File) -> bytes:
    """The bytes up to the first line break that is not in quotes: an even number of them stands before it."""
    quote = file.format.quote.encode()
    start, inside = bytearray(), False
    for block in read_blocks(file):
        for line in BytesIO(block):
            start += line
            inside ^= bool(quote) and line.count(quote) % 2 == 1
            if line.endswith(b"\n") and not inside:
                return bytes(start)
        if len(start) > _LONGEST_HEADER:
            break
    return b"" if inside or len(start) > _LONGEST_HEADER else bytes(start)
