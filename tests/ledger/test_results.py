"""Stored results: how they are packed, how much of them is unpacked, and which are believed."""

import hashlib
import random
import zlib
from fractions import Fraction

import pytest

from inbounds import ledger
from inbounds.ledger import Account, Entry, LedgerError, Pure, Request, results
from inbounds.ledger.access import change_chain, read_chain
from inbounds.ledger.chain import Chain
from tests.ledger.stores import DictRows

ZEROS = zlib.compress(bytes(10_000))
ROOM = results._Room


def kept_in(*contents, digests=None):
    """A snapshot with these results, of the charges 2, 4, ..., and a chain that says so."""
    chain, numbers = Chain(), range(2, 2 * len(contents) + 2, 2)
    for number, content in zip(numbers, contents, strict=True):
        digest = (digests or {}).get(number) or hashlib.sha256(zlib.decompress(content)).hexdigest()
        chain.kept[number] = Entry(number + 1, "result", {"charge": number, "digest": digest}, "", "")
    return DictRows([], dict(zip(numbers, contents, strict=True))), chain


def rooms(monkeypatch, left):
    """Every room begins with so many bytes."""
    monkeypatch.setattr(results, "_Room", lambda: ROOM(left))


def compressed(raw, level, strategy):
    packer = zlib.compressobj(level, zlib.DEFLATED, 15, 8, strategy)
    return packer.compress(raw) + packer.flush()


# From the tightest way to one in which a letter has a bit at least.
WAYS = [(6, zlib.Z_DEFAULT_STRATEGY), (1, zlib.Z_DEFAULT_STRATEGY), (6, zlib.Z_HUFFMAN_ONLY)]


def test_a_text_is_packed_as_tightly_as_it_may_be_unpacked():
    usual = "".join(random.Random(1).choices("0123456789, ", k=5000))
    for text, way in ((usual, WAYS[0]), ("", WAYS[0]), (" " * 10**5, WAYS[2]), ("é" * 10**5, WAYS[2])):
        assert results.pack(text) == compressed(text.encode(), *way)


