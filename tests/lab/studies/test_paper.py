"""Both studies at 10,000 repetitions against figures that were computed apart, and every finding's verdict."""

import math

import numpy as np
import pytest

from inbounds.lab.studies import claims, keep, noise, paper
from inbounds.lab.studies.claims import judge
from inbounds.lab.studies.evidence import Evidence, Measured
from inbounds.lab.studies.proportions import Run

RUNS = 10_000
CELLS = ("p1", "p2", "p3", "p4")

# Coverage of p1..p4 at the paper's scale, from 10,000 runs, to two digits: ε, n, then one row for each way.
COVERAGE = {
    (0.1, 50): {
        ("rescale", "wald", "truncated"): (0.56, 0.58, 0.58, 0.56),
        ("rescale", "wald", "bit"): (0.36, 0.43, 0.47, 0.48),
        ("rescale", "synthesis", "truncated"): (0.80, 0.98, 0.94, 0.72),
        ("rescale", "synthesis", "bit"): (0.93, 0.93, 0.89, 0.83),
        ("all-but-one raw", "wald", "truncated"): (0.19, 0.49, 0.50, 0.49),
        ("tree", "wald", "truncated"): (0.37, 0.46, 0.45, 0.47),
    },
    (0.1, 500): {
        ("rescale", "wald", "truncated"): (0.69, 0.77, 0.80, 0.80),
        ("rescale", "wald", "bit"): (0.69, 0.77, 0.80, 0.80),
        ("rescale", "synthesis", "truncated"): (0.94, 0.95, 0.94, 0.93),
        ("rescale", "synthesis", "bit"): (0.94, 0.94, 0.95, 0.95),
        ("all-but-one raw", "wald", "truncated"): (0.43, 0.75, 0.78, 0.80),
        ("tree", "wald", "truncated"): (0.51, 0.60, 0.64, 0.66),
    },
    (0.5, 200): {
        ("rescale", "wald", "truncated"): (0.89, 0.92, 0.93, 0.93),
        ("rescale", "wald", "bit"): (0.89, 0.92, 0.93, 0.93),
        ("rescale", "synthesis", "truncated"): (0.96, 0.95, 0.95, 0.95),
        ("rescale", "synthesis", "bit"): (0.94, 0.95, 0.95, 0.95),
        ("all-but-one raw", "wald", "truncated"): (0.80, 0.91, 0.92, 0.93),
        ("tree", "wald", "truncated"): (0.83, 0.88, 0.89, 0.90),
    },
    (1.0, 50): {
        ("rescale", "wald", "truncated"): (0.87, 0.91, 0.92, 0.92),
        ("rescale", "wald", "bit"): (0.86, 0.91, 0.92, 0.92),
        ("rescale", "synthesis", "truncated"): (0.98, 0.96, 0.95, 0.94),
        ("rescale", "synthesis", "bit"): (0.94, 0.93, 0.94, 0.94),
        ("all-but-one raw", "wald", "truncated"): (0.77, 0.90, 0.91, 0.92),
        ("tree", "wald", "truncated"): (0.83, 0.86, 0.88, 0.89),
    },
}
# Study 1 at the paper's scale, from 20,000 runs: scenario, n, mechanism, quantity, measure, figure, half a digit.
MATRIX = [
    ("r = 0.7", 50, "truncated", "S11", "mean", 2.30, 0.005),
    ("r = 0.7", 50, "bit", "S11", "mean", 1.66, 0.005),
    ("r = 0.7", 50, "truncated", "r", "mean", 0.117, 0.0005),
    ("r = 0.7", 50, "bit", "r", "mean", 0.203, 0.0005),
    ("r = 0.7", 200, "truncated", "r", "mean", 0.353, 0.0005),
    ("r = 0.7", 200, "bit", "r", "mean", 0.534, 0.0005),
    ("r = 0.7", 800, "truncated", "r", "mean", 0.673, 0.0005),
    ("r = 0.7", 800, "bit", "r", "mean", 0.702, 0.0005),
    ("r = 0.7", 50, "bit", "r", "undefined", 0.54, 0.005),
    ("r = 0.7", 100, "bit", "r", "undefined", 0.37, 0.005),
    ("r = 0.7", 200, "bit", "r", "undefined", 0.17, 0.005),
    ("r = 0.7", 400, "bit", "r", "undefined", 0.03, 0.005),
    ("r = 0.7", 800, "bit", "r", "undefined", 0.001, 0.0005),
    ("r = 0", 50, "bit", "S11", "at_lower", 0.31, 0.005),
    ("r = 0", 800, "bit", "r", "rmse", 0.214, 0.0005),
    ("r = 0", 800, "joint", "r", "rmse", 0.129, 0.0005),
    ("r = 0", 800, "bit", "S11", "rmse", 0.189, 0.0005),
    ("r = 0", 800, "joint", "S11", "rmse", 0.116, 0.0005),
]


