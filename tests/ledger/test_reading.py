"""Names, amounts and entries one by one: how they are read and written, and what is said of those that cannot be."""

import getpass
import json
import re
import shutil
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from inbounds import _check, ledger
from inbounds.ledger import Account, Entry, LedgerError, Pure, Request, Standing, access, names
from inbounds.ledger.account import find_account, name_in
from inbounds.ledger.amounts import read_amount, spell_amount, write_amount
from inbounds.ledger.chain import Chain
from inbounds.ledger.entry import LONGEST
from inbounds.ledger.names import clean_name, describe_all, describe_look_alikes, look_alikes, skeletons
from inbounds.ledger.store import open_store
from tests.ledger.stores import DictRows


def charge(account, digest="a", epsilon="1/10", **words):
    return ledger.charge(account, Request(digest, Pure(epsilon), "substitute", 1), **words)


@pytest.fixture
def account(tmp_path):
    made = Account(tmp_path / "survey.ledger", "survey", 1)
    charge(made)
    return made


# Amounts


def test_nothing_is_an_amount_of_its_own():
    assert (write_amount(None), spell_amount(None)) == (0, "0")
    standing = Standing("d", Pure(1), None, "substitute", 1, 0)
    assert (standing.to_dict()["spent"], standing.to_dict()["left"]) == (0, 10**9)
    assert str(standing) == "d: 0 of 1 spent, 1 left (0 charges; substitute)"


def test_amounts_are_whole_billionths():
    for amount, plain, text in (
        (Pure("1/4"), 250_000_000, "0.25"),
        (Pure(3), 3 * 10**9, "3"),
        (Pure("1e-9"), 1, "1e-9"),
    ):
        assert (write_amount(amount), read_amount(plain)) == (plain, amount)
        assert type(write_amount(amount)) is int
        assert Fraction(spell_amount(amount)) == Fraction(text)
    with pytest.raises(ValueError) as refused:
        write_amount(Pure(Fraction(1, 10**10)))
    assert str(refused.value).endswith(" is not a whole number of the units that a ledger counts in")
    for wrong in (True, 1.0, "1", None, [], (1,)):
        with pytest.raises(ValueError, match=r"^an amount must be a whole number or have fields$"):
            read_amount(wrong)
    # There is one way to write pure ε, and it has no fields.
    with pytest.raises(ValueError, match=r"^an amount is not in the form that inbounds writes$"):
        read_amount({"epsilon": "1/4"})
    with pytest.raises(ValueError):
        read_amount(0)


# Names


def test_what_a_name_must_be():
    for wrong in ("", " ", "\t\n", None, 5, ["survey"]):
        with pytest.raises(ValueError, match=r"^dataset must be a name that is not empty$"):
            clean_name(wrong)
    with pytest.raises(ValueError) as refused:
        clean_name("sur\u200bvey\x1b")
    assert str(refused.value) == (
        r"dataset must be in one line without invisible characters; 'sur\u200bvey\x1b' of type str has U+001B, U+200B. "
        "Leave them out"
    )
    # Five of them are named, in their order.
    with pytest.raises(ValueError, match=r" has U\+0001, U\+0002, U\+0003, U\+0004, U\+0005\. Leave"):
        clean_name("a\6\5\4\3\2\1\7b")
    assert clean_name("\n gro\u0308ße \t") == "größe"


def test_what_looks_alike_has_a_skeleton_in_common():
    assert skeletons("Survey-2026") == {"survey2o26"}
    # i, l, 1 and the bar are one letter, o and 0 as well; spaces and dashes of all kinds are none.
    assert skeletons("iI1|lо0O _-‐‑‒–—") == {"lllllooo"}
    assert skeletons("ＡＢ\u200bc") == {"abc"}
    # A Cyrillic В looks like another letter than its lower-case form; so do Greek Η and Ν.
    assert skeletons("В") == {"b"}
    assert skeletons("Η") == {"n", "h"}
    assert skeletons("Ν") == {"v", "n"}
    assert skeletons("Р") == skeletons("p")
    for letters, likes in (
        ("абвгезкмнорстухѕјԁԛԝһѵ", "a6bre3kmhopctyxsjdqwhv"),
        ("αβγεζηκμνορτυχωϳ", "abyeznkmvoptuxwj"),
    ):
        for letter, like in zip(letters, likes, strict=True):
            assert look_alikes(f"x{letter}y", [f"x{like}y", "xy"]) == [f"x{like}y"]
    for capital, like in zip("ВНТΗΝΥΡМ", "BHTHNYPM", strict=True):
        assert look_alikes(f"X{capital}", [f"X{like}"]) == [f"X{like}"]
    assert look_alikes("a", ["a", "b", "A", "а"]) == ["A", "а"]


REST = ", which is also in the ledger. If the data are the same, charge them to one dataset, because the losses add up"


