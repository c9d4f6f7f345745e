"""The share of a statistic in a joint draw."""

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from inbounds.derivations import Derivation
from inbounds.privacy.certified import Bound
from inbounds.tables.coordinates import Coordinate
from inbounds.tables.request import Request
from inbounds.tables.schema import Column, Numeric, Quantised


@dataclass(frozen=True, slots=True)
class Number:
    """A statistic that is one number of a table, with its own bounds and sensitivity."""

    number: Coordinate
    request: Request
    columns: tuple[Column | Quantised, ...]


@dataclass(frozen=True, slots=True)
class OfMoments:
    """A statistic that follows from the sums of its columns and of their products.

    A statistic without products (a mean) is computed from these sums if the draw has them, and is a ``number``
    otherwise. ``root`` asks for finer steps, for a root of the sums. ``alone`` is the variance of the noise of a
    release that is drawn alone, relative to that of a release from its moments alone.
    """

    columns: tuple[Numeric, ...]
    derivation: Derivation
    bounds: tuple[Bound, ...]
    axes: tuple[tuple[str, ...], ...] = ()
    number: Number | None = None
    root: bool = False
    alone: Fraction = Fraction(1)


Share: TypeAlias = Number | OfMoments
