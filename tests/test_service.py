"""The service: what faces call, with progress by callback, and cancelled by one that raises."""

import datetime as dt
import json
from pathlib import Path

import pytest

import inbounds as ib
from inbounds import ledger, service
from inbounds.plan.plan import Plan
from tests import health as demo


class Cancelled(Exception):
    pass


def cancel_at(step):
    told = []

    def say(text):
        told.append(text)
        if len(told) == step:
            raise Cancelled

    return say, told


@pytest.mark.parametrize("step", [1, 2])
def test_cancelled_before_the_charge_nothing_is_spent(tmp_path, step):
    plan = Plan.load(demo.write(tmp_path))
    say, told = cancel_at(step)
    with pytest.raises(Cancelled):
        service.release_plan(plan, tmp_path / "out", say=say)
    assert told[-1] == ["looking at the table", "charging the ledger"][step - 1]
    assert not plan.account.ledger.exists()
    assert not (tmp_path / "out").exists()


def test_cancelled_after_the_charge_it_is_kept(tmp_path):
    plan = Plan.load(demo.write(tmp_path))
    say, told = cancel_at(3)
    with pytest.raises(Cancelled):
        service.release_plan(plan, tmp_path / "out", say=say)
    assert told[-1] == "reading the data, once"
    kinds = [entry.kind for entry in ledger.verify(plan.account.ledger)]
    assert kinds == ["ledger", "dataset", "charge", "attempt"]
    assert not service.release_plan(plan, tmp_path / "out").stored
    kinds = [entry.kind for entry in ledger.verify(plan.account.ledger)]
    assert kinds[4:] == ["attempt", "drawing", "drawn", "result"]


@pytest.mark.parametrize("step", [4, 5])
def test_cancelled_after_the_draw_it_is_kept(tmp_path, step):
    plan = Plan.load(demo.write(tmp_path))
    say, told = cancel_at(step)
    with pytest.raises(Cancelled):
        service.release_plan(plan, tmp_path / "out", say=say)
    assert told[-1] == ["keeping the result", "writing the report"][step - 4]
    # The table is not read again.
    Path(plan.data.source).unlink()
    service.release_plan(plan, tmp_path / "out")
    kinds = [entry.kind for entry in ledger.verify(plan.account.ledger)]
    assert kinds == ["ledger", "dataset", "charge", "attempt", "drawing", "drawn", "result"]


def test_plain_values_come_out(tmp_path):
    plan, steps = Plan.load(demo.write(tmp_path)), []
    made = service.release_plan(plan, tmp_path / "out", say=steps.append)
    assert steps[-1] == "writing the report"
    plain = service.summarize(made)
    assert json.loads(json.dumps(plain)) == plain
    assert plain["epsilon"] == "1"
    again = service.verify_record(tmp_path / "out" / "release.json", plan.account.ledger)
    assert service.summarize(again)["values"] == plain["values"]
    seen = []
    service.preview_plan(tmp_path / "plan.toml", lambda done, of: seen.append((done, of)))
    assert seen == [(i, len(made)) for i in range(len(made))]


def test_dates_moments_and_bounds_are_plain_values():
    """`--json` wrote none of them: it ended in an error after the charge."""
    days = [dt.date(2024, 1, 1 + i % 28) for i in range(60)]
    table = {"day": days, "x": list(range(60)), "g": ["a", "b"] * 30}
    rule = {"bounds": ("2024-01-01", "2024-12-31"), "epsilon": 1}
    made = {
        "mean": ib.mean(table, "day", **rule),
        "medians": ib.median(table, "day", by="g", levels=["a", "b"], **rule),
        "moments": ib.moments(table, bounds={"x": (0, 60)}, epsilon=1),
        "bounds": ib.bounds(table, "x", within=(0, 100), epsilon=1),
    }
    values = service.summarize(ib.Releases(made))["values"]
    assert json.loads(json.dumps(values)) == values
    assert dt.date.fromisoformat(values["mean"]) == made["mean"].value
    assert [dt.date.fromisoformat(day) for day in values["medians"]] == made["medians"].value.tolist()
    assert values["moments"] == made["moments"].table.tolist()
    assert tuple(values["bounds"]) == tuple(made["bounds"].value)


def test_messages_name_the_argument_of_whoever_asks(tmp_path):
    plan = Plan.load(demo.write(tmp_path))
    (tmp_path / "file").write_text("")
    for argument in ("folder", "--out"):
        with pytest.raises(ValueError, match=rf"^{argument} '"):
            service.release_plan(plan, tmp_path / "file" / "x", argument=argument)
