"""Write the files of `tests/former/0.2`, with version 0.2 itself. Run it once, on a checkout of revision 19d325a:

    git worktree add ../old 19d325a
    cd ../old
    PYTHONPATH=src:. python ../inbounds/tests/former/make.py ../inbounds/tests/former/0.2

The plans, `plans/*.toml`, are read, and all other files are written. It stops if a field of a statistic of 0.2 is in
none of the files, or in all.
"""

import gzip
import json
import os
import shutil
import subprocess
import sys
import warnings
from dataclasses import MISSING, fields
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import get_args

import polars as pl
import pytest
from tests.release.cases import every_call

import inbounds as ib
from inbounds import demo
from inbounds._types import (
    CountRepair,
    HistogramRepair,
    MatrixRepair,
    MeanMethod,
    Method,
    PooledMethod,
    QuantileMethod,
    ShareRepair,
    Side,
    SpreadMethod,
)
from inbounds.ledger import Account, raise_limit
from inbounds.record.selection import plain_statistic
from inbounds.record.statistic import registered

ROWS, EPSILON = 210, 0.7
REGIONS, GROUPS = ["n", "s", "e", "w"], ["a", "b"]
TABLE = {
    "age": [18 + i * 37 % 73 for i in range(ROWS)],
    "income": [5 + i * i * 7 % 1900 / 10 for i in range(ROWS)],
    "weight": [50 + i * 37 % 73 * 0.5 + i * 13 % 17 for i in range(ROWS)],
    "smoker": ["yes" if i % 5 == 1 else "no" for i in range(ROWS)],
    "employed": [i % 7 < 4 for i in range(ROWS)],
    "region": ["nnnnsssewe"[i * 3 % 10] for i in range(ROWS)],
    "group": [GROUPS[i * 5 % 3 % 2] for i in range(ROWS)],
    # Persons with three rows each.
    "who": [i // 3 for i in range(ROWS)],
    "day": [str(date(2024, 1, 1) + timedelta(days=i)) for i in range(ROWS)],
}

AGE, INCOME = {"column": "age", "bounds": [0, 100]}, {"column": "income", "bounds": [0, 200]}
BOTH = {"bounds": {"age": [0, 100], "weight": [20, 140]}}
FULL = {"missing": {"age": 50, "weight": 70}, "integer": ["age"]}
BY = {"by": "group", "levels": GROUPS}
PLACED = {**BY, "by_missing": "a", "other": "b"}
REGION = {"column": "region", "levels": REGIONS, "missing": "n", "other": "w"}
SIZES = {group: TABLE["group"].count(group) for group in GROUPS}
DAY = {"column": "day", "bounds": ["2024-01-01", "2024-12-31"]}
EMPTY = {"column": "age", "edges": list(range(0, 201, 3))}
PERSON = {"person": "who", "contributions": 2}
# What 0.2 could be asked for and `tests/release/cases.py` does not ask for.
MORE = {
    "mean of all fields": (ib.mean, {**INCOME, **PLACED, "missing": 20}),
    "mean of integers with missing": (ib.mean, {**AGE, "missing": 40, "integer": True}),
    "mean, direct": (ib.mean, {**INCOME, "method": "direct"}),
    "mean, moments": (ib.mean, {**INCOME, "method": "moments"}),
    "mean of days": (ib.mean, DAY),
    "mean of rows stated": (ib.mean, {**INCOME, "rows": ROWS}),
    "mean in stairs": (ib.mean, {**INCOME, "method": "direct", "epsilon": 3}),
    "mean of the first rows": (ib.mean, {**INCOME, **PERSON, "keep": "first", "order": "age"}),
    "mean of the last rows": (ib.mean, {**INCOME, **PERSON, "keep": "last", "order": "age", "person_missing": "own"}),
    "median of days": (ib.median, {**DAY, "cover": 0.9}),
    "median in steps": (ib.median, {**INCOME, "step": 0.5}),
    "median of all fields": (ib.median, {**INCOME, **PLACED, "missing": 20}),
    "quantiles in steps": (ib.quantile, {**INCOME, "q": [0.25, 0.75], "step": 0.5, "missing": 20}),
    "quantile with flanks": (ib.quantile, {**INCOME, "q": 0.75, "cover": 0.95}),
    "quantiles by halving": (ib.quantile, {**INCOME, "q": [0.25, 0.5, 0.75], "method": "halving"}),
    "quantile of all fields": (ib.quantile, {**AGE, **PLACED, "q": 0.3, "integer": True}),
    "sum of all fields": (ib.sum, {**AGE, **PLACED, "missing": 40, "integer": True}),
    "sum in stairs": (ib.sum, {**INCOME, "epsilon": 4}),
    "count of all fields": (ib.count, PLACED),
    "count of others": (ib.count, {"column": "smoker", "level": "yes", "missing": False}),
    "proportion of all fields": (ib.proportion, {"column": "employed", **PLACED, "missing": "skip"}),
    "histogram of all fields": (ib.histogram, REGION),
    "histogram of numbers": (ib.histogram, {"column": "income", "edges": [0, 50, 100, 200], "missing": 60}),
    "histogram of empty bins": (ib.histogram, {**EMPTY, "epsilon": 1}),
    "histogram of more empty bins": (ib.histogram, {**EMPTY, "epsilon": 3}),
    "histogram of groups": (
        ib.histogram,
        {"column": "region", "levels": REGIONS, "repair": "tree", "tree": [["n", "s"], ["e", "w"]]},
    ),
    "histogram of missing": (ib.histogram, {"column": "region", "levels": REGIONS, "missing": "level"}),
    "proportions of all fields": (ib.proportions, {**REGION, "repair": "tree", "level_shares": [2, 1]}),
    "proportions of numbers": (ib.proportions, {"column": "age", "edges": [0, 40, 70, 100], "missing": 50}),
    "proportions, projected": (ib.proportions, {"column": "region", "levels": REGIONS, "repair": "project"}),
    "crosstab of numbers": (ib.crosstab, {"edges": {"age": [0, 50, 100], "income": [0, 50, 200]}}),
    "kendall of levels": (ib.kendall, {"levels": {"region": REGIONS, "group": GROUPS}}),
    "crosstab of all fields": (
        ib.crosstab,
        {
            "levels": {"region": REGIONS},
            "edges": {"age": [0, 50, 100]},
            "missing": {"region": "n", "age": 30},
            "other": {"region": "w"},
        },
    ),
    "covariance of all fields": (ib.covariance, {**BOTH, **FULL}),
    "covariance, skipping": (ib.covariance, {**BOTH, "missing": "skip"}),
    "correlation of all fields": (ib.correlation, {**BOTH, **FULL}),
    "moments of all fields": (ib.moments, {**BOTH, **FULL}),
    "kendall of all fields": (
        ib.kendall,
        {
            "bounds": {"weight": [20, 140]},
            "levels": {"region": REGIONS},
            "bins": 16,
            "missing": {"weight": 70, "region": "n"},
            "other": {"region": "w"},
            "repair": "clip",
        },
    ),
    "regression of all fields": (
        ib.regression,
        {
            "column": "weight",
            **BOTH,
            "levels": {"group": GROUPS},
            "missing": {"age": 50, "weight": 70, "group": "a"},
            "other": {"group": "b"},
            "integer": ["age"],
        },
    ),
    "pooled variance of all fields": (ib.pooled_variance, {**AGE, **PLACED, "missing": 40, "integer": True}),
    "pooled variance of sizes": (ib.pooled_variance, {**AGE, **BY, "sizes": SIZES}),
    "pooled covariance of all fields": (ib.pooled_covariance, {**BOTH, **FULL, **PLACED, "repair": "clip"}),
    "pooled covariance of sizes": (ib.pooled_covariance, {**BOTH, **BY, "sizes": SIZES}),
    "pooled covariance, split": (ib.pooled_covariance, {**BOTH, **BY, "method": "split"}),
    "bounds of all fields": (ib.bounds, {"column": "income", "within": [0, 1000], "missing": 20, "margin": 0.25}),
    "bounds on edges": (
        ib.bounds,
        {"column": "income", "edges": [0, 10, 100, 500, 1000], "side": "lower"},
    ),
}
for _name, _function in {"variance": ib.variance, "standard deviation": ib.standard_deviation}.items():
    MORE |= {
        f"{_name} of all fields": (_function, {**AGE, **PLACED, "missing": 40, "integer": True}),
        f"{_name} in stairs": (_function, {**INCOME, "method": "centred", "epsilon": 4}),
        f"{_name} by plausible": (_function, {**INCOME, "plausible": {"sd": [10, 60], "mean": [50, 150]}}),
    }
    MORE |= {
        f"{_name}, {method}": (_function, {**INCOME, "method": method})
        for method in ("robust", "moments", "centred", "direct")
    }

# Every way that a function of 0.2 offers, by its keyword.
WAYS = {
    "method": {
        MeanMethod: [(ib.mean, INCOME)],
        SpreadMethod: [(ib.variance, INCOME), (ib.standard_deviation, INCOME), (ib.variance, {**INCOME, **BY})],
        QuantileMethod: [(ib.quantile, {**AGE, "q": [0.25, 0.5], "integer": True})],
        Method: [(ib.covariance, BOTH), (ib.correlation, BOTH)],
        PooledMethod: [(ib.pooled_covariance, {**BOTH, **BY})],
    },
    "repair": {
        MatrixRepair: [
            *((function, BOTH) for function in (ib.covariance, ib.correlation, ib.moments, ib.kendall)),
            (ib.pooled_covariance, {**BOTH, **BY}),
        ],
        CountRepair: [(ib.crosstab, {"levels": {"region": REGIONS, "group": GROUPS}})],
        HistogramRepair: [(ib.histogram, {"column": "region", "levels": REGIONS})],
        ShareRepair: [(ib.proportions, {"column": "region", "levels": REGIONS})],
    },
    "side": {Side: [(ib.bounds, {"column": "income", "within": [-1000, 1000]})]},
}
# Releases of two kinds, of which the first has a larger share.
COLUMNS = {
    "age": {"bounds": [18, 100]},
    "weight": {"bounds": [20, 140]},
    "smoker": {"levels": ["yes", "no"]},
    "group": {"levels": ["a", "b"]},
}
SMOKERS = {"statistic": "proportion", "columns": ["smoker"], "level": "yes"}
PAIRS = [
    (SMOKERS, {"statistic": "count", "columns": ["group"], "level": "a"}),
    ({"statistic": "mean", "columns": ["age"]}, SMOKERS),
    (SMOKERS, {"statistic": "correlation", "columns": ["age", "weight"]}),
    ({"statistic": "variance", "columns": ["age"]}, {"statistic": "mean", "columns": ["weight"]}),
]
# Fields for which functions fill in the default, which is written.
FILLED = {(name, "repair") for name in ("correlation", "covariance", "kendall", "moments", "pooled_covariance")}


def list_calls():
    """All calls by name, as plain values: the function, and its keywords."""
    calls = {name: (call.func.__name__, {"epsilon": EPSILON} | call.keywords) for name, call in every_call().items()}
    calls |= {name: (function.__name__, {"epsilon": EPSILON} | keywords) for name, (function, keywords) in MORE.items()}
    calls |= {name: call for name, call in list_ways() if is_possible(*call)}
    return json.loads(json.dumps(calls))


def list_ways():
    """Every way to draw and to repair, under both neighbour relations, clamped and truncated."""
    for key, kinds in WAYS.items():
        for way, function, keywords in (
            (way, *call) for kind, calls in kinds.items() for way in get_args(kind) for call in calls
        ):
            for terms in (
                {},
                {"neighbours": "add-remove"},
                {"bounding": "truncated"},
                {"neighbours": "add-remove", "bounding": "truncated"},
                # So much noise that repairs have much to do.
                {"epsilon": 0.02},
            ):
                made = {"epsilon": EPSILON, **keywords, key: way, **terms}
                groups, rest = " by" if "by" in made else "", ", ".join(map(str, terms.values()))
                name = f"{function.__name__}{groups}, {key}={way}, {rest}"
                yield name, (function.__name__, made)


def is_possible(function, keywords):
    """Whether 0.2 does not refuse it."""
    try:
        getattr(ib, function)(make_table(), **keywords)
    except (ValueError, TypeError):
        return False
    return True


def make_table():
    """The table as it is handed over."""
    return TABLE | {"day": [date.fromisoformat(day) for day in TABLE["day"]]}


def list_plans():
    """Plans of two releases whose shares decide, by little, whether they are drawn together."""
    for first, second in PAIRS:
        for share in ("1", "2", "2.2", "2.35", "2.5", "3", "4"):
            parts = [{"name": "first", "share": share} | first, {"name": "second"} | second]
            yield {"data": {"rows": ROWS}, "budget": {"epsilon": "1"}, "columns": COLUMNS, "release": parts}


def write_calls(folder):
    """The files of single releases, one a line, and a ledger with some of them."""
    charged, made = set(), []
    for name, (function, keywords) in list_calls().items():
        release = partial(getattr(ib, function), make_table(), **keywords)
        unit = keywords.get("person", keywords.get("contributions", 1))
        dataset = f"{keywords.get('neighbours', 'substitute')}, {unit}"
        # Each function is charged under both relations, and each promise once.
        firsts = {(function, keywords.get("neighbours")), dataset}
        account = None if firsts <= charged else Account(folder / "calls.ledger", dataset, 1000)
        charged |= firsts
        releases = ib.Releases({name: release() if account is None else release(ledger=account)})
        text = releases.to_json()
        assert ib.Releases.from_json(text).to_json() == text, name
        call = {"name": name, "function": function, "keywords": keywords}
        made.append(call | {"dataset": None if account is None else dataset, "record": text})
    for i, plan in enumerate(list_plans()):
        releases = ib.release(ib.Plan.of(plan), make_table())
        made.append({"name": f"plan {i}", "plan": plan, "dataset": None, "record": releases.to_json()})
    lines = "\n".join(json.dumps(line) for line in [{"table": TABLE}, *made]) + "\n"
    (folder / "calls.jsonl.gz").write_bytes(gzip.compress(lines.encode(), 9, mtime=0))
    return [ib.Releases.from_json(line["record"]) for line in made]


def write_table(path):
    """The table of the plans, with a column of times, and one that has missing values."""
    columns = TABLE | {
        "seen": [f"2024-03-{1 + i % 28:02}T{i % 24:02}:30:00Z" for i in range(ROWS)],
        "height": ["" if i % 50 == 7 else 150 + i % 40 for i in range(ROWS)],
    }
    rows = [
        ",".join(str(value).lower() if value is True or value is False else str(value) for value in row)
        for row in zip(*columns.values(), strict=True)
    ]
    path.write_text("\n".join([",".join(columns), *rows]) + "\n", "utf-8")


def write_plans(folder):
    """A ledger of four datasets: results, a new draw, a raised limit, a failed charge and an unfinished one."""
    write_table(folder / "survey.csv")
    # The rows of a query are counted, and the file says so.
    found = ib.bounds(pl.scan_csv(folder / "survey.csv"), "income", within=(0, 1000), epsilon=1)
    assert '"rows_counted": true' in found.to_json()
    (folder / "bounds.json").write_text(found.to_json(), "utf-8")
    made = [release_plan(folder, "survey")]
    account = Account(folder / "survey.ledger", "survey", 5)
    raise_limit(account, "a second wave of questions", "owner")
    made += [release_plan(folder, name) for name in ("persons", "folded", "added")]
    made.append(release_plan(folder, "persons", new=True))
    # The table has missing values in this column, and the plan no rule for them.
    with pytest.raises(ib.errors.DataError, match="stands"):
        ib.release(folder / "failed.toml", who="steward")
    # The process ends after the charge.
    stop = "lambda text: os._exit(9) if text.startswith('reading') else None"
    code = f"import os, inbounds as ib; ib.release({str(folder / 'unfinished.toml')!r}, who='steward', say={stop})"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    return made


def release_plan(folder, name, **keywords):
    """Release a plan and keep its file."""
    releases = ib.release(folder / f"{name}.toml", who="steward", **keywords)
    assert not releases.stored
    (folder / f"{name}.json").write_text(releases.to_json(), "utf-8")
    return releases


def write_demonstration(folder):
    """The plan of the demonstration, its ledger and its file. Its table of 20,000 rows is left out."""
    demo.write(folder)
    made = release_plan(folder, "plan")
    (folder / "survey.csv").unlink()
    return made


def check_complete(made):
    """Stop unless each field of each statistic is written in one file and left out of another."""
    written, methods, noises = {}, set(), set()
    for releases in made:
        for text, release in zip(json.loads(releases.to_json())["releases"].values(), releases.values(), strict=True):
            written.setdefault(release.statistic.name, []).append(set(text["statistic"]))
            methods.add(release.method)
            certificate = release.certificate.to_dict()
            noises |= {law["noise"] for law in certificate.get("parts", [certificate]) if "noise" in law}
            assert type(plain_statistic(release.statistic)) is registered()[release.statistic.name]
    lacking = [
        (name, field.name, how)
        for name, statistic in registered().items()
        for field in fields(statistic)
        for how, found in (("written", True), ("left out", False))
        if field.init
        and (found or (field.default is not MISSING and (name, field.name) not in FILLED))
        and not any((field.name in keys) is found for keys in written[name])
    ]
    assert not lacking, lacking
    print(f"{sum(map(len, made))} releases, {len(methods)} methods, noise: {', '.join(sorted(noises))}")


def main():
    """Write all files to the folder of the plans, but for the plans."""
    folder = Path(sys.argv[1]).resolve()
    assert ib.__version__ == "0.2.0"
    warnings.simplefilter("ignore")
    os.environ["USER"] = os.environ["LOGNAME"] = "steward"
    for path in folder.rglob("*.ledger*"):
        path.unlink()
    shutil.rmtree(folder / "demo", ignore_errors=True)
    (folder / "demo").mkdir()
    made = [*write_calls(folder), *write_plans(folder / "plans"), write_demonstration(folder / "demo")]
    check_complete(made)
    for path in sorted(folder.rglob("*.ledger")):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
        path.unlink()


if __name__ == "__main__":
    main()