def test_what_is_said_of_look_alikes():
    assert describe_look_alikes("survey", ["survey", "census"]) is None
    start = "the dataset 'survey' has its own limit, and its name looks like "
    assert describe_look_alikes("survey", ["census", "Survey"]) == f"{start}'Survey'{REST}"
    # Letters that are not ASCII are told with their codes; of many names five.
    one = "surv\u0435y"
    many = ["SURVEY", "Survey", "sur vey", "sur-vey", one, "sur_vey"]
    five = r"'SURVEY', 'Survey', 'sur vey', 'sur-vey', 'survеy' ('surv\u0435y')"
    assert describe_look_alikes("survey", many[:5]) == f"{start}{five}{REST}"
    assert describe_look_alikes("survey", many) == f"{start}{five} and others{REST}"
    assert describe_look_alikes(one, ["survey"]) == (
        rf"the dataset 'survеy' ('surv\u0435y') has its own limit, and its name looks like 'survey'{REST}"
    )


def test_each_name_is_compared_with_earlier_ones():
    assert describe_all([]) == describe_all(["a", "b", "c"]) == []
    told = describe_all(["wave", "Wave", "census", "WAVE", "Census"])
    start = "the dataset '{}' has its own limit, and its name looks like '{}'" + REST
    assert told == [start.format("Wave", "wave"), start.format("WAVE", "wave"), start.format("Census", "census")]
    # One that has two skeletons stands for both from then on.
    both = "the dataset {} has its own limit, and its name looks like {}" + REST
    assert describe_all(["\u0397", "n", "h"]) == [both.format(name, r"'Η' ('\u0397')") for name in ("'n'", "'h'")]
    assert describe_all(["h", "n", "\u0397"]) == [both.format(r"'Η' ('\u0397')", "'h'")]


# Accounts


def test_an_account_names_a_ledger_and_a_dataset(tmp_path, account):
    made = Account(str(tmp_path / "x"), " x ", "1/2")
    assert (made.ledger, made.dataset, made.limit) == (tmp_path / "x", "x", Pure("1/2"))
    assert Account(tmp_path / "x", "x").limit is None
    assert Account(tmp_path / "x", "x", Pure(3)).limit == Pure(3)
    for limit, said in ((0, r"^limit must be > 0, got 0"), (-1, r"^limit must be > 0, got -1"), ("x", r"^limit ")):
        with pytest.raises(ValueError, match=said):
            Account(tmp_path / "x", "x", limit)
    for place in ("a\0b", "\0"):
        with pytest.raises(ValueError, match=r"^ledger must be a path$"):
            Account(place, "x")
    assert find_account(account) is account
    for place in (account.ledger, str(account.ledger)):
        assert find_account(place) == Account(account.ledger, "survey")
    for wrong in (5, None, ["l"], b"l"):
        with pytest.raises(TypeError) as refused:
            find_account(wrong)
        assert str(refused.value) == f"ledger must be a file or an Account, got {_check.shown(wrong)}"


def test_a_ledger_of_none_or_many_datasets(tmp_path, account):
    rest = "; name the one to charge, and the limit of a new one, with inbounds.ledger.Account(ledger, dataset, limit)"
    charge(Account(account.ledger, "census", 1))
    for place, known in ((account.ledger, "'survey', 'census'"), (str(tmp_path / "none"), "none")):
        with pytest.raises(LedgerError) as refused:
            find_account(place)
        assert str(refused.value) == f"the ledger {str(place)!r} does not have exactly one dataset ({known}){rest}"


def test_a_name_is_normalised_or_as_it_is_in_the_ledger(tmp_path, account, monkeypatch):
    path = account.ledger
    assert name_in(None, " survey ") == name_in(path, " survey ") == name_in(tmp_path / "none", "survey") == "survey"
    old = [" old", "n\u200bew"]
    with monkeypatch.context() as patch:
        patch.setattr("inbounds.ledger.account.clean_name", lambda name: name)
        for name in old:
            charge(Account(path, name, 1))
    assert [name_in(path, name) for name in old] == [Account(path, name).dataset for name in old] == old
    assert name_in(path, "old ") == "old"
    for place in (None, tmp_path / "none"):
        assert name_in(place, " old") == "old"
        with pytest.raises(ValueError, match="without invisible characters"):
            name_in(place, "n\u200bew")
    with pytest.raises(ValueError, match="without invisible characters"):
        name_in(path, "ne\u200bw")
    for wrong in (None, 5):
        with pytest.raises(ValueError, match="dataset must be a name"):
            name_in(path, wrong)


def test_a_ledger_is_looked_at_only_where_a_name_is_not_clean(tmp_path, monkeypatch):
    path, looked = tmp_path / "l", []
    monkeypatch.setattr("inbounds.ledger.account.is_begun", lambda place: looked.append(place) or False)
    name_in(path, "survey")
    assert looked == []
    name_in(path, "survey ")
    assert looked == [path]


