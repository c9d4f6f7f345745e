"""Find the ε or the number of records that a given error needs, and share a budget among statistics."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import scipy

from inbounds import _check
from inbounds._check import Array
from inbounds._keywords import explain_making, explain_use
from inbounds._text import visible
from inbounds._types import Number
from inbounds.forecasts.forecast import typical_error
from inbounds.forecasts.likely import MOST, Errors, find_errors, find_population_errors
from inbounds.forecasts.search import TOLERANCE, Search
from inbounds.forecasts.wanted import Wanted, require_wanted, resize
from inbounds.inference.result import KINDS
from inbounds.tables.schema import DataError

__all__ = ["LeastEpsilon", "Target", "Wanted", "least_epsilon", "least_rows", "share_budget"]

# A statistic as it is handed over, in messages.
_EXAMPLE = "Wanted('mean', {'bounds': (0, 100), 'rows': 1000})"
_MOST_EPSILON = 1e5
# The places of the least and of the largest ε among all numbers with three digits.
_PLACES = -6 * 900, 5 * 900
# If the error for the middle column is so near that for nine of ten, one ε is for both.
_ALIKE = 0.98
_MOST_ROWS, _START_ROWS = 2**31, 1000
# Shares of a budget are rounded to a millionth of it.
_PARTS = 10**6


@explain_making("Target(half_width=1)")
@dataclass(frozen=True, slots=True)
class Target:
    """The error that a release should have for most plausible columns, or for all: an RMSE or a half-width.

    Parameters
    ----------
    rmse
        The root mean squared error. Give either this or ``half_width``.
    half_width
        The half-width.
    worst
        Whether the target is for all columns within ``plausible``, and not for nine of ten.
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
        """Whether an error is small enough."""
        return error <= self.wanted * (1 + TOLERANCE)

    def reached(self, wanted: Wanted) -> float:
        """The error of a release that holds for nine of ten plausible columns, in the same figure as the target."""
        return self.errors(wanted).of_share_exactly(MOST)

    def describe(self, most: float, middle: float, confidence: float) -> str:
        """What the ε for nine of ten columns keeps, and the one for the middle column, in words."""
        goal = f"an RMSE of {self.wanted:g}" if self.rmse is not None else f"±{self.wanted:g}"
        often = "" if self.rmse is not None else f" in {_check.percent(confidence)} of releases"
        goal += " for the population" if self.kind == "population" else ""
        if middle == most:
            return f"epsilon {most:g} keeps {goal}{often} for all plausible columns"
        return f"epsilon {most:g} keeps {goal}{often} for 9 of 10 plausible columns, {middle:g} for the middle one"

    def errors(self, wanted: Wanted) -> Errors:
        """The error of a release at plausible truths, in the same figure as the target: the largest of all if worst."""
        if self.kind == "population":
            return find_population_errors(wanted)
        errors = find_errors(wanted, half_width=self.rmse is None, corners=self.worst)
        return Errors(np.array([errors.of_share_exactly(1)])) if self.worst else errors


class LeastEpsilon(float):
    """The ε that keeps a target for nine of ten plausible columns. It is a number that knows what it holds for.

    Attributes
    ----------
    middle
        The ε that keeps the target for half of the plausible columns.
    text
        What both keep, in words.
    """

    __slots__ = ("middle", "text")
    middle: float
    text: str

    def __new__(cls, epsilon: float, middle: float, text: str) -> "LeastEpsilon":
        made = super().__new__(cls, epsilon)
        made.middle, made.text = middle, text
        return made

    def __getnewargs__(self) -> tuple[float, float, str]:  # type: ignore[override]
        return float(self), self.middle, self.text


