"""A release before the data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from inbounds.grid.geometric import Integers
from inbounds.privacy.terms import Terms
from inbounds.record.release import Release
from inbounds.tables.answers import Cells
from inbounds.tables.request import Request

# Numbers of a table as they are: vectors that are drawn together, one after another, or counts in one array.
Exact: TypeAlias = Sequence[Sequence[Fraction]] | Integers


@dataclass(frozen=True, slots=True)
class Draft:
    """A release before any data are read: its record but for the numbers, what to count, and what of it to release.

    ``exact`` makes the coordinates from the exact cells of a table; the record's certificate has their law. With
    ``squared`` it gives the square of the one number that is drawn.
    """

    record: Release
    request: Request
    exact: Callable[[Cells], Exact]
    squared: bool = False

    @property
    def terms(self) -> Terms:
        """What the release promises."""
        return self.record.terms
