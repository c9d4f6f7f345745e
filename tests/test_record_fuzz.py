"""A share of the forgeries of `tests.record_fuzz`, and that it would notice a door left open."""

import pytest
from inbounds.releases import proof

from tests import record_fuzz

NAMES = [
    "mean, substitute",
    "count, truncated",
    "proportions, add-remove",
    "histogram, projected, substitute",
    "covariance, split, truncated",
    "correlation, persons",
    "pooled covariance, sizes",
    "standard deviation, substitute",
]


@pytest.mark.claim("proof")
def test_forgeries_are_refused_at_both_doors():
    tally, breaches = record_fuzz.run(400, seed=20, names=NAMES)
    assert breaches == []
    assert {door for _, door in tally} == {"from_json", "verify"}
    assert sum(counts["refused"] for counts in tally.values()) > 600


def test_forgeries_go_through_where_nothing_is_proved(monkeypatch):
    """Without the draft of its own statistic there are records that say what is not so."""
    real = proof.prove
    # What a plan asks for is still compared: that is the other door.
    monkeypatch.setattr(proof, "prove", lambda record, draft=None: real(record, draft) if draft else None)
    _, breaches = record_fuzz.run(400, seed=20, names=NAMES)
    assert any("from_json" in breach for breach in breaches)
    assert not any("verify" in breach for breach in breaches)
