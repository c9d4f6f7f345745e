"""How often tests from records reject hypotheses that hold, and those that do not, beside tests without noise.

    python bench/sizes.py [--runs 10000] [--part sizes power] [--write]

Tests are by the same formulas as those of the library in arrays, which `check` compares with it, and noisy numbers by
the law of their noise. Where a test simulates releases, each run has 199 of its own, which at a level of .05 do not
change the size of a test and make its power a little smaller. --write puts the tables into docs/intervals.md.
"""

import argparse
import sys
from pathlib import Path

# This folder has a statistics.py, which must not stand in for Python's own.
sys.path[0] = str(Path(__file__).parents[1])

import numpy as np
import scipy
from bench.samples import (
    ALPHA,
    NORMAL,
    known_noise,
    noisy_group,
    noisy_mean,
    noisy_moments,
    power_sums,
    score_p_values,
    show,
    with_numbers,
    write,
)
from scipy import stats

import inbounds as ib
from inbounds.inference import chi_square, compare_shares, hypotheses, score, t_test
from inbounds.inference.hypotheses import draw_counts

# Simulated releases of each run, and draws of the noise of a difference of two means.
_DRAWS, _DRAWS_OF_MEANS = 199, 2000
TESTED, EPSILONS = (100, 1000, 10_000), (0.1, 1.0, 3.0)


def reject_tables(rows, epsilon, chances, runs, rng):
    """Shares of samples of a table that χ² rejects, from records and without noise."""
    chances = np.asarray(chances)
    levels = {name: list("uvwxyz"[:size]) for name, size in zip("ab", chances.shape, strict=True)}
    made = ib.crosstab({name: ["u"] * rows for name in levels}, levels=levels, epsilon=epsilon)
    counts = rng.multinomial(rows, chances.ravel(), size=runs)
    pool = draw_counts(made.parts[0], chances.size, rng, 20_000)
    found = np.mean(p_of_tables((counts + pool[:runs]).reshape(runs, *chances.shape), rows, pool, rng, _DRAWS) <= ALPHA)
    tables = counts.reshape(runs, *chances.shape).astype(float)
    expected = tables.sum(axis=2, keepdims=True) * tables.sum(axis=1, keepdims=True) / rows
    plain = ((tables - expected) ** 2 / np.where(expected > 0, expected, 1)).sum(axis=(1, 2))
    freedom = (chances.shape[0] - 1) * (chances.shape[1] - 1)
    return found, np.mean(plain > stats.chi2.ppf(1 - ALPHA, freedom))


def p_of_tables(noisy, rows, pool, rng, draws):
    """p-values of `chi_square` in arrays, with as many draws for each."""
    runs, cells = len(noisy), noisy[0].size
    ends = [np.maximum(noisy.sum(axis=axis), 0.5) for axis in (2, 1)]
    first, second = (end / end.sum(axis=1, keepdims=True) for end in ends)
    chances = (first[:, :, None] * second[:, None, :]).reshape(runs, 1, cells)
    drawn = rng.multinomial(rows, chances, size=(runs, draws)) + pool[rng.integers(len(pool), size=(runs, draws))]
    least = hypotheses._pearson(noisy)[:, None] * (1 - 1e-12)
    statistics = hypotheses._pearson(drawn.reshape(-1, *noisy[0].shape)).reshape(runs, draws)
    return (1 + (statistics >= least).sum(axis=1)) / (draws + 1)


