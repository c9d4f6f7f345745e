"""What a statistic is to the rest of the library, and the register of those that there are.

A statistic is a frozen value of public facts: its columns with their rules, and how its value is to be made. It drafts
its own release, names itself, and says where the truth lies. Nothing else in the library asks which one it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, TypeAlias, TypeVar

from inbounds import _check
from inbounds.privacy.terms import Terms
from inbounds.tables.schema import Column

if TYPE_CHECKING:
    from inbounds.inference.result import Interval
    from inbounds.record.draft import Draft
    from inbounds.record.release import Release


Meaning: TypeAlias = Literal["centre", "total", "spread", "squared spread", "matrix"]
Columns: TypeAlias = Literal["number", "numbers", "ordered", "cells", "table", "level", "level or none"]


@dataclass(frozen=True, slots=True)
class Traits:
    """What kind of number a statistic is, for those who show it or reason about it.

    ``columns`` says what columns it is of: one or several of numbers, several whose records can be put in order,
    one or several with levels or intervals, or one of which a level is counted (or none at all).

    ``counted``: its noisy numbers are counts of cells. ``shares``: it is published over the number of records.
    ``whole``: as whole numbers. ``matrix``: it is a symmetric matrix of columns, and ``unit_diagonal``: with ones on
    its diagonal. ``mean`` and ``variance`` are what can be combined to a shorter interval. ``needs_truth``: how far off
    it is depends strongly on the truth. ``meaning``: what one number is of its column, for plausible means and spreads.
    """

    columns: Columns = "number"
    counted: bool = False
    shares: bool = False
    whole: bool = False
    matrix: bool = False
    unit_diagonal: bool = False
    mean: bool = False
    variance: bool = False
    needs_truth: bool = False
    meaning: Meaning | None = None


class Statistic(Protocol):
    """A statistic, as a value.

    Its fields are the keywords that a user writes, so that ``type(statistic)(**fields)`` is the same value again.
    """

    name: ClassVar[str]
    traits: ClassVar[Traits]

    @property
    def inputs(self) -> tuple[Column, ...]:
        """The columns that it reads, with their rules."""
        ...

    @property
    def title(self) -> str:
        """What is released, of which columns, by which groups."""
        ...

    @property
    def least_rows(self) -> int:
        """The fewest rows that it can be of."""
        ...

    def numbers(self, terms: Terms) -> int:
        """How many noisy numbers it is made of; known before any law is made."""
        ...

    def draft(self, terms: Terms) -> "Draft":
        """The release before the data: law, certificate, and the record without its numbers."""
        ...

    def interval(self, release: "Release", level: float, kind: str, variance: "Release | None") -> "Interval":
        """Where the truth lies, from the record of its release alone."""
        ...


_REGISTER: dict[str, type[Statistic]] = {}
_Class = TypeVar("_Class", bound=type[Statistic])


def register(made: _Class) -> _Class:
    """Make a statistic known by its name, in plans, previews and records; a decorator of its class."""
    name = made.name
    if name in _REGISTER:
        raise ValueError(f"a statistic {name!r} is registered already")
    _REGISTER[name] = made
    return made


def registered() -> Mapping[str, type[Statistic]]:
    """All statistics by their names."""
    # Those of the library register themselves when they are loaded, which nobody who reads a record may have done.
    import_module("inbounds.statistics")
    return {name: _REGISTER[name] for name in sorted(_REGISTER)}


def find_statistic(name: object) -> type[Statistic]:
    """The class of that name; `ValueError` for a name that is none."""
    known = registered()
    return known[_check.choice(name, "statistic", tuple(known))]
