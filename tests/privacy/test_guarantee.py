"""Guarantees add up without losing a digit of privacy."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inbounds import calibrate, privacy_loss, sensitivity
from inbounds.privacy import guarantee
from inbounds.privacy.guarantee import (
    Guarantee,
    Pure,
    compose_parallel,
    parse_guarantee,
    register_guarantee,
    spell_number,
    split,
)

amounts = st.fractions(Fraction(1, 10**12), 100)


@pytest.mark.claim("compose-sequential")
@given(st.lists(amounts, min_size=1, max_size=20))
def test_a_sum_is_the_exact_one(values):
    total = Pure(values[0])
    for value in values[1:]:
        total = total.plus(Pure(value))
    assert total == Pure(sum(values))
    assert total.covers(Pure(values[0]))


@given(amounts, amounts)
def test_what_is_left_and_what_was_spent_make_the_budget(one, other):
    budget, spent = Pure(max(one, other)), Pure(min(one, other))
    assert budget.covers(spent)
    left = budget.minus(spent)
    assert (left is None) is (one == other)
    assert budget == (spent if left is None else spent.plus(left))
    assert spent.covers(budget) is (one == other)
    assert spent.minus(budget) is None


@given(amounts)
def test_ledgers_charge_no_less_and_grant_no_more(value):
    exact = Pure(value)
    charged, granted = exact.round_up(), exact.round_down()
    assert charged.covers(exact)
    assert charged.epsilon - value < Fraction(1, 10**9)
    assert charged.round_up() == charged == charged.round_down()
    if value < Fraction(1, 10**9):
        assert granted is None
    else:
        assert exact.covers(granted)
        assert value - granted.epsilon < Fraction(1, 10**9)


@pytest.mark.claim("split")
@given(amounts, st.lists(st.floats(1e-9, 100), min_size=1, max_size=20))
def test_shares_are_the_budget(epsilon, weights):
    shares = split(Pure(epsilon), weights)
    assert sum(share.epsilon for share in shares) == epsilon
    for share, weight in zip(shares, weights, strict=True):
        assert float(share.epsilon) == pytest.approx(float(epsilon) * weight / math.fsum(weights), rel=1e-12)


def test_the_papers_shares_give_one_scale():
    """w_j = δ_j/Σδ (Remark 2): δ_j/(w_j ε) is the same for all."""
    sensitivities = [0.1, 0.25, 3.0]
    shares = split(Pure(0.5), sensitivities)
    scales = {Fraction(repr(d)) / share.epsilon for d, share in zip(sensitivities, shares, strict=True)}
    assert scales == {Fraction("3.35") / Fraction("0.5")}
    assert split(Pure(1), [1] * 4) == (Pure(0.25),) * 4


@pytest.mark.claim("compose-parallel")
def test_a_substituted_record_is_removed_and_added():
    parts = [Pure(0.25), Pure(1), Pure(0.5)]
    assert compose_parallel(parts, "add-remove") == Pure(1)
    assert compose_parallel(parts, "substitute", parts="fixed") == Pure(1)
    assert compose_parallel(parts, "substitute") == Pure(2)
    # Within one part: a histogram at ε = 1 under add-remove, one record changing cell, loses 2.
    within = calibrate("laplace", "unbounded", sensitivity=sensitivity.histogram("add-remove"), epsilon=1.0)
    assert compose_parallel([Pure(1), Pure(0.1)]).epsilon == privacy_loss(within, moves=[1, -1])
    # Between two, by counting: two disjoint counts at ε each, the worst log ratio over outputs is ε + ε.
    worst = max(
        abs(abs(x - 1) - abs(x - 0)) + abs(abs(y - 0) - abs(y - 1)) for x in (-5.0, 0.0, 5.0) for y in (-5.0, 0.0, 5.0)
    )
    assert compose_parallel([Pure(1), Pure(1)]) == Pure(worst)


@given(amounts)
def test_what_is_written_is_read(value):
    one = Pure(value)
    assert parse_guarantee(one.to_dict()) == one
    assert hash(parse_guarantee(one.to_dict())) == hash(one)
    assert eval(repr(one)) == one
    assert isinstance(one, Guarantee)


@pytest.mark.parametrize(
    "text",
    ["0", "-1", "+1", "01", "1/0", "1e3", "1.5", "1e-999999999", " 1", "1\n", "", "x", "٣", "9" * 4301, 1, 0.5, None],
)
def test_other_texts_are_no_numbers(text):
    with pytest.raises(ValueError, match="epsilon must be a number > 0, written as a fraction"):
        parse_guarantee({"epsilon": text})


@pytest.mark.parametrize(
    ("body", "named"), [({}, "of nothing"), ({"mu": "1"}, "mu"), ({"rho": "1", "epsilon": "1"}, "epsilon, rho")]
)
def test_unknown_and_mixed_kinds_are_refused_by_name(body, named):
    with pytest.raises(ValueError, match=rf"the fields {named}; the kinds are pure \(epsilon\); zcdp \(rho\)"):
        parse_guarantee(body)


def test_kinds_are_told_apart(monkeypatch):
    monkeypatch.setattr(guarantee, "_kinds", dict(guarantee._kinds))

    @dataclass(frozen=True)
    class Tilted:
        kind: ClassVar[str] = "tilted"
        slope: Fraction

    @dataclass(frozen=True)
    class Namesake:
        kind: ClassVar[str] = "pure"
        other: Fraction

    @dataclass(frozen=True)
    class Double:
        kind: ClassVar[str] = "double"
        epsilon: Fraction

    assert register_guarantee(Tilted) is Tilted
    assert parse_guarantee({"slope": "1/7"}) == Tilted(Fraction(1, 7))
    for again in (Namesake, Double):
        with pytest.raises(ValueError, match="has the name or fields of 'pure'"):
            register_guarantee(again)


def test_a_guarantee_in_words():
    assert [str(Pure(value)) for value in (1, 0.25, "1/3", 10**9, "1e-9")] == [
        "epsilon 1",
        "epsilon 0.25",
        "epsilon 1/3",
        "epsilon 1000000000",
        "epsilon 0.000000001",
    ]
    assert spell_number(Fraction(1, 2 * 10**9)) == "1/2000000000"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: Pure(0), ValueError, "epsilon must be > 0, got 0"),
        (lambda: Pure(math.nan), ValueError, "epsilon must be a number, got nan"),
        (lambda: Pure(math.inf), ValueError, "epsilon must be finite"),
        (lambda: Pure(True), TypeError, "epsilon must be a real number"),
        (lambda: Pure(1).share(Fraction(0)), ValueError, r"weight must lie in \(0, 1\]"),
        (lambda: Pure(1).share(Fraction(3, 2)), ValueError, r"weight must lie in \(0, 1\]"),
        (lambda: split(Pure(1), [1, 0]), ValueError, r"weights\[1\] must be > 0"),
        (lambda: split(Pure(1), []), ValueError, "weights must not be empty"),
        (lambda: compose_parallel([Pure(1)], "swap"), ValueError, "neighbours must be one of"),
        (lambda: compose_parallel([Pure(1)], parts="some"), ValueError, "parts must be one of"),
        (lambda: compose_parallel([]), ValueError, "must not be empty"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()
