"""The public record of a release.

Everything in it is public. The value is computed from the noisy coordinates by the derivation, and the law of the noise
is in the certificate. `Release.from_json` drafts the statistic again and refuses a record that differs.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from inbounds._check import Array
from inbounds.derivations import Coordinates, Derivation, Limits, Situation
from inbounds.derivations.base import list_parts
from inbounds.expected import Error
from inbounds.expected.variances import noise_variances
from inbounds.grid.base import GridLaw
from inbounds.privacy.certificate import Certificate, Composition
from inbounds.privacy.certified import Bound as Bound
from inbounds.privacy.guarantee import Guarantee, Neighbours, Pure
from inbounds.privacy.terms import Bounding, Terms
from inbounds.record import codec, show
from inbounds.record.asked import find_interval
from inbounds.record.column import ColumnRule as ColumnRule
from inbounds.record.group import Group
from inbounds.record.notes import list_own_notes
from inbounds.record.numbers import derive_values, find_ends, find_numeric_ends, find_situation, multiply
from inbounds.record.numbers import for_each as for_each
from inbounds.record.selection import list_rules, plain_statistic, terms_of
from inbounds.record.statistic import Statistic
from inbounds.tables.schema import Edges, Numeric
from inbounds.tables.times import Clock

if TYPE_CHECKING:
    import altair
    import pandas as pd
    import polars as pl

    from inbounds.inference.result import Interval

Kind: TypeAlias = Literal["population", "noise"]
# The released value: a number, an array with the shape of the axes, or an object that the statistic makes of it.
Value: TypeAlias = Any


@dataclass(frozen=True, slots=True, repr=False)
class Release:
    """A released statistic, with its cost and its expected error. `value` is what to publish.

    ``statistic`` is what was asked for, and ``terms`` are the privacy terms. ``noisy`` are the coordinates that were
    drawn, ``units`` the value of one unit of each, and ``bounds`` their bounds (in units). ``derivation`` computes the
    value from them. ``group``, ``member`` and ``places`` say which other statistics were drawn with it, and where its
    numbers are in the joint vector. ``key`` decided which rows of a person were kept: drawn afresh, it is public.
    """

    statistic: Statistic
    terms: Terms
    derivation: Derivation
    columns: tuple[ColumnRule, ...]
    axes: tuple[tuple[str, ...], ...]
    noisy: tuple[Fraction, ...]
    units: tuple[Fraction, ...]
    bounds: tuple[Bound, ...]
    certificate: Certificate | Composition
    notes: tuple[str, ...] = ()
    group: Group | None = None
    member: int = 0
    places: tuple[int, ...] = ()
    key: str | None = None
    # Computed on first use.
    _values: tuple[float, ...] | None = field(default=None, init=False, compare=False)
    _error: Error | None = field(default=None, init=False, compare=False)

    @property
    def epsilon(self) -> float:
        """The pure ε that was spent; infinite under ρ, which proves no pure ε and is in `guarantee`."""
        paid = self.certificate.guarantee
        return float(paid.epsilon) if isinstance(paid, Pure) else math.inf

    @property
    def guarantee(self) -> Guarantee:
        """The privacy guarantee."""
        return self.terms.guarantee

    @property
    def neighbours(self) -> Neighbours:
        """The neighbour relation that ε is for."""
        return self.terms.unit.neighbours

    @property
    def unit(self) -> str:
        """The unit of privacy: ``"record"`` or ``"person"``."""
        return self.terms.unit.name

    @property
    def contributions(self) -> int:
        """The most records that one person may have."""
        return self.terms.unit.contributions

    @property
    def rows(self) -> int | None:
        """The public number of records that it is computed from; None if it is protected, or secret for a selection."""
        return terms_of(self.statistic, self.terms).rows

    @property
    def bounding(self) -> Bounding:
        """How values are kept in their bounds: ``"bit"`` or ``"truncated"``."""
        return self.terms.bounding

    @property
    def method(self) -> str:
        """How the value is computed from the drawn numbers."""
        return self.derivation.text

    @property
    def title(self) -> str:
        """The statistic with its columns and groups."""
        return self.statistic.title

    @property
    def size(self) -> int | None:
        """The public number of records, or the fixed denominator; None if there is neither."""
        return self.rows if self.rows is not None else self.denominator

    @property
    def denominator(self) -> int | None:
        """The fixed public number that was divided by, where one was given."""
        return plain_statistic(self.statistic).denominator

    @property
    def repair(self) -> str | None:
        """How noisy numbers were turned into possible ones, if a repair was chosen."""
        return plain_statistic(self.statistic).repair

    @property
    def parts(self) -> tuple[Certificate, ...]:
        """The certificate of each noisy coordinate."""
        return list_parts(self.certificate, self._levels, len(self.units))

    @property
    def _levels(self) -> tuple[int, ...]:
        """The depth of each coordinate in a tree, or the depth of its draw, or which of several draws it is from."""
        return self.derivation.depths

    @property
    def mechanism(self) -> GridLaw:
        """The law of the noise of a single number."""
        if not isinstance(self.certificate, Certificate) or len(self.noisy) > 1:
            raise ValueError("a release of several numbers has no single law; see its certificate")
        return self.certificate.mechanism

    @property
    def released(self) -> bool:
        """Whether the record has numbers. The record of a preview has none."""
        return bool(self.noisy)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value: ``()`` for a number."""
        return tuple(len(axis) for axis in self.axes)

    @property
    def value(self) -> Value:
        """The value to publish: a number, an array with the shape of `axes`, or a `MomentsValue`.

        If some numbers of an array are not available, it is a masked array (`numpy.ma`).
        """
        table = self.table
        if (clock := self.clock) is not None:
            return show.to_times(table, clock)
        shown: Value = plain_statistic(self.statistic).present(table)
        return shown

    @property
    def clock(self) -> Clock | None:
        """Whether the value is a date or a time; None for numbers."""
        if self.statistic.traits.meaning != "centre":
            return None
        return next((rule.clock for rule in list_rules(self.statistic) if isinstance(rule, Numeric | Edges)), None)

    @property
    def table(self) -> Any:
        """The value as a number or an array with the shape of `axes`."""
        flat = self.flat_values()
        if None in flat:
            hidden = [x is None for x in flat]
            return np.ma.array(np.array(flat, dtype=np.float64), mask=hidden, fill_value=np.nan).reshape(self.shape)
        return np.array(flat).reshape(self.shape) if self.axes else flat[0]

    def flat_values(self) -> tuple[float | None, ...]:
        """The numbers of `value` as a flat tuple, with None for those that are not available."""
        if self._values is None:
            object.__setattr__(self, "_values", tuple(derive_values(self)))
        assert self._values is not None
        return self._values

    def worth(self) -> Array:
        """The noisy coordinates times their units, in double precision."""
        return np.array(for_each(multiply, self.noisy, self.units))

    def undetermined(self) -> list[bool] | None:
        """Which columns of a matrix have no correlations; None if all have."""
        return self.derivation.undetermined(self.worth(), self.limits()) if self.released else None

    def unavailable(self) -> list[bool]:
        """Which numbers of `value`, as a flat list, are not available. Empty if all are.

        These are correlations with a column whose released variance is 0. `notes` say what to do about it.
        """
        columns = self.undetermined() or []
        return [i != j and (left or right) for i, left in enumerate(columns) for j, right in enumerate(columns)]

    def limits(self) -> Limits:
        """Bounds of coordinates and of numeric columns, in double precision."""
        noise = noise_variances(self.parts, self.units, self.places) if self.derivation.weighs_noise else None
        return Limits(*find_ends(self.bounds), self.numeric_ends(), noise)

    def numeric_ends(self) -> Array:
        """A row (lower, upper) for each numeric column, those of 0 and 1 for the levels of a regression included."""
        return find_numeric_ends(self)

    def limits_of_coordinates(self) -> list[tuple[float, float]]:
        """The bounds of the noisy coordinates as floats, infinite if a side is open."""
        return list(zip(*(ends.tolist() for ends in find_ends(self.bounds)), strict=True))

    def coordinates(self) -> Coordinates:
        """Everything that the value is computed from."""
        return Coordinates(self.noisy, self.units, self.certificate, self.limits(), self._levels, self.places)

    def situation(self, plausible: Any, size: int | None) -> Situation:
        """What is known before the release, for a plausible true value and ``size`` records."""
        return find_situation(self, plausible, size)

    @property
    def error(self) -> Error:
        """The expected error of the value: at the released value, and at worst over the bounds."""
        if not self.released:
            raise ValueError("nothing has been released yet: this is the record of a preview; see its forecast")
        if self._error is None:
            error = self.derivation.error(self.coordinates())
            error = error.shaped(list(self.shape)) if self.axes else error
            if hidden := self.unavailable():
                error = error.without(np.reshape(hidden, self.shape))
            object.__setattr__(self, "_error", error)
        assert self._error is not None
        return self._error

    def own_notes(self) -> tuple[str, ...]:
        """The notes that follow from the record; see `inbounds.record.notes`."""
        return list_own_notes(self)

    @property
    def sizes(self) -> "Array | int | None":
        """The noisy number of records in each group, or of a selection, where it was drawn with the rest.

        It was paid for with the release: whole numbers, 0 or more, with the shape of the groups; None where no such
        number was drawn.
        """
        return show.sizes_of(self)

    def margins(self) -> dict[str, Array]:
        """The sums of a table of counts along each of its axes, by the name of the column; ``"total"`` is that of all.

        They agree with the cells. Raises a `ValueError` if the release is no table of counts.
        """
        return show.margins_of(self)

    def percentages(self, of: Literal["all", "row", "column"] = "all") -> "Array":
        """A table of counts in percent of all records, of each row or of each column; masked where there are none.

        Raises a `ValueError` if the release is no table of counts, or if it has one axis and no rows or columns.
        """
        return show.percentages_of(self, of)

    @property
    def keeps_groups(self) -> bool:
        """Whether ε does not cover a change of group, because the sizes of groups were declared public."""
        return any(rule.sizes for rule in self.columns)

    def interval(
        self,
        level: float | None = None,
        *,
        kind: Kind = "population",
        variance: "Release | None" = None,
        method: str | None = None,
        simultaneous: bool = False,
    ) -> "Interval":
        """The confidence interval of the value, which takes the noise into account. It costs nothing.

        Parameters
        ----------
        level
            The confidence level. By default the one that was paid for with ``cover``, and 0.95 for all others.
        kind
            ``"population"`` for the population that the table is a sample of: sampling error and noise. ``"noise"`` for
            the statistic of the table itself: noise only.
        variance
            A released variance of the same column and table, for a shorter interval of a mean.
        method
            How to make the interval, where a statistic has several ways: ``"score"``, ``"proved"`` or
            ``"worst-case"`` of a mean, ``"robust"``, ``"bound"`` or ``"normal"`` of a spread. By default the shortest
            that holds without an assumption on the law of the records.
        simultaneous
            Whether all intervals of a release of several numbers hold together, and not each by itself.

        Returns
        -------
        Interval
            The limits, with the method and what it assumes. It unpacks as ``lower, upper``.

        Raises
        ------
        ValueError
            If there is no such interval. The message says what to use instead.
        """
        return find_interval(self, level, kind, variance, method, simultaneous=simultaneous)

    def estimate(self, kind: str = "unbiased", prior: tuple[float, float] = (1.0, 1.0)) -> Any:
        """Another estimate from the record: see `inbounds.inference.estimate`. It costs nothing."""
        return import_module("inbounds.inference.estimates").estimate(self, kind, prior)

    def plot(self, level: float | None = None, *, kind: Kind = "population") -> "altair.LayerChart | altair.Chart":
        """Plot the values with their intervals, or a heat map for matrices and tables. Needs the extra ``plot``."""
        return show.plot(self, level, kind)

    def __float__(self) -> float:
        """The value of a release of one number."""
        if self.axes:
            raise TypeError("a release of several numbers cannot be converted to one; use value")
        return float(self.table)

    def __format__(self, spec: str) -> str:
        """The value of a release of one number in a format such as ``.2f``; without one the text of `str`."""
        if not spec:
            return str(self)
        if self.axes:
            raise TypeError("a release of several numbers has no format; use value")
        return format(self.value, spec)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """The value as a NumPy array, with NaN for numbers that are not available."""
        if copy is False:
            raise ValueError("the values of a release cannot be shared; use copy=True")
        return np.array(self.table, dtype=dtype)

    def to_polars(self) -> "pl.DataFrame":
        """The values as a Polars table: a column for each axis, then ``value``, null if it is not available."""
        import polars as pl

        return pl.DataFrame(show.columns_of(self))

    def to_pandas(self) -> "pd.DataFrame":
        """The values as a pandas table: a column for each axis, then ``value``."""
        import pandas as pd

        return pd.DataFrame(show.columns_of(self))

    def _repr_html_(self) -> str:
        return show.to_html(self)

    def __repr__(self) -> str:
        return show.to_line(self)

    def __str__(self) -> str:
        return show.to_text(self)

    @property
    def has_error(self) -> bool:
        """Whether the error is known without a simulation, or was computed before."""
        return self._error is not None or self.derivation.knows_error(self.certificate)

    def to_json(self) -> str:
        """The record as text, in the format ``inbounds-record/1``. Numbers are exact fractions."""
        return "".join(self.json_pieces())

    def json_pieces(self) -> Iterator[str]:
        """The text of `to_json` in pieces, so that a large record is not in memory twice."""
        return codec.record_pieces({self.title: self})

    @classmethod
    def from_json(cls, text: str) -> "Release":
        """Read the record of one release and verify everything in it.

        Raises
        ------
        RecordError
            If the parts of the record do not agree, or it has several releases.
        CertificateError
            If the certificate does not prove what it says.
        """
        return codec.read_single(text)

    def without_numbers(self) -> "Release":
        """The record as it was drafted, without the drawn numbers and what follows from them."""
        return replace(self, noisy=(), notes=())
