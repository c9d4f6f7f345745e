"""The interface of a derivation: what it is given, and what it must compute."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from inbounds._check import Array
from inbounds.expected import Error, draw_noise, simulate, simulated_error
from inbounds.laws import Mechanism
from inbounds.privacy.certificate import Certificate, Composition

if TYPE_CHECKING:
    from inbounds.derivations.centred import CentredSpread
    from inbounds.derivations.chosen import Chosen
    from inbounds.derivations.columns import Points
    from inbounds.derivations.counted import PointsOfCounts
    from inbounds.derivations.moments import TableOfMoments
    from inbounds.derivations.truths import Truths

Tail: TypeAlias = Literal["noise", "chebyshev", "bounds"]


class Limits(NamedTuple):
    """Bounds of coordinates or of values (infinite on an open side), and a row (lower, upper) per numeric column.

    ``noise`` has the variance of each coordinate, for derivations that weigh it; None for coordinates without noise.
    """

    lower: Array
    upper: Array
    columns: Array
    noise: Array | None = None

    def exact(self) -> "Limits":
        """The same for coordinates without noise."""
        return self._replace(noise=None)


def halves_of(limits: Limits) -> Array:
    """Half of the width of the bounds of each numeric column."""
    return np.asarray(np.diff(limits.columns, axis=1)[:, 0] / 2)


@dataclass(frozen=True, slots=True)
class Coordinates:
    """The public numbers that a value is computed from: as they were drawn, with the worth of one unit, and their law.

    ``levels`` says which part of a composition is the law of each number; empty if each number has its own part.
    """

    noisy: tuple[Fraction, ...]
    units: tuple[Fraction, ...]
    certificate: Certificate | Composition
    limits: Limits
    levels: tuple[int, ...] = ()
    # The places of these numbers in the joint vector, if others were drawn with them.
    places: tuple[int, ...] = ()

    @property
    def parts(self) -> tuple[Certificate, ...]:
        """The law of each coordinate."""
        return list_parts(self.certificate, self.levels, len(self.noisy))

    @property
    def worth(self) -> Array:
        """The coordinates in double precision, units applied."""
        return np.array([float(x * unit) for x, unit in zip(self.noisy, self.units, strict=True)])

    def simulate_errors(self, values: Callable[[Array, Any], Array], draws: int | None = None) -> Array:
        """Simulated errors of values that are computed from these numbers, a row for each draw."""
        return simulate(values, self.worth, self.parts, self.units, self.limits, draws, places=self.places)


def list_parts(
    certificate: Certificate | Composition, levels: tuple[int, ...], numbers: int
) -> tuple[Certificate, ...]:
    """The law of each of several numbers: one for all, a part for each, or that of its level."""
    if isinstance(certificate, Certificate):
        return (certificate,) * numbers
    return tuple(certificate.parts[level] for level in levels) if levels else certificate.parts


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known before a release: where the truth plausibly lies, and among about how many records.

    ``names`` are those of the numeric ``columns``. ``groups`` says how many cells have sums of their own, ``selected``
    that the records are some of the ``size`` that the table has. ``waves`` says for groups in which one person is
    counted more than once how many of them there are along that column, and in how many a person is counted at most.
    """

    plausible: Any
    size: int | None
    columns: Array
    names: tuple[str, ...]
    units: tuple[Fraction, ...]
    labels: tuple[tuple[str, ...], ...]
    groups: int
    name: str
    limits: Limits
    meaning: Any = None
    selected: bool = False
    waves: tuple[int, int] | None = None

    def known_size(self) -> int:
        """The number of records; `TypeError` if it is protected and nobody gave a guess."""
        if self.size is None:
            raise TypeError(
                f"where the number of rows is protected, the error of a {self.name} depends on it: say about how "
                "many there are, as in expected_rows=1000 (under [data] of a plan)"
            )
        return self.size


