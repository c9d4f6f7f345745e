"""Release a few statistics of a generated survey, and print what each cost and how far off it can be.

python examples/survey.py [--rows 20000] [--out build/examples]
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl

import inbounds as ib
from inbounds.record import Releases

REGIONS = ["north", "south", "east", "west"]


def survey(rows: int) -> pl.DataFrame:
    """Ages, incomes with a few missing, smoking and regions of made-up people."""
    rng = np.random.default_rng(2026)
    age = rng.integers(18, 96, rows)
    income = (rng.lognormal(7.6, 0.45, rows) * (1 + age / 200)).round(2)
    return pl.DataFrame(
        {
            "age": age,
            "income": pl.Series(np.where(rng.random(rows) < 0.02, np.nan, income)),
            "smoker": rng.choice(["yes", "no"], rows, p=[0.2, 0.8]),
            "region": rng.choice(REGIONS, rows, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )


def releases(table: pl.DataFrame) -> list[ib.Release]:
    """Eight statistics for ε = 1 in all. Bounds, levels and the fill value are known without looking at the data."""
    share = "1/8"
    income = {"bounds": (0, 10_000), "missing": 2_000}
    both = {"age": (18, 95), "income": (0, 10_000)}
    return [
        ib.mean(table, "age", bounds=(18, 95), epsilon=share),
        ib.standard_deviation(table, "income", epsilon=share, **income),
        ib.mean(table, "income", by="region", levels=REGIONS, epsilon=share, **income),
        ib.proportion(table, "smoker", level="yes", levels=["yes", "no"], epsilon=share),
        ib.proportions(table, "region", levels=REGIONS, epsilon=share),
        ib.histogram(table, "age", edges=[18, 30, 45, 60, 75, 95], epsilon=share),
        ib.crosstab(table, levels={"region": REGIONS, "smoker": ["yes", "no"]}, epsilon=share),
        ib.correlation(table, bounds=both, missing={"income": 2_000}, epsilon=share),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=Path("build/examples"))
    arguments = parser.parse_args()
    made = releases(survey(arguments.rows))
    for release in made:
        print(release, end="\n\n")
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "survey.json"
    path.write_text(Releases({release.title: release for release in made}).to_json(), encoding="utf-8")
    print(f"{sum(release.certificate.epsilon for release in made)} was spent; records are in {path}")


if __name__ == "__main__":
    main()
