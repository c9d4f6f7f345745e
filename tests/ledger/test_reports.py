"""A ledger as people and registries read it: every line, cell and field of one that was written by hand."""

import csv
import io
import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from inbounds import ledger
from inbounds.ledger import Account, LedgerError, Pure, Request, access, reports
from inbounds.ledger.registry import make_record
from tests.ledger import registry


class Clock:
    """A new day with each entry, from the last ones of a year on."""

    def __init__(self):
        self.day = 29

    def now(self, zone):
        assert zone is UTC
        self.day += 1
        return datetime(2025 + (self.day > 31), 12 if self.day < 32 else 1, (self.day - 1) % 31 + 1, 8, tzinfo=UTC)


def charge(account, digest, epsilon, *what, who="Ada", **promise):
    terms = {"neighbours": "substitute", "contributions": 1} | promise
    return ledger.charge(account, Request(digest, Pure(epsilon), what=what, **terms), who=who)


@pytest.fixture(autouse=True)
def nobody_else(monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "me")


@pytest.fixture
def survey(tmp_path, monkeypatch):
    """Two datasets, three charges, one result, one failure, one limit."""
    monkeypatch.setattr(access, "datetime", Clock())
    account = Account(tmp_path / "l", "survey", 1)
    ledger.keep(account, charge(account, "a", "1/4", "age: mean", "=age: sum"), "{}")
    other = Account(tmp_path / "l", "visits", Fraction(5, 2))
    failed = charge(other, "b", "1/3", who="Bob\x1b", neighbours="add-remove", contributions=3)
    ledger.fail(other, failed, "OSError")
    charge(account, "c", "1/8", "age: median")
    ledger.raise_limit(replace(account, limit=Pure(2)), "@second wave", who="board")
    return account.ledger


def test_every_line_for_a_terminal(survey):
    assert ledger.show(survey) == [
        "survey: 0.375 of 2 spent, 1.625 left (2 charges; substitute)",
        "visits: 0.333333334 of 2.5 spent, 2.166666666 left (1 charge; add-remove)",
        "   0  2025-12-30T08:00:00+00:00  ledger   made, inbounds-ledger/1  (me)",
        "   1  2025-12-31T08:00:00+00:00  dataset  survey: limit 1, substitute  (Ada)",
        "   2  2026-01-01T08:00:00+00:00  charge   survey: 0.25 for age: mean; =age: sum  (Ada)",
        "   3  2026-01-02T08:00:00+00:00  result   of entry 2, kept  (me)",
        r"   4  2026-01-03T08:00:00+00:00  dataset  visits: limit 2.5, add-remove  (Bob\x1b)",
        r"   5  2026-01-04T08:00:00+00:00  charge   visits: 0.333333334 for a release  (Bob\x1b)",
        "   6  2026-01-05T08:00:00+00:00  failure  of entry 5 (OSError); the charge stands  (me)",
        "   7  2026-01-06T08:00:00+00:00  charge   survey: 0.125 for age: median  (Ada)",
        "   8  2026-01-07T08:00:00+00:00  limit    survey: 1 to 2; @second wave  (board)",
    ]


def test_every_cell_of_a_table(survey):
    rows = list(csv.reader(io.StringIO(ledger.export(survey))))
    assert ledger.export(survey) == ledger.export(survey, "csv")
    assert "\r" not in ledger.export(survey)
    assert rows[0] == ["sequence", "when", "who", "kind", "dataset", "epsilon", "limit", "what", "hash"]
    entries = ledger.verify(survey)
    assert [row[-1] for row in rows[1:]] == [entry.hash for entry in entries]
    assert [row[1] for row in rows[1:]] == [entry.body["when"] for entry in entries]
    assert [[row[0], *row[2:-1]] for row in rows[1:]] == [
        ["0", "me", "ledger", "", "", "", ""],
        ["1", "Ada", "dataset", "survey", "", "1", ""],
        ["2", "Ada", "charge", "survey", "0.25", "", "age: mean; =age: sum"],
        ["3", "me", "result", "", "", "", ""],
        ["4", r"Bob\x1b", "dataset", "visits", "", "2.5", ""],
        ["5", r"Bob\x1b", "charge", "visits", "0.333333334", "", ""],
        ["6", "me", "failure", "", "", "", "OSError"],
        ["7", "Ada", "charge", "survey", "0.125", "", "age: median"],
        ["8", "board", "limit", "survey", "", "2", "'@second wave"],
    ]
    assert reports.to_cells(entries[2])[0] == 2


