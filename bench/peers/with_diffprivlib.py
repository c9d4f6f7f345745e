"""diffprivlib: its `tools`, and for covariances its PCA. It takes the number of rows as public, but its histogram adds
noise for one record more or less. It has no intervals."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from unittest import mock

import numpy as np
from bench.peers import Task, Values, built, of_a_sample
from diffprivlib import tools
from diffprivlib.mechanisms import Laplace, LaplaceBoundedDomain, LaplaceTruncated
from diffprivlib.models import PCA, LinearRegression

PACKAGE = MODULE = "diffprivlib"
warnings.simplefilter("ignore")


def _mean(task: Task) -> Values:
    data = np.array(task.column, dtype=float)
    return [float(tools.mean(data, epsilon=task.epsilon, bounds=task.ends)) for _ in range(task.releases)]


def _variances(task: Task, column: Sequence[float], bounds: tuple[float, float], epsilon: float) -> Values:
    data = np.array(column, dtype=float)
    made = [float(tools.var(data, epsilon=epsilon, bounds=bounds)) for _ in range(task.releases)]
    return of_a_sample(task, made)


def _variance(task: Task) -> Values:
    return _variances(task, task.column, task.ends, task.epsilon)


def _median(task: Task) -> Values:
    data = np.array(task.column, dtype=float)
    return [float(tools.median(data, epsilon=task.epsilon, bounds=task.ends)) for _ in range(task.releases)]


def _means(task: Task) -> Values:
    """Of all columns by one call, which shares ε among them."""
    data = np.array(list(task.columns.values()), dtype=float).T
    ends = np.array(list(task.bounds.values()), dtype=float).T
    keywords = {"epsilon": task.epsilon, "bounds": (ends[0], ends[1]), "axis": 0}
    return [tools.mean(data, **keywords).tolist() for _ in range(task.releases)]


def _slope(task: Task) -> Values:
    """Of columns scaled to [-1, 1], which its bounds are then."""
    (first, second), (wide, high) = task.columns.values(), task.bounds.values()
    x, y = (
        (np.array(column, dtype=float) - (low + top) / 2) / ((top - low) / 2)
        for column, (low, top) in ((first, wide), (second, high))
    )
    worth = (high[1] - high[0]) / (wide[1] - wide[0])

    def release() -> float:
        model = LinearRegression(epsilon=task.epsilon, bounds_X=(-1, 1), bounds_y=(-1, 1))
        return float(model.fit(x[:, None], y).coef_.ravel()[0]) * worth

    return [release() for _ in range(task.releases)]


def _histogram(task: Task) -> Values:
    data = np.array(task.column)
    keywords = {"epsilon": task.epsilon, "bins": task.levels, "range": (-0.5, task.levels - 0.5)}
    return [tools.histogram(data, **keywords)[0].tolist() for _ in range(task.releases)]


def _matrix(task: Task) -> Values:
    """The covariance matrix that its PCA is made of, of columns scaled to [-1, 1].

    Rows are clipped to a norm of 1 about the released mean. The whole square would need up to 2.8, at several times the
    error on these tables.
    """
    ends = np.array(list(task.bounds.values()), dtype=float)
    half = (ends[:, 1] - ends[:, 0]) / 2
    unit = (np.array(list(task.columns.values()), dtype=float).T - ends.mean(axis=1)) / half

    def release() -> Values:
        model = PCA(n_components=2, epsilon=task.epsilon, bounds=(-1, 1), data_norm=1.0, svd_solver="full")
        return (model.fit(unit).get_covariance() * np.outer(half, half)).tolist()

    return [release() for _ in range(task.releases)]


STATISTICS = {
    ("mean", "substitute"): _mean,
    ("proportion", "substitute"): _mean,
    ("variance", "substitute"): _variance,
    ("histogram", "add-remove"): _histogram,
    ("covariance", "substitute"): _matrix,
    ("correlation", "substitute"): _matrix,
    ("median", "substitute"): _median,
    ("means", "substitute"): _means,
    ("slope", "substitute"): _slope,
}
BUILT = built(_variances, "substitute")
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
