"""Every one-liner, called on a table given as a dictionary of arrays, and what it estimates."""

import itertools
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import inbounds as ib

REGIONS, GROUPS = ["n", "s", "e", "w"], ["a", "b"]


def table(rows, seed=0):
    """Ages (integers), incomes, a correlated weight, smoking, regions and groups."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 91, rows)
    income = np.clip(rng.lognormal(3.2, 0.5, rows), 0, 200)
    weight = 40 + 0.5 * age + rng.normal(0, 8, rows)
    return {
        "age": age,
        "income": income,
        "weight": weight,
        "smoker": rng.choice(["yes", "no"], rows, p=[0.2, 0.8]),
        "employed": rng.random(rows) < 0.6,
        "region": rng.choice(REGIONS, rows, p=[0.4, 0.3, 0.2, 0.1]),
        "group": rng.choice(GROUPS, rows),
        # Persons with three rows each, but for the last.
        "who": np.arange(rows) // 3,
    }


@dataclass(frozen=True)
class Case:
    """A release and the numbers (its table) that it would have without noise (None: it has no law of its own)."""

    call: Any
    truth: Any


AGE, INCOME = {"column": "age", "bounds": (0, 100)}, {"column": "income", "bounds": (0, 200)}
BOTH = {"age": (0, 100), "weight": (20, 140)}


def _pooled(t, names):
    import pandas as pd

    frame = pd.DataFrame(t)
    residuals = frame[names] - frame.groupby("group")[names].transform("mean")
    return (residuals.T @ residuals).to_numpy() / (len(frame) - 2)


def _counts(values, levels):
    return np.array([(np.asarray(values) == level).sum() for level in levels])


def _bins(t):
    return np.histogram(t["age"], [0, 30, 50, 70, 100])[0]


def _cross(t):
    return np.array([[((t["region"] == r) & (t["smoker"] == s)).sum() for s in ("yes", "no")] for r in REGIONS])


SCALARS = {
    "mean": Case(partial(ib.mean, **INCOME), lambda t: t["income"].mean()),
    "mean of integers": Case(partial(ib.mean, **AGE), lambda t: t["age"].mean()),
    "mean by": Case(
        partial(ib.mean, **INCOME, by="group", levels=GROUPS),
        lambda t: np.array([t["income"][t["group"] == g].mean() for g in GROUPS]),
    ),
    "sum": Case(partial(ib.sum, **INCOME), lambda t: t["income"].sum()),
    "count": Case(partial(ib.count, column="smoker", level="yes"), lambda t: (t["smoker"] == "yes").sum()),
    "proportion": Case(partial(ib.proportion, column="smoker", level="yes"), lambda t: (t["smoker"] == "yes").mean()),
    "proportion of booleans": Case(partial(ib.proportion, column="employed"), lambda t: t["employed"].mean()),
    "variance": Case(partial(ib.variance, **INCOME), lambda t: t["income"].var(ddof=1)),
    "standard deviation": Case(partial(ib.standard_deviation, **INCOME), lambda t: t["income"].std(ddof=1)),
    "pooled variance": Case(
        partial(ib.pooled_variance, column="age", bounds=(0, 100), by="group", levels=GROUPS),
        lambda t: _pooled(t, ["age"])[0, 0],
    ),
}
VECTORS = {
    "count by": Case(partial(ib.count, by="region", levels=REGIONS), lambda t: _counts(t["region"], REGIONS)),
    "histogram": Case(partial(ib.histogram, column="age", edges=[0, 30, 50, 70, 100]), _bins),
    "histogram, as drawn": Case(partial(ib.histogram, column="age", edges=[0, 30, 50, 70, 100], repair="none"), _bins),
    "proportions": Case(
        partial(ib.proportions, column="region", levels=REGIONS),
        lambda t: _counts(t["region"], REGIONS) / len(t["region"]),
    ),
    "crosstab": Case(partial(ib.crosstab, levels={"region": REGIONS, "smoker": ["yes", "no"]}), _cross),
}
REPAIRED = {
    "histogram, projected": Case(
        partial(ib.histogram, column="age", edges=[0, 30, 50, 70, 100], repair="project"), _bins
    ),
    "crosstab, projected": Case(
        partial(ib.crosstab, levels={"region": REGIONS, "smoker": ["yes", "no"]}, repair="project"), _cross
    ),
    "proportions, rescaled": Case(
        partial(ib.proportions, column="region", levels=REGIONS, repair="rescale"),
        lambda t: _counts(t["region"], REGIONS) / len(t["region"]),
    ),
    "proportions, tree": Case(
        partial(ib.proportions, column="region", levels=REGIONS, repair="tree", tree=(("n", "w"), ("s", "e"))),
        lambda t: _counts(t["region"], REGIONS) / len(t["region"]),
    ),
    "proportions, tree of its own": Case(
        partial(ib.proportions, column="region", levels=REGIONS, repair="tree"),
        lambda t: _counts(t["region"], REGIONS) / len(t["region"]),
    ),
    "histogram, tree": Case(
        partial(ib.histogram, column="age", edges=[0, 30, 50, 70, 100], repair="tree", level_shares=(1, 3)), _bins
    ),
    "proportions, all but one": Case(
        partial(ib.proportions, column="region", levels=REGIONS, repair="all-but-one", derived="s"),
        lambda t: _counts(t["region"], REGIONS) / len(t["region"]),
    ),
}
MATRICES = {
    "covariance": Case(partial(ib.covariance, bounds=BOTH), lambda t: np.cov([t["age"], t["weight"]])),
    "correlation": Case(partial(ib.correlation, bounds=BOTH), lambda t: np.corrcoef([t["age"], t["weight"]])),
    "pooled covariance": Case(
        partial(ib.pooled_covariance, bounds=BOTH, by="group", levels=GROUPS), lambda t: _pooled(t, list(BOTH))
    ),
}
AGE_IN_TENS = list(range(0, 101, 10))


def taus(*columns):
    """Kendall's tau-a of all pairs of columns of whole numbers, by a look at every pair of records."""
    signs = [np.sign(np.subtract.outer(column, column)).ravel() for column in map(np.asarray, columns)]
    made = np.array([[(a * b).sum() / (len(columns[0]) * (len(columns[0]) - 1)) for b in signs] for a in signs])
    np.fill_diagonal(made, 1)
    return made


