"""Plans: what they say, and every mistake in them, named all at once."""

import json
import re
from decimal import Decimal
from fractions import Fraction

import pytest

import inbounds as ib
from inbounds.errors import BudgetRefused
from inbounds.ledger import Pure
from inbounds.plan.plan import Plan, PlanError
from inbounds.record.charges import total
from inbounds.record.spelling import describe, parse_statistic
from inbounds.report.rows import collect_sections
from tests import health as example

GOOD = example.PLAN


def written(tmp_path, text=GOOD):
    path = tmp_path / "plan.toml"
    path.write_text(text, "utf-8")
    return path


def problems(tmp_path, *changes):
    text = GOOD
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    with pytest.raises(PlanError) as caught:
        Plan.load(written(tmp_path, text))
    assert "\n" not in caught.value.problems[0]
    return list(caught.value.problems)


def test_a_plan_as_the_contract_has_it(tmp_path):
    plan = Plan.load(written(tmp_path))
    assert plan.data.source == str(tmp_path / "survey.csv")
    assert plan.account.ledger == tmp_path / "survey.ledger"
    assert (plan.account.dataset, plan.account.limit) == ("survey-2026", Pure(3))
    assert sum(plan.epsilons.values()) == 1
    assert plan.epsilons["correlations"] == Fraction(1, 5)
    drafts = plan.drafts()
    assert list(drafts) == [item.name for item in plan.release]
    assert {draft.record.rows for draft in drafts.values()} == {20_000}
    # Four are drawn together, with the ε of all of them; others have their own.
    assert drafts["age"].record.certificate.epsilon == Fraction(1, 2)
    assert drafts["smokers"].record.certificate.epsilon == plan.epsilons["smokers"] == Fraction(1, 10)
    assert total({name: draft.record for name, draft in drafts.items()}) == Pure(1)


def test_each_release_is_the_one_line_function_of_the_same_name(tmp_path):
    """The same law as the function gives on a table, where each is drawn by itself."""
    table = example.survey(20_000)
    drafts = Plan.load(written(tmp_path, GOOD.replace("[budget]", "[budget]\njoint = false"))).drafts()
    mean = ib.mean(table, "pressure", bounds=(70, 220), epsilon=Fraction(1, 10))
    assert drafts["blood pressure"].record.certificate == mean.certificate
    groups = ib.mean(
        table, "pressure", bounds=(70, 220), by="region", levels=list(example.REGIONS), epsilon=Fraction(1, 5)
    )
    assert drafts["blood pressure by region"].record.certificate == groups.certificate
    crossed = ib.crosstab(table, levels={"region": list(example.REGIONS), "smoker": ["yes", "no"]}, epsilon=0.1)
    assert drafts["smoking by region"].record.axes == crossed.axes
    shares = ib.proportions(table, "health", levels=list(example.HEALTH), epsilon=0.1)
    assert drafts["health"].record.certificate == shares.certificate


ALL = """
[data]
rows = 1000
contributions = 2
[budget]
epsilon = 0.3
[columns]
x = { bounds = [0, 10], edges = [0, 5, 7.5, 10], missing = 1, integer = true }
y = { bounds = [-1, 1] }
g = { levels = ["a", "b"], other = "b", missing = "a" }
k = { levels = [1, 2], missing = 2 }
flag = { levels = [true, false], missing = true }
"""
ITEMS = [
    'statistic = "mean"\ncolumns = ["x"]',
    'statistic = "mean"\ncolumns = ["y"]\nby = "g"',
    'statistic = "sum"\ncolumns = ["x"]\nbounding = "truncated"',
    'statistic = "count"\ncolumns = ["g"]\nlevel = "a"',
    'statistic = "count"\nby = "g"',
    'statistic = "proportion"\ncolumns = ["flag"]\nlevel = true',
    'statistic = "variance"\ncolumns = ["x"]',
    'statistic = "standard_deviation"\ncolumns = ["y"]',
    'statistic = "histogram"\ncolumns = ["x"]\nrepair = "project"',
    'statistic = "histogram"\ncolumns = ["k"]',
    'statistic = "proportions"\ncolumns = ["g"]\nrepair = "all-but-one"\nderived = "b"',
    'statistic = "proportions"\ncolumns = ["g"]\nrepair = "tree"\ntree = ["a", "b"]',
    'statistic = "crosstab"\ncolumns = ["g", "x"]',
    'statistic = "covariance"\ncolumns = ["x", "y"]\nmethod = "split"\nrepair = "clip"',
    'statistic = "correlation"\ncolumns = ["x", "y"]',
    'statistic = "pooled_variance"\ncolumns = ["x"]\nby = "k"\nsizes = { 1 = 400, 2 = 600 }',
    'statistic = "pooled_covariance"\ncolumns = ["x", "y"]\nby = "g"',
]


