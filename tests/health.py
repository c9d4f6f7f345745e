"""A plan of the generated health survey, of eight statistics and without rules for missing values, for tests."""

from pathlib import Path

from inbounds.demo import HEALTH as HEALTH
from inbounds.demo import REGIONS as REGIONS
from inbounds.demo import ROWS as ROWS
from inbounds.demo import survey

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
age = {{ bounds = [18, 100] }}
bmi = {{ bounds = [12, 60], missing = 26 }}
pressure = {{ bounds = [70, 220] }}
sleep = {{ bounds = [0, 16] }}
smoker = {{ levels = ["yes", "no"] }}
region = {{ levels = ["north", "south", "east", "west"] }}
health = {{ levels = ["very good", "good", "fair", "poor"] }}

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
name = "blood pressure"
statistic = "mean"
columns = ["pressure"]

[[release]]
name = "variance of blood pressure"
statistic = "variance"
columns = ["pressure"]

[[release]]
name = "correlations"
statistic = "correlation"
columns = ["age", "bmi", "pressure", "sleep"]
share = 2

[[release]]
name = "health"
statistic = "proportions"
columns = ["health"]

[[release]]
name = "smoking by region"
statistic = "crosstab"
columns = ["region", "smoker"]

[[release]]
name = "blood pressure by region"
statistic = "mean"
columns = ["pressure"]
by = "region"
share = 2
"""


def write(folder: Path) -> Path:
    """Write the survey and the plan to a folder and return the plan's path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "survey.csv").write_text(survey().write_csv(), "utf-8")
    (folder / "plan.toml").write_text(PLAN, "utf-8")
    return folder / "plan.toml"
