"""Regression from a record of moments: as least squares without noise, covering with it, and saying when it cannot."""

import numpy as np
import pytest

import inbounds as ib
from inbounds.inference import regression

BOUNDS = {"y": (0, 100), "a": (0, 100), "b": (0, 10)}
SLOPES = np.array([0.5, -1.5])


def table(rng, rows):
    a, b = rng.normal(50, 10, rows), rng.uniform(0, 10, rows)
    return {"y": 20 + 0.5 * a - 1.5 * b + rng.normal(0, 5, rows), "a": a, "b": b}


@pytest.mark.claim("regression")
def test_without_noise_it_is_least_squares():
    data = table(np.random.default_rng(0), 400)
    fit = regression(ib.moments(data, bounds=BOUNDS, epsilon=100_000), "y", ["a", "b"])
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
        fit = regression(ib.moments(data, bounds=BOUNDS, epsilon=0.7), "y", ["a", "b"])
        covered += int(((fit.lower <= SLOPES) & (fit.upper >= SLOPES)).sum())
        # The control: the interval of least squares, around coefficients that have noise.
        errors = 1.96 * 5 / np.sqrt(3000) / np.array([10, 10 / np.sqrt(12)])
        ignored += int((np.abs(fit.coefficients - SLOPES) <= errors).sum())
    assert covered >= 98
    assert ignored < 90


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
