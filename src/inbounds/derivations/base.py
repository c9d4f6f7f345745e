"""The interface of a derivation: what it is given, and what it must compute."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from inbounds._check import Array
from inbounds.expected import Error, simulate, simulated_error
from inbounds.privacy.certificate import Certificate, Composition

if TYPE_CHECKING:
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


class Derivation(Protocol):
    """How values follow from noisy coordinates.

    ``text`` names it in records and reports; ``plain`` ones need no such name. ``of_sums`` says that coordinates are
    noisy counts and sums, ``single`` that each coordinate is one value, with its own law. ``tail`` says where the worst
    half-width of an interval comes from: from the noise, from Chebyshev's inequality and the worst RMSE, or from the
    width of the bounds, which is then also the worst RMSE. ``weighs_noise`` says that values depend on the variances of
    the noise, which `Limits` then has.
    """

    @property
    def text(self) -> str: ...
    @property
    def plain(self) -> bool: ...
    @property
    def of_sums(self) -> bool: ...
    @property
    def single(self) -> bool: ...
    @property
    def tail(self) -> Tail: ...
    @property
    def weighs_noise(self) -> bool: ...

    def values(self, noisy: Array, limits: Limits) -> Array:
        """Values from coordinates (units applied), flat: cells one after another, matrices row by row."""
        ...

    def knows_error(self, certificate: Certificate | Composition) -> bool:
        """Whether `error` is a formula under this law, so that it takes no time."""
        ...

    def error(self, coordinates: Coordinates) -> Error:
        """How far off values are expected to be, at worst and where they were released."""
        ...

    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        """Errors of simulated values from those of ``coordinates``, a row per draw; the worst RMSE and bias."""
        ...

    def undetermined(self, noisy: Array, limits: Limits) -> list[bool] | None:
        """Which columns of a matrix have no correlations, because their variances came out as 0; None if all have."""
        ...

    def room(self, values: Array) -> Array | None:
        """How far each value may be from one that was computed on another machine; None if nothing is rounded."""
        ...

    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        """The coordinates of a plausible truth, without noise: of the typical one, or of the one that is stated."""
        ...

    def find_truths(self, situation: Situation) -> "Truths | None":
        """The plausible truths of the columns and groups; None if errors do not depend on them."""
        ...

    def assume(self, situation: Situation) -> tuple[Sequence[Any], str]:
        """Other plausible truths, at the ends of what is possible, and in words what was assumed.

        Each may replace what was stated, for `plausible`.
        """
        ...


class Simulated(ABC):
    """A base class for derivations whose errors are found by simulation."""

    __slots__ = ()

    single: ClassVar[bool] = False

    @property
    def weighs_noise(self) -> bool:
        """See `Derivation`."""
        return False

    @abstractmethod
    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        """See `Derivation.simulate`."""

    def undetermined(self, noisy: Array, limits: Limits) -> list[bool] | None:
        """See `Derivation.undetermined`."""
        return None

    def knows_error(self, certificate: Certificate | Composition) -> bool:
        """See `Derivation.knows_error`."""
        return False

    def error(self, coordinates: Coordinates) -> Error:
        """See `Derivation.error`."""
        return simulated_error(*self.simulate(coordinates))

    def find_truths(self, situation: Situation) -> "Truths | None":
        """See `Derivation.find_truths`; for most statistics the truth matters little."""
        return None

    def assume(self, situation: Situation) -> tuple[Sequence[Any], str]:
        """See `Derivation.assume`."""
        truths = self.find_truths(situation)
        return ((), "") if truths is None else truths.assume()
