"""Multiple synthesis, and the interval that ignores the noise: for the studies, and for comparison.

Multiple synthesis releases a share m times at ε/m each and combines the copies: point q̄, variance T = w̄ + B/m with w̄
the mean of the usual variances and B the variance between copies, and a t law with (m-1)(1 + m w̄/B)² degrees of
freedom (paper, section on statistical inference). It needs no law of the noise. `Release.interval` knows that law, and
from one release at ε gives intervals that are usually narrower: see `docs/intervals.md`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from inbounds import _check
from inbounds.inference.result import Interval, describe_statistic, require_release
from inbounds.record.release import Release


@dataclass(frozen=True, slots=True)
class Synthesis:
    """Copies combined: the point, its interval, variances within and between copies, and what all of them cost."""

    value: Any
    interval: Interval
    within: Any
    between: Any
    freedom: Any
    epsilon: float

    def __str__(self) -> str:
        return f"epsilon {self.epsilon:g} in all; {self.interval}"


def combine(releases: Sequence[Release], level: float = 0.95) -> Synthesis:
    """claim:synthesis. Releases of one and the same share (or shares) of one table, made independently.

    Copies that agree exactly (B = 0) have infinitely many degrees of freedom: a normal interval with T = w̄.

    >>> import inbounds as ib
    >>> copies = [ib.proportion([0, 1] * 100, epsilon="1/5") for _ in range(5)]
    >>> made = combine(copies)
    >>> made.epsilon, made.interval.lower <= made.value <= made.interval.upper
    (1.0, True)
    """
    if isinstance(releases, str) or not isinstance(releases, Sequence):
        raise TypeError("releases must be a list of Release, the copies")
    copies = [require_release(release, f"releases[{i}]") for i, release in enumerate(releases)]
    if len(copies) < 2 or len({id(copy) for copy in copies}) < len(copies):
        raise ValueError("multiple synthesis needs two releases or more, each made anew")
    alike = {(r.statistic, r.terms, r.certificate) for r in copies}
    if len(alike) > 1 or not copies[0].statistic.traits.shares:
        raise ValueError(
            "multiple synthesis combines releases of one and the same share (or shares) of one table, at the same "
            "epsilon and by the same method"
        )
    size = copies[0].size
    if size is None:
        raise ValueError("multiple synthesis needs a public number of records")
    values = np.array([np.asarray(release.value, float) for release in copies])
    point, variance, freedom, within, between = pool_copies(values, size)
    half = t_quantile(level, freedom) * np.sqrt(variance)
    lower, upper = np.clip(point - half, 0, 1), np.clip(point + half, 0, 1)
    figures: list[Any] = [point, lower, upper, within, between, freedom]
    if not copies[0].axes:
        figures = [float(x) for x in figures]
    point, lower, upper, within, between, freedom = figures
    assumption = "records are independent draws from the population; copies and sample are near to normal"
    what, axes = describe_statistic(copies[0]), copies[0].axes
    made = Interval(lower, upper, _check.level(level), "population", "multiple synthesis", assumption, what, axes)
    return Synthesis(point, made, within, between, freedom, float(sum(r.certificate.epsilon for r in copies)))


def pool_copies(values: Any, size: int) -> tuple[Any, Any, Any, Any, Any]:
    """Point, T, degrees of freedom, w̄ and B from copies along the first axis."""
    m = len(values)
    point, between = values.mean(axis=0), values.var(axis=0, ddof=1)
    # Shares are within [0, 1] but for those that a study derives from others and leaves as they fall.
    within = np.maximum(values * (1 - values), 0.0).mean(axis=0) / size
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        freedom = np.where(between > 0, (m - 1) * (1 + m * within / between) ** 2, np.inf)
    return point, within + between / m, freedom, within, between


def t_quantile(level: float, freedom: Any) -> Any:
    """The half-width of a t law's middle ``level``, normal for infinitely many degrees of freedom."""
    level = _check.level(level)
    many = np.asarray(freedom) > 1e9
    normal = float(scipy.special.ndtri((1 + level) / 2))
    return np.where(many, normal, scipy.special.stdtrit(np.where(many, 1.0, freedom), (1 + level) / 2))


def naive_wald(release: Release, level: float = 0.95) -> Interval:
    """The interval q ± z √(q(1-q)/n), which takes the released share for the sample's: it ignores the noise.

    For the studies. It does not cover; `Release.interval` does.
    """
    size = require_release(release, "release").size
    if not release.statistic.traits.shares or size is None:
        raise ValueError("the naive Wald interval is for shares of a public number of records")
    value = np.asarray(release.value, float)
    half = t_quantile(level, math.inf) * np.sqrt(value * (1 - value) / size)
    lower, upper = value - half, value + half
    if not release.axes:
        lower, upper = float(lower), float(upper)
    assumption = "there is no noise, which is not so, and the sample is large"
    what = describe_statistic(release)
    return Interval(lower, upper, _check.level(level), "population", "naive Wald", assumption, what, release.axes)
