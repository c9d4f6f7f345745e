"""Covariance and correlation matrices."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, ClassVar

from inbounds import _check
from inbounds._keywords import explain_fields
from inbounds._types import Bounds, MatrixRepair, Method, MissingOfAll
from inbounds.derivations import Derivation, Matrix, MatrixOfMoments, MatrixOfSums
from inbounds.inference import bounded
from inbounds.inference.result import Interval
from inbounds.privacy.certified import Bound
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft
from inbounds.record.release import Release
from inbounds.record.statistic import Statistic, Traits, register
from inbounds.repairs import matrix
from inbounds.statistics.base import MATRIX_WAYS, fields_of_several, keep, list_names, quantise, several
from inbounds.statistics.drafts import draft_elements, draft_moments, draft_of_sums, limits_of_sums, triangle
from inbounds.statistics.share import OfMoments, Share
from inbounds.tables import coordinates
from inbounds.tables.coordinates import MomentSums
from inbounds.tables.request import Request
from inbounds.tables.schema import Column, Numeric


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Covariance(Statistic):
    """The sample covariance matrix (denominator n - 1) of the columns that have bounds; see `inbounds.covariance`.

    >>> Covariance(bounds={"age": (0, 100), "bmi": (10, 60)}).title
    'covariance of age, bmi'
    """

    bounds: Mapping[str, Bounds]
    method: Method = "joint"
    repair: MatrixRepair | None = None
    missing: MissingOfAll | None = None
    integer: Collection[str] = ()
    _columns: tuple[Numeric, ...] = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "covariance"
    traits: ClassVar[Traits] = Traits(columns="numbers", matrix=True)
    least_rows: ClassVar[int] = 2
    compares_methods: ClassVar[bool] = True
    interval_methods: ClassVar[tuple[str, ...]] = bounded.METHODS

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
        return count_elements(len(self._columns), self.method, terms)

    def list_ways(self, terms: Terms, *, states_mean: bool) -> Sequence[tuple[str, str]]:
        return MATRIX_WAYS

    def draft(self, terms: Terms) -> Draft:
        assert self.repair is not None
        check_method(self.method, terms)
        if terms.rows is None:
            way = MatrixOfSums(self.repair)
            return _draft_sums(self, terms, way, self._columns, limits_of_sums(self._columns))
        if self.method == "joint":
            return draft_matrix_of_moments(
                self, terms, MatrixOfMoments(terms.rows, self.repair), self._columns, of_elements(self._columns, terms)
            )
        return _draft_matrix(self, terms, Matrix(self.repair), self._columns)

    def share(self, terms: Terms) -> Share | None:
        """The part in a joint draw, with other statistics that are computed from moments."""
        assert terms.rows is not None
        assert self.repair is not None
        if self.method != "joint":
            return None
        names = tuple(column.name for column in self._columns)
        bounds = tuple(of_elements(self._columns, terms))
        return OfMoments(self._columns, MatrixOfMoments(terms.rows, self.repair), bounds, (names, names))

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        return bounded.interval_of_spread(release, level, kind, variance)

    def interval_with(self, release: Release, level: float, kind: str, method: str) -> Interval:
        """The interval by a method of its own name."""
        return bounded.interval_of_spread(release, level, kind, None, method)


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Correlation(Statistic):
    """The correlation matrix of the columns that have bounds; see `inbounds.correlation`.

    >>> Correlation(bounds={"age": (0, 100), "bmi": (10, 60)}).title
    'correlation of age, bmi'
    """

    bounds: Mapping[str, Bounds]
    method: Method = "joint"
    repair: MatrixRepair | None = None
    missing: MissingOfAll | None = None
    integer: Collection[str] = ()
    _columns: tuple[Numeric, ...] = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "correlation"
    traits: ClassVar[Traits] = Traits(columns="numbers", matrix=True)
    least_rows: ClassVar[int] = 2
    compares_methods: ClassVar[bool] = True
    interval_methods: ClassVar[tuple[str, ...]] = bounded.METHODS

    def __post_init__(self) -> None:
        columns = several(self.bounds, self.missing, self.integer)
        if len(columns) < 2:
            raise ValueError("a correlation needs two or more columns with bounds: that of one with itself is 1")
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
        return count_elements(len(self._columns), self.method, terms)

    def list_ways(self, terms: Terms, *, states_mean: bool) -> Sequence[tuple[str, str]]:
        return MATRIX_WAYS

    def draft(self, terms: Terms) -> Draft:
        assert self.repair is not None
        check_method(self.method, terms)
        limits: list[Bound] = [(Fraction(-1), Fraction(1))] * len(self._columns) ** 2
        if terms.rows is not None and self.method == "joint":
            way = MatrixOfMoments(terms.rows, self.repair, unit=True)
            return draft_matrix_of_moments(self, terms, way, self._columns, limits)
        if terms.rows is None:
            return _draft_sums(self, terms, MatrixOfSums(self.repair, unit=True), self._columns, limits)
        return _draft_matrix(self, terms, Matrix(self.repair, unit=True), self._columns)

    def share(self, terms: Terms) -> Share | None:
        """The part in a joint draw, with other statistics that are computed from moments."""
        assert terms.rows is not None
        assert self.repair is not None
        if self.method != "joint":
            return None
        names = tuple(column.name for column in self._columns)
        bounds: tuple[Bound, ...] = ((Fraction(-1), Fraction(1)),) * len(names) ** 2
        return OfMoments(self._columns, MatrixOfMoments(terms.rows, self.repair, unit=True), bounds, (names, names))

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        return bounded.interval_of_spread(release, level, kind, variance)

    def interval_with(self, release: Release, level: float, kind: str, method: str) -> Interval:
        """The interval by a method of its own name."""
        return bounded.interval_of_spread(release, level, kind, None, method)


METHODS = ("joint", "elements", "split")


def choose_repair(repair: Any, columns: int) -> Any:
    """The repair that was asked for, or the one that is closer to the truth for this number of columns."""
    return _check.choice(repair or matrix.default(columns), "repair", matrix.REPAIRS)


def check_method(method: str, terms: Terms) -> None:
    """Refuse what cannot be drawn jointly, or in turn."""
    if terms.rows is None and (method != "joint" or terms.bounding == "truncated"):
        raise ValueError(
            "without a public number of records (neighbours='add-remove', or a selection) method='joint' and "
            "bounding='bit' are needed"
        )
    if terms.bounding == "truncated" and method != "split":
        raise ValueError("bounding='truncated' needs method='split', since noise of a joint draw cannot be truncated")


def count_elements(columns: int, method: str, terms: Terms) -> int:
    """Count the noisy numbers of a matrix: its elements, or the sums of columns and products, and a count."""
    if terms.rows is None:
        return triangle(columns) + columns + 1
    return triangle(columns) + (columns if method == "joint" else 0)


def of_elements(columns: Sequence[Numeric], terms: Terms) -> list[Bound]:
    """Bounds of the elements of a covariance matrix, row by row."""
    assert terms.rows is not None
    numbers = coordinates.covariances([quantise(column, terms) for column in columns], terms.unit, terms.rows)
    bounds = [(number.lower, number.upper) for number in numbers]
    place = {pair: i for i, pair in enumerate(combinations_with_replacement(range(len(columns)), 2))}
    size = range(len(columns))
    return [bounds[place[min(i, j), max(i, j)]] for i in size for j in size]


def draft_matrix_of_moments(
    statistic: Statistic, terms: Terms, way: Derivation, columns: Sequence[Numeric], limits: Sequence[Bound]
) -> Draft:
    """Draft a matrix from the sums of its columns and of their products."""
    axes = [[column.name for column in columns]] * 2
    return draft_moments(statistic, terms, way, [quantise(column, terms) for column in columns], limits, axes=axes)


def _draft_sums(
    statistic: Covariance | Correlation,
    terms: Terms,
    way: MatrixOfSums,
    columns: tuple[Numeric, ...],
    limits: list[Bound],
) -> Draft:
    moments = MomentSums(tuple(quantise(column, terms) for column in columns), products=True)
    axes = [[column.name for column in columns]] * 2
    return draft_of_sums(statistic, terms, way, moments, limits, axes=axes)


def _draft_matrix(
    statistic: Covariance | Correlation, terms: Terms, way: Matrix, columns: tuple[Numeric, ...]
) -> Draft:
    assert terms.rows is not None
    quantised = [quantise(column, terms) for column in columns]
    return draft_elements(
        statistic,
        terms,
        way,
        coordinates.covariances(quantised, terms.unit, terms.rows),
        Request((), tuple(quantised), True),
        quantised,
        [[column.name for column in columns]] * 2,
        name="covariance",
        joint=statistic.method == "elements",
    )
