"""One draw for a charge, and nothing paid is lost: exactly, against an adversary who stops runs when it likes."""

import itertools
import math
import re
from collections import defaultdict
from contextlib import contextmanager
from fractions import Fraction

import pytest

import inbounds as ib
from inbounds.errors import LedgerError
from inbounds.ledger import Account
from inbounds.ledger import chain as chains
from inbounds.road import run
from tests.ledger.stores import DictStore

TABLE = {"ill": ["yes", "no", "no"]}
NEIGHBOUR = {"ill": ["yes", "yes", "no"]}


class Stopped(BaseException):
    """The process was killed: nothing that it does from here on counts."""


class Clock:
    """Counts what a process does. At a certain step it is killed."""

    def __init__(self):
        self.steps, self.end, self.longest = 0, None, 0

    def start(self, end=None):
        self.steps, self.end = 0, end

    def tick(self, *_):
        self.steps += 1
        self.longest = max(self.longest, self.steps)
        if self.end is not None and self.steps >= self.end:
            raise Stopped


class StoppedStore(DictStore):
    """A store that is lost with its process: what was not committed is not there."""

    def __init__(self, clock):
        super().__init__()
        self.clock = clock

    def read(self):
        self.clock.tick()
        return super().read()

    def write(self, meaning):
        self.clock.tick()
        return self._write(super().write(meaning))

    @contextmanager
    def _write(self, transaction):
        with transaction as rows:
            yield _Ticking(rows, self.clock)
            # To commit is one more step, before which nothing is kept.
            self.clock.tick()


class _Ticking:
    def __init__(self, rows, clock):
        self._rows, self._clock = rows, clock

    def __getattr__(self, name):
        value = getattr(self._rows, name)
        if name in ("add_entry", "add_result", "reserve", "write_draw", "settle"):
            self._clock.tick()
        return value


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def places(monkeypatch, clock):
    """A fresh ledger for each name."""
    stores = defaultdict(lambda: StoppedStore(clock))
    monkeypatch.setattr("inbounds.ledger.access.open_store", lambda path: stores[path.name])
    return stores


def ask(table, name, **more):
    return ib.count(table, "ill", level="yes", epsilon=1, ledger=Account(name, "d", 1), **more)


class Script:
    """Draws that are chosen by a test, each of which takes as many steps as its value says."""

    def __init__(self, monkeypatch, clock):
        self.values, self.begun, self.clock = [], 0, clock
        monkeypatch.setattr(run, "draw", self.draw)

    def draw(self, draft, tables):
        self.begun += 1
        law = draft.record.certificate.mechanism
        (self.true,) = [law.locate(number) for (number,) in draft.exact(*tables)]
        self.law = law
        if self.begun > len(self.values):
            raise AssertionError("another draw was begun than the test foresaw")
        index = self.values[self.begun - 1]
        for _ in range(1 + index):
            self.clock.tick()
        return run.replace(draft.record, noisy=(law.value(index),))


def watch(table, end, values, script, places):
    """What an adversary sees who kills the first run at a step and lets a second one go on; and the draws begun.

    It sees how long each run took, its value or message, and what the ledger has after it, but for the draw itself.
    """
    script.begun, script.values = 0, values
    places.clear()
    view = []
    for last in (end, None):
        script.clock.start(last)
        try:
            view.append(ask(table, "l").value)
        except Stopped:
            view.append("killed")
        except LedgerError as error:
            view.append(re.sub(r"\d{4}-.*?Z?(?= \()", "then", str(error)))
        store = places["l"]
        # How far a result compresses depends on hashes that differ in each run.
        sizes = sorted(store.results), [(charge, len(content)) for charge, content in store.draws.items()]
        view.append((script.clock.steps, len(store.rows), sizes))
    return repr(view), script.begun


def list_views(table, end, script, places):
    """Each view with its exact probability, over all draws."""
    views = defaultdict(Fraction)
    for values in itertools.product(range(4), repeat=2):
        view, begun = watch(table, end, values, script, places)
        if begun < 2 and values[begun:] != (0,) * (2 - begun):
            # A draw that was not begun has no value.
            continue
        views[view] += math.prod(
            (Fraction(script.law.probability(value, script.true).lower) for value in values[:begun]), start=Fraction(1)
        )
    return views


def worst_loss(script, places, longest):
    """The largest loss over all that an adversary may see, whenever it kills the first run."""
    worst = 0.0
    for end in [None, *range(1, longest + 1)]:
        one, other = (list_views(table, end, script, places) for table in (TABLE, NEIGHBOUR))
        for views in (one, other):
            assert sum(views.values()) == pytest.approx(1, abs=1e-12)
        for view in {*one, *other}:
            worst = max(worst, abs(math.log(one[view] / other[view])) if one[view] and other[view] else math.inf)
    return worst


@pytest.mark.claim("drawn-once")
@pytest.mark.filterwarnings("ignore:.*released from")
def test_an_adversary_who_kills_a_run_learns_no_more_than_was_paid_for(monkeypatch, clock, places):
    """All draws of a small mechanism, all steps: the time that a draw takes even shows its value."""
    script = Script(monkeypatch, clock)
    watch(TABLE, None, (3, 0), script, places)
    assert clock.longest > 20
    assert worst_loss(script, places, clock.longest) <= 1 + 1e-12


@pytest.mark.filterwarnings("ignore:.*released from")
def test_to_draw_again_after_a_lost_draw_would_cost_more(monkeypatch, clock, places):
    """The control: without the mark of the draw, the same adversary gets more than ε."""
    script = Script(monkeypatch, clock)
    watch(TABLE, None, (3, 0), script, places)
    monkeypatch.setattr(chains.Chain, "_has_step", lambda *_: True)
    from inbounds.ledger import draws

    monkeypatch.setattr(draws, "may_repeat", lambda chain, charge: charge not in chain.kept)
    monkeypatch.setattr("inbounds.ledger.spending.may_repeat", draws.may_repeat)
    monkeypatch.setattr(draws, "DRAWING", -1)
    real = chains.Chain._note_step

    def forget(self, entry):
        if entry.kind != "drawing":
            real(self, entry)

    monkeypatch.setattr(chains.Chain, "_note_step", forget)
    assert worst_loss(script, places, clock.longest) > 1.05
