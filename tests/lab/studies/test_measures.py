"""Measures against their definitions, and their standard errors against the spread over many runs."""

import numpy as np
import pytest

from inbounds.lab.studies.measures import MEASURES, PERCENTILES, summarise


def as_dict(summary, place=0):
    return {name: (v[place], e[place]) for name, (v, e) in zip(MEASURES, summary, strict=True)}


def one(estimates, truth=0.0, limits=(np.nan, np.nan), ends=(None, None)):
    columns = [None if x is None else np.asarray(x, float)[:, None] for x in (estimates, *ends)]
    return as_dict(summarise(columns[0], columns[1], columns[2], np.array([truth]), np.array([limits])))


@pytest.mark.claim("study-measures")
def test_measures_are_what_their_names_say():
    rng = np.random.default_rng(1)
    x = np.clip(rng.normal(0.3, 1, 2001), 0, 1)
    lower, upper = x - 0.4, x + 0.5
    found = one(x, 0.25, (0.0, 1.0), (lower, upper))
    assert found["mean"][0] == pytest.approx(x.mean(), rel=1e-12)
    assert found["bias"][0] == pytest.approx(x.mean() - 0.25, rel=1e-12)
    assert found["sd"][0] == pytest.approx(x.std(), rel=1e-12)
    assert found["rmse"][0] == pytest.approx(np.sqrt(((x - 0.25) ** 2).mean()), rel=1e-12)
    for percentile in PERCENTILES:
        assert found[f"q{percentile:g}"][0] == np.quantile(x, percentile / 100, method="inverted_cdf")
    assert found["at_lower"][0] == (x == 0).mean()
    assert found["at_upper"][0] == (x == 1).mean()
    assert found["undefined"][0] == 0
    assert found["coverage"][0] == ((lower <= 0.25) & (upper >= 0.25)).mean()
    assert found["width"][0] == pytest.approx(0.9)


def test_undefined_estimates_are_left_out_and_counted():
    x = np.array([1.0, np.nan, 3.0, np.nan, np.nan])
    found = one(x, 2.0)
    assert found["undefined"][0] == 0.6
    assert found["mean"][0] == 2.0
    assert found["sd"][0] == 1.0
    assert np.isnan(found["coverage"][0])
    # All but one undefined: nothing to measure but that.
    alone = one(np.array([1.0, np.nan, np.nan]))
    assert np.isnan(alone["mean"][0])
    assert alone["undefined"][0] == pytest.approx(2 / 3)


def test_intervals_that_are_missing_are_left_out():
    ends = np.array([0.0, np.nan, 0.5, 2.0]), np.array([1.0, np.nan, 1.5, 3.0])
    found = one(np.array([0.5, np.nan, 1.0, 2.5]), 0.75, ends=ends)
    assert found["coverage"][0] == pytest.approx(2 / 3)
    assert found["width"][0] == 1.0
    none = one(np.array([0.5, 1.0]), 0.75, ends=(np.full(2, np.nan), np.full(2, np.nan)))
    assert np.isnan(none["coverage"][0])


def test_rounding_does_not_move_a_value_off_its_bound():
    """Sums of shares are one up to rounding: at the bound, and covered by an interval that is a point."""
    x = np.array([1.0, 1.0 + 2e-16, 1.0 - 1e-16, 0.9])
    found = one(x, 1.0, (0.0, 1.0), (x, x))
    assert found["at_upper"][0] == found["coverage"][0] == 0.75


def test_quantities_do_not_mix():
    rng = np.random.default_rng(2)
    both = rng.normal(size=(500, 2)) + np.array([0.0, 5.0])
    both[::7, 1] = np.nan
    limits = np.full((2, 2), np.nan)
    together = summarise(both, None, None, np.array([0.0, 5.0]), limits)
    for place, truth in enumerate((0.0, 5.0)):
        alone = summarise(both[:, [place]], None, None, np.array([truth]), limits[:1])
        for name, (value, error) in as_dict(alone).items():
            assert as_dict(together, place)[name] == pytest.approx((value, error), rel=1e-12, nan_ok=True)


@pytest.mark.claim("study-measures")
def test_standard_errors_are_the_spread_over_runs():
    """400 runs of 1,000: the spread of each measure is its mean standard error, within a quarter."""
    rng = np.random.default_rng(3)
    runs = []
    for _ in range(400):
        x = np.maximum(rng.laplace(0.5, 1, 1000), 0)
        width = rng.exponential(1, 1000)
        runs.append(one(x, 0.5, (0.0, np.nan), (x - width, x + width)))
    for name in ("mean", "bias", "sd", "rmse", "q25", "q50", "q75", "q97.5", "at_lower", "coverage", "width"):
        values, errors = np.array([run[name] for run in runs]).T
        if name == "q25":
            # An atom: nothing moves, and that is what is said.
            assert values.std() == errors.mean() == 0
        else:
            assert 0.8 < errors.mean() / values.std() < 1.25, name


def test_no_share_is_certain():
    """Coverage of 1 in all repetitions has a standard error all the same."""
    found = one(np.zeros(100), 0.0, ends=(np.full(100, -1.0), np.ones(100)))
    assert found["coverage"][0] == 1
    assert 0 < found["coverage"][1] < 0.02
