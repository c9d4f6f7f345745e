"""What intervals cover and how often tests reject, over laws, numbers of records and ε.

    python bench/coverage.py [--runs 10000] [--data FOLDER] [--part PART ...] [--write]

means    means drawn with their squares, by score intervals; and of groups with noisy numbers of records (groups)
spreads  variances and standard deviations drawn with fourth powers
differences  of two means, and their ratios, in 1,000 runs
sizes    t-tests of one mean and of two groups, χ² of a crosstab and two shares where the hypothesis holds
power    the same where it does not, in 2,000 runs, beside the test without noise

Numbers of records are drawn in arrays by the law of the noise, not by whole releases, so that ten thousand runs of each
take seconds. FOLDER may have flights.csv (dep_delay) and costs.csv (a column of numbers), whose records are then two
more laws. --write puts the tables of coverage into docs/intervals.md.
"""

import argparse
import csv
import math
import re
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

# This folder has a statistics.py, which must not stand in for Python's own.
sys.path[0] = str(Path(__file__).parents[1])

import numpy as np
import scipy
from scipy import stats

import inbounds as ib
from inbounds.expected import norm_parts
from inbounds.inference import chi_square, compare_shares, difference, hypotheses, ratio, score, t_test
from inbounds.inference.hypotheses import draw_counts
from inbounds.laws.vectors import vector_noise
from inbounds.privacy.norms import make_norm
from inbounds.privacy.terms import Terms
from inbounds.statistics.centred import find_share

PAGE = Path(__file__).parents[1] / "docs" / "intervals.md"
ALPHA = 0.05
ROWS, EPSILONS = (50, 500, 5000, 20_000), (0.1, 0.5, 1.0, 3.0)
_EVEN = (np.arange(200) + 0.5) / 200
_NORMAL = stats.norm.ppf(_EVEN)
# Points in [-1, 1], half-widths from the middle of the bounds, and their probabilities.
LAWS = {
    "two points, .1%": ([-1, 1], [0.999, 0.001]),
    "two points, 1%": ([-1, 1], [0.99, 0.01]),
    "two points, 10%": ([-1, 1], [0.9, 0.1]),
    "two points, 50%": ([-1, 1], [0.5, 0.5]),
    "middle and end, 2%": ([0, 1], [0.98, 0.02]),
    "normal, sd .05": (_NORMAL * 0.05, None),
    "normal, sd .2": (_NORMAL * 0.2, None),
    "even": (2 * _EVEN - 1, None),
    "U-shaped": (-np.cos(np.pi * _EVEN), None),
    "lognormal": (np.minimum(-1 + np.exp(_NORMAL) / 10, 1), None),
    "exponential": (np.minimum(-1 + stats.expon.ppf(_EVEN) / 5, 1), None),
    "mixture": (np.concatenate([np.linspace(-0.1, 0.1, 20), [1.0]]), [*[0.995 / 20] * 20, 0.005]),
}


def find_laws(folder):
    """All laws as arrays of points and probabilities; records of real tables in 400 cells of the bounds."""
    made = {}
    for name, (points, chances) in LAWS.items():
        points = np.asarray(points, float)
        made[name] = points, np.full(len(points), 1 / len(points)) if chances is None else np.asarray(chances)
    for name, file, (low, high) in (
        ("real delays", "flights.csv", (-60, 600)),
        ("real costs", "costs.csv", (0, 5000)),
    ):
        if folder is not None and (folder / file).exists():
            with (folder / file).open() as lines:
                values = np.array([float(row[0]) for row in csv.reader(lines) if _is_number(row[0])])
            u = np.clip(2 * (values - low) / (high - low) - 1, -1, 1)
            cells = np.bincount(np.rint((u + 1) * 200).astype(int), minlength=401)
            seen = np.flatnonzero(cells)
            made[name] = seen / 200 - 1, cells[seen] / cells.sum()
    return made


def _is_number(text):
    return re.fullmatch(r"-?[0-9.]+", text) is not None


def power_sums(points, chances, rows, runs, rng, powers):
    """Sums of powers of the values of samples, one row for each sample."""
    table = np.stack([points**power for power in powers], axis=1)
    blocks = [min(2000, runs - start) for start in range(0, runs, 2000)]
    return np.concatenate([rng.multinomial(rows, chances, size=block) @ table for block in blocks])


