"""Thousands of releases of every kind, at two sizes: errors are those of the law, every value is in its bounds.

Expected errors are computed apart from the code that makes releases: by the continuous laws, by enumeration of discrete
noise, or by simulating in NumPy what a release should be. Releases draw from the system, so that nothing can be seeded:
a test fails by chance less than once in 10^9 runs. A mean of squares of Laplace noise is 6.5 of its standard errors and
a tenth off once in 6 · 10^10 samples of 7,000, and 7.5 and a tenth once in 10^11 of 3,000 (by importance sampling;
samples that lack large squares have small standard errors, too).
"""

from dataclasses import replace

import numpy as np
import pytest

import inbounds as ib
from inbounds.record.release import Release
from inbounds.road import run as opening
from inbounds.road.draw import draw
from tests import moments
from tests.records import values_of
from tests.release.cases import ALL, BOTH, GROUPS, REGIONS, SCALARS, SPLIT, THEMSELVES, table

RUNS = 7_000
SIZES = [(50, 0.5), (300, 1.0), (2000, 0.2)]
MORE = 3_000
# Every kind at the first size, and in turn at one of the others: both have another n and another ε.
# Releases of several numbers show as much in fewer runs, and take several times as long.
RUNS_OF = [(name, *SIZES[0], RUNS if name in SCALARS else MORE) for name in ALL]
RUNS_OF += [(name, *SIZES[1 + place % 2], MORE) for place, name in enumerate(ALL)]
# So many are whole calls; the others draw again from the draft of the first, which is made without data.
WHOLE = 20
BOUNDS = {"mean": (0, 200), "mean of integers": (0, 100), "variance": (0, 200), "standard deviation": (0, 200)}


@pytest.fixture(autouse=True)
def read_once(monkeypatch):
    """The table is the same in all runs, and is read and counted once."""
    real_read, real_count, seen = opening.read, opening.count_cells, {}

    def read(data, columns):
        key = ("read", *columns)
        if key not in seen:
            seen[key] = real_read(data, columns)
        return seen[key]

    def count_cells(frame, requests, most, keeping):
        assert keeping is None
        key = (tuple(requests), most)
        if key not in seen:
            seen[key] = real_count(frame, requests, most=most)
        return seen[key]

    monkeypatch.setattr(opening, "read", read)
    monkeypatch.setattr(opening, "count_cells", count_cells)


@pytest.fixture
def repeated(monkeypatch):
    """The tables of many releases of one call."""

    def values(call, runs):
        real, given = opening.count_and_draw, []

        def noting(frame, drafts):
            given.append((frame, drafts))
            return real(frame, drafts)

        monkeypatch.setattr(opening, "count_and_draw", noting)
        whole = [call() for _ in range(min(runs, WHOLE))]
        monkeypatch.setattr(opening, "count_and_draw", real)
        frame, drafts = given[0]
        public = {name: (draft.record, draft.requests) for name, draft in drafts.items()}
        assert all(
            {name: (draft.record, draft.requests) for name, draft in others.items()} == public for _, others in given
        )
        ((name, draft),) = drafts.items()
        exact = draft.exact(*opening.count_exactly(frame, drafts)[name])
        draft = replace(draft, exact=lambda *_: exact)
        # A correlation that is not available counts as 0.
        shown = np.array([np.ma.filled(one.table, 0.0) for one in whole])
        assert np.allclose(values_of(whole), shown, rtol=1e-12, atol=1e-12)
        monkeypatch.setattr(Release, "own_notes", lambda _: ())
        return np.concatenate([shown, values_of([draw(draft, ()) for _ in range(runs - len(whole))])])

    return values


def supnorm(dimension, scale, rng, draws):
    """Noise with density ∝ exp(-max|z|/scale): a gamma radius, then a point of the cube."""
    return rng.gamma(dimension + 1, scale, (draws, 1)) * rng.uniform(-1, 1, (draws, dimension))


def zero_sum(size, scale, rng, tries):
    """Discrete Laplace noise, given that it adds up to zero: by trying."""
    p = -np.expm1(-1 / scale)
    first = rng.geometric(p, (tries, size - 1)) - rng.geometric(p, (tries, size - 1))
    rest = -first.sum(axis=1, keepdims=True)
    return np.hstack([first, rest])[rng.random(tries) < np.exp(-np.abs(rest[:, 0]) / scale)]


