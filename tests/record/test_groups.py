"""Records of releases that were drawn together: what they say is proved, and what was edited is refused."""

import copy
import json
import random
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest

from inbounds.errors import CertificateError, RecordError
from inbounds.ledger import Account
from inbounds.plan.release import Releases, release
from inbounds.record import Release
from tests import record_fuzz
from tests.app.test_cli import called
from tests.plan.joint import groups_of, mean, plan_of, proportion
from tests.records import restored

ITEMS = {
    "mean": mean("x0"),
    "variance": {"statistic": "variance", "columns": ["x0"], "method": "moments"},
    "share": proportion("g0"),
    "count": {"statistic": "count", "columns": ["g1"], "level": "b"},
    "alone": mean("x1", joint=False),
}
ROWS = 50


def table(seed=0):
    rng = np.random.default_rng(seed)
    numbers = {name: rng.uniform(0, 10, ROWS) for name in ("x0", "x1")}
    return numbers | {name: rng.choice(["a", "b"], ROWS) for name in ("g0", "g1")}


def plan(folder, **budget):
    account = {"dataset": "d"} if folder is None else {"dataset": "d", "ledger": str(folder / "d.ledger"), "limit": 5}
    return plan_of(dict(ITEMS), rows=ROWS, **account, **budget)


@pytest.fixture(scope="module")
def made():
    """Releases of a plan without a ledger, four of them in one draw."""
    asked = plan(None)
    assert {"mean", "variance", "share", "count"} in groups_of(asked)
    return release(asked, table())


def body_of(made):
    return json.loads(made.to_json())


@pytest.mark.claim("joint-plan")
def test_a_record_says_what_was_drawn_together(made):
    body = body_of(made)
    (group,) = body["groups"]
    assert group["terms"]["epsilon"] == "4/5"
    assert [one["name"] for one in group["statistics"]] == ["mean", "variance", "proportion", "count"]
    drawn = {name: one["drawn_with"] for name, one in body["releases"].items()}
    assert drawn == {"mean": [0, 0], "variance": [0, 1], "share": [0, 2], "count": [0, 3], "alone": None}
    # ε of the draw counts once.
    assert (made.epsilon, made["mean"].epsilon, made["alone"].epsilon) == (1, 0.8, 0.2)


@pytest.mark.claim("verify")
def test_what_is_read_is_what_was_written(made):
    again = Releases.from_json(made.to_json())
    assert again.is_same(made)
    assert again.to_json() == made.to_json()
    assert (again.epsilon, again.digest) == (1, made.digest)


@pytest.mark.claim("verify")
@pytest.mark.parametrize("name", ["mean", "variance", "share", "count"])
def test_one_of_them_has_a_record_of_its_own(made, name):
    """It names the whole draw, costs as much as the draw, and proves itself."""
    text = made[name].to_json()
    again = Release.from_json(text)
    assert again == made[name]
    assert again.certificate.epsilon == Fraction(4, 5)
    assert len(json.loads(text)["groups"][0]["statistics"]) == 4


def test_the_command_verifies_both(made, monkeypatch, capsys, tmp_path):
    for name, text, said in (
        ("all.json", made.to_json(), "5 releases hold: epsilon 1 in all, substitute; there is no ledger\n"),
        ("one.json", made["mean"].to_json(), "1 release holds: epsilon 0.8, substitute; there is no ledger\n"),
    ):
        (tmp_path / name).write_text(text, "utf-8")
        assert called(monkeypatch, capsys, "verify", tmp_path / name) == (0, said, "")


def moved(record, name, steps):
    """Another number in the first place of a release, on the same grid, with the value that follows."""
    one = record["releases"][name]
    law = one["certificate"]
    one["noisy"][0] = str(Fraction(one["noisy"][0]) + steps * Fraction(law["step"]))


def first_group(record):
    return record["groups"][0]


def swap_members(record):
    one, other = (record["releases"][name] for name in ("share", "count"))
    one["drawn_with"], other["drawn_with"] = other["drawn_with"], one["drawn_with"]