def test_every_statistic_and_key(tmp_path):
    text = ALL + "".join(f'\n[[release]]\nname = "r{i}"\n{item}\n' for i, item in enumerate(ITEMS))
    plan = Plan.load(written(tmp_path, text))
    drafts = plan.drafts()
    assert len(drafts) == len(ITEMS)
    assert {draft.record.contributions for draft in drafts.values()} == {2}
    assert drafts["r0"].record.columns[0].missing == "1"
    assert drafts["r15"].record.columns[-1].sizes == (400, 600)
    assert total({name: draft.record for name, draft in drafts.items()}) == Pure(Fraction(3, 10))
    for draft in drafts.values():
        statistic = draft.record.statistic
        assert parse_statistic(json.loads(json.dumps(describe(statistic)))) == statistic


def test_add_remove(tmp_path):
    text = ALL.replace("rows = 1000", 'neighbours = "add-remove"\nexpected_rows = 1000')
    text += '[[release]]\nname = "a"\nstatistic = "mean"\ncolumns = ["x"]\ndenominator = 900\n'
    text += '[[release]]\nname = "n"\nstatistic = "count"\n'
    plan = Plan.load(written(tmp_path, text))
    assert {draft.record.rows for draft in plan.drafts().values()} == {None}
    assert plan.preview().prospects[0].preview.forecast.typical > 0


MISTAKES = [
    (
        [('columns = ["smoker"]', 'columns = ["smokr"]')],
        ["release.smokers: columns.smokr: no such column; did you mean smoker?"],
    ),
    ([('level = "yes"', 'levle = "yes"')], ["levle: is not a known key; did you mean level?"]),
    ([("dataset =", "datset =")], ["budget.datset: is not a known key; did you mean dataset?"]),
    ([("[budget]", "[bugdet]")], ["budget: must be given", "bugdet: is not a known key; did you mean budget?"]),
    ([("rows = 20000", 'rows = "many"')], ["data.rows: must be a whole number, as in 20000, got 'many'"]),
    ([("rows = 20000", "rows = 0")], ["data.rows: must be greater than or equal to 1, got 0"]),
    ([("rows = 20000", "")], ["data.rows: needed with neighbours = 'substitute', where the number of rows is public"]),
    ([("epsilon = 1.0", "epsilon = -1")], ["budget.epsilon: must be greater than 0, got -1"]),
    ([("epsilon = 1.0", "epsilon = nan")], ["budget.epsilon: must be a finite number"]),
    ([("epsilon = 1.0", "epsilon = inf")], ["budget.epsilon: must be a finite number"]),
    ([('statistic = "variance"', 'statistic = "varaince"')], ["did you mean variance?"]),
    (
        [("age = { bounds = [18, 100] }", "age = { levels = [1, 2] }")],
        ["columns.age: release.age needs bounds = [lower, upper]"],
    ),
    ([("age = { bounds = [18, 100] }", "age = { bounds = [100, 18] }")], ["must satisfy lower < upper"]),
    ([("age = { bounds = [18, 100] }", "age = { bounds = [18] }")], ["columns.age.bounds"]),
    ([("health = { levels", "health = { lvels")], ["columns.health.lvels: is not a known key; did you mean levels?"]),
    ([('name = "age"', 'name = "smokers"')], ["release.smokers: the name is taken"]),
    ([('columns = ["health"]', 'columns = ["health", "region"]')], ["proportions takes one column"]),
    ([('by = "region"', 'by = "age"')], ["needs levels = [...], its groups"]),
    (
        [('level = "yes"', "level = 1.5")],
        ["release.smokers.level: must be true or false, a whole number or text, got 1.5"],
    ),
    ([('neighbours = "substitute"', 'neighbours = "add_remove"')], ["did you mean add-remove?"]),
    ([("share = 2", "share = 0")], ["share: must be greater than 0"]),
    (
        [('columns = ["age"]', 'columns = ["age"]\nrepair = "clip"')],
        ["release.age.repair: cannot be combined with mean; it is for"],
    ),
    ([('level = "yes"', 'level = "ja"')], ["release.smokers.level: must be one of 'yes', 'no', got 'ja'"]),
    ([('level = "yes"', "")], ["release.smokers.level: must be given, one of 'yes', 'no'"]),
    (
        [('columns = ["age"]', 'columns = "age"')],
        ["release.age.columns: must be a list, got 'age'; write a list, as in columns"],
    ),
    ([('statistic = "mean"', 'statistic = "quantile"')], ["release.age.q: must be given"]),
    (
        [('statistic = "mean"', 'statistic = "quantile"\nq = 50')],
        ["release.age: q must lie between 0 and 1, both excluded, as in 0.5 for the median, got 50"],
    ),
    (
        [('statistic = "mean"', 'statistic = "mean"\ninterval_method = "skore"')],
        ["release.age.interval_method: must be one of 'score', 'worst-case', 'proved', got 'skore'"],
    ),
    (
        [('statistic = "mean"', 'statistic = "median"\nstep = 0.3')],
        ["into at most 65,535 parts, got 3/10"],
    ),
    ([("[[release]]", "[release]")], ["is not TOML", "; write [[release]] above each release"]),
    ([("epsilon = 1", "epsilon = 1,5")], ["is not TOML", "; write numbers with a point and without separators"]),
    ([('statistic = "mean"', "statistic = mean")], ["is not TOML", "; write text in quotes"]),
    ([('statistic = "mean"', 'statistic = "average"')], ["statistic: must be one of", "; did you mean mean?"]),
    ([('level = "yes"', "edges = [1, 2]")], ["edges: is a key of its column; write it under [columns]"]),
    ([('level = "yes"', "bins = 3")], ["; give edges = [...] of its column under [columns]"]),
    ([("rows = 20000", "rows = ROWS")], ["line 4: ROWS is still to be filled in"]),
    ([("age = {", "Größe = {")], ["names with spaces or umlauts must be quoted"]),
]


