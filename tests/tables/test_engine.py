"""Exact sums: against a loop over records, and the same in any order, partition and engine."""

import math
from fractions import Fraction

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest
from polars.io.plugins import register_io_source

from inbounds.tables.answers import counts_of, records
from inbounds.tables.engine import EXACT, MOST_ROWS, Plan, Product, Request, count_rows, tally
from inbounds.tables.passes import join
from inbounds.tables.schema import ELSEWHERE, DataError, Edges, Levels, Numeric, Quantised, quantise_column, resolution
from inbounds.tables.sources import read
from tests.tables.samples import KEYS, NUMBERS, ROWS, engines, messy, natively, partitioned

COLUMNS = [*NUMBERS, *KEYS]


def steps(resolution_=1 << 33):
    return tuple(quantise_column(column, resolution=resolution_) for column in NUMBERS)


def requests(resolution_=1 << 33):
    numbers = steps(resolution_)
    return [
        Request((), numbers, True),
        Request(tuple(KEYS[:2])),
        Request((KEYS[2],), numbers[:2]),
        Request((KEYS[3], KEYS[0]), (numbers[4],), True),
        Request(),
    ]


def by_hand(table, request):
    """The same by a loop over records, in Python's integers."""
    cells = {}
    for row in table.iter_rows(named=True):
        place = tuple(_cell(key, row[key.name]) for key in request.by)
        ks = [_integer(one, row[one.column.name]) for one in request.sums]
        index = dict(zip(request.sums, ks, strict=True))
        products = [_product(pair, index[pair.first], index[pair.second]) for pair in request.pairs]
        count, sums, sums_of_products = cells.get(place, (0, [0] * len(ks), [0] * len(products)))
        added = [a + b for a, b in zip(sums, ks, strict=True)]
        cells[place] = (count + 1, added, [a + b for a, b in zip(sums_of_products, products, strict=True)])
    return {place: (count, tuple(sums), tuple(products)) for place, (count, sums, products) in cells.items()}


def _integer(one, value):
    column = one.column
    if value is None or (isinstance(value, float) and math.isnan(value)):
        value = column.missing
    if isinstance(value, float) and math.isinf(value):
        return one.count if value > 0 else 0
    exact = (min(max(Fraction(value), column.lower), column.upper) - column.lower) / one.step + Fraction(1, 2)
    return math.floor(exact)


def _product(pair, a, b):
    (k, _), (j, coarser) = sorted([(b, pair.second.count), (a, pair.first.count)], key=lambda x: -x[1])
    rounded = math.floor(float(k) * (float(j) * (1 / coarser)) + 0.5) if pair.unit > 1 else a * b
    assert abs(rounded * pair.unit - a * b) <= pair.slack
    assert 0 <= rounded <= pair.largest
    return rounded


def _cell(key, value):
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    if isinstance(key, Edges):
        value = float(key.missing) if missing else value
        return sum(value >= float(edge) for edge in key.edges[1:-1])
    level = key.missing if missing else value if value in key.levels else key.other
    return key.levels.index(level) if level in key.levels else len(key.levels)


@pytest.mark.claim("tally")
@pytest.mark.claim("records")
@pytest.mark.parametrize("resolution_", [1 << 12, 1 << 33, 1 << 47])
def test_sums_are_those_of_a_loop_over_records(resolution_):
    table = messy()
    frame = read(table, COLUMNS)
    for request, cells in zip(requests(resolution_), tally(frame, requests(resolution_)), strict=True):
        assert cells == by_hand(table, request)


@pytest.mark.claim("tally")
@pytest.mark.parametrize("most", [ROWS, 1 << 20, MOST_ROWS])
def test_digits_make_no_difference(most):
    """A public limit on the rows decides how far numbers are split, and nothing else."""
    table = messy()
    whole = requests(1 << 40)[0]
    assert tally(read(table.lazy(), COLUMNS), [whole], most=most) == [by_hand(table, whole)]
    plan = Plan(whole, most)
    assert max(term.digits for term in plan.terms) > (1 if most > ROWS else 0)


