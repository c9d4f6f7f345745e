"""Previews: the very law of the release, errors as simulated, and no data anywhere."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.forecasts.forecast import _half_widths
from inbounds.forecasts.preview import Wanted, forecast_errors, preview_wanted
from inbounds.inference.laws import DiscreteLaplace, Laplace, Law, SupNorm
from tests.forecasts.plans import ROWS, simulated, table, wanted
from tests.inference.peers import released_pmf

ALL = wanted()


@pytest.mark.parametrize("name", ALL)
def test_a_preview_has_the_very_law_of_the_release(name):
    one = ALL[name].but(epsilon=0.5)
    draft, released = one.draft().record, getattr(ib, one.statistic)(table(), **one.keywords)
    assert draft.noisy == ()
    fields = ["statistic", "terms", "derivation", "columns", "axes", "units"]
    if "truncated" not in name or one.statistic != "correlation":
        # Truncated covariances get their law when variances are released.
        fields += ["certificate", "bounds"]
    for field in fields:
        assert getattr(draft, field) == getattr(released, field), field


@pytest.mark.parametrize("name", [name for name, one in ALL.items() if np.ndim(one.plausible) or "add-remove" in name])
def test_the_coordinates_of_a_plausible_truth_give_it_back(name):
    one = ALL[name].but(epsilon=1)
    record = one.draft().record
    if record.method in ("direct", "root of a released variance") and not record.axes:
        pytest.skip("one number is its own coordinate")
    value, truth = (
        replace(record, noisy=record.derivation.plausible(record.situation(one.plausible, one.size))).value,
        np.array(one.plausible),
    )
    if one.statistic == "correlation":
        truth = truth / np.sqrt(np.outer(truth.diagonal(), truth.diagonal()))
    assert value == pytest.approx(truth * (ROWS if one.statistic == "histogram" else 1), rel=1e-6)


SCALARS = ("mean", "sum", "count", "proportion", "variance", "standard deviation")
# Numbers at both ε; tables and matrices, which take longer, at one of them, so that both meet both boundings.
SIMULATED = [(name, epsilon) for name in ALL if name.split(",")[0] in SCALARS for epsilon in (0.1, 1.0)]
SIMULATED += [
    (name, (0.1, 1.0)[(place + place // 2) % 2])
    for place, name in enumerate(name for name in ALL if name.split(",")[0] not in SCALARS)
]


@pytest.mark.parametrize(("name", "epsilon"), SIMULATED)
def test_errors_are_those_of_simulated_releases(name, epsilon):
    """1,000 releases, with the system's noise: seven standard errors of an RMSE of such errors; more if simulated."""
    one = ALL[name].but(epsilon=epsilon)
    seen, (rmse, half) = forecast_errors(one), simulated(one, 1000)
    assert seen.typical == pytest.approx(rmse, rel=0.3 if seen.simulated else 0.25, abs=1e-6)
    step = {"count": 1, "histogram": 1, "proportion": 1 / ROWS}.get(one.statistic, 0)
    assert seen.reach == pytest.approx(half, rel=0.3, abs=2 * step + 1e-6)


def test_a_wrong_scale_would_be_seen():
    one = ALL["mean"].but(epsilon=0.1)
    rmse, _ = simulated(one.but(epsilon=0.14), 1000)
    assert forecast_errors(one).typical != pytest.approx(rmse, rel=0.25)


@pytest.mark.claim("half-width")
@pytest.mark.parametrize("truncated", [False, True])
@pytest.mark.parametrize("scale", [0.02, 0.3, 5.0])
def test_half_widths_hold_what_they_say(scale, truncated):
    law, at = Law(Laplace(scale), 0.0, 1.0, (0.0, 1.0) if truncated else None), np.array([0.0, 0.02, 0.3, 0.5, 1.0])
    drawn = ib.Mechanism(ib.Laplace(scale), "truncated" if truncated else "bit", bounds=(0, 1))
    for s, t in zip(at, _half_widths(law, at, 0.9), strict=True):
        inside = float(drawn.cdf(min(s + t, 1.0), at=s)) - (float(drawn.cdf(s - t, at=s)) if s - t > 0 else 0.0)
        assert inside >= 0.9 - 1e-7
        less = t * (1 - 1e-6)
        inside = (1.0 if s + less >= 1 else float(drawn.cdf(s + less, at=s))) - (
            float(drawn.cdf(s - less, at=s)) if s - less > 0 else 0.0
        )
        assert inside <= 0.9 + 1e-7


