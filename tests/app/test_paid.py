"""Nothing that was paid for is lost: what fails before the draw costs nothing the next time, what is drawn is kept."""

import json
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

import inbounds as ib
from inbounds import ledger
from inbounds.errors import DataError, EngineError, LedgerError, Unfinished
from inbounds.ledger import Account, Pure, sqlite
from inbounds.ledger.turns import hold_turn, lock_path
from inbounds.road import run
from inbounds.road.drawn import draw_length, read_draws, write_draws
from inbounds.road.signals import hold_signals
from tests.release.cases import every_call, table

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import faults  # noqa: E402

AGES = {"age": [20.0, 30.0, 40.0, 50.0]}
CALLS = every_call()


@pytest.fixture
def account(tmp_path):
    return Account(tmp_path / "l", "d", 1)


def ask(account, data=AGES, **more):
    return ib.mean(data, "age", bounds=(0, 100), epsilon="0.5", ledger=account, **more)


def kinds(account):
    return [entry.kind for entry in ledger.verify(account.ledger)]


def spent(account):
    return ledger.standings(ledger.read(account.ledger))[0].spent


def fail_once(monkeypatch, name, error):
    """The next call of a step of the release fails."""
    real, left = getattr(run, name), [error]

    def failing(*args, **kwargs):
        if left:
            raise left.pop()
        return real(*args, **kwargs)

    monkeypatch.setattr(run, name, failing)


# Before the draw


@pytest.mark.claim("drawn-once")
@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), MemoryError(), SystemExit(1), OSError("disk"), EngineError("x")]
)
def test_what_stops_before_the_draw_costs_nothing_the_next_time(account, monkeypatch, error):
    fail_once(monkeypatch, "count_exactly", error)
    with pytest.raises(type(error)):
        ask(account)
    assert kinds(account) == ["ledger", "dataset", "charge", "attempt"]
    again = ask(account)
    assert 0 <= again.value <= 100
    assert spent(account) == Pure("0.5")
    assert kinds(account)[4:] == ["attempt", "drawing", "drawn", "result"]


def test_an_engine_that_fails_says_that_the_charge_is_kept(account, monkeypatch):
    for attempt in (1, 2, 3):
        fail_once(
            monkeypatch, "count_exactly", EngineError("the table's engine failed with IOException", "IOException")
        )
        with pytest.raises(EngineError) as failed:
            ask(account)
        kept = "Nothing was drawn, and the charge of 0.5 on 'd' is kept: the same request again costs nothing"
        last = "This was the last attempt, so the charge of 0.5 on 'd' stands; 0.5 is left"
        assert str(failed.value).endswith(last if attempt == 3 else kept)
    # How a count ends may depend on the table, so that it may not end too often.
    with pytest.raises(Unfinished, match="the table was counted 3 times, and none of the runs came to an end"):
        ask(account)
    assert kinds(account).count("attempt") == 3


