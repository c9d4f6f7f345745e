"""A table that is declared once: the same releases as by functions and plans, with mistakes found before a charge."""

import inspect
import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds import functions
from inbounds.plan.table_statistics import TableStatistics
from inbounds.record.charges import digest_of
from inbounds.record.draft import size_terms
from inbounds.record.selection import draft_statistic
from inbounds.statistics import registered
from tests.release.cases import GROUPS, REGIONS, every_call, table
from tests.test_surface import named, sections

ROWS = 210
# Other tests may register more.
STATISTICS = sorted(registered())
CALLS = every_call()
CATEGORIES = {"smoker": ("yes", "no"), "employed": (False, True), "region": tuple(REGIONS), "group": tuple(GROUPS)}
# Keywords of a table, with those that functions have for persons, and of the rules of columns.
PERSON = {"person": "column", "contributions": "rows", "keep": "keep", "order": "order", "groups": "max_groups"}
PERSON |= {"person_missing": "missing", "fold": "fold"}
RULES = ("bounds", "edges", "levels", "missing", "integer")


def declare(name, keywords):
    """The table, the columns and the keywords of a method for the keywords of a function."""
    given = dict(keywords)
    column, by = given.pop("column", None), given.get("by")
    taken = [part for part in RULES if part in given and not (name == "bounds" and part == "edges")]
    parts = {part: given.pop(part) for part in taken}
    for part, rule in parts.items():
        if not isinstance(rule, dict):
            parts[part] = {by if part == "levels" and isinstance(by, str) else column: rule}
    columns = list(dict.fromkeys(one for part in ("bounds", "edges", "levels") for one in parts.get(part, {})))
    groups = [by] if isinstance(by, str) else list(by or ())
    columns = [one for one in columns if one not in groups]
    columns = [column] if column and name != "regression" else columns
    if name == "regression":
        columns = [column, *(one for one in columns if one != column)]
    rules = {}
    for one in (*columns, *groups):
        rule = {part: values[one] for part, values in parts.items() if one in values}
        if "levels" in rule or (one in CATEGORIES and name in ("count", "proportion")):
            rules[one] = ib.category(*rule.pop("levels", CATEGORIES.get(one, ())), **rule)
        else:
            rules[one] = ib.number(*rule.pop("bounds", ()), **rule)
    facts = {key: given.pop(key) for key in ("neighbours", "rows") if key in given}
    if "person" in given:
        facts["person"] = ib.Person(**{own: given.pop(key) for key, own in PERSON.items() if key in given})
    elif "contributions" in given:
        facts["contributions"] = given.pop("contributions")
    formulas, where = given.pop("derive", {}), given.pop("where", None)
    rules = {one: rule for one, rule in rules.items() if one not in formulas or rule.bounds is not None}
    derived = {one: rules.pop(one) for one in formulas if one in rules}
    survey = ib.Table(table(ROWS), columns=rules, **facts).derive(formulas, derived)
    survey = survey if where is None else survey.where(where)
    if "level" in given:
        given["category"] = given.pop("level")
    return survey, columns, given


@pytest.fixture
def asked(monkeypatch):
    """What each call asks the package to release."""
    found = []
    modules = [sys.modules[getattr(functions, name).__wrapped__.__module__] for name in STATISTICS]
    for module in dict.fromkeys(modules):
        monkeypatch.setattr(module, "release_one", lambda _data, *rest: found.append(rest))
    return found


def digest(asked):
    statistic, terms, rows, _ = asked
    size = None if terms.protects_rows else ROWS if rows is None else rows
    draft = draft_statistic(statistic, size_terms(statistic, terms, size))
    return digest_of("survey", {"x": draft.record})


@pytest.mark.parametrize("name", CALLS)
def test_a_method_releases_what_its_function_releases(asked, name):
    call = CALLS[name]
    function = call.func.__name__
    keywords = dict(call.keywords)
    if function == "regression":
        # The outcome is the first column.
        outcome = keywords["column"]
        keywords["bounds"] = {outcome: keywords["bounds"][outcome], **keywords["bounds"]}
    survey, columns, own = declare(function, keywords)
    getattr(survey, function)(*columns, **own, epsilon=0.3)
    getattr(ib, function)(table(ROWS), **keywords, epsilon=0.3)
    by_method, by_function = asked
    assert by_method == by_function
    assert digest(by_method) == digest(by_function)


