"""The main job: order of things, stored results, records that prove themselves."""

import hashlib
import json
from dataclasses import replace
from fractions import Fraction

import narwhals as nw
import polars as pl
import pytest

import inbounds as ib
from inbounds import ledger
from inbounds import service as commands
from inbounds.grid.scale import Scale
from inbounds.ledger import Account, BudgetRefused, LedgerError, Unfinished
from inbounds.plan.plan import Plan, PlanError
from inbounds.plan.release import Releases, release
from inbounds.privacy.certificate import certify, compose
from inbounds.record import FORMAT, RecordError
from inbounds.tables.schema import DataError
from tests import health as example


@pytest.fixture
def plan(tmp_path):
    return Plan.load(example.write(tmp_path))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return release(Plan.load(example.write(tmp_path_factory.mktemp("made"))))


def spent(plan):
    path = plan.account.ledger
    return ledger.standings(ledger.verify(path))[0].spent if path.exists() else None


@pytest.mark.claim("job")
def test_a_plan_is_charged_once_and_kept(plan):
    first = release(plan)
    assert spent(plan) == ledger.Pure(1)
    assert (first.epsilon, first.left, first.stored) == (1, "2", False)
    again = release(plan)
    assert again.stored
    assert spent(plan) == ledger.Pure(1)
    assert {name: one.to_json() for name, one in again.items()} == {name: one.to_json() for name, one in first.items()}
    anew = release(plan, new=True)
    assert spent(plan) == ledger.Pure(2)
    assert anew["age"].value != first["age"].value
    release(plan, new=True)
    with pytest.raises(BudgetRefused):
        release(plan, new=True)
    assert spent(plan) == ledger.Pure(3)
    # The last that was released is what comes back.
    assert release(plan).stored


@pytest.mark.claim("job")
def test_the_values_are_those_of_the_table(tmp_path):
    """At a large ε there is next to no noise: exact statistics of the whole survey, by Polars."""
    path = example.write(tmp_path)
    text = path.read_text().replace("epsilon = 1.0", "epsilon = 1000000").replace("limit = 3.0", "limit = 1000000")
    path.write_text(text)
    made, table = release(path), example.survey()
    assert made["smokers"].value == pytest.approx((table["smoker"] == "yes").mean(), abs=1e-6)
    assert made["age"].value == pytest.approx(table["age"].mean(), abs=1e-4)
    assert made["variance of blood pressure"].value == pytest.approx(table["pressure"].var(), rel=1e-5)
    filled = table.with_columns(pl.col("bmi").fill_null(26))
    assert made["correlations"].value[0, 2] == pytest.approx(filled.select(pl.corr("age", "pressure")).item(), abs=1e-4)
    crossed = {(r, s): n for r, s, n in table.group_by("region", "smoker").len().iter_rows()}
    for i, region in enumerate(example.REGIONS):
        assert made["smoking by region"].value[i].tolist() == [crossed[region, "yes"], crossed[region, "no"]]
    groups = dict(table.group_by("region").agg(pl.col("pressure").mean()).iter_rows())
    assert made["blood pressure by region"].value == pytest.approx([groups[one] for one in example.REGIONS], abs=1e-3)


@pytest.mark.claim("job")
def test_the_data_are_read_after_the_charge_and_shown_after_keeping(plan, monkeypatch):
    order = []

    def noted(module, name):
        real = getattr(module, name)

        def wrapped(*args, **kwargs):
            order.append(name)
            return real(*args, **kwargs)

        monkeypatch.setattr(module, name, wrapped)

    from inbounds.road import run

    for name in ("count_rows", "try_queries", "count_exactly", "drawing", "write_draws"):
        noted(run, name)
    for name in ("charge", "keep"):
        noted(ledger, name)
    passes = []
    real = run.count_cells

    def count_cells(frame, *args, **kwargs):
        passes.append(frame.lazy().select(nw.len()).collect().item())
        return real(frame, *args, **kwargs)

    monkeypatch.setattr(run, "count_cells", count_cells)
    release(plan)
    assert order == ["count_rows", "try_queries", "charge", "count_exactly", "drawing", "write_draws", "keep"]
    # The whole plan is one pass, after one over no rows.
    assert passes == [0, 20_000]


