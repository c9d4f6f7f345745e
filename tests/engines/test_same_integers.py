"""The same integers wherever a table lives: real engines, tables with everything that they disagree about."""

import math
from collections import Counter
from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import inbounds as ib
from inbounds.errors import DataError
from inbounds.privacy.terms import Terms
from inbounds.record.selection import draft_statistic, select
from inbounds.tables import rules
from inbounds.tables.engine import Request, count_rows, tally
from inbounds.tables.schema import Edges, Levels, Numeric, Quantised, Steps, quantise_column
from inbounds.tables.sources import read
from tests.engines import places
from tests.tables.samples import messy
from tests.tables.test_engine import COLUMNS, by_hand, requests


def made(engine, table, parts):
    """The table in an engine; a test that cannot be run says so loudly."""
    if engine == "Ibis on PostgreSQL" and places.postgres() is None:
        pytest.skip("SKIPPED LOUDLY: no PostgreSQL binaries (initdb) on this machine; install postgresql to test it")
    return places.ENGINES[engine](table, parts)


# Some take seconds for a handful of parts, whatever is in them.
PARTS = {"Spark": (8,), "Dask": (4,), "Dask, two workers": (3,), "SQLFrame on DuckDB": (4,)}
IN_PARTS = [(engine, parts) for engine in places.ENGINES for parts in PARTS.get(engine, (1, 5, 64))]


@pytest.mark.claim("tally")
@pytest.mark.parametrize(("engine", "parts"), IN_PARTS)
def test_the_same_integers_on_every_engine(engine, parts):
    """Nulls, NaN, ±inf, 1e300, int8, float32, decimals, booleans, text; in one part, some, and many."""
    table = messy()
    expected = [by_hand(table, request) for request in requests()]
    frame = read(made(engine, table, parts), COLUMNS)
    assert tally(frame, requests()) == expected
    assert count_rows(frame) == len(table)


@pytest.mark.claim("tally")
@pytest.mark.parametrize("engine", [name for name in places.ENGINES if name not in ("pandas", "Dask, two workers")])
def test_empty_parts_and_an_empty_table(engine):
    """Three rows in four parts; no rows at all."""
    few, none = messy()[:3], messy()[:0]
    simple = requests()[0], Request()
    assert tally(read(made(engine, few, 4), COLUMNS), simple) == [by_hand(few, request) for request in simple]
    found = tally(read(made(engine, none, 2), COLUMNS), simple)
    assert [sum(cell[0] for cell in cells.values()) for cells in found] == [0, 0]


def near(edges):
    """Numbers on the edges, next to them on both sides, and far away."""
    edges = np.array([float(edge) for edge in edges])
    beside = [np.nextafter(edges, -np.inf), edges, np.nextafter(edges, np.inf), [np.inf, -np.inf, 1e300, -1e300, -0.0]]
    return np.concatenate(beside)


SPACED = {
    "linspace": np.linspace(-0.3, 1.7, 148),
    "arange": np.arange(0, 10, 0.07),
    "whole": list(range(-50, 1200, 7)),
    "far from zero": [1_000_000 + k / 8 for k in range(90)],
}


@pytest.mark.claim("spaced-edges")
@pytest.mark.parametrize("engine", places.ENGINES)
@pytest.mark.parametrize("kind", SPACED)
def test_many_equal_intervals(engine, kind):
    """By division, at every edge and the numbers next to it, against a search among the edges."""
    key = Edges.of("x", SPACED[kind], missing=SPACED[kind][1])
    assert key.spacing is not None
    table = pl.DataFrame({"x": [*near(key.edges), None, math.nan]})
    edges = np.array([float(edge) for edge in key.edges])
    filled = table["x"].fill_nan(None).fill_null(float(edges[1])).to_numpy()
    place = np.clip(np.searchsorted(edges, filled, side="right") - 1, 0, len(edges) - 2)
    (cells,) = tally(read(made(engine, table, 3), [key]), [Request((key,))])
    assert {where: cell[0] for where, cell in cells.items()} == Counter((int(i),) for i in place)