def laplace_tail(x, deviation, scale):
    """P(normal + Laplace ≥ x) of arrays, as `score.normal_laplace_tail` of numbers."""
    ratio, place = deviation / scale, x / deviation
    log_ndtr = scipy.special.log_ndtr
    above = np.exp(np.minimum(ratio**2 / 2 - x / scale + log_ndtr(place - ratio), 0))
    below = np.exp(np.minimum(ratio**2 / 2 + x / scale + log_ndtr(-place - ratio), 0))
    return scipy.special.ndtr(-place) + (above - below) / 2


def score_p_values(mean, rows, total, squares, scale, off):
    """`score.p_value` of arrays, for Laplace noise of the sum."""
    gap = total - rows * mean
    spread = np.maximum(squares - 2 * mean * total + rows * mean**2, 0) + off / 3
    spread = spread + score.rare(ALPHA) * np.where(gap > 0, 1 + mean, 1 - mean) ** 2
    return 2 * laplace_tail(np.abs(gap), np.sqrt(spread), scale)


def cover_means(law, rows, epsilon, runs, rng):
    points, chances = law
    sums, scale, mean = power_sums(points, chances, rows, runs, rng, (1, 2)), 2 / epsilon, float(points @ chances)
    total, squares = sums[:, 0] + rng.laplace(0, scale, runs), sums[:, 1] + rng.laplace(0, 2 * scale, runs)
    return np.mean(score_p_values(mean, rows, total, squares, scale, 2 * scale * 2**0.5) >= ALPHA)


def cover_groups(law, rows, epsilon, runs, rng):
    """Means of a group: with a noisy number of records, and noise of all three for substituted records."""
    points, chances = law
    mean = float(points @ chances)
    # A substituted record leaves a group and enters another: half of ε for each.
    norm = make_norm(("counted moments 1",)).parts
    noise = vector_noise(3, norm, rng, (runs,), range(3)) * 2 / epsilon
    known = known_noise(norm, 16_384) * 2 / epsilon
    sums = power_sums(points, chances, rows, runs, rng, (1, 2))
    count, total = rows + noise[:, 0], sums[:, 0] + noise[:, 1]
    squares = sums[:, 1] + (noise[:, 2] + noise[:, 0]) / 2
    gap = total - mean * count
    spread = np.maximum(squares - 2 * mean * total + mean**2 * count, 0) + (known[:, 2] + known[:, 0]).std() / 6
    spread = spread + score.rare(ALPHA) * np.where(gap > 0, 1 + mean, 1 - mean) ** 2
    limits = critical_values(known[:, 1] - mean * known[:, 0], np.sqrt(spread))
    return np.mean((np.abs(gap) <= limits) | (count <= 0))


def known_noise(norm, draws):
    """Draws of the noise of a number, a sum and a sum of squares, with radii that are quantiles of their law."""
    rng = np.random.default_rng(0)
    radii = scipy.special.gammaincinv(4, (rng.permutation(draws) + 0.5) / draws)
    return vector_noise(3, norm, rng, (draws,), range(3), radii)


def critical_values(noise, deviations):
    """The size that noise and a normal error exceed with probability ALPHA, tabulated over its deviation."""
    grid = np.geomspace(deviations.min() * 0.999, deviations.max() * 1.001, 16)
    low, high = np.zeros(16), np.full(16, np.abs(noise).max() + 10 * grid[-1])
    for _ in range(26):
        middle = (low + high) / 2
        ndtr = scipy.special.ndtr
        tail = np.mean(ndtr((noise[:, None] - middle) / grid) + ndtr((-noise[:, None] - middle) / grid), axis=0)
        low, high = np.where(tail > ALPHA, middle, low), np.where(tail > ALPHA, high, middle)
    return np.interp(np.log(deviations), np.log(grid), high)


