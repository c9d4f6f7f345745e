"""Bad input: one clear error that names the column and the rule, the same from every engine, and nothing is drawn."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import inbounds as ib
from inbounds.road import draw
from inbounds.tables.schema import DataError

X = [1.0, 2.0, 3.0, 4.0]


@pytest.fixture(autouse=True)
def nothing_is_drawn(monkeypatch):
    def refuse():
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(draw, "entropy_source", refuse)


def frames(columns):
    """The same table in every engine; columns as lists."""
    polars = pl.DataFrame(columns, strict=False)
    return {
        "dictionary": columns,
        "pandas": pd.DataFrame(columns),
        "pandas objects": pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()}),
        "polars": polars,
        "polars lazy": polars.lazy(),
        "pyarrow": polars.to_arrow(),
        "arrays": {name: np.array(values) for name, values in columns.items()},
    }


TABLE = {"age": [20, 30, 40], "name": ["ann", "bob", "cat"], "when": [1, 2, 3]}
NO_NUMBERS = (
    "column '{}' has missing values, or values that are no numbers; say what they count as with missing=, or leave "
    "them out with missing='skip' (not of regression and kendall); convert text with percent signs, units or "
    "decimal commas first, or declare the commas of a CSV file: decimal = ',' under [data]"
)
SAME_EVERYWHERE = {
    "empty": (lambda t: ib.mean(t, "age", bounds=(0, 9), epsilon=1), {"age": []}, "the table has no rows"),
    "one row for a variance": (
        lambda t: ib.variance(t, "age", bounds=(0, 9), epsilon=1),
        {"age": [3.0]},
        "the table has fewer rows than the 2 that this statistic needs",
    ),
    "unknown column": (
        lambda t: ib.mean(t, "agee", bounds=(0, 9), epsilon=1),
        TABLE,
        "the table has no column 'agee'; did you mean 'age'?",
    ),
    "nothing like it": (
        lambda t: ib.mean(t, "zzzzz", bounds=(0, 9), epsilon=1),
        TABLE,
        "the table has no column 'zzzzz'",
    ),
    "text in double quotes": (
        lambda t: ib.mean(t, "age", bounds=(0, 9), where='name = "zoe"', epsilon=1),
        TABLE,
        "the table has no column 'zoe'; if it is meant as text, write it in single quotes",
    ),
    "text for numbers": (
        lambda t: ib.mean(t, "name", bounds=(0, 9), epsilon=1),
        TABLE,
        "column 'name' must hold numbers to have bounds; convert text or other objects first, or write bounds "
        "of dates as 2013-01-31",
    ),
    "numbers for text": (
        lambda t: ib.histogram(t, "age", levels=["a", "b"], epsilon=1),
        TABLE,
        "column 'age' must hold text, as its levels are; write the levels without quotes if it holds numbers, "
        "or convert it",
    ),
    "text for integers": (
        lambda t: ib.histogram(t, "name", levels=[1, 2], epsilon=1),
        TABLE,
        "column 'name' must hold integers, as its levels are; write the levels in quotes if it holds text, or "
        "convert it",
    ),
    "other levels": (
        lambda t: ib.histogram(t, "name", levels=["ann", "bob"], epsilon=1),
        TABLE,
        "column 'name' holds values that are none of its levels; say where they belong with other=, or add them to the "
        "levels",
    ),
    "other sizes": (
        lambda t: ib.mean(t, "age", bounds=(0, 9), epsilon=1, rows=4),
        TABLE,
        "rows=4 was given, but the table has another number of rows; correct it, hand over the whole table "
        "with where= if it was filtered, or protect the number with neighbours='add-remove'",
    ),
    "missing": (
        lambda t: ib.mean(t, "age", bounds=(0, 9), epsilon=1),
        {"age": [1.0, None, 2.0]},
        NO_NUMBERS.format("age"),
    ),
    "all missing": (
        lambda t: ib.covariance(t, bounds={"age": (0, 9)}, epsilon=1),
        {"age": [None, None, None]},
        NO_NUMBERS.format("age"),
    ),
    "missing level": (
        lambda t: ib.proportion(t, "name", level="ann", epsilon=1),
        {"name": ["ann", None, "bob"]},
        "column 'name' has missing values; say what they count as with missing=, or leave them out with missing='skip' "
        "(not of regression and kendall)",
    ),
}


@pytest.mark.parametrize(
    "engine", ["dictionary", "pandas", "pandas objects", "polars", "polars lazy", "pyarrow", "arrays"]
)
@pytest.mark.parametrize("case", SAME_EVERYWHERE)
def test_the_same_error_from_every_engine(case, engine):
    """But for types: where they are declared one that does not fit is refused, where they are made of values, values
    are."""
    call, columns, message = SAME_EVERYWHERE[case]
    if engine not in ("polars", "polars lazy", "pyarrow"):
        message = OF_VALUES.get(case, message)
    with pytest.raises(DataError) as caught:
        call(frames(columns)[engine])
    assert str(caught.value) == message


OF_VALUES = {
    "text for numbers": NO_NUMBERS.format("name"),
    "numbers for text": SAME_EVERYWHERE["other levels"][2].replace("name", "age"),
    "text for integers": SAME_EVERYWHERE["other levels"][2],
}


FUNCTIONS = {
    "mean": lambda **k: ib.mean(X, bounds=(0, 9), **k),
    "sum": lambda **k: ib.sum(X, bounds=(0, 9), **k),
    "count": lambda **k: ib.count(X, level=1, **k),
    "proportion": lambda **k: ib.proportion([0, 1, 1, 0], **k),
    "variance": lambda **k: ib.variance(X, bounds=(0, 9), **k),
    "standard_deviation": lambda **k: ib.standard_deviation(X, bounds=(0, 9), **k),
    "histogram": lambda **k: ib.histogram(X, edges=[0, 2, 9], **k),
    "proportions": lambda **k: ib.proportions(X, edges=[0, 2, 9], **k),
    "crosstab": lambda **k: ib.crosstab({"x": X}, edges={"x": [0, 2, 9]}, **k),
    "covariance": lambda **k: ib.covariance({"x": X}, bounds={"x": (0, 9)}, **k),
    "correlation": lambda **k: ib.correlation({"x": X, "y": X}, bounds={"x": (0, 9), "y": (0, 9)}, **k),
    "pooled_variance": lambda **k: ib.pooled_variance(
        {"x": X, "g": [1, 1, 2, 2]}, "x", bounds=(0, 9), by="g", levels=[1, 2], **k
    ),
    "pooled_covariance": lambda **k: ib.pooled_covariance(
        {"x": X, "g": [1, 1, 2, 2]}, bounds={"x": (0, 9)}, by="g", levels=[1, 2], **k
    ),
}
PROMISES = [
    ({"epsilon": 0}, ValueError, "epsilon must be > 0 and at most 1e6, got 0 of type int"),
    ({"epsilon": -1}, ValueError, "epsilon must be > 0"),
    ({"epsilon": float("nan")}, ValueError, "epsilon must be a number, got nan"),
    ({"epsilon": float("inf")}, ValueError, "epsilon must be finite"),
    ({"epsilon": "much"}, ValueError, "epsilon must be a finite number"),
    ({"epsilon": None}, TypeError, "epsilon must be a real number"),
    ({"epsilon": True}, TypeError, "epsilon must be a real number"),
    ({"neighbours": "bounded"}, ValueError, "neighbours must be one of"),
    ({"bounding": "unbounded"}, ValueError, "bounding must be one of 'bit', 'truncated'"),
    ({"contributions": 0}, ValueError, "contributions must be >= 1"),
    ({"contributions": 1.5}, TypeError, "contributions must be an integer"),
    ({"rows": 0}, ValueError, "rows must be >= 1"),
    ({"rows": 4.0}, TypeError, "rows must be an integer"),
    ({"rows": 7}, DataError, "rows=7 was given"),
    ({"rows": 4, "neighbours": "add-remove"}, ValueError, "rows= cannot be combined with neighbours='add-remove'"),
]


@pytest.mark.parametrize(("promise", "error", "words"), PROMISES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_checks_its_promise(name, promise, error, words):
    with pytest.raises(error, match=words):
        FUNCTIONS[name](**({"epsilon": 1} | promise))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ib.mean(X, bounds=None, epsilon=1), ValueError, r"column 'x' needs bounds=\(lower, upper\)"),
        (lambda: ib.mean(X, bounds=(1, 1), epsilon=1), ValueError, "bounds of 'x' must satisfy lower < upper"),
        (lambda: ib.mean(X, bounds=(3, 1), epsilon=1), ValueError, "bounds of 'x' must satisfy lower < upper"),
        (lambda: ib.mean(X, bounds=(0, float("inf")), epsilon=1), ValueError, "bounds of 'x' must be finite"),
        (lambda: ib.mean(X, bounds=(0, float("nan")), epsilon=1), ValueError, "bounds of 'x' must be a number"),
        (lambda: ib.mean(X, bounds=5, epsilon=1), TypeError, "bounds of 'x' must be a pair"),
        (lambda: ib.mean(X, bounds=(0, 1e101), epsilon=1), ValueError, "below 1e60 in size"),
        (lambda: ib.mean(X, bounds=(0, 1e-101), epsilon=1), ValueError, "1e-60 apart"),
        (lambda: ib.mean(X, bounds=(0, 1), missing=2, epsilon=1), ValueError, "missing of 'x' must lie within"),
        (lambda: ib.mean({"x": X}, bounds=(0, 1), epsilon=1), TypeError, "column must be given for a table"),
        (
            lambda: ib.mean(pl.DataFrame({"x": X}), bounds=(0, 1), epsilon=1),
            TypeError,
            "column must be given for a table",
        ),
        (lambda: ib.mean({"x": X}, 3, bounds=(0, 1), epsilon=1), TypeError, "column must be a name"),
        (lambda: ib.mean(5, bounds=(0, 1), epsilon=1), TypeError, "data must be a table, a column of values"),
        (lambda: ib.mean((x for x in X), bounds=(0, 1), epsilon=1), TypeError, "data must be a table"),
        (lambda: ib.mean(set(X), bounds=(0, 1), epsilon=1), TypeError, "data must be a table"),
        # Text is the path of a file.
        (lambda: ib.mean("1234", bounds=(0, 1), epsilon=1), TypeError, "column must be given for a table"),
        (lambda: ib.mean("1234", "x", bounds=(0, 1), epsilon=1), DataError, "there is no file '1234'"),
        (lambda: ib.mean({"x": 5}, "x", bounds=(0, 1), epsilon=1), TypeError, "column 'x' must be a list"),
        (lambda: ib.mean(np.ones((2, 2)), bounds=(0, 1), epsilon=1), DataError, "must have one dimension, got 2"),
        (lambda: ib.mean(np.array([1j]), bounds=(0, 1), epsilon=1), DataError, "values that are no numbers"),
        (lambda: ib.mean([1, "two"], bounds=(0, 1), epsilon=1), DataError, "values that are no numbers"),
        (lambda: ib.mean([1, [2]], bounds=(0, 1), epsilon=1), DataError, "values that are no numbers"),
        (lambda: ib.mean(pl.Series([[1], [2]]), bounds=(0, 1), epsilon=1), DataError, "must hold numbers"),
        (lambda: ib.mean(pd.Series(pd.to_datetime(["2020-01-01"])), bounds=(0, 1), epsilon=1), DataError, "numbers"),
        (
            lambda: ib.mean(X, bounds=(0, 1), epsilon=1, by="g", levels=[1]),
            DataError,
            "data must be a table with named columns",
        ),
        (lambda: ib.mean({"x": X, "g": X}, "x", bounds=(0, 1), epsilon=1, by="g"), TypeError, "by='g' .* needs levels"),
        (
            lambda: ib.mean(X, bounds=(0, 1), epsilon=1, levels=[1]),
            TypeError,
            "levels cannot be combined with a single number",
        ),
        (
            lambda: ib.mean(X, "x", bounds=(0, 1), epsilon=1, by=[3], levels=[1]),
            TypeError,
            "by must be a column or a list of columns",
        ),
        (
            lambda: ib.mean(X, bounds=(0, 1), epsilon=1, by="g", levels=[1], denominator=3),
            TypeError,
            "denominator cannot be combined with by=",
        ),
        (
            lambda: ib.mean(pl.Series("a", X), "b", bounds=(0, 1), epsilon=1),
            TypeError,
            "the data are a column named 'a'",
        ),
        (lambda: ib.mean({"x": X}, "^x$", bounds=(0, 1), epsilon=1), ValueError, "is a pattern to some engines"),
        (lambda: ib.mean(X, bounds=list(range(10)), epsilon=1), TypeError, "got a list$"),
        (lambda: ib.mean(X, bounds=(0, 1), missing=pl.Series(X), epsilon=1), TypeError, "got a Series$"),
        (lambda: ib.mean(X, bounds=(0, 1), epsilon=2 * 10**6), ValueError, "epsilon must be > 0 and at most 1e6"),
        (lambda: ib.mean(X, bounds=(0, 1), epsilon="1e-30"), ValueError, "no noise can be drawn for this epsilon"),
        (lambda: ib.mean(X, bounds=(0, 1), epsilon=1, integer=1), TypeError, "integer of 'x' must be True or False"),
        (lambda: ib.mean(X, bounds=(0, 1.5), epsilon=1, integer=True), ValueError, "needs whole bounds"),
        (lambda: ib.mean(X, bounds=(0, 2**50), epsilon=1, integer=True), ValueError, "needs whole bounds"),
        (lambda: ib.covariance({"x": X}, bounds={"x": (0, 1)}, integer="x", epsilon=1), TypeError, "a list of columns"),
        (lambda: ib.covariance({"x": X}, bounds={"x": (0, 1)}, integer=["y"], epsilon=1), ValueError, "the column 'y'"),
        (
            lambda: ib.covariance({"x": X}, bounds={"x": (0, 1)}, missing={"": 1}, epsilon=1),
            ValueError,
            "the column ''",
        ),
        (
            lambda: ib.covariance(pd.DataFrame({0: X}), bounds={0: (0, 1)}, epsilon=1),
            TypeError,
            "name of a column must be text",
        ),
        (
            lambda: ib.count({"x": X, "g": X}, "x", level=1, by="g", levels=[1], epsilon=1),
            TypeError,
            "column, level cannot be combined with by=",
        ),
        (
            lambda: ib.count(X, level=1, other=1, epsilon=1),
            TypeError,
            "other cannot be combined with a single number",
        ),
        (lambda: ib.count({"x": 3}, epsilon=1, neighbours="add-remove"), TypeError, "must be lists, arrays or Series"),
        (
            lambda: ib.count({"x": X, "y": [1]}, epsilon=1, neighbours="add-remove"),
            DataError,
            "differ in length",
        ),
        (lambda: ib.proportion([1, 2, 2], epsilon=1), DataError, "holds values other than 0 and 1; name the one to"),
        (lambda: ib.proportion(["yes", "no"], epsilon=1), DataError, "other than 0 and 1; name the one"),
        (lambda: ib.proportion(X, level=1.0, epsilon=1), TypeError, "level must be text, an integer or a boolean"),
        (lambda: ib.mean(X, bounds=(0, 1), epsilon=1, denominator=4), ValueError, "denominator= is only for"),
        (
            lambda: ib.mean(X, bounds=(0, 1), epsilon=1, neighbours="add-remove", bounding="truncated"),
            ValueError,
            "bounding='truncated' is not offered for a mean released jointly",
        ),
        (
            lambda: ib.sum(X, bounds=(-1, 1), epsilon=1, neighbours="add-remove", bounding="truncated"),
            ValueError,
            "nothing to truncate",
        ),
        (lambda: ib.count(X, epsilon=1), TypeError, "the number of rows is public; give a level"),
        (lambda: ib.count(X, "x", epsilon=1, neighbours="add-remove"), TypeError, "level must be given with a column"),
        (lambda: ib.proportion(X, epsilon=1, missing=0.5), TypeError, "missing must be True"),
        (lambda: ib.histogram(["a"], levels=[], epsilon=1), ValueError, "levels of 'x' must not be empty"),
        (lambda: ib.histogram(["a"], levels={"a"}, epsilon=1), TypeError, r"needs levels=\[...\]"),
        (lambda: ib.histogram(["a"], levels="abc", epsilon=1), TypeError, r"needs levels=\[...\]"),
        (lambda: ib.histogram(["a"], levels=["a", "a"], epsilon=1), ValueError, "levels of 'x' must be different"),
        (lambda: ib.histogram(["a"], levels=["a", 1], epsilon=1), TypeError, "must be all text"),
        (
            lambda: ib.histogram(["a"], levels=["a"], other="b", epsilon=1),
            ValueError,
            "of 'x' must be one of its levels",
        ),
        (
            lambda: ib.histogram(["a"], levels=["a"], missing="b", epsilon=1),
            ValueError,
            "of 'x' must be one of its levels",
        ),
        (
            lambda: ib.histogram([1], levels=[1, 2], other=True, epsilon=1),
            ValueError,
            "of 'x' must be one of its levels",
        ),
        (lambda: ib.histogram(["a"], levels=["a\0"], epsilon=1), ValueError, "must not hold the character NUL"),
        (lambda: ib.histogram([1], levels=[2**53], epsilon=1), ValueError, "must be below 2"),
        (lambda: ib.histogram(X, epsilon=1), TypeError, "needs either levels"),
        (lambda: ib.histogram(X, edges=[0, 1], repair="rescale", epsilon=1), ValueError, "repair must be one of"),
        (
            lambda: ib.histogram(X, edges=[0, 1], repair="project", epsilon=1, neighbours="add-remove"),
            ValueError,
            "needs a public number of rows",
        ),
        (lambda: ib.proportions(X, edges=[0, 1], repair="best", epsilon=1), ValueError, "repair must be one of"),
        (
            lambda: ib.proportions([1], levels=[1, 2], repair="tree", tree=((1, 2), 2), epsilon=1),
            ValueError,
            "the tree must hold every level exactly once",
        ),
        (
            lambda: ib.proportions([1], levels=[1, 2], tree=(1, 2), epsilon=1),
            TypeError,
            "tree cannot be combined with repair=",
        ),
        (lambda: ib.proportions(X, edges=[0, 1, 2], repair="all-but-one", epsilon=1), ValueError, "needs derived="),
        (
            lambda: ib.proportions([1, 2], levels=[1, 2], repair="all-but-one", derived=3, epsilon=1),
            ValueError,
            "needs derived=, one of the levels, got 3",
        ),
        (
            lambda: ib.proportions([1], levels=[1], repair="all-but-one", derived=1, epsilon=1),
            ValueError,
            "two or more levels",
        ),
        (
            lambda: ib.proportions([1], levels=[1, 2], derived=1, epsilon=1),
            TypeError,
            "derived cannot be combined with repair=",
        ),
        (
            lambda: ib.proportions([1], levels=[1, 2], repair="project", epsilon=1, neighbours="add-remove"),
            ValueError,
            "use repair='rescale', or denominator=",
        ),
        (lambda: ib.histogram(X, levels=[1], edges=[1, 2], epsilon=1), TypeError, "needs either levels"),
        (lambda: ib.histogram(X, edges=[1], epsilon=1), TypeError, "two numbers or more"),
        (lambda: ib.histogram(X, edges=[1, 3, 2], epsilon=1), ValueError, "edges of 'x' must increase"),
        (lambda: ib.histogram(X, edges=[1, 1, 2], epsilon=1), ValueError, "edges of 'x' must increase"),
        (lambda: ib.histogram(X, edges=[1, 2], missing=3, epsilon=1), ValueError, "must lie between the edges"),
        (lambda: ib.histogram(X, edges=[1, 2], other=1, epsilon=1), TypeError, "other= is only for levels"),
        (lambda: ib.crosstab({"x": X}, epsilon=1), TypeError, "crosstab needs levels"),
        (lambda: ib.crosstab({"x": X}, levels=["x"], epsilon=1), TypeError, "levels must be a dictionary"),
        (
            lambda: ib.crosstab({"x": X}, edges={"x": [1, 2]}, missing={"y": 1}, epsilon=1),
            ValueError,
            "missing has the column 'y'",
        ),
        (lambda: ib.covariance({"x": X}, bounds=(0, 1), epsilon=1), TypeError, "bounds must be a dictionary"),
        (lambda: ib.covariance({"x": X}, bounds={}, epsilon=1), TypeError, "bounds must be a dictionary"),
        (
            lambda: ib.covariance({"x": X}, bounds={"x": (0, 1)}, missing={"y": 1}, epsilon=1),
            ValueError,
            "missing has the column 'y'",
        ),
        (lambda: ib.covariance({"x": X}, bounds={"x": (0, 1)}, missing=1, epsilon=1), TypeError, "missing must be"),
        (
            lambda: ib.covariance({"x": X}, bounds={"x": (0, 1)}, epsilon=1, bounding="truncated"),
            ValueError,
            "needs method='split'",
        ),
        (lambda: ib.covariance({"x": X}, bounds={"x": (0, 1)}, epsilon=1, method="best"), ValueError, "method must be"),
        (
            lambda: ib.covariance({"x": X}, bounds={"x": (0, 1)}, epsilon=1, method="split", neighbours="add-remove"),
            ValueError,
            "method='joint' and bounding='bit' are needed",
        ),
        (lambda: ib.mean({"x": X, "y": [1]}, "x", bounds=(0, 1), epsilon=1, by="y", levels=[1]), DataError, "length"),
    ],
)
def test_bad_arguments_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize(
    ("sizes", "error", "words"),
    [
        ({"a": 2}, TypeError, "sizes must be a dictionary with the number of rows of every level"),
        ({"a": 2, "b": 3}, DataError, "must add up"),
        ({"a": 3, "b": 1}, DataError, "do not have the sizes given as sizes="),
        ({"a": 2, "b": 0.5}, TypeError, "must be an integer"),
    ],
)
def test_public_sizes_are_checked(sizes, error, words):
    table = {"x": X, "g": ["a", "a", "b", "b"]}
    with pytest.raises(error, match=words):
        ib.pooled_variance(table, "x", by="g", levels=["a", "b"], sizes=sizes, bounds=(0, 9), epsilon=1)


def test_public_sizes_belong_to_public_rows():
    table, sizes = {"x": X, "g": ["a", "a", "b", "b"]}, {"a": 2, "b": 2}
    with pytest.raises(ValueError, match="sizes= cannot be combined with"):
        ib.pooled_variance(
            table, "x", by="g", levels=["a", "b"], sizes=sizes, bounds=(0, 9), epsilon=1, neighbours="add-remove"
        )


def test_two_columns_of_one_name():
    table = pd.DataFrame([[1.0, 2.0]], columns=["x", "x"])
    with pytest.raises(DataError, match="two columns of the same name"):
        ib.mean(table, "x", bounds=(0, 1), epsilon=1)


ODD = {
    "int8": np.array([1, 2, 100], dtype=np.int8),
    "uint64": np.array([1, 2, 2**64 - 1], dtype=np.uint64),
    "float16": np.array([1, 2, 100], dtype=np.float16),
    "float32": pl.Series([1, 2, 100], dtype=pl.Float32),
    "long double": np.array([1, 2, 100], dtype=np.longdouble),
    "big-endian": np.array([1, 2, 100], dtype=">f8"),
    "decimals": [decimal.Decimal(1), decimal.Decimal(2), decimal.Decimal("1e400")],
    "arrow decimals": pa.array([decimal.Decimal(1), decimal.Decimal(2), decimal.Decimal(100)]),
    "1e300": [1, 2, 1e300],
    "infinite": [1.0, 2.0, float("inf")],
    "huge integers": [1, 2, 10**400],
    "nullable": pd.Series([1, 2, 100], dtype="Int64"),
    "arrow": pd.Series([1, 2, 100], dtype="int32[pyarrow]"),
    "chunked": pa.chunked_array([[1, 2], [100]]),
    "objects": pd.Series([1, 2.0, decimal.Decimal(100)], dtype=object),
    "masked": np.ma.masked_array([1, 2, 100]),
    "range": (1, 2, 100),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_types_give_the_right_number(name, monkeypatch):
    """All of them are 1, 2 and something beyond the bound of 3: the exact statistic, before any noise."""
    seen = []
    monkeypatch.setattr(draw.GridMechanism, "draw", lambda _, at, __: seen.append(at) or at)
    monkeypatch.setattr(draw, "polyhedral", lambda _, norm, __: [0] * norm.dimension)
    monkeypatch.setattr(draw, "entropy_source", lambda: None)
    assert ib.mean(ODD[name], bounds=(0, 3), epsilon=1).value == 2
    for method in ("moments", "direct"):
        assert ib.variance(ODD[name], bounds=(0, 3), epsilon=1, method=method).value == pytest.approx(1, abs=2e-4)
    assert seen


def test_booleans_are_zero_and_one(monkeypatch):
    monkeypatch.setattr(draw.GridMechanism, "draw", lambda _, at, __: at)
    monkeypatch.setattr(draw, "entropy_source", lambda: None)
    values = [True, False, None, True]
    for column in (values, pl.Series(values), pd.Series(values), pd.Series(values, dtype="boolean"), pa.array(values)):
        assert ib.mean(column, bounds=(0, 1), missing=0, epsilon=1).value == 0.5
        assert ib.proportion(column, missing=True, epsilon=1).value == 0.75
        assert ib.proportion(column, level=True, missing=False, epsilon=1).value == 0.5


def test_a_lazy_table_of_another_size():
    for rows in (2, 4, 9):
        with pytest.raises(DataError, match=f"rows={rows} was given, but the table has another number of rows"):
            ib.mean(pl.LazyFrame({"x": [1.0, 2.0, 3.0]}), "x", bounds=(0, 9), epsilon=1, rows=rows)


def test_the_remedy_names_the_right_keyword():
    table = {"x": [1.0, 2.0, 3.0], "g": ["a", None, "b"]}
    with pytest.raises(DataError, match="column 'g' has missing values; say what they count as with by_missing="):
        ib.mean(table, "x", bounds=(0, 9), by="g", levels=["a", "b"], epsilon=1)
    with pytest.raises(ValueError, match="by_missing of 'g' must be one of its levels"):
        ib.mean(table, "x", bounds=(0, 9), by="g", levels=["a", "b"], by_missing="c", epsilon=1)
