"""Statistics of selections and groups: sensitivities by brute force, values by a loop over records, refusals."""

import itertools
import warnings
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
import pytest

import inbounds as ib
from inbounds.errors import DataError
from inbounds.ledger import Account
from inbounds.privacy.norms import make_norm
from inbounds.privacy.terms import Terms
from inbounds.record.record import Releases
from inbounds.record.selection import draft_statistic, is_selection, select
from inbounds.tables.answers import require
from inbounds.tables.engine import tally
from inbounds.tables.sources import read

# Records (x, y, group): missing numbers, numbers beyond the bounds, in the selection and outside, of no group.
RECORDS = [
    (None, 1.0, "a"),
    (0.0, 4.0, "a"),
    (12.0, 0.0, "a"),
    (10.0, 4.0, "b"),
    (-7.0, 2.0, "b"),
    (5.0, None, None),
]
X, Y, BY = {"column": "x", "bounds": (0, 10)}, {"x": (0, 10), "y": (0, 4)}, {"by": "g", "levels": ["a", "b"]}
SKIP_X = {"missing": "skip"}
GROUPS = {**BY, "by_missing": "skip"}
WHERE = "y > 0.5"
STATISTICS = {
    "count": select(ib.Count(), WHERE),
    "count of a level": select(ib.Count("g", level="a", missing="skip"), WHERE),
    "count by": select(ib.Count(**GROUPS), WHERE),
    "sum": select(ib.Sum(**X, **SKIP_X), WHERE),
    "sum of both signs": ib.Sum("x", bounds=(-3, 10), missing="skip"),
    "sum by": ib.Sum(**X, **SKIP_X, **GROUPS),
    "mean": select(ib.Mean(**X, **SKIP_X), WHERE),
    "mean, skipping": ib.Mean(**X, **SKIP_X),
    "mean by": select(ib.Mean(**X, **SKIP_X, **GROUPS), WHERE),
    "proportion": select(ib.Proportion("g", level="b", missing="skip"), WHERE),
    "proportion by": select(ib.Proportion("late", missing="skip", **GROUPS), WHERE, {"late": "x > 3"}),
    "variance": select(ib.Variance(**X, **SKIP_X), WHERE),
    "variance by": ib.Variance(**X, **SKIP_X, **GROUPS),
    "standard deviation": select(ib.StandardDeviation(**X, **SKIP_X), WHERE),
    "covariance": ib.Covariance(Y, missing={"x": "skip", "y": "skip"}),
    "moments": select(ib.Moments(Y, missing={"x": "skip"}), WHERE),
    "histogram": ib.Histogram("x", edges=[0, 5, 10], missing="skip"),
    "histogram, a level of its own": ib.Histogram("g", levels=["a", "b"], missing="level"),
    "proportions": select(ib.Proportions("g", levels=["a", "b"], missing="skip"), WHERE),
    "crosstab": select(
        ib.Crosstab(levels={"g": ["a", "b"]}, edges={"x": [0, 5, 10]}, missing={"x": "level", "g": "skip"})
    ),
}
BOTH = pytest.mark.parametrize("neighbours", ["substitute", "add-remove"])


def table_of(records):
    kinds = {"x": pl.Float64, "y": pl.Float64, "g": pl.String}
    return pl.DataFrame([list(column) for column in zip(*records, strict=True)] or [[], [], []], schema=kinds)


def numbers_of(draft, records):
    """The exact coordinates of a table, as vectors of fractions; counts are one vector."""
    frame = read(table_of(records), draft.columns)
    cells = tally(frame, list(draft.requests))
    if draft.find_refusal is not None:
        require(draft.find_refusal(*cells))
    exact = draft.exact(*cells)
    return [[Fraction(int(x)) for x in exact]] if isinstance(exact, np.ndarray) else [list(one) for one in exact]


def measure(vector, certificate):
    """A vector in the norm that its noise has, in fractions."""
    found = max(map(abs, vector))
    norm = make_norm(certificate.blocks) if certificate.blocks else None
    for start, rows in norm.parts if norm else ():
        for weights, limit in rows:
            part = sum(w * z for w, z in zip(weights, vector[start:], strict=False))
            found = max(found, abs(part) / limit)
    return found


