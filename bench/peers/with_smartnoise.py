"""SmartNoise SQL: add-remove, private SQL on a pandas frame.

It charges ε for each noisy sum or count behind a column, and says how many: the ε it is given is the total over that.
Many releases come from one query with a group for each: every group has the whole table and its own noise.
"""

import numpy as np
import pandas as pd
from bench.peers import Task, Values, add_remove, built, of_a_sample
from snsql import Privacy, from_df

PACKAGE, MODULE = "smartnoise-sql", "snsql"


def _reader(frame: pd.DataFrame, bounds: tuple[float, float], epsilon: float, *, clamped: bool = True):
    lower, upper = bounds
    table = {
        "row_privacy": True,
        "censor_dims": False,
        # Counts below zero become zero: an option that is off by default, and free.
        "clamp_counts": clamped,
        "rows": len(frame),
        "x": {"type": "float", "lower": lower, "upper": upper},
        "level": {"type": "int"},
        "replicate": {"type": "int"},
    }
    return from_df(frame, privacy=Privacy(epsilon=epsilon, delta=1e-6), metadata={"": {"s": {"t": table}}})


def _grouped(sql: str, frame: pd.DataFrame, bounds: tuple[float, float], epsilon: float, *, clamped: bool = True):
    cost, _ = _reader(frame.head(1), bounds, epsilon).get_privacy_cost(sql)
    return _reader(frame, bounds, epsilon * epsilon / float(cost), clamped=clamped).execute(sql)[1:]


def _replicated(column, releases: int, name: str) -> pd.DataFrame:
    data = {"replicate": np.repeat(np.arange(releases), len(column)), "x": 0.0, "level": 0}
    return pd.DataFrame(data | {name: np.tile(np.asarray(column), releases)})


def _aggregate(function: str, column, bounds: tuple[float, float], epsilon: float, releases: int) -> Values:
    sql = f"SELECT replicate, {function}(x) AS a FROM s.t GROUP BY replicate ORDER BY replicate"
    rows = _grouped(sql, _replicated(column, releases, "x"), bounds, epsilon)
    return [float("nan") if row[1] is None else float(row[1]) for row in rows]


def _means(task: Task, column, bounds: tuple[float, float], epsilon: float) -> Values:
    return _aggregate("AVG", column, bounds, epsilon, task.releases)


def _variances(task: Task, column, bounds: tuple[float, float], epsilon: float) -> Values:
    return of_a_sample(task, _aggregate("VAR", column, bounds, epsilon, task.releases))


def _histogram(task: Task) -> Values:
    """A level that nobody has would get no group, and its absence would tell that. So that no count depends on more
    than its noise, each level gets a record that is made, which is taken off again."""
    levels = [*range(task.levels), *(int(v) for v in task.column)]
    sql = "SELECT replicate, level, COUNT(*) AS n FROM s.t GROUP BY replicate, level"
    found = np.zeros((task.releases, task.levels))
    for replicate, level, count in _grouped(sql, _replicated(levels, task.releases, "level"), task.ends, task.epsilon):
        found[int(replicate), int(level)] = max(count - 1, 0)
    return found.tolist()


STATISTICS = add_remove(_means, _variances, _histogram)
BUILT = built(_variances, "add-remove")


def _intervals(task: Task, tables: list[list[float]], kind: str) -> Values | None:
    if kind != "noise":
        return None
    made = []
    sql = "SELECT COUNT(*) AS n FROM s.t"
    frame = pd.DataFrame({"replicate": 0, "x": 0.0, "level": 0}, index=range(1))
    accuracy = _reader(frame, task.ends, task.epsilon).get_simple_accuracy(sql, 0.05)[0]
    counts = [sum(v == 0 for v in table) for table in tables]
    data = pd.DataFrame({"replicate": np.repeat(np.arange(len(tables)), counts), "x": 0.0, "level": 0})
    grouped = "SELECT replicate, COUNT(*) AS n FROM s.t GROUP BY replicate"
    # A table that has no such record has no group.
    found = dict(_grouped(grouped, data, task.ends, task.epsilon, clamped=False))
    for i in range(len(tables)):
        value = found.get(i, 0)
        made.append([value, value - accuracy, value + accuracy])
    return made


INTERVALS = {("histogram", "add-remove"): _intervals}


def whole(column: list[float]):
    frame = pd.DataFrame({"replicate": 0, "x": np.array(column), "level": 0})
    reader = _reader(frame, (0.0, 100.0), 0.5)
    return lambda: reader.execute("SELECT AVG(x) AS a FROM s.t")


def draw():
    from snsql.sql._mechanisms.laplace import Laplace

    noise = Laplace(1.0, sensitivity=1.0)
    return lambda: noise.release([0.0])


def many(count: int):
    from snsql.sql._mechanisms.laplace import Laplace

    noise = Laplace(1.0, sensitivity=1.0)
    values = [0.0] * count
    return lambda: noise.release(values)