@pytest.mark.claim("tally")
@pytest.mark.parametrize("engine", places.ENGINES)
def test_many_whole_levels(engine):
    """Runs of integers, in a column of integers and in one of doubles."""
    levels = (*range(-5, 300), *range(1000, 1005), 2**53 - 1)
    numbers = [*range(-10, 400, 3), *range(990, 1010), 2**53 - 1, 2**53, 2**53 + 1, None]
    table = pl.DataFrame({"k": pl.Series(numbers), "x": pl.Series(numbers, dtype=pl.Float64) + 0.0})
    table = pl.concat([table, pl.DataFrame({"k": [1, 1, 1, 1], "x": [0.5, math.inf, -0.0, math.nan]})])
    keys = [Levels(name, levels, other=1003, missing=0) for name in ("k", "x")]
    for key in keys:
        (cells,) = tally(read(made(engine, table, 3), keys), [Request((key,))])
        values = [0 if x is None or math.isnan(x) else x for x in table[key.name]]
        expected = Counter((levels.index(x if x in levels else 1003),) for x in values)
        assert {where: cell[0] for where, cell in cells.items()} == expected


@pytest.mark.claim("statistic-kendall")
@pytest.mark.parametrize("engine", places.ENGINES)
def test_the_same_pairs_in_order(engine):
    """Kendall's tau of columns in intervals and levels: several requests of one draft, each pair's integer exact."""
    import inbounds as ib
    from inbounds.privacy.terms import Terms
    from tests.release.cases import taus

    # Passes over a table of its own for each pair, or one for all where passes take seconds.
    table, bins = messy(), 10 if engine in ELSEWHERE else 40
    asked = ib.Kendall(
        bounds={"number": (0, 100), "tiny": (-100, 100)},
        edges={"money": [0, 10, 30, 60, 100]},
        levels={"region": ["n", "s", "e", "w"]},
        bins=bins,
        missing={"number": 50, "region": "n"},
        other={"region": "w"},
    )
    draft = asked.draft(Terms.of(1, rows=len(table)))
    assert len(draft.requests) == 6
    cells = tally(read(made(engine, table, 3), draft.columns), draft.requests)
    assert cells == [by_hand(table, request) for request in draft.requests]
    number = table["number"].fill_nan(None).fill_null(50.0).clip(0, 100).to_numpy()
    tiny = table["tiny"].cast(pl.Float64).to_numpy() + 100
    cuts = [np.clip(np.floor(x * bins / wide), 0, bins - 1) for x, wide in ((number, 100), (tiny, 200))]
    money = np.searchsorted([10, 30, 60], table["money"].cast(pl.Float64).to_numpy(), side="right")
    region = table["region"].fill_null("n").replace(["q"], ["w"]).to_list()
    expected = taus(*cuts, money, ["nsew".index(one) for one in region])
    (found,) = draft.exact(*cells)
    values = [float(x * unit) for x, unit in zip(found, draft.record.units, strict=True)]
    assert values == pytest.approx(expected[np.triu_indices(4, 1)], abs=1e-12)


NUMBER = st.one_of(
    st.none(),
    st.floats(allow_nan=True, allow_infinity=True, width=64),
    st.floats(-10, 110),
    st.sampled_from([0.0, -0.0, 100.0, 0.5, 99.99999999999999, 1e-310, 2.0**53, -1e300]),
)
TEXT = st.one_of(st.none(), st.sampled_from(["a", "b", "c", "other", "missing", "", "á"]), st.text("abcé ", max_size=3))


@st.composite
def tables(draw):
    # Many rows in few tables: a query takes as long for one row as for forty.
    rows = draw(st.integers(1, 40))

    def column(strategy, dtype):
        return pl.Series(draw(st.lists(strategy, min_size=rows, max_size=rows)), dtype=dtype)

    return pl.DataFrame(
        {
            "x": column(NUMBER, pl.Float64),
            "y": column(st.one_of(st.none(), st.floats(width=32)), pl.Float32),
            "k": column(st.one_of(st.none(), st.integers(-(2**62), 2**62)), pl.Int64),
            "flag": column(st.one_of(st.none(), st.booleans()), pl.Boolean),
            "word": column(TEXT, pl.String),
        }
    )


