"""inbounds: differentially private statistics that stay in their bounds, and say what staying there costs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from inbounds import statistics as _statistics
from inbounds.forecasts.preview import preview
from inbounds.functions import (
    correlation,
    count,
    covariance,
    crosstab,
    histogram,
    mean,
    pooled_covariance,
    pooled_variance,
    proportion,
    proportions,
    standard_deviation,
    sum,  # noqa: A004
    variance,
)
from inbounds.laws import Gaussian, GeneralizedGaussian, Laplace, Mechanism
from inbounds.privacy import sensitivity
from inbounds.privacy.calibrate import calibrate
from inbounds.privacy.loss import privacy_loss
from inbounds.record import Release, Releases

if TYPE_CHECKING:
    from inbounds import errors as errors
    from inbounds import inference as inference
    from inbounds import ledger as ledger
    from inbounds import statistics as statistics
    from inbounds import targets as targets
    from inbounds.plan.plan import Plan
    from inbounds.plan.release import release

__version__ = "0.1.0.dev0"

__all__ = [
    "Gaussian",
    "GeneralizedGaussian",
    "Laplace",
    "Mechanism",
    "Plan",
    "Release",
    "Releases",
    "__version__",
    "calibrate",
    "correlation",
    "count",
    "covariance",
    "crosstab",
    "histogram",
    "mean",
    "pooled_covariance",
    "pooled_variance",
    "preview",
    "privacy_loss",
    "proportion",
    "proportions",
    "release",
    "sensitivity",
    "standard_deviation",
    "sum",
    "variance",
]

# The value behind each function: ib.Mean, ib.Crosstab.
_VALUES = tuple(name for name in _statistics.__all__ if name not in ("Statistic", "Traits", "register", "registered"))
# Public modules, and names that are loaded when they are asked for: pydantic is no part of a single release.
_MODULES = ("errors", "inference", "ledger", "statistics", "targets")
_LATER = {"Plan": "inbounds.plan.plan", "release": "inbounds.plan.release"}


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, *_VALUES])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"inbounds.{name}")
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    if name in _VALUES:
        return getattr(_statistics, name)
    raise AttributeError(f"module 'inbounds' has no attribute {name!r}")