def far(figure: Measured, expected: float, digit: float, runs: int) -> float:
    """How many standard errors of both runs lie between a figure and an expected one, beyond its rounding."""
    error = figure.error * math.sqrt(1 + RUNS / runs)
    return max(abs(figure.value - expected) - digit, 0.0) / max(error, 1e-9)


def shares_table(settings=None):
    """The settings of the reference, without exact intervals."""
    wanted = []
    for setting in settings or paper.proportions():
        labels = dict(setting.labels)
        if (labels["epsilon"], labels["n"]) in COVERAGE and labels["neighbours"] == "add-remove":
            wanted.append(setting)
    return keep.conduct("proportions", wanted, RUNS, workers=1)


def coverage_distances(table):
    e = Evidence.of(table, scenario="p", neighbours="add-remove", calibration="paper")
    found = {}
    for (epsilon, n), ways in COVERAGE.items():
        for (repair, estimator, mechanism), expected in ways.items():
            labels = {"n": n, "epsilon": epsilon, "repair": repair, "estimator": estimator, "mechanism": mechanism}
            for cell, figure in zip(CELLS, expected, strict=True):
                found[epsilon, n, repair, estimator, mechanism, cell] = far(
                    e(cell, "coverage", **labels), figure, 0.005, RUNS
                )
    return found


def matrix_distances(table):
    e = Evidence.of(table, epsilon=1.0, neighbours="substitute", repair="none", estimator="none")
    found = {}
    for scenario, n, mechanism, quantity, measure, figure, digit in MATRIX:
        calibration = "honest" if mechanism == "joint" else "paper"
        labels = {"scenario": scenario, "n": n, "mechanism": mechanism, "calibration": calibration}
        found[scenario, n, mechanism, quantity, measure] = far(e(quantity, measure, **labels), figure, digit, 20_000)
    return found


def test_coverage_of_shares_is_that_of_a_separate_computation():
    found = coverage_distances(shares_table())
    assert len(found) == 96
    assert max(found.values()) < 4, {key: value for key, value in found.items() if value >= 4}


def test_matrices_are_those_of_a_separate_computation():
    found = matrix_distances(keep.conduct("covariance", paper.covariance(), RUNS, workers=1))
    assert max(found.values()) < 4, {key: value for key, value in found.items() if value >= 4}


def misprinted(mechanism, at, scale, lower, upper, rng):
    """BIT with the upper atom of the paper's Def. 2(b), 1 - e^(-β)/2 in place of e^(-β)/2."""
    drawn = PLAIN(mechanism, at, scale, lower, upper, rng)
    if mechanism != "bit":
        return drawn
    there = rng.random(np.shape(at)) < 1 - np.exp(-np.maximum(upper - at, 0) / scale) / 2
    return np.where(there, upper, drawn)


def too_wide(mechanism, at, scale, lower, upper, rng):
    return PLAIN(mechanism, at, np.multiply(scale, 1.1), lower, upper, rng)


PLAIN = noise.draw_bounded


@pytest.mark.parametrize("planted", [misprinted, too_wide])
def test_the_comparison_sees_a_planted_error(monkeypatch, planted):
    monkeypatch.setattr(noise, "draw_bounded", planted)
    assert max(coverage_distances(shares_table()).values()) > 4
    matrices = [s for s in paper.covariance() if dict(s.labels)["calibration"] == "paper"]
    joint = [s for s in paper.covariance() if dict(s.labels)["mechanism"] == "joint"]
    table = keep.conduct("covariance", [*matrices, *joint], RUNS, workers=1)
    assert max(matrix_distances(table).values()) > 4


# Findings


@pytest.fixture(scope="module")
def tables():
    shares = [s for s in paper.proportions() if s.simulate.estimator != "exact"]
    return {
        "covariance": keep.conduct("covariance", paper.covariance(), RUNS, workers=2),
        "proportions": keep.conduct("proportions", shares, RUNS, workers=2),
    }


