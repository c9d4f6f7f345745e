"""inbounds: differentially private statistics that stay in their bounds, and say what staying there costs."""

from typing import TYPE_CHECKING, Any

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
from inbounds.record import Release

if TYPE_CHECKING:
    from inbounds import ledger as ledger
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

# Loaded when asked for: pydantic and SQLite are no part of a single release.
_LATER = {"Plan": "inbounds.plan.plan", "ledger": "inbounds.ledger", "release": "inbounds.plan.release"}


def __dir__() -> list[str]:
    return sorted([*__all__, "ledger"])


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module

        module = import_module(_LATER[name])
        return module if _LATER[name] == f"inbounds.{name}" else getattr(module, name)
    raise AttributeError(f"module 'inbounds' has no attribute {name!r}")
