"""Matrices that are covariance or correlation matrices: bounds that variances imply, and three repairs.

All of it is post-processing of released numbers. Arrays hold one matrix, or many, in their last two axes.

``clip``
    negative eigenvalues to zero, then the diagonal as it was.
``nearest``
    the nearest correlation matrix in the Frobenius norm, by alternating projections (Higham 2002).
``newton``
    the same by a Newton method for its dual (Qi & Sun 2006): a few steps instead of hundreds.

Which of them is closer to the truth was measured (`bench/repairs.py`, and the tests). Clipping is better by a few
percent for small matrices and for very large noise. The nearest matrix is better from about twenty columns on, and its
error is up to a half smaller at a hundred. `default` follows these measurements.
"""

import numpy as np

from inbounds._check import Array

REPAIRS = ("clip", "nearest", "newton")
# Eigenvalues are kept this far above zero, in units of the largest, so that rounding does not undo the repair.
_FLOOR = 1e-13
# A forged matrix must not decide how long its repair takes: each step is an eigendecomposition. Noisy matrices of 3,
# 20, 80 and 164 columns converge within 25, 85, 150 and 160 projections, and within 7 Newton steps with a few conjugate
# gradients each. A matrix that has not converged by then is near enough, and is clipped. The last number limits steps
# times elements.
_MOST_PROJECTIONS, _MOST_TRIALS, _MOST_GRADIENTS, _MOST_WORK = 180, 30, 20, 10**7


def default(columns: int) -> str:
    """The repair that was closer to the truth for this number of columns."""
    return "clip" if columns < 20 else "newton"


# claim:matrix-bounds
def within_variances(matrix: Array) -> Array:
    """Covariances within ±√(S_jj S_kk), variances ≥ 0."""
    result = _square(matrix)
    size = result.shape[-1]
    variances = np.maximum(np.diagonal(result, axis1=-2, axis2=-1), 0.0)
    roots = np.sqrt(variances)
    limit = roots[..., :, None] * roots[..., None, :]
    result = np.clip(result, -limit, limit)
    result[..., np.arange(size), np.arange(size)] = variances
    return result


# claim:matrix-repair
def repair_matrix(matrix: Array, how: str) -> Array:
    """A positive semidefinite matrix with the variances of the given one.

    A column with variance 0 has covariances 0. Positive semidefinite matrices stay as they are.
    """
    bounded = within_variances(matrix)
    variances = np.diagonal(bounded, axis1=-2, axis2=-1)
    scale = np.sqrt(variances)
    correlation = _mend(_over(bounded, scale), how)
    # The same factor on both sides makes the result symmetric to the last bit. A squared root may exceed its bound by
    # one bit.
    result = correlation * (scale[..., :, None] * scale[..., None, :])
    size = result.shape[-1]
    result[..., np.arange(size), np.arange(size)] = variances
    return np.asarray(result)


# claim:matrix-correlation
def correlations(matrix: Array, how: str) -> Array:
    """The correlation matrix of covariances: 1 on the diagonal, 0 next to a variance of 0."""
    bounded = within_variances(matrix)
    return _mend(_over(bounded, np.sqrt(np.diagonal(bounded, axis1=-2, axis2=-1))), how)


def _over(covariances: Array, scale: Array) -> Array:
    """Correlations with ones on the diagonal, also next to a scale of 0."""
    size = covariances.shape[-1]
    both = scale[..., :, None] * scale[..., None, :]
    result = np.divide(covariances, both, out=np.zeros_like(covariances), where=both > 0)
    result = np.clip(result, -1.0, 1.0)
    result[..., np.arange(size), np.arange(size)] = 1.0
    return result


def _mend(correlation: Array, how: str) -> Array:
    if how not in REPAIRS:
        raise ValueError(f"repair must be one of {', '.join(map(repr, REPAIRS))}; got {how!r}")
    flat = correlation.reshape(-1, *correlation.shape[-2:])
    least = np.linalg.eigvalsh(flat)[:, 0]
    result = flat.copy()
    broken = np.flatnonzero(least < 0)
    if broken.size and how == "clip":
        result[broken] = _clip_eigenvalues(flat[broken])
    elif broken.size:
        solve = nearest_correlation if how == "nearest" else newton_correlation
        result[broken] = _clip_eigenvalues(np.array([solve(matrix) for matrix in flat[broken]]))
    return result.reshape(correlation.shape)


