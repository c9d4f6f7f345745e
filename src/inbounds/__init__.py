"""inbounds: differentially private statistics that stay in their bounds, and say what staying there costs."""

from inbounds.app.preview import preview
from inbounds.laws import Gaussian, GeneralizedGaussian, Laplace, Mechanism
from inbounds.privacy import sensitivity
from inbounds.privacy.calibrate import calibrate
from inbounds.privacy.loss import privacy_loss
from inbounds.record import Release
from inbounds.releases.matrices import correlation, covariance, pooled_covariance, pooled_variance
from inbounds.releases.scalars import count, mean, proportion, standard_deviation, sum, variance  # noqa: A004
from inbounds.releases.vectors import crosstab, histogram, proportions

__version__ = "0.1.0.dev0"

__all__ = [
    "Gaussian",
    "GeneralizedGaussian",
    "Laplace",
    "Mechanism",
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
    "sensitivity",
    "standard_deviation",
    "sum",
    "variance",
]
