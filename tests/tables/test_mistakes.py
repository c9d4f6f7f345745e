"""Mistakes that people make with files: one line that names the key or column and the way out, and nothing is spent."""

from datetime import date

import duckdb
import polars as pl
import pytest

import inbounds as ib
from inbounds.errors import InboundsError
from tests.tables.test_reading import workbook

GOOD = "age,city\n30,Bonn\n40,Köln\n"


def make(folder, source="t.csv", data=None, columns=None, ledger=True, rows=2):
    """A plan for a file of the folder, with a ledger that does not exist."""
    content = {
        "data": {"source": str(folder / source) if "://" not in source else source, "rows": rows} | (data or {}),
        "budget": {"epsilon": 1} | ({"ledger": str(folder / "ledger")} if ledger else {}),
        "columns": columns or {"age": {"bounds": [0, 100], "missing": 50}},
    }
    content["release"] = [{"name": "one", "statistic": "mean", "columns": [next(iter(content["columns"]))]}]
    return ib.Plan.of(content)


def latin(text):
    return text.encode("latin-1")


# Mistakes: content of a file (or None), keys of [data], and what the line must say.
MISTAKES = {
    # Names of columns
    "another case": ("Age,city\n30,Bonn\n40,Bonn\n", {}, ["no column 'age'", "it has 'Age'", "case and spaces"]),
    "spaces around a name": (" age ,city\n30,a\n40,b\n", {}, ["no column 'age'", "it has ' age '"]),
    "no such column": ("alter,city\n30,a\n40,b\n", {}, ["no column 'age'", "must be its header; skip_lines = ..."]),
    "two columns of one name": ("age,age\n1,2\n3,4\n", {}, ["two columns of the name 'age'", "rename one"]),
    "no header": ("30,Bonn\n40,Bonn\n", {}, ["no column 'age'", "first line of a CSV file must be its header"]),
    "a header that is not declared": ("age\n30\n", {"header": False}, ["no column 'age'"]),
    # Separators
    "semicolons": ("age;city\n30;Bonn\n40;Bonn\n", {}, ["one name with ';' in it", 'separator = ";"']),
    "semicolons and decimal commas": ("age;x\n3,5;1\n4,5;1\n", {}, ["one name with ';' in it", 'separator = ";"']),
    "tabs": ("age\tcity\n30\tBonn\n40\tBonn\n", {}, ["one name with '\\t' in it", 'separator = "\\t"']),
    "bars": ("age|city\n30|Bonn\n40|Bonn\n", {}, ["one name with '|' in it", 'separator = "|"']),
    "commas, declared otherwise": (GOOD, {"separator": ";"}, ["one name with ',' in it", 'separator = ","']),
    "a separator of two characters": (GOOD, {"separator": "||"}, ["data.separator: must be one character"]),
    "the word tab": (GOOD, {"separator": "tab"}, ["data.separator: must be one character", 'write "\\t" for a tab']),
    "no separator": (GOOD, {"separator": ""}, ["data.separator: must be one character"]),
    "a letter between fields": (GOOD, {"separator": "x"}, ["data.separator: must be a character of ASCII"]),
    "a number for a separator": (GOOD, {"separator": 1}, ["data.separator: must be text, got 1"]),
    "the separator as a quote": (GOOD, {"quote": ","}, ["data.quote: must be another character than separator"]),
    "a quote of two characters": (GOOD, {"quote": '""'}, ["data.quote: must be one character"]),
    # Numbers
    "a decimal comma between commas": (GOOD, {"decimal": ","}, ["data.decimal: must be another", 'separator = ";"']),
    "another decimal mark": (GOOD, {"decimal": "'"}, ["data.decimal: must be one of '.', ','"]),
    "thousands like decimals": (GOOD, {"thousands": "."}, ["data.thousands: must be another character than decimal"]),
    "thousands of another kind": (GOOD, {"thousands": "k"}, ["data.thousands: must be one of"]),
    # Encodings
    "UTF-16 that nobody declared": (GOOD.encode("utf-16"), {}, ["is in UTF-16", 'encoding = "utf-16"']),
    "UTF-16 without a mark": (GOOD.encode("utf-16-le"), {"encoding": "utf-16"}, ["no byte order mark", '"utf-16-le"']),
    "half a UTF-16": (GOOD.encode("utf-16")[:-1], {"encoding": "utf-16"}, ["odd number of bytes", "cut off"]),
    "latin-1 in the header": (latin("größe,age\n1,30\n1,40\n"), {}, ["not text in UTF-8", 'encoding = "latin-1"']),
    "an encoding that is none": (GOOD, {"encoding": "ansi"}, ["data.encoding: must be one of 'utf-8'"]),
    "an encoding that moves records": (GOOD, {"encoding": "utf-7"}, ["data.encoding: must be one of 'utf-8'"]),
    # Structure
    "an empty file": ("", {}, ["has no header: its first line must have the names of its columns"]),
    "an empty file without a header": ("", {"header": False}, ["has no records"]),
    "a header alone": ("age,city\n", {}, ["the table has no rows", "rows=2 was given"]),
    "a blank first line": ("\nage,city\n30,a\n", {}, ["has no header", "; skip_lines = ... under [data]"]),
    "a row with fewer fields": (
        "age,city\n30\n40,b\n",
        {},
        ["more or fewer fields than the header", "nothing was spent"],
    ),
    "a row with more fields": ("age,city\n30,a,b\n40,b\n", {}, ["more or fewer fields than the header"]),
    "a blank line at the end": (GOOD + "\n", {}, ["more or fewer fields", "a blank line is a row"]),
    "a quote that is never closed": (
        'age,city\n30,"a\n40,b\n',
        {},
        ["never closed", "Correct the file (inbounds check says where)"],
    ),
    "a quote within a field": ('age,city\n30,5" pipe\n40,b\n', {}, ["not CSV by RFC 4180"]),
    "text after a quote": ('age,city\n30,"a"b\n40,b\n', {}, ["something follows the quote"]),
    "line breaks of old": ("age,city\r30,a\r40,b\r", {}, ["carriage return has no line feed"]),
    "a lone carriage return": ("age,city\n30,a\rb\n40,b\n", {}, ["carriage return has no line feed"]),
    "more rows than stated": (GOOD + "50,c\n", {}, ["rows=2 was given", "another number of rows"]),
    "fewer rows than stated": ("age\n1\n", {}, ["rows=2 was given", "another number of rows"]),
    "lines to skip that are the table": (GOOD, {"skip_lines": 9}, ["has no header"]),
    "fewer lines than none": (GOOD, {"skip_lines": -1}, ["data.skip_lines: must be >= 0"]),
    "half a line": (GOOD, {"skip_lines": 1.5}, ["data.skip_lines: must be a whole number"]),
    "a header that is a number": (GOOD, {"header": 1}, ["data.header: must be true or false"]),
    "null values without a list": (GOOD, {"null_values": "NA"}, ["data.null_values: must be a list"]),
    "null values that are numbers": (GOOD, {"null_values": [9]}, ["data.null_values[0]: must be text"]),
    # Keys in the wrong place
    "a sheet of a CSV file": (GOOD, {"sheet": "one"}, ["sheet belongs to an Excel file", "leave sheet out"]),
    "a table of a CSV file": (GOOD, {"table": "t"}, ["table= is only for a DuckDB file"]),
    "an engine for a CSV file": (GOOD, {"engine": "duckdb"}, ["a CSV file is read by one reader", "Parquet"]),
    "a key that is misspelt": (GOOD, {"seperator": ";"}, ["data.seperator: is not a known key", "separator"]),
    "a key of another library": (
        GOOD,
        {"delimiter": ";"},
        ["data.delimiter: is not a known key; did you mean separator?"],
    ),
    "no file": (None, {}, ["there is no file"]),
}


