"""Files that version 0.1 wrote: its plans run, its ledgers are charged, its records are refused in words.

`tests/former` was made by revision 68f655b: a plan with every statistic of 0.1, a table of sixty made-up rows, the
ledger and the record of that plan, and the record of one mean.
"""

import json
import shutil
from pathlib import Path

import pytest

import inbounds as ib

FORMER = Path(__file__).parent / "former"


def _spent(folder):
    """Billionths of epsilon, and charges."""
    (account,) = ib.ledger.summarize(folder / "survey.ledger")["datasets"]
    return account["spent"], account["charges"]


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(FORMER, tmp_path / "former")
    return tmp_path / "former"


def test_a_plan_is_released_again_and_charged_again(folder):
    """The account goes on: what 0.1 spent stays spent, and the new draw adds to it."""
    spent = [_spent(folder)]
    made = ib.release(ib.Plan.load(folder / "plan.toml"))
    assert not made.stored
    assert len(made) == 13
    spent.append(_spent(folder))
    assert spent == [(2 * 10**9, 1), (4 * 10**9, 2)]
    assert ib.release(ib.Plan.load(folder / "plan.toml")).stored


def test_a_changed_ledger_is_not_taken(folder):
    path = folder / "survey.ledger"
    text = path.read_bytes()
    assert text.count(b"steward") > 0
    path.write_bytes(text.replace(b"steward", b"nobody!"))
    with pytest.raises(ib.errors.LedgerError):
        ib.ledger.verify(path)


@pytest.mark.parametrize("name", ["release.json", "mean.json"])
def test_a_record_is_refused_with_what_to_do(name):
    text = (FORMER / name).read_text("utf-8")
    assert json.loads(text)["format"] in ("inbounds-release/1", "inbounds-releases/1")
    with pytest.raises(ValueError, match=r"of version 0\.1; verify it with that version, or release it again"):
        ib.Releases.from_json(text)
