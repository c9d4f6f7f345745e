"""The import rule holds, and each of its contracts breaks when a breach of it is planted."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"

# Contract -> a file of the package, and one line that it must not have.
BREACHES = {
    "layers": ("laws/__init__.py", "import inbounds.grid.scale"),
    "acyclic": ("grid/scale.py", "import inbounds.grid.law"),
    "post-processing": ("repairs/__init__.py", "import inbounds.tables.engine"),
    "wall": ("statistics/__init__.py", "import inbounds.tables.engine"),
    "samplers": ("statistics/__init__.py", "import inbounds.grid.halving"),
    "theory": ("privacy/__init__.py", "import inbounds.record"),
    "simulations": ("studies/noise.py", "import inbounds.road.run"),
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


def lint(folder, *contracts):
    """The exit status and the words of import-linter."""
    words = [sys.executable, "-c", LINT, "--config", "pyproject.toml", "--cache-dir", "cache", "--no-logo"]
    words += [word for contract in contracts for word in ("--contract", contract)]
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "COLUMNS": "200"}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def planted(folder, place, line, *contracts):
    """What import-linter says about a line that is added to a file."""
    path = folder / "src" / "inbounds" / place
    before = path.read_text("utf-8") if path.exists() else None
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{before or ''}\n{line}\n", "utf-8")
    try:
        return lint(folder, *contracts)
    finally:
        path.unlink() if before is None else path.write_text(before, "utf-8")


def test_every_contract_is_kept(copied):
    status, said = lint(copied)
    assert status == 0, said
    assert f"{len(CONTRACTS)} kept, 0 broken" in said


@pytest.mark.parametrize("contract", [contract["id"] for contract in CONTRACTS])
def test_a_planted_breach_is_seen(copied, contract):
    place, line = BREACHES[contract]
    assert (copied / "src" / "inbounds" / place).exists()
    status, said = planted(copied, place, line, contract)
    assert (status, "0 kept, 1 broken" in said) == (1, True), said


def test_there_is_a_contract_for_every_breach():
    assert set(BREACHES) == {contract["id"] for contract in CONTRACTS}


@pytest.mark.parametrize("form", FORMS)
def test_a_breach_is_seen_however_it_is_written(copied, form):
    status, said = planted(copied, "repairs/__init__.py", form, "post-processing")
    assert (status, "0 kept, 1 broken" in said) == (1, True), said


def test_a_new_room_needs_a_place(copied):
    status, said = planted(copied, "annexe/__init__.py", "", "layers")
    shutil.rmtree(copied / "src" / "inbounds" / "annexe")
    assert status == 1
    assert "annexe" in said
