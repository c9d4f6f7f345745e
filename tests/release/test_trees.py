"""Releases by trees whose levels have shares of ε of their own."""

import json
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.privacy.certificate import CertificateError, Composition
from inbounds.privacy.terms import Terms
from inbounds.record import RecordError
from inbounds.repairs.tree import range_variance
from inbounds.statistics import Histogram, Proportions
from tests.records import body_of, record_with
from tests.soundness import why_unsound

LEVELS = [f"{i:03d}" for i in range(144)]


def shares(**keywords):
    return ib.proportions(LEVELS * 20, levels=LEVELS, epsilon=1, repair="tree", **keywords)


@pytest.mark.claim("tree-levels")
@pytest.mark.parametrize("neighbours", ["substitute", "add-remove"])
@pytest.mark.parametrize("contributions", [1, 3])
def test_losses_of_levels_add_up(neighbours, contributions):
    """A record is in one node of each level: it costs ε_level in each, and no more in all than ε."""
    over = {"denominator": 2880} if neighbours == "add-remove" else {}
    release = shares(neighbours=neighbours, contributions=contributions, level_shares=(1, 3), **over)
    law = release.certificate
    assert isinstance(law, Composition)
    assert [part.epsilon for part in law.parts] == [Fraction(1, 4), Fraction(3, 4)]
    changes = contributions * (2 if neighbours == "substitute" else 1)
    for part in law.parts:
        # So many counts of the level change by one, each at 1/scale.
        assert part.draws == changes
        assert changes / part.spread == part.loss <= part.epsilon
        assert part.loss > Fraction(999_999, 1_000_000) * part.epsilon
    assert why_unsound(release) == ""
    assert ib.Release.from_json(release.to_json()) == release


def test_a_tree_of_its_own_has_two_levels_and_the_best_shares():
    release = shares()
    assert [len(group) for group in release.statistic.tree] == [12] * 12
    assert release.statistic.level_shares == (Fraction(39, 100), Fraction(61, 100))
    assert [part.epsilon for part in release.certificate.parts] == [Fraction(39, 100), Fraction(61, 100)]
    assert len(release.noisy) == 156
    body = json.loads(release.to_json())["releases"][release.title]
    assert body["statistic"]["level_shares"] == ["39/100", "61/100"]
    # Whoever states a tree gets equal shares, by one law, or what is asked for.
    stated = shares(tree=release.statistic.tree)
    assert stated.statistic.level_shares is None
    assert stated.certificate.draws == 4
    assert shares(tree=release.statistic.tree, level_shares=("39/100", "0.61")).statistic == release.statistic


def test_other_shares_do_not_pass_for_those_that_were_drawn():
    made = body_of(shares())
    for lie in (["1/2", "1/2"], ["61/100", "39/100"], ["39/100"], ["39/100", "39/100"], [39, 61]):
        with pytest.raises((RecordError, CertificateError)):
            ib.Release.from_json(record_with(made | {"statistic": made["statistic"] | {"level_shares": lie}}))


@pytest.mark.claim("release-levels")
def test_noise_of_each_level_is_that_of_its_law():
    """Counts of groups and of members, 40 releases: 480 and 5,760 squares, against 2q/(1 - q)²."""
    made = [shares(level_shares=(1, 4)) for _ in range(40)]
    noise = np.array([[float(x) for x in release.noisy] for release in made])
    for off, scale in ((noise[:, :12] - 240, 10.0), (noise[:, 12:] - 20, 2.5)):
        z = np.arange(-3000, 3001)
        p = np.exp(-np.abs(z) / scale)
        # Members are clamped at 0, 8 scales away.
        variance, fourth = (p @ z**power / p.sum() for power in (2, 4))
        error = np.sqrt((fourth - variance**2) / off.size)
        assert abs((off**2).mean() - variance) < 7 * error + 0.01 * variance
        # A scale that is a half larger would be seen.
        assert abs((off**2).mean() - 2.25 * variance) > 7 * error


