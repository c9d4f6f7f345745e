"""Benchmarks run at all: what they measure is for `make bench`, but a name that has moved should be seen here."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"
SCRIPTS = sorted(path.name for path in BENCH.glob("*.py") if path.name != "timing.py")
# The smallest that each of them can do; those that are missing here are only asked for help.
SMALL = {
    "statistics.py": ["--rows", "2000", "--repeats", "1"],
    "studies.py": ["--part", "own"],
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_benchmark_runs(script):
    done = subprocess.run(
        [sys.executable, str(BENCH / script), *SMALL.get(script, ["--help"])],
        capture_output=True,
        text=True,
        timeout=120,
    )
    # A target that is missed at this size is no failure.
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stdout
