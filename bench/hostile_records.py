"""Files of at most 1 MB that somebody made to be slow or large to verify: time and memory of each.

    python bench/hostile_records.py [name ...]

Target: whatever the file, at most 2 s of processor time and 500 MB. Each is read in a process of its own, by
`Release.from_json` or, where it is a plan's, by `Releases.from_json`; time is that of the call alone, memory the peak
of the process. Honest files at the limits are among them: those must be read, not refused.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

import inbounds as ib
from inbounds.plan.release import release
from inbounds.plan.plan import Plan, digest
from inbounds.privacy.certificate import Composition, _digest
from inbounds.releases.catalogue import draft
from inbounds.releases.proof import _in_turn

LARGEST, SECONDS, MEGABYTES = 1_000_000, 2.0, 500
# As many as 1 MB holds of a correlation matrix, and of one drawn element by element.
COLUMNS, IN_TURN = 165, 57


def compact(body: Any) -> str:
    return json.dumps(body, separators=(",", ":"))


def single(made: ib.Release) -> Any:
    return json.loads(made.to_json())


def matrix(columns: int, statistic: str = "covariance", **keywords: Any) -> ib.Release:
    """A matrix of columns that all differ in width, so that no two laws are the same; its numbers are made up.

    Covariances are at their bounds, with random signs: far from any matrix that is possible.
    """
    bounds = {f"c{i}": (0, 1 + i) for i in range(columns)}
    made = draft(statistic, 3, {"bounds": bounds, "epsilon": 1, **keywords}).record
    signs = np.random.default_rng(1).choice([-1, 1], len(made.units)).tolist()
    places = combinations_with_replacement(range(columns), 2)
    ends = [
        upper if i == j else sign * upper for (i, j), sign, (_, upper) in zip(places, signs, made.bounds, strict=True)
    ]
    if isinstance(made.certificate, Composition):
        noisy = tuple(
            part.origin + (part.last if sign > 0 else part.first) * part.step for part, sign in _with(made, ends)
        )
        if made.bounding == "truncated":
            certificate, bounds_ = _in_turn(made.certificate, made.bounds, noisy)
            noisy = tuple(bound[1] for bound in bounds_)
            return replace(made, noisy=noisy, certificate=certificate, bounds=bounds_)
        return replace(made, noisy=noisy)
    step = made.certificate.step
    noisy = tuple(round(end / unit / step) * step for end, unit in zip(ends, made.units, strict=True))
    return replace(made, noisy=noisy)


def _with(made: ib.Release, ends: list[Any]) -> Any:
    return zip(made.certificate.parts, ends, strict=True)


def plan_text(items: list[dict[str, Any]], columns: dict[str, Any], data: Any = None, **rest: Any) -> str:
    """A plan's record, honestly released, or only asked for where there are no data."""
    content = {
        "data": {"rows": 3, **rest},
        "budget": {"epsilon": 1, "dataset": "d"},
        "columns": columns,
        "release": items,
    }
    if data is not None:
        return compact(json.loads(release(Plan.of(content), data).to_json()))
    record = single(ib.mean([1.0], bounds=(0, 1), epsilon=1))
    releases = {item.get("name", str(i)): record for i, item in enumerate(items)}
    head = {"format": "inbounds-releases/1", "request": content, "digest": digest(content), "entry": None}
    return compact(head | {"releases": releases})


def parts_with_long_epsilons() -> str:
    body = single(matrix(12, method="split", bounding="truncated"))
    for i, part in enumerate(body["certificate"]["parts"]):
        part["epsilon"] = f"{10**999 + 2 * i + 1}/{10**999 + 2 * i + 3}"
        part["digest"] = _digest({k: v for k, v in part.items() if k != "digest"})
    whole = body["certificate"]
    whole["digest"] = _digest({k: v for k, v in whole.items() if k != "digest"})
    return compact(body)


def many_columns() -> str:
    body = single(matrix(2))
    rule = {"name": "c", "lower": "0", "upper": "1", "step": "1", "cells": [], "missing": None, "other": None}
    return compact(body | {"columns": [rule | {"sizes": []}] * 8000})


def long_bounds() -> str:
    body = single(matrix(120))
    for i, rule in enumerate(body["columns"]):
        rule["upper"] = f"{10**990 + i}/{10**989 + 7 * i + 1}"
    return compact(body)


def implied_cells() -> str:
    levels = {f"c{i}": ["a", "b"] for i in range(4)}
    body = single(ib.crosstab({name: ["a"] for name in levels}, levels=levels, epsilon=1))
    cells = [str(i) for i in range(1000)]
    body["columns"] = [rule | {"cells": cells} for rule in body["columns"]] * 10
    return compact(body | {"axes": [cells] * 40})


def long_step() -> str:
    body = single(ib.histogram(["1"], levels=[str(i) for i in range(30_000)], epsilon=1))
    body["certificate"]["step"] = f"{10**999 + 1}/{10**998 + 1}"
    body["certificate"]["digest"] = _digest({k: v for k, v in body["certificate"].items() if k != "digest"})
    return compact(body)


