"""The tracer of the road counts functions that exist, and sees what a release calls."""

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "tools" / "trace_road.py"


@pytest.fixture
def tracer(monkeypatch):
    spec = importlib.util.spec_from_file_location("trace_road", PATH)
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    monkeypatch.setitem(sys.modules, "trace_road", module)
    spec.loader.exec_module(module)
    return module


def test_the_functions_that_are_counted_exist(tracer, monkeypatch):
    tracer.check_names()
    monkeypatch.setitem(tracer.COUNTED, "drafts", {"inbounds.laws:gone"})
    with pytest.raises(AttributeError):
        tracer.check_names()


def test_a_mean_is_drafted_once(tracer):
    with tracer.tracing() as trace:
        tracer.release_mean()
    assert trace.count(tracer.COUNTED["drafts"]) == 1
    assert len(trace.modules) > 5
    assert trace.changes > 5
    with tracer.tracing() as idle:
        sum(range(3))
    assert (idle.modules, idle.entered, idle.changes) == ([], 0, 0)


def test_a_plan_of_eight_is_eight_drafts_and_eight_derivations(tracer, tmp_path):
    """Each release is drafted once and its value derived once, in all that the command does: also for the report."""
    assert len(tracer.ITEMS) == 8
    tracer.write_files(tmp_path)
    _, release_plan, *_ = tracer.roads(tmp_path).values()
    with tracer.tracing() as trace:
        release_plan()
    assert trace.count(tracer.COUNTED["drafts"]) == 8
    assert trace.count(tracer.COUNTED["derivations of a record's value"]) == 8
