"""Moments of several columns from one draw: values, errors, records and bad input, and the better way to a variance."""

import json

import numpy as np
import pytest

import inbounds as ib
from inbounds.grid.entropy import SeededEntropy
from inbounds.road import draw
from inbounds.statistics.spreads import choose_method
from tests import moments
from tests.records import body_of, record_with
from tests.release.cases import BOTH, table

HUGE = 10**6


def correlated(rows, columns, seed=0):
    """Columns within [0, 1] that depend on each other."""
    rng = np.random.default_rng(seed)
    x = np.clip(0.5 + 0.1 * rng.normal(size=(rows, 1)) + 0.1 * rng.normal(size=(rows, columns)), 0, 1)
    return {f"c{i}": x[:, i] for i in range(columns)}


@pytest.mark.parametrize("neighbours", ["substitute", "add-remove"])
@pytest.mark.parametrize("columns", [1, 2, 3, 6, 7, 40])
def test_little_noise_gives_means_and_covariances(columns, neighbours):
    t = correlated(2000, columns)
    x = np.array(list(t.values()))
    made = ib.moments(t, bounds=dict.fromkeys(t, (0, 1)), epsilon=HUGE, neighbours=neighbours)
    value, covariance = made.value, np.cov(x).reshape(columns, columns)
    assert value.columns == tuple(t)
    assert value.mean == pytest.approx(x.mean(axis=1), abs=1e-4)
    assert value.covariance == pytest.approx(covariance, abs=1e-4)
    assert value.variance == pytest.approx(np.diag(covariance), abs=1e-4)
    assert value.standard_deviation == pytest.approx(np.sqrt(np.diag(covariance)), abs=1e-3)
    assert value.correlation == pytest.approx(np.corrcoef(x).reshape(columns, columns), abs=1e-2)
    joint = columns <= moments.MOST[neighbours == "add-remove"]
    assert made.certificate.noise == ("polyhedral" if joint else "sup-norm")
    assert np.asarray(made).shape == made.table.shape == (columns + 1, columns)
    assert ib.Release.from_json(made.to_json()) == made


@pytest.mark.parametrize("epsilon", [0.01, 1])
@pytest.mark.parametrize("how", [{}, {"neighbours": "add-remove"}, {"contributions": 5}, {"repair": "nearest"}])
def test_moments_are_possible(how, epsilon):
    t = table(90)
    bounds = BOTH | {"income": (0, 200)}
    ends = np.array(list(bounds.values()), float)
    for _ in range(20):
        value = ib.moments(t, bounds=bounds, epsilon=epsilon, **how).value
        assert (value.mean >= ends[:, 0]).all()
        assert (value.mean <= ends[:, 1]).all()
        assert (value.variance >= 0).all()
        assert (value.variance <= (ends[:, 1] - ends[:, 0]) ** 2 / 2).all()
        assert np.linalg.eigvalsh(value.covariance)[0] >= -1e-9 * max(np.trace(value.covariance), 1e-9)
        assert (np.abs(value.correlation) <= 1).all()
        assert (np.diag(value.correlation) == 1).all()


def test_correlations_next_to_a_variance_of_0_are_not_available():
    value = ib.statistics.MomentsValue(("a", "b", "c"), np.zeros(3), np.array([[4, 2, 0], [2, 4, 0], [0, 0, 0.0]]))
    assert value.correlation.tolist() == [[1.0, 0.5, None], [0.5, 1.0, None], [None, None, 1.0]]
    whole = ib.statistics.MomentsValue(("a", "b"), np.zeros(2), np.array([[4, 2], [2, 4.0]]))
    assert not np.ma.isMaskedArray(whole.correlation)
    assert whole.correlation.tolist() == [[1.0, 0.5], [0.5, 1.0]]


def test_a_person_with_several_records_costs_so_many_times_as_much():
    one, five = (ib.moments(table(90), bounds=BOTH, epsilon=1, contributions=c) for c in (1, 5))
    assert float(five.certificate.spread / one.certificate.spread) == pytest.approx(5, rel=0.01)
    assert five.certificate.loss <= 1


