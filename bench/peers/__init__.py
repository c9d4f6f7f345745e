"""Libraries of the field behind one small interface, each run in an environment of its own by `bench/compare.py`.

A module `with_<library>` has:

- ``STATISTICS``: by statistic and neighbours, a function of a `Task` that gives that many released values of the same
  table, as the library's documentation has it, at a total privacy loss of ``task.epsilon``.
- ``INTERVALS``: by statistic and neighbours, a function that gives value, lower and upper end of a 95% interval for
  each table it is given, where the library has intervals.
- ``EXACT``, where it can: by statistic and neighbours, a function of a `Task` that gives the mean squared error about
  the table's value as the library itself computes it, from the law it draws from. No chance is in it.
- ``whole(column)``: a function that releases the mean of a long column, for timing.
- ``draw``: a function that draws one value of its Laplace noise, and ``many(count)`` one that draws a vector.
- ``PACKAGE``, the distribution whose version is named, and ``MODULE``, what a user imports.

They import nothing of inbounds, so that they run where it is not installed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any


@dataclass(frozen=True)
class Task:
    """One statistic of one table: columns with public bounds, or levels 0, 1, ... of one column."""

    statistic: str
    neighbours: str
    columns: dict[str, list[float]]
    bounds: dict[str, tuple[float, float]]
    epsilon: float
    releases: int
    levels: int = 0

    @property
    def column(self) -> list[float]:
        return next(iter(self.columns.values()))

    @property
    def ends(self) -> tuple[float, float]:
        """Bounds of the first column, as floats: some libraries take the type for the data's."""
        lower, upper = next(iter(self.bounds.values()))
        return float(lower), float(upper)

    @property
    def rows(self) -> int:
        return len(self.column)


Values = list[Any]


def covariances(task: Task, variances: Callable[[Sequence[float], tuple[float, float], float], Values]) -> Values:
    """Covariance matrices of two columns where a library has variances alone: cov = (var(x + y) - var x - var y)/2.

    Columns are scaled to [0, 1] first; each of the three variances gets a third of ε.
    """
    ends = list(task.bounds.values())
    unit = [
        [(value - lower) / (upper - lower) for value in column]
        for column, (lower, upper) in zip(task.columns.values(), ends, strict=True)
    ]
    both = [u + v for u, v in zip(*unit, strict=True)]
    asked = ((unit[0], 1.0), (unit[1], 1.0), (both, 2.0))
    first, second, sums = (variances(column, (0.0, upper), task.epsilon / 3) for column, upper in asked)
    wide, high = (upper - lower for lower, upper in ends)
    made = []
    for a, b, s in zip(first, second, sums, strict=True):
        product = (s - a - b) / 2 * wide * high
        made.append([[a * wide**2, product], [product, b * high**2]])
    return made


def add_remove(
    mean: Callable[[Task], Values],
    variances: Callable[[Task, Sequence[float], tuple[float, float], float], Values],
    histogram: Callable[[Task], Values],
) -> dict[tuple[str, str], Callable[[Task], Values]]:
    """``STATISTICS`` of a library that has means, variances and counts of tables whose rows are not public."""
    offered = {
        "mean": mean,
        "proportion": mean,
        "variance": lambda task: variances(task, task.column, task.ends, task.epsilon),
        "histogram": histogram,
        "covariance": lambda task: covariances(task, partial(variances, task)),
    }
    return {(statistic, "add-remove"): function for statistic, function in offered.items()}


def of_a_sample(task: Task, variances: Values) -> Values:
    """Variances whose divisor is n, brought to n - 1 as the other libraries have it."""
    factor = task.rows / (task.rows - 1)
    return [factor * value for value in variances]
