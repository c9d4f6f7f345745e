"""Noise for exact statistics: laws and certificates first, from public numbers; then the data, once.

Every function comes in two steps. The first fixes the law and proves what it costs, before any data is read; the
second takes the table's exact numbers as arguments, adds noise from the system's randomness and returns noisy ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any, Literal, TypeAlias

from inbounds import _check
from inbounds.grid.entropy import SYSTEM, Entropy, require_system
from inbounds.grid.geometric import Integers
from inbounds.grid.joint import supnorm, zero_sum
from inbounds.grid.law import GridMechanism
from inbounds.privacy.certificate import Certificate, certify
from inbounds.privacy.exact import choose_grid, grid_mechanism
from inbounds.privacy.guarantee import Neighbours
from inbounds.tables.answers import Cells
from inbounds.tables.statistics import Statistic, Unit

BOUNDINGS = ("bit", "truncated")
# Where a true value may lie, seen from the bounds of its release.
Location: TypeAlias = Literal["inside", "anywhere"]
# Far beyond what protects anyone; exact values for tests are within reach.
_LARGEST_EPSILON = 10**6


@dataclass(frozen=True, slots=True)
class Promise:
    """What a release spends, for whom, how it is kept in bounds, and where it is accounted for (no part of the law)."""

    epsilon: Fraction
    unit: Unit
    bounding: str
    ledger: Any = field(default=None, compare=False)

    @classmethod
    def of(
        cls, epsilon: object, neighbours: object, contributions: object, bounding: object, ledger: Any = None
    ) -> "Promise":
        """The promise as a user writes it."""
        exact = _check.fraction(epsilon, "epsilon")
        if not 0 < exact <= _LARGEST_EPSILON:
            raise ValueError(f"epsilon must be > 0 and at most 1e6, got {_check.shown(epsilon)}")
        _check.choice(bounding, "bounding", BOUNDINGS)
        return cls(exact, Unit(neighbours, contributions), str(bounding), ledger)  # type: ignore[arg-type]


def entropy_source() -> Entropy:
    """The system's randomness; nothing else is fit for a release."""
    return require_system(SYSTEM)


def single_law(
    statistic: Statistic,
    promise: Promise,
    epsilon: Fraction | None = None,
    *,
    name: str | None = None,
) -> Certificate:
    """The law of one number at ε (or a share of it), certified."""
    epsilon = promise.epsilon if epsilon is None else epsilon
    if promise.bounding == "truncated" and statistic.lower is None and statistic.upper is None:
        raise ValueError(f"a {statistic.name} has no bounds here, so there is nothing to truncate; use bounding='bit'")
    bounds, steps = (statistic.lower, statistic.upper), (statistic.sensitivity, statistic.step)
    neighbours = promise.unit.neighbours
    return _single_law(name or statistic.name, promise.bounding, bounds, steps, neighbours, epsilon)


def cut_law(law: Certificate, bounds: tuple[Fraction | None, Fraction | None]) -> Certificate:
    """A truncated law at the same ε within other bounds, which the true value may lie beyond."""
    steps = law.sensitivity, None
    return _single_law(law.statistic, "truncated", bounds, steps, law.neighbours, law.epsilon, "anywhere")


# All arguments of laws are public, so results may be kept.
@lru_cache(maxsize=1024)
def _single_law(
    name: str,
    bounding: str,
    bounds: tuple[Fraction | None, Fraction | None],
    steps: tuple[Fraction, Fraction | None],
    neighbours: Neighbours,
    epsilon: Fraction,
    location: Location = "inside",
) -> Certificate:
    sensitivity, step = steps
    return certify(
        _law(bounding, bounds, sensitivity, epsilon, step=step, location=location),
        statistic=name,
        neighbours=neighbours,
        sensitivity=sensitivity,
        epsilon=epsilon,
        location=location,
    )


def _law(bounding: str, bounds: Any, sensitivity: Fraction, epsilon: Fraction, **grid: Any) -> GridMechanism:
    """The mechanism with the least noise; a plain word where its scale would not fit 60 bits."""
    try:
        lower, upper = bounds
        return grid_mechanism(bounding, choose_grid(lower, upper, sensitivity, epsilon, **grid), epsilon)
    except ValueError:
        pass
    raise ValueError(
        "no noise can be drawn for this epsilon, with these bounds, rows (or denominator) and contributions: the scale "
        "would be too large or too small for 60 bits; take an epsilon nearer to 1, or fewer contributions"
    )


