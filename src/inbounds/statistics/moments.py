"""Means, variances, covariances and correlations of several columns from one draw."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from inbounds._check import Array
from inbounds._keywords import explain_fields
from inbounds._types import Bounds, MatrixRepair, MissingOfAll
from inbounds.derivations import TableOfMoments
from inbounds.inference import bounded, intervals
from inbounds.inference.result import Interval
from inbounds.inference.tables import moments_table, normal_table
from inbounds.privacy.certified import Bound
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft
from inbounds.record.release import Release
from inbounds.record.statistic import Statistic, Traits, register
from inbounds.repairs import matrix
from inbounds.statistics.base import fields_of_several, keep, list_names, quantise, several
from inbounds.statistics.drafts import draft_moments, draft_of_sums, limits_of_sums
from inbounds.statistics.matrices import check_method, choose_repair, count_elements, of_elements
from inbounds.statistics.share import OfMoments, Share
from inbounds.tables.coordinates import MomentSums
from inbounds.tables.schema import Column, Numeric


@dataclass(frozen=True, slots=True, eq=False)
class MomentsValue:
    """The value of a release of `Moments`. All arrays are in the order of the columns.

    Attributes
    ----------
    columns
        The names of the columns.
    mean
        The mean of each column.
    covariance
        The covariance matrix.
    """

    columns: tuple[str, ...]
    mean: Array
    covariance: Array

    @property
    def variance(self) -> Array:
        """The variance of each column."""
        return np.asarray(self.covariance.diagonal().copy())

    @property
    def standard_deviation(self) -> Array:
        """The standard deviation of each column."""
        return np.sqrt(self.variance)

    @property
    def correlation(self) -> Array:
        """The correlation matrix, in [-1, 1]; masked next to a released variance of 0, which has no correlations."""
        correlations, empty = matrix.correlations(self.covariance, "clip"), self.variance == 0
        if not empty.any():
            return correlations
        hidden = (empty[:, None] | empty) & ~np.eye(len(empty), dtype=np.bool_)
        return np.ma.array(correlations, mask=hidden, fill_value=np.nan)


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Moments(Statistic):
    """Means and the covariance matrix of the columns that have bounds, in one draw; see `inbounds.moments`.

    >>> Moments(bounds={"age": (0, 100), "bmi": (10, 60)}).title
    'moments of age, bmi'
    """

    bounds: Mapping[str, Bounds]
    repair: MatrixRepair | None = None
    missing: MissingOfAll | None = None
    integer: Collection[str] = ()
    _columns: tuple[Numeric, ...] = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "moments"
    traits: ClassVar[Traits] = Traits(columns="numbers")
    least_rows: ClassVar[int] = 2
    interval_methods: ClassVar[tuple[str, ...]] = bounded.METHODS

    def __post_init__(self) -> None:
        columns = several(self.bounds, self.missing, self.integer)
        repair = choose_repair(self.repair, len(columns))
        keep(self, **fields_of_several(columns), repair=repair, _columns=columns)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self._columns

    @property
    def title(self) -> str:
        return f"moments of {list_names(self._columns)}"

    def numbers(self, terms: Terms) -> int:
        return count_elements(len(self._columns), "joint", terms)

    def draft(self, terms: Terms) -> Draft:
        assert self.repair is not None
        check_method("joint", terms)
        columns = [quantise(column, terms) for column in self._columns]
        names = [column.name for column in self._columns]
        means: list[Bound] = [(column.lower, column.upper) for column in self._columns]
        way, axes = TableOfMoments(terms.rows, self.repair), [["mean", *names], names]
        if terms.rows is None:
            limits = [*means, *limits_of_sums(self._columns)]
            return draft_of_sums(self, terms, way, MomentSums(tuple(columns), products=True), limits, axes=axes)
        return draft_moments(self, terms, way, columns, [*means, *of_elements(self._columns, terms)], axes=axes)

    def share(self, terms: Terms) -> Share | None:
        """The part in a joint draw, with other statistics that are computed from moments."""
        assert terms.rows is not None
        assert self.repair is not None
        names = tuple(column.name for column in self._columns)
        means = ((column.lower, column.upper) for column in self._columns)
        bounds = (*means, *of_elements(self._columns, terms))
        return OfMoments(self._columns, TableOfMoments(terms.rows, self.repair), bounds, (("mean", *names), names))

    def present(self, table: Array) -> MomentsValue:
        """The value from a table that has the means in its first row and the matrix below."""
        return MomentsValue(tuple(column.name for column in self._columns), table[0], table[1:])

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        return intervals.interval_by(moments_table, release, level, kind, variance)

    def interval_with(self, release: Release, level: float, kind: str, method: str) -> Interval:
        """The interval by a method of its own name."""
        maker = normal_table if method == "normal" else moments_table
        return intervals.interval_by(maker, release, level, kind)
