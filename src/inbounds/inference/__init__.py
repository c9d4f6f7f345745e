"""Inference from the record of a release: intervals, tests and posteriors. No data are read and nothing is spent.

`interval` (also ``release.interval``), `difference`, `ratio` and `p_value`; `t_test`, `chi_square` and
`compare_shares`; `regression`; `estimate` (also ``release.estimate``), `posterior` and `unbiased`; `combine` for
several synthetic tables; `distribution` for released quantiles; and `naive_wald`, the interval that ignores the
noise, for comparison.
"""

from inbounds.inference.compare import difference, p_value, ratio
from inbounds.inference.estimates import estimate
from inbounds.inference.hypotheses import Outcome, chi_square, compare_shares, t_test
from inbounds.inference.intervals import interval
from inbounds.inference.posterior import Posterior, posterior, unbiased
from inbounds.inference.quantiles import Distribution, distribution
from inbounds.inference.regression import Regression, regression
from inbounds.inference.result import Interval
from inbounds.inference.synthesis import Synthesis, combine, naive_wald

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