def test_every_statistic_is_a_method_and_was_compared():
    assert {call.func.__name__ for call in CALLS.values()} == set(STATISTICS)
    assert all(hasattr(ib.Table, name) for name in STATISTICS)


def test_other_facts_give_another_digest(asked):
    """The comparison above can fail."""
    rule = {"age": ib.number(0, 100)}
    for facts in ({}, {"neighbours": "add-remove"}, {"contributions": 2}):
        ib.Table(table(ROWS), columns=rule, **facts).mean("age", epsilon=0.3)
    ib.Table(table(ROWS), columns={"age": ib.number(0, 99)}).mean("age", epsilon=0.3)
    assert len({digest(each) for each in asked}) == 4


def test_a_charge_of_the_one_is_the_charge_of_the_other(tmp_path):
    """End to end: the method gets the stored result of the function, at no cost."""
    account = ib.ledger.Account(tmp_path / "survey.ledger", "survey", limit=1)
    data = table(ROWS)
    rules = {"age": ib.number(0, 100, missing=50), "region": ib.category(*REGIONS, missing="n")}
    survey = ib.Table(data, rows=ROWS, columns=rules, dataset="survey", ledger=tmp_path / "survey.ledger")
    spelled = {"bounds": (0, 100), "missing": 50, "by": "region", "levels": REGIONS, "by_missing": "n"}
    paid = ib.mean(data, "age", epsilon=0.5, rows=ROWS, ledger=account, **spelled)
    with pytest.warns(UserWarning, match="this is the stored result") as caught:
        again = survey.mean("age", by="region", epsilon=0.5)
    assert again.to_json() == paid.to_json()
    # The warning names the line of the caller.
    assert caught[0].filename == __file__
    with pytest.raises(ib.errors.BudgetRefused):
        survey.mean("age", by="region", epsilon=0.6)


# Names, types and help


@pytest.mark.parametrize("name", STATISTICS)
def test_methods_have_few_keywords_and_a_complete_help(name):
    method = getattr(ib.Table, name)
    parameters = [each for each in inspect.signature(method).parameters.values() if each.name != "self"]
    assert 1 < len(parameters) <= 8
    assert all("Any" not in str(each.annotation) for each in parameters)
    found = sections(method.__doc__)
    assert [each.lstrip("*") for each in named(found["Parameters"])] == [each.name for each in parameters]
    assert named(found["Returns"]) == ["Release"]
    assert "survey." in found["Examples"]
    assert "see above" not in method.__doc__
    assert inspect.signature(method).return_annotation == "Release"


def test_examples_of_methods_are_run():
    """The collector of doctests finds those of decorated methods."""
    import doctest

    import inbounds.plan.table_statistics as module

    found = {each.name.rpartition(".")[2] for each in doctest.DocTestFinder().find(module) if each.examples}
    assert set(STATISTICS) <= found


