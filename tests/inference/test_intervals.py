"""Intervals of releases: of every one-liner, from the record alone, and what they cover."""

import contextlib
import json
import math
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize, stats

import inbounds as ib
from inbounds import Laplace, Mechanism
from inbounds.grid.entropy import SeededEntropy
from inbounds.inference import difference, interval, naive_wald, p_value
from inbounds.inference.result import KINDS
from inbounds.road import draw as road_draw
from tests.inference.peers import binomial, released_pmf, seeded, seeded_matrix
from tests.release import cases

TABLE = cases.table(400, seed=3)


def interval_of(release, kind):
    """The interval and its method: of spreads that have none for every law, that for normal records, which says so."""
    with contextlib.suppress(ValueError):
        return release.interval(kind=kind), None
    with pytest.raises(ValueError, match="without an assumption about the law of the records; method='normal' assumes"):
        release.interval(kind=kind)
    made = release.interval(kind=kind, method="normal")
    assert "records are normal" in made.assumption
    return made, "normal"


CALLS = cases.every_call()


@pytest.mark.claim("interval-record")
@pytest.mark.parametrize("name", CALLS)
def test_every_release_has_intervals_that_hold_its_value(name):
    release = CALLS[name](TABLE, epsilon=1)
    again = ib.Release.from_json(release.to_json())
    for kind in KINDS:
        if kind == "population" and release.statistic.name == "sum" and (release.rows is None or release.axes):
            with pytest.raises(ValueError, match="kind='noise', or release the mean"):
                release.interval(kind=kind)
            continue
        made, method = interval_of(release, kind)
        asked = {"kind": kind, "method": method}
        narrow = release.interval(0.5, **asked)
        assert np.shape(made.lower) == np.shape(release.table)
        # Coefficients that the noise hides may be anything.
        hidden = release.statistic.name == "regression" and not release.statistic.fit(release).identified
        assert (np.isneginf if hidden else np.isfinite)(made.lower).all()
        assert (np.isposinf if hidden else np.isfinite)(made.upper).all()
        assert np.all(made.lower <= release.table)
        assert np.all(made.upper >= release.table)
        assert np.all(narrow.width <= made.width + 1e-9)
        # Of a quantile by default the level that was paid for.
        assert (made.kind, made.level) == (kind, float(getattr(release.statistic, "cover", None) or 0.95))
        assert made.assumption
        assert made.method
        same = again.interval(**asked)
        assert json.dumps(same.to_dict()) == json.dumps(made.to_dict())
        lower, upper = made
        assert lower is made.lower
        assert upper is made.upper


def find_case(name):
    known = (
        cases.ALL
        | cases.SPLIT
        | cases.REPAIRED
        | cases.ORDERED
        | cases.FITTED
        | cases.GROUPED
        | cases.SELECTED
        | cases.DERIVED
    )
    return known.get(name.rpartition(", ")[0])


KNOWN = [name for name in CALLS if (case := find_case(name)) is not None and case.truth is not None]


@pytest.mark.parametrize("name", KNOWN)
def test_little_noise_leaves_the_table_and_its_sampling_error(name):
    """At a large ε an interval for noise alone closes on the table's own value."""
    release, truth = CALLS[name](TABLE, epsilon=10_000), find_case(name).truth(TABLE)
    made = release.interval(0.99, kind="noise")
    slack = 0.02 * np.abs(truth) + 0.02 + 0.5 * (release.statistic.name in ("sum", "crosstab"))
    assert (made.lower - slack <= truth).all()
    assert (made.upper + slack >= truth).all()
    assert (made.width <= 2 * slack).all()