def test_half_widths_of_counts_and_of_one_coordinate_of_several():
    q = math.exp(-0.5)
    width = _half_widths(Law(DiscreteLaplace(2.0)), np.zeros(1), 0.95)[0]
    assert 2 * q ** (width + 1) / (1 + q) <= 0.05 < 2 * q**width / (1 + q)
    joint = _half_widths(Law(SupNorm(1.0, 3)), np.zeros(1), 0.95)[0]
    assert SupNorm(1.0, 3).cdf(-joint) == pytest.approx(0.025, abs=1e-9)


def test_truth_matters_and_the_worst_is_the_worst():
    wide = ib.preview("mean", bounds=(0, 1), epsilon=0.1, rows=50)
    near = ib.preview("mean", bounds=(0, 1), epsilon=0.1, rows=50, plausible=(0.0, 0.05))
    assert near.forecast.rmse < wide.forecast.rmse <= wide.forecast.worst_rmse
    assert near.forecast.bias > wide.forecast.bias
    law = wide.asked.record.mechanism
    assert wide.forecast.worst_rmse == pytest.approx(math.sqrt(law.worst_mse().upper), rel=1e-6)
    assert wide.forecast.worst_bias == pytest.approx(float(law.worst_bias().upper), rel=1e-6)


def test_the_recommended_way_has_the_smallest_typical_error():
    some = ib.preview("proportion", epsilon=0.5, rows=200)
    assert (some.recommended.bounding, some.asked.bounding) == ("bit", "bit")
    tiny = ib.preview("proportion", epsilon=0.05, rows=20)
    assert tiny.recommended.bounding == "truncated"
    assert "* truncated" in str(tiny)
    both = ib.preview("correlation", epsilon=1, rows=2000, bounds={"x": (0, 1), "y": (0, 1)}, method="split")
    assert [(o.bounding, o.method) for o in both.options] == [
        ("bit", "split"),
        ("bit", "joint"),
        ("truncated", "split"),
    ]
    assert (both.asked.method, both.recommended.method) == ("split", "joint")
    assert both.forecast.simulated


@pytest.mark.parametrize("statistic", ["variance", "standard_deviation"])
def test_ways_of_a_spread_are_compared_where_its_mean_is_stated(statistic):
    """As `plausible` of the release chooses: next to a bound noise on the variance itself is smaller."""
    keywords = {"bounds": (0, 500), "rows": 2000, "epsilon": 1}
    near, middle = {"mean": (15, 22), "sd": (60, 80)}, {"mean": (200, 300), "sd": (60, 80)}
    for stated, best in ((near, "direct"), (middle, "centred"), ({"x": near}, "direct")):
        seen = ib.preview(statistic, **keywords, plausible=stated)
        assert [(option.bounding, option.method) for option in seen.options] == [
            ("bit", "centred"),
            ("bit", "moments"),
            ("bit", "direct"),
            ("truncated", "direct"),
        ]
        assert (seen.asked.method, seen.recommended.method) == ("centred", best)
    release = getattr(ib, statistic)(np.linspace(0, 200, 2000), **keywords, plausible={"mean": (15, 22)})
    assert release.statistic.method == "direct"
    asked = ib.preview(statistic, **keywords, plausible=near, method="direct")
    assert [option.method for option in asked.options] == ["direct", "centred", "moments", "direct"]
    lines = {
        line.index(option.method) for line, option in zip(str(asked).splitlines()[2:], asked.options, strict=False)
    }
    assert len(lines) == 1
    # On average over all means the default is best, which a typical mean in the middle would not show.
    assert len(ib.preview(statistic, **keywords).options) == 1
    assert len(ib.preview(statistic, **keywords, plausible={"sd": (60, 80)}).options) == 1
    secret = {"bounds": (0, 500), "epsilon": 1, "neighbours": "add-remove"}
    assert len(ib.preview(statistic, **secret, expected_rows=2000, plausible=near).options) == 1


def test_a_plan_advises_the_way_of_a_variance_for_the_stated_mean():
    plan = {"data": {"rows": 2000}, "budget": {"epsilon": 1}, "columns": {"x": {"bounds": [0, 500]}}}
    item = {"name": "v", "statistic": "variance", "columns": ["x"]}
    advice = []
    for stated in ([15, 22], [200, 300]):
        plan["release"] = [{**item, "plausible": {"mean": stated, "sd": 60}}]
        advice += [prospect.advice for prospect in ib.Plan.of(plan).preview().prospects]
    assert advice[0].startswith("method = 'direct' would give ")
    assert advice[1] == ""


def test_an_interval_for_the_population_is_wider_than_the_noise():
    option = ib.preview("proportion", epsilon=0.5, rows=200, plausible=0.3).asked
    wald = 1.96 * math.sqrt(0.21 / 200)
    assert option.forecast.half_width < wald < option.half_width() < 1.5 * wald
    shares = ib.preview("proportions", levels=["a", "b"], epsilon=0.5, rows=200, plausible=[0.3, 0.7]).asked
    assert shares.half_width().shape == (2,)


