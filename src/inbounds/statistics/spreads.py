"""Variance and standard deviation of a column."""

from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, ClassVar

from inbounds._types import Bounds
from inbounds.derivations import Direct, SpreadOfSums
from inbounds.expected import continuous, deviation_is_better
from inbounds.inference import intervals, spreads
from inbounds.inference.result import Interval
from inbounds.laws import Laplace, Staircase
from inbounds.privacy.certificate import Certificate
from inbounds.privacy.certified import Bound
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft
from inbounds.record.release import Release
from inbounds.record.statistic import Traits, register
from inbounds.statistics.base import draft_of_sums, draft_single, keep, law_of_number, numeric, quantise
from inbounds.tables import coordinates
from inbounds.tables.coordinates import Moments
from inbounds.tables.request import Request
from inbounds.tables.schema import Column, Numeric


@register
@dataclass(frozen=True, slots=True)
class Variance:
    """The sample variance (denominator n - 1), never below 0 nor above what n numbers within the bounds can have."""

    column: str
    bounds: Bounds
    missing: Any = None
    integer: bool = False
    _column: Numeric = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "variance"
    traits: ClassVar[Traits] = Traits(variance=True)
    least_rows: ClassVar[int] = 2

    def __post_init__(self) -> None:
        column = numeric(self.column, self.bounds, self.missing, self.integer)
        keep(self, bounds=(column.lower, column.upper), missing=column.missing, _column=column)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return (self._column,)

    @property
    def title(self) -> str:
        return f"variance of {self.column}"

    def numbers(self, terms: Terms) -> int:
        return 3 if terms.rows is None else 1

    def draft(self, terms: Terms) -> Draft:
        column = quantise(self._column, terms)
        if terms.rows is None:
            largest: Bound = (Fraction(0), self._column.width**2 / 2)
            return draft_of_sums(self, terms, SpreadOfSums(), Moments((column,), products=True), [largest])
        (number,) = coordinates.covariances([column], terms.unit, terms.rows)
        return draft_single(self, terms, number, Request((), (column,), True), [column])

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        maker = spreads.of_sums if release.derivation.of_sums else spreads.one_variance
        return intervals.interval_by(maker, release, level, kind, variance)


@register
@dataclass(frozen=True, slots=True)
class StandardDeviation:
    """The sample standard deviation, by whichever of two ways has the smaller error, averaged over the bounds.

    Noise on the standard deviation itself, whose sensitivity is W/√n; or the root of a released variance, which is
    better but for a large ε or standard deviations next to nothing. The choice depends on public numbers alone,
    and the record names it (``method``).
    """

    column: str
    bounds: Bounds
    missing: Any = None
    integer: bool = False
    _column: Numeric = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "standard_deviation"
    traits: ClassVar[Traits] = Traits(needs_truth=True)
    least_rows: ClassVar[int] = 2

    def __post_init__(self) -> None:
        column = numeric(self.column, self.bounds, self.missing, self.integer)
        keep(self, bounds=(column.lower, column.upper), missing=column.missing, _column=column)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return (self._column,)

    @property
    def title(self) -> str:
        return f"standard_deviation of {self.column}"

    def numbers(self, terms: Terms) -> int:
        return 3 if terms.rows is None else 1

    def draft(self, terms: Terms) -> Draft:
        column = quantise(self._column, terms, root=True)
        if terms.rows is None:
            # Two numbers attain W/√2, a little less than which is 70/99 W.
            largest: Bound = (Fraction(0), self._column.width * Fraction(70, 99))
            return draft_of_sums(self, terms, SpreadOfSums(root=True), Moments((column,), products=True), [largest])
        (variance,) = coordinates.covariances([column], terms.unit, terms.rows)
        itself = coordinates.standard_deviation(variance)
        own, root = law_of_number(itself, terms, "standard_deviation"), law_of_number(variance, terms, "variance")
        request = Request((), (column,), True)
        if _own_is_better(own, root):
            return draft_single(self, terms, itself, request, [column], certificate=own)
        return draft_single(self, terms, variance, request, [column], derivation=Direct(root=True), certificate=root)

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        if release.derivation.of_sums:
            return intervals.interval_by(spreads.of_sums, release, level, kind, variance)
        maker = spreads.one_deviation if release.derivation.plain else spreads.root_of_variance
        return intervals.interval_by(maker, release, level, kind, variance)


def _own_is_better(own: Certificate, root: Certificate) -> bool:
    """Whether noise on a standard deviation has a smaller MSE than the root of a noisy variance, over the bounds.

    In units of the bounds, so that columns of any width have one answer.
    """
    return deviation_is_better(own.bounding, _in_bounds(own), _in_bounds(root))


def _in_bounds(part: Certificate) -> Laplace | Staircase:
    """The noise of a law in units of its upper bound, in nine digits."""
    law = continuous(part)
    noise: Any = law.noise
    shape = {one.name: getattr(noise, one.name) for one in fields(noise)} | {"scale": noise.scale / law.bounds[1]}
    made: Laplace | Staircase = replace(noise, **{name: float(f"{value:.9g}") for name, value in shape.items()})
    return made
