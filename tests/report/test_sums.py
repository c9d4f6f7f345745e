"""Every sum of ε on a page adds up, and a joint draw is paid once."""

import csv
import io
import re
from fractions import Fraction
from html import unescape

import numpy as np
import pytest

import inbounds as ib
from inbounds.report.exports import export
from inbounds.report.rows import collect_sections
from inbounds.report.words import list_certificates

ROWS = 2000
_draws = np.random.default_rng(0)
TABLE = {
    "a": _draws.normal(50, 10, ROWS).tolist(),
    "b": _draws.normal(50, 10, ROWS).tolist(),
    "g": _draws.choice(["x", "y"], ROWS).tolist(),
}
JOINT = [
    {"name": "mean a", "statistic": "mean", "columns": ["a"]},
    {"name": "mean b", "statistic": "mean", "columns": ["b"], "share": 2},
    {"name": "both", "statistic": "covariance", "columns": ["a", "b"]},
    {"name": "by g", "statistic": "mean", "columns": ["a"], "by": "g"},
    {"name": "x", "statistic": "count", "columns": ["g"], "level": "x"},
    {"name": "some", "statistic": "mean", "columns": ["a"], "where": "b > 50"},
    {"name": "middle", "statistic": "median", "columns": ["a"]},
]
ALONE = [{**item, "joint": False} for item in JOINT]
MANY = [{"name": f"share {i}", "statistic": "proportion", "columns": ["g"], "level": "x"} for i in range(20)]


def make(items, epsilon=1, **budget):
    plan = {
        "data": {"rows": ROWS},
        "budget": {"epsilon": epsilon, **budget},
        "columns": {"a": {"bounds": [0, 100]}, "b": {"bounds": [0, 100]}, "g": {"levels": ["x", "y"]}},
        "release": items,
    }
    return ib.release(ib.Plan.of(plan), TABLE)


@pytest.fixture(scope="module")
def made():
    releases = make(JOINT)
    assert len({release.group for release in releases.values()} - {None}) == 1
    return releases


_TERM = r"[0-9]+(?:/[0-9]+)?(?:\.[0-9]+)?(?: \([^()]*\))?"


def list_sums(text):
    """The parts and the total of every sum of ε in a text, and the sign between them."""
    text = unescape(text).replace("\\", "")
    found = re.findall(rf"ε = ({_TERM}(?: \+ {_TERM})+) ([=≈]) ([0-9./]+?)\.?(?=[\s<]|$)", text)
    return [
        ([Fraction(term.split(" (")[0]) for term in parts.split(" + ")], sign, Fraction(total))
        for parts, sign, total in found
    ]


@pytest.mark.parametrize("form", ["markdown", "html"])
@pytest.mark.parametrize(
    ("items", "budget"), [(JOINT, {}), (ALONE, {}), (MANY, {}), (MANY, {"joint": False}), (JOINT[:4], {})]
)
def test_every_sum_of_a_report_adds_up(items, budget, form):
    releases = make(items, **budget)
    sums = list_sums(export(releases, form).decode())
    draws = {release.group or name for name, release in releases.items()}
    assert len(sums) == (len(draws) > 1)
    for parts, sign, total in sums:
        assert (sum(parts), sign) == (total, "=")
        assert total == releases.epsilon == 1
        assert len(parts) == min(len(draws), 13)


def test_the_reader_of_sums_notices_a_false_one():
    ((parts, _, total),) = list_sums("x; ε = 10/21 + 10/21 (one draw of a and b) + 1/7 = 1.")
    assert sum(parts) == Fraction(23, 21) != total


def test_a_sum_of_fractions_that_are_too_long_is_said_to_be_rounded():
    items = [{**item, "share": 10**24 + i, "joint": False} for i, item in enumerate(JOINT)]
    ((parts, sign, total),) = list_sums(export(make(items), "markdown").decode())
    assert sign == "≈"
    assert abs(sum(parts) - total) < Fraction(1, 10**5)


@pytest.mark.parametrize("form", ["markdown", "html", "csv"])
def test_each_member_of_a_draw_says_that_it_is_paid_once(made, form):
    text = unescape(export(made, form).decode())
    members = sum(release.group is not None for release in made.values())
    assert members > 2
    numbers = sum(len(section.rows()) for section in collect_sections(made) if section.release.group is not None)
    assert text.count(f"paid once for the {members} releases of one draw") == (numbers if form == "csv" else members)


def test_epsilon_of_values_adds_up_over_draws(made):
    lines = list(csv.DictReader(io.StringIO(export(made, "csv").decode())))
    draws = {line["draw"]: Fraction(line["epsilon"]).limit_denominator(1000) for line in lines}
    assert sum(draws.values()) == made.epsilon
    for line in lines:
        assert draws[line["draw"]] == made[line["release"]].certificate.epsilon
    for frame in (made.to_pandas(), made.to_polars().to_pandas()):
        assert frame.groupby("draw")["epsilon"].first().sum() == pytest.approx(1, rel=1e-12)
        assert frame["draw"].tolist() == [int(line["draw"]) for line in lines]


def test_the_certificates_of_a_page_add_up(made):
    figures = list_certificates(collect_sections(made))
    assert sum(Fraction(columns[-1]) for _, columns in figures) == made.epsilon
    (shared,) = [name for name, _ in figures if "," in name]
    assert set(shared.split(", ")) == {name for name, release in made.items() if release.group is not None}


def test_a_notebook_and_a_terminal_say_it_too(made):
    member, alone = made["mean a"], made["middle"]
    assert member.group is not None
    for text in (str(member), repr(member), member._repr_html_()):
        assert "paid once for the" in " ".join(text.split())
    for text in (str(alone), repr(alone), alone._repr_html_()):
        assert "paid once" not in text


def test_a_name_with_signs_stays_escaped_in_the_sum():
    items = [{**item, "name": f"<b>*{item['name']}*"} for item in JOINT]
    releases = make(items)
    assert "<b>" not in export(releases, "html").decode()
    assert "(one draw of <b>" not in export(releases, "markdown").decode()