def _cut(values, lower, upper, bins):
    return np.clip(np.floor((np.asarray(values) - lower) * bins / (upper - lower)), 0, bins - 1)


# Where the number of rows is protected these are refused.
ORDERED = {
    "kendall": Case(
        partial(ib.kendall, bounds=BOTH, bins=24),
        lambda t: taus(_cut(t["age"], 0, 100, 24), _cut(t["weight"], 20, 140, 24)),
    ),
    "kendall of four": Case(
        partial(
            ib.kendall,
            bounds={"weight": (20, 140)},
            edges={"age": AGE_IN_TENS},
            levels={"region": REGIONS, "employed": [False, True]},
        ),
        lambda t: taus(
            _cut(t["weight"], 20, 140, 256),
            _cut(t["age"], 0, 100, 10),
            [REGIONS.index(region) for region in t["region"]],
            t["employed"].astype(int),
        ),
    ),
}


def _least_squares(t, *columns):
    """Coefficients of weights, by another road than moments."""
    return np.linalg.lstsq(np.column_stack([np.ones(len(t["age"])), *columns]), t["weight"], rcond=None)[0]


# These need a public number of rows, too, and cannot be truncated.
FITTED = {
    "regression": Case(partial(ib.regression, column="weight", bounds=BOTH), lambda t: _least_squares(t, t["age"])),
    "regression on levels": Case(
        partial(
            ib.regression,
            column="weight",
            bounds=BOTH,
            levels={"group": GROUPS, "employed": [False, True]},
        ),
        lambda t: _least_squares(t, t["age"], t["group"] == "b", t["employed"]),
    ),
}
TOGETHER = {
    "moments": Case(
        partial(ib.moments, bounds=BOTH),
        lambda t: np.vstack([[t["age"].mean(), t["weight"].mean()], np.cov([t["age"], t["weight"]])]),
    )
}
SPLIT = {f"{name}, split": Case(partial(case.call, method="split"), case.truth) for name, case in MATRICES.items()}
# Noise on the numbers themselves, where by default it is on the moments that they are made of.
THEMSELVES = {
    f"{name}, {way}": Case(partial((SCALARS | MATRICES)[name].call, method=way), (SCALARS | MATRICES)[name].truth)
    for way, names in {
        "direct": ("variance", "standard deviation"),
        "centred": ("variance", "standard deviation"),
        "elements": ("covariance", "correlation"),
    }.items()
    for name in names
}
ALL = SCALARS | VECTORS | MATRICES | TOGETHER
# Groups of one column and of several, with their sizes in secret.
BY = {"by": "group", "levels": GROUPS}
BY_TWO = {"by": ["group", "smoker"], "levels": {"group": GROUPS, "smoker": ["yes", "no"]}}


def _by(column, how, *names):
    """A figure of a column in each group of one or two columns."""

    def truth(t):
        levels = [{"group": GROUPS, "smoker": ["yes", "no"]}[name] for name in names]
        found = []
        for place in itertools.product(*levels):
            inside = np.logical_and.reduce([t[name] == level for name, level in zip(names, place, strict=True)])
            found.append(how(t[column][inside]))
        return np.array(found).reshape([len(one) for one in levels])

    return truth


