"""diffprivlib: its `tools`. It takes the number of rows as public, but its histogram adds noise for one record more or
less. It has no intervals."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from unittest import mock

import numpy as np
from bench.peers import Task, Values, covariances
from diffprivlib import tools
from diffprivlib.mechanisms import Laplace, LaplaceBoundedDomain, LaplaceTruncated

PACKAGE = MODULE = "diffprivlib"
warnings.simplefilter("ignore")


def _mean(task: Task) -> Values:
    data = np.array(task.column, dtype=float)
    return [float(tools.mean(data, epsilon=task.epsilon, bounds=task.ends)) for _ in range(task.releases)]


def _variances(task: Task, column: Sequence[float], bounds: tuple[float, float], epsilon: float) -> Values:
    data = np.array(column, dtype=float)
    # The divisor is n: brought to n - 1, as the others have it.
    factor = task.rows / (task.rows - 1)
    return [factor * float(tools.var(data, epsilon=epsilon, bounds=bounds)) for _ in range(task.releases)]


def _variance(task: Task) -> Values:
    return _variances(task, task.column, task.ends, task.epsilon)


def _histogram(task: Task) -> Values:
    data = np.array(task.column)
    keywords = {"epsilon": task.epsilon, "bins": task.levels, "range": (-0.5, task.levels - 0.5)}
    return [tools.histogram(data, **keywords)[0].tolist() for _ in range(task.releases)]


def _covariance(task: Task) -> Values:
    # The covariance of its PCA has, on small tables, many times the error.
    return covariances(task, partial(_variances, task))


STATISTICS = {
    ("mean", "substitute"): _mean,
    ("proportion", "substitute"): _mean,
    ("variance", "substitute"): _variance,
    ("histogram", "add-remove"): _histogram,
    ("covariance", "substitute"): _covariance,
}
INTERVALS = {}


def _exact(task: Task) -> float:
    """From bias and variance as its own mechanism states them, with the numbers that the tool has given it."""
    given = []

    def noted(mechanism, value):
        given.append((mechanism, value))
        return value

    with (
        mock.patch.object(LaplaceBoundedDomain, "randomise", noted),
        mock.patch.object(LaplaceTruncated, "randomise", noted),
    ):
        (published,) = STATISTICS[task.statistic, task.neighbours](replace(task, releases=1))
    ((mechanism, value),) = given
    # What is published is that number, or so many times as much.
    return float((published / value) ** 2 * (mechanism.variance(value) + mechanism.bias(value) ** 2))


EXACT = {(name, "substitute"): _exact for name in ("mean", "variance", "proportion")}


def whole(column: list[float]):
    data = np.array(column)
    return lambda: tools.mean(data, epsilon=1, bounds=(0, 100))


def draw():
    noise = Laplace(epsilon=1.0, sensitivity=1.0)
    return lambda: noise.randomise(0.0)


def many(count: int):
    noise = Laplace(epsilon=1.0, sensitivity=1.0)
    return lambda: [noise.randomise(0.0) for _ in range(count)]
