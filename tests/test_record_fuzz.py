"""A share of the forgeries of `tests.record_fuzz`, and that it would notice a door left open."""

from dataclasses import replace

import pytest

from inbounds.record import codec
from inbounds.tables import coordinates
from tests import record_fuzz, soundness
from tests.release.cases import table

NAMES = [
    "mean, substitute",
    "count, truncated",
    "proportions, add-remove",
    "histogram, projected, substitute",
    "covariance, split, truncated",
    "correlation, persons",
    "kendall, truncated",
    "kendall of four, persons",
    "covariance, elements, substitute",
    "moments, substitute",
    "moments, add-remove",
    "variance, substitute",
    "pooled covariance, sizes",
    "standard deviation, substitute",
    "mean where, substitute",
    "variance by, add-remove",
    "mean of derived where, substitute",
    "sum by, persons",
]


@pytest.mark.claim("proof")
def test_forgeries_are_refused_at_all_doors():
    tally, breaches = record_fuzz.run(400, seed=20, names=NAMES)
    assert breaches == []
    assert {door for _, door in tally} == {"from_json", "verify", "ledger"}
    assert sum(counts["refused"] for counts in tally.values()) > 800
    # The ledger knows what was asked for and what came of it.
    at_the_ledger = {word for (_, door), counts in tally.items() if door == "ledger" for word in counts}
    assert at_the_ledger <= {"refused", "same", "notation"}


@pytest.mark.claim("proof")
@pytest.mark.parametrize("name", record_fuzz.calls())
def test_honest_releases_are_sound_by_other_formulas(name):
    """What judges forgeries has nothing against what is released."""
    made = record_fuzz.calls()[name](table(record_fuzz.ROWS), **record_fuzz.at_two(name))
    assert soundness.why_unsound(made) == ""
    assert record_fuzz.judged(made, record_fuzz.read_back(made), record_fuzz.records.body_of(made)) == "same"


def test_forgeries_go_through_where_nothing_is_compared(monkeypatch):
    """Without the draft of its own statistic there are records that say what is not so."""
    monkeypatch.setattr(codec, "_compare", lambda release, *_: release)
    _, breaches = record_fuzz.run(200, seed=20, names=NAMES)
    assert any("(text)" in breach and "from_json" in breach for breach in breaches)
    assert any("(text)" in breach and "verify" in breach for breach in breaches)
    # What was kept is compared once more there, but for the value's last digits.
    assert not any("(exchanged)" in breach for breach in breaches)


def test_drafts_that_are_wrong_are_noticed(monkeypatch):
    """The judge asks no draft what a record can do: half of a sensitivity is found."""
    real = coordinates.mean

    def halved(*args):
        made = real(*args)
        return replace(made, sensitivity=made.sensitivity / 2)

    monkeypatch.setattr(coordinates, "mean", halved)
    _, breaches = record_fuzz.run(60, seed=20, names=["mean, substitute"])
    assert any("sensitivity" in breach for breach in breaches)
