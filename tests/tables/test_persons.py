import pytest

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
        kept = kept_by_hand(table, rule, INTEGERS, **how, untyped=untyped)
        assert 0 < kept.height < table.height
        expected = tally(read(kept, columns), REQUESTS)
        for frame in [shuffled.to_pandas()] if untyped else [table, shuffled, table.lazy(), shuffled.to_arrow()]:
            assert count(frame, rule) == expected