def nearest_shares(x):
    """The nearest vectors of the simplex, by bisection for the threshold."""
    low, high = x.min(axis=1) - 1, x.max(axis=1)
    for _ in range(80):
        middle = (low + high) / 2
        over = np.maximum(x - middle[:, None], 0).sum(axis=1) > 1
        low, high = np.where(over, middle, low), np.where(over, high, middle)
    return np.maximum(x - high[:, None], 0)


def nearest_counts(x, total):
    """The nearest whole numbers ≥ 0 with the sum, one step at a time: always the step that costs least.

    Of steps that cost the same: in the largest counts where most of the counts at stake mirror negative ones, otherwise
    in the smallest; among equal counts spread evenly.
    """
    made = []
    for row in x.astype(int).tolist():
        # Less than that would not be enough, if no count were below it.
        start = (sum(row) - total) // len(row)
        while sum(max(a - start, 0) for a in row) > total:
            start += 1
        counts = [max(a - start, 0) for a in row]
        lacking, sign = total - sum(counts), -1 if 2 * row.count(-start) > row.count(start) else 1
        for value in sorted({a for a in row if a >= start}, key=lambda a: sign * a):
            equal = [i for i, a in enumerate(row) if a == value]
            here = min(lacking, len(equal))
            for rank, i in enumerate(equal, start=1):
                counts[i] += rank * here // len(equal) - (rank - 1) * here // len(equal)
            lacking -= here
        made.append(counts)
    return np.array(made)


def truncated_loss(scale, rows):
    """The exact loss of truncated discrete noise on 0..rows when a count changes by one."""
    q, gap = np.exp(-1 / scale), lambda k: -np.expm1(-k / scale)
    return 1 / scale + np.log1p(q * gap(1) * gap(rows - 1) / gap(rows + 1))


def discrete(count, rows, changes, epsilon, bounding):
    """Bias and MSE of a count with discrete noise, by enumeration."""
    if bounding == "truncated":
        low, high = 0.5 * changes / epsilon, 2.5 * changes / epsilon
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if changes * truncated_loss(middle, rows) > epsilon else (low, middle)
        off = np.arange(rows + 1) - count
        p = np.exp(-np.abs(off) / high)
    else:
        scale = changes / epsilon
        noise = np.arange(-int(60 * scale) - 5, int(60 * scale) + 6)
        p, off = np.exp(-np.abs(noise) / scale), np.clip(count + noise, 0, rows) - count
    return float(p @ off / p.sum()), float(p @ off**2 / p.sum())


def of_law(bounds, sensitivity, epsilon, truth, bounding):
    law = ib.calibrate("laplace", bounding, bounds=bounds, sensitivity=sensitivity, epsilon=epsilon)
    return float(law.bias(truth)), float(law.mse(truth))


def errors_of(simulated, truth):
    off = simulated - truth
    return off.mean(axis=0), (off**2).mean(axis=0)


