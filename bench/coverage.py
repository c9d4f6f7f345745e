"""What intervals cover, over laws, numbers of records and ε.

    python bench/coverage.py [--runs 10000] [--data FOLDER] [--part PART ...] [--write]

means    means drawn with their squares, by score intervals; and of groups with noisy numbers of records (groups)
spreads  variances and standard deviations drawn with fourth powers
bounds   variances, standard deviations and covariances by pairs of records, in fewer runs
differences  and ratios of two means, of groups, shares and variances

Numbers of records are drawn in arrays by the law of the noise, not by whole releases, so that ten thousand runs of each
take seconds. FOLDER may have flights.csv (dep_delay) and costs.csv (a column of numbers), whose records are then two
more laws. --write puts the tables of coverage into docs/intervals.md. What tests reject is in bench/sizes.py.
"""

import argparse
import sys
from fractions import Fraction
from pathlib import Path

# This folder has a statistics.py, which must not stand in for Python's own.
sys.path[0] = str(Path(__file__).parents[1])

import numpy as np
from bench.samples import (
    ALPHA,
    LAWS,
    find_laws,
    group_limits,
    laplace_tail,
    noisy_group,
    noisy_mean,
    noisy_moments,
    power_sums,
    score_limits,
    score_p_values,
    show,
    with_numbers,
    write,
)

import inbounds as ib
from inbounds.expected import norm_parts
from inbounds.inference.bounded import element_limits
from inbounds.inference.compare import Limited, difference, mover_difference, mover_ratio
from inbounds.inference.hypotheses import draw_counts
from inbounds.laws.vectors import vector_noise
from inbounds.privacy.terms import Terms
from inbounds.statistics.centred import find_share

ROWS, EPSILONS = (50, 500, 5000, 20_000), (0.1, 0.5, 1.0, 3.0)


def cover_means(law, rows, epsilon, runs, rng):
    points, chances = law
    return np.mean(score_p_values(float(points @ chances), *noisy_mean(*law, rows, epsilon, runs, rng)) >= ALPHA)


def cover_groups(law, rows, epsilon, runs, rng):
    """Means of a group: with a noisy number of records, and noise of all three for substituted records."""
    points, chances = law
    lower, upper = group_limits(*noisy_group(points, chances, rows, epsilon, runs, rng))
    return hits(lower, upper, float(points @ chances))


def hits(lower, upper, truth):
    # Limits are found by halving, so that the last digits of those at a bound are chance.
    return np.mean((lower <= truth + 1e-7) & (truth - 1e-7 <= upper))


def robust_variances(law, rows, epsilon, runs, rng):
    """Released variances with fourth powers, in half-widths, and their limits, as `robust_limits` has them."""
    points, chances = law
    share = float(find_share(Terms.of(Fraction(str(epsilon)), rows=rows)))
    one, two, three, four = power_sums(points, chances, rows, runs, rng, (1, 2, 3, 4)).T
    first = 2 / share / epsilon
    centre = np.clip((one + rng.laplace(0, first, runs)) / rows, -1, 1)
    weight = (1 + np.abs(centre)) ** 2
    second = (two - 2 * centre * one + rows * centre**2) / weight
    fourth = (four - 4 * centre * three + 6 * centre**2 * two - 4 * centre**3 * one + rows * centre**4) / weight**2
    scale = 2 / (1 - share) / epsilon
    total = 2 * second - rows + rng.laplace(0, scale, runs)
    squares = 4 * fourth - 4 * second + rows + rng.laplace(0, 2 * scale, runs)
    ends = score_limits(rows, total, squares, scale, 2 * scale * 2**0.5)
    low, high = ((1 + end) / 2 * weight for end in ends)
    low = np.maximum(low - centre_errors(np.sqrt(high / rows), first / rows) ** 2, 0)
    value = np.clip((total + rows) / 2 * weight / (rows - 1), 0, 1)
    return value, low, np.minimum(high * rows / (rows - 1), 1)


def centre_errors(deviations, scale):
    """How far centres are from the mean, but for a fifth of ALPHA."""
    low, high = np.zeros(len(deviations)), 12 * deviations + 12 * scale
    for _ in range(40):
        middle = (low + high) / 2
        far = laplace_tail(middle, np.maximum(deviations, 1e-12), scale) > ALPHA / 10
        low, high = np.where(far, middle, low), np.where(far, high, middle)
    return high