def test_an_interval_says_what_it_is():
    release = ib.proportion([1, 0] * 50, epsilon=1)
    made = release.interval(0.995)
    assert ": 99.5% for the proportion of x = 1 in the population" in str(made)
    assert made.assumption == "records are independent draws from the population"
    assert release.value in made
    assert 2 not in made
    noise = ib.mean([5.0, 700.0, None], bounds=(0, 10), missing=2, epsilon=1).interval(kind="noise")
    smokers = ib.proportion({"s": ["yes", "no", None]}, "s", level="yes", missing=False, epsilon=1)
    assert smokers.interval().what == "proportion of s = yes (missing s counted as not yes)"
    assert noise.what == "mean of x (x clipped to 0 to 10, missing x counted as 2)"
    assert "of this table" in str(noise)
    assert noise.assumption == "nothing beyond the certified law of the noise"
    several = str(ib.proportions(list("abcd") * 9, levels=list("abcd"), epsilon=1).interval())
    assert several.startswith(
        "each 95% for the proportions of x in the population, each by itself, not all together:\n  a  "
    )
    assert several.count("\n") == 5
    persons = ib.mean([1.0, 0.0] * 50, bounds=(0, 1), epsilon=1, contributions=2)
    assert persons.interval().assumption.startswith("records, also those of one person, are independent draws")
    derived = ib.proportions(list("abc") * 9, levels=list("abc"), epsilon=1, repair="all-but-one", derived="a")
    assert "of the derived share" in derived.interval().method
    assert interval(release, 0.9).to_dict()["level"] == 0.9


@pytest.mark.parametrize("call", [ib.variance, ib.standard_deviation, ib.pooled_variance])
def test_the_largest_variances_are_within_their_noise_intervals(call):
    """A sample's variance exceeds a population's largest: W²/4 · n/(n-1). Released a little below it, it is kept."""
    table = {"x": [0.0, 1.0] * 5, "g": ["u"] * 10}
    more = {"by": "g", "levels": ["u"]} if call is ib.pooled_variance else {}
    release = call(table, "x", bounds=(0, 1), epsilon=50, neighbours="add-remove", **more)
    count, total, squares = Fraction(10), Fraction(0), Fraction(10) - release.certificate.spread
    made = replace(release, noisy=(count, total, squares)).interval(kind="noise")
    truth = 0.25 * 10 / 9
    assert (math.sqrt(truth) if call is ib.standard_deviation else truth) in made


def test_a_count_in_the_population_is_a_share_of_the_records():
    """The interval of an expected count is n times that of the share with the same noise; also of each cell."""
    count, share = ib.count([1] * 80, level=1, epsilon=1), ib.proportion([1] * 80, epsilon=1)
    lower, upper = replace(share, noisy=(Fraction(20, 80),)).interval()
    assert tuple(replace(count, noisy=(Fraction(20),)).interval()) == pytest.approx((80 * lower, 80 * upper))
    drawn = ib.histogram(list("ab") * 40, levels=list("ab"), epsilon=2, repair="none")
    table = replace(drawn, noisy=(Fraction(20), Fraction(60)))
    assert table.interval().lower[0] == pytest.approx(80 * lower)
    assert table.interval().upper[0] == pytest.approx(80 * upper)


def test_without_noise_a_variance_has_the_chi_squared_interval():
    """(n - J) s²/χ² at both ends: n - 1 degrees of freedom, or records less groups."""
    table = {"x": [0.1, 0.9, 0.4, 0.6] * 10, "g": ["u", "v"] * 20}
    for call, more, freedom in (
        (ib.variance, {"method": "direct"}, 39),
        (ib.standard_deviation, {"method": "direct"}, 39),
        (ib.pooled_variance, {"by": "g", "levels": ["u", "v"]}, 38),
    ):
        release = call(table, "x", bounds=(0, 1), epsilon=1_000_000, **more)
        root = call is ib.standard_deviation
        square = release.value**2 if root else release.value
        ends = [freedom * square / stats.chi2.ppf(level, freedom) for level in (0.975, 0.025)]
        assert tuple(release.interval(method="normal")) == pytest.approx(np.sqrt(ends) if root else ends, rel=1e-3)


def test_simulated_intervals_go_as_far_as_their_draws():
    release = ib.mean([0.0, 1.0], bounds=(0, 1), epsilon=1, neighbours="add-remove")
    assert release.interval(0.995).width > 0
    with pytest.raises(ValueError, match=r"simulated, for levels up to 0\.9988"):
        release.interval(0.999)
    release = ib.mean([0.0, 1.0], bounds=(0, 1), epsilon=1, neighbours="add-remove", method="direct")
    with pytest.raises(ValueError, match=r"simulated, for levels up to 0\.995"):
        release.interval(0.998)


