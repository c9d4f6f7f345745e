"""What a ledger says when it refuses: the whole sentence, with the way out."""

import shlex
from fractions import Fraction

import pytest

from inbounds import ledger
from inbounds.errors import BudgetRefused, Unfinished
from inbounds.ledger import Account, LedgerError, Pure, Request
from inbounds.privacy import guarantee
from inbounds.privacy.guarantee import register_guarantee
from tests.ledger.test_guarantees import Tilted


def request(digest="a", epsilon="1/4", **promise):
    return Request(digest, Pure(epsilon), **{"neighbours": "substitute", "contributions": 1} | promise)


@pytest.fixture
def account(tmp_path):
    made = Account(tmp_path / "survey.ledger", "survey", 1)
    ledger.charge(made, request())
    return made


def test_a_charge_beyond_the_limit(account):
    with pytest.raises(BudgetRefused) as refused:
        ledger.charge(account, request("b", 2))
    assert str(refused.value) == (
        "'survey' has 0.75 of its limit 1 left, and this costs 2; nothing was spent. Use a smaller epsilon, or raise "
        "the limit, which a plan cannot do: inbounds ledger raise "
        f"{shlex.quote(str(account.ledger))} --dataset survey --limit ... --why ..."
    )
    with pytest.raises(BudgetRefused) as refused:
        ledger.charge(Account(account.ledger, "other", Fraction(1, 10**12)), request("b"))
    assert str(refused.value) == (
        "the limit of 'other' is below the smallest amount that a ledger can hold; nothing was spent"
    )


def test_the_first_charge_beyond_a_limit_that_no_ledger_has(account, tmp_path):
    """To raise it would be refused: it is stated where the charge is, and nothing of it is kept."""
    for place in (account.ledger, tmp_path / "none.ledger"):
        for ask in (ledger.charge, ledger.affordable):
            with pytest.raises(BudgetRefused) as refused:
                ask(Account(place, "new", Fraction(1, 2)), request("b", 1))
            assert str(refused.value) == (
                "'new' has 0.5 of its limit 0.5 left, and this costs 1; nothing was spent. Use a smaller epsilon, or "
                "state a larger limit"
            )
    assert not (tmp_path / "none.ledger").exists()
    assert len(ledger.read(account.ledger)) == 3
    assert ledger.charge(Account(account.ledger, "new", 2), request("b", 1)).entry.sequence == 4


def test_a_charge_without_its_result(account):
    (entry,) = [one for one in ledger.read(account.ledger) if one.kind == "charge"]
    rest = (
        ". The charge stands, and nothing is drawn twice for one charge. To charge again, call the function with a "
        "slightly different epsilon, or release a plan with --new or new=True"
    )
    start = f"this was charged on {entry.body['when']} (entry {entry.sequence}) "
    for why in ("but has no result: it is still running elsewhere, or was interrupted", "and failed"):
        with pytest.raises(Unfinished) as unfinished:
            ledger.charge(account, request())
        assert str(unfinished.value) == start + why + rest
        if why != "and failed":
            ledger.fail(account, ledger.Receipt(entry, None), "the disk was full")


def test_another_promise(account):
    for other, words in (
        ({"neighbours": "add-remove"}, ("neighbours substitute", "neighbours add-remove")),
        ({"contributions": 3}, ("contributions 1", "contributions 3")),
        ({"person": "id"}, ("person None", "person id")),
    ):
        with pytest.raises(LedgerError) as refused:
            ledger.charge(account, request("b", **other))
        assert str(refused.value) == (
            f"'survey' is charged with {words[0]}, but this release has {words[1]}: their epsilons do not add up to "
            "one guarantee. Use the same, or charge another dataset"
        )


def test_a_dataset_that_is_not_there(account):
    with pytest.raises(LedgerError) as refused:
        ledger.charge(Account(account.ledger, "other"), request("b"))
    assert str(refused.value) == (
        "the ledger has no dataset 'other' (it has 'survey'); a new one needs a limit, as in "
        "Account(ledger, dataset, limit)"
    )
    with pytest.raises(LedgerError) as refused:
        ledger.charge(Account(account.ledger.with_name("none"), "other"), request("b"))
    assert str(refused.value).startswith("the ledger has no dataset 'other' (it has none yet); a new one")
    for letter in "abcdefghjkmnpqrstuvx":
        ledger.charge(Account(account.ledger, letter * 3, 1), request())
    with pytest.raises(LedgerError, match=r"it has 'survey', 'aaa', .*, 'vvv' and 1 more\); a new one"):
        ledger.charge(Account(account.ledger, "other"), request("b"))
    with pytest.raises(LedgerError, match=r"^the ledger has no dataset 'other' \(it has 'survey', .* and 1 more\)$"):
        ledger.raise_limit(Account(account.ledger, "other", 2), "more releases")


