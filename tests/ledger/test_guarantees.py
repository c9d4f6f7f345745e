"""The seam between ledgers and guarantees: a ledger counts whatever kind there is, by that kind's own arithmetic."""

import getpass
import json
import math
import uuid
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import ClassVar

import pytest

from inbounds import ledger
from inbounds.ledger import Account, BudgetRefused, LedgerError, Pure, Request, access
from inbounds.ledger.amounts import read_amount, write_amount
from inbounds.privacy import guarantee
from inbounds.privacy.guarantee import register_guarantee
from inbounds.privacy.terms import Terms
from inbounds.record import RecordError, Releases
from inbounds.road.run import Opened, walk
from inbounds.statistics import Histogram, Mean
from inbounds.tables.sources import read
from tests.ledger.registry import list_mistakes
from tests.records import restored


@dataclass(frozen=True)
class Rho:
    kind: ClassVar[str] = "zcdp"
    rho: Fraction

    @property
    def epsilon(self):
        # A pure promise of ε is one of ε²/2 of this kind; a little less than its root.
        return Fraction(math.isqrt(int(2 * self.rho * 10**12)), 10**6)

    def plus(self, other):
        return Rho(self.rho + other.rho)

    def minus(self, other):
        return Rho(self.rho - other.rho) if self.rho > other.rho else None

    def share(self, weight):
        return Rho(self.rho * weight)

    def covers(self, other):
        return self.rho >= other.rho

    def round_up(self):
        return self

    round_down = round_up

    def to_dict(self):
        return {"rho": str(self.rho)}

    def __str__(self):
        return f"rho {self.rho}"


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setattr(guarantee, "_kinds", dict(guarantee._kinds))
    register_guarantee(Rho)


@pytest.fixture
def account(tmp_path):
    return Account(tmp_path / "l", "survey", Rho(Fraction(1)))


def request(digest, guarantee):
    return Request(digest, guarantee, "substitute", 1, ("age: mean",))


@pytest.mark.claim("ledger")
def test_another_kind_is_charged_refused_and_shown(account):
    third = Rho(Fraction(1, 3))
    assert ledger.charge(account, request("a", third)).left == Rho(Fraction(2, 3))
    with pytest.raises(BudgetRefused, match=r"has rho 2/3 of its limit rho 1 left, and this costs rho 3/4; nothing"):
        ledger.charge(account, request("b", Rho(Fraction(3, 4))))
    receipt = ledger.charge(account, request("b", third))
    ledger.keep(account, receipt, "{}")
    assert ledger.find_stored(account, request("b", third)).left == third
    assert ledger.charge(account, request("c", third)).left is None
    assert ledger.raise_limit(replace(account, limit=Rho(Fraction(2))), "more").left == Rho(Fraction(1))
    entries = ledger.verify(account.ledger)
    (standing,) = ledger.standings(entries)
    assert str(standing) == "survey: rho 1 of rho 2 spent, rho 1 left (3 charges; substitute)"
    assert standing.to_dict()["left"] == {"rho": "1"}
    assert (entries[2].body["rho"], entries[2].body["cost"]) == ("1/3", {"rho": "1/3"})
    assert ledger.Entry.from_dict(json.loads(json.dumps(entries[2].to_dict()))) == entries[2]
    assert "survey: rho 1/3 for age: mean" in ledger.show(account.ledger)[3]
    assert ",survey,rho 1/3,," in ledger.export(account.ledger)
    (registered,) = json.loads(ledger.export(account.ledger, "registry"))
    assert list_mistakes(registered) == []
    deployment = registered["deployment"]
    assert deployment["dp_variant"] == {"variant_name": "Zero-concentrated DP"}
    assert deployment["privacy_loss"]["privacy_parameters"] == {"rho": 1.0}


