"""Checkpoints: a charge and a stored answer read few entries, and find the same as all entries would."""

import hashlib
import random
import shutil
import sqlite3
from collections import defaultdict
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from inbounds import ledger
from inbounds.ledger import (
    Account,
    BudgetRefused,
    Entry,
    LedgerError,
    Pure,
    Request,
    Unfinished,
    access,
    chain,
    history,
)
from inbounds.ledger.chain import EVERY, MOST_OPEN
from inbounds.ledger.results import pack
from tests.ledger.stores import DictStore

FORMER = Path(__file__).parents[1] / "former" / "survey.ledger"
DIGEST = hashlib.sha256(b"{}").hexdigest()


def request(digest="a", epsilon="1/1000", **promise):
    return Request(digest, Pure(epsilon), **{"neighbours": "substitute", "contributions": 1} | promise)


@pytest.fixture
def account(tmp_path):
    return Account(tmp_path / "survey.ledger", "survey", 1000)


def fill(account, entries, *, kept=True):
    """Charges in transactions of a few, with results or without."""
    if not account.ledger.exists():
        ledger.charge(account, request("first"))
    length = 0
    while length < entries:
        with access.change_chain(account.ledger) as (transaction, found):
            for _ in range(8):
                body = {"dataset": "survey"} | request(f"of {found.datasets['survey'].charges}").to_dict()
                number = access.append(transaction, found, "charge", body, "me").sequence
                if kept:
                    transaction.add_result(number, pack("{}"))
                    access.append(transaction, found, "result", {"charge": number, "digest": DIGEST}, "me")
            length = found.last.sequence


