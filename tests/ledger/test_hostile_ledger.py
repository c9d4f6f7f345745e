"""Ledgers that somebody made to hang us, to fill the memory or to have their own statements run: all are refused."""

import hashlib
import json
import os
import random
import signal
import sqlite3
import struct
import subprocess
import sys
import threading
import zlib
from contextlib import closing
from fractions import Fraction

import pytest

from inbounds import ledger
from inbounds.ledger import Account, LedgerError, Pure, Request, results
from inbounds.ledger.chain import Chain
from inbounds.ledger.entry import CHECKPOINTS, LONGEST, key_of_request, read_body
from inbounds.ledger.sqlite import SQLiteRows

# Bytes of a hostile file.
SIZE = 10**7
LOOP = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
# The like where no recursion is allowed.
SLOW = "SELECT sum(length(hex(randomblob(1000)))) FROM " + ", ".join(f"entries AS e{i}" for i in range(12))


def begin(path):
    """A ledger of ours with a charge and its result."""
    account = Account(path, "survey", Fraction(1))
    receipt = ledger.charge(account, Request("a", Pure(Fraction(1, 10)), "substitute", 1, ("age: mean",)))
    ledger.keep(account, receipt, "{}")
    return account


def run(path, *statements):
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(*statement) if isinstance(statement, tuple) else connection.execute(statement)
    connection.close()


def follow(path, kind, text):
    """An entry with a true hash, whatever its text."""
    last = ledger.read(path)[-1]
    number = last.sequence + 1
    hash_ = hashlib.sha256(json.dumps([number, kind, text, last.hash]).encode()).hexdigest()
    run(path, ("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", (number, kind, text, last.hash, hash_)))


def charge_of(path, **lies):
    body = {"cost": 1, "dataset": "survey", "epsilon": "1/10", "request": "x", "what": [], "when": "w", "who": "me"}
    follow(path, "charge", json.dumps(body | lies, sort_keys=True))


def number_of(path, digits):
    text = json.dumps({"before": 10**9, "dataset": "survey", "limit": 0, "when": "w", "who": "me", "why": "w"})
    follow(path, "limit", text.replace('"limit": 0', f'"limit": {"9" * digits}'))


def plant(path, *objects):
    """Objects of the schema that SQLite itself would not let one make."""
    rows = [("INSERT INTO sqlite_master VALUES (?, ?, ?, 0, ?)", one) for one in objects]
    run(path, "PRAGMA writable_schema = ON", "BEGIN", *rows, "COMMIT")


def instead(path, *statements):
    """In place of the entries something that answers like them."""
    run(path, "DROP TABLE entries", *statements)


def bomb(path):
    """A result that unpacks to a thousand times its size."""
    replace_result(path, packed_over_and_over(bytes(2**20)))


def just_under(path):
    """A result that is as large as it may be, nearly: 185 MB, which is not what was stored, as only its end shows."""
    replace_result(path, packed_over_and_over(words_of(38)))