def test_means_of_sixteen_groups_have_simultaneous_intervals():
    groups = list("abcdefghijklmnop")
    table = {"x": [float(i % 7) for i in range(8000)], "g": groups * 500}
    release = ib.mean(table, "x", bounds=(0, 10), by="g", levels=groups, epsilon=1)
    alone, together = release.interval(0.95), release.interval(0.95, simultaneous=True)
    assert np.all(together.lower < alone.lower)
    assert np.all(together.upper > alone.upper)


def test_a_count_truncated_without_an_end_and_clamped_to_its_denominator():
    """Coverage by enumeration: the noise is renormalised to [0, ∞), what exceeds N becomes N."""
    size, options = 20, {"levels": ["a", "b"], "neighbours": "add-remove", "denominator": 20, "bounding": "truncated"}
    release = ib.proportions(["a"] * 5, epsilon=0.1, **options)
    scale = float(release.certificate.spread)
    weights = np.exp(-np.abs(np.arange(6000)[:, None] - np.arange(size + 1)) / scale)
    pmf = np.vstack([weights[:size], weights[size:].sum(axis=0)]) / weights.sum(axis=0)
    tried = [replace(release, noisy=(Fraction(y), Fraction(0))) for y in range(size + 1)]
    for kind in KINDS:
        made = [one.interval(kind=kind) for one in tried]
        lower, upper = (np.array([getattr(one, end)[0] for one in made]) for end in ("lower", "upper"))
        for k in range(size + 1):
            chance = pmf[:, k] if kind == "noise" else pmf @ binomial(size, k / size)
            assert chance @ ((lower <= k / size + 1e-9) & (k / size - 1e-9 <= upper)) >= 0.95
    small = sum(pmf @ binomial(size, 0.3) * [p_value(one, 0.3)[0] <= 0.05 for one in tried])
    assert small <= 0.05


def test_a_truncated_covariance_may_lie_beyond_what_noisy_variances_allow():
    rng, covered, runs = np.random.default_rng(18), 0, 60
    z = rng.standard_normal((2, 200))
    table = {"x": np.clip(0.5 + 0.15 * z[0], 0, 1), "y": np.clip(0.5 + 0.15 * (0.9 * z[0] + 0.436 * z[1]), 0, 1)}
    truth = np.cov(table["x"], table["y"])[0, 1]
    options = {"bounds": {"x": (0, 1), "y": (0, 1)}, "epsilon": 1, "method": "split", "bounding": "truncated"}
    for _ in range(runs):
        made = ib.covariance(table, **options).interval(kind="noise")
        covered += made.lower[0, 1] <= truth <= made.upper[0, 1]
    assert covered / runs >= 0.95 - 6 * math.sqrt(0.05 * 0.95 / runs)


@pytest.mark.claim("largest-variance")
@pytest.mark.parametrize("epsilon", [0.5, 20, 1000])
@pytest.mark.parametrize(
    ("rows", "values", "share"), [(20, (0.001, 0.001), 0.5), (100, (0, 0.7), 0.0116), (100, (0.3, 1), 0.97)]
)
def test_means_of_few_values_are_covered_with_little_noise(rows, values, share, epsilon):
    """Two values, one of them rare: binomial sums of their own, by enumeration over how many records have it."""
    template = ib.mean([0.5] * rows, bounds=(0, 1), epsilon=epsilon, method="direct")
    truth = values[0] + share * (values[1] - values[0])
    rng, covered, draws = np.random.default_rng(19), 0.0, 12
    for k, chance in enumerate(binomial(rows, share)):
        if chance > 1e-3:
            mean = values[0] + k / rows * (values[1] - values[0])
            hits = [truth in seeded(template, mean, rng).interval() for _ in range(draws)]
            covered += chance * np.mean(hits)
    assert covered >= 0.945 - 0.06 * (epsilon == 0.5)


