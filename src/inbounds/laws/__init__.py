"""The law of a released value: no ε, no sensitivity, no data. Imports nothing of ours but validators."""

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
