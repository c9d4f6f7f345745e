"""Every claim has a test: the ids above functions, and the ids on the tests are the same set."""

import ast
import inspect
import pydoc
import re
from pathlib import Path

import pytest

import inbounds as ib
from inbounds.lab.theory.statements import CLAIMS

ROOT = Path(__file__).parents[1]


def ids_in_source() -> set[str]:
    return {
        found for path in (ROOT / "src").rglob("*.py") for found in re.findall(r"claim:([a-z0-9-]+)", path.read_text())
    }


def ids_in_tests() -> set[str]:
    pattern = r"pytest\.mark\.claim\(\s*\"([a-z0-9-]+)\"\s*\)"
    return {found for path in (ROOT / "tests").rglob("test_*.py") for found in re.findall(pattern, path.read_text())}


def test_every_claim_has_a_test_and_every_test_a_claim():
    assert ids_in_source() == ids_in_tests()


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_carries_its_id_and_a_reference(name):
    """In a comment above its function."""
    text = Path(inspect.getfile(CLAIMS[name])).read_text("utf-8")
    found = re.search(rf"^# claim:{name}(?: (\(.*\)))?\ndef {CLAIMS[name].__name__}\(", text, re.MULTILINE)
    assert found is not None
    if name != "mse-sharper":  # ours, not the paper's
        assert re.search(r"Prop\. \d|Remark \d|Def\. \d", found[1])


def test_help_begins_with_what_a_reader_gets():
    """No docstring of the source begins with an id, and no help of a public name has one in it."""
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                assert not (ast.get_docstring(node) or "").startswith("claim:"), path
    modules = [ib, ib.errors, ib.inference, ib.ledger, ib.statistics, ib.targets, ib.sensitivity]
    public = [getattr(module, name) for module in modules for name in getattr(module, "__all__", dir(module))]
    helps = [pydoc.render_doc(thing) for thing in public if inspect.isfunction(thing) or inspect.isclass(thing)]
    assert len(helps) > 60
    assert [text.splitlines()[0] for text in helps if "claim:" in text] == []