@pytest.mark.claim("ledger")
def test_kinds_do_not_mix(account):
    pure = Account(account.ledger, "other", 1)
    for place, asked in ((account, Pure(1)), (pure, Rho(Fraction(1)))):
        for ask in (ledger.affordable, ledger.charge):
            with pytest.raises(LedgerError, match=r"is of the kind .* they do not add up\. .*nothing was spent"):
                ask(place, request("a", asked))
    assert not account.ledger.exists()
    ledger.charge(account, request("a", Rho(Fraction(1, 2))))
    ledger.charge(pure, request("a", Pure(0.5)))
    before = ledger.read(account.ledger)
    for place, asked in ((account, Pure("1/10")), (pure, Rho(Fraction(1, 10)))):
        for ask in (ledger.affordable, ledger.charge):
            with pytest.raises(LedgerError, match="they do not add up"):
                ask(place, request("b", asked))
        with pytest.raises(LedgerError, match="they do not add up"):
            ledger.raise_limit(replace(place, limit=asked), "another kind")
    assert ledger.read(account.ledger) == before
    assert [str(one) for one in ledger.standings(before)] == [
        "survey: rho 1/2 of rho 1 spent, rho 1/2 left (1 charge; substitute)",
        "other: 0.5 of 1 spent, 0.5 left (1 charge; substitute)",
    ]


IMPOSSIBLE = {
    "a cost of another kind": {"cost": 10**8, "rho": "1/10"},
    "a guarantee of another kind": {"cost": 10**8, "epsilon": "1/10"},
    "two kinds": {"cost": {"rho": "1/10"}, "rho": "1/10", "epsilon": "1/10"},
    "no kind": {"cost": {"rho": "1/10"}},
    "an unknown kind": {"cost": {"mu": "1"}, "mu": "1"},
    "another cost": {"cost": {"rho": "1/20"}, "rho": "1/10"},
    "a cost written otherwise": {"cost": {"rho": "2/20"}, "rho": "1/10"},
    "beyond the limit": {"cost": {"rho": "3"}, "rho": "3"},
    "a number for text": {"cost": {"rho": 1}, "rho": "1"},
}


@pytest.mark.claim("ledger-verify")
@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_entries_of_other_kinds_are_read_strictly(account, what):
    ledger.charge(account, request("a", Rho(Fraction(1, 10))))
    entries = ledger.read(account.ledger)
    act = {"dataset": "survey", "request": "b", "what": [], "when": "now", "who": "me"}
    good = ledger.Entry.after(entries[-1], "charge", act | {"cost": {"rho": "1/10"}, "rho": "1/10"})
    ledger.standings([*entries, good])
    bad = ledger.Entry.after(entries[-1], "charge", act | IMPOSSIBLE[what])
    with pytest.raises(LedgerError, match="is impossible"):
        ledger.standings([*entries, bad])


def test_a_limit_of_another_kind_cannot_follow(account):
    ledger.charge(account, request("a", Rho(Fraction(1, 10))))
    entries = ledger.read(account.ledger)
    said = {"dataset": "survey", "before": {"rho": "1"}, "why": "w", "when": "now", "who": "me"}
    ledger.standings([*entries, ledger.Entry.after(entries[-1], "limit", said | {"limit": {"rho": "2"}})])
    for limit in (2 * 10**9, 0, {"epsilon": "2"}, {"rho": "1/20"}, {}):
        with pytest.raises(LedgerError, match="is impossible"):
            ledger.standings([*entries, ledger.Entry.after(entries[-1], "limit", said | {"limit": limit})])


def test_amounts_are_written_in_one_way():
    for amount, plain in ((Pure("1/4"), 250_000_000), (Rho(Fraction(1, 3)), {"rho": "1/3"})):
        assert write_amount(amount) == plain
        assert read_amount(plain) == amount
    for plain in (0, -1, True, 1.0, "1", None, [], {}, {"epsilon": "1/4"}, {"rho": "2/6"}, {"rho": "0"}):
        with pytest.raises(ValueError):
            read_amount(plain)
    with pytest.raises(ValueError, match="epsilon 1/3 is not a whole number of the units"):
        write_amount(Pure("1/3"))


