import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest

from inbounds.tables import kept, persons, ranking
from inbounds.tables.engine import Request, tally
from inbounds.tables.persons import add_columns
from inbounds.tables.sources import read
from tests.tables.panel import KIND, REGION, SCORE, X, Y, keeping, kept_by_hand, panel

REQUESTS = [Request((), (X, Y), True), Request((REGION, KIND)), Request((SCORE,), (Y,)), Request()]
PLACES = {"n": 0, "s": 1, "e": 2, "w": 3, "q": -2}


def edge(row):
    return sum(row["x"] >= end for end in (2, 5))


def kind(row):
    return row["kind"] if row["kind"] < 3 else -2


INTEGERS = [
    ("x", 0, 1, lambda row: int(row["x"])),
    ("y", 0, 2, lambda row: row["y"]),
    ("missing x", 0, 1, lambda _: 0),
    ("missing y", 0, 1, lambda _: 0),
    ("region", -2, 1, lambda row: PLACES[row["region"]]),
    ("kind", -2, 1, kind),
    ("score", -1, 1, edge),
]


def days(row):
    return (row["visit"] is None, 0 if row["visit"] is None else row["visit"].toordinal())


def latest(row):
    return (row["visit"] is None, 0 if row["visit"] is None else -row["visit"].toordinal())


CASES = {
    "random": (keeping(rows=2), {}),
    "own": (keeping("text", rows=1, person_missing="own"), {}),
    "first": (keeping("day", rows=3, keep="first", order="visit"), {"at": days}),
    "last": (keeping("text", rows=1, keep="last", order="visit"), {"at": latest}),
    "groups": (keeping(rows=2, groups={"region": 2}), {"group": lambda row: PLACES[row["region"]] + 2}),
    "groups, ids of text": (
        keeping("text", rows=1, groups={"region": 2}),
        {"group": lambda row: PLACES[row["region"]] + 2},
    ),
}


def count(frame, rule):
    columns = add_columns([c for request in REQUESTS for c in request.columns], rule.persons)
    return tally(read(frame, columns), REQUESTS, keeping=rule)


@pytest.mark.claim("kept")
@pytest.mark.parametrize("case", CASES)
def test_what_is_kept_is_what_a_loop_keeps(case):
    rule, how = CASES[case]
    table = panel()
    shuffled = table.sample(fraction=1, shuffle=True, seed=1)
    columns = [column for request in REQUESTS for column in request.columns]
    # In pandas days are times, and so are their texts.
    for untyped in (False, True)[: 1 if rule.persons.column == "day" else 2]:
        by_hand = kept_by_hand(table, rule, INTEGERS, **how, untyped=untyped)
        assert 0 < by_hand.height < table.height
        expected = tally(read(by_hand, columns), REQUESTS)
        for frame in [shuffled.to_pandas()] if untyped else [table, shuffled, table.lazy(), shuffled.to_arrow()]:
            assert count(frame, rule) == expected


def rank_both(table, rule, integers):
    """What sorting keeps, and what the rule keeps as other engines run it: integers of rows, in any order."""
    names = [one.name for one in integers]
    found = ranking.keep_ranked(table.lazy(), rule, integers)
    expected = persons.rank(nw.from_native(table), rule, integers, None).to_native()
    return sorted(found.select(names).iter_rows()), sorted(expected.select(names).iter_rows())


def hostile_rows(ids, rows=4000, seed=5):
    """Persons with many equal rows; integers at both ends of wide ranges."""
    rng = np.random.default_rng(seed)
    integers = [
        persons.Integer("k0", 0, 2**48),
        persons.Integer("g0", -(2**53) + 1, 2**53 - 1),
        persons.Integer("g1", 0, 1),
    ]
    who = rng.integers(0, len(ids), rows)
    return pl.DataFrame(
        {
            persons.ID: pl.Series(ids).gather(pl.Series(who)),
            "k0": rng.choice([0.0, 2.0**48, 5.0], rows),
            "g0": rng.choice([-(2.0**53) + 1, 2.0**53 - 1], rows),
            "g1": (rng.random(rows) < 0.1).astype(float),
        }
    ), integers


IDS = {
    "near": list(range(-200, 200)),
    "far": [(-1) ** i * (2**62 + i) for i in range(400)],
    "unsigned": pl.Series([2**64 - 1 - i for i in range(400)], dtype=pl.UInt64),
    "numbers": [i / 7 for i in range(-200, 200)],
    "text": ["", *("x" * i for i in range(1, 400))],
    "days": pl.Series(range(400), dtype=pl.Int32).cast(pl.Date),
    "truth": [True, False],
}


@pytest.mark.claim("kept")
@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("rows", [1, 3, 12])
def test_sorting_keeps_what_the_rule_keeps(kind, rows):
    table, integers = hostile_rows(IDS[kind])
    found, expected = rank_both(table, keeping("id", rows=rows), integers)
    assert found == expected
    assert len(found) < table.height


@pytest.mark.claim("kept")
@pytest.mark.parametrize("defect", ["codes", "hashes", "cubes", "sums"])
def test_what_a_sort_cannot_tell_is_left_to_the_rule(defect, monkeypatch):
    """Persons under one code, different rows with one hash, and sums that p divides, all of them common here."""
    seen = []

    def see(*arguments):
        seen.append(arguments[0].height)
        return slowly(*arguments)

    slowly = ranking._rank_slowly
    monkeypatch.setattr(ranking, "_rank_slowly", see)
    table, integers = hostile_rows(IDS["text"])
    if defect == "codes":
        monkeypatch.setattr(
            ranking, "_code_persons", lambda ids: ((ids.hash() % 50).to_numpy().astype(np.int64), False)
        )
    if defect == "hashes":
        # The same for all values of one integer, as if it were not hashed.
        mix = ranking.mix
        blind = frozenset({"g0", persons.NUMBER})
        monkeypatch.setattr(ranking, "mix", lambda frame, factors, all_of, _: mix(frame, factors, all_of, blind))
    if defect == "cubes":
        monkeypatch.setattr(ranking, "_cube", lambda sums, _: sums * 0)
    if defect == "sums":
        # As if p divided what is cubed for every row that is equal to another: it is not looked at any further.
        monkeypatch.setattr(ranking, "PRIME", 1)
    found, expected = rank_both(table, keeping("id", rows=2), integers)
    assert sum(seen) > 1000
    if defect in ("codes", "sums"):
        assert found == expected
    else:
        # Hashes are others, and yet no person has more rows or fewer.
        assert len(found) == len(expected)


@pytest.mark.claim("kept")
def test_a_table_that_is_sorted_in_parts_keeps_the_same_rows(monkeypatch):
    rule, _ = CASES["own"]
    whole = count(panel(), rule)
    monkeypatch.setattr(ranking, "MOST_AT_ONCE", 60)
    seen = []
    collect = ranking.collect_rows
    monkeypatch.setattr(kept, "collect_rows", lambda *given: seen.append(given[3:]) or collect(*given))
    assert count(panel().lazy(), rule) == whole == count(duckdb.connect().from_arrow(panel().to_arrow()), rule)
    assert seen == [(part, 9) for part in range(9)] * 2
