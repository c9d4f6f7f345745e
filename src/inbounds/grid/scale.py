"""The scale of discrete noise, in a form that is sampled without rounding."""

from dataclasses import dataclass
from fractions import Fraction

from inbounds import _check

# V, the larger part of a magnitude, counts pieces of T/64.
LOG_PIECES = 6
# 2^(exponent - 6) times the largest V in the table must fit 63 bits.
LARGEST_EXPONENT = 56
# Indices and their sums with noise must fit 63 bits.
LARGEST_INDEX = 1 << 60


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale of T = 2^exponent / divisor steps."""

    exponent: int
    divisor: int

    def __post_init__(self) -> None:
        for name in ("exponent", "divisor"):
            object.__setattr__(self, name, _check.integer(getattr(self, name), name, least=0))
        if not LOG_PIECES <= self.exponent <= LARGEST_EXPONENT or not 0 < self.divisor < LARGEST_INDEX:
            raise ValueError(
                f"scale must be 2^a/d with {LOG_PIECES} <= a <= {LARGEST_EXPONENT} and 0 < d < 2^60, got "
                f"2^{self.exponent}/{self.divisor}"
            )

    @property
    def steps(self) -> Fraction:
        """T."""
        return Fraction(1 << self.exponent, self.divisor)

    @classmethod
    def at_least(cls, steps: Fraction) -> "Scale":
        """The smallest scale that is at least ``steps``: more noise, by less than one part in 2^20.

        >>> Scale.at_least(Fraction(1)), Scale.at_least(Fraction(10)).steps - 10 < Fraction(1, 1 << 24)
        (Scale(exponent=6, divisor=64), True)
        """
        steps = _check.rational(steps, "steps")
        if not steps > 0:
            raise ValueError(f"scale must be > 0 steps, got {steps}")
        size = steps.numerator.bit_length() - steps.denominator.bit_length()
        exponent = min(max(32 + size, 32), LARGEST_EXPONENT)
        divisor = (steps.denominator << exponent) // steps.numerator
        if divisor < 1 << 20:
            raise ValueError(
                f"a scale of about 2^{size} steps is beyond 2^{LARGEST_EXPONENT - 20}: epsilon is too small for so "
                "fine a grid; use a coarser step or a larger epsilon"
            )
        if divisor >= LARGEST_INDEX:
            raise ValueError(f"a scale of about 2^{size} steps is too small; use a finer step or a smaller epsilon")
        while divisor % 2 == 0 and exponent > LOG_PIECES:
            exponent, divisor = exponent - 1, divisor // 2
        return cls(exponent, divisor)