EDITS = {
    "another member": lambda r: r["releases"]["mean"].update(drawn_with=[0, 1]),
    "members swapped": swap_members,
    "a member that is not there": lambda r: r["releases"]["mean"].update(drawn_with=[0, 4]),
    "a member from the end": lambda r: r["releases"]["mean"].update(drawn_with=[0, -4]),
    "a group that is not there": lambda r: r["releases"]["mean"].update(drawn_with=[1, 0]),
    "a group from the end": lambda r: r["releases"]["mean"].update(drawn_with=[-1, 0]),
    "true for one": lambda r: r["releases"]["variance"].update(drawn_with=[0, True]),
    "a number for one": lambda r: r["releases"]["variance"].update(drawn_with=[0, 1.0]),
    "words": lambda r: r["releases"]["mean"].update(drawn_with="00"),
    "drawn by itself": lambda r: r["releases"]["mean"].update(drawn_with=None),
    "drawn with others": lambda r: r["releases"]["alone"].update(drawn_with=[0, 0]),
    "more epsilon for the draw": lambda r: first_group(r)["terms"].update(epsilon="8/5"),
    "less epsilon for the draw": lambda r: first_group(r)["terms"].update(epsilon="2/5"),
    "less epsilon everywhere": lambda r: [
        terms.update(epsilon="2/5") for terms in (first_group(r)["terms"], r["releases"]["mean"]["terms"])
    ],
    "another unit": lambda r: first_group(r)["terms"].update(contributions=2),
    "other rows": lambda r: first_group(r)["terms"].update(rows=ROWS + 1),
    "protected rows": lambda r: first_group(r)["terms"].update(rows=None, neighbours="add-remove"),
    "truncated": lambda r: first_group(r)["terms"].update(bounding="truncated"),
    "other bounds": lambda r: first_group(r)["statistics"][0].update(bounds=["0", "20"]),
    "another statistic": lambda r: first_group(r)["statistics"].__setitem__(0, first_group(r)["statistics"][1]),
    "fewer members": lambda r: first_group(r)["statistics"].pop(),
    "one member": lambda r: first_group(r).update(statistics=first_group(r)["statistics"][:1]),
    "a member more": lambda r: first_group(r)["statistics"].append(first_group(r)["statistics"][2]),
    "a number for an integer": lambda r: first_group(r)["terms"].update(rows=float(ROWS)),
    "true for an integer": lambda r: first_group(r)["terms"].update(contributions=True),
    "a member's own statistic": lambda r: r["releases"]["share"]["statistic"].update(level="b"),
    "a number that others share": lambda r: moved(r, "mean", 5000),
    "a number off the grid": lambda r: moved(r, "share", Fraction(1, 3)),
    "a group without release": lambda r: [r["releases"].pop(name) for name in ("mean", "variance", "share", "count")],
    "a group twice": lambda r: r["groups"].append(copy.deepcopy(first_group(r))),
    "no groups": lambda r: r.update(groups=[]),
    "groups that are none": lambda r: r.update(groups=None),
    "groups left out": lambda r: r.pop("groups"),
    "a word more": lambda r: first_group(r).update(more=1),
}


def values_follow(record):
    """What a careful forger restores: a value that follows from the numbers, as far as that can be derived."""
    for name, one in record["releases"].items():
        if name == "mean" and isinstance(one.get("noisy"), list):
            one["value"] = min(max(5 + float(Fraction(one["noisy"][0])) * 2 * 5 / ROWS, 0.0), 10.0)


@pytest.mark.claim("verify")
@pytest.mark.parametrize("name", EDITS)
def test_edits_are_refused(made, name):
    record = body_of(made)
    EDITS[name](record)
    values_follow(record)
    with suppress(AttributeError, KeyError, TypeError):
        record = restored(record)
    with pytest.raises((RecordError, CertificateError)):
        Releases.from_json(json.dumps(record))


@pytest.mark.claim("verify")
def test_numbers_that_differ_are_named(made):
    """All else about it holds: the mean alone, of the same draw with another number, would be taken."""
    record = body_of(made)
    moved(record, "mean", 5000)
    values_follow(record)
    with pytest.raises(RecordError, match="different numbers in the same place"):
        Releases.from_json(json.dumps(restored(record)))
    record["releases"] = {"mean": record["releases"]["mean"]}
    assert Releases.from_json(json.dumps(restored(record))).epsilon == Fraction(4, 5)


def test_the_control_an_honest_record_is_taken(made):
    record = body_of(made)
    values_follow(record)
    assert Releases.from_json(json.dumps(restored(record))).is_same(made)


def test_random_edits_change_no_law(made):
    """Fields of the draw and of its members, edited by chance: what is taken has the laws that were paid for."""
    rng, refused, honest = random.Random(4), 0, body_of(made)
    for _ in range(200):
        record = copy.deepcopy(honest)
        name = rng.choice(list(record["releases"]))
        part = rng.choice([{"groups": record["groups"]}, record["releases"][name]])
        record_fuzz.edit(part, [record["releases"]["variance"]], rng)
        record["groups"] = part.get("groups", record["groups"])
        with suppress(AttributeError, KeyError, TypeError):
            record = restored(record)
        try:
            taken = Releases.from_json(json.dumps(record))
        except record_fuzz.REFUSALS:
            refused += 1
            continue
        for which, one in taken.items():
            assert (one.certificate, one.units, one.bounds) == laws_of(made[which])
        assert taken.epsilon == 1
    assert refused > 150


def laws_of(release):
    return release.certificate, release.units, release.bounds


@pytest.mark.claim("joint-plan")
def test_the_ledger_is_charged_once(tmp_path):
    asked = plan(tmp_path)
    made = release(asked, table())
    assert made.entry.body["epsilon"] == "1"
    assert len(made.entry.body["what"]) == 5
    account = Account(tmp_path / "d.ledger", "d", 5)
    assert account == asked.account
    with pytest.warns(UserWarning, match="this is the stored result"):
        shown = release(asked, table())
    assert shown.stored
    assert shown.is_same(made)
    # By themselves they are another request, and cost as much again.
    again = release(plan(tmp_path, joint=False), table())
    assert not again.stored
    assert again.entry.body["epsilon"] == "1"
    assert again.entry.sequence > made.entry.sequence


def test_the_digest_tells_joint_draws_from_others():
    one, other = plan(None), plan(None, joint=False)
    assert one.digest != other.digest
    assert one.digest == plan(None).digest
