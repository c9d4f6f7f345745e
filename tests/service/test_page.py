"""What a page asks of the service: plain values, no value of a table, and mistakes with the lines they are in."""

import json
import shutil
import tomllib

import polars as pl
import pytest

from inbounds import ledger, service
from inbounds.errors import DataError, PlanError, RecordError
from inbounds.plan.plan import Plan
from inbounds.plan.template import begin
from inbounds.road.run import request_of
from inbounds.service.reading import list_places
from tests import health as demo

pytestmark = pytest.mark.xdist_group("service-page")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The demonstration, released once as the page would."""
    folder = tmp_path_factory.mktemp("demo")
    path = demo.write(folder)
    plan = Plan.load(path)
    steps = []
    service.release_plan(plan, service.choose_folder(plan, path), say=steps.append)
    return folder, path, steps


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(demo.PLAN, "utf-8")
    return path


def test_the_stages_are_those_of_a_release(made):
    assert made[2] == list(service.STAGES)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("rows = 20000", "row = 20000", "data.row: is not a known key"),
        ('level = "yes"', 'level = "maybe"', "release.smokers.level"),
        ('statistic = "variance"', 'statistic = "varianc"', "did you mean variance?"),
        ("age = { bounds = [18, 100] }", "age = { bounds = [18] }", "columns.age.bounds"),
        ("[budget]", "[budget", "is not TOML"),
        ("rows = 20000 ", "rows = ROWS ", "still to be filled in"),
    ],
)
def test_mistakes_are_located(path, old, new, words):
    """The line that is said is the one that was changed."""
    assert old in demo.PLAN
    path.write_text(demo.PLAN.replace(old, new), "utf-8")
    read = service.read_plan(path)
    assert read.plan is None
    (line,) = [one["line"] for one in read.mistakes if words in one["text"]]
    assert new.strip() in path.read_text("utf-8").splitlines()[line - 1]


def test_a_reading_is_plain_and_changes_with_the_file(path):
    read = service.read_plan(path)
    plain = json.loads(json.dumps(read.to_dict()))
    assert plain["content"]["budget"]["epsilon"] == 1.0
    assert plain["mistakes"] == []
    assert set(plain["epsilons"]) == {item["name"] for item in plain["content"]["release"]}
    path.write_text(demo.PLAN + "\n", "utf-8")
    assert service.read_plan(path).revision != read.revision
    path.write_bytes(b"\xff")
    with pytest.raises(PlanError, match="UTF-8"):
        service.read_plan(path)


def test_names_with_dots_and_quotes_are_found():
    text = '[columns]\n"a.b" = { bounds = [0, 1] }\n[[release]]\nname = "x: y"\nshare = 1\n'
    assert ("columns.a.b", 2) in list_places(text)
    assert ("release.x: y.share", 5) in list_places(text)


def test_edits_keep_comments_and_everything_else():
    edits = [
        {"path": ["budget", "epsilon"], "toml": "0.5"},
        {"path": ["columns", "age", "known_from"], "value": "the questionnaire"},
        {"path": ["columns", "income", "bounds"], "toml": "[0, 1_000_000]"},
        {"path": ["columns", "sex", "levels"], "levels": "f\nm\n"},
        {"path": ["columns", "wave", "levels"], "levels": "1, 2"},
        {"path": ["columns", "day", "bounds"], "toml": "[2026-01-01, 2026-12-31]"},
        {"path": ["release", 8], "value": {"name": "income", "statistic": "mean", "columns": ["income"]}},
        {"path": ["release", 0], "value": None},
        {"path": ["budget", "limit"], "value": None},
    ]
    text = service.edit_text(demo.PLAN, edits)
    before, after = tomllib.loads(demo.PLAN), tomllib.loads(text)
    assert "# the public number of rows" in text
    assert after["budget"] == {"epsilon": 0.5, "ledger": "survey.ledger", "dataset": "survey-2026"}
    assert after["release"][:-1] == before["release"][1:]
    assert after["release"][-1]["name"] == "income"
    assert after["columns"]["wave"]["levels"] == [1, 2]
    assert after["columns"]["sex"]["levels"] == ["f", "m"]
    assert str(after["columns"]["day"]["bounds"][0]) == "2026-01-01"
    assert {name: after["columns"][name] for name in before["columns"] if name != "age"} == {
        name: rule for name, rule in before["columns"].items() if name != "age"
    }


def test_a_plan_is_made_by_edits_alone():
    text = begin("survey.csv")
    edits = [
        {"path": ["data", "rows"], "value": 100},
        {"path": ["columns", "age", "bounds"], "toml": "[0, 100]"},
        {"path": ["release", 0], "value": {"name": "age", "statistic": "mean", "columns": ["age"]}},
    ]
    plan = Plan.of(tomllib.loads(service.edit_text(text, edits)))
    assert plan.data.source == "survey.csv"
    assert list(plan.epsilons) == ["age"]


@pytest.mark.parametrize(
    "edit",
    [
        {},
        {"path": []},
        {"path": ["data"] * 9, "value": 1},
        {"path": ["release", 99], "value": {"name": "x"}},
        {"path": ["release", True], "value": {"name": "x"}},
        {"path": ["data", "rows", "deeper"], "value": 1},
        {"path": ["data", "rows"], "toml": "1\n[other]\nx = 2"},
        {"path": ["data", "rows"], "toml": "ROWS"},
        {"path": ["data", "rows"], "value": {"x": None}},
    ],
)
def test_an_edit_without_a_place_is_refused(edit):
    with pytest.raises(PlanError) as refused:
        service.edit_text(demo.PLAN, [edit])
    assert "\n" not in str(refused.value)


def test_columns_are_names_and_types_alone(made, tmp_path):
    folder = made[0]
    listed = service.list_columns(folder, "survey.csv", None, {})
    assert [one["name"] for one in listed] == ["age", "bmi", "pressure", "sleep", "smoker", "region", "health"]
    # A CSV file has no types, and none are made from its values.
    assert {one["type"] for one in listed} == {""}
    demo.survey(rows=50).write_parquet(tmp_path / "s.parquet")
    types = {one["name"]: one["type"] for one in service.list_columns(tmp_path, "s.parquet", None, {})}
    assert (types["age"], types["bmi"], types["smoker"]) == ("integer", "number", "text")
    assert service.list_files(folder) == {"plans": ["plan.toml"], "tables": ["survey.csv"]} | {
        "tables": [one for one in service.list_files(folder)["tables"] if one.startswith(("survey", "results"))]
    }


@pytest.mark.parametrize(
    "source",
    [
        "../survey.csv",
        "/etc/passwd",
        "env:INBOUNDS_ELSEWHERE",
        "link.csv",
        "file:///etc/passwd",
        "*/../../*.csv",
        "a\0b",
    ],
)
def test_tables_outside_the_folder_are_refused(tmp_path, monkeypatch, source):
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "survey.csv").write_text("age\n3\n", "utf-8")
    (folder / "link.csv").symlink_to(tmp_path / "survey.csv")
    monkeypatch.setenv("INBOUNDS_ELSEWHERE", str(tmp_path / "survey.csv"))
    with pytest.raises(DataError, match=r"data\.source: it is not in the folder"):
        service.list_columns(folder, source, None, {})
    # The control: the same file, inside.
    shutil.copy(tmp_path / "survey.csv", folder / "own.csv")
    assert service.list_columns(folder, "own.csv", None, {}) == [{"name": "age", "type": ""}]


def test_statistics_come_from_the_register():
    listed = {one["name"]: one for one in service.list_statistics()}
    assert listed["proportion"]["keys"][0]["name"] == "level"
    assert listed["crosstab"]["columns"] == "table"
    assert not any(key["name"] == "bounds" for one in listed.values() for key in one["keys"])
    assert all(one["help"] for one in listed.values())


def test_errors_over_epsilon_are_those_of_the_preview(made):
    ahead = service.make_ahead(made[1])
    seen = {one.name: one.forecast for one in service.preview_plan(made[1]).prospects}
    for item in ahead.at("1.0")["items"]:
        assert item["unit"] == ("percentage points" if item["name"] in ("smokers", "health") else "")
        scale = 100 if item["unit"] else 1
        assert item["half_width"] == scale * seen[item["name"]].reach
        assert item["rmse"] == scale * seen[item["name"]].typical
        # As many digits as a report would show.
        assert len(item["said"].replace(".", "").strip("0")) <= 2
        assert float(item["said"].replace(",", "")) == pytest.approx(item["half_width"], rel=0.2)
    assert ahead.at("1") is ahead.at("1.00")
    # Twice the budget, about half the error, and the plan itself is as it was.
    half = {item["name"]: item["half_width"] for item in ahead.at("2")["items"]}
    assert all(0.3 < half[one["name"]] / one["half_width"] < 0.75 for one in ahead.at("1")["items"])
    assert ahead.known()[0]["epsilon"] == "1"
    wanted = 1.01 * half["age"]
    found = ahead.least_epsilon("age", wanted)
    index = ahead.grid.index(found)
    reach = [
        next(x["half_width"] for x in ahead.at(e)["items"] if x["name"] == "age") for e in ahead.grid[index - 1 :][:2]
    ]
    assert reach[1] <= wanted < reach[0]
    with pytest.raises(ValueError, match="even epsilon"):
        ahead.least_epsilon("age", 1e-9)
    for bad in ("0", "-1", "nan", "inf", "x", "1e9", "1" * 40):
        with pytest.raises(ValueError, match="epsilon must be"):
            ahead.at(bad)


def test_what_is_worth_publishing_follows_the_budget(made):
    ahead = service.make_ahead(made[1])
    order = ["tells nothing", "rough", "reliable"]
    few, many = ({x["name"]: x["worth"] for x in ahead.at(e)["items"]} for e in ("0.001", "1"))
    assert few["blood pressure by region"] == "tells nothing"
    assert many["age"] == "reliable"
    assert all(order.index(few[name]) <= order.index(many[name]) for name in many)


def test_an_offer_names_cost_and_what_is_left(made, path):
    plan = Plan.load(path)
    assert service.offer_release(plan) == {
        "kind": "new",
        "fits": True,
        "cost": "1",
        "left": "3",
        "after": "2",
        "said": "It would cost 1 of the 3 left, and leave 2.",
    }
    assert not service.imagine_charge(plan, "3.5")["fits"]
    assert not (path.parent / "survey.ledger").exists()
    again = service.offer_release(Plan.load(made[1]))
    assert (again["kind"], again["cost"], again["left"]) == ("stored", "0", "2")
    path.write_text(demo.PLAN.replace('ledger = "survey.ledger"\n', ""), "utf-8")
    assert service.offer_release(Plan.load(path))["left"] is None


def test_an_offer_counts_persons_as_the_release_does(path):
    """A dataset that was charged per person can be charged again, and the page says so."""
    path.write_text(demo.PLAN.replace("[data]\n", '[data]\nperson = "patient"\ncontributions = 1\n'), "utf-8")
    plan = Plan.load(path)
    ledger.charge(plan.account, request_of(plan.drafts(), plan.account.dataset))
    offer = service.imagine_charge(plan, "0.5")
    assert (offer["fits"], offer["left"], offer["after"]) == (True, "2", "1.5")


def test_an_offer_for_a_charge_without_a_result(path):
    demo.survey().write_csv(path.parent / "survey.csv")
    plan = Plan.load(path)

    def stop(step):
        if step == service.STAGES[2]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        service.release_plan(plan, path.parent / "out", say=stop)
    again = service.offer_release(plan)
    assert (again["kind"], again["fits"], again["cost"], again["left"]) == ("paid", True, "0", "2")
    assert service.rehearse_plan(plan, path.parent / "out").endswith("it would be finished and cost nothing")
    # A table that is refused has no result.
    demo.survey().with_columns(region=pl.lit("centre")).write_csv(path.parent / "survey.csv")
    with pytest.raises(DataError):
        service.release_plan(plan, path.parent / "out")
    again = service.offer_release(plan)
    assert (again["kind"], again["fits"], again["cost"], again["left"]) == ("unfinished", True, "1", "2")
    assert "can be charged again" in again["said"]
    assert "--new" not in again["said"]


def test_the_ledger_in_words(made):
    shown = service.show_ledger(made[0] / "survey.ledger")
    assert [one["kind"] for one in shown["entries"]] == [
        "ledger",
        "dataset",
        "charge",
        "attempt",
        "drawing",
        "drawn",
        "result",
    ]
    (dataset,) = shown["datasets"]
    assert (dataset["spent"], dataset["limit"], dataset["left"]) == ("1", "3", "2")
    assert dataset["part"] == pytest.approx(1 / 3)
    assert service.show_ledger(made[0] / "none.ledger")["entries"] == []
    other = made[0].parent / "changed.ledger"
    shutil.copy(made[0] / "survey.ledger", other)
    other.write_bytes(other.read_bytes().replace(b"survey-2026", b"survey-2027"))
    with pytest.raises(ledger.LedgerError):
        service.show_ledger(other)


def test_results_are_listed_and_packed(made):
    folder, path, _ = made
    (one,) = service.list_results(folder)
    assert one["id"].startswith("plan-")
    assert one["dataset"] == "survey-2026"
    assert {"release.json", "report.html"} <= set(one["files"])
    place = service.find_result(folder, one["id"])
    assert service.pack_result(place, path)[:2] == b"PK"
    for name in ("..", "../..", "none", "", "/etc"):
        with pytest.raises(RecordError):
            service.find_result(folder, name)
    plan = Plan.load(path)
    assert service.choose_folder(plan, path) == place
    assert service.choose_folder(plan, path, new=True) == place.with_name(f"{place.name}-2")


def test_the_two_laws_are_those_of_the_library():
    import inbounds as ib

    shown = service.compare_laws(0.5, 50, 0, 1, 0.1)
    laws = {one["name"]: one for one in shown["laws"]}
    clamped = ib.Mechanism(ib.Laplace(0.02 / 0.5), "bit", bounds=(0, 1))
    assert laws["bit"]["atoms"][0] == pytest.approx(float(clamped.atoms(at=0.1)[0]))
    assert laws["bit"]["bias"] == f"{float(clamped.bias(0.1)):.3g}"
    assert laws["bit"]["keeps"]
    assert laws["truncated"]["keeps"]
    # The paper's scale does not keep what it says.
    paper = ib.privacy_loss(ib.Mechanism(ib.Laplace(0.02 / 0.5), "truncated", bounds=(0, 1)), 0.02)
    assert laws["paper"]["loss"] == f"{paper:.3g}"
    assert not laws["paper"]["keeps"]
    over = service.compare_over_truths(0.5, 50, 0, 1)
    assert over["laws"][0]["rmse"][80] == pytest.approx(float(clamped.mse(0.5)) ** 0.5)
    for bad in ((0, 50, 0, 1, 0.1), (1, 0, 0, 1, 0.1), (1, 5, 1, 0, 0.1), (1, 5, 0, 1, 2), (float("nan"), 5, 0, 1, 0)):
        with pytest.raises((ValueError, TypeError)):
            service.compare_laws(*bad)
