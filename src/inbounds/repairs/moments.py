"""Means, covariances and matrices from flat coordinates. Arrays are handled along their last axis."""

import math
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from inbounds._check import Array
from inbounds.repairs import matrix

Places: TypeAlias = npt.NDArray[np.intp]


def dimension(columns: int, *, products: bool) -> int:
    """Coordinates of one cell of sums: a count, a sum for each column and, with ``products``, one for each pair."""
    return 1 + columns + (columns * (columns + 1) // 2 if products else 0)


def triangle_size(elements: int) -> int:
    """Rows of the matrix whose upper triangle has that many elements."""
    return (math.isqrt(8 * elements + 1) - 1) // 2


def symmetric(triangle: Array) -> Array:
    """The full matrix, flat, from its upper triangle."""
    size = triangle_size(elements := triangle.shape[-1])
    place = np.zeros((size, size), dtype=np.intp)
    place[np.triu_indices(size)] = np.arange(elements)
    place = np.maximum(place, place.T)
    return triangle[..., place.ravel()]


def beside_diagonal(elements: Array, diagonal: float) -> Array:
    """The full matrix, flat, from the elements above its diagonal."""
    size = 1 + triangle_size(count := elements.shape[-1])
    place = np.full((size, size), count, dtype=np.intp)
    rows, columns = np.triu_indices(size, 1)
    place[rows, columns] = place[columns, rows] = np.arange(count)
    ends = np.full((*elements.shape[:-1], 1), diagonal)
    return np.concatenate([elements, ends], axis=-1)[..., place.ravel()]


def possible(flat: Array, repair: str, *, unit: bool = False) -> Array:
    """Flat matrices, repaired into covariance matrices, or with ``unit`` into correlation matrices."""
    size = math.isqrt(flat.shape[-1])
    full = flat.reshape(*flat.shape[:-1], size, size)
    return (matrix.correlations if unit else matrix.repair_matrix)(full, repair).reshape(flat.shape)


def scatter(cells: Array, half_widths: Array) -> tuple[Array, Array]:
    """Counts (at least 2) and upper triangles of Σ(x - mean)(y - mean), from counts, Σu and Σ(2u² - 1) or Σ u_i u_j."""
    size = len(half_widths)
    counts = np.maximum(cells[..., :1], 2.0)
    means = np.clip(cells[..., 1 : 1 + size] / counts, -1.0, 1.0)
    rows, columns, squares = _triangle(size)
    seconds = cells[..., 1 + size :] / counts
    seconds[..., squares] = (seconds[..., squares] + 1) / 2
    centred = np.clip(seconds, -1.0, 1.0, out=seconds)
    centred -= means[..., rows] * means[..., columns]
    for factor in (counts, half_widths[rows], half_widths[columns]):
        centred *= factor
    return counts, centred


@lru_cache(maxsize=64)
def _triangle(size: int) -> tuple[Places, Places, Places]:
    """Rows and columns of an upper triangle, and the places of its diagonal."""
    rows, columns = np.triu_indices(size)
    return rows, columns, np.flatnonzero(rows == columns)


def pooled_scatter(cells: Array, half_widths: Array) -> tuple[Array, Array]:
    """`scatter` within groups, summed over them, and its degrees of freedom."""
    _, within = scatter(cells, half_widths)
    sizes = np.maximum(cells[..., :1], 0.0)
    # A group of one record or none has no scatter.
    within = np.where(sizes < 2, 0.0, within).sum(axis=-2)
    return within, np.maximum(sizes.sum(axis=-2) - cells.shape[-2], 1.0)