GROUPED = {
    "sum by": Case(partial(ib.sum, **INCOME, **BY), _by("income", np.sum, "group")),
    "proportion by": Case(
        partial(ib.proportion, column="smoker", level="yes", **BY),
        _by("smoker", lambda x: (x == "yes").mean(), "group"),
    ),
    "variance by": Case(partial(ib.variance, **INCOME, **BY), _by("income", partial(np.var, ddof=1), "group")),
    "standard deviation by": Case(
        partial(ib.standard_deviation, **INCOME, **BY), _by("income", partial(np.std, ddof=1), "group")
    ),
    "mean by two": Case(partial(ib.mean, **INCOME, **BY_TWO), _by("income", np.mean, "group", "smoker")),
    "count by two": Case(partial(ib.count, **BY_TWO), _by("income", len, "group", "smoker")),
}
WHERE = {"where": "region in ('n', 's') and age < 70"}


def _some(truth):
    """The truth of the records for which the condition above holds."""

    def of(t):
        inside = np.isin(t["region"], ["n", "s"]) & (t["age"] < 70)
        return truth({name: column[inside] for name, column in t.items()})

    return of


_SELECTED = ("mean", "mean by", "sum", "count", "proportion", "variance", "standard deviation", "pooled variance")
_SELECTED += ("count by", "histogram", "proportions", "crosstab", "covariance", "correlation", "pooled covariance")
SELECTED = {
    **{f"{name} where": Case(partial(ALL[name].call, **WHERE), _some(ALL[name].truth)) for name in _SELECTED},
    "moments where": Case(partial(ib.moments, bounds=BOTH, **WHERE), _some(ALL["moments"].truth)),
    "count of all where": Case(partial(ib.count, **WHERE), _some(lambda t: len(t["age"]))),
    "mean by two where": Case(partial(GROUPED["mean by two"].call, **WHERE), _some(GROUPED["mean by two"].truth)),
    # Nothing is missing, but nobody may know.
    "mean, skipping": Case(partial(ib.mean, **INCOME, missing="skip"), ALL["mean"].truth),
    "proportion, skipping": Case(
        partial(ib.proportion, column="smoker", level="yes", missing="skip"), ALL["proportion"].truth
    ),
}
SHARE = {"share": "income / (age + 10)"}
DERIVED = {
    "proportion of derived": Case(
        partial(ib.proportion, column="rich", derive={"rich": "income > 60 and not employed"}),
        lambda t: ((t["income"] > 60) & ~t["employed"]).mean(),
    ),
    "mean of derived": Case(
        partial(ib.mean, column="share", bounds=(0, 2), derive=SHARE, missing=0),
        lambda t: np.clip(t["income"] / (t["age"] + 10), 0, 2).mean(),
    ),
    "mean of derived where": Case(
        partial(
            ib.mean, column="share", bounds=(0, 2), derive={"share": "income / (age + 10)"}, missing="skip", **WHERE
        ),
        _some(lambda t: np.clip(t["income"] / (t["age"] + 10), 0, 2).mean()),
    ),
}
ONLY_ADD_REMOVE = {
    "count of all": Case(ib.count, lambda t: len(t["age"])),
    "mean over a public number": Case(partial(ib.mean, **INCOME, denominator=210), None),
    "proportion over a public number": Case(
        partial(ib.proportion, column="smoker", level="yes", denominator=210), None
    ),
    "proportions over a public number": Case(
        partial(ib.proportions, column="region", levels=REGIONS, denominator=210), None
    ),
}


def _quantiles(column, q, **rules):
    """The lower quantiles of the records, as they were counted."""
    return lambda t: np.quantile(t[column], q, method="inverted_cdf", **rules)


