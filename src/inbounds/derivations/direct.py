"""Coordinates that are values themselves, or the squares of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from inbounds._check import Array
from inbounds.derivations import plausible
from inbounds.derivations.base import Coordinates, Derivation, Limits, Situation, Tail
from inbounds.derivations.truths import Truths, find_truths
from inbounds.expected import Error, continuous, exact_error, exact_errors, root_error, simulate, worst_root_error
from inbounds.privacy.certificate import Certificate, Composition


@dataclass(frozen=True, slots=True)
class Direct(Derivation):
    """Noisy coordinates, times their units, within their bounds; with ``root`` the square roots of them."""

    root: bool = False

    single = True
    tail: ClassVar[Tail] = "bounds"

    @property
    def text(self) -> str:
        return "root of a released variance" if self.root else "direct"

    @property
    def plain(self) -> bool:
        return not self.root

    @property
    def keeps_numbers(self) -> bool:
        return not self.root

    def values(self, noisy: Array, limits: Limits) -> Array:
        clipped = np.clip(noisy, limits.lower, limits.upper)
        return np.asarray(np.sqrt(clipped) if self.root else clipped)

    def knows_error(self, certificate: Certificate | Composition) -> bool:
        return True

    def error(self, coordinates: Coordinates) -> Error:
        part = coordinates.parts[0]
        if self.root:
            law = continuous(part)
            return Error(*root_error(law, float(coordinates.noisy[0])), *worst_root_error(law))
        if isinstance(coordinates.certificate, Certificate) and len(coordinates.noisy) > 1:
            return exact_errors(part, coordinates.noisy, float(coordinates.units[0]))
        return exact_error(part, coordinates.noisy[0], coordinates.units[0])

    def simulate(self, coordinates: Coordinates) -> tuple[Array, tuple[Array, Array]]:
        errors = simulate(self.values, coordinates.worth, coordinates.parts, coordinates.units, coordinates.limits)
        worst = self.error(coordinates)
        return errors, (np.ravel(worst.worst_rmse), np.ravel(worst.worst_bias))

    def room(self, values: Array) -> Array | None:
        return None

    def plausible(self, situation: Situation) -> tuple[Fraction, ...]:
        return plausible.counts(plausible.shares(situation) * situation.known_size())

    def find_truths(self, situation: Situation) -> Truths | None:
        """Only the error of a root depends on the spread that it is."""
        return find_truths(situation, "spread", depends_on_means=False) if self.root else None

    def assume(self, situation: Situation) -> tuple[Sequence[Any], str]:
        return (), ""

    def span(self, lower: float, upper: float) -> tuple[float, float]:
        return (math.sqrt(lower), math.sqrt(upper)) if self.root else (lower, upper)