RULES = [
    Numeric.of("x", (0, 100), missing=7),
    Numeric.of("y", (-1.5, 3), missing=0),
    Numeric.of("k", (-(2**40), 2**41), missing=5),
    Numeric.of("flag", (0, 1), missing=1),
]
LABELS = [
    Levels("word", ("a", "b", "other", ""), other="b", missing="a"),
    Levels("flag", (True, False), missing=False),
    Edges.of("x", [0, 0.5, 50, 100], missing=60),
    Levels("k", (0, 1, 5), other=1, missing=5),
]


def asked(bits):
    numbers = tuple(quantise_column(column, resolution=1 << bits) for column in RULES)
    return [Request((), numbers, True), Request(tuple(LABELS), numbers[:1]), Request((LABELS[2],))]


def check(engines, table, bits, parts):
    expected = [by_hand(table, request) for request in asked(bits)]
    for engine in engines:
        frame = read(made(engine, table, parts), [*RULES, *LABELS])
        assert tally(frame, asked(bits)) == expected, engine


ELSEWHERE = ("Spark", "Dask", "SQLFrame on DuckDB", "Ibis on PostgreSQL")
QUICK = [name for name in places.ENGINES if name not in (*ELSEWHERE, "Dask, two workers")]
FEW = settings(
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
)


def in_doubles(one, value):
    """The integer of a number by the rule as it is written, in Python's doubles."""
    column, top = one.column, one.count + 0.5
    value = float(column.fill) if value is None or math.isnan(value) else value
    shifted = value - float(column.lower) if column.lower else value
    return math.floor(min(max(shifted * float(1 / one.step) + 0.5, 0.0), top))


def around(one):
    """Doubles at which a way to the integer of a number might fail: ends, ties, 2^51 to 2^53 steps, and what is odd."""
    lower, step = float(one.column.lower), float(one.step)
    steps = [0, 0.5, 1, 1.5, one.count - 0.5, one.count, one.count + 0.5, 2.0**51, 2.0**52, 2.0**53, 2.0**60]
    places = [lower + sign * k * step for k in steps for sign in (1, -1)]
    near = [math.nextafter(x, end) for x in places for end in (-math.inf, math.inf)]
    return [*places, *near, 0.0, -0.0, 5e-324, 1.7e308, -1.7e308, math.inf, -math.inf]


@pytest.mark.claim("records")
@pytest.mark.parametrize("engine", QUICK)
@pytest.mark.parametrize("count", [2, 100, 100 << 26, 1 << 47])
@pytest.mark.parametrize("bounds", [(0, 100), (-3, 1), ("-1e-60", 0), (10**50, 10**59)])
def test_numbers_at_the_edges_of_their_integers(engine, count, bounds):
    """One record in each cell, so that no error is hidden by another; missing ones are filled in, left out, refused."""
    filled, refused = (Quantised(Numeric.of("x", bounds, missing), count) for missing in (bounds[0], None))
    values = around(filled)
    table = pl.DataFrame({"x": [*values, None, math.nan], "row": range(len(values) + 2)}, strict=False)
    row = Levels("row", tuple(range(len(table))))
    asked = [Request((row,), (filled,), True)]
    (found,) = tally(read(made(engine, table, 2), [filled.column, row]), asked)
    (pair,) = asked[0].pairs
    for (i,), (records, (k,), (product,)) in found.items():
        exact = in_doubles(filled, table["x"][i])
        unit = math.floor(exact * (exact * (1 / count)) + 0.5) if pair.unit > 1 else exact**2
        assert (records, k, product) == (1, exact, unit), table["x"][i]
    assert len(found) == len(table)
    (found,) = tally(read(made(engine, table[:-2], 2), [refused.column]), [Request((), (refused,))])
    assert found[()][1] == (sum(in_doubles(refused, x) for x in values),)
    for missing in (table[:-1], table[-1:]):
        with pytest.raises(DataError, match="'x' has missing values"):
            tally(read(made(engine, missing, 2), [refused.column]), [Request((), (refused,))])


