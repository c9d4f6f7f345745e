"""Intervals: what they cover, how wide they are, and how long they take.

    python bench/intervals.py [--runs 500] [--part scores shares synthesis means spreads time groups]

scores     means drawn with their squares: twelve laws, by the law of their noise
shares     exact coverage by enumeration and mean width against the optimal (Tulap) interval
synthesis  one release against multiple synthesis (five copies at a fifth of ε), the whole table
means      with the mean alone, and with a released variance
spreads    variances and correlations, where records are normal and where they are not
time       one interval of a million records
groups     all intervals of many groups, a report of 2,000 and the correlations of 60 columns: processor time, and for
           groups its ratio to their release, which is to be at most 3 for 1,000 groups and 1 for 100,000
"""

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path

# This folder has a statistics.py, which must not stand in for Python's own.
sys.path[0] = str(Path(__file__).parents[1])

import numpy as np
from bench.samples import LAWS
from tests.inference.peers import binomial, released_pmf, seeded, seeded_matrix, tulap_width

import inbounds as ib
from inbounds.inference import score
from inbounds.inference.counts import Binomial, choose_family
from inbounds.inference.inversion import interval
from inbounds.inference.laws import DiscreteLaplace, Law, ZeroSum
from inbounds.lab.synthesis import pool_copies, t_quantile
from inbounds.plan.release import release as release_plan

SHARES = np.unique(np.concatenate([[0, 0.001, 0.005, 0.01, 0.99, 1], np.linspace(0.02, 0.98, 34)]))
STUDY = np.array([0.1, 0.2, 0.3, 0.4])


def scale_of(epsilon, *, truncated=False):
    return 1 / math.log((1 + math.exp(epsilon)) / 2) if truncated else 1 / epsilon


def enumerated(n, law, pmf, shares, alphas=None):
    """Coverage and mean width at each share, over all released counts; at 95%, or each at a level of its own."""
    found, made = [], {}
    for share, alpha in zip(shares, [0.05] * len(shares) if alphas is None else alphas, strict=True):
        if alpha not in made:
            made[alpha] = np.array([interval(choose_family(Binomial(n), law, y), y, alpha) for y in range(n + 1)]).T
        lower, upper = made[alpha]
        chance = pmf @ binomial(n, share)
        found.append((chance @ ((lower <= share) & (share <= upper)), chance @ (upper - lower)))
    return np.array(found)


def shares():
    print("Shares: least exact coverage over 40 shares; mean width of BIT's over the optimal interval's")
    heads = [f"{'n':>6s} {'ε':>6s} {'BIT':>8s} {'truncated':>10s}", "   width  optimal   ratio  not empty"]
    print(" ".join(heads))
    for n in (20, 50, 100, 200, 500, 2000):
        for epsilon in (0.05, 0.1, 0.5, 1.0, 3.0):
            found = {}
            for truncated in (False, True):
                scale = scale_of(epsilon, truncated=truncated)
                law = Law(DiscreteLaplace(scale), 0, n, (0, n) if truncated else None)
                found[truncated] = enumerated(n, law, released_pmf(n, scale, truncated=truncated), SHARES)
            optimal, filled = tulap_width(n, epsilon, 0.05, SHARES, points=161 if n <= 200 else 401)
            ours, best = found[False][:, 1].mean(), (optimal / filled).mean()
            print(
                f"{n:6d} {epsilon:6.2f} {found[False][:, 0].min():8.4f} {found[True][:, 0].min():10.4f}"
                f" {ours:8.4f} {best:8.4f} {ours / best:7.3f} {filled.min():10.3f}",
                flush=True,
            )


