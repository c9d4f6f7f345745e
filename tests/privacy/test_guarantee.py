"""Guarantees add up without losing a digit of privacy."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inbounds import calibrate, privacy_loss, sensitivity
from inbounds.privacy.guarantee import (
    ApproximateDP,
    ProbabilisticDP,
    PureDP,
    compose_parallel,
    compose_sequential,
    split_by_sensitivity,
    split_by_weight,
    split_equally,
)

epsilons = st.lists(st.floats(1e-9, 100), min_size=1, max_size=20)


@pytest.mark.claim("compose-sequential")
@given(epsilons)
def test_a_sum_is_never_below_the_exact_one(values):
    total = compose_sequential(PureDP(value) for value in values)
    exact = sum(Fraction(value) for value in values)
    assert exact <= Fraction(total.epsilon) <= exact * (1 + Fraction(1, 2**51))


@pytest.mark.claim("split")
@given(st.floats(1e-6, 100), epsilons)
def test_shares_never_exceed_the_budget(epsilon, weights):
    shares = split_by_weight(epsilon, weights)
    assert sum(Fraction(share) for share in shares) <= Fraction(epsilon)
    for share, weight in zip(shares, weights, strict=True):
        assert share == pytest.approx(epsilon * weight / math.fsum(weights), rel=1e-14)


def test_the_papers_shares_give_one_scale():
    """w_j = δ_j/Σδ (Remark 2): δ_j/(w_j ε) is the same for all."""
    sensitivities = [0.1, 0.25, 3.0]
    scales = [d / e for d, e in zip(sensitivities, split_by_sensitivity(0.5, sensitivities), strict=True)]
    assert scales == pytest.approx([sum(sensitivities) / 0.5] * 3)
    assert split_equally(1.0, 4) == (0.25,) * 4


@pytest.mark.claim("compose-sequential")
def test_kinds():
    assert compose_sequential([PureDP(1), PureDP(0.5)]) == PureDP(1.5)
    assert compose_sequential([PureDP(1), ProbabilisticDP(0.5, 0.25)]) == ProbabilisticDP(1.5, 0.25)
    mixed = [ApproximateDP(1, 0.5), ProbabilisticDP(0.5, 0.25), PureDP(1)]
    assert compose_sequential(mixed) == ApproximateDP(2.5, 0.75)
    assert compose_sequential([ApproximateDP(1, 0.7)] * 2) == ApproximateDP(2, 1.0)
    assert ProbabilisticDP(1, 0.1).after_postprocessing() == ApproximateDP(1, 0.1)
    assert PureDP(1).delta == 0


@pytest.mark.claim("compose-parallel")
def test_a_substituted_record_is_removed_and_added():
    parts = [PureDP(0.25), PureDP(1), PureDP(0.5)]
    assert compose_parallel(parts, "add-remove") == PureDP(1)
    assert compose_parallel(parts, "substitute", parts="fixed") == PureDP(1)
    assert compose_parallel(parts, "substitute") == PureDP(2)
    loose = compose_parallel([ApproximateDP(1, 1e-6), ProbabilisticDP(0.5, 1e-7)])
    assert loose.epsilon == 2
    assert loose.delta == pytest.approx((1 + math.e) * 1e-6)
    # Within one part: a histogram at ε = 1 under add-remove, one record changing cell, loses 2.
    within = calibrate("laplace", "unbounded", sensitivity=sensitivity.histogram("add-remove"), epsilon=1.0)
    assert compose_parallel([PureDP(1), PureDP(0.1)]).epsilon == privacy_loss(within, moves=[1, -1])
    # Between two, by counting: two disjoint counts at ε each, the worst log ratio over outputs is ε + ε.
    worst = max(
        abs(abs(x - 1) - abs(x - 0)) + abs(abs(y - 0) - abs(y - 1)) for x in (-5.0, 0.0, 5.0) for y in (-5.0, 0.0, 5.0)
    )
    assert compose_parallel([PureDP(1), PureDP(1)]) == PureDP(worst)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: PureDP(0), ValueError, "epsilon must be finite and > 0"),
        (lambda: ApproximateDP(1, 1.1), ValueError, r"delta must lie in \[0, 1\]"),
        (lambda: ProbabilisticDP(1, math.nan), ValueError, "delta must be a number"),
        (lambda: compose_sequential([]), ValueError, "must not be empty"),
        (lambda: compose_parallel([PureDP(1)], "swap"), ValueError, "neighbours must be one of"),
        (lambda: split_equally(1, 0), ValueError, "parts must be >= 1"),
        (lambda: split_by_weight(1, [1, 0]), ValueError, r"weights\[1\] must be finite and > 0"),
        (lambda: compose_parallel([]), ValueError, "must not be empty"),
        (lambda: compose_parallel([PureDP(1)], parts="some"), ValueError, "parts must be one of"),
        (lambda: split_by_weight(1, [1e-300, 1e300]), ValueError, "a share vanishes"),
        (lambda: split_by_weight(1, []), ValueError, "weights must not be empty"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()
