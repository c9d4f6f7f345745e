"""The public record of a release: the only thing that passes the wall.

Everything in it is public. The value follows from the noisy coordinates by the derivation named, the noise from the
certificate. `Release.from_json` drafts the statistic again, compares, and refuses a record that does not agree.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from inbounds._check import Array
from inbounds._text import lay_out, visible
from inbounds.derivations import Coordinates, Derivation, FromTree, Limits, Situation
from inbounds.derivations.base import list_parts
from inbounds.expected import Error
from inbounds.grid.law import GridMechanism
from inbounds.privacy.certificate import Certificate, Composition
from inbounds.privacy.certified import Bound as Bound
from inbounds.privacy.guarantee import Guarantee, Neighbours
from inbounds.privacy.terms import Bounding, Terms
from inbounds.record import codec, show
from inbounds.record.group import Group
from inbounds.record.notes import list_own_notes
from inbounds.record.numbers import clip
from inbounds.record.numbers import for_each as for_each
from inbounds.record.selection import is_selection, plain_statistic, terms_of
from inbounds.record.statistic import Statistic

if TYPE_CHECKING:
    import altair
    import pandas as pd
    import polars as pl

    from inbounds.inference.result import Interval

Kind: TypeAlias = Literal["population", "noise"]
# What a release publishes: a number, or an array with the shape of its axes.
Value: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """What was done to each record of a column before counting.

    Numbers: clipped to [lower, upper] and rounded to multiples of ``step`` from lower. Cells: ``cells`` names them.
    ``missing`` and ``other`` say what was counted in place of such values; None means that they were refused. ``sizes``
    are those of the cells where they were declared public: then ε is for neighbours who keep their cell.
    """

    name: str
    lower: Fraction | None = None
    upper: Fraction | None = None
    step: Fraction | None = None
    cells: tuple[str, ...] = ()
    missing: str | None = None
    other: str | None = None
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Release:
    """A published statistic with what it cost and how far off it can be.

    ``statistic`` is what was asked for and ``terms`` what was promised. ``noisy`` are the coordinates as they were
    drawn, ``units`` what one of each is worth, ``bounds`` those of the coordinates (after units), ``derivation`` how
    the value follows from them. `value` is what to publish.
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
    # What else was drawn with it, and where its own numbers are in that vector.
    group: Group | None = None
    member: int = 0
    places: tuple[int, ...] = ()
    # Computed once, when asked for.
    _values: tuple[float, ...] | None = field(default=None, init=False, compare=False)
    _error: Error | None = field(default=None, init=False, compare=False)

    @property
    def epsilon(self) -> float:
        """ε that was spent."""
        return float(self.certificate.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        """What was promised."""
        return self.terms.guarantee

    @property
    def neighbours(self) -> Neighbours:
        """The neighbour relation that ε is for."""
        return self.terms.unit.neighbours

    @property
    def unit(self) -> str:
        """Whom ε is for: ``"record"`` or ``"person"``."""
        return self.terms.unit.name

    @property
    def contributions(self) -> int:
        """Records that one person may have."""
        return self.terms.unit.contributions

    @property
    def rows(self) -> int | None:
        """The public number of records that it is of; None where that is protected, or secret as of a selection."""
        return terms_of(self.statistic, self.terms).rows

    @property
    def bounding(self) -> Bounding:
        """What keeps the value inside: ``"bit"`` or ``"truncated"``."""
        return self.terms.bounding

    @property
    def method(self) -> str:
        """How the value follows from what was drawn."""
        return self.derivation.text

    @property
    def title(self) -> str:
        """What was released, of which columns, by which groups."""
        return self.statistic.title

    @property
    def size(self) -> int | None:
        """The public number of records, or the fixed number that stands for it; None where it is protected."""
        return self.rows if self.rows is not None else self.denominator

    @property
    def denominator(self) -> int | None:
        """The fixed public number that was divided by, where one was given."""
        return getattr(plain_statistic(self.statistic), "denominator", None)

    @property
    def repair(self) -> str | None:
        """How noisy numbers were made possible ones, where that was chosen."""
        return getattr(plain_statistic(self.statistic), "repair", None)

    @property
    def parts(self) -> tuple[Certificate, ...]:
        """The certificate of each noisy coordinate."""
        return list_parts(self.certificate, self._levels, len(self.units))

    @property
    def _levels(self) -> tuple[int, ...]:
        """The level of a tree that each coordinate is in."""
        return self.derivation.tree.depths if isinstance(self.derivation, FromTree) else ()

    @property
    def mechanism(self) -> GridMechanism:
        """The law that a single number was drawn from."""
        if not isinstance(self.certificate, Certificate) or len(self.noisy) > 1:
            raise ValueError("a release of several numbers has no single law; see its certificate")
        return self.certificate.mechanism

    @property
    def released(self) -> bool:
        """Whether there are numbers in it; the record of a preview has none."""
        return bool(self.noisy)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value: ``()`` for a number."""
        return tuple(len(axis) for axis in self.axes)

    @property
    def value(self) -> Value:
        """What is published: a number, an array with the shape of its `axes`, or what its statistic makes of that.

        An array of which numbers are not available is masked there (`numpy.ma`).
        """
        made = self.table
        present = getattr(plain_statistic(self.statistic), "present", None)
        return made if present is None else present(made)

    @property
    def table(self) -> Any:
        """A number, or an array with the shape of its `axes`."""
        flat = self.flat_values()
        if None in flat:
            hidden = [x is None for x in flat]
            return np.ma.array(np.array(flat, dtype=np.float64), mask=hidden, fill_value=np.nan).reshape(self.shape)
        return np.array(flat).reshape(self.shape) if self.axes else flat[0]

    def flat_values(self) -> tuple[float | None, ...]:
        """The numbers of `value`, one after another, None for those that are not available; derived once."""
        if self._values is None:
            object.__setattr__(self, "_values", tuple(self._derive()))
        assert self._values is not None
        return self._values

    def _derive(self) -> Sequence[float | None]:
        if not self.released:
            raise ValueError("nothing has been released: this is the record of a preview")
        whole = self.statistic.traits.whole
        if self.derivation.single and self.derivation.plain:
            # Correctly rounded, each by itself.
            kind = int if whole else float
            return for_each(lambda x, unit, bound: kind(clip(x * unit, bound)), self.noisy, self.units, self.bounds)
        values = self.derivation.values(self._worth(), self.limits())
        if whole:
            return [round(x) for x in values.tolist()]
        hidden = self.unavailable()
        return (
            [None if gone else x for x, gone in zip(values.tolist(), hidden, strict=True)]
            if any(hidden)
            else values.tolist()
        )

    def _worth(self) -> Array:
        """The noisy coordinates in double precision, units applied."""
        return np.array(for_each(lambda x, unit: float(x * unit), self.noisy, self.units))

    def undetermined(self) -> list[bool] | None:
        """Which columns of a matrix have no correlations; None where all have."""
        return self.derivation.undetermined(self._worth(), self.limits()) if self.released else None

    def unavailable(self) -> list[bool]:
        """Which numbers of `value`, one after another, are not available; empty where all are.

        Those are correlations next to a variance of 0. `notes` say why, and what to do about it.
        """
        columns = self.undetermined() or []
        return [i != j and (one or other) for i, one in enumerate(columns) for j, other in enumerate(columns)]

    def limits(self) -> Limits:
        """Bounds of coordinates and of numeric columns, in double precision."""
        lower = np.array(for_each(lambda bound: -np.inf if bound[0] is None else float(bound[0]), self.bounds))
        upper = np.array(for_each(lambda bound: np.inf if bound[1] is None else float(bound[1]), self.bounds))
        return Limits(lower, upper, self.numeric_ends())

    def numeric_ends(self) -> Array:
        """A row (lower, upper) for each numeric column."""
        numeric = [(float(rule.lower or 0), float(rule.upper or 0)) for rule in self.columns if rule.step is not None]
        return np.array(numeric).reshape(-1, 2)

    def limits_of_coordinates(self) -> list[tuple[float, float]]:
        """Bounds of the noisy coordinates as numbers, infinite on an open side."""
        limits = self.limits()
        return list(zip(limits.lower.tolist(), limits.upper.tolist(), strict=True))

    def coordinates(self) -> Coordinates:
        """All that its value follows from."""
        return Coordinates(self.noisy, self.units, self.certificate, self.limits(), self._levels, self.places)

    def situation(self, plausible: Any, size: int | None) -> Situation:
        """What is known before the release, for a plausible truth among ``size`` records."""
        several = self.derivation.of_sums and not self.places
        groups = max(len(self.units) // max(self.parts[0].dimension, 1), 1) if several else 1
        ends = self.numeric_ends()
        name, meaning = self.statistic.name, self.statistic.traits.meaning
        selected = is_selection(self.statistic)
        return Situation(plausible, size, ends, self.units, self.axes, groups, name, self.limits(), meaning, selected)

    @property
    def error(self) -> Error:
        """How far off the value is expected to be: at worst over the bounds, and where it was released."""
        if not self.released:
            raise ValueError("nothing has been released: this is the record of a preview; see its forecast")
        if self._error is None:
            found = self.derivation.error(self.coordinates())
            found = found.shaped(list(self.shape)) if self.axes else found
            if hidden := self.unavailable():
                found = found.without(np.reshape(hidden, self.shape))
            object.__setattr__(self, "_error", found)
        assert self._error is not None
        return self._error

    def own_notes(self) -> tuple[str, ...]:
        """What it has to say of itself: that groups are not protected, that correlations are not available."""
        return list_own_notes(self)

    @property
    def keeps_groups(self) -> bool:
        """Whether ε is for neighbours who keep their group alone, since sizes of groups were declared public."""
        return any(rule.sizes for rule in self.columns)

    def interval(
        self, level: float = 0.95, *, kind: Kind = "population", variance: "Release | None" = None
    ) -> "Interval":
        """Where the truth lies, with noise taken into account.

        It is made of the record alone: free of budget, and the same for everyone.

        Parameters
        ----------
        level
            How often such intervals hold the truth.
        kind
            ``"population"``: what the table is a sample of; sampling error and noise together. ``"noise"``: the
            statistic of the table itself.
        variance
            One released from the same column and table, which shortens the interval of a mean.

        Returns
        -------
        Interval
            It says how it was made and what it assumes, and unpacks as ``lower, upper``.

        Raises
        ------
        ValueError
            Where there is no such interval, with what to ask for instead.
        """
        return self.statistic.interval(self, level, kind, variance)

    def plot(self, level: float = 0.95, *, kind: Kind = "population") -> "altair.LayerChart | altair.Chart":
        """Values with their intervals, or a map of values for matrices and tables, as an Altair chart."""
        return show.plot(self, level, kind)

    def __float__(self) -> float:
        """The value of a release of one number."""
        if self.axes:
            raise TypeError("a release of several numbers cannot be made one number; see value")
        return float(self.value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """The value as a NumPy array; what is not available is NaN there, since such an array has no other word."""
        if copy is False:
            raise ValueError("the values of a release cannot be shared, only copied")
        return np.array(self.table, dtype=dtype)

    def to_polars(self) -> "pl.DataFrame":
        """The values as a Polars table: a column for each axis, then ``value``, null where it is not available."""
        import polars as pl

        return pl.DataFrame(show.columns_of(self))

    def to_pandas(self) -> "pd.DataFrame":
        """The values as a pandas table: a column for each axis, then ``value``."""
        import pandas as pd

        return pd.DataFrame(show.columns_of(self))

    def _repr_html_(self) -> str:
        return show.to_html(self)

    def __repr__(self) -> str:
        if not self.released:
            return f"<Release: {visible(self.title)}: not released, epsilon {self.epsilon:g}>"
        value = "x".join(map(str, self.shape)) + " values" if self.axes else self._show_value().strip()
        return f"<Release: {visible(self.title)}: {value}, epsilon {self.epsilon:g}>"

    def __str__(self) -> str:
        if not self.released:
            return f"{visible(self.title)}: not released"
        unit = self.unit if self.contributions == 1 else f"{self.unit} with up to {self.contributions} records"
        how = self.bounding if self.derivation.plain else f"{self.bounding}, {self.derivation.text}"
        # What would have to be simulated is left to those who ask for it.
        error = str(self.error) if self.derivation.single or self._error is not None else "expected error: see error"
        others = "" if self.group is None else f", in one draw of {len(self.group.members)} releases"
        cost = f"  epsilon {self.epsilon:g} per {unit}{others}, {self.neighbours}; {how}; {error}"
        lines = map(visible, [cost, *(f"  {note}" for note in self.notes)])
        return "\n".join([f"{visible(self.title)}:{self._show_value()}", *lines])

    def _show_value(self) -> str:
        """The value as text: a number, a line for each cell, or a table."""
        return lay_out([show.format_value(x) for x in self.flat_values()], self.axes)

    def to_json(self) -> str:
        """The record as text, in the format ``inbounds-record/1``; fractions are written as such."""
        return "".join(self.json_pieces())

    def json_pieces(self) -> Iterator[str]:
        """The text of `to_json` in pieces, so that a large record is written without being held twice."""
        return codec.record_pieces({self.title: self})

    @classmethod
    def from_json(cls, text: str) -> "Release":
        """The release in a record of one.

        Everything in it is proved again; see `inbounds.record.read_record`.

        Raises
        ------
        RecordError
            For a record whose parts do not agree, or one of several releases.
        CertificateError
            For a certificate that does not hold.
        """
        return codec.read_single(text)

    def without_numbers(self) -> "Release":
        """The record as it was drafted: all but what was drawn, or follows from it."""
        return replace(self, noisy=(), notes=())
