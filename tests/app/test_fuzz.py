"""Plans and data files with something wrong in them: a message and an exit status, never a trace."""

import random
import re
import shutil

import pytest

from inbounds import ledger
from inbounds.plan.plan import Plan, PlanError
from tests.app.test_cli import called
from tests.app.test_commands import files

PLAN = """[data]
source = "t.csv"
rows = 6
neighbours = "substitute"
contributions = 1

[budget]
epsilon = 0.5
ledger = "l"
dataset = "d"
limit = 5.0

[columns]
x = { bounds = [0, 10], missing = 5 }
y = { bounds = [-1.5, 2.5] }
g = { levels = ["a", "b"], other = "b" }

[[release]]
name = "x"
statistic = "mean"
columns = ["x"]

[[release]]
name = "both"
statistic = "covariance"
columns = ["x", "y"]
method = "joint"
share = 2

[[release]]
name = "groups"
statistic = "histogram"
columns = ["g"]
repair = "project"
"""
TABLE = "x,y,g\n1,0.5,a\n2,1.5,b\n,2.0,a\n4,-1,a\n5,0,c\n6,1,b\n"
JUNK = [
    "nan",
    "-1",
    "0",
    "1e999",
    "''",
    '"é\\u0000"',
    "[]",
    "{}",
    "true",
    "1979-05-27",
    "[[1]]",
    "{ a = { b = 1 } }",
    "'" * 3,
]
BYTES = [b"\x00", b"\xff\xfe", b'"', b",", b"\n\n", b"\r", b"1e999", b"abc", b"\xc3\x28", b"\xef\xbb\xbf"]


def broken_plan(rng):
    """One or two things wrong."""
    lines = PLAN.splitlines()
    for _ in range(rng.choice([1, 1, 2])):
        i = rng.randrange(len(lines))
        way = rng.randrange(7)
        if way == 0:
            del lines[i]
        elif way == 1:
            lines.insert(i, lines[rng.randrange(len(lines))])
        elif way == 2 and "=" in lines[i]:
            lines[i] = f"{lines[i].split('=')[0]}= {rng.choice(JUNK)}"
        elif way == 3 and lines[i]:
            at = rng.randrange(len(lines[i]))
            lines[i] = lines[i][:at] + rng.choice("xyz\"'[]{}=#\\0 ") + lines[i][at + 1 :]
        elif way == 4 and "=" in lines[i]:
            key, rest = lines[i].split("=", 1)
            lines[i] = f"{key.strip()}{rng.choice('sx_')} ={rest}"
        elif way == 5:
            lines = lines[:i]
        else:
            lines[i] = re.sub(r"\d+", lambda _: rng.choice(["-7", "1e400", "0", "999999999999999999999"]), lines[i])
    return "\n".join(lines) + "\n"


def broken_table(rng):
    data = bytearray(TABLE.encode())
    way = rng.randrange(5)
    if way == 0:
        del data[rng.randrange(len(data)) :]
    elif way == 1:
        at = rng.randrange(len(data))
        data[at : at + 1] = rng.choice(BYTES)
    elif way == 2:
        at = rng.randrange(len(data))
        del data[at : at + rng.randrange(1, 9)]
    elif way == 3:
        return rng.randbytes(rng.randrange(200))
    else:
        rows = TABLE.splitlines()
        rng.shuffle(rows)
        return "\n".join(rows).encode()
    return bytes(data)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "t.csv").write_text(TABLE)
    return tmp_path


def test_the_good_ones_are_good(folder, monkeypatch, capsys):
    assert called(monkeypatch, capsys, "release", folder / "plan.toml", "--out", folder / "out")[0] == 0


@pytest.mark.parametrize("part", range(3))
def test_broken_plans(folder, monkeypatch, capsys, part):
    rng, wrong = random.Random(part), 0
    before = files(folder)
    while wrong < 70:
        text = broken_plan(rng)
        path = folder / "broken.toml"
        path.write_text(text, "utf-8")
        try:
            Plan.load(path)
            path.unlink()
            continue
        except PlanError:
            pass
        status, said, err = called(monkeypatch, capsys, "release", path, "--out", folder / "out")
        path.unlink()
        assert (status, said) == (2, ""), text
        assert err.startswith("inbounds: ")
        assert "Traceback" not in err
        assert "pydantic" not in err.lower()
        assert all(len(line) < 500 for line in err.splitlines()), err
        assert files(folder) == before
        wrong += 1


@pytest.mark.parametrize("part", range(3))
def test_broken_tables(folder, monkeypatch, capsys, part):
    """What is public is found before the charge; what only the values show leaves a charge that says it failed."""
    rng, wrong, free = random.Random(100 + part), 0, 0
    while wrong < 35:
        data = broken_table(rng)
        (folder / "t.csv").write_bytes(data)
        for book in folder.glob("l*"):
            book.unlink()
        status, said, err = called(
            monkeypatch, capsys, "release", folder / "plan.toml", "--out", folder / "out", "--new"
        )
        chain = ledger.verify(folder / "l") if (folder / "l").exists() else []
        kinds = [entry.kind for entry in chain]
        if status == 0:
            # A change that the rules provide for: another number, another group.
            assert kinds == ["ledger", "dataset", "charge", "attempt", "drawing", "drawn", "result"]
            shutil.rmtree(folder / "out")
            continue
        assert (status, said) == (2, ""), data
        assert err.startswith("inbounds: ")
        assert err.count("\n") == 1, err
        assert "Traceback" not in err
        assert not (folder / "out").exists()
        assert kinds in ([], ["ledger", "dataset", "charge", "attempt", "failure"])
        free += not kinds
        wrong += 1
    assert 0 < free < wrong
