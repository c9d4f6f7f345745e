"""The interface of a statistic, and the register of all statistics.

A statistic is a frozen value: its columns with their public rules, and how its value is made. It drafts its release,
and makes intervals from the record of one. The rest of the library only uses this interface.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypeVar

from inbounds import _check
from inbounds._mistakes import find_name
from inbounds.privacy.terms import Terms
from inbounds.tables.schema import Column

if TYPE_CHECKING:
    from inbounds.inference.result import Interval
    from inbounds.record.draft import Draft
    from inbounds.record.release import Release
    from inbounds.statistics.share import Share


Meaning: TypeAlias = Literal["centre", "total", "spread", "squared spread", "matrix"]
Columns: TypeAlias = Literal[
    "number", "numbers", "ordered", "cells", "table", "level", "level or none", "free", "outcome"
]


@dataclass(frozen=True, slots=True)
class Traits:
    """The kind of a statistic, for code that shows it or computes with it.

    Attributes
    ----------
    columns
        Which columns it takes: one or several of numbers, several whose values have an order, one or several with
        levels or intervals, one of which a level is counted (or none at all), one without a rule of its own, or one of
        numbers and others that explain it.
    whole
        Whether its values are numbers of records.
    shares
        Whether its values are numbers of records, divided by the number of all of them.
    matrix
        Whether it is a symmetric matrix of columns.
    meaning
        What one number says about its column, for plausible means and spreads.
    """

    columns: Columns = "number"
    whole: bool = False
    shares: bool = False
    matrix: bool = False
    meaning: Meaning | None = None

    @property
    def counted(self) -> bool:
        """Whether its noisy numbers are counts of cells."""
        return self.whole or self.shares


class Statistic(ABC):
    """The base class of statistics, which are values.

    Its fields are the keywords that a user writes, so that ``type(statistic)(**fields)`` is the same value again. A
    statistic defines the abstract members. All others have a default, which is right for most statistics.
    """

    __slots__ = ()

    name: ClassVar[str]
    traits: ClassVar[Traits]
    # The methods that its interval can be made by, and the method of release that some of them need.
    interval_methods: ClassVar[tuple[str, ...]] = ()
    interval_needs: ClassVar[Mapping[str, str]] = MappingProxyType({})
    # Whether its methods have different errors, which a preview compares.
    compares_methods: ClassVar[bool] = False

    @property
    @abstractmethod
    def inputs(self) -> tuple[Column, ...]:
        """The columns that it reads, with their rules."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The statistic with its columns and groups, as text."""

    @property
    @abstractmethod
    def least_rows(self) -> int:
        """The smallest number of rows that it needs."""

    @abstractmethod
    def numbers(self, terms: Terms) -> int:
        """The number of noisy numbers that it is computed from. It is known before a law is made."""

    @abstractmethod
    def draft(self, terms: Terms) -> "Draft":
        """Draft the release: its law, its certificate, and the record without its numbers."""

    @abstractmethod
    def interval(self, release: "Release", level: float, kind: str, variance: "Release | None") -> "Interval":
        """The confidence interval, from the record of a release alone."""

    # Keywords that some statistics have. A field of the same name takes the place of the default.

    @property
    def method(self) -> str | None:
        """The method of release that the user chose."""
        return None

    @property
    def repair(self) -> str | None:
        """The repair of noisy numbers."""
        return None

    @property
    def denominator(self) -> int | None:
        """The fixed public number that is divided by."""
        return None

    @property
    def by(self) -> Any:
        """The column or columns that make the groups."""
        return None

    @property
    def sizes(self) -> Any:
        """The public sizes of groups."""
        return None

    @property
    def cover(self) -> Any:
        """The confidence of the interval that is paid for with the release."""
        return None

    # The draw

    def share(self, terms: Terms) -> "Share | None":
        """The part in a joint draw; None for a statistic that is drawn alone."""
        return None

    def find_way(self, terms: Terms) -> str | None:
        """The method that is taken; None where there is only one."""
        return self.method

    def list_ways(self, terms: Terms, *, states_mean: bool) -> Sequence[tuple[str, str]]:
        """The boundings and methods that a preview compares, for a statistic that compares methods.

        ``states_mean`` says whether the user stated where the mean lies.
        """
        return ()

    # The value, and how it is shown

    @property
    def axis_names(self) -> Sequence[str] | None:
        """The names of the axes of the value, where these are not the columns that have the cells."""
        return None

    def present(self, table: Any) -> Any:
        """The value as users see it, from its table of numbers."""
        return table

    def ends_of(self, release: "Release") -> tuple[Any, Any] | None:
        """The bounds of a column that were released, in exact numbers or dates; None for other statistics."""
        return None

    def find_coverage(self, terms: Terms) -> Fraction | None:
        """The share of records that should lie within released bounds; None for other statistics."""
        return None

    def interval_with(self, release: "Release", level: float, kind: str, method: str) -> "Interval":
        """The interval by one of the ``interval_methods``."""
        raise ValueError(f"a {self.name} has one kind of interval; leave out the method")

    def find_clipping(self, width: float) -> float | None:
        """How far clipping moves it if one record in a hundred lies a tenth of the width beyond its bounds.

        None if that does not follow from the bounds alone.
        """
        return None

    # What a report says

    def describe_fit(self, release: "Release") -> str:
        """How well a model fits. Empty for a statistic that is no model."""
        return ""

    def describe_cost(self, release: "Release") -> str:
        """What the released number costs where other statistics use it. Empty if nothing."""
        return ""

    def describe_hidden(self, find_typical: "Callable[[], Release]") -> str:
        """What noise would hide, given a function that makes a typical release. Empty if nothing."""
        return ""

    def advise_cover(self) -> str:
        """How numbers without an interval could have one. Empty if they could not."""
        return ""


_REGISTER: dict[str, type[Statistic]] = {}
_Class = TypeVar("_Class", bound=type[Statistic])


def register(made: _Class) -> _Class:
    """Register a statistic by its name, for plans, previews and records. It is used as a class decorator.

    Parameters
    ----------
    made
        The class of the statistic.

    Returns
    -------
    type
        The same class.

    Raises
    ------
    TypeError
        If the class does not inherit from `Statistic`, which has the defaults.
    ValueError
        If another statistic has this name.
    """
    if not issubclass(made, Statistic):
        raise TypeError(f"the class {made.__name__} must inherit from inbounds.statistics.Statistic")
    name = made.name
    if name in _REGISTER:
        raise ValueError(f"a statistic {name!r} is already registered")
    _REGISTER[name] = made
    return made


def registered() -> Mapping[str, type[Statistic]]:
    """All statistics by name.

    Returns
    -------
    Mapping
        The classes of the statistics, sorted by name.

    Examples
    --------
    >>> "mean" in registered()
    True
    """
    # The statistics of the library are registered when they are loaded, which reading a record alone does not do.
    import_module("inbounds.statistics")
    return {name: _REGISTER[name] for name in sorted(_REGISTER)}


def find_statistic(name: object) -> type[Statistic]:
    """The class of the statistic with that name. Raises a `ValueError` if there is none."""
    statistics = registered()
    try:
        return statistics[_check.choice(name, "statistic", tuple(statistics))]
    except ValueError as error:
        if not (isinstance(name, str) and (meant := find_name(name, list(statistics)))):
            raise
        message = f"{error}; did you mean {meant!r}?"
    raise ValueError(message)