@pytest.mark.claim("tally")
def test_no_sum_can_pass_what_a_double_holds():
    """In the worst case: every row has the largest number of every digit."""
    for most in (1, 7, ROWS, 10**8, MOST_ROWS):
        for count in (1, 255, 1 << 20, (1 << 33) + 1, (1 << 48) - 1):
            plan = Plan(Request((), (Quantised(NUMBERS[0], count),)), most)
            (term,) = plan.terms
            if term.digits == 1:
                assert count * most <= EXACT
            else:
                assert ((1 << term.bits) - 1) * most <= EXACT
                assert count >> (term.bits * (term.digits - 1)) <= (1 << term.bits) - 1


@pytest.mark.claim("tally")
def test_no_sum_of_integers_can_wrap():
    """Where an engine's integers are relied on, the largest sum there can be stays below 2^62."""
    for most in (1, 7, ROWS, 10**8, MOST_ROWS):
        for count in (1, 255, 1 << 20, (1 << 33) + 1, (1 << 48) - 1):
            plan = Plan(Request((), (Quantised(NUMBERS[0], count),)), most, integers=True)
            (term,) = plan.terms
            if term.digits == 1:
                assert count * most <= 1 << 62
            else:
                assert ((1 << term.bits) - 1) * most <= EXACT


@pytest.mark.claim("tally")
def test_integers_of_the_engine_make_no_difference():
    """Sums beyond 2^53 in 64-bit integers and in digits: all records at the upper bound, where they are largest."""
    top = pl.DataFrame({"number": [100.0, 99.0, 1e9] * 200}).lazy()
    column = Numeric.of("number", (0, 100))
    for steps_ in (1 << 20, (1 << 33) + 1, (1 << 47) - 1):
        request = Request((), (Quantised(column, steps_),), True)
        found = [
            plan.cells(plan.query(nw.from_native(top)).collect())
            for plan in (Plan(request, MOST_ROWS), Plan(request, MOST_ROWS, integers=True), Plan(request, ROWS))
        ]
        assert found[0] == found[1] == found[2] == by_hand(top.collect(), request)


@pytest.mark.claim("tally")
def test_no_sum_of_products_can_wrap():
    """A factor times the largest digit of the other, in every row: below 2^62, or 2^53 where doubles hold the sum."""
    split = 0
    for most in (ROWS, 10**5, 10**8, MOST_ROWS):
        for counts in (
            (1 << 26, 1 << 26),
            ((1 << 40) + 1, 1 << 12),
            (1 << 23, 1 << 30),
            (255, 1 << 44),
            (1 << 40, 1 << 40),
        ):
            pair = Product(*(Quantised(NUMBERS[i], count) for i, count in enumerate(counts)))
            request = Request((), (pair.first, pair.second), some=(pair,))
            term = Plan(request, most, integers=True).terms[-1]
            if term.factor is None:
                assert term.digits > 1 or pair.largest * most <= 1 << 62
                continue
            split += 1
            other = min(counts)
            largest = other * ((1 << term.bits) - 1) * most
            assert largest <= (1 << 62 if term.wide else EXACT)
            assert term.factor.count < 1 << (term.bits * term.digits)
            assert Plan(request, most).terms[-1].factor is None
            assert Plan(request, most, integers=True, huge=True).terms[-1].digits == 1
    assert split >= 5


def wide_table(columns, rows=97):
    """A table with many columns, some records beyond the bounds and some missing, and the rules of its columns."""
    drawn = np.random.default_rng(5).normal(50, 40, (rows, columns)).round(3)
    drawn[::7, 1], drawn[::11, 2], drawn[::50, 3] = 100.0, np.nan, np.inf
    rules = [Numeric.of(f"x{i}", (0, 100), missing=30) for i in range(columns)]
    return pl.DataFrame({rule.name: drawn[:, i] for i, rule in enumerate(rules)}), rules


@pytest.mark.claim("tally")
@pytest.mark.parametrize("bits", [12, 26, 40])
@pytest.mark.parametrize("grouped", [False, True])
def test_products_by_blocks_are_those_of_a_loop_over_records(bits, grouped):
    """More columns than a block has, on Polars and DuckDB, with sums that are exact as they are and beyond 2^62."""
    table, rules = wide_table(14 if grouped else 30)
    edges = (Edges.of("x0", [0, 30, 60, 100], missing=30),) if grouped else ()
    wanted = Request(edges, tuple(quantise_column(rule, resolution=1 << bits) for rule in rules), True)
    assert len(Plan(wanted, ROWS, blocks=True).parts) == 3
    expected = by_hand(table, wanted)
    for frame in (table, table.lazy(), duckdb.from_arrow(table.to_arrow())):
        assert tally(read(frame, rules), [wanted]) == [expected]


