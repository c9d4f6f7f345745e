"""``python -m inbounds.audit``: try to catch every mechanism we ship, and two that are known to leak."""

import argparse
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from inbounds._check import Array
from inbounds.audit.events import audit
from inbounds.grid.entropy import SYSTEM, Entropy
from inbounds.grid.joint import supnorm, zero_sum
from inbounds.grid.law import GridMechanism
from inbounds.grid.scale import Scale
from inbounds.privacy.exact import calibrate_scale, choose_grid, grid_mechanism

Source = Callable[[int], Any]


def shipped(n: int, epsilon: Fraction, entropy: Entropy = SYSTEM) -> dict[str, tuple[Source, Source]]:
    """Every exact mechanism on a proportion of n records, at two neighbouring counts: draws for either."""
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
    scale = calibrate_scale("unbounded", grid.move, None, epsilon)
    pairs["sup-norm, 3 coordinates"] = partial(joint, scale, 0), partial(joint, scale, grid.move)
    # A record leaves the second cell and enters the first: their difference tells most.
    cells = calibrate_scale("unbounded", 2, None, epsilon)

    def table(moved: int, size: int) -> Array:
        noise = np.array([zero_sum(cells, 4, entropy)[:2] for _ in range(size)])
        return np.asarray(noise[:, 0] - noise[:, 1] + 2.0 * moved)

    pairs["zero-sum, 4 cells"] = partial(table, 0), partial(table, 1)
    return pairs


def leaking(n: int, epsilon: float) -> dict[str, tuple[Source, Source]]:
    """Floating-point noise, plain and clamped: what the audit must catch."""
    rng = np.random.default_rng()

    def noisy(at: float, size: int) -> Array:
        return at + rng.laplace(0, 1 / (n * epsilon), size)

    def clamped(at: float, size: int) -> Array:
        return np.clip(noisy(at, size), 0, 1)

    return {
        "NumPy Laplace": (partial(noisy, 0.0), partial(noisy, 1 / n)),
        "NumPy Laplace, clamped": (partial(clamped, 0.0), partial(clamped, 1 / n)),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each mechanism; 1 where one of ours was caught. Without arguments, those of the process."""
    parser = argparse.ArgumentParser(prog="inbounds audit", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="4,000 draws a side in place of 40,000")
    parser.add_argument("--n", type=int, default=100, help="records behind the proportion")
    parser.add_argument("--epsilon", default="1", help="the claim, as a decimal or a fraction")
    options = parser.parse_args(arguments)
    try:
        epsilon = Fraction(options.epsilon)
        sources = shipped(options.n, epsilon)
    except (ValueError, ZeroDivisionError) as error:
        parser.error(str(error))
    draws = 4_000 if options.quick else 40_000
    caught = []
    print(f"{'mechanism':26s} {'claimed ε':>9s} {'certified ε ≥':>13s}  event")
    for name, pair in (sources | leaking(options.n, float(epsilon))).items():
        finding = audit(*pair, draws=draws)
        print(f"{name:26s} {float(epsilon):9.3f} {finding.epsilon:13.3f}  {finding.event}")
        if name in sources and finding.epsilon > epsilon:
            caught.append(name)
    if caught:
        print(f"caught: {', '.join(caught)}", file=sys.stderr)
    return 1 if caught else 0


if __name__ == "__main__":
    sys.exit(main())