def reject_shares(rows, epsilon, chances, runs, rng):
    """The same of two shares."""
    part = ib.proportion([0, 1] * (rows // 2), epsilon=epsilon).parts[0]
    counts = rng.binomial(rows, chances, size=(runs, 2))
    noisy = np.clip(counts + draw_counts(part, 2, rng, runs), 0, rows)
    pool = draw_counts(part, 1, rng, 100_000)[:, 0]
    found = np.mean(p_of_shares(noisy, rows, pool, rng, _DRAWS) <= ALPHA)
    pooled = counts.sum(axis=1) / 2 / rows
    errors = np.sqrt(np.maximum(2 * pooled * (1 - pooled) / rows, 1e-300))
    return found, np.mean(np.abs(counts[:, 0] - counts[:, 1]) / rows / errors > stats.norm.ppf(1 - ALPHA / 2))


def p_of_shares(noisy, rows, pool, rng, draws):
    """p-values of `compare_shares` in arrays, of tables of as many rows."""
    runs = len(noisy)
    share = np.clip(noisy.sum(axis=1) / 2 / rows, 0.25 / rows, 1 - 0.25 / rows)
    drawn = [
        rng.binomial(rows, share[:, None], (runs, draws)) + pool[rng.integers(len(pool), size=(runs, draws))]
        for _ in range(2)
    ]
    least = np.abs(noisy[:, 0] - noisy[:, 1])[:, None] * (1 - 1e-12)
    return (1 + (np.abs(drawn[0] - drawn[1]) >= least).sum(axis=1)) / (draws + 1)


def reject_means(rows, epsilon, laws, runs, rng):
    """Two groups of as many records each, by `two_means` in place of whole records."""
    sides, plain = [], []
    for law in laws:
        count, total, squares, scale = noisy_group(*law, rows, epsilon, runs, rng)
        sides.append((np.maximum(count, 1), total, squares, scale))
        plain.append(plain_moments(law, rows, runs, rng))
    found = two_means(sides, rng) <= ALPHA
    z = np.abs(plain[0][0] - plain[1][0]) / np.sqrt(plain[0][1] + plain[1][1] + 1e-300)
    return np.mean(found), np.mean(z > stats.t.ppf(1 - ALPHA / 2, 2 * rows - 2))


def plain_moments(law, rows, runs, rng):
    """Means and squared standard errors without noise."""
    one, two = power_sums(*law, rows, runs, rng, (1, 2)).T / rows
    return one, np.maximum(two - one**2, 0) / (rows - 1)


def two_means(sides, rng, draws=_DRAWS_OF_MEANS):
    """p-values of `hypotheses._two_means` in arrays, for groups in [-1, 1]."""
    means, variance, noise = [], 0.0, 0.0
    for count, total, squares, scale in sides:
        mean = np.clip(total / count, -1, 1)
        means.append(mean)
        off = scale * (known_noise()[:, 2] + known_noise()[:, 0]).std() / 2
        spread = np.maximum(squares - 2 * mean * total + mean**2 * count, 0) + off / 3
        variance = variance + (spread + score.rare(ALPHA) * (1 + np.abs(mean)) ** 2) / count**2
        drawn = known_noise()[rng.integers(len(known_noise()), size=draws)]
        noise = noise + (drawn[:, 1:2] - mean * drawn[:, 0:1]) * scale / count
    gap, deviation = np.abs(means[0] - means[1]), np.sqrt(variance)
    ndtr = scipy.special.ndtr
    return (ndtr((noise - gap) / deviation) + ndtr((-noise - gap) / deviation)).mean(axis=0)


def reject_mean(rows, epsilon, given, runs, rng):
    """One mean of a public number of records, against a number."""
    law, value = given
    found = score_p_values(value, *noisy_mean(*law, rows, epsilon, runs, rng)) <= ALPHA
    mean, error = plain_moments(law, rows, runs, rng)
    z = np.abs(mean - value) / np.sqrt(np.maximum(error, 1e-300))
    return np.mean(found), np.mean(z > stats.t.ppf(1 - ALPHA / 2, rows - 1))


def in_blocks(reject, rows, epsilon, given, runs, rng):
    """Two rates, of so many runs at a time as fit into memory."""
    sizes = [min(1000, runs - start) for start in range(0, runs, 1000)]
    return np.average([reject(rows, epsilon, given, size, rng) for size in sizes], axis=0, weights=sizes)


def normal_law(place, deviation=0.3):
    return np.clip(place + NORMAL * deviation, -1, 1), np.full(200, 1 / 200)


def skewed_law():
    points = np.minimum(-1 + np.exp(NORMAL) / 10, 1)
    return points, np.full(200, 1 / 200)


def two_points(share):
    return np.array([-1.0, 1.0]), np.array([1 - share, share])


_SKEWED = float(skewed_law()[0].mean())
_NARROW = normal_law(_SKEWED, 0.05)
# A test, a hypothesis that holds, and one that does not.
TESTS = {
    "χ², 2 × 2": (reject_tables, np.outer([0.3, 0.7], [0.5, 0.5]), [[0.12, 0.18], [0.35, 0.35]]),
    "χ², rare cell": (reject_tables, np.outer([0.05, 0.95], [0.1, 0.9]), [[0.02, 0.03], [0.08, 0.87]]),
    "χ², 3 × 4": (
        reject_tables,
        np.outer([0.2, 0.3, 0.5], [0.1, 0.2, 0.3, 0.4]),
        [[0.04, 0.04, 0.06, 0.06], [0.03, 0.06, 0.09, 0.12], [0.03, 0.1, 0.15, 0.22]],
    ),
    "two shares, .3": (reject_shares, (0.3, 0.3), (0.3, 0.36)),
    "two shares, .02": (reject_shares, (0.02, 0.02), (0.02, 0.05)),
    "two means": (reject_means, (normal_law(0.1), normal_law(0.1)), (normal_law(0.1), normal_law(0.16))),
    "two means, one skewed": (
        reject_means,
        (skewed_law(), _NARROW),
        (skewed_law(), normal_law(_SKEWED + 0.06, 0.05)),
    ),
    "two means, two points of 1%": (
        reject_means,
        (two_points(0.01), two_points(0.01)),
        (two_points(0.01), two_points(0.03)),
    ),
    "two means, two points of 1% and normal": (
        reject_means,
        (two_points(0.01), normal_law(-0.98, 0.005)),
        (two_points(0.01), normal_law(-0.94, 0.005)),
    ),
    "one mean": (reject_mean, (normal_law(0.1), 0.1), (normal_law(0.1), 0.06)),
    "one mean, skewed": (reject_mean, (skewed_law(), _SKEWED), (skewed_law(), _SKEWED - 0.04)),
    "one mean, two points of 1%": (reject_mean, (two_points(0.01), -0.98), (two_points(0.01), -0.94)),
    "one mean, two points of .1%": (reject_mean, (two_points(0.001), -0.998), (two_points(0.001), -0.98)),
}
# These take no longer than a moment.
_QUICK = (reject_mean,)


def measure(kind, runs):
    lines = ["| test | n | " + " | ".join(f"ε = {epsilon:g}" for epsilon in EPSILONS) + " | without noise |"]
    lines.append("|---|---|---|---|---|---|")
    print("\n".join(lines))
    largest = 0.0
    for name, (reject, null, other) in TESTS.items():
        for rows in TESTED:
            rng = np.random.default_rng([rows, *name.encode()])
            own = 10 * runs if reject in _QUICK else runs
            given = null if kind == "sizes" else other
            found = [in_blocks(reject, rows, epsilon, given, own, rng) for epsilon in EPSILONS]
            if kind == "sizes":
                # Chance makes the largest of so many figures too large: those are found again.
                found = [
                    one if one[0] <= 0.0525 else in_blocks(reject, rows, epsilon, given, 4 * own, rng)
                    for one, epsilon in zip(found, EPSILONS, strict=True)
                ]
            largest = max(largest, *(one[0] for one in found))
            shown = [*(one[0] for one in found), np.mean([one[1] for one in found])]
            lines.append(f"| {name} | {rows:,} | {' | '.join(map(show, shown))} |")
            print(lines[-1], flush=True)
    said = f"{runs:,} runs for each figure, {10 * runs:,} of one mean"
    if kind == "power":
        return lines, said
    return lines, f"{said}, four times as many for those above .0525 at first; largest {largest:.4f}"


def check():
    """Compare tests in arrays with those of the library: both have simulated noise of their own."""
    rng, rows, law = np.random.default_rng(0), 300, (np.array([-1.0, 0.2, 1]), np.array([0.3, 0.5, 0.2]))
    table = {"x": [0.0] * 2 * rows, "g": ["a", "b"] * rows}
    made = ib.mean(table, "x", bounds=(-1, 1), by="g", levels=["a", "b"], epsilon=1, method="moments")
    cells = [noisy_moments(made, *law, rows, 10, rng, counted=True)[0] for _ in range(2)]
    worth = [one * [float(unit) for unit in made.units[:3]] for one in cells]
    scale = float(made.parts[0].spread * made.units[0])
    ours = two_means([(one[:, 0], one[:, 1], (one[:, 2] + one[:, 0]) / 2, scale) for one in worth], rng, 10_000)
    both = np.concatenate(cells, axis=1).tolist()
    theirs = [t_test(with_numbers(made, one), groups=("a", "b")).p_value for one in both]
    assert np.allclose(ours, theirs, atol=0.03), (ours, theirs)
    levels = {"a": ["u", "v"], "b": ["u", "v", "w"]}
    made = ib.crosstab({name: ["u"] * rows for name in levels}, levels=levels, epsilon=0.5)
    pool = draw_counts(made.parts[0], 6, rng, 10_000)
    noisy = (rng.multinomial(rows, np.full(6, 1 / 6), size=10) + pool[:10]).reshape(10, 2, 3)
    ours = p_of_tables(noisy, rows, pool, rng, 4000)
    theirs = [chi_square(with_numbers(made, one)).p_value for one in noisy.reshape(10, 6).tolist()]
    assert np.allclose(ours, theirs, atol=0.04), (ours, theirs)
    made = ib.proportion([0, 1] * (rows // 2), epsilon=0.5)
    part = made.parts[0]
    noisy = np.clip(rng.binomial(rows, 0.1, (10, 2)) + draw_counts(part, 2, rng, 10), 0, rows)
    ours = p_of_shares(noisy, rows, draw_counts(part, 1, rng, 10_000)[:, 0], rng, 4000)
    pairs = [[with_numbers(made, [part.origin + part.step * int(y)]) for y in pair] for pair in noisy]
    assert np.allclose(ours, [compare_shares(*pair).p_value for pair in pairs], atol=0.04)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--part", nargs="*", choices=["sizes", "power"], default=["sizes", "power"])
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    check()
    for part in arguments.part:
        print(f"\n{part}")
        lines, said = measure(part, arguments.runs)
        print(said, flush=True)
        if arguments.write:
            write(part, lines, said)


if __name__ == "__main__":
    main()
