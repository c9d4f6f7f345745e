"""Reports: rows of values, a page that loads nothing, and the same in Markdown."""

import csv
import io
import re

import numpy as np
import polars as pl
import pytest

import inbounds as ib
from inbounds._text import markdown
from inbounds.plan.plan import Plan
from inbounds.plan.release import release
from inbounds.report.exports import export
from inbounds.report.html import to_html
from inbounds.report.markdown import to_markdown
from inbounds.report.rows import HEADS, collect_sections, to_csv
from inbounds.report.words import list_notes
from tests import health as example

NUMBERS = """
[data]
rows = 4
[budget]
epsilon = {epsilon}
ledger = "l"
limit = 9
[columns]
x = {{ {rule} }}
[[release]]
name = "r"
{release}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return release(Plan.load(example.write(tmp_path_factory.mktemp("made"))))


def test_values_in_flat_rows(made):
    rows = list(csv.DictReader(io.StringIO("".join(to_csv(collect_sections(made))))))
    assert tuple(rows[0]) == HEADS
    assert len(rows) == 1 + 1 + 1 + 1 + 16 + 4 + 8 + 4
    (age,) = [row for row in rows if row["release"] == "age"]
    assert float(age["value"]) == made["age"].value
    lower, upper = made["age"].interval(0.95)
    assert (float(age["lower"]), float(age["upper"])) == (lower, upper)
    cells = [row["cell"] for row in rows if row["release"] == "smoking by region"]
    assert cells[:2] == ["north, yes", "north, no"]
    # The second moment of the column shortens the interval of a mean.
    (pressure,) = [row for row in rows if row["release"] == "blood pressure"]
    worst = made["blood pressure"].interval(0.95, method="worst-case")
    assert float(pressure["upper"]) - float(pressure["lower"]) < 0.5 * worst.width


def test_the_report_says_it_all_and_loads_nothing(made):
    sections = collect_sections(made)
    page, text = to_html(made, sections), to_markdown(made, sections)
    assert len(page) < 200_000
    assert not re.search(r"src\s*=|href\s*=\s*.[^#]|https?://|url\(|@import|<script|style=", page)
    for word in ("smokers", "0.95".replace("0.", ""), made.entry.hash, "inbounds verify release.json", "substitute"):
        assert word in page
        assert word in text
    assert page.count("<section aria-labelledby=") == len(made)
    # Four numbers, a list of levels and one of groups; tables of two columns and matrices are tables.
    assert page.count('role="img" aria-labelledby=') == 4 + 2
    assert "P(R(x) ∈ Q) ≤ e^ε P(R(x') ∈ Q)" in text
    assert "= 1." in text


@pytest.mark.parametrize("public", [True, False])
def test_the_report_says_that_groups_are_not_protected(tmp_path, public):
    """Where their sizes were declared public, everything on the page is for records that keep their group."""
    text = NUMBERS.format(rule="bounds = [0, 9]", release="", epsilon="1").split("[[release]]")[0]
    text += 'g = { levels = ["a", "b"] }\n[[release]]\nname = "spread"\nstatistic = "pooled_variance"\n'
    text += 'columns = ["x"]\nby = "g"\n' + ("sizes = { a = 2, b = 2 }\n" if public else "")
    (tmp_path / "p.toml").write_text(text)
    made = release(tmp_path / "p.toml", {"x": [1, 2, 3, 4], "g": ["a", "a", "b", "b"]})
    for page in (to_html(made, collect_sections(made)), to_markdown(made, collect_sections(made))):
        said = ("declared public for spread", "but not the group that it is in", "1 substituted row, each in its")
        assert [words in page for words in said] == [public] * 3
        assert ("not for one that changes its group." in page) is public


def test_names_are_escaped(tmp_path):
    path = example.write(tmp_path)
    evil = (
        path.read_text().replace('name = "age"', 'name = "<script>alert(1)</script>"').replace("survey-2026", "a<b&c")
    )
    path.write_text(evil.replace('"very good"', '"<b>|good"'))
    table = example.survey().with_columns(pl.col("health").replace(["very good"], ["<b>|good"]))
    made = release(path, table)
    page = to_html(made, collect_sections(made))
    assert "<script" not in page
    assert "<b>" not in page
    assert "a&lt;b&amp;c" in page
    assert "\\<b\\>\\|good" in to_markdown(made, collect_sections(made))


def test_the_report_does_not_speak_of_a_ledger_that_is_not_there(tmp_path, made):
    text = NUMBERS.format(rule="bounds = [0, 9]", release='statistic = "mean"\ncolumns = ["x"]', epsilon="1").replace(
        'ledger = "l"\nlimit = 9\n', ""
    )
    (tmp_path / "p.toml").write_text(text)
    without = release(tmp_path / "p.toml", {"x": [1, 2, 3, 4]})
    words = "the ledger has those that were charged to it"
    assert words not in to_markdown(without, collect_sections(without))
    assert words in to_markdown(made, collect_sections(made))


def test_intervals_of_standard_deviations_are_judged_by_their_own_bounds(tmp_path):
    """Bounds in the record are those of the variance that was drawn."""
    text = NUMBERS.format(
        rule="bounds = [0, 100]",
        release='statistic = "standard_deviation"\ncolumns = ["x"]\nmethod = "direct"',
        epsilon="0.001",
    )
    (tmp_path / "p.toml").write_text(text)
    made = release(tmp_path / "p.toml", {"x": [1, 2, 3, 4]})
    assert made["r"].method == "root of a released variance"
    (section,) = collect_sections(made)
    lower, upper = (float(end) for end in (section.interval.lower, section.interval.upper))
    largest = (100**2 / 4 * 4 / 3) ** 0.5
    idle = "1 of 1 intervals cover all possible values" in to_markdown(made, [section])
    assert idle == (lower <= 0 and upper >= largest)


ROWS = {"x": [1.0, 2.0, 3.0, 4.0] * 100, "y": [0.0, 1.0] * 200, "g": ["a", "b"] * 200}
PRICES = {
    "a group may be empty": lambda: ib.mean(ROWS, "x", bounds=(0, 10), by="g", levels=["a", "b"], epsilon=1),
    "no record may be selected": lambda: ib.mean(ROWS, "x", bounds=(0, 10), where="x > 1", epsilon=1),
    "there may be hardly any records": lambda: ib.mean(ROWS, "x", bounds=(0, 10), neighbours="add-remove", epsilon=1),
    "a variance may be almost 0": lambda: ib.correlation(ROWS, bounds={"x": (0, 10), "y": (0, 1)}, epsilon=1),
    "where all records lie at one end of the bounds": lambda: ib.standard_deviation(
        ROWS, "x", bounds=(0, 10), epsilon=0.1
    ),
}


@pytest.mark.parametrize("why", PRICES)
def test_the_worst_bias_is_explained_by_what_is_true_of_the_number(why):
    (section,) = collect_sections(ib.Releases({"r": PRICES[why]()}))
    (note,) = [note for note in list_notes(section) if note.startswith("Price of staying in bounds")]
    assert [one for one in PRICES if one in note] == [why]


def test_a_bias_of_dates_and_times_has_a_unit():
    days = [f"2020-01-{day:02d}" for day in range(1, 29)] * 10
    cases = (("days", days, ("2019-01-01", "2021-12-31")), ("hours", [f"{day}T12:00:00" for day in days], None))
    for unit, values, bounds in cases:
        ends = bounds or ("2019-01-01T00:00:00", "2021-12-31T00:00:00")
        (section,) = collect_sections(ib.Releases({"r": ib.mean({"d": values}, "d", bounds=ends, epsilon=0.05)}))
        (note,) = [note for note in list_notes(section) if note.startswith("Price of staying in bounds")]
        assert re.search(r"[0-9] (days|hours) at worst", note), unit


def test_moments_list_each_pair_once_and_call_variances_so():
    made = ib.Releases({"m": ib.moments(ROWS, bounds={"x": (0, 10), "y": (0, 1)}, epsilon=5)})
    (section,) = collect_sections(made)
    names = ["mean, x", "mean, y", "variance, x", "covariance, x, y", "variance, y"]
    assert [row.cell for row in section.distinct_rows()] == names
    page, text = to_html(made, [section]), to_markdown(made, [section])
    assert [line.split(" | ")[0] for line in text.split("\n") if line.startswith("| ")][1:] == [f"| {x}" for x in names]
    assert "5 numbers: " in page
    # The page shows means above a triangle.
    assert page.count('<td class="value') == 2 * 3
    # All numbers are in values.csv, by their own labels.
    cells = [row["cell"] for row in csv.DictReader(io.StringIO("".join(to_csv([section]))))]
    assert cells == ["mean, x", "mean, y", "x, x", "x, y", "y, x", "y, y"]


def test_a_matrix_that_is_shown_whole_has_no_rest():
    rng = np.random.default_rng(2)
    table = {f"x{i}": rng.random(60) for i in range(16)}
    made = ib.Releases({"m": ib.moments(table, bounds=dict.fromkeys(table, (0, 1)), epsilon=5)})
    (section,) = collect_sections(made)
    # 272 numbers, of which 152 are not mirrored.
    assert (len(section.rows()), len(section.distinct_rows())) == (272, 152)
    text = to_markdown(made, [section])
    assert text.count("| covariance, ") == 120
    assert "more cells" not in text


def test_markdown_escapes_no_more_than_it_has_to():
    for text in ("5.6", "x >= 3", "-0.01 ± 0.12", "12:30", "a & b", "well!", "3 (2.7 to 3.4)"):
        assert markdown(text) == text
    made = ib.Releases({"r": ib.mean(ROWS, "x", bounds=(0, 10), where="x >= 1", epsilon=1)})
    text = to_markdown(made, collect_sections(made))
    assert "mean of x where x >= 1" in text
    assert not re.search(r"\\[.>]", text)


def test_tables_for_latex_are_called_by_the_name_of_their_release():
    made = ib.Releases({"visits_1": ib.mean(ROWS, "x", bounds=(0, 10), epsilon=1)})
    assert r"\caption{visits\_1: mean of x; 95\% interval for the population}" in export(made, "latex").decode()


def test_notes_say_what_was_clipped_as_it_was_stated():
    table = {"x": [2500.0, 3000.0, 9000.0] * 50, "y": ["a", "b", "c"] * 50}
    mean = ib.mean(table, "x", bounds=(2500, 6500), epsilon=1)
    share = ib.proportion(table, "y", level="a", epsilon=1, neighbours="add-remove")
    first, second = (" ".join(list_notes(*collect_sections(ib.Releases({"r": one})))) for one in (mean, share))
    assert "Records: x clipped to 2,500 to 6,500." in first
    assert "Records: other values of y counted as not a." in second
    assert "clipped" not in str(share.interval())
