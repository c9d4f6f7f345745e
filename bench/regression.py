"""Linear regression from one record, beside those of others: errors of the slopes, and what their intervals cover.

    python bench/regression.py --data FOLDER [--runs 40] [--peer PYTHON]

FOLDER has diabetes.csv, flights.csv and visits.csv, each with the outcome in its last column and one line of names.
PYTHON is that of an environment with diffprivlib, which gets the same bounds. SmartNoise SQL has no regression and sums
no expressions; with products as columns of the table it has all sums, with Laplace noise at an equal part of ε each,
which is simulated here by its law. Errors are the root of the mean square of
all slopes' errors in units of sd(y)/sd(x), about those of least squares of the clipped table. Coverage is of samples of
the table's records, drawn with replacement, about the same slopes, by both methods: of all slopes, and of the slope
that is covered least.
"""

import argparse
import csv
import json
import subprocess
import sys
from pathlib import Path

# This folder has a statistics.py, which must not stand in for Python's own.
sys.path[0] = str(Path(__file__).parents[1])

import numpy as np

import inbounds as ib
from inbounds.inference import regression

METHODS = ("bound", "equal-variance")
# Public bounds: round numbers that a person would write without looking at the records.
TABLES = {
    "diabetes, 3 regressors": (
        "diabetes.csv",
        {"bmi": (15, 50), "bp": (60, 140), "s5": (3, 7), "y": (0, 350)},
    ),
    "diabetes, 10 regressors": (
        "diabetes.csv",
        {
            "age": (18, 90),
            "sex": (1, 2),
            "bmi": (15, 50),
            "bp": (60, 140),
            "s1": (90, 320),
            "s2": (30, 260),
            "s3": (20, 110),
            "s4": (1, 10),
            "s5": (3, 7),
            "s6": (50, 150),
            "y": (0, 350),
        },
    ),
    "flights, 3 regressors": (
        "flights.csv",
        {"dep_delay": (-30, 300), "distance": (0, 5000), "air_time": (0, 700), "arr_delay": (-60, 300)},
    ),
    "visits, 4 regressors": (
        "visits.csv",
        {"xage": (0, 65), "linc": (0, 12), "educdec": (0, 25), "disea": (0, 60), "mdvis": (0, 40)},
    ),
}
PEER = """
import json, sys, warnings
import numpy as np
from diffprivlib.models import LinearRegression
warnings.simplefilter("ignore")
given = json.load(sys.stdin)
x, y = np.array(given["x"]), np.array(given["y"])
low, high = np.array(given["bounds"]).T
found = []
for seed in range(given["runs"]):
    model = LinearRegression(
        epsilon=given["epsilon"], bounds_X=(low[:-1], high[:-1]), bounds_y=(low[-1], high[-1]), random_state=seed
    )
    found.append(model.fit(x, y).coef_.ravel().tolist())
json.dump(found, sys.stdout)
"""


def read_table(path, names):
    with path.open() as lines:
        rows = list(csv.DictReader(lines))
    return np.array([[float(row[name]) for name in names] for row in rows])


def least_squares(table):
    x = np.column_stack([np.ones(len(table)), table[:, :-1]])
    return np.linalg.lstsq(x, table[:, -1], rcond=None)[0][1:]


def fit(table, bounds, epsilon):
    """Fits by both methods of one record."""
    names = list(bounds)
    made = ib.moments({name: table[:, i] for i, name in enumerate(names)}, bounds=bounds, epsilon=epsilon)
    return [regression(made, names[-1], names[:-1], method=method) for method in METHODS]


def fit_noisy_sums(table, bounds, epsilon, runs, rng):
    """Least squares from sums of columns and products in half-widths, each with noise of its own."""
    low, high = np.array(list(bounds.values())).T
    half, rows, size = (high - low) / 2, len(table), len(low)
    u = (table - (high + low) / 2) / half
    i, j = np.triu_indices(size)
    sums = np.concatenate([u.sum(axis=0), (u[:, i] * u[:, j]).sum(axis=0)])
    found = []
    for noisy in sums + rng.laplace(0, len(sums) / epsilon, (runs, len(sums))):
        matrix = np.zeros((size, size))
        matrix[i, j] = matrix[j, i] = noisy[size:] - noisy[i] * noisy[j] / rows
        slopes = np.linalg.lstsq(matrix[:-1, :-1], matrix[:-1, -1], rcond=None)[0]
        found.append(slopes * half[-1] / half[:-1])
    return np.array(found)


def say_coverage(fits, truth):
    """The share of slopes that are covered, and of the slope that is covered least."""
    covered = np.array([(one.lower <= truth) & (truth <= one.upper) for one in fits if one.identified])
    if not len(covered):
        return "not identified"
    return f"{covered.mean():.3f}, least {covered.mean(axis=0).min():.3f} of {len(covered)}"


def ask_peer(python, table, bounds, epsilon, runs):
    x, y = table[:, :-1].tolist(), table[:, -1].tolist()
    given = {"x": x, "y": y, "bounds": list(bounds.values()), "epsilon": epsilon, "runs": runs}
    done = subprocess.run([python, "-c", PEER], input=json.dumps(given), capture_output=True, text=True, check=True)
    return np.array(json.loads(done.stdout))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--peer")
    arguments = parser.parse_args()
    heads = [
        "table",
        "n",
        "ε",
        "RMSE",
        "of all slopes 0",
        "diffprivlib",
        "sums of SmartNoise SQL",
        "noise ratio",
        *METHODS,
    ]
    print(f"| {' | '.join(heads)} |\n" + "|---" * len(heads) + "|")
    for name, (file, bounds) in TABLES.items():
        table = np.clip(read_table(arguments.data / file, list(bounds)), *np.array(list(bounds.values())).T)
        truth = least_squares(table)
        unit = table[:, :-1].std(axis=0) / table[:, -1].std()
        rng = np.random.default_rng(0)
        for epsilon in (1, 3):
            fits = [fit(table, bounds, epsilon)[0] for _ in range(arguments.runs)]
            ours = np.array([one.coefficients for one in fits])
            again = [
                fit(table[rng.integers(len(table), size=len(table))], bounds, epsilon) for _ in range(arguments.runs)
            ]
            said = [say_coverage([pair[i] for pair in again], truth) for i in range(len(METHODS))]
            errors = {"ours": ours, "zero": np.zeros((1, len(truth)))}
            errors["sums"] = fit_noisy_sums(table, bounds, epsilon, 10 * arguments.runs, rng)
            if arguments.peer:
                errors["peer"] = ask_peer(arguments.peer, table, bounds, epsilon, arguments.runs)
            found = {key: np.sqrt((((x - truth) * unit) ** 2).mean()) for key, x in errors.items()}
            ratio = np.median([one.noise_ratio for one in fits])
            print(
                f"| {name} | {len(table):,} | {epsilon} | {found['ours']:.4f} | {found['zero']:.4f} |"
                f" {found.get('peer', np.nan):.4g} | {found['sums']:.4g} | {ratio:.2g} | {' | '.join(said)} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