@pytest.mark.parametrize(("changes", "said"), MISTAKES)
def test_mistakes_are_named_with_a_remedy(tmp_path, changes, said):
    found = problems(tmp_path, *changes)
    for text in said:
        assert any(text in one for one in found), found


def test_all_mistakes_at_once(tmp_path):
    found = problems(tmp_path, ("rows = 20000", "rows = 0"), ("dataset =", "datset ="), ("[18, 100]", "[18]"))
    assert len(found) == 3
    found = problems(
        tmp_path, ('["smoker"]', '["smokr"]'), ('["health"]', '["helth"]'), ('name = "age"', 'name = "smokers"')
    )
    assert len(found) == 3


@pytest.mark.parametrize(
    "text", ["", "[data", "x = 1\nx = 2", "\x00", "release = 3", "[data]\nrows = 5\n[budget]\nepsilon = 1"]
)
def test_what_is_no_plan(tmp_path, text):
    with pytest.raises(PlanError, match=re.escape(str(tmp_path))):
        Plan.load(written(tmp_path, text))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(PlanError, match="cannot be read"):
        Plan.load(tmp_path / "none.toml")
    with pytest.raises(PlanError, match="cannot be read"):
        Plan.load(tmp_path)
    (tmp_path / "latin.toml").write_bytes("[data]\nsource = 'é'".encode("latin-1"))
    with pytest.raises(PlanError, match="UTF-8"):
        Plan.load(tmp_path / "latin.toml")


def test_the_request_says_what_and_not_where(tmp_path):
    plan = Plan.load(written(tmp_path))
    text = json.dumps([describe(draft.record.statistic) for draft in plan.drafts().values()])
    assert "survey.csv" not in text
    assert str(tmp_path) not in text
    same = [
        ("18, 100", "18.0, 100.00"),
        ('source = "survey.csv"', 'source = "other.parquet"'),
        ("epsilon = 1.0", "epsilon = 1"),
    ]
    for old, new in same:
        assert Plan.load(written(tmp_path, GOOD.replace(old, new))).digest == plan.digest
    others = [
        ("18, 100", "18, 101"),
        ("epsilon = 1.0", "epsilon = 1.1"),
        ("20000", "20001"),
        ("survey-2026", "survey-2027"),
    ]
    others += [('level = "yes"', 'level = "no"'), ("share = 2", "share = 3")]
    for old, new in others:
        assert Plan.load(written(tmp_path, GOOD.replace(old, new))).digest != plan.digest


def test_one_mistake_is_told_once(tmp_path):
    assert problems(tmp_path, ('neighbours = "substitute"', 'neighbours = "add-remove"')) == [
        "data.rows: cannot be given with neighbours = 'add-remove', where the number of rows is protected; give "
        "expected_rows, about how many there are"
    ]
    found = problems(tmp_path, ("bounds = [18, 100]", "levels = [1, 2]"))
    assert found
    assert all(
        one.startswith("columns.age: release.") and one.endswith("needs bounds = [lower, upper]") for one in found
    )


