"""The README's commands, given one after another in an empty folder, with the output that it shows."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from inbounds.app import example

HERE = Path(__file__).parents[1]
BLOCK = re.compile(r"```(console|toml)\n(.*?)```", re.DOTALL)
# Set up already, by whoever runs this.
ALREADY = ("make setup",)


def steps(text):
    """The blocks in order: files to write, and commands with what they should print."""
    for kind, body in BLOCK.findall(text):
        if kind == "toml":
            yield "plan", body
            continue
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command.split("  #")[0].strip(), output


def test_every_command_and_output(tmp_path):
    example.survey().write_csv(tmp_path / "survey.csv")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    given = 0
    for command, expected in steps((HERE / "README.md").read_text("utf-8")):
        if command == "plan":
            (tmp_path / "plan.toml").write_text(expected, "utf-8")
            continue
        if command in ALREADY:
            assert re.search(r"^setup:", (HERE / "Makefile").read_text(), re.MULTILINE)
            continue
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        got = done.stdout + done.stderr
        assert done.returncode == (3 if "--new" in command else 0), got
        same = doctest.OutputChecker().check_output(expected, got, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        assert same, f"{command}\n{expected}\n{got}"
        given += 1
    assert given == 6


@pytest.mark.parametrize("wrong", ["mean of age: 12...", "nothing like it"])
def test_other_output_would_be_seen(wrong):
    got = "mean of age: 49.5"
    assert not doctest.OutputChecker().check_output(wrong, got, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
