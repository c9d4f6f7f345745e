"""Variance and standard deviation of a column."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, ClassVar

from inbounds import _check
from inbounds._keywords import explain_fields
from inbounds._types import Bounds, By, GroupLevels, GroupPlace, Missing, PlausibleSpread, SpreadMethod
from inbounds.derivations import Direct, SpreadOfMoments, SpreadOfSums
from inbounds.expected import continuous, deviation_is_better
from inbounds.inference import bounded
from inbounds.inference.result import Interval
from inbounds.laws import Laplace, Staircase, least_variance
from inbounds.privacy.certificate import Certificate
from inbounds.privacy.certified import Bound
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft
from inbounds.record.release import Release
from inbounds.record.statistic import Traits, register
from inbounds.statistics.base import (
    check_method,
    count_groups,
    fields_of_groups,
    keep,
    keys_of,
    labels_of,
    numeric,
    quantise,
    title_of,
)
from inbounds.statistics.drafts import draft_moments, draft_of_sums, draft_single, law_of_number
from inbounds.statistics.share import OfMoments, Share
from inbounds.tables import coordinates
from inbounds.tables.coordinates import MomentSums
from inbounds.tables.request import Request
from inbounds.tables.schema import Column, Levels, Numeric, Quantised

# The variances of the noise of Σu² and Σu at ε = 1 in a joint draw: (d+1)(d+2) times the second moments of the unit
# ball of their norm. Noise on the variance itself, in the same units, has the variance 2 · 4².
_OF_SQUARES, _OF_SUMS, _OF_VARIANCE = 3.54, 11.97, 32.0


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Variance:
    """The sample variance (denominator n - 1) of a column; see `inbounds.variance`.

    ``method="moments"`` draws Σu and Σu² together, where u = (x - c)/(W/2), c is the middle of the bounds and W their
    width.

    >>> Variance("age", bounds=(0, 100)).title
    'variance of age'
    """

    column: str
    bounds: Bounds
    method: SpreadMethod | None = None
    missing: Missing | None = None
    integer: bool = False
    by: By | None = None
    levels: GroupLevels | None = None
    by_missing: GroupPlace | None = None
    other: GroupPlace | None = None
    _column: Numeric = field(init=False, repr=False, compare=False)
    _keys: tuple[Levels, ...] = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "variance"
    traits: ClassVar[Traits] = Traits(variance=True, meaning="squared spread")
    least_rows: ClassVar[int] = 2
    interval_methods: ClassVar[tuple[str, ...]] = bounded.METHODS

    def __post_init__(self) -> None:
        column = numeric(self.column, self.bounds, self.missing, self.integer)
        check_method(self.method)
        keys = keys_of(self.by, self.levels, self.by_missing, self.other)
        rules = fields_of_groups(keys)
        keep(self, **rules, bounds=column.ends, missing=column.spelled_missing, _column=column, _keys=keys)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self._column, *self._keys

    @property
    def title(self) -> str:
        return title_of(f"variance of {self.column}", self._keys)

    def numbers(self, terms: Terms) -> int:
        return 3 * count_groups(self._keys) if self._keys else count_numbers(self.method, terms)

    def draft(self, terms: Terms) -> Draft:
        column = quantise(self._column, terms)
        method = find_method(self.method, terms, grouped=bool(self._keys))
        if terms.rows is None or self._keys:
            largest: Bound = (Fraction(0), self._column.width**2 / 2)
            return _draft_groups(self, terms, SpreadOfSums(), column, largest)
        (number,) = coordinates.covariances([column], terms.unit, terms.rows)
        if method == "moments":
            return draft_moments(self, terms, SpreadOfMoments(terms.rows), [column], [(number.lower, number.upper)])
        return draft_single(self, terms, number, Request((), (column,), True), [column])

    def share(self, terms: Terms) -> Share | None:
        """The part in a joint draw, with other statistics that are computed from moments."""
        assert terms.rows is not None
        if self._keys or find_method(self.method, terms) != "moments":
            return None
        (number,) = coordinates.covariances([quantise(self._column, terms)], terms.unit, terms.rows)
        return OfMoments((self._column,), SpreadOfMoments(terms.rows), ((number.lower, number.upper),))

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        return bounded.interval_of_spread(release, level, kind, variance)

    def interval_with(self, release: Release, level: float, kind: str, method: str) -> Interval:
        """The interval by a method of its own name."""
        return bounded.interval_of_spread(release, level, kind, None, method)


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class StandardDeviation:
    """The sample standard deviation of a column; see `inbounds.standard_deviation`.

    >>> StandardDeviation("age", bounds=(0, 100)).title
    'standard_deviation of age'
    """

    column: str
    bounds: Bounds
    method: SpreadMethod | None = None
    missing: Missing | None = None
    integer: bool = False
    by: By | None = None
    levels: GroupLevels | None = None
    by_missing: GroupPlace | None = None
    other: GroupPlace | None = None
    _column: Numeric = field(init=False, repr=False, compare=False)
    _keys: tuple[Levels, ...] = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "standard_deviation"
    traits: ClassVar[Traits] = Traits(needs_truth=True, meaning="spread")
    least_rows: ClassVar[int] = 2
    interval_methods: ClassVar[tuple[str, ...]] = bounded.METHODS

    def __post_init__(self) -> None:
        column = numeric(self.column, self.bounds, self.missing, self.integer)
        check_method(self.method)
        keys = keys_of(self.by, self.levels, self.by_missing, self.other)
        rules = fields_of_groups(keys)
        keep(self, **rules, bounds=column.ends, missing=column.spelled_missing, _column=column, _keys=keys)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self._column, *self._keys

    @property
    def title(self) -> str:
        return title_of(f"standard_deviation of {self.column}", self._keys)

    def numbers(self, terms: Terms) -> int:
        if terms.rows is None or self._keys:
            return 3 * count_groups(self._keys)
        return 2 if find_method(self.method, terms) == "moments" and not self._own_is_better(terms) else 1

    def draft(self, terms: Terms) -> Draft:
        column, method = self._quantise(terms), find_method(self.method, terms, grouped=bool(self._keys))
        if terms.rows is None or self._keys:
            # Two numbers attain W/√2, a little less than which is 70/99 W.
            largest: Bound = (Fraction(0), self._column.width * Fraction(70, 99))
            return _draft_groups(self, terms, SpreadOfSums(root=True), column, largest)
        (variance,) = coordinates.covariances([column], terms.unit, terms.rows)
        itself = coordinates.standard_deviation(variance)
        own, root = law_of_number(itself, terms, "standard_deviation"), law_of_number(variance, terms, "variance")
        request = Request((), (column,), True)
        if self._own_is_better(terms):
            return draft_single(self, terms, itself, request, [column], certificate=own)
        if method == "moments":
            way = SpreadOfMoments(terms.rows, root=True)
            return draft_moments(self, terms, way, [column], [(itself.lower, itself.upper)])
        return draft_single(self, terms, variance, request, [column], derivation=Direct(root=True), certificate=root)

    def _quantise(self, terms: Terms) -> Any:
        return quantise(self._column, terms, root=True)

    def _own_is_better(self, terms: Terms) -> bool:
        """Whether noise on a standard deviation has a smaller MSE than the root of a noisy variance, over the bounds.

        Figures are in units of the bounds, so that the answer does not depend on their width. Noise of moments is
        treated as Laplace noise of the same variance.
        """
        assert terms.rows is not None
        (variance,) = coordinates.covariances([self._quantise(terms)], terms.unit, terms.rows)
        own = law_of_number(coordinates.standard_deviation(variance), terms, "standard_deviation")
        if find_method(self.method, terms) == "direct":
            root = _in_bounds(law_of_number(variance, terms, "variance"))
        else:
            assert variance.upper is not None
            area = terms.unit.contributions * self._column.width**2 / 4 / (terms.rows - 1) / terms.epsilon
            root = Laplace(float(f"{(_OF_SQUARES / 2) ** 0.5 * float(area / variance.upper):.9g}"))
        return deviation_is_better(own.bounding, _in_bounds(own), root)

    def share(self, terms: Terms) -> Share | None:
        """The part in a joint draw, with other statistics that are computed from moments."""
        assert terms.rows is not None
        if self._keys or find_method(self.method, terms) != "moments":
            return None
        (variance,) = coordinates.covariances([self._quantise(terms)], terms.unit, terms.rows)
        itself, way = coordinates.standard_deviation(variance), SpreadOfMoments(terms.rows, root=True)
        return OfMoments((self._column,), way, ((itself.lower, itself.upper),), root=True)

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        return bounded.interval_of_spread(release, level, kind, variance)

    def interval_with(self, release: Release, level: float, kind: str, method: str) -> Interval:
        """The interval by a method of its own name."""
        return bounded.interval_of_spread(release, level, kind, None, method)


def _draft_groups(
    statistic: Variance | StandardDeviation, terms: Terms, way: SpreadOfSums, column: Quantised, largest: Bound
) -> Draft:
    """A spread of each group, or of all records where their number is secret: from noisy sums and counts."""
    keys, moments = statistic._keys, MomentSums((column,), products=True)
    bounds = [largest] * count_groups(keys)
    return draft_of_sums(statistic, terms, way, moments, bounds, by=keys, axes=labels_of(keys))


def _in_bounds(part: Certificate) -> Laplace | Staircase:
    """The noise of a law in units of its upper bound, rounded to nine digits."""
    law = continuous(part)
    noise: Any = law.noise
    shape = {one.name: getattr(noise, one.name) for one in fields(noise)} | {"scale": noise.scale / law.bounds[1]}
    made: Laplace | Staircase = replace(noise, **{name: float(f"{value:.9g}") for name, value in shape.items()})
    return made


def find_method(method: SpreadMethod | None, terms: Terms, *, grouped: bool = False) -> SpreadMethod:
    """The method that was asked for, or the one with the smaller error in the middle of the bounds."""
    if method == "direct" and (terms.rows is None or grouped):
        raise ValueError(
            "method='direct' needs a public number of records; with neighbours='add-remove', groups and selections use "
            "method='moments'"
        )
    if method == "moments" and terms.bounding == "truncated":
        raise ValueError("bounding='truncated' needs method='direct', since noise of a joint draw cannot be truncated")
    return method or ("direct" if terms.bounding == "truncated" else "moments")


def count_numbers(method: SpreadMethod | None, terms: Terms) -> int:
    """Count the noisy numbers of a variance."""
    if terms.rows is None:
        return 3
    return 2 if find_method(method, terms) == "moments" else 1


def choose_method(bounds: Bounds, plausible: PlausibleSpread | None, epsilon: Any) -> SpreadMethod | None:
    """claim:spread-method. The method with the smaller error for a plausible mean. None if none is given.

    Let m be the mean in half-widths from the middle of the bounds. The noise of a variance from moments has a variance
    of about 3.54 + 47.9 m², in units in which direct noise has 32. So moments are better for |m| below 0.77, or
    slightly less if the noise of one number is a staircase. For a range, the smaller worst loss decides.
    """
    if plausible is None:
        return None
    if not isinstance(plausible, Mapping) or not set(plausible) <= {"mean", "sd"} or not plausible:
        raise TypeError("plausible must be a dictionary with mean or sd, as in plausible={'mean': (10, 20), 'sd': 5}")
    column = numeric("x", bounds, None, False)
    middle, half = float(column.lower + column.upper) / 2, float(column.width) / 2
    if "mean" in plausible:
        ends = [(x - middle) / half for x in _ends(plausible["mean"], "mean")]
    else:
        # The mean of values in [-1, 1] with variance v is at most √(1 - v) from 0.
        most = max(0.0, 1 - (_ends(plausible["sd"], "sd")[0] / half) ** 2) ** 0.5
        ends = [-most, most]
    if not -1 <= ends[0] <= ends[1] <= 1:
        raise ValueError("plausible must be within the bounds, with the smaller number first")
    far = max(map(abs, ends))
    near = 0.0 if ends[0] <= 0 <= ends[1] else min(map(abs, ends))
    spent = _check.positive(float(epsilon), "epsilon")
    direct = _OF_VARIANCE * least_variance(spent) * spent**2 / 2
    losses = [(_OF_SQUARES + 4 * _OF_SUMS * m * m) / direct for m in (near, far)]
    # The worst loss of moments is the factor at the far end, that of the direct method its inverse at the near end.
    return "moments" if losses[1] <= 1 / losses[0] else "direct"


def _ends(stated: Any, name: str) -> tuple[float, float]:
    pair = stated if isinstance(stated, tuple | list) else (stated, stated)
    if len(pair) != 2:
        raise ValueError(f"plausible {name} must be a number or a pair (low, high)")
    low, high = (_check.finite(x, f"plausible {name}") for x in pair)
    return low, high
