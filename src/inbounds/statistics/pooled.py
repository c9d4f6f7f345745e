"""Variances and covariances within groups, pooled."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from inbounds import _check
from inbounds._keywords import explain_fields
from inbounds._types import Bounds, Level, MatrixRepair, Number, PooledMethod
from inbounds._types import Levels as LevelList
from inbounds.derivations import Matrix, MatrixOfSums
from inbounds.inference import bounded
from inbounds.inference.result import Interval
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft
from inbounds.record.release import Release
from inbounds.record.statistic import Statistic, Traits, register
from inbounds.statistics.base import (
    MATRIX_WAYS,
    fields_of_several,
    groups_of,
    keep,
    list_names,
    numeric,
    quantise,
    several,
)
from inbounds.statistics.drafts import draft_elements, draft_of_sums, draft_single, limits_of_sums, triangle
from inbounds.statistics.matrices import check_method, choose_repair
from inbounds.tables import coordinates
from inbounds.tables.coordinates import MomentSums
from inbounds.tables.request import Request
from inbounds.tables.schema import Column, DataError, Levels, Numeric


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class PooledVariance(Statistic):
    """The pooled variance within J groups, Σ_j Σ (x - mean_j)² / (n - J); see `inbounds.pooled_variance`.

    >>> PooledVariance("age", by="arm", levels=["a", "b"], bounds=(0, 100)).title
    'pooled variance of age by arm'
    """

    column: str
    by: str = field()
    levels: LevelList
    bounds: Bounds
    sizes: Sequence[int] | Mapping[Level, int] | None = None
    missing: Number | None = None
    integer: bool = False
    by_missing: Level | None = None
    other: Level | None = None
    _column: Numeric = field(init=False, repr=False, compare=False)
    _key: Levels = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "pooled_variance"
    traits: ClassVar[Traits] = Traits(meaning="squared spread")
    interval_methods: ClassVar[tuple[str, ...]] = bounded.METHODS

    def __post_init__(self) -> None:
        column = numeric(self.column, self.bounds, self.missing, self.integer)
        key = groups_of(self.by, self.levels, self.by_missing, self.other)
        keep(
            self,
            bounds=column.ends,
            missing=column.spelled_missing,
            levels=key.levels,
            sizes=_public_sizes(self.sizes, key),
            _column=column,
            _key=key,
        )

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self._column, self._key

    @property
    def title(self) -> str:
        return f"pooled variance of {self.column} by {self.by}"

    @property
    def least_rows(self) -> int:
        return len(self._key.labels) + 1

    def numbers(self, terms: Terms) -> int:
        return 3 * len(self._key.labels) if terms.rows is None else 1

    def draft(self, terms: Terms) -> Draft:
        sizes = _check_sizes(self.sizes, terms)
        column = quantise(self._column, terms)
        if terms.rows is None:
            moments, limits = MomentSums((column,), products=True), limits_of_sums([self._column])
            return draft_of_sums(self, terms, MatrixOfSums("clip", pooled=True), moments, limits, by=[self._key])
        (number,) = coordinates.pooled([column], terms.unit, terms.rows, len(self._key.labels), sizes=sizes)
        request = Request((self._key,), (column,), True)
        return draft_single(self, terms, number, request, [column, self._key], sizes=sizes)

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        return bounded.interval_of_spread(release, level, kind, variance)

    def interval_with(self, release: Release, level: float, kind: str, method: str) -> Interval:
        """The interval by a method of its own name."""
        return bounded.interval_of_spread(release, level, kind, None, method)


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class PooledCovariance(Statistic):
    """The pooled covariance matrix within groups; see `inbounds.pooled_covariance`.

    >>> PooledCovariance(by="arm", levels=["a", "b"], bounds={"age": (0, 100), "bmi": (10, 60)}).title
    'pooled covariance of age, bmi by arm'
    """

    by: str = field()
    levels: LevelList
    bounds: Mapping[str, Bounds]
    method: PooledMethod = "joint"
    repair: MatrixRepair | None = None
    sizes: Sequence[int] | Mapping[Level, int] | None = None
    missing: Mapping[str, Number] | None = None
    integer: Collection[str] = ()
    by_missing: Level | None = None
    other: Level | None = None
    _columns: tuple[Numeric, ...] = field(init=False, repr=False, compare=False)
    _key: Levels = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "pooled_covariance"
    traits: ClassVar[Traits] = Traits(columns="numbers", matrix=True)
    compares_methods: ClassVar[bool] = True
    interval_methods: ClassVar[tuple[str, ...]] = bounded.METHODS

    def __post_init__(self) -> None:
        columns = several(self.bounds, self.missing, self.integer)
        repair = choose_repair(self.repair, len(columns))
        _check.choice(self.method, "method", ("joint", "split"))
        key = groups_of(self.by, self.levels, self.by_missing, self.other)
        sizes = _public_sizes(self.sizes, key)
        fields = fields_of_several(columns)
        keep(self, **fields, repair=repair, levels=key.levels, sizes=sizes, _columns=columns, _key=key)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return *self._columns, self._key

    @property
    def title(self) -> str:
        return f"pooled covariance of {list_names(self._columns)} by {self.by}"

    @property
    def least_rows(self) -> int:
        return len(self._key.labels) + 1

    def numbers(self, terms: Terms) -> int:
        columns = len(self._columns)
        if terms.rows is None:
            return len(self._key.labels) * (1 + columns + triangle(columns))
        return triangle(columns)

    def list_ways(self, terms: Terms, *, states_mean: bool) -> Sequence[tuple[str, str]]:
        return MATRIX_WAYS

    def draft(self, terms: Terms) -> Draft:
        assert self.repair is not None
        check_method(self.method, terms)
        sizes = _check_sizes(self.sizes, terms)
        quantised, axes = [quantise(column, terms) for column in self._columns], [list(self.bounds)] * 2
        if terms.rows is None:
            way, moments = MatrixOfSums(self.repair, pooled=True), MomentSums(tuple(quantised), products=True)
            limits = limits_of_sums(self._columns)
            return draft_of_sums(self, terms, way, moments, limits, by=[self._key], axes=axes)
        cells = len(self._key.labels)
        return draft_elements(
            self,
            terms,
            Matrix(self.repair),
            coordinates.pooled(quantised, terms.unit, terms.rows, cells, sizes=sizes),
            Request((self._key,), tuple(quantised), True),
            [*quantised, self._key],
            axes,
            name=self.name,
            joint=self.method == "joint",
            sizes=sizes,
        )

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        return bounded.interval_of_spread(release, level, kind, variance)

    def interval_with(self, release: Release, level: float, kind: str, method: str) -> Interval:
        """The interval by a method of its own name."""
        return bounded.interval_of_spread(release, level, kind, None, method)


def _public_sizes(sizes: Any, key: Levels) -> tuple[int, ...] | None:
    """The sizes of groups in the order of the levels, from a dictionary by level or from the list of a record."""
    if sizes is None:
        return None
    if isinstance(sizes, tuple | list) and len(sizes) == len(key.levels):
        sizes = dict(zip(key.levels, sizes, strict=True))
    if not isinstance(sizes, Mapping) or set(sizes) != set(key.levels):
        raise TypeError("sizes must be a dictionary with the number of rows of every level")
    return tuple(_check.integer(sizes[level], f"sizes[{level!r}]", least=1) for level in key.levels)


def _check_sizes(sizes: Any, terms: Terms) -> tuple[int, ...] | None:
    if sizes is None:
        return None
    if terms.rows is None:
        raise ValueError(
            "sizes= cannot be combined with neighbours='add-remove', where the sizes of groups are protected"
        )
    if sum(sizes) != terms.rows:
        raise DataError("sizes= must add up to the number of rows")
    return tuple(sizes)
