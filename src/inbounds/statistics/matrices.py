"""Covariance and correlation matrices."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from inbounds import _check
from inbounds._types import Bounds, MatrixRepair, Method
from inbounds.derivations import Matrix, MatrixOfSums
from inbounds.inference import intervals, spreads
from inbounds.inference.result import Interval
from inbounds.privacy.certified import Bound
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft
from inbounds.record.release import Release
from inbounds.record.statistic import Traits, register
from inbounds.repairs import matrix
from inbounds.statistics.base import (
    draft_elements,
    draft_of_sums,
    fields_of_several,
    keep,
    limits_of_sums,
    list_names,
    quantise,
    several,
    triangle,
)
from inbounds.tables import coordinates
from inbounds.tables.coordinates import Moments
from inbounds.tables.request import Request
from inbounds.tables.schema import Column, Numeric


@register
@dataclass(frozen=True, slots=True)
class Covariance:
    """The sample covariance matrix (denominator n - 1) of the columns that have bounds.

    ``method="joint"`` draws all elements together with sup-norm noise, which is better than ``"split"``, each with a
    share of ε: variances first, then each covariance within what they allow. ``repair`` makes it positive semidefinite.
    """

    bounds: Mapping[str, Bounds]
    method: Method = "joint"
    repair: MatrixRepair | None = None
    missing: Mapping[str, Any] | None = None
    integer: Collection[str] = ()
    _columns: tuple[Numeric, ...] = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "covariance"
    traits: ClassVar[Traits] = Traits(columns="numbers", matrix=True)
    least_rows: ClassVar[int] = 2

    def __post_init__(self) -> None:
        columns = several(self.bounds, self.missing, self.integer)
        repair = choose_repair(self.repair, len(columns))
        _check.choice(self.method, "method", METHODS)
        keep(self, **fields_of_several(columns), repair=repair, _columns=columns)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self._columns

    @property
    def title(self) -> str:
        return f"covariance of {list_names(self._columns)}"

    def numbers(self, terms: Terms) -> int:
        return count_elements(len(self._columns), terms)

    def draft(self, terms: Terms) -> Draft:
        assert self.repair is not None
        if terms.rows is None:
            way = MatrixOfSums(self.repair)
            return _draft_sums(self, terms, way, self._columns, limits_of_sums(self._columns))
        return _draft_matrix(self, terms, Matrix(self.repair), self._columns)

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        return matrix_interval(release, level, kind, variance)


@register
@dataclass(frozen=True, slots=True)
class Correlation:
    """The correlation matrix, from released covariances: within [-1, 1]; none next to a released variance of 0."""

    bounds: Mapping[str, Bounds]
    method: Method = "joint"
    repair: MatrixRepair | None = None
    missing: Mapping[str, Any] | None = None
    integer: Collection[str] = ()
    _columns: tuple[Numeric, ...] = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "correlation"
    traits: ClassVar[Traits] = Traits(columns="numbers", matrix=True, unit_diagonal=True, needs_truth=True)
    least_rows: ClassVar[int] = 2

    def __post_init__(self) -> None:
        columns = several(self.bounds, self.missing, self.integer)
        repair = choose_repair(self.repair, len(columns))
        _check.choice(self.method, "method", METHODS)
        keep(self, **fields_of_several(columns), repair=repair, _columns=columns)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self._columns

    @property
    def title(self) -> str:
        return f"correlation of {list_names(self._columns)}"

    def numbers(self, terms: Terms) -> int:
        return count_elements(len(self._columns), terms)

    def draft(self, terms: Terms) -> Draft:
        assert self.repair is not None
        if terms.rows is None:
            limits: list[Bound] = [(Fraction(-1), Fraction(1))] * len(self._columns) ** 2
            return _draft_sums(self, terms, MatrixOfSums(self.repair, unit=True), self._columns, limits)
        return _draft_matrix(self, terms, Matrix(self.repair, unit=True), self._columns)

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        return matrix_interval(release, level, kind, variance)


METHODS = ("joint", "split")


def choose_repair(repair: Any, columns: int) -> Any:
    """The way to a possible matrix: as asked for, or the one that is nearer to the truth at this size."""
    return _check.choice(repair or matrix.default(columns), "repair", matrix.REPAIRS)


def check_method(method: str, terms: Terms) -> None:
    """Refuse what cannot be drawn jointly, or in turn."""
    if terms.protects_rows and (method == "split" or terms.bounding == "truncated"):
        raise ValueError(
            "neighbours='add-remove' draws all sums and the count together; use method='joint' and bounding='bit'"
        )
    if terms.bounding == "truncated" and method == "joint":
        raise ValueError(
            "bounding='truncated' needs method='split': numbers drawn together are clamped, which costs no privacy"
        )


def count_elements(columns: int, terms: Terms) -> int:
    """Noisy numbers that a matrix is made of: its elements, or a count and sums."""
    return triangle(columns) + (1 + columns if terms.rows is None else 0)


def matrix_interval(release: Release, level: float, kind: str, variance: Release | None) -> Interval:
    """Limits of each element of a matrix."""
    maker = spreads.of_sums if release.derivation.of_sums else spreads.matrix
    return intervals.interval_by(maker, release, level, kind, variance)


def _draft_sums(
    statistic: Covariance | Correlation,
    terms: Terms,
    way: MatrixOfSums,
    columns: tuple[Numeric, ...],
    limits: list[Bound],
) -> Draft:
    check_method(statistic.method, terms)
    moments = Moments(tuple(quantise(column, terms) for column in columns), products=True)
    axes = [[column.name for column in columns]] * 2
    return draft_of_sums(statistic, terms, way, moments, limits, axes=axes)


def _draft_matrix(
    statistic: Covariance | Correlation, terms: Terms, way: Matrix, columns: tuple[Numeric, ...]
) -> Draft:
    check_method(statistic.method, terms)
    assert terms.rows is not None
    stepped = [quantise(column, terms) for column in columns]
    return draft_elements(
        statistic,
        terms,
        way,
        coordinates.covariances(stepped, terms.unit, terms.rows),
        Request((), tuple(stepped), True),
        stepped,
        [[column.name for column in columns]] * 2,
        name="covariance",
        joint=statistic.method == "joint",
    )
