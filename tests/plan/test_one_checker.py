"""One checker for a plan: what its preview refuses, its release refuses too, and spends nothing."""

import copy
import itertools
import warnings
from datetime import date
from decimal import Decimal

import numpy as np
import pytest

import inbounds as ib
from inbounds import service
from inbounds.errors import BudgetRefused, DataError, PlanError
from inbounds.plan.plan import ASSUMED_ROWS
from tests.app.test_cli import called

ROWS = 60
_draws = np.random.default_rng(1)
TABLE = {
    "id": np.repeat(np.arange(30), 2).tolist(),
    "age": _draws.integers(18, 90, ROWS).tolist(),
    "income": _draws.integers(0, 100, ROWS).tolist(),
    "cut": _draws.integers(0, 100, ROWS).tolist(),
    "sex": ["f", "m"] * 30,
    "sick": _draws.integers(0, 2, ROWS).tolist(),
}
COLUMNS = {
    "age": {"bounds": [18, 90], "missing": 50},
    "income": {"bounds": [0, 100]},
    "sex": {"levels": ["f", "m"], "missing": "f", "other": "m"},
    "sick": {"levels": [0, 1]},
    "cut": {"edges": [0, 50, 100]},
}
STATISTICS = [
    {"statistic": "mean", "columns": ["age"]},
    {"statistic": "mean", "columns": ["age"], "by": "sex"},
    {"statistic": "mean", "columns": ["age"], "where": "sick = 1"},
    {"statistic": "sum", "columns": ["age"]},
    {"statistic": "proportion", "columns": ["sick"]},
    {"statistic": "count", "columns": ["sick"], "level": 1},
    {"statistic": "variance", "columns": ["age"]},
    {"statistic": "standard_deviation", "columns": ["age"]},
    {"statistic": "covariance", "columns": ["age", "income"]},
    {"statistic": "correlation", "columns": ["age", "income"]},
    {"statistic": "kendall", "columns": ["age", "income"]},
    {"statistic": "histogram", "columns": ["sex"]},
    {"statistic": "proportions", "columns": ["sex"]},
    {"statistic": "crosstab", "columns": ["sex", "sick"]},
    {"statistic": "quantile", "columns": ["age"], "q": [Decimal("0.25"), Decimal("0.5")]},
    {"statistic": "median", "columns": ["age"]},
    {"statistic": "regression", "columns": ["age", "income"]},
    {"statistic": "pooled_variance", "columns": ["age"], "by": "sex"},
]
# Right for some statistics, wrong for most: each has to be read in the same way by both.
GUESSES = [
    *(
        "x",
        True,
        -1,
        30,
        10**400,
        Decimal("0.5"),
        Decimal("1e400"),
        Decimal("NaN"),
        Decimal("Infinity"),
        date(2020, 1, 1),
    ),
    *([], [1], [5, 1], [30, 60], [1, 2, 3], ["a", "b"], [Decimal("0.4"), Decimal("0.6")]),
    *([[1, 2], [3]], [[1, 2], [2, 1]], [[1, Decimal("0.5")], [Decimal("0.5"), 1]]),
    *({}, {"sd": -1}, {"sd": [5, 1]}, {"sd": "x"}, {"sd": 5}, {"mean": 10**9}, {"mean": [30, 40]}, {"size": 0}),
    *(
        {"size": [10, 50]},
        {"nope": 1},
        {"age": {"sd": 5}},
        {"age": {"nope": 1}},
        {"nope": {"sd": 1}},
        {"sd": {"sd": 1}},
    ),
]
PLANS = {
    "substitute": {
        "data": {"rows": ROWS, "contributions": 1, "time_zone": "UTC"},
        "budget": {"epsilon": 1, "dataset": "d", "joint": True, "limit": 5},
        "columns": COLUMNS,
        "release": [
            {
                "name": "m",
                "statistic": "mean",
                "columns": ["age"],
                "share": 2,
                "plausible": {"sd": [5, 20], "mean": [30, 60]},
                "interval": "noise",
                "confidence": Decimal("0.9"),
                "simultaneous": False,
                "joint": True,
                "bounding": "bit",
            },
            {"name": "c", "statistic": "count", "columns": ["sick"], "level": 1},
            {"name": "r", "statistic": "correlation", "columns": ["age", "income"], "method": "joint"},
            {"name": "q", "statistic": "quantile", "columns": ["age"], "q": [Decimal("0.25"), Decimal("0.5")]},
        ],
    },
    "add-remove": {
        "data": {"neighbours": "add-remove", "expected_rows": ROWS},
        "budget": {"epsilon": 1},
        "derive": {"old": "age > 60"},
        "columns": {**COLUMNS, "old": {"levels": [False, True]}},
        "release": [
            {"name": "m", "statistic": "mean", "columns": ["age"], "where": "sick = 1"},
            {"name": "h", "statistic": "histogram", "columns": ["cut"]},
            {"name": "s", "statistic": "standard_deviation", "columns": ["age"], "plausible": 5},
            {"name": "o", "statistic": "proportion", "columns": ["old"], "denominator": ROWS},
        ],
    },
    "persons": {
        "data": {
            "rows": 30,
            "person": "id",
            "contributions": 2,
            "keep": "first",
            "order": "age",
            "groups": {"sex": 1},
            "person_missing": "skip",
            "plausible_rows": {"1": Decimal("0.5"), "4": Decimal("0.5")},
            "plausible_shift": [0, Decimal("0.2")],
        },
        "budget": {"epsilon": 1},
        "columns": COLUMNS,
        "release": [
            {"name": "m", "statistic": "mean", "columns": ["age"], "by": "sex", "plausible": {"sd": 10}},
            {"name": "c", "statistic": "crosstab", "columns": ["sick", "sex"]},
        ],
    },
}
_GONE = object()
# Values that are malformed for most keys of a plan.
VALUES = [
    *(_GONE, "x", "", True, False, 0, 1, 2, -1, 10**6, 10**400, Decimal("1e400"), Decimal("1e-9"), Decimal("0.5")),
    *(Decimal("NaN"), Decimal("Infinity"), [], {}, [1], [5, 1], ["x"], [["x"]], {"x": 1}, {"sd": "x"}, [[1, 2], [3]]),
    *(["age", "sex"], "age", "nope", {"age": "sum"}, {"sex": 99}, date(2020, 1, 1), "é" * 300, "a\nb", "((", None),
    *(["f", "m"], [0, 50], "add-remove", "truncated", "population", "direct", "Europe/Nope"),
]


