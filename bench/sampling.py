"""Time of exact draws, as ratios against peers measured in the same run.

    python bench/sampling.py [--size 1000000] [--repeats 9] [--peers] [--tumult PYTHON]

Targets at a million values, medians: exact Laplace and BIT at least 1.0 × `Generator.laplace`; truncated at least
0.4 ×, and within a factor of 4 of each other over scale/range from 1e-3 to 1e3; a certificate in at most 5 ms. With
``--peers`` also OpenDP and diffprivlib, with ``--tumult PYTHON`` Tumult Core in that interpreter; `make bench` gives
them environments of their own.
"""

import sys
from pathlib import Path

# As a script its own folder would hide the standard library's `statistics`.
sys.path[0] = str(Path(__file__).parents[1])

import argparse
import importlib.util
import subprocess
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from bench.timing import median_time, per_call

from inbounds.grid import sampler
from inbounds.grid.entropy import SYSTEM, SystemEntropy
from inbounds.grid.geometric import laplace_one
from inbounds.grid.scale import Scale
from inbounds.grid.sides import fold_one
from inbounds.privacy.certificate import certify, verify
from inbounds.privacy.exact import choose_grid, grid_mechanism


def bulk(size: int, repeats: int) -> bool:
    """Our draws against NumPy's inexact ones."""
    rng = np.random.default_rng(1)
    numpy_time = median_time(lambda: rng.laplace(0, 1, size), repeats)
    print(f"Generator.laplace, {size:,} values: {numpy_time * 1e3:.1f} ms. Ratios to it (higher is faster):\n")
    print(f"{'law':44s} {'AES-CTR':>8s} {'urandom':>8s}")
    plain = SystemEntropy(plain=True)
    results: dict[str, float] = {}

    def show(name: str, draw: Callable[[SystemEntropy], object]) -> float:
        ratios = [numpy_time / median_time(lambda e=e: draw(e), repeats) for e in (SYSTEM, plain)]
        print(f"{name:44s} {ratios[0]:8.2f} {ratios[1]:8.2f}")
        results[name] = ratios[0]
        return ratios[0]

    good = []
    for steps in (Fraction(1), Fraction(10), Fraction(1 << 20), Fraction(1000001, 7)):
        scale = Scale.at_least(steps)
        good.append(show(f"Laplace, T = {steps}", lambda e, s=scale: sampler.laplace(s, e, size)))
    span = 1 << 24
    at = rng.integers(0, span, size)
    for steps in (Fraction(10), Fraction(1 << 20)):
        scale = Scale.at_least(steps)
        good.append(show(f"BIT, T = {steps}, a location each", lambda e, s=scale: sampler.bit(at, 0, span, s, e)))
    truncated = []
    for ratio in (Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(10), Fraction(1000)):
        scale = Scale.at_least(span * ratio)
        name = f"truncated, scale/range = {float(ratio):g}"
        truncated.append(show(f"{name}, a location each", lambda e, s=scale: sampler.truncated(at, 0, span, s, e)))
        alike = show(
            f"{name}, one location", lambda e, s=scale: sampler.truncated_alike(span // 3, 0, span, s, e, size)
        )
        truncated.append(alike)
    print(f"\nspread of truncated: {max(truncated) / min(truncated):.2f}")
    met = [min(good) >= 1.0, min(truncated) >= 0.4, max(truncated) / min(truncated) <= 4]
    for what, ok in zip(("Laplace and BIT ≥ 1.0", "truncated ≥ 0.4", "spread ≤ 4"), met, strict=True):
        print(f"target {what}: {'met' if ok else 'MISSED'}")
    return all(met)


def certificates() -> bool:
    """Make, write, read and verify a certificate."""
    worst, half = 0.0, Fraction(1, 2)
    claim = {"statistic": "sum", "neighbours": "add-remove", "sensitivity": Fraction(1), "epsilon": half}
    for bounding in ("bit", "truncated"):
        for bits in (10, 30, 60):
            grid = choose_grid(Fraction(0), Fraction(1 << bits), Fraction(1), half, step=Fraction(1))
            mechanism = grid_mechanism(bounding, grid, half)
            worst = max(worst, per_call(lambda m=mechanism: verify(certify(m, **claim).to_dict()), 20))
    met = worst <= 5e-3
    print(f"\ncertificate made and verified, N up to 2^60: at most {worst * 1e3:.2f} ms")
    print(f"target ≤ 5 ms: {'met' if met else 'MISSED'}")
    return met


def scalars() -> dict[str, float]:
    scale = Scale.at_least(Fraction(1 << 20))
    return {
        "inbounds, Laplace or BIT": per_call(lambda: laplace_one(scale, SYSTEM), 1000),
        "inbounds, truncated": per_call(lambda: fold_one(1000, 1 << 24, scale, SYSTEM), 200),
    }


TUMULT = """
import time
from tmlt.core.random.laplace import laplace
laplace(0.0, 1.0)
start = time.perf_counter()
for _ in range(300):
    laplace(0.0, 1.0)
print((time.perf_counter() - start) / 300)
"""


def peers(tumult: str | None) -> bool:
    """One scalar and whole vectors against libraries of the field."""
    times = scalars()
    ratios_met = True
    if importlib.util.find_spec("opendp"):
        import opendp.prelude as dp

        dp.enable_features("contrib")
        one = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)
        times["OpenDP make_laplace"] = per_call(lambda: one(0.5), 200)
        whole = dp.m.make_laplace(
            dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float), scale=1.0
        )
        scale = Scale.at_least(Fraction(1 << 20))
        for size, target in ((2_000, 100), (65_536, 300)):
            values = [0.5] * size
            at = np.zeros(size, dtype=np.int64)
            theirs = median_time(lambda v=values: whole(v), 3)
            ours = median_time(lambda a=at: sampler.bit(a, 0, 1 << 24, scale, SYSTEM), 9)
            ok = theirs / ours >= target
            ratios_met &= ok
            print(f"vector of {size:,}: {theirs / ours:.0f} × OpenDP, target ≥ {target}: {'met' if ok else 'MISSED'}")
    else:
        print("OpenDP is not installed here")
    if importlib.util.find_spec("diffprivlib"):
        from diffprivlib.mechanisms import Laplace, LaplaceBoundedDomain, LaplaceTruncated

        keywords = {"epsilon": 1.0, "sensitivity": 0.01}
        times["diffprivlib Laplace (inexact)"] = per_call(lambda: Laplace(**keywords).randomise(0.5), 300)
        clamp = LaplaceTruncated(**keywords, lower=0, upper=1)
        times["diffprivlib clamp (inexact)"] = per_call(lambda: clamp.randomise(0.5), 300)
        redraw = LaplaceBoundedDomain(**keywords, lower=0, upper=1)
        times["diffprivlib truncation (inexact)"] = per_call(lambda: redraw.randomise(0.5), 300)
    else:
        print("diffprivlib is not installed here")
    if tumult:
        run = subprocess.run([tumult, "-c", TUMULT], capture_output=True, text=True, check=False)
        if run.returncode == 0:
            times["Tumult Core laplace"] = float(run.stdout)
        else:
            print(f"Tumult Core does not run here: {run.stderr.strip().splitlines()[-1][:100]}")
    print("\none scalar draw:")
    for name, seconds in times.items():
        print(f"  {name:34s} {seconds * 1e6:8.1f} µs")
    return ratios_met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--peers", action="store_true", help="also the libraries of the field")
    parser.add_argument("--tumult", help="an interpreter that has Tumult Core")
    options = parser.parse_args()
    met = [bulk(options.size, options.repeats), certificates()]
    if options.peers:
        print()
        met.append(peers(options.tumult))
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
