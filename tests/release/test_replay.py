"""Frozen randomness on neighbouring tables: everything but the value is the same, and values are no further apart."""

import json
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.audit.replay import replay, trace
from inbounds.grid.entropy import SeededEntropy, SystemEntropy
from inbounds.grid.law import GridMechanism
from inbounds.grid.scale import Scale
from inbounds.privacy.certificate import Composition
from inbounds.road import draw
from tests.records import body_of
from tests.release.cases import every_call, table

CALLS = every_call()


def neighbours_of(t, call_name):
    """The table, and the same with one record (or all of a person) extreme in every column (or gone)."""
    usual = dict(zip(t, (20, 10.0, 45.0, "yes", True, "n", "a", 999), strict=True))
    extreme = dict(zip(t, (999, 1e300, float("inf"), "no", False, "w", "b", 1000), strict=True))
    # Of persons one with several rows, more than are kept, is replaced by one with a single row.
    times = (3, 1) if any(word in call_name for word in ("kept", "folded")) else (1, 1)
    one, other = (
        {name: np.append(column, [record[name]] * often) for name, column in t.items()}
        for record, often in zip((usual, extreme), times, strict=True)
    )
    return (one, t) if "add-remove" in call_name else (one, other)


@pytest.mark.parametrize("name", CALLS)
def test_the_same_trace_on_neighbours(name, monkeypatch):
    tables = neighbours_of(table(210), name)
    records, keys = [], {}

    def release(t, entropy):
        monkeypatch.setattr(draw, "entropy_source", lambda: entropy)
        made = CALLS[name](t, epsilon=1)
        public = body_of(made)
        # Notes are about released numbers, and truncated covariances lie within what released variances allow.
        del public["noisy"], public["value"], public["notes"]
        # Which rows of persons are kept is drawn with each release, and the same for both tables.
        keys.setdefault(repr(entropy.source), set()).add(public.pop("key", None))
        if "truncated" in name and made.statistic.traits.matrix:
            del public["bounds"], public["certificate"]
        records.append(json.dumps(public, sort_keys=True))
        # Correlations are masked where a variance was released as 0, which follows from released numbers.
        return np.ma.getdata(made.value) if isinstance(made.value, np.ma.MaskedArray) else made.value

    assert replay(release, tables, seeds=range(2))
    assert len(set(records)) == 1
    assert [len(seen) for seen in keys.values()] == [1, 1]
    assert len(set.union(*keys.values())) == (2 if "kept" in name else 1)


# Truncated noise is no location plus something independent of it. Released bounds are on so coarse a grid that one
# record may not be seen. The second number of a centred variance depends on what was drawn for the first; see
# `tests/release/test_centred.py`.
_APART = ("truncated", "bound", "centred")


@pytest.mark.parametrize("name", [name for name in CALLS if not any(word in name for word in _APART)])
def test_the_same_noise_keeps_neighbours_together(name, monkeypatch):
    """With equal noise each coordinate moves by at most its certified sensitivity."""
    seen = False
    for seed in range(30):
        # On a coarse grid one seed may not tell the tables apart.
        if seen and seed > 1:
            break
        made = []
        for t in neighbours_of(table(210), name):
            entropy = SeededEntropy(seed)
            monkeypatch.setattr(draw, "entropy_source", lambda entropy=entropy: entropy)
            made.append(CALLS[name](t, epsilon=1))
        certificate = made[0].certificate
        composed = isinstance(certificate, Composition)
        parts = made[0].parts
        moved = [abs(a - b) for a, b in zip(made[0].noisy, made[1].noisy, strict=True)]
        seen = seen or any(moved)
        for part, move in zip(parts, moved, strict=True):
            # A person moves a number by as much as all rows that are kept of them.
            assert move <= part.move * part.step * (part.draws if "kept" in name else 1)
        if not composed and certificate.dimension == 1:
            # Counts: so many changes in all.
            assert sum(moved) <= certificate.draws * certificate.move * certificate.step
    assert seen, "the tables differ, and so should what is drawn from them"


REFUSED = {
    "a missing value": {"income": [1.0, None, 3.0, 4.0], "g": ["a", "b", "a", "a"]},
    "two missing values": {"income": [None, 2.0, None, 4.0], "g": ["a", "b", "a", "a"]},
    "NaN": {"income": [1.0, 2.0, 3.0, float("nan")], "g": ["a", "b", "a", "a"]},
}


def test_refusals_do_not_tell_the_record(monkeypatch):
    def release(t, entropy):
        monkeypatch.setattr(draw, "entropy_source", lambda: entropy)
        return ib.mean(t, "income", bounds=(0, 200), epsilon=1)

    traces = {trace(release, t, 0) for t in REFUSED.values()}
    assert len(traces) == 1
    (one,) = traces
    assert one.requests == ()
    assert one.message.startswith("column 'income' has missing values, or values that are no numbers; say what they")

    def levels(t, entropy):
        monkeypatch.setattr(draw, "entropy_source", lambda: entropy)
        return ib.histogram(t, "g", levels=["a", "b"], epsilon=1)

    odd = [{"g": ["a", "secret one", "a"]}, {"g": ["secret two", "b", "another"]}]
    assert len({trace(levels, t, 0) for t in odd}) == 1
    assert "secret" not in trace(levels, odd[0], 0).message


def test_the_replay_would_see_a_leak(monkeypatch):
    """The control: a step taken from the data shows in the record."""

    def leaky(t, entropy):
        monkeypatch.setattr(draw, "entropy_source", lambda: entropy)
        return ib.histogram(t["age"], edges=[0, *np.unique(t["age"])[:3] + 1], epsilon=1).value

    t = table(210)
    assert not replay(leaky, [t, {"age": np.array([3, 4])}], seeds=range(2))


def test_only_the_systems_randomness(monkeypatch):
    assert isinstance(draw.entropy_source(), SystemEntropy)
    monkeypatch.setattr(draw, "SYSTEM", SeededEntropy(1))
    with pytest.raises(TypeError, match="a release draws from SystemEntropy"):
        ib.mean([1.0, 2.0], bounds=(0, 1), epsilon=1)


@pytest.mark.claim("release-single")
def test_roots_go_to_the_nearest_index():
    """⌊√v/step + ½⌋, by comparing squares of fractions."""
    law = GridMechanism("bit", Scale(20, 1), 0, 10**6, Fraction(3, 7))
    for k in range(200):
        for square in (Fraction(k, 3), Fraction(k * k) * Fraction(9, 49), (k + Fraction(1, 2)) ** 2 * Fraction(9, 49)):
            index = draw._root_index(law, square)
            assert ((index - Fraction(1, 2)) * law.step) ** 2 <= square or index == 0
            assert square < ((index + Fraction(1, 2)) * law.step) ** 2


def test_releases_differ_from_call_to_call():
    assert len({ib.mean([1.0] * 1000, bounds=(-1000, 1000), epsilon=1).value for _ in range(20)}) > 15
