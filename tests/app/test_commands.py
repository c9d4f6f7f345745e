"""The commands of the main job, as a person gives them: output, messages, exit statuses, files."""

import json
import os
import re
import subprocess
import sys
from datetime import date, datetime
from pathlib import Path

import polars as pl
import pytest

from inbounds import ledger
from inbounds.ledger.amounts import write_amount as billionths
from inbounds.plan.plan import Plan
from tests import health as example
from tests.app.test_cli import called
from tests.ledger.registry import list_mistakes


@pytest.fixture
def folder(tmp_path):
    example.write(tmp_path)
    return tmp_path


def files(folder):
    """Everything below a folder, with its content; what SQLite or a report writes anew is not the same."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_main_job(monkeypatch, capsys, folder):
    plan, out = folder / "plan.toml", folder / "out"
    status, said, err = called(monkeypatch, capsys, "preview", plan)
    assert (status, err) == (0, "")
    assert "blood pressure by region" in said
    assert max(map(len, said.splitlines())) <= 80
    status, said, err = called(monkeypatch, capsys, "release", plan, "--out", out, "--dry-run")
    assert (status, said) == (0, "")
    assert err == "8 releases would cost 1 (2 would be left); nothing was charged or released\n"
    assert not (folder / "survey.ledger").exists()
    status, said, err = called(monkeypatch, capsys, "release", plan, "--out", out, "--by", "ann")
    assert status == 0
    assert "26 numbers: " in said
    assert len(re.findall("^smokers .* % ± 0.6 +reliable$", said, re.MULTILINE)) == 1
    assert max(map(len, said.splitlines())) <= 80
    assert err == f"epsilon 1 spent, 2 left; the report is {out / 'report.html'}\n"
    assert {path.name for path in out.iterdir()} == {"release.json", "values.csv", "report.html", "report.md"}
    record = (out / "release.json").read_text()
    status, said, err = called(monkeypatch, capsys, "release", plan, "--out", folder / "again", "--json")
    assert status == 0
    assert json.loads(said)["stored"] is True
    assert "costs nothing. The table was not read" in " ".join(err.split())
    assert (folder / "again" / "release.json").read_text() == record
    status, said, _ = called(monkeypatch, capsys, "verify", out / "release.json", "--ledger", folder / "survey.ledger")
    assert (status, said) == (0, "8 releases hold: epsilon 1 in all, substitute; the ledger has the charge\n")
    status, said, _ = called(monkeypatch, capsys, "ledger", "show", folder / "survey.ledger")
    assert said.startswith("survey-2026: 1 of 3 spent, 2 left (1 charge; substitute)\n")
    assert "(ann)" in said
    status, said, _ = called(
        monkeypatch, capsys, "ledger", "verify", folder / "survey.ledger", "--record", out / "release.json"
    )
    assert (status, said) == (0, "7 entries are unchanged, with 1 record\n")


def test_the_budget_is_a_wall(monkeypatch, capsys, folder):
    plan, book = folder / "plan.toml", folder / "survey.ledger"
    for _ in range(3):
        assert called(monkeypatch, capsys, "release", plan, "--out", folder / "out", "--new")[0] == 0
    before = files(folder)
    status, said, err = called(monkeypatch, capsys, "release", plan, "--out", folder / "out", "--new")
    assert (status, said) == (3, "")
    assert err.count("\n") == 1
    assert "has 0 of its limit 3 left, and this costs 1; nothing was spent" in err
    assert files(folder) == before
    status, _, err = called(monkeypatch, capsys, "ledger", "raise", book, "--dataset", "survey-2026", "--limit", "4")
    assert status == 2
    assert "--why" in err
    words = ["--dataset", "survey-2026", "--limit", "4", "--why", "second wave"]
    status, said, _ = called(monkeypatch, capsys, "ledger", "raise", book, *words)
    assert (status, said) == (0, "survey-2026: 3 of 4 spent, 1 left (3 charges; substitute)\n")
    assert called(monkeypatch, capsys, "release", plan, "--out", folder / "out", "--new")[0] == 0


def test_a_ledger_without_its_file_waits_for_its_owner(monkeypatch, capsys, folder):
    plan, book = folder / "plan.toml", folder / "survey.ledger"
    called(monkeypatch, capsys, "release", plan, "--out", folder / "out")
    Path(f"{book}.head").unlink()
    before = files(folder)
    for words in ([], ["--new"], ["--dry-run"]):
        status, said, err = called(monkeypatch, capsys, "release", plan, "--out", folder / "out", *words)
        assert (status, said, err.count("\n")) == (2, "", 1)
        assert f"inbounds ledger accept {book} --why" in err
    assert files(folder) == before
    for words in ("show", "verify", "export"):
        assert called(monkeypatch, capsys, "ledger", words, book)[0] == 0
    assert called(monkeypatch, capsys, "ledger", "accept", book)[0] == 2
    status, said, _ = called(monkeypatch, capsys, "ledger", "accept", book, "--why", "moved", "--by", "Ada")
    assert (status, said) == (0, "accepted with its 7 entries; the reason is entry 7\n")
    status, said, err = called(monkeypatch, capsys, "release", plan, "--out", folder / "out")
    assert (status, "stored" in said + err) == (0, True)
    assert "moved  (Ada)" in called(monkeypatch, capsys, "ledger", "show", book)[1]
    status, _, err = called(monkeypatch, capsys, "ledger", "accept", book, "--why", "again")
    assert (status, "there is nothing to accept" in err) == (2, True)


def change(plan, name, **words):
    """A plan beside another one, with some words changed."""
    text = plan.read_text()
    for old, new in words.items():
        text = text.replace(f"{old} = {new[0]}", f"{old} = {new[1]}")
    plan.with_name(name).write_text(text)
    return plan.with_name(name)


def test_what_is_left_is_what_is_left_now(monkeypatch, capsys, folder):
    plan, out = folder / "plan.toml", folder / "out"
    called(monkeypatch, capsys, "release", plan, "--out", out)
    other = change(plan, "other.toml", epsilon=("1.0", "0.5"))
    assert "1.5 left" in called(monkeypatch, capsys, "release", other, "--out", folder / "other")[2]
    assert "nothing spent, 1.5 left" in called(monkeypatch, capsys, "release", plan, "--out", out)[2]
    assert json.loads(called(monkeypatch, capsys, "release", plan, "--out", out, "--json")[1])["left"] == "1.5"


def test_the_release_of_another_plan_is_not_overwritten(monkeypatch, capsys, folder):
    plan, out = folder / "plan.toml", folder / "out"
    called(monkeypatch, capsys, "release", plan, "--out", out)
    paid = (out / "release.json").read_bytes()
    others = [
        change(plan, "other.toml", epsilon=("1.0", "0.5")),
        change(plan, "moved.toml", dataset=('"survey-2026"', '"b"')),
    ]
    before = files(folder)
    for other in others:
        for dry in ([], ["--dry-run"]):
            status, said, err = called(monkeypatch, capsys, "release", other, "--out", out, *dry)
            assert (status, said) == (2, "")
            assert "holds the release of another plan or dataset ('survey-2026'), which would be overwritten" in err
    assert files(folder) == before
    # The same plan and a new draw of it go there, as they did.
    assert called(monkeypatch, capsys, "release", plan, "--out", out)[0] == 0
    assert (out / "release.json").read_bytes() == paid
    assert called(monkeypatch, capsys, "release", plan, "--out", out, "--new")[0] == 0
    assert (out / "release.json").read_bytes() != paid
    (out / "release.json").write_text("[]")
    status, _, err = called(monkeypatch, capsys, "release", plan, "--out", out)
    assert (status, "holds a release.json that is no record" in err) == (2, True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have names on POSIX alone")
@pytest.mark.parametrize(
    "put", [lambda path: os.mkfifo(path), lambda path: path.symlink_to("/dev/zero")], ids=["a pipe", "a device"]
)
def test_what_is_no_file_is_not_read_as_a_record(monkeypatch, capsys, folder, put):
    """Reading a pipe waits for its other end, and reading a device may never end."""
    place = folder / "out" / "release.json"
    place.parent.mkdir()
    put(place)
    status, said, err = called(monkeypatch, capsys, "release", folder / "plan.toml", "--out", place.parent)
    assert (status, said) == (2, "")
    assert "holds a release.json that is no record" in err
    assert not list(folder.glob("*.ledger"))
    status, said, err = called(monkeypatch, capsys, "verify", place)
    assert (status, said, len(err.splitlines())) == (2, "", 1)
    assert "release.json' cannot be read: it is not a regular file" in " ".join(err.split())
    plan = change(folder / "plan.toml", "bounds.toml", bounds=("[18, 100]", "'out/release.json'"))
    assert "it is not a regular file" in " ".join(called(monkeypatch, capsys, "preview", plan)[2].split())


def test_a_plan_with_a_limit_of_its_own(monkeypatch, capsys, folder):
    plan = folder / "plan.toml"
    called(monkeypatch, capsys, "release", plan, "--out", folder / "out")
    smaller = change(plan, "smaller.toml", epsilon=("1.0", "0.1"), limit=("3.0", "1.05"))
    status, _, err = called(monkeypatch, capsys, "release", smaller, "--out", folder / "smaller")
    assert status == 3
    assert "together more than the limit of 1.05 that is stated here; nothing was spent" in err
    larger = change(plan, "larger.toml", epsilon=("1.0", "0.1"), limit=("3.0", "50"))
    for dry in (["--dry-run"], []):
        status, _, err = called(monkeypatch, capsys, "release", larger, "--out", folder / "larger", *dry)
        assert status == 0
        assert "a limit of 50 is stated for 'survey-2026', but its limit in the ledger is 3" in " ".join(err.split())


def test_ledgers_for_others(monkeypatch, capsys, folder):
    called(monkeypatch, capsys, "release", folder / "plan.toml", "--out", folder / "out")
    book = folder / "survey.ledger"
    status, said, _ = called(monkeypatch, capsys, "ledger", "export", book)
    table = pl.read_csv(said.encode())
    assert table["kind"].to_list() == ["ledger", "dataset", "charge", "attempt", "drawing", "drawn", "result"]
    assert table["epsilon"].to_list()[2] == 1
    status, said, _ = called(monkeypatch, capsys, "ledger", "export", book, "--as", "registry")
    (entry,) = json.loads(said)
    assert list_mistakes(entry) == []
    deployment = entry["deployment"]
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    assert deployment["accounting"]["composition"].endswith("at most 3.")
    assert len(deployment["basic"]["description"].split("; ")) == 8
    status, _, err = called(monkeypatch, capsys, "ledger", "export", book, "--as", "xml")
    assert (status, err) == (2, "inbounds: --as must be one of 'csv', 'registry'; got 'xml' of type str\n")
    status, said, _ = called(monkeypatch, capsys, "ledger", "show", book, "--json")
    assert json.loads(said)["datasets"][0]["left"] == 2 * 10**9


def test_the_skeleton_of_a_plan(monkeypatch, capsys, folder):
    out = folder / "own.toml"
    status, _, err = called(monkeypatch, capsys, "plan", "init", folder / "survey.csv", "--out", out)
    assert status == 0
    assert "fill in what is in CAPITALS" in err
    text = out.read_text()
    for column in example.survey().columns:
        assert f"# {column} = " in text
    assert max(len(line) for line in text.splitlines() if str(folder) not in line) <= 80
    # Nothing of the data: no number of rows, no bound, no level.
    assert "20000" not in text
    assert "north" not in text
    status, _, err = called(monkeypatch, capsys, "plan", "init", folder / "survey.csv", "--out", out)
    assert (status, out.read_text()) == (2, text)
    assert "exists already" in err
    # What is left to fill in is refused as such.
    status, _, err = called(monkeypatch, capsys, "preview", out)
    assert status == 2
    assert "ROWS is still to be filled in" in err
    assert "STATISTIC is still to be filled in" in err
    filled = text.replace("rows = ROWS", "rows = 20000").replace('"STATISTIC"', '"mean"')
    filled = filled.replace("# age = { bounds = [LOWER, UPPER] }   # number", "age = { bounds = [18, 100] }")
    out.write_text(filled)
    assert called(monkeypatch, capsys, "release", out, "--out", folder / "own")[0] == 0
    example.survey(50).write_parquet(folder / "typed.parquet")
    status, said, _ = called(monkeypatch, capsys, "plan", "init", folder / "typed.parquet", "--out", "-")
    assert "# age = { bounds = [LOWER, UPPER] }   # integer" in said
    assert "# region = { levels = [LEVEL, LEVEL] }   # text" in said
    assert "# also: " not in said
    dates = pl.DataFrame({"day": [date(2026, 1, 2)], "at": [datetime(2026, 1, 2, 3)]})
    dates.write_parquet(folder / "dates.parquet")
    said = called(monkeypatch, capsys, "plan", "init", folder / "dates.parquet", "--out", "-")[1]
    assert "# day = { bounds = [LOWER, UPPER] }   # date\n# at = { bounds = [LOWER, UPPER] }   # time\n" in said
    assert called(monkeypatch, capsys, "plan", "init", folder / "none.csv", "--out", "-")[0] == 2
    (folder / "empty.csv").write_text("")
    status, _, err = called(monkeypatch, capsys, "plan", "init", folder / "empty.csv", "--out", "-")
    assert status == 2
    assert "is empty: its first line must have the names" in err
    # Without a line of names the first record would be written down.
    (folder / "bare.csv").write_text("33,secret,120\n41,other,118\n")
    status, said, err = called(monkeypatch, capsys, "plan", "init", folder / "bare.csv", "--out", "-")
    assert (status, said) == (2, "")
    assert "add a first line with the names, say --no-header if there is none" in err
    assert "secret" not in err
    assert "33" not in err
    words = ["--no-header", "--skip-lines", "1", "--decimal", ",", "--separator", ";"]
    status, said, _ = called(monkeypatch, capsys, "plan", "init", folder / "bare.csv", "--out", "-", *words)
    assert 'separator = ";"\ndecimal = ","\nheader = false\nskip_lines = 1\n# also: null_values = ["NA"]\n' in said
    assert (status, "secret" in said) == (0, False)


def test_mistakes_are_a_message_and_exit_2(monkeypatch, capsys, folder):
    bad = folder / "bad.toml"
    bad.write_text((folder / "plan.toml").read_text().replace('columns = ["age"]', 'columns = ["agee"]'))
    before = files(folder)
    for words in (
        ["preview", bad],
        ["release", bad, "--out", folder / "out"],
        ["release", folder / "none.toml", "--out", folder / "out"],
        ["release", folder / "plan.toml", "--out", folder / "plan.toml"],
        ["release", folder / "plan.toml"],
        ["verify", folder / "plan.toml"],
        ["verify", folder / "none.json"],
        ["ledger", "show", folder / "none.ledger"],
        ["ledger", "verify", folder / "plan.toml"],
        ["preview", folder / "plan.toml", "--picture", "x.pdf"],
        ["frobnicate"],
    ):
        status, said, err = called(monkeypatch, capsys, *words)
        assert (status, said) == (2, ""), words
        assert "Traceback" not in err
        assert err.strip()
    assert files(folder) == before
    _, _, err = called(monkeypatch, capsys, "preview", bad)
    assert err == f"inbounds: {bad}: release.age: columns.agee: no such column; did you mean age?\n"


def test_a_picture_of_the_preview(monkeypatch, capsys, folder):
    picture = folder / "errors.svg"
    assert called(monkeypatch, capsys, "preview", folder / "plan.toml", "--picture", picture)[0] == 0
    assert picture.read_text().startswith("<svg")
    _, said, _ = called(monkeypatch, capsys, "preview", folder / "plan.toml", "--json")
    assert json.loads(said)["releases"][1]["name"] == "age"


def test_the_demonstration(monkeypatch, capsys, tmp_path):
    status, said, err = called(monkeypatch, capsys, "demo", "--out", tmp_path / "demo")
    assert status == 0
    marks = ("reliable", "rough", "tells nothing")
    lines = [line for line in said.splitlines() if line.endswith(marks) and not line[0].isdigit()]
    assert len(lines) == 24
    assert max(map(len, said.splitlines())) <= 80
    # One number is too much to ask, and marked so; nearly always it is the only one.
    poor = [line for line in lines if not line.endswith("reliable")]
    assert any(line.startswith("sleep, old smokers") for line in poor)
    assert len(poor) <= 3
    assert "report.html" in err
    status, said, _ = called(monkeypatch, capsys, "demo", "--out", tmp_path / "demo", "--json")
    assert json.loads(said)["stored"] is True


def test_versions_schemas_completion_and_help(monkeypatch, capsys):
    import inbounds

    assert called(monkeypatch, capsys, "--version")[:2] == (0, f"inbounds {inbounds.__version__}\n")
    assert json.loads(called(monkeypatch, capsys, "plan", "schema")[1])["title"] == "Plan"
    for words in ([], ["release"], ["ledger", "raise"], ["preview"], ["verify"], ["plan", "init"]):
        status, said, _ = called(monkeypatch, capsys, *words, "--help")
        assert status == 0
        assert "Usage: " in said
        assert not words or "Example" in said
    assert "--show-completion" in called(monkeypatch, capsys, "--help")[1]


def test_the_same_survey_everywhere():
    table = example.survey()
    assert table.shape == (20_000, 7)
    assert table["age"].mean() == pytest.approx(49.4, abs=0.1)
    assert table["bmi"].null_count() > 100
    assert example.survey().equals(table)


# Faults: a process that dies at any point of a release.

# One process loads the library, and forks for each release: a line of jobs comes in, a line of what became of them goes
# out. It opens no ledger and reads no table itself. Jobs of a line are loaded first and then begin together.
NURSERY = """
import json, os, signal, sqlite3, sys
import cryptography.hazmat.primitives.ciphers, jinja2, narwhals, polars
from pathlib import Path
from inbounds import service as commands
from inbounds.plan.plan import Plan
from inbounds.ledger import sqlite
from inbounds.report import files
from inbounds.road import run as opening