@pytest.mark.claim("tally")
@pytest.mark.parametrize("engine", QUICK)
@pytest.mark.parametrize("missing", [None, 20, "skip", "level"])
@pytest.mark.parametrize("edges", [[0, 100], [0, 50, 100], [0, 10, 20, 60, 100], list(range(0, 101, 2))])
def test_numbers_at_edges_of_intervals(engine, missing, edges):
    values = [math.nextafter(x, end) for x in edges for end in (x, -math.inf, math.inf)]
    values += [-0.0, 1e308, -1e308, math.inf, -math.inf]
    table = pl.DataFrame({"x": values if missing is None else [*values, None, math.nan]}, strict=False)
    key = Edges.of("x", edges, missing)
    steps = Steps(Quantised(Numeric.of("x", (0, 100), missing if missing != "level" else 20), 50))
    found = tally(read(made(engine, table, 2), [key, steps.column]), [Request((key,)), Request((steps,))])
    cells = Counter(int(np.searchsorted(edges[1:-1], x, side="right")) for x in values)
    numbers = Counter(in_doubles(steps.quantised, x) for x in values)
    if missing is not None:
        own = missing in ("skip", "level")
        cells[key.refused if own else int(np.searchsorted(edges[1:-1], missing, side="right"))] += 2
        numbers[steps.refused if missing == "skip" else 10] += 2
    for cells_found, expected in zip(found, (cells, numbers), strict=True):
        assert {place: count for (place,), (count, _, _) in cells_found.items()} == expected
    if missing is None:
        with pytest.raises(DataError, match="'x' has missing values"):
            tally(read(made(engine, pl.DataFrame({"x": [1.0, math.nan]}), 1), [key]), [Request((key,))])


@pytest.mark.claim("tally")
@settings(FEW, max_examples=8)
@given(table=tables(), bits=st.sampled_from([12, 33, 47]), parts=st.integers(1, 5))
def test_drawn_tables_on_engines_in_this_process(table, bits, parts):
    check(QUICK, table, bits, parts)


@pytest.mark.claim("tally")
@pytest.mark.parametrize("engine", ELSEWHERE)
@settings(FEW, max_examples=2)
@given(table=tables(), bits=st.sampled_from([12, 33, 47]), parts=st.integers(1, 3))
def test_drawn_tables_on_engines_elsewhere(engine, table, bits, parts):
    check([engine], table, bits, parts)


@pytest.mark.parametrize("engine", [*QUICK, "Spark", "Dask", "Ibis on PostgreSQL"])
def test_whole_releases(engine):
    """One-liners on every engine: the record is the same but for the noise, which at this ε is next to nothing."""
    import inbounds as ib

    table = messy()
    data = made(engine, table, 3)
    mean = ib.mean(data, "tiny", bounds=(-100, 100), epsilon=10**6, rows=len(table))
    plain = table["tiny"].clip(-100, 100).mean()
    assert math.isclose(mean.value, plain, abs_tol=1e-3)
    counts = ib.histogram(data, "region", levels=["n", "s", "e", "w"], other="w", missing="n", epsilon=10**6)
    truth = table["region"].fill_null("n").replace(["q"], ["w"]).value_counts()
    assert dict(zip("nsew", counts.value.tolist(), strict=True)) == dict(truth.iter_rows())
    spread = ib.covariance(data, bounds={"tiny": (-100, 100), "money": (0, 80)}, epsilon=10**6)
    assert spread.value[0, 0] == pytest.approx(table["tiny"].clip(-100, 100).var(), rel=1e-3)