class Derivation(ABC):
    """How values follow from noisy coordinates.

    A derivation defines the abstract members. All others have a default, so that the rest of the library asks a
    derivation for what it needs, and never which class it is.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def text(self) -> str:
        """Its name in records and reports."""

    @property
    @abstractmethod
    def tail(self) -> Tail:
        """Where the worst half-width of an interval comes from.

        From the noise, from Chebyshev's inequality and the worst RMSE, or from the width of the bounds, which is then
        also the worst RMSE.
        """

    @abstractmethod
    def values(self, noisy: Array, limits: Limits) -> Array:
        """Values from coordinates (units applied), flat: cells one after another, matrices row by row."""

    @abstractmethod
    def error(self, coordinates: Coordinates) -> Error:
        """How far off values are expected to be, at worst and where they were released."""

    @abstractmethod
    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        """Errors of simulated values from those of ``coordinates``, a row per draw; the worst RMSE and bias."""

    @abstractmethod
    def room(self, values: Array) -> Array | None:
        """How far each value may be from one that was computed on another machine; None if nothing is rounded."""

    @abstractmethod
    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        """The coordinates of a plausible truth, without noise: of the typical one, or of the one that is stated."""

    # What coordinates and values are. A field of the same name takes the place of the default; one without a default
    # of its own is written `= field()`, since a dataclass would otherwise take the property for its default.

    @property
    def plain(self) -> bool:
        """Whether a report needs no name for it."""
        return False

    @property
    def single(self) -> bool:
        """Whether each coordinate is one value, with its own law."""
        return False

    @property
    def of_sums(self) -> bool:
        """Whether coordinates are noisy counts and sums."""
        return False

    @property
    def of_elements(self) -> bool:
        """Whether coordinates are elements of a covariance matrix."""
        return False

    @property
    def keeps_numbers(self) -> bool:
        """Whether each value is its noisy number, apart from bounds and from a repair of all numbers together."""
        return False

    @property
    def weighs_noise(self) -> bool:
        """Whether values depend on the variances of the noise, which `Limits` then has."""
        return False

    @property
    def on_simplex(self) -> bool:
        """Whether values are shares or counts that add up to a known number."""
        return False

    @property
    def repair(self) -> str:
        """The repair of a matrix; ``"clip"``, which takes no time, for values that are no matrix."""
        return "clip"

    @property
    def rows(self) -> int | None:
        """The public number of records that values are computed with."""
        return None

    @property
    def root(self) -> bool:
        """Whether values are roots of variances."""
        return False

    @property
    def unit(self) -> bool:
        """Whether values are a matrix with ones on its diagonal, such as correlations."""
        return False

    @property
    def pooled(self) -> bool:
        """Whether all groups have one value together."""
        return False

    @property
    def square(self) -> bool:
        """Whether the squares of a column were drawn with its sum."""
        return False

    @property
    def fourth(self) -> bool:
        """Whether fourth powers were drawn with squares."""
        return False

    @property
    def over_sum(self) -> bool:
        """Whether values are shares of a noisy sum."""
        return False

    @property
    def means_above(self) -> bool:
        """Whether values are a covariance matrix with a line of means above it."""
        return False

    @property
    def derived(self) -> int | None:
        """The place of the share that follows from all others."""
        return None

    @property
    def depths(self) -> tuple[int, ...]:
        """Which part of a composition is the law of each coordinate; empty if each coordinate has its own part."""
        return ()

    @property
    def leaves(self) -> Sequence[int] | None:
        """The places of the coordinates that are counts of cells, if others are counts of groups of these."""
        return None

    # What other derivations lack

    @property
    def as_points(self) -> "Points | None":
        """Points of a column, such as quantiles."""
        return None

    @property
    def as_chosen(self) -> "Chosen | None":
        """Points of a column that were chosen by their ranks."""
        return None

    @property
    def as_counted(self) -> "PointsOfCounts | None":
        """Points of a column that are read from noisy counts."""
        return None

    @property
    def as_centred(self) -> "CentredSpread | None":
        """A spread from squares around a noisy centre."""
        return None

    @property
    def table(self) -> "TableOfMoments | None":
        """The moments that coefficients are computed from."""
        return None

    # Errors

    def knows_error(self, certificate: Certificate | Composition) -> bool:
        """Whether `error` is a formula under this law, so that it takes no time."""
        return False

    def law(self, coordinates: Coordinates) -> Mechanism | None:
        """The law of a value that is no single coordinate but whose error is known."""
        return None

    def errors_at(self, coordinates: Coordinates, truths: Sequence[Array], draws: int) -> list[Array]:
        """Simulated errors at each of several plausible truths, a row per draw.

        Noise that does not depend on the truth is drawn once.
        """
        parts, units, limits, places = coordinates.parts, coordinates.units, coordinates.limits, coordinates.places
        if parts[0].dimension > 1 and parts[0].noise != "zero-sum":
            worth, noise = np.array(truths), draw_noise(parts, units, np.random.default_rng(0), draws, places)
            noisy = self.values((worth[:, None] + noise).reshape(-1, worth.shape[1]), limits)
            return list(noisy.reshape(len(worth), draws, -1) - self.values(worth, limits.exact())[:, None])
        noise_of = self.draw_in_turn(parts)
        return [simulate(self.values, at, parts, units, limits, draws, noise_of, places) for at in truths]

    def draw_in_turn(self, parts: tuple[Certificate, ...]) -> Any:
        """How to simulate noise whose coordinates are drawn in turn; None for noise that is drawn independently."""
        return None

    def unbiased(self, coordinates: Coordinates) -> Array | None:
        """Values without clamping and repair, and without what noise adds on average; None if there is no formula."""
        return None

    def mean_of_sum(self, columns: Array, unit: float) -> tuple[float, float] | None:
        """The mean at a noisy sum of 0, and what one unit of the sum adds to it; None if values are no such means."""
        return None

    # Plausible truths

    def find_truths(self, situation: Situation) -> "Truths | None":
        """The plausible truths of the columns and groups; None if errors do not depend on them."""
        return None

    def assume(self, situation: Situation) -> tuple[Sequence[Any], str]:
        """Other plausible truths, at the ends of what is possible, and in words what was assumed.

        Each may replace what was stated, for `plausible`.
        """
        truths = self.find_truths(situation)
        return ((), "") if truths is None else truths.assume()

    def check_plausible(self, situation: Situation) -> None:
        """Refuse a statement that a forecast could not use."""
        self.assume(situation)
        self.plausible(situation)

    def span(self, lower: float, upper: float) -> tuple[float, float]:
        """Bounds of one coordinate as bounds of its value."""
        return lower, upper

    # Facts that a record or a report shows

    def undetermined(self, noisy: Array, limits: Limits) -> list[bool] | None:
        """Which columns of a matrix have no correlations, because their variances came out as 0; None if all have."""
        return None

    def find_range(self) -> tuple[float, float] | None:
        """The smallest and the largest possible value, if the derivation knows more than the bounds."""
        return None

    def fits_together(self, noisy: Sequence[Fraction]) -> bool:
        """Whether all coordinates could have been drawn together, given that each could have been drawn."""
        return True

    def list_notes(self) -> tuple[str, ...]:
        """Notes for a record, on what the errors assume."""
        return ()


class Simulated(Derivation):
    """A base class for derivations whose errors are found by simulation."""

    __slots__ = ()

    def error(self, coordinates: Coordinates) -> Error:
        """See `Derivation.error`."""
        return simulated_error(*self.simulate(coordinates))