def test_decimals_are_exact(tmp_path):
    text = ALL + '[[release]]\nname = "a"\nstatistic = "mean"\ncolumns = ["x"]\nshare = 0.1\n'
    text += '[[release]]\nname = "b"\nstatistic = "mean"\ncolumns = ["x"]\nshare = 0.2\n'
    plan = Plan.load(written(tmp_path, text))
    assert plan.epsilons == {"a": Fraction(1, 10), "b": Fraction(1, 5)}
    assert plan.budget.epsilon == Decimal("0.3")


def test_the_preview_of_a_plan(tmp_path):
    made = Plan.load(written(tmp_path)).preview()
    shown = str(made)
    assert max(map(len, shown.splitlines())) <= 80
    text = " ".join(shown.split())
    assert "No data were read and nothing was spent" in text
    assert all(note in text for note in made.notes)
    assert "correlations: the error depends on the true value" in text
    assert "No missing = ... is given for smoker, age, pressure, sleep, health, region" in text
    # What is no level goes with the others where one level is counted, and is refused where all are.
    assert "No other = ... is given for smoker, health, region: a value that is not a level is only found after" in text
    alone = ib.preview("proportion", column="smoker", level="yes", epsilon=0.1, rows=20_000)
    assert made.prospects[0].preview.forecast.typical == pytest.approx(alone.forecast.typical)
    # Twice the budget halves the error of a mean.
    half, double = made.prospects[1].errors[1], made.prospects[1].errors[3]
    assert half / double == pytest.approx(4, rel=0.02)
    assert '<th scope="row">age: mean of age</th>' in made._repr_html_()
    assert json.dumps(made.to_dict())
    assert len(json.loads(made.plot().to_json())["datasets"]) == 1


def test_advice_names_the_better_way(tmp_path):
    text = GOOD.replace('columns = ["age"]', 'columns = ["age"]\nbounding = "truncated"')
    made = Plan.load(written(tmp_path, text)).preview()
    assert made.prospects[1].advice.startswith("bounding = 'bit' would give ")
    assert made.prospects[0].advice == ""


def test_the_schema_for_editors():
    schema = Plan.model_json_schema()
    assert set(schema["properties"]) == {"data", "budget", "derive", "columns", "release"}
    assert "mean" in json.dumps(schema)


def test_a_plan_says_which_intervals_it_wants():
    item = {"name": "age", "statistic": "mean", "columns": ["age"]}
    content = {"data": {"rows": 400}, "budget": {"epsilon": 1}, "columns": {"age": {"bounds": [0, 100]}}}
    wanted = {"interval": "noise", "confidence": 0.9, "interval_method": "score", "simultaneous": True}
    made = ib.release(Plan.of(content | {"release": [item | wanted]}), {"age": [20.0, 60.0] * 200})
    (section,) = collect_sections(made)
    assert (section.interval.kind, section.interval.level) == ("noise", 0.9)
    assert tuple(section.interval) == tuple(made["age"].interval(0.9, kind="noise"))
    (plain,) = collect_sections(ib.release(Plan.of(content | {"release": [item]}), {"age": [20.0, 60.0] * 200}))
    assert (plain.interval.kind, plain.interval.level) == ("population", 0.95)
    for edit, said in (
        ({"interval": "both"}, "interval: must be"),
        ({"confidence": 1}, "confidence"),
        ({"interval_method": "magic"}, "interval_method: must be one of 'score', 'worst-case'"),
    ):
        with pytest.raises(PlanError, match=said):
            Plan.of(content | {"release": [item | edit]})


@pytest.mark.parametrize("stated", ["in the plan", "as an account"])
def test_a_smaller_limit_than_the_ledger_has_binds_a_plan(tmp_path, stated):
    """A plan without one has its epsilon as the limit of a new dataset, which binds nothing."""
    plan = {
        "data": {"rows": 60},
        "budget": {"epsilon": 1, "dataset": "d"},
        "columns": {"age": {"bounds": [0, 100]}},
        "release": [{"name": "age", "statistic": "mean", "columns": ["age"]}],
    }
    table, place = {"age": [float(k) for k in range(60)]}, tmp_path / "d.ledger"
    ib.release(Plan.of(plan), table, ledger=ib.ledger.Account(place, "d", 10))
    ib.release(Plan.of(plan), table, ledger=place, new=True)
    small = plan | {"budget": plan["budget"] | {"limit": 2.5}}
    asked, ledger = (Plan.of(small), place) if stated == "in the plan" else (Plan.of(plan), None)
    with pytest.raises(BudgetRefused, match=r"more than the limit of 2\.5 that is stated here; nothing was spent"):
        ib.release(asked, table, ledger=ledger or ib.ledger.Account(place, "d", 2.5), new=True)
    assert ib.release(Plan.of(plan), table, ledger=ib.ledger.Account(place, "d", 10), new=True).entry is not None