def cover_spreads(law, rows, epsilon, runs, rng):
    """Variances with fourth powers: whether both limits are beyond the variance of the law."""
    points, chances = law
    mean = float(points @ chances)
    variance = float((points - mean) ** 2 @ chances)
    share = float(find_share(Terms.of(Fraction(str(epsilon)), rows=rows)))
    sums = power_sums(points, chances, rows, runs, rng, (1, 2, 3, 4))
    first = 2 / share / epsilon
    centre = np.clip((sums[:, 0] + rng.laplace(0, first, runs)) / rows, -1, 1)
    weight = (1 + np.abs(centre)) ** 2
    one, two, three, four = sums.T
    second = (two - 2 * centre * one + rows * centre**2) / weight
    fourth = (four - 4 * centre * three + 6 * centre**2 * two - 4 * centre**3 * one + rows * centre**4) / weight**2
    scale = 2 / (1 - share) / epsilon
    total = 2 * second - rows + rng.laplace(0, scale, runs)
    squares = 4 * fourth - 4 * second + rows + rng.laplace(0, 2 * scale, runs)
    off = centre_errors(math.sqrt(variance / rows), first / rows)
    places = 2 * (variance + off**2) / weight - 1, 2 * variance * (rows - 1) / rows / weight - 1
    # A lower limit is too high where even a larger mean is left out for being too low, and the other way round.
    missed = np.zeros(runs, bool)
    for place, side in zip(places, (1, -1), strict=True):
        p = score_p_values(np.clip(place, -1, 1), rows, total, squares, scale, 2 * scale * 2**0.5)
        seen = np.clip(total / rows, -1, 1)
        missed |= (p < ALPHA) & (side * (seen - place) > 0) & ((place < 1) | (side < 0))
    return 1 - missed.mean()


def centre_errors(deviation, scale):
    """How far a centre is from the mean, but for a fifth of ALPHA."""
    return scipy.optimize.brentq(
        lambda x: score.normal_laplace_tail(x, deviation, scale) - ALPHA / 10, 0, 12 * deviation + 12 * scale
    )


COVERED = {"means": cover_means, "groups": cover_groups, "spreads": cover_spreads}


def measure(part, laws, runs):
    """A Markdown table of coverage, and the least of it."""
    heads = " / ".join(f"{epsilon:g}" for epsilon in EPSILONS)
    lines = [f"| values | {' | '.join(f'n = {rows:,}' for rows in ROWS)} |", "|---" * (1 + len(ROWS)) + "|"]
    least = 1.0
    for name, law in laws.items():
        cells = []
        for rows in ROWS:
            rng = np.random.default_rng([rows, *name.encode(), len(part)])
            found = [COVERED[part](law, rows, epsilon, runs, rng) for epsilon in EPSILONS]
            # Chance makes the smallest of so many figures too small. Those are found again in ten times the runs.
            found = [
                x if x >= 0.9475 else COVERED[part](law, rows, epsilon, 10 * runs, rng)
                for x, epsilon in zip(found, EPSILONS, strict=True)
            ]
            least = min(least, *found)
            cells.append(" / ".join("1.00" if x >= 0.9995 else f"{x:.3f}"[1:] for x in found))
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    said = f"ε = {heads}; {runs:,} runs for each figure, ten times as many for those below .9475 at first"
    return lines, f"{said}; least {least:.4f}"


# Tests, each by the function of the library, of records whose noisy numbers are replaced by simulated ones

TESTED, RUNS_OF_POWER, RUNS_OF_DIFFERENCES = (100, 1000, 10_000), 2000, 1000


def rejects(test, *given, **more):
    """Whether a test rejects. A tenth of its draws tell it if p is beyond .15: 1e-12 is the chance that all differ."""
    draws, hypotheses._DRAWS = hypotheses._DRAWS, hypotheses._DRAWS // 10
    try:
        far = test(*given, **more).p_value > 3 * ALPHA
    finally:
        hypotheses._DRAWS = draws
    return not far and test(*given, **more).p_value <= ALPHA


def with_numbers(made, numbers):
    return replace(made, noisy=tuple(map(Fraction, numbers)))