@pytest.mark.claim("open-source")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.drop("age"), "no column 'age'"),
        (
            lambda t: t.drop("age", "region"),
            "no columns 'age', 'region'; the first line of a CSV",
        ),
        (lambda t: t[:-1], "rows=20000 was given, but the table has another number of rows"),
        (lambda t: pl.concat([t, t[:1]]), "another number of rows"),
        (lambda t: t[:0], "the table has no rows, but rows=20000 was given"),
    ],
)
def test_public_mistakes_cost_nothing(plan, change, said):
    change(example.survey()).write_csv(plan.data.source)
    with pytest.raises(DataError, match=said):
        release(plan)
    assert not plan.account.ledger.exists()


def test_a_missing_file_costs_nothing(plan):
    (plan.account.ledger.parent / "survey.csv").unlink()
    with pytest.raises(DataError, match=r"there is no file .*survey.csv"):
        release(plan)
    assert not plan.account.ledger.exists()


@pytest.mark.claim("job")
def test_what_only_the_data_show_leaves_the_charge_standing(plan):
    table = example.survey().with_columns(region=pl.when(pl.col("age") > 60).then(pl.lit("centre")).otherwise("region"))
    table.write_csv(plan.data.source)
    with pytest.raises(DataError, match="column 'region' holds values that are none of its levels") as caught:
        release(plan)
    assert "centre" not in str(caught.value)
    assert spent(plan) == ledger.Pure(1)
    with pytest.raises(Unfinished, match="and failed"):
        release(plan)
    assert [entry.kind for entry in ledger.verify(plan.account.ledger)][-1] == "failure"
    example.survey().write_csv(plan.data.source)
    assert not release(plan, new=True).stored


def test_tables_at_hand_and_no_ledger(plan):
    table = example.survey()
    bare = plan.model_copy(update={"budget": plan.budget.model_copy(update={"ledger": None})})
    made = release(bare, table)
    assert (made.entry, made.left) == (None, None)
    assert Releases.from_json(made.to_json()).entry is None
    assert release(bare, table.lazy())["age"].value != made["age"].value
    other = plan.account.ledger.parent / "other.ledger"
    assert release(bare, table.to_pandas(), ledger=other).left == "2"
    nowhere = bare.model_copy(update={"data": bare.data.model_copy(update={"source": None})})
    with pytest.raises(PlanError, match=r"data.source: must be given"):
        release(nowhere)


@pytest.mark.claim("verify")
def test_records_round_trip(made):
    again = Releases.from_json(made.to_json())
    assert again.to_json() == made.to_json()
    assert dict(again) == dict(made)
    assert again.entry == made.entry
    assert str(again).count("epsilon") == len(made)
    assert repr(made).startswith("<Releases: smokers, age")


def set_at(*path):
    def change(body, value):
        for key in path[:-1]:
            body = body[key]
        body[path[-1]] = value(body[path[-1]]) if callable(value) else value

    return change


