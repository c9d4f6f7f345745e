"""The ledger: amounts, promises, stored results, and every way to change it behind its back."""

import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
import warnings
import zlib
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inbounds import ledger
from inbounds.errors import OtherLimit
from inbounds.ledger import Account, BudgetRefused, LedgerError, Pure, Request, Unfinished, chain
from inbounds.ledger.amounts import write_amount as billionths

HERE = Path(__file__).parents[2]


def request(digest="a", epsilon="1/3", neighbours="substitute", contributions=1):
    return Request(digest, Pure(epsilon), neighbours, contributions, ("age: mean",))


@pytest.fixture
def account(tmp_path):
    return Account(tmp_path / "survey.ledger", "survey", Fraction(1))


@pytest.mark.claim("ledger")
def test_charges_add_up_and_stop_at_the_limit(account):
    first = ledger.charge(account, request())
    assert billionths(first.left) == 666_666_666
    assert billionths(ledger.charge(account, request("b")).left) == 333_333_332
    # Costs are rounded up: a third three times is more than one.
    with pytest.raises(
        BudgetRefused, match=r"0.333333332 of its limit 1 left, and this costs 0.333333334; nothing was"
    ):
        ledger.charge(account, request("c"))
    assert ledger.charge(account, request("c", "333333332/1000000000")).left is None
    (standing,) = ledger.standings(ledger.verify(account.ledger))
    assert (standing.spent, standing.limit, standing.charges) == (Pure(1), Pure(1), 3)


