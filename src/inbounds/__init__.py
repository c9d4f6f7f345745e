"""inbounds: differentially private statistics that stay in their bounds, and say what staying there costs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inbounds import errors as errors
    from inbounds import inference as inference
    from inbounds import ledger as ledger
    from inbounds import statistics as statistics
    from inbounds import targets as targets
    from inbounds.functions import (
        bounds,
        correlation,
        count,
        covariance,
        crosstab,
        histogram,
        kendall,
        mean,
        median,
        moments,
        pooled_covariance,
        pooled_variance,
        proportion,
        proportions,
        quantile,
        regression,
        standard_deviation,
        sum,  # noqa: A004
        variance,
    )
    from inbounds.lab.theory import sensitivity
    from inbounds.lab.theory.calibrate import calibrate
    from inbounds.lab.theory.loss import privacy_loss
    from inbounds.laws import Gaussian, GeneralizedGaussian, Laplace, Mechanism
    from inbounds.plan.check import check
    from inbounds.plan.declare import Person, category, number
    from inbounds.plan.plan import Plan
    from inbounds.plan.preview import preview
    from inbounds.plan.release import release
    from inbounds.plan.table import Table
    from inbounds.record import Release, Releases
    from inbounds.statistics import (
        Bounds as Bounds,
    )
    from inbounds.statistics import (
        Correlation as Correlation,
    )
    from inbounds.statistics import (
        Count as Count,
    )
    from inbounds.statistics import (
        Covariance as Covariance,
    )
    from inbounds.statistics import (
        Crosstab as Crosstab,
    )
    from inbounds.statistics import (
        Histogram as Histogram,
    )
    from inbounds.statistics import (
        Kendall as Kendall,
    )
    from inbounds.statistics import (
        Mean as Mean,
    )
    from inbounds.statistics import (
        Median as Median,
    )
    from inbounds.statistics import (
        Moments as Moments,
    )
    from inbounds.statistics import (
        PooledCovariance as PooledCovariance,
    )
    from inbounds.statistics import (
        PooledVariance as PooledVariance,
    )
    from inbounds.statistics import (
        Proportion as Proportion,
    )
    from inbounds.statistics import (
        Proportions as Proportions,
    )
    from inbounds.statistics import (
        Quantile as Quantile,
    )
    from inbounds.statistics import (
        Regression as Regression,
    )
    from inbounds.statistics import (
        StandardDeviation as StandardDeviation,
    )
    from inbounds.statistics import (
        Sum as Sum,
    )
    from inbounds.statistics import (
        Variance as Variance,
    )

__version__ = "0.2.0"

__all__ = [
    "Gaussian",
    "GeneralizedGaussian",
    "Laplace",
    "Mechanism",
    "Person",
    "Plan",
    "Release",
    "Releases",
    "Table",
    "__version__",
    "bounds",
    "calibrate",
    "category",
    "check",
    "correlation",
    "count",
    "covariance",
    "crosstab",
    "histogram",
    "kendall",
    "mean",
    "median",
    "moments",
    "number",
    "pooled_covariance",
    "pooled_variance",
    "preview",
    "privacy_loss",
    "proportion",
    "proportions",
    "quantile",
    "regression",
    "release",
    "sensitivity",
    "standard_deviation",
    "sum",
    "variance",
]

# Everything is loaded when it is asked for: a plan needs no laws, a law no tables, and a word of help nothing.
_MODULES = ("errors", "inference", "ledger", "sensitivity", "statistics", "targets")
_PLACES = {
    **dict.fromkeys(("Gaussian", "GeneralizedGaussian", "Laplace", "Mechanism"), "laws"),
    **dict.fromkeys(("Release", "Releases"), "record"),
    **dict.fromkeys(("Person", "category", "number"), "plan.declare"),
    "Plan": "plan.plan",
    "Table": "plan.table",
    "calibrate": "lab.theory.calibrate",
    "check": "plan.check",
    "preview": "plan.preview",
    "privacy_loss": "lab.theory.loss",
    "release": "plan.release",
}
# All other names are release functions, and the value behind each: ib.mean and ib.Mean.
_FUNCTIONS = [name for name in __all__ if name not in (*_PLACES, *_MODULES, "__version__")]
_VALUES = ["".join(word.capitalize() for word in name.split("_")) for name in _FUNCTIONS]
_PLACES |= {**dict.fromkeys(_FUNCTIONS, "functions"), **dict.fromkeys(_VALUES, "statistics")}


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in _MODULES if name not in __all__), *_VALUES])


def _suggest(name: str) -> str:
    """What may have been meant by an unknown name."""
    if name.startswith("_"):
        return ""
    from inbounds._mistakes import find_name

    meant = find_name(name, __dir__())
    return f"; did you mean {meant!r}?" if meant else ""


def __getattr__(name: str) -> Any:
    if name == "sensitivity":
        value = import_module("inbounds.lab.theory.sensitivity")
    elif name in _MODULES:
        value = import_module(f"inbounds.{name}")
    elif name in _PLACES:
        value = getattr(import_module(f"inbounds.{_PLACES[name]}"), name)
    else:
        raise AttributeError(f"module 'inbounds' has no attribute {name!r}{_suggest(name)}")
    globals()[name] = value
    return value
