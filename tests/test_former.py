"""Files that earlier versions wrote: plans run, ledgers are charged, release files verify or are refused in words.

`tests/former` was made by revision 68f655b of version 0.1: a plan with every statistic of 0.1, a table of sixty made-up
rows, the ledger and the release file of that plan, and the release file of one mean.

`tests/former/0.2` was made by revision 19d325a of version 0.2; `tests/former/make.py` has the commands. The first
line of `calls.jsonl.gz` is a table, and each of the others is a release of it, with all statistics and all ways to draw
them: the function and its keywords, or a plan, and the release file. `calls.ledger` has some of them. `plans` and
`demo` have plans with their release files and ledgers. These files stay as they are: later versions read them, with the
same meaning.
"""

import gzip
import json
import shutil
import sys
from datetime import date
from pathlib import Path

import polars as pl
import pytest

import inbounds as ib
from inbounds.cli import commands as cli
from inbounds.errors import BudgetRefused, Unfinished
from inbounds.ledger import Account

FORMER = Path(__file__).parent / "former"


# Version 0.1


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


# Version 0.2

(_TABLE, *_LINES) = map(json.loads, gzip.decompress((FORMER / "0.2" / "calls.jsonl.gz").read_bytes()).splitlines())
CALLS = {line["name"]: line for line in _LINES}
TABLE = _TABLE["table"] | {"day": [date.fromisoformat(day) for day in _TABLE["table"]["day"]]}
# No rule takes these values: a function that reads them refuses the table.
UNREADABLE = {name: [None] * len(column) for name, column in TABLE.items()} | {"who": TABLE["who"]}
STORED = ("demo/plan", "plans/survey", "plans/persons", "plans/folded", "plans/added")


@pytest.fixture
def files(tmp_path):
    """The files of 0.2, with their ledgers unpacked."""
    folder = shutil.copytree(FORMER / "0.2", tmp_path / "0.2")
    for path in folder.rglob("*.ledger.gz"):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
    return folder


def _parts(text):
    """A release file without its values, and the values."""
    plain = json.loads(text)
    values = [release.pop("value") for release in plain["releases"].values()]
    return json.dumps(plain), [line for line in text.splitlines() if not line.startswith(' "value": ')], values


def _check_same(text, former):
    """The text is byte for byte that of 0.2, but for last digits of values, which depend on the processor."""
    if text != former:
        *rest, values = _parts(text)
        *former_rest, former_values = _parts(former)
        assert rest == former_rest
        for value, former_value in zip(_flatten(values), _flatten(former_values), strict=True):
            assert value == pytest.approx(former_value, rel=1e-12, abs=1e-12)


def _flatten(values):
    return [one for value in values for one in _flatten(value)] if isinstance(values, list) else [values]


@pytest.mark.parametrize("name", CALLS)
def test_a_release_file_of_0_2_verifies(name):
    """Everything in it is computed again, and written again as it was."""
    text = CALLS[name]["record"]
    releases = ib.Releases.from_json(text)
    assert releases.digest == json.loads(text)["digest"]
    _check_same(releases.to_json(), text)
    if "function" in CALLS[name]:
        assert ib.Release.from_json(text) == releases[name]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_a_call_of_0_2_is_still_the_same_request(name):
    """Another default, or another choice of the releases that are drawn together, would be another digest."""
    call = CALLS[name]
    if "plan" in call:
        releases = ib.release(ib.Plan.of(call["plan"]), TABLE)
    else:
        releases = ib.Releases({name: getattr(ib, call["function"])(TABLE, **call["keywords"])})
    assert releases.digest == json.loads(call["record"])["digest"]
    assert ib.Releases.from_json(releases.to_json()).is_same(releases)


def test_the_files_of_0_2_have_every_statistic():
    """A statistic or noise that 0.2 had, and no file has, would not be tested."""
    files = [json.loads(call["record"]) for call in CALLS.values()]
    assert len(files) == 523
    assert 5 < sum(len(file["groups"]) for file in files if len(file["releases"]) == 2) < 23
    records = [release for file in files for release in file["releases"].values()]
    assert {record["statistic"]["name"] for record in records} == {
        *("bounds", "correlation", "count", "covariance", "crosstab", "histogram", "kendall", "mean", "median"),
        *("moments", "pooled_covariance", "pooled_variance", "proportion", "proportions", "quantile", "regression"),
        *("standard_deviation", "sum", "variance"),
    }
    assert len({record["method"] for record in records}) == 37
    survey = json.loads((FORMER / "0.2" / "plans" / "survey.json").read_text("utf-8"))
    assert survey["groups"]
    assert len(survey["intervals"]) == 6
    assert any(release["notes"] for release in survey["releases"].values())


@pytest.mark.filterwarnings("ignore")
def test_a_call_of_0_2_gets_its_stored_result(files):
    """Nothing is charged, and no value of the table is read."""
    path = files / "calls.ledger"
    before = path.read_bytes()
    stored = [call for call in CALLS.values() if call["dataset"] is not None]
    assert {call["function"] for call in stored} == {call["function"] for call in CALLS.values() if "function" in call}
    for call in stored:
        function = getattr(ib, call["function"])
        release = function(UNREADABLE, ledger=Account(path, call["dataset"]), **call["keywords"])
        _check_same(ib.Releases({call["name"]: release}).to_json(), call["record"])
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", STORED)
def test_a_plan_of_0_2_gets_its_stored_result(files, name):
    """Nothing is charged, the ledger stays as it is, and the table may be gone."""
    path, ledger = files / f"{name}.toml", (files / name).with_name("survey.ledger")
    path.with_name("survey.csv").unlink(missing_ok=True)
    before = ledger.read_bytes()
    releases = ib.release(path)
    assert releases.stored
    _check_same(releases.to_json(), path.with_suffix(".json").read_text("utf-8"))
    assert ledger.read_bytes() == before


