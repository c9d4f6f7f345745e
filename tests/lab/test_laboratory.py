"""The laboratory is a house of its own: who loads it, what runs without it, and its addresses of version 0.2."""

import ast
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import inbounds as ib

SOURCE = Path(__file__).parents[2] / "src" / "inbounds"
# Who loads it, by name or by an import: public names, the command, and addresses of 0.2.
LOADERS = {
    "__init__.py",
    "cli/study.py",
    "inference/__init__.py",
    "privacy/sensitivity.py",
    "service/__init__.py",
    "studies.py",
}


def loads_laboratory(source: str) -> bool:
    """Whether code imports the laboratory or has one of its modules as a text that is not a docstring."""
    tree = ast.parse(source)
    documents = [
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(alias.name.startswith("inbounds.lab") for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and re.match(r"(inbounds\.)?lab\b", node.module or ""):
            return True
        if isinstance(node, ast.ImportFrom) and any(alias.name == "lab" for alias in node.names):
            return True
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and node not in documents]
    return any(isinstance(text, str) and re.search(r"(^|\.)lab(\.|$)", text) for text in texts)


def test_public_names_and_the_command_alone_load_it():
    """Also by a name in a text, which the contract of imports does not see."""
    files = [path.relative_to(SOURCE) for path in SOURCE.rglob("*.py")]
    outside = [path for path in files if path.parts[0] != "lab"]
    assert {path.as_posix() for path in outside if loads_laboratory((SOURCE / path).read_text("utf-8"))} == LOADERS


@pytest.mark.parametrize(
    "planted",
    [
        "import inbounds.lab.studies.engine",
        "def late():\n    from inbounds.lab import synthesis",
        "from inbounds import lab",
        "from ..lab import theory",
        'from importlib import import_module\nimport_module("inbounds.lab.synthesis")',
        'PLACES = {"calibrate": "lab.theory.calibrate"}',
    ],
)
def test_a_planted_loader_is_seen(planted):
    assert loads_laboratory(planted)


@pytest.mark.parametrize(
    "allowed", ['"""See inbounds.lab.theory."""', "from inbounds.laws import Laplace", 'x = "label"']
)
def test_others_are_left_alone(allowed):
    assert not loads_laboratory(allowed)


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    """Run Python with a copy of the package that has no laboratory."""
    folder = tmp_path_factory.mktemp("without")
    shutil.copytree(SOURCE, folder / "inbounds", ignore=shutil.ignore_patterns("lab", "__pycache__"))

    def run(code, *words):
        environment = os.environ | {"PYTHONPATH": str(folder)}
        return subprocess.run(
            [sys.executable, "-c", code, *map(str, words)], env=environment, cwd=folder, capture_output=True, text=True
        )

    return run


def test_the_demonstration_runs_without_it(without, tmp_path):
    """Plan, ledger, release, report; then a preview, and a verification with the ledger."""
    code = "import sys, inbounds.cli.commands as c; c.main()"
    done = without(code, "demo", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results" / "report.html").stat().st_size > 10_000
    assert without(code, "preview", tmp_path / "plan.toml").returncode == 0
    assert without(code, "verify", tmp_path / "results" / "release.json").returncode == 0


def test_its_names_are_missing_without_it(without):
    """What the last test runs has no laboratory."""
    done = without("import inbounds as ib; print(ib.mean([1, 2], bounds=(0, 3), epsilon=1).statistic); ib.calibrate")
    assert done.stdout
    assert "No module named 'inbounds.lab'" in done.stderr


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (lambda: ib.calibrate, "inbounds.lab.theory.calibrate"),
        (lambda: ib.privacy_loss, "inbounds.lab.theory.loss"),
        (lambda: ib.sensitivity.mean, "inbounds.lab.theory.sensitivity"),
        (lambda: ib.inference.combine, "inbounds.lab.synthesis"),
        (lambda: ib.inference.naive_wald, "inbounds.lab.synthesis"),
        (lambda: ib.inference.Synthesis, "inbounds.lab.synthesis"),
    ],
)
def test_public_names_stay(value, place):
    assert value().__module__ == place


def test_inference_has_no_other_names():
    assert set(ib.inference.__all__) <= set(dir(ib.inference))
    with pytest.raises(AttributeError, match=r"module 'inbounds\.inference' has no attribute 'combined'"):
        _ = ib.inference.combined


@pytest.fixture
def forgotten():
    """The old addresses as they are in a process that did not use them yet."""
    kept = {name: sys.modules.pop(name) for name in list(sys.modules) if re.match(r"inbounds\.studies\b", name)}
    yield
    for name in [name for name in sys.modules if re.match(r"inbounds\.studies\b", name)]:
        del sys.modules[name]
    sys.modules.update(kept)


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize("name", ["engine", "keep", "proportions"])
def test_documented_modules_of_studies_are_found_at_the_old_address(name):
    with pytest.warns(DeprecationWarning, match=r"^inbounds\.studies is now inbounds\.lab\.studies$"):
        old = import_module(f"inbounds.studies.{name}")
    assert old is import_module(f"inbounds.lab.studies.{name}")


@pytest.mark.usefixtures("forgotten")
def test_figures_are_found_at_the_old_address():
    with pytest.warns(DeprecationWarning, match=r"inbounds\.lab\.studies"):
        from inbounds.studies import figures
    assert figures is import_module("inbounds.lab.studies.figures")
    with pytest.raises(ImportError):
        import inbounds.studies.unheard_of  # noqa: F401


def test_sensitivities_are_found_at_the_old_address():
    from inbounds.privacy import sensitivity

    with pytest.warns(DeprecationWarning, match=r"is now inbounds\.lab\.theory\.sensitivity$"):
        assert sensitivity.mean is ib.sensitivity.mean
    with pytest.raises(AttributeError):
        _ = sensitivity.unheard_of