# Mistakes in a plan for a good file: what is changed of it, table by table, and what the line must say.
_CITY = {"levels": ["Bonn", "Köln"], "missing": "Bonn"}
MISTAKES_IN_PLANS = {
    # Words
    "median misspelt": ({"release": {"statistic": "medain"}}, ["release.one.statistic", "did you mean median?"]),
    "where misspelt": ({"release": {"wehre": "age > 3"}}, ["release.one.wehre", "did you mean where?"]),
    "missing misspelt": ({"age": {"misssing": 3}}, ["columns.age.misssing", "did you mean missing?"]),
    "skip misspelt": ({"age": {"missing": "skipp"}}, ["missing of 'age' must be a number, or 'skip'"]),
    "another word for a relation": ({"data": {"neighbours": "substitution"}}, ["did you mean substitute?"]),
    "another word for a bounding": ({"release": {"bounding": "clamp"}}, ["must be 'bit' or 'truncated'"]),
    "a column that is text": ({"release": {"columns": "age"}}, ['write a list, as in columns = ["age"]']),
    # Numbers
    "rows of nobody": ({"data": {"rows": 0}}, ["data.rows: must be greater than or equal to 1"]),
    "no budget": ({"budget": {"epsilon": 0}}, ["budget.epsilon: must be greater than 0"]),
    "bounds from high to low": ({"age": {"bounds": [100, 0]}}, ["bounds of 'age' must satisfy lower < upper"]),
    "bounds without a width": ({"age": {"bounds": [5, 5]}}, ["bounds of 'age' must satisfy lower < upper"]),
    "one bound": ({"age": {"bounds": [100]}}, ["columns.age.bounds", "as in bounds = [0, 100]"]),
    "a share of nothing": ({"release": {"share": 0}}, ["release.one.share: must be greater than 0"]),
    "a quantile beyond all": ({"release": {"statistic": "quantile", "q": 1.5}}, ["q must lie between 0 and 1"]),
    # Dates
    "dates from late to early": (
        {"age": {"bounds": [date(2013, 12, 31), date(2013, 1, 1)], "missing": "skip"}},
        ["bounds of 'age' must satisfy lower < upper, got (2013-12-31, 2013-01-01)"],
    ),
    "a date and a number": ({"age": {"bounds": [date(2013, 1, 1), 5]}}, ["bounds of 'age'", "got a date"]),
    "a date in quotes": (
        {"age": {"bounds": ["2013-01-01", date(2013, 12, 31)]}},
        ["columns.age.bounds[0]", "write a date without quotes"],
    ),
    # Levels
    "a level in other letters": (
        {"city": _CITY, "release": {"statistic": "proportion", "columns": ["city"], "level": "bonn"}},
        ["release.one.level: must be one of"],
    ),
    "a level twice": (
        {"city": {"levels": ["a", "a"]}, "release": {"statistic": "histogram", "columns": ["city"]}},
        ["levels of 'city' must be different"],
    ),
    "a group that is not declared": ({"release": {"by": ["city"]}}, ["columns.city: no such column"]),
    # Expressions
    "a column of an expression": ({"release": {"where": "agee > 3"}}, ["the table has no column 'agee'"]),
    "its letters": ({"release": {"where": "Age > 3"}}, ["no column 'Age'; it has 'age'"]),
    "a function misspelt": ({"release": {"where": "yaer(age) > 3"}}, ["yaer is not a function", "did you mean year?"]),
    "half an expression": ({"release": {"where": "age >"}}, ["at character 6", "found the end"]),
    "a derived column that reads itself": ({"derive": {"age": "age + 1"}}, ["give it another name"]),
    "a derived number without bounds": (
        {"derive": {"half": "age / 2"}, "half": {}, "release": {"columns": ["half"]}},
        ["columns.half"],
    ),
}


