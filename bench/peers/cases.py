"""What is compared: the same tables, bounds and ε for every library.

Two real tables that come with packages, and a made one where bounds bite. Bounds are what somebody could say without
looking: ages up to 100, a body mass index from 10 to 60.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from bench.peers import Task

NEIGHBOURS = ("substitute", "add-remove")
EPSILONS = (0.1, 1.0)
Bounds = tuple[float, float]
# Statistics of two columns; a slope is that of the second on the first.
PAIRS = ("covariance", "correlation", "slope")


@dataclass(frozen=True)
class Table:
    """A table with what is asked of it: numbers with bounds, a yes-or-no column, a column of levels 0, 1, ..."""

    name: str
    source: str
    number: tuple[str, np.ndarray, Bounds]
    answer: tuple[str, np.ndarray]
    levels: tuple[str, np.ndarray, int]
    pair: dict[str, tuple[np.ndarray, Bounds]]
    several: dict[str, tuple[np.ndarray, Bounds]]

    @property
    def rows(self) -> int:
        return len(self.answer[1])

    def about(self) -> dict[str, Any]:
        """What is public of it, for the page."""
        name, _, (lower, upper) = self.number
        pair = [f"{name} in [{low}, {high}]" for name, (_, (low, high)) in self.pair.items()]
        return {
            "name": self.name,
            "source": self.source,
            "rows": self.rows,
            "mean, variance, median": f"{name} in [{lower}, {upper}]",
            "proportion": self.answer[0],
            "histogram": f"{self.levels[0]}, {self.levels[2]} levels",
            "covariance, correlation, slope": " and ".join(pair),
            "means": ", ".join(f"{name} in [{low}, {high}]" for name, (_, (low, high)) in self.several.items()),
        }

    def task(self, statistic: str, neighbours: str, epsilon: float, releases: int) -> Task:
        if statistic in PAIRS:
            columns = {name: column for name, (column, _) in self.pair.items()}
            bounds = {name: ends for name, (_, ends) in self.pair.items()}
        elif statistic == "means":
            columns, bounds = self.shares(), dict.fromkeys(self.several, (0, 1))
        elif statistic == "proportion":
            columns, bounds = dict([self.answer]), {self.answer[0]: (0, 1)}
        elif statistic == "histogram":
            columns, bounds = dict([self.levels[:2]]), {self.levels[0]: (0, self.levels[2] - 1)}
        else:
            columns, bounds = {self.number[0]: self.number[1]}, {self.number[0]: self.number[2]}
        listed = {name: column.tolist() for name, column in columns.items()}
        levels = self.levels[2] if statistic == "histogram" else 0
        return Task(statistic, neighbours, listed, bounds, epsilon, releases, levels)

    def shares(self) -> dict[str, np.ndarray]:
        """Several columns, each as shares of its bounds, so that their errors can be put together."""
        return {name: (column - low) / (high - low) for name, (column, (low, high)) in self.several.items()}

    def truth(self, statistic: str) -> np.ndarray:
        """The statistic itself; variances and covariances divide by n - 1."""
        if statistic == "median":
            return np.asarray(np.median(self.number[1]))
        if statistic == "means":
            return np.array([column.mean() for column in self.shares().values()])
        if statistic == "mean":
            return np.asarray(self.number[1].mean())
        if statistic == "variance":
            return np.asarray(self.number[1].var(ddof=1))
        if statistic == "proportion":
            return np.asarray(self.answer[1].mean())
        if statistic == "histogram":
            return np.bincount(self.levels[1], minlength=self.levels[2])
        matrix = np.column_stack([column for column, _ in self.pair.values()])
        if statistic == "slope":
            covariances = np.cov(matrix.T)
            return np.asarray(covariances[0, 1] / covariances[0, 0])
        return np.asarray((np.cov if statistic == "covariance" else np.corrcoef)(matrix.T)[0, 1])


def tables() -> list[Table]:
    """Diabetes patients (scikit-learn), a survey of 1974 (statsmodels), and a small skewed table that is made."""
    import statsmodels.api as sm
    from sklearn.datasets import load_diabetes

    patients = load_diabetes(scaled=False, as_frame=True).data
    survey = sm.datasets.fair.load_pandas().data
    rng = np.random.default_rng(10)
    n = 200
    income = np.minimum(rng.lognormal(3.4, 0.7, n), 500)
    first = rng.normal(50, 15, n)
    close = np.clip(np.column_stack([first, first + rng.normal(0, 5, n)]), 0, 100)
    return [
        Table(
            "diabetes",
            "scikit-learn, load_diabetes",
            ("bmi", patients["bmi"].to_numpy(), (10, 60)),
            ("second sex", (patients["sex"] == 2).to_numpy().astype(int)),
            ("age in decades", (patients["age"] // 10).to_numpy().astype(int), 10),
            {"bmi": (patients["bmi"].to_numpy(), (10, 60)), "bp": (patients["bp"].to_numpy(), (40, 200))},
            {
                name: (patients[name].to_numpy(), ends)
                for name, ends in {"age": (18, 100), "bmi": (10, 60), "bp": (40, 200), "s1": (50, 400)}.items()
            },
        ),
        Table(
            "survey",
            "statsmodels, datasets.fair",
            ("age", survey["age"].to_numpy(), (15, 60)),
            ("any affair", (survey["affairs"] > 0).to_numpy().astype(int)),
            ("religious", (survey["religious"] - 1).to_numpy().astype(int), 4),
            {"age": (survey["age"].to_numpy(), (15, 60)), "married": (survey["yrs_married"].to_numpy(), (0, 40))},
            {
                name: (survey[name].to_numpy(), ends)
                for name, ends in {
                    "age": (15, 60),
                    "yrs_married": (0, 40),
                    "children": (0, 10),
                    "educ": (5, 25),
                }.items()
            },
        ),
        Table(
            "skewed",
            "made, seed 10",
            ("income", income, (0, 500)),
            ("rare", (np.arange(n) < 2).astype(int)),
            ("rarely filled", rng.choice(10, n, p=[0.5, 0.3, 0.15, 0.04, 0.01, 0, 0, 0, 0, 0]), 10),
            {"first": (close[:, 0], (0, 100)), "second": (close[:, 1], (0, 100))},
            {"income": (income, (0, 500)), "first": (close[:, 0], (0, 100)), "second": (close[:, 1], (0, 100))},
        ),
    ]


def mirrored(task: Task) -> Task:
    """The same task with its last column turned around within its bounds, so that a correlation changes its sign."""
    name, (lower, upper) = list(task.bounds.items())[-1]
    turned = [lower + upper - value for value in task.columns[name]]
    return replace(task, columns={**task.columns, name: turned})


def neighbouring(statistic: str, neighbours: str, releases: int, rows: int = 100) -> tuple[Task, Task]:
    """Two tables that differ by one record of 1 among zeros, for the audit at a claimed ε of 1."""
    with_zero = [0.0] * (rows - (neighbours == "add-remove"))
    with_one = [0.0] * (rows - 1) + [1.0]
    first, second = (
        Task(statistic, neighbours, {"x": column}, {"x": (0, 1)}, 1.0, releases, nominal=rows)
        for column in (with_zero, with_one)
    )
    return first, second


@dataclass(frozen=True)
class Population:
    """What samples are drawn from, for intervals: the statistic of the population is known."""

    statistic: str
    truth: float | None
    bounds: Bounds
    levels: int = 0
    rows: int = 200

    def samples(self, count: int) -> np.ndarray:
        rng = np.random.default_rng(11)
        if self.statistic == "proportion":
            return (rng.random((count, self.rows)) < 0.05).astype(int)
        if self.statistic == "histogram":
            return rng.choice(4, (count, self.rows), p=[0.02, 0.18, 0.3, 0.5])
        return 100 * rng.beta(2, 3, (count, self.rows))

    def possible(self, neighbours: str, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Intervals without what no table has: beyond the bounds, or between two counts."""
        if self.statistic == "histogram":
            most = self.rows if neighbours == "substitute" else np.inf
            return np.clip(np.ceil(lower), 0, most), np.clip(np.floor(upper), 0, most)
        low, high = (0.0, largest_variance(self.bounds, self.rows)) if self.statistic == "variance" else self.bounds
        return np.clip(lower, low, high), np.clip(upper, low, high)

    def of_table(self, samples: np.ndarray) -> np.ndarray:
        if self.statistic == "histogram":
            return (samples == 0).sum(axis=1)
        return samples.var(axis=1, ddof=1) if self.statistic == "variance" else samples.mean(axis=1)


