"""Studies: all at once against one data set after another, in the same run.

    python bench/studies.py [--loops 3] [--part own ratio command]

``own``: the data for all of the paper's figures at 500 repetitions, after import (target 1 s). ``ratio``: the same
settings by a loop over data sets, shares and copies, as one would write it first, with the laws of scipy.stats (target:
300 times as long); and the same loop with quicker draws. Loops do a few data sets of every setting and are scaled up.
``command``: the whole command with figures, our additions and the claims page, at 500 and at 10,000 repetitions (target
60 s).
"""

import sys
from pathlib import Path

# As a script its own folder would hide the standard library's `statistics`.
sys.path[0] = str(Path(__file__).parents[1])

import argparse
import subprocess
import tempfile
import time

import numpy as np
import scipy.stats

from inbounds.lab.studies import keep, paper

REPETITIONS = 500


def own() -> float:
    """Seconds for the tables of all of the paper's figures, written to a folder."""
    best = np.inf
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            for name, made in (("covariance", paper.covariance), ("proportions", paper.proportions)):
                keep.conduct(name, made(ours=False), REPETITIONS, folder=Path(folder))
            best = min(best, time.perf_counter() - start)
    return best


def by_quantiles(mechanism, at, scale, lower, upper, rng):
    """One value with the laws of scipy.stats: clamped, or by the inverse of the truncated distribution function."""
    law = scipy.stats.laplace(loc=at, scale=scale)
    if mechanism == "bit":
        return float(np.clip(law.rvs(random_state=rng), lower, upper))
    low, high = law.cdf(lower), law.cdf(upper)
    return float(np.clip(law.ppf(low + rng.random() * (high - low)), lower, upper))


def by_redrawing(mechanism, at, scale, lower, upper, rng):
    """One value with scipy.stats: clamped, or drawn again until it is inside."""
    return _again(lambda: scipy.stats.laplace.rvs(loc=at, scale=scale, random_state=rng), mechanism, lower, upper)


def by_numpy(mechanism, at, scale, lower, upper, rng):
    """The same with NumPy's generator, which is the quickest for one value."""
    return _again(lambda: rng.laplace(at, scale), mechanism, lower, upper)


def _again(draw, mechanism, lower, upper):
    if mechanism == "bit":
        return min(max(draw(), lower), upper)
    while not lower <= (value := draw()) <= upper:
        pass
    return value


LOOPS = {
    by_quantiles: "scipy.stats, truncated by quantiles",
    by_redrawing: "scipy.stats, drawn again until inside",
    by_numpy: "NumPy's scalar draws, drawn again until inside",
}
# How the loop that is running draws one value.
DRAW = [by_quantiles]


def bounded(mechanism, at, scale, lower, upper, rng):
    return DRAW[0](mechanism, min(max(at, lower), upper) if mechanism == "truncated" else at, scale, lower, upper, rng)


def one_matrix(run, rng):
    """One release of a 2 × 2 matrix, element by element."""
    found = []
    for j, k in run.scenario.elements:
        reach = run.largest(j) if j == k else np.sqrt(found[j] * found[k])
        lower = 0.0 if j == k else -reach
        if reach == 0:
            found.append(0.0)
            continue
        scale = 3 * run._sensitivity(j, k) / run.epsilon
        found.append(bounded(run.mechanism, run.scenario.matrix[j][k], scale, lower, reach, rng))
    return [*found, found[2] / np.sqrt(found[0] * found[1]) if found[0] * found[1] > 0 else np.nan]