def test_a_limit_that_cannot_be(account):
    for bad in ("", " ", None):
        with pytest.raises(ValueError, match=r"^why must give the reason for the change; it is kept in the ledger$"):
            ledger.raise_limit(Account(account.ledger, "survey", 2), bad)
    with pytest.raises(TypeError, match=r"^the new limit must be given, as in Account\(ledger, dataset, limit=2\)$"):
        ledger.raise_limit(Account(account.ledger, "survey"), "more")
    for limit in (Fraction(1, 5), Fraction(1, 10**12)):
        with pytest.raises(LedgerError, match=r"^the limit cannot be below 0\.25, which is already spent$"):
            ledger.raise_limit(Account(account.ledger, "survey", limit), "less")
    assert ledger.raise_limit(Account(account.ledger, "survey", Fraction(1, 4)), "less").left is None


def test_a_result_that_cannot_be_kept(account, tmp_path):
    receipt = ledger.charge(account, request("b"))
    ledger.keep(account, receipt, "49")
    with pytest.raises(LedgerError, match=r"^this charge already has a result$"):
        ledger.keep(account, receipt, "50")
    other = Account(tmp_path / "other.ledger", "survey", 1)
    ledger.charge(other, request())
    with pytest.raises(LedgerError) as refused:
        ledger.keep(other, receipt, "49")
    assert str(refused.value) == ("the ledger no longer has the charge of this release; it was changed meanwhile")


def test_requests_that_are_none():
    with pytest.raises(TypeError, match=r"^guarantee must be a guarantee such as Pure\(1\), got 3 of type int$"):
        Request("a", 3, "substitute", 1)
    with pytest.raises(ValueError, match=r"^neighbours must be one of"):
        Request("a", Pure(1), "swap", 1)


def test_who_asks_is_in_each_of_their_entries(tmp_path):
    account = Account(tmp_path / "l", "survey", 1)
    ledger.charge(account, request(), who="Ada")
    ledger.raise_limit(Account(account.ledger, "survey", 2), "more releases", who="Grace")
    said = {entry.kind: entry.body["who"] for entry in ledger.read(account.ledger)}
    assert (said["dataset"], said["charge"], said["limit"]) == ("Ada", "Ada", "Grace")


def test_a_look_alike_is_announced_before_it_is_charged(account):
    for ask in (ledger.charge, ledger.affordable):
        with pytest.warns(ledger.LookAlike) as told:
            ask(Account(account.ledger, "Survey", 1), request("b", "1/8"))
        assert "its name looks like 'survey'" in str(told[0].message)
        if ask is ledger.charge:
            # Announced once: it is in the ledger now.
            account = Account(account.ledger.with_name("other.ledger"), "survey", 1)
            ledger.charge(account, request())


def test_another_kind_of_guarantee(account, monkeypatch):
    monkeypatch.setattr(guarantee, "_kinds", dict(guarantee._kinds))
    register_guarantee(Tilted)
    rest = ", so they do not add up. Use the same kind, or charge another dataset; nothing was spent"
    with pytest.raises(LedgerError) as refused:
        ledger.charge(account, Request("b", Tilted(Fraction(1)), "substitute", 1))
    start = "the limit of 'survey' is of the kind 'pure' (epsilon 1), but tilt 1 is of the kind 'tilted'"
    assert str(refused.value) == start + rest


def test_an_account_of_persons_stays_one(tmp_path):
    account = Account(tmp_path / "persons.ledger", "survey", 1)
    for digest in "ab":
        ledger.charge(account, request(digest, person="id"))
    (standing,) = ledger.standings(ledger.verify(account.ledger))
    assert (standing.person, standing.charges) == ("id", 2)
    assert str(standing) == "survey: 0.5 of 1 spent, 0.5 left (2 charges; substitute; persons by id)"
    with pytest.raises(LedgerError, match=r"^'survey' is charged with person id, but this release has person None"):
        ledger.charge(account, request("c"))