@pytest.mark.parametrize("level", [0, 1, 1.5, -1, float("nan"), "95%", True])
def test_levels_are_checked(level):
    with pytest.raises((TypeError, ValueError), match="level"):
        ib.proportion([1, 0], epsilon=1).interval(level)


def test_what_is_asked_for_is_checked():
    release, x = ib.mean([1.0, 2.0], bounds=(0, 3), epsilon=1), [1.0, 2.0]
    with pytest.raises(ValueError, match="kind must be one of 'population', 'noise'"):
        release.interval(kind="sampling")
    with pytest.raises(ValueError, match="same column of the same table"):
        release.interval(variance=ib.variance([1.0, 2.0, 3.0], bounds=(0, 3), epsilon=1))
    with pytest.raises(ValueError, match="same column of the same table"):
        release.interval(variance=release)
    with pytest.raises(ValueError, match="population interval of a mean"):
        ib.sum(x, bounds=(0, 3), epsilon=1).interval(variance=ib.variance(x, bounds=(0, 3), epsilon=1))


def test_intervals_need_no_data_and_no_other_machine(tmp_path):
    record = tmp_path / "release.json"
    release = ib.mean(TABLE["income"], bounds=(0, 200), epsilon=1)
    record.write_text(release.to_json(), encoding="utf-8")
    code = f"import inbounds as ib; print(list(ib.Release.from_json(open({str(record)!r}).read()).interval()))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == str(list(release.interval()))


DATA = {
    "normal": (lambda rng, n: np.clip(rng.normal(0.5, 0.12, n), 0, 1), 0.5),
    "beta": (lambda rng, n: rng.beta(2, 5, n), 2 / 7),
    "skewed": (lambda rng, n: rng.beta(0.3, 3, n), 0.3 / 3.3),
    "two points": (lambda rng, n: (rng.random(n) < 0.1).astype(float), 0.1),
    "two points inside": (lambda rng, n: np.where(rng.random(n) < 0.05, 0.9, 0.1), 0.14),
}


def below(level, runs, errors=4.5):
    return level - errors * math.sqrt(level * (1 - level) / runs)


def released_at(template, value):
    """The release of this number, or the nearest that the grid has."""
    law = template.certificate.mechanism
    return replace(template, noisy=(law.value(min(max(law.locate(Fraction(value)), law.first), law.last)),))


def find_end(template, truth, outside, end):
    """The released mean whose ``end`` ("lower" or "upper") is the truth, between it and ``outside``."""

    def over(value):
        return getattr(released_at(template, value).interval(), end) - truth

    sign = 1 if end == "lower" else -1
    if sign * over(outside) <= 0:
        return outside
    return optimize.brentq(over, truth, outside, xtol=1e-7)


@pytest.mark.parametrize("bounding", ["bit", "truncated"])
@pytest.mark.parametrize(("rows", "epsilon"), [(50, 0.1), (50, 1.0), (400, 0.3)])
def test_means_are_covered_whatever_the_data(rows, epsilon, bounding):
    """Limits move up with the released mean, so that those that cover lie between two ends; and many means of tables.

    Some of them are looked at one by one, so that the ends would not hide a gap.
    """
    template = ib.mean([0.5] * rows, bounds=(0, 1), epsilon=epsilon, bounding=bounding, method="direct")
    noise = Mechanism(Laplace(float(template.certificate.spread)), bounding, bounds=(0, 1))
    for name, (draw, truth) in DATA.items():
        rng, runs = np.random.default_rng(11), 4000
        first, last = find_end(template, truth, 0.0, "upper"), find_end(template, truth, 1.0, "lower")
        means = draw(rng, (runs, rows)).mean(axis=1)
        released = noise.sample(means, rng=rng)
        covers = (first <= released) & (released <= last)
        assert covers.mean() >= below(0.95, runs), name
        for value, expected in zip(released[:8], covers[:8], strict=True):
            lower, upper = released_at(template, float(value)).interval()
            assert (lower <= truth <= upper) == expected