def cover_spreads(law, rows, epsilon, runs, rng):
    """Variances with fourth powers; their roots are covered as often."""
    return hits(*robust_variances(law, rows, epsilon, runs, rng)[1:], variance_of(law))


def variance_of(law):
    points, chances = law
    return float((points - points @ chances) ** 2 @ chances)


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
            found = [again(COVERED[part], law, rows, epsilon, runs, rng) for epsilon in EPSILONS]
            least = min(least, *found)
            cells.append(" / ".join(map(show, found)))
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines, f"ε = {heads}; {said_of(runs)}; least {least:.4f}"


def again(cover, law, rows, epsilon, runs, rng):
    """Coverage. Chance makes the smallest of so many figures too small: those are found again in ten times the runs."""
    found = cover(law, rows, epsilon, runs, rng)
    return found if np.min(found) >= 0.9475 else cover(law, rows, epsilon, 10 * runs, rng)


def said_of(runs):
    return f"{runs:,} runs for each figure, ten times as many for those below .9475 at first"


# Spreads by pairs of records. Whether a variance is within its limits depends on two numbers, the noisy squares and the
# weight that they had, so that few intervals of the library tell of all runs which of them cover.

_WEIGHTS, _HALVINGS = 3, 11


def cover_variances(law, rows, epsilon, runs, rng):
    made = ib.variance([0.0] * rows, bounds=(-1, 1), epsilon=epsilon, method="centred")
    points, chances = law
    truth = variance_of(law)
    one, two = power_sums(points, chances, rows, runs, rng, (1, 2)).T
    scales = [float(part.spread * unit) for part, unit in zip(made.parts, made.units, strict=True)]
    centre = np.clip((one + rng.laplace(0, scales[0], runs)) / rows, -1, 1)
    weight = (1 + np.abs(centre)) ** 2
    squares = two - 2 * centre * one + rows * centre**2 + weight * rng.laplace(0, scales[1], runs)

    def found(y, at, side):
        """The limit on a side where the noisy squares are y and their weight is this."""
        worth = rows * (at**0.5 - 1), y / at
        numbers = [x / float(unit) for x, unit in zip(worth, made.units, strict=True)]
        return tuple(with_numbers(made, numbers).interval(method="bound"))[side]

    nodes = np.linspace(weight.min(), weight.max() + 1e-9, _WEIGHTS)
    most = [_last(lambda y, at=at: found(y, at, 0) <= truth, squares, 1) for at in nodes]
    least = [_last(lambda y, at=at: found(y, at, 1) >= truth, squares, -1) for at in nodes]
    return np.mean((np.interp(weight, nodes, least) <= squares) & (squares <= np.interp(weight, nodes, most)))


def _last(keeps, seen, side):
    """The last of what was seen, upwards or downwards, whose limit on that side keeps the truth."""
    near, far = (seen.min(), seen.max())[::side]
    if keeps(far):
        return far
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        near, far = (middle, far) if keeps(middle) else (near, middle)
    return (near + far) / 2


# Two columns in half-widths of their bounds, by their points and chances.
_GRID = np.array([[a, b] for a in np.linspace(-1, 1, 21) for b in np.linspace(-1, 1, 21)])


def _bell(deviation, rho):
    a, b = _GRID.T / deviation
    chances = np.exp(-(a**2 - 2 * rho * a * b + b**2) / 2 / (1 - rho**2))
    return _GRID, chances / chances.sum()


_CORNERS = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]])
PAIRS = {
    "normal, correlation .5": _bell(0.3, 0.5),
    "both ends, correlation .9": (
        np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]]),
        np.array([0.475, 0.475, 0.025, 0.025]),
    ),
    "rare corner, 1%": (np.array([[-1, -1], [1, 1]]), np.array([0.99, 0.01])),
}


