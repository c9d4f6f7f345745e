"""A generated health survey for the demonstration. It has a fixed seed and holds no real person."""

from pathlib import Path

import numpy as np
import polars as pl

from inbounds._files import write_atomically

ROWS = 20_000
REGIONS = ("north", "south", "east", "west")
HEALTH = ("very good", "good", "fair", "poor")

PLAN = f"""# What to release from the survey. Bounds and levels are public: they come from the questionnaire.
[data]
source = "survey.csv"
rows = {ROWS}                      # the public number of rows
neighbours = "substitute"

[budget]
epsilon = 1.0
ledger = "survey.ledger"
dataset = "survey-2026"
limit = 3.0                       # for all releases from these data together

[columns]
# What a missing value counts as; what is none of the levels counts as the one named by `other`.
age = {{ bounds = [18, 100], missing = 50 }}
bmi = {{ bounds = [12, 60], missing = 26 }}
pressure = {{ bounds = [70, 220], missing = 125 }}
sleep = {{ bounds = [0, 16], missing = 7 }}
smoker = {{ levels = ["yes", "no"], missing = "no", other = "no" }}
region = {{ levels = ["north", "south", "east", "west"], missing = "north", other = "north" }}
health = {{ levels = ["very good", "good", "fair", "poor"], missing = "good", other = "good" }}

[[release]]
name = "smokers"
statistic = "proportion"
columns = ["smoker"]
level = "yes"

[[release]]
name = "age"
statistic = "mean"
columns = ["age"]

[[release]]
name = "median age"
statistic = "median"
columns = ["age"]
step = 1                          # whole years
cover = 0.95                      # pays for an interval, too

[[release]]
name = "spread of pressure"
statistic = "standard_deviation"
columns = ["pressure"]
plausible = {{ sd = [10, 25], mean = [110, 140] }}     # known from other surveys; for the preview alone

[[release]]
name = "correlations"
statistic = "correlation"
columns = ["age", "bmi", "pressure"]
share = 2
interval = "noise"                # of this table; "population" counts sampling, too

[[release]]
name = "health"
statistic = "proportions"
columns = ["health"]

[[release]]
name = "smoking by region"
statistic = "crosstab"
columns = ["region", "smoker"]

[[release]]
name = "pressure by region"
statistic = "mean"
columns = ["pressure"]
by = "region"
plausible = {{ size = [3000, 7000], mean = [110, 140] }}
share = 2

# Too much to ask of few people and a small share of epsilon: the preview says so beforehand, the report afterwards.
[[release]]
name = "sleep, old smokers"
statistic = "mean"
columns = ["sleep"]
where = "smoker = 'yes' and age > 80"
plausible = {{ size = [50, 500], mean = [5, 9] }}
share = 0.5
"""


def survey(rows: int = ROWS, seed: int = 2026) -> pl.DataFrame:
    """Generate the survey: age, body mass index (some missing), blood pressure, sleep, smoking, region and health."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(9, 5.5, rows), 18, 99).round()
    bmi = np.clip(26 + 0.04 * (age - 48) + rng.normal(0, 4.5, rows), 13, 58).round(1)
    pressure = np.clip(88 + 0.45 * age + 0.7 * bmi + rng.normal(0, 13, rows), 72, 218).round()
    sleep = np.clip(7.4 - 0.008 * age + rng.normal(0, 1.1, rows), 1, 14).round(1)
    smoker = rng.random(rows) < 0.27 - 0.0012 * age
    frail = (age - 48) / 18 + (pressure - 128) / 20 + 0.6 * smoker + rng.normal(0, 1.2, rows)
    health = np.digitize(frail, [-1.2, 0.9, 2.6])
    return pl.DataFrame(
        {
            "age": age.astype(np.int64),
            "bmi": pl.Series(bmi).set(pl.Series(rng.random(rows) < 0.02), None),
            "pressure": pressure.astype(np.int64),
            "sleep": sleep,
            "smoker": np.where(smoker, "yes", "no"),
            "region": rng.choice(REGIONS, rows, p=[0.3, 0.26, 0.24, 0.2]),
            "health": np.array(HEALTH)[health],
        }
    )


def write(folder: Path) -> Path:
    """Write the survey and its plan to a folder and return the plan's path. Other files of these names are kept."""
    files = {folder / "survey.csv": survey().write_csv(), folder / "plan.toml": PLAN}
    for path, text in files.items():
        if path.exists() and path.read_bytes() != text.encode():
            raise ValueError(
                f"{str(path)!r} exists and differs from the file of the demonstration; nothing was written. Choose "
                "another folder"
            )
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        write_atomically(path, text)
    return folder / "plan.toml"
