"""Mean and sum of a column."""

from dataclasses import dataclass, field
from typing import ClassVar

from inbounds._keywords import explain_fields
from inbounds._types import Bounds, Level, Number
from inbounds._types import Levels as LevelList
from inbounds.derivations import MeanOfMoments, MeanOfSums
from inbounds.inference import intervals
from inbounds.inference.result import Interval
from inbounds.privacy.certified import Bound
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft
from inbounds.record.release import Release
from inbounds.record.statistic import Traits, register
from inbounds.statistics.base import (
    fixed_denominator,
    groups_of,
    keep,
    numeric,
    quantise,
    refuse_denominator,
    refuse_with,
)
from inbounds.statistics.drafts import draft_of_sums, draft_single
from inbounds.statistics.share import Number as OneNumber
from inbounds.statistics.share import OfMoments, Share
from inbounds.tables import coordinates
from inbounds.tables.coordinates import MomentSums
from inbounds.tables.request import Request
from inbounds.tables.schema import Column, Levels, Numeric


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a column within its bounds, of all records or of each group; see `inbounds.mean`.

    If the number of rows is public, it is Σx/n, which one record moves by at most (upper - lower)/n. If it is
    protected, and for groups, it is a noisy sum divided by a noisy count. With a fixed public ``denominator`` N it is
    c + Σ(x - c)/N, where c is the middle of the bounds.

    >>> Mean("age", bounds=(0, 100)).title
    'mean of age'
    """

    column: str
    bounds: Bounds
    missing: Number | None = None
    integer: bool = False
    by: str | None = None
    levels: LevelList | None = None
    by_missing: Level | None = None
    other: Level | None = None
    denominator: int | None = None
    _column: Numeric = field(init=False, repr=False, compare=False)
    _key: Levels | None = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "mean"
    traits: ClassVar[Traits] = Traits(mean=True, meaning="centre")
    least_rows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        column = numeric(self.column, self.bounds, self.missing, self.integer)
        if self.by is None:
            refuse_with(
                "a single mean; name the groups with by=",
                levels=self.levels,
                other=self.other,
                by_missing=self.by_missing,
            )
            key = None
        else:
            refuse_with("by=", denominator=self.denominator)
            key = groups_of(self.by, self.levels, self.by_missing, self.other)
        keep(
            self,
            bounds=(column.lower, column.upper),
            missing=column.missing,
            levels=None if key is None else key.levels,
            denominator=fixed_denominator(self.denominator),
            _column=column,
            _key=key,
        )

    @property
    def inputs(self) -> tuple[Column, ...]:
        return (self._column,) if self._key is None else (self._column, self._key)

    @property
    def title(self) -> str:
        return f"mean of {self.column}" + ("" if self.by is None else f" by {self.by}")

    def numbers(self, terms: Terms) -> int:
        if self._key is not None:
            return 2 * len(self._key.labels)
        return 2 if terms.rows is None and self.denominator is None else 1

    def draft(self, terms: Terms) -> Draft:
        refuse_denominator(self.denominator, terms)
        column, bound = quantise(self._column, terms), _bound(self._column)
        if self._key is not None:
            labels = self._key.labels
            moments, way, bounds = MomentSums((column,)), MeanOfSums(), [bound] * len(labels)
            return draft_of_sums(self, terms, way, moments, bounds, by=[self._key], axes=[labels])
        if terms.rows is None and self.denominator is None:
            return draft_of_sums(self, terms, MeanOfSums(), MomentSums((column,)), [bound])
        if terms.rows is None:
            assert self.denominator is not None
            number = coordinates.centred_mean(column, terms.unit, self.denominator)
        else:
            number = coordinates.mean(column, terms.unit, terms.rows)
        return draft_single(self, terms, number, Request((), (column,)), [column])

    def share(self, terms: Terms) -> Share | None:
        """The part in a joint draw. A mean follows from its sum, which other statistics of the draw may need too."""
        if self._key is not None:
            return None
        refuse_denominator(self.denominator, terms)
        assert terms.rows is not None
        column = quantise(self._column, terms)
        number = OneNumber(coordinates.mean(column, terms.unit, terms.rows), Request((), (column,)), (column,))
        return OfMoments((self._column,), MeanOfMoments(terms.rows), (_bound(self._column),), number=number)

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        if variance is not None:
            return intervals.interval_with_variance(release, level, kind, variance)
        maker = intervals.mean_of_sums if release.derivation.of_sums else intervals.averaged
        return intervals.interval_by(maker, release, level, kind)


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of a column; see `inbounds.sum`.

    >>> Sum("income", bounds=(0, 1000)).title
    'sum of income'
    """

    column: str
    bounds: Bounds
    missing: Number | None = None
    integer: bool = False
    _column: Numeric = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "sum"
    traits: ClassVar[Traits] = Traits(meaning="total")
    least_rows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        column = numeric(self.column, self.bounds, self.missing, self.integer)
        keep(self, bounds=(column.lower, column.upper), missing=column.missing, _column=column)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return (self._column,)

    @property
    def title(self) -> str:
        return f"sum of {self.column}"

    def numbers(self, terms: Terms) -> int:
        return 1

    def draft(self, terms: Terms) -> Draft:
        column = quantise(self._column, terms)
        number = coordinates.total(column, terms.unit, terms.rows)
        return draft_single(self, terms, number, Request((), (column,)), [column])

    def share(self, terms: Terms) -> Share | None:
        """The part in a joint draw. A sum can be drawn together with other numbers."""
        column = quantise(self._column, terms)
        return OneNumber(coordinates.total(column, terms.unit, terms.rows), Request((), (column,)), (column,))

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        return intervals.interval_by(intervals.averaged, release, level, kind, variance)


def _bound(column: Numeric) -> Bound:
    return column.lower, column.upper