def cover_covariances(law, rows, epsilon, runs, rng):
    """Covariances with noise of their own, by intervals of the library."""
    points, chances = law
    points = points.astype(float)
    mean = points.T @ chances
    truth = float(((points - mean).prod(axis=1)) @ chances)
    table = {"x": [0.0] * rows, "y": [0.0] * rows}
    draft = ib.covariance(table, bounds={"x": (-1, 1), "y": (-1, 1)}, epsilon=epsilon, method="elements")
    part, units = draft.parts[0], np.array([float(unit) for unit in draft.units])
    columns = np.column_stack([points, points[:, 0] ** 2, points.prod(axis=1), points[:, 1] ** 2])
    sums = rng.multinomial(rows, chances, size=runs) @ columns
    squares = sums[:, [0, 0, 1]] * sums[:, [0, 1, 1]] / rows
    elements = (sums[:, 2:] - squares) / (rows - 1) / units
    noise = vector_noise(part.dimension, norm_parts(part), rng, (runs,), range(3)) * float(part.spread)
    limits = [element_limits(with_numbers(draft, numbers), ALPHA)[1] for numbers in (elements + noise).tolist()]
    return hits(*np.array(limits).T, truth)


def measure_bounds(laws, runs):
    epsilons = (0.1, 1.0, 3.0)
    lines = [f"| of | records | {' | '.join(f'n = {rows:,}' for rows in ROWS)} |", "|---" * (2 + len(ROWS)) + "|"]
    least = 1.0
    tried = [("variance", name, law) for name, law in laws.items()] + [("covariance", *pair) for pair in PAIRS.items()]
    for what, name, law in tried:
        cells = []
        for rows in ROWS:
            rng = np.random.default_rng([rows, *name.encode()])
            cover, few = (cover_variances, runs) if what == "variance" else (cover_covariances, max(runs // 20, 1))
            found = [again(cover, law, rows, epsilon, few, rng) for epsilon in epsilons]
            least = min(least, *found)
            cells.append(" / ".join(map(show, found)))
        lines.append(f"| {what} | {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    heads = " / ".join(f"{epsilon:g}" for epsilon in epsilons)
    said = f"{said_of(runs)}, and a twentieth of that for covariances"
    return lines, f"ε = {heads}; {said}; least {least:.4f}"


# Differences and ratios: values and limits of both, in [0, 2] for what is in [-1, 1], put together by the library


def two_means(law, rows, epsilon, runs, rng):
    given = noisy_mean(*law, rows, epsilon, runs, rng)
    lower, upper = score_limits(*given)
    return Limited(np.clip(given[1] / rows, -1, 1) + 1, lower + 1, upper + 1, 0, 2), float(law[0] @ law[1]) + 1


def two_groups(law, rows, epsilon, runs, rng):
    count, total, squares, scale = noisy_group(*law, rows, epsilon, runs, rng)
    lower, upper = group_limits(count, total, squares, scale)
    value = np.clip(total / np.maximum(count, 1), -1, 1)
    value = np.clip(value, lower, upper)
    return Limited(value + 1, lower + 1, upper + 1, 0, 2), float(law[0] @ law[1]) + 1


def two_shares(share, rows, epsilon, runs, rng):
    made = ib.proportion([0, 1] * (rows // 2), epsilon=epsilon)
    part, counts = made.parts[0], rng.binomial(rows, share, runs)
    noisy = np.clip(counts + draw_counts(part, 1, rng, runs)[:, 0], 0, rows).astype(int)
    limits = {y: tuple(with_numbers(made, [part.origin + part.step * y]).interval()) for y in set(noisy.tolist())}
    lower, upper = np.array([limits[y] for y in noisy.tolist()]).T
    return Limited(noisy / rows, lower, upper, 0, 1), share


def two_variances(law, rows, epsilon, runs, rng):
    value, lower, upper = robust_variances(law, rows, epsilon, runs, rng)
    return Limited(np.clip(value, lower, upper), lower, upper, 0, 1 - 1 / rows), variance_of(law)


PAIRS_OF_LAWS = (
    ("normal, sd .2", "lognormal"),
    ("exponential", "lognormal"),
    ("two points, 10%", "two points, 50%"),
    ("two points, 1%", "two points, 1%"),
    ("two points, .1%", "normal, sd .05"),
)
COMPARED = {
    **{("means", pair): two_means for pair in PAIRS_OF_LAWS},
    **{("groups' means", pair): two_groups for pair in PAIRS_OF_LAWS},
    **{("shares", pair): two_shares for pair in ((0.3, 0.3), (0.05, 0.3), (0.01, 0.02), (0.002, 0.5))},
    **{("robust variances", pair): two_variances for pair in PAIRS_OF_LAWS},
}


def cover_differences(given, rows, epsilon, runs, rng):
    """Coverage of the difference and of the ratio."""
    side, pair = given
    sides = [side(law, rows, epsilon, runs, rng) for law in pair]
    limited, truth = zip(*sides, strict=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients = mover_ratio(*limited)
    lower, upper = (np.nan_to_num(end, nan=nan, posinf=np.inf) for end, nan in zip(quotients, (0, np.inf), strict=True))
    return np.array(
        [
            hits(*mover_difference(*limited), truth[0] - truth[1]),
            hits(lower, upper, truth[0] / truth[1]),
        ]
    )


def measure_differences(laws, runs):
    check_limits()
    rows_of, epsilons = (50, 500, 5000, 20_000), (0.1, 1.0, 3.0)
    lines = [f"| of | values | {' | '.join(f'n = {rows:,}' for rows in rows_of)} |", "|---" * (2 + len(rows_of)) + "|"]
    least = 1.0
    for (what, pair), side in COMPARED.items():
        given = side, [laws.get(name, name) for name in pair]
        cells = [[], []]
        for rows in rows_of:
            rng = np.random.default_rng([rows, *f"{pair}".encode()])
            found = [again(cover_differences, given, rows, epsilon, runs, rng) for epsilon in epsilons]
            least = min(least, np.min(found))
            for i in range(2):
                cells[i].append(" / ".join(show(one[i]) for one in found))
        for how, cell in zip(("differences", "ratios"), cells, strict=True):
            lines.append(f"| {how} of {what} | {'; '.join(map(str, pair))} | {' | '.join(cell)} |")
            print(lines[-1], flush=True)
    heads = " / ".join(f"{epsilon:g}" for epsilon in epsilons)
    return lines, f"ε = {heads}; {said_of(runs)}; least {least:.4f}"


def check_limits():
    """Compare limits in arrays with those of the library."""
    rng, rows, law = np.random.default_rng(0), 200, (np.array([-1.0, 0.2, 1]), np.array([0.3, 0.5, 0.2]))
    made = ib.mean([0.0] * rows, bounds=(-1, 1), epsilon=1, method="moments")
    groups = {"x": [0.0] * 2 * rows, "g": ["a", "b"] * rows}
    both = ib.mean(groups, "x", bounds=(-1, 1), by="g", levels=["a", "b"], epsilon=1, method="moments")
    alone = [noisy_moments(made, *law, rows, 5, rng, counted=False)[0] for _ in range(2)]
    sums = [one * [float(unit) for unit in made.units] for one in alone]
    scales = [float(made.parts[0].spread * unit) for unit in made.units]
    given = [(rows, one[:, 0], (one[:, 1] + rows) / 2, scales[0], scales[1] / 2**0.5) for one in sums]
    limits = [score_limits(*one) for one in given]
    values = [np.clip(one[:, 0] / rows, -1, 1) for one in sums]
    ours = np.array(mover_difference(*(Limited(x, *one, -1, 1) for x, one in zip(values, limits, strict=True))))
    theirs = [difference(*(with_numbers(made, one[run].tolist()) for one in alone)) for run in range(5)]
    assert np.allclose(ours.T, [tuple(one) for one in theirs], atol=1e-5), (ours.T, theirs)
    cells = [noisy_moments(both, *law, rows, 5, rng, counted=True)[0] for _ in range(2)]
    worth = [one * [float(unit) for unit in both.units[:3]] for one in cells]
    scale = float(both.parts[0].spread * both.units[0])
    limits = [group_limits(one[:, 0], one[:, 1], (one[:, 2] + one[:, 0]) / 2, scale) for one in worth]
    theirs = [with_numbers(both, np.concatenate([one[run] for one in cells]).tolist()).interval() for run in range(5)]
    theirs = np.array([[one.lower, one.upper] for one in theirs])
    assert np.allclose(np.transpose(limits, (2, 1, 0)), theirs, atol=0.03 * np.ptp(theirs)), (limits, theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--data", type=Path)
    parts = [*COVERED, "bounds", "differences"]
    parser.add_argument("--part", nargs="*", choices=parts, default=parts)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    for part in arguments.part:
        print(f"\n{part}")
        laws = find_laws(arguments.data)
        if part in COVERED:
            lines, said = measure(part, laws, arguments.runs)
        elif part == "bounds":
            lines, said = measure_bounds({name: laws[name] for name in LAWS}, max(arguments.runs // 5, 1))
        else:
            lines, said = measure_differences(laws, arguments.runs)
        print(said, flush=True)
        if arguments.write:
            write(part, lines, said)


if __name__ == "__main__":
    main()
