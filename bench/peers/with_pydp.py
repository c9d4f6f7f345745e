"""PyDP, the Python side of Google's C++ library: add-remove, each statistic an object. Its intervals come from the
Laplace mechanism; those of its algorithms raise a TypeError in this version."""

from bench.peers import Task, Values, add_remove, built, of_a_sample
from pydp.algorithms.laplacian import BoundedMean, BoundedVariance, Count
from pydp.algorithms.numerical_mechanisms import LaplaceMechanism

PACKAGE, MODULE = "python-dp", "pydp"


def _bounded(kind, column, bounds: tuple[float, float], epsilon: float, releases: int) -> Values:
    lower, upper = bounds
    algorithm = kind(epsilon=epsilon, lower_bound=lower, upper_bound=upper, dtype="float")
    column = [float(v) for v in column]
    return [algorithm.quick_result(column) for _ in range(releases)]


def _means(task: Task, column, bounds: tuple[float, float], epsilon: float) -> Values:
    return _bounded(BoundedMean, column, bounds, epsilon, task.releases)


def _variances(task: Task, column, bounds: tuple[float, float], epsilon: float) -> Values:
    return of_a_sample(task, _bounded(BoundedVariance, column, bounds, epsilon, task.releases))


def _histogram(task: Task) -> Values:
    cells = [[1] * sum(v == level for v in task.column) for level in range(task.levels)]
    counter = Count(epsilon=task.epsilon, dtype="int")
    return [[counter.quick_result(cell) for cell in cells] for _ in range(task.releases)]


STATISTICS = add_remove(_means, _variances, _histogram)
BUILT = built(_variances, "add-remove")


def _intervals(task: Task, tables: list[list[float]], kind: str) -> Values | None:
    if kind != "noise":
        return None
    mechanism = LaplaceMechanism(epsilon=task.epsilon, sensitivity=1.0)
    made = []
    for table in tables:
        # As a float: whole numbers are rounded after the noise, which its interval does not allow for.
        value = mechanism.add_noise(float(sum(v == 0 for v in table)))
        ends = mechanism.noise_confidence_interval(0.95, value)
        made.append([value, ends.lower_bound, ends.upper_bound])
    return made


INTERVALS = {("histogram", "add-remove"): _intervals}


def whole(column: list[float]):
    algorithm = BoundedMean(epsilon=1.0, lower_bound=0.0, upper_bound=100.0, dtype="float")
    return lambda: algorithm.quick_result(column)


def draw():
    noise = LaplaceMechanism(epsilon=1.0, sensitivity=1.0)
    return lambda: noise.add_noise(0.0)


def many(count: int):
    noise = LaplaceMechanism(epsilon=1.0, sensitivity=1.0)
    return lambda: [noise.add_noise(0.0) for _ in range(count)]