@pytest.mark.parametrize("name", ["normal", "beta", "skewed"])
def test_a_released_variance_makes_the_interval_of_a_mean_shorter(name):
    draw, truth = DATA[name]
    rng, runs, rows = np.random.default_rng(12), 200, 200
    mean = ib.mean([0.5] * rows, bounds=(0, 1), epsilon=1, method="direct")
    variance = ib.variance([0.5] * rows, bounds=(0, 1), epsilon=1, method="direct")
    covered, width, plain = 0, 0.0, 0.0
    for run in range(runs):
        x = draw(rng, rows)
        released = seeded(mean, x.mean(), rng)
        made = released.interval(variance=seeded(variance, x.var(ddof=1), rng))
        covered += made.lower <= truth <= made.upper
        if run % 10 == 0:
            width, plain = width + made.width, plain + released.interval().width
    assert covered / runs >= below(0.93, runs)
    assert width <= 0.8 * plain
    assert made.method == "normal law with a released variance"


def test_the_variance_of_a_small_sample_is_uncertain_too():
    """Five normal records and hardly any noise: Student's limits, which a normal law would have by a third nearer."""
    rng, rows = np.random.default_rng(20), 5
    mean = ib.mean([0.5] * rows, bounds=(0, 1), epsilon=10_000, method="direct")
    variance = ib.variance([0.5] * rows, bounds=(0, 1), epsilon=10_000, method="direct")
    for _ in range(20):
        x = np.clip(rng.normal(0.5, 0.1, rows), 0, 1)
        made = seeded(mean, x.mean(), rng).interval(variance=seeded(variance, x.var(ddof=1), rng))
        reach = stats.t.ppf(0.975, rows - 1) * x.std(ddof=1) / math.sqrt(rows)
        assert tuple(made) == pytest.approx((x.mean() - reach, x.mean() + reach), abs=0.02 * reach)


@pytest.mark.parametrize("bounding", ["bit", "truncated"])
@pytest.mark.parametrize("call", [ib.variance, ib.standard_deviation])
def test_variances_of_normal_records_are_covered(call, bounding):
    rng, runs, rows = np.random.default_rng(13), 300, 200
    template = call([0.5] * rows, bounds=(0, 1), epsilon=1, bounding=bounding, method="direct")
    truth = 0.015625 if call is ib.variance else 0.125
    root = template.method == "direct" and call is ib.standard_deviation
    covered = 0
    for _ in range(runs):
        x = np.clip(rng.normal(0.5, 0.125, rows), 0, 1)
        lower, upper = seeded(template, x.std(ddof=1) if root else x.var(ddof=1), rng).interval(method="normal")
        covered += lower <= truth <= upper
    assert covered / runs >= below(0.95, runs)


@pytest.mark.parametrize(
    ("call", "rho"), [(ib.correlation, 0.0), (ib.correlation, 0.6), (ib.correlation, 0.95), (ib.covariance, 0.95)]
)
def test_correlations_of_normal_records_are_covered(call, rho):
    rng, runs, rows = np.random.default_rng(14), 150, 400
    halves = {"x": [0.5] * rows, "y": [0.5] * rows}
    template = call(halves, bounds={"x": (0, 1), "y": (0, 1)}, epsilon=2, method="elements")
    truth = rho if call is ib.correlation else rho * 0.125**2
    covered = 0
    for _ in range(runs):
        z = rng.standard_normal((2, rows))
        x = np.clip(0.5 + 0.125 * np.array([z[0], rho * z[0] + math.sqrt(1 - rho**2) * z[1]]), 0, 1)
        s = np.cov(x)
        made = seeded_matrix(template, [s[0, 0], s[0, 1], s[1, 1]], rng).interval(method="normal")
        covered += made.lower[0, 1] <= truth <= made.upper[0, 1]
    assert covered / runs >= below(0.95, runs)