def test_whole_numbers_and_missing_ones():
    t = {"a": [1, 2, 3, None] * 50, "b": [0.5, 1.5, None, 0.1] * 50}
    made = ib.moments(t, bounds={"a": (0, 4), "b": (0, 2)}, integer=["a"], missing={"a": 4, "b": 1}, epsilon=HUGE)
    x = np.array([[1, 2, 3, 4] * 50, [0.5, 1.5, 1, 0.1] * 50])
    assert made.columns[0].step == 1
    assert made.value.mean == pytest.approx(x.mean(axis=1), abs=1e-3)
    assert made.value.covariance == pytest.approx(np.cov(x), abs=1e-3)


def test_the_same_draw_gives_the_matrix_and_the_table(monkeypatch):
    """Means, covariances and correlations are made of the same noisy numbers."""
    made = {}
    for call in (ib.moments, ib.covariance, ib.correlation):
        monkeypatch.setattr(draw, "entropy_source", lambda: SeededEntropy(5))
        made[call.__name__] = call(table(300), bounds=BOTH, epsilon=1)
    assert made["moments"].noisy == made["covariance"].noisy == made["correlation"].noisy
    value = made["moments"].value
    assert value.covariance == pytest.approx(made["covariance"].value)
    # A released correlation weighs the noise, those of released covariances do not.
    release = made["correlation"]
    plain = release.derivation.values(release.worth(), release.limits().exact()).reshape(2, 2)
    assert value.correlation == pytest.approx(plain, abs=1e-9)
    assert 0 < abs(release.value[0, 1] - plain[0, 1]) < 0.1
    one = {"x": table(300)["age"]}
    monkeypatch.setattr(draw, "entropy_source", lambda: SeededEntropy(6))
    variance = ib.variance(one, "x", bounds=(0, 100), epsilon=1)
    monkeypatch.setattr(draw, "entropy_source", lambda: SeededEntropy(6))
    assert ib.moments(one, bounds={"x": (0, 100)}, epsilon=1).value.variance[0] == pytest.approx(variance.value)


def test_a_record_of_moments_is_proved():
    made = ib.moments(table(300), bounds=BOTH, epsilon=1)
    assert made.method == "means and covariances from noisy moments"
    assert made.axes == (("mean", "age", "weight"), ("age", "weight"))
    assert "moments of age, weight" in str(made)
    record = body_of(made)
    assert record["certificate"]["blocks"] == ["moments 2"]
    assert np.array(record["value"]).shape == (3, 2)
    for change in (
        {"noisy": record["noisy"][:-1]},
        {"units": ["1"] * 5},
        {"value": (np.array(record["value"]) + 1).tolist()},
        {"bounds": record["bounds"][::-1]},
        {"axes": record["axes"][::-1]},
        {"statistic": record["statistic"] | {"bounds": {"age": ["0", "50"], "weight": ["20", "140"]}}},
        {"terms": record["terms"] | {"rows": 3000}},
        {"terms": record["terms"] | {"contributions": 2}},
    ):
        with pytest.raises(ValueError):
            ib.Release.from_json(record_with(record | change))
    assert json.loads(made.to_json())["format"] == "inbounds-record/1"
    assert made.to_polars().shape == (6, 3)


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({}, "bounds must be a dictionary by column"),
        (None, "bounds must be a dictionary by column"),
        ({"age": (5, 5)}, "lower < upper"),
        ({"age": (100, 0)}, "lower < upper"),
        ({"age": (0, float("inf"))}, "finite"),
        ({f"c{i}": (0, 1) for i in range(201)}, "at most 200 columns"),
    ],
)
def test_bad_bounds_are_named(bounds, words):
    with pytest.raises((TypeError, ValueError), match=words):
        ib.moments(table(50), bounds=bounds, epsilon=1)


def test_what_cannot_be_asked_for():
    t = table(50)
    with pytest.raises(TypeError, match="bounding"):
        ib.moments(t, bounds=BOTH, epsilon=1, bounding="truncated")
    with pytest.raises(ValueError, match="bounding='truncated' needs method='split'"):
        ib.statistics.Moments(bounds=BOTH).draft(_terms("truncated"))
    with pytest.raises(ValueError, match="bounding='truncated' needs method='direct'"):
        ib.variance(t, "age", bounds=(0, 100), epsilon=1, method="moments", bounding="truncated")
    with pytest.raises(ValueError, match="method='direct' needs a public number of records"):
        ib.variance(t, "age", bounds=(0, 100), epsilon=1, method="direct", neighbours="add-remove")
    with pytest.raises(ValueError, match="method must be one of"):
        ib.variance(t, "age", bounds=(0, 100), epsilon=1, method="joint")
    with pytest.raises(ValueError, match="repair must be one of"):
        ib.moments(t, bounds=BOTH, epsilon=1, repair="guess")
    with pytest.raises(ValueError, match="fewer rows than the 2"):
        ib.moments({"age": [3]}, bounds={"age": (0, 100)}, epsilon=1)