def repaired(how: str) -> str:
    made = matrix(COLUMNS, "correlation", repair=how)
    return compact(single(replace(made, notes=made.own_notes())))


def tables(count: int) -> str:
    names = [f"t{i}" for i in range(count)]
    columns = {name: {"levels": list(range(215))} for name in ("a", "b", "c")}
    items = [{"name": name, "statistic": "crosstab", "columns": ["a", "b", "c"]} for name in names]
    return plan_text(items, columns)


def scalars(count: int, statistic: str, **more: Any) -> str:
    """Single numbers, no two of which have the same law."""
    columns = {f"c{i}": {"bounds": [0, 1 + i]} for i in range(count)}
    items = [
        {"name": f"{i}", "statistic": statistic, "columns": [f"c{i}"], "share": 1000 + i, **more} for i in range(count)
    ]
    return plan_text(items, columns, {name: [0.5, 0.2, 0.9] for name in columns})


def counts_of_many_levels() -> str:
    levels = [f"{i:x}" for i in range(50_000)]
    items = [{"name": f"{i}", "statistic": "count", "columns": ["a"], "level": levels[-1]} for i in range(400)]
    return plan_text(items, {"a": {"levels": levels}}, {"a": ["0", "1", "2"]})


def long_names() -> str:
    columns = {f"{i:05d}" * 800: {"bounds": [0, 1]} for i in range(100)}
    missing = [f"m{i}" for i in range(199)]
    return plan_text([{"name": f"{i}", "statistic": "mean", "columns": missing} for i in range(50)], columns)


FILES: dict[str, Callable[[], str]] = {
    "covariances truncated in turn": lambda: compact(single(matrix(IN_TURN, method="split", bounding="truncated"))),
    "covariances in turn": lambda: compact(single(matrix(IN_TURN, method="split"))),
    "covariances": lambda: compact(single(matrix(COLUMNS))),
    "correlations, clip": lambda: repaired("clip"),
    "correlations, newton": lambda: repaired("newton"),
    "correlations, nearest": lambda: repaired("nearest"),
    "shares in a tree": lambda: compact(
        single(ib.proportions(["1"], levels=[f"{i:x}" for i in range(28_000)], epsilon=1, repair="tree"))
    ),
    "a histogram": lambda: compact(single(ib.histogram([1], levels=list(range(46_000)), epsilon=1))),
    "epsilons of 1000 digits": parts_with_long_epsilons,
    "8000 columns": many_columns,
    "bounds of 1000 digits": long_bounds,
    "10^120 cells": implied_cells,
    "a step of 1000 digits": long_step,
    "deep lists": lambda: "[" * 900_000,
    "forty tables of 10^7 cells": lambda: tables(40),
    "truncated means": lambda: scalars(500, "mean", bounding="truncated"),
    "truncated deviations": lambda: scalars(500, "standard_deviation", bounding="truncated"),
    "counts of many levels": counts_of_many_levels,
    "names that are not there": long_names,
    "edges that are no numbers": lambda: plan_text(
        [{"name": "a", "statistic": "mean", "columns": ["a"]}], {"a": {"edges": ["x"] * 240_000}}
    ),
    "columns that are no rules": lambda: plan_text(
        [{"name": "a", "statistic": "mean", "columns": ["a"]}], {f"{i:x}": 1 for i in range(90_000)}
    ),
    "releases that are none": lambda: compact(
        json.loads(plan_text([{"name": "a", "statistic": "mean"}], {}))
        | {"request": {"data": {}, "budget": {"epsilon": 1}, "release": [{}] * 300_000}}
    ),
    "a table of many columns": lambda: plan_text(
        [{"name": "a", "statistic": "crosstab", "columns": ["a"] * 200_000}], {"a": {"levels": list(range(1000))}}
    ),
}

_READ = """
import json, sys, time
from pathlib import Path
import inbounds as ib
from inbounds.plan.release import Releases
text = Path(sys.argv[1]).read_text()
read = Releases.from_json if '"releases":' in text else ib.Release.from_json
start = time.process_time()
try:
    read(text)
    what = "read"
except ValueError as error:
    what = "refused: " + str(error)[:60]
seconds = time.process_time() - start
# Not ru_maxrss, which begins at the size of the process that started this one.
peak = next(int(x.split()[1]) for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmHWM"))
print(json.dumps([what, seconds, peak / 1024]))
"""


def measure(text: str) -> tuple[str, float, float]:
    """What became of a file, seconds of the processor and the peak of memory in MB."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([sys.executable, "-c", _READ, file.name], capture_output=True, text=True, check=True)
    what, seconds, megabytes = json.loads(done.stdout.splitlines()[-1])
    return what, seconds, megabytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(FILES)}")
    for name in parser.parse_args().names or FILES:
        text = FILES[name]()
        what, seconds, megabytes = measure(text)
        over = "  over" if seconds > SECONDS or megabytes > MEGABYTES or len(text) > LARGEST else ""
        print(f"{name:44s} {len(text):9,d} B {seconds:7.2f} s {megabytes:6.0f} MB  {what}{over}", flush=True)


if __name__ == "__main__":
    main()
