"""`inbounds verify` on the record of one release and on that of a plan: honest ones hold, edited ones are refused."""

import copy
import hashlib
import json
from fractions import Fraction

import pytest

import inbounds as ib
from inbounds.plan.plan import Plan
from inbounds.plan.release import release
from inbounds.privacy.terms import Terms
from inbounds.record import codec
from inbounds.record.spelling import parse_statistic
from tests.app.test_cli import called
from tests.records import restored

AGES = {"age": [float(17 + 7 * i % 70) for i in range(60)], "smoker": ["yes", "no", "no"] * 20}


def single():
    """The record of one release."""
    return json.loads(ib.mean(AGES, "age", bounds=(0, 100), epsilon=1).to_json())


def planned(folder):
    """The record of a plan with a charge: a mean, a count and shares."""
    plan = Plan.of(
        {
            "data": {"rows": 60},
            "budget": {"epsilon": 1, "dataset": "d", "ledger": str(folder / "d.ledger")},
            "columns": {"age": {"bounds": [0, 100]}, "smoker": {"levels": ["yes", "no"]}},
            "release": [
                {"name": "age", "statistic": "mean", "columns": ["age"]},
                {"name": "smokers", "statistic": "count", "columns": ["smoker"], "level": "yes"},
                {"name": "shares", "statistic": "proportions", "columns": ["smoker"]},
            ],
        }
    )
    return json.loads(release(plan, AGES).to_json())


def resigned(law):
    """A certificate with the digest of its own text."""
    text = json.dumps({k: v for k, v in law.items() if k != "digest"}, sort_keys=True, separators=(",", ":"))
    law["digest"] = hashlib.sha256(text.encode()).hexdigest()


def doubled(law, name):
    law[name] = 2 * law[name] if isinstance(law[name], int) else str(2 * Fraction(law[name]))
    resigned(law)


def moved(one, steps):
    drawn, step = Fraction(one["noisy"][0]), Fraction(one["certificate"]["step"])
    one["noisy"] = [str(drawn + (1 if drawn < 50 else -1) * Fraction(steps) * step)]


# Of the mean: what it says was drawn, asked for, promised and proved.
EDITS = {
    "value": lambda one: one.update(value=one["value"] + 1),
    "a value that is nearly right": lambda one: one.update(value=one["value"] * (1 + 1e-6) + 1e-6),
    "value as text": lambda one: one.update(value=str(one["value"])),
    "a number that gives another value": lambda one: moved(one, 1000),
    "a number off the grid": lambda one: moved(one, "1/3"),
    "a number beyond the bounds": lambda one: one.update(noisy=["101"]),
    "one more number": lambda one: one.update(noisy=one["noisy"] * 2),
    "no number": lambda one: one.update(noisy=[]),
    "epsilon promised": lambda one: one["terms"].update(epsilon="1/100"),
    "rows": lambda one: one["terms"].update(rows=61),
    "contributions": lambda one: one["terms"].update(contributions=2),
    "neighbours": lambda one: one["terms"].update(neighbours="add-remove", rows=None),
    "bounding": lambda one: one["terms"].update(bounding="truncated"),
    "bounds of the column": lambda one: one["statistic"].update(bounds=["0", "50"]),
    "statistic": lambda one: one["statistic"].update(name="sum"),
    "column": lambda one: one["statistic"].update(column="income"),
    "missing": lambda one: one["statistic"].update(missing="40"),
    "method": lambda one: one.update(method="noisy sum over noisy count"),
    "rule of the column": lambda one: one["columns"][0].update(upper="50"),
    "units": lambda one: one.update(units=["2"]),
    "bounds": lambda one: one.update(bounds=[["0", "50"]]),
    "notes": lambda one: one.update(notes=["nothing was drawn"]),
    "epsilon certified": lambda one: doubled(one["certificate"], "epsilon"),
    "sensitivity": lambda one: doubled(one["certificate"], "sensitivity"),
    "scale of the noise": lambda one: doubled(one["certificate"], "divisor"),
}


def charged(record, **changes):
    """The entry of a record with other words and the hash that fits them."""
    entry = record["entry"]
    entry["body"] |= changes
    text = json.dumps(entry["body"], sort_keys=True, ensure_ascii=False)
    chained = json.dumps([entry["sequence"], entry["kind"], text, entry["previous"]])
    entry["hash"] = hashlib.sha256(chained.encode()).hexdigest()


def swapped(record, name):
    one, other = (record["releases"][which] for which in ("age", "shares"))
    one[name], other[name] = other[name], one[name]


def renamed(record):
    record["releases"] = {f"{name}, again": one for name, one in record["releases"].items()}


# Of a plan's record: every third of the former, and what is around releases.
AROUND = {
    "format": lambda record: record.update(format="inbounds-record/2"),
    "dataset": lambda record: record.update(dataset="e"),
    "no dataset": lambda record: record.update(dataset=None),
    "a field too many": lambda record: record.update(request={}),
    "no releases": lambda record: record.update(releases={}),
    "releases in a list": lambda record: record.update(releases=list(record["releases"].values())),
    "a release left out": lambda record: record["releases"].pop("shares"),
    "a release twice": lambda record: record["releases"].update(more=record["releases"]["age"]),
    "other names": renamed,
    "values swapped": lambda record: swapped(record, "value"),
    "certificates swapped": lambda record: swapped(record, "certificate"),
    "a field of a release left out": lambda record: record["releases"]["shares"].pop("notes"),
    "the hash of the entry": lambda record: record["entry"].update(hash="0" * 64),
    "a charge of less": lambda record: charged(record, epsilon="1/2", cost=5 * 10**8),
    "a charge of something else": lambda record: charged(record, what=["age: mean"]),
    "a charge of another dataset": lambda record: charged(record, dataset="e"),
}
OF_A_PLAN = {**AROUND, **{name: edit for place, (name, edit) in enumerate(EDITS.items()) if place % 3 == 0}}