def _terms(bounding):
    from inbounds.privacy.terms import Terms

    return Terms.of(1, "substitute", 1, bounding).with_rows(50)


def test_numbers_that_are_drawn_are_counted_before():
    for statistic, count in (
        (ib.statistics.Moments(bounds=BOTH), 5),
        (ib.statistics.Covariance(bounds=BOTH), 5),
        (ib.statistics.Covariance(bounds=BOTH, method="elements"), 3),
        (ib.statistics.Variance("age", bounds=(0, 100)), 2),
        (ib.statistics.Variance("age", bounds=(0, 100), method="direct"), 1),
    ):
        assert statistic.numbers(_terms("bit")) == count == len(statistic.draft(_terms("bit")).record.units)
    deviation = ib.statistics.StandardDeviation("age", bounds=(0, 100))
    assert deviation.numbers(_terms("bit")) == len(deviation.draft(_terms("bit")).record.units) == 2
    quiet = _terms("bit").__class__.of(10**6, "substitute", 1, "bit").with_rows(50)
    assert deviation.numbers(quiet) == len(deviation.draft(quiet).record.units) == 1


def repeated_errors(columns, bounds, epsilon, runs, seed):
    """Tables of releases whose noise is drawn by `tests.moments`, less the exact one."""
    rows = len(columns[0])
    exact = moments.sums_of(columns, bounds)
    noise = moments.noise(len(bounds), 1 / epsilon, np.random.default_rng(seed), runs)
    return moments.tables_of(exact + noise, bounds, rows) - moments.tables_of(exact, bounds, rows)


@pytest.mark.claim("spread-method")
@pytest.mark.parametrize("place", [0.0, 0.5, 0.74, 0.8, 0.95])
def test_the_chosen_way_has_the_smaller_error(place):
    """A narrow column at so many half-widths from the middle: measured MSE of both ways, and what is chosen.

    It has many records, so that no variance is clamped.
    """
    rows, epsilon = 100_000, 1.0
    x = 0.5 + place / 2 + 0.02 * np.linspace(-1, 1, rows)
    errors = repeated_errors([x], [(0, 1)], epsilon, 60_000, 7)[:, 1, 0]
    direct = ib.Mechanism(ib.Laplace(1 / rows / epsilon), "unbounded", bounds=(-np.inf, np.inf)).mse(0.5)
    better = "moments" if (errors**2).mean() < direct else "direct"
    assert choose_method((0, 1), {"mean": float(x.mean())}, 1) == better
    made = ib.variance(x[:400], bounds=(0, 1), epsilon=epsilon, plausible={"mean": float(x.mean())})
    assert made.method == ("direct" if better == "direct" else "variance from noisy moments")


@pytest.mark.claim("spread-method")
def test_what_is_plausible_chooses():
    for stated, method in (
        (None, None),
        ({"mean": 50}, "moments"),
        ({"mean": 99}, "direct"),
        ({"mean": 1}, "direct"),
        ({"mean": (40, 60), "sd": 5}, "moments"),
        ({"mean": (90, 100)}, "direct"),
        # Of a range that holds both, the way that loses less at its worst.
        ({"mean": (0, 100)}, "moments"),
        ({"mean": (85, 100)}, "direct"),
        # A spread of nearly all of the bounds puts the mean in the middle.
        ({"sd": 49}, "moments"),
        ({"sd": (1, 2)}, "moments"),
    ):
        assert choose_method((0, 100), stated, 1) == method, stated
    # Bounds that doubles round are within themselves.
    assert choose_method((0.1, 0.7), {"mean": (0.1, 0.7)}, 1) == choose_method((0.3, 1.1), {"mean": (0.3, 1.1)}, 1)
    x = [90.0, 95.0] * 50
    assert ib.variance(x, bounds=(0, 100), epsilon=1, plausible={"mean": 95}).method == "direct"
    assert ib.variance(x, bounds=(0, 100), epsilon=1, plausible={"mean": 95}, method="moments").method != "direct"
    assert ib.standard_deviation(x, bounds=(0, 100), epsilon=1, plausible={"mean": 95}).method.startswith("root of")


