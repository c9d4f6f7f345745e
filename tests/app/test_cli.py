"""The command: files, messages and exit statuses."""

import csv
import io
import json
import os
import subprocess
import sys

import pytest

from inbounds.cli import commands as cli
from inbounds.cli import terminal
from inbounds.lab.studies import laboratory

OWN = """
name = "own"
kind = "proportions"
n = [50]
epsilon = [1.0]
repetitions = 30
[[scenario]]
shares = [0.1, 0.2, 0.3, 0.15, 0.25]
"""


def called(monkeypatch, capsys, *arguments):
    """Exit status, standard output and standard error of the command."""
    monkeypatch.setattr(sys, "argv", ["inbounds", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    said = capsys.readouterr()
    return left.value.code, said.out, said.err


def test_a_study_of_ones_own(monkeypatch, capsys, tmp_path):
    study = tmp_path / "own.toml"
    study.write_text(OWN)
    status, out, err = called(monkeypatch, capsys, "study", study, "--out", tmp_path / "a", "--json")
    assert status == 0
    report = json.loads(out)
    assert "own: 2 settings, 30 repetitions" in err
    assert {path.name for path in (tmp_path / "a").iterdir()} == {"own.csv", "own.parquet", "own.json", "figures"}
    assert len(report["figures"]) == 2
    status, out, err = called(
        monkeypatch, capsys, "study", study, "--out", tmp_path / "b", "--reps", 20, "--seed", 7, "--no-figures"
    )
    assert (status, out) == (0, "")
    assert json.loads((tmp_path / "b" / "own.json").read_text())["seed"] == 7
    assert not (tmp_path / "b" / "figures").exists()
    with (tmp_path / "b" / "own.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert {row["repetitions"] for row in rows} == {"20"}
    assert {"bias", "rmse", "coverage", "q2.5"} <= {row["measure"] for row in rows}
    assert all(float(row["standard_error"]) >= 0 for row in rows)


def test_the_papers_studies_one_after_the_other_fill_one_page(monkeypatch, capsys, tmp_path):
    from inbounds.lab.studies import paper

    # Exact intervals take most of the time, and no finding asks for them.
    quick = [setting for setting in paper.proportions() if setting.simulate.estimator != "exact"]
    monkeypatch.setattr(paper, "proportions", lambda: quick)
    order = "--out", tmp_path, "--reps", 100, "--no-figures"
    status, _, err = called(monkeypatch, capsys, "study", "covariance", *order, "--undefined", "zero")
    assert status == 0
    assert "21 not run" in err
    status, out, _ = called(monkeypatch, capsys, "study", "proportions", *order, "--json")
    report = json.loads(out)
    assert status == 0
    assert "not run" not in report["verdicts"]
    assert sum(report["verdicts"].values()) == 32
    with (tmp_path / "claims.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == 32
    assert all(row["verdict"] in ("reproduced", "partly", "not", "undecided") for row in rows)
    page = (tmp_path / "claims.html").read_text("utf-8")
    assert "100 repetitions, seed 1, undefined r: zero" in page


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["study", "means", "--out", "x"], "'means' is not a study; use covariance, proportions, paper, or a file"),
        (["study", "none.toml", "--out", "x"], "none.toml: cannot be read"),
        (["study", "covariance"], "Missing option '--out'"),
        (["study", "covariance", "--out", "x", "--reps", "1"], "repetitions must be >= 2, got 1"),
        (
            ["study", "covariance", "--out", "x", "--reps", "5"],
            "repetitions of the paper's studies must be at least 20",
        ),
        (
            ["study", "covariance", "--out", "x", "--reps", "many"],
            "--reps must be a whole number such as 10000, got 'many'",
        ),
        (["study", "covariance", "--out", "x", "--reps", "1e4"], "--reps must be a whole number such as 10000"),
        (["study", "covariance", "--out", "x", "--seed", "9" * 30], "--seed must be a whole number"),
        (["study", "proportions", "--out", "x", "--undefined", "zero"], "undefined is for studies of covariance"),
        (["study", "covariance", "--out", ""], "need the name of a folder"),
        (["study", "covariance", "--out", "x", "--seed", "-1"], "seed must be >= 0"),
        (["study", "covariance", "--out", "x", "--workers", "0"], "workers must be >= 1"),
        (["study", "covariance", "--out", "x", "--undefined", "one"], "--undefined must be one of 'omit', 'zero'"),
        (["study"], "Missing argument"),
        (["stduy"], "stduy"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(monkeypatch, capsys, tmp_path, arguments, words):
    monkeypatch.chdir(tmp_path)
    status, out, err = called(monkeypatch, capsys, *arguments)
    assert (status, out) == (2, "")
    assert words in err
    assert err.startswith("inbounds: ")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made(monkeypatch, capsys, tmp_path):
    (tmp_path / "taken").write_text("")
    status, _, err = called(monkeypatch, capsys, "study", "covariance", "--out", tmp_path / "taken", "--reps", 20)
    assert status == 2
    assert "the results need a folder, and" in err
    assert err.count("\n") == 1


def test_help_is_quick_and_complete():
    """No library is loaded for a word of help."""
    code = "import sys, inbounds.cli.commands; print({'polars', 'scipy.special', 'altair'} & set(sys.modules) or [])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
    shown = subprocess.run(
        [sys.executable, "-m", "inbounds.cli.commands", "study", "--help"], capture_output=True, text=True, check=True
    ).stdout
    for word in ("--out", "--reps", "--seed", "--workers", "--undefined", "--no-figures", "--json", "FILE.toml"):
        assert word in shown


def test_linear_algebra_has_one_thread():
    """Set before NumPy is loaded, which is when it counts; whoever set it otherwise is left alone."""
    names = "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"
    code = f"import os, sys, inbounds.cli; print('numpy' in sys.modules, *map(os.environ.get, {names}))"
    plain = {name: value for name, value in os.environ.items() if name not in names}
    for given, expected in (({}, "False 1 1"), ({names[0]: "3"}, "False 3 1")):
        order = [sys.executable, "-c", code]
        shown = subprocess.run(order, capture_output=True, text=True, check=True, env=plain | given)
        assert shown.stdout.split() == expected.split()


def test_both_outputs_of_a_command_are_in_order_in_one_file(monkeypatch, tmp_path):
    with (tmp_path / "log").open("ab", buffering=0) as log:
        out = io.TextIOWrapper(io.BufferedWriter(log))
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(log, write_through=True))
        terminal.show("values")
        terminal.say("what was spent")
        out.flush()
        assert (tmp_path / "log").read_text() == "values\nwhat was spent\n"


def test_order_has_the_defaults_of_the_command(tmp_path):
    assert laboratory.Order(tmp_path).figures
    assert laboratory.REPETITIONS == 10_000