def words_of(length):
    """A megabyte of 64 words in any order: the longer they are, the tighter it can be packed."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdef0123456789", k=length)) for _ in range(64)]
    return "".join(rng.choices(words, k=10**6 // length)).encode()


def packed_over_and_over(text, size=SIZE):
    """So many bytes that unpack to one text over and over."""
    packer = zlib.compressobj(9)
    head, block = (packer.compress(text) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return head + block * (size // len(block))


def replace_result(path, content):
    guards = ("results_stay", "results_remain")
    connection = sqlite3.connect(path)
    kept = [connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (one,)).fetchone()[0] for one in guards]
    connection.close()
    drops = [f"DROP TRIGGER {one}" for one in guards]
    run(path, *drops, ("UPDATE results SET content = ?", (content,)), *kept)


def in_utf16(path):
    path.unlink()
    own = sqlite3.connect(":memory:")
    begun = path.with_name("begun")
    begin(begun)
    sqlite3.connect(begun).backup(own)
    dump = [one for one in own.iterdump() if not one.startswith(("BEGIN", "COMMIT"))]
    run(path, "PRAGMA encoding = 'UTF-16le'", *dump)


def many_rows(path):
    run(path, f"INSERT INTO entries {NUMBERS} SELECT i + 4, 'k', '{{}}', '', i FROM n")


def file(path, key, number, note=""):
    run(path, ("INSERT INTO filed VALUES (?, ?, ?)", (key, number, note)))


def checkpoint(path, text):
    """An entry with a true hash, in its place in the index."""
    follow(path, "checkpoint", text)
    file(path, CHECKPOINTS, 4)


def state(datasets):
    body = {"datasets": datasets, "open": [], "when": "w", "who": "me"}
    sys.set_int_max_str_digits(0)
    return json.dumps(body, sort_keys=True)


def in_head(path, make):
    head = path.with_name(f"{path.name}.head")
    head.unlink()
    make(head)


def sparse(head):
    with head.open("wb") as file:
        file.truncate(5 * 10**9)


def in_place(path, make):
    path.unlink()
    make(path)


STANDING = {
    "charges": 1,
    "contributions": 1,
    "dataset": "survey",
    "limit": 10**9,
    "neighbours": "substitute",
    "person": None,
    "spent": 10**8,
}
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)"
VIEW = f"CREATE VIEW entries(sequence, kind, body, previous, hash) AS SELECT 0, 'ledger', ({LOOP}), '', ''"
TABLE = "CREATE TABLE entries (sequence INTEGER PRIMARY KEY, kind TEXT, body TEXT{}, previous TEXT, hash TEXT)"
HOSTILE = {
    "epsilon with an exponent": lambda path: charge_of(path, epsilon="1e-999999999"),
    "epsilon with an exponent up": lambda path: charge_of(path, epsilon="1E+99999999"),
    "epsilon of a million digits": lambda path: charge_of(path, epsilon=f"1/{'9' * 10**6}"),
    "epsilon with signs": lambda path: charge_of(path, epsilon="+1/1000000000"),
    "a limit of a million digits": lambda path: number_of(path, 10**6),
    "a limit of 4000 digits": lambda path: number_of(path, 4000),
    "what is no text": lambda path: charge_of(path, epsilon="1/1000000000", what=[{}]),
    "a long text": lambda path: charge_of(path, epsilon="1/1000000000", request="x" * SIZE),
    "a long text within the row's limit": lambda path: charge_of(path, epsilon="1/1000000000", request="x" * LONGEST),
    "lists in a long text": lambda path: follow(path, "charge", f'{{"a": [{", ".join(["{}"] * (LONGEST // 5))}]}}'),
    "deep lists": lambda path: follow(path, "charge", "[" * LONGEST),
    "no UTF-8": lambda path: run(path, "INSERT INTO entries VALUES (4, 'k', CAST(x'ff' AS TEXT), '', '')"),
    "UTF-16": in_utf16,
    "many rows": many_rows,
    "a recursive view": lambda path: instead(path, VIEW),
    "a generated column": lambda path: instead(path, TABLE.format(" AS (hex(zeroblob(400000000)))")),
    "a default": lambda path: instead(path, TABLE.format(" DEFAULT (hex(zeroblob(400000000)))")),
    "a check": lambda path: instead(path, TABLE.format(" CHECK (length(body) < 9)")),
    "a trigger": lambda path: run(path, f"CREATE TRIGGER mine BEFORE INSERT ON entries BEGIN {SLOW}; END"),
    "a virtual table": lambda path: plant(path, ("table", "v", "v", "CREATE VIRTUAL TABLE v USING fts5(x)")),
    "a name that is a number": lambda path: plant(path, ("table", 5, b"x", None)),
    "a table more": lambda path: run(path, "CREATE TABLE more (x)"),
    "an index more": lambda path: run(path, "CREATE INDEX more ON entries (kind)"),
    "a guard gone": lambda path: run(path, "DROP TRIGGER entries_stay"),
    "many views": lambda path: plant(
        path, *(("view", f"v{i}", f"v{i}", f"CREATE VIEW v{i} AS SELECT {i}") for i in range(100_000))
    ),
    "a long view": lambda path: plant(path, ("view", "v", "v", f"CREATE VIEW v AS SELECT {'1,' * (SIZE // 2)}1")),
    "a guard of the index gone": lambda path: run(path, "DROP TRIGGER filed_stay"),
    "an index of text": lambda path: run(path, "DROP TABLE filed", "CREATE TABLE filed (key TEXT, entry, note TEXT)"),
    "a checkpoint that is none": lambda path: checkpoint(path, '{"datasets": [], "open": [], "when": "", "who": ""}'),
    "a checkpoint of many": lambda path: checkpoint(path, state([STANDING] * 10_000)),
    "a checkpoint of a million digits": lambda path: checkpoint(path, state([STANDING | {"limit": int("9" * 4000)}])),
    "a checkpoint of deep lists": lambda path: checkpoint(path, "[" * LONGEST),
    "a checkpoint of deep lists within": lambda path: checkpoint(path, state([]).replace("[]", "[" * 900 + "]" * 900)),
    "a checkpoint of an exponent": lambda path: checkpoint(path, state([STANDING | {"limit": {"rho": "1e-99999999"}}])),
    "a checkpoint under another entry": lambda path: file(path, CHECKPOINTS, 2),
    "an index of many rows": lambda path: run(
        path, f"INSERT INTO filed {NUMBERS} SELECT '{CHECKPOINTS}', i % 4, i FROM n GROUP BY i % 4"
    ),
    "a long note": lambda path: file(path, key_of_request("survey", "a"), 3, "x" * SIZE),
    "a bomb": bomb,
    "a result just under the limit": just_under,
    "a result without an end": lambda path: replace_result(path, zlib.compress(b"{}")[:-1]),
    "a result with more after its end": lambda path: replace_result(path, zlib.compress(b"{}") + b"x"),
    "a result of nothing": lambda path: replace_result(path, b""),
    "a sparse head": lambda path: in_head(path, sparse),
    "a head without end": lambda path: in_head(path, lambda head: head.symlink_to("/dev/zero")),
    "a head that is a pipe": lambda path: in_head(path, os.mkfifo),
    "a head that leads nowhere": lambda path: in_head(path, lambda head: head.symlink_to("nowhere")),
    "a head with a long number": lambda path: in_head(
        path, lambda head: head.write_text(f"{'9' * 10**6} {'a' * 64}\n")
    ),
    "a pipe": lambda path: in_place(path, os.mkfifo),
    "a device": lambda path: in_place(path, lambda link: link.symlink_to("/dev/zero")),
}

# Seconds of the processor and megabytes of whatever a command does with a ledger; what is not refused is named. Each
# ledger has a process of its own, which has nothing to load: it is a copy of one that has.
ASK = """
import os, sys, time, traceback
from fractions import Fraction
from pathlib import Path
import inbounds.ledger.sqlite
from inbounds import ledger
def peak():
    # Not ru_maxrss, which begins at the size of the process that started this one.
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
def ask(path):
    account = ledger.Account(path, "survey", Fraction(1))
    asked = ledger.Request("a", ledger.Pure(Fraction(1, 10)), "substitute", 1)
    before = peak()
    acts = {
        "verify": lambda: ledger.verify(path),
        "stored": lambda: ledger.find_stored(account, asked),
        "charge": lambda: ledger.charge(account, asked),
        "raise": lambda: ledger.raise_limit(account, "why"),
    }
    longest, accepted = 0, []
    for name, act in acts.items():
        start = time.process_time()
        try:
            act()
            accepted.append(name)
        except ledger.LedgerError:
            pass
        longest = max(longest, time.process_time() - start)
    print(longest, peak() - before, *accepted, flush=True)
