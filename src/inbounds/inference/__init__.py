"""Inference from the record of a release: intervals, tests and posteriors. No data are read and nothing is spent.

`interval` (also ``release.interval``), `difference`, `ratio` and `p_value`; `t_test`, `chi_square` and
`compare_shares`; `regression`; `estimate` (also ``release.estimate``), `posterior` and `unbiased`; `combine` for
several synthetic tables; `distribution` for released quantiles; and `naive_wald`, the interval that ignores the
noise, for comparison.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from inbounds.inference.compare import difference, p_value, ratio
from inbounds.inference.estimates import estimate
from inbounds.inference.hypotheses import Outcome, chi_square, compare_shares, t_test
from inbounds.inference.intervals import interval
from inbounds.inference.posterior import Posterior, posterior, unbiased
from inbounds.inference.quantiles import Distribution, distribution
from inbounds.inference.regression import Regression, regression
from inbounds.inference.result import Interval

if TYPE_CHECKING:
    from inbounds.lab.synthesis import Synthesis, combine, naive_wald

__all__ = [
    "Distribution",
    "Interval",
    "Outcome",
    "Posterior",
    "Regression",
    "Synthesis",
    "chi_square",
    "combine",
    "compare_shares",
    "difference",
    "distribution",
    "estimate",
    "interval",
    "naive_wald",
    "p_value",
    "posterior",
    "ratio",
    "regression",
    "t_test",
    "unbiased",
]

# The laboratory is loaded when one of its names is asked for.
_LABORATORY = ("Synthesis", "combine", "naive_wald")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LABORATORY})


def __getattr__(name: str) -> Any:
    if name not in _LABORATORY:
        raise AttributeError(f"module 'inbounds.inference' has no attribute {name!r}")
    value = getattr(import_module("inbounds.lab.synthesis"), name)
    globals()[name] = value
    return value
