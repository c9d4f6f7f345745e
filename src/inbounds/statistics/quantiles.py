"""Quantiles of a column: points of a public grid that are chosen by their rank."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from inbounds import _check
from inbounds._keywords import explain_fields
from inbounds._types import Bounds, By, GroupLevels, GroupPlace, Missing, Number, QuantileMethod
from inbounds.derivations import Chosen
from inbounds.expected.quantiles import find_tilt
from inbounds.grid.nodes import halve, join
from inbounds.inference import intervals, quantiles
from inbounds.inference.result import Interval
from inbounds.privacy.certificate import Certificate, Composition
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft, Exact
from inbounds.record.release import Release
from inbounds.record.statistic import Statistic, Traits, register
from inbounds.statistics.base import (
    MOST_CELLS,
    check_method,
    count_groups,
    fields_of_groups,
    keep,
    keys_of,
    labels_of,
    numeric,
    title_of,
)
from inbounds.statistics.choices import MOST_TOGETHER, choice_laws, find_flanks, is_together, law_together
from inbounds.statistics.counted import TAKEN, draft_counted, find_cells, is_counted
from inbounds.statistics.drafts import make_draft
from inbounds.tables.answers import Cells, counts_of
from inbounds.tables.request import Request
from inbounds.tables.schema import Column, Levels, Numeric, Quantised, Steps

# Steps of a grid, and quantiles of one release.
MOST_STEPS = (1 << 16) - 1
MOST_QUANTILES = 1000
# How several quantiles are drawn.
QUANTILE_METHODS = ("together", "halving", "counts")
# The number of records for which intervals are short, where it is secret and no total says anything about it.
_TYPICAL = 2000


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Quantile(Statistic):
    """One or several quantiles of a column, of all records or of each group; see `inbounds.quantile`.

    >>> Quantile("age", q=(0.25, 0.5, 0.75), bounds=(0, 100)).title
    'quantiles 0.25, 0.5, 0.75 of age'
    """

    column: str
    q: Number | Sequence[Number]
    bounds: Bounds
    step: Number | None = None
    cover: Number | None = None
    missing: Missing | None = None
    integer: bool = False
    by: By | None = None
    levels: GroupLevels | None = None
    by_missing: GroupPlace | None = None
    other: GroupPlace | None = None
    method: QuantileMethod | None = None
    _column: Quantised = field(init=False, repr=False, compare=False)
    _keys: tuple[Levels, ...] = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "quantile"
    traits: ClassVar[Traits] = Traits(meaning="centre")
    least_rows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        q: Any = self.q
        several = isinstance(q, Sequence | np.ndarray) and not isinstance(q, str)
        shares = check_shares(q if several else [q])
        keep(self, q=shares if several else shares[0])
        check_method(self.method, QUANTILE_METHODS)
        if self.method is not None and len(shares) < 2:
            raise ValueError("method= is for several quantiles, as in q=(0.25, 0.5, 0.75)")
        _keep_rules(self)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The shares of records below each quantile."""
        q: Any = self.q
        return q if isinstance(q, tuple) else (q,)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self._column.column, *self._keys

    @property
    def title(self) -> str:
        what = "quantiles" if isinstance(self.q, tuple) else "quantile"
        labels = ", ".join(label_share(share) for share in self.shares[:9]) + (", ..." if len(self.shares) > 9 else "")
        return title_of(f"{what} {labels} of {self.column}", self._keys)

    @property
    def axis_names(self) -> list[str]:
        """The names of the axes of the value."""
        return [key.name for key in self._keys] + (["q"] if isinstance(self.q, tuple) else [])

    def present(self, table: Any) -> Any:
        """The value as numbers of the column: whole numbers if the column has these."""
        return to_whole(table, self._column.column)

    def numbers(self, terms: Terms) -> int:
        if find_method(self, terms) == "counts":
            return find_cells(terms, self._column.count + 1)
        return len(_find_drawn_shares(self, terms)[0]) * count_groups(self._keys)

    def draft(self, terms: Terms) -> Draft:
        labels = [[label_share(share) for share in self.shares]] if isinstance(self.q, tuple) else []
        axes, method = [*labels_of(self._keys), *labels], find_method(self, terms)
        if method == "counts":
            return draft_counted(self, terms, self.shares, self._column, axes)
        return _draft(self, terms, self.shares, axes, together=method == "together")

    def advise_cover(self) -> str:
        return _advise_cover(self.cover, len(self.shares))

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        return intervals.interval_by(quantiles.limit_quantiles, release, level, kind, variance)


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Median(Statistic):
    """The median of a column, of all records or of each group; see `inbounds.median`.

    >>> Median("age", bounds=(0, 100)).title
    'median of age'
    """

    column: str
    bounds: Bounds
    step: Number | None = None
    cover: Number | None = None
    missing: Missing | None = None
    integer: bool = False
    by: By | None = None
    levels: GroupLevels | None = None
    by_missing: GroupPlace | None = None
    other: GroupPlace | None = None
    _column: Quantised = field(init=False, repr=False, compare=False)
    _keys: tuple[Levels, ...] = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "median"
    traits: ClassVar[Traits] = Traits(meaning="centre")
    least_rows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _keep_rules(self)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The share of records below it."""
        return (Fraction(1, 2),)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self._column.column, *self._keys

    @property
    def title(self) -> str:
        return title_of(f"median of {self.column}", self._keys)

    def present(self, table: Any) -> Any:
        """The value as numbers of the column: whole numbers if the column has these."""
        return to_whole(table, self._column.column)

    def numbers(self, terms: Terms) -> int:
        return len(_find_drawn_shares(self, terms)[0]) * count_groups(self._keys)

    def draft(self, terms: Terms) -> Draft:
        return _draft(self, terms, self.shares, labels_of(self._keys))

    def advise_cover(self) -> str:
        return _advise_cover(self.cover, len(self.shares))

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        return intervals.interval_by(quantiles.limit_quantiles, release, level, kind, variance)


def _advise_cover(cover: Number | None, shares: int) -> str:
    """How quantiles without an interval could have one."""
    if cover is not None:
        return "the interval that was paid for is the bounds; with a larger epsilon it may be shorter"
    # Without ``cover``, several quantiles have intervals that are made from each other, or none.
    if shares == 1:
        return "no interval was paid for; cover = 0.95 of a quantile pays for one"
    return "no interval is known; one q at a time with cover = 0.95 has one"


def _keep_rules(statistic: "Quantile | Median") -> None:
    """Check the fields that both classes have, and set them as a record has them."""
    column = numeric(statistic.column, statistic.bounds, statistic.missing, statistic.integer)
    keys = keys_of(statistic.by, statistic.levels, statistic.by_missing, statistic.other)
    quantised = cut_column(column, statistic.step)
    groups, points = count_groups(keys), quantised.count + 1
    if groups * points > MOST_CELLS:
        raise ValueError(f"{groups} groups of {points} points are more than {MOST_CELLS:,}; use a larger step=")
    cover = None if statistic.cover is None else _check.fraction(statistic.cover, "cover")
    if cover is not None and not Fraction(1, 2) <= cover < 1:
        raise ValueError(f"cover must be a confidence of at least 0.5 and below 1, got {_check.shown(statistic.cover)}")
    if cover is not None and len(statistic.shares) > 1:
        raise ValueError("cover= is for one quantile; the intervals of several are made of each other")
    step = None if statistic.step is None else _check.fraction(statistic.step, "step")
    rules = fields_of_groups(keys)
    keep(statistic, **rules, bounds=column.ends, missing=column.spelled_missing, step=step, cover=cover)
    keep(statistic, _column=quantised, _keys=keys)


def check_shares(q: Sequence[Any]) -> tuple[Fraction, ...]:
    """Shares in (0, 1) that increase, as fractions."""
    shares = tuple(_check.fraction(number, "q") for number in q)
    if not shares:
        raise ValueError("q must have at least one number")
    if not all(0 < share < 1 for share in shares):
        wrong = next(number for number, share in zip(q, shares, strict=True) if not 0 < share < 1)
        raise ValueError(
            f"q must lie between 0 and 1, both excluded, as in 0.5 for the median, got {_check.shown(wrong)}"
        )
    if any(a >= b for a, b in pairwise(shares)):
        raise ValueError("q must increase, as in q=(0.25, 0.5, 0.75)")
    if len(shares) > MOST_QUANTILES:
        raise ValueError(f"q must have at most {MOST_QUANTILES} numbers, got {len(shares)}")
    return shares


def label_share(share: Fraction) -> str:
    """A share as labels write it."""
    return f"{float(share):g}"


def to_whole(table: Any, column: Numeric) -> Any:
    """Values of a column that has whole numbers."""
    if not column.integer:
        return table
    return np.rint(table).astype(np.int64) if np.ndim(table) else round(table)


def cut_column(column: Numeric, step: Any) -> Quantised:
    """A column in the given steps, in its own whole numbers, or in the finest round steps that are not too many."""
    if step is not None:
        exact = _check.fraction(step, "step")
        count = column.width / exact if exact > 0 else Fraction(0)
        if not (count.denominator == 1 and 1 <= count <= MOST_STEPS) or (column.integer and exact.denominator != 1):
            whole = " and be whole" if column.integer else ""
            raise ValueError(
                f"step of {column.name!r} must divide the width of the bounds into at most {MOST_STEPS:,} parts{whole}"
                f", got {_check.shown(step)}"
            )
        return Quantised(column, int(count))
    if column.integer and column.width <= MOST_STEPS:
        return Quantised(column, int(column.width))
    return Quantised(column, _find_count(column))


def _find_count(column: Numeric) -> int:
    """The number of steps of 1, 2 or 5 times a power of ten, for the smallest that fits; else the most steps."""
    power = Fraction(1)
    while column.width / power > MOST_STEPS:
        power *= 10
    while column.width / (power / 10) <= MOST_STEPS:
        power /= 10
    # From the finest that may fit; steps of whole numbers are whole.
    for times in (Fraction(1, 5), Fraction(1, 2), 1, 2, 5, 10, 20, 50):
        count = column.width / (power * times)
        whole = not column.integer or (power * times).denominator == 1
        if count.denominator == 1 and count <= MOST_STEPS and whole:
            return int(count)
    if column.integer:
        raise ValueError(
            f"bounds of {column.name!r} are more than {MOST_STEPS:,} whole numbers apart: give a step= that divides "
            "their width, or bounds with a round width"
        )
    return MOST_STEPS


def _find_drawn_shares(statistic: "Quantile | Median", terms: Terms) -> tuple[tuple[Fraction, ...], tuple[int, ...]]:
    """The shares that are drawn: those of the statistic and, with ``cover``, one on either side of each. Where the
    number of records is secret, their ranks are some records further out."""
    keys, points, cover = statistic._keys, statistic._column.count + 1, statistic.cover
    if cover is not None and (terms.rows is None or keys):
        size = _TYPICAL if terms.rows is None else terms.rows // (4 * count_groups(keys))
        (share,), exact = statistic.shares, _check.fraction(cover, "cover")
        return find_flanks(share, exact, terms, points, size=max(size, 1), grouped=bool(keys))
    return quantiles.add_flanks(statistic.shares, cover, terms, points), ()  # type: ignore[arg-type]


def find_method(statistic: Quantile, terms: Terms) -> QuantileMethod | None:
    """The method for several quantiles: the given one, or the one with the least expected error; None for one."""
    shares, groups, points = statistic.shares, count_groups(statistic._keys), statistic._column.count + 1
    if len(shares) < 2:
        return None
    can_count = terms.rows is not None and not statistic._keys
    if statistic.method == "counts" and not can_count:
        raise ValueError(
            "method='counts' needs a public number of records; with neighbours='add-remove', groups and selections "
            "leave it out"
        )
    fits = is_together(shares, terms, points, groups)
    if statistic.method == "together" and not fits:
        raise ValueError(
            f"method='together' is for at most {MOST_TOGETHER} quantiles, and where it does not take longer than about "
            "a second: with a larger epsilon, fewer groups or a larger step; use method='halving'"
        )
    if statistic.method is not None:
        return statistic.method
    if can_count:
        law, nodes = _law_of_several(statistic, terms, together=fits), join(shares) if fits else halve(shares)
        if is_counted(shares, terms, points, law, nodes):
            return "counts"
    return "together" if fits else "halving"


def _law_of_several(statistic: Quantile, terms: Terms, *, together: bool) -> Certificate | Composition:
    make, grouped = law_together if together else choice_laws, bool(statistic._keys)
    return make(statistic, terms, _grid_of(statistic._column), statistic.shares, grouped=grouped)


def _grid_of(column: Quantised) -> tuple[Fraction, Fraction, int]:
    return column.column.lower, column.step, column.count


def _draft(
    statistic: "Quantile | Median",
    terms: Terms,
    q: Sequence[Fraction],
    axes: Sequence[Sequence[str]],
    *,
    together: bool = False,
) -> Draft:
    (shares, shifts), keys, column = _find_drawn_shares(statistic, terms), statistic._keys, statistic._column
    middle = None if statistic.cover is None else q[0]
    groups, bounds = count_groups(keys), column.column
    grid = _grid_of(column)
    shape = (*(len(key.labels) for key in keys), column.count + 1)
    size = None if terms.rows is None else terms.rows if not keys else max(1, terms.rows // (4 * groups))

    def exact(cells: Cells) -> Exact:
        return counts_of(cells, shape).reshape(groups, -1)

    tilts: tuple[Fraction, ...] = ()
    if len(shares) == 1 and terms.rows is not None and not keys:
        rate = float(terms.epsilon) / (2 * terms.contributions)
        tilts = (find_tilt(shares[0], terms.rows, rate, TAKEN),)
    way = Chosen(
        shares,
        tuple(shares.index(share) for share in q),
        groups,
        size,
        apart=middle is not None,
        tilts=tilts,
        together=together,
        shifts=shifts,
        # Where the number of records is secret, scores cannot be tilted by that number.
        inward=len(shares) == 1 and not tilts,
    )
    draft = make_draft(
        statistic,
        terms,
        way,
        law_together(statistic, terms, grid, shares, grouped=bool(keys))
        if together
        else choice_laws(statistic, terms, grid, shares, middle=middle, grouped=bool(keys)),
        Request((*keys, Steps(column))),
        exact,
        bounds=[(bounds.lower, bounds.upper)] * (len(shares) * groups),
        columns=[column, *keys],
        units=[Fraction(1)] * (len(shares) * groups),
        axes=axes,
    )
    return replace(draft, nodes=way.nodes)
