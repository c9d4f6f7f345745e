"""Guarantees as values: what a release promises, how promises add up, and how a budget is shared.

ε is a float at the surface, but sums and shares are formed as exact fractions: a composed guarantee is rounded
up, a share is rounded down, so that spending all shares never exceeds the budget by a last digit.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol, Self, TypeAlias, runtime_checkable

from inbounds import _check

Neighbours: TypeAlias = Literal["substitute", "add-remove"]
NEIGHBOURS = ("substitute", "add-remove")
# Where a true value may lie, seen from the bounds of its release.
LOCATIONS = ("inside", "anywhere")


@dataclass(frozen=True, slots=True)
class PureDP:
    """ε-differential privacy: P(R(x) ∈ Q) ≤ e^ε P(R(x') ∈ Q) for all neighbours x, x' and all Q."""

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _epsilon(self.epsilon))

    @property
    def delta(self) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class ApproximateDP:
    """(ε, δ)-approximate differential privacy: P(R(x) ∈ Q) ≤ e^ε P(R(x') ∈ Q) + δ."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _epsilon(self.epsilon))
        object.__setattr__(self, "delta", _delta(self.delta))


@dataclass(frozen=True, slots=True)
class ProbabilisticDP:
    """(ε, δ)-probabilistic differential privacy: outputs whose loss exceeds ε have probability at most δ.

    Stronger than the approximate kind, but not closed under post-processing: merging outputs may raise the
    loss of a harmless one. `after_postprocessing` gives what survives.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _epsilon(self.epsilon))
        object.__setattr__(self, "delta", _delta(self.delta))

    def after_postprocessing(self) -> ApproximateDP:
        return ApproximateDP(self.epsilon, self.delta)


AnyDP: TypeAlias = PureDP | ApproximateDP | ProbabilisticDP


def compose_sequential(guarantees: Iterable[AnyDP]) -> AnyDP:
    """claim:compose-sequential. All of them computed on the same records: ε and δ add up (McSherry 2009).

    >>> compose_sequential([PureDP(0.1)] * 3)
    PureDP(epsilon=0.30000000000000004)
    """
    parts = list(guarantees)
    epsilon, delta = _sum_up(part.epsilon for part in parts), _sum_up(part.delta for part in parts)
    return _of_weakest_kind(parts, epsilon, delta)


def compose_parallel(
    guarantees: Iterable[AnyDP],
    neighbours: Neighbours = "substitute",
    *,
    parts: Literal["free", "fixed"] = "free",
) -> AnyDP:
    """claim:compose-parallel. Each of them computed on its own part of the records, the parts disjoint.

    ``neighbours="add-remove"``: a record that comes or goes touches one part: the largest ε and δ.

    ``neighbours="substitute"``, ``parts="free"``: a substituted record may leave one part and enter another, or change
    within one; either is a removal and an addition. The parts' guarantees must hold under *add-remove* (their sizes
    change), and twice the largest ε is spent; δ grows to (1 + e^ε) δ by the group property.

    ``neighbours="substitute"``, ``parts="fixed"``: something public that no record can change decides the part, and the
    parts' guarantees hold under substitution: the largest ε and δ.

    >>> compose_parallel([PureDP(0.5), PureDP(0.25)], "add-remove"), compose_parallel([PureDP(0.5), PureDP(0.25)])
    (PureDP(epsilon=0.5), PureDP(epsilon=1.0))
    """
    _check.choice(neighbours, "neighbours", NEIGHBOURS)
    _check.choice(parts, "parts", ("free", "fixed"))
    pieces = list(guarantees)
    epsilon, delta = max((g.epsilon for g in pieces), default=0.0), max((g.delta for g in pieces), default=0.0)
    if neighbours == "add-remove" or parts == "fixed":
        return _of_weakest_kind(pieces, epsilon, delta)
    if not delta:
        return _of_weakest_kind(pieces, 2 * epsilon, 0.0)
    grown = (1 + math.exp(min(epsilon, 700.0))) * delta
    return ApproximateDP(2 * epsilon, min(math.nextafter(grown, math.inf), 1.0))


def split_equally(epsilon: float, parts: int) -> tuple[float, ...]:
    """ε in equal shares.

    >>> split_equally(1.0, 3)
    (0.3333333333333333, 0.3333333333333333, 0.3333333333333333)
    """
    return split_by_weight(epsilon, [1] * _check.integer(parts, "parts", least=1))


def split_by_weight(epsilon: float, weights: Sequence[float]) -> tuple[float, ...]:
    """claim:split. ε in shares proportional to positive weights; their exact sum never exceeds ε."""
    total = Fraction(_check.positive(epsilon, "epsilon"))
    exact = [Fraction(_check.positive(weight, f"weights[{i}]")) for i, weight in enumerate(weights)]
    if not exact:
        raise ValueError("weights must not be empty")
    shares = tuple(_round_down(total * weight / sum(exact)) for weight in exact)
    if not all(shares):
        raise ValueError("weights must not be so far apart that a share vanishes")
    return shares


def split_by_sensitivity(epsilon: float, sensitivities: Sequence[float]) -> tuple[float, ...]:
    """The paper's w_j = δ_j / Σδ_j (Remark 2): all statistics then get noise of one and the same scale."""
    return split_by_weight(epsilon, sensitivities)


def _of_weakest_kind(parts: list[AnyDP], epsilon: float, delta: float) -> AnyDP:
    """A guarantee of the strongest kind that all parts still have."""
    if not parts:
        raise ValueError("guarantees must not be empty")
    if any(isinstance(part, ApproximateDP) for part in parts):
        return ApproximateDP(epsilon, min(delta, 1.0))
    if any(isinstance(part, ProbabilisticDP) for part in parts):
        return ProbabilisticDP(epsilon, min(delta, 1.0))
    return PureDP(epsilon)


def _epsilon(value: object) -> float:
    return _check.positive(value, "epsilon")


def _delta(value: object) -> float:
    number = _check.real(value, "delta")
    if not 0 <= number <= 1:
        raise ValueError(f"delta must lie in [0, 1], got {number}")
    return number


def _sum_up(values: Iterable[float]) -> float:
    """Sum, rounded up to the next float."""
    exact = sum((Fraction(value) for value in values), start=Fraction(0))
    rounded = float(exact)
    return rounded if Fraction(rounded) >= exact else math.nextafter(rounded, math.inf)


def _round_down(exact: Fraction) -> float:
    rounded = float(exact)
    return rounded if Fraction(rounded) <= exact else math.nextafter(rounded, 0.0)


@runtime_checkable
class Guarantee(Protocol):
    """A promise as a frozen, hashable value. ``epsilon`` is the ε whose pure promise is as strong."""

    kind: ClassVar[str]

    @property
    def epsilon(self) -> Fraction: ...
    def plus(self, other: Self) -> Self: ...
    def share(self, weight: Fraction) -> Self: ...
    def covers(self, other: Self) -> bool: ...
    def to_dict(self) -> dict[str, str]: ...


@dataclass(frozen=True, slots=True)
class Pure:
    """ε-differential privacy."""

    epsilon: Fraction

    kind: ClassVar[str] = "pure"

    def plus(self, other: "Pure") -> "Pure":
        return Pure(self.epsilon + other.epsilon)

    def share(self, weight: Fraction) -> "Pure":
        return Pure(self.epsilon * weight)

    def covers(self, other: "Pure") -> bool:
        return other.epsilon <= self.epsilon

    def to_dict(self) -> dict[str, str]:
        return {"epsilon": str(self.epsilon)}


def parse_guarantee(body: dict[str, Any]) -> Guarantee:
    if set(body) != {"epsilon"}:
        raise ValueError("the guarantee is of no known kind")
    return Pure(_check.fraction(body["epsilon"], "epsilon"))
