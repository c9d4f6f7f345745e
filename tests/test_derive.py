"""Derived values: against NumPy on what they would be without noise."""

import numpy as np
import pytest

from inbounds.derivations import Direct, Limits, Matrix, MatrixOfSums, MeanOfSums, Rescaled, SpreadOfSums

OPEN = np.array([-np.inf]), np.array([np.inf])


def derive(derivation, noisy, lower, upper, columns):
    return derivation.values(noisy, Limits(lower, upper, columns))


def sums_of(x, bounds):
    """Count, Σu and Σ(2u² - 1) or Σ u_i u_j of some columns, as `Moments` defines them."""
    u = [(c - (a + b) / 2) / ((b - a) / 2) for c, (a, b) in zip(x, bounds, strict=True)]
    pairs = [(i, j) for i in range(len(u)) for j in range(i, len(u))]
    second = [(2 * u[i] ** 2 - 1).sum() if i == j else (u[i] * u[j]).sum() for i, j in pairs]
    return np.array([len(x[0]), *(c.sum() for c in u), *second])


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    x = rng.uniform(10, 60, 40)
    return np.array([x, 0.5 * x + rng.uniform(0, 30, 40), rng.uniform(-5, 5, 40)])


BOUNDS = np.array([(10, 60), (0, 60), (-5, 5)], dtype=float)


def test_from_sums_to_moments(data):
    sums = sums_of(data, BOUNDS)
    covariances = derive(MatrixOfSums("clip"), sums, *OPEN, BOUNDS)
    assert covariances.reshape(3, 3) == pytest.approx(np.cov(data))
    correlations = derive(MatrixOfSums("clip", unit=True), sums, *OPEN, BOUNDS)
    assert correlations.reshape(3, 3) == pytest.approx(np.corrcoef(data))
    one = sums_of(data[:1], BOUNDS[:1])
    zero, top = np.array([0.0]), np.array([1e9])
    assert derive(SpreadOfSums(), one, zero, top, BOUNDS[:1]) == pytest.approx(data[0].var(ddof=1))
    assert derive(SpreadOfSums(root=True), one, zero, top, BOUNDS[:1]) == pytest.approx(data[0].std(ddof=1))
    assert derive(MeanOfSums(), one[:2], *OPEN, BOUNDS[:1]) == pytest.approx(data[0].mean())


def test_pooling_groups(data):
    halves = data[:, :15], data[:, 15:]
    sums = np.concatenate([sums_of(half, BOUNDS) for half in halves])
    scatter = sum((h - h.mean(axis=1, keepdims=True)) @ (h - h.mean(axis=1, keepdims=True)).T for h in halves)
    assert derive(MatrixOfSums("clip", pooled=True), sums, *OPEN, BOUNDS).reshape(3, 3) == pytest.approx(scatter / 38)


def test_groups_one_after_another(data):
    groups = np.concatenate([sums_of(data[:1, :10], BOUNDS[:1])[:2], sums_of(data[:1, 10:], BOUNDS[:1])[:2]])
    means = derive(MeanOfSums(), groups, *OPEN, BOUNDS[:1])
    assert means == pytest.approx([data[0, :10].mean(), data[0, 10:].mean()])


@pytest.mark.parametrize("count", [-50.0, 0.0, 0.3, 1.0])
def test_empty_groups_give_possible_numbers(count):
    for method, size in ((MeanOfSums(), 2), (SpreadOfSums(), 3), (SpreadOfSums(root=True), 3)):
        noisy = np.array([count, 7.0, -3.0][:size])
        value = derive(method, noisy, np.array([0.0]), np.array([60.0]), np.array([[10.0, 60.0]]))
        assert 0 <= value[0] <= 60
    for method in (MatrixOfSums("clip"), MatrixOfSums("clip", unit=True), MatrixOfSums("clip", pooled=True)):
        value = derive(method, np.array([count, 2.0, -3.0, 4.0, 5.0, 60.0]), *OPEN, BOUNDS[:2])
        assert np.isfinite(value).all()


def test_matrices_and_correlations():
    triangle = np.array([4.0, 1.0, -2.0, 9.0, 0.0, 0.0])
    full = derive(Matrix("clip"), triangle, *OPEN, BOUNDS).reshape(3, 3)
    assert full.tolist() == [[4, 1, 0], [1, 9, 0], [0, 0, 0]]  # nothing varies with what does not vary
    r = derive(Matrix("clip", unit=True), triangle, *OPEN, BOUNDS).reshape(3, 3)
    assert r.tolist() == [[1, 1 / 6, 0], [1 / 6, 1, 0], [0, 0, 1]]
    many = derive(Matrix("clip", unit=True), np.array([triangle, triangle * 2]), *OPEN, BOUNDS)
    assert many.shape == (2, 9)
    assert (many[0] == many[1]).all()
    clipped = derive(Matrix("clip", unit=True), np.array([1.0, 5.0, 1.0]), *OPEN, BOUNDS)
    assert clipped.tolist() == [1, 1, 1, 1]


def test_shares_of_nothing_are_equal():
    assert derive(Rescaled(counts=True), np.array([3.0, 1.0]), *OPEN, BOUNDS).tolist() == [0.75, 0.25]
    assert derive(Rescaled(counts=True), np.zeros(4), *OPEN, BOUNDS).tolist() == [0.25] * 4


def test_direct_and_root_stay_in_bounds():
    low, high = np.array([0.0]), np.array([4.0])
    assert derive(Direct(), np.array([9.0]), low, high, BOUNDS).tolist() == [4]
    assert derive(Direct(root=True), np.array([9.0]), low, high, BOUNDS).tolist() == [2]
    assert derive(Direct(root=True), np.array([-1.0]), low, high, BOUNDS).tolist() == [0]
