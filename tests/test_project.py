"""The project's own files agree with each other: one version, locks with hashes and without addresses."""

import re
import tomllib
from pathlib import Path

import pytest

import inbounds

ROOT = Path(__file__).parents[1]
LOCKS = sorted((ROOT / "locks").rglob("*.lock"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def complaints(lock: str) -> list[str]:
    """What is wrong with a lock: a requirement without a version or without hashes, or an address."""
    found = re.findall(r"\S*(?:://|@ )\S*|^--\S+", lock, flags=re.MULTILINE)
    for requirement in re.split(r"\n(?=[^\s#])", lock):
        pinned = re.match(r"[\w.-]+(\[[\w,-]+\])?==\S+", requirement)
        if not pinned or "--hash=sha256:" not in requirement:
            found.append(requirement.splitlines()[0])
    return found


def test_the_version_is_written_once():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/inbounds/__init__.py"
    assert "version" not in PROJECT["project"]


def test_the_citation_names_this_version():
    assert f"version: {inbounds.__version__}" in (ROOT / "CITATION.cff").read_text("utf-8").splitlines()


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_a_lock_has_hashes_and_no_addresses(lock):
    assert complaints(lock.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "planted",
    [
        "--index-url https://example.org/simple",
        "a==1.0 \\\n    # via b",
        "a>=1.0 \\\n    --hash=sha256:00",
        "a @ https://example.org/a.whl \\\n    --hash=sha256:00",
    ],
)
def test_a_planted_fault_of_a_lock_is_seen(planted):
    good = "b[c]==2.0 ; python_version < '3.12' \\\n    --hash=sha256:00\n    # via\n    #   d"
    assert complaints(good) == []
    assert complaints(f"{good}\n{planted}\n")


def test_every_lock_is_made_and_used_by_the_makefile():
    text = (ROOT / "Makefile").read_text("utf-8")
    peers = re.search(r"^PEERS := (.*)$", text, flags=re.MULTILINE)[1].split()
    assert {lock.stem for lock in LOCKS if lock.parent.name == "peers"} == set(peers)
    installed = set(re.findall(r"-r locks/(\w+)\.lock", text))
    assert {lock.stem for lock in LOCKS if lock.parent.name == "locks"} == installed


FIGURES = {"altair", "vl-convert-python"}


def test_figures_are_an_extra():
    """Running needs no library that draws; working on the code and the documentation does."""
    needed, extras = PROJECT["project"]["dependencies"], PROJECT["project"]["optional-dependencies"]
    assert {re.split("[>=]", one)[0] for one in extras["plot"]} == FIGURES
    assert not FIGURES & {re.split("[>=]", one)[0] for one in needed}
    assert "plot" in re.search(r"\[(.*)\]", extras["all"][0])[1].split(",")
    for name, has in {"run": False, "peers": False, "dev": True, "engines": True, "docs": True}.items():
        locked = set(re.findall(r"^([\w-]+)==", (ROOT / "locks" / f"{name}.lock").read_text("utf-8"), re.MULTILINE))
        assert FIGURES & locked == (FIGURES if has else set()), name
