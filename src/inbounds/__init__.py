"""inbounds: differentially private statistics that stay in their bounds, and say what staying there costs."""

from inbounds.laws import Gaussian, GeneralizedGaussian, Laplace, Mechanism
from inbounds.privacy import sensitivity
from inbounds.privacy.calibrate import calibrate
from inbounds.privacy.loss import privacy_loss

__version__ = "0.1.0.dev0"

__all__ = [
    "Gaussian",
    "GeneralizedGaussian",
    "Laplace",
    "Mechanism",
    "__version__",
    "calibrate",
    "privacy_loss",
    "sensitivity",
]