@pytest.mark.parametrize("name", MISTAKES_IN_PLANS)
def test_a_mistake_in_a_plan_is_one_line_and_costs_nothing(tmp_path, name):
    changes, words = MISTAKES_IN_PLANS[name]
    (tmp_path / "t.csv").write_text(GOOD)
    content = {
        "data": {"source": str(tmp_path / "t.csv"), "rows": 2} | changes.get("data", {}),
        "budget": {"epsilon": 1, "ledger": str(tmp_path / "ledger")} | changes.get("budget", {}),
        "columns": {"age": {"bounds": [0, 100], "missing": 50} | changes.get("age", {})}
        | {column: changes[column] for column in ("city", "half") if column in changes},
        "release": [{"name": "one", "statistic": "mean", "columns": ["age"]} | changes.get("release", {})],
    }
    with pytest.raises(InboundsError) as caught:
        ib.release(ib.Plan.of(content | ({"derive": changes["derive"]} if "derive" in changes else {})))
    said = str(caught.value)
    assert "\n" not in said
    for word in words:
        assert word in said, said
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


# Mistakes with fields that only their values show, each in a file that has no rule for them.
STRAYS = {
    "percent signs": "age\n12%\n13%\n",
    "thousands separators": 'age\n"1,200"\n"1,300"\n',
    "units": "age\n12 kg\n13 kg\n",
    "dates for numbers": "age\n2013-01-01\n2013-01-02\n",
    "NA": "age\nNA\n3\n",
}


@pytest.mark.parametrize("name", STRAYS)
def test_fields_that_are_no_numbers(tmp_path, name):
    """The column and the way out are named, the charge is said to stand, and with a rule nothing is refused."""
    (tmp_path / "t.csv").write_text(STRAYS[name])
    with pytest.raises(
        InboundsError, match=r"column 'age' has missing values, or values that are no numbers"
    ) as caught:
        ib.release(make(tmp_path, columns={"age": {"bounds": [0, 100]}}))
    said = str(caught.value)
    assert "missing=" in said
    assert "the charge of 1 on 'ledger' stands" in said
    assert "12" not in said
    for path in tmp_path.glob("ledger*"):
        path.unlink()
    assert 0 <= ib.release(make(tmp_path))["one"].value <= 100


