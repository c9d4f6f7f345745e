"""Persons with several rows, by brute force over all neighbours: quantiles, capped groups, ordered rows, refusals."""

import itertools
from fractions import Fraction
from functools import cache

import pytest

import inbounds as ib
from inbounds.plan.plan import PlanError
from inbounds.tables import kept
from tests.release.test_persons import (
    ALONE,
    BOTH,
    BY,
    DEFECTS,
    HISTORIES,
    STATISTICS,
    draft_of,
    farthest_apart,
    keeping,
    numbers_of,
    table_of,
)

QUANTILES = {
    "median": ib.Median("x", bounds=(0, 10), step=5),
    "median by": ib.Median("x", bounds=(0, 10), step=5, **BY),
    "quantile by": ib.Quantile("x", q=0.8, bounds=(0, 10), step=5, **BY),
}


def scores_of(counts, share):
    """How far a share of the records is from the ranks of each point, of each group."""
    found = []
    for group in counts:
        below, target = Fraction(0), share * sum(group)
        for n in group:
            found.append((max(below - target, target - below - n), len(found)))
            below += n
    return [score for score, _ in found]


def change_of_scores(one, two, share):
    """The largest change of a score in each group, added up."""
    moved = Fraction(0)
    for a, b in zip(one, two, strict=True):
        moved += max(abs(u - v) for u, v in zip(scores_of([a], share), scores_of([b], share), strict=True))
    return moved


def neighbours_of(neighbours):
    for one, two in itertools.combinations_with_replacement(HISTORIES, 2):
        whole = (("p", one), ("q", two))
        if neighbours == "add-remove":
            yield from ((whole, whole[:1]), (whole, whole[1:]))
        else:
            yield from ((whole, (whole[0], ("r", other))) for other in HISTORIES)


@pytest.mark.claim("kept")
@pytest.mark.claim("quantile-sensitivity")
@BOTH
@pytest.mark.parametrize("rule", [{"contributions": 2}, {"fold": {"x": "max", "g": "min"}}], ids=["kept", "folded"])
@pytest.mark.parametrize("name", QUANTILES)
def test_scores_of_quantiles_of_all_neighbours(name, rule, neighbours):
    """Points are chosen by scores; all rows of one person move them by no more than is certified."""
    draft = draft_of(QUANTILES[name], neighbours, **rule)
    (node,), certificate = draft.nodes, draft.record.parts[0]
    at = cache(lambda people: numbers_of(draft, table_of(dict(people))))
    farthest = Fraction(0)
    for one, two in neighbours_of(neighbours):
        farthest = max(farthest, change_of_scores(at(one), at(two), node.share))
    allowed = certificate.sensitivity * certificate.draws
    # A law of a quarter of the noise would be caught.
    assert allowed / 4 < farthest <= allowed


RULES = {
    "capped groups": {"contributions": 1, "groups": {"g": 2}},
    "two rows in one group": {"contributions": 2, "groups": {"g": 1}},
    "first rows": {"contributions": 2, "keep": "first", "order": "y"},
    "last row": {"contributions": 1, "keep": "last", "order": "x"},
    "rows without an id": {"contributions": 2, "person_missing": "own"},
}


# Which rows are kept does not depend on the statistic, so each rule meets counts and sums; together they meet four.
BY_RULE = [
    (name, rule)
    for place, rule in enumerate(RULES)
    for name in (("count by", "mean by"), ("sum by", "crosstab"))[place % 2]
]


@pytest.mark.claim("kept")
@BOTH
@pytest.mark.parametrize(("name", "rule"), BY_RULE)
def test_all_neighbours_by_other_rules(name, rule, neighbours):
    draft = draft_of(STATISTICS[name], neighbours, **RULES[rule])
    farthest, allowed = farthest_apart(draft, neighbours, unowned=(0, 3))
    # A law of a quarter of the noise would be caught.
    assert allowed / 4 < farthest <= allowed


