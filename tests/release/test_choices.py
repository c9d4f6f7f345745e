"""Quantiles of groups, and means with their squares: what is certified, by brute force over all neighbours."""

import itertools
from dataclasses import replace
from fractions import Fraction
from functools import cache

import mpmath as mp
import numpy as np
import pytest

import inbounds as ib
from inbounds.expected.quantiles import Spread
from inbounds.privacy.certificate import Composition
from inbounds.privacy.norms import make_norm
from inbounds.privacy.terms import Terms
from inbounds.record.selection import draft_statistic, select
from inbounds.road.draw import draw_choices
from tests.grid.test_exponential import law_of
from tests.grid.test_together import reference as together_law
from tests.release.test_selection import distance, numbers_of

BOTH = pytest.mark.parametrize("neighbours", ["substitute", "add-remove"])
POINTS, GROUPS = 3, 2
BY = {"by": "g", "levels": ["a", "b"]}
QUANTILES = {
    "median": (ib.Median("x", bounds=(0, 2), step=1, **BY), 1),
    "of two records each": (ib.Median("x", bounds=(0, 2), step=1, **BY), 2),
    "one share": (ib.Quantile("x", q=0.8, bounds=(0, 2), step=1, **BY), 1),
    "two shares": (ib.Quantile("x", q=(0.3, 0.5), bounds=(0, 2), step=1, **BY), 1),
    "some records": (select(ib.Median("x", bounds=(0, 2), step=1, **BY), "y > 0"), 1),
}
# Where a record may be; None is outside of a selection.
PLACES = [(g, k) for g in range(GROUPS) for k in range(POINTS)]


def neighbouring(rows, changed, neighbours, selected):
    """All pairs of tables, as the counts of both groups, that differ in so many records."""
    places = [*PLACES, *([None] if selected else [])]
    for rest in itertools.combinations_with_replacement(places, rows):
        tables = [[*rest, *own] for own in itertools.combinations_with_replacement(places, changed)]
        made = [tuple(tuple(table.count((g, k)) for k in range(POINTS)) for g in range(GROUPS)) for table in tables]
        base = tuple(tuple(rest.count((g, k)) for k in range(POINTS)) for g in range(GROUPS))
        yield from itertools.permutations(made, 2) if neighbours == "substitute" else ((base, one) for one in made)


def laws_of(draft):
    """The certified law of each depth."""
    whole = draft.record.certificate
    return whole.parts if isinstance(whole, Composition) else (whole,)


@pytest.mark.claim("quantile-sensitivity")
@BOTH
@pytest.mark.parametrize("name", QUANTILES)
def test_the_loss_of_quantiles_of_groups(name, neighbours, monkeypatch):
    """The groups of a table are drawn apart, so that their losses add up."""
    statistic, changed = QUANTILES[name]
    terms = Terms.of(2, neighbours, changed, rows=None if neighbours == "add-remove" else 3)
    draft = draft_statistic(statistic, terms)
    spreads = [part.grid.scale.steps for part in laws_of(draft)]

    @cache
    def law(counts, times):
        scaled = [spread / times for spread in spreads]
        if draft.nodes[0].together:
            # By its definition, of which tests of the draw show that it is what is drawn.
            return together_law(counts, [node.share for node in draft.nodes], scaled[0], 2)
        return law_of(counts, draft.nodes, scaled, monkeypatch)

    @cache
    def loss(one, two, times):
        ratios = [mp.log(law(one, times)[key] / law(two, times)[key]) for key in law(one, times)]
        return max(ratios), -min(ratios)

    def most_lost(times):
        found = mp.mpf(0)
        for one, two in {*neighbouring(2, changed, neighbours, "some" in name)}:
            both = [loss(a, b, times) for a, b in zip(one, two, strict=True)]
            found = max(found, sum(up for up, _ in both), sum(down for _, down in both))
        return found

    # By permute and flip all of it is lost, but for what numbers of fifteen digits are off by.
    assert most_lost(1) <= 2 + 1e-12
    # Small tables have not the worst of all draws: a law with a quarter of the noise is caught.
    assert most_lost(4) > 2


def scores_of(counts, share):
    """How far the share of the records is from the ranks of each point."""
    below = [sum(counts[:k]) for k in range(POINTS)]
    target = share * sum(counts)
    return [max(a - target, target - a - n) for a, n in zip(below, counts, strict=True)]


@pytest.mark.claim("quantile-sensitivity")
@BOTH
@pytest.mark.parametrize("name", ["median", "of two records each", "one share", "some records"])
def test_scores_of_groups_move_by_what_is_certified_and_no_less(name, neighbours):
    statistic, changed = QUANTILES[name]
    terms = Terms.of(2, neighbours, changed, rows=None if neighbours == "add-remove" else 3)
    draft = draft_statistic(statistic, terms)
    (certificate,), (node,) = laws_of(draft), draft.nodes
    moved = Fraction(0)
    for tables in {*neighbouring(3, changed, neighbours, "some" in name)}:
        scores = ([scores_of(counts, node.share) for counts in table] for table in tables)
        gaps = [[abs(a - b) for a, b in zip(u, v, strict=True)] for u, v in zip(*scores, strict=True)]
        moved = max(moved, sum(map(max, gaps)))
    assert moved == certificate.sensitivity * certificate.draws


