"""Stored results: text that was packed, and is unpacked no further than a record of ours could go.

A result is read as it was stored or not at all: its hash is in the chain. Before that is known, it is what somebody
else may have written, and a few bytes of it may unpack to gigabytes. So it is unpacked twice: once for its hash, when
nothing of it is kept, and once to be read.
"""

import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from inbounds.ledger.chain import Chain, LedgerError
from inbounds.ledger.store import Snapshot

# Characters to a stored byte. Records of a few releases have 4 of them, tables of a million cells 7 to 18, a hundred
# releases alike 30; what would have more than this is packed less tightly, so that no byte takes long to unpack.
RATIO = 16
# On top of it, for what was stored before that was so: a table of two million cells that are nearly all zero, or a
# hundred records of a hundred releases alike.
SPARE = 32 * 2**20
_INPUT, _OUTPUT = 2**16, 2**18
_CHANGED = "the ledger was changed: "


@dataclass(slots=True)
class _Room:
    """How much more may be unpacked."""

    left: int = SPARE


def pack(text: str) -> bytes:
    """The text as it is stored: as tight as it may be to be unpacked again."""
    raw = text.encode()
    for level, strategy in ((6, zlib.Z_DEFAULT_STRATEGY), (1, zlib.Z_DEFAULT_STRATEGY), (6, zlib.Z_HUFFMAN_ONLY)):
        packer = zlib.compressobj(level, zlib.DEFLATED, zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, strategy)
        packed = packer.compress(raw) + packer.flush()
        if len(raw) <= RATIO * len(packed):
            break
    return packed


def check_all(snapshot: Snapshot, chain: Chain) -> None:
    """`LedgerError` unless the results are those that the chain names, each as it was stored."""
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
    """The result of one charge, checked; refused beyond ``longest`` bytes, which is what it may have at most."""
    size = 0
    for piece in _unpack_and_prove(snapshot, chain, number, _Room()):
        size += len(piece)
        if longest is not None and size > longest:
            raise LedgerError(f"{_CHANGED}the result of entry {number} is longer than a result of this request can be")
    return b"".join(_unpack_and_prove(snapshot, chain, number, _Room())).decode()


def _list_numbers(snapshot: Snapshot, chain: Chain) -> list[int]:
    """The charges that have results, if exactly those are stored."""
    numbers = sorted(chain.kept)
    for number, stored in zip_longest(numbers, snapshot.sizes()):
        if stored is None or stored[0] != number:
            raise LedgerError(f"{_CHANGED}its results are not those that its entries name")
    return numbers


def _unpack_and_prove(snapshot: Snapshot, chain: Chain, number: int, room: _Room) -> Iterator[bytes]:
    """The pieces of a result; `LedgerError` after the last one if they are not what was stored."""
    hashed = hashlib.sha256()
    try:
        for piece in _unpack_pieces(snapshot.result(number), room):
            hashed.update(piece)
            yield piece
        good = hashed.hexdigest() == chain.kept[number].body["digest"]
    except (TypeError, ValueError, zlib.error):
        good = False
    if not good:
        raise LedgerError(f"{_CHANGED}the result of entry {number} is not what was stored")


def _unpack_pieces(content: bytes, room: _Room) -> Iterator[bytes]:
    unpacker = zlib.decompressobj()
    for start in range(0, len(content), _INPUT):
        rest = content[start : start + _INPUT]
        room.left += RATIO * len(rest)
        while rest:
            if unpacker.eof:
                raise ValueError("there is more after its end")
            piece = unpacker.decompress(rest, _OUTPUT)
            room.left -= len(piece)
            if room.left < 0:
                raise ValueError("far more comes out than was ever put in")
            yield piece
            rest = unpacker.unconsumed_tail or unpacker.unused_data
    if not unpacker.eof:
        # A few bytes at most: everything was fed to it.
        yield unpacker.flush()
    if not unpacker.eof:
        raise ValueError("its end is missing")