def test_ranges_are_as_good_as_they_should_be():
    """Sums over ranges of a thousand leaves, from 30 releases: less than half the squares of flat counts."""
    levels = list(range(1024))
    data = np.repeat(levels, 20)
    ends = [(i, j) for i in range(0, 1024, 64) for j in range(i + 64, 1025, 64)]
    squares = {}
    for repair in ("tree", "project"):
        made = [ib.histogram(data, levels=levels, epsilon=1, repair=repair).value for _ in range(30)]
        sums = np.array([[value[i:j].sum() - 20 * (j - i) for i, j in ends] for value in made])
        squares[repair] = (sums**2).mean()
        assert all(value.sum() == 20 * 1024 for value in made)
    assert squares["tree"] < 0.6 * squares["project"]


def test_counts_in_a_tree_are_whole_and_add_up():
    release = ib.histogram(LEVELS * 3, levels=LEVELS, epsilon=0.2, repair="tree")
    assert release.value.dtype == int
    assert release.value.sum() == 432
    assert release.value.min() >= 0
    assert release.method == "counts of groups and members made to agree"
    assert ib.Release.from_json(release.to_json()) == release
    error = release.error
    assert error.simulated
    leaf = range_variance(release.derivation.tree, [0], variances=release.derivation.variances)
    assert error.rmse.min() > 0
    assert np.sqrt((error.rmse**2).mean()) < np.sqrt(leaf)


def test_intervals_have_the_law_of_the_leaves():
    release = shares(level_shares=(1, 3))
    flat = ib.proportions(LEVELS * 20, levels=LEVELS, epsilon="3/4", repair="rescale")
    width, same = (np.median(one.interval(kind="noise").width) for one in (release, flat))
    assert width == pytest.approx(same, rel=0.15)
    p = ib.inference.p_value(release, 0.5)
    assert p.shape == (144,)
    assert ib.inference.posterior(release).mean.shape == (144,)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: shares(level_shares=(1,)), ValueError, "one number for each of the 2 depths of the tree"),
        (lambda: shares(level_shares=(1, 0)), ValueError, "level_shares must be > 0"),
        (lambda: shares(level_shares=(1, float("nan"))), ValueError, "level_shares"),
        (lambda: shares(level_shares="11"), TypeError, "level_shares must be a list of numbers"),
        (lambda: shares(level_shares=("1/" + "9" * 150, "1/" + "8" * 150 + "7")), ValueError, "at most 100 digits"),
        (lambda: shares(level_shares=("1e-40", 1)), ValueError, "no noise can be drawn"),
        (lambda: ib.histogram([1], levels=[1, 2], level_shares=(1, 1), epsilon=1), TypeError, "level_shares cannot be"),
        (lambda: ib.histogram([1], levels=[1, 2], tree=(1, 2), epsilon=1), TypeError, "tree cannot be combined"),
        (
            lambda: ib.histogram([1], levels=[1, 2], repair="tree", epsilon=1, neighbours="add-remove"),
            ValueError,
            "repair='tree' needs a public number of rows",
        ),
    ],
)
def test_bad_shares_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_statistics_are_the_same_values_again():
    for made in (Histogram, Proportions):
        one = made("x", levels=LEVELS, repair="tree", level_shares=[43, 57])
        assert one.level_shares == (Fraction(43, 100), Fraction(57, 100))
        again = made("x", levels=LEVELS, repair="tree", tree=one.tree, level_shares=one.level_shares)
        assert again == one
        assert one.numbers(Terms.of(1)) == 156


def test_a_plan_states_shares():
    plan = {
        "data": {"rows": 2880},
        "budget": {"epsilon": 1},
        "columns": {"x": {"levels": LEVELS}},
        "release": [
            {"name": "x", "statistic": "histogram", "columns": ["x"], "repair": "tree", "level_shares": [1, "3"]}
        ],
    }
    (draft,) = ib.Plan.of(plan).drafts().values()
    assert [part.epsilon for part in draft.record.certificate.parts] == [Fraction(1, 4), Fraction(3, 4)]
