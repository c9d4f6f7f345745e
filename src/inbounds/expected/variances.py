"""The variances of noisy numbers that were drawn together.

z = R v with E R² = (d+1)(d+2) T² for noise of scale T on d coordinates, and v uniform in the unit ball of the norm. A
ball of several blocks is the product of their balls, so that the second moments of v are those of each block.
"""

from fractions import Fraction
from functools import lru_cache

import numpy as np

from inbounds._check import Array
from inbounds.privacy.certificate import Certificate
from inbounds.privacy.norms import Block

# Second moments in the balls of blocks of moments, plain, counted or selected, for 1, 2, ... columns: of a count, of
# Σu, of Σ(2u² - 1) and of Σ u_i u_j. They were found by simulation and are off by less than a hundredth. In a cube,
# which other blocks have, all are 1/3.
_SECONDS: dict[str, tuple[tuple[float, float, float, float], ...]] = {
    "": (
        (0.0, 0.249, 0.295, 0.0),
        (0.0, 0.222, 0.265, 0.173),
        (0.0, 0.207, 0.237, 0.167),
        (0.0, 0.197, 0.212, 0.162),
        (0.0, 0.19, 0.19, 0.159),
        (0.0, 0.185, 0.17, 0.157),
    ),
    "counted": (
        (0.315, 0.236, 0.306, 0.0),
        (0.255, 0.208, 0.28, 0.158),
        (0.182, 0.194, 0.253, 0.155),
        (0.123, 0.186, 0.227, 0.153),
        (0.083, 0.181, 0.202, 0.152),
    ),
    "selected": (
        (0.219, 0.165, 0.2, 0.0),
        (0.106, 0.171, 0.207, 0.133),
        (0.05, 0.174, 0.201, 0.14),
        (0.025, 0.175, 0.188, 0.144),
    ),
}
_OF_CUBE = 1 / 3


def noise_variances(parts: tuple[Certificate, ...], units: tuple[Fraction, ...], places: tuple[int, ...] = ()) -> Array:
    """The variance of the noise of each coordinate, in units; with ``places`` only for those numbers of one vector."""
    dimension = parts[0].dimension
    scales = np.array([float(part.spread * unit) for part, unit in zip(parts, units, strict=True)])
    if dimension == 1:
        return np.asarray(2 * scales**2)
    seconds = np.array(_second_moments(parts[0].blocks) or (_OF_CUBE,) * dimension)
    moments = seconds[list(places)] if places else np.tile(seconds, len(parts) // dimension)
    return np.asarray((dimension + 1) * (dimension + 2) * moments * scales**2)


@lru_cache(maxsize=64)
def _second_moments(blocks: tuple[str, ...]) -> tuple[float, ...]:
    """The second moments of all coordinates of some blocks, one after another."""
    seconds: list[float] = []
    for block in map(Block.parse, blocks):
        table = _SECONDS.get(block.kind.removesuffix("moments").strip(), ())
        if block.size > len(table):
            seconds += [_OF_CUBE] * block.dimension
            continue
        count, total, square, product = table[block.size - 1]
        rows, columns = np.triu_indices(block.size)
        seconds += [count] * block.counted + [total] * block.size
        seconds += np.where(rows == columns, square, product).tolist()
    return tuple(seconds)