count = last = 0

def step(*_):
    global count
    count += 1
    if count == last:
        os.kill(os.getpid(), signal.SIGKILL)

real = sqlite3.connect
def connect(*args, **kwargs):
    made = real(*args, **kwargs)
    made.set_trace_callback(step)
    return made
sqlite.sqlite3.connect = connect
stages = "count_cells", "draw", "write_draws"
steps = *((opening, name) for name in stages), (sqlite, "_note_head"), (files, "write_atomically")
for module, name in steps:
    def wrapped(*args, _real=getattr(module, name), **kwargs):
        step()
        result = _real(*args, **kwargs)
        step()
        return result
    setattr(module, name, wrapped)

def release(job, ready, begin):
    global last
    plan, out, last, new = job
    loaded = Plan.load(Path(plan))
    os.write(ready, b"r")
    os.read(begin, 1)
    commands.release_plan(loaded, Path(out), new=new)
    return count

for line in sys.stdin:
    (ready, telling_ready), (begin, telling_begin) = os.pipe(), os.pipe()
    started = []
    for job in json.loads(line):
        steps_of, telling_steps = os.pipe()
        child = os.fork()
        if not child:
            os.close(telling_begin)
            try:
                os.write(telling_steps, str(release(job, telling_ready, begin)).encode())
                os._exit(0)
            finally:
                os.write(telling_ready, b"r")
                os._exit(1)
        os.close(telling_steps)
        started.append((child, steps_of))
    for _ in started:
        os.read(ready, 1)
    os.close(telling_begin)
    ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child, _ in started]
    said = [(end, os.read(taken, 9).decode()) for end, (_, taken) in zip(ends, started, strict=True)]
    for one in (ready, telling_ready, begin, *(taken for _, taken in started)):
        os.close(one)
    print(json.dumps(said), flush=True)