def distance(one, two, certificate):
    """How far apart two tables are, in units of what one change may do: vectors have noise of their own."""
    if certificate.dimension == 1 and certificate.noise == "laplace":
        return sum(abs(a - b) for u, v in zip(one, two, strict=True) for a, b in zip(u, v, strict=True))
    if certificate.noise == "zero-sum":
        return sum(abs(a - b) for a, b in zip(one[0], two[0], strict=True))
    gaps = ([a - b for a, b in zip(u, v, strict=True)] for u, v in zip(one, two, strict=True))
    return sum(measure(gap, certificate) for gap in gaps)


def draft_of(name, neighbours, contributions=1):
    rows = None if neighbours == "add-remove" else 3
    return draft_statistic(STATISTICS[name], Terms.of(1, neighbours, contributions, rows=rows))


@pytest.mark.claim("selection")
@BOTH
@pytest.mark.parametrize("name", STATISTICS)
def test_all_neighbours_of_all_small_tables(name, neighbours):
    """Every table of three records of six kinds, with every record replaced, or taken away, by every other."""
    draft = draft_of(name, neighbours)
    certificate = draft.record.parts[0]
    allowed = certificate.sensitivity * certificate.draws
    kinds = range(len(RECORDS))
    at = cache(lambda places: numbers_of(draft, [RECORDS[i] for i in places]))
    # The order of records does not matter.
    full = list(itertools.combinations_with_replacement(kinds, 3))
    farthest = Fraction(0)
    for places in full:
        for gone in range(3):
            rest = places[:gone] + places[gone + 1 :]
            others = [rest] if neighbours == "add-remove" else [tuple(sorted((*rest, new))) for new in kinds]
            for other in others:
                farthest = max(farthest, distance(at(places), at(other), certificate))
    if draft.squared:
        farthest = Fraction(0)
    assert farthest <= allowed
    # A law of half the noise would be caught, so that the bound is no idle one.
    assert draft.squared or farthest > allowed / 2


@pytest.mark.claim("selection")
def test_two_records_of_a_person():
    rng = np.random.default_rng(4)
    for name in ("mean", "moments", "mean by", "sum", "count by"):
        draft = draft_of(name, "substitute", contributions=2)
        certificate = draft.record.parts[0]
        farthest = Fraction(0)
        for _ in range(60):
            places = rng.integers(len(RECORDS), size=5)
            one, two = (
                numbers_of(draft, [RECORDS[i] for i in places[:3]]),
                numbers_of(draft, [RECORDS[i] for i in (places[0], *places[3:])]),
            )
            farthest = max(farthest, distance(one, two, certificate))
        assert certificate.sensitivity * certificate.draws / 4 < farthest <= certificate.sensitivity * certificate.draws


@pytest.mark.claim("selection")
def test_the_law_for_records_that_come_and_go_is_too_narrow_for_substitution():
    """The control: in a selection a substituted record can move further than one that comes or goes."""
    draft = draft_of("moments", "substitute")
    narrow = draft_of("moments", "add-remove").record.parts[0]
    kinds = [RECORDS[i] for i in (1, 2, 3, 4)]
    scaled = [
        [x * unit for x, unit in zip(numbers_of(draft, [one])[0], draft.record.units, strict=True)] for one in kinds
    ]
    gaps = [[a - b for a, b in zip(one, two, strict=True)] for one in scaled for two in scaled]
    assert max(measure(gap, narrow) for gap in gaps) > narrow.sensitivity


def by_hand(records, keep, pick):
    return [pick(record) for record in records if keep(record)]


