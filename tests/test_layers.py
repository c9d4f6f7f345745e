"""The import rule holds, and each of its contracts breaks when a breach of it is planted."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
# One process lints again and again: names of contracts come in, a line each time, and the status and the words go out.
LINT = """
import contextlib, io, json, sys
from importlinter.cli import lint_imports
for line in sys.stdin:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = lint_imports("pyproject.toml", json.loads(line), cache_dir="cache", no_logo=True)
    print(json.dumps([status, said.getvalue()]), flush=True)
"""

# Contract -> a file of the package, and one line that it must not have.
BREACHES = {
    "layers": ("laws/__init__.py", "import inbounds.grid.scale"),
    "acyclic": ("grid/scale.py", "import inbounds.grid.law"),
    "post-processing": ("repairs/__init__.py", "import inbounds.tables.engine"),
    "wall": ("statistics/__init__.py", "import inbounds.tables.engine"),
    "samplers": ("statistics/__init__.py", "import inbounds.grid.halving"),
    "theory": ("privacy/__init__.py", "import inbounds.record"),
    "simulations": ("lab/studies/noise.py", "import inbounds.road.run"),
    "laboratory": ("demo.py", "import inbounds.lab.studies.engine"),
    "faces": ("cli/__init__.py", "import inbounds.road.run"),
    "page": ("studio/__init__.py", "import inbounds.plan.plan"),
    "exact": ("grid/sampler.py", "import scipy.stats"),
    "importers-of-ledger": ("inference/__init__.py", "import inbounds.ledger"),
}
# The same breach of a contract in the other ways to write an import.
FORMS = [
    "from inbounds.tables.engine import tally",
    "from inbounds import road",
    "from ..tables import engine",
    "def late():\n    import inbounds.tables.engine",
]


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A copy of the package with its rules."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(
        ROOT / "src" / "inbounds", folder / "src" / "inbounds", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.fixture(scope="module")
def linter(copied):
    environment = os.environ | {"PYTHONPATH": str(copied / "src"), "COLUMNS": "200"}
    words, pipes = [sys.executable, "-c", LINT], {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, cwd=copied, env=environment, text=True, **pipes) as process:
        yield process
        process.stdin.close()


@pytest.fixture
def lint(linter):
    """The exit status and the words of import-linter."""

    def ask(*contracts):
        print(json.dumps(contracts), file=linter.stdin, flush=True)
        return json.loads(linter.stdout.readline())

    return ask


@pytest.fixture
def plant(copied, lint):
    """What import-linter says about a line that is added to a file."""

    def lint_with(place, line, *contracts):
        path = copied / "src" / "inbounds" / place
        before = path.read_text("utf-8") if path.exists() else None
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{before or ''}\n{line}\n", "utf-8")
        try:
            return lint(*contracts)
        finally:
            path.unlink() if before is None else path.write_text(before, "utf-8")

    return lint_with


def test_every_contract_is_kept(lint):
    status, said = lint()
    assert status == 0, said
    assert f"{len(CONTRACTS)} kept, 0 broken" in said


@pytest.mark.parametrize("contract", [contract["id"] for contract in CONTRACTS])
def test_a_planted_breach_is_seen(copied, plant, contract):
    place, line = BREACHES[contract]
    assert (copied / "src" / "inbounds" / place).exists()
    status, said = plant(place, line, contract)
    assert (status, "0 kept, 1 broken" in said) == (1, True), said


def test_there_is_a_contract_for_every_breach():
    assert set(BREACHES) == {contract["id"] for contract in CONTRACTS}


@pytest.mark.parametrize("form", FORMS)
def test_a_breach_is_seen_however_it_is_written(plant, form):
    status, said = plant("repairs/__init__.py", form, "post-processing")
    assert (status, "0 kept, 1 broken" in said) == (1, True), said


def test_a_new_room_needs_a_place(copied, plant):
    status, said = plant("annexe/__init__.py", "", "layers")
    shutil.rmtree(copied / "src" / "inbounds" / "annexe")
    assert status == 1
    assert "annexe" in said
