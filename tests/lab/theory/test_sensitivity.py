"""Every sensitivity against brute force: all corner data of tiny tables, and a search inside."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inbounds import sensitivity

RELATIONS = ("substitute", "add-remove")
SIZES = [(2, 2), (2, 3), (3, 3), (2, 5), (4, 3), (2, 2, 2), (2, 3, 2), (3, 3, 2), (5,), (4, 4)]


def neighbours(levels, n, relation):
    """Pairs of neighbouring tables as tuples of records, without regard to order."""
    for rest in itertools.combinations_with_replacement(levels, n - 1):
        for record in levels:
            if relation == "add-remove":
                yield (*rest, record), rest
            else:
                yield from (((*rest, record), (*rest, other)) for other in levels)


def largest_move(statistic, levels, n, relation):
    worst = 0.0
    for one, other in neighbours(levels, n, relation):
        worst = max(worst, np.abs(np.subtract(statistic(one), statistic(other))).sum())
    return worst


def sample_variance(table):
    return float(np.var(table, ddof=1))


def sample_covariance(table):
    return float(np.cov(np.array(table).T, ddof=1)[0, 1])


def shares(table):
    return [Counter(table)[level] / len(table) for level in range(3)]


def counts(table):
    return [Counter(table)[level] for level in range(3)]


def kendall(table):
    pairs = list(itertools.combinations(table, 2))
    return sum(np.sign(a[0] - b[0]) * np.sign(a[1] - b[1]) for a, b in pairs) / len(pairs)


PLANE = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]
LEAST = {"substitute": 2, "add-remove": 3}


@pytest.mark.claim("sensitivity-mean")
@pytest.mark.claim("sensitivity-sum")
@pytest.mark.claim("sensitivity-variance")
@pytest.mark.claim("sensitivity-standard-deviation")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("n", range(2, 8))
def test_one_column(n, relation):
    bounds, levels = (-1.0, 3.0), (-1.0, 0.5, 1.0, 3.0)
    assert sensitivity.mean(bounds, n, relation) == pytest.approx(largest_move(np.mean, levels, n, relation))
    assert sensitivity.sum(bounds, neighbours=relation) == largest_move(np.sum, levels, n, relation)
    if n >= LEAST[relation]:
        spread = largest_move(sample_variance, levels, n, relation)
        assert sensitivity.variance(bounds, n, relation) == pytest.approx(spread)
        deviation = largest_move(lambda t: math.sqrt(sample_variance(t)), levels, n, relation)
        assert sensitivity.standard_deviation(bounds, n, relation) == pytest.approx(deviation)


@pytest.mark.claim("sensitivity-kendall")
@pytest.mark.parametrize(
    ("relation", "n"), [("substitute", 2), ("substitute", 3), ("substitute", 4), ("add-remove", 4)]
)
def test_order_of_two_columns(relation, n):
    """Four levels a column, so that there are ties and records without."""
    square = list(itertools.product(range(4 if n < 4 or relation == "add-remove" else 3), repeat=2))
    assert sensitivity.kendall(n, relation) == pytest.approx(largest_move(kendall, square, n, relation))
    with pytest.raises(ValueError, match="n must be >="):
        sensitivity.kendall(LEAST[relation] - 1, relation)


@pytest.mark.claim("sensitivity-mean")
@pytest.mark.claim("sensitivity-proportion")
@pytest.mark.claim("sensitivity-proportions")
@pytest.mark.claim("sensitivity-histogram")
@pytest.mark.claim("sensitivity-count")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("n", range(2, 8))
def test_levels(n, relation):
    def largest(statistic):
        return largest_move(statistic, range(3), n, relation)

    assert sensitivity.proportion(n, relation) == pytest.approx(largest(lambda t: shares(t)[0]))
    assert sensitivity.proportions(n, relation) == pytest.approx(largest(shares))
    assert sensitivity.histogram(relation) == largest(counts) == sensitivity.histogram(relation, n=n)
    assert sensitivity.count(relation) == largest(lambda t: counts(t)[0])
    # Over a fixed public denominator of 10:
    fixed = {"fixed_denominator": True}
    assert sensitivity.proportions(10, relation, **fixed) == pytest.approx(largest(counts) / 10)
    assert sensitivity.proportion(10, relation, **fixed) == pytest.approx(largest(lambda t: counts(t)[0] / 10))
    assert sensitivity.mean((0, 2), 10, relation, **fixed) == pytest.approx(largest(lambda t: sum(t) / 10))


@pytest.mark.claim("sensitivity-covariance")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("n", range(2, 7))
def test_covariance(n, relation):
    if n >= LEAST[relation]:
        largest = largest_move(sample_covariance, PLANE, n, relation)
        assert sensitivity.covariance((0, 1), (0, 1), n, relation) == pytest.approx(largest)
        assert sensitivity.covariance((1, 3), (-5, 0), n, relation) == pytest.approx(10 * largest)


@pytest.mark.claim("sensitivity-variance-bounds")
@pytest.mark.claim("sensitivity-standard-deviation-bounds")
@pytest.mark.claim("sensitivity-covariance-bounds")
@pytest.mark.parametrize("n", range(2, 8))
def test_bounds_of_second_moments(n):
    tables = list(itertools.combinations_with_replacement((0.0, 0.3, 0.5, 1.0), n))
    largest = max(map(sample_variance, tables))
    assert sensitivity.variance_bounds((2, 4), n) == (0, pytest.approx(4 * largest))
    assert sensitivity.standard_deviation_bounds((2, 4), n)[1] == pytest.approx(2 * math.sqrt(largest))
    planes = [sample_covariance(t) for t in itertools.combinations_with_replacement(PLANE, n)]
    assert sensitivity.covariance_bounds((0, 1), (0, 1), n) == pytest.approx((min(planes), max(planes)))
    assert sensitivity.covariance_bounds((2, 4), (0, 3), n)[1] == pytest.approx(6 * max(planes))
    if n % 2 == 0:
        assert sensitivity.variance_bounds((0, 1), n)[1] == pytest.approx(n / (4 * (n - 1)))
    else:
        assert sensitivity.variance_bounds((0, 1), n)[1] == pytest.approx((n + 1) / (4 * n))


def scatter(cell):
    """Sum of cross products about the means of a multiset of plane corners: counts of 00, 01, 10, 11."""
    _, only_y, only_x, both = cell
    size = sum(cell)
    return both - (only_x + both) * (only_y + both) / size if size else 0.0


def cell_tables(size, plane):
    """Multisets of ``size`` records at corners: of the plane, or of its diagonal (one column)."""
    if not plane:
        return [(size - k, 0, 0, k) for k in range(size + 1)]
    return [c for c in itertools.product(range(size + 1), repeat=4) if sum(c) == size]


def scatter_changes(size, plane, change):
    """All (before, after) scatters of a cell of this size from which one record is substituted, taken or given."""
    pairs = set()
    corners = range(4) if plane else (0, 3)
    for cell in cell_tables(size, plane):
        for out in corners:
            less = tuple(c - (k == out) for k, c in enumerate(cell))
            if change == "given":
                more = tuple(c + (k == out) for k, c in enumerate(cell))
                pairs.add((scatter(cell), scatter(more)))
            elif min(less) >= 0:
                if change == "taken":
                    pairs.add((scatter(cell), scatter(less)))
                else:
                    pairs |= {
                        (scatter(cell), scatter(tuple(c + (k == j) for k, c in enumerate(less)))) for j in corners
                    }
    return pairs


def pooled_brute_force(sizes, plane, case):
    """Largest change of the pooled second moment, all other cells at whatever values make it largest."""
    n, cells = sum(sizes), len(sizes)
    ranges = [[scatter(c) for c in cell_tables(size, plane)] for size in sizes]
    worst = 0.0
    for a in range(cells):
        if case == "substitute fixed":
            worst = max(worst, *(abs(x - y) / (n - cells) for x, y in scatter_changes(sizes[a], plane, "substituted")))
        elif case == "add-remove":
            others = [r for k, r in enumerate(ranges) if k != a]
            ends = [sum(map(min, others)), sum(map(max, others))] if others else [0.0]
            for before, after in scatter_changes(sizes[a], plane, "taken"):
                for rest in ends:
                    move = (before + rest) / (n - cells) - (after + rest) / (n - 1 - cells)
                    worst = max(worst, abs(move))
        else:
            fixed = pooled_brute_force(sizes, plane, "substitute fixed") if a == 0 else 0.0
            worst = max(worst, fixed)
            for b in range(cells):
                if a != b:
                    taken = [y - x for x, y in scatter_changes(sizes[a], plane, "taken")]
                    given_ = [y - x for x, y in scatter_changes(sizes[b], plane, "given")]
                    extremes = (min(taken) + min(given_), max(taken) + max(given_))
                    worst = max(worst, *(abs(e) / (n - cells) for e in extremes))
    return worst


def cases(sizes):
    yield "substitute fixed", {"neighbours": "substitute", "cell": "fixed"}
    if sum(sizes) - 1 - len(sizes) >= 1:
        yield "add-remove", {"neighbours": "add-remove"}
    if len(sizes) > 1:
        yield "substitute free", {"neighbours": "substitute", "cell": "free"}


@pytest.mark.claim("sensitivity-pooled-variance")
@pytest.mark.parametrize("sizes", SIZES)
def test_pooled_variance(sizes):
    for case, keywords in cases(sizes):
        truth = pooled_brute_force(sizes, False, case)
        assert sensitivity.pooled_variance((0, 2), sizes, **keywords) == pytest.approx(4 * truth), case
        secret = sensitivity.pooled_variance((0, 1), n=sum(sizes), cells=len(sizes), **keywords)
        assert secret >= truth * (1 - 1e-12), case


@pytest.mark.claim("sensitivity-pooled-covariance")
@pytest.mark.parametrize("sizes", SIZES)
def test_pooled_covariance(sizes):
    for case, keywords in cases(sizes):
        truth = pooled_brute_force(sizes, True, case)
        known = sensitivity.pooled_covariance((0, 1), (0, 3), sizes, **keywords) / 3
        if case == "add-remove":
            assert truth * (1 - 1e-12) <= known <= 1.25 * truth
        else:
            assert known == pytest.approx(truth), case
        secret = sensitivity.pooled_covariance((0, 1), (0, 1), n=sum(sizes), cells=len(sizes), **keywords)
        assert secret >= truth * (1 - 1e-12), case


@pytest.mark.claim("sensitivity-pooled-variance")
@pytest.mark.claim("sensitivity-pooled-covariance")
def test_sizes_that_are_secret_cost_what_the_worst_of_them_do():
    """The tables of the docstrings, and next to what the worst sizes cost where they are public."""
    secret = {"n": 2000, "cells": 2}
    sizes = [[m, 2000 - m] for m in range(2, 1001)]
    for keywords, one, two in (
        ({"cell": "fixed"}, 1, 1),
        ({"cell": "free"}, 1, 2),
        ({"neighbours": "add-remove"}, 1, 1 + 1998 / (4 * 1997)),
    ):
        variance = sensitivity.pooled_variance((0, 3), **secret, **keywords)
        assert variance == pytest.approx(9 * one / 1998, rel=1e-12)
        assert 1 <= variance / max(sensitivity.pooled_variance((0, 3), s, **keywords) for s in sizes) < 1.001
        covariance = sensitivity.pooled_covariance((0, 2), (1, 4), **secret, **keywords)
        assert covariance == pytest.approx(6 * two / 1998, rel=1e-12)
        assert 1 <= covariance / max(sensitivity.pooled_covariance((0, 2), (1, 4), s, **keywords) for s in sizes) < 1.03


def test_a_record_is_substituted_unless_something_else_is_said():
    assert sensitivity.count() == 1
    assert sensitivity.sum((-1, 3)) == 4
    assert sensitivity.histogram() == sensitivity.histogram(n=1) == 2
    assert (sensitivity.proportion(4), sensitivity.proportions(4)) == (0.25, 0.5)
    assert (sensitivity.mean((0, 1), 4), sensitivity.variance((0, 1), 4)) == (0.25, 0.25)
    assert (sensitivity.standard_deviation((0, 1), 4), sensitivity.covariance((0, 1), (0, 1), 4)) == (0.5, 0.25)


def test_over_a_fixed_denominator_the_number_of_rows_is_public():
    fixed = {"neighbours": "add-remove", "n_public": True, "fixed_denominator": True}
    assert sensitivity.mean((-1, 3), 10, **fixed) == 0.3
    assert sensitivity.proportion(10, **fixed) == sensitivity.proportions(10, **fixed) == 0.1
    assert sensitivity.mean((-1, 3), 1, **fixed) == 3
    assert sensitivity.proportions(1, **fixed) == 1


def test_the_papers_own_values_are_seen_to_be_too_small():
    """Errata 6 and 7: what brute force must reject."""
    assert largest_move(shares, range(3), 5, "add-remove") > 1.9 / 5
    assert pooled_brute_force((3, 3), True, "substitute free") > 1.4 / (6 - 2)
    assert pooled_brute_force((3, 3), False, "substitute free") > (1 - 1 / 3) / (6 - 2) * 1.05
    assert pooled_brute_force((8, 8), True, "add-remove") > 1.0 / (16 - 2)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=4, max_size=8),
    st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_nothing_inside_beats_the_corners(table, record):
    """Interior search: random tables and records never move more than the corners do."""
    n = len(table)
    replaced, removed = [record, *table[1:]], table[1:]
    x, y, z = (np.array(t) for t in (table, replaced, removed))
    for other, relation in ((y, "substitute"), (z, "add-remove")):
        limits = [
            (lambda t: t[:, 0].mean(), sensitivity.mean((0, 1), n, relation)),
            (lambda t: t[:, 0].var(ddof=1), sensitivity.variance((0, 1), n, relation)),
            (lambda t: t[:, 0].std(ddof=1), sensitivity.standard_deviation((0, 1), n, relation)),
            (lambda t: np.cov(t.T)[0, 1], sensitivity.covariance((0, 1), (0, 1), n, relation)),
        ]
        for statistic, limit in limits:
            assert abs(statistic(x) - statistic(other)) <= limit + 1e-12


@given(
    st.lists(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=4), min_size=2, max_size=3),
    st.tuples(st.floats(0, 1), st.floats(0, 1)),
    st.data(),
)
def test_nothing_inside_beats_the_corners_of_cells(cells, record, data):
    def pooled(tables):
        scattered = sum(len(t) * np.cov(np.array(t).T, ddof=0)[0, 1] for t in tables if len(t) > 1)
        return scattered / (sum(map(len, tables)) - len(tables))

    sizes = [len(cell) for cell in cells]
    a, b = (data.draw(st.integers(0, len(cells) - 1)) for _ in range(2))
    removed = [cell[1:] if k == a else cell for k, cell in enumerate(cells)]
    moved = [[*cell, record] if k == b else cell for k, cell in enumerate(removed)]
    free = sensitivity.pooled_covariance((0, 1), (0, 1), sizes, cell="free")
    assert abs(pooled(cells) - pooled(moved)) <= free + 1e-12
    if sum(sizes) - 1 > len(sizes):
        limit = sensitivity.pooled_covariance((0, 1), (0, 1), sizes, neighbours="add-remove")
        assert abs(pooled(cells) - pooled(removed)) <= limit + 1e-12


@pytest.mark.claim("sensitivity-transformation")
def test_a_transformation_carries_its_sensitivity():
    root = sensitivity.SQUARE_ROOT
    for n in (4, 25, 400):
        spread = sensitivity.variance_bounds((0, 3), n)
        moved = root.sensitivity(sensitivity.variance((0, 3), n), spread)
        assert moved == pytest.approx(sensitivity.standard_deviation((0, 3), n))
        assert root.bounds(spread) == pytest.approx(sensitivity.standard_deviation_bounds((0, 3), n))
    log = sensitivity.Transformation(math.log, math.exp, "concave")
    falling = sensitivity.Transformation(lambda s: 1 / s, lambda t: 1 / t, "convex")
    rising = sensitivity.Transformation(math.exp, math.log, "convex")
    for transformation in (log, falling, rising):
        grid = np.linspace(0.5, 4, 3501)
        values = np.array([transformation.forward(s) for s in grid])
        largest = max(np.abs(values[shift:] - values[:-shift]).max() for shift in (1, 100, 300))
        assert transformation.sensitivity(0.3, (0.5, 4)) == pytest.approx(largest)
    assert falling.bounds((0.5, 4)) == (0.25, 2.0)
    # Rounding bends a straight line, and a curve may be all but flat at an end.
    for shape in ("concave", "convex"):
        for slope in (1 / 3, 1e9 / 3):
            line = sensitivity.Transformation(lambda s, a=slope: s * a + 0.1, lambda t, a=slope: (t - 0.1) / a, shape)
            assert line.sensitivity(0.3, (0, 1)) == pytest.approx(0.3 * slope)
    # What an inverse may be off by goes with the width of the bounds.
    sensitivity.Transformation(lambda s: s, lambda t: t + 1e-5, "concave").bounds((0, 100))
    flat = sensitivity.Transformation(lambda s: 1 - (1 - s) ** 8, lambda t: 1 - (1 - t) ** 0.125, "concave")
    assert flat.bounds((0, 1)) == (0, 1)
    # A sensitivity above the range counts as the range.
    assert log.sensitivity(99, (0.5, 4)) == pytest.approx(math.log(8))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda s: s.mean((0, 1), 10, "add-remove", n_public=True), ValueError, "unbounded loss"),
        (lambda s: s.variance((0, 1), 10, "add-remove", n_public=True), ValueError, "neighbouring tables then differ"),
        (
            lambda s: s.pooled_variance((0, 1), [3, 3], neighbours="add-remove", n_public=True),
            ValueError,
            "differ in n",
        ),
        (lambda s: s.mean((0, 1), 10, n_public=False), ValueError, "does not protect"),
        (lambda s: s.pooled_variance((0, 1), [3, 3], neighbours="add-remove", cell="free"), ValueError, "cell='free'"),
        (lambda s: s.pooled_variance((0, 1), [5], cell="free"), ValueError, "at least two cells"),
        (lambda s: s.pooled_variance((0, 1), [5, 1]), ValueError, r"sizes\[1\] must be >= 2, got 1"),
        (lambda s: s.pooled_variance((0, 1), []), ValueError, "sizes must not be empty"),
        (lambda s: s.pooled_variance((0, 1)), TypeError, "either sizes"),
        (lambda s: s.pooled_variance((0, 1), [3], n=3, cells=1), TypeError, "either sizes"),
        (lambda s: s.pooled_variance((0, 1), n=5), TypeError, "either sizes"),
        (lambda s: s.pooled_variance((0, 1), 5), TypeError, "sizes must be a sequence"),
        (lambda s: s.pooled_covariance((0, 1), (0, 1), n=3, cells=2), ValueError, "n must be >= 4"),
        (lambda s: s.pooled_variance((0, 1), [2], neighbours="add-remove"), ValueError, "at least cells \\+ 2"),
        (lambda s: s.mean((0, 1), 0), ValueError, "n must be >= 1, got 0"),
        (lambda s: s.mean((0, 1), 1, "add-remove"), ValueError, "n must be >= 2, got 1"),
        (lambda s: s.variance((0, 1), 1), ValueError, "n must be >= 2, got 1"),
        (lambda s: s.variance((0, 1), 2, "add-remove"), ValueError, "n must be >= 3, got 2"),
        (lambda s: s.mean((0, 1), 2.0), TypeError, "n must be an integer, got 2.0"),
        (lambda s: s.mean((0, 1), True), TypeError, "n must be an integer"),
        (lambda s: s.mean((1, 0), 10), ValueError, "bounds must satisfy lower < upper"),
        (lambda s: s.mean((0, math.inf), 10), ValueError, "bounds must be finite on both sides"),
        (lambda s: s.covariance((0, 1), (0, math.nan), 10), ValueError, r"bounds_y\[1\] must be a number"),
        (lambda s: s.sum((0, math.inf)), ValueError, "bounds must be finite on both sides"),
        (lambda s: s.SQUARE_ROOT.bounds((0, math.inf)), ValueError, "bounds must be finite on both sides"),
        (lambda s: s.pooled_covariance((1, 0), (0, 1), [3, 3]), ValueError, "^bounds_x must satisfy"),
        (lambda s: s.pooled_covariance((0, 1), (1, 0), [3, 3]), ValueError, "^bounds_y must satisfy"),
        (lambda s: s.covariance_bounds((1, 0), (0, 1), 3), ValueError, "^bounds_x must satisfy"),
        (lambda s: s.covariance_bounds((0, 1), (1, 0), 3), ValueError, "^bounds_y must satisfy"),
        (lambda s: s.covariance((1, 0), (0, 1), 3), ValueError, "^bounds_x must satisfy"),
        (lambda s: s.proportion(1, "add-remove"), ValueError, "n must be >= 2, got 1"),
        (lambda s: s.proportions(1, "add-remove"), ValueError, "n must be >= 2, got 1"),
        (lambda s: s.mean((0, 1), 10, "swap"), ValueError, "neighbours must be one of 'substitute', 'add-remove'"),
        (lambda s: s.Transformation(math.log, math.exp, "concave").bounds((0, 1)), ValueError, "must be finite on"),
        (lambda s: s.Transformation(abs, abs, "convex").bounds((-1, 1)), ValueError, "forward must be monotone"),
        (lambda s: s.Transformation(math.exp, math.log, "concave").bounds((0, 1)), ValueError, "must be concave"),
        (lambda s: s.Transformation(math.exp, math.sqrt, "convex").bounds((0, 1)), ValueError, "inverse must undo"),
        (lambda s: s.Transformation(float, lambda t: t + 1e-4, "convex").bounds((999, 1000)), ValueError, "must undo"),
        (lambda s: s.proportion(10, "add-remove", n_public=True), ValueError, "unbounded loss"),
        (lambda s: s.histogram(n=0), ValueError, "n must be >= 1, got 0"),
        (lambda s: s.Transformation(math.exp, math.log, "flat"), ValueError, "shape must be one of"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call(sensitivity)
