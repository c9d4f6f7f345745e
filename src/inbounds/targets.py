"""Find the ε or the number of records that a given error needs, and share a budget among statistics."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy

from inbounds import _check
from inbounds._check import Array
from inbounds._keywords import explain_making, explain_use
from inbounds._text import visible
from inbounds._types import Number
from inbounds.forecasts.forecast import forecast_errors, typical_error
from inbounds.forecasts.preview import Option
from inbounds.forecasts.wanted import Wanted, require_wanted, resize
from inbounds.inference.result import KINDS
from inbounds.tables.schema import DataError

__all__ = ["Target", "Wanted", "least_epsilon", "least_rows", "share_budget"]

# A statistic as it is handed over, in messages.
_EXAMPLE = "Wanted('mean', {'bounds': (0, 100), 'rows': 1000})"
_MOST_EPSILON, _LEAST_EPSILON = 1e5, 1e-6
_MOST_ROWS = 2**31
# Shares of a budget are rounded to a millionth of it.
_PARTS = 10**6


@explain_making("Target(half_width=1)")
@dataclass(frozen=True, slots=True)
class Target:
    """The error that a release should have: an RMSE or a half-width, typical or worst.

    Parameters
    ----------
    rmse
        The root mean squared error. Give either this or ``half_width``.
    half_width
        The half-width.
    worst
        Whether the error is the worst case over the plausible range.
    kind
        ``"noise"`` for the statistic of the table, ``"population"`` to include the sampling error. The latter needs
        ``half_width``, and cannot be combined with ``worst``.

    Raises
    ------
    TypeError, ValueError
        If not exactly one of ``rmse`` and ``half_width`` is given, or arguments cannot be combined.
    """

    rmse: float | None = None
    half_width: float | None = None
    worst: bool = False
    kind: str = "noise"

    def __post_init__(self) -> None:
        if (self.rmse is None) == (self.half_width is None):
            raise TypeError("give either rmse= or half_width=, the error to reach")
        for name in ("rmse", "half_width"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _check.positive(getattr(self, name), name))
        if not isinstance(self.worst, bool):
            raise TypeError(f"worst must be True or False, got {_check.shown(self.worst)}")
        _check.choice(self.kind, "kind", KINDS)
        if self.kind == "population" and (self.rmse is not None or self.worst):
            raise ValueError("kind='population' needs half_width=, and cannot be combined with worst=True")

    @property
    def wanted(self) -> float:
        """The figure to reach."""
        return float(self.rmse if self.rmse is not None else self.half_width or 0.0)

    def meets(self, error: float) -> bool:
        """Whether an error is small enough. A tiny tolerance makes the answer the same on every processor."""
        return error <= self.wanted * (1 + 1e-9)

    def reached(self, wanted: Wanted) -> float:
        """The error of a release, in the same figure as the target."""
        if self.kind == "population":
            record = wanted.draft().record
            return float(np.max(Option(wanted, record, forecast_errors(wanted, record)).half_width()))
        forecast = forecast_errors(wanted)
        if self.rmse is not None:
            return forecast.worst if self.worst else forecast.typical
        return float(np.max(forecast.worst_half_width)) if self.worst else forecast.reach


# claim:least-epsilon
@explain_use(f"least_epsilon({_EXAMPLE}, Target(half_width=1))")
def least_epsilon(wanted: Wanted, target: Target) -> float:
    """The smallest ε with which a release reaches a target, rounded up to three digits.

    Parameters
    ----------
    wanted
        The statistic and its keywords. Its ``epsilon`` is replaced.
    target
        The error to reach.

    Returns
    -------
    float
        The smallest ε.

    Raises
    ------
    ValueError
        If no ε reaches the target.

    Examples
    --------
    >>> wanted = Wanted("proportion", {"rows": 1000, "epsilon": 1})
    >>> least_epsilon(wanted, Target(half_width=0.01))
    0.285
    """

    require_wanted(wanted)
    _require_target(target)

    def enough(epsilon: float) -> bool:
        return target.meets(target.reached(wanted.but(epsilon=epsilon)))

    if not enough(_MOST_EPSILON):
        limit = target.reached(wanted.but(epsilon=_MOST_EPSILON))
        raise ValueError(
            f"no epsilon reaches {target.wanted:g}: the error is {limit:.4g} even without noise; use more rows"
            if target.kind == "population"
            else f"no epsilon up to {_MOST_EPSILON:g} reaches {target.wanted:g}: the error is still {limit:.4g}"
        )
    low, high = math.log(_LEAST_EPSILON), math.log(_MOST_EPSILON)
    if enough(_LEAST_EPSILON):
        return _LEAST_EPSILON
    while high - low > 2e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(math.exp(middle)) else (middle, high)
    return _round_up(math.exp(high), enough)


def _round_up(epsilon: float, enough: Callable[[float], bool]) -> float:
    """Round ε up to three digits, and further if a simulated error is not monotone."""
    digit = 10.0 ** (math.floor(math.log10(epsilon)) - 2)
    steps = math.ceil(epsilon / digit - 1e-9)
    while not enough(float(f"{steps * digit:.6g}")):
        steps += 1
    return float(f"{steps * digit:.6g}")


@explain_use("least_rows(Wanted('mean', {'bounds': (0, 100), 'epsilon': 1}), Target(half_width=1))")
def least_rows(wanted: Wanted, target: Target) -> int:
    """The smallest number of rows with which a release reaches a target at its ε.

    Parameters
    ----------
    wanted
        The statistic and its keywords. Its ``rows`` or ``expected_rows`` are replaced.
    target
        The error to reach.

    Returns
    -------
    int
        The smallest number of rows.

    Raises
    ------
    ValueError
        If no number of rows up to 2^31 reaches the target, or ``sizes`` is given.

    Examples
    --------
    >>> wanted = Wanted("proportion", {"epsilon": 1})
    >>> 100 < least_rows(wanted, Target(half_width=0.01)) < 1000
    True
    """
    require_wanted(wanted)
    _require_target(target)
    if wanted.keywords.get("sizes") is not None:
        raise ValueError("sizes= fixes the number of rows; leave it out to find how many rows are needed")

    def error_of(rows: int) -> float:
        try:
            return target.reached(resize(wanted, rows))
        except DataError:
            # Fewer rows than the statistic needs.
            return math.inf

    low, high = 0, 1
    while not target.meets(error_of(high)):
        if high >= _MOST_ROWS:
            raise ValueError(
                f"no number of rows up to 2^31 reaches {target.wanted:g} at this epsilon: the error is still "
                f"{error_of(high):.4g}. The error of counts, sums and fixed denominators does not depend on the number "
                "of rows; use a larger epsilon"
            )
        low, high = high, min(4 * high, _MOST_ROWS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if target.meets(error_of(middle)) else (middle, high)
    return high


def _require_target(value: Any) -> None:
    if not isinstance(value, Target):
        raise TypeError(f"target must be Target(rmse=...) or Target(half_width=...), got {_check.shown(value)}")


@dataclass(frozen=True, slots=True)
class Shared:
    """A budget shared among statistics. Print it for a table.

    Attributes
    ----------
    wanted
        The statistics.
    epsilons
        The ε of each. They add up to the budget.
    rmse
        The typical RMSE of each.
    equal_rmse
        The typical RMSE of each with equal shares.
    weights
        The weight of each.
    """

    wanted: tuple[Wanted, ...]
    epsilons: tuple[Fraction, ...]
    rmse: tuple[float, ...]
    equal_rmse: tuple[float, ...]
    weights: tuple[float, ...]

    @property
    def total(self) -> float:
        """The weighted sum of the RMSEs. It is at most `equal_total`."""
        return float(np.dot(self.weights, self.rmse))

    @property
    def equal_total(self) -> float:
        """The weighted sum of the RMSEs with equal shares."""
        return float(np.dot(self.weights, self.equal_rmse))

    def __str__(self) -> str:
        titles = [visible(request.but(epsilon=1).draft().record.title) for request in self.wanted]
        wide = max(map(len, titles))
        lines = [f"{'':{wide}s} {'epsilon':>9s} {'RMSE':>10s} {'RMSE if equal':>14s} {'weight':>9s}"]
        for title, epsilon, rmse, equal, weight in zip(
            titles, self.epsilons, self.rmse, self.equal_rmse, self.weights, strict=True
        ):
            lines.append(f"{title:{wide}s} {float(epsilon):9.4g} {rmse:10.4g} {equal:14.4g} {weight:9.3g}")
        gain = 1 - self.total / self.equal_total if self.equal_total > 0 else 0.0
        return "\n".join(
            [*lines, f"weighted total {self.total:.4g}, equal shares {self.equal_total:.4g}: {gain:.0%} less"]
        )


# claim:share-budget
@explain_use(f"share_budget([{_EXAMPLE}, ...], 1)")
def share_budget(wanted: Sequence[Wanted], epsilon: Number, weights: Sequence[float] | None = None) -> Shared:
    """The shares of ε that make the weighted sum of typical RMSEs as small as possible.

    Errors stop growing once noise fills the bounds, so the best split may give some statistic almost nothing. All
    splits of ε into equal pieces are tried first (by dynamic programming), and the best is refined.

    Parameters
    ----------
    wanted
        The statistics and their keywords. Their ``epsilon`` is replaced.
    epsilon
        The budget.
    weights
        The weight of the error of each statistic. By default errors are relative to the width of the bounds.

    Returns
    -------
    Shared
        The ε of each statistic and the errors.

    Raises
    ------
    TypeError, ValueError
        If an argument is not valid, or the statistics differ in ``neighbours`` or ``contributions``.

    Examples
    --------
    >>> wanted = [Wanted("proportion", {"rows": 1000}), Wanted("mean", {"rows": 1000, "bounds": (0, 100)})]
    >>> shared = share_budget(wanted, 1)
    >>> sum(shared.epsilons), shared.total <= shared.equal_total
    (Fraction(1, 1), True)
    """
    if isinstance(wanted, Wanted | str) or not isinstance(wanted, Sequence):
        raise TypeError("wanted must be a list of Wanted, the statistics that share the budget")
    requests = tuple(require_wanted(request, f"wanted[{i}]") for i, request in enumerate(wanted))
    budget = _check.fraction(epsilon, "epsilon")
    if not requests:
        raise ValueError("wanted must hold one statistic or more")
    if not budget > 0:
        raise ValueError(f"epsilon must be > 0, got {_check.shown(epsilon)}")
    _require_one_guarantee([request.but(epsilon=budget) for request in requests])
    worth = _weights([request.but(epsilon=budget) for request in requests], weights)
    grid = np.geomspace(1e-4, 1.0, 33)
    curves = np.array([[_typical(request, budget * Fraction(float(x))) for x in grid] for request in requests])
    # Errors that are zero apart from rounding must not decide anything.
    costs = np.maximum(curves * worth[:, None], 1e-12 * (curves * worth[:, None]).max() + 1e-300)
    best = _best_shares(costs, grid)
    size = len(requests)
    equal = [budget / size] * size
    equal_rmse = [_typical(request, budget / size) for request in requests]
    epsilons = [budget * Fraction(int(x * _PARTS), _PARTS) for x in best]
    # The remainder of rounding is added to the largest share.
    epsilons[int(np.argmax(best))] += budget - sum(epsilons, start=Fraction(0))
    rmse = [_typical(request, share) for request, share in zip(requests, epsilons, strict=True)]
    if worth @ rmse > worth @ equal_rmse:
        epsilons, rmse = equal, equal_rmse
    return Shared(requests, tuple(epsilons), tuple(rmse), tuple(equal_rmse), tuple(map(float, worth)))


def _require_one_guarantee(requests: Sequence[Wanted]) -> None:
    """Refuse to add up the ε of different guarantees."""
    records = [request.draft().record for request in requests]
    for name in ("neighbours", "contributions", "person"):
        values = {record.terms.unit.persons if name == "person" else getattr(record, name) for record in records}
        if len(values) > 1:
            raise ValueError(
                f"the statistics differ in {name}=, so their epsilons do not add up to one guarantee; give all of them "
                "the same"
            )


def _typical(request: Wanted, epsilon: Fraction) -> float:
    return typical_error(request.but(epsilon=epsilon))


def _weights(requests: Sequence[Wanted], weights: Sequence[float] | None) -> Array:
    if weights is None:
        return np.array([1 / _width(request) for request in requests])
    numbers = _check.array(list(weights), "weights")
    if numbers.shape != (len(requests),) or not (numbers > 0).all() or numbers.max() / numbers.min() > 1e12:
        raise ValueError(f"weights must be {len(requests)} numbers > 0, one for each statistic, within a factor 1e12")
    return numbers


def _width(request: Wanted) -> float:
    """The width of the range of a statistic: that of its bounds, or the number of records if it has none."""
    record = request.draft().record
    if record.statistic.traits.unit_diagonal:
        return 2.0
    if record.statistic.traits.shares:
        return 1.0
    widths = [upper - lower for lower, upper in record.limits_of_coordinates()]
    width = float(np.sqrt(np.mean(np.square(widths))))
    _, width = record.derivation.span(0.0, width)
    return width if math.isfinite(width) else float(request.size or 1)


def _best_shares(costs: Array, grid: Array) -> Array:
    """Shares that sum to one and minimise the total cost. Costs are interpolated between the points of a grid."""
    size = len(costs)

    def cost(i: int, share: Any) -> Any:
        return np.exp(np.interp(np.log(share), np.log(grid), np.log(costs[i])))

    def total(shares: Array) -> float:
        return float(sum(cost(i, share) for i, share in enumerate(shares)))

    starts = [np.full(size, 1 / size), _deal_out(cost, size)]
    rates = np.sqrt(costs[:, len(grid) // 2])
    starts.append(np.maximum(rates / rates.sum(), 1e-4))
    best = min((_refine(total, start) for start in starts), key=total)
    return best if total(best) <= total(starts[0]) else starts[0]


def _deal_out(cost: Callable[[int, Any], Any], size: int) -> Array:
    """The best split into equal pieces, with at least one for each statistic, by dynamic programming."""
    pieces = max(200, 6 * size)
    single = np.array([cost(i, np.arange(1, pieces + 1) / pieces) for i in range(size)])
    best = np.full(pieces + 1, math.inf)
    best[0] = 0.0
    choices = np.zeros((size, pieces + 1), dtype=int)
    left, take = np.meshgrid(np.arange(pieces + 1), np.arange(1, pieces + 1), indexing="ij")
    for i in range(size):
        totals = np.where(take <= left, best[np.maximum(left - take, 0)] + single[i][take - 1], math.inf)
        choices[i] = totals.argmin(axis=1) + 1
        best = totals.min(axis=1)
    shares, rest = np.zeros(size), pieces
    for i in reversed(range(size)):
        shares[i] = choices[i, rest]
        rest -= choices[i, rest]
    return shares / pieces


def _refine(total: Callable[[Array], float], start: Array) -> Array:
    """Improve a split by a local search in the logarithms of shares."""
    if len(start) == 1:
        return start

    def shares(logs: Array) -> Array:
        powers = np.exp(logs - logs.max())
        return np.asarray(np.maximum(powers / powers.sum(), 1e-4))

    minimize: Any = scipy.optimize.minimize
    refined = shares(minimize(lambda logs: total(shares(logs)), np.log(start), method="L-BFGS-B").x)
    refined = refined / refined.sum()
    return refined if total(refined) <= total(start) else start
