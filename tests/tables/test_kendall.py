"""Kendall's tau from two-way tables: the integers, how far a unit of privacy moves them, how columns are cut."""

from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import polars as pl
import pytest
from scipy import stats

from inbounds.lab.theory import sensitivity
from inbounds.privacy.terms import Unit
from inbounds.tables import coordinates
from inbounds.tables.coordinates import excess_of_concordance
from inbounds.tables.engine import Request, tally
from inbounds.tables.schema import Edges, Levels
from inbounds.tables.sources import read


def in_pairs(x, y):
    """Σ sgn sgn, pair by pair."""
    return sum(np.sign(x[i] - x[j]) * np.sign(y[i] - y[j]) for i, j in combinations(range(len(x)), 2))


def counted(x, y, shape):
    table = np.zeros(shape, dtype=np.int64)
    np.add.at(table, (x, y), 1)
    return table


@pytest.mark.claim("statistic-kendall")
@pytest.mark.parametrize("shape", [(2, 2), (3, 5), (1, 4), (40, 40), (200, 3)])
def test_counts_of_cells_have_the_pairs(shape):
    """Tables with many ties and with few, against every pair and against SciPy's tau-b."""
    rng = np.random.default_rng(shape)
    for rows in (2, 3, 60):
        x, y = rng.integers(0, shape[0], rows), rng.integers(0, shape[1], rows)
        excess = excess_of_concordance(counted(x, y, shape))
        assert excess == in_pairs(x, y)
        untied = [in_pairs(column, column) for column in (x, y)]
        if all(untied):
            peer = stats.kendalltau(x, y).statistic
            assert excess / np.sqrt(float(untied[0] * untied[1])) == pytest.approx(peer, abs=1e-12)


@pytest.mark.claim("statistic-kendall")
def test_the_most_rows_do_not_overflow():
    """2^31 records, in order and in opposite order: half of them in each of two cells, and one in each corner."""
    half = 1 << 30
    in_order = np.array([[half, 0], [0, half]], dtype=np.int64)
    assert excess_of_concordance(in_order) == half * half
    assert excess_of_concordance(in_order[::-1]) == -half * half
    many = np.diag(np.full(1 << 10, 1 << 21, dtype=np.int64))
    assert excess_of_concordance(many) == ((1 << 62) - (1 << 10) * (1 << 42)) // 2


def largest_moves(levels, rows, changed):
    """The most and the least of S over all values of ``changed`` records, given the others: by a matrix of signs."""
    points = np.array(list(product(range(levels), repeat=2)))
    signs = np.prod(np.sign(points[:, None] - points[None, :]), axis=2)

    def inside(records):
        return sum(
            (signs[records[:, i], records[:, j]] for i, j in combinations(range(records.shape[1]), 2)),
            start=np.zeros(len(records), dtype=int),
        )

    def every(count):
        return np.array(list(combinations_with_replacement(range(len(points)), count)), dtype=int)

    rest, moved = every(rows - changed), every(changed)
    across = signs[:, rest].sum(axis=2).T[:, moved].sum(axis=2)
    totals = across + inside(moved)[None, :]
    return int((totals.max(axis=1) - totals.min(axis=1)).max())


BRUTE = [(2, 1, 3), (3, 1, 3), (4, 1, 3), (5, 1, 3), (3, 2, 3), (4, 2, 3), (5, 2, 3), (4, 3, 5), (5, 3, 5), (3, 3, 3)]


@pytest.mark.claim("statistic-kendall")
@pytest.mark.parametrize(("rows", "contributions", "levels"), BRUTE)
def test_brute_force_attains_what_is_declared(rows, contributions, levels):
    """All tables, ties included: 2(n-1) for a record, k(2n-k-1) for k of them, never k times 2(n-1)."""
    one = coordinates.kendall((levels, levels), Unit(contributions=contributions), rows)
    most = largest_moves(levels, rows, min(contributions, rows))
    assert most == one.sensitivity * Fraction(rows * (rows - 1), 2)
    assert most <= contributions * 2 * (rows - 1)
    if contributions == 1:
        assert one.sensitivity == Fraction(4, rows)
        assert float(one.sensitivity) == pytest.approx(sensitivity.kendall(rows))


@pytest.mark.claim("statistic-kendall")
@pytest.mark.parametrize("rows", [3, 4])
def test_what_runs_moves_no_further(rows):
    """The formula itself on all neighbours, through the cells that an engine gives."""
    square = list(product(range(3), repeat=2))
    one, found = coordinates.kendall((3, 3), Unit(), rows), {}
    for records in combinations_with_replacement(square, rows):
        cells = {point: (records.count(point), (), ()) for point in set(records)}
        found[records] = one(cells)
        assert one.lower <= found[records] <= one.upper
    worst = max(
        abs(found[tuple(sorted((*rest, a)))] - found[tuple(sorted((*rest, b)))])
        for rest in combinations_with_replacement(square, rows - 1)
        for a, b in combinations(square, 2)
    )
    assert worst == one.sensitivity
    assert worst > Fraction(3, rows), "a smaller sensitivity would be seen"


@pytest.mark.claim("statistic-kendall")
def test_columns_as_engines_count_them():
    """Bounds, edges, levels and missing values, against ranks made by hand."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(50, 20, 300), rng.choice(["low", "middle", "high"], 300)
    table = pl.DataFrame({"x": [None, *x[1:]], "y": y})
    keys = Edges.even("x", (0, 100), 128, missing=50), Levels("y", ("low", "middle", "high"))
    (cells,) = tally(read(table, keys), [Request(keys)])
    ranks = np.floor(np.clip(np.where(np.arange(300) == 0, 50, x), 0, 99.999) * 1.28)
    expected = in_pairs(ranks, np.array([["low", "middle", "high"].index(one) for one in y]))
    assert coordinates.kendall((128, 3), Unit(), 300)(cells) == Fraction(int(expected), 300 * 299 // 2)


@pytest.mark.parametrize("bounds", [(0, 1), (-0.3, 1.7), (Fraction(1, 3), Fraction(22, 7)), (-1e6, 1e6), (18, 95)])
@pytest.mark.parametrize("bins", [2, 31, 100, 256, 1000])
def test_intervals_of_equal_width(bounds, bins):
    """Ends are the bounds themselves, and many intervals are found by division."""
    key = Edges.even("x", bounds, bins)
    assert (key.edges[0], key.edges[-1]) == tuple(
        Fraction(str(end)) if isinstance(end, float) else Fraction(end) for end in bounds
    )
    assert key.cells == bins
    widths = np.diff([float(edge) for edge in key.edges])
    assert widths == pytest.approx(np.full(bins, float(bounds[1] - bounds[0]) / bins), rel=1e-9)
    assert (key.spacing is None) == (bins < 32)


def test_intervals_that_doubles_cannot_tell_apart():
    with pytest.raises(ValueError, match="bounds of 'x' are too close together for 256 intervals in double precision"):
        Edges.even("x", (10**15, 10**15 + 1), 256)
