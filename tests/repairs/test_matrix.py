"""Repairs of matrices: every result is a covariance or correlation matrix, and the nearest is the nearest."""

import numpy as np
import pytest

from inbounds.repairs.matrix import (
    REPAIRS,
    correlations,
    default,
    nearest_correlation,
    newton_correlation,
    repair_matrix,
    within_variances,
)


def noisy(size, scale, count, seed=0):
    """Covariance matrices with symmetric noise."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(0, 1, (size, size + 3))
    true = factors @ factors.T / (size + 3)
    noise = rng.laplace(0, scale, (count, size, size))
    return true, true + (noise + noise.transpose(0, 2, 1)) / 2


def is_covariance(matrices):
    """Symmetric, variances ≥ 0, positive semidefinite to rounding."""
    scale = np.maximum(np.trace(matrices, axis1=-2, axis2=-1), 1e-300)
    least = np.linalg.eigvalsh(matrices)[..., 0] / scale
    return bool((matrices == np.swapaxes(matrices, -1, -2)).all() and (least > -1e-12).all())


@pytest.mark.claim("matrix-repair")
@pytest.mark.claim("matrix-correlation")
@pytest.mark.claim("matrix-bounds")
@pytest.mark.parametrize("how", REPAIRS)
@pytest.mark.parametrize("size", [1, 2, 3, 10, 50])
@pytest.mark.parametrize("scale", [0.01, 0.5, 100.0])
def test_every_result_is_possible(how, size, scale):
    _, matrices = noisy(size, scale, 200 if how == "clip" else 4)
    made = repair_matrix(matrices, how)
    assert is_covariance(made)
    variances = np.maximum(np.diagonal(matrices, axis1=-2, axis2=-1), 0.0)
    assert (np.diagonal(made, axis1=-2, axis2=-1) == variances).all()
    r = correlations(matrices, how)
    assert is_covariance(r)
    assert (np.abs(r) <= 1).all()
    assert (np.diagonal(r, axis1=-2, axis2=-1) == 1).all()


@pytest.mark.claim("matrix-repair")
@pytest.mark.parametrize("how", REPAIRS)
def test_what_is_right_stays(how):
    true, _ = noisy(6, 1.0, 1)
    assert repair_matrix(true, how) == pytest.approx(true, rel=1e-12)
    zero = np.diag([4.0, 0.0, 9.0])
    assert repair_matrix(zero, how).tolist() == zero.tolist()


def test_a_variance_of_zero():
    matrix = np.array([[4.0, 1.0, -3.0], [1.0, -0.5, 2.0], [-3.0, 2.0, 9.0]])
    bounded = within_variances(matrix)
    assert bounded.tolist() == [[4.0, 0.0, -3.0], [0.0, 0.0, 0.0], [-3.0, 0.0, 9.0]]
    assert correlations(matrix, "clip").tolist() == [[1.0, 0.0, -0.5], [0.0, 1.0, 0.0], [-0.5, 0.0, 1.0]]


def test_covariances_within_their_variances():
    assert within_variances(np.array([[1.0, 5.0], [5.0, 4.0]])).tolist() == [[1.0, 2.0], [2.0, 4.0]]


@pytest.mark.claim("matrix-nearest")
@pytest.mark.claim("matrix-newton")
@pytest.mark.parametrize("size", [3, 8, 30])
def test_two_ways_to_the_nearest(size):
    """Alternating projections and Newton agree, and nothing else on the way is nearer."""
    rng = np.random.default_rng(size)
    for _ in range(3):
        noise = rng.uniform(-1, 1, (size, size))
        matrix = np.clip((noise + noise.T) / 2, -1, 1)
        np.fill_diagonal(matrix, 1.0)
        slow, quick = nearest_correlation(matrix), newton_correlation(matrix)
        assert np.diagonal(quick) == pytest.approx(np.ones(size), abs=1e-8)
        assert np.linalg.eigvalsh(quick)[0] > -1e-9
        assert np.linalg.norm(slow - quick) < 1e-4 * size
        distance = np.linalg.norm(quick - matrix)
        assert distance <= np.linalg.norm(correlations(matrix, "clip") - matrix) + 1e-9
        for _ in range(20):
            factors = rng.normal(0, 1, (size, size))
            other = factors @ factors.T
            other /= np.sqrt(np.outer(np.diagonal(other), np.diagonal(other)))
            mixed = 0.95 * quick + 0.05 * other
            assert distance <= np.linalg.norm(mixed - matrix) + 1e-9


@pytest.mark.claim("matrix-nearest")
def test_a_nearest_matrix_that_is_known():
    """Higham (2002): the example whose answer is published to four digits."""
    matrix = np.array([[2.0, -1, 0, 0], [-1, 2, -1, 0], [0, -1, 2, -1], [0, 0, -1, 2]])
    expected = [
        [1.0, -0.8084, 0.1916, 0.1068],
        [-0.8084, 1.0, -0.6562, 0.1916],
        [0.1916, -0.6562, 1.0, -0.8084],
        [0.1068, 0.1916, -0.8084, 1.0],
    ]
    for solve in (nearest_correlation, newton_correlation):
        assert solve(matrix) == pytest.approx(np.array(expected), abs=6e-5)


@pytest.mark.parametrize(
    ("size", "better", "other"), [(5, "clip", "newton"), (10, "clip", "newton"), (60, "newton", "clip")]
)
def test_the_default_is_nearer_to_the_truth(size, better, other):
    true = np.full((size, size), 0.3) + 0.7 * np.eye(size)
    rng = np.random.default_rng(1)
    errors = {how: [] for how in (better, other)}
    for _ in range(40 if size < 20 else 5):
        noise = np.triu(rng.laplace(0, 0.3, (size, size)), 1)
        for how, seen in errors.items():
            seen.append(np.linalg.norm(correlations(true + noise + noise.T, how) - true))
    assert np.mean(errors[better]) < np.mean(errors[other])
    assert default(size) == better


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: repair_matrix(np.ones((2, 3)), "clip"), "matrix must be square"),
        (lambda: repair_matrix(np.ones(3), "clip"), "matrix must be square"),
        (lambda: repair_matrix(np.array([[1.0, 2.0], [0.0, 1.0]]), "clip"), "matrix must be symmetric"),
        (lambda: repair_matrix(np.array([[np.nan]]), "clip"), "matrix must be finite"),
        (lambda: repair_matrix(np.array([[1.0, 2.0], [2.0, 1.0]]), "guess"), "repair must be one of"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