def test_a_promise_that_protects_nobody_is_kept_without_a_warning():
    """ε = 1000: numbers that would overflow are never formed. Warnings are errors in these tests."""
    assert 0 <= ib.mean([1.0, 2.0, 3.0], bounds=(0, 5), epsilon=1000).value <= 5
    with pytest.raises(InboundsError, match="the table has no rows"):
        ib.mean([], bounds=(0, 5), epsilon=1)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_and_costs_nothing(tmp_path, name):
    content, keys, words = MISTAKES[name]
    if content is not None:
        (tmp_path / "t.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises((ValueError, TypeError)) as caught:
        ib.release(make(tmp_path, data=keys))
    said = str(caught.value)
    assert "\n" not in said
    for word in words:
        assert word in said
    # Nothing of a record.
    assert "Bonn" not in said
    assert not (tmp_path / "ledger").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_good_file_is_none_of_them(tmp_path):
    """The control: without the mistake the charge is made."""
    (tmp_path / "t.csv").write_text(GOOD)
    assert 0 <= ib.release(make(tmp_path))["one"].value <= 100
    assert (tmp_path / "ledger").exists()


def make_places(folder):
    """Places of other kinds, each with a mistake: source, keys of [data], what the line must say."""
    pl.DataFrame({"age": [1.0, 2.0]}).write_parquet(folder / "t.parquet")
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.execute("create table people as select 1.0 as age; create table visits as select 2.0 as x")
    (folder / "notes.doc").write_text("x")
    (folder / "no.parquet").write_text("x")
    yield "t.duckdb", {}, ["a DuckDB file needs table=", "'people', 'visits'"]
    yield "t.duckdb", {"table": "persons"}, ["no table or view 'persons'; it has 'people', 'visits'"]
    yield "t.duckdb", {"table": "visits"}, ["no column 'age'"]
    yield "t.duckdb", {"table": "people", "separator": ";"}, ["separator belongs to a CSV file"]
    yield "t.parquet", {"encoding": "latin-1"}, ["encoding belongs to a CSV file", "leave encoding out"]
    yield "t.parquet", {"header": False}, ["header belongs to a CSV file"]
    yield "no.parquet", {}, ["is no Parquet file, whatever its name says"]
    (folder / "no.duckdb").write_text("age,city")
    yield "no.duckdb", {"table": "people"}, ["no.duckdb' is no DuckDB file, whatever its name says"]
    (folder / "cut.duckdb").write_bytes((folder / "t.duckdb").read_bytes()[:20])
    yield (
        "cut.duckdb",
        {"table": "people"},
        ["cut.duckdb' cannot be opened; it may be open in another"],
    )
    yield "notes.doc", {}, ["Parquet or CSV files of one kind, or one Excel file"]
    yield "none-*.csv", {}, ["no file matches the source's pattern"]
    yield "postgresql://u:secret@127.0.0.1:1/d", {}, ["a PostgreSQL server needs table="]
    yield "mysql://u:secret@h/d", {}, ["postgresql://"]


def test_places_of_other_kinds(tmp_path):
    for source, keys, words in list(make_places(tmp_path)):
        with pytest.raises((ValueError, TypeError)) as caught:
            ib.release(make(tmp_path, source, keys))
        said = str(caught.value)
        assert all(word in said for word in words), said
        assert "\n" not in said
        assert "secret" not in said
        assert not (tmp_path / "ledger").exists()


def test_mistakes_with_sheets(tmp_path):
    pytest.importorskip("python_calamine", reason="SKIPPED LOUDLY: no python-calamine; `make lock` has it")
    titled = [["A survey"], [], ["age"], [1], [2]]
    workbook(tmp_path, {"one": [["Age"], [1], [2]], "two": [["age"], [1], [2]], "titled": titled})
    for keys, words in (
        ({}, ["several sheets", "'one', 'two', 'titled'"]),
        ({"sheet": "Two"}, ["no sheet 'Two'", "'one', 'two', 'titled'"]),
        ({"sheet": "one"}, ["no column 'age'; it has 'Age'"]),
        ({"sheet": "titled"}, ["the first row of a sheet must be its header; skip_lines = ... under [data]"]),
        (
            {"sheet": "titled", "skip_lines": 1},
            ["the first row of the sheet must have the names", "; skip_lines = ..."],
        ),
        ({"sheet": "two", "separator": ";"}, ["separator belongs to a CSV file, and the source is an Excel file"]),
    ):
        with pytest.raises((InboundsError, ValueError)) as caught:
            ib.release(make(tmp_path, "t.xlsx", keys))
        assert all(word in str(caught.value) for word in words)
        assert not (tmp_path / "ledger").exists()
    assert ib.release(make(tmp_path, "t.xlsx", {"sheet": "two"}))["one"].rows == 2
