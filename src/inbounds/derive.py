"""From noisy coordinates to the value that is published: post-processing, of public numbers only.

Each method is named in the record, so that whoever has the record can do it again. Arrays are handled along their last
axis: one release, or thousands of simulated ones (`inbounds.expected`).
"""

import math
from dataclasses import dataclass

import numpy as np

from inbounds._check import Array
from inbounds.after import matrix, simplex
from inbounds.after import tree as trees
from inbounds.after.tree import DEEPEST as DEEPEST

# Noisy coordinates, times their units, within their bounds.
DIRECT = "direct"
# The square root of a noisy variance.
ROOT = "root of a released variance"
# A symmetric matrix from the elements on and above its diagonal.
MATRIX = "matrix"
CORRELATION = "correlation from released covariances"
# From noisy sums and a noisy count (`inbounds.tables.statistics.Moments`).
MEAN_OF_SUMS = "noisy sum over noisy count"
VARIANCE_OF_SUMS = "variance from noisy sums and count"
ROOT_OF_SUMS = "standard deviation from noisy sums and count"
MATRIX_OF_SUMS = "covariances from noisy sums and count"
CORRELATION_OF_SUMS = "correlations from noisy sums and count"
POOLED_OF_SUMS = "pooled covariances from noisy sums and counts"
# Counts that are not public in number, as shares of their own sum.
SHARES = "noisy counts over their sum"
# Shares that sum to one, and counts that sum to the public number of rows (`inbounds.after.simplex`).
PROJECTED = "projected onto the simplex"
RESCALED = "rescaled to sum to one"
ALL_BUT_ONE = "one share is what the others leave of one"
WHOLE = "nearest counts with the public sum"
TREE = "shares of groups and members made to agree"
SIMPLEX = (SHARES, PROJECTED, RESCALED, ALL_BUT_ONE, WHOLE, TREE)
METHODS = (
    DIRECT,
    ROOT,
    MATRIX,
    CORRELATION,
    MEAN_OF_SUMS,
    VARIANCE_OF_SUMS,
    ROOT_OF_SUMS,
    MATRIX_OF_SUMS,
    CORRELATION_OF_SUMS,
    POOLED_OF_SUMS,
    *SIMPLEX,
)
OF_SUMS = METHODS[4:10]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What some methods need besides numbers.

    ``derived`` is the share that `ALL_BUT_ONE` leaves out, ``repair`` the way to a possible matrix ("clip" by default),
    ``tree`` the groups of `TREE`.
    """

    derived: int | None = None
    repair: str | None = None
    tree: trees.Tree | None = None


PLAIN = Recipe()


def derive(
    method: str,
    noisy: Array,
    lower: Array,
    upper: Array,
    columns: Array,
    recipe: Recipe = PLAIN,
) -> Array:
    """Values from coordinates (units applied), within bounds.

    ``columns`` has a row (lower, upper) for each numeric column; methods of sums need them to undo the scaling. The
    result is flat: cells one after another, matrices row by row.
    """
    if method in (DIRECT, ROOT):
        values = np.clip(noisy, lower, upper)
        return np.asarray(np.sqrt(values) if method == ROOT else values)
    how = recipe.repair or "clip"
    if method in (MATRIX, CORRELATION):
        return _possible(symmetric(np.clip(noisy, lower, upper)), how, unit=method == CORRELATION)
    if method in SIMPLEX:
        return _on_the_simplex(method, noisy, upper, recipe)
    width = (columns[:, 1] - columns[:, 0]) / 2
    cells = noisy.reshape(*noisy.shape[:-1], -1, dimension(method, len(columns)))
    if method == MEAN_OF_SUMS:
        # An empty group has no mean; one record is the least that a count stands for.
        means = columns.mean(axis=1) + width * cells[..., 1] / np.maximum(cells[..., 0], 1.0)
        return np.asarray(np.clip(means, lower, upper))
    if method == POOLED_OF_SUMS:
        pooled, free = pooled_scatter(cells, width)
        return _possible(np.clip(symmetric(pooled / free), lower, upper), how)
    counts, centred = scatter(cells[..., 0, :], width)
    covariances = symmetric(centred / (counts - 1))
    if method == CORRELATION_OF_SUMS:
        return _possible(covariances, how, unit=True)
    if method == MATRIX_OF_SUMS:
        return _possible(np.clip(covariances, lower, upper), how)
    variances = np.clip(covariances, 0.0, upper if method == VARIANCE_OF_SUMS else upper**2)
    return variances if method == VARIANCE_OF_SUMS else np.sqrt(variances)


def _on_the_simplex(method: str, noisy: Array, upper: Array, recipe: Recipe) -> Array:
    if method == TREE and recipe.tree is not None:
        return trees.leaves_of(recipe.tree, trees.consistent(recipe.tree, noisy, 1.0))
    if method == WHOLE:
        return simplex.whole(noisy, int(upper[0]))
    if method == PROJECTED:
        return simplex.project(noisy)
    if method == ALL_BUT_ONE:
        place = noisy.shape[-1] if recipe.derived is None else recipe.derived
        return simplex.all_but_one(np.insert(noisy, place, 0.0, axis=-1), place)
    return simplex.rescale(noisy)


def dimension(method: str, columns: int) -> int:
    """Coordinates of one cell."""
    return 1 + columns + (0 if method == MEAN_OF_SUMS else columns * (columns + 1) // 2)


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


def _possible(flat: Array, how: str, *, unit: bool = False) -> Array:
    """Flat matrices made covariance matrices, or with ``unit`` correlation matrices."""
    size = math.isqrt(flat.shape[-1])
    full = flat.reshape(*flat.shape[:-1], size, size)
    return (matrix.correlations if unit else matrix.repaired)(full, how).reshape(flat.shape)


def pooled_scatter(cells: Array, half_widths: Array) -> tuple[Array, Array]:
    """`scatter` within groups, summed over them, and its degrees of freedom."""
    _, within = scatter(cells, half_widths)
    sizes = np.maximum(cells[..., :1], 0.0)
    # A group of one record or none has no scatter.
    within = np.where(sizes < 2, 0.0, within).sum(axis=-2)
    return within, np.maximum(sizes.sum(axis=-2) - cells.shape[-2], 1.0)


def scatter(cells: Array, half_widths: Array) -> tuple[Array, Array]:
    """Counts (at least 2) and upper triangles of Σ(x - mean)(y - mean), from counts, Σu and Σ(2u² - 1) or Σ u_i u_j."""
    size = len(half_widths)
    counts = np.maximum(cells[..., :1], 2.0)
    means = np.clip(cells[..., 1 : 1 + size] / counts, -1.0, 1.0)
    rows, columns = np.triu_indices(size)
    seconds = cells[..., 1 + size :] / counts
    seconds = np.clip(np.where(rows == columns, (seconds + 1) / 2, seconds), -1.0, 1.0)
    centred = seconds - means[..., rows] * means[..., columns]
    return counts, counts * centred * half_widths[rows] * half_widths[columns]
