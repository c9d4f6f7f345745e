"""Libraries of the field behind one small interface, each run in an environment of its own by `bench/compare.py`.

A module `with_<library>` has:

- ``STATISTICS``: by statistic and neighbours, a function of a `Task` that gives that many released values of the same
  table, as the library's documentation has it, at a total privacy loss of ``task.epsilon``.
- ``BUILT``, where a library lacks a statistic, or might do better without its own: the same, built of several of its
  releases. Of two ways the one with the smaller error is shown.
- ``INTERVALS``: by statistic and neighbours, a function that gives value, lower and upper end of a 95% interval for
  each table it is given, where the library has intervals.
- ``EXACT``, where it can: by statistic and neighbours, a function of a `Task` that gives the mean squared error about
  the table's value as the library itself computes it, from the law it draws from. No chance is in it.
- ``UNBIASED``, where it has such a thing: like ``STATISTICS``, its own estimate without bias from each release.
- ``whole(column)``: a function that releases the mean of a long column, for timing.
- ``draw``: a function that draws one value of its Laplace noise, and ``many(count)`` one that draws a vector.
- ``PACKAGE``, the distribution whose version is named, and ``MODULE``, what a user imports.

They import nothing of inbounds, so that they run where it is not installed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    # Rows by which a divisor of n becomes one of n - 1: the table's, or where those are secret a number for all.
    nominal: int = 0

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
# Values of a column within bounds at an ε: (task, column, bounds, ε).
OfColumn = Callable[[Task, Sequence[float], tuple[float, float], float], Values]


def centred(column: Sequence[float], bounds: tuple[float, float]) -> tuple[list[float], tuple[float, float], float]:
    """A column and its bounds moved so that their middle is zero, and the middle.

    It is public, so that costs nothing, and some libraries add noise in proportion to the larger end of the bounds.
    """
    lower, upper = bounds
    middle = (lower + upper) / 2
    return [value - middle for value in column], (lower - middle, upper - middle), middle


def moved_back(task: Task, means: OfColumn) -> Values:
    """Means of a column, released of the centred one."""
    column, bounds, middle = centred(task.column, task.ends)
    return [value + middle for value in means(task, column, bounds, task.epsilon)]


def _unit(task: Task) -> tuple[list[float], list[float], float, float]:
    """Two columns centred and scaled to [-1/2, 1/2], and their widths."""
    made = []
    for column, (lower, upper) in zip(task.columns.values(), task.bounds.values(), strict=True):
        made.append(([(value - (lower + upper) / 2) / (upper - lower) for value in column], upper - lower))
    (first, wide), (second, high) = made
    return first, second, wide, high


def covariances(task: Task, variances: OfColumn) -> Values:
    """Covariances of two columns where a library has variances alone: (var(x + y) - var(x - y))/4, half of ε each."""
    first, second, wide, high = _unit(task)
    sums = [u + v for u, v in zip(first, second, strict=True)]
    differences = [u - v for u, v in zip(first, second, strict=True)]
    plus, minus = (variances(task, column, (-1.0, 1.0), task.epsilon / 2) for column in (sums, differences))
    return [(p - m) / 4 * wide * high for p, m in zip(plus, minus, strict=True)]


def matrices(task: Task, variances: OfColumn) -> Values:
    """Covariance matrices where a library has variances alone: (var(x + y) - var x - var y)/2, a third of ε each."""
    first, second, wide, high = _unit(task)
    both = [u + v for u, v in zip(first, second, strict=True)]
    asked = ((first, 0.5), (second, 0.5), (both, 1.0))
    found = (variances(task, column, (-end, end), task.epsilon / 3) for column, end in asked)
    made = []
    for a, b, s in zip(*found, strict=True):
        product = (s - a - b) / 2 * wide * high
        made.append([[a * wide**2, product], [product, b * high**2]])
    return made


def built(variances: OfColumn, neighbours: str) -> dict[tuple[str, str], Callable[[Task], Values]]:
    """``BUILT`` of a library that has variances."""
    return {
        ("covariance", neighbours): lambda task: covariances(task, variances),
        ("correlation", neighbours): lambda task: matrices(task, variances),
    }


def add_remove(
    means: OfColumn, variances: OfColumn, histogram: Callable[[Task], Values]
) -> dict[tuple[str, str], Callable[[Task], Values]]:
    """``STATISTICS`` of a library that has means, variances and counts of tables whose rows are not public."""
    offered = {
        "mean": lambda task: moved_back(task, means),
        "proportion": lambda task: moved_back(task, means),
        "variance": lambda task: variances(task, *centred(task.column, task.ends)[:2], task.epsilon),
        "histogram": histogram,
        "means": lambda task: several_means(task, means),
    }
    return {(statistic, "add-remove"): function for statistic, function in offered.items()}


def several_means(task: Task, means: OfColumn) -> Values:
    """Means of several columns, each with an equal share of ε and released of the centred column."""
    parts = []
    for name, values in task.columns.items():
        column, bounds, middle = centred(values, task.bounds[name])
        made = means(task, column, bounds, task.epsilon / len(task.columns))
        parts.append([value + middle for value in made])
    return [list(row) for row in zip(*parts, strict=True)]


def of_a_sample(task: Task, variances: Values) -> Values:
    """Variances whose divisor is n, brought to n - 1 as the other libraries have it."""
    rows = task.nominal or task.rows
    return [rows / (rows - 1) * value for value in variances]
