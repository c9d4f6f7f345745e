"""Which noise one continuous number gets: discrete Laplace, or a staircase where that has clearly less error.

Both cost the same. The choice and the shape follow from ε and the sensitivity in steps, by integers and certified
intervals alone, so that the same release always has the same law, on any machine.
"""

from dataclasses import replace
from fractions import Fraction

from inbounds.grid.interval import as_interval, exp_minus
from inbounds.grid.law import GridMechanism
from inbounds.grid.scale import Scale
from inbounds.grid.staircase import Stairs

# A staircase is used where the variance of Laplace noise is this many times that of the staircase: from ε = 1.51 on.
_CLEARLY = Fraction(11, 10)
# The fewest steps of a core, so that the grid does not show in it: more than the best number for ε beyond 39.
_LEAST_CORE = 64
# Bits after the point of the cube root.
_DIGITS = 128


# claim:staircase-choice
def take_stairs(mechanism: GridMechanism, move: int, epsilon: Fraction) -> GridMechanism:
    """The mechanism with staircase noise of the same ε, where its variance is clearly smaller.

    ``move`` is the sensitivity in steps. Variances are those of the noise without bounds.
    """
    stairs = Stairs(move, max(best_core(move, epsilon), min(_LEAST_CORE, move)))
    staircase = replace(mechanism, scale=Scale.at_least(1 / epsilon), stairs=stairs)
    before, after = (as_interval(replace(law, bounding="unbounded").mse(0)) for law in (mechanism, staircase))
    return staircase if before.lower >= _CLEARLY * after.upper else mechanism


# claim:staircase-core
def best_core(width: int, epsilon: Fraction) -> int:
    """The core of least variance, 1 ≤ r ≤ D, up to rounding of γ.

    On the real line the core is γD with γ = -b/(1-b) + ∛((b - 2b² + 2b⁴ - b⁵)/2) / (1-b)², b = e^-ε (Geng, Kairouz, Oh
    and Viswanath 2015). The 2r - 1 integers of a core are as wide as 2γD, so r is the integer next to γD + ½.
    """
    b = exp_minus(epsilon).lower
    cube = (b - 2 * b**2 + 2 * b**4 - b**5) / 2
    root = Fraction(_cube_root(int(cube * (1 << (3 * _DIGITS)))), 1 << _DIGITS)
    gamma = root / (1 - b) ** 2 - b / (1 - b)
    return min(max(int(gamma * width + 1), 1), width)


def _cube_root(n: int) -> int:
    """⌊∛n⌋ for n ≥ 0, by Newton's method from above."""
    if n == 0:
        return 0
    x = 1 << -(-n.bit_length() // 3)
    while (y := (2 * x + n // (x * x)) // 3) < x:
        x = y
    return x