def test_every_field_for_a_registry(survey):
    first, second = json.loads(ledger.export(survey, "registry"))
    assert first == {
        "url_slug": "survey-2026",
        "status": "Draft",
        "tier": 2,
        "deployment": {
            "basic": {
                "name": "survey",
                "data_curators": ["not stated in the ledger"],
                "intended_use": "not stated in the ledger",
                "data_product_type": "Summary statistics",
                "data_product_region": "not stated in the ledger",
                "description": "age: mean; =age: sum; age: median",
                "publication_date": "2026-01-01",
            },
            "dp_variant": {"variant_name": "Pure DP"},
            "privacy_loss": {
                "privacy_unit": "Record",
                "privacy_unit_details": "Adjacent datasets have the same number of records, and one record has other "
                "values.",
                "privacy_parameters": {"epsilon": 0.375},
            },
            "deployment_model": {
                "model_name": "Central",
                "release_type": "Many releases",
                "release_type_details": "Charged on 2026-01-01, 2026-01-06.",
            },
            "accounting": {"composition": "Sequential: the losses of all releases add up, to at most 2."},
            "implementation": first["deployment"]["implementation"],
        },
    }
    assert "exactly" in first["deployment"]["implementation"]["mechanisms"]
    deployment = second["deployment"]
    assert deployment["privacy_loss"] == {
        "privacy_unit": "Person",
        "privacy_unit_details": "Adjacent datasets differ in a person, with up to 3 records, which is in one of them "
        "only.",
        "privacy_parameters": {"epsilon": 0.333333334},
    }
    assert deployment["deployment_model"]["release_type"] == "One release"
    assert deployment["basic"]["description"] == "nothing was released yet"
    assert ledger.export(survey, "registry").startswith('[\n {\n  "url_slug": "survey-2026"')


def test_records_have_the_form_of_the_registry(survey):
    """Every record keeps the registry's schema. One with an unknown key or without its date does not."""
    records = json.loads(ledger.export(survey, "registry"))
    assert len(records) == 2
    assert [mistake for record in records for mistake in registry.list_mistakes(record)] == []
    assert len(registry.list_mistakes(records[0] | {"product": "survey"})) == 1
    del records[1]["deployment"]["basic"]["publication_date"]
    assert registry.list_mistakes(records[1]) == ["deployment.basic: 'publication_date' is a required property"]


def test_what_has_nothing_yet_and_letters_of_all_kinds(tmp_path):
    """Nothing was charged to a dataset, or it is an account of persons."""
    account = Account(tmp_path / "l", "größe", 1)
    charge(account, "a", "1/4", "höhe\x7f: mean", person="id\n")
    (line,) = ledger.show(account.ledger)[:1]
    assert line == r"größe: 0.25 of 1 spent, 0.75 left (1 charge; substitute; persons by id\n)"
    text = ledger.export(account.ledger, "registry")
    assert '"größe"' in text
    assert r"höhe\u007f: mean" in text
    (registered,) = json.loads(text)
    assert registry.list_mistakes(registered) == []
    loss = registered["deployment"]["privacy_loss"]
    assert loss["privacy_unit"] == "Person"
    assert loss["privacy_unit_details"].endswith("The column id\n has the id of the person.")
    # As it is between the entry of a dataset and that of its first charge.
    opened = ledger.read(account.ledger)[:2]
    (standing,) = ledger.standings(opened)
    empty = make_record(standing, opened)
    assert registry.list_mistakes(empty) == []
    assert empty["deployment"]["basic"]["description"] == "nothing was released yet"
    assert empty["deployment"]["privacy_loss"]["privacy_parameters"] == {}


def test_plain_values(survey):
    told = ledger.summarize(survey)
    assert list(told) == ["unit", "datasets", "entries"]
    assert told["unit"] == "billionths of epsilon"
    names = ("dataset", "limit", "spent", "left", "neighbours", "contributions", "charges", "person")
    assert [tuple(one.values()) for one in told["datasets"]] == [
        ("survey", 2 * 10**9, 375_000_000, 1_625_000_000, "substitute", 1, 2, None),
        ("visits", 2_500_000_000, 333_333_334, 2_166_666_666, "add-remove", 3, 1, None),
    ]
    assert [tuple(one) for one in told["datasets"]] == [names, names]
    assert [one["hash"] for one in told["entries"]] == [entry.hash for entry in ledger.read(survey)]
    assert [one["kind"] for one in told["entries"]][:4] == ["ledger", "dataset", "charge", "result"]


def test_an_unknown_format_and_a_ledger_that_was_changed(survey, tmp_path):
    with pytest.raises(ValueError, match=r"^kind must be 'csv' or 'registry', got 'CSV'$"):
        ledger.export(survey, "CSV")
    for ask in (ledger.show, ledger.summarize, ledger.export):
        with pytest.raises(LedgerError, match="there is no ledger"):
            ask(tmp_path / "none")
    # What is shown was verified: a note beside it that is ahead of it says that it was set back.
    copy = tmp_path / "copy"
    shutil.copy(survey, copy)
    copy.with_name("copy.head").write_text(f"9 {'a' * 64}\n")
    for ask in (ledger.show, ledger.summarize, ledger.export):
        with pytest.raises(LedgerError, match="it was set back"):
            ask(copy)


def test_a_ledger_without_a_dataset(tmp_path):
    """As it is after a first charge that was refused within its transaction."""
    path = tmp_path / "l"
    with access.change_chain(path):
        pass
    assert ledger.show(path)[0] == "no dataset yet"
    assert ledger.show(path)[1].endswith("  ledger   made, inbounds-ledger/1  (me)")
    assert ledger.summarize(path)["datasets"] == []
    assert json.loads(ledger.export(path, "registry")) == []