@pytest.mark.parametrize(
    "how",
    [
        {"neighbours": "add-remove"},
        {"by": "g", "levels": ["a", "b"]},
        {"where": "g = 'a'"},
        {"missing": "skip"},
        {"bounding": "truncated"},
    ],
)
def test_what_is_plausible_does_no_harm_where_there_is_one_way(how):
    data = {"x": [90.0, 95.0] * 50, "g": ["a", "b"] * 50}
    for mean in (50, 95):
        made = ib.variance(data, "x", bounds=(0, 100), epsilon=1, plausible={"mean": mean}, **how)
        assert made.method == ("direct" if "bounding" in how else "variance from noisy sums and count")
    with pytest.raises(ValueError, match="within the bounds"):
        ib.variance(data, "x", bounds=(0, 100), epsilon=1, plausible={"mean": 300}, **how)


def test_what_is_plausible_chooses_by_the_records_of_a_person():
    """A centre that 1,000 records are enough for, and not a person with four of them."""
    for contributions, method in ((1, "centred"), (4, "moments")):
        assert choose_method((0, 100), {"mean": 15}, 1, 1000, contributions) == method


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({}, "plausible must be a dictionary with mean or sd"),
        ({"median": 3}, "plausible must be a dictionary with mean or sd"),
        (3, "plausible must be a dictionary with mean or sd"),
        ({"mean": (1, 2, 3)}, "a number or a pair"),
        ({"mean": (60, 40)}, "the smaller number first"),
        ({"mean": 300}, "within the bounds"),
        ({"mean": float("nan")}, "plausible mean must be"),
        ({"sd": "x"}, "plausible sd"),
        ({"sd": -1}, "plausible sd must be from 0"),
        ({"sd": (9, 3)}, "the smaller number first"),
        ({"sd": (80, 90)}, "what the bounds allow"),
        ({"mean": 50, "sd": (9, 3)}, "the smaller number first"),
    ],
)
def test_what_is_not_plausible_is_refused(stated, words):
    with pytest.raises((TypeError, ValueError), match=words):
        ib.variance([1.0, 2.0], bounds=(0, 100), epsilon=1, plausible=stated)


@pytest.mark.parametrize("columns", [1, 2])
def test_expected_errors_are_those_of_releases(columns):
    """`r.error` where nothing is clamped, against noise drawn by other means, to five percent."""
    t = correlated(3000, columns)
    bounds = dict.fromkeys(t, (0, 1))
    errors = repeated_errors(list(t.values()), [(0, 1)] * columns, 1.0, 40_000, 8)
    rmse = np.sqrt((errors**2).mean(axis=0))
    made = ib.moments(t, bounds=bounds, epsilon=1)
    assert made.error.rmse == pytest.approx(rmse, rel=0.05)
    assert ib.covariance(t, bounds=bounds, epsilon=1).error.rmse == pytest.approx(rmse[1:], rel=0.05)
    assert (made.error.worst_rmse >= made.error.rmse).all()
    # The control: noise of the cube is half as large again.
    cube = ib.moments(t, bounds=bounds, epsilon=0.7)
    assert cube.error.rmse != pytest.approx(rmse, rel=0.05)
    if columns == 1:
        variance = ib.variance(t["c0"], bounds=(0, 1), epsilon=1, method="moments")
        assert variance.error.rmse == pytest.approx(rmse[1, 0], rel=0.05)


def test_worst_errors_are_those_of_records_at_a_corner():
    """All records at one corner: nothing has a larger error, but clamped at 0 its half is bias."""
    columns, bounds = [np.ones(500), np.ones(500)], [(0, 1), (0, 1)]
    errors = repeated_errors(columns, bounds, 1.0, 40_000, 9)
    made = ib.moments({"a": columns[0], "b": columns[1]}, bounds={"a": (0, 1), "b": (0, 1)}, epsilon=1).error
    assert (np.sqrt((errors**2).mean(axis=0)) <= made.worst_rmse * 1.03).all()
    assert (np.abs(errors.mean(axis=0)) <= made.worst_bias * 1.05).all()
    # Means are clamped, too, which is not allowed for.
    assert np.abs(errors.mean(axis=0))[1, 0] >= 0.7 * made.worst_bias[1, 0]