@pytest.mark.claim("ledger")
@settings(max_examples=50)
@given(st.lists(st.fractions(Fraction(1, 10**12), 3), min_size=1, max_size=8), st.fractions(Fraction(1, 10**6), 4))
def test_whole_billionths_never_pass_a_limit(epsilons, limit):
    """Whatever is charged: what was spent, exactly, is not above the limit."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        account, spent = Account(Path(folder) / "l", "d", limit), Fraction(0)
        for i, epsilon in enumerate(epsilons):
            try:
                ledger.charge(account, Request(str(i), Pure(epsilon), "substitute", 1))
                spent += epsilon
            except BudgetRefused:
                cost = -(-epsilon * 10**9 // 1)
                known = account.ledger.exists() and ledger.standings(ledger.read(account.ledger))
                left = billionths(known[0].left) if known else limit * 10**9 // 1
                assert cost > left
        assert spent <= limit


@pytest.mark.claim("ledger")
def test_the_same_request_gets_what_it_got_before(account):
    receipt = ledger.charge(account, request())
    assert ledger.find_stored(account, request("other")) is None
    with pytest.raises(
        Unfinished, match=r"\) but has no result: it is still running elsewhere, or was interrupted\. The charge"
    ):
        ledger.charge(account, request())
    with pytest.raises(Unfinished):
        ledger.find_stored(account, request())
    ledger.keep(account, receipt, '{"value": 1}')
    again = ledger.charge(account, request())
    assert (again.stored, again.left) == ('{"value": 1}', receipt.left)
    assert again.entry == receipt.entry
    assert ledger.find_stored(account, request()) == again
    with pytest.raises(LedgerError, match="already has a result"):
        ledger.keep(account, receipt, '{"value": 2}')
    anew = ledger.charge(account, request(), new=True)
    assert anew.stored is None
    assert billionths(anew.left) < billionths(receipt.left)
    # One that came to nothing does not hide the one that was paid for and kept.
    assert ledger.charge(account, request()).stored == '{"value": 1}'
    ledger.fail(account, anew, "DataError")
    assert ledger.charge(account, request()).stored == '{"value": 1}'
    ledger.fail(account, ledger.charge(account, request("b", "1/100")), "DataError")
    with pytest.raises(Unfinished, match=r"\) and failed\. The charge stands, .* release a plan with --new"):
        ledger.charge(account, request("b", "1/100"))


@pytest.mark.claim("ledger")
def test_what_was_left_is_told_as_it_was_after_the_charge(account):
    """Whatever other charges, other datasets and other limits came before and after it."""
    other = replace(account, dataset="other")
    ledger.charge(other, request("x", "1/7"))
    ledger.charge(account, request("first", "1/5"))
    receipt = ledger.charge(account, request())
    ledger.keep(account, receipt, "{}")
    ledger.charge(account, request("later", "1/4"))
    ledger.charge(other, request("y", "1/7"))
    ledger.raise_limit(replace(account, limit=Fraction(9)), "a new wave")
    again = ledger.find_stored(account, request())
    assert again.left == receipt.left
    assert billionths(receipt.left) == 10**9 - 2 * 10**8 - 333_333_334
    assert ledger.charge(account, request()).left == receipt.left


@pytest.mark.claim("ledger")
def test_a_ledger_that_was_taken_away(account):
    """The file beside it still says how far it had come."""
    ledger.charge(account, request())
    account.ledger.unlink()
    for ask in (ledger.find_stored, ledger.affordable, ledger.charge):
        with pytest.raises(LedgerError, match="it was set back, and charges are missing"):
            ask(account, request())


def test_one_promise_for_a_dataset(account):
    ledger.charge(account, request(epsilon="1/10"))
    for other, said in (({"neighbours": "add-remove"}, "neighbours"), ({"contributions": 2}, "contributions")):
        with pytest.raises(LedgerError, match=f"is charged with {said} .* do not add up to one guarantee"):
            ledger.charge(account, request("b", "1/10", **other))
    second = Account(account.ledger, "other", Fraction(2))
    ledger.charge(second, request("b", "1/10", "add-remove"))
    assert [one.dataset for one in ledger.standings(ledger.verify(account.ledger))] == ["survey", "other"]


def test_limits_change_by_an_act_of_their_own(account):
    ledger.charge(account, request())
    # A plan that states another limit does not change it.
    higher = Account(account.ledger, "survey", Fraction(5))
    with pytest.raises(BudgetRefused, match="a limit of 5 is stated here"):
        ledger.charge(higher, request("b", "2"))
    for why in ("", "  ", None):
        with pytest.raises(ValueError, match="why"):
            ledger.raise_limit(higher, why)
    with pytest.raises(LedgerError, match=r"below 0.333333334, which is already spent"):
        ledger.raise_limit(Account(account.ledger, "survey", Fraction(1, 10)), "less")
    with pytest.raises(LedgerError, match=r"no dataset 'survy' \(it has 'survey'\)"):
        ledger.raise_limit(Account(account.ledger, "survy", Fraction(2)), "more")
    with pytest.raises(TypeError, match="the new limit must be given"):
        ledger.raise_limit(Account(account.ledger, "survey"), "more")
    spent = Account(account.ledger, "survey", Fraction(333_333_334, 10**9))
    assert ledger.raise_limit(spent, "no more").left is None
    ledger.raise_limit(account, "as it was")
    assert ledger.raise_limit(higher, "second wave", who="board").limit == Pure(5)
    assert billionths(ledger.charge(account, request("b", "2")).left) == 2_666_666_666
    entry = [entry for entry in ledger.verify(account.ledger) if entry.kind == "limit"][-1]
    assert (entry.body["why"], entry.body["who"], entry.body["before"]) == ("second wave", "board", 10**9)


def test_another_limit_than_that_of_the_ledger_is_announced_and_a_smaller_one_binds(account):
    ledger.charge(account, request())
    before = ledger.read(account.ledger)
    smaller = Account(account.ledger, "survey", Fraction(1, 2))
    for ask in (ledger.charge, ledger.affordable):
        with pytest.raises(BudgetRefused, match=r"more than the limit of 0\.5 that is stated here; nothing was spent"):
            ask(smaller, request("b", "1/5"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(OtherLimit):
                ask(smaller, request("b", "1/10"))
    assert ledger.read(account.ledger) == before
    told = r"a limit of 0\.5 is stated for 'survey', but its limit in the ledger is 1, .* inbounds ledger raise"
    with pytest.warns(OtherLimit, match=told):
        assert billionths(ledger.affordable(smaller, request("b", "1/10"))) == 566_666_666
    with pytest.warns(OtherLimit, match=told):
        assert billionths(ledger.charge(smaller, request("b", "1/10")).left) == 566_666_666
    # The limit that a plan has by default is for a new dataset alone.
    default = Account(account.ledger, "survey", Fraction(1, 10), binding=False)
    assert billionths(ledger.charge(default, request("c", "1/10")).left) == 466_666_666


def test_nothing_is_made_for_what_is_refused(tmp_path):
    for account, asked in (
        (Account(tmp_path / "a", "d", Fraction(1)), request(epsilon="2")),
        (Account(tmp_path / "a", "d"), request()),
        (Account(tmp_path / "nowhere" / "a", "d", Fraction(1)), request()),
    ):
        with pytest.raises(LedgerError):
            ledger.charge(account, asked)
    with pytest.raises(LedgerError, match="there is no folder"):
        ledger.charge(Account(tmp_path / "nowhere" / "a", "d", Fraction(1)), request())
    assert list(tmp_path.iterdir()) == []
    for wrong in ({"dataset": " "}, {"dataset": "d", "limit": 0}, {"dataset": "d", "limit": -1}):
        with pytest.raises(ValueError):
            Account(tmp_path / "a", **wrong)
    with pytest.raises(ValueError, match="ledger must be a path"):
        Account("a\0b", "d")


@pytest.mark.claim("ledger")
def test_what_would_be_left_is_told_without_a_charge(account):
    asked = request(epsilon="1/4")
    assert ledger.affordable(account, asked) == Pure(0.75)
    assert ledger.find_stored(account, asked) is None
    assert not account.ledger.exists()
    # A process that died before its first charge leaves an empty file, and a folder is no ledger.
    account.ledger.touch()
    assert ledger.affordable(account, asked) == Pure(0.75)
    assert ledger.find_stored(account, asked) is None
    with pytest.raises(LedgerError, match="cannot be used"):
        ledger.find_stored(Account(account.ledger.parent, "survey"), asked)
    account.ledger.write_text("x")
    with pytest.raises(LedgerError, match="cannot be used"):
        ledger.find_stored(account, asked)
    account.ledger.unlink()
    ledger.charge(account, asked)
    known = Account(account.ledger, "survey")
    for _ in range(2):
        assert ledger.affordable(known, request("b", "1/4")) == Pure(0.5)
    assert ledger.affordable(known, request("b", "3/4")) is None
    with pytest.raises(BudgetRefused, match="nothing was spent"):
        ledger.affordable(known, request("b", "4/5"))
    with pytest.raises(LedgerError, match="do not add up to one guarantee"):
        ledger.affordable(known, request("b", "1/4", "add-remove"))
    with pytest.raises(LedgerError, match=r"\(it has 'survey'\); a new one needs a limit"):
        ledger.affordable(Account(account.ledger, "other"), asked)


def test_a_charge_fails_once_and_may_still_get_its_result(account):
    receipt = ledger.charge(account, request())
    ledger.fail(account, receipt, "OSError")
    with pytest.raises(LedgerError, match="is impossible"):
        ledger.fail(account, receipt, "OSError")
    ledger.keep(account, receipt, "{}")
    assert ledger.read_results(account.ledger) == {receipt.entry.sequence: "{}"}


def test_an_error_says_that_the_charge_stands_where_it_can(account):
    receipt = ledger.charge(account, request())
    for error, said in (
        (ValueError("bad"), "bad. This was found by reading the data, so the charge of 0.333333334 on"),
        (OSError("gone"), "gone"),
    ):
        with pytest.raises(type(error)) as raised, ledger.standing_charge(account, receipt):
            raise error
        assert str(raised.value).startswith(said)
        assert ("stands" in str(raised.value)) is isinstance(error, ValueError)
    assert [entry.kind for entry in ledger.read(account.ledger)] == ["ledger", "dataset", "charge", "failure"]


def test_a_broken_file_says_what_that_means_for_the_budget(account):
    receipt = ledger.charge(account, request())
    account.ledger.write_bytes(b"no database" * 100)
    for act, meaning in (
        (lambda: ledger.charge(account, request("b")), "; nothing was spent"),
        (lambda: ledger.keep(account, receipt, "{}"), "; the result could not be kept, and the charge stands"),
        (lambda: ledger.fail(account, receipt, "OSError"), "; the charge stands"),
        (lambda: ledger.raise_limit(account, "more"), "; the limit is as it was"),
        (lambda: ledger.read(account.ledger), ""),
    ):
        with pytest.raises(LedgerError) as refused:
            act()
        said = f"the ledger {str(account.ledger)!r} cannot be used (file is not a database){meaning}"
        assert str(refused.value) == said


def test_who_names_no_dataset_is_told_which_there_are(account, tmp_path):
    with pytest.raises(LedgerError, match=r"no dataset 'x' \(it has none yet\)"):
        ledger.charge(Account(account.ledger, "x"), request())
    ledger.charge(account, request())
    with pytest.raises(LedgerError, match=r"no dataset 'x' \(it has 'survey'\)"):
        ledger.charge(Account(account.ledger, "x"), request())
    ledger.charge(Account(account.ledger, "second", Fraction(1)), request())
    for place, names in ((account.ledger, "'survey', 'second'"), (tmp_path / "none", "none")):
        with pytest.raises(
            LedgerError, match=rf"does not have exactly one dataset \({names}\); name the one to charge"
        ):
            ledger.find_account(place)
    with pytest.raises(LedgerError, match=r"no dataset 'x' \(it has 'survey', 'second'\)"):
        ledger.charge(Account(account.ledger, "x"), request())


def test_names_are_written_as_they_are_or_not_at_all(account, monkeypatch):
    entry = ledger.charge(Account(account.ledger, "größe", Fraction(1)), request(), who="Zoë \udcff").entry
    assert entry.body["who"] == "Zoë ?"
    assert '"größe"' in entry.text

    def nobody():
        raise KeyError

    monkeypatch.setattr("getpass.getuser", nobody)
    assert ledger.charge(account, request("b")).entry.body["who"] == "unknown"


def test_a_standing_in_words():
    one = ledger.Standing("d", Pure(1), Pure(0.25), "substitute", 1, 1)
    assert str(one) == "d: 0.25 of 1 spent, 0.75 left (1 charge; substitute)"
    two = ledger.Standing("d", Pure(2), Pure(Fraction(10**9 + 1, 10**9)), "add-remove", 1, 2)
    assert str(two) == "d: 1.000000001 of 2 spent, 0.999999999 left (2 charges; add-remove)"


def test_a_request_costs_something():
    for epsilon in ("0", "-1"):
        with pytest.raises(ValueError, match="epsilon must be > 0"):
            request(epsilon=epsilon)
    with pytest.raises(ValueError, match="neighbours must be one of"):
        request(neighbours="swap")


def test_a_result_is_kept_in_the_ledger_that_has_its_charge(account, tmp_path):
    receipt = ledger.charge(account, request())
    other = Account(tmp_path / "other.ledger", "survey", Fraction(1))
    ledger.charge(other, request())
    with pytest.raises(LedgerError, match="no longer has the charge"):
        ledger.keep(other, receipt, "{}")
    assert ledger.read_results(other.ledger) == {}


def used(account, charges=4):
    """A ledger with some charges and results."""
    for i in range(charges):
        receipt = ledger.charge(account, request(str(i), "1/10"), who="somebody")
        ledger.keep(account, receipt, json.dumps({"value": i}))
    ledger.raise_limit(Account(account.ledger, account.dataset, Fraction(2)), "more")


def edited(path, *statements):
    """What somebody does who knows SQLite: the guards are dropped first, and put back."""
    with sqlite3.connect(path) as connection:
        guards = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall())
        for guard in guards:
            connection.execute(f"DROP TRIGGER {guard}")
        for statement in statements:
            connection.execute(*statement) if isinstance(statement, tuple) else connection.execute(statement)
        for guard in guards.values():
            if "DROP TABLE results" not in statements or "results" not in guard:
                connection.execute(guard)
    connection.close()


TAMPERINGS = {
    "a cost": "UPDATE entries SET body = replace(body, '100000000', '100000') WHERE kind = 'charge' AND sequence = 4",
    "a limit": "UPDATE entries SET body = replace(body, '1000000000', '9000000000') WHERE kind = 'dataset'",
    "a name": "UPDATE entries SET body = replace(body, 'somebody', 'nobody') WHERE sequence = 2",
    "a date": "UPDATE entries SET body = replace(body, '+00:00', '+01:00') WHERE sequence = 6",
    "a kind": "UPDATE entries SET kind = 'failure' WHERE sequence = 2",
    "a hash": "UPDATE entries SET hash = substr(hash, 2) || substr(hash, 1, 1) WHERE sequence = 3",
    "the chain": "UPDATE entries SET previous = hash WHERE sequence = 3",
    "an entry gone": "DELETE FROM entries WHERE sequence = 4",
    "the last gone": "DELETE FROM entries WHERE sequence = (SELECT max(sequence) FROM entries)",
    "the last two gone": "DELETE FROM entries WHERE sequence >= (SELECT max(sequence) - 1 FROM entries)",
    "the first gone": "DELETE FROM entries WHERE sequence = 0",
    "all gone": "DELETE FROM entries",
    "renumbered": "UPDATE entries SET sequence = sequence + 100 WHERE sequence > 4",
    "a result": "UPDATE results SET content = x'789c' WHERE charge = 2",
    "another's result": "UPDATE results SET content = (SELECT content FROM results WHERE charge = 4) WHERE charge = 2",
    "a result gone": "DELETE FROM results WHERE charge = 2",
    "a table gone": "DROP TABLE results",
    "an extra result": ("INSERT INTO results VALUES (3, ?)", (zlib.compress(b"{}"),)),
    "no JSON": "UPDATE entries SET body = 'x' WHERE sequence = 5",
    "no JSON at the beginning": "UPDATE entries SET body = 'x' WHERE sequence = 0",
}


@pytest.mark.claim("ledger-verify")
@pytest.mark.parametrize("what", TAMPERINGS)
def test_tampering_is_found(account, what):
    used(account)
    ledger.verify(account.ledger)
    edited(account.ledger, TAMPERINGS[what])
    with pytest.raises(LedgerError):
        ledger.verify(account.ledger)


@pytest.mark.claim("ledger-verify")
def test_an_inserted_entry_and_a_chain_made_anew(account):
    """Even one who rewrites the whole chain is found by a record that names an old hash."""
    used(account)
    chain = ledger.verify(account.ledger)
    anchor = (chain[4].sequence, chain[4].hash)
    ledger.verify(account.ledger, [anchor, (0, chain[0].hash)])
    for beyond in (len(chain), -1):
        with pytest.raises(LedgerError, match="is not the one in the record"):
            ledger.verify(account.ledger, [(beyond, chain[-1].hash)])
    rows, before = [], "0" * 64
    for entry in chain:
        body = json.dumps(
            entry.body | ({"who": "me"} if entry.kind == "charge" else {}), sort_keys=True, ensure_ascii=False
        )
        text = json.dumps([entry.sequence, entry.kind, body, before])
        hash_ = hashlib.sha256(text.encode()).hexdigest()
        rows.append((entry.sequence, entry.kind, body, before, hash_))
        before = hash_
    edited(
        account.ledger, "DELETE FROM entries", *(("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", row) for row in rows)
    )
    with pytest.raises(LedgerError, match="it was set back"):
        ledger.verify(account.ledger)
    Path(f"{account.ledger}.head").unlink()
    # The chain itself now holds together: this is what the record is for.
    ledger.verify(account.ledger)
    with pytest.raises(LedgerError, match="is not the one in the record"):
        ledger.verify(account.ledger, [anchor])


IMPOSSIBLE = {
    "a dataset again": (
        "dataset",
        {"dataset": "survey", "limit": 10**9, "neighbours": "substitute", "contributions": 1},
    ),
    "a negative cost": ("charge", {"dataset": "survey", "request": "x", "cost": -(10**9), "epsilon": "-1", "what": []}),
    "too small a cost": ("charge", {"dataset": "survey", "request": "x", "cost": 1, "epsilon": "1/10", "what": []}),
    "beyond the limit": ("charge", {"dataset": "survey", "request": "x", "cost": 10**10, "epsilon": "10", "what": []}),
    "a free charge": ("charge", {"dataset": "survey", "request": "x", "cost": 0, "epsilon": "0", "what": []}),
    "no fraction": ("charge", {"dataset": "survey", "request": "x", "cost": 1, "epsilon": "x", "what": []}),
    "over zero": ("charge", {"dataset": "survey", "request": "x", "cost": 1, "epsilon": "1/0", "what": []}),
    "no number": ("charge", {"dataset": "survey", "request": "x", "cost": float("nan"), "epsilon": "1", "what": []}),
    "no number in a list": (
        "charge",
        {"dataset": "survey", "request": "x", "cost": 10**8, "epsilon": "1/10", "what": [float("nan")]},
    ),
    "a double": ("charge", {"dataset": "survey", "request": "x", "cost": 1e8, "epsilon": "1/10", "what": []}),
    "an infinite limit": ("limit", {"dataset": "survey", "limit": float("inf"), "before": 2 * 10**9, "why": "w"}),
    "another before": ("limit", {"dataset": "survey", "limit": 5 * 10**9, "before": 10**9, "why": "w"}),
    "no reason": ("limit", {"dataset": "survey", "limit": 5 * 10**9, "before": 2 * 10**9, "why": " "}),
    "no such dataset": ("limit", {"dataset": "other", "limit": 5 * 10**9, "before": 2 * 10**9, "why": "w"}),
    "an unknown kind": ("gift", {"dataset": "survey"}),
    "too little": ("charge", {"dataset": "survey"}),
    "too much": ("failure", {"charge": 2, "why": "w", "more": 1}),
    "a result of nothing": ("result", {"charge": 1, "digest": "0"}),
    "a second result": ("result", {"charge": 2, "digest": "0"}),
    "an unknown promise": ("dataset", {"dataset": "x", "limit": 1, "neighbours": "swap", "contributions": 1}),
    "a promise to nobody": ("dataset", {"dataset": "x", "limit": 1, "neighbours": "substitute", "contributions": 0}),
    "a negative limit": ("dataset", {"dataset": "x", "limit": -1, "neighbours": "substitute", "contributions": 1}),
    "a failure of what was kept": ("failure", {"charge": 2, "why": "w"}),
    "another beginning": ("ledger", {"format": "inbounds-ledger/1", "id": "x"}),
}


@pytest.mark.claim("ledger-verify")
@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_true_hashes_do_not_make_an_entry_true(account, what):
    """Anybody can compute a hash; what an entry says must be possible, too."""
    used(account)
    last = ledger.read(account.ledger)[-1]
    kind, body = IMPOSSIBLE[what]
    entry = ledger.Entry.after(last, kind, body | {"when": "now", "who": "me"})
    edited(account.ledger, ("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", entry.row))
    for act in (lambda: ledger.verify(account.ledger), lambda: ledger.charge(account, request("later", "1/10"))):
        with pytest.raises(LedgerError, match="the ledger was changed"):
            act()


@pytest.mark.claim("ledger-verify")
def test_an_entry_that_follows_another_chain(account):
    used(account, 1)
    chain = ledger.read(account.ledger)
    body = {
        "dataset": "survey",
        "request": "x",
        "cost": 10**8,
        "epsilon": "1/10",
        "what": [],
        "when": "now",
        "who": "me",
    }
    elsewhere = replace(chain[-1], hash=chain[-2].hash)
    for before in (elsewhere, replace(chain[-1], sequence=chain[-1].sequence + 1), chain[-1]):
        entry = ledger.Entry.after(before, "charge", body)
        copy = account.ledger.with_name(f"{entry.sequence}.{entry.previous}")
        shutil.copy(account.ledger, copy)
        edited(copy, ("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", entry.row))
        if before is chain[-1]:
            # The chain holds together; that the entry is not filed is another matter.
            ledger.read(copy)
            with pytest.raises(LedgerError, match="its index is not what follows from its entries"):
                ledger.verify(copy)
            continue
        with pytest.raises(LedgerError, match="does not follow from those before it"):
            ledger.verify(copy)


@pytest.mark.claim("ledger-verify")
def test_rows_that_are_no_entries(account):
    used(account, 1)
    last = ledger.read(account.ledger)[-1]
    for i, body in enumerate(("[1]", "[" * 100_000, '{"a":1}', "{")):
        copy = account.ledger.with_name(f"copy{i}")
        shutil.copy(account.ledger, copy)
        text = json.dumps([last.sequence + 1, "charge", body, last.hash])
        row = (last.sequence + 1, "charge", body, last.hash, hashlib.sha256(text.encode()).hexdigest())
        edited(copy, ("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", row))
        with pytest.raises(LedgerError, match="the ledger was changed"):
            ledger.verify(copy)


@pytest.mark.claim("ledger-verify")
def test_no_alarm_while_others_write(account):
    """Entries, results and the file beside them are seen as they were at one moment."""
    code = RACE.split("try:")[0] + (
        "for i in range(60):\n"
        "    asked = ledger.Request(str(i), ledger.Pure(Fraction(1, 10**6)), 'substitute', 1)\n"
        "    ledger.keep(account, ledger.charge(account, asked), '{}')\n"
    )
    ledger.charge(account, request("first", "1/10"))
    other = Account(account.ledger, "d", Fraction(1))
    ledger.charge(other, request("first", "1/10"))
    process = subprocess.Popen([sys.executable, "-c", code, account.ledger])
    seen = 0
    while process.poll() is None:
        seen = max(seen, len(ledger.verify(account.ledger)))
    assert process.returncode == 0
    assert len([entry for entry in ledger.verify(account.ledger) if entry.kind != "checkpoint"]) == 125
    assert seen > 10


@pytest.mark.claim("ledger")
def test_a_crash_within_a_commit_is_rolled_back(account):
    """A journal that is left behind: whoever comes next, to read or to write, finds the ledger as it was."""
    used(account, 2)
    before = ledger.read(account.ledger)
    code = (
        "import os, signal, sqlite3, sys\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute('PRAGMA cache_size = 1')\n"
        "c.execute('BEGIN IMMEDIATE')\n"
        "for i in range(200):\n"
        "    c.execute('INSERT INTO results VALUES (?, ?)', (1000 + i, os.urandom(3000)))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, account.ledger], check=False)
    assert Path(f"{account.ledger}-journal").stat().st_size > 0
    assert ledger.find_stored(account, request("0", "1/10")) is not None
    assert ledger.verify(account.ledger) == before


def test_links_lead_to_one_head(account, tmp_path):
    """Charged through a link, put back behind it."""
    used(account, 1)
    copy, link = tmp_path / "copy", tmp_path / "link"
    shutil.copy(account.ledger, copy)
    link.symlink_to(account.ledger)
    ledger.charge(Account(link, "survey"), request("later", "1/10"))
    shutil.copy(copy, account.ledger)
    with pytest.raises(LedgerError, match="it was set back"):
        ledger.verify(account.ledger)


@pytest.mark.claim("ledger-verify")
def test_a_ledger_that_was_put_back(account, tmp_path):
    used(account, 2)
    copy = tmp_path / "copy"
    shutil.copy(account.ledger, copy)
    receipt = ledger.charge(account, request("later", "1/10"))
    shutil.copy(copy, account.ledger)
    for act in (
        lambda: ledger.verify(account.ledger),
        lambda: ledger.charge(account, request("again", "1/10")),
        lambda: ledger.raise_limit(account, "why"),
    ):
        with pytest.raises(LedgerError, match=r"older than .* it was set back, and charges are missing"):
            act()
    # Together with the file beside it only the record of a release knows.
    Path(f"{account.ledger}.head").unlink()
    ledger.verify(account.ledger)
    with pytest.raises(LedgerError, match="another copy of it, or it was set back to an earlier state"):
        ledger.verify(account.ledger, [(receipt.entry.sequence, receipt.entry.hash)])
    # One that is gone altogether.
    ledger.accept(account.ledger, "the charge that is missing was a trial")
    ledger.charge(account, request("again", "1/10"))
    account.ledger.unlink()
    with pytest.raises(LedgerError, match="it was set back"):
        ledger.charge(account, request("b", "1/10"))


def test_a_ledger_without_entries_is_none(account):
    used(account, 1)
    edited(account.ledger, "DELETE FROM entries")
    Path(f"{account.ledger}.head").unlink()
    with pytest.raises(LedgerError, match="not a ledger of the format inbounds-ledger/1"):
        ledger.read(account.ledger)


def test_the_file_guards_itself(account):
    used(account, 1)
    with sqlite3.connect(account.ledger) as connection:
        for statement in ("UPDATE entries SET kind = 'x'", "DELETE FROM entries", "DELETE FROM results"):
            with pytest.raises(sqlite3.IntegrityError, match="only added"):
                connection.execute(statement)
    connection.close()


def test_files_that_are_no_ledgers(tmp_path):
    text, empty, other = tmp_path / "text", tmp_path / "empty", tmp_path / "other"
    text.write_text("no database" * 200)
    empty.touch()
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    for path in (text, other):
        before = path.read_bytes()
        with pytest.raises(LedgerError):
            ledger.charge(Account(path, "d", Fraction(1)), request())
        with pytest.raises(LedgerError):
            ledger.verify(path)
        assert path.read_bytes() == before
    with pytest.raises(LedgerError):
        ledger.verify(empty)
    with pytest.raises(LedgerError, match="there is no ledger"):
        ledger.verify(tmp_path / "none")
    # An empty file is where a ledger begins: a process that died before its first charge leaves one.
    assert ledger.charge(Account(empty, "d", Fraction(1)), request()).left is not None


def test_entries_prove_themselves(account):
    entry = ledger.charge(account, request()).entry
    plain = json.loads(json.dumps(entry.to_dict()))
    assert ledger.Entry.from_dict(plain) == entry
    for lie in ({"sequence": 9}, {"kind": "result"}, {"body": plain["body"] | {"cost": 1}}, {"hash": "0" * 64}):
        with pytest.raises(LedgerError):
            ledger.Entry.from_dict(plain | lie)
    with pytest.raises(LedgerError, match="malformed"):
        ledger.Entry.from_dict({"sequence": 1})
    first = ledger.read(account.ledger)[0]
    assert ledger.Entry.from_dict(first.to_dict()) == first
    assert first.body["format"] == "inbounds-ledger/1"
    assert list(json.loads(entry.text)) == sorted(entry.body)
    # With a true hash, too.
    for lie in ({"sequence": -1}, {"sequence": 1.0}, {"sequence": True}, {"body": plain["body"] | {"more": 1}}):
        told = plain | lie
        text = json.dumps(told["body"], sort_keys=True)
        proof = json.dumps([told["sequence"], told["kind"], text, told["previous"]])
        with pytest.raises(LedgerError, match="malformed"):
            ledger.Entry.from_dict(told | {"hash": hashlib.sha256(proof.encode()).hexdigest()})


@pytest.mark.claim("ledger-verify")
def test_a_chain_written_by_hand_is_read():
    """The format, kind by kind, with nothing of ours: whoever keeps a ledger can check it without this package."""
    act = {"when": "2026-01-01T00:00:00Z", "who": "me"}
    said = [
        ("ledger", {"format": "inbounds-ledger/1", "id": "x"}),
        ("dataset", {"dataset": "d", "limit": 2 * 10**9, "neighbours": "add-remove", "contributions": 3}),
        ("charge", {"dataset": "d", "request": "r", "cost": 10**9, "epsilon": "1", "what": ["age: mean"]}),
        ("failure", {"charge": 2, "why": "no table"}),
        ("result", {"charge": 2, "digest": "f" * 64}),
        # Down to what is spent, and no further.
        ("limit", {"dataset": "d", "limit": 10**9, "before": 2 * 10**9, "why": "enough"}),
    ]
    rows, before = [], 64 * "0"
    for i, (kind, body) in enumerate(said):
        text = json.dumps(dict(sorted((body | act).items())))
        rows.append((i, kind, text, before, hashlib.sha256(json.dumps([i, kind, text, before]).encode()).hexdigest()))
        before = rows[-1][-1]
    read = chain.parse_rows(rows)
    (standing,) = read.standings
    assert standing == chain.Standing("d", Pure(1), Pure(1), "add-remove", 3, 1)
    assert standing.left is None
    assert [entry.kind for entry in read.entries] == [kind for kind, _ in said]
    for cut in range(1, len(rows)):
        with pytest.raises(LedgerError, match="entry 0 does not follow"):
            chain.parse_rows(rows[cut:])
    with pytest.raises(LedgerError, match="not a ledger of the format inbounds-ledger/1"):
        chain.parse_rows([])


RACE = """
import sys
from fractions import Fraction
from inbounds import ledger
account = ledger.Account(sys.argv[1], "d", Fraction(1))
try:
    receipt = ledger.charge(account, ledger.Request(sys.argv[2], ledger.Pure(Fraction(1, 10)), "substitute", 1))
    print("stored" if receipt.stored else "charged")
