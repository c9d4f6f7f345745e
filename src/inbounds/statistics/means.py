"""Mean and sum of a column."""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import ClassVar

from inbounds._keywords import explain_fields
from inbounds._types import Bounds, By, GroupLevels, GroupPlace, MeanMethod, Missing
from inbounds.derivations import MeanOfMoments, MeanOfSums, SumOfGroup
from inbounds.inference import intervals, means
from inbounds.inference.result import Interval
from inbounds.laws import least_variance
from inbounds.privacy.certified import Bound, joint_law
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft, Exact
from inbounds.record.release import Release
from inbounds.record.statistic import Statistic, Traits, register
from inbounds.statistics.base import (
    check_method,
    count_groups,
    fields_of_groups,
    fixed_denominator,
    keep,
    keys_of,
    labels_of,
    numeric,
    quantise,
    refuse_denominator,
    refuse_with,
    title_of,
)
from inbounds.statistics.drafts import draft_moments, draft_of_sums, draft_single, make_draft
from inbounds.statistics.share import Number as OneNumber
from inbounds.statistics.share import OfMoments, Share
from inbounds.tables import coordinates
from inbounds.tables.answers import Cells
from inbounds.tables.coordinates import MomentSums
from inbounds.tables.request import Request
from inbounds.tables.schema import Column, Levels, Numeric, Quantised

# The product of rows and ε from which a second moment says enough, and how much it may add to the error of a mean.
_ENOUGH, _DEARER = 100, 1.05


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Mean(Statistic):
    """The mean of a column within its bounds, of all records or of each group; see `inbounds.mean`.

    If the number of rows is public, it is Σx/n, which one record moves by at most (upper - lower)/n. If it is
    protected, and for groups, it is a noisy sum divided by a noisy count. With a fixed public ``denominator`` N it is
    c + Σ(x - c)/N, where c is the middle of the bounds.

    ``method="moments"`` draws Σu and Σu² together, where u = (x - c)/(W/2) and W is the width of the bounds, for a
    shorter interval.

    >>> Mean("age", bounds=(0, 100)).title
    'mean of age'
    """

    column: str
    bounds: Bounds
    method: MeanMethod | None = None
    missing: Missing | None = None
    integer: bool = False
    by: By | None = None
    levels: GroupLevels | None = None
    by_missing: GroupPlace | None = None
    other: GroupPlace | None = None
    denominator: int | None = None
    _column: Numeric = field(init=False, repr=False, compare=False)
    _keys: tuple[Levels, ...] = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "mean"
    traits: ClassVar[Traits] = Traits(meaning="centre")
    least_rows: ClassVar[int] = 1
    interval_methods: ClassVar[tuple[str, ...]] = means.METHODS

    def __post_init__(self) -> None:
        column = numeric(self.column, self.bounds, self.missing, self.integer)
        check_method(self.method)
        keys = keys_of(self.by, self.levels, self.by_missing, self.other)
        if keys:
            refuse_with("by=", denominator=self.denominator)
        keep(
            self,
            **fields_of_groups(keys),
            bounds=column.ends,
            missing=column.spelled_missing,
            denominator=fixed_denominator(self.denominator),
            _column=column,
            _keys=keys,
        )

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self._column, *self._keys

    @property
    def title(self) -> str:
        return title_of(f"mean of {self.column}", self._keys)

    def numbers(self, terms: Terms) -> int:
        of_sums = bool(self._keys) or (terms.rows is None and self.denominator is None)
        return (1 + of_sums + self._has_square(terms)) * count_groups(self._keys)

    def _has_square(self, terms: Terms) -> bool:
        """Whether the mean is drawn with its second moment."""
        if self.denominator is not None:
            if self.method == "moments":
                raise ValueError("method='moments' cannot be combined with denominator=")
            return False
        return find_method(self.method, terms, count_groups(self._keys) if self._keys else 0) == "moments"

    def draft(self, terms: Terms) -> Draft:
        refuse_denominator(self.denominator, terms)
        column, bound = quantise(self._column, terms), _bound(self._column)
        square = self._has_square(terms)
        if self._keys or (terms.rows is None and self.denominator is None):
            moments, bounds = MomentSums((column,), products=square), [bound] * count_groups(self._keys)
            way, axes = MeanOfSums(square), labels_of(self._keys)
            return draft_of_sums(self, terms, way, moments, bounds, by=self._keys, axes=axes)
        if square:
            assert terms.rows is not None
            return draft_moments(self, terms, MeanOfMoments(terms.rows), [column], [bound], of_mean=True)
        if terms.rows is None:
            assert self.denominator is not None
            number = coordinates.centred_mean(column, terms.unit, self.denominator)
        else:
            number = coordinates.mean(column, terms.unit, terms.rows)
        return draft_single(self, terms, number, Request((), (column,)), [column])

    def find_clipping(self, width: float) -> float:
        return width / 1000

    def share(self, terms: Terms) -> Share | None:
        """The mean of a public number of records follows from its sum, which a joint draw may have anyway."""
        if self._keys:
            return None
        refuse_denominator(self.denominator, terms)
        assert terms.rows is not None
        column = quantise(self._column, terms)
        number = OneNumber(coordinates.mean(column, terms.unit, terms.rows), Request((), (column,)), (column,))
        needs_square = self.method == "moments"
        way, bound = MeanOfMoments(terms.rows), _bound(self._column)
        return OfMoments((self._column,), way, (bound,), number=None if needs_square else number)

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        if variance is not None:
            return intervals.interval_with_variance(release, level, kind, variance)
        return intervals.interval_by(means.find_maker(release), release, level, kind)

    def interval_with(self, release: Release, level: float, kind: str, method: str) -> Interval:
        """The interval by a method of its own name."""
        return intervals.interval_by(means.find_maker(release, method), release, level, kind)


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Sum(Statistic):
    """The sum of a column, of all records or of each group, within n times its bounds where n is public."""

    column: str
    bounds: Bounds
    missing: Missing | None = None
    integer: bool = False
    by: By | None = None
    levels: GroupLevels | None = None
    by_missing: GroupPlace | None = None
    other: GroupPlace | None = None
    _column: Numeric = field(init=False, repr=False, compare=False)
    _keys: tuple[Levels, ...] = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "sum"
    traits: ClassVar[Traits] = Traits(meaning="total")
    least_rows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        column = numeric(self.column, self.bounds, self.missing, self.integer)
        if column.clock is not None:
            raise ValueError(f"a sum of dates or times means nothing; release the mean of {self.column!r}")
        keys = keys_of(self.by, self.levels, self.by_missing, self.other)
        rules = fields_of_groups(keys)
        keep(self, **rules, bounds=column.ends, missing=column.spelled_missing, _column=column, _keys=keys)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self._column, *self._keys

    @property
    def title(self) -> str:
        return title_of(f"sum of {self.column}", self._keys)

    def numbers(self, terms: Terms) -> int:
        return count_groups(self._keys)

    def draft(self, terms: Terms) -> Draft:
        column = quantise(self._column, terms)
        if self._keys:
            return self._draft_groups(terms, column)
        number = coordinates.total(column, terms.unit, terms.rows)
        return draft_single(self, terms, number, Request((), (column,)), [column])

    def _draft_groups(self, terms: Terms, column: Quantised) -> Draft:
        """The sum of each group, with its own noise: a record adds at most its larger bound to one of them."""
        bounds, most = self._column, max(abs(self._column.lower), abs(self._column.upper))
        size = count_groups(self._keys)
        lower, upper = (None if bounds.lower < 0 else Fraction(0)), (None if bounds.upper > 0 else Fraction(0))
        if terms.rows is not None:
            lower, upper = min(terms.rows * bounds.lower, Fraction(0)), max(terms.rows * bounds.upper, Fraction(0))
        groups = list(product(*(range(len(key.labels)) for key in self._keys)))

        def exact(cells: Cells) -> Exact:
            sums_of_groups = [cells.get(group, (0, (0,), ())) for group in groups]
            return [[count * bounds.lower + column.step * sums[0]] for count, sums, _ in sums_of_groups]

        return make_draft(
            self,
            terms,
            SumOfGroup(),
            joint_law(self.name, terms, most, 1, terms.unit.cell_changes),
            Request(self._keys, (column,)),
            exact,
            bounds=[(lower, upper)] * size,
            columns=[column, *self._keys],
            units=[Fraction(1)] * size,
            axes=labels_of(self._keys),
        )

    def share(self, terms: Terms) -> Share | None:
        """The sum of a public number of records can be drawn with other numbers."""
        if self._keys:
            return None
        column = quantise(self._column, terms)
        return OneNumber(coordinates.total(column, terms.unit, terms.rows), Request((), (column,)), (column,))

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        maker = intervals.limit_sums if self._keys else intervals.limit_mean
        return intervals.interval_by(maker, release, level, kind, variance)


