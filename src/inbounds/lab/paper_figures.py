"""The figures of the paper's two studies, simulated on request, and small enough for a page."""

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from inbounds import _check

if TYPE_CHECKING:
    from inbounds.lab.studies.engine import Setting

# The paper has 500 repetitions. The random numbers are always the same.
_REPETITIONS, _SEED = 2000, 1
_MEASURES = {"bias": "Bias", "rmse": "RMSE", "coverage": "Coverage of 95% intervals"}
# The names of lines, by mechanism and calibration. For BIT both scales are the same.
_LINES = {
    ("bit", "paper"): "BIT",
    ("truncated", "paper"): "truncated, at the paper's scale",
    ("truncated", "honest"): "truncated, at the scale that keeps ε",
    ("original", "none"): "the sample itself, without noise",
}


class _Figure(NamedTuple):
    title: str
    repair: str
    estimator: str
    sums: bool


_SHARES = {
    "2": _Figure("Re-scaled shares", "rescale", "wald", sums=False),
    "3": _Figure("Re-scaled shares, multiple synthesis (m = 5)", "rescale", "synthesis", sums=False),
    "4": _Figure("All-but-one approach", "all-but-one raw", "wald", sums=False),
    "5": _Figure("Universal histogram", "tree", "wald", sums=False),
    "S1": _Figure("Sums of re-scaled shares", "rescale", "wald", sums=True),
    "S2": _Figure("Sums of shares, universal histogram", "tree", "wald", sums=True),
}


# Simulations take a while to import, and most of what is done here needs none.
def _list_cases() -> tuple[dict[str, Any], dict[str, float]]:
    """The matrices of study 1 and the ε of study 2, by their names."""
    from inbounds.lab.studies import paper

    matrices = {matrix.name: matrix for matrix in paper.MATRICES}
    return matrices, {f"ε = {epsilon:g}": epsilon for epsilon in paper.EPSILONS}


def list_figures() -> list[dict[str, Any]]:
    """The figures of the paper, and the cases that each has.

    Returns
    -------
    list of dict
        Each with ``name``, ``title`` and ``cases``: the matrices of study 1, or the ε of study 2.

    Examples
    --------
    >>> list_figures()[0]["cases"]
    ['r = 0', 'r = -0.4', 'r = 0.7']
    """
    matrices, epsilons = map(list, _list_cases())
    first = {"name": "1", "title": "Fig. 1. Components of a covariance matrix", "cases": matrices}
    shares = {name: f"Fig. {name}. {figure.title}" for name, figure in _SHARES.items()}
    return [first, *({"name": name, "title": title, "cases": epsilons} for name, title in shares.items())]


@lru_cache(maxsize=32)
def simulate_figure(name: str, case: str) -> dict[str, Any]:
    """Simulate one figure of the paper, for one of its cases.

    Parameters
    ----------
    name
        The number of the figure, such as ``"1"`` or ``"S2"``.
    case
        One of its cases, from `list_figures`.

    Returns
    -------
    dict
        ``quantities`` with their true values, ``measures`` with their titles, and ``lines``: for each its ``title`` and
        ``points``, by quantity and measure a list of n, the figure and its standard error.

    Raises
    ------
    ValueError
        If there is no such figure or case.

    Examples
    --------
    >>> simulate_figure("1", "r = 0")["quantities"]
    {'S11': 1.0, 'S22': 2.0, 'S12': 0.0, 'r': 0.0}
    """
    from inbounds.lab.studies import engine
    from inbounds.lab.studies.measures import MEASURES

    cases = {figure["name"]: figure["cases"] for figure in list_figures()}
    _check.choice(name, "figure", tuple(cases))
    _check.choice(case, "case", tuple(cases[name]))
    settings = list(_list_settings(name, case))
    summaries = engine.run(settings, _REPETITIONS, seed=_SEED, workers=1)
    sums = name in _SHARES and _SHARES[name].sums
    quantities = [each for each in settings[0].quantities if ("+" in each) == sums]
    lines: dict[str, dict[str, dict[str, list[list[float]]]]] = {}
    for setting, summary in zip(settings, summaries, strict=True):
        labels = dict(setting.labels)
        title = _LINES.get((labels["mechanism"], labels["calibration"]))
        if title is None:
            continue
        points = lines.setdefault(title, {each: {measure: [] for measure in _MEASURES} for each in quantities})
        for measure, (values, errors) in zip(MEASURES, summary, strict=True):
            for quantity, value, error in zip(setting.quantities, values, errors, strict=True):
                if quantity in quantities and measure in _MEASURES and value == value:
                    points[quantity][measure].append([labels["n"], float(value), float(error)])
    present = [key for key in _MEASURES if any(line[each][key] for line in lines.values() for each in quantities)]
    truths = dict(zip(settings[0].quantities, settings[0].truths, strict=True))
    return {
        "quantities": {each: float(truths[each]) for each in quantities},
        "measures": {key: _MEASURES[key] for key in present},
        "lines": [{"title": title, "points": lines[title]} for title in _LINES.values() if title in lines],
        "repetitions": _REPETITIONS,
    }


def _list_settings(name: str, case: str) -> "Iterator[Setting]":
    from inbounds.lab.studies import paper
    from inbounds.lab.studies.covariance import Covariance
    from inbounds.lab.studies.proportions import Proportions

    matrices, epsilons = _list_cases()
    if name not in _SHARES:
        design = Covariance((matrices[case],), paper.MATRIX_SIZES, (1.0,), paper.BOUNDINGS, calibrations=paper.BOTH)
        return design.settings("covariance")
    figure, epsilon = _SHARES[name], epsilons[case]
    words = (figure.repair,), (figure.estimator,), paper.BOTH
    lists = (paper.SHARES,), paper.SHARE_SIZES, (epsilon,), paper.BOUNDINGS
    return Proportions(*lists, *words, neighbours="add-remove").settings("proportions")