R, AGE = "releases", "age"
EDITS = {
    "a value": (set_at(R, AGE, "value"), 40.0),
    "a count": (set_at(R, "smoking by region", "value", 0, 0), 1),
    "noisy numbers": (set_at(R, AGE, "noisy", 0), "40"),
    "ε of a release": (set_at(R, AGE, "certificate", "epsilon"), "1/20"),
    "ε that was asked for": (set_at(R, AGE, "terms", "epsilon"), "1/3"),
    "the scale": (set_at(R, AGE, "certificate", "divisor"), lambda d: 2 * d),
    "the exponent": (set_at(R, AGE, "certificate", "exponent"), lambda e: e - 1),
    "the sensitivity": (set_at(R, AGE, "certificate", "sensitivity"), "1/1000000"),
    "the loss": (set_at(R, AGE, "certificate", "loss"), "1/100"),
    "bounds of the value": (set_at(R, AGE, "bounds"), [["0", "100"]]),
    "bounds of a column": (set_at(R, AGE, "columns", 0, "upper"), "90"),
    "bounds that were asked for": (set_at(R, AGE, "statistic", "bounds"), ["18", "90"]),
    "rows": (set_at(R, AGE, "terms", "rows"), 10_000),
    "the dataset": (set_at("dataset"), "another"),
    "the statistic": (set_at(R, AGE, "statistic", "name"), "sum"),
    "the column": (set_at(R, AGE, "statistic", "column"), "income"),
    "the unit": (set_at(R, AGE, "terms", "contributions"), 2),
    "a label": (set_at(R, "health", "axes", 0, 0), "excellent"),
    "the neighbours": (set_at(R, AGE, "certificate", "neighbours"), "add-remove"),
    "the digest": (set_at("digest"), "0" * 64),
    "the entry's cost": (set_at("entry", "body", "cost"), 1),
    "the entry's number": (set_at("entry", "sequence"), 7),
    "the entry's hash": (set_at("entry", "hash"), "0" * 64),
    "the entry's dataset": (set_at("entry", "body", "dataset"), "another"),
    "a release twice": (set_at(R, "smokers"), None),
    "an unknown field": (set_at("format"), "inbounds-record/2"),
}


@pytest.mark.claim("verify")
@pytest.mark.parametrize("what", EDITS)
def test_every_edit_is_found(made, what):
    body = json.loads(made.to_json())
    change, value = EDITS[what]
    change(body, value)
    with pytest.raises(RecordError):
        Releases.from_json(json.dumps(body))


def forged(made, name, **changes):
    """The text with one record changed, its value made anew and its certificate kept: what a careful forger writes."""
    from dataclasses import replace

    return replace(made, records=dict(made) | {name: replace(made[name], **changes)}).to_json()


@pytest.mark.claim("verify")
def test_careful_forgeries_are_found(made):
    """Units, coordinates, laws and notes that agree with themselves, but are not those of the request."""
    crossed, health, share = made["smoking by region"], made["health"], made["smokers"]
    doubled = tuple(2 * unit for unit in crossed.units)
    other = share.certificate
    texts = [
        forged(made, "smoking by region", units=doubled),
        forged(made, "health", units=tuple(7 * unit for unit in health.units)),
        forged(made, "age", notes=("audited by somebody",)),
        forged(made, "age", certificate=other),
        forged(made, "correlations", units=tuple(1000 * unit for unit in made["correlations"].units)),
        forged(made, "blood pressure by region", units=(Fraction(1), Fraction(1), Fraction(0)) * 4),
        forged(
            made, "smokers", noisy=share.noisy * 2, units=share.units * 2, bounds=share.bounds * 2, axes=(("a", "b"),)
        ),
    ]
    for text in texts:
        with pytest.raises(RecordError):
            Releases.from_json(text)
    body = json.loads(made.to_json())
    for lie in ({"who": 3}, {"cost": 1e9}, {"more": 1}, {"what": ["nothing"]}):
        entry = ledger.Entry.after(None, "charge", body["entry"]["body"] | lie).to_dict()
        with pytest.raises(RecordError):
            Releases.from_json(json.dumps(body | {"entry": entry}))


