"""The file beside a ledger: a missing one needs a word of the owner, errors of the system, litter."""

import errno
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from inbounds import ledger
from inbounds.ledger import Account, LedgerError, Pure, Request

WHY = "moved to the new server; 1 charge as in the minutes"


def request(digest="a", epsilon="1/10"):
    return Request(digest, Pure(epsilon), "substitute", 1)


@pytest.fixture
def account(tmp_path):
    account = Account(tmp_path / "survey.ledger", "survey", 1)
    ledger.keep(account, ledger.charge(account, request()), "{}")
    return account


def head_of(account):
    return Path(f"{account.ledger}.head")


def names(account):
    return {path.name for path in account.ledger.parent.iterdir()}


# A missing one


@pytest.mark.claim("ledger")
def test_an_old_copy_without_the_file_beside_it_is_refused(account, tmp_path):
    """Before its owner accepts it, nothing is charged and no stored answer is given; everybody may look at it."""
    old = tmp_path / "a copy"
    shutil.copy(account.ledger, old)
    newest = ledger.charge(account, request("later")).entry
    copied = replace(account, ledger=old)
    before = old.read_bytes()
    expected = (
        f"the ledger {str(old)!r} has no file 'a copy.head' beside it, so it may be an older copy in which charges are "
        "missing; nothing was spent. Restore that file, or accept the ledger as it is: inbounds ledger accept "
        f"'{old}' --why ..."
    )
    for act in (
        lambda: ledger.charge(copied, request()),
        lambda: ledger.charge(copied, request("b")),
        lambda: ledger.charge(copied, request(), new=True),
        lambda: ledger.find_stored(copied, request()),
        lambda: ledger.affordable(copied, request("b")),
        lambda: ledger.raise_limit(copied, "why"),
    ):
        with pytest.raises(LedgerError) as refused:
            act()
        assert str(refused.value) == expected
    assert len(ledger.verify(old)) == len(ledger.read(old)) == 4
    assert old.read_bytes() == before
    assert not Path(f"{old}.head").exists()
    entry = ledger.accept(old, WHY, who="Ada")
    assert (entry.kind, entry.body["why"], entry.body["who"]) == ("accept", WHY, "Ada")
    assert ledger.find_stored(copied, request()).stored == "{}"
    ledger.charge(copied, request("b"))
    assert ledger.verify(old)[4] == entry
    assert WHY in ledger.show(old)[5]
    assert WHY in ledger.export(old)
    # A record of what is missing still shows it.
    with pytest.raises(LedgerError, match="it was set back to an earlier state"):
        ledger.verify(old, [(newest.sequence, newest.hash)])


def test_an_acceptance_has_a_reason_and_something_to_accept(account, tmp_path):
    before = account.ledger.read_bytes()
    with pytest.raises(LedgerError, match="has its file beside it, so there is nothing to accept"):
        ledger.accept(account.ledger, WHY)
    with pytest.raises(LedgerError, match="there is no ledger"):
        ledger.accept(tmp_path / "none", WHY)
    head_of(account).unlink()
    for why in ("", " ", None, 5):
        with pytest.raises(ValueError, match="why must give the reason"):
            ledger.accept(account.ledger, why)
    assert account.ledger.read_bytes() == before
    # A ledger that is older than its file says is not accepted: that file is there.
    head_of(account).write_text(f"99 {'a' * 64}\n")
    with pytest.raises(LedgerError, match="it was set back, and charges are missing"):
        ledger.accept(account.ledger, WHY)


def test_a_reason_without_words_cannot_follow(account):
    last = ledger.read(account.ledger)[-1]
    entry = ledger.Entry.after(last, "accept", {"why": " ", "when": "now", "who": "me"})
    with pytest.raises(LedgerError, match="entry 4 is impossible"):
        ledger.standings([*ledger.read(account.ledger), entry])


@pytest.mark.claim("ledger")
def test_what_was_paid_is_kept_although_the_file_is_gone(account):
    """Its charge is in the ledger, so no charge before it is missing. The file is not written again in silence."""
    first, second = (ledger.charge(account, request(name)) for name in "bc")
    head_of(account).unlink()
    ledger.keep(account, first, "paid")
    ledger.fail(account, second, "OSError")
    assert not head_of(account).exists()
    with pytest.raises(LedgerError, match="inbounds ledger accept"):
        ledger.find_stored(account, request("b"))
    ledger.accept(account.ledger, WHY)
    assert ledger.find_stored(account, request("b")).stored == "paid"


# Errors of the system


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.EACCES, errno.EIO])
def test_an_error_of_the_system_is_no_tampering(account, monkeypatch, number):
    real = os.open

    def refuse(path, *words, **more):
        if str(path).endswith(".head"):
            raise OSError(number, os.strerror(number))
        return real(path, *words, **more)

    monkeypatch.setattr(os, "open", refuse)
    for act, meaning in (
        (lambda: ledger.charge(account, request("b")), "; nothing was spent"),
        (lambda: ledger.find_stored(account, request()), ""),
        (lambda: ledger.verify(account.ledger), ""),
    ):
        with pytest.raises(LedgerError) as refused:
            act()
        why = f"{str(head_of(account))!r} beside the ledger cannot be read: {os.strerror(number)}{meaning}"
        assert str(refused.value) == why
    monkeypatch.undo()
    assert len(ledger.verify(account.ledger)) == 4