def test_nothing_is_read_and_nothing_is_drawn(monkeypatch):
    def refuse(*_):
        raise AssertionError("a preview touched data or randomness")

    monkeypatch.setattr("inbounds.road.run.count_cells", refuse)
    monkeypatch.setattr("inbounds.road.run.read", refuse)
    monkeypatch.setattr("inbounds.road.draw.entropy_source", refuse)
    for one in ALL.values():
        preview_wanted(one.but(epsilon=1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"statistic": "mode", "epsilon": 1}, "statistic must be one of 'bounds', 'correlation'"),
        ({"statistic": "mean", "epsilon": 1, "bounds": (0, 1)}, "give it, as in rows=1000"),
        ({"statistic": "mean", "epsilon": 0, "bounds": (0, 1), "rows": 9}, "epsilon must be > 0"),
        ({"statistic": "mean", "epsilon": 1, "rows": 9}, "bounds"),
        ({"statistic": "mean", "epsilon": 1, "bounds": (0, 1), "rows": 9.5}, "rows must be an integer"),
        ({"statistic": "mean", "epsilon": 1, "bounds": (0, 1), "rows": 9, "plausible": (0, 2)}, "within the bounds"),
        ({"statistic": "mean", "epsilon": 1, "bounds": (0, 1), "rows": 9, "plausible": "low"}, "plausible must be"),
        ({"statistic": "mean", "epsilon": 1, "bounds": (0, 1), "rows": 9, "confidence": 95}, "confidence must lie"),
        ({"statistic": "mean", "epsilon": 1, "bounds": (0, 1), "neighbours": "add-remove"}, "expected_rows=1000"),
        (
            {"statistic": "mean", "epsilon": 1, "bounds": (0, 1), "neighbours": "add-remove", "rows": 5},
            "expected_rows=",
        ),
        (
            {"statistic": "proportions", "epsilon": 1, "levels": ["a", "b"], "rows": 9, "plausible": [0.5, 0.6]},
            "sum to",
        ),
        (
            {"statistic": "covariance", "epsilon": 1, "bounds": {"x": (0, 1)}, "rows": 9, "plausible": [[1, 2]]},
            "matrix",
        ),
        ({"statistic": "variance", "epsilon": 1, "bounds": (0, 1), "rows": 1}, "fewer rows than the 2"),
        ({"statistic": "mean", "eps": 1, "bounds": (0, 1), "rows": 9}, "did you mean epsilon="),
        ({"statistic": "mean", "data": [1], "bounds": (0, 1), "epsilon": 1}, "reads no data"),
        ({"statistic": "mean", "epsilon": 1, "bounds": (0, 1), "rows": 9, "plausible": (0.4, 0.2)}, "0.4 before 0.2"),
        ({"statistic": "mean", "epsilon": 1, "bounds": (0, 1), "rows": 9, "plausible": [1, 2, 3]}, "got 3 numbers"),
        ({"statistic": "mean", "epsilon": 1, "bounds": (0, 1), "rows": 9, "expected_rows": 3}, "give rows="),
    ],
)
def test_bad_previews_say_what_is_wrong(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        ib.preview(**call)


@pytest.mark.parametrize("bounding", ["bit", "truncated"])
@pytest.mark.parametrize(("rows", "epsilon"), [(2, 0.001), (7, 0.001), (50, 0.002), (3, 2.0)])
def test_few_records_and_wide_noise_are_counted_one_by_one(rows, epsilon, bounding):
    """A grid of few points shows, however wide the noise: against the sum over all of them."""
    seen = ib.preview("count", level=1, rows=rows, epsilon=epsilon, bounding=bounding, plausible=1)
    pmf = released_pmf(rows, float(seen.asked.record.certificate.spread), truncated=bounding == "truncated")[:, 1]
    errors = np.arange(rows + 1) - 1
    assert seen.forecast.rmse == pytest.approx(math.sqrt(pmf @ errors**2), rel=1e-6)
    assert seen.forecast.bias == pytest.approx(abs(pmf @ errors), rel=1e-5)
    assert pmf[np.abs(errors) <= seen.forecast.half_width].sum() >= 0.95 - 1e-6


def test_repaired_shares_of_few_records_too():
    options = {"levels": ["a", "b"], "epsilon": 0.001, "bounding": "truncated", "repair": "rescale"}
    release = replace(ib.proportions(["a", "a", "b"], **options), noisy=(Fraction(2), Fraction(1)))
    law = released_pmf(3, float(release.certificate.spread), truncated=True)
    first, second = np.meshgrid(np.arange(4), np.arange(4), indexing="ij")
    shares = np.where(first + second > 0, first / np.maximum(first + second, 1), 0.5)
    exact = math.sqrt((np.outer(law[:, 2], law[:, 1]) * (shares - 2 / 3) ** 2).sum())
    assert release.error.rmse[0] == pytest.approx(exact, rel=0.05)


def test_averages_over_a_range_see_the_bounds_as_they_are():
    """Bias lives within a few scales of the bounds: its average is next to nothing for many records."""
    seen = ib.preview("mean", bounds=(0, 1), epsilon=1, rows=10_000).forecast
    law = ib.Mechanism(ib.Laplace(1e-4), "bit", bounds=(0, 1))
    s = np.concatenate([np.linspace(0, 0.01, 20_001), np.linspace(0.01, 0.5, 2_001)[1:]])
    assert seen.bias == pytest.approx(2 * np.trapezoid(np.abs(law.bias(s)), s), rel=0.02)
    assert seen.rmse == pytest.approx(math.sqrt(2 * np.trapezoid(law.mse(s), s)), rel=1e-3)


@pytest.mark.parametrize("matrix", [[[-1, 0], [0, 1]], [[1, 5], [5, 1]], [[1e9, 0], [0, 1]], [[1, 0], [0]]])
def test_impossible_matrices_are_not_plausible(matrix):
    with pytest.raises(ValueError, match="plausible must be"):
        ib.preview("correlation", bounds={"x": (0, 3), "y": (0, 3)}, rows=100, epsilon=1, plausible=matrix)


def test_a_preview_shows_itself():
    seen = ib.preview("mean", bounds=(0, 1), rows=100, epsilon=1, contributions=2)
    assert repr(seen).startswith("<Preview: mean of x, epsilon 1: RMSE ")
    assert str(seen).startswith("mean of x: epsilon 1 per person with up to 2 records, substitute, 100 rows\n")
    assert "not released" in repr(seen.asked)
    keywords = {"bounds": (0, 1), "rows": 10}
    one = Wanted("mean", keywords)
    keywords["rows"] = 20
    assert one.keywords["rows"] == 10
    for wrong in (None, "x", ["rows"]):
        with pytest.raises(TypeError, match="keywords must be a dictionary"):
            Wanted("mean", wrong)
    with pytest.raises(TypeError, match="wanted must be Wanted"):
        preview_wanted("mean")
    with pytest.raises(ValueError, match="2\\^31"):
        Wanted("mean", {"bounds": (0, 1), "neighbours": "add-remove"}, expected_rows=10**30)


def test_variances_and_deviations_of_protected_tables_take_a_plausible_value():
    spread = {"bounds": (0, 1), "epsilon": 1, "neighbours": "add-remove"}
    small, large = (forecast_errors(Wanted("standard_deviation", spread, sd, 1000)).rmse for sd in (0.05, 0.3))
    assert small > large
    assert forecast_errors(Wanted("variance", spread, 0.01, 1000)).rmse > 0


def test_a_preview_says_where_noise_would_hide_the_coefficients():
    """As the release will: its own diagnosis is that of a table that is as was assumed."""
    bounds = {"y": (2500, 6500), "a": (170, 235), "b": (30, 60)}
    keywords = {"bounds": bounds, "epsilon": 1}
    few, many = (ib.preview("regression", column="y", rows=rows, **keywords) for rows in (344, 34_400))
    assert few.hidden.startswith("if the truth is typical, the noise is ")
    assert "coefficients are not identified" in few.hidden
    assert few.hidden[1:] in " ".join(str(few).split())
    assert many.hidden == ""
    assert "identified" not in str(many)
    assert "identified" in ib.preview("regression", column="y", rows=34_400, plausible={"sd": 0.01}, **keywords).hidden
    assert ib.preview("mean", bounds=(0, 1), rows=100, epsilon=1).hidden == ""
    for seen, rows in ((few, 344), (many, 34_400)):
        random = np.random.default_rng(1)
        middle = {
            name: (low + high) / 2 + random.normal(0, (high - low) / 10, rows) for name, (low, high) in bounds.items()
        }
        made = ib.regression(middle, "y", **keywords)
        assert made.statistic.fit(made).identified == (seen.hidden == "")
    plan = {
        "data": {"rows": 344},
        "budget": {"epsilon": 1},
        "columns": {name: {"bounds": list(ends)} for name, ends in bounds.items()},
        "release": [{"name": "fit", "statistic": "regression", "columns": ["y", "a", "b"]}],
    }
    assert f"fit: {few.hidden}." in ib.Plan.of(plan).preview().notes