def test_the_first_way_that_is_not_too_tight_is_taken(monkeypatch):
    """Exactly so tight is allowed, and a little less is not."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdef0123456789", k=60)) for _ in range(64)]
    text = "".join(rng.choices(words, k=200))
    packed = [compressed(text.encode(), *way) for way in WAYS]
    assert sorted(map(len, packed)) == list(map(len, packed))
    for own, after in zip(packed, [*packed[1:], packed[-1]], strict=True):
        ratio = Fraction(len(text), len(own))
        for most, made in ((ratio, own), (ratio - Fraction(1, 10**9), after)):
            monkeypatch.setattr(results, "RATIO", most)
            assert results.pack(text) == made


def test_pieces_are_small_and_use_up_the_room():
    text = b"".join(b"%d, " % i for i in range(200_000))
    content, room = zlib.compress(text, 1), results._Room(0)
    assert len(content) > 3 * 2**16
    pieces = list(results._unpack_pieces(content, room))
    assert b"".join(pieces) == text
    assert max(map(len, pieces)) <= 2**18
    assert room.left == results.RATIO * len(content) - len(text)
    assert [len(one) for one in results._unpack_pieces(zlib.compress(bytes(2**20)), results._Room())][:4] == [2**18] * 4
    assert results._Room().left == results.SPARE == 32 * 2**20


def test_a_result_may_fill_its_room_and_not_more():
    exact = 10_000 - results.RATIO * len(ZEROS)
    room = results._Room(exact)
    assert b"".join(results._unpack_pieces(ZEROS, room)) == bytes(10_000)
    assert room.left == 0
    with pytest.raises(ValueError, match=r"^it decompresses to more than is allowed$"):
        list(results._unpack_pieces(ZEROS, results._Room(exact - 1)))
    # Bytes that were not looked at yet give no room: of a bomb no more is unpacked than its beginning allows.
    seen: list[int] = []
    pieces = results._unpack_pieces(zlib.compress(bytes(10**8), 9), results._Room(0))
    with pytest.raises(ValueError, match="more than is allowed"):
        seen.extend(map(len, pieces))
    assert sum(seen) <= results.RATIO * 2**16


def test_the_end_is_there_and_is_the_end():
    for more in (b"x", zlib.compress(b"more"), bytes(2**17)):
        with pytest.raises(ValueError, match=r"^there are bytes after its end$"):
            list(results._unpack_pieces(ZEROS + more, results._Room()))
    for cut in (1, 4, 5, len(ZEROS)):
        with pytest.raises(ValueError, match=r"^its end is missing$"):
            list(results._unpack_pieces(ZEROS[:-cut], results._Room()))


def test_all_results_share_one_room(monkeypatch):
    """Each may be larger than its bytes allow, and all together no more than that."""
    used = 10_000 - results.RATIO * len(ZEROS)
    snapshot, chain = kept_in(ZEROS, ZEROS, ZEROS)
    rooms(monkeypatch, 3 * used)
    results.check_all(snapshot, chain)
    assert results.unpack_all(snapshot, chain) == dict.fromkeys((2, 4, 6), "\0" * 10_000)
    rooms(monkeypatch, 3 * used - 1)
    for ask in (results.check_all, results.unpack_all):
        with pytest.raises(
            LedgerError, match=r"^the ledger was changed: the result of entry 6 is not what was stored$"
        ):
            ask(snapshot, chain)
    rooms(monkeypatch, used)
    assert [results.unpack(snapshot, chain, number) for number in (2, 4, 6)] == ["\0" * 10_000] * 3
    rooms(monkeypatch, used - 1)
    with pytest.raises(LedgerError, match="the result of entry 4 is not what was stored"):
        results.unpack(snapshot, chain, 4)


def test_results_are_those_of_the_chain():
    good = [zlib.compress(text) for text in (b"one", b"two", "drei…".encode())]
    snapshot, chain = kept_in(*good)
    results.check_all(snapshot, chain)
    assert results.unpack_all(snapshot, chain) == {2: "one", 4: "two", 6: "drei…"}
    others = r"^the ledger was changed: its results are not those in its entries$"
    for stored in (
        dict(zip((2, 4), good, strict=False)),
        {2: good[0], 4: good[1], 6: good[2], 8: good[0]},
        {},
        {2: good[0], 5: good[1], 6: good[2]},
        {4: good[1], 6: good[2]},
    ):
        snapshot.results = stored
        for ask in (results.check_all, results.unpack_all):
            with pytest.raises(LedgerError, match=others):
                ask(snapshot, chain)
    # One that somebody changed, took away while we read, or that is no bytes at all.
    for wrong in (good[0], good[1][:-1], good[1] + b"x", b"x", b"", None, 7, "text"):
        snapshot.results = {2: good[0], 4: wrong, 6: good[2]}
        with pytest.raises(
            LedgerError, match=r"^the ledger was changed: the result of entry 4 is not what was stored$"
        ):
            results.unpack(snapshot, chain, 4)
        assert results.unpack(snapshot, chain, 6) == "drei…"


def test_a_result_that_is_too_long_is_given_up_at_once():
    """Its length is that of all its pieces."""
    text = "ü" * 2**18
    snapshot, chain = kept_in(results.pack(text))
    size = len(text.encode())
    for longest in (None, size, size + 1):
        assert results.unpack(snapshot, chain, 2, longest) == text
    for longest in (size - 1, 2**18, 0):
        with pytest.raises(LedgerError) as refused:
            results.unpack(snapshot, chain, 2, longest)
        assert str(refused.value) == (
            "the ledger was changed: the result of entry 2 is longer than a result of this request can be"
        )


def test_the_result_of_a_charge_alone_is_read(tmp_path):
    account = Account(tmp_path / "l", "survey", 1)
    receipts = [ledger.charge(account, Request(name, Pure("1/10"), "substitute", 1)) for name in "abc"]
    for receipt, text in zip(receipts[:2], ("first", "second…"), strict=True):
        ledger.keep(account, receipt, text)
    first, second, third = (receipt.entry.sequence for receipt in receipts)
    assert ledger.read_results(account.ledger) == {first: "first", second: "second…"}
    assert ledger.read_result(account.ledger, second) == "second…"
    assert ledger.read_result(account.ledger, second, 9) == "second…"
    with pytest.raises(LedgerError, match=rf"the result of entry {second} is longer than a result"):
        ledger.read_result(account.ledger, second, 8)
    for none in (third, 0, 99):
        assert ledger.read_result(account.ledger, none) is None
    with read_chain(account.ledger) as (snapshot, chain):
        assert sorted(chain.kept) == [first, second]
        assert [number for number, _ in snapshot.sizes()] == [first, second]
        assert snapshot.result(third) is None
    with change_chain(account.ledger) as (transaction, chain):
        assert not transaction.is_new
        assert transaction.result(first) == results.pack("first")