def test_a_table_that_changes_between_blocks_is_refused():
    table, rules = wide_table(30)
    wanted = Request((), tuple(quantise_column(rule, resolution=1 << 12) for rule in rules), True)
    plan = Plan(wanted, ROWS, integers=True, blocks=True)
    results = [
        part.cells(part.query(nw.from_native(table.head(90 - place).lazy())).collect())
        for place, part in enumerate(plan.parts)
    ]
    with pytest.raises(DataError, match="changed while it was read"):
        join(wanted, plan.asked, results)


@pytest.mark.claim("tally")
def test_any_order_of_the_rows():
    """50 permutations; the tallies are compared as they are, no tolerance."""
    table = messy()
    expected = tally(read(table, COLUMNS), requests())
    rng = np.random.default_rng(1)
    for i in range(50):
        mixed = table[rng.permutation(ROWS).tolist()]
        engine = list(engines(mixed).values())[i % 7]
        assert tally(read(engine, COLUMNS), requests()) == expected


@pytest.mark.claim("tally")
@pytest.mark.parametrize("parts", [1, 2, 3, 7, 16, 33, 64])
def test_any_partition_of_the_rows(parts):
    table = messy()
    expected = tally(read(table, COLUMNS), requests())
    for engine in partitioned(table, parts).values():
        assert tally(read(engine, COLUMNS), requests()) == expected


@pytest.mark.claim("tally")
@pytest.mark.parametrize("name", engines(messy(20)))
def test_any_engine(name):
    table = messy()
    expected = tally(read(table, COLUMNS), requests())
    assert tally(read(engines(table)[name], COLUMNS), requests()) == expected


@pytest.mark.claim("tally")
@pytest.mark.parametrize("name", ["pandas on arrow", "pyarrow"])
def test_any_engine_left_to_itself(name):
    """Not handed to Polars: the path of distributed frames. All requests go in one query there."""
    table = messy()
    expected = tally(read(table, COLUMNS), requests())
    frame = natively(table)[name]
    assert tally(frame, requests()) == expected
    assert [tally(frame, [one])[0] for one in requests()] == expected
    assert count_rows(frame) == ROWS


def test_float_sums_would_differ():
    """The control: plain sums of the same column depend on the order of its rows."""
    values = messy()["single"].cast(pl.Float64) * 1.1
    rng = np.random.default_rng(0)
    assert len({float(np.cumsum(values.to_numpy()[rng.permutation(ROWS)])[-1]) for _ in range(50)}) > 1


def test_too_many_cells_are_counted_table_by_table():
    levels = tuple(str(i) for i in range(300))
    table = pl.DataFrame({"a": ["1", "2", "2"], "b": ["7", "7", "9"]})
    keys = Levels("a", levels), Levels("b", levels)
    asked = [Request((keys[0],)), Request((keys[1],))]
    frame = natively(table)["pyarrow"]
    assert tally(frame, asked) == tally(read(table, keys), asked)
    assert tally(frame, asked)[0] == {(1,): (1, (), ()), (2,): (2, (), ())}


def test_empty_tables():
    table = messy().clear()
    none = tally(read(table, COLUMNS), requests())
    assert none[0][()][0] == 0
    assert set(none[0][()][1]) == {0}
    assert none[1] == {}


def test_more_rows_than_stated():
    table = messy(20)
    with pytest.raises(DataError, match="more than 10 rows"):
        tally(read(table.lazy(), COLUMNS), requests(), most=10)


def test_an_engine_that_fails_tells_nothing():
    """Arrow refuses to cast an integer beyond 2^53 to a double, and quotes it."""
    table = pl.DataFrame({"x": pl.Series([2**62 + 12345, 1], dtype=pl.Int64)})
    column = Quantised(Numeric.of("x", (0, Fraction(1, 3))), 1 << 12)
    with pytest.raises(DataError) as caught:
        tally(natively(table)["pyarrow"], [Request((), (column,))])
    assert "12345" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    frame = read(table, [column.column])
    assert tally(frame, [Request((), (column,))]) == [{(): (2, (2 << 12,), ())}]


