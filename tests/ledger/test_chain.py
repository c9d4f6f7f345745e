"""The chain itself: what an entry and a state are as plain values, and what each refusal says."""

import json
from dataclasses import replace

import pytest

from inbounds.ledger import LedgerError, Pure
from inbounds.ledger.chain import Chain, parse_rows
from inbounds.ledger.entry import LONGEST, START, Entry, read_body
from inbounds.ledger.standing import Standing

ACT = {"when": "2026-01-01T00:00:00+00:00", "who": "Ada"}
STANDING = Standing("survey", Pure(3), Pure(1), "add-remove", 2, 4, "patient")


def begin():
    """The first entry of a ledger."""
    return Entry.after(None, "ledger", ACT | {"format": "inbounds-ledger/1", "id": "x"})


def refused(call, *arguments, **keywords):
    """What a refusal says."""
    with pytest.raises(ValueError) as caught:
        call(*arguments, **keywords)
    return str(caught.value)


def test_a_state_as_plain_values():
    assert STANDING.to_dict() == {
        "dataset": "survey",
        "limit": 3 * 10**9,
        "spent": 10**9,
        "left": 2 * 10**9,
        "neighbours": "add-remove",
        "contributions": 2,
        "charges": 4,
        "person": "patient",
    }
    assert list(STANDING.opening()) == ["dataset", "limit", "neighbours", "contributions", "person"]
    assert "person" not in replace(STANDING, person=None).opening()


def test_a_state_follows_its_charges_and_limits():
    assert STANDING.after(Pure(2)) == replace(STANDING, spent=Pure(3), charges=5)
    assert refused(STANDING.after, Pure("2.000000001")) == "a charge is beyond the limit, or of another kind"
    assert STANDING.with_limit(Pure(1)) == replace(STANDING, limit=Pure(1))
    assert refused(STANDING.with_limit, Pure("0.999999999")) == "a limit is below what was spent, or of another kind"


def test_an_entry_is_told_from_one_that_was_changed():
    entry = begin()
    assert Entry.from_dict(entry.to_dict()) == entry
    for wrong in ({"sequence": "0"}, {"sequence": -1}, {"kind": "gift"}, {"body": {}}, {"body": None}, {"more": 1}):
        with pytest.raises(LedgerError, match=r"^the entry of the ledger is malformed$"):
            Entry.from_dict(entry.to_dict() | wrong)
    for wrong in ({"hash": START}, {"previous": "1" * 64}, {"body": entry.body | {"id": "y"}}):
        with pytest.raises(LedgerError, match=r"^the entry of the ledger does not match its hash$"):
            Entry.from_dict(entry.to_dict() | wrong)


def test_what_cannot_follow_says_why():
    chain = Chain()
    first = begin()
    chain.add(first)
    charge = {"dataset": "survey", "request": "r", "cost": 1, "what": [], "kind": "pure", "epsilon": "1e-9"}
    lost = Entry.after(first, "limit", ACT | {"dataset": "survey", "limit": 1, "before": 1, "why": "more"})
    assert refused(chain._follow, lost) == "there is no such dataset"
    for entry in (first, Entry.after(first, "ledger", first.body), Entry.after(first, "charge", charge)):
        assert refused(chain._follow, entry) == "an entry cannot follow those before it"
        with pytest.raises(LedgerError, match=r"^the ledger was changed: entry 1 is impossible$"):
            chain.add(entry)
    assert chain.entries == [first]


def test_bodies_are_read_in_their_one_form():
    assert read_body('{"a": 1}') == {"a": 1}
    for other in ('{"a":1}', '{"b": 1, "a": 2}', '{"a": 1, "a": 1}', "[1]", "1", '"\\u00e9"', '{"a": "\\u00e9"}'):
        assert refused(read_body, other) == "it is not in the form that inbounds writes"
    assert read_body('{"a": "é"}') == {"a": "é"}
    assert refused(read_body, '{"a": 1.5}') == "1.5"
    assert refused(read_body, '{"a": NaN}') == "NaN"
    assert refused(read_body, "[" * 100_000) == "it is not in the form that inbounds writes"


def test_sizes_are_refused_from_the_first_that_is_too_large():
    digits = "1" * 1500
    assert read_body(f'{{"a": {digits}}}') == {"a": int(digits)}
    assert refused(read_body, f'{{"a": {digits}1}}') == "a number has more than 1,500 digits"
    frame = len('{"a": ""}')
    assert len(read_body(json.dumps({"a": "x" * (LONGEST - frame)}))["a"]) == LONGEST - frame
    long = json.dumps({"a": "x" * (LONGEST - frame + 1)})
    assert refused(read_body, long) == "it has more than 2,097,152 characters"


def test_an_entry_counts_with_its_kind():
    """The longest entry is read, and none that is longer by a character of its body or its kind."""
    first = begin()
    room = LONGEST - len("ledger") - len(first.text)

    def rows(more):
        entry = Entry.after(None, "ledger", first.body | {"id": "x" * (1 + more)})
        return [entry.row]

    assert len(parse_rows(rows(room)).entries) == 1
    with pytest.raises(LedgerError, match="entry 0 does not follow from those before it"):
        parse_rows(rows(room + 1))
