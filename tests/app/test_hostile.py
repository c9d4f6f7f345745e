"""Files that ask for far more than they hold are refused before anything is made of them."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import inbounds as ib
from inbounds.plan.plan import Plan
from inbounds.plan.release import Releases, release
from inbounds.record import RecordError, codec
from inbounds.record.group import Group
from inbounds.record.statistic import registered
from inbounds.repairs import matrix
from inbounds.repairs.tree import DEEPEST
from inbounds.statistics import Covariance, drafts, tables
from tests import health as example
from tests.records import body_of, record_with

PATH = Path(__file__).parents[2] / "bench" / "hostile_records.py"


@pytest.fixture(scope="module")
def hostile():
    spec = importlib.util.spec_from_file_location("hostile_records", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def refuse_to_draft(monkeypatch):
    for one in registered().values():
        monkeypatch.setattr(one, "draft", lambda *_: pytest.fail("it was drafted"))


@pytest.mark.claim("verify")
def test_tables_that_are_not_there_are_not_drafted(hostile, monkeypatch):
    """Forty tables of ten million cells, in a file without one of their numbers."""
    text = hostile.tables(40)

    def drafted(*_, **__):
        raise AssertionError("a table was drafted")

    monkeypatch.setattr(drafts, "counts_law", drafted)
    monkeypatch.setattr(tables, "draft_counts", drafted)
    with pytest.raises(RecordError, match="release 't0': its numbers are not as many as its statistic has"):
        Releases.from_json(text)


@pytest.mark.parametrize(
    "name", ["forty tables of 10^7 cells", "10^120 cells", "edges that are no numbers", "a wide tree", "deep lists"]
)
def test_what_is_refused_takes_little(hostile, name):
    """In a process of its own: the peak of memory, and a wide guard on time."""
    what, seconds, megabytes = hostile.measure(hostile.FILES[name]())
    assert what.startswith("refused")
    assert megabytes < 500
    assert seconds < 20


@pytest.mark.parametrize(
    "name", ["the smallest releases", "one variance of many groups", "a histogram", "shares in a deep tree"]
)
def test_honest_files_at_the_limit_are_read(hostile, name):
    text = hostile.FILES[name]()
    full = len(json.loads(text)["releases"]) == codec.MOST_RELEASES
    assert full or len(text) > 900_000
    assert len(text) <= hostile.LARGEST
    what, seconds, megabytes = hostile.measure(text)
    assert what == "read"
    assert megabytes < 500
    assert seconds < 20


def test_covariances_truncated_in_turn_are_read(hostile):
    made = hostile.matrix(6, method="split", bounding="truncated")
    assert list(Releases.from_json(hostile.one(made)).values()) == [made]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("40,000 columns", "at most 200 columns, got 40000"),
        ("bounds of 400 digits", "must have at most 100 digits in a matrix"),
        ("bounds of 1000 digits", "at most 400 characters"),
        ("10^120 cells", "not as many as its statistic has"),
        ("10^20000 cells", "not as many as its statistic has"),
        ("levels without numbers", "not as many as its statistic has"),
        ("intervals without numbers", "not as many as its statistic has"),
        ("a deep tree", "nested more than 50 deep|malformed"),
        ("a wide tree", "every level exactly once"),
        ("a tree of its levels", "not as many as its statistic has"),
        ("unknown fields of a statistic", "its statistic cannot be released"),
        ("a name of 1 MB", "its name is empty or too long"),
        ("releases that are none", "more than 300 releases"),
        ("deep lists", "not JSON"),
    ],
)
def test_sizes_are_looked_at_before_anything_is_drafted(hostile, monkeypatch, name, said):
    text = hostile.FILES[name]()
    refuse_to_draft(monkeypatch)
    with pytest.raises(RecordError, match=said) as error:
        Releases.from_json(text)
    assert len(str(error.value)) < 1000


@pytest.mark.parametrize("name", ["rows of 4000 digits", "contributions of 4000 digits", "an epsilon of 10^-999"])
def test_numbers_that_no_law_has_are_refused(hostile, name):
    with pytest.raises(RecordError):
        Releases.from_json(hostile.FILES[name]())


def test_epsilons_that_add_up_to_a_long_number_are_refused(hostile):
    """Each has few digits; what they come to has more than Python writes."""
    with pytest.raises(RecordError):
        Releases.from_json(hostile.FILES["long epsilons that are paid"]())


def test_each_release_is_drafted_once(tmp_path, monkeypatch):
    made = release(Plan.load(example.write(tmp_path)))
    count, groups = [], []

    def counted(real, kept):
        def draft(*args):
            kept.append(args[0])
            return real(*args)

        return draft

    for one in registered().values():
        monkeypatch.setattr(one, "draft", counted(one.draft, count))
    monkeypatch.setattr(Group, "draft", counted(Group.draft, groups))
    Releases.from_json(made.to_json())
    (group,) = groups
    assert len(count) + len(group.members) == len(made) == 8


def test_matrices_have_as_many_columns_as_can_be_verified():
    many = {f"c{i}": (0, 1) for i in range(201)}
    with pytest.raises(ValueError, match="at most 200 columns, got 201"):
        Covariance(bounds=many)
    with pytest.raises(ValueError, match="bounds of 'a' must have at most 100 digits"):
        Covariance(bounds={"a": (0, f"{10**120 + 1}/{10**120 + 3}"), "b": (0, 1)})


def test_groups_are_nested_as_deep_as_can_be_verified():
    tree = "a"
    for _ in range(DEEPEST + 1):
        tree = (tree,)
    with pytest.raises(ValueError, match="nested more than 50 deep"):
        ib.proportions(["a"], levels=["a", "b"], epsilon=1, repair="tree", tree=(tree, "b"))
    made = body_of(ib.proportions(["a"], levels=["a", "b"], epsilon=1, repair="tree"))
    for depth in (DEEPEST + 5, 400):
        nested = json.loads("[" * depth + '"a"' + "]" * depth)
        with pytest.raises(RecordError, match=r"nested more than 50 deep|malformed"):
            ib.Release.from_json(record_with(made | {"statistic": made["statistic"] | {"tree": [nested, "b"]}}))


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


@pytest.mark.parametrize(("columns", "most"), [(5, 70), (20, 100), (40, 140)])
def test_a_matrix_on_the_edge_takes_no_longer(hostile, monkeypatch, columns, most):
    """Projections come near to it ever more slowly, and Newton's steps of one that is all but reached take no more."""
    calls, real = [], np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda *args: calls.append(1) or real(*args))
    given = hostile.edge(columns)
    near = matrix.nearest_correlation(given)
    assert len(calls) <= most
    # Near enough: Newton, which gets there, is not nearer by much.
    calls.clear()
    distances = [np.linalg.norm(matrix.correlations(given, how) - given) for how in ("nearest", "newton")]
    assert distances[0] <= 1.001 * distances[1]
    assert np.diagonal(near) == pytest.approx(np.ones(columns))


def test_newton_stops_when_nothing_is_gained(monkeypatch):
    """A matrix along which no step is taken for better: as many trials as there are, then what there is."""
    trials, real = [], matrix._dual

    def worse(given, y):
        trials.append(1)
        values, vectors, theta = real(given, y)
        # Ever so little better each time, so that it goes on.
        return values, vectors, theta - 1e3 * len(trials) if len(trials) % 10 == 0 else theta + 1e9

    monkeypatch.setattr(matrix, "_dual", worse)
    given = np.full((6, 6), -1.0) + 2 * np.eye(6)
    assert np.isfinite(matrix.newton_correlation(given)).all()
    assert len(trials) <= 1 + matrix._MOST_TRIALS
