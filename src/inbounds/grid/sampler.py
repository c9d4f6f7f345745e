"""Exact draws from the discrete laws: integer comparisons only, no floating point.

claim:sampler-exact. Noise has exactly P(k) ∝ e^(-|k|/T) with T = `Scale.steps`.

claim:sampler-blind. Bytes drawn and comparisons made do not depend on the location, for all boundings alike: BIT clamps
noise that was drawn without looking at it, truncation chooses a side and folds.
"""

from collections.abc import Callable

import numpy as np

from inbounds.grid.entropy import Entropy
from inbounds.grid.geometric import FEW, Integers, geometric_many, geometric_one, laplace_many, laplace_one
from inbounds.grid.scale import Scale
from inbounds.grid.sides import Rooms, fold_alike, fold_one

# Elements worked on at a time: large enough to hide NumPy's fixed costs, small enough for the processor's cache.
_CHUNK = 65536


def laplace(scale: Scale, entropy: Entropy, size: int) -> Integers:
    """Discrete Laplace noise."""
    if size < FEW:
        return np.array([laplace_one(scale, entropy) for _ in range(size)], dtype=np.int64)
    return _in_chunks(size, lambda part: laplace_many(scale, entropy, part.stop - part.start))


def geometric(scale: Scale, entropy: Entropy, size: int) -> Integers:
    """Geometric variables: P(g) ∝ e^(-g/T) for g ≥ 0."""
    if size < FEW:
        return np.array([geometric_one(scale, entropy) for _ in range(size)], dtype=np.int64)
    return _in_chunks(size, lambda part: geometric_many(scale, entropy, part.stop - part.start)[0])


def bit(at: Integers, first: int | None, last: int | None, scale: Scale, entropy: Entropy) -> Integers:
    """Noise added to each location and clamped to [first, last]; an open side is None."""
    if at.size < FEW:
        return clamp(laplace(scale, entropy, at.size) + at, first, last)

    def chunk(part: slice) -> Integers:
        noisy = laplace_many(scale, entropy, part.stop - part.start)
        noisy += at[part]
        return clamp(noisy, first, last)

    return _in_chunks(at.size, chunk)


def truncated(at: Integers, first: int | None, last: int | None, scale: Scale, entropy: Entropy) -> Integers:
    """Draws with P(k) ∝ e^(-|k - at|/T) on [first, last]; a location outside counts as the bound next to it."""
    if first is None and last is None:
        return bit(at, None, None, scale, entropy)
    if at.size < FEW:
        centre = clamp(np.array(at), first, last)
        moves = [fold_one(*_rooms_one(int(k), first, last), scale, entropy) for k in centre]
        return centre + np.array(moves, dtype=np.int64)
    rooms = Rooms.of(scale, None if first is None or last is None else last - first)

    def chunk(part: slice) -> Integers:
        here = clamp(np.array(at[part]), first, last)
        below, above = None if first is None else here - first, None if last is None else last - here
        here += rooms.fold(below, above, entropy, here.size)
        return here

    return _in_chunks(at.size, chunk)


def clamp(values: Integers, first: int | None, last: int | None) -> Integers:
    """In place."""
    if first is not None:
        np.maximum(values, first, out=values)
    if last is not None:
        np.minimum(values, last, out=values)
    return values


def truncated_alike(
    at: int, first: int | None, last: int | None, scale: Scale, entropy: Entropy, size: int
) -> Integers:
    """Many draws from one truncated law, for studies and audits."""
    if first is None and last is None:
        return at + laplace(scale, entropy, size)
    centre = int(clamp(np.array([at], dtype=np.int64), first, last)[0])
    fold = fold_alike(*_rooms_one(centre, first, last), scale)
    return centre + _in_chunks(size, lambda part: fold(entropy, part.stop - part.start))


def _rooms_one(centre: int, first: int | None, last: int | None) -> tuple[int | None, int | None]:
    return None if first is None else centre - first, None if last is None else last - centre


def _in_chunks(size: int, draw: Callable[[slice], Integers]) -> Integers:
    result = np.empty(size, dtype=np.int64)
    for start in range(0, size, _CHUNK):
        part = slice(start, min(start + _CHUNK, size))
        result[part] = draw(part)
    return result
