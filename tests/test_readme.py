"""The commands of the README, the first steps and the survey, one after another, with the output that they show."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from inbounds.cli import commands

HERE = Path(__file__).parents[1]
BLOCK = re.compile(r"```(console|toml|python)\n(.*?)```", re.DOTALL)
# Blocks that are files to write.
FILES = {"toml": "plan.toml", "python": "own.py"}
# Set up already, by whoever runs this.
ALREADY = (
    *("make setup", "make dist", "python3 -m venv ~/inbounds", "pip install dist/inbounds-*.whl"),
    *("source .venv/bin/activate", "source ~/inbounds/bin/activate"),
)
# Pages, and how many commands they give.
PAGES = {"README.md": 7, "docs/start.md": 14, "docs/survey.md": 7}
# Of the README, with its code.
MOST_WORDS = 900


def steps(text):
    """The blocks in order: files to write, and commands with what they should print."""
    for kind, body in BLOCK.findall(text):
        if kind in FILES:
            yield FILES[kind], body
            continue
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command.split("  #")[0].strip(), output


def run_in_shell(command, folder):
    """The exit status of a command, and what it prints."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Our command is run by a shell once, and then in this process; other commands by a shell."""
    started = []

    def run_command(command):
        program, *words = shlex.split(command)
        if program != "inbounds" or not started:
            started.extend([program] if program == "inbounds" else [])
            return run_in_shell(command, tmp_path)
        monkeypatch.setattr(sys, "argv", [program, *words])
        with pytest.raises(SystemExit) as left:
            commands.main()
        said = capsys.readouterr()
        return left.value.code, said.out + said.err

    monkeypatch.chdir(tmp_path)
    return run_command


@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_output(tmp_path, run, page):
    given = 0
    for command, expected in steps((HERE / page).read_text("utf-8")):
        if command in FILES.values():
            (tmp_path / command).write_text(expected, "utf-8")
            continue
        if command in ALREADY:
            target = command.removeprefix("make ")
            assert target == command or re.search(rf"^{target}:", (HERE / "Makefile").read_text(), re.MULTILINE)
            continue
        status, got = run(command)
        refused = expected.startswith("inbounds: ")
        assert status == (3 if "--new" in command else 2 if refused else 0), got
        same = doctest.OutputChecker().check_output(expected, got, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        assert same, f"{command}\n{expected}\n{got}"
        given += 1
    assert given == PAGES[page]


@pytest.mark.parametrize("wrong", ["mean of age: 12...", "nothing like it"])
def test_other_output_would_be_seen(wrong):
    got = "mean of age: 49.5"
    assert not doctest.OutputChecker().check_output(wrong, got, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)


def test_the_readme_is_short():
    assert len((HERE / "README.md").read_text("utf-8").split()) <= MOST_WORDS