# Entries


def test_where_there_is_no_ledger(tmp_path, account):
    assert access.is_begun(account.ledger)
    assert access.require(account.ledger) is None
    none = tmp_path / "none"
    assert not access.is_begun(none)
    for ask in (
        access.require,
        ledger.read,
        ledger.verify,
        ledger.read_results,
        lambda path: ledger.read_result(path, 2),
    ):
        with pytest.raises(LedgerError) as refused:
            ask(none)
        assert str(refused.value) == f"there is no ledger {str(none)!r}"
    assert open_store(none).path == none


def test_an_entry_says_who_and_when(monkeypatch):
    rows, chain = DictRows([], {}), Chain()
    first = access.append(rows, chain, "ledger", {"format": "inbounds-ledger/1", "id": "x"}, "Zoë \udcff")
    assert first.body["who"] == "Zoë ?"
    when = datetime.fromisoformat(first.body["when"])
    assert when.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - when) < timedelta(minutes=1)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", first.body["when"])
    body = {"dataset": "d", "limit": 10**9, "neighbours": "substitute", "contributions": 1}
    monkeypatch.setattr(getpass, "getuser", lambda: "somebody")
    second = access.append(rows, chain, "dataset", body, None)
    assert (second.body["who"], second.previous, second.sequence) == ("somebody", first.hash, 1)
    assert [row[0] for row in rows.rows] == [0, 1]
    assert chain.entries == [first, second]
    assert chain.last is second
    for error in (KeyError, OSError):

        def nobody(error=error):
            raise error

        monkeypatch.setattr(getpass, "getuser", nobody)
        assert access._find_user() == "unknown"
    # What cannot be read again is written nowhere, and says why.
    with pytest.raises(LedgerError) as refused:
        access.append(rows, chain, "limit", {"dataset": "d", "limit": 1, "before": 10**9, "why": "w" * LONGEST}, None)
    assert str(refused.value) == (
        f"the entry cannot be written (it has more than {LONGEST:,} characters); shorten its names and texts"
    )
    # Nor what is impossible.
    with pytest.raises(LedgerError, match="entry 2 is impossible"):
        access.append(rows, chain, "dataset", body, None)
    assert [row[0] for row in rows.rows] == [0, 1]
    assert access.clean_text("a\ud800é") == "a?é"


def test_entries_are_those_that_records_name(tmp_path, account):
    entries = ledger.verify(account.ledger)
    anchors = [(entry.sequence, entry.hash) for entry in entries]
    assert ledger.verify(account.ledger, anchors) == ledger.read(account.ledger) == entries
    rest = ": this is another ledger or another copy of it, or it was set back to an earlier state"
    last = entries[-1]
    for wrong in ((last.sequence + 1, last.hash), (-1, last.hash), (0, last.hash), (last.sequence, "0" * 64)):
        with pytest.raises(LedgerError) as refused:
            ledger.verify(account.ledger, [*anchors, wrong])
        assert str(refused.value) == f"entry {wrong[0]} of the ledger is not the one in the record{rest}"
    # Also where it is named by its address in text.
    assert ledger.read(str(account.ledger)) == entries
    copy = tmp_path / "copy"
    shutil.copy(account.ledger, copy)
    assert ledger.verify(str(copy), anchors) == entries


def test_standings_follow_from_entries_alone(account):
    ledger.raise_limit(Account(account.ledger, "survey", 2), "more")
    charge(Account(account.ledger, "census", 1), epsilon="1/4")
    entries = ledger.read(account.ledger)
    plain = [Entry.from_dict(json.loads(json.dumps(entry.to_dict()))) for entry in entries]
    assert ledger.standings(plain) == [
        Standing("survey", Pure(2), Pure("1/10"), "substitute", 1, 1),
        Standing("census", Pure(1), Pure("1/4"), "substitute", 1, 1),
    ]
    assert ledger.standings([]) == []
    assert ledger.similar(plain) == []
    with pytest.raises(LedgerError, match="entry 0 is impossible"):
        ledger.standings(plain[1:])


def test_datasets_that_look_alike_are_told_from_their_entries(account):
    with pytest.warns(ledger.LookAlike):
        charge(Account(account.ledger, "Survey", 1))
    (told,) = ledger.similar(ledger.read(account.ledger))
    assert told == names.describe_look_alikes("Survey", ["survey"])


def test_a_ledger_by_any_name(tmp_path):
    """The file of a ledger may be named in any way that a path may."""
    path = tmp_path / "größe #1.ledger"
    charge(Account(path, "d", 1))
    assert len(ledger.verify(path)) == 3
    assert Path(f"{path}.head").is_file()
