"""Laws of releases: each certificate says what was asked for, at all of its ε, and with the least noise of its grid."""

import math
from fractions import Fraction

import pytest

from inbounds.privacy.certificate import verify
from inbounds.privacy.certified import (
    choice_law,
    counts_law,
    cut_law,
    joint_law,
    norm_law,
    open_law,
    single_law,
    zero_sum_law,
)
from inbounds.privacy.norms import norm_rounding
from inbounds.privacy.terms import Terms

F = Fraction
BOUNDS = (F(3), F(13))
TERMS = Terms.of(F(3, 4), rows=1000)
TWICE = Terms.of(F(3, 4), contributions=2, rows=1000)
ADDED = Terms.of(F(3, 4), neighbours="add-remove")
TRUNCATED = Terms.of(F(3, 4), bounding="truncated", rows=1000)


def says(law, epsilon=TERMS.epsilon, **expected):
    """Its fields; a loss that is next to ε; and a text that proves itself."""
    assert {name: getattr(law, name) for name in expected} == expected
    assert law.epsilon == epsilon
    assert epsilon * (1 - F(1, 1 << 9)) <= law.loss <= epsilon
    assert verify(law.to_dict()) == law
    return True


@pytest.mark.parametrize("terms", [TERMS, ADDED, TRUNCATED])
def test_one_number_within_bounds(terms):
    ends = {"statistic": "mean", "neighbours": terms.neighbours, "bounding": terms.bounding, "location": "inside"}
    law = single_law("mean", terms, BOUNDS, F(1, 10))
    assert says(law, **ends, noise="laplace", dimension=1, draws=1, sensitivity=F(1, 10), first=0, origin=F(3))
    assert law.last * law.step == 10
    assert law.move * law.step == F(1, 10)
    assert single_law("mean", terms, BOUNDS, F(1, 10), epsilon=F(1, 4)).epsilon == F(1, 4)
    stepped = single_law("mean", terms, BOUNDS, F(1, 10), step=F(1, 10))
    assert says(stepped, **ends, step=F(1, 10), move=1, last=100)


def test_stairs_are_taken_where_they_are_clearly_better_and_nothing_else_is_asked():
    much = Terms.of(5, rows=1000)
    assert says(single_law("mean", much, BOUNDS, F(1, 10)), F(5), noise="staircase", bounding="bit")
    assert single_law("mean", much, BOUNDS, F(1, 10), step=F(1, 10)).noise == "laplace"
    assert single_law("mean", Terms.of(5, bounding="truncated", rows=9), BOUNDS, F(1)).noise == "laplace"
    assert open_law("sum", much, F(1), F(5)).noise == "staircase"
    # Counts and vectors have no levels, however large ε is.
    assert counts_law("histogram", much).noise == "laplace"
    assert joint_law("moments", much, F(1), 3).width is None


def test_one_number_without_bounds():
    law = open_law("sum", TERMS, F(1, 10), F(1, 4))
    open_ = {"first": None, "last": None, "bounding": "unbounded", "location": "anywhere"}
    assert says(law, F(1, 4), statistic="sum", neighbours="substitute", sensitivity=F(1, 10), **open_)
    with pytest.raises(
        ValueError, match=r"^bounding='truncated' is not offered for a sum released jointly: the noise of"
    ):
        open_law("sum", TRUNCATED, F(1), F(1))
    with pytest.raises(
        ValueError, match=r"^a mean has no bounds here, so there is nothing to truncate; use bounding='"
    ):
        single_law("mean", TRUNCATED, (None, None), F(1))
    assert single_law("mean", TRUNCATED, (F(0), None), F(1)).bounding == "truncated"


def test_a_law_is_cut_to_other_bounds():
    law = single_law("covariance", TRUNCATED, BOUNDS, F(1, 10))
    cut = cut_law(law, (F(4), F(5)))
    ends = {"bounding": "truncated", "location": "anywhere", "sensitivity": F(1, 10), "neighbours": "substitute"}
    assert says(cut, **ends, statistic="covariance", origin=F(4), first=0)
    assert cut.last * cut.step == 1
    # A location anywhere moves by all of its sensitivity, also by more than the width.
    wide = cut_law(single_law("covariance", TRUNCATED, BOUNDS, F(5)), (F(4), F(5)))
    assert wide.move == 5 * wide.last


@pytest.mark.parametrize(("terms", "changes"), [(TERMS, 2), (TWICE, 4), (ADDED, 1)])
def test_counts_of_a_table(terms, changes):
    last = terms.rows
    shape = {"step": 1, "move": 1, "first": 0, "last": last, "origin": 0, "location": "inside", "sensitivity": 1}
    law = counts_law("histogram", terms)
    assert says(law, draws=changes, statistic="histogram", neighbours=terms.neighbours, bounding="bit", **shape)
    assert law.dimension == 1
    # A tree counts every record in each of its levels; a level by itself has a share.
    tree = counts_law("histogram", terms, 3, F(1, 2))
    assert says(tree, F(3, 8), draws=3 * changes, **shape)