@pytest.mark.claim("verify")
def test_truncated_covariances_are_held_to_the_variances(tmp_path):
    """Each drawn within what the released variances allow: other bounds, or laws that end elsewhere, are found."""
    from dataclasses import replace

    path = example.write(tmp_path)
    split = 'method = "split"\nbounding = "truncated"\nshare = 2'
    text = path.read_text().replace('"sleep"]\nshare = 2', f'"sleep"]\n{split}')
    path.write_text(text.replace('statistic = "correlation"', 'statistic = "covariance"'))
    made = release(path)
    assert Releases.from_json(made.to_json()).to_json() == made.to_json()
    record = made["correlations"]
    assert record.bounding == "truncated"
    # Parts that are true in themselves, but not those of the request.
    first = record.certificate.parts[0]
    for lie in (first, record.certificate.parts[1]):
        parts = (*record.certificate.parts[:-1], lie)
        forgery = forged(made, "correlations", certificate=replace(record.certificate, parts=parts))
        with pytest.raises(RecordError):
            Releases.from_json(forgery)
    wide = tuple((low * 2, high * 2) for low, high in record.bounds)
    one = (record.bounds[0], (Fraction(-1), Fraction(1)), *record.bounds[2:])
    for bounds in (wide, one):
        with pytest.raises(RecordError):
            ib.Release.from_json(replace(record, bounds=bounds).to_json())


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
PROPORTION = 'statistic = "proportion"\ncolumns = ["x"]'


def numbers(folder, rule, release=PROPORTION, epsilon="1"):
    path = folder / "numbers.toml"
    path.write_text(NUMBERS.format(rule=rule, release=release, epsilon=epsilon))
    return Plan.load(path)


def test_numbers_and_text_are_not_taken_for_each_other(tmp_path):
    """Plans that ask for different things are different requests; however a number is written, it is the same one."""
    as_number, as_text = numbers(tmp_path, "missing = 1.0"), numbers(tmp_path, 'missing = "1"')
    assert as_number.digest != as_text.digest
    assert numbers(tmp_path, "missing = 1").digest == as_number.digest
    mean = 'statistic = "mean"\ncolumns = ["x"]'
    long = ["123456789012345678901234567890123", "123456789012345678901234567890999"]
    digests = {numbers(tmp_path, f"bounds = [0, {one}]", mean).digest for one in long}
    assert len(digests) == 2
    same = {numbers(tmp_path, f"bounds = [{one}, 10]", mean).digest for one in ("0", "0.0", "-0.0", "0e5")}
    assert len(same) == 1


@pytest.mark.claim("verify")
@pytest.mark.parametrize(
    ("rule", "words", "epsilon"),
    [
        ("missing = 1.0", PROPORTION, "1"),
        ("bounds = [0, 1.0000000000000000000000000000000000001]", 'statistic = "mean"\ncolumns = ["x"]', "1"),
        ("bounds = [0, 1]", 'statistic = "mean"\ncolumns = ["x"]', "1.00000000000000000000000000001"),
        ("bounds = [0, 1], missing = 0.5", 'statistic = "variance"\ncolumns = ["x"]', "0.3"),
        ("edges = [0, 0.1, 0.30, 1]", 'statistic = "histogram"\ncolumns = ["x"]', "0.125"),
    ],
)
def test_what_was_paid_for_can_be_proved_and_comes_back(tmp_path, rule, words, epsilon):
    plan = numbers(tmp_path, rule, words, epsilon)
    made = release(plan, {"x": [1, 0, 1, 1]})
    assert Releases.from_json(made.to_json()).to_json() == made.to_json()
    # Another table has the same answer, and whoever hands one over is told that it was not read.
    with pytest.warns(UserWarning, match="this is the stored result, no table was read"):
        again = release(plan, {"x": [0, 0, 0, 0]})
    assert again.stored
    assert {name: one.noisy for name, one in again.items()} == {name: one.noisy for name, one in made.items()}


