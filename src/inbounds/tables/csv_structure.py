"""The structure of a CSV file: whether it is one, and where its records end.

A record in another form could move the limits of those after it. So one pass over the bytes finds out whether all are
of the declared form, before anything is charged.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inbounds.tables.formats import PLAIN, Format
from inbounds.tables.schema import DataError
from inbounds.tables.text_files import File, Letters, read_blocks, read_first_record

_Places = npt.NDArray[np.intp]
_FEED, _RETURN = b"\n\r"
AFTER = "something follows the quote that ends a field"
WITHIN = "a quote stands within a field that has none around it"
OPEN = "a field in quotes is never closed"
ALONE = "a carriage return has no line feed after it; line breaks within a field belong in quotes"
RAGGED = "a row has more or fewer fields than the header (a blank line is a row, too)"


@dataclass(slots=True)
class _State:
    """The state of a pass over a file between two blocks: public facts about its form, no byte of a field."""

    inside: bool = False
    separators: int = 0
    previous: int = _FEED
    records: int = 0


@dataclass(frozen=True, slots=True)
class _Marks:
    """The bytes that limit fields; no byte is -1."""

    separator: int
    quote: int

    @classmethod
    def of(cls, written: Format) -> "_Marks":
        return cls(ord(written.separator), ord(written.quote) if written.quote else -1)


# claim:csv-structure
def check_structure(file: File, fields: int, letters: Letters | None = None) -> int:
    """The number of records of a file, its header left out; `DataError` if one is malformed.

    ``letters`` goes over the same bytes, and finds out whether all are characters.

    Malformed is: a quote that opens elsewhere than at the start of a field, or closes elsewhere than at its end; one
    that is never closed; a carriage return outside quotes that no line feed follows; a record with more or fewer fields
    than the header. A blank line is a record with one empty field.
    """
    state, marks, letters = _State(), _Marks.of(file.format), letters or Letters()
    for block in read_blocks(file):
        letters.read(block)
        _pass_block(np.frombuffer(block, dtype=np.uint8), fields, state, marks, file)
    letters.end()
    _require(not state.inside, file, OPEN)
    _require(state.previous != _RETURN, file, ALONE)
    # The last record may lack its line break.
    unended = state.previous != _FEED
    _require(not unended or state.separators == fields - 1, file, RAGGED)
    return state.records + unended - file.format.header


def _pass_block(block: npt.NDArray[np.uint8], fields: int, state: _State, marks: _Marks, file: File) -> None:
    feeds, separators, returns, quotes = (
        np.flatnonzero(block == byte) for byte in (_FEED, marks.separator, _RETURN, marks.quote)
    )
    before_quote = marks.separator, _FEED, marks.quote
    after_quote = *before_quote, _RETURN
    if not state.inside:
        _require(state.previous != marks.quote or block[0] in after_quote, file, AFTER)
        _require(state.previous != _RETURN or block[0] == _FEED, file, ALONE)
    if quotes.size or state.inside:
        feeds, separators, returns = (_outside(places, quotes, state.inside) for places in (feeds, separators, returns))
        opens, closes = quotes[state.inside :: 2], quotes[not state.inside :: 2]
        before = np.where(opens > 0, block[opens - 1], state.previous)
        _require(np.isin(before, before_quote).all(), file, WITHIN)
        _require(np.isin(block[closes[closes < block.size - 1] + 1], after_quote).all(), file, AFTER)
    _require((block[returns[returns < block.size - 1] + 1] == _FEED).all(), file, ALONE)
    counts = np.diff(np.searchsorted(separators, feeds), prepend=0)
    counts[:1] += state.separators
    _require((counts == fields - 1).all(), file, RAGGED)
    state.records += feeds.size
    state.separators = separators.size - counts.sum() + state.separators
    state.inside = bool((quotes.size + state.inside) % 2)
    state.previous = int(block[-1])


def _outside(places: _Places, quotes: _Places, inside: bool) -> _Places:
    """Those of some places that are not within quotes: before them stands an even number of quotes."""
    outside: _Places = places[(np.searchsorted(quotes, places) + inside) % 2 == 0]
    return outside


def _require(holds: object, file: File, rule: str) -> None:
    if not holds:
        form = "by RFC 4180" if file.format == PLAIN else "as it is declared"
        raise DataError(
            f"{file.title} is not CSV {form}: {rule}. Correct the file (inbounds check says where); nothing was spent"
        )


def count_fields(record: bytes, written: Format) -> int:
    """The fields of one record."""
    marks, block = _Marks.of(written), np.frombuffer(record, dtype=np.uint8)
    separators, quotes = (np.flatnonzero(block == byte) for byte in (marks.separator, marks.quote))
    return _outside(separators, quotes, False).size + 1


def split_records(file: File) -> Iterator[tuple[bytes, int]]:
    """The records of a file of checked structure, in blocks of whole ones, each with the number of its records."""
    marks, header = _Marks.of(file.format), len(read_first_record(file)) if file.format.header else 0
    pending, inside = [b""], False
    for piece in read_blocks(file):
        block = piece[header:]
        header -= len(piece) - len(block)
        values = np.frombuffer(block, dtype=np.uint8)
        quotes = np.flatnonzero(values == marks.quote)
        ends = _outside(np.flatnonzero(values == _FEED), quotes, inside)
        inside = bool((quotes.size + inside) % 2)
        cut = int(ends[-1]) + 1 if ends.size else 0
        if cut:
            yield b"".join([*pending, block[:cut]]), ends.size
            pending = []
        pending.append(block[cut:])
    if rest := b"".join(pending):
        yield rest, 1
