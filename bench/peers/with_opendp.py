"""OpenDP: its chained constructors. Means and variances want a public number of rows; under add-remove a mean is a
noisy sum over a noisy count, half of ε each. Scales come from its own search, intervals from its accuracy functions."""

from collections.abc import Sequence

import numpy as np
import opendp.prelude as dp
from bench.peers import Task, Values, built, moved_back

PACKAGE = MODULE = "opendp"
dp.enable_features("contrib", "idealized-numerics")

# Under the symmetric distance a substituted record is one removed and one added.
DISTANCE = {"substitute": 2, "add-remove": 1}


def _numbers(bounds: tuple[float, float], size: int | None):
    return dp.vector_domain(dp.atom_domain(bounds=bounds, nan=False), size=size), dp.symmetric_distance()


def _levels(levels: int):
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    return space >> dp.t.then_count_by_categories(categories=list(range(levels)), null_category=False)


def _chain(task: Task, bounds: tuple[float, float]):
    if task.statistic == "histogram":
        return _levels(task.levels)
    space = _numbers(bounds, task.rows)
    return space >> (dp.t.then_mean() if task.statistic in ("mean", "proportion") else dp.t.then_variance())


def _noisy(chain, epsilon: float, distance: int):
    scale = dp.binary_search_param(lambda s: chain >> dp.m.then_laplace(scale=s), d_in=distance, d_out=epsilon, T=float)
    return chain >> dp.m.then_laplace(scale=scale), scale


def _many(task: Task, column: Sequence[float], bounds: tuple[float, float], epsilon: float) -> Values:
    measurement, _ = _noisy(_chain(task, bounds), epsilon, DISTANCE[task.neighbours])
    data = [int(v) for v in column] if task.statistic == "histogram" else list(column)
    return [measurement(data) for _ in range(task.releases)]


def _one_column(task: Task) -> Values:
    return _many(task, task.column, task.ends, task.epsilon)


def _means(task: Task, column: Sequence[float], bounds: tuple[float, float], epsilon: float) -> Values:
    sums, _ = _noisy(_numbers(bounds, None) >> dp.t.then_sum(), epsilon / 2, 1)
    counts, _ = _noisy(_numbers(bounds, None) >> dp.t.then_count(), epsilon / 2, 1)
    data = list(column)
    return [sums(data) / max(1, counts(data)) for _ in range(task.releases)]


def _mean_of_unknown_rows(task: Task) -> Values:
    return moved_back(task, _means)


def _median(task: Task) -> Values:
    """By scores of 1,000 candidates; the noise of its own search."""
    lower, upper = task.ends
    space = _numbers(task.ends, task.rows if task.neighbours == "substitute" else None)
    candidates = np.linspace(lower, upper, 1001).tolist()

    def made(scale: float):
        return space >> dp.m.then_private_quantile(dp.max_divergence(), candidates, 0.5, scale)

    scale = dp.binary_search_param(made, d_in=DISTANCE[task.neighbours], d_out=task.epsilon, T=float)
    measurement, data = made(scale), [float(v) for v in task.column]
    return [measurement(data) for _ in range(task.releases)]


def _means_of_several(task: Task) -> Values:
    """Each with an equal share of ε."""
    parts = []
    for name, column in task.columns.items():
        lower, upper = task.bounds[name]
        space = _numbers((float(lower), float(upper)), task.rows)
        measurement, _ = _noisy(space >> dp.t.then_mean(), task.epsilon / len(task.columns), 2)
        data = [float(v) for v in column]
        parts.append([measurement(data) for _ in range(task.releases)])
    return [list(row) for row in zip(*parts, strict=True)]


STATISTICS = {(name, "substitute"): _one_column for name in ("mean", "proportion", "variance", "histogram")}
STATISTICS |= {
    ("histogram", "add-remove"): _one_column,
    ("mean", "add-remove"): _mean_of_unknown_rows,
    ("proportion", "add-remove"): _mean_of_unknown_rows,
    ("median", "substitute"): _median,
    ("median", "add-remove"): _median,
    ("means", "substitute"): _means_of_several,
}
BUILT = built(_many, "substitute")


def _intervals(task: Task, tables: list[list[float]], kind: str) -> Values | None:
    if kind != "noise":
        return None
    measurement, scale = _noisy(_chain(task, task.ends), task.epsilon, DISTANCE[task.neighbours])
    discrete = task.statistic == "histogram"
    accuracy = (dp.discrete_laplacian_scale_to_accuracy if discrete else dp.laplacian_scale_to_accuracy)(scale, 0.05)
    made = []
    for table in tables:
        value = measurement([int(v) for v in table] if discrete else table)
        value = value[0] if discrete else value
        made.append([value, value - accuracy, value + accuracy])
    return made


INTERVALS = {(name, "substitute"): _intervals for name in ("mean", "proportion", "variance", "histogram")}
INTERVALS[("histogram", "add-remove")] = _intervals


def whole(column: list[float]):
    data = np.array(column)
    measurement, _ = _noisy(_numbers((0.0, 100.0), len(column)) >> dp.t.then_mean(), 1.0, 2)
    return lambda: measurement(data)


def draw():
    noise = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)
    return lambda: noise(0.0)


def many(count: int):
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    noise = dp.m.make_laplace(*space, scale=1.0)
    values = [0.0] * count
    return lambda: noise(values)
