"""What intervals of coefficients from released moments cover, over laws, numbers of records and ε.

    python bench/slopes.py [--runs 1000] [--law NAME ...] [--write]

Records are simulated, their sums get noise by its law, and the record of a release gets them in place of its own, so
that the fit is by `inbounds.inference.regression` itself, and the interval of the intercept that of a released
regression, in a fifth of the runs, as intervals of equal variances. Columns are in half-widths of their bounds. --write
puts the table into docs/regression.md.
"""

import argparse
import re
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

# This folder has a statistics.py, which must not stand in for Python's own.
sys.path[0] = str(Path(__file__).parents[1])

import numpy as np

import inbounds as ib
from inbounds.expected import norm_parts
from inbounds.inference import regression, score
from inbounds.laws.vectors import vector_noise

PAGE = Path(__file__).parents[1] / "docs" / "regression.md"
ROWS, EPSILONS = (500, 5000, 20_000), (0.5, 1.0, 3.0)
METHODS = ("bound", "equal-variance")
# Fewer draws of the noise than a fit takes: many more runs in the same time, with limits off by about 2%.
score._DRAWS = 1024


def plain(rng, rows):
    return rng.normal(0, 0.2, rows), rng.uniform(-1, 1, rows)


def levels(rng, rows):
    return 2.0 * (rng.random(rows) < 0.2) - 1, rng.integers(0, 3, rows) - 1.0


def rare_group(rng, rows):
    return 2.0 * (rng.random(rows) < 0.05) - 1, rng.uniform(-1, 1, rows)


# Regressors, and residuals given them.
LAWS = {
    "normal": (plain, lambda rng, a: rng.normal(0, 0.15, len(a))),
    "skewed residuals": (plain, lambda rng, a: 0.15 * (np.minimum(rng.exponential(1, len(a)), 6) - 1 + np.exp(-6))),
    "levels as regressors": (levels, lambda rng, a: rng.normal(0, 0.15, len(a))),
    "variance grows with a": (plain, lambda rng, a: rng.normal(0, 1, len(a)) * np.minimum(2 * a**2, 0.4)),
    "variance depends on levels": (levels, lambda rng, a: rng.normal(0, 1, len(a)) * (0.05 + 0.2 * (a > 0))),
    "all residuals in a rare group": (rare_group, lambda rng, a: (a > 0) * rng.choice([-0.6, 0.6], len(a))),
}
SLOPES = np.array([0.2, -0.15])
COEFFICIENTS = ("a", "b", "intercept")


def sums_of(law, rows, rng):
    """Sums and sums of products of a sample, in the order of a record: of y, a, b."""
    regressors, residuals = LAWS[law]
    a, b = regressors(rng, rows)
    table = np.stack([np.clip(SLOPES[0] * a + SLOPES[1] * b + residuals(rng, a), -1, 1), a, b])
    table[1:] = np.clip(table[1:], -1, 1)
    products = table @ table.T
    return np.concatenate([table.sum(axis=1), products[np.triu_indices(3)]])


def cover(rows, epsilon, sums, rng):
    """Coverage of both slopes and of the intercept by both methods, their widths, and how many were identified."""
    table, bounds = {name: [0.0] * rows for name in "yab"}, dict.fromkeys("yab", (-1, 1))
    made = ib.moments(table, bounds=bounds, epsilon=epsilon)
    fitted = ib.regression(table, "y", bounds=bounds, epsilon=epsilon)
    assert (made.units, made.parts[0].spread) == (fitted.units, fitted.parts[0].spread)
    part, units = made.parts[0], np.array([float(unit) for unit in made.units])
    noise = vector_noise(part.dimension, norm_parts(part), rng, (len(sums),), range(9)) * float(part.spread)
    worth = sums.copy()
    # Squares are drawn as 2u² - 1.
    worth[:, [3, 6, 8]] = 2 * worth[:, [3, 6, 8]] - rows
    # Bounds of the slopes in all runs, all else in a fifth of them.
    found, width, seen = np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3))
    for run, numbers in enumerate((worth / units + noise).tolist()):
        noisy = tuple(map(Fraction, numbers))
        for way, method in enumerate(METHODS if run % 5 == 0 else METHODS[:1]):
            fit = regression(replace(made, noisy=noisy), "y", ["a", "b"], method=method)
            if fit.identified:
                found[way, :2] += (fit.lower <= SLOPES) & (fit.upper >= SLOPES)
                width[way, :2] += fit.upper - fit.lower
                seen[way, :2] += 1
        if fit.identified and run % 5 == 0:
            whole = replace(fitted, noisy=noisy).interval()
            found[0, 2] += whole.lower[0] <= 0 <= whole.upper[0]
            seen[0, 2] += 1
    return found / np.maximum(seen, 1), width / np.maximum(seen, 1), int(seen[0, 0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--law", nargs="*", choices=list(LAWS), default=list(LAWS))
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    heads = [f"{method}, n = {rows:,}" for method in METHODS for rows in ROWS]
    lines = [f"| law | of | {' | '.join(heads)} | width, bound / equal-variance |", "|---" * (3 + len(heads)) + "|"]
    print("\n".join(lines))
    for law in arguments.law:
        cells, widths = [[], [], []], [[], [], []]
        for rows in ROWS:
            rng = np.random.default_rng([rows, *law.encode()])
            sums = np.array([sums_of(law, rows, rng) for _ in range(arguments.runs)])
            both = [cover(rows, epsilon, sums, rng) for epsilon in EPSILONS]
            for slope in range(3):
                shown = [show(rates[:, slope], seen, arguments.runs) for rates, _, seen in both]
                # The intercept has one method.
                cells[slope].append(shown if slope < 2 else [[one[0], "-"] for one in shown])
                widths[slope].append(both[-1][1][0, slope] / max(both[-1][1][1, slope], 1e-300))
        for slope, name in enumerate(COEFFICIENTS):
            said = [" / ".join(one[way] for one in cell) for way in range(2) for cell in cells[slope]]
            said = ["" if set(one) <= set("- /") and name == "intercept" else one for one in said]
            wide = " / ".join(f"{x:.1f}" if x > 0 else "-" for x in widths[slope] if slope < 2)
            lines.append(f"| {law} | {name} | {' | '.join(said)} | {wide} |")
            print(lines[-1], flush=True)
    heads = " / ".join(f"{epsilon:g}" for epsilon in EPSILONS)
    said = f"ε = {heads}; {arguments.runs:,} runs for each figure of the bound, a fifth of that for all others"
    print(said)
    if arguments.write:
        write(lines, said)


def show(rates, identified, runs):
    """Coverage by both methods, of what was identified; a dash where that was less than a tenth of the runs."""
    if identified < runs / 10:
        return ["-", "-"]
    return ["1.00" if rate >= 0.9995 else f"{rate:.3f}"[1:] for rate in rates]


def write(lines, said):
    text = PAGE.read_text("utf-8")
    mark = re.compile(r"(<!-- slopes: made by bench/slopes.py -->\n).*?(<!-- end -->)", re.DOTALL)
    body = "\n".join(["", *lines, "", f"({said}.)", ""])
    PAGE.write_text(mark.sub(lambda found: found[1] + body + found[2], text), "utf-8")


if __name__ == "__main__":
    main()
