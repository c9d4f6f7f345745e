"""Counts and shares of one level, and counts of groups."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal

from inbounds._keywords import explain_fields
from inbounds._types import By, GroupLevels, GroupPlace, Level
from inbounds.derivations import Direct, MeanOfSums
from inbounds.inference import intervals
from inbounds.inference.result import Interval
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft
from inbounds.record.release import Release
from inbounds.record.statistic import Statistic, Traits, register
from inbounds.statistics.base import (
    UNIT_INTERVAL,
    count_groups,
    fields_of_groups,
    fixed_denominator,
    indicator,
    keep,
    keys_of,
    labels_of,
    list_names,
    refuse_denominator,
    refuse_with,
    title_of,
)
from inbounds.statistics.drafts import draft_counts, draft_of_sums, draft_single
from inbounds.statistics.share import Number, Share
from inbounds.tables import coordinates
from inbounds.tables.answers import Cell, Cells
from inbounds.tables.coordinates import Coordinate, MomentSums
from inbounds.tables.request import Request
from inbounds.tables.schema import Column, Levels, Numeric, Quantised


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Count(Statistic):
    """The number of records with a level, in each group, or in all; see `inbounds.count`.

    >>> Count("smoker", level="yes").title
    'count of smoker = yes'
    """

    column: str | None = None
    level: Level | None = None
    missing: bool | Literal["skip"] | None = None
    by: By | None = None
    levels: GroupLevels | None = None
    by_missing: GroupPlace | None = None
    other: GroupPlace | None = None
    # The level that is counted, or the groups.
    _keys: tuple[Levels, ...] = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "count"
    traits: ClassVar[Traits] = Traits(columns="level or none", whole=True)
    least_rows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        keys = keys_of(self.by, self.levels, self.by_missing, self.other)
        if keys:
            refuse_with(
                "by=; use crosstab for levels by groups", column=self.column, level=self.level, missing=self.missing
            )
        elif self.level is not None:
            if self.column is None:
                raise TypeError("column must be given with a level, as in count(table, 'smoker', level='yes', ...)")
            keys = (indicator(self.column, self.level, self.missing),)
            keep(self, level=keys[0].levels[0])
        elif self.column is not None:
            raise TypeError("level must be given with a column, as in count(table, 'smoker', level='yes', ...)")
        keep(self, **fields_of_groups(keys if self.by is not None else ()), _keys=keys)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self._keys

    @property
    def title(self) -> str:
        if not self._keys:
            return "count of all records"
        if self.by is not None:
            return f"count of {list_names(self._keys)}"
        return f"count of {self.column} = {self._keys[0].labels[-1]}"

    def numbers(self, terms: Terms) -> int:
        return count_groups(self._keys) if self.by is not None else 1

    def draft(self, terms: Terms) -> Draft:
        top = None if terms.rows is None else Fraction(terms.rows)
        if not self._keys:
            if terms.rows is not None:
                raise TypeError(
                    "with neighbours='substitute' the number of rows is public; give a level to count, or use "
                    "neighbours='add-remove'"
                )
            return draft_single(self, terms, coordinates.count((), terms.unit, None), Request(), [])
        if self.by is not None:
            return draft_counts(self, terms, Direct(), self._keys, top=top)
        return draft_single(self, terms, self._number(terms), Request(self._keys), self._keys)

    def _number(self, terms: Terms) -> Coordinate:
        return coordinates.count((0,), terms.unit, terms.rows)

    def share(self, terms: Terms) -> Share | None:
        """One level of a public number of records can be drawn with other numbers."""
        if not self._keys or self.by is not None:
            return None
        return Number(self._number(terms), Request(self._keys), self._keys)

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        maker = intervals.limit_counts if release.group is None else intervals.limit_mean
        return intervals.interval_by(maker, release, level, kind, variance)


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Proportion(Statistic):
    """The share of records with a level; see `inbounds.proportion`.

    With ``by``, the share in each group: a noisy count over a noisy size.

    >>> Proportion("smoker", level="yes").title
    'proportion of smoker = yes'
    """

    column: str
    level: Level | None = None
    missing: bool | Literal["skip"] | None = None
    denominator: int | None = None
    by: By | None = None
    levels: GroupLevels | None = None
    by_missing: GroupPlace | None = None
    other: GroupPlace | None = None
    _key: Levels = field(init=False, repr=False, compare=False)
    _keys: tuple[Levels, ...] = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "proportion"
    traits: ClassVar[Traits] = Traits(columns="level", shares=True)
    least_rows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        key = indicator(self.column, self.level, self.missing)
        keys = keys_of(self.by, self.levels, self.by_missing, self.other)
        if keys:
            refuse_with("by=", denominator=self.denominator)
        level = None if self.level is None else key.levels[0]
        over = fixed_denominator(self.denominator)
        keep(self, **fields_of_groups(keys), level=level, denominator=over, _key=key, _keys=keys)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self._key, *self._keys

    @property
    def title(self) -> str:
        return title_of(f"proportion of {self.column} = {self._key.labels[-1]}", self._keys)

    def numbers(self, terms: Terms) -> int:
        if self._keys:
            return 2 * count_groups(self._keys)
        return 2 if terms.rows is None and self.denominator is None else 1

    def draft(self, terms: Terms) -> Draft:
        refuse_denominator(self.denominator, terms)
        place, request = len(self._key.levels) - 1, Request((*self._keys, self._key))
        over = terms.rows if self.denominator is None else self.denominator
        if over is not None and not self._keys:
            return draft_single(self, terms, coordinates.share((place,), terms.unit, over), request, [self._key])
        # Where n is protected, and in groups: the mean of a column of 0 and 1.
        last = len(self._key.labels)
        zero_one = Quantised(Numeric.of(self.column, (0, 1), integer=True), 1)

        def find(cells: Cells, group: tuple[int, ...]) -> Cell:
            # Skipped records have a cell beyond that of the records without the level.
            sizes = {cell[-1]: cells[cell][0] for cell in cells if cell[:-1] == group and cell[-1] <= last}
            return sum(sizes.values()), (sizes.get(place, 0),), ()

        return draft_of_sums(
            self,
            terms,
            MeanOfSums(),
            MomentSums((zero_one,)),
            [UNIT_INTERVAL] * count_groups(self._keys),
            by=self._keys,
            axes=labels_of(self._keys),
            request=request,
            columns=[*self._keys, self._key, zero_one],
            find=find,
        )

    def share(self, terms: Terms) -> Share | None:
        """One level of a public number of records can be drawn with other numbers."""
        if self._keys:
            return None
        assert terms.rows is not None
        refuse_denominator(self.denominator, terms)
        number = coordinates.share((len(self._key.levels) - 1,), terms.unit, terms.rows)
        return Number(number, Request((self._key,)), (self._key,))

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        if release.group is not None:
            return intervals.interval_by(intervals.limit_mean, release, level, kind, variance)
        maker = intervals.limit_means if release.derivation.of_sums else intervals.limit_counts
        return intervals.interval_by(maker, release, level, kind, variance)
