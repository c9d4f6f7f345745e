"""Reports: rows of values, a page that loads nothing, and the same in Markdown."""

import csv
import io
import re

import polars as pl
import pytest

from inbounds.plan.plan import Plan
from inbounds.plan.release import release
from inbounds.report.html import to_html
from inbounds.report.markdown import to_markdown
from inbounds.report.rows import HEADS, collect_sections, to_csv
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