SELECTIONS = {
    "skipping alone": ib.Mean("x", (0, 10), missing="skip"),
    "where, skipping": select(ib.Mean("x", (0, 10), missing="skip"), "g = 'b' or n > 5"),
    "derived by two": select(
        ib.Proportion(
            "late",
            missing="skip",
            by=["g", "ok"],
            levels={"g": ["a", "b"], "ok": [True, False]},
            by_missing={"g": "skip", "ok": "skip"},
            other={"g": "skip"},
        ),
        "year(day) = 2013 and month(day) in (2, 3) or day is null",
        {"late": "x / n > 1.5"},
    ),
    "moments of derived": select(
        ib.Moments({"x": (0, 10), "twice": (0, 30)}, missing={"x": "skip", "twice": "skip"}),
        "not ok",
        {"twice": "2 * n + x"},
    ),
    "a level of its own": select(ib.Histogram("g", levels=["a", "b"], missing="level", other="skip"), "x is not null"),
}


def mixed():
    """Numbers, text, dates and booleans, each of them missing at times."""
    rng = np.random.default_rng(8)
    size, start = 120, date(2013, 1, 20)
    columns = {
        "x": rng.choice([None, 0.5, 3.25, 9.0, 12.0, -1.0], size).tolist(),
        "n": rng.choice([None, 0, 2, 5, 7], size).tolist(),
        "g": rng.choice([None, "a", "b", "B", "c"], size).tolist(),
        "ok": rng.choice([None, True, False], size).tolist(),
        "day": [None if rng.random() < 0.1 else start + timedelta(int(rng.integers(0, 90))) for _ in range(size)],
    }
    kinds = {"x": pl.Float64, "n": pl.Int64, "g": pl.String, "ok": pl.Boolean, "day": pl.Date}
    return pl.DataFrame(columns, schema=kinds)


def is_selected(name, row):
    """The conditions above once more."""
    if name == "where, skipping":
        return row["x"] is not None and (row["g"] == "b" or (row["n"] or 0) > 5)
    if name in ("a level of its own", "skipping alone"):
        return row["x"] is not None
    if name == "moments of derived":
        return row["ok"] is False and row["x"] is not None and row["n"] is not None
    return row["day"] is None or row["day"].month in (2, 3)


@pytest.mark.claim("selection")
@pytest.mark.parametrize("engine", places.ENGINES)
def test_the_same_selections_on_every_engine(engine):
    """Conditions, derived columns, skipped values and groups of several columns, against a loop over records."""
    table = mixed()
    drafts = {name: draft_statistic(one, Terms.of(1, rows=len(table))) for name, one in SELECTIONS.items()}
    columns = list(dict.fromkeys(column for draft in drafts.values() for column in draft.columns))
    requests = [request for draft in drafts.values() for request in draft.requests]
    found = tally(read(made(engine, table, 3), columns), requests)
    for (name, draft), cells in zip(drafts.items(), found, strict=True):
        rows = [row for row in table.iter_rows(named=True) if is_selected(name, row)]
        inside = {place: cell for place, cell in cells.items() if place[0] == 0}
        assert sum(cell[0] for cell in inside.values()) == len(rows), name
        assert sum(cell[0] for cell in cells.values()) == len(table)
        assert draft.find_refusal(cells) is None
    # And what was added up is the same as in Polars, cell by cell.
    assert found == tally(read(table, columns), requests)
    mean = drafts["where, skipping"].exact(found[1])
    values = [min(max(row["x"], 0), 10) for row in table.iter_rows(named=True) if is_selected("where, skipping", row)]
    # The count and the sum; a sum of squares may be drawn with them.
    assert [float(x) for x in mean[0][:2]] == pytest.approx([len(values), sum(x / 5 - 1 for x in values) / 2], abs=1e-6)


