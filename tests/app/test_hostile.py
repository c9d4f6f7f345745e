"""Files that ask for far more than they hold are refused before anything is made of them."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from inbounds.releases import catalogue, kinds, proof

import inbounds as ib
from inbounds.after import matrix
from inbounds.after.tree import DEEPEST
from inbounds import demo as example
from inbounds.plan.release import Releases, release
from inbounds.plan.plan import Plan
from inbounds.privacy.certificate import CertificateError
from inbounds.record import RecordError

PATH = Path(__file__).parents[2] / "bench" / "hostile_records.py"


@pytest.fixture(scope="module")
def hostile():
    spec = importlib.util.spec_from_file_location("hostile_records", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.claim("verify")
def test_tables_that_are_not_there_are_not_drafted(hostile, monkeypatch):
    """Forty tables of ten million cells, in a file without one of their numbers."""
    text = hostile.tables(40)

    def drafted(*_, **__):
        raise AssertionError("a table was drafted")

    monkeypatch.setattr(kinds, "table_counts", drafted)
    monkeypatch.setattr("inbounds.releases.vectors.table_counts", drafted)
    with pytest.raises(RecordError, match="'t0': it is not what the request asks for"):
        Releases.from_json(text)


def test_what_is_refused_takes_little(hostile):
    """In a process of its own: the peak of memory, and a wide guard on time."""
    for name in ("forty tables of 10^7 cells", "10^120 cells", "edges that are no numbers"):
        what, seconds, megabytes = hostile.measure(hostile.FILES[name]())
        assert what.startswith("refused")
        assert megabytes < 500
        assert seconds < 20


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("epsilons of 1000 digits", "epsilons of the parts have more than"),
        ("8000 columns", "not as many as its columns ask for"),
        ("10^120 cells", "not as many as its columns ask for"),
        ("deep lists", "RecursionError"),
    ],
)
def test_sizes_are_looked_at_before_anything_is_drafted(hostile, monkeypatch, name, said):
    monkeypatch.setattr(proof, "draft", lambda *_: pytest.fail("it was drafted"))
    with pytest.raises((RecordError, CertificateError), match=said):
        ib.Release.from_json(hostile.FILES[name]())


def test_a_request_is_drafted_once(tmp_path, monkeypatch):
    """Each release once: as the request asks for it."""
    made = release(Plan.load(example.write(tmp_path)))
    count, real = [], catalogue.draft

    def counted(*args):
        count.append(args[0])
        return real(*args)

    monkeypatch.setattr(catalogue, "draft", counted)
    monkeypatch.setattr(proof, "draft", counted)
    Releases.from_json(made.to_json())
    assert len(count) == len(made)


def test_matrices_have_as_many_columns_as_can_be_verified():
    many = {f"c{i}": (0, 1) for i in range(201)}
    with pytest.raises(ValueError, match="at most 200 columns, got 201"):
        catalogue.draft("covariance", 3, {"bounds": many, "epsilon": 1})
    with pytest.raises(ValueError, match="bounds of 'a' must have at most 100 digits"):
        catalogue.draft(
            "covariance", 3, {"bounds": {"a": (0, f"{10**120 + 1}/{10**120 + 3}"), "b": (0, 1)}, "epsilon": 1}
        )


def test_groups_are_nested_as_deep_as_can_be_verified():
    tree = "a"
    for _ in range(DEEPEST + 1):
        tree = (tree,)
    with pytest.raises(ValueError, match="nested more than 50 deep"):
        ib.proportions(["a"], levels=["a", "b"], epsilon=1, repair="tree", tree=(tree, "b"))
    made = json.loads(ib.proportions(["a"], levels=["a", "b"], epsilon=1, repair="tree").to_json())
    for depth in (DEEPEST + 5, 400):
        nested = json.loads("[" * depth + '"a"' + "]" * depth)
        with pytest.raises(RecordError, match=r"nested more than 50 deep|malformed"):
            ib.Release.from_json(json.dumps(made | {"tree": [nested, "b"]}))


def test_a_repair_by_steps_ends(monkeypatch):
    """As many eigendecompositions as there is room for, whatever the matrix."""
    calls, real = [], np.linalg.eigh

    def counted(*args):
        calls.append(1)
        return real(*args)

    monkeypatch.setattr(np.linalg, "eigh", counted)
    monkeypatch.setattr(matrix, "_MOST_WORK", 5 * 20 * 20)
    signs = np.sign(np.random.default_rng(3).normal(size=(20, 20)))
    signs = np.triu(signs, 1) + np.triu(signs, 1).T + np.eye(20)
    matrix.nearest_correlation(signs)
    assert len(calls) == 5