# Points that are chosen; truncation is refused.
CHOSEN = {
    "median": Case(partial(ib.median, **INCOME), _quantiles("income", 0.5)),
    "median of integers": Case(partial(ib.median, **AGE, integer=True), _quantiles("age", 0.5)),
    "median with flanks": Case(partial(ib.median, **INCOME, cover=0.9), _quantiles("income", 0.5)),
    "quantile": Case(partial(ib.quantile, **INCOME, q=0.9), _quantiles("income", 0.9)),
    "quantiles": Case(
        partial(ib.quantile, **INCOME, q=[0.1, 0.25, 0.5, 0.75]), _quantiles("income", [0.1, 0.25, 0.5, 0.75])
    ),
    "quantiles together": Case(
        partial(ib.quantile, **INCOME, q=[0.1, 0.5], method="together"), _quantiles("income", [0.1, 0.5])
    ),
    "median by": Case(
        partial(ib.median, **INCOME, **BY), _by("income", partial(np.quantile, q=0.5, method="inverted_cdf"), "group")
    ),
    "quantiles by": Case(
        partial(ib.quantile, **AGE, integer=True, q=(0.2, 0.8), **BY),
        lambda t: np.array([_quantiles("age", [0.2, 0.8])({"age": t["age"][t["group"] == g]}) for g in GROUPS]),
    ),
    "median where": Case(partial(ib.median, **INCOME, **WHERE), _some(_quantiles("income", 0.5))),
    "quantiles where": Case(
        partial(ib.quantile, **INCOME, q=[0.25, 0.75], **WHERE), _some(_quantiles("income", [0.25, 0.75]))
    ),
    "median, skipping": Case(partial(ib.median, **INCOME, missing="skip"), _quantiles("income", 0.5)),
    "median of derived": Case(
        partial(ib.median, column="share", bounds=(0, 2), derive=SHARE, missing=0),
        lambda t: np.quantile(np.clip(t["income"] / (t["age"] + 10), 0, 2), 0.5, method="inverted_cdf"),
    ),
}
# Points that are read from noisy counts, for a public number of records. Each whole number has a cell where there is
# next to no noise.
COUNTED = {
    "quantiles from counts": Case(
        partial(ib.quantile, **AGE, integer=True, q=[0.1, 0.25, 0.5, 0.75], method="counts"),
        _quantiles("age", [0.1, 0.25, 0.5, 0.75]),
    ),
}
# Bounds that are released: no number of the table is compared with them.
FOUND = {
    "bounds": Case(partial(ib.bounds, column="income", within=(0, 1e6), coverage=0.9), None),
    "upper bound": Case(partial(ib.bounds, column="income", within=(-1e3, 1e3), coverage=0.9, side="upper"), None),
    "bounds where": Case(partial(ib.bounds, column="age", within=(0, 1000), coverage=0.8, **WHERE), None),
}
# A public number of records is needed for the points around it.
WITH_FLANKS = ("median with flanks",)
# Truncation of numbers drawn together is refused.
TOGETHER = ("mean by", "kendall of four")
TRUNCATED = {
    name: case for name, case in (SCALARS | VECTORS | REPAIRED | SPLIT | ORDERED).items() if name not in TOGETHER
}


# Of persons whose rows are found by a column: two of the three rows of each are kept, or all are folded.
_KEPT = (
    *("mean", "mean by", "sum", "count", "proportion", "variance", "pooled variance", "histogram", "proportions"),
    *("crosstab", "covariance", "correlation", "moments", "median", "quantiles", "sum by", "moments where"),
)
_FOLDED = {
    "mean": {"income": "max"},
    "mean by two": {"income": "sum", "group": "min", "smoker": "max"},
    "histogram": {"age": "mean"},
    "moments": {"age": "min", "weight": "mean"},
    "kendall": {"age": "max", "weight": "min"},
    "median": {"income": "sum"},
}


def _of_persons():
    every = ALL | GROUPED | SELECTED | CHOSEN | ORDERED
    made = {}
    for neighbours in ("substitute", "add-remove"):
        rule = {"person": "who", "neighbours": neighbours}
        made |= {f"{name}, kept, {neighbours}": partial(every[name].call, contributions=2, **rule) for name in _KEPT}
        folded = {name: fold for name, fold in _FOLDED.items() if name not in ORDERED or neighbours == "substitute"}
        made |= {
            f"{name}, folded, {neighbours}": partial(every[name].call, fold=how, **rule) for name, how in folded.items()
        }
    capped = {"person": "who", "contributions": 1, "groups": {"group": 2}}
    return made | {"sum by, kept in groups, substitute": partial(every["sum by"].call, **capped)}


def every_call():
    """All one-liners with everything that changes what they draw, by name."""
    calls = {
        f"{name}, substitute": partial(case.call, neighbours="substitute")
        for name, case in (
            ALL
            | SPLIT
            | THEMSELVES
            | REPAIRED
            | ORDERED
            | FITTED
            | GROUPED
            | SELECTED
            | DERIVED
            | CHOSEN
            | COUNTED
            | FOUND
        ).items()
    }
    added = ALL | GROUPED | SELECTED | DERIVED | ONLY_ADD_REMOVE
    added |= FOUND | {name: case for name, case in CHOSEN.items() if name not in WITH_FLANKS}
    calls |= {f"{name}, add-remove": partial(case.call, neighbours="add-remove") for name, case in added.items()}
    calls |= {f"{name}, truncated": partial(case.call, bounding="truncated") for name, case in TRUNCATED.items()}
    persons = ALL | THEMSELVES | ORDERED | FITTED | GROUPED | SELECTED | CHOSEN | FOUND
    calls |= {f"{name}, persons": partial(case.call, contributions=3) for name, case in persons.items()}
    return calls | _of_persons()
