"""Statistics as values: a class for each statistic that can be released, with its columns and their public rules.

``inbounds.mean(table, "age", bounds=(0, 100), epsilon=1)`` makes a `Mean` and releases it. The classes are for code
that prepares releases without a table. Their instances can be compared, printed and drafted.

>>> from inbounds.statistics import Mean
>>> Mean("age", bounds=(0, 100)) == Mean("age", bounds=("0", "100"))
True
"""

from inbounds.record.statistic import Statistic as Statistic
from inbounds.record.statistic import Traits as Traits
from inbounds.record.statistic import register as register
from inbounds.record.statistic import registered as registered
from inbounds.statistics.bounds import Bounds
from inbounds.statistics.counts import Count, Proportion
from inbounds.statistics.joint import draft_group as draft_group
from inbounds.statistics.matrices import Correlation, Covariance
from inbounds.statistics.means import Mean, Sum
from inbounds.statistics.moments import Moments, MomentsValue
from inbounds.statistics.pooled import PooledCovariance, PooledVariance
from inbounds.statistics.quantiles import Median, Quantile
from inbounds.statistics.ranks import Kendall
from inbounds.statistics.regression import Regression
from inbounds.statistics.spreads import StandardDeviation, Variance
from inbounds.statistics.tables import Crosstab, Histogram, Proportions

__all__ = [
    "Bounds",
    "Correlation",
    "Count",
    "Covariance",
    "Crosstab",
    "Histogram",
    "Kendall",
    "Mean",
    "Median",
    "Moments",
    "MomentsValue",
    "PooledCovariance",
    "PooledVariance",
    "Proportion",
    "Proportions",
    "Quantile",
    "Regression",
    "StandardDeviation",
    "Statistic",
    "Sum",
    "Traits",
    "Variance",
    "register",
    "registered",
]