def test_counts_that_keep_their_sum():
    for terms, changes in ((TERMS, 2), (TWICE, 4)):
        law = zero_sum_law("histogram", terms, 7)
        shape = {"step": 1, "move": 1, "first": None, "last": None, "location": "anywhere", "bounding": "unbounded"}
        assert says(law, draws=changes, dimension=7, noise="zero-sum", statistic="histogram", sensitivity=1, **shape)
        assert law.neighbours == "substitute"


def test_vectors():
    shape = {"first": None, "last": None, "location": "anywhere", "bounding": "unbounded", "statistic": "moments"}
    for terms, draws in ((TERMS, 1), (ADDED, 2)):
        law = joint_law("moments", terms, F(1, 10), 5, draws)
        assert says(law, draws=draws, dimension=5, noise="sup-norm", sensitivity=F(1, 10), **shape, blocks=())
        assert law.neighbours == terms.neighbours
    assert joint_law("moments", TERMS, F(1, 10), 5) == joint_law("moments", TERMS, F(1, 10), 5, 1)
    assert norm_law("moments", TERMS, F(1, 10), ("box 5",), 2) == joint_law("moments", TERMS, F(1, 10), 5, 2)
    for draws, epsilon in ((1, None), (2, F(1, 4))):
        law = norm_law("moments", TERMS, F(1, 10), ("moments 2",), draws, epsilon)
        own = {"draws": draws, "dimension": 5, "noise": "polyhedral", "sensitivity": F(1, 10), "blocks": ("moments 2",)}
        assert says(law, epsilon or F(3, 4), **own, **shape, neighbours="substitute")
        # Rounding to the grid moves a vector by few of its steps.
        assert law.step <= F(1, 10) / (1 << 12)
    assert norm_law("moments", TERMS, F(1, 10), ("moments 2",)).draws == 1
    for make in (
        lambda: joint_law("pairs", TRUNCATED, F(1), 2),
        lambda: norm_law("pairs", TRUNCATED, 1, ("moments 1",)),
    ):
        with pytest.raises(
            ValueError, match=r"^bounding='truncated' is not offered for a pairs released jointly: .* use"
        ):
            make()


@pytest.mark.parametrize(
    ("epsilon", "parts"),
    [
        (F(1, 1 << 20), 1 << 12),
        (F(1, 1 << 23), 1 << 11),
        (F(1, 1 << 24), 1 << 10),
        (F(5, 1 << 35), 2),
        (F(1, 1 << 34), 1),
    ],
)
def test_steps_of_a_norm_are_small_as_far_as_a_small_epsilon_allows(epsilon, parts):
    law = norm_law("moments", Terms.of(epsilon, rows=9), F(1, 10), ("moments 1",))
    assert law.step == F(1, 10) / parts
    assert law.move == math.ceil(parts + norm_rounding(("moments 1",)))


def test_chosen_points():
    points = (F(3), F(1, 4), 40)
    law = choice_law("median", TERMS, points, F(9, 10), 2, F(1, 2))
    shape = {"first": 0, "last": 40, "step": F(1, 4), "origin": F(3), "bounding": "bit", "noise": "exponential"}
    assert says(law, F(3, 8), statistic="median", neighbours="substitute", sensitivity=F(9, 10), draws=2, **shape)
    assert choice_law("median", ADDED, points, F(9, 10), 1).neighbours == "add-remove"
    assert choice_law("median", TERMS, points, F(9, 10), 1).epsilon == F(3, 4)
    with pytest.raises(
        ValueError, match=r"^a median is a point within the bounds, so there is nothing to truncate; use "
    ):
        choice_law("median", TRUNCATED, points, F(1), 1)
    with pytest.raises(
        ValueError, match=r"^epsilon is too small, or contributions are too many, for a point to be chosen$"
    ):
        choice_law("median", Terms.of(F(1, 10**12), rows=9), points, F(1), 1)


def test_noise_that_would_not_fit_is_named():
    tiny = Terms.of(F(1, 10**15), rows=1000)
    words = (
        r"^no noise can be drawn for this epsilon, with these bounds, rows \(or denominator\) and contributions: the "
        r"scale would be too large or too small for 60 bits; take an epsilon nearer to 1, or fewer contributions$"
    )
    for make in (lambda: counts_law("histogram", tiny), lambda: single_law("mean", tiny, BOUNDS, F(1, 7))):
        with pytest.raises(ValueError, match=words):
            make()
