"""Every claim has a test: the ids in the docstrings and the ids on the tests are the same set."""

import re
from pathlib import Path

import pytest

from inbounds.laws.claims import CLAIMS

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
    text = CLAIMS[name].__doc__ or ""
    assert text.startswith(f"claim:{name}")
    if name != "mse-sharper":  # ours, not the paper's
        assert re.search(r"Prop\. \d|Remark \d|Def\. \d", text.splitlines()[0])
