"""inbounds itself, by its one-liners."""

from fractions import Fraction

import numpy as np
from bench.peers import Task, Values

import inbounds as ib
from inbounds.inference.regression import regression
from inbounds.plan.draws import make_group
from inbounds.privacy.terms import Terms
from inbounds.road.draw import draw as draw_from
from inbounds.road.draw import take
from inbounds.road.run import Opened, check_columns
from inbounds.tables.engine import tally
from inbounds.tables.sources import read

PACKAGE, MODULE = "inbounds", "inbounds"


def _released(task: Task, column: np.ndarray) -> ib.Release:
    keywords = {"epsilon": str(task.epsilon), "neighbours": task.neighbours}
    match task.statistic:
        case "mean":
            return ib.mean(column, bounds=task.ends, **keywords)
        case "median":
            # As many candidates as OpenDP gets.
            step = (Fraction(task.ends[1]) - Fraction(task.ends[0])) / 1000
            return ib.median(column, bounds=task.ends, step=step, **keywords)
        case "variance":
            return ib.variance(column, bounds=task.ends, **keywords)
        case "proportion":
            return ib.proportion(column, level=1, **keywords)
        case "histogram":
            return ib.histogram(column, levels=list(range(task.levels)), **keywords)
    raise ValueError(task.statistic)


def _column(task: Task, values: list[float]) -> np.ndarray:
    return np.array(values, dtype=int if task.statistic in ("proportion", "histogram") else float)


def _one_column(task: Task) -> Values:
    column = _column(task, task.column)
    return [np.asarray(_released(task, column).value).tolist() for _ in range(task.releases)]


def _matrix(task: Task) -> Values:
    table = {name: np.array(column) for name, column in task.columns.items()}
    function = getattr(ib, task.statistic)
    keywords = {"bounds": task.bounds, "epsilon": str(task.epsilon), "neighbours": task.neighbours}
    # A correlation that is not available counts as 0.
    return [np.ma.filled(function(table, **keywords).value, 0.0).tolist() for _ in range(task.releases)]


def _means(task: Task) -> Values:
    """All columns of a plan, in its one draw; where rows are protected, one by one."""
    table = {name: np.array(column, dtype=float) for name, column in task.columns.items()}
    if task.neighbours == "add-remove":
        keywords = {"epsilon": Fraction(str(task.epsilon)) / len(table), "neighbours": "add-remove"}
        return [
            [ib.mean(table, name, bounds=ends, **keywords).value for name, ends in task.bounds.items()]
            for _ in range(task.releases)
        ]
    asked = {
        name: (ib.Mean(name, ends), Terms.of(Fraction(str(task.epsilon)) / len(table), rows=task.rows))
        for name, ends in task.bounds.items()
    }
    drafts = make_group(list(asked), asked).draft()
    frame = read(table, drafts[0].columns)
    check_columns(Opened(frame), drafts[0].columns, drafts[0].terms)
    cells = list(tally(frame, list(drafts[0].requests)))
    made = (draw_from(drafts[0], cells) for _ in range(task.releases))
    return [[float(take(one, draft).value) for draft in drafts] for one in made]


def _slope(task: Task) -> Values:
    """From the moments of both columns, as a regression has it."""
    table = {name: np.array(column, dtype=float) for name, column in task.columns.items()}
    first, second = table
    keywords = {"bounds": task.bounds, "epsilon": str(task.epsilon), "neighbours": task.neighbours}
    made = (ib.moments(table, **keywords) for _ in range(task.releases))
    return [float(regression(one, second, [first]).coefficients[0]) for one in made]


def _unbiased(task: Task) -> Values:
    table = {name: _column(task, column) for name, column in task.columns.items()}
    if task.statistic in ("covariance", "correlation"):
        keywords = {"bounds": task.bounds, "epsilon": str(task.epsilon), "neighbours": task.neighbours}
        made = (getattr(ib, task.statistic)(table, **keywords) for _ in range(task.releases))
    else:
        made = (_released(task, next(iter(table.values()))) for _ in range(task.releases))
    return [np.asarray(one.estimate()).tolist() for one in made]


def _exact(task: Task) -> float:
    release = _released(task, _column(task, task.column))
    law, (unit,) = release.mechanism, release.units
    truth = np.var(task.column, ddof=1) if task.statistic == "variance" else np.mean(task.column)
    at = round((truth / float(unit) - float(law.origin)) / float(law.step))
    return float(law.mse(at).upper * unit**2)


def _intervals(task: Task, tables: list[list[float]], kind: str) -> Values:
    made = []
    for values in tables:
        release = _released(task, _column(task, values))
        found = release.interval(0.95, kind=kind)
        made.append([np.ravel(one)[0].item() for one in (release.value, found.lower, found.upper)])
    return made


_ONE, _TWO = ("mean", "variance", "proportion", "histogram"), ("covariance", "correlation")
_NEIGHBOURS = ("substitute", "add-remove")
STATISTICS = {(name, n): _one_column for name in _ONE for n in _NEIGHBOURS}
STATISTICS |= {(name, n): _matrix for name in _TWO for n in _NEIGHBOURS}
STATISTICS |= {
    (name, n): function for name, function in (("median", _one_column), ("means", _means)) for n in _NEIGHBOURS
}
STATISTICS["slope", "substitute"] = _slope
UNBIASED = {(name, n): _unbiased for name in (*_ONE, *_TWO) for n in _NEIGHBOURS}
INTERVALS = {(name, n): _intervals for name in _ONE for n in _NEIGHBOURS}
EXACT = {(name, "substitute"): _exact for name in ("mean", "variance", "proportion")}


def whole(column: list[float]):
    data = np.array(column)
    return lambda: ib.mean(data, bounds=(0, 100), epsilon=1)


def draw():
    from fractions import Fraction

    from inbounds.grid.entropy import SYSTEM
    from inbounds.grid.geometric import laplace_one
    from inbounds.grid.scale import Scale

    scale = Scale.at_least(Fraction(1 << 20))
    return lambda: laplace_one(scale, SYSTEM)


def many(count: int):
    from fractions import Fraction

    from inbounds.grid import sampler
    from inbounds.grid.entropy import SYSTEM
    from inbounds.grid.scale import Scale

    scale = Scale.at_least(Fraction(1 << 20))
    return lambda: sampler.laplace(scale, SYSTEM, count)