def test_a_request_holds_a_guarantee_that_can_be_read_again(monkeypatch):
    with pytest.raises(TypeError, match=r"guarantee must be a guarantee such as Pure\(1\)"):
        request("a", Fraction(1))
    monkeypatch.delitem(guarantee._kinds, "zcdp")
    with pytest.raises(ValueError, match="no kind of guarantee has the fields rho"):
        request("a", Rho(Fraction(1)))


# Hashes of a ledger as it was written before there was any other kind than pure ε.
HASHES = [
    "a617e7fa3829ea2df8e45158412166e760e2abcf0aa0f5220bc6eb3334f2020c",
    "acd33e946fd1f877a78a6c7b06ba241abae505866a88a68376656b207119603d",
    "f1afe46cfeb466815398741a7ce8d42cd752bb5e96c5092eceb132aab902fcbb",
    "23cb7637d198bb25deefc0737270bf8ad4bda4920ac50f6ef1e8012d6961f80b",
    "026d88e0d1cb14ccefa50344def114e126b514149961708247af8c05a85ef654",
    "7e20b43a56340901c51948ba646a2741809a863457478b3c587f8173656c64c1",
    "2dc640a63d24b73f1bb70399da163e1854047e0c6fad08781eb028eb0c848e10",
]


def test_pure_epsilon_is_written_byte_for_byte_as_ever(tmp_path, monkeypatch):
    class Clock:
        @staticmethod
        def now(_):
            return datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    monkeypatch.setattr(access, "datetime", Clock)
    monkeypatch.setattr(getpass, "getuser", lambda: "somebody")
    account = Account(tmp_path / "l", "survey", 1)
    with monkeypatch.context() as patch:
        patch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=0))
        receipt = ledger.charge(account, request("a", Pure("1/3")))
    ledger.keep(account, receipt, "{}")
    second = Request("b", Pure("1/4"), "substitute", 1)
    ledger.fail(account, ledger.charge(account, second), "OSError")
    ledger.raise_limit(replace(account, limit=Pure("5/2")), "second wave", who="board")
    assert [entry.hash for entry in ledger.verify(account.ledger)] == HASHES


@pytest.mark.parametrize("accounted", [False, True])
def test_another_kind_walks_the_road(tmp_path, accounted):
    """Draft, charge, count, draw, keep: nothing on it asks which kind of guarantee it is."""
    statistics = {"age": Mean("age", bounds=(0, 100)), "ages": Histogram("age", edges=(0, 50, 100))}
    shares = guarantee.split(Rho(Fraction(1, 2)), [3, 1])
    terms = [Terms(share, rows=4) for share in shares]
    drafts = {name: one.draft(own) for (name, one), own in zip(statistics.items(), terms, strict=True)}
    assert drafts["age"].record.certificate.epsilon ** 2 / 2 <= shares[0].rho
    account = Account(tmp_path / "l", "d", Rho(Fraction(1))) if accounted else None
    table = Opened(read({"age": [20, 30, 60, 70]}, statistics["age"].inputs))
    made = walk(drafts, lambda: table, dataset="d", account=account)
    assert made.guarantee == Rho(Fraction(1, 2))
    assert 0 <= made["age"].value <= 100
    again = Releases.from_json(made.to_json())
    assert again.is_same(made)
    assert again["age"].guarantee == Rho(Fraction(3, 8))
    if accounted:
        assert walk(drafts, lambda: table, dataset="d", account=account).stored
        with pytest.raises(BudgetRefused):
            [walk(drafts, lambda: table, dataset="d", account=account, new=True) for _ in range(2)]
    body = json.loads(made.to_json())
    body["releases"]["age"]["terms"]["rho"] = "1/2"
    with pytest.raises(RecordError):
        Releases.from_json(json.dumps(restored(body)))
