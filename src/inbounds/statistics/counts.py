"""Counts and shares of one level, and counts of groups."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from inbounds._keywords import explain_fields
from inbounds._types import Level
from inbounds._types import Levels as LevelList
from inbounds.derivations import Direct, MeanOfSums
from inbounds.inference import intervals
from inbounds.inference.result import Interval
from inbounds.privacy.certified import joint_law
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft, Exact
from inbounds.record.release import Release
from inbounds.record.statistic import Traits, register
from inbounds.statistics.base import (
    UNIT_INTERVAL,
    fixed_denominator,
    groups_of,
    indicator,
    keep,
    refuse_denominator,
    refuse_with,
)
from inbounds.statistics.drafts import draft_counts, draft_single, make_draft
from inbounds.statistics.share import Number, Share
from inbounds.tables import coordinates
from inbounds.tables.answers import Cells
from inbounds.tables.coordinates import MomentSums
from inbounds.tables.request import Request
from inbounds.tables.schema import Column, Levels, Numeric, Quantised


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Count:
    """The number of records with a level, in each group, or in all; see `inbounds.count`.

    >>> Count("smoker", level="yes").title
    'count of smoker = yes'
    """

    column: str | None = None
    level: Level | None = None
    missing: bool | None = None
    by: str | None = None
    levels: LevelList | None = None
    by_missing: Level | None = None
    other: Level | None = None
    _key: Levels | None = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "count"
    traits: ClassVar[Traits] = Traits(columns="level or none", counted=True, whole=True)
    least_rows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.by is not None:
            refuse_with(
                "by=; use crosstab for levels by groups", column=self.column, level=self.level, missing=self.missing
            )
            key: Levels | None = groups_of(self.by, self.levels, self.by_missing, self.other)
            keep(self, levels=None if key is None else key.levels, _key=key)
            return
        refuse_with(
            "a single count; name the groups with by=",
            levels=self.levels,
            other=self.other,
            by_missing=self.by_missing,
        )
        if self.level is None:
            if self.column is not None:
                raise TypeError("level must be given with a column, as in count(table, 'smoker', level='yes', ...)")
            keep(self, _key=None)
            return
        if self.column is None:
            raise TypeError("column must be given with a level, as in count(table, 'smoker', level='yes', ...)")
        key = indicator(self.column, self.level, self.missing)
        keep(self, level=key.levels[0], _key=key)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return () if self._key is None else (self._key,)

    @property
    def title(self) -> str:
        if self._key is None:
            return "count of all records"
        return f"count of {self._key.name}" + ("" if self.by is not None else f" = {self._key.labels[-1]}")

    def numbers(self, terms: Terms) -> int:
        return len(self._key.labels) if self._key is not None and self.by is not None else 1

    def draft(self, terms: Terms) -> Draft:
        top = None if terms.rows is None else Fraction(terms.rows)
        if self._key is None:
            if not terms.protects_rows:
                raise TypeError(
                    "with neighbours='substitute' the number of rows is public; give a level to count, or use "
                    "neighbours='add-remove'"
                )
            return draft_single(self, terms, coordinates.count((), terms.unit, None), Request(), [])
        if self.by is not None:
            return draft_counts(self, terms, Direct(), [self._key], top=top)
        number = coordinates.count((0,), terms.unit, terms.rows)
        return draft_single(self, terms, number, Request((self._key,)), [self._key])

    def share(self, terms: Terms) -> Share | None:
        """The part in a joint draw. The count of one level can be drawn together with other numbers."""
        if self._key is None or self.by is not None:
            return None
        return Number(coordinates.count((0,), terms.unit, terms.rows), Request((self._key,)), (self._key,))

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        maker = intervals.counted if release.group is None else intervals.averaged
        return intervals.interval_by(maker, release, level, kind, variance)


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Proportion:
    """The share of records with a level; see `inbounds.proportion`.

    >>> Proportion("smoker", level="yes").title
    'proportion of smoker = yes'
    """

    column: str
    level: Level | None = None
    missing: bool | None = None
    denominator: int | None = None
    _key: Levels = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "proportion"
    traits: ClassVar[Traits] = Traits(columns="level", counted=True, shares=True)
    least_rows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        key = indicator(self.column, self.level, self.missing)
        level = None if self.level is None else key.levels[0]
        keep(self, level=level, denominator=fixed_denominator(self.denominator), _key=key)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return (self._key,)

    @property
    def title(self) -> str:
        return f"proportion of {self.column} = {self._key.labels[-1]}"

    def numbers(self, terms: Terms) -> int:
        return 2 if terms.rows is None and self.denominator is None else 1

    def draft(self, terms: Terms) -> Draft:
        refuse_denominator(self.denominator, terms)
        place, request = len(self._key.levels) - 1, Request((self._key,))
        over = terms.rows if self.denominator is None else self.denominator
        if over is not None:
            return draft_single(self, terms, coordinates.share((place,), terms.unit, over), request, [self._key])
        # If n is protected, it is the mean of a column of 0 and 1.
        zero_one = Quantised(Numeric.of(self.column, (0, 1), integer=True), 1)
        moments = MomentSums((zero_one,))

        def exact(cells: Cells) -> Exact:
            sizes = {cell: size for cell, (size, _, _) in cells.items()}
            return [moments((sum(sizes.values()), (sizes.get((place,), 0),), ()))]

        return make_draft(
            self,
            terms,
            MeanOfSums(),
            joint_law(self.name, terms, moments.sensitivity, moments.dimension, terms.unit.cell_changes),
            request,
            exact,
            bounds=[UNIT_INTERVAL],
            columns=[self._key, zero_one],
            units=[Fraction(1)] * moments.dimension,
        )

    def share(self, terms: Terms) -> Share | None:
        """The part in a joint draw. The share of one level can be drawn together with other numbers."""
        assert terms.rows is not None
        refuse_denominator(self.denominator, terms)
        number = coordinates.share((len(self._key.levels) - 1,), terms.unit, terms.rows)
        return Number(number, Request((self._key,)), (self._key,))

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        if release.group is not None:
            return intervals.interval_by(intervals.averaged, release, level, kind, variance)
        maker = intervals.mean_of_sums if release.derivation.of_sums else intervals.counted
        return intervals.interval_by(maker, release, level, kind, variance)