"""

SMALL = """
[data]
source = "t.csv"
rows = 4
[budget]
epsilon = 0.5
ledger = "l"
limit = 1
[columns]
x = { bounds = [0, 10] }
[[release]]
name = "x"
statistic = "mean"
columns = ["x"]
"""


def small(folder):
    folder.mkdir()
    (folder / "t.csv").write_text("x\n1\n2\n3\n4\n")
    (folder / "plan.toml").write_text(SMALL)
    return Plan.load(folder / "plan.toml")


@pytest.fixture
def released():
    """Releases by processes of their own, each killed at a step of it: exit statuses, and how many steps there were."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen([sys.executable, "-c", NURSERY], text=True, env=alone, **pipes) as nursery:

        def run(*jobs):
            nursery.stdin.write(json.dumps([(str(plan), str(out), at, new) for plan, out, at, new in jobs]) + "\n")
            nursery.stdin.flush()
            return json.loads(nursery.stdout.readline())

        yield run
        nursery.stdin.close()


@pytest.mark.claim("job")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_killed_at_every_statement(tmp_path, released, monkeypatch, capsys):
    """What was shown was paid for, what was paid for is not drawn twice, and only a run in its draw loses a charge."""

    def killed(folder, at):
        return released((folder / "plan.toml", folder / "out", at, False))[0]

    small(tmp_path / "whole")
    status, steps = killed(tmp_path / "whole", 0)
    assert status == 0
    total = int(steps)
    assert total > 15
    stages = set()
    for at in range(1, total + 1):
        folder = tmp_path / str(at)
        plan = small(folder)
        assert killed(folder, at)[0] == -9
        book, record = folder / "l", folder / "out" / "release.json"
        chain = ledger.verify(book) if book.exists() and book.stat().st_size else []
        kinds = [entry.kind for entry in chain]
        charged, kept, last = kinds.count("charge"), kinds.count("result"), kinds[-1] if kinds else None
        assert charged <= 1
        # Nothing is shown that is not charged and kept.
        assert not record.exists() or (charged, kept) == (1, 1)
        # Give the same command again.
        status, _, err = called(monkeypatch, capsys, "release", folder / "plan.toml", "--out", folder / "out")
        again = [entry.kind for entry in ledger.verify(book)]
        assert again.count("charge") == 1
        if last == "drawing":
            assert (status, "has no result: its draw" in err) == (2, True)
            assert not record.exists()
            stages.add("lost")
        else:
            assert (status, "costs nothing" in err) == (0, bool(kept))
            assert again.count("drawing") == again.count("drawn") == again.count("result") == 1
            stages.add(last)
        assert plan.account.limit == ledger.Pure(1)
    assert stages == {None, "attempt", "lost", "drawn", "result"}