@BOTH
@pytest.mark.parametrize("name", ALONE)
def test_what_needs_a_public_number_of_rows_is_refused_where_several_are_kept(name, neighbours):
    with pytest.raises(ValueError, match=r"number of rows|one record of each person"):
        draft_of(ALONE[name], neighbours, 2)


@pytest.mark.claim("kept")
@pytest.mark.parametrize("defect", [name for name in DEFECTS if "missing" not in name])
def test_planted_defects_are_caught_under_substitution(defect, monkeypatch):
    plant, rule, _ = DEFECTS[defect]
    draft = draft_of(STATISTICS["count by"], "substitute", 1, **rule)
    found, allowed = farthest_apart(draft, "substitute")
    assert found <= allowed
    monkeypatch.setattr(kept, "can_rank", lambda *_: False)
    monkeypatch.setattr(keeping, "rank", plant)
    found, allowed = farthest_apart(draft, "substitute")
    assert found > allowed


PLAN = {
    "data": {"rows": 3, "person": "id"},
    "budget": {"epsilon": 1},
    "columns": {"x": {"bounds": [0, 9]}, "g": {"levels": ["a", "b"]}},
    "release": [{"name": "level", "statistic": "mean", "columns": ["x"]}],
}
WRONG = {
    "fold of a column that is not declared": ({"fold": {"z": "max", "x": "max"}}, "columns.z: no such column"),
    "a column without a way": ({"fold": {"g": "max"}}, "fold= does not say how .* in column 'x'"),
    "no such way": ({"fold": {"x": "median"}}, "data.fold"),
    "folding and keeping": ({"fold": {"x": "max"}, "contributions": 2}, "data.contributions: cannot be combined"),
    "folding and rows in order": (
        {"fold": {"x": "max"}, "keep": "last", "order": "x"},
        "data.keep: cannot be combined with fold",
    ),
    "groups of nothing": ({"groups": {"z": 2}}, "columns.z: no such column"),
    "no groups at all": ({"groups": {"g": 0}}, "groups must be >= 1"),
    "rows in no order": ({"keep": "first"}, "needs order="),
    "an order for nothing": ({"order": "x"}, "data.order: is for"),
    "a rule without persons": ({"person": None, "keep": "first"}, "keep= needs person="),
    "more rows than there are": (
        {"rows": None, "neighbours": "add-remove", "expected_rows": 3, "contributions": 4},
        "data.contributions: must not exceed expected_rows",
    ),
    "more rows than any table has": ({"contributions": 2**32}, "data.contributions"),
    "a missing rule that there is not": ({"person_missing": "one"}, "data.person_missing"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_plans_are_refused_in_one_line_before_anything_is_charged(case, tmp_path):
    data, message = WRONG[case]
    ledger = tmp_path / "a.ledger"
    content = {**PLAN, "data": {**PLAN["data"], **data}, "budget": {"epsilon": 1, "ledger": str(ledger)}}
    with pytest.raises(PlanError, match=message) as caught:
        ib.Plan.of(content)
    assert all("\n" not in problem for problem in caught.value.problems)
    assert not ledger.exists()


def test_an_id_that_is_not_there_costs_nothing(tmp_path):
    ledger = tmp_path / "a.ledger"
    plan = ib.Plan.of({**PLAN, "budget": {"epsilon": 1, "ledger": str(ledger)}})
    with pytest.raises(ib.errors.DataError, match="no column 'id'"):
        ib.release(plan, {"x": [1.0, 2.0, 3.0]})
    assert not ledger.exists()


@pytest.mark.claim("kept")
def test_many_levels_of_text_can_be_kept_and_folded():
    """Each level is a step of one expression; with 250 of them engines gave up, after the charge."""
    levels = [f"level {i}" for i in range(600)]
    table = {"id": list(range(600)), "g": levels}
    for rule in ({}, {"fold": {"g": "max"}}):
        made = ib.histogram(table, "g", levels=levels, epsilon=10**5, person="id", **rule)
        assert set(made.value.tolist()) == {1}