def synthesis(runs=20_000):
    """Copies of the paper's four shares, against intervals of one release at the same ε."""
    print(
        "\nMultiple synthesis (m = 5) and one release: coverage of p = .1 .2 .3 .4, and by how much ours is narrower:"
    )
    print("at 95%, and at the coverage that synthesis really has. one share: noise for a single share; vector: four")
    print("shares together, copies rescaled, our noise independent (each) or keeping the sum (joint)")
    head = f"{'':14s} {'n':>4s} {'ε':>4s}  {'synthesis covers':24s} {'ours covers':24s} {'narrower at 95%':28s} mean"
    print(head + "   at equal coverage")
    rng = np.random.default_rng(0)
    for n in (50, 100, 200, 500):
        for epsilon in (0.1, 0.5, 1.0):
            for kind, factor in (("one share", 1), ("vector", 2)):
                covered, width = copies(n, factor * 5 / epsilon, rng, runs, rescaled=kind == "vector")
                noises = {"": DiscreteLaplace(1 / epsilon)}
                if kind == "vector":
                    noises = {", each": DiscreteLaplace(2 / epsilon), ", joint": ZeroSum(2 / epsilon, 4)}
                for name, noise in noises.items():
                    law, pmf = Law(noise, 0, n), pmf_of(n, noise)
                    ours, alike = enumerated(n, law, pmf, STUDY), enumerated(n, law, pmf, STUDY, 1 - covered)
                    less, even = 1 - ours[:, 1] / width, 1 - alike[:, 1] / width
                    texts = [" ".join(f"{x:.3f}" for x in column) for column in (covered, ours[:, 0])]
                    gains = " ".join(f"{x:6.1%}" for x in less)
                    line = f"{kind + name:14s} {n:4d} {epsilon:4.1f}  {texts[0]:24s} {texts[1]:24s} {gains:28s}"
                    print(f"{line} {less.mean():6.1%}  {even.mean():6.1%}", flush=True)


def pmf_of(n, noise):
    cdf = np.array([noise.cdf(y - np.arange(n + 1.0)) for y in range(n + 1)])
    cdf[-1] = 1
    return np.diff(np.vstack([np.zeros(n + 1), cdf]), axis=0)


def copies(n, scale, rng, runs, *, rescaled):
    """Coverage and mean width of multiple synthesis, clamped; ``scale`` in records."""
    values = rng.multinomial(n, STUDY, runs) / n
    noisy = np.clip(values + rng.laplace(0, scale / n, (5, runs, 4)), 0, 1)
    if rescaled:
        sums = noisy.sum(axis=-1, keepdims=True)
        noisy = np.where(sums > 0, noisy / np.where(sums > 0, sums, 1), 0.25)
    point, total, freedom, _, _ = pool_copies(noisy, n)
    half = t_quantile(0.95, freedom) * np.sqrt(total)
    lower, upper = np.clip(point - half, 0, 1), np.clip(point + half, 0, 1)
    return ((lower <= STUDY) & (upper >= STUDY)).mean(axis=0), (upper - lower).mean(axis=0)


DATA = {
    "normal": (lambda rng, n: np.clip(rng.normal(0.5, 0.12, n), 0, 1), 0.5),
    "beta(2, 5)": (lambda rng, n: rng.beta(2, 5, n), 2 / 7),
    "beta(.3, 3)": (lambda rng, n: rng.beta(0.3, 3, n), 0.3 / 3.3),
    "0 or 1": (lambda rng, n: (rng.random(n) < 0.1).astype(float), 0.1),
    ".1 or .9": (lambda rng, n: np.where(rng.random(n) < 0.05, 0.9, 0.1), 0.14),
}


def means(runs):
    print(
        f"\nMeans, {runs} runs: coverage and mean width from the mean alone; with a released variance (the same ε each)"
    )
    print(f"{'records':12s} {'n':>5s} {'ε':>5s}  coverage    width  coverage    width  narrower")
    rng = np.random.default_rng(1)
    for name, (draw, truth) in DATA.items():
        for n in (50, 100, 500):
            for epsilon in (0.1, 0.5, 1.0):
                mean, variance = (f([0.5] * n, bounds=(0, 1), epsilon=epsilon) for f in (ib.mean, ib.variance))
                alone, both = np.zeros(2), np.zeros(2)
                for _ in range(runs):
                    x = draw(rng, n)
                    released = seeded(mean, x.mean(), rng)
                    alone += hit(released.interval(), truth)
                    both += hit(released.interval(variance=seeded(variance, x.var(ddof=1), rng)), truth)
                (c, w), (d, v) = alone / runs, both / runs
                print(
                    f"{name:12s} {n:5d} {epsilon:5.1f} {c:9.4f} {w:8.4f} {d:9.4f} {v:8.4f} {1 - v / w:9.0%}", flush=True
                )


