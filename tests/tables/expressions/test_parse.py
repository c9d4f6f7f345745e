"""What is read, what is refused and in which words, and what kinds columns have."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from inbounds.errors import ExpressionError
from inbounds.tables.expressions import check_columns, parse
from tests.tables.expressions import fuzz, samples
from tests.tables.expressions.reference import evaluate

DAY = 1370044800.0  # 2013-06-01, a Saturday
ROW = {"x": 3.0, "y": -2.0, "z": None, "t": "JFK", "u": None, "b": True, "c": None, "d": DAY, "my col": "x"}


@pytest.mark.claim("expressions")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("t = 'JFK' and x > 1", True),
        ("x between 3 and 65", True),
        ("x not between 3 and z", None),
        ("x between 4 and z", False),
        ("t in ('LGA', 'JFK')", True),
        ("t NOT IN ('LGA')", True),
        ("u in ('LGA')", None),
        ("u is null", True),
        ("x Is Not Null", True),
        ("not b", False),
        ("not c", None),
        ("c or b", True),
        ("c and b", None),
        ("c and not b", False),
        ("b = true", True),
        ("b <> true", False),
        ("c = false", None),
        ("(x > 1) = false", False),
        ("(x + y) / 2 >= 0.5", True),
        ("abs(y) < 3", True),
        ("x / 0 is null", True),
        ("x / (y + 2) > 0", None),
        ("1e-60 * (x / 1e59) * 1e59 > 0", True),
        ("x * 1e59 * 1e59 > 1e59 * 1e59", False),
        ("-x - -y", -5.0),
        ("x - 1 - 1", 1.0),
        ("x - (1 - 1)", 3.0),
        ("12 / x / 2", 2.0),
        ("2 + 3 * x", 11.0),
        ("-x * y", 6.0),
        ("not x = 3 or b", True),
        ("x = 3 or x = 4 and x = 5", True),
        ("year(d) = 2013 and month(d) in (6, 7, 8)", True),
        ("weekday(d)", 6.0),
        ("day(d) + hour(d)", 1.0),
        ("d >= date '2013-06-01'", True),
        ("d < timestamp '2013-06-01 00:00:00.5'", True),
        ("d = timestamp '2013-06-01T00:00'", True),
        ("\"my col\" <> 'y'", True),
        ("x != 3", False),
        (".5 + x", 3.5),
        ("x > 5 or true", True),
    ],
)
def test_values(text, value):
    """By the reference, which the compiled form is compared with elsewhere."""
    found = evaluate(parse(text), ROW)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("  A\n>\t1.50 ", "A > 1.5"),
        ("NOT(a)AND(b)", "not a and b"),
        ("(a or b) and c", "(a or b) and c"),
        ("a or (b and c)", "a or b and c"),
        ("((x)) + (y * 2) > 0", "x + y * 2 > 0"),
        ("x - (y - 1) > 0", "x - (y - 1) > 0"),
        ("-(-x) > - 3", "-(-x) > -3"),
        ("x != 1e3", "x <> 1000"),
        ("x = 100000000000000000000", "x = 1e+20"),
        ("not (x > 1)", "not x > 1"),
        ("(x > 1) = true", "(x > 1) = true"),
        ("\"a\" = 'it''s'", "a = 'it''s'"),
        ('"A b" is null', '"A b" is null'),
        ('"In" is null', '"In" is null'),
        ('"q""q" is null', '"q""q" is null'),
        ("date >= DATE '2013-06-01'", "date >= date '2013-06-01'"),
        ("größe > 1", "größe > 1"),
        ("t > timestamp '2013-06-01T12:30:00.500'", "t > timestamp '2013-06-01 12:30:00.5'"),
    ],
)
def test_every_expression_has_one_spelling(text, spelling):
    made = parse(text)
    assert made.text == spelling == str(made)
    assert parse(made.text) == made
    assert hash(parse(made.text)) == hash(made)


def test_random_expressions_are_read_again_as_they_were():
    for made in samples.make_expressions(random.Random(8), 500):
        assert parse(made.text, made.columns) == made


@pytest.mark.parametrize(
    ("text", "declared", "kinds"),
    [
        ("a = b", {}, {"a": "number", "b": "number"}),
        ("a = b", {"b": "text"}, {"a": "text", "b": "text"}),
        ("a = b and b = 'x'", {"a": "number"}, {"a": "text", "b": "text"}),
        ("a = b and b = c and year(c) > 1", {}, {"a": "time", "b": "time", "c": "time"}),
        ("a is null", {}, {"a": "any"}),
        ("a is null", {"a": "time"}, {"a": "time"}),
        ("a is null or a > 1", {}, {"a": "number"}),
        ("not a and b <> false", {}, {"a": "boolean", "b": "boolean"}),
        ("z + y > x", {}, {"z": "number", "y": "number", "x": "number"}),
        ("a", {}, {"a": "number"}),
        ("a", {"a": "boolean"}, {"a": "boolean"}),
        ("a in (date '2013-06-01')", {}, {"a": "time"}),
    ],
)
def test_kinds_of_columns(text, declared, kinds):
    made = parse(text, declared)
    assert list(made.columns.items()) == list(kinds.items())
    assert parse(made.text, made.columns) == made


def test_a_column_alone_is_a_condition_where_one_is_needed():
    assert parse("a", condition=True).columns == {"a": "boolean"}
    assert parse("a + 1").kind == "number"
    with pytest.raises(ExpressionError, match="expected a condition here, found a number"):
        parse("a + 1", condition=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at character 1: an expression must not be empty"),
        ("a == 1", "at character 3: == is not part of an expression; write = to compare"),
        ("a > 1 && b", "at character 7: && is not part of an expression; write and"),
        ("a | b", "| is not part of an expression; write or"),
        ("!a", "write not"),
        ("a -- b", "there are no comments"),
        ("a /* b */", "there are no comments"),
        ("a; drop table t", "an expression has no semicolon"),
        ("a.b > 1", "a name with a dot is written in double quotes"),
        ("a = 'x", "text must end with '; a ' within it is written twice"),
        ("a = ‘x’", "text is written in single quotes"),
        ("a > 1_000", "a number must be written as in 15, 0.5 or 1e6"),
        ("a > 1.", "digits after its point"),
        ("a > 1e", "digits in its exponent"),
        ("a > 1e60", "a number must be below 1e60; use other units"),
        ("a > " + "9" * 400, "a number must be below 1e60"),
        ("a = null", "at character 5: nothing is equal to null, not even null; write a is null"),
        ("a <> null", "write a is not null"),
        ("a in (1, null)", "null is equal to nothing"),
        ("a is true", "is goes with null alone; write = true"),
        ("null", "null stands in is null"),
        ("a < b < c", "comparisons are joined by and, as in a < b and b < c"),
        ("a like 'x'", "compare whole texts by =, <> or in"),
        ("yaer(a) = 1", "at character 1: yaer is not a function of expressions; did you mean year?"),
        ("open('x') = 1", "open is not a function of expressions; there are abs, year"),
        ("cast(a as int) = 1", "cast is not a function"),
        ("abs(a, b) > 1", "expected ) after the one argument of abs, found ,"),
        ("(a > 1", "expected ) to close the parenthesis, found the end"),
        ("a > 1)", "expected an operator or the end, found )"),
        ("a in (b)", "a list holds numbers, texts in single quotes or dates"),
        ('a in ("north")', "text is written in single quotes; write 'north'"),
        ("a in ()", "expected a column, a number, a text or (, found )"),
        ("a in (1, 'x')", "a number cannot be compared with text"),
        ("a in (true)", "true and false do not stand in a list"),
        ("a > 'x'", "> is not for text, whose order differs from engine to engine; list them by in"),
        ("a > '2013-06-01'", "for a date write date '2013-06-01'"),
        ("a = b and a = 'x' and b < a", "< is not for text"),
        ("a between 'x' and 'y'", "between is not for text"),
        ("a < true", "< is not for conditions"),
        ("(a > 1) = (b > 1)", "a condition is compared with true or false alone"),
        ("(a > 1) is null", "is null takes a column or a number"),
        ("a > 1 and a = 'x'", "column 'a' is used as a number and as text; use it as one"),
        ("year(a) = 1 and a = '2013-06-01'", "used as a time and as text; use it as one; a date is written date"),
        ("a = b and a = 1 and b = 'x'", "is used as a number and as text"),
        ("a + (b > 1) > 2", "expected a number here, found a condition"),
        ("a and 1", "expected a condition here, found a number"),
        ("year(a + 1) = 1", "year takes a column with dates or times"),
        ("year(date '2013-06-01') = a", "year takes a column with dates or times"),
        ("a > date '2013-02-29'", "a date must be one of the years 1 to 9999"),
        ("a > date '2013-6-1'", "as in date '2013-06-01'"),
        ("a > timestamp '2013-06-01 12:30:00+02:00'", "without a zone"),
        ("a > timestamp '2013-06-01 24:00:00'", "a timestamp must be"),
        ("a > time '12:30'", "write timestamp"),
        ("1 < 2", "an expression must use a column"),
        ("true", "an expression must use a column"),
        ("'x'", "must be a condition or a number, and this is text"),
        ("a = ''x", "expected an operator or the end, found x"),
        ("a = 'x\x00'", "must not hold control characters"),
        ("a = '\x1b[2J'", "must not hold control characters"),
        ("a = '\ud800'", "must not hold control characters"),
        ("a = 'x\ny'", "must not hold control characters such as tabs"),
        ('"" = 1', "a name must not be empty"),
        ("a" * 4001, "at most 4000 characters; it has 4001"),
        ("a = '" + "x" * 1001 + "'", "text must have at most 1000 characters"),
        ("(" * 51 + "a" + ")" * 51, "nested at most 50 deep"),
        ("not " * 51 + "a", "nested at most 50 deep"),
        ("+".join(["a"] * 201), "at most 200 parts"),
        ("*".join("a" * 30), "too many products and quotients"),
        ("/".join(["(a/a)"] * 9), "too many products and quotients"),
        ("a + ", "expected a column, a number, a text or (, found the end"),
        ("a not b", "expected in or between after not"),
        ("+a > 1", "found +"),
        ("a ** 2", "there are no powers; write x * x"),
        ("__import__('os')", "__import__ is not a function"),
        ("lambda: 1", ": is not part of an expression"),
    ],
)
def test_mistakes_are_told_in_one_line(text, message):
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    told = str(caught.value)
    assert message in told
    assert told.isprintable()
    assert len(told) < 300


def test_a_time_that_is_compared_with_text():
    with pytest.raises(ExpressionError, match="column 'a' holds times; write date '2013-06-01'"):
        parse("a = '2013-06-01'", {"a": "time"})
    with pytest.raises(ExpressionError, match="must be a condition or a number, and this is text"):
        parse("a", {"a": "text"})


def test_an_expression_must_be_text():
    with pytest.raises(TypeError, match="an expression must be text, got int"):
        parse(1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "Dep_Delay > 1",
            "at character 1: there is no column Dep_Delay; names are case-sensitive: did you mean dep_delay",
        ),
        ("dep_dely > 1", "did you mean dep_delay?"),
        ('origin = "JFK"', "at character 10: there is no column JFK; for a text write 'JFK' in single quotes"),
        ('origin = "orgin"', "did you mean origin? For a text write 'orgin' in single quotes"),
        ("my_col > 1", 'did you mean "my col"?'),
    ],
)
def test_columns_that_are_not_there(text, message):
    with pytest.raises(ExpressionError) as caught:
        check_columns(parse(text), ["origin", "dep_delay", "my col"])
    assert message in str(caught.value)


def test_columns_that_are_there():
    assert check_columns(parse("a > 1 and \"b c\" = 'x'"), ["a", "b c"]) is None


def test_hostile_texts():
    """A share of what `python -m tests.tables.expressions.fuzz` tries, in a process that is listened to."""
    command = [sys.executable, "-m", "tests.tables.expressions.fuzz", "1500", "7"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[3])
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "1500 texts" in done.stdout
    assert "0 faults, 0 side effects" in done.stdout


def test_the_fuzz_sees_what_is_wrong(monkeypatch):
    """The control: an error of another kind, a value that differs, and a file that is opened."""
    texts = ["x > 1", "x >"]
    assert fuzz.attack(texts)[1] == []
    monkeypatch.setattr(fuzz, "evaluate", lambda *_: "something else")
    assert "x > 1" in fuzz.attack(texts)[1][0]
    monkeypatch.undo()
    monkeypatch.setattr(fuzz, "parse", lambda *_: 1 / 0)
    assert len(fuzz.attack(texts)[1]) == 2
    events = fuzz.listen()
    Path(__file__).read_text("utf-8")
    assert any(event.startswith("open") for event in events)
    fuzz.stop_listening()