def test_a_new_draw_that_was_interrupted_is_not_charged_again(tmp_path, monkeypatch):
    plan = faults.write_plan(tmp_path / "a")
    ib.release(plan)
    fail_once(monkeypatch, "count_exactly", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        ib.release(plan, new=True)
    # Without new= there is a result. With it, the interrupted draw goes on.
    assert ib.release(plan).stored
    assert not ib.release(plan, new=True).stored
    book = tmp_path / "a" / "l"
    assert [entry.kind for entry in ledger.verify(book)].count("charge") == 2
    assert not ib.release(plan, new=True).stored
    assert [entry.kind for entry in ledger.verify(book)].count("charge") == 3


@pytest.mark.claim("drawn-once")
def test_a_refusal_is_in_the_ledger_before_it_is_shown(account, monkeypatch):
    holes = {"age": [20.0, None, 40.0, 50.0]}
    real = sqlite.SQLiteRows.add_entry

    def full(self, entry):
        if entry.kind == "failure":
            raise sqlite3.OperationalError("database or disk is full")
        real(self, entry)

    monkeypatch.setattr(sqlite.SQLiteRows, "add_entry", full)
    with pytest.raises(LedgerError, match="disk is full") as hidden:
        ask(account, holes)
    # The answer about the table is not in the error, nor in what it came from.
    shown = f"{hidden.value} {hidden.value.__context__} {hidden.value.__cause__}"
    assert "missing" not in shown
    monkeypatch.setattr(sqlite.SQLiteRows, "add_entry", real)
    with pytest.raises(DataError, match="missing"):
        ask(account, holes)
    assert kinds(account)[-1] == "failure"
    with pytest.raises(Unfinished, match="and failed"):
        ask(account)


@pytest.mark.filterwarnings("ignore")
def test_an_engine_that_cannot_run_the_query_is_found_before_the_charge(tmp_path, account):
    ibis = pytest.importorskip("ibis")
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("CREATE TABLE t (age REAL)")
        connection.executemany("INSERT INTO t VALUES (?)", [(float(age),) for age in AGES["age"]])
    with pytest.raises(EngineError, match=r"Ibis cannot run the query of this release .*; nothing was spent"):
        ask(account, ibis.sqlite.connect(tmp_path / "t.db").table("t"), rows=4)
    assert not account.ledger.exists()


# The draw


@pytest.mark.parametrize("name", CALLS)
def test_a_stored_draw_is_the_draw_and_its_length_is_public(name, monkeypatch):
    real, seen = run._share_draws, []

    def checked(drafts, draws, key):
        first = run.list_draws(drafts)
        content = write_draws(draws, key)
        assert len(content) == draw_length(first)
        back, stored = read_draws(content, first)
        assert (back, stored[: len(key)]) == (dict(draws), key)
        with pytest.raises(LedgerError, match="its stored draw is not one of this request"):
            read_draws(content + b"\0", first)
        seen.append(name)
        return real(drafts, draws, key)

    monkeypatch.setattr(run, "_share_draws", checked)
    CALLS[name](table(210), epsilon=1)
    assert seen


@pytest.mark.claim("drawn-once")
@pytest.mark.parametrize("name", ["draw", "write_draws"])
def test_what_fails_in_the_draw_is_not_drawn_again(account, monkeypatch, name):
    fail_once(monkeypatch, name, MemoryError())
    with pytest.raises(LedgerError, match=r"could not be stored \(MemoryError\).* so the charge of 0.5 on 'd' stands"):
        ask(account)
    assert kinds(account)[-2:] == ["drawing", "failure"]
    with pytest.raises(Unfinished, match="and failed"):
        ask(account)


def test_a_draw_that_is_stored_becomes_the_result_without_the_table(account, monkeypatch):
    fail_once(monkeypatch, "_finish", OSError("disk"))
    draws = []
    real = run.draw
    monkeypatch.setattr(run, "draw", lambda *args: draws.append(real(*args)) or draws[-1])
    with pytest.raises(OSError, match="disk"):
        ask(account)
    assert kinds(account)[-1] == "drawn"
    # The table may be gone by now; its size is still stated, and its name.
    monkeypatch.setattr(run, "count_exactly", None)
    assert ask(account).noisy == draws[0].noisy
    assert len(draws) == 1
    # What was reserved is given back.
    with sqlite3.connect(account.ledger) as connection:
        assert connection.execute("SELECT count(*) FROM draws").fetchone() == (0,)


def test_a_stored_draw_that_was_changed_is_refused(account, monkeypatch):
    fail_once(monkeypatch, "_finish", OSError("disk"))
    with pytest.raises(OSError, match="disk"):
        ask(account)
    with sqlite3.connect(account.ledger) as connection:
        content = bytearray(connection.execute("SELECT content FROM draws").fetchone()[0])
        content[-1] ^= 1
        connection.execute("UPDATE draws SET content = ?", (bytes(content),))
    with pytest.raises(LedgerError, match="the draw of entry 2 is not what was stored"):
        ask(account)
    with sqlite3.connect(account.ledger) as connection:
        connection.execute("DELETE FROM draws")
    with pytest.raises(LedgerError, match="the draw of entry 2 is not what was stored"):
        ask(account)


def _interrupt_held(told):
    with hold_signals():
        signal.raise_signal(signal.SIGINT)
        told.append("not interrupted")


def test_signals_wait_for_the_draw():
    told = []
    before = signal.signal(signal.SIGTERM, lambda *_: told.append("handled"))
    try:
        with hold_signals():
            signal.raise_signal(signal.SIGTERM)
            assert not told
        assert told == ["handled"]
        with pytest.raises(KeyboardInterrupt):
            _interrupt_held(told)
        assert told[-1] == "not interrupted"
        # In another thread there is nothing to hold.
        thread = threading.Thread(target=lambda: hold_signals().__enter__())
        thread.start()
        thread.join()
        assert signal.getsignal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


# Everything together


@pytest.mark.filterwarnings("ignore:.*released from")
def test_equal_requests_at_the_same_moment_wait_for_the_one_result(account, monkeypatch):
    real, entered, go = run.count_exactly, threading.Event(), threading.Event()

    def slow(*args):
        entered.set()
        go.wait()
        return real(*args)

    monkeypatch.setattr(run, "count_exactly", slow)
    values, waiting = [], threading.Semaphore(0)
    monkeypatch.setattr(
        "inbounds.road.run.hold_turn",
        lambda account, request, _: hold_turn(account, request, lambda _: waiting.release()),
    )

    def work():
        values.append(ask(account).value)

    threads = [threading.Thread(target=work) for _ in range(4)]
    threads[0].start()
    entered.wait()
    for thread in threads[1:]:
        thread.start()
        waiting.acquire()
    go.set()
    for thread in threads:
        thread.join()
    assert len(values) == 4
    assert len(set(values)) == 1
    assert Counter(kinds(account))["charge"] == Counter(kinds(account))["drawing"] == 1
    assert not lock_path(account.ledger).exists()


@pytest.mark.claim("drawn-once")
def test_results_after_an_interruption_have_the_distribution_that_was_paid_for(tmp_path, monkeypatch):
    """A G-test of counts that were interrupted at a random step, against the exact distribution; and of others."""
    monkeypatch.setattr(sqlite, "_DURABILITY", "OFF")
    rng, values, law = np.random.default_rng(1), [], None
    steps = ["count_exactly", "try_queries", "draw_key", "_finish", "read_draws", "_share_draws"]
    for i in range(400):
        account = Account(tmp_path / f"l{i}", "d", 1)
        call = lambda account=account: ib.count(pl.DataFrame({"a": [1, 0, 0]}), "a", level=1, epsilon=1, ledger=account)  # noqa: E731
        with monkeypatch.context() as patch:
            step = steps[rng.integers(len(steps))]
            fail_once(patch, step, KeyboardInterrupt())
            try:
                made = call()
            except KeyboardInterrupt:
                made = call()
        values.append(int(made.noisy[0]))
        law = made.certificate.mechanism
    expected = np.array([float(law.probability(k, 1).lower) for k in range(4)]) * len(values)
    observed = np.bincount(values, minlength=4)
    assert stats.power_divergence(observed, expected, lambda_=0).pvalue > 1e-9
    # The control: a neighbour's distribution is told apart.
    other = np.array([float(law.probability(k, 2).lower) for k in range(4)]) * len(values)
    assert stats.power_divergence(observed, other, lambda_=0).pvalue < 1e-9


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="processes are forked")
def test_a_sample_of_faults():
    """`tools/faults.py` with a fault at every so many steps: what is lost was lost in the draw."""
    command = [sys.executable, ROOT / "tools" / "faults.py", "--every", "14", "--kills", "0", "--json"]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    outcomes = [json.loads(line) for line in told.stdout.splitlines()]
    assert {outcome["kind"] for outcome in outcomes} == set(faults.KINDS)
    assert len(outcomes) > 30
    lost = [outcome for outcome in outcomes if not outcome["result"]]
    assert {outcome["stage"] for outcome in lost} <= {"drawing", "failure"}
    assert len(lost) <= 5
    assert {outcome["kind"] for outcome in lost} <= {"kill", "disk", "memory"}
