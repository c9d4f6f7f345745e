"""Points that were chosen by the exponential mechanism: quantiles, and bounds."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from inbounds._check import Array
from inbounds.derivations.base import Coordinates, Limits, Situation
from inbounds.derivations.columns import Points
from inbounds.expected.quantiles import Spread, simulate_choices
from inbounds.grid.nodes import Node, halve, join, keep_apart
from inbounds.privacy.certificate import Certificate

DRAWS = 200
_EVEN = "expected errors are those of {}records that lie evenly between the released points and the bounds"


@dataclass(frozen=True, slots=True)
class Chosen(Points):
    """Points of a grid, one for each of some increasing ``shares``, in each of some groups.

    ``shown`` are the places of the shares of the statistic; the others were drawn for their intervals. ``size`` is the
    number of records of a group, as far as it is known; None if nothing is known. ``points`` are those of an uneven
    grid, of which places are drawn. Shares that are drawn ``apart`` do not depend on each other. With ``offsets`` cells
    between points are drawn, and each is shown as the point at one of its ends. ``tilts`` are those of scores, for one
    share or for shares that are drawn apart. Shares that are drawn ``together`` are one draw. ``shifts`` are numbers of
    records by which ranks are moved up. With a ``margin`` both ends are shown further out by that part of their width,
    at the next point. Shares that are drawn apart may lean ``inward``.
    """

    shares: tuple[Fraction, ...]
    shown: tuple[int, ...] = field()
    groups: int = 1
    size: int | None = None
    points: tuple[Fraction, ...] | None = None
    apart: bool = False
    offsets: tuple[int, ...] = ()
    tilts: tuple[Fraction, ...] = ()
    together: bool = False
    shifts: tuple[int, ...] = ()
    margin: Fraction = Fraction(0)
    inward: bool = False

    @property
    def as_chosen(self) -> "Chosen":
        return self

    @property
    def text(self) -> str:
        if len(self.shares) == 1:
            return "a point chosen by its rank"
        if self.together:
            return "points chosen together by their ranks"
        return "points chosen by their ranks" if self.apart else "points chosen by recursive halving"

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The draws."""
        if self.together:
            return join(self.shares)
        apart = self.apart or len(self.shares) == 1
        return keep_apart(self.shares, self.tilts, self.shifts, inward=self.inward) if apart else halve(self.shares)

    @property
    def depths(self) -> tuple[int, ...]:
        """The depth of each number's draw; empty if all have one law."""
        if len(self.shares) == 1 or self.together:
            return ()
        depth = {node.place: node.depth for node in self.nodes}
        return tuple(depth[place] for place in sorted(depth)) * self.groups

    def all_values(self, noisy: Sequence[Fraction]) -> list[float]:
        """The points of all shares that were drawn, in order; those that were drawn apart are sorted."""
        count = len(self.shares)
        rows = [noisy[start : start + count] for start in range(0, len(noisy), count)]
        places = [place for row in rows for place in (sorted(row) if self.apart else row)]
        return [float(x) for x in places] if self.points is None else [float(x) for x in self.ends_of(places)]

    def ends_of(self, places: Sequence[Fraction]) -> list[Fraction]:
        """The points of drawn places, in order, of an uneven grid."""
        assert self.points is not None
        offsets = self.offsets or (0,) * len(places)
        return [self.points[int(place) + offset] for place, offset in zip(places, offsets, strict=True)]

    def move_out(self, places: Sequence[Fraction]) -> list[Fraction]:
        """The same, moved out by the margin. An end that was not drawn is that of the grid."""
        ends, points = self.ends_of(places), self.points
        assert points is not None
        lower = points[0] if self.offsets[0] else ends[0]
        upper = ends[-1] if self.offsets[-1] else points[-1]
        more = self.margin * (upper - lower)
        low = points[max(bisect_right(points, lower - more) - 1, 0)]
        high = points[min(bisect_left(points, upper + more), len(points) - 1)]
        return [high if offset else low for offset in self.offsets]

    def ends(self, columns: Array) -> tuple[float, float]:
        ends = columns[0] if self.points is None else (self.points[0], self.points[-1])
        return float(ends[0]), float(ends[-1])

    def values(self, noisy: Array, limits: Limits) -> Array:
        within = np.clip(noisy, limits.lower, limits.upper)
        if self.apart:
            rows = within.reshape(*within.shape[:-1], self.groups, len(self.shares))
            within = np.sort(rows, axis=-1).reshape(within.shape)
        if self.points is not None:
            places: list[list[Any]] = within.astype(np.int64).reshape(-1, len(self.shares)).tolist()
            ends = [[float(x) for x in self.move_out(row)] for row in places]
            within = np.array(ends).reshape(within.shape)
        each = within.reshape(*within.shape[:-1], self.groups, len(self.shares))[..., self.shown]
        return np.asarray(each.reshape(*within.shape[:-1], -1))

    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        """Errors if records are spread evenly between the released points; at worst, the width of the bounds.

        If nothing is known about the number of records, every point of the bounds is as likely as any other.
        """
        lower, upper = self.ends(np.array([[coordinates.limits.lower[0], coordinates.limits.upper[0]]]))
        worth = self.values_of_all(coordinates).reshape(self.groups, -1)
        ranks = np.array([0.0, *map(float, self.shares), 1.0])
        errors_of_groups = [
            self.errors_for(
                Spread.through(np.array([lower, *points, upper]), ranks), coordinates.certificate, self.size
            )
            for points in np.maximum.accumulate(worth, axis=1)
        ]
        errors = np.concatenate(errors_of_groups, axis=1)
        width = np.full(errors.shape[1], upper - lower)
        return errors, (width, width)

    def values_of_all(self, coordinates: Coordinates) -> Array:
        """The points of all shares of all groups."""
        return np.array(self.all_values(coordinates.noisy)) if self.apart else coordinates.worth

    def errors_for(self, law: Spread, certificate: Any, size: int | None, draws: int | None = None) -> Array:
        parts = (certificate,) if isinstance(certificate, Certificate) else certificate.parts
        spreads = [part.grid.scale.steps for part in parts]
        nodes, places = self.nodes, list(self.shown)
        step = 0.0 if self.points is not None else float(parts[0].step)
        errors = simulate_choices(law, nodes, spreads, size or 0, step, draws or DRAWS)
        return errors[:, places]

    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        """The points of nearly normal records."""
        truth = self.find_truths(situation).typical
        each = self.spread_of(truth, situation).at(np.array([float(share) for share in self.shares]))
        if self.points is not None:
            cells = np.searchsorted(np.array([float(point) for point in self.points[1:-1]]), each, side="right")
            return tuple(map(Fraction, cells.tolist()))
        return tuple(Fraction(float(x)) for x in each) * self.groups

    def find_range(self) -> tuple[float, float] | None:
        return None if self.points is None else (float(self.points[0]), float(self.points[-1]))

    def fits_together(self, noisy: Sequence[Fraction]) -> bool:
        # Points of a group that depend on each other are in order.
        count = len(self.shares)
        return self.apart or all(a <= b for place, (a, b) in enumerate(pairwise(noisy), 1) if place % count)

    def list_notes(self) -> tuple[str, ...]:
        if self.points is not None or self.size is None:
            return ()
        return (_EVEN.format("" if self.groups == 1 else f"groups of {self.size:,} "),)