def edited(path, *statements):
    """Change a file with SQLite: the guards are dropped first, and put back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        guards = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall())
        for guard in guards:
            connection.execute(f"DROP TRIGGER {guard}")
        for statement in statements:
            connection.execute(*statement) if isinstance(statement, tuple) else connection.execute(statement)
        for guard in guards.values():
            connection.execute(guard)


def noted(path):
    """Write the file beside a ledger, so that it has the last entry."""
    with closing(sqlite3.connect(path)) as connection:
        last = connection.execute("SELECT sequence, hash FROM entries ORDER BY sequence DESC LIMIT 1").fetchone()
    Path(f"{path}.head").write_text("{} {}\n".format(*last))


# Few entries are read


def count_hashes(monkeypatch, act):
    """How many hashes an act computes: one at least for each entry that it reads."""
    counted, real = [], hashlib.sha256
    with monkeypatch.context() as patch:
        patch.setattr(hashlib, "sha256", lambda *words: counted.append(1) or real(*words))
        act()
    return len(counted)


@pytest.mark.claim("ledger")
def test_a_charge_reads_as_few_entries_of_a_long_ledger_as_of_a_short_one(account, monkeypatch):
    acts = {
        "charge": lambda name: ledger.charge(account, request(name)),
        "stored": lambda _: ledger.find_stored(account, request("of 3")),
        "found": lambda _: ledger.find_account(account.ledger),
        "affordable": lambda name: ledger.affordable(account, request(name)),
    }
    most = {}
    for entries in (100, 1200):
        fill(account, entries)
        for name, act in acts.items():
            # At every distance from a checkpoint.
            counts = [
                count_hashes(monkeypatch, lambda act=act, i=i: act(f"{entries} {name} {i}"))  # noqa: B023
                for i in range(EVERY if name == "charge" else 1)
            ]
            most.setdefault(name, []).append(max(counts))
    for small, large in most.values():
        # Two hashes for each entry, its own and its key.
        assert large <= 2 * (2 * EVERY + 20) < 2 * 1200
        assert large <= small + 2 * EVERY


@pytest.mark.claim("ledger")
def test_a_release_reads_few_entries_for_its_result(account, monkeypatch):
    receipt = ledger.charge(account, request("mine"))
    fill(account, 600)
    assert count_hashes(monkeypatch, lambda: ledger.keep(account, receipt, "{}")) < 200
    second = ledger.charge(account, request("second"))
    fill(account, 1200)
    assert count_hashes(monkeypatch, lambda: ledger.fail(account, second, "OSError")) < 200
    assert ledger.find_stored(account, request("mine")).stored == "{}"
    ledger.verify(account.ledger)


# A checkpoint is the state


@pytest.mark.claim("ledger-verify")
def test_a_checkpoint_has_the_sums_of_all_entries_before_it(account):
    fill(account, 150)
    ledger.charge(replace(account, dataset="other"), request(epsilon="1/7", person="id"))
    fill(account, 250, kept=False)
    entries = ledger.verify(account.ledger)
    checkpoints = [entry for entry in entries if entry.kind == "checkpoint"]
    assert len(checkpoints) >= 6
    for checkpoint in checkpoints:
        spent, charges, open_ = defaultdict(int), defaultdict(int), []
        for entry in entries[: checkpoint.sequence]:
            body = entry.body
            if entry.kind == "charge":
                spent[body["dataset"]] += body["cost"]
                charges[body["dataset"]] += 1
                open_.append(entry.sequence)
            elif entry.kind == "result":
                open_.remove(body["charge"])
        found = {plain["dataset"]: (plain["spent"], plain["charges"]) for plain in checkpoint.body["datasets"]}
        assert found == {name: (spent[name], charges[name]) for name in spent}
        assert checkpoint.body["open"] == [[number, 0] for number in open_]
    gaps = [after.sequence - before.sequence for before, after in pairwise(checkpoints)]
    # A transaction of this test adds up to 17 entries.
    assert EVERY < min(gaps) <= max(gaps) <= EVERY + 17


@pytest.mark.claim("ledger")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["file", "memory"])
def test_the_end_of_a_chain_finds_what_the_whole_chain_finds(kind, seed, tmp_path, monkeypatch):
    """Random acts, with a checkpoint every few entries; a plain model knows what they should find."""
    monkeypatch.setattr(chain, "EVERY", 3)
    monkeypatch.setattr(chain, "MOST_OPEN", 4)
    if kind == "memory":
        store = DictStore()
        monkeypatch.setattr(access, "open_store", lambda _: store)
    rng, path = random.Random(seed), tmp_path / "l"
    accounts = [Account(path, name, 1) for name in ("one", "two")]
    charged, kept, failed, limits = {}, {}, set(), {"one": {1}, "two": {1}}
    spent = {"one": Fraction(0), "two": Fraction(0)}
    limit = {"one": Fraction(1), "two": Fraction(1)}
    for step in range(120):
        account = rng.choice(accounts)
        name, asked = account.dataset, request(rng.choice("abcdef"), rng.choice(["1/50", "1/20"]))
        key = name, asked.digest, asked.guarantee
        asked = replace(asked, digest=f"{key}")
        act = rng.choice(["charge", "charge", "new", "keep", "fail", "raise"])
        if act in ("charge", "new"):
            before = [receipt for receipt in charged.get(key, []) if receipt.entry.sequence in kept]
            try:
                receipt = ledger.charge(account, asked, new=act == "new")
            except Unfinished:
                assert act == "charge"
                assert charged[key]
                assert not before
                continue
            except BudgetRefused:
                assert spent[name] + asked.guarantee.epsilon > limit[name]
                continue
            if act == "charge" and key in charged:
                assert receipt.stored == kept[before[-1].entry.sequence]
                assert (receipt.entry, receipt.left) == (before[-1].entry, before[-1].left)
                continue
            spent[name] += asked.guarantee.epsilon
            assert (receipt.left.epsilon if receipt.left else 0) == limit[name] - spent[name]
            charged.setdefault(key, []).append(receipt)
        elif act == "raise" and path.exists() | (kind == "memory") and any(key[0] == name for key in charged):
            limit[name] += Fraction(1, 10)
            ledger.raise_limit(replace(account, limit=Pure(limit[name])), "more")
            limits[name].add(limit[name])
        elif receipts := [receipt for key, found in charged.items() if key[0] == name for receipt in found]:
            receipt = rng.choice(receipts)
            number = receipt.entry.sequence
            good = number not in kept and (act == "keep" or number not in failed)
            try:
                ledger.keep(account, receipt, f"{step}") if act == "keep" else ledger.fail(account, receipt, "x")
            except LedgerError:
                assert not good
            else:
                assert good
                if act == "keep":
                    kept[number] = f"{step}"
                else:
                    failed.add(number)
        if step % 20 == 0 and charged:
            with access.read_whole_chain(path) as (_, whole), access.read_chain(path) as (_, end):
                assert (end.state, end.length, end.last) == (whole.state, whole.length, whole.last)
                assert all(end.has_had(name, int(one * 10**9)) for name in end.datasets for one in limits[name])
                assert not end.has_had(name, 5)
    entries = ledger.verify(path)
    assert [entry.kind for entry in entries].count("checkpoint") > 10
    assert ledger.read_results(path) == kept
    for number, text in kept.items():
        assert ledger.read_result(path, number) == text


def test_only_the_latest_charges_without_an_outcome_are_open(account):
    fill(account, MOST_OPEN + 50, kept=False)
    with access.read_chain(account.ledger) as (_, end):
        assert len(end.open) == MOST_OPEN
        numbers = [entry.sequence for entry in ledger.read(account.ledger) if entry.kind == "charge"]
        assert list(end.open) == numbers[-MOST_OPEN:]
    # An earlier one still gets its result.
    assert numbers[0] < min(end.open)
    receipt = ledger.Receipt(ledger.read(account.ledger)[numbers[0]], None)
    ledger.keep(account, receipt, "{}")
    with pytest.raises(LedgerError, match="already has a result"):
        ledger.keep(account, receipt, "{}")
    assert ledger.find_stored(account, request("first")).stored == "{}"
    ledger.verify(account.ledger)


def test_many_datasets_have_checkpoints_further_apart(account):
    fill(account, 1)
    for i in range(40):
        ledger.charge(replace(account, dataset=f"dataset number {i * i}"), request())
    fill(account, 300)
    kinds = [entry.kind for entry in ledger.verify(account.ledger)]
    places = [number for number, kind in enumerate(kinds) if kind == "checkpoint"]
    assert places[-1] - places[-2] > 40 > EVERY


# What was changed is found


def forge(path, change):
    """Write the last checkpoint again, and all after it, with hashes that are right."""
    entries = ledger.read(path)
    number = max(entry.sequence for entry in entries if entry.kind == "checkpoint")
    made, before = [], entries[number - 1]
    for entry in entries[number:]:
        body = change(entry.body) if entry.sequence == number else entry.body
        before = Entry.after(before, entry.kind, body)
        made.append(before)
    edited(
        path,
        ("DELETE FROM entries WHERE sequence >= ?", (number,)),
        *(("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", entry.row) for entry in made),
    )
    noted(path)


def of_dataset(**lies):
    def change(body):
        return body | {"datasets": [body["datasets"][0] | lies]}

    return change


FORGED = {
    "less spent": of_dataset(spent=1),
    "nothing spent": of_dataset(spent=0),
    "a larger limit": of_dataset(limit=10**15),
    "another name": of_dataset(dataset="other"),
    "a name that is no text": of_dataset(dataset=["survey"]),
    "another promise": of_dataset(neighbours="add-remove"),
    "an unknown promise": of_dataset(neighbours="swap"),
    "a person": of_dataset(person="id"),
    "truth for a number": of_dataset(contributions=True),
    "a field more": of_dataset(more=1),
    "no dataset": lambda body: body | {"datasets": []},
    "twice the same": lambda body: body | {"datasets": 2 * body["datasets"]},
    "no fields": lambda body: body | {"datasets": [None]},
    "more is open": lambda body: body | {"open": [[2, 0], [3, 0]]},
    "open is no list of pairs": lambda body: body | {"open": [5]},
    "a field of the checkpoint more": lambda body: body | {"more": 1},
    "no state": lambda body: {name: body[name] for name in ("when", "who")},
}


@pytest.mark.claim("ledger-verify")
@pytest.mark.parametrize("what", FORGED)
def test_a_forged_checkpoint_is_refused(account, what):
    """At the next charge by the checkpoint before it, and by `verify` wherever it is."""
    fill(account, 120)
    forge(account.ledger, lambda body: body)
    ledger.verify(account.ledger)
    forge(account.ledger, FORGED[what])
    for act in (
        lambda: ledger.charge(account, request("later")),
        lambda: ledger.find_stored(account, request("of 3")),
        lambda: ledger.raise_limit(account, "why"),
        lambda: ledger.verify(account.ledger),
    ):
        with pytest.raises(LedgerError, match="the ledger was changed"):
            act()


@pytest.mark.parametrize("what", FORGED)
def test_a_chain_is_not_resumed_at_an_impossible_checkpoint(account, what):
    """If it is the only one that is found."""
    fill(account, 40)
    (checkpoint,) = (entry for entry in ledger.read(account.ledger) if entry.kind == "checkpoint")
    chain.Chain.resume(checkpoint, None)
    possible = {"less spent", "nothing spent", "a larger limit", "another name", "another promise", "a person"}
    lied = replace(checkpoint, body=FORGED[what](checkpoint.body))
    if what in possible | {"no dataset", "more is open"}:
        chain.Chain.resume(lied, None)
        return
    with pytest.raises(LedgerError, match=f"^the ledger was changed: entry {checkpoint.sequence} is impossible$"):
        chain.Chain.resume(lied, None)


@pytest.mark.claim("ledger-verify")
def test_an_early_entry_that_was_changed_is_found_by_verify_alone(account):
    """The next charge does not read it, and what it spent is in the checkpoint."""
    fill(account, 200)
    before = history.find_standing(account)
    edited(account.ledger, "UPDATE entries SET body = replace(body, '1000000', '1') WHERE sequence = 5")
    ledger.charge(account, request("later"))
    after = history.find_standing(account)
    assert after.spent == before.after(Pure("1/1000")).spent
    with pytest.raises(LedgerError, match="entry 5 does not follow from those before it"):
        ledger.verify(account.ledger)


@pytest.mark.claim("ledger")
def test_an_index_that_leads_elsewhere_gives_no_request_another_result(account):
    fill(account, 200)
    first, second = (ledger.find_stored(account, request(f"of {n}")).entry for n in (3, 5))
    kept = {entry.body["charge"]: entry for entry in ledger.read(account.ledger) if entry.kind == "result"}
    file = "INSERT INTO filed VALUES (?, ?, ?)"
    for number, statement in {
        "a charge": (file, (first.key, second.sequence, '{"left": 1}')),
        "a result": (file, (kept[first.sequence].key, kept[second.sequence].sequence, "")),
        "not a charge": (file, (first.key, kept[second.sequence].sequence, '{"left": 1}')),
        "a wrong note": ("UPDATE filed SET note = 'x' WHERE key = ?", (first.key,)),
        "a note of another kind": ("""UPDATE filed SET note = '{"left": "x"}' WHERE key = ?""", (first.key,)),
    }.items():
        copy = account.ledger.with_name(str(number))
        for end in ("", ".head"):
            shutil.copy(f"{account.ledger}{end}", f"{copy}{end}")
        edited(copy, statement)
        for ask in (ledger.find_stored, ledger.charge):
            with pytest.raises(LedgerError, match="the ledger was changed: its index has"):
                ask(Account(copy, "survey"), request("of 3"))
        with pytest.raises(LedgerError, match="its index is not what follows from its entries"):
            ledger.verify(copy)
        # Others are not concerned.
        assert ledger.find_stored(Account(copy, "survey"), request("of 9")).stored == "{}"


@pytest.mark.claim("ledger")
def test_what_an_index_lost_is_charged_again_and_not_drawn_for_free(account):
    fill(account, 200)
    receipt = ledger.find_stored(account, request("of 3"))
    spent = history.find_standing(account).spent
    kept = next(entry for entry in ledger.read(account.ledger) if entry.body.get("charge") == receipt.entry.sequence)
    # The result is not found: the charge has no second one.
    edited(account.ledger, ("DELETE FROM filed WHERE key = ?", (kept.key,)))
    for ask in (ledger.find_stored, ledger.charge):
        with pytest.raises(Unfinished):
            ask(account, request("of 3"))
    with pytest.raises(LedgerError, match="cannot be used"):
        ledger.keep(account, receipt, "another")
    # The charge is not found: it is a new one, which costs as much.
    edited(account.ledger, ("DELETE FROM filed WHERE key = ?", (receipt.entry.key,)))
    assert ledger.charge(account, request("of 3")).stored is None
    assert history.find_standing(account).spent == spent.plus(Pure("1/1000"))
    # The checkpoints are not found: all entries are read.
    edited(account.ledger, ("DELETE FROM filed WHERE key = ?", (chain.CHECKPOINTS,)))
    assert ledger.charge(account, request("b")).stored is None
    with pytest.raises(LedgerError, match="its index is not what follows from its entries"):
        ledger.verify(account.ledger)


@pytest.mark.claim("ledger")
def test_an_index_cannot_close_a_charge_that_is_open(account):
    receipt = ledger.charge(account, request("mine"))
    number = receipt.entry.sequence
    fill(account, 200)
    failure = {"charge": number, "why": "x", "when": "w", "who": "me"}
    entries = ledger.read(account.ledger)
    forged = Entry.after(entries[9], "failure", failure)
    edited(
        account.ledger,
        "DELETE FROM entries WHERE sequence = 10",
        ("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", forged.row),
        ("INSERT INTO filed VALUES (?, 10, '')", (forged.key,)),
    )
    with pytest.raises(LedgerError, match="its index does not have the steps of entry 2"):
        ledger.find_stored(account, request("mine"))


# Ledgers of version 0.2


def objects(path):
    with closing(sqlite3.connect(path)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}


@pytest.fixture
def former(tmp_path, monkeypatch):
    """A ledger as 0.2 left it, of many entries: its own file from then has four."""
    path = tmp_path / "former.ledger"
    account = Account(path, "survey", 1000)
    with monkeypatch.context() as patch:
        patch.setattr(chain, "EVERY", 10**6)
        fill(account, 200)
        ledger.charge(account, request("unfinished"))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for name in ("filed_stay", "filed_remain"):
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("DROP TABLE filed")
        connection.execute("DROP TABLE draws")
    return account


def test_a_ledger_of_an_earlier_version_is_read_as_it_is(former):
    assert objects(former.ledger) == objects(FORMER)
    before = former.ledger.read_bytes(), Path(f"{former.ledger}.head").read_bytes()
    for act in (ledger.read, ledger.verify, ledger.show, ledger.summarize, ledger.export, ledger.find_account):
        act(former.ledger)
    assert ledger.find_stored(former, request("of 3")).stored == "{}"
    assert ledger.affordable(former, request("new"))
    assert history.find_standing(former).charges == ledger.standings(ledger.read(former.ledger))[0].charges
    with pytest.raises(Unfinished):
        ledger.find_stored(former, request("unfinished"))
    assert (former.ledger.read_bytes(), Path(f"{former.ledger}.head").read_bytes()) == before


@pytest.mark.claim("ledger")
def test_the_first_charge_files_a_ledger_of_an_earlier_version(former, monkeypatch):
    entries = ledger.read(former.ledger)
    stored = [ledger.find_stored(former, request(f"of {n}")) for n in (1, 3, 81)]
    before = former.ledger.read_bytes()
    with pytest.raises(BudgetRefused):
        ledger.charge(former, request("new", "2000"))
    assert former.ledger.read_bytes() == before
    ledger.charge(former, request("new"))
    assert objects(former.ledger) == objects(FORMER) | {"draws", "filed", "filed_stay", "filed_remain"}
    after = ledger.verify(former.ledger)
    assert after[: len(entries)] == entries
    assert [entry.kind for entry in after[len(entries) :]] == ["charge", "checkpoint"]
    assert [ledger.find_stored(former, request(f"of {n}")) for n in (1, 3, 81)] == stored
    assert count_hashes(monkeypatch, lambda: ledger.charge(former, request("another"))) < 50
    with pytest.raises(Unfinished):
        ledger.charge(former, request("unfinished"))


def test_a_ledger_that_0_2_wrote(tmp_path):
    path = tmp_path / "survey.ledger"
    for end in ("", ".head"):
        shutil.copy(f"{FORMER}{end}", f"{path}{end}")
    entries = ledger.verify(path)
    (standing,) = ledger.standings(entries)
    asked = Request("x", Pure("1/10"), standing.neighbours, standing.contributions)
    ledger.raise_limit(Account(path, standing.dataset, 10), "more")
    ledger.charge(Account(path, standing.dataset), asked)
    assert ledger.verify(path)[: len(entries)] == entries


def test_an_earlier_version_refuses_a_ledger_with_an_index(account):
    """It compares the tables with its own before it reads a row: in one line, and nothing is spent."""
    from inbounds.ledger import sqlite

    ledger.charge(account, request())
    with closing(sqlite3.connect(account.ledger)) as connection:
        assert sqlite._objects(connection) != sqlite._ledger_objects(sqlite._FORMER)