# claim:mean-method
def find_method(method: MeanMethod | None, terms: Terms, groups: int = 0) -> MeanMethod:
    """The chosen method, or the one that is best for both the mean and its interval.

    With a public number of records the sum has Laplace noise by both methods. The direct method may have a staircase
    instead, which has less variance for large ε. The second moment is worth that where its own noise (4/ε) is small
    beside n/3, the sum of squares of values that are spread evenly over the bounds, and where the error of the mean of
    such values, with that of the sample, grows by at most a twentieth. For noisy sums and counts, and for ``groups``,
    it adds 8 to 17% to the noise. It is drawn with them unless groups of equal size would be too small.
    """
    if terms.bounding == "truncated":
        if method == "moments":
            raise ValueError(
                "bounding='truncated' needs method='direct', since noise of a joint draw cannot be truncated"
            )
        return "direct"
    if method is not None:
        return method
    epsilon, rows = float(terms.epsilon / terms.contributions), terms.rows
    if rows is None or groups:
        return "moments" if rows is None or rows * epsilon >= _ENOUGH * groups else "direct"
    if rows * epsilon < _ENOUGH:
        return "direct"
    even, most, least = rows / 3, 8 / epsilon**2, 4 * least_variance(epsilon)
    return "moments" if most + even <= _DEARER**2 * (least + even) else "direct"


def _bound(column: Numeric) -> Bound:
    return column.lower, column.upper