def test_numbers_that_are_too_large_and_trees_that_are_too_deep(tmp_path):
    mean = 'statistic = "mean"\ncolumns = ["x"]'
    whole = NUMBERS.format(rule="bounds = [0, 1]", release=mean, epsilon=1)
    for text in ("contributions = 1" + "0" * 320, "contributions = 9000000000"):
        (tmp_path / "p.toml").write_text(whole.replace("rows = 4", f"rows = 4\n{text}"))
        with pytest.raises(PlanError, match=r"data.contributions: must be less than or equal to"):
            Plan.load(tmp_path / "p.toml")
    shares = 'statistic = "proportions"\ncolumns = ["x"]\nrepair = "tree"\ntree = '
    for tree, said in (("[1.5, 'b']", "must hold levels"), ("[" * 60 + "'a'" + "]" * 60, "nested more than 50 deep")):
        with pytest.raises(PlanError, match=said):
            numbers(tmp_path, 'levels = ["a", "b"]', shares + tree)
    with pytest.raises(PlanError, match=r"release.r.denominator: must be less than or equal to"):
        numbers(tmp_path, "bounds = [0, 1]", f"{mean}\ndenominator = 1{'0' * 30}")
    many = ", ".join(map(str, range(4000)))
    whole = f"levels = [{many}] }}\ny = {{ levels = [{many}]"
    with pytest.raises(PlanError, match="more than 10,000,000 cells"):
        numbers(tmp_path, whole, 'statistic = "crosstab"\ncolumns = ["x", "y"]')
    with pytest.raises(PlanError, match="name each column once"):
        numbers(tmp_path, "bounds = [0, 1]", 'statistic = "covariance"\ncolumns = ["x", "x"]')


def test_a_folder_whose_name_is_a_pattern(tmp_path):
    """Beside d1 there is d[12]: its table is not taken for one of d1."""
    folder = tmp_path / "d[12]"
    with pytest.raises(PlanError, match="read as a file pattern"):
        Plan.load(example.write(folder))


def test_plans_note_what_single_releases_note(tmp_path):
    """A correlation next to a released variance of zero is not available, and the record says so."""
    text = NUMBERS.format(rule="bounds = [0, 1000000]", release="", epsilon="0.001").split("[[release]]")[0]
    text += 'y = { bounds = [0, 1000000] }\n[[release]]\nname = "r"\nstatistic = "correlation"\ncolumns = ["x", "y"]\n'
    (tmp_path / "p.toml").write_text(text)
    plan = Plan.load(tmp_path / "p.toml")
    noted = 0
    for _ in range(20):
        made = release(plan, {"x": [1, 2, 3, 4], "y": [4, 3, 2, 1]}, new=True)
        assert Releases.from_json(made.to_json())["r"].notes == made["r"].notes
        assert ("are not available" in str(made["r"])) == (made["r"].value.tolist()[0][1] is None)
        noted += bool(made["r"].notes)
    assert noted > 0


@pytest.mark.claim("verify")
def test_releases_taken_out_or_exchanged_are_found(made):
    body = json.loads(made.to_json())
    fewer = body | {"releases": {name: one for name, one in body["releases"].items() if name != "age"}}
    swapped = body | {"releases": body["releases"] | {"age": body["releases"]["blood pressure"]}}
    extra = body | {"more": 1}
    for lie in (fewer, swapped, extra, [], {}, {"format": FORMAT}):
        with pytest.raises(RecordError):
            Releases.from_json(json.dumps(lie))
    for text in ("", "{", '{"format": 1, "format": 2}', "[" * 100_000):
        with pytest.raises(RecordError):
            Releases.from_json(text)
    # An entry made up with a hash of its own is still not the charge of this request.
    entry = body["entry"] | {"body": body["entry"]["body"] | {"cost": 1}}
    text = json.dumps([entry["sequence"], entry["kind"], json.dumps(entry["body"], sort_keys=True), entry["previous"]])
    entry["hash"] = hashlib.sha256(text.encode()).hexdigest()
    with pytest.raises(RecordError, match="not the charge of these releases"):
        Releases.from_json(json.dumps(body | {"entry": entry}))


