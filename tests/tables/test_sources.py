"""Tables of every kind: types made from values decide nothing, and complaints of engines are kept back."""

import decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import inbounds as ib
from inbounds.road import draw
from inbounds.tables.engine import Request, tally
from inbounds.tables.schema import DataError, Levels, Numeric, quantise_column, resolution
from inbounds.tables.sources import guard, read
from tests.records import body_of

ROWS = 40


def public(release):
    """Everything in a record but its noisy numbers."""
    record = body_of(release)
    del record["noisy"], record["value"]
    return record


# The same values in every container, with whatever type each makes of them.
CONTAINERS = {
    "list": list,
    "numpy": lambda values: np.array(values, dtype=object if None in values else None),
    "pandas": pd.Series,
    "pandas, best types": lambda values: pd.Series(values, dtype=object).convert_dtypes(),
    "polars": lambda values: pl.Series(values, strict=False),
    "arrow": pa.array,
}


FLIPS = {
    "integers and a half": ([6] * ROWS, [6] * (ROWS - 1) + [6.5]),
    "integers and a missing one": ([6] * ROWS, [6] * (ROWS - 1) + [None]),
    "one value and none": ([None] * (ROWS - 1) + [3], [None] * ROWS),
    "booleans and a number": ([True] * ROWS, [True] * (ROWS - 1) + [2]),
}


@pytest.mark.parametrize("flip", FLIPS)
@pytest.mark.parametrize("name", CONTAINERS)
def test_a_type_that_one_record_changes_shows_nowhere(flip, name):
    keywords = {"bounds": (0, 100), "missing": 0, "epsilon": 1}
    first, second = FLIPS[flip]
    if name == "arrow" and flip == "booleans and a number":
        pytest.skip("Arrow makes no column of these")
    records = [public(ib.mean(CONTAINERS[name](values), **keywords)) for values in (first, second)]
    assert records[0] == records[1]
    deviations = [public(ib.standard_deviation(CONTAINERS[name](values), **keywords)) for values in (first, second)]
    assert deviations[0] == deviations[1]


@pytest.mark.parametrize("name", CONTAINERS)
def test_an_empty_column_is_like_a_full_one(name):
    keywords = {"bounds": (0, 100), "epsilon": 1, "neighbours": "add-remove"}
    empty, full = (public(ib.sum(CONTAINERS[name](values), **keywords)) for values in ([], [5]))
    assert empty == full
    levels = {"levels": ["a", "b"], "missing": "b", "epsilon": 1, "neighbours": "add-remove"}
    empty, full = (public(ib.histogram(CONTAINERS[name](values), **levels)) for values in ([], ["a"]))
    assert empty == full


def test_a_flip_moves_no_other_record():
    """Wide bounds and a small ε, where steps are coarser than one: all records but one stay where they were."""
    column = Numeric.of("x", (0, 2**30))
    step = quantise_column(column, resolution=resolution(10**4, Fraction("0.0005")))
    whole = np.full(10**4, 2**17 + 1)
    flipped = whole.astype(float)
    flipped[0] += 0.5
    sums = [tally(read({"x": x}, [column]), [Request((), (step,))])[0][()][1][0] for x in (whole, flipped)]
    assert abs(sums[0] - sums[1]) <= step.count
    assert abs(sums[0] - sums[1]) * step.step <= 1


@pytest.mark.parametrize("name", ["list", "numpy", "pandas", "polars"])
def test_all_missing_is_like_any_other_text(name):
    keywords = {"levels": ["a", "b"], "missing": "b", "epsilon": 1}
    some, none = (public(ib.histogram(CONTAINERS[name](v), **keywords)) for v in (["a", None], [None, None]))
    assert some == none
    frame = pd.DataFrame({"x": [float("nan")] * 2}), pd.DataFrame({"x": ["a", None]})
    assert public(ib.histogram(frame[0], "x", **keywords)) == public(ib.histogram(frame[1], "x", **keywords))
    truth = {"level": True, "missing": False, "epsilon": 1}
    assert public(ib.proportion(pd.Series([None, None]), **truth)) == public(ib.proportion([True, None], **truth))
    categories = pd.Series(pd.Categorical([None, None])), pd.Series(pd.Categorical(["a", None]))
    assert public(ib.histogram(categories[0], **keywords)) == public(ib.histogram(categories[1], **keywords))


SECRET = "secret-" + chr(0xDCFF) + "name"


@pytest.mark.parametrize(
    "container", [list, np.array, lambda x: np.array(x, dtype=object), lambda x: pd.Series(x, dtype=object)]
)
def test_text_that_cannot_be_written_is_no_level(container):
    keywords = {"levels": ["a", "b"], "epsilon": 1}
    release = ib.histogram(container(["a", SECRET, "é"]), other="b", **keywords)
    assert release.rows == 3
    with pytest.raises(DataError) as caught:
        ib.histogram(container(["a", SECRET]), **keywords)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None
    frame = pd.DataFrame({"x": pd.Series(["a", SECRET], dtype=object)})
    assert ib.histogram(frame, "x", other="b", **keywords).rows == 2


