"""Multiple synthesis, and the interval that ignores the noise: for the studies, and for comparison.

Multiple synthesis releases a share m times with ε/m each and combines the copies. The estimate is the mean q̄ of the
copies. Its variance is T = w̄ + B/m, where w̄ is the mean of the usual variances and B the variance between copies. The
interval is by a t law with (m-1)(1 + m w̄/B)² degrees of freedom (paper, section on statistical inference). This does
not need the law of the noise. `Release.interval` uses that law, and one release with ε usually gives a narrower
interval: see `docs/intervals.md`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from inbounds import _check
from inbounds._check import Figures
from inbounds.inference.result import Interval, describe_statistic, require_release

if TYPE_CHECKING:
    from inbounds.record.release import Release


@dataclass(frozen=True, slots=True)
class Synthesis:
    """Combined copies of a share. Figures are arrays if there are several shares.

    Attributes
    ----------
    value
        The estimate: the mean of the copies.
    interval
        Its confidence interval.
    within, between
        The mean of the variances of the copies, and the variance between copies.
    freedom
        The degrees of freedom of the t law.
    epsilon
        What all copies cost together.
    """

    value: Figures
    interval: Interval
    within: Figures
    between: Figures
    freedom: Figures
    epsilon: float

    def __str__(self) -> str:
        return f"epsilon {self.epsilon:g} in all; {self.interval}"


# claim:synthesis
def combine(releases: Sequence["Release"], level: float = 0.95) -> Synthesis:
    """Combine independent releases of the same share (or shares) of one table.

    If all copies are equal (B = 0), the degrees of freedom are infinite and the interval is normal with T = w̄.

    Parameters
    ----------
    releases
        Two or more releases of the same share, with the same epsilon and method.
    level
        The confidence level.

    Returns
    -------
    Synthesis
        The estimate, its interval and its variances.

    Raises
    ------
    TypeError, ValueError
        If these are not two or more releases of the same share of a public number of records.

    Examples
    --------
    >>> import inbounds as ib
    >>> copies = [ib.proportion([0, 1] * 100, epsilon="1/5") for _ in range(5)]
    >>> synthesis = combine(copies)
    >>> synthesis.epsilon, synthesis.interval.lower <= synthesis.value <= synthesis.interval.upper
    (1.0, True)
    """
    if isinstance(releases, str) or not isinstance(releases, Sequence):
        raise TypeError("releases must be a list of Release")
    copies = [require_release(release, f"releases[{i}]") for i, release in enumerate(releases)]
    if len(copies) < 2 or len({id(copy) for copy in copies}) < len(copies):
        raise ValueError("multiple synthesis needs two or more different releases")
    alike = {(r.statistic, r.terms, r.certificate) for r in copies}
    if len(alike) > 1 or not copies[0].statistic.traits.shares:
        raise ValueError(
            "multiple synthesis combines releases of the same share (or shares) of one table, with the same epsilon "
            "and method"
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
    interval = Interval(lower, upper, _check.level(level), "population", "multiple synthesis", assumption, what, axes)
    return Synthesis(point, interval, within, between, freedom, float(sum(r.certificate.epsilon for r in copies)))


def pool_copies(values: Any, size: int) -> tuple[Any, Any, Any, Any, Any]:
    """The estimate, T, degrees of freedom, w̄ and B, from copies along the first axis."""
    m = len(values)
    point, between = values.mean(axis=0), values.var(axis=0, ddof=1)
    # Shares are in [0, 1], except those that a study derives from others without a repair.
    within = np.maximum(values * (1 - values), 0.0).mean(axis=0) / size
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        freedom = np.where(between > 0, (m - 1) * (1 + m * within / between) ** 2, np.inf)
    return point, within + between / m, freedom, within, between


def t_quantile(level: float, freedom: Any) -> Any:
    """The half-width of the central interval of a t law; of a normal law if the degrees of freedom are infinite."""
    level = _check.level(level)
    many = np.asarray(freedom) > 1e9
    normal = float(scipy.special.ndtri((1 + level) / 2))
    return np.where(many, normal, scipy.special.stdtrit(np.where(many, 1.0, freedom), (1 + level) / 2))


def naive_wald(release: "Release", level: float = 0.95) -> Interval:
    """The interval q ± z √(q(1-q)/n), which ignores the noise. It is for comparison only.

    It covers less often than its level says. Use `Release.interval` instead.

    Parameters
    ----------
    release
        A released share, or shares, of a public number of records.
    level
        The nominal level.

    Returns
    -------
    Interval
        The limits.

    Raises
    ------
    ValueError
        If the release is not a share of a public number of records.

    Examples
    --------
    >>> import inbounds as ib
    >>> naive_wald(ib.proportion([0, 1] * 100, epsilon=1)).method
    'naive Wald'
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