def test_a_table_loads_no_plans():
    code = (
        "import sys, inbounds as ib; ib.Table({'x': [1]}, columns={'x': ib.number(0, 9)}).mean('x', epsilon=1);"
        "print('pydantic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


# Mistakes

DATA = {"age": [20, 30] * 100, "smoker": ["yes", "no"] * 100, "children": [0, 2] * 100}
SURVEY = ib.Table(
    DATA, columns={"age": ib.number(18, 100), "smoker": ib.category("yes", "no"), "children": ib.category(0, 1, 2)}
)
MISTAKES = {
    "an undeclared column": (
        lambda: SURVEY.mean("agee", epsilon=1),
        "column 'agee' is not declared; did you mean 'age'",
    ),
    "an undeclared group": (lambda: SURVEY.mean("age", by="sex", epsilon=1), "column 'sex' is not declared"),
    "a mean of categories": (
        lambda: SURVEY.mean("smoker", epsilon=1),
        r"mean needs numbers, and 'smoker' is declared as category\('yes', 'no'\); for categories there are count, "
        "crosstab, histogram",
    ),
    "a proportion of numbers": (
        lambda: SURVEY.proportion("age", epsilon=1),
        r"proportion needs categories, and 'age' is declared as number\(18, 100\); derive some",
    ),
    "a histogram without edges": (lambda: SURVEY.histogram("age", epsilon=1), r"declare it as .*edges=\[...\]"),
    "a misspelt category": (
        lambda: SURVEY.proportion("smoker", "Yes", epsilon=1),
        "column 'smoker' has no category 'Yes'; did you mean 'yes'",
    ),
    "a category of another type": (
        lambda: SURVEY.count("children", "2", epsilon=1),
        r"has no category '2'; did you mean 2\? Its categories are 0, 1, 2",
    ),
    "a truth for a number": (lambda: SURVEY.count("children", True, epsilon=1), "has no category True"),
    "a list of categories": (
        lambda: SURVEY.count("smoker", ["yes"], epsilon=1),
        "category must be text, a whole number",
    ),
    "no category": (lambda: SURVEY.proportion("smoker", epsilon=1), "needs a category: 'yes', 'no'"),
    "groups of numbers": (lambda: SURVEY.count(by="age", epsilon=1), "by needs categories, and 'age' is declared"),
    "a column twice": (lambda: SURVEY.covariance("age", "age", epsilon=1), "'age' is named twice"),
    "a list of columns": (lambda: SURVEY.mean(["age"], epsilon=1), "a column must be a name, got a list"),
    "a rule in a call": (lambda: SURVEY.mean("age", bounds=(0, 1), epsilon=1), "declare it once, in ib.Table"),
    "a condition in a call": (lambda: SURVEY.mean("age", where="age > 1", epsilon=1), r"write table.where\("),
    "a level": (lambda: SURVEY.count("smoker", level="yes", epsilon=1), "it is category= here"),
    "an unknown keyword": (lambda: SURVEY.mean("age", eps=1), "did you mean epsilon=?"),
    "no epsilon": (lambda: SURVEY.mean("age"), "mean needs epsilon=, the privacy budget"),
    "no column": (lambda: SURVEY.mean(epsilon=1), "mean needs column, the name of a declared column"),
    "an unknown statistic": (lambda: SURVEY.preview("average", "age", epsilon=1), "did you mean 'mean'"),
    "impossible bounds": (lambda: ib.Table(columns={"age": ib.number(9, 1)}), "bounds of 'age' must satisfy lower"),
    "a wrong fill": (lambda: ib.Table(columns={"age": ib.number(0, 9, missing=10)}), "missing of 'age' must lie"),
    "no such fill": (lambda: ib.Table(columns={"s": ib.category("a", missing="b")}), "missing of 's' must be one of"),
    "no rule": (lambda: ib.Table(columns={"age": (0, 9)}), "column 'age' must be ib.number"),
    "a taken name": (lambda: SURVEY.derive({"age": "children > 1"}), "'age' is declared already"),
    "a derived number": (lambda: SURVEY.derive({"half": "age / 2"}), "columns.half: the derived column is a number"),
    "rows that are protected": (lambda: ib.Table(rows=5, neighbours="add-remove"), "rows= cannot be combined"),
    "two limits of rows": (lambda: ib.Table(person=ib.Person("id"), contributions=2), "contributions= cannot"),
    "a limit alone": (lambda: ib.Table(limit=1), "limit= needs ledger="),
    "a table of a frame": (lambda: ib.Table(DATA, table="people"), "table= is for a file or a server"),
    "a wrong format": (lambda: ib.Table("a.csv", written={"sep": ";"}), "written has no key 'sep'"),
    "no data": (lambda: ib.Table(columns=SURVEY.columns).mean("age", epsilon=1), "data must be given to release"),
    "an order alone": (lambda: ib.Person("id", order="date"), "order= is for keep='first'"),
    "wrong groups": (lambda: ib.Person("id", max_groups=3), "max_groups must be a dictionary"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_one_line_before_anything_is_read(monkeypatch, name):
    call, words = MISTAKES[name]
    monkeypatch.setattr("inbounds.road.run.open_table", lambda *_: pytest.fail("the table was opened"))
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_wrong_category_spends_nothing(tmp_path):
    file = tmp_path / "survey.ledger"
    columns = {"smoker": ib.category("yes", "no")}
    survey = ib.Table(DATA, columns=columns, rows=200, dataset="survey", ledger=file, limit=1)
    with pytest.raises(ValueError, match="did you mean 'yes'"):
        survey.proportion("smoker", "Yes", epsilon=0.5)
    assert not file.exists()
    survey.proportion("smoker", "yes", epsilon=0.5)
    assert file.exists()


# A function that counts a level without a list


def test_a_level_without_a_list_gives_a_warning():
    with pytest.warns(ib.errors.UnlistedLevel, match="count as not having it, misspelt ones included") as caught:
        ib.proportion(DATA, "smoker", level="Yes", epsilon=1)
    assert caught[0].filename == __file__
    with pytest.warns(ib.errors.UnlistedLevel):
        ib.count(DATA["smoker"], level="Yes", epsilon=1)


@pytest.mark.filterwarnings("error::inbounds.errors.UnlistedLevel")
def test_a_listed_level_gives_none():
    ib.proportion(DATA, "smoker", level="yes", levels=["yes", "no"], epsilon=1)
    ib.count(DATA, "smoker", level="yes", levels=["yes", "no"], epsilon=1)
    ib.proportion(DATA, "children", level=2, epsilon=1)
    by = {"smoker": ["yes", "no"], "children": [0, 1, 2]}
    one = ib.proportion(DATA, "smoker", level="yes", by="children", levels=by, epsilon=1)
    assert one.statistic.levels == (0, 1, 2)
    SURVEY.proportion("smoker", "yes", by="children", epsilon=1)
    SURVEY.count("smoker", "yes", epsilon=1)
    with pytest.raises(ValueError, match=r"level of 'smoker' must be one of its levels, got 'Yes'.*did you mean 'yes'"):
        ib.proportion(DATA, "smoker", level="Yes", levels=["yes", "no"], epsilon=1)
    with pytest.raises(TypeError, match="levels of 'smoker' must be a list"):
        ib.proportion(DATA, "smoker", level="yes", levels="yes", epsilon=1)


# What a table shows and holds


def test_a_table_shows_its_rules_and_no_data():
    columns = {"age": ib.number(18, 100, label="Age", unit="years"), "smoker": ib.category("yes", "no", missing="no")}
    person = ib.Person("id", rows=2, keep="first", order="date")
    survey = ib.Table("postgresql://me:secret@host/db", table="people", columns=columns, person=person, rows=87)
    text = repr(survey.where("age > 20").derive({"old": "age >= 65"}))
    assert "secret" not in text
    assert "host" not in text
    for word in ("number(18, 100, label='Age', unit='years')", "category('yes', 'no', missing='no')", "rows=87"):
        assert word in text
    assert "person=Person('id', rows=2, keep='first', order='date')" in text
    assert "condition='age > 20'" in text
    assert "'old': 'age >= 65'" in text
    values = ib.Table({"age": [41, 43, 47]}, columns={"age": ib.number(18, 100)})
    before = repr(values)
    values.mean("age", epsilon=1)
    assert not re.search("4[137]", before)
    assert repr(values) == before
    assert str(values) == before


def test_a_table_is_not_changed():
    young = SURVEY.where("age < 25")
    assert young.condition == "age < 25"
    assert SURVEY.condition is None
    assert young.data is SURVEY.data
    with pytest.raises(AttributeError):
        SURVEY.rows = 3


def test_a_statistic_from_outside_has_no_method(monkeypatch):
    from inbounds.record import statistic as register

    monkeypatch.setitem(register._REGISTER, "outside", registered()["mean"])
    monkeypatch.setattr("inbounds.plan.table.find_statistic", lambda _: type("Outside", (), {"name": "outside"}))
    with pytest.raises(TypeError, match="outside is not a method of a table"):
        SURVEY.preview("outside", "age", epsilon=1)
    with pytest.raises(ValueError, match="for categories there are") as caught:
        SURVEY.mean("smoker", epsilon=1)
    assert "outside" not in str(caught.value)


def test_long_lists_of_categories_are_shortened():
    many = ib.category(*range(10_000))
    assert repr(many) == "category(0, 1, 2, 3, 4, 5, 6, 7, ... 9,992 more)"
    with pytest.raises(ValueError, match="9,992 more") as caught:
        ib.Table(DATA, columns={"x": many}).count("x", -7, epsilon=1)
    assert len(str(caught.value)) < 300


def test_bounds_may_be_a_release():
    found = SURVEY.bounds("age", within=(0, 1000), epsilon=1)
    survey = ib.Table(DATA, columns={"age": ib.number(found)})
    assert survey.columns["age"].bounds == tuple(map(Fraction, found.value))
    with pytest.raises(ValueError, match="those of column 'age', not of 'children'"):
        ib.Table(DATA, columns={"children": ib.number(found)})


def test_places_of_all_kinds(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    database = tmp_path / "survey.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute("create table people as select 18 + i % 50 as age from range(200) t(i)")
        connection.execute("create table others as select 1 as age")
    (tmp_path / "survey.csv").write_text("age;x\n" + "20,5;1\n" * 200)
    rule = {"age": ib.number(18, 100)}
    for survey in (
        ib.Table(database, table="people", columns=rule, rows=200),
        ib.Table(tmp_path / "survey.csv", written={"separator": ";", "decimal": ","}, columns=rule),
        ib.Table({"age": np.arange(18, 68)}, columns=rule, rows=50),
    ):
        assert 18 <= survey.mean("age", epsilon=1).value <= 100
        item = {"name": "age", "statistic": "mean", "columns": ["age"]}
        # A plan needs the number of rows.
        if survey.rows is not None:
            assert 18 <= survey.release({"budget": {"epsilon": 1}, "release": [item]})["age"].value <= 100
    with pytest.raises(ib.errors.DataError, match="another number of rows"):
        ib.Table(database, table="people", columns=rule, rows=201).mean("age", epsilon=1)


# Plans

CONTENT = {
    "data": {"rows": ROWS // 3, "person": "who", "contributions": 2, "keep": "first", "order": "income"},
    "budget": {"epsilon": 1, "dataset": "survey"},
    "derive": {"rich": "income > 60"},
    "columns": {
        "age": {"bounds": [0, 100], "edges": [0, 30, 100], "missing": 50},
        "income": {"bounds": [0, Decimal("200.5")], "missing": "skip"},
        "weight": {"bounds": [20, 140], "integer": True, "values": "amount"},
        "smoker": {"levels": ["yes", "no"], "missing": "no"},
        "region": {"levels": REGIONS, "other": "n"},
    },
    "release": [
        {"name": "a", "statistic": "mean", "columns": ["age"], "by": ["region", "smoker"], "joint": False},
        {"name": "b", "statistic": "proportion", "columns": ["smoker"], "level": "yes", "joint": False},
        {"name": "c", "statistic": "crosstab", "columns": ["region", "rich"], "joint": False},
        {"name": "d", "statistic": "histogram", "columns": ["age"], "joint": False},
        {"name": "e", "statistic": "moments", "columns": ["age", "income", "weight"], "joint": False},
        {"name": "f", "statistic": "count", "by": "region", "joint": False},
    ],
}


MOMENTS = ("moments", "age", "income", "weight")


def test_a_plan_and_a_table_are_two_spellings(asked):
    plan = ib.Plan.of(CONTENT)
    survey = ib.Table.of(plan, table(ROWS))
    for item in plan.release:
        category = {} if item.level is None else {"category": item.level}
        by = {} if item.by is None else {"by": item.by}
        getattr(survey, item.statistic)(*item.columns, epsilon=plan.epsilons[item.name], **category, **by)
    drafts = plan.drafts()
    for item, (statistic, terms, rows, _) in zip(plan.release, asked, strict=True):
        assert draft_statistic(statistic, size_terms(statistic, terms, rows)).record == drafts[item.name].record


def test_a_table_completes_a_plan():
    whole = ib.Plan.of(CONTENT)
    survey = ib.Table.of(whole, table(ROWS))
    rest = {name: CONTENT[name] for name in ("budget", "release")}
    for plan in (whole, CONTENT, rest, rest | {"data": CONTENT["data"]}):
        assert survey.release(plan).digest == whole.digest
    assert str(survey.preview(whole)) == str(whole.preview())
    for name, (statistic, *columns), by in (("a", ("mean", "age"), {"by": ["region", "smoker"]}), ("e", MOMENTS, {})):
        shown = survey.preview(statistic, *columns, **by, epsilon=whole.epsilons[name])
        wanted = whole.wanted()[name]
        assert str(shown) == str(ib.preview(wanted.statistic, plausible=wanted.plausible, **wanted.keywords))


def test_a_condition_is_part_of_the_plan():
    survey = ib.Table(DATA, rows=200, columns={"age": ib.number(18, 100)}, dataset="survey")
    content = {
        "budget": {"epsilon": 1, "dataset": "survey"},
        "release": [{"name": "age", "statistic": "mean", "columns": ["age"]}],
    }
    facts = {"data": {"rows": 200, "where": "age < 25"}, "columns": {"age": {"bounds": [18, 100]}}}
    plan = ib.Plan.of(content | facts)
    young = survey.where("age < 25")
    assert young.release(content).digest == young.release(plan).digest == survey.release(plan).digest == plan.digest
    with pytest.raises(ib.errors.PlanError, match=r"data\.where: the table declares it differently"):
        survey.where("age < 26").release(plan)


def test_dates_and_decimals_have_one_spelling():
    ends = {"a": ("2019-01-01", "2021-12-31"), "b": (Fraction(1, 4), "0.5"), "c": (0.1, Decimal("0.3"))}
    survey = ib.Table(rows=200, columns={name: ib.number(*pair) for name, pair in ends.items()})
    items = [{"name": name, "statistic": "mean", "columns": [name], "joint": False} for name in ends]
    content = {"budget": {"epsilon": 3}, "release": items}
    outlook = str(survey.preview(ib.Plan.of(content | _facts_of(ends))))
    assert all(name in outlook for name in ends)
    again = ib.Table.of(ib.Plan.of(content | _facts_of(ends)))
    assert repr(again.columns["c"]) == "number(0.1, 0.3)"
    assert repr(again.columns["b"]) == "number(0.25, 0.5)"
    assert repr(again.columns["a"]) == "number('2019-01-01', '2021-12-31')"
    third = ib.Table(rows=200, columns={"a": ib.number(0, Fraction(1, 3))})
    with pytest.raises(ValueError, match="a plan has decimal numbers"):
        third.preview(ib.Plan.of({**content, "release": items[:1], **_facts_of({"a": ends["a"]})}))


def _facts_of(ends):
    from datetime import date

    exact = {"a": [date(2019, 1, 1), date(2021, 12, 31)], "b": [Decimal("0.25"), Decimal("0.5")]}
    exact["c"] = [Decimal("0.1"), Decimal("0.3")]
    return {"data": {"rows": 200}, "columns": {name: {"bounds": exact[name]} for name in ends}}


def test_files_of_plans(tmp_path):
    file = tmp_path / "plan.toml"
    file.write_text('[budget]\nepsilon = 1\n[[release]]\nname = "a"\nstatistic = "mean"\ncolumns = ["age"]\n')
    survey = ib.Table(DATA, rows=200, columns={"age": ib.number(18, 100)}, dataset="survey")
    assert 18 <= survey.release(file)["a"].value <= 100
    assert "a" in str(survey.preview(str(file)))
    with pytest.raises(TypeError, match="previewed without further arguments; write epsilon"):
        survey.preview(file, epsilon=1)


@pytest.mark.parametrize(
    ("place", "part"),
    [
        ("columns.age", {"columns": {"age": {"bounds": [0, 99]}}}),
        ("data.rows", {"data": {"rows": 99}}),
        ("data.contributions", {"data": {"rows": 200, "contributions": 2}}),
    ],
)
def test_a_plan_that_disagrees_is_refused(place, part):
    survey = ib.Table(DATA, rows=200, columns={"age": ib.number(0, 100)})
    item = {"name": "age", "statistic": "mean", "columns": ["age"]}
    content = {"budget": {"epsilon": 1}, "release": [item]}
    assert survey.release(content)
    with pytest.raises(ib.errors.PlanError, match=f"{place}: the table declares it differently"):
        survey.release(content | part)


def test_a_plan_is_previewed_by_its_file(tmp_path, monkeypatch):
    file = tmp_path / "plan.toml"
    file.write_text(
        "[data]\nrows = 200\n[budget]\nepsilon = 1\n[columns]\nage = { bounds = [0, 100] }\n"
        '[[release]]\nname = "a"\nstatistic = "mean"\ncolumns = ["age"]\n'
    )
    expected = str(ib.Plan.load(file).preview())
    monkeypatch.chdir(tmp_path)
    for plan in (file, str(file), "plan.toml", ib.Plan.load(file)):
        assert str(ib.preview(plan)) == expected
    with pytest.raises(TypeError, match="write epsilon into the plan"):
        ib.preview("plan.toml", epsilon=1)
    with pytest.raises(ib.errors.PlanError, match="cannot be read"):
        ib.preview("other.toml")
    with pytest.raises(ValueError, match="did you mean 'mean'"):
        ib.preview("average", epsilon=1, rows=3)
    with pytest.raises(TypeError, match="a statistic or a plan"):
        ib.preview(3)


def test_no_module_hides_a_public_function():
    """An import of a package with the name of a function would replace the function."""
    from pathlib import Path

    modules = {path.stem for path in Path(ib.__file__).parent.iterdir()}
    assert not modules & {name for name in ib.__all__ if callable(getattr(ib, name))}


def test_the_statistics_of_a_table_need_a_table():
    with pytest.raises(TypeError, match="abstract"):
        TableStatistics()