# claim:least-epsilon
@explain_use(f"least_epsilon({_EXAMPLE}, Target(half_width=1))")
def least_epsilon(wanted: Wanted, target: Target) -> LeastEpsilon:
    """The smallest ε that keeps a target for 9 of 10 plausible columns, to three digits.

    The error of many statistics depends on the column: on its spread relative to its bounds, on where its mean lies, on
    the sizes of groups. So ε is found for columns that are plausible: those that ``plausible`` of `Wanted` describes,
    or else those of `inbounds.derivations.likely_truths`. For each of nine in ten, a half-width is kept by 95% of
    releases. What the column holds makes ε smaller: ``plausible={"values": "measure"}`` or ``{"values": "amount"}``.

    Parameters
    ----------
    wanted
        The statistic and its keywords. Its ``epsilon`` is replaced.
    target
        The error to reach.

    Returns
    -------
    LeastEpsilon
        The smallest ε, a number. Its ``middle`` is the ε that is enough for half of the columns, and its ``text`` has
        both in words.

    Raises
    ------
    ValueError
        If no ε reaches the target.

    Examples
    --------
    >>> wanted = Wanted("proportion", {"rows": 1000, "epsilon": 1})
    >>> least_epsilon(wanted, Target(half_width=0.01))
    0.285
    >>> spread = Wanted("standard_deviation", {"bounds": (0, 100), "rows": 5000, "epsilon": 1})
    >>> least_epsilon(spread, Target(half_width=0.5)).text
    'epsilon 1.96 keeps ±0.5 in 95% of releases for 9 of 10 plausible columns, 0.459 for the middle one'
    """

    require_wanted(wanted)
    _require_target(target)

    @cache
    def errors_at(place: int) -> Errors:
        return target.errors(wanted.but(epsilon=_epsilon_at(place)))

    def search(error_of: Callable[[Errors], float], start: float) -> float:
        steps = Search(lambda place: error_of(errors_at(place)), _epsilon_at, _place_of, _PLACES)
        place = steps.find(target.wanted, start)
        if place is None:
            errors = errors_at(_PLACES[1])
            raise ValueError(_explain_limit(target, error_of(errors), depends=errors.depend))
        return _epsilon_at(place)

    most = search(lambda errors: errors.of_share_exactly(MOST), search(lambda errors: errors.of_share(MOST), 1.0))
    errors = errors_at(_place_of(most))
    middle = errors.of_share(0.5)
    if middle > _ALIKE * errors.of_share(MOST):
        half = most
    else:
        # The error of most statistics is about one over ε.
        half = min(search(lambda errors: errors.of_share(0.5), most * middle / target.wanted), most)
    return LeastEpsilon(most, half, target.describe(most, half, wanted.confidence))


def _explain_limit(target: Target, limit: float, *, depends: bool) -> str:
    """Why no ε is enough, and what to do about it."""
    remedy = "use more rows" + (", or say more about the columns in plausible=" if depends else "")
    if target.kind == "population":
        return f"no epsilon reaches {target.wanted:g}: the error is {limit:.4g} even without noise; {remedy}"
    return f"no epsilon up to {_MOST_EPSILON:g} reaches {target.wanted:g}: the error is still {limit:.4g}"


def _epsilon_at(place: int) -> float:
    """The numbers with three digits, in order: 1.00 at 0, 1.01 at 1, 10.0 at 900."""
    power, digits = divmod(place, 900)
    return float(f"{digits + 100}e{power - 2}")


def _place_of(epsilon: float) -> int:
    """The place of the number with three digits that is next to this one."""
    power = math.floor(math.log10(epsilon))
    return 900 * power + round(epsilon / 10.0**power * 100) - 100


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

    rows = Search(error_of, float, round, (1, _MOST_ROWS)).find(target.wanted, _START_ROWS)
    if rows is None:
        raise ValueError(
            f"no number of rows up to 2^31 reaches {target.wanted:g} at this epsilon: the error is still "
            f"{error_of(_MOST_ROWS):.4g}. The error of counts, sums and fixed denominators does not depend on the "
            "number of rows; use a larger epsilon"
        )
    return rows


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
    if record.derivation.unit:
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