@pytest.mark.claim("study-claims")
def test_every_finding_has_the_verdict_of_the_reference(tables):
    found = claims.judge_all(tables)
    at_paper = [item for item in found if item.calibration != "honest"]
    assert len(at_paper) == len(claims.ALL) == 32
    assert {item.claim.id: item.verdict for item in at_paper} == {claim.id: claim.reference for claim in claims.ALL}
    rows = claims.rows(found)
    assert [row["id"] for row in rows] == [claim.id for claim in claims.ALL]
    assert all(row["figure"] is not None and row["why"] for row in rows)
    # Which of the conditions hold, where a word alone would not tell.
    holds = {item.claim.id: [part.holds for part in item.parts] for item in at_paper}
    assert holds["S1.3"] == [True, True, False, True]
    assert holds["T.1"] == [False, False, False, True, True]
    assert holds["S2.21"] == [False, False, True, True]
    # What truncation gains at the paper's scale it has from the ε it spends and does not say.
    honest = {item.claim.id: item.verdict for item in found if item.calibration == "honest"}
    assert honest["S2.6"] == "partly"
    assert honest["S2.9"] == "not"


@pytest.mark.claim("study-claims")
def test_verdicts_follow_the_figures(tables):
    """With the names of the two procedures exchanged, findings that compare them are no longer found."""
    import polars as pl

    names = {"truncated": "bit", "bit": "truncated"}
    turned = {name: table.with_columns(pl.col("mechanism").replace(names)) for name, table in tables.items()}
    found = {item.claim.id: item.verdict for item in claims.judge_all(turned) if item.calibration == "paper"}
    for finding in ("S1.3", "S1.6", "S1.7", "S1.8", "S2.3", "S2.6", "S2.10", "S2.11"):
        assert found[finding] != "reproduced", finding


def test_a_study_that_was_not_run_is_not_judged(tables):
    rows = claims.rows(claims.judge_all({"covariance": tables["covariance"]}))
    assert len(rows) == 32
    assert {row["verdict"] for row in rows if row["id"].startswith("S2")} == {"not run"}
    assert "not run" not in {row["verdict"] for row in rows if not row["id"].startswith("S2")}


def test_a_table_that_lacks_settings_is_named(tables):
    import polars as pl

    part = tables["covariance"].filter(pl.col("n") != 100)
    with pytest.raises(ValueError, match=r"no row for .*n 100.*; run the study again"):
        claims.judge_all({"covariance": part})


@pytest.mark.claim("study-verdict")
def test_from_conditions_to_a_word():
    yes, no = judge.state("a", Measured(1.0), True), judge.state("a", Measured(1.0), False)
    close = judge.above("a", Measured(1.01, 0.01), 1.0)
    contrary = judge.above("a", Measured(0.99, 0.01), 1.0)
    assert (close.holds, close.leans, contrary.holds, contrary.leans) == (None, True, None, False)
    words = {
        (yes, yes): "reproduced",
        (yes, no): "partly",
        (no, no): "not",
        (yes, close): "reproduced",
        (yes, contrary): "partly",
        (no, contrary): "not",
        (close, contrary): "undecided",
        (): "not run",
    }
    assert {parts: judge.verdict(parts) for parts in words} == words
    assert judge.above("a", Measured(1.2, 0.01), 1.0).holds is True
    assert judge.below("a", Measured(1.2, 0.01), 1.0).holds is False
    assert judge.within("a", Measured(-0.2, 0.01), 0.1).holds is False
    assert judge.everywhere("a", [Measured(0.001, 0.01), Measured(1.0, 0.01)], 0).holds is True
    assert judge.everywhere("a", [Measured(-0.1, 0.01), Measured(1.0, 0.01)], 0).holds is False
    # Many that lean one way are no support for the other.
    many = judge.everywhere("a", [Measured(-2.9, 1)] * 5, 0)
    assert (many.holds, many.leans) == (None, False)
    assert judge.everywhere("a", [Measured(-2.9, 1)] * 5, 0, independent=True).holds is False
    assert judge.between("a", [Measured(0.94, 0.001), Measured(0.95, 0.001)], 0.93, 0.97).holds is True
    unsure = judge.between("a", [Measured(0.94, 0.5)], 0.93, 0.97)
    assert (unsure.holds, unsure.leans) == (None, True)
    assert judge.between("a", [Measured(0.9, 0.001)], 0.93, 0.97).holds is False
    assert judge.between("a", [Measured(0.99, 0.001)], 0.93, 0.97).holds is False


def test_errors_of_differences_ratios_and_means():
    """By simulation: ten thousand pairs of figures that are off by their standard errors."""
    from inbounds.lab.studies.evidence import mean

    rng = np.random.default_rng(1)
    a, b = Measured(3.0, 0.1), Measured(2.0, 0.08)
    x, y = rng.normal(a.value, a.error, 10_000), rng.normal(b.value, b.error, 10_000)
    for figure, drawn in ((a - b, x - y), (a.over(b), x / y), (mean([a, b], independent=True), (x + y) / 2)):
        assert figure.value == pytest.approx(drawn.mean(), rel=0.01)
        assert figure.error == pytest.approx(drawn.std(), rel=0.05)
    # Safe where they may be one and the same.
    assert mean([a, a]).error == pytest.approx(0.1)
    assert abs(Measured(-1.0, 0.1)) == Measured(1.0, 0.1)


