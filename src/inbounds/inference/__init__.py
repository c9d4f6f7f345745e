"""What a release says about the truth, from its record alone: the public side.

`interval` (also ``release.interval``), `difference` and `p_value`; `posterior` and `unbiased`; `combine` for multiple
synthesis and `naive_wald`, the interval that ignores the noise.
"""

from inbounds.inference.compare import difference, p_value
from inbounds.inference.intervals import interval
from inbounds.inference.posterior import Posterior, posterior, unbiased
from inbounds.inference.result import Interval
from inbounds.inference.synthesis import Synthesis, combine, naive_wald

__all__ = [
    "Interval",
    "Posterior",
    "Synthesis",
    "combine",
    "difference",
    "interval",
    "naive_wald",
    "p_value",
    "posterior",
    "unbiased",
]