def test_a_correlation_next_to_a_variance_that_noise_hides_is_anything():
    """About one release of 300 draws a large variance by chance; five of twelve do so less than once in 1e9."""
    x = [0.5, 0.500001] * 50
    limits = []
    for _ in range(12):
        release = ib.correlation({"x": x, "y": x[::-1]}, bounds={"x": (0, 1), "y": (0, 1)}, epsilon=0.01)
        interval = release.interval(method="normal")
        limits.append((interval.lower[0, 1], interval.upper[0, 1]))
        assert interval.lower[0, 0] == interval.upper[0, 0] == 1
    assert sum(lower < -0.95 and upper > 0.95 for lower, upper in limits) >= 8


@pytest.mark.parametrize(
    "how",
    [
        {"repair": "project"},
        {"repair": "rescale"},
        {"repair": "all-but-one", "derived": "a"},
        {"repair": "tree"},
        {"neighbours": "add-remove"},
    ],
    ids=lambda how: next(iter(how.values())),
)
def test_repaired_shares_are_covered(how, monkeypatch):
    """Releases of four shares, of many tables, by a seeded draw; each share on its own."""
    truth, levels, rows = np.array([0.1, 0.2, 0.3, 0.4]), list("abcd"), 120
    entropy, rng = SeededEntropy(15), np.random.default_rng(15)
    monkeypatch.setattr(road_draw, "entropy_source", lambda: entropy)
    # Where the number of rows is not public, limits are simulated, which takes its time.
    runs = 60 if "neighbours" in how else 160
    covered = np.zeros(4)
    for _ in range(runs):
        x = rng.choice(levels, rows, p=truth).tolist()
        made = ib.proportions(x, levels=levels, epsilon=0.5, **how).interval()
        covered += (made.lower <= truth) & (truth <= made.upper)
    assert (covered / runs >= below(0.95, runs)).all()


def test_the_naive_interval_does_not_cover():
    n, scale, p = 100, 5.0, 0.3
    pmf = released_pmf(n, scale)
    template = ib.proportion([1] * n, epsilon=0.2)
    assert float(template.certificate.spread * n) == pytest.approx(scale)
    covers = []
    for y in range(n + 1):
        made = naive_wald(replace(template, noisy=(Fraction(y, n),)))
        covers.append(made.lower <= p <= made.upper)
    assert binomial(n, p) @ pmf.T @ np.array(covers) < 0.85
    with pytest.raises(ValueError, match="shares of a public number"):
        naive_wald(ib.mean([1.0], bounds=(0, 1), epsilon=1))


@pytest.mark.parametrize("method", ["mover", "guaranteed"])
@pytest.mark.parametrize(("p", "q", "epsilon"), [(0.3, 0.3, 0.5), (0.05, 0.4, 0.2), (0.0, 0.02, 1.0)])
def test_differences_of_two_tables_are_covered(p, q, epsilon, method):
    rng, runs, rows = np.random.default_rng(16), 250, 150
    template = ib.proportion([1] * rows, epsilon=epsilon)
    covered = 0
    for _ in range(runs):
        one, two = (seeded(template, rng.binomial(rows, share) / rows, rng) for share in (p, q))
        made = difference(one, two, method=method)
        covered += made.lower <= p - q <= made.upper
        assert made.lower <= one.value - two.value <= made.upper
    assert covered / runs >= below(0.95 if method == "guaranteed" else 0.93, runs)


def test_only_like_is_compared_with_like():
    share, shares = ib.proportion([1, 0], epsilon=1), ib.proportions(["a", "b"], levels=["a", "b"], epsilon=1)
    with pytest.raises(ValueError, match="same cells"):
        difference(share, shares)
    mean = ib.mean([1.0, 0.0], bounds=(0, 1), epsilon=1)
    with pytest.raises(ValueError, match="can be compared"):
        difference(share, mean)
    with pytest.raises(ValueError, match="can be compared"):
        difference(*(ib.proportion(["a", "b"], level=level, epsilon=1) for level in "ab"))
    with pytest.raises(ValueError, match="different bounds"):
        difference(mean, ib.mean([1.0, 0.0], bounds=(0, 2), epsilon=1))
    with pytest.raises(ValueError, match="are the same release"):
        difference(share, share)
    assert np.shape(difference(shares, shares, method="guaranteed").lower) == (2,)
    other = ib.proportion([1, 0, 0], epsilon=1)
    assert "no records in common" in difference(share, other).assumption
    assert "in common" not in difference(share, other, kind="noise").assumption
    assert difference(share, other).what == "difference of the proportion of x = 1"
    for level in (-0.5, 0, 95):
        with pytest.raises(ValueError, match="level must lie between 0 and 1"):
            difference(share, other, level, method="guaranteed")


