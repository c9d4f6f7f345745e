"""Noise of whole vectors on the real line: density ∝ e^(-N(z)/scale) for a norm N, in double precision.

z is R v with R gamma distributed (shape d + 1) and v uniform in the unit ball of N. Balls are those of rows
|w·v| ≤ l within the cube [-1, 1]^d; their points are found by keeping those of the cube that lie inside.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from inbounds._check import Array

# |weights · v| ≤ limit, for each row; and rows of some coordinates that follow each other, with the place of the first.
Rows: TypeAlias = tuple[tuple[tuple[int, ...], int], ...]
Part: TypeAlias = tuple[int, Rows]
# Points of a ball that are kept for all simulations, points of the cube that are tried for them, and those at a time.
_KEPT, _TRIED, _BLOCK = 8192, 4_000_000, 1_000
# Rows that are tried first: the longest ones, which most points fail. So few at a time, and so few points, that NumPy
# multiplies them in one thread: several would wait for each other longer than they work.
_FIRST = (16, 64, 192)


@lru_cache(maxsize=32)
def ball_points(rows: Rows) -> Array:
    """Uniform points of the ball of these rows, the same ones each time: thousands, or hundreds of a narrow ball."""
    weights = np.array([np.array(row) / limit for row, limit in rows])
    weights = weights[np.argsort(-(weights**2).sum(axis=1), kind="stable")]
    rng = np.random.default_rng(0)
    points_inside: list[Array] = []
    for _ in range(_TRIED // _BLOCK):
        points = rng.uniform(-1, 1, (_BLOCK, weights.shape[1]))
        for part in np.split(weights, _FIRST):
            points = points[(np.abs(points @ part.T) <= 1).all(axis=1)]
        points_inside.append(points)
        if sum(map(len, points_inside)) >= _KEPT:
            break
    return np.concatenate(points_inside)[:_KEPT]


def vector_noise(
    dimension: int,
    parts: Sequence[Part],
    rng: np.random.Generator,
    shape: tuple[int, ...],
    places: Sequence[int],
    radius: Array | None = None,
) -> Array:
    """Draws of noise of scale 1 for some of the coordinates of a vector, along the last axis.

    ``radius`` has draws of its radii, in the given shape, where these are not to be independent.
    """
    radii = rng.gamma(dimension + 1, 1.0, shape) if radius is None else radius
    return np.asarray(radii[..., None] * vector_points(parts, rng, shape, places))


def vector_points(
    parts: Sequence[Part], rng: np.random.Generator, shape: tuple[int, ...], places: Sequence[int]
) -> Array:
    """Uniform points of the unit ball, some of their coordinates along the last axis."""
    points = rng.uniform(-1, 1, (*shape, len(places)))
    for inside, within, rows in _among(parts, places):
        pool = ball_points(rows)
        points[..., inside] = pool[rng.integers(len(pool), size=shape)][..., within]
    return points


def combination_sizes(parts: Sequence[Part], weights: Sequence[tuple[int, float]]) -> Array:
    """|Σ w v| over points v of the unit ball, for weights of some coordinates: a sample, the same each time."""
    rng = np.random.default_rng(1)
    points = rng.uniform(-1, 1, (_KEPT, len(weights)))
    for inside, within, rows in _among(parts, [place for place, _ in weights]):
        pool = ball_points(rows)
        # Each point as often as any other; in any order, since parts of the same rows have the same points.
        points[:, inside] = pool[rng.permutation(_KEPT) % len(pool)][:, within]
    return np.asarray(np.abs(points @ np.array([weight for _, weight in weights])))


def _among(parts: Sequence[Part], places: Sequence[int]) -> Iterator[tuple[list[int], list[int], Rows]]:
    """For each part with some of the places: which of them, where they are in it, and its rows."""
    for start, rows in parts:
        size = len(rows[0][0])
        if pairs := [(i, place - start) for i, place in enumerate(places) if start <= place < start + size]:
            yield [i for i, _ in pairs], [place for _, place in pairs], rows