for line in sys.stdin:
    child = os.fork()
    if not child:
        try:
            ask(Path(line[:-1]))
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    os.waitpid(child, 0)
    print("end", flush=True)
"""
# Acts that do not look at results, and so cannot know.
BLIND = {"a bomb": {"raise"}, "a result": {"raise"}, "a long note": {"raise", "stored", "charge"}}


@pytest.fixture(scope="module")
def asker():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "start_new_session": True}
    with subprocess.Popen([sys.executable, "-c", ASK], text=True, **pipes) as process:
        yield process
        process.stdin.close()


@pytest.fixture
def asked(asker):
    """Seconds, megabytes, and what was accepted of a ledger; within a minute."""

    def ask(path):
        print(path, file=asker.stdin, flush=True)
        late = threading.Timer(60, os.killpg, (asker.pid, signal.SIGKILL))
        late.start()
        lines = []
        while (line := asker.stdout.readline()) not in ("end\n", ""):
            lines.append(line)
        late.cancel()
        ((seconds, megabytes, *accepted),) = map(str.split, lines)
        return float(seconds), float(megabytes), set(accepted)

    return ask


@pytest.mark.claim("ledger-verify")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes and devices have names on POSIX alone")
@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_ledgers_are_refused_at_once(tmp_path, asked, what):
    path = tmp_path / "survey.ledger"
    begin(path)
    HOSTILE[what](path)
    seconds, megabytes, accepted = asked(path)
    assert accepted <= next((acts for name, acts in BLIND.items() if what.startswith(name)), set())
    # It is half a second at most; the rest is for slow machines. Nothing is kept that was not proved.
    assert seconds < 5
    assert megabytes < 100


@pytest.mark.parametrize("made", ["now", "by an earlier version"])
def test_our_own_ledger_is_not_hostile(tmp_path, asked, made):
    """The other side of all these refusals."""
    path = tmp_path / "survey.ledger"
    begin(path)
    if made != "now":
        run(path, "DROP TABLE filed", "DROP TABLE draws")
    assert asked(path)[2] == {"verify", "stored", "charge", "raise"}


def test_a_long_note_is_not_read(tmp_path):
    """Of a charge that only the index finds: it is longer than the row of an entry may be."""
    account = begin(tmp_path / "survey.ledger")
    asked = Request("a", Pure(Fraction(1, 10)), "substitute", 1)
    for i in range(80):
        ledger.charge(account, Request(str(i), Pure(Fraction(1, 10**6)), "substitute", 1))
    assert ledger.find_stored(account, asked).stored == "{}"
    text = ("UPDATE filed SET note = ? WHERE key = ?", ("x" * SIZE, key_of_request("survey", "a")))
    guard = "SELECT sql FROM sqlite_master WHERE name = 'filed_stay'"
    with closing(sqlite3.connect(account.ledger)) as connection:
        (kept,) = connection.execute(guard).fetchone()
    run(account.ledger, "DROP TRIGGER filed_stay", text, kept)
    for ask in (ledger.find_stored, ledger.charge):
        with pytest.raises(LedgerError, match="string or blob too big"):
            ask(account, asked)
    with pytest.raises(LedgerError):
        ledger.verify(account.ledger)


def test_a_journal_that_names_other_files_deletes_none(tmp_path):
    """SQLite, which rolls a journal back, deletes the file that it says it belongs to."""
    path, victim = tmp_path / "survey.ledger", tmp_path / "victim"
    begin(path)
    victim.write_text("precious")
    magic = bytes.fromhex("d9d505f920a163d7")
    name = str(victim).encode()
    pages = path.stat().st_size // 4096
    head = magic + struct.pack(">IIIII", 0, 1, pages, 512, 4096)
    tail = struct.pack(">I", 1 + 2**30 // 4096) + name + struct.pack(">II", len(name), sum(name)) + magic
    journal = tmp_path / "survey.ledger-journal"
    journal.write_bytes(head.ljust(512, b"\0") + tail)
    with pytest.raises(LedgerError, match="the journal beside it is of several files"):
        ledger.verify(path)
    assert victim.read_text() == "precious"
    journal.unlink()
    journal.symlink_to(victim)
    with pytest.raises(LedgerError, match="the journal beside it is not a regular file"):
        ledger.verify(path)
    journal.unlink()
    ledger.verify(path)


def test_results_that_share_their_pages():
    """A hundred results of a megabyte each in a file of a megabyte: one that SQLite would read over and over."""

    class Answers:
        def setlimit(self, *_):
            pass

        def execute(self, statement):
            rows = {"PRAGMA page_count": [(250,)], "PRAGMA page_size": [(4096,)]}
            return Rows(rows.get(statement, ((i, 10**6) for i in range(100))))

    class Rows(list):
        def fetchone(self):
            return self[0]

    chain = Chain(kept=dict.fromkeys(range(100)))
    with pytest.raises(LedgerError, match="its results are larger than the file"):
        results.check_all(SQLiteRows(Answers()), chain)


def test_what_is_packed_can_be_unpacked(tmp_path):
    """Also text that would pack to next to nothing."""
    account = begin(tmp_path / "l")
    kept = {2: "{}"}
    for i, text in enumerate(
        ("", "é" * 10, "0, " * 10**6, json.dumps(list(range(10**5))), " " * (results.SPARE // 50))
    ):
        receipt = ledger.charge(account, Request(str(i), Pure(Fraction(1, 1000)), "substitute", 1))
        ledger.keep(account, receipt, text)
        kept[receipt.entry.sequence] = text
        packed = results.pack(text)
        assert len(text.encode()) <= results.RATIO * len(packed)
        assert ledger.read_result(account.ledger, receipt.entry.sequence) == text
    assert ledger.read_results(account.ledger) == kept
    ledger.verify(account.ledger)
    assert ledger.read_result(account.ledger, 0) is None


@pytest.mark.parametrize("length", [12, 25, 38, 60, 100, 250])
def test_little_is_unpacked_of_what_is_not_proved(length):
    """Whatever is in 10 MB: what comes out is hashed within a second."""
    pieces, sizes = results._unpack_pieces(packed_over_and_over(words_of(length)), results._Room()), []
    with pytest.raises(ValueError, match=r"decompresses to more|its end is missing"):
        sizes.extend(len(piece) for piece in pieces)
    assert 4 * SIZE < sum(sizes) < 20 * SIZE


def test_results_that_are_longer_than_they_can_be(tmp_path):
    account = begin(tmp_path / "l")
    receipt = ledger.charge(account, Request("b", Pure(Fraction(1, 10)), "substitute", 1))
    ledger.keep(account, receipt, "x" * 1000)
    long = Request("b", Pure(Fraction(1, 10)), "substitute", 1, longest=999)
    for ask in (ledger.find_stored, ledger.charge):
        with pytest.raises(LedgerError, match="longer than a result of this request can be"):
            ask(account, long)
    request = Request("b", Pure(Fraction(1, 10)), "substitute", 1, longest=1000)
    assert ledger.find_stored(account, request).stored == "x" * 1000


def test_what_could_not_be_read_is_not_written(tmp_path):
    account = begin(tmp_path / "l")
    before = ledger.verify(account.ledger)
    for act in (
        lambda: ledger.raise_limit(account, "w" * LONGEST),
        lambda: ledger.raise_limit(Account(account.ledger, "survey", Fraction(10**1600)), "more"),
        lambda: ledger.charge(account, Request("b", Pure(Fraction(1, 10)), "substitute", 1, ("x" * LONGEST,))),
    ):
        with pytest.raises(LedgerError, match=r"the entry cannot be written .* shorten its names"):
            act()
    assert ledger.verify(account.ledger) == before
    # As much as an argument can state.
    ledger.raise_limit(Account(account.ledger, "survey", "9" * 390 + "e999"), "w" * (LONGEST - 10_000))
    small = Request("c", Pure(Fraction(1, 10**1300 + 1)), "substitute", 1)
    assert ledger.charge(account, small).entry.body["cost"] == 1
    ledger.verify(account.ledger)


def test_bodies_are_written_in_one_way():
    assert read_body('{"a": [1, "é"]}') == {"a": [1, "é"]}
    for text in ('{"a":1}', '{"a": 1.0}', '{"a": 1e2}', '{"a": NaN}', '{"a": "\\u00e9"}', "[]", '{"a": 1, "a": 1}'):
        with pytest.raises(ValueError):
            read_body(text)
