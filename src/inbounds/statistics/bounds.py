"""Bounds that are released: where nearly all records of a column lie, on a coarse public grid."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from inbounds import _check
from inbounds._keywords import explain_fields
from inbounds._types import Edges as EdgeList
from inbounds._types import Missing, Number, Side
from inbounds.derivations import Chosen
from inbounds.expected.quantiles import find_tilt
from inbounds.inference import intervals, quantiles
from inbounds.inference.result import Interval
from inbounds.privacy.certificate import Certificate, Composition, compose
from inbounds.privacy.certified import choice_law
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft, Exact
from inbounds.record.release import Release
from inbounds.record.selection import terms_of
from inbounds.record.statistic import Statistic, Traits, register
from inbounds.statistics.base import keep
from inbounds.statistics.drafts import make_draft
from inbounds.tables.answers import Cells, counts_of
from inbounds.tables.request import Request
from inbounds.tables.schema import Column, Edges, Numeric

# Preferred numbers (IEC 60063, E24): about a tenth apart.
_SERIES = (10, 11, 12, 13, 15, 16, 18, 20, 22, 24, 27, 30, 33, 36, 39, 43, 47, 51, 56, 62, 68, 75, 82, 91)
# Powers of ten below the larger end.
_DECADES = 12
# The part of the points that records are assumed to take, for choosing the shape of the law.
_TAKEN = 0.1
SIDES = ("both", "upper", "lower")
# If no coverage is given: the number of records over ε beyond a bound with half of ε, at which bounds hardly ever land
# far away; and the coverage where the number of records is secret.
_BEYOND, _USUAL, _DIGITS = 30, Fraction(49, 50), 1_000_000
# How far such bounds are moved out: half of their width improves the means of most columns.
_MARGIN, _MOST_MARGIN = Fraction(1, 2), 100


@register
@explain_fields
@dataclass(frozen=True, slots=True)
class Bounds(Statistic):
    """Bounds between which a share of the records lies; see `inbounds.bounds`.

    >>> Bounds("income", within=(0, 1e9)).title
    'bounds of income'
    """

    column: str
    within: Sequence[Number] | None = None
    coverage: Number | None = None
    side: Side = "both"
    margin: Number | None = None
    edges: EdgeList | None = None
    missing: Missing | None = None
    _key: Edges = field(init=False, repr=False, compare=False)

    name: ClassVar[str] = "bounds"
    traits: ClassVar[Traits] = Traits(columns="free", meaning="centre")
    least_rows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _check.choice(self.side, "side", SIDES)
        coverage = None if self.coverage is None else _check.fraction(self.coverage, "coverage")
        if coverage is not None and not Fraction(1, 2) <= coverage < 1:
            raise ValueError(f"coverage must be at least 0.5 and below 1, got {_check.shown(self.coverage)}")
        if (self.within is None) == (self.edges is None):
            raise TypeError(
                "bounds need within=(lowest, highest), the widest that is possible, or edges=[...] to choose from"
            )
        if self.edges is None:
            wide = Numeric.of(self.column, self.within, None)
            if wide.clock is not None:
                raise ValueError("within= is for numbers; give dates and times to choose from as edges=[...]")
            key = Edges.of(self.column, list_points(wide.lower, wide.upper), self.missing)
            keep(self, within=wide.ends)
        else:
            key = Edges.of(self.column, self.edges, self.missing)
            keep(self, edges=key.ends)
        if self.missing == "level":
            raise ValueError(
                "missing = 'level' belongs to levels; say a number that missing values count as, or 'skip'"
            )
        wider = _MARGIN if coverage is None and self.edges is None else None
        margin = wider if self.margin is None else _check.fraction(self.margin, "margin")
        if margin is not None and not 0 <= margin <= _MOST_MARGIN:
            raise ValueError(f"margin must be between 0 and {_MOST_MARGIN}, got {_check.shown(self.margin)}")
        if margin and key.clock is not None:
            raise ValueError("margin= is for numbers; give wider edges=[...] for dates and times")
        keep(self, coverage=coverage, margin=margin, missing=key.spelled_missing, _key=key)

    def find_coverage(self, terms: Terms) -> Fraction:
        """The share of records that should lie within the bounds: the given one, or the largest that ε and the number
        of records allow."""
        if self.coverage is not None:
            return _check.fraction(self.coverage, "coverage")
        if terms.rows is None:
            return _USUAL
        beyond = _BEYOND * (2 if self.side == "both" else 1) * terms.contributions / (terms.epsilon * terms.rows)
        # In a few digits, rounded to less coverage.
        rounded = Fraction(-(-beyond * _DIGITS // 1), _DIGITS)
        return 1 - min(rounded if self.side == "both" else rounded / 2, Fraction(1, 2))

    def shares_of(self, terms: Terms) -> tuple[Fraction, ...]:
        """The shares of records below the bounds that are drawn."""
        outside = 1 - self.find_coverage(terms)
        return {"both": (outside / 2, 1 - outside / 2), "upper": (1 - outside,), "lower": (outside,)}[self.side]

    @property
    def inputs(self) -> tuple[Column, ...]:
        return (self._key,)

    @property
    def title(self) -> str:
        return f"bounds of {self.column}" + ("" if self.side == "both" else f", {self.side} end")

    @property
    def axis_names(self) -> list[str]:
        """The name of the axis of the value."""
        return ["end"]

    def present(self, table: Any) -> tuple[float, float]:
        """The value as a pair (lower, upper)."""
        lower, upper = self._complete_ends([float(x) for x in np.ravel(table)])
        return float(lower), float(upper)

    def _complete_ends(self, ends: Sequence[Any]) -> tuple[Any, Any]:
        """Both bounds: the released ones, and for a side that was not released the end of the grid."""
        edges = self._key.edges
        return (ends[0] if self.side != "upper" else edges[0]), (ends[-1] if self.side != "lower" else edges[-1])

    def ends_of(self, release: Release) -> tuple[Any, Any]:
        """The released bounds as exact numbers or dates, for a statistic that uses them."""
        way = release.derivation.as_chosen
        assert way is not None
        lower, upper = self._complete_ends(way.move_out(sorted(release.noisy)))
        texts = dict(zip(self._key.edges, self._key.ends, strict=True))
        return texts[lower], texts[upper]

    def describe_cost(self, release: Release) -> str:
        """Say in a report that bounds were released, and what clipping at them costs."""
        outside = 1 - self.find_coverage(terms_of(release.statistic, release.terms))
        ends = "either end" if self.side == "both" else f"the {self.side} end"
        share = f"{float(outside / (2 if self.side == 'both' else 1)):.2g}"
        wider = f" before they were moved out by {float(self.margin):g} of their width" if self.margin else ""
        return (
            f"These bounds were released, not known: about {share} of the records lie beyond {ends}{wider}. Where they "
            "are the bounds of a statistic, such records count as the bound: a mean is moved by their share times how "
            "far they lie beyond on average, which its interval does not contain."
        )

    def numbers(self, terms: Terms) -> int:
        return len(self.shares_of(terms))

    def draft(self, terms: Terms) -> Draft:
        key, shares = self._key, self.shares_of(terms)
        cells = len(key.edges) - 1
        offsets = {"both": (0, 1), "upper": (1,), "lower": (0,)}[self.side]
        way = Chosen(
            shares,
            tuple(range(len(shares))),
            size=terms.rows,
            points=key.edges,
            apart=True,
            offsets=offsets,
            tilts=self._tilts(terms, shares),
            margin=Fraction(self.margin or 0),
        )

        def exact(table: Cells) -> Exact:
            return counts_of(table, (cells,)).reshape(1, -1)

        draft = make_draft(
            self,
            terms,
            way,
            self._laws(terms, cells, shares),
            Request((key,)),
            exact,
            bounds=[(Fraction(0), Fraction(cells - 1))] * len(shares),
            columns=[key],
            units=[Fraction(1)] * len(shares),
            axes=[["lower", "upper"] if self.side == "both" else [self.side]],
        )
        return replace(draft, nodes=way.nodes)

    def _laws(self, terms: Terms, cells: int, shares: Sequence[Fraction]) -> Certificate | Composition:
        """Each bound has an equal share of ε. A substituted record moves scores by 1; an added or removed one by the
        larger share."""
        grid = Fraction(0), Fraction(1), cells - 1
        if cells < 2:
            raise ValueError("bounds need three edges or more to choose from")
        move = Fraction(1) if terms.neighbours == "substitute" else max(shares[-1], 1 - shares[0])
        part = Fraction(1, len(shares))
        laws = [choice_law(self.name, terms, grid, move * terms.contributions, 1, part) for _ in shares]
        return laws[0] if len(laws) == 1 else compose(laws, terms.epsilon)

    def _tilts(self, terms: Terms, shares: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Steeper scores towards the ends, for a public number of records, since few records lie beyond a bound."""
        if terms.rows is None:
            return ()
        rate = float(terms.epsilon) / (2 * terms.contributions * len(shares))
        return tuple(find_tilt(share, terms.rows, rate, _TAKEN) for share in shares)

    def interval(self, release: Release, level: float, kind: str, variance: Release | None) -> Interval:
        return intervals.interval_by(quantiles.limit_quantiles, release, level, kind, variance)


def list_points(lower: Fraction, upper: Fraction) -> list[Fraction]:
    """The ends, zero if it lies between them, and preferred numbers of either sign, of twelve powers of ten.

    >>> [str(x) for x in list_points(Fraction(0), Fraction(100))[-3:]]
    ['82', '91', '100']
    """
    top, power = max(abs(lower), abs(upper)), Fraction(1)
    while power < top:
        power *= 10
    while power >= 10 * top:
        power /= 10
    sizes = [power * digits / Fraction(10) ** (place + 1) for place in range(_DECADES + 1) for digits in _SERIES]
    inside = [x for size in sizes for x in (-size, size) if lower < x < upper]
    points = sorted({lower, upper, *inside, *([Fraction(0)] if lower < 0 < upper else [])})
    # Two points that no double distinguishes would be one.
    return [a for a, b in pairwise([*points, upper + 1]) if float(a) < float(b)]