@pytest.mark.claim("quantisation")
@pytest.mark.parametrize(("rows", "epsilon"), [(50, 0.1), (10**4, 1), (10**8, 1), (10**8, 10), (2**31, 1)])
def test_steps_follow_size_and_budget(rows, epsilon):
    count = resolution(rows, Fraction(epsilon))
    assert count >= min(52 * rows * Fraction(epsilon), 1 << 47)
    for column in NUMBERS:
        one = quantise_column(column, resolution=count)
        assert one.count < 4 * count + 2 * column.width
        if column.integer:
            assert one.step == 1
            continue
        assert one.count >= count
        if column.whole:
            assert (1 / one.step).denominator == 1  # whole numbers lie on the grid


def test_products_are_exact_while_they_fit():
    small, large = Quantised(NUMBERS[1], 200), Quantised(NUMBERS[0], 1 << 33)
    assert Product(small, small).slack == 0
    assert Product(small, large).slack == 0
    assert Product(large, large).slack > 0
    assert Product(large, large).largest == large.count


def test_tables_of_counts_alone_are_packed():
    """A mapping like any other, without zeros, that shows nothing of itself."""
    keys = Levels("a", (3, 1, 2), other=ELSEWHERE, missing=1), Levels("b", ("x", "y"))
    frame = read(pl.DataFrame({"a": [1, 1, 2, 9, None], "b": ["x", "x", "y", "y", "x"]}), keys)
    (cells,) = tally(frame, [Request(keys)])
    assert cells == {(1, 0): (3, (), ()), (2, 1): (1, (), ()), (3, 1): (1, (), ())}
    assert (len(cells), records(cells), (0, 0) in cells) == (3, 5, False)
    assert "3" not in repr(cells)
    # Cells of no level are left out.
    assert counts_of(cells, (3, 2)).tolist() == counts_of(dict(cells), (3, 2)).tolist() == [0, 0, 3, 0, 0, 1]


@pytest.mark.claim("tally")
@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow", "lazy"])
def test_many_levels_of_text(kind):
    """Joined where the engine is Polars, compared elsewhere: levels, others and missing values."""
    levels = tuple(f"word {i}" for i in range(1200))
    table = pl.DataFrame({"w": ["word 3", "word 1199", "word 3", "other", "", None, "word 1200"]})
    data = {"polars": table, "pandas": table.to_pandas(), "pyarrow": table.to_arrow(), "lazy": table.lazy()}[kind]
    key = Levels("w", levels, other="word 7", missing="word 1")
    (cells,) = tally(read(data, [key]), [Request((key,))])
    assert {place: cell[0] for place, cell in cells.items()} == {(3,): 2, (1199,): 1, (7,): 3, (1,): 1}
    for rule, said in (({"other": "word 7"}, "missing values"), ({"missing": "word 7"}, "none of its levels")):
        strict = Levels("w", levels, **rule)
        with pytest.raises(DataError, match=said):
            tally(read(data, [strict]), [Request((strict,))])


def test_many_unequal_edges_are_refused():
    with pytest.raises(ValueError, match=r"edges of 'x' must be equally spaced .* numpy.linspace"):
        Edges.of("x", np.linspace(1, 2, 10_001) ** 2)
    assert Edges.of("x", np.linspace(1, 2, 10_001)).cells == 10_000
    assert Edges.of("x", np.linspace(1, 2, 1000) ** 2).spacing is None


@pytest.mark.parametrize("columns", [12, 30])
@pytest.mark.parametrize("grouped", [False, True])
def test_all_blocks_are_one_pass_over_a_lazy_table(columns, grouped):
    """A file is read once, whatever the number of blocks, and only the columns that are asked for."""
    table, rules = wide_table(columns)
    reads = []

    def read_once(with_columns, *_):
        reads.append(with_columns)
        yield table.select(with_columns or pl.all())

    lazy = register_io_source(read_once, schema={**table.schema, "other": pl.Float64})
    edges = (Edges.of("x0", [0, 30, 60, 100], missing=30),) if grouped else ()
    wanted = Request(edges, tuple(quantise_column(rule, resolution=1 << 26) for rule in rules), True)
    assert tally(read(lazy, rules), [wanted]) == tally(read(table, rules), [wanted])
    assert [sorted(names) for names in reads] == [sorted(table.columns)]