EXHAUST = """
import os, resource, sys
from inbounds import ledger
import inbounds.ledger.sqlite
account = ledger.Account(sys.argv[1], "survey", 1)
asked = ledger.Request("b", ledger.Pure("1/10"), "substitute", 1)
ledger.find_stored(account, asked)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
taken = []
try:
    while True:
        taken.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass
# With room for none, one, two or three files.
for room in range(4):
    try:
        ledger.charge(account, asked)
        print("charged")
        break
    except ledger.LedgerError as error:
        print(error)
    os.close(taken.pop())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of open files are of POSIX")
def test_a_process_without_a_free_file_accuses_nobody(account):
    done = subprocess.run([sys.executable, "-c", EXHAUST, account.ledger], capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    assert any("cannot be read: Too many open files" in line for line in said)
    for line in said:
        assert "set back" not in line
        assert "changed" not in line
        assert "not what was written" not in line
    ledger.charge(account, request("c"))
    assert len(ledger.verify(account.ledger)) == 5 + (said[-1] == "charged")


def test_a_journal_that_cannot_be_looked_at_is_not_passed_over(account, monkeypatch):
    journal = Path(f"{account.ledger}-journal")
    journal.touch()
    real = Path.open

    def refuse(path, *words, **more):
        if path.name.endswith("-journal"):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return real(path, *words, **more)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(LedgerError, match="the journal beside it cannot be read: Too many open files"):
        ledger.verify(account.ledger)


# Kills


KILL = """
import os, signal, sys
from pathlib import Path
from inbounds import ledger
import inbounds.ledger.sqlite
def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(*{"replace": (Path, "replace", kill), "fsync": (os, "fsync", kill)}[sys.argv[2]])
account = ledger.Account(sys.argv[1], "survey", 1)
ledger.charge(account, ledger.Request(sys.argv[3], ledger.Pure("1/10"), "substitute", 1))
"""


def killed(path, where, digest):
    done = subprocess.run([sys.executable, "-c", KILL, path, where, digest], check=False)
    return done.returncode == -signal.SIGKILL


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_kills_while_the_file_is_written_leave_one_name_at_most(account):
    for i in range(3):
        assert killed(account.ledger, "replace", f"killed {i}")
        assert names(account) <= {"survey.ledger", "survey.ledger.head", "survey.ledger.head.new"}
    ledger.charge(account, request("next"))
    assert names(account) == {"survey.ledger", "survey.ledger.head"}
    # The charges stand, and the file was only late.
    assert [entry.kind for entry in ledger.verify(account.ledger)].count("charge") == 5


@pytest.mark.claim("ledger")
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_kill_within_the_first_charge_needs_no_word_of_the_owner(tmp_path):
    """Wherever it was: the file beside the ledger is written before the ledger is."""
    account = Account(tmp_path / "survey.ledger", "survey", 1)
    for where in ("fsync", "replace"):
        assert killed(account.ledger, where, "killed")
        assert ledger.find_stored(account, request()) is None
        assert ledger.affordable(account, request("b")) == Pure("9/10")
    ledger.charge(account, request())
    assert names(account) == {"survey.ledger", "survey.ledger.head"}


@pytest.mark.claim("ledger")
def test_a_first_charge_that_was_committed_and_not_noted(tmp_path, monkeypatch):
    account = Account(tmp_path / "survey.ledger", "survey", 1)
    with monkeypatch.context() as patch:
        patch.setattr("inbounds.ledger.sqlite._note_head", lambda *_: None)
        ledger.charge(account, request())
    assert head_of(account).read_text() == f"0 {'0' * 64}\n"
    ledger.charge(account, request("b"))
    last = ledger.verify(account.ledger)[-1]
    assert head_of(account).read_text() == f"{last.sequence} {last.hash}\n"


def test_a_ledger_is_not_begun_where_its_file_cannot_be(tmp_path, monkeypatch):
    account = Account(tmp_path / "survey.ledger", "survey", 1)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(LedgerError, match=r"No space left on device\); nothing was spent$"):
            ledger.charge(account, request())
    assert not head_of(account).exists()
    ledger.charge(account, request())


def test_what_earlier_versions_left_behind_is_removed_with_the_first_write(account):
    litter = [head_of(account).with_name(f"survey.ledger.head.{i:032x}") for i in (1, 16**31)]
    others = [head_of(account).with_name(name) for name in ("survey.ledger.head.mine", f"other.head.{1:032x}")]
    for path in litter + others:
        path.touch()
    with closing(sqlite3.connect(account.ledger, isolation_level=None)) as connection:
        for name in ("filed_stay", "filed_remain"):
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("DROP TABLE filed")
        connection.execute("DROP TABLE draws")
    ledger.verify(account.ledger)
    assert all(path.exists() for path in litter)
    ledger.charge(account, request("b"))
    assert not any(path.exists() for path in litter)
    assert all(path.exists() for path in others)


def test_a_note_is_written_while_nobody_else_writes(account, monkeypatch):
    """So no process writes an earlier one over it, or into its temporary file."""
    real, locked = os.fsync, []

    def look(handle):
        with closing(sqlite3.connect(account.ledger, timeout=0)) as other:
            try:
                other.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                locked.append(str(error))
        real(handle)

    monkeypatch.setattr(os, "fsync", look)
    ledger.charge(account, request("b"))
    assert locked == ["database is locked"]
