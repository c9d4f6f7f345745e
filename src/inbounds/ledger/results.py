"""Stored results: compressed text with a limit on how much is decompressed.

A result is only returned if its hash is the one in the chain. Until that is checked, it may be forged, and a few bytes
may decompress to gigabytes. So it is decompressed twice: once for its hash, without keeping anything, and once to be
returned.
"""

import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from inbounds.errors import LedgerError
from inbounds.ledger.chain import Chain
from inbounds.ledger.store import Snapshot

# The most characters per stored byte. Records of a few releases have 4, tables of a million cells 7 to 18, a hundred
# equal releases 30. Text that would exceed this is compressed less, so that no byte takes long to decompress.
RATIO = 16
# This much more is allowed for results from before this limit: enough for a table of two million cells that are nearly
# all zero, or for a hundred records of a hundred equal releases.
SPARE = 32 * 2**20
_INPUT, _OUTPUT = 2**16, 2**18
CHANGED = "the ledger was changed: "


@dataclass(slots=True)
class _Room:
    """How many more bytes may be decompressed."""

    left: int = SPARE


def pack(text: str) -> bytes:
    """Compress a text, but no further than it may be decompressed again."""
    raw = text.encode()
    for level, strategy in ((6, zlib.Z_DEFAULT_STRATEGY), (1, zlib.Z_DEFAULT_STRATEGY), (6, zlib.Z_HUFFMAN_ONLY)):
        packer = zlib.compressobj(level, zlib.DEFLATED, zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, strategy)
        packed = packer.compress(raw) + packer.flush()
        if len(raw) <= RATIO * len(packed):
            break
    return packed


def check_all(snapshot: Snapshot, chain: Chain) -> None:
    """Raise a `LedgerError` unless the stored results are those in the chain."""
    room = _Room()
    for number in _list_numbers(snapshot, chain):
        for _ in _unpack_and_prove(snapshot, chain, number, room):
            pass


def unpack_all(snapshot: Snapshot, chain: Chain) -> dict[int, str]:
    """All results by the number of their charge, checked."""
    check_all(snapshot, chain)
    room = _Room()
    return {n: b"".join(_unpack_and_prove(snapshot, chain, n, room)).decode() for n in sorted(chain.kept)}


def unpack(snapshot: Snapshot, chain: Chain, number: int, longest: int | None = None) -> str:
    """The result of one charge, checked. Refused if it has more than ``longest`` bytes."""
    size = 0
    for piece in _unpack_and_prove(snapshot, chain, number, _Room()):
        size += len(piece)
        if longest is not None and size > longest:
            raise LedgerError(f"{CHANGED}the result of entry {number} is longer than a result of this request can be")
    return b"".join(_unpack_and_prove(snapshot, chain, number, _Room())).decode()


def _list_numbers(snapshot: Snapshot, chain: Chain) -> list[int]:
    """The charges that have results. Raises a `LedgerError` unless exactly those are stored."""
    numbers = sorted(chain.kept)
    for number, stored in zip_longest(numbers, snapshot.sizes()):
        if stored is None or stored[0] != number:
            raise LedgerError(f"{CHANGED}its results are not those in its entries")
    return numbers


def _unpack_and_prove(snapshot: Snapshot, chain: Chain, number: int, room: _Room) -> Iterator[bytes]:
    """The pieces of a result. Raises a `LedgerError` after the last one if the hash is wrong."""
    hashed = hashlib.sha256()
    try:
        for piece in _unpack_pieces(snapshot.result(number), room):
            hashed.update(piece)
            yield piece
        good = hashed.hexdigest() == chain.kept[number].body["digest"]
    except (TypeError, ValueError, zlib.error):
        good = False
    if not good:
        raise LedgerError(f"{CHANGED}the result of entry {number} is not what was stored")


def _unpack_pieces(content: bytes, room: _Room) -> Iterator[bytes]:
    unpacker = zlib.decompressobj()
    for start in range(0, len(content), _INPUT):
        rest = content[start : start + _INPUT]
        room.left += RATIO * len(rest)
        while rest:
            if unpacker.eof:
                raise ValueError("there are bytes after its end")
            piece = unpacker.decompress(rest, _OUTPUT)
            room.left -= len(piece)
            if room.left < 0:
                raise ValueError("it decompresses to more than is allowed")
            yield piece
            rest = unpacker.unconsumed_tail or unpacker.unused_data
    if not unpacker.eof:
        # At most a few bytes are left, since all input was given.
        yield unpacker.flush()
    if not unpacker.eof:
        raise ValueError("its end is missing")
