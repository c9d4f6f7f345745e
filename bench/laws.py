"""Time of the laws, as ratios against peers measured in the same run.

    python bench/laws.py [--size 1000000] [--repeats 7]

Targets: a million truncated-Laplace MSEs in at most 5 times the time of a million incomplete gamma functions, and
`import inbounds` in at most 0.3 s. SciPy's own way to a truncated law is shown beside.
"""

import sys
from pathlib import Path

# As a script its own folder would hide the standard library's `statistics`.
sys.path[0] = str(Path(__file__).parents[1])

import argparse
import statistics
import subprocess

import numpy as np
from bench.timing import median_time
from scipy import special, stats

from inbounds import Gaussian, Laplace, Mechanism


def import_time(module: str, repeats: int) -> float:
    """Seconds to import a module in a fresh interpreter, its own start not counted."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(repeats)
    ]
    return statistics.median(float(run.stdout) for run in runs)


def scipy_truncated_mse(scale: float, s: np.ndarray) -> list[float]:
    """The same quantity through scipy.stats.truncate, which takes one location at a time."""
    base = scale * stats.make_distribution(stats.laplace)()
    law = [stats.truncate(base + float(at), lb=0.0, ub=1.0) for at in s]
    return [float(one.variance() + (one.mean() - at) ** 2) for one, at in zip(law, s, strict=True)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    s = np.random.default_rng(1).random(options.size)

    gamma = median_time(lambda: special.gammainc(3.0, s * 10), options.repeats)
    rows = [(f"scipy.special.gammainc, {options.size:,} values", gamma)]
    for noise in (Laplace(0.1), Gaussian(0.1)):
        for bounding in ("truncated", "bit"):
            few = s if isinstance(noise, Laplace) else s[: options.size // 100]
            law = Mechanism(noise, bounding, bounds=(0, 1))
            seconds = median_time(lambda law=law, few=few: law.mse(few), options.repeats)
            rows.append((f"{type(noise).__name__} {bounding} MSE, per {options.size:,}", seconds * s.size / few.size))
    three = s[:3]
    slow = median_time(lambda: scipy_truncated_mse(0.1, three), 3) * s.size / three.size
    rows.append((f"scipy.stats.truncate MSE, per {options.size:,} (measured on 3)", slow))
    ours, theirs = Mechanism(Laplace(0.1), "truncated", bounds=(0, 1)).mse(three), scipy_truncated_mse(0.1, three)

    print(f"{'what':58s} {'seconds':>11s} {'ratio to gammainc':>18s}")
    for what, seconds in rows:
        print(f"{what:58s} {seconds:11.4f} {seconds / gamma:18.2f}")
    print(f"\nlargest relative difference from SciPy on those 3: {np.max(np.abs(ours / theirs - 1)):.1e}")
    imports = {name: import_time(name, options.repeats) for name in ("numpy", "scipy.special", "inbounds")}
    print("import, seconds: " + ", ".join(f"{name} {seconds:.3f}" for name, seconds in imports.items()))

    met = [rows[1][1] <= 5 * gamma, imports["inbounds"] <= 0.3]
    print(f"target MSE ≤ 5 × gammainc: {'met' if met[0] else 'MISSED'}")
    print(f"target import ≤ 0.3 s: {'met' if met[1] else 'MISSED'}")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
