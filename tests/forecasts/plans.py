"""Statistics to preview, each with a table that has the truth it is previewed for."""

import numpy as np

import inbounds as ib
from inbounds.forecasts.preview import Wanted
from inbounds.road.draw import draw
from inbounds.tables.engine import tally
from inbounds.tables.sources import read
from tests.records import values_of

ROWS = 600
LEVELS = ["a", "b", "c", "d"]


def table():
    """Two correlated columns, symmetric about the middle of their bounds, and levels in fixed shares."""
    half = np.linspace(0.02, 0.45, ROWS // 4)
    x = np.concatenate([0.5 + half, 0.5 - half] * 2)
    y = np.concatenate([0.5 + half[::-1] * 0.8, 0.5 - half[::-1] * 0.8, 0.5 + half * 0.5, 0.5 - half * 0.5])
    level = np.repeat(LEVELS, [60, 120, 180, 240])
    return {"x": x, "y": y * 10, "level": level, "group": np.tile(["u", "v"], ROWS // 2)}


def wanted():
    """Name -> (what is wanted, the true values in the order of the record)."""
    t = table()
    both = np.cov([t["x"], t["y"]])
    bounds, columns = {"x": (0, 1), "y": (0, 10)}, {"column": "x", "bounds": (0, 1)}
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    by_group = np.array([t["x"][t["group"] == g].mean() for g in "uv"])
    scalars = {
        "mean": ("mean", columns, t["x"].mean()),
        "sum": ("sum", columns, t["x"].sum()),
        "count": ("count", {"column": "level", "level": "a"}, 60),
        "proportion": ("proportion", {"column": "level", "level": "a"}, 0.1),
        "variance": ("variance", columns, t["x"].var(ddof=1)),
        "standard deviation": ("standard_deviation", columns, t["x"].std(ddof=1)),
    }
    levels = {"column": "level", "levels": LEVELS}
    vectors = {
        "histogram": ("histogram", levels, shares),
        "histogram, projected": ("histogram", {**levels, "repair": "project"}, shares),
        "histogram, as drawn": ("histogram", {**levels, "repair": "none"}, shares),
        "proportions": ("proportions", levels, shares),
        "proportions, rescaled": ("proportions", {**levels, "repair": "rescale"}, shares),
        "proportions, all but one": ("proportions", {**levels, "repair": "all-but-one", "derived": "b"}, shares),
        "proportions, tree": ("proportions", {**levels, "repair": "tree"}, shares),
    }
    matrices = {
        "covariance": ("covariance", {"bounds": bounds}, both),
        "correlation": ("correlation", {"bounds": bounds}, both),
        "covariance, split": ("covariance", {"bounds": bounds, "method": "split"}, both),
    }
    made = {}
    for name, (statistic, keywords, plausible) in (scalars | vectors | matrices).items():
        made[name] = Wanted(statistic, {**keywords, "rows": ROWS}, plausible)
        if statistic not in ("covariance", "correlation"):
            made[f"{name}, truncated"] = made[name].but(bounding="truncated")
    made["correlation, truncated"] = made["correlation"].but(bounding="truncated", method="split")
    made["mean by group"] = Wanted(
        "mean",
        {**columns, "by": "group", "levels": ["u", "v"], "rows": ROWS},
        {"mean": float(by_group.mean()), "size": ROWS // 2},
    )
    added = {"neighbours": "add-remove"}
    for name, (statistic, keywords, plausible) in {
        "mean, add-remove": scalars["mean"],
        "count, add-remove": scalars["count"],
        "variance, add-remove": scalars["variance"],
        "standard deviation, add-remove": scalars["standard deviation"],
        "proportions, add-remove": vectors["proportions"],
        "covariance, add-remove": matrices["covariance"],
        "correlation, add-remove": matrices["correlation"],
    }.items():
        made[name] = Wanted(statistic, {**keywords, **added}, plausible, expected_rows=ROWS)
    return made


def simulated(one, runs):
    """RMSE and the 0.95 quantile of errors of that many releases, about the value without noise; from the table."""
    draft, t = one.draft(), table()
    names = {rule.name for rule in draft.record.columns}
    frame = read({name: t[name] for name in t if name in names}, draft.columns)
    tables = tally(frame, draft.requests, most=ROWS)
    quiet = {**one.keywords, "epsilon": 10**6}
    truth = np.ravel(getattr(ib, one.statistic)(t, **quiet).value)
    releases = [draw(draft, tables) for _ in range(runs)]
    values = values_of(releases)
    shown = [np.ma.filled(release.table, 0.0) for release in releases[:10]]
    assert np.allclose(values[:10], shown, rtol=1e-12, atol=1e-12)
    errors = values.reshape(runs, -1) - truth
    # The diagonal of a matrix of correlations has no error, and tells nothing.
    errors = errors[:, errors.any(axis=0)]
    return float(np.sqrt((errors**2).mean())), float(np.quantile(np.abs(errors), 0.95, axis=0).max())
