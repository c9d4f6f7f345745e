"""What a ledger does, wherever it is kept: the same tests over every store."""

import json
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from inbounds import ledger
from inbounds.ledger import Account, BudgetRefused, LedgerError, LookAlike, Pure, Request, Unfinished
from inbounds.ledger.store import open_store
from tests.ledger.stores import DictStore


def request(digest="a", epsilon="1/4", **promise):
    return Request(digest, Pure(epsilon), **{"neighbours": "substitute", "contributions": 1} | promise)


class Files:
    """Ledgers in files, and what somebody does to them behind our back."""

    def change(self, path, change):
        connection = sqlite3.connect(path)
        guards = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        rows = connection.execute("SELECT * FROM entries ORDER BY sequence").fetchall()
        results = dict(connection.execute("SELECT * FROM results").fetchall())
        filed = connection.execute("SELECT * FROM filed").fetchall()
        rows, results = change(rows, results)
        for name, _ in guards:
            connection.execute(f"DROP TRIGGER {name}")
        for table in ("results", "filed", "draws", "entries"):
            connection.execute(f"DELETE FROM {table}")
        connection.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", rows)
        connection.executemany("INSERT INTO results VALUES (?, ?)", results.items())
        connection.executemany("INSERT INTO filed VALUES (?, ?, ?)", [row for row in filed if row[1] < len(rows)])
        for _, guard in guards:
            connection.execute(guard)
        connection.commit()
        connection.close()


class Memory:
    """The same in memory."""

    def __init__(self, monkeypatch):
        self.stores = {}
        monkeypatch.setattr("inbounds.ledger.access.open_store", self.open)

    def open(self, path):
        return self.stores.setdefault(path, DictStore())

    def change(self, path, change):
        store = self.open(path)
        store.rows, store.results = change(store.rows, store.results)
        store.files = [file for file in store.files if file[1] < len(store.rows)]


@pytest.fixture(params=["file", "memory"])
def place(request, monkeypatch):
    return Files() if request.param == "file" else Memory(monkeypatch)


@pytest.fixture
def account(place, tmp_path):  # noqa: ARG001
    return Account(tmp_path / "survey.ledger", "survey", 1)


def test_a_user_names_a_file():
    assert open_store(Path("survey.ledger")).path == Path("survey.ledger")


@pytest.mark.claim("ledger")
def test_charges_stop_at_the_limit(account):
    assert ledger.find_stored(account, request()) is None
    assert ledger.affordable(account, request()) == Pure("3/4")
    assert ledger.charge(account, request()).left == Pure("3/4")
    with pytest.raises(BudgetRefused, match=r"has 0.75 of its limit 1 left, and this costs 0.8; nothing was spent"):
        ledger.charge(account, request("b", "4/5"))
    assert ledger.charge(account, request("b", "3/4")).left is None
    with pytest.raises(BudgetRefused, match="has 0 of its limit 1 left"):
        ledger.charge(account, request("c", "1/1000000000"))
    (standing,) = ledger.standings(ledger.verify(account.ledger))
    assert (standing.spent, standing.charges) == (Pure(1), 2)


@pytest.mark.claim("ledger")
def test_nothing_begins_with_a_refusal(account, tmp_path):
    with pytest.raises(BudgetRefused):
        ledger.charge(account, request(epsilon="2"))
    with pytest.raises(BudgetRefused, match="below the smallest amount that a ledger can hold"):
        ledger.charge(replace(account, limit=Pure("1/10000000000")), request(epsilon="1/10000000000"))
    with pytest.raises(LedgerError, match="there is no ledger"):
        ledger.verify(account.ledger)
    with pytest.raises(LedgerError, match="there is no ledger"):
        ledger.raise_limit(account, "more")
    with pytest.raises(LedgerError, match="does not have exactly one dataset"):
        ledger.find_account(account.ledger)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.claim("ledger")
def test_the_same_request_gets_its_stored_result(account):
    receipt = ledger.charge(account, request())
    ledger.keep(account, receipt, '{"value": 1}')
    for again in (ledger.charge(account, request()), ledger.find_stored(account, request())):
        assert (again.entry, again.left, again.stored) == (receipt.entry, receipt.left, '{"value": 1}')
    with pytest.raises(LedgerError, match="already has a result"):
        ledger.keep(account, receipt, '{"value": 2}')
    assert ledger.read_results(account.ledger) == {receipt.entry.sequence: '{"value": 1}'}
    assert ledger.read_result(account.ledger, receipt.entry.sequence) == '{"value": 1}'
    assert ledger.charge(account, request(), new=True).left == Pure("1/2")