def told(monkeypatch, capsys, folder, record):
    """What the command says of a record: exit status, output, errors."""
    file = folder / "release.json"
    file.write_text(record if isinstance(record, str) else json.dumps(record))
    return called(monkeypatch, capsys, "verify", file)


def assert_refused(monkeypatch, capsys, folder, record):
    status, said, err = told(monkeypatch, capsys, folder, record)
    assert (status, said) == (2, "")
    assert err.startswith("inbounds: ")
    assert err.count("\n") == 1


@pytest.mark.claim("verify")
def test_there_are_25_edits_of_each():
    assert len(EDITS) == len(OF_A_PLAN) == 25


@pytest.mark.claim("verify")
def test_the_record_of_one_release_holds(monkeypatch, capsys, tmp_path):
    status, said, err = told(monkeypatch, capsys, tmp_path, ib.mean(AGES, "age", bounds=(0, 100), epsilon=1).to_json())
    assert (status, err) == (0, "")
    assert said == "1 release holds: epsilon 1, substitute; there is no ledger\n"


@pytest.mark.claim("verify")
def test_the_record_of_a_plan_holds(monkeypatch, capsys, tmp_path):
    status, said, err = told(monkeypatch, capsys, tmp_path, planned(tmp_path))
    assert (status, err) == (0, "")
    assert said == "3 releases hold: epsilon 1 in all, substitute\n"


@pytest.mark.claim("verify")
def test_covariances_that_were_truncated_in_turn_hold(monkeypatch, capsys, tmp_path):
    """Each has a grid of its own, which waits for the released variances."""
    table = {"a": AGES["age"], "b": AGES["age"][::-1]}
    bounds = {"a": (0, 100), "b": (0, 100)}
    made = ib.covariance(table, bounds=bounds, epsilon=1, method="split", bounding="truncated")
    assert told(monkeypatch, capsys, tmp_path, made.to_json())[0] == 0


@pytest.mark.claim("verify")
@pytest.mark.parametrize("name", EDITS)
def test_edits_of_one_release_are_refused(monkeypatch, capsys, tmp_path, name):
    """With every digest restored: what they are of is edited, not the digests."""
    record = single()
    EDITS[name](record["releases"]["mean of age"])
    assert_refused(monkeypatch, capsys, tmp_path, restored(record))


@pytest.mark.claim("verify")
@pytest.mark.parametrize("name", OF_A_PLAN)
def test_edits_of_a_plans_record_are_refused(monkeypatch, capsys, tmp_path, name):
    record = planned(tmp_path)
    before = copy.deepcopy(record)
    if name in AROUND:
        AROUND[name](record)
    else:
        EDITS[name](record["releases"]["age"])
    assert record != before
    whole = isinstance(record["releases"], dict) and name != "a field of a release left out"
    assert_refused(monkeypatch, capsys, tmp_path, restored(record) if whole else record)


@pytest.mark.claim("verify")
def test_what_is_no_record_is_refused_in_one_line(monkeypatch, capsys, tmp_path):
    record = json.dumps(single())
    twice = record.replace('"dataset": null', '"dataset": null, "dataset": null')
    for text in ("", "[]", "null", record[:-1], twice, "[" * 100_000, record.replace('"digest": "', '"digest": "0')):
        assert_refused(monkeypatch, capsys, tmp_path, text)


def made_up(**terms):
    """A record of a mean with these terms, written by the library as if somebody had asked for it."""
    statistic = parse_statistic({"name": "mean", "column": "age", "bounds": ["0", "100"]})
    asked = {"epsilon": "1", "neighbours": "substitute", "contributions": 1, "bounding": "bit", "rows": 60} | terms
    draft = statistic.draft(Terms.from_dict(asked)).record
    return codec.with_numbers(draft, ["0"])


@pytest.mark.claim("verify")
@pytest.mark.parametrize("terms", [{"epsilon": "1000000000"}, {"rows": 2**31 + 1}, {"rows": 10**12}])
def test_what_cannot_be_asked_for_is_refused(monkeypatch, capsys, tmp_path, terms):
    """Terms that no call takes are no terms of a record: they are told, not proved."""
    try:
        text = made_up(**terms).to_json()
    except ValueError:
        return
    assert_refused(monkeypatch, capsys, tmp_path, text)


@pytest.mark.claim("verify")
def test_a_record_is_of_one_table(monkeypatch, capsys, tmp_path):
    """A public number of rows is one number."""
    releases = {f"of {rows}": made_up(rows=rows) for rows in (60, 61)}
    assert_refused(monkeypatch, capsys, tmp_path, "".join(codec.record_pieces(releases)))


@pytest.mark.claim("verify")
@pytest.mark.parametrize(("name", "written"), [("dimension", 1.0), ("dimension", True), ("draws", 1.0)])
def test_a_certificate_is_written_in_one_way(monkeypatch, capsys, tmp_path, name, written):
    """Its digest is that of its text: who takes it for a record of its own must find that it fits."""
    record = single()
    law = record["releases"]["mean of age"]["certificate"]
    assert law[name] == written
    law[name] = written
    assert_refused(monkeypatch, capsys, tmp_path, record)