def test_a_verdict_says_whether_it_is_sure():
    claim = claims.ALL[0]
    yes, no = judge.state("a", Measured(1.0), True), judge.state("a", Measured(1.0), False)
    close = judge.above("a", Measured(1.01, 0.01), 1.0)
    for parts, sure in (((yes,), True), ((yes, close), False), ((yes, no, close), True), ((no, close), False)):
        assert judge.Judged(claim, "paper", parts).sure is sure


@pytest.mark.claim("study-claims")
def test_without_precision_nothing_is_found(tables):
    """With standard errors a thousand times as large, no finding that is simulated is sure."""
    import polars as pl

    vague = {name: t.with_columns(pl.col("standard_error") * 1000) for name, t in tables.items()}
    for item in claims.judge_all(vague):
        if item.calibration == "paper":
            assert item.verdict == "undecided" or not item.sure, item.claim.id


@pytest.mark.claim("study-claims")
def test_noise_that_does_nothing_is_not_found_to_do_something(tables):
    """Every release replaced by the samples themselves: what is said about noise is no longer found."""
    import polars as pl

    table = tables["proportions"]
    keys = ["n", "quantity", "measure"]
    plain = table.filter(pl.col("mechanism") == "original").select(*keys, "value", "standard_error")
    same = table.drop("value", "standard_error").join(plain, on=keys, how="inner")
    found = {i.claim.id: i.verdict for i in claims.judge_all({"proportions": same}) if i.calibration == "paper"}
    for finding in ("S2.2", "S2.3", "S2.4", "S2.6", "S2.10", "S2.11", "S2.13", "S2.16", "S2.18", "S2.19", "S2.20"):
        assert found[finding] != "reproduced", finding


def test_the_settings_of_the_paper():
    """ε in three parts and δ of variances and covariance; shares at 1/(nε), 2/(nε) for the tree, copies at ε/5."""
    for setting in paper.proportions(ours=False):
        run, labels = setting.simulate, dict(setting.labels)
        assert isinstance(run, Run)
        if run.mechanism is not None:
            times = {"tree": 2}.get(run.repair, 1) * (5 if run.estimator == "synthesis" else 1)
            assert run.scale == pytest.approx(times / (run.n * labels["epsilon"]))
    first = paper.covariance(ours=False)[0].simulate
    scales = [first._scale(first._sensitivity(j, k), np.ones(2), 3) for j, k in ((0, 0), (1, 1), (0, 1))]
    assert np.multiply(scales, 50) == pytest.approx([108, 243, 162])
    assert [first.largest(j) for j in (0, 1)] == pytest.approx([9 * 50 / 49, 20.25 * 50 / 49])
    assert len(paper.proportions(ours=False)) == 250
    assert len(paper.covariance(ours=False)) == 54


def test_what_an_undefined_correlation_counts_as():
    """Left out, or 0: the mean of all is the mean of those that are defined, times their share."""
    found = {}
    for rule in ("omit", "zero"):
        small = [
            setting
            for setting in paper.covariance(undefined=rule, ours=False)
            if dict(setting.labels)["n"] == 50 and dict(setting.labels)["mechanism"] == "bit"
        ]
        found[rule] = Evidence.of(
            keep.conduct("covariance", small, 2000, workers=1),
            scenario="r = 0.7",
            n=50,
            epsilon=1.0,
            neighbours="substitute",
            calibration="paper",
            mechanism="bit",
            repair="none",
            estimator="none",
        )
    missing = found["omit"]("r", "undefined").value
    assert 0.5 < missing < 0.6
    assert found["zero"]("r", "undefined").value == 0
    mean = found["omit"]("r", "mean").value * (1 - missing)
    assert found["zero"]("r", "mean").value == pytest.approx(mean, abs=1e-12)


def test_every_released_matrix_is_possible():
    """Variances within what the bounds allow, correlations within one; also for one draw of the whole matrix."""
    for setting in paper.covariance():
        if dict(setting.labels)["n"] == 50:
            s11, s22, s12, r = setting.simulate(np.empty((3000, 0)), np.random.default_rng(1)).estimates.T
            assert (s11 >= 0).all()
            assert s11.max() <= 9 * 50 / 49
            assert (s22 >= 0).all()
            assert s22.max() <= 20.25 * 50 / 49
            assert (np.abs(s12) <= np.sqrt(s11 * s22)).all()
            assert np.nanmax(np.abs(r)) <= 1