def draw_single(statistic: Statistic, certificate: Certificate, cells: Cells) -> Fraction:
    """claim:release-single. The statistic of a table, with noise of the certified law."""
    law = certificate.mechanism
    at = _root_index(law, statistic(cells)) if statistic.root else law.locate(statistic(cells))
    return law.value(law.draw(at, entropy_source()))


def _root_index(law: GridMechanism, square: Fraction) -> int:
    """⌊√square/step + ½⌋ = ⌊(⌊2√square/step⌋ + 1)/2⌋, on a grid from 0."""
    scaled = 4 * square / law.step**2
    return (isqrt(scaled.numerator // scaled.denominator) + 1) // 2


@lru_cache(maxsize=1024)
def counts_law(name: str, promise: Promise, rows: int | None, levels: int = 1) -> Certificate:
    """The law of each count of a table at ε, certified for all of them together.

    In a tree every record is counted once in each of its ``levels``.
    """
    changes = promise.unit.cell_changes * levels
    upper = None if rows is None else Fraction(rows)
    share = promise.epsilon / changes
    return certify(
        _law(promise.bounding, (Fraction(0), upper), Fraction(1), share, step=Fraction(1)),
        statistic=name,
        neighbours=promise.unit.neighbours,
        sensitivity=Fraction(1),
        epsilon=promise.epsilon,
        draws=changes,
    )


@lru_cache(maxsize=1024)
def zero_sum_law(name: str, promise: Promise, cells: int) -> Certificate:
    """The law of noise that keeps the sum of a table's counts, certified; for a public number of rows."""
    changes = promise.unit.cell_changes
    share = promise.epsilon / changes
    return certify(
        _law("unbounded", (None, None), Fraction(1), share, step=Fraction(1), location="anywhere"),
        statistic=name,
        neighbours=promise.unit.neighbours,
        sensitivity=Fraction(1),
        epsilon=promise.epsilon,
        location="anywhere",
        dimension=cells,
        draws=changes,
        noise="zero-sum",
    )


def draw_zero_sum(counts: Integers, certificate: Certificate) -> tuple[Fraction, ...]:
    """claim:release-zero-sum. Counts of a table's cells with noise that adds up to nothing."""
    return _fractions(counts + zero_sum(certificate.grid.scale, counts.size, entropy_source()))


def draw_counts(counts: Integers, certificate: Certificate) -> tuple[Fraction, ...]:
    """claim:release-counts. Counts of a table's cells, each with noise of its own."""
    return _fractions(certificate.mechanism.draw_each(counts, entropy_source()))


def _fractions(noisy: Integers) -> tuple[Fraction, ...]:
    """Noisy counts as fractions, one object for all that are equal: of a million, few are different."""
    made: dict[int, Fraction] = {}
    blocks = (noisy[start : start + _BLOCK].tolist() for start in range(0, noisy.size, _BLOCK))
    return tuple(made[x] if x in made else made.setdefault(x, Fraction(x)) for block in blocks for x in block)


# Numbers that are made Python's own at a time.
_BLOCK = 65536


@lru_cache(maxsize=1024)
def joint_law(name: str, promise: Promise, sensitivity: Fraction, dimension: int, draws: int = 1) -> Certificate:
    """The law of sup-norm noise for vectors whose coordinates all move by at most ``sensitivity``, certified.

    ``draws`` is the number of vectors that the unit moves. Truncation is refused: it would not be post-processing.
    """
    if promise.bounding == "truncated":
        raise ValueError(
            f"bounding='truncated' is not offered for a {name} released jointly: the noise of several numbers at once "
            "is clamped, which costs no privacy; use bounding='bit'"
        )
    share = promise.epsilon / draws
    return certify(
        _law("unbounded", (None, None), sensitivity, share, location="anywhere"),
        statistic=name,
        neighbours=promise.unit.neighbours,
        sensitivity=sensitivity,
        epsilon=promise.epsilon,
        location="anywhere",
        dimension=dimension,
        draws=draws,
    )


def draw_joint(vectors: Sequence[Sequence[Fraction]], certificate: Certificate) -> tuple[Fraction, ...]:
    """claim:release-joint. Vectors with sup-norm noise, one after another."""
    law, entropy = certificate.grid, entropy_source()
    noisy = []
    for vector in vectors:
        noise = supnorm(law.scale, len(vector), entropy)
        noisy += [law.value(law.locate(x) + int(z)) for x, z in zip(vector, noise, strict=True)]
    return tuple(noisy)
