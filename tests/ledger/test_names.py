"""Names of datasets: one way to write them, and those that look alike."""

import warnings
from fractions import Fraction

import pytest

from inbounds import ledger
from inbounds.ledger import Account, LookAlike, Pure, Request
from inbounds.ledger.names import clean_name, look_alikes


def request(digest="a"):
    return Request(digest, Pure("1/10"), "substitute", 1)


@pytest.fixture
def path(tmp_path):
    ledger.charge(Account(tmp_path / "l", "survey", Fraction(1)), request())
    return tmp_path / "l"


@pytest.mark.parametrize("name", ["survey ", "\tsurvey", "survey\n", "\u00a0survey"])
def test_spaces_around_a_name_are_none_of_it(path, name):
    assert Account(path, name).dataset == "survey"
    assert ledger.charge(Account(path, name, Fraction(1)), request("b")).left == Pure("8/10")


def test_names_are_composed(path):
    ledger.charge(Account(path, "gr\u00f6\u00dfe", Fraction(1)), request())
    assert ledger.charge(Account(path, "gro\u0308\u00dfe", Fraction(1)), request("b")).left == Pure("8/10")


@pytest.mark.parametrize("character", "\u200b\u200d\u202e\ufeff\u00ad\x1b\x00\x9b\n\u2028\u3164\ufe0f")
def test_characters_that_are_not_seen_are_refused(path, character):
    for place in (path, path.with_name("none")):
        with pytest.raises(
            ValueError, match=rf"without invisible characters.* has U\+{ord(character):04X}\. Leave them"
        ):
            Account(place, f"sur{character}vey", Fraction(1))
    assert len(ledger.read(path)) == 3


@pytest.mark.parametrize("name", ["", " ", "\n", None, 3])
def test_a_name_is_needed(path, name):
    with pytest.raises(ValueError, match="dataset must be a name"):
        Account(path, name)


ALIKE = [
    "Survey",
    "SURVEY",
    "sur-vey",
    "sur vey",
    "sur_vey",
    "surv\u0435y",
    "\u0455urvey",
    "\uff53\uff55\uff52\uff56\uff45\uff59",
    "sur\u03bdey",
    "SURV\u0415Y",
]


@pytest.mark.parametrize("name", ALIKE)
def test_a_new_dataset_that_looks_like_another_is_announced(path, name):
    account = Account(path, name, Fraction(1))
    with pytest.warns(LookAlike, match=r"has its own limit, and its name looks like 'survey', which is also in"):
        assert ledger.affordable(account, request()) == Pure("9/10")
    # Whoever takes it for an error has spent nothing.
    before = ledger.read(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(LookAlike):
            ledger.charge(account, request())
    assert ledger.read(path) == before
    with pytest.warns(LookAlike) as told:
        ledger.charge(account, request())
    assert len(told) == 1
    assert name.isascii() or ascii(name) in str(told[0].message)
    # It is announced once: from now on it is known. Warnings are errors here.
    ledger.charge(account, request("b"))
    assert ledger.affordable(account, request("c")) == Pure("7/10")
    assert len(ledger.similar(ledger.read(path))) == 1


def test_other_names_are_not_announced(path):
    for name in ("survey-2", "surveys", "census", "umfrage"):
        ledger.charge(Account(path, name, Fraction(1)), request())
    assert ledger.similar(ledger.read(path)) == []


def test_thousands_of_datasets_are_compared_in_one_pass(monkeypatch):
    from inbounds.ledger import names

    calls = []
    real = names.skeletons
    monkeypatch.setattr(names, "skeletons", lambda name: calls.append(name) or real(name))
    many = [f"wave {i}" for i in range(2, 3000)]
    told = names.describe_all([*many, "Wave_7"])
    assert len(told) == 1
    assert told[0].startswith("the dataset 'Wave_7' has its own limit, and its name looks like 'wave 7', which")
    assert len(calls) == len(many) + 1


def test_names_look_alike_whatever_their_case():
    for one, other in (
        ("survey-2026", "SURVEY 2O26"),
        ("wave1", "waveI"),
        ("wave1", "wavel"),
        ("Зима", "зима"),
        ("ΗΕLLΟ", "hello"),
        ("МОСКВА", "москва"),
        ("straße", "STRASSE"),
        ("ﬁle", "file"),
    ):
        assert look_alikes(one, [other]) == [other]
        assert look_alikes(other, [one]) == [one]
    assert look_alikes("survey-2026", ["survey-2025", "survey-2026", "survey-2062"]) == []


@pytest.mark.parametrize("old", ["survey ", "sur\u200bvey", "gro\u0308\u00dfe", "a\nb"])
def test_names_of_before_can_still_be_used(tmp_path, monkeypatch, old):
    """A ledger from when names were taken as they came."""
    path = tmp_path / "l"
    with monkeypatch.context() as patch:
        patch.setattr("inbounds.ledger.account.clean_name", lambda name: name)
        ledger.charge(Account(path, old, Fraction(1)), request())
    assert ledger.find_account(path).dataset == old
    account = Account(path, old)
    assert account.dataset == old
    assert ledger.charge(account, request("b")).left == Pure("8/10")
    assert ledger.raise_limit(Account(path, old, Fraction(2)), "more").left == Pure("18/10")
    assert "\n" not in str(ledger.standings(ledger.read(path))[0])
    if old == "survey ":
        # The clean name is another one, and is announced as such.
        with pytest.warns(LookAlike, match="looks like 'survey ', which"):
            ledger.charge(Account(path, "survey", Fraction(1)), request())
        assert Account(path, "survey  ").dataset == "survey"


def test_clean_names_stay():
    for name in ("survey-2026", "größe", "東京", "d", "a b"):
        assert clean_name(name) == name
