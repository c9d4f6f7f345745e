"""Truths that are plausible before a release, as the coordinates they would have without noise.

An error depends on the true value, which is not known before a release. So errors are given for plausible values: the
ones that the user states, or else equal shares, no association, and for means and spreads those of
`inbounds.derivations.truths`.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds import _check
from inbounds._check import Array
from inbounds.derivations.base import Situation


def shares(situation: Situation) -> Array:
    """The share of each cell."""
    cells = math.prod(len(axis) for axis in situation.labels)
    if situation.plausible is None:
        return np.full(cells, 1 / cells)
    values = _read_table(situation.plausible).ravel()
    if len(values) != cells or not ((values >= 0).all() and abs(values.sum() - 1) < 1e-6):
        labels = ", ".join(situation.labels[0]) if len(situation.labels) == 1 else "row by row"
        raise ValueError(f"plausible must be {cells} shares >= 0 that sum to one, in the order of the cells: {labels}")
    return values


def counts(expected: Array) -> tuple[Fraction, ...]:
    """Numbers of records, rounded."""
    return tuple(Fraction(round(float(count))) for count in expected)


def covariances(situation: Situation) -> Array:
    """The stated covariance matrix of the columns."""
    ends = situation.columns
    matrix = _read_table(situation.plausible)
    if matrix.shape != (len(ends), len(ends)) or not np.allclose(matrix, matrix.T):
        raise ValueError(f"plausible must be a symmetric covariance matrix of {len(ends)} columns")
    most = (ends[:, 1] - ends[:, 0]) ** 2 / 2
    if np.linalg.eigvalsh(matrix).min() < -1e-9 * most.max() or (matrix.diagonal() > most).any():
        raise ValueError(
            "plausible must be a covariance matrix that these bounds allow: positive semidefinite, and with variances "
            "of at most half the squared width of a column's bounds"
        )
    return matrix


def associations(situation: Situation) -> Array:
    """A matrix of measures of association in [-1, 1]; for two columns, one number is enough."""
    size = len(situation.labels[0])
    if situation.plausible is None:
        return np.eye(size)
    matrix = _read_table(situation.plausible)
    if matrix.ndim == 0 and size == 2:
        matrix = np.where(np.eye(2, dtype=bool), 1.0, matrix)
    square = matrix.shape == (size, size) and np.allclose(matrix, matrix.T)
    if not square or not np.allclose(matrix.diagonal(), 1) or (np.abs(matrix) > 1).any():
        raise ValueError(
            f"plausible must be a symmetric matrix of {size} columns, within -1 and 1 and with ones on its diagonal"
        )
    return matrix


def _read_table(statement: Any) -> Array:
    """Shares or a matrix, in any form that NumPy reads."""
    lengths = (
        {len(row) for row in statement if isinstance(row, Sequence)} if isinstance(statement, list | tuple) else set()
    )
    if len(lengths) > 1:
        raise ValueError("plausible must be a full table of numbers: its rows differ in length")
    return _check.array(statement, "plausible")


def span(statement: Any, lower: float, upper: float, far: float = 0.0) -> tuple[float, float]:
    """A plausible number or range within bounds; the bounds themselves if none is stated.

    An open side then ends ``far`` from the other one, or from zero.
    """
    if statement is None:
        start = lower if math.isfinite(lower) else upper - far if math.isfinite(upper) else -far
        return start, upper if math.isfinite(upper) else lower + far if math.isfinite(lower) else far
    pair = statement.tolist() if isinstance(statement, np.ndarray) and statement.ndim == 1 else statement
    if isinstance(pair, tuple | list):
        if len(pair) != 2:
            raise ValueError(f"plausible must be a number or a pair (low, high), got {len(pair)} numbers")
        low, high = (_check.finite(x, "plausible") for x in pair)
    else:
        low = high = _check.finite(pair, "plausible")
    if not low <= high:
        raise ValueError(f"plausible must be a pair (low, high), got {low:g} before {high:g}")
    if not lower <= low <= high <= upper:
        raise ValueError(f"plausible must lie within the bounds, {lower:g} to {upper:g}, got {low:g} to {high:g}")
    return low, high


def sums(situation: Situation, means: Array, matrix: Array | None, sizes: Array) -> tuple[Fraction, ...]:
    """Counts and sums of groups of these sizes, all with one mean and one covariance matrix."""
    halves = (situation.columns[:, 1] - situation.columns[:, 0]) / 2
    shares = (means - situation.columns.mean(axis=1)) / halves
    rows, columns = np.triu_indices(len(halves))
    vectors = []
    for each in sizes.tolist():
        vector: list[float] = [each, *(each * shares)]
        if matrix is not None:
            products = (each - 1) * (matrix / np.outer(halves, halves))[rows, columns]
            products = products + each * shares[rows] * shares[columns]
            vector += np.where(rows == columns, 2 * products - each, products).tolist()
        vectors.append([Fraction(float(x)) for x in vector])
    flat = [x for vector in vectors for x in vector]
    return tuple(x / unit for x, unit in zip(flat, situation.units, strict=True))


def moments(
    situation: Situation, means: Array, matrix: Array, size: float, *, counted: bool = False
) -> tuple[Fraction, ...]:
    """Sums of columns and of their products, with a count before them or not, over their units."""
    halves = (situation.columns[:, 1] - situation.columns[:, 0]) / 2
    shares = (means - situation.columns.mean(axis=1)) / halves
    rows, columns = np.triu_indices(len(halves))
    products = (size - 1) * (matrix / np.outer(halves, halves))[rows, columns] + size * shares[rows] * shares[columns]
    vector = [*size * shares, *np.where(rows == columns, 2 * products - size, products)]
    vector = [size, *vector] if counted else vector
    return tuple(Fraction(float(x)) / unit for x, unit in zip(vector, situation.units, strict=True))