@pytest.mark.claim("selection")
@pytest.mark.parametrize("engine", ["Polars", "DuckDB", "PyArrow"])
def test_columns_may_have_any_names(engine):
    """Those that were given to what is prepared for expressions, and those that are given now."""
    names = ["o0", "O1", "w0", "g0", "c0", "k0", "u0", "one", "inbounds_o0", "Inbounds__w0", "inbounds_t0"]
    table = pl.DataFrame({name: [float(i), 90.0, None] * 40 for i, name in enumerate(names)})
    wheres = [f'"{name}" > 1 and "{other}" < 80' for name, other in zip(names, [*names[1:], names[0]], strict=True)]
    asked = [select(ib.Mean(name, (0, 100), missing="skip"), where) for name, where in zip(names, wheres, strict=True)]
    asked += [
        select(ib.Mean("twice", (0, 300), missing="skip"), "o0 < 80", {"twice": f'2 * "{name}"'}) for name in names
    ]
    asked += [select(ib.Mean("sum", (0, 300), missing="skip"), "o0 < 80", {"sum": f'"{name}" + o0'}) for name in names]
    drafts = [draft_statistic(one, Terms.of(1, rows=len(table))) for one in asked]
    columns = list(dict.fromkeys(column for draft in drafts for column in draft.columns))
    requests = [request for draft in drafts for request in draft.requests]
    found = tally(read(made(engine, table, 2), columns), requests)
    sums = [cells.get((0,), (0, (0,))) for cells in found]
    means = [cell[1][0] * float(request.sums[0].step) for cell, request in zip(sums, requests, strict=True)]
    size = len(names)
    inside = [i > 1 and (i + 1) % size < 80 for i in range(size)]
    assert [cell[0] for cell in sums[:size]] == [40 * held for held in inside]
    assert means[:size] == pytest.approx([40.0 * i * held for i, held in enumerate(inside)])
    assert means[size : 2 * size] == pytest.approx([40 * 2.0 * i for i in range(size)])
    assert means[2 * size :] == pytest.approx([40 * float(i) for i in range(size)])


@pytest.mark.claim("tally")
@pytest.mark.parametrize("engine", ["Polars, streaming from files", "DuckDB"])
def test_more_texts_than_are_compared_one_by_one(engine):
    """Levels that are joined: quotes, cases, other values and missing ones."""
    levels = [f"l{i}" for i in range(rules.MANY_TEXTS)] + ["L1", "it's", 'a "b"', "é", "e\u0301", ""]
    values = [*levels[-6:], "L1", "l1", "l999", "nobody", "l1 ", None, None]
    key = Levels("g", tuple(levels), other="l0", missing="skip")
    request = Request((key,))
    (cells,) = tally(read(made(engine, pl.DataFrame({"g": values}), 3), [key]), [request])
    expected = Counter(levels.index(one) if one in levels else 0 for one in values if one is not None)
    assert {place: cell[0] for (place,), cell in cells.items()} == {**expected, key.places[1]: 2}
    with pytest.raises(DataError, match="none of its levels"):
        tally(read(made(engine, pl.DataFrame({"g": values}), 3), [key]), [Request((replace(key, other=None),))])


@pytest.mark.parametrize("engine", places.ENGINES)
def test_the_levels_of_a_regression(engine):
    """As many of each level as by hand, others and missing ones where the rule puts them, or refused."""
    table = messy()
    levels = ["n", "s", "e", "w"]
    asked = ib.Regression("number", {"number": (0, 100)}, {"region": levels}, {"number": 50, "region": "n"})
    draft = replace(asked, other={"region": "w"}).draft(Terms.of(1, rows=len(table)))
    frame = read(made(engine, table, 3), draft.columns)
    (cells,) = tally(frame, draft.requests)
    assert cells == by_hand(table, draft.requests[0])
    (found,) = draft.exact(cells)
    regions = table["region"].fill_null("n").replace(["q"], ["w"])
    expected = [int((regions == level).sum()) for level in levels[1:]]
    # u = 2k - 1 of k in {0, 1}, in halves.
    assert [(x * 2 + len(table)) / 2 for x in found[1:4]] == expected
    with pytest.raises(DataError, match="column 'region' holds values that are none of its levels"):
        tally(frame, asked.draft(Terms.of(1, rows=len(table))).requests)