def test_objects_of_the_wrong_kind():
    """They are values outside the levels, and missing among numbers: whatever has no place by its rule is refused."""
    assert ib.histogram(["a", 5, {}], levels=["a", "b"], other="b", epsilon=1).rows == 3
    assert ib.histogram([1, "one"], levels=[1, 2], other=2, epsilon=1).rows == 2
    assert ib.count([True, "yes"], level=True, epsilon=1).rows == 2
    assert ib.histogram([True, "yes"], levels=[True, False], other=False, epsilon=1).rows == 2
    for values in ([1, "n/a"], [1, np.timedelta64(5, "D")], [1, np.datetime64("2020-01-01")], [1, object()]):
        assert ib.mean(values, bounds=(0, 1), missing=0, epsilon=1).rows == 2
        with pytest.raises(DataError, match="has missing values, or values that are no numbers"):
            ib.mean(values, bounds=(0, 1), epsilon=1)


def test_missing_values_of_every_kind(monkeypatch):
    monkeypatch.setattr(draw.GridMechanism, "draw", lambda _, at, __: at)
    gone = [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, decimal.Decimal("NaN"), decimal.Decimal("sNaN")]
    for value in gone:
        assert ib.mean([1, value], bounds=(0, 3), missing=3, epsilon=1).value == pytest.approx(2, abs=1e-5)
    masked = np.ma.masked_array([1.0, 99.0], mask=[False, True])
    assert ib.mean(masked, bounds=(0, 3), missing=3, epsilon=1).value == pytest.approx(2, abs=1e-5)


def test_numbers_beyond_all_doubles():
    with np.errstate(all="raise"):
        values = np.array([1, np.longdouble("1e400")], dtype=np.longdouble)
        assert ib.mean(values, bounds=(0, 3), epsilon=1).rows == 2


def test_what_an_engine_says_is_kept_back(tmp_path):
    bad = tmp_path / "bad.ndjson"
    bad.write_text("A secret\n{")
    with pytest.raises(DataError, match="its message is not shown") as caught:
        ib.mean(pl.scan_ndjson(bad), "x", bounds=(0, 1), epsilon=1)
    assert caught.value.__context__ is None

    class Panic(BaseException):
        pass

    def panicking():
        raise Panic("secret")

    with pytest.raises(DataError, match="failed with Panic") as caught:
        guard(panicking)
    assert "secret" not in str(caught.value)
    for passing in (KeyboardInterrupt, SystemExit):
        with pytest.raises(passing):
            guard(lambda passing=passing: (_ for _ in ()).throw(passing()))


def test_frames_with_odd_names():
    names = ["one", "g0", "k0", "c0", "m0", "p0", "u0", "rows", "with space", 'quo"te', "", "ünïcode"]
    table = pl.DataFrame({name: [1.0, 2.0, 3.0] for name in names})
    for name in names:
        assert ib.variance(table, name, bounds=(0, 5), epsilon=1).columns[0].name == name
    bounds = dict.fromkeys(names[:6], (0, 5))
    assert ib.covariance(table, bounds=bounds, epsilon=1).value.shape == (6, 6)


def test_levels_of_every_type():
    for values, levels in (
        (pl.Series(["a", "b"], dtype=pl.Categorical), ["a", "b"]),
        (pl.Series(["a", "b"], dtype=pl.Enum(["a", "b", "c"])), ["a", "b"]),
        (pd.Series(["a", "b"], dtype="category"), np.array(["a", "b"])),
        (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
        (pd.Series([1.0, 2.0]), [1, 2]),
        (np.array([1, 2], dtype=np.int8), np.array([1, 2])),
        (np.array([True, False]), [True, False]),
    ):
        assert ib.histogram(values, levels=levels, epsilon=1).rows == 2
    assert Levels("x", ("other", "missing", "missing_")).strays == ("other_", "missing__")
    tricky = ib.histogram(
        ["other", "missing", "odd", None], levels=["other", "missing"], other="missing", missing="other", epsilon=1
    )
    assert tricky.axes == (("other", "missing"),)


@pytest.mark.parametrize("name", CONTAINERS)
def test_digits_are_numbers_where_types_are_made_of_values(name):
    """pandas and NumPy make text of all numbers next to one text; a declared type is what it is."""
    text, numbers = CONTAINERS[name](["1", "2", "3"]), CONTAINERS[name]([1, 2, 3])
    if name in ("polars", "arrow"):
        with pytest.raises(DataError, match="column 'x' must hold numbers to have bounds; convert text"):
            ib.sum(text, bounds=(0, 9), epsilon=1)
    else:
        sums = [ib.sum(values, bounds=(0, 9), epsilon=10**6).value for values in (text, numbers)]
        assert sums == pytest.approx([6, 6], abs=0.01)


@pytest.mark.parametrize("row", [{"x": 1.0}, (1.0,), [1.0]])
def test_a_list_of_rows_is_refused_and_one_row_among_values_is_not(row):
    """Whether it is refused is never for one record to say."""
    column = Numeric.of("x", (0, 10), missing=0)
    with pytest.raises(TypeError, match="make a table of it"):
        read([row] * 3, [column])
    for values in ([row, row, 5.0], [row]):
        assert tally(read(values, [column]), [Request()])[0][()][0] == len(values)