@pytest.mark.parametrize("wrong", [None, 3.0, "{}", ib.preview("proportion", rows=9, epsilon=1)])
def test_only_releases_are_judged(wrong):
    release = ib.mean([1.0, 0.0], bounds=(0, 1), epsilon=1)
    calls = [
        lambda: interval(wrong),
        lambda: difference(release, wrong),
        lambda: p_value(wrong, 0.5),
        lambda: naive_wald(wrong),
        lambda: interval(release, variance=wrong) if wrong is not None else interval(wrong),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"must be a Release|give a second release, or two groups of the first"):
            call()
    blank = ib.preview("proportion", rows=9, epsilon=1).asked.record
    assert "not released" in str(blank)
    assert "not released" in repr(blank)
    for look in (lambda: blank.value, lambda: blank.error, blank.interval, blank.to_json):
        with pytest.raises(ValueError, match="nothing has been released"):
            look()


@pytest.mark.claim("p-value")
def test_p_values_are_tails_of_the_exact_law():
    n, epsilon = 60, 0.4
    pmf = released_pmf(n, 1 / epsilon)
    template = ib.proportion([1] * n, epsilon=epsilon)
    small = 0.0
    for y in range(n + 1):
        release = replace(template, noisy=(Fraction(y, n),))
        law = pmf @ binomial(n, 0.25)
        greater, less = p_value(release, 0.25), p_value(release, 0.25, "less")
        assert greater == pytest.approx(law[y:].sum(), abs=1e-10)
        assert less == pytest.approx(law[: y + 1].sum(), abs=1e-10)
        assert p_value(release, 0.25, "two-sided") == pytest.approx(min(1, 2 * min(greater, less)), abs=1e-12)
        small += law[y] * (greater <= 0.05)
    assert 0 < small <= 0.05
    assert p_value(ib.histogram(list("aab"), levels=list("ab"), epsilon=1), 0.5).shape == (2,)
    with pytest.raises(ValueError, match="between 0 and 1"):
        p_value(template, 1.5)
    with pytest.raises(ValueError, match="counts and shares"):
        p_value(ib.mean([1.0], bounds=(0, 1), epsilon=1), 0.5)
    with pytest.raises(ValueError, match="alternative must be"):
        p_value(template, 0.5, "larger")
    with pytest.raises(ValueError, match="has no p-value"):
        p_value(ib.proportions(list("ab"), levels=list("ab"), epsilon=1, repair="all-but-one", derived="a"), 0.5)


@pytest.mark.parametrize(("n", "epsilon"), [(50, 0.02), (20, 0.1)])
def test_derived_shares_of_truncated_counts_are_covered(n, epsilon):
    """What truncated counts leave: they lie within the number of rows, however wide the noise is."""
    x = ["a"] * (n // 5) + ["b"] * (2 * n // 5) + ["c"] * (2 * n // 5)
    how = {"levels": list("abc"), "epsilon": epsilon, "repair": "all-but-one", "derived": "a", "bounding": "truncated"}
    runs, covered = 60, 0
    for _ in range(runs):
        made = ib.proportions(x, **how).interval(kind="noise")
        covered += made.lower[0] <= 0.2 <= made.upper[0]
    assert covered / runs >= below(0.95, runs, errors=5)


def test_one_level_is_all_there_is():
    for kind in ("noise", "population"):
        made = ib.proportions(["a", "a"], levels=["a"], epsilon=1, neighbours="add-remove").interval(kind=kind)
        assert (made.lower.tolist(), made.upper.tolist()) == ([1.0], [1.0])
