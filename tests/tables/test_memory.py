"""Peaks of memory, each in a process of its own."""

import subprocess
import sys

import pytest

# A table in memory or in DuckDB, and how much its correlations took at most, in megabytes.
_CORRELATION = """
import sys
import warnings
import numpy as np
import polars as pl
import inbounds as ib

warnings.simplefilter("ignore")
rows, columns = 200_000, 60
rng = np.random.default_rng(1)
table = pl.DataFrame({f"x{i}": rng.normal(50, 20, rows) for i in range(columns)})
if sys.argv[1] == "lazy":
    table = table.lazy()
bounds = dict.fromkeys(table.collect_schema().names(), (0, 100))
made = ib.correlation(table, bounds=bounds, epsilon=1, rows=rows)
assert made.epsilon == 1
lines = open("/proc/self/status").read().splitlines()
print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1024)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak from Linux")
@pytest.mark.parametrize("way", ["whole", "lazy"])
def test_correlations_of_sixty_columns_take_less_than_700_megabytes(way):
    """The table takes 92 of them, and its 1,830 products, all at once, several thousand."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _CORRELATION, way], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 700