def hit(made, truth):
    return np.array([made.lower <= truth <= made.upper, made.width])


SPREADS = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "uniform": lambda rng, size: rng.uniform(-math.sqrt(3), math.sqrt(3), size),
    "t, 5 df": lambda rng, size: rng.standard_t(5, size) / math.sqrt(5 / 3),
    "exponential": lambda rng, size: rng.exponential(1, size) - 1,
    "two points": lambda rng, size: np.where(rng.random(size) < 0.5, -1.0, 1.0),
}


def spreads(runs):
    print(f"\nCoverage of variance, sd and correlation (0.5), {runs} runs ({runs // 2} of correlations), bounds ±5 sd")
    print(f"{'records':12s} {'n':>6s} {'ε':>5s} {'variance':>9s} {'sd':>9s} {'correlation':>12s} {'its width':>10s}")
    rng = np.random.default_rng(2)
    for name, draw in SPREADS.items():
        for n in (200, 1000, 5000):
            for epsilon in (1.0, 5.0):
                column, pair = {"bounds": (-5, 5), "epsilon": epsilon}, {"x": (-5, 5), "y": (-5, 5)}
                variance, deviation = (f([0.0] * n, **column) for f in (ib.variance, ib.standard_deviation))
                both = ib.correlation({"x": [0.0] * n, "y": [0.0] * n}, bounds=pair, epsilon=epsilon)
                root = deviation.method == "direct"
                found, correlated = np.zeros(2), np.zeros(2)
                for run in range(runs):
                    z = draw(rng, (2, n))
                    x = np.clip(np.array([z[0], 0.5 * z[0] + math.sqrt(0.75) * z[1]]), -5, 5)
                    s = np.cov(x)
                    found[0] += hit(seeded(variance, s[0, 0], rng).interval(), 1.0)[0]
                    found[1] += hit(seeded(deviation, math.sqrt(s[0, 0]) if root else s[0, 0], rng).interval(), 1.0)[0]
                    if run % 2 == 0:
                        made = seeded_matrix(both, [s[0, 0], s[0, 1], s[1, 1]], rng).interval()
                        lower, upper = made.lower[0, 1], made.upper[0, 1]
                        correlated += [lower <= 0.5 <= upper, upper - lower]
                c, w = correlated / ((runs + 1) // 2)
                v, d = found / runs
                print(f"{name:12s} {n:6d} {epsilon:5.1f} {v:9.3f} {d:9.3f} {c:12.3f} {w:10.3f}", flush=True)


def timed():
    print("\nOne interval of a share of a million records, best of 20, in ms (target 5)")
    for epsilon in (0.001, 0.01, 0.1, 1.0, 3.0):
        for bounding in ("bit", "truncated"):
            release = ib.proportion(np.arange(10**6) % 3 == 0, epsilon=epsilon, bounding=bounding)
            best = math.inf
            for _ in range(20):
                from inbounds.inference.counts import _window

                _window.cache_clear()
                start = time.perf_counter()
                release.interval()
                best = min(best, time.perf_counter() - start)
            print(f"  ε = {epsilon:5g} {bounding:10s} {1000 * best:7.2f}", flush=True)


def spent(make):
    """What a call returns, and its processor time."""
    start = time.process_time()
    made = make()
    return made, time.process_time() - start


def group_times():
    rng = np.random.default_rng(0)
    ib.mean(rng.random(100), bounds=(0, 1), epsilon=1).interval()
    print("\nMeans of groups, the least of three (of 100,000 groups: one run), processor time in s")
    print(f"{'groups':>8s} {'records':>10s} {'ε':>4s} {'squares':>8s} {'release':>8s} {'intervals':>10s} {'ratio':>6s}")
    good = True
    for groups, rows, epsilon in ((1000, 10**5, 1), (1000, 10**5, 0.1), (10**5, 10**6, 1), (10**5, 10**7, 1)):
        table = {"x": rng.random(rows), "g": rng.integers(0, groups, rows)}
        by = {"by": "g", "levels": list(range(groups))}
        times = []
        for _ in range(3 if groups < 10**5 else 1):
            release, drawing = spent(
                lambda table=table, by=by, e=epsilon: ib.mean(table, "x", bounds=(0, 1), epsilon=e, **by)
            )
            times.append((drawing, spent(release.interval)[1]))
        drawing, limits = np.min(times, axis=0)
        ratio, square = limits / drawing, release.derivation.square
        print(
            f"{groups:8d} {rows:10d} {epsilon:4g} {square!s:>8s} {drawing:8.2f} {limits:10.2f} {ratio:6.2f}", flush=True
        )
        good &= ratio <= (3 if groups == 1000 else 1)
    report_time(rng)
    correlation_time(rng)
    print("all targets met" if good else "a target was missed")


def report_time(rng):
    """The report of the means of 2,000 groups, next to their release."""
    plan = ib.Plan.of(
        {
            "data": {"rows": 200_000},
            "budget": {"epsilon": 1},
            "columns": {"x": {"bounds": [0, 1]}, "g": {"levels": list(range(2000))}},
            "release": [{"name": "means", "statistic": "mean", "columns": ["x"], "by": "g"}],
        }
    )
    table = {"x": rng.random(200_000), "g": rng.integers(0, 2000, 200_000)}
    with tempfile.TemporaryDirectory() as folder:
        releases, drawing = spent(lambda: release_plan(plan, table))
        _, writing = spent(lambda: releases.write(Path(folder) / "out"))
    print(f"report of 2,000 groups: {writing:.2f} s, release {drawing:.2f} s, ratio {writing / drawing:.1f}")


def correlation_time(rng):
    """The intervals of the correlations of 60 columns, next to their release."""
    common = rng.normal(0, 1, 200_000)
    table = {f"c{i}": np.clip(rng.normal(0, 1, 200_000) + rng.random() * common, -4, 4) for i in range(60)}
    bounds = dict.fromkeys(table, (-4, 4))
    release, drawing = spent(lambda: ib.correlation(table, bounds=bounds, epsilon=8))
    _, limits = spent(release.interval)
    print(
        f"correlations of 60 columns: intervals {limits:.2f} s, release {drawing:.2f} s, ratio {limits / drawing:.1f}"
    )


def measure_scores(runs):
    """Coverage and width of means drawn with their squares: by the law of their noise, without whole releases."""
    print("law | n | " + " | ".join(f"ε = {epsilon:g}" for epsilon in (0.1, 1, 3)))
    worst = 1.0
    for name, (points, chances) in LAWS.items():
        points = np.asarray(points, float)
        chances = np.full(len(points), 1 / len(points)) if chances is None else np.asarray(chances)
        for rows in (50, 500, 5000, 20_000):
            found = [score_coverage(points, chances, rows, epsilon, 40 * runs) for epsilon in (0.1, 1.0, 3.0)]
            worst = min(worst, *found)
            print(f"{name} | {rows} | " + " | ".join(f"{one:.3f}" for one in found), flush=True)
    print(f"least {worst:.4f}")


def score_coverage(points, chances, rows, epsilon, runs):
    """How often the true mean is kept. Critical values are tabulated, since most of the time is spent on them."""
    rng = np.random.default_rng([rows, round(10 * epsilon), len(points)])
    counts = rng.multinomial(rows, chances, size=runs)
    mean, scale = float(points @ chances), 2 / epsilon
    total = counts @ points + rng.laplace(0, scale, runs)
    squares = counts @ points**2 + rng.laplace(0, 2 * scale, runs)
    gap = total - rows * mean
    spread = np.maximum(squares - 2 * mean * total + rows * mean**2, 0) + 2 * scale * 2**0.5 / 3
    spread = spread + score.rare(0.05) * np.where(gap > 0, 1 + mean, 1 - mean) ** 2
    tails = [score.normal_laplace_tail(x, s, scale) for x, s in zip(np.abs(gap), np.sqrt(spread), strict=True)]
    return np.mean(np.array(tails) >= 0.025)


PARTS = {
    "scores": measure_scores,
    "shares": shares,
    "synthesis": synthesis,
    "means": means,
    "spreads": spreads,
    "time": timed,
    "groups": group_times,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--part", nargs="*", choices=list(PARTS), default=list(PARTS))
    arguments = parser.parse_args()
    for part in arguments.part:
        PARTS[part](*([arguments.runs] if part in ("means", "spreads", "scores") else []))


if __name__ == "__main__":
    main()