def test_the_ledger_knows_the_result(plan, tmp_path):
    made = commands.release_plan(plan, tmp_path / "out")
    record = tmp_path / "out" / "release.json"
    assert commands.verify_record(record, plan.account.ledger).entry == made.entry
    other = commands.release_plan(plan, tmp_path / "other", new=True)
    # The record of one charge with the numbers of another.
    mixed = json.loads(record.read_text()) | {"entry": other.entry.to_dict()}
    (tmp_path / "mixed.json").write_text(json.dumps(mixed))
    commands.verify_record(tmp_path / "mixed.json")
    with pytest.raises(RecordError, match="the ledger has another result for this charge"):
        commands.verify_record(tmp_path / "mixed.json", plan.account.ledger)
    with pytest.raises(LedgerError, match="there is no ledger"):
        commands.verify_record(record, tmp_path / "none")


def test_one_liner_surface(plan):
    """As the contract has it."""
    assert ib.Plan is Plan
    releases = ib.release(ib.Plan.load(plan.account.ledger.parent / "plan.toml"), data=None, ledger=None)
    assert releases["smokers"].epsilon == pytest.approx(0.1)
    # Of a draw of four releases, which is spent once.
    assert releases["age"].epsilon == releases["correlations"].epsilon == pytest.approx(0.5)
    assert releases.epsilon == Fraction(1)


def test_a_folder_that_cannot_be_written_to_is_called_by_its_argument(tmp_path, made):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"^folder '.*/file/x' cannot be written to: "):
        made.write(tmp_path / "file" / "x")


def test_an_account_is_taken_as_a_ledger(tmp_path):
    """As by every other function; not for the name of a file."""
    plan = Plan.load(example.write(tmp_path))
    table, dataset = example.survey(), plan.budget.dataset
    account = Account(tmp_path / "own.ledger", dataset, 5)
    made = release(plan, table, ledger=account)
    assert made.left == "4"
    assert {path.name for path in tmp_path.glob("*.ledger")} == {"own.ledger"}
    with pytest.raises(ValueError, match=r"an account of 'other', but budget\.dataset"):
        release(plan, table, ledger=Account(tmp_path / "own.ledger", "other", 5))
    with pytest.raises(TypeError, match="a path or an Account, got int"):
        release(plan, table, ledger=3)


def test_what_was_left_then_is_told_of_a_stored_result(tmp_path):
    path = example.write(tmp_path)
    first = release(path)
    assert first.left == "2"
    other = tmp_path / "other.toml"
    other.write_text(path.read_text().replace('name = "age"', 'name = "years"'))
    assert release(other).left == "1"
    again = release(path)
    assert (again.stored, again.left) == (True, first.left)


@pytest.mark.claim("verify")
@pytest.mark.parametrize("how", ["wider", "clamped"])
def test_another_law_of_truncated_covariances_is_found(tmp_path, how):
    """More noise than was asked for harms nobody, but the errors and intervals that follow from it are not true."""
    text = NUMBERS.format(rule="bounds = [0, 9]", release="", epsilon="1").split("[[release]]")[0]
    text = text.replace("rows = 4", "rows = 400")
    text += 'y = { bounds = [0, 9] }\n[[release]]\nname = "c"\nstatistic = "covariance"\ncolumns = ["x", "y"]\n'
    text += 'method = "split"\nbounding = "truncated"\n'
    (tmp_path / "p.toml").write_text(text)
    x = [i % 10 for i in range(400)]
    made = release(tmp_path / "p.toml", {"x": x, "y": x})
    assert Releases.from_json(made.to_json())["c"] == made["c"]
    record = made["c"]
    parts = list(record.certificate.parts)
    assert parts[1].location == "anywhere"
    law = parts[1].mechanism
    other = replace(law, scale=Scale(law.scale.exponent, law.scale.divisor // 8))
    if how == "clamped":
        other = replace(law, bounding="bit")
    part = parts[1]
    promise = {name: getattr(part, name) for name in ("statistic", "neighbours", "sensitivity", "epsilon", "location")}
    parts[1] = certify(other, **promise)
    forged = replace(record, certificate=compose(parts, record.certificate.epsilon))
    lie = replace(made, records={"c": forged})
    with pytest.raises(RecordError, match="'c'"):
        Releases.from_json(lie.to_json())
