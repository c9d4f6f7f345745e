"""What `make mutants` tries: every module that decides privacy, against tests that are there."""

import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import mutants  # noqa: E402


def test_every_module_that_decides_privacy_is_tried():
    rooms = [path for room in ("grid", "ledger") for path in (ROOT / "src" / "inbounds" / room).glob("*.py")]
    named = [f"{path.parent.name}/{path.stem}" for path in rooms if path.stem != "__init__"]
    others = ["privacy/exact", "privacy/certificate", "privacy/certified", "road/draw"]
    assert sorted(mutants.AIMED) == sorted([*named, *others])


def test_the_tests_that_are_aimed_or_left_out_are_there():
    for path in {path for paths in mutants.AIMED.values() for path in paths}:
        assert (ROOT / path).is_file()
    for test in mutants.LONG:
        path, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / path).read_text("utf-8")
        assert any(path in paths for paths in mutants.AIMED.values())


@pytest.mark.parametrize("module", ["grid/scale", "grid/joint"])
def test_a_module_has_settings_of_its_own(module, tmp_path):
    mutants.prepare(module, tmp_path / module)
    settings = tomllib.loads((tmp_path / module / "pyproject.toml").read_text("utf-8"))["tool"]["mutmut"]
    shared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mutmut"]
    tests = settings.pop("pytest_add_cli_args_test_selection")
    assert settings.pop("only_mutate") == [f"src/inbounds/{module}.py"]
    assert settings == shared
    assert tests[: len(mutants.AIMED[module])] == mutants.AIMED[module]
    assert ("--deselect=tests/grid/test_joint.py::test_points_follow_the_law" in tests) == (module == "grid/joint")
    assert (tmp_path / module / "src" / "inbounds" / f"{module}.py").is_file()
    assert mutants.read_counts(tmp_path / module) is None


def test_the_table_counts_what_was_tried(tmp_path):
    (tmp_path / "mutants").mkdir()
    counts = {"killed": 5, "survived": 1, "total": 20, "no_tests": 1, "skipped": 0, "suspicious": 0, "timeout": 2}
    text = str(counts | {"check_was_interrupted_by_user": 0, "segfault": 1}).replace("'", '"')
    (tmp_path / "mutants" / "mutmut-cicd-stats.json").write_text(text, "utf-8")
    found = mutants.read_counts(tmp_path)
    assert mutants.describe("`x.py`", found) == "| `x.py` | 20 | 10 | 5 | 3 | 2 | 80.0 % |"
