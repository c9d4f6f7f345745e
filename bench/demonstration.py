"""How far off the demonstration's numbers are: its plan as it stands, and item by item in the ways of version 0.1.

    python bench/demonstration.py [--runs 400]

There are two plans, of the same table: that of version 0.1 and that of today. "0.1" is `joint = false`, `method`
"direct" or "elements", and counts each clamped on its own. Errors are about what a release with hardly any noise has.
The plan of version 0.1 is also drawn with some of its shares moved from what gains most to what would lose.
"""

import sys
from pathlib import Path

# As a script its own folder would hide the standard library's `statistics`.
sys.path[0] = str(Path(__file__).parents[1])

import argparse
import tomllib
from typing import Any

import numpy as np

from inbounds import Plan
from inbounds.demo import PLAN, survey
from inbounds.record.draft import Draft
from inbounds.road.draw import draw, take
from inbounds.tables.engine import tally
from inbounds.tables.sources import read

FORMER = [
    {"name": "smokers", "statistic": "proportion", "columns": ["smoker"], "level": "yes"},
    {"name": "age", "statistic": "mean", "columns": ["age"]},
    {"name": "blood pressure", "statistic": "mean", "columns": ["pressure"]},
    {"name": "variance of blood pressure", "statistic": "variance", "columns": ["pressure"]},
    {"name": "correlations", "statistic": "correlation", "columns": ["age", "bmi", "pressure", "sleep"], "share": 2},
    {"name": "health", "statistic": "proportions", "columns": ["health"]},
    {"name": "smoking by region", "statistic": "crosstab", "columns": ["region", "smoker"]},
    {"name": "blood pressure by region", "statistic": "mean", "columns": ["pressure"], "by": "region", "share": 2},
]
# Shares of the plan of version 0.1 with the same sum, so that no item is worse than it was.
MOVED = {"correlations": 1.88, "smoking by region": 0.86, "blood pressure by region": 2.26}
# How version 0.1 drew each kind of statistic.
WAYS = {
    "mean": {"method": "direct"},
    "variance": {"method": "direct"},
    "standard_deviation": {"method": "direct"},
    "correlation": {"method": "elements"},
    "crosstab": {"repair": "none"},
}


def change(body: dict[str, Any], *, former: bool, epsilon: float) -> Plan:
    """The plan with a total ε, drawn in the ways of version 0.1 or as it stands."""
    budget = {"epsilon": epsilon, "joint": not former}
    items = [
        {key: value for key, value in item.items() if key != "plausible"}
        | (WAYS.get(item["statistic"], {}) if former else {})
        for item in body["release"]
    ]
    return Plan.of(
        {"data": {"rows": body["data"]["rows"]}, "budget": budget, "columns": body["columns"], "release": items}
    )


def values(plan: Plan, table: Any, runs: int) -> dict[str, np.ndarray]:
    """Numbers of many releases of a plan, a row for each; the data are read once."""
    drafts, made = plan.drafts(), dict[str, np.ndarray]()
    draws: dict[int, list[str]] = {}
    for name, draft in drafts.items():
        draws.setdefault(id(draft.record.certificate) if draft.record.group else id(draft), []).append(name)
    for names in draws.values():
        first = drafts[names[0]]
        cells = list(tally(read(table.select([c.name for c in first.columns]), first.columns), list(first.requests)))
        drawn = [draw(first, cells) for _ in range(runs)]
        for name in names:
            made[name] = np.array([_numbers(take(one, drafts[name]), drafts[name]) for one in drawn])
    return {name: made[name] for name in drafts}


def _numbers(release: Any, draft: Draft) -> np.ndarray:
    """All numbers of a release; of a correlation those beside the diagonal, 0 where one is not available."""
    table = np.asarray(np.ma.filled(np.ma.asarray(release.table, float), 0.0))
    return table[np.triu_indices(len(table), 1)] if draft.record.statistic.name == "correlation" else table.ravel()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    runs, table = parser.parse_args().runs, survey()
    today = tomllib.loads(PLAN)
    moved = [item | ({"share": MOVED[item["name"]]} if item["name"] in MOVED else {}) for item in FORMER]
    for title, before, items in (
        ("of 0.1", FORMER, FORMER),
        ("of 0.1, now with its shares moved", FORMER, moved),
        ("of today", today["release"], today["release"]),
    ):
        print(f"\nThe plan {title}, ε = 1 in all\n")
        print("| item | RMSE, 0.1 | now | ratio of squared errors |\n|---|---|---|---|")
        (truth, former, now) = (
            values(change(today | {"release": plan}, former=old, epsilon=epsilon), table, count)
            for plan, old, epsilon, count in (
                (items, False, 1e6, 1),
                (before, True, 1.0, runs),
                (items, False, 1.0, runs),
            )
        )
        for name in truth:
            old, new = (float(((made[name] - truth[name]) ** 2).mean()) for made in (former, now))
            print(f"| {name} | {old**0.5:.3g} | {new**0.5:.3g} | {old / new:.2f} |", flush=True)


if __name__ == "__main__":
    main()