@pytest.mark.claim("quantile-sensitivity")
def test_scores_are_tilted_only_where_all_of_a_public_number_of_records_are_drawn_from():
    plain, bounds = ib.Quantile("x", q=0.9, bounds=(0, 2), step=1), ib.Bounds("x", within=(0, 9), coverage=0.9)
    secret = Terms.of("0.1", "add-remove")
    for statistic, public in ((plain, Terms.of("0.1", rows=400)), (bounds, Terms.of(1, rows=400))):
        assert any(node.tilt != Fraction(1, 2) for node in draft_statistic(statistic, public).nodes)
        for other, terms in ((statistic, secret), (select(statistic, "y > 0"), public)):
            assert all(node.tilt == Fraction(1, 2) for node in draft_statistic(other, terms).nodes)
    grouped = ib.Quantile("x", q=0.9, bounds=(0, 2), step=1, **BY)
    assert all(node.tilt == Fraction(1, 2) for node in draft_statistic(grouped, public).nodes)


@pytest.mark.claim("inward-free")
def test_one_point_leans_inward_where_the_number_of_records_is_secret():
    rules = {"bounds": (0, 2), "step": 1}
    public, secret = Terms.of("0.1", rows=400), Terms.of("0.1", "add-remove")
    for one in (ib.Median("x", **rules), ib.Quantile("x", q=0.9, **rules), ib.Quantile("x", q=(0.9,), **rules)):
        assert [node.inward for node in draft_statistic(one, public).nodes] == [False]
        for leaning, terms in ((one, secret), (select(one, "y > 0"), public), (replace(one, **BY), public)):
            assert [node.inward for node in draft_statistic(leaning, terms).nodes] == [True]
    # Points around it are drawn for ranks that are further out, and their intervals know the law without it.
    for other in (ib.Median("x", cover=0.9, **rules), ib.Quantile("x", q=(0.1, 0.5), **rules)):
        for terms in (public, secret):
            assert not any(node.inward for node in draft_statistic(other, terms).nodes)
    bounds = ib.Bounds("x", within=(0, 9), side="upper")
    assert not any(node.inward for node in draft_statistic(bounds, secret).nodes)


@pytest.mark.claim("inward-free")
@pytest.mark.parametrize("q", [0.1, 0.9])
def test_few_records_in_the_middle_are_found_under_add_remove(q):
    """Points beyond all of them are less likely, the further out they are, and the simulated errors know it."""
    x = np.clip(np.random.default_rng(500).normal(0.5, 0.1, 500), 0, 1)
    truth, statistic = float(np.quantile(x, q)), ib.Quantile("x", q=q, bounds=(0, 1), step="0.001")
    draft = draft_statistic(statistic, Terms.of("0.1", "add-remove"))
    counts = np.bincount(np.rint(x * 1000).astype(int), minlength=1001)
    (certificate,) = laws_of(draft)
    drawn = [
        [float(draw_choices(counts[None], nodes, certificate)[0]) for _ in range(2000)]
        for nodes in (draft.nodes, tuple(replace(node, inward=False) for node in draft.nodes))
    ]
    error, even = (float(np.sqrt(np.mean((np.array(one) - truth) ** 2))) for one in drawn)
    assert error < 0.85 * even
    law = Spread.through(np.linspace(0, 1, 1001), np.cumsum(counts) / 500)
    simulated = draft.record.derivation.errors_for(law, certificate, 500, 4000)
    assert 0.85 < float(np.sqrt(np.mean(simulated**2))) / error < 1.18


X = {"column": "x", "bounds": (0, 10), "method": "moments"}
MEANS = {
    "all": ib.Mean(**X),
    "of groups": ib.Mean(**X, **BY),
    "some": select(ib.Mean(**X), "y > 0"),
    "some of groups": select(ib.Mean(**X, **BY), "y > 0"),
}
# On the grid, between its points, and beyond the bounds; in both groups; outside of the selections.
VALUES = [-1.0, 0.0, 1 / 3, 2.5, 5.0, 10.0]
RECORDS = [*((x, 1.0, "a") for x in VALUES), *((x, 1.0, "b") for x in (0.0, 10.0)), (10.0, -1.0, "a")]


@pytest.mark.claim("moment-rows")
@pytest.mark.claim("statistic-moments")
@BOTH
@pytest.mark.parametrize("contributions", [1, 2])
@pytest.mark.parametrize("name", MEANS)
def test_the_loss_of_means_with_their_squares(name, contributions, neighbours):
    """In the norm of the noise, of exact numbers and of the steps that they are rounded to."""
    rows = None if neighbours == "add-remove" else 1 + contributions
    draft = draft_statistic(MEANS[name], Terms.of(Fraction(1, 3), neighbours, contributions, rows=rows))
    certificate = draft.record.parts[0]
    narrow = name == "all" and neighbours == "substitute"
    assert narrow == (certificate.blocks == ("mean moments 1",))
    law, norm, rest = certificate.grid, make_norm(certificate.blocks), [RECORDS[3]]
    own = list(itertools.combinations_with_replacement(RECORDS, contributions))
    tables = [numbers_of(draft, [*rest, *one]) for one in own]
    pairs = itertools.combinations(tables, 2)
    if neighbours == "add-remove":
        pairs = ((numbers_of(draft, rest), table) for table in tables)
    moved, lost = Fraction(0), Fraction(0)
    for one, two in pairs:
        moved = max(moved, distance(one, two, certificate))
        steps = [
            [law.locate(a) - law.locate(b) for a, b in zip(u, v, strict=True)] for u, v in zip(one, two, strict=True)
        ]
        lost = max(lost, sum(map(norm.measure, steps)) / law.scale.steps)
    assert moved <= certificate.sensitivity * certificate.draws
    assert Fraction(9, 10) * certificate.epsilon < lost <= certificate.epsilon
