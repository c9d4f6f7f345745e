"""Where rows of persons are left out, every place that shows a number says of which rows it is, from the rule alone."""

import csv
import io
import re

import pytest
from python_calamine import CalamineWorkbook

import inbounds as ib
from inbounds.privacy.guarantee import Pure
from inbounds.privacy.persons import Persons
from inbounds.privacy.terms import Unit
from inbounds.record.notes import describe_kept, explain_kept
from inbounds.record.possible import list_possible
from inbounds.report.exports import export
from inbounds.report.lines import list_lines
from inbounds.report.promise import state_promise
from inbounds.report.rows import collect_sections

# Person i has 1 + i % 5 rows.
TABLE = {
    "id": [f"p{i}" for i in range(600) for _ in range(1 + i % 5)],
    "visits": [float(j) for i in range(600) for j in range(1 + i % 5)],
}
# The same persons, none of whom has more than one row.
SINGLE = {"id": [f"p{i}" for i in range(600)], "visits": [1.0] * 600}


def plan(neighbours="add-remove", contributions=1, more=(), **data):
    return ib.Plan.of(
        {
            "data": {"person": "id", "neighbours": neighbours, "contributions": contributions, **data},
            "budget": {"epsilon": 10},
            "columns": {"visits": {"bounds": [0, 10]}, "n": {"edges": [1, 2, 3, 6]}},
            "release": [
                {"name": "in all", "statistic": "sum", "columns": ["visits"]},
                {"name": "each", "statistic": "mean", "columns": ["visits"]},
                *more,
            ],
        }
    )


def say(text):
    """A text without its line breaks and escapes."""
    return " ".join(re.sub(r"\\(.)", r"\1", text).split())


@pytest.fixture(scope="module")
def made():
    return ib.release(plan(), TABLE)


SAID = "At most 1 row of each person (column id, rows without a person are left out) was counted, chosen at random"
LOST = (
    "further rows are left out. So counts are too small for the table where a person has more rows, sums lack those "
    "rows, and means and all others are of the rows that were kept. Intervals and errors do not include what was left "
    "out"
)


def test_each_form_says_it_once(made):
    lines = list_lines(collect_sections(made))
    assert all(len(line.text) <= 80 for line in lines)
    summary = CalamineWorkbook.from_filelike(io.BytesIO(export(made, "xlsx"))).get_sheet_by_name("summary").to_python()
    texts = {form: export(made, form).decode() for form in ("html", "markdown", "latex")}
    texts |= {"terminal": "\n".join(line.text for line in lines), "xlsx": "\n".join(str(row[0]) for row in summary)}
    for form, text in texts.items():
        assert say(text).count(SAID) == 1, form
        assert say(text).count(LOST) == 1, form
        # It is not folded away, and the numbers are not said to be of the table or of its records.
        assert "this table" not in text, form
        assert "records is protected" not in text, form
    assert texts["html"].index("At most 1 row") < texts["html"].index("<details>")
    assert "number of persons is protected, at most 1 row of each person" in texts["html"]
    assert "95% interval for the rows that were kept, of the noise alone" in texts["markdown"]
    rows = list(csv.DictReader(io.StringIO(export(made, "csv").decode())))
    assert {row["note"] for row in rows} == {"of at most 1 row of each person"}


def test_each_release_says_it_in_python(made):
    one = made["in all"]
    assert f"{one.notes[0][:1].upper()}{one.notes[0][1:]}" == f"{SAID}; {LOST}"
    assert "at most 1 row of each person" in repr(one)
    assert "at most 1 row of each person" in one._repr_html_()
    assert "at most 1 row of each person" in str(one.interval(kind="noise"))
    assert SAID[1:] in say(str(one))
    assert ib.Release.from_json(one.to_json()).notes == one.notes


def test_it_does_not_depend_on_how_many_rows_are_left_out(made):
    none = ib.release(plan(), SINGLE)
    assert none["in all"].notes == made["in all"].notes
    pages = [re.sub(r"[0-9][0-9.,]*|reliable|rough", "#", export(one, "markdown").decode()) for one in (made, none)]
    said = [[line for line in page.split("\n") if "of each person" in line] for page in pages]
    assert said[0] == said[1] != []


def test_folded_records_and_other_rules_say_what_they_are():
    folded = {"name": "rows", "statistic": "histogram", "columns": ["n"], "fold": {"n": "count"}}
    made = ib.release(plan("substitute", 3, [folded], rows=600), TABLE)
    text = say(export(made, "markdown").decode())
    assert "Of in all, each: At most 3 rows of each person" in text
    assert "Of rows: All rows of each person" in text
    assert "were folded into one record: n the number of rows. Every number is of these records" in text
    assert "3 statistics of 600 persons" in text
    assert "600 records" not in text
    assert "histogram of n, of one record of each person" in text


def test_rules_in_words():
    units = {
        "at most 2 rows of each person in each of at most 3 groups": Unit.of(
            "substitute", 2, Persons("id", groups=("month", 3))
        ),
        "at most 4 rows of each person": Unit.of("substitute", 4, Persons("id", keep="last", order="day")),
        "one record of each person": Unit.of("substitute", 1, Persons.of("id", fold={"x": "max", "y": "any"})),
        "": Unit(contributions=4),
    }
    for said, unit in units.items():
        assert describe_kept(unit) == said
    grouped, ordered, folded, none = map(explain_kept, units.values())
    assert "in each of at most 3 groups of month were counted, chosen at random" in grouped
    assert "were counted, the last by day; further rows are left out" in ordered
    assert "folded into one record: x the largest, y whether any is" in folded
    assert none == ""
    own = explain_kept(Unit("substitute", 1, Persons("id", missing="own")))
    assert "each row without a person is a person of its own" in own


def test_the_promise_is_for_all_rows_of_a_person():
    unit = Unit("substitute", 3, Persons("id"))
    assert state_promise(unit, Pure(1), "it").startswith("If all rows of one person (column id) held anything else, ")
    said = state_promise(Unit("add-remove", 3), Pure(1), "it")
    assert said.startswith("If all records of one person (at most 3) were taken out or put in, ")


def test_a_count_of_rows_may_be_larger_than_the_number_of_persons():
    """Their number is public, and each may have several rows: 900 rows of 600 persons were shown as 600."""
    made = ib.count(TABLE, person="id", contributions=5, epsilon=9, rows=600)
    assert list_possible(made) == [(0, 3000)]
    (section,) = collect_sections(ib.Releases({"rows": made}))
    assert made.value > 1700
    assert section.write(section.rows()[0]).startswith("1,")
    assert list_possible(ib.count({"g": ["a"] * 9}, "g", level="a", epsilon=1)) == [(0, 9)]


@pytest.mark.parametrize("contributions", [1, 3])
def test_previews_say_it_with_the_remedy(contributions):
    alone = ib.preview(
        "sum", column="visits", bounds=(0, 10), epsilon=1, rows=600, person="id", contributions=contributions
    )
    kept = f"Counted: at most {contributions} row{'s' * (contributions > 1)} of each person; further rows are left"
    for seen in (alone, plan("substitute", contributions, rows=600).preview()):
        text = say(str(seen))
        assert text.count(kept) == 1
        assert "plausible_rows" in text
        assert "a larger contributions leaves out less" in text
    stated = plan("substitute", contributions, rows=600, plausible_rows={"1": 0.5, "2": 0.5}).preview()
    assert kept not in say(str(stated))
    assert "left out" not in say(str(ib.preview("mean", bounds=(0, 9), epsilon=1, rows=600)))
