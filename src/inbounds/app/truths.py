"""What a release would be made of if the truth were a plausible one: noisy coordinates without noise.

An error is a statement about some truth. Before a release none is known, so errors are given for truths that are
plausible: by default the middle of everything (shares all alike, variances of numbers spread evenly over their bounds,
no correlation), or what the user states.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds import _check, derive
from inbounds._check import Array
from inbounds.record import Release

# Methods of one noisy number.
SCALAR = (derive.DIRECT, derive.ROOT)


def coordinates(record: Release, plausible: Any, size: int | None) -> tuple[Fraction, ...]:
    """Coordinates of a plausible truth, for a record of several numbers; ``size`` is the number of records."""
    if record.method in derive.OF_SUMS:
        return _of_sums(record, plausible, _known(size, record))
    if record.method in (derive.MATRIX, derive.CORRELATION):
        matrix = _matrix(record, plausible)
        triangle = matrix[np.triu_indices(len(matrix))]
        return tuple(Fraction(float(x)) / unit for x, unit in zip(triangle, record.units, strict=True))
    counts = _shares(record, plausible) * _known(size, record)
    if record.tree is not None and record.recipe.tree is not None:
        counts = np.array([counts[list(leaves)].sum() for leaves in record.recipe.tree.leaves])
    elif record.derived is not None:
        counts = np.delete(counts, record.axes[0].index(record.derived))
    return tuple(Fraction(round(float(count))) for count in counts)


def _known(size: int | None, record: Release) -> int:
    if size is None:
        raise TypeError(
            f"where the number of rows is protected, the error of a {record.statistic} depends on it: say about how "
            "many there are, as in expected_rows=1000"
        )
    return size


def _shares(record: Release, plausible: Any) -> Array:
    cells = math.prod(len(axis) for axis in record.axes)
    if plausible is None:
        return np.full(cells, 1 / cells)
    shares = _numbers(plausible).ravel()
    if len(shares) != cells or not ((shares >= 0).all() and abs(shares.sum() - 1) < 1e-6):
        labels = ", ".join(record.axes[0]) if len(record.axes) == 1 else "row by row"
        raise ValueError(f"plausible must be {cells} shares >= 0 that sum to one, in the order of the cells: {labels}")
    return shares


def _matrix(record: Release, plausible: Any) -> Array:
    """A covariance matrix of the columns."""
    ends = _ends(record)
    if plausible is None:
        return np.diag((ends[:, 1] - ends[:, 0]) ** 2 / 12)
    matrix = _numbers(plausible)
    if matrix.shape != (len(ends), len(ends)) or not np.allclose(matrix, matrix.T):
        raise ValueError(f"plausible must be a symmetric covariance matrix of {len(ends)} columns")
    most = (ends[:, 1] - ends[:, 0]) ** 2 / 2
    if np.linalg.eigvalsh(matrix).min() < -1e-9 * most.max() or (matrix.diagonal() > most).any():
        raise ValueError(
            "plausible must be a covariance matrix that these bounds allow: positive semidefinite, and with variances "
            "of at most half the squared width of a column's bounds"
        )
    return matrix


def _numbers(plausible: Any) -> Array:
    """Shares or a matrix, in whatever form NumPy reads."""
    try:
        return _check.array(plausible, "plausible")
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
    raise ValueError("plausible must be a full table of numbers: its rows differ in length")


def _ends(record: Release) -> Array:
    """Lower and upper bounds of the numeric columns."""
    return np.array([(float(r.lower or 0), float(r.upper or 0)) for r in record.columns if r.step is not None])


def _of_sums(record: Release, plausible: Any, size: int) -> tuple[Fraction, ...]:
    """Counts and sums of groups that are all of one size, with one mean and one covariance matrix."""
    ends = _ends(record)
    groups = math.prod(len(rule.cells) for rule in record.columns if rule.cells)
    groups = 1 if record.statistic == "proportion" else max(groups, 1)
    each, halves = size / groups, (ends[:, 1] - ends[:, 0]) / 2
    if record.method == derive.MEAN_OF_SUMS:
        means = np.array([_middle(plausible, ends[0])])
        scaled = (means - ends.mean(axis=1)) / halves
        vector: list[float] = [each, *(each * scaled)]
    else:
        if record.method == derive.ROOT_OF_SUMS and plausible is not None:
            plausible = _middle(plausible, ends[0]) ** 2
        if record.method in (derive.VARIANCE_OF_SUMS, derive.ROOT_OF_SUMS) and plausible is not None:
            plausible = [[_middle(plausible, ends[0])]]
        matrix = _matrix(record, plausible) / np.outer(halves, halves)
        rows, columns = np.triu_indices(len(halves))
        products = (each - 1) * matrix[rows, columns]
        vector = [each, *np.zeros(len(halves)), *np.where(rows == columns, 2 * products - each, products)]
    return tuple(Fraction(float(x)) for _ in range(groups) for x in vector)


def _middle(plausible: Any, ends: Sequence[float]) -> float:
    low, high = span(plausible, float(ends[0]), float(ends[1]))
    return (low + high) / 2


def span(plausible: Any, lower: float, upper: float, far: float = 0.0) -> tuple[float, float]:
    """A plausible number or range, within bounds; the bounds themselves where none is stated.

    An open side of them then ends ``far`` from the other, or from zero.
    """
    if plausible is None:
        start = lower if math.isfinite(lower) else upper - far if math.isfinite(upper) else -far
        return start, upper if math.isfinite(upper) else lower + far if math.isfinite(lower) else far
    pair = plausible.tolist() if isinstance(plausible, np.ndarray) and plausible.ndim == 1 else plausible
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