@pytest.mark.claim("selection")
def test_values_are_those_of_a_loop_over_records():
    rng = np.random.default_rng(1)
    records = [RECORDS[i] for i in rng.integers(len(RECORDS), size=500)]
    t = table_of(records)
    inside = by_hand(records, lambda r: r[0] is not None and (r[1] or 0) > 0.5, lambda r: min(max(r[0], 0.0), 10.0))
    assert ib.mean(t, **X, **SKIP_X, where=WHERE, epsilon=10**5).value == pytest.approx(np.mean(inside), abs=1e-3)
    assert ib.sum(t, **X, **SKIP_X, where=WHERE, epsilon=10**5).value == pytest.approx(np.sum(inside), abs=0.1)
    made = ib.variance(t, **X, **SKIP_X, where=WHERE, epsilon=10**5).value
    assert made == pytest.approx(np.var(inside, ddof=1), abs=1e-2)
    for level in ("a", "b"):
        group = by_hand(records, lambda r, g=level: r[2] == g and r[0] is not None, lambda r: r[0] > 3)
        shares = ib.proportion(t, "late", derive={"late": "x > 3"}, missing="skip", **GROUPS, epsilon=10**5)
        assert shares.value["ab".index(level)] == pytest.approx(np.mean(group), abs=1e-3)
    counted = ib.count(t, where="g is null", epsilon=10**5)
    assert counted.value == sum(record[2] is None for record in records)


def test_what_is_outside_the_selection_may_be_anything():
    """Missing values and unknown levels are refused in records that count, and nowhere else."""
    t = {"x": [1.0, None, 3.0], "g": ["a", "zzz", None], "ok": [True, False, True]}
    assert ib.mean(t, "x", bounds=(0, 10), where="ok", epsilon=1).value >= 0
    with pytest.raises(DataError, match="column 'x' has missing values"):
        ib.mean(t, "x", bounds=(0, 10), where="not ok", epsilon=1)
    with pytest.raises(DataError, match="column 'g' has missing values or values that are none of its levels"):
        ib.histogram(t, "g", levels=["a"], where="ok", epsilon=1)
    with pytest.raises(DataError, match="none of its levels"):
        ib.histogram(t, "g", levels=["a"], missing="skip", where="not ok", epsilon=1)
    assert ib.histogram(t, "g", levels=["a"], missing="skip", where="ok", epsilon=1).axes == (("a",),)


def test_a_level_called_skip_is_a_level():
    made = ib.histogram(["skip", "run", None], levels=["skip", "run"], missing="skip", epsilon=1)
    assert not is_selection(made.statistic)
    assert sum(made.value) == 3
    own = ib.histogram(["missing", None], levels=["missing", "x"], missing="level", epsilon=10**5)
    assert own.axes == (("missing", "x", "missing_"),)
    assert own.value.tolist() == [1, 0, 1]


def test_a_selection_is_part_of_what_is_charged(tmp_path):
    """Another condition is another release; the same one, spelled otherwise, is the same."""
    t = table_of(RECORDS)
    account = Account(tmp_path / "l.ledger", "d", 3)
    ask = {"bounds": (0, 10), "missing": "skip", "epsilon": 1, "ledger": account}
    one = ib.mean(t, "x", where="y > 0.5", **ask)
    with pytest.warns(UserWarning, match="this is the stored result"):
        assert ib.mean(t, "x", where="Y > 1/2".replace("Y", "y").replace("1/2", "0.50"), **ask) == one
    assert ib.mean(t, "x", where="y > 1", **ask) != one


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"where": "x >"}, "expected"),
        ({"where": "z > 1"}, "no column 'z'"),
        ({"where": "x + 1"}, "condition"),
        ({"where": 3}, "where must be a condition as text"),
        ({"derive": {"x": "q +"}}, "expected"),
        ({"derive": ["x"]}, "derive must be a dictionary"),
        ({"missing": "level"}, "missing = 'level' of 'x' belongs to levels or edges"),
        ({"missing": "leave"}, "missing of 'x'"),
        ({"by": "g"}, "needs levels"),
        ({"by": ["g", "g"], "levels": {"g": ["a"]}}, "by names a column twice"),
        ({"by": ["g", "y"], "levels": {"g": ["a"]}}, "needs levels"),
        ({"by": ["g", "y"], "levels": ["a"]}, r"needs levels=\{column"),
        ({"by": ["g"], "levels": {"h": ["a"]}}, "levels names 'h'"),
    ],
)
def test_mistakes_are_named_and_cost_nothing(keywords, words, tmp_path):
    account = Account(tmp_path / "l.ledger", "d", 3)
    with pytest.raises((ValueError, TypeError), match=words):
        ib.mean(table_of(RECORDS), "x", bounds=(0, 10), epsilon=1, ledger=account, **keywords)
    assert not (tmp_path / "l.ledger").exists() or not ib.ledger.history(account).charges