def expected(name, t, truth, epsilon, bounding):
    """Bias and MSE under substitution."""
    rows = len(t["age"])
    rng = np.random.default_rng(3)
    largest = (rows * rows // 4) / (rows * (rows - 1))
    if name in ("mean", "mean of integers"):
        low, high = BOUNDS[name]
        return of_law((low, high), (high - low) / rows, epsilon, truth, bounding)
    if name == "sum":
        return of_law((0, 200 * rows), 200, epsilon, truth, bounding)
    if name in ("count", "proportion", "proportion of booleans"):
        scale = 1 if name == "count" else rows
        bias, mse = discrete(int(np.rint(truth * scale)), rows, 1, epsilon, bounding)
        return bias / scale, mse / scale**2
    if name in ("variance", "standard deviation") and bounding == "bit":
        made = _from_moments(t, {"income": (0, 200)}, epsilon, rng, 400_000)[:, 1, 0]
        return errors_of(made if name == "variance" else np.sqrt(made), truth)
    if name in ("variance", "variance, direct"):
        return of_law((0, 200**2 * largest), 200**2 / rows, epsilon, truth, bounding)
    if name == "pooled variance":
        return of_law((0, 100**2 * rows / 4 / (rows - 2)), 100**2 / (rows - 2), epsilon, truth, bounding)
    if name == "standard deviation, direct":
        bounds = (0, 200**2 * largest)
        law = ib.calibrate("laplace", bounding, bounds=bounds, sensitivity=200**2 / rows, epsilon=epsilon)
        return errors_of(np.sqrt(law.sample(truth**2, 400_000, rng=rng)), truth)
    if name == "proportions":
        return errors_of(nearest_shares(truth + zero_sum(4, 2 / epsilon, rng, 300_000) / rows), truth)
    if name in ("histogram", "crosstab") and bounding == "bit":
        noise = zero_sum(truth.size, 2 / epsilon, rng, 60_000)
        return errors_of(nearest_counts(truth.ravel() + noise, rows).reshape(-1, *truth.shape), truth)
    if name in ("count by", "histogram", "histogram, as drawn", "crosstab"):
        each = np.array([discrete(k, rows, 2, epsilon, bounding) for k in truth.ravel()])
        return each[:, 0].reshape(truth.shape), each[:, 1].reshape(truth.shape)
    if name == "mean by":
        sizes = np.array([(t["group"] == g).sum() for g in GROUPS])
        noise = [supnorm(2, 2 / epsilon, rng, 400_000) for _ in GROUPS]
        means = [
            100 + 100 * (n * (m - 100) / 100 + z[:, 1]) / np.maximum(n + z[:, 0], 1)
            for n, m, z in zip(sizes, truth, noise, strict=True)
        ]
        return errors_of(np.clip(np.array(means).T, 0, 200), truth)
    if name == "moments":
        return errors_of(_from_moments(t, BOTH, epsilon, rng, 200_000), truth)
    if name == "correlation":
        # Its noise is made here; how correlations weigh it is held against quadrature in tests/repairs/test_likely.py.
        ends, release = list(BOTH.values()), ALL[name].call(t, epsilon=epsilon)
        drawn = moments.sums_of([t[one] for one in BOTH], ends) + moments.noise(2, 1 / epsilon, rng, 200_000)
        return errors_of(release.derivation.values(2 * drawn, release.coordinates().limits).reshape(-1, 2, 2), truth)
    if name.startswith("correlation"):
        return errors_of(_correlations(_simulated_matrices(f"covariance{name[11:]}", t, epsilon, rng)), truth)
    return errors_of(_simulated_matrices(name, t, epsilon, rng), truth)


def _from_moments(t, bounds, epsilon, rng, draws):
    """Means, and below them matrices, of one or two columns whose moments are drawn together."""
    ends, rows = list(bounds.values()), len(t["age"])
    exact = moments.sums_of([t[name] for name in bounds], ends)
    made = moments.tables_of(exact + moments.noise(len(ends), 1 / epsilon, rng, draws), ends, rows)
    if len(ends) == 2:
        _within_variances(made[:, 1:])
    return made


def _simulated_matrices(name, t, epsilon, rng):
    rows, widths = len(t["age"]), np.array([100.0, 120.0])
    if name == "covariance":
        return _from_moments(t, BOTH, epsilon, rng, 200_000)[:, 1:]
    area = np.outer(widths, widths)
    if name == "covariance, elements":
        true = np.cov([t["age"], t["weight"]])
        moves, limit = area / rows, area * (rows * rows // 4) / (rows * (rows - 1))
    else:
        true = ALL["pooled covariance"].truth(t)
        moves, limit = area * np.array([[1, 2], [2, 1]]) / (rows - 2), area * rows / 4 / (rows - 2)
    z = supnorm(3, 1 / epsilon, rng, 200_000)
    noise = z[:, [[0, 1], [1, 2]]] * moves
    return _within_variances(np.clip(true + noise, np.where(np.eye(2), 0, -limit), limit))


def _within_variances(matrices):
    """Covariances within ±√(S11 S22): for two columns, that is positive semidefinite."""
    reach = np.sqrt(matrices[:, 0, 0] * matrices[:, 1, 1])
    matrices[:, 0, 1] = matrices[:, 1, 0] = np.clip(matrices[:, 0, 1], -reach, reach)
    return matrices


def _correlations(matrices):
    scale = np.sqrt(matrices[:, 0, 0] * matrices[:, 1, 1])
    r = np.where(scale > 0, matrices[:, 0, 1] / np.where(scale > 0, scale, 1), 0).clip(-1, 1)
    one = np.ones_like(r)
    return np.array([[one, r], [r, one]]).transpose(2, 0, 1)


def within(name, value, rows):
    tops = {
        "sum": 200 * rows,
        "count": rows,
        "mean": 200,
        "mean by": 200,
        "mean of integers": 100,
        "proportion": 1,
        "proportion of booleans": 1,
        "proportions": 1,
        "correlation": 1,
    }
    if name == "moments":
        assert (value[0] >= [0, 20]).all()
        assert (value[0] <= [100, 140]).all()
        name, value = "covariance", value[1:]
    if "covariance" in name or "correlation" in name:
        assert np.linalg.norm(value - value.T) == 0
        assert (np.diag(value) >= 0).all()
        assert (np.abs(value) <= tops.get(name, 120**2 * rows / 4 / (rows - 2))).all()
        assert np.linalg.eigvalsh(value)[0] >= -1e-12 * np.trace(value)
        return
    assert np.min(value) >= 0
    assert np.max(value) <= tops.get(name, max(rows, 200**2))


def check(releases, bias, mse, tolerance=0.0):
    """Whether the releases' errors are those expected, within Monte-Carlo error."""
    off, errors = releases, 6.5 if len(releases) >= RUNS else 7.5
    mean, square = off.mean(axis=0), (off**2).mean(axis=0)
    near_mean = errors * 1.1 * off.std(axis=0) / np.sqrt(len(off)) + tolerance
    near_square = errors * 1.1 * (off**2).std(axis=0) / np.sqrt(len(off)) + 2 * tolerance * np.sqrt(square)
    return bool((np.abs(mean - bias) <= near_mean).all() and (np.abs(square - mse) <= near_square).all())


@pytest.mark.claim("release-single")
@pytest.mark.claim("release-counts")
@pytest.mark.claim("release-joint")
@pytest.mark.claim("release-zero-sum")
@pytest.mark.parametrize(("name", "rows", "epsilon", "runs"), RUNS_OF)
def test_errors_are_those_of_the_law(repeated, name, rows, epsilon, runs):
    t = table(rows, seed=rows)
    case, truth = ALL[name], np.asarray(ALL[name].truth(table(rows, seed=rows)))
    values = repeated(lambda: case.call(t, epsilon=epsilon), runs)
    for value in values[:500]:
        within(name, value, rows)
    bias, mse = expected(name, t, truth, epsilon, "bit")
    tolerance = 0.01 * np.sqrt(mse)  # quantisation: one percent is promised
    assert check(values - truth, bias, mse, tolerance)


@pytest.mark.claim("release-single")
@pytest.mark.claim("release-joint")
@pytest.mark.parametrize("name", [name for name in THEMSELVES if "centred" not in name])
def test_errors_of_noise_on_the_numbers_themselves(repeated, name):
    rows, epsilon = SIZES[1]
    t = table(rows, seed=rows)
    truth = np.asarray(THEMSELVES[name].truth(t))
    values = repeated(lambda: THEMSELVES[name].call(t, epsilon=epsilon), MORE)
    for value in values[:200]:
        within(name.split(",")[0], value, rows)
    bias, mse = expected(name, t, truth, epsilon, "bit")
    assert check(values - truth, bias, mse, 0.01 * np.sqrt(mse))


@pytest.mark.claim("release-single")
@pytest.mark.claim("release-counts")
@pytest.mark.parametrize("name", ["mean", "sum", "count", "proportion", "variance", "pooled variance", "histogram"])
def test_truncated_errors_are_those_of_the_law(repeated, name):
    rows, epsilon = SIZES[0]
    t = table(rows, seed=rows)
    truth = np.asarray(ALL[name].truth(t))
    values = repeated(lambda: ALL[name].call(t, epsilon=epsilon, bounding="truncated"), RUNS)
    for value in values[:500]:
        within(name, value, rows)
    bias, mse = expected(name, t, truth, epsilon, "truncated")
    assert check(values - truth, bias, mse, 0.01 * np.sqrt(mse))


ADD_REMOVE = [
    *("mean", "proportion", "mean by", "variance", "covariance", "moments", "histogram", "count", "proportions"),
]


@pytest.mark.claim("release-joint")
@pytest.mark.parametrize("name", ADD_REMOVE)
def test_errors_with_protected_sizes(repeated, name):
    rows, epsilon = SIZES[1]
    t = table(rows, seed=rows)
    truth = np.asarray(ALL[name].truth(t))
    # The formulas are those of a sum and a count alone.
    way = {"method": "direct"} if name.startswith("mean") else {}
    values = repeated(lambda: ALL[name].call(t, epsilon=epsilon, neighbours="add-remove", **way), MORE)
    bias, mse = _with_protected_sizes(name, t, truth, epsilon)
    assert check(values - truth, bias, mse, 0.01 * np.sqrt(mse))


def _with_protected_sizes(name, t, truth, epsilon):
    """Noisy sums and counts by NumPy, straight from the definitions."""
    rng, rows, draws = np.random.default_rng(4), len(t["age"]), 200_000
    if name in ("histogram", "count", "proportions"):
        counts = np.rint(np.asarray(truth) * (rows if name == "proportions" else 1)).astype(int)
        if name != "proportions":
            each = np.array([discrete(k, 10**4, 1, epsilon, "bit") for k in counts.ravel()])
            return each[:, 0].reshape(counts.shape), each[:, 1].reshape(counts.shape)
        p = 1 - np.exp(-epsilon)
        noise = rng.geometric(p, (draws, 4)) - rng.geometric(p, (draws, 4))
        noisy = np.maximum(counts + noise, 0)
        return errors_of(noisy / noisy.sum(axis=1, keepdims=True), truth)
    if name == "mean by":
        each = [_ratio(t["income"][t["group"] == g], (0, 200), epsilon, rng, draws) for g in GROUPS]
        return errors_of(np.array(each).T, truth)
    if name == "mean":
        return errors_of(_ratio(t["income"], (0, 200), epsilon, rng, draws), truth)
    if name == "proportion":
        return errors_of(_ratio((t["smoker"] == "yes").astype(float), (0, 1), epsilon, rng, draws), truth)
    columns = {"income": (0, 200)} if name == "variance" else BOTH
    u = np.array([(t[c] - sum(b) / 2) / ((b[1] - b[0]) / 2) for c, b in columns.items()]).clip(-1, 1)
    size = len(u)
    pairs = [(i, j) for i in range(size) for j in range(i, size)]
    sums = [rows, *u.sum(axis=1)]
    sums += [(2 * u[i] ** 2 - 1).sum() if i == j else (u[i] * u[j]).sum() for i, j in pairs]
    noisy = np.array(sums) + moments.noise(size, 1 / epsilon, rng, draws, counted=True)
    n, means = noisy[:, :1], noisy[:, 1 : 1 + size] / noisy[:, :1]
    result = np.empty((draws, size, size))
    half = [(b[1] - b[0]) / 2 for b in columns.values()]
    for place, (i, j) in enumerate(pairs):
        second = noisy[:, 1 + size + place] / n[:, 0]
        second = (second + 1) / 2 if i == j else second
        covariance = (second - means[:, i] * means[:, j]) * half[i] * half[j] * n[:, 0] / (n[:, 0] - 1)
        result[:, i, j] = result[:, j, i] = np.maximum(covariance, 0) if i == j else covariance
    if name == "variance":
        return errors_of(result[:, 0, 0], truth)
    if name == "moments":
        middle = np.array([sum(b) / 2 for b in columns.values()])
        shown = middle + np.array(half) * means.clip(-1, 1)
        return errors_of(np.concatenate([shown[:, None], _within_variances(result)], axis=1), truth)
    return errors_of(_within_variances(result), truth)


def _ratio(x, bounds, epsilon, rng, draws):
    middle, half = sum(bounds) / 2, (bounds[1] - bounds[0]) / 2
    z = supnorm(2, 1 / epsilon, rng, draws)
    ratio = middle + half * (((x - middle) / half).sum() + z[:, 0]) / np.maximum(len(x) + z[:, 1], 1)
    return np.clip(ratio, *bounds)


def test_a_wrong_scale_would_be_seen():
    """The control: noise an eighth too large or too small."""
    rng = np.random.default_rng(0)
    for factor in (0.87, 1.13):
        off = rng.laplace(0, factor, RUNS)
        assert not check(off, 0.0, 2.0, 0.01 * np.sqrt(2.0))
    assert check(rng.laplace(0, 1.0, RUNS), 0.0, 2.0)
    # And a bias of a tenth of the noise.
    assert not check(rng.laplace(0.15, 1.0, RUNS), 0.0, 2.02)


@pytest.mark.parametrize("name", SPLIT)
def test_split_matrices_have_errors_of_their_own(repeated, name):
    """Each element with a third of ε: six times the variance of one alone with all of it, within bounds."""
    rows, epsilon = 2000, 1.0
    t = table(rows, seed=rows)
    truth = SPLIT[name].truth(t)
    values = repeated(lambda: SPLIT[name].call(t, epsilon=epsilon), 2000)
    for value in values[:200]:
        within(name.removesuffix(", split"), value, rows)
    if name == "covariance, split":
        moves = np.outer([100, 120], [100, 120]) / rows
        assert (values - truth)[:, 0, 1].std() == pytest.approx(np.sqrt(2) * 3 * moves[0, 1], rel=0.15)


def test_regions_cover_the_table():
    assert set(table(500)["region"]) == set(REGIONS)
