"""What the command audits: every mechanism that we ship, and two that are known to leak."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from inbounds._check import Array
from inbounds.grid.entropy import SYSTEM, Entropy
from inbounds.grid.joint import supnorm, zero_sum
from inbounds.grid.law import GridMechanism
from inbounds.grid.scale import Scale
from inbounds.grid.staircase import Stairs
from inbounds.privacy.exact import calibrate_scale, choose_grid, grid_mechanism
from inbounds.privacy.stairs import best_core

Source = Callable[[int], Any]


def build_shipped(n: int, epsilon: Fraction, entropy: Entropy = SYSTEM) -> dict[str, tuple[Source, Source]]:
    """Every exact mechanism that we ship, on a proportion, as a pair of functions that draw at neighbouring counts.

    Parameters
    ----------
    n
        The number of records.
    epsilon
        The ε that each mechanism claims.
    entropy
        The source of its random bytes.

    Returns
    -------
    dict
        For each mechanism, by name, two functions that draw a number of values: at the first count and at the second.

    Raises
    ------
    ValueError
        If no mechanism can be calibrated to ``n`` and ``epsilon``.
    """
    grid = choose_grid(Fraction(0), Fraction(1), Fraction(1, n), epsilon)
    step = float(grid.step)

    def scalar(mechanism: GridMechanism, count: int, size: int) -> Array:
        return np.multiply(mechanism.draw_alike(mechanism.locate(Fraction(count, n)), entropy, size), step)

    def joint(scale: Scale, at: int, size: int) -> Array:
        return np.array([supnorm(scale, 3, entropy)[0] + at for _ in range(size)]) * step

    pairs: dict[str, tuple[Source, Source]] = {}
    for bounding in ("unbounded", "bit", "truncated"):
        mechanism = grid_mechanism(bounding, grid, epsilon)
        pairs[f"Laplace, {bounding}"] = partial(scalar, mechanism, 0), partial(scalar, mechanism, 1)
    stairs = Stairs(grid.move, best_core(grid.move, epsilon))
    staircase = replace(grid_mechanism("bit", grid, epsilon), scale=Scale.at_least(1 / epsilon), stairs=stairs)
    pairs["staircase, bit"] = partial(scalar, staircase, 0), partial(scalar, staircase, 1)
    scale = calibrate_scale("unbounded", grid.move, None, epsilon)
    pairs["sup-norm, 3 coordinates"] = partial(joint, scale, 0), partial(joint, scale, grid.move)
    # A record leaves the second cell and enters the first: their difference tells most.
    cells = calibrate_scale("unbounded", 2, None, epsilon)

    def table(shift: int, size: int) -> Array:
        noise = np.array([zero_sum(cells, 4, entropy)[:2] for _ in range(size)])
        return np.asarray(noise[:, 0] - noise[:, 1] + 2.0 * shift)

    pairs["zero-sum, 4 cells"] = partial(table, 0), partial(table, 1)
    return pairs


def build_leaking(n: int, epsilon: float) -> dict[str, tuple[Source, Source]]:
    """Floating-point noise, plain and clamped, in the same form: what an audit must catch."""
    rng = np.random.default_rng()

    def noisy(at: float, size: int) -> Array:
        return at + rng.laplace(0, 1 / (n * epsilon), size)

    def clamped(at: float, size: int) -> Array:
        return np.clip(noisy(at, size), 0, 1)

    return {
        "NumPy Laplace": (partial(noisy, 0.0), partial(noisy, 1 / n)),
        "NumPy Laplace, clamped": (partial(clamped, 0.0), partial(clamped, 1 / n)),
    }