def list_places(content, place=()):
    """The places of all values of a plan, its tables and lists included."""
    if place:
        yield place
    keys = content if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ()
    for key in keys:
        yield from list_places(content[key], (*place, key))


def mutate(content, place, value):
    """The plan with another value at a place, or with none."""
    mutated = copy.deepcopy(content)
    part = mutated
    for key in place[:-1]:
        part = part[key]
    if value is _GONE:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    return mutated


def refuse(action):
    """The error that an action raises, or None."""
    try:
        action()
    except Exception as error:
        return error
    return None


def compare(content, folder):
    """Whether a plan is refused; that preview and release agree on it, and that a refusal spends nothing."""
    ledger = folder / "ledger"
    preview = refuse(lambda: str(ib.Plan.of(content).preview()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = refuse(lambda: ib.release(ib.Plan.of(content), TABLE, ledger=ledger))
    spent = ledger.exists()
    for file in folder.iterdir():
        file.unlink()
    if preview is not None:
        assert isinstance(preview, PlanError), (content, preview)
        assert str(release) == str(preview), content
        assert not spent, content
        return True
    # A release may still be refused for its table or by the limit of its ledger.
    assert release is None or isinstance(release, DataError | BudgetRefused), (content, release)
    return False


@pytest.mark.claim("one-checker")
def test_a_release_refuses_every_plausible_truth_that_its_preview_refuses(tmp_path):
    refused = []
    for item, guess in itertools.product(STATISTICS, GUESSES):
        release = {"name": "a", **item, "plausible": guess}
        content = {"data": {"rows": ROWS}, "budget": {"epsilon": 1}, "columns": COLUMNS, "release": [release]}
        refused.append(compare(content, tmp_path))
    # Both happen often: a checker that refuses nothing or everything is noticed.
    assert 100 < sum(refused) < len(refused) - 50


@pytest.mark.parametrize("which", PLANS)
def test_a_release_refuses_every_mutated_plan_that_its_preview_refuses(which, tmp_path):
    assert not compare(PLANS[which], tmp_path)
    pick = np.random.default_rng(2)
    refused = [
        compare(mutate(PLANS[which], place, VALUES[value]), tmp_path)
        for place in list_places(PLANS[which])
        for value in pick.permutation(len(VALUES))[:6]
    ]
    assert 100 < sum(refused) < len(refused) - 10


@pytest.mark.parametrize("epsilon", ["1e-30", "1e-12", "1e-9", "1e-6", "3e5", "1e6"])
def test_a_preview_shows_what_can_be_drawn_where_half_or_twice_the_budget_cannot(epsilon, tmp_path):
    for content in PLANS.values():
        compare(mutate(mutate(content, ("budget", "epsilon"), Decimal(epsilon)), ("budget", "limit"), 10**7), tmp_path)


def test_a_budget_at_which_nothing_can_be_drawn_has_no_figure():
    release = [{"name": "a", **STATISTICS[0]}]
    seen = ib.Plan.of(
        {"data": {"rows": 9}, "budget": {"epsilon": 10**6}, "columns": COLUMNS, "release": release}
    ).preview()
    figures = seen.to_dict()["releases"][0]["rmse_at_multiples"]
    assert figures["0.5"] > 0
    assert figures["2.0"] is figures["4.0"] is None
    assert seen.rows()[0][5] == "-"


WRONG = """
[data]
source = "t.csv"
rows = 4
[budget]
epsilon = 1
ledger = "l"
[columns]
age = { bounds = [0, 100] }
[[release]]
name = "a"
statistic = "mean"
columns = ["age"]
plausible = { sd = -1 }
"""


def test_every_command_and_the_studio_name_the_same_mistake_and_nothing_is_spent(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(WRONG, "utf-8")
    (tmp_path / "t.csv").write_text("age\n1\n2\n3\n4\n", "utf-8")
    mistake = "release.a.plausible: sd of plausible must lie within the bounds, 0 to 70.7107, got -1 to -1"
    for arguments in (["preview"], ["release", "--out", "r"], ["release", "--out", "r", "--dry-run"], ["check"]):
        code, _, err = called(monkeypatch, capsys, arguments[0], "plan.toml", *arguments[1:])
        assert (code, mistake in " ".join(err.split())) == (2, True)
    with pytest.raises(PlanError, match=r"release\.a\.plausible"):
        ib.check(tmp_path / "plan.toml")
    (seen,) = service.read_plan(tmp_path / "plan.toml").mistakes
    assert (seen["text"], seen["line"]) == (mistake, 14)
    assert not (tmp_path / "l").exists()
    assert not (tmp_path / "r").exists()


def test_a_changed_copy_of_a_plan_is_refused_every_time():
    content = mutate(PLANS["substitute"], ("release", 0, "plausible"), {"mean": [30, 60]})
    plan = ib.Plan.of(content)
    item = plan.release[0].model_copy(update={"plausible": {"sd": "x"}})
    changed = plan.model_copy(update={"release": [item, *plan.release[1:]]})
    for _ in range(2):
        with pytest.raises(PlanError, match=r"release\.m\.plausible"):
            changed.drafts()


def test_a_preview_assumes_a_thousand_rows_where_nobody_says_how_many_and_says_so():
    unknown = ib.Plan.of(mutate(PLANS["add-remove"], ("data", "expected_rows"), _GONE))
    stated = ib.Plan.of(mutate(PLANS["add-remove"], ("data", "expected_rows"), ASSUMED_ROWS))
    assert unknown.preview().to_dict() == stated.preview().to_dict()
    (note,) = [note for note in unknown.preview().notes if note not in stated.preview().notes]
    assert "1,000" in note
    assert "expected_rows = ..." in note
    assert unknown.digest == stated.digest