@pytest.mark.claim("ledger")
def test_an_interrupted_charge_stands(account):
    receipt = ledger.charge(account, request())
    with pytest.raises(KeyboardInterrupt), ledger.standing_charge(account, receipt):
        raise KeyboardInterrupt
    with pytest.raises(Unfinished, match="and failed"):
        ledger.charge(account, request())
    ledger.charge(account, request("b"))
    with pytest.raises(Unfinished, match="has no result"):
        ledger.find_stored(account, request("b"))
    assert ledger.standings(ledger.verify(account.ledger))[0].spent == Pure("1/2")


@pytest.mark.claim("ledger")
def test_what_fails_within_a_transaction_leaves_nothing(account, monkeypatch):
    receipt = ledger.charge(account, request())
    before = ledger.read(account.ledger)

    def fail(*_):
        raise OSError("no disk")

    with monkeypatch.context() as patch:
        # After the result was added, and before its entry is.
        patch.setattr("inbounds.ledger.draws.append", fail)
        with pytest.raises(OSError):
            ledger.keep(account, receipt, "{}")
    assert ledger.verify(account.ledger) == before
    ledger.keep(account, receipt, "{}")
    assert ledger.read_results(account.ledger) == {2: "{}"}


def test_limits_change_with_a_reason(account):
    ledger.charge(account, request())
    standing = ledger.raise_limit(replace(account, limit=Pure(2)), "second wave")
    assert (standing.limit, standing.left) == (Pure(2), Pure("7/4"))
    for less in ("1/5", "1/10000000000"):
        with pytest.raises(LedgerError, match=r"the limit cannot be below 0\.25, which is already spent"):
            ledger.raise_limit(replace(account, limit=Pure(less)), "less")
    assert ledger.raise_limit(replace(account, limit=Pure("1/4")), "no more").left is None


def test_promises_and_names(account):
    ledger.charge(account, request())
    with pytest.raises(LedgerError, match="do not add up to one guarantee"):
        ledger.charge(account, request("b", neighbours="add-remove"))
    with pytest.warns(LookAlike):
        ledger.charge(replace(account, dataset="Survey"), request())
    assert len(ledger.similar(ledger.read(account.ledger))) == 1


@pytest.mark.claim("ledger")
def test_threads_race_for_the_limit(account):
    said = []

    def spend(i):
        try:
            ledger.charge(account, request(str(i)))
            said.append("charged")
        except BudgetRefused:
            said.append("refused")

    threads = [threading.Thread(target=spend, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (said.count("charged"), said.count("refused")) == (4, 4)


def edit_cost(rows, results):
    number, kind, body, *hashes = rows[2]
    cheap = json.dumps(json.loads(body) | {"cost": 1, "epsilon": "1/1000000000"}, sort_keys=True)
    return [*rows[:2], (number, kind, cheap, *hashes), *rows[3:]], results


def swap(rows, results):
    """Two entries change places, and take each other's number."""
    first, second = rows[2], rows[3]
    return [*rows[:2], (first[0], *second[1:]), (second[0], *first[1:]), *rows[4:]], results


TAMPERINGS = {
    "a cost": edit_cost,
    "an entry gone": lambda rows, results: (rows[:2] + rows[3:], results),
    "two change places": swap,
    "a result": lambda rows, _: (rows, {2: b"x"}),
    "a result gone": lambda rows, _: (rows, {}),
    "a result more": lambda rows, results: (rows, results | {4: results[2]}),
}


@pytest.mark.claim("ledger-verify")
@pytest.mark.parametrize("what", TAMPERINGS)
def test_tampering_is_found(place, account, what):
    ledger.keep(account, ledger.charge(account, request()), "{}")
    ledger.charge(account, request("b"))
    place.change(account.ledger, lambda rows, results: (rows, results))
    entries = ledger.verify(account.ledger)
    place.change(account.ledger, TAMPERINGS[what])
    with pytest.raises(LedgerError):
        ledger.verify(account.ledger)
    assert len(entries) == 5


@pytest.mark.claim("ledger-verify")
def test_a_ledger_that_was_put_back_is_found_by_a_record(place, account):
    receipt = ledger.charge(account, request())
    entry = ledger.charge(account, request("b")).entry
    anchor = entry.sequence, entry.hash
    ledger.verify(account.ledger, [anchor])
    place.change(account.ledger, lambda rows, results: (rows[: entry.sequence], results))
    # Together with the note that a file has beside it.
    Path(f"{account.ledger}.head").unlink(missing_ok=True)
    ledger.verify(account.ledger, [(receipt.entry.sequence, receipt.entry.hash)])
    with pytest.raises(LedgerError, match="it was set back to an earlier state"):
        ledger.verify(account.ledger, [anchor])