def _run(monkeypatch, capsys, *arguments):
    """The exit status of the command, and all that it prints."""
    monkeypatch.setattr(sys, "argv", ["inbounds", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    return left.value.code, "".join(capsys.readouterr())


@pytest.mark.parametrize("name", [*STORED, "plans/bounds"])
def test_the_command_verifies_a_file_of_0_2(files, monkeypatch, capsys, name):
    path, ledger = files / f"{name}.json", (files / name).with_name("survey.ledger")
    status, text = _run(monkeypatch, capsys, "verify", path, "--json")
    former = json.loads(path.read_text("utf-8"))["releases"]
    assert status == 0
    assert json.loads(text)["values"].keys() == former.keys()
    status, text = _run(monkeypatch, capsys, "verify", path, "--ledger", ledger)
    # The released bounds were not charged to a ledger; and another ledger does not have the charge.
    assert status == (2 if name == "plans/bounds" else 0), text
    assert _run(monkeypatch, capsys, "verify", path, "--ledger", files / "calls.ledger")[0] == 2


@pytest.mark.parametrize("name", STORED)
def test_tables_and_reports_are_written_of_a_file_of_0_2(files, name):
    releases = ib.Releases.from_json((files / f"{name}.json").read_text("utf-8"))
    releases.write(files / "results")
    assert {path.name for path in (files / "results").iterdir()} == {
        *("release.json", "values.csv", "report.html", "report.md")
    }
    assert set(pl.read_csv(files / "results" / "values.csv")["release"]) == set(releases)
    _check_same((files / "results" / "release.json").read_text("utf-8"), releases.to_json())


def _accounts(ledger):
    """Limit and spent budget, in billionths of epsilon, and charges, by dataset."""
    accounts = ib.ledger.summarize(ledger)["datasets"]
    return {one["dataset"]: (one["limit"], one["spent"], one["charges"]) for one in accounts}


def test_a_ledger_of_0_2_opens(files, monkeypatch, capsys):
    """Two datasets and more, a raised limit, a new draw, a failed and an unfinished charge."""
    ledger = files / "plans" / "survey.ledger"
    assert _accounts(ledger) == {
        "survey": (5 * 10**9, 25 * 10**8, 3),
        "persons": (4 * 10**9, 3 * 10**9, 3),
        "added": (3 * 10**9, 10**9, 1),
    }
    kinds = [entry.kind for entry in ib.ledger.verify(ledger)]
    assert (kinds.count("limit"), kinds.count("failure"), kinds.count("result")) == (1, 1, 5)
    assert "a second wave of questions" in "\n".join(ib.ledger.show(ledger))
    assert ib.ledger.export(ledger)
    for command in (["show"], ["verify"], ["export", "--as", "registry"]):
        assert _run(monkeypatch, capsys, "ledger", command[0], ledger, *command[1:])[0] == 0


@pytest.mark.parametrize(("name", "why"), [("unfinished", "has no result"), ("failed", "and failed")])
def test_a_charge_of_0_2_without_a_result_is_never_drawn_again(files, name, why):
    """Nothing says whether 0.2 had drawn. Neither before the ledger is of this version, nor after."""
    folder = files / "plans"
    ledger, before = folder / "survey.ledger", (folder / "survey.ledger").read_bytes()
    with pytest.raises(Unfinished, match=why):
        ib.release(folder / f"{name}.toml")
    assert ledger.read_bytes() == before
    assert not ib.release(folder / "added.toml", new=True).stored
    entries, accounts = len(ib.ledger.read(ledger)), _accounts(ledger)
    with pytest.raises(Unfinished, match=why):
        ib.release(folder / f"{name}.toml")
    assert (len(ib.ledger.read(ledger)), _accounts(ledger)) == (entries, accounts)


def test_an_unfinished_charge_of_0_2_is_charged_again_when_it_is_asked_for(files):
    """A new draw is a new charge. The charge without a result stands."""
    folder = files / "plans"
    made = ib.release(folder / "unfinished.toml", new=True)
    assert not made.stored
    assert _accounts(folder / "survey.ledger")["survey"] == (5 * 10**9, 275 * 10**7, 4)
    assert ib.release(folder / "unfinished.toml").is_same(made)


@pytest.mark.filterwarnings("ignore")
def test_a_ledger_of_0_2_is_charged_on(files, monkeypatch, capsys):
    """The first charge adds what this version needs. All that 0.2 wrote stays, and so does what it spent."""
    folder = files / "plans"
    ledger = folder / "survey.ledger"
    former = ib.ledger.read(ledger)
    made = [ib.release(folder / f"{name}.toml", new=True) for name in ("added", "persons", "added")]
    assert not any(releases.stored for releases in made)
    assert _accounts(ledger) == {
        "survey": (5 * 10**9, 25 * 10**8, 3),
        "persons": (4 * 10**9, 4 * 10**9, 4),
        "added": (3 * 10**9, 3 * 10**9, 3),
    }
    assert ib.ledger.verify(ledger)[: len(former)] == former
    with pytest.raises(BudgetRefused):
        ib.release(folder / "persons.toml", new=True)
    (folder / "survey.csv").unlink()
    assert ib.release(folder / "added.toml").is_same(made[2])
    assert ib.release(folder / "persons.toml").is_same(made[1])
    for name in ("survey", "folded"):
        releases = ib.release(folder / f"{name}.toml")
        assert releases.stored
        _check_same(releases.to_json(), (folder / f"{name}.json").read_text("utf-8"))
    for name in ("survey", "persons", "folded", "added"):
        assert _run(monkeypatch, capsys, "verify", folder / f"{name}.json", "--ledger", ledger)[0] == 0
