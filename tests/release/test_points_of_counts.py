"""Quantiles that are read from noisy counts: what is certified, the points, when they are read, and their errors."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import inbounds as ib
from inbounds.derivations import PointsOfCounts
from inbounds.errors import RecordError
from inbounds.expected.quantiles import Spread, expected_square_of_counts, expected_square_of_draws
from inbounds.grid.entropy import SeededEntropy
from inbounds.privacy.terms import Terms
from inbounds.record.selection import draft_statistic, select
from inbounds.road import draw as road_draw
from inbounds.road.draw import draw
from inbounds.road.run import count_exactly, open_table
from inbounds.statistics.counted import find_cells
from tests.records import body_of, record_with

COUNTS = "points read from noisy counts"


def shares_of(m):
    return [f"{k}/{m + 1}" for k in range(1, m + 1)]


def draft_of(m, rows, epsilon, method=None, **rules):
    statistic = ib.Quantile("x", q=shares_of(m), **{"bounds": (0, 1)} | rules, method=method)
    return draft_statistic(statistic, Terms.of(epsilon, rows=rows))


# The law


def law_of_noise(cells, scale, most):
    """P of each vector of whole numbers that add up to nothing, none of which is beyond ``most``: by its definition."""
    vectors = [
        (*first, -sum(first))
        for first in itertools.product(range(-most, most + 1), repeat=cells - 1)
        if abs(sum(first)) <= most
    ]
    weights = np.exp([-sum(map(abs, vector)) / scale for vector in vectors])
    return dict(zip(vectors, weights / weights.sum(), strict=True))


@pytest.mark.claim("counted-sensitivity")
@pytest.mark.parametrize("contributions", [1, 2])
def test_the_loss_over_all_neighbours(contributions):
    """By enumeration of all tables of three records on four points, in two cells or four."""
    for points, most in ((4, 25), (2, 60)):
        statistic = ib.Quantile("x", q=[0.3, 0.6], bounds=(0, points - 1), step=1, method="counts")
        draft = draft_statistic(statistic, Terms.of(5, rows=3, contributions=contributions))
        certificate, firsts = draft.record.certificate, draft.record.derivation.firsts
        cells = len(firsts) - 1

        def count(table, firsts=firsts):
            return tuple(sum(a <= record < b for record in table) for a, b in itertools.pairwise(firsts))

        def most_lost(scale, cells=cells, most=most, count=count, points=points):
            law, found = law_of_noise(cells, scale, most), 0.0
            tables = list(itertools.combinations_with_replacement(range(points), 3))
            moved = {
                tuple(a - b for a, b in zip(count(one), count(two), strict=True))
                for one in tables
                for two in tables
                if sum((max(one.count(k) - two.count(k), 0)) for k in range(points)) <= contributions
            }
            for shift in moved:
                for vector, chance in law.items():
                    other = law.get(tuple(z + s for z, s in zip(vector, shift, strict=True)))
                    if other:
                        found = max(found, abs(math.log(chance / other)))
            return found

        scale = float(certificate.grid.scale.steps)
        assert 5 * (1 - 1e-6) < most_lost(scale) <= 5 + 1e-9
        assert float(certificate.loss) <= 5
        # A law with a little less noise loses more than is certified.
        assert most_lost(0.95 * scale) > 5.1


def test_the_draft_says_what_is_counted():
    draft = draft_of(3, 500, "0.1", method="counts")
    record, certificate = draft.record, draft.record.certificate
    assert (record.method, certificate.noise, certificate.dimension, certificate.draws) == (COUNTS, "zero-sum", 8, 2)
    assert certificate.loss <= certificate.epsilon == Fraction(1, 10)
    assert record.bounds == ((0, 500),) * 8
    assert draft.record.statistic.numbers(draft.terms) == 8
    # Cells are unions of points, of numbers that differ by one at most.
    sizes = np.diff(record.derivation.firsts)
    assert sizes.sum() == record.columns[0].upper / record.columns[0].step + 1
    assert set(sizes) <= {min(sizes), min(sizes) + 1}


def test_cells_have_whole_numbers_of_points():
    ages = draft_of(9, 5000, 1, method="counts", bounds=(0, 100), integer=True).record.derivation
    assert len(ages.firsts) - 1 == 64
    assert set(np.diff(ages.firsts)) == {1, 2}
    # Where there are fewer points than cells, each point has one.
    assert draft_of(3, 5000, 1, method="counts", bounds=(1, 5), integer=True).record.derivation.firsts == (
        0,
        1,
        2,
        3,
        4,
        5,
    )
    assert draft_of(3, 5000, 1, method="counts", bounds=(0, 1), integer=True).record.derivation.firsts == (0, 1, 2)


@pytest.mark.parametrize(("informed", "cells"), [(1, 2), (7, 2), (8, 4), (50, 8), (500, 16), (5000, 64), (10**9, 1024)])
def test_cells_are_about_the_root_of_what_is_known(informed, cells):
    assert find_cells(Terms.of(1, rows=informed), 65_536) == cells
    assert find_cells(Terms.of(3, rows=informed, contributions=3), 65_536) == cells


# The points


def read_slowly(counts, firsts, shares):
    """Records are put on their points one by one, and the first point with so many at or below it is taken."""
    places = []
    for count, (first, last) in zip(counts, itertools.pairwise(firsts), strict=True):
        places += [first + int(Fraction(2 * k + 1, 2 * count) * (last - first)) for k in range(count)]
    ordered = sorted(places)
    return [ordered[math.ceil(share * len(ordered)) - 1] for share in shares]


@pytest.mark.claim("points-of-counts")
def test_points_are_those_of_records_that_lie_evenly():
    rng = np.random.default_rng(0)
    for _ in range(300):
        cells, rows, m = rng.integers(1, 9), int(rng.integers(1, 40)), int(rng.integers(1, 12))
        firsts = (0, *np.cumsum(rng.integers(1, 9, cells)).tolist())
        counts = rng.multinomial(rows, rng.dirichlet(np.full(cells, 0.5)))
        shares = tuple(Fraction(k, m + 1) for k in range(1, m + 1))
        way = PointsOfCounts(shares, rows, firsts, Fraction(-1), Fraction(1, 3))
        points = way.read_points(counts.astype(float)).tolist()
        assert points == read_slowly(counts.tolist(), firsts, shares)
        assert points == sorted(points)
        # A point t is a quantile of these records: #{x < t} ≤ q n ≤ #{x ≤ t}.
        exact = [float(Fraction(point, 3) - 1) for point in points]
        assert way.values_of(np.array(points)).tolist() == exact


def test_values_of_many_digits_are_rounded_once():
    way = PointsOfCounts((Fraction(1, 2),), 5, (0, 2, 4), Fraction(1, 3), Fraction(10**20 + 1, 7 * 10**19))
    points = np.array([[0, 3], [1, 3]])
    exact = [[float(Fraction(1, 3) + Fraction(10**20 + 1, 7 * 10**19) * k) for k in row] for row in points.tolist()]
    assert way.values_of(points).tolist() == exact


@pytest.mark.claim("points-of-counts")
def test_where_each_point_has_a_cell_the_quantiles_are_those_of_the_counts():
    rng = np.random.default_rng(1)
    x = rng.choice([0, 1, 2, 3, 4], 3000, p=[0.1, 0.2, 0.4, 0.05, 0.25])
    release = ib.quantile(x, q=[0.1, 0.25, 0.5, 0.7, 0.9], bounds=(0, 4), integer=True, epsilon=8, method="counts")
    assert release.value.tolist() == np.quantile(x, [0.1, 0.25, 0.5, 0.7, 0.9], method="inverted_cdf").tolist()
    assert release.value.dtype.kind == "i"


def test_released_points_never_cross_and_stay_in_bounds():
    x = np.random.default_rng(0).normal(0, 1, 100)
    for epsilon in ("0.001", "0.1", 1, 100):
        value = ib.quantile(x, q=[k / 20 for k in range(1, 20)], bounds=(-1, 1), epsilon=epsilon, method="counts").value
        assert (np.diff(value) >= 0).all()
        assert value[0] >= -1
        assert value[-1] <= 1


# The record


def test_records_are_verified_by_drafting_again():
    x = np.random.default_rng(0).normal(0.3, 0.1, 500)
    release = ib.quantile(x, q=[0.25, 0.5, 0.75], bounds=(0, 1), epsilon=1, method="counts")
    assert ib.Release.from_json(release.to_json()) == release
    assert release.statistic.method == "counts"
    for change in (
        {"value": [0.1, 0.2, 0.3]},
        {"method": "points chosen together by their ranks"},
        {"noisy": [*map(str, release.noisy[::-1])]},
        {"noisy": [*map(str, release.noisy[1:])]},
    ):
        with pytest.raises(RecordError):
            ib.Release.from_json(record_with(body_of(release) | change))


def test_what_cannot_be_read_from_counts():
    x = {"x": np.linspace(0, 1, 500), "g": ["a", "b"] * 250}
    few, rules = {"q": [0.2, 0.8], "bounds": (0, 1), "epsilon": "0.1"}, {"by": "g", "levels": ["a", "b"]}
    for other in ({"neighbours": "add-remove"}, rules, {"where": "g = 'a'"}, {"missing": "skip"}):
        with pytest.raises(ValueError, match="method='counts' needs a public number of records"):
            ib.quantile(x, "x", **few, **other, method="counts")
        assert ib.quantile(x, "x", **few, **other).method != COUNTS
    with pytest.raises(ValueError, match="method= is for several quantiles"):
        ib.quantile(x, "x", q=0.5, bounds=(0, 1), epsilon=1, method="counts")
    with pytest.raises(ValueError, match="method must be one of"):
        ib.quantile(x, "x", **few, method="tree")
    with pytest.raises(ValueError, match="method='together' is for at most 16 quantiles"):
        ib.quantile(x, "x", q=[k / 20 for k in range(1, 20)], bounds=(0, 1), epsilon=1, method="together")
    with pytest.raises(ValueError, match="nothing to truncate"):
        draft_statistic(
            ib.Quantile("x", q=(0.2, 0.8), bounds=(0, 1), method="counts"), Terms.of(1, bounding="truncated", rows=500)
        )
    some = select(ib.Quantile("x", q=(0.2, 0.8), bounds=(0, 1)), "g = 'a'")
    assert draft_statistic(some, Terms.of("0.1", rows=500)).record.method != COUNTS


# When they are read


def test_each_way_can_be_asked_for():
    x = np.random.default_rng(0).normal(0.5, 0.1, 400)
    said = {"together": "points chosen together by their ranks", "halving": "points chosen by recursive halving"}
    for method, text in (said | {"counts": COUNTS}).items():
        release = ib.quantile(x, q=[0.2, 0.5, 0.8], bounds=(0, 1), epsilon=1, method=method)
        assert (release.method, release.statistic.method) == (text, method)
        assert ib.Release.from_json(release.to_json()) == release


@pytest.mark.claim("counts-or-draws")
@pytest.mark.parametrize(
    ("rows", "epsilon", "read"),
    [(500, "0.1", {3, 9, 99}), (500, 1, {99}), (5000, "0.1", {99}), (5000, 1, {99}), (20_000, "0.1", {99})],
)
def test_counts_are_read_where_draws_are_off_by_more_than_a_cell(rows, epsilon, read):
    assert {m for m in (3, 9, 99) if draft_of(m, rows, epsilon).record.method == COUNTS} == read


def test_where_much_is_known_points_are_drawn():
    assert all(draft_of(m, 20_000, 1).record.method != COUNTS for m in (2, 9, 16, 99))


@pytest.mark.claim("counts-or-draws")
@pytest.mark.parametrize(("m", "rows", "epsilon"), [(3, 500, "0.1"), (9, 500, 1), (30, 2000, 1), (99, 5000, "0.1")])
def test_expected_squares_are_near_to_those_of_simulations(m, rows, epsilon):
    """Records that lie evenly in the middle half. Those of draws are right to a third. Those of counts hold for records
    that are anywhere in their cell, and are no less."""
    for method in ("counts", "together" if m < 16 else "halving"):
        draft = draft_of(m, rows, epsilon, method=method)
        way, certificate = draft.record.derivation, draft.record.certificate
        law = Spread.through(np.array([0, 0.25, 0.75, 1]), np.array([0.0, 0.0, 1.0, 1.0]))
        errors = way.errors_for(law, certificate, rows, 400)
        simulated = float(np.sqrt((errors**2).mean()))
        if method == "counts":
            cells, scale = len(way.firsts) - 1, float(certificate.grid.scale.steps)
            shares = [Fraction(share) for share in shares_of(m)]
            said = math.sqrt(expected_square_of_counts(shares, rows, scale, cells, 65_536, 0.5))
            assert simulated <= 1.1 * said
        else:
            spreads = [part.grid.scale.steps for part in getattr(certificate, "parts", (certificate,))]
            said = math.sqrt(expected_square_of_draws(draft.nodes, spreads, rows, 0.5))
            assert abs(math.log(simulated / said)) < math.log(1.4)


# Errors


def values_of(draft, x, runs, monkeypatch):
    """So many releases of one table, which is counted once."""
    entropy = SeededEntropy(5)
    monkeypatch.setattr(road_draw, "entropy_source", lambda: entropy)
    frame, _ = open_table({"x": x}, draft.record.statistic, draft.terms.with_rows(None), None)
    cells = count_exactly(frame, {"r": draft})["r"]
    return np.array([np.asarray(draw(draft, cells)) for _ in range(runs)])


@pytest.mark.parametrize("law", ["normal", "narrow", "skewed"])
@pytest.mark.parametrize(("m", "rows", "epsilon"), [(9, 500, "0.1"), (99, 500, 1)])
def test_counts_have_less_error_than_draws_where_they_are_chosen(law, m, rows, epsilon, monkeypatch):
    rng = np.random.default_rng(3)
    x = {
        "normal": rng.normal(0.5, 0.1, rows),
        "narrow": rng.normal(0.5, 0.03, rows),
        "skewed": 0.1 * rng.lognormal(0, 0.6, rows),
    }[law].clip(0, 1)
    truth = np.quantile(x, [k / (m + 1) for k in range(1, m + 1)], method="inverted_cdf")
    found = {}
    for method in ("counts", "together" if m < 16 else "halving"):
        values = values_of(draft_of(m, rows, epsilon, method=method), x, 12, monkeypatch)
        found[method] = np.sqrt(((values - truth) ** 2).mean())
    counts = found.pop("counts")
    assert 2 * counts < min(found.values())


@pytest.mark.parametrize(("m", "rows", "epsilon"), [(9, 500, "0.1"), (9, 5000, 1)])
def test_errors_are_what_releases_have(m, rows, epsilon, monkeypatch):
    """Normal records: those forecast, and those that a record says, are what 200 releases have, to a third."""
    x = stats.norm(0.5, 0.1).ppf((np.arange(rows) + 0.5) / rows)
    draft = draft_of(m, rows, epsilon, method="counts")
    values = values_of(draft, x, 200, monkeypatch)
    shares = np.arange(1, m + 1) / (m + 1)
    seen = np.sqrt(((values - np.quantile(x, shares, method="inverted_cdf")) ** 2).mean())
    told = ib.preview(
        "quantile",
        q=shares_of(m),
        bounds=(0, 1),
        epsilon=epsilon,
        rows=rows,
        method="counts",
        plausible={"mean": 0.5, "sd": 0.1},
    )
    said = np.sqrt((np.asarray(told.forecast.rmse) ** 2).mean())
    assert abs(math.log(said / seen)) < math.log(1.33)
    of_records = []
    for _ in range(10):
        release = ib.quantile(x, q=shares_of(m), bounds=(0, 1), epsilon=epsilon, method="counts")
        of_records.append((release.error.rmse**2).mean())
        assert (release.error.worst_rmse == 1).all()
    assert abs(math.log(math.sqrt(np.mean(of_records)) / seen)) < math.log(1.5)
