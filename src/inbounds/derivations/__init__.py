"""From noisy coordinates to the value that is published, and how far off that is: post-processing of public numbers.

A derivation is a value, chosen when a release is drafted and named in its record. It is handed coordinates and their
limits, one release or thousands of simulated ones at a time (arrays are handled along their last axis), and knows which
errors follow.
"""

from inbounds.derivations.base import Coordinates as Coordinates
from inbounds.derivations.base import Derivation as Derivation
from inbounds.derivations.base import Limits as Limits
from inbounds.derivations.base import Situation as Situation
from inbounds.derivations.centred import CentredSpread as CentredSpread
from inbounds.derivations.chosen import Chosen as Chosen
from inbounds.derivations.coefficients import Coefficients as Coefficients
from inbounds.derivations.columns import Points as Points
from inbounds.derivations.counted import PointsOfCounts as PointsOfCounts
from inbounds.derivations.direct import Direct as Direct
from inbounds.derivations.matrices import Matrix as Matrix
from inbounds.derivations.matrices import PairMatrix as PairMatrix
from inbounds.derivations.moments import Clamped as Clamped
from inbounds.derivations.moments import MatrixOfMoments as MatrixOfMoments
from inbounds.derivations.moments import MeanOfMoments as MeanOfMoments
from inbounds.derivations.moments import SpreadOfMoments as SpreadOfMoments
from inbounds.derivations.moments import TableOfMoments as TableOfMoments
from inbounds.derivations.simplex import AllButOne as AllButOne
from inbounds.derivations.simplex import FromTree as FromTree
from inbounds.derivations.simplex import NearestCounts as NearestCounts
from inbounds.derivations.simplex import OnSimplex as OnSimplex
from inbounds.derivations.simplex import Projected as Projected
from inbounds.derivations.simplex import Rescaled as Rescaled
from inbounds.derivations.sums import MatrixOfSums as MatrixOfSums
from inbounds.derivations.sums import MeanOfSums as MeanOfSums
from inbounds.derivations.sums import SpreadOfSums as SpreadOfSums
from inbounds.derivations.sums import SumOfGroup as SumOfGroup