def one_vector(run, shares, rng):
    """One release of four shares, repaired."""
    if run.repair == "tree":
        nodes = [shares[0] + shares[1], shares[2] + shares[3], *shares]
        h = [bounded(run.mechanism, min(x, 1.0), run.scale, 0, 1, rng) for x in nodes]
        z = [(h[2 + 2 * i] + h[3 + 2 * i]) / 3 + 2 * h[i] / 3 for i in (0, 1)]
        lacking = (1 - sum(z)) / 2
        parents = [x + lacking for x in z]
        parents = [0.0, 1.0] if parents[0] < 0 else [1.0, 0.0] if parents[1] < 0 else parents
        leaves = []
        for i, parent in enumerate(parents):
            children = h[2 + 2 * i : 4 + 2 * i]
            lacking = (parent - sum(children)) / 2
            children = [x + lacking for x in children]
            leaves += [0.0, parent] if children[0] < 0 else [parent, 0.0] if children[1] < 0 else children
        return np.array(leaves)
    noisy = np.array([bounded(run.mechanism, x, run.scale, 0, 1, rng) for x in shares])
    if run.repair == "all-but-one":
        rest = noisy[1:].sum()
        return np.array([1 - rest, *noisy[1:]]) if rest <= 1 else np.array([0.0, *noisy[1:] / rest])
    total = noisy.sum()
    return noisy / total if total > 0 else np.full(4, 0.25)


def one_dataset(run, rng):
    """One sample, its release and its interval for four shares and three sums."""
    combine = run.scenario.combinations()
    shares = rng.multinomial(run.n, run.scenario.shares) / run.n
    if run.estimator != "synthesis":
        values = combine @ (shares if run.mechanism is None else one_vector(run, shares, rng))
        half = scipy.stats.norm.ppf(0.975) * np.sqrt(np.maximum(values * (1 - values), 0) / run.n)
        return values, values - half, values + half
    copies = np.array([combine @ one_vector(run, shares, rng) for _ in range(run.copies)])
    within = (copies * (1 - copies)).mean(axis=0) / run.n
    between = copies.var(axis=0, ddof=1)
    freedom = [
        (run.copies - 1) * (1 + run.copies * w / b) ** 2 if b > 0 else np.inf
        for w, b in zip(within, between, strict=True)
    ]
    half = [
        scipy.stats.t.ppf(0.975, df) * np.sqrt(w + b / run.copies)
        for df, w, b in zip(freedom, within, between, strict=True)
    ]
    point = copies.mean(axis=0)
    return point, point - half, point + half


def loop(loops: int, draw) -> float:
    """Seconds that a loop would take for 500 repetitions of every setting."""
    DRAW[0] = draw
    rng = np.random.default_rng(1)
    start = time.perf_counter()
    for setting in paper.covariance(ours=False):
        for _ in range(loops):
            one_matrix(setting.simulate, rng)
    for setting in paper.proportions(ours=False):
        for _ in range(loops):
            one_dataset(setting.simulate, rng)
    return (time.perf_counter() - start) * REPETITIONS / loops


def command(repetitions: int) -> float:
    """Seconds for the whole command, from its start."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        order = ["study", "paper", "--out", folder, "--reps", str(repetitions)]
        subprocess.run([sys.executable, "-m", "inbounds.cli.commands", *order], check=True, capture_output=True)
        return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loops", type=int, default=3, help="data sets of every setting that the loop does")
    parser.add_argument("--part", nargs="*", choices=["own", "ratio", "command"], default=["own", "ratio", "command"])
    arguments = parser.parse_args()
    good = True
    mine = own()
    if "own" in arguments.part:
        print(f"data for all of the paper's figures, {REPETITIONS} repetitions: {mine:.2f} s (target 1 s)")
        good = good and mine <= 1
    if "ratio" in arguments.part:
        for place, (draw, words) in enumerate(LOOPS.items()):
            theirs = loop(arguments.loops, draw)
            target = " (target 300)" if place == 0 else ""
            print(f"a loop over data sets with {words}: {theirs:.0f} s, {theirs / mine:.0f} times as long{target}")
            good = good and (place > 0 or theirs >= 300 * mine)
    if "command" in arguments.part:
        for repetitions in (500, 10_000):
            spent = command(repetitions)
            print(f"inbounds study paper --reps {repetitions}, figures and claims: {spent:.1f} s (target 60 s)")
            good = good and spent <= 60
    print("all targets met" if good else "a target was missed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