def test_the_size_of_a_query_is_public_and_said_to_be(tmp_path):
    lazy = table_of(RECORDS).lazy()
    with pytest.warns(ib.errors.PublicSize, match="hand over the whole table and use where="):
        made = ib.count(lazy, "g", level="a", levels=["a", "b"], missing=False, epsilon=1)
    # The record says so too, and is verified with what it says; so does the report.
    again = ib.Release.from_json(made.to_json())
    assert again == made
    assert "the number of rows of this query is taken as public" in made.notes[0]
    Releases({"a": made}).write(tmp_path)
    assert "The number of rows of this query is taken as public" in (tmp_path / "report.md").read_text("utf-8")
    silent = made.to_json().replace('"rows_counted": true', '"rows_counted": false')
    with pytest.raises(ib.errors.RecordError):
        ib.Release.from_json(silent)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not ib.count(lazy, "g", level="a", levels=["a", "b"], missing=False, rows=6, epsilon=1).notes
        ib.count(lazy, "g", level="a", levels=["a", "b"], missing=False, neighbours="add-remove", epsilon=1)
        ib.count(table_of(RECORDS), "g", level="a", levels=["a", "b"], missing=False, epsilon=1)


def test_sizes_are_shown_where_they_were_drawn():
    rng = np.random.default_rng(3)
    t = table_of([RECORDS[i] for i in rng.integers(1, 5, size=800)])
    made = ib.mean(t, **X, **BY, epsilon=10**5)
    assert made.sizes.tolist() == [(t["g"] == level).sum() for level in ("a", "b")]
    assert made.to_polars()["size"].to_list() == made.sizes.tolist()
    assert ib.mean(t, **X, where="g = 'a'", epsilon=10**5).sizes == (t["g"] == "a").sum()
    assert ib.mean(t, **X, epsilon=1).sizes is None
    assert ib.count(t, **BY, epsilon=1).sizes is None


def test_margins_and_percentages_agree_with_the_cells():
    rng = np.random.default_rng(3)
    t = {"a": rng.choice(["x", "y"], 300), "b": rng.choice(["u", "v", "w"], 300)}
    made = ib.crosstab(t, levels={"a": ["x", "y", "z"], "b": ["u", "v", "w"]}, epsilon=10**5)
    margins = made.margins()
    assert margins["a"].tolist() == [(t["a"] == level).sum() for level in "xyz"]
    assert margins["b"].tolist() == made.value.sum(axis=0).tolist()
    assert margins["total"] == 300
    assert made.percentages().sum() == pytest.approx(100)
    rows = made.percentages("row")
    assert rows.sum(axis=1)[:2].tolist() == pytest.approx([100, 100])
    assert rows.mask[2].all()
    assert made.percentages("column").sum(axis=0).tolist() == pytest.approx([100, 100, 100])
    with pytest.raises(ValueError, match="tables of counts"):
        ib.mean([1.0, 2.0], bounds=(0, 5), epsilon=1).margins()
    with pytest.raises(ValueError, match="two columns or more"):
        ib.histogram(["a"], levels=["a"], epsilon=1).percentages("row")


def test_a_condition_may_name_derived_columns():
    """They are written out, so that a record says what was asked for."""
    t = {"x": [1.0, 2.0, 30.0, 40.0] * 100, "g": ["a", "b"] * 200}
    derive = {"late": "x > 15", "twice as much": "2 * x"}
    made = ib.count(t, where="late and \"twice as much\" < 70 and g = 'a'", derive=derive, epsilon=10**5)
    assert made.value == 100
    assert made.statistic.where == "x > 15 and 2 * x < 70 and g = 'a'"
    assert ib.Release.from_json(made.to_json()) == made
    shares = ib.mean(t, "late", bounds=(0, 1), derive=derive, where="not late", epsilon=10**5)
    assert shares.value == pytest.approx(0, abs=1e-3)
