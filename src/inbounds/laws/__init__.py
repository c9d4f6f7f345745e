"""Laws of released values on the real line. They know no ε, no sensitivity and no data."""

from inbounds.laws.mechanism import Law, Mechanism
from inbounds.laws.noise import Gaussian, GeneralizedGaussian, Laplace, Noise, partial_moment
from inbounds.laws.staircase import Staircase, least_variance

__all__ = [
    "Gaussian",
    "GeneralizedGaussian",
    "Laplace",
    "Law",
    "Mechanism",
    "Noise",
    "Staircase",
    "least_variance",
    "partial_moment",
]