def reject_tables(rows, epsilon, chances, runs, rng):
    """Shares of samples of a table of two by two that χ² rejects, from records and without noise."""
    table = {"a": ["x", "y"] * (rows // 2), "b": ["u", "v"] * (rows // 2)}
    made = ib.crosstab(table, levels={"a": ["x", "y"], "b": ["u", "v"]}, epsilon=epsilon)
    counts = rng.multinomial(rows, np.ravel(chances), size=runs)
    noisy = (counts + draw_counts(made.parts[0], 4, rng, runs)).tolist()
    found = np.mean([rejects(chi_square, with_numbers(made, one)) for one in noisy])
    a, b, c, d = counts.T.astype(float)
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    plain = rows * (a * d - b * c) ** 2 / np.maximum(margins, 1)
    return found, np.mean(plain > stats.chi2.ppf(1 - ALPHA, 1))


def reject_shares(rows, epsilon, chances, runs, rng):
    made = ib.proportion([0, 1] * (rows // 2), epsilon=epsilon)
    part = made.parts[0]
    counts = rng.binomial(rows, chances, size=(runs, 2))
    noisy = np.clip(counts + draw_counts(part, 2, rng, runs), 0, rows).astype(int).tolist()
    pairs = ([with_numbers(made, [part.origin + part.step * x]) for x in pair] for pair in noisy)
    found = np.mean([rejects(compare_shares, *pair) for pair in pairs])
    pooled = counts.sum(axis=1) / 2 / rows
    errors = np.sqrt(np.maximum(2 * pooled * (1 - pooled) / rows, 1e-300))
    return found, np.mean(np.abs(counts[:, 0] - counts[:, 1]) / rows / errors > stats.norm.ppf(1 - ALPHA / 2))


def noisy_moments(made, points, chances, rows, runs, rng, *, counted):
    """Simulated numbers of a record of one mean or group, and the means and squared errors without noise."""
    sums = power_sums(points, chances, rows, runs, rng, (1, 2))
    part, size = made.parts[0], 3 if counted else 2
    worth = np.column_stack([*([np.full(runs, float(rows))] if counted else []), sums[:, 0], 2 * sums[:, 1] - rows])
    units = np.array([float(unit) for unit in made.units[:size]])
    noise = vector_noise(part.dimension, norm_parts(part), rng, (runs,), range(size)) * float(part.spread)
    mean = sums[:, 0] / rows
    return worth / units + noise, mean, (sums[:, 1] / rows - mean**2) / (rows - 1)


def reject_means(rows, epsilon, laws, runs, rng):
    """Two groups of as many records each."""
    table = {"x": [0.0] * 2 * rows, "g": ["a", "b"] * rows}
    made = ib.mean(table, "x", bounds=(-1, 1), by="g", levels=["a", "b"], epsilon=epsilon, method="moments")
    sides = [noisy_moments(made, *law, rows, runs, rng, counted=True) for law in laws]
    numbers = np.concatenate([sides[0][0], sides[1][0]], axis=1).tolist()
    found = np.mean([rejects(t_test, with_numbers(made, one), groups=("a", "b")) for one in numbers])
    z = np.abs(sides[0][1] - sides[1][1]) / np.sqrt(sides[0][2] + sides[1][2])
    return found, np.mean(z > stats.t.ppf(1 - ALPHA / 2, 2 * rows - 2))


def reject_mean(rows, epsilon, given, runs, rng):
    """One mean of a public number of records, against a number."""
    law, value = given
    made = ib.mean([0.0] * rows, bounds=(-1, 1), epsilon=epsilon, method="moments")
    numbers, mean, error = noisy_moments(made, *law, rows, runs, rng, counted=False)
    found = np.mean([t_test(with_numbers(made, one), value).p_value <= ALPHA for one in numbers.tolist()])
    z = np.abs(mean - value) / np.sqrt(np.maximum(error, 1e-300))
    return found, np.mean(z > stats.t.ppf(1 - ALPHA / 2, rows - 1))


def normal_law(place, deviation=0.3):
    return np.clip(place + _NORMAL * deviation, -1, 1), np.full(200, 1 / 200)


def skewed_law():
    points = np.minimum(-1 + np.exp(_NORMAL) / 10, 1)
    return points, np.full(200, 1 / 200)


_SKEWED = float(skewed_law()[0].mean())
# A test, a hypothesis that holds, and one that does not.
TESTS = {
    "χ², 2 × 2": (reject_tables, np.outer([0.3, 0.7], [0.5, 0.5]), [[0.12, 0.18], [0.35, 0.35]]),
    "χ², rare cell": (reject_tables, np.outer([0.05, 0.95], [0.1, 0.9]), [[0.02, 0.03], [0.08, 0.87]]),
    "two shares, .3": (reject_shares, (0.3, 0.3), (0.3, 0.36)),
    "two shares, .02": (reject_shares, (0.02, 0.02), (0.02, 0.05)),
    "two means": (reject_means, (normal_law(0.1), normal_law(0.1)), (normal_law(0.1), normal_law(0.16))),
    "two means, one skewed": (
        reject_means,
        (skewed_law(), normal_law(_SKEWED, 0.05)),
        (skewed_law(), normal_law(_SKEWED + 0.06, 0.05)),
    ),
    "one mean": (reject_mean, (normal_law(0.1), 0.1), (normal_law(0.1), 0.06)),
    "one mean, skewed": (reject_mean, (skewed_law(), _SKEWED), (skewed_law(), _SKEWED - 0.04)),
}


def test_tests(kind, runs):
    epsilons = (0.1, 1.0, 3.0)
    lines = ["| test | n | " + " | ".join(f"ε = {epsilon:g}" for epsilon in epsilons) + " | without noise |"]
    lines.append("|---|---|---|---|---|---|")
    print("\n".join(lines))
    largest = 0.0
    for name, (reject, null, other) in TESTS.items():
        for rows in TESTED:
            rng = np.random.default_rng([rows, *name.encode()])
            given = null if kind == "sizes" else other
            found = [reject(rows, epsilon, given, runs, rng) for epsilon in epsilons]
            largest = max(largest, *(one[0] for one in found))
            shown = [*(one[0] for one in found), np.mean([one[1] for one in found])]
            cells = ["1.00" if x >= 0.9995 else f"{x:.3f}"[1:] for x in shown]
            lines.append(f"| {name} | {rows:,} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    said = f"{runs:,} runs for each figure, three times as many without noise"
    return lines, f"{said}; largest {largest:.4f}" if kind == "sizes" else said


# Differences and ratios, by the functions of the library

COMPARED = {
    "normal, skewed": ("normal, sd .2", "lognormal"),
    "skewed, skewed": ("exponential", "lognormal"),
    "two points of 10% and of 50%": ("two points, 10%", "two points, 50%"),
}


def cover_differences(pair, rows, epsilon, runs, rng):
    """Coverage of the difference and of the ratio of two means, of values that are moved to [0, 2]."""
    made = ib.mean([1.0] * rows, bounds=(0, 2), epsilon=epsilon, method="moments")
    means = [1 + float(points @ chances) for points, chances in pair]
    drawn = [noisy_moments(made, *law, rows, runs, rng, counted=False)[0].tolist() for law in pair]
    hits = np.zeros(2)
    for numbers in zip(*drawn, strict=True):
        one, two = (with_numbers(made, x) for x in numbers)
        hits += [means[0] - means[1] in difference(one, two), means[0] / means[1] in ratio(one, two)]
    return hits / runs


def measure_differences(laws, runs):
    rows_of, epsilons = (100, 1000, 10_000), (0.1, 1.0, 3.0)
    lines = [f"| values | of | {' | '.join(f'n = {rows:,}' for rows in rows_of)} |", "|---" * 5 + "|"]
    least = 1.0
    for name, pair in COMPARED.items():
        cells = [[], []]
        for rows in rows_of:
            rng = np.random.default_rng([rows, *name.encode()])
            found = [cover_differences([laws[x] for x in pair], rows, e, runs, rng) for e in epsilons]
            least = min(least, np.min(found))
            for i in range(2):
                cells[i].append(" / ".join("1.00" if x[i] >= 0.9995 else f"{x[i]:.3f}"[1:] for x in found))
        for what, cell in zip(("difference", "ratio"), cells, strict=True):
            lines.append(f"| {name} | {what} | {' | '.join(cell)} |")
            print(lines[-1], flush=True)
    heads = " / ".join(f"{epsilon:g}" for epsilon in epsilons)
    return lines, f"ε = {heads}; {runs:,} runs for each figure; least {least:.4f}"


def write(part, lines, said):
    """Put a table between its marks in the page."""
    text = PAGE.read_text("utf-8")
    mark = re.compile(rf"(<!-- {part}: made by bench/coverage.py -->\n).*?(<!-- end -->)", re.DOTALL)
    body = "\n".join(["", *lines, "", f"({said}.)", ""])
    PAGE.write_text(mark.sub(lambda found: found[1] + body + found[2], text), "utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--data", type=Path)
    parts = [*COVERED, "differences", "sizes", "power"]
    parser.add_argument("--part", nargs="*", choices=parts, default=parts)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    for part in arguments.part:
        print(f"\n{part}")
        if part in COVERED:
            lines, said = measure(part, find_laws(arguments.data), arguments.runs)
        elif part == "differences":
            lines, said = measure_differences(find_laws(None), RUNS_OF_DIFFERENCES)
        else:
            lines, said = test_tests(part, arguments.runs if part == "sizes" else RUNS_OF_POWER)
        print(said, flush=True)
        if arguments.write:
            write(part, lines, said)


if __name__ == "__main__":
    main()
