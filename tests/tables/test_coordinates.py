"""Exact statistics: against NumPy and pandas on real data, and no further apart on neighbours than declared."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import datasets

from inbounds.lab.theory import sensitivity
from inbounds.privacy.terms import Unit
from inbounds.tables import coordinates
from inbounds.tables import request as request_module
from inbounds.tables.coordinates import MomentSums
from inbounds.tables.engine import Request, tally
from inbounds.tables.schema import ELSEWHERE, Edges, Levels, Numeric, Quantised, quantise_column, resolution
from inbounds.tables.sources import read

ONE = Fraction(1)


def cells_of(table, request):
    return tally(read(pl.DataFrame(table), request.columns), [request])[0]


def statistics_of(columns, key, unit, rows):
    """Every statistic for a public n, with what the engine must count for it."""
    both, groups = tuple(columns), len(key.labels)
    plain, alone = Request((), both, True), Request((), both[:1])
    names = [coordinates.standard_deviation(coordinates.covariances(columns, unit, rows)[0])]
    names += coordinates.covariances(columns, unit, rows)
    found = [(one, plain) for one in names]
    found += [(maker(columns[0], unit, rows), alone) for maker in (coordinates.mean, coordinates.total)]
    found += [(one, Request((key,), both, True)) for one in coordinates.pooled(columns, unit, rows, groups)]
    found += [(coordinates.count((0,), unit, rows), Request((key,)))]
    return [*found, (coordinates.share((0,), unit, rows), Request((key,)))]


def values(found, table):
    answers = {request: cells_of(table, request) for request in dict.fromkeys(request for _, request in found)}
    return [one(answers[request]) for one, request in found]


def distance(one, a, b):
    """Distance of two values; of roots a little more than the true one."""
    if not one.root:
        return abs(a - b)
    low, high = sorted([a, b])
    return coordinates._root(high, up=True) - coordinates._root(low, up=False)


KEY = Levels("g", ("a", "b"))
TINY = [quantise_column(Numeric.of(name, (0, 2), integer=True), resolution=1) for name in "xy"]


def small_tables(rows):
    """All tables of so many rows with values 0, 1, 2 in two columns and two groups, up to order."""
    records = list(product((0, 1, 2), (0, 2), "ab"))
    yield from combinations_with_replacement(records, rows)


def as_table(records):
    x, y, g = zip(*records, strict=True)
    return {"x": np.array(x), "y": np.array(y), "g": list(g)}


@pytest.mark.claim("statistic-mean")
@pytest.mark.claim("statistic-sum")
@pytest.mark.claim("statistic-covariance")
@pytest.mark.claim("statistic-root")
@pytest.mark.claim("statistic-pooled")
def test_brute_force_attains_what_is_declared():
    """All pairs of neighbours of four rows; formulas run on cells made by hand, as the engine makes them."""
    rows, unit = 4, Unit()
    found = statistics_of(TINY, KEY, unit, rows)
    worst = [Fraction(0)] * len(found)
    seen = {records: [one(_by_hand(records, request)) for one, request in found] for records in small_tables(rows)}
    everything = list(product((0, 1, 2), (0, 2), "ab"))
    for records, here in seen.items():
        for record in everything:
            there = seen[tuple(sorted((record, *records[1:]), key=everything.index))]
            for i, (one, _) in enumerate(found):
                worst[i] = max(worst[i], distance(one, here[i], there[i]))
    for (one, request), most in zip(found, worst, strict=True):
        assert most <= one.sensitivity * (1 + Fraction(1, 1 << 58))
        if not request.by or one.name in ("count", "proportion"):
            assert most >= one.sensitivity * (1 - Fraction(1, 1 << 58)), one.name
    # Pooled ones are bounds for any sizes: attained up to n_max/(n_max+1).
    pooled = {one.name: most / one.sensitivity for (one, request), most in zip(found, worst, strict=True) if request.by}
    assert pooled["pooled_variance"] >= Fraction(2, 3)
    assert pooled["pooled_covariance"] >= Fraction(1, 2)


def _by_hand(records, request):
    cells = {}
    for x, y, g in records:
        place = ("ab".index(g),) if request.by else ()
        ks = (x, y)[: len(request.sums)]
        products = [a * b for a, b in combinations_with_replacement(ks, 2)] if request.products else []
        count, sums, totals = cells.get(place, (0, (0,) * len(ks), (0,) * len(products)))
        sums = tuple(a + b for a, b in zip(sums, ks, strict=True))
        cells[place] = (count + 1, sums, tuple(a + b for a, b in zip(totals, products, strict=True)))
    return cells


def test_the_cells_made_by_hand_are_the_engines():
    records = [(0, 2, "a"), (1, 0, "b"), (2, 2, "b"), (2, 0, "b")]
    for _, request in statistics_of(TINY, KEY, Unit(), 4):
        assert cells_of(as_table(records), request) == _by_hand(records, request)


@pytest.mark.claim("statistic-covariance")
@pytest.mark.parametrize("count", [3, 4, 7])
def test_rounded_products_need_their_slack(count, monkeypatch):
    """On a grid so coarse that all pairs of neighbours can be tried, with products rounded as on fine ones."""
    monkeypatch.setattr(request_module, "EXACT", 1)
    columns = [Quantised(one.column, count) for one in TINY]
    product_ = request_module.Product(*columns)
    assert product_.unit == count
    points = list(product(range(count + 1), repeat=2))

    def cells(records):
        pairs = [
            [math.floor(Fraction(a * b, count) + Fraction(1, 2)) for a, b in ((x, x), (x, y), (y, y))]
            for x, y in records
        ]
        sums = tuple(sum(k) for k in zip(*records, strict=True))
        return {(): (len(records), sums, tuple(sum(r) for r in zip(*pairs, strict=True)))}

    rows = 2
    for one in coordinates.covariances(columns, Unit(), rows):
        unclipped = replace(one, lower=None, upper=None)
        values_ = {records: unclipped(cells(records)) for records in product(points, repeat=rows)}
        worst = max(
            abs(here - values_[(changed, *records[1:])]) for records, here in values_.items() for changed in points
        )
        assert worst <= one.sensitivity
        if one.name == "variance":
            exact = columns[0].column.width ** 2 / rows
            assert worst > exact, "the slack would not be needed"


@pytest.mark.claim("statistic-pooled")
@pytest.mark.parametrize("sizes", [(2, 2), (3, 2), (4, 1)])
def test_pooled_with_public_sizes(sizes):
    """A record keeps its group: the declared sensitivity is attained."""
    rows = sum(sizes)
    found = coordinates.pooled(TINY, Unit(), rows, 2, sizes=sizes)
    request = Request((KEY,), tuple(TINY), True)
    groups = "a" * sizes[0] + "b" * sizes[1]
    points = list(product((0, 2), repeat=2))
    worst = [Fraction(0)] * len(found)
    for xy in product(points, repeat=rows):
        records = [(*p, g) for p, g in zip(xy, groups, strict=True)]
        here = [one(_by_hand(records, request)) for one in found]
        for place in (0, sizes[0]):
            for point in points:
                changed = [*records[:place], (*point, groups[place]), *records[place + 1 :]]
                there = [one(_by_hand(changed, request)) for one in found]
                worst = [max(w, abs(a - b)) for w, a, b in zip(worst, here, there, strict=True)]
    assert worst == [one.sensitivity for one in found]
    declared = sensitivity.pooled_variance((0, 2), sizes=[max(m, 2) for m in sizes]) if min(sizes) > 1 else None
    assert declared is None or float(found[0].sensitivity) == pytest.approx(declared)


numbers = st.one_of(
    st.floats(-20, 120, allow_nan=False),
    st.sampled_from([0.0, 100.0, 50.0, -1e300, 1e300, float("inf"), float("-inf"), float("nan"), 99.999999999]),
)
records_ = st.tuples(numbers, numbers, st.sampled_from("ab"))
COLUMNS = [Numeric.of("x", (0, 100), missing=7), Numeric.of("y", (-3.3, 77.7), missing=0.1)]


@settings(max_examples=60)
@given(st.lists(records_, min_size=4, max_size=9), st.tuples(records_, records_), st.sampled_from([12, 45]))
def test_neighbours_are_no_further_apart_than_declared(records, changed, bits):
    """Whatever the records hold, for one record and for a person with two; with products rounded and not."""
    columns = [quantise_column(column, resolution=1 << bits) for column in COLUMNS]
    rows = len(records)
    for contributions in (1, 2):
        found = statistics_of(columns, KEY, Unit(contributions=contributions), rows)
        other = [*changed[:contributions], *records[contributions:]]
        pairs = zip(found, values(found, as_table(records)), values(found, as_table(other)), strict=True)
        for (one, _), here, there in pairs:
            assert distance(one, here, there) <= one.sensitivity * (1 + Fraction(1, 1 << 58))
            for value in (here, there):
                bound = one.upper if not one.root else one.upper**2
                assert one.lower <= value <= bound


@pytest.mark.claim("statistic-moments")
@pytest.mark.claim("statistic-centred")
@settings(max_examples=40)
@given(st.lists(records_, min_size=1, max_size=8), st.sampled_from([12, 45]))
def test_a_record_that_comes_or_goes(records, bits):
    columns = tuple(quantise_column(column, resolution=1 << bits) for column in COLUMNS)
    moments, unit = MomentSums(columns, products=True), Unit("add-remove")
    scalars = [coordinates.centred_mean(columns[0], unit, 50), coordinates.total(columns[0], unit, None)]
    with_, without = (cells_of(as_table(t), moments.request) if t else {} for t in (records, records[1:]))
    for a, b in zip(moments(with_[()]), moments(without.get(())), strict=True):
        assert abs(a - b) <= moments.sensitivity
    assert moments.sensitivity - 1 < Fraction(1, 1 << 10)
    for one in scalars:
        assert abs(one(with_) - one(without)) <= one.sensitivity


@pytest.mark.claim("statistic-moments")
def test_moments_by_their_definition():
    columns = tuple(Quantised(column.column, column.count) for column in TINY)
    table = {"x": np.array([0, 1, 2, 2]), "y": np.array([2, 0, 1, 2])}
    u, v = (table[name] - 1.0 for name in "xy")
    expected = [4, u.sum(), v.sum(), (2 * u * u - 1).sum(), (u * v).sum(), (2 * v * v - 1).sum()]
    moments = MomentSums(columns, products=True)
    assert [float(m) for m in moments(cells_of(table, moments.request)[()])] == expected
    assert moments(None) == [0] * 6
    # Attained: a record at a corner moves every coordinate by one.
    assert [abs(m) for m in moments((1, (2, 0), (4, 0, 0)))] == [1] * 6
    # Without a count the others are in halves: a record that goes from one corner to the other moves a sum by one.
    halves = MomentSums(columns, products=True, counted=False)
    assert [float(m) for m in halves(cells_of(table, halves.request)[()])] == [x / 2 for x in expected[1:]]
    assert (moments.block, halves.block) == ("counted moments 2", "moments 2")
    assert (moments.dimension, halves.dimension) == (6, 5)


@pytest.mark.claim("statistic-centred")
def test_the_centred_mean_is_the_mean_of_a_table_of_that_size():
    column = quantise_column(Numeric.of("x", (20, 30)), resolution=1 << 20)
    table = {"x": [20.0, 22.5, 30.0, 27.5]}
    cells = cells_of(table, Request((), (column,)))
    one = coordinates.centred_mean(column, Unit("add-remove"), 4)
    assert float(one(cells)) == 25.0
    assert one.sensitivity == Fraction(10, 8)
    # Attained by a record at a bound.
    assert one(cells) - one(cells_of({"x": [20.0, 22.5, 27.5]}, Request((), (column,)))) == one.sensitivity
    # Half as many rows: halfway to the middle of the bounds.
    far = coordinates.centred_mean(column, Unit("add-remove"), 8)
    assert float(far(cells_of({"x": [20.0] * 4}, Request((), (column,))))) == 22.5


def test_where_floating_point_libraries_fail():
    """OpenDP issue 2923: variances on [2^50, 2^50 + 1] with 1024 rows; and 2^53 with ones among them."""
    for base in (2**50, 2**53 - 1):
        column = quantise_column(Numeric.of("x", (base, base + 1), integer=True), resolution=1)
        rows, unit = 1024, Unit()
        request = Request((), (column,), True)
        (variance,) = coordinates.covariances([column], unit, rows)
        total = coordinates.total(column, unit, rows)
        low = {"x": np.full(rows, base)}
        high = {"x": np.where(np.arange(rows) == 0, base + 1, base)}
        for one in (variance, total):
            here, there = (one(cells_of(t, request)) for t in (low, high))
            assert 0 < abs(here - there) <= one.sensitivity
        assert variance.sensitivity == Fraction(1, rows)
        half = {"x": np.where(np.arange(rows) % 2, base + 1, base)}
        assert variance(cells_of(half, request)) == variance.upper == Fraction(rows, 4 * (rows - 1))
        # What double precision makes of it.
        doubles = half["x"].astype(float)
        one_pass = (np.sum(doubles * doubles) - np.sum(doubles) ** 2 / rows) / (rows - 1)
        assert abs(one_pass - 0.25) > 0.2


def test_values_at_the_bounds_stay_there():
    """Bounds that no double holds: nothing beyond 0..count, whatever floats do to the difference."""
    for bounds in ((0.1, 0.3), (1e16, 1e16 + 2), (-1e-59, 1e-59), (1 / 3, 2 / 3), (2**60, 2**60 + 1)):
        column = Quantised(Numeric.of("x", bounds, missing=bounds[0]), 1 << 30)
        table = {"x": [float(bounds[0]), float(bounds[1]), 1e300, -1e300, float("inf"), float("nan")]}
        _, (total,), _ = cells_of(table, Request((), (column,)))[()]
        per_record = [cells_of({"x": [x]}, Request((), (column,)))[()][1][0] for x in table["x"]]
        assert sum(per_record) == total
        assert all(0 <= k <= column.count for k in per_record)
        assert per_record[2:] == [column.count, 0, column.count, 0]


LOADERS = [datasets.load_diabetes, datasets.load_breast_cancer, datasets.load_wine]


@pytest.mark.parametrize("load", LOADERS, ids=["diabetes", "breast cancer", "wine"])
def test_real_data_agree_with_numpy_and_pandas(load):
    """To the declared quantisation: half a step for a mean, W_x W_y/M for a covariance."""
    data = load(as_frame=True).frame
    rows, epsilon = len(data), ONE
    names = list(data.columns[:4])
    data["group"] = pd.cut(data[names[0]], 3, labels=["low", "mid", "high"]).astype(str)
    columns = []
    for name in names:
        low, high = float(np.floor(data[name].min())), float(np.ceil(data[name].max())) + 0.5
        columns.append(quantise_column(Numeric.of(name, (low, high)), resolution=resolution(rows, epsilon)))
    key = Levels("group", ("low", "mid", "high"))
    unit = Unit()
    plain, grouped = Request((), tuple(columns), True), Request((key,), tuple(columns), True)
    cells, by_group = tally(read(data, grouped.columns), [plain, grouped])
    widths = [float(one.column.width) for one in columns]
    # Half a step from the records and as much from the products, M steps to a width.
    fine = [1.0 / one.count for one in columns]

    for one, width, name, step in zip(columns, widths, names, fine, strict=True):
        place = columns.index(one)
        alone = {(): (cells[()][0], (cells[()][1][place],), ())}
        mean, total = coordinates.mean(one, unit, rows), coordinates.total(one, unit, rows)
        assert float(mean(alone)) == pytest.approx(data[name].mean(), abs=width * step / 2 + 1e-12 * width)
        assert float(total(alone)) == pytest.approx(data[name].sum(), abs=rows * width * step / 2 + 1e-9 * width)

    pairs = list(combinations_with_replacement(range(4), 2))
    matrix, correlations = data[names].cov().to_numpy(), data[names].corr().to_numpy()
    found = [float(one(cells)) for one in coordinates.covariances(columns, unit, rows)]
    residuals = data[names] - data.groupby("group")[names].transform("mean")
    within = (residuals.T @ residuals).to_numpy() / (rows - 3)
    pooled = [float(one(by_group)) for one in coordinates.pooled(columns, unit, rows, 3)]
    diagonal = {i: value for (i, j), value in zip(pairs, found, strict=True) if i == j}
    for (i, j), value, pool in zip(pairs, found, pooled, strict=True):
        near = widths[i] * widths[j] * (fine[i] + fine[j] + 1e-12)
        assert value == pytest.approx(matrix[i, j], abs=near)
        assert pool == pytest.approx(within[i, j], abs=2 * near)
        correlation = value / np.sqrt(diagonal[i] * diagonal[j])
        assert correlation == pytest.approx(correlations[i, j], abs=4 * near / np.sqrt(matrix[i, i] * matrix[j, j]))
        if i == j:
            root = coordinates.standard_deviation(coordinates.covariances([columns[i]], unit, rows)[0])
            square = {(): (cells[()][0], (cells[()][1][i],), (cells[()][2][pairs.index((i, i))],))}
            assert float(root(square)) ** 0.5 == pytest.approx(data[names[i]].std(), abs=near / data[names[i]].std())

    counts = data["group"].value_counts()
    for place, label in enumerate(key.levels):
        assert coordinates.count((place,), unit, rows)(by_group) == counts[label]
    assert coordinates.share((0,), unit, rows)(by_group) == Fraction(int(counts["low"]), rows)
    edges = np.quantile(data[names[2]], [0, 0.2, 0.5, 1])
    histogram, _ = np.histogram(data[names[2]], edges)
    binned = cells_of({"v": data[names[2]].to_numpy()}, Request((Edges.of("v", edges),)))
    assert [binned[(i,)][0] for i in range(3)] == histogram.tolist()
    cross = pd.crosstab(data["group"], data[names[2]] > edges[2])
    table = {"group": data["group"].tolist(), "above": (data[names[2]] > edges[2]).to_numpy()}
    two_way = cells_of(table, Request((key, Levels("above", (False, True)))))
    for i, label in enumerate(key.levels):
        assert [two_way.get((i, j), (0,))[0] for j in range(2)] == cross.loc[label].tolist()


def test_units_and_places():
    assert Unit().name == "record"
    assert Unit("add-remove", 3).name == "person"
    assert (Unit().cell_changes, Unit("add-remove").cell_changes, Unit(contributions=3).cell_changes) == (2, 1, 6)
    with pytest.raises(ValueError, match="contributions must be >= 1"):
        Unit(contributions=0)
    with pytest.raises(ValueError, match="neighbours must be one of"):
        Unit("bounded")
    key = Levels("g", ("a",), ELSEWHERE, "a")
    assert cells_of({"g": ["a", "b", None, "c"]}, Request((key,))) == {(0,): (2, (), ()), (1,): (2, (), ())}


@pytest.mark.parametrize("square", [Fraction(2), Fraction(1, 3), Fraction(10**40), Fraction(1, 10**40), Fraction(0)])
def test_roots_are_rounded_as_said(square):
    low, high = coordinates._root(square, up=False), coordinates._root(square, up=True)
    assert low**2 <= square < high**2
    assert (high - low) <= (low / (1 << 60) if square else Fraction(1, 1 << 60))