def populations() -> Iterator[Population]:
    # 100 × Beta(2, 3): mean 40, variance 400.
    yield Population("mean", 40.0, (0, 100))
    yield Population("variance", 400.0, (0, 100))
    yield Population("proportion", 0.05, (0, 1))
    # A count of this table: there is no such number of a population.
    yield Population("histogram", None, (0, 3), levels=4)


def largest_variance(bounds: Bounds, rows: int) -> float:
    """Of half of the records at either end."""
    return (bounds[1] - bounds[0]) ** 2 / 4 * rows / (rows - 1)


def impossible(statistic: str, values: np.ndarray, task: Task) -> np.ndarray:
    """Which released values no table of this many rows, or of any number of rows, could have."""
    finite = np.isfinite(values.reshape(len(values), -1)).all(axis=1)
    if statistic in ("mean", "median", "means", "proportion"):
        lower, upper = task.ends
        good = ((values >= lower) & (values <= upper)).reshape(len(values), -1).all(axis=1)
    elif statistic == "slope":
        # Any number may be one.
        good = finite
    elif statistic == "variance":
        # A hair of room for sums of floats.
        good = (values >= 0) & (values <= largest_variance(task.ends, task.rows) * (1 + 1e-9))
    elif statistic == "histogram":
        good = (values >= 0).all(axis=1) & (values == np.floor(values)).all(axis=1)
        if task.neighbours == "substitute":
            good &= values.sum(axis=1) == task.rows
    elif values.ndim == 1:
        # A covariance by itself: no larger than two standard deviations allow.
        ends = [largest_variance(bounds, task.rows) ** 0.5 for bounds in task.bounds.values()]
        good = np.abs(values) <= ends[0] * ends[1] * (1 + 1e-9)
    else:
        safe = np.where(finite[:, None, None], values, 0)
        smallest = np.linalg.eigvalsh(safe)[:, 0]
        good = smallest >= -1e-9 * np.abs(safe).max(axis=(1, 2))
    return ~(good & finite)


def off_diagonal(statistic: str, values: np.ndarray) -> np.ndarray:
    """The one number of a matrix that is compared. A correlation is mended first, as its user would: into [-1, 1], and
    0 where a variance is not positive."""
    if statistic == "covariance":
        return values if values.ndim == 1 else values[:, 0, 1]
    with np.errstate(all="ignore"):
        found = values[:, 0, 1] / np.sqrt(values[:, 0, 0] * values[:, 1, 1])
    return np.clip(np.nan_to_num(found, nan=0.0, posinf=1, neginf=-1), -1, 1)


def as_json(task: Task, kind: str, **more: Any) -> dict[str, Any]:
    fields = ("statistic", "neighbours", "columns", "bounds", "epsilon", "releases", "levels", "nominal")
    return {name: getattr(task, name) for name in fields} | {"kind": kind} | more
