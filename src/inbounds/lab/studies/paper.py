"""The paper's two simulation studies, at its own scale and at the honest one, and what we would do instead.

Where the paper says only "n from 50 to 800" and "50 to 500", the sizes below are ours.
"""

from inbounds.lab.studies.covariance import Covariance, Matrix
from inbounds.lab.studies.engine import Setting
from inbounds.lab.studies.proportions import Proportions, Shares

_BOUNDS = ((-3.0, 3.0), (-4.5, 4.5))
CORRELATIONS = (0.0, -0.4, 0.7)
MATRICES = tuple(Matrix(f"r = {r:g}", ((1.0, r * 2**0.5), (r * 2**0.5, 2.0)), _BOUNDS) for r in CORRELATIONS)
MATRIX_SIZES = (50, 100, 200, 300, 400, 500, 600, 700, 800)

SUMS = (("p1", "p2"), ("p2", "p3"), ("p2", "p4"))
SHARES = Shares("p", (0.1, 0.2, 0.3, 0.4), groups=(("p1", "p2"), ("p3", "p4")), sums=SUMS)
CROSSED = Shares("p, other grouping", (0.1, 0.2, 0.3, 0.4), groups=(("p1", "p4"), ("p2", "p3")), sums=SUMS)
SHARE_SIZES = tuple(range(50, 501, 50))
EPSILONS = (0.1, 0.5, 1.0)
BOUNDINGS = ("truncated", "bit")
BOTH = ("paper", "honest")


def covariance(*, undefined: str = "omit", ours: bool = True) -> list[Setting]:
    """Study 1: three 2 × 2 matrices, ε = 1 in three parts; ours adds the honest scale and one draw for all elements."""
    calibrations = BOTH if ours else ("paper",)
    design = Covariance(MATRICES, MATRIX_SIZES, (1.0,), BOUNDINGS, calibrations=calibrations, undefined=undefined)
    joint = Covariance(MATRICES, MATRIX_SIZES, (1.0,), ("joint",), undefined=undefined)
    return [*design.settings("covariance"), *(joint.settings("covariance") if ours else ())]


def proportions(*, ours: bool = True) -> list[Setting]:
    """Study 2: four shares, three repairs, multiple synthesis; all over a public n, one record moving one share by 1/n.

    Ours adds the honest scale, the variants that the paper mentions, and, for substituted records (which move two
    shares), projection, noise that keeps the sum and exact intervals, next to re-scaling and copies at the same ε.
    """
    calibrations = BOTH if ours else ("paper",)
    repairs = ("rescale", "all-but-one", "tree")

    def design(
        scenario: Shares,
        repairs: tuple[str, ...],
        estimator: str = "wald",
        mechanisms: tuple[str, ...] = BOUNDINGS,
    ) -> Proportions:
        lists = (scenario,), SHARE_SIZES, EPSILONS, mechanisms, repairs, (estimator,), calibrations
        return Proportions(*lists, neighbours="add-remove")

    settings = [
        *design(SHARES, repairs).settings("proportions"),
        *design(SHARES, ("rescale",), "synthesis").settings("proportions", original=False),
    ]
    if not ours:
        return settings
    settings += design(SHARES, ("all-but-one raw",)).settings("proportions", original=False)
    settings += design(SHARES, ("tree",), mechanisms=("unbounded",)).settings("proportions", original=False)
    settings += design(CROSSED, ("tree",)).settings("proportions", original=False)
    for mechanism, repair, estimators in (
        ("bit", "rescale", ("wald", "synthesis", "exact")),
        ("truncated", "rescale", ("wald",)),
        ("unbounded", "project", ("wald",)),
        ("joint", "project", ("wald", "exact")),
    ):
        alone = Proportions((SHARES,), SHARE_SIZES, EPSILONS, (mechanism,), (repair,), estimators)
        settings += alone.settings("proportions", original=False)
    return settings