@pytest.mark.claim("job")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_random_kills_under_load(tmp_path, released):
    """Processes that all want a part of the limit, killed at any step: never more than that, and no lost result.

    Four at a time start their work together. Each is killed when it has come to a step of its own, or never if it ends
    before; how fast the machine is does not matter.
    """
    import random

    rng = random.Random(1)
    small(tmp_path / "whole")
    total = int(released((tmp_path / "whole" / "plan.toml", tmp_path / "whole" / "out", 0, False))[0][1])
    folder = tmp_path / "load"
    small(folder)
    text = SMALL.replace("limit = 1", "limit = 3").replace("epsilon = 0.5", "epsilon = 0.25")
    killed_ = 0
    # More of them where that is asked for.
    for batch in range(int(os.environ.get("INBOUNDS_KILLS", "40")) // 4):
        jobs = []
        for i in range(4):
            path = folder / f"plan{batch}-{i}.toml"
            path.write_text(text.replace('name = "x"', f'name = "x{rng.randrange(10**9)}"'))
            at = rng.randrange(1, 3 * total // 2)
            jobs.append((path, folder / f"out{batch}-{i}", at, True))
        killed_ += [status for status, _ in released(*jobs)].count(-9)
    book = folder / "l"
    chain = ledger.verify(book)
    (standing,) = ledger.standings(chain)
    assert 0 < billionths(standing.spent) <= billionths(standing.limit) == 3 * 10**9
    assert killed_ > 5
    kept = {entry.body["charge"] for entry in chain if entry.kind == "result"}
    shown = [json.loads(path.read_text())["entry"]["sequence"] for path in folder.glob("out*/release.json")]
    assert len(set(shown)) == len(shown)
    assert set(shown) <= kept


@pytest.mark.skipif(os.name != "posix" or not Path("/dev/full").exists(), reason="needs Linux")
def test_a_ledger_that_cannot_be_written(tmp_path, monkeypatch, capsys):
    """Read-only, in a read-only folder, or on a full disk: one message, and nothing is released."""
    small(tmp_path / "a")
    plan, out = tmp_path / "a" / "plan.toml", tmp_path / "a" / "out"
    assert called(monkeypatch, capsys, "release", plan, "--out", out)[0] == 0
    before = files(tmp_path / "a")
    # As root every file can be written; SQLite itself is asked to say no.
    import sqlite3

    real = sqlite3.connect

    def read_only(address, *args, **kwargs):
        return real(address.replace("mode=rwc", "mode=ro"), *args, **kwargs)

    monkeypatch.setattr(sqlite3, "connect", read_only)
    status, said, err = called(monkeypatch, capsys, "release", plan, "--out", out, "--new")
    assert (status, said) == (2, "")
    assert "attempt to write a readonly database" in err
    assert "nothing was spent" in err
    assert files(tmp_path / "a") == before

    def full(address, *args, **kwargs):
        made = real(address, *args, **kwargs)
        pages = made.execute("PRAGMA page_count").fetchone()[0]
        made.execute(f"PRAGMA max_page_count = {pages}")
        return made

    monkeypatch.setattr(sqlite3, "connect", full)
    statuses = [called(monkeypatch, capsys, "release", plan, "--out", out, "--new") for _ in range(12)]
    assert all(status in (0, 2, 3) for status, _, _ in statuses)
    monkeypatch.setattr(sqlite3, "connect", real)
    (standing,) = ledger.standings(ledger.verify(tmp_path / "a" / "l"))
    assert standing.limit.covers(standing.spent)


def test_nothing_of_the_users_is_overwritten(monkeypatch, capsys, folder):
    called(monkeypatch, capsys, "release", folder / "plan.toml", "--out", folder / "out")
    book = folder / "survey.ledger"
    before = files(folder)
    status, _, err = called(monkeypatch, capsys, "ledger", "export", book, "--out", book)
    assert (status, "exists already" in err) == (2, True)
    changed = (folder / "plan.toml").read_text().replace("survey-2026", "mine")
    (folder / "plan.toml").write_text(changed)
    status, _, err = called(monkeypatch, capsys, "demo", "--out", folder)
    assert (status, "differs from the file of the demonstration" in err) == (2, True)
    (folder / "plan.toml").write_bytes(before["plan.toml"])
    assert files(folder) == before
    assert called(monkeypatch, capsys, "ledger", "export", book, "--out", folder / "all.csv")[0] == 0
    assert (folder / "all.csv").read_text().startswith("sequence,when,who")


@pytest.mark.parametrize("source", ["values.csv", ".", "*.csv"])
@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_results_do_not_take_the_place_of_the_table(monkeypatch, capsys, folder, source, dry):
    (folder / "survey.csv").rename(folder / "values.csv")
    plan = folder / "plan.toml"
    plan.write_text(plan.read_text().replace('source = "survey.csv"', f'source = "{source}"'))
    before = files(folder)
    status, _, err = called(monkeypatch, capsys, "release", plan, "--out", folder, *dry)
    assert status == 2
    assert "choose another folder. Nothing was spent" in err
    assert files(folder) == before


def test_a_dry_run_says_what_the_command_would_do(monkeypatch, capsys, folder):
    plan, out = folder / "plan.toml", folder / "out"
    called(monkeypatch, capsys, "release", plan, "--out", out)
    dry = ["release", plan, "--out", folder / "other" / "place", "--dry-run"]
    assert "cost nothing" in called(monkeypatch, capsys, *dry)[2]
    assert "8 releases would cost 1 (1 would be left)" in called(monkeypatch, capsys, *dry, "--new")[2]
    assert not (folder / "other").exists()
    (folder / "file").write_text("")
    status, _, err = called(monkeypatch, capsys, "release", plan, "--out", folder / "file" / "x", "--dry-run")
    assert (status, "cannot be written to" in err) == (2, True)
    (folder / "survey.ledger").unlink()
    for words in (dry, [*dry, "--new"], dry[:-1]):
        status, _, err = called(monkeypatch, capsys, *words)
        assert status != 0
        assert "it was set back, and charges are missing" in err


@pytest.mark.parametrize("address", ["postgresql://ann:s3cret@db/x", "postgresql://db/x?password=s3cret"])
def test_a_password_is_not_written_into_a_plan(monkeypatch, capsys, folder, address):
    out = folder / "own.toml"
    status, said, err = called(monkeypatch, capsys, "plan", "init", address, "--table", "t", "--out", out)
    assert (status, out.exists()) == (2, False)
    assert "and write env:NAME" in err
    assert "s3cret" not in said + err


def test_a_plan_of_a_server_is_called_by_its_table(monkeypatch):
    from inbounds.plan import template as skeleton

    monkeypatch.setattr(skeleton, "columns_of", lambda _: {"age": "integer"})
    text = skeleton.skeleton("postgresql://ann@db/x", table="health.Survey 2026")
    assert 'dataset = "survey-2026"' in text
    assert 'ledger = "survey-2026.ledger"' in text
    assert 'dataset = "data"' in skeleton.skeleton("env:SECRET")
