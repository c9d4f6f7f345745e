"""Regression from a record of moments: as least squares without noise, covering with it, and saying when it cannot."""

import numpy as np
import pytest
from scipy import optimize, stats

import inbounds as ib
from inbounds.inference import regression
from inbounds.inference.regression import _largest_variances

BOUNDS = {"y": (0, 100), "a": (0, 100), "b": (0, 10)}
SLOPES = np.array([0.5, -1.5])


def table(rng, rows):
    a, b = rng.normal(50, 10, rows), rng.uniform(0, 10, rows)
    return {"y": 20 + 0.5 * a - 1.5 * b + rng.normal(0, 5, rows), "a": a, "b": b}


@pytest.mark.claim("regression")
def test_without_noise_it_is_least_squares():
    data = table(np.random.default_rng(0), 400)
    fit = regression(ib.moments(data, bounds=BOUNDS, epsilon=100_000), "y", ["a", "b"], method="equal-variance")
    x = np.column_stack([np.ones(400), data["a"], data["b"]])
    solved, residuals, *_ = np.linalg.lstsq(x, data["y"], rcond=None)
    assert [fit.intercept, *fit.coefficients] == pytest.approx(solved, rel=1e-3)
    inverse = np.linalg.inv(x.T @ x)
    errors = 1.96 * np.sqrt(residuals[0] / 397 * np.diag(inverse))[1:]
    assert fit.upper - fit.coefficients == pytest.approx(errors, rel=0.01)
    assert fit.r_squared == pytest.approx(1 - residuals[0] / ((data["y"] - data["y"].mean()) ** 2).sum(), rel=1e-3)
    assert fit.predict({"a": 50, "b": 5}) == pytest.approx(solved @ [1, 50, 5], rel=1e-3)
    assert fit.identified
    assert "R²" in str(fit)


def test_coefficients_are_covered_and_without_the_noise_they_are_not():
    """Of 120 intervals at 95% fewer than 98 cover by chance less than once in a million."""
    rng, covered, ignored = np.random.default_rng(1), 0, 0
    for _ in range(60):
        data = table(rng, 3000)
        fit = regression(ib.moments(data, bounds=BOUNDS, epsilon=0.7), "y", ["a", "b"], method="equal-variance")
        covered += int(((fit.lower <= SLOPES) & (fit.upper >= SLOPES)).sum())
        # The control: the interval of least squares, around coefficients that have noise.
        errors = 1.96 * 5 / np.sqrt(3000) / np.array([10, 10 / np.sqrt(12)])
        ignored += int((np.abs(fit.coefficients - SLOPES) <= errors).sum())
    assert covered >= 98
    assert ignored < 90


def in_a_rare_group(rng, rows):
    """Residuals in one group of 5% alone: of two groups, the law that makes their difference vary most."""
    a = 2.0 * (rng.random(rows) < 0.05) - 1
    return {"y": 0.2 * a + (a > 0) * rng.choice([-0.6, 0.6], rows), "a": a}


def test_residuals_of_unequal_variance_are_covered_by_the_bound_and_not_by_equal_variances():
    """Of 200 intervals at 95% fewer than 173 cover by chance less than once in a million."""
    assert stats.binom.cdf(172, 200, 0.95) < 1e-6
    rng, covered = np.random.default_rng(4), {"bound": 0, "equal-variance": 0}
    bounds = {"y": (-1, 1), "a": (-1, 1)}
    for _ in range(200):
        made = ib.moments(in_a_rare_group(rng, 4000), bounds=bounds, epsilon=3)
        for method in covered:
            fit = regression(made, "y", ["a"], method=method)
            covered[method] += bool(fit.lower[0] <= 0.2 <= fit.upper[0])
    assert covered["bound"] >= 173
    # The control: what is right for residuals of one variance covers less than half of the time.
    assert covered["equal-variance"] < 120


def test_the_bound_is_the_largest_fourth_moment_of_all_laws_on_some_points():
    """A linear programme over laws with given moments finds nothing larger, and two groups attain it."""
    rng = np.random.default_rng(5)
    a, e = (x.ravel() for x in np.meshgrid(np.linspace(-1, 1, 21), np.linspace(-0.9, 0.9, 19)))
    for _ in range(20):
        mean, variance, residual = rng.uniform(-0.5, 0.5), rng.uniform(0.05, 0.2), rng.uniform(0.01, 0.1)
        v = (a - mean) / variance
        moments = np.stack([np.ones_like(a), a, (a - mean) ** 2, e, e * a, e**2])
        given = [1, mean, variance, 0, 0, residual]
        found = optimize.linprog(-(v**2) * e**2, A_eq=moments, b_eq=given, bounds=(0, None))
        largest = _largest_variances(np.array([[1 / variance]]), np.zeros(1), np.array([mean, 0.0]), residual, 0.0)
        assert found.status == 0
        assert -found.fun <= largest[0] * (1 + 1e-9)
    share = 0.05
    variance, residual = 4 * share * (1 - share), share * 0.36
    attained = residual / (4 * share**2)
    largest = _largest_variances(np.array([[1 / variance]]), np.zeros(1), np.array([2 * share - 1, 0.0]), residual, 0.0)
    assert largest[0] == pytest.approx(attained)
    assert attained > 4 * residual / variance


def test_intervals_say_what_they_assume():
    made = ib.moments(table(np.random.default_rng(6), 5000), bounds=BOUNDS, epsilon=1)
    wide, narrow = (regression(made, "y", ["a", "b"], method=method) for method in ("bound", "equal-variance"))
    assert wide.coefficients.tolist() == narrow.coefficients.tolist()
    assert (wide.upper > narrow.upper).all()
    assert "residuals have one variance" in str(narrow)
    assert "residuals have one variance" not in str(wide)
    assert regression(made, "y", ["a", "b"]).method == "bound"
    with pytest.raises(ValueError, match="method must be"):
        regression(made, "y", ["a"], method="plain")


def test_noise_that_hides_the_matrix_is_said():
    data = table(np.random.default_rng(2), 100)
    fit = regression(ib.moments(data, bounds=BOUNDS, epsilon=0.1), "y", ["a", "b"])
    assert not fit.identified
    assert fit.ridge > 0
    assert np.isinf(fit.lower).all()
    assert "coefficients are not identified" in fit.diagnosis
    assert np.abs(fit.coefficients).max() < 100


def test_what_cannot_be_fitted():
    data = table(np.random.default_rng(3), 200)
    made = ib.moments(data, bounds=BOUNDS, epsilon=1)
    for call, said in (
        (lambda: regression(made, "z", ["a"]), "no column 'z'"),
        (lambda: regression(made, "y", ["y"]), "each column once"),
        (lambda: regression(made, "y", []), "at least one regressor"),
        (lambda: regression(ib.covariance(data, bounds=BOUNDS, epsilon=1), "y", ["a"]), "the record of ib.moments"),
        (lambda: regression(made, "y", ["a"]).predict({"b": 1}), "a value for each of a"),
    ):
        with pytest.raises(ValueError, match=said):
            call()
