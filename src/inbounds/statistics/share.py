"""What a statistic can bring to a draw of several."""

from dataclasses import dataclass
from typing import TypeAlias

from inbounds.derivations import Derivation
from inbounds.privacy.certified import Bound
from inbounds.tables.coordinates import Coordinate
from inbounds.tables.request import Request
from inbounds.tables.schema import Column, Numeric, Quantised


@dataclass(frozen=True, slots=True)
class Number:
    """A statistic that is one number of a table, with bounds and a sensitivity of its own."""

    number: Coordinate
    request: Request
    columns: tuple[Column | Quantised, ...]


@dataclass(frozen=True, slots=True)
class OfMoments:
    """A statistic that follows from sums of its columns and of their products.

    One that needs no products (a mean) is made of them where others of the draw do, and is a ``number`` by itself
    otherwise. ``root`` asks for finer steps, for what is a root of them.
    """

    columns: tuple[Numeric, ...]
    derivation: Derivation
    bounds: tuple[Bound, ...]
    axes: tuple[tuple[str, ...], ...] = ()
    number: Number | None = None
    root: bool = False


Share: TypeAlias = Number | OfMoments