except ledger.BudgetRefused:
    print("refused")
except ledger.Unfinished:
    print("pending")
"""


def raced(path, digests):
    started = [
        subprocess.Popen([sys.executable, "-c", RACE, path, digest], stdout=subprocess.PIPE, text=True)
        for digest in digests
    ]
    return [process.communicate()[0].strip() for process in started]


@pytest.mark.claim("ledger")
def test_64_processes_race_for_the_last_unit(account):
    """Exactly as many succeed as the limit allows, with a checkpoint among them."""
    used(account, 10)
    before = len(ledger.read(account.ledger))
    said = raced(account.ledger, [str(i) for i in range(64)])
    assert (said.count("charged"), said.count("refused")) == (10, 54)
    entries = ledger.verify(account.ledger)
    assert ledger.standings(entries)[1].left is None
    assert "checkpoint" in [entry.kind for entry in entries[before:]]
    assert {path.name for path in account.ledger.parent.iterdir()} == {"survey.ledger", "survey.ledger.head"}


@pytest.mark.claim("ledger")
def test_processes_that_ask_for_the_same(tmp_path):
    said = raced(tmp_path / "l", ["same"] * 12)
    assert (said.count("charged"), said.count("pending")) == (1, 11)


def test_the_chain_is_one(account):
    used(account)
    for before, after in pairwise(ledger.read(account.ledger)):
        assert after.previous == before.hash
