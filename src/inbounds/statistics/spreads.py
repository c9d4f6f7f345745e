"""Variance and standard deviation of a column."""

from collections.abc import Mapping, Sequence
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
from inbounds.record.statistic import Statistic, Traits, register
from inbounds.statistics.base import (
    SPREAD_METHODS,
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
from inbounds.statistics.centred import compare_alone, draft_centred, is_better, noise_at, quantise_in_cells
from inbounds.statistics.drafts import draft_moments, draft_of_sums, draft_single, law_of_number
from inbounds.statistics.share import OfMoments, Share
from inbounds.tables import coordinates
from inbounds.tables.coordinates import MomentSums
from inbounds.tables.request import Request
from inbounds.tables.schema import Column, Levels, Numeric, Quantised

# The variances of the noise of Σu² and Σu at ε = 1 in a joint draw: (d+1)(d+2) times the second moments of the unit
# ball of their norm. Noise on the variance itself, in the same units, has the variance 2 · 4².
_OF_SQUARES, _OF_SUMS, _OF_VARIANCE = 3.54, 11.97, 32.0
# How much more noise moments may have than the direct method and still be preferred.
_TIE = 1.05
# How much more noise a centred variance may have than one from moments if a plausible range is around the middle of the
# bounds, and how far it may be off. There the variance may be the largest possible, and where one half of the noise is
# clamped, a tenth less is left of the noise of the centred one.
_CLAMPED, _MIDDLE = 1.1, 0.03


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Variance(Statistic):
    """The sample variance (denominator n - 1) of a column; see `inbounds.variance`.

    ``method="moments"`` draws Σu and Σu² together, where u is x in half-widths from the middle of the bounds.
    ``method="centred"`` draws Σu first, which gives a centre c, and then Σ((u - c)/(1 + |c|))². ``method="robust"``
    draws the squares of these with them, for a shorter interval.

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
    traits: ClassVar[Traits] = Traits(meaning="squared spread")
    least_rows: ClassVar[int] = 2
    interval_methods: ClassVar[tuple[str, ...]] = bounded.SPREAD_METHODS
    interval_needs: ClassVar[Mapping[str, str]] = {"robust": "robust"}
    compares_methods: ClassVar[bool] = True

    def __post_init__(self) -> None:
        column = numeric(self.column, self.bounds, self.missing, self.integer)
        check_method(self.method, SPREAD_METHODS)
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

    def find_way(self, terms: Terms) -> SpreadMethod | None:
        """The method, or the one that is taken where none is given; None where there is only one."""
        grouped = bool(self._keys)
        return None if terms.rows is None or grouped else find_method(self.method, terms)

    def list_ways(self, terms: Terms, *, states_mean: bool) -> Sequence[tuple[str, str]]:
        return _list_ways(self.find_way(terms), states_mean=states_mean)

    def draft(self, terms: Terms) -> Draft:
        column = quantise(self._column, terms)
        method = find_method(self.method, terms, grouped=bool(self._keys))
        if terms.rows is None or self._keys:
            largest: Bound = (Fraction(0), self._column.width**2 / 2)
            return _draft_groups(self, terms, SpreadOfSums(), column, largest)
        (number,) = coordinates.covariances([column], terms.unit, terms.rows)
        if method in ("centred", "robust"):
            fourth = method == "robust"
            quantised = quantise_in_cells(self._column) if fourth else column
            return draft_centred(self, terms, quantised, [(number.lower, number.upper)], fourth=fourth)
        if method == "moments":
            return draft_moments(self, terms, SpreadOfMoments(terms.rows), [column], [(number.lower, number.upper)])
        return draft_single(self, terms, number, Request((), (column,), True), [column])

    def share(self, terms: Terms) -> Share | None:
        """The part in a joint draw, with other statistics that are computed from moments."""
        assert terms.rows is not None
        if self._keys or not _may_share(self.method, terms):
            return None
        (number,) = coordinates.covariances([quantise(self._column, terms)], terms.unit, terms.rows)
        way, alone = SpreadOfMoments(terms.rows), _compare_alone(self.method, terms)
        return OfMoments((self._column,), way, ((number.lower, number.upper),), alone=alone)

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        return bounded.interval_of_spread(release, level, kind, variance)

    def interval_with(self, release: Release, level: float, kind: str, method: str) -> Interval:
        """The interval by a method of its own name."""
        return bounded.interval_of_spread(release, level, kind, None, method)


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class StandardDeviation(Statistic):
    """The sample standard deviation of a column; see `inbounds.standard_deviation`.

    >>> StandardDeviation("age", bounds=(0, 100)).title
    'standard deviation of age'
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
    traits: ClassVar[Traits] = Traits(meaning="spread")
    least_rows: ClassVar[int] = 2
    interval_methods: ClassVar[tuple[str, ...]] = bounded.SPREAD_METHODS
    interval_needs: ClassVar[Mapping[str, str]] = {"robust": "robust"}
    compares_methods: ClassVar[bool] = True

    def __post_init__(self) -> None:
        column = numeric(self.column, self.bounds, self.missing, self.integer)
        check_method(self.method, SPREAD_METHODS)
        keys = keys_of(self.by, self.levels, self.by_missing, self.other)
        rules = fields_of_groups(keys)
        keep(self, **rules, bounds=column.ends, missing=column.spelled_missing, _column=column, _keys=keys)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self._column, *self._keys

    @property
    def title(self) -> str:
        return title_of(f"standard deviation of {self.column}", self._keys)

    def numbers(self, terms: Terms) -> int:
        if terms.rows is None or self._keys:
            return 3 * count_groups(self._keys)
        if self.method == "robust":
            return count_numbers(self.method, terms)
        return 1 if find_method(self.method, terms) == "direct" or self._deviation_is_better(terms) else 2

    def find_way(self, terms: Terms) -> SpreadMethod | None:
        """The method, or the one that is taken where none is given; None where there is only one."""
        grouped = bool(self._keys)
        return None if terms.rows is None or grouped else find_method(self.method, terms)

    def list_ways(self, terms: Terms, *, states_mean: bool) -> Sequence[tuple[str, str]]:
        return _list_ways(self.find_way(terms), states_mean=states_mean)

    def draft(self, terms: Terms) -> Draft:
        column, method = self._quantise(terms), find_method(self.method, terms, grouped=bool(self._keys))
        if terms.rows is None or self._keys:
            # Two numbers attain W/√2; 70/99 W is slightly less.
            largest: Bound = (Fraction(0), self._column.width * Fraction(70, 99))
            return _draft_groups(self, terms, SpreadOfSums(root=True), column, largest)
        (variance,) = coordinates.covariances([column], terms.unit, terms.rows)
        deviation = coordinates.standard_deviation(variance)
        law, root = law_of_number(deviation, terms, "standard_deviation"), law_of_number(variance, terms, "variance")
        request = Request((), (column,), True)
        if method != "robust" and self._deviation_is_better(terms):
            return draft_single(self, terms, deviation, request, [column], certificate=law)
        if method in ("centred", "robust"):
            fourth = method == "robust"
            quantised = quantise_in_cells(self._column) if fourth else column
            return draft_centred(self, terms, quantised, [(deviation.lower, deviation.upper)], root=True, fourth=fourth)
        if method == "moments":
            way = SpreadOfMoments(terms.rows, root=True)
            return draft_moments(self, terms, way, [column], [(deviation.lower, deviation.upper)])
        return draft_single(self, terms, variance, request, [column], derivation=Direct(root=True), certificate=root)

    def _quantise(self, terms: Terms) -> Any:
        return quantise(self._column, terms, root=True)

    def _deviation_is_better(self, terms: Terms) -> bool:
        """Whether noise on a standard deviation has a smaller MSE than the root of a noisy variance, over the bounds.

        Figures are in units of the bounds, so that the answer does not depend on their width. Noise of moments is
        treated as Laplace noise of the same variance, and noise around a centre as noise of moments.
        """
        assert terms.rows is not None
        (variance,) = coordinates.covariances([self._quantise(terms)], terms.unit, terms.rows)
        law = law_of_number(coordinates.standard_deviation(variance), terms, "standard_deviation")
        if find_method(self.method, terms) == "direct":
            root = _in_bounds(law_of_number(variance, terms, "variance"))
        else:
            assert variance.upper is not None
            area = terms.unit.contributions * self._column.width**2 / 4 / (terms.rows - 1) / terms.epsilon
            root = Laplace(float(f"{(_OF_SQUARES / 2) ** 0.5 * float(area / variance.upper):.9g}"))
        return deviation_is_better(law.bounding, _in_bounds(law), root)

    def share(self, terms: Terms) -> Share | None:
        """The part in a joint draw, with other statistics that are computed from moments."""
        assert terms.rows is not None
        if self._keys or not _may_share(self.method, terms):
            return None
        (variance,) = coordinates.covariances([self._quantise(terms)], terms.unit, terms.rows)
        deviation, way = coordinates.standard_deviation(variance), SpreadOfMoments(terms.rows, root=True)
        alone = _compare_alone(self.method, terms)
        return OfMoments((self._column,), way, ((deviation.lower, deviation.upper),), root=True, alone=alone)

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        return bounded.interval_of_spread(release, level, kind, variance)

    def interval_with(self, release: Release, level: float, kind: str, method: str) -> Interval:
        """The interval by a method of its own name."""
        return bounded.interval_of_spread(release, level, kind, None, method)


def _list_ways(way: SpreadMethod | None, *, states_mean: bool) -> Sequence[tuple[str, str]]:
    """The ways to draw a spread: which of them is best follows from the mean, so they are compared where it is stated.

    If nothing is stated, the default has the smallest error on average over all means.
    """
    if way is None or not states_mean:
        return ()
    return [("bit", "centred"), ("bit", "moments"), ("bit", "direct"), ("truncated", "direct")]


def _draft_groups(
    statistic: Variance | StandardDeviation, terms: Terms, way: SpreadOfSums, column: Quantised, largest: Bound
) -> Draft:
    """A spread of each group, or of all records if their number is secret, from noisy sums and counts."""
    keys, moments = statistic._keys, MomentSums((column,), products=True)
    bounds = [largest] * count_groups(keys)
    return draft_of_sums(statistic, terms, way, moments, bounds, by=keys, axes=labels_of(keys))


def _in_bounds(part: Certificate) -> Laplace | Staircase:
    """The noise of a law in units of its upper bound, rounded to nine digits."""
    law = continuous(part)
    noise: Any = law.noise
    shape = {item.name: getattr(noise, item.name) for item in fields(noise)} | {"scale": noise.scale / law.bounds[1]}
    scaled: Laplace | Staircase = replace(noise, **{name: float(f"{value:.9g}") for name, value in shape.items()})
    return scaled


def find_method(method: SpreadMethod | None, terms: Terms, *, grouped: bool = False) -> SpreadMethod:
    """The chosen method, or the one with the smaller error, as far as public numbers say."""
    if method in ("direct", "centred", "robust") and (terms.rows is None or grouped):
        raise ValueError(
            f"method={method!r} needs a public number of records; with neighbours='add-remove', groups and selections "
            "use method='moments'"
        )
    if method in ("moments", "centred", "robust") and terms.bounding == "truncated":
        raise ValueError("bounding='truncated' needs method='direct', since noise of a joint draw cannot be truncated")
    if method is not None:
        return method
    if terms.bounding == "truncated":
        return "direct"
    return "centred" if not grouped and is_better(terms) else "moments"


def _may_share(method: SpreadMethod | None, terms: Terms) -> bool:
    """Whether a spread may be computed from the moments of a joint draw."""
    return method in (None, "moments") and terms.bounding != "truncated"


def _compare_alone(method: SpreadMethod | None, terms: Terms) -> Fraction:
    """How much noise a spread has when it is drawn alone, relative to one from moments."""
    return Fraction(1) if method == "moments" else compare_alone(terms)


def count_numbers(method: SpreadMethod | None, terms: Terms) -> int:
    """Count the noisy numbers of a variance."""
    if terms.rows is None:
        return 3
    return {"direct": 1, "robust": 3}.get(find_method(method, terms), 2)


# claim:spread-method
def choose_method(
    bounds: Bounds, plausible: PlausibleSpread | None, epsilon: Any, rows: int | None = None, contributions: int = 1
) -> SpreadMethod | None:
    """The method with the smaller error for a plausible mean. None if none is given.

    Let m be the mean in half-widths from the middle of the bounds. The noise of a variance from moments has a variance
    of about 3.54 + 47.9 m², in units in which direct noise has 32, or less if it is a staircase. If the number of
    ``rows`` is public and large enough, a variance around a noisy centre is tried as well. For a range, the smaller
    worst loss of one against the other decides. Moments are preferred to the direct method where they lose by less than
    a twentieth, since they gain where variances are clamped; and a centred variance to moments by up to a tenth for a
    range around the middle of the bounds, since it gains where the variance is the largest there is.
    """
    if plausible is None:
        return None
    if not isinstance(plausible, Mapping) or not set(plausible) <= {"mean", "sd"} or not plausible:
        raise TypeError("plausible must be a dictionary with mean or sd, as in plausible={'mean': (10, 20), 'sd': 5}")
    column = numeric("x", bounds, None, False)
    lower, upper, half = float(column.lower), float(column.upper), float(column.width) / 2
    ends = [-1.0, 1.0]
    if "mean" in plausible:
        low, high = _ends(plausible["mean"], "mean")
        if not lower <= low <= high <= upper:
            raise ValueError("plausible must be within the bounds, with the smaller number first")
        ends = [max(-1.0, min(1.0, (x - lower) / half - 1)) for x in (low, high)]
    if "sd" in plausible:
        low, high = _ends(plausible["sd"], "sd")
        # Two records at the two bounds have the largest sample variance, W²/2.
        if not 0 <= low <= high <= half * 2**0.5:
            raise ValueError(
                "plausible sd must be from 0 to what the bounds allow, 0.71 times their width, with the smaller number "
                "first"
            )
        # The mean of values in [-1, 1] with variance v is at most √(1 - v) from 0.
        most = max(0.0, 1 - (low / half) ** 2) ** 0.5
        ends = ends if "mean" in plausible else [-most, most]
    far = max(map(abs, ends))
    near = 0.0 if ends[0] <= 0 <= ends[1] else min(map(abs, ends))
    budget = _check.positive(float(epsilon), "epsilon")
    direct = _OF_VARIANCE * least_variance(budget) * budget**2 / 2
    noise: dict[SpreadMethod, list[float]] = {
        "moments": [_OF_SQUARES + 4 * _OF_SUMS * m * m for m in (near, far)],
        "direct": [direct] * 2,
    }
    method = _lose_less(noise, "moments", "direct", _TIE)
    if rows is not None and is_better(terms := Terms.of(epsilon, contributions=contributions, rows=rows)):
        noise["centred"] = [noise_at(m, terms) for m in (near, far)]
        near_middle = method == "moments" and abs(sum(ends)) <= 2 * _MIDDLE
        method = _lose_less(noise, "centred", method, _CLAMPED if near_middle else 1.0)
    return method


def _lose_less(
    noise: Mapping[SpreadMethod, list[float]], first: SpreadMethod, other: SpreadMethod, tie: float = 1.0
) -> SpreadMethod:
    """Which of two methods loses less to the other at its worst; the first may have ``tie`` times the noise."""
    ratios = [a / b / tie for a, b in zip(noise[first], noise[other], strict=True)]
    # Rounded, so that it is the same on all processors.
    return first if float(f"{max(ratios) * min(ratios):.9g}") <= 1 else other


def _ends(plausible: Any, name: str) -> tuple[float, float]:
    pair = plausible if isinstance(plausible, tuple | list) else (plausible, plausible)
    if len(pair) != 2:
        raise ValueError(f"plausible {name} must be a number or a pair (low, high)")
    low, high = (_check.finite(x, f"plausible {name}") for x in pair)
    return low, high
