"""The committed page of findings says what the code says: wording, settings, and what needs no simulation."""

import hashlib
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from inbounds.lab.studies import claims, keep, paper

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_claims", DOCS / "make_claims.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def text(generator: ModuleType) -> str:
    return str(generator.PAGE.read_text("utf-8"))


def without_verdict(section: str) -> list[str]:
    """What a section says before anything is run: its place, the paper's words, the remark."""
    return [line for line in section.split("\n") if line and not line.startswith(("###", "- ", "At the honest"))]


def test_words_are_those_of_the_code(generator: ModuleType, text: str) -> None:
    rows = claims.rows(claims.judge_all({}))
    assert len(rows) == text.count("\n### ")
    for row in rows:
        for line in without_verdict(generator.section(row)):
            assert f"{line}\n" in text, f"{row['id']} has other words now: {generator.COMMAND}"


def test_exact_findings_are_computed_again(generator: ModuleType, text: str) -> None:
    exact = [row for row in claims.rows(claims.judge_all({})) if row["id"].startswith("T")]
    assert len(exact) == 3
    for row in exact:
        assert generator.section(row) in text


def test_a_changed_finding_is_noticed(generator: ModuleType, text: str) -> None:
    row: dict[str, Any] = dict(claims.rows(claims.judge_all({}))[0]) | {"finding": "something else"}
    assert any(f"{line}\n" not in text for line in without_verdict(generator.section(row)))


def test_the_run_is_that_of_these_settings(text: str) -> None:
    for settings in (paper.covariance(), paper.proportions()):
        known = [one.identity for one in settings], [one.labels for one in settings]
        assert hashlib.blake2b(repr(known).encode(), digest_size=12).hexdigest() in text
    assert f"revision {keep._REVISION};" in text
