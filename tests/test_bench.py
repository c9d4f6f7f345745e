"""Benchmarks run at all: what they measure is for `make bench`, but a name that has moved should be seen here."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from bench import statistics

BENCH = Path(__file__).parents[1] / "bench"
SCRIPTS = sorted(path.name for path in BENCH.glob("*.py") if path.name not in ("samples.py", "timing.py"))
# The smallest that each of them can do; those that are missing here are only asked for help.
SMALL = {
    "cells.py": ["--cells", "2500", "--rows", "2000", "--engines", "polars"],
    "ledger.py": ["--entries", "100", "200", "--charges", "3"],
    "scale_peers.py": ["--rows", "3000", "--folder", "{folder}"],
    "statistics.py": ["--rows", "2000", "--repeats", "1", "--engines", "polars"],
    "studies.py": ["--part", "own"],
}


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.filterwarnings("ignore")
def test_a_benchmark_runs(script, tmp_path, monkeypatch, capsys):
    """In this process, which has loaded already what they measure."""
    monkeypatch.setattr(sys, "path", [str(BENCH), *sys.path])
    monkeypatch.setattr(
        sys, "argv", [script, *(word.format(folder=tmp_path) for word in SMALL.get(script, ["--help"]))]
    )
    with pytest.raises(SystemExit) as left:
        runpy.run_path(str(BENCH / script), run_name="__main__")
    # A target that is missed at this size is no failure.
    assert left.value.code in (0, 1)
    assert capsys.readouterr().out


def test_a_benchmark_runs_from_its_folder():
    """Next to a file that is called like a module of Python's."""
    words = [sys.executable, str(BENCH / "statistics.py"), "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "usage: statistics.py" in done.stdout


@pytest.mark.parametrize("engine", [name for name in statistics.ENGINES if name != "polars"])
@pytest.mark.parametrize("whose", ["own", "exact"])
def test_queries_of_other_engines_run(engine, whose):
    """In this process: to start one for each takes longer than the query."""
    data, queries = statistics.ENGINES[engine](statistics.arrays(500))
    for what, own in queries.items():
        assert (own if whose == "own" else statistics.ours(data, covariance=True, crosstab=what == "both"))()
