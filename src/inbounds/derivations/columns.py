"""Points of a column, and what is plausible for it: its records are nearly normal, within their bounds."""

import math
from abc import abstractmethod
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import scipy

from inbounds._check import Array
from inbounds.derivations import truths
from inbounds.derivations.base import Simulated, Situation, Tail
from inbounds.derivations.truths import Truth
from inbounds.expected.quantiles import Spread

# Gaps and values that many records share may make errors many times as large, or nothing.
_NORMAL = "nearly normal values without gaps or ties"


def find_column_truths(situation: Situation, ends: tuple[float, float], groups: int) -> truths.Truths:
    """What is plausible for the column; a number or a range without a name is where its middle lies."""
    statement = situation.plausible
    if truths.is_plain(statement):
        situation = replace(situation, plausible={truths.KEYS[1]: statement})
    plausible = truths.find_truths(replace(situation, groups=groups, columns=np.array([ends])), "spread")
    return replace(plausible, assumed=f"{_NORMAL}, {plausible.assumed}" if plausible.assumed else "")


def spread_of_column(truth: Truth, ends: tuple[float, float]) -> Spread:
    """The law of nearly normal records, within their bounds."""
    lower, upper = ends
    deviation = max(math.sqrt(float(truth.matrix[0, 0])), 1e-9 * (upper - lower))
    centre, inner = float(truth.means[0]), scipy.special.ndtri(np.linspace(0.0005, 0.9995, 400))
    spread_out = np.concatenate([centre + deviation * inner, np.linspace(lower, upper, 200)])
    points = np.unique(np.clip(spread_out, lower, upper))
    ranks = scipy.special.ndtr((points - centre) / deviation)
    ranks[0], ranks[-1] = 0.0, 1.0
    return Spread.through(points, ranks)


class Points(Simulated):
    """A base class for points of a column that have some increasing ``shares`` of its records below them."""

    __slots__ = ()

    shares: tuple[Fraction, ...]
    tail: ClassVar[Tail] = "bounds"

    @property
    def as_points(self) -> "Points":
        return self

    @property
    def shown(self) -> tuple[int, ...]:
        """The places of the shares that are shown: all of them."""
        return tuple(range(len(self.shares)))

    @property
    def groups(self) -> int:
        """The number of groups that have points of their own."""
        return 1

    @property
    def size(self) -> int | None:
        """The number of records of a group, as far as it is known."""
        return self.rows

    @abstractmethod
    def ends(self, columns: Array) -> tuple[float, float]:
        """The first and the last point that there is, given the bounds of the column."""

    @abstractmethod
    def errors_for(self, law: Spread, certificate: Any, size: int | None, draws: int | None = None) -> Array:
        """Simulated errors of the shown points of one group of records with that law; a row for each draw."""

    def room(self, values: Array) -> Array | None:
        return None

    def check_plausible(self, situation: Situation) -> None:
        self.find_truths(situation)

    def find_truths(self, situation: Situation) -> truths.Truths:
        """What is plausible for the column."""
        return find_column_truths(situation, self.ends(situation.columns), self.groups)

    def spread_of(self, truth: Truth, situation: Situation) -> Spread:
        """The law of nearly normal records, within their bounds."""
        return spread_of_column(truth, self.ends(situation.columns))

    def spread_of_row(self, situation: Situation) -> Array:
        """The standard deviation of what one record adds to each point, as if the point were an average."""
        shares = np.array([float(self.shares[place]) for place in self.shown])
        height = np.exp(-(scipy.special.ndtri(shares) ** 2) / 2) / math.sqrt(2 * math.pi)
        spread = math.sqrt(self.find_truths(situation).typical.matrix[0, 0])
        return np.tile(spread * np.sqrt(shares * (1 - shares)) / height, self.groups)