def _clip_eigenvalues(matrices: Array) -> Array:
    """Eigenvalues to zero or above, then a unit diagonal."""
    values, vectors = np.linalg.eigh(matrices)
    values = np.maximum(values, _FLOOR * values[..., -1:])
    product = (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return _unit_diagonal(product)


def _unit_diagonal(matrices: Array) -> Array:
    size = matrices.shape[-1]
    scale = 1 / np.sqrt(np.diagonal(matrices, axis1=-2, axis2=-1))
    scaled = matrices * scale[..., :, None] * scale[..., None, :]
    scaled = np.clip((scaled + np.swapaxes(scaled, -1, -2)) / 2, -1.0, 1.0)
    scaled[..., np.arange(size), np.arange(size)] = 1.0
    return np.asarray(scaled)


# claim:matrix-nearest
def nearest_correlation(matrix: Array, tolerance: float = 1e-9) -> Array:
    """The nearest correlation matrix, by alternating projections with Dykstra's correction."""
    current = _square(matrix)
    # Few columns need few projections, and a record may have many such matrices.
    steps = min(60 + 2 * len(current), _MOST_PROJECTIONS, _MOST_WORK // current.size)
    correction = np.zeros_like(current)
    diagonal = np.arange(len(current))
    for _ in range(steps):
        shifted = current - correction
        values, vectors = np.linalg.eigh(shifted)
        cone = (vectors * np.maximum(values, 0.0)) @ vectors.T
        correction = cone - shifted
        following = cone.copy()
        following[diagonal, diagonal] = 1.0
        change = float(np.linalg.norm(following - current)) / max(float(np.linalg.norm(following)), 1.0)
        current = following
        if change < tolerance:
            break
    return current


# claim:matrix-newton
def newton_correlation(matrix: Array, tolerance: float = 1e-9) -> Array:
    """The nearest correlation matrix, by a semismooth Newton method.

    It is the positive part X of A + diag(y), with y such that X has a unit diagonal: the minimum of the convex function
    θ(y) = ½‖(A + diag y)₊‖² - Σy, whose gradient is diag(X) - 1.
    """
    start = _square(matrix)
    trials = min(_MOST_TRIALS, _MOST_WORK // start.size)
    y = np.zeros(len(start))
    values, vectors, theta = _dual(start, y)
    while True:
        positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
        gradient = np.diagonal(positive) - 1
        if np.linalg.norm(gradient) < tolerance or trials <= 0:
            break
        direction = _newton_direction(values, vectors, gradient)
        slope, length = float(gradient @ direction), 1.0
        if slope >= 0:
            direction, slope = -gradient, -float(gradient @ gradient)
        if -slope <= 1e-14 * max(abs(theta), 1.0):
            # The remaining gain is smaller than the rounding error of θ.
            break
        for _ in range(trials):
            trial = _dual(start, y + length * direction)
            trials -= 1
            if trial[2] <= theta + 1e-4 * length * slope:
                break
            length /= 2
        else:
            # No step improves it any more, or the allowed number of steps is exhausted.
            break
        y = y + length * direction
        values, vectors, theta = trial
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def _dual(matrix: Array, y: Array) -> tuple[Array, Array, float]:
    values, vectors = np.linalg.eigh(matrix + np.diag(y))
    return values, vectors, float((np.maximum(values, 0.0) ** 2).sum() / 2 - y.sum())


def _newton_direction(values: Array, vectors: Array, gradient: Array) -> Array:
    """-V⁻¹ gradient, V the generalised Jacobian of the gradient, by conjugate gradients."""
    positive = values > 0
    weights = np.zeros((len(values), len(values)))
    weights[np.ix_(positive, positive)] = 1.0
    mixed = values[positive][:, None] / (values[positive][:, None] - values[~positive][None, :])
    weights[np.ix_(positive, ~positive)] = mixed
    weights[np.ix_(~positive, positive)] = mixed.T

    def apply(h: Array) -> Array:
        inner = weights * (vectors.T @ (h[:, None] * vectors))
        return np.asarray(((vectors @ inner) * vectors).sum(axis=1) + 1e-10 * h)

    direction = np.zeros_like(gradient)
    residual = -gradient
    search, size = residual.copy(), float(residual @ residual)
    goal = size * min(0.01, size**0.5) ** 2
    for _ in range(min(len(gradient), _MOST_GRADIENTS)):
        along = apply(search)
        step = size / float(search @ along)
        direction, residual = direction + step * search, residual - step * along
        following = float(residual @ residual)
        if following <= goal:
            break
        search, size = residual + following / size * search, following
    return direction


def _square(matrix: Array) -> Array:
    array = np.array(matrix, dtype=np.float64)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2] or array.shape[-1] < 1:
        raise ValueError(f"matrix must be square, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("matrix must be finite")
    if not np.allclose(array, np.swapaxes(array, -1, -2), rtol=1e-12, atol=0):
        raise ValueError("matrix must be symmetric")
    return array
